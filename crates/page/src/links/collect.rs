//! The links of one page: read from where they stand, each kept once, no more than are allowed.

use super::resolve::Base;
use super::srcset::candidates;
use super::{Link, LinkKind, Page};
use crate::limits::{LINK_BYTES_PER_PAGE_MAX, LINKS_PER_PAGE_MAX, LINKS_WAITING_MAX};
use crate::web_url::{NotWeb, WebUrl};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use hashbrown::{DefaultHashBuilder, HashTable};
use herodotus_base::limits::URL_BYTES_MAX;
use std::borrow::Cow;
use std::hash::BuildHasher;

/// How the bytes of a value become text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bytes {
    /// The page is UTF-8, or was made so as it came.
    Utf8,
    /// Nobody said: each value is UTF-8 if it is valid, else windows-1252.
    Guess,
}

#[derive(Debug)]
pub(super) struct Links {
    page: WebUrl,
    base: Base,
    /// Links that came before a `<base>` may still come; `None` once it has, or cannot.
    waiting: Option<Vec<Waiting>>,
    bytes: Bytes,
    /// In which the queries of links are written.
    encoding: &'static Encoding,
    links: Vec<Link>,
    /// Places in `links`, by the hash of the address.
    places: HashTable<u32>,
    hashes: Vec<u64>,
    hasher: DefaultHashBuilder,
    link_bytes: usize,
    text: String,
    dropped: u64,
    not_web: u64,
}

#[derive(Debug)]
struct Waiting {
    link: String,
    encoding: &'static Encoding,
    kind: LinkKind,
    nofollow: bool,
}

impl Links {
    /// `encoding` is that of the page, which its queries are written in.
    pub(super) fn new(page: WebUrl, bytes: Bytes, encoding: &'static Encoding) -> Self {
        Self {
            base: Base::new(page.clone()),
            page,
            waiting: None,
            bytes,
            encoding,
            links: Vec::new(),
            places: HashTable::new(),
            hashes: Vec::new(),
            hasher: DefaultHashBuilder::default(),
            link_bytes: 0,
            text: String::new(),
            dropped: 0,
            not_web: 0,
        }
    }

    /// Links wait from here on, until [`Self::set_base`] or [`Self::base_is_known`].
    pub(super) fn wait_for_base(&mut self) {
        self.waiting = Some(Vec::new());
    }

    /// The first `<base href>` counts, if it is an address on the web.
    pub(super) fn set_base(&mut self, href: &[u8]) {
        let (link, _) = self.decode(href);
        if let Ok(url) = self.page.join(&link) {
            self.base = Base::new(url);
        }
        self.base_is_known();
    }

    pub(super) fn base_is_known(&mut self) {
        for waiting in self.waiting.take().unwrap_or_default() {
            self.add_text(&waiting.link, waiting.encoding, waiting.kind, waiting.nofollow);
        }
    }

    /// Text of a value as it stands in the page, its references decoded, with the encoding it was in.
    pub(super) fn decode<'a>(&self, value: &'a [u8]) -> (Cow<'a, str>, &'static Encoding) {
        let (text, encoding) = text_of(value, self.bytes, self.encoding);
        let text = match text {
            Cow::Borrowed(text) => crate::entity::decode(text, true),
            Cow::Owned(text) => Cow::Owned(crate::entity::decode(&text, true).into_owned()),
        };
        (text, encoding)
    }

    /// Adds a link as it stands in an attribute.
    #[inline]
    pub(super) fn add(&mut self, value: &[u8], kind: LinkKind, nofollow: bool) {
        let value = trim(value);
        // Before it is decoded `&` may begin a reference.
        if self.waiting.is_none() && memchr::memchr(b'&', value).is_none() && self.add_plain(value, kind, nofollow) {
            return;
        }
        let (link, encoding) = self.decode(value);
        self.add_text(&link, encoding, kind, nofollow);
    }

    /// Adds a link that is text already, of a document whose links are UTF-8.
    pub(super) fn add_utf8(&mut self, link: &str, kind: LinkKind) {
        self.add_text(link, UTF_8, kind, false);
    }

    /// Adds a link that [`Self::decode`] gave.
    pub(super) fn add_decoded(&mut self, link: &str, encoding: &'static Encoding, kind: LinkKind) {
        self.add_text(link, encoding, kind, false);
    }

    /// Adds the pictures of a `srcset` as it stands in an attribute.
    pub(super) fn add_srcset(&mut self, value: &[u8]) {
        let (srcset, encoding) = self.decode(value);
        for link in candidates(&srcset) {
            self.add_text(link, encoding, LinkKind::Image, false);
        }
    }

    /// Adds an address of a style sheet, escapes not undone. Such are always UTF-8 in their queries.
    pub(super) fn add_css(&mut self, token: &[u8], kind: LinkKind) {
        let (text, _) = text_of(token, self.bytes, self.encoding);
        let link = super::css::unescape(&text);
        self.add_text(&link, UTF_8, kind, false);
    }

    /// Counts an address that was too long to be kept whole.
    pub(super) fn add_cut(&mut self, start: &[u8]) {
        // Pictures within the page are what makes honest values long.
        match trim(start).get(..5) {
            Some(scheme) if scheme.eq_ignore_ascii_case(b"data:") => self.not_web += 1,
            _ => self.dropped += 1,
        }
    }

    fn add_text(&mut self, link: &str, encoding: &'static Encoding, kind: LinkKind, nofollow: bool) {
        if link.len() > URL_BYTES_MAX {
            self.add_cut(link.as_bytes());
            return;
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.push(Waiting { link: link.to_owned(), encoding, kind, nofollow });
            if waiting.len() >= LINKS_WAITING_MAX {
                self.base_is_known();
            }
            return;
        }
        if self.add_plain(trim(link.as_bytes()), kind, nofollow) {
            return;
        }
        match self.base.any(link, encoding) {
            Ok(url) => self.keep(url, kind, nofollow),
            Err(NotWeb::TooLong) => self.dropped += 1,
            Err(NotWeb::Scheme | NotWeb::NoHost | NotWeb::Malformed) => self.not_web += 1,
        }
    }

    /// Whether it was a plain link, and is dealt with.
    #[inline]
    fn add_plain(&mut self, link: &[u8], kind: LinkKind, nofollow: bool) -> bool {
        if link.len() > URL_BYTES_MAX {
            return false;
        }
        let mut text = std::mem::take(&mut self.text);
        let is_plain = if link.first().is_none_or(|byte| *byte == b'#') {
            // The base itself, which is nearly always the page.
            text.clear();
            text.push_str(self.base.url().as_str());
            self.add_canonical(&text, kind, nofollow, |base, _| base.url().clone());
            true
        } else if let Some(parts) = self.base.plain(link, &mut text) {
            if text.len() > URL_BYTES_MAX {
                self.dropped += 1;
            } else {
                self.add_canonical(&text, kind, nofollow, |_, text| parts.url(text));
            }
            true
        } else {
            false
        };
        self.text = text;
        is_plain
    }

    fn keep(&mut self, url: WebUrl, kind: LinkKind, nofollow: bool) {
        let text = url.clone();
        self.add_canonical(text.as_str(), kind, nofollow, |_, _| url);
    }

    fn add_canonical(&mut self, text: &str, kind: LinkKind, nofollow: bool, url: impl FnOnce(&Base, &str) -> WebUrl) {
        if text == self.page.as_str() {
            return;
        }
        let hash = self.hasher.hash_one(text);
        let links = &mut self.links;
        let known = |&place: &u32| links.get(place as usize).is_some_and(|link| link.url.as_str() == text);
        if let Some(&place) = self.places.find(hash, known) {
            if let Some(link) = links.get_mut(place as usize) {
                link.nofollow &= nofollow;
                if need(kind) > need(link.kind) {
                    link.kind = kind;
                }
            }
            return;
        }
        if links.len() >= LINKS_PER_PAGE_MAX || self.link_bytes + text.len() > LINK_BYTES_PER_PAGE_MAX {
            self.dropped += 1;
            return;
        }
        self.link_bytes += text.len();
        let place = links.len() as u32;
        links.push(Link { url: url(&self.base, text), kind, nofollow });
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.places.insert_unique(hash, place, |&place| hashes.get(place as usize).copied().unwrap_or_default());
    }

    pub(super) fn count_dropped(&mut self) {
        self.dropped += 1;
    }

    pub(super) fn count_not_web(&mut self) {
        self.not_web += 1;
    }

    pub(super) fn finish(mut self) -> Page {
        self.base_is_known();
        Page { links: self.links, links_dropped: self.dropped, not_web: self.not_web, ..Page::default() }
    }
}

/// What a page cannot do without outranks where it leads, and that outranks the rest.
fn need(kind: LinkKind) -> u8 {
    match kind {
        LinkKind::Other => 0,
        LinkKind::Page | LinkKind::Redirect | LinkKind::Feed | LinkKind::Sitemap => 1,
        _ => 2,
    }
}

pub(super) fn text_of<'a>(
    value: &'a [u8],
    bytes: Bytes,
    encoding: &'static Encoding,
) -> (Cow<'a, str>, &'static Encoding) {
    match (str::from_utf8(value), bytes) {
        (Ok(text), Bytes::Utf8) => (Cow::Borrowed(text), encoding),
        (Err(_), Bytes::Utf8) => (String::from_utf8_lossy(value), encoding),
        (Ok(text), Bytes::Guess) => (Cow::Borrowed(text), UTF_8),
        (Err(_), Bytes::Guess) => (WINDOWS_1252.decode_without_bom_handling(value).0, WINDOWS_1252),
    }
}

/// Without the blanks and controls around it, which the URL standard takes off.
#[inline]
fn trim(value: &[u8]) -> &[u8] {
    let start = value.iter().position(|byte| *byte > b' ').unwrap_or(value.len());
    let value = &value[start..];
    let end = value.iter().rposition(|byte| *byte > b' ').map_or(0, |at| at + 1);
    &value[..end]
}
