//! What can go wrong, and what to do about it.

use std::io;
use std::path::PathBuf;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk said no, or the engine that lies on it.
    #[error(
        "the catalogue of titles cannot be used ({0}). It is derived from the archive: delete its folder, and it is made again"
    )]
    Engine(fjall::Error),
    #[error("{doing}: {source}")]
    Disk { doing: String, source: io::Error },
    #[error("{0} is in use by another process")]
    Locked(PathBuf),
    /// The archive could not be read; the catalogue is as it was before.
    #[error(transparent)]
    Store(#[from] herodotus_store::Error),
}

impl From<fjall::Error> for Error {
    fn from(error: fjall::Error) -> Self {
        Self::Engine(error)
    }
}
