//! Shipments: captures on their way to a machine that lacks all of them, as they lie in the packs (decision 0019).
//!
//! A block of which every item is wanted travels as it is, with the names of what stands in its slots, and is kept as it is; differences travel as they are, and are told anew what
//! they are to. Nothing is packed anew on the way. `docs/FORMAT.md` has every byte.
//!
//! Promises: as those of parcels. The receiver believes nothing: every item is unpacked once, and its digests and its name are computed anew before
//! its block is kept; an adopted block is, to everything that reads the packs, one that was sealed here. What was kept as it came is durable when
//! [`crate::Store::take_shipment`] returns. Whatever the bytes are, what is unpacked is bounded by [`limits`] before it is unpacked. Nothing can be lost: what did not arrive is sent
//! again, in parcels if need be. The idea is that of git, which reuses what it packed when it serves a clone.

mod layout;
pub mod limits;
mod send;
mod take;
#[cfg(test)]
mod tests;

pub use send::Shipper;
pub use take::shipment_names;

/// The form of shipments that this program makes and reads.
pub const SHIPMENT_FORM: u8 = layout::FORM;
