//! What nodes say to each other. The transport adds who says it, checked, and a version; it carries these with `postcard`.

use crate::contact::Contact;
use crate::core::Neighbours;
use herodotus_base::Id;
use serde::{Deserialize, Serialize};

/// One message between two nodes of the ring.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// Which of the machine's nodes it is for.
    pub to: Id,
    /// The node that speaks. The transport has checked that its key is the one that the connection proves.
    pub from: Contact,
    /// The same in a question and its answer.
    pub nonce: u64,
    /// Whether the node that speaks belongs to a ring. Newcomers ask before they do.
    pub is_member: bool,
    pub body: Body,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Body {
    Ask(Question),
    Answer(Answer),
    Tell(Notice),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Question {
    /// Who is round you? `Same` is answer enough if it is what this digest was made of.
    Neighbours { known: u64 },
    /// Whom should I ask for the owner of that place?
    Find { key: Id },
    /// I am going; these are the others beside me.
    Leaving { neighbours: Neighbours },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Answer {
    Neighbours(Neighbours),
    Same,
    Found(Found),
    Noted,
    /// I belong to no ring at present.
    Outside,
}

/// What a node knows on the way to a place.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// Its own neighbours. Far from the place the first successor is enough.
    pub neighbours: Neighbours,
    /// Nodes nearer to the place, before it, the nearest first; then those at or after it.
    pub nearer: Vec<Contact>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Notice {
    /// I am there: perhaps I am your neighbour.
    Here,
    /// That one belongs to a ring that you may not know: see where you belong in it.
    Meet { contact: Contact },
}

impl Neighbours {
    /// A short name of all that is in it.
    pub fn digest(&self) -> u64 {
        let mut bytes = Vec::with_capacity(32 * (self.successors.len() + 1) + 2);
        bytes.push(u8::from(self.is_whole));
        for contact in self.predecessor.iter() {
            bytes.extend_from_slice(&contact.id.0);
        }
        bytes.push(0);
        for contact in &self.successors {
            bytes.extend_from_slice(&contact.id.0);
        }
        let digest = herodotus_base::Sha256::of(&bytes).0;
        u64::from_be_bytes(std::array::from_fn(|at| digest[at]))
    }
}

impl Body {
    /// Every contact that is mentioned, to be checked before it is believed.
    pub(crate) fn retain_contacts(&mut self, allows: impl Fn(&Contact) -> bool) {
        let clean = |neighbours: &mut Neighbours| {
            neighbours.predecessor = neighbours.predecessor.take().filter(&allows);
            neighbours.successors.retain(&allows);
        };
        match self {
            Self::Ask(Question::Leaving { neighbours }) | Self::Answer(Answer::Neighbours(neighbours)) => {
                clean(neighbours);
            }
            Self::Answer(Answer::Found(found)) => {
                clean(&mut found.neighbours);
                found.nearer.retain(&allows);
            }
            Self::Ask(Question::Neighbours { .. } | Question::Find { .. })
            | Self::Answer(Answer::Same | Answer::Noted | Answer::Outside)
            | Self::Tell(_) => {}
        }
    }
}
