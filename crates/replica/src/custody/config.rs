//! What a ring's owner, or a test, may choose.

use super::Planted;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Config {
    /// Machines on which everything lies.
    pub copies: usize,
    /// A machine that is away for less is not replaced.
    pub grace: Duration,
    /// How often a holder that had everything is compared with again.
    pub compare_every: Duration,
    /// How often a holder must prove that it has what it says.
    pub audit_every: Duration,
    /// After an order that failed, and after one that left something to do. A comparison that fails for the first time is tried sooner: see `retry`.
    pub retry_after: Duration,
    /// How often what we hold is looked through for strays, and owners are asked whether what they entrusted to us is still ours to hold.
    /// An answer from a copy that is no longer kept up may be as old as twice that.
    pub survey_every: Duration,
    /// A machine counts only when it was seen up for so long, as long as there are others.
    pub probation: Duration,
    /// Orders out at once. Copying comes behind crawl and replay, so they are few.
    pub orders_max: usize,
    pub planted: Option<Planted>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            copies: 6,
            grace: Duration::from_secs(15 * 60),
            compare_every: Duration::from_secs(10 * 60),
            audit_every: Duration::from_secs(60 * 60),
            retry_after: Duration::from_secs(30),
            survey_every: Duration::from_secs(60),
            probation: Duration::from_secs(24 * 60 * 60),
            orders_max: 4,
            planted: None,
        }
    }
}

impl Config {
    /// How long after a comparison that failed, so many times in a row before. The first failures are mostly a ring that is still mending around a machine that
    /// came or went; whoever waits half a minute then is copied half a minute later.
    pub(crate) fn retry(&self, failures: u32) -> Duration {
        self.retry_after / (1 << 4_u32.saturating_sub(failures))
    }

    /// Whether a bug was put in. Never outside of tests.
    pub(crate) fn has(&self, planted: Planted) -> bool {
        cfg!(feature = "planted") && self.planted == Some(planted)
    }
}
