//! The wire between machines: how long it takes, what it loses, doubles and turns round, and who is cut off from whom.
//!
//! A pair's latency follows from the seed and the two ends, so that a hundred thousand machines need no table of ten thousand million
//! entries, and the same pair is always about as far apart.

use crate::chance::{Chance, mix, normal_of, unit_of};
use std::time::Duration;

/// One way between two machines, before jitter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Latency {
    Fixed(Duration),
    /// Evenly between the two, by pair.
    Even {
        min: Duration,
        max: Duration,
    },
    /// Lognormal by pair, as measured between hosts of the internet: most are near the median, some are far away.
    Pairs {
        median: Duration,
        /// Of the logarithm; 0.5 puts nine of ten between 0.44 and 2.3 times the median.
        sigma: f64,
        max: Duration,
    },
}

/// What may go wrong with any message. Shares are of 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weather {
    pub loss: f64,
    pub doubles: f64,
    /// Added to every message, evenly from nothing up to this part of its latency.
    pub jitter: f64,
    /// Messages that are held back so long that later ones overtake them.
    pub held: f64,
    pub held_max: Duration,
}

impl Weather {
    /// Nothing is lost, doubled or held back; a tenth of jitter.
    pub const FAIR: Self =
        Self { loss: 0.0, doubles: 0.0, jitter: 0.1, held: 0.0, held_max: Duration::from_millis(1500) };

    /// Up to three in ten lost, doubled, held back.
    pub fn foul(chance: &mut Chance) -> Self {
        let mut share = || 0.3 * chance.unit();
        let (loss, doubles, held) = (share(), share(), share());
        Self { loss, doubles, held, ..Self::FAIR }
    }
}

#[derive(Clone, Debug)]
pub struct Network {
    seed: u64,
    latency: Latency,
    pub weather: Weather,
    /// Machines hear only those of their own group. Those beyond the end of the list are in the first.
    groups: Vec<u16>,
    /// By how much a machine's messages take longer, in both directions.
    slowness: Vec<f32>,
}

/// Messages from a machine to itself do not leave it.
const WITHIN_MACHINE: Duration = Duration::from_micros(20);

impl Network {
    pub fn new(seed: u64, latency: Latency) -> Self {
        Self { seed: mix(seed), latency, weather: Weather::FAIR, groups: Vec::new(), slowness: Vec::new() }
    }

    pub fn with_weather(mut self, weather: Weather) -> Self {
        self.weather = weather;
        self
    }

    pub fn reaches(&self, from: usize, to: usize) -> bool {
        let group = |slot: usize| self.groups.get(slot).copied().unwrap_or(0);
        from == to || group(from) == group(to)
    }

    /// Puts machines into groups that do not hear each other.
    pub fn split(&mut self, groups: Vec<u16>) {
        self.groups = groups;
    }

    /// Each machine is on one side or the other.
    pub fn cut_in_two(&mut self, machines: usize, chance: &mut Chance) {
        self.split((0..machines).map(|_| u16::try_from(chance.below(2)).unwrap_or(0)).collect());
    }

    pub fn heal(&mut self) {
        self.groups.clear();
    }

    pub fn is_split(&self) -> bool {
        self.groups.iter().any(|group| *group != self.groups[0])
    }

    /// All that a machine sends or is sent takes so many times as long.
    pub fn slow_down(&mut self, slot: usize, times: f32) {
        if self.slowness.len() <= slot {
            self.slowness.resize(slot + 1, 1.0);
        }
        self.slowness[slot] = times;
    }

    pub fn clear_slowness(&mut self) {
        self.slowness.clear();
    }

    /// One way between two machines, without chance.
    pub fn latency(&self, from: usize, to: usize) -> Duration {
        if from == to {
            return WITHIN_MACHINE;
        }
        let (low, high) = (from.min(to) as u64, from.max(to) as u64);
        let pair = mix(self.seed ^ mix(low << 32 | high));
        let base = match self.latency {
            Latency::Fixed(time) => time,
            Latency::Even { min, max } => min + max.saturating_sub(min).mul_f64(unit_of(pair)),
            Latency::Pairs { median, sigma, max } => {
                median.mul_f64((sigma * normal_of(pair, mix(pair))).exp().min(1000.0)).min(max)
            }
        };
        let slowness = |slot: usize| f64::from(self.slowness.get(slot).copied().unwrap_or(1.0));
        base.mul_f64(slowness(from) * slowness(to))
    }

    /// When the message arrives, from now: not at all, once, or twice. Whether it can is seen on arrival.
    pub fn carry(&self, chance: &mut Chance, from: usize, to: usize) -> [Option<Duration>; 2] {
        let latency = self.latency(from, to);
        if from == to {
            return [Some(latency), None];
        }
        let weather = &self.weather;
        let once = |chance: &mut Chance| {
            if chance.happens(weather.loss) {
                return None;
            }
            let held =
                if chance.happens(weather.held) { weather.held_max.mul_f64(chance.unit()) } else { Duration::ZERO };
            Some(latency + latency.mul_f64(weather.jitter * chance.unit()) + held)
        };
        let first = once(chance);
        let second = if chance.happens(weather.doubles) { once(chance) } else { None };
        [first, second]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_pair_is_always_as_far_apart_and_pairs_differ() {
        let latency = Latency::Pairs { median: 40 * MS, sigma: 0.5, max: 400 * MS };
        let network = Network::new(3, latency);
        assert_eq!(network.latency(5, 900), network.latency(900, 5));
        assert_ne!(network.latency(5, 900), network.latency(5, 901));
        let mut all: Vec<_> = (0..1001).map(|other| network.latency(5000, other)).collect();
        all.sort();
        assert!((36 * MS..44 * MS).contains(&all[500]), "{:?}", all[500]);
        assert!(all[900] > 60 * MS && all[1000] <= 400 * MS);
    }

    #[test]
    fn weather_loses_doubles_and_holds_back_as_often_as_it_says() {
        let weather = Weather { loss: 0.2, doubles: 0.1, jitter: 0.0, held: 0.05, held_max: 100 * MS };
        let network = Network::new(3, Latency::Fixed(10 * MS)).with_weather(weather);
        let mut chance = Chance::new(1);
        let carried: Vec<_> = (0..10_000).map(|_| network.carry(&mut chance, 1, 2)).collect();
        let (lost, doubled) =
            (carried.iter().filter(|c| c[0].is_none()).count(), carried.iter().filter(|c| c[1].is_some()).count());
        let held = carried.iter().filter(|c| c[0].is_some_and(|time| time > 10 * MS)).count();
        assert!((1850..2150).contains(&lost) && (700..900).contains(&doubled) && (320..480).contains(&held));
    }

    #[test]
    fn groups_do_not_hear_each_other_and_slow_machines_are_slow_both_ways() {
        let mut network = Network::new(3, Latency::Fixed(10 * MS));
        network.split(vec![0, 1, 1]);
        assert!(network.is_split() && !network.reaches(0, 1) && network.reaches(1, 2) && network.reaches(0, 7));
        network.heal();
        assert!(!network.is_split() && network.reaches(0, 1));
        network.slow_down(2, 8.0);
        assert_eq!((network.latency(0, 2), network.latency(2, 1)), (80 * MS, 80 * MS));
        assert_eq!(network.latency(0, 1), 10 * MS);
    }
}
