//! Coded symbols: short ids added up so that two sets can be told apart at a cost that grows with their difference, however large they are.
//!
//! Every short id belongs to the symbols that a generator seeded with it names; the chance to belong to symbol `i` is `1 / (1 + i / 2)`. Taking one
//! side's symbols from the other's leaves those of the difference, from which ids are peeled that stand alone in a symbol, until none
//! is left. Some 1.4 symbols for each difference are enough, and there is always a next one (Yang, Gilad and Alizadeh, "Practical Rateless Set
//! Reconciliation", 2024). Symbols that were made up end in [`Peeled::Garbled`] or in ids that nobody knows, after a bounded number of steps.

use super::limits::SHARE_BITS_MAX;
use crate::{Mark, Sum};
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;
use std::ops::Range;

/// A mark in eight bytes, for one comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Short(pub [u8; 8]);

/// What short ids and fingerprints of one comparison are made with. Drawn anew for each, so that marks that collide in one do not in the next, and
/// nobody who chooses URLs can choose such marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Salt {
    shorts: SipHasher24,
    checks: SipHasher24,
    sums: SipHasher24,
}

impl Salt {
    pub(super) fn new(salt: u64) -> Self {
        // The words keep the uses apart.
        let keyed = |word: &[u8; 8]| SipHasher24::new_with_keys(salt, u64::from_be_bytes(*word));
        Self { shorts: keyed(b"short 1 "), checks: keyed(b"check 1 "), sums: keyed(b"sum 1   ") }
    }

    pub(super) fn short(&self, mark: Mark) -> Short {
        Short(self.shorts.hash(&mark.0).to_be_bytes())
    }

    pub(super) fn digest(&self, sum: Sum) -> u64 {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&sum.count.to_be_bytes());
        bytes[8..].copy_from_slice(&sum.total.to_be_bytes());
        self.sums.hash(&bytes)
    }

    /// For ranges: six bytes hide a difference once in 2^48 ranges, and not again.
    pub(super) fn fingerprint(&self, sum: Sum) -> [u8; 6] {
        let digest = self.digest(sum).to_be_bytes();
        std::array::from_fn(|at| digest[at])
    }

    /// The upper half is the check of a short id, all of it the seed of its [`Walk`].
    fn seed(&self, short: u64) -> u64 {
        self.checks.hash(&short.to_be_bytes())
    }
}

/// A part of the short ids: those that begin with these bits. One place can be split no other way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Share {
    pub bits: u8,
    pub value: u16,
}

impl Share {
    pub fn contains(self, short: Short) -> bool {
        let lead = u16::from_be_bytes([short.0[0], short.0[1]]);
        self.bits == 0 || u32::from(lead) >> (16 - u32::from(self.bits.min(16))) == u32::from(self.value)
    }

    pub(super) fn is_sound(self) -> bool {
        self.bits <= SHARE_BITS_MAX && u32::from(self.value) < 1 << self.bits
    }

    /// Its parts by `more` bits; none if that would be too many bits.
    pub(super) fn split(self, more: u8) -> Vec<Self> {
        let bits = self.bits.saturating_add(more);
        if bits > SHARE_BITS_MAX {
            return Vec::new();
        }
        let base = u32::from(self.value) << more;
        (base..base + (1 << more)).filter_map(|value| Some(Self { bits, value: u16::try_from(value).ok()? })).collect()
    }
}

/// The indices of the symbols that a short id belongs to: always the first, then ever fewer.
struct Walk {
    state: u64,
    at: u64,
}

impl Walk {
    fn new(seed: u64) -> Self {
        // Odd, or the generator would run dry.
        Self { state: seed | 1, at: 0 }
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(0xda94_2042_e4dd_58b5);
        // Nothing but operations that round the same way on every machine.
        let jump = (self.at as f64 + 1.5) * ((1u64 << 32) as f64 / (self.state as f64 + 1.0).sqrt() - 1.0);
        self.at = self.at.saturating_add((jump.ceil() as u64).max(1));
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Cell {
    sum: u64,
    check: u32,
    count: i64,
}

impl Cell {
    fn add(&mut self, short: u64, check: u32, sign: i64) {
        self.sum ^= short;
        self.check ^= check;
        self.count = self.count.wrapping_add(sign);
    }
}

/// A cell on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Symbol {
    pub sum: [u8; 8],
    pub check: [u8; 4],
    /// How many ids are in it beyond what was to be expected, which is little.
    pub beyond: i64,
}

fn expected(entries: u64, index: u32) -> i64 {
    i64::try_from(u128::from(entries) * 2 / (u128::from(index) + 2)).unwrap_or(i64::MAX)
}

/// Some of a set's cells.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    indices: Range<u32>,
    cells: Vec<Cell>,
}

impl Sketch {
    pub(super) fn new(indices: Range<u32>) -> Self {
        let cells = vec![Cell::default(); indices.len()];
        Self { indices, cells }
    }

    pub(super) fn add(&mut self, salt: &Salt, short: Short) {
        let short = u64::from_be_bytes(short.0);
        let seed = salt.seed(short);
        let mut walk = Walk::new(seed);
        while walk.at < u64::from(self.indices.end) {
            if let Some(cell) =
                walk.at.checked_sub(u64::from(self.indices.start)).and_then(|at| self.cells.get_mut(at as usize))
            {
                cell.add(short, (seed >> 32) as u32, 1);
            }
            walk.step();
        }
    }

    /// `entries`: how many were added.
    pub(super) fn symbols(&self, entries: u64) -> Vec<Symbol> {
        let symbol = |(index, cell): (u32, &Cell)| Symbol {
            sum: cell.sum.to_be_bytes(),
            check: cell.check.to_be_bytes(),
            beyond: cell.count.wrapping_sub(expected(entries, index)),
        };
        self.indices.clone().zip(&self.cells).map(symbol).collect()
    }

    /// What is left of `theirs`, which begin with the first one, when these are taken off.
    pub(super) fn taken_from(mut self, theirs: &[Cell]) -> Difference {
        for (mine, theirs) in self.cells.iter_mut().zip(theirs) {
            let count = theirs.count.wrapping_sub(mine.count);
            *mine = Cell { sum: mine.sum ^ theirs.sum, check: mine.check ^ theirs.check, count };
        }
        Difference { cells: self.cells }
    }
}

/// The cells behind symbols that came in; the first of them has this index.
pub(super) fn cells(symbols: &[Symbol], from: u32, entries: u64) -> impl Iterator<Item = Cell> {
    symbols.iter().zip(from..).map(move |(symbol, index)| Cell {
        sum: u64::from_be_bytes(symbol.sum),
        check: u32::from_be_bytes(symbol.check),
        count: symbol.beyond.wrapping_add(expected(entries, index)),
    })
}

/// The cells of what two sets have not in common.
#[derive(Debug)]
pub(super) struct Difference {
    cells: Vec<Cell>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Peeled {
    All {
        there: Vec<Short>,
        here: Vec<Short>,
    },
    /// It takes more symbols.
    Some,
    /// No two sets have these symbols.
    Garbled,
}

impl Difference {
    /// How many differences there are, about. A cell's count is a sum of so many chances, plus for there and minus for here: its spread tells.
    pub(super) fn estimate(&self) -> u64 {
        let net = self.cells.first().map_or(0.0, |cell| cell.count as f64);
        let spread = |(index, cell): (usize, &Cell)| {
            let chance = 2.0 / (index as f64 + 2.0);
            (cell.count as f64 - net * chance).powi(2) / (chance * (1.0 - chance))
        };
        let spreads: f64 = self.cells.iter().enumerate().skip(1).map(spread).sum();
        (spreads / (self.cells.len().max(2) - 1) as f64).max(net.abs()) as u64
    }

    pub(super) fn peel(mut self, salt: &Salt) -> Peeled {
        let (mut there, mut here) = (Vec::new(), Vec::new());
        let mut alone: Vec<usize> = (0..self.cells.len()).rev().collect();
        while let Some(index) = alone.pop() {
            let Some((short, sign, seed)) = self.alone(salt, index) else { continue };
            // Each peeling empties a cell for good, if the cells are honest.
            if there.len() + here.len() >= self.cells.len() {
                return Peeled::Garbled;
            }
            if sign > 0 { &mut there } else { &mut here }.push(Short(short.to_be_bytes()));
            self.remove(salt, (short, sign, seed), &mut alone);
        }
        match self.cells.iter().all(|cell| *cell == Cell::default()) {
            true => Peeled::All { there, here },
            false => Peeled::Some,
        }
    }

    fn remove(&mut self, salt: &Salt, (short, sign, seed): (u64, i64, u64), alone: &mut Vec<usize>) {
        let mut walk = Walk::new(seed);
        while let Some(cell) = self.cells.get_mut(walk.at as usize) {
            cell.add(short, (seed >> 32) as u32, -sign);
            if self.alone(salt, walk.at as usize).is_some() {
                alone.push(walk.at as usize);
            }
            walk.step();
        }
    }

    /// The short id that stands alone in this cell, and on which side it is.
    fn alone(&self, salt: &Salt, index: usize) -> Option<(u64, i64, u64)> {
        let cell = self.cells.get(index).filter(|cell| matches!(cell.count, 1 | -1))?;
        let seed = salt.seed(cell.sum);
        if (seed >> 32) as u32 != cell.check {
            return None;
        }
        // By chance the check is right once in 2^32; that the id belongs here too is a second one.
        let mut walk = Walk::new(seed);
        while walk.at < index as u64 {
            walk.step();
        }
        (walk.at == index as u64).then_some((cell.sum, cell.count, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(salt: &Salt, numbers: Range<u64>, until: u32) -> Sketch {
        let mut sketch = Sketch::new(0..until);
        numbers.for_each(|number| sketch.add(salt, salt.short(Mark::of(&number.to_be_bytes(), b""))));
        sketch
    }

    /// `lacking` numbers are there only, and as many here only.
    fn difference(salt: &Salt, lacking: u64, until: u32) -> Difference {
        let theirs = sketch(salt, lacking..5000, until);
        let theirs: Vec<_> = cells(&theirs.symbols(5000 - lacking), 0, 5000 - lacking).collect();
        sketch(salt, 0..5000 - lacking, until).taken_from(&theirs)
    }

    #[test]
    fn a_symbol_and_a_half_for_each_difference_is_enough_and_one_is_not() {
        for salt in (0..20).map(Salt::new) {
            assert_eq!(difference(&salt, 500, 900).peel(&salt), Peeled::Some);
            match difference(&salt, 500, 1600).peel(&salt) {
                Peeled::All { there, here } => assert_eq!((there.len(), here.len()), (500, 500)),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn the_first_symbols_tell_how_many_differences_there_are() {
        for salt in (0..20).map(Salt::new) {
            let estimate = difference(&salt, 2000, 96).estimate();
            assert!((2400..6400).contains(&estimate), "{estimate} of 4000");
        }
    }

    #[test]
    fn parts_of_the_symbols_are_the_whole() {
        let salt = Salt::new(3);
        let whole = sketch(&salt, 0..300, 64);
        let mut later = Sketch::new(40..64);
        (0..300u64).for_each(|number| later.add(&salt, salt.short(Mark::of(&number.to_be_bytes(), b""))));
        assert_eq!(whole.symbols(300)[40..], later.symbols(300));
    }

    #[test]
    fn symbols_that_feed_themselves_come_to_an_end() {
        // An id in all of its cells but the last: peeling it leaves that one with its opposite, and peeling that puts all others back.
        let salt = Salt::new(1);
        for number in 0..200u64 {
            let (seed, mut cells, mut last) = (salt.seed(number), vec![Cell::default(); 500], 0);
            let mut walk = Walk::new(seed);
            while walk.at < 500 {
                last = walk.at as usize;
                cells[last].add(number, (seed >> 32) as u32, 1);
                walk.step();
            }
            cells[last] = Cell::default();
            let expected =
                if last == 0 { Peeled::All { there: Vec::new(), here: Vec::new() } } else { Peeled::Garbled };
            assert_eq!(Difference { cells }.peel(&salt), expected);
        }
    }

    #[test]
    fn a_walk_always_goes_on() {
        // The last one is the seed whose first number is the largest there is: no jump at all, if it were not for the one that is the least.
        let inverse =
            (0..6).fold(1u64, |x, _| x.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(0xda94_2042_e4dd_58b5))));
        for seed in [0, 1, u64::MAX, 0x8000_0000_0000_0000, inverse.wrapping_neg()] {
            let mut walk = Walk::new(seed);
            for _ in 0..1000 {
                let before = walk.at;
                walk.step();
                assert!(walk.at > before || walk.at == u64::MAX);
            }
        }
    }

    #[test]
    fn shares_are_parts_that_do_not_overlap() {
        let short = Short([0b1010_0101, 0xff, 0, 0, 0, 0, 0, 0]);
        assert!(Share::default().contains(short));
        for bits in 1..=16 {
            let holding: Vec<_> =
                Share::default().split(bits).into_iter().filter(|share| share.contains(short)).collect();
            assert_eq!(holding.len(), 1);
            assert!(holding[0].is_sound());
        }
        assert!(Share { bits: 16, value: 1 }.split(1).is_empty());
        assert!(!Share { bits: 3, value: 8 }.is_sound() && !Share { bits: 17, value: 0 }.is_sound());
    }
}
