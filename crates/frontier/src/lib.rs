//! What to visit next: the frontier of a crawl.
//!
//! [`Frontier`] is a pure machine. Time comes in as `now`, answers and links come in as values, visits come out of
//! [`Frontier::poll`]; there is no clock, socket or thread inside. What it knows lies in a [`Table`], an ordered map that
//! the caller puts on disk: memory does not grow with the number of URLs.
//!
//! Promises: a URL that was taken in is visited in every round or ends with a reason; no URL is visited twice in a round
//! unless the process died while it was in flight; a host is never asked sooner than its delay allows; robots.txt is asked
//! for before anything else of an origin.
//!
//! What can be lost: what was not yet written by [`Frontier::flush`] when the process died. The visits that it held were
//! not yet finished then, and are made again.

mod anchors;
mod code;
mod error;
mod frontier;
mod host;
mod keys;
pub mod limits;
mod record;
mod round;
mod seen;
mod settings;
mod span;
mod state;
mod table;
mod tally;
mod territory;
mod trap;
mod visit;

pub use error::{Error, Result};
pub use frontier::{Frontier, Progress};
pub use record::{UrlRecord, kind_code, kind_of_code};
pub use settings::{Media, Rank, Scope, Settings, Traps};
pub use span::Span;
pub use table::{MemoryTable, Table};
pub use tally::{HostTally, Skipped, Tally};
pub use territory::{Prospect, Territory};
pub use visit::{Answer, End, Errand, Next, Outcome, Pressure, RobotsAnswer, Settled, Version, Visit, VisitId};
