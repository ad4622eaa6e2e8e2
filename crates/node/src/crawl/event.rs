//! What a crawl tells whoever watches: each URL's end, how it goes, and a summary.

use herodotus_fetch::Failure;
use herodotus_frontier::{End, Progress, Tally, Version};
use herodotus_page::WebUrl;
use std::time::Duration;

#[derive(Debug)]
pub enum Event<'a> {
    /// A response came, and what is to be kept of it is on the disk.
    Fetched {
        url: &'a WebUrl,
        status: u16,
        media: &'a str,
        bytes: u64,
        version: Version,
        truncated: Option<&'static str>,
        took: Duration,
    },
    Failed {
        url: &'a WebUrl,
        code: &'a str,
        message: &'a str,
        again: bool,
    },
    /// Left out, and why.
    Skipped {
        url: &'a WebUrl,
        reason: &'a str,
    },
    /// Now and then: how it stands, and the counts of this run and of all.
    Progress {
        progress: Progress,
        run: &'a Tally,
        total: &'a Tally,
    },
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Summary {
    pub name: String,
    pub round: u32,
    /// `None`: it was stopped.
    pub end: Option<End>,
    pub tally: Tally,
    pub progress: Progress,
    pub seeds_fetched: u64,
    pub seeds_failed: u64,
    pub took: Duration,
    /// Name, fetched, failed, bytes: over all runs.
    pub hosts: Vec<herodotus_frontier::HostTally>,
}

/// Whether no connection to the host was had at all.
pub(super) fn is_unreachable(failure: &Failure) -> bool {
    let code = failure.code();
    ["dns", "no_address", "forbidden", "connect", "tls"].iter().any(|begins| code.starts_with(begins))
}
