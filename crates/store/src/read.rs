//! Reading: from a place in a pack to the very bytes that came over the wire, checked.
//!
//! An *item* is the envelope of a capture and, if it is kept there, its body. Items never change: compaction moves
//! them, and packs them differently, but the bytes of an item are the same for ever, because other items may be stored
//! as differences to them.

use crate::block::{Block, Kind as BlockKind};
use crate::capture::{Body, Capture, Kind};
use crate::coding;
use crate::compress;
use crate::envelope::{self, Envelope, Where};
use crate::error::{Error, Result};
use crate::hashing;
use crate::index::{BodyAt, BodyPlace, Engine, Entry, EntryKey, Place, Table, body_key};
use crate::limits::{CHAIN_DEPTH_MAX, FRAME_CACHE_BYTES, PROOFS_MAX};
use crate::pack::Packs;
use crate::patch;
use crate::wire::{Cursor, Put};
use herodotus_base::{Sha256, Timestamp};
use quick_cache::{Weighter, sync::Cache};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex};

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

/// A block that was read lately, unpacked.
#[derive(Clone, Debug)]
struct Frame {
    /// Of items perhaps only the first.
    bytes: Arc<Vec<u8>>,
    of: Of,
}

/// What stands in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Items,
    /// Differences that are packed one by one, each with its base.
    Deltas,
    Patches,
}

#[derive(Clone, Debug)]
struct FrameWeight;

impl Weighter<(u32, u64), Frame> for FrameWeight {
    fn weight(&self, _: &(u32, u64), frame: &Frame) -> u64 {
        frame.bytes.len() as u64 + 64
    }
}

/// Reads items and bodies out of packs.
#[derive(Debug)]
pub(crate) struct ItemReader {
    pub(crate) packs: Packs,
    engine: Arc<dyn Engine>,
    frames: Cache<(u32, u64), Frame, FrameWeight>,
    /// What the last seal thinks that the next one will write against. At most [`crate::limits::BASES_BYTES`].
    bases: Mutex<HashMap<Place, Item>>,
    /// Digest on the wire → digest of the stored body and its recipe, which were found to fold to it.
    proofs: Cache<Sha256, [u8; 32]>,
}

/// A body as it is stored, and its recipe.
type StoredBody<'a> = (Cow<'a, [u8]>, Vec<u8>);

/// What readers see of a capture: its main record, without its WARC header.
#[derive(Debug)]
pub(crate) struct MainPart {
    pub(crate) url: String,
    pub(crate) kind: Kind,
    /// The HTTP head.
    pub(crate) head: Vec<u8>,
    /// The media type that the WARC record gives itself.
    pub(crate) record_type: Option<String>,
    pub(crate) body: PartBody,
}

#[derive(Debug)]
pub(crate) enum PartBody {
    /// Checked; the layers of the recipe are off.
    Bytes {
        inner: Vec<u8>,
        layers: Vec<u8>,
    },
    Blob(Sha256),
}

/// What a difference was made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BaseRef {
    /// The item in this slot of the same block.
    Near(u32),
    /// A capture of the same key, and where it stood then: right unless a compaction came since, and good for readers
    /// that know no key.
    Far { time: Timestamp, tag: [u8; 8], hint: Place },
}

impl BaseRef {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Near(slot) => out.put_u64(u64::from(*slot) + 1),
            Self::Far { time, tag, hint } => {
                out.put_u64(0);
                out.put_i64(time.millis());
                out.put_raw(tag);
                out.put_u64(u64::from(hint.pack));
                out.put_u64(hint.offset);
                out.put_u64(u64::from(hint.slot));
            }
        }
    }

    fn take(c: &mut Cursor<'_>) -> Option<Self> {
        Some(match c.u64()? {
            0 => {
                let (time, tag) = (Timestamp::from_millis(c.i64()?)?, c.array()?);
                Self::Far { time, tag, hint: Place { pack: c.u32()?, offset: c.u64()?, slot: c.u32()? } }
            }
            near => Self::Near(u32::try_from(near - 1).ok()?),
        })
    }
}

/// Writes one difference of a block: what to, how long the item is, and what makes it of the other.
pub(crate) fn put_delta(out: &mut Vec<u8>, base: &BaseRef, raw_len: usize, patch: &[u8]) {
    base.put(out);
    out.put_len(raw_len);
    out.put_raw(patch);
}

fn take_delta(block: &[u8], slot: u32) -> Option<(BaseRef, usize, &[u8])> {
    let mut c = Cursor::new(block.get(group_slot(block, slot)?)?);
    Some((BaseRef::take(&mut c)?, c.usize()?, c.rest()))
}

/// Lays out the items of a shared frame: how many, how long each, then the items.
pub(crate) fn put_group<T: Deref<Target = [u8]>>(out: &mut Vec<u8>, items: &[T]) {
    let bytes: usize = items.iter().map(|item| item.len()).sum();
    out.clear();
    out.reserve(bytes + items.len() * 3 + 3);
    out.put_len(items.len());
    items.iter().for_each(|item| out.put_len(item.len()));
    items.iter().for_each(|item| out.put_raw(item));
}

#[cfg(test)]
pub(crate) fn encode_group<T: Deref<Target = [u8]>>(items: &[T]) -> Vec<u8> {
    let mut out = Vec::new();
    put_group(&mut out, items);
    out
}

/// Where item number `slot` stands in a frame, if it is there.
fn group_slot(frame: &[u8], slot: u32) -> Option<Range<usize>> {
    group_range(frame, slot).filter(|range| range.end <= frame.len())
}

/// Where item number `slot` stands in a frame of which the beginning is given.
fn group_range(frame: &[u8], slot: u32) -> Option<Range<usize>> {
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
    Some(start..start.checked_add(len)?)
}

/// How many items there are in a block that needs no other to be read, and so may travel as it lies. `None`: it is of another kind.
pub(crate) fn count_whole(block: &Block) -> Result<Option<usize>> {
    if block.header.kind != BlockKind::Group {
        return Ok(None);
    }
    if let Some(slots) = block.header.slots {
        return Ok(Some(usize::from(slots.get())));
    }
    let start = block.clone().unpacked_start(|start| Some(start.len()))?;
    Cursor::new(&start).usize().map(Some).ok_or_else(|| Error::Damaged("a block cannot be read".into()))
}

/// The items of such a block, unpacked, slot by slot. `None`: it is of another kind, or not what we write, to the last byte.
pub(crate) fn whole_items(kind: BlockKind, raw: Vec<u8>) -> Option<Vec<Item>> {
    (kind == BlockKind::Group).then_some(())?;
    let mut c = Cursor::new(&raw);
    // Each length takes a byte at least.
    let count = c.usize().filter(|count| *count <= raw.len())?;
    let lens: Vec<usize> = (0..count).map(|_| c.usize()).collect::<Option<_>>()?;
    let mut at = raw.len() - c.rest().len();
    let mut ranges = Vec::with_capacity(count);
    for len in lens {
        let end = at.checked_add(len).filter(|end| *end <= raw.len())?;
        ranges.push(at..end);
        at = end;
    }
    (at == raw.len()).then_some(())?;
    let frame = Arc::new(raw);
    Some(ranges.into_iter().map(|range| Item { frame: frame.clone(), range }).collect())
}

/// A difference as it stands in a block of patches.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) base: BaseRef,
    pub(crate) raw_len: usize,
    pub(crate) bytes: Vec<u8>,
}

impl ItemReader {
    pub(crate) fn new(packs: Packs, engine: Arc<dyn Engine>) -> Self {
        // The number decides into how many parts the cache is split, more of them on more processors: at most two, so that a part takes in the largest frame.
        let frames = Cache::with_weighter(64, FRAME_CACHE_BYTES, FrameWeight);
        Self { packs, engine, frames, bases: Mutex::default(), proofs: Cache::new(PROOFS_MAX) }
    }

    /// The entry of a capture, whether or not it may be seen.
    pub(crate) fn entry(&self, id: &EntryKey) -> Result<Option<Entry>> {
        let Some(value) = self.engine.get(Table::Captures, &id.encode())? else { return Ok(None) };
        decode_entry(id.clone(), &value).map(Some)
    }

    /// Whether the index has anything of a capture, be it that it was removed.
    pub(crate) fn has_entry(&self, id: &EntryKey) -> Result<bool> {
        Ok(self.engine.get(Table::Captures, &id.encode())?.is_some())
    }

    pub(crate) fn body_place(&self, sha256: &Sha256) -> Result<Option<BodyPlace>> {
        let value = self.engine.get(Table::Bodies, &body_key(sha256))?;
        Ok(value.and_then(|v| BodyPlace::decode(&v)))
    }

    /// The item at a place. `key` is the capture's, where the caller knows it.
    pub(crate) fn item(&self, place: Place, key: Option<&str>) -> Result<Item> {
        // As long as a chain may be, and as much again for places that are out of date.
        self.item_at(place, key, &Cell::new(2 * (usize::from(CHAIN_DEPTH_MAX) + 1)))
    }

    /// The same, of one that a new item is written against: the seal before may have left it in memory. It does so once.
    pub(crate) fn base(&self, place: Place, key: Option<&str>) -> Result<Item> {
        let left = self.bases.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(&place);
        left.map_or_else(|| self.item(place, key), Ok)
    }

    /// Leaves items for the next seal, in the place of those that the one before left. Nothing else is ever written at a place, so
    /// that they are right however late they are asked for.
    pub(crate) fn leave_bases(&self, bases: HashMap<Place, Item>) {
        *self.bases.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = bases;
    }

    #[cfg(test)]
    pub(crate) fn bases_left(&self) -> HashMap<Place, Item> {
        self.bases.lock().unwrap().clone()
    }

    fn item_at(&self, place: Place, key: Option<&str>, steps_left: &Cell<usize>) -> Result<Item> {
        let damaged =
            |what: &str| Error::Damaged(format!("{} at byte {} {what}", crate::pack::name(place.pack), place.offset));
        let Frame { bytes, of } = self.frame(place)?;
        if of == Of::Items {
            let range = group_slot(&bytes, place.slot).ok_or_else(|| damaged("lacks an item"))?;
            return Ok(Item { frame: bytes, range });
        }
        steps_left.set(steps_left.get().checked_sub(1).ok_or_else(|| damaged("is in an endless chain"))?);
        let (base, raw_len, delta) = take_delta(&bytes, place.slot).ok_or_else(|| damaged("lacks a difference"))?;
        let base = match base {
            BaseRef::Near(slot) => self.item_at(Place { slot, ..place }, key, steps_left)?,
            BaseRef::Far { time, tag, hint } => self.far(place, (time, tag), hint, key, steps_left)?,
        };
        let item = match of {
            Of::Patches => patch::apply(delta, &base, raw_len),
            _ => compress::unpack_delta(delta, &base, raw_len),
        };
        item.map(Item::alone)
    }

    /// The block at a place, unpacked at least as far as the slot. One that is asked for again is unpacked wholly: whoever
    /// reads item after item would else begin anew for each.
    fn frame(&self, place: Place) -> Result<Frame> {
        let known = self.frames.get(&(place.pack, place.offset));
        let is_known = known.is_some();
        if let Some(frame) =
            known.filter(|frame| frame.of != Of::Items || group_slot(&frame.bytes, place.slot).is_some())
        {
            return Ok(frame);
        }
        let block = self.packs.block(place.pack, place.offset)?;
        let of = match block.header.kind {
            BlockKind::Group => Of::Items,
            BlockKind::Deltas => Of::Deltas,
            BlockKind::Patches => Of::Patches,
            _ => {
                return Err(Error::Damaged(format!(
                    "{} at byte {} is no capture",
                    crate::pack::name(place.pack),
                    place.offset
                )));
            }
        };
        let bytes = if is_known || of != Of::Items {
            block.unpacked()?
        } else {
            block.unpacked_start(|start| group_range(start, place.slot).map(|range| range.end))?
        };
        let frame = Frame { bytes: Arc::new(bytes), of };
        self.frames.insert((place.pack, place.offset), frame.clone());
        Ok(frame)
    }

    /// The patch at a place, or the whole block there, which is of another kind.
    pub(crate) fn patch_or_block(&self, place: Place) -> Result<Result<Patch, Block>> {
        let known = self.frames.get(&(place.pack, place.offset)).filter(|frame| frame.of == Of::Patches);
        let frame = match known {
            Some(frame) => frame,
            None => {
                let block = self.packs.block(place.pack, place.offset)?;
                if block.header.kind != BlockKind::Patches {
                    return Ok(Err(block));
                }
                let frame = Frame { bytes: Arc::new(block.unpacked()?), of: Of::Patches };
                self.frames.insert((place.pack, place.offset), frame.clone());
                frame
            }
        };
        let found = take_delta(&frame.bytes, place.slot);
        let (base, raw_len, patch) = found.ok_or_else(|| Error::Damaged("a block lacks a difference".into()))?;
        Ok(Ok(Patch { base, raw_len, bytes: patch.to_vec() }))
    }

    /// What the difference at `from` was made to. It is looked for where it stood then: it does so still unless a compaction
    /// came since, and asking the index at each step of a chain takes as long as the unpacking.
    fn far(
        &self,
        from: Place,
        named: (Timestamp, [u8; 8]),
        hint: Place,
        key: Option<&str>,
        steps_left: &Cell<usize>,
    ) -> Result<Item> {
        let found = self.item_at(hint, key, steps_left).and_then(|item| match envelope::name_of(&item) {
            Some(name) if name == named => Ok(item),
            _ => Err(Error::Damaged("a version has moved".into())),
        });
        let Some(key) = key.filter(|_| found.is_err()) else { return found };
        let (time, tag) = named;
        let base = self.entry(&EntryKey { key: key.to_owned(), time, tag })?;
        // If it was written anew since, its bytes are others: the ones meant were where they stood then, or are nowhere.
        let is_another =
            base.as_ref().and_then(|base| base.mended).is_some_and(|since| since > (from.pack, from.offset));
        let gone = || Error::Damaged(format!("the version of {time} that this one was stored against is gone"));
        match base.and_then(|base| base.place) {
            Some(place) if is_another || place == hint => found,
            place => self.item_at(place.ok_or_else(gone)?, Some(key), steps_left),
        }
    }

    /// The capture that the one at this place was stored against, if it is a difference.
    pub(crate) fn base_of(&self, id: &EntryKey, place: Place) -> Result<Option<EntryKey>> {
        let Frame { bytes, of } = self.frame(place)?;
        if of == Of::Items {
            return Ok(None);
        }
        let Some((base, ..)) = take_delta(&bytes, place.slot) else { return Err(Error::Damaged(unreadable(id))) };
        Ok(Some(match base {
            BaseRef::Far { time, tag, .. } => EntryKey { key: id.key.clone(), time, tag },
            BaseRef::Near(slot) => {
                let item = self.item(Place { slot, ..place }, Some(&id.key))?;
                let base = envelope::decode(&mut Cursor::new(&item));
                base.ok_or_else(|| Error::Damaged(unreadable(id)))?.id()
            }
        }))
    }

    /// Whether the bytes at `place` cannot be unpacked without those of another capture, which stand at `other_place`.
    pub(crate) fn leans_on(&self, mut place: Place, other: &EntryKey, other_place: Place) -> Result<bool> {
        for _ in 0..=CHAIN_DEPTH_MAX {
            let Frame { bytes, of } = self.frame(place)?;
            if of == Of::Items {
                return Ok(false);
            }
            match take_delta(&bytes, place.slot).ok_or_else(|| Error::Damaged(unreadable(other)))?.0 {
                BaseRef::Far { time, tag, .. } => return Ok(time == other.time && tag == other.tag),
                BaseRef::Near(slot) => place.slot = slot,
            }
            if place == other_place {
                return Ok(true);
            }
        }
        Ok(false)
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
        if envelope.id() != *id {
            return Err(Error::Damaged(format!("another capture stands where {} of {} should be", id.key, id.time)));
        }
        let body = self.body(id, &envelope, c.rest())?;
        Ok(envelope.with_body(body))
    }

    fn body(&self, id: &EntryKey, envelope: &Envelope, here: &[u8]) -> Result<Body> {
        let Some((inner, layers)) = self.stored_body(envelope, here)? else {
            let reader = crate::blob::BlobReader::open(self.packs.disk(), &envelope.sha256)?;
            return Ok(Body::Blob { len: reader.len, digests: reader.digests });
        };
        let wire = if layers.is_empty() { inner } else { Cow::Owned(fold(&layers, &inner)?) };
        let digests = hashing::of_body(&wire);
        if digests.sha256 != envelope.sha256 {
            return Err(Error::Damaged(fails_digest(id)));
        }
        Ok(Body::Bytes(wire.into(), digests))
    }

    /// What of a capture its readers see, the body as it is stored but checked: it folds to what came over the wire.
    pub(crate) fn main_part(&self, id: &EntryKey, place: Place) -> Result<MainPart> {
        let item = self.item(place, Some(&id.key))?;
        let mut c = Cursor::new(&item);
        let envelope = envelope::decode(&mut c).ok_or_else(|| Error::Damaged(unreadable(id)))?;
        if envelope.id() != *id {
            return Err(Error::Damaged(format!("another capture stands where {} of {} should be", id.key, id.time)));
        }
        let body = match self.stored_body(&envelope, c.rest())? {
            None => PartBody::Blob(envelope.sha256),
            Some((inner, layers)) => {
                self.prove(id, &envelope.sha256, &inner, &layers)?;
                PartBody::Bytes { inner: inner.into_owned(), layers }
            }
        };
        let (url, kind, head, record_type) = envelope.into_main();
        Ok(MainPart { url, kind, head, record_type, body })
    }

    /// Checks that a stored body folds to what has this digest. Folding costs far more than hashing, so what was folded
    /// once is known again by its own digest.
    fn prove(&self, id: &EntryKey, sha256: &Sha256, inner: &[u8], layers: &[u8]) -> Result<()> {
        use sha2::Digest;
        if layers.is_empty() {
            let right = Sha256::of(inner) == *sha256;
            return if right { Ok(()) } else { Err(Error::Damaged(fails_digest(id))) };
        }
        let fingerprint = sha2::Sha256::new_with_prefix(Sha256::of(layers).0).chain_update(inner).finalize().into();
        if self.proofs.get(sha256) == Some(fingerprint) {
            return Ok(());
        }
        if Sha256::of(&fold(layers, inner)?) != *sha256 {
            return Err(Error::Damaged(fails_digest(id)));
        }
        self.proofs.insert(*sha256, fingerprint);
        Ok(())
    }

    /// A body as it is stored, and the recipe that folds it. `None`: it is a blob.
    fn stored_body<'a>(&self, envelope: &Envelope, here: &'a [u8]) -> Result<Option<StoredBody<'a>>> {
        Ok(Some(match &envelope.body {
            Where::Here => (Cow::Borrowed(here), envelope.layers.clone()),
            Where::Raw => (Cow::Owned(self.raw_body(&envelope.sha256)?), Vec::new()),
            Where::Blob => return Ok(None),
            Where::With(owner) => {
                let gone = || {
                    Error::Damaged(format!(
                        "the capture of {} {} whose body this one has is gone",
                        owner.key, owner.time
                    ))
                };
                let place = self.entry(owner)?.and_then(|e| e.place).ok_or_else(gone)?;
                let item = self.item(place, Some(&owner.key))?;
                let mut c = Cursor::new(&item);
                let owner = envelope::decode(&mut c).ok_or_else(|| Error::Damaged(unreadable(owner)))?;
                match owner.body {
                    Where::Here => (Cow::Owned(c.rest().to_vec()), owner.layers),
                    _ => return Err(gone()),
                }
            }
        }))
    }

    pub(crate) fn raw_body(&self, sha256: &Sha256) -> Result<Vec<u8>> {
        let place = self.body_place(sha256)?.map(|place| place.at);
        let Some(BodyAt::Raw { pack, offset }) = place else {
            return Err(Error::Damaged(format!("the body {sha256} is not in the index")));
        };
        self.packs.block(pack, offset)?.unpacked()
    }
}

/// Puts the layers on that a body is stored without.
pub(crate) fn fold(layers: &[u8], stored: &[u8]) -> Result<Vec<u8>> {
    coding::fold(layers, stored).ok_or_else(|| Error::Damaged("a coded body cannot be put together again".into()))
}

fn fails_digest(id: &EntryKey) -> String {
    format!("the body of {} of {} fails its digest", id.key, id.time)
}

fn unreadable(id: &EntryKey) -> String {
    format!("the envelope of {} of {} cannot be read", id.key, id.time)
}

pub(crate) fn decode_entry(id: EntryKey, value: &[u8]) -> Result<Entry> {
    let mut entry = Entry::gone(id);
    match entry.read_value(value) {
        Some(()) => Ok(entry),
        None => Err(Error::Damaged(format!("the index entry of {} of {}", entry.id.key, entry.id.time))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::SimDisk;
    use crate::index::MemoryEngine;
    use crate::pack::PackWriter;

    #[test]
    fn items_of_a_large_frame_come_out_in_any_order() {
        let disk = Arc::new(SimDisk::new());
        let mut writer = PackWriter::new(disk.clone(), None, 1).unwrap();
        writer.begin(true).unwrap();
        let item = |n: u32| (0..40_000u32).map(|i| (i.wrapping_mul(2 * n + 1) >> 7) as u8).collect::<Vec<_>>();
        let items: Vec<Vec<u8>> = (0..20).map(item).collect();
        let raw = encode_group(&items);
        let packed = compress::pack(&raw, 3).unwrap();
        let offset = writer.put(BlockKind::Group, true, &packed, raw.len()).unwrap();
        writer.end(&[]).unwrap();
        for order in [[0, 1, 2, 19], [19, 0, 5, 19], [5, 4, 6, 5], [19, 18, 17, 16]] {
            let reader = ItemReader::new(Packs::new(disk.clone()), Arc::new(MemoryEngine::new()));
            for slot in order {
                let place = Place { pack: 1, offset, slot };
                assert!(*reader.item(place, None).unwrap() == items[slot as usize][..], "{slot} of {order:?}");
            }
            assert!(reader.item(Place { pack: 1, offset, slot: 20 }, None).is_err());
        }
    }

    #[test]
    fn a_proof_holds_for_no_other_bytes_and_no_other_recipe() {
        let reader = ItemReader::new(Packs::new(Arc::new(SimDisk::new())), Arc::new(MemoryEngine::new()));
        let id = EntryKey { key: "org,example)/".into(), time: Timestamp::default(), tag: [0; 8] };
        let wire = include_bytes!("../tests/data/coded/page0.gz");
        let (inner, layers) = coding::unfold(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", wire).unwrap();
        let mut forged = inner.clone();
        forged[100] ^= 1;
        let mut other = layers.clone();
        // A byte of the gzip header.
        other[10] ^= 1;
        let sha256 = Sha256::of(wire);
        for _ in 0..2 {
            assert!(reader.prove(&id, &sha256, &forged, &layers).is_err());
            assert!(reader.prove(&id, &sha256, &inner, &other).is_err());
            assert!(reader.prove(&id, &sha256, &inner, &[]).is_err());
            // From here on it is proved.
            assert!(reader.prove(&id, &sha256, &inner, &layers).is_ok());
        }
    }
}
