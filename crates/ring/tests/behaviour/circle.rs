//! A few rings on a virtual clock: every message takes the same time, unless it is cut off, and every node is woken when it asked to be.

use herodotus_base::{Id, PeerKey};
use herodotus_ring::{Config, Contact, Envelope, Event, Identity, LookupFailure, Output, Ring, Verdict};
use std::collections::BTreeMap;
use std::time::Duration;

/// One way, between any two.
const LATENCY: Duration = Duration::from_millis(20);

/// What becomes of a message: it may be changed, or lost.
pub(crate) type Network = Box<dyn FnMut(&Contact, Envelope) -> Option<Envelope>>;

pub(crate) struct Circle {
    pub(crate) now: Duration,
    pub(crate) nodes: BTreeMap<Id, Ring>,
    pub(crate) network: Network,
    /// What each node told, one list for each input.
    pub(crate) events: BTreeMap<Id, Vec<Vec<Event>>>,
    in_flight: BTreeMap<(Duration, u64), (Contact, Envelope)>,
    sent: u64,
}

pub(crate) fn contact(place: u8) -> Contact {
    Contact { id: Id::small(place), key: PeerKey([place; 32]), index: 0, addresses: Vec::new() }
}

pub(crate) fn config() -> Config {
    Config { identity: Identity::Told, depth: 3, ..Config::default() }
}

/// A contact of a closed ring.
pub(crate) fn keyed(n: u8) -> Contact {
    Contact::of_key(PeerKey([n; 32]), 0, Vec::new())
}

impl Circle {
    pub(crate) fn new() -> Self {
        Self {
            now: Duration::ZERO,
            nodes: BTreeMap::new(),
            network: Box::new(|_, envelope| Some(envelope)),
            events: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            sent: 0,
        }
    }

    /// The first begins a ring, the others join it one after the other, and all settle.
    pub(crate) fn of(places: &[u8], config: &Config) -> Self {
        let mut circle = Self::new();
        for place in places {
            circle.enter(contact(*place), contact(places[0]), config.clone());
            circle.run_for(Duration::from_secs(3));
        }
        circle.run_for(Duration::from_secs(40));
        circle
    }

    pub(crate) fn enter(&mut self, me: Contact, via: Contact, config: Config) {
        let mut ring = Ring::new(me.clone(), config);
        if me.id == via.id {
            ring.begin_ring(self.now);
        } else {
            ring.join(self.now, vec![via]);
        }
        self.events.insert(me.id, Vec::new());
        self.nodes.insert(me.id, ring);
        self.collect(me.id);
    }

    pub(crate) fn node(&self, place: u8) -> &Ring {
        &self.nodes[&Id::small(place)]
    }

    /// Does something with a node, and takes what comes of it.
    pub(crate) fn with<T>(&mut self, id: Id, act: impl FnOnce(&mut Ring, Duration) -> T) -> T {
        let out = act(self.nodes.get_mut(&id).unwrap(), self.now);
        self.collect(id);
        out
    }

    /// It stops without a word.
    pub(crate) fn kill(&mut self, place: u8) {
        self.nodes.remove(&Id::small(place));
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        self.run_until(time, |_| false);
    }

    /// Until it is so, or the time is over. Gives whether it is so.
    pub(crate) fn run_until(&mut self, time: Duration, is_so: impl Fn(&Self) -> bool) -> bool {
        let end = self.now + time;
        while !is_so(self) {
            let message = self.in_flight.keys().next().map(|(at, _)| *at);
            let timer = self.nodes.iter().filter_map(|(id, ring)| Some((ring.poll_timeout()?, *id))).min();
            let next = message.into_iter().chain(timer.map(|(at, _)| at)).min().filter(|at| *at <= end);
            let Some(at) = next else {
                self.now = end;
                return is_so(self);
            };
            self.now = self.now.max(at);
            if message == Some(at) {
                let (_, (to, envelope)) = self.in_flight.pop_first().unwrap();
                if self.nodes.contains_key(&to.id) {
                    self.with(to.id, |ring, now| ring.handle_message(now, envelope));
                }
            } else if let Some((_, id)) = timer {
                self.with(id, |ring, now| ring.handle_timeout(now));
            }
        }
        true
    }

    pub(crate) fn look_up(&mut self, from: u8, key: Id) -> Result<Verdict, LookupFailure> {
        let from = Id::small(from);
        let id = self.with(from, |ring, now| ring.lookup(now, key));
        let outcome = |circle: &Self| {
            circle.events[&from].iter().flatten().rev().find_map(|event| match event {
                Event::LookupDone { id: done, outcome, .. } if *done == id => Some(outcome.clone()),
                _ => None,
            })
        };
        self.run_until(Duration::from_secs(60), |circle| outcome(circle).is_some());
        outcome(self).expect("a lookup ends")
    }

    /// Everybody has the neighbours that it should have.
    pub(crate) fn is_ideal(&self) -> bool {
        let ids: Vec<Id> = self.nodes.keys().copied().collect();
        self.nodes.values().enumerate().all(|(rank, ring)| {
            let others: Vec<Id> = (1..ids.len()).map(|step| ids[(rank + step) % ids.len()]).collect();
            let status = ring.status();
            let list = status.neighbours.successors.iter().map(|contact| contact.id);
            ring.is_member()
                && list.eq(others.iter().take(config().depth).copied())
                && status.neighbours.predecessor.map(|contact| contact.id) == others.last().copied()
                && ring.arc().0 == others.last().copied().unwrap_or(ids[rank])
        })
    }

    fn collect(&mut self, id: Id) {
        let Some(ring) = self.nodes.get_mut(&id) else { return };
        let mut told = Vec::new();
        while let Some(output) = ring.poll_output() {
            match output {
                Output::Event(event) => told.push(event),
                Output::Send { to, envelope } => {
                    if let Some(envelope) = (self.network)(&to, envelope) {
                        self.sent += 1;
                        self.in_flight.insert((self.now + LATENCY, self.sent), (to, envelope));
                    }
                }
            }
        }
        self.events.entry(id).or_default().push(told);
    }
}
