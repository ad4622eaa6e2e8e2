//! One node of the ring in time: questions and their silence, timers, what is answered to others. The parts: `maintain` keeps neighbours and
//! fingers right and finds rings again that were split off, `search` runs lookups, `passage` joins and leaves.

mod maintain;
mod passage;
mod search;

use crate::config::Config;
use crate::contact::Contact;
use crate::core::{Core, Neighbours};
use crate::event::{Event, LookupId};
use crate::known::Known;
use crate::wire::{Answer, Body, Envelope, Found, Notice, Question};
use herodotus_base::Id;
use search::Running;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Nodes named to one who searches: some before the place, and some at or after it.
const NEARER_BEFORE: usize = 4;
const NEARER_AFTER: usize = 2;

/// How long after it was given up a question may still be answered. One that takes longer than any question waits would never be
/// measured otherwise, and never be heard.
const LATE_FOR: Duration = Duration::from_secs(4);

/// A member of a ring, or one that wants to be. Moments are durations since a beginning that only the caller knows.
#[derive(Clone, Debug)]
pub struct Ring {
    config: Config,
    me: Contact,
    standing: Standing,
    core: Core,
    known: Known,
    /// By the power of two that they are away, those beyond the successor list.
    fingers: BTreeMap<u8, Finger>,
    lookups: BTreeMap<LookupId, Running>,
    pending: BTreeMap<u64, Pending>,
    outputs: VecDeque<Output>,
    /// What the first successor told last, so that it need not tell it again.
    told: Option<(Id, Neighbours)>,
    /// What was last told to those who live on the ring.
    shown: Option<(Id, Neighbours)>,
    stabilise_at: Duration,
    finger_at: Duration,
    probe_at: Duration,
    /// Which finger is next.
    finger_next: u8,
    numbers: u64,
    chance: u64,
}

/// What a node is to the ring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    Outside,
    Joining {
        via: Vec<Contact>,
        since: Duration,
        again_at: Duration,
    },
    Member,
    /// The neighbours are being told. Empty: what is ours is still being handed over.
    Leaving {
        waits: usize,
        is_handed_over: bool,
    },
    Left,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    Send { to: Contact, envelope: Envelope },
    Event(Event),
}

/// One that was found behind a place, as far as we know the first.
#[derive(Clone, Debug)]
struct Finger {
    contact: Contact,
    /// The digest of its neighbours when it last was the first: while it stays, so does the finger. Nothing yet: 0.
    told: u64,
}

/// A question that is not answered yet.
#[derive(Clone, Debug)]
struct Pending {
    to: Contact,
    question: Question,
    purpose: Purpose,
    sent: Duration,
    deadline: Duration,
    tries: u8,
    /// It was given up for a lookup. An answer still tells how long that node takes.
    is_late: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// Which in a row of ever nearer ones.
    Stabilise {
        round: u8,
    },
    /// Does it live?
    Doubt,
    /// Is it still the finger that it was?
    Finger(u8),
    Lookup(LookupId),
    Leave,
}

/// A node as people and pages see it.
#[derive(Clone, Debug)]
pub struct Status {
    pub me: Contact,
    pub standing: Standing,
    pub arc: (Id, Id),
    pub neighbours: Neighbours,
    pub fingers: Vec<Contact>,
    pub known: usize,
    pub dead: usize,
    pub lookups: usize,
    /// Measured round trips to neighbours.
    pub round_trips: BTreeMap<Id, Duration>,
}

/// How much a node holds, for whoever watches that it stays bounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    pub known: usize,
    pub lookups: usize,
    /// Questions that are not answered yet.
    pub pending: usize,
    pub outputs: usize,
}

impl Ring {
    /// A node that belongs to no ring yet.
    pub fn new(me: Contact, config: Config) -> Self {
        let seed = me.id.0.iter().fold(config.seed, |sum, byte| sum.rotate_left(8) ^ u64::from(*byte));
        Self {
            core: Core::alone(me.clone(), config.depth, config.planted),
            known: Known::new(config.known_max.max(config.depth * 4)),
            me,
            config,
            standing: Standing::Outside,
            fingers: BTreeMap::new(),
            lookups: BTreeMap::new(),
            pending: BTreeMap::new(),
            outputs: VecDeque::new(),
            told: None,
            shown: None,
            stabilise_at: Duration::ZERO,
            finger_at: Duration::ZERO,
            probe_at: Duration::ZERO,
            finger_next: 255,
            numbers: 0,
            chance: seed | 1,
        }
    }

    pub fn me(&self) -> &Contact {
        &self.me
    }

    pub fn core(&self) -> &Core {
        &self.core
    }

    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    pub fn is_member(&self) -> bool {
        matches!(self.standing, Standing::Member | Standing::Leaving { .. })
    }

    /// The keys that we own: after the first place, up to the second.
    pub fn arc(&self) -> (Id, Id) {
        self.core.arc()
    }

    /// Peers to remember across a restart, the most useful first.
    pub fn remembered(&self) -> Vec<Contact> {
        self.known.remembered()
    }

    pub fn status(&self) -> Status {
        let neighbours = self.core.neighbours();
        let near = neighbours.predecessor.iter().chain(&neighbours.successors);
        let round_trips = near.filter_map(|contact| Some((contact.id, self.known.round_trip(contact.id)?))).collect();
        Status {
            me: self.me.clone(),
            standing: self.standing.clone(),
            arc: self.core.arc(),
            neighbours,
            fingers: self.finger_contacts().cloned().collect(),
            known: self.known.len(),
            dead: self.known.dead().len(),
            lookups: self.lookups.len(),
            round_trips,
        }
    }

    pub fn load(&self) -> Load {
        Load {
            known: self.known.len(),
            lookups: self.lookups.len(),
            pending: self.pending.len(),
            outputs: self.outputs.len(),
        }
    }

    /// What to send or tell next.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to call [`Ring::handle_timeout`], at the latest.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let pending = self.pending.values().map(|pending| pending.deadline);
        let lookups = self.lookups.values().map(Running::wake_at);
        let timers: &[Duration] = match &self.standing {
            Standing::Member => &[self.stabilise_at, self.finger_at, self.probe_at],
            Standing::Leaving { .. } => &[self.stabilise_at],
            Standing::Joining { again_at, .. } => std::slice::from_ref(again_at),
            Standing::Outside | Standing::Left => &[],
        };
        pending.chain(lookups).chain(timers.iter().copied()).min()
    }

    pub fn handle_timeout(&mut self, now: Duration) {
        let late: Vec<u64> = self.pending.iter().filter(|(_, p)| p.deadline <= now).map(|(nonce, _)| *nonce).collect();
        for nonce in late {
            let Some(pending) = self.pending.remove(&nonce) else { continue };
            if pending.is_late {
                continue;
            }
            if matches!(pending.purpose, Purpose::Lookup(_)) {
                let late = Pending { is_late: true, deadline: now + LATE_FOR, ..pending.clone() };
                self.pending.insert(nonce, late);
            }
            self.miss(now, pending);
        }
        self.drive_lookups(now);
        self.drive_passage(now);
        self.drive_timers(now);
        self.show_changes();
    }

    /// The transport could not deliver a question: it will not be answered.
    pub fn handle_unreachable(&mut self, now: Duration, nonce: u64) {
        // A neighbour gets its time all the same: it may just be starting again.
        let is_lookup = |pending: &&Pending| matches!(pending.purpose, Purpose::Lookup(_)) && !pending.is_late;
        if let Some(pending) = self.pending.get(&nonce).filter(is_lookup).cloned() {
            self.pending.remove(&nonce);
            self.miss(now, pending);
            self.show_changes();
        }
    }

    /// Something came from a node. That its key is `from.key` has been checked.
    pub fn handle_message(&mut self, now: Duration, envelope: Envelope) {
        let Envelope { to, from, nonce, is_member, mut body } = envelope;
        if to != self.me.id || from.id == self.me.id || !self.config.identity.allows(&from) {
            return;
        }
        body.retain_contacts(|contact| self.config.identity.allows(contact));
        if is_member {
            let was_dead = self.known.is_dead(from.id);
            self.known.hear(now, &from);
            if was_dead && self.standing == Standing::Member {
                self.merge(now, &from);
            }
            self.notice(now, &from);
        }
        match body {
            Body::Ask(question) => {
                let answer = self.answer(&from, question);
                self.send(from, nonce, Body::Answer(answer));
            }
            Body::Answer(answer) => {
                // One that was not asked does not end the wait for one that was.
                let is_expected = self.pending.get(&nonce).is_some_and(|pending| pending.to.id == from.id);
                if let Some(pending) = is_expected.then(|| self.pending.remove(&nonce)).flatten() {
                    self.known.measure(from.id, now.saturating_sub(pending.sent));
                    self.hear(now, pending, answer);
                }
            }
            Body::Tell(notice) if self.standing == Standing::Member => match notice {
                Notice::Here if is_member => self.meet(now, &from),
                Notice::Meet { contact } if self.config.identity.allows(&contact) => self.merge(now, &contact),
                Notice::Here | Notice::Meet { .. } => {}
            },
            Body::Tell(_) => {}
        }
        self.show_changes();
    }

    fn answer(&mut self, from: &Contact, question: Question) -> Answer {
        if !self.is_member() {
            return Answer::Outside;
        }
        match question {
            Question::Neighbours { known } => {
                let neighbours = self.core.neighbours();
                if neighbours.digest() == known { Answer::Same } else { Answer::Neighbours(neighbours) }
            }
            Question::Find { key } => Answer::Found(self.found(key)),
            Question::Leaving { neighbours } => {
                self.core.part(from, &neighbours);
                self.fingers.retain(|_, finger| finger.contact.id != from.id);
                self.known.be_dead(from);
                Answer::Noted
            }
        }
    }

    /// What we know on the way to a place.
    fn found(&self, key: Id) -> Found {
        let neighbours = self.core.neighbours_for(key);
        let mut nearer = self.nearest_before(key, NEARER_BEFORE);
        nearer.extend(self.nearest_after(key, NEARER_AFTER));
        nearer.retain(|contact| contact.id != self.me.id);
        Found { neighbours, nearer }
    }

    /// Those that we would ask for a place, the nearest first.
    fn nearest_before(&self, key: Id, count: usize) -> Vec<Contact> {
        let near = self.core.successors().iter().chain(self.core.predecessor()).chain(self.finger_contacts());
        let known = self.known.before(key).take(if self.config.uses_known { count } else { 0 });
        // Who sits on the place is not before it.
        let mut all: Vec<&Contact> = near.chain(known).filter(|contact| contact.id != key).collect();
        all.sort_by_cached_key(|contact| contact.id.distance_to(key));
        all.dedup_by_key(|contact| contact.id);
        all.into_iter().filter(|contact| !self.known.is_doubtful(contact.id)).take(count).cloned().collect()
    }

    fn nearest_after(&self, key: Id, count: usize) -> Vec<Contact> {
        let known = self.known.after(key).filter(|_| self.config.uses_known);
        let mut all: Vec<&Contact> = self.core.successors().iter().chain(known).collect();
        all.sort_by_cached_key(|contact| key.distance_to(contact.id));
        all.dedup_by_key(|contact| contact.id);
        all.into_iter().filter(|contact| !self.known.is_doubtful(contact.id)).take(count).cloned().collect()
    }

    fn ask(&mut self, now: Duration, to: &Contact, question: Question, purpose: Purpose, tries: u8) {
        self.numbers += 1;
        let nonce = self.numbers ^ (self.chance << 32);
        // Each further try waits twice as long: the network may have become slow rather than empty.
        let deadline = now + self.known.timeout(to.id) * (1 << tries.min(3));
        let (to_ask, is_late) = (to.clone(), false);
        let pending = Pending { to: to_ask, question: question.clone(), purpose, sent: now, deadline, tries, is_late };
        self.pending.insert(nonce, pending);
        self.send(to.clone(), nonce, Body::Ask(question));
    }

    fn tell(&mut self, to: Contact, notice: Notice) {
        self.send(to, 0, Body::Tell(notice));
    }

    fn send(&mut self, to: Contact, nonce: u64, body: Body) {
        if to.id == self.me.id {
            return;
        }
        // Who has handed over is not to be taken for a neighbour again.
        let is_member = matches!(self.standing, Standing::Member | Standing::Leaving { is_handed_over: false, .. });
        let envelope = Envelope { to: to.id, from: self.me.clone(), nonce, is_member, body };
        self.outputs.push_back(Output::Send { to, envelope });
    }

    fn hear(&mut self, now: Duration, pending: Pending, answer: Answer) {
        match (pending.purpose, answer) {
            (Purpose::Stabilise { .. } | Purpose::Doubt, Answer::Outside) => self.bury(now, &pending.to),
            (Purpose::Finger(bit), Answer::Outside) => {
                self.bury(now, &pending.to);
                self.look_up_finger(now, bit);
            }
            (Purpose::Finger(bit), Answer::Neighbours(told)) => self.keep_finger(now, bit, &pending.to, &told),
            (Purpose::Stabilise { round }, Answer::Neighbours(told)) => {
                self.told = Some((pending.to.id, told.clone()));
                self.stabilised(now, &pending.to, &told, round);
            }
            (Purpose::Stabilise { round }, Answer::Same) => {
                if let Some((_, told)) = self.told.clone().filter(|(id, _)| *id == pending.to.id) {
                    self.stabilised(now, &pending.to, &told, round);
                }
            }
            (Purpose::Lookup(id), Answer::Found(found)) => {
                let took = now.saturating_sub(pending.sent);
                self.found_more(now, id, pending.to.id, Some((found, took)));
            }
            (Purpose::Lookup(id), _) => self.found_more(now, id, pending.to.id, None),
            (Purpose::Leave, _) => self.told_of_leaving(),
            // It lives, which is all that was to be known; or it answers what was not asked.
            (Purpose::Doubt | Purpose::Stabilise { .. } | Purpose::Finger(_), _) => {}
        }
    }

    /// A question went unanswered for its time.
    fn miss(&mut self, now: Duration, pending: Pending) {
        self.known.be_silent(pending.to.id);
        match pending.purpose {
            Purpose::Lookup(id) => {
                self.found_more(now, id, pending.to.id, None);
                self.doubt(now, &pending.to);
            }
            purpose if pending.tries + 1 < self.config.tries => {
                if pending.tries == 0 {
                    self.doubt_next(now, pending.to.id);
                }
                self.ask(now, &pending.to, pending.question, purpose, pending.tries + 1);
            }
            Purpose::Leave => self.told_of_leaving(),
            Purpose::Stabilise { .. } | Purpose::Doubt => self.bury(now, &pending.to),
            Purpose::Finger(bit) => {
                self.bury(now, &pending.to);
                self.look_up_finger(now, bit);
            }
        }
    }

    fn finger_contacts(&self) -> impl Iterator<Item = &Contact> {
        self.fingers.values().map(|finger| &finger.contact)
    }

    fn is_asking(&self, id: Id, is_so: impl Fn(Purpose) -> bool) -> bool {
        self.pending.values().any(|pending| pending.to.id == id && is_so(pending.purpose))
    }

    /// Tells those who live on the ring what is different from what they were told last.
    fn show_changes(&mut self) {
        if !self.is_member() {
            return;
        }
        let (floor, me) = self.core.arc();
        let is_news = match &self.shown {
            None => true,
            Some((shown, neighbours)) => {
                *shown != floor
                    || neighbours.predecessor.as_ref() != self.core.predecessor()
                    || neighbours.successors != self.core.successors()
            }
        };
        if !is_news {
            return;
        }
        let neighbours = self.core.neighbours();
        match &self.shown {
            None => self.outputs.push_back(Output::Event(Event::Joined { arc: (floor, me) })),
            Some((old, _)) if *old == floor => {}
            Some((old, _)) => {
                let event = if old.is_between(floor, me) {
                    Event::RangeGained { from: floor, to: *old }
                } else {
                    Event::RangeLost { from: *old, to: floor }
                };
                self.outputs.push_back(Output::Event(event));
            }
        }
        let Neighbours { predecessor, successors, .. } = neighbours.clone();
        self.outputs.push_back(Output::Event(Event::NeighboursChanged { predecessor, successors }));
        self.shown = Some((floor, neighbours));
    }

    /// Somewhere between 3/4 and 5/4 of it, so that nodes that started together do not ask together for ever.
    fn about(&mut self, time: Duration) -> Duration {
        let part = u32::try_from(self.draw() % 512).unwrap_or(0);
        time * (768 + part) / 1024
    }

    /// The next number of our own chance (xorshift*).
    fn draw(&mut self) -> u64 {
        self.chance ^= self.chance >> 12;
        self.chance ^= self.chance << 25;
        self.chance ^= self.chance >> 27;
        self.chance.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}
