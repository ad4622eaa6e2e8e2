//! What the ring tells those who live on it.
//!
//! Order: for one input, first [`Event::PeerDead`], then [`Event::RangeLost`] or [`Event::RangeGained`], then
//! [`Event::NeighboursChanged`]; [`Event::Joined`] comes before the first of these, [`Event::Left`] is the last of all.
//! Ranges tell changes only: their sum since `Joined` (the whole circle for who begins a ring) is always [`crate::Ring::arc`]. They
//! follow what a node believes: after a split both sides own the same keys until the rings are one again.

use crate::contact::Contact;
use crate::lookup::{Stop, Verdict};
use herodotus_base::Id;

#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "events are few, and gone as soon as they are told")]
pub enum Event {
    /// We are a member, and own the keys on `(arc.0, arc.1]`.
    Joined { arc: (Id, Id) },
    /// A neighbour or finger did not answer for long enough. It may come back.
    PeerDead { contact: Contact },
    /// Keys on `(from, to]` are now ours.
    RangeGained { from: Id, to: Id },
    /// Keys on `(from, to]` are now another's.
    RangeLost { from: Id, to: Id },
    /// Copies belong on these machines now.
    NeighboursChanged { predecessor: Option<Contact>, successors: Vec<Contact> },
    /// We want to go. Hand over to these, then call [`crate::Ring::handed_over`].
    HandOver { to: Vec<Contact>, arc: (Id, Id) },
    /// We belong to the ring no more.
    Left,
    /// A search that was asked for has ended.
    LookupDone { id: LookupId, key: Id, outcome: Result<Verdict, LookupFailure>, stops: Vec<Stop> },
}

/// Names a lookup within one node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LookupId(pub u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LookupFailure {
    /// We belong to no ring yet.
    Outside,
    /// Too many are under way.
    Busy,
    /// Nobody could be believed to own it in time. The ring is mending, or out of reach: try again.
    TimedOut,
}

impl std::fmt::Display for LookupFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Outside => "this node belongs to no ring yet",
            Self::Busy => "too many lookups are under way",
            Self::TimedOut => "no owner could be found in time: the ring is mending or out of reach; try again",
        })
    }
}
