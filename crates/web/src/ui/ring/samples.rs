//! Hand-made rings for the tests: with a text of the caller's in every place that strangers fill.

use super::{Question, alone, health, page, people};
use crate::peers::{
    AuditView, ContactView, CopiesView, HealthView, LookupView, MachineView, NodeView, PeerView, RepairView,
    RingCounters, RingEvent, RingView, SplitView, StopView,
};
use crate::ui::Reader;
use crate::ui::samples::{Words, now, reader};
use axum::response::Response;
use http::StatusCode;

pub(in crate::ui) fn pages(words: Words<'_>) -> Vec<(&'static str, Response)> {
    let at_home = reader("127.0.0.1:8480", false);
    let ring = ring_of(words);
    let found = Question { url: words.url.to_owned(), found: Some(lookup_of(words)), trouble: None };
    let trouble = (StatusCode::SERVICE_UNAVAILABLE, words.title.to_owned());
    let failed = Question { url: words.url.to_owned(), found: None, trouble: Some(trouble) };
    let bare = RingView { name: words.title.to_owned(), nodes_estimate: f64::NAN, ..RingView::default() };
    let kept = health_of(words);
    let whole = HealthView { objects: vec![CopiesView { copies: 6, objects: 9 }], ..HealthView::default() };
    vec![
        ("ring-health", health::page(Some(&kept), &at_home, now())),
        ("ring-health-whole", health::page(Some(&whole), &at_home, now())),
        ("ring-health-unknown", health::page(None, &at_home, now())),
        ("ring-people", people::page(Some(&kept), &at_home, now())),
        ("ring-people-unknown", people::page(None, &at_home, now())),
        ("ring", page(&ring, &Question::default(), &at_home, now())),
        ("ring-found", page(&ring, &found, &at_home, now())),
        ("ring-failed", page(&ring, &failed, &at_home, now())),
        ("ring-bare", page(&bare, &found, &at_home, now())),
        ("ring-alone", alone(&Reader { has_ring: false, ..at_home })),
    ]
}

pub(in crate::ui) fn contact(words: Words<'_>, id: &str, turn: f64) -> ContactView {
    ContactView {
        id: id.to_owned(),
        turn,
        machine: format!("{id}00{}", words.title),
        index: 1,
        addresses: vec![words.url.to_owned(), "192.0.2.7:8482".to_owned()],
        round_trip_ms: (turn < 0.5).then_some(12.5),
        is_ours: false,
    }
}

/// Two nodes here, neighbours that are the same for both, and one whose id is nothing but a stranger's words.
pub(in crate::ui) fn ring_of(words: Words<'_>) -> RingView {
    let contact = |id: &str, turn: f64| contact(words, id, turn);
    let own = |id: &str, turn: f64, index: u16| ContactView { is_ours: true, index, ..contact(id, turn) };
    let node = |index: u16, standing: &'static str, turn: f64| NodeView {
        contact: own(&format!("aaaa{index}"), turn, index),
        standing,
        arc_from: "9999".to_owned(),
        arc_turn: turn - 0.1,
        arc_share: 0.1,
        predecessor: Some(contact("9999", 0.05)),
        successors: vec![contact("bbbb", 0.4), contact(words.title, 0.45), own("aaaa1", 0.7, 1)],
        is_whole: false,
        fingers: vec![contact("cccc", 0.6), contact("bbbb", 0.4), contact("dddd", f64::NAN)],
        known: 23,
        dead: 1,
        lookups: 0,
    };
    let peer = |machine: &str, banned_s| PeerView {
        machine: machine.to_owned(),
        address: Some(words.url.to_owned()),
        connected_s: Some(75.5),
        round_trip_ms: Some(3.25),
        bytes_in: 12_345,
        banned_s,
        ..PeerView::default()
    };
    RingView {
        name: words.title.to_owned(),
        ring: "0f".repeat(32),
        is_owner: true,
        depth: 16,
        copies: 6,
        machine: "12".repeat(32),
        addresses: vec![words.url.to_owned(), "192.0.2.1:8482".to_owned()],
        nodes_estimate: 1234.5,
        nodes: vec![node(0, "member", 0.2), node(1, "joining", 0.7)],
        peers: vec![peer("beef", None), peer(words.title, Some(540.0))],
        events: vec![RingEvent { time: "2026-11-16T03:59:00Z".to_owned(), kind: "dead", what: words.title.to_owned() }],
        counters: RingCounters { lookups_done: 4, hops_sum: 6, lookups_failed: 1, ..RingCounters::default() },
        ..RingView::default()
    }
}

/// Some objects in danger, one machine on probation, one that failed its audit and does not answer.
pub(in crate::ui) fn health_of(words: Words<'_>) -> HealthView {
    let machine = |key: &str, name: Option<&str>| MachineView {
        machine: format!("{key}{}", words.title),
        name: name.map(str::to_owned),
        is_alive: true,
        since: Some("2026-01-02T03:04:05Z".to_owned()),
        uptime_s: Some(100_000.0),
        disk_used_bytes: Some(5_000_000_000),
        disk_free_bytes: Some(95_000_000_000),
        objects_held: 40_000,
        bytes_held: 4_000_000_000,
        bytes_served: 12_000_000,
        pages_fetched: 1_234,
        ..MachineView::default()
    };
    let audit =
        |is_passed| AuditView { time: "2026-11-16T03:00:00Z".to_owned(), is_passed, what: words.title.to_owned() };
    let copies = |(copies, objects)| CopiesView { copies, objects };
    HealthView {
        time: "2026-11-16T03:59:00Z".to_owned(),
        copies: 6,
        objects: [(6, 40_000), (5, 1_200), (1, 3), (0, 0)].map(copies).to_vec(),
        repairs: vec![
            RepairView {
                what: words.title.to_owned(),
                machine: words.url.to_owned(),
                objects_left: 1_203,
                bytes_left: 120_000_000,
                bytes_per_s: 2_000_000.0,
                done_s: Some(60.0),
            },
            RepairView { what: words.title.to_owned(), bytes_per_s: f64::NAN, ..RepairView::default() },
        ],
        set_aside: 812,
        last_failure: Some(words.title.to_owned()),
        hosts_split: 1,
        splits: vec![SplitView { host: words.url.to_owned(), parts: 4, ..SplitView::default() }],
        repair_objects: 1_203,
        repair_bytes: 120_000_000,
        repair_done_s: Some(75.0),
        machines: vec![
            MachineView { is_ours: true, audit: Some(audit(true)), ..machine("aaaa", Some(words.title)) },
            MachineView { audit: Some(audit(false)), is_alive: false, ..machine("bbbb", Some(words.title)) },
            MachineView { is_on_probation: true, probation_left_s: Some(f64::NAN), ..machine("cccc", None) },
        ],
        machines_asked: 3,
        machines_silent: 1,
    }
}

pub(in crate::ui) fn lookup_of(words: Words<'_>) -> LookupView {
    let contact = |id: &str, turn: f64| contact(words, id, turn);
    let stop = |node: ContactView, told_by: Option<&str>, round_trip_ms| StopView {
        node,
        depth: 1,
        told_by: told_by.map(str::to_owned),
        round_trip_ms,
    };
    LookupView {
        url: words.url.to_owned(),
        key: "e0".repeat(32),
        turn: 0.875,
        owner: contact("eeee", 0.9),
        replicas: vec![contact("eeee", 0.9), contact("ffff", 0.95)],
        hops: 2,
        took_ms: 31.5,
        stops: vec![
            stop(contact("bbbb", 0.4), None, Some(12.5)),
            stop(contact(words.title, 0.45), Some("bbbb"), None),
            stop(contact("eeee", 0.9), Some(words.title), Some(19.0)),
        ],
    }
}
