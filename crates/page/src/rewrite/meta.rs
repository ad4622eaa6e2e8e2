//! `<meta>`: the page's own wishes about policy and referrers are hidden, since replay has its own; `refresh` leads into the
//! archive.

use super::header::refresh;
use super::place::Place;

/// What a `<meta>` is to replay.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meta {
    Plain,
    /// The attribute of this name must not be seen.
    Hidden(&'static [u8]),
    /// The new `content`.
    Refresh(String),
}

pub(super) fn meta(place: &mut Place, http_equiv: Option<&str>, name: Option<&str>, content: Option<&str>) -> Meta {
    const HIDDEN: [&str; 5] = [
        "content-security-policy",
        "content-security-policy-report-only",
        "x-content-security-policy",
        "x-webkit-csp",
        // Where third-party scripts are told what the browser is.
        "delegate-ch",
    ];
    let http_equiv = http_equiv.unwrap_or_default().trim();
    if HIDDEN.iter().any(|known| http_equiv.eq_ignore_ascii_case(known)) {
        return Meta::Hidden(b"http-equiv");
    }
    if http_equiv.eq_ignore_ascii_case("refresh") {
        return content.and_then(|content| refresh(place, content)).map_or(Meta::Plain, Meta::Refresh);
    }
    if name.is_some_and(|name| name.trim().eq_ignore_ascii_case("referrer")) {
        return Meta::Hidden(b"name");
    }
    Meta::Plain
}
