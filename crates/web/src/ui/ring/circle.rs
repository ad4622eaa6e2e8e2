//! The circle as a drawing: ids run clockwise from the top. This machine's nodes with the arcs that they own, their neighbours, their
//! fingers as chords; and, where a URL was looked up, its place, the way to it, and who keeps it.
//!
//! What can be pointed at lies above all that is drawn, invisible, so that what it tells (in the middle) is never drawn over. Of what
//! comes from the network only numbers decide where something is, and a number that is none is the top of the circle.

use super::{address, anchor, nodes_words, short};
use crate::peers::{ContactView, LookupView, NodeView, RingView, StopView};
use crate::ui::words;
use maud::{Markup, html};
use std::collections::{BTreeMap, HashMap};
use std::f64::consts::TAU;

/// Half the width of the drawing, and the radius of the circle in it.
const HALF: f64 = 240.0;
const RADIUS: f64 = 192.0;

/// Nodes drawn. More could not be told apart; the nearest come first.
const SPOTS_MAX: usize = 240;

/// Chords drawn.
const CHORDS_MAX: usize = 240;

/// Numbers of stops above each other, where nodes lie close.
const BADGE_ROWS_MAX: u32 = 8;

/// Marks along the circle: one for every first digit of an id.
const MARKS: u32 = 16;

/// What a node is to this machine; of several, the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Own,
    Predecessor,
    Successor,
    Finger,
    /// Only known from the way of a lookup.
    Met,
}

impl Part {
    fn class(self) -> &'static str {
        match self {
            Self::Own => "dot-own",
            Self::Predecessor | Self::Successor => "dot-near",
            Self::Finger | Self::Met => "dot-far",
        }
    }

    fn radius(self) -> &'static str {
        match self {
            Self::Own => "8",
            Self::Predecessor | Self::Successor => "6",
            Self::Finger | Self::Met => "4.5",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Own => "this machine",
            Self::Predecessor => "the neighbour before",
            Self::Successor => "a neighbour after",
            Self::Finger => "a shortcut",
            Self::Met => "on the way",
        }
    }
}

/// Where a share of the circle lies, at a distance from its middle.
fn point(turn: f64, radius: f64) -> (f64, f64) {
    let turn = if turn.is_finite() { turn.rem_euclid(1.0) } else { 0.0 };
    let (sine, cosine) = (turn * TAU).sin_cos();
    (sine * radius, -cosine * radius)
}

fn at((x, y): (f64, f64)) -> String {
    format!("{x:.2} {y:.2}")
}

fn length(number: f64) -> String {
    format!("{number:.2}")
}

pub(super) fn figure(ring: &RingView, found: Option<&LookupView>) -> Markup {
    let spots = spots(ring);
    let met = found.map_or_else(Vec::new, |found| met(found, &spots));
    let label = format!(
        "The circle: {} nodes, {} of them on this machine. The lists below say the same.",
        nodes_words(ring),
        ring.nodes.len()
    );
    html! {
        figure.circle {
            svg viewBox={ (-HALF) " " (-HALF) " " (HALF * 2.0) " " (HALF * 2.0) } role="group" aria-label=(label) data-circle {
                (marks())
                circle.circle-line r=(RADIUS) {}
                g data-live="circle" { (ground(ring, &spots)) }
                @if let Some(found) = found {
                    g { @for contact in &met { (dot(contact, Part::Met)) } }
                    (overlay(ring, found))
                }
                g data-live="middle" { (middle(ring)) }
                g data-live="spots" { @for (contact, part) in &spots { (spot(contact, *part, true)) } }
                g { @for contact in &met { (spot(contact, Part::Met, false)) } }
            }
            figcaption.circle-legend {
                span { i.key-own {} "this machine" }
                span { i.key-near {} "neighbours" }
                span { i.key-far {} "shortcuts" }
                @if found.is_some() { span { i.key-way {} "the way" } span { i.key-keeper {} "who keeps it" } }
            }
        }
    }
}

/// A circle with a few nodes, for a page that has none.
pub(super) fn ornament() -> Markup {
    let size = format!("{} {} {} {}", -HALF, -HALF, HALF * 2.0, HALF * 2.0);
    html! {
        svg viewBox=(size) aria-hidden="true" focusable="false" {
            circle.circle-line r=(RADIUS) {}
            path.arc d=(arc_path(0.93, 0.09)) {}
            @for turn in [0.02, 0.17, 0.29, 0.46, 0.58, 0.71, 0.84] {
                @let (x, y) = point(turn, RADIUS);
                circle.dot.(if turn < 0.1 { "dot-own" } else { "dot-near" }) cx=(length(x)) cy=(length(y)) r="11" {}
            }
        }
    }
}

/// Every node that is shown, once, with the nearest part it has.
fn spots(ring: &RingView) -> Vec<(&ContactView, Part)> {
    let mut parts: HashMap<&str, (&ContactView, Part)> = HashMap::new();
    for node in &ring.nodes {
        for (contact, part) in around(node) {
            let part = if contact.is_ours { Part::Own } else { part };
            let known = parts.entry(contact.id.as_str()).or_insert((contact, part));
            if part < known.1 {
                *known = (contact, part);
            }
        }
    }
    let mut spots: Vec<_> = parts.into_values().collect();
    spots.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.turn.total_cmp(&b.0.turn)));
    spots.truncate(SPOTS_MAX);
    // Round the circle, so that the keyboard walks it so.
    spots.sort_by(|a, b| a.0.turn.total_cmp(&b.0.turn).then_with(|| a.0.id.cmp(&b.0.id)));
    spots
}

fn around(node: &NodeView) -> impl Iterator<Item = (&ContactView, Part)> {
    let own = std::iter::once((&node.contact, Part::Own));
    let before = node.predecessor.iter().map(|contact| (contact, Part::Predecessor));
    let after = node.successors.iter().map(|contact| (contact, Part::Successor));
    own.chain(before).chain(after).chain(node.fingers.iter().map(|contact| (contact, Part::Finger)))
}

/// Every first digit of an id, and four of them by name: whoever reads an id finds its place.
fn marks() -> Markup {
    html! {
        g.marks aria-hidden="true" {
            @for mark in 0..MARKS {
                @let turn = f64::from(mark) / f64::from(MARKS);
                @let is_named = mark % 4 == 0;
                @let ((x1, y1), (x2, y2)) = (point(turn, RADIUS + 12.0), point(turn, RADIUS + if is_named { 20.0 } else { 16.0 }));
                line x1=(length(x1)) y1=(length(y1)) x2=(length(x2)) y2=(length(y2)) {}
                @if is_named {
                    @let (x, y) = point(turn, RADIUS + 33.0);
                    text x=(length(x)) y=(length(y)) dy="0.35em" { (format!("{mark:x}")) "…" }
                }
            }
        }
    }
}

/// What lies under everything: arcs, chords, nodes.
fn ground(ring: &RingView, spots: &[(&ContactView, Part)]) -> Markup {
    let chord = |node: &NodeView, finger: &ContactView| {
        format!("M{}L{}", at(point(node.contact.turn, RADIUS)), at(point(finger.turn, RADIUS)))
    };
    let chords = ring.nodes.iter().flat_map(|node| node.fingers.iter().map(move |finger| chord(node, finger)));
    html! {
        @for node in &ring.nodes { path.arc d=(arc_path(node.arc_turn, node.arc_share)) {} }
        @for path in chords.take(CHORDS_MAX) { path.chord d=(path) {} }
        @for (contact, part) in spots.iter().rev().filter(|(_, part)| *part != Part::Own) { (dot(contact, *part)) }
        @for (contact, part) in spots.iter().filter(|(_, part)| *part == Part::Own) { (dot(contact, *part)) }
    }
}

fn dot(contact: &ContactView, part: Part) -> Markup {
    let (x, y) = point(contact.turn, RADIUS);
    html! { circle.dot.(part.class()) data-key=(contact.id) cx=(length(x)) cy=(length(y)) r=(part.radius()) {} }
}

/// A share of the circle from a place on, clockwise. All of it is two halves: an arc that ends where it began is none.
fn arc_path(from: f64, share: f64) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let from = if from.is_finite() { from } else { 0.0 };
    let to = |turn: f64, is_large: u8| format!("A{RADIUS} {RADIUS} 0 {is_large} 1 {}", at(point(turn, RADIUS)));
    let start = at(point(from, RADIUS));
    if share > 0.9999 {
        return format!("M{start}{}{}", to(from + 0.5, 0), to(from + 1.0, 0));
    }
    format!("M{start}{}", to(from + share, u8::from(share > 0.5)))
}

fn middle(ring: &RingView) -> Markup {
    let share: f64 = ring.nodes.iter().map(|node| node.arc_share).sum();
    html! {
        g.middle aria-hidden="true" {
            text.middle-number y="-2" { (nodes_words(ring)) }
            text.middle-words y="26" { @if ring.nodes_estimate.round() == 1.0 { "node" } @else { "nodes" } }
            text.middle-words y="48" { (words::percent(share)) " here" }
        }
    }
}

/// What can be pointed at: a way to the node's line in the lists, and in the middle what is known of it.
fn spot(contact: &ContactView, part: Part, is_listed: bool) -> Markup {
    let (x, y) = point(contact.turn, RADIUS);
    let round_trip = contact.round_trip_ms.map(words::millis);
    let place = address(contact, 26);
    let label = {
        let mut label = format!("{}: node {}, machine {}", part.words(), short(&contact.id), short(&contact.machine));
        for more in contact.addresses.first().into_iter().chain(&round_trip) {
            label.push_str(", ");
            label.push_str(more);
        }
        label
    };
    let target = if is_listed { format!("#{}", anchor(contact)) } else { "#way".to_owned() };
    html! {
        a.spot href=(target) aria-label=(label) data-spot {
            circle.spot-hit cx=(length(x)) cy=(length(y)) r="13" {}
            circle.spot-ring cx=(length(x)) cy=(length(y)) r="13" {}
            g.tip aria-hidden="true" {
                circle.tip-ground r="132" {}
                text.tip-part y="-54" { (part.words()) }
                text.tip-id y="-22" { (short(&contact.id)) "…" }
                text.tip-words y="8" { "machine " (short(&contact.machine)) " · " (contact.index) }
                text.tip-words y="34" { (place) }
                text.tip-words y="60" { @match &round_trip { Some(time) => (time), None if contact.is_ours => "here", None => "not measured" } }
            }
        }
    }
}

/// The nodes of a lookup that are drawn for it alone.
fn met<'a>(found: &'a LookupView, spots: &[(&ContactView, Part)]) -> Vec<&'a ContactView> {
    let mut met: BTreeMap<&str, &ContactView> = BTreeMap::new();
    let stops = found.stops.iter().map(|stop| &stop.node);
    for contact in stops.chain(&found.replicas).chain(std::iter::once(&found.owner)).take(SPOTS_MAX) {
        if !spots.iter().any(|(known, _)| known.id == contact.id) {
            met.insert(&contact.id, contact);
        }
    }
    met.into_values().collect()
}

/// A lookup: where the URL lies, who was asked in which order, who keeps it.
fn overlay(ring: &RingView, found: &LookupView) -> Markup {
    let start = ring.nodes.first().map_or(0.0, |node| node.contact.turn);
    let turn_of = |id: &str| {
        let own = ring.nodes.iter().map(|node| &node.contact);
        let mut all = found.stops.iter().map(|stop| &stop.node).chain(own);
        all.find(|contact| contact.id == id).map(|contact| contact.turn)
    };
    let step = |stop: &StopView| {
        let from = stop.told_by.as_deref().and_then(turn_of).unwrap_or(start);
        format!("M{}L{}", at(point(from, RADIUS)), at(point(stop.node.turn, RADIUS)))
    };
    let (outer, inner) = (point(found.turn, RADIUS + 17.0), point(found.turn, RADIUS + 5.0));
    let sides = [-0.006, 0.006].map(|by| point(found.turn + by, RADIUS + 11.0));
    let key = format!("M{}L{}L{}L{}Z", at(outer), at(sides[0]), at(inner), at(sides[1]));
    html! {
        g.way {
            @for stop in &found.stops { path.step.silent[stop.round_trip_ms.is_none()] d=(step(stop)) {} }
            @for (n, (x, y)) in apart(found.replicas.iter().map(|keeper| point(keeper.turn, RADIUS)), 8.0).into_iter().enumerate() {
                circle.keeper cx=(length(x)) cy=(length(y)) r=(if n == 0 { "12" } else { "9" }) {}
            }
            path.place d=(key) {}
            @for (n, (stop, (x, y))) in found.stops.iter().zip(badges(&found.stops)).enumerate() {
                g.badge.silent[stop.round_trip_ms.is_none()] aria-hidden="true" {
                    circle cx=(length(x)) cy=(length(y)) r="9" {}
                    text x=(length(x)) y=(length(y)) dy="0.36em" { (n + 1) }
                }
            }
        }
    }
}

fn distance((x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> f64 {
    (x1 - x2).hypot(y1 - y2)
}

/// Points of which no two are nearer than this: of those that would fall together the first.
fn apart(points: impl Iterator<Item = (f64, f64)>, least: f64) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for point in points {
        if kept.iter().all(|known| distance(*known, point) >= least) {
            kept.push(point);
        }
    }
    kept
}

/// Where the numbers of the stops stand: inside the circle, beside their nodes, each further in than those it would lie on.
fn badges(stops: &[StopView]) -> Vec<(f64, f64)> {
    let mut placed: Vec<(f64, f64)> = Vec::new();
    for stop in stops {
        let mut depths = (0..BADGE_ROWS_MAX).map(|row| point(stop.node.turn, RADIUS - 21.0 - 19.0 * f64::from(row)));
        let is_free = |at: &(f64, f64)| placed.iter().all(|known| distance(*known, *at) >= 18.0);
        let at = depths.clone().find(is_free).or_else(|| depths.next_back());
        placed.push(at.unwrap_or_default());
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_run_clockwise_from_the_top() {
        let rounded = |turn| {
            let (x, y) = point(turn, 100.0);
            (x.round(), y.round())
        };
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75].map(rounded),
            [(0.0, -100.0), (100.0, 0.0), (0.0, 100.0), (-100.0, 0.0)].map(|(x, y): (f64, f64)| (x, y))
        );
        assert_eq!(rounded(-0.75), rounded(0.25));
        for odd in [f64::NAN, f64::INFINITY] {
            assert_eq!(rounded(odd), rounded(0.0));
        }
    }

    #[test]
    fn an_arc_takes_the_long_way_only_when_it_is_long_and_all_of_the_circle_is_drawn() {
        assert!(arc_path(0.9, 0.2).contains(" 0 0 1 "));
        assert!(arc_path(0.1, 0.7).contains(" 0 1 1 "));
        assert_eq!(arc_path(0.3, 1.0).matches('A').count(), 2);
        assert!(!arc_path(f64::NAN, f64::NAN).contains("NaN"));
    }

    #[test]
    fn a_node_with_several_parts_is_drawn_once_with_the_nearest() {
        let contact = |id: &str, turn| ContactView { id: id.to_owned(), turn, ..ContactView::default() };
        let node = NodeView {
            contact: ContactView { is_ours: true, ..contact("a", 0.1) },
            predecessor: Some(contact("b", 0.9)),
            successors: vec![contact("c", 0.2), contact("b", 0.9)],
            fingers: vec![contact("c", 0.2), contact("d", 0.6), ContactView { is_ours: true, ..contact("e", 0.5) }],
            ..NodeView::default()
        };
        // To another of ours it is nearer.
        let second = NodeView {
            contact: ContactView { is_ours: true, ..contact("e", 0.5) },
            successors: vec![contact("d", 0.6)],
            ..NodeView::default()
        };
        let ring = RingView { nodes: vec![node, second], ..RingView::default() };
        let told: Vec<(&str, Part)> =
            spots(&ring).into_iter().map(|(contact, part)| (contact.id.as_str(), part)).collect();
        assert_eq!(
            told,
            [
                ("a", Part::Own),
                ("c", Part::Successor),
                ("e", Part::Own),
                ("d", Part::Successor),
                ("b", Part::Predecessor)
            ]
        );
    }

    #[test]
    fn numbers_of_stops_that_lie_together_do_not_lie_on_each_other() {
        let stop = |turn| StopView { node: ContactView { turn, ..ContactView::default() }, ..StopView::default() };
        let stops: Vec<StopView> = (0..6).map(|n| stop(0.3 + f64::from(n) * 1e-6)).collect();
        let placed = badges(&stops);
        for (n, one) in placed.iter().enumerate() {
            assert!(placed.iter().take(n).all(|other| distance(*one, *other) >= 18.0), "{placed:?}");
        }
        // More than there is room for are still all drawn.
        assert_eq!(badges(&vec![stop(0.5); 50]).len(), 50);
        assert_eq!(apart([(0.0, 0.0), (1.0, 0.0), (9.0, 0.0)].into_iter(), 8.0), [(0.0, 0.0), (9.0, 0.0)]);
    }

    #[test]
    fn a_crowd_is_not_drawn_whole() {
        let contact =
            |n: usize| ContactView { id: format!("{n:x}"), turn: n as f64 / 5000.0, ..ContactView::default() };
        let node = NodeView { fingers: (0..5000).map(contact).collect(), ..NodeView::default() };
        let ring = RingView { nodes: vec![node], ..RingView::default() };
        assert_eq!(spots(&ring).len(), SPOTS_MAX);
        let drawn = figure(&ring, None).into_string();
        assert_eq!(drawn.matches("class=\"chord\"").count(), CHORDS_MAX);
    }
}
