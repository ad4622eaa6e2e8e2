//! Every number that bounds a fetch, once, with its reason. Those in [`crate::Config`] are its defaults.

use std::time::Duration;

/// A resolver that needs longer is broken; the system's own retries take 5 to 10 seconds.
pub const DNS_WAIT_MAX: Duration = Duration::from_secs(15);
/// Three SYN packets (sent after 0, 1 and 3 seconds) and the way there and back.
pub const CONNECT_WAIT_MAX: Duration = Duration::from_secs(10);
/// A handshake takes two round trips and some arithmetic.
pub const TLS_WAIT_MAX: Duration = Duration::from_secs(10);
/// From the request sent to the whole head: slow pages are made in half a minute or never.
pub const FIRST_BYTE_WAIT_MAX: Duration = Duration::from_secs(30);
/// Silence within a body. Servers themselves give up on readers after a minute.
pub const IDLE_WAIT_MAX: Duration = Duration::from_secs(30);
/// The largest body at the smallest rate a person would wait for; Heritrix takes 20 minutes too.
pub const WHOLE_WAIT_MAX: Duration = Duration::from_secs(20 * 60);

/// Slower than a modem of 1991: nobody serves pages so, but a byte every few seconds holds a connection for ever.
pub const RATE_BYTES_PER_S_MIN: u64 = 512;
/// Before that, a body may be slow: small ones are done, and the first bytes of large ones may wait for a disk.
pub const RATE_GRACE: Duration = Duration::from_secs(30);

/// Header lines in one head. Servers send 10 to 50, with many cookies and policies 200.
pub const HEADER_COUNT_MAX: usize = 2000;
/// A body as sent. Disc images are larger, and are named to the archive by those who want them.
pub const WIRE_BYTES_MAX: u64 = 1 << 30;
/// A body without its codings, as the parser sees it: the largest honest pages and sitemaps have 50 MB.
pub const DECODED_BYTES_MAX: u64 = 256 << 20;

/// Open connections that wait for another request. Each is a file descriptor and, with TLS, 30 KB.
pub const CONNECTIONS_IDLE_MAX: usize = 512;
/// Politeness allows few at once to one host, so few can wait.
pub const CONNECTIONS_PER_HOST_IDLE_MAX: usize = 8;
/// Longer than the delay between two requests to one host; servers close after 5 to 75 seconds.
pub const CONNECTION_IDLE_MAX: Duration = Duration::from_secs(20);

/// What one read takes from the system at most. Most pages fit one or two.
pub(crate) const READ_BYTES: usize = 64 * 1024;
/// A body that is not wanted is read to its end up to this size, because a new connection costs more.
pub(crate) const LEFT_BYTES_MAX: u64 = 64 * 1024;
/// And for so long: a body that comes more slowly costs more than a new connection.
pub(crate) const LEFT_WAIT_MAX: Duration = Duration::from_secs(1);
/// Line ends before a status line, which some servers leave behind the body before. Browsers skip as many.
pub(crate) const SLOP_BYTES_MAX: usize = 4;
/// Heads of 1xx before the answer: one or two are honest.
pub(crate) const INTERIM_HEADS_MAX: usize = 32;

/// Hex digits of a chunk's size, and bytes of what follows them on the line: as `page::dechunk` takes them.
pub(crate) const CHUNK_DIGITS_MAX: u32 = 32;
pub(crate) const CHUNK_EXTENSION_BYTES_MAX: u32 = 4096;
/// Bytes of trailers after the last chunk: likewise.
pub(crate) const CHUNK_TRAILER_BYTES_MAX: u32 = 60 * 1024;

/// Codings upon one another. One is usual, two happen by mistake, more are bombs.
pub(crate) const CODINGS_MAX: usize = 3;
/// Decoded bytes are handed out in pieces of this size, which with the decoder's tables fits a processor's cache.
pub(crate) const DECODED_PIECE_BYTES: usize = 32 * 1024;
/// After so many decoded bytes other tasks get a turn: some milliseconds of parsing.
pub(crate) const DECODED_TURN_BYTES: usize = 512 * 1024;
/// The window of zstd in HTTP (RFC 9659: 8 MB), so that a frame cannot ask for gigabytes.
pub(crate) const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// A validator or referrer that is longer is left out: servers refuse heads beyond 8 KiB.
pub(crate) const REQUEST_VALUE_BYTES_MAX: usize = 4096;

/// Answers of the resolver kept at once: names and a few addresses, some 2 MB.
pub(crate) const DNS_CACHE_ENTRIES_MAX: usize = 8192;
/// Short, because the system's resolver does not tell the time to live, and addresses do change.
pub(crate) const DNS_CACHE_TTL: Duration = Duration::from_secs(60);
/// Lookups in the blocking pool at once, each a thread; half of what tokio has, so that files get theirs.
pub(crate) const DNS_LOOKUPS_MAX: usize = 256;
/// Addresses tried of one answer. Honest hosts have up to a dozen.
pub(crate) const ADDRESSES_MAX: usize = 16;
/// The time until the next address is tried, if there is one: a silent address must not use up the whole deadline.
pub(crate) const ADDRESS_WAIT_MAX: Duration = Duration::from_secs(4);

/// HTTP/2: what a stream and a connection may have in flight; enough for 100 ms at 80 Mbit/s.
pub(crate) const H2_STREAM_WINDOW_BYTES: u32 = 1 << 20;
pub(crate) const H2_CONNECTION_WINDOW_BYTES: u32 = 2 << 20;
/// HTTP/2: bytes that may come, beyond bodies that were taken, before a connection counts as flooded. More than the
/// window and the largest head together; each request fills it up again.
pub(crate) const H2_OVERHEAD_BYTES_MAX: u64 = 6 << 20;
/// HTTP/2: frame header and longest padding, granted for each piece of a body.
pub(crate) const H2_FRAME_OVERHEAD_BYTES: u64 = 9 + 256;
/// HTTP/2: requests at once over one connection; browsers' servers allow 100, and politeness far fewer.
pub(crate) const H2_STREAMS_MAX: usize = 32;
