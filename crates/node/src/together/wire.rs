//! What machines ask each other about crawls. One call each, postcard within the transport's frame; numbers of variants are for ever.

use herodotus_base::Id;
use herodotus_frontier::{HostTally, Tally};
use herodotus_net::Kind;
use serde::{Deserialize, Serialize};

/// Crawls' own calls among those of the transport.
pub(crate) const CRAWLS: Kind = Kind(3);
/// Crawls that a machine knows of.
pub(super) const CRAWLS_MAX: usize = 4096;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// I know these crawls, in these versions and with these digests of what they are: what do you know better?
    Crawls { known: Vec<([u8; 16], u64, u64)> },
    /// You wanted these.
    Learn { bundle: Bytes },
    /// Links for you, or for somebody you know better than I. Answered when they are on your disk.
    Links { batch: Bytes },
    /// How does your part of this crawl stand?
    Part { crawl: [u8; 16] },
    /// May I ask this host? As it was before there were leases; nobody asks so any more.
    Turn { host: String, delay_ms: u64 },
    /// May I ask this host once? Only the owner of its first place answers, when I may or after some seconds.
    Lease { host: String, delay_ms: u64, at_once: u32, is_split: bool },
    /// I have. The host asked to be left alone for so long.
    LeaseOver { host: String, lease: u64, pause_ms: u64 },
    /// What does this robots.txt say? Only the owner of its host's first place answers: it fetches it once for all.
    Robots { crawl: [u8; 16], url: String, delay_ms: u64 },
    /// How far is this site from you?
    RoundTrip { crawl: [u8; 16], url: String },
    /// What has your part of this crawl done, by host, status, kind and reason? For a page that somebody looks at.
    Detail { crawl: [u8; 16] },
}

/// What a stream about crawls is for: its head. What comes back are [`Frame`]s.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Bulk {
    /// Make this exchange for me: the URL is mine, and its host may be asked.
    Fetch(Errand),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Errand {
    pub(super) crawl: [u8; 16],
    pub(super) url: String,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
    pub(super) referer: Option<String>,
    pub(super) media: herodotus_frontier::Media,
    /// Not if more than that waits with you.
    pub(super) waiting_max: Option<u64>,
}

/// A piece of an exchange that is made for another machine. First whether it is made, then the head, the body piece by piece, and how it went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Frame {
    Accepted,
    Declined,
    Head(Bytes),
    Wire(Bytes),
    Made(Box<Report>),
    Failed { code: String, is_temporary: bool, text: String },
}

/// What is to be known of an exchange beside its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) time_ms: i64,
    pub(super) request: Bytes,
    pub(super) remote: std::net::SocketAddr,
    pub(super) protocol: herodotus_fetch::Protocol,
    /// Version and cipher.
    pub(super) tls: Option<(String, String)>,
    pub(super) truncated: Option<herodotus_fetch::Truncated>,
    pub(super) body_left: bool,
    /// Connecting, waiting for the head, all of it.
    pub(super) took_us: [u64; 3],
    pub(super) reused: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Crawls {
        newer: Bytes,
        wanted: Vec<[u8; 16]>,
    },
    Learnt,
    Taken,
    /// Nothing: that crawl does not run here.
    Part(Option<PartStatus>),
    /// After so long.
    Turn {
        wait_ms: u64,
    },
    /// Ask somebody else, or later.
    NotNow,
    /// Nothing: others are before you, ask again.
    Lease {
        lease: Option<u64>,
    },
    /// Nothing: not yet, ask again.
    Robots(Option<crate::crawl::RobotsTold>),
    /// Nothing: it cannot be reached from here.
    RoundTrip {
        micros: Option<u64>,
    },
    Noted,
    /// Nothing: that crawl does not run here.
    Detail(Option<Box<PartDetail>>),
    /// Taken, by a machine that has work for so long without more.
    TakenWith {
        work_ms: u32,
    },
}

/// What one machine's part has done.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct PartDetail {
    pub(super) tally: Tally,
    pub(super) hosts: Vec<HostTally>,
}

/// How one machine's part stands.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct PartStatus {
    pub(super) version: u64,
    pub(super) is_idle: bool,
    pub(super) activity: u64,
    /// Links on their way to others.
    pub(super) unsent: u64,
    /// The arcs that this machine answers for.
    pub(super) arcs: Vec<(Id, Id)>,
    pub(super) urls: u64,
    pub(super) waiting: u64,
    pub(super) in_flight: u64,
    pub(super) hosts: u64,
    pub(super) pages: u64,
    pub(super) fetched: u64,
    pub(super) new: u64,
    pub(super) changed: u64,
    pub(super) unchanged: u64,
    pub(super) archived: u64,
    pub(super) failed: u64,
    pub(super) bytes: u64,
    pub(super) round: u32,
    /// Exchanges that were made for others, and that others made for us.
    pub(super) for_others: u64,
    pub(super) elsewhere: u64,
}

/// Bytes that postcard takes as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Bytes(#[serde(with = "serde_bytes")] pub(super) Vec<u8>);
