//! The numbers of shipments, once, each with its reason.

/// What a sender puts into one shipment before it begins the next: enough that a seal and its sync are nothing beside it, little enough that the
/// next is made and sent while this one is kept.
pub const SHIPMENT_BYTES: usize = 4 * 1024 * 1024;

/// The same for what comes out of it when it is unpacked. Versions of a page come out of next to nothing.
pub const SHIPMENT_WEIGHT: usize = 16 * 1024 * 1024;

/// What may come out of it at most: whoever keeps one has all of it in memory. More than a sender begins a block with, so that patches stay with
/// what they are to.
pub const SHIPMENT_WEIGHT_MAX: usize = 24 * 1024 * 1024;

/// Largest shipment that is looked at: one that does not compress, and its names.
pub const SHIPMENT_BYTES_MAX: usize = SHIPMENT_WEIGHT_MAX + 4 * 1024 * 1024;

/// Captures of one shipment: as many as a store seals at most come to hundreds of bytes each, which is small for a page.
pub const SHIPMENT_ENTRIES_MAX: usize = 16 * 1024;

/// Bytes of all names in a shipment, written out: 128 for each, which is twice what honest ones have.
pub const NAMES_BYTES_MAX: usize = SHIPMENT_ENTRIES_MAX * 128;

/// A block of less than this, unpacked, is not sent as it is: it would stay as small with whoever keeps it, and many of these pack badly. A sixteenth of a full one: with
/// a page in it, there may be versions that are patches to that, and these would go in parcels, too.
pub const BLOCK_BYTES_MIN: usize = crate::limits::FRAME_BYTES / 16;

/// One of more than this neither: it is one large page, and goes alone.
pub const BLOCK_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Patches are packed for the way only, and packed anew by whoever keeps them.
pub const ZSTD_LEVEL_IN_PASSING: i32 = 1;
