//! Every number that bounds link exchange, once, with its reason. Those in [`crate::Config`] are its defaults.

use std::time::Duration;

/// A batch fits one call (1 MiB) whatever is in it, with room for the call's own words.
pub const BATCH_BYTES_MAX: usize = (1 << 20) - (8 << 10);
/// A batch unpacked, still front-coded. One that does not pack at all must fit too.
pub const RAW_BYTES_MAX: usize = BATCH_BYTES_MAX - (4 << 10);
/// All URLs of a batch, written out: front-coding unpacks too, and ten thousand links of one prefix of 32 KiB would be 320 MB.
pub const TEXT_BYTES_MAX: usize = 768 << 10;
/// What a link may add to a batch beside its URL: two lengths, a row of fields and its share of the runs.
pub const LINK_BYTES_BESIDE_URL_MAX: usize = 20;
/// Links of a batch: 768 KiB of URLs of 75 bytes. More save nothing (see docs/figures.md), and a lost batch is sent again whole.
pub const LINKS_MAX: usize = 10_000;
/// Crawls whose links share a batch. Sixteen bytes each; a ring runs dozens.
pub const CRAWLS_MAX: usize = 64;

/// After so many nodes that passed a link on, somebody is wrong about who owns it: it rests (see [`PARKED_FOR`]) before it goes on.
/// Twice the way from finger to finger in a ring of a hundred thousand nodes (6.7 steps).
pub const STEPS_MAX: u8 = 14;
/// A ring that is in dispute about a place agrees again within this, mostly (docs/figures.md: at most 30 s).
pub const PARKED_FOR: Duration = Duration::from_secs(30);

/// Rounds begin so far apart: how long links wait for company at most where their owner has nothing else to do. A crawl in which every page lies one link behind
/// the last takes so much longer for each.
pub const DELAY: Duration = Duration::from_millis(250);
/// After a quiet time links wait so long: a page is read in less, so that its links go together.
pub const GATHER: Duration = Duration::from_millis(50);
/// A machine that has work for a minute will not miss links that come half of that later; nor will one that has work for a second.
pub const HOLD_PART: u32 = 2;
/// And no longer than this: what waits here is lost with this machine, and its pages are read again from their copies.
pub const HOLD_MAX: Duration = Duration::from_secs(8);
/// More in one batch save little: 11.5 bytes a link at a thousand, 9.8 at ten thousand (docs/figures.md).
pub const LINKS_PLENTY: usize = 1_000;
/// Machines of which it is remembered for how long they have work. Of those beyond nothing is known, and they are sent links at once.
pub const HELD_MAX: usize = 1_024;
/// So many links need not wait: they fill batches.
pub const LINKS_FLUSH: u64 = 10_000;
/// From here on company saves less than a tenth: 270 bytes of head over 100 links of 13.
pub const LINKS_ENOUGH: usize = 100;
/// Batches too small to be worth their heads, a second: 5 KB of heads. So a small ring is prompt and a large one thrifty.
pub const SMALL_BATCHES_PER_S: u32 = 20;

/// Batches under way. Sixteen of 100 KB at a round trip of 100 ms are 16 MB/s, far above what links need; the keys of each stay in
/// memory, 0.6 MB at most.
pub const FLIGHTS_MAX: usize = 16;
/// Of those, to one machine: a slow one must not take all.
pub const FLIGHTS_PER_PEER_MAX: usize = 2;
/// Nobody answers later than this, whatever the caller of ours thinks.
pub const ACK_WAIT: Duration = Duration::from_secs(60);
/// First rest after a failure, doubled each time, up to the longest.
pub const BACKOFF_FIRST: Duration = Duration::from_secs(1);
pub const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// The longest rest after one that is there and says: not yet. Orders are told to all within seconds, arcs are filled within a minute or so.
pub const REFUSED_REST_MAX: Duration = Duration::from_secs(4);
/// Machines whose failures are remembered. With more the one that rests least is forgotten, and is tried sooner.
pub const TROUBLES_MAX: usize = 1_024;

/// Arcs whose owners are remembered: 250 bytes each.
pub const OWNERS_MAX: usize = 4_096;
/// An owner is believed for so long. A wrong one costs a step, not a link.
pub const OWNER_LASTS: Duration = Duration::from_secs(600);
/// Nodes that may walk with links: as many as a ring remembers.
pub const NEAR_MAX: usize = 1_024;
/// Lookups asked for and not answered.
pub const LOOKUPS_MAX: usize = 32;
/// A lookup that was not answered by then has failed.
pub const LOOKUP_WAIT: Duration = Duration::from_secs(30);

/// A lookup that failed is asked for again after this.
pub const LOOKUP_REST: Duration = Duration::from_secs(5);

/// Links that wait: with 150 bytes each 300 MB of disk. Above this whoever finds links waits.
pub const PENDING_MAX: u64 = 2_000_000;
/// Links in memory that were not yet written.
pub const BUFFER_LINKS_MAX: usize = 4_096;
/// Sendings of which it is known apart whether all has arrived: a quarter of a megabyte. Those beyond share one.
pub const MARKS_MAX: usize = 4_096;
/// Crawls whose waiting links are counted apart. Beyond this their caller let strangers in.
pub const PENDING_CRAWLS_MAX: usize = 4_096;
/// Slots of the memory of links lately sent, sixteen bytes each: 4 MB, a quarter of a million links.
pub const LATELY_SLOTS: usize = 1 << 18;
/// Entries read from the table at a time.
pub const SLICE_LINKS: usize = 1_024;
/// Links that wait and are known in memory: 4 MB. Of more, the table is read in order.
pub const INDEXED_MAX: usize = 1 << 16;
