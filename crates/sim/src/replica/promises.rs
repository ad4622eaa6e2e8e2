//! What must be so when faults have stopped and there was time to settle: one function for each promise.

use super::record::{Fate, Harm};
use super::storm::{LIE_FOUND, REPAIR};
use super::world::{HOUR, MINUTE, World};
use std::collections::BTreeSet;

/// Within this a write that was acknowledged lies on all its machines, if nobody harms them further: the longest cut, and a repair.
const SPREAD: u64 = 90 * MINUTE + REPAIR;
/// Within this damage is found and mended: a scrub and a repair.
const ROT: u64 = 6 * HOUR + REPAIR;

impl World {
    /// Nothing acknowledged is lost, if harm stayed within what is promised. What was lost beyond that is counted, and said why.
    pub(super) fn check_nothing_lost(&mut self, is_wild: bool) -> usize {
        let mut lost = 0;
        for (entry, fate) in self.record.fates.clone().into_iter().enumerate() {
            if fate.acked.is_none() || fate.good > 0 {
                continue;
            }
            lost += 1;
            let harms = self.record.harms.get(&entry).cloned().unwrap_or_default();
            let why = if is_wild { self.excuse_wild(&fate, &harms) } else { self.excuse(&fate, &harms) };
            let Fate { acked, acked_on, spread, lost, .. } = fate;
            let sentence = format!(
                "entry {entry} is lost since {lost:?}: acknowledged at {acked:?} on {acked_on} machines, on all its machines since {spread:?}, {harms:?}"
            );
            match why {
                Some(why) => self.record.excused.push(format!("{why}: {sentence}")),
                None => self.record.say(|| sentence),
            }
        }
        lost
    }

    /// However wild it was: what once lay on all its machines is lost only when as many copies were destroyed, or are with those who lie.
    fn excuse_wild(&self, fate: &Fate, harms: &[(u64, Harm)]) -> Option<&'static str> {
        let liars = self.machines.iter().filter(|m| m.is_liar).count();
        let is_harmed = fate.spread.is_none() || harms.len() + liars >= self.setting.custody.copies;
        is_harmed.then_some("wild")
    }

    /// Why the loss of an entry is more than what is promised against, if it is.
    fn excuse(&self, fate: &Fate, harms: &[(u64, Harm)]) -> Option<&'static str> {
        let (lost, acked) = (fate.lost?, fate.acked?);
        // What was handed to a liar by one who is to hold it too is not passed on before the liar is found.
        let lie = |harm: Harm| if harm == Harm::Lie { LIE_FOUND } else { 0 };
        let within = |time: u64| {
            let recent = harms.iter().filter(move |(at, harm)| *at <= lost && at + time + lie(*harm) >= lost);
            recent.map(|(_, harm)| *harm)
        };
        // After the deaths of all who took it, as many as a write asks for or fewer where its owner saw nobody else, before it could be copied.
        let is_fresh = fate.spread.is_none() && lost < acked + SPREAD + within(REPAIR).map(lie).max().unwrap_or(0);
        if is_fresh && within(REPAIR).count() >= usize::from(fate.acked_on) {
            return Some("before it was copied");
        }
        // Rot comes on top of what machines suffer, and is there until the disk was read through.
        if within(ROT).any(|harm| harm == Harm::Rot) && within(ROT).count() >= self.setting.custody.copies {
            return Some("with rot");
        }
        None
    }

    /// Everything lies on as many honest machines as there are to be copies, whoever owns it and lies.
    pub(super) fn check_beside_liars(&mut self) {
        for entry in 0..self.table.len() {
            let place = self.table.place(entry);
            let Some(any) = self.members.values().next().copied() else { return };
            let owner = self.from(any, place).next();
            let honest = self.from(any, place).filter(|machine| !self.machines[*machine].is_liar);
            let should: Vec<usize> = honest.take(self.setting.custody.copies).collect();
            if self.record.fates[entry].good == 0 {
                continue;
            }
            for machine in should {
                let m = &self.machines[machine];
                if !m.has.has(entry) || m.bad.has(entry) {
                    let is_bad = m.bad.has(entry);
                    self.record.say(|| {
                        format!(
                            "entry {entry} of machine {owner:?} is not on machine {machine} beside the liars (damaged: {is_bad})"
                        )
                    });
                }
            }
        }
    }

    /// Everything lies on the owner and those who follow it, as many as there are to be copies, whole; nowhere else; and they know it.
    pub(super) fn check_settled(&mut self) {
        let copies = self.setting.custody.copies;
        let relics = self.relics();
        for entry in 0..self.table.len() {
            let place = self.table.place(entry);
            let Some(any) = self.members.values().next().copied() else { return };
            let should: Vec<usize> = self.from(any, place).take(copies).collect();
            let has = |machine: &usize| self.machines[*machine].has.has(entry);
            let holders: Vec<usize> = self.members.values().copied().filter(has).collect();
            // What is lost cannot be brought anywhere.
            if holders.is_empty() || self.record.fates[entry].good == 0 {
                continue;
            }
            for machine in holders.iter().filter(|machine| !should.contains(machine)) {
                // A damaged stray that nobody can mend is confirmed by nobody, and keeps what goes home with it.
                if !relics.contains(&(*machine, should[0])) {
                    self.record.say(|| format!("entry {entry} is a stray on machine {machine}"));
                }
            }
            for machine in &should {
                if !holders.contains(machine) {
                    self.record.say(|| format!("entry {entry} is missing on machine {machine}"));
                } else if self.machines[*machine].bad.has(entry) {
                    self.record.say(|| format!("entry {entry} is damaged on machine {machine}"));
                }
                if !self.machines[*machine].custodian.is_here(place) {
                    self.record.say(|| format!("machine {machine} does not answer for entry {entry}"));
                }
            }
            let owner = should.first().and_then(|owner| self.machines[*owner].custodian.holders_of(place));
            let counting = owner.map_or(0, |told| told.holders.iter().filter(|holder| holder.counts).count());
            if counting != should.len() {
                self.record.say(|| format!("{counting} machines count for entry {entry}, not {}", should.len()));
            }
        }
        for machine in self.members.clone().into_values() {
            let has_relic = relics.iter().any(|(holder, _)| *holder == machine);
            if !self.machines[machine].custodian.is_settled() && !has_relic {
                self.record.say(|| format!("machine {machine} has not settled"));
            }
        }
        // Damage that no fault did.
        for (_, machine) in self.members.clone() {
            for entry in self.machines[machine].bad.all().collect::<Vec<_>>() {
                if !self.record.rotten.contains(&(machine, entry)) {
                    self.record.say(|| format!("entry {entry} on machine {machine} is wrong, and nothing harmed it"));
                }
            }
        }
    }

    /// Machines with a damaged copy of something that is lost and not theirs to hold, and whose it is.
    fn relics(&self) -> BTreeSet<(usize, usize)> {
        let mut relics = BTreeSet::new();
        for machine in self.members.values() {
            let lost = self.machines[*machine].bad.all().filter(|entry| self.record.fates[*entry].good == 0);
            for entry in lost {
                let should: Vec<usize> =
                    self.from(*machine, self.table.place(entry)).take(self.setting.custody.copies).collect();
                if let Some(owner) = should.first().filter(|_| !should.contains(machine)) {
                    relics.insert((*machine, *owner));
                }
            }
        }
        relics
    }
}
