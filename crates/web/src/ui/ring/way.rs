//! Who keeps a URL, and how that was found: every node that was asked, in the order of the way, with what it took.

use super::{machine, short};
use crate::peers::{ContactView, LookupView, StopView};
use crate::ui::{parts, words};
use maud::{Markup, html};

/// Stops listed. A way has some ten; one through a ring in trouble may have more.
const STOPS_SHOWN_MAX: usize = 64;

pub(super) fn result(found: &LookupView) -> Markup {
    let slowest = found.stops.iter().filter_map(|stop| stop.round_trip_ms).fold(0.0, f64::max);
    html! {
        div.way-result id="way" tabindex="-1" {
            p { a href=(words::calendar(&found.url)) { (parts::address(&found.url)) } }
            p.small {
                "Its place is " code title=(found.key) { (short(&found.key)) } ". "
                @if found.stops.is_empty() { "Nobody had to be asked." } @else {
                    "Found in " (words::millis(found.took_ms)) ", " (words::counted(found.hops.into(), "hop", "hops")) "."
                }
            }
            @if !found.stops.is_empty() {
                h3 { "The way" }
                ol.stops {
                    @for (n, one) in found.stops.iter().take(STOPS_SHOWN_MAX).enumerate() { (stop(n + 1, one, slowest)) }
                }
                @if found.stops.len() > STOPS_SHOWN_MAX {
                    p.note { "And " (words::count((found.stops.len() - STOPS_SHOWN_MAX) as u64)) " more." }
                }
            }
            h3 { "Kept by " (words::counted(found.replicas.len() as u64, "machine", "machines")) }
            ol.keepers { @for (n, one) in found.replicas.iter().enumerate() { (keeper(n, one)) } }
        }
    }
}

fn stop(number: usize, stop: &StopView, slowest: f64) -> Markup {
    html! {
        li.silent[stop.round_trip_ms.is_none()] {
            span.stop-number { (number) }
            span.stop-node { (place(&stop.node)) }
            @if let Some(millis) = stop.round_trip_ms {
                span.stop-time { (words::millis(millis)) }
                (parts::bar(millis / slowest.max(f64::MIN_POSITIVE), ""))
            } @else {
                span.stop-time { "no answer" }
            }
            small {
                @match &stop.told_by { Some(by) => { "named by " code title=(by) { (short(by)) } } None => { "known here" } }
            }
        }
    }
}

fn keeper(n: usize, contact: &ContactView) -> Markup {
    html! {
        li {
            span.stop-node { (place(contact)) }
            @if n == 0 { span.status.status-good title="whose part of the circle it lies in" { "owner" } }
            @if let Some(millis) = contact.round_trip_ms { span.stop-time { (words::millis(millis)) } }
        }
    }
}

fn place(contact: &ContactView) -> Markup {
    html! {
        code title=(contact.id) { (short(&contact.id)) } " "
        @if contact.is_ours { "this machine" } @else if let Some(address) = contact.addresses.first() {
            span.mono title={ "machine " (contact.machine) } { (address) }
        } @else { "machine " (machine(&contact.machine)) }
    }
}
