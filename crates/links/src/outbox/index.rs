//! Which links wait, in memory, while they are few. What was sent leaves marks in a table until that is tidied up, and whoever reads it in order steps over all of
//! them: a round over the circle would take the longer the more was ever sent. When too many wait, the table is read after all.

use super::entry::{KEY_BYTES, Key};
use std::collections::BTreeSet;

#[derive(Debug)]
pub(super) struct Index {
    /// None: not known.
    keys: Option<BTreeSet<Key>>,
    max: usize,
}

impl Index {
    /// One that knows nothing.
    pub(super) fn new(max: usize) -> Self {
        Self { keys: None, max }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.as_ref().map_or(0, BTreeSet::len)
    }

    /// Whether it is worth being told everything, if so many wait.
    pub(super) fn wants(&self, waiting: u64) -> bool {
        // Not at the brim, or it would be told and forget all the time.
        self.keys.is_none() && waiting <= self.max as u64 / 2
    }

    pub(super) fn learn(&mut self, keys: BTreeSet<Key>) {
        self.keys = Some(keys).filter(|keys| keys.len() <= self.max);
    }

    pub(super) fn forget(&mut self) {
        self.keys = None;
    }

    pub(super) fn put(&mut self, key: Key, is_there: bool) {
        let Some(keys) = &mut self.keys else { return };
        match is_there {
            true => keys.insert(key),
            false => keys.remove(&key),
        };
        if keys.len() > self.max {
            self.keys = None;
        }
    }

    /// Some of those from one key to before another, in order. Nothing: it does not know.
    pub(super) fn range(&self, from: &[u8], to: &[u8], limit: usize) -> Option<Vec<Key>> {
        let keys = self.keys.as_ref()?;
        // Bounds may be shorter or longer than keys.
        let mut first = [0; KEY_BYTES];
        first.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        let some = keys.range(first..).skip_while(|key| key[..] < *from).take_while(|key| key[..] < *to);
        Some(some.take(limit).copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> Key {
        let mut key = [7; KEY_BYTES];
        (key[0], key[1]) = (b'o', n);
        key
    }

    #[test]
    fn it_gives_what_a_table_would_and_nothing_when_there_is_too_much() {
        let mut index = Index::new(4);
        assert!(index.range(b"o", b"p", 9).is_none() && index.wants(2) && !index.wants(3));
        index.learn([key(1), key(3)].into());
        index.put(key(2), true);
        index.put(key(2), true);
        assert_eq!(index.range(b"o", b"p", 9), Some(vec![key(1), key(2), key(3)]));
        assert_eq!(index.range(&[b'o', 2], b"p", 1), Some(vec![key(2)]));
        // Just behind a key is what comes after it.
        assert_eq!(index.range(&[&key(2)[..], &[0]].concat(), b"p", 9), Some(vec![key(3)]));
        assert_eq!(index.range(&key(2), &key(3), 9), Some(vec![key(2)]));
        assert_eq!(index.range(&key(3), &key(2), 9), Some(vec![]));
        index.put(key(1), false);
        assert_eq!((index.len(), index.wants(0)), (2, false));
        (10..13).for_each(|n| index.put(key(n), true));
        assert!(index.range(b"o", b"p", 9).is_none(), "five are more than it may know");
        index.put(key(2), false);
        assert_eq!(index.len(), 0);
    }
}
