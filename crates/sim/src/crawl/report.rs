//! What a crawl came to, for people and for programs.

use super::model::Crawl;
use super::options::Options;
use serde::Serialize;
use std::fmt;

/// Points of a distribution, from the least to the most.
const QUANTILES: usize = 101;

/// Bytes that came in from other machines, by what they were for.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Traffic {
    pub links: u64,
    pub visits: u64,
    pub moves: u64,
    pub lookups: u64,
    pub leases: u64,
    /// Pages on their way to their place; not counted in the loads, as the paper archives nothing.
    pub archived: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub options: Options,
    pub seconds: f64,
    pub fetched: u64,
    /// Never more than none.
    pub fetched_twice: u64,
    /// URLs that became known: "page requests" in the paper.
    pub requests: u64,
    /// Links that were sent although the URL was known, and links sent on because the sender did not know of a split.
    pub duplicates: u64,
    pub passed_on: u64,
    pub redirected: u64,
    pub kilobytes_per_second: f64,
    pub pages_per_second: f64,
    /// Of all traffic but that of archiving, for each request: the paper's normalised load.
    pub bytes_per_request: f64,
    /// Of archiving alone, for each page fetched.
    pub archived_bytes_per_page: f64,
    pub traffic: Traffic,
    /// The share of machines that fetched nothing.
    pub idle: f64,
    /// KB/s of a machine, from the least to the most laden: pages that it fetched, and what other machines sent.
    pub crawl_load: Vec<f64>,
    pub talk_load: Vec<f64>,
    pub queued_max: usize,
    /// The least time between two requests to a host, as its server saw them.
    pub gap_ms_min: Option<f64>,
    /// To a host and back, for whoever asked it first.
    pub round_trip_ms: Vec<f64>,
    /// The same for the same options.
    pub trace: String,
}

impl Report {
    pub(super) fn new(crawl: &Crawl<'_>) -> Self {
        let options = crawl.options.clone();
        let ended = crawl.done_at.max(1) as f64 / 1e6;
        let seconds = options.minutes.map_or(ended, |minutes| if crawl.is_over() { ended } else { minutes * 60.0 });
        let load = |bytes: u64| bytes as f64 / 1000.0 / seconds;
        let all = |of: fn(&super::machine::Machine) -> u64| crawl.machines.iter().map(of).sum::<u64>();
        let fetched = all(|machine| machine.fetched);
        let [links, visits, moves, lookups, leases, archived] = crawl.traffic;
        let idle = crawl.machines.iter().filter(|machine| machine.fetched == 0).count();
        Self {
            seconds,
            fetched,
            fetched_twice: crawl.fetched_twice,
            requests: crawl.requests,
            duplicates: crawl.duplicates,
            passed_on: crawl.passed_on,
            redirected: crawl.redirected,
            kilobytes_per_second: load(all(|machine| machine.crawled_bytes)),
            pages_per_second: fetched as f64 / seconds,
            bytes_per_request: (links + visits + moves + lookups + leases) as f64 / crawl.requests.max(1) as f64,
            archived_bytes_per_page: archived as f64 / fetched.max(1) as f64,
            traffic: Traffic { links, visits, moves, lookups, leases, archived },
            idle: idle as f64 / options.nodes as f64,
            crawl_load: quantiles(crawl.machines.iter().map(|machine| load(machine.crawled_bytes)).collect()),
            talk_load: quantiles(crawl.machines.iter().map(|machine| load(machine.talk_bytes)).collect()),
            queued_max: crawl.machines.iter().map(|machine| machine.queued_max).max().unwrap_or(0),
            gap_ms_min: crawl.gap_min.map(|micros| micros as f64 / 1000.0),
            round_trip_ms: quantiles(crawl.round_trips.iter().map(|micros| *micros as f64 / 1000.0).collect()),
            trace: format!("{:016x}", crawl.trace),
            options,
        }
    }

    pub fn crawl_load_max(&self) -> f64 {
        self.crawl_load.last().copied().unwrap_or(0.0)
    }

    pub fn talk_load_max(&self) -> f64 {
        self.talk_load.last().copied().unwrap_or(0.0)
    }

    /// The names of what [`fmt::Display`] writes.
    pub const COLUMNS: &'static str = "strategy   nodes    pages  known   pages/s     KB/s  idle  crawl KB/s: p50    max  talk KB/s: p50    max  B/known  archived B/page  rtt ms";
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<9} {:>6} {:>8} {:>7} {:>8.2} {:>8.1} {:>4.0}% {:>16.2} {:>6.1} {:>15.2} {:>6.1} {:>8.1} {:>16.0} {:>7.0}",
            self.options.strategy,
            self.options.nodes,
            self.fetched,
            self.requests,
            self.pages_per_second,
            self.kilobytes_per_second,
            self.idle * 100.0,
            middle(&self.crawl_load),
            self.crawl_load_max(),
            middle(&self.talk_load),
            self.talk_load_max(),
            self.bytes_per_request,
            self.archived_bytes_per_page,
            middle(&self.round_trip_ms),
        )
    }
}

fn middle(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// At most so many values, evenly among all that there are, the least and the most included.
fn quantiles(mut all: Vec<f64>) -> Vec<f64> {
    all.sort_unstable_by(f64::total_cmp);
    if all.len() <= QUANTILES {
        return all;
    }
    (0..QUANTILES).map(|at| all[at * (all.len() - 1) / (QUANTILES - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_told_by_its_quantiles() {
        let some = quantiles((0..10_001).rev().map(f64::from).collect());
        assert_eq!((some.len(), some[0], some[50], some[100]), (101, 0.0, 5_000.0, 10_000.0));
        assert_eq!(quantiles(vec![2.0, 1.0]), [1.0, 2.0]);
    }
}
