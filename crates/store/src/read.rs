//! Reading: from a place in a pack to the very bytes that came over the wire, checked.
//!
//! An *item* is the envelope of a capture and, if it is kept there, its body. Items never change: compaction moves
//! them, and packs them differently, but the bytes of an item are the same for ever, because other items may be stored as
//! differences to them.

use crate::block::Kind;
use crate::capture::{Body, Capture};
use crate::coding;
use crate::compress;
use crate::envelope::{self, Envelope, Where};
use crate::error::{Error, Result};
use crate::index::{BodyAt, BodyPlace, Engine, Entry, EntryKey, Place, Table, body_key};
use crate::limits::{CHAIN_DEPTH_MAX, FRAME_CACHE_BYTES};
use crate::pack::Packs;
use crate::wire::{Cursor, Put};
use herodotus_base::{Digests, Sha256, Timestamp};
use quick_cache::{Weighter, sync::Cache};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The bytes of an item, inside the frame that they were unpacked from.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    frame: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Item {
    pub(crate) fn alone(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { frame: Arc::new(bytes), range }
    }
}

impl Deref for Item {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.frame.get(self.range.clone()).unwrap_or_default()
    }
}

#[derive(Clone, Debug)]
struct FrameWeight;

impl Weighter<(u32, u64), Arc<Vec<u8>>> for FrameWeight {
    fn weight(&self, _: &(u32, u64), frame: &Arc<Vec<u8>>) -> u64 {
        frame.len() as u64 + 64
    }
}

/// Reads items and bodies out of packs.
#[derive(Debug)]
pub(crate) struct ItemReader {
    pub(crate) packs: Packs,
    engine: Arc<dyn Engine>,
    frames: Cache<(u32, u64), Arc<Vec<u8>>, FrameWeight>,
}

/// What a difference was made to: the capture's name (its key is that of the difference itself), and where it stood then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BaseRef {
    pub(crate) time: Timestamp,
    pub(crate) tag: [u8; 8],
    /// Right unless a compaction came since; good for readers that know no key.
    pub(crate) hint: Place,
}

impl BaseRef {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.put_i64(self.time.millis());
        out.put_raw(&self.tag);
        out.put_u64(u64::from(self.hint.pack));
        out.put_u64(self.hint.offset);
        out.put_u64(u64::from(self.hint.slot));
    }

    fn take(c: &mut Cursor<'_>) -> Option<Self> {
        let (time, tag) = (Timestamp::from_millis(c.i64()?)?, c.array()?);
        Some(Self { time, tag, hint: Place { pack: c.u32()?, offset: c.u64()?, slot: c.u32()? } })
    }
}

/// Lays out the items of a shared frame: how many, how long each, then the items.
pub(crate) fn encode_group(items: &[u8], lens: &[usize]) -> Vec<u8> {
    let mut out = Vec::with_capacity(items.len() + lens.len() * 3 + 3);
    out.put_len(lens.len());
    for len in lens {
        out.put_len(*len);
    }
    out.put_raw(items);
    out
}

/// Where item number `slot` stands in a frame.
pub(crate) fn group_slot(frame: &[u8], slot: u32) -> Option<Range<usize>> {
    let mut c = Cursor::new(frame);
    let count = c.usize()?;
    let mut before = 0usize;
    let mut found = None;
    for i in 0..count {
        let len = c.usize()?;
        if i == slot as usize {
            found = Some((before, len));
        }
        before = before.checked_add(len)?;
    }
    let (before, len) = found?;
    let start = (frame.len() - c.rest().len()).checked_add(before)?;
    let end = start.checked_add(len)?;
    (end <= frame.len()).then_some(start..end)
}

impl ItemReader {
    pub(crate) fn new(packs: Packs, engine: Arc<dyn Engine>) -> Self {
        let frames = Cache::with_weighter(1024, FRAME_CACHE_BYTES, FrameWeight);
        Self { packs, engine, frames }
    }

    /// The entry of a capture, whether or not it may be seen.
    pub(crate) fn entry(&self, id: &EntryKey) -> Result<Option<Entry>> {
        let Some(value) = self.engine.get(Table::Captures, &id.encode())? else { return Ok(None) };
        decode_entry(id.clone(), &value).map(Some)
    }

    pub(crate) fn body_place(&self, sha256: &Sha256) -> Result<Option<BodyPlace>> {
        let value = self.engine.get(Table::Bodies, &body_key(sha256))?;
        Ok(value.and_then(|v| BodyPlace::decode(&v)))
    }

    /// The item at a place. `key` is the capture's, where the caller knows it.
    pub(crate) fn item(&self, place: Place, key: Option<&str>) -> Result<Item> {
        self.item_at(place, key, usize::from(CHAIN_DEPTH_MAX) + 1)
    }

    fn item_at(&self, place: Place, key: Option<&str>, steps_left: usize) -> Result<Item> {
        let damaged = |what: &str| {
            Error::Damaged(format!("{} at byte {} {what}", crate::pack::name(place.pack), place.offset))
        };
        if let Some(frame) = self.frames.get(&(place.pack, place.offset)) {
            let range = group_slot(&frame, place.slot).ok_or_else(|| damaged("lacks an item"))?;
            return Ok(Item { frame, range });
        }
        let block = self.packs.block(place.pack, place.offset)?;
        match block.header.kind {
            Kind::Group => {
                let frame = Arc::new(block.unpacked()?);
                let range = group_slot(&frame, place.slot).ok_or_else(|| damaged("lacks an item"))?;
                self.frames.insert((place.pack, place.offset), frame.clone());
                Ok(Item { frame, range })
            }
            Kind::Delta => {
                let steps_left = steps_left.checked_sub(1).ok_or_else(|| damaged("is in an endless chain"))?;
                let mut c = Cursor::new(&block.payload);
                let base = BaseRef::take(&mut c).ok_or_else(|| damaged("has no base"))?;
                let base = self.base(&base, key, steps_left)?;
                compress::unpack_delta(c.rest(), &base, block.header.raw_len).map(Item::alone)
            }
            _ => Err(damaged("is not a capture")),
        }
    }

    fn base(&self, base: &BaseRef, key: Option<&str>, steps_left: usize) -> Result<Item> {
        let gone = |id: &EntryKey| {
            Error::Damaged(format!("the version of {} that this one was stored against is gone", id.time))
        };
        if let Some(key) = key {
            let id = EntryKey { key: key.to_owned(), time: base.time, tag: base.tag };
            let place = self.entry(&id)?.and_then(|e| e.place).ok_or_else(|| gone(&id))?;
            return self.item_at(place, Some(key), steps_left);
        }
        // Without the key the place may be out of date, so what is found must name itself rightly.
        let item = self.item_at(base.hint, None, steps_left)?;
        let found = envelope::decode(&mut Cursor::new(&item)).map(|e| e.id());
        match found {
            Some(id) if id.time == base.time && id.tag == base.tag => Ok(item),
            _ => Err(Error::Damaged("a version has moved".into())),
        }
    }

    /// What a difference at this place was made to, if it is one.
    pub(crate) fn base_of(&self, place: Place) -> Result<Option<BaseRef>> {
        let block = self.packs.block(place.pack, place.offset)?;
        Ok(if block.header.kind == Kind::Delta { BaseRef::take(&mut Cursor::new(&block.payload)) } else { None })
    }

    /// The capture that has the body of the one at this place, if that is another.
    pub(crate) fn owner_of(&self, id: &EntryKey, place: Place) -> Result<Option<EntryKey>> {
        let item = self.item(place, Some(&id.key))?;
        let envelope = envelope::decode(&mut Cursor::new(&item)).ok_or_else(|| Error::Damaged(unreadable(id)))?;
        Ok(if let Where::With(owner) = envelope.body { Some(owner) } else { None })
    }

    /// A whole capture, its body checked against its SHA-256.
    pub(crate) fn capture(&self, id: &EntryKey, place: Place) -> Result<Capture> {
        let item = self.item(place, Some(&id.key))?;
        let mut c = Cursor::new(&item);
        let envelope = envelope::decode(&mut c).ok_or_else(|| Error::Damaged(unreadable(id)))?;
        let body = self.body(id, &envelope, c.rest())?;
        Ok(envelope.with_body(body))
    }

    fn body(&self, id: &EntryKey, envelope: &Envelope, here: &[u8]) -> Result<Body> {
        let wire = match &envelope.body {
            Where::Here => fold(&envelope.layers, here)?,
            Where::Raw => self.raw_body(&envelope.sha256)?,
            Where::Blob => {
                let reader = crate::blob::BlobReader::open(self.packs.disk(), &envelope.sha256)?;
                return Ok(Body::Blob { len: reader.len, digests: reader.digests });
            }
            Where::With(owner) => {
                let gone = || Error::Damaged(format!("the capture of {} {} whose body this one has is gone", owner.key, owner.time));
                let place = self.entry(owner)?.and_then(|e| e.place).ok_or_else(gone)?;
                let item = self.item(place, Some(&owner.key))?;
                let mut c = Cursor::new(&item);
                let owner = envelope::decode(&mut c).ok_or_else(|| Error::Damaged(unreadable(owner)))?;
                match owner.body {
                    Where::Here => fold(&owner.layers, c.rest())?,
                    _ => return Err(gone()),
                }
            }
        };
        let digests = Digests::of(&wire);
        if digests.sha256 != envelope.sha256 {
            return Err(Error::Damaged(format!("the body of {} of {} fails its digest", id.key, id.time)));
        }
        Ok(Body::Bytes(wire.into(), digests))
    }

    fn raw_body(&self, sha256: &Sha256) -> Result<Vec<u8>> {
        let place = self.body_place(sha256)?.map(|place| place.at);
        let Some(BodyAt::Raw { pack, offset }) = place else {
            return Err(Error::Damaged(format!("the body {sha256} is not in the index")));
        };
        self.packs.block(pack, offset)?.unpacked()
    }
}

fn fold(layers: &[u8], stored: &[u8]) -> Result<Vec<u8>> {
    if layers.is_empty() {
        return Ok(stored.to_vec());
    }
    coding::fold(layers, stored).ok_or_else(|| Error::Damaged("a coded body cannot be put together again".into()))
}

fn unreadable(id: &EntryKey) -> String {
    format!("the envelope of {} of {} cannot be read", id.key, id.time)
}

pub(crate) fn decode_entry(id: EntryKey, value: &[u8]) -> Result<Entry> {
    let about = format!("the index entry of {} of {}", id.key, id.time);
    Entry::decode(id, value).ok_or(Error::Damaged(about))
}
