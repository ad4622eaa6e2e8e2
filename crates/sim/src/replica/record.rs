//! What became of every entry, as only the world knows it: how many good copies there are, who harmed them, and what was promised of it. The checkers that hold at every moment
//! are fed here; what they find are sentences.

use super::world::{MINUTE, Machine, State, UPTIMES_EVERY, World};
use herodotus_base::Id;
use herodotus_replica::custody::{Holders, Planted};
use std::collections::{BTreeMap, BTreeSet};

/// Sentences kept of what is wrong; beyond, they are only counted.
const WRONG_MAX: usize = 20;

/// What is known of one entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fate {
    pub(super) written: Option<u64>,
    pub(super) acked: Option<u64>,
    /// Machines that had it then: fewer than a write asks for if the owner saw nobody else.
    pub(super) acked_on: u16,
    /// Since when it lay, for once, on as many machines as it should.
    pub(super) spread: Option<u64>,
    /// Good copies on disks that are not gone for good.
    pub(super) good: u16,
    /// Since when there is none, although it was acknowledged.
    pub(super) lost: Option<u64>,
}

/// What destroyed a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Harm {
    Disk,
    Rot,
    /// It was handed to one who keeps nothing and says otherwise, or let go because such a one confirmed it.
    Lie,
}

#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) fates: Vec<Fate>,
    /// What was done to each entry, if promises are looked after.
    pub(super) harms: BTreeMap<usize, Vec<(u64, Harm)>>,
    /// Damage that a fault did to a copy. Any other wrong byte is our own doing.
    pub(super) rotten: BTreeSet<(usize, usize)>,
    /// Entries that were let go because a liar confirmed them, and which one.
    relied: BTreeSet<(usize, usize)>,
    pub(super) wrong: Vec<String>,
    pub(super) wrong_count: u64,
    /// What was lost and not promised, and why not.
    pub(super) excused: Vec<String>,
    /// Custodians that asked to be woken at a moment that had passed.
    pub(super) past_wakes: u64,
    pub(super) tally: BTreeMap<&'static str, u64>,
}

impl Record {
    pub(super) fn new(len: usize) -> Self {
        Self { fates: vec![Fate::default(); len], ..Self::default() }
    }

    pub(super) fn say(&mut self, sentence: impl FnOnce() -> String) {
        self.wrong_count += 1;
        if self.wrong.len() < WRONG_MAX {
            let sentence = sentence();
            // The same may be seen again and again.
            if !self.wrong.contains(&sentence) {
                self.wrong.push(sentence);
            }
        }
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }
}

impl World {
    pub(super) fn has_planted(&self, planted: Planted) -> bool {
        self.setting.custody.planted == Some(planted)
    }

    /// Keeps bytes on a disk.
    pub(super) fn keep(&mut self, machine: usize, entry: usize, is_bad: bool) {
        let m = &mut self.machines[machine];
        let was_good = m.has.has(entry) && !m.bad.has(entry);
        m.has.put(entry);
        if is_bad {
            m.bad.put(entry);
        } else {
            m.bad.drop(entry);
        }
        self.record.rotten.remove(&(machine, entry));
        // Checker: no wrong byte is ever kept.
        if is_bad {
            self.record.say(|| format!("wrong bytes were kept: entry {entry} on machine {machine}"));
        }
        if was_good != is_bad {
            return;
        }
        let all = self.setting.custody.copies.min(self.members.len());
        let fate = &mut self.record.fates[entry];
        if is_bad {
            fate.good -= 1;
        } else {
            fate.good += 1;
            if usize::from(fate.good) >= all {
                fate.spread = fate.spread.or(Some(self.now));
            }
        }
    }

    /// A copy is no longer there. Whether it was a good one.
    pub(super) fn lose(&mut self, machine: usize, entry: usize) -> bool {
        let m = &mut self.machines[machine];
        let was_good = m.has.drop(entry) && !m.bad.has(entry);
        m.bad.drop(entry);
        m.unhanded.remove(&entry);
        self.record.rotten.remove(&(machine, entry));
        if was_good && m.state != State::Gone {
            self.record.fates[entry].good -= 1;
        }
        was_good
    }

    /// Everything on a disk is destroyed.
    pub(super) fn destroy(&mut self, machine: usize) {
        let all: Vec<usize> = self.machines[machine].has.all().collect();
        for entry in all {
            if self.lose(machine, entry) {
                self.harm(entry, Harm::Disk);
            }
        }
        let m = &mut self.machines[machine];
        m.unhanded.clear();
        m.destroyed_at = Some(self.now);
    }

    /// Bits flip in one copy. Whether there was one that was good.
    pub(super) fn rot(&mut self, machine: usize, entry: usize) -> bool {
        let m = &mut self.machines[machine];
        if !m.has.has(entry) || !m.bad.put(entry) {
            return false;
        }
        self.record.rotten.insert((machine, entry));
        self.record.fates[entry].good -= 1;
        self.harm(entry, Harm::Rot);
        true
    }

    /// There is a copy less.
    pub(super) fn harm(&mut self, entry: usize, harm: Harm) {
        let now = self.now;
        if self.setting.is_checked {
            self.record.harms.entry(entry).or_default().push((now, harm));
        }
        let fate = &mut self.record.fates[entry];
        if fate.good == 0 && fate.acked.is_some() {
            fate.lost = fate.lost.or(Some(now));
        }
    }

    pub(super) fn acknowledge(&mut self, entry: usize, on: usize) {
        let now = self.now;
        let fate = &mut self.record.fates[entry];
        if fate.acked.is_none() {
            (fate.acked, fate.acked_on) = (Some(now), u16::try_from(on).unwrap_or(u16::MAX));
        }
    }

    /// Checker: a write waits for as many other machines as it needs, or for all that its owner sees; not for fewer because others are away.
    pub(super) fn check_targets(&mut self, owner: usize, targets: usize) {
        let m = &self.machines[owner];
        let trusted = m.line.iter().filter(|other| !m.failed.contains(other)).count();
        let needed = (self.setting.durable_on - 1).min(trusted);
        if self.setting.is_checked && targets < needed {
            self.record.say(|| format!("machine {owner} hands a write to {targets} others, not {needed}"));
        }
    }

    /// Checker: nothing is let go before it lies on as many other machines as it should, or on all others that the machine sees. One that has confirmed
    /// it and whose disk was destroyed since is no fault of ours.
    pub(super) fn check_release(&mut self, machine: usize, entries: &[usize]) {
        let m = &self.machines[machine];
        let needed = self.setting.custody.copies.min(m.line.len());
        // Older ones are not to be believed.
        let believed = u64::try_from(self.setting.custody.grace.as_micros()).unwrap_or(u64::MAX) + MINUTE;
        let is_destroyed = |since: u64, other: usize| {
            self.now <= since + believed && self.machines[other].destroyed_at.is_some_and(|at| at >= since)
        };
        let destroyed =
            m.confirmed.iter().filter(|(other, since)| is_destroyed(*since, *other)).map(|(other, _)| *other);
        let destroyed: BTreeSet<usize> = destroyed.collect();
        let liars: Vec<usize> =
            m.confirmed.iter().map(|(other, _)| *other).filter(|other| self.machines[*other].is_liar).collect();
        for entry in entries {
            // A liar is one of the R until it is found: from now on there is a copy less than it seems.
            for liar in &liars {
                if self.record.relied.insert((*liar, *entry)) {
                    self.harm(*entry, Harm::Lie);
                }
            }
            let holds = |other: usize, m: &Machine| {
                m.state != State::Gone && (m.has.has(*entry) || m.is_liar) || destroyed.contains(&other)
            };
            let others = self.machines.iter().enumerate().filter(|(other, _)| *other != machine);
            let there = others.filter(|(other, m)| holds(*other, m)).count();
            if there < needed {
                let confirmed = self.machines[machine].confirmed.clone();
                self.record.say(|| {
                    format!(
                        "entry {entry} was let go by machine {machine} when {there} other machines had it, not {needed}; confirmed by {confirmed:?}"
                    )
                });
            }
        }
    }

    /// Checker: who counts, as an owner says, was compared with in this life of the owner's, has not failed its last audit, and is off probation if enough
    /// others are.
    pub(super) fn check_counting(&mut self, owner: usize, told: &Holders) {
        if self.machines[owner].is_liar {
            return;
        }
        let config = &self.setting.custody;
        let m = &self.machines[owner];
        // Uptimes are told now and then.
        let nearly = std::time::Duration::from_micros(UPTIMES_EVERY);
        let is_old = |other: usize| self.uptime(owner, other) >= config.probation + nearly;
        let trusted_old = m.line.iter().filter(|other| is_old(**other) && !m.failed.contains(other)).count();
        let is_choosy = trusted_old >= config.copies.saturating_sub(1);
        let mut wrong = Vec::new();
        for holder in told.holders.iter().skip(1).filter(|holder| holder.counts) {
            let Some(other) = self.by_key.get(&holder.contact.key).copied() else { continue };
            let covers = |arc: &(Id, Id)| contains(*arc, told.arc);
            if !m.filled.get(&other).is_some_and(|arcs| arcs.iter().any(covers)) {
                wrong.push(format!("machine {other} counts for machine {owner} and was not filled"));
            }
            if is_choosy && self.uptime(owner, other) + nearly < config.probation {
                wrong.push(format!("machine {other} counts for machine {owner} and is on probation"));
            }
            if m.distrusted.contains(&other) {
                wrong.push(format!("machine {other} counts for machine {owner} and failed its audit"));
            }
        }
        wrong.into_iter().for_each(|sentence| self.record.say(|| sentence));
    }
}

/// Whether an arc has all of another.
fn contains(whole: (Id, Id), part: (Id, Id)) -> bool {
    if whole.0 == whole.1 {
        return true;
    }
    let far = |place: Id| whole.0.distance_to(place);
    part.0 != part.1 && far(part.0) < far(part.1) && far(part.1) <= far(whole.1)
}
