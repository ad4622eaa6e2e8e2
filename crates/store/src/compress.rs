//! zstd, as the store uses it: whole buffers, with or without an earlier version as prefix.

use crate::error::{Error, Result};
use crate::limits::{BLOCK_BYTES_MAX, ZSTD_LEVEL, ZSTD_LEVEL_AT_REST, ZSTD_LEVEL_PATCHES};
use std::cell::RefCell;
use std::sync::Mutex;
use zstd_safe::{
    CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, compress_bound, get_error_name,
};

thread_local! {
    static UNPACKER: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
    /// One that unpacks block by block, into the very buffer that is wanted.
    static STARTER: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Contexts for packing, which weigh megabytes once they are used. They outlive the threads that use them: each seal has a thread
/// of its own.
static PACKERS: Mutex<Vec<CCtx<'static>>> = Mutex::new(Vec::new());
/// How many are kept: more than seal, compact and send at the same time are not worth their memory.
const PACKERS_MAX: usize = 4;

fn with_packer<T>(work: impl FnOnce(&mut CCtx<'static>) -> Result<T>) -> Result<T> {
    let lock = || PACKERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let kept = lock().pop();
    let mut ctx = kept.unwrap_or_else(CCtx::create);
    let result = work(&mut ctx);
    // One that failed is given up, in whatever state it is.
    if result.is_ok() {
        let mut packers = lock();
        if packers.len() < PACKERS_MAX {
            packers.push(ctx);
        }
    }
    result
}

/// Largest window we write and accept: 2^25, which covers two bodies of the largest size kept in memory, unfolded.
const WINDOW_LOG_MAX: u32 = 25;

fn failed(code: usize) -> Error {
    Error::Damaged(format!("zstd: {}", get_error_name(code)))
}

/// How hard zstd searches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    level: i32,
    /// Sizes of the tables that long and short strings are looked up in, as powers of two, and the shortest string.
    tables: Option<(u32, u32, u32)>,
}

impl Search {
    /// For frames: level 3, which takes tables of 768 KiB, in 320 KiB: they stay in the half megabyte or more that a core has to
    /// itself. Frames become 0.3 % larger, and importing them 4 to 6 % cheaper (docs/decisions/0002-differences.md).
    pub(crate) const FRAMES: Self = Self { level: ZSTD_LEVEL, tables: Some((16, 14, 5)) };
    /// For patches.
    pub(crate) const PATCHES: Self = Self { level: ZSTD_LEVEL_PATCHES, tables: None };
    /// For both, because nobody waits.
    pub(crate) const AT_REST: Self = Self { level: ZSTD_LEVEL_AT_REST, tables: None };
}

/// Packs `raw` alone.
pub(crate) fn pack(raw: &[u8], level: i32) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    pack_into(&mut out, raw, Search { level, tables: None })?;
    Ok(out)
}

/// The same, in the place of whatever is in `out`.
pub(crate) fn pack_into(out: &mut Vec<u8>, raw: &[u8], search: Search) -> Result<()> {
    out.clear();
    out.reserve(compress_bound(raw.len()));
    with_packer(|ctx| {
        ctx.reset(ResetDirective::SessionAndParameters).map_err(failed)?;
        ctx.set_parameter(CParameter::CompressionLevel(search.level)).map_err(failed)?;
        if let Some((long, short, shortest)) = search.tables {
            ctx.set_parameter(CParameter::HashLog(long)).map_err(failed)?;
            ctx.set_parameter(CParameter::ChainLog(short)).map_err(failed)?;
            ctx.set_parameter(CParameter::MinMatch(shortest)).map_err(failed)?;
        }
        ctx.compress2(out, raw).map_err(failed)?;
        Ok(())
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

/// Whether bytes that somebody else packed are as [`pack`] makes them: one frame that says its length, with nothing behind it and no more window than
/// a reader gives who unpacks only the beginning. Others might be unpacked in one way and not in the other.
pub(crate) fn is_one_frame(packed: &[u8], raw_len: usize) -> bool {
    const WINDOW_LOG_MAX: u8 = 27;
    let Some([descriptor, window]) = packed.get(4..6).and_then(|bytes| <[u8; 2]>::try_from(bytes).ok()) else {
        return false;
    };
    let has_dictionary = descriptor & 3 != 0;
    let is_single_segment = descriptor & 0x20 != 0;
    packed.starts_with(&MAGIC)
        && !has_dictionary
        && (is_single_segment || 10 + (window >> 3) < WINDOW_LOG_MAX)
        && zstd_safe::get_frame_content_size(packed).is_ok_and(|said| said == Some(raw_len as u64))
        && zstd_safe::find_frame_compressed_size(packed).is_ok_and(|len| len == packed.len())
}

/// What zstd unpacks at a time, at most: there is nothing to save below.
const ZSTD_BLOCK_BYTES: usize = 128 * 1024;
/// As much of a frame as tells how long its header is.
const HEADER_START_BYTES: usize = 5;

/// Unpacks the beginning of what [`pack`] made, block by block. `wanted` is shown the first bytes and says how many are needed in all; if it does
/// not know, all of them are.
pub(crate) fn unpack_start(packed: &[u8], raw_len: usize, wanted: impl Fn(&[u8]) -> Option<usize>) -> Result<Vec<u8>> {
    if raw_len <= ZSTD_BLOCK_BYTES || raw_len > BLOCK_BYTES_MAX {
        return unpack(packed, raw_len);
    }
    STARTER.with_borrow_mut(|ctx| {
        let started = start(ctx, packed, raw_len, wanted);
        ctx.reset(ResetDirective::SessionOnly).map_err(failed)?;
        started
    })
}

fn start(
    ctx: &mut DCtx<'_>,
    packed: &[u8],
    raw_len: usize,
    wanted: impl Fn(&[u8]) -> Option<usize>,
) -> Result<Vec<u8>> {
    ctx.set_parameter(DParameter::StableOutBuffer(true)).map_err(failed)?;
    // What is not unpacked is never touched, and given back.
    let mut out = Vec::with_capacity(raw_len);
    let mut wanted_len = None;
    // zstd says how much it needs for the next block; given more, it would go on.
    let (mut at, mut needed) = (0, HEADER_START_BYTES);
    while needed > 0 && wanted_len.is_none_or(|wanted| out.len() < wanted) {
        let next = packed.get(at..packed.len().min(at + needed)).filter(|next| !next.is_empty());
        let Some(next) = next else { break };
        let (mut input, written) = (InBuffer::around(next), out.len());
        needed = ctx.decompress_stream(&mut OutBuffer::around_pos(&mut out, written), &mut input).map_err(failed)?;
        at += input.pos();
        if wanted_len.is_none() && !out.is_empty() {
            wanted_len = Some(wanted(&out).unwrap_or(raw_len).min(raw_len));
        }
    }
    out.shrink_to_fit();
    let enough = (wanted_len.unwrap_or(raw_len)..=raw_len).contains(&out.len());
    if enough { Ok(out) } else { Err(Error::Damaged(format!("{} bytes where {raw_len} were written", out.len()))) }
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
        with_packer(|ctx| ctx.compress_using_dict(&mut out, raw, base, level).map_err(failed))?;
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
    fn the_beginning_of_a_frame_is_unpacked_as_far_as_it_is_wanted() {
        let raw: Vec<u8> = (0..10).flat_map(page).collect();
        let packed = pack(&raw, 3).unwrap();
        assert!(raw.len() > 4 * ZSTD_BLOCK_BYTES);
        for wanted in [0, 1, ZSTD_BLOCK_BYTES, ZSTD_BLOCK_BYTES + 1, 300_000, raw.len() - 1, raw.len(), usize::MAX] {
            let start = unpack_start(&packed, raw.len(), |_| Some(wanted)).unwrap();
            assert!(start.len() >= wanted.min(raw.len()) && raw.starts_with(&start), "{wanted}");
            // Up to the end of the block that has the last of it.
            assert!(start.len() < wanted.max(1).saturating_add(ZSTD_BLOCK_BYTES), "{} for {wanted}", start.len());
            assert!(start.capacity() < start.len() + 64, "{} bytes are kept for {}", start.capacity(), start.len());
        }
        assert_eq!(unpack_start(&packed, raw.len(), |_| None).unwrap(), raw);
        let small = pack(b"abc", 3).unwrap();
        assert_eq!(unpack_start(&small, 3, |_| Some(1)).unwrap(), b"abc");
        // What is cut gives what was wanted or an error, and is not in the next reader's way.
        for cut in (0..packed.len()).step_by(997) {
            if let Ok(start) = unpack_start(&packed[..cut], raw.len(), |_| Some(400_000)) {
                assert!(raw.starts_with(&start) && start.len() >= 400_000);
            }
            assert!(unpack_start(&packed[..cut], raw.len(), |_| None).is_err());
        }
        assert_eq!(unpack(&packed, raw.len()).unwrap(), raw);
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
