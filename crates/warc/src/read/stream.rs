//! The decoded bytes of a WARC file, member by member.
//!
//! A member is a gzip member or a zstd frame; a plain file is one member. Inside a member there is a window of decoded
//! bytes, which callers look at and consume; `more` decodes onto its end. What the window still holds can be gone back to
//! for free. A member's checksum and length are checked when its end is decoded, before callers learn that it ended.
//! Damage leaves the bytes decoded so far in the window, and the stream wherever it stood: `lane` finds the way on.

use super::gzip::Gunzip;
use super::scan::Effort;
use super::source::Source;
use super::zst::{self, Unzstd};
use crate::ReadLimits;
use crate::limits::DECODED_BYTES;
use std::io;

/// Why decoding stopped.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The disk failed: nothing to do with what the file holds.
    Disk(io::Error),
    /// The compressed bytes are broken, and the member's end is not known: even where a checksum does not match, since
    /// inflating a member that was cut can run on into the next and end with that.
    Damage(io::ErrorKind, String),
    /// Intact, but more than we are willing to decode.
    Limit(String),
}

impl Fault {
    pub(crate) fn damage(why: impl Into<String>) -> Self {
        Self::Damage(io::ErrorKind::InvalidData, why.into())
    }

    /// The reason, as the middle of a sentence.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Disk(e) => e.to_string(),
            Self::Damage(_, why) | Self::Limit(why) => why.clone(),
        }
    }

    pub(crate) fn cut(why: impl Into<String>) -> Self {
        Self::Damage(io::ErrorKind::UnexpectedEof, why.into())
    }
}

/// The disk gives no `InvalidData` and no `UnexpectedEof`; a deflated WACZ member does.
impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            kind @ (io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => Self::Damage(kind, error.to_string()),
            _ => Self::Disk(error),
        }
    }
}

pub(crate) enum Codec {
    Plain,
    Gzip(Box<Gunzip>),
    Zstd(Box<Unzstd>),
}

/// What one step of decoding did.
pub(crate) struct Decoded {
    pub(crate) bytes: usize,
    pub(crate) ended: bool,
}

pub(crate) struct Stream {
    pub(crate) source: Source,
    codec: Codec,
    out: Vec<u8>,
    pos: usize,
    end: usize,
    /// Decoded offset, within the member, of `out[0]`.
    out_at: u64,
    /// Source offset at which the member starts.
    member_at: u64,
    inside: bool,
    ended: bool,
    /// Met after bytes that the window holds: told when those are not enough.
    pending: Option<Fault>,
    expansion_max: u64,
    expansion_free: u64,
}

impl Stream {
    pub(crate) fn new(source: Source, codec: Codec, limits: &ReadLimits) -> Self {
        Self {
            source,
            codec,
            out: vec![0; DECODED_BYTES.max(limits.header_bytes_max + (64 << 10))],
            pos: 0,
            end: 0,
            out_at: 0,
            member_at: 0,
            inside: false,
            ended: false,
            pending: None,
            expansion_max: limits.expansion_max,
            expansion_free: limits.expansion_free_bytes,
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.codec, Codec::Plain)
    }

    /// Whether a member was begun and its bytes are not all consumed.
    pub(crate) fn inside(&self) -> bool {
        self.inside && !(self.ended && self.pos == self.end)
    }

    /// Whether the member's last byte is in the window.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn member_at(&self) -> u64 {
        self.member_at
    }

    /// Offset, within the member, of the next decoded byte. In a plain file that is the file's offset.
    pub(crate) fn decoded_at(&self) -> u64 {
        self.out_at + self.pos as u64
    }

    pub(crate) fn window(&self) -> &[u8] {
        &self.out[self.pos..self.end]
    }

    /// The most bytes that `ensure` can have ready at once.
    pub(crate) fn capacity(&self) -> usize {
        self.out.len()
    }

    pub(crate) fn consume(&mut self, n: usize) {
        self.pos = self.pos.saturating_add(n).min(self.end);
    }

    /// Leaves the member and goes to a source offset, where the next one is to begin.
    pub(crate) fn leave_to(&mut self, offset: u64) -> Result<(), Fault> {
        self.leave();
        self.source.seek(offset)?;
        Ok(())
    }

    /// Leaves the member where the source stands.
    pub(crate) fn leave(&mut self) {
        (self.inside, self.ended, self.pos, self.end, self.out_at, self.pending) = (false, false, 0, 0, 0, None);
    }

    /// Begins the member that starts here, after any padding. `false` at the end of the file.
    pub(crate) fn begin(&mut self) -> Result<bool, Fault> {
        self.leave();
        let begun = match &mut self.codec {
            Codec::Plain => {
                // A plain file is one member wherever reading starts, so that decoded offsets are the file's.
                self.out_at = self.source.offset();
                self.member_at = 0;
                self.inside = true;
                self.ended = self.source.fill()?.is_empty();
                return Ok(!self.ended);
            }
            Codec::Gzip(gunzip) => {
                // What may be a bomb is watched as it expands.
                let room = self.out.len().min(usize::try_from(self.expansion_free).unwrap_or(usize::MAX));
                if let Some(whole) = gunzip.whole(&mut self.source, &mut self.out[..room])? {
                    (self.inside, self.ended, self.end, self.member_at) = (true, true, whole.bytes, whole.at);
                    return Ok(true);
                }
                gunzip.begin(&mut self.source)?
            }
            Codec::Zstd(unzstd) => unzstd.begin(&mut self.source)?,
        };
        if let Some(at) = begun {
            self.member_at = at;
            self.inside = true;
        }
        Ok(begun.is_some())
    }

    /// Decodes more bytes onto the window. `false` when the member has ended, or the window is full.
    pub(crate) fn more(&mut self) -> Result<bool, Fault> {
        if self.ended || !self.inside {
            return Ok(false);
        }
        if let Some(fault) = self.pending.take() {
            return Err(fault);
        }
        if self.pos == self.end {
            self.out_at += self.end as u64;
            (self.pos, self.end) = (0, 0);
        } else if self.pos > 0 && self.out.len() - self.end < self.out.len() / 4 {
            self.out.copy_within(self.pos..self.end, 0);
            self.out_at += self.pos as u64;
            (self.pos, self.end) = (0, self.end - self.pos);
        }
        if self.end == self.out.len() {
            return Ok(false);
        }
        let room = &mut self.out[self.end..];
        let mut made = 0;
        let step = match &mut self.codec {
            Codec::Plain => {
                let bytes = self.source.fill()?;
                let n = bytes.len().min(room.len());
                room[..n].copy_from_slice(&bytes[..n]);
                self.source.consume(n);
                Ok(Decoded { bytes: n, ended: n == 0 })
            }
            Codec::Gzip(gunzip) => gunzip.decode(&mut self.source, room, &mut made),
            Codec::Zstd(unzstd) => unzstd.decode(&mut self.source, room, &mut made),
        };
        let step = match step {
            Ok(step) => step,
            Err(fault) if made > 0 => {
                self.end += made;
                self.pending = Some(fault);
                return Ok(true);
            }
            Err(fault) => return Err(fault),
        };
        self.end += step.bytes;
        self.ended = step.ended;
        if !self.is_plain() {
            let decoded = self.out_at + self.end as u64;
            let used = (self.source.offset() - self.member_at).max(1);
            if decoded > self.expansion_free && decoded / used > self.expansion_max {
                return Err(Fault::Limit(format!(
                    "it expands more than {} times, to over {} MiB: it may be a decompression bomb",
                    self.expansion_max,
                    decoded >> 20
                )));
            }
        }
        Ok(true)
    }

    /// Decodes until `want` bytes are in the window, or the member ends, or the window is full.
    pub(crate) fn ensure(&mut self, want: usize) -> Result<(), Fault> {
        while self.end - self.pos < want {
            if !self.more()? {
                break;
            }
        }
        Ok(())
    }

    /// Whether going back to this offset within the member is free.
    pub(crate) fn holds(&self, decoded: u64) -> bool {
        self.is_plain() || decoded >= self.out_at && decoded <= self.out_at + self.end as u64
    }

    /// Goes back within the member.
    pub(crate) fn rewind(&mut self, decoded: u64) -> Result<(), Fault> {
        if decoded >= self.out_at && decoded <= self.out_at + self.end as u64 {
            self.pos = (decoded - self.out_at) as usize;
            return Ok(());
        }
        self.leave_to(if self.is_plain() { decoded } else { self.member_at })?;
        self.begin()?;
        self.discard(decoded)
    }

    /// Decodes and drops up to an offset within the member, or to the member's end.
    pub(crate) fn discard(&mut self, upto: u64) -> Result<(), Fault> {
        if self.is_plain() && upto > self.out_at + self.end as u64 {
            self.leave_to(upto)?;
            self.begin()?;
            return Ok(());
        }
        while self.decoded_at() < upto {
            let ahead = usize::try_from(upto - self.decoded_at()).unwrap_or(usize::MAX);
            let have = self.end - self.pos;
            if have > 0 {
                self.consume(ahead.min(have));
            } else if !self.more()? {
                break;
            }
        }
        Ok(())
    }

    /// Leaves the member for the one after it, without regard to limits. A zstd frame says where it ends; what a gzip bomb
    /// expands to has to be inflated and is dropped as it comes.
    pub(crate) fn skip_member(&mut self) -> Result<(), Fault> {
        if matches!(self.codec, Codec::Zstd(_)) {
            self.source.seek(self.member_at)?;
            zst::skip_frame(&mut self.source)?;
        } else {
            let expansion_free = std::mem::replace(&mut self.expansion_free, u64::MAX);
            let result = self.discard(u64::MAX);
            self.expansion_free = expansion_free;
            result?;
        }
        self.leave();
        Ok(())
    }

    /// The next offset, from `from` on, at which a member starts that holds a record.
    pub(crate) fn find_member(&mut self, from: u64, effort: &mut Effort) -> Result<Option<u64>, Fault> {
        self.leave_to(from)?;
        match &mut self.codec {
            Codec::Plain => Ok(None),
            Codec::Gzip(gunzip) => gunzip.find(&mut self.source, effort),
            Codec::Zstd(unzstd) => unzstd.find(&mut self.source, effort),
        }
    }
}
