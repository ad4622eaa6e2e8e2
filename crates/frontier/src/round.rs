//! The clock of a crawl: rounds, and when a URL is due again.
//!
//! A crawl's own time is the caller's plus a skew. A crawl that has visited everything and is started again begins its
//! next round at once: its time jumps to where everything known is due. Nothing in the queues has to be touched.

use crate::settings::Settings;
use herodotus_base::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Clock {
    /// Rounds begun, by runs of the program.
    pub(crate) round: u32,
    skew_ms: i64,
    /// When this run of rounds began, in the crawl's time and in the caller's.
    began_ms: i64,
    pub(crate) began_at_ms: i64,
    /// What is due later than this is left for another run.
    horizon_ms: i64,
    /// The latest moment that anything is due.
    due_ms_max: i64,
    /// Everything was visited: the next run begins anew.
    pub(crate) complete: bool,
}

impl Clock {
    pub(crate) fn begin(&mut self, settings: &Settings, now: Timestamp) {
        self.skew_ms = self.skew_ms.max(self.due_ms_max - now.millis());
        self.round += 1;
        self.began_ms = self.time(now);
        self.began_at_ms = now.millis();
        self.complete = false;
        self.extend(settings);
    }

    /// Sets the horizon: the settings may have changed since.
    pub(crate) fn extend(&mut self, settings: &Settings) {
        let rounds = if settings.rounds > 1 { i64::from(settings.rounds) } else { 0 };
        self.horizon_ms = self.began_ms.saturating_add(rounds.saturating_mul(settings.period.ms()));
    }

    /// When this run began, in the crawl's time: what was due then is within its horizon.
    pub(crate) fn began_ms(&self) -> i64 {
        self.began_ms
    }

    pub(crate) fn time(&self, now: Timestamp) -> i64 {
        now.millis() + self.skew_ms
    }

    /// The caller's time of a moment in the crawl's.
    pub(crate) fn at(&self, time_ms: i64) -> Timestamp {
        Timestamp::from_millis_clamped(time_ms - self.skew_ms)
    }

    /// Up to when URLs that are due again are taken now.
    pub(crate) fn due_until(&self, now: Timestamp) -> i64 {
        self.time(now).min(self.horizon_ms)
    }

    pub(crate) fn is_within(&self, due_ms: i64) -> bool {
        due_ms <= self.horizon_ms
    }

    /// The round that a moment lies in.
    pub(crate) fn round_at(&self, settings: &Settings, now: Timestamp) -> u32 {
        let since = (self.time(now) - self.began_ms).max(0) / settings.period.ms().max(1);
        let within = u32::try_from(since).unwrap_or(u32::MAX).min(settings.rounds.saturating_sub(1));
        self.round.saturating_add(within)
    }

    /// When the round that is running began, in the caller's time.
    pub(crate) fn round_began(&self, settings: &Settings, now: Timestamp) -> Timestamp {
        let within = i64::from(self.round_at(settings, now).saturating_sub(self.round));
        Timestamp::from_millis_clamped(self.began_at_ms + within * settings.period.ms())
    }

    /// When a URL is due again: in its own place of the next round, or sooner if it changes often, later if it never does
    /// and may be left so long.
    pub(crate) fn next_due(&mut self, settings: &Settings, now: Timestamp, period_ms: u64, url_hash: u64) -> i64 {
        let (time, base) = (self.time(now), settings.period.ms());
        // The place of a URL within a period: the same in every round, and spread evenly.
        let place = |period: i64| ((u128::from(url_hash) * period.max(0) as u128) >> 64) as i64;
        let due = if period_ms as i64 == base {
            let begun = (time - self.began_ms).max(0) / base.max(1);
            // Nine tenths: the last of a round leave time to be fetched before the next begins.
            self.began_ms + (begun + 1) * base + place(base / 10 * 9)
        } else {
            time + period_ms as i64 - place(period_ms as i64 / 10)
        };
        let due = due.max(time + 1);
        self.note_due(due);
        due
    }

    /// Something is due then: the next run begins behind it.
    pub(crate) fn note_due(&mut self, due_ms: i64) {
        self.due_ms_max = self.due_ms_max.max(due_ms);
    }
}

/// What changed is looked at twice as often, what did not half as much less often.
pub(crate) fn adapt(settings: &Settings, period_ms: u64, changed: bool) -> u64 {
    let next = if changed { period_ms / 2 } else { period_ms.saturating_add(period_ms / 2) };
    next.clamp(settings.period_min().0, settings.period_max().0.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::Span;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis_clamped(1_800_000_000_000 + ms)
    }

    #[test]
    fn due_times_are_spread_over_the_next_period() {
        let settings = Settings { period: Span(1_000), rounds: 3, ..Settings::default() };
        let mut clock = Clock::default();
        clock.begin(&settings, at(0));
        let mut tenths = [0; 10];
        for n in 0..1_000_u64 {
            let due =
                clock.next_due(&settings, at(10), 1_000, n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) - at(1_000).millis();
            assert!((0..900).contains(&due), "{due}");
            tenths[due as usize / 100] += 1;
        }
        assert!(tenths[..9].iter().all(|n| (80..140).contains(n)), "{tenths:?}");
    }

    #[test]
    fn a_finished_crawl_begins_its_next_round_at_once_with_everything_due() {
        let settings = Settings { period: Span(1_000_000), ..Settings::default() };
        let mut clock = Clock::default();
        clock.begin(&settings, at(0));
        let due = clock.next_due(&settings, at(5), 1_000_000, u64::MAX);
        assert!(due > clock.due_until(at(100)));
        clock.begin(&settings, at(100));
        assert!(due <= clock.due_until(at(100)));
        let again = clock.next_due(&settings, at(110), 500, 1);
        assert!(again > clock.due_until(at(100_000)), "what was visited in this round is not due in it again");
    }

    #[test]
    fn a_period_follows_changes_within_its_bounds() {
        let settings = Settings { period: Span(800), ..Settings::default() };
        let mut period = 800;
        for _ in 0..10 {
            period = adapt(&settings, period, true);
        }
        assert_eq!(period, 100);
        for _ in 0..10 {
            period = adapt(&settings, period, false);
        }
        assert_eq!(period, 800);
    }
}
