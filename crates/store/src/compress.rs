//! zstd, as the store uses it: whole buffers, with or without an earlier version as prefix.

use crate::error::{Error, Result};
use crate::limits::BLOCK_BYTES_MAX;
use std::cell::RefCell;
use zstd_safe::{CCtx, CParameter, DCtx, compress_bound, get_error_name};

thread_local! {
    static PACKER: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    static UNPACKER: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Largest window we write and accept: 2^25, which covers two bodies of the largest size kept in memory, unfolded.
const WINDOW_LOG_MAX: u32 = 25;

fn failed(code: usize) -> Error {
    Error::Damaged(format!("zstd: {}", get_error_name(code)))
}

/// Packs `raw` alone.
pub(crate) fn pack(raw: &[u8], level: i32) -> Result<Vec<u8>> {
    PACKER.with_borrow_mut(|ctx| {
        ctx.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
        let mut out = Vec::with_capacity(compress_bound(raw.len()));
        ctx.compress2(&mut out, raw).map_err(failed)?;
        Ok(out)
    })
}

/// Unpacks what [`pack`] made; `raw_len` is what the block's header promises.
pub(crate) fn unpack(packed: &[u8], raw_len: usize) -> Result<Vec<u8>> {
    if raw_len > BLOCK_BYTES_MAX {
        return Err(Error::Damaged(format!("a block of {raw_len} bytes")));
    }
    UNPACKER.with_borrow_mut(|ctx| {
        let mut out = Vec::with_capacity(raw_len);
        let n = ctx.decompress(&mut out, packed).map_err(failed)?;
        if n == raw_len { Ok(out) } else { Err(Error::Damaged(format!("{n} bytes where {raw_len} were written"))) }
    })
}

/// Every zstd frame begins with these bytes; a difference is small enough that leaving them out shows.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Up to this much, content and base together fit the window that zstd takes by itself.
const DEFAULT_WINDOW_BYTES: usize = 2 * 1024 * 1024;

/// From here on zstd's levels 3 and 4 search the same way and 4 has the larger tables, so that the end of a base does not
/// overwrite its start: lxml's differences shrink by a quarter, in the same time. Below, 4 searches another, slower way.
const LARGE_PAIR_BYTES: usize = 256 * 1024;
const LARGE_PAIR_LEVEL: i32 = 4;

/// Packs `raw` as a difference to `base`.
pub(crate) fn pack_delta(raw: &[u8], base: &[u8], level: i32) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(compress_bound(raw.len()));
    let both = raw.len() + base.len();
    if both <= DEFAULT_WINDOW_BYTES {
        let level = if both > LARGE_PAIR_BYTES { level.max(LARGE_PAIR_LEVEL) } else { level };
        PACKER.with_borrow_mut(|ctx| ctx.compress_using_dict(&mut out, raw, base, level).map_err(failed))?;
    } else {
        let mut ctx = CCtx::create();
        ctx.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
        let log = both.next_power_of_two().ilog2().min(WINDOW_LOG_MAX);
        ctx.set_parameter(CParameter::WindowLog(log)).map_err(failed)?;
        // The level's own tables remember only the last megabyte or so.
        ctx.set_parameter(CParameter::EnableLongDistanceMatching(true)).map_err(failed)?;
        ctx.ref_prefix(base).map_err(failed)?;
        ctx.compress2(&mut out, raw).map_err(failed)?;
    }
    out.drain(..MAGIC.len());
    Ok(out)
}

pub(crate) fn unpack_delta(packed: &[u8], base: &[u8], raw_len: usize) -> Result<Vec<u8>> {
    if raw_len > BLOCK_BYTES_MAX {
        return Err(Error::Damaged(format!("a difference of {raw_len} bytes")));
    }
    let packed = [&MAGIC, packed].concat();
    let mut out = Vec::with_capacity(raw_len);
    let n = UNPACKER.with_borrow_mut(|ctx| ctx.decompress_using_dict(&mut out, &packed, base).map_err(failed))?;
    if n == raw_len { Ok(out) } else { Err(Error::Damaged(format!("{n} bytes where {raw_len} were written"))) }
}

/// Whether trying to pack these bytes is a waste: decided on a sample from the middle, where headers are past.
pub(crate) fn is_incompressible(bytes: &[u8]) -> bool {
    const SAMPLE: usize = 8 * 1024;
    let middle = bytes.len().saturating_sub(SAMPLE) / 2;
    let sample = &bytes[middle..(middle + SAMPLE).min(bytes.len())];
    pack(sample, 1).is_ok_and(|packed| packed.len() * 20 > sample.len() * 19)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(seed: u32) -> Vec<u8> {
        (0..3000u32)
            .flat_map(|i| format!("<p>line {} of {seed}</p>\n", i.wrapping_mul(2_654_435_761)).into_bytes())
            .collect()
    }

    #[test]
    fn a_difference_is_small_and_comes_back() {
        let (old, mut new) = (page(1), page(1));
        new.splice(5000..5010, b"changed here".iter().copied());
        let delta = pack_delta(&new, &old, 3).unwrap();
        assert!(delta.len() < 100, "{} bytes", delta.len());
        assert_eq!(unpack_delta(&delta, &old, new.len()).unwrap(), new);
        assert!(unpack_delta(&delta, b"another base", new.len()).map_or(true, |other| other != new));
    }

    #[test]
    fn a_difference_to_a_page_of_megabytes_is_small_too() {
        let old: Vec<u8> = (0..40).flat_map(page).collect();
        let mut new = old.clone();
        new.splice(50..50, b"changed at the start".iter().copied());
        assert!(new.len() > DEFAULT_WINDOW_BYTES);
        let delta = pack_delta(&new, &old, 3).unwrap();
        assert!(delta.len() < 5000, "{} bytes", delta.len());
        assert_eq!(unpack_delta(&delta, &old, new.len()).unwrap(), new);
    }

    #[test]
    fn garbage_is_damage_not_a_panic() {
        assert!(unpack(b"garbage", 10).is_err());
        assert!(unpack(&pack(b"abc", 3).unwrap(), 2).is_err());
        assert!(unpack(&pack(b"abc", 3).unwrap(), 4).is_err());
        assert!(unpack(&[], usize::MAX).is_err());
    }

    #[test]
    fn noise_is_told_from_text() {
        let mut x = 1u64;
        let noise: Vec<u8> = (0..20_000)
            .map(|_| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (x >> 33) as u8
            })
            .collect();
        assert!(is_incompressible(&noise));
        assert!(!is_incompressible(&page(3)));
    }
}
