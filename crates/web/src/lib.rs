//! The archive's face: pages for people, replay, and the field's protocols (Wayback URLs, Memento, CDX), over HTTP.
//!
//! Two listeners, two origins. The **UI origin** has our own pages and the API, and never a byte of an archived page. The
//! **replay origin** has archived content and nothing else. A page for people shows an archived page in a frame of the
//! other origin, under a policy that the browser enforces (`origin`), so that what is archived can reach neither the live
//! web nor us, whatever its scripts try.
//!
//! Promises: no byte is served that fails its digest (the store's); memory is bounded by [`limits`]; nothing panics on
//! what a client sends. What this crate does not do: it never writes to the archive. Crawls are started through [`Crawls`].

mod answer;
mod api;
pub mod archive;
mod cdx;
mod crawls;
mod guard;
pub mod limits;
mod lookup;
mod memento;
mod metrics;
mod origin;
pub mod peers;
mod replay;
mod ring;
mod server;
mod site;
mod stall;
mod tools;
mod ui;
mod views;
mod warc;
mod wayback;

pub use archive::Elsewhere;
pub use crawls::{
    CrawlAsk, CrawlEvent, CrawlHost, CrawlMachine, CrawlState, CrawlView, Crawls, LinksView, Refused, Scope,
};
pub use origin::Hosts;
pub use peers::Peers;
pub use server::{Bound, Options};
pub use site::{Site, Token};

use axum::Router;

/// The UI origin: pages for people, the API, the protocols.
fn ui_router(site: &Site) -> Router {
    let tools = cdx::router().merge(memento::router()).merge(warc::router()).merge(metrics::router());
    let routes = ui::router().merge(api::router()).merge(tools);
    routes.layer(axum::middleware::from_fn_with_state(site.clone(), guard::ui)).with_state(site.clone())
}

/// The replay origin: archived content, and what tools ask beside it.
fn replay_router(site: &Site) -> Router {
    replay::router().merge(cdx::router()).merge(memento::router()).merge(warc::router()).with_state(site.clone())
}
