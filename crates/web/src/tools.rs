//! What the answers for tools (CDX, Memento, WARC) have in common: where a request stands, its parameters, and headers that
//! keep a browser from taking the answer for a page.
//!
//! These answers are the same on both listeners. They hold words that archived sites chose (URLs, media types), so that
//! every one of them is sandboxed and never sniffed, and no other site may read them.

use crate::answer::{self, Trouble};
use crate::archive::PublicAddress;
use crate::guard::misdirected;
use crate::origin::UiSeat;
use crate::site::Site;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use std::fmt::Write;
use tokio::sync::OwnedSemaphorePermit;

/// A request of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Path and query as they came: an archived URL in a path has a query of its own.
    pub(crate) target: String,
    /// Whether the pages' listener was asked.
    is_pages: bool,
    /// Origin under which programs find mementos: `http://localhost:8481`.
    pub(crate) base: String,
    pub(crate) head: HeaderMap,
}

impl Asked {
    /// What follows a prefix of the target.
    pub(crate) fn after(&self, prefix: &str) -> &str {
        self.target.strip_prefix(prefix).unwrap_or_default()
    }

    /// The answer that sends whoever asks for a URL to the machine that holds it, if that is how it is done in this ring.
    pub(crate) async fn sent(&self, site: &Site, url: &str) -> Result<Option<Response>, Trouble> {
        Ok(site.redirect(url).await?.map(|address| self.sent_to(&address)))
    }

    /// The same for a key.
    pub(crate) async fn sent_for_key(&self, site: &Site, key: &str) -> Result<Option<Response>, Trouble> {
        Ok(site.redirect_key(key.to_owned()).await?.map(|address| self.sent_to(&address)))
    }

    fn sent_to(&self, address: &PublicAddress) -> Response {
        let place = match &address.replay {
            Some(replay) if !self.is_pages => replay,
            _ => &address.pages,
        };
        let place = place.trim_end_matches('/').replacen("://*.", "://", 1);
        answer::redirect(StatusCode::FOUND, &format!("{place}{}", self.target))
    }

    pub(crate) fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }
}

/// The pages' listener has checked the name that it was asked under, and says where it stands; here the other does.
impl FromRequestParts<Site> for Asked {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Response> {
        let is_pages = parts.extensions.get::<UiSeat>().is_some();
        let base = match parts.extensions.get::<UiSeat>() {
            Some(seat) => seat.bare_replay_origin(),
            None => {
                let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
                let Some(seat) = site.hosts().replay(host) else { return Err(misdirected(host)) };
                seat.bare_origin()
            }
        };
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        Ok(Self { target, is_pages, base, head: parts.headers.clone() })
    }
}

/// The parameters of a query, decoded as forms are. Those without a value are left out, as Python does.
pub(crate) fn parameters(query: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(_, value)| !value.is_empty()).map(|(name, value)| (decoded(name), decoded(value)))
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let hex = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high << 4 | low) as u8);
                at += 2;
            }
            (b'+', ..) => out.push(b' '),
            _ => out.push(*byte),
        }
        at += 1;
    }
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Writes a URL so that it is one word of ASCII: blanks, controls and what is beyond ASCII percent-encoded, and what `also` says.
pub(crate) fn put_url(out: &mut String, url: &str, also: &[u8]) {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !also.contains(&byte);
    if url.bytes().all(is_plain) {
        return out.push_str(url);
    }
    for byte in url.bytes() {
        match is_plain(byte) {
            true => out.push(char::from(byte)),
            false => _ = write!(out, "%{byte:02X}"),
        }
    }
}

/// An answer that no browser takes for a page.
pub(crate) fn answer(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    response
}

/// Bytes that count as in flight until the last of them is written.
pub(crate) fn held(bytes: impl AsRef<[u8]> + Send + 'static, permit: OwnedSemaphorePermit) -> Bytes {
    struct Held<T>(T, #[expect(dead_code, reason = "held, not read")] OwnedSemaphorePermit);
    impl<T: AsRef<[u8]>> AsRef<[u8]> for Held<T> {
        fn as_ref(&self) -> &[u8] {
            self.0.as_ref()
        }
    }
    Bytes::from_owner(Held(bytes, permit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_python_reads_them() {
        let read = |query| parameters(query).collect::<Vec<_>>();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(read("a=1&b=&c&d=x%20y+z&a=2"), [pair("a", "1"), pair("d", "x y z"), pair("a", "2")]);
        assert_eq!(
            read("a=%&b=%4&c=%zz&d=%C3%A9&e=%ff"),
            [pair("a", "%"), pair("b", "%4"), pair("c", "%zz"), pair("d", "é"), pair("e", "\u{fffd}")]
        );
        assert_eq!(read("url=http://a/?b=c=d"), [pair("url", "http://a/?b=c=d")]);
        assert_eq!(read(""), []);
    }

    #[test]
    fn a_url_is_one_word_of_ascii() {
        let put = |url, also: &[u8]| {
            let mut out = String::new();
            put_url(&mut out, url, also);
            out
        };
        assert_eq!(put("http://a/%20?x=1&y", b""), "http://a/%20?x=1&y");
        assert_eq!(put("http://a/é b\n", b""), "http://a/%C3%A9%20b%0A");
        assert_eq!(put("http://a/<\">", b"<>\""), "http://a/%3C%22%3E");
    }
}
