//! The store's numbers, once, each with its reason.

/// What is read with a pack's name and refused if it is newer than we know. 1 had differences packed one by one; since 2 they are
/// patches that are packed together. Both are read for ever.
pub const FORMAT_VERSION: u16 = 3;

/// Raw bytes in one shared frame, at least, if the site has so many: what is unpacked, at most, to get at one page.
pub const FRAME_BYTES: usize = 256 * 1024;
/// A frame takes in more than that as long as it is likely, by the frame before it, to be packed to no more than this: text that packs well also unpacks fast,
/// so that a reader waits no longer (docs/decisions/0002-differences.md).
pub const FRAME_PACKED_BYTES: usize = 88 * 1024;
/// But no more than this: what a reader unpacks is in memory, too.
pub const FRAME_BYTES_MAX: usize = 768 * 1024;

/// A frame below this may take in pages of the next site in key order rather than be written nearly empty.
pub const FRAME_BYTES_LONELY: usize = 32 * 1024;

/// Versions in a row that are stored as differences before a full copy: reading the last costs so many unpackings.
pub const CHAIN_DEPTH_MAX: u8 = 15;

/// A packed difference larger than this share of the page (1/n) is no difference: a shared frame does as well.
pub const DELTA_WORTH_SHARE: usize = 5;
/// The same for a patch, which is packed later, to about a third.
pub const PATCH_WORTH_SHARE: usize = 2;

/// Bytes of patches that are packed into one block: what is unpacked to get at one of them. Versions that came one by one have each patch in another block.
pub const PATCHES_BYTES: usize = 16 * 1024;

/// zstd level for nearly everything that is written while the world waits: at 3 the sealing thread of an import is about as busy as
/// the reading one (docs/figures.md).
pub const ZSTD_LEVEL: i32 = 3;
/// For patches, meanwhile: what is alike is copied already, and a search at 3 makes histories 1 % smaller for about 1 % of their import.
pub const ZSTD_LEVEL_PATCHES: i32 = 1;
/// For packs that are rewritten at leisure (docs/figures.md has what each level gains).
pub const ZSTD_LEVEL_AT_REST: i32 = 12;

/// Captures wait in memory until they weigh this much, are then sorted by site and sealed into a pack. Two such
/// batches can exist at once (one filling, one being sealed).
pub const BATCH_BYTES: usize = 24 * 1024 * 1024;
/// The same, for very small captures: what the bookkeeping of one may weigh.
pub const BATCH_CAPTURES: usize = 20_000;

/// A pack is closed at this size, so that compacting one never needs much free space.
pub const PACK_BYTES: u64 = 1024 * 1024 * 1024;

/// Largest payload of one block in a pack: anything larger is damage or an attack.
pub const BLOCK_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Companions (request, metadata) of a capture are kept beside it up to this size each.
pub const COMPANION_BYTES_MAX: u64 = 1024 * 1024;
/// And this many of them.
pub const COMPANIONS_MAX: usize = 16;

/// A `WARC-Block-Digest` that is right is not stored, but worked out again, of bodies up to this size. Of larger ones it is kept as it came: to hash a
/// block a second time is a tenth of the import of such pages, and some twenty bytes are nothing beside them.
pub const BLOCK_DIGEST_BODY_BYTES_MAX: u64 = 16 * 1024;

/// Raw bytes of one chunk of a large body: the unit of random access, of checking, and of memory.
pub const BLOB_CHUNK_BYTES: usize = 1024 * 1024;

/// Decoded frames kept for the next reader.
pub const FRAME_CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// Last versions of pages that changed, kept by one seal for the next: a few rounds of a small site, or most of one of long pages. To read one again is to go through its
/// chain, a twelfth of the import of long pages.
pub const BASES_BYTES: usize = 8 * 1024 * 1024;
/// Open pack and blob files kept for the next reader.
pub const OPEN_FILES_MAX: usize = 128;

/// Bodies below this are not worth a block of their own even when they are already compressed.
pub const RAW_BLOCK_BYTES_MIN: usize = 1024;

/// Most bytes that a coded body (gzip, br, zstd) may unfold to while we look for something to difference.
pub const UNFOLDED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Entries that the feed gives out at once: some megabytes.
pub const FEED_ENTRIES_MAX: usize = 10_000;

/// Captures that the index remembers as the last to come: what a page shows, and a row of some twenty kilobytes.
pub const RECENT_MAX: usize = 200;

/// Rows of the table of places that are written at once while it is built: a few megabytes.
pub const PLACES_BATCH_ROWS: usize = 20_000;
/// Parts that a host may be split into. With the first trigger (128 URLs) that is a host of eight million; the rows of a host that is
/// split are in memory at once, some ten megabytes.
pub const HOST_PARTS_MAX: u32 = 65_536;

/// What checking a capture costs at least, in bytes, so that a slice of a scrub over many small ones ends too.
pub const SCRUB_CAPTURE_BYTES_MIN: u64 = 4 * 1024;

/// Entities that were checked once and are kept for the next reader: about a thousand pages.
pub const ENTITY_CACHE_BYTES: u64 = 32 * 1024 * 1024;

/// Bodies known to fold to their digest: a hundred bytes each, and it saves the folding, the larger part of reading a page.
pub const PROOFS_MAX: usize = 50_000;

/// Content that a large coded body may decode to. It is never in memory at once, but a gigabyte of zeros takes seconds to send,
/// and nobody waits for more.
pub const DECODED_STREAM_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Room that is left on the disk: for sealing what waits, for the index, and for whoever has to tidy up. Below it nothing new is taken in, and
/// nothing breaks: when there is room again, the store goes on by itself.
pub const RESERVE_BYTES: u64 = 16 * 1024 * 1024;
/// With this much left beside the reserve, not every capture asks the system for the room that there is: that is a fortieth of an import of small ones.
pub const ROOM_AMPLE_BYTES: u64 = 256 * 1024 * 1024;
/// But one in so many bytes of them does.
pub const ROOM_ASKED_EVERY_BYTES: usize = 256 * 1024;
