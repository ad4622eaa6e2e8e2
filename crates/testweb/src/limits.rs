//! Every number that bounds or shapes this web, once, with its reason.

use std::time::Duration;

/// Pages on one listing: about what a site's index shows before it says "next".
pub(crate) const LISTING_PAGES: u32 = 40;
/// Listings that a listing leads on to: a million pages lie within six clicks of the front page.
pub(crate) const LISTING_BRANCHES: u32 = 8;
/// Hosts that a host's front page leads on to.
pub(crate) const HOST_BRANCHES: u32 = 4;

/// Pages in one sitemap. The protocol allows 50,000; fewer makes small tests meet sitemap indexes too.
pub(crate) const SITEMAP_PAGES: u32 = 1000;

/// Fewest paragraphs of a page, and most unless the configuration says otherwise: bodies of 2 to 40 KB, most of them
/// small, as on the real web.
pub(crate) const PARAGRAPHS_MIN: u64 = 2;
pub(crate) const PARAGRAPHS_MAX: u32 = 60;
/// Fewest links under a page's text, and most unless the configuration says otherwise.
pub(crate) const LINKS_MIN: u64 = 3;
pub(crate) const LINKS_MAX: u32 = 8;

/// A page that is born late is born by this round, so that short tests meet births.
pub(crate) const BIRTH_ROUND_MAX: u64 = 30;
/// A page that dies lives at most so many rounds.
pub(crate) const LIFETIME_ROUNDS_MAX: u64 = 40;
/// The longest that a page which changes at all leaves between changes.
pub(crate) const PERIOD_ROUNDS_MAX: u64 = 40;

/// Most pictures that a page has of its own, unless the configuration says otherwise.
pub(crate) const PICTURES_MAX: u32 = 3;

/// Times that a busy URL says "later" before it answers: more than one, so that a visitor must come back twice.
pub(crate) const BUSY_ASKS_MAX: u64 = 2;
/// What it asks for between them, in seconds: the least that the header can say.
pub(crate) const BUSY_RETRY_AFTER_S: u32 = 1;
/// Busy URLs that a server keeps count of in a round (2 MB). Those met after them are not busy.
pub(crate) const BUSY_URLS_MAX: usize = 100_000;
/// Requests that a server remembers when asked to record (30 MB): a crawl of 20,000 pages ten times over.
pub(crate) const LOG_REQUESTS_MAX: usize = 200_000;

/// Longest request head that is read. Far above what a crawler sends; a longer one is answered with 431.
pub(crate) const REQUEST_HEAD_BYTES_MAX: usize = 16 * 1024;
/// Longest time between the end of one answer and the end of the next request's head.
pub(crate) const REQUEST_WAIT_MAX: Duration = Duration::from_secs(5);
/// Longest that a visitor may refuse to take what we write.
pub(crate) const WRITE_WAIT_MAX: Duration = Duration::from_secs(10);
/// How long, and how much, we listen on after refusing a request: closing at once would reset the connection and
/// could take the refusal with it.
pub(crate) const LINGER_WAIT_MAX: Duration = Duration::from_millis(500);
pub(crate) const LINGER_BYTES_MAX: usize = 64 * 1024;

/// Connections served at once; each has a thread. Further ones wait in the kernel's queue. Few enough that a test can
/// hold both ends of all of them within the usual 1024 descriptors. When it is full, whoever has been idle longest
/// between requests has to leave.
pub(crate) const CONNECTIONS_MAX: usize = 480;
/// Stack of such a thread: the deepest call chain here needs a small part of it.
pub(crate) const CONNECTION_STACK_BYTES: usize = 256 * 1024;
/// A server that is dropped waits this long for its threads and no longer. Their sockets are shut by then, so this
/// is only reached when the machine is starved.
pub(crate) const SHUTDOWN_WAIT_MAX: Duration = Duration::from_secs(10);

/// The visitor's patience, for connecting and for the whole exchange.
pub(crate) const CONNECT_WAIT_MAX: Duration = Duration::from_secs(5);
pub(crate) const EXCHANGE_WAIT_MAX: Duration = Duration::from_secs(30);
/// Largest body the visitor takes: four hundred times the largest here.
pub(crate) const EXCHANGE_BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What "endless" means to a hostile server: far beyond any limit that a crawler under test would be given.
pub(crate) const HOSTILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The longest that a hostile connection lasts, whatever it does: nobody should find one open the next morning.
pub(crate) const HOSTILE_CONNECTION_MAX: Duration = Duration::from_secs(600);
/// Between the drops of a drip: slow to a machine, and still a hundred drops while a short deadline runs out.
pub(crate) const HOSTILE_DRIP_EVERY: Duration = Duration::from_millis(20);
/// Hosts whose requests are counted: a trap may make up more, which are then not.
pub(crate) const HOSTILE_HOSTS_MAX: usize = 20_000;
/// Longest HTTP/2 frame we read from a visitor: what the protocol allows without asking.
pub(crate) const HTTP2_FRAME_BYTES_MAX: usize = 16 * 1024;
