//! Making shipments of what lies in packs.

use super::layout::{FORM, OwnPayload, Target, Writer};
use super::limits::{BLOCK_BYTES_MAX, SHIPMENT_WEIGHT};
use crate::Store;
use crate::block::Block;
use crate::envelope::{self, Where};
use crate::error::{Error, Result};
use crate::index::{BodyAt, Entry, EntryKey, Place};
use crate::limits::{CHAIN_DEPTH_MAX, RAW_BLOCK_BYTES_MIN};
use crate::media::is_text_media;
use crate::parcel::layout::form_tag;
use crate::read::{BaseRef, Item, Patch, count_whole, whole_items};
use crate::wire::Cursor;
use herodotus_base::Sha256;
use std::collections::HashMap;
use std::sync::atomic::Ordering::Acquire;

type BlockAt = (u32, u64);

/// Captures on their way to a machine that lacks them, one shipment after another.
#[derive(Debug)]
pub struct Shipper {
    store: Store,
    block_bytes_min: usize,
    /// That shipments are written in.
    form: u8,
    ids: Vec<EntryKey>,
    numbers: HashMap<EntryKey, usize>,
    loads: Vec<Load>,
    /// What is wanted of each block, slot by slot.
    blocks: HashMap<BlockAt, Vec<(u32, usize)>>,
    /// What was withdrawn from the archive when the loads were looked up.
    withdrawn: u64,
    /// How many shipments were made.
    made: usize,
    at: usize,
}

/// What becomes of a capture.
#[derive(Clone, Copy, Debug)]
struct Load {
    place: Option<Place>,
    /// From where in the packs on its item counts, if it was written anew: a patch that stands before that was made to the old one.
    mended: Option<BlockAt>,
    /// It is of a kind that may have a block of its own for its body.
    may_be_raw: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waits,
    /// In which shipment, and where in it.
    Shipped(usize, Target),
    /// It goes in a parcel.
    Left,
}

enum Loaded {
    Taken,
    /// It goes into the next.
    Full,
    Left,
}

impl Store {
    /// Prepares to send captures to a machine that has none of them: those that lie in blocks of which all is wanted, as they lie there, and differences as they are.
    /// What cannot go like that is left over ([`Shipper::left`]) and goes in parcels, and so does what lies in blocks smaller than `block_bytes_min`
    /// ([`BLOCK_BYTES_MIN`](super::limits::BLOCK_BYTES_MIN)). Ids in key order keep versions together.
    pub fn shipper(&self, ids: Vec<EntryKey>, block_bytes_min: usize) -> Result<Shipper> {
        let withdrawn = self.inner.withdrawn.load(Acquire);
        let mut loads = Vec::with_capacity(ids.len());
        let mut blocks: HashMap<BlockAt, Vec<(u32, usize)>> = HashMap::new();
        let mut numbers = HashMap::with_capacity(ids.len());
        for (number, id) in ids.iter().enumerate() {
            numbers.insert(id.clone(), number);
            let entry = if self.inner.waiting(id).is_some() { None } else { self.inner.reader.entry(id)? };
            let entry = entry.filter(|entry| !entry.removed && !entry.in_file);
            let place = entry.as_ref().and_then(|entry| entry.place);
            if let Some(place) = place {
                blocks.entry((place.pack, place.offset)).or_default().push((place.slot, number));
            }
            let state = if place.is_some() { State::Waits } else { State::Left };
            let mended = entry.as_ref().and_then(|entry| entry.mended);
            loads.push(Load { place, mended, may_be_raw: entry.as_ref().is_some_and(may_be_raw), state });
        }
        blocks.values_mut().for_each(|wanted| wanted.sort_unstable());
        let form = FORM;
        Ok(Shipper {
            store: self.clone(),
            block_bytes_min,
            form,
            ids,
            numbers,
            loads,
            blocks,
            withdrawn,
            made: 0,
            at: 0,
        })
    }
}

/// Whether a capture may have its body in a block of its own: coded text may too, and is found out by the receiver.
fn may_be_raw(entry: &Entry) -> bool {
    !is_text_media(&entry.media) && entry.len >= RAW_BLOCK_BYTES_MIN as u64
}

impl Shipper {
    /// For one who may not know the newest form: it is written in the newest that both know.
    #[must_use]
    pub fn for_one_who_knows(mut self, form: u8) -> Self {
        self.form = form.clamp(1, FORM);
        self
    }

    /// The next shipment. `None`: there is no more to be sent like that.
    pub fn next_shipment(&mut self) -> Result<Option<Vec<u8>>> {
        let mut out = Writer::default();
        while self.at < self.ids.len() {
            match self.load(self.at, &mut out, usize::from(CHAIN_DEPTH_MAX) + 1) {
                Ok(Loaded::Full) => break,
                Ok(Loaded::Taken) => {}
                // What is damaged is told of by whoever makes the parcel.
                Ok(Loaded::Left) | Err(Error::Damaged(_)) => self.leave(self.at),
                Err(error) => return Err(error),
            }
            self.at += 1;
        }
        self.made += 1;
        if out.entries() == 0 { Ok(None) } else { out.finish(self.form).map(Some) }
    }

    /// What none of the shipments has.
    pub fn left(self) -> Vec<EntryKey> {
        let left = self.ids.into_iter().zip(self.loads).filter(|(_, load)| !matches!(load.state, State::Shipped(..)));
        left.map(|(id, _)| id).collect()
    }

    fn leave(&mut self, number: usize) {
        if let Some(load) = self.loads.get_mut(number) {
            load.state = State::Left;
        }
    }

    /// Whether a capture was removed or let go since the loads were looked up: a stream of shipments may last for hours.
    fn is_withdrawn(&self, number: usize) -> Result<bool> {
        let inner = &self.store.inner;
        let (Some(id), Some(load)) = (self.ids.get(number), self.loads.get(number)) else { return Ok(true) };
        if inner.withdrawn.load(Acquire) == self.withdrawn {
            return Ok(false);
        }
        let known = if inner.waiting(id).is_some() { None } else { inner.reader.entry(id)? };
        Ok(known.is_none_or(|entry| entry.removed || entry.place != load.place))
    }

    fn load(&mut self, number: usize, out: &mut Writer, steps_left: usize) -> Result<Loaded> {
        let Some(load) = self.loads.get(number).copied() else { return Ok(Loaded::Left) };
        match (load.state, load.place) {
            (State::Shipped(..), _) => Ok(Loaded::Taken),
            (State::Waits, Some(_)) if self.is_withdrawn(number)? => Ok(Loaded::Left),
            (State::Waits, Some(place)) => match self.store.inner.reader.patch_or_block(place)? {
                Ok(patch) => self.load_patch(number, place, patch, out, steps_left),
                Err(block) => self.load_block((place.pack, place.offset), block, out),
            },
            _ => Ok(Loaded::Left),
        }
    }

    /// Puts a block in, if all that stands in it is wanted.
    fn load_block(&mut self, at: BlockAt, block: Block, out: &mut Writer) -> Result<Loaded> {
        let wanted = self.blocks.get(&at).cloned().unwrap_or_default();
        let is_sized = (self.block_bytes_min..=BLOCK_BYTES_MAX).contains(&block.header.raw_len);
        let mut is_whole = is_sized && self.is_wanted_whole(&wanted, &block)?;
        for (_, number) in &wanted {
            is_whole = is_whole && !self.is_withdrawn(*number)?;
        }
        let bodies = if is_whole { self.bodies_of(&wanted, &block, out)? } else { None };
        let Some(bodies) = bodies else {
            wanted.iter().for_each(|(_, number)| self.leave(*number));
            return Ok(Loaded::Left);
        };
        let kind = block.header.kind;
        let payload = own(block);
        let ids: Vec<EntryKey> = wanted.iter().filter_map(|(_, number)| self.ids.get(*number).cloned()).collect();
        if !out.has_room_for_block(&ids, &payload, &bodies) {
            return Ok(Loaded::Full);
        }
        let block = out.put_block(kind, payload, ids, bodies);
        for (slot, number) in wanted {
            if let Some(load) = self.loads.get_mut(number) {
                load.state = State::Shipped(self.made, Target::Block(block, slot as usize));
            }
        }
        Ok(Loaded::Taken)
    }

    /// Whether every slot of a block is wanted, once. What was removed must not travel, and so keeps its block from travelling.
    fn is_wanted_whole(&self, wanted: &[(u32, usize)], block: &Block) -> Result<bool> {
        let is_in_turn = wanted.iter().enumerate().all(|(n, (slot, _))| n == *slot as usize);
        Ok(is_in_turn && count_whole(block)? == Some(wanted.len()))
    }

    /// The bodies that the items of a block have in blocks of their own. `None`: one of them cannot go like that.
    fn bodies_of(&self, wanted: &[(u32, usize)], block: &Block, out: &Writer) -> Result<Option<Bodies>> {
        let may_be_raw = |(_, number): &(u32, usize)| self.loads.get(*number).is_some_and(|load| load.may_be_raw);
        if !wanted.iter().any(may_be_raw) {
            return Ok(Some(Vec::new()));
        }
        let raw = block.clone().unpacked()?;
        let Some(items) = whole_items(block.header.kind, raw) else { return Ok(None) };
        let (mut bodies, mut weight) = (Vec::new(), block.header.raw_len);
        for item in &items {
            match self.body_of(item, out)? {
                Body::Missing => return Ok(None),
                Body::None => {}
                Body::Beside(sha256, body) => {
                    weight += body.raw_len;
                    if weight > SHIPMENT_WEIGHT {
                        return Ok(None);
                    }
                    bodies.push((sha256, body));
                }
            }
        }
        Ok(Some(bodies))
    }

    fn body_of(&self, item: &Item, out: &Writer) -> Result<Body> {
        let Some(envelope) = envelope::decode(&mut Cursor::new(item)) else { return Ok(Body::Missing) };
        match envelope.body {
            Where::Here | Where::With(_) => return Ok(Body::None),
            Where::Blob => return Ok(Body::Missing),
            Where::Raw if out.has_body(&envelope.sha256) => return Ok(Body::None),
            Where::Raw => {}
        }
        let reader = &self.store.inner.reader;
        match reader.body_place(&envelope.sha256)?.map(|place| place.at) {
            Some(BodyAt::Raw { pack, offset }) => {
                Ok(Body::Beside(envelope.sha256, own(reader.packs.block(pack, offset)?)))
            }
            _ => Ok(Body::Missing),
        }
    }

    /// Puts a difference in, what it is to before it.
    fn load_patch(
        &mut self,
        number: usize,
        place: Place,
        patch: Patch,
        out: &mut Writer,
        steps_left: usize,
    ) -> Result<Loaded> {
        let Some(id) = self.ids.get(number).cloned() else { return Ok(Loaded::Left) };
        if patch.raw_len + patch.bytes.len() > BLOCK_BYTES_MAX {
            return Ok(Loaded::Left);
        }
        let base = self.base_of(&id, place, &patch)?;
        if self.is_mended_since(&base, place)? {
            // The other would put it on bytes that it was not made to, and refuse it or keep something else. Whoever makes a parcel reads it first.
            return Ok(Loaded::Left);
        }
        let target = match self.numbers.get(&base).copied() {
            Some(base_number) if base_number != number && steps_left > 0 => {
                match self.load(base_number, out, steps_left - 1)? {
                    Loaded::Full => return Ok(Loaded::Full),
                    Loaded::Left => return Ok(Loaded::Left),
                    Loaded::Taken => {}
                }
                match self.loads.get(base_number).map(|load| load.state) {
                    Some(State::Shipped(shipment, target)) if shipment == self.made => target,
                    Some(State::Shipped(..)) => self.far(&base)?,
                    _ => return Ok(Loaded::Left),
                }
            }
            Some(_) => return Ok(Loaded::Left),
            // Nobody asks for it: the other has it, or will say that it does not.
            None => self.far(&base)?,
        };
        let is_far = matches!(target, Target::Far { .. });
        if is_far && out.is_full() || !out.has_room_for_patch(&id, patch.raw_len, patch.bytes.len()) {
            return Ok(Loaded::Full);
        }
        let mut bodies = Vec::new();
        if self.loads.get(number).is_some_and(|load| load.may_be_raw) {
            match self.body_of(&self.store.inner.reader.item(place, Some(&id.key))?, out)? {
                Body::Missing => return Ok(Loaded::Left),
                Body::None => {}
                Body::Beside(..) if out.is_full() => return Ok(Loaded::Full),
                Body::Beside(sha256, body) => bodies.push((sha256, body)),
            }
        }
        let patch = out.put_patch(id, target, patch.raw_len, patch.bytes, bodies);
        if let Some(load) = self.loads.get_mut(number) {
            load.state = State::Shipped(self.made, Target::Patch(patch));
        }
        Ok(Loaded::Taken)
    }

    fn base_of(&self, id: &EntryKey, place: Place, patch: &Patch) -> Result<EntryKey> {
        match patch.base {
            BaseRef::Far { time, tag, .. } => return Ok(EntryKey { key: id.key.clone(), time, tag }),
            BaseRef::Near(slot) => {
                let beside = self.blocks.get(&(place.pack, place.offset));
                let found = beside.and_then(|wanted| wanted.iter().find(|(other, _)| *other == slot));
                if let Some(base) = found.and_then(|(_, number)| self.ids.get(*number)) {
                    return Ok(base.clone());
                }
            }
        }
        let base = self.store.inner.reader.base_of(id, place)?;
        base.ok_or_else(|| Error::Damaged("a difference is to nothing".into()))
    }

    /// Whether the item of a capture was written anew behind a place.
    fn is_mended_since(&self, id: &EntryKey, place: Place) -> Result<bool> {
        let load = self.numbers.get(id).and_then(|number| self.loads.get(*number));
        let mended = match load {
            Some(load) => load.mended,
            None => self.store.inner.reader.entry(id)?.and_then(|entry| entry.mended),
        };
        Ok(mended.is_some_and(|since| since > (place.pack, place.offset)))
    }

    fn far(&self, base: &EntryKey) -> Result<Target> {
        let read = |place| self.store.inner.reader.item(place, Some(&base.key));
        let item = self.store.inner.at_place(base, read)?;
        let item = item.ok_or_else(|| Error::Damaged("what a difference is to is not here".into()))?;
        Ok(Target::Far { time: base.time, tag: base.tag, form: form_tag(&item) })
    }
}

type Bodies = Vec<(Sha256, OwnPayload)>;

/// Where the body of an item is.
enum Body {
    /// With it, or with another capture.
    None,
    Beside(Sha256, OwnPayload),
    /// Where it cannot be sent from like that.
    Missing,
}

fn own(block: Block) -> OwnPayload {
    OwnPayload { is_packed: block.header.packed, raw_len: block.header.raw_len, bytes: block.payload }
}
