//! Large bodies: a file each, named by its SHA-256, in chunks of a megabyte that are packed where it pays and checked one
//! by one when read. Only one chunk is ever in memory, and a reader can start anywhere.
//!
//! A blob is written under a temporary name, synced, and renamed: a name in `blobs/` means a whole file. A blob that no
//! capture refers to (the process died in between) is removed by `compact`.

use crate::block::{self, Kind, NoBlock};
use crate::compress;
use crate::disk::{Disk, DiskFile};
use crate::error::{Error, Result};
use crate::limits::{BLOB_CHUNK_BYTES, ZSTD_LEVEL};
use crate::wire::{Cursor, Put};
use herodotus_base::{Digester, Digests, Sha1, Sha256};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const FOLDER: &str = "blobs";
pub(crate) const TEMP_FOLDER: &str = "tmp";
const MAGIC: &[u8; 8] = b"HDTBLOB\n";
const FORM: u8 = 1;
/// Footer length and a mark, at the very end of the file.
const TRAILER_BYTES: u64 = 8;
const TRAILER_MARK: &[u8; 4] = b"HDTE";

pub(crate) fn name(digest: &Sha256) -> String {
    format!("{FOLDER}/{digest}.blob")
}

/// Takes a large body in. Dropped before [`BlobWriter::finish`], it leaves nothing.
#[derive(Debug)]
pub struct BlobWriter {
    disk: Arc<dyn Disk>,
    temp: String,
    file: Option<Arc<dyn DiskFile>>,
    at: u64,
    buffer: Vec<u8>,
    len: u64,
    digester: Digester,
    /// Stored length and digest of each chunk.
    chunks: Vec<(u64, Sha256)>,
    compressible: bool,
}

impl BlobWriter {
    pub(crate) fn new(disk: Arc<dyn Disk>, compressible: bool) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let temp = format!("{TEMP_FOLDER}/{}-{}.part", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let file = disk.create(&temp).map_err(Error::disk(format!("making {temp}")))?;
        file.write_all_at(&block::file_header(MAGIC, 0), 0).map_err(Error::disk(format!("writing {temp}")))?;
        Ok(Self {
            disk,
            temp,
            file: Some(file),
            at: block::FILE_HEADER_BYTES as u64,
            buffer: Vec::with_capacity(BLOB_CHUNK_BYTES),
            len: 0,
            digester: Digester::new(),
            chunks: Vec::new(),
            compressible,
        })
    }

    fn flush_chunk(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Err(io::Error::other("the blob is finished")) };
        let raw = std::mem::take(&mut self.buffer);
        let packed = if self.compressible && !compress::is_incompressible(&raw) {
            compress::pack(&raw, ZSTD_LEVEL).ok().filter(|p| p.len() < raw.len())
        } else {
            None
        };
        let mut out = Vec::with_capacity(packed.as_ref().unwrap_or(&raw).len() + block::HEADER_BYTES);
        block::put(&mut out, Kind::Chunk, packed.is_some(), packed.as_ref().unwrap_or(&raw), raw.len());
        file.write_all_at(&out, self.at)?;
        self.at += out.len() as u64;
        self.chunks.push((out.len() as u64, Sha256::of(&raw)));
        self.buffer = raw;
        self.buffer.clear();
        Ok(())
    }

    /// Makes the body durable under its digest, and says how it is to be named in a capture.
    pub fn finish(mut self) -> Result<crate::Body> {
        let writing = || Error::disk("writing a large body".to_owned());
        if !self.buffer.is_empty() {
            self.flush_chunk().map_err(writing())?;
        }
        let digests = std::mem::take(&mut self.digester).finish();
        let mut footer = vec![FORM];
        footer.put_u64(self.len);
        footer.put_raw(&digests.sha256.0);
        footer.put_raw(&digests.sha1.0);
        footer.put_len(self.chunks.len());
        for (stored, digest) in &self.chunks {
            footer.put_u64(*stored);
            footer.put_raw(&digest.0);
        }
        let mut out = Vec::new();
        block::put(&mut out, Kind::BlobEnd, false, &footer, footer.len());
        let footer_len = out.len() as u32;
        out.put_raw(&footer_len.to_le_bytes());
        out.put_raw(TRAILER_MARK);
        let Some(file) = self.file.take() else { return Err(Error::Refused("the blob is finished".into())) };
        let name = name(&digests.sha256);
        let body = crate::Body::Blob { len: self.len, digests };
        if BlobReader::open(&*self.disk, &digests.sha256).is_ok_and(|mut known| known.check().is_ok()) {
            // The same bytes are here already, whole; ours go with the drop.
            self.file = Some(file);
            return Ok(body);
        }
        file.write_all_at(&out, self.at).and_then(|()| file.sync()).map_err(writing())?;
        self.disk.rename(&self.temp, &name).map_err(Error::disk(format!("naming {name}")))?;
        self.disk.sync_dir(FOLDER).map_err(Error::disk("making a large body's name durable"))?;
        Ok(body)
    }
}

impl Write for BlobWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(BLOB_CHUNK_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..n]);
        self.digester.update(&bytes[..n]);
        self.len += n as u64;
        if self.buffer.len() == BLOB_CHUNK_BYTES {
            self.flush_chunk()?;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for BlobWriter {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Left behind, it is removed when the store is next opened.
            let _ = self.disk.remove(&self.temp);
        }
    }
}

/// Removes what unfinished writers left.
pub(crate) fn clean_temp(disk: &dyn Disk) -> Result<u64> {
    let left = disk.list(TEMP_FOLDER).map_err(Error::disk("listing tmp"))?;
    for (file, _) in &left {
        disk.remove(&format!("{TEMP_FOLDER}/{file}")).map_err(Error::disk("clearing tmp"))?;
    }
    Ok(left.len() as u64)
}

/// A large body, opened for reading. Every byte it gives was checked against its chunk's SHA-256.
#[derive(Debug)]
pub struct BlobReader {
    name: String,
    file: Arc<dyn DiskFile>,
    file_len: u64,
    pub len: u64,
    pub digests: Digests,
    chunks: Chunks,
    at: u64,
    chunk: Vec<u8>,
    chunk_number: Option<usize>,
}

impl BlobReader {
    pub(crate) fn open(disk: &dyn Disk, digest: &Sha256) -> Result<Self> {
        let name = name(digest);
        let damaged = |what: &str| Error::Damaged(format!("{name}: {what}"));
        let reading = || Error::disk(format!("reading {name}"));
        let file = match disk.open(&name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(damaged("the file is missing")),
            other => other.map_err(reading())?,
        };
        let file_len = file.len().map_err(reading())?;
        let mut trailer = [0; TRAILER_BYTES as usize];
        let mut header = [0; block::FILE_HEADER_BYTES];
        if file_len < TRAILER_BYTES + header.len() as u64 {
            return Err(damaged("too short"));
        }
        file.read_exact_at(&mut header, 0).map_err(reading())?;
        match block::check_file_header(&name, &header, MAGIC) {
            Ok(Some(_)) => {}
            Ok(None) => return Err(damaged("no header")),
            // One body that we cannot read is no reason to give up on the archive.
            Err(e) => return Err(Error::Damaged(e.to_string())),
        }
        file.read_exact_at(&mut trailer, file_len - TRAILER_BYTES).map_err(reading())?;
        let footer_len = u64::from(u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]));
        let footer_at = (file_len - TRAILER_BYTES).checked_sub(footer_len);
        let Some(footer_at) = footer_at.filter(|_| trailer[4..] == TRAILER_MARK[..]) else {
            return Err(damaged("its end is not what was written"));
        };
        let footer = match block::read(&*file, footer_at, file_len - TRAILER_BYTES) {
            Ok(block) if block.header.kind == Kind::BlobEnd => block.payload,
            Err(NoBlock::Io(e)) => return Err(reading()(e)),
            _ => return Err(damaged("its footer is not what was written")),
        };
        let (len, digests, chunks) = decode_footer(&footer).ok_or_else(|| damaged("its footer cannot be read"))?;
        if digests.sha256 != *digest {
            return Err(damaged("it holds another body"));
        }
        Ok(Self { name, file, file_len, len, digests, chunks, at: 0, chunk: Vec::new(), chunk_number: None })
    }

    /// Reads everything once, for what it is worth.
    pub fn check(&mut self) -> Result<()> {
        for number in 0..self.chunks.len() {
            self.load(number)?;
        }
        Ok(())
    }

    /// Continues reading at an offset of the body.
    pub fn seek_to(&mut self, offset: u64) {
        self.at = offset.min(self.len);
    }

    fn load(&mut self, number: usize) -> Result<()> {
        let damaged = |what: &str| Error::Damaged(format!("{}: chunk {number} {what}", self.name));
        let Some((offset, digest)) = self.chunks.get(number) else { return Err(damaged("is not there")) };
        let raw = match block::read(&*self.file, *offset, self.file_len) {
            Ok(read) if read.header.kind == Kind::Chunk && read.header.raw_len <= BLOB_CHUNK_BYTES => {
                read.unpacked()?
            }
            Err(NoBlock::Io(e)) => return Err(Error::disk(format!("reading {}", self.name))(e)),
            _ => return Err(damaged("is not what was written")),
        };
        if Sha256::of(&raw) != *digest {
            return Err(damaged("fails its digest"));
        }
        self.chunk = raw;
        self.chunk_number = Some(number);
        Ok(())
    }
}

/// Where each chunk stands, and its digest.
type Chunks = Vec<(u64, Sha256)>;

fn decode_footer(bytes: &[u8]) -> Option<(u64, Digests, Chunks)> {
    let mut c = Cursor::new(bytes);
    (c.u8()? == FORM).then_some(())?;
    let len = c.u64()?;
    let digests = Digests { sha256: Sha256(c.array()?), sha1: Sha1(c.array()?) };
    let count = c.usize()?;
    (count as u64 == len.div_ceil(BLOB_CHUNK_BYTES as u64)).then_some(())?;
    let mut at = block::FILE_HEADER_BYTES as u64;
    let mut chunks = Vec::with_capacity(count.min(bytes.len() / 33));
    for _ in 0..count {
        let stored = c.u64()?;
        chunks.push((at, Sha256(c.array()?)));
        at = at.checked_add(stored)?;
    }
    Some((len, digests, chunks))
}

impl Read for BlobReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.len || buf.is_empty() {
            return Ok(0);
        }
        let number = (self.at / BLOB_CHUNK_BYTES as u64) as usize;
        if self.chunk_number != Some(number) {
            // As it is, so that whoever reads through a decoder can tell damage to the disk from a bad coding.
            self.load(number).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
        }
        let from = (self.at % BLOB_CHUNK_BYTES as u64) as usize;
        let rest = self.chunk.get(from..).unwrap_or_default();
        let n = rest.len().min(buf.len());
        if n == 0 {
            let short = Error::Damaged(format!("{}: a chunk is too short", self.name));
            return Err(io::Error::new(io::ErrorKind::InvalidData, short));
        }
        buf[..n].copy_from_slice(&rest[..n]);
        self.at += n as u64;
        Ok(n)
    }
}
