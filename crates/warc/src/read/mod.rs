//! Reading. From the outside in: `reader` walks the files of a container, `lane` the records of one file, `stream` the
//! decoded bytes of its compressed members (`gzip`, `zst`), `source` the raw bytes; `wacz` lists what a WACZ holds.

mod gzip;
mod lane;
mod reader;
mod scan;
mod source;
mod stream;
mod wacz;
mod zst;

pub use reader::{Block, Item, Reader, Record, Skip};

/// Whether an error of this kind speaks of what is in a file, not of the disk.
fn is_format_error(kind: std::io::ErrorKind) -> bool {
    matches!(kind, std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof)
}
