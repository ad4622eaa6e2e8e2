//! The first page: find something, see what came lately, archive a site.

use super::layout::{self, Here, Shell};
use super::{Reader, crawl, forms, parts, words};
use crate::crawls::{CrawlState, CrawlView};
use crate::views::{Home, Recent, Totals};
use axum::response::Response;
use herodotus_base::Timestamp;
use http::StatusCode;
use maud::{Markup, html};

pub(crate) fn page(home: &Home, reader: &Reader, now: Timestamp) -> Response {
    layout::page(
        StatusCode::OK,
        &Shell { here: Here::Home, has_ring: reader.has_ring, ..Shell::default() },
        &render(home, reader, now),
    )
}

fn render(home: &Home, reader: &Reader, now: Timestamp) -> Markup {
    let is_empty = home.totals.captures == 0;
    html! {
        section.hero aria-labelledby="hero" {
            h1 id="hero" { "The web, as it was." }
            (layout::search_box("", "hero-search", true))
            p.hint { "Type an address for every version of it, the beginning of one, or words from a title." }
            div data-live="totals" {
                @if !is_empty { p.totals { (totals(&home.totals)) } }
                (parts::silence(home.silent, "what only they hold is missing here."))
            }
        }
        div.meander aria-hidden="true" {}
        @if is_empty {
            div.first-steps { (first_step(home, reader)) (crawls(home)) }
        } @else {
            div.split {
                section.recent aria-labelledby="recent" {
                    h2 id="recent" { "Archived lately" }
                    ol.entries data-live="recent" { @for one in &home.recent { (recent(one, now)) } }
                }
                div.side {
                    (crawls(home))
                    @if home.can_crawl {
                        section.card aria-labelledby="archive" {
                            h2 id="archive" { "Archive a site" }
                            (forms::archive(reader, "", false))
                        }
                    }
                }
            }
        }
    }
}

fn totals(totals: &Totals) -> Markup {
    let Totals { captures, urls, bytes_in, bytes_on_disk, .. } = *totals;
    html! {
        strong { (words::counted(captures, "version", "versions")) } " of "
        strong { (words::counted(urls, "address", "addresses")) } ": "
        (words::bytes(bytes_in)) " as they came"
        // An archive that has just begun holds room for more than it has, which is no news.
        @if bytes_on_disk < bytes_in { ", " (words::bytes(bytes_on_disk)) " on this disk" } "."
    }
}

fn recent(one: &Recent, now: Timestamp) -> Markup {
    let version = &one.version;
    html! {
        li data-key={ (version.stamp) (version.url) } {
            a.entry href=(words::viewer(&version.stamp, &version.url)) {
                (parts::titled(one.title.as_deref(), &version.url))
            }
            span.entry-side {
                @if version.status != Some(200) { (parts::status(version.status)) }
                (parts::ago(&version.stamp, now))
            }
        }
    }
}

/// Crawls shown on the first page: those that run, or else the first few.
const CRAWLS_SHOWN_MAX: usize = 3;

fn crawls(home: &Home) -> Markup {
    let is_going = |view: &&CrawlView| matches!(view.state, CrawlState::Running | CrawlState::Stopping);
    let going = home.crawls.iter().filter(is_going);
    let resting = home.crawls.iter().filter(|view| !is_going(view));
    html! {
        div.side data-live="crawls" {
            @if !home.crawls.is_empty() {
                section.card aria-labelledby="crawls" {
                    h2 id="crawls" { "Crawls" }
                    @for view in going.chain(resting).take(CRAWLS_SHOWN_MAX) { (crawl::card(view)) }
                    p.more { a href="/crawls" { "All crawls" } }
                }
            }
        }
    }
}

fn first_step(home: &Home, reader: &Reader) -> Markup {
    html! {
        section.card.first-step aria-labelledby="first" {
            h2 id="first" { "Nothing is here yet" }
            @if home.can_crawl {
                p {
                    "Begin with a site you care about: a blog, a handbook, your own pages. Herodotus fetches it politely, keeps it as it \
                     is today, and the next time keeps only what changed."
                }
                (forms::archive(reader, "", false))
            } @else {
                p { "This archive is only being looked at. Bring something in from a terminal:" }
                pre { code { "herodotus crawl https://example.org\nherodotus import pages.warc.gz" } }
            }
        }
    }
}
