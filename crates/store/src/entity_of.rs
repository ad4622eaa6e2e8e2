//! Captures that lie elsewhere: what a reader of pages needs to show them as if they lay here.
//!
//! [`Entity::of`] makes of a capture, from wherever it came, the very entity that a store which holds it would give; a revisit
//! is resolved among whatever a [`Holder`] holds ([`crate::archive::original_in`]), and large bodies are read through [`Blobs`].
//! Nothing is checked here: who brings a capture, or gives the bytes of a large body, has checked them.

use crate::Store;
use crate::blob::BlobReader;
use crate::capture::{Body, Capture, Kind};
use crate::coding::CodedBlob;
use crate::entity::{Entity, entity, lacks_head, part_of};
use crate::error::{Error, Result};
use crate::index::{Entry, EntryKey};
use crate::store::Waiting;
use herodotus_base::{Sha256, Timestamp};
use std::fmt::Debug;
use std::io::{self, Read};
use std::sync::Arc;

/// Something that large bodies are read from. Every byte that a reader gives was checked; what cannot be is an error.
pub trait Blobs: Send + Sync + Debug {
    fn open_blob_at(&self, digest: &Sha256, offset: u64) -> io::Result<Box<dyn Read + Send>>;
}

impl Blobs for Store {
    fn open_blob_at(&self, digest: &Sha256, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let reader: BlobReader = Self::open_blob_at(self, digest, offset).map_err(io::Error::other)?;
        Ok(Box::new(reader))
    }
}

/// Something that captures are found in: a store, or many machines as one.
pub trait Holder {
    type Error;
    /// Versions of a key up to a time, newest first.
    fn versions_until(&self, key: &str, time: Timestamp) -> impl Iterator<Item = Result<Entry, Self::Error>>;
    /// Versions of a key after a time, oldest first.
    fn versions_after(&self, key: &str, time: Timestamp) -> impl Iterator<Item = Result<Entry, Self::Error>>;
    fn read(&self, id: &EntryKey) -> Result<Option<Capture>, Self::Error>;
    /// Whether this says that one capture is damaged, and nothing of the others.
    fn is_damage(error: &Self::Error) -> bool;
}

impl Holder for Store {
    type Error = Error;

    fn versions_until(&self, key: &str, time: Timestamp) -> impl Iterator<Item = Result<Entry>> {
        Self::versions_until(self, key, time)
    }

    fn versions_after(&self, key: &str, time: Timestamp) -> impl Iterator<Item = Result<Entry>> {
        Self::versions_after(self, key, time)
    }

    fn read(&self, id: &EntryKey) -> Result<Option<Capture>> {
        Self::read(self, id)
    }

    fn is_damage(error: &Error) -> bool {
        matches!(error, Error::Damaged(_))
    }
}

impl Store {
    /// Whether somebody took this capture out: then it is not to be shown, wherever else it may lie.
    pub fn is_removed(&self, id: &EntryKey) -> Result<bool> {
        Ok(match self.inner.waiting(id) {
            Some(waiting) => matches!(waiting, Waiting::Removed),
            None => self.inner.reader.entry(id)?.is_some_and(|entry| entry.is_removed_for_good()),
        })
    }
}

/// A revisit with the payload that it stands for, and with the head of that where it has none of its own.
pub fn with_original(mut revisit: Capture, original: Capture) -> Capture {
    if lacks_head(&revisit) {
        revisit.main.head = original.main.head;
    }
    revisit.main.body = original.main.body;
    revisit
}

impl Entity {
    /// A capture as its reader sees it, and whether it will be the same when it is asked for again. `original`: the capture that
    /// a revisit's payload was found with. `blobs`: where a large body of the capture of this name is read.
    pub fn of(
        capture: &Capture,
        original: Option<&Capture>,
        blobs: impl FnOnce(&EntryKey) -> Arc<dyn Blobs>,
    ) -> Result<(Self, bool)> {
        let id = capture.id();
        let mut part = part_of(capture);
        let mut lasts = true;
        let holder = original.unwrap_or(capture);
        if capture.main.kind == Kind::Revisit {
            // As a store has it: with a digest and a head of its own, it is the same whichever the payload is taken from.
            lasts = original.is_some() && capture.main.field("WARC-Payload-Digest").is_some() && !lacks_head(capture);
        }
        if let Some(original) = original {
            let payload = part_of(original);
            if lacks_head(capture) {
                part.head = payload.head;
            }
            part.body = payload.body;
        }
        let len = match &holder.main.body {
            Body::Blob { len, .. } => *len,
            Body::Bytes(..) => 0,
        };
        let open = |sha256: Sha256| -> Result<(CodedBlob, u64)> {
            Ok((CodedBlob::elsewhere(blobs(&holder.id()), sha256), len))
        };
        Ok((entity(&id, part, original.map(Capture::id), open)?, lasts))
    }
}
