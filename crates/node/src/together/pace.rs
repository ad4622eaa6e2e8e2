//! For how long a part of a crawl has work: whoever has links for it need not hurry meanwhile (decision 0015).

use std::time::Duration;

/// A part's pace is that of so long a time, at least.
const PACE_EVERY: Duration = Duration::from_secs(1);
/// What lasts longer is not told apart.
const WORK_MAX: Duration = Duration::from_secs(3_600);

/// How fast a part goes, by what it had done when it was last looked at.
#[derive(Debug, Default)]
pub(super) struct Pace {
    seen: Option<(Duration, u64)>,
    per_s: f64,
}

impl Pace {
    /// For how long what waits is enough. Of a part that stands still nobody knows: for no time.
    pub(super) fn work(&mut self, now: Duration, finished: u64, waiting: u64) -> Duration {
        let (then, before) = *self.seen.get_or_insert((now, finished));
        let passed = now.saturating_sub(then);
        if passed >= PACE_EVERY {
            self.per_s = finished.saturating_sub(before) as f64 / passed.as_secs_f64();
            self.seen = Some((now, finished));
        }
        match self.per_s > 0.0 {
            true => Duration::from_secs_f64((waiting as f64 / self.per_s).min(WORK_MAX.as_secs_f64())),
            false => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_work_for_as_long_as_what_waits_lasts_at_its_pace() {
        let (mut pace, s) = (Pace::default(), Duration::from_secs);
        assert_eq!(pace.work(s(5), 100, 80), s(0), "it has not been seen to move");
        assert_eq!(pace.work(s(7), 120, 80), s(8));
        // Soon after, the pace is the same; what waits is not.
        assert_eq!(pace.work(s(7) + PACE_EVERY / 2, 300, 20), s(2));
        assert_eq!(pace.work(s(9), 120, 20), s(0), "it stands still");
        assert_eq!(pace.work(s(10), 121, u64::MAX), WORK_MAX);
        assert_eq!(pace.work(s(12), 0, 7), s(0), "it was begun again");
    }
}
