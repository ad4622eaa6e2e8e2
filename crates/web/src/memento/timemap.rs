//! TimeMaps: the mementos of an original, as links (RFC 7089), as JSON and as CDXJ.
//!
//! JSON and CDXJ are the lines of the CDX server, as pywb has it, and stream. Links come in pages: each names, as a TimeMap of its
//! own, the one that follows (RFC 7089, 5.1.2), both in the list and in the `Link` header.

use super::link::{Addresses, TIMEMAP, http_date, put_common, put_memento};
use crate::answer::{self, Trouble};
use crate::cdx::{self, Output};
use crate::limits::{TIMEMAP_BYTES_MAX, TIMEMAP_MEMENTOS_MAX};
use crate::site::Site;
use crate::tools::{self, Asked};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use herodotus_base::Timestamp;
use herodotus_store::{Entry, key_of};
use http::StatusCode;
use http::header::LINK;
use std::fmt::Write;

pub(super) async fn serve(
    State(site): State<Site>,
    Path((format, _)): Path<(String, String)>,
    asked: Asked,
) -> Response {
    let rest = asked.after("/web/timemap/").split_once('/').map_or("", |(_, rest)| rest);
    let url = if format == "link" { split_start(rest).1 } else { rest };
    let sent = match super::url_of(url) {
        Ok(url) => asked.sent(&site, &url).await,
        // What is wrong with it is said below.
        Err(_) => Ok(None),
    };
    let answered = match (format.as_str(), sent) {
        (_, Err(trouble)) => Err(trouble),
        ("link" | "json" | "cdxj", Ok(Some(sent))) => Ok(sent),
        ("link", _) => links(&site, &asked.base, rest).await,
        ("json", _) => lines(&site, rest, Output::Json).await,
        ("cdxj", _) => lines(&site, rest, Output::Cdxj).await,
        _ => Err(Trouble::NotFound(
            "TimeMaps are at /web/timemap/link/, /web/timemap/json/ and /web/timemap/cdxj/".to_owned(),
        )),
    };
    answered.unwrap_or_else(IntoResponse::into_response)
}

async fn lines(site: &Site, url: &str, output: Output) -> Result<Response, Trouble> {
    let url = super::url_of(url)?;
    cdx::versions(site, &url, output).await?.ok_or_else(|| super::unknown(&url))
}

async fn links(site: &Site, base: &str, rest: &str) -> Result<Response, Trouble> {
    let (start, url) = split_start(rest);
    let (base, url) = (base.to_owned(), super::url_of(url)?);
    let page = site.blocking(move |site| page(site, &base, start, &url)).await?;
    let permit = site.hold(page.text.len()).await?;
    let body = axum::body::Body::from(tools::held(page.text, permit));
    let mut response = tools::answer(StatusCode::OK, "application/link-format", body);
    if let Some(next) = page.next {
        response.headers_mut().insert(LINK, answer::value(&format!("<{next}>; rel=\"next\"")));
    }
    Ok(response)
}

/// `20260102030405678/http://…`: a page that begins at a moment.
fn split_start(rest: &str) -> (Option<Timestamp>, &str) {
    let start = rest.split_once('/').filter(|(digits, _)| matches!(digits.len(), 14 | 17));
    match start.map(|(digits, url)| (Timestamp::parse(digits), digits, url)) {
        Some((Ok(time), digits, url)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => (Some(time), url),
        _ => (None, rest),
    }
}

struct Page {
    text: String,
    /// Where the next one is.
    next: Option<String>,
}

fn page(site: &Site, base: &str, start: Option<Timestamp>, url: &str) -> Result<Page, Trouble> {
    let (archive, key, at) = (site.archive(), key_of(url), Addresses::below(base));
    let last = archive.newest_not_after(&key, Timestamp::MAX)?.ok_or_else(|| super::unknown(url))?;
    let before = start.and_then(|start| Timestamp::from_millis(start.millis() - 1));
    let mut versions = match before {
        Some(before) => archive.versions_after(&key, before),
        None => archive.versions(&key, false),
    }
    .filter(|entry| entry.as_ref().map_or(true, Entry::is_capture));
    let (mut mementos, mut count) = (String::new(), 0);
    let (mut from, mut until, mut next) = (None, None, None);
    for entry in &mut versions {
        let entry = entry?;
        if count == TIMEMAP_MEMENTOS_MAX || mementos.len() >= TIMEMAP_BYTES_MAX {
            next = Some(entry.id.time);
            break;
        }
        let rel = match (count == 0 && before.is_none(), entry.id == last.id) {
            (true, true) => "first last memento",
            (true, false) => "first memento",
            (false, true) => "last memento",
            (false, false) => "memento",
        };
        mementos.push_str(",\n");
        put_memento(&mut mementos, at, &entry, rel);
        from.get_or_insert(entry.id.time);
        until = Some(entry.id.time);
        count += 1;
    }
    let Some((from, until)) = from.zip(until) else {
        return Err(Trouble::NotFound(format!("no version of {url} is that new")));
    };
    let mut text = String::with_capacity(mementos.len() + 1024);
    put_common(&mut text, at, url, ",\n");
    text.truncate(text.rfind('<').unwrap_or(0));
    text.push('<');
    let digits = |time: Timestamp| format!("{}{:03}", time.digits14(), time.millis().rem_euclid(1000));
    at.timemap(&mut text, &start.map(digits).unwrap_or_default(), url);
    let _ = write!(
        text,
        ">; rel=\"self\"; type=\"application/link-format\"; from=\"{}\"; until=\"{}\"",
        http_date(from),
        http_date(until)
    );
    let next = next.map(|time| {
        let mut address = String::new();
        at.timemap(&mut address, &digits(time), url);
        let _ = write!(
            text,
            ",\n<{address}>{TIMEMAP}; from=\"{}\"; until=\"{}\"",
            http_date(time),
            http_date(last.id.time)
        );
        address
    });
    text.push_str(&mementos);
    text.push('\n');
    Ok(Page { text, next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_begins_at_a_moment_only_where_one_is_written() {
        let start = |rest| {
            let (start, url) = split_start(rest);
            (start.map(Timestamp::rfc3339), url)
        };
        assert_eq!(start("http://a/20260102030405/x"), (None, "http://a/20260102030405/x"));
        assert_eq!(start("20260102030405/http://a/"), (Some("2026-01-02T03:04:05Z".into()), "http://a/"));
        assert_eq!(start("20260102030405678/http://a/"), (Some("2026-01-02T03:04:05.678Z".into()), "http://a/"));
        assert_eq!(start("20269999999999/http://a/"), (None, "20269999999999/http://a/"));
        assert_eq!(start("2026/http://a/"), (None, "2026/http://a/"));
        assert_eq!(start("2026-01-02T03:/a"), (None, "2026-01-02T03:/a"));
    }
}
