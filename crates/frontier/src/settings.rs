//! What a crawl is told to do. The same struct is the `[crawl]` of a crawl file; every knob has a sane default.

use crate::error::{Error, Result};
use crate::span::Span;
use serde::{Deserialize, Serialize};

/// How far from its seeds a crawl goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The seeds alone, with what they need to be shown.
    Page,
    /// What lies in the seeds' folders and below.
    Prefix,
    /// The seeds' hosts.
    #[default]
    Host,
    /// The seeds' registered domains with all their hosts, by the public suffix list.
    Domain,
    /// Wherever links lead.
    Any,
}

/// What is kept of what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Media {
    Html,
    Images,
    #[default]
    All,
}

/// URLs that match come earlier (below zero) or later (above) by so many steps of depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rank {
    pub pattern: String,
    pub steps: i16,
}

/// Where a site is taken for one that has no end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Traps {
    /// Folders in a path
    pub path_segments: usize,
    /// Times that one segment may stand in a path
    pub repeats: usize,
    /// Parameters in a query
    pub parameters: usize,
    /// URLs of one shape that name dates: `/2031/05/07`, `?month=2031-05`
    pub dates: u32,
    /// URLs of one path that differ in their query alone
    pub queries: u32,
    /// URLs known of one host
    pub host_urls: u64,
    /// Hosts known of one registered domain
    pub domain_hosts: u32,
}

impl Default for Traps {
    fn default() -> Self {
        Self {
            path_segments: 24,
            repeats: 3,
            parameters: 16,
            dates: 4_000,
            queries: 20_000,
            host_urls: 1_000_000,
            domain_hosts: 2_000,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub scope: Scope,
    /// Links followed from a seed; none: any number.
    pub depth: Option<u16>,
    /// Pages (not pictures, styles and scripts) fetched in a run
    pub limit: Option<u64>,
    /// Bytes fetched in a run, as they came over the wire
    pub limit_bytes: Option<u64>,
    /// Time that a run takes
    pub limit_time: Option<Span>,
    /// Only URLs that match one of these; seeds and what pages need are always taken
    pub include: Vec<String>,
    /// No URL that matches one of these
    pub exclude: Vec<String>,
    pub rank: Vec<Rank>,
    pub media: Media,
    /// Least time between two requests to a host; below 500ms only where addresses are allowed as private
    pub delay: Span,
    /// Requests at once to one host
    pub concurrency: u32,
    /// Do not ask for robots.txt, nor heed `nofollow` and `noarchive`
    pub ignore_robots: bool,
    /// Rounds in a run
    pub rounds: u32,
    /// All that is known is due again after this
    pub period: Span,
    /// What changes often is due again after as little as this (none: an eighth of the period)
    pub period_min: Option<Span>,
    /// What never changes is due again after as much as this (none: the period)
    pub period_max: Option<Span>,
    /// Further tries in a round for what failed in a way that may pass
    pub retries: u8,
    pub retry_delay: Span,
    /// How long a run waits for hosts that asked us to stay away, when nothing else is left to do
    pub patience: Span,
    pub traps: Traps,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            depth: None,
            limit: None,
            limit_bytes: None,
            limit_time: None,
            include: Vec::new(),
            exclude: Vec::new(),
            rank: Vec::new(),
            media: Media::default(),
            delay: Span(1_000),
            concurrency: 1,
            ignore_robots: false,
            rounds: 1,
            period: Span::secs(86_400),
            period_min: None,
            period_max: None,
            retries: 2,
            retry_delay: Span::secs(30),
            patience: Span::secs(600),
            traps: Traps::default(),
        }
    }
}

impl Settings {
    /// Refuses what makes no sense, in words that say which knob.
    pub fn check(&self) -> Result<()> {
        let refuse = |text: String| Err(Error::Settings(text));
        if self.rounds == 0 || self.concurrency == 0 {
            return refuse("rounds and concurrency begin at 1".to_owned());
        }
        if self.period.0 < 100 {
            return refuse(format!("a period of {} is too short: at least 100ms", self.period));
        }
        if self.period_min() > self.period_max() {
            return refuse(format!(
                "period_min ({}) is more than period_max ({})",
                self.period_min(),
                self.period_max()
            ));
        }
        self.patterns().map(|_| ())
    }

    pub(crate) fn period_min(&self) -> Span {
        self.period_min.unwrap_or(Span(self.period.0 / 8)).max(Span(1))
    }

    pub(crate) fn period_max(&self) -> Span {
        self.period_max.unwrap_or(self.period)
    }

    pub(crate) fn patterns(&self) -> Result<Patterns> {
        let compile = |text: &String| {
            regex::RegexBuilder::new(text)
                .size_limit(1 << 20)
                .build()
                .map_err(|e| Error::Settings(format!("`{text}` is not a pattern: {e}")))
        };
        Ok(Patterns {
            include: self.include.iter().map(compile).collect::<Result<_>>()?,
            exclude: self.exclude.iter().map(compile).collect::<Result<_>>()?,
            rank: self.rank.iter().map(|r| Ok((compile(&r.pattern)?, r.steps))).collect::<Result<_>>()?,
        })
    }
}

/// The patterns, compiled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns {
    include: Vec<regex::Regex>,
    exclude: Vec<regex::Regex>,
    rank: Vec<(regex::Regex, i16)>,
}

impl Patterns {
    pub(crate) fn includes(&self, url: &str) -> bool {
        self.include.is_empty() || self.include.iter().any(|p| p.is_match(url))
    }

    pub(crate) fn excludes(&self, url: &str) -> bool {
        self.exclude.iter().any(|p| p.is_match(url))
    }

    pub(crate) fn steps(&self, url: &str) -> i32 {
        self.rank.iter().filter(|(p, _)| p.is_match(url)).map(|(_, steps)| i32::from(*steps)).sum()
    }
}
