//! Machines that each run a custodian, on one virtual time: who is up, who sees whom, what each has on its disk. One event at a time, in the order of time and
//! then of making; every event goes into a hash that two runs of one seed share.
//!
//! The ring is ideal, but machines learn of its changes each in its own time, so that for a while an arc has two owners, or none, and the
//! dead are counted on. What is said and moved is in [`super::errands`]; harm is done in [`super::storm`].

use super::errands::Job;
use super::record::Record;
use super::shelf::{Shelf, Table};
use crate::chance::{Chance, mix};
use herodotus_base::{Id, PeerKey};
use herodotus_replica::custody::{Config, Custodian, Planted, Uptimes};
use herodotus_ring::Contact;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(super) const SECOND: u64 = 1_000_000;
pub(super) const MINUTE: u64 = 60 * SECOND;
pub(super) const HOUR: u64 = 60 * MINUTE;

/// How often a machine is told how long its neighbours have been up.
pub(super) const UPTIMES_EVERY: u64 = 10 * MINUTE;
/// A custodian that asks for a moment that has passed is woken after this all the same: a world must not stand still.
const WAKE_LATE: u64 = SECOND / 10;

/// What a world is like, apart from what happens to it.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) seed: u64,
    pub(super) custody: Config,
    /// Machines in a successor list.
    pub(super) depth: usize,
    /// Machines on which a write must be durable before it is acknowledged.
    pub(super) durable_on: usize,
    /// Bytes in a second that a machine sends, and as many that it receives.
    pub(super) rate: u64,
    /// Comparisons that a machine answers at once; others wait.
    pub(super) served_max: usize,
    /// An entry stands for many captures, so that what came of it stays when the rest does not; moved in one go is what takes so long.
    pub(super) parts: Option<Duration>,
    /// Everything a machine has is read through in this time.
    pub(super) scrub_every: Duration,
    /// Neighbours learn of a change within this, most of them; one in twenty takes up to ten times as long.
    pub(super) detect_within: Duration,
    /// What comes in within this is looked at together.
    pub(super) stirred_for: Duration,
    /// Share of lookups that end beside the owner.
    pub(super) astray: f64,
    /// Whether promises are looked after as it runs.
    pub(super) is_checked: bool,
}

/// A machine in one of its lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Who {
    pub(super) machine: usize,
    pub(super) life: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Up,
    /// Comes back, with its disk.
    Down,
    /// Never comes back.
    Gone,
}

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) contact: Contact,
    pub(super) state: State,
    pub(super) life: u32,
    pub(super) custodian: Custodian,
    pub(super) has: Shelf,
    /// Of what it has, what is not what was written.
    pub(super) bad: Shelf,
    /// What it took in itself and has not handed on: a note on its disk.
    pub(super) unhanded: BTreeSet<usize>,
    /// Damage that it knows of and is mending.
    pub(super) mending: BTreeSet<usize>,
    /// Of entries that came in part, how many bytes.
    pub(super) parts: BTreeMap<usize, u64>,
    pub(super) line: Vec<usize>,
    /// How long others are up, as it saw them.
    uptimes: Uptimes,
    told_uptimes_at: u64,
    /// What it has compared well in this life, and with whom, as seen from outside.
    pub(super) filled: BTreeMap<usize, Vec<(Id, Id)>>,
    /// Who failed its last audit; whether or not it was out of sight since.
    pub(super) failed: BTreeSet<usize>,
    /// Who failed its last audit, and was in sight since.
    pub(super) distrusted: BTreeSet<usize>,
    /// Who confirmed the piece that is on its way home, and when, as seen from outside.
    pub(super) confirmed: Vec<(usize, u64)>,
    /// When its disk was last destroyed.
    pub(super) destroyed_at: Option<u64>,
    wake: Option<u64>,
    /// During a partition, on which side.
    pub(super) side: u8,
    is_stirred: bool,
    pub(super) is_full: bool,
    pub(super) is_liar: bool,
    /// Says of every owner that it failed.
    pub(super) is_false_witness: bool,
    /// Owners that it distrusts.
    pub(super) disbelieves: BTreeSet<usize>,
    /// When somebody first distrusted it as the owner of what it entrusted to him.
    pub(super) found_at: Option<u64>,
    /// So many times slower than others.
    pub(super) slowness: u64,
    pub(super) sending: u64,
    pub(super) receiving: u64,
    pub(super) serving: usize,
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
    scrubbed: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Event {
    Wake(Who),
    /// It learns how its neighbourhood is; of these it believes that they are dead.
    Look(Who, Vec<usize>),
    Step(usize),
    /// Something came in a while ago.
    Stir(Who),
    Scrub(Who),
    Write(usize),
    Read,
    Back(usize),
    /// For whoever drives the world.
    Note(u32),
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) setting: Setting,
    pub(super) now: u64,
    pub(super) queue: BTreeMap<(u64, u64), Event>,
    made: u64,
    pub(super) chance: Chance,
    pub(super) table: Table,
    pub(super) machines: Vec<Machine>,
    pub(super) by_key: BTreeMap<PeerKey, usize>,
    /// Those who are up, by place.
    pub(super) members: BTreeMap<Id, usize>,
    pub(super) is_parted: bool,
    pub(super) jobs: Vec<Option<Job>>,
    pub(super) free: Vec<usize>,
    /// Writes of an owner's own: how many must still take them, and how many may.
    pub(super) writes: BTreeMap<(usize, usize), (usize, usize)>,
    pub(super) record: Record,
    pub(super) events: u64,
    trace: u64,
}

impl World {
    pub(super) fn new(setting: Setting, table: Table) -> Self {
        let record = Record::new(table.len());
        Self {
            now: 0,
            queue: BTreeMap::new(),
            made: 0,
            chance: Chance::new(mix(setting.seed)),
            trace: setting.seed,
            setting,
            table,
            machines: Vec::new(),
            by_key: BTreeMap::new(),
            members: BTreeMap::new(),
            is_parted: false,
            jobs: Vec::new(),
            free: Vec::new(),
            writes: BTreeMap::new(),
            record,
            events: 0,
        }
    }

    pub(super) fn at(&mut self, when: u64, event: Event) {
        self.made += 1;
        self.queue.insert((when.max(self.now), self.made), event);
    }

    pub(super) fn clock(&self) -> Duration {
        Duration::from_micros(self.now)
    }

    pub(super) fn trace(&self) -> u64 {
        self.trace
    }

    /// Lets everything happen up to a moment, or up to the next note for whoever drives.
    pub(super) fn run_until(&mut self, end: u64) -> Option<u32> {
        while let Some(entry) = self.queue.first_entry() {
            if entry.key().0 > end {
                break;
            }
            let ((now, made), event) = entry.remove_entry();
            self.now = now;
            self.events += 1;
            self.trace = mix(self.trace ^ mix(now) ^ made);
            if let Some(note) = self.happen(event) {
                return Some(note);
            }
        }
        self.now = self.now.max(end);
        None
    }

    fn happen(&mut self, event: Event) -> Option<u32> {
        match event {
            Event::Wake(who) => {
                // Only the moment that was asked for last: earlier wishes are still in the queue.
                if self.is_alive(who) && self.machines[who.machine].wake == Some(self.now) {
                    self.machines[who.machine].wake = None;
                    self.tell_uptimes(who.machine);
                    let now = self.clock();
                    self.machines[who.machine].custodian.handle_timeout(now);
                    self.pump(who.machine);
                    // Checker: who is woken does what it wanted to be woken for.
                    let due = self.machines[who.machine].custodian.poll_timeout();
                    self.record.past_wakes += u64::from(due.is_some_and(|due| due <= now));
                }
            }
            Event::Stir(who) => {
                if self.is_alive(who) {
                    self.machines[who.machine].is_stirred = false;
                    self.machines[who.machine].custodian.stray_came(Duration::from_micros(self.now));
                    self.pump(who.machine);
                }
            }
            Event::Look(who, suspects) => {
                if self.is_alive(who) {
                    self.look(who.machine, &suspects);
                }
            }
            Event::Step(job) => self.step(job),
            Event::Scrub(who) => self.scrub(who),
            Event::Write(entry) => self.write(entry),
            Event::Read => self.read(),
            Event::Back(machine) => self.boot(machine),
            Event::Note(note) => return Some(note),
        }
        None
    }

    pub(super) fn who(&self, machine: usize) -> Who {
        Who { machine, life: self.machines[machine].life }
    }

    pub(super) fn is_up(&self, machine: usize) -> bool {
        self.machines[machine].state == State::Up
    }

    /// Up, and in the life that was meant.
    pub(super) fn is_alive(&self, who: Who) -> bool {
        self.is_up(who.machine) && self.machines[who.machine].life == who.life
    }

    pub(super) fn reach(&self, one: usize, other: usize) -> bool {
        let sides = (self.machines[one].side, self.machines[other].side);
        self.is_up(one) && self.is_up(other) && (!self.is_parted || sides.0 == sides.1)
    }

    /// Members from a place on, clockwise, that a machine can see.
    pub(super) fn from(&self, seer: usize, place: Id) -> impl Iterator<Item = usize> + '_ {
        let round = self.members.range(place..).chain(self.members.range(..place));
        let side = self.machines[seer].side;
        round
            .map(|(_, machine)| *machine)
            .filter(move |machine| !self.is_parted || self.machines[*machine].side == side)
    }

    /// Other members before a place, going back, that a machine can see.
    pub(super) fn back_from(&self, seer: usize, place: Id) -> impl Iterator<Item = usize> + '_ {
        let round = self.members.range(..place).rev().chain(self.members.range(place..).rev());
        let side = self.machines[seer].side;
        let sees = move |other: &usize| *other != seer && (!self.is_parted || self.machines[*other].side == side);
        round.map(|(_, machine)| *machine).filter(sees)
    }

    /// Whose a place is, as a lookup finds it: now and then a neighbour's.
    pub(super) fn owner_of(&mut self, asker: usize, place: Id) -> Option<usize> {
        let skip = usize::from(self.chance.happens(self.setting.astray));
        let mut round = self.from(asker, place);
        let owner = round.next();
        if skip > 0 { round.next().or(owner) } else { owner }
    }

    /// A machine that was never there, with an empty disk.
    pub(super) fn add(&mut self) -> usize {
        let machine = self.machines.len();
        let key = PeerKey(self.chance.bytes32());
        self.by_key.insert(key, machine);
        self.machines.push(Machine {
            contact: Contact::of_key(key, 0, Vec::new()),
            state: State::Down,
            life: 0,
            custodian: Custodian::new(key, self.setting.custody.clone()),
            has: Shelf::new(self.table.len()),
            bad: Shelf::new(self.table.len()),
            unhanded: BTreeSet::new(),
            mending: BTreeSet::new(),
            parts: BTreeMap::new(),
            line: Vec::new(),
            uptimes: Uptimes::new(self.setting.custody.grace),
            told_uptimes_at: 0,
            filled: BTreeMap::new(),
            failed: BTreeSet::new(),
            distrusted: BTreeSet::new(),
            confirmed: Vec::new(),
            destroyed_at: None,
            wake: None,
            side: 0,
            is_stirred: false,
            is_full: false,
            is_liar: false,
            is_false_witness: false,
            disbelieves: BTreeSet::new(),
            found_at: None,
            slowness: 1,
            sending: 0,
            receiving: 0,
            serving: 0,
            bytes_sent: 0,
            bytes_received: 0,
            scrubbed: 0,
        });
        machine
    }

    /// A machine starts, with what is on its disk and nothing else.
    pub(super) fn boot(&mut self, machine: usize) {
        if self.machines[machine].state != State::Down {
            return;
        }
        let config = self.setting.custody.clone();
        let m = &mut self.machines[machine];
        m.state = State::Up;
        m.life += 1;
        m.custodian = Custodian::new(m.contact.key, config);
        m.custodian.stray_came(Duration::from_micros(self.now));
        (m.line, m.uptimes, m.wake) = (Vec::new(), Uptimes::new(self.setting.custody.grace), None);
        (m.sending, m.receiving, m.serving, m.is_stirred) = (0, 0, 0, false);
        m.mending.clear();
        m.filled.clear();
        m.distrusted.clear();
        m.failed.clear();
        m.confirmed.clear();
        m.disbelieves.clear();
        self.members.insert(m.contact.id, machine);
        self.writes.retain(|(writer, _), _| *writer != machine);
        let who = self.who(machine);
        let unhanded: Vec<usize> = self.machines[machine].unhanded.iter().copied().collect();
        unhanded.into_iter().for_each(|entry| self.hand_on(who, entry));
        self.at(self.now + SECOND, Event::Look(who, Vec::new()));
        let pause = self.scrub_pause();
        let first = self.chance.below(usize::try_from(pause).unwrap_or(1)) as u64;
        self.at(self.now + first, Event::Scrub(who));
        self.stir_around(machine);
    }

    /// A machine is no longer there, from one moment to the next.
    pub(super) fn stop(&mut self, machine: usize, is_for_good: bool) {
        let m = &mut self.machines[machine];
        if m.state == State::Up {
            self.members.remove(&m.contact.id);
        }
        m.state = if is_for_good { State::Gone } else { State::Down };
        m.life += 1;
        if is_for_good {
            // Months of churn leave many of them.
            (m.has, m.bad, m.custodian) =
                (Shelf::default(), Shelf::default(), Custodian::new(m.contact.key, Config::default()));
            m.parts.clear();
        }
        self.stir_around(machine);
    }

    /// Those whose neighbourhood a machine is part of will learn of it.
    pub(super) fn stir_around(&mut self, machine: usize) {
        let here = self.machines[machine].contact.id;
        let after = self.from(machine, here).find(|other| *other != machine);
        let before = self.back_from(machine, here).take(self.setting.depth + 1);
        let near: BTreeSet<usize> = after.into_iter().chain(before).collect();
        near.into_iter().for_each(|other| self.look_soon(other, Vec::new()));
    }

    /// It learns how its neighbourhood is, in its time.
    pub(super) fn look_soon(&mut self, machine: usize, suspects: Vec<usize>) {
        let within = u64::try_from(self.setting.detect_within.as_micros()).unwrap_or(u64::MAX);
        let within = if self.chance.happens(0.05) { within.saturating_mul(10) } else { within };
        let after = within / 10 + self.chance.below(usize::try_from(within).unwrap_or(usize::MAX)) as u64;
        let who = self.who(machine);
        self.at(self.now + after, Event::Look(who, suspects));
    }

    /// The custodian is told what the ring says.
    fn look(&mut self, machine: usize, suspects: &[usize]) {
        let here = self.machines[machine].contact.id;
        let sees = |other: &usize| *other != machine && !suspects.contains(other);
        let before = self.back_from(machine, here).find(sees).map_or(here, |other| self.machines[other].contact.id);
        let line: Vec<usize> = self.from(machine, here).filter(sees).take(self.setting.depth).collect();
        let contacts: Vec<Contact> = line.iter().map(|other| self.machines[*other].contact.clone()).collect();
        let is_dead = |other: &usize| !self.reach(machine, *other) || suspects.contains(other);
        let dead: Vec<usize> = self.machines[machine].line.iter().copied().filter(is_dead).collect();
        let dead_keys: Vec<PeerKey> = dead.iter().map(|other| self.machines[*other].contact.key).collect();
        let now = self.clock();
        let m = &mut self.machines[machine];
        for (other, key) in dead.iter().zip(dead_keys) {
            m.custodian.peer_dead(now, key);
            m.uptimes.lose(now, key);
            m.filled.remove(other);
        }
        let contact = m.contact.clone();
        m.custodian.set_arc(now, &contact, (before, here));
        m.custodian.set_line(now, here, &contacts);
        contacts.iter().for_each(|contact| m.uptimes.see(now, contact.key));
        // Who leaves the line is forgotten, the bad with the good.
        m.distrusted.retain(|other| line.contains(other));
        m.line = line;
        m.told_uptimes_at = 0;
        self.tell_uptimes(machine);
        let now = self.clock();
        self.machines[machine].custodian.handle_timeout(now);
        self.pump(machine);
        if !suspects.is_empty() {
            self.look_soon(machine, Vec::new());
        }
    }

    pub(super) fn uptime(&self, seer: usize, other: usize) -> Duration {
        self.machines[seer].uptimes.of(self.clock(), self.machines[other].contact.key)
    }

    pub(super) fn tell_uptimes(&mut self, machine: usize) {
        if self.now < self.machines[machine].told_uptimes_at + UPTIMES_EVERY {
            return;
        }
        let line = std::mem::take(&mut self.machines[machine].line);
        for other in &line {
            let (key, uptime) = (self.machines[*other].contact.key, self.uptime(machine, *other));
            self.machines[machine].custodian.seen_up(key, uptime);
        }
        self.machines[machine].line = line;
        self.machines[machine].told_uptimes_at = self.now;
    }

    /// Something came in. The custodian is told after a moment, together with what comes in until then: each time it looks through all it has.
    pub(super) fn stir(&mut self, machine: usize) {
        if !std::mem::replace(&mut self.machines[machine].is_stirred, true) {
            let who = self.who(machine);
            let after = u64::try_from(self.setting.stirred_for.as_micros()).unwrap_or(u64::MAX);
            self.at(self.now + after, Event::Stir(who));
        }
    }

    /// Takes the custodian's orders, and sees when it wants to be woken.
    pub(super) fn pump(&mut self, machine: usize) {
        while let Some(order) = self.machines[machine].custodian.poll_order() {
            self.take_order(machine, order);
        }
        let Some(due) = self.machines[machine].custodian.poll_timeout() else { return };
        let mut due = u64::try_from(due.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
        due = due.max(self.now + WAKE_LATE);
        if self.machines[machine].wake.is_none_or(|wake| due < wake || wake <= self.now) {
            self.machines[machine].wake = Some(due);
            let who = self.who(machine);
            self.at(due, Event::Wake(who));
        }
    }

    /// Somebody takes something in, at any machine that has room.
    fn write(&mut self, entry: usize) {
        let takes = |machine: &usize| !self.machines[*machine].is_full && !self.machines[*machine].is_liar;
        let open: Vec<usize> = self.members.values().copied().filter(takes).collect();
        let Some(machine) = self.chance.pick(&open).copied() else { return };
        let who = self.who(machine);
        self.record.fates[entry].written = Some(self.now);
        self.keep(machine, entry, false);
        self.machines[machine].unhanded.insert(entry);
        self.stir(machine);
        self.hand_on(who, entry);
    }

    /// Somebody wants to see something, at any machine: from whoever holds it, checked.
    fn read(&mut self) {
        let readers: Vec<usize> = self.members.values().copied().collect();
        let (entry, reader) = (self.chance.below(self.table.len()), self.chance.pick(&readers).copied());
        let Some(reader) = reader.filter(|_| self.record.fates[entry].acked.is_some()) else { return };
        let Some((_, told)) = self.ask_holders(reader, self.table.place(entry)) else {
            return self.record.count("read without an owner");
        };
        for holder in told.holders {
            let Some(other) = self.by_key.get(&holder.contact.key).copied() else { continue };
            let m = &self.machines[other];
            if !self.reach(reader, other) || !m.has.has(entry) && !m.is_liar {
                continue;
            }
            let is_wrong = m.is_liar || m.bad.has(entry);
            if !is_wrong {
                return self.record.count("read");
            }
            // Checker: no wrong byte is ever served.
            if self.has_planted(Planted::AcceptUnverified) {
                return self.record.say(|| format!("wrong bytes were served: entry {entry} of machine {other}"));
            }
            if !self.machines[other].is_liar {
                let who = self.who(other);
                self.mend(who, entry);
            }
        }
        self.record.count("not to be read at the moment");
    }

    fn scrub_pause(&self) -> u64 {
        u64::try_from(self.setting.scrub_every.as_micros()).unwrap_or(u64::MAX) / SCRUB_PARTS as u64
    }

    /// Reads a part of what is on the disk, and mends what is damaged.
    fn scrub(&mut self, who: Who) {
        if !self.is_alive(who) {
            return;
        }
        let len = self.table.len();
        let m = &mut self.machines[who.machine];
        let part = m.scrubbed;
        m.scrubbed = (part + 1) % SCRUB_PARTS;
        let range = len * part / SCRUB_PARTS..len * (part + 1) / SCRUB_PARTS;
        let damaged: Vec<usize> = m.bad.on(range).collect();
        damaged.into_iter().for_each(|entry| self.mend(who, entry));
        let pause = self.scrub_pause();
        self.at(self.now + pause, Event::Scrub(who));
    }
}

/// A scrub goes in so many steps.
const SCRUB_PARTS: usize = 16;
