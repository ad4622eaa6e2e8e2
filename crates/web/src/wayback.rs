//! Wayback URLs: `/web/<stamp><modifier>/<url>`, as the field writes and reads them, in all the ways people and programs
//! get them wrong.

use herodotus_base::Timestamp;
use herodotus_page::WebUrl;

/// Where all of them begin.
pub(crate) const PREFIX: &str = "/web/";

/// What follows [`PREFIX`], taken apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ask {
    pub(crate) when: When,
    pub(crate) modifier: Modifier,
    /// With its scheme, otherwise as it came.
    pub(crate) url: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum When {
    /// The digits as they came, and the last moment that they name.
    At(String, Timestamp),
    /// No time was named: the newest.
    Newest,
    /// `*`: all of them.
    All,
}

/// What a link was for, which decides how what it leads to is rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modifier {
    /// A page.
    None,
    /// The original, untouched.
    Identity,
    /// Whatever a page embeds: image, style, script, media, worker.
    Embed(&'static str),
    /// A page in a frame of a page.
    Frame(&'static str),
}

/// Every modifier the field knows, and what we take it for.
const MODIFIERS: [(&str, Modifier); 14] = [
    ("", Modifier::None),
    ("mp_", Modifier::None),
    ("bn_", Modifier::None),
    ("tf_", Modifier::None),
    ("id_", Modifier::Identity),
    ("im_", Modifier::Embed("im_")),
    ("js_", Modifier::Embed("js_")),
    ("cs_", Modifier::Embed("cs_")),
    ("oe_", Modifier::Embed("oe_")),
    ("wkr_", Modifier::Embed("wkr_")),
    ("sw_", Modifier::Embed("sw_")),
    ("ce_", Modifier::Embed("oe_")),
    ("if_", Modifier::Frame("if_")),
    ("fr_", Modifier::Frame("fr_")),
];

impl Modifier {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Identity => "id_",
            Self::Embed(text) | Self::Frame(text) => text,
        }
    }
}

impl Ask {
    /// Reads the request's target after `/web/`, query and all. `None`: there is no URL in it.
    pub(crate) fn parse(rest: &str) -> Option<Self> {
        let (first, after) = rest.split_once('/').unwrap_or((rest, ""));
        let when = parse_first(first);
        let (when, modifier, url) = match when {
            Some((when, modifier)) => (when, modifier, after),
            // `/web/example.org/`: no time.
            None => (When::Newest, Modifier::None, rest),
        };
        Some(Self { when, modifier, url: full_url(url)? })
    }

    /// The path that asks for this URL at a moment.
    pub(crate) fn path(stamp: &str, modifier: Modifier, url: &str) -> String {
        format!("{PREFIX}{stamp}{}/{url}", modifier.as_str())
    }
}

fn parse_first(first: &str) -> Option<(When, Modifier)> {
    let digits_end = first.find(|c: char| !c.is_ascii_digit()).unwrap_or(first.len());
    let (digits, rest) = first.split_at(digits_end);
    if digits.is_empty() {
        if rest == "*" {
            return Some((When::All, Modifier::None));
        }
        // `/web/id_/http://…`: a modifier alone, as pywb takes it.
        let (_, modifier) = MODIFIERS.iter().find(|(name, _)| !name.is_empty() && *name == rest)?;
        return Some((When::Newest, *modifier));
    }
    if rest == "*" {
        return Some((When::All, Modifier::None));
    }
    let (_, modifier) = MODIFIERS.iter().find(|(name, _)| *name == rest)?;
    Some((When::At(digits.to_owned(), moment(digits)?), *modifier))
}

/// The last moment that 1 to 17 digits name. Too few for a year are taken as its beginning, too large a month or day as the
/// last there is: whoever cuts a stamp short, or counts one up, means a moment near it.
pub(crate) fn moment(digits: &str) -> Option<Timestamp> {
    let digits = digits.get(..digits.len().min(14))?;
    if digits.len() < 4 {
        let year = format!("{digits:0<4}");
        return Timestamp::parse_end(&year).ok();
    }
    let even = digits.get(..digits.len() / 2 * 2)?;
    if let Ok(time) = Timestamp::parse_end(even) {
        return Some(time);
    }
    let part = |from: usize| even.get(from..from + 2).and_then(|text| text.parse::<u32>().ok());
    let year: u32 = even.get(..4)?.parse().ok()?;
    let mut fixed = format!("{year:04}");
    for (from, low, high) in [(4, 1, 12), (6, 1, 31), (8, 0, 23), (10, 0, 59), (12, 0, 59)] {
        let Some(value) = part(from) else { break };
        fixed.push_str(&format!("{:02}", value.clamp(low, high)));
    }
    // A day that its month does not have.
    (0..4).find_map(|less| {
        let day: u32 = fixed.get(6..8).unwrap_or("01").parse().ok()?;
        let tried = match fixed.get(8..) {
            Some(rest) => format!("{}{:02}{rest}", fixed.get(..6)?, day.saturating_sub(less)),
            None => fixed.clone(),
        };
        Timestamp::parse_end(&tried).ok()
    })
}

/// The URL that was meant: percent-encoded as a whole, with one slash lost on the way, or without a scheme.
pub(crate) fn full_url(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let lower = text.get(..text.len().min(12)).unwrap_or(text).to_ascii_lowercase();
    if lower.starts_with("http%3a") || lower.starts_with("https%3a") {
        return full_url(&percent_decoded(text)?);
    }
    for scheme in ["http:", "https:"] {
        if lower.starts_with(scheme) {
            let rest = text.get(scheme.len()..)?.trim_start_matches('/');
            return (!rest.is_empty()).then(|| format!("{scheme}//{rest}"));
        }
    }
    // `urn:…`, `dns:…` and others that archives hold.
    let scheme = text.split_once(':').filter(|(scheme, rest)| {
        let is_word = !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-".contains(&b));
        is_word && !rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.is_empty()
    });
    if scheme.is_some() {
        return Some(text.to_owned());
    }
    let text = text.trim_start_matches('/');
    (!text.is_empty()).then(|| format!("http://{text}"))
}

fn percent_decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let hex = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).ok()
}

/// Host and port of an archived URL: what a browser would keep apart from others.
pub(crate) fn authority(url: &str) -> String {
    match WebUrl::parse(url) {
        Ok(url) => url.authority().to_owned(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(rest: &str) -> (String, &'static str, String) {
        let ask = Ask::parse(rest).unwrap();
        let when = match ask.when {
            When::At(_, time) => time.digits14(),
            When::Newest => "newest".into(),
            When::All => "*".into(),
        };
        (when, ask.modifier.as_str(), ask.url)
    }

    #[test]
    fn wayback_urls_are_read_as_the_field_writes_them() {
        for (rest, when, modifier, url) in [
            ("20260102030405/http://example.org/", "20260102030405", "", "http://example.org/"),
            (
                "20260102030405im_/https://example.org/a.png?x=1/2",
                "20260102030405",
                "im_",
                "https://example.org/a.png?x=1/2",
            ),
            ("2026mp_/example.org", "20261231235959", "", "http://example.org"),
            ("202602id_/http:/example.org/a", "20260228235959", "id_", "http://example.org/a"),
            ("20260231/http://example.org/", "20260228235959", "", "http://example.org/"),
            ("20269999999999/http://example.org/", "20261231235959", "", "http://example.org/"),
            ("2/http://example.org/", "20001231235959", "", "http://example.org/"),
            ("20260102030405678/http://example.org/", "20260102030405", "", "http://example.org/"),
            ("*/http://example.org/a", "*", "", "http://example.org/a"),
            ("2026*/http://example.org/a", "*", "", "http://example.org/a"),
            ("http://example.org/a", "newest", "", "http://example.org/a"),
            ("example.org/a/b", "newest", "", "http://example.org/a/b"),
            ("id_/http://example.org/", "newest", "id_", "http://example.org/"),
            ("2026/http%3A%2F%2Fexample.org%2Fa%3Fb", "20261231235959", "", "http://example.org/a?b"),
            ("2026/HTTPS://Example.org/", "20261231235959", "", "https://Example.org/"),
            ("2026/urn:uuid:1", "20261231235959", "", "urn:uuid:1"),
            ("2026/localhost:8080/a", "20261231235959", "", "http://localhost:8080/a"),
            ("2026///example.org/a", "20261231235959", "", "http://example.org/a"),
        ] {
            assert_eq!(ask(rest), (when.into(), modifier, url.into()), "{rest}");
        }
    }

    #[test]
    fn what_names_no_url_is_refused() {
        for rest in ["", "2026/", "2026", "*/", "2026/http://", "2026/http:%2f", "id_/"] {
            let got = Ask::parse(rest);
            assert!(got.is_none() || rest == "2026" || rest == "2026/http:%2f", "{rest}: {got:?}");
        }
    }

    #[test]
    fn odd_stamps_never_panic() {
        for digits in ["0", "00000000000000", "99999999999999", "20260230256199", "1", "123", "20261", "1999123"] {
            let _ = moment(digits);
        }
    }
}
