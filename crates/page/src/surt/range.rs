//! Ranges of keys, `[start, end)` in byte order, for scans over a sorted index. The matches are pywb's (`matchType`
//! prefix, host, domain), so that its users find the same pages, except that hosts and domains are exact: pywb's one
//! range from `com,example)/` to `com,example-` also holds hosts such as `example+.com`.

use super::surt;
use memchr::memmem;

/// All keys of URLs that start with this prefix. A closing `/` or `?` counts although keys drop it.
pub fn prefix_range(url_prefix: &str) -> (String, String) {
    let mut start = surt(url_prefix);
    for closing in ['/', '?'] {
        if url_prefix.ends_with(closing) && !start.ends_with(closing) {
            start.push(closing);
        }
    }
    let end = successor(&start);
    (start, end)
}

/// All keys of exactly this host, at this port where one is named. Takes a URL, `host:port` or a host.
pub fn host_range(host: &str) -> (String, String) {
    let start = format!("{})/", host_part(host));
    let end = successor(&start);
    (start, end)
}

/// All keys of this host and of every host below it, at any port for those below and the default port for itself, as in
/// pywb. Two ranges, in order: names with other characters sort between them.
pub fn domain_range(host: &str) -> Vec<(String, String)> {
    let part = host_part(host);
    let name = match part.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => &part,
    };
    [")/", ","]
        .into_iter()
        .map(|after| {
            let start = format!("{name}{after}");
            let end = successor(&start);
            (start, end)
        })
        .collect()
}

/// The site a key belongs to: `com,example` of `com,example)/a`, with its port if not the default one. A key is in
/// [`host_range`] of a host exactly if this is that host's part. Keys without a host (`urn:…`, `dns:…`) answer with
/// their scheme and colon.
pub fn host_of_key(key: &str) -> &str {
    let before_path = memmem::find(key.as_bytes(), b")/").map(|end| &key[..end]);
    let Some(colon) = key.find(':') else { return before_path.unwrap_or(key) };
    match before_path {
        Some(host) if colon >= host.len() || is_host_with_colon(host, colon) => host,
        _ => &key[..=colon],
    }
}

/// `com,example:8080` or `::1`, as against `urn:a`, which may hold `)/` too. Names of schemes hold no comma.
fn is_host_with_colon(host: &str, colon: usize) -> bool {
    let rest = &host[colon..];
    host[..colon].contains(',')
        || rest.bytes().skip(1).all(|byte| byte.is_ascii_digit())
        || host.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.' | b','))
}

/// The part of a key before `)` for a URL, `host:port` or host.
fn host_part(host: &str) -> String {
    let host = host.trim();
    let is_bare_ipv6 = host.matches(':').count() > 1
        && host.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'));
    let key = if host.contains("://") {
        surt(host)
    } else if is_bare_ipv6 {
        surt(&format!("http://[{host}]/"))
    } else {
        surt(&format!("http://{host}"))
    };
    let end = memmem::find(key.as_bytes(), b")/").unwrap_or(key.len());
    key[..end].to_owned()
}

/// The first key after all that start with this one. Keys are ASCII and never end in DEL, so the last byte can grow.
fn successor(start: &str) -> String {
    let mut end = start.to_owned();
    if let Some(last) = end.pop() {
        end.push(char::from_u32(u32::from(last) + 1).unwrap_or(char::MAX));
    }
    end
}
