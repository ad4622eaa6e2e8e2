//! Recovery: what opening an archive finds to mend after a crash, a bad disk, or a person.

use crate::directory::{self, Op, pack_key};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::index::{Engine, Table};
use crate::pack::{self, Packs};

/// What opening found to mend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes of unfinished writes that were cut off, and in which files.
    pub cut: Vec<(String, u64)>,
    /// Committed operations that were brought back from the journal.
    pub replayed: u64,
    /// Captures that the index had to be told of again.
    pub reindexed: u64,
    /// Places in packs and journals that are not what was written.
    pub damaged: Vec<(String, u64)>,
    /// Packs that the index knows and the disk does not have.
    pub missing: Vec<String>,
}

impl Recovery {
    /// One sentence per thing that happened; empty after a clean stop.
    pub fn sentences(&self) -> Vec<String> {
        let mut out = Vec::new();
        for (name, bytes) in &self.cut {
            out.push(format!("cut {bytes} bytes of an unfinished write from {name}; nothing acknowledged was in them"));
        }
        if self.replayed > 0 {
            out.push(format!("brought back {} committed operations from the journal", self.replayed));
        }
        if self.reindexed > 0 {
            out.push(format!("indexed {} captures again from the packs", self.reindexed));
        }
        for name in &self.missing {
            out.push(format!("{name} is missing: bring it back, or run `herodotus verify` to see what was in it"));
        }
        for (name, at) in &self.damaged {
            out.push(format!("{name} is damaged at byte {at}: run `herodotus verify` to see what that hit"));
        }
        out
    }
}

/// Tells the index what packs hold beyond what it knows, and cuts the unfinished end of the newest.
pub(crate) fn recover_packs(
    disk: &dyn Disk,
    engine: &dyn Engine,
    packs: &Packs,
    recovery: &mut Recovery,
) -> Result<(Option<(u32, u64)>, u32)> {
    let mut newest = None;
    let mut next = 1;
    let found = packs.list()?;
    for pair in engine.range(Table::Meta, b"pack:", b"pack;", false) {
        let (key, _) = pair?;
        let Some(number) = key.last_chunk::<4>().map(|n| u32::from_be_bytes(*n)) else { continue };
        next = next.max(number.saturating_add(1));
        if !found.iter().any(|(there, _)| *there == number) {
            recovery.missing.push(pack::name(number));
        }
    }
    for (number, len) in found {
        next = next.max(number.saturating_add(1));
        pack::check_header(disk, number)?;
        let indexed = engine.get(Table::Meta, &pack_key(number))?;
        let indexed = indexed.and_then(|v| Some(u64::from_be_bytes(v.try_into().ok()?))).unwrap_or(0);
        if len == 0 && indexed == 0 {
            // A disk that was full when it was made. To write on behind nothing would leave it without its first bytes.
            disk.remove(&pack::name(number)).map_err(Error::disk("removing an empty pack"))?;
            disk.sync_dir(pack::FOLDER).map_err(Error::disk("removing an empty pack"))?;
            continue;
        }
        if indexed > len {
            let name = pack::name(number);
            return Err(Error::Damaged(format!(
                "{name} is {} bytes shorter than it was, changed from outside: bring back the whole file, or delete the folder `index` to go on with what is left",
                indexed - len
            )));
        }
        let mut end = len;
        if indexed < len {
            let scan = pack::scan(disk, number, indexed)?;
            for at in &scan.damaged {
                recovery.damaged.push((pack::name(number), *at));
            }
            for seal in &scan.seals {
                let puts = seal.ops.iter().filter(|op| matches!(op, Op::Put { .. })).count();
                recovery.reindexed += puts as u64;
                directory::apply(engine, number, seal.end, &seal.ops)?;
            }
            if scan.torn_bytes > 0 {
                recovery.cut.push((pack::name(number), scan.torn_bytes));
                end = len - scan.torn_bytes;
                if end == 0 {
                    disk.remove(&pack::name(number)).map_err(Error::disk("removing an empty pack"))?;
                    disk.sync_dir(pack::FOLDER).map_err(Error::disk("removing an empty pack"))?;
                    continue;
                }
                pack::cut(disk, number, scan.torn_bytes)?;
            }
        }
        newest = Some((number, end));
    }
    // Where a newer one is missing, its number is not given to another.
    Ok((newest.filter(|(number, _)| number + 1 == next), next))
}
