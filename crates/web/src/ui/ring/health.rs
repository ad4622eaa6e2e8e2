//! How well everything is kept: how many objects have how many copies, what is being copied again and when that will be done, and
//! every machine with its disk, what it holds and gives, and how its last audit went.
//!
//! The parts marked `data-live` are kept up to date as the ring's own page is.

use super::{machine, shell, silent, tabs, unknown};
use crate::peers::{CopiesView, HealthView, MachineView, RepairView};
use crate::ui::layout;
use crate::ui::{Reader, parts, words};
use axum::response::Response;
use herodotus_base::Timestamp;
use http::StatusCode;
use maud::{Markup, html};

/// Machines listed. A ring of more has a collector that watches it.
const MACHINES_SHOWN_MAX: usize = 200;

/// Repairs listed.
const REPAIRS_SHOWN_MAX: usize = 20;

/// Numbers of copies told apart: no ring keeps more.
const COPIES_SHOWN_MAX: usize = 32;

pub(super) fn page(health: Option<&HealthView>, reader: &Reader, now: Timestamp) -> Response {
    let main = html! {
        div.ring-page data-live-from="/ring/health" data-live-events="/api/v1/ring/events" {
            header.page-head { (tabs("/ring/health")) div data-live="head" { (head(health, now)) } }
            @if let Some(health) = health {
                div.split {
                    div data-live="copies" { (copies(health)) }
                    section.card aria-labelledby="repairs" {
                        h2 id="repairs" { "Being copied again" }
                        div data-live="repairs" { (repairs(health)) }
                    }
                }
                section.list-part aria-labelledby="machines" {
                    h2 id="machines" { "Machines" }
                    div data-live="machines" { (machines(&health.machines, now)) }
                }
            }
        }
    };
    layout::page(StatusCode::OK, &shell(reader, "Health of the ring"), &main)
}

/// Objects in all, and those of them that have fewer copies than they should.
fn counted(health: &HealthView) -> (u64, u64) {
    let sum = |of: fn(&CopiesView, u16) -> bool| {
        let views = health.objects.iter().filter(|view| of(view, health.copies));
        views.map(|view| view.objects).fold(0_u64, u64::saturating_add)
    };
    (sum(|_, _| true), sum(|view, wanted| view.copies < wanted))
}

fn head(health: Option<&HealthView>, now: Timestamp) -> Markup {
    let Some(health) = health else { return html! { h1 { "Health" } (unknown()) } };
    let (all, few) = counted(health);
    let last = health.objects.iter().filter(|view| view.copies <= 1 && view.objects > 0 && health.copies > 1);
    let last = last.map(|view| view.objects).fold(0_u64, u64::saturating_add);
    let (class, state) = match (few, last) {
        (0, _) => ("state-complete", "whole"),
        (_, 0) => ("state-running", "being mended"),
        _ => ("state-failed", "in danger"),
    };
    html! {
        h1 { "Health " span.state.(class) { (state) } }
        p {
            @if all == 0 {
                "Nothing is kept here yet."
            } @else if few == 0 {
                "Everything lies on " (words::counted(health.copies.into(), "machine", "machines")) ": "
                (words::counted(all, "object", "objects")) "."
            } @else {
                strong { (words::count(few)) } " of " (words::counted(all, "object", "objects")) " lie on fewer than "
                (words::counted(health.copies.into(), "machine", "machines")) "."
                @if last > 0 { " " strong { (words::count(last)) } " on only one, or none that answers." }
            }
        }
        p.small { "Counted " (parts::ago(&words::stamp_of(&health.time), now)) "." }
        (silent(health))
    }
}

fn copies(health: &HealthView) -> Markup {
    let mut views: Vec<&CopiesView> = health.objects.iter().collect();
    views.sort_by_key(|view| std::cmp::Reverse(view.copies));
    let lines = views.into_iter().take(COPIES_SHOWN_MAX).map(|view| {
        let class = match view.copies {
            copies if copies >= health.copies => "status-good",
            0 | 1 => "status-bad",
            _ => "status-turn",
        };
        let name = words::counted(view.copies.into(), "copy", "copies");
        parts::Bar {
            name: html! { span.status.(class) { (name) } },
            title: None,
            number: view.objects,
            more: html! { @if view.objects == 1 { " object" } @else { " objects" } },
        }
    });
    parts::bars("Copies", "copies", &lines.collect::<Vec<_>>())
}

fn seconds(seconds: f64) -> String {
    words::duration(if seconds.is_finite() { seconds.max(0.0) as u64 } else { 0 })
}

fn repairs(health: &HealthView) -> Markup {
    let is_idle = health.repairs.is_empty() && health.repair_objects == 0;
    html! {
        @if is_idle { p.note { "Nothing: all copies are where they should be." } } @else {
            p {
                (words::counted(health.repair_objects, "object", "objects")) ", " (words::bytes(health.repair_bytes)) " to go"
                @if let Some(done_s) = health.repair_done_s { ", done in about " (seconds(done_s)) } "."
            }
            ol.repairs {
                @for repair in health.repairs.iter().take(REPAIRS_SHOWN_MAX) { (row_of_repair(repair)) }
            }
            @if health.repairs.len() > REPAIRS_SHOWN_MAX {
                p.note { "And " (words::count((health.repairs.len() - REPAIRS_SHOWN_MAX) as u64)) " more." }
            }
        }
        @if health.set_aside > 0 {
            p.note {
                (words::counted(health.set_aside, "capture of this machine waits", "captures of this machine wait"))
                " for another that takes nothing: its disk may be full. Nothing is lost."
            }
        }
        @if let Some(failure) = &health.last_failure {
            p.note { "What went wrong last on this machine, and is tried again by itself: " (failure) }
        }
    }
}

fn row_of_repair(repair: &RepairView) -> Markup {
    let rate = if repair.bytes_per_s.is_finite() { repair.bytes_per_s.max(0.0) as u64 } else { 0 };
    html! {
        li data-key={ (repair.machine) (repair.what) } {
            span.repair-what { (repair.what) }
            span.small {
                "to " (machine(&repair.machine)) ": " (words::counted(repair.objects_left, "object", "objects")) ", "
                (words::bytes(repair.bytes_left)) " left, " (words::bytes(rate)) "/s"
                @match repair.done_s { Some(done_s) => { ", about " (seconds(done_s)) } None => ", standing still" }
            }
        }
    }
}

fn machines(machines: &[MachineView], now: Timestamp) -> Markup {
    html! {
        @if machines.is_empty() { p.note { "No machine is known." } } @else {
            table.machines.health {
                thead {
                    tr {
                        th { "Machine" } th.number { "Up" } th.number { "Disk used" } th.number { "Free" }
                        th.number { "Holds" } th.number { "Gave" } th { "Last audit" }
                    }
                }
                tbody { @for view in machines.iter().take(MACHINES_SHOWN_MAX) { (row(view, now)) } }
            }
            @if machines.len() > MACHINES_SHOWN_MAX {
                p.note { "And " (words::count((machines.len() - MACHINES_SHOWN_MAX) as u64)) " more." }
            }
        }
    }
}

/// Whose a machine is, and its key.
fn name(view: &MachineView) -> Markup {
    html! {
        @if let Some(name) = view.name.as_deref().filter(|name| !name.trim().is_empty()) { strong { (name) } " " }
        (keyed(view))
    }
}

/// The key of a machine, and how it stands.
pub(super) fn keyed(view: &MachineView) -> Markup {
    html! {
        (machine(&view.machine))
        @if view.is_ours { " " span.note { "this machine" } }
        @if !view.is_alive { " " span.status.status-bad { "does not answer" } }
        @if view.is_on_probation {
            " " span.status.status-turn title="It carries copies, and they do not count yet" {
                "on probation" @if let Some(left_s) = view.probation_left_s { ", " (seconds(left_s)) " to go" }
            }
        }
    }
}

fn row(view: &MachineView, now: Timestamp) -> Markup {
    let some_bytes = |bytes: Option<u64>| bytes.map_or_else(|| "–".to_owned(), words::bytes);
    html! {
        tr data-key=(view.machine) {
            td.machine-name { (name(view)) }
            td.number data-name="up" { @match view.uptime_s { Some(uptime_s) => (seconds(uptime_s)), None => "–" } }
            td.number data-name="used" { (some_bytes(view.disk_used_bytes)) }
            td.number data-name="free" { (some_bytes(view.disk_free_bytes)) }
            td.number data-name="holds" title=(words::counted(view.objects_held, "object", "objects")) { (words::bytes(view.bytes_held)) }
            td.number data-name="gave" { (words::bytes(view.bytes_served)) }
            td.machine-audit data-name="audit" {
                @match &view.audit {
                    Some(audit) => {
                        span.status.(if audit.is_passed { "status-good" } else { "status-bad" }) title=(audit.what) {
                            @if audit.is_passed { "passed" } @else { "failed" }
                        }
                        " " (parts::ago(&words::stamp_of(&audit.time), now))
                        @if !audit.is_passed { " " span.small { (audit.what) } }
                    }
                    None => { span.note { "not yet" } }
                }
            }
        }
    }
}
