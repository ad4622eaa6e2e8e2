//! zlib's compressor, frozen. Gzipped bodies are stored unfolded and must fold back to the very same bytes for ever, so
//! this is our own code and not a dependency that may learn to compress better.
//!
//! The algorithm follows zlib by Jean-loup Gailly and Mark Adler (deflate.c and trees.c; 1.2.3 to 1.3.2 make the same
//! of our test vectors); this is an altered version, reimplemented in safe Rust, and not the original software.
//!
//! Promised: for every input and [`Params`], what stock zlib makes in one go (`Z_FINISH`, default strategy, no preset
//! dictionary). tests/data/zlib_vectors.tsv holds it to that. Not reproduced: level 0, flushes in the middle of the stream,
//! strategies and `deflateParams`; the forks (Intel, Cloudflare, zlib-ng, Chromium), which choose other matches; and, where
//! input came in small pieces, the one match or stored block in very many that depends on when zlib's window was slid.

mod matcher;
mod screen;
mod trees;

pub(crate) use screen::first_symbols;
pub(crate) use trees::Symbol;

use trees::BlockWriter;

/// What `deflateInit2` is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    /// 1 to 9.
    pub level: u8,
    /// 9 to 15; 8 is taken as 9, as zlib does.
    pub window_bits: u8,
    /// 1 to 9.
    pub mem_level: u8,
}

impl Params {
    fn checked(self) -> Option<Self> {
        let window_bits = self.window_bits.max(9);
        let in_range =
            (1..=9).contains(&self.level) && (8..=15).contains(&self.window_bits) && (1..=9).contains(&self.mem_level);
        in_range.then_some(Self { window_bits, ..self })
    }

    /// A block ends when it has this many symbols; zlib leaves one place of its buffer unused.
    fn block_symbols_max(self) -> usize {
        (1 << (self.mem_level + 6)) - 1
    }
}

/// The raw deflate stream that zlib makes of `input` in one go. `None`: parameters out of range.
pub(crate) fn deflate(input: &[u8], params: Params) -> Option<Vec<u8>> {
    let params = params.checked()?;
    let mut blocks = BlockWriter::new(params.block_symbols_max(), None);
    matcher::compress(input, params, &mut blocks);
    Some(blocks.into_bytes())
}

/// Whether zlib with these parameters would have made exactly `expected` of `input`. Stops after the first block that differs, and
/// with `start`, what [`first_symbols`] found in `expected`, at the first of those: a wrong guess is then cheap.
pub(crate) fn deflates_to(input: &[u8], params: Params, expected: &[u8], start: &[Symbol]) -> bool {
    let Some(params) = params.checked() else { return false };
    let mut blocks = BlockWriter::new(params.block_symbols_max(), Some(expected)).starting_with(start);
    matcher::compress(input, params, &mut blocks);
    blocks.made_all_expected()
}

#[cfg(test)]
mod tests;
