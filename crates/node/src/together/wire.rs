//! What machines ask each other about crawls. One call each, postcard within the transport's frame; numbers of variants are for ever.

use herodotus_base::Id;
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
    /// May I ask this host? Only the owner of its first place answers.
    Turn { host: String, delay_ms: u64 },
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
}

/// Bytes that postcard takes as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Bytes(#[serde(with = "serde_bytes")] pub(super) Vec<u8>);
