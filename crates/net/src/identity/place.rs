//! Whether a claim to a place on the circle holds.
//!
//! In a closed ring a place is made of the machine's key: the owner knows whom it let in. In an open ring it is made of the
//! address, because keys are free: whoever could try keys until one falls where it wants could take any place. An attacker has
//! the places of the addresses it has, `index_max` of each, and no others.

use super::charter::RingKind;
use crate::limits;
use herodotus_base::{Id, PeerKey};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// "I am this place."
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    pub id: Id,
    pub key: PeerKey,
    /// Which of the machine's, or of the address's, virtual nodes.
    pub index: u16,
    /// Where it can be dialled.
    pub address: SocketAddr,
}

/// Why a claim does not hold; always the claimant's fault, except where somebody else was first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    #[error("virtual node {index} of {max}: there is no such one")]
    Index { index: u16, max: u16 },
    #[error("the id does not belong to that key or address")]
    NotItsOwn,
    #[error("the packets come from {from:?}, not from {claimed}")]
    Elsewhere { from: Option<IpAddr>, claimed: IpAddr },
    #[error("{0} is no address that a peer can have")]
    NoAddress(SocketAddr),
    /// Nobody with this key answers there, so nobody is there.
    #[error("the claim could not be proven at {address}: {what}")]
    Unproven { address: SocketAddr, what: String },
    /// Somebody else behind this address has it and answers.
    #[error("virtual node {index} of this address is taken")]
    Taken { index: u16 },
    /// Our own limits: ask again later.
    #[error("too many claims are being looked at: try again in {0:?}")]
    Busy(Duration),
}

/// The part of it that needs no network. `caller` is where the claimant's packets come from; without one (hearsay, or a relay) a
/// claim in an open ring must be proven by dialling back ([`crate::Endpoint::settle`]).
pub fn check_place(kind: RingKind, claim: &Claim, caller: Option<SocketAddr>) -> Result<(), PlaceError> {
    let max = match kind {
        RingKind::Closed { .. } => limits::CLOSED_INDEX_MAX,
        RingKind::Open { index_max } => index_max,
    };
    if claim.index >= max {
        return Err(PlaceError::Index { index: claim.index, max });
    }
    let ip = claim.address.ip().to_canonical();
    let id = match kind {
        RingKind::Closed { .. } => Id::of_key(&claim.key, claim.index),
        RingKind::Open { .. } => Id::of_address(ip, claim.index),
    };
    if claim.id != id {
        return Err(PlaceError::NotItsOwn);
    }
    if let RingKind::Open { .. } = kind {
        if claim.address.port() == 0 || ip.is_unspecified() || ip.is_multicast() {
            return Err(PlaceError::NoAddress(claim.address));
        }
        if let Some(from) = caller.map(|at| at.ip().to_canonical())
            && site(from) != site(ip)
        {
            return Err(PlaceError::Elsewhere { from: Some(from), claimed: ip });
        }
    }
    Ok(())
}

/// What counts as one address: of the new kind, the network of 2^64 that its holder has whole.
pub(crate) fn site(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: RingKind = RingKind::Open { index_max: 4 };

    fn claim(of: &str, index: u16, at: &str) -> Claim {
        let id = Id::of_address(of.parse().unwrap(), index);
        Claim { id, key: PeerKey([1; 32]), index, address: at.parse().unwrap() }
    }

    fn from(text: &str) -> Option<SocketAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn an_address_has_its_own_places_and_no_others() {
        let mine = claim("127.0.0.2", 0, "127.0.0.2:7");
        assert_eq!(check_place(OPEN, &mine, from("127.0.0.2:9")), Ok(()));
        assert_eq!(check_place(OPEN, &mine, from("[::ffff:127.0.0.2]:9")), Ok(()));
        assert_eq!(check_place(OPEN, &mine, None), Ok(()));
        // Another's id at my address; another's address as well.
        let theirs = claim("127.0.0.3", 0, "127.0.0.2:7");
        assert_eq!(check_place(OPEN, &theirs, from("127.0.0.2:9")), Err(PlaceError::NotItsOwn));
        let whole = claim("127.0.0.3", 0, "127.0.0.3:7");
        assert!(matches!(check_place(OPEN, &whole, from("127.0.0.2:9")), Err(PlaceError::Elsewhere { .. })));
        for index in 4..1000 {
            let many = claim("127.0.0.2", index, "127.0.0.2:7");
            assert_eq!(check_place(OPEN, &many, from("127.0.0.2:9")), Err(PlaceError::Index { index, max: 4 }));
        }
        assert!(matches!(check_place(OPEN, &claim("0.0.0.0", 0, "0.0.0.0:7"), None), Err(PlaceError::NoAddress(_))));
    }

    #[test]
    fn a_whole_network_of_the_new_kind_is_one_address() {
        let mine = claim("2001:db8::1", 0, "[2001:db8::1]:7");
        assert_eq!(check_place(OPEN, &mine, from("[2001:db8::ffff:2]:9")), Ok(()));
        assert!(check_place(OPEN, &mine, from("[2001:db8:0:1::1]:9")).is_err());
        assert_eq!(claim("2001:db8::2", 0, "[2001:db8::2]:7").id, mine.id);
    }

    #[test]
    fn in_a_closed_ring_a_place_is_made_of_the_key() {
        let kind = RingKind::Closed { owner: PeerKey([9; 32]) };
        let key = PeerKey([1; 32]);
        let address = "127.0.0.2:7".parse().unwrap();
        let mine = Claim { id: Id::of_key(&key, 3), key, index: 3, address };
        assert_eq!(check_place(kind, &mine, from("127.0.0.9:1")), Ok(()));
        assert_eq!(check_place(kind, &Claim { index: 2, ..mine }, None), Err(PlaceError::NotItsOwn));
        assert_eq!(check_place(kind, &Claim { key: PeerKey([2; 32]), ..mine }, None), Err(PlaceError::NotItsOwn));
        let index = limits::CLOSED_INDEX_MAX;
        let over = Claim { id: Id::of_key(&key, index), index, ..mine };
        assert!(matches!(check_place(kind, &over, None), Err(PlaceError::Index { .. })));
    }
}
