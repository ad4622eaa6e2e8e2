//! How long other machines have been up, as this one saw them. Who is back within the grace was never gone: else each restart would cost a machine its standing,
//! and its neighbours a copy of what it holds.

use herodotus_base::PeerKey;
use std::collections::BTreeMap;
use std::time::Duration;

/// Machines that are remembered: far more than stand in one machine's lines at once. Beyond, the one that was seen last is forgotten.
const MACHINES_MAX: usize = 4096;

#[derive(Clone, Copy, Debug)]
struct Sight {
    since: Duration,
    away_since: Option<Duration>,
}

#[derive(Clone, Debug)]
pub struct Uptimes {
    grace: Duration,
    seen: BTreeMap<PeerKey, Sight>,
}

impl Uptimes {
    pub fn new(grace: Duration) -> Self {
        Self { grace, seen: BTreeMap::new() }
    }

    /// A machine does not answer.
    pub fn lose(&mut self, now: Duration, machine: PeerKey) {
        if let Some(sight) = self.seen.get_mut(&machine) {
            sight.away_since = sight.away_since.or(Some(now));
        }
    }

    /// A machine is there.
    pub fn see(&mut self, now: Duration, machine: PeerKey) {
        self.pass_time(now);
        let sight = self.seen.entry(machine).or_insert(Sight { since: now, away_since: None });
        sight.away_since = None;
        if self.seen.len() > MACHINES_MAX
            && let Some(last) = self.seen.iter().max_by_key(|(_, sight)| sight.since).map(|(key, _)| *key)
        {
            self.seen.remove(&last);
        }
    }

    /// Zero for one that is not known.
    pub fn of(&self, now: Duration, machine: PeerKey) -> Duration {
        self.seen.get(&machine).map_or(Duration::ZERO, |sight| now.saturating_sub(sight.since))
    }

    pub fn all(&self, now: Duration) -> impl Iterator<Item = (PeerKey, Duration)> {
        self.seen.iter().map(move |(machine, sight)| (*machine, now.saturating_sub(sight.since)))
    }

    fn pass_time(&mut self, now: Duration) {
        self.seen.retain(|_, sight| sight.away_since.is_none_or(|at| now < at + self.grace));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn minutes(n: u64) -> Duration {
        Duration::from_secs(60 * n)
    }

    #[test]
    fn who_is_back_within_the_grace_was_never_gone_and_who_is_later_begins_anew() {
        let (mut uptimes, machine) = (Uptimes::new(minutes(15)), PeerKey([1; 32]));
        uptimes.see(minutes(0), machine);
        uptimes.lose(minutes(100), machine);
        // Told of twice, it is away since the first time.
        uptimes.lose(minutes(110), machine);
        uptimes.see(minutes(114), machine);
        assert_eq!(uptimes.of(minutes(120), machine), minutes(120));
        uptimes.lose(minutes(200), machine);
        uptimes.see(minutes(215), machine);
        assert_eq!(uptimes.of(minutes(220), machine), minutes(5));
        assert_eq!(uptimes.all(minutes(220)).collect::<Vec<_>>(), [(machine, minutes(5))]);
        assert_eq!(uptimes.of(minutes(220), PeerKey([2; 32])), Duration::ZERO);
    }

    #[test]
    fn newcomers_without_end_push_out_no_old_acquaintance() {
        let mut uptimes = Uptimes::new(minutes(15));
        let key = |n: u64| PeerKey(std::array::from_fn(|at| if at < 8 { n.to_be_bytes()[at] } else { 0 }));
        (0..2 * MACHINES_MAX as u64).for_each(|n| uptimes.see(minutes(n), key(n)));
        assert_eq!(uptimes.all(minutes(0)).count(), MACHINES_MAX);
        assert_eq!(uptimes.of(minutes(10), key(0)), minutes(10));
    }
}
