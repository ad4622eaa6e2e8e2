//! Host names as they stand in keys: unescaped, lower case, international names in their ASCII form (IDNA 2003, as
//! Python's codec does it), and IPv4 addresses in the one usual spelling whatever the notation (`1.2`, `0300.1.1.1`).

use super::{push_canonical, unescape};
use memchr::memmem;
use std::borrow::Cow;
use std::net::Ipv4Addr;
use stringprep::tables;
use unicode_normalization::UnicodeNormalization as _;

/// The host in canonical form, in the usual order of labels. May be empty: `http://.../`.
pub(super) fn canonical(host: &[u8]) -> Cow<'_, [u8]> {
    if is_plain(host) {
        return Cow::Borrowed(host);
    }
    let mut host = unescape(host);
    if !host.is_ascii() {
        let text: String = host.utf8_chunks().map(|chunk| chunk.valid()).collect();
        if let Some(ascii) = idna_ascii(&text) {
            host = Cow::Owned(ascii);
        }
    }
    let single_dots = halve_dots(&host);
    let start = single_dots.iter().position(|&byte| byte != b'.').unwrap_or(single_dots.len());
    let end = single_dots.iter().rposition(|&byte| byte != b'.').map_or(start, |last| last + 1);
    let host = &single_dots[start..end];
    if let Some(address) = ipv4(host) {
        return Cow::Owned(address.to_string().into_bytes());
    }
    let mut out = Vec::with_capacity(host.len());
    push_canonical(&mut out, host);
    Cow::Owned(out)
}

/// Without `www.`, `www2.` and the like in front.
pub(super) fn without_www(host: &[u8]) -> &[u8] {
    let Some(rest) = host.strip_prefix(b"www") else { return host };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest[digits..].strip_prefix(b".").unwrap_or(host)
}

/// Most hosts: small letters, digits and hyphens in non-empty labels, and not an IPv4 address in any notation.
fn is_plain(host: &[u8]) -> bool {
    let in_label = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    !host.first().is_none_or(u8::is_ascii_digit)
        && host.split(|&byte| byte == b'.').all(|label| !label.is_empty() && label.iter().all(|&byte| in_label(byte)))
}

/// `..` becomes `.`, once, left to right: what `bytes.replace` does.
fn halve_dots(host: &[u8]) -> Cow<'_, [u8]> {
    if memmem::find(host, b"..").is_none() {
        return Cow::Borrowed(host);
    }
    let mut out = Vec::with_capacity(host.len());
    let mut rest = host;
    while let Some(at) = memmem::find(rest, b"..") {
        out.extend_from_slice(&rest[..=at]);
        rest = &rest[at + 2..];
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// One number is the whole address, modulo 2³². Else `inet_aton` without hexadecimal: a part with a leading zero is
/// octal, and the last part fills what is left.
fn ipv4(host: &[u8]) -> Option<Ipv4Addr> {
    if !host.first()?.is_ascii_digit() || !host.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') {
        return None;
    }
    let digits = |part: &[u8], radix: u32| -> Option<u32> {
        part.iter().try_fold(0u32, |number, digit| {
            let digit = u32::from(digit - b'0');
            if digit >= radix { None } else { number.checked_mul(radix)?.checked_add(digit) }
        })
    };
    if !host.contains(&b'.') {
        let address =
            host.iter().fold(0u32, |number, digit| number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')));
        return Some(Ipv4Addr::from(address));
    }
    let mut address = 0u32;
    let mut parts = host.split(|&byte| byte == b'.').peekable();
    for nth in 0..4u32 {
        let part = parts.next()?;
        if part.is_empty() {
            return None;
        }
        let value = digits(part, if part[0] == b'0' { 8 } else { 10 })?;
        let bits_left = 32 - 8 * nth;
        if parts.peek().is_none() {
            return (u64::from(value) < 1 << bits_left).then(|| Ipv4Addr::from(address | value));
        }
        if value > 255 {
            return None;
        }
        address |= value << (bits_left - 8);
    }
    None
}

/// The ASCII form of an international host name, or `None` where Python's codec raises.
fn idna_ascii(host: &str) -> Option<Vec<u8>> {
    if host.is_ascii() {
        // Python's fast path: an empty last label is a trailing dot.
        let mut labels = host.split('.').rev();
        let last_fits = labels.next().is_none_or(|label| label.len() < 64);
        let fits = host.is_empty() || (last_fits && labels.all(|label| (1..64).contains(&label.len())));
        return fits.then(|| host.as_bytes().to_vec());
    }
    let dots = ['.', '\u{3002}', '\u{ff0e}', '\u{ff61}'];
    let (host, dot) = match host.strip_suffix(dots) {
        Some(host) => (host, &b"."[..]),
        None => (host, &b""[..]),
    };
    let mut out = Vec::with_capacity(host.len() + 8);
    for label in host.split(dots) {
        if !out.is_empty() {
            out.push(b'.');
        }
        let start = out.len();
        if label.is_ascii() {
            out.extend_from_slice(label.as_bytes());
        } else {
            let label = nameprep(label)?;
            if label.is_ascii() {
                out.extend_from_slice(label.as_bytes());
            } else {
                if label.starts_with("xn--") {
                    return None;
                }
                out.extend_from_slice(b"xn--");
                punycode(&label, &mut out)?;
            }
        }
        if !(1..64).contains(&(out.len() - start)) {
            return None;
        }
    }
    out.extend_from_slice(dot);
    Some(out)
}

/// RFC 3491 as Python does it: lower case by today's tables, all else by those of Unicode 3.2, to which newer
/// characters are unknown and pass unchanged (the crate's own `nameprep` refuses them, and with them every emoji
/// domain).
fn nameprep(label: &str) -> Option<String> {
    let mut mapped = String::with_capacity(label.len());
    for c in label.chars().filter(|&c| !tables::commonly_mapped_to_nothing(c)) {
        let start = mapped.len();
        mapped.extend(tables::case_fold_for_nfkc(c));
        if mapped[start..].chars().eq([c]) {
            mapped.truncate(start);
            mapped.extend(c.to_lowercase().flat_map(tables::case_fold_for_nfkc));
        }
    }
    let mut label = String::with_capacity(mapped.len());
    for known in mapped.split_inclusive(tables::unassigned_code_point) {
        let known_len = known.trim_end_matches(tables::unassigned_code_point).len();
        label.extend(known[..known_len].nfkc());
        label.push_str(&known[known_len..]);
    }
    let prohibited = |c: char| {
        tables::non_ascii_space_character(c)
            || tables::non_ascii_control_character(c)
            || tables::private_use(c)
            || tables::non_character_code_point(c)
            || tables::surrogate_code(c)
            || tables::inappropriate_for_plain_text(c)
            || tables::inappropriate_for_canonical_representation(c)
            || tables::change_display_properties_or_deprecated(c)
            || tables::tagging_character(c)
    };
    if label.chars().any(prohibited) {
        return None;
    }
    let is_right = |c: char| tables::bidi_r_or_al(c) && !tables::unassigned_code_point(c);
    let is_left = |c: char| tables::bidi_l(c) && !tables::unassigned_code_point(c);
    if label.chars().any(is_right) {
        let ends_right = label.chars().next().is_some_and(is_right) && label.chars().last().is_some_and(is_right);
        if !ends_right || label.chars().any(is_left) {
            return None;
        }
    }
    Some(label)
}

/// RFC 3492. Labels that cannot fit in 63 bytes are refused first, which also bounds the quadratic search.
fn punycode(label: &str, out: &mut Vec<u8>) -> Option<()> {
    let label: Vec<u32> = label.chars().take(64).map(u32::from).collect();
    if label.len() > 59 {
        return None;
    }
    let start = out.len();
    out.extend(label.iter().filter(|&&c| c < 128).map(|&c| c as u8));
    let basic = (out.len() - start) as u64;
    if basic > 0 {
        out.push(b'-');
    }
    let (mut next, mut delta, mut bias, mut done) = (128u32, 0u64, 72u64, basic);
    while done < label.len() as u64 {
        let smallest = label.iter().copied().filter(|&c| c >= next).min()?;
        delta += u64::from(smallest - next) * (done + 1);
        next = smallest;
        for &c in &label {
            if c < next {
                delta += 1;
            }
            if c == next {
                push_delta(delta, bias, out);
                bias = adapted(delta, done + 1, done == basic);
                delta = 0;
                done += 1;
            }
        }
        delta += 1;
        next += 1;
    }
    Some(())
}

fn push_delta(mut delta: u64, bias: u64, out: &mut Vec<u8>) {
    let digit = |value: u64| if value < 26 { b'a' + value as u8 } else { b'0' + (value - 26) as u8 };
    for k in (36u64..).step_by(36) {
        let threshold = k.saturating_sub(bias).clamp(1, 26);
        if delta < threshold {
            break;
        }
        out.push(digit(threshold + (delta - threshold) % (36 - threshold)));
        delta = (delta - threshold) / (36 - threshold);
    }
    out.push(digit(delta));
}

fn adapted(delta: u64, count: u64, first: bool) -> u64 {
    let mut delta = if first { delta / 700 } else { delta / 2 };
    delta += delta / count;
    let mut k = 0;
    while delta > 455 {
        delta /= 35;
        k += 36;
    }
    k + 36 * delta / (delta + 38)
}
