//! What a crawl has done so far, by status, media and reason: the stuff of summaries. Bounded, whatever servers make up.

use crate::limits::TALLY_NAMES_MAX;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A reason why URLs were left out, how many, and one of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    pub urls: u64,
    pub example: String,
}

/// Counts of a run, or of a whole crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Requests that were answered, robots.txt aside.
    pub fetched: u64,
    /// Of them pages: neither pictures, styles nor scripts.
    pub pages: u64,
    /// Bytes of bodies over the wire.
    pub bytes: u64,
    pub new: u64,
    pub changed: u64,
    /// The same bytes as before, whether the server said so (304) or our digest.
    pub unchanged: u64,
    pub not_modified: u64,
    /// Had already, since the round began.
    pub archived: u64,
    pub robots: u64,
    pub failed: u64,
    pub retried: u64,
    pub retired: u64,
    pub statuses: BTreeMap<String, u64>,
    pub media: BTreeMap<String, u64>,
    pub failures: BTreeMap<String, Skipped>,
    pub truncated: BTreeMap<String, Skipped>,
    pub skipped: BTreeMap<String, Skipped>,
}

/// What was done of a host over all runs, and what waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTally {
    pub name: String,
    pub fetched: u64,
    pub failed: u64,
    pub bytes: u64,
    pub waiting: u64,
}

impl Tally {
    /// Both together: of what machines did of one crawl.
    pub fn join(&mut self, other: &Self) {
        let counts = [
            (&mut self.fetched, other.fetched),
            (&mut self.pages, other.pages),
            (&mut self.bytes, other.bytes),
            (&mut self.new, other.new),
            (&mut self.changed, other.changed),
            (&mut self.unchanged, other.unchanged),
            (&mut self.not_modified, other.not_modified),
            (&mut self.archived, other.archived),
            (&mut self.robots, other.robots),
            (&mut self.failed, other.failed),
            (&mut self.retried, other.retried),
            (&mut self.retired, other.retired),
        ];
        counts.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(more));
        for (names, more) in [(&mut self.statuses, &other.statuses), (&mut self.media, &other.media)] {
            for (name, count) in more {
                let name = if names.len() < TALLY_NAMES_MAX || names.contains_key(name) { name } else { "other" };
                *names.entry(name.to_owned()).or_default() += count;
            }
        }
        let reasons = [
            (&mut self.failures, &other.failures),
            (&mut self.truncated, &other.truncated),
            (&mut self.skipped, &other.skipped),
        ];
        for (names, more) in reasons {
            for (name, skipped) in more {
                let name = if names.len() < TALLY_NAMES_MAX || names.contains_key(name) { name } else { "other" };
                let known = names.entry(name.to_owned()).or_default();
                known.urls += skipped.urls;
                if known.example.is_empty() {
                    known.example.clone_from(&skipped.example);
                }
            }
        }
    }
}

/// Counts one under a name, or under `other` when there are too many names.
pub(crate) fn count(map: &mut BTreeMap<String, u64>, name: &str) {
    if let Some(n) = map.get_mut(name) {
        *n += 1;
        return;
    }
    let name = if map.len() < TALLY_NAMES_MAX { name } else { "other" };
    *map.entry(name.to_owned()).or_default() += 1;
}

pub(crate) fn count_example(map: &mut BTreeMap<String, Skipped>, name: &str, url: &str) {
    if let Some(known) = map.get_mut(name) {
        known.urls += 1;
    } else {
        // Codes are ours, so their number is bounded already. A URL may be 32 KiB; an example need not.
        let example = url.chars().take(200).collect();
        map.insert(name.to_owned(), Skipped { urls: 1, example });
    }
}
