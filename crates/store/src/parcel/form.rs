//! The bytes of a capture that both sides agree on.
//!
//! Where a body is kept depends on what else a store has, so a difference cannot be made to an item as it lies in a pack. It is
//! made to the *plain form*: the item as a store that has nothing else would write it. Most items in packs have it already.
//! The rule is that of [`crate::seal`]; should two versions of this program ever differ in it, the tag that a difference carries
//! of its base's form tells, and the capture is sent whole.

use crate::Store;
use crate::batch::Said;
use crate::capture::{Body, Capture};
use crate::coding;
use crate::compress;
use crate::envelope::{self, Envelope, Where};
use crate::error::{Error, Result};
use crate::index::EntryKey;
use crate::limits::RAW_BLOCK_BYTES_MIN;
use crate::media::{is_compressed_media, is_text_media};
use crate::read::{Item, PartBody};
use crate::wire::Cursor;
use herodotus_base::Sha256;
use herodotus_page::ResponseHead;
use std::sync::Arc;

/// An item, and the body that travels beside it because it does not compress.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) item: Vec<u8>,
    pub(super) beside: Option<(Sha256, Arc<[u8]>)>,
    /// It only names a body that is elsewhere.
    pub(super) repeats: bool,
}

/// What is known of a capture here.
#[derive(Debug)]
pub(super) enum Standing {
    Absent,
    Removed,
    Waiting(Arc<Capture>),
    Packed,
}

/// The same, with the capture.
#[derive(Debug)]
pub(super) enum Held {
    Unknown,
    Removed,
    /// In memory, as it came.
    Waiting(Arc<Capture>),
    /// In a pack, as it was packed.
    Packed(Item, Box<Envelope>),
}

/// A capture that others can be written against.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) id: EntryKey,
    pub(super) item: Vec<u8>,
    /// Of its body on the wire.
    pub(super) digest: Sha256,
}

impl Form {
    pub(super) fn alone(item: Vec<u8>) -> Self {
        Self { item, beside: None, repeats: false }
    }

    /// The plain form of a capture.
    pub(super) fn plain(capture: &Capture) -> Self {
        let Body::Bytes(bytes, digests) = &capture.main.body else {
            return Self::alone(envelope::encode(capture, &Where::Blob, &[], None));
        };
        let here = |layers: &[u8], inner: &[u8]| {
            let mut item = envelope::encode(capture, &Where::Here, layers, None);
            item.extend_from_slice(inner);
            Self::alone(item)
        };
        let media = capture.media().unwrap_or_default();
        let compressed = is_compressed_media(&media);
        if !bytes.is_empty()
            && !compressed
            && let Some((inner, layers)) = coding::unfold(&capture.main.head, bytes)
        {
            return here(&layers, &inner);
        }
        let coded = ResponseHead::parse(&capture.main.head).is_some_and(|h| !h.content_encodings().is_empty());
        let hopeless = || compressed || (coded || !is_text_media(&media)) && compress::is_incompressible(bytes);
        if bytes.len() >= RAW_BLOCK_BYTES_MIN && hopeless() {
            let item = envelope::encode(capture, &Where::Raw, &[], None);
            return Self { item, beside: Some((digests.sha256, bytes.clone())), repeats: false };
        }
        here(&[], bytes)
    }

    /// A capture whose body is that of another.
    pub(super) fn repeat(capture: &Capture, owner: &EntryKey) -> Self {
        let item = envelope::encode(capture, &Where::With(owner.clone()), &[], None);
        Self { item, beside: None, repeats: true }
    }

    /// The form of a capture whose body is a file. The file travels by itself.
    pub(super) fn large(mut item: Vec<u8>, sha1: &herodotus_base::Sha1) -> Self {
        item.extend_from_slice(&sha1.0);
        Self::alone(item)
    }
}

impl Store {
    /// What is known of a capture, without reading it. One that was let go is as one that never came: only what a person removed
    /// is removed everywhere.
    pub(super) fn standing(&self, id: &EntryKey) -> Result<Standing> {
        let key = id.encode();
        let waiting = self.inner.batches(|mut batches| {
            batches.find_map(|batch| match batch.said(&key)? {
                Said::Removed => Some(Standing::Removed),
                Said::Released => Some(Standing::Absent),
                Said::Stored => batch.capture(&key).cloned().map(Standing::Waiting),
            })
        });
        if let Some(standing) = waiting {
            return Ok(standing);
        }
        Ok(match self.inner.reader.entry(id)? {
            Some(entry) if entry.is_removed_for_good() => Standing::Removed,
            Some(entry) if !entry.removed => Standing::Packed,
            _ => Standing::Absent,
        })
    }

    pub(super) fn held(&self, id: &EntryKey) -> Result<Held> {
        match self.standing(id)? {
            Standing::Absent => return Ok(Held::Unknown),
            Standing::Removed => return Ok(Held::Removed),
            Standing::Waiting(capture) => return Ok(Held::Waiting(capture)),
            Standing::Packed => {}
        }
        let Some(item) = self.inner.at_place(id, |place| self.inner.reader.item(place, Some(&id.key)))? else {
            // It went in between. Whether it was removed or let go, the next who asks will hear.
            return Ok(Held::Unknown);
        };
        match envelope::decode(&mut Cursor::new(&item)) {
            Some(envelope) if envelope.id() == *id => Ok(Held::Packed(item, Box::new(envelope))),
            _ => Err(Error::Damaged(format!("another capture stands where {} of {} should be", id.key, id.time))),
        }
    }

    /// A capture in its plain form, to write others against. `None`: there is none to be had.
    pub(super) fn base(&self, id: &EntryKey) -> Result<Option<Base>> {
        let base = |item: Vec<u8>, digest| Ok(Some(Base { id: id.clone(), item, digest }));
        match self.held(id) {
            Ok(Held::Waiting(capture)) if matches!(capture.main.body, Body::Bytes(..)) => {
                base(Form::plain(&capture).item, capture.main.body.digests().sha256)
            }
            Ok(Held::Packed(item, envelope)) => match envelope.body {
                Where::Here | Where::Raw => base(item.to_vec(), envelope.sha256),
                Where::With(_) => match self.unshared(id) {
                    Ok(item) => base(item, envelope.sha256),
                    Err(Error::Damaged(_)) => Ok(None),
                    Err(e) => Err(e),
                },
                Where::Blob => Ok(None),
            },
            // What cannot be read is no base; whoever reads it for its own sake will tell.
            Ok(_) | Err(Error::Damaged(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The plain form of a capture whose body is stored with another.
    pub(super) fn unshared(&self, id: &EntryKey) -> Result<Vec<u8>> {
        let gone = || Error::Damaged(format!("{} of {} went while it was read", id.key, id.time));
        let capture = self.read(id)?.ok_or_else(gone)?;
        let part = self.inner.at_place(id, |place| self.inner.reader.main_part(id, place))?.ok_or_else(gone)?;
        let PartBody::Bytes { inner, layers } = part.body else { return Err(gone()) };
        let mut item = envelope::encode(&capture, &Where::Here, &layers, None);
        item.extend_from_slice(&inner);
        Ok(item)
    }
}
