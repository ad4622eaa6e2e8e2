//! Gzip members (RFC 1952) over one reused raw inflater: an inflater allocates 40 KiB, and a file holds millions of
//! members. The header is parsed here, and the CRC-32 and length at a member's end are always checked.
//! Padding of zeros between or after members is skipped, as gzip(1) does.
//!
//! Most members are small, and the next begins right behind them. Such a one is inflated in one go by libdeflate, which takes
//! three quarters of the time ([`Gunzip::whole`]); whatever is not just like that, damage first of all, goes the long way.

use super::scan::{Effort, is_record_start, scan_magic};
use super::source::Source;
use super::stream::{Decoded, Fault};
use crate::limits::{GZIP_HEADER_BYTES_MAX, GZIP_PROBE_BYTES, SOURCE_BYTES};
use flate2::{Crc, Decompress, FlushDecompress, Status};
use libdeflater::Decompressor;

const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// A member that was inflated in one go.
pub(crate) struct Whole {
    /// Where it starts in the source.
    pub(crate) at: u64,
    pub(crate) bytes: usize,
}

pub(crate) struct Gunzip {
    inflate: Decompress,
    crc: Crc,
    /// For members that are whole in memory.
    at_once: Decompressor,
    /// Made when first needed: for looking ahead while `inflate` is in use.
    probe: Option<Decompress>,
}

impl Gunzip {
    pub(crate) fn new() -> Self {
        Self { inflate: Decompress::new(false), crc: Crc::new(), at_once: Decompressor::new(), probe: None }
    }

    /// Reads a member's header. Returns where it starts, or `None` at the end of the file.
    pub(crate) fn begin(&mut self, source: &mut Source) -> Result<Option<u64>, Fault> {
        skip_zeros(source)?;
        let at = source.offset();
        let head = source.peek(10)?;
        if head.is_empty() {
            return Ok(None);
        }
        let flags = match head {
            [0x1f, 0x8b, 8, flags, _, _, _, _, _, _, ..] if flags & 0xe0 == 0 => *flags,
            [0x1f] | [0x1f, 0x8b, ..] if head.len() < 10 => {
                return Err(Fault::cut("the file ends in the header of a gzip member"));
            }
            [b'W', b'A', b'R', b'C', b'/', ..] => {
                return Err(Fault::damage("an uncompressed record stands among gzip members"));
            }
            _ => return Err(Fault::damage("bytes that are not gzip stand where a gzip member should start")),
        };
        source.consume(10);
        let mut header = Bytes { source, left: GZIP_HEADER_BYTES_MAX };
        if flags & 4 != 0 {
            let len = u16::from_le_bytes([header.next()?, header.next()?]);
            for _ in 0..len {
                header.next()?;
            }
        }
        for flag in [8, 16] {
            if flags & flag != 0 {
                while header.next()? != 0 {}
            }
        }
        if flags & 2 != 0 {
            header.next()?;
            header.next()?;
        }
        self.inflate.reset(false);
        self.crc.reset();
        Ok(Some(at))
    }

    /// Inflates the member that begins here into `room` and goes behind it, if it is an ordinary one: all of it is at hand, the
    /// next member or the end of the file follows, and it fits. `None`, and nothing has changed: it must be read step by step.
    pub(crate) fn whole(&mut self, source: &mut Source, room: &mut [u8]) -> Result<Option<Whole>, Fault> {
        skip_zeros(source)?;
        let at = source.offset();
        let Some(len) = member_len(source)? else { return Ok(None) };
        let member = source.peek(len)?.get(..len).unwrap_or_default();
        let Some((rest, length)) = member.split_last_chunk::<4>() else { return Ok(None) };
        let Some((rest, crc)) = rest.split_last_chunk::<4>() else { return Ok(None) };
        let room = room.get_mut(..u32::from_le_bytes(*length) as usize);
        let (Some(room @ [_, ..]), Some(deflated)) = (room, after_header(rest)) else { return Ok(None) };
        let made = self.at_once.deflate_decompress(deflated, room);
        // Where the stream ends is not told. Behind its end there would have to stand a second checksum and length, both right.
        if made != Ok(room.len()) || libdeflater::crc32(room) != u32::from_le_bytes(*crc) {
            return Ok(None);
        }
        source.consume(len);
        Ok(Some(Whole { at, bytes: room.len() }))
    }

    /// Inflates once into `room`; `made` says how much even when the answer is an error.
    pub(crate) fn decode(&mut self, source: &mut Source, room: &mut [u8], made: &mut usize) -> Result<Decoded, Fault> {
        loop {
            let input = source.fill()?;
            if input.is_empty() {
                return Err(Fault::cut("the file ends in the middle of a gzip member"));
            }
            let (in_before, out_before) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self.inflate.decompress(input, &mut room[*made..], FlushDecompress::None);
            let used = (self.inflate.total_in() - in_before) as usize;
            let bytes = (self.inflate.total_out() - out_before) as usize;
            source.consume(used);
            self.crc.update(&room[*made..*made + bytes]);
            *made += bytes;
            match status {
                Ok(Status::StreamEnd) => {
                    self.check_trailer(source)?;
                    return Ok(Decoded { bytes: *made, ended: true });
                }
                Ok(_) if *made == room.len() => return Ok(Decoded { bytes: *made, ended: false }),
                // Input ran out: go on with the next buffer, so that an ordinary record arrives in one piece.
                Ok(_) if used > 0 || bytes > 0 => {}
                _ => return Err(Fault::damage("the gzip member is damaged: its bytes cannot be inflated")),
            }
        }
    }

    fn check_trailer(&mut self, source: &mut Source) -> Result<(), Fault> {
        let Some(&[a, b, c, d, e, f, g, h]) = source.peek(8)?.first_chunk::<8>() else {
            return Err(Fault::cut("the file ends in the checksum of a gzip member"));
        };
        source.consume(8);
        if u32::from_le_bytes([a, b, c, d]) != self.crc.sum() {
            return Err(Fault::damage("the gzip member is damaged: its checksum does not match its content"));
        }
        if u32::from_le_bytes([e, f, g, h]) != self.inflate.total_out() as u32 {
            return Err(Fault::damage("the gzip member is damaged: its length does not match its content"));
        }
        Ok(())
    }

    /// Searches on for a member that begins like a record.
    pub(crate) fn find(&mut self, source: &mut Source, effort: &mut Effort) -> Result<Option<u64>, Fault> {
        let probe = self.probe.get_or_insert_with(|| Decompress::new(false));
        scan_magic(source, &MAGIC, GZIP_PROBE_BYTES, effort, |bytes| starts_record(probe, bytes))
    }
}

/// Whether these bytes are a gzip member whose content begins like a record.
fn starts_record(probe: &mut Decompress, bytes: &[u8]) -> bool {
    let Some(body) = after_header(bytes) else { return false };
    probe.reset(false);
    let mut start = [0; 512];
    // An error after some output is not of interest here: whoever reads the member will meet it.
    let _ = probe.decompress(body, &mut start, FlushDecompress::None);
    is_record_start(&start[..(probe.total_out() as usize).min(start.len())])
}

/// How long the member that begins here is, if that can be told without inflating it: up to where the next seems to begin, or to
/// the end of the file.
fn member_len(source: &mut Source) -> Result<Option<usize>, Fault> {
    let next = |bytes: &[u8], from: usize| {
        memchr::memmem::find(bytes.get(from..).unwrap_or_default(), &MAGIC).map(|at| from + at)
    };
    let at_hand = source.fill()?;
    let seen = at_hand.len();
    if let Some(len) = next(at_hand, MAGIC.len()) {
        return Ok(Some(len));
    }
    // If that fails, whoever gets there will meet it.
    let Ok(more) = source.peek(SOURCE_BYTES) else { return Ok(None) };
    let is_all = more.len() < SOURCE_BYTES;
    Ok(next(more, seen.saturating_sub(MAGIC.len() - 1).max(MAGIC.len())).or(is_all.then_some(more.len())))
}

/// What follows the header of the gzip member at the start of `bytes`.
pub(crate) fn after_header(bytes: &[u8]) -> Option<&[u8]> {
    let flags = *bytes.get(3)?;
    if !bytes.starts_with(&MAGIC) || flags & 0xe0 != 0 {
        return None;
    }
    let mut rest = bytes.get(10..)?;
    if flags & 4 != 0 {
        let len = u16::from_le_bytes([*rest.first()?, *rest.get(1)?]);
        rest = rest.get(2 + usize::from(len)..)?;
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            rest = &rest[memchr::memchr(0, rest)? + 1..];
        }
    }
    if flags & 2 != 0 {
        rest = rest.get(2..)?;
    }
    Some(rest)
}

/// The first place in `bytes` at which a gzip member starts that holds a record.
pub(crate) fn find_in(bytes: &[u8]) -> Option<usize> {
    let mut probe = Decompress::new(false);
    memchr::memmem::find_iter(bytes, &MAGIC).find(|at| {
        let end = bytes.len().min(at + GZIP_PROBE_BYTES);
        starts_record(&mut probe, &bytes[*at..end])
    })
}

/// The first decoded bytes of a gzip file, as many as fit: for telling what it holds.
pub(crate) fn first_bytes(bytes: &[u8]) -> Vec<u8> {
    let Some(body) = after_header(bytes) else { return Vec::new() };
    let mut inflate = Decompress::new(false);
    let mut start = vec![0; 4096];
    let _ = inflate.decompress(body, &mut start, FlushDecompress::None);
    start.truncate(inflate.total_out() as usize);
    start
}

pub(crate) fn skip_zeros(source: &mut Source) -> Result<(), Fault> {
    loop {
        let bytes = source.fill()?;
        match bytes.iter().position(|b| *b != 0) {
            Some(n) => {
                source.consume(n);
                return Ok(());
            }
            None if bytes.is_empty() => return Ok(()),
            None => {
                let n = bytes.len();
                source.consume(n);
            }
        }
    }
}

/// Header bytes one by one, up to a limit.
struct Bytes<'a> {
    source: &'a mut Source,
    left: usize,
}

impl Bytes<'_> {
    fn next(&mut self) -> Result<u8, Fault> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(Fault::damage("the header of a gzip member has no end"));
        };
        self.left = left;
        let byte =
            *self.source.fill()?.first().ok_or_else(|| Fault::cut("the file ends in the header of a gzip member"))?;
        self.source.consume(1);
        Ok(byte)
    }
}
