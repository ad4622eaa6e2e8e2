//! Captures that wait in memory to be sealed, and what else was asked for in between.

use crate::capture::Capture;
use crate::directory::Op;
use crate::index::{EntryKey, kind_is_capture};
use crate::journal::Act;
use herodotus_base::Sha1;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

#[derive(Debug, Default)]
pub(crate) struct Batch {
    acts: Vec<Act>,
    /// Encoded key → number of the act that stores it, and SHA-1 of the main record's block if it is known.
    stored: BTreeMap<Vec<u8>, (usize, Option<Sha1>)>,
    removed: HashSet<Vec<u8>>,
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
        self.acts.push(Act::Note(name, value));
    }

    pub(crate) fn store(&mut self, capture: Arc<Capture>, id: &EntryKey, block_sha1: Option<Sha1>) {
        let key = id.encode();
        self.weight += capture.weight() + key.len() * 2;
        if kind_is_capture(&capture.main.kind) {
            *self.counts.entry(id.key.clone()).or_default() += 1;
        }
        self.stored.insert(key, (self.acts.len(), block_sha1));
        self.acts.push(Act::Store(capture));
    }

    /// `counted`: it answers for its URL until now.
    pub(crate) fn remove(&mut self, id: EntryKey, counted: bool) {
        let key = id.encode();
        self.weight += key.len() * 2 + 100;
        if counted {
            *self.counts.entry(id.key.clone()).or_default() -= 1;
        }
        self.removed.insert(key);
        self.acts.push(Act::Remove(id));
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

    /// `Some(removed)` if the batch has something to say about this key.
    pub(crate) fn state(&self, key: &[u8]) -> Option<bool> {
        if self.removed.contains(key) {
            return Some(true);
        }
        self.stored.contains_key(key).then_some(false)
    }

    pub(crate) fn capture(&self, key: &[u8]) -> Option<&Arc<Capture>> {
        match self.acts.get(self.stored.get(key)?.0) {
            Some(Act::Store(capture)) => Some(capture),
            _ => None,
        }
    }

    pub(crate) fn noted(&self, name: &str) -> Option<&[u8]> {
        self.acts.iter().rev().find_map(|act| match act {
            Act::Note(n, value) if n == name => Some(value.as_slice()),
            _ => None,
        })
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
        let capture = |(key, (act, _)): (&Vec<u8>, &(usize, _))| match self.acts.get(*act) {
            Some(Act::Store(capture)) => Some((key.clone(), capture.clone())),
            _ => None,
        };
        if backwards {
            range.rev().filter_map(capture).take(max).collect()
        } else {
            range.filter_map(capture).take(max).collect()
        }
    }

    pub(crate) fn removed(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.removed.iter()
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

    pub(crate) fn captures(&self) -> impl Iterator<Item = (&[u8], &Arc<Capture>, Option<Sha1>)> {
        self.stored.iter().filter_map(|(key, (act, block_sha1))| match self.acts.get(*act) {
            Some(Act::Store(capture)) => Some((key.as_slice(), capture, *block_sha1)),
            _ => None,
        })
    }

    /// Removals in their order, and the last note of each name.
    pub(crate) fn other_ops(&self) -> Vec<Op> {
        let mut ops = Vec::new();
        let mut notes = BTreeMap::new();
        for act in &self.acts {
            match act {
                Act::Store(_) => {}
                Act::Remove(id) => ops.push(Op::Remove(id.clone())),
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
