//! Captures that wait in memory to be sealed, and what else was asked for in between.

use crate::capture::Capture;
use crate::directory::Op;
use crate::index::{EntryKey, kind_is_capture};
use crate::journal::Act;
use herodotus_base::Sha1;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// What a batch says of a capture: the last that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Stored,
    Released,
    Removed,
}

/// A capture that waits to be stored.
#[derive(Debug)]
struct Stored {
    /// Number of the act.
    act: usize,
    /// SHA-1 of the main record's block, if it is known.
    block_sha1: Option<Sha1>,
    /// It was released before, so that its bytes may be here still.
    returns: bool,
}

/// One capture of a batch that is being sealed.
#[derive(Debug)]
pub(crate) struct ToSeal<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) capture: &'a Arc<Capture>,
    pub(crate) block_sha1: Option<Sha1>,
    pub(crate) returns: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Batch {
    acts: Vec<Act>,
    /// The last note of each name.
    notes: HashMap<String, usize>,
    /// By encoded key.
    stored: BTreeMap<Vec<u8>, Stored>,
    removed: BTreeSet<Vec<u8>>,
    released: BTreeSet<Vec<u8>>,
    /// SURT key → by how much this batch changes the number of captures that answer for it.
    counts: HashMap<String, i64>,
    weight: usize,
    journaled: usize,
    /// Acts that are in the journal, synced or not.
    written: usize,
}

impl Batch {
    pub(crate) fn note(&mut self, name: String, value: Vec<u8>) {
        self.weight += name.len() + value.len() + 100;
        self.notes.insert(name.clone(), self.acts.len());
        self.acts.push(Act::Note(name, value));
    }

    /// `returns`: it was here, and was released.
    pub(crate) fn store(&mut self, capture: Arc<Capture>, id: &EntryKey, block_sha1: Option<Sha1>, returns: bool) {
        let key = id.encode();
        self.weight += capture.weight() + key.len() * 2;
        if kind_is_capture(&capture.main.kind) {
            *self.counts.entry(id.key.clone()).or_default() += 1;
        }
        self.released.remove(&key);
        self.stored.insert(key, Stored { act: self.acts.len(), block_sha1, returns });
        self.acts.push(Act::Store(capture));
    }

    /// `counted`: it answers for its URL until now.
    pub(crate) fn remove(&mut self, id: EntryKey, counted: bool) {
        let key = id.encode();
        self.weight += key.len() * 2 + 100;
        if counted {
            *self.counts.entry(id.key.clone()).or_default() -= 1;
        }
        self.released.remove(&key);
        self.removed.insert(key);
        self.acts.push(Act::Remove(id));
    }

    /// The same, of one that may come back.
    pub(crate) fn release(&mut self, id: EntryKey, counted: bool) {
        let key = id.encode();
        self.weight += key.len() * 2 + 100;
        if counted {
            *self.counts.entry(id.key.clone()).or_default() -= 1;
        }
        self.stored.remove(&key);
        self.released.insert(key);
        self.acts.push(Act::Release(id));
    }

    pub(crate) fn len(&self) -> usize {
        self.acts.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.acts.is_empty()
    }

    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    pub(crate) fn said(&self, key: &[u8]) -> Option<Said> {
        if self.removed.contains(key) {
            return Some(Said::Removed);
        }
        if self.released.contains(key) {
            return Some(Said::Released);
        }
        self.stored.contains_key(key).then_some(Said::Stored)
    }

    pub(crate) fn capture(&self, key: &[u8]) -> Option<&Arc<Capture>> {
        match self.acts.get(self.stored.get(key)?.act) {
            Some(Act::Store(capture)) => Some(capture),
            _ => None,
        }
    }

    pub(crate) fn noted(&self, name: &str) -> Option<&[u8]> {
        match self.acts.get(*self.notes.get(name)?) {
            Some(Act::Note(_, value)) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn count(&self, key: &str) -> i64 {
        self.counts.get(key).copied().unwrap_or(0)
    }

    /// The first captures in a range of encoded keys, or, backwards, the last.
    pub(crate) fn collect(&self, from: &[u8], to: &[u8], backwards: bool, max: usize) -> Vec<(Vec<u8>, Arc<Capture>)> {
        if from >= to {
            return Vec::new();
        }
        let range = self.stored.range::<[u8], _>((Bound::Included(from), Bound::Excluded(to)));
        let capture = |(key, stored): (&Vec<u8>, &Stored)| match self.acts.get(stored.act) {
            Some(Act::Store(capture)) => Some((key.clone(), capture.clone())),
            _ => None,
        };
        if backwards {
            range.rev().filter_map(capture).take(max).collect()
        } else {
            range.filter_map(capture).take(max).collect()
        }
    }

    /// What is not to be seen in a range of encoded keys, as far as this batch knows.
    pub(crate) fn hidden<'a>(&'a self, from: &[u8], to: &[u8]) -> impl Iterator<Item = &'a Vec<u8>> + use<'a> {
        let range = (Bound::Included(from), Bound::Excluded(to));
        let all = [&self.removed, &self.released].map(|keys| (from < to).then(|| keys.range::<[u8], _>(range)));
        all.into_iter().flatten().flatten()
    }

    /// The first capture from an encoded key on that is not hidden.
    pub(crate) fn first_from(&self, from: &[u8], is_hidden: impl Fn(&[u8]) -> bool) -> Option<(Vec<u8>, Arc<Capture>)> {
        let mut keys = self.stored.range::<[u8], _>((Bound::Included(from), Bound::Unbounded)).map(|(key, _)| key);
        let key = keys.find(|key| !is_hidden(key))?;
        Some((key.clone(), self.capture(key)?.clone()))
    }

    /// The captures that came last, the last first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &Arc<Capture>> {
        self.acts.iter().rev().filter_map(|act| if let Act::Store(capture) = act { Some(capture) } else { None })
    }

    pub(crate) fn captures(&self) -> impl Iterator<Item = ToSeal<'_>> {
        self.stored.iter().filter_map(|(key, stored)| match self.acts.get(stored.act) {
            Some(Act::Store(capture)) => {
                Some(ToSeal { key, capture, block_sha1: stored.block_sha1, returns: stored.returns })
            }
            _ => None,
        })
    }

    /// Removals and releases in their order, and the last note of each name. They come after what the batch stores, so a release
    /// that was followed by a store is not among them.
    pub(crate) fn other_ops(&self) -> Vec<Op> {
        let mut ops = Vec::new();
        let mut notes = BTreeMap::new();
        for act in &self.acts {
            match act {
                Act::Store(_) => {}
                Act::Remove(id) => ops.push(Op::Remove(id.clone())),
                Act::Release(id) if self.released.contains(&id.encode()) => ops.push(Op::Release(id.clone())),
                Act::Release(_) => {}
                Act::Note(name, value) => {
                    notes.insert(name, value);
                }
            }
        }
        ops.extend(notes.into_iter().map(|(name, value)| Op::Note(name.clone(), value.clone())));
        ops
    }

    pub(crate) fn unwritten(&self) -> Vec<Act> {
        self.acts[self.written..].to_vec()
    }

    pub(crate) fn set_written(&mut self, upto: usize) {
        self.written = self.written.max(upto.min(self.acts.len()));
    }

    pub(crate) fn set_journaled(&mut self, upto: usize) {
        self.journaled = self.journaled.max(upto.min(self.acts.len()));
    }

    /// Somebody commits, and is not done.
    pub(crate) fn is_partly_journaled(&self) -> bool {
        self.journaled > 0 && !self.is_journaled()
    }

    pub(crate) fn is_journaled(&self) -> bool {
        self.journaled == self.acts.len()
    }
}
