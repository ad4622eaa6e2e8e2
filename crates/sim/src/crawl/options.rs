//! What is simulated: which web, who fetches, how many machines, and what they can do.

use crate::error::{Error, Result};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A table by page and a queue by host fit into a few GiB up to here.
const PAGES_MAX: usize = 50_000_000;
const NODES_MAX: usize = 100_000;

/// The three crawls of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// Every link is followed.
    Exhaustive,
    /// Links are followed within some sites.
    Sites,
    /// Within a single one.
    One,
}

/// Who fetches a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// The owner of the URL's record: a host's URLs lie together until there are many, then in parts, whose number doubles.
    Owner,
    /// The owner of the URL's hash.
    Url,
    /// One machine for a host.
    Host,
    /// Some machines for a host: *Hostname-8* in the paper.
    #[serde(rename = "host-n")]
    HostN,
    /// Who would, unless too much is waiting there; then another, by the URL's hash. In the paper's setting it begins with one machine for a host, in
    /// ours with the owner.
    Redirect,
    /// Of the owner and those after it the one that is nearest to the site.
    Near,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Options {
    pub workload: Workload,
    pub strategy: Strategy,
    pub nodes: usize,
    pub seed: u64,
    /// The crawl is cut off then; with nothing here it goes on until nothing is left.
    pub minutes: Option<f64>,
    /// Links go straight to the fetcher, and nothing is archived.
    pub is_paper: bool,
    pub pages: usize,
    pub hosts: usize,
    /// Everything counted that sending a link costs.
    pub bytes_per_link: u32,
    /// Requests a second that the ring may send to one host; 0 is no limit.
    pub host_rate: f64,
    pub threads: usize,
    /// Of a machine's link, each way.
    pub kilobytes_per_second: f64,
    /// Of a thread, for a page, beside waiting for it.
    pub handling_ms: f64,
    /// Machines for a host in [`Strategy::HostN`].
    pub host_nodes: u32,
    /// URLs waiting at a machine, above which it passes new ones on.
    pub redirect_over: usize,
    pub redirects_max: u8,
    /// Machines among which the nearest is taken.
    pub candidates: usize,
}

impl Workload {
    pub const ALL: [Self; 3] = [Self::Exhaustive, Self::Sites, Self::One];

    /// Pages and hosts. The paper tells what its crawls found (873,631 pages on over 70,000 hosts; over 500,000 on 45; one site) of a web that did not end
    /// for them: so there are many more pages here than are found in a quarter of an hour.
    pub const fn size(self) -> (usize, usize) {
        match self {
            Self::Exhaustive => (10_000_000, 75_000),
            Self::Sites => (10_000_000, 45),
            Self::One => (10_000_000, 1),
        }
    }
}

impl Strategy {
    pub const ALL: [Self; 6] = [Self::Owner, Self::Url, Self::Host, Self::HostN, Self::Redirect, Self::Near];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Url => "url",
            Self::Host => "host",
            Self::HostN => "host-n",
            Self::Redirect => "redirect",
            Self::Near => "near",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exhaustive => "exhaustive",
            Self::Sites => "sites",
            Self::One => "one",
        })
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == text).ok_or_else(|| Error::Option {
            what: "the strategy",
            must: "owner, url, host, host-n, redirect, near or all",
            is: text.to_owned(),
        })
    }
}

impl FromStr for Workload {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|workload| workload.to_string() == text).ok_or_else(|| Error::Option {
            what: "the workload",
            must: "exhaustive, sites or one",
            is: text.to_owned(),
        })
    }
}

impl Options {
    /// Our own setting: polite, and everything is archived at its place.
    pub fn new(workload: Workload, strategy: Strategy, nodes: usize) -> Self {
        let (pages, hosts) = workload.size();
        Self {
            workload,
            strategy,
            nodes,
            seed: 1,
            minutes: Some(15.0),
            is_paper: false,
            pages,
            hosts,
            bytes_per_link: 20,
            host_rate: 1.0,
            threads: 3,
            // The paper's busiest node takes in 60 KB/s and is "saturated" by it; it names no cap.
            kilobytes_per_second: 60.0,
            // With it 80 machines fetch about the 43,404 pages of the paper's exhaustive crawl in a quarter of an hour.
            handling_ms: 3500.0,
            host_nodes: 8,
            redirect_over: 500,
            redirects_max: 1,
            candidates: 3,
        }
    }

    /// What the paper ran on PlanetLab, as far as it tells: three threads, a quarter of an hour, no rate for hosts.
    pub fn paper(workload: Workload, strategy: Strategy, nodes: usize) -> Self {
        // The axis of figure 8 ends at 2,500 bytes for a page, and redirection "up to 3 times as much" as by URL: with 750 it comes to that.
        Self { is_paper: true, bytes_per_link: 750, host_rate: 0.0, ..Self::new(workload, strategy, nodes) }
    }

    pub fn check(&self) -> Result<()> {
        let fail = |what, must, is: String| Err(Error::Option { what, must, is });
        if self.nodes == 0 || self.nodes > NODES_MAX {
            return fail("the number of nodes", "between 1 and 100,000", self.nodes.to_string());
        }
        if self.pages == 0 || self.pages > PAGES_MAX {
            return fail("the number of pages", "between 1 and 50,000,000", self.pages.to_string());
        }
        if self.hosts == 0 || self.hosts > self.pages {
            return fail("the number of hosts", "at least 1 and at most the number of pages", self.hosts.to_string());
        }
        if self.workload == Workload::One && self.hosts != 1 {
            return fail("the number of hosts", "1 in a crawl of one site", self.hosts.to_string());
        }
        if self.minutes.is_some_and(|minutes| !(minutes > 0.0 && minutes <= 1e6)) {
            return fail("the time in minutes", "more than 0 and at most a million", format!("{:?}", self.minutes));
        }
        if !(1..=10_000).contains(&self.bytes_per_link) {
            return fail("the bytes of a link", "between 1 and 10,000", self.bytes_per_link.to_string());
        }
        if self.host_rate != 0.0 && !(0.001..=1000.0).contains(&self.host_rate) {
            return fail(
                "a host's rate",
                "0 for none, or between 0.001 and 1,000 a second",
                self.host_rate.to_string(),
            );
        }
        if !(1..=1000).contains(&self.threads) {
            return fail("the number of threads", "between 1 and 1,000", self.threads.to_string());
        }
        if !(0.1..=1e7).contains(&self.kilobytes_per_second) {
            return fail("a link's speed", "between 0.1 and 10,000,000 KB/s", self.kilobytes_per_second.to_string());
        }
        if !(0.0..=1e6).contains(&self.handling_ms) {
            return fail("the time for a page", "between 0 and 1,000,000 ms", self.handling_ms.to_string());
        }
        self.check_strategy()
    }

    /// What only one strategy heeds is checked only there: the others do not care.
    fn check_strategy(&self) -> Result<()> {
        let fail = |what, must, is: String| Err(Error::Option { what, must, is });
        match self.strategy {
            Strategy::HostN if !(2..=4096).contains(&self.host_nodes) => fail(
                "the machines for a host",
                "between 2 and 4,096 (one is the strategy host)",
                self.host_nodes.to_string(),
            ),
            Strategy::Redirect if !(1..=16).contains(&self.redirects_max) => fail(
                "the redirects of a URL",
                "between 1 and 16 (with none it is no redirection)",
                self.redirects_max.to_string(),
            ),
            Strategy::Near if !(2..=64).contains(&self.candidates) => {
                fail("the candidates", "between 2 and 64 (one is the strategy owner)", self.candidates.to_string())
            }
            _ => Ok(()),
        }
    }
}
