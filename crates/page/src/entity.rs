//! Character references (`&eacute;`, `&#233;`) decoded as the HTML standard asks, with its table of 2231 names, those
//! old ones included that need no semicolon. `entities.tsv` is Python's `html.entities.html5`, which is that table.

use memchr::memchr;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Names in order, each with its characters' code points in hexadecimal.
static NAMES: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| include_str!("entities.tsv").lines().filter_map(|line| line.split_once('\t')).collect());

const NAME_BYTES_MAX: usize = 32;
/// The longest name that needs no semicolon.
const OLD_NAME_BYTES_MAX: usize = 6;

/// The text with its references decoded. In an attribute `&copy=1` stays, since it is part of a URL.
pub(crate) fn decode(text: &str, in_attribute: bool) -> Cow<'_, str> {
    if memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = push_reference(&mut out, rest, in_attribute).unwrap_or_else(|| {
            out.push('&');
            1
        });
        rest = &rest[len..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Decodes the reference that `text` begins with; answers its length.
fn push_reference(out: &mut String, text: &str, in_attribute: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.get(1) == Some(&b'#') {
        return push_number(out, bytes);
    }
    let run = bytes[1..].iter().take(NAME_BYTES_MAX).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if bytes.get(1 + run) == Some(&b';') && push_named(out, &text[1..run + 2]) {
        return Some(run + 2);
    }
    let old = (2..=run.min(OLD_NAME_BYTES_MAX)).rev().find(|&len| find(&text[1..=len]).is_some())?;
    let next = bytes.get(1 + old);
    if in_attribute && next.is_some_and(|byte| *byte == b'=' || byte.is_ascii_alphanumeric()) {
        return None;
    }
    push_named(out, &text[1..=old]).then_some(1 + old)
}

fn find(name: &str) -> Option<&'static str> {
    let at = NAMES.binary_search_by(|(known, _)| known.as_bytes().cmp(name.as_bytes())).ok()?;
    NAMES.get(at).map(|(_, codes)| *codes)
}

fn push_named(out: &mut String, name: &str) -> bool {
    let Some(codes) = find(name) else { return false };
    out.extend(codes.split(' ').filter_map(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?)));
    true
}

fn push_number(out: &mut String, bytes: &[u8]) -> Option<usize> {
    let (radix, start) = if matches!(bytes.get(2), Some(b'x' | b'X')) { (16, 3) } else { (10, 2) };
    let mut end = start;
    let mut code = 0u32;
    while let Some(digit) = bytes.get(end).and_then(|&byte| char::from(byte).to_digit(radix)) {
        code = code.saturating_mul(radix).saturating_add(digit);
        end += 1;
    }
    if end == start {
        return None;
    }
    out.push(match code {
        0 => char::REPLACEMENT_CHARACTER,
        // The standard reads this range as windows-1252, in which most such pages were written.
        0x80..=0x9f => {
            let byte = [code as u8];
            encoding_rs::WINDOWS_1252.decode_without_bom_handling(&byte).0.chars().next().unwrap_or(' ')
        }
        _ => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    });
    Some(if bytes.get(end) == Some(&b';') { end + 1 } else { end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn references_decode_as_browsers_do() {
        for (text, expected) in [
            ("a &amp; b", "a & b"),
            ("&eacute;&Eacute;&#233;&#xE9;&#XE9", "éÉééé"),
            ("&copy 2020 &copyx", "© 2020 ©x"),
            ("&notit; &notin; &ngE;", "¬it; ∉ ≧̸"),
            ("&#150;&#x80;&#0;&#xD800;&#99999999999;", "–€\u{fffd}\u{fffd}\u{fffd}"),
            ("& &; &# &#x &unknown; &é;", "& &; &# &#x &unknown; &é;"),
            ("&amp;amp;&CounterClockwiseContourIntegral;", "&amp;∳"),
        ] {
            assert_eq!(decode(text, false), expected);
        }
        assert_eq!(decode("?a=1&copy=2&amp;b&lt;&copyx&copy", true), "?a=1&copy=2&b<&copyx©");
    }

    #[test]
    fn the_table_is_whole_and_sorted() {
        assert_eq!(NAMES.len(), 2231);
        assert!(NAMES.is_sorted());
        assert!(NAMES.iter().all(|(name, _)| name.ends_with(';') || name.len() <= OLD_NAME_BYTES_MAX));
        assert!(NAMES.iter().all(|(name, _)| name.len() <= NAME_BYTES_MAX));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[&#x;a-z0-9é]{0,40}", attribute: bool) {
            let _ = decode(&text, attribute);
        }
    }
}
