//! Those we speak with, and how a place is checked against who claims it.

use herodotus_base::{Id, PeerKey};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Ways to reach a machine that a contact may list. More would let one stranger fill our messages.
pub const ADDRESSES_MAX: usize = 8;

/// A node of the ring: its place, the machine it runs on, and where that answers.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Contact {
    pub id: Id,
    pub key: PeerKey,
    /// Which of the machine's virtual nodes.
    pub index: u16,
    pub addresses: Vec<SocketAddr>,
}

impl Contact {
    /// The node that a machine's key gives a place in a closed ring.
    pub fn of_key(key: PeerKey, index: u16, addresses: Vec<SocketAddr>) -> Self {
        Self { id: Id::of_key(&key, index), key, index, addresses }
    }

    /// Whether both run on one machine, so that what lies on both lies in one place. Machines behind one public address count as
    /// one: it may be one that has many keys. Private addresses are the same in many places and tell nothing.
    pub fn shares_machine(&self, other: &Self) -> bool {
        let public = |contact: &Self| contact.addresses.first().map(SocketAddr::ip).filter(|ip| is_public(*ip));
        self.key == other.key || public(self).is_some_and(|ip| public(other) == Some(ip))
    }
}

/// Whether an address is one machine's or one household's in the whole world.
fn is_public(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            let is_shared = first == 100 && (64..128).contains(&second);
            !(v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_unspecified() || is_shared)
        }
        IpAddr::V6(v6) => {
            !(v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local() || v6.is_unspecified())
        }
    }
}

impl fmt::Debug for Contact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.id)
    }
}

/// How places are given, so that nobody chooses its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Identity {
    /// Closed ring: by key. Who has a key to speak with is decided before anything reaches us.
    Key { index_max: u16 },
    /// Open ring: by the first address. That its packets come from there is checked where packets are.
    Address { index_max: u16 },
    /// Places as they are told, for tests that need small ones.
    #[cfg(feature = "planted")]
    Told,
}

impl Identity {
    /// Whether a contact's place follows from what it cannot choose.
    pub fn allows(&self, contact: &Contact) -> bool {
        if contact.addresses.len() > ADDRESSES_MAX {
            return false;
        }
        match self {
            Self::Key { index_max } => {
                contact.index < *index_max && contact.id == Id::of_key(&contact.key, contact.index)
            }
            Self::Address { index_max } => {
                let place = contact.addresses.first().map(|address| Id::of_address(address.ip(), contact.index));
                contact.index < *index_max && place == Some(contact.id)
            }
            #[cfg(feature = "planted")]
            Self::Told => true,
        }
    }
}
