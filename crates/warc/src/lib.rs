//! The field's containers, read and written: WARC (plain, gzip, zstd), ARC and WACZ.
//!
//! A [`Reader`] opens a file by what is in it, streams its records, and goes on after damage: what it could not read
//! comes back as a [`Skip`] with an offset and a sentence. A [`Writer`] makes files that every other tool reads, one
//! compressed member per record; [`WaczWriter`] packs them with their index. Nothing here knows of our store, nothing is
//! ever unpacked to a path, and no input makes it panic, loop or hold more than a few hundred kilobytes and a zstd window.

mod arc;
mod error;
mod fields;
mod header;
mod limits;
mod position;
mod read;
mod write;

pub use error::Error;
pub use fields::Fields;
pub use header::{Header, Kind};
pub use limits::ReadLimits;
pub use position::Position;
pub use read::{Block, Item, Reader, Record, Skip};
pub use write::{CdxLine, Coding, Page, Span, WaczAbout, WaczWriter, Writer};
