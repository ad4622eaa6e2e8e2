//! What there is, and what one machine has of it. Everything that will ever be written in a run is drawn at its beginning and put in the order of
//! places, so that an arc is a range of numbers and a machine's store a row of bits: a comparison of two machines takes as many
//! steps as the arc has words.

use crate::chance::{Chance, mix};
use herodotus_base::Id;
use herodotus_replica::{Mark, Sum};
use std::ops::Range;

/// Something that is kept: where it lies, and how large it is. Its number is its rank by place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) place: Id,
    pub(super) bytes: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    entries: Vec<Entry>,
}

impl Table {
    /// So many entries, some of which share a place as the URLs of a host do.
    pub(super) fn draw(chance: &mut Chance, count: usize, bytes: Range<u64>) -> Self {
        let mut entries = Vec::with_capacity(count);
        while entries.len() < count {
            let place = Id(chance.bytes32());
            for _ in 0..chance.between(1, 4).min(count - entries.len()) {
                let spread = usize::try_from(bytes.end - bytes.start).unwrap_or(0);
                entries.push(Entry { place, bytes: bytes.start + chance.below(spread.max(1)) as u64 });
            }
        }
        entries.sort_by_key(|entry| entry.place);
        Self { entries }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn place(&self, entry: usize) -> Id {
        self.entries[entry].place
    }

    pub(super) fn bytes(&self, entry: usize) -> u64 {
        self.entries[entry].bytes
    }

    /// The first entry behind a place.
    pub(super) fn behind(&self, place: Id) -> usize {
        self.entries.partition_point(|entry| entry.place <= place)
    }

    /// The entries on the arc `(from, to]`, which may go round.
    pub(super) fn on(&self, from: Id, to: Id) -> [Range<usize>; 2] {
        let (first, last) = (self.behind(from), self.behind(to));
        match from.cmp(&to) {
            std::cmp::Ordering::Less => [first..last, 0..0],
            std::cmp::Ordering::Equal => [first..self.len(), 0..first],
            std::cmp::Ordering::Greater => [first..self.len(), 0..last],
        }
    }

    /// What some entries come to.
    pub(super) fn sum(entries: impl Iterator<Item = usize>) -> Sum {
        let mut sum = Sum::default();
        for entry in entries {
            let high = u128::from(mix(entry as u64)) << 64;
            sum.add(Mark((high | u128::from(mix(!(entry as u64)))).to_be_bytes()));
        }
        sum
    }
}

/// A set of entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    words: Vec<u64>,
}

impl Shelf {
    pub(super) fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)] }
    }

    pub(super) fn has(&self, entry: usize) -> bool {
        self.words[entry / 64] & (1 << (entry % 64)) != 0
    }

    /// Whether it was not there before.
    pub(super) fn put(&mut self, entry: usize) -> bool {
        let is_new = !self.has(entry);
        self.words[entry / 64] |= 1 << (entry % 64);
        is_new
    }

    /// Whether it was there.
    pub(super) fn drop(&mut self, entry: usize) -> bool {
        let was = self.has(entry);
        self.words[entry / 64] &= !(1 << (entry % 64));
        was
    }

    pub(super) fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.on(0..self.words.len() * 64)
    }

    /// Those in a range.
    pub(super) fn on(&self, range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        masked(range, move |at| self.words[at])
    }

    /// Those in a range that another does not have.
    pub(super) fn beyond<'a>(&'a self, other: &'a Self, range: Range<usize>) -> impl Iterator<Item = usize> + 'a {
        masked(range, move |at| self.words[at] & !other.words[at])
    }
}

/// The numbers of the bits in a range, word by word.
fn masked(range: Range<usize>, word: impl Fn(usize) -> u64) -> impl Iterator<Item = usize> {
    let words = if range.is_empty() { 0..0 } else { range.start / 64..range.end.div_ceil(64) };
    words.flat_map(move |at| {
        let mut bits = word(at);
        if at == range.start / 64 {
            bits &= u64::MAX << (range.start % 64);
        }
        if at == range.end / 64 {
            bits &= (1 << (range.end % 64)) - 1;
        }
        std::iter::from_fn(move || {
            let bit = bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
            (bit < 64).then_some(at * 64 + bit as usize)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_bits_are_those_that_were_put() {
        let mut shelf = Shelf::new(300);
        let put = [0, 1, 63, 64, 127, 128, 200, 299];
        put.iter().for_each(|entry| assert!(shelf.put(*entry)));
        assert!(!shelf.put(63) && shelf.drop(200) && !shelf.drop(200));
        assert_eq!(shelf.all().collect::<Vec<_>>(), [0, 1, 63, 64, 127, 128, 299]);
        assert_eq!(shelf.on(1..64).collect::<Vec<_>>(), [1, 63]);
        assert_eq!(shelf.on(64..128).collect::<Vec<_>>(), [64, 127]);
        assert_eq!(shelf.on(5..5).count() + shelf.on(64..64).count(), 0);
        assert_eq!(shelf.beyond(&Shelf::new(300), 127..300).collect::<Vec<_>>(), [127, 128, 299]);
    }

    #[test]
    fn an_arc_that_goes_round_has_both_ends_of_the_table() {
        let table = Table::draw(&mut Chance::new(1), 100, 1..2);
        let (early, late) = (table.place(20), table.place(80));
        let count = |from, to| table.on(from, to).into_iter().map(|range| range.len()).sum::<usize>();
        assert_eq!(count(early, late) + count(late, early), 100);
        assert_eq!(count(early, early), 100);
        assert!(table.on(early, late).into_iter().flatten().all(|entry| table.place(entry).is_in(early, late)));
        assert!(table.on(late, early).into_iter().flatten().all(|entry| table.place(entry).is_in(late, early)));
    }
}
