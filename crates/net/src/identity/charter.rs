//! What a ring is: its name, who may join, and the numbers that all its members must have in common.
//!
//! A ring is known by the hash of its terms, so nobody can change them under the members: changed terms are another ring.
//! The first version knew no placement but by host, and wrote none down; by URL is written as kinds of their own, so that charters of
//! the first version are read as they were meant, and a program of that version does not take part in what it would place wrongly.

use super::signature::{Signature, encode};
use crate::error::{NetError, Result};
use crate::limits;
use herodotus_base::{PeerKey, Sha256, Timestamp};
use iroh::SecretKey;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The hash of a ring's terms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RingId(pub [u8; 32]);

/// Who may join, and what a place on the circle is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RingKind {
    /// Whom the owner admits; a place is made of the machine's key.
    Closed { owner: PeerKey },
    /// Anybody; a place is made of the address, and one address has so many.
    Open { index_max: u16 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Terms {
    /// For people.
    pub name: String,
    pub kind: RingKind,
    /// Length of the successor list.
    pub r: u16,
    /// Nodes on which every object lies.
    pub copies: u16,
    /// Milliseconds since 1970.
    pub created_ms: i64,
    /// Every URL has a place of its own; otherwise the URLs of a host lie together.
    pub is_by_url: bool,
}

/// What whoever makes a ring chooses.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    pub name: &'a str,
    /// Length of the successor list.
    pub r: u16,
    /// Nodes on which every object lies.
    pub copies: u16,
    pub is_by_url: bool,
}

/// The terms as they are signed, stored and sent.
#[derive(Serialize, Deserialize)]
struct Written {
    name: String,
    kind: WrittenKind,
    r: u16,
    copies: u16,
    created_ms: i64,
}

#[derive(Serialize, Deserialize)]
enum WrittenKind {
    Closed { owner: PeerKey },
    Open { index_max: u16 },
    ClosedByUrl { owner: PeerKey },
    OpenByUrl { index_max: u16 },
}

impl From<Terms> for Written {
    fn from(terms: Terms) -> Self {
        let kind = match (terms.kind, terms.is_by_url) {
            (RingKind::Closed { owner }, false) => WrittenKind::Closed { owner },
            (RingKind::Open { index_max }, false) => WrittenKind::Open { index_max },
            (RingKind::Closed { owner }, true) => WrittenKind::ClosedByUrl { owner },
            (RingKind::Open { index_max }, true) => WrittenKind::OpenByUrl { index_max },
        };
        let Terms { name, r, copies, created_ms, .. } = terms;
        Self { name, kind, r, copies, created_ms }
    }
}

impl From<Written> for Terms {
    fn from(written: Written) -> Self {
        let (kind, is_by_url) = match written.kind {
            WrittenKind::Closed { owner } => (RingKind::Closed { owner }, false),
            WrittenKind::Open { index_max } => (RingKind::Open { index_max }, false),
            WrittenKind::ClosedByUrl { owner } => (RingKind::Closed { owner }, true),
            WrittenKind::OpenByUrl { index_max } => (RingKind::Open { index_max }, true),
        };
        let Written { name, r, copies, created_ms, .. } = written;
        Self { name, kind, r, copies, created_ms, is_by_url }
    }
}

/// The terms, and in a closed ring the owner's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charter {
    terms: Terms,
    signature: Option<Signature>,
}

const WORD: &str = "herodotus charter 1";

impl Charter {
    pub(crate) fn closed(owner: &SecretKey, draft: Draft<'_>, now: Timestamp) -> Result<Self> {
        let terms = draft.terms(RingKind::Closed { owner: PeerKey(*owner.public().as_bytes()) }, now)?;
        let signature = Some(Signature::sign(owner, WORD, &terms)?);
        Ok(Self { terms, signature })
    }

    pub(crate) fn open(draft: Draft<'_>, index_max: u16, now: Timestamp) -> Result<Self> {
        Ok(Self { terms: draft.terms(RingKind::Open { index_max }, now)?, signature: None })
    }

    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    pub fn ring(&self) -> Result<RingId> {
        let mut bytes = b"herodotus ring 1\0".to_vec();
        bytes.extend(encode(&self.terms)?);
        Ok(RingId(Sha256::of(&bytes).0))
    }

    /// Whether it is one that its owner made, with numbers that a ring can have.
    pub(crate) fn check(&self) -> Result<()> {
        self.terms.check()?;
        match (&self.terms.kind, &self.signature) {
            (RingKind::Closed { owner }, Some(signature)) if signature.verify(owner, WORD, &self.terms) => Ok(()),
            (RingKind::Open { .. }, None) => Ok(()),
            _ => Err(NetError::Forged("the ring's charter is not signed by its owner")),
        }
    }
}

impl Draft<'_> {
    fn terms(self, kind: RingKind, now: Timestamp) -> Result<Terms> {
        let Self { name, r, copies, is_by_url } = self;
        let terms = Terms { name: name.to_owned(), kind, r, copies, created_ms: now.millis(), is_by_url };
        terms.check()?;
        Ok(terms)
    }
}

impl Terms {
    fn check(&self) -> Result<()> {
        if self.name.is_empty()
            || self.name.len() > limits::RING_NAME_BYTES_MAX
            || self.name.chars().any(char::is_control)
        {
            return Err(NetError::Settings(format!(
                "a ring's name has 1 to {} bytes and nothing unprintable",
                limits::RING_NAME_BYTES_MAX
            )));
        }
        if !(1..=64).contains(&self.r) || !(1..=64).contains(&self.copies) {
            return Err(NetError::Settings("a ring's successor lists and copies number 1 to 64".into()));
        }
        if let RingKind::Open { index_max } = self.kind
            && !(1..=limits::CLOSED_INDEX_MAX).contains(&index_max)
        {
            let max = limits::CLOSED_INDEX_MAX;
            return Err(NetError::Settings(format!("virtual nodes of one address number 1 to {max}")));
        }
        Ok(())
    }
}

impl fmt::Display for RingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for RingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", &self.to_string()[..8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(name: &str, r: u16) -> Draft<'_> {
        Draft { name, r, copies: 6, is_by_url: false }
    }

    #[test]
    fn changed_terms_are_another_ring_and_no_longer_signed() {
        let owner = SecretKey::from_bytes(&[1; 32]);
        let charter = Charter::closed(&owner, draft("letters", 16), Timestamp::default()).unwrap();
        charter.check().unwrap();
        let changes: [fn(&mut Charter); 3] =
            [|other| other.terms.copies = 7, |other| other.terms.is_by_url = true, |other| other.terms.r = 15];
        for change in changes {
            let mut other = charter.clone();
            change(&mut other);
            assert!(matches!(other.check(), Err(NetError::Forged(_))));
            assert_ne!(charter.ring().unwrap(), other.ring().unwrap());
        }
        let mut other = charter.clone();
        other.signature = None;
        assert!(other.check().is_err());
    }

    #[test]
    fn numbers_that_no_ring_can_have_are_refused() {
        let now = Timestamp::default();
        assert!(Charter::open(draft("", 16), 4, now).is_err());
        assert!(Charter::open(draft("a\nb", 16), 4, now).is_err());
        assert!(Charter::open(draft("a", 0), 4, now).is_err());
        assert!(Charter::open(draft("a", 16), 0, now).is_err());
        assert!(Charter::open(draft("a", 16), 4, now).unwrap().check().is_ok());
    }
}
