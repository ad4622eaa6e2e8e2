//! Walking over URLs rather than captures: from key to key by a look-up each, so that a URL with 10,000 versions costs as
//! much as one with two.

use super::Found;
use super::limits::{HOPS_MAX, VERSIONS_COMPARED_MAX};
use super::title::titles_of;
use crate::answer::Trouble;
use crate::archive::Entries;
use crate::site::Site;
use herodotus_base::Timestamp;
use herodotus_page::host_of_key;
use herodotus_store::{Entry, key_of};

/// URLs in the order of their keys, and the key to go on from.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) found: Vec<Found>,
    pub(super) next: Option<String>,
}

/// Behind all versions of a key, before every other key.
pub(super) fn behind(key: &str) -> String {
    format!("{key}\u{1}")
}

/// Behind all keys that begin with this. Keys are printable ASCII.
pub(super) fn end_of(prefix: &str) -> String {
    format!("{prefix}\u{7f}")
}

/// The URLs with `from <= key < to`, at most `max`.
pub(super) fn walk(site: &Site, from: &str, to: &str, max: usize) -> Result<Walk, Trouble> {
    let (mut found, mut next) = (Vec::new(), None);
    let mut at = from.to_owned();
    for hop in 0.. {
        let Some(entry) = site.archive().first_at_or_after(&at)? else { break };
        let key = entry.id.key;
        if key.as_str() >= to {
            break;
        }
        if found.len() >= max || hop >= HOPS_MAX {
            next = Some(key);
            break;
        }
        found.extend(untitled(site, &key)?);
        at = behind(&key);
    }
    Ok(Walk { found: titled(site, found), next })
}

/// What was found of a URL, and its newest version, which has the title.
type Untitled = (Found, Entry);

/// What is here of a URL, by its key. `None`: nothing.
pub(super) fn found(site: &Site, key: &str) -> Result<Option<Found>, Trouble> {
    let found = untitled(site, key)?;
    Ok(titled(site, found.into_iter().collect()).pop())
}

/// The titles are asked for together.
fn titled(site: &Site, found: Vec<Untitled>) -> Vec<Found> {
    let newest: Vec<&Entry> = found.iter().map(|(_, newest)| newest).collect();
    let titles = titles_of(site, &newest);
    found.into_iter().zip(titles).map(|((found, _), title)| Found { title, ..found }).collect()
}

/// The same without its title.
pub(super) fn untitled(site: &Site, key: &str) -> Result<Option<Untitled>, Trouble> {
    let versions = site.archive().count(key)?;
    if versions == 0 {
        return Ok(None);
    }
    let (Some(first), Some(last)) = (end_version(site, key, false)?, end_version(site, key, true)?) else {
        return Ok(None);
    };
    let found = Found {
        title: None,
        versions,
        first: first.id.time.rfc3339(),
        last: last.id.time.rfc3339(),
        stamp: last.id.time.digits14(),
        url: last.url.clone(),
    };
    Ok(Some((found, last)))
}

/// The first or the last capture of a key.
pub(super) fn end_version(site: &Site, key: &str, last: bool) -> Result<Option<Entry>, Trouble> {
    first_capture(site.archive().versions(key, last))
}

/// The version that was current at a time; failing that, the first after it.
pub(super) fn version_at(site: &Site, url: &str, at: Timestamp) -> Result<Option<Entry>, Trouble> {
    let key = key_of(url);
    match first_capture(site.archive().versions_until(&key, at))? {
        Some(entry) => Ok(Some(entry)),
        None => first_capture(site.archive().versions_after(&key, at)),
    }
}

/// Records that are no captures are few, unless somebody means ill.
pub(super) fn first_capture(entries: Entries<'_>) -> Result<Option<Entry>, Trouble> {
    for entry in entries.take(VERSIONS_COMPARED_MAX) {
        let entry = entry?;
        if entry.is_capture() {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Where the keys of a key's site begin.
pub(super) fn site_start(key: &str) -> &str {
    let site = host_of_key(key);
    let with_bracket = site.len() + ")/".len();
    match key.get(site.len()..with_bracket) {
        Some(")/") => key.get(..with_bracket).unwrap_or(site),
        _ => site,
    }
}

/// Other URLs of the same site: those of the nearest folder that has any, then whatever the site begins with.
pub(super) fn near(site: &Site, key: &str, max: usize) -> Result<Vec<Found>, Trouble> {
    /// Deeper paths are made by machines, and mostly by mistake.
    const LEVELS_MAX: usize = 32;
    let start = site_start(key);
    let mut folder = key;
    let mut found = Vec::new();
    for _ in 0..LEVELS_MAX {
        let Some(slash) = folder.strip_suffix('/').unwrap_or(folder).rfind('/') else { break };
        if slash < start.len() {
            break;
        }
        folder = folder.get(..=slash).unwrap_or(start);
        found = walk(site, folder, &end_of(folder), max)?.found;
        if !found.is_empty() {
            break;
        }
    }
    if found.len() < max {
        let more = walk(site, start, &end_of(start), max)?.found;
        let is_new = |one: &Found, known: &[Found]| known.iter().all(|other| key_of(&other.url) != key_of(&one.url));
        for one in more {
            if found.len() < max && is_new(&one, &found) {
                found.push(one);
            }
        }
    }
    Ok(found)
}
