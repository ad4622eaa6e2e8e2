//! Lookups under way: who wants them, and what is done when they end.

use super::{Finger, Purpose, Ring, Standing};
use crate::contact::Contact;
use crate::event::{Event, LookupFailure, LookupId};
use crate::lookup::{Lookup, Stop, Verdict};
use crate::ring::Output;
use crate::wire::{Found, Question};
use herodotus_base::Id;
use std::time::Duration;

/// A lookup that came to nothing is begun again after this, from what we know by then.
const AGAIN_AFTER: Duration = Duration::from_millis(400);

/// Who wants to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Aim {
    User,
    Finger(u8),
    /// Our place in a ring that these belong to.
    Join {
        via: Vec<Contact>,
    },
    Merge {
        via: Contact,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Running {
    aim: Aim,
    lookup: Lookup,
    /// Set while it rests between two attempts.
    again_at: Option<Duration>,
    deadline: Duration,
}

impl Running {
    pub(super) fn aim(&self) -> &Aim {
        &self.aim
    }

    pub(super) fn wake_at(&self) -> Duration {
        self.again_at.map_or(self.deadline, |again| again.min(self.deadline))
    }
}

impl Ring {
    /// Begins a search for the owner of a place. It ends with [`Event::LookupDone`], always.
    pub fn lookup(&mut self, now: Duration, key: Id) -> LookupId {
        let failure = match self.standing {
            Standing::Member | Standing::Leaving { .. } if self.lookups.len() < self.config.lookups_max => None,
            Standing::Member | Standing::Leaving { .. } => Some(LookupFailure::Busy),
            Standing::Outside | Standing::Joining { .. } | Standing::Left => Some(LookupFailure::Outside),
        };
        match failure {
            None => self.search(now, key, Aim::User),
            Some(failure) => {
                self.numbers += 1;
                let id = LookupId(self.numbers);
                self.end(id, key, Err(failure), Vec::new());
                id
            }
        }
    }

    pub(super) fn search(&mut self, now: Duration, key: Id, aim: Aim) -> LookupId {
        self.numbers += 1;
        let id = LookupId(self.numbers);
        let deadline = now + self.config.lookup_time_max;
        let lookup = self.begin(key, &aim);
        self.lookups.insert(id, Running { aim, lookup, again_at: None, deadline });
        self.go_on(now, id);
        id
    }

    /// A fresh start from what is known now.
    fn begin(&self, key: Id, aim: &Aim) -> Lookup {
        let avoid = matches!(aim, Aim::Join { .. } | Aim::Merge { .. }).then_some(self.me.id);
        // Nobody waits for a finger, nor for finding that there is no other ring.
        let is_urgent = matches!(aim, Aim::User | Aim::Join { .. });
        let parallel_max = if is_urgent { self.config.parallel_max } else { 1 };
        let mut lookup = Lookup::new(key, avoid, parallel_max, self.config.asked_max);
        match aim {
            Aim::Join { via } => via.iter().for_each(|contact| lookup.begin_with(contact, false)),
            Aim::Merge { via } => lookup.begin_with(via, false),
            Aim::User | Aim::Finger(_) => lookup.begin_at(&self.me, self.found(key)),
        }
        lookup
    }

    /// An answer for a lookup, or none.
    pub(super) fn found_more(&mut self, now: Duration, id: LookupId, from: Id, found: Option<(Found, Duration)>) {
        let Some(running) = self.lookups.get_mut(&id) else { return };
        match found {
            Some((found, took)) => running.lookup.hear(from, found, Some(took)),
            None => running.lookup.fail(from),
        }
        self.go_on(now, id);
    }

    pub(super) fn drive_lookups(&mut self, now: Duration) {
        let due: Vec<_> =
            self.lookups.iter().filter(|(_, running)| running.wake_at() <= now).map(|(id, _)| *id).collect();
        for id in due {
            let Some(running) = self.lookups.get_mut(&id) else { continue };
            if running.deadline <= now {
                self.finish(now, id, None);
                continue;
            }
            running.again_at = None;
            let (key, aim) = (running.lookup.key(), running.aim.clone());
            let lookup = self.begin(key, &aim);
            if let Some(running) = self.lookups.get_mut(&id) {
                running.lookup = lookup;
            }
            self.go_on(now, id);
        }
    }

    fn go_on(&mut self, now: Duration, id: LookupId) {
        loop {
            let Some(running) = self.lookups.get_mut(&id) else { return };
            if running.again_at.is_some() {
                return;
            }
            if let Some(verdict) = running.lookup.verdict() {
                return self.finish(now, id, Some(verdict));
            }
            match running.lookup.next_to_ask() {
                Some(contact) if contact.id == self.me.id => {
                    let place = running.lookup.place_to_ask(contact.id);
                    let found = self.found(place);
                    if let Some(running) = self.lookups.get_mut(&id) {
                        running.lookup.hear(self.me.id, found, None);
                    }
                }
                Some(contact) => {
                    // Half as patient as with neighbours: a lookup is to end in time.
                    let tries = running.lookup.silences(contact.id) / 2;
                    let key = running.lookup.place_to_ask(contact.id);
                    self.ask(now, &contact, Question::Find { key }, Purpose::Lookup(id), tries);
                }
                None if running.lookup.is_spent() => {
                    // All that we would have named to another were dead.
                    let fingers = self.fingers.values().map(|finger| &finger.contact);
                    let near: Vec<Contact> = self.core.successors().iter().chain(fingers).cloned().collect();
                    if matches!(running.aim, Aim::User | Aim::Finger(_)) && running.lookup.widen(&near) {
                        continue;
                    }
                    let nearest = running.lookup.nearest();
                    match running.aim {
                        // Beside a stretch where more died than a list holds nobody can be believed, and somebody must close it.
                        Aim::Merge { .. } => return self.finish(now, id, nearest),
                        Aim::Join { .. } if nearest.is_some() && self.shown.is_some() => {
                            return self.finish(now, id, nearest);
                        }
                        // Whoever looks for a finger has others to look for; whoever waits for an owner wants it found.
                        Aim::Finger(_) => return self.finish(now, id, None),
                        Aim::User | Aim::Join { .. } => {}
                    }
                    running.again_at = Some(now + AGAIN_AFTER);
                    return;
                }
                None => return,
            }
        }
    }

    fn finish(&mut self, now: Duration, id: LookupId, verdict: Option<Verdict>) {
        let Some(running) = self.lookups.remove(&id) else { return };
        // What was heard before our clock leapt is too old to choose neighbours by.
        let is_old = running.deadline <= now && matches!(running.aim, Aim::Join { .. } | Aim::Merge { .. });
        let verdict = verdict.filter(|_| !is_old);
        // Questions that are still out keep teaching us who lives, but end no lookup.
        match (running.aim, verdict) {
            (Aim::User, verdict) => {
                let outcome = verdict.ok_or(LookupFailure::TimedOut);
                self.end(id, running.lookup.key(), outcome, running.lookup.stops());
            }
            (Aim::Finger(bit), Some(verdict)) if verdict.owner.id != self.me.id => {
                let told = verdict.owner_told.digest();
                self.fingers.insert(bit, Finger { contact: verdict.owner, told });
            }
            (Aim::Join { .. }, Some(verdict)) => self.joined(now, &verdict),
            (Aim::Join { .. }, None) => self.try_again(now),
            (Aim::Merge { .. }, Some(verdict)) if self.standing == Standing::Member => {
                self.merged(now, &verdict);
            }
            (Aim::Finger(_) | Aim::Merge { .. }, _) => {}
        }
    }

    fn end(&mut self, id: LookupId, key: Id, outcome: Result<Verdict, LookupFailure>, stops: Vec<Stop>) {
        self.outputs.push_back(Output::Event(Event::LookupDone { id, key, outcome, stops }));
    }
}
