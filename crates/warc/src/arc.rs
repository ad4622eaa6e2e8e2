//! ARC, the format before WARC: each record is one line of fields and a block.
//!
//! Both shapes of the line are read, from the right, since URLs of that time hold spaces: version 1 (URL, IP, date, type,
//! length) and version 2, which puts six more between. A record comes back with the WARC fields that say the same, and an
//! id that is the same whenever and wherever the record is read. The line itself is kept in `ARC-Header-Line`.
//! ARC has no magic at the start of a record: a line is believed where its date, address and length have the right form.

use crate::fields::{Fields, text_of};
use crate::header::Header;
use herodotus_base::{Sha256, Timestamp};

/// One ARC header line, with the WARC header that says the same.
pub(crate) struct ArcLine {
    pub(crate) header: Header,
    pub(crate) len: u64,
}

struct Parts<'a> {
    url: &'a [u8],
    ip: &'a [u8],
    date: &'a [u8],
    mime: &'a [u8],
    len: u64,
    time: Timestamp,
}

/// Reads a header line, without its line end.
pub(crate) fn parse_line(line: &[u8]) -> Option<ArcLine> {
    let parts = split(line)?;
    let url = text_of(parts.url);
    let mut fields = Fields::with_capacity(8, 2 * line.len() + 256);
    if let Some(name) = url.strip_prefix("filedesc://") {
        fields.push("WARC-Type", "warcinfo");
        fields.push("WARC-Filename", name);
    } else {
        fields.push("WARC-Type", "response");
        fields.push("WARC-Target-URI", &url);
    }
    fields.push("WARC-Record-ID", &format!("<{}>", record_id(&parts)));
    fields.push("WARC-Date", &parts.time.rfc3339());
    if parts.ip != b"0.0.0.0" {
        fields.push_bytes(b"WARC-IP-Address", parts.ip);
    }
    // An ARC says what the payload is; a WARC says what the block is, and of an http URL that is a whole response.
    let is_http = [&b"http:"[..], b"https:"].iter().any(|s| starts_with_ignore_case(parts.url, s));
    let mime = if is_http { "application/http; msgtype=response".into() } else { text_of(parts.mime) };
    fields.push("Content-Type", &mime);
    fields.push("Content-Length", &parts.len.to_string());
    fields.push_bytes(b"ARC-Header-Line", line.trim_ascii_end());
    Some(ArcLine { header: Header { version: "ARC/1.0".into(), fields }, len: parts.len })
}

/// Whether this line, without its end, may start an ARC record.
pub(crate) fn is_line(line: &[u8]) -> bool {
    split(line).is_some()
}

fn split(line: &[u8]) -> Option<Parts<'_>> {
    let line = line.trim_ascii_end();
    if line.contains(&0) {
        return None;
    }
    // Most text fails here, on its last word.
    let (rest, len) = last_word(line)?;
    let len = std::str::from_utf8(len).ok().and_then(crate::header::parse_length)?;
    // From the right: the date is the first word of twelve or fourteen digits that an address stands before. A v1 line
    // has one word after it, a v2 line six, and types with a space in them have been seen.
    let mut upto = rest;
    for after in 0..12 {
        let (before, word) = last_word(upto)?;
        let date_fits = matches!(word.len(), 12 | 14) && word.iter().all(u8::is_ascii_digit);
        if date_fits
            && after > 0
            && let Some((url, ip)) = last_word(before)
            && is_address(ip)
            && is_url(url)
        {
            let time = Timestamp::parse(std::str::from_utf8(word).ok()?).ok()?;
            let typed = rest[upto.len()..].trim_ascii();
            let mime = match last_word_first(typed) {
                (first, others) if after == 6 && others.first().is_some_and(|b| b.is_ascii_digit() || *b == b'-') => {
                    first
                }
                _ => typed,
            };
            return Some(Parts { url, ip, date: word, mime, len, time });
        }
        upto = before;
    }
    None
}

/// Splits at the last space.
fn last_word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memrchr(b' ', line)?;
    Some((&line[..at], &line[at + 1..]))
}

/// Splits at the first space.
fn last_word_first(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b' ', line) {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

/// IPv4, IPv6, or the `-` of writers that did not know it.
fn is_address(word: &[u8]) -> bool {
    word == b"-"
        || (word.len() >= 2
            && word.len() <= 45
            && word.iter().all(|b| b.is_ascii_hexdigit() || matches!(b, b'.' | b':'))
            && word.iter().any(|b| matches!(b, b'.' | b':')))
}

fn is_url(url: &[u8]) -> bool {
    match memchr::memchr(b':', url) {
        Some(colon) if (2..=16).contains(&colon) => {
            url.len() > colon + 1
                && url[0].is_ascii_alphabetic()
                && url[..colon].iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
        }
        _ => false,
    }
}

fn starts_with_ignore_case(bytes: &[u8], prefix: &[u8]) -> bool {
    bytes.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// A UUID of version 8 (RFC 9562: free for the maker to fill) from what the line says of the capture itself. A v2 line's
/// offset and file name stay out, so that a copy in another file has the same id.
fn record_id(parts: &Parts<'_>) -> String {
    let len = parts.len.to_string();
    let mut said = Vec::with_capacity(parts.url.len() + 80);
    for part in [&b"arc record"[..], parts.url, parts.ip, parts.date, parts.mime, len.as_bytes()] {
        said.extend_from_slice(part);
        said.push(b'\n');
    }
    let Sha256(hash) = Sha256::of(&said);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = |part: &[u8]| part.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let [a, b, c, d, e] = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]].map(hex);
    format!("urn:uuid:{a}-{b}-{c}-{d}-{e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_the_line_say_the_same() {
        let v1 = parse_line(b"http://a.example/x y 192.0.2.7 20010203040506 text/html 120").unwrap();
        let v2 =
            parse_line(b"http://a.example/x y 192.0.2.7 20010203040506 text/html 200 abc123 - 8192 f.arc.gz 120\r")
                .unwrap();
        for line in [&v1, &v2] {
            assert_eq!(line.len, 120);
            assert_eq!(line.header.target_uri(), Some("http://a.example/x y"));
            assert_eq!(line.header.field("WARC-Date"), Some("2001-02-03T04:05:06Z"));
            assert_eq!(line.header.field("WARC-IP-Address"), Some("192.0.2.7"));
            assert_eq!(line.header.field("Content-Type"), Some("application/http; msgtype=response"));
        }
        assert_eq!(v1.header.record_id(), v2.header.record_id());
    }

    #[test]
    fn an_id_does_not_change_with_the_program_that_reads_it() {
        let line = parse_line(b"http://a.example/ 192.0.2.7 20010203040506 text/html 120").unwrap();
        let id = line.header.record_id().unwrap();
        assert_eq!(id, "urn:uuid:ab12d589-7b80-8638-9b07-8cabcd9f0db7");
    }

    #[test]
    fn the_version_block_is_a_warcinfo() {
        let line = parse_line(b"filedesc://IAH-2008.arc 0.0.0.0 20080430204825 text/plain 1301").unwrap();
        assert_eq!(line.header.kind(), crate::Kind::Warcinfo);
        assert_eq!(line.header.field("WARC-Filename"), Some("IAH-2008.arc"));
        assert_eq!(line.header.field("WARC-IP-Address"), None);
        assert_eq!(line.header.field("Content-Type"), Some("text/plain"));
    }

    #[test]
    fn types_with_spaces_and_other_schemes_are_read() {
        let line = parse_line(b"dns:a.example 192.0.2.1 20010203040506 text/dns; charset=us-ascii 12").unwrap();
        assert_eq!(line.header.field("Content-Type"), Some("text/dns; charset=us-ascii"));
    }

    #[test]
    fn prose_is_not_an_arc_line() {
        for line in [
            "",
            " ",
            "12",
            "in the year 2001 there were 120",
            "see http://a.example/ for 20010203040506 more 7",
            "http://a.example/ 192.0.2.7 20011303040506 text/html 120",
            "http://a.example/ 192.0.2.7 20010203040506 text/html -5",
            "http://a.example/ 192.0.2.7 20010203040506 120",
        ] {
            assert!(parse_line(line.as_bytes()).is_none(), "{line}");
        }
    }
}
