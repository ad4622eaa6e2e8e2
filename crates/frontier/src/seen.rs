//! The URLs lately met: a bounded memory that says "surely known" or "ask the table".
//!
//! Most links of a page lead to what its neighbours also link to, so that most questions end here, in one line of cache.
//! Fingerprints of 64 bits: among fifty million URLs the chance that any two share one is below 0.0001.

const WAYS: usize = 8;

/// A small crawl need not touch the memory of a large one.
const SLOTS_FIRST: usize = 1 << 13;

#[derive(Debug)]
pub(crate) struct Seen {
    slots: Box<[u64]>,
    slots_max: usize,
    used: usize,
    next_way: usize,
}

impl Seen {
    /// Grows up to so many slots, eight bytes each.
    pub(crate) fn new(slots_max: usize) -> Self {
        let slots_max = slots_max.max(WAYS).next_power_of_two();
        let slots = vec![0; slots_max.min(SLOTS_FIRST)].into_boxed_slice();
        Self { slots, slots_max, used: 0, next_way: 0 }
    }

    pub(crate) fn contains(&self, fingerprint: u64) -> bool {
        let start = self.bucket(fingerprint);
        self.slots[start..start + WAYS].contains(&fingerprint.max(1))
    }

    pub(crate) fn insert(&mut self, fingerprint: u64) {
        if self.used * 2 > self.slots.len() && self.slots.len() < self.slots_max {
            self.grow();
        }
        let start = self.bucket(fingerprint);
        let bucket = &mut self.slots[start..start + WAYS];
        let free = bucket.iter().position(|slot| *slot == 0);
        self.used += usize::from(free.is_some());
        bucket[free.unwrap_or(self.next_way)] = fingerprint.max(1);
        // Any rule will do that is not always the same slot.
        self.next_way = (self.next_way + 1) % WAYS;
    }

    fn grow(&mut self) {
        let larger = vec![0; self.slots.len() * 2].into_boxed_slice();
        let known = std::mem::replace(&mut self.slots, larger);
        self.used = 0;
        for fingerprint in known.iter().filter(|slot| **slot != 0) {
            self.insert(*fingerprint);
        }
    }

    /// Forgets one, so that the table is asked again.
    pub(crate) fn forget(&mut self, fingerprint: u64) {
        let start = self.bucket(fingerprint);
        for slot in &mut self.slots[start..start + WAYS] {
            if *slot == fingerprint.max(1) {
                *slot = 0;
                self.used -= 1;
            }
        }
    }

    fn bucket(&self, fingerprint: u64) -> usize {
        (fingerprint as usize & (self.slots.len() / WAYS - 1)) * WAYS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_met_is_known_until_others_push_it_out() {
        let mut seen = Seen::new(1024);
        for n in 0..512_u64 {
            seen.insert(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        assert_eq!(seen.slots.len(), 1024);
        let known = (0..512_u64).filter(|n| seen.contains(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).count();
        assert!(known > 450, "{known}");
        assert!(!seen.contains(12345));
        seen.insert(0);
        assert!(seen.contains(0));
        seen.forget(0);
        assert!(!seen.contains(0));
    }

    #[test]
    fn it_grows_with_what_it_holds_and_no_further_than_allowed() {
        let mut seen = Seen::new(1 << 15);
        for n in 1..100_000_u64 {
            let fingerprint = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            seen.insert(fingerprint);
            assert!(seen.contains(fingerprint));
            assert!(seen.slots.len() <= 1 << 15 && (n > 4_000 || seen.slots.len() == 1 << 13));
        }
        assert_eq!(seen.slots.len(), 1 << 15);
    }
}
