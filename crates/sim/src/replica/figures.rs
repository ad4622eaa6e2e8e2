//! `herodotus sim copies`: machines come and go for months, and what is lost and what repair costs is measured, for each median session and each number of copies.
//!
//! The ring begins with everything in its place. Each machine stays for an exponential time; then it is gone for good with its disk, and an empty one
//! joins in its stead, or, for a share, it comes back later with its disk. Nothing is written meanwhile, so that all traffic is
//! repair; what comparing itself costs is not in it.

use super::report::{Report, Row};
use super::shelf::Table;
use super::world::{Event, HOUR, Setting, World};
use crate::chance::{Chance, mix};
use crate::error::{Error, Result};
use herodotus_replica::custody::Config;
use serde::Serialize;
use std::time::Duration;

/// Entries on the arc of one machine: what is lost together is at least so large a part of it.
const ENTRIES_PER_ARC: usize = 16;
/// How often newcomers are looked at.
const SAMPLE_EVERY: u64 = HOUR;
/// A note for us: look at newcomers. Others are machines whose session is over.
const SAMPLE: u32 = u32::MAX;
/// More than fits into memory, times months.
const NODES_MAX: usize = 20_000;

#[derive(Clone, Debug, Serialize)]
pub struct Options {
    pub nodes: usize,
    pub seed: u64,
    pub days: f64,
    /// Half of all sessions are no longer than that.
    pub session_median_hours: Vec<f64>,
    pub copies: Vec<usize>,
    /// What a machine holds in all, copies for others included.
    pub gigabytes: f64,
    /// What a machine can send, and as much can it receive, for repair.
    pub kbit_per_s: f64,
    /// The share of sessions after which a machine comes back with its disk.
    pub returns: f64,
    /// Half of those who come back are away no longer than that.
    pub away_median_hours: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nodes: 200,
            seed: 1,
            days: 90.0,
            session_median_hours: vec![30.0 * 24.0],
            copies: vec![6],
            gigabytes: 100.0,
            kbit_per_s: 10_000.0,
            returns: 0.0,
            away_median_hours: 12.0,
        }
    }
}

impl Options {
    fn check(&self) -> Result<()> {
        let fail = |what, must, is: String| Err(Error::Option { what, must, is });
        if self.nodes < 2 || self.nodes > NODES_MAX {
            return fail("the number of nodes", "between 2 and 20,000", self.nodes.to_string());
        }
        if !(self.days > 0.0 && self.days <= 3660.0) {
            return fail("the time in days", "more than 0 and at most ten years", self.days.to_string());
        }
        if let Some(copies) = self.copies.iter().find(|copies| **copies == 0 || **copies > 32) {
            return fail("the number of copies", "between 1 and 32", copies.to_string());
        }
        if let Some(median) = self.session_median_hours.iter().find(|median| !(0.5..=1e6).contains(*median)) {
            return fail("the median session in hours", "at least 0.5", median.to_string());
        }
        if !(self.gigabytes > 0.0 && self.gigabytes <= 1e6) {
            return fail("what a machine holds", "more than 0 GB and at most a million", self.gigabytes.to_string());
        }
        if !(self.kbit_per_s > 0.0 && self.kbit_per_s <= 1e8) {
            return fail("the rate", "more than 0 kbit/s and at most 10^8", self.kbit_per_s.to_string());
        }
        if !(0.0..=1.0).contains(&self.returns) {
            return fail("the share that comes back", "between 0 and 1", self.returns.to_string());
        }
        if !(0.0..=1e6).contains(&self.away_median_hours) {
            return fail("the median absence", "at least 0 hours", self.away_median_hours.to_string());
        }
        Ok(())
    }
}

/// Runs every combination to its end.
pub fn run(options: &Options) -> Result<Report> {
    options.check()?;
    let mut rows = Vec::new();
    for copies in &options.copies {
        for median in &options.session_median_hours {
            rows.push(Churn::new(options, *copies, *median).run());
        }
    }
    let trace = rows.iter().fold(0, |trace, row| mix(trace ^ row.hash));
    Ok(Report { options: options.clone(), rows, trace: format!("{trace:016x}") })
}

struct Churn<'a> {
    options: &'a Options,
    world: World,
    median_hours: f64,
    /// Newcomers that do not have their arc yet, and since when they are there.
    filling: Vec<(usize, u64)>,
    filled_hours: Vec<f64>,
    /// Newcomers that do not have everything they are to hold.
    refilling: Vec<(usize, u64)>,
    refilled_hours: Vec<f64>,
    departures: u64,
    /// Time that machines were up, all together, of those who are up no more.
    up: u64,
    up_since: Vec<u64>,
    bytes: u64,
    end: u64,
}

impl<'a> Churn<'a> {
    fn new(options: &'a Options, copies: usize, median_hours: f64) -> Self {
        let mut chance = Chance::new(mix(options.seed ^ mix(copies as u64)));
        let hours = |hours: u64| Duration::from_secs(hours * 60 * 60);
        // Rarer than in a real node: what changes is seen when it happens, and months are long.
        let custody = Config {
            copies,
            compare_every: hours(24),
            audit_every: hours(24),
            survey_every: hours(24),
            retry_after: hours(1),
            ..Config::default()
        };
        let setting = Setting {
            seed: options.seed,
            depth: copies + 10,
            custody,
            durable_on: 2,
            rate: ((options.kbit_per_s * 1000.0 / 8.0) as u64).max(1),
            // The line is what is short.
            served_max: usize::MAX,
            parts: Some(hours(1)),
            scrub_every: hours(30 * 24),
            detect_within: Duration::from_secs(40),
            stirred_for: hours(4),
            astray: 0.0,
            is_checked: false,
        };
        // What all machines hold, one copy of it, in equal parts.
        let entries = options.nodes * ENTRIES_PER_ARC;
        let all = options.gigabytes * 1e9 * options.nodes as f64 / copies.min(options.nodes) as f64;
        let bytes = ((all / entries as f64) as u64).max(1);
        let table = Table::draw(&mut chance, entries, bytes..bytes + 1);
        Self {
            options,
            world: World::new(setting, table),
            median_hours,
            filling: Vec::new(),
            filled_hours: Vec::new(),
            refilling: Vec::new(),
            refilled_hours: Vec::new(),
            departures: 0,
            up: 0,
            up_since: Vec::new(),
            bytes: 0,
            end: (options.days * 24.0 * HOUR as f64) as u64,
        }
    }

    fn run(mut self) -> Row {
        for _ in 0..self.options.nodes {
            let machine = self.world.add();
            self.up_since.push(0);
            self.world.boot(machine);
        }
        for entry in 0..self.world.table.len() {
            let holders: Vec<usize> = self.world.from(0, self.world.table.place(entry)).collect();
            for machine in holders.into_iter().take(self.world.setting.custody.copies) {
                self.world.keep(machine, entry, false);
            }
            self.world.record.fates[entry].written = Some(0);
            self.world.acknowledge(entry, 1);
        }
        for machine in 0..self.options.nodes {
            self.stay(machine, 0);
        }
        self.world.at(SAMPLE_EVERY, Event::Note(SAMPLE));
        while let Some(note) = self.world.run_until(self.end) {
            match note {
                SAMPLE => {
                    self.sample();
                    self.world.at(self.world.now + SAMPLE_EVERY, Event::Note(SAMPLE));
                }
                machine => self.depart(machine as usize),
            }
        }
        self.row()
    }

    fn drawn(&mut self, median_hours: f64) -> u64 {
        let mean = median_hours / std::f64::consts::LN_2;
        (self.world.chance.exponential(mean) * HOUR as f64) as u64
    }

    /// It will be there from then on for one session.
    fn stay(&mut self, machine: usize, from: u64) {
        let until = from + self.drawn(self.median_hours);
        self.world.at(until, Event::Note(u32::try_from(machine).unwrap_or(SAMPLE)));
    }

    fn depart(&mut self, machine: usize) {
        let now = self.world.now;
        self.departures += 1;
        self.up += now.saturating_sub(self.up_since[machine]);
        if self.world.chance.happens(self.options.returns) {
            let back = now + self.drawn(self.options.away_median_hours);
            self.world.stop(machine, false);
            self.world.at(back, Event::Back(machine));
            self.up_since[machine] = back;
            return self.stay(machine, back);
        }
        self.bytes += self.world.machines[machine].bytes_received;
        self.world.destroy(machine);
        self.world.stop(machine, true);
        let newcomer = self.world.add();
        self.up_since.push(now);
        self.world.boot(newcomer);
        self.filling.push((newcomer, now));
        self.refilling.push((newcomer, now));
        self.stay(newcomer, now);
    }

    fn sample(&mut self) {
        let (world, now) = (&self.world, self.world.now);
        let mut hours = Vec::new();
        self.filling.retain(|(machine, since)| {
            let levels = world.machines[*machine].custodian.levels();
            let is_filled = !levels.is_empty() && levels.iter().all(|level| level.is_filled);
            if is_filled {
                hours.push((now - since) as f64 / HOUR as f64);
            }
            !is_filled && world.is_up(*machine)
        });
        self.filled_hours.extend(hours);
        let mut hours = Vec::new();
        self.refilling.retain(|(machine, since)| {
            let is_full = world.is_up(*machine) && has_all(world, *machine);
            if is_full {
                hours.push((now - since) as f64 / HOUR as f64);
            }
            !is_full && world.is_up(*machine)
        });
        self.refilled_hours.extend(hours);
    }

    fn row(mut self) -> Row {
        let end = self.end;
        let up: Vec<usize> = self.world.members.values().copied().collect();
        for machine in up {
            self.up += end.saturating_sub(self.up_since[machine]);
        }
        let here = self.world.machines.iter().filter(|m| m.state != super::world::State::Gone);
        self.bytes += here.map(|m| m.bytes_received).sum::<u64>();
        let fates = &self.world.record.fates;
        let lost = fates.iter().filter(|fate| fate.good == 0).count();
        let copies = self.world.setting.custody.copies.min(self.options.nodes);
        let few = fates.iter().filter(|fate| fate.good > 0 && usize::from(fate.good) < copies).count();
        let seconds = self.up as f64 / 1e6;
        let share = |count: usize| count as f64 / fates.len().max(1) as f64;
        self.filled_hours.sort_by(f64::total_cmp);
        self.refilled_hours.sort_by(f64::total_cmp);
        let middle = |hours: &[f64]| hours.get(hours.len() / 2).copied();
        Row {
            copies: self.world.setting.custody.copies,
            session_median_hours: self.median_hours,
            departures: self.departures,
            entries: fates.len(),
            lost,
            lost_share: share(lost),
            few_share: share(few),
            repair_kbit_per_s: self.bytes as f64 * 8.0 / 1000.0 / seconds.max(1.0),
            own_arc_hours_p50: middle(&self.filled_hours),
            refill_hours_p50: middle(&self.refilled_hours),
            refilled: self.refilled_hours.len(),
            events: self.world.events,
            hash: self.world.trace(),
        }
    }
}

/// Whether a machine holds everything that is to lie on it and is not lost.
fn has_all(world: &World, machine: usize) -> bool {
    let (here, copies) = (world.machines[machine].contact.id, world.setting.custody.copies);
    let from = world.back_from(machine, here).nth(copies - 1).map_or(here, |other| world.machines[other].contact.id);
    let has = &world.machines[machine].has;
    let mut entries = world.table.on(from, here).into_iter().flatten();
    entries.all(|entry| has.has(entry) || world.record.fates[entry].good == 0)
}
