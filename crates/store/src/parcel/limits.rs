//! The numbers of parcels, once, each with its reason.

/// What a sender asks for: with what is around it, one parcel fits a call of a mebibyte.
pub const PARCEL_BYTES: usize = 900 * 1024;

/// Raw bytes in one frame of a parcel: nobody reads one page out of it, and larger frames are smaller on the wire.
pub const PARCEL_FRAME_BYTES: usize = 576 * 1024;

/// Largest parcel that is looked at: one capture of the largest kind, which does not compress, and its directory.
pub const PARCEL_BYTES_MAX: usize = 65 * 1024 * 1024;

/// Entries of one parcel. A removal, the smallest, takes some twenty bytes; past this, a second parcel costs nothing.
pub const ENTRIES_MAX: usize = 2048;

/// Bytes of all keys in a parcel, written out. They are written as what differs from the key before, so that a forger could
/// make a gigabyte of keys from a megabyte; honest ones have 60 bytes each.
pub const KEYS_BYTES_MAX: usize = 1024 * 1024;

/// What the captures of a parcel may weigh in memory when they are unpacked. Thirty versions of a large page, and little
/// enough that a parcel made to be unpacked costs its receiver no more than an honest one.
pub const WEIGHT_MAX: usize = 16 * 1024 * 1024;

/// The same for the one capture of a parcel that has only one: the largest that the store takes (a body that unfolds to
/// 16 MiB, sixteen companions of 1 MiB, seventeen heads of 1 MiB), and some for the WARC headers.
pub const WEIGHT_ALONE_MAX: usize = 64 * 1024 * 1024;

/// What one field of a WARC header takes in memory: two texts, and the name in one of them. In a parcel it may take two bytes.
pub const FIELD_WEIGHT: usize = 128;

/// Bytes of captures that are here already which one parcel may have us read. Bases are about as large as what is written
/// against them, so that an honest parcel stays at [`WEIGHT_MAX`].
pub const BASES_BYTES_MAX: usize = 4 * WEIGHT_MAX;

/// Versions before, and versions after, that a sender asks about in search of one that the receiver has.
pub const BASES_TRIED: usize = 4;

/// The best quality of brotli that a recipe may ask for: we write 5 and 6. Quality 11 takes seconds for a megabyte.
pub const BROTLI_QUALITY_MAX: u8 = 6;

/// A capture that only repeats a body is short, and half of it is ids that nothing predicts: a difference that is half as long
/// is worth it. Others are held to what a pack holds them to ([`crate::limits::DELTA_WORTH_SHARE`]).
pub const REPEAT_WORTH_SHARE: usize = 2;
