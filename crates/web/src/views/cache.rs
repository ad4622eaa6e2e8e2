//! What views have worked out and will be asked for again. All of it can be forgotten at any time: captures never change, and
//! what may go stale carries its age.

use super::host::Numbers;
use super::limits::{DISK_FILES_MAX, DISK_TIME, HOSTS_KEPT, SHARES_KEPT, TITLES_KEPT, WATCHERS_MAX};
use crate::limits::LOOKUPS_MAX;
use herodotus_base::Sha256;
use herodotus_store::EntryKey;
use quick_cache::sync::Cache;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::Semaphore;

/// Names captures in a cache: keys may be long, and these are not.
pub(super) type Name = [u8; 16];

pub(crate) struct Caches {
    /// By pair of captures: the share of their lines that differ.
    pub(super) shares: Cache<Name, Option<f32>>,
    /// By capture.
    pub(super) titles: Cache<Name, Option<Arc<str>>>,
    /// By site, as it stands in keys.
    pub(super) hosts: Cache<String, Arc<Numbers>>,
    disk: Mutex<Option<(Instant, u64)>>,
    /// Who may watch crawls or the ring.
    pub(crate) watchers: Arc<Semaphore>,
    /// Who may look something up in the ring.
    pub(crate) lookups: Arc<Semaphore>,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            shares: Cache::new(SHARES_KEPT),
            titles: Cache::new(TITLES_KEPT),
            hosts: Cache::new(HOSTS_KEPT),
            disk: Mutex::default(),
            watchers: Arc::new(Semaphore::new(WATCHERS_MAX)),
            lookups: Arc::new(Semaphore::new(LOOKUPS_MAX)),
        }
    }
}

impl std::fmt::Debug for Caches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caches").finish_non_exhaustive()
    }
}

impl Caches {
    /// Bytes of the files below a folder, as they were a moment ago. Whoever comes while they are being counted waits: the
    /// count is short.
    pub(super) fn disk_bytes(&self, folder: &Path) -> u64 {
        let mut known = self.disk.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, bytes)) = *known
            && when.elapsed() < DISK_TIME
        {
            return bytes;
        }
        let bytes = folder_bytes(folder);
        *known = Some((Instant::now(), bytes));
        bytes
    }
}

/// A name for some captures in their order.
pub(super) fn name_of(captures: &[&EntryKey]) -> Name {
    let mut all = Vec::new();
    for id in captures {
        let id = id.encode();
        all.extend_from_slice(&(id.len() as u64).to_be_bytes());
        all.extend_from_slice(&id);
    }
    let mut name = [0; 16];
    name.copy_from_slice(&Sha256::of(&all).0[..16]);
    name
}

/// Files come and go while we look: what cannot be seen counts nothing.
fn folder_bytes(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut seen = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > DISK_FILES_MAX {
                return bytes;
            }
            // Of a symbolic link this is the link's own: nobody is led out of the folder, or round in it.
            match entry.metadata() {
                Ok(about) if about.is_dir() => folders.push(entry.path()),
                Ok(about) => bytes += about.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use herodotus_base::Timestamp;

    #[test]
    fn the_bytes_of_a_folder_are_those_of_its_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        std::fs::write(dir.path().join("a/b/one"), [0; 1000]).unwrap();
        std::fs::write(dir.path().join("two"), [0; 234]).unwrap();
        std::os::unix::fs::symlink("..", dir.path().join("a/up")).unwrap();
        let bytes = Caches::default().disk_bytes(dir.path());
        assert!((1234..1300).contains(&bytes), "{bytes}");
        assert_eq!(Caches::default().disk_bytes(&dir.path().join("missing")), 0);
    }

    #[test]
    fn names_tell_captures_and_their_order_apart() {
        let id = |key: &str, tag| EntryKey { key: key.into(), time: Timestamp::MIN, tag: [tag; 8] };
        let (a, b) = (id("com,a)/", 1), id("com,a)/", 2));
        assert_eq!(name_of(&[&a, &b]), name_of(&[&a, &b]));
        assert_ne!(name_of(&[&a, &b]), name_of(&[&b, &a]));
        assert_ne!(name_of(&[&a]), name_of(&[&a, &a]));
    }
}
