//! The header of a record: a version line and named fields, in the order of the file.
//!
//! Reading is as lenient as the field's writers were careless: LF alone ends a line, folded lines are joined with one
//! space, values are trimmed, a line without a colon is dropped. A value that is not UTF-8 is read as Latin-1, each byte
//! the character of the same number, as warcio does. What a record cannot do without is checked by the reader.

use crate::fields::{Fields, text_of};
use herodotus_base::Timestamp;
use memchr::memchr;
use std::borrow::Cow;

/// The versions that nearly all records have.
const VERSIONS: [&str; 2] = ["WARC/1.0", "WARC/1.1"];

/// What a record is: its WARC-Type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    Response,
    Resource,
    Request,
    Revisit,
    Metadata,
    Warcinfo,
    Conversion,
    Continuation,
    Other(String),
}

impl Kind {
    pub fn parse(text: &str) -> Self {
        const KNOWN: [Kind; 8] = [
            Kind::Response,
            Kind::Request,
            Kind::Resource,
            Kind::Revisit,
            Kind::Metadata,
            Kind::Warcinfo,
            Kind::Conversion,
            Kind::Continuation,
        ];
        let known = KNOWN.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text));
        known.unwrap_or_else(|| Self::Other(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Response => "response",
            Self::Resource => "resource",
            Self::Request => "request",
            Self::Revisit => "revisit",
            Self::Metadata => "metadata",
            Self::Warcinfo => "warcinfo",
            Self::Conversion => "conversion",
            Self::Continuation => "continuation",
            Self::Other(text) => text,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// `WARC/1.0`, `WARC/1.1`, or `ARC/1.0` for a record read from an ARC file.
    pub version: Cow<'static, str>,
    pub fields: Fields,
}

impl Header {
    /// The first field of that name, in any case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name)
    }

    /// `Other("")` where WARC-Type is missing; readers skip such records.
    pub fn kind(&self) -> Kind {
        Kind::parse(self.field("WARC-Type").unwrap_or_default())
    }

    /// `urn:uuid:…`, without the angle brackets that surround it in the file.
    pub fn record_id(&self) -> Option<&str> {
        self.field("WARC-Record-ID").map(unbracketed)
    }

    /// Without the angle brackets that Wget 1.19 and others wrote.
    pub fn target_uri(&self) -> Option<&str> {
        self.field("WARC-Target-URI").map(unbracketed)
    }

    pub fn date(&self) -> Option<Timestamp> {
        Timestamp::parse(self.field("WARC-Date")?).ok()
    }

    pub fn content_length(&self) -> Option<u64> {
        parse_length(self.field("Content-Length")?)
    }

    /// Reads a header block that starts with its version line and ends before or after its empty line.
    pub(crate) fn parse(block: &[u8]) -> Self {
        let mut lines = Lines(block);
        let version = version_of(lines.next().unwrap_or_default());
        let mut fields = Fields::with_capacity(16, block.len());
        // The next line may go on with it.
        let mut last: Option<(&[u8], Cow<'_, [u8]>)> = None;
        for line in lines {
            match line {
                [] => break,
                [b' ' | b'\t', ..] => {
                    if let Some((_, value)) = &mut last {
                        let more = line.trim_ascii();
                        if !value.is_empty() && !more.is_empty() {
                            value.to_mut().push(b' ');
                        }
                        value.to_mut().extend_from_slice(more);
                    }
                }
                line => {
                    if let Some(colon) = memchr(b':', line) {
                        let field = (line[..colon].trim_ascii(), Cow::Borrowed(line[colon + 1..].trim_ascii()));
                        if let Some((name, value)) = last.replace(field) {
                            fields.push_bytes(name, &value);
                        }
                    }
                }
            }
        }
        if let Some((name, value)) = last {
            fields.push_bytes(name, &value);
        }
        Self { version, fields }
    }

    /// The one length that all Content-Length fields agree on, or a sentence on why there is none.
    pub(crate) fn agreed_length(&self) -> Result<u64, String> {
        let mut lengths = self.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("Content-Length"));
        let Some((_, first)) = lengths.next() else {
            return Err("the record's header has no Content-Length".to_owned());
        };
        if let Some((_, other)) = lengths.find(|(_, value)| *value != first) {
            let (first, other) = (shown(first), shown(other));
            return Err(format!("the record's header has two Content-Length fields, `{first}` and `{other}`"));
        }
        parse_length(first).ok_or_else(|| format!("Content-Length `{}` is not a number of bytes", shown(first)))
    }
}

/// Where a header block ends, its empty line included, searching from `from` on.
/// `Err` holds where to go on searching once there are more bytes.
pub(crate) fn block_end(bytes: &[u8], from: usize) -> Result<usize, usize> {
    let mut at = from;
    while let Some(newline) = bytes.get(at..).and_then(|rest| memchr(b'\n', rest)) {
        let next = at + newline + 1;
        match bytes.get(next..) {
            Some([b'\n', ..]) => return Ok(next + 1),
            Some([b'\r', b'\n', ..]) => return Ok(next + 2),
            // Files that went through Windows as text.
            Some([b'\r', b'\r', b'\n', ..]) => return Ok(next + 3),
            Some([] | [b'\r'] | [b'\r', b'\r']) => return Err(next - 1),
            _ => at = next,
        }
    }
    Err(bytes.len())
}

/// `WARC/1.0` and its kin at the start of `bytes`, up to and with the end of the line.
pub(crate) fn is_version_line(bytes: &[u8]) -> bool {
    let Some(rest) = bytes.strip_prefix(b"WARC/") else { return false };
    let line = &rest[..memchr(b'\n', rest).unwrap_or(rest.len()).min(16)];
    let line = line.trim_ascii_end();
    let dots = line.iter().filter(|b| **b == b'.').count();
    dots == 1 && (3..=8).contains(&line.len()) && line.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

/// A value as it may stand in a sentence: short and on one line.
pub(crate) fn shown(value: &str) -> String {
    let mut text: String = value.chars().take(40).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if value.chars().nth(40).is_some() {
        text.push('…');
    }
    text
}

pub(crate) fn parse_length(value: &str) -> Option<u64> {
    if value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    value.parse().ok()
}

fn version_of(line: &[u8]) -> Cow<'static, str> {
    let known = VERSIONS.into_iter().find(|version| version.as_bytes() == line);
    known.map_or_else(|| Cow::Owned(text_of(line).into_owned()), Cow::Borrowed)
}

fn unbracketed(value: &str) -> &str {
    value.strip_prefix('<').and_then(|v| v.strip_suffix('>')).unwrap_or(value)
}

/// Lines without their ends, be those CRLF, LF or CRCRLF.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let (line, rest) = match memchr(b'\n', self.0) {
            Some(at) => (&self.0[..at], &self.0[at + 1..]),
            None => (self.0, &[][..]),
        };
        self.0 = rest;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn careless_headers_read_as_they_were_meant() {
        let header = Header::parse(
            b"WARC/1.0\nwarc-type:  Response \r\nWARC-Target-URI: <http://a/>\nno colon here\nX-Folded: a\n\t b\n  c\n\n",
        );
        assert_eq!(header.version, "WARC/1.0");
        assert_eq!(header.kind(), Kind::Response);
        assert_eq!(header.target_uri(), Some("http://a/"));
        assert_eq!(header.field("x-folded"), Some("a b c"));
        assert_eq!(header.fields.len(), 3);
    }

    #[test]
    fn a_value_that_is_not_utf8_is_read_as_latin1() {
        let header = Header::parse(b"WARC/1.0\r\nA: caf\xe9\r\nB: caf\xc3\xa9\r\n\r\n");
        assert_eq!((header.field("a"), header.field("b")), (Some("café"), Some("café")));
    }

    #[test]
    fn lengths_must_be_plain_numbers_and_agree() {
        let of = |lines: &str| Header::parse(format!("WARC/1.0\r\n{lines}\r\n").as_bytes()).agreed_length();
        assert_eq!(of("Content-Length: 5\r\ncontent-length: 5\r\n"), Ok(5));
        assert!(of("Content-Length: 5\r\nContent-Length: 6\r\n").unwrap_err().contains("two Content-Length"));
        for bad in ["-1", "+1", "0x10", "", "1 2", "99999999999999999999"] {
            assert!(of(&format!("Content-Length: {bad}\r\n")).unwrap_err().contains("not a number"), "{bad}");
        }
    }

    #[test]
    fn a_block_end_is_found_in_pieces() {
        for block in
            [&b"WARC/1.0\r\nA: b\r\n\r\n"[..], b"WARC/1.0\nA: b\n\n", b"WARC/1.0\nA: b\n\r\n", b"WARC/1.0\r\r\n\r\r\n"]
        {
            let mut from = 0;
            for upto in 0..block.len() {
                from = block_end(&block[..upto], from).unwrap_err();
            }
            assert_eq!(block_end(block, from), Ok(block.len()));
        }
    }

    #[test]
    fn version_lines_are_told_from_prose() {
        for line in ["WARC/1.0\r\n", "WARC/1.1\n", "WARC/0.18\r\nWARC-Type"] {
            assert!(is_version_line(line.as_bytes()), "{line}");
        }
        for line in ["WARC/\n", "WARC/1\n", "WARC/1.0 is old\n", "WARC/1.x\n", "warc/1.0\n", ""] {
            assert!(!is_version_line(line.as_bytes()), "{line}");
        }
    }
}
