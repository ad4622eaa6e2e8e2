//! Audits: a digest over a nonce and everything that came over the wire, the same on every machine that holds the capture however
//! it is stored there. Who answers it for a nonce that was never used has the bytes.

use crate::Store;
use crate::capture::{Body, Capture, Record};
use crate::error::{Error, Result};
use crate::index::EntryKey;
use herodotus_base::Sha256;
use sha2::Digest as _;
use std::io::Read;

/// What is digested first, so that the digest means nothing else.
const PURPOSE: &[u8] = b"herodotus audit 1\n";

impl Store {
    /// SHA-256 over a nonce and a whole capture: URL, time, and of each record its kind, name, WARC header, head and body. `None`: it
    /// is not here, or was removed. An error: it is damaged here.
    pub fn audit_digest(&self, id: &EntryKey, nonce: &[u8; 32]) -> Result<Option<Sha256>> {
        let Some(capture) = self.read(id)? else { return Ok(None) };
        let mut audit = Audit(sha2::Sha256::new_with_prefix(PURPOSE));
        audit.0.update(nonce);
        audit.capture(self, &capture)?;
        Ok(Some(Sha256(audit.0.finalize().into())))
    }
}

struct Audit(sha2::Sha256);

impl Audit {
    fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    /// With its length before it, so that nothing can be moved from one field to the next.
    fn field(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn capture(&mut self, store: &Store, capture: &Capture) -> Result<()> {
        self.field(capture.url.as_bytes());
        self.0.update(capture.time.millis().to_be_bytes());
        self.number(1 + capture.companions.len() as u64);
        for record in std::iter::once(&capture.main).chain(&capture.companions) {
            self.record(store, record)?;
        }
        Ok(())
    }

    fn record(&mut self, store: &Store, record: &Record) -> Result<()> {
        self.field(record.kind.as_str().as_bytes());
        self.field(record.id.bracketed().as_bytes());
        match &record.warc {
            None => self.number(0),
            Some(header) => {
                self.number(1 + header.fields.len() as u64);
                self.field(header.version.as_bytes());
                for (name, value) in header.fields.iter() {
                    self.field(name.as_bytes());
                    self.field(value.as_bytes());
                }
            }
        }
        self.field(&record.head);
        match &record.body {
            Body::Bytes(bytes, _) => self.field(bytes),
            Body::Blob { len, digests } => {
                self.number(*len);
                self.blob(store, *len, &digests.sha256)?;
            }
        }
        Ok(())
    }

    fn blob(&mut self, store: &Store, len: u64, digest: &Sha256) -> Result<()> {
        let mut reader = store.open_blob(digest)?;
        let mut buffer = vec![0; 256 * 1024];
        let mut read = 0;
        loop {
            match reader.read(&mut buffer).map_err(|e| Error::Damaged(e.to_string()))? {
                0 => break,
                n => {
                    self.0.update(&buffer[..n]);
                    read += n as u64;
                }
            }
        }
        if read == len { Ok(()) } else { Err(Error::Damaged(format!("the large body {digest} is {read} bytes long"))) }
    }
}
