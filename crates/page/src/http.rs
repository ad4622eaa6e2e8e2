//! The head of an HTTP response, read as leniently as browsers do: any mixture of line ends, folded lines, bytes that
//! are not UTF-8, lines that are no headers. Nothing is copied until a value is asked for, and nothing is repaired: the
//! archive keeps the bytes, this only answers questions about them.

use herodotus_base::limits::HTTP_HEAD_BYTES_MAX;
use memchr::{memchr, memchr_iter};
use std::borrow::Cow;

/// Length of the head with its closing empty line, or `None` if none ends within [`HTTP_HEAD_BYTES_MAX`].
pub fn head_len(bytes: &[u8]) -> Option<usize> {
    let bytes = &bytes[..bytes.len().min(HTTP_HEAD_BYTES_MAX)];
    memchr_iter(b'\n', bytes).find_map(|at| match bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// A response's head, borrowed from its bytes.
#[derive(Clone, Debug)]
pub struct ResponseHead<'a> {
    /// `HTTP/1.1`, as written.
    pub version: &'a str,
    /// Three digits, or `None` if the status line has none.
    pub status: Option<u16>,
    /// What follows the status, as written; often empty.
    pub reason: Cow<'a, str>,
    lines: &'a [u8],
}

impl<'a> ResponseHead<'a> {
    /// `None` if the text does not begin with `HTTP/`. What follows the empty line is not looked at.
    pub fn parse(head: &'a [u8]) -> Option<Self> {
        if !head.get(..5)?.eq_ignore_ascii_case(b"HTTP/") {
            return None;
        }
        let (line, lines) = split_line(head);
        let (version, rest) = line.split_at(line.iter().position(|&byte| is_blank(byte)).unwrap_or(line.len()));
        let rest = rest.trim_ascii();
        let (code, reason) = rest.split_at(rest.iter().position(|&byte| is_blank(byte)).unwrap_or(rest.len()));
        let status = match *code {
            [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
                Some(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
            }
            _ => None,
        };
        let reason = text_of(if status.is_some() { reason.trim_ascii() } else { rest });
        Some(Self { version: str::from_utf8(version).unwrap_or("HTTP/"), status, reason, lines })
    }

    /// All headers in order, names and values as written (a folded value with its line breaks), blanks around them cut.
    pub fn headers(&self) -> Headers<'a> {
        Headers { lines: self.lines }
    }

    /// The first value under this name, in any case; folded lines joined. Bytes that are not UTF-8 count as Latin-1.
    pub fn header(&self, name: &str) -> Option<Cow<'a, str>> {
        self.values(name).next()
    }

    /// Every value under this name.
    pub fn values(&self, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
        self.headers().filter(move |(known, _)| known.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| {
            match memchr(b'\n', value) {
                None => text_of(value),
                Some(_) => {
                    let lines: Vec<_> = value.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).collect();
                    Cow::Owned(text_of(&lines.join(&b' ')).into_owned())
                }
            }
        })
    }

    /// The media type alone, in lower case: `text/html`. `None` if absent or not made of a media type's characters.
    pub fn content_type_essence(&self) -> Option<String> {
        media_type_essence(&self.header("content-type")?)
    }

    /// The codings of the body in the order they were applied, in lower case, without `identity`.
    pub fn content_encodings(&self) -> Vec<String> {
        self.list("content-encoding").filter(|coding| coding != "identity").collect()
    }

    /// Whether the body as sent is in chunks: the last transfer coding says so.
    pub fn is_chunked(&self) -> bool {
        self.list("transfer-encoding").last().is_some_and(|coding| coding == "chunked")
    }

    fn list(&self, name: &str) -> impl Iterator<Item = String> {
        self.values(name).flat_map(|value| {
            value.split(',').map(|item| item.trim().to_ascii_lowercase()).filter(|i| !i.is_empty()).collect::<Vec<_>>()
        })
    }
}

/// The media type without parameters, in lower case.
pub(crate) fn media_type_essence(content_type: &str) -> Option<String> {
    let essence = content_type.trim_start().split([';', ',', ' ', '\t']).next()?;
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~/".contains(&byte);
    (!essence.is_empty() && essence.bytes().all(is_part)).then(|| essence.to_ascii_lowercase())
}

/// Names and values; see [`ResponseHead::headers`].
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    lines: &'a [u8],
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let all = self.lines;
            let (line, mut rest) = split_line(all);
            if line.is_empty() {
                self.lines = &[];
                return None;
            }
            // A line that begins with a blank belongs to the one before it.
            while rest.first().is_some_and(|&byte| is_blank(byte)) {
                rest = split_line(rest).1;
            }
            self.lines = rest;
            let whole = &all[..all.len() - rest.len()];
            if let Some(colon) = memchr(b':', line) {
                let (name, value) = (whole[..colon].trim_ascii(), whole[colon + 1..].trim_ascii());
                if !name.is_empty() {
                    return Some((name, value));
                }
            }
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// A line without its end, and what follows.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match memchr(b'\n', text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &[][..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_head_ends_at_the_first_empty_line_whatever_the_line_ends() {
        for (text, len) in [
            (&b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody"[..], Some(25)),
            (b"HTTP/1.1 200 OK\nA: b\n\nbody\n\n", Some(22)),
            (b"HTTP/1.1 200 OK\r\nA: b\n\r\nbody", Some(24)),
            (b"HTTP/1.1 200 OK\r\nA: b\r\n\nbody", Some(24)),
            (b"HTTP/1.1 200 OK\r\n\r\n", Some(19)),
            (b"HTTP/1.1 200 OK\r\nA: b\r\n", None),
            (b"HTTP/1.1 200 OK\r\nA: b\r\n\r", None),
            (b"", None),
        ] {
            assert_eq!(head_len(text), len, "{:?}", String::from_utf8_lossy(text));
        }
        assert_eq!(head_len(&vec![b'a'; HTTP_HEAD_BYTES_MAX + 10]), None);
    }

    #[test]
    fn a_lenient_head_answers_all_questions() {
        let head = ResponseHead::parse(
            b"HTTP/1.1 404 Not  Found\r\nContent-Type: Text/HTML; charset=x\nno header here\r\nSet-Cookie: a\r\n\
              set-cookie : b\r\nX-Folded: one\r\n  two\r\n\tthree\r\nLatin: caf\xe9\r\nContent-Encoding: gzip, identity\r\n\
              content-encoding: BR\r\nTransfer-Encoding: gzip, Chunked\r\n: no name\r\nEmpty:\r\n\r\nAfter: no\r\n",
        )
        .unwrap();
        assert_eq!((head.version, head.status, &*head.reason), ("HTTP/1.1", Some(404), "Not  Found"));
        assert_eq!(head.content_type_essence().as_deref(), Some("text/html"));
        assert_eq!(head.values("Set-Cookie").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(head.header("x-folded").as_deref(), Some("one two three"));
        assert_eq!(head.header("latin").as_deref(), Some("café"));
        assert_eq!(head.header("empty").as_deref(), Some(""));
        assert_eq!(head.header("after"), None);
        assert_eq!(head.content_encodings(), ["gzip", "br"]);
        assert!(head.is_chunked());
        assert_eq!(head.headers().count(), 9);
    }

    #[test]
    fn odd_status_lines_are_read_as_far_as_they_go() {
        let of = |text: &'static [u8]| {
            ResponseHead::parse(text).map(|head| (head.version, head.status, head.reason.into_owned()))
        };
        assert_eq!(of(b"HTTP/2 200\r\n\r\n"), Some(("HTTP/2", Some(200), String::new())));
        assert_eq!(of(b"http/1.0   302   Moved \n\n"), Some(("http/1.0", Some(302), "Moved".into())));
        assert_eq!(of(b"HTTP/1.1 OK"), Some(("HTTP/1.1", None, "OK".into())));
        assert_eq!(of(b"HTTP/1.1 2000 OK"), Some(("HTTP/1.1", None, "2000 OK".into())));
        assert_eq!(of(b"HTTP/"), Some(("HTTP/", None, String::new())));
        assert_eq!(of(b"ICY 200 OK\r\n"), None);
        assert_eq!(of(b"HTT"), None);
    }

    #[test]
    fn a_media_type_is_cut_at_its_parameters_and_refused_if_it_is_none() {
        assert_eq!(media_type_essence(" Text/Html;charset=utf-8").as_deref(), Some("text/html"));
        assert_eq!(media_type_essence("text/html charset=utf-8").as_deref(), Some("text/html"));
        assert_eq!(media_type_essence("application/vnd.a+json, text/html").as_deref(), Some("application/vnd.a+json"));
        for none in ["", ";charset=a", "text/\"html", "a\u{0}b", "téxt/html"] {
            assert_eq!(media_type_essence(none), None);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, text in "HTTP/[0-9a: \t\r\n,;é]{0,80}") {
            for bytes in [&bytes[..], text.as_bytes()] {
                let _ = head_len(bytes);
                if let Some(head) = ResponseHead::parse(bytes) {
                    let _ = (head.headers().count(), head.header("a"), head.content_type_essence(), head.is_chunked());
                }
            }
        }
    }
}
