//! What lies under the frontier: an ordered map from bytes to bytes. On disk in the program, in memory in tests.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;

/// A key, and its value or its end.
pub(crate) type Change = (Vec<u8>, Option<Vec<u8>>);

/// An ordered map. After [`Table::write`] returns, the changes survive the death of the process, all of them or none;
/// after [`Table::sync`] the loss of power too.
pub trait Table: Debug {
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>>;

    /// Up to `limit` entries from `from` (with it) to `to` (without it), in order.
    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>>;

    fn write(&mut self, changes: Vec<Change>) -> io::Result<()>;

    fn sync(&mut self) -> io::Result<()>;
}

#[derive(Clone, Debug, Default)]
pub struct MemoryTable {
    map: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Table for MemoryTable {
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        Ok(self.map.get(key).cloned())
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        if from >= to {
            return Ok(Vec::new());
        }
        let range = self.map.range(from.to_vec()..to.to_vec());
        Ok(range.take(limit).map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn write(&mut self, changes: Vec<Change>) -> io::Result<()> {
        for (key, value) in changes {
            match value {
                Some(value) => self.map.insert(key, value),
                None => self.map.remove(&key),
            };
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
