//! A question to the web, and the bytes that ask it.
//!
//! The head is written once, as HTTP/1.1, and is what the archive keeps as the request; HTTP/2 sends the same fields.
//! No cookie is ever sent. Values that came from a site (validators, referrers) cannot break out of their line: what is
//! not one line of visible ASCII, or is absurdly long, is left out.

use crate::config::{Config, ConfigError};
use crate::limits::REQUEST_VALUE_BYTES_MAX;
use herodotus_page::WebUrl;

/// One GET.
#[derive(Clone, Debug)]
pub struct Ask {
    pub url: WebUrl,
    pub validators: Validators,
    /// The page that linked here.
    pub referer: Option<String>,
}

/// What an earlier answer was marked with. The server need only say 304 if nothing changed since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

impl Ask {
    pub fn new(url: WebUrl) -> Self {
        Self { url, validators: Validators::default(), referer: None }
    }
}

/// What every request of a fetcher says alike.
#[derive(Debug)]
pub(crate) struct Manner {
    /// `User-Agent: …` and the lines after it, as written.
    lines: String,
}

/// Pages first, as browsers ask, and then whatever there is.
const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const CODINGS: &str = "gzip, br, zstd";

impl Manner {
    pub(crate) fn new(config: &Config) -> Result<Self, ConfigError> {
        if !is_value(&config.user_agent) {
            return Err(ConfigError::UserAgent);
        }
        let codings = if config.codings { CODINGS } else { "identity" };
        let lines = format!("User-Agent: {}\r\nAccept: {ACCEPT}\r\nAccept-Encoding: {codings}\r\n", config.user_agent);
        Ok(Self { lines })
    }

    /// The head of a request, to the empty line.
    pub(crate) fn head(&self, ask: &Ask) -> Vec<u8> {
        let (target, authority) = (ask.url.target(), ask.url.authority());
        let mut head = Vec::with_capacity(128 + self.lines.len() + target.len() + authority.len());
        for part in ["GET ", target, " HTTP/1.1\r\nHost: ", authority, "\r\n", &self.lines] {
            head.extend_from_slice(part.as_bytes());
        }
        for (name, value) in [
            ("Referer", &ask.referer),
            ("If-None-Match", &ask.validators.etag),
            ("If-Modified-Since", &ask.validators.last_modified),
        ] {
            if let Some(value) = value.as_deref().filter(|value| is_value(value)) {
                for part in [name, ": ", value, "\r\n"] {
                    head.extend_from_slice(part.as_bytes());
                }
            }
        }
        head.extend_from_slice(b"\r\n");
        head
    }
}

/// One line that any server takes.
fn is_value(text: &str) -> bool {
    let is_visible = |byte: u8| (b' '..=b'~').contains(&byte);
    !text.trim().is_empty() && text.len() <= REQUEST_VALUE_BYTES_MAX && text.bytes().all(is_visible)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(url: &str) -> Ask {
        Ask::new(WebUrl::parse(url).unwrap())
    }

    fn head(ask: &Ask) -> String {
        let config = Config { user_agent: "tester".to_owned(), ..Config::default() };
        String::from_utf8(Manner::new(&config).unwrap().head(ask)).unwrap()
    }

    #[test]
    fn a_request_says_what_it_wants_and_both_validators() {
        let mut ask = ask("http://example.org:8080/a?b=c#d");
        ask.validators.etag = Some("\"v1\"".to_owned());
        ask.validators.last_modified = Some("Fri, 02 Jan 2026 03:04:05 GMT".to_owned());
        ask.referer = Some("http://example.org/".to_owned());
        assert_eq!(
            head(&ask),
            "GET /a?b=c HTTP/1.1\r\nHost: example.org:8080\r\nUser-Agent: tester\r\n\
             Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
             Accept-Encoding: gzip, br, zstd\r\nReferer: http://example.org/\r\nIf-None-Match: \"v1\"\r\n\
             If-Modified-Since: Fri, 02 Jan 2026 03:04:05 GMT\r\n\r\n"
        );
    }

    #[test]
    fn what_a_site_said_cannot_break_out_of_its_line() {
        let plain = head(&ask("http://example.org/"));
        for value in
            ["\"a\"\r\nX-Evil: 1", "a\nb", "a\0b", "caf\u{e9}", "", "  ", &"a".repeat(REQUEST_VALUE_BYTES_MAX + 1)]
        {
            let mut ask = ask("http://example.org/");
            ask.validators = Validators { etag: Some(value.to_owned()), last_modified: Some(value.to_owned()) };
            ask.referer = Some(value.to_owned());
            assert_eq!(head(&ask), plain, "{value:?}");
        }
    }

    #[test]
    fn a_user_agent_of_several_lines_is_refused() {
        let config = Config { user_agent: "a\r\nb: c".to_owned(), ..Config::default() };
        assert!(matches!(Manner::new(&config), Err(ConfigError::UserAgent)));
    }
}
