//! Harm within what the ring promises to bear: one death at a time, with time to notice it, though at the worst of moments. Here
//! nobody may ever lose all its successors, which a storm cannot ask.

use super::cluster::{Cluster, Setting};
use crate::chance::{Chance, mix};
use crate::checkers::all_when_quiet;
use herodotus_base::Id;
use herodotus_ring::Planted;
use std::time::Duration;

/// A death is noticed by all whom it concerns within this, and lists are whole again.
const REST: Duration = Duration::from_secs(60);
const ROUNDS: usize = 12;

/// A drizzle that follows from its seed.
#[derive(Clone, Debug)]
pub struct Drizzle {
    seed: u64,
    setting: Setting,
}

impl Drizzle {
    pub fn new(seed: u64) -> Self {
        let mut setting = Setting::new(seed);
        setting.config.depth = Chance::new(mix(seed)).between(2, 4);
        Self { seed, setting }
    }

    pub fn plant(mut self, bug: Planted) -> Self {
        self.setting.config.planted = bug;
        self
    }

    /// What was wrong, in sentences: nothing, if all promises hold.
    pub fn run(&self) -> Vec<String> {
        let mut cluster = Cluster::new(self.setting.clone());
        let mut chance = Chance::new(mix(self.seed ^ 0xd612));
        let depth = self.setting.config.depth;
        cluster.begin();
        // Full membership first, then lists that reach only some.
        for _ in 0..depth + 3 {
            cluster.join();
            cluster.run_for(REST / 4);
        }
        let mut wrong = Vec::new();
        for _ in 0..ROUNDS {
            cluster.run_for(REST);
            wrong.extend(all_when_quiet(&cluster.view(), depth));
            let newcomer = cluster.join();
            let place = cluster.contact(newcomer, 0).id;
            let joined = |cluster: &Cluster| cluster.members().contains_key(&place);
            for _ in 0..1000 {
                if joined(&cluster) {
                    break;
                }
                cluster.run_for(Duration::from_millis(10));
            }
            cluster.run_for(Duration::from_millis(chance.between(0, 300) as u64));
            // The one behind it, the one before it, or itself.
            let dying = match chance.below(3) {
                0 => neighbour(&cluster, place, true),
                1 => neighbour(&cluster, place, false),
                _ => Some(newcomer),
            };
            // The first one stays: it is whom newcomers ask.
            if let Some(slot) = dying.filter(|slot| *slot > 0) {
                cluster.crash(slot, chance.happens(0.5));
            }
        }
        cluster.run_for(REST);
        wrong.extend(all_when_quiet(&cluster.view(), depth));
        if cluster.fallen > 0 {
            wrong.push(format!("{} members lost all their successors, though one died at a time", cluster.fallen));
        }
        wrong.extend(cluster.broken().0.iter().cloned());
        wrong
    }
}

/// The machine of the member behind a place, or before it.
fn neighbour(cluster: &Cluster, place: Id, is_behind: bool) -> Option<usize> {
    let members = cluster.members();
    let other = |(id, _): &(&Id, &usize)| **id != place;
    let found = if is_behind {
        members.range(place..).chain(members.range(..place)).find(other)
    } else {
        members.range(..place).rev().chain(members.range(place..).rev()).find(other)
    };
    found.map(|(_, slot)| *slot)
}
