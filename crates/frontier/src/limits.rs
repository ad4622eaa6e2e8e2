//! Every number that bounds the frontier, once, with its reason.

/// URLs of one host that are read from its queue at a time. Enough that reading costs little per URL, few enough that a
/// hundred thousand busy hosts fit in memory.
pub const WINDOW_URLS: usize = 32;

/// What pages need goes ahead of what was read already, up to so many.
pub const WINDOW_URLS_MAX: usize = 256;

/// Slots in the memory of URLs lately met (eight bytes each): most links lead to what was met a moment ago.
pub const SEEN_SLOTS: usize = 1 << 22;

/// The least delay between requests to a host that is not ours, whatever was asked for (HyperDog's rule).
pub const STRANGER_DELAY_MS: u64 = 500;

/// A robots.txt that asks for more than this between requests gets this: at one page in five minutes a site of a thousand
/// pages takes four days, which its owner can still stop.
pub const CRAWL_DELAY_MS_MAX: u64 = 300_000;

/// We wait this many times as long as the host took to answer: a server in trouble answers slowly.
pub const DELAY_PER_ANSWER: u64 = 5;
pub const ADAPTIVE_DELAY_MS_MAX: u64 = 30_000;

/// First pause after 429 or 503, doubled each time, up to the longest.
pub const BACKOFF_MS_FIRST: u64 = 5_000;
pub const BACKOFF_MS_MAX: u64 = 3_600_000;

/// A longer `Retry-After` is taken as this.
pub const RETRY_AFTER_MS_MAX: u64 = 86_400_000;

/// Requests at once to one address that is not ours, and the least time between two: many names may be one machine.
pub const ADDRESS_REQUESTS_MAX: u32 = 4;
pub const ADDRESS_DELAY_MS: u64 = 100;

/// robots.txt is asked for anew after a day (RFC 9309, 2.4); after an hour if it could not be had.
pub const ROBOTS_MS_MAX: i64 = 86_400_000;
pub const ROBOTS_UNAVAILABLE_MS: i64 = 3_600_000;

/// Bytes of robots rules in memory. What is forgotten is read again from the archive.
pub const ROBOTS_BYTES_MAX: usize = 32 << 20;

/// Failures in a row without reaching a host before it is left alone for this run.
pub const UNREACHED_IN_A_ROW_MAX: u32 = 8;

/// URLs of an unreachable host that are marked as failed in one run; the rest stay queued for the next.
pub const SETTLED_PER_HOST_MAX: u32 = 10_000;

/// Dead this often in a row, a URL is retired until something links to it anew (HyperDog's rule).
pub const DEAD_IN_A_ROW_MAX: u8 = 5;

/// Hosts that a crawl knows. Each costs about 300 bytes of memory.
pub const HOSTS_MAX: usize = 1_000_000;

/// Redirects in a row (RFC 9110 leaves it open; browsers stop at 20).
pub const REDIRECTS_MAX: u8 = 20;

/// A stylesheet's stylesheets' images are still what a page needs; further than this nobody goes.
pub const REQUISITE_HOPS_MAX: u8 = 4;

/// Longest validator that is kept to ask again with. Honest ones are below 100 bytes.
pub const VALIDATOR_BYTES_MAX: usize = 256;

/// Names in a table of the summary; what comes after is counted as `other`.
pub const TALLY_NAMES_MAX: usize = 256;

/// Skipped URLs that wait to be told to whoever listens.
pub const SKIPS_WAITING_MAX: usize = 4_096;
