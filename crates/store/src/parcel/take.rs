//! Taking a parcel in.

use super::form::{Base, Standing};
use super::layout::{Coded, Layout, Listed, form_tag, weight_max};
use super::limits::BASES_BYTES_MAX;
use super::proof::{Proof, ProvenBody, Unproven, weigh};
use super::{LackingBlob, Outcome, Taken};
use crate::Store;
use crate::capture::Capture;
use crate::compress;
use crate::envelope::Where;
use crate::error::{Error, Result};
use crate::index::EntryKey;
use crate::store::Appended;
use herodotus_base::Sha256;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Store {
    /// Takes in what a parcel brings and is new, once it is proved to be what it says, and applies its marks of removal. Says of
    /// each entry what became of it. It does not commit: whoever takes several parcels does so once.
    ///
    /// An error is either a parcel that is none ([`Error::Refused`]: nothing of it was taken), or the fault of this store.
    pub fn take_parcel(&self, bytes: &[u8]) -> Result<Taken> {
        let layout = Layout::read(bytes)?;
        let mut receiver = Receiver::new(self, &layout);
        let mut taken = Taken::default();
        for (number, entry) in layout.entries.iter().enumerate() {
            let outcome = receiver.take(number, entry)?;
            taken.entries.push((entry.id.clone(), outcome));
        }
        taken.lacking_blobs = receiver.lacking;
        Ok(taken)
    }
}

/// What a parcel says that it brings, before anything of it is believed.
pub fn parcel_names(bytes: &[u8]) -> Result<Vec<EntryKey>> {
    Ok(Layout::read(bytes)?.entries.iter().map(|entry| entry.id.clone()).collect())
}

/// One whole capture as [`Store::capture_bytes`] gave it, checked: it is the one that was asked for, and its bodies are what it
/// says. Of a large body there are only the digests; whoever reads it must check it against them.
pub fn open_capture(expected: &EntryKey, bytes: &[u8]) -> Result<Capture> {
    let refused = |why: String| Error::Refused(format!("{} of {}: {why}", expected.key, expected.time));
    let layout = Layout::read(bytes)?;
    let [entry] = layout.entries.as_slice() else { return Err(refused("one capture was asked for".into())) };
    let mut frames = Frames::new(&layout);
    let item = frames.item(0, &entry.coded).ok_or_else(|| refused("it cannot be unpacked".into()))?;
    check_weight(&item, &mut 0, 1).map_err(refused)?;
    let unproven = Unproven::read(&item).ok_or_else(|| refused("it cannot be read".into()))?;
    let body = layout.beside.first().filter(|_| *unproven.place() == Where::Raw).map(|bytes| ProvenBody::of(bytes));
    match unproven.prove(expected, body.as_ref()).map_err(refused)? {
        Proof::Whole(capture) => Ok(capture),
        Proof::Large(large) => Ok(large.unseen()),
    }
}

struct Receiver<'a> {
    store: &'a Store,
    frames: Frames<'a>,
    captures: usize,
    weight: usize,
    /// Items that later entries are written against; they alone are kept.
    wanted: HashSet<usize>,
    kept: HashMap<usize, Arc<Vec<u8>>>,
    beside: HashMap<Sha256, ProvenBody>,
    /// What was last read here to build on.
    base: Option<Base>,
    owner: Option<(EntryKey, ProvenBody)>,
    bases_bytes: usize,
    lacking: Vec<LackingBlob>,
}

impl<'a> Receiver<'a> {
    fn new(store: &'a Store, layout: &Layout<'a>) -> Self {
        let near = |(n, entry): (usize, &Listed<'a>)| match entry.coded {
            Coded::Near { back, .. } => n.checked_sub(back),
            _ => None,
        };
        let beside = layout.beside.iter().map(|bytes| ProvenBody::of(bytes));
        Self {
            store,
            frames: Frames::new(layout),
            captures: layout.entries.iter().filter(|e| e.coded != Coded::Removed).count(),
            weight: 0,
            wanted: layout.entries.iter().enumerate().filter_map(near).collect(),
            kept: HashMap::new(),
            beside: beside.map(|body| (body.digest(), body)).collect(),
            base: None,
            owner: None,
            bases_bytes: 0,
            lacking: Vec::new(),
        }
    }

    fn take(&mut self, number: usize, entry: &Listed<'_>) -> Result<Outcome> {
        let id = &entry.id;
        if entry.coded == Coded::Removed {
            self.store.remove(id)?;
            return Ok(Outcome::Removed);
        }
        let standing = match self.store.standing(id)? {
            Standing::Absent => None,
            Standing::Removed => Some(Outcome::Removed),
            Standing::Waiting(_) | Standing::Packed => Some(Outcome::Known),
        };
        let is_base = self.wanted.contains(&number);
        if let Some(outcome) = &standing
            && !is_base
        {
            return Ok(outcome.clone());
        }
        let item = match self.item(number, entry)? {
            Ok(item) => Arc::new(item),
            // Whoever builds on it lacks it; it is itself known all the same.
            Err(outcome) => return Ok(standing.unwrap_or(outcome)),
        };
        if is_base {
            self.kept.insert(number, item.clone());
        }
        if let Some(outcome) = standing {
            return Ok(outcome);
        }
        if let Err(why) = check_weight(&item, &mut self.weight, self.captures) {
            return Ok(Outcome::Refused(why));
        }
        self.prove(id, &item)
    }

    /// Unpacks the item of an entry, or says what becomes of it without one.
    fn item(&mut self, number: usize, entry: &Listed<'_>) -> Result<Result<Vec<u8>, Outcome>> {
        let unpacked = match entry.coded {
            Coded::Removed => None,
            Coded::Whole { .. } => self.frames.item(number, &entry.coded),
            Coded::Near { back, raw_len, packed } => {
                let Some(base) = number.checked_sub(back).and_then(|base| self.kept.get(&base)) else {
                    return Ok(Err(Outcome::LacksBase));
                };
                compress::unpack_delta(packed, base, raw_len).ok()
            }
            Coded::Far { time, tag, form, raw_len, packed } => {
                let id = EntryKey { key: entry.id.key.clone(), time, tag };
                let Some(base) = self.base(id)?.filter(|base| form_tag(&base.item) == form) else {
                    return Ok(Err(Outcome::LacksBase));
                };
                compress::unpack_delta(packed, &base.item, raw_len).ok()
            }
        };
        Ok(unpacked.ok_or_else(|| Outcome::Refused("it cannot be unpacked".into())))
    }

    /// Makes a capture of an item, and stores it.
    fn prove(&mut self, id: &EntryKey, item: &[u8]) -> Result<Outcome> {
        let refused = |why: String| Ok(Outcome::Refused(why));
        let Some(unproven) = Unproven::read(item) else { return refused("it cannot be read".into()) };
        let elsewhere = match unproven.place() {
            Where::Here | Where::Blob => None,
            Where::Raw => self.beside.get(&unproven.digest()).cloned(),
            Where::With(owner) => match self.owner(owner)?.filter(|body| body.digest() == unproven.digest()) {
                None => return Ok(Outcome::LacksBase),
                body => body,
            },
        };
        let capture = match unproven.prove(id, elsewhere.as_ref()) {
            Err(why) => return refused(why),
            Ok(Proof::Whole(capture)) => capture,
            Ok(Proof::Large(large)) => {
                let lacking = large.lacking();
                match self.store.open_blob(&lacking.sha256) {
                    Ok(blob) => match large.with_blob(&blob) {
                        Ok(capture) => capture,
                        Err(why) => return refused(why),
                    },
                    Err(Error::Damaged(_)) => {
                        if !self.lacking.iter().any(|known| known.sha256 == lacking.sha256) {
                            self.lacking.push(lacking);
                        }
                        return Ok(Outcome::LacksBlob);
                    }
                    Err(e) => return Err(e),
                }
            }
        };
        match self.store.append(capture) {
            Ok(Appended::Stored) => Ok(Outcome::Stored),
            Ok(Appended::Known) => Ok(Outcome::Known),
            Ok(Appended::Removed) => Ok(Outcome::Removed),
            Err(Error::Refused(why)) => refused(why),
            Err(e) => Err(e),
        }
    }

    /// A capture that is here, to unpack another against.
    fn base(&mut self, id: EntryKey) -> Result<Option<&Base>> {
        if self.base.as_ref().is_none_or(|base| base.id != id) {
            self.base = if self.bases_bytes < BASES_BYTES_MAX { self.store.base(&id)? } else { None };
            self.bases_bytes += self.base.as_ref().map_or(0, |base| base.item.len());
        }
        Ok(self.base.as_ref())
    }

    /// The body of a capture that is here, perhaps since a moment ago.
    fn owner(&mut self, id: &EntryKey) -> Result<Option<ProvenBody>> {
        if self.owner.as_ref().is_none_or(|(owner, _)| owner != id) {
            self.owner = None;
            if self.bases_bytes < BASES_BYTES_MAX {
                let capture = match self.store.read(id) {
                    Ok(capture) => capture,
                    Err(Error::Damaged(_)) => None,
                    Err(e) => return Err(e),
                };
                self.owner = capture.and_then(ProvenBody::read).map(|body| (id.clone(), body));
            }
            self.bases_bytes += self.owner.as_ref().map_or(0, |(_, body)| body.len());
        }
        Ok(self.owner.as_ref().map(|(_, body)| body.clone()))
    }
}

/// Adds what an item weighs. Refused: it is no item, or more than the captures of a parcel may weigh together.
fn check_weight(item: &[u8], weight: &mut usize, captures: usize) -> Result<(), String> {
    let this = weigh(item).ok_or("it cannot be read")?;
    *weight = weight.saturating_add(this);
    if *weight > weight_max(captures) { Err("it takes too much memory".into()) } else { Ok(()) }
}

/// The frames of a parcel, one at a time.
struct Frames<'a> {
    frames: Vec<FrameSpan<'a>>,
    /// Entry → frame, and where in it.
    places: HashMap<usize, (usize, usize)>,
    /// The frame that was unpacked last.
    open: Option<(usize, Option<Vec<u8>>)>,
}

struct FrameSpan<'a> {
    is_packed: bool,
    bytes: &'a [u8],
    raw_len: usize,
}

impl<'a> Frames<'a> {
    fn new(layout: &Layout<'a>) -> Self {
        let whole = |(n, entry): (usize, &Listed<'a>)| match entry.coded {
            Coded::Whole { raw_len } => Some((n, raw_len)),
            _ => None,
        };
        let mut whole = layout.entries.iter().enumerate().filter_map(whole);
        let (mut frames, mut places) = (Vec::with_capacity(layout.frames.len()), HashMap::new());
        for frame in &layout.frames {
            let mut at = 0;
            for (n, raw_len) in whole.by_ref().take(frame.entries) {
                places.insert(n, (frames.len(), at));
                at += raw_len;
            }
            frames.push(FrameSpan { is_packed: frame.is_packed, bytes: frame.bytes, raw_len: at });
        }
        Self { frames, places, open: None }
    }

    /// The item of an entry that travels whole.
    fn item(&mut self, number: usize, coded: &Coded<'_>) -> Option<Vec<u8>> {
        let (frame, at) = *self.places.get(&number)?;
        if self.open.as_ref().is_none_or(|(open, _)| *open != frame) {
            let span = self.frames.get(frame)?;
            let raw = if span.is_packed {
                compress::unpack(span.bytes, span.raw_len).ok()
            } else {
                (span.bytes.len() == span.raw_len).then(|| span.bytes.to_vec())
            };
            self.open = Some((frame, raw));
        }
        let raw = self.open.as_ref()?.1.as_ref()?;
        raw.get(at..at.checked_add(coded.raw_len())?).map(<[u8]>::to_vec)
    }
}
