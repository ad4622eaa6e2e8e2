//! The head of a replayed answer: the original's, under names that do nothing, and the few that still must do something.

use crate::answer::value;
use herodotus_page::{ResponseHead, WebUrl};
use herodotus_store::Entity;
use http::header::{CONTENT_DISPOSITION, CONTENT_LANGUAGE, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};

/// Before each original header's name.
const ORIGINAL: &str = "x-archive-orig-";

/// Headers of an original that say how it travelled, not what it is.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
];

/// What would act on the reader's browser beyond this answer.
const ACTING: [&str; 17] = [
    "access-control-allow-credentials",
    "access-control-allow-origin",
    "alt-svc",
    "clear-site-data",
    "content-security-policy",
    "content-security-policy-report-only",
    "link",
    "location",
    "nel",
    "public-key-pins",
    "refresh",
    "report-to",
    "reporting-endpoints",
    "service-worker-allowed",
    "set-cookie",
    "set-cookie2",
    "strict-transport-security",
];

/// Originals beyond this are not told: browsers and proxies give up long before.
const HEADERS_MAX: usize = 200;

/// The status that a browser is told: the original's, unless it cannot stand in an answer of ours.
pub(super) fn status(entity: &Entity) -> StatusCode {
    let original = ResponseHead::parse(&entity.head).and_then(|head| head.status).unwrap_or(200);
    match StatusCode::from_u16(original) {
        Ok(status) if !status.is_informational() && status != StatusCode::NOT_MODIFIED => status,
        _ => StatusCode::OK,
    }
}

/// Where a redirect leads, made absolute.
pub(super) fn location(entity: &Entity) -> Option<String> {
    let head = ResponseHead::parse(&entity.head)?;
    matches!(head.status, Some(300..=399)).then_some(())?;
    let location = head.header("location")?;
    Some(WebUrl::parse(&entity.url).ok()?.join(&location).ok()?.as_str().to_owned())
}

/// A header of the original.
pub(super) fn original(entity: &Entity, name: &str) -> Option<String> {
    ResponseHead::parse(&entity.head)?.header(name).map(|value| value.into_owned())
}

/// All of the original's headers under names that do nothing, and those of them that are harmless and needed.
pub(super) fn put_originals(entity: &Entity, out: &mut HeaderMap) {
    let Some(head) = ResponseHead::parse(&entity.head) else { return };
    for (name, text) in named(&head) {
        put(out, &format!("{ORIGINAL}{name}"), text);
    }
    for name in [CONTENT_LANGUAGE, CONTENT_DISPOSITION] {
        if let Some(text) = head.header(name.as_str()) {
            out.insert(name, value(&text));
        }
    }
}

/// The original's headers as they were, but for how it travelled. For those who ask for the original.
pub(super) fn put_as_they_were(entity: &Entity, out: &mut HeaderMap) {
    let Some(head) = ResponseHead::parse(&entity.head) else { return };
    for (name, text) in named(&head) {
        if HOP_BY_HOP.contains(&name.as_str()) {
            continue;
        }
        if ACTING.contains(&name.as_str()) {
            put(out, &format!("{ORIGINAL}{name}"), text);
        } else {
            put(out, &name, text);
        }
    }
}

/// Names in lower case, and values as they came.
fn named<'a>(head: &ResponseHead<'a>) -> impl Iterator<Item = (String, &'a [u8])> {
    let pairs = head.headers().take(HEADERS_MAX);
    pairs.filter_map(|(name, text)| Some((std::str::from_utf8(name).ok()?.to_ascii_lowercase(), text)))
}

/// Adds a header, unless it is one that no answer may have.
fn put(out: &mut HeaderMap, name: &str, text: &[u8]) {
    if let (Ok(name), Ok(text)) = (HeaderName::try_from(name), HeaderValue::from_bytes(text)) {
        out.append(name, text);
    }
}
