//! The neighbours of this machine's nodes as lists, in the order of the circle: what the drawing shows, for those who do not see it
//! or look at it on a phone, and for rings so large that neighbours fall on one spot of it.

use super::{anchor, machine, short};
use crate::peers::{ContactView, NodeView, RingView};
use crate::ui::words;
use maud::{Markup, html};
use std::collections::HashSet;

/// Nodes of this machine whose neighbours are listed.
const NODES_SHOWN_MAX: usize = 16;

/// A line of a list.
struct Line<'a> {
    contact: &'a ContactView,
    what: String,
    class: &'static str,
    /// The first line about this node: links from the drawing lead here.
    is_first: bool,
}

pub(super) fn lists(ring: &RingView) -> Markup {
    let mut seen = HashSet::new();
    let nodes = ring.nodes.iter().take(NODES_SHOWN_MAX);
    let nodes: Vec<(&NodeView, Vec<Line<'_>>, Vec<Line<'_>>)> =
        nodes.map(|node| (node, line(node, &mut seen), shortcuts(node, &mut seen))).collect();
    html! {
        @if nodes.is_empty() { p.note { "This machine has no node in the ring." } }
        @for (node, line, shortcuts) in &nodes {
            div.node-part {
                @if nodes.len() > 1 || node.standing != "member" {
                    p.node-name {
                        "Node " (node.contact.index) ", " (node.standing) ", " (words::percent(node.arc_share)) " of the circle"
                    }
                }
                ol.line { @for one in line { (row(one)) } }
                @if !shortcuts.is_empty() {
                    p.node-name { "Shortcuts across the circle" }
                    ol.line.line-far { @for one in shortcuts { (row(one)) } }
                }
            }
        }
        @if ring.nodes.len() > NODES_SHOWN_MAX {
            p.note { "And " (words::counted((ring.nodes.len() - NODES_SHOWN_MAX) as u64, "more node", "more nodes")) " on this machine." }
        }
    }
}

/// Who comes before a node, itself, and who comes after it.
fn line<'a>(node: &'a NodeView, seen: &mut HashSet<&'a str>) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let mut add = |contact: &'a ContactView, what: String, class| {
        let class = if contact.is_ours { "line-own" } else { class };
        lines.push(Line { contact, what, class, is_first: seen.insert(&contact.id) });
    };
    // In a small ring the last of those after it is also the one before it.
    let closes = node.is_whole && node.predecessor.as_ref().map(|p| &p.id) == node.successors.last().map(|s| &s.id);
    if let Some(before) = node.predecessor.as_ref().filter(|_| !closes) {
        add(before, "before".to_owned(), "line-near");
    }
    add(&node.contact, "here".to_owned(), "line-own");
    let last = node.successors.len();
    for (n, after) in node.successors.iter().enumerate() {
        let what = if closes && n + 1 == last { format!("+{}, before", n + 1) } else { format!("+{}", n + 1) };
        add(after, what, "line-near");
    }
    lines
}

fn shortcuts<'a>(node: &'a NodeView, seen: &mut HashSet<&'a str>) -> Vec<Line<'a>> {
    let near = |contact: &&ContactView| !node.successors.iter().any(|after| after.id == contact.id);
    let fingers = node.fingers.iter().filter(near);
    let line = |contact: &'a ContactView| {
        // How far it is, as the part of the circle between.
        let distance = (contact.turn - node.contact.turn).rem_euclid(1.0);
        let class = if contact.is_ours { "line-own" } else { "line-far" };
        Line { contact, what: words::percent(distance), class, is_first: seen.insert(&contact.id) }
    };
    fingers.map(line).collect()
}

fn row(line: &Line<'_>) -> Markup {
    let contact = line.contact;
    html! {
        li.(line.class) id=[line.is_first.then(|| anchor(contact))] {
            span.line-what { (line.what) }
            code.line-id title=(contact.id) { (short(&contact.id)) }
            span.line-where {
                @if contact.is_ours { "this machine" } @else { "machine " (machine(&contact.machine)) }
                @if contact.index > 0 { " · " (contact.index) }
                @for address in contact.addresses.iter().take(1) { " " span.mono { (address) } }
            }
            span.line-time {
                @match contact.round_trip_ms { Some(millis) => (words::millis(millis)), None if contact.is_ours => "", None => "–" }
            }
        }
    }
}
