//! `/metrics`: what this machine does, in the text format of Prometheus, for whoever watches many of them.
//!
//! It is on the pages' listener, behind the same check of names, and needs no token: nothing is changed, and nothing is told
//! that the pages do not show. Names of crawls and addresses of peers are left out; machines are told apart by their keys, at most
//! [`METRICS_PEERS_MAX`](crate::limits::METRICS_PEERS_MAX) of them. Everything read here is in memory or kept as a running total.

mod archive;
mod counts;
mod links;
mod process;
mod ring;
mod text;

pub(crate) use counts::{Counts, Kind, Listener};

use crate::answer::Trouble;
use crate::site::Site;
use crate::{tools, views};
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderValue};
use text::Text;

/// Version 0.0.4 is the one that every collector reads.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) fn router() -> Router<Site> {
    Router::new().route("/metrics", get(metrics))
}

async fn metrics(State(site): State<Site>) -> Response {
    let written = site.blocking(write).await;
    match written {
        Ok(text) => {
            let mut response = tools::answer(StatusCode::OK, CONTENT_TYPE, text);
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(trouble) => trouble.into_response(),
    }
}

fn write(site: &Site) -> Result<String, Trouble> {
    let mut text = Text::default();
    text.gauge("herodotus_build_info", "The program; its version is a label.")
        .put(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    process::write(&mut text);
    archive::totals(&mut text, &views::own_totals(site)?);
    if let Some(crawls) = site.crawls() {
        archive::crawls(&mut text, &views::crawls(site)?);
        if let Some(links) = crawls.links() {
            links::write(&mut text, &links);
        }
    }
    site.counts().write(&mut text);
    if let Some(peers) = site.peers() {
        ring::write(&mut text, &peers.view());
        if let Some(health) = peers.health() {
            ring::health(&mut text, &health);
        }
    }
    Ok(text.done())
}
