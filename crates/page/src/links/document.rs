//! What a body is to be read as: by its media type, as browsers do it, and by its bytes where the type says nothing.

use crate::WebUrl;

/// What a body is to be read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Document {
    Html,
    /// HTML or a drawing by the rules of XML: `<script/>` is closed, CDATA counts everywhere.
    Xhtml,
    Css,
    /// XML; whether of pages or of further sitemaps its root element tells the reader. Any XML of unknown root, too.
    Sitemap,
    /// Atom, RSS or RDF.
    Feed,
    /// One address per line.
    SitemapText,
    /// Not read.
    Other,
}

/// How much of a body [`Document::of`] looks at.
const SNIFF_BYTES_MAX: usize = 1024;

impl Document {
    /// By the media type without parameters, in lower case; the first bytes may be few or none, but more know better.
    pub fn of(content_type_essence: Option<&str>, url: &WebUrl, first_bytes: &[u8]) -> Self {
        let bytes = &first_bytes[..first_bytes.len().min(SNIFF_BYTES_MAX)];
        match content_type_essence {
            // Feeds and sitemaps are served so by mistake often enough that the sniffing standard provides for it.
            Some("text/html") => match xml_document(bytes) {
                Some(document @ (Self::Feed | Self::Sitemap)) => document,
                _ => Self::Html,
            },
            Some("application/xhtml+xml" | "image/svg+xml") => Self::Xhtml,
            Some("text/css") => Self::Css,
            Some("application/rss+xml" | "application/atom+xml" | "application/rdf+xml") => Self::Feed,
            Some("text/xml" | "application/xml") => xml_document(bytes).unwrap_or(Self::Sitemap),
            Some(essence) if essence.ends_with("+xml") => xml_document(bytes).unwrap_or(Self::Other),
            Some("text/plain") if names_text_sitemap(url) => Self::SitemapText,
            // What servers say who do not know, and what a sitemap is called that was compressed as a file.
            Some("application/octet-stream" | "application/gzip" | "application/x-gzip") => match xml_document(bytes) {
                Some(document @ (Self::Feed | Self::Sitemap)) => document,
                _ if names_text_sitemap(url) => Self::SitemapText,
                _ => Self::Other,
            },
            None | Some("unknown/unknown" | "application/unknown" | "*/*") => {
                if let Some(document) = xml_document(bytes) {
                    document
                } else if is_html(bytes) {
                    Self::Html
                } else if ends_with(url.path(), ".css") {
                    Self::Css
                } else if names_text_sitemap(url) {
                    Self::SitemapText
                } else {
                    Self::Other
                }
            }
            Some(_) => Self::Other,
        }
    }
}

/// Whether bytes begin as gzip does.
pub fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b, 8])
}

fn names_text_sitemap(url: &WebUrl) -> bool {
    let name = url.path().rsplit('/').next().unwrap_or_default();
    let name = if ends_with(name, ".gz") { &name[..name.len() - 3] } else { name };
    ends_with(name, ".txt") && name.to_ascii_lowercase().contains("sitemap")
}

fn ends_with(text: &str, end: &str) -> bool {
    text.len().checked_sub(end.len()).and_then(|at| text.get(at..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// What a document is by its root element; `None` if it names none that we know.
pub(super) fn xml_document(bytes: &[u8]) -> Option<Document> {
    let mut rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    loop {
        rest = rest.trim_ascii_start();
        let end: &[u8] = match rest {
            [b'<', b'?', ..] => b"?>",
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            // A document type may hold declarations, but not before the root's name is told.
            [b'<', b'!', ..] => b">",
            [b'<', name @ ..] => {
                let len = name
                    .iter()
                    .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'-' | b'_')))?;
                let name = &name[..len];
                let name = name.iter().position(|byte| *byte == b':').map_or(name, |at| &name[at + 1..]);
                return match name {
                    b"urlset" | b"sitemapindex" => Some(Document::Sitemap),
                    b"rss" | b"feed" | b"RDF" => Some(Document::Feed),
                    b"html" if bytes.trim_ascii_start().starts_with(b"<?xml") => Some(Document::Xhtml),
                    b"svg" => Some(Document::Xhtml),
                    _ => None,
                };
            }
            _ => return None,
        };
        rest = &rest[memchr::memmem::find(rest, end)? + end.len()..];
    }
}

/// By the sniffing standard: a tag that begins a page, after blanks.
fn is_html(bytes: &[u8]) -> bool {
    const TAGS: [&[u8]; 16] = [
        b"<!doctype html",
        b"<html",
        b"<head",
        b"<script",
        b"<iframe",
        b"<h1",
        b"<div",
        b"<font",
        b"<table",
        b"<a",
        b"<style",
        b"<title",
        b"<b",
        b"<body",
        b"<br",
        b"<p",
    ];
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let begins = |tag: &[u8]| {
        start.get(..tag.len()).is_some_and(|text| text.eq_ignore_ascii_case(tag))
            && start.get(tag.len()).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'>' | b'/'))
    };
    start.starts_with(b"<!--") || TAGS.into_iter().any(begins)
}
