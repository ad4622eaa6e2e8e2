//! gzip bodies: `preflate-rs` works out which deflate encoder made the stream and writes down where it differs from the
//! guess, typically 50–150 bytes for a page, whatever the encoder was.

use crate::limits::UNFOLDED_BYTES_MAX;
use crate::wire::{Cursor, Put};
use preflate_rs::{PreflateConfig, preflate_whole_deflate_stream, recreate_whole_deflate_stream};
use std::panic::catch_unwind;

/// Content, and what is needed to make the same gzip file of it: header, corrections, and what follows the stream.
pub(super) fn unfold(body: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let header_len = header_len(body)?;
    let deflate = &body[header_len..];
    // preflate analyses hostile bytes; should it have a panic left in it, the body is simply stored as it came.
    let (result, plain) = catch_unwind(|| {
        let config =
            PreflateConfig { plain_text_limit: UNFOLDED_BYTES_MAX, verify_compression: false, ..Default::default() };
        preflate_whole_deflate_stream(deflate, &config).ok()
    })
    .ok()??;
    let inner = plain.text().to_vec();
    let rest = deflate.get(result.compressed_size..)?;
    // Checksum and length can be computed again; anything else behind the stream is kept as it is.
    let rest = if rest == trailer(&inner) { None } else { Some(rest) };
    let mut params = Vec::with_capacity(result.corrections.len() + header_len + 8);
    params.put_bytes(&body[..header_len]);
    params.put_bytes(&result.corrections);
    match rest {
        None => params.push(0),
        Some(rest) => {
            params.push(1);
            params.put_bytes(rest);
        }
    }
    (inner.len() <= UNFOLDED_BYTES_MAX && params.len() < body.len() / 2).then_some((inner, params))
}

pub(super) fn fold(params: &[u8], inner: &[u8]) -> Option<Vec<u8>> {
    let mut c = Cursor::new(params);
    let (header, corrections) = (c.bytes()?, c.bytes()?);
    let deflate = catch_unwind(|| recreate_whole_deflate_stream(inner, corrections).ok()).ok()??;
    let mut out = Vec::with_capacity(header.len() + deflate.len() + 8);
    out.put_raw(header);
    out.put_raw(&deflate);
    match c.u8()? {
        0 => out.put_raw(&trailer(inner)),
        1 => out.put_raw(c.bytes()?),
        _ => return None,
    }
    Some(out)
}

/// Decodes for a reader; tolerates what browsers tolerate (a missing or wrong trailer).
pub(super) fn decode(body: &[u8]) -> Option<Vec<u8>> {
    let deflate = &body[header_len(body)?..];
    let mut out = Vec::with_capacity(deflate.len().saturating_mul(4).min(UNFOLDED_BYTES_MAX));
    let mut inflate = flate2::Decompress::new(false);
    loop {
        let (before_in, before_out) = (inflate.total_in(), out.len());
        if out.len() == out.capacity() {
            (out.len() < UNFOLDED_BYTES_MAX).then_some(())?;
            out.reserve(out.len().max(4096));
        }
        let rest = deflate.get(before_in as usize..)?;
        match inflate.decompress_vec(rest, &mut out, flate2::FlushDecompress::None) {
            Ok(flate2::Status::StreamEnd) => return Some(out),
            Ok(_) if inflate.total_in() == before_in && out.len() == before_out => break,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    (!out.is_empty()).then_some(out)
}

fn trailer(inner: &[u8]) -> [u8; 8] {
    let mut out = [0; 8];
    out[..4].copy_from_slice(&crc32fast::hash(inner).to_le_bytes());
    out[4..].copy_from_slice(&(inner.len() as u32).to_le_bytes());
    out
}

/// Length of the gzip member header (RFC 1952).
fn header_len(body: &[u8]) -> Option<usize> {
    let fixed = body.get(..10)?;
    (fixed[..3] == [0x1f, 0x8b, 8]).then_some(())?;
    let flags = fixed[3];
    let mut at = 10;
    if flags & 4 != 0 {
        at += 2 + usize::from(u16::from_le_bytes([*body.get(at)?, *body.get(at + 1)?]));
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            at += body.get(at..)?.iter().position(|b| *b == 0)? + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    (at < body.len()).then_some(at)
}
