//! Blocks that another machine sealed, taken into a pack as they are ([`crate::parcel`] has proved every item of them). What is told of them
//! is what a seal of their captures would have told. Patches keep their bytes and are put together anew: a base is named by where it
//! stands here.

use super::{At, BodyPlan, Delta, Sealer};
use crate::block::Kind as BlockKind;
use crate::directory::{BodySource, Op};
use crate::error::Result;
use crate::index::{BodyAt, BodyKey, Entry, EntryKey, Place};

/// What an adopted patch was made to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AdoptedBase {
    /// An item that this seal has taken in before: the operation that put it.
    Here(usize),
    /// An item of an earlier one.
    At(Place),
}

impl Sealer<'_> {
    /// Adds a block of whole items, its captures slot by slot, and says which operation puts the first; the others follow it.
    pub(crate) fn adopt_block(
        &mut self,
        kind: BlockKind,
        (packed, payload, raw_len): (bool, &[u8], usize),
        items: Vec<(Box<Entry>, BodyPlan)>,
    ) -> Result<usize> {
        let offset = self.writer.put_slots((kind, items.len()), packed, payload, raw_len)?;
        let first = self.ops.len();
        for (slot, (mut entry, plan)) in items.into_iter().enumerate() {
            let here = Place { pack: self.writer.number(), offset, slot: slot as u32 };
            (entry.depth, entry.place) = (0, Some(here));
            let body = match plan {
                BodyPlan::Nothing => None,
                BodyPlan::InItem(key) => Some((key, BodySource::New(BodyAt::Item(here)))),
                BodyPlan::Source(key, source) => Some((key, source)),
            };
            self.ops.push(Op::Put { entry, body });
        }
        Ok(first)
    }

    /// Adds an item that is a patch to another, and says which operation puts it. Its entry knows its depth.
    pub(crate) fn adopt_patch(
        &mut self,
        entry: Box<Entry>,
        plan: BodyPlan,
        (base, at): (EntryKey, AdoptedBase),
        (patch, raw_len): (&[u8], usize),
    ) -> usize {
        let op = self.ops.len();
        let (in_item, body) = match plan {
            BodyPlan::Nothing => (None, None),
            BodyPlan::InItem(key) => (Some(key), None),
            BodyPlan::Source(key, source) => (None, Some((key, source))),
        };
        let at = match at {
            AdoptedBase::Here(op) => At::Op(op),
            AdoptedBase::At(place) => At::Place(place),
        };
        self.waiting.deltas.push(Delta { op, body: in_item, base: (base, at), patch: patch.to_vec(), raw_len });
        self.ops.push(Op::Put { entry, body });
        op
    }

    /// Adds a body that has a block of its own, and says how whoever has it is to tell of it.
    pub(crate) fn adopt_raw(
        &mut self,
        key: BodyKey,
        (packed, payload, raw_len): (bool, &[u8], usize),
    ) -> Result<BodyPlan> {
        let offset = self.writer.put(BlockKind::Raw, packed, payload, raw_len)?;
        Ok(BodyPlan::Source(key, BodySource::New(BodyAt::Raw { pack: self.writer.number(), offset })))
    }
}
