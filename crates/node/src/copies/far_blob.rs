//! A large body that lies elsewhere, read as it comes: from the nearest of those who hold it, and from the next where one breaks off.
//!
//! Whoever reads it checks its digest at the end (`herodotus_web::archive` does, and holds the last bytes back until then). Nothing is kept here.

use super::exchange::{address_of, holders_of};
use super::wire::Bulk;
use super::{CopiesError, Inner};
use herodotus_base::Sha256;
use herodotus_net::Stream;
use herodotus_ring::Contact;
use herodotus_store::EntryKey;
use herodotus_web::archive::Away;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A holder that gives nothing for so long is left for the next one.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Blocks while it waits: for threads that may.
pub(super) struct FarBlob {
    inner: Arc<Inner>,
    sha256: Sha256,
    at: u64,
    len: u64,
    stream: Option<Stream>,
    /// Who has not been tried yet, the nearest last.
    others: Vec<Contact>,
    /// How many hold it.
    asked: usize,
}

impl FarBlob {
    pub(super) fn open(inner: &Arc<Inner>, id: &EntryKey, sha256: Sha256, len: u64) -> Result<Self, CopiesError> {
        let mut others = inner.runtime.block_on(holders_of(inner, id))?;
        others.reverse();
        let asked = others.len();
        let mut blob = Self { inner: inner.clone(), sha256, at: 0, len, stream: None, others, asked };
        blob.turn()?;
        Ok(blob)
    }

    /// Turns to the next who holds it.
    fn turn(&mut self) -> Result<(), CopiesError> {
        let mut trouble = CopiesError::Nobody;
        while let Some(contact) = self.others.pop() {
            let opened = self.inner.runtime.block_on(async {
                let bulk = Bulk::Blob { sha256: self.sha256.0, offset: self.at };
                let mut stream = self.inner.reach.open(&address_of(&contact), &bulk).await?;
                // A writing half that is dropped without this takes the question back, most often before it was sent.
                stream.shutdown().await?;
                Ok(stream)
            });
            match opened {
                Ok(stream) => {
                    self.stream = Some(stream);
                    return Ok(());
                }
                Err(error) => trouble = error,
            }
        }
        Err(trouble)
    }
}

impl Read for FarBlob {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(stream) = self.stream.as_mut().filter(|_| self.at < self.len && !out.is_empty()) else {
                return Ok(0);
            };
            // The clock is the runtime's, and whoever reads need not be one of its threads.
            let read = async { tokio::time::timeout(SILENCE_MAX, stream.read(out)).await };
            let read = self.inner.runtime.block_on(read);
            match read {
                Ok(Ok(n)) if n > 0 => {
                    self.at += n as u64;
                    return Ok(n);
                }
                // It broke off, or has been silent for too long.
                _ => self.stream = None,
            }
            self.turn().map_err(|_| io::Error::other(Away::Silent { asked: self.asked }))?;
        }
    }
}
