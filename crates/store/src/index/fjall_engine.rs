//! The index on disk: fjall, a log-structured engine. Keys arrive in the order of hosts and hashes, not of the file, and
//! that is where log-structured engines win (figures in docs/figures.md).

use super::engine::{Engine, Pairs, Table, Write};
use crate::error::{Error, Result};
use fjall::config::{BlockSizePolicy, CompressionPolicy};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::path::Path;

/// Blocks that the engine keeps in memory.
const CACHE_BYTES: u64 = 24 * 1024 * 1024;
/// Newest entries that it keeps in memory, per table.
const MEMTABLE_BYTES: u64 = 8 * 1024 * 1024;
const JOURNAL_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Clone)]
pub struct FjallEngine {
    db: Database,
    tables: [Keyspace; 4],
}

impl std::fmt::Debug for FjallEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FjallEngine")
    }
}

fn failed(e: fjall::Error) -> Error {
    Error::Index(format!("fjall failed: {e}"))
}

impl FjallEngine {
    pub fn open(path: &Path) -> Result<Self> {
        let db = Database::builder(path)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNAL_BYTES)
            .manual_journal_persist(true)
            .worker_threads(1)
            .open()
            .map_err(failed)?;
        let table = |name: &str, lookups_hit: bool| {
            db.keyspace(name, || {
                KeyspaceCreateOptions::default()
                    .max_memtable_size(MEMTABLE_BYTES)
                    .manual_journal_persist(true)
                    .expect_point_read_hits(lookups_hit)
                    .data_block_size_policy(BlockSizePolicy::all(8 * 1024))
                    .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
            })
            .map_err(failed)
        };
        let tables =
            [table("captures", false)?, table("bodies", false)?, table("urls", false)?, table("meta", true)?];
        Ok(Self { db, tables })
    }

    fn table(&self, table: Table) -> &Keyspace {
        &self.tables[table as usize]
    }
}

impl Engine for FjallEngine {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.table(table).get(key).map_err(failed)?.map(|v| v.to_vec()))
    }

    fn range(&self, table: Table, from: &[u8], to: &[u8], backwards: bool) -> Pairs<'_> {
        if from >= to {
            return Box::new(std::iter::empty());
        }
        let range = self.table(table).range(from.to_vec()..to.to_vec());
        let pair = |guard: fjall::Guard| guard.into_inner().map(|(k, v)| (k.to_vec(), v.to_vec())).map_err(failed);
        if backwards { Box::new(range.rev().map(pair)) } else { Box::new(range.map(pair)) }
    }

    fn write(&self, batch: Vec<Write>) -> Result<()> {
        let mut out = fjall::OwnedWriteBatch::with_capacity(self.db.clone(), batch.len());
        for write in batch {
            let table = self.table(write.table);
            match write.value {
                Some(value) => out.insert(table, write.key, value),
                None => out.remove(table, write.key),
            }
        }
        out.commit().map_err(failed)
    }

    fn persist(&self) -> Result<()> {
        self.db.persist(PersistMode::SyncAll).map_err(failed)
    }

    fn disk_bytes(&self) -> u64 {
        self.db.disk_space().unwrap_or(0)
    }

    fn tidy(&self) -> Result<()> {
        for table in &self.tables {
            table.rotate_memtable_and_wait().map_err(failed)?;
            table.major_compact().map_err(failed)?;
        }
        self.persist()
    }
}
