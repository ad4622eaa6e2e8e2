//! Every version of a URL: a timeline of years, the calendar of one, and a list in which two can be chosen and compared.

use super::calendar;
use super::layout::{self, Shell};
use super::{Reader, forms, icons, parts, search, words};
use crate::views::{Version, Versions};
use crate::wayback::authority;
use axum::response::Response;
use http::StatusCode;
use maud::{Markup, html};

pub(crate) fn page(versions: &Versions, reader: &Reader) -> Response {
    let shell = Shell { title: title(versions), query: &versions.url, has_ring: reader.has_ring, ..Shell::default() };
    if versions.total == 0 {
        return layout::page(StatusCode::NOT_FOUND, &shell, &missing(versions, reader));
    }
    layout::page(StatusCode::OK, &shell, &render(versions, reader))
}

fn title(versions: &Versions) -> &str {
    versions.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or_else(|| words::plain(&versions.url))
}

fn render(versions: &Versions, reader: &Reader) -> Markup {
    html! {
        (head(versions, reader))
        section aria-labelledby="years" {
            h2.unseen id="years" { "Years" }
            @if versions.partial { p.note { "There are very many versions: the calendar shows the newest of them, the list below goes on." } }
            (calendar::timeline(versions))
            (calendar::year(versions))
        }
        section.versions aria-labelledby="list" {
            h2 id="list" { "Versions" }
            (list(versions, reader))
        }
    }
}

fn head(versions: &Versions, reader: &Reader) -> Markup {
    let host = authority(&versions.url);
    let url = &versions.url;
    html! {
        header.page-head {
            h1 { (title(versions)) }
            p.url { (parts::address(url)) }
            p { (span_of_time(versions)) }
            div.actions {
                @if let Some(last) = &versions.last {
                    a.button.primary href=(words::viewer(last, url)) { (icons::icon("open")) "Newest" }
                }
                @if let Some(first) = versions.first.as_ref().filter(|_| versions.total > 1) {
                    a.button href=(words::viewer(first, url)) { "Oldest" }
                }
                @if !host.is_empty() { a.button href=(words::host(&host)) { (icons::icon("host")) "This site" } }
                details.menu {
                    summary.button { (icons::icon("download")) "Export" }
                    ul {
                        li { a href={ "/cdx?url=" (words::component(url)) } { "CDX lines" } }
                        li { a href={ "/cdx?output=json&url=" (words::component(url)) } { "CDX as JSON" } }
                        li { a href={ "/web/timemap/link/" (words::web_url(url)) } { "Memento TimeMap" } }
                        li { a href={ "/web/timemap/json/" (words::web_url(url)) } { "TimeMap as JSON" } }
                    }
                }
                @if reader.can_crawl { (forms::archive_now(reader.needs_token, url, "Archive again", "")) }
            }
        }
    }
}

fn span_of_time(versions: &Versions) -> Markup {
    let many = words::counted(versions.total, "version", "versions");
    html! {
        @match (&versions.first, &versions.last) {
            (Some(first), Some(last)) if versions.total > 1 && words::date(first) != words::date(last) => {
                strong { (many) } " from " (words::date(first)) " to " (words::date(last)) "."
            }
            (_, Some(last)) => { strong { (many) } ", of " (words::date(last)) "." }
            _ => { strong { (many) } "." }
        }
    }
}

fn list(versions: &Versions, reader: &Reader) -> Markup {
    let can_compare = versions.list.len() > 1;
    // As the year, before the URL: after it, it would be part of the URL's own query.
    let older = versions.next.as_ref().map(|next| format!("/web/{next}*/{}#list", words::web_url(&versions.url)));
    html! {
        form action="/diff" method="get" data-compare {
            input type="hidden" name="url" value=(versions.url);
            @if can_compare {
                div.compare {
                    span { "Choose an older and a newer version" }
                    button type="submit" { (icons::icon("difference")) "Compare" }
                }
            }
            table.list {
                thead {
                    tr {
                        @if can_compare { th scope="col" { "Older" } th scope="col" { "Newer" } }
                        th scope="col" { "When" }
                        th scope="col" { "Status" }
                        th scope="col" { "Kind" }
                        th.number scope="col" { "Size" }
                        th scope="col" { "Changed" }
                        th scope="col" { span.unseen { "Links" } }
                    }
                }
                tbody {
                    @for (at, version) in versions.list.iter().enumerate() {
                        (row(version, versions.list.get(at + 1), at, can_compare, reader))
                    }
                }
            }
        }
        @if let Some(older) = older { p.more { a.button href=(older) { "Older versions" (icons::icon("down")) } } }
    }
}

fn row(version: &Version, before: Option<&Version>, at: usize, can_compare: bool, reader: &Reader) -> Markup {
    let Version { stamp, url, .. } = version;
    let name = words::moment(stamp);
    html! {
        tr {
            @if can_compare {
                td.pick { input type="radio" name="from" value=(stamp) checked[at == 1] aria-label={ "older: " (name) }; }
                td.pick { input type="radio" name="to" value=(stamp) checked[at == 0] aria-label={ "newer: " (name) }; }
            }
            td.when { a href=(words::viewer(stamp, url)) { (parts::when(stamp)) } }
            td { (parts::status(version.status)) }
            td.kind title=(version.media) { (parts::media(&version.media)) }
            td.number {
                (words::bytes(version.length))
                @if version.truncated { " " abbr title="cut off: it was longer than the crawl allowed" { "cut" } }
            }
            td.changed { (parts::change(version)) }
            td.links {
                @if let Some(before) = before {
                    a href=(words::difference(url, &before.stamp, stamp)) title="What changed since the version before" {
                        (icons::icon("difference")) span.unseen { "What changed since the version before, " (name) }
                    }
                }
                a href=(words::record(stamp, url)) title="WARC record" download {
                    (icons::icon("download")) span.unseen { "WARC record of " (name) }
                }
                a href={ (reader.seat.bare_replay_origin()) "/web/" (stamp) "id_/" (words::web_url(url)) } title="Original bytes" {
                    (icons::icon("page")) span.unseen { "Original bytes of " (name) }
                }
            }
        }
    }
}

fn missing(versions: &Versions, reader: &Reader) -> Markup {
    html! {
        header.page-head {
            h1 { "This address is not here" }
            p.url { (parts::address(&versions.url)) }
            p { "No version of it has been archived." }
            @if reader.can_crawl {
                div.actions { (forms::archive_now(reader.needs_token, &versions.url, "Archive it now", "primary")) }
            }
        }
        @if !versions.near.is_empty() {
            section.near aria-labelledby="near" {
                h2 id="near" { "Near it" }
                ol.entries { @for found in &versions.near { (search::entry(found)) } }
            }
        }
    }
}
