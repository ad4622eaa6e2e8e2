//! Patches: an item as what it copies from an earlier one, its base, and what it has anew.
//!
//! ```text
//! { length, bytes that are new │ length, how far behind the last copy's end in the base } …
//! ```
//!
//! Until the item is whole; either part may come last. Patches are not packed one by one: those of a site's pages say much the
//! same (a new version's number, a new date), so they are packed together, a block at a time. That is why only long copies are
//! taken: short ones would break up what the packing finds again, and cost more than they save (docs/decisions/0002-differences.md).
//! The idea is xdelta's and rsync's: the base is looked up by the hashes of every sixteenth place in it.

use crate::error::{Error, Result};
use crate::limits::BLOCK_BYTES_MAX;
use crate::wire::{Cursor, Put};

/// Shorter copies are not worth their two numbers.
const COPY_BYTES_MIN: usize = 32;
/// What a place in the base is known by.
const KEY_BYTES: usize = 16;
/// Every so manieth place is known: each copy that is long enough has one.
const STRIDE: usize = 16;
/// After a difference, how far on both sides are looked at for going on side by side: a date, a number, a digest.
const ASIDE_BYTES: usize = 64;

/// Makes patches. The table is kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Differ {
    /// By hash of what stands there: `start` and a place in the base. What is below belongs to bases before, so that nothing has
    /// to be cleared.
    places: Vec<u32>,
    start: u32,
    /// Bits of the hash.
    bits: u32,
}

/// Where the item and the base are the same.
struct Copy {
    /// In the item, and in the base.
    at: usize,
    from: usize,
    len: usize,
}

impl Differ {
    /// What makes `item` of `base`. At worst a little longer than the item.
    pub(crate) fn patch(&mut self, item: &[u8], base: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        // Behind the last copy.
        let (mut at, mut from) = (0, 0);
        let mut is_indexed = false;
        while at < item.len() {
            let mut copy = beside(item, base, at, from);
            if copy.is_none() {
                if !is_indexed {
                    self.index(base);
                    is_indexed = true;
                }
                copy = self.find(item, base, at);
            }
            let literals = &item[at..copy.as_ref().map_or(item.len(), |copy| copy.at)];
            out.put_bytes(literals);
            let Some(copy) = copy else { break };
            out.put_len(copy.len);
            out.put_i64(copy.from as i64 - from as i64);
            (at, from) = (copy.at + copy.len, copy.from + copy.len);
        }
        if is_indexed {
            self.start += base.len() as u32;
        }
        out
    }

    fn index(&mut self, base: &[u8]) {
        self.bits = (base.len() / STRIDE * 2).next_power_of_two().ilog2().max(4);
        let len = self.places.len().max(1 << self.bits);
        if self.start == 0 || self.start.checked_add(base.len() as u32).is_none() {
            self.places.clear();
            self.start = 1;
        }
        self.places.resize(len, 0);
        for (place, key) in base.windows(KEY_BYTES).enumerate().step_by(STRIDE) {
            let slot = self.slot(key);
            self.places[slot] = self.start + place as u32;
        }
    }

    fn slot(&self, key: &[u8]) -> usize {
        let (a, b) = (word(key, 0), word(key, 8));
        let hash = (a.wrapping_mul(0x9e37_79b1_85eb_ca87) ^ b.rotate_left(32)).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        (hash >> (64 - self.bits)) as usize
    }

    /// The next place from `after` on where something is copied.
    fn find(&self, item: &[u8], base: &[u8], after: usize) -> Option<Copy> {
        for (at, key) in item.windows(KEY_BYTES).enumerate().skip(after) {
            let Some(from) = self.places[self.slot(key)].checked_sub(self.start) else { continue };
            let from = from as usize;
            if base[from..from + KEY_BYTES] != *key {
                continue;
            }
            let ahead = common_prefix(&item[at + KEY_BYTES..], &base[from + KEY_BYTES..]);
            let behind = common_suffix(&item[after..at], &base[..from]);
            let len = behind + KEY_BYTES + ahead;
            if len >= COPY_BYTES_MIN {
                return Some(Copy { at: at - behind, from: from - behind, len });
            }
        }
        None
    }
}

/// Where both go on side by side, most often behind a few bytes that were changed in place.
fn beside(item: &[u8], base: &[u8], at: usize, from: usize) -> Option<Copy> {
    let (item_rest, base_rest) = (&item[at..], base.get(from..)?);
    let last = item_rest.len().min(base_rest.len()).checked_sub(COPY_BYTES_MIN)?.min(ASIDE_BYTES);
    (0..=last).find_map(|aside| {
        if word(item_rest, aside) != word(base_rest, aside) {
            return None;
        }
        let len = common_prefix(&item_rest[aside..], &base_rest[aside..]);
        (len >= COPY_BYTES_MIN).then_some(Copy { at: at + aside, from: from + aside, len })
    })
}

/// The item that a patch makes of its base. Nothing else is made: a patch of another length, or one that reaches outside the base,
/// is damage.
pub(crate) fn apply(patch: &[u8], base: &[u8], raw_len: usize) -> Result<Vec<u8>> {
    let damaged = || Error::Damaged("a patch does not fit what it was made to".to_owned());
    if raw_len > BLOCK_BYTES_MAX {
        return Err(Error::Damaged(format!("a patch to {raw_len} bytes")));
    }
    let mut out = Vec::with_capacity(raw_len);
    let mut c = Cursor::new(patch);
    let mut from = 0usize;
    while !c.is_empty() {
        out.extend_from_slice(c.bytes().filter(|new| new.len() <= raw_len - out.len()).ok_or_else(damaged)?);
        if c.is_empty() {
            break;
        }
        let (len, skip) = (c.usize().ok_or_else(damaged)?, c.i64().ok_or_else(damaged)?);
        let start = from.checked_add_signed(isize::try_from(skip).map_err(|_| damaged())?).ok_or_else(damaged)?;
        from = start.checked_add(len).filter(|_| len <= raw_len - out.len()).ok_or_else(damaged)?;
        out.extend_from_slice(base.get(start..from).ok_or_else(damaged)?);
    }
    if out.len() == raw_len { Ok(out) } else { Err(damaged()) }
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// How many bytes two slices have in common from their start.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    // In long steps first: most of two versions is the same.
    let (a_steps, b_steps) = (a.as_chunks::<32>().0, b.as_chunks::<32>().0);
    let same = 32 * a_steps.iter().zip(b_steps).take_while(|(a, b)| a == b).count();
    same + common_prefix_by_words(&a[same..], &b[same..])
}

fn common_prefix_by_words(a: &[u8], b: &[u8]) -> usize {
    let (a_words, a_rest) = a.as_chunks::<8>();
    let (b_words, b_rest) = b.as_chunks::<8>();
    for (i, (a, b)) in a_words.iter().zip(b_words).enumerate() {
        let difference = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if difference != 0 {
            return 8 * i + difference.trailing_zeros() as usize / 8;
        }
    }
    8 * a_words.len() + a_rest.iter().zip(b_rest).take_while(|(a, b)| a == b).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(seed: u32) -> Vec<u8> {
        (0..3000u32)
            .flat_map(|i| format!("<p>line {} of {seed}</p>\n", i.wrapping_mul(2_654_435_761)).into_bytes())
            .collect()
    }

    fn round(item: &[u8], base: &[u8]) -> usize {
        let patch = Differ::default().patch(item, base);
        assert!(apply(&patch, base, item.len()).unwrap() == item);
        patch.len()
    }

    #[test]
    fn small_changes_make_small_patches() {
        let base = page(1);
        let mut changed = base.clone();
        changed.splice(5000..5010, *b"0123456789");
        assert!(round(&changed, &base) < 24);
        changed.splice(50..50, *b"something new that was not there before, and is long enough to part both sides");
        changed.drain(60_000..61_000);
        assert!(round(&changed, &base) < 140);
        let (front, back) = base.split_at(40_000);
        assert!(round(&[back, front].concat(), &base) < 24, "parts may change places");
        assert!(round(&base, &base) < 8);
    }

    #[test]
    fn what_has_nothing_in_common_costs_little_more_than_itself() {
        let item = page(2);
        assert!(round(&item, b"") <= item.len() + 3);
        assert!(round(&item, &[0; 100]) <= item.len() + 3);
        assert_eq!(round(b"", &item), 0);
        assert_eq!(round(b"short", b"shore"), 6);
    }

    #[test]
    fn a_patch_fits_its_base_and_length_and_no_other() {
        let (base, item) = (page(1), [page(1), page(2)].concat());
        let patch = Differ::default().patch(&item, &base);
        for len in [0, item.len() - 1, item.len() + 1, usize::MAX] {
            assert!(apply(&patch, &base, len).is_err());
        }
        assert!(apply(&patch, &base[..1000], item.len()).is_err());
        for cut in 0..patch.len().min(2000) {
            assert!(apply(&patch[..cut], &base, item.len()).is_err());
        }
        // Copies of nothing, from before the base, from behind it, and of more than can be.
        for forged in
            [&b"\0\x05\x01"[..], b"\0\x05\x80\x80\x80\x80\x10", b"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0"]
        {
            assert!(apply(forged, &base, 5).is_err(), "{forged:?}");
        }
    }

    proptest! {
        #[test]
        fn every_item_comes_back(
            base in proptest::collection::vec(0u8..3, 0..600),
            cuts in proptest::collection::vec((0usize..600, 0usize..200), 0..8),
            fresh in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let mut item = fresh.clone();
            for (from, len) in cuts {
                let from = from.min(base.len());
                item.extend_from_slice(&base[from..(from + len).min(base.len())]);
                item.extend_from_slice(&fresh[..fresh.len() / 3]);
            }
            round(&item, &base);
            round(&base, &item);
        }

        #[test]
        fn arbitrary_patches_never_panic(
            patch in proptest::collection::vec(any::<u8>(), 0..60),
            base in proptest::collection::vec(any::<u8>(), 0..60),
            len in 0usize..200,
        ) {
            prop_assert!(apply(&patch, &base, len).is_ok_and(|item| item.len() == len) || apply(&patch, &base, len).is_err());
        }
    }
}
