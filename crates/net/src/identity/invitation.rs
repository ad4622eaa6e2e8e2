//! Tickets that are out, as the machine that gave them remembers them: the hash of the secret, until when, and who came.
//!
//! Promised: a ticket lets in one key. The same key may ask again and gets the same pass, because answers get lost. What a
//! machine remembers does not contain the secrets, so that a copied file lets nobody in.

use super::pass::Pass;
use crate::error::{NetError, Refusal, Result};
use crate::limits;
use herodotus_base::{PeerKey, Sha256, Timestamp};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    hash: [u8; 32],
    expires_ms: i64,
    /// Who came with it, and what it got.
    used: Option<Pass>,
}

impl Invitation {
    pub fn expires(&self) -> Timestamp {
        Timestamp::from_millis_clamped(self.expires_ms)
    }

    pub fn used_by(&self) -> Option<PeerKey> {
        self.used.as_ref().map(Pass::key)
    }
}

/// All of them, and the number of the last pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Invitations {
    pub(crate) serial: u64,
    pub(crate) list: Vec<Invitation>,
}

impl Invitations {
    pub(crate) fn add(&mut self, secret: &[u8; 32], now: Timestamp, expires: Timestamp) -> Result<()> {
        self.forget(now);
        if self.list.len() >= limits::INVITATIONS_MAX {
            return Err(NetError::TooMany { what: "tickets that are out at once", max: limits::INVITATIONS_MAX });
        }
        self.list.push(Invitation { hash: hash(secret), expires_ms: expires.millis(), used: None });
        Ok(())
    }

    /// Uses a ticket. `sign` makes the pass with the number it is given, and is called only if there is to be a new one.
    pub(crate) fn redeem(
        &mut self,
        now: Timestamp,
        key: PeerKey,
        secret: &[u8; 32],
        sign: impl FnOnce(u64) -> Result<Pass>,
    ) -> Result<Result<Pass, Refusal>> {
        let Some(invitation) = self.find(secret) else { return Ok(Err(Refusal::TicketUnknown)) };
        match &invitation.used {
            Some(pass) if pass.key() == key => return Ok(Ok(pass.clone())),
            _ if now.millis() >= invitation.expires_ms => return Ok(Err(Refusal::TicketExpired)),
            Some(_) => return Ok(Err(Refusal::TicketUsed)),
            None => {}
        }
        let serial = self.serial + 1;
        let pass = sign(serial)?;
        if let Some(invitation) = self.find(secret) {
            invitation.used = Some(pass.clone());
        }
        self.serial = serial;
        Ok(Ok(pass))
    }

    /// Looks at every one, whatever it finds: how long it takes says nothing about how much of a guess was right.
    fn find(&mut self, secret: &[u8; 32]) -> Option<&mut Invitation> {
        let wanted = hash(secret);
        let mut found = None;
        for invitation in &mut self.list {
            if bool::from(invitation.hash.ct_eq(&wanted)) {
                found = Some(invitation);
            }
        }
        found
    }

    fn forget(&mut self, now: Timestamp) {
        let grace_ms = i64::try_from(limits::INVITATION_GRACE.as_millis()).unwrap_or(i64::MAX);
        self.list.retain(|invitation| invitation.expires_ms.saturating_add(grace_ms) > now.millis());
    }
}

fn hash(secret: &[u8; 32]) -> [u8; 32] {
    let mut bytes = b"herodotus ticket 1\0".to_vec();
    bytes.extend_from_slice(secret);
    Sha256::of(&bytes).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::RingId;
    use iroh::SecretKey;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis_clamped(ms)
    }

    fn redeem(all: &mut Invitations, now: i64, key: u8, secret: u8) -> Result<Pass, Refusal> {
        let owner = SecretKey::from_bytes(&[1; 32]);
        let key = PeerKey([key; 32]);
        all.redeem(at(now), key, &[secret; 32], |serial| Pass::sign(&owner, RingId([0; 32]), key, serial, at(now)))
            .unwrap()
    }

    #[test]
    fn a_ticket_lets_in_one_key_and_that_one_again() {
        let mut all = Invitations::default();
        all.add(&[7; 32], at(0), at(1_000)).unwrap();
        all.add(&[8; 32], at(0), at(1_000)).unwrap();
        assert_eq!(redeem(&mut all, 1, 1, 9), Err(Refusal::TicketUnknown));
        let pass = redeem(&mut all, 1, 1, 7).unwrap();
        assert_eq!(redeem(&mut all, 2, 2, 7), Err(Refusal::TicketUsed));
        assert_eq!(redeem(&mut all, 5_000, 1, 7).unwrap(), pass);
        assert_eq!(redeem(&mut all, 1_000, 2, 8), Err(Refusal::TicketExpired));
        let second = redeem(&mut all, 999, 2, 8).unwrap();
        assert_eq!((pass.serial(), second.serial()), (1, 2));
    }

    #[test]
    fn tickets_are_bounded_and_old_ones_make_room() {
        let mut all = Invitations::default();
        for n in 0..limits::INVITATIONS_MAX {
            all.add(&Sha256::of(&n.to_be_bytes()).0, at(0), at(1_000)).unwrap();
        }
        assert!(matches!(all.add(&[7; 32], at(0), at(1)), Err(NetError::TooMany { .. })));
        all.add(&[7; 32], at(1_000 + 24 * 3_600_000), at(1)).unwrap();
        assert_eq!(all.list.len(), 1);
    }
}
