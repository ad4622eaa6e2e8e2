//! The neighbours of one node, and the rules by which they change. No time, no messages: who asks whom and when is [`crate::Ring`]'s
//! matter, and a model checker's.
//!
//! The rules are those of Zave's corrected Chord ("Reasoning about identifier spaces: how to make Chord correct", 2017):
//! a newcomer takes the whole list of its predecessor; a list is taken over only from a node that has just answered; a dead head makes
//! room for the next; a notifier becomes predecessor if it is nearer or the old one is dead. Her lists have a fixed length and are filled up with
//! places where nobody is; ours are shorter instead, which tells the same (decision 0011).
//!
//! While the ring has no more nodes than a list holds, every list holds everybody (`is_whole`): then whoever is heard of
//! is put in its place at once. Both modes keep one list, so nothing is carried over when the ring passes from one to the other.
//!
//! Promise: as long as fewer than `depth` machines of a list die between two refreshments of it, a live successor is known.

use crate::contact::Contact;
use crate::planted::Planted;
use herodotus_base::Id;
use serde::{Deserialize, Serialize};

/// What a node tells anyone of its surroundings.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Neighbours {
    pub predecessor: Option<Contact>,
    /// In their order on the circle, beginning after the node that tells.
    pub successors: Vec<Contact>,
    /// The successors are all others there are.
    pub is_whole: bool,
}

impl Neighbours {
    /// Whether that node is among the successors.
    pub fn has(&self, id: Id) -> bool {
        self.successors.iter().any(|contact| contact.id == id)
    }

    /// The same as if that node did not exist.
    pub fn without(mut self, id: Id) -> Self {
        self.predecessor = self.predecessor.filter(|contact| contact.id != id);
        self.successors.retain(|contact| contact.id != id);
        self
    }
}

/// A node's own place and neighbours.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Core {
    me: Contact,
    /// Machines that a successor list reaches, if there are so many.
    depth: usize,
    predecessor: Option<Contact>,
    /// Where what we own begins: the last predecessor, dead or not. Our own place if we never had one.
    floor: Id,
    successors: Vec<Contact>,
    is_whole: bool,
    planted: Planted,
}

/// Virtual nodes that a list may hold for each machine in it, lest machines with many make it endless.
const NODES_PER_MACHINE_MAX: usize = 4;

impl Core {
    /// The only node of a ring.
    pub fn alone(me: Contact, depth: usize, planted: Planted) -> Self {
        let is_whole = !planted.is(Planted::SmallAsLarge);
        let floor = me.id;
        Self { me, depth: depth.max(1), predecessor: None, floor, successors: Vec::new(), is_whole, planted }
    }

    /// A newcomer behind a predecessor that has just told its neighbours.
    pub fn joined(me: Contact, depth: usize, before: &Contact, told: &Neighbours, planted: Planted) -> Self {
        let mut core = Self::alone(me, depth, planted);
        let told = told.clone().without(core.me.id);
        let mut list = told.successors;
        // Whom the predecessor lists between itself and us did not answer the search, else it would be our predecessor.
        list.retain(|contact| !contact.id.is_between(before.id, core.me.id));
        if told.is_whole || list.is_empty() {
            list.push(before.clone());
        }
        if planted.is(Planted::JoinWithoutList) {
            list.truncate(1);
        }
        core.is_whole = told.is_whole && core.is_whole;
        core.take(list);
        core.floor = before.id;
        core.predecessor = Some(before.clone());
        core
    }

    pub fn me(&self) -> &Contact {
        &self.me
    }

    pub fn predecessor(&self) -> Option<&Contact> {
        self.predecessor.as_ref()
    }

    pub fn successors(&self) -> &[Contact] {
        &self.successors
    }

    pub fn head(&self) -> Option<&Contact> {
        self.successors.first()
    }

    /// Everybody is in the list.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// All successors died before others took their place: only remembered peers can help.
    pub fn is_stranded(&self) -> bool {
        self.successors.is_empty() && !self.is_whole
    }

    /// The arc that is ours: after the first, up to the second.
    pub fn arc(&self) -> (Id, Id) {
        (self.floor, self.me.id)
    }

    pub fn owns(&self, key: Id) -> bool {
        key.is_in(self.floor, self.me.id)
    }

    pub fn neighbours(&self) -> Neighbours {
        Neighbours {
            predecessor: self.predecessor.clone(),
            successors: self.successors.clone(),
            is_whole: self.is_whole,
        }
    }

    /// The same for one who searches that place: far from it the first successor is enough.
    pub fn neighbours_for(&self, key: Id) -> Neighbours {
        let mut neighbours = self.neighbours();
        let end = neighbours.successors.last().map_or(self.me.id, |last| last.id);
        if !(self.is_whole || self.owns(key) || key.is_in(self.me.id, end)) {
            neighbours.successors.truncate(1);
        }
        neighbours
    }

    /// `from` has just told its neighbours. It becomes our successor if it is one or is nearer than the one we have, and
    /// what it knows becomes what we know. Gives a node that is nearer still, to be asked the same.
    pub fn hear(&mut self, from: &Contact, told: &Neighbours) -> Option<Contact> {
        if from.id == self.me.id || !self.would_follow(from.id) {
            return None;
        }
        let mut list = Vec::with_capacity(told.successors.len() + 1);
        list.push(from.clone());
        if self.planted.is(Planted::ListNotTaken) {
            list.extend(self.successors.iter().filter(|contact| contact.id != from.id).cloned());
        } else {
            list.extend(told.successors.iter().cloned());
        }
        // Its list is the whole where it comes round to us. One that is the whole, or says so, may all the same lack some that
        // have just come: then who we know is kept beside it until found dead, since nobody else may know it.
        let has_us = told.has(self.me.id);
        let old = std::mem::take(&mut self.successors);
        let was_whole = std::mem::replace(&mut self.is_whole, false);
        self.take(list);
        if !self.planted.is(Planted::SmallAsLarge) && (has_us || told.is_whole) {
            self.is_whole = has_us || was_whole;
            self.widen(&old);
        }
        let nearer = told.predecessor.as_ref().filter(|contact| contact.id.is_between(self.me.id, from.id))?;
        if self.planted.is(Planted::AdoptUnasked) {
            self.successors.insert(0, nearer.clone());
            self.cut();
            return None;
        }
        Some(nearer.clone())
    }

    /// A member says that it is there. It becomes our predecessor if it is nearer than the one we have; and while everybody knows
    /// everybody, or we know nobody, it takes its place in the list.
    pub fn meet(&mut self, from: &Contact) {
        if from.id == self.me.id {
            return;
        }
        let is_nearer = match &self.predecessor {
            // In a large ring whoever is next behind us is not before us as well: a newcomer behind us would else, while our
            // predecessor is being replaced, make all of the circle ours.
            None => self.is_whole || self.successors.is_empty() || !self.would_follow(from.id),
            Some(old) => old.id == from.id || from.id.is_between(old.id, self.me.id),
        };
        if is_nearer {
            self.floor = from.id;
            self.predecessor = Some(from.clone());
        }
        if self.is_whole || self.successors.is_empty() {
            let old = self.successors.clone();
            self.widen(std::slice::from_ref(from));
            if !self.is_whole && !old.is_empty() {
                // One more than the list holds: from now on nobody makes room for another that has not answered.
                self.successors = old;
            }
        }
    }

    /// Others that are there, as far as anyone knows: they take their places in the list.
    pub fn widen(&mut self, others: &[Contact]) {
        for contact in others.iter().filter(|contact| contact.id != self.me.id) {
            let way = self.me.id.distance_to(contact.id);
            let at = self.successors.partition_point(|known| self.me.id.distance_to(known.id) < way);
            if self.successors.get(at).is_none_or(|known| known.id != contact.id) {
                self.successors.insert(at, contact.clone());
            }
        }
        self.cut();
    }

    /// That node is dead, or gone.
    pub fn lose(&mut self, id: Id) {
        let is_dead_head = self.head().is_some_and(|head| head.id == id);
        if !(is_dead_head && self.planted.is(Planted::KeepDeadHead)) {
            self.successors.retain(|contact| contact.id != id);
        }
        if !self.planted.is(Planted::KeepDeadPredecessor) {
            self.predecessor = self.predecessor.take().filter(|contact| contact.id != id);
        }
        if self.is_whole && self.predecessor.is_none() {
            // Who is before us when everybody is known: the last of all, or nobody.
            self.predecessor = self.successors.last().cloned();
            self.floor = self.predecessor.as_ref().map_or(self.me.id, |contact| contact.id);
        }
    }

    /// A neighbour goes in good order and tells who is on its other side.
    pub fn part(&mut self, from: &Contact, told: &Neighbours) {
        let was_head = self.head().is_some_and(|head| head.id == from.id);
        let was_before = self.predecessor.as_ref().is_some_and(|contact| contact.id == from.id);
        self.lose(from.id);
        if was_head {
            // Only what lies beyond those we know: who came between will be asked first, like any that is nearer.
            let far = self.successors.last().map(|last| self.me.id.distance_to(last.id));
            let is_farther = |contact: &&Contact| far.is_none_or(|far| self.me.id.distance_to(contact.id) > far);
            let others: Vec<_> =
                told.successors.iter().filter(|contact| contact.id != from.id).filter(is_farther).cloned().collect();
            self.widen(&others);
        }
        if let Some(before) = told.predecessor.as_ref().filter(|_| was_before)
            && before.id != self.me.id
            && before.id != from.id
        {
            self.floor = before.id;
            self.predecessor = Some(before.clone());
        }
    }

    /// Whether a live node there would be our first successor.
    pub fn would_follow(&self, id: Id) -> bool {
        match self.head() {
            None => id != self.me.id,
            Some(head) => head.id == id || id.is_between(self.me.id, head.id),
        }
    }

    /// The nodes on which a copy of what we own lies: ourselves and those after us, a machine counted once.
    pub fn replicas(&self, count: usize) -> Vec<Contact> {
        distinct_machines(std::iter::once(&self.me).chain(&self.successors), count)
    }

    /// Takes over a list as far as its places rise from ours. Where it comes round to us it ends: what is told from beyond is hearsay
    /// that would go round for ever.
    fn take(&mut self, list: Vec<Contact>) {
        self.successors.clear();
        let mut farthest = None;
        for contact in list {
            let way = self.me.id.distance_to(contact.id);
            if contact.id == self.me.id || farthest.is_some_and(|far| way <= far) {
                break;
            }
            farthest = Some(way);
            self.successors.push(contact);
        }
        self.cut();
    }

    /// Ends the list where it reaches `depth` machines other than our own. What is cut off makes it less than the whole.
    fn cut(&mut self) {
        let mut machines = 0;
        let end = self.successors.iter().enumerate().position(|(at, contact)| {
            let mut earlier = self.successors[..at].iter().chain([&self.me]);
            machines += usize::from(!earlier.any(|earlier| earlier.shares_machine(contact)));
            machines > self.depth || at >= self.depth * NODES_PER_MACHINE_MAX
        });
        if let Some(end) = end {
            self.successors.truncate(end);
            self.is_whole = false;
        }
    }
}

/// The first of each machine, at most so many.
pub fn distinct_machines<'a>(contacts: impl IntoIterator<Item = &'a Contact>, count: usize) -> Vec<Contact> {
    let mut out: Vec<Contact> = Vec::new();
    for contact in contacts {
        if out.len() == count {
            break;
        }
        if !out.iter().any(|earlier| earlier.shares_machine(contact)) {
            out.push(contact.clone());
        }
    }
    out
}
