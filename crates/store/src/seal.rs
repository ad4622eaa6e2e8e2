//! Sealing: a batch of captures, sorted by site, becomes the blocks of a pack.
//!
//! For each capture, in key order: is its body known already? Then only the envelope is written. Is there an earlier
//! version of the URL? Then it is written as a difference to that. Otherwise it joins its neighbours in a shared frame.
//! Bodies that are compressed already get a block of their own, as they are.

mod adopt;

pub(crate) use adopt::AdoptedBase;

use crate::block::Kind as BlockKind;
use crate::capture::{Body, Capture};
use crate::coding;
use crate::compress::{self, Search};
use crate::directory::{BodySource, Op};
use crate::envelope::{self, Where};
use crate::error::{Error, Result};
use crate::index::{BodyAt, BodyKey, Engine, Entry, EntryKey, Place, Table, body_key};
use crate::limits::{
    BASES_BYTES, CHAIN_DEPTH_MAX, FRAME_BYTES, FRAME_BYTES_LONELY, FRAME_BYTES_MAX, FRAME_PACKED_BYTES,
    PATCH_WORTH_SHARE, PATCHES_BYTES, RAW_BLOCK_BYTES_MIN,
};
use crate::media::{is_compressed_media, is_text_media};
use crate::pack::PackWriter;
use crate::patch::Differ;
use crate::read::{BaseRef, Item, ItemReader, decode_entry, put_delta, put_group};
use crate::wire::Cursor;
use herodotus_base::{Sha1, Sha256};
use herodotus_page::{ResponseHead, host_of_key};
use std::collections::HashMap;
use std::ops::Deref;

/// Writes the blocks of one seal, and collects the operations of its directory.
#[derive(Debug)]
pub(crate) struct Sealer<'a> {
    pub(crate) reader: &'a ItemReader,
    pub(crate) engine: &'a dyn Engine,
    writer: &'a mut PackWriter,
    ops: Vec<Op>,
    waiting: Waiting,
    /// Bodies that this very seal brings, or has found to be readable in blocks of their own.
    new_bodies: HashMap<BodyKey, NewBody>,
    /// The last item of the URL at hand: the likeliest base of the next.
    last: Option<Version>,
    /// The first item that only repeats the body of `last`: the base of the next that does. It is as like as `last` itself,
    /// and has no body to go through.
    repeat: Option<Version>,
    /// Who was last found to have a body that an earlier seal brought: the next versions mostly have the same.
    owner: Option<(BodyKey, Version)>,
    /// Items of the URL at hand that this seal moves.
    moved: HashMap<EntryKey, usize>,
    /// Last versions of URLs that this seal is done with, for the next.
    left: Vec<(At, Item)>,
    left_bytes: usize,
    differ: Differ,
    /// For frames, and for patches.
    search: (Search, Search),
    /// How much the next frame of this site takes in.
    frame_bytes: usize,
    /// A block as it is laid out, and as it is packed: some hundred kilobytes, which the system would have to clear anew for each.
    raw: Vec<u8>,
    packed: Vec<u8>,
}

/// What is written together: a frame of items, then the differences, some of them to items in the frame.
#[derive(Debug, Default)]
struct Waiting {
    items: Vec<Item>,
    item_bytes: usize,
    /// For each item, the operation that wants to know where it went.
    ops: Vec<(usize, Option<BodyKey>)>,
    host: String,
    deltas: Vec<Delta>,
    delta_bytes: usize,
}

#[derive(Debug)]
struct Delta {
    op: usize,
    body: Option<BodyKey>,
    base: (EntryKey, At),
    patch: Vec<u8>,
    raw_len: usize,
}

/// Where an item is, or which operation will know.
#[derive(Clone, Copy, Debug)]
enum At {
    Place(Place),
    Op(usize),
}

/// An item that a new one may be written against.
#[derive(Clone, Debug)]
struct Version {
    id: EntryKey,
    depth: u8,
    item: Item,
    at: At,
}

#[derive(Clone, Debug)]
enum NewBody {
    Raw,
    Blob,
    Item(EntryKey),
}

/// How the index is to learn of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyPlan {
    /// There is none, or nobody is to find it.
    Nothing,
    /// It stands in the item, wherever that goes.
    InItem(BodyKey),
    Source(BodyKey, BodySource),
}

impl<'a> Sealer<'a> {
    pub(crate) fn new(reader: &'a ItemReader, engine: &'a dyn Engine, writer: &'a mut PackWriter) -> Self {
        Self {
            reader,
            engine,
            writer,
            ops: Vec::new(),
            waiting: Waiting::default(),
            new_bodies: HashMap::new(),
            last: None,
            repeat: None,
            owner: None,
            moved: HashMap::new(),
            left: Vec::new(),
            left_bytes: 0,
            differ: Differ::default(),
            search: (Search::FRAMES, Search::PATCHES),
            frame_bytes: FRAME_BYTES,
            raw: Vec::new(),
            packed: Vec::new(),
        }
    }

    /// Packs as small as is sensible, because nobody waits.
    pub(crate) fn at_rest(mut self) -> Self {
        self.search = (Search::AT_REST, Search::AT_REST);
        self
    }

    /// Adds a capture. They must come in key order. `block_sha1` is that of the main record's block, if it is known.
    pub(crate) fn capture(&mut self, id: &EntryKey, capture: &Capture, block_sha1: Option<Sha1>) -> Result<()> {
        self.write(id, capture, block_sha1, None)
    }

    /// Adds a capture whose item is damaged: whole, and leaning on nothing, since that might be what is damaged.
    pub(crate) fn capture_anew(&mut self, id: &EntryKey, capture: &Capture, block_sha1: Option<Sha1>) -> Result<()> {
        // What this seal has stored against the old item must stand before the new one, to be told from what comes later.
        self.flush()?;
        (self.last, self.repeat) = (None, None);
        let since = (self.writer.number(), self.writer.offset());
        self.write(id, capture, block_sha1, Some(since))
    }

    fn write(
        &mut self,
        id: &EntryKey,
        capture: &Capture,
        block_sha1: Option<Sha1>,
        mended: Option<(u32, u64)>,
    ) -> Result<()> {
        if self.repeat.as_ref().is_some_and(|version| version.id.key != id.key) {
            self.repeat = None;
        }
        if self.last.as_ref().is_some_and(|version| version.id.key != id.key) {
            self.leave_last();
        }
        let media = capture.media().unwrap_or_default();
        let digest = capture.main.body.digests().sha256;
        let key = body_key(&digest);
        let mut stored = Stored { place: Where::Here, plan: BodyPlan::Nothing, layers: Vec::new(), unfolded: None };
        let mut inline: &[u8] = &[];
        let mut owner = None;
        match &capture.main.body {
            Body::Bytes(bytes, _) if bytes.is_empty() => {}
            Body::Blob { .. } => {
                stored.place = Where::Blob;
                let known = self.new_bodies.contains_key(&key) || self.reader.body_place(&digest)?.is_some();
                let source = if known { BodySource::Known } else { BodySource::New(BodyAt::Blob) };
                stored.plan = BodyPlan::Source(key, source);
                self.new_bodies.entry(key).or_insert(NewBody::Blob);
            }
            Body::Bytes(bytes, _) => match self.known_body(id, &key, &digest, mended.is_none())? {
                Known::Kept(place, version) => {
                    stored.place = place;
                    stored.plan = BodyPlan::Source(key, BodySource::Known);
                    owner = version;
                }
                Known::Anew { in_block } => {
                    self.store_body(&mut stored, key, capture, bytes, &media, in_block)?;
                    if stored.place == Where::Here {
                        inline = stored.unfolded.as_deref().unwrap_or(bytes);
                        self.new_bodies.insert(key, NewBody::Item(id.clone()));
                    }
                }
            },
        }
        let mut item = envelope::encode_before(capture, &stored.place, &stored.layers, block_sha1, inline.len());
        item.extend_from_slice(inline);
        let shared = matches!(stored.plan, BodyPlan::Source(_, BodySource::Known));
        let entry = Entry { mended, ..entry_of(id, capture, media, shared) };
        let base = match (&self.repeat, owner.filter(|owner| owner.id.key == id.key)) {
            (Some(repeat), _) if shared && repeat.depth < CHAIN_DEPTH_MAX => Some(repeat.clone()),
            (_, Some(owner)) => Some(owner),
            (_, None) if mended.is_some() => None,
            (_, None) => self.base_for(id)?,
        };
        self.put_item(entry, stored.plan, item, base)
    }

    /// The URL at hand has no more versions in this seal; the next may well bring one. An item that stands whole in a frame is not worth
    /// keeping: the frame is read once for all that are in it.
    fn leave_last(&mut self) {
        let Some(Version { depth, item, at, .. }) = self.last.take() else { return };
        if depth > 0 && self.left_bytes + item.len() <= BASES_BYTES {
            self.left_bytes += item.len();
            self.left.push((at, item));
        }
    }

    /// Decides how a body is kept that nobody has yet, or has so that it can be leant on. `in_block`: the index knows it already, in a block of its own
    /// or not. It finds a body in one place, and those who have theirs in a block look there and nowhere else: so what it knows stays what it is.
    fn store_body(
        &mut self,
        stored: &mut Stored,
        key: BodyKey,
        capture: &Capture,
        bytes: &[u8],
        media: &str,
        in_block: Option<bool>,
    ) -> Result<()> {
        stored.plan = BodyPlan::InItem(key);
        let compressed = is_compressed_media(media);
        if !compressed
            && in_block != Some(true)
            && let Some((unfolded, layers)) = coding::unfold(&capture.main.head, bytes)
        {
            (stored.unfolded, stored.layers) = (Some(unfolded), layers);
            return Ok(());
        }
        let coded = ResponseHead::parse(&capture.main.head).is_some_and(|h| !h.content_encodings().is_empty());
        let hopeless = || compressed || (coded || !is_text_media(media)) && compress::is_incompressible(bytes);
        if in_block.unwrap_or_else(|| bytes.len() >= RAW_BLOCK_BYTES_MIN && hopeless()) {
            let offset = self.writer.put(BlockKind::Raw, false, bytes, bytes.len())?;
            let at = BodyAt::Raw { pack: self.writer.number(), offset };
            if in_block.is_some() {
                // Whoever else has it is read from here too, from now on.
                self.ops.push(Op::Body(key, at));
            }
            stored.place = Where::Raw;
            stored.plan = BodyPlan::Source(key, BodySource::New(at));
            self.new_bodies.insert(key, NewBody::Raw);
        }
        Ok(())
    }

    /// Who has this body already, and, if it is an item, the item.
    fn known_body(&mut self, id: &EntryKey, key: &BodyKey, digest: &Sha256, may_lean: bool) -> Result<Known> {
        let anew = |in_block| Ok(Known::Anew { in_block: Some(in_block) });
        if let Some(new) = self.new_bodies.get(key) {
            return match new {
                _ if !may_lean => anew(matches!(new, NewBody::Raw)),
                NewBody::Raw => Ok(Known::Kept(Where::Raw, None)),
                NewBody::Blob => anew(false),
                NewBody::Item(id) => {
                    let version = self.last.clone().filter(|last| last.id == *id);
                    Ok(Known::Kept(Where::With(id.clone()), version))
                }
            };
        }
        if self.owner.as_ref().is_none_or(|(of, _)| of != key) {
            self.owner = None;
        }
        let Some(place) = self.reader.body_place(digest)? else { return Ok(Known::Anew { in_block: None }) };
        match place.at {
            BodyAt::Raw { pack, offset } if may_lean && self.reader.packs.block(pack, offset).is_ok() => {
                // Once in a seal is enough.
                self.new_bodies.insert(*key, NewBody::Raw);
                Ok(Known::Kept(Where::Raw, None))
            }
            BodyAt::Raw { .. } => anew(true),
            BodyAt::Item(place) if may_lean => {
                if self.owner.is_none() {
                    self.owner = self.owner_at(id, place, digest)?.map(|owner| (*key, owner));
                }
                match self.owner.clone() {
                    Some((_, owner)) => Ok(Known::Kept(Where::With(owner.id.clone()), Some(owner))),
                    None => anew(false),
                }
            }
            BodyAt::Item(_) | BodyAt::Blob => anew(false),
        }
    }

    /// The capture at a place, if it is readable and has this body. If not, the body is simply stored once more.
    fn owner_at(&self, of: &EntryKey, place: Place, digest: &Sha256) -> Result<Option<Version>> {
        // Most often it is an earlier capture of the same URL, which is found even if its base has moved.
        let item = self.reader.base(place, Some(&of.key)).or_else(|_| self.reader.item(place, None));
        let Ok(item) = item else { return Ok(None) };
        let Some(envelope) = envelope::decode(&mut Cursor::new(&item)) else { return Ok(None) };
        if envelope.body != Where::Here || envelope.sha256 != *digest {
            return Ok(None);
        }
        let id = envelope.id();
        let entry = self.reader.entry(&id)?.filter(|entry| entry.place == Some(place));
        Ok(entry.map(|entry| Version { id, depth: entry.depth, item, at: At::Place(place) }))
    }

    /// The version that a new one of this URL is best written against.
    fn base_for(&self, id: &EntryKey) -> Result<Option<Version>> {
        if let Some(last) = &self.last {
            return Ok(Some(last.clone()));
        }
        if self.engine.get(Table::Urls, id.key.as_bytes())?.is_none() {
            return Ok(None);
        }
        let (from, to) = EntryKey::range_of(&id.key);
        let here = EntryKey::up_to(&id.key, id.time);
        let before = self.engine.range(Table::Captures, &from, &here, true).next();
        let Some(found) = before.or_else(|| self.engine.range(Table::Captures, &here, &to, false).next()) else {
            return Ok(None);
        };
        let (key, value) = found?;
        let Some(id) = EntryKey::decode(&key) else { return Ok(None) };
        let entry = decode_entry(id, &value)?;
        // A base that cannot be read costs us the difference, not the new capture.
        let Some(Ok(version)) = entry.place.map(|place| self.version(&entry, place)) else { return Ok(None) };
        Ok(Some(version))
    }

    fn version(&self, entry: &Entry, place: Place) -> Result<Version> {
        let item = self.reader.base(place, Some(&entry.id.key))?;
        // An item that only repeats an earlier body has nothing to compare with: take the one that has the body.
        if entry.shared
            && let Some(Where::With(owner)) = envelope::decode(&mut Cursor::new(&item)).map(|e| e.body)
            && owner.key == entry.id.key
            && let Some(entry) = self.reader.entry(&owner)?
            && let Some(place) = entry.place
        {
            let item = self.reader.base(place, Some(&owner.key))?;
            return Ok(Version { id: owner, depth: entry.depth, item, at: At::Place(place) });
        }
        Ok(Version { id: entry.id.clone(), depth: entry.depth, item, at: At::Place(place) })
    }

    /// Adds an item that exists already, byte for byte, whole or as a difference to the base it had: compaction moves it.
    pub(crate) fn moved(&mut self, entry: Entry, plan: BodyPlan, item: Vec<u8>, base: Option<EntryKey>) -> Result<()> {
        let id = entry.id.clone();
        if self.moved.keys().next().is_some_and(|other| other.key != id.key) {
            self.moved.clear();
        }
        let base = match base {
            Some(base) => self.moved_base(&entry, base)?,
            None => None,
        };
        let op = self.ops.len();
        self.put_item(entry, plan, item, base)?;
        self.moved.insert(id, op);
        Ok(())
    }

    fn moved_base(&self, entry: &Entry, base: EntryKey) -> Result<Option<Version>> {
        let Some(known) = self.reader.entry(&base)? else { return Ok(None) };
        let Some(place) = known.place else { return Ok(None) };
        let item = self.reader.item(place, Some(&base.key))?;
        let at = self.moved.get(&base).map_or(At::Place(place), |op| At::Op(*op));
        // Chains keep their length: one less than the entry's own.
        Ok(Some(Version { id: base, depth: entry.depth.saturating_sub(1), item, at }))
    }

    /// Moves a body that has a block of its own.
    pub(crate) fn moved_raw(&mut self, key: BodyKey, packed: bool, payload: &[u8], raw_len: usize) -> Result<()> {
        let offset = self.writer.put(BlockKind::Raw, packed, payload, raw_len)?;
        self.ops.push(Op::Body(key, BodyAt::Raw { pack: self.writer.number(), offset }));
        Ok(())
    }

    /// The pack that is being written.
    pub(crate) fn pack(&self) -> u32 {
        self.writer.number()
    }

    pub(crate) fn op(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// Writes what waits and the directory, and syncs. Returns the operations, and where the pack now ends.
    pub(crate) fn finish(mut self) -> Result<(Vec<Op>, u64)> {
        self.flush()?;
        let end = self.writer.end(&self.ops)?;
        self.leave_last();
        if !self.left.is_empty() {
            let left = std::mem::take(&mut self.left).into_iter();
            let placed = left.filter_map(|(at, item)| match at {
                At::Place(place) => Some((place, item)),
                At::Op(op) => Some((self.placed(op)?, item)),
            });
            self.reader.leave_bases(placed.collect());
        }
        Ok((self.ops, end))
    }

    fn put_item(&mut self, mut entry: Entry, plan: BodyPlan, item: Vec<u8>, base: Option<Version>) -> Result<()> {
        let id = entry.id.clone();
        let (in_item, body) = match plan {
            BodyPlan::Nothing => (None, None),
            BodyPlan::InItem(key) => (Some(key), None),
            BodyPlan::Source(key, source) => (None, Some((key, source))),
        };
        let repeats = matches!(plan, BodyPlan::Source(_, BodySource::Known));
        let op = self.ops.len();
        if let Some(base) = base.filter(|base| base.depth < CHAIN_DEPTH_MAX) {
            let patch = self.differ.patch(&item, &base.item);
            if patch.len() * PATCH_WORTH_SHARE <= item.len() {
                entry.depth = base.depth + 1;
                self.waiting.delta_bytes += patch.len();
                let raw_len = item.len();
                self.waiting.deltas.push(Delta { op, body: in_item, base: (base.id.clone(), base.at), patch, raw_len });
                let here = Version { id, depth: entry.depth, item: Item::alone(item), at: At::Op(op) };
                self.remember(here, repeats, Some(base));
                self.ops.push(Op::Put { entry: Box::new(entry), body });
                return if self.waiting.delta_bytes > FRAME_BYTES { self.flush() } else { Ok(()) };
            }
        }
        let host = host_of_key(&id.key);
        let full = self.waiting.item_bytes + item.len() > self.frame_bytes;
        let other_site = self.waiting.host != host && self.waiting.item_bytes >= FRAME_BYTES_LONELY;
        if !self.waiting.items.is_empty() && (full || other_site) {
            self.flush()?;
        }
        if self.waiting.host != host {
            self.waiting.host = host.to_owned();
            self.frame_bytes = FRAME_BYTES;
        }
        let item = Item::alone(item);
        self.waiting.item_bytes += item.len();
        self.waiting.items.push(item.clone());
        self.waiting.ops.push((op, in_item));
        entry.depth = 0;
        self.ops.push(Op::Put { entry: Box::new(entry), body });
        self.remember(Version { id, depth: 0, item, at: At::Op(op) }, repeats, None);
        Ok(())
    }

    /// Remembers an item as the base of later ones. One that only repeats a body is a base for its like and nothing else: what
    /// it was written against stays the better one for the rest. The first of them serves all, so that chains stay short.
    fn remember(&mut self, version: Version, repeats: bool, base: Option<Version>) {
        if !repeats {
            (self.last, self.repeat) = (Some(version), None);
        } else if self.repeat.is_none() {
            self.last = self.last.take().or(base);
            self.repeat = Some(version);
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.flush_items()?;
        self.flush_deltas()
    }

    fn flush_items(&mut self) -> Result<()> {
        let items = std::mem::take(&mut self.waiting.items);
        self.waiting.item_bytes = 0;
        if items.is_empty() {
            return Ok(());
        }
        let (offset, packed_len) = self.put_group(BlockKind::Group, &items)?;
        self.frame_bytes = frame_bytes_behind(self.raw.len(), packed_len);
        for (slot, (op, body)) in std::mem::take(&mut self.waiting.ops).into_iter().enumerate() {
            self.place(op, body, Place { pack: self.writer.number(), offset, slot: slot as u32 });
        }
        Ok(())
    }

    /// Writes a block, packed if that makes it smaller, and says where it stands and how long what it holds is there.
    fn put_group<T: Deref<Target = [u8]>>(&mut self, kind: BlockKind, items: &[T]) -> Result<(u64, usize)> {
        put_group(&mut self.raw, items);
        let search = if kind == BlockKind::Patches { self.search.1 } else { self.search.0 };
        compress::pack_into(&mut self.packed, &self.raw, search)?;
        let is_packed = self.packed.len() < self.raw.len();
        let payload = if is_packed { &self.packed } else { &self.raw };
        let slots = if kind == BlockKind::Group { items.len() } else { 0 };
        Ok((self.writer.put_slots((kind, slots), is_packed, payload, self.raw.len())?, payload.len()))
    }

    /// Writes the waiting differences, in blocks that are cheap to read. Their bases have places by now, or stand before
    /// them in the same block.
    fn flush_deltas(&mut self) -> Result<()> {
        let mut deltas = std::mem::take(&mut self.waiting.deltas).into_iter().peekable();
        self.waiting.delta_bytes = 0;
        while deltas.peek().is_some() {
            let (mut all, mut bytes, mut written) = (Vec::new(), 0, Vec::new());
            let mut slots: HashMap<usize, u32> = HashMap::new();
            while let Some(delta) = deltas.next_if(|_| bytes < PATCHES_BYTES) {
                let (base, at) = &delta.base;
                let far = |hint| BaseRef::Far { time: base.time, tag: base.tag, hint };
                let base = match at {
                    At::Place(place) => far(*place),
                    At::Op(op) => match (slots.get(op), self.placed(*op)) {
                        (Some(slot), _) => BaseRef::Near(*slot),
                        (None, Some(place)) => far(place),
                        (None, None) => return Err(Error::Damaged("a version was lost while it was sealed".into())),
                    },
                };
                let mut out = Vec::with_capacity(delta.patch.len() + 40);
                put_delta(&mut out, &base, delta.raw_len, &delta.patch);
                slots.insert(delta.op, all.len() as u32);
                bytes += out.len();
                all.push(out);
                written.push((delta.op, delta.body));
            }
            let (offset, _) = self.put_group(BlockKind::Patches, &all)?;
            for (slot, (op, body)) in written.into_iter().enumerate() {
                self.place(op, body, Place { pack: self.writer.number(), offset, slot: slot as u32 });
            }
        }
        Ok(())
    }

    fn placed(&self, op: usize) -> Option<Place> {
        match self.ops.get(op) {
            Some(Op::Put { entry, .. }) => entry.place,
            _ => None,
        }
    }

    fn place(&mut self, op: usize, body_in_item: Option<BodyKey>, here: Place) {
        if let Some(Op::Put { entry, body }) = self.ops.get_mut(op) {
            entry.place = Some(here);
            if let Some(key) = body_in_item {
                *body = Some((key, BodySource::New(BodyAt::Item(here))));
            }
        }
    }
}

/// How much a frame may take in, after its neighbour: as much as is likely to be packed to [`FRAME_PACKED_BYTES`].
fn frame_bytes_behind(raw_len: usize, packed_len: usize) -> usize {
    let bytes = FRAME_PACKED_BYTES as u64 * raw_len as u64 / packed_len.max(1) as u64;
    (bytes as usize).clamp(FRAME_BYTES, FRAME_BYTES_MAX)
}

/// What is known of a body that a capture brings.
enum Known {
    /// Where it is already, and the item that has it, if one does.
    Kept(Where, Option<Version>),
    /// It is stored with this capture. `in_block`: the index knows it, and whether that is in a block of its own; but it cannot be read there, or nothing is to
    /// lean on it.
    Anew { in_block: Option<bool> },
}

/// What was decided about a body.
struct Stored {
    place: Where,
    plan: BodyPlan,
    layers: Vec<u8>,
    unfolded: Option<Vec<u8>>,
}

pub(crate) fn entry_of(id: &EntryKey, capture: &Capture, media: String, shared: bool) -> Entry {
    Entry {
        id: id.clone(),
        kind: capture.main.kind.clone(),
        url: capture.url.clone(),
        status: capture.status(),
        media,
        sha1: capture.main.payload_sha1(),
        len: capture.main.body.len(),
        bytes_in: capture.main.block_len() + capture.companions.iter().map(|r| r.block_len()).sum::<u64>(),
        depth: 0,
        truncated: capture.truncated().is_some(),
        shared,
        in_file: matches!(capture.main.body, Body::Blob { .. }),
        removed: false,
        released: false,
        place: None,
        mended: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block;
    use crate::capture::{Kind, Record};
    use crate::disk::{Disk, sim::SimDisk};
    use crate::index::MemoryEngine;
    use herodotus_base::Timestamp;
    use std::sync::Arc;

    /// The frames of a pack: how long they are unpacked, and packed.
    fn frames(disk: &SimDisk) -> Vec<(usize, usize)> {
        let file = disk.open(&crate::pack::name(1)).unwrap();
        let (mut at, len) = (block::FILE_HEADER_BYTES as u64, file.len().unwrap());
        let mut frames = Vec::new();
        while let Some(header) = block::read_header(&*file, at, len).unwrap() {
            if header.kind == BlockKind::Group {
                frames.push((header.raw_len, header.stored_len));
            }
            at += header.total_len();
        }
        frames
    }

    #[test]
    fn a_seal_leaves_the_next_one_what_it_will_write_against() {
        let (store, _) = crate::Store::open_simulated(Arc::new(SimDisk::new()), Arc::new(MemoryEngine::new())).unwrap();
        let version = |page: u32, n: i64| {
            let line = |i: u32| format!("{} {}\n", i.wrapping_mul(2_654_435_761 + page), if i == 9 { n } else { 0 });
            let (url, time) = (format!("http://a.example/{page}"), Timestamp::from_millis(n).unwrap());
            // Two and a half megabytes: four of them are too much to keep.
            let body = Body::new((0..200_000).map(line).collect::<String>().into_bytes());
            let main = Record::new(Kind::Response, &url, time, Vec::new(), body);
            Capture { url, time, main, companions: Vec::new() }
        };
        let left = || store.inner.reader.bases_left();
        for n in 1..=3 {
            for page in 1..=4 {
                assert_eq!(store.append(version(page, n)).unwrap(), crate::Appended::Stored);
            }
            store.seal().unwrap();
            assert!(left().values().map(|item| item.len()).sum::<usize>() <= BASES_BYTES);
            for page in 1..=4 {
                let capture = version(page, n);
                let entry = store.inner.reader.entry(&capture.id()).unwrap().unwrap();
                assert_eq!(i64::from(entry.depth), n - 1);
                let place = entry.place.unwrap();
                // What stands whole in a frame is not kept, nor what is too much.
                assert_eq!(left().contains_key(&place), n > 1 && page < 4);
                if let Some(item) = left().get(&place) {
                    assert!(**item == *store.inner.reader.item(place, None).unwrap());
                }
                assert_eq!(store.read(&capture.id()).unwrap().unwrap(), capture);
            }
        }
    }

    #[test]
    fn frames_are_as_large_as_readers_can_bear() {
        let disk = Arc::new(SimDisk::new());
        let (store, _) = crate::Store::open_simulated(disk.clone(), Arc::new(MemoryEngine::new())).unwrap();
        let noise = |n: u32| n.wrapping_mul(2_654_435_761).rotate_left(n % 32);
        // One site of tables, which pack to a fifteenth or so, and one of words, which pack to less than half.
        for (host, lines) in [("a-tables.example", 400), ("b-words.example", 1000)] {
            for page in 0..120u32 {
                let line = |n: u32| match lines {
                    400 => format!(
                        "<tr class=\"row\"><td class=\"name\">{}</td><td>1</td></tr>\n",
                        noise(page * 400 + n) % 97
                    ),
                    _ => format!("{:x} {:x}\n", noise(page * 1000 + n), noise(n ^ page << 12)),
                };
                let (url, time) = (format!("http://{host}/{page}"), Timestamp::default());
                let body = Body::new((0..lines).map(line).collect::<String>().into_bytes());
                let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec();
                let main = Record::new(Kind::Response, &url, time, head, body);
                store.append(Capture { url, time, main, companions: Vec::new() }).unwrap();
            }
        }
        store.seal().unwrap();
        // A page of either site, and the lengths of items.
        let slack = 32 * 1024;
        let (tables, words): (Vec<_>, Vec<_>) = frames(&disk).into_iter().partition(|(raw, packed)| raw / packed > 4);
        assert!(tables.len() > 2 && words.len() > 2, "{tables:?} {words:?}");
        assert!(tables.iter().skip(1).any(|(raw, _)| *raw > 2 * FRAME_BYTES), "{tables:?}");
        assert!(tables.iter().all(|(raw, packed)| *raw <= FRAME_BYTES_MAX + slack && *packed <= FRAME_PACKED_BYTES));
        assert!(words.iter().all(|(raw, _)| *raw <= FRAME_BYTES + slack), "{words:?}");
    }
}
