//! Sitemaps and feeds: XML read as tags and text, well-formed or not. What the elements mean follows from the root.

use super::collect::Links;
use super::html::kind_of_rel;
use super::tag::{Attribute, Tag};
use super::tokens::{Content, Sink};
use super::{LinkKind, Page};
use crate::limits::TOKEN_BYTES_MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    /// Pages of a site.
    Urlset,
    /// Further sitemaps.
    Index,
    /// RSS, RDF or Atom.
    Feed,
    /// None has come yet, or one we do not know.
    Unknown,
}

#[derive(Debug)]
pub(super) struct XmlPage {
    links: Links,
    root: Option<Root>,
    /// The element we are in is text that is an address of this kind.
    kind: Option<LinkKind>,
    text: Vec<u8>,
    is_text_cut: bool,
}

impl XmlPage {
    pub(super) fn new(links: Links) -> Self {
        Self { links, root: None, kind: None, text: Vec::new(), is_text_cut: false }
    }

    pub(super) fn finish(mut self) -> Page {
        self.tell();
        self.links.finish()
    }

    /// The address that was being read is whole.
    fn tell(&mut self) {
        if let Some(kind) = self.kind.take()
            && !self.text.trim_ascii().is_empty()
        {
            if self.is_text_cut {
                self.links.add_cut(&self.text);
            } else {
                let text = std::mem::take(&mut self.text);
                self.links.add(&text, kind, false);
                self.text = text;
            }
        }
        self.text.clear();
        self.is_text_cut = false;
    }

    /// What the text of an element is, if it is an address.
    fn kind_of(&self, prefix: &[u8], name: &[u8]) -> Option<LinkKind> {
        Some(match (self.root?, name) {
            (Root::Urlset | Root::Index, b"loc") if prefix == b"image" => LinkKind::Image,
            (Root::Urlset, b"loc") => LinkKind::Page,
            (Root::Index, b"loc") => LinkKind::Sitemap,
            (Root::Urlset, b"content_loc") => LinkKind::Media,
            (Root::Urlset, b"thumbnail_loc") => LinkKind::Image,
            (Root::Urlset, b"player_loc") => LinkKind::Frame,
            (Root::Feed, b"link" | b"comments" | b"origLink") => LinkKind::Page,
            (Root::Feed, b"url" | b"icon" | b"logo") => LinkKind::Image,
            (Root::Feed, b"commentRss") => LinkKind::Feed,
            _ => return None,
        })
    }

    fn attributes(&mut self, name: &[u8], tag: &Tag<'_>) {
        let text = |links: &Links, attribute| tag.get(attribute).map(|value| links.decode(value).0);
        match (self.root, name) {
            (Some(Root::Urlset | Root::Feed), b"link") => {
                let Some(href) = tag.get(Attribute::Href) else { return };
                let rel = text(&self.links, Attribute::Rel).unwrap_or_default();
                let media_type = text(&self.links, Attribute::Type);
                let kind = match rel.to_ascii_lowercase().as_str() {
                    "" | "alternate" | "related" | "via" | "replies" => Some(LinkKind::Page),
                    "enclosure" => Some(media_kind(media_type.as_deref())),
                    "self" | "next" | "previous" | "prev" | "first" | "last" | "prev-archive" | "next-archive"
                    | "current" => Some(LinkKind::Feed),
                    rel => kind_of_rel(rel, media_type.as_deref(), None),
                };
                if let Some(kind) = kind {
                    self.links.add(href, kind, false);
                }
            }
            (Some(Root::Feed), b"enclosure" | b"content" | b"thumbnail") => {
                let media_type = text(&self.links, Attribute::Type);
                let kind = if name == b"thumbnail" { LinkKind::Image } else { media_kind(media_type.as_deref()) };
                for attribute in [Attribute::Url, Attribute::Src] {
                    if let Some(url) = tag.get(attribute) {
                        self.links.add(url, kind, false);
                    }
                }
            }
            _ => {}
        }
    }
}

fn media_kind(media_type: Option<&str>) -> LinkKind {
    match media_type.map(|name| name.trim().split('/').next().unwrap_or_default().to_ascii_lowercase()).as_deref() {
        Some("image") => LinkKind::Image,
        Some("text") => LinkKind::Page,
        _ => LinkKind::Media,
    }
}

fn root_of(name: &[u8]) -> Root {
    match name {
        b"urlset" => Root::Urlset,
        b"sitemapindex" => Root::Index,
        b"rss" | b"feed" | b"RDF" => Root::Feed,
        _ => Root::Unknown,
    }
}

impl Sink for XmlPage {
    const WANTS_TEXT: bool = true;

    fn start(&mut self, tag: &Tag<'_>) -> Content {
        self.tell();
        let (prefix, name) = match tag.name.iter().position(|byte| *byte == b':') {
            Some(at) => (&tag.name[..at], &tag.name[at + 1..]),
            None => (&[][..], tag.name),
        };
        if self.root.is_none() {
            self.root = Some(root_of(name));
        }
        if tag.has_attributes() {
            self.attributes(name, tag);
        }
        if !tag.is_closed {
            self.kind = self.kind_of(prefix, name);
        }
        Content::Markup
    }

    fn start_too_long(&mut self, _name: Option<&[u8]>) -> Content {
        self.tell();
        self.links.count_dropped();
        Content::Markup
    }

    fn end(&mut self, _name: &[u8]) {
        self.tell();
    }

    fn text(&mut self, piece: &[u8], is_cdata: bool) {
        if self.kind.is_none() {
            return;
        }
        let room = TOKEN_BYTES_MAX.saturating_sub(self.text.len());
        self.is_text_cut |= piece.len() > room;
        let piece = &piece[..piece.len().min(room)];
        if is_cdata && memchr::memchr(b'&', piece).is_some() {
            // What follows is decoded with the rest, and this must come back as it is.
            for &byte in piece {
                self.text.extend_from_slice(if byte == b'&' { b"&amp;" } else { std::slice::from_ref(&byte) });
            }
        } else {
            self.text.extend_from_slice(piece);
        }
    }

    fn raw(&mut self, _piece: &[u8]) {}

    fn raw_end(&mut self) {}

    fn has_cdata(&self) -> bool {
        true
    }
}
