//! Keeping what was proved: with nobody else sealing, what is all new is written as it came, in a seal of its own, and what is left of the good goes the
//! ordinary way, as from a parcel.

use super::{Lean, Proven, Receiver};
use crate::capture::Capture;
use crate::directory::BodySource;
use crate::error::{Error, Result};
use crate::index::{BodyAt, BodyKey, Entry, EntryKey, body_key};
use crate::limits::CHAIN_DEPTH_MAX;
use crate::parcel::Outcome;
use crate::parcel::form::Standing;
use crate::parcel::proof::{Proof, ProvenBody, Unproven};
use crate::parcel::shipment::layout::{BaseOf, ShippedPatch};
use crate::parcel::shipment::limits::BLOCK_BYTES_MAX;
use crate::seal::{AdoptedBase, BodyPlan, Sealer};
use crate::store::Appended;
use std::collections::HashMap;
use std::sync::atomic::Ordering::Release;

/// Rounds in which what cannot be kept as it came is given up, with those that lean on it.
pub(in crate::parcel::shipment) const ROUNDS_MAX: usize = 32;

impl<'a> Receiver<'a> {
    /// Keeps what may be kept as it came.
    pub(super) fn adopt(&mut self) -> Result<()> {
        let inner = &self.store.inner;
        inner.writable()?;
        let mut writer = inner.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.choose()?;
        if !self.loads.iter().any(|load| load.is_adopted) {
            return Ok(());
        }
        let payloads = self.layout.blocks.iter().map(|block| &block.payload).chain(&self.layout.bodies);
        let bytes: usize = payloads.map(|payload| payload.bytes.len()).sum();
        // What waits in memory was promised its room before.
        let waiting: usize = inner.batches(|batches| batches.map(|batch| batch.weight()).sum());
        inner.room_for(2 * (bytes + self.layout.patch_bytes.raw_len + waiting) as u64)?;
        // Before anything is written: who appends from here on does not see yet that it is here.
        inner.has_adopted.store(true, Release);
        let written = writer.begin(false).and_then(|()| {
            let mut sealer = Sealer::new(&inner.reader, &*inner.engine, &mut writer);
            self.write(&mut sealer)?;
            // That is what they were chosen by.
            inner.finish_new(sealer)
        });
        written.map_err(|error| inner.poison(error))?;
        for load in self.loads.iter_mut().filter(|load| load.is_adopted) {
            load.outcome = Some(Outcome::Stored);
        }
        Ok(())
    }

    /// Chooses what is kept as it came: nothing is known of it here, and all that it leans on is here, or is kept, too. Nobody else seals meanwhile.
    fn choose(&mut self) -> Result<()> {
        for number in 0..self.loads.len() {
            let is_adopted = self.loads[number].outcome.is_none() && self.stands_alone(number)?;
            self.loads[number].is_adopted = is_adopted;
        }
        // What is not kept may be what others lean on. Each round gives up one more, or is the last; nobody honest needs more than chains are long.
        for _ in 0..ROUNDS_MAX {
            let before = self.loads.iter().filter(|load| load.is_adopted).count();
            let mut number = 0;
            for block in &self.layout.blocks {
                let loads = &mut self.loads[number..number + block.ids.len()];
                // One larger than a seal makes them would be unpacked anew for each of its items.
                let is_large = block.payload.raw_len > BLOCK_BYTES_MAX;
                if is_large || loads.iter().any(|load| !load.is_adopted) {
                    loads.iter_mut().for_each(|load| load.is_adopted = false);
                }
                number += block.ids.len();
            }
            for number in 0..self.loads.len() {
                if !self.is_leaning_well(number) {
                    self.loads[number].is_adopted = false;
                }
            }
            if self.loads.iter().filter(|load| load.is_adopted).count() == before {
                return Ok(());
            }
        }
        self.loads.iter_mut().for_each(|load| load.is_adopted = false);
        Ok(())
    }

    /// Whether nothing was ever known of a capture here, and what it needs of what is here is as it was when it was proved.
    fn stands_alone(&self, number: usize) -> Result<bool> {
        let (inner, load) = (&self.store.inner, &self.loads[number]);
        let Some(proven) = &load.proven else { return Ok(false) };
        // What was let go comes back where it is: others may lean on it there.
        if inner.waiting(load.id).is_some() || inner.reader.has_entry(load.id)? {
            return Ok(false);
        }
        if let (Some(far), Some(base)) = (load.far, self.far_base(number)) {
            let known = inner.reader.entry(&base)?;
            if known.is_none_or(|known| known.removed || known.place != Some(far.place)) {
                return Ok(false);
            }
        }
        Ok(match &proven.lean {
            Lean::Nothing | Lean::Here => true,
            // Where it is in an item, whoever looks for its own block does not find it.
            Lean::Raw => match inner.reader.body_place(&proven.body.sha256())?.map(|place| place.at) {
                // If it came beside, nobody has looked yet whether the one that is here can be read.
                Some(BodyAt::Raw { .. }) => {
                    let sha256 = proven.body.sha256();
                    !self.bodies.contains_key(&sha256) || inner.reader.raw_body(&sha256).is_ok()
                }
                Some(_) => false,
                None => {
                    self.bodies.contains_key(&proven.body.sha256()) && !self.in_items.contains(&proven.body.sha256())
                }
            },
            Lean::With(owner) if self.numbers.contains_key(owner) => true,
            Lean::With(owner) => {
                let known = inner.reader.entry(owner)?;
                known.is_some_and(|known| !known.removed && known.place.is_some() && known.mended.is_none())
            }
        })
    }

    fn far_base(&self, number: usize) -> Option<EntryKey> {
        match self.patch_of(number)?.base {
            BaseOf::Far { time, tag, .. } => Some(EntryKey { key: self.loads[number].id.key.clone(), time, tag }),
            BaseOf::Near(_) => None,
        }
    }

    pub(super) fn patch_of(&self, number: usize) -> Option<&'a ShippedPatch> {
        let in_blocks = self.loads.len() - self.layout.patches.len();
        self.layout.patches.get(number.checked_sub(in_blocks)?)
    }

    /// Whether what a capture leans on in this shipment is kept, and the chain is not too long.
    fn is_leaning_well(&self, number: usize) -> bool {
        let load = &self.loads[number];
        let is_kept = |other: usize| self.loads.get(other).is_some_and(|other| other.is_adopted);
        if let Some(Proven { lean: Lean::With(owner), .. }) = &load.proven
            && self.numbers.get(owner).is_some_and(|owner| !is_kept(*owner))
        {
            return false;
        }
        let Some(patch) = self.patch_of(number) else { return true };
        match patch.base {
            BaseOf::Near(base) if !is_kept(base) => return false,
            // A base is a version of the same URL: that is where readers look for it.
            BaseOf::Near(base) if self.loads[base].id.key != load.id.key => return false,
            _ => {}
        }
        self.depth(number).is_some()
    }

    /// How many differences must be resolved to read a capture, if that is no more than may be.
    fn depth(&self, number: usize) -> Option<u8> {
        let (mut number, mut depth) = (number, 0u8);
        while let Some(patch) = self.patch_of(number) {
            depth += 1;
            match patch.base {
                // Bases come before.
                BaseOf::Near(base) => number = base,
                BaseOf::Far { .. } => {
                    depth = depth.checked_add(self.loads[number].far?.depth)?;
                    break;
                }
            }
            if depth > CHAIN_DEPTH_MAX {
                return None;
            }
        }
        (depth <= CHAIN_DEPTH_MAX).then_some(depth)
    }

    fn write(&mut self, sealer: &mut Sealer<'_>) -> Result<()> {
        // Who brings a body first tells where it is, the others that they share it.
        let mut raws: HashMap<BodyKey, ()> = HashMap::new();
        let mut ops: Vec<Option<usize>> = vec![None; self.loads.len()];
        let mut number = 0;
        for block in &self.layout.blocks {
            let numbers = number..number + block.ids.len();
            if self.loads[numbers.clone()].iter().all(|load| load.is_adopted) {
                let mut items = Vec::with_capacity(numbers.len());
                for number in numbers.clone() {
                    items.push(self.told(number, sealer, &mut raws)?);
                }
                let payload = &block.payload;
                let first =
                    sealer.adopt_block(block.kind, (payload.is_packed, payload.bytes, payload.raw_len), items)?;
                numbers.zip(first..).for_each(|(number, op)| ops[number] = Some(op));
            }
            number += block.ids.len();
        }
        let patches = self.patches.take().unwrap_or_default();
        for (patch, number) in self.layout.patches.iter().zip(number..) {
            let load = &self.loads[number];
            if !load.is_adopted {
                continue;
            }
            let lost = || Error::Damaged("a version was lost while it was adopted".into());
            let base = match (patch.base, self.far_base(number), load.far) {
                (BaseOf::Near(base), ..) => {
                    let op = ops.get(base).copied().flatten().ok_or_else(lost)?;
                    (self.loads[base].id.clone(), AdoptedBase::Here(op))
                }
                (BaseOf::Far { .. }, Some(id), Some(far)) => (id, AdoptedBase::At(far.place)),
                _ => return Err(lost()),
            };
            let (mut entry, plan) = self.told(number, sealer, &mut raws)?;
            entry.depth = self.depth(number).ok_or_else(lost)?;
            let bytes = patches.get(patch.at.clone()).ok_or_else(lost)?;
            ops[number] = Some(sealer.adopt_patch(entry, plan, base, (bytes, patch.raw_len)));
        }
        Ok(())
    }

    /// What the index is told of a capture, and of its body.
    fn told(
        &mut self,
        number: usize,
        sealer: &mut Sealer<'_>,
        raws: &mut HashMap<BodyKey, ()>,
    ) -> Result<(Box<Entry>, BodyPlan)> {
        let lost = || Error::Damaged("a capture was lost while it was adopted".into());
        let proven = self.loads[number].proven.as_mut().ok_or_else(lost)?;
        let digest = proven.body.sha256();
        let key = body_key(&digest);
        let known = BodyPlan::Source(key, BodySource::Known);
        let plan = match &proven.lean {
            Lean::Nothing => BodyPlan::Nothing,
            Lean::Here => BodyPlan::InItem(key),
            Lean::With(_) => known,
            Lean::Raw if raws.contains_key(&key) || self.store.inner.reader.body_place(&digest)?.is_some() => known,
            Lean::Raw => {
                let (_, body) = self.bodies.get(&digest).ok_or_else(lost)?;
                raws.insert(key, ());
                sealer.adopt_raw(key, (body.is_packed, body.bytes, body.raw_len))?
            }
        };
        let mut entry = proven.entry.take().ok_or_else(lost)?;
        entry.shared = plan == known;
        Ok((entry, plan))
    }

    /// What is good and was not kept as it came goes the ordinary way.
    pub(super) fn append_rest(&mut self) -> Result<()> {
        let mut last_owner = None;
        for number in 0..self.loads.len() {
            if self.loads[number].outcome.is_some() {
                continue;
            }
            let outcome = match self.store.standing(self.loads[number].id)? {
                Standing::Removed => Outcome::Removed,
                Standing::Waiting(_) | Standing::Packed => Outcome::Known,
                Standing::Absent => match self.whole(number, &mut last_owner)? {
                    // It was proved before, and what it leans on went meanwhile.
                    None => Outcome::LacksBase,
                    Some(capture) => match self.store.append(capture) {
                        Ok(Appended::Stored) => Outcome::Stored,
                        Ok(Appended::Known) => Outcome::Known,
                        Ok(Appended::Removed) => Outcome::Removed,
                        Err(Error::Refused(why)) => Outcome::Refused(why),
                        Err(error) => return Err(error),
                    },
                },
            };
            self.loads[number].outcome = Some(outcome);
        }
        Ok(())
    }

    /// A capture with its bytes, proved once more. `last_owner`: a body that others are likely to have too, so that it is not put together anew for each.
    fn whole(&self, number: usize, last_owner: &mut Option<(EntryKey, ProvenBody)>) -> Result<Option<Capture>> {
        let load = &self.loads[number];
        let (Some(item), Some(proven)) = (&load.item, &load.proven) else { return Ok(None) };
        let elsewhere = match &proven.lean {
            Lean::Nothing | Lean::Here => None,
            Lean::Raw => match self.bodies.get(&proven.body.sha256()) {
                Some((_, body)) => body.unpacked().map(|raw| ProvenBody::of(&raw)),
                None => self.store.inner.reader.raw_body(&proven.body.sha256()).ok().map(|raw| ProvenBody::of(&raw)),
            },
            Lean::With(owner) => match last_owner {
                Some((last, body)) if last == owner => Some(body.clone()),
                _ => {
                    let body = match self.numbers.get(owner) {
                        // It has its body in its item, so this goes no deeper.
                        Some(owner) => self.whole(*owner, &mut None)?.and_then(ProvenBody::read),
                        None => self.store.read(owner).ok().flatten().and_then(ProvenBody::read),
                    };
                    *last_owner = body.clone().map(|body| (owner.clone(), body));
                    body
                }
            },
        };
        let proof = Unproven::read(item).and_then(|unproven| unproven.prove(load.id, elsewhere.as_ref()).ok());
        Ok(match proof {
            Some(Proof::Whole(capture)) => Some(capture),
            Some(Proof::Large(_)) | None => None,
        })
    }
}
