//! What became ours because another machine is not seen any more, and may not be gone: it may be cut off from us, and go on.
//!
//! Copies are given and answered for at once. But for as long as a lease lasts nobody asks a site in its place (decision 0016): by then whatever it had
//! begun is over, and a short cut has healed. Of a longer one both sides go on with the same hosts.

use herodotus_base::Id;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a lease lasts, and with it the wait of whoever takes over from the one that gave it.
pub(crate) const LEASE_LASTS: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Our arcs, by the node that they end at.
    arcs: BTreeMap<Id, (Id, Id)>,
    /// Pieces that were another's, and until when they are waited with.
    pieces: Vec<((Id, Id), Duration)>,
}

impl Taken {
    /// The arc of one of our nodes, as it is now. A node's first is not taken from anybody: its owner was there to give it.
    pub(super) fn set_arc(&mut self, now: Duration, node: Id, arc: (Id, Id)) {
        self.pieces.retain(|(_, until)| *until > now);
        let Some(old) = self.arcs.insert(node, arc) else { return };
        // Arcs end at our own place; only their beginning moves.
        if old.0 != arc.0 && old.0 != arc.1 && old.0.is_in(arc.0, arc.1) {
            self.pieces.push(((arc.0, old.0), now + LEASE_LASTS));
        }
    }

    pub(super) fn end_arc(&mut self, node: Id) {
        self.arcs.remove(&node);
    }

    /// Until when a place is waited with, if it is.
    pub(super) fn waits_until(&self, now: Duration, place: Id) -> Option<Duration> {
        let pieces = self.pieces.iter().filter(|((from, to), until)| *until > now && place.is_in(*from, *to));
        pieces.map(|(_, until)| *until).max()
    }

    /// Whether any of an arc is waited with.
    pub(super) fn waits_with(&self, now: Duration, arc: (Id, Id)) -> bool {
        self.pieces.iter().any(|((_, to), until)| *until > now && to.is_in(arc.0, arc.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: u8) -> Id {
        Id([place; 32])
    }

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_a_silent_machine_had_is_waited_with_and_what_was_ours_is_not() {
        let mut taken = Taken::default();
        let me = at(100);
        taken.set_arc(s(1), me, (at(80), me));
        assert_eq!(taken.waits_until(s(1), at(90)), None, "whoever had it before gave it to us");
        taken.set_arc(s(5), me, (at(50), me));
        assert_eq!(taken.waits_until(s(5), at(60)), Some(s(5) + LEASE_LASTS));
        assert_eq!(taken.waits_until(s(5), at(80)), Some(s(5) + LEASE_LASTS), "the other's own place is its last");
        assert_eq!(taken.waits_until(s(5), at(90)), None);
        assert!(taken.waits_with(s(5), (at(50), me)) && !taken.waits_with(s(5), (at(80), me)));
        assert_eq!(taken.waits_until(s(5) + LEASE_LASTS, at(60)), None);
        assert!(!taken.waits_with(s(5) + LEASE_LASTS, (at(50), me)));
    }

    #[test]
    fn who_comes_back_and_goes_again_is_waited_for_again() {
        let mut taken = Taken::default();
        let me = at(100);
        for (now, from) in [(1, 80), (5, 50), (8, 80), (12, 50)] {
            taken.set_arc(s(now), me, (at(from), me));
        }
        assert_eq!(taken.waits_until(s(13), at(60)), Some(s(12) + LEASE_LASTS));
        taken.set_arc(s(14), me, (at(50), me));
        assert_eq!(taken.waits_until(s(14), at(60)), Some(s(12) + LEASE_LASTS), "the same arc is no news");
    }

    #[test]
    fn all_others_may_fall_silent_and_an_arc_may_pass_zero() {
        let mut taken = Taken::default();
        let me = at(10);
        taken.set_arc(s(1), me, (at(250), me));
        taken.set_arc(s(2), me, (me, me));
        for place in [11, 100, 250] {
            assert!(taken.waits_until(s(3), at(place)).is_some(), "{place}");
        }
        for place in [251, 0, 10] {
            assert_eq!(taken.waits_until(s(3), at(place)), None, "{place}");
        }
        taken.set_arc(s(4), me, (at(200), me));
        assert!(!taken.waits_with(s(40), (at(200), me)));
        taken.end_arc(me);
        taken.set_arc(s(50), me, (at(100), me));
        assert_eq!(taken.waits_until(s(50), at(120)), None, "a node that begins anew");
    }
}
