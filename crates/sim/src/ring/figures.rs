//! `herodotus sim ring`: a ring that stands ideal from the beginning, what is done to it, and what is measured.
//!
//! First it is left alone, to see what it costs to be kept up; then it is asked. With `kill`, a share of all machines die at one moment, and it is
//! asked at once and again when it has mended. With churn, machines die without a word after exponential times, a new one
//! joins for each, and it is asked all the time.

use super::cluster::{Cluster, Setting};
use super::report::{Phase, Report, Sample};
use crate::checkers::all_when_quiet;
use crate::checkers::lookups::Tally;
use crate::error::{Error, Result};
use crate::network::Weather;
use crate::world::Counts;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// More machines than fit into memory anywhere near.
pub const NODES_MAX: usize = 1_000_000;
/// Lookups of a phase take this long, all together.
const ASKING: Duration = Duration::from_secs(60);
/// Each machine's lookups that warm it are so far apart. Nothing depends on it but the virtual time it takes.
const WARMING_EACH: Duration = Duration::from_secs(2);
/// Lookups that begin right after a disaster begin within this: less than half of what it takes for a neighbour to be noticed missing.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Every lookup has ended after this.
const ENDED: Duration = Duration::from_secs(16);
/// Between two samples.
const SAMPLE_EVERY: Duration = Duration::from_secs(10);
/// The world counts whole microseconds: what is due within the one at hand is due.
const TICK: Duration = Duration::from_micros(1);
/// More than would fill any memory of peers several times over.
const WARMING_MAX: usize = 10_000;
/// Sentences of what is wrong that are kept.
const WRONG_MAX: usize = 3;

#[derive(Clone, Debug, Serialize)]
pub struct Options {
    pub nodes: usize,
    pub seed: u64,
    /// How long it is left alone, or how long churn lasts, or how long it has to mend.
    pub minutes: f64,
    /// Half of all machines live no longer than that.
    pub churn_median_minutes: Option<f64>,
    /// The share that dies at one moment.
    pub kill: Option<f64>,
    /// Lookups go by successors and fingers only, one question at a time, as in the paper.
    pub fingers_only: bool,
    /// Neighbours are not asked whether they live, so that nothing mends.
    pub no_mending: bool,
    pub loss: f64,
    pub depth: usize,
    pub virtuals: u16,
    pub known_max: usize,
    /// Lookups in each phase that has any.
    pub lookups: usize,
    /// Lookups by each machine before anything else, on average, so that peers are known as after hours of use.
    pub warming: usize,
}

impl Default for Options {
    fn default() -> Self {
        let config = herodotus_ring::Config::default();
        Self {
            nodes: 1000,
            seed: 1,
            minutes: 5.0,
            churn_median_minutes: None,
            kill: None,
            fingers_only: false,
            no_mending: false,
            loss: 0.0,
            depth: config.depth,
            virtuals: 1,
            known_max: config.known_max,
            lookups: 10_000,
            warming: 0,
        }
    }
}

impl Options {
    fn check(&self) -> Result<()> {
        let fail = |what, must, is: String| Err(Error::Option { what, must, is });
        if self.nodes == 0 || self.nodes > NODES_MAX {
            return fail("the number of nodes", "between 1 and 1,000,000", self.nodes.to_string());
        }
        if !(self.minutes > 0.0 && self.minutes <= 1e6) {
            return fail("the time in minutes", "more than 0 and at most a million", self.minutes.to_string());
        }
        if self.churn_median_minutes.is_some_and(|median| !(0.1..=1e9).contains(&median)) {
            return fail("the median session", "at least 0.1 minutes", format!("{:?}", self.churn_median_minutes));
        }
        if self.kill.is_some_and(|share| !(0.0..1.0).contains(&share)) {
            return fail("the share to kill", "at least 0 and less than 1", format!("{:?}", self.kill));
        }
        if !(0.0..1.0).contains(&self.loss) {
            return fail("the share of lost messages", "at least 0 and less than 1", self.loss.to_string());
        }
        if self.warming > WARMING_MAX {
            return fail(
                "the number of lookups for warming",
                "at most 10,000 for each machine",
                self.warming.to_string(),
            );
        }
        if self.depth == 0 || self.depth > 256 {
            return fail("the length of successor lists", "between 1 and 256", self.depth.to_string());
        }
        if self.virtuals == 0 || self.virtuals > 64 {
            return fail("the number of virtual nodes", "between 1 and 64", self.virtuals.to_string());
        }
        Ok(())
    }

    fn setting(&self) -> Setting {
        let mut setting = Setting::new(self.seed);
        setting.virtuals = self.virtuals;
        setting.weather = Weather { loss: self.loss, ..Weather::FAIR };
        setting.is_watched = self.nodes <= 2000;
        let config = &mut setting.config;
        config.depth = self.depth;
        config.known_max = self.known_max;
        if self.fingers_only {
            config.uses_known = false;
            config.parallel_max = 1;
        }
        if self.no_mending {
            let never = Duration::from_secs(1_000_000);
            (config.stabilise_every, config.finger_every, config.probe_every) = (never, never, never);
        }
        setting
    }
}

/// Runs a simulation to its end.
pub fn run(options: &Options) -> Result<Report> {
    options.check()?;
    let mut run = Run::new(options);
    let time = Duration::from_secs_f64(options.minutes * 60.0);
    if options.warming > 0 {
        let count = options.nodes.saturating_mul(options.warming);
        run.phase("warming", WARMING_EACH.mul_f64(options.warming as f64), count);
    }
    match options.churn_median_minutes {
        Some(median) => run.churn(time, Duration::from_secs_f64(median * 60.0)),
        None => {
            run.phase("left alone", time, 0);
            run.phase("asked", ASKING, options.lookups);
        }
    }
    if let Some(share) = options.kill {
        run.kill(share);
        run.phase("right after the deaths", AT_ONCE, options.lookups);
        run.phase("mending", time, 0);
        run.phase("when mended", ASKING, options.lookups);
    }
    Ok(run.end())
}

struct Run<'a> {
    options: &'a Options,
    cluster: Cluster,
    phases: Vec<Phase>,
    samples: Vec<Sample>,
    sampled: (Duration, Counts, Tally),
    joins: u64,
    deaths: u64,
}

impl<'a> Run<'a> {
    fn new(options: &'a Options) -> Self {
        let cluster = Cluster::ideal(options.setting(), options.nodes);
        let sampled = (Duration::ZERO, cluster.world.counts(), Tally::default());
        Self { options, cluster, phases: Vec::new(), samples: Vec::new(), sampled, joins: 0, deaths: 0 }
    }

    /// Goes on for a time, with so many lookups spread over it.
    fn phase(&mut self, name: &str, time: Duration, lookups: usize) {
        let start = self.begin_phase();
        for at in 0..lookups {
            self.run_until(start.0 + time.mul_f64(at as f64 / lookups as f64));
            self.cluster.lookup_anything();
        }
        self.run_until(start.0 + time);
        if lookups > 0 {
            self.run_until(start.0 + time + ENDED);
        }
        self.end_phase(name, start);
    }

    /// Machines come and go for a time.
    fn churn(&mut self, time: Duration, median: Duration) {
        let mean = median.as_secs_f64() / std::f64::consts::LN_2;
        let mut deaths: BinaryHeap<Reverse<(Duration, usize)>> = BinaryHeap::new();
        let start = self.begin_phase();
        let live = |cluster: &mut Cluster, slot: usize, deaths: &mut BinaryHeap<Reverse<(Duration, usize)>>| {
            let session = Duration::from_secs_f64(cluster.chance.exponential(mean));
            deaths.push(Reverse((cluster.now() + session, slot)));
        };
        for slot in 0..self.options.nodes {
            live(&mut self.cluster, slot, &mut deaths);
        }
        let until = start.0 + time;
        let every = time.div_f64(self.options.lookups.max(1) as f64);
        let mut next_lookup = start.0;
        while self.cluster.now() + TICK < until {
            let next_death = deaths.peek().map_or(until, |Reverse((at, _))| *at);
            self.run_until(next_death.min(next_lookup).min(until));
            let now = self.cluster.now() + TICK;
            if now >= next_lookup {
                self.cluster.lookup_by_member();
                next_lookup += every;
            }
            if let Some(Reverse((_, slot))) = deaths.peek().copied().filter(|Reverse((at, _))| *at <= now) {
                deaths.pop();
                self.cluster.crash(slot, false);
                let slot = self.cluster.join();
                live(&mut self.cluster, slot, &mut deaths);
                (self.deaths, self.joins) = (self.deaths + 1, self.joins + 1);
            }
        }
        self.run_until(until + ENDED);
        self.end_phase("churn", start);
    }

    fn kill(&mut self, share: f64) {
        let mut up = self.cluster.up();
        self.cluster.chance.shuffle(&mut up);
        let count = (up.len() as f64 * share).round() as usize;
        up.truncate(count.min(up.len().saturating_sub(1)));
        self.deaths += up.len() as u64;
        up.into_iter().for_each(|slot| self.cluster.crash(slot, false));
    }

    fn begin_phase(&mut self) -> (Duration, Counts) {
        self.cluster.tally = Tally::default();
        self.sampled.2 = Tally::default();
        (self.cluster.now(), self.cluster.world.counts())
    }

    fn end_phase(&mut self, name: &str, (start, before): (Duration, Counts)) {
        let seconds = (self.cluster.now() - start).as_secs_f64();
        let machines = self.cluster.up().len();
        let mut phase = Phase::new(name, seconds, machines, &self.cluster.tally);
        let after = self.cluster.world.counts();
        let minutes = machines as f64 * seconds / 60.0;
        phase.bytes_per_machine_minute = (after.bytes - before.bytes) as f64 / minutes;
        phase.messages_per_machine_minute = (after.sent - before.sent) as f64 / minutes;
        (phase.joins, phase.deaths) = (std::mem::take(&mut self.joins), std::mem::take(&mut self.deaths));
        self.phases.push(phase);
    }

    fn run_until(&mut self, until: Duration) {
        while self.sampled.0 + SAMPLE_EVERY <= until {
            self.cluster.run_until(self.sampled.0 + SAMPLE_EVERY);
            self.sample();
        }
        self.cluster.run_until(until);
    }

    fn sample(&mut self) {
        let (counts, tally, now) = (self.cluster.world.counts(), &self.cluster.tally, self.cluster.now());
        let minutes =
            self.cluster.members().len() as f64 / f64::from(self.options.virtuals) * SAMPLE_EVERY.as_secs_f64() / 60.0;
        self.samples.push(Sample {
            minute: now.as_secs_f64() / 60.0,
            lookups: tally.ended() - self.sampled.2.ended(),
            right: tally.right - self.sampled.2.right,
            bytes_per_machine_minute: (counts.bytes - self.sampled.1.bytes) as f64 / minutes.max(1e-9),
        });
        let (right, wrong, failed) = (tally.right, tally.wrong, tally.failed);
        self.sampled = (now, counts, Tally { right, wrong, failed, ..Tally::default() });
    }

    fn end(self) -> Report {
        let view = self.cluster.view();
        let known: usize = view.members().iter().map(|ring| ring.load().known).sum();
        let mut wrong = all_when_quiet(&view, self.options.depth);
        let wrong_count = wrong.len();
        wrong.truncate(WRONG_MAX);
        Report {
            options: self.options.clone(),
            known_mean: known as f64 / view.members().len().max(1) as f64,
            wrong,
            wrong_count,
            broken: self.cluster.broken().0.to_vec(),
            messages: self.cluster.world.counts().sent,
            virtual_minutes: self.cluster.now().as_secs_f64() / 60.0,
            trace: format!("{:016x}", self.cluster.world.trace()),
            phases: self.phases,
            samples: self.samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn churn_ends_although_deaths_and_lookups_fall_between_two_microseconds() {
        let options =
            Options { nodes: 20, minutes: 2.0, churn_median_minutes: Some(1.7), lookups: 70, ..Options::default() };
        let phases = run(&options).expect("the options are allowed").phases;
        assert!(phases[0].deaths > 5 && phases[0].lookups > 50, "{phases:?}");
    }
}
