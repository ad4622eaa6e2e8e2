//! A URL that can be fetched: `http` or `https`, a host, no fragment, as browsers write it (WHATWG, by the `url` crate).
//!
//! Two spellings that a browser would send as the same request are the same [`WebUrl`]; nothing else is folded together.
//! (What the archive files things under is coarser: see [`crate::surt`].)

use herodotus_base::limits::URL_BYTES_MAX;
use std::fmt;
use url::Url;

/// Canonical text of a fetchable URL, with the places where its parts begin.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WebUrl {
    text: Box<str>,
    host_start: u32,
    host_end: u32,
    path_start: u32,
    port: u16,
}

/// Why something is not a URL that we can fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWeb {
    #[error("is longer than {URL_BYTES_MAX} bytes")]
    TooLong,
    #[error("is not http or https")]
    Scheme,
    #[error("names no host")]
    NoHost,
    #[error("is not a URL")]
    Malformed,
}

impl WebUrl {
    pub fn parse(text: &str) -> Result<Self, NotWeb> {
        if text.len() > URL_BYTES_MAX {
            return Err(NotWeb::TooLong);
        }
        Self::from_url(Url::parse(text).map_err(|_| NotWeb::Malformed)?)
    }

    /// Takes user name, password and fragment off: the first two are secrets, the last is never sent.
    pub fn from_url(mut url: Url) -> Result<Self, NotWeb> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(NotWeb::Scheme);
        }
        url.set_fragment(None);
        if !url.username().is_empty() || url.password().is_some() {
            url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| NotWeb::NoHost)?;
        }
        let host_len = url.host_str().filter(|host| !host.is_empty()).ok_or(NotWeb::NoHost)?.len();
        if url.as_str().len() > URL_BYTES_MAX {
            return Err(NotWeb::TooLong);
        }
        let host_start = url.scheme().len() + 3;
        let port = url.port_or_known_default().ok_or(NotWeb::Scheme)?;
        let path_start = url[..url::Position::BeforePath].len();
        Ok(Self {
            host_start: host_start as u32,
            host_end: (host_start + host_len) as u32,
            path_start: path_start as u32,
            port,
            text: String::from(url).into_boxed_str(),
        })
    }

    /// From text that is in canonical form already, whose host ends at `host_end` and is followed by the path or by a
    /// port that is not the scheme's own.
    pub(crate) fn from_canonical(text: &str, host_end: usize, port: u16) -> Self {
        let host_start = if text.starts_with("https:") { "https://".len() } else { "http://".len() };
        let path_start = text.get(host_end..).and_then(|rest| rest.find('/')).map_or(text.len(), |at| host_end + at);
        Self {
            host_start: host_start as u32,
            host_end: host_end as u32,
            path_start: path_start as u32,
            port,
            text: text.into(),
        }
    }

    /// Where the host ends in the text.
    pub(crate) fn host_end(&self) -> usize {
        self.host_end as usize
    }

    /// What a link on this page means.
    pub fn join(&self, link: &str) -> Result<Self, NotWeb> {
        if link.len() > URL_BYTES_MAX {
            return Err(NotWeb::TooLong);
        }
        Self::from_url(self.to_url()?.join(link).map_err(|_| NotWeb::Malformed)?)
    }

    pub fn to_url(&self) -> Result<Url, NotWeb> {
        Url::parse(&self.text).map_err(|_| NotWeb::Malformed)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_https(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// In lower case and punycode; an IPv6 address with its brackets.
    pub fn host(&self) -> &str {
        self.slice(self.host_start, self.host_end)
    }

    /// The port that is dialled, named or not.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host, and port where it is not the scheme's own: what the `Host` header says.
    pub fn authority(&self) -> &str {
        self.slice(self.host_start, self.path_start)
    }

    /// Scheme, host and port: whom robots.txt speaks for.
    pub fn origin(&self) -> &str {
        self.slice(0, self.path_start)
    }

    /// Begins with a slash, ends before the question mark.
    pub fn path(&self) -> &str {
        let target = self.target();
        target.split_once('?').map_or(target, |(path, _)| path)
    }

    pub fn query(&self) -> Option<&str> {
        self.target().split_once('?').map(|(_, query)| query)
    }

    /// Path and query: what a request asks for.
    pub fn target(&self) -> &str {
        self.text.get(self.path_start as usize..).unwrap_or_default()
    }

    fn slice(&self, from: u32, to: u32) -> &str {
        self.text.get(from as usize..to as usize).unwrap_or_default()
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_url_are_where_they_should_be() {
        let url = WebUrl::parse("HTTPS://user:secret@Bücher.Example:8443/a/../b?q=1#part").unwrap();
        assert_eq!(url.as_str(), "https://xn--bcher-kva.example:8443/b?q=1");
        assert_eq!((url.host(), url.port()), ("xn--bcher-kva.example", 8443));
        assert_eq!(
            (url.authority(), url.origin()),
            ("xn--bcher-kva.example:8443", "https://xn--bcher-kva.example:8443")
        );
        assert_eq!((url.path(), url.query(), url.target()), ("/b", Some("q=1"), "/b?q=1"));
        let plain = WebUrl::parse("http://[::1]").unwrap();
        assert_eq!((plain.host(), plain.port(), plain.target(), plain.query()), ("[::1]", 80, "/", None));
    }

    #[test]
    fn what_cannot_be_fetched_is_refused_with_the_reason() {
        for (text, why) in [
            ("ftp://example.org/", NotWeb::Scheme),
            ("javascript:void(0)", NotWeb::Scheme),
            ("http://", NotWeb::Malformed),
            ("/only/a/path", NotWeb::Malformed),
        ] {
            assert_eq!(WebUrl::parse(text), Err(why), "{text}");
        }
        let long = format!("http://example.org/{}", "a".repeat(URL_BYTES_MAX));
        assert_eq!(WebUrl::parse(&long), Err(NotWeb::TooLong));
    }

    #[test]
    fn a_link_is_read_from_where_it_stands() {
        let page = WebUrl::parse("http://example.org/a/b.html?x").unwrap();
        for (link, target) in [
            ("c.html#d", "http://example.org/a/c.html"),
            ("//other.example/", "http://other.example/"),
            ("?y", "http://example.org/a/b.html?y"),
            ("", "http://example.org/a/b.html?x"),
            (" ../e f ", "http://example.org/e%20f"),
        ] {
            assert_eq!(page.join(link).unwrap().as_str(), target, "{link}");
        }
    }
}
