//! Canonical keys: the sort-friendly form of a URL (`com,example)/path?a=1&b=2`) under which CDX indexes keep pages.
//!
//! A key equals what the Internet Archive's Python library `surt` 0.3 answers by default, since other tools' indexes
//! and queries are made with it; `tests/data/surt.tsv` holds its answers. Deliberate differences, all outside ordinary
//! URLs:
//! - where Python raises there is still a key, since a page must be found: blank text has the key of empty text (`-`),
//!   a port that is no port stays as written (`com,example:abc)/`), a host of 5000 digits is reduced like a shorter
//!   one;
//! - `filedesc…` names pass unchanged in Python; here their blanks, controls and non-ASCII bytes are percent-encoded,
//!   since a key is a field of a text line;
//! - a key ends at [`URL_BYTES_MAX`] bytes; longer URLs may share one, and the index keeps their exact URL anyway;
//! - host names: capitals and combining marks newer than Unicode 3.2 follow our tables, as in Python they follow its
//!   own version's; 8 of 40,000 names of random characters differed.

mod host;
mod range;
mod session;

pub use range::{domain_range, host_of_key, host_range, prefix_range};

use herodotus_base::limits::URL_BYTES_MAX;
use memchr::{memchr, memchr2, memchr3, memmem};
use std::borrow::Cow;

/// The key of a URL, as Python's `surt.surt(url)`.
pub fn surt(url: &str) -> String {
    surt_bytes(url.as_bytes())
}

/// The key of a URL as a file holds it, perhaps not UTF-8. The key is printable ASCII without blanks, at most
/// [`URL_BYTES_MAX`] bytes.
pub fn surt_bytes(url: &[u8]) -> String {
    let mut key = Vec::with_capacity(url.len().min(URL_BYTES_MAX) + 8);
    if url.starts_with(b"filedesc") {
        push_escaped(&mut key, url, |byte| byte.is_ascii_graphic(), <u8 as Clone>::clone);
    } else {
        match Parts::split(&tidy(url)) {
            Some(parts) => parts.write_key(&mut key),
            None => key.push(b'-'),
        }
    }
    key.truncate(URL_BYTES_MAX);
    // Everything pushed above is ASCII; the lossy way out exists so that a mistake here is a wrong key, not a panic.
    String::from_utf8(key).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Without blanks at the ends, nor line breaks and tabs anywhere: people break long links over lines.
fn tidy(url: &[u8]) -> Cow<'_, [u8]> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    let start = url.iter().position(|byte| !blank(byte)).unwrap_or(url.len());
    let end = url.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    let url = &url[start..end];
    match memchr3(b'\n', b'\r', b'\t', url) {
        None => Cow::Borrowed(url),
        Some(_) => url.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r' | b'\t')).collect(),
    }
}

/// A URL cut into its parts, nothing unescaped yet. A fragment is never part of a key.
struct Parts<'a> {
    scheme: &'a [u8],
    host: &'a [u8],
    port: Port<'a>,
    path: &'a [u8],
    /// The path had no slash of its own in front: it was cut out of a text such as `http:example.com/a`.
    path_lacks_slash: bool,
    query: &'a [u8],
}

#[derive(Clone, Copy, PartialEq)]
enum Port<'a> {
    None,
    Number(u16),
    Broken(&'a [u8]),
}

impl<'a> Parts<'a> {
    fn split(url: &'a [u8]) -> Option<Self> {
        if url.is_empty() {
            return None;
        }
        let (scheme, has_authority, rest) = split_scheme(url);
        let (authority, rest) = if has_authority {
            rest.split_at(memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len()))
        } else {
            rest.split_at(0)
        };
        let (mut path, rest) = rest.split_at(memchr2(b'?', b'#', rest).unwrap_or(rest.len()));
        let query = match rest.split_first() {
            Some((b'?', rest)) => &rest[..memchr(b'#', rest).unwrap_or(rest.len())],
            _ => &[],
        };
        let (mut host, port) = split_authority(authority);
        let mut path_lacks_slash = false;
        if host.is_empty() && scheme.starts_with(b"http") && !path.is_empty() {
            // "http:////////www.vikings.com" and "http:www.vikings.com" mean that host.
            let start = path.iter().position(|&byte| byte != b'/').unwrap_or(path.len());
            path = &path[start..];
            (host, path) = path.split_at(memchr(b'/', path).unwrap_or(path.len()));
            path_lacks_slash = path.is_empty();
        }
        Some(Self { scheme, host, port, path, path_lacks_slash, query })
    }

    fn write_key(&self, key: &mut Vec<u8>) {
        let host = if self.host.is_empty() { Cow::Borrowed(self.host) } else { host::canonical(self.host) };
        if host.is_empty() {
            key.extend_from_slice(self.scheme);
            key.push(b':');
        } else {
            let host = if self.scheme == b"dns" { &host[..] } else { host::without_www(&host) };
            for (nth, label) in host.rsplit(|&byte| byte == b'.').enumerate() {
                if nth > 0 {
                    key.push(b',');
                }
                key.extend_from_slice(label);
            }
            self.write_port(key);
            key.push(b')');
        }
        let path_start = key.len();
        self.write_path(key, !host.is_empty());
        self.write_query(key, path_start);
    }

    fn write_port(&self, key: &mut Vec<u8>) {
        let default = if self.scheme.eq_ignore_ascii_case(b"http") {
            80
        } else if self.scheme.eq_ignore_ascii_case(b"https") {
            443
        } else {
            0
        };
        match self.port {
            Port::Number(port) if port != default => key.extend_from_slice(format!(":{port}").as_bytes()),
            Port::Broken(text) => {
                key.push(b':');
                push_canonical(key, &unescape(text));
            }
            Port::None | Port::Number(_) => {}
        }
    }

    fn write_path(&self, key: &mut Vec<u8>, has_host: bool) {
        let start = key.len();
        let path = unescape(self.path);
        if self.path_lacks_slash && !has_host {
            key.push(b'/');
        }
        if !has_host {
            push_canonical(key, &path);
        } else if path.is_empty() {
            key.push(b'/');
        } else if memmem::find(&path, b"//").is_none() && memmem::find(&path, b"/.").is_none() {
            push_canonical(key, &path);
        } else {
            push_canonical(key, &without_dots(&path));
        }
        session::cut_from_path(key, start);
        if key.len() > start + 1 && key.ends_with(b"/") {
            key.pop();
        }
    }

    fn write_query(&self, key: &mut Vec<u8>, path_start: usize) {
        if self.query.is_empty() {
            return;
        }
        let path_end = key.len();
        key.extend_from_slice(if path_end == path_start { b"/?" } else { b"?" });
        let start = key.len();
        push_canonical(key, &unescape(self.query));
        session::cut_from_query(key, start);
        sort_query(key, start);
        if key.len() == start {
            key.truncate(path_end);
        }
    }
}

/// The scheme, whether an authority follows, and the rest. Doubled `http://https://` counts as the last one; text
/// without a scheme is a host.
fn split_scheme(url: &[u8]) -> (&[u8], bool, &[u8]) {
    let mut rest = url;
    let mut scheme = None;
    loop {
        if let Some(after) = rest.strip_prefix(b"http://") {
            (scheme, rest) = (Some(&b"http"[..]), after);
        } else if let Some(after) = rest.strip_prefix(b"https://") {
            (scheme, rest) = (Some(&b"https"[..]), after);
        } else {
            break;
        }
    }
    if let Some(scheme) = scheme {
        return (scheme, true, rest);
    }
    let in_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let end = url.iter().position(|byte| !in_scheme(byte)).unwrap_or(url.len());
    if url.first().is_some_and(u8::is_ascii_alphabetic) && url.get(end) == Some(&b':') {
        let rest = &url[end + 1..];
        match rest.strip_prefix(b"//") {
            Some(rest) => (&url[..end], true, rest),
            None => (&url[..end], false, rest),
        }
    } else {
        (b"http", true, url)
    }
}

/// Host and port of `user:password@host:port`; brackets of an IPv6 address come off.
fn split_authority(authority: &[u8]) -> (&[u8], Port<'_>) {
    let end = authority.iter().rposition(|&byte| byte != b':').map_or(0, |last| last + 1);
    let authority = &authority[..end];
    let authority = &authority[memchr::memrchr(b'@', authority).map_or(0, |at| at + 1)..];
    let after_colon = |text: &'_ [u8]| memchr(b':', text).map_or(text.len(), |colon| colon + 1);
    let (host, port) = match memchr(b'[', authority) {
        Some(open) => {
            let bracketed = &authority[open + 1..];
            let close = memchr(b']', bracketed).unwrap_or(bracketed.len());
            let rest = bracketed.get(close + 1..).unwrap_or_default();
            (&bracketed[..close], &rest[after_colon(rest)..])
        }
        None => {
            (&authority[..memchr(b':', authority).unwrap_or(authority.len())], &authority[after_colon(authority)..])
        }
    };
    let port = if port.is_empty() {
        Port::None
    } else if port.iter().all(u8::is_ascii_digit) {
        let number = port.iter().fold(0u32, |n, digit| n.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
        match u16::try_from(number) {
            Ok(0) => Port::None,
            Ok(number) => Port::Number(number),
            Err(_) => Port::Broken(port),
        }
    } else {
        Port::Broken(port)
    };
    (host, port)
}

/// Percent-escapes undone until none is left (`%2541` is `A`), in one pass: escapes never overlap, so the order of
/// undoing does not matter and a stack finds the same end as repeated passes.
fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'%', text) else { return Cow::Borrowed(text) };
    let mut out = Vec::with_capacity(text.len());
    out.extend_from_slice(&text[..first]);
    for &byte in &text[first..] {
        out.push(byte);
        while let [.., b'%', high, low] = out[..] {
            let (Some(high), Some(low)) = (hex_value(high), hex_value(low)) else { break };
            out.truncate(out.len() - 3);
            out.push(high << 4 | low);
        }
    }
    Cow::Owned(out)
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// In lower case, with controls, blanks, `#`, `%` and everything beyond ASCII escaped.
fn push_canonical(key: &mut Vec<u8>, text: &[u8]) {
    push_escaped(key, text, |byte| byte.is_ascii_graphic() && byte != b'#' && byte != b'%', u8::to_ascii_lowercase);
}

fn push_escaped(key: &mut Vec<u8>, text: &[u8], safe: fn(u8) -> bool, map: fn(&u8) -> u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    key.reserve(text.len());
    for &byte in text {
        if safe(byte) {
            key.push(map(&byte));
        } else {
            key.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

/// `.` and `..` resolved and empty segments dropped; a `..` with nothing above it stays.
fn without_dots(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&byte| byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let mut out = Vec::with_capacity(path.len());
    out.push(b'/');
    if let Some((last, front)) = kept.split_last() {
        for segment in front.iter().filter(|segment| !segment.is_empty()) {
            out.extend_from_slice(segment);
            out.push(b'/');
        }
        out.extend_from_slice(last);
    }
    out
}

/// Arguments in order of name, then value; a name without `=` comes before the same name with one.
fn sort_query(key: &mut Vec<u8>, start: usize) {
    let query = &key[start..];
    if memchr(b'&', query).is_none() {
        return;
    }
    let mut arguments: Vec<(&[u8], Option<&[u8]>)> = query
        .split(|&byte| byte == b'&')
        .map(|argument| match memchr(b'=', argument) {
            Some(equals) => (&argument[..equals], Some(&argument[equals + 1..])),
            None => (argument, None),
        })
        .collect();
    if arguments.is_sorted() {
        return;
    }
    arguments.sort_unstable();
    let mut sorted = Vec::with_capacity(query.len());
    for (name, value) in arguments {
        sorted.extend_from_slice(name);
        if let Some(value) = value {
            sorted.push(b'=');
            sorted.extend_from_slice(value);
        }
        sorted.push(b'&');
    }
    sorted.pop();
    key.truncate(start);
    key.extend_from_slice(&sorted);
}
