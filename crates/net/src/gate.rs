//! The door: how many strangers may knock at once, in all and from one address, and how many may stay.
//!
//! A stranger is a connection whose hello was not accepted yet. When many knock, they must show first that they are where they
//! say they are; when too many do, the next are turned away at once, which costs us one packet. What a visit holds is given
//! back when its [`Visit`] is dropped, whatever ended it.

use crate::Limits;
use crate::identity::place::site;
use crate::limits;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
pub(crate) struct Gate {
    counts: Mutex<Counts>,
    handshakes_max: usize,
    handshakes_per_address_max: usize,
    accepted_per_address_max: usize,
}

#[derive(Debug, Default)]
struct Counts {
    handshakes: usize,
    by_address: HashMap<IpAddr, OfAddress>,
    turned_away: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct OfAddress {
    handshakes: usize,
    accepted: usize,
}

#[derive(Debug)]
pub(crate) enum Verdict {
    Come(Visit),
    /// Show first that you are where you say.
    Prove,
    Go,
}

impl Gate {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            counts: Mutex::default(),
            handshakes_max: limits.handshakes_max,
            handshakes_per_address_max: limits.handshakes_per_address_max,
            accepted_per_address_max: limits.accepted_per_address_max,
        })
    }

    /// Somebody knocks. Without an address (a relay) only the sum counts.
    pub(crate) fn knock(self: &Arc<Self>, from: Option<IpAddr>, is_proven: bool) -> Verdict {
        let from = from.map(site);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.handshakes >= self.handshakes_max {
            counts.turned_away += 1;
            return Verdict::Go;
        }
        if !is_proven && counts.handshakes >= self.handshakes_max / limits::RETRY_SHARE {
            return Verdict::Prove;
        }
        if let Some(ip) = from {
            let of = counts.by_address.get(&ip).copied().unwrap_or_default();
            let is_new = of.handshakes + of.accepted == 0;
            if of.handshakes >= self.handshakes_per_address_max
                || of.handshakes + of.accepted >= self.accepted_per_address_max
                || (is_new && counts.by_address.len() >= limits::ADDRESSES_MAX)
            {
                counts.turned_away += 1;
                return Verdict::Go;
            }
            counts.by_address.entry(ip).or_default().handshakes += 1;
        }
        counts.handshakes += 1;
        Verdict::Come(Visit { gate: self.clone(), from, is_stranger: true })
    }

    /// How many were turned away so far.
    pub(crate) fn turned_away(&self) -> u64 {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).turned_away
    }

    fn change(&self, from: Option<IpAddr>, of_all: impl FnOnce(&mut Counts), of_one: impl FnOnce(&mut OfAddress)) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        of_all(&mut counts);
        if let Some(ip) = from
            && let Some(of) = counts.by_address.get_mut(&ip)
        {
            of_one(of);
            if of.handshakes + of.accepted == 0 {
                counts.by_address.remove(&ip);
            }
        }
    }
}

/// One that was let in as far as the mat.
#[derive(Debug)]
pub(crate) struct Visit {
    gate: Arc<Gate>,
    from: Option<IpAddr>,
    is_stranger: bool,
}

impl Visit {
    /// Its hello was accepted: it no longer counts as a stranger.
    pub(crate) fn welcome(&mut self) {
        if std::mem::take(&mut self.is_stranger) {
            self.gate.change(
                self.from,
                |counts| counts.handshakes -= 1,
                |of| {
                    of.handshakes -= 1;
                    of.accepted += 1;
                },
            );
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let was_stranger = self.is_stranger;
        self.gate.change(
            self.from,
            |counts| counts.handshakes -= usize::from(was_stranger),
            |of| {
                if was_stranger {
                    of.handshakes -= 1;
                } else {
                    of.accepted -= 1;
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Arc<Gate> {
        Gate::new(&Limits {
            handshakes_max: 8,
            handshakes_per_address_max: 3,
            accepted_per_address_max: 4,
            ..Limits::default()
        })
    }

    fn ip(n: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, n]))
    }

    fn come(gate: &Arc<Gate>, n: u8) -> Option<Visit> {
        match gate.knock(ip(n), true) {
            Verdict::Come(visit) => Some(visit),
            _ => None,
        }
    }

    #[test]
    fn one_address_cannot_shut_the_door_for_others() {
        let gate = gate();
        let visits: Vec<_> = (0..10).filter_map(|_| come(&gate, 1)).collect();
        assert_eq!(visits.len(), 3);
        assert_eq!(gate.turned_away(), 7);
        assert!(come(&gate, 2).is_some());
        drop(visits);
        assert!(come(&gate, 1).is_some());
        assert!(gate.counts.lock().unwrap().by_address.is_empty());
    }

    #[test]
    fn those_who_stay_count_for_their_address_and_no_longer_as_strangers() {
        let gate = gate();
        let mut stay = Vec::new();
        for _ in 0..4 {
            let mut visit = come(&gate, 1).unwrap();
            visit.welcome();
            stay.push(visit);
        }
        assert!(come(&gate, 1).is_none());
        assert_eq!(gate.counts.lock().unwrap().handshakes, 0);
        stay.pop();
        assert!(come(&gate, 1).is_some());
    }

    #[test]
    fn when_many_knock_they_must_show_where_they_are() {
        let gate = gate();
        let first = [gate.knock(ip(1), false), gate.knock(ip(2), false)];
        assert!(first.iter().all(|verdict| matches!(verdict, Verdict::Come(_))));
        assert!(matches!(gate.knock(ip(3), false), Verdict::Prove));
        assert!(matches!(gate.knock(ip(3), true), Verdict::Come(_)));
        let visits: Vec<_> = (10..30).filter_map(|n| come(&gate, n)).collect();
        assert_eq!(visits.len(), 6);
        assert!(matches!(gate.knock(ip(4), true), Verdict::Go));
        assert!(matches!(gate.knock(None, true), Verdict::Go));
    }
}
