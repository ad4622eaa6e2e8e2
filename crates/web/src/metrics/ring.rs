//! The ring, as this machine sees it.

use super::text::Text;
use crate::limits::{METRICS_COPIES_MAX, METRICS_NODES_MAX, METRICS_PEERS_MAX};
use crate::peers::{HealthView, MachineView, NodeView, PeerView, RingView};
use std::collections::BTreeMap;

const STANDINGS: [&str; 5] = ["outside", "joining", "member", "leaving", "left"];

pub(super) fn write(text: &mut Text, ring: &RingView) {
    let yes_no = |is: bool| if is { "true" } else { "false" };
    text.gauge("herodotus_ring_info", "The ring that this machine belongs to; what it is called is in labels.").put(
        &[
            ("ring", &ring.ring),
            ("name", &ring.name),
            ("machine", &ring.machine),
            ("open", yes_no(ring.is_open)),
            ("owner", yes_no(ring.is_owner)),
        ],
        1.0,
    );
    text.gauge("herodotus_ring_nodes", "Nodes in the whole ring, estimated from the distances between neighbours.")
        .put(&[], ring.nodes_estimate);
    text.gauge("herodotus_ring_depth", "Machines in a successor list, by the ring's terms.")
        .count(&[], ring.depth.into());
    text.gauge("herodotus_ring_copies", "Machines on which every object lies, by the ring's terms.")
        .count(&[], ring.copies.into());
    nodes(text, ring);
    counters(text, ring);
    peers(text, ring);
}

/// One number of every node of ours.
fn each(text: &mut Text, nodes: &[NodeView], name: &str, help: &str, of: impl Fn(&NodeView) -> f64) {
    let mut family = text.gauge(name, help);
    for node in nodes {
        family.put(&[("node", &node.contact.index.to_string())], of(node));
    }
}

fn nodes(text: &mut Text, ring: &RingView) {
    text.gauge("herodotus_ring_own_nodes", "Nodes that run on this machine.").count(&[], ring.nodes.len() as u64);
    let nodes = ring.nodes.get(..METRICS_NODES_MAX).unwrap_or(&ring.nodes);
    let mut standing =
        text.gauge("herodotus_ring_standing", "1 for how a node of this machine stands, 0 for the rest.");
    for node in nodes {
        for name in STANDINGS {
            let is = if node.standing == name { 1.0 } else { 0.0 };
            standing.put(&[("node", &node.contact.index.to_string()), ("standing", name)], is);
        }
    }
    each(text, nodes, "herodotus_ring_arc_share", "How much of the circle a node owns, of 1.", |node| node.arc_share);
    each(text, nodes, "herodotus_ring_whole", "1 if a node's successors are all others there are.", |node| {
        f64::from(u8::from(node.is_whole))
    });
    each(text, nodes, "herodotus_ring_predecessors", "1 if a node has a predecessor.", |node| {
        f64::from(u8::from(node.predecessor.is_some()))
    });
    each(text, nodes, "herodotus_ring_successors", "Nodes in a successor list.", |node| node.successors.len() as f64);
    each(text, nodes, "herodotus_ring_fingers", "Different nodes in a finger table.", |node| node.fingers.len() as f64);
    each(text, nodes, "herodotus_ring_known_nodes", "Nodes that a node remembers.", |node| node.known as f64);
    each(text, nodes, "herodotus_ring_dead_nodes", "Nodes that a node holds for dead.", |node| node.dead as f64);
    each(text, nodes, "herodotus_ring_lookups_running", "Lookups going on.", |node| node.lookups as f64);
}

fn counters(text: &mut Text, ring: &RingView) {
    let counters = &ring.counters;
    text.counter("herodotus_ring_messages_total", "Messages of the ring, by direction.")
        .count(&[("direction", "in")], counters.messages_in)
        .count(&[("direction", "out")], counters.messages_out);
    text.counter("herodotus_ring_bytes_total", "Bytes of those messages.")
        .count(&[("direction", "in")], counters.bytes_in)
        .count(&[("direction", "out")], counters.bytes_out);
    text.counter(
        "herodotus_ring_messages_refused_total",
        "Messages that came to nothing: garbage, wrong places, too many.",
    )
    .count(&[], counters.messages_refused);
    text.counter("herodotus_ring_lookups_total", "Lookups that ended, by how.")
        .count(&[("result", "done")], counters.lookups_done)
        .count(&[("result", "failed")], counters.lookups_failed);
    text.counter("herodotus_ring_lookup_hops_total", "Hops of all lookups that were done.")
        .count(&[], counters.hops_sum);
    text.counter("herodotus_ring_peers_died_total", "Nodes that were found dead.").count(&[], counters.peers_died);
    text.counter("herodotus_ring_turned_away_total", "Machines that were not let in.").count(&[], counters.turned_away);
}

/// Machines by their keys, those with the most traffic first, so that a crowd of strangers cannot make names without end.
fn peers(text: &mut Text, ring: &RingView) {
    let connected = ring.peers.iter().filter(|peer| peer.connected_s.is_some()).count();
    let banned = ring.peers.iter().filter(|peer| peer.banned_s.is_some()).count();
    text.gauge("herodotus_ring_peers", "Machines that are connected, or refused for a while.")
        .count(&[("state", "connected")], connected as u64)
        .count(&[("state", "banned")], banned as u64);
    let mut told: Vec<&PeerView> = ring.peers.iter().collect();
    told.sort_by(|a, b| traffic(b).cmp(&traffic(a)).then_with(|| a.machine.cmp(&b.machine)));
    told.dedup_by(|a, b| a.machine == b.machine);
    told.truncate(METRICS_PEERS_MAX);
    let mut round_trips =
        text.gauge("herodotus_ring_peer_round_trip_seconds", "Round trip to a machine, as measured lately.");
    for peer in &told {
        if let Some(round_trip_ms) = peer.round_trip_ms {
            round_trips.put(&[("machine", &peer.machine)], round_trip_ms / 1e3);
        }
    }
    let mut connected = text.gauge("herodotus_ring_peer_connected_seconds", "How long a machine has been connected.");
    for peer in &told {
        if let Some(connected_s) = peer.connected_s {
            connected.put(&[("machine", &peer.machine)], connected_s);
        }
    }
    let mut both = |name: &str, help: &str, of: fn(&PeerView) -> (u64, u64)| {
        let mut family = text.counter(name, help);
        for peer in &told {
            let (inward, outward) = of(peer);
            family.count(&[("machine", &peer.machine), ("direction", "in")], inward);
            family.count(&[("machine", &peer.machine), ("direction", "out")], outward);
        }
    };
    both("herodotus_ring_peer_bytes_total", "Bytes to and from a machine.", |peer| (peer.bytes_in, peer.bytes_out));
    both("herodotus_ring_peer_calls_total", "Calls to and from a machine.", |peer| (peer.calls_in, peer.calls_out));
    let mut refused = text.counter("herodotus_ring_peer_refused_total", "A machine's messages that came to nothing.");
    for peer in &told {
        refused.count(&[("machine", &peer.machine)], peer.refused);
    }
}

/// How well everything is kept.
pub(super) fn health(text: &mut Text, health: &HealthView) {
    let mut copies: BTreeMap<u16, u64> =
        (0..=health.copies.min(METRICS_COPIES_MAX)).map(|copies| (copies, 0)).collect();
    for view in health.objects.iter().filter(|view| view.copies <= METRICS_COPIES_MAX) {
        let objects = copies.entry(view.copies).or_default();
        *objects = objects.saturating_add(view.objects);
    }
    let mut family = text.gauge("herodotus_ring_objects", "Objects by the number of their copies.");
    for (copies, objects) in copies {
        family.count(&[("copies", &copies.to_string())], objects);
    }
    text.gauge("herodotus_ring_objects_copies_wanted", "Copies that every object is to have.")
        .count(&[], health.copies.into());
    text.gauge("herodotus_ring_repair_objects", "Objects that are still to be copied again.")
        .count(&[], health.repair_objects);
    text.gauge("herodotus_ring_hosts_split", "Hosts that this machine knows to be split over several places.")
        .count(&[], health.hosts_split);
    text.gauge(
        "herodotus_ring_set_aside",
        "Captures of this machine that another one refuses to keep; they wait for it.",
    )
    .count(&[], health.set_aside);
    text.gauge("herodotus_ring_repair_bytes", "Bytes of them.").count(&[], health.repair_bytes);
    if let Some(done_s) = health.repair_done_s {
        text.gauge("herodotus_ring_repair_seconds", "Until all of it is done, as it goes now.").put(&[], done_s);
    }
    text.gauge("herodotus_ring_machines", "Machines that were asked how they are, by whether they answered.")
        .count(&[("state", "answered")], health.machines_asked.saturating_sub(health.machines_silent) as u64)
        .count(&[("state", "silent")], health.machines_silent as u64);
    machines(text, &health.machines);
}

/// Machines by their keys, those that hold the most first.
fn machines(text: &mut Text, machines: &[MachineView]) {
    let mut told: Vec<&MachineView> = machines.iter().collect();
    told.sort_by(|a, b| b.bytes_held.cmp(&a.bytes_held).then_with(|| a.machine.cmp(&b.machine)));
    let mut seen = std::collections::HashSet::new();
    told.retain(|machine| seen.insert(&machine.machine));
    told.truncate(METRICS_PEERS_MAX);
    let mut each = |name: &str, help: &str, of: fn(&MachineView) -> Option<f64>| {
        let mut family = match name.ends_with("_total") {
            true => text.counter(name, help),
            false => text.gauge(name, help),
        };
        for machine in &told {
            if let Some(value) = of(machine) {
                family.put(&[("machine", &machine.machine)], value);
            }
        }
    };
    each("herodotus_ring_machine_held_bytes", "Bytes that a machine holds.", |m| Some(m.bytes_held as f64));
    each("herodotus_ring_machine_held_objects", "Objects that a machine holds.", |m| Some(m.objects_held as f64));
    each("herodotus_ring_machine_served_bytes_total", "Bytes that a machine gave to others.", |m| {
        Some(m.bytes_served as f64)
    });
    each("herodotus_ring_machine_disk_used_bytes", "Bytes used on a machine's disk.", |m| {
        m.disk_used_bytes.map(|bytes| bytes as f64)
    });
    each("herodotus_ring_machine_disk_free_bytes", "Bytes free on a machine's disk.", |m| {
        m.disk_free_bytes.map(|bytes| bytes as f64)
    });
    each("herodotus_ring_machine_up", "1 if a machine answers.", |m| Some(f64::from(u8::from(m.is_alive))));
    each("herodotus_ring_machine_probation", "1 if a machine's copies do not count yet.", |m| {
        Some(f64::from(u8::from(m.is_on_probation)))
    });
    each("herodotus_ring_machine_audit_passed", "1 if a machine passed its last audit, 0 if it failed.", |m| {
        m.audit.as_ref().map(|audit| f64::from(u8::from(audit.is_passed)))
    });
}

fn traffic(peer: &PeerView) -> u64 {
    peer.bytes_in.saturating_add(peer.bytes_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_of_machines_makes_no_more_lines_than_the_limit() {
        let peer = |at: usize| PeerView {
            machine: format!("{at:064x}"),
            round_trip_ms: Some(12.5),
            bytes_in: at as u64,
            ..PeerView::default()
        };
        let ring = RingView { peers: (0..1000).map(peer).collect(), ..RingView::default() };
        let mut text = Text::default();
        write(&mut text, &ring);
        let text = text.done();
        let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!(lines("herodotus_ring_peer_round_trip_seconds{"), METRICS_PEERS_MAX);
        assert_eq!(lines("herodotus_ring_peer_bytes_total{"), 2 * METRICS_PEERS_MAX);
        let busiest = format!("herodotus_ring_peer_round_trip_seconds{{machine=\"{:064x}\"}} 0.0125", 999);
        assert!(text.lines().any(|line| line == busiest), "{text}");
    }
}
