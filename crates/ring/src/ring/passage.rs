//! Coming and going: beginning a ring, joining one, coming back to one, leaving in good order.

use super::{Finger, Output, Purpose, Ring, Standing};
use crate::contact::Contact;
use crate::core::Core;
use crate::event::Event;
use crate::lookup::Verdict;
use crate::ring::search::Aim;
use crate::wire::Question;
use std::time::Duration;

/// Peers that a newcomer asks for its place in one attempt.
const VIA_MAX: usize = 8;
/// A member whose peers all were silent for so long goes on alone, whatever newcomers do: if all of a ring asked each other for ever, there
/// would be none.
const STRANDED_ALONE_AFTER: Duration = Duration::from_secs(30);
/// Between two attempts to join.
const JOIN_AGAIN_AFTER: Duration = Duration::from_secs(1);

impl Ring {
    /// Begins a ring of one.
    pub fn begin_ring(&mut self, now: Duration) {
        self.core = Core::alone(self.me.clone(), self.config.depth, self.config.planted);
        self.become_member(now);
        self.show_changes();
    }

    /// Joins the ring that these belong to, sooner or later: it is tried until it succeeds, or until
    /// [`Config::alone_after`](crate::Config::alone_after).
    pub fn join(&mut self, now: Duration, via: Vec<Contact>) {
        for contact in via.iter().filter(|contact| contact.id != self.me.id) {
            self.known.mention(contact);
        }
        self.standing = Standing::Joining { via, since: now, again_at: now };
        self.drive_passage(now);
    }

    /// A member with known neighbours from the beginning, as a simulator sets up a large ring.
    pub fn begin_as(&mut self, now: Duration, core: Core, fingers: Vec<(u8, Contact)>) {
        let near: Vec<Contact> = core.predecessor().into_iter().chain(core.successors()).cloned().collect();
        for contact in near.iter().chain(fingers.iter().map(|(_, finger)| finger)) {
            self.known.hear(now, contact);
        }
        self.core = core;
        self.fingers = fingers.into_iter().map(|(bit, contact)| (bit, Finger { contact, told: 0 })).collect();
        self.become_member(now);
        self.show_changes();
    }

    /// Wants to go: first what is ours is handed over.
    pub fn leave(&mut self, now: Duration) {
        match self.standing {
            Standing::Member => {}
            Standing::Leaving { .. } | Standing::Left => return,
            Standing::Outside | Standing::Joining { .. } => {
                self.standing = Standing::Left;
                self.lookups.clear();
                self.pending.clear();
                self.outputs.push_back(Output::Event(Event::Left));
                return;
            }
        }
        self.standing = Standing::Leaving { waits: 0, is_handed_over: false };
        let to = self.core.replicas(self.config.depth).split_off(1);
        if to.is_empty() {
            return self.handed_over(now);
        }
        self.outputs.push_back(Output::Event(Event::HandOver { to, arc: self.core.arc() }));
    }

    /// What was ours is with others: now the neighbours are told to close the gap.
    pub fn handed_over(&mut self, now: Duration) {
        if !matches!(self.standing, Standing::Leaving { is_handed_over: false, .. }) {
            return;
        }
        let neighbours = self.core.neighbours();
        let told = if self.core.is_whole() { neighbours.successors.len() } else { 1 };
        let mut to: Vec<Contact> = neighbours.successors.iter().take(told).cloned().collect();
        to.extend(neighbours.predecessor.clone().filter(|before| to.iter().all(|contact| contact.id != before.id)));
        self.standing = Standing::Leaving { waits: to.len(), is_handed_over: true };
        for contact in to {
            self.ask(now, &contact, Question::Leaving { neighbours: neighbours.clone() }, Purpose::Leave, 0);
        }
        self.end_if_told();
    }

    pub(super) fn told_of_leaving(&mut self) {
        if let Standing::Leaving { waits, .. } = &mut self.standing {
            *waits = waits.saturating_sub(1);
        }
        self.end_if_told();
    }

    fn end_if_told(&mut self) {
        if self.standing == (Standing::Leaving { waits: 0, is_handed_over: true }) {
            self.standing = Standing::Left;
            self.pending.clear();
            self.lookups.clear();
            self.outputs.push_back(Output::Event(Event::Left));
        }
    }

    pub(super) fn drive_passage(&mut self, now: Duration) {
        let Standing::Joining { via, since, again_at } = &self.standing else { return };
        if *again_at > now {
            return;
        }
        if self.lookups.values().any(|running| matches!(running.aim(), Aim::Join { .. })) {
            // Looked at again later: a moment that has passed would have us woken for ever.
            return self.try_again(now);
        }
        let was_member = self.shown.is_some();
        let alone_after = self.config.alone_after.or(was_member.then_some(STRANDED_ALONE_AFTER));
        if alone_after.is_some_and(|time| now.saturating_sub(*since) >= time) {
            return self.begin_ring(now);
        }
        // Those that we were told to ask, and some that we remember, others at each attempt.
        let mut ask: Vec<Contact> = via.iter().take(VIA_MAX).cloned().collect();
        for _ in 0..VIA_MAX {
            let at = usize::try_from(self.draw()).unwrap_or(0) % self.known.len().max(1);
            ask.extend(self.known.nth(at).cloned());
        }
        ask.retain(|contact| contact.id != self.me.id);
        if let Standing::Joining { again_at, .. } = &mut self.standing {
            *again_at = now + JOIN_AGAIN_AFTER;
        }
        if !ask.is_empty() {
            self.search(now, self.me.id, Aim::Join { via: ask });
        }
    }

    pub(super) fn try_again(&mut self, now: Duration) {
        if let Standing::Joining { again_at, .. } = &mut self.standing {
            *again_at = now + JOIN_AGAIN_AFTER;
        }
    }

    /// Our place was found.
    pub(super) fn joined(&mut self, now: Duration, verdict: &Verdict) {
        if !matches!(self.standing, Standing::Joining { .. }) {
            return;
        }
        let (me, depth, planted) = (self.me.clone(), self.config.depth, self.config.planted);
        self.core = Core::joined(me, depth, &verdict.before, &verdict.told_to_newcomer(), planted);
        self.become_member(now);
        let duties = self.core.arrived(&verdict.before);
        self.fulfil(now, duties, 0);
        self.stabilise(now);
    }

    /// All successors are dead: the ring must be entered anew.
    pub(super) fn come_back(&mut self, now: Duration) {
        let via = self.known.remembered();
        self.standing = Standing::Joining { via, since: now, again_at: now };
        self.drive_passage(now);
    }

    fn become_member(&mut self, now: Duration) {
        self.standing = Standing::Member;
        self.told = None;
        self.stabilise_at = now + self.about(self.config.stabilise_every);
        self.finger_at = now + self.about(self.config.finger_every);
        // Soon: if this is one of several rings, it should be known.
        self.probe_at = now + self.about(self.config.stabilise_every);
    }
}
