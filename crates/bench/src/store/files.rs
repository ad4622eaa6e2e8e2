//! The files of an archive as the operating system sees them: how much room they take, and whether they are in memory.

use anyhow::Result;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

fn all(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            out.extend(all(&entry.path())?);
        } else {
            out.push(entry.path());
        }
    }
    Ok(out)
}

/// Blocks that the file system has given to everything below a directory, folders too: what `du` says.
pub(crate) fn allocated_bytes(dir: &Path) -> Result<u64> {
    let mut bytes = fs::metadata(dir)?.blocks() * 512;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        bytes += if meta.is_dir() { allocated_bytes(&entry.path())? } else { meta.blocks() * 512 };
    }
    Ok(bytes)
}

/// Lengths of all files below a directory.
pub(crate) fn length_bytes(dir: &Path) -> Result<u64> {
    all(dir)?.iter().map(|path| Ok(fs::metadata(path)?.len())).sum()
}

/// Brings every file into the page cache.
pub(crate) fn warm(dir: &Path) -> Result<()> {
    let mut buffer = vec![0; 1 << 20];
    for path in all(dir)? {
        let mut file = File::open(path)?;
        while file.read(&mut buffer)? > 0 {}
    }
    Ok(())
}

/// Asks the system to forget what it has in memory of these files, and of nobody else's.
pub(crate) fn chill(dir: &Path) -> Result<()> {
    for path in all(dir)? {
        let file = File::open(path)?;
        file.sync_all()?;
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    }
    Ok(())
}
