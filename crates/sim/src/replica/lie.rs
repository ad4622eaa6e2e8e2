//! One owner whose disk dies and who says otherwise, in a ring that nothing else happens to, with the times of a real node: how long until it is found, until what it
//! owns lies on enough others, and until one of those who died was replaced.

use super::shelf::Table;
use super::world::{Event, HOUR, MINUTE, SECOND, Setting, World};
use crate::chance::{Chance, mix};
use herodotus_replica::custody::{Config, Planted};
use std::time::Duration;

/// Nobody waits longer for what is to be seen.
const WAIT_MAX: u64 = 6 * HOUR;
const MACHINES: usize = 24;
const ENTRIES: usize = 1_000;
/// Off probation, all of them.
const QUIET: u64 = 30 * HOUR;

#[derive(Clone, Debug)]
pub struct Lie {
    seed: u64,
    planted: Option<Planted>,
}

/// What became of it; each in its time from the lie's beginning, if it came to that.
#[derive(Clone, Debug)]
pub struct LieEnd {
    /// Entries that it owns and has no more.
    pub entries: usize,
    /// Somebody distrusts it.
    pub found: Option<Duration>,
    /// As many others as there are to be copies have everything it owns.
    pub copied: Option<Duration>,
    /// From the death of the first of them until they were as many again.
    pub replaced: Option<Duration>,
}

impl Lie {
    pub fn new(seed: u64) -> Self {
        Self { seed, planted: None }
    }

    pub fn plant(self, bug: Planted) -> Self {
        Self { planted: Some(bug), ..self }
    }

    pub fn run(&self) -> LieEnd {
        let mut chance = Chance::new(mix(self.seed ^ 0x006c_6965));
        let table = Table::draw(&mut chance, ENTRIES, 1_000..100_000);
        let custody = Config { planted: self.planted, ..Config::default() };
        let setting = Setting {
            seed: self.seed,
            depth: custody.copies + 10,
            custody,
            durable_on: 2,
            rate: 1_000_000,
            served_max: 8,
            parts: None,
            scrub_every: Duration::from_secs(30 * 24 * 60 * 60),
            detect_within: Duration::from_secs(10),
            stirred_for: Duration::from_secs(2),
            astray: 0.0,
            is_checked: true,
        };
        let mut world = World::new(setting, table);
        for _ in 0..MACHINES {
            let machine = world.add();
            world.boot(machine);
        }
        (0..ENTRIES).for_each(|entry| world.at(30 * SECOND, Event::Write(entry)));
        // Not at the same moment of everybody's hour.
        let moment = chance.below(usize::try_from(HOUR).unwrap_or(usize::MAX)) as u64;
        world.run_until(QUIET + moment);
        lie(&mut world)
    }
}

fn lie(world: &mut World) -> LieEnd {
    // The one who owns most: there is always something to be audited.
    let owned = |world: &World, machine: usize| -> Vec<usize> {
        let is_its = |entry: &usize| world.from(machine, world.table.place(*entry)).next() == Some(machine);
        (0..world.table.len()).filter(is_its).collect()
    };
    let Some(liar) = (0..MACHINES).max_by_key(|machine| owned(world, *machine).len()) else { unreachable!() };
    let entries = owned(world, liar);
    world.destroy(liar);
    world.machines[liar].is_liar = true;
    let begun = world.now;
    let found = until(world, |world| world.machines[liar].found_at.is_some());
    let is_whole = |world: &World| entries.iter().all(|entry| holders(world, *entry) >= world.setting.custody.copies);
    let copied = until(world, is_whole);
    let since = |world: &World| Duration::from_micros(world.now - begun);
    let copied = copied.map(|()| since(world)).filter(|_| found.is_some());
    let first = world.from(liar, world.machines[liar].contact.id).find(|machine| *machine != liar);
    let replaced = first.filter(|_| copied.is_some()).and_then(|first| {
        world.destroy(first);
        world.stop(first, true);
        let died = world.now;
        until(world, is_whole).map(|()| Duration::from_micros(world.now - died))
    });
    let found = world.machines[liar].found_at.map(|at| Duration::from_micros(at - begun));
    LieEnd { entries: entries.len(), found, copied, replaced }
}

fn holders(world: &World, entry: usize) -> usize {
    world.members.values().filter(|machine| world.machines[**machine].has.has(entry)).count()
}

/// Lets time pass until something is so.
fn until(world: &mut World, is_so: impl Fn(&World) -> bool) -> Option<()> {
    let end = world.now + WAIT_MAX;
    while !is_so(world) {
        if world.now >= end {
            return None;
        }
        world.run_until(world.now + MINUTE / 6);
    }
    Some(())
}
