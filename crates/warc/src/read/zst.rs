//! Zstd frames, as `.warc.zst` files hold them: one per record, perhaps behind a skippable frame with the dictionary that
//! all of them need (IIPC, "Zstandard Compression for WARC Files 1.0"). The dictionary frame may itself be compressed, and
//! counts only at the start of the file. Other skippable frames are passed over. A frame's content checksum, where it has
//! one, is checked by libzstd.

use super::scan::{Effort, is_record_start, scan_magic};
use super::source::Source;
use super::stream::{Decoded, Fault};
use crate::ReadLimits;
use crate::limits::ZSTD_PROBE_BYTES;
use std::io::{self, Read};
use zstd::stream::raw::{DParameter, Decoder, Operation};

pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const DICTIONARY_FRAME: u32 = 0x184D_2A5D;
const DICTIONARY_MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

pub(crate) struct Unzstd {
    decoder: Decoder<'static>,
    dictionary: Vec<u8>,
    probe: Option<Decoder<'static>>,
    window_log_max: u32,
}

/// Whether a file that begins like this is zstd.
pub(crate) fn is_zstd(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) || skippable(bytes).is_some()
}

/// The magic of the skippable frame that starts here.
fn skippable(bytes: &[u8]) -> Option<u32> {
    let magic = u32::from_le_bytes(*bytes.first_chunk::<4>()?);
    (magic & 0xffff_fff0 == 0x184D_2A50).then_some(magic)
}

impl Unzstd {
    /// Reads the dictionary, if the file starts with one. `Err` is a sentence on why it cannot be used.
    pub(crate) fn new(source: &mut Source, limits: &ReadLimits) -> Result<Self, Fault> {
        let dictionary = read_dictionary(source, limits)?;
        let decoder = make_decoder(&dictionary, limits.zstd_window_log_max)?;
        Ok(Self { decoder, dictionary, probe: None, window_log_max: limits.zstd_window_log_max })
    }

    /// Stands the source at the next frame that is not skippable. `None` at the end of the file.
    pub(crate) fn begin(&mut self, source: &mut Source) -> Result<Option<u64>, Fault> {
        loop {
            super::gzip::skip_zeros(source)?;
            let at = source.offset();
            let head = source.peek(8)?;
            if head.is_empty() {
                return Ok(None);
            }
            if head.starts_with(&MAGIC) {
                self.decoder.reinit().map_err(Fault::Disk)?;
                return Ok(Some(at));
            }
            if skippable(head).is_none() {
                return Err(Fault::damage("bytes that are not zstd stand where a zstd frame should start"));
            }
            let Some(&[_, _, _, _, a, b, c, d]) = head.first_chunk::<8>() else {
                return Err(Fault::cut("the file ends in a skippable zstd frame"));
            };
            let end = at + 8 + u64::from(u32::from_le_bytes([a, b, c, d]));
            if source.known_len().is_some_and(|len| end > len) {
                return Err(Fault::cut("the file ends in a skippable zstd frame"));
            }
            source.seek(end)?;
        }
    }

    pub(crate) fn decode(&mut self, source: &mut Source, room: &mut [u8], made: &mut usize) -> Result<Decoded, Fault> {
        loop {
            let input = source.fill()?;
            let at_end = input.is_empty();
            let status =
                self.decoder.run_on_buffers(input, &mut room[*made..]).map_err(|e| Fault::damage(explain(&e)))?;
            source.consume(status.bytes_read);
            *made += status.bytes_written;
            if status.remaining == 0 {
                return Ok(Decoded { bytes: *made, ended: true });
            }
            if *made == room.len() {
                return Ok(Decoded { bytes: *made, ended: false });
            }
            if at_end && status.bytes_written == 0 {
                return Err(Fault::cut("the file ends in the middle of a zstd frame"));
            }
            if !at_end && status.bytes_read == 0 && status.bytes_written == 0 {
                return Err(Fault::damage("the zstd frame is damaged: its bytes cannot be decoded"));
            }
        }
    }

    pub(crate) fn find(&mut self, source: &mut Source, effort: &mut Effort) -> Result<Option<u64>, Fault> {
        if self.probe.is_none() {
            self.probe = Some(make_decoder(&self.dictionary, self.window_log_max)?);
        }
        let Some(probe) = &mut self.probe else { return Ok(None) };
        scan_magic(source, &MAGIC, ZSTD_PROBE_BYTES, effort, |bytes| starts_record(probe, bytes))
    }
}

/// Whether these bytes are a zstd frame whose content begins like a record.
fn starts_record(probe: &mut Decoder<'static>, bytes: &[u8]) -> bool {
    let mut start = [0; 512];
    if probe.reinit().is_err() {
        return false;
    }
    let made = probe.run_on_buffers(bytes, &mut start).map_or(0, |status| status.bytes_written);
    is_record_start(&start[..made])
}

/// The first place in `bytes` at which a zstd frame starts that holds a record, and needs no dictionary.
pub(crate) fn find_in(bytes: &[u8]) -> Option<usize> {
    let mut probe = Decoder::new().ok()?;
    memchr::memmem::find_iter(bytes, &MAGIC).find(|at| starts_record(&mut probe, &bytes[*at..]))
}

/// Goes from the start of a frame to its end by the lengths of its blocks, decoding none of them (RFC 8878, 3.1.1).
pub(crate) fn skip_frame(source: &mut Source) -> Result<(), Fault> {
    let cut = || Fault::cut("the file ends in the middle of a zstd frame");
    let descriptor = *source.peek(5)?.get(4).ok_or_else(cut)?;
    let single_segment = descriptor & 0x20 != 0;
    let window = u64::from(!single_segment);
    let dictionary_id = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = [u64::from(single_segment), 2, 4, 8][usize::from(descriptor >> 6)];
    let mut at = source.offset() + 5 + window + dictionary_id + content_size;
    loop {
        source.seek(at)?;
        let Some(&[a, b, c]) = source.peek(3)?.first_chunk::<3>() else { return Err(cut()) };
        let header = u32::from_le_bytes([a, b, c, 0]);
        // A block of type 1 is one byte, repeated.
        at += 3 + if header >> 1 & 3 == 1 { 1 } else { u64::from(header >> 3) };
        if header & 1 == 1 {
            break;
        }
    }
    source.seek(at + if descriptor & 4 != 0 { 4 } else { 0 })?;
    Ok(())
}

fn make_decoder(dictionary: &[u8], window_log_max: u32) -> Result<Decoder<'static>, Fault> {
    let mut decoder = Decoder::with_dictionary(dictionary)
        .map_err(|e| Fault::damage(format!("the zstd dictionary in this file cannot be used ({e})")))?;
    decoder.set_parameter(DParameter::WindowLogMax(window_log_max)).map_err(Fault::Disk)?;
    Ok(decoder)
}

fn explain(error: &io::Error) -> String {
    let text = error.to_string();
    let lower = text.to_ascii_lowercase();
    if lower.contains("dictionary") {
        "the zstd frame needs a dictionary that this file does not hold: fetch the file again from its first byte"
            .to_owned()
    } else if lower.contains("memory") || lower.contains("window") {
        "the zstd frame needs more memory than is allowed to decode: compress the file again without --long".to_owned()
    } else {
        format!("the zstd frame is damaged ({text})")
    }
}

fn read_dictionary(source: &mut Source, limits: &ReadLimits) -> Result<Vec<u8>, Fault> {
    let head = source.peek(8)?;
    let Some(&[_, _, _, _, a, b, c, d]) = head.first_chunk::<8>() else { return Ok(Vec::new()) };
    if skippable(head) != Some(DICTIONARY_FRAME) {
        return Ok(Vec::new());
    }
    let len = u32::from_le_bytes([a, b, c, d]) as usize;
    let too_large =
        || Fault::damage(format!("its zstd dictionary is larger than {} bytes", limits.dictionary_bytes_max));
    if len > limits.dictionary_bytes_max {
        return Err(too_large());
    }
    source.consume(8);
    let mut held = Vec::new();
    while held.len() < len {
        let bytes = source.fill()?;
        let n = bytes.len().min(len - held.len());
        if n == 0 {
            return Err(Fault::cut("the file ends in its zstd dictionary"));
        }
        held.extend_from_slice(&bytes[..n]);
        source.consume(n);
    }
    if held.starts_with(&MAGIC) {
        let mut decoded = Vec::new();
        let mut decoder = zstd::stream::read::Decoder::with_buffer(&held[..]).map_err(Fault::Disk)?;
        decoder.window_log_max(limits.zstd_window_log_max).map_err(Fault::Disk)?;
        decoder
            .take(limits.dictionary_bytes_max as u64 + 1)
            .read_to_end(&mut decoded)
            .map_err(|e| Fault::damage(format!("its zstd dictionary is damaged ({e})")))?;
        if decoded.len() > limits.dictionary_bytes_max {
            return Err(too_large());
        }
        held = decoded;
    }
    if !held.starts_with(&DICTIONARY_MAGIC) {
        return Err(Fault::damage("its first frame should hold a zstd dictionary and does not"));
    }
    Ok(held)
}
