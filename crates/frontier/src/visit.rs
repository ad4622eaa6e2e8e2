//! What goes out of the frontier and what comes back: the types on its arrows.

use herodotus_base::Timestamp;
use herodotus_page::{LinkKind, Robots, WebUrl};
use std::net::IpAddr;

/// Names a visit while it is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VisitId(pub u64);

/// What a visit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    /// An origin's robots.txt, answered by [`crate::Frontier::handle_robots`].
    Robots,
    /// A URL of the crawl, answered by [`crate::Frontier::handle_answer`] and [`crate::Frontier::handle_finished`].
    Url,
}

/// Please fetch this.
#[derive(Clone, Debug)]
pub struct Visit {
    pub id: VisitId,
    pub errand: Errand,
    pub url: WebUrl,
    pub kind: LinkKind,
    pub seed: bool,
    /// What the last version said of itself, to ask whether it changed.
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// The beginning of the SHA-256 of the last version's payload.
    pub digest: Option<[u8; 16]>,
    /// When the round began: a capture that the archive already has since then will do.
    pub round_began: Timestamp,
    /// Visited for the first time in this crawl.
    pub first: bool,
    /// The time between two requests that the host is given.
    pub delay_ms: u64,
}

/// What there is to do.
#[derive(Clone, Debug)]
pub enum Next {
    Visit(Box<Visit>),
    /// A URL came to its end without a request.
    Settled(Box<Settled>),
    /// Nothing before this moment, unless an answer comes in.
    Wait(Timestamp),
    /// Everything waits for what is in flight.
    Busy,
    Done(End),
}

/// A URL that was not asked for, and why.
#[derive(Clone, Debug)]
pub struct Settled {
    pub url: WebUrl,
    pub reason: String,
    pub seed: bool,
}

/// Why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything known was visited in every round asked for.
    Complete,
    LimitPages,
    LimitBytes,
    LimitTime,
    /// Only hosts are left that asked us to stay away for longer than our patience.
    HostsBusy,
}

impl End {
    pub fn code(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::LimitPages => "limit_pages",
            Self::LimitBytes => "limit_bytes",
            Self::LimitTime => "limit_time",
            Self::HostsBusy => "hosts_busy",
        }
    }
}

/// How a host bore a request: what its politeness depends on. Comes in as soon as the connection is free.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The address that was dialled.
    pub address: Option<IpAddr>,
    /// The address is not among those that we were told to treat as our own.
    pub stranger: bool,
    pub took_ms: u64,
    /// 429 or 503.
    pub pressure: Option<Pressure>,
    /// A connection was had.
    pub reached: bool,
}

/// The host asked us to slow down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressure {
    pub retry_after_ms: Option<u64>,
}

/// What robots.txt said.
#[derive(Clone, Debug)]
pub enum RobotsAnswer {
    Rules(Robots),
    /// It could not be had, which forbids everything (RFC 9309, 2.3.1.4). The code says why; `unreachable` if no
    /// connection to the host was had at all, so that nothing else of it could be had either.
    Unavailable {
        code: &'static str,
        unreachable: bool,
        temporary: bool,
    },
}

/// How a visit ended, once what it brought is safe.
#[derive(Clone, Debug)]
pub enum Outcome {
    Response {
        status: u16,
        /// Media type without parameters; empty if unknown.
        media: String,
        /// Bytes over the wire.
        bytes: u64,
        version: Version,
        etag: Option<String>,
        last_modified: Option<String>,
        digest: [u8; 16],
        /// Why the body is not whole.
        truncated: Option<&'static str>,
    },
    Failure {
        code: &'static str,
        temporary: bool,
    },
}

/// What a response was to the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The first of its URL.
    New,
    Changed,
    /// The bytes were those of the last version.
    Same,
    /// 304: the server said so.
    NotModified,
    /// The archive had a capture of this round already; nothing was asked.
    Archived,
    /// Not kept: not of the media that were asked for.
    Unwanted,
    /// Not kept: the page asks not to be.
    NoArchive,
    /// Not kept: the host is busy, and is asked again.
    Busy,
}
