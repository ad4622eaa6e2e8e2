//! What the store asks of an index engine: ordered tables and atomic batches. Two answer: a tree on disk, and a map in memory
//! for tests that lose power.

use crate::error::Result;
use std::fmt::Debug;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Entry key → entry.
    Captures,
    /// Body digest → where the bytes are.
    Bodies,
    /// SURT key → number of versions.
    Urls,
    /// Totals, notes, and how far each pack has been indexed.
    Meta,
    /// Place on the circle and bucket → how many entries lie there, and the sum of their marks. Only where the archive belongs
    /// to a ring.
    Places,
}

impl Table {
    pub const ALL: [Self; 5] = [Self::Captures, Self::Bodies, Self::Urls, Self::Meta, Self::Places];
}

/// One change; a batch of them takes effect wholly or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub table: Table,
    pub key: Vec<u8>,
    /// `None` removes.
    pub value: Option<Vec<u8>>,
}

pub type Pairs<'a> = Box<dyn Iterator<Item = Result<(Vec<u8>, Vec<u8>)>> + Send + 'a>;

pub trait Engine: Send + Sync + Debug {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>>;
    /// Pairs with `from <= key < to` in key order, or backwards.
    fn range(&self, table: Table, from: &[u8], to: &[u8], backwards: bool) -> Pairs<'_>;
    /// Applies a batch atomically. It may be forgotten in a crash, with everything after it.
    fn write(&self, batch: Vec<Write>) -> Result<()>;
    /// After this, nothing written before is forgotten.
    fn persist(&self) -> Result<()>;
    fn disk_bytes(&self) -> u64;
    /// Brings the engine's files to rest: merges what is better merged, and forgets what is no longer needed.
    fn tidy(&self) -> Result<()>;
}
