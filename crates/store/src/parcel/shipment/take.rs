//! Taking a shipment in. Every item is unpacked and proved; then, with nobody else sealing, what is all new is written as it came, in a seal of its own,
//! and what is left of the good goes the ordinary way, as from a parcel.

use super::layout::{BaseOf, Layout, Payload};
use super::limits::BLOCK_BYTES_MAX;
use crate::Store;
use crate::capture::Capture;
use crate::directory::BodySource;
use crate::envelope::Where;
use crate::error::{Error, Result};
use crate::index::{BodyAt, BodyKey, Entry, EntryKey, Place, body_key};
use crate::limits::CHAIN_DEPTH_MAX;
use crate::parcel::form::Standing;
use crate::parcel::layout::form_tag;
use crate::parcel::limits::{BASES_BYTES_MAX, WEIGHT_ALONE_MAX};
use crate::parcel::proof::{Attested, Proof, ProvenBody, Unproven, weigh};
use crate::parcel::{Outcome, Taken};
use crate::patch;
use crate::read::{Item, whole_items};
use crate::seal::{AdoptedBase, BodyPlan, Sealer, entry_of};
use crate::store::Appended;
use herodotus_base::Sha256;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Rounds in which what cannot be kept as it came is given up, with those that lean on it.
pub(super) const ROUNDS_MAX: usize = 32;

impl Store {
    /// How many shipments were taken in since the store was opened. Where that grows, much is coming, and what can wait should.
    pub fn shipments_taken(&self) -> u64 {
        self.inner.shipments.load(Relaxed)
    }

    /// Takes in what a shipment brings and is new, once it is proved to be what it says, and says of each capture what became of it. What was kept as it
    /// came is durable; what went the ordinary way is after the next commit. `LacksBase`: it is to go in a parcel.
    ///
    /// An error is either a shipment that is none ([`Error::Refused`]: nothing of it was taken), or the fault of this store.
    pub fn take_shipment(&self, bytes: &[u8]) -> Result<Taken> {
        let layout = Layout::read(bytes)?;
        self.inner.shipments.fetch_add(1, Relaxed);
        let mut receiver = Receiver::new(self, &layout);
        receiver.unpack()?;
        receiver.attest()?;
        receiver.adopt()?;
        receiver.append_rest()?;
        let entries = receiver.loads.into_iter();
        let outcome = |load: Load<'_>| load.outcome.unwrap_or(Outcome::LacksBase);
        Ok(Taken { entries: entries.map(|load| (load.id.clone(), outcome(load))).collect(), lacking_blobs: Vec::new() })
    }
}

/// What a shipment says that it brings, before anything of it is believed.
pub fn shipment_names(bytes: &[u8]) -> Result<Vec<EntryKey>> {
    let Layout { blocks, patches, .. } = Layout::read(bytes)?;
    let in_blocks = blocks.into_iter().flat_map(|block| block.ids);
    Ok(in_blocks.chain(patches.into_iter().map(|patch| patch.id)).collect())
}

/// One capture of a shipment.
struct Load<'a> {
    id: &'a EntryKey,
    item: Option<Item>,
    /// What it leans on, where that is not in the shipment.
    far: Option<FarBase>,
    proven: Option<Proven>,
    /// It may be kept as it came.
    is_adopted: bool,
    outcome: Option<Outcome>,
}

/// An item that is here, which a patch of the shipment was made to.
#[derive(Clone, Copy)]
struct FarBase {
    place: Place,
    depth: u8,
}

struct Proven {
    /// As the index will have it, but for place and depth.
    entry: Entry,
    body: Attested,
    lean: Lean,
}

/// What a proven item has for a body.
#[derive(Clone, PartialEq, Eq)]
enum Lean {
    Nothing,
    Here,
    Raw,
    /// That of another capture of the shipment, or of one that is here.
    With(EntryKey),
}

struct Receiver<'a> {
    store: &'a Store,
    layout: &'a Layout<'a>,
    loads: Vec<Load<'a>>,
    numbers: HashMap<&'a EntryKey, usize>,
    /// Bodies beside, by what their digest was found to be.
    bodies: HashMap<Sha256, (Attested, &'a Payload<'a>)>,
    /// Bodies that items of the shipment were found to have in them.
    in_items: HashSet<Sha256>,
    /// Bodies of captures that are here, if they have them in their items.
    owners: HashMap<EntryKey, Option<Attested>>,
    bases_bytes: usize,
}

impl<'a> Receiver<'a> {
    fn new(store: &'a Store, layout: &'a Layout<'a>) -> Self {
        let mut loads = Vec::with_capacity(layout.entries());
        let in_blocks = layout.blocks.iter().flat_map(|block| &block.ids);
        for id in in_blocks.chain(layout.patches.iter().map(|patch| &patch.id)) {
            loads.push(Load { id, item: None, far: None, proven: None, is_adopted: false, outcome: None });
        }
        let numbers = loads.iter().enumerate().map(|(number, load)| (load.id, number)).collect();
        Self {
            store,
            layout,
            loads,
            numbers,
            bodies: HashMap::new(),
            in_items: HashSet::new(),
            owners: HashMap::new(),
            bases_bytes: 0,
        }
    }

    /// The item of every capture.
    fn unpack(&mut self) -> Result<()> {
        let layout = self.layout;
        let mut number = 0;
        for block in &layout.blocks {
            let items = block.payload.unpacked().and_then(|raw| whole_items(block.kind, raw));
            let mut items = items.filter(|items| items.len() == block.ids.len()).map(Vec::into_iter);
            for load in self.loads.iter_mut().skip(number).take(block.ids.len()) {
                load.item = items.as_mut().and_then(Iterator::next);
                if load.item.is_none() {
                    load.outcome = Some(Outcome::Refused("its block cannot be unpacked".into()));
                }
            }
            number += block.ids.len();
        }
        let patches = layout.patch_bytes.unpacked();
        for (patch, number) in layout.patches.iter().zip(number..) {
            let base = match patch.base {
                BaseOf::Near(base) => self.loads.get(base).and_then(|load| load.item.clone()).map(|item| (item, None)),
                BaseOf::Far { time, tag, form } => {
                    let id = EntryKey { key: patch.id.key.clone(), time, tag };
                    let known = self.far(&id)?.filter(|(item, _)| form_tag(item) == form);
                    known.map(|(item, far)| (item, Some(far)))
                }
            };
            let bytes = patches.as_ref().and_then(|patches| patches.get(patch.at.clone()));
            let Some(load) = self.loads.get_mut(number) else { continue };
            match (base, bytes) {
                (None, _) => load.outcome = Some(Outcome::LacksBase),
                (_, None) => load.outcome = Some(Outcome::Refused("it cannot be unpacked".into())),
                (Some((base, far)), Some(bytes)) => match patch::apply(bytes, &base, patch.raw_len) {
                    Ok(item) => (load.item, load.far) = (Some(Item::alone(item)), far),
                    Err(_) => load.outcome = Some(Outcome::Refused("its patch does not fit".into())),
                },
            }
        }
        for body in &layout.bodies {
            if let Some(raw) = body.unpacked() {
                let attested = Attested::of(&raw);
                self.bodies.insert(attested.sha256(), (attested, body));
            }
        }
        Ok(())
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

    /// Proves every item: those that have their bodies first, then those that lean on them.
    fn attest(&mut self) -> Result<()> {
        for leaning in [false, true] {
            for number in 0..self.loads.len() {
                let load = &self.loads[number];
                let (None, None, Some(item)) = (&load.proven, &load.outcome, load.item.clone()) else { continue };
                match self.attest_one(number, &item, leaning)? {
                    Ok(Some(proven)) => {
                        if proven.lean == Lean::Here {
                            self.in_items.insert(proven.body.sha256());
                        }
                        self.loads[number].proven = Some(proven);
                    }
                    // Its turn comes.
                    Ok(None) => {}
                    Err(outcome) => self.loads[number].outcome = Some(outcome),
                }
            }
        }
        Ok(())
    }

    fn attest_one(&mut self, number: usize, item: &[u8], leaning: bool) -> Result<Result<Option<Proven>, Outcome>> {
        let refused = |why: &str| Ok(Err(Outcome::Refused(why.into())));
        if weigh(item).is_none_or(|weight| weight > WEIGHT_ALONE_MAX) {
            return refused("it takes too much memory, or cannot be read");
        }
        let Some(unproven) = Unproven::read(item) else { return refused("it cannot be read") };
        let digest = unproven.digest();
        let (lean, elsewhere) = match unproven.place() {
            Where::With(_) if !leaning => return Ok(Ok(None)),
            Where::Here => (Lean::Here, None),
            Where::Raw => match self.raw(&digest)? {
                Some(body) => (Lean::Raw, Some(body)),
                None => return Ok(Err(Outcome::LacksBase)),
            },
            // The file travels by itself, behind a parcel.
            Where::Blob => return Ok(Err(Outcome::LacksBase)),
            Where::With(owner) => match self.owner(&owner.clone())?.filter(|body| body.sha256() == digest) {
                Some(body) => (Lean::With(owner.clone()), Some(body)),
                None => return Ok(Err(Outcome::LacksBase)),
            },
        };
        let id = self.loads[number].id;
        let capture = match unproven.attest(id, elsewhere) {
            Ok(capture) => capture,
            Err(why) => return Ok(Err(Outcome::Refused(why))),
        };
        let body = Attested::of_main(&capture);
        let lean = if lean == Lean::Here && capture.main.body.is_empty() { Lean::Nothing } else { lean };
        let media = capture.media().unwrap_or_default();
        let entry = entry_of(id, &capture, media, matches!(lean, Lean::With(_)));
        // What was attested has no bytes, and is no file for that.
        let entry = Entry { in_file: false, ..entry };
        Ok(Ok(Some(Proven { entry, body, lean })))
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

    /// Keeps what may be kept as it came.
    fn adopt(&mut self) -> Result<()> {
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
            inner.finish(sealer)
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

    fn patch_of(&self, number: usize) -> Option<&'a super::layout::ShippedPatch> {
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

    fn write(&self, sealer: &mut Sealer<'_>) -> Result<()> {
        // Who brings a body first tells where it is, the others that they share it.
        let mut raws: HashMap<BodyKey, ()> = HashMap::new();
        let mut ops: Vec<Option<usize>> = vec![None; self.loads.len()];
        let mut number = 0;
        for block in &self.layout.blocks {
            let loads = &self.loads[number..number + block.ids.len()];
            if loads.iter().all(|load| load.is_adopted) {
                let mut items = Vec::with_capacity(loads.len());
                for load in loads {
                    items.push(self.told(load, sealer, &mut raws)?);
                }
                let payload = &block.payload;
                let first =
                    sealer.adopt_block(block.kind, (payload.is_packed, payload.bytes, payload.raw_len), items)?;
                (0..loads.len()).for_each(|slot| ops[number + slot] = Some(first + slot));
            }
            number += block.ids.len();
        }
        let patches = self.layout.patch_bytes.unpacked().unwrap_or_default();
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
            let (mut entry, plan) = self.told(load, sealer, &mut raws)?;
            entry.depth = self.depth(number).ok_or_else(lost)?;
            let bytes = patches.get(patch.at.clone()).ok_or_else(lost)?;
            ops[number] = Some(sealer.adopt_patch(entry, plan, base, (bytes, patch.raw_len)));
        }
        Ok(())
    }

    /// What the index is told of a capture, and of its body.
    fn told(
        &self,
        load: &Load<'_>,
        sealer: &mut Sealer<'_>,
        raws: &mut HashMap<BodyKey, ()>,
    ) -> Result<(Entry, BodyPlan)> {
        let lost = || Error::Damaged("a capture was lost while it was adopted".into());
        let proven = load.proven.as_ref().ok_or_else(lost)?;
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
        Ok((Entry { shared: plan == known, ..proven.entry.clone() }, plan))
    }

    /// What is good and was not kept as it came goes the ordinary way.
    fn append_rest(&mut self) -> Result<()> {
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
