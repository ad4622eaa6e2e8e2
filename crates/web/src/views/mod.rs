//! What pages and the JSON API show, as plain values: each is made once, and is rendered by `ui` for people and by `api`
//! for programs, so that the two cannot disagree.
//!
//! Making a view reads the archive and may block: call from [`crate::Site::blocking`].

mod cache;
mod difference;
mod facts;
#[cfg(test)]
mod fixture;
mod home;
mod host;
pub(crate) mod limits;
mod lines;
mod search;
#[cfg(test)]
mod tests;
mod title;
mod versions;
mod walk;

pub(crate) use cache::Caches;
pub(crate) use difference::difference;
pub(crate) use facts::facts;
pub(crate) use home::{crawls, home, own_totals, recent, totals};
pub(crate) use host::host;
pub(crate) use search::search;
pub(crate) use versions::versions;

use crate::archive::Silence;
use crate::crawls::CrawlView;
use herodotus_store::Entry;
use serde::Serialize;

/// One capture of a URL.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Version {
    /// Fourteen digits: how the field writes a moment.
    pub(crate) stamp: String,
    /// RFC 3339.
    pub(crate) time: String,
    pub(crate) url: String,
    pub(crate) status: Option<u16>,
    pub(crate) media: String,
    /// Bytes of the payload as it came.
    pub(crate) length: u64,
    /// Payload digest, base32 SHA-1, as in CDX.
    pub(crate) digest: String,
    pub(crate) truncated: bool,
    pub(crate) change: Option<Change>,
}

impl Version {
    /// What the index says of a capture, and of the one whose payload it stands for, if it is a revisit.
    fn seen(entry: &Entry, original: Option<&Entry>) -> Self {
        let payload = original.unwrap_or(entry);
        let is_empty_answer = entry.status.is_none() || entry.status == Some(304);
        Self {
            stamp: entry.id.time.digits14(),
            time: entry.id.time.rfc3339(),
            url: entry.url.clone(),
            status: if is_empty_answer { payload.status.or(entry.status) } else { entry.status },
            media: if payload.media.is_empty() { entry.media.clone() } else { payload.media.clone() },
            length: payload.len,
            digest: payload.sha1.base32(),
            truncated: payload.truncated,
            change: None,
        }
    }
}

/// How a version differs from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Change {
    /// There is none before it.
    First,
    /// The very same bytes.
    Same,
    /// Share of the lines that a person reads which are new or gone, 0 to 1 (0: only markup changed); `None`: not text, or
    /// too much of it.
    Changed { share: Option<f32>, bytes: i64 },
}

/// The first page.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Home {
    pub(crate) totals: Totals,
    pub(crate) recent: Vec<Recent>,
    pub(crate) crawls: Vec<CrawlView>,
    /// Whether crawls can be started here.
    pub(crate) can_crawl: bool,
    /// Machines of the ring that had nothing to say to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) silent: Option<Silence>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Totals {
    pub(crate) captures: u64,
    pub(crate) urls: u64,
    /// As it came over the wire.
    pub(crate) bytes_in: u64,
    /// On this disk, everything counted.
    pub(crate) bytes_on_disk: u64,
    /// Machines of the ring that are not counted, since they did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) silent: Option<Silence>,
}

/// Something archived lately.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Recent {
    pub(crate) title: Option<String>,
    #[serde(flatten)]
    pub(crate) version: Version,
}

/// What a search found.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Search {
    pub(crate) query: String,
    /// How the query was read.
    pub(crate) read_as: ReadAs,
    /// The very URL that was asked for is here: it is the one found. (Read as a URL and not this: what is found is near it.)
    pub(crate) exact: bool,
    pub(crate) found: Vec<Found>,
    /// There is more than is shown.
    pub(crate) more: bool,
    /// Key to go on from, where there is more (of a URL, prefix or host; words have none).
    pub(crate) next: Option<String>,
    /// Titles of the newest captures may not be searchable yet.
    pub(crate) behind: bool,
    /// Machines of the ring that did not answer: what only they know is not found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) silent: Option<Silence>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReadAs {
    Url,
    Prefix,
    Host,
    Words,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Found {
    pub(crate) url: String,
    pub(crate) title: Option<String>,
    pub(crate) versions: u64,
    /// RFC 3339.
    pub(crate) first: String,
    pub(crate) last: String,
    /// Stamp of the newest version.
    pub(crate) stamp: String,
}

/// Every version of a URL: numbers by year and day, and a page of the list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Versions {
    pub(crate) url: String,
    pub(crate) title: Option<String>,
    pub(crate) total: u64,
    /// The years and days cover only the newest so many versions: there are more.
    pub(crate) partial: bool,
    /// Stamps.
    pub(crate) first: Option<String>,
    pub(crate) last: Option<String>,
    pub(crate) years: Vec<YearCount>,
    /// The year whose days are told.
    pub(crate) year: i32,
    pub(crate) days: Vec<DayCount>,
    pub(crate) list: Vec<Version>,
    /// Stamp to go on from, newest first.
    pub(crate) next: Option<String>,
    /// Other URLs of the host that are here, when this one is not.
    pub(crate) near: Vec<Found>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct YearCount {
    pub(crate) year: i32,
    /// January to December.
    pub(crate) months: [u32; 12],
    pub(crate) versions: u64,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct DayCount {
    /// `2026-01-02`.
    pub(crate) day: String,
    pub(crate) versions: u32,
    /// How many of them differ from the version before.
    pub(crate) changed: u32,
    /// Stamp of the last of the day.
    pub(crate) stamp: String,
    /// Only errors and redirects on this day.
    pub(crate) only_other: bool,
}

/// Two versions beside each other.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Difference {
    pub(crate) url: String,
    pub(crate) from: Version,
    pub(crate) to: Version,
    pub(crate) blocks: Vec<Block>,
    pub(crate) lines_added: u64,
    pub(crate) lines_removed: u64,
    /// Too much to compare, or not text: why there are no blocks.
    pub(crate) note: Option<String>,
}

/// Lines in a row of one kind.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Block {
    Same {
        lines: Vec<String>,
    },
    /// Unchanged lines that are not shown.
    Skipped {
        count: u64,
    },
    /// Lines gone and lines come in their place. Each line is pieces of text; `true`: this piece is what changed.
    Changed {
        removed: Vec<Vec<(bool, String)>>,
        added: Vec<Vec<(bool, String)>>,
    },
}

/// A host: what lies under a path of it, and what it is made of.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Host {
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) children: Vec<Child>,
    /// Key to go on from.
    pub(crate) next: Option<String>,
    /// `2026-01`, captures.
    pub(crate) months: Vec<(String, u64)>,
    pub(crate) media: Vec<MediaCount>,
    pub(crate) statuses: Vec<(String, u64)>,
    pub(crate) captures: u64,
    pub(crate) urls: u64,
    pub(crate) bytes: u64,
    /// The numbers cover only the first so many captures: the host has more.
    pub(crate) partial: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Child {
    /// The next step of the path, with its slash if more lies below it.
    pub(crate) name: String,
    /// Path from the root of the host.
    pub(crate) path: String,
    pub(crate) is_folder: bool,
    /// One URL here, if this step is itself one.
    pub(crate) url: Option<String>,
    pub(crate) title: Option<String>,
    /// Captures at and below, as far as was counted.
    pub(crate) captures: u64,
    pub(crate) more: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct MediaCount {
    pub(crate) media: String,
    pub(crate) captures: u64,
    pub(crate) bytes: u64,
}
