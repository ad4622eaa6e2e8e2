//! Memento (RFC 7089): TimeGate, TimeMaps, and the links and dates that every replay carries.
//!
//! | | |
//! |---|---|
//! | `/web/timegate/<url>` | TimeGate; so is `/web/<url>` with `Accept-Datetime` |
//! | `/web/timemap/link/<url>` | TimeMap as links, in pages; `/web/timemap/link/<digits>/<url>` is one that begins at a moment |
//! | `/web/timemap/json/<url>`, `/web/timemap/cdxj/<url>` | TimeMap as lines of the CDX server, whole |
//! | `/web/<14 digits>/<url>` | a memento |
//!
//! All are at the replay listener's own origin, whichever listener was asked.

mod link;
mod timegate;
mod timemap;

pub(crate) use link::http_date;
pub(crate) use timegate::{accept_datetime, links, timegate};

use crate::answer::Trouble;
use crate::site::Site;
use crate::wayback::full_url;
use axum::Router;
use axum::routing::get;

pub(crate) fn router() -> Router<Site> {
    Router::new()
        .route("/web/timemap/{format}/{*url}", get(timemap::serve))
        .route("/web/timegate/{*url}", get(timegate::serve))
}

fn url_of(text: &str) -> Result<String, Trouble> {
    full_url(text).ok_or_else(|| Trouble::Asked("write the URL after the address".to_owned()))
}

fn unknown(url: &str) -> Trouble {
    Trouble::NotFound(format!("there is no version of {url}"))
}
