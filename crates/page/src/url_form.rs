//! A URL told in a few bytes to someone who has its key, so that an index need not store both.
//!
//! Most URLs are their key put back in order with a scheme and perhaps `www.`: one byte says which. Where case, order
//! of arguments or escapes differ, the code adds what the key does not tell: the upper-case runs and one replaced
//! middle. Whatever the pair, [`expand_url`] gives back exactly the URL; no key is trusted to belong to its URL.
//!
//! Form, version 1: tag `0` and the URL itself; or tag `0x40` with the bits below, then if MIDDLE the lengths of the
//! prefix and suffix kept of the guess (and of the middle, if CASE), the middle, and if CASE pairs (bytes kept, bytes
//! put in upper case) up to the end. Numbers are LEB128.

use crate::surt::host_of_key;
use crate::varint;

const RAW: u8 = 0;
const REBUILT: u8 = 0x40;
const HTTPS: u8 = 0x01;
const WWW: u8 = 0x02;
const DEFAULT_PORT: u8 = 0x04;
const SLASH: u8 = 0x08;
const MIDDLE: u8 = 0x10;
const CASE: u8 = 0x20;
/// The bits that only make sense when the key has a host.
const HOSTED: u8 = HTTPS | WWW | DEFAULT_PORT | SLASH;

/// A code from which, with the key, the exact URL comes back.
pub fn compress_url(key: &str, url: &str) -> Vec<u8> {
    let flags = guess_flags(key, url);
    let guess = rebuild(key, flags).unwrap_or_default().into_bytes();
    let url = url.as_bytes();
    if guess == url {
        return vec![REBUILT | flags];
    }
    let mut raw = Vec::with_capacity(url.len() + 1);
    raw.push(RAW);
    raw.extend_from_slice(url);
    let mut best = raw;
    for with_case in [false, true] {
        let code = difference(&guess, url, REBUILT | flags, with_case);
        if code.len() < best.len() {
            best = code;
        }
    }
    best
}

/// The URL that [`compress_url`] was given; `None` on a code it never makes sense of.
pub fn expand_url(key: &str, form: &[u8]) -> Option<String> {
    let (&tag, mut rest) = form.split_first()?;
    if tag == RAW {
        return String::from_utf8(rest.to_vec()).ok();
    }
    if tag & 0xc0 != REBUILT {
        return None;
    }
    let mut url = rebuild(key, tag & HOSTED)?.into_bytes();
    let (mut prefix_len, mut middle_len) = (url.len(), 0);
    if tag & MIDDLE != 0 {
        prefix_len = varint::take_usize(&mut rest)?;
        let suffix_len = varint::take_usize(&mut rest)?;
        middle_len = if tag & CASE != 0 { varint::take_usize(&mut rest)? } else { rest.len() };
        let middle = varint::take_slice(&mut rest, middle_len)?;
        let suffix_start = url.len().checked_sub(suffix_len)?;
        if prefix_len > suffix_start {
            return None;
        }
        url.splice(prefix_len..suffix_start, middle.iter().copied());
    }
    if tag & CASE != 0 {
        let (before, after) = url.split_at_mut(prefix_len);
        let mut shared = before.iter_mut().chain(&mut after[middle_len..]);
        while !rest.is_empty() {
            let kept = varint::take_usize(&mut rest)?;
            let raised = varint::take_usize(&mut rest)?;
            if raised == 0 {
                return None;
            }
            if kept > 0 {
                shared.nth(kept - 1)?;
            }
            for _ in 0..raised {
                shared.next()?.make_ascii_uppercase();
            }
        }
    } else if !rest.is_empty() {
        return None;
    }
    String::from_utf8(url).ok()
}

/// The flags whose guess comes nearest.
fn guess_flags(key: &str, url: &str) -> u8 {
    let host_len = host_of_key(key).len();
    if !key[host_len..].starts_with(")/") {
        return 0;
    }
    let mut flags = 0;
    if url.starts_with("https://") {
        flags |= HTTPS;
    }
    let after_scheme = url.split_once("://").map_or("", |(_, rest)| rest);
    if after_scheme.as_bytes().get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"www.")) {
        flags |= WWW;
    }
    let (authority, rest) = after_scheme.split_at(after_scheme.find(['/', '?', '#']).unwrap_or(after_scheme.len()));
    let default_port = if flags & HTTPS != 0 { ":443" } else { ":80" };
    if authority.ends_with(default_port) && !key[..host_len].contains(':') {
        flags |= DEFAULT_PORT;
    }
    let path = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let key_path = &key[host_len + 1..];
    let key_path = &key_path[..key_path.find('?').unwrap_or(key_path.len())];
    if path.ends_with('/') && !key_path.ends_with('/') {
        flags |= SLASH;
    }
    flags
}

/// The URL a key suggests; `None` if the flags need a host and the key has none.
fn rebuild(key: &str, flags: u8) -> Option<String> {
    let host = host_of_key(key);
    let Some(rest) = key[host.len()..].strip_prefix(')').filter(|rest| rest.starts_with('/')) else {
        return (flags == 0).then(|| key.to_owned());
    };
    let mut url = String::with_capacity(key.len() + 16);
    url.push_str(if flags & HTTPS != 0 { "https://" } else { "http://" });
    if flags & WWW != 0 {
        url.push_str("www.");
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') => (name, Some(port)),
        _ => (host, None),
    };
    let is_ipv6 = name.contains(':');
    if is_ipv6 {
        url.push('[');
    }
    for (nth, label) in name.rsplit(',').enumerate() {
        if nth > 0 {
            url.push('.');
        }
        url.push_str(label);
    }
    if is_ipv6 {
        url.push(']');
    }
    if let Some(port) = port {
        url.push(':');
        url.push_str(port);
    } else if flags & DEFAULT_PORT != 0 {
        url.push_str(if flags & HTTPS != 0 { ":443" } else { ":80" });
    }
    let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    url.push_str(path);
    if flags & SLASH != 0 {
        url.push('/');
    }
    url.push_str(query);
    Some(url)
}

/// What must be said about a URL beyond the guess.
fn difference(guess: &[u8], url: &[u8], tag: u8, with_case: bool) -> Vec<u8> {
    let same = |&(&guessed, &real): &(&u8, &u8)| guessed == real || (with_case && guessed.to_ascii_uppercase() == real);
    let prefix_len = guess.iter().zip(url).take_while(same).count();
    let (guess_rest, url_rest) = (&guess[prefix_len..], &url[prefix_len..]);
    let suffix_len = guess_rest.iter().rev().zip(url_rest.iter().rev()).take_while(same).count();
    let middle = &url_rest[..url_rest.len() - suffix_len];
    let mut code = vec![tag];
    if guess.len() != url.len() || prefix_len != url.len() {
        code[0] |= MIDDLE;
        varint::push(&mut code, prefix_len as u64);
        varint::push(&mut code, suffix_len as u64);
        if with_case {
            varint::push(&mut code, middle.len() as u64);
        }
        code.extend_from_slice(middle);
    }
    if with_case {
        code[0] |= CASE;
        let guessed = guess[..prefix_len].iter().chain(&guess[guess.len() - suffix_len..]);
        let real = url[..prefix_len].iter().chain(&url[url.len() - suffix_len..]);
        push_case_runs(&mut code, guessed.zip(real));
    }
    code
}

/// Bytes that have no case belong to whichever run is under way, so `%c3%a9` → `%C3%A9` is one run.
fn push_case_runs<'a>(code: &mut Vec<u8>, pairs: impl Iterator<Item = (&'a u8, &'a u8)>) {
    let (mut kept, mut raised, mut caseless) = (0u64, 0u64, 0u64);
    for (guessed, real) in pairs {
        if raised == 0 {
            if guessed == real {
                kept += 1;
            } else {
                raised = 1;
            }
        } else if guessed != real {
            raised += caseless + 1;
            caseless = 0;
        } else if guessed.to_ascii_uppercase() == *real {
            caseless += 1;
        } else {
            varint::push(code, kept);
            varint::push(code, raised);
            (kept, raised, caseless) = (caseless + 1, 0, 0);
        }
    }
    if raised > 0 {
        varint::push(code, kept);
        varint::push(code, raised);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surt::surt;
    use proptest::prelude::*;

    fn code_len(url: &str) -> usize {
        let key = surt(url);
        let code = compress_url(&key, url);
        assert_eq!(expand_url(&key, &code).as_deref(), Some(url), "{key} {code:?}");
        code.len()
    }

    #[test]
    fn an_ordinary_url_needs_one_byte_beside_its_key() {
        for url in [
            "http://example.com/",
            "https://www.example.com/a/b.html?a=1&b=2",
            "http://example.com:8080/a/",
            "https://example.com:443/",
            "http://192.168.0.1/a",
            "http://[::1]/",
            "https://www.example.com/a/?q=1",
            "dns:example.com",
            "urn:uuid:5b9e1e0e-8d4a-4f38-9d0b-6f7fd7c3f6d1",
        ] {
            assert_eq!(code_len(url), 1, "{url}");
        }
    }

    #[test]
    fn capitals_cost_two_bytes_a_run_and_the_rest_little_more_than_itself() {
        assert_eq!(code_len("https://en.wikipedia.org/wiki/Main_Page"), 5);
        assert_eq!(code_len("https://de.wikipedia.org/wiki/%C3%A9"), 3);
        assert_eq!(code_len("http://example.com"), 3);
        assert!(code_len("https://example.com/search?q=a&b=2#top") <= 16);
        assert!(code_len("ftp://example.com/pub/") <= 8);
        assert!(code_len("https://Example.com/%7Euser/Straße?B=1&A=2") < 30);
    }

    #[test]
    fn codes_that_make_no_sense_are_refused() {
        let key = "com,example)/a";
        for code in [
            &b""[..],
            b"\x40rest",
            b"\x80",
            b"\xff",
            b"\x01",
            b"\x50",
            b"\x50\x7f\x00",
            b"\x50\x10\x10",
            b"\x60\x00\x00",
            b"\x60\x00",
            b"\x60\x00\x7f",
            b"\x00\xff",
            b"\x50\x00\x00\xff",
            b"\x70\x00\x00\x7f",
        ] {
            assert_eq!(expand_url(key, code), None, "{code:?}");
        }
        assert_eq!(expand_url("urn:a", b"\x41"), None);
    }

    proptest! {
        #[test]
        fn any_url_comes_back_with_its_own_key(
            site in "(https?://)?(www[0-9]?\\.)?[a-zA-Z0-9.-]{1,12}(:[0-9]{1,4})?",
            rest in "(/[a-zA-Z%ä0-9./-]{0,8}){0,3}(\\?[a-zA-Z=&%]{0,12})?(#[a-z]{0,3})?",
        ) {
            let url = site + &rest;
            let key = surt(&url);
            prop_assert_eq!(expand_url(&key, &compress_url(&key, &url)), Some(url));
        }

        #[test]
        fn any_url_comes_back_with_any_key(key in ".{0,30}", url in ".{0,30}") {
            prop_assert_eq!(expand_url(&key, &compress_url(&key, &url)), Some(url));
        }

        #[test]
        fn no_code_panics(key in "[a-c]{0,3}[,)/:?a-c]{0,8}", code: Vec<u8>) {
            let _ = expand_url(&key, &code);
        }
    }
}
