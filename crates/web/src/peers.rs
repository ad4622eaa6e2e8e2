//! What the pages need of whoever runs the ring. The node implements it; an archive that belongs to no ring has none.

use crate::crawls::Refused;
use serde::Serialize;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// A ring that this machine belongs to.
pub trait Peers: Send + Sync + Debug {
    /// How it stands now, from memory.
    fn view(&self) -> RingView;
    /// Who is responsible for a URL, and the way there.
    fn lookup(&self, url: &str) -> Pin<Box<dyn Future<Output = Result<LookupView, Refused>> + Send>>;
    /// Changes whenever something is news: a page that watches waits for it.
    fn changed(&self) -> tokio::sync::watch::Receiver<u64>;
    /// How well everything is kept, and by whom, from memory. `None`: nobody looks after that here.
    fn health(&self) -> Option<HealthView> {
        None
    }
}

/// The ring as one machine sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RingView {
    pub name: String,
    /// Hash of its terms, hexadecimal.
    pub ring: String,
    pub is_open: bool,
    pub is_owner: bool,
    /// Machines in a successor list.
    pub depth: u16,
    /// Machines on which every object lies.
    pub copies: u16,
    /// What has one place on the circle: `host`, or `url`.
    pub placement: &'static str,
    /// This machine's public key, hexadecimal.
    pub machine: String,
    pub addresses: Vec<String>,
    /// Nodes in the whole ring, as the distances between neighbours suggest; exact while everybody knows everybody.
    pub nodes_estimate: f64,
    /// This machine's own nodes.
    pub nodes: Vec<NodeView>,
    /// Machines that a connection is open to.
    pub peers: Vec<PeerView>,
    /// What happened lately, the newest first.
    pub events: Vec<RingEvent>,
    pub counters: RingCounters,
}

/// One of this machine's virtual nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeView {
    pub contact: ContactView,
    /// `outside`, `joining`, `member`, `leaving` or `left`.
    pub standing: &'static str,
    /// Where what it owns begins, hexadecimal; it ends at its own place.
    pub arc_from: String,
    /// Where that is on the circle, of 1.
    pub arc_turn: f64,
    /// How much of the circle it owns, of 1.
    pub arc_share: f64,
    pub predecessor: Option<ContactView>,
    pub successors: Vec<ContactView>,
    /// The successors are all others there are.
    pub is_whole: bool,
    pub fingers: Vec<ContactView>,
    pub known: usize,
    pub dead: usize,
    pub lookups: usize,
}

/// A node anywhere in the ring.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ContactView {
    pub id: String,
    /// Where it is on the circle, of 1.
    pub turn: f64,
    /// Its machine's key, hexadecimal, and which of its nodes.
    pub machine: String,
    pub index: u16,
    pub addresses: Vec<String>,
    pub round_trip_ms: Option<f64>,
    /// It runs on this machine.
    pub is_ours: bool,
}

/// A machine that we are connected to, or that we refuse.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PeerView {
    pub machine: String,
    pub address: Option<String>,
    pub connected_s: Option<f64>,
    pub round_trip_ms: Option<f64>,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub calls_in: u64,
    pub calls_out: u64,
    pub refused: u64,
    pub banned_s: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RingEvent {
    /// RFC 3339.
    pub time: String,
    /// `joined`, `gained`, `lost`, `neighbours`, `dead`, `leaving`, `left`.
    pub kind: &'static str,
    /// One sentence for people.
    pub what: String,
}

/// Since the node started.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RingCounters {
    pub messages_in: u64,
    pub messages_out: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Messages that came to nothing on our side: garbage, wrong places, too much at once.
    pub messages_refused: u64,
    pub lookups_done: u64,
    pub lookups_failed: u64,
    /// Of all lookups that were done.
    pub hops_sum: u64,
    pub peers_died: u64,
    pub turned_away: u64,
}

/// A finished lookup.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LookupView {
    pub url: String,
    /// The place of the URL, hexadecimal.
    pub key: String,
    pub turn: f64,
    pub owner: ContactView,
    /// The machines that keep it, the owner first.
    pub replicas: Vec<ContactView>,
    pub hops: u16,
    pub took_ms: f64,
    /// Every node that was asked, in the order of the way.
    pub stops: Vec<StopView>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StopView {
    pub node: ContactView,
    /// How many others had to be asked before it was known.
    pub depth: u16,
    pub told_by: Option<String>,
    /// Nothing: it did not answer.
    pub round_trip_ms: Option<f64>,
}

/// How well everything in the ring is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HealthView {
    /// When it was last counted (RFC 3339).
    pub time: String,
    /// Copies that every object is to have: as the ring's terms say, or as many as there are machines.
    pub copies: u16,
    /// How many objects have how many copies.
    pub objects: Vec<CopiesView>,
    /// What is being copied again, the most urgent first; perhaps only the first of many.
    pub repairs: Vec<RepairView>,
    /// Objects and bytes that are still to be copied, in all.
    pub repair_objects: u64,
    pub repair_bytes: u64,
    /// When all of it will be done, as it goes now. `None`: nothing is to be done, or it cannot be told.
    pub repair_done_s: Option<f64>,
    /// Every machine that is known.
    pub machines: Vec<MachineView>,
    /// Machines that were asked, and those of them that did not answer, so that the numbers lack theirs.
    pub machines_asked: usize,
    pub machines_silent: usize,
    /// Hosts that this machine knows to be split over several places, and those with the most parts.
    pub hosts_split: u64,
    pub splits: Vec<SplitView>,
    /// Captures that came in on this machine and that another one refuses to keep, its disk being full perhaps; they wait for it.
    pub set_aside: u64,
    /// What went wrong here last with copies, since the node started; it is tried again by itself.
    pub last_failure: Option<String>,
}

/// A host that has grown so much that it is split over several places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SplitView {
    /// As keys have it: `org,example`.
    pub host: String,
    pub parts: u32,
    /// Whether everything is known to lie where it belongs.
    pub is_settled: bool,
}

/// How many objects have so many copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CopiesView {
    pub copies: u16,
    pub objects: u64,
}

/// Something that is being copied again.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RepairView {
    /// One sentence for people: what, and why.
    pub what: String,
    /// The machine that is being filled, by its key.
    pub machine: String,
    pub objects_left: u64,
    pub bytes_left: u64,
    pub bytes_per_s: f64,
    /// As it goes now. `None`: it stands still.
    pub done_s: Option<f64>,
}

/// A machine, and what it does for the ring.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MachineView {
    /// Its key, hexadecimal.
    pub machine: String,
    /// Whose it is, as they call themselves.
    pub name: Option<String>,
    pub is_ours: bool,
    /// It answers.
    pub is_alive: bool,
    /// Since when it is known here (RFC 3339).
    pub since: Option<String>,
    pub uptime_s: Option<f64>,
    pub disk_used_bytes: Option<u64>,
    pub disk_free_bytes: Option<u64>,
    pub objects_held: u64,
    pub bytes_held: u64,
    /// To others, since it started.
    pub bytes_served: u64,
    /// Pages that it fetched, since it started.
    pub pages_fetched: u64,
    /// It carries copies, and they do not count yet.
    pub is_on_probation: bool,
    /// For how long still, if it stays.
    pub probation_left_s: Option<f64>,
    /// The last time that it had to show that it has what it should.
    pub audit: Option<AuditView>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AuditView {
    /// RFC 3339.
    pub time: String,
    pub is_passed: bool,
    /// One sentence for people.
    pub what: String,
}

/// Milliseconds, as JSON and people like them.
pub fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
