//! How fast one peer may ask: buckets that fill with time and are emptied by calls and their bytes.
//!
//! A bucket may go below empty: who takes more than there is waits until it would have been there, and who would have to wait
//! too long is refused and takes nothing. Pure: time comes in.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    Now,
    /// It was taken; go on after this.
    After(Duration),
    /// It was not taken.
    No,
}

#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    per_s: f64,
    full: f64,
    level: f64,
    at: Instant,
}

impl Bucket {
    pub(crate) fn new(now: Instant, per_s: u32, burst: u32) -> Self {
        let full = f64::from(burst.max(1));
        Self { per_s: f64::from(per_s.max(1)), full, level: full, at: now }
    }

    pub(crate) fn take(&mut self, now: Instant, amount: u32, wait_max: Duration) -> Leave {
        self.fill(now);
        let after = self.level - f64::from(amount);
        if after >= 0.0 {
            self.level = after;
            return Leave::Now;
        }
        let wait_s = -after / self.per_s;
        if wait_s > wait_max.as_secs_f64() {
            return Leave::No;
        }
        self.level = after;
        Leave::After(Duration::from_secs_f64(wait_s))
    }

    pub(crate) fn give_back(&mut self, amount: u32) {
        self.level = (self.level + f64::from(amount)).min(self.full);
    }

    pub(crate) fn is_full(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.level >= self.full
    }

    fn fill(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.at);
        self.at = self.at.max(now);
        self.level = (self.level + since.as_secs_f64() * self.per_s).min(self.full);
    }
}

/// A peer's two.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    calls: Bucket,
    bytes: Bucket,
}

impl Rate {
    pub(crate) fn new(now: Instant, limits: &crate::Limits) -> Self {
        Self {
            calls: Bucket::new(now, limits.calls_per_s, limits.calls_burst),
            bytes: Bucket::new(now, limits.bytes_per_s, limits.bytes_burst),
        }
    }

    pub(crate) fn take(&mut self, now: Instant, bytes: usize, wait_max: Duration) -> Leave {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        match (self.calls.take(now, 1, wait_max), self.bytes.take(now, bytes, wait_max)) {
            (Leave::Now, Leave::Now) => Leave::Now,
            (Leave::No, Leave::No) => Leave::No,
            (Leave::No, _) => {
                self.bytes.give_back(bytes);
                Leave::No
            }
            (_, Leave::No) => {
                self.calls.give_back(1);
                Leave::No
            }
            (Leave::After(a), Leave::After(b)) => Leave::After(a.max(b)),
            (Leave::After(wait), Leave::Now) | (Leave::Now, Leave::After(wait)) => Leave::After(wait),
        }
    }

    /// Whether forgetting it would change nothing.
    pub(crate) fn is_full(&mut self, now: Instant) -> bool {
        self.calls.is_full(now) && self.bytes.is_full(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_through_then_calls_wait_then_they_are_refused() {
        let start = Instant::now();
        let mut bucket = Bucket::new(start, 10, 5);
        let wait_max = Duration::from_millis(300);
        for _ in 0..5 {
            assert_eq!(bucket.take(start, 1, wait_max), Leave::Now);
        }
        let waits: Vec<_> = (0..3).map(|_| bucket.take(start, 1, wait_max)).collect();
        assert_eq!(waits, [100, 200, 300].map(|ms| Leave::After(Duration::from_millis(ms))));
        assert_eq!(bucket.take(start, 1, wait_max), Leave::No);
        // Refusing took nothing: after the debt is paid, the next goes through.
        let later = start + Duration::from_millis(400);
        assert_eq!(bucket.take(later, 1, wait_max), Leave::Now);
        assert!(!bucket.is_full(later) && bucket.is_full(later + Duration::from_millis(500)));
    }

    #[test]
    fn a_call_refused_for_its_bytes_costs_no_call() {
        let start = Instant::now();
        let limits =
            crate::Limits { calls_per_s: 1, calls_burst: 1, bytes_per_s: 1, bytes_burst: 10, ..Default::default() };
        let mut rate = Rate::new(start, &limits);
        assert_eq!(rate.take(start, 1000, Duration::ZERO), Leave::No);
        assert_eq!(rate.take(start, 10, Duration::ZERO), Leave::Now);
        assert_eq!(rate.take(start, 0, Duration::ZERO), Leave::No);
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing() {
        let start = Instant::now() + Duration::from_secs(10);
        let mut bucket = Bucket::new(start, 1, 1);
        assert_eq!(bucket.take(start, 1, Duration::ZERO), Leave::Now);
        assert_eq!(bucket.take(start - Duration::from_secs(5), 1, Duration::ZERO), Leave::No);
        assert_eq!(bucket.take(start, 1, Duration::ZERO), Leave::No);
    }
}
