//! A large body on its way in. It becomes a file of the store when all of it is here and has the digest that was expected;
//! before that there is nothing but a temporary file, which goes when the arrival is dropped or the process dies.
//!
//! A stream may break off: the arrival stays where it is as long as it is kept, and another stream goes on at
//! [`BlobArrival::at`]. Over a restart it begins again.

use crate::Store;
use crate::blob::BlobWriter;
use crate::error::{Error, Result};
use crate::limits::BLOB_CHUNK_BYTES;
use herodotus_base::Sha256;
use sha2::Digest as _;
use std::io::{self, Read, Write};

/// Takes a large body in, from one stream or several.
#[derive(Debug)]
pub struct BlobArrival {
    writer: BlobWriter,
    hasher: sha2::Sha256,
    expected: Sha256,
    len: u64,
    at: u64,
}

impl Store {
    /// Begins to take in a large body of this digest and length. `media` tells whether packing it is worth a try.
    pub fn blob_arrival(&self, expected: &Sha256, len: u64, media: &str) -> Result<BlobArrival> {
        self.inner.room_for(len)?;
        let writer = self.blob_writer(media)?;
        Ok(BlobArrival { writer, hasher: sha2::Sha256::new(), expected: *expected, len, at: 0 })
    }

    /// Takes a large body in from one stream, of which at most `len` bytes are read. It is kept, durably, only if it is the one that was
    /// expected. If it is here already, nothing is read. A blob that no capture names goes with the next compaction: the
    /// parcel should follow soon.
    pub fn receive_blob(&self, expected: &Sha256, len: u64, media: &str, from: impl Read) -> Result<()> {
        // One that is damaged is replaced: this is how large bodies are mended.
        if self.open_blob(expected).is_ok_and(|mut blob| blob.len == len && blob.check().is_ok()) {
            return Ok(());
        }
        let mut arrival = self.blob_arrival(expected, len, media)?;
        arrival.fill(from)?;
        arrival.finish()
    }
}

impl BlobArrival {
    /// How much of the body is here: the next stream begins at this byte.
    pub fn at(&self) -> u64 {
        self.at
    }

    pub fn is_whole(&self) -> bool {
        self.at == self.len
    }

    /// Takes what a stream gives, until the body is whole or the stream ends. After an error of the stream the arrival can go on with
    /// another; after one of the disk it cannot be finished.
    pub fn fill(&mut self, mut from: impl Read) -> Result<()> {
        let mut buffer = vec![0; BLOB_CHUNK_BYTES / 4];
        while !self.is_whole() {
            let most = usize::try_from(self.len - self.at).unwrap_or(usize::MAX).min(buffer.len());
            let n = match from.read(&mut buffer[..most]) {
                Ok(0) => break,
                Ok(n) => n.min(most),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(Error::Refused(format!("a large body broke off at byte {}: {e}", self.at))),
            };
            self.writer.write_all(&buffer[..n]).map_err(Error::disk("writing a large body"))?;
            self.hasher.update(&buffer[..n]);
            self.at += n as u64;
        }
        Ok(())
    }

    /// Keeps the body, if it is whole and the one that was expected.
    pub fn finish(self) -> Result<()> {
        if !self.is_whole() {
            return Err(Error::Refused(format!("a large body ended at byte {} of {}", self.at, self.len)));
        }
        let other = || Error::Refused(format!("a large body is not the one that was expected ({})", self.expected));
        if Sha256(self.hasher.finalize().into()) != self.expected {
            return Err(other());
        }
        // After a write that failed halfway the file may hold something else than what was digested.
        if self.writer.finish()?.digests().sha256 == self.expected { Ok(()) } else { Err(other()) }
    }
}
