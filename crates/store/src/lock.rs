//! One process at a time works on a data directory. The lock is the operating system's, so that it goes when its holder
//! dies, however that happens; the file says who holds it.

use crate::error::{Error, Result};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

/// How often, and how far apart, we look again when the lock is our own process's.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

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
        let mut tries_left = TRIES;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(e)) => return Err(opening()(e)),
            }
            let mut pid = String::new();
            let _ = file.rewind().and_then(|()| file.read_to_string(&mut pid));
            let pid = if pid.trim().is_empty() { "unknown".to_owned() } else { pid.trim().to_owned() };
            // A child that we are just starting has our files, and so this lock, until it runs its own program.
            if pid != std::process::id().to_string() || tries_left == 0 {
                return Err(Error::Locked { path: dir.to_owned(), pid });
            }
            tries_left -= 1;
            std::thread::sleep(PAUSE);
        }
        let _ = file.rewind();
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(opening())?;
        Ok(Self { _file: file })
    }
}
