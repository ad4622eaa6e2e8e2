//! Mending keeps out of the way: it goes no faster than it may, and behind people who read and crawls that fetch.
//!
//! Promised: mending sends, and fetches, no more than its rate allows and one shipment; somebody who reads or fetches has the machine to himself for a moment
//! before the next shipment, but none waits longer than [`YIELD_MAX`] for that, so that copies are made on the busiest machine too. Writes that somebody waits for
//! do not come here.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After a page or a fetch the next is likely for so long: a browser asks for what a page shows within it.
const URGENT_FOR: Duration = Duration::from_millis(50);
/// No shipment or parcel waits longer for others' sake: with parcels of just under 1 MiB, mending has some 4 MB a second even then.
const YIELD_MAX: Duration = Duration::from_millis(200);

/// How fast something may be spent. It may be overdrawn by what was spent last; nothing is saved up.
#[derive(Debug)]
struct Purse {
    bytes_per_s: u64,
    free_at: Duration,
}

impl Purse {
    /// How long whoever wants to spend so much must wait before.
    fn spend(&mut self, now: Duration, bytes: u64) -> Duration {
        let begins = self.free_at.max(now);
        self.free_at = begins + Duration::from_secs_f64(bytes as f64 / self.bytes_per_s.max(1) as f64);
        begins - now
    }
}

#[derive(Debug)]
pub(super) struct Courtesy {
    start: Instant,
    sending: Option<Mutex<Purse>>,
    taking: Option<Mutex<Purse>>,
    /// When something more urgent was last seen, in milliseconds; 0: never.
    urgent_ms: AtomicU64,
}

impl Courtesy {
    /// `bytes_per_s`: what mending may move each way; none: as much as it can.
    pub(super) fn new(bytes_per_s: Option<u64>) -> Self {
        let purse = || bytes_per_s.map(|bytes_per_s| Mutex::new(Purse { bytes_per_s, free_at: Duration::ZERO }));
        Self { start: Instant::now(), sending: purse(), taking: purse(), urgent_ms: AtomicU64::new(0) }
    }

    /// Somebody reads, or a page is fetched.
    pub(super) fn notice(&self) {
        let now_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.urgent_ms.store(now_ms.max(1), Relaxed);
    }

    /// Waits until so many bytes may be sent to mend something.
    pub(super) async fn turn_out(&self, bytes: usize) {
        self.turn(self.sending.as_ref(), bytes).await;
    }

    /// Waits until more may be taken in than the so many bytes that came to mend something.
    pub(super) async fn turn_in(&self, bytes: usize) {
        self.turn(self.taking.as_ref(), bytes).await;
    }

    async fn turn(&self, purse: Option<&Mutex<Purse>>, bytes: usize) {
        if let Some(purse) = purse {
            let now = self.start.elapsed();
            let wait = purse.lock().unwrap_or_else(PoisonError::into_inner).spend(now, bytes as u64);
            tokio::time::sleep(wait).await;
        }
        let asked_at = self.start.elapsed();
        while let Some(wait) = yields(self.start.elapsed(), asked_at, self.urgent_at()) {
            tokio::time::sleep(wait).await;
        }
    }

    fn urgent_at(&self) -> Option<Duration> {
        Some(self.urgent_ms.load(Relaxed)).filter(|ms| *ms > 0).map(Duration::from_millis)
    }
}

/// How long to wait before looking again whether others are done. `None`: it is our turn.
fn yields(now: Duration, asked_at: Duration, urgent_at: Option<Duration>) -> Option<Duration> {
    let until = (urgent_at? + URGENT_FOR).min(asked_at + YIELD_MAX);
    until.checked_sub(now).filter(|wait| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn no_more_is_spent_than_the_rate_and_one_parcel() {
        let mut purse = Purse { bytes_per_s: 1_000, free_at: Duration::ZERO };
        assert_eq!(purse.spend(ms(0), 500), ms(0), "the first goes at once");
        assert_eq!(purse.spend(ms(0), 500), ms(500));
        assert_eq!(purse.spend(ms(600), 100), ms(400), "behind what was promised before");
        assert_eq!(purse.spend(ms(9_000), 100), ms(0));
        assert_eq!(purse.spend(ms(9_000), 100), ms(100), "nothing was saved up meanwhile");
    }

    #[test]
    fn mending_waits_for_who_reads_but_not_for_ever() {
        assert_eq!(yields(ms(1_000), ms(1_000), None), None, "nobody ever read");
        assert_eq!(yields(ms(1_000), ms(1_000), Some(ms(990))), Some(ms(40)));
        assert_eq!(yields(ms(1_040), ms(1_000), Some(ms(990))), None);
        assert_eq!(yields(ms(1_190), ms(1_000), Some(ms(1_189))), Some(ms(10)), "somebody reads all the time");
        assert_eq!(yields(ms(1_200), ms(1_000), Some(ms(1_199))), None);
    }
}
