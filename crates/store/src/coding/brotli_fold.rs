//! Brotli bodies: there is no analyser for them, but the encoder we have is a port of the one that servers run, and at the
//! qualities they use on the fly (5 and 6) it gives the same bytes for 97% of pages. Quality 4 and 11 it does not.

use crate::limits::UNFOLDED_BYTES_MAX;
use brotli::enc::BrotliEncoderParams;
use std::io::Read;
use std::sync::atomic::{AtomicU8, Ordering};

const QUALITIES: [u8; 2] = [6, 5];
/// The quality that worked last: servers come in runs.
static LAST: AtomicU8 = AtomicU8::new(QUALITIES[0]);

pub(super) fn unfold(body: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let window = window_bits(body)?;
    let inner = decode(body)?;
    let last = LAST.load(Ordering::Relaxed);
    for quality in std::iter::once(last).chain(QUALITIES.into_iter().filter(|q| *q != last)) {
        let params = vec![quality, window];
        if fold(&params, &inner).as_deref() == Some(body) {
            LAST.store(quality, Ordering::Relaxed);
            return Some((inner, params));
        }
    }
    None
}

pub(super) fn fold(params: &[u8], inner: &[u8]) -> Option<Vec<u8>> {
    let [quality, window] = *params else { return None };
    if quality > 11 || !(10..=24).contains(&window) {
        return None;
    }
    let params = BrotliEncoderParams { quality: i32::from(quality), lgwin: i32::from(window), ..Default::default() };
    let mut out = Vec::with_capacity(inner.len() / 3);
    brotli::BrotliCompress(&mut &inner[..], &mut out, &params).ok()?;
    Some(out)
}

pub(super) fn decode(body: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(body.len() * 4);
    let mut reader = brotli::Decompressor::new(body, 16 * 1024).take(UNFOLDED_BYTES_MAX as u64 + 1);
    reader.read_to_end(&mut out).ok()?;
    (!out.is_empty() && out.len() <= UNFOLDED_BYTES_MAX).then_some(out)
}

/// The window size that a stream begins with (RFC 7932, 9.1).
fn window_bits(body: &[u8]) -> Option<u8> {
    let first = *body.first()?;
    Some(match (first & 1, first >> 1 & 7, first >> 4 & 7) {
        (0, _, _) => 16,
        (_, 0, 0) => 17,
        (_, 0, 1) => return None,
        (_, 0, n) => 8 + n,
        (_, n, _) => 17 + n,
    })
}
