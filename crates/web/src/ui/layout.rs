//! The frame of every page: head, top bar, main part, foot; and the policy that goes with it.
//!
//! Promise: nothing of our own pages runs or loads but what is in this program. The policy forbids inline scripts and styles, so that
//! a title or URL that slipped through unescaped would still be dead text.

use super::{assets, icons};
use crate::answer;
use axum::response::Response;
use http::StatusCode;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use maud::{DOCTYPE, Markup, html};

/// Which part of the top bar is lit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Here {
    Home,
    Crawls,
    Ring,
    #[default]
    Elsewhere,
}

/// What a page says about itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shell<'a> {
    pub(crate) title: &'a str,
    pub(crate) here: Here,
    /// What stands in the search box of the top bar.
    pub(crate) query: &'a str,
    /// Where frames of this page may come from; empty: nowhere.
    pub(crate) frames: &'a str,
    /// A sheet of its own, after that of all pages.
    pub(crate) sheet: Option<&'a str>,
    /// Whether there is a ring to look at.
    pub(crate) has_ring: bool,
}

/// A page with bar and foot.
pub(crate) fn page(status: StatusCode, shell: &Shell<'_>, main: &Markup) -> Response {
    let body = html! {
        a.skip href="#main" { "Skip to the content" }
        (top(shell))
        main id="main" tabindex="-1" { (main) }
        (foot(shell.has_ring))
    };
    respond(status, shell, &document(shell, "", &body, &["ui.js"]))
}

/// A page that is all its own: the viewer.
pub(crate) fn bare(shell: &Shell<'_>, class: &str, body: &Markup) -> Response {
    respond(StatusCode::OK, shell, &document(shell, class, body, &["ui.js", "viewer.js"]))
}

fn document(shell: &Shell<'_>, class: &str, body: &Markup, scripts: &[&str]) -> Markup {
    let name = "Herodotus";
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { @if shell.title.is_empty() { (name) } @else { (shell.title) " · " (name) } }
                // First, and not deferred: the theme a reader chose is there before anything is painted.
                @for script in scripts { script src=(assets::address(script)) {} }
                @for sheet in std::iter::once("style.css").chain(shell.sheet) { link rel="stylesheet" href=(assets::address(sheet)); }
                link rel="icon" type="image/svg+xml" href=(assets::address("icon.svg"));
            }
            body class=[(!class.is_empty()).then_some(class)] { (body) }
        }
    }
}

fn top(shell: &Shell<'_>) -> Markup {
    let current = |here| (shell.here == here).then_some("page");
    html! {
        header.top {
            a.brand href="/" aria-current=[current(Here::Home)] { (icons::mark()) span { "Herodotus" } }
            @if shell.here == Here::Home {
                span.top-gap {}
            } @else {
                (search_box(shell.query, "top-search", false))
            }
            nav aria-label="Site" {
                a href="/crawls" aria-current=[current(Here::Crawls)] { (icons::icon("crawl")) span { "Crawls" } }
                @if shell.has_ring {
                    a href="/ring" aria-current=[current(Here::Ring)] { (icons::icon("ring")) span { "Ring" } }
                }
            }
            (theme_button())
        }
    }
}

/// Light, dark, or as the system has it. Without scripts there is no button: the system's choice holds.
pub(crate) fn theme_button() -> Markup {
    html! {
        button.icon-button.js-only type="button" data-theme-button aria-label="Theme: as the system has it" title="Theme" {
            span.theme-system { (icons::icon("system")) }
            span.theme-light { (icons::icon("sun")) }
            span.theme-dark { (icons::icon("moon")) }
        }
    }
}

/// The one search box; large on the first page.
pub(crate) fn search_box(query: &str, class: &str, is_main: bool) -> Markup {
    let placeholder = if is_main { "Address, or words from a title" } else { "Address or words" };
    html! {
        search.search.(class) {
            form action="/search" method="get" {
                label.unseen for="q" { "Search the archive: an address, the beginning of one, or words from a title" }
                (icons::icon("search"))
                input id="q" name="q" type="search" value=(query) placeholder=(placeholder) autocomplete="off"
                    autocapitalize="none" spellcheck="false" maxlength="8192" required autofocus[is_main] enterkeyhint="search";
                kbd.js-only aria-hidden="true" { "/" }
                button.primary[is_main] type="submit" { "Search" }
            }
        }
    }
}

fn foot(has_ring: bool) -> Markup {
    html! {
        footer.foot {
            p { "Everything here is kept " @if has_ring { "by the machines of a ring" } @else { "on this machine" } ". Times are UTC." }
            ul {
                li { a href="/api/v1/openapi.json" { "API" } }
                li { span { "Herodotus " (env!("CARGO_PKG_VERSION")) } }
            }
        }
    }
}

/// What the browser is told about every page of ours.
pub(crate) fn policy(frames: &str) -> String {
    let frames = if frames.is_empty() { "'none'" } else { frames };
    format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-src {frames}; frame-ancestors 'none'"
    )
}

fn respond(status: StatusCode, shell: &Shell<'_>, markup: &Markup) -> Response {
    let mut response = answer::text(status, "text/html; charset=utf-8", markup.0.clone());
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, answer::value(&policy(shell.frames)));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
