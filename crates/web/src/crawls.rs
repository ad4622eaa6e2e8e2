//! What the pages need of whoever runs crawls. The node implements it; an archive that is only looked at has none.

pub use herodotus_frontier::Scope;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Runs crawls. Calls may touch the disk: they are made from threads that may block.
pub trait Crawls: Send + Sync + std::fmt::Debug {
    /// Every crawl, by name.
    fn list(&self) -> Result<Vec<CrawlView>, Refused>;
    fn get(&self, name: &str) -> Result<Option<CrawlView>, Refused>;
    /// Begins a crawl, or goes on with one of that name; answers with its name.
    fn start(&self, ask: CrawlAsk) -> Result<String, Refused>;
    /// Asks a running crawl to stop gently. `false`: none of that name is running.
    fn stop(&self, name: &str) -> Result<bool, Refused>;
    /// What bringing links to other machines has cost. `None`: there are no others.
    fn links(&self) -> Option<LinksView> {
        None
    }
    /// Changes whenever something is news about any crawl: a page that watches waits for it.
    fn changed(&self) -> tokio::sync::watch::Receiver<u64>;
}

/// What one machine has done to bring links to their owners since it was started. What stays within the machine is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinksView {
    /// Found here or passed on to us, and not acknowledged yet.
    pub waiting: u64,
    /// Found here and taken into the outbox.
    pub found: u64,
    /// Found here and lately sent.
    pub known: u64,
    /// That other machines have acknowledged.
    pub sent: u64,
    /// That came from other machines and were ours.
    pub taken: u64,
    /// That came and went on.
    pub passed_on: u64,
    pub batches: u64,
    pub batches_failed: u64,
    /// That somebody could not take yet.
    pub batches_refused: u64,
    /// Batches that went to somebody nearer instead of the owner.
    pub walks: u64,
    pub lookups: u64,
    /// Of batches alone.
    pub bytes_packed: u64,
    /// The same with what calls and answers add.
    pub bytes_called: u64,
    /// The same with heads, packets and acknowledgements both ways, by counting.
    pub bytes_wire: u64,
}

/// Why something was not done, for the person who asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// What a person asks for on the page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CrawlAsk {
    /// Empty: the host of the first seed, or, of a crawl that is known, all it has.
    pub name: String,
    pub seeds: Vec<String>,
    pub scope: Scope,
    pub depth: Option<u16>,
    /// Pages.
    pub limit: Option<u64>,
    /// The whole ring is to crawl, not this machine alone.
    pub together: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CrawlState {
    Running,
    Stopping,
    /// Stopped with URLs left to visit.
    Stopped,
    Complete,
    Failed,
}

/// A crawl, as a page shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrawlView {
    pub name: String,
    pub state: CrawlState,
    pub seeds: Vec<String>,
    pub scope: Scope,
    pub depth: Option<u16>,
    pub limit: Option<u64>,
    pub round: u32,
    /// When the run that is going on, or the last one of this process, began (RFC 3339).
    pub began: Option<String>,
    pub seconds: u64,
    /// URLs known, waiting, being fetched; hosts known.
    pub urls: u64,
    pub waiting: u64,
    pub in_flight: u64,
    pub hosts: u64,
    /// Counts of the run, or of all runs where none was made by this process.
    pub fetched: u64,
    pub new: u64,
    pub changed: u64,
    pub unchanged: u64,
    pub failed: u64,
    pub bytes: u64,
    pub statuses: BTreeMap<String, u64>,
    pub media: BTreeMap<String, u64>,
    /// By reason: how many, and one example.
    pub failures: BTreeMap<String, (u64, String)>,
    pub skipped: BTreeMap<String, (u64, String)>,
    pub busiest: Vec<CrawlHost>,
    /// The parts that machines make of a crawl of the ring; none for one of this machine alone.
    pub machines: Vec<CrawlMachine>,
    /// Newest first, bounded.
    pub events: Vec<CrawlEvent>,
    /// What was last changed of it while it ran.
    pub note: Option<String>,
    /// Why it failed, if it did.
    pub trouble: Option<String>,
}

/// A host of a crawl, over all its runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CrawlHost {
    pub name: String,
    pub fetched: u64,
    pub failed: u64,
    pub bytes: u64,
    pub waiting: u64,
}

/// One machine's part of a crawl that a ring makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CrawlMachine {
    pub machine: String,
    pub is_ours: bool,
    /// It has nothing to do at the moment.
    pub is_idle: bool,
    pub fetched: u64,
    pub failed: u64,
    pub waiting: u64,
    pub bytes: u64,
    /// In the mean since the crawl began.
    pub pages_per_s: f64,
}

/// What became of one URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CrawlEvent {
    /// RFC 3339.
    pub time: String,
    pub url: String,
    /// `new`, `changed`, `unchanged`, `failed`, `skipped`.
    pub what: String,
    /// Status and media of a page; code and message of a failure; reason of a skip.
    pub detail: String,
    pub bytes: u64,
}
