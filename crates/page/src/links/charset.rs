//! In which encoding a body is: byte order mark, then what HTTP said, then what the document says of itself near its
//! beginning, as browsers do. Where nobody says, each value is UTF-8 if it is valid and windows-1252 if not.

use super::collect::Bytes;
use super::document::Document;
use crate::text::{declared_encoding, xml_encoding};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Charset {
    pub(crate) encoding: &'static Encoding,
    /// How its values become text.
    pub(super) bytes: Bytes,
    /// Length of the byte order mark.
    pub(crate) mark_len: usize,
}

impl Charset {
    pub(crate) fn detect(start: &[u8], document: Document, http: Option<&str>) -> Self {
        if let Some((encoding, mark_len)) = Encoding::for_bom(start) {
            return Self { encoding, bytes: Bytes::Utf8, mark_len };
        }
        let http = http.and_then(|label| Encoding::for_label(label.trim().trim_matches(['"', '\'']).as_bytes()));
        // The encoding that replaces everything hides the page; its links are of use all the same.
        match http.or_else(|| declared(start, document)).filter(|encoding| *encoding != REPLACEMENT) {
            Some(encoding) => Self { encoding, bytes: Bytes::Utf8, mark_len: 0 },
            None => Self { encoding: WINDOWS_1252, bytes: Bytes::Guess, mark_len: 0 },
        }
    }

    /// Nobody said, and the bytes were not looked at.
    pub(crate) fn is_guess(&self) -> bool {
        matches!(self.bytes, Bytes::Guess)
    }

    /// Whether the bytes must be made UTF-8 before they are read.
    pub(super) fn needs_decoder(&self) -> bool {
        matches!(self.bytes, Bytes::Utf8) && self.encoding != UTF_8
    }
}

fn declared(start: &[u8], document: Document) -> Option<&'static Encoding> {
    let found = match document {
        Document::Html | Document::Xhtml => return declared_encoding(start),
        Document::Css => {
            let label = start.strip_prefix(b"@charset \"")?;
            Encoding::for_label(label.split(|byte| *byte == b'"').next()?)
        }
        Document::Sitemap | Document::Feed => {
            let start: String = start.iter().map(|&byte| char::from(byte)).collect();
            if start.starts_with("<?xml") { xml_encoding(&start) } else { None }
        }
        Document::SitemapText | Document::Other => None,
    }?;
    // It could be read as ASCII so far, so it is not UTF-16.
    Some(if found == UTF_16LE || found == UTF_16BE { UTF_8 } else { found })
}

/// Whether bytes that come in pieces are UTF-8.
#[derive(Debug, Default)]
pub(super) struct Utf8Check {
    is_broken: bool,
    /// The beginning of a character whose end has not come.
    held: Vec<u8>,
}

impl Utf8Check {
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !self.is_broken && !self.held.is_empty() && !bytes.is_empty() {
            self.held.push(bytes[0]);
            bytes = &bytes[1..];
            match str::from_utf8(&self.held) {
                Ok(_) => self.held.clear(),
                Err(error) => self.is_broken = error.error_len().is_some(),
            }
        }
        if self.is_broken {
            return;
        }
        if let Err(error) = str::from_utf8(bytes) {
            self.is_broken = error.error_len().is_some();
            if !self.is_broken {
                self.held.extend_from_slice(&bytes[error.valid_up_to()..]);
            }
        }
    }

    pub(super) fn is_utf8(&self) -> bool {
        !self.is_broken && self.held.is_empty()
    }
}
