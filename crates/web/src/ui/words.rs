//! Numbers, sizes and moments as people say them, and addresses as links hold them. All pure: what time it is now is given.
//!
//! Moments are told in UTC, as archives do: what a page said on a day must not depend on who looks.

use crate::wayback::{Ask, Modifier};
use herodotus_base::Timestamp;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// `12,345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 page`, `12,345 pages`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `1.4 MB`: powers of ten, as disks are sold and networks are counted.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if number < 1000 {
        return format!("{number} B");
    }
    let mut value = number as f64 / 1000.0;
    let mut unit = "kB";
    for next in UNITS.iter().skip(1) {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// `42 s`, `3 min`, `2 h 5 min`, `3 days`.
pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => counted(seconds / 86_400, "day", "days"),
    }
}

/// `0.4 ms`, `12 ms`, `1.5 s`: how long an answer took.
pub(crate) fn millis(millis: f64) -> String {
    match millis {
        _ if !millis.is_finite() || millis < 0.0 => "?".to_owned(),
        0.0..9.95 => format!("{millis:.1} ms"),
        9.95..999.5 => format!("{millis:.0} ms"),
        _ => format!("{:.1} s", millis / 1000.0),
    }
}

/// `4.2 %`, of a share of 1. Little is not nothing.
pub(crate) fn percent(share: f64) -> String {
    let hundredths = if share.is_finite() { share.clamp(0.0, 1.0) * 100.0 } else { 0.0 };
    match hundredths {
        0.0 => "0 %".to_owned(),
        0.0..0.001 => "under 0.001 %".to_owned(),
        0.001..0.1 => format!("{hundredths:.3} %"),
        0.1..9.95 => format!("{hundredths:.1} %"),
        _ => format!("{hundredths:.0} %"),
    }
}

/// A part of a stamp of fourteen digits.
fn part(stamp: &str, from: usize, to: usize) -> usize {
    stamp.get(from..to).and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

pub(crate) fn month_name(month: usize) -> &'static str {
    MONTHS.get(month.wrapping_sub(1)).copied().unwrap_or("?")
}

pub(crate) fn month_short(month: usize) -> &'static str {
    let name = month_name(month);
    name.get(..3).unwrap_or(name)
}

/// `2 January 2026`, of a stamp.
pub(crate) fn date(stamp: &str) -> String {
    format!("{} {} {}", part(stamp, 6, 8), month_name(part(stamp, 4, 6)), stamp.get(..4).unwrap_or("?"))
}

/// `2 Jan 2026`, of a stamp.
pub(crate) fn date_short(stamp: &str) -> String {
    format!("{} {} {}", part(stamp, 6, 8), month_short(part(stamp, 4, 6)), stamp.get(..4).unwrap_or("?"))
}

/// `03:04`, of a stamp.
pub(crate) fn clock(stamp: &str) -> String {
    format!("{:02}:{:02}", part(stamp, 8, 10), part(stamp, 10, 12))
}

/// `2 January 2026, 03:04:05 UTC`, of a stamp.
pub(crate) fn moment(stamp: &str) -> String {
    format!("{}, {}:{:02} UTC", date(stamp), clock(stamp), part(stamp, 12, 14))
}

/// The moment of a stamp of fourteen digits, as `<time datetime>` wants it.
pub(crate) fn datetime(stamp: &str) -> String {
    Timestamp::parse(stamp).map_or_else(|_| String::new(), |time| time.rfc3339())
}

/// The stamp of a moment in RFC 3339; as it came where it is none.
pub(crate) fn stamp_of(time: &str) -> String {
    Timestamp::parse(time).map_or_else(|_| time.to_owned(), |time| time.digits14())
}

/// `5 minutes ago`; older than a month: the date.
pub(crate) fn ago(stamp: &str, now: Timestamp) -> String {
    let Ok(then) = Timestamp::parse(stamp) else { return String::new() };
    let seconds = (now.millis() - then.millis()).div_euclid(1000);
    let Ok(seconds) = u64::try_from(seconds) else { return date(stamp) };
    match seconds {
        0..45 => "just now".to_owned(),
        45..5400 => format!("{} ago", counted((seconds + 30) / 60, "minute", "minutes")),
        5400..79_200 => format!("{} ago", counted((seconds + 1800) / 3600, "hour", "hours")),
        79_200..172_800 => "yesterday".to_owned(),
        172_800..2_592_000 => format!("{} ago", counted(seconds / 86_400, "day", "days")),
        _ => date(stamp),
    }
}

/// Weekday of the first of a month, Monday = 0, and how many days the month has. Years that no stamp can hold: none.
pub(crate) fn month_shape(year: i32, month: usize) -> Option<(usize, usize)> {
    let first = |year: i32, month: usize| Timestamp::parse(&format!("{year:04}{month:02}01")).ok();
    let this = first(year, month)?;
    let next = if month == 12 { first(year + 1, 1) } else { first(year, month + 1) };
    let days = next.map_or(31, |next| (next.millis() - this.millis()) / 86_400_000);
    // 1 January 1970 was a Thursday.
    let weekday = (this.millis().div_euclid(86_400_000) + 3).rem_euclid(7);
    Some((usize::try_from(weekday).ok()?, usize::try_from(days).ok()?))
}

/// Bytes that mean something to a URL parser even inside a path that holds a URL, or that it would drop or turn.
fn is_risky(byte: u8) -> bool {
    !(b'!'..=b'~').contains(&byte) || b"\"#<>\\^`{|}".contains(&byte)
}

fn encode(text: &str, must: impl Fn(u8) -> bool) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        if must(byte) {
            safe.push_str(&format!("%{byte:02X}"));
        } else {
            safe.push(char::from(byte));
        }
    }
    safe
}

/// A value in a query, or one step of a path.
pub(crate) fn component(text: &str) -> String {
    encode(text, |byte| !byte.is_ascii_alphanumeric() && !b"-_.~".contains(&byte))
}

/// A name or value of a query or a form, as it was meant. What is no text becomes the sign for that.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let mut hex =
            || ahead.next().and_then(|b| char::from(b).to_digit(16)).and_then(|digit| u8::try_from(digit).ok());
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => match (hex(), hex()) {
                (Some(high), Some(low)) => {
                    bytes.push(high * 16 + low);
                    rest = ahead;
                }
                _ => bytes.push(b'%'),
            },
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A path below `/host/<host>`, kept as it is but for what would end it.
pub(crate) fn below(path: &str) -> String {
    if has_dots(path) { component(path) } else { encode(path, |byte| is_risky(byte) || byte == b'?') }
}

/// Whether a browser would take steps out of this path: it counts encoded dots as dots.
fn has_dots(path: &str) -> bool {
    path.to_ascii_lowercase().replace("%2e", ".").split(['/', '\\']).any(|step| step == "." || step == "..")
}

/// An archived URL after `/web/<stamp>/`: as it is, so that people can read and edit it, unless a browser would not send it so.
pub(crate) fn web_url(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    if has_dots(path) { component(url) } else { encode(url, is_risky) }
}

/// Where a version is shown.
pub(crate) fn viewer(stamp: &str, url: &str) -> String {
    Ask::path(stamp, Modifier::None, &web_url(url))
}

/// Where all versions of a URL are listed.
pub(crate) fn calendar(url: &str) -> String {
    Ask::path("*", Modifier::None, &web_url(url))
}

/// Two versions beside each other.
pub(crate) fn difference(url: &str, from: &str, to: &str) -> String {
    format!("/diff?url={}&from={from}&to={to}", component(url))
}

/// The WARC record of a version.
pub(crate) fn record(stamp: &str, url: &str) -> String {
    format!("/warc/{stamp}/{}", web_url(url))
}

pub(crate) fn host(host: &str) -> String {
    format!("/host/{}", component(host))
}

pub(crate) fn crawl(name: &str) -> String {
    format!("/crawls/{}", component(name))
}

/// A URL as people read it: without `http://`, and without the slash of a bare host.
pub(crate) fn plain(url: &str) -> &str {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).unwrap_or(url);
    match rest.strip_suffix('/') {
        Some(host) if !host.contains('/') => host,
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_shares_are_told_as_people_say_them() {
        let said = [0.0, 0.42, 9.96, 12.4, 999.4, 999.6, 1512.0, f64::NAN, -1.0].map(millis);
        assert_eq!(said, ["0.0 ms", "0.4 ms", "10 ms", "12 ms", "999 ms", "1.0 s", "1.5 s", "?", "?"]);
        let said = [0.0, 1e-9, 0.0005, 0.042, 0.5, 1.0, 7.0, f64::NAN].map(percent);
        assert_eq!(said, ["0 %", "under 0.001 %", "0.050 %", "4.2 %", "50 %", "100 %", "100 %", "0 %"]);
    }

    #[test]
    fn numbers_are_written_as_people_read_them() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
        for (number, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (999_499, "999 kB"),
            (999_600, "1.0 MB"),
            (u64::MAX, "18 EB"),
        ] {
            assert_eq!(bytes(number), text);
        }
        assert_eq!(counted(1, "page", "pages"), "1 page");
        assert_eq!(counted(2000, "page", "pages"), "2,000 pages");
        assert_eq!(duration(3725), "1 h 2 min");
    }

    #[test]
    fn moments_are_told_in_words() {
        let now = Timestamp::parse("20260302120000").unwrap();
        for (stamp, text) in [
            ("20260302115950", "just now"),
            ("20260302115500", "5 minutes ago"),
            ("20260302110000", "60 minutes ago"),
            ("20260302090000", "3 hours ago"),
            ("20260301100000", "yesterday"),
            ("20260225120000", "5 days ago"),
            ("20190102030405", "2 January 2019"),
            ("20270101000000", "1 January 2027"),
            ("nonsense", ""),
        ] {
            assert_eq!(ago(stamp, now), text, "{stamp}");
        }
        assert_eq!(moment("20260102030405"), "2 January 2026, 03:04:05 UTC");
        // Nothing that a caller might pass panics.
        for odd in ["", "2026", "é", "99999999999999"] {
            let _ = (moment(odd), date_short(odd), datetime(odd), stamp_of(odd));
        }
    }

    #[test]
    fn months_begin_on_their_weekday() {
        assert_eq!(month_shape(2026, 11), Some((6, 30)));
        assert_eq!(month_shape(2024, 2), Some((3, 29)));
        assert_eq!(month_shape(1969, 12), Some((0, 31)));
        assert_eq!(month_shape(9999, 12), Some((2, 31)));
        assert_eq!(month_shape(2026, 13), None);
        assert_eq!(month_shape(-1, 1), None);
    }

    #[test]
    fn an_archived_url_in_a_link_stays_what_it_is() {
        for (url, text) in [
            ("http://example.org/a?b=c&d", "http://example.org/a?b=c&d"),
            ("http://example.org/a b#c\"<>", "http://example.org/a%20b%23c%22%3C%3E"),
            ("http://example.org\\..\\crawls", "http%3A%2F%2Fexample.org%5C..%5Ccrawls"),
            ("http://example.org/../../../../crawls", "http%3A%2F%2Fexample.org%2F..%2F..%2F..%2F..%2Fcrawls"),
            ("http://example.org/%2E%2e/x", "http%3A%2F%2Fexample.org%2F%252E%252e%2Fx"),
            ("http://example.org/?/../x", "http://example.org/?/../x"),
            ("http://example.org/\u{e9}\n\t", "http://example.org/%C3%A9%0A%09"),
        ] {
            assert_eq!(web_url(url), text);
        }
    }

    #[test]
    fn what_is_encoded_comes_back() {
        for text in ["a b", "http://example.org/?a=b&c=%20#d", "\u{e9}\u{1f3fa}", "100%", "+"] {
            assert_eq!(decoded(&component(text)), text);
        }
        assert_eq!(decoded("a+b%2"), "a b%2");
        assert_eq!(decoded("%ff%zz"), "\u{fffd}%zz");
    }

    #[test]
    fn urls_are_shown_without_their_noise() {
        assert_eq!(plain("https://example.org/"), "example.org");
        assert_eq!(plain("http://example.org/a/"), "example.org/a/");
        assert_eq!(plain("urn:x"), "urn:x");
    }
}
