//! A crawl: seeds in, captures in the archive, links back into the frontier.
//!
//! ```text
//!  Frontier ─Visit─▶ visit (many at once) ─Finished─▶ commit ─▶ Frontier
//!                      │ fetch, read, append                 handle_finished, flush
//! ```
//!
//! The order is what makes it safe to be killed: a visit counts as made only when its capture is on the disk, and until
//! then it stands in the queue. So what was in flight is asked for again, or found in the archive; nothing else is.
//!
//! Promises: nothing is lost that was reported as archived; memory is bounded by the number of requests at once; a host in
//! trouble holds up nobody else. What can be lost: the count of unchanged visits of the last seconds, if the power fails.

mod definition;
mod engine;
mod event;
mod exchange;
mod flights;
mod folder;
mod part;
mod robots;
mod strategy;
mod table;
mod taker;
mod visit;

pub use definition::{Definition, FetchSettings};
pub(crate) use engine::Begun;
pub use engine::{Crawl, Stop};
pub use event::{Event, Summary};
pub(crate) use flights::Flights;
pub(crate) use folder::look;
pub use folder::{Listed, list, load, name_for, names, peek};
pub(crate) use part::{Boxed, Elsewhere, Lease, PartView, Team, Ties, Told};
pub(crate) use robots::{RobotsBook, RobotsTold};
pub(crate) use strategy::Performer;
pub use strategy::{NoStrategy, Strategy};
pub use table::DiskTable;
pub(crate) use taker::is_wanted;
pub(crate) use visit::Context;

/// Requests in flight at once, over all hosts, unless told otherwise: enough to keep a home line busy with polite hosts.
pub const REQUESTS_DEFAULT: usize = 64;

/// Finished visits that wait for the disk. More would only be memory.
const UNCOMMITTED_MAX: usize = 256;

/// Commits are at least so far apart, unless many visits wait or nothing else is going on: a sync costs as much as a page.
const COMMIT_EVERY: std::time::Duration = std::time::Duration::from_millis(10);
/// The same of a ring's part: each commit is followed by one of the links, on a disk that several parts may share.
const PART_COMMIT_EVERY: std::time::Duration = std::time::Duration::from_millis(40);
const COMMIT_VISITS: usize = 64;

/// How often what the frontier knows is brought to the disk itself, for the case that the power fails.
const SYNC_EVERY: std::time::Duration = std::time::Duration::from_secs(2);

pub use herodotus_page::AGENT_TOKEN;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] herodotus_store::Error),
    #[error(transparent)]
    Frontier(#[from] herodotus_frontier::Error),
    #[error(transparent)]
    Fetch(#[from] herodotus_fetch::ConfigError),
    #[error("{doing}: {source}")]
    Disk { doing: String, source: std::io::Error },
    /// What a person asked for makes no sense; the text says what to do.
    #[error("{0}")]
    Asked(String),
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn disk(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Disk { doing, source }
    }
}
