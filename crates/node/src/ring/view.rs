//! The ring as pages and commands show it.

use herodotus_base::{Id, PeerKey, Timestamp};
use herodotus_net::{Endpoint, RingKind};
use herodotus_ring::{Contact, Event, Ring, Standing, Status, Stop, Verdict};
use herodotus_web::peers::{
    ContactView, LookupView, NodeView, PeerView, RingCounters, RingEvent, RingView, StopView, millis,
};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// Events that a page shows.
const EVENTS_MAX: usize = 60;

/// What happened lately.
#[derive(Debug, Default)]
pub(super) struct Diary {
    events: VecDeque<RingEvent>,
}

impl Diary {
    pub(super) fn write(&mut self, event: &Event) {
        let share = |from: Id, to: Id| percent(from, to);
        let (kind, what) = match event {
            Event::Joined { arc } => ("joined", format!("A member; {} of the circle is ours.", share(arc.0, arc.1))),
            Event::PeerDead { contact } => ("dead", format!("Node {} does not answer any more.", short(contact))),
            Event::RangeGained { from, to } => ("gained", format!("{} of the circle is ours now.", share(*from, *to))),
            Event::RangeLost { from, to } => {
                ("lost", format!("{} of the circle went to another node.", share(*from, *to)))
            }
            Event::NeighboursChanged { predecessor, successors } => {
                let name = |contact: Option<&Contact>| contact.map_or_else(|| "nobody".to_owned(), short);
                let (before, after) = (name(predecessor.as_ref()), name(successors.first()));
                ("neighbours", format!("Between {before} and {after}; {} nodes follow.", successors.len()))
            }
            Event::HandOver { to, .. } => ("leaving", format!("Handing over to {} machines.", to.len())),
            Event::Left => ("left", "Left the ring.".to_owned()),
            Event::LookupDone { .. } => return,
        };
        if self.events.len() == EVENTS_MAX {
            self.events.pop_back();
        }
        self.events.push_front(RingEvent { time: Timestamp::now().to_string(), kind, what });
    }
}

pub(super) fn view(rings: &[&Ring], endpoint: &Endpoint, diary: &Diary, counters: &RingCounters) -> RingView {
    let admission = endpoint.admission();
    let terms = admission.charter().terms();
    let machine = endpoint.key();
    let peers = endpoint.peers().into_iter().map(|peer| PeerView {
        machine: peer.key.to_string(),
        address: peer.address.map(|address| address.to_string()),
        connected_s: peer.connected_for.map(|time| time.as_secs_f64().round()),
        round_trip_ms: peer.round_trip.map(millis),
        bytes_in: peer.bytes_in,
        bytes_out: peer.bytes_out,
        calls_in: peer.calls_in,
        calls_out: peer.calls_out,
        refused: peer.refused,
        banned_s: peer.banned_for.map(|time| time.as_secs_f64().round()),
    });
    RingView {
        name: terms.name.clone(),
        ring: admission.ring().to_string(),
        is_open: matches!(admission.kind(), RingKind::Open { .. }),
        is_owner: admission.is_owner(),
        depth: terms.r,
        copies: terms.copies,
        placement: if terms.is_by_url { "url" } else { "host" },
        machine: machine.to_string(),
        addresses: endpoint.addresses().iter().map(SocketAddr::to_string).collect(),
        nodes_estimate: rings.first().map_or(0.0, |ring| nodes_estimate(ring)),
        nodes: rings.iter().map(|ring| node(&ring.status(), machine)).collect(),
        peers: peers.collect(),
        events: diary.events.iter().cloned().collect(),
        counters: counters.clone(),
    }
}

/// Neighbours lie as close together as everybody does, on average.
fn nodes_estimate(ring: &Ring) -> f64 {
    let successors = ring.core().successors();
    match successors.last() {
        _ if !ring.is_member() => 0.0,
        None => 1.0,
        Some(_) if ring.core().is_whole() => successors.len() as f64 + 1.0,
        Some(last) => (successors.len() as f64 / ring.me().id.distance_to(last.id).share()).round(),
    }
}

fn node(status: &Status, machine: PeerKey) -> NodeView {
    let show = |contact: &Contact| show(contact, machine, status.round_trips.get(&contact.id).copied());
    let (from, to) = status.arc;
    NodeView {
        contact: show(&status.me),
        standing: match status.standing {
            Standing::Outside => "outside",
            Standing::Joining { .. } => "joining",
            Standing::Member => "member",
            Standing::Leaving { .. } => "leaving",
            Standing::Left => "left",
        },
        arc_from: from.to_string(),
        arc_turn: from.turn(),
        arc_share: share(from, to),
        predecessor: status.neighbours.predecessor.as_ref().map(show),
        successors: status.neighbours.successors.iter().map(show).collect(),
        is_whole: status.neighbours.is_whole,
        fingers: status.fingers.iter().map(show).collect(),
        known: status.known,
        dead: status.dead,
        lookups: status.lookups,
    }
}

pub(super) fn lookup(
    url: &str,
    key: Id,
    verdict: &Verdict,
    stops: &[Stop],
    took: Duration,
    copies: usize,
    machine: PeerKey,
) -> LookupView {
    let show = |contact: &Contact| show(contact, machine, None);
    let stops = stops.iter().map(|stop| StopView {
        node: show(&stop.contact),
        depth: stop.depth,
        told_by: stop.told_by.map(|id| id.to_string()),
        round_trip_ms: stop.round_trip.map(millis),
    });
    LookupView {
        url: url.to_owned(),
        key: key.to_string(),
        turn: key.turn(),
        owner: show(&verdict.owner),
        replicas: verdict.replicas(copies).iter().map(show).collect(),
        hops: verdict.hops,
        took_ms: millis(took),
        stops: stops.collect(),
    }
}

fn show(contact: &Contact, machine: PeerKey, round_trip: Option<Duration>) -> ContactView {
    ContactView {
        id: contact.id.to_string(),
        turn: contact.id.turn(),
        machine: contact.key.to_string(),
        index: contact.index,
        addresses: contact.addresses.iter().map(SocketAddr::to_string).collect(),
        round_trip_ms: round_trip.map(millis),
        is_ours: contact.key == machine,
    }
}

fn short(contact: &Contact) -> String {
    format!("{:?}", contact.id)
}

fn share(from: Id, to: Id) -> f64 {
    if from == to { 1.0 } else { from.distance_to(to).share() }
}

fn percent(from: Id, to: Id) -> String {
    format!("{:.1}%", share(from, to) * 100.0)
}
