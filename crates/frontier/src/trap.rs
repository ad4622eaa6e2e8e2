//! Sites without an end: how they are told from large ones.
//!
//! What can be seen in one URL is seen here; what takes counting (dates, queries, session ids) is given a shape here, and
//! counted by the frontier under it. Every trap stops with a code that the crawl reports.

use crate::keys::hash;
use crate::settings::Traps;
use herodotus_page::WebUrl;

/// A URL that only a trap would have.
pub(crate) fn of_url(traps: &Traps, url: &WebUrl) -> Option<&'static str> {
    let mut segments: Vec<&str> = url.path().split('/').filter(|s| !s.is_empty()).collect();
    // Slashes count even with nothing between them.
    if url.path().split('/').count() > traps.path_segments + 2 {
        return Some("trap_path_depth");
    }
    if url.query().is_some_and(|q| q.split('&').count() > traps.parameters) {
        return Some("trap_parameters");
    }
    // `/a/b/a/b/a/b`: relative links on a page that answers everywhere.
    segments.sort_unstable();
    let longest = segments.chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap_or(0);
    (longest > traps.repeats).then_some("trap_repeated_segments")
}

/// What may be counted of a URL: under which shape, how many are allowed, and what it is called beyond that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) shape: u64,
    pub(crate) most: u32,
    pub(crate) code: &'static str,
}

pub(crate) fn counted(traps: &Traps, url: &WebUrl) -> Vec<Counted> {
    let mut out = Vec::new();
    if let Some(bare) = without_session(url.target()) {
        out.push(Counted { shape: hash(&format!("session {bare}")), most: 1, code: "trap_session_id" });
    }
    if names_a_date(url.target()) {
        let mut shape: Vec<char> = url.target().chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        // Runs of digits count as one: the ninth and the tenth are days alike.
        shape.dedup_by(|a, b| *a == '0' && *b == '0');
        let shape: String = shape.into_iter().collect();
        out.push(Counted { shape: hash(&format!("date {shape}")), most: traps.dates, code: "trap_calendar" });
    }
    if url.query().is_some() {
        let shape = hash(&format!("query {}", url.path()));
        out.push(Counted { shape, most: traps.queries, code: "trap_queries" });
    }
    out
}

/// Names that servers give to the number of a visitor.
const SESSION_NAMES: [&str; 12] = [
    "jsessionid",
    "phpsessid",
    "sessionid",
    "session_id",
    "sessid",
    "sid",
    "aspsessionid",
    "cfid",
    "cftoken",
    "zenid",
    "oscsid",
    "s",
];

/// The target without its session id, if it has one: a known name with a long value of hexadecimal or letters.
fn without_session(target: &str) -> Option<String> {
    let mut found = false;
    let mut out = String::with_capacity(target.len());
    for piece in target.split_inclusive(['?', '&', ';', '/']) {
        let (text, end) = match piece.char_indices().next_back() {
            Some((at, '?' | '&' | ';' | '/')) => piece.split_at(at),
            _ => (piece, ""),
        };
        let is_session = text.split_once('=').is_some_and(|(name, value)| {
            let name = name.to_ascii_lowercase();
            let known = SESSION_NAMES.contains(&name.as_str()) || name.starts_with("aspsessionid");
            known && value.len() >= 16 && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.!:".contains(&b))
        });
        if is_session {
            found = true;
        } else {
            out.push_str(text);
            out.push_str(end);
        }
    }
    found.then_some(out)
}

/// `2031-05`, `2031/5/7`, or a parameter that says year, month, day, week or date with a number.
fn names_a_date(target: &str) -> bool {
    let bytes = target.as_bytes();
    let digits = |at: usize, n: usize| bytes.get(at..at + n).is_some_and(|d| d.iter().all(u8::is_ascii_digit));
    let is_year = |at: usize| {
        let century = bytes.get(at..at + 2).is_some_and(|c| matches!(c, [b'1', b'0'..=b'9'] | [b'2' | b'3', _]));
        century && digits(at, 4) && (at == 0 || !bytes[at - 1].is_ascii_digit())
    };
    let year_month = |at: usize| {
        is_year(at)
            && bytes.get(at + 4).is_some_and(|b| matches!(b, b'-' | b'/' | b'_'))
            && bytes.get(at + 5).is_some_and(u8::is_ascii_digit)
    };
    if (0..bytes.len()).any(year_month) {
        return true;
    }
    let query = target.split_once('?').map_or("", |(_, q)| q);
    query.split('&').any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let name = name.to_ascii_lowercase();
        let says = ["year", "month", "day", "week", "date"].iter().any(|word| name.contains(word));
        says && value.bytes().next().is_some_and(|b| b.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(target: &str) -> WebUrl {
        WebUrl::parse(&format!("http://example.org{target}")).unwrap()
    }

    #[test]
    fn a_path_that_repeats_itself_is_a_trap() {
        let traps = Traps::default();
        for (target, code) in [
            ("/a/b/a/b/a/b", None),
            ("/a/b/a/b/a/b/a/b", Some("trap_repeated_segments")),
            ("/usr/share/doc/usr/index.html", None),
            (&format!("/{}", "x/y/".repeat(13)), Some("trap_path_depth")),
            (&format!("/?{}", "a=1&".repeat(17)), Some("trap_parameters")),
            ("/?a=1&b=2", None),
            (&"/".repeat(30), Some("trap_path_depth")),
        ] {
            assert_eq!(of_url(&traps, &url(target)), code, "{target}");
        }
    }

    #[test]
    fn two_sessions_of_one_page_have_one_shape() {
        let traps = Traps::default();
        let shape = |target: &str| counted(&traps, &url(target)).into_iter().find(|c| c.code == "trap_session_id");
        let first = shape("/p;jsessionid=0123456789ABCDEF0123?x=1").unwrap();
        assert_eq!(first.most, 1);
        assert_eq!(Some(first), shape("/p;jsessionid=FEDCBA9876543210AAAA?x=1"));
        assert_ne!(Some(first), shape("/q;jsessionid=FEDCBA9876543210AAAA?x=1"));
        assert_eq!(shape("/p?PHPSESSID=0123456789abcdef0123"), shape("/p?PHPSESSID=aaaaaaaaaaaaaaaaaaaa"));
        assert_eq!(shape("/p?s=words"), None);
        assert_eq!(shape("/page?id=0123456789abcdef0123"), None);
    }

    #[test]
    fn days_of_a_calendar_have_one_shape_and_articles_have_many() {
        let traps = Traps::default();
        let shape = |target: &str| counted(&traps, &url(target)).into_iter().find(|c| c.code == "trap_calendar");
        assert_eq!(shape("/cal/2031/05/07").unwrap(), shape("/cal/1999/12/31").unwrap());
        assert_eq!(shape("/c?month=5&year=2031").unwrap(), shape("/c?month=6&year=2032").unwrap());
        assert_ne!(shape("/2024/05/07/a-title").unwrap(), shape("/2024/05/07/another").unwrap());
        for target in ["/releases/20240507.html", "/rfc/rfc2616", "/p?page=3", "/v2/3/4", "/12345-6"] {
            assert_eq!(shape(target), None, "{target}");
        }
    }
}
