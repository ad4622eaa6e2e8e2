//! Parcels: captures on their way from one machine to another, in the store's compact form.
//!
//! A parcel is a sequence of entries: captures, and marks that one was removed. A capture travels whole, in a frame with its
//! neighbours, or as a difference to a version of the same key that the receiver has or that stands before it in the parcel.
//! Bodies travel as they are stored, unfolded with their recipe, and once however many captures have them. `docs/FORMAT.md` has
//! every byte.
//!
//! Promises: whoever takes a parcel believes nothing in it. What was unpacked is `Unproven` until its digests and its
//! name were computed anew, and only that makes a capture of it. Whatever the bytes are, the memory is bounded by
//! [`limits`], and what is wrong is told entry by entry. Nothing can be lost: a parcel that did not arrive is made again.
//!
//! What the digests cannot prove: a record that came out of a WARC file is named by whoever wrote the file, so its head and its
//! companions are what the sender says. Audits ([`crate::Store::audit_digest`]) compare those. What we captured ourselves is named
//! after its content, and that is checked. The idea of sending differences to what the other side has is git's thin packs.

mod arrival;
mod audit;
mod form;
mod head;
mod layout;
pub mod limits;
mod proof;
mod send;
pub mod shipment;
mod take;
#[cfg(test)]
mod tests;

use crate::index::EntryKey;
use herodotus_base::Sha256;

pub use arrival::BlobArrival;
pub use take::{open_capture, parcel_names};

/// Bytes to be sent, and what is not in them.
#[derive(Clone, Debug, Default)]
pub struct Parcel {
    pub bytes: Vec<u8>,
    /// Captures and marks in it. With none there is nothing to send.
    pub entries: usize,
    /// It is larger than was asked for, because its one capture is: it has to go over a stream.
    pub needs_stream: bool,
    /// Asked for, but not known here.
    pub unknown: Vec<EntryKey>,
    /// Known here, but damaged, and what is wrong with each: to be mended from a peer, not sent to one.
    pub unreadable: Vec<(EntryKey, String)>,
}

/// What became of a parcel's entries.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// In the parcel's order.
    pub entries: Vec<(EntryKey, Outcome)>,
    /// Large bodies that must come first, each once: [`crate::Store::receive_blob`], then the parcel again.
    pub lacking_blobs: Vec<LackingBlob>,
}

/// What became of one entry. Durable after the next commit, as an append is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Stored,
    /// It is here already.
    Known,
    /// It is removed here: by this mark, or before.
    Removed,
    /// It is not what it says it is. The sender is at fault, or its disk.
    Refused(String),
    /// What it was written against is not here, or is in another form: the sender sends it whole.
    LacksBase,
    /// Its body is among [`Taken::lacking_blobs`].
    LacksBlob,
}

/// A large body that a capture names and this store does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LackingBlob {
    pub sha256: Sha256,
    pub len: u64,
    /// As [`crate::Store::receive_blob`] wants it.
    pub media: String,
}

impl Taken {
    /// Captures that the sender must send whole.
    pub fn lacking_bases(&self) -> impl Iterator<Item = &EntryKey> {
        self.entries.iter().filter(|(_, outcome)| *outcome == Outcome::LacksBase).map(|(id, _)| id)
    }
}
