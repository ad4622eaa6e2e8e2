//! Bytes of one WARC file: a whole file, or a member of a WACZ that lies in it as it is or deflated.
//!
//! It is buffered, counts offsets from the start of the WARC file, and can be sent to any of them. In a deflated member
//! that means to inflate again from its start when going back. A deflated member's damage comes out as `InvalidData` or
//! `UnexpectedEof`; every other kind of error is the disk's.

use crate::limits::SOURCE_BYTES;
use flate2::{Crc, Decompress, FlushDecompress, Status};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

pub(crate) struct Source {
    file: File,
    /// The part of the file that holds our bytes.
    start: u64,
    len: u64,
    /// The next raw byte to read, from `start`.
    raw_at: u64,
    packed: Option<Packed>,
    buf: Vec<u8>,
    pos: usize,
    end: usize,
    /// Offset of `buf[0]`.
    buf_at: u64,
}

/// A raw deflate stream, as ZIP holds it.
struct Packed {
    inflate: Decompress,
    raw: Vec<u8>,
    pos: usize,
    end: usize,
    done: bool,
    failed: Option<&'static str>,
    /// Of what came out so far, and of what must come out.
    crc: Crc,
    crc_expected: u32,
    expansion_max: u64,
    expansion_free: u64,
}

const DAMAGE: &str = "the ZIP member's compressed bytes are damaged";
const CHECKSUM: &str = "the ZIP member's checksum does not match: any record read from it before may be wrong";

impl Source {
    pub(crate) fn new(mut file: File, start: u64, len: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(start))?;
        Ok(Self {
            file,
            start,
            len,
            raw_at: 0,
            packed: None,
            buf: vec![0; SOURCE_BYTES * 2],
            pos: 0,
            end: 0,
            buf_at: 0,
        })
    }

    /// The same, but those bytes are a deflate stream and ours are what it holds.
    pub(crate) fn deflated(file: File, start: u64, len: u64, crc: u32, limits: &crate::ReadLimits) -> io::Result<Self> {
        let mut source = Self::new(file, start, len)?;
        source.packed = Some(Packed {
            inflate: Decompress::new(false),
            raw: vec![0; SOURCE_BYTES],
            pos: 0,
            end: 0,
            done: false,
            failed: None,
            crc: Crc::new(),
            crc_expected: crc,
            expansion_max: limits.expansion_max,
            expansion_free: limits.expansion_free_bytes,
        });
        Ok(source)
    }

    /// Offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.buf_at + self.pos as u64
    }

    /// How many bytes there are, where that is known without reading them.
    pub(crate) fn known_len(&self) -> Option<u64> {
        self.packed.is_none().then_some(self.len)
    }

    /// Raw bytes, for limits on effort.
    pub(crate) fn raw_len(&self) -> u64 {
        self.len
    }

    /// Raw bytes used so far, for progress.
    pub(crate) fn raw_used(&self) -> u64 {
        match &self.packed {
            None => self.offset().min(self.len),
            Some(packed) => self.raw_at - (packed.end - packed.pos) as u64,
        }
    }

    /// The bytes at hand; read from the file if there are none. Empty at the end.
    pub(crate) fn fill(&mut self) -> io::Result<&[u8]> {
        if self.pos == self.end {
            self.buf_at += self.end as u64;
            (self.pos, self.end) = (0, 0);
            self.end = self.read_into(0)?;
        }
        Ok(&self.buf[self.pos..self.end])
    }

    /// At least `want` bytes unless the end is nearer; `want` is at most `SOURCE_BYTES` and a little.
    pub(crate) fn peek(&mut self, want: usize) -> io::Result<&[u8]> {
        while self.end - self.pos < want {
            if self.buf.len() - self.end < SOURCE_BYTES / 2 {
                self.buf.copy_within(self.pos..self.end, 0);
                self.buf_at += self.pos as u64;
                (self.pos, self.end) = (0, self.end - self.pos);
            }
            match self.read_into(self.end)? {
                0 => break,
                n => self.end += n,
            }
        }
        Ok(&self.buf[self.pos..self.end])
    }

    pub(crate) fn consume(&mut self, n: usize) {
        self.pos = self.pos.saturating_add(n).min(self.end);
    }

    /// Goes to an offset; past the end is the end.
    pub(crate) fn seek(&mut self, to: u64) -> io::Result<()> {
        if to >= self.buf_at && to <= self.buf_at + self.end as u64 {
            self.pos = (to - self.buf_at) as usize;
            return Ok(());
        }
        if self.packed.is_none() {
            let to = to.min(self.len);
            self.file.seek(SeekFrom::Start(self.start + to))?;
            (self.raw_at, self.buf_at, self.pos, self.end) = (to, to, 0, 0);
            return Ok(());
        }
        if to < self.buf_at {
            self.file.seek(SeekFrom::Start(self.start))?;
            (self.raw_at, self.buf_at, self.pos, self.end) = (0, 0, 0, 0);
            if let Some(packed) = &mut self.packed {
                packed.inflate.reset(false);
                packed.crc.reset();
                (packed.pos, packed.end, packed.done, packed.failed) = (0, 0, false, None);
            }
        }
        while self.offset() < to {
            let ahead = to - self.offset();
            let have = self.fill()?.len();
            if have == 0 {
                break;
            }
            self.consume(usize::try_from(ahead).unwrap_or(usize::MAX).min(have));
        }
        Ok(())
    }

    /// Reads once into the buffer from index `at` on; 0 is the end.
    fn read_into(&mut self, at: usize) -> io::Result<usize> {
        let Some(packed) = &mut self.packed else {
            let room = (self.len - self.raw_at).min(SOURCE_BYTES as u64) as usize;
            let upto = self.buf.len().min(at + room);
            let n = read_some(&mut self.file, &mut self.buf[at..upto])?;
            self.raw_at += n as u64;
            return Ok(n);
        };
        let bad = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        loop {
            if let Some(why) = packed.failed {
                return bad(why);
            }
            if packed.done {
                return Ok(0);
            }
            if packed.pos == packed.end {
                let room = (self.len - self.raw_at).min(packed.raw.len() as u64) as usize;
                packed.pos = 0;
                packed.end = read_some(&mut self.file, &mut packed.raw[..room])?;
                self.raw_at += packed.end as u64;
                if packed.end == 0 {
                    let why = "the ZIP member ends in the middle of its compressed bytes";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
                }
            }
            let (in_before, out_before) = (packed.inflate.total_in(), packed.inflate.total_out());
            let input = &packed.raw[packed.pos..packed.end];
            let status = packed.inflate.decompress(input, &mut self.buf[at..], FlushDecompress::None);
            packed.pos += (packed.inflate.total_in() - in_before) as usize;
            let n = (packed.inflate.total_out() - out_before) as usize;
            packed.crc.update(&self.buf[at..at + n]);
            match status {
                Ok(Status::StreamEnd) if packed.crc.sum() != packed.crc_expected => packed.failed = Some(CHECKSUM),
                Ok(Status::StreamEnd) => packed.done = true,
                Ok(_) if n > 0 || packed.inflate.total_in() > in_before => {}
                _ => packed.failed = Some(DAMAGE),
            }
            let (used, made) = (packed.inflate.total_in().max(1), packed.inflate.total_out());
            if made > packed.expansion_free && made / used > packed.expansion_max {
                return bad("the ZIP member expands too much: it may be a decompression bomb");
            }
            if n > 0 || packed.done {
                return Ok(n);
            }
        }
    }
}

/// `read` that a signal does not end.
fn read_some(file: &mut File, buf: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buf) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
