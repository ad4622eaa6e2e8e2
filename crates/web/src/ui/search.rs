//! What a search found: each address with its newest version, and a way to all of them.

use super::layout::{self, Shell};
use super::{Reader, forms, icons, parts, words};
use crate::views::{Found, ReadAs, Search};
use axum::response::Response;
use http::StatusCode;
use maud::{Markup, html};

pub(crate) fn page(search: &Search, reader: &Reader) -> Response {
    let title = format!("{} · Search", search.query);
    let shell = Shell { title: &title, query: &search.query, has_ring: reader.has_ring, ..Shell::default() };
    layout::page(StatusCode::OK, &shell, &render(search, reader))
}

fn render(search: &Search, reader: &Reader) -> Markup {
    html! {
        header.page-head {
            h1 { (headline(search)) }
            @if search.behind { p.note { "Titles of the newest captures are still being read: look again in a moment." } }
            (parts::silence(search.silent, "what only they know is not found here."))
            @if search.read_as == ReadAs::Host {
                p.actions { a.button href=(words::host(host_of(&search.query))) { (icons::icon("host")) "All of " (host_of(&search.query)) } }
            }
        }
        @if search.found.is_empty() {
            (nothing(search, reader))
        } @else {
            ol.entries.results { @for found in &search.found { (entry(found)) } }
            @match (&search.next, search.more) {
                (Some(next), _) => {
                    p.more {
                        a.button href={ "/search?q=" (words::component(&search.query)) "&from=" (words::component(next)) } { "More" (icons::icon("down")) }
                    }
                }
                (None, true) => { p.note { "There is more than this. Another word finds it." } }
                (None, false) => {}
            }
        }
    }
}

fn headline(search: &Search) -> Markup {
    let number = search.found.len() as u64;
    let many = if search.more {
        format!("More than {number} addresses")
    } else {
        words::counted(number, "address", "addresses")
    };
    html! {
        @match (search.found.is_empty(), search.read_as) {
            (true, _) => { "Nothing found for " q { (search.query) } }
            (_, ReadAs::Words) => { (many) " with " q { (search.query) } " in the title" }
            (_, ReadAs::Host) => { (many) " on " q { (search.query) } }
            (_, ReadAs::Url | ReadAs::Prefix) => { (many) " beginning with " q { (search.query) } }
        }
    }
}

/// One address that is here. Also what the page of a missing address suggests.
pub(crate) fn entry(found: &Found) -> Markup {
    let (first, last) = (words::stamp_of(&found.first), words::stamp_of(&found.last));
    html! {
        li {
            a.entry href=(words::viewer(&found.stamp, &found.url)) {
                (parts::titled(found.title.as_deref(), &found.url))
            }
            span.entry-side {
                a href=(words::calendar(&found.url)) { (words::counted(found.versions, "version", "versions")) }
                span.span-of-time {
                    @if found.versions > 1 && words::date(&first) != words::date(&last) { (words::date_short(&first)) " – " }
                    (words::date_short(&last))
                }
            }
        }
    }
}

fn nothing(search: &Search, reader: &Reader) -> Markup {
    let looks_like_url = search.read_as != ReadAs::Words;
    html! {
        div.empty.card {
            @if looks_like_url {
                p { "No version of this address is in the archive, nor of any that begins like it." }
                @if reader.can_crawl {
                    p { "It can be from now on:" }
                    (forms::archive(reader, &search.query, false))
                }
            } @else {
                p { "No title has all of these words. Words are looked for in titles, not in the text of pages." }
                ul {
                    li { "Try fewer words, or another form of one." }
                    li { "If you know the address, type that: " code { "example.org/page" } "." }
                }
            }
        }
    }
}

fn host_of(query: &str) -> &str {
    let rest = query.trim();
    let rest = rest.split_once("://").map_or(rest, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}
