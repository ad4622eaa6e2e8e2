//! A disk in memory that remembers every step, and can say what would be left if the power had gone at any of them.
//!
//! The model is that of a careful pessimist: what was synced is there; what was not may be there, be missing, or be
//! torn at any 512-byte sector, each write for itself; names that were made, changed or removed since the last
//! `sync_dir` may or may not have taken effect, in order. It can also be told to fail from a given step on, as a full
//! or broken disk does.

use super::{Disk, DiskFile, folder_of};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

const SECTOR_BYTES: usize = 512;

type FileId = usize;

#[derive(Clone, Debug)]
enum Step {
    Create(String, FileId),
    Write(FileId, u64, Vec<u8>),
    SetLen(FileId, u64),
    Sync(FileId),
    Rename(String, String, FileId),
    Remove(String),
    SyncDir(String),
}

#[derive(Debug, Default)]
struct State {
    /// What an image started from: contents and names before the first step.
    base_files: Vec<Vec<u8>>,
    base_names: BTreeMap<String, FileId>,
    files: Vec<Vec<u8>>,
    names: BTreeMap<String, FileId>,
    steps: Vec<Step>,
    fail_after: Option<usize>,
    free_bytes: Option<u64>,
}

/// A simulated disk; clones share it.
#[derive(Clone, Debug, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

/// How unlucky a crash is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Luck {
    /// Nothing unsynced survives.
    Worst,
    /// Everything survives: as after `kill -9`.
    Best,
    /// Each unsynced write survives, vanishes or is torn, by this seed.
    Seed(u64),
}

impl SimDisk {
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Steps taken so far.
    pub fn steps(&self) -> usize {
        self.state().steps.len()
    }

    /// From this many steps on, every further step fails as a full disk does. `None`: the disk is well again.
    pub fn fail_after(&self, steps: Option<usize>) {
        self.state().fail_after = steps;
    }

    /// How much room the disk says that there is. It does not grow less by itself.
    pub fn set_free_bytes(&self, bytes: Option<u64>) {
        self.state().free_bytes = bytes;
    }

    /// Turns one bit of a file, as a bad disk does.
    pub fn flip_bit(&self, name: &str, offset: u64, bit: u8) {
        let mut state = self.state();
        if let Some(id) = state.names.get(name).copied()
            && let Some(byte) = state.files[id].get_mut(offset as usize)
        {
            *byte ^= 1 << (bit & 7);
        }
    }

    /// The disk as it would be found if the power had gone after the first `at` steps.
    pub fn crash_image(&self, at: usize, luck: Luck) -> Self {
        let state = self.state();
        let steps = &state.steps[..at.min(state.steps.len())];
        let mut random = SplitMix(match luck {
            Luck::Seed(seed) => seed ^ (at as u64).rotate_left(32),
            _ => 0,
        });
        let mut survives = |sure: bool| match luck {
            _ if sure => true,
            Luck::Worst => false,
            Luck::Best => true,
            Luck::Seed(_) => random.next() & 1 == 0,
        };
        let mut files = state.base_files.clone();
        let mut names = state.base_names.clone();
        let mut broken_folders: Vec<String> = Vec::new();
        for (i, step) in steps.iter().enumerate() {
            let later = &steps[i + 1..];
            match step {
                Step::Create(name, id) => {
                    if files.len() <= *id {
                        files.resize(*id + 1, Vec::new());
                    }
                    if !broken_folders.iter().any(|f| f == folder_of(name)) {
                        if survives(dir_synced(later, name)) {
                            names.insert(name.clone(), *id);
                        } else {
                            broken_folders.push(folder_of(name).to_owned());
                        }
                    }
                }
                Step::Rename(from, to, id) => {
                    if !broken_folders.iter().any(|f| f == folder_of(to)) {
                        if survives(dir_synced(later, to)) {
                            // What is renamed is the file, whether or not its old name ever became durable.
                            names.remove(from);
                            names.insert(to.clone(), *id);
                        } else {
                            broken_folders.push(folder_of(to).to_owned());
                        }
                    }
                }
                Step::Remove(name) => {
                    if !broken_folders.iter().any(|f| f == folder_of(name)) {
                        if survives(dir_synced(later, name)) {
                            names.remove(name);
                        } else {
                            broken_folders.push(folder_of(name).to_owned());
                        }
                    }
                }
                Step::Write(id, offset, bytes) => {
                    let synced = later.iter().any(|s| matches!(s, Step::Sync(synced) if synced == id));
                    let file = &mut files[*id];
                    let end = *offset as usize + bytes.len();
                    for (n, sector) in sectors(*offset as usize, bytes).enumerate() {
                        if survives(synced) || (n == 0 && luck == Luck::Best) {
                            if file.len() < sector.0 + sector.1.len() {
                                file.resize(sector.0 + sector.1.len(), 0);
                            }
                            file[sector.0..sector.0 + sector.1.len()].copy_from_slice(sector.1);
                        }
                    }
                    debug_assert!(file.len() >= end || luck != Luck::Best);
                }
                Step::SetLen(id, len) => {
                    let synced = later.iter().any(|s| matches!(s, Step::Sync(synced) if synced == id));
                    if survives(synced) {
                        files[*id].resize(*len as usize, 0);
                    }
                }
                Step::Sync(_) | Step::SyncDir(_) => {}
            }
        }
        Self(Arc::new(Mutex::new(State {
            base_files: files.clone(),
            base_names: names.clone(),
            files,
            names,
            steps: Vec::new(),
            fail_after: None,
            free_bytes: None,
        })))
    }

    fn step(state: &mut State, step: Step) -> io::Result<()> {
        if state.fail_after.is_some_and(|n| state.steps.len() >= n) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on the simulated disk"));
        }
        state.steps.push(step);
        Ok(())
    }
}

fn dir_synced(later: &[Step], name: &str) -> bool {
    later.iter().any(|s| matches!(s, Step::SyncDir(folder) if folder == folder_of(name)))
}

fn sectors(offset: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let first = (SECTOR_BYTES - offset % SECTOR_BYTES).min(bytes.len());
    let (head, tail) = bytes.split_at(first);
    std::iter::once((offset, head))
        .chain(tail.chunks(SECTOR_BYTES).enumerate().map(move |(i, chunk)| (offset + first + i * SECTOR_BYTES, chunk)))
}

impl Disk for SimDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        if state.names.contains_key(name) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, name.to_owned()));
        }
        let id = state.files.len();
        Self::step(&mut state, Step::Create(name.to_owned(), id))?;
        state.files.push(Vec::new());
        state.names.insert(name.to_owned(), id);
        Ok(Arc::new(SimFile(self.clone(), id)))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let id = self.state().names.get(name).copied();
        let id = id.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, name.to_owned()))?;
        Ok(Arc::new(SimFile(self.clone(), id)))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<(String, u64)>> {
        let state = self.state();
        let in_folder = state.names.iter().filter(|(name, _)| folder_of(name) == folder);
        Ok(in_folder
            .map(|(name, id)| (name.rsplit('/').next().unwrap_or_default().to_owned(), state.files[*id].len() as u64))
            .collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        let id = state.names.get(from).copied();
        let id = id.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, from.to_owned()))?;
        Self::step(&mut state, Step::Rename(from.to_owned(), to.to_owned(), id))?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), id);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        if !state.names.contains_key(name) {
            return Err(io::Error::new(io::ErrorKind::NotFound, name.to_owned()));
        }
        Self::step(&mut state, Step::Remove(name.to_owned()))?;
        state.names.remove(name);
        Ok(())
    }

    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        Self::step(&mut self.state(), Step::SyncDir(folder.to_owned()))
    }

    fn free_bytes(&self) -> Option<u64> {
        self.state().free_bytes
    }
}

#[derive(Debug)]
struct SimFile(SimDisk, FileId);

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.state().files[self.1].len() as u64)
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.0.state();
        let from = usize::try_from(offset).ok().and_then(|o| state.files[self.1].get(o..o.checked_add(buf.len())?));
        let from = from.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        buf.copy_from_slice(from);
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.0.state();
        SimDisk::step(&mut state, Step::Write(self.1, offset, bytes.to_vec()))?;
        let end = offset as usize + bytes.len();
        let file = &mut state.files[self.1];
        if file.len() < end {
            file.resize(end, 0);
        }
        file[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.0.state();
        SimDisk::step(&mut state, Step::SetLen(self.1, len))?;
        state.files[self.1].resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        SimDisk::step(&mut self.0.state(), Step::Sync(self.1))
    }
}

/// A small generator with a fixed meaning, so that a seed names one crash for ever.
#[derive(Clone, Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(disk: &SimDisk, name: &str) -> Option<Vec<u8>> {
        super::super::read_all(disk, name, u64::MAX).ok()
    }

    #[test]
    fn synced_bytes_survive_and_unsynced_ones_may_not() {
        let disk = SimDisk::new();
        let file = disk.create("d/a").unwrap();
        disk.sync_dir("d").unwrap();
        file.write_all_at(&[1; 600], 0).unwrap();
        file.sync().unwrap();
        file.write_all_at(&[2; 600], 600).unwrap();
        let now = disk.steps();
        assert_eq!(content(&disk.crash_image(now, Luck::Worst), "d/a").unwrap(), vec![1; 600]);
        assert_eq!(content(&disk.crash_image(now, Luck::Best), "d/a").unwrap().len(), 1200);
        let torn = (0..50).map(|seed| content(&disk.crash_image(now, Luck::Seed(seed)), "d/a").unwrap());
        assert!(torn.into_iter().any(|c| c.len() > 600 && c[600..].contains(&0)), "some seed tears the write");
    }

    #[test]
    fn a_name_lives_only_once_its_folder_is_synced() {
        let disk = SimDisk::new();
        disk.create("d/a").unwrap().sync().unwrap();
        assert_eq!(content(&disk.crash_image(disk.steps(), Luck::Worst), "d/a"), None);
        disk.sync_dir("d").unwrap();
        disk.rename("d/a", "d/b").unwrap();
        assert!(content(&disk.crash_image(disk.steps(), Luck::Worst), "d/a").is_some());
        disk.sync_dir("d").unwrap();
        assert!(content(&disk.crash_image(disk.steps(), Luck::Worst), "d/b").is_some());
    }
}
