//! What can go wrong for a whole file. Damage to one record is not here: readers report that as a `Skip`, or as an
//! `io::Error` of kind `InvalidData` or `UnexpectedEof` while the record's block is read.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The disk, not the file's content.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The user named a directory.
    #[error("{0} is a directory: name the .warc, .warc.gz, .warc.zst, .arc, .arc.gz or .wacz files in it")]
    Directory(PathBuf),
    /// The user named a file with nothing in it.
    #[error("{0} is empty: its download or copy may have failed; fetch it again")]
    Empty(PathBuf),
    /// The user named something else than a web archive.
    #[error("{path} is not a WARC, ARC or WACZ file: {why}")]
    NotAnArchive { path: PathBuf, why: String },
    /// The container itself is broken, so that no record in it can be reached.
    #[error("{path} cannot be read: {why}")]
    Container { path: PathBuf, why: String },
    /// A position that was not made by this crate, or not for this file.
    #[error("`{0}` is not a place in this file: start it from the beginning")]
    Position(String),
    /// Our caller gave a record that cannot be written. Nothing was written.
    #[error("this record cannot be written: {0}")]
    Record(String),
    /// The block did not have the length that was announced. The output is broken from this record on.
    #[error("the block {0}; the output is not usable")]
    BlockLength(String),
    /// An earlier write failed, so that where the output stands is not known.
    #[error("an earlier write to this file failed: write it again from the start")]
    Poisoned,
    /// Our caller gave index lines out of order. Nothing was written.
    #[error("index line `{line}` comes after `{after}`: an index must be written in the order of its keys and times")]
    Unsorted { line: String, after: String },
}

impl From<zip::result::ZipError> for Error {
    fn from(error: zip::result::ZipError) -> Self {
        match error {
            zip::result::ZipError::Io(error) => Self::Io(error),
            error => Self::Io(io::Error::other(error)),
        }
    }
}
