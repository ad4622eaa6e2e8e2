//! Peers that sent what no honest peer sends: refused for a while, and longer each time.
//!
//! By key, because a key is proven and an address is shared. A fresh key starts anew; in a closed ring it has no pass, and
//! strangers are held down by [`crate::gate`]. Pure: time comes in. Bounded: the one that is free first goes.

use crate::limits;
use herodotus_base::PeerKey;
use std::collections::HashMap;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Bans {
    table: HashMap<PeerKey, Ban>,
    first: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Ban {
    times: u32,
    until: Instant,
}

impl Bans {
    pub(crate) fn new(first: Duration) -> Self {
        Self { table: HashMap::new(), first }
    }

    /// How long it is still not spoken to.
    pub(crate) fn left(&self, now: Instant, key: &PeerKey) -> Option<Duration> {
        let left = self.table.get(key)?.until.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    pub(crate) fn add(&mut self, now: Instant, key: PeerKey) -> Duration {
        self.forget(now);
        if !self.table.contains_key(&key) && self.table.len() >= limits::BANS_MAX {
            let soonest = self.table.iter().min_by_key(|(_, ban)| ban.until).map(|(key, _)| *key);
            soonest.map(|key| self.table.remove(&key));
        }
        let ban = self.table.entry(key).or_insert(Ban { times: 0, until: now });
        let lasts = self.first.saturating_mul(1 << ban.times.min(20)).min(limits::BAN_MAX);
        *ban = Ban { times: ban.times.saturating_add(1), until: now + lasts };
        lasts
    }

    /// It was let in by the ring's owner: what it did before was before.
    pub(crate) fn pardon(&mut self, key: &PeerKey) {
        self.table.remove(key);
    }

    pub(crate) fn list(&self, now: Instant) -> Vec<(PeerKey, Duration)> {
        self.table.keys().filter_map(|key| Some((*key, self.left(now, key)?))).collect()
    }

    pub(crate) fn forget(&mut self, now: Instant) {
        self.table.retain(|_, ban| now.saturating_duration_since(ban.until) < limits::BAN_FORGOTTEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ban_grows_ends_and_is_forgotten() {
        let mut bans = Bans::new(Duration::from_secs(5));
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let key = PeerKey([1; 32]);
        assert_eq!(bans.left(start, &key), None);
        bans.add(start, key);
        assert_eq!(bans.left(at(1), &key), Some(Duration::from_secs(4)));
        assert_eq!(bans.left(at(5), &key), None);
        bans.add(at(6), key);
        assert_eq!(bans.left(at(6), &key), Some(Duration::from_secs(10)));
        for _ in 0..100 {
            bans.add(at(7), key);
        }
        assert_eq!(bans.left(at(7), &key), Some(limits::BAN_MAX));
        let later = at(7) + limits::BAN_MAX + limits::BAN_FORGOTTEN;
        bans.add(later, key);
        assert_eq!(bans.left(later, &key), Some(Duration::from_secs(5)));
    }

    #[test]
    fn the_table_is_bounded_and_keeps_the_worst() {
        let mut bans = Bans::new(Duration::from_secs(5));
        let start = Instant::now();
        let worst = PeerKey([255; 32]);
        bans.add(start, worst);
        bans.add(start, worst);
        for n in 0..2 * limits::BANS_MAX {
            bans.add(start, PeerKey(herodotus_base::Sha256::of(&n.to_be_bytes()).0));
        }
        assert_eq!(bans.table.len(), limits::BANS_MAX);
        assert_eq!(bans.left(start, &worst), Some(Duration::from_secs(10)));
    }
}
