//! A disk that counts its syncs, under a store that is otherwise the real one.

use herodotus_store::disk::{Disk, DiskFile};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub(crate) struct CountingDisk<D> {
    disk: D,
    syncs: Arc<AtomicU64>,
}

impl<D: Disk> CountingDisk<D> {
    pub(crate) fn new(disk: D, syncs: Arc<AtomicU64>) -> Self {
        Self { disk, syncs }
    }

    fn counted(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(CountingFile { file, syncs: self.syncs.clone() })
    }
}

impl<D: Disk> Disk for CountingDisk<D> {
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.counted(self.disk.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.counted(self.disk.open(name)?))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<(String, u64)>> {
        self.disk.list(folder)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.disk.sync_dir(folder)
    }

    fn free_bytes(&self) -> Option<u64> {
        self.disk.free_bytes()
    }
}

#[derive(Debug)]
struct CountingFile {
    file: Arc<dyn DiskFile>,
    syncs: Arc<AtomicU64>,
}

impl DiskFile for CountingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.file.sync()
    }
}
