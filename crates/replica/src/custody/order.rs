//! What the machine around is asked to do, and what may become of it.

use super::{Holders, Piece};
use herodotus_base::Id;
use herodotus_ring::Contact;

/// Names an order within one machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OrderId(pub u64);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    pub id: OrderId,
    pub task: Task,
    /// Of a comparison: what only the other has stays there, unless it is another state of what we hold (a removal, a newer version). Strays are brought home; to gather what lies around them would bring us whole arcs of others.
    pub gives_only: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
    /// Compare what both hold on the arc `(from, to]`; send what the other lacks, take what we lack. Ends well when both have
    /// everything, durably, that either can read: what is damaged is passed over, and mended on its own.
    Compare { with: Contact, from: Id, to: Id },
    /// Let the other prove that it has some entries on the arc: which ones follows from the nonce.
    Audit { with: Contact, from: Id, to: Id, nonce: u64 },
    /// The same of the owner of an arc that we copy. Nothing that is on its way is a lie: some entries that we have are picked, the owner is brought what it lacks of
    /// the arc (nothing is taken), and only then asked to prove that it has those.
    Prove { with: Contact, from: Id, to: Id, nonce: u64 },
    /// Find the first place held here behind `after`, not going round, that lies on none of our own arcs; ask its owner who holds
    /// it; and say what we hold on the owner's arc from there on, of bounded size.
    Survey { after: Id },
    /// Ask whether the other holds every entry of the piece, by its mark.
    Confirm { with: Contact, piece: Piece },
    /// Let the entries of the piece go, if they are still those that were confirmed, on none of our own arcs, and the owner still says that
    /// we may ([`super::Custodian::may_let_go`]).
    Release { owner: Contact, piece: Piece },
}

#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "a handful of them are alive at once")]
pub enum Outcome {
    /// Compare: both have everything. Audit, proof: it was right. Confirm: it holds everything. Release: done.
    Well,
    /// Compare: not all could be brought over. Confirm: it lacks something. Release: the piece has changed.
    Partly,
    /// Audit, proof: it answered wrongly, or has not what it should.
    Wrong,
    /// Proof: it took what it lacked, and did not answer then.
    Unproven,
    /// Nobody answered, or something of ours failed.
    Failed,
    Surveyed(Survey),
}

/// What a survey found.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "a handful of them are alive at once")]
pub enum Survey {
    /// Nothing lies behind that place.
    Nothing,
    /// The first piece, who owns it, and what that one says of it.
    Found { piece: Piece, owner: Contact, holders: Holders },
}
