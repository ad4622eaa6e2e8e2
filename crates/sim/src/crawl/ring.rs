//! Places: where on the ring something lies, and whose it is. [`mix`] stands in for SHA-256; the rule is that of `herodotus_ring::place`.

use crate::chance::mix;
use std::collections::{BTreeSet, VecDeque};

/// A host is one part up to here, and twice as many each time that its known URLs have doubled from here.
pub(super) const SPLIT_FROM: u32 = 128;
/// Parts have about 64 to 128 URLs; this many are enough for any host that fits in here.
const PARTS_LOG_MAX: u32 = 16;

/// Machines by their points.
#[derive(Debug)]
pub(super) struct Ring {
    seed: u64,
    points: Vec<(u64, u32)>,
}

impl Ring {
    pub(super) fn new(seed: u64, nodes: u32) -> Self {
        let mut points: Vec<(u64, u32)> =
            (0..nodes).map(|node| (mix(seed ^ mix(1 << 40 | u64::from(node))), node)).collect();
        points.sort_unstable();
        Self { seed, points }
    }

    /// The machine at or after the point.
    fn owner(&self, point: u64) -> u32 {
        self.points[self.index(point)].1
    }

    fn index(&self, point: u64) -> usize {
        let at = self.points.partition_point(|(other, _)| *other < point);
        if at == self.points.len() { 0 } else { at }
    }

    fn point_of_part(&self, host: u32, part: u32) -> u64 {
        mix(self.seed ^ mix(2 << 40 | u64::from(host)) ^ mix(3 << 40 | u64::from(part)))
    }

    pub(super) fn owner_of_part(&self, host: u32, part: u32) -> u32 {
        self.owner(self.point_of_part(host, part))
    }

    /// Whose a page is when its host has so many parts.
    pub(super) fn owner_of_page(&self, host: u32, page: u32, parts: u32) -> u32 {
        self.owner_of_part(host, part_of(page, parts))
    }

    /// By the URL's hash; another machine for another attempt.
    pub(super) fn owner_of_url(&self, page: u32, attempt: u8) -> u32 {
        self.owner(mix(self.seed ^ mix(4 << 40 | u64::from(page)) ^ mix(5 << 40 | u64::from(attempt))))
    }

    /// The owner of a page and those that follow it, as many as are asked for or there are.
    pub(super) fn followers(&self, host: u32, page: u32, parts: u32, count: usize) -> impl Iterator<Item = u32> {
        let at = self.index(self.point_of_part(host, part_of(page, parts)));
        (0..count.min(self.points.len())).map(move |after| self.points[(at + after) % self.points.len()].1)
    }
}

/// The part of its host that a page lies in. Doubling the parts moves half of each.
pub(super) fn part_of(page: u32, parts: u32) -> u32 {
    (mix(u64::from(page) ^ 0x9a97) as u32) % parts.max(1)
}

/// How often a host with so many known URLs was split.
pub(super) fn parts_log(known: u32) -> u32 {
    if known < SPLIT_FROM { 0 } else { (known / (SPLIT_FROM / 2)).ilog2().min(PARTS_LOG_MAX) }
}

/// The last so many that were met, pages or machines.
#[derive(Debug, Default)]
pub(super) struct Recent {
    all: BTreeSet<u32>,
    order: VecDeque<u32>,
}

impl Recent {
    /// Whether it was among them. It is from now on.
    pub(super) fn meet(&mut self, value: u32, count_max: usize) -> bool {
        let is_known = !self.all.insert(value);
        if !is_known {
            self.order.push_back(value);
        }
        if self.order.len() > count_max {
            self.order.pop_front().inspect(|oldest| _ = self.all.remove(oldest));
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_split_at_128_known_urls_at_256_and_so_on() {
        let logs = [1, 127, 128, 255, 256, 511, 512, 1_000_000, u32::MAX].map(parts_log);
        assert_eq!(logs, [0, 0, 1, 1, 2, 2, 3, 13, 16]);
    }

    #[test]
    fn all_machines_own_something_and_a_split_moves_half_of_a_part() {
        let ring = Ring::new(3, 20);
        let owners: std::collections::BTreeSet<u32> = (0..5_000).map(|page| ring.owner_of_url(page, 0)).collect();
        assert_eq!(owners.len(), 20);
        assert!(
            (0..1_000).all(|page| part_of(page, 8) == part_of(page, 4) || part_of(page, 8) == part_of(page, 4) + 4)
        );
        let followers: Vec<u32> = ring.followers(7, 9, 1, 50).collect();
        assert_eq!((followers.len(), followers[0]), (20, ring.owner_of_part(7, 0)));
    }

    #[test]
    fn what_was_met_lately_is_known_and_nothing_else() {
        let mut recent = Recent::default();
        assert!((0..5).all(|value| !recent.meet(value, 4)) && recent.meet(4, 4));
        assert!(!recent.meet(0, 4) && recent.all.len() == 4 && recent.order.len() == 4);
    }
}
