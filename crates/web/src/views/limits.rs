//! The numbers of the views, each with its reason. What is cut off by one of them says so in the view.

use std::time::Duration;

/// What was archived lately, on the first page: two rows on a wide screen, a short scroll on a phone.
pub(crate) const RECENT_SHOWN_MAX: usize = 12;

/// URLs that a search shows at a time. Each costs three look-ups.
pub(crate) const FOUND_MAX: usize = 50;

/// URLs offered where the one that was asked for is not here.
pub(crate) const NEAR_MAX: usize = 10;

/// Steps over keys for one list. A key may hold only records that nobody can look at, such as orphaned requests: it costs a
/// step and shows nothing.
pub(crate) const HOPS_MAX: usize = 2_000;

/// Versions of one URL that are counted by day: one every hour for twenty years. 10,000 take some 10 ms.
pub(crate) const VERSIONS_COUNTED_MAX: usize = 200_000;

/// Versions in a list.
pub(crate) const VERSIONS_LISTED_MAX: usize = 50;

/// Stamps name seconds, so versions of one second are listed together, that none is lost between two pages; but no more than this.
pub(crate) const VERSIONS_LISTED_OF_A_SECOND_MAX: usize = 1_000;

/// Versions looked through for one with another payload.
pub(crate) const VERSIONS_COMPARED_MAX: usize = 10_000;

/// Bytes of one version that are read to tell how much of it changed. Pages are smaller.
pub(crate) const CHANGE_BYTES_MAX: usize = 1024 * 1024;

/// The same for all versions of a list: about a tenth of a second.
pub(crate) const CHANGE_BYTES_PER_LIST_MAX: usize = 16 * 1024 * 1024;

/// Pairs of versions whose difference is remembered. A pair takes some 50 bytes.
pub(crate) const SHARES_KEPT: usize = 50_000;

/// Titles remembered where no catalogue has them.
pub(crate) const TITLES_KEPT: usize = 5_000;

/// Where a title is looked for. Browsers show it before the page has come, so sites put it first.
pub(crate) const TITLE_WITHIN_BYTES_MAX: usize = 64 * 1024;

/// Longest title shown.
pub(crate) const TITLE_CHARS_MAX: usize = 300;

/// Bytes of each of two versions that are compared line by line. Longer ones are data rather than reading.
pub(crate) const DIFFERENCE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Lines of each.
pub(crate) const DIFFERENCE_LINES_MAX: usize = 50_000;

/// Lines that are shown: what a browser lays out in a second.
pub(crate) const DIFFERENCE_LINES_SHOWN_MAX: usize = 4_000;

/// Characters of a line that are shown. A script may be one line of a megabyte.
pub(crate) const DIFFERENCE_LINE_CHARS_MAX: usize = 4_000;

/// Time to find which lines changed; after it, the comparison gets coarser.
pub(crate) const DIFFERENCE_TIME: Duration = Duration::from_secs(2);

/// Time to find which words of them changed; after it, whole lines count as changed.
pub(crate) const WORDS_TIME: Duration = Duration::from_secs(1);

/// Unchanged lines around a change.
pub(crate) const CONTEXT_LINES: usize = 3;

/// Two lines with less in common than this are two lines, rather than one that changed.
pub(crate) const LIKENESS_MIN: f32 = 0.3;

/// Children of a path shown at a time.
pub(crate) const CHILDREN_MAX: usize = 200;

/// Captures counted below one child. With all children of a page, 50,000 entries: some 50 ms.
pub(crate) const CHILD_CAPTURES_COUNTED_MAX: usize = 250;

/// Captures that a host's numbers are made of: about a quarter of a second's reading, once a minute.
pub(crate) const HOST_CAPTURES_COUNTED_MAX: usize = 250_000;

/// Media types told apart on one host. Hostile servers invent them.
pub(crate) const HOST_MEDIA_MAX: usize = 100;

/// How long a host's numbers are shown before they are made again.
pub(crate) const HOST_NUMBERS_TIME: Duration = Duration::from_secs(60);

/// Hosts whose numbers are remembered. Those of one take some kilobytes.
pub(crate) const HOSTS_KEPT: usize = 500;

/// How long the bytes on disk are shown before the folder is walked again.
pub(crate) const DISK_TIME: Duration = Duration::from_secs(30);

/// Files looked at to add up the bytes on disk: some 0.2 s. Large bodies are files of their own.
pub(crate) const DISK_FILES_MAX: usize = 100_000;

/// Bytes of a head that are shown. Some servers send a hundred cookies.
pub(crate) const HEAD_BYTES_MAX: usize = 256 * 1024;

/// Pages that watch crawls or the ring at once. Each takes little, but nobody has so many windows.
pub(crate) const WATCHERS_MAX: usize = 64;

/// News of crawls, or of the ring, at most this often: faster than a person reads.
pub(crate) const NEWS_TIME: Duration = Duration::from_millis(500);

/// A word on a quiet line, so that proxies keep it open and a reader that left is noticed.
pub(crate) const QUIET_TIME: Duration = Duration::from_secs(15);
