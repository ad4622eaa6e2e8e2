//! Entries in order: those of the index and those that still wait in memory, as one sequence.

use crate::error::{Error, Result};
use crate::index::{Entry, EntryKey, Pairs};
use crate::read::decode_entry;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::iter::Peekable;

/// Entries in order, from the index and from what is on its way there.
#[allow(missing_debug_implementations)]
pub struct Scan<'a> {
    pub(crate) stored: Peekable<Pairs<'a>>,
    pub(crate) waiting: Peekable<Box<dyn Iterator<Item = (Vec<u8>, Entry)> + Send>>,
    pub(crate) removed: HashSet<Vec<u8>>,
    pub(crate) backwards: bool,
}

impl Scan<'_> {
    fn next_any(&mut self) -> Option<Result<(Vec<u8>, Entry)>> {
        let order = match (self.stored.peek(), self.waiting.peek()) {
            (None, None) => return None,
            (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(Ok((a, _))), Some((b, _))) if self.backwards => b.cmp(a),
            (Some(Ok((a, _))), Some((b, _))) => a.cmp(b),
        };
        if order == Ordering::Equal {
            self.waiting.next();
        }
        if order == Ordering::Greater {
            return self.waiting.next().map(Ok);
        }
        let (key, value) = match self.stored.next()? {
            Ok(pair) => pair,
            Err(e) => return Some(Err(e)),
        };
        let id = EntryKey::decode(&key).ok_or_else(|| Error::Damaged("a key in the index cannot be read".into()));
        Some(id.and_then(|id| decode_entry(id, &value)).map(|entry| (key, entry)))
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        loop {
            match self.next_any()? {
                Ok((key, entry)) if entry.removed || self.removed.contains(&key) => {}
                other => return Some(other.map(|(_, entry)| entry)),
            }
        }
    }
}
