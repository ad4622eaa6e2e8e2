//! Links lately sent and acknowledged: a bounded memory of fingerprints that spares sending the same popular link from every page.
//!
//! A link that was sent is not sent again unless it comes by a shorter way than the one that is remembered: then its owner might have refused the longer
//! one. What is forgotten, at a restart or because others came, is sent again. Fingerprints have 64 bits beside those that choose their
//! slots: of a thousand million links the chance that one is taken for another is below 10^-9.

const WAYS: usize = 8;

/// What identifies a link and its way: twelve bytes of digest over crawl, URL, kind and seed; then depth, hops, redirects.
pub(crate) const NAME_BYTES: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    print: u64,
    depth: u16,
    hops: u8,
    redirects: u8,
}

#[derive(Debug)]
pub struct Lately {
    slots: Box<[Slot]>,
}

impl Lately {
    /// So many slots, sixteen bytes each, rounded up to a power of two.
    pub fn new(slots: usize) -> Self {
        Self { slots: vec![Slot::default(); slots.max(WAYS).next_power_of_two()].into() }
    }

    pub(crate) fn clear(&mut self) {
        self.slots.fill(Slot::default());
    }

    pub(crate) fn contains(&self, name: &[u8; NAME_BYTES]) -> bool {
        let (start, new) = self.find(name);
        self.slots[start..start + WAYS].iter().any(|slot| {
            slot.print == new.print
                && slot.depth <= new.depth
                && slot.hops <= new.hops
                && slot.redirects <= new.redirects
        })
    }

    pub(crate) fn insert(&mut self, name: &[u8; NAME_BYTES]) {
        let (start, new) = self.find(name);
        let bucket = &mut self.slots[start..start + WAYS];
        let same = bucket.iter().position(|slot| slot.print == new.print);
        let free = bucket.iter().position(|slot| slot.print == 0);
        // Any rule will do that is not always the same slot, and a fingerprint is as good as chance.
        bucket[same.or(free).unwrap_or(new.print as usize % WAYS)] = new;
    }

    fn find(&self, name: &[u8; NAME_BYTES]) -> (usize, Slot) {
        let [a, b, c, d, e, f, g, h, i, j, k, l, depth @ .., hops, redirects] = *name;
        let print = u64::from_be_bytes([a, b, c, d, e, f, g, h]).max(1);
        let bucket = u32::from_be_bytes([i, j, k, l]) as usize & (self.slots.len() / WAYS - 1);
        (bucket * WAYS, Slot { print, depth: u16::from_be_bytes(depth), hops, redirects })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: u64, depth: u16) -> [u8; NAME_BYTES] {
        let digest = herodotus_base::Sha256::of(&n.to_be_bytes()).0;
        let mut out = [0; NAME_BYTES];
        out[..12].copy_from_slice(&digest[..12]);
        out[12..14].copy_from_slice(&depth.to_be_bytes());
        out
    }

    #[test]
    fn what_was_sent_is_known_until_others_push_it_out() {
        let mut lately = Lately::new(1024);
        (1..=512).for_each(|n| lately.insert(&name(n, 3)));
        let known = (1..=512).filter(|n| lately.contains(&name(*n, 3))).count();
        assert!(known > 450, "{known}");
        assert!(!lately.contains(&name(513, 3)));
        (513..100_000).for_each(|n| lately.insert(&name(n, 3)));
        assert_eq!(lately.slots.len(), 1024);
        assert!((1..=512).filter(|n| lately.contains(&name(*n, 3))).count() < 10);
    }

    #[test]
    fn a_shorter_way_is_news_and_a_longer_one_is_not() {
        let mut lately = Lately::new(8);
        lately.insert(&name(1, 3));
        assert!(lately.contains(&name(1, 3)) && lately.contains(&name(1, 4)) && !lately.contains(&name(1, 2)));
        lately.insert(&name(1, 2));
        assert!(lately.contains(&name(1, 2)));
    }
}
