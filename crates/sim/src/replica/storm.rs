//! A storm: some days in which machines crash and come back at once, late, or with an empty disk; go for good; are cut off from each other; have bits flip, a
//! full disk, a slow line; lie, accuse others of it; and join. Then faults stop, and after [`SETTLE`] every promise must hold.
//!
//! Liars that are there when faults stop stay for a while: everything must then lie on as many others as it should. After that they go, and all is as if they had
//! never been there.
//!
//! In three storms of four, harm stays within what is promised: never are as many machines as there are copies down, or emptied, or lying at once, nor were
//! within the repair time ([`REPAIR`]). The fourth is *wild*: there, losses are counted; everything else must hold all the same.

use super::shelf::Table;
use super::world::{Event, HOUR, MINUTE, Machine, SECOND, Setting, State, World};
use crate::chance::{Chance, mix};
use herodotus_replica::custody::{Config, Planted};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is destroyed is made good within this, if its holders are there.
pub(super) const REPAIR: u64 = 3 * HOUR;
/// From the end of all faults until everything lies as it should: probation, a scrub of everything, and surveys.
const SETTLE: u64 = 14 * HOUR;
/// A liar is gone after this at the latest.
const LIE_MAX: u64 = 5 * HOUR;
/// One that owns something is found after this at the latest, and what it was handed lies elsewhere: the longest cut, a survey, and five failures.
pub(super) const LIE_FOUND: u64 = 90 * MINUTE + 2 * HOUR;
/// Faults in a storm at least.
const FAULTS_MIN: usize = 100;
const FAULTS_MORE: usize = 40;

/// Notes for the one who drives.
const HARM: u32 = 0;
const HEAL: u32 = 1;
/// Of one machine: what was wrong with it is over.
const MACHINE: u32 = 100;

/// One storm, by its seed.
#[derive(Clone, Debug)]
pub struct Storm {
    seed: u64,
    planted: Option<Planted>,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct StormEnd {
    /// What was promised and is not so.
    pub wrong: Vec<String>,
    pub is_wild: bool,
    pub copies: usize,
    /// Up at the end.
    pub machines: usize,
    pub faults: usize,
    pub written: usize,
    pub acknowledged: usize,
    /// Acknowledged and lost, with more harm than what is promised against.
    pub lost: usize,
    /// What each of those suffered.
    pub excused: Vec<String>,
    /// Custodians that wanted to be woken in the past.
    pub past_wakes: u64,
    pub events: u64,
    pub tally: BTreeMap<&'static str, u64>,
    /// The same for the same seed.
    pub trace: u64,
}

struct Driver {
    world: World,
    is_wild: bool,
    faults: usize,
    /// Until when a machine that was harmed is to be thought of as harmed.
    harmed: Vec<u64>,
}

impl Storm {
    pub fn new(seed: u64) -> Self {
        Self { seed, planted: None }
    }

    pub fn plant(self, bug: Planted) -> Self {
        Self { planted: Some(bug), ..self }
    }

    fn custody(&self, chance: &mut Chance) -> Config {
        Config {
            copies: chance.between(3, 6),
            grace: Duration::from_secs(15 * 60),
            compare_every: Duration::from_secs(60 * 60),
            audit_every: Duration::from_secs(2 * 60 * 60),
            retry_after: Duration::from_secs(5 * 60),
            survey_every: Duration::from_secs(60 * 60),
            probation: Duration::from_secs(4 * 60 * 60),
            orders_max: 4,
            planted: self.planted,
        }
    }

    pub fn run(&self) -> StormEnd {
        let mut chance = Chance::new(mix(self.seed ^ 0x0063_6f70_6965_7321));
        let custody = self.custody(&mut chance);
        let machines = chance.between(8, 30);
        let entries = chance.between(200, 400);
        let table = Table::draw(&mut chance, entries, 1_000..4_000_000);
        let setting = Setting {
            seed: self.seed,
            depth: custody.copies + 5,
            custody,
            durable_on: 2,
            rate: 1_000_000,
            served_max: 8,
            parts: None,
            scrub_every: Duration::from_secs(6 * 60 * 60),
            detect_within: Duration::from_secs(40),
            stirred_for: Duration::from_secs(5 * 60),
            astray: 0.02,
            is_checked: true,
        };
        let mut driver =
            Driver { world: World::new(setting, table), is_wild: self.seed % 4 == 3, faults: 0, harmed: Vec::new() };
        driver.populate(machines);
        driver.blow(chance.between(FAULTS_MIN, FAULTS_MIN + FAULTS_MORE));
        driver.settle();
        driver.end()
    }
}

impl Driver {
    /// A ring that has stood for long, and what will be written.
    fn populate(&mut self, machines: usize) {
        for _ in 0..machines {
            let machine = self.world.add();
            self.world.boot(machine);
        }
        let span = usize::try_from(40 * HOUR).unwrap_or(usize::MAX);
        for entry in 0..self.world.table.len() {
            // Half of it is there before anything goes wrong.
            let at = if entry % 2 == 0 { 30 * SECOND } else { self.world.chance.below(span) as u64 };
            self.world.at(at, Event::Write(entry));
        }
        for _ in 0..200 {
            let at = self.world.chance.below(2 * span) as u64;
            self.world.at(at, Event::Read);
        }
    }

    fn blow(&mut self, faults: usize) {
        // Time to settle first.
        let start = 6 * HOUR;
        let every = 20 * MINUTE;
        self.world.at(start, Event::Note(HARM));
        while let Some(note) = self.world.run_until(u64::MAX) {
            match note {
                HARM => {
                    self.faults += usize::from(self.harm());
                    if self.faults >= faults {
                        break;
                    }
                    let wait = self.world.chance.exponential(every as f64) as u64;
                    let next = self.world.now + wait.max(SECOND);
                    self.world.at(next, Event::Note(HARM));
                }
                note => self.heal(note),
            }
        }
    }

    fn heal(&mut self, note: u32) {
        if note == HEAL {
            self.part(false);
        } else if let Some(machine) = note.checked_sub(MACHINE) {
            let m = &mut self.world.machines[machine as usize];
            (m.is_full, m.slowness, m.is_false_witness) = (false, 1, false);
            if m.is_liar && m.state != State::Gone {
                self.world.stop(machine as usize, true);
            }
        }
    }

    fn up(&self) -> Vec<usize> {
        self.world.members.values().copied().collect()
    }

    fn any(&mut self) -> Option<usize> {
        let up = self.up();
        self.world.chance.pick(&up).copied()
    }

    /// Whether one more machine may be harmed until then and for the time of repair.
    fn may_harm(&mut self, until: u64) -> bool {
        let now = self.world.now;
        self.harmed.retain(|at| *at > now);
        let enough = self.world.members.len() > self.world.setting.custody.copies + 1;
        if !enough || !self.is_wild && self.harmed.len() + 1 >= self.world.setting.custody.copies {
            return false;
        }
        self.harmed.push(until + REPAIR);
        true
    }

    /// Does something bad. Whether it could be done.
    fn harm(&mut self) -> bool {
        let Some(machine) = self.any() else { return false };
        let now = self.world.now;
        match self.world.chance.below(21) {
            0..=3 => self.crash(machine, 10 * SECOND, 14 * MINUTE),
            4 => self.crash(machine, 20 * MINUTE, 90 * MINUTE),
            5 => self.crash(machine, 6 * HOUR, 16 * HOUR),
            6 => self.wipe(machine),
            7..=8 => self.go(machine),
            9..=10 => self.join(false),
            11 => self.cut(),
            12..=14 => self.rot(machine),
            15 => {
                self.world.machines[machine].is_full = true;
                self.over(machine, 10 * MINUTE, 5 * HOUR)
            }
            16 => {
                self.world.machines[machine].slowness = 30;
                self.over(machine, 10 * MINUTE, 2 * HOUR)
            }
            17 => {
                let until = now + LIE_MAX;
                self.may_harm(until) && self.join(true)
            }
            18 => {
                self.world.machines[machine].is_false_witness = true;
                self.over(machine, HOUR, 5 * HOUR)
            }
            _ => self.suspect(machine),
        }
    }

    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.world.chance.below(usize::try_from(to - from).unwrap_or(1)) as u64
    }

    fn over(&mut self, machine: usize, from: u64, to: u64) -> bool {
        let after = self.between(from, to);
        let note = MACHINE + u32::try_from(machine).unwrap_or(0);
        self.world.at(self.world.now + after, Event::Note(note));
        true
    }

    fn crash(&mut self, machine: usize, from: u64, to: u64) -> bool {
        let back = self.world.now + self.between(from, to);
        if !self.may_harm(back) {
            return false;
        }
        self.world.stop(machine, false);
        self.world.at(back, Event::Back(machine));
        true
    }

    fn wipe(&mut self, machine: usize) -> bool {
        let back = self.world.now + self.between(10 * SECOND, 2 * HOUR);
        if !self.may_harm(back) {
            return false;
        }
        self.world.destroy(machine);
        self.world.stop(machine, false);
        self.world.at(back, Event::Back(machine));
        true
    }

    fn go(&mut self, machine: usize) -> bool {
        if !self.may_harm(self.world.now) {
            return false;
        }
        self.world.destroy(machine);
        self.world.stop(machine, true);
        true
    }

    fn join(&mut self, is_liar: bool) -> bool {
        if self.world.members.len() >= 40 {
            return false;
        }
        let machine = self.world.add();
        self.world.machines[machine].is_liar = is_liar;
        self.world.boot(machine);
        if is_liar {
            self.over(machine, HOUR, LIE_MAX);
        }
        true
    }

    fn part(&mut self, is_parted: bool) {
        self.world.is_parted = is_parted;
        for machine in self.up() {
            self.world.look_soon(machine, Vec::new());
        }
    }

    fn cut(&mut self) -> bool {
        if self.world.is_parted {
            return false;
        }
        let share = 0.1 + self.world.chance.unit() * 0.4;
        for machine in 0..self.world.machines.len() {
            self.world.machines[machine].side = u8::from(self.world.chance.happens(share));
        }
        self.part(true);
        let after = self.between(2 * MINUTE, 90 * MINUTE);
        self.world.at(self.world.now + after, Event::Note(HEAL));
        true
    }

    fn rot(&mut self, machine: usize) -> bool {
        let held: Vec<usize> = self.world.machines[machine].has.all().collect();
        let mut is_done = false;
        for _ in 0..self.world.chance.between(1, 6) {
            if let Some(entry) = self.world.chance.pick(&held).copied() {
                is_done |= self.world.rot(machine, entry);
            }
        }
        is_done
    }

    /// A machine believes for a while that some of its neighbours are dead.
    fn suspect(&mut self, machine: usize) -> bool {
        let line = self.world.machines[machine].line.clone();
        let suspects: Vec<usize> = line.into_iter().filter(|_| self.world.chance.happens(0.4)).collect();
        let is_done = !suspects.is_empty();
        self.world.look_soon(machine, suspects);
        is_done
    }

    /// Faults stop: everybody who may comes back, and they have their time.
    fn settle(&mut self) {
        self.part(false);
        for machine in 0..self.world.machines.len() {
            let m = &mut self.world.machines[machine];
            (m.is_full, m.slowness, m.is_false_witness) = (false, 1, false);
            if m.state == State::Down {
                let back = self.world.now + self.between(SECOND, MINUTE);
                self.world.at(back, Event::Back(machine));
            }
        }
        // One more of them at the last moment, if that is within what is promised against: few storms would end with one by chance.
        if self.may_harm(self.world.now + LIE_MAX) {
            self.join(true);
        }
        let machines = self.world.machines.iter().enumerate();
        let is_there = |(machine, m): (usize, &Machine)| (m.is_liar && m.state != State::Gone).then_some(machine);
        let liars: Vec<usize> = machines.filter_map(is_there).collect();
        if !liars.is_empty() {
            self.rest();
            self.world.check_beside_liars();
            liars.into_iter().for_each(|machine| self.world.stop(machine, true));
        }
        self.rest();
    }

    /// Nothing happens to anybody for a while. Liars whose time is over stay.
    fn rest(&mut self) {
        let end = self.world.now + SETTLE;
        while self.world.run_until(end).is_some() {}
    }

    fn end(mut self) -> StormEnd {
        let lost = self.world.check_nothing_lost(self.is_wild);
        self.world.check_settled();
        let world = self.world;
        let fates = &world.record.fates;
        StormEnd {
            is_wild: self.is_wild,
            copies: world.setting.custody.copies,
            machines: world.members.len(),
            faults: self.faults,
            written: fates.iter().filter(|fate| fate.written.is_some()).count(),
            acknowledged: fates.iter().filter(|fate| fate.acked.is_some()).count(),
            lost,
            past_wakes: world.record.past_wakes,
            events: world.events,
            trace: world.trace(),
            tally: world.record.tally,
            excused: world.record.excused,
            wrong: world.record.wrong,
        }
    }
}
