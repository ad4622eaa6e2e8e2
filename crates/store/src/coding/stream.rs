//! Large bodies without their codings: decoded as they are read, with a few windows in memory and never the body.
//!
//! A body that breaks off, or whose coding goes wrong on the way, ends there, as it does in a browser; damage to what
//! we store is an error all the same, and so is content without end.

use super::dechunk::Dechunked;
use super::plain::is_gzip;
use super::{gzip, zstd_plain};
use crate::blob::BlobReader;
use crate::disk::Disk;
use crate::entity_of::Blobs;
use crate::error::{Error, Result};
use crate::limits::DECODED_STREAM_BYTES_MAX;
use herodotus_base::Sha256;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

const BUFFER_BYTES: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Chunked,
    Gzip,
    Zlib,
    Deflate,
    Brotli,
    Zstd,
}

/// A large body, and which codings come off when it is read.
#[derive(Clone, Debug)]
pub(crate) struct CodedBlob {
    wire: Wire,
    digest: Sha256,
    /// From the outside in.
    stages: Vec<Stage>,
}

/// Where the body lies.
#[derive(Clone, Debug)]
enum Wire {
    Here(Arc<dyn Disk>),
    Elsewhere(Arc<dyn Blobs>),
}

type Decoding = Box<dyn BufRead + Send>;

impl CodedBlob {
    pub(crate) fn new(disk: Arc<dyn Disk>, digest: Sha256) -> Self {
        Self { wire: Wire::Here(disk), digest, stages: Vec::new() }
    }

    /// One that somebody else holds.
    pub(crate) fn elsewhere(blobs: Arc<dyn Blobs>, digest: Sha256) -> Self {
        Self { wire: Wire::Elsewhere(blobs), digest, stages: Vec::new() }
    }

    pub(crate) fn is_coded(&self) -> bool {
        !self.stages.is_empty()
    }

    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.wire, Wire::Elsewhere(_))
    }

    /// Without its chunks, if it has any: a recorder may have taken them off and left the header.
    pub(crate) fn chunked(self) -> Result<Self> {
        Ok(self.with(Stage::Chunked)?.unwrap_or_else(|as_it_was| as_it_was))
    }

    /// Without a content coding; as it was, if that is one that we do not know, or not the one it is in.
    pub(crate) fn under(self, coding: &str) -> Result<Result<Self, Self>> {
        let stage = match coding {
            coding if is_gzip(coding) => Stage::Gzip,
            "br" => Stage::Brotli,
            "zstd" => Stage::Zstd,
            "deflate" => {
                let mut start = [0; 2];
                let n = self.open()?.read(&mut start).map_err(damage)?;
                if gzip::is_zlib(&start[..n]) { Stage::Zlib } else { Stage::Deflate }
            }
            _ => return Ok(Err(self)),
        };
        self.with(stage)
    }

    /// A coding is believed when a first byte comes out of it.
    fn with(mut self, stage: Stage) -> Result<Result<Self, Self>> {
        self.stages.push(stage);
        match self.open()?.read(&mut [0]) {
            Ok(1) => return Ok(Ok(self)),
            Err(e) if is_damage(&e) => return Err(damage(e)),
            _ => {}
        }
        self.stages.pop();
        Ok(Err(self))
    }

    /// The body as it came, from an offset on.
    pub(crate) fn open_wire(&self, offset: u64) -> Result<Box<dyn Read + Send>> {
        Ok(match &self.wire {
            Wire::Here(disk) => {
                let mut reader = BlobReader::open(&**disk, &self.digest)?;
                reader.seek_to(offset);
                Box::new(reader)
            }
            Wire::Elsewhere(blobs) => {
                let reader = blobs.open_blob_at(&self.digest, offset).map_err(Error::disk(FROM_ELSEWHERE))?;
                Box::new(Fetched(reader))
            }
        })
    }

    /// The content from its beginning.
    pub(crate) fn open(&self) -> Result<Content> {
        let blob = self.open_wire(0)?;
        let mut inner: Decoding = Box::new(BufReader::with_capacity(BUFFER_BYTES, blob));
        for stage in &self.stages {
            let decoder: Box<dyn Read + Send> = match stage {
                Stage::Chunked => Box::new(Dechunked::new(inner)),
                Stage::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(inner)),
                Stage::Zlib => Box::new(flate2::bufread::ZlibDecoder::new(inner)),
                Stage::Deflate => Box::new(flate2::bufread::DeflateDecoder::new(inner)),
                Stage::Brotli => Box::new(brotli::Decompressor::new(inner, 16 * 1024)),
                Stage::Zstd => zstd_plain::decoder(inner).map_err(Error::disk("decoding a large body"))?,
            };
            inner = Box::new(BufReader::with_capacity(BUFFER_BYTES, Tolerant(decoder)));
        }
        let left = if self.is_coded() { DECODED_STREAM_BYTES_MAX } else { u64::MAX };
        Ok(Content { inner, left })
    }
}

/// What comes out of a large body when its codings are taken off.
#[allow(missing_debug_implementations)]
pub struct Content {
    inner: Decoding,
    left: u64,
}

impl Read for Content {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(out)?;
        self.left = self.left.checked_sub(n as u64).ok_or_else(|| {
            let endless = format!("a large body decodes to more than {DECODED_STREAM_BYTES_MAX} bytes");
            io::Error::new(io::ErrorKind::InvalidData, endless)
        })?;
        Ok(n)
    }
}

const FROM_ELSEWHERE: &str = "reading a large body from elsewhere";

/// What breaks off on the way from elsewhere is no bad coding: it must not look like the end of the body.
struct Fetched(Box<dyn Read + Send>);

impl Read for Fetched {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => {
                Err(io::Error::new(e.kind(), Error::disk(FROM_ELSEWHERE)(e)))
            }
            other => other,
        }
    }
}

/// Ends where a coding goes wrong, and only passes on what is wrong with our own bytes.
struct Tolerant(Box<dyn Read + Send>);

impl Read for Tolerant {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out) {
            Err(e) if !is_damage(&e) && e.kind() != io::ErrorKind::Interrupted => Ok(0),
            other => other,
        }
    }
}

/// Whether an error is about what lies in the store: it then carries the store's own.
fn is_damage(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Error>())
}

fn damage(error: io::Error) -> Error {
    Error::Damaged(error.to_string())
}
