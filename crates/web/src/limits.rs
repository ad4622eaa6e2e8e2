//! The web face's numbers, once, each with its reason.

use std::time::Duration;

/// Connections at once on each listener, so that neither can starve the other. A thousand readers fit with room; more than that is not an audience.
pub const CONNECTIONS_MAX: usize = 2048;

/// Heads beyond this are an attack. A hostile archived page can set as many cookies for our name as a browser keeps, some
/// 740 KiB, and our own pages must still be had.
pub const REQUEST_HEAD_BYTES_MAX: usize = 1024 * 1024;

/// From the first byte of a request to the end of its head; also how long a connection may idle between requests.
pub const REQUEST_HEAD_TIME: Duration = Duration::from_secs(30);

/// A reader that takes no byte for this long is gone.
pub const WRITE_STALL_TIME: Duration = Duration::from_secs(30);

/// Request bodies are small forms.
pub const REQUEST_BODY_BYTES_MAX: usize = 64 * 1024;

/// And so long they may take.
pub const REQUEST_BODY_TIME: Duration = Duration::from_secs(20);

/// Threads that read the archive. Most reads are warm and short; a cold disk is served well by this many at once.
pub const READERS_MAX: usize = 32;

/// Threads that may be waiting for other machines of a ring, beside those that read: a page with fifty pictures from six machines
/// asks for all at once, and whoever waits for the network must not keep others from the disk. A thread that waits costs
/// some kilobytes.
pub const TRAVELLERS_MAX: usize = 192;

/// Pieces of large bodies that are being fetched from other machines at once.
pub const FETCHED_PIECES_MAX: usize = 64;

/// Requests remembered as read lately. About as many entities of usual size as the store keeps.
pub const WARM_MAX: usize = 2048;

/// Bytes of archived bodies in the hands of connections. A reader beyond that waits for the others.
pub const BYTES_IN_FLIGHT_MAX: usize = 256 * 1024 * 1024;

/// And so long at most.
pub const WAIT_MAX: Duration = Duration::from_secs(20);

/// Lookups in the ring at once for whoever asks on a page or through the API: any site that a person visits can make a browser
/// ask, and each costs other machines some messages.
pub const LOOKUPS_MAX: usize = 16;

/// And so long each. A lookup in a ring of a million nodes that lost half of them takes less.
pub const LOOKUP_TIME: Duration = Duration::from_secs(30);

/// Machines that `/metrics` tells apart, those with the most traffic first. Each is nine lines, and Prometheus keeps every name
/// it ever saw.
pub const METRICS_PEERS_MAX: usize = 64;

/// Numbers of copies that `/metrics` tells apart: no ring keeps more.
pub const METRICS_COPIES_MAX: u16 = 64;

/// Nodes of this machine that `/metrics` tells apart: more than anybody has reason to run.
pub const METRICS_NODES_MAX: usize = 64;

/// Bytes of a page rewritten at a time: what one connection can hold up the others by.
pub const REWRITE_STEP_BYTES: usize = 64 * 1024;

/// Versions looked at for one that does not lead in circles.
pub const VERSIONS_TRIED_MAX: usize = 64;

/// Parameters of a CDX query of one kind (`filter`, `collapse`, fields). People write three; each costs time per line.
pub const CDX_RULES_MAX: usize = 16;

/// A filter is a word or a short regular expression; a long one only costs time.
pub const CDX_FILTER_BYTES_MAX: usize = 1024;

/// What a regular expression may be compiled to: enough for any that a person writes, and not for a bomb.
pub const CDX_REGEX_BYTES_MAX: usize = 256 * 1024;

/// Bytes of a CDX answer made at a time. The answer for a page of some hundred versions is one piece.
pub const CDX_PIECE_BYTES: usize = 96 * 1024;

/// Index entries looked at for one piece: some ten milliseconds, after which others have their turn, and we notice that
/// whoever asked is gone.
pub const CDX_PIECE_ENTRIES: usize = 16 * 1024;

/// Lines that must be put in order before the first is known (`closest`, `limit` below zero). Others stream without end.
pub const CDX_SORTED_MAX: usize = 10_000;

/// And bytes of URLs among them: one URL may have 32 KiB.
pub const CDX_SORTED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Originals that revisits of one answer are resolved with. Later ones stay unresolved.
pub const CDX_ORIGINALS_MAX: usize = 10_000;

/// Lines of a block, of which `pageSize` are a page: as in the Internet Archive's own indexes.
pub const CDX_BLOCK_LINES: u64 = 3000;

/// Blocks of a page unless asked otherwise; pywb's number.
pub const CDX_PAGE_BLOCKS: u64 = 10;

/// Mementos on one page of a TimeMap, and bytes. Whoever wants more follows the link to the next page.
pub const TIMEMAP_MEMENTOS_MAX: usize = 5000;
pub const TIMEMAP_BYTES_MAX: usize = 1024 * 1024;

/// A WARC record up to this long is made in memory; a longer one is written by a thread of its own as its reader takes it.
pub const WARC_IN_MEMORY_BYTES_MAX: u64 = 1024 * 1024;

/// Such threads at once. They wait for their readers, so that they must not be those that everybody needs.
pub const WARC_WRITERS_MAX: usize = 8;
