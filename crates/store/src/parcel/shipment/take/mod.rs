//! Taking a shipment in: every item is unpacked and proved ([`prove`]), and then kept ([`keep`]).

mod keep;
mod prove;

#[cfg(test)]
pub(super) use keep::ROUNDS_MAX;

use super::layout::{Layout, Payload};
use crate::Store;
use crate::error::{Error, Result};
use crate::index::{Entry, EntryKey, Place};
use crate::parcel::proof::Attested;
use crate::parcel::{Outcome, Taken};
use crate::read::Item;
use herodotus_base::Sha256;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;

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
        self.take_shipment_in_turn(bytes, || Ok(()))
    }

    /// The same for one of many that are proved at the same time: before anything is kept, or looked for here, it waits until `turn` returns, by when the
    /// shipment before should be kept, on which this one may lean. If it is an error, nothing was taken.
    pub fn take_shipment_in_turn<E: From<Error>>(
        &self,
        bytes: &[u8],
        turn: impl FnOnce() -> Result<(), E>,
    ) -> Result<Taken, E> {
        let layout = Layout::read(bytes)?;
        self.inner.shipments.fetch_add(1, Relaxed);
        let mut receiver = Receiver::new(self, &layout);
        receiver.prove_alone();
        turn()?;
        receiver.prove_leaning()?;
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
    /// As the index will have it, but for place and depth. Given away when it is kept.
    entry: Option<Box<Entry>>,
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
    /// The bytes of all patches, if they can be unpacked.
    patches: Option<Cow<'a, [u8]>>,
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
            patches: layout.patch_bytes.unpacked(),
        }
    }
}
