//! The numbers of answers from afar, each with its reason.

use std::time::Duration;

/// Entries asked for at first where those of one URL are wanted. Nearly every URL has fewer, so that one question tells all.
pub(crate) const KEY_PAGE: usize = 256;

/// Entries asked for at first in a longer range; four times as many with every further page.
pub(crate) const PAGE_FIRST: usize = 256;

/// And at most: some 600 KB on the way.
pub(crate) const PAGE_MAX: usize = 4096;

/// Entries of one walk that are kept as windows: a host of this size is seen whole, and a walk through millions leaves the
/// windows of others alone.
pub(crate) const WALK_KEPT_MAX: usize = 8192;

/// How long what others said of the index is believed: as long as a page and what it embeds are being fetched. What others
/// archive is seen that much later.
pub(crate) const WINDOW_TIME: Duration = Duration::from_secs(3);

/// Windows at once, and their bytes: those of a few hundred URLs. They are looked through one by one.
pub(crate) const WINDOWS_MAX: usize = 256;
pub(crate) const WINDOWS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Captures from elsewhere kept for the next reader, and what readers see of them: a page with its pictures, for some readers.
pub(crate) const CAPTURES_BYTES_MAX: u64 = 32 * 1024 * 1024;
pub(crate) const ENTITIES_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Versions of one URL that are walked over to count them where both this machine and others hold some. Beyond it, the larger of
/// the two numbers is told.
pub(crate) const COUNT_WALKED_MAX: u64 = 20_000;

/// How long numbers of the whole ring are shown before all machines are asked again.
pub(crate) const GATHERED_TIME: Duration = Duration::from_secs(5);

/// Questions to others at once for one list: more would only queue at the other end.
pub(crate) const AHEAD_THREADS: usize = 8;

/// Questions asked ahead for one list at most.
pub(crate) const AHEAD_MAX: usize = 256;
