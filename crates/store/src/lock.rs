//! One process at a time works on a data directory. The lock is the operating system's, so that it goes when its holder
//! dies, however that happens; the file says who holds it.

use crate::error::{Error, Result};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

#[derive(Debug)]
pub(crate) struct DirLock {
    _file: File,
}

impl DirLock {
    pub(crate) fn take(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).map_err(Error::disk(format!("making the data directory {}", dir.display())))?;
        let path = dir.join("LOCK");
        let opening =
            || Error::disk(format!("opening {} (an archive needs a directory that can be written)", path.display()));
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(opening())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = file.read_to_string(&mut pid);
                let pid = if pid.trim().is_empty() { "unknown".to_owned() } else { pid.trim().to_owned() };
                return Err(Error::Locked { path: dir.to_owned(), pid });
            }
            Err(TryLockError::Error(e)) => return Err(opening()(e)),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(opening())?;
        Ok(Self { _file: file })
    }
}
