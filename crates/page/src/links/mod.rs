//! What a crawler needs of a page: the addresses it names, its title, and what it asks of archives.
//!
//! [`PageReader`] takes a body in pieces of any size and keeps only what it found, so its memory does not depend on the
//! page's size. It cuts markup where browsers' tokenizers cut it, without building a tree, and reads HTML, CSS, sitemaps
//! and feeds. Every input may be hostile: time is linear in the bytes, all that is kept is bounded by
//! [`crate::limits`], and what falls beyond the bounds is counted. Lost are links that scripts would make.

pub(crate) mod charset;
mod collect;
pub(crate) mod css;
mod document;
pub(crate) mod element;
pub(crate) mod header;
pub(crate) mod html;
mod policy;
mod raw;
mod reader;
pub(crate) mod resolve;

pub(crate) mod space;
pub(crate) mod srcset;
pub(crate) mod tag;
pub(crate) mod tokens;
mod xml;

pub use document::{Document, is_gzip};
pub use header::header_links;
pub use policy::{AGENT_TOKEN, Policy};
pub use reader::PageReader;

use crate::WebUrl;

/// What was found in a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Each address once, in the order of first mention; the page's own is left out.
    pub links: Vec<Link>,
    pub title: Option<String>,
    pub policy: Policy,
    /// Links beyond the bounds: too many, too long, or in a tag too long to be looked into.
    pub links_dropped: u64,
    /// Values that are no address on the web: `mailto:`, `javascript:`, `data:`, malformed ones.
    pub not_web: u64,
    /// The name of the encoding the body was read in.
    pub charset: &'static str,
}

/// An address that a page names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub url: WebUrl,
    pub kind: LinkKind,
    /// Every mention of it says `rel=nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
}

/// What an address is to the page that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkKind {
    /// Somewhere to go: `a`, `area`, `form` by GET, `meta refresh`, entries of sitemaps and feeds.
    Page,
    /// Where the server says to go instead.
    Redirect,
    /// A document within the page.
    Frame,
    Style,
    Script,
    Image,
    /// Sound, film, and their subtitles.
    Media,
    Font,
    Feed,
    Sitemap,
    /// Manifests and what has no better name.
    Other,
}

impl LinkKind {
    /// Whether the page cannot be shown as it was without it.
    pub fn is_requisite(self) -> bool {
        matches!(self, Self::Frame | Self::Style | Self::Script | Self::Image | Self::Media | Self::Font)
    }
}
