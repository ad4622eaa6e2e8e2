//! A ring that only a test moves.

use herodotus_web::Refused;
use herodotus_web::peers::{
    AuditView, ContactView, CopiesView, HealthView, LookupView, MachineView, NodeView, PeerView, Peers, RepairView,
    RingCounters, RingEvent, RingView, SplitView, StopView,
};
use std::future::Future;
use std::pin::Pin;
use tokio::sync::watch;

/// What a person may call a ring.
pub(crate) const ODD_NAME: &str = "a \"ring\"\\of\nours";

#[derive(Debug)]
pub(crate) struct FakeRing {
    nodes: watch::Sender<u64>,
}

impl Default for FakeRing {
    fn default() -> Self {
        Self { nodes: watch::Sender::new(1) }
    }
}

impl FakeRing {
    pub(crate) fn join_one(&self) {
        self.nodes.send_modify(|nodes| *nodes += 1);
    }
}

fn contact(id: &str, turn: f64, is_ours: bool) -> ContactView {
    ContactView {
        id: id.to_owned(),
        turn,
        machine: id.repeat(8),
        index: 0,
        addresses: vec!["192.0.2.1:8482".to_owned()],
        round_trip_ms: (!is_ours).then_some(12.5),
        is_ours,
    }
}

impl Peers for FakeRing {
    fn view(&self) -> RingView {
        RingView {
            name: ODD_NAME.to_owned(),
            ring: "00ff".to_owned(),
            is_open: false,
            is_owner: true,
            depth: 16,
            copies: 6,
            placement: "host",
            machine: "abcd".to_owned(),
            addresses: vec!["192.0.2.9:8482".to_owned()],
            nodes_estimate: *self.nodes.borrow() as f64,
            nodes: vec![NodeView {
                contact: contact("4000", 0.25, true),
                standing: "member",
                arc_from: "3000".to_owned(),
                arc_turn: 0.1875,
                arc_share: 0.0625,
                predecessor: Some(contact("3000", 0.1875, false)),
                successors: vec![contact("8000", 0.5, false)],
                is_whole: false,
                fingers: vec![contact("c000", 0.75, false)],
                known: 3,
                dead: 1,
                lookups: 0,
            }],
            peers: vec![PeerView {
                machine: "3000".repeat(8),
                address: None,
                connected_s: Some(7.5),
                round_trip_ms: Some(12.5),
                bytes_in: 1000,
                bytes_out: 2000,
                ..PeerView::default()
            }],
            events: vec![RingEvent {
                time: "2026-01-02T03:04:05Z".to_owned(),
                kind: "joined",
                what: "A node joined.".to_owned(),
            }],
            counters: RingCounters { lookups_done: 7, hops_sum: 9, ..RingCounters::default() },
        }
    }

    fn lookup(&self, url: &str) -> Pin<Box<dyn Future<Output = Result<LookupView, Refused>> + Send>> {
        let url = url.to_owned();
        Box::pin(async move {
            if url.contains("refused") {
                return Err(Refused("nobody answered".to_owned()));
            }
            let owner = contact("8000", 0.5, false);
            let stop = |told_by: Option<&str>, round_trip_ms| StopView {
                node: owner.clone(),
                depth: 1,
                told_by: told_by.map(str::to_owned),
                round_trip_ms,
            };
            Ok(LookupView {
                url,
                key: "7000".to_owned(),
                turn: 0.4375,
                replicas: vec![owner.clone()],
                hops: 1,
                took_ms: 12.5,
                stops: vec![stop(None, None), stop(Some("c000"), Some(12.5))],
                owner,
            })
        })
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.nodes.subscribe()
    }

    fn health(&self) -> Option<HealthView> {
        let machine = |machine: &str| MachineView {
            machine: machine.to_owned(),
            name: Some(ODD_NAME.to_owned()),
            is_alive: true,
            since: Some("2026-01-02T03:04:05Z".to_owned()),
            uptime_s: Some(60.5),
            disk_free_bytes: Some(1000),
            bytes_held: 70,
            bytes_served: 9,
            ..MachineView::default()
        };
        let audit =
            AuditView { time: "2026-01-02T03:04:05Z".to_owned(), is_passed: false, what: "It lied.".to_owned() };
        Some(HealthView {
            time: "2026-01-02T03:04:05Z".to_owned(),
            copies: 6,
            objects: vec![CopiesView { copies: 6, objects: 40 }, CopiesView { copies: 2, objects: 3 }],
            repairs: vec![RepairView { what: "A machine died.".to_owned(), ..RepairView::default() }],
            repair_objects: 3,
            repair_bytes: 300,
            repair_done_s: Some(7.5),
            // The second is the first once more.
            machines: vec![machine("abcd"), machine("abcd"), MachineView { audit: Some(audit), ..machine("3000") }],
            machines_asked: 3,
            machines_silent: 1,
            set_aside: 5,
            last_failure: None,
            hosts_split: 2,
            splits: vec![SplitView { host: "org,example".to_owned(), parts: 4, is_settled: true }],
        })
    }
}
