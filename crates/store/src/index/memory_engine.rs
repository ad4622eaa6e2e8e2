//! An index in memory that remembers its batches, so that a test can bring back any earlier state: that is what a
//! crash leaves of an engine which syncs late.

use super::engine::{Engine, Pairs, Table, Write};
use crate::error::Result;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

type Tables = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

#[derive(Debug, Default)]
struct State {
    now: Tables,
    /// Every batch, and how many of them were persisted.
    batches: Vec<Vec<Write>>,
    persisted: usize,
}

/// Clones share the index.
#[derive(Clone, Debug, Default)]
pub struct MemoryEngine(Arc<Mutex<State>>);

impl MemoryEngine {
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Batches written, and how many of them are safe.
    pub fn batches(&self) -> (usize, usize) {
        let state = self.state();
        (state.batches.len(), state.persisted)
    }

    /// The index as it was after the first `n` batches.
    pub fn image(&self, n: usize) -> Self {
        let state = self.state();
        let mut now = Tables::new();
        let batches = state.batches[..n.min(state.batches.len())].to_vec();
        for write in batches.iter().flatten() {
            apply(&mut now, write);
        }
        Self(Arc::new(Mutex::new(State { now, persisted: batches.len(), batches })))
    }
}

fn apply(tables: &mut Tables, write: &Write) {
    let key = (write.table, write.key.clone());
    match &write.value {
        Some(value) => tables.insert(key, value.clone()),
        None => tables.remove(&key),
    };
}

impl Engine for MemoryEngine {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.state().now.get(&(table, key.to_vec())).cloned())
    }

    fn range(&self, table: Table, from: &[u8], to: &[u8], backwards: bool) -> Pairs<'_> {
        if from >= to {
            return Box::new(std::iter::empty());
        }
        let state = self.state();
        let range = state.now.range((table, from.to_vec())..(table, to.to_vec()));
        let mut pairs: Vec<_> = range.map(|((_, k), v)| Ok((k.clone(), v.clone()))).collect();
        if backwards {
            pairs.reverse();
        }
        Box::new(pairs.into_iter())
    }

    fn write(&self, batch: Vec<Write>) -> Result<()> {
        let mut state = self.state();
        for write in &batch {
            apply(&mut state.now, write);
        }
        state.batches.push(batch);
        Ok(())
    }

    fn persist(&self) -> Result<()> {
        let mut state = self.state();
        state.persisted = state.batches.len();
        Ok(())
    }

    fn disk_bytes(&self) -> u64 {
        0
    }

    fn tidy(&self) -> Result<()> {
        Ok(())
    }
}
