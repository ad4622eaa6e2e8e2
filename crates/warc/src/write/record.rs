//! Writes WARC records, each in a compressed member of its own, so that any of them can be read by its offset alone.
//!
//! What is refused is refused before a byte is written. An error after that leaves a file that is not usable: the writer
//! then fails on every call. Compressors are reused from record to record.

use crate::header::parse_length;
use crate::{Error, Fields};
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use std::io::{self, Read, Write};
use zstd::stream::raw::{CParameter, Encoder, Operation};

/// How each record is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coding {
    Plain,
    Gzip,
    Zstd,
}

/// Where a record went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub offset: u64,
    pub length: u64,
}

pub struct Writer<W: Write> {
    out: Counted<W>,
    codec: Codec,
    input: Vec<u8>,
    output: Vec<u8>,
    poisoned: bool,
}

enum Codec {
    Plain,
    Gzip(Box<Compress>, Crc),
    Zstd(Encoder<'static>),
}

/// The levels at which zlib's and zstd's own tools work unasked.
const GZIP_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 3;
const BUFFER_BYTES: usize = 64 << 10;

/// No name, no time, made on Unix: the same record always makes the same bytes.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

impl<W: Write> Writer<W> {
    pub fn new(out: W, coding: Coding) -> Result<Self, Error> {
        let codec = match coding {
            Coding::Plain => Codec::Plain,
            Coding::Gzip => Codec::Gzip(Box::new(Compress::new(Compression::new(GZIP_LEVEL), false)), Crc::new()),
            Coding::Zstd => {
                let mut encoder = Encoder::new(ZSTD_LEVEL)?;
                encoder.set_parameter(CParameter::ChecksumFlag(true))?;
                Codec::Zstd(encoder)
            }
        };
        let out = Counted { out, written: 0 };
        Ok(Self { out, codec, input: vec![0; BUFFER_BYTES], output: vec![0; BUFFER_BYTES], poisoned: false })
    }

    /// Writes one record. `Content-Length` is added last where `fields` has none, and must be `block_len` where it has.
    pub fn write(
        &mut self,
        version: &str,
        fields: &Fields,
        block: &mut dyn Read,
        block_len: u64,
    ) -> Result<Span, Error> {
        if self.poisoned {
            return Err(Error::Poisoned);
        }
        let header = header_bytes(version, fields, block_len)?;
        let offset = self.out.written;
        // Poisoned until all of it is written, whichever way this is left.
        self.poisoned = true;
        self.begin(header.len() as u64 + block_len + 4)?;
        self.put(&header)?;
        let mut left = block_len;
        let mut input = std::mem::take(&mut self.input);
        let copied = self.copy(block, &mut left, &mut input);
        self.input = input;
        copied?;
        self.put(b"\r\n\r\n")?;
        self.end()?;
        self.poisoned = false;
        Ok(Span { offset, length: self.out.written - offset })
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.out.written
    }

    pub fn finish(mut self) -> Result<W, Error> {
        if self.poisoned {
            return Err(Error::Poisoned);
        }
        self.out.out.flush()?;
        Ok(self.out.out)
    }

    fn copy(&mut self, block: &mut dyn Read, left: &mut u64, buffer: &mut [u8]) -> Result<(), Error> {
        loop {
            // One byte more than is left, to see that nothing follows.
            let want = usize::try_from(left.saturating_add(1)).unwrap_or(usize::MAX).min(buffer.len());
            let n = match block.read(&mut buffer[..want]) {
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e.into()),
            };
            match (n as u64, *left) {
                (0, 0) => return Ok(()),
                (0, left) => return Err(Error::BlockLength(format!("ended {left} bytes early"))),
                (n, left) if n > left => return Err(Error::BlockLength("is longer than was announced".to_owned())),
                _ => {}
            }
            self.put(&buffer[..n])?;
            *left -= n as u64;
        }
    }

    fn begin(&mut self, len: u64) -> Result<(), Error> {
        match &mut self.codec {
            Codec::Plain => {}
            Codec::Gzip(deflate, crc) => {
                deflate.reset();
                crc.reset();
                self.out.write_all(&GZIP_HEADER)?;
            }
            Codec::Zstd(encoder) => {
                encoder.reinit()?;
                encoder.set_pledged_src_size(Some(len))?;
            }
        }
        Ok(())
    }

    fn put(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        match &mut self.codec {
            Codec::Plain => self.out.write_all(bytes)?,
            Codec::Gzip(deflate, crc) => {
                crc.update(bytes);
                while !bytes.is_empty() {
                    let (used, made) = (deflate.total_in(), deflate.total_out());
                    deflate.compress(bytes, &mut self.output, FlushCompress::None).map_err(io::Error::other)?;
                    bytes = &bytes[(deflate.total_in() - used) as usize..];
                    self.out.write_all(&self.output[..(deflate.total_out() - made) as usize])?;
                }
            }
            Codec::Zstd(encoder) => {
                while !bytes.is_empty() {
                    let status = encoder.run_on_buffers(bytes, &mut self.output)?;
                    bytes = &bytes[status.bytes_read..];
                    self.out.write_all(&self.output[..status.bytes_written])?;
                }
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        match &mut self.codec {
            Codec::Plain => {}
            Codec::Gzip(deflate, crc) => {
                loop {
                    let made = deflate.total_out();
                    let status =
                        deflate.compress(&[], &mut self.output, FlushCompress::Finish).map_err(io::Error::other)?;
                    self.out.write_all(&self.output[..(deflate.total_out() - made) as usize])?;
                    if status == Status::StreamEnd {
                        break;
                    }
                }
                self.out.write_all(&crc.sum().to_le_bytes())?;
                self.out.write_all(&(deflate.total_in() as u32).to_le_bytes())?;
            }
            Codec::Zstd(encoder) => loop {
                let mut output = zstd::stream::raw::OutBuffer::around(&mut self.output[..]);
                let left = encoder.finish(&mut output, true)?;
                let made = output.pos();
                self.out.write_all(&self.output[..made])?;
                if left == 0 {
                    break;
                }
            },
        }
        Ok(())
    }
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("written", &self.out.written)
            .field("poisoned", &self.poisoned)
            .finish_non_exhaustive()
    }
}

struct Counted<W> {
    out: W,
    written: u64,
}

impl<W: Write> Counted<W> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

/// The header block with its empty line, or why it cannot be.
fn header_bytes(version: &str, fields: &Fields, block_len: u64) -> Result<Vec<u8>, Error> {
    let refuse = |why: String| Err(Error::Record(why));
    if !crate::header::is_version_line(version.as_bytes()) || version.bytes().any(|b| b.is_ascii_whitespace()) {
        return refuse(format!("`{}` is not a WARC version", crate::header::shown(version)));
    }
    let mut bytes = Vec::with_capacity(1024);
    bytes.extend_from_slice(version.as_bytes());
    bytes.extend_from_slice(b"\r\n");
    let mut has_length = false;
    for (name, value) in fields.iter() {
        // Tokens, as RFC 9110 has them and WARC takes over.
        let is_token = |b: u8| b.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&b);
        if name.is_empty() || !name.bytes().all(is_token) {
            return refuse(format!("`{}` is not a field name", crate::header::shown(name)));
        }
        if value.bytes().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
            return refuse(format!("the value of {name} holds a line break or a NUL byte"));
        }
        if name.eq_ignore_ascii_case("Content-Length") {
            if parse_length(value) != Some(block_len) {
                return refuse(format!(
                    "its Content-Length says `{}`, and its block has {block_len} bytes",
                    crate::header::shown(value)
                ));
            }
            has_length = true;
        }
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    if !has_length {
        bytes.extend_from_slice(format!("Content-Length: {block_len}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    Ok(bytes)
}
