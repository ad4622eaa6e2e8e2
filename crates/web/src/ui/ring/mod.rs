//! The ring: the circle with this machine's places on it, its neighbours, the machines it speaks with, what happened lately; and who
//! keeps a URL, hop by hop. Where there is no ring, how one comes to be.
//!
//! `ui.js` keeps the parts marked `data-live` up to date. It asks for the page without its question, so that watching a ring does
//! not look a URL up again and again: what was found stays as it was found.

mod circle;
mod health;
mod neighbours;
mod people;
#[cfg(test)]
pub(super) mod samples;
#[cfg(test)]
mod tests;
mod way;

use super::layout::{self, Here, Shell};
use super::{Answer, Query, Reader, icons, parts, words};
use crate::archive::Silence;
use crate::peers::{ContactView, HealthView, LookupView, PeerView, RingEvent, RingView};
use crate::ring;
use crate::site::Site;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use herodotus_base::Timestamp;
use herodotus_base::limits::URL_BYTES_MAX;
use http::StatusCode;
use maud::{Markup, html};

/// Things that happened, on the page: about as many as stand beside the circle.
const EVENTS_SHOWN_MAX: usize = 8;

/// Machines listed. A node speaks with some dozens.
const MACHINES_SHOWN_MAX: usize = 200;

/// What was asked on the page, and what came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Question {
    pub(super) url: String,
    pub(super) found: Option<LookupView>,
    /// Why nothing was found.
    pub(super) trouble: Option<(StatusCode, String)>,
}

pub(super) async fn answer(State(site): State<Site>, reader: Reader, RawQuery(query): RawQuery) -> Answer {
    let Some(peers) = site.peers().cloned() else { return Ok(alone(&reader)) };
    let mut question = Question::default();
    if let Some(url) = Query::of(query).get("url") {
        question.url = url.to_owned();
        match ring::lookup(&site, url).await {
            Ok(found) => question.found = Some(found),
            Err(trouble) => question.trouble = Some((trouble.status(), trouble.sentence())),
        }
    }
    Ok(page(&peers.view(), &question, &reader, Timestamp::now()))
}

/// How well everything is kept.
pub(super) async fn health(State(site): State<Site>, reader: Reader) -> Answer {
    let Some(peers) = site.peers() else { return Ok(alone(&reader)) };
    Ok(health::page(peers.health().as_ref(), &reader, Timestamp::now()))
}

/// Who keeps it.
pub(super) async fn people(State(site): State<Site>, reader: Reader) -> Answer {
    let Some(peers) = site.peers() else { return Ok(alone(&reader)) };
    Ok(people::page(peers.health().as_ref(), &reader, Timestamp::now()))
}

pub(super) fn page(ring: &RingView, question: &Question, reader: &Reader, now: Timestamp) -> Response {
    let shell = shell(reader, "The ring");
    let status = question.trouble.as_ref().map_or(StatusCode::OK, |(status, _)| *status);
    layout::page(status, &shell, &render(ring, question, now))
}

fn shell(reader: &Reader, title: &'static str) -> Shell<'static> {
    let here = Here::Ring;
    Shell { title, here, sheet: Some("ring.css"), has_ring: reader.has_ring, ..Shell::default() }
}

/// How a ring comes to be.
pub(super) fn alone(reader: &Reader) -> Response {
    let shell = shell(reader, "The ring");
    let steps = [
        ("Begin one on this machine, and start its node again", "herodotus ring create"),
        ("Invite another machine: this prints a ticket for it", "herodotus ring invite"),
        ("On that machine, join with the ticket", "herodotus node --join TICKET"),
    ];
    let main = html! {
        section.alone {
            div.alone-circle aria-hidden="true" { (circle::ornament()) }
            h1 { "This archive stands alone" }
            p {
                "Joined with others it is part of a ring: every page lies on several machines, each machine keeps a part, and any of \
                 them answers for all. Three commands make one:"
            }
            ol.steps {
                @for (what, command) in steps { li { span { (what) } pre { code { (command) } } } }
            }
            p.note { "Machines need to reach each other at one UDP port. Nobody but those you invite can join." }
        }
    };
    layout::page(StatusCode::OK, &shell, &main)
}

/// The three pages of a ring.
const TABS: [(&str, &str); 3] = [("/ring", "Circle"), ("/ring/health", "Health"), ("/ring/people", "People")];

fn tabs(here: &str) -> Markup {
    html! {
        nav.tabs aria-label="The ring" {
            @for (path, name) in TABS { a href=(path) aria-current=[(path == here).then_some("page")] { (name) } }
        }
    }
}

/// Where nobody looks after copies.
fn unknown() -> Markup {
    html! { p.note { "This machine does not look after copies yet, so that it cannot say how well they are kept." } }
}

/// Machines that did not say how they are.
fn silent(health: &HealthView) -> Markup {
    let HealthView { machines_asked: asked, machines_silent: silent, .. } = *health;
    let silence = (silent > 0).then_some(Silence { asked, silent });
    parts::silence(silence, "these numbers are without theirs.")
}

fn render(ring: &RingView, question: &Question, now: Timestamp) -> Markup {
    html! {
        div.ring-page data-live-from="/ring" data-live-events="/api/v1/ring/events" {
            header.page-head { (tabs("/ring")) div data-live="head" { (head(ring)) } }
            div.split.ring-top {
                div.side {
                    section.card.circle-card aria-label="The circle" { (circle::figure(ring, question.found.as_ref())) }
                    section.card.numbers-card aria-labelledby="numbers" {
                        h2 id="numbers" { "In numbers" }
                        div data-live="numbers" { (numbers(ring)) }
                    }
                    section.list-part.neighbours-part aria-labelledby="neighbours" {
                        h2 id="neighbours" { "Neighbours" }
                        div.nodes data-live="neighbours" { (neighbours::lists(ring)) }
                    }
                }
                div.side {
                    section.card.ask-card aria-labelledby="keeps" {
                        h2 id="keeps" { "Who keeps this URL?" }
                        (form(question))
                        @if let Some(found) = &question.found { (way::result(found)) }
                    }
                    section.card.lately-card aria-labelledby="lately" {
                        h2 id="lately" { "Lately" }
                        ol.ring-events data-live="events" {
                            @if ring.events.is_empty() { li.note { "Nothing yet." } }
                            @for one in ring.events.iter().take(EVENTS_SHOWN_MAX) { (event(one, now)) }
                        }
                    }
                }
            }
            section.list-part aria-labelledby="machines" {
                h2 id="machines" { "Machines" }
                div data-live="machines" { (machines(&ring.peers)) }
            }
        }
    }
}

fn head(ring: &RingView) -> Markup {
    let name = if ring.name.is_empty() { "The ring" } else { &ring.name };
    let copies = u64::from(ring.copies);
    html! {
        h1 { (name) " " (standing(ring)) }
        p {
            @if ring.is_open { "An open ring: anybody may join. " } @else { "A closed ring: only who was invited takes part. " }
            @if ring.is_owner { "You own it. " }
            "Everything lies on " (words::counted(copies, "machine", "machines")) "."
        }
        p.small {
            "This machine is " (machine(&ring.machine))
            @if let Some(address) = ring.addresses.first() {
                ", at " span.mono { (address) }
                @if ring.addresses.len() > 1 { " and " (words::counted(ring.addresses.len() as u64 - 1, "more address", "more addresses")) }
            }
            "."
        }
    }
}

/// How this machine stands in the ring: as its nodes do, if they agree.
fn standing(ring: &RingView) -> Markup {
    let members = ring.nodes.iter().filter(|node| node.standing == "member").count();
    let first = ring.nodes.first().map_or("outside", |node| node.standing);
    let agree = ring.nodes.iter().all(|node| node.standing == first);
    let class = match first {
        "member" if agree => "state-complete",
        "outside" | "left" if agree => "state-stopped",
        _ => "state-running",
    };
    html! {
        span.state.(class) {
            @if agree { (first) } @else { (members) " of " (ring.nodes.len()) " nodes are members" }
        }
    }
}

fn form(question: &Question) -> Markup {
    html! {
        form.ask action="/ring" method="get" {
            label.unseen for="url" { "A URL, to see who keeps it" }
            input id="url" name="url" type="text" inputmode="url" value=(question.url) placeholder="https://example.org/" required
                autocomplete="off" autocapitalize="none" spellcheck="false" maxlength=(URL_BYTES_MAX);
            button.primary type="submit" { "Find" }
        }
        @if let Some((_, sentence)) = &question.trouble { p.alert role="alert" { (icons::icon("warning")) span { (sentence) } } }
    }
}

/// Nodes in the whole ring: exact where everybody is known.
pub(super) fn nodes_words(ring: &RingView) -> String {
    let number = if ring.nodes_estimate.is_finite() { ring.nodes_estimate.max(0.0) } else { 0.0 };
    if ring.nodes.iter().any(|node| node.is_whole) {
        return words::count(number.round() as u64);
    }
    // Three digits are more than an estimate deserves.
    let scale = 10_f64.powi((number.max(1.0).log10().floor() as i32 - 1).max(0));
    format!("≈ {}", words::count(((number / scale).round() * scale) as u64))
}

fn numbers(ring: &RingView) -> Markup {
    let counters = &ring.counters;
    let share: f64 = ring.nodes.iter().map(|node| node.arc_share).sum();
    let known = ring.nodes.iter().map(|node| node.known).max().unwrap_or(0);
    let dead = ring.nodes.iter().map(|node| node.dead).max().unwrap_or(0);
    let hops = counters.hops_sum as f64 / counters.lookups_done.max(1) as f64;
    let number = |name: &str, text: String| html! { div { dt { (name) } dd { (text) } } };
    html! {
        dl.numbers {
            (number("nodes in all", nodes_words(ring)))
            (number("of them here", words::count(ring.nodes.len() as u64)))
            (number("of the circle", words::percent(share)))
            (number("known by name", words::count(known as u64)))
            (number("died lately", words::count(dead as u64)))
            (number("lookups", words::count(counters.lookups_done)))
            @if counters.lookups_done > 0 { (number("hops each", format!("{hops:.1}"))) }
            @if counters.lookups_failed > 0 { (number("lookups failed", words::count(counters.lookups_failed))) }
            (number("came in", words::bytes(counters.bytes_in)))
            (number("went out", words::bytes(counters.bytes_out)))
            @if counters.messages_refused > 0 { (number("messages refused", words::count(counters.messages_refused))) }
            @if counters.turned_away > 0 { (number("turned away", words::count(counters.turned_away))) }
        }
    }
}

fn event(event: &RingEvent, now: Timestamp) -> Markup {
    let class = match event.kind {
        "joined" | "gained" => "what-new",
        "lost" | "neighbours" => "what-changed",
        "dead" => "what-failed",
        _ => "what-same",
    };
    html! {
        li data-key={ (event.time) (event.what) } {
            span.what.(class) { (event.kind) }
            span.ring-event { (event.what) }
            (parts::ago(&words::stamp_of(&event.time), now))
        }
    }
}

fn machines(peers: &[PeerView]) -> Markup {
    html! {
        @if peers.is_empty() { p.note { "No other machine is connected." } } @else {
            table.machines {
                thead {
                    tr { th { "Machine" } th { "Address" } th.number { "Round trip" } th.number { "Connected" } th.number { "Came in" } th.number { "Went out" } }
                }
                tbody {
                    @for peer in peers.iter().take(MACHINES_SHOWN_MAX) { (machine_row(peer)) }
                }
            }
            @if peers.len() > MACHINES_SHOWN_MAX { p.note { "And " (words::count((peers.len() - MACHINES_SHOWN_MAX) as u64)) " more." } }
        }
    }
}

fn machine_row(peer: &PeerView) -> Markup {
    let seconds = |seconds: f64| words::duration(if seconds.is_finite() { seconds.max(0.0) as u64 } else { 0 });
    html! {
        tr data-key=(peer.machine) {
            td.machine-name { (machine(&peer.machine)) }
            td.machine-address {
                @if let Some(address) = &peer.address { span.mono { (address) } } @else { span.note { "not known" } }
            }
            td.number data-name="round trip" {
                @match peer.round_trip_ms { Some(millis) => (words::millis(millis)), None => "–" }
            }
            td.number data-name="connected" {
                @if let Some(banned_s) = peer.banned_s {
                    span.status.status-bad title="It sent what makes no sense" { "refused for " (seconds(banned_s)) }
                } @else if let Some(connected_s) = peer.connected_s { (seconds(connected_s)) } @else { "–" }
            }
            td.number data-name="came in" { (words::bytes(peer.bytes_in)) }
            td.number data-name="went out" { (words::bytes(peer.bytes_out)) }
        }
    }
}

/// A key by its beginning, with all of it behind.
fn machine(key: &str) -> Markup {
    html! { code title=(key) { (short(key)) } }
}

/// Enough of an id or key to tell a few hundred apart.
fn short(text: &str) -> String {
    text.chars().take(8).collect()
}

/// What an element about a node is called on the page. Ids are digits and letters; what is not has no place in a name.
fn anchor(contact: &ContactView) -> String {
    let id: String = contact.id.chars().filter(char::is_ascii_alphanumeric).take(64).collect();
    format!("node-{id}")
}

/// Where a node is reached, cut to what fits a line.
fn address(contact: &ContactView, chars_max: usize) -> String {
    let Some(first) = contact.addresses.first() else { return String::new() };
    if first.chars().count() <= chars_max {
        return first.clone();
    }
    // The end tells machines behind one network apart, and holds the port.
    let tail: Vec<char> = first.chars().rev().take(chars_max.saturating_sub(1)).collect();
    format!("…{}", tail.into_iter().rev().collect::<String>())
}
