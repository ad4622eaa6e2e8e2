//! What a link means, quickly. Most links of real pages are plain: a path of ordinary characters, perhaps after `../`,
//! or an address of an ordinary host. Those are put together here by copying; everything else goes through the `url`
//! crate. The answer is always that of [`WebUrl::join`].

use crate::web_url::{NotWeb, WebUrl};
use encoding_rs::{EncoderResult, Encoding, UTF_8};
use herodotus_base::limits::URL_BYTES_MAX;
use std::borrow::Cow;
use url::Url;

/// An address that links are read from: a page's own or its `<base>`.
#[derive(Debug)]
pub(crate) struct Base {
    url: WebUrl,
    /// For the links that are not plain.
    parsed: Option<Url>,
    /// Where the text of [`Self::url`] ends before the last part of its path: what relative links are put behind.
    folder_end: usize,
    /// No `//` within the path, so that `..` takes one folder off.
    is_simple: bool,
}

/// Where the parts of a text begin that was put together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    host_end: usize,
    port: u16,
}

const PATH: u8 = 1;
const QUERY: u8 = 2;

/// Bytes that stand for themselves in a path and in a query.
static PLAIN: [u8; 256] = {
    let mut plain = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        plain[byte] = match byte as u8 {
            b'0'..=b'9'
            | b'A'..=b'Z'
            | b'a'..=b'z'
            | b'-'
            | b'_'
            | b'~'
            | b'!'
            | b'$'
            | b'&'
            | b'('
            | b')'
            | b'*'
            | b'+'
            | b','
            | b';'
            | b'='
            | b':'
            | b'@'
            | b'.'
            | b'/'
            | b'%' => PATH | QUERY,
            b'?' | b'[' | b']' => QUERY,
            _ => 0,
        };
        byte += 1;
    }
    plain
};

impl Base {
    pub(crate) fn new(url: WebUrl) -> Self {
        let folder_end = url.origin().len() + url.path().rfind('/').map_or(0, |at| at + 1);
        let is_simple = !url.path().contains("//");
        Self { url, parsed: None, folder_end, is_simple }
    }

    pub(crate) fn url(&self) -> &WebUrl {
        &self.url
    }

    /// Puts a plain link together in `out`; `None` if it is not plain. Blanks around it must be off, and it not empty.
    pub(crate) fn plain(&self, link: &[u8], out: &mut String) -> Option<Parts> {
        out.clear();
        let text = self.url.as_str();
        let (parts, rest) = match link {
            [b'/', b'/', rest @ ..] => {
                let scheme_end = if self.url.is_https() { "https://".len() } else { "http://".len() };
                out.push_str(text.get(..scheme_end)?);
                self.host(rest, out)?
            }
            [b'/', ..] => {
                out.push_str(self.url.origin());
                (self.same_host(), link)
            }
            [b'h', b't', b't', b'p', b's', b':', b'/', b'/', rest @ ..] => {
                out.push_str("https://");
                self.host(rest, out)?
            }
            [b'h', b't', b't', b'p', b':', b'/', b'/', rest @ ..] => {
                out.push_str("http://");
                self.host(rest, out)?
            }
            _ => {
                let mut rest = link;
                let mut folder_end = self.folder_end;
                while let [b'.', after @ ..] = rest {
                    match after {
                        [b'/', after @ ..] => rest = after,
                        [b'.', b'/', after @ ..] if self.is_simple => {
                            rest = after;
                            let folder = text.get(self.url.origin().len()..folder_end - 1)?;
                            if let Some(at) = folder.rfind('/') {
                                folder_end = self.url.origin().len() + at + 1;
                            }
                        }
                        _ => return None,
                    }
                }
                // A query alone is not put behind the folder; a `:` in the first part may end a scheme; a `/` after `../`
                // is an empty part.
                let name_len = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
                if (name_len == 0 && !rest.is_empty()) || memchr::memchr(b':', &rest[..name_len]).is_some() {
                    return None;
                }
                out.push_str(text.get(..folder_end)?);
                (self.same_host(), rest)
            }
        };
        let len = plain_len(rest)?;
        out.push_str(str::from_utf8(&rest[..len]).ok()?);
        Some(parts)
    }

    /// A host that is its own canonical form, with the path after it. `out` holds the scheme.
    fn host<'a>(&self, link: &'a [u8], out: &mut String) -> Option<(Parts, &'a [u8])> {
        let len = memchr::memchr(b'/', link)?;
        let (host, rest) = link.split_at(len);
        if host == self.url.authority().as_bytes() && self.url.as_str().starts_with(out.as_str()) {
            out.push_str(self.url.authority());
            return Some((self.same_host(), rest));
        }
        if host != self.url.host().as_bytes() && !is_plain_host(host) {
            return None;
        }
        let port = if out.starts_with("https") { 443 } else { 80 };
        out.push_str(str::from_utf8(host).ok()?);
        Some((Parts { host_end: out.len(), port }, rest))
    }

    fn same_host(&self) -> Parts {
        Parts { host_end: self.url.host_end(), port: self.url.port() }
    }

    /// What any link means. Its query is written in the page's encoding, if that is not UTF-8.
    pub(crate) fn any(&mut self, link: &str, encoding: &'static Encoding) -> Result<WebUrl, NotWeb> {
        if link.len() > URL_BYTES_MAX {
            return Err(NotWeb::TooLong);
        }
        let base = match &mut self.parsed {
            Some(base) => base,
            none => none.insert(self.url.to_url()?),
        };
        let joined = if encoding == UTF_8 || link.is_ascii() {
            base.join(link)
        } else {
            Url::options()
                .base_url(Some(base))
                .encoding_override(Some(&|text| encode_query(text, encoding)))
                .parse(link)
        };
        WebUrl::from_url(joined.map_err(|_| NotWeb::Malformed)?)
    }
}

impl Parts {
    pub(crate) fn url(self, text: &str) -> WebUrl {
        WebUrl::from_canonical(text, self.host_end, self.port)
    }
}

/// Length of a plain path and query up to the fragment; `None` if they are not plain.
#[inline]
fn plain_len(link: &[u8]) -> Option<usize> {
    let mut at = 0;
    // A segment that begins with a dot, written plainly or not, may be one that means a folder.
    let mut is_segment_start = true;
    while let Some(&byte) = link.get(at) {
        if PLAIN[usize::from(byte)] & PATH == 0 {
            break;
        }
        if (byte == b'.' && is_segment_start)
            || (byte == b'%' && matches!(link.get(at + 1..at + 3), Some(b"2e" | b"2E")))
        {
            return None;
        }
        is_segment_start = byte == b'/';
        at += 1;
    }
    if link.get(at) == Some(&b'?') {
        while let Some(&byte) = link.get(at) {
            if PLAIN[usize::from(byte)] & QUERY == 0 {
                break;
            }
            at += 1;
        }
    }
    match link.get(at) {
        None | Some(b'#') => Some(at),
        Some(_) => None,
    }
}

/// Labels of lower-case letters, digits and hyphens, the last no number, none in punycode: nothing to map or to check.
fn is_plain_host(host: &[u8]) -> bool {
    let mut last = &host[..0];
    for label in host.split(|&byte| byte == b'.') {
        if label.is_empty()
            || label.starts_with(b"xn--")
            || !label.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
        {
            return false;
        }
        last = label;
    }
    last.first().is_some_and(u8::is_ascii_lowercase)
}

/// As the URL standard asks: what the encoding does not have becomes a character reference, percent-encoded.
fn encode_query<'a>(text: &'a str, encoding: &'static Encoding) -> Cow<'a, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut encoder = encoding.new_encoder();
    let mut out = Vec::with_capacity(text.len() * 2);
    let mut rest = text;
    loop {
        let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len()).unwrap_or(rest.len() * 4 + 16);
        out.reserve(room);
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut out, true);
        rest = rest.get(read..).unwrap_or_default();
        match result {
            EncoderResult::InputEmpty => return Cow::Owned(out),
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(c) => out.extend_from_slice(format!("%26%23{}%3B", u32::from(c)).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the fast way says, if it says anything.
    fn plain(base: &WebUrl, link: &str) -> Option<Result<WebUrl, NotWeb>> {
        let base = Base::new(base.clone());
        let mut text = String::new();
        let parts = base.plain(link.as_bytes(), &mut text)?;
        Some(if text.len() > URL_BYTES_MAX { Err(NotWeb::TooLong) } else { Ok(parts.url(&text)) })
    }

    #[test]
    fn ordinary_links_go_the_fast_way() {
        let base = WebUrl::parse("https://a.test:8443/b/c/d.html?e").unwrap();
        for (link, expected) in [
            ("x.html", "https://a.test:8443/b/c/x.html"),
            ("x/y-z_1.html?a=1&b=[2]#f g", "https://a.test:8443/b/c/x/y-z_1.html?a=1&b=[2]"),
            ("./x", "https://a.test:8443/b/c/x"),
            ("../x", "https://a.test:8443/b/x"),
            ("../../../x", "https://a.test:8443/x"),
            ("../", "https://a.test:8443/b/"),
            ("/x%20y", "https://a.test:8443/x%20y"),
            ("//b.test/x", "https://b.test/x"),
            ("http://b.test/x", "http://b.test/x"),
            ("http://a.test/x", "http://a.test/x"),
            ("https://a.test:8443/x", "https://a.test:8443/x"),
        ] {
            let url = plain(&base, link).unwrap().unwrap();
            assert_eq!(url.as_str(), expected);
            assert_eq!(Ok(url), base.join(link), "{link}");
        }
        let literal = WebUrl::parse("http://[::1]:8080/x").unwrap();
        assert_eq!(plain(&literal, "http://[::1]:8080/y").unwrap(), literal.join("http://[::1]:8080/y"));
    }

    #[test]
    fn what_the_encoding_lacks_is_sent_as_a_reference() {
        let mut base = Base::new(WebUrl::parse("http://a.test/").unwrap());
        let koi8 = Encoding::for_label(b"koi8-r").unwrap();
        assert_eq!(base.any("?я=é#я", koi8).unwrap().as_str(), "http://a.test/?%D1=%26%23233%3B");
        assert_eq!(base.any("я?я", UTF_8).unwrap().as_str(), "http://a.test/%D1%8F?%D1%8F");
        assert_eq!(base.any("//b.test/?я", koi8).unwrap().as_str(), "http://b.test/?%D1");
    }

    const BASES: &str = "https?://(a\\.test|A-b\\.test\\.|127\\.0\\.0\\.1|\\[::1\\]|b)(:80|:443|:8080)?(/[a-z.~%é;]{0,4}){0,4}(\\?[a/?]{0,3})?";
    const LINKS: &str = "(http:|https:|HTTP:|//|/|\\./|\\.\\./|\\.|a|b\\.test|a\\.test|127\\.0\\.0\\.1|\\[::1\\]|xn--a|1|:|:80|:8080|@|\\?|#|\
        %2e|%2E|%20|%|\\\\|;|=|&|'|\"|<|\\^|\\||`|\\{|~|é| |\t|\n|-|_|0x7|mailto:|\\[|\\]|!|\\$|\\*|,|\\(){0,8}";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn the_fast_way_says_what_the_slow_way_says(base in BASES, link in LINKS) {
            let Ok(base) = WebUrl::parse(&base) else { return Ok(()) };
            let trimmed = link.trim_matches(|c: char| c <= ' ');
            if !trimmed.is_empty() && let Some(found) = plain(&base, trimmed) {
                prop_assert_eq!(found, base.join(&link), "{} {}", base, link);
            }
            let mut any = Base::new(base.clone());
            prop_assert_eq!(any.any(&link, UTF_8), base.join(&link), "{} {}", base, link);
        }
    }
}
