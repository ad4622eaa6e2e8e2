//! What an outbox knows of the ring: its own arcs, arcs whose owners were heard of, nodes that may walk with links, and who failed lately.
//!
//! All of it is hearsay and may be wrong: a wrong owner passes on what is not its own. Everything is bounded; what is forgotten is learnt again.

use crate::config::Config;
use crate::rule::Costs;
use herodotus_base::{Id, PeerKey};
use herodotus_ring::Contact;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

pub(crate) const LAST_PLACE: Id = Id([u8::MAX; 32]);

#[derive(Clone, Debug)]
struct Owner {
    /// The arc begins after this.
    from: Id,
    contact: Contact,
    until: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Trouble {
    fails: u32,
    until: Duration,
}

/// A part of the circle, up to `last` in the order of places, with one owner or none that we know.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) owner: Option<Contact>,
    pub(crate) last: Id,
}

/// Somebody who is nearer to a place than we are.
#[derive(Clone, Debug)]
pub(crate) struct Walker {
    pub(crate) contact: Contact,
    /// Steps from it to the owner, as far as one can tell.
    pub(crate) steps: f64,
}

#[derive(Debug, Default)]
pub(crate) struct Atlas {
    own: Vec<(Contact, (Id, Id))>,
    /// By the end of the arc.
    owners: BTreeMap<Id, Owner>,
    near: BTreeMap<Id, Contact>,
    troubles: BTreeMap<PeerKey, Trouble>,
    /// Machines that have work until then, and need no links before.
    held: BTreeMap<PeerKey, Duration>,
    /// As [`Atlas::count_nodes`] found it last.
    nodes: f64,
}

impl Atlas {
    pub(crate) fn set_own(&mut self, nodes: &[(Contact, (Id, Id))]) {
        self.own = nodes.to_vec();
        self.count_nodes();
    }

    /// Forgets owners whose time is over.
    pub(crate) fn expire(&mut self, now: Duration) {
        self.owners.retain(|_, owner| owner.until > now);
        self.held.retain(|_, until| *until > now);
        self.count_nodes();
    }

    pub(crate) fn hold(&mut self, machine: PeerKey, now: Duration, until: Duration) {
        let has_room = self.held.len() < crate::limits::HELD_MAX || self.held.contains_key(&machine);
        match until > now && has_room {
            true => _ = self.held.insert(machine, until),
            false => _ = self.held.remove(&machine),
        }
    }

    pub(crate) fn held_until(&self, now: Duration, contact: &Contact) -> Option<Duration> {
        self.held.get(&contact.key).copied().filter(|until| *until > now)
    }

    pub(crate) fn is_own(&self, contact: &Contact) -> bool {
        self.own.iter().any(|(own, _)| own.key == contact.key)
    }

    /// What is new is believed before what is old.
    pub(crate) fn learn_owner(&mut self, now: Duration, arc: (Id, Id), contact: Contact, config: &Config) {
        let (from, to) = arc;
        if from == to {
            self.owners.clear();
        }
        self.owners.retain(|end, _| !end.is_in(from, to));
        if let Some((_, next)) = self.owners.range_mut(to..).next().filter(|(end, next)| to.is_in(next.from, **end)) {
            next.from = to;
        } else if let Some((_, next)) = self.owners.iter_mut().next().filter(|(end, next)| to.is_in(next.from, **end)) {
            next.from = to;
        }
        if self.owners.len() >= config.owners_max.max(1) {
            let oldest = self.owners.iter().min_by_key(|(_, owner)| owner.until).map(|(end, _)| *end);
            oldest.and_then(|end| self.owners.remove(&end));
        }
        self.owners.insert(to, Owner { from, contact, until: now + config.owner_lasts });
        self.count_nodes();
    }

    /// The nodes we know now; those that are not among them are forgotten.
    pub(crate) fn learn_near(&mut self, contacts: &[Contact], near_max: usize) {
        let others = contacts.iter().filter(|contact| !self.is_own(contact));
        self.near = others.take(near_max).map(|contact| (contact.id, contact.clone())).collect();
        self.count_nodes();
    }

    pub(crate) fn fail(&mut self, now: Duration, contact: &Contact, config: &Config) {
        self.owners.retain(|_, owner| owner.contact.key != contact.key);
        self.held.remove(&contact.key);
        self.rest(now, contact, config, config.backoff_max);
    }

    /// It is there, and cannot take links yet: it stays the owner of what it owns.
    pub(crate) fn refuse(&mut self, now: Duration, contact: &Contact, config: &Config) {
        self.rest(now, contact, config, config.refused_rest_max);
    }

    fn rest(&mut self, now: Duration, contact: &Contact, config: &Config, rest_max: Duration) {
        let fails = self.troubles.get(&contact.key).map_or(0, |trouble| trouble.fails);
        let rest = config.backoff_first.saturating_mul(1 << fails.min(20)).min(rest_max);
        self.troubles.insert(contact.key, Trouble { fails: fails.saturating_add(1), until: now + rest });
        if self.troubles.len() > crate::limits::TROUBLES_MAX {
            let least = self.troubles.iter().min_by_key(|(_, trouble)| trouble.until).map(|(key, _)| *key);
            least.and_then(|key| self.troubles.remove(&key));
        }
    }

    pub(crate) fn succeed(&mut self, contact: &Contact) {
        self.troubles.remove(&contact.key);
    }

    pub(crate) fn rests(&self, now: Duration, contact: &Contact) -> bool {
        self.troubles.get(&contact.key).is_some_and(|trouble| trouble.until > now)
    }

    /// What is known of a place, and how far that reaches.
    pub(crate) fn stretch(&self, now: Duration, place: Id) -> Stretch {
        if let Some((contact, (_, to))) = self.own.iter().find(|(_, (from, to))| place.is_in(*from, *to)) {
            return Stretch { owner: Some(contact.clone()), last: end_of(place, *to) };
        }
        let known = self.owners.range(place..).next().or_else(|| self.owners.iter().next());
        if let Some((to, owner)) = known.filter(|(to, owner)| place.is_in(owner.from, **to) && owner.until > now) {
            // What is our own within it comes first.
            let last = self.first_start(place, end_of(place, *to), false);
            return Stretch { owner: Some(owner.contact.clone()), last };
        }
        Stretch { owner: None, last: self.first_start(place, ahead(place, 1.0 / self.nodes.max(1.0)), true) }
    }

    /// `last`, or the first beginning of an arc from `place` on.
    fn first_start(&self, place: Id, last: Id, with_others: bool) -> Id {
        let own = self.own.iter().map(|(_, (from, _))| *from);
        let next = self.owners.range(place..).next().map(|(_, owner)| owner.from);
        let wrapping = self.owners.iter().next().map(|(_, owner)| owner.from);
        let others = [next, wrapping].into_iter().flatten().filter(|_| with_others);
        own.chain(others).filter(|from| *from >= place).fold(last, Id::min)
    }

    /// The nearest node before a place that we know and that does not rest; none if we are nearer ourselves.
    pub(crate) fn walker(&self, now: Duration, place: Id, costs: &Costs) -> Option<Walker> {
        let before = (Bound::Unbounded, Bound::Excluded(place));
        let after = (Bound::Included(place), Bound::Unbounded);
        let backwards =
            self.near.range::<Id, _>(before).rev().chain(self.near.range::<Id, _>(after).rev()).map(|(_, at)| at);
        let contact = backwards.take(WALKERS_TRIED).find(|contact| !self.rests(now, contact))?;
        let distance = contact.id.distance_to(place);
        if self.own.iter().any(|(own, _)| own.id.distance_to(place) < distance) {
            return None;
        }
        let steps = costs.steps(distance.share() * self.nodes);
        Some(Walker { contact: contact.clone(), steps })
    }

    /// How many nodes the ring has, roughly: as many as fit with arcs like those we know, and no fewer than we know.
    fn count_nodes(&mut self) {
        let arcs = self.owners.iter().map(|(to, owner)| (owner.from, *to)).chain(self.own.iter().map(|(_, arc)| *arc));
        let (count, sum) = arcs.fold((0.0, 0.0), |(count, sum), (from, to)| {
            let share = if from == to { 1.0 } else { from.distance_to(to).share() };
            (count + 1.0, sum + share)
        });
        let by_arcs: f64 = if sum > 0.0 { count / sum } else { 1.0 };
        self.nodes = by_arcs.max((self.near.len() + self.own.len()) as f64).clamp(1.0, 1e9);
    }

    /// Entries of all kinds, for who watches memory.
    pub(crate) fn len(&self) -> [usize; 3] {
        [self.owners.len(), self.near.len(), self.troubles.len()]
    }
}

/// Walkers that rest and are passed over before we rather ask who the owner is: a farther one saves little.
const WALKERS_TRIED: usize = 4;

/// Where an arc that has this place ends, in the order of places: it may go on beyond the last.
fn end_of(place: Id, to: Id) -> Id {
    if place <= to { to } else { LAST_PLACE }
}

/// So much of the circle further, or the last place.
fn ahead(place: Id, share: f64) -> Id {
    let high = u64::from_be_bytes(std::array::from_fn(|at| place.0[at]));
    let more = (share * 2f64.powi(64)) as u64;
    let Some(sum) = high.checked_add(more) else { return LAST_PLACE };
    let mut out = place;
    out.0[..8].copy_from_slice(&sum.to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn contact(n: u8) -> Contact {
        Contact { id: Id::small(n), key: PeerKey([n; 32]), index: 0, addresses: Vec::new() }
    }

    fn arc(from: u8, to: u8) -> (Id, Id) {
        (Id::small(from), Id::small(to))
    }

    fn owner(atlas: &Atlas, place: u8) -> (Option<u8>, Id) {
        let stretch = atlas.stretch(S, Id::small(place));
        (stretch.owner.map(|contact| contact.id.0[0]), stretch.last)
    }

    #[test]
    fn new_arcs_are_believed_before_old_ones() {
        let (mut atlas, config) = (Atlas::default(), Config::default());
        atlas.learn_owner(S, arc(250, 10), contact(10), &config);
        assert_eq!(owner(&atlas, 251), (Some(10), LAST_PLACE));
        assert_eq!(owner(&atlas, 5), (Some(10), Id::small(10)));
        assert_eq!(owner(&atlas, 11).0, None);
        atlas.learn_owner(S, arc(250, 4), contact(4), &config);
        assert_eq!((owner(&atlas, 3), owner(&atlas, 5).0), ((Some(4), Id::small(4)), Some(10)));
        atlas.learn_owner(S, arc(240, 252), contact(252), &config);
        assert_eq!((owner(&atlas, 252).0, owner(&atlas, 253).0), (Some(252), Some(4)));
        // One that is alone owns everything.
        atlas.learn_owner(S, arc(9, 9), contact(9), &config);
        assert_eq!((owner(&atlas, 1).0, owner(&atlas, 200)), (Some(9), (Some(9), LAST_PLACE)));
    }

    #[test]
    fn an_owner_is_forgotten_when_it_fails_or_its_time_is_over() {
        let (mut atlas, config) = (Atlas::default(), Config::default());
        atlas.learn_owner(S, arc(1, 10), contact(10), &config);
        atlas.fail(S, &contact(10), &config);
        assert!(owner(&atlas, 5).0.is_none() && atlas.rests(S, &contact(10)) && !atlas.rests(2 * S, &contact(10)));
        atlas.fail(2 * S, &contact(10), &config);
        assert!(atlas.rests(3 * S, &contact(10)) && !atlas.rests(4 * S, &contact(10)));
        atlas.learn_owner(S, arc(1, 10), contact(10), &config);
        assert!(atlas.stretch(S + config.owner_lasts, Id::small(5)).owner.is_none());
    }

    #[test]
    fn a_walker_is_nearer_than_we_are_or_there_is_none() {
        let mut atlas = Atlas::default();
        let costs = Costs::default();
        atlas.set_own(&[(contact(100), arc(90, 100))]);
        atlas.learn_near(&[contact(50), contact(120), contact(200)], 10);
        let to = |atlas: &Atlas, place| atlas.walker(S, Id::small(place), &costs).map(|walker| walker.contact.id.0[0]);
        assert_eq!([110, 130, 201, 49].map(|place| to(&atlas, place)), [None, Some(120), Some(200), Some(200)]);
        atlas.fail(S, &contact(200), &Config::default());
        assert_eq!(to(&atlas, 201), Some(120));
    }

    #[test]
    fn what_is_not_known_ends_where_something_known_begins() {
        let (mut atlas, config) = (Atlas::default(), Config::default());
        atlas.set_own(&[(contact(100), arc(90, 100))]);
        atlas.learn_owner(S, arc(40, 48), contact(48), &config);
        // Arcs of 9 in 256 on average: 28 nodes or so.
        assert_eq!(owner(&atlas, 37), (None, Id::small(40)));
        let (none, last) = owner(&atlas, 60);
        assert!(none.is_none() && Id::small(68) < last && last < Id::small(70), "{last:?}");
        assert_eq!(owner(&atlas, 85), (None, Id::small(90)));
    }

    #[test]
    fn nothing_grows_beyond_its_bound() {
        let config = Config { owners_max: 8, near_max: 8, ..Config::default() };
        let mut atlas = Atlas::default();
        for n in 0..5_000_u32 {
            let mut key = [0; 32];
            key[..4].copy_from_slice(&n.wrapping_mul(0x9e37_79b9).to_be_bytes());
            let contact = Contact { id: Id(key), key: PeerKey(key), index: 0, addresses: Vec::new() };
            atlas.learn_owner(S * n, (Id(key), Id(key).plus_power(200)), contact.clone(), &config);
            atlas.learn_near(&vec![contact.clone(); 20], config.near_max);
            if n % 2 == 0 {
                atlas.fail(S * n, &contact, &config);
            }
        }
        let [owners, near, troubles] = atlas.len();
        assert!(owners <= 8 && near <= 8 && troubles == crate::limits::TROUBLES_MAX, "{owners} {near} {troubles}");
    }
}
