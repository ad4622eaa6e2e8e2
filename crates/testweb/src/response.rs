//! An answer, and the bytes it has on the wire.

use crate::date::{http_date, parse_http_date, round_time};
use crate::web::Busy;
use flate2::{Compression, GzBuilder};
use std::io::Write;

/// An HTTP answer. Its headers are in the order in which they are sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn push(&mut self, name: &'static str, value: String) {
        self.headers.push((name, value));
    }

    pub(crate) fn with_body(mut self, media_type: &str, body: Vec<u8>) -> Self {
        self.push("Content-Type", media_type.to_owned());
        self.push("Content-Length", body.len().to_string());
        self.body = body;
        self
    }

    /// The first header of this name, in whatever case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The status line and headers as they are sent, with the empty line that ends them.
    pub fn head(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        head.reserve(320);
        for (name, value) in &self.headers {
            for part in [name, ": ", value, "\r\n"] {
                head.push_str(part);
            }
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    /// The answer of a URL that is busy.
    pub fn busy(busy: Busy, round: u32) -> Self {
        let mut response = Self::new(busy.status);
        response.push("Date", http_date(round_time(round)));
        response.push("Retry-After", busy.retry_after_s.to_string());
        response.with_body("text/plain; charset=utf-8", b"We are busy. Come again.\n".to_vec())
    }

    /// This answer from a host that compresses, to a visitor who accepts it. Pictures and errors stay as they are.
    /// The same library makes the same bytes of the same text.
    pub fn gzipped(self) -> Self {
        self.varied().compressed()
    }

    /// The head of the compressed answer, as far as it can be told without compressing: enough for a 304.
    pub(crate) fn varied(mut self) -> Self {
        let text = self.header("Content-Type").is_some_and(|kind| !kind.starts_with("image/"));
        if self.status != 200 || !text {
            return self;
        }
        for (name, value) in &mut self.headers {
            if *name == "ETag" {
                // Another representation has another tag (RFC 9110, 8.8.3.3).
                value.insert_str(value.len().saturating_sub(1), "-gzip");
            }
        }
        self.push("Vary", "Accept-Encoding".to_owned());
        self
    }

    /// Compresses what [`Response::varied`] announced.
    pub(crate) fn compressed(mut self) -> Self {
        if self.status != 200 || self.header("Vary").is_none() {
            return self;
        }
        // No time and no system in the header, so that the bytes depend on the text alone.
        let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::fast());
        // Writing to memory does not fail; if it did, the plain text would be as good.
        let Ok(body) = encoder.write_all(&self.body).and_then(|()| encoder.finish()) else { return self };
        for (name, value) in &mut self.headers {
            if *name == "Content-Length" {
                *value = body.len().to_string();
            }
        }
        self.push("Content-Encoding", "gzip".to_owned());
        self.body = body;
        self
    }

    /// This answer as given to someone who may have it already (RFC 9110, 13.2.2): a 304 if they do.
    pub fn conditional(self, if_none_match: Option<&str>, if_modified_since: Option<&str>) -> Self {
        let known = match (if_none_match, if_modified_since) {
            (Some(tags), _) => self.header("ETag").is_some_and(|ours| {
                tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == ours)
            }),
            (None, Some(date)) => {
                let ours = self.header("Last-Modified").and_then(parse_http_date);
                ours.zip(parse_http_date(date)).is_some_and(|(ours, theirs)| ours <= theirs)
            }
            (None, None) => false,
        };
        if self.status != 200 || !known {
            return self;
        }
        let kept = |name: &str| ["Date", "Last-Modified", "ETag", "Vary"].contains(&name);
        let headers = self.headers.into_iter().filter(|(name, _)| kept(name)).collect();
        Self { status: 304, headers, body: Vec::new() }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        410 => "Gone",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Unknown",
    }
}
