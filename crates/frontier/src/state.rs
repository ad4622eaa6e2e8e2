//! The table with what has changed since it was last written: reads and scans see the changes, only a flush writes them, all at once. So what lies on the disk is always
//! something that the frontier's driver let it write: links that were found have gone to the outbox, and the clock is not behind what it is to wake.

use crate::error::{Error, Result};
use crate::table::Table;
use std::collections::BTreeMap;
use std::ops::Bound;

#[derive(Debug)]
pub(crate) struct State<T> {
    table: T,
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl<T: Table> State<T> {
    pub(crate) fn new(table: T) -> Self {
        Self { table, changes: BTreeMap::new() }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.changes.get(key) {
            Some(value) => Ok(value.clone()),
            None => self.table.get(key).map_err(Error::table("read")),
        }
    }

    pub(crate) fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.changes.insert(key, Some(value));
    }

    pub(crate) fn remove(&mut self, key: Vec<u8>) {
        self.changes.insert(key, None);
    }

    pub(crate) fn changed(&self) -> usize {
        self.changes.len()
    }

    /// What lies in `[from, to)`, in order: `limit` of it, or less if there is no more.
    pub(crate) fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut found: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut at = from.to_vec();
        while found.len() < limit && at.as_slice() < to {
            let written = self.table.scan(&at, to, limit).map_err(Error::table("read"))?;
            // As far as the table was read now; what has changed further on is met in the next turn.
            let next = match written.last() {
                Some((last, _)) if written.len() >= limit => [last.as_slice(), &[0]].concat(),
                _ => to.to_vec(),
            };
            let range = (Bound::Included(at.as_slice()), Bound::Excluded(next.as_slice()));
            let mut changed = self.changes.range::<[u8], _>(range).peekable();
            let put = |(key, value): (&Vec<u8>, &Option<Vec<u8>>)| Some((key.clone(), value.clone()?));
            for (key, value) in written {
                while let Some(change) = changed.next_if(|(other, _)| **other < key) {
                    found.extend(put(change));
                }
                match changed.next_if(|(other, _)| **other == key) {
                    Some(change) => found.extend(put(change)),
                    None => found.push((key, value)),
                }
            }
            found.extend(changed.filter_map(put));
            at = next;
        }
        found.truncate(limit);
        Ok(found)
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        // In order, because a log-structured table takes sorted runs more cheaply.
        let changes = std::mem::take(&mut self.changes).into_iter().collect();
        self.table.write(changes).map_err(Error::table("written"))
    }

    pub(crate) fn into_table(self) -> T {
        self.table
    }

    pub(crate) fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.table.sync().map_err(Error::table("brought to the disk"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::MemoryTable;

    #[test]
    fn a_scan_sees_what_has_changed_and_writes_nothing() {
        let key = |n: u8| vec![n];
        let mut state = State::new(MemoryTable::default());
        (0..40).step_by(2).for_each(|n| state.put(key(n), vec![0]));
        state.flush().unwrap();
        // Some new, some others, some gone: the first of all, some at the edges of what is read at once, the last.
        (1..40).step_by(6).for_each(|n| state.put(key(n), vec![1]));
        [4, 20].into_iter().for_each(|n| state.put(key(n), vec![2]));
        [0, 6, 8, 10, 38].into_iter().for_each(|n| state.remove(key(n)));
        let expected: Vec<_> = (0..40_u8)
            .filter_map(|n| match n {
                0 | 6 | 8 | 10 | 38 => None,
                4 | 20 => Some((key(n), vec![2])),
                _ if n % 6 == 1 => Some((key(n), vec![1])),
                _ => (n % 2 == 0).then(|| (key(n), vec![0])),
            })
            .collect();
        for limit in 1..50 {
            for from in 0..expected.len() {
                let found = state.scan(&expected[from].0, &key(40), limit).unwrap();
                assert_eq!(found, expected[from..(from + limit).min(expected.len())], "{limit} from {from}");
            }
        }
        assert_eq!(state.scan(&key(0), &key(5), 9).unwrap().len(), 3, "up to an end: 1, 2 and 4");
        assert_eq!(state.scan(&key(5), &key(5), 9).unwrap(), []);
        assert_eq!(state.into_table().scan(&key(0), &key(1), 9).unwrap().len(), 1, "nothing of it is written");
    }
}
