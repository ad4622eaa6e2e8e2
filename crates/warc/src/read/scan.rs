//! Searching for the next record behind damage.
//!
//! In compressed files the search is for a member's magic whose content begins like a record. In decoded bytes it is for
//! a version line with a field after it; inside what may be a payload an empty line must stand before it, since pages
//! about web archives show such headers. An archive within a damaged record can still be taken for records of the file:
//! whoever must not believe that should drop files with skips.

use super::source::Source;
use super::stream::Fault;
use crate::arc;
use crate::header::is_version_line;
use crate::limits::{ARC_LINE_BYTES_MAX, RESCAN_FACTOR, RESCAN_FREE_BYTES, SOURCE_BYTES};
use memchr::{memchr, memmem};

/// Whether decoded bytes begin like a WARC or ARC record, perhaps after empty lines.
pub(crate) fn is_record_start(bytes: &[u8]) -> bool {
    let blank = bytes.iter().position(|b| !matches!(b, b'\r' | b'\n')).unwrap_or(bytes.len());
    let bytes = &bytes[blank..];
    is_version_line(bytes) || arc_line(bytes).is_some_and(arc::is_line)
}

/// The line at the start of `bytes`, if its end is there and it is not too long to be an ARC header.
pub(crate) fn arc_line(bytes: &[u8]) -> Option<&[u8]> {
    let bytes = &bytes[..bytes.len().min(ARC_LINE_BYTES_MAX)];
    Some(&bytes[..memchr(b'\n', bytes)?])
}

/// What reading again, in search of records behind damage, may still cost.
pub(crate) struct Effort {
    left: u64,
}

impl Effort {
    pub(crate) fn for_bytes(raw_len: u64) -> Self {
        Self { left: raw_len.saturating_mul(RESCAN_FACTOR).saturating_add(RESCAN_FREE_BYTES) }
    }

    /// Takes `bytes` from what is left; `false` if that is not enough.
    pub(crate) fn spend(&mut self, bytes: u64) -> bool {
        let enough = self.left >= bytes;
        self.left = self.left.saturating_sub(bytes);
        enough
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left == 0
    }
}

/// Finds the next offset at which `magic` stands and `believe` accepts what follows it, `look` bytes of it at most.
/// Leaves the source there, or wherever the search was given up.
pub(crate) fn scan_magic(
    source: &mut Source,
    magic: &[u8],
    look: usize,
    effort: &mut Effort,
    mut believe: impl FnMut(&[u8]) -> bool,
) -> Result<Option<u64>, Fault> {
    let finder = memmem::Finder::new(magic);
    loop {
        let window = source.peek(SOURCE_BYTES)?;
        let len = window.len();
        match finder.find(window) {
            // Too near the end of the window to look at enough of it: take a window that starts there.
            Some(at) if at > 0 && len - at < look && len >= SOURCE_BYTES => source.consume(at),
            Some(at) => {
                let candidate = &window[at..len.min(at + look)];
                if !effort.spend(candidate.len() as u64) {
                    return Ok(None);
                }
                let believed = believe(candidate);
                source.consume(if believed { at } else { at + 1 });
                if believed {
                    return Ok(Some(source.offset()));
                }
            }
            None if len < SOURCE_BYTES => {
                source.consume(len);
                return Ok(None);
            }
            None => source.consume(len - (magic.len() - 1)),
        }
    }
}

/// How careful a search in decoded bytes has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ground {
    /// Between records: nothing here claims to be a payload.
    Open,
    /// In what a record may hold as its payload.
    Payload,
}

/// What a search through a window of decoded bytes found.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A record starts at this index.
    At(usize),
    /// None up to this index; what is before it need not be looked at again.
    NotBefore(usize),
}

/// Searches a window of decoded bytes for the start of a record. `complete` says that nothing follows the window.
/// The window's first byte is taken to be known not to start one.
pub(crate) fn scan_window(window: &[u8], ground: Ground, with_arc: bool, complete: bool) -> Found {
    let warc = scan_warc(window, ground, complete);
    if !with_arc {
        return warc;
    }
    match (warc, scan_arc(window, complete)) {
        (Found::At(a), Found::At(b)) => Found::At(a.min(b)),
        (Found::At(a), Found::NotBefore(b)) | (Found::NotBefore(b), Found::At(a)) if a <= b => Found::At(a),
        (Found::At(_), Found::NotBefore(b)) | (Found::NotBefore(b), Found::At(_)) => Found::NotBefore(b),
        (Found::NotBefore(a), Found::NotBefore(b)) => Found::NotBefore(a.min(b)),
    }
}

/// Enough for a version line and the start of the line after it.
const LOOK_BYTES: usize = 40;

fn scan_warc(window: &[u8], ground: Ground, complete: bool) -> Found {
    for at in memmem::find_iter(window, b"WARC/") {
        if !complete && window.len() - at < LOOK_BYTES {
            return Found::NotBefore(at.saturating_sub(3));
        }
        let after_blank = || window[..at].ends_with(b"\n\n") || window[..at].ends_with(b"\n\r\n");
        if is_version_line(&window[at..]) && field_follows(&window[at..]) && (ground == Ground::Open || after_blank()) {
            return Found::At(at);
        }
    }
    // Keep what may be the start of the magic, and the empty line before it.
    Found::NotBefore(if complete { window.len() } else { window.len().saturating_sub(7) })
}

/// Whether the second line is a field that a record has.
fn field_follows(bytes: &[u8]) -> bool {
    let Some(newline) = memchr(b'\n', &bytes[..bytes.len().min(LOOK_BYTES)]) else { return false };
    let line = &bytes[newline + 1..];
    [&b"WARC-"[..], b"Content-"].iter().any(|name| line.get(..name.len()).is_some_and(|l| l.eq_ignore_ascii_case(name)))
}

fn scan_arc(window: &[u8], complete: bool) -> Found {
    for newline in memchr::memchr_iter(b'\n', window) {
        let rest = &window[newline + 1..];
        match arc_line(rest) {
            Some(line) if arc::is_line(line) => return Found::At(newline + 1),
            None if !complete && rest.len() < ARC_LINE_BYTES_MAX => return Found::NotBefore(newline),
            _ => {}
        }
    }
    Found::NotBefore(window.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n";

    #[test]
    fn a_header_shown_in_a_page_is_not_a_record() {
        let page = format!("<pre>\n{HEAD}</pre>");
        assert_eq!(scan_window(page.as_bytes(), Ground::Payload, false, true), Found::NotBefore(page.len()));
        assert_eq!(scan_window(page.as_bytes(), Ground::Open, false, true), Found::At(6));
    }

    #[test]
    fn a_record_is_found_however_the_window_cuts_it() {
        let bytes = format!("some page\r\n\r\n{HEAD}");
        for cut in 0..bytes.len() {
            let mut from = 0;
            let found = match scan_window(&bytes.as_bytes()[..cut], Ground::Payload, true, false) {
                Found::At(at) => at,
                Found::NotBefore(at) => {
                    from = at;
                    match scan_window(&bytes.as_bytes()[from..], Ground::Payload, true, true) {
                        Found::At(at) => at,
                        Found::NotBefore(_) => panic!("lost at cut {cut}"),
                    }
                }
            };
            assert_eq!(from + found, 13, "cut {cut}");
        }
    }

    #[test]
    fn the_earlier_of_a_warc_and_an_arc_record_is_found() {
        let arc = "x\nhttp://a.example/ 192.0.2.7 20010203040506 text/html 5\nhello\n";
        assert_eq!(scan_window(format!("{arc}\n\n{HEAD}").as_bytes(), Ground::Payload, true, true), Found::At(2));
        assert_eq!(scan_window(format!("\n\n{HEAD}{arc}").as_bytes(), Ground::Payload, true, true), Found::At(2));
    }
}
