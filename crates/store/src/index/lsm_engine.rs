//! The index on disk: one log-structured tree (`lsm-tree`, the engine inside fjall). Keys arrive in the order of hosts and
//! hashes, not of the file, and that is where such trees win.
//!
//! fjall itself would add a write-ahead log of its own. We have one: the packs. So this uses the tree alone, with all tables
//! in it, a byte in front of the key telling which. Entries wait in memory until there are enough of them to be written as
//! a sorted file; that happens for all tables at once, so what a crash leaves is exactly the state after some earlier batch
//! (docs/decisions/0003-index.md).

use super::engine::{Engine, Pairs, Table, Write};
use crate::error::{Error, Result};
use lsm_tree::compaction::Leveled;
use lsm_tree::config::{BlockSizePolicy, CompressionPolicy, PartitioningPolicy};
use lsm_tree::{AbstractTree, AnyTree, Cache, CompressionType, Config, Guard, SequenceNumberCounter};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Blocks of the tree kept in memory.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// Newest entries kept in memory; as much is read again from the packs after a crash.
const MEMTABLE_BYTES: u64 = 8 * 1024 * 1024;
/// Size of one file of the tree.
const TABLE_BYTES: u64 = 32 * 1024 * 1024;

pub struct LsmEngine {
    tree: AnyTree,
    /// The next batch, and the first that readers do not see yet.
    next: SequenceNumberCounter,
    visible: SequenceNumberCounter,
    writing: Mutex<()>,
}

impl std::fmt::Debug for LsmEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LsmEngine")
    }
}

fn failed(e: lsm_tree::Error) -> Error {
    Error::Index(format!("{e:?}"))
}

fn key_in(table: Table, key: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(key.len() + 1);
    out.push(table as u8);
    out.extend_from_slice(key);
    out
}

impl LsmEngine {
    pub fn open(path: &Path) -> Result<Self> {
        let (next, visible) = (SequenceNumberCounter::default(), SequenceNumberCounter::default());
        let tree = Config::new(path, next.clone(), visible.clone())
            .use_cache(Arc::new(Cache::with_capacity_bytes(CACHE_BYTES)))
            .data_block_size_policy(BlockSizePolicy::all(8 * 1024))
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
            // In one piece, those of a table are some hundred KiB each, too much to stay in the cache: they were read and summed for every look.
            .filter_block_partitioning_policy(PartitioningPolicy::all(true))
            .index_block_partitioning_policy(PartitioningPolicy::all(true))
            .open()
            .map_err(failed)?;
        let seen = tree.get_highest_seqno().map_or(0, |n| n + 1);
        next.fetch_max(seen);
        visible.fetch_max(seen);
        Ok(Self { tree, next, visible, writing: Mutex::new(()) })
    }

    fn flush(&self) -> Result<()> {
        // Readers hold on to the files they read, so versions that only they can see need not be kept.
        let unseen = self.visible.get();
        self.tree.rotate_memtable();
        let lock = self.tree.get_flush_lock();
        self.tree.flush(&lock, unseen).map_err(failed)?;
        drop(lock);
        let leveled = Leveled::default().with_table_target_size(TABLE_BYTES);
        self.tree.compact(Arc::new(leveled), unseen).map_err(failed)
    }
}

impl Engine for LsmEngine {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let value = self.tree.get(key_in(table, key), self.visible.get()).map_err(failed)?;
        Ok(value.map(|v| v.to_vec()))
    }

    fn range(&self, table: Table, from: &[u8], to: &[u8], backwards: bool) -> Pairs<'_> {
        if from >= to {
            return Box::new(std::iter::empty());
        }
        let range = self.tree.range(key_in(table, from)..key_in(table, to), self.visible.get(), None);
        let pair = |guard: lsm_tree::IterGuardImpl| {
            let (key, value) = guard.into_inner().map_err(failed)?;
            Ok((key.get(1..).unwrap_or_default().to_vec(), value.to_vec()))
        };
        if backwards { Box::new(range.rev().map(pair)) } else { Box::new(range.map(pair)) }
    }

    fn write(&self, batch: Vec<Write>) -> Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let seqno = self.next.next();
        let mut bytes = 0;
        for write in batch {
            let key = key_in(write.table, &write.key);
            (_, bytes) = match write.value {
                Some(value) => self.tree.insert(key, value, seqno),
                None => self.tree.remove(key, seqno),
            };
        }
        self.visible.fetch_max(seqno + 1);
        if bytes > MEMTABLE_BYTES { self.flush() } else { Ok(()) }
    }

    fn persist(&self) -> Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.flush()
    }

    fn disk_bytes(&self) -> u64 {
        self.tree.disk_space()
    }

    fn tidy(&self) -> Result<()> {
        self.persist()?;
        self.tree.major_compact(TABLE_BYTES, self.visible.get()).map_err(failed)
    }
}
