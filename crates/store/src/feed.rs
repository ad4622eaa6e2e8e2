//! The feed: what the archive took in, in the order in which it was sealed into packs, for whoever derives something
//! from it; and what came last, for whoever wants to see that the archive is alive.
//!
//! The packs are the feed: every seal ends with a directory of what it brought, so that nothing is written for this. A
//! reader keeps a [`FeedCursor`] beside what it derives, and comes back with it. What waits in memory is not fed yet.
//!
//! Promised: behind a cursor that the feed gave out, nothing is ever added, so that nothing is missed. A compaction
//! moves captures to newer packs, where they come again: whoever reads the feed must bear to see a capture twice. Not
//! fed is what nobody can read: directories that have rotted, and packs that are missing (bring one back, and derive
//! anew).

use crate::Store;
use crate::directory::{self, pack_key, recent_ids};
use crate::error::{Error, Result};
use crate::index::{Entry, EntryKey, Table};
use crate::limits::{FEED_ENTRIES_MAX, RECENT_MAX};
use crate::pack;
use std::cmp::Reverse;
use std::collections::HashSet;

/// How far a reader of the feed has come. Later is larger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedCursor {
    pack: u32,
    /// Where the search for the next directory begins.
    offset: u64,
    /// Operations of that directory which were given out already.
    ops: u32,
}

const FORM: u8 = 1;

impl FeedCursor {
    /// A version, then numbers whose order as bytes is the cursors' order.
    pub fn encode(&self) -> [u8; 17] {
        let mut out = [FORM; 17];
        out[1..5].copy_from_slice(&self.pack.to_be_bytes());
        out[5..13].copy_from_slice(&self.offset.to_be_bytes());
        out[13..].copy_from_slice(&self.ops.to_be_bytes());
        out
    }

    /// `None`: this is no cursor, or one of a version that we do not know.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (form, rest) = bytes.split_first()?;
        let (pack, rest) = rest.split_first_chunk()?;
        let (offset, ops) = rest.split_first_chunk()?;
        (*form == FORM).then_some(())?;
        let ops = u32::from_be_bytes(ops.try_into().ok()?);
        Some(Self { pack: u32::from_be_bytes(*pack), offset: u64::from_be_bytes(*offset), ops })
    }
}

impl Store {
    /// Up to `max` entries that were sealed after the cursor, as they stand now, and the cursor behind them. Fewer than
    /// were asked for (at most [`FEED_ENTRIES_MAX`]): that is all there is today. An entry with `removed` set says that
    /// the capture was taken out or, with `released`, let go; of what it was, only its name may be left.
    pub fn feed(&self, after: Option<FeedCursor>, max: usize) -> Result<(Vec<Entry>, FeedCursor)> {
        let max = max.min(FEED_ENTRIES_MAX);
        let packs = self.indexed_packs()?;
        let mut at = after.unwrap_or_default();
        // Numbers of packs only grow: this archive is not the one that the cursor is of.
        if packs.last().is_some_and(|(newest, _)| *newest < at.pack) {
            at = FeedCursor::default();
        }
        let mut entries = Vec::new();
        for (pack, end) in packs {
            if pack < at.pack {
                continue;
            }
            if pack > at.pack || at.offset > end {
                at = FeedCursor { pack, ..FeedCursor::default() };
            }
            while at.offset < end {
                let found = match self.inner.reader.packs.next_directory(pack, at.offset, end) {
                    // It was compacted away, or is missing.
                    Err(Error::Damaged(_)) => None,
                    other => other?,
                };
                let Some(directory) = found else {
                    at = FeedCursor { pack, offset: end, ops: 0 };
                    break;
                };
                let wanted = max - entries.len();
                // It is another if the one that was begun has rotted since.
                let done = if directory.offset == at.offset { at.ops as usize } else { 0 };
                // One more than is wanted, to know where to go on.
                let ids = directory::decode_ids(&directory.raw, done, wanted + 1);
                let ids = ids.ok_or_else(|| pack::unknown_directory(pack))?;
                at = FeedCursor { pack, offset: directory.end, ops: 0 };
                if let Some((beyond, _)) = ids.get(wanted) {
                    at = FeedCursor { pack, offset: directory.offset, ops: *beyond as u32 };
                }
                for (_, id) in ids.into_iter().take(wanted) {
                    let now = self.inner.reader.entry(&id)?;
                    // Of what was let go nothing is left, but whoever derived something from it must know.
                    entries.push(now.unwrap_or_else(|| Entry { released: true, ..Entry::gone(id) }));
                }
                if entries.len() >= max {
                    return Ok((entries, at));
                }
            }
        }
        Ok((entries, at))
    }

    /// The captures that were appended last, those that wait in memory before those that are sealed; of these, the
    /// newest capture first. At most [`RECENT_MAX`]. No directory is read for it: the index keeps a list.
    pub fn recent(&self, max: usize) -> Result<Vec<Entry>> {
        let max = max.min(RECENT_MAX);
        let waiting: Vec<_> =
            self.inner.batches(|batches| batches.flat_map(|batch| batch.newest()).take(max).cloned().collect());
        let mut ids: Vec<EntryKey> = waiting.iter().map(|capture| capture.id()).collect();
        ids.extend(recent_ids(&*self.inner.engine)?);
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for id in ids.into_iter().filter(|id| seen.insert(id.clone())) {
            if found.len() >= max {
                break;
            }
            found.extend(self.entry(&id)?.filter(Entry::is_capture));
        }
        found.sort_by_key(|entry| Reverse(entry.id.time));
        Ok(found)
    }

    /// Packs in their order, each with the end of the last seal that the index knows.
    fn indexed_packs(&self) -> Result<Vec<(u32, u64)>> {
        let (from, to) = (pack_key(0), pack_key(u32::MAX));
        let pairs = self.inner.engine.range(Table::Meta, &from, &to, false);
        let mut packs = Vec::new();
        for pair in pairs {
            let (key, value) = pair?;
            if let (Some(pack), Ok(end)) = (key.last_chunk(), value.try_into()) {
                packs.push((u32::from_be_bytes(*pack), u64::from_be_bytes(end)));
            }
        }
        Ok(packs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_and_sort_as_bytes_as_they_sort_themselves() {
        let cursor = |pack, offset, ops| FeedCursor { pack, offset, ops };
        let sorted = [cursor(0, 0, 0), cursor(1, 0, 7), cursor(1, 300, 0), cursor(1, 1 << 40, 2), cursor(256, 1, 1)];
        assert!(sorted.is_sorted() && sorted.iter().map(FeedCursor::encode).is_sorted());
        for cursor in sorted {
            assert_eq!(FeedCursor::decode(&cursor.encode()), Some(cursor));
        }
        for none in [&[][..], &[1; 16], &[1; 18], &[2; 17]] {
            assert_eq!(FeedCursor::decode(none), None);
        }
    }
}
