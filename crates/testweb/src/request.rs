//! The head of a request, read strictly: what RFC 9112 lets a server refuse is refused, so that a crawler which
//! writes sloppy requests is found out here.

/// What we need to know of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Lower case, without port or final dot.
    pub(crate) host: String,
    /// With query.
    pub(crate) path: String,
    pub(crate) if_none_match: Option<String>,
    pub(crate) if_modified_since: Option<String>,
    /// Whether the answer may be compressed with gzip.
    pub(crate) accepts_gzip: bool,
    /// Whether the connection serves further requests after this one.
    pub(crate) keep_alive: bool,
    /// Whether bytes follow that belong to this request. None are ever read.
    pub(crate) has_body: bool,
}

impl Request {
    /// Reads a head up to and including its empty line. An error is the status to refuse it with.
    pub(crate) fn parse(head: &[u8]) -> Result<Self, u16> {
        let text = std::str::from_utf8(head).map_err(|_| 400u16)?;
        let mut lines = text.strip_suffix("\r\n\r\n").ok_or(400u16)?.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(400);
        };
        let old = match version {
            "HTTP/1.1" => false,
            "HTTP/1.0" => true,
            version if version.starts_with("HTTP/") => return Err(505),
            _ => return Err(400),
        };
        if !is_token(method) {
            return Err(400);
        }
        let headers = lines.map(header).collect::<Option<Vec<_>>>().ok_or(400u16)?;
        let all = |name: &str| {
            let name = name.to_owned();
            headers.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(&name)).map(|(_, value)| *value)
        };
        let (mut hosts, absolute) = (all("Host"), target.get(..7).is_some_and(|s| s.eq_ignore_ascii_case("http://")));
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host,
            (None, None) if old => "",
            _ => return Err(400),
        };
        let (host, path) = if absolute { split_authority(target.get(7..).unwrap_or_default()) } else { (host, target) };
        let path = if absolute && path.is_empty() { "/" } else { path };
        if !path.starts_with('/') || path.bytes().any(|byte| !byte.is_ascii_graphic() || byte == b'#') {
            return Err(400);
        }
        let mut options = all("Connection").flat_map(|value| value.split(',').map(str::trim));
        let keep_alive = match old {
            true => options.any(|option| option.eq_ignore_ascii_case("keep-alive")),
            false => !options.any(|option| option.eq_ignore_ascii_case("close")),
        };
        Ok(Self {
            method: method.to_owned(),
            host: normal_host(host),
            path: path.to_owned(),
            if_none_match: all("If-None-Match").next().map(str::to_owned),
            if_modified_since: all("If-Modified-Since").next().map(str::to_owned),
            accepts_gzip: all("Accept-Encoding").flat_map(|value| value.split(',')).any(names_gzip),
            keep_alive,
            has_body: all("Transfer-Encoding").next().is_some() || all("Content-Length").any(|length| length != "0"),
        })
    }
}

/// Whether one item of `Accept-Encoding` names gzip and does not rule it out.
fn names_gzip(item: &str) -> bool {
    let mut parts = item.split(';').map(str::trim);
    let named = parts.next().is_some_and(|coding| coding.eq_ignore_ascii_case("gzip"));
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    named && weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|weight| weight > 0.0))
}

fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let clean = value.bytes().all(|byte| byte == b'\t' || !byte.is_ascii_control());
    (is_token(name) && clean).then(|| (name, value.trim_matches([' ', '\t'])))
}

fn is_token(text: &str) -> bool {
    let odd = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || odd(byte))
}

fn split_authority(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()))
}

fn normal_host(host: &str) -> String {
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Request, u16> {
        Request::parse(text.as_bytes())
    }

    #[test]
    fn the_host_comes_from_the_header_or_from_the_target() {
        let plain = parse("GET /a?b=1 HTTP/1.1\r\nhost:  Orchard-0.TEST.:8080 \r\n\r\n").unwrap();
        assert_eq!((plain.host.as_str(), plain.path.as_str()), ("orchard-0.test", "/a?b=1"));
        assert!(plain.keep_alive && !plain.has_body);
        let absolute =
            parse("GET HTTP://river-1.test:80 HTTP/1.1\r\nHost: x\r\nConnection: foo, Close\r\n\r\n").unwrap();
        assert_eq!((absolute.host.as_str(), absolute.path.as_str()), ("river-1.test", "/"));
        assert!(!absolute.keep_alive);
        assert!(!parse("GET / HTTP/1.0\r\n\r\n").unwrap().keep_alive);
        assert!(parse("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n").unwrap().has_body);
    }

    #[test]
    fn gzip_is_accepted_when_it_is_named_and_not_ruled_out() {
        for (accept, expected) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("deflate", false),
            ("gzip;q=0", false),
            ("gzip; q=0.000, br", false),
            ("gzip;q=x", false),
            ("", false),
        ] {
            let request = parse(&format!("GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: {accept}\r\n\r\n")).unwrap();
            assert_eq!(request.accepts_gzip, expected, "{accept}");
        }
    }

    #[test]
    fn what_is_not_a_request_is_refused() {
        for (text, status) in [
            ("", 400),
            ("\r\n\r\n", 400),
            ("GET /\r\n\r\n", 400),
            ("GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: x\0\r\n\r\n", 400),
            ("GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ("GET a HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ("GET https://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ("G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
            ("GET / SPDY\r\nHost: x\r\n\r\n", 400),
        ] {
            assert_eq!(parse(text), Err(status), "{text:?}");
        }
        assert_eq!(Request::parse(b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n"), Err(400));
    }
}
