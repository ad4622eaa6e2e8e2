//! Keeping neighbours and fingers right, and finding rings again that were split off.
//!
//! Merging: a node asks a peer it remembers, dead or alive, for its own place as that peer's ring sees it. If the ring is the same, the answer
//! is the neighbours it has. If not, whoever is nearer there is adopted by the rules of [`Core`](crate::Core), those on both
//! sides are told, and the successor we had until now is told to do the same, so that the news runs round faster than probing alone.

use super::{Finger, Purpose, Ring, Standing};
use crate::conduct::Duty;
use crate::contact::Contact;
use crate::core::Neighbours;
use crate::event::Event;
use crate::lookup::Verdict;
use crate::ring::Output;
use crate::ring::search::Aim;
use crate::wire::Question;
use herodotus_base::Id;
use std::time::Duration;

/// Ever nearer successors that are asked one after the other before the next turn.
const ROUNDS_MAX: u8 = 8;
/// Nodes that may be nearer and are asked at once: each that speaks to us can have itself asked.
const ASKS_MAX: usize = 8;
/// Merges under way at once: each is a lookup, and strangers can ask for them.
const MERGES_MAX: usize = 2;
/// Successors that are asked whether they live when the one before them was silent. Two each time, so a list of 16 that died as one is seen through
/// in five steps; while one in five questions goes unanswered by chance, that is less than one more question for each.
const DOUBTS_NEXT: usize = 2;

impl Ring {
    pub(super) fn drive_timers(&mut self, now: Duration) {
        if !self.is_member() {
            return;
        }
        if self.stabilise_at <= now {
            self.stabilise_at = now + self.about(self.config.stabilise_every);
            self.stabilise(now);
        }
        if self.standing != Standing::Member {
            return;
        }
        if self.finger_at <= now {
            self.finger_at = now + self.about(self.config.finger_every);
            self.renew_finger(now);
        }
        if self.probe_at <= now {
            let every = self.probe_every();
            self.probe_at = now + self.about(every);
            self.probe(now);
        }
    }

    /// Asks the first successor for its neighbours, and a predecessor that was silent for long whether it lives.
    pub(super) fn stabilise(&mut self, now: Duration) {
        if let Some(head) = self.core.head().cloned()
            && !self.is_asking(head.id, |purpose| matches!(purpose, Purpose::Stabilise { .. }))
        {
            self.ask_neighbours(now, &head, 0);
        }
        if let Some(before) = self.core.predecessor().cloned() {
            // It asks us as often as we ask our successor: while it does, nothing needs to be asked.
            if self.known.silent_for(before.id, now) > self.config.stabilise_every * 3 {
                self.doubt(now, &before);
            }
        }
        if self.core.is_whole() {
            // Everybody lists everybody, and whom one has buried the next would bring back: so each sees for itself who lives, one at a time.
            let silent =
                self.core.successors().iter().max_by_key(|contact| self.known.silent_for(contact.id, now)).cloned();
            if let Some(silent) =
                silent.filter(|other| self.known.silent_for(other.id, now) > self.config.stabilise_every * 3)
            {
                self.doubt(now, &silent);
            }
        }
    }

    fn ask_neighbours(&mut self, now: Duration, to: &Contact, round: u8) {
        let known = self.told.as_ref().filter(|(id, _)| *id == to.id).map_or(0, |(_, told)| told.digest());
        self.ask(now, to, Question::Neighbours { known }, Purpose::Stabilise { round }, 0);
    }

    /// A successor, or one that may be, told its neighbours.
    pub(super) fn stabilised(&mut self, now: Duration, from: &Contact, told: &Neighbours, round: u8) {
        let known = &self.known;
        let may_ask = |nearer: &Contact| round < ROUNDS_MAX && !known.is_dead(nearer.id);
        let mut told = told.clone();
        if told.is_whole {
            // Whom we found dead ourselves is not brought back by hearsay, which would go round for ever.
            told.successors.retain(|contact| !known.is_dead(contact.id));
        }
        let duty = self.core.stabilised(from, &told, may_ask);
        self.fulfil(now, duty, round + 1);
    }

    /// A member spoke to us, whatever it said.
    pub(super) fn notice(&mut self, now: Duration, from: &Contact) {
        let is_asked = |ring: &Self| ring.is_asking(from.id, |purpose| matches!(purpose, Purpose::Stabilise { .. }));
        if self.standing == Standing::Member && !is_asked(self) {
            let duty = self.core.noticed(from);
            self.fulfil(now, duty, 0);
        }
    }

    /// A member said that it is there.
    pub(super) fn meet(&mut self, now: Duration, from: &Contact) {
        let duty = self.core.met(from);
        self.fulfil(now, duty, 0);
    }

    pub(super) fn fulfil(&mut self, now: Duration, duties: impl IntoIterator<Item = Duty>, round: u8) {
        for duty in duties {
            match duty {
                Duty::Ask(contact) if self.asks() < ASKS_MAX => self.ask_neighbours(now, &contact, round),
                // Too many say that they are near. Those that are will be heard of again.
                Duty::Ask(_) => {}
                Duty::Doubt(contact) => self.doubt(now, &contact),
                Duty::Tell(contact, notice) => self.tell(contact, notice),
            }
        }
    }

    fn asks(&self) -> usize {
        self.pending.values().filter(|pending| matches!(pending.purpose, Purpose::Stabilise { .. })).count()
    }

    /// It was silent: is it dead? Asked only of those on whom something hangs.
    pub(super) fn doubt(&mut self, now: Duration, contact: &Contact) {
        let id = contact.id;
        if self.matters(id)
            && !self.is_asking(id, |purpose| {
                matches!(purpose, Purpose::Doubt | Purpose::Finger(_) | Purpose::Stabilise { .. })
            })
        {
            self.ask(now, contact, Question::Neighbours { known: 0 }, Purpose::Doubt, 0);
        }
    }

    /// Whether something hangs on that node.
    fn matters(&self, id: Id) -> bool {
        let mut near = self.core.successors().iter().chain(self.core.predecessor()).chain(self.finger_contacts());
        near.any(|other| other.id == id)
    }

    /// A successor was silent: so may be those after it, and they are not to be found dead one after the other.
    pub(super) fn doubt_next(&mut self, now: Duration, id: Id) {
        let Some(at) = self.core.successors().iter().position(|contact| contact.id == id) else { return };
        let is_unasked =
            |contact: &&Contact| !self.is_asking(contact.id, |purpose| !matches!(purpose, Purpose::Lookup(_)));
        let later = self.core.successors().iter().skip(at + 1);
        let next: Vec<_> = later.filter(is_unasked).take(DOUBTS_NEXT).cloned().collect();
        next.iter().for_each(|contact| self.doubt(now, contact));
    }

    /// It is dead, as far as we can tell.
    pub(super) fn bury(&mut self, now: Duration, contact: &Contact) {
        let id = contact.id;
        if self.matters(id) {
            self.outputs.push_back(Output::Event(Event::PeerDead { contact: contact.clone() }));
        }
        let was_head = self.core.head().is_some_and(|head| head.id == id);
        self.known.be_dead(contact);
        self.core.lose(id);
        self.fingers.retain(|_, finger| finger.contact.id != id);
        if self.core.is_stranded() && self.standing == Standing::Member {
            self.come_back(now);
        } else if was_head {
            self.stabilise(now);
        }
    }

    /// Sees to one finger, the farthest first. Those within the successor list are known without. One that we have is asked for its neighbours, which
    /// mostly are the same as before and then cost a word; a lookup costs fifty times as much.
    fn renew_finger(&mut self, now: Duration) {
        if self.core.is_whole() {
            self.fingers.clear();
            return;
        }
        let reach = self.core.successors().last().and_then(|last| self.me.id.distance_to(last.id).log2()).unwrap_or(0);
        self.fingers = self.fingers.split_off(&reach);
        let bit = if self.finger_next < reach { 255 } else { self.finger_next };
        self.finger_next = bit.checked_sub(1).unwrap_or(255);
        match self.fingers.get(&bit).cloned() {
            None => self.look_up_finger(now, bit),
            Some(Finger { contact, .. }) if self.is_asking(contact.id, |purpose| purpose == Purpose::Finger(bit)) => {}
            Some(Finger { contact, told }) => {
                self.ask(now, &contact, Question::Neighbours { known: told }, Purpose::Finger(bit), 0);
            }
        }
    }

    pub(super) fn look_up_finger(&mut self, now: Duration, bit: u8) {
        if self.standing == Standing::Member {
            self.search(now, self.me.id.plus_power(bit), Aim::Finger(bit));
        }
    }

    /// A finger told its neighbours. It stays while the one before it lies before the place: what it says need not be proved, since a wrong finger costs hops
    /// and nothing else.
    pub(super) fn keep_finger(&mut self, now: Duration, bit: u8, from: &Contact, told: &Neighbours) {
        let place = self.me.id.plus_power(bit);
        let is_first = told.predecessor.as_ref().is_some_and(|before| place.is_in(before.id, from.id));
        let Some(finger) = self.fingers.get_mut(&bit).filter(|finger| finger.contact.id == from.id) else { return };
        if is_first {
            finger.told = told.digest();
        } else {
            self.look_up_finger(now, bit);
        }
    }

    /// Whoever is alone, or among few, may be what is left of many: it looks for the others more eagerly.
    fn probe_every(&self) -> Duration {
        match self.core.is_whole() {
            true if self.core.head().is_none() => self.config.stabilise_every,
            true => self.config.probe_every / 4,
            false => self.config.probe_every,
        }
    }

    /// Asks a remembered peer for our own place: every other time one that seems dead, since those may be on the far side of a split.
    fn probe(&mut self, now: Duration) {
        let draw = usize::try_from(self.draw() >> 1).unwrap_or(0);
        let dead = self.known.dead();
        let pick = if draw % 2 == 0 && !dead.is_empty() {
            dead.get(draw / 2 % dead.len()).copied()
        } else {
            self.known.nth(draw / 2 % self.known.len().max(1))
        };
        if let Some(contact) = pick.cloned() {
            self.merge(now, &contact);
        }
    }

    /// Looks up our own place by way of another, which may belong to another ring.
    pub(super) fn merge(&mut self, now: Duration, via: &Contact) {
        let merges = self.lookups.values().filter(|running| matches!(running.aim(), Aim::Merge { .. }));
        if via.id == self.me.id || merges.count() >= MERGES_MAX {
            return;
        }
        self.search(now, self.me.id, Aim::Merge { via: via.clone() });
    }

    /// The neighbours that we have in the ring of another: ours, or better ones.
    pub(super) fn merged(&mut self, now: Duration, verdict: &Verdict) {
        let duties = self.core.merged(&verdict.before, &verdict.owner, &verdict.owner_told);
        self.fulfil(now, duties, 0);
    }
}
