//! `GET /warc/<stamp>/<url>`: the WARC record of a capture, as an export would hold it, so that any tool that reads WARC can
//! read the archive record by record. A pywb whose `archive_paths` is `http://…/warc/` loads what our index names.
//!
//! - `<stamp>`: 14 digits, or 17 with milliseconds, as index lines have it. A moment without a capture leads to the one that was
//!   shown then.
//! - `<stamp>.gz`: compressed, in a gzip member per record.
//! - `<stamp>rq_`: with the request before the end. (Not in the query: that is the archived URL's own.)
//!
//! A revisit is given as one: its header says where its original is. Ranges are not known here: a record is given whole.

use crate::answer::{self, Trouble};
use crate::limits::{WAIT_MAX, WARC_IN_MEMORY_BYTES_MAX, WARC_WRITERS_MAX};
use crate::lookup::{self, Want};
use crate::memento;
use crate::site::Site;
use crate::tools::{self, Asked, put_url};
use crate::wayback::{full_url, moment};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use herodotus_base::Timestamp;
use herodotus_store::archive::WarcRecords;
use herodotus_store::{Entry, key_of};
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, HeaderValue, LINK};
use http_body::Frame;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::{Semaphore, mpsc};

pub(crate) fn router() -> Router<Site> {
    Router::new().route("/warc/{stamp}/{*url}", get(serve))
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
struct Ask {
    digits: String,
    time: Timestamp,
    with_request: bool,
    is_gzip: bool,
    url: String,
}

impl Ask {
    fn parse(rest: &str) -> Option<Self> {
        let (stamp, url) = rest.split_once('/')?;
        let (stamp, is_gzip) = stamp.strip_suffix(".gz").map_or((stamp, false), |stamp| (stamp, true));
        let (digits, with_request) = stamp.strip_suffix("rq_").map_or((stamp, false), |digits| (digits, true));
        if digits.is_empty() || digits.len() > 17 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let exact = Timestamp::parse(digits).ok().filter(|_| digits.len() == 17);
        let time = exact.or_else(|| moment(digits))?;
        Some(Self { digits: digits.to_owned(), time, with_request, is_gzip, url: full_url(url)? })
    }

    fn names(&self, entry: &Entry) -> bool {
        match self.digits.len() {
            17 => entry.id.time == self.time,
            _ => entry.id.time.digits14() == self.digits,
        }
    }
}

async fn serve(State(site): State<Site>, asked: Asked) -> Response {
    let Some(ask) = Ask::parse(asked.after("/warc/")) else {
        return Trouble::Asked("write /warc/<14 digits>/<url>".to_owned()).into_response();
    };
    let answered = async {
        match asked.sent(&site, &ask.url).await? {
            Some(sent) => Ok(sent),
            None => give(&site, &asked.base, ask).await,
        }
    };
    answered.await.unwrap_or_else(IntoResponse::into_response)
}

#[expect(clippy::large_enum_variant, reason = "one for each request, for a moment")]
enum Found {
    Records(Entry, WarcRecords),
    /// There is none of that very moment, but this.
    Other(String),
}

async fn give(site: &Site, base: &str, ask: Ask) -> Result<Response, Trouble> {
    let is_gzip = ask.is_gzip;
    let (entry, records) = match site.blocking(move |site| find(site, &ask)).await? {
        Found::Records(entry, records) => (entry, records),
        Found::Other(path) => return Ok(answer::redirect(StatusCode::FOUND, &path)),
    };
    let len = records.len();
    let body = match len <= WARC_IN_MEMORY_BYTES_MAX {
        true => small(site, records, is_gzip).await?,
        false => large(records, is_gzip).await?,
    };
    let mut response =
        tools::answer(StatusCode::OK, if is_gzip { "application/gzip" } else { "application/warc" }, body);
    let headers = response.headers_mut();
    if !is_gzip {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(len));
    }
    let stamp = entry.id.time.digits14();
    let name = format!("attachment; filename=\"{stamp}.warc{}\"", if is_gzip { ".gz" } else { "" });
    headers.insert(CONTENT_DISPOSITION, answer::value(&name));
    headers.insert("memento-datetime", answer::value(&memento::http_date(entry.id.time)));
    let mut link = "<".to_owned();
    put_url(&mut link, &entry.url, b"<>\"");
    link.push_str(">; rel=\"original\", <");
    link.push_str(base);
    link.push_str(&format!("/web/{stamp}/"));
    put_url(&mut link, &entry.url, b"<>\"");
    link.push_str(&format!(">; rel=\"memento\"; datetime=\"{}\"", memento::http_date(entry.id.time)));
    headers.insert(LINK, answer::value(&link));
    Ok(response)
}

fn find(site: &Site, ask: &Ask) -> Result<Found, Trouble> {
    let unknown = || Trouble::NotFound(format!("there is no version of {}", ask.url));
    let key = key_of(&ask.url);
    // A URL in a file name of an index line is spelled in ASCII.
    let spelled = |url: &str| {
        let mut out = String::new();
        put_url(&mut out, url, b"#*[]");
        out
    };
    let mut named = None;
    for entry in site.archive().versions_until(&key, ask.time) {
        let entry = entry?;
        if !ask.names(&entry) {
            break;
        }
        // Two URLs may have one key, and a redirect from one to the other one second.
        let is_better = entry.url == ask.url || spelled(&entry.url) == spelled(&ask.url);
        if entry.is_capture() && (named.is_none() || is_better) {
            named = Some(entry);
        }
    }
    let Some(entry) = named else {
        let other = lookup::choose(site, &ask.url, ask.time, Want::Page)?.ok_or_else(unknown)?;
        let modifier = if ask.with_request { "rq_" } else { "" };
        let gz = if ask.is_gzip { ".gz" } else { "" };
        let mut path = format!("/warc/{}{modifier}{gz}/", other.id.time.digits14());
        put_url(&mut path, &other.url, b"#");
        return Ok(Found::Other(path));
    };
    let records = site.archive().records(&entry.id, ask.with_request)?.ok_or_else(unknown)?;
    Ok(Found::Records(entry, records))
}

async fn small(site: &Site, records: WarcRecords, is_gzip: bool) -> Result<Body, Trouble> {
    let permit = site.hold(usize::try_from(records.len()).unwrap_or(usize::MAX)).await?;
    let bytes = site.blocking(move |_| {
        let mut out = Vec::with_capacity(usize::try_from(records.len()).unwrap_or(0));
        records.write(&mut out, is_gzip)?;
        Ok(out)
    });
    Ok(Body::from(tools::held(bytes.await?, permit)))
}

static WRITERS: Semaphore = Semaphore::const_new(WARC_WRITERS_MAX);

async fn large(records: WarcRecords, is_gzip: bool) -> Result<Body, Trouble> {
    let permit = tokio::time::timeout(WAIT_MAX, WRITERS.acquire()).await;
    let Ok(Ok(permit)) = permit else { return Err(Trouble::Busy) };
    let (pieces, taken) = mpsc::channel(2);
    tokio::task::spawn_blocking(move || {
        let mut out = io::BufWriter::with_capacity(128 * 1024, Pieces(pieces.clone()));
        let written = records.write(&mut out, is_gzip);
        let flushed = out.flush();
        if written.is_err() || flushed.is_err() {
            // Cut off, and not ended: a record of which a part is missing must not look whole.
            let _ = pieces.blocking_send(Err(io::Error::other("the record could not be read to its end")));
        }
        drop(permit);
    });
    Ok(Body::new(Taken(taken)))
}

type Piece = io::Result<Bytes>;

/// Writes into a body. Ends when its reader is gone.
struct Pieces(mpsc::Sender<Piece>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes))).map_err(gone)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Taken(mpsc::Receiver<Piece>);

impl http_body::Body for Taken {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_the_url_says_what_is_wanted() {
        let ask = |rest: &str| {
            let ask = Ask::parse(rest)?;
            Some((ask.time.rfc3339(), ask.with_request, ask.is_gzip, ask.url))
        };
        let url = "http://a/?with=request/x.gz".to_owned();
        let at = |text: &str| text.to_owned();
        assert_eq!(
            ask(&format!("20260102030405/{url}")),
            Some((at("2026-01-02T03:04:05.999Z"), false, false, url.clone()))
        );
        assert_eq!(
            ask(&format!("20260102030405678.gz/{url}")),
            Some((at("2026-01-02T03:04:05.678Z"), false, true, url.clone()))
        );
        assert_eq!(ask(&format!("2026rq_.gz/{url}")), Some((at("2026-12-31T23:59:59.999Z"), true, true, url)));
        for rest in
            ["", "2026", "2026/", "x/http://a/", "/http://a/", "2026id_/http://a/", "202601020304056789/http://a/"]
        {
            assert_eq!(ask(rest), None, "{rest}");
        }
    }
}
