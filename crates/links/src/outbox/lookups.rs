//! Places whose owners are worth asking for: a bounded number, each not sooner again than after a rest.

use crate::limits;
use herodotus_base::Id;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Wanted,
    /// Asked for, or failed: nothing more until then.
    Until(Duration),
}

#[derive(Debug, Default)]
pub(super) struct Lookups {
    open: BTreeMap<Id, State>,
}

impl Lookups {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn want(&mut self, place: Id, lookups_max: usize) {
        if self.open.len() < lookups_max {
            self.open.entry(place).or_insert(State::Wanted);
        }
    }

    pub(super) fn poll(&mut self, until: Duration) -> Option<Id> {
        let (place, state) = self.open.iter_mut().find(|(_, state)| **state == State::Wanted)?;
        *state = State::Until(until);
        Some(*place)
    }

    /// The owner of these is known.
    pub(super) fn settle(&mut self, arc: (Id, Id)) {
        self.open.retain(|place, _| !place.is_in(arc.0, arc.1));
    }

    pub(super) fn fail(&mut self, now: Duration, place: Id) {
        if let Some(state) = self.open.get_mut(&place) {
            *state = State::Until(now + limits::LOOKUP_REST);
        }
    }

    /// Whether something between the two (with both) is being asked for.
    pub(super) fn has(&mut self, now: Duration, from: Id, last: Id) -> bool {
        self.open.retain(|_, state| !matches!(state, State::Until(until) if *until <= now));
        self.open.range(from..=last.max(from)).next().is_some()
    }
}
