//! Harm of every kind to machines that exchange links, and then peace, in which every link that was promised must arrive.
//!
//! The ring itself is a list of members that each machine learns of late: so two may think that they own a place, or none. A machine that dies for
//! good takes its outbox with it; what lay there is excused, and counted.

use super::disk::Disk;
use super::machine::{Machine, Note, View, name_of, owner_of};
use crate::chance::{Chance, mix};
use crate::network::{Latency, Network, Weather};
use crate::ring::contact_of;
use crate::world::World;
use herodotus_base::Id;
use herodotus_links::{Config, Costs, CrawlId, Planted, Prospect};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Things that happen in one storm: pages that are read, and harm.
const EVENTS: usize = 150;
const EVERY_MEAN: f64 = 0.4;
/// Within this after the last harm everything has arrived: the longest back-off, the longest rest, and walks.
const SETTLE: Duration = Duration::from_secs(400);
const HOSTS: usize = 40;

#[derive(Clone, Debug)]
pub struct Storm {
    pub seed: u64,
    config: Config,
}

#[derive(Clone, Debug)]
pub struct StormEnd {
    pub trace: u64,
    /// Links that were promised, and of those the ones that lay on a machine that died for good.
    pub promised: usize,
    pub excused: usize,
    /// How long it took after the harm was over.
    pub settled: Duration,
    pub batches: u64,
    pub walks: u64,
    pub lookups: u64,
    pub parked: u64,
    pub bytes: u64,
    pub wrong: Vec<String>,
}

/// A machine that is down, with what is on its disks.
type Disks = (Disk, Disk);

struct Run {
    seed: u64,
    config: Config,
    chance: Chance,
    world: World<Machine>,
    members: View,
    /// Earlier truths, which somebody may still believe.
    history: Vec<View>,
    down: BTreeMap<usize, Disks>,
    /// What those took that died for good: others hold copies of that.
    taken_by_dead: Vec<Disk>,
    dead: BTreeSet<usize>,
    /// By name, the least depth: a link that was lately sent by a shorter way need not go by a longer one.
    promised: BTreeMap<[u8; 32], u16>,
    excused: BTreeSet<[u8; 32]>,
    pages: usize,
    totals: [u64; 4],
    wrong: Vec<String>,
}

impl Storm {
    pub fn new(seed: u64) -> Self {
        let mut chance = Chance::new(mix(seed ^ 0x11c5));
        // Small numbers, so that everything happens often.
        let mut config = Config {
            delay: Duration::from_millis(chance.between(50, 1_500) as u64),
            gather: Duration::from_millis(chance.between(1, 300) as u64),
            hold_max: Duration::from_secs(chance.between(0, 6) as u64),
            links_plenty: chance.between(1, 60),
            links_enough: chance.between(1, 40),
            links_flush: chance.between(20, 500) as u64,
            small_batches_per_s: u32::try_from(chance.between(1, 20)).unwrap_or(1),
            flights_max: chance.between(1, 6),
            ack_wait: Duration::from_secs(chance.between(3, 20) as u64),
            backoff_max: Duration::from_secs(20),
            owners_max: chance.between(2, 20),
            owner_lasts: Duration::from_secs(chance.between(5, 60) as u64),
            near_max: chance.between(1, 10),
            lookups_max: chance.between(1, 6),
            lookup_wait: Duration::from_secs(6),
            steps_max: u8::try_from(chance.between(3, 10)).unwrap_or(5),
            parked_for: Duration::from_secs(chance.between(2, 15) as u64),
            pending_max: if chance.happens(0.2) { 200 } else { 100_000 },
            lately_slots: 1 << 10,
            indexed_max: [0, 20, 1 << 16][chance.below(3)],
            ..Config::default()
        };
        config.costs = Costs { lookup_bytes: [0.0, 500.0, 7_000.0][chance.below(3)], ..config.costs };
        Self { seed, config }
    }

    pub fn plant(mut self, bug: Planted) -> Self {
        self.config.planted = bug;
        self
    }

    pub fn run(&self) -> StormEnd {
        let mut run = Run::new(self.seed, self.config.clone());
        for _ in 0..EVENTS {
            let pause = Duration::from_secs_f64(run.chance.exponential(EVERY_MEAN));
            run.run_for(pause);
            run.tell_somebody();
            if run.chance.happens(0.6) { run.read_page() } else { run.harm() }
        }
        run.make_peace();
        let settled = run.settle();
        run.judge(settled)
    }
}

impl Run {
    fn new(seed: u64, config: Config) -> Self {
        let mut chance = Chance::new(mix(seed ^ 0x0b05));
        let ms = |chance: &mut Chance| Duration::from_millis(chance.between(2, 120) as u64);
        let latency = Latency::Even { min: Duration::from_millis(1), max: ms(&mut chance) + Duration::from_millis(1) };
        let mut run = Self {
            seed,
            config,
            world: World::new(seed, Network::new(seed, latency)),
            members: View::default(),
            history: Vec::new(),
            down: BTreeMap::new(),
            taken_by_dead: Vec::new(),
            dead: BTreeSet::new(),
            promised: BTreeMap::new(),
            excused: BTreeSet::new(),
            pages: 0,
            totals: [0; 4],
            wrong: Vec::new(),
            chance,
        };
        let machines = run.chance.between(3, 10);
        let slots: Vec<usize> = (0..machines).map(|_| run.world.add()).collect();
        run.members =
            slots.iter().map(|slot| (contact_of(seed, *slot, 0).id, *slot)).collect::<BTreeMap<_, _>>().into();
        run.history.push(run.members.clone());
        slots.into_iter().for_each(|slot| run.start(slot, Disks::default()));
        run
    }

    fn start(&mut self, slot: usize, disks: Disks) {
        let (seed, config) = (self.seed, self.config.clone());
        let view = self.some_view();
        self.world.start(slot, Machine::start(slot, seed, disks, config, view.clone(), Duration::ZERO));
        self.world.act(slot, |machine, now| machine.set_view(now, view));
    }

    /// What is true, or was lately.
    fn some_view(&mut self) -> View {
        let back = if self.chance.happens(0.7) { 0 } else { self.chance.below(self.history.len().min(4)) };
        self.history.iter().rev().nth(back).cloned().unwrap_or_default()
    }

    fn up(&self) -> Vec<usize> {
        self.world.nodes().map(|(slot, _)| slot).collect()
    }

    fn run_for(&mut self, time: Duration) {
        let until = self.world.now() + time;
        loop {
            let is_more = self.world.step(until);
            while let Some((slot, note)) = self.world.take_note() {
                match note {
                    Note::Lookup(place) => self.answer(slot, place),
                    Note::Broken(what) => self.wrong.push(format!("machine {slot}: {what}")),
                }
            }
            if !is_more {
                return;
            }
        }
    }

    /// A lookup is answered rightly, or as things were, or not at all.
    fn answer(&mut self, slot: usize, place: Id) {
        let is_calm = !self.world.network.is_split();
        let view = if self.chance.happens(0.8) && is_calm { self.members.clone() } else { self.some_view() };
        let owner = owner_of(&view, place).filter(|_| self.chance.happens(0.9));
        self.world.act(slot, |machine, now| machine.learn_owner(now, place, owner));
    }

    fn tell_somebody(&mut self) {
        let up = self.up();
        for _ in 0..2 {
            if let Some(slot) = self.chance.pick(&up).copied() {
                let view = self.some_view();
                self.world.act(slot, |machine, now| machine.set_view(now, view));
            }
        }
    }

    fn read_page(&mut self) {
        let up = self.up();
        let Some(slot) = self.chance.pick(&up).copied() else { return };
        self.pages += 1;
        let count = if self.chance.happens(0.1) { self.chance.between(50, 200) } else { self.chance.between(1, 20) };
        let links: Vec<_> = (0..count).map(|_| self.link()).collect();
        // Some pages are not read to their end when the machine dies.
        let is_flushed = self.chance.happens(0.9);
        let is_promised = self.world.act(slot, |machine, now| machine.find(now, &links, is_flushed));
        if is_promised == Some(true) {
            let names = links.iter().map(|(crawl, prospect)| name_of(crawl, prospect));
            names.for_each(|link| keep_least(&mut self.promised, link));
        }
    }

    fn link(&mut self) -> (CrawlId, Prospect) {
        // Many lead to the same.
        let number = if self.chance.happens(0.3) { self.chance.below(5) } else { self.chance.below(5_000) };
        let url = format!("https://h{}.example/{number}", self.chance.below(HOSTS));
        let depth = u16::try_from(self.chance.below(3)).unwrap_or(0);
        let crawl = [u8::try_from(self.chance.below(3)).unwrap_or(0); 16];
        (crawl, Prospect { url, kind: 0, depth, hops: 0, redirects: 0, seed: false })
    }

    fn harm(&mut self) {
        let up = self.up();
        let any_up = self.chance.pick(&up).copied().filter(|_| up.len() > 1);
        let any_down = self.down.keys().copied().collect::<Vec<_>>();
        let any_down = self.chance.pick(&any_down).copied();
        match (self.chance.below(17), any_up, any_down) {
            (0..2, Some(slot), _) => self.crash(slot, false),
            (2..4, Some(slot), _) => self.crash(slot, true),
            (4..7, _, Some(slot)) => self.restart(slot),
            (7, Some(slot), _) if up.len() > 3 && self.dead.len() < 2 => self.die(slot),
            (8..10, Some(slot), _) => self.toggle(slot),
            (10, Some(_), _) => self.world.network.cut_in_two(self.world.len(), &mut self.chance),
            (11, ..) => self.world.network.heal(),
            (12, ..) => self.world.network.weather = Weather::foul(&mut self.chance),
            // Back before the answers to its last batches are.
            (13..16, Some(slot), _) => {
                self.crash(slot, false);
                self.restart(slot);
            }
            _ => self.world.network.weather = Weather::FAIR,
        }
    }

    fn crash(&mut self, slot: usize, loses_power: bool) {
        let refuses = self.chance.happens(0.5);
        let Some(machine) = self.world.crash(slot, refuses) else { return };
        self.count(&machine);
        let mut disks = machine.into_disks();
        if loses_power {
            for disk in [&mut disks.0, &mut disks.1] {
                let kept = self.chance.below(disk.unsynced() + 1);
                disk.lose_power(kept);
            }
        }
        self.down.insert(slot, disks);
        if self.chance.happens(0.5) {
            self.change_members(|members| members.remove(&contact_of_slot(members, slot)));
        }
    }

    fn restart(&mut self, slot: usize) {
        let Some(disks) = self.down.remove(&slot) else { return };
        let id = contact_of(self.seed, slot, 0).id;
        if self.chance.happens(0.7) {
            self.change_members(|members| members.insert(id, slot));
        }
        self.start(slot, disks);
    }

    fn die(&mut self, slot: usize) {
        let Some(machine) = self.world.crash(slot, false) else { return };
        self.count(&machine);
        let (outbox, taken) = machine.into_disks();
        self.excused.extend(Machine::links_in(&outbox).into_iter().map(|(name, _)| name));
        self.taken_by_dead.push(taken);
        self.dead.insert(slot);
        self.change_members(|members| members.remove(&contact_of_slot(members, slot)));
    }

    /// One leaves the ring, or comes back to it, and is up all the while.
    fn toggle(&mut self, slot: usize) {
        let id = contact_of(self.seed, slot, 0).id;
        self.change_members(|members| match members.remove(&id) {
            Some(slot) if members.is_empty() => members.insert(id, slot),
            Some(_) => None,
            None => members.insert(id, slot),
        });
    }

    fn change_members<R>(&mut self, change: impl FnOnce(&mut BTreeMap<Id, usize>) -> R) {
        let mut members = (*self.members).clone();
        change(&mut members);
        if !members.is_empty() {
            self.members = members.into();
            self.history.push(self.members.clone());
        }
    }

    fn make_peace(&mut self) {
        self.world.network.heal();
        self.world.network.weather = Weather::FAIR;
        let all = (0..self.world.len()).filter(|slot| !self.dead.contains(slot));
        self.members = all.map(|slot| (contact_of(self.seed, slot, 0).id, slot)).collect::<BTreeMap<_, _>>().into();
        self.history = vec![self.members.clone()];
        for (slot, disks) in std::mem::take(&mut self.down) {
            self.start(slot, disks);
        }
        for slot in self.up() {
            let view = self.members.clone();
            self.world.act(slot, |machine, now| machine.set_view(now, view));
        }
    }

    /// Until nothing is pending anywhere.
    fn settle(&mut self) -> Option<Duration> {
        let began = self.world.now();
        while self.world.now() < began + SETTLE {
            self.run_for(Duration::from_secs(1));
            if self.world.nodes().all(|(_, machine)| machine.outbox().pending() == 0) {
                return Some(self.world.now() - began);
            }
        }
        None
    }

    fn count(&mut self, machine: &Machine) {
        let counts = machine.outbox().counts();
        let all = [counts.batches, counts.walks, counts.lookups, counts.parked];
        self.totals.iter_mut().zip(all).for_each(|(total, more)| *total += more);
    }

    fn judge(mut self, settled: Option<Duration>) -> StormEnd {
        let mut arrived = BTreeMap::new();
        let disks = self.world.nodes().map(|(_, machine)| machine.taken()).chain(&self.taken_by_dead);
        disks.flat_map(Machine::taken_in).for_each(|link| keep_least(&mut arrived, link));
        let missing =
            self.promised.iter().filter(|(name, depth)| arrived.get(*name).is_none_or(|least| least > *depth));
        let (excused, lost): (Vec<_>, Vec<_>) = missing.partition(|(name, _)| self.excused.contains(*name));
        let (excused, lost) = (excused.len(), lost.len());
        if lost > 0 {
            self.wrong.push(format!("{lost} of {} links did not arrive", self.promised.len()));
        }
        let machines: Vec<usize> = self.up();
        for slot in machines {
            let Some(machine) = self.world.node(slot) else { continue };
            let (pending, left) =
                (machine.outbox().pending(), Machine::links_in(machine.outbox().table()).len() as u64);
            if pending == 0 && !machine.has_all_arrived() {
                self.wrong.push(format!("machine {slot} has nothing left, and does not say that all has arrived"));
            }
            if pending != left || settled.is_none() {
                self.wrong.push(format!("machine {slot} has {left} links left and says {pending}"));
            }
            let counts = machine.outbox().counts();
            let all = [counts.batches, counts.walks, counts.lookups, counts.parked];
            self.totals.iter_mut().zip(all).for_each(|(total, more)| *total += more);
        }
        let counts = self.world.counts();
        if counts.past_wakes > 0 {
            self.wrong.push(format!("woken {} times for a moment that had passed, to no effect", counts.past_wakes));
        }
        let [batches, walks, lookups, parked] = self.totals;
        StormEnd {
            trace: self.world.trace(),
            promised: self.promised.len(),
            excused,
            settled: settled.unwrap_or(SETTLE),
            batches,
            walks,
            lookups,
            parked,
            bytes: counts.bytes,
            wrong: self.wrong,
        }
    }
}

fn keep_least(all: &mut BTreeMap<[u8; 32], u16>, (name, depth): ([u8; 32], u16)) {
    let least = all.entry(name).or_insert(depth);
    *least = depth.min(*least);
}

/// The place under which a machine is a member; any other if it is none.
fn contact_of_slot(members: &BTreeMap<Id, usize>, slot: usize) -> Id {
    members.iter().find(|(_, member)| **member == slot).map_or(Id::ZERO, |(id, _)| *id)
}
