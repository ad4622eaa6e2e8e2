//! Entries in order: those of the index and those that still wait in memory, as one sequence.
//!
//! What waits is taken a page at a time, so that a scan over a whole host begins as fast as one over a key, however much waits.
//! For the next page both are opened anew behind the last entry given: what went from memory to the index meanwhile is met there.

use crate::Store;
use crate::batch::{Batch, Said};
use crate::capture::Capture;
use crate::error::{Error, Result};
use crate::index::{Entry, EntryKey, Pairs, Table};
use crate::read::decode_entry;
use crate::seal::entry_of;
use crate::store::Waiting;
use herodotus_base::Timestamp;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::iter::Peekable;
use std::sync::Arc;

/// Behind every key: no UTF-8 begins with these bytes.
const END: [u8; 4] = [0xff; 4];

/// A capture that waits in memory, with its key. Its entry is made when somebody comes to it: most are not come to.
type InMemory = (Vec<u8>, Arc<Capture>);

/// Captures taken from memory at once.
const PAGE: usize = 128;

/// Entries in order, from the index and from what is on its way there.
#[allow(missing_debug_implementations)]
pub struct Scan<'a> {
    store: &'a Store,
    from: Vec<u8>,
    to: Vec<u8>,
    backwards: bool,
    stored: Peekable<Pairs<'a>>,
    waiting: Peekable<std::vec::IntoIter<InMemory>>,
    /// The last key of this page, if more waits behind it.
    page_end: Option<Vec<u8>>,
    removed: HashSet<Vec<u8>>,
}

impl Store {
    /// What is known of a capture. `None`: it is not here, or was removed.
    pub fn entry(&self, id: &EntryKey) -> Result<Option<Entry>> {
        match self.inner.waiting(id) {
            Some(Waiting::Removed | Waiting::Released) => Ok(None),
            Some(Waiting::Stored(capture)) => Ok(Some(waiting_entry(id, &capture))),
            None => Ok(self.inner.reader.entry(id)?.filter(|entry| !entry.removed)),
        }
    }

    /// Entries with `from <= key < to` (SURT keys), by key and time, or backwards. Removed ones are left out.
    pub fn scan(&self, from: &str, to: &str, backwards: bool) -> Scan<'_> {
        self.scan_raw(from.as_bytes().to_vec(), to.as_bytes().to_vec(), backwards)
    }

    /// The same by encoded names, for whoever asks for another machine.
    pub fn scan_names(&self, from: Vec<u8>, to: Vec<u8>, backwards: bool) -> Scan<'_> {
        self.scan_raw(from, to, backwards)
    }

    /// Whether a capture is here, or was removed here: it need not be brought.
    pub fn knows(&self, id: &EntryKey) -> Result<bool> {
        Ok(match self.inner.waiting(id) {
            Some(waiting) => !matches!(waiting, Waiting::Released),
            None => self.inner.reader.entry(id)?.is_some_and(|entry| !entry.released),
        })
    }

    /// All entries.
    pub fn scan_all(&self) -> Scan<'_> {
        self.scan_from(Vec::new())
    }

    /// All entries from an encoded key on.
    pub(crate) fn scan_from(&self, from: Vec<u8>) -> Scan<'_> {
        self.scan_raw(from, END.to_vec(), false)
    }

    /// The first entry whose key is not before this one. Cheaper than a scan, however much waits in memory: for whoever
    /// hops from child to child of a path without reading what lies between.
    pub fn first_at_or_after(&self, key: &str) -> Result<Option<Entry>> {
        let from = key.as_bytes();
        let waiting = self.inner.batches(|batches| {
            let batches: Vec<_> = batches.collect();
            let is_hidden = |key: &[u8]| hides(batches.iter().copied(), key);
            let firsts = batches.iter().filter_map(|batch| batch.first_from(from, is_hidden));
            firsts.min_by(|(a, _), (b, _)| a.cmp(b))
        });
        for pair in self.inner.engine.range(Table::Captures, from, &END, false) {
            let (key, value) = pair?;
            if waiting.as_ref().is_some_and(|(first, _)| *first <= key) {
                break;
            }
            if self.inner.batches(|batches| hides(batches, &key)) {
                continue;
            }
            let entry = decode_pair(&key, &value)?;
            if !entry.removed {
                return Ok(Some(entry));
            }
        }
        waiting.map(|(key, capture)| Ok(waiting_entry(&decode_key(&key)?, &capture))).transpose()
    }

    /// All versions of one key, oldest first, or newest first.
    pub fn versions(&self, key: &str, backwards: bool) -> Scan<'_> {
        let (from, to) = EntryKey::range_of(key);
        self.scan_raw(from, to, backwards)
    }

    /// Versions of a key up to a time, newest first.
    pub fn versions_until(&self, key: &str, time: Timestamp) -> Scan<'_> {
        let (from, _) = EntryKey::range_of(key);
        let mut to = EntryKey::up_to(key, time);
        to.extend_from_slice(&[0xff; 9]);
        self.scan_raw(from, to, true)
    }

    /// Versions of a key after a time, oldest first.
    pub fn versions_after(&self, key: &str, time: Timestamp) -> Scan<'_> {
        let (_, to) = EntryKey::range_of(key);
        let mut from = EntryKey::up_to(key, time);
        from.extend_from_slice(&[0xff; 9]);
        self.scan_raw(from, to, false)
    }

    /// The newest capture of a key that is not newer than a time, without looking at the others.
    pub fn newest_not_after(&self, key: &str, time: Timestamp) -> Result<Option<Entry>> {
        self.versions_until(key, time).find(|e| e.as_ref().map_or(true, Entry::is_capture)).transpose()
    }

    /// The oldest capture of a key that is newer than a time.
    pub fn oldest_after(&self, key: &str, time: Timestamp) -> Result<Option<Entry>> {
        self.versions_after(key, time).find(|e| e.as_ref().map_or(true, Entry::is_capture)).transpose()
    }

    fn scan_raw(&self, from: Vec<u8>, to: Vec<u8>, backwards: bool) -> Scan<'_> {
        // The batches first, then the index: an entry on its way may be seen twice, and then counts once.
        let (mut waiting, removed) = self.inner.batches(|batches| {
            let batches: Vec<_> = batches.collect();
            let (mut waiting, mut removed) = (Vec::new(), HashSet::new());
            for batch in &batches {
                // One more than a page holds, to see whether there is more.
                waiting.extend(batch.collect(&from, &to, backwards, PAGE + 1));
                // What a newer one stores again is not hidden by an older.
                removed.extend(batch.hidden(&from, &to).filter(|key| hides(batches.iter().copied(), key)).cloned());
            }
            (waiting, removed)
        });
        waiting.sort_unstable_by(|(a, _), (b, _)| if backwards { b.cmp(a) } else { a.cmp(b) });
        let more_waits = waiting.len() > PAGE;
        waiting.truncate(PAGE);
        let page_end = waiting.last().filter(|_| more_waits).map(|(key, _)| key.clone());
        let stored = self.inner.engine.range(Table::Captures, &from, &to, backwards).peekable();
        let waiting = waiting.into_iter().peekable();
        Scan { store: self, from, to, backwards, stored, waiting, page_end, removed }
    }
}

impl Scan<'_> {
    /// Goes on behind the last key of this page. All before it was given: the two sequences are merged in order.
    fn turn_page(&mut self, page_end: Vec<u8>) {
        let (mut from, mut to) = (std::mem::take(&mut self.from), std::mem::take(&mut self.to));
        if self.backwards {
            to = page_end;
        } else {
            from = page_end;
            // The very next string of bytes.
            from.push(0);
        }
        *self = self.store.scan_raw(from, to, self.backwards);
    }

    fn next_any(&mut self) -> Option<Result<(Vec<u8>, Entry)>> {
        if self.waiting.peek().is_none()
            && let Some(page_end) = self.page_end.take()
        {
            self.turn_page(page_end);
        }
        let order = match (self.stored.peek(), self.waiting.peek()) {
            (None, None) => return None,
            (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(Ok((a, _))), Some((b, _))) if self.backwards => b.cmp(a),
            (Some(Ok((a, _))), Some((b, _))) => a.cmp(b),
        };
        let on_its_way = if order == Ordering::Less { None } else { self.waiting.next() };
        if order == Ordering::Greater {
            return on_its_way.map(|waiting| come_to(&waiting));
        }
        let (key, value) = match self.stored.next()? {
            Ok(pair) => pair,
            Err(e) => return Some(Err(e)),
        };
        Some(decode_pair(&key, &value).and_then(|entry| match on_its_way {
            // It was released, and comes back.
            Some(waiting) if entry.released => come_to(&waiting),
            _ => Ok((key, entry)),
        }))
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

/// Whether the newest batch that knows a capture says that it is not to be seen.
fn hides<'a>(mut batches: impl Iterator<Item = &'a Batch>, key: &[u8]) -> bool {
    batches.find_map(|batch| batch.said(key)).is_some_and(|said| said != Said::Stored)
}

fn come_to((key, capture): &InMemory) -> Result<(Vec<u8>, Entry)> {
    Ok((key.clone(), waiting_entry(&decode_key(key)?, capture)))
}

/// The entry that a capture which waits in memory will have, but for its place.
pub(crate) fn waiting_entry(id: &EntryKey, capture: &Capture) -> Entry {
    entry_of(id, capture, capture.media().unwrap_or_default(), false)
}

fn decode_key(key: &[u8]) -> Result<EntryKey> {
    EntryKey::decode(key).ok_or_else(|| Error::Damaged("a key in the index cannot be read".into()))
}

fn decode_pair(key: &[u8], value: &[u8]) -> Result<Entry> {
    decode_entry(decode_key(key)?, value)
}
