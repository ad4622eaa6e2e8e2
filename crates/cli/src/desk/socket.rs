//! Where the socket is: in the data directory, or, if that has too long a name for a socket, in a folder of its own that a
//! file in the data directory names.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tokio::net::UnixListener;

const SOCKET: &str = "node.sock";
/// Names the socket where it is elsewhere.
const POINTER: &str = "node.sock.path";
/// Operating systems allow 104 to 108 bytes, with a zero at the end.
const PATH_BYTES_MAX: usize = 100;
/// A path is no longer than this; what is longer is no pointer of ours.
const POINTER_BYTES_MAX: u64 = 4096;

/// A node's socket. Dropped, it is gone.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    pointer: Option<(PathBuf, TempDir)>,
}

impl Socket {
    /// Must be called by whoever has the archive's lock, within a tokio runtime: what another left here is replaced.
    pub(super) fn bind(data: &Path) -> io::Result<(Self, UnixListener)> {
        let near = data.join(SOCKET);
        let pointer = data.join(POINTER);
        forget(&near)?;
        if let Some(left) = pointed(data) {
            // A folder in /tmp that a killed node left; whatever else the pointer may say is not ours to delete.
            let _ = fs::remove_file(&left).and_then(|()| left.parent().map_or(Ok(()), fs::remove_dir));
        }
        forget(&pointer)?;
        let is_long = near.as_os_str().len() > PATH_BYTES_MAX;
        let socket = if is_long {
            // Short by construction, whatever TMPDIR says, and this user's alone.
            let folder = tempfile::Builder::new().prefix("herodotus-").tempdir_in("/tmp")?;
            let path = folder.path().join(SOCKET);
            fs::write(&pointer, path.as_os_str().as_encoded_bytes())?;
            Self { path, pointer: Some((pointer, folder)) }
        } else {
            Self { path: near, pointer: None }
        };
        let listener = UnixListener::bind(&socket.path)?;
        fs::set_permissions(&socket.path, fs::Permissions::from_mode(0o600))?;
        Ok((socket, listener))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        if let Some((pointer, _)) = &self.pointer {
            let _ = fs::remove_file(pointer);
        }
    }
}

/// A connection to the node that has this archive open, if one does. A socket that nobody listens on is none.
pub(super) fn connect(data: &Path) -> Option<UnixStream> {
    let near = data.join(SOCKET);
    UnixStream::connect(&near).ok().or_else(|| UnixStream::connect(pointed(data)?).ok())
}

fn pointed(data: &Path) -> Option<PathBuf> {
    let pointer = data.join(POINTER);
    let is_ours = fs::metadata(&pointer).is_ok_and(|m| m.is_file() && m.len() <= POINTER_BYTES_MAX);
    let path = PathBuf::from(fs::read_to_string(pointer).ok().filter(|_| is_ours)?);
    path.ends_with(SOCKET).then_some(path)
}

fn forget(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn a_socket_is_found_wherever_the_archive_is_and_gone_afterwards() {
        let runtime = runtime();
        let _within = runtime.enter();
        let dir = tempfile::tempdir().unwrap();
        for data in [dir.path().join("short"), dir.path().join("long".repeat(40))] {
            fs::create_dir(&data).unwrap();
            assert!(connect(&data).is_none());
            let (socket, listener) = Socket::bind(&data).unwrap();
            assert_eq!(fs::metadata(socket.path()).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(connect(&data).is_some(), "{}", data.display());
            drop((listener, socket));
            assert!(connect(&data).is_none());
            assert_eq!(fs::read_dir(&data).unwrap().count(), 0, "{}", data.display());
        }
    }

    #[test]
    fn what_a_killed_node_left_is_no_node_and_is_replaced() {
        let runtime = runtime();
        let _within = runtime.enter();
        let dir = tempfile::tempdir().unwrap();
        for data in [dir.path().join("short"), dir.path().join("long".repeat(40))] {
            fs::create_dir(&data).unwrap();
            let (socket, listener) = Socket::bind(&data).unwrap();
            let left = socket.path().to_owned();
            std::mem::forget(socket);
            drop(listener);
            assert!(left.exists() && connect(&data).is_none());
            let (_socket, _listener) = Socket::bind(&data).unwrap();
            assert!(connect(&data).is_some());
            assert!(left.starts_with(&data) || !left.exists(), "{} was left behind", left.display());
        }
    }
}
