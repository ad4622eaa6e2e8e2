//! One file per command.

pub(crate) mod compact;
pub(crate) mod crawl;
mod crawl_report;
pub(crate) mod crawls;
pub(crate) mod demo;
mod demo_ring;
pub(crate) mod diff;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod plan;
mod plan_picture;
mod plan_report;
mod plan_units;
pub(crate) mod remove;
pub(crate) mod ring;
mod ring_health;
pub(crate) mod serve;
pub(crate) mod sim;
mod sim_copies;
pub(crate) mod stats;
mod together;
pub(crate) mod verify;

use anyhow::Result;
use herodotus_base::Timestamp;
use herodotus_store::{Entry, Store, key_of};

/// Where people say once and for all whom a server's owner can write to.
pub(crate) const CONTACT_VARIABLE: &str = "HERODOTUS_CONTACT";

/// A time for `clap`.
fn time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).map_err(|e| e.to_string())
}

/// A time that ends a range: what is left out is taken as its largest value.
fn end_time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_end(text).map_err(|e| e.to_string())
}

/// People write `example.org/page`.
fn full_url(text: &str) -> String {
    let has_scheme = text.split_once(':').is_some_and(|(scheme, rest)| {
        let word = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        word && (rest.starts_with("//") || !scheme.contains('.') && !rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    if has_scheme { text.to_owned() } else { format!("http://{text}") }
}

/// The version that was current at a time; failing that, the first after it.
fn version_at(store: &Store, url: &str, at: Option<Timestamp>) -> Result<Option<Entry>> {
    let key = key_of(&full_url(url));
    let time = at.unwrap_or(Timestamp::MAX);
    Ok(match store.newest_not_after(&key, time)? {
        Some(entry) => Some(entry),
        None => store.oldest_after(&key, time)?,
    })
}

/// What to say when a URL is not here.
fn not_found(store: &Store, url: &str) -> anyhow::Error {
    let full = full_url(url);
    let (from, to) = herodotus_page::host_range(&full);
    let near: Vec<String> =
        store.scan(&from, &to, false).flatten().filter(Entry::is_capture).map(|e| e.url).take(1).collect();
    match near.first() {
        Some(_) => anyhow::anyhow!(
            "{url} is not in the archive, but other pages of its host are: see them with `herodotus list --host {}`",
            herodotus_host(&full)
        ),
        None => anyhow::anyhow!("{url} is not in the archive, nor is anything else of its host"),
    }
}

fn herodotus_host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// What to say when a capture was removed between two looks.
fn gone(entry: &Entry) -> anyhow::Error {
    anyhow::anyhow!("{} of {} is no longer here", entry.url, entry.id.time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_be_written_without_its_scheme() {
        for (typed, full) in [
            ("example.org/a", "http://example.org/a"),
            ("example.org:8080/a", "http://example.org:8080/a"),
            ("localhost:80/a", "http://localhost:80/a"),
            ("https://example.org/", "https://example.org/"),
            ("urn:uuid:1", "urn:uuid:1"),
            ("dns:example.org", "dns:example.org"),
        ] {
            assert_eq!(full_url(typed), full);
        }
    }
}
