//! Every number that bounds something which more than one crate meets, once, with its reason.

/// Longest URL we keep. Browsers and servers stop at 2–32 KiB; links of a megabyte are attacks or data URLs.
pub const URL_BYTES_MAX: usize = 32 * 1024;

/// Longest HTTP head (status line and headers). Apache stops at 8 KiB per line and 100 lines, nginx at 32 KiB;
/// cookies and CSP make honest ones reach 100 KiB.
pub const HTTP_HEAD_BYTES_MAX: usize = 1024 * 1024;

/// A body up to this size is handled in memory; a larger one streams through a file of its own.
pub const BODY_IN_MEMORY_BYTES_MAX: usize = 4 * 1024 * 1024;
