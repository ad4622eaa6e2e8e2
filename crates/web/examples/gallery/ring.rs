//! A ring that only seems to be one: some dozens of nodes in places that never change, one of which dies and comes back.

use herodotus_base::{Sha256, Timestamp};
use herodotus_web::Refused;
use herodotus_web::peers::{
    AuditView, ContactView, CopiesView, HealthView, LookupView, MachineView, NodeView, PeerView, Peers, RepairView,
    RingCounters, RingEvent, RingView, StopView,
};
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Machines in a successor list, and machines that keep an object.
const DEPTH: usize = 6;
const COPIES: usize = 6;

/// How often the restless node dies and comes back.
const BEAT: Duration = Duration::from_secs(8);

#[derive(Debug)]
pub(crate) struct PretendedRing {
    began: Instant,
    start_ms: i64,
    /// In the order of the circle.
    nodes: Vec<ContactView>,
    changed: watch::Sender<u64>,
}

fn hex(of: &str) -> String {
    Sha256::of(of.as_bytes()).0.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where an id is on the circle.
fn turn(id: &str) -> f64 {
    let start = u32::from_str_radix(id.get(..8).unwrap_or("0"), 16).unwrap_or(0);
    f64::from(start) / (f64::from(u32::MAX) + 1.0)
}

fn contact(number: usize) -> ContactView {
    // Every fifth machine has two nodes; the first is ours.
    let (machine, index) = if number % 6 == 5 { (number - 5, 1) } else { (number, 0) };
    let id = hex(&format!("place 133 {machine} {index}"));
    let is_ours = machine == 0;
    let address = match machine % 4 {
        3 => format!("[2001:db8:{:x}::{:x}]:8482", machine * 7 + 16, machine * 31 + 5),
        _ => format!("198.51.{}.{}:8482", machine % 100, machine * 37 % 250 + 1),
    };
    ContactView {
        turn: turn(&id),
        id,
        machine: hex(&format!("machine {machine}")),
        index,
        addresses: vec![address],
        round_trip_ms: (!is_ours).then(|| 3.0 + (machine * 53 % 170) as f64 * 0.9),
        is_ours,
    }
}

impl PretendedRing {
    pub(crate) fn begin(size: usize) -> Self {
        let mut nodes: Vec<ContactView> = (0..size).map(contact).collect();
        nodes.sort_by(|a, b| a.id.cmp(&b.id));
        let changed = watch::Sender::new(0);
        let ticker = changed.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(BEAT / 4).await;
                ticker.send_modify(|n| *n += 1);
            }
        });
        Self { began: Instant::now(), start_ms: Timestamp::now().millis(), nodes, changed }
    }

    fn beats(&self) -> u64 {
        self.began.elapsed().as_secs() / BEAT.as_secs()
    }

    /// Those that live now.
    fn living(&self) -> Vec<ContactView> {
        let restless = self.nodes.iter().position(|node| node.is_ours).map_or(0, |at| (at + 2) % self.nodes.len());
        let is_down = self.beats() % 2 == 1;
        let alive = |(at, _): &(usize, &ContactView)| !(is_down && *at == restless);
        self.nodes.iter().enumerate().filter(alive).map(|(_, node)| node.clone()).collect()
    }
}

/// Who owns a place: the first node at or after it.
fn owner(nodes: &[ContactView], turn: f64) -> usize {
    let turn = turn.rem_euclid(1.0);
    nodes.iter().position(|node| node.turn >= turn).unwrap_or(0)
}

fn after(nodes: &[ContactView], at: usize, steps: usize) -> &ContactView {
    &nodes[(at + steps) % nodes.len()]
}

/// The next nodes on different machines.
fn machines_from(nodes: &[ContactView], at: usize, count: usize, not: &str) -> Vec<ContactView> {
    let mut found: Vec<ContactView> = Vec::new();
    for step in 0..nodes.len() {
        let node = after(nodes, at, step);
        if node.machine != not && !found.iter().any(|known| known.machine == node.machine) && found.len() < count {
            found.push(node.clone());
        }
    }
    found
}

fn node_view(nodes: &[ContactView], at: usize) -> NodeView {
    let own = &nodes[at];
    let before = after(nodes, at, nodes.len() - 1);
    let successors = machines_from(nodes, at + 1, DEPTH, &own.machine);
    let mut fingers: Vec<ContactView> = Vec::new();
    for power in 1..16 {
        let finger = &nodes[owner(nodes, own.turn + 0.5_f64.powi(power))];
        if !finger.is_ours && !successors.contains(finger) && !fingers.contains(finger) {
            fingers.push(finger.clone());
        }
    }
    NodeView {
        contact: own.clone(),
        standing: "member",
        arc_from: before.id.clone(),
        arc_turn: before.turn,
        arc_share: (own.turn - before.turn).rem_euclid(1.0),
        predecessor: Some(before.clone()),
        is_whole: false,
        known: nodes.len() - 1,
        dead: 0,
        lookups: 0,
        successors,
        fingers,
    }
}

impl Peers for PretendedRing {
    fn view(&self) -> RingView {
        let nodes = self.living();
        let own: Vec<usize> = (0..nodes.len()).filter(|at| nodes[*at].is_ours).collect();
        let seconds = self.began.elapsed().as_secs() + 4000;
        // When the beat that goes on began.
        let now = self.start_ms + i64::try_from(self.beats() * BEAT.as_secs() * 1000).unwrap_or(0);
        let event = |back: u64| {
            let (kind, what) = match (self.beats() + 100 - back) % 4 {
                1 => ("dead", "Node 91f0a2c4 of machine 2b7e6d01 did not answer any more."),
                2 => ("gained", "A part of the circle came to us: 1.2 %, from 5c01d9aa to 6fe2b310."),
                3 => ("joined", "Node 91f0a2c4 of machine 2b7e6d01 is back."),
                _ => ("neighbours", "The nodes after us are others now: 91f0a2c4 is the first of them."),
            };
            let age_ms = i64::try_from(back * BEAT.as_secs() * 1000).unwrap_or(0);
            RingEvent { time: Timestamp::from_millis_clamped(now - age_ms).rfc3339(), kind, what: what.to_owned() }
        };
        let peer = |(at, node): (usize, &ContactView)| PeerView {
            machine: node.machine.clone(),
            address: node.addresses.first().cloned(),
            connected_s: Some((seconds as f64 / (at + 1) as f64).floor()),
            round_trip_ms: node.round_trip_ms,
            bytes_in: 48_000 + at as u64 * 9177 + seconds * 120,
            bytes_out: 51_000 + at as u64 * 8700 + seconds * 131,
            calls_in: seconds,
            calls_out: seconds,
            refused: 0,
            banned_s: None,
        };
        let others = machines_from(&nodes, 0, 12, &contact(0).machine);
        let mut peers: Vec<PeerView> = others.iter().enumerate().map(peer).collect();
        peers.push(PeerView {
            machine: hex("a stranger"),
            address: Some("203.0.113.66:40122".to_owned()),
            bytes_in: 210_000,
            refused: 512,
            banned_s: Some(540.0),
            ..PeerView::default()
        });
        RingView {
            name: "Museums of the coast".to_owned(),
            ring: hex("terms"),
            is_open: false,
            is_owner: true,
            depth: DEPTH as u16,
            copies: COPIES as u16,
            placement: "host",
            machine: contact(0).machine,
            addresses: contact(0).addresses,
            nodes_estimate: nodes.len() as f64 + 0.3,
            nodes: own.into_iter().map(|at| node_view(&nodes, at)).collect(),
            peers,
            events: (0..9).map(event).collect(),
            counters: RingCounters {
                messages_in: seconds * 11,
                messages_out: seconds * 12,
                bytes_in: seconds * 1840,
                bytes_out: seconds * 1910,
                messages_refused: 512,
                lookups_done: seconds / 3,
                lookups_failed: 0,
                hops_sum: seconds / 2,
                peers_died: self.beats() / 2,
                turned_away: 1,
            },
        }
    }

    fn lookup(&self, url: &str) -> Pin<Box<dyn Future<Output = Result<LookupView, Refused>> + Send>> {
        let nodes = self.living();
        let key = hex(url);
        let (url, turn) = (url.to_owned(), turn(&key));
        Box::pin(async move {
            if url.contains("nowhere") {
                return Err(Refused("nobody on the way answered: this machine may be cut off".to_owned()));
            }
            let at = owner(&nodes, turn);
            // The way halves the distance at every step, over what a finger table would hold.
            let mut stops: Vec<StopView> = Vec::new();
            for (depth, share) in [0.5, 0.8, 0.95, 1.0].into_iter().enumerate() {
                let from = nodes.iter().find(|node| node.is_ours).map_or(0.0, |node| node.turn);
                let place = from + (turn - from).rem_euclid(1.0) * share;
                let node = &nodes[if share == 1.0 { at } else { owner(&nodes, place) }];
                if node.is_ours || stops.iter().any(|stop| stop.node.id == node.id) {
                    continue;
                }
                let told_by =
                    stops.iter().rev().find(|stop| stop.round_trip_ms.is_some()).map(|stop| stop.node.id.clone());
                let round_trip_ms = if depth == 1 { None } else { node.round_trip_ms };
                stops.push(StopView { node: node.clone(), depth: depth as u16, told_by, round_trip_ms });
            }
            let took_ms = stops.iter().filter_map(|stop| stop.round_trip_ms).sum();
            Ok(LookupView {
                url,
                key,
                turn,
                owner: nodes[at].clone(),
                replicas: machines_from(&nodes, at, COPIES, ""),
                hops: stops.len() as u16,
                took_ms,
                stops,
            })
        })
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn health(&self) -> Option<HealthView> {
        let names = ["City Library", "University Press", "Museum of the Coast", "A. Reader"];
        let left = 40_u64.saturating_sub(self.began.elapsed().as_secs() % 41);
        let audit = |n: u64| AuditView {
            time: Timestamp::from_millis_clamped(self.start_ms - 60_000 * n as i64).rfc3339(),
            is_passed: n != 5,
            what: if n == 5 { "3 of 64 objects were not there." } else { "64 objects were there." }.to_owned(),
        };
        let machine = |(n, node): (usize, &ContactView)| {
            let n = n as u64;
            MachineView {
                machine: node.machine.clone(),
                name: names.get(n as usize % 6).map(|name| (*name).to_owned()),
                is_ours: n == 0,
                is_alive: n != 9,
                since: Some(Timestamp::from_millis_clamped(self.start_ms - 86_400_000 * (n as i64 + 3)).rfc3339()),
                uptime_s: Some(86_400.0 * (n as f64 + 0.5)),
                disk_used_bytes: Some(40_000_000_000 + n * 3_000_000_000),
                disk_free_bytes: Some(960_000_000_000 - n * 70_000_000_000 % 900_000_000_000),
                objects_held: 410_000 + n * 1_703,
                bytes_held: 31_000_000_000 + n * 977_000_000,
                bytes_served: 640_000_000 * (n + 1),
                pages_fetched: 12_000 * n,
                is_on_probation: n == 7,
                probation_left_s: (n == 7).then_some(5400.0),
                audit: (n != 7).then(|| audit(n)),
            }
        };
        let repair = RepairView {
            what: "A machine has been gone for 15 minutes: its copies are made again.".to_owned(),
            machine: self.nodes.get(3).map(|node| node.machine.clone()).unwrap_or_default(),
            objects_left: left * 30,
            bytes_left: left * 2_000_000,
            bytes_per_s: 2_000_000.0,
            done_s: Some(left as f64),
        };
        let copies = |(copies, objects)| CopiesView { copies, objects };
        Some(HealthView {
            time: Timestamp::now().rfc3339(),
            copies: COPIES as u16,
            objects: [(6, 1_640_000 - left * 30), (5, left * 28), (4, left * 2)].map(copies).to_vec(),
            repairs: if left > 0 { vec![repair] } else { Vec::new() },
            repair_objects: left * 30,
            repair_bytes: left * 2_000_000,
            repair_done_s: (left > 0).then_some(left as f64),
            machines: self.nodes.iter().take(24).enumerate().map(machine).collect(),
            machines_asked: self.nodes.len().min(24),
            machines_silent: 1,
            set_aside: 812,
            ..HealthView::default()
        })
    }
}
