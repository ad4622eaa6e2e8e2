//! The table with what has changed since it was last written: reads see the changes, a flush writes them at once.

use crate::error::{Error, Result};
use crate::table::Table;
use std::collections::HashMap;

#[derive(Debug)]
pub(crate) struct State<T> {
    table: T,
    changes: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

impl<T: Table> State<T> {
    pub(crate) fn new(table: T) -> Self {
        Self { table, changes: HashMap::new() }
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

    /// Flushes first: a scan of two sources would be more code than a write costs.
    pub(crate) fn scan(&mut self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.flush()?;
        self.table.scan(from, to, limit).map_err(Error::table("read"))
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        // In order, because a log-structured table takes sorted runs more cheaply.
        let mut changes: Vec<_> = self.changes.drain().collect();
        changes.sort_unstable_by(|a, b| a.0.cmp(&b.0));
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
