//! zstd bodies: the encoder is the same library everywhere, so packing again at the same level gives the same bytes as
//! long as its version does. The frame's header says whether the length was known beforehand.

use crate::limits::UNFOLDED_BYTES_MAX;
use std::cell::RefCell;
use std::io::Read;
use std::sync::atomic::{AtomicI32, Ordering};
use zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, ResetDirective};

/// Levels that servers use on the fly, likeliest first.
const LEVELS: [i32; 5] = [3, 1, 6, 9, 12];
static LAST: AtomicI32 = AtomicI32::new(LEVELS[0]);

/// What a frame says of its content's length.
const UNKNOWN: u8 = 0;
const WRITTEN: u8 = 1;
const LEFT_OUT: u8 = 2;

thread_local! {
    /// A context weighs megabytes at the higher levels, so it is kept.
    static PACKER: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
}

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

pub(super) fn unfold(body: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let descriptor = *body.strip_prefix(&MAGIC)?.first()?;
    // Without a length in the header, it was left out, or not known when the header was written.
    let modes: &[u8] = if descriptor >> 6 != 0 || descriptor & 0x20 != 0 { &[WRITTEN] } else { &[LEFT_OUT, UNKNOWN] };
    let checksum = u8::from(descriptor & 4 != 0);
    let inner = decode(body)?;
    let last = LAST.load(Ordering::Relaxed);
    for level in std::iter::once(last).chain(LEVELS.into_iter().filter(|l| *l != last)) {
        for mode in modes {
            let params = vec![level as u8, *mode, checksum];
            if fold(&params, &inner).as_deref() == Some(body) {
                LAST.store(level, Ordering::Relaxed);
                return Some((inner, params));
            }
        }
    }
    None
}

pub(super) fn fold(params: &[u8], inner: &[u8]) -> Option<Vec<u8>> {
    let [level @ 1..=22, mode @ 0..=2, checksum @ 0..=1] = *params else { return None };
    PACKER.with_borrow_mut(|ctx| {
        ctx.reset(ResetDirective::SessionAndParameters).ok()?;
        ctx.set_parameter(CParameter::CompressionLevel(i32::from(level))).ok()?;
        ctx.set_parameter(CParameter::ChecksumFlag(checksum == 1)).ok()?;
        ctx.set_parameter(CParameter::ContentSizeFlag(mode != LEFT_OUT)).ok()?;
        let mut out = Vec::with_capacity(zstd_safe::compress_bound(inner.len()) + 64);
        if mode != UNKNOWN {
            ctx.compress2(&mut out, inner).ok()?;
            return Some(out);
        }
        // Fed first and ended afterwards, the encoder cannot know the length when it writes the header.
        let mut input = InBuffer::around(inner);
        let mut output = OutBuffer::around(&mut out);
        while input.pos() < inner.len() {
            ctx.compress_stream2(&mut output, &mut input, ZSTD_EndDirective::ZSTD_e_continue).ok()?;
        }
        while ctx.compress_stream2(&mut output, &mut input, ZSTD_EndDirective::ZSTD_e_end).ok()? != 0 {}
        drop(output);
        Some(out)
    })
}

pub(super) fn decode(body: &[u8]) -> Option<Vec<u8>> {
    let mut reader = zstd::stream::read::Decoder::with_buffer(body).ok()?;
    reader.window_log_max(27).ok()?;
    let mut out = Vec::with_capacity(body.len() * 4);
    reader.take(UNFOLDED_BYTES_MAX as u64 + 1).read_to_end(&mut out).ok()?;
    (!out.is_empty() && out.len() <= UNFOLDED_BYTES_MAX).then_some(out)
}
