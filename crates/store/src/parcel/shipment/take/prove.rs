//! Proving what a shipment brings: every item is unpacked, and its digests and its name are computed anew.
//!
//! What stands in the shipment by itself is proved first, and needs nothing of the store; then what leans on something that is here, or that the shipment before
//! has brought.

use super::{FarBase, Lean, Proven, Receiver};
use crate::envelope::Where;
use crate::error::{Error, Result};
use crate::index::{Entry, EntryKey};
use crate::parcel::Outcome;
use crate::parcel::layout::form_tag;
use crate::parcel::limits::{BASES_BYTES_MAX, WEIGHT_ALONE_MAX};
use crate::parcel::proof::{Attested, Unproven, weigh};
use crate::parcel::shipment::layout::{BaseOf, ShippedBlock};
use crate::patch;
use crate::read::{Item, whole_items};
use crate::seal::entry_of;
use herodotus_base::Sha256;
use std::borrow::Cow;
use std::ops::Range;

/// What is unpacked before it is proved: little enough that it is still in the processor's cache then, enough for all lanes.
const UNPACKED_BYTES_AT_ONCE: usize = 1024 * 1024;
/// Items whose digests are computed together: far more than there are lanes to do it in, so that all of these are in use nearly all the time.
const ATTESTED_AT_ONCE: usize = 512;
/// What is made of them meanwhile, beside their bodies as they lie there: fields may stand for far more than they take, and bodies may have to be coded anew. No more than that, and
/// one item's.
const MADE_BYTES_AT_ONCE: usize = 4 * 1024 * 1024;

impl Receiver<'_> {
    /// Proves what needs nothing but this shipment, each item soon after it was unpacked.
    pub(super) fn prove_alone(&mut self) {
        self.prove_bodies();
        let (mut from, mut number, mut bytes) = (0, 0, 0);
        for block in &self.layout.blocks {
            self.unpack(block, number);
            number += block.ids.len();
            bytes += block.payload.raw_len;
            if bytes >= UNPACKED_BYTES_AT_ONCE {
                self.attest(from..number);
                (from, bytes) = (number, 0);
            }
        }
        for number in self.patch_numbers() {
            self.patch_near(number);
            bytes += self.patch_of(number).map_or(0, |patch| patch.raw_len);
            if bytes >= UNPACKED_BYTES_AT_ONCE {
                self.attest(from..number + 1);
                (from, bytes) = (number + 1, 0);
            }
        }
        self.attest(from..self.loads.len());
    }

    /// Proves the rest, with what is here.
    pub(super) fn prove_leaning(&mut self) -> Result<()> {
        for number in self.patch_numbers() {
            // Bases come before what is a patch to them.
            self.patch_far(number)?;
            self.patch_near(number);
        }
        self.attest(0..self.loads.len());
        for number in 0..self.loads.len() {
            let load = &self.loads[number];
            if let (None, None, Some(item)) = (&load.proven, &load.outcome, load.item.clone()) {
                match self.attest_leaning(number, &item)? {
                    Ok(proven) => self.loads[number].proven = Some(proven),
                    Err(outcome) => self.loads[number].outcome = Some(outcome),
                }
            }
        }
        Ok(())
    }

    /// The items of a block, the first of which has this number.
    fn unpack(&mut self, block: &ShippedBlock<'_>, first: usize) {
        let items = block.payload.unpacked().and_then(|raw| whole_items(block.kind, raw.into_owned()));
        let mut items = items.filter(|items| items.len() == block.ids.len()).map(Vec::into_iter);
        for load in self.loads.iter_mut().skip(first).take(block.ids.len()) {
            load.item = items.as_mut().and_then(Iterator::next);
            if load.item.is_none() {
                load.outcome = Some(Outcome::Refused("its block cannot be unpacked".into()));
            }
        }
    }

    fn patch_numbers(&self) -> std::ops::Range<usize> {
        self.loads.len() - self.layout.patches.len()..self.loads.len()
    }

    /// The item that is a patch to another of the shipment, once that is known, for good or ill.
    fn patch_near(&mut self, number: usize) {
        let Some(BaseOf::Near(base)) = self.patch_of(number).map(|patch| patch.base) else { return };
        let Some(base) = self.loads.get(base) else { return };
        match &base.item {
            Some(item) => self.put_patched(number, item.clone(), None),
            None if base.outcome.is_some() => self.loads[number].outcome = Some(Outcome::LacksBase),
            None => {}
        }
    }

    /// The item that is a patch to one that is here.
    fn patch_far(&mut self, number: usize) -> Result<()> {
        let Some(patch) = self.patch_of(number) else { return Ok(()) };
        let BaseOf::Far { time, tag, form } = patch.base else { return Ok(()) };
        let id = EntryKey { key: patch.id.key.clone(), time, tag };
        match self.far(&id)?.filter(|(item, _)| form_tag(item) == form) {
            Some((item, far)) => self.put_patched(number, item, Some(far)),
            None => self.loads[number].outcome = Some(Outcome::LacksBase),
        }
        Ok(())
    }

    fn put_patched(&mut self, number: usize, base: Item, far: Option<FarBase>) {
        let Some(patch) = self.patch_of(number) else { return };
        let load = &mut self.loads[number];
        if load.item.is_some() || load.outcome.is_some() {
            return;
        }
        let bytes = self.patches.as_deref().and_then(|patches| patches.get(patch.at.clone()));
        match bytes.map(|bytes| patch::apply(bytes, &base, patch.raw_len)) {
            None => load.outcome = Some(Outcome::Refused("it cannot be unpacked".into())),
            Some(Ok(item)) => (load.item, load.far) = (Some(Item::alone(item)), far),
            Some(Err(_)) => load.outcome = Some(Outcome::Refused("its patch does not fit".into())),
        }
    }

    /// The digests of bodies that have blocks of their own.
    fn prove_bodies(&mut self) {
        for some in self.layout.bodies.chunks(ATTESTED_AT_ONCE) {
            let bodies: Vec<_> = some.iter().filter_map(|body| Some((body.unpacked()?, body))).collect();
            let attested = Attested::of_all(&bodies.iter().map(|(raw, _)| &raw[..]).collect::<Vec<_>>());
            for (attested, (_, body)) in attested.into_iter().zip(bodies) {
                self.bodies.insert(attested.sha256(), (attested, body));
            }
        }
    }

    /// The item of a capture that is here and lies in a pack.
    fn far(&mut self, id: &EntryKey) -> Result<Option<(Item, FarBase)>> {
        if self.bases_bytes >= BASES_BYTES_MAX {
            return Ok(None);
        }
        let inner = &self.store.inner;
        let Some(entry) = inner.reader.entry(id)?.filter(|entry| !entry.removed) else { return Ok(None) };
        let Some(place) = entry.place else { return Ok(None) };
        match inner.reader.item(place, Some(&id.key)) {
            Ok(item) => {
                self.bases_bytes += item.len();
                Ok(Some((item, FarBase { place, depth: entry.depth })))
            }
            Err(Error::Damaged(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Proves those that have their bodies, as far as they are unpacked and are not proved yet.
    fn attest(&mut self, mut numbers: Range<usize>) {
        while !numbers.is_empty() {
            numbers.start = self.attest_some(numbers.clone());
        }
    }

    /// The same of so many that their digests are worth computing together. Says where the next go on.
    fn attest_some(&mut self, numbers: Range<usize>) -> usize {
        let (mut some, mut found, mut made_bytes, mut number) = (Vec::new(), Vec::new(), 0, numbers.start);
        while number < numbers.end && some.len() < ATTESTED_AT_ONCE && made_bytes < MADE_BYTES_AT_ONCE {
            let load = &self.loads[number];
            let item = load.item.as_ref().filter(|_| load.outcome.is_none() && load.proven.is_none());
            let body = item.map(|item| {
                let (unproven, weight) = read(item)?;
                let is_here = *unproven.place() == Where::Here;
                // Those that lean on others have their turn later.
                let wire = if is_here { unproven.wire(false).map_err(Outcome::Refused)? } else { None };
                Ok(wire.map(|wire| (unproven, weight, wire)))
            });
            match body {
                Some(Ok(Some((unproven, weight, wire)))) => {
                    made_bytes += match &wire {
                        Cow::Owned(coded) => weight + coded.len(),
                        Cow::Borrowed(lying) => weight.saturating_sub(lying.len()),
                    };
                    some.push((number, unproven, wire));
                }
                Some(Err(outcome)) => found.push((number, Err(outcome))),
                Some(Ok(None)) | None => {}
            }
            number += 1;
        }
        let bodies = Attested::of_all(&some.iter().map(|(_, _, wire)| &wire[..]).collect::<Vec<_>>());
        for ((number, unproven, _), body) in some.into_iter().zip(bodies) {
            found.push((number, prove(self.loads[number].id, unproven, body, Lean::Here)));
        }
        for (number, proven) in found {
            let load = &mut self.loads[number];
            match proven {
                Ok(proven) => {
                    if proven.lean == Lean::Here {
                        self.in_items.insert(proven.body.sha256());
                    }
                    load.proven = Some(proven);
                }
                Err(outcome) => load.outcome = Some(outcome),
            }
        }
        number
    }

    /// Proves one whose body is elsewhere.
    fn attest_leaning(&mut self, number: usize, item: &[u8]) -> Result<Result<Proven, Outcome>> {
        let unproven = match read(item) {
            Ok((unproven, _)) => unproven,
            Err(outcome) => return Ok(Err(outcome)),
        };
        let digest = unproven.digest();
        let (lean, body) = match unproven.place() {
            Where::Raw => (Lean::Raw, self.raw(&digest)?),
            Where::With(owner) => {
                let owner = owner.clone();
                let body = self.owner(&owner)?.filter(|body| body.sha256() == digest);
                (Lean::With(owner), body)
            }
            // A file travels by itself, behind a parcel.
            Where::Blob | Where::Here => return Ok(Err(Outcome::LacksBase)),
        };
        let Some(body) = body else { return Ok(Err(Outcome::LacksBase)) };
        Ok(match unproven.wire(true) {
            Ok(_) => prove(self.loads[number].id, unproven, body, lean),
            Err(why) => Err(Outcome::Refused(why)),
        })
    }

    /// What a body beside, or one that is here in a block of its own, was found to be.
    fn raw(&self, digest: &Sha256) -> Result<Option<Attested>> {
        if let Some((attested, _)) = self.bodies.get(digest) {
            return Ok(Some(*attested));
        }
        match self.store.inner.reader.raw_body(digest) {
            Ok(bytes) => Ok(Some(Attested::of(&bytes))),
            Err(Error::Damaged(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The body of a capture that has it in its item: in this shipment, or here in a pack.
    fn owner(&mut self, id: &EntryKey) -> Result<Option<Attested>> {
        if let Some(load) = self.numbers.get(id).and_then(|number| self.loads.get(*number)) {
            let proven = load.proven.as_ref().filter(|proven| proven.lean == Lean::Here);
            return Ok(proven.map(|proven| proven.body));
        }
        if let Some(known) = self.owners.get(id) {
            return Ok(*known);
        }
        let body = match self.far(id)? {
            None => None,
            Some((item, far)) => {
                let is_here = Unproven::read(&item).is_some_and(|unproven| *unproven.place() == Where::Here);
                let capture = match is_here {
                    true => self.store.inner.reader.capture(id, far.place).ok(),
                    false => None,
                };
                capture.map(|capture| Attested::of_main(&capture))
            }
        };
        self.owners.insert(id.clone(), body);
        Ok(body)
    }
}

/// An item that was weighed, and its weight.
fn read(item: &[u8]) -> Result<(Unproven<'_>, usize), Outcome> {
    let refused = |why: &str| Outcome::Refused(why.into());
    let Some(weight) = weigh(item).filter(|weight| *weight <= WEIGHT_ALONE_MAX) else {
        return Err(refused("it takes too much memory, or cannot be read"));
    };
    let unproven = Unproven::read(item).ok_or_else(|| refused("it cannot be read"))?;
    Ok((unproven, weight))
}

/// The item of this name, if its body is the one that was found.
fn prove(id: &EntryKey, unproven: Unproven<'_>, body: Attested, lean: Lean) -> Result<Proven, Outcome> {
    let capture = unproven.attest(id, body).map_err(Outcome::Refused)?;
    let lean = if lean == Lean::Here && capture.main.body.is_empty() { Lean::Nothing } else { lean };
    let media = capture.media().unwrap_or_default();
    let entry = entry_of(id, &capture, media, matches!(lean, Lean::With(_)));
    // What was attested has no bytes, and is no file for that.
    Ok(Proven { entry: Some(Box::new(Entry { in_file: false, ..entry })), body, lean })
}
