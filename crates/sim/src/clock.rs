//! The clock that one machine sees: true time, faster or slower, with leaps forward. It never goes back, as a monotonic clock does not.

use std::time::Duration;

/// How fast, in millionths of true time.
pub const RATE_TRUE: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// At this true time the machine's clock showed that.
    base: u64,
    shown: u64,
    rate: u64,
}

impl Clock {
    pub(crate) fn new(at: u64, shown: u64) -> Self {
        Self { base: at, shown, rate: RATE_TRUE }
    }

    /// What the machine reads, in microseconds.
    pub(crate) fn read(&self, at: u64) -> u64 {
        let passed = u128::from(at.saturating_sub(self.base)) * u128::from(self.rate) / u128::from(RATE_TRUE);
        self.shown.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX))
    }

    pub(crate) fn now(&self, at: u64) -> Duration {
        Duration::from_micros(self.read(at))
    }

    /// The first true time at which the machine reads that or more.
    pub(crate) fn when(&self, shown: Duration) -> u64 {
        // Rounded up, lest a machine be woken a moment too soon and asks again for the same moment.
        let micros = u64::try_from(shown.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
        let passed = u128::from(micros.saturating_sub(self.shown)) * u128::from(RATE_TRUE);
        let passed = passed.div_ceil(u128::from(self.rate.max(1)));
        self.base.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX))
    }

    /// From now on it goes that fast.
    pub(crate) fn set_rate(&mut self, at: u64, rate: u64) {
        *self = Self { base: at, shown: self.read(at), rate: rate.max(1) };
    }

    pub(crate) fn leap(&mut self, at: u64, by: Duration) {
        let by = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        *self = Self { base: at, shown: self.read(at).saturating_add(by), rate: self.rate };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_runs_wrong_is_read_and_awaited_the_same_way() {
        for rate in [1, 333_333, 999_983, RATE_TRUE, 2_718_281] {
            let mut clock = Clock::new(50, 1_000);
            clock.set_rate(70, rate);
            for ahead in [0, 1, 17, 1_000, 999_999] {
                let due = Duration::from_micros(1_020 + ahead);
                let at = clock.when(due);
                assert!(clock.now(at) >= due, "{rate} {ahead}");
                assert!(at == 70 || clock.now(at - 1) < due, "{rate} {ahead}");
            }
        }
    }

    #[test]
    fn a_leap_goes_forward_only() {
        let mut clock = Clock::new(0, 5);
        clock.leap(10, Duration::from_micros(100));
        assert_eq!(clock.read(10), 115);
        assert_eq!(clock.read(3), 115);
        assert_eq!(clock.when(Duration::ZERO), 10);
    }
}
