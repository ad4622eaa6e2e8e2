//! What must be so when faults have stopped and there was time to settle: one function for each promise.

use super::record::Fate;
use super::world::World;

impl World {
    /// Nothing acknowledged is lost, if harm stayed within what is promised: an entry that had once been on all its machines is not lost at all; one that had
    /// not is lost only if as many of its copies were destroyed as it was acknowledged on. What was lost beyond that is counted.
    pub(super) fn check_nothing_lost(&mut self, is_wild: bool) -> usize {
        let mut lost = 0;
        for (entry, fate) in self.record.fates.clone().into_iter().enumerate() {
            if fate.acked.is_none() || fate.good > 0 {
                continue;
            }
            // Rot of the last copies is more harm than machines alone would do.
            let is_excused = is_wild || fate.spread.is_none() && fate.harmed >= fate.acked_on;
            let is_excused = is_excused || fate.rotted > 0 && usize::from(fate.harmed) >= self.setting.custody.copies;
            lost += 1;
            if !is_excused {
                let Fate { acked, spread, harmed, rotted, .. } = fate;
                self.record.say(|| {
                    format!(
                        "entry {entry} is lost: acknowledged at {acked:?}, on all its machines since {spread:?}, \
                         {harmed} of its copies destroyed, {rotted} of them by rot"
                    )
                });
            }
        }
        lost
    }

    /// Everything lies on the owner and those who follow it, as many as there are to be copies, whole; nowhere else; and they know it.
    pub(super) fn check_settled(&mut self) {
        let copies = self.setting.custody.copies;
        let is_ruined =
            |machine: &usize| self.machines[*machine].bad.all().any(|entry| self.record.fates[entry].good == 0);
        let ruined: Vec<usize> = self.members.values().copied().filter(is_ruined).collect();
        for entry in 0..self.table.len() {
            let place = self.table.place(entry);
            let Some(any) = self.members.values().next().copied() else { return };
            let should: Vec<usize> = self.from(any, place).take(copies).collect();
            let has = |machine: &usize| self.machines[*machine].has.has(entry);
            let holders: Vec<usize> = self.members.values().copied().filter(has).collect();
            // What is lost cannot be brought anywhere; a damaged copy of it keeps what lies beside it where it is, too.
            if holders.is_empty() || self.record.fates[entry].good == 0 {
                continue;
            }
            // Between an owner and a holder no comparison ends well that has something to bring over that is damaged for good.
            if should.iter().any(|machine| ruined.contains(machine)) {
                continue;
            }
            for machine in holders.iter().filter(|machine| !should.contains(machine) && !ruined.contains(machine)) {
                self.record.say(|| format!("entry {entry} is a stray on machine {machine}"));
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
            if !self.machines[machine].custodian.is_settled() && ruined.is_empty() {
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
}
