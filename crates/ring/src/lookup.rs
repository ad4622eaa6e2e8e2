//! One search for the owner of a place: whom to ask next, and when to believe the answer. No time: silence is told to it.
//!
//! Several nodes are asked at once, those nearest before the place first; each tells of nearer ones and of its own neighbours. A node is believed to be the
//! owner when it has answered itself, says that nobody lies between the place and it, **and another node that answered
//! names it as its neighbour**, while nobody nearer that we heard of is left unasked or was silent once only. So one liar can delay a lookup but not
//! answer it for others: it needs an accomplice as its neighbour, and nobody chooses its place.
//!
//! A successor that does not answer is passed over for the next in the list, so lookups go on right after a disaster, before
//! anything is mended. One whose own suggestions are all silent is asked once more, for its whole list. Where a whole list died, the owner is believed
//! if it names the last of that list as the one before it: then no place between was left out.

use crate::contact::Contact;
use crate::core::{Neighbours, distinct_machines};
use crate::wire::Found;
use herodotus_base::{Distance, Id};
use std::collections::BTreeMap;
use std::time::Duration;

/// Nodes that one lookup hears of at most. A liar that names thousands fills its own answer, not our memory.
const CANDIDATES_MAX: usize = 256;
/// Nodes of one answer that are looked at.
const NAMED_MAX: usize = 32;
/// Silences after which a node is passed over although the one behind it still calls it its neighbour. One could be a lost message: with one in
/// ten lost, a live owner is silent four times once in 800.
const SILENCES_MAX: u8 = 4;
/// How many times as many are asked at once when somebody was silent.
const SILENT_TIMES: usize = 3;

#[derive(Clone, Debug)]
pub struct Lookup {
    key: Id,
    /// A node to be overlooked: ourselves, when we look for our place in a ring that may still list us.
    avoid: Option<Id>,
    candidates: BTreeMap<Id, Candidate>,
    in_flight: usize,
    asked: usize,
    parallel_max: usize,
    asked_max: usize,
    has_silence: bool,
}

#[derive(Clone, Debug)]
struct Candidate {
    contact: Contact,
    /// Answers that it took to hear of it.
    depth: u16,
    told_by: Option<Id>,
    /// Somebody thinks that it may be the owner.
    is_named: bool,
    state: State,
    /// It was asked once more, for its whole list; and whether that is still out.
    list: List,
    took: Option<Duration>,
    silences: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    Unasked,
    Asked,
    Ended,
}

#[derive(Clone, Debug)]
enum State {
    Waiting,
    Asked,
    Answered(Box<Neighbours>),
    Failed,
}

/// The end of a lookup that succeeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    pub owner: Contact,
    /// The last live node before the place, as far as was seen.
    pub before: Contact,
    /// What the owner told of itself.
    pub owner_told: Neighbours,
    pub before_told: Neighbours,
    /// Nodes passed one after the other to the one that knew the owner.
    pub hops: u16,
    /// Nodes asked in all.
    pub asked: usize,
}

impl Verdict {
    /// The machines where what lies at the place is kept.
    pub fn replicas(&self, count: usize) -> Vec<Contact> {
        distinct_machines(std::iter::once(&self.owner).chain(&self.owner_told.successors), count)
    }

    /// What one that joins at the place takes from its predecessor: its list, without those before the owner, who did not answer, and
    /// with the owner, who did. A predecessor whose list reaches no farther than the dead is helped out with the owner's.
    pub fn told_to_newcomer(&self) -> Neighbours {
        let mut told = self.before_told.clone();
        let owner = &self.owner;
        told.successors.retain(|contact| !contact.id.is_between(self.before.id, owner.id) && contact.id != owner.id);
        if owner.id != self.before.id {
            told.successors.insert(0, owner.clone());
        }
        let reach = |list: &[Contact]| list.last().map(|last| self.before.id.distance_to(last.id));
        for contact in &self.owner_told.successors {
            let is_farther = reach(&told.successors).is_none_or(|far| self.before.id.distance_to(contact.id) > far);
            if is_farther && contact.id != self.before.id {
                told.successors.push(contact.clone());
            }
        }
        told
    }
}

/// A node that was asked, for people who want to see the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    pub contact: Contact,
    pub depth: u16,
    pub told_by: Option<Id>,
    /// Nothing: it did not answer.
    pub round_trip: Option<Duration>,
}

impl Lookup {
    pub fn new(key: Id, avoid: Option<Id>, parallel_max: usize, asked_max: usize) -> Self {
        Self {
            key,
            avoid,
            candidates: BTreeMap::new(),
            in_flight: 0,
            asked: 0,
            parallel_max,
            asked_max,
            has_silence: false,
        }
    }

    pub fn key(&self) -> Id {
        self.key
    }

    /// Begins with what a node knows without asking: its own neighbours and whom it would name to others.
    pub fn begin_at(&mut self, me: &Contact, found: Found) {
        self.offer(me, 0, None, false);
        self.hear(me.id, found, None);
    }

    /// Begins with a node to ask. `is_named`: it may be the owner.
    pub fn begin_with(&mut self, contact: &Contact, is_named: bool) {
        self.offer(contact, 1, None, is_named);
    }

    /// Others that might help when all else was in vain. Whether any is new.
    pub fn widen(&mut self, others: &[Contact]) -> bool {
        let before = self.candidates.len();
        others.iter().for_each(|contact| self.begin_with(contact, false));
        self.candidates.len() > before
    }

    /// Whom to ask now, if anyone. It counts as asked.
    pub fn next_to_ask(&mut self) -> Option<Contact> {
        // Those that are silent do not keep others from being asked.
        let width = self.parallel_max * if self.has_silence { SILENT_TIMES } else { 1 };
        if self.in_flight >= width || self.verdict().is_some() {
            return None;
        }
        let id = self.next_id()?;
        let candidate = self.candidates.get_mut(&id)?;
        self.asked += usize::from(matches!(candidate.state, State::Waiting));
        match candidate.state {
            State::Answered(_) => candidate.list = List::Asked,
            State::Waiting | State::Asked | State::Failed => candidate.state = State::Asked,
        }
        self.in_flight += 1;
        Some(candidate.contact.clone())
    }

    /// What to ask it for: the place, or its own, whose neighbours are its whole list.
    pub fn place_to_ask(&self, id: Id) -> Id {
        let is_list = self.candidates.get(&id).is_some_and(|candidate| candidate.list == List::Asked);
        if is_list { id.plus_power(0) } else { self.key }
    }

    /// How often it was asked in vain before. It is worth waiting longer then.
    pub fn silences(&self, id: Id) -> u8 {
        self.candidates.get(&id).map_or(0, |candidate| candidate.silences)
    }

    pub fn hear(&mut self, from: Id, found: Found, took: Option<Duration>) {
        let Some(candidate) = self.candidates.get_mut(&from) else { return };
        // One that waits or failed may answer late to an earlier question: nothing is out to it then.
        self.in_flight -= usize::from(candidate.end_question());
        let heard = candidate.neighbours().map_or(0, |told| told.successors.len());
        let is_again = candidate.neighbours().is_some();
        if is_again && found.neighbours.successors.len() <= heard {
            return;
        }
        let depth = candidate.depth.saturating_add(1);
        let Found { mut neighbours, nearer } = found;
        if let Some(avoid) = self.avoid {
            neighbours = neighbours.without(avoid);
        }
        neighbours.successors.truncate(NAMED_MAX);
        candidate.took = candidate.took.or(took);
        candidate.state = State::Answered(Box::new(neighbours.clone()));
        // Its neighbours are worth knowing only where they are near the place: then all of them, since the first may be dead.
        let is_near = neighbours.successors.last().is_some_and(|last| self.key.is_in(from, last.id));
        for contact in &neighbours.successors {
            if is_near || is_again || contact.id == neighbours.successors[0].id {
                self.offer(contact, depth, Some(from), is_near && self.key.is_in(from, contact.id));
            }
        }
        if is_again {
            // What it named beside was on the way to another place.
            return;
        }
        if let Some(before) = &neighbours.predecessor {
            let is_nearer = self.way_to(before.id) < self.way_to(from);
            self.offer(before, depth, Some(from), is_nearer);
        }
        for contact in nearer.iter().take(NAMED_MAX) {
            let is_named = self.way_to(contact.id) < self.way_from(contact.id).1;
            self.offer(contact, depth, Some(from), is_named);
        }
    }

    /// It did not answer, or not with sense.
    pub fn fail(&mut self, id: Id) {
        let Some(candidate) = self.candidates.get_mut(&id) else { return };
        if candidate.end_question() {
            self.in_flight -= 1;
            self.has_silence = true;
        }
        if matches!(candidate.state, State::Asked) {
            candidate.silences = candidate.silences.saturating_add(1);
        }
        if !matches!(candidate.state, State::Answered(_)) {
            candidate.state = State::Failed;
        }
    }

    /// Nobody is left to ask, and nobody still to answer.
    pub fn is_spent(&self) -> bool {
        self.in_flight == 0 && self.next_id().is_none()
    }

    /// The owner, as soon as it may be believed.
    pub fn verdict(&self) -> Option<Verdict> {
        let live = |candidate: &&Candidate| !matches!(candidate.state, State::Failed);
        // The nearest at or after the place that is not known to be dead must have answered.
        let owner = self.after().filter(live).find(|c| c.is_named || c.neighbours().is_some())?;
        let owner_told = owner.neighbours()?;
        let id = owner.contact.id;
        // Nor may anybody nearer before the place be left unasked: it might know one that is nearer behind it.
        let before = self.before().filter(live).find(|candidate| candidate.contact.id != id);
        let Some(before) = before else {
            let is_alone = owner_told.is_whole && owner_told.successors.is_empty();
            return is_alone.then(|| self.conclude(owner, owner));
        };
        let before_told = before.neighbours()?;
        let follows = self.first_live(before_told) == Some(id) || self.are_bridged(before_told, owner_told);
        if !self.claims(owner) {
            // It names another nearer to the place, or nobody: then it is the owner only if all between are dead beyond doubt.
            let mut nearer = self.after().take_while(|candidate| candidate.contact.id != id).filter(|c| c.is_named);
            return (follows && nearer.all(Candidate::is_given_up)).then(|| self.conclude(owner, before));
        }
        let is_followed = || {
            let mut after = owner_told.successors.iter().filter_map(|contact| self.candidates.get(&contact.id));
            after
                .any(|next| next.neighbours().is_some_and(|told| told.predecessor.as_ref().is_some_and(|p| p.id == id)))
        };
        (follows || is_followed()).then(|| self.conclude(owner, before))
    }

    /// The nearest on both sides that answered, believed or not. Good enough to be asked for a place beside them, which only ever makes neighbours nearer.
    pub fn nearest(&self) -> Option<Verdict> {
        let owner = self.after().find(|candidate| candidate.neighbours().is_some())?;
        let mut before = self.before().filter(|candidate| candidate.neighbours().is_some());
        let before = before.find(|candidate| candidate.contact.id != owner.contact.id)?;
        Some(self.conclude(owner, before))
    }

    /// Everyone that was asked, in the order of the way.
    pub fn stops(&self) -> Vec<Stop> {
        let asked = self.candidates.values().filter(|candidate| !matches!(candidate.state, State::Waiting));
        let mut stops: Vec<_> = asked
            .map(|c| Stop { contact: c.contact.clone(), depth: c.depth, told_by: c.told_by, round_trip: c.took })
            .collect();
        stops.sort_by_key(|stop| (stop.depth, std::cmp::Reverse(self.way_from(stop.contact.id))));
        stops
    }

    fn conclude(&self, owner: &Candidate, before: &Candidate) -> Verdict {
        let told = |candidate: &Candidate| candidate.neighbours().cloned().unwrap_or_default();
        Verdict {
            owner: owner.contact.clone(),
            before: before.contact.clone(),
            owner_told: told(owner),
            before_told: told(before),
            hops: before.depth,
            asked: self.asked,
        }
    }

    fn offer(&mut self, contact: &Contact, depth: u16, told_by: Option<Id>, is_named: bool) {
        if Some(contact.id) == self.avoid {
            return;
        }
        if let Some(known) = self.candidates.get_mut(&contact.id) {
            known.is_named |= is_named;
            if depth < known.depth && matches!(known.state, State::Waiting) {
                (known.depth, known.told_by) = (depth, told_by);
            }
        } else if self.candidates.len() < CANDIDATES_MAX {
            let state = State::Waiting;
            let candidate = Candidate {
                contact: contact.clone(),
                depth,
                told_by,
                is_named,
                state,
                list: List::Unasked,
                took: None,
                silences: 0,
            };
            self.candidates.insert(contact.id, candidate);
        }
    }

    fn next_id(&self) -> Option<Id> {
        // With one question at a time the way comes first: each step names a nearer presumed owner, and asking all of them leads backwards
        // from one predecessor to the next.
        let (first, second) = (self.presumed_owner(), self.nearest_before());
        let next = if self.parallel_max == 1 { second.or(first) } else { first.or(second) };
        // Whoever was asked before may be asked again when no more others are.
        let may_be_new = self.asked < self.asked_max;
        let next = next.filter(|_| may_be_new).or_else(|| self.listless());
        if next.is_some() {
            return next;
        }
        // Where a whole list died, somebody must first be found who knows the one behind it.
        if self.is_beside_gap() {
            self.anyone().or_else(|| self.silent_owner())
        } else {
            self.silent_owner().or_else(|| self.anyone())
        }
    }

    /// The nearest before the place that answered. The one behind it only if nobody else did.
    fn nearest_answered(&self) -> Option<&Candidate> {
        let owner = self.after().find(|c| c.neighbours().is_some()).map(|c| c.contact.id);
        let mut answered = self.before().filter(|c| c.neighbours().is_some());
        let first = answered.next()?;
        if Some(first.contact.id) == owner { answered.next().or(Some(first)) } else { Some(first) }
    }

    fn is_beside_gap(&self) -> bool {
        let told = self.nearest_answered().and_then(Candidate::neighbours);
        told.is_some_and(|told| !told.successors.is_empty() && self.first_live(told).is_none())
    }

    /// The nearest before the place that answered, if what it named is silent while its list, of which it told only the first, may hold others.
    fn listless(&self) -> Option<Id> {
        let before = self.nearest_answered()?;
        let told = before.neighbours()?;
        let (first, last) = (told.successors.first()?.id, told.successors.last()?.id);
        let may_hold_more = !told.is_whole && self.is_failed(first) && !self.key.is_in(before.contact.id, last);
        (may_hold_more && before.list == List::Unasked).then_some(before.contact.id)
    }

    /// Whether all of the list of the one before are silent, and the owner names the last of them as the one before itself: so nobody between was left out.
    fn are_bridged(&self, before_told: &Neighbours, owner_told: &Neighbours) -> bool {
        let Some(last) = before_told.successors.last() else { return false };
        owner_told.predecessor.as_ref().is_some_and(|before| before.id == last.id)
            && before_told.successors.iter().all(|contact| self.is_failed(contact.id))
    }

    /// Whether it says itself that nobody is between the place and it.
    fn claims(&self, owner: &Candidate) -> bool {
        let before = owner.neighbours().and_then(|told| told.predecessor.as_ref());
        before.is_some_and(|before| self.way_to(before.id) > self.way_to(owner.contact.id))
    }

    /// One that was silent, while the one behind it does not say that nobody is there: it may have been the network.
    fn silent_owner(&self) -> Option<Id> {
        let behind = self.after().find(|candidate| candidate.neighbours().is_some())?;
        if self.claims(behind) {
            return None;
        }
        let nearer = self.after().take_while(|candidate| candidate.contact.id != behind.contact.id);
        let mut silent = nearer.filter(|c| c.is_named && matches!(c.state, State::Failed) && !c.is_given_up());
        silent.next().map(|candidate| candidate.contact.id)
    }

    /// The one nearest behind the place, if somebody named it and it was not asked. Once anybody was silent, the next ones as well: if one died,
    /// many may have.
    fn presumed_owner(&self) -> Option<Id> {
        let count = if self.has_silence { self.parallel_max } else { 1 };
        let live = self.after().filter(|c| !matches!(c.state, State::Failed));
        let named = live.filter(|c| c.is_named || c.neighbours().is_some()).take(count);
        let mut unanswered = named.take_while(|c| c.neighbours().is_none());
        unanswered.find(|c| matches!(c.state, State::Waiting)).map(|c| c.contact.id)
    }

    /// The one nearest before the place, if it is nearer than all that answered.
    fn nearest_before(&self) -> Option<Id> {
        let owner = self.after().find(|c| c.neighbours().is_some()).map(|c| c.contact.id);
        let mut live = self.before().filter(|c| !matches!(c.state, State::Failed | State::Asked));
        let nearest = live.find(|c| Some(c.contact.id) != owner)?;
        matches!(nearest.state, State::Waiting).then_some(nearest.contact.id)
    }

    /// When the best are silent: the next best. Only then, since they would lead the same way. One that is asked again is as good as silent.
    fn anyone(&self) -> Option<Id> {
        let is_first = |c: &Candidate| c.list == List::Asked || matches!(c.state, State::Asked) && c.silences == 0;
        if self.asked >= self.asked_max || self.in_flight > 0 && self.candidates.values().any(is_first) {
            return None;
        }
        self.before().find(|c| matches!(c.state, State::Waiting)).map(|c| c.contact.id)
    }

    /// All, the nearest at or behind the place first.
    fn after(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.range(self.key..).chain(self.candidates.range(..self.key)).map(|(_, candidate)| candidate)
    }

    /// All, the nearest before the place first. Who sits on it is the last.
    fn before(&self) -> impl Iterator<Item = &Candidate> {
        let (before, after) = (self.candidates.range(..self.key), self.candidates.range(self.key..));
        before.rev().chain(after.rev()).map(|(_, candidate)| candidate)
    }

    fn first_live(&self, told: &Neighbours) -> Option<Id> {
        told.successors.iter().map(|contact| contact.id).find(|id| !self.is_failed(*id))
    }

    fn is_failed(&self, id: Id) -> bool {
        self.candidates.get(&id).is_some_and(|candidate| matches!(candidate.state, State::Failed))
    }

    /// How far behind the place; nothing for who sits on it.
    fn way_to(&self, id: Id) -> Distance {
        self.key.distance_to(id)
    }

    /// How far before the place. Who sits on it is not before it but at the far end.
    fn way_from(&self, id: Id) -> (bool, Distance) {
        (id == self.key, id.distance_to(self.key))
    }
}

impl Candidate {
    /// Nothing is out to it any more. Whether something was.
    fn end_question(&mut self) -> bool {
        let is_list = self.list == List::Asked;
        if is_list {
            self.list = List::Ended;
        }
        is_list || matches!(self.state, State::Asked)
    }

    fn is_given_up(&self) -> bool {
        matches!(self.state, State::Failed) && self.silences >= SILENCES_MAX
    }

    fn neighbours(&self) -> Option<&Neighbours> {
        match &self.state {
            State::Answered(told) => Some(told),
            State::Waiting | State::Asked | State::Failed => None,
        }
    }
}
