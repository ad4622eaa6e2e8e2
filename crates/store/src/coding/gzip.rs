//! gzip bodies: nearly all of them were made by zlib, so the recipe is which parameters it was given. The encoder is our own
//! ([`super::zlib`]), frozen, because what was folded with it must fold the same way for ever.

use super::zlib::{Params, deflate, deflates_to, first_symbols};
use crate::limits::UNFOLDED_BYTES_MAX;
use crate::wire::{Cursor, Put};
use std::sync::Mutex;

/// Levels by how common they are: Apache and most libraries use 6, nginx 1, careful people 9 and 5.
const LEVELS: [u8; 9] = [6, 1, 9, 5, 4, 2, 3, 7, 8];
/// What one byte of deflate can stand for, at most (258 bytes in two bits).
const DEFLATE_EXPANSION_MAX: usize = 1032;
/// What was found last: servers come in runs.
static LAST: Mutex<Params> = Mutex::new(Params { level: LEVELS[0], window_bits: 15, mem_level: 8 });

/// Content, and what is needed to make the same gzip file of it: header, parameters, and what follows the stream.
pub(super) fn unfold(body: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let header_len = header_len(body)?;
    // Checksum and length can be computed again; anything else behind the stream is kept as it is.
    let (inner, stream, rest) = match inflate_whole(&body[header_len..]) {
        Some((inner, stream)) => (inner, stream, None),
        None => {
            let (inner, stream_len) = inflate(&body[header_len..])?;
            let (stream, rest) = body[header_len..].split_at_checked(stream_len)?;
            let rest = if rest == trailer(&inner) { None } else { Some(rest) };
            (inner, stream, rest)
        }
    };
    let made_by = parameters(&inner, stream)?;
    let mut params = vec![made_by.level, made_by.window_bits, made_by.mem_level];
    params.put_bytes(&body[..header_len]);
    params.push(u8::from(rest.is_some()));
    params.put_raw(rest.unwrap_or_default());
    (params.len() < body.len() / 2).then_some((inner, params))
}

/// What zlib was given to make this stream, if it was zlib.
fn parameters(inner: &[u8], stream: &[u8]) -> Option<Params> {
    let last = *LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // Most often right, so that to look at the stream first would not pay.
    if deflates_to(inner, last, stream, &[]) {
        return Some(last);
    }
    let start = first_symbols(stream);
    let mut shapes = vec![(15, 8), (15, 9)];
    // nginx narrows window and memory when it knows that the page is short.
    let (mut window_bits, mut mem_level) = (15u8, 8u8);
    while window_bits > 9 && inner.len() + 262 < 1 << (window_bits - 1) {
        (window_bits, mem_level) = (window_bits - 1, mem_level.saturating_sub(1).max(1));
    }
    if window_bits < 15 {
        shapes.insert(1, (window_bits, mem_level));
    }
    for (window_bits, mem_level) in shapes {
        for level in std::iter::once(last.level).chain(LEVELS.into_iter().filter(|l| *l != last.level)) {
            let params = Params { level, window_bits, mem_level };
            if params != last && deflates_to(inner, params, stream, &start) {
                *LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = params;
                return Some(params);
            }
        }
    }
    None
}

pub(super) fn fold(params: &[u8], inner: &[u8]) -> Option<Vec<u8>> {
    let mut c = Cursor::new(params);
    let made_by = Params { level: c.u8()?, window_bits: c.u8()?, mem_level: c.u8()? };
    let header = c.bytes()?;
    let stream = deflate(inner, made_by)?;
    let mut out = Vec::with_capacity(header.len() + stream.len() + 8);
    out.put_raw(header);
    out.put_raw(&stream);
    match c.u8()? {
        0 => out.put_raw(&trailer(inner)),
        1 => out.put_raw(c.rest()),
        _ => return None,
    }
    Some(out)
}

/// Content and stream of a body that ends, as nearly all do, with the checksum and length of its content: in one go, by libdeflate.
fn inflate_whole(stream_and_trailer: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (stream, said) = stream_and_trailer.split_last_chunk::<8>()?;
    let len = u32::from_le_bytes([said[4], said[5], said[6], said[7]]) as usize;
    // What deflate cannot reach is not made room for.
    (len <= UNFOLDED_BYTES_MAX && len / DEFLATE_EXPANSION_MAX <= stream.len()).then_some(())?;
    let mut inner = vec![0; len];
    let made = libdeflater::Decompressor::new().deflate_decompress(stream, &mut inner);
    (made == Ok(len) && trailer(&inner) == *said).then_some((inner, stream))
}

/// Inflates a whole stream; says how many bytes of it were used.
fn inflate(stream: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut out = Vec::with_capacity(stream.len().saturating_mul(4).min(UNFOLDED_BYTES_MAX));
    let mut inflate = flate2::Decompress::new(false);
    loop {
        let before = (inflate.total_in(), out.len());
        if out.len() == out.capacity() {
            (out.len() < UNFOLDED_BYTES_MAX).then_some(())?;
            out.reserve(out.len().max(4096));
        }
        let rest = stream.get(before.0 as usize..)?;
        match inflate.decompress_vec(rest, &mut out, flate2::FlushDecompress::None).ok()? {
            flate2::Status::StreamEnd => {
                return (out.len() <= UNFOLDED_BYTES_MAX).then_some((out, inflate.total_in() as usize));
            }
            _ if before == (inflate.total_in(), out.len()) => return None,
            _ => {}
        }
    }
}

/// Decodes for a reader; tolerates what browsers tolerate (a missing or wrong trailer).
pub(super) fn decode(body: &[u8]) -> Option<Vec<u8>> {
    inflate_for_reader(&body[header_len(body)?..], false)
}

/// `deflate` means zlib's format, and some servers send the bare stream: browsers take both.
pub(super) fn decode_deflate(body: &[u8]) -> Option<Vec<u8>> {
    inflate_for_reader(body, is_zlib(body))
}

/// Whether these bytes begin as zlib's format does (RFC 1950).
pub(super) fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [method, flags, ..] if method & 0x0f == 8 && (u16::from(*method) << 8 | u16::from(*flags)) % 31 == 0)
}

fn inflate_for_reader(deflate: &[u8], zlib: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(deflate.len().saturating_mul(4).min(UNFOLDED_BYTES_MAX));
    let mut inflate = flate2::Decompress::new(zlib);
    loop {
        let (before_in, before_out) = (inflate.total_in(), out.len());
        if out.len() == out.capacity() {
            (out.len() < UNFOLDED_BYTES_MAX).then_some(())?;
            out.reserve(out.len().max(4096));
        }
        let rest = deflate.get(before_in as usize..)?;
        match inflate.decompress_vec(rest, &mut out, flate2::FlushDecompress::None) {
            Ok(flate2::Status::StreamEnd) => break,
            Ok(_) if inflate.total_in() == before_in && out.len() == before_out => break,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    (!out.is_empty() && out.len() <= UNFOLDED_BYTES_MAX).then_some(out)
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
