//! What travels: the thesis's section 6.1.2, with what it left out (upkeep, absences) and what is ours (fetched once, handed on).
//!
//! Means over a day. Payload and HTTP heads are counted; headers of IP, TCP, TLS and QUIC only where an input counts them.

use crate::durability::repair_days;
use crate::fleet::held_bytes;
use crate::{Inputs, SECONDS_PER_DAY, Volume};
use serde::Serialize;
use std::ops::Add;

/// Both directions, of all machines together, in a day.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct Flow {
    pub up_bytes_per_day: f64,
    pub down_bytes_per_day: f64,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Traffic {
    /// Asking whether something has changed.
    pub requests: Flow,
    /// What is new or changed, from its server.
    pub downloads: Flow,
    /// What is unchanged and sent all the same.
    pub resent: Flow,
    pub links: Flow,
    /// What is new, from whoever fetched it to the other holders.
    pub replication: Flow,
    /// Copies of what was on machines that left for good, and on those that came for them.
    pub repair: Flow,
    /// Copies begun for machines that came back.
    pub absences: Flow,
    pub upkeep: Flow,
}

impl Flow {
    /// Between machines of the ring, what one sends another receives.
    fn within(bytes_per_day: f64) -> Self {
        Self { up_bytes_per_day: bytes_per_day, down_bytes_per_day: bytes_per_day }
    }

    fn from_servers(bytes_per_day: f64) -> Self {
        Self { up_bytes_per_day: 0.0, down_bytes_per_day: bytes_per_day }
    }

    /// One machine's, in the mean.
    pub fn up_bits_per_s(&self, nodes_count: u64) -> f64 {
        self.up_bytes_per_day * 8.0 / SECONDS_PER_DAY / nodes_count.max(1) as f64
    }

    pub fn down_bits_per_s(&self, nodes_count: u64) -> f64 {
        self.down_bytes_per_day * 8.0 / SECONDS_PER_DAY / nodes_count.max(1) as f64
    }
}

impl Add for Flow {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            up_bytes_per_day: self.up_bytes_per_day + other.up_bytes_per_day,
            down_bytes_per_day: self.down_bytes_per_day + other.down_bytes_per_day,
        }
    }
}

impl Traffic {
    pub fn of(inputs: &Inputs, volume: &Volume, nodes_count: u64) -> Self {
        Self {
            requests: requests(inputs),
            downloads: downloads(inputs, volume),
            resent: resent(inputs, volume),
            links: links(inputs, volume),
            replication: replication(inputs, volume),
            repair: repair(inputs, volume),
            absences: absences(inputs, volume, nodes_count),
            upkeep: upkeep(inputs, nodes_count),
        }
    }

    /// Between machines and web servers.
    pub fn crawl(&self) -> Flow {
        self.requests + self.downloads + self.resent
    }

    pub fn mending(&self) -> Flow {
        self.repair + self.absences
    }

    pub fn total(&self) -> Flow {
        self.crawl() + self.links + self.replication + self.mending() + self.upkeep
    }
}

/// 6.1.2: every object is asked for once a round, by as many as fetch it, under the condition that it changed.
fn requests(inputs: &Inputs) -> Flow {
    let crawl = &inputs.crawl;
    let asked = inputs.web.objects_count() / crawl.round_days * f64::from(crawl.fetchers_count);
    Flow { up_bytes_per_day: asked * crawl.request_bytes, down_bytes_per_day: asked * crawl.answer_bytes }
}

/// 6.1.2: what has changed or was added, by as many as fetch it. The thesis counts it uncompressed.
fn downloads(inputs: &Inputs, volume: &Volume) -> Flow {
    let pages = volume.pages_new_per_day().raw_bytes * sent_ratio(inputs);
    Flow::from_servers((pages + volume.others_new_per_day().raw_bytes) * f64::from(inputs.crawl.fetchers_count))
}

/// Not in the thesis, where every server answers a condition: a share of what was asked for and has not changed.
fn resent(inputs: &Inputs, volume: &Volume) -> Flow {
    let (web, crawl) = (&inputs.web, &inputs.crawl);
    // Where changes outnumber visits, as with a chance of one and several rounds a day, nothing is unchanged.
    let pages = (web.pages_count / crawl.round_days - volume.pages_changed_per_day.objects_count).max(0.0);
    let others = (web.others_count() / crawl.round_days - volume.others_changed_per_day.objects_count).max(0.0);
    let bytes = pages * web.page_bytes * sent_ratio(inputs) + others * web.other_bytes;
    Flow::from_servers(bytes * crawl.resent_share * f64::from(crawl.fetchers_count))
}

fn sent_ratio(inputs: &Inputs) -> f64 {
    if inputs.crawl.is_sent_gzipped { inputs.packing.page_gzip_ratio } else { 1.0 }
}

/// 6.1.2: all links of an added page, the new ones of a changed page, from each that fetched it to each that is told. The thesis
/// arrives at the same by taking 15% of the downloads.
fn links(inputs: &Inputs, volume: &Volume) -> Flow {
    let (web, links) = (&inputs.web, &inputs.links);
    let changed = volume.pages_changed_per_day.objects_count * web.changed_links_share;
    let sent = (volume.pages_added_per_day.objects_count + changed) * web.links_per_page * links.leaving_share;
    let ways = f64::from(inputs.crawl.fetchers_count) * f64::from(links.receivers_count);
    Flow::within(sent * links.bytes_per_link * ways)
}

/// Ours: who has not fetched it gets it from one who has. Nothing where all six fetch, as in the thesis (4.6).
fn replication(inputs: &Inputs, volume: &Volume) -> Flow {
    let others = inputs.ring.copies_count.saturating_sub(inputs.crawl.fetchers_count);
    Flow::within(volume.new_per_day().stored_bytes * inputs.ring.handed_of_stored * f64::from(others))
}

/// 6.1.3: when a machine leaves for good and another comes for it, what either holds is copied. In the mean; the thesis asks what
/// a machine needs while it happens to it, which is [`crate::Filling`].
fn repair(inputs: &Inputs, volume: &Volume) -> Flow {
    let copies_bytes = volume.stored_bytes(inputs.crawl.months) * f64::from(inputs.ring.copies_count);
    Flow::within(2.0 * copies_bytes / inputs.machine.stay_days)
}

/// Not in the thesis: an absence that outlasts the grace starts a repair, which ends when the machine is back. Absences are taken
/// to have an exponential length, so one that outlasts the grace has its mean still before it.
fn absences(inputs: &Inputs, volume: &Volume, nodes_count: u64) -> Flow {
    let machine = &inputs.machine;
    let Some(grace_hours) = inputs.ring.grace_hours else { return Flow::default() };
    if machine.absence_hours == 0.0 {
        return Flow::default();
    }
    let per_day = 24.0 / (machine.session_hours + machine.absence_hours);
    let outlasting_share = (-grace_hours / machine.absence_hours).exp();
    let held = held_bytes(inputs, volume, nodes_count);
    let repair_hours = repair_days(inputs, held) * 24.0;
    let copied_share = mean_share_done(repair_hours / machine.absence_hours);
    Flow::within(nodes_count as f64 * per_day * outlasting_share * held * copied_share)
}

/// How much of a piece of work is done in the mean when it is broken off after an exponential time: (1 − e^−x) / x, where x is its
/// length in means of that time.
fn mean_share_done(length: f64) -> f64 {
    if length == 0.0 { 1.0 } else { -(-length).exp_m1() / length }
}

fn upkeep(inputs: &Inputs, nodes_count: u64) -> Flow {
    Flow::within(nodes_count as f64 * inputs.ring.upkeep_bytes_per_minute * 24.0 * 60.0)
}

/// How long the first round takes if nothing but bandwidth holds it up. Nothing if none is given.
pub(crate) fn first_round_days(inputs: &Inputs, volume: &Volume, nodes_count: u64) -> Option<f64> {
    let (crawl, machine) = (&inputs.crawl, &inputs.machine);
    let fetchers = f64::from(crawl.fetchers_count);
    let fetched = (volume.pages.raw_bytes * sent_ratio(inputs) + volume.others.raw_bytes) * fetchers;
    let copies = f64::from(inputs.ring.copies_count) - fetchers;
    let handed = volume.snapshot().stored_bytes * inputs.ring.handed_of_stored * copies;
    let asked = inputs.web.objects_count() * crawl.request_bytes * fetchers;
    let days = |bytes: f64, rate: Option<f64>| {
        let per_day = nodes_count as f64 * rate? * machine.up_share() / 8.0 * SECONDS_PER_DAY;
        Some(bytes / per_day)
    };
    let (up, down) = (days(asked + handed, machine.up_bits_per_s), days(fetched + handed, machine.down_bits_per_s));
    up.into_iter().chain(down).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_is_broken_off_is_done_in_part() {
        assert_eq!(mean_share_done(0.0), 1.0);
        assert!((mean_share_done(1e-9) - 1.0).abs() < 1e-8);
        assert!((mean_share_done(1.0) - 0.632_120_558).abs() < 1e-9);
        assert!((mean_share_done(1e6) - 1e-6).abs() < 1e-15);
    }
}
