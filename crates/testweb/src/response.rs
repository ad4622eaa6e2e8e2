//! An answer, and the bytes it has on the wire.

use crate::date::parse_http_date;

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
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head.into_bytes()
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
        let kept = |name: &str| ["Date", "Last-Modified", "ETag"].contains(&name);
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
        431 => "Request Header Fields Too Large",
        505 => "HTTP Version Not Supported",
        _ => "Unknown",
    }
}
