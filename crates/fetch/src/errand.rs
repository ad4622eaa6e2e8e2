//! What an exchange works under, whatever its protocol: the request, the deadlines, and the pace that a body must keep.

use crate::config::Config;
use crate::outcome::{Failure, Truncated};
use std::time::Duration;
use tokio::time::Instant;

/// What is the same for all tries of one fetch.
#[derive(Debug)]
pub(crate) struct Errand<'a> {
    pub(crate) config: &'a Config,
    pub(crate) request: &'a [u8],
    pub(crate) start: Instant,
    pub(crate) whole_at: Instant,
}

/// Why there is no exchange.
#[derive(Debug)]
pub(crate) enum Lost {
    /// The connection had been left by the server: on a new one the same request may be answered.
    Stale,
    For(Failure),
}

impl From<Failure> for Lost {
    fn from(failure: Failure) -> Self {
        Self::For(failure)
    }
}

/// How fast a body must come. Only the time spent waiting for the server counts, not ours.
#[derive(Debug)]
pub(crate) struct Pace<'a> {
    errand: &'a Errand<'a>,
    waited: Duration,
    waiting_since: Instant,
}

impl<'a> Pace<'a> {
    pub(crate) fn new(errand: &'a Errand<'a>) -> Self {
        Self { errand, waited: Duration::ZERO, waiting_since: Instant::now() }
    }

    /// How long to wait for more, if the body came fast enough so far.
    pub(crate) fn next_until(&mut self, bytes: u64) -> Result<Instant, Truncated> {
        let now = Instant::now();
        let rate = self.errand.config.rate_min;
        if now >= self.errand.whole_at {
            return Err(Truncated::Time);
        }
        if self.waited > rate.after && (bytes as f64) < rate.bytes_per_s as f64 * self.waited.as_secs_f64() {
            return Err(Truncated::Slow { bytes_per_s: rate.bytes_per_s });
        }
        self.waiting_since = now;
        Ok(self.errand.whole_at.min(now + self.errand.config.deadlines.idle))
    }

    pub(crate) fn came(&mut self) {
        self.waited += self.waiting_since.elapsed();
    }

    /// Nothing came in time: in which?
    pub(crate) fn timeout(&self) -> Truncated {
        if Instant::now() >= self.errand.whole_at { Truncated::Time } else { Truncated::Idle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Deadlines, MinRate};
    use tokio::time::advance;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_body_must_keep_its_pace_while_we_wait_and_be_done_in_time() {
        let start = Instant::now();
        let deadlines = Deadlines { idle: 20 * SECOND, whole: 100 * SECOND, ..Deadlines::default() };
        let rate_min = MinRate { bytes_per_s: 10, after: 30 * SECOND };
        let config = Config { deadlines, rate_min, ..Config::default() };
        let errand = Errand { config: &config, request: b"", start, whole_at: start + 100 * SECOND };
        let mut pace = Pace::new(&errand);
        assert_eq!(pace.next_until(0), Ok(start + 20 * SECOND));
        advance(15 * SECOND).await;
        pace.came();
        // Time that we take ourselves is not the server's.
        advance(40 * SECOND).await;
        assert_eq!(pace.next_until(1), Ok(start + 75 * SECOND));
        advance(16 * SECOND).await;
        pace.came();
        assert_eq!(pace.next_until(309), Err(Truncated::Slow { bytes_per_s: 10 }));
        assert_eq!(pace.next_until(310), Ok(start + 91 * SECOND));
        assert_eq!(pace.timeout(), Truncated::Idle);
        advance(15 * SECOND).await;
        assert_eq!(pace.next_until(310), Ok(start + 100 * SECOND));
        advance(14 * SECOND).await;
        // However fast it came.
        assert_eq!(pace.next_until(u64::MAX), Err(Truncated::Time));
        assert_eq!(pace.timeout(), Truncated::Time);
    }
}
