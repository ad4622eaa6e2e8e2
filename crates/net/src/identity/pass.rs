//! What the owner of a closed ring signs: a pass for each machine it lets in, and the list of those it shut out again.

use super::charter::RingId;
use super::signature::Signature;
use crate::error::{NetError, Result};
use crate::limits;
use herodotus_base::{PeerKey, Timestamp};
use iroh::SecretKey;
use serde::{Deserialize, Serialize};

/// That this key may speak in this ring. It is no secret: it is worth nothing without the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    body: PassBody,
    signature: Signature,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PassBody {
    ring: RingId,
    key: PeerKey,
    serial: u64,
    issued_ms: i64,
}

const PASS_WORD: &str = "herodotus pass 1";
const REVOCATIONS_WORD: &str = "herodotus revocations 1";

impl Pass {
    pub(crate) fn sign(owner: &SecretKey, ring: RingId, key: PeerKey, serial: u64, now: Timestamp) -> Result<Self> {
        let body = PassBody { ring, key, serial, issued_ms: now.millis() };
        let signature = Signature::sign(owner, PASS_WORD, &body)?;
        Ok(Self { body, signature })
    }

    /// Whether the owner gave it to this very key for this very ring.
    pub fn is_for(&self, key: PeerKey, ring: RingId, owner: PeerKey) -> bool {
        self.body.key == key && self.body.ring == ring && self.signature.verify(&owner, PASS_WORD, &self.body)
    }

    pub fn key(&self) -> PeerKey {
        self.body.key
    }

    pub fn serial(&self) -> u64 {
        self.body.serial
    }

    pub fn issued_ms(&self) -> i64 {
        self.body.issued_ms
    }
}

/// Everybody whom the owner has shut out so far. A higher serial replaces a lower one whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocations {
    body: RevocationsBody,
    signature: Signature,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RevocationsBody {
    ring: RingId,
    serial: u64,
    /// In order, each once.
    keys: Vec<PeerKey>,
}

impl Revocations {
    pub(crate) fn sign(owner: &SecretKey, ring: RingId, serial: u64, mut keys: Vec<PeerKey>) -> Result<Self> {
        keys.sort_unstable();
        keys.dedup();
        if keys.len() > limits::REVOKED_KEYS_MAX {
            return Err(NetError::TooMany { what: "keys that are shut out", max: limits::REVOKED_KEYS_MAX });
        }
        let body = RevocationsBody { ring, serial, keys };
        let signature = Signature::sign(owner, REVOCATIONS_WORD, &body)?;
        Ok(Self { body, signature })
    }

    pub(crate) fn is_of(&self, ring: RingId, owner: PeerKey) -> bool {
        self.body.ring == ring
            && self.body.keys.len() <= limits::REVOKED_KEYS_MAX
            && self.body.keys.is_sorted_by(|a, b| a < b)
            && self.signature.verify(&owner, REVOCATIONS_WORD, &self.body)
    }

    pub fn serial(&self) -> u64 {
        self.body.serial
    }

    pub fn keys(&self) -> &[PeerKey] {
        &self.body.keys
    }

    pub fn contains(&self, key: &PeerKey) -> bool {
        self.body.keys.binary_search(key).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_for_one_key_in_one_ring() {
        let owner = SecretKey::from_bytes(&[1; 32]);
        let owner_key = PeerKey(*owner.public().as_bytes());
        let (ring, key) = (RingId([2; 32]), PeerKey([3; 32]));
        let pass = Pass::sign(&owner, ring, key, 1, Timestamp::default()).unwrap();
        assert!(pass.is_for(key, ring, owner_key));
        assert!(!pass.is_for(PeerKey([4; 32]), ring, owner_key));
        assert!(!pass.is_for(key, RingId([4; 32]), owner_key));
        let mut other = pass.clone();
        other.body.key = PeerKey([4; 32]);
        assert!(!other.is_for(PeerKey([4; 32]), ring, owner_key));
        let stranger = SecretKey::from_bytes(&[9; 32]);
        let forged = Pass::sign(&stranger, ring, key, 1, Timestamp::default()).unwrap();
        assert!(!forged.is_for(key, ring, owner_key));
    }

    #[test]
    fn a_list_is_sorted_signed_and_bounded() {
        let owner = SecretKey::from_bytes(&[1; 32]);
        let owner_key = PeerKey(*owner.public().as_bytes());
        let ring = RingId([2; 32]);
        let keys = vec![PeerKey([9; 32]), PeerKey([3; 32]), PeerKey([9; 32])];
        let list = Revocations::sign(&owner, ring, 4, keys).unwrap();
        assert_eq!(list.keys(), [PeerKey([3; 32]), PeerKey([9; 32])]);
        assert!(list.is_of(ring, owner_key) && list.contains(&PeerKey([9; 32])) && !list.contains(&PeerKey([1; 32])));
        let mut other = list.clone();
        other.body.keys.pop();
        assert!(!other.is_of(ring, owner_key));
        let many = (0..=limits::REVOKED_KEYS_MAX).map(|n| PeerKey(herodotus_base::Sha256::of(&n.to_be_bytes()).0));
        assert!(matches!(Revocations::sign(&owner, ring, 5, many.collect()), Err(NetError::TooMany { .. })));
    }
}
