//! The front door: opens a file by its first bytes, whatever its name, and gives out its records.
//!
//! A plain WARC or ARC, gzip or zstd of any grouping, and every WARC file in a WACZ are the same to the caller.
//! `Err` is for the disk and for files that cannot be read at all; all else is skipped, told, and gone on from.

use super::gzip::{self, Gunzip};
use super::lane::{Lane, Step};
use super::scan::{Found, Ground, arc_line, scan_window};
use super::source::Source;
use super::stream::{Codec, Fault, Stream};
use super::wacz::{self, Entry};
use super::zst::{self, Unzstd};
use crate::header::{Header, is_version_line, shown};
use crate::{Error, Position, ReadLimits, arc};
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

/// Reads the records of one file.
pub struct Reader {
    path: PathBuf,
    limits: ReadLimits,
    file: File,
    /// The WARC files in it: one, or those of a WACZ.
    entries: Vec<Entry>,
    at: usize,
    lane: Option<Lane>,
}

/// What a reader came upon.
#[derive(Debug)]
pub enum Item<'a> {
    Record(Record<'a>),
    Skipped(Skip),
}

/// Something that was not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skip {
    /// The WARC file within a WACZ.
    pub file: Option<String>,
    /// Where in that file: of the record, or of the compressed member that should hold it.
    pub offset: u64,
    /// A sentence for people.
    pub reason: String,
}

#[derive(Debug)]
pub struct Record<'a> {
    pub header: Header,
    /// Where it starts in its file; of a compressed one, where the member starts that holds it.
    pub offset: u64,
    /// The WARC file within a WACZ.
    pub member: Option<String>,
    /// The length of the block, as announced.
    pub len: u64,
    pub block: Block<'a>,
}

/// Streams a record's block. Read to its end without an error, it is whole: checksums matched and a record boundary
/// followed. Otherwise its last byte is never given out, and the error's kind is `InvalidData` or `UnexpectedEof`; any
/// other kind is the disk's. Dropped early, the rest is skipped. The first `fill_buf` of a block of up to 192 KiB is all of it.
pub struct Block<'a> {
    lane: Option<&'a mut Lane>,
}

impl Reader {
    pub fn open(path: &Path, limits: ReadLimits) -> Result<Self, Error> {
        let meta = std::fs::metadata(path)?;
        if meta.is_dir() {
            return Err(Error::Directory(path.to_owned()));
        }
        if !meta.is_file() {
            let why = "it is not a regular file: save it to disk first".to_owned();
            return Err(Error::Container { path: path.to_owned(), why });
        }
        if meta.len() == 0 {
            return Err(Error::Empty(path.to_owned()));
        }
        let file = File::open(path)?;
        let mut source = Source::new(file.try_clone()?, 0, meta.len())?;
        let head = source.peek(SNIFF_BYTES)?;
        let mut reader = Self { path: path.to_owned(), limits, file, entries: Vec::new(), at: 0, lane: None };
        if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            reader.entries = wacz::list(&reader.file, path, &reader.limits)?;
        } else {
            // Fails here, not later, where this is no archive at all.
            reader.lane = Some(open_lane(source, &reader.limits).map_err(|refusal| refusal.for_file(path))?);
            reader.entries.push(Entry::whole(meta.len()));
        }
        Ok(reader)
    }

    /// Goes to where [`Reader::position`] once was in this file.
    pub fn resume(&mut self, at: &Position) -> Result<(), Error> {
        let bad = || Error::Position(at.to_string());
        (self.at, self.lane) = (at.file as usize, None);
        if self.at >= self.entries.len() {
            // The end of a WACZ is a place too.
            return if self.at == self.entries.len() && (at.offset, at.records) == (0, 0) {
                Ok(())
            } else {
                Err(bad())
            };
        }
        if (at.offset, at.records) == (0, 0) {
            return Ok(());
        }
        let Ok(mut lane) = self.open_entry()? else { return Err(bad()) };
        if !lane.resume(at.offset, at.records)? {
            return Err(bad());
        }
        self.lane = Some(lane);
        Ok(())
    }

    /// The next record, or something that was skipped; `None` at the end.
    #[allow(clippy::should_implement_trait, reason = "items borrow the reader, which no iterator can say")]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, Error> {
        let (header, offset, len) = loop {
            let Some(entry) = self.entries.get(self.at) else { return Ok(None) };
            if let Some(reason) = &entry.refused {
                let skip = Skip { file: entry.name.clone(), offset: 0, reason: reason.clone() };
                self.at += 1;
                return Ok(Some(Item::Skipped(skip)));
            }
            if self.lane.is_none() {
                match self.open_entry()? {
                    Ok(lane) => self.lane = Some(lane),
                    Err(reason) => {
                        let skip = Skip { file: self.member(), offset: 0, reason };
                        self.at += 1;
                        return Ok(Some(Item::Skipped(skip)));
                    }
                }
            }
            let Some(lane) = &mut self.lane else { return Ok(None) };
            match lane.step()? {
                Step::Record { header, offset, len } => break (header, offset, len),
                Step::Skip { offset, reason } => {
                    return Ok(Some(Item::Skipped(Skip { file: self.member(), offset, reason })));
                }
                Step::End if self.at + 1 < self.entries.len() => {
                    self.at += 1;
                    self.lane = None;
                }
                Step::End => return Ok(None),
            }
        };
        let member = self.member();
        Ok(Some(Item::Record(Record { header, offset, member, len, block: Block { lane: self.lane.as_mut() } })))
    }

    /// Where the next record starts, for [`Reader::resume`]. A record whose block was not read to its end, or was
    /// damaged, costs reading it again; a skip told just before may be told again.
    pub fn position(&self) -> Position {
        let (offset, records) = self.lane.as_ref().map_or((0, 0), Lane::position);
        Position { file: u32::try_from(self.at).unwrap_or(u32::MAX), offset, records }
    }

    /// Bytes of the file, or of the WARC files in a WACZ, that were read: for progress.
    pub fn bytes_read(&self) -> u64 {
        let before: u64 = self.entries.iter().take(self.at).map(|entry| entry.len).sum();
        before + self.lane.as_ref().map_or(0, Lane::raw_used)
    }

    pub fn bytes_total(&self) -> u64 {
        self.entries.iter().map(|entry| entry.len).sum()
    }

    fn member(&self) -> Option<String> {
        self.entries.get(self.at).and_then(|entry| entry.name.clone())
    }

    /// Opens the entry that is up. The inner `Err` says why it is refused.
    fn open_entry(&self) -> Result<Result<Lane, String>, Error> {
        let Some(entry) = self.entries.get(self.at) else { return Ok(Err("it is not there".to_owned())) };
        let file = self.file.try_clone()?;
        let source = match entry.deflated {
            Some(crc) => Source::deflated(file, entry.start, entry.len, crc, &self.limits)?,
            None => Source::new(file, entry.start, entry.len)?,
        };
        match open_lane(source, &self.limits) {
            Ok(lane) => Ok(Ok(lane)),
            Err(Refusal::Disk(e)) => Err(e.into()),
            Err(Refusal::Foreign(why)) => Ok(Err(format!("This is not a WARC file: {why}"))),
            Err(Refusal::Broken(why)) => Ok(Err(format!("This file cannot be read: {why}"))),
        }
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).field("position", &self.position()).finish_non_exhaustive()
    }
}

impl Read for Block<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let ready = self.fill_buf()?;
        let n = ready.len().min(buf.len());
        buf[..n].copy_from_slice(&ready[..n]);
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Block<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.lane {
            Some(lane) => lane.block_fill(),
            None => Ok(&[]),
        }
    }

    fn consume(&mut self, n: usize) {
        if let Some(lane) = &mut self.lane {
            lane.block_consume(n);
        }
    }
}

impl std::fmt::Debug for Block<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Block")
    }
}

/// How much of a file is looked at to tell what it is.
const SNIFF_BYTES: usize = 64 << 10;

/// Why a file was not opened.
enum Refusal {
    Disk(io::Error),
    Foreign(String),
    Broken(String),
}

impl Refusal {
    fn for_file(self, path: &Path) -> Error {
        match self {
            Self::Disk(e) => Error::Io(e),
            Self::Foreign(why) => Error::NotAnArchive { path: path.to_owned(), why },
            Self::Broken(why) => Error::Container { path: path.to_owned(), why },
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Disk(e) => Self::Disk(e),
            fault => Self::Broken(fault.why()),
        }
    }
}

/// Tells a WARC file's coding from its first bytes, or, where those are damaged, from the first record after them.
fn open_lane(mut source: Source, limits: &ReadLimits) -> Result<Lane, Refusal> {
    let head = source.peek(SNIFF_BYTES).map_err(Fault::from)?;
    let (codec, start) = if head.starts_with(&[0x1f, 0x8b]) {
        let start = gzip::first_bytes(head);
        if let Some(inner) = name_of(&start) {
            return Err(Refusal::Foreign(format!("it is gzip around {inner}: unpack it, and name what was in it")));
        }
        (Codec::Gzip(Box::new(Gunzip::new())), start)
    } else if zst::is_zstd(head) {
        (Codec::Zstd(Box::new(Unzstd::new(&mut source, limits)?)), Vec::new())
    } else {
        let blank = head.iter().position(|b| !matches!(b, b'\r' | b'\n' | 0)).unwrap_or(head.len());
        let start = &head[blank..];
        if is_version_line(start) || arc_line(start).is_some_and(arc::is_line) {
            (Codec::Plain, start[..start.len().min(64)].to_vec())
        } else {
            let plain = match scan_window(head, Ground::Open, true, true) {
                Found::At(at) => Some(at),
                Found::NotBefore(_) => None,
            };
            let first = |at: Option<usize>| at.unwrap_or(usize::MAX);
            let (gzip, zstd) = (gzip::find_in(head), zst::find_in(head));
            let codec = match first(plain).min(first(gzip)).min(first(zstd)) {
                usize::MAX => return Err(Refusal::Foreign(describe(head))),
                at if Some(at) == gzip => Codec::Gzip(Box::new(Gunzip::new())),
                at if Some(at) == zstd => Codec::Zstd(Box::new(Unzstd::new(&mut source, limits)?)),
                _ => Codec::Plain,
            };
            (codec, Vec::new())
        }
    };
    source.seek(0).map_err(Fault::from)?;
    let with_arc = !start.starts_with(b"WARC/");
    Ok(Lane::new(Stream::new(source, codec, limits), with_arc, limits))
}

/// A container that we do not look into, by its first bytes.
fn name_of(bytes: &[u8]) -> Option<&'static str> {
    const MAGICS: [(&[u8], &str); 8] = [
        (&[0x1f, 0x8b], "another gzip"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "a zstd file"),
        (b"PK\x03\x04", "a ZIP file"),
        (b"BZh", "a bzip2 file"),
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], "an xz file"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z file"),
        (b"Rar!", "a RAR file"),
        (b"%PDF", "a PDF"),
    ];
    let by_magic = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| *name);
    by_magic.or_else(|| bytes.get(257..262).is_some_and(|m| m == b"ustar").then_some("a tar file"))
}

fn describe(head: &[u8]) -> String {
    if let Some(name) = name_of(head) {
        return format!("it is {name}; if archives are in it, unpack it first");
    }
    if head.iter().all(|b| matches!(b, b'\r' | b'\n' | 0)) {
        return "its start is empty: the disk or the download may have failed".to_owned();
    }
    let first = head.split(|b| *b == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    match std::str::from_utf8(&first[..first.len().min(200)]) {
        Ok(line) => format!("it begins with `{}`", shown(line.trim())),
        Err(_) => "its first bytes are of no format that is known here".to_owned(),
    }
}
