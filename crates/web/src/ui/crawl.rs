//! Crawls: all of them, and one with its progress, its errors and what it is doing now. `ui.js` keeps the parts marked
//! `data-live` up to date by asking for the page again whenever there is news.

use super::layout::{self, Here, Shell};
use super::{Reader, forms, icons, parts, words};
use crate::crawls::{CrawlEvent, CrawlState, CrawlView};
use axum::response::Response;
use herodotus_base::Timestamp;
use http::StatusCode;
use maud::{Markup, html};
use std::collections::BTreeMap;

pub(crate) fn list_page(crawls: &[CrawlView], reader: &Reader, now: Timestamp) -> Response {
    let shell = Shell { title: "Crawls", here: Here::Crawls, has_ring: reader.has_ring, ..Shell::default() };
    layout::page(StatusCode::OK, &shell, &render_list(crawls, reader, now))
}

pub(crate) fn page(view: &CrawlView, reader: &Reader, now: Timestamp) -> Response {
    let title = format!("{} · Crawls", view.name);
    let shell = Shell { title: &title, here: Here::Crawls, has_ring: reader.has_ring, ..Shell::default() };
    layout::page(StatusCode::OK, &shell, &render(view, reader, now))
}

fn render_list(crawls: &[CrawlView], reader: &Reader, now: Timestamp) -> Markup {
    html! {
        header.page-head {
            h1 { "Crawls" }
            @if !reader.can_crawl {
                p { "This archive is only being looked at: no crawl runs from here. " code { "herodotus node" } " runs them." }
            } @else if crawls.is_empty() {
                p { "None yet. A crawl fetches a site page by page, and remembers it: run it again, and it keeps what changed." }
            }
        }
        div.split {
            section aria-label="All crawls" data-live="list" {
                @for view in crawls { div.card { (card(view)) (when(view, now)) } }
            }
            @if reader.can_crawl {
                section.card aria-labelledby="archive" {
                    h2 id="archive" { "Archive a site" }
                    (forms::archive(reader, "", false))
                }
            }
        }
    }
}

/// A crawl in a few lines.
pub(crate) fn card(view: &CrawlView) -> Markup {
    html! {
        div.crawl-card {
            p.crawl-name { a href=(words::crawl(&view.name)) { (view.name) } (state(view.state)) }
            (progress(view))
            p.small { (progress_words(view)) }
        }
    }
}

fn when(view: &CrawlView, now: Timestamp) -> Markup {
    html! {
        @if let Some(began) = &view.began {
            p.small { "Began " (parts::ago(&words::stamp_of(began), now)) ", " (words::duration(view.seconds)) ", " (words::bytes(view.bytes)) "." }
        }
    }
}

fn state(state: CrawlState) -> Markup {
    let (class, word) = match state {
        CrawlState::Running => ("state-running", "running"),
        CrawlState::Stopping => ("state-running", "stopping"),
        CrawlState::Stopped => ("state-stopped", "stopped"),
        CrawlState::Complete => ("state-complete", "complete"),
        CrawlState::Failed => ("state-failed", "failed"),
    };
    html! { span.state.(class) { (word) } }
}

/// How many of the URLs are done, and of how many: a limit counts where it is nearer than the end.
fn done_of(view: &CrawlView) -> (u64, u64) {
    let done = view.urls.saturating_sub(view.waiting).saturating_sub(view.in_flight);
    match view.limit {
        Some(limit) if limit < view.urls => (view.fetched.min(limit), limit),
        _ => (done, view.urls),
    }
}

fn progress(view: &CrawlView) -> Markup {
    let (done, all) = done_of(view);
    let share = if view.state == CrawlState::Complete { 1.0 } else { parts::share(done, all) };
    let class = match view.state {
        CrawlState::Running | CrawlState::Stopping => "bar-running",
        CrawlState::Failed => "bar-failed",
        CrawlState::Stopped => "bar-rest",
        CrawlState::Complete => "bar-done",
    };
    parts::bar(share, class)
}

fn progress_words(view: &CrawlView) -> String {
    let (done, all) = done_of(view);
    let waiting = match view.waiting + view.in_flight {
        0 => String::new(),
        waiting => format!(", {} waiting", words::count(waiting)),
    };
    format!("{} of {} done{waiting}", words::count(done), words::counted(all, "address", "addresses"))
}

fn render(view: &CrawlView, reader: &Reader, now: Timestamp) -> Markup {
    html! {
        header.page-head {
            p.back { a href="/crawls" { (icons::icon("left")) "Crawls" } }
            div data-live="head" {
                h1 { (view.name) " " (state(view.state)) }
                p { (about(view)) }
                @if let Some(trouble) = &view.trouble { p.alert role="alert" { (icons::icon("warning")) span { (trouble) } } }
                @if reader.can_crawl { div.actions { (buttons(view, reader)) } }
            }
        }
        section.card aria-label="Progress" data-live="progress" {
            (progress(view))
            p { (progress_words(view)) }
            (numbers(view, now))
        }
        div.split {
            div.side data-live="work" {
                @if view.machines.is_empty() {
                    section aria-labelledby="events" {
                        h2 id="events" { "Latest" }
                        ol.events {
                            @if view.events.is_empty() { li.note { "Nothing yet." } }
                            @for one in &view.events { (event(one)) }
                        }
                    }
                } @else {
                    // Each machine of a ring sees only its own part; what they do together is told by machine and by site.
                    (machines(view))
                    @if !view.busiest.is_empty() { (hosts(view)) }
                }
            }
            div.side data-live="side" {
                @if !view.statuses.is_empty() {
                    section.card aria-labelledby="statuses" { h2 id="statuses" { "Answers" } (parts::status_list(&pairs(&view.statuses))) }
                }
                @if !view.failures.is_empty() { (reasons("Failed", "failures", &view.failures)) }
                @if view.machines.is_empty() && !view.busiest.is_empty() { (hosts(view)) }
                @if !view.media.is_empty() { (kinds(&view.media)) }
                @if !view.skipped.is_empty() { (reasons("Left out", "skipped", &view.skipped)) }
            }
        }
    }
}

fn about(view: &CrawlView) -> Markup {
    html! {
        (forms::scope_words(view.scope))
        @if let Some(depth) = view.depth { ", " (words::counted(u64::from(depth), "link", "links")) " deep" }
        @if let Some(limit) = view.limit { ", at most " (words::counted(limit, "page", "pages")) }
        @if let Some(seed) = view.seeds.first() {
            ", from " a href=(words::calendar(seed)) { (words::plain(seed)) }
            @if view.seeds.len() > 1 { " and " (words::count(view.seeds.len() as u64 - 1)) " more" }
        }
        "."
        @if view.round > 1 { " Round " (view.round) "." }
        @if let Some(note) = &view.note { " It was " (note) "." }
    }
}

fn buttons(view: &CrawlView, reader: &Reader) -> Markup {
    match view.state {
        CrawlState::Running => forms::stop(reader.needs_token, view),
        CrawlState::Stopping => html! { span.note { "It stops once the pages on their way are in." } },
        CrawlState::Stopped | CrawlState::Failed => forms::go_on(reader.needs_token, view, "Go on"),
        CrawlState::Complete => forms::go_on(reader.needs_token, view, "Look again"),
    }
}

fn numbers(view: &CrawlView, now: Timestamp) -> Markup {
    let is_running = view.state == CrawlState::Running;
    html! {
        dl.numbers {
            (number("fetched", &words::count(view.fetched)))
            (number("new", &words::count(view.new)))
            (number("changed", &words::count(view.changed)))
            (number("unchanged", &words::count(view.unchanged)))
            (number("failed", &words::count(view.failed)))
            (number("came in", &words::bytes(view.bytes)))
            (number("sites", &words::count(view.hosts)))
            @if view.seconds > 0 && view.fetched > 0 {
                (number("a second", &format!("{:.1}", view.fetched as f64 / view.seconds as f64)))
            }
            @if let Some(began) = &view.began {
                (number(if is_running { "running for" } else { "ran for" }, &words::duration(view.seconds)))
                div { dt { "began" } dd { (parts::ago(&words::stamp_of(began), now)) } }
            }
        }
    }
}

fn number(name: &str, text: &str) -> Markup {
    html! { div { dt { (name) } dd { (text) } } }
}

fn event(event: &CrawlEvent) -> Markup {
    let stamp = words::stamp_of(&event.time);
    let is_kept = matches!(event.what.as_str(), "new" | "changed" | "unchanged");
    html! {
        li data-key={ (event.time) (event.url) } {
            span.what.(what_class(&event.what)) { (event.what) }
            @if is_kept {
                a.entry href=(words::calendar(&event.url)) { (parts::address(&event.url)) }
            } @else {
                span.entry { (parts::address(&event.url)) small { (event.detail) } }
            }
            span.entry-side {
                @if is_kept { span.detail { (event.detail) } }
                @if event.bytes > 0 { span { (words::bytes(event.bytes)) } }
                time datetime=(event.time) title=(words::moment(&stamp)) { (words::clock(&stamp)) }
            }
        }
    }
}

fn what_class(what: &str) -> &'static str {
    match what {
        "new" => "what-new",
        "changed" => "what-changed",
        "unchanged" => "what-same",
        "failed" => "what-failed",
        _ => "what-skipped",
    }
}

fn reasons(title: &str, id: &str, reasons: &BTreeMap<String, (u64, String)>) -> Markup {
    html! {
        section.card aria-labelledby=(id) {
            h2 id=(id) { (title) }
            ul.reasons {
                @for (reason, (number, example)) in reasons {
                    li { span { (reason) } span.bars-number { (words::count(*number)) } small { "for example " (parts::address(example)) } }
                }
            }
        }
    }
}

fn machines(view: &CrawlView) -> Markup {
    let lines = view.machines.iter().map(|machine| parts::Bar {
        name: html! { (machine.machine.chars().take(8).collect::<String>()) @if machine.is_ours { " (this one)" } },
        title: None,
        number: machine.fetched,
        more: html! {
            " · " (format!("{:.1}", machine.pages_per_s)) " a second · " (words::bytes(machine.bytes))
            @if machine.waiting > 0 { " · " (words::count(machine.waiting)) " waiting" }
            @if machine.failed > 0 { " · " (words::count(machine.failed)) " failed" }
            @if machine.is_idle { " · resting" }
        },
    });
    parts::bars("Machines", "machines", &lines.collect::<Vec<_>>())
}

fn hosts(view: &CrawlView) -> Markup {
    let lines = view.busiest.iter().map(|host| parts::Bar {
        name: html! { a href=(words::host(&host.name)) { (host.name) } },
        title: None,
        number: host.fetched,
        more: html! {
            " · " (words::bytes(host.bytes))
            @if host.waiting > 0 { " · " (words::count(host.waiting)) " waiting" }
            @if host.failed > 0 { " · " (words::count(host.failed)) " failed" }
        },
    });
    parts::bars("Busiest sites", "hosts", &lines.collect::<Vec<_>>())
}

fn kinds(media: &BTreeMap<String, u64>) -> Markup {
    let mut media: Vec<(&String, &u64)> = media.iter().collect();
    media.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let lines = media.into_iter().map(|(name, number)| parts::media_bar(name, *number, html! {}));
    parts::bars("Kinds", "kinds", &lines.collect::<Vec<_>>())
}

fn pairs(map: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    map.iter().map(|(name, number)| (name.clone(), *number)).collect()
}
