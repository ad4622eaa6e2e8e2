//! Harm of every kind, at random, and then peace: the test that the ring must pass for any seed.
//!
//! A storm does at least [`FAULTS`] kinds of harm to a small ring, then ends all of it, waits [`SETTLE`], and holds every promise of a quiet ring
//! against what is there. What holds at every moment is checked at every moment.

use super::cluster::{Cluster, Setting};
use super::liar::Lie;
use crate::chance::{Chance, mix};
use crate::checkers::all_when_quiet;
use crate::checkers::lookups::Tally;
use crate::clock::RATE_TRUE;
use crate::network::{Latency, Weather};
use herodotus_base::Id;
use herodotus_ring::Planted;
use std::time::Duration;

/// Faults of one storm, at least.
pub const FAULTS: usize = 200;
/// Within this after the last fault every ring is ideal again and every lookup right. Of 750 storms the slowest took 95 seconds.
pub const SETTLE: Duration = Duration::from_secs(150);
/// Between two faults, on average.
const EVERY_MEAN: f64 = 1.3;
/// Lookups that must all be right at the end, for each node.
const LOOKUPS_PER_NODE: usize = 4;
/// They have ended by then.
const LOOKUPS_TIME: Duration = Duration::from_secs(20);

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    Crash,
    CrashHalf,
    RestartWithDisk,
    RestartWithoutDisk,
    RestartAll,
    Leave,
    Join,
    SplitInTwo,
    SplitInThree,
    Heal,
    Slow,
    Stall,
    ClockRate,
    ClockLeap,
    Loss,
    Doubles,
    Held,
    Fair,
    Lie,
    Honest,
}

impl Fault {
    /// As often as it stands here.
    const MIX: [Self; 32] = [
        Self::Crash,
        Self::Crash,
        Self::Crash,
        Self::Crash,
        Self::RestartWithDisk,
        Self::RestartWithDisk,
        Self::RestartWithDisk,
        Self::RestartWithDisk,
        Self::RestartWithoutDisk,
        Self::RestartWithoutDisk,
        Self::CrashHalf,
        Self::RestartAll,
        Self::Leave,
        Self::Leave,
        Self::Join,
        Self::Join,
        Self::SplitInTwo,
        Self::SplitInThree,
        Self::Heal,
        Self::Heal,
        Self::Heal,
        Self::Slow,
        Self::Stall,
        Self::Stall,
        Self::ClockRate,
        Self::ClockLeap,
        Self::Loss,
        Self::Doubles,
        Self::Held,
        Self::Fair,
        Self::Lie,
        Self::Honest,
    ];
}

/// A storm that follows from its seed.
#[derive(Clone, Debug)]
pub struct Storm {
    pub seed: u64,
    pub nodes: usize,
    pub faults: usize,
    pub setting: Setting,
}

/// What was left of the ring.
#[derive(Clone, Debug)]
pub struct StormEnd {
    pub trace: u64,
    pub faults: usize,
    pub members: usize,
    /// Lookups while faults went on, and when all was quiet again.
    pub stormy: Tally,
    pub quiet: Tally,
    pub messages: u64,
    /// What was wrong, in sentences: nothing, if all promises hold.
    pub wrong: Vec<String>,
}

impl Storm {
    pub fn new(seed: u64) -> Self {
        let mut chance = Chance::new(mix(seed ^ 0x5702));
        let mut setting = Setting::new(seed);
        setting.config.depth = chance.between(2, 8);
        setting.virtuals = if chance.happens(0.2) { u16::try_from(chance.between(2, 3)).unwrap_or(2) } else { 1 };
        let (ms, far) = (Duration::from_millis, chance.between(2, 120) as u64);
        setting.latency = match chance.below(3) {
            0 => Latency::Fixed(ms(far)),
            1 => Latency::Even { min: ms(1), max: ms(far + 1) },
            _ => Latency::Pairs { median: ms(far), sigma: 0.6, max: ms(600) },
        };
        // A small memory in some, so that it is forgotten in.
        if chance.happens(0.3) {
            setting.config.known_max = chance.between(32, 64);
        }
        let machines = chance.between(8, 40) / usize::from(setting.virtuals);
        Self { seed, nodes: machines.max(4), faults: FAULTS, setting }
    }

    pub fn plant(mut self, bug: Planted) -> Self {
        self.setting.config.planted = bug;
        self
    }

    pub fn run(&self) -> StormEnd {
        let mut cluster = Cluster::new(self.setting.clone());
        let mut chance = Chance::new(mix(self.seed ^ 0xfa17));
        cluster.begin();
        for _ in 1..self.nodes {
            cluster.run_for(Duration::from_millis(chance.between(0, 3000) as u64));
            cluster.join();
        }
        let mut faults = 0;
        while faults < self.faults {
            cluster.run_for(Duration::from_secs_f64(chance.exponential(EVERY_MEAN)));
            cluster.lookup_anything();
            let fault = chance.pick(&Fault::MIX).copied().unwrap_or(Fault::Crash);
            faults += usize::from(self.harm(&mut cluster, &mut chance, fault));
        }
        make_peace(&mut cluster, &mut chance);
        let stormy = std::mem::take(&mut cluster.tally);
        cluster.run_for(SETTLE);
        self.judge(cluster, stormy, faults)
    }

    fn judge(&self, mut cluster: Cluster, mut stormy: Tally, faults: usize) -> StormEnd {
        let depth = self.setting.config.depth;
        let mut wrong = all_when_quiet(&cluster.view(), depth);
        stormy.failed += cluster.tally.failed;
        stormy.wrong += cluster.tally.wrong;
        cluster.tally = Tally::default();
        let places: Vec<Id> = cluster.members().keys().copied().collect();
        for place in &places {
            // A node's own place is its own, the one after it the next one's.
            let one_after = place.plus_power(0);
            let keys =
                [*place, one_after].into_iter().chain((2..LOOKUPS_PER_NODE).map(|_| Id(cluster.chance.bytes32())));
            for key in keys.collect::<Vec<_>>() {
                let up = cluster.up();
                let slot = cluster.chance.pick(&up).copied().unwrap_or(0);
                let index = cluster.chance.below(usize::from(self.setting.virtuals));
                cluster.lookup(slot, u16::try_from(index).unwrap_or(0), key);
            }
            cluster.run_for(Duration::from_millis(50));
        }
        cluster.run_for(LOOKUPS_TIME);
        wrong.extend(cluster.tally.check_quiet());
        if cluster.lookups_open() > 0 {
            wrong.push(format!("{} lookups have not ended", cluster.lookups_open()));
        }
        wrong.extend(all_when_quiet(&cluster.view(), depth));
        let (broken, count) = cluster.broken();
        wrong.extend(broken.iter().cloned());
        if count > broken.len() as u64 {
            wrong.push(format!("… and {} more", count - broken.len() as u64));
        }
        let counts = cluster.world.counts();
        if counts.past_wakes > 0 {
            wrong.push(format!("woken {} times for a moment that had passed, to no effect", counts.past_wakes));
        }
        StormEnd {
            trace: cluster.world.trace(),
            faults,
            members: places.len(),
            stormy,
            quiet: cluster.tally.clone(),
            messages: counts.delivered,
            wrong,
        }
    }

    /// Does one kind of harm. Says whether there was anything to do it to.
    fn harm(&self, cluster: &mut Cluster, chance: &mut Chance, fault: Fault) -> bool {
        let (up, down) = (cluster.up(), cluster.down());
        let any_up = chance.pick(&up).copied();
        let any_down = chance.pick(&down).copied();
        // Some must be left for the others to come back to.
        let can_lose = up.len() > 3;
        match (fault, any_up, any_down) {
            (Fault::Crash, Some(slot), _) if can_lose => cluster.crash(slot, chance.happens(0.5)),
            (Fault::CrashHalf, Some(_), _) if can_lose => {
                let mut lost = up;
                chance.shuffle(&mut lost);
                lost.truncate(lost.len() / 2);
                lost.into_iter().for_each(|slot| cluster.crash(slot, chance.happens(0.5)));
            }
            (Fault::RestartWithDisk, _, Some(slot)) => cluster.restart(slot, true),
            (Fault::RestartWithoutDisk, _, Some(slot)) => cluster.restart(slot, false),
            (Fault::RestartAll, Some(_), _) => {
                up.iter().for_each(|slot| cluster.crash(*slot, true));
                up.iter().for_each(|slot| cluster.restart(*slot, true));
            }
            // The first one stays: it is whom newcomers are told to ask.
            (Fault::Leave, Some(slot), _) if can_lose && slot > 0 => cluster.leave(slot),
            (Fault::Join, ..) if cluster.world.len() < self.nodes * 2 => {
                cluster.join();
            }
            (Fault::SplitInTwo | Fault::SplitInThree, Some(_), _) => {
                let groups = if fault == Fault::SplitInTwo { 2 } else { 3 };
                let group = |chance: &mut Chance| u16::try_from(chance.below(groups)).unwrap_or(0);
                cluster.world.network.split((0..self.nodes * 2).map(|_| group(chance)).collect());
            }
            (Fault::Heal, ..) if cluster.world.network.is_split() => cluster.world.network.heal(),
            (Fault::Slow, Some(slot), _) => cluster.world.network.slow_down(slot, chance.between(2, 40) as f32),
            (Fault::Stall, Some(slot), _) => {
                cluster.world.stall(slot, Duration::from_millis(chance.between(100, 30_000) as u64));
            }
            (Fault::ClockRate, Some(slot), _) => {
                cluster.world.set_clock_rate(slot, RATE_TRUE * chance.between(25, 400) as u64 / 100);
            }
            (Fault::ClockLeap, Some(slot), _) => {
                cluster.world.leap_clock(slot, Duration::from_millis(chance.between(1, 100_000) as u64));
            }
            (Fault::Loss, ..) => cluster.world.network.weather.loss = 0.25 * chance.unit(),
            (Fault::Doubles, ..) => cluster.world.network.weather.doubles = 0.3 * chance.unit(),
            (Fault::Held, ..) => cluster.world.network.weather.held = 0.3 * chance.unit(),
            (Fault::Fair, ..) if cluster.world.network.weather != Weather::FAIR => {
                cluster.world.network.weather = Weather::FAIR;
            }
            (Fault::Lie, Some(slot), _) => cluster.lie(slot, chance.pick(&Lie::ALL).copied().unwrap_or(Lie::Silent)),
            (Fault::Honest, Some(_), _) => {
                let liar = cluster.world.nodes().find(|(_, machine)| machine.lies().is_some()).map(|(slot, _)| slot);
                let Some(slot) = liar else { return false };
                cluster.be_honest(slot);
            }
            _ => return false,
        }
        true
    }
}

/// Ends all harm. The first machine comes back, which newcomers ask, and half of the others.
fn make_peace(cluster: &mut Cluster, chance: &mut Chance) {
    cluster.world.network.heal();
    cluster.world.network.clear_slowness();
    cluster.world.network.weather = Weather::FAIR;
    for slot in cluster.up() {
        cluster.be_honest(slot);
        cluster.world.set_clock_rate(slot, RATE_TRUE);
        cluster.world.stall(slot, Duration::ZERO);
    }
    for slot in cluster.down() {
        cluster.world.set_clock_rate(slot, RATE_TRUE);
        if slot == 0 || chance.happens(0.5) {
            cluster.restart(slot, chance.happens(0.7));
        }
    }
}
