//! What a plan starts from. Every number has its unit in its name; a share is between 0 and 1, a ratio says what becomes of a
//! byte. Names in errors are the names of the command's flags, so that a person finds them again.

use crate::limits::{
    BYTES_MAX, COPIES_MAX, COUNT_MAX, DAYS_MAX, HOURS_MAX, MONTHS_MAX, NODES_MAX, PER_PAGE_MAX, POSITIVE_MIN, RATE_MAX,
    RATIO_MAX,
};
use crate::{Error, Result};
use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Inputs {
    pub web: Web,
    pub packing: Packing,
    pub crawl: Crawl,
    pub links: Links,
    pub ring: Ring,
    pub machine: Machine,
}

/// What there is to archive.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Web {
    pub pages_count: f64,
    /// Pictures and whatever else a page needs, as far as it is not another page's too.
    pub others_per_page: f64,
    /// As it is when nothing is compressed.
    pub page_bytes: f64,
    pub other_bytes: f64,
    pub pages_changed_share_per_day: f64,
    pub others_changed_share_per_day: f64,
    /// New ones, of those that there are.
    pub added_share_per_day: f64,
    pub links_per_page: f64,
    /// Links on a changed page that were not on it before.
    pub changed_links_share: f64,
}

/// How small it becomes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Packing {
    /// A page with gzip, of the page: what `.warc.gz` makes of it, and about what servers send.
    pub page_gzip_ratio: f64,
    /// The first version of a page on our disk, of the page with gzip.
    pub page_first_of_gzip: f64,
    /// A later version, kept as a difference.
    pub page_version_of_gzip: f64,
    /// Anything but a page, of its size.
    pub other_ratio: f64,
    /// Beside each capture.
    pub index_bytes_per_capture: f64,
    /// What the crawl remembers of each URL.
    pub record_bytes_per_url: f64,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Crawl {
    /// For how long the machines are to suffice.
    pub months: f64,
    /// From one visit to the next.
    pub round_days: f64,
    /// Machines that each fetch the same page.
    pub fetchers_count: u32,
    /// A conditional GET, and the answer that nothing has changed.
    pub request_bytes: f64,
    pub answer_bytes: f64,
    /// Unchanged objects that are sent all the same, since their server knows no conditions.
    pub resent_share: f64,
    /// Whether pages come compressed from their servers.
    pub is_sent_gzipped: bool,
}

/// How nodes tell each other of links.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Links {
    /// Everything counted, on the way to one receiver.
    pub bytes_per_link: f64,
    /// Links whose place is on another machine.
    pub leaving_share: f64,
    /// Machines that each link is sent to.
    pub receivers_count: u32,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Ring {
    pub copies_count: u32,
    /// As many as there are; else as many as it takes.
    pub nodes_count: Option<u64>,
    /// A capture on its way to another holder, of its bytes on the disk.
    pub handed_of_stored: f64,
    /// What keeping the ring in order takes of each machine, either way.
    pub upkeep_bytes_per_minute: f64,
    /// How long an absent machine is waited for before others take over what it held; for ever, if nothing is said.
    pub grace_hours: Option<f64>,
    pub repair: Repair,
    /// Whether what a machine held is made again on as many machines at once as there are copies; else on one.
    pub is_repair_spread: bool,
}

/// How fast copies are made again.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// In so many days, whatever bandwidth that takes.
    Days(f64),
    /// With this share of a machine's bandwidth, however long it takes.
    Share(f64),
}

/// What one machine gives, all machines being alike.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Machine {
    pub disk_bytes: f64,
    /// How full disks may be in the mean: places on the ring are not equally large.
    pub disk_fill_share: f64,
    /// As much as it takes, if nothing is said.
    pub up_bits_per_s: Option<f64>,
    pub down_bits_per_s: Option<f64>,
    /// From joining to leaving for good.
    pub stay_days: f64,
    /// From start to stop, and from stop to start, in between.
    pub session_hours: f64,
    pub absence_hours: f64,
}

impl Web {
    pub fn others_count(&self) -> f64 {
        self.pages_count * self.others_per_page
    }

    pub fn objects_count(&self) -> f64 {
        self.pages_count + self.others_count()
    }
}

impl Machine {
    /// The share of its stay in which it is there.
    pub fn up_share(&self) -> f64 {
        self.session_hours / (self.session_hours + self.absence_hours)
    }
}

impl Inputs {
    /// The same, without pictures: the thesis's "Herodotus light" (6.2).
    pub fn pages_only(mut self) -> Self {
        self.web.others_per_page = 0.0;
        self
    }

    /// The same with other copies and as many machines as that takes. Whoever has all holders fetch goes on doing so.
    pub fn with_copies(mut self, copies: u32) -> Self {
        let all_fetch = self.crawl.fetchers_count == self.ring.copies_count;
        let all_told = self.links.receivers_count == self.ring.copies_count;
        self.crawl.fetchers_count = if all_fetch { copies } else { self.crawl.fetchers_count.min(copies) };
        self.links.receivers_count = if all_told { copies } else { self.links.receivers_count.min(copies) };
        self.ring.copies_count = copies;
        self.ring.nodes_count = None;
        self
    }

    /// Whether all of it makes sense.
    pub fn check(&self) -> Result<()> {
        let (web, packing, crawl) = (&self.web, &self.packing, &self.crawl);
        let (links, ring, machine) = (&self.links, &self.ring, &self.machine);
        positive("pages", web.pages_count, COUNT_MAX)?;
        some("others-per-page", web.others_per_page, PER_PAGE_MAX)?;
        positive("page-size", web.page_bytes, BYTES_MAX)?;
        some("other-size", web.other_bytes, BYTES_MAX)?;
        some("changing", web.pages_changed_share_per_day, 1.0)?;
        some("others-changing", web.others_changed_share_per_day, 1.0)?;
        some("growing", web.added_share_per_day, 1.0)?;
        some("links", web.links_per_page, PER_PAGE_MAX)?;
        some("new-links", web.changed_links_share, 1.0)?;
        positive("gzip", packing.page_gzip_ratio, RATIO_MAX)?;
        positive("first", packing.page_first_of_gzip, RATIO_MAX)?;
        positive("version", packing.page_version_of_gzip, RATIO_MAX)?;
        positive("other", packing.other_ratio, RATIO_MAX)?;
        some("index-size", packing.index_bytes_per_capture, BYTES_MAX)?;
        some("record-size", packing.record_bytes_per_url, BYTES_MAX)?;
        some("months", crawl.months, MONTHS_MAX)?;
        positive("round-days", crawl.round_days, DAYS_MAX)?;
        some("request-size", crawl.request_bytes, BYTES_MAX)?;
        some("answer-size", crawl.answer_bytes, BYTES_MAX)?;
        some("resent", crawl.resent_share, 1.0)?;
        some("link-size", links.bytes_per_link, BYTES_MAX)?;
        some("leaving", links.leaving_share, 1.0)?;
        some("handed", ring.handed_of_stored, RATIO_MAX)?;
        some("upkeep", ring.upkeep_bytes_per_minute, BYTES_MAX)?;
        if let Some(hours) = ring.grace_hours {
            some("grace-hours", hours, HOURS_MAX)?;
        }
        positive("disk", machine.disk_bytes, BYTES_MAX)?;
        positive("fill", machine.disk_fill_share, 1.0)?;
        for (what, rate) in [("up", machine.up_bits_per_s), ("down", machine.down_bits_per_s)] {
            rate.map_or(Ok(()), |rate| positive(what, rate, RATE_MAX))?;
        }
        positive("stay-days", machine.stay_days, DAYS_MAX)?;
        positive("session-hours", machine.session_hours, HOURS_MAX)?;
        some("absence-hours", machine.absence_hours, HOURS_MAX)?;
        self.check_counts()?;
        match ring.repair {
            Repair::Days(days) => positive("repair-days", days, DAYS_MAX),
            Repair::Share(share) => {
                positive("repair-share", share, 1.0)?;
                machine.up_bits_per_s.and(machine.down_bits_per_s).map(|_| ()).ok_or(Error::NoBandwidth)
            }
        }
    }

    fn check_counts(&self) -> Result<()> {
        let copies = self.ring.copies_count;
        whole("copies", copies.into(), COPIES_MAX.into())?;
        whole("fetchers", self.crawl.fetchers_count.into(), COPIES_MAX.into())?;
        whole("receivers", self.links.receivers_count.into(), COPIES_MAX.into())?;
        if self.crawl.fetchers_count > copies {
            return Err(Error::TooManyFetchers { fetchers: self.crawl.fetchers_count, copies });
        }
        let Some(nodes) = self.ring.nodes_count else { return Ok(()) };
        whole("nodes", nodes, NODES_MAX)?;
        if nodes < copies.into() { Err(Error::TooFewNodes { copies, nodes }) } else { Ok(()) }
    }
}

fn whole(what: &'static str, value: u64, max: u64) -> Result<()> {
    if (1..=max).contains(&value) {
        return Ok(());
    }
    Err(Error::Input { what, must: format!("between 1 and {max}"), is: value.to_string() })
}

/// More than nothing. What is not a number is in no range.
fn positive(what: &'static str, value: f64, max: f64) -> Result<()> {
    if (POSITIVE_MIN..=max).contains(&value) {
        return Ok(());
    }
    Err(Error::Input { what, must: format!("more than 0 and at most {}", plain(max)), is: plain(value) })
}

/// Nothing, or more.
fn some(what: &'static str, value: f64, max: f64) -> Result<()> {
    if (0.0..=max).contains(&value) {
        return Ok(());
    }
    Err(Error::Input { what, must: format!("between 0 and {}", plain(max)), is: plain(value) })
}

fn plain(value: f64) -> String {
    if value.abs() >= 1e9 || value != 0.0 && value.abs() < 1e-3 { format!("{value:e}") } else { format!("{value}") }
}
