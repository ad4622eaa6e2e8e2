//! Who a peer is and where it can be found.

use crate::limits;
use herodotus_base::PeerKey;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// How to dial a machine: its key, and the addresses at which it may be. The handshake proves the key, so a wrong address costs
/// time and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    pub key: PeerKey,
    /// At most [`limits::DIRECT_ADDRESSES_MAX`]; empty only where a relay or discovery finds the machine.
    pub direct: Vec<SocketAddr>,
}

impl Address {
    pub fn new(key: PeerKey, direct: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self { key, direct: direct.into_iter().take(limits::DIRECT_ADDRESSES_MAX).collect() }
    }

    /// Whether it is one that we would have made ourselves. What came from others is asked this first.
    pub fn is_sound(&self) -> bool {
        self.direct.len() <= limits::DIRECT_ADDRESSES_MAX
            && self.direct.iter().all(|at| at.port() != 0 && !at.ip().is_unspecified() && !at.ip().is_multicast())
    }
}

/// Who asks us something. Both are proven: the key by the handshake, the address by packets that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    pub key: PeerKey,
    /// Where its packets come from; `None` where a relay carries them, which proves no address.
    pub address: Option<SocketAddr>,
}

/// Which protocol of ours a call, a notice or a stream belongs to. Numbers are given out by whoever wires the services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Kind(pub u8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_nobody_can_have_is_not_sound() {
        let key = PeerKey([1; 32]);
        let sound = |text: &str| Address::new(key, [text.parse().unwrap()]).is_sound();
        assert!(sound("192.0.2.1:4433") && sound("[2001:db8::1]:1"));
        assert!(!sound("192.0.2.1:0") && !sound("0.0.0.0:80") && !sound("[ff02::1]:80"));
        let many = vec!["192.0.2.1:80".parse().unwrap(); 9];
        assert!(!Address { key, direct: many.clone() }.is_sound());
        assert_eq!(Address::new(key, many).direct.len(), 8);
    }
}
