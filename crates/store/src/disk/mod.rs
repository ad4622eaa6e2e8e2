//! The disk as the store sees it: files by name, written at offsets, made durable by `sync`, named durably by
//! `sync_dir`. [`real`] is the operating system's; [`sim`] loses power on demand. Everything that must survive a
//! crash goes through here, so that one test can stop the store at every single step.

pub mod real;
pub mod sim;

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

/// A directory tree. Names are relative, with `/` between folder and file.
pub trait Disk: Send + Sync + Debug {
    /// Makes a new, empty file. Fails if it exists.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// Files directly in a folder, with their sizes, in name order.
    fn list(&self, folder: &str) -> io::Result<Vec<(String, u64)>>;
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_dir(&self, folder: &str) -> io::Result<()>;
    /// Bytes that may still be written, if anybody knows.
    fn free_bytes(&self) -> Option<u64>;
}

pub trait DiskFile: Send + Sync + Debug {
    fn len(&self) -> io::Result<u64>;
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes the contents durable.
    fn sync(&self) -> io::Result<()>;

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// Reads a whole file of bounded size.
pub fn read_all(disk: &dyn Disk, name: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = disk.open(name)?;
    let len = file.len()?;
    if len > bytes_max {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{name} has {len} bytes, more than {bytes_max}"),
        ));
    }
    let mut out = vec![0; len as usize];
    file.read_exact_at(&mut out, 0)?;
    Ok(out)
}

/// The folder part of a name.
pub(crate) fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}
