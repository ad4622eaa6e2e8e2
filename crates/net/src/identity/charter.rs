//! What a ring is: its name, who may join, and the numbers that all its members must have in common.
//!
//! A ring is known by the hash of its terms, so nobody can change them under the members: changed terms are another ring.

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
}

/// The terms, and in a closed ring the owner's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charter {
    terms: Terms,
    signature: Option<Signature>,
}

const WORD: &str = "herodotus charter 1";

impl Charter {
    pub(crate) fn closed(owner: &SecretKey, name: &str, r: u16, copies: u16, now: Timestamp) -> Result<Self> {
        let kind = RingKind::Closed { owner: PeerKey(*owner.public().as_bytes()) };
        let terms = Terms { name: name.to_owned(), kind, r, copies, created_ms: now.millis() };
        terms.check()?;
        let signature = Some(Signature::sign(owner, WORD, &terms)?);
        Ok(Self { terms, signature })
    }

    pub(crate) fn open(name: &str, r: u16, copies: u16, index_max: u16, now: Timestamp) -> Result<Self> {
        let terms =
            Terms { name: name.to_owned(), kind: RingKind::Open { index_max }, r, copies, created_ms: now.millis() };
        terms.check()?;
        Ok(Self { terms, signature: None })
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

    #[test]
    fn changed_terms_are_another_ring_and_no_longer_signed() {
        let owner = SecretKey::from_bytes(&[1; 32]);
        let charter = Charter::closed(&owner, "letters", 16, 6, Timestamp::default()).unwrap();
        charter.check().unwrap();
        let mut other = charter.clone();
        other.terms.copies = 7;
        assert!(matches!(other.check(), Err(NetError::Forged(_))));
        assert_ne!(charter.ring().unwrap(), other.ring().unwrap());
        other = charter.clone();
        other.signature = None;
        assert!(other.check().is_err());
    }

    #[test]
    fn numbers_that_no_ring_can_have_are_refused() {
        let now = Timestamp::default();
        assert!(Charter::open("", 16, 6, 4, now).is_err());
        assert!(Charter::open("a\nb", 16, 6, 4, now).is_err());
        assert!(Charter::open("a", 0, 6, 4, now).is_err());
        assert!(Charter::open("a", 16, 6, 0, now).is_err());
        assert!(Charter::open("a", 16, 6, 4, now).unwrap().check().is_ok());
    }
}
