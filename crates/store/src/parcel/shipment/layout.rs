//! How a shipment is laid out: blocks with the names of what stands in them, patches, and bodies that have blocks of their own.
//!
//! Reading it checks the sum of all of it, every length and every count, and how much would come out, before anything is
//! unpacked. What it gives points into the shipment.

use super::limits::{
    NAMES_BYTES_MAX, SHIPMENT_BYTES, SHIPMENT_BYTES_MAX, SHIPMENT_ENTRIES_MAX, SHIPMENT_WEIGHT, SHIPMENT_WEIGHT_MAX,
    ZSTD_LEVEL_IN_PASSING,
};
use crate::block::Kind as BlockKind;
use crate::compress;
use crate::error::Result;
use crate::index::EntryKey;
use crate::parcel::head::Head;
use crate::parcel::layout::FormTag;
use crate::wire::{Cursor, Put};
use herodotus_base::{Sha256, Timestamp};
use std::borrow::Cow;
use std::collections::HashSet;

/// The newest form. The one before has a SHA-256 of all of it in its head.
pub(super) const FORM: u8 = 2;
pub(super) const HEAD: Head =
    Head { what: "shipment", magic: *b"HDTS", form: FORM, crc_from: 2, bytes_max: SHIPMENT_BYTES_MAX };

mod base {
    pub(super) const NEAR: u8 = 0;
    pub(super) const FAR: u8 = 1;
}

/// The payload of a block, as it lay in a pack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'a> {
    pub(super) is_packed: bool,
    pub(super) raw_len: usize,
    pub(super) bytes: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Unpacks it, if it is one that we could have written.
    pub(super) fn unpacked(&self) -> Option<Cow<'a, [u8]>> {
        match self.is_packed {
            true if !compress::is_one_frame(self.bytes, self.raw_len) => None,
            true => compress::unpack(self.bytes, self.raw_len).ok().map(Cow::Owned),
            false => (self.bytes.len() == self.raw_len).then_some(Cow::Borrowed(self.bytes)),
        }
    }
}

/// A block of whole items.
#[derive(Debug)]
pub(super) struct ShippedBlock<'a> {
    pub(super) kind: BlockKind,
    pub(super) payload: Payload<'a>,
    /// Whose item stands in which slot.
    pub(super) ids: Vec<EntryKey>,
}

/// What a patch was made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BaseOf {
    /// The capture of this number in the shipment: those in blocks first, then those that are patches.
    Near(usize),
    /// A capture of the same key that the receiver has, with an item of which these are the first bytes of its digest.
    Far { time: Timestamp, tag: [u8; 8], form: FormTag },
}

#[derive(Debug)]
pub(super) struct ShippedPatch {
    pub(super) id: EntryKey,
    pub(super) base: BaseOf,
    /// Of the item.
    pub(super) raw_len: usize,
    /// Where it stands among the bytes of all patches.
    pub(super) at: std::ops::Range<usize>,
}

/// A shipment read: nothing in it is believed yet.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub(super) blocks: Vec<ShippedBlock<'a>>,
    pub(super) patches: Vec<ShippedPatch>,
    pub(super) patch_bytes: Payload<'a>,
    pub(super) bodies: Vec<Payload<'a>>,
}

impl<'a> Layout<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        let c = HEAD.open(bytes)?;
        let mut reading = Reading { c, names: Names::default(), seen: HashSet::new(), weight: 0 };
        match reading.take() {
            Some(layout) if reading.c.is_empty() => Ok(layout),
            _ => HEAD.refuse("its directory makes no sense"),
        }
    }

    pub(super) fn entries(&self) -> usize {
        self.blocks.iter().map(|block| block.ids.len()).sum::<usize>() + self.patches.len()
    }
}

struct Reading<'a> {
    c: Cursor<'a>,
    names: Names,
    seen: HashSet<EntryKey>,
    weight: usize,
}

impl<'a> Reading<'a> {
    fn take(&mut self) -> Option<Layout<'a>> {
        let count = self.c.usize().filter(|n| *n <= SHIPMENT_ENTRIES_MAX)?;
        let mut blocks = Vec::with_capacity(count);
        for _ in 0..count {
            let kind = BlockKind::from_code(self.c.u8()?)?;
            let slots = self.c.usize().filter(|n| (1..=SHIPMENT_ENTRIES_MAX).contains(n))?;
            let mut ids = Vec::new();
            for _ in 0..slots {
                ids.push(self.id()?);
            }
            blocks.push(ShippedBlock { kind, payload: self.payload()?, ids });
        }
        let in_blocks = self.seen.len();
        let count = self.c.usize().filter(|n| *n <= SHIPMENT_ENTRIES_MAX)?;
        let (mut patches, mut at) = (Vec::with_capacity(count), 0usize);
        for n in 0..count {
            let id = self.id()?;
            let base = match self.c.u8()? {
                base::NEAR => BaseOf::Near(self.c.usize().filter(|number| *number < in_blocks + n)?),
                base::FAR => BaseOf::Far {
                    time: Timestamp::from_millis(id.time.millis().checked_add(self.c.i64()?)?)?,
                    tag: self.c.array()?,
                    form: self.c.array()?,
                },
                _ => return None,
            };
            let raw_len = self.c.usize()?;
            self.weigh(raw_len)?;
            let end = at.checked_add(self.c.usize()?)?;
            patches.push(ShippedPatch { id, base, raw_len, at: at..end });
            at = end;
        }
        let patch_bytes = self.payload()?;
        (patch_bytes.raw_len == at).then_some(())?;
        let count = self.c.usize().filter(|n| *n <= self.seen.len())?;
        let mut bodies = Vec::with_capacity(count);
        for _ in 0..count {
            bodies.push(self.payload()?);
        }
        Some(Layout { blocks, patches, patch_bytes, bodies })
    }

    fn id(&mut self) -> Option<EntryKey> {
        let id = self.names.take(&mut self.c)?;
        // Each once: the second could only be another form of the first.
        (self.seen.len() < SHIPMENT_ENTRIES_MAX && self.seen.insert(id.clone())).then_some(id)
    }

    fn payload(&mut self) -> Option<Payload<'a>> {
        let is_packed = match self.c.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let raw_len = self.c.usize()?;
        self.weigh(raw_len)?;
        Some(Payload { is_packed, raw_len, bytes: self.c.bytes()? })
    }

    fn weigh(&mut self, raw_len: usize) -> Option<()> {
        self.weight = self.weight.checked_add(raw_len).filter(|weight| *weight <= SHIPMENT_WEIGHT_MAX)?;
        Some(())
    }
}

/// Names one after another, each as what differs from the one before.
#[derive(Debug, Default)]
struct Names {
    key: String,
    time: i64,
    bytes: usize,
}

impl Names {
    fn put(&mut self, out: &mut Vec<u8>, id: &EntryKey) {
        let shared = self.key.bytes().zip(id.key.bytes()).take_while(|(a, b)| a == b).count();
        out.put_len(shared);
        out.put_bytes(id.key.as_bytes().get(shared..).unwrap_or_default());
        out.put_i64(id.time.millis() - self.time);
        out.put_raw(&id.tag);
        self.key.clone_from(&id.key);
        self.time = id.time.millis();
        self.bytes += id.key.len();
    }

    fn take(&mut self, c: &mut Cursor<'_>) -> Option<EntryKey> {
        let mut key = self.key.as_bytes().get(..c.usize()?)?.to_vec();
        key.extend_from_slice(c.bytes()?);
        self.bytes = self.bytes.checked_add(key.len()).filter(|bytes| *bytes <= NAMES_BYTES_MAX)?;
        // A zero byte ends a key in the index.
        self.key = String::from_utf8(key).ok().filter(|key| !key.contains('\0'))?;
        let time = Timestamp::from_millis(self.time.checked_add(c.i64()?)?)?;
        self.time = time.millis();
        Some(EntryKey { key: self.key.clone(), time, tag: c.array()? })
    }
}

/// A shipment being filled. Blocks must come before patches only in the bytes: they are numbered when it is finished.
#[derive(Debug, Default)]
pub(super) struct Writer {
    blocks: Vec<OwnBlock>,
    patches: Vec<OwnPatch>,
    bodies: Vec<(Sha256, OwnPayload)>,
    entries: usize,
    names_bytes: usize,
    bytes: usize,
    weight: usize,
}

#[derive(Debug)]
pub(super) struct OwnPayload {
    pub(super) is_packed: bool,
    pub(super) raw_len: usize,
    pub(super) bytes: Vec<u8>,
}

#[derive(Debug)]
struct OwnBlock {
    kind: BlockKind,
    payload: OwnPayload,
    ids: Vec<EntryKey>,
}

#[derive(Debug)]
struct OwnPatch {
    id: EntryKey,
    base: Target,
    raw_len: usize,
    bytes: Vec<u8>,
}

/// What a patch that is put in was made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A slot of a block in this shipment.
    Block(usize, usize),
    /// A patch in it.
    Patch(usize),
    /// Something that the receiver has.
    Far { time: Timestamp, tag: [u8; 8], form: FormTag },
}

impl Writer {
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// Whether a block, with so many names and so many bytes of bodies beside it, may still begin.
    pub(super) fn has_room_for_block(
        &self,
        ids: &[EntryKey],
        payload: &OwnPayload,
        bodies: &[(Sha256, OwnPayload)],
    ) -> bool {
        let raw = payload.raw_len + bodies.iter().map(|(_, body)| body.raw_len).sum::<usize>();
        let bytes = payload.bytes.len() + bodies.iter().map(|(_, body)| body.bytes.len()).sum::<usize>();
        let keys = ids.iter().map(|id| id.key.len()).sum::<usize>();
        // The first always fits: it is below what a sender takes.
        self.entries == 0
            || self.entries + ids.len() <= SHIPMENT_ENTRIES_MAX / 2
                && self.names_bytes + keys <= NAMES_BYTES_MAX / 2
                && self.bytes + bytes <= SHIPMENT_BYTES
                && self.weight + raw <= SHIPMENT_WEIGHT
    }

    /// The same for a patch to something in it: up to what anybody takes.
    pub(super) fn has_room_for_patch(&self, id: &EntryKey, raw_len: usize, bytes: usize) -> bool {
        self.entries == 0
            || self.entries < SHIPMENT_ENTRIES_MAX
                && self.names_bytes + id.key.len() <= NAMES_BYTES_MAX
                // Patches weigh as what they are and as what they make.
                && self.weight + raw_len + bytes <= SHIPMENT_WEIGHT_MAX
    }

    /// Whether it has as much as a sender begins something new with.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= SHIPMENT_BYTES || self.weight >= SHIPMENT_WEIGHT || self.entries >= SHIPMENT_ENTRIES_MAX / 2
    }

    /// Puts a block in, and says which it is.
    pub(super) fn put_block(
        &mut self,
        kind: BlockKind,
        payload: OwnPayload,
        ids: Vec<EntryKey>,
        bodies: Vec<(Sha256, OwnPayload)>,
    ) -> usize {
        self.count(&ids, payload.raw_len, payload.bytes.len());
        self.put_bodies(bodies);
        self.blocks.push(OwnBlock { kind, payload, ids });
        self.blocks.len() - 1
    }

    pub(super) fn put_patch(
        &mut self,
        id: EntryKey,
        base: Target,
        raw_len: usize,
        bytes: Vec<u8>,
        bodies: Vec<(Sha256, OwnPayload)>,
    ) -> usize {
        // Packed they take about a third.
        self.count(std::slice::from_ref(&id), raw_len + bytes.len(), bytes.len() / 3);
        self.put_bodies(bodies);
        self.patches.push(OwnPatch { id, base, raw_len, bytes });
        self.patches.len() - 1
    }

    pub(super) fn has_body(&self, sha256: &Sha256) -> bool {
        self.bodies.iter().any(|(known, _)| known == sha256)
    }

    fn put_bodies(&mut self, bodies: Vec<(Sha256, OwnPayload)>) {
        for (sha256, body) in bodies {
            if !self.has_body(&sha256) {
                self.count(&[], body.raw_len, body.bytes.len());
                self.bodies.push((sha256, body));
            }
        }
    }

    fn count(&mut self, ids: &[EntryKey], raw: usize, bytes: usize) {
        self.entries += ids.len();
        self.names_bytes += ids.iter().map(|id| id.key.len()).sum::<usize>();
        self.weight += raw;
        self.bytes += bytes;
    }

    /// The shipment's bytes, in a form.
    pub(super) fn finish(self, form: u8) -> Result<Vec<u8>> {
        let mut out = HEAD.begin(form, self.bytes + self.entries * 64);
        let mut names = Names::default();
        let mut first_of_block = Vec::with_capacity(self.blocks.len());
        let mut number = 0;
        out.put_len(self.blocks.len());
        for block in &self.blocks {
            first_of_block.push(number);
            number += block.ids.len();
            out.push(block.kind as u8);
            out.put_len(block.ids.len());
            block.ids.iter().for_each(|id| names.put(&mut out, id));
            put_payload(&mut out, &block.payload);
        }
        let in_blocks = number;
        out.put_len(self.patches.len());
        let mut patches = Vec::new();
        for patch in &self.patches {
            names.put(&mut out, &patch.id);
            match patch.base {
                Target::Far { time, tag, form } => {
                    out.push(base::FAR);
                    out.put_i64(time.millis() - patch.id.time.millis());
                    out.put_raw(&tag);
                    out.put_raw(&form);
                }
                near => {
                    out.push(base::NEAR);
                    out.put_len(match near {
                        Target::Block(block, slot) => first_of_block.get(block).copied().unwrap_or_default() + slot,
                        Target::Patch(patch) => in_blocks + patch,
                        Target::Far { .. } => 0,
                    });
                }
            }
            out.put_len(patch.raw_len);
            out.put_len(patch.bytes.len());
            patches.put_raw(&patch.bytes);
        }
        let packed = compress::pack(&patches, ZSTD_LEVEL_IN_PASSING)?;
        let raw_len = patches.len();
        let (is_packed, bytes) = if packed.len() < raw_len { (true, packed) } else { (false, patches) };
        put_payload(&mut out, &OwnPayload { is_packed, raw_len, bytes });
        out.put_len(self.bodies.len());
        self.bodies.iter().for_each(|(_, body)| put_payload(&mut out, body));
        HEAD.seal(&mut out);
        Ok(out)
    }
}

fn put_payload(out: &mut Vec<u8>, payload: &OwnPayload) {
    out.push(u8::from(payload.is_packed));
    out.put_len(payload.raw_len);
    out.put_bytes(&payload.bytes);
}
