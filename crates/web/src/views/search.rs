//! A search: what was typed is a URL, the beginning of one, a host, or words.
//!
//! Whoever types has something in mind that we cannot know, so a reading that finds nothing gives way to the next: `node.js` is a
//! host that is not here, and two good words.

use super::limits::FOUND_MAX;
use super::title::{is_page, known_title, own_title};
use super::walk::{end_of, found, near, untitled, walk};
use super::{Found, ReadAs, Search};
use crate::answer::Trouble;
use crate::site::Site;
use crate::wayback::full_url;
use herodotus_base::limits::URL_BYTES_MAX;
use herodotus_page::{host_range, prefix_range};
use herodotus_store::key_of;

/// How many of the newest captures are asked whether the catalogue knows them.
const NEWEST_ASKED: usize = 5;

/// `from`: the key to go on from, as [`Search::next`] gave it.
pub(crate) fn search(site: &Site, query: &str, from: Option<&str>) -> Result<Search, Trouble> {
    let query = query.trim();
    if query.len() > URL_BYTES_MAX {
        return Err(Trouble::Asked(format!("that is longer than any URL ({URL_BYTES_MAX} bytes)")));
    }
    match Reading::of(query) {
        Reading::Prefix(prefix) => {
            let (start, _) = prefix_range(&prefix);
            list(site, query, ReadAs::Prefix, &start, from)
        }
        Reading::Url(url) => {
            let key = key_of(&url);
            let exact = found(site, &key)?;
            let is_exact = exact.is_some();
            let found = match exact {
                Some(exact) => vec![exact],
                None => near(site, &key, FOUND_MAX)?,
            };
            Ok(Search { exact: is_exact, found, ..empty(query, ReadAs::Url) })
        }
        Reading::Host(host) => {
            let (start, _) = host_range(&host);
            let of_host = list(site, query, ReadAs::Host, &start, from)?;
            if !of_host.found.is_empty() {
                return Ok(of_host);
            }
            let of_words = words(site, query)?;
            Ok(if of_words.found.is_empty() { of_host } else { of_words })
        }
        Reading::Words => words(site, query),
    }
}

fn empty(query: &str, read_as: ReadAs) -> Search {
    let query = query.to_owned();
    Search { query, read_as, exact: false, found: Vec::new(), more: false, next: None, behind: false, silent: None }
}

/// The URLs whose keys begin so.
fn list(site: &Site, query: &str, read_as: ReadAs, start: &str, from: Option<&str>) -> Result<Search, Trouble> {
    let from = from.filter(|from| from.starts_with(start)).unwrap_or(start);
    let walk = walk(site, from, &end_of(start), FOUND_MAX)?;
    Ok(Search { found: walk.found, more: walk.next.is_some(), next: walk.next, ..empty(query, read_as) })
}

/// Pages with these words in their titles.
fn words(site: &Site, query: &str) -> Result<Search, Trouble> {
    let mut search = Search { behind: is_behind(site)?, ..empty(query, ReadAs::Words) };
    let question = query.trim_end_matches('*');
    let (mut hits, silent) = site.archive().search(question, FOUND_MAX + 1)?;
    search.silent = silent;
    search.more = hits.len() > FOUND_MAX;
    hits.truncate(FOUND_MAX);
    site.archive().learn(&hits.iter().map(|hit| hit.key.clone()).collect::<Vec<_>>());
    for hit in hits {
        // The title that was found, be it an older one: it is what the reader looks for.
        search.found.extend(untitled(site, &hit.key)?.map(|(found, _)| Found { title: Some(hit.title), ..found }));
    }
    Ok(search)
}

/// Whether what came last to this machine has a title that no catalogue knows.
fn is_behind(site: &Site) -> Result<bool, Trouble> {
    let newest = site.archive().here().recent(NEWEST_ASKED)?;
    let page = newest.iter().find(|entry| is_page(entry) && own_title(site, entry).is_some());
    Ok(page.is_some_and(|page| known_title(site, &page.id.key).is_none()))
}

/// What was typed.
#[derive(Debug, PartialEq)]
enum Reading {
    Url(String),
    Prefix(String),
    Host(String),
    Words,
}

impl Reading {
    fn of(text: &str) -> Self {
        let (text, is_prefix) = match text.strip_suffix('*') {
            Some(start) => (start, true),
            None => (text, false),
        };
        if text.is_empty() || text.contains(char::is_whitespace) {
            return Self::Words;
        }
        let has_scheme = ["://", "%3a%2f%2f"].iter().any(|mark| text.to_ascii_lowercase().contains(mark))
            || ["urn:", "dns:", "http:", "https:"].iter().any(|scheme| text.starts_with(scheme));
        let (host, rest) = text.split_at(text.find(['/', '?', '#']).unwrap_or(text.len()));
        if !has_scheme && !is_host(host) {
            return Self::Words;
        }
        let Some(url) = full_url(text) else { return Self::Words };
        match (is_prefix, has_scheme, rest) {
            (true, ..) => Self::Prefix(url),
            (false, false, "") => Self::Host(host.to_owned()),
            _ => Self::Url(url),
        }
    }
}

/// A name with a dot in it, an address, or this machine; with or without a port.
fn is_host(text: &str) -> bool {
    if text.starts_with('[') {
        return text.contains(']');
    }
    let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c) || !c.is_ascii())
    };
    let mut labels = name.trim_end_matches('.').split('.');
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_name = name == "localhost" || port.is_some() || name.trim_end_matches('.').contains('.');
    let is_address = name.parse::<std::net::Ipv4Addr>().is_ok();
    is_name && labels.all(is_label) && (!is_number || is_address) && port.is_none_or(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type_is_read_as_they_mean_it() {
        let url = |text: &str| Reading::Url(text.to_owned());
        let prefix = |text: &str| Reading::Prefix(text.to_owned());
        let host = |text: &str| Reading::Host(text.to_owned());
        for (typed, read) in [
            ("http://example.org/", url("http://example.org/")),
            ("HTTPS://Example.org/a?b", url("https://Example.org/a?b")),
            ("http%3A%2F%2Fexample.org%2Fa", url("http://example.org/a")),
            ("example.org/a", url("http://example.org/a")),
            ("example.org/", url("http://example.org/")),
            ("example.org?q", url("http://example.org?q")),
            ("urn:uuid:1", url("urn:uuid:1")),
            ("example.org/a*", prefix("http://example.org/a")),
            ("https://example.org/*", prefix("https://example.org/")),
            ("example.org*", prefix("http://example.org")),
            ("example.org", host("example.org")),
            ("www.bücher.example", host("www.bücher.example")),
            ("localhost:8080", host("localhost:8080")),
            ("localhost", host("localhost")),
            ("127.0.0.1:80", host("127.0.0.1:80")),
            ("[::1]:8080", host("[::1]:8080")),
            ("node.js", host("node.js")),
            ("herodotus", Reading::Words),
            ("history of the wars", Reading::Words),
            ("what is example.org/", Reading::Words),
            ("3.14", Reading::Words),
            ("a..b", Reading::Words),
            ("end.", Reading::Words),
            ("wor*", Reading::Words),
            ("*", Reading::Words),
            ("", Reading::Words),
            ("note:this", Reading::Words),
            ("\"quoted.text\"", Reading::Words),
        ] {
            assert_eq!(Reading::of(typed), read, "{typed}");
        }
    }
}
