//! zstd bodies are only decoded, for readers. Packing again at the same level would give the same bytes today, but only with
//! this very version of the library, and an archive must be read for ever: they are stored as they came
//! (docs/decisions/0004-coded-bodies.md).

use crate::limits::UNFOLDED_BYTES_MAX;
use std::io::{self, BufRead, Read};

/// The largest window that a server may ask browsers for (RFC 8878 recommends 8 MiB).
const WINDOW_LOG_MAX: u32 = 23;

pub(super) fn decode(body: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(body.len() * 4);
    decoder(body).ok()?.take(UNFOLDED_BYTES_MAX as u64 + 1).read_to_end(&mut out).ok()?;
    (!out.is_empty() && out.len() <= UNFOLDED_BYTES_MAX).then_some(out)
}

pub(super) fn decoder<'a>(body: impl BufRead + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(body)?;
    decoder.window_log_max(WINDOW_LOG_MAX)?;
    Ok(Box::new(decoder))
}
