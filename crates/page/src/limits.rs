//! Every number that bounds the reading of a page, once, with its reason.

/// Distinct links kept of one page. Honest pages have up to some thousands, sitemaps by their standard at most 50,000.
pub const LINKS_PER_PAGE_MAX: usize = 50_000;

/// Text of all links kept of one page: 50,000 links of the longest kind would be 1.6 GB, of the usual kind 5 MB.
pub const LINK_BYTES_PER_PAGE_MAX: usize = 16 * 1024 * 1024;

/// Longest tag that is looked into. It must be held in memory where a page comes in pieces; pictures within the page
/// (`data:` URLs) are what makes honest tags long, and those are no links.
pub const TAG_BYTES_MAX: usize = 256 * 1024;

/// Longest URL within a style sheet, an XML text or a line of a sitemap: a little more than any URL we keep, for escapes
/// and blanks.
pub(crate) const TOKEN_BYTES_MAX: usize = 2 * herodotus_base::limits::URL_BYTES_MAX;

/// Longest title kept. Browsers show some 60 characters.
pub const TITLE_BYTES_MAX: usize = 4 * 1024;

/// Where browsers stop looking for `<meta charset>`. What comes before is held until the charset is known.
pub(crate) const PRESCAN_BYTES_MAX: usize = 1024;

/// Links that wait for `<base>`, which should come before them and sometimes does not.
pub(crate) const LINKS_WAITING_MAX: usize = 256;

/// Drawings within HTML within drawings: how deep we follow. Honest pages have two or three.
pub(crate) const SPACES_DEPTH_MAX: usize = 64;

/// How much of robots.txt is read. RFC 9309 asks for at least 500 KiB.
pub const ROBOTS_BYTES_MAX: usize = 512 * 1024;

/// Longest line of robots.txt that is looked at; the rest of it is cut off, as Google does.
pub(crate) const ROBOTS_LINE_BYTES_MAX: usize = 2083 * 8 - 1;

/// Sitemaps that one robots.txt can name. Large sites split theirs, but by an index.
pub const ROBOTS_SITEMAPS_MAX: usize = 1_000;

/// Longest `Crawl-delay` we obey: whoever asks for more wants to say no, and has `Disallow` for that.
pub const CRAWL_DELAY_SECONDS_MAX: u64 = 300;

/// Documents within attributes within such documents (`srcdoc`): how deep they are rewritten. Each level doubles the
/// escapes of the one before, so honest pages stop at one.
pub(crate) const SRCDOC_DEPTH_MAX: usize = 3;

/// Longest import map that is rewritten; it must be held whole. Those of large applications have some kilobytes.
pub(crate) const IMPORT_MAP_BYTES_MAX: usize = 256 * 1024;

/// Template literals within template literals in a script: how deep they are followed. Minifiers make three or four.
pub(crate) const TEMPLATE_DEPTH_MAX: usize = 64;

/// Longest module specifier that is looked at.
pub(crate) const SPECIFIER_BYTES_MAX: usize = 4 * 1024;
