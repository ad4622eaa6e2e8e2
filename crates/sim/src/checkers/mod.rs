//! One checker per promise. Each takes what is there and says what is wrong, in sentences; nothing means that the promise holds.
//!
//! Those that look at a [`View`] hold when faults have stopped and the ring had its time to settle. [`adoption`], [`events`] and
//! [`memory`] hold at every moment.

pub mod adoption;
pub mod events;
pub mod ideal;
pub mod lookups;
pub mod machines;
pub mod memory;
pub mod nobody_lost;
pub mod one_ring;
pub mod successors;

use herodotus_base::Id;
use herodotus_ring::{Contact, Ring};

/// All rings on machines that are up, at one moment.
#[derive(Clone, Debug, Default)]
pub struct View<'a> {
    /// By their places on the circle.
    members: Vec<&'a Ring>,
    /// Up, but not members.
    others: Vec<&'a Ring>,
}

impl<'a> View<'a> {
    pub fn new(rings: impl IntoIterator<Item = &'a Ring>) -> Self {
        let (mut members, others): (Vec<_>, Vec<_>) = rings.into_iter().partition(|ring| ring.is_member());
        members.sort_by_key(|ring| ring.me().id);
        Self { members, others }
    }

    pub fn members(&self) -> &[&'a Ring] {
        &self.members
    }

    pub fn others(&self) -> &[&'a Ring] {
        &self.others
    }

    pub fn member(&self, id: Id) -> Option<&'a Ring> {
        let at = self.members.binary_search_by_key(&id, |ring| ring.me().id).ok()?;
        self.members.get(at).copied()
    }

    /// The member that owns a key.
    pub fn owner(&self, key: Id) -> Option<&'a Ring> {
        let at = self.members.partition_point(|ring| ring.me().id < key);
        self.members.get(at).or(self.members.first()).copied()
    }

    /// All other members, as one meets them going clockwise from one.
    pub fn after(&self, id: Id) -> impl Iterator<Item = &'a Contact> {
        let at = self.members.partition_point(|ring| ring.me().id <= id);
        let (before, after) = self.members.split_at(at);
        after.iter().chain(before).map(|ring| ring.me()).filter(move |contact| contact.id != id)
    }

    pub fn before(&self, id: Id) -> Option<&'a Contact> {
        let at = self.members.partition_point(|ring| ring.me().id < id);
        let (before, after) = self.members.split_at(at);
        before.last().or(after.last()).map(|ring| ring.me()).filter(|contact| contact.id != id)
    }
}

/// Everything that must be so in a ring that had time to settle.
pub fn all_when_quiet(view: &View<'_>, depth: usize) -> Vec<String> {
    let mut wrong = nobody_lost::check(view);
    wrong.extend(one_ring::check(view));
    wrong.extend(successors::check(view));
    wrong.extend(ideal::check(view, depth));
    wrong.extend(machines::check(view));
    wrong
}
