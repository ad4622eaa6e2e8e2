//! Entities: what a reader of a page sees. The head as it came, and the body with its codings off; a revisit's body is
//! that of its original.
//!
//! [`Store::read`] gives the bytes of the wire: a body that is stored unfolded is folded for it, and whoever wants to
//! see the page unfolds it again. Here it is handed out as it is stored, once it was seen to fold to what its SHA-256
//! says. That costs most of a millisecond, so what was checked is kept in memory for the next reader. What is kept can
//! not go stale: a capture never changes, and whether it is still to be seen is asked on every call.

use crate::Store;
use crate::blob::BlobReader;
use crate::capture::{Body, Capture, Kind};
use crate::coding::{CodedBlob, Codings, Content, Plain};
use crate::entity_of::with_original;
use crate::error::{Error, Result};
use crate::index::{Entry, EntryKey};
use crate::limits::ENTITY_CACHE_BYTES;
use crate::read::{MainPart, PartBody, fold};
use crate::store::Waiting;
use bytes::Bytes;
use herodotus_base::Sha256;
use herodotus_page::ResponseHead;
use quick_cache::{Weighter, sync::Cache};
use std::io::Read;
use std::sync::Arc;

/// A capture as its reader sees it.
#[derive(Clone, Debug)]
pub struct Entity {
    pub id: EntryKey,
    pub url: String,
    /// Of the record that was asked for: a resolved revisit is still a revisit.
    pub kind: Kind,
    /// The HTTP head with its empty line, as it came; empty where the record holds no HTTP message. A revisit without
    /// one, or with that of a 304, has its original's.
    pub head: Bytes,
    /// As the head says it, or the record, where there is no head.
    pub content_type: Option<String>,
    pub body: EntityBody,
    /// Content codings that are still on the body, in the order in which they were applied: those that we do not know,
    /// that are not true, or that unfold beyond [`crate::limits::UNFOLDED_BYTES_MAX`].
    pub codings_left: Vec<String>,
    /// The capture that a revisit's payload was found with.
    pub original: Option<EntryKey>,
}

#[derive(Clone, Debug)]
pub enum EntityBody {
    Bytes(Bytes),
    Blob(LargeBody),
}

/// A body that is too large for memory. Every byte that is read of it was checked against its chunk's SHA-256.
#[derive(Clone, Debug)]
pub struct LargeBody {
    /// As it came over the wire.
    pub len: u64,
    pub sha256: Sha256,
    coded: CodedBlob,
}

impl LargeBody {
    /// Whether codings come off when it is read: then its length is not known, and it can only be read from its
    /// beginning.
    pub fn is_coded(&self) -> bool {
        self.coded.is_coded()
    }

    /// Whether it lies elsewhere, so that whoever reads it may have to wait for others.
    pub fn is_elsewhere(&self) -> bool {
        self.coded.is_elsewhere()
    }

    /// The content from its beginning, codings taken off as it is read.
    pub fn open(&self) -> Result<Content> {
        self.coded.open()
    }

    /// The content from an offset on, without reading what is before it. Refused where it is coded.
    pub fn open_at(&self, offset: u64) -> Result<Box<dyn Read + Send>> {
        if self.is_coded() {
            return Err(Error::Refused("a coded body can only be read from its beginning".into()));
        }
        self.coded.open_wire(offset)
    }
}

/// Entities that were checked.
#[derive(Debug)]
pub(crate) struct EntityCache(Cache<EntryKey, Arc<Entity>, EntityWeight>);

#[derive(Clone, Debug)]
struct EntityWeight;

impl Weighter<EntryKey, Arc<Entity>> for EntityWeight {
    fn weight(&self, key: &EntryKey, entity: &Arc<Entity>) -> u64 {
        let body = if let EntityBody::Bytes(bytes) = &entity.body { bytes.len() } else { 0 };
        (body + entity.head.len() + entity.url.len() + key.key.len() * 2 + 400) as u64
    }
}

impl EntityCache {
    pub(crate) fn new() -> Self {
        // The number decides into how many parts the cache is split: two, so that a part takes in the largest body.
        Self(Cache::with_weighter(64, ENTITY_CACHE_BYTES, EntityWeight))
    }
}

impl Store {
    /// A capture as its reader sees it, checked. `None`: it is not here, or was removed. It is kept in memory for the
    /// next reader.
    pub fn entity(&self, id: &EntryKey) -> Result<Option<Arc<Entity>>> {
        if !self.is_visible(id)? {
            return Ok(None);
        }
        if let Some(entity) = self.inner.entities.0.get(id) {
            let original_is_here = match &entity.original {
                Some(original) => self.is_visible(original)?,
                None => true,
            };
            if original_is_here {
                return Ok(Some(entity));
            }
        }
        let Some((entity, lasts)) = self.make_entity(id)? else { return Ok(None) };
        let entity = Arc::new(entity);
        if lasts {
            self.inner.entities.0.insert(id.clone(), entity.clone());
        }
        Ok(Some(entity))
    }

    /// The same for one who reads through the whole archive and should not push out what others read again.
    pub fn entity_in_passing(&self, id: &EntryKey) -> Result<Option<Entity>> {
        Ok(self.make_entity(id)?.map(|(entity, _)| entity))
    }

    /// Reads a capture with the payload it stands for: a revisit's is that of its original, if that is here.
    pub fn read_resolved(&self, id: &EntryKey) -> Result<Option<Capture>> {
        let Some(capture) = self.read(id)? else { return Ok(None) };
        let original = match self.original_of(&capture)? {
            Some(original) => self.read(&original.id)?,
            None => None,
        };
        Ok(Some(match original {
            Some(original) => with_original(capture, original),
            None => capture,
        }))
    }

    fn is_visible(&self, id: &EntryKey) -> Result<bool> {
        Ok(match self.inner.waiting(id) {
            Some(waiting) => matches!(waiting, Waiting::Stored(_)),
            None => self.inner.reader.entry(id)?.is_some_and(|entry: Entry| !entry.removed),
        })
    }

    /// The entity, and whether it will be the same when it is asked for again.
    fn make_entity(&self, id: &EntryKey) -> Result<Option<(Entity, bool)>> {
        let Some(mut part) = self.main_part(id)? else { return Ok(None) };
        let (mut original, mut lasts) = (None, true);
        if part.kind == Kind::Revisit {
            let Some(revisit) = self.read(id)? else { return Ok(None) };
            if let Some(found) = self.original_of(&revisit)?
                && let Some(payload) = self.main_part(&found.id)?
            {
                // With a digest of its own and a head of its own, it is the same whichever capture the payload is taken
                // from.
                lasts = revisit.main.field("WARC-Payload-Digest").is_some();
                if lacks_head(&revisit) {
                    (part.head, lasts) = (payload.head, false);
                }
                (part.body, original) = (payload.body, Some(found.id));
            } else {
                // The original may still come.
                lasts = false;
            }
        }
        let disk = &self.inner.disk;
        let open = |sha256: Sha256| -> Result<(CodedBlob, u64)> {
            Ok((CodedBlob::new(disk.clone(), sha256), BlobReader::open(&**disk, &sha256)?.len))
        };
        Ok(Some((entity(id, part, original, open)?, lasts)))
    }

    fn main_part(&self, id: &EntryKey) -> Result<Option<MainPart>> {
        match self.inner.waiting(id) {
            Some(Waiting::Removed | Waiting::Released) => Ok(None),
            Some(Waiting::Stored(capture)) => Ok(Some(part_of(&capture))),
            None => self.inner.at_place(id, |place| self.inner.reader.main_part(id, place)),
        }
    }
}

/// An entity of its part: the codings come off. `open` finds a large body, and its length.
pub(crate) fn entity(
    id: &EntryKey,
    part: MainPart,
    original: Option<EntryKey>,
    open: impl FnOnce(Sha256) -> Result<(CodedBlob, u64)>,
) -> Result<Entity> {
    let codings = Codings::of(&part.head);
    let (body, codings_left) = match part.body {
        PartBody::Bytes { inner, layers } => {
            let Plain { mut body, codings_left } = match codings.clone().without(&layers) {
                Some(left) => left.take_off(inner),
                None => codings.take_off(fold(&layers, &inner)?),
            };
            body.shrink_to_fit();
            (EntityBody::Bytes(body.into()), codings_left)
        }
        PartBody::Blob(sha256) => {
            let (blob, len) = open(sha256)?;
            let (coded, left) = codings.take_off_blob(blob)?;
            (EntityBody::Blob(LargeBody { len, sha256, coded }), left)
        }
    };
    let said = ResponseHead::parse(&part.head).and_then(|h| h.header("content-type").map(|v| v.into_owned()));
    let content_type = if part.head.is_empty() { part.record_type } else { said };
    let head = part.head.into();
    Ok(Entity { id: id.clone(), url: part.url, kind: part.kind, head, content_type, body, codings_left, original })
}

/// What a capture that waits in memory will be in a pack. Its digests were taken when it came.
pub(crate) fn part_of(capture: &Capture) -> MainPart {
    let main = &capture.main;
    let body = match &main.body {
        Body::Bytes(bytes, _) => PartBody::Bytes { inner: bytes.to_vec(), layers: Vec::new() },
        Body::Blob { digests, .. } => PartBody::Blob(digests.sha256),
    };
    MainPart {
        url: capture.url.clone(),
        kind: main.kind.clone(),
        head: main.head.clone(),
        record_type: main.field("Content-Type").map(str::to_owned),
        body,
    }
}

/// A 304 is the head of an empty answer, not of the payload that a revisit stands for.
pub(crate) fn lacks_head(revisit: &Capture) -> bool {
    revisit.main.head.is_empty() || revisit.status() == Some(304)
}
