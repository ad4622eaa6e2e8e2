//! What can go wrong, and whose fault it is.

use std::io;
use std::path::PathBuf;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk said no. Nothing that was acknowledged is affected.
    #[error("{doing}: {source}")]
    Disk { doing: String, source: io::Error },
    /// The index engine said no. Nothing is lost with it.
    #[error(
        "the index cannot be used ({0}). It is derived from the packs: delete the folder `index` in the data directory, and \
         the next start makes it again"
    )]
    Index(String),
    /// A write failed earlier, so what is on disk after it is unknown: reads go on, writes wait for a restart.
    #[error(
        "the archive no longer takes writes because one failed ({0}). What was stored before is safe and can be read. \
         Mend the cause (free space, disk, permissions) and start again"
    )]
    Poisoned(String),
    /// There is too little room. Nothing was written, and nothing is broken.
    #[error(
        "the disk is nearly full ({free} bytes are free, {wanted} are wanted): nothing new is taken in until there is room. What was stored \
         before is safe and can be read"
    )]
    Full { free: u64, wanted: u64 },
    /// Bytes on disk are not what was written.
    #[error("damaged: {0}")]
    Damaged(String),
    /// Another process works on this data directory.
    #[error("{path} is in use by process {pid}: stop that process, or choose another directory with --data")]
    Locked { path: PathBuf, pid: String },
    /// The directory holds something that this program cannot read.
    #[error("{0}")]
    Format(String),
    /// The caller handed in something that cannot be stored. The store is unchanged.
    #[error("{0}")]
    Refused(String),
    /// Whoever watched asked for it. What was done before is kept.
    #[error("stopped before the end")]
    Stopped,
    /// A file to import, or a place to export to.
    #[error(transparent)]
    Warc(#[from] herodotus_warc::Error),
}

impl Error {
    pub(crate) fn disk(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Disk { doing: doing.into(), source }
    }
}
