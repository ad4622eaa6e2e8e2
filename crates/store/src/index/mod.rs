//! The index: from (SURT key, time) to the place in a pack, and from a body's digest to where its bytes are.
//!
//! It is derived: every entry also stands in the directory of the pack that holds the bytes, so an index that is lost
//! or behind is made again from the packs. It is therefore never ahead of them, and needs no fsync of its own except
//! before a pack is deleted.

pub mod engine;
mod entry;
mod lsm_engine;
mod memory_engine;

pub use engine::{Engine, Pairs, Table, Write};
pub(crate) use entry::kind_is_capture;
pub use entry::{BodyAt, BodyPlace, Entry, EntryKey, Place, kind_code, kind_from_code};
pub use lsm_engine::LsmEngine;
pub use memory_engine::MemoryEngine;

/// The first sixteen bytes of a body's SHA-256: enough that two never meet, and half the index.
pub type BodyKey = [u8; 16];

pub(crate) fn body_key(digest: &herodotus_base::Sha256) -> BodyKey {
    let mut key = [0; 16];
    key.copy_from_slice(&digest.0[..16]);
    key
}

/// Running totals, kept in the index so that `stats` need not read it all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Captures that answer for a URL (responses, revisits, resources, conversions).
    pub captures: u64,
    /// Distinct keys among them.
    pub urls: u64,
    /// Everything else that was kept: orphaned requests, metadata, warcinfo.
    pub other_records: u64,
    /// Bytes as they came: heads and bodies of every record.
    pub bytes_in: u64,
    /// Captures whose body another capture already had.
    pub shared: u64,
}

impl Totals {
    pub(crate) const KEY: &'static [u8] = b"totals";

    pub(crate) fn encode(&self) -> Vec<u8> {
        use crate::wire::Put;
        let mut out = vec![1];
        for n in [self.captures, self.urls, self.other_records, self.bytes_in, self.shared] {
            out.put_u64(n);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut c = crate::wire::Cursor::new(bytes);
        (c.u8()? == 1).then_some(())?;
        let (captures, urls, other_records) = (c.u64()?, c.u64()?, c.u64()?);
        Some(Self { captures, urls, other_records, bytes_in: c.u64()?, shared: c.u64()? })
    }
}
