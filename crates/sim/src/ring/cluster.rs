//! A world full of ring machines, and everything that can be done to them: start, crash, restart with and without a disk, leave, look up.
//! It knows the truth, namely who lives and is a member, and holds every lookup against it.

use super::liar::{Liar, Lie};
use super::machine::{Machine, Note, contact_of};
use crate::chance::{Chance, mix};
use crate::checkers::View;
use crate::checkers::lookups::Tally;
use crate::network::{Latency, Network, Weather};
use crate::world::World;
use herodotus_base::Id;
use herodotus_ring::{Config, Contact, Core, LookupFailure, LookupId, Neighbours, Planted, Ring, Verdict};
use std::collections::BTreeMap;
use std::time::Duration;

/// Findings that are kept word for word. One fault repeats itself with every message.
const BROKEN_MAX: usize = 20;
/// Machines that newcomers are told of: the first, and members of the moment, as a ticket of theirs would.
const SEEDS: usize = 3;

/// What a cluster is made of.
#[derive(Clone, Debug)]
pub struct Setting {
    pub seed: u64,
    pub config: Config,
    /// Virtual nodes of each machine.
    pub virtuals: u16,
    pub latency: Latency,
    pub weather: Weather,
    /// How long a node with a disk looks for its old peers before it goes on alone.
    pub alone_after: Duration,
    /// How long handing over takes, at most.
    pub hand_over_max: Duration,
    /// Whether promises that hold at every moment are checked at every moment.
    pub is_watched: bool,
}

impl Setting {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            config: Config::default(),
            virtuals: 1,
            latency: Latency::Pairs { median: Duration::from_millis(40), sigma: 0.5, max: Duration::from_millis(400) },
            weather: Weather::FAIR,
            alone_after: Duration::from_secs(20),
            hand_over_max: Duration::from_secs(3),
            is_watched: true,
        }
    }
}

#[derive(Debug)]
pub struct Cluster {
    setting: Setting,
    pub world: World<Machine>,
    pub chance: Chance,
    /// Live members by place, and the machines they are on.
    members: BTreeMap<Id, usize>,
    /// What each machine's nodes remembered when it went down.
    disks: Vec<Vec<Vec<Contact>>>,
    starts: Vec<u64>,
    lookups: BTreeMap<(usize, u16, LookupId), Asked>,
    /// What is to be done at a time, in order.
    chores: BTreeMap<(Duration, u64), Chore>,
    numbers: u64,
    pub tally: Tally,
    broken: Vec<String>,
    broken_count: u64,
    /// Members that lost all their successors.
    pub fallen: u64,
}

#[derive(Clone, Debug)]
struct Asked {
    at: Duration,
    owner: Option<Id>,
}

#[derive(Clone, Copy, Debug)]
enum Chore {
    HandOver { slot: usize, index: u16, start: u64 },
    Stop { slot: usize, start: u64 },
}

impl Cluster {
    pub fn new(setting: Setting) -> Self {
        let network = Network::new(setting.seed, setting.latency).with_weather(setting.weather);
        Self {
            world: World::new(setting.seed, network),
            chance: Chance::new(mix(setting.seed ^ 0xc1a5)),
            setting,
            members: BTreeMap::new(),
            disks: Vec::new(),
            starts: Vec::new(),
            lookups: BTreeMap::new(),
            chores: BTreeMap::new(),
            numbers: 0,
            tally: Tally::default(),
            broken: Vec::new(),
            broken_count: 0,
            fallen: 0,
        }
    }

    /// A ring of that many machines, all where they belong from the beginning, with their fingers.
    pub fn ideal(setting: Setting, count: usize) -> Self {
        let mut cluster = Self::new(setting);
        let (virtuals, seed) = (cluster.setting.virtuals, cluster.setting.seed);
        let mut all: Vec<Contact> = Vec::with_capacity(count * usize::from(virtuals));
        for slot in 0..count {
            cluster.add();
            all.extend((0..virtuals).map(|index| contact_of(seed, slot, index)));
        }
        all.sort_by_key(|contact| contact.id);
        for slot in 0..count {
            let machine = cluster.machine(slot, None);
            let places: Vec<_> = (0..virtuals)
                .map(|index| placed(&all, &contact_of(seed, slot, index), &cluster.setting.config))
                .collect();
            // Time zero of the machine's own clock is known only inside the world.
            cluster.start(slot, machine, |ring, now, index| {
                let (core, fingers) = places[usize::from(index)].clone();
                ring.begin_as(now, core, fingers);
            });
        }
        cluster.drain();
        cluster
    }

    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    pub fn now(&self) -> Duration {
        self.world.now()
    }

    /// Machines that are up.
    pub fn up(&self) -> Vec<usize> {
        self.world.nodes().map(|(slot, _)| slot).collect()
    }

    pub fn down(&self) -> Vec<usize> {
        (0..self.world.len()).filter(|slot| self.world.node(*slot).is_none()).collect()
    }

    pub fn members(&self) -> &BTreeMap<Id, usize> {
        &self.members
    }

    pub fn view(&self) -> View<'_> {
        View::new(self.world.nodes().flat_map(|(_, machine)| machine.rings()))
    }

    /// Promises that were broken, as far as they are kept word for word, and how many there were.
    pub fn broken(&self) -> (&[String], u64) {
        (&self.broken, self.broken_count)
    }

    /// The first machine begins a ring.
    pub fn begin(&mut self) -> usize {
        let slot = self.add();
        let first = self.contact(slot, 0);
        let machine = self.machine(slot, None);
        self.start(slot, machine, |ring, now, index| match index {
            0 => ring.begin_ring(now),
            _ => ring.join(now, vec![first.clone()]),
        });
        slot
    }

    /// A new machine joins by way of some that are there.
    pub fn join(&mut self) -> usize {
        let slot = self.add();
        self.enter(slot);
        slot
    }

    /// Stops a machine in the middle of what it does. Its disk stays.
    pub fn crash(&mut self, slot: usize, refuses: bool) {
        let Some(machine) = self.world.crash(slot, refuses) else { return };
        for ring in machine.rings() {
            self.members.remove(&ring.me().id);
        }
        self.disks[slot] = machine.rings().map(Ring::remembered).collect();
        let gone: Vec<_> =
            self.lookups.range((slot, 0, LookupId(0))..(slot + 1, 0, LookupId(0))).map(|(at, _)| *at).collect();
        for at in gone {
            self.lookups.remove(&at);
        }
    }

    /// Starts a machine again that is down: with what it remembered, or as one that has nothing but its key and is told where to go. The
    /// very first machine keeps its disk always: if nobody is left who was a member, a person must begin the ring again.
    pub fn restart(&mut self, slot: usize, with_disk: bool) {
        let disks = std::mem::take(&mut self.disks[slot]);
        if slot > 0 && (!with_disk || disks.iter().all(Vec::is_empty)) {
            return self.enter(slot);
        }
        let machine = self.machine(slot, Some(self.setting.alone_after));
        self.start(slot, machine, |ring, now, index| {
            ring.join(now, disks.get(usize::from(index)).cloned().unwrap_or_default());
        });
    }

    /// All nodes of a machine go in good order; then it stops.
    pub fn leave(&mut self, slot: usize) {
        for index in 0..self.setting.virtuals {
            self.world.act(slot, |machine, now| machine.with(index, now, |ring| ring.leave(now)));
        }
        self.drain();
    }

    pub fn lie(&mut self, slot: usize, lie: Lie) {
        let named = match lie {
            Lie::Dead => self.down().into_iter().map(|slot| self.contact(slot, 0)).collect(),
            Lie::OwnsAll => {
                let friends = self.world.nodes().filter(|(_, machine)| machine.lies() == Some(Lie::OwnsAll));
                friends
                    .map(|(slot, _)| slot)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .map(|slot| self.contact(slot, 0))
                    .collect()
            }
            Lie::Strangers | Lie::Silent | Lie::Late => Vec::new(),
        };
        let liar = Liar::new(lie, &mut self.chance, named);
        self.world.act(slot, |machine, _| machine.lie(Some(liar)));
    }

    pub fn be_honest(&mut self, slot: usize) {
        self.world.act(slot, |machine, _| machine.lie(None));
    }

    pub fn lookup(&mut self, slot: usize, index: u16, key: Id) {
        let asked = Asked { at: self.now(), owner: self.owner(key, slot) };
        let id = self.world.act(slot, |machine, now| machine.with(index, now, |ring| ring.lookup(now, key))).flatten();
        if let Some(id) = id {
            self.lookups.insert((slot, index, id), asked);
        }
        self.drain();
    }

    /// A lookup by anyone that is up, for any place.
    pub fn lookup_anything(&mut self) {
        let slot = self.chance.below(self.world.len());
        let slot = (slot..self.world.len()).chain(0..slot).find(|slot| self.world.node(*slot).is_some());
        let index = self.chance.below(usize::from(self.setting.virtuals));
        let key = Id(self.chance.bytes32());
        if let Some(slot) = slot {
            self.lookup(slot, u16::try_from(index).unwrap_or(0), key);
        }
    }

    /// A lookup by any member, for any place.
    pub fn lookup_by_member(&mut self) {
        let from = Id(self.chance.bytes32());
        let key = Id(self.chance.bytes32());
        let Some((id, slot)) = self.members.range(from..).chain(self.members.range(..from)).next() else { return };
        let (id, slot) = (*id, *slot);
        let index = (0..self.setting.virtuals).find(|index| self.contact(slot, *index).id == id);
        self.lookup(slot, index.unwrap_or(0), key);
    }

    /// Who owns a key among the members that a machine can reach.
    pub fn owner(&self, key: Id, asker: usize) -> Option<Id> {
        let mut round = self.members.range(key..).chain(self.members.range(..key));
        round.find(|(_, slot)| self.world.network.reaches(asker, **slot)).map(|(id, _)| *id)
    }

    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now() + time);
    }

    pub fn run_until(&mut self, until: Duration) {
        loop {
            let due = self.chores.keys().next().map(|(at, _)| *at).filter(|at| *at <= until);
            if self.world.step(due.unwrap_or(until)) {
                self.drain();
                continue;
            }
            if due.is_none() {
                return;
            }
            if let Some((_, chore)) = self.chores.pop_first() {
                self.do_chore(chore);
            }
        }
    }

    /// Lookups that have not ended yet.
    pub fn lookups_open(&self) -> usize {
        self.lookups.len()
    }

    pub fn contact(&self, slot: usize, index: u16) -> Contact {
        contact_of(self.setting.seed, slot, index)
    }

    fn add(&mut self) -> usize {
        self.disks.push(Vec::new());
        self.starts.push(0);
        self.world.add()
    }

    /// Joins by way of the first machine, which comes back whatever happens to others, and of members of the moment.
    fn enter(&mut self, slot: usize) {
        let machine = self.machine(slot, None);
        // Chance of its own, so that a newcomer does not change what happens to others.
        let mut chance = Chance::new(mix(self.setting.seed ^ mix((slot as u64) << 20 ^ self.starts[slot] ^ 0x71c7)));
        let mut slots = vec![0];
        for _ in 1..SEEDS {
            let from = Id(chance.bytes32());
            let mut round = self.members.range(from..).chain(self.members.range(..from)).map(|(_, slot)| *slot);
            slots.extend(round.find(|member| !slots.contains(member)));
        }
        slots.retain(|seed| *seed != slot);
        let seeds: Vec<Contact> = slots.into_iter().map(|seed| self.contact(seed, 0)).collect();
        self.start(slot, machine, |ring, now, _| ring.join(now, seeds.clone()));
    }

    fn machine(&mut self, slot: usize, alone_after: Option<Duration>) -> Machine {
        self.starts[slot] += 1;
        let mut machine = Machine::new(self.setting.is_watched);
        for index in 0..self.setting.virtuals {
            let mut config = self.setting.config.clone();
            // No two lives of a node draw the same numbers, or late answers to one would fit the other's questions.
            config.seed = mix(self.setting.seed ^ mix((slot as u64) << 20 ^ self.starts[slot]));
            config.alone_after = alone_after;
            machine.add(self.contact(slot, index), config);
        }
        machine
    }

    fn start(&mut self, slot: usize, machine: Machine, mut begin: impl FnMut(&mut Ring, Duration, u16)) {
        self.world.start(slot, machine);
        for index in 0..self.setting.virtuals {
            self.world.act(slot, |machine, now| machine.with(index, now, |ring| begin(ring, now, index)));
        }
        self.drain();
    }

    fn do_chore(&mut self, chore: Chore) {
        match chore {
            Chore::HandOver { slot, index, start } if self.starts[slot] == start => {
                self.world.act(slot, |machine, now| machine.with(index, now, |ring| ring.handed_over(now)));
                self.drain();
            }
            Chore::Stop { slot, start } if self.starts[slot] == start => {
                let has_left =
                    |machine: &Machine| machine.rings().all(|ring| *ring.standing() == herodotus_ring::Standing::Left);
                if self.world.node(slot).is_some_and(has_left) {
                    self.crash(slot, true);
                }
            }
            Chore::HandOver { .. } | Chore::Stop { .. } => {}
        }
    }

    fn after(&mut self, time: Duration, chore: Chore) {
        self.numbers += 1;
        self.chores.insert((self.now() + time, self.numbers), chore);
    }

    fn drain(&mut self) {
        while let Some((slot, note)) = self.world.take_note() {
            match note {
                Note::Standing { id, is_member: true } => {
                    self.members.insert(id, slot);
                }
                Note::Standing { id, is_member: false } => {
                    self.members.remove(&id);
                }
                Note::HandOver { index } => {
                    let time = self.setting.hand_over_max.mul_f64(self.chance.unit());
                    self.after(time, Chore::HandOver { slot, index, start: self.starts[slot] });
                }
                Note::Left => self.after(Duration::ZERO, Chore::Stop { slot, start: self.starts[slot] }),
                Note::Lookup { index, id, key, outcome } => self.judge(slot, index, id, key, outcome),
                Note::Fell => self.fallen += 1,
                Note::Broken(sentence) => self.note_broken(sentence),
            }
        }
    }

    pub fn note_broken(&mut self, sentence: String) {
        self.broken_count += 1;
        if self.broken.len() < BROKEN_MAX {
            self.broken.push(format!("{:?}: {sentence}", self.now()));
        }
    }

    fn judge(&mut self, slot: usize, index: u16, id: LookupId, key: Id, outcome: Result<Box<Verdict>, LookupFailure>) {
        let Some(asked) = self.lookups.remove(&(slot, index, id)) else { return };
        let now = self.now();
        match outcome {
            Ok(verdict) => {
                let found = Some(verdict.owner.id);
                if found == asked.owner || found == self.owner(key, slot) {
                    self.tally.right += 1;
                } else {
                    self.tally.wrong += 1;
                    self.tally.last_wrong = Some(now);
                    self.tally.say_wrong(|| format!("{now:?}: {slot} asked for {key:?} and was given {verdict:?}"));
                }
                self.tally.count_hops(usize::from(verdict.hops));
                self.tally.asked += verdict.asked as u64;
                let took = now.saturating_sub(asked.at).as_millis();
                self.tally.took_ms.push(u32::try_from(took).unwrap_or(u32::MAX));
            }
            Err(LookupFailure::TimedOut) => {
                self.tally.failed += 1;
                self.tally.last_failed = Some(now);
            }
            Err(LookupFailure::Outside | LookupFailure::Busy) => self.tally.refused += 1,
        }
    }
}

/// A node's neighbours and fingers in a ring of all these, which are in order.
fn placed(all: &[Contact], me: &Contact, config: &Config) -> (Core, Vec<(u8, Contact)>) {
    let first_at_or_after = |key: Id| &all[all.partition_point(|contact| contact.id < key) % all.len()];
    let at = all.partition_point(|contact| contact.id < me.id);
    let others = all.len() - 1;
    let before = &all[(at + others) % all.len()];
    // As many nodes as `Core` may keep; it cuts the list where it has enough machines.
    let reach = others.min(config.depth * 4 + 1);
    let successors: Vec<_> = (1..=reach).map(|step| all[(at + step) % all.len()].clone()).collect();
    let told = Neighbours { predecessor: None, successors, is_whole: reach == others };
    let core = if others == 0 {
        Core::alone(me.clone(), config.depth, Planted::Nothing)
    } else {
        Core::joined(me.clone(), config.depth, before, &told, config.planted)
    };
    let edge = core.successors().last().map_or(me.id, |last| last.id);
    let reach = me.id.distance_to(edge);
    let bits = (0..=255u8)
        .rev()
        .map(|bit| (bit, me.id.plus_power(bit)))
        .take_while(|(_, place)| me.id.distance_to(*place) > reach);
    let fingers = if core.is_whole() {
        Vec::new()
    } else {
        bits.map(|(bit, place)| (bit, first_at_or_after(place).clone())).collect()
    };
    (core, fingers.into_iter().filter(|(_, finger)| finger.id != me.id).collect())
}
