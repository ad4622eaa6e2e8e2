//! The frontier's table on disk: fjall, a log-structured engine with a journal of its own.
//!
//! A write is in the operating system's hands when it returns, so that it survives the death of the process; a sync brings
//! it to the disk. docs/decisions/0006 says why fjall here and its bare engine under the store's index.

use fjall::config::PartitioningPolicy;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use herodotus_frontier::Table;
use std::fmt;
use std::io;
use std::path::Path;

/// Memory for blocks read lately.
const CACHE_BYTES: u64 = 24 << 20;
/// What is gathered in memory before it is written in order, and the journal that backs it.
const BUFFER_BYTES: u64 = 16 << 20;
const JOURNAL_BYTES: u64 = 64 << 20;

pub struct DiskTable {
    database: Database,
    entries: Keyspace,
}

impl fmt::Debug for DiskTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskTable").finish_non_exhaustive()
    }
}

impl DiskTable {
    pub fn open(dir: &Path) -> io::Result<Self> {
        let database = Database::builder(dir)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNAL_BYTES)
            .worker_threads(1)
            .open()
            .map_err(io::Error::other)?;
        // Filters in parts: a whole one is megabytes, and with more URLs than the cache has room for every question would read one.
        let options = || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(BUFFER_BYTES)
                .filter_block_partitioning_policy(PartitioningPolicy::all(true))
                .index_block_partitioning_policy(PartitioningPolicy::all(true))
        };
        let entries = database.keyspace("frontier", options).map_err(io::Error::other)?;
        Ok(Self { database, entries })
    }
}

impl Table for DiskTable {
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        Ok(self.entries.get(key).map_err(io::Error::other)?.map(|value| value.to_vec()))
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        if from >= to {
            return Ok(Vec::new());
        }
        let entries = self.entries.range(from..to).take(limit).map(|entry| {
            let (key, value) = entry.into_inner().map_err(io::Error::other)?;
            Ok((key.to_vec(), value.to_vec()))
        });
        entries.collect()
    }

    fn write(&mut self, changes: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> io::Result<()> {
        let mut batch = self.database.batch().durability(Some(PersistMode::Buffer));
        for (key, value) in changes {
            match value {
                Some(value) => batch.insert(&self.entries, key, value),
                None => batch.remove(&self.entries, key),
            }
        }
        batch.commit().map_err(io::Error::other)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.database.persist(PersistMode::SyncData).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_there_in_order_after_opening_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut table = DiskTable::open(dir.path()).unwrap();
        table.write((0..100_u8).map(|n| (vec![b'k', n], Some(vec![n]))).collect()).unwrap();
        table.write(vec![(vec![b'k', 50], None), (vec![b'k', 51], Some(vec![0]))]).unwrap();
        table.sync().unwrap();
        drop(table);
        let table = DiskTable::open(dir.path()).unwrap();
        let found = table.scan(&[b'k', 49], &[b'k', 60], 3).unwrap();
        let expected = [(vec![b'k', 49], vec![49]), (vec![b'k', 51], vec![0]), (vec![b'k', 52], vec![52])];
        assert_eq!(found, expected);
        assert_eq!(table.get(&[b'k', 50]).unwrap(), None);
    }
}
