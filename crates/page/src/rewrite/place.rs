//! Where a link leads in the archive. Nearly all links are plain, and are answered by looking at them and copying: what
//! is behind the host stays as it was written, references and odd bytes included, for the browser to read as it would
//! have read the original. The rest goes through the `url` crate.

use super::{Modifier, Setting};
use crate::WebUrl;
use crate::links::resolve::Base;
use encoding_rs::{Encoding, UTF_8};
use std::fmt::Write;

/// The page's address, its base, and the archive's form.
#[derive(Debug)]
pub(super) struct Place {
    page: WebUrl,
    base: Base,
    /// Where the base's text ends before the last part of its path.
    folder_end: usize,
    /// So many `../` lead to folders of the site; a browser would take more from what stands before it in the archive's
    /// form.
    folders: usize,
    /// `/web/<stamp>`.
    prefix: String,
}

/// What was done with a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is right as it is, or no business of ours.
    Stays,
    /// What replaces it was written.
    Put,
    /// It must be decoded and resolved.
    Odd,
}

/// Whether `&` in a link may begin a character reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    Markup,
    Text,
}

impl Place {
    pub(super) fn new(setting: &Setting<'_>) -> Self {
        // What is no stamp must not break out of an attribute.
        let stamp: String = setting.stamp.chars().filter(char::is_ascii_digit).collect();
        let mut place = Self {
            page: setting.url.clone(),
            base: Base::new(setting.url.clone()),
            folder_end: 0,
            folders: 0,
            prefix: format!("/web/{stamp}"),
        };
        place.set_base(setting.url.clone());
        place
    }

    pub(super) fn page(&self) -> &WebUrl {
        &self.page
    }

    pub(super) fn base(&self) -> &WebUrl {
        self.base.url()
    }

    pub(super) fn stamp(&self) -> &str {
        self.prefix.trim_start_matches("/web/")
    }

    /// Links are read from here on from this address.
    pub(super) fn set_base(&mut self, url: WebUrl) {
        self.folder_end = url.origin().len() + url.path().rfind('/').map_or(0, |at| at + 1);
        self.folders = url.path().bytes().filter(|byte| *byte == b'/').count().saturating_sub(1);
        self.base = Base::new(url);
    }

    /// Looks at a link as it stands, and writes what replaces it if that is easily told.
    pub(super) fn plain(&self, link: &[u8], modifier: Modifier, writing: Writing, out: &mut Vec<u8>) -> Answer {
        let link = trim(link);
        let url = self.base.url();
        match link {
            [] | [b'#', ..] => Answer::Stays,
            [b'/', b'/', rest @ ..] => {
                if !has_plain_host(rest, writing) {
                    return Answer::Odd;
                }
                self.put_prefix(modifier, out);
                out.extend_from_slice(if url.is_https() { b"https:" } else { b"http:" });
                out.extend_from_slice(link);
                Answer::Put
            }
            [b'/', ..] => {
                if !is_settled(link, writing) {
                    return Answer::Odd;
                }
                self.put_prefix(modifier, out);
                out.extend_from_slice(url.origin().as_bytes());
                out.extend_from_slice(link);
                Answer::Put
            }
            [b'h', b't', b't', b'p', b':', b'/', b'/', rest @ ..]
            | [b'h', b't', b't', b'p', b's', b':', b'/', b'/', rest @ ..] => {
                if !has_plain_host(rest, writing) {
                    return Answer::Odd;
                }
                self.put_prefix(modifier, out);
                out.extend_from_slice(link);
                Answer::Put
            }
            [b'?', ..] if !modifier.is_always_written() => Answer::Stays,
            _ => self.relative(link, modifier, writing, out),
        }
    }

    fn relative(&self, link: &[u8], modifier: Modifier, writing: Writing, out: &mut Vec<u8>) -> Answer {
        match scheme_of(link) {
            Some(scheme) if is_web_scheme(scheme) => return Answer::Odd,
            Some(_) => return Answer::Stays,
            None => {}
        }
        let (mut rest, mut climbs) = (link, 0);
        while let [b'.', after @ ..] = rest {
            match after {
                [b'/', after @ ..] => rest = after,
                [b'.', b'/', after @ ..] => {
                    rest = after;
                    climbs += 1;
                }
                _ => return Answer::Odd,
            }
        }
        let begins_oddly = matches!(rest.first(), Some(b'/' | b'?'));
        if climbs > self.folders || begins_oddly || !is_settled(rest, writing) {
            return Answer::Odd;
        }
        if !modifier.is_always_written() {
            return Answer::Stays;
        }
        let url = self.base.url();
        let mut folder = url.as_str().get(..self.folder_end).unwrap_or_default();
        for _ in 0..climbs {
            let parent = folder.strip_suffix('/').and_then(|folder| folder.rfind('/'));
            folder = parent.and_then(|at| folder.get(..=at)).unwrap_or(folder);
        }
        self.put_prefix(modifier, out);
        out.extend_from_slice(folder.as_bytes());
        out.extend_from_slice(rest);
        Answer::Put
    }

    /// Any link, decoded; its query is written in the page's encoding. `None` if it stays.
    pub(super) fn any(&mut self, link: &str, modifier: Modifier, encoding: &'static Encoding) -> Option<String> {
        let link = link.trim_matches(|c: char| c <= ' ');
        if link.is_empty() || link.starts_with('#') {
            return None;
        }
        // A host that is a dot would be a folder in the archive's form; nobody can have been there.
        let url = self.base.any(link, encoding).ok().filter(|url| !matches!(url.host(), "." | ".."))?;
        let mut out = self.prefix.clone();
        out.push_str(modifier.as_str());
        out.push('/');
        out.push_str(url.as_str());
        if let Some((_, fragment)) = link.split_once('#') {
            out.push('#');
            push_fragment(fragment, &mut out);
        }
        Some(out)
    }

    /// A link that is text already. `None` if it stays.
    pub(super) fn text(&mut self, link: &str, modifier: Modifier) -> Option<String> {
        let mut out = Vec::new();
        match self.plain(link.as_bytes(), modifier, Writing::Text, &mut out) {
            Answer::Stays => None,
            // Put together of texts.
            Answer::Put => String::from_utf8(out).ok(),
            Answer::Odd => self.any(link, modifier, UTF_8),
        }
    }

    /// What a link of the page is, whatever its base: what `<base>` is read from.
    pub(super) fn of_page(&self, link: &str) -> Option<WebUrl> {
        self.page.join(link).ok()
    }

    pub(super) fn put_prefix(&self, modifier: Modifier, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix.as_bytes());
        out.extend_from_slice(modifier.as_str().as_bytes());
        out.push(b'/');
    }
}

/// Without the blanks and controls around it, which the URL standard takes off.
pub(super) fn trim(value: &[u8]) -> &[u8] {
    let start = value.iter().position(|byte| *byte > b' ').unwrap_or(value.len());
    let value = &value[start..];
    let end = value.iter().rposition(|byte| *byte > b' ').map_or(0, |at| at + 1);
    &value[..end]
}

/// The scheme that a link begins with, if it does.
fn scheme_of(link: &[u8]) -> Option<&[u8]> {
    let len = link.iter().position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')))?;
    (link.get(len) == Some(&b':') && link.first().is_some_and(u8::is_ascii_alphabetic)).then(|| &link[..len])
}

fn is_web_scheme(scheme: &[u8]) -> bool {
    scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https")
}

/// A host that needs no mapping, perhaps a port, and a settled path.
fn has_plain_host(link: &[u8], writing: Writing) -> bool {
    let Some(len) = link.iter().position(|byte| *byte == b'/') else { return false };
    let (host, path) = link.split_at(len);
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':');
    host.first().is_some_and(u8::is_ascii_alphanumeric) && host.iter().all(is_plain) && is_settled(path, writing)
}

const ODD: u8 = 1;
const SLASH: u8 = 2;
const DOT: u8 = 3;
const PERCENT: u8 = 4;
const AND: u8 = 5;
const END: u8 = 6;

static KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            0..0x20 | b'\\' => ODD,
            b'/' => SLASH,
            b'.' => DOT,
            b'%' => PERCENT,
            b'&' => AND,
            b'?' | b'#' => END,
            _ => 0,
        };
        byte += 1;
    }
    kinds
};

/// Whether a path has no parts that mean folders, however hidden, so that it can be put behind another.
fn is_settled(path: &[u8], writing: Writing) -> bool {
    let mut is_part_start = true;
    for (at, &byte) in path.iter().enumerate() {
        match KINDS[usize::from(byte)] {
            0 => is_part_start = false,
            SLASH => is_part_start = true,
            DOT => {
                if is_part_start {
                    return false;
                }
            }
            PERCENT => {
                if path.get(at + 1..at + 3).is_some_and(|digits| digits.eq_ignore_ascii_case(b"2e")) {
                    return false;
                }
                is_part_start = false;
            }
            AND => {
                if writing == Writing::Markup {
                    return false;
                }
                is_part_start = false;
            }
            END => return true,
            _ => return false,
        }
    }
    true
}

fn push_fragment(fragment: &str, out: &mut String) {
    for c in fragment.chars() {
        match c {
            '\t' | '\n' | '\r' => {}
            '!' | '#'..=';' | '=' | '?'..='_' | 'a'..='~' => out.push(c),
            _ => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "%{byte:02X}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::Mode;
    use proptest::prelude::*;

    /// Where a browser arrives from the replayed page, if within the archive: modifier and address.
    fn arrival(page: &WebUrl, link: &str) -> Option<(String, String)> {
        let at = url::Url::parse(&format!("http://r.test/web/20260102030405/{page}")).unwrap();
        let target = at.join(link).ok()?;
        let text = target.as_str().strip_prefix("http://r.test/web/20260102030405")?;
        let (modifier, url) = text.split_once('/')?;
        Some((modifier.to_owned(), url.to_owned()))
    }

    /// What browsers make of it: the canonical form, which keeps the fragment.
    fn canonical(page: &WebUrl, link: &str) -> Option<String> {
        let mut url = page.to_url().unwrap().join(link).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        url.set_username("").ok()?;
        url.set_password(None).ok()?;
        Some(url.to_string()).filter(|_| !matches!(url.host_str(), Some("." | "..")))
    }

    fn place(page: &WebUrl) -> Place {
        Place::new(&Setting { stamp: "20260102030405", url: page, mode: Mode::Names })
    }

    #[test]
    fn ordinary_links_are_told_without_being_taken_apart() {
        let page = WebUrl::parse("https://a.test:8443/b/c/d.html?e").unwrap();
        let place = place(&page);
        for (link, modifier, expected) in [
            ("x.html", Modifier::Document, None),
            ("../../x.html?a=../..", Modifier::Document, None),
            ("./x", Modifier::Document, None),
            ("?q", Modifier::Document, None),
            ("#f", Modifier::Image, None),
            ("", Modifier::Image, None),
            ("mailto:a@b.test", Modifier::Document, None),
            ("data:image/png;base64,AA", Modifier::Image, None),
            ("/x", Modifier::Document, Some("/web/20260102030405/https://a.test:8443/x")),
            (" /x\n", Modifier::Image, Some("/web/20260102030405im_/https://a.test:8443/x")),
            ("//b.test/x", Modifier::Script, Some("/web/20260102030405js_/https://b.test/x")),
            ("http://b.test:81/x?é#é", Modifier::Style, Some("/web/20260102030405cs_/http://b.test:81/x?é#é")),
            ("x.png", Modifier::Image, Some("/web/20260102030405im_/https://a.test:8443/b/c/x.png")),
            ("../x.png", Modifier::Image, Some("/web/20260102030405im_/https://a.test:8443/b/x.png")),
            ("../../x y.png", Modifier::Image, Some("/web/20260102030405im_/https://a.test:8443/x y.png")),
        ] {
            let mut out = Vec::new();
            let answer = place.plain(link.as_bytes(), modifier, Writing::Markup, &mut out);
            let expected = expected.map_or((Answer::Stays, ""), |text| (Answer::Put, text));
            assert_eq!((answer, str::from_utf8(&out).unwrap()), expected, "{link}");
        }
    }

    const BASES: &str = "https?://(a\\.test|127\\.0\\.0\\.1|b)(:8080)?(/[a-z.~%é;]{0,4}){0,4}(\\?[a/?]{0,3})?";
    const LINKS: &str = "(http:|https:|HTTP:|//|/|\\./|\\.\\./|\\.|a|b\\.test|127\\.0\\.0\\.1|1|:|:80|@|\\?|#|%2e|%20|%|\
        \\\\|;|=|&|'|\"|<|\\^|\\||~|é| |\t|\n|-|mailto:|\\[|!|\\$|,|\\(){0,8}";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// Whatever is written, a browser that follows it asks the archive for what it would have asked the site for.
        #[test]
        fn a_browser_arrives_where_it_would_have_arrived(base in BASES, link in LINKS, is_image: bool) {
            let Ok(page) = WebUrl::parse(&base) else { return Ok(()) };
            let modifier = if is_image { Modifier::Image } else { Modifier::Document };
            let trimmed = link.trim_matches(|c: char| c <= ' ');
            let is_same_page = trimmed.is_empty() || trimmed.starts_with('#');
            let written = place(&page).text(&link, modifier);
            let canonical = canonical(&page, &link);
            match &written {
                Some(written) => {
                    let arrived = arrival(&page, written);
                    let asked = arrived.as_ref().and_then(|(_, url)| WebUrl::parse(url).ok());
                    prop_assert_eq!(&arrived.as_ref().unwrap().0, modifier.as_str());
                    prop_assert_eq!(asked, canonical.as_ref().and_then(|url| WebUrl::parse(url).ok()), "{} {}", link, written);
                    let fragment = |url: &str| url.split_once('#').map(|(_, fragment)| fragment.to_owned());
                    prop_assert_eq!(fragment(&arrived.unwrap().1), canonical.as_deref().and_then(fragment), "{}", link);
                }
                None if is_same_page => {}
                None => {
                    let at = url::Url::parse(&format!("http://r.test/web/20260102030405/{page}")).unwrap();
                    // What the site could not have answered leads nowhere, but not to the live web.
                    if let Ok(target) = at.join(&link)
                        && matches!(target.scheme(), "http" | "https")
                        && !matches!(target.host_str(), Some("." | ".."))
                    {
                        prop_assert_eq!(target.host_str(), Some("r.test"), "{} {}", link, target);
                    }
                    if let Some(canonical) = canonical {
                        prop_assert!(!is_image, "{}", link);
                        prop_assert_eq!(arrival(&page, &link).map(|(_, url)| url), Some(canonical), "{}", link);
                    }
                }
            }
        }
    }
}
