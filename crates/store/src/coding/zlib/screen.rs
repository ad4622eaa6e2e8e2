//! A first look at a stream that zlib may have made: the first symbols of its first block. Most wrong guesses at the
//! parameters choose another match within a few kilobytes, and need not be worked out to the end of a block.

use super::trees::{DISTANCE_BASE, DISTANCE_EXTRA_BITS, LENGTH_BASE, LENGTH_EXTRA_BITS, LENGTH_LENGTH_ORDER, Symbol};
use super::trees::{END_OF_BLOCK, FIXED_DISTANCES, FIXED_LITERALS};

/// Enough to tell most levels apart, and few enough to be read in a fraction of a millisecond.
const SYMBOLS_MAX: usize = 2048;

/// The first symbols, or fewer where the block is stored or the stream is broken: then there is that much less to compare.
pub(crate) fn first_symbols(stream: &[u8]) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    let mut bits = Bits { stream, at: 0 };
    // What was read up to the end or to a mistake is good all the same.
    let _ = read_block(&mut bits, &mut symbols);
    symbols
}

fn read_block(bits: &mut Bits<'_>, symbols: &mut Vec<Symbol>) -> Option<()> {
    bits.take(1)?;
    let (literals, distances) = match bits.take(2)? {
        1 => (Decoder::new(FIXED_LITERALS.iter().map(|c| c.len)), Decoder::new(FIXED_DISTANCES.iter().map(|c| c.len))),
        2 => read_codes(bits)?,
        _ => return None,
    };
    while symbols.len() < SYMBOLS_MAX {
        let symbol = literals.read(bits)?;
        symbols.push(match symbol.checked_sub(END_OF_BLOCK) {
            None => (0, symbol as u8),
            Some(0) => break,
            Some(code) => {
                let length = LENGTH_BASE.get(code - 1)? + bits.take(LENGTH_EXTRA_BITS[code - 1])?;
                let code = distances.read(bits)?;
                let distance = DISTANCE_BASE.get(code)? + bits.take(DISTANCE_EXTRA_BITS[code])? + 1;
                (distance, length as u8)
            }
        });
    }
    Some(())
}

fn read_codes(bits: &mut Bits<'_>) -> Option<(Decoder, Decoder)> {
    let literals = usize::from(bits.take(5)?) + 257;
    let distances = usize::from(bits.take(5)?) + 1;
    let count = usize::from(bits.take(4)?) + 4;
    let mut lens = [0; LENGTH_LENGTH_ORDER.len()];
    for symbol in LENGTH_LENGTH_ORDER.get(..count)? {
        lens[*symbol] = bits.take(3)? as u8;
    }
    let lengths = Decoder::new(lens.into_iter());
    let mut lens: Vec<u8> = Vec::with_capacity(literals + distances);
    while lens.len() < literals + distances {
        let (len, repeat) = match lengths.read(bits)? {
            16 => (*lens.last()?, bits.take(2)? + 3),
            17 => (0, bits.take(3)? + 3),
            18 => (0, bits.take(7)? + 11),
            len => (len as u8, 1),
        };
        lens.resize(lens.len() + usize::from(repeat), len);
    }
    let distances = lens.get(literals..literals + distances)?.iter().copied();
    Some((Decoder::new(lens[..literals].iter().copied()), Decoder::new(distances)))
}

/// Reads a code by how many symbols there are of each length: slow, but made in no time.
struct Decoder {
    counts: [u16; 16],
    symbols: Vec<u16>,
}

impl Decoder {
    fn new(lens: impl Iterator<Item = u8>) -> Self {
        let mut counts = [0; 16];
        let mut symbols: Vec<(u8, u16)> = lens.zip(0..).filter(|(len, _)| *len > 0).collect();
        symbols.iter().for_each(|(len, _)| counts[usize::from(*len)] += 1);
        symbols.sort_unstable();
        Self { counts, symbols: symbols.into_iter().map(|(_, symbol)| symbol).collect() }
    }

    fn read(&self, bits: &mut Bits<'_>) -> Option<usize> {
        let (mut code, mut first, mut index) = (0u32, 0u32, 0u32);
        let next = bits.peek();
        for (i, count) in self.counts[1..].iter().map(|n| u32::from(*n)).enumerate() {
            code |= next >> i & 1;
            // Below `first` where more symbols claim a length than it has room for.
            let place = code.checked_sub(first)?;
            if place < count {
                bits.take(i as u8 + 1)?;
                return self.symbols.get((index + place) as usize).map(|s| usize::from(*s));
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

/// Lowest bit first.
struct Bits<'s> {
    stream: &'s [u8],
    at: usize,
}

impl Bits<'_> {
    /// The next bits: more than any code has, with zeros behind the end.
    fn peek(&self) -> u32 {
        let rest = self.stream.get(self.at / 8..).unwrap_or_default();
        let word = rest.first_chunk().map_or_else(
            || rest.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)),
            |four| u32::from_le_bytes(*four),
        );
        word >> (self.at % 8)
    }

    /// At most sixteen.
    fn take(&mut self, count: u8) -> Option<u16> {
        let value = self.peek() & ((1 << count) - 1);
        self.at += usize::from(count);
        (self.at <= self.stream.len() * 8).then_some(value as u16)
    }
}
