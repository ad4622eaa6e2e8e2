//! The operating system's disk, under one root directory.

use super::{Disk, DiskFile};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
}

impl RealDisk {
    /// Takes the root, making it and the folders named if they are missing.
    pub fn new(root: &Path, folders: &[&str]) -> io::Result<Self> {
        for folder in folders {
            fs::create_dir_all(root.join(folder))?;
        }
        if let Some(parent) = root.parent().filter(|p| !p.as_os_str().is_empty()) {
            File::open(parent)?.sync_all()?;
        }
        File::open(root)?.sync_all()?;
        Ok(Self { root: root.to_owned() })
    }
}

impl Disk for RealDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(self.root.join(name))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let path = self.root.join(name);
        // A read-only archive is still an archive: reads go on, the first write says what is wrong.
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(e) if matches!(e.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
                File::open(&path)?
            }
            other => other?,
        };
        Ok(Arc::new(RealFile(file)))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<(String, u64)>> {
        let mut out = Vec::new();
        for entry in fs::read_dir(self.root.join(folder))? {
            let entry = entry?;
            let meta = entry.metadata()?;
            if let (true, Ok(name)) = (meta.is_file(), entry.file_name().into_string()) {
                out.push((name, meta.len()));
            }
        }
        out.sort();
        Ok(out)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.root.join(from), self.root.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.root.join(name))
    }

    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        File::open(self.root.join(folder))?.sync_all()
    }

    fn free_bytes(&self) -> Option<u64> {
        let stat = rustix::fs::statvfs(&self.root).ok()?;
        Some(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buf, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
