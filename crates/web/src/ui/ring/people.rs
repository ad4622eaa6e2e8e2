//! Who keeps the archive: everybody who lends a machine, with what they hold, what they gave to readers and to each other, and what
//! they fetched. Machines that are called the same are one contributor; those without a name stand for themselves.

use super::health::keyed;
use super::{shell, silent, tabs, unknown};
use crate::peers::{HealthView, MachineView};
use crate::ui::layout;
use crate::ui::{Reader, parts, words};
use axum::response::Response;
use herodotus_base::Timestamp;
use http::StatusCode;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Contributors listed, and machines of each.
const PEOPLE_SHOWN_MAX: usize = 200;
const MACHINES_OF_ONE_MAX: usize = 20;

/// One who lends machines.
struct Contributor<'a> {
    name: Option<&'a str>,
    machines: Vec<&'a MachineView>,
    bytes_held: u64,
    objects_held: u64,
    bytes_served: u64,
    pages_fetched: u64,
}

pub(super) fn page(health: Option<&HealthView>, reader: &Reader, now: Timestamp) -> Response {
    let main = html! {
        div.ring-page data-live-from="/ring/people" data-live-events="/api/v1/ring/events" {
            header.page-head { (tabs("/ring/people")) div data-live="head" { (head(health)) } }
            @if let Some(health) = health { ol.people data-live="people" { (list(health, now)) } }
        }
    };
    layout::page(StatusCode::OK, &shell(reader, "Who keeps this"), &main)
}

fn head(health: Option<&HealthView>) -> Markup {
    let Some(health) = health else { return html! { h1 { "People" } (unknown()) } };
    let people = contributors(health).len() as u64;
    html! {
        h1 { "People" }
        p {
            "This archive is kept by " (words::counted(people, "contributor", "contributors")) " with "
            (words::counted(health.machines.len() as u64, "machine", "machines")) ". What one loses, the others still have."
        }
        (silent(health))
    }
}

/// Those who hold the most first.
fn contributors(health: &HealthView) -> Vec<Contributor<'_>> {
    let mut by_name: BTreeMap<(Option<&str>, &str), Vec<&MachineView>> = BTreeMap::new();
    for machine in &health.machines {
        let name = machine.name.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let alone = if name.is_none() { machine.machine.as_str() } else { "" };
        by_name.entry((name, alone)).or_default().push(machine);
    }
    let mut all: Vec<Contributor<'_>> = by_name.into_iter().map(|((name, _), machines)| of(name, machines)).collect();
    all.sort_by(|a, b| b.bytes_held.cmp(&a.bytes_held).then_with(|| a.name.cmp(&b.name)));
    all
}

fn of<'a>(name: Option<&'a str>, machines: Vec<&'a MachineView>) -> Contributor<'a> {
    let sum = |of: fn(&MachineView) -> u64| machines.iter().map(|machine| of(machine)).fold(0, u64::saturating_add);
    Contributor {
        name,
        bytes_held: sum(|machine| machine.bytes_held),
        objects_held: sum(|machine| machine.objects_held),
        bytes_served: sum(|machine| machine.bytes_served),
        pages_fetched: sum(|machine| machine.pages_fetched),
        machines,
    }
}

fn list(health: &HealthView, now: Timestamp) -> Markup {
    let people = contributors(health);
    let all = people.iter().map(|one| one.bytes_held).fold(0_u64, u64::saturating_add);
    html! {
        @for one in people.iter().take(PEOPLE_SHOWN_MAX) { (card(one, all, now)) }
        @if people.len() > PEOPLE_SHOWN_MAX { li.note { "And " (words::count((people.len() - PEOPLE_SHOWN_MAX) as u64)) " more." } }
    }
}

fn card(one: &Contributor<'_>, all: u64, now: Timestamp) -> Markup {
    let share = parts::share(one.bytes_held, all);
    let since = one.machines.iter().filter_map(|machine| machine.since.as_deref()).min();
    let key = one.name.or_else(|| one.machines.first().map(|first| first.machine.as_str())).unwrap_or_default();
    let number = |name: &str, text: String| html! { div { dt { (name) } dd { (text) } } };
    html! {
        li.card.person data-key=(key) {
            h2 { @match one.name { Some(name) => (name), None => "Somebody without a name" } }
            dl.numbers {
                (number("holds", words::bytes(one.bytes_held)))
                (number("objects", words::count(one.objects_held)))
                (number("of all copies", words::percent(share)))
                (number("gave", words::bytes(one.bytes_served)))
                (number("pages fetched", words::count(one.pages_fetched)))
            }
            (parts::bar(share, ""))
            ul.person-machines {
                @for machine in one.machines.iter().take(MACHINES_OF_ONE_MAX) { li { (keyed(machine)) } }
                @if one.machines.len() > MACHINES_OF_ONE_MAX {
                    li.note { "and " (words::counted((one.machines.len() - MACHINES_OF_ONE_MAX) as u64, "more machine", "more machines")) }
                }
            }
            @if let Some(since) = since { p.small { "Here since " (parts::ago(&words::stamp_of(since), now)) "." } }
        }
    }
}
