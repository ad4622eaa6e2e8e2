//! The store: every version of every page, small, safe, and in the field's own formats.
//!
//! - [`Store`] takes [`Capture`]s in and gives them back, byte for byte, checked against their SHA-256.
//! - Packs (append-only files) hold the bytes; an index derived from them finds the bytes; a journal makes small commits
//!   durable before they are sealed into packs. `docs/FORMAT.md` describes every byte.
//! - [`archive`] brings WARC, WACZ and ARC files in and takes WARC, WACZ and CDXJ out.
//!
//! Promises: an acknowledged write survives `kill -9` and power loss; no byte is given out that fails its digest; memory is
//! bounded whatever the size of a capture; what bad input or a bad disk does is an error, never a panic.

pub mod archive;
mod batch;
mod blob;
mod block;
mod capture;
pub mod coding;
mod compact;
mod compress;
mod directory;
pub mod disk;
mod entity;
mod entity_of;
mod envelope;
mod error;
mod feed;
mod hashing;
pub mod index;
mod journal;
pub mod limits;
mod lock;
mod media;
mod mend;
mod pack;
pub mod parcel;
mod patch;
mod places;
mod read;
mod recover;
mod release;
mod scan;
mod seal;
mod store;
mod verdict;
mod verify;
mod wire;

pub use blob::{BlobReader, BlobWriter};
pub use capture::{Body, Capture, Fields, Kind, Record, RecordId, WarcHeader, key_of};
pub use compact::Compacted;
pub use entity::{Entity, EntityBody, LargeBody};
pub use entity_of::{Blobs, Holder, with_original};
pub use error::{Error, Result};
pub use feed::FeedCursor;
pub use index::{Entry, EntryKey, Totals};
pub use parcel::{BlobArrival, LackingBlob, Outcome, Parcel, Taken, open_capture};
pub use places::{PlacedEntries, Places};
pub use recover::Recovery;
pub use scan::Scan;
pub use store::{Appended, Options, Store};
pub use verdict::Verdict;
pub use verify::{Damage, Verified};
