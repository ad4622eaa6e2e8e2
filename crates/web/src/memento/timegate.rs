//! The TimeGate: from an original and a moment to the memento of it, by redirect.
//!
//! The newest memento that is not newer than the moment, or, where there is none, the first: what stood there on that day is
//! never something that came later. (RFC 7089 leaves the choice open; pywb takes the nearest.)

use super::link::{Addresses, TIMEMAP, around, put_common, put_memento};
use crate::answer::{self, Trouble};
use crate::lookup::{self, Want};
use crate::site::Site;
use crate::tools::Asked;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use herodotus_base::Timestamp;
use herodotus_store::Entry;
use http::header::{LINK, LOCATION, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use std::time::UNIX_EPOCH;

pub(super) async fn serve(State(site): State<Site>, asked: Asked) -> Response {
    let answered = async {
        let url = super::url_of(asked.after("/web/timegate/"))?;
        if let Some(sent) = asked.sent(&site, &url).await? {
            return Ok(sent);
        }
        timegate(&site, &asked.base, &url, accept_datetime(&asked.head)?).await
    };
    answered.await.unwrap_or_else(IntoResponse::into_response)
}

/// The moment that a reader asks for. `None`: he did not say.
pub(crate) fn accept_datetime(head: &HeaderMap) -> Result<Option<Timestamp>, Trouble> {
    let Some(value) = head.get("accept-datetime") else { return Ok(None) };
    let refused = || {
        let shown: String = String::from_utf8_lossy(value.as_bytes()).chars().take(60).collect();
        Trouble::Asked(format!("`{shown}` is no date for Accept-Datetime: write it as `Tue, 20 Jan 2026 10:20:30 GMT`"))
    };
    let text = value.to_str().map_err(|_| refused())?.trim();
    let second = match httpdate::parse_http_date(text) {
        Ok(time) => time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis()),
        // A date before the clock of our library begins is before everything that we have.
        Err(_) if is_old_date(text) => 0,
        Err(_) => return Err(refused()),
    };
    // The whole second that was named: captures know its thousandths.
    Ok(Some(Timestamp::from_millis_clamped(i64::try_from(second).unwrap_or(i64::MAX).saturating_add(999))))
}

/// Whether this would be a date, were it some centuries later: after 400 years the calendar is the same again.
fn is_old_date(text: &str) -> bool {
    let Some((before, after)) = text.get(..12).zip(text.get(16..)) else { return false };
    let Some(year) = text.get(12..16).and_then(|year| year.parse::<u16>().ok()).filter(|year| *year < 1970) else {
        return false;
    };
    let later = year + (1970 - year).div_ceil(400) * 400;
    httpdate::parse_http_date(&format!("{before}{later}{after}")).is_ok()
}

/// Answers for an original at a moment, or now. Mementos are below the origin `base`.
pub(crate) async fn timegate(site: &Site, base: &str, url: &str, at: Option<Timestamp>) -> Result<Response, Trouble> {
    let (base, url) = (base.to_owned(), url.to_owned());
    let found = site.blocking(move |site| {
        let found = lookup::choose(site, &url, at.unwrap_or(Timestamp::MAX), Want::Page)?;
        let Some(entry) = found else { return Err(super::unknown(&url)) };
        let mut location = String::new();
        Addresses::below(&base).memento(&mut location, &entry);
        Ok((location, links(site, &base, &entry, true)?))
    });
    let mut response = match found.await {
        Ok((location, links)) => {
            let mut response = StatusCode::FOUND.into_response();
            response.headers_mut().insert(LOCATION, answer::value(&location));
            response.headers_mut().insert(LINK, answer::value(&links));
            response
        }
        Err(trouble @ Trouble::NotFound(_)) => trouble.into_response(),
        Err(trouble) => return Err(trouble),
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept-datetime"));
    Ok(response)
}

/// The `Link` header of an answer that shows a memento, or leads to one. `all`: with its first, previous, next and last, which
/// takes some looking up.
pub(crate) fn links(site: &Site, base: &str, entry: &Entry, all: bool) -> Result<String, Trouble> {
    let at = Addresses::below(base);
    let mut out = String::with_capacity(1024);
    put_common(&mut out, at, &entry.url, ", ");
    out.push_str(TIMEMAP);
    if !all {
        out.push_str(", ");
        put_memento(&mut out, at, entry, "memento");
        return Ok(out);
    }
    for (memento, rel) in around(site.archive(), entry)? {
        out.push_str(", ");
        put_memento(&mut out, at, &memento, &rel);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        let mut head = HeaderMap::new();
        head.insert("accept-datetime", HeaderValue::from_bytes(text.as_bytes()).unwrap());
        accept_datetime(&head).ok().map(|time| time.unwrap().rfc3339())
    }

    #[test]
    fn dates_are_read_in_all_forms_of_http_and_no_others() {
        assert_eq!(read("Tue, 20 Jan 2026 10:20:30 GMT").as_deref(), Some("2026-01-20T10:20:30.999Z"));
        assert_eq!(read("Tue Jan 20 10:20:30 2026").as_deref(), Some("2026-01-20T10:20:30.999Z"));
        assert_eq!(read("Mon, 01 Jan 1900 00:00:00 GMT").as_deref(), Some("1970-01-01T00:00:00.999Z"));
        for text in [
            "",
            "now",
            "2026-01-20",
            "20260120102030",
            "Tue, 32 Jan 2026 10:20:30 GMT",
            "Mon, 32 Jan 1900 00:00:00 GMT",
            "é",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert!(accept_datetime(&HeaderMap::new()).unwrap().is_none());
    }
}
