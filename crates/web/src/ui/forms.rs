//! Forms that change something: archive a site, stop a crawl, go on with one. The guard before the routes decides who may.

use super::{Reader, icons};
use crate::crawls::{CrawlView, Scope};
use maud::{Markup, html};

const SCOPES: [(Scope, &str, &str); 5] = [
    (Scope::Host, "host", "The whole site"),
    (Scope::Prefix, "prefix", "Everything under this address"),
    (Scope::Page, "page", "This page alone, with all it shows"),
    (Scope::Domain, "domain", "The site and its sister names"),
    (Scope::Any, "any", "Wherever the links lead"),
];

pub(crate) fn scope_value(scope: Scope) -> &'static str {
    SCOPES.iter().find(|(known, ..)| *known == scope).map_or("host", |(_, value, _)| value)
}

pub(crate) fn scope_words(scope: Scope) -> &'static str {
    SCOPES.iter().find(|(known, ..)| *known == scope).map_or("", |(.., words)| words)
}

/// Asks for a site to be archived.
pub(crate) fn archive(reader: &Reader, seed: &str, page_only: bool) -> Markup {
    html! {
        form.stack action="/crawls" method="post" {
            div.field {
                label for="seeds" { "Address" }
                input id="seeds" name="seeds" type="text" inputmode="url" value=(seed) placeholder="https://example.org" required
                    autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="16384";
            }
            div.field {
                label for="scope" { "How much" }
                select id="scope" name="scope" {
                    @for (scope, value, words) in SCOPES {
                        @let selected = if page_only { scope == Scope::Page } else { scope == Scope::Host };
                        option value=(value) selected[selected] { (words) }
                    }
                }
            }
            div.pair {
                div.field {
                    label for="depth" { "Links deep" }
                    input id="depth" name="depth" type="number" min="0" max="65535" placeholder="any";
                }
                div.field {
                    label for="limit" { "Pages at most" }
                    input id="limit" name="limit" type="number" min="1" max="1000000000" placeholder="no limit";
                }
            }
            @if reader.has_ring {
                p {
                    input id="together" type="checkbox" name="together" value="yes";
                    label for="together" { " The whole ring crawls it" }
                }
            }
            (token(reader.needs_token))
            button.primary type="submit" { (icons::icon("plus")) "Archive" }
        }
    }
}

/// One button: this address, now.
pub(crate) fn archive_now(needs_token: bool, url: &str, label: &str, class: &str) -> Markup {
    html! {
        form.inline action="/crawls" method="post" {
            input type="hidden" name="seeds" value=(url);
            input type="hidden" name="scope" value="page";
            (token(needs_token))
            button.(class) type="submit" { (icons::icon("plus")) (label) }
        }
    }
}

pub(crate) fn stop(needs_token: bool, view: &CrawlView) -> Markup {
    html! {
        form.inline action={ (super::words::crawl(&view.name)) "/stop" } method="post" {
            (token(needs_token))
            button type="submit" { (icons::icon("stop")) "Stop" }
        }
    }
}

/// Goes on where a crawl stopped, or looks again at all it knows.
pub(crate) fn go_on(needs_token: bool, view: &CrawlView, label: &str) -> Markup {
    html! {
        form.inline action="/crawls" method="post" {
            input type="hidden" name="name" value=(view.name);
            input type="hidden" name="scope" value=(scope_value(view.scope));
            @if let Some(depth) = view.depth { input type="hidden" name="depth" value=(depth); }
            @if let Some(limit) = view.limit { input type="hidden" name="limit" value=(limit); }
            (token(needs_token))
            button.primary type="submit" { (icons::icon("again")) (label) }
        }
    }
}

/// Asked only of those who are not at this machine.
fn token(needed: bool) -> Markup {
    html! {
        @if needed {
            div.field {
                label { "Token of the archive"
                    input name="token" type="password" required autocomplete="current-password" placeholder="in the file `token` of its directory";
                }
            }
        }
    }
}
