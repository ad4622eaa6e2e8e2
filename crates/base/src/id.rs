//! Places on the ring: 256-bit identifiers on a circle, and arcs of it.
//!
//! An arc is half-open, `(from, to]`, as ownership is: a node owns the keys after its predecessor up to itself. The arc from a
//! place to itself is the whole circle, because a node that is alone owns everything.
//!
//! Nobody chooses its place: it is a hash of what cannot be chosen freely, with a word in front that keeps the uses apart.

use crate::Sha256;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// A place on the circle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id(pub [u8; 32]);

/// The public key by which a machine is dialled and known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PeerKey(pub [u8; 32]);

impl Id {
    pub const ZERO: Self = Self([0; 32]);

    /// The place of a machine's virtual node in a closed ring.
    pub fn of_key(key: &PeerKey, index: u16) -> Self {
        Self::of("herodotus node by key 1", &[&key.0, &index.to_be_bytes()])
    }

    /// The place of a virtual node in an open ring. An address of the old kind written in the new one is the old one; of a new
    /// one only the network counts, since whoever has one address has all of its 2^64.
    pub fn of_address(address: IpAddr, index: u16) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self::of("herodotus node by address 1", &[&v4.octets(), &index.to_be_bytes()]),
            IpAddr::V6(v6) => Self::of("herodotus node by address 1", &[&v6.octets()[..8], &index.to_be_bytes()]),
        }
    }

    /// Where the URLs of a host lie: all of them in one place, or each in one of several parts.
    pub fn of_host(host: &str, part: u32) -> Self {
        Self::of("herodotus host 1", &[host.as_bytes(), &part.to_be_bytes()])
    }

    fn of(domain: &str, parts: &[&[u8]]) -> Self {
        let mut bytes = Vec::with_capacity(96);
        bytes.extend_from_slice(domain.as_bytes());
        for part in parts {
            // Lengths keep (a, bc) and (ab, c) apart.
            bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
            bytes.extend_from_slice(part);
        }
        Self(Sha256::of(&bytes).0)
    }

    /// A small place, for tests and pictures: `n` in the highest bits.
    pub const fn small(n: u8) -> Self {
        let mut bytes = [0; 32];
        bytes[0] = n;
        Self(bytes)
    }

    /// How far it is clockwise from here to there; nothing from a place to itself.
    pub fn distance_to(self, to: Self) -> Distance {
        // In two halves: lookups do little else.
        let ((from_high, from_low), (to_high, to_low)) = (self.halves(), to.halves());
        let (low, borrows) = to_low.overflowing_sub(from_low);
        let high = to_high.wrapping_sub(from_high).wrapping_sub(u128::from(borrows));
        let mut out = [0; 32];
        out[..16].copy_from_slice(&high.to_be_bytes());
        out[16..].copy_from_slice(&low.to_be_bytes());
        Distance(out)
    }

    fn halves(self) -> (u128, u128) {
        let (mut high, mut low) = ([0; 16], [0; 16]);
        high.copy_from_slice(&self.0[..16]);
        low.copy_from_slice(&self.0[16..]);
        (u128::from_be_bytes(high), u128::from_be_bytes(low))
    }

    /// The place 2^`bit` clockwise from here.
    pub fn plus_power(self, bit: u8) -> Self {
        let mut out = self.0;
        let mut at = 31 - usize::from(bit / 8);
        let (mut sum, mut carry) = out[at].overflowing_add(1 << (bit % 8));
        out[at] = sum;
        while carry && at > 0 {
            at -= 1;
            (sum, carry) = out[at].overflowing_add(1);
            out[at] = sum;
        }
        Self(out)
    }

    /// Whether it lies on the arc `(from, to]`.
    pub fn is_in(self, from: Self, to: Self) -> bool {
        from == to || (self != from && from.distance_to(self) <= from.distance_to(to))
    }

    /// Whether it lies strictly between; between a place and itself lies everything else.
    pub fn is_between(self, from: Self, to: Self) -> bool {
        self != from && self != to && (from == to || from.distance_to(self) < from.distance_to(to))
    }

    /// Where on the circle, of 1, for pictures.
    pub fn turn(self) -> f64 {
        let high = u64::from_be_bytes(std::array::from_fn(|at| self.0[at]));
        high as f64 / 2f64.powi(64)
    }
}

/// A length of way on the circle. Distances from one place sort others as one meets them going clockwise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Distance([u8; 32]);

impl Distance {
    /// The number of the highest bit that is set, or nothing for no distance at all.
    pub fn log2(self) -> Option<u8> {
        let at = self.0.iter().position(|byte| *byte != 0)?;
        let bit = (31 - at) * 8 + 7 - self.0[at].leading_zeros() as usize;
        u8::try_from(bit).ok()
    }

    /// As a share of the circle.
    pub fn share(self) -> f64 {
        Id(self.0).turn()
    }
}

/// Enough of it for a person to tell it from others.
impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", &self.to_string()[..8])
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", &self.to_string()[..8])
    }
}

impl fmt::Display for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_are_open_at_their_beginning_and_closed_at_their_end() {
        let [a, b, c] = [10, 20, 30].map(Id::small);
        assert!(b.is_in(a, c) && c.is_in(a, c) && !a.is_in(a, c));
        assert!(a.is_in(c, b) && !c.is_in(c, b) && b.is_in(c, b));
        assert!(b.is_between(a, c) && !c.is_between(a, c) && !a.is_between(a, c));
        // Round to itself: everything.
        assert!(a.is_in(a, a) && b.is_in(a, a) && b.is_between(a, a) && !a.is_between(a, a));
    }

    #[test]
    fn distances_go_clockwise_round_the_circle() {
        let (low, high) = (Id::small(3), Id::small(250));
        assert_eq!(Id::ZERO.distance_to(low).log2(), Some(249));
        assert_eq!(high.distance_to(low), Id::ZERO.distance_to(Id::small(9)));
        assert_eq!(low.distance_to(low).log2(), None);
        assert_eq!(Id([255; 32]).plus_power(0), Id::ZERO);
        for bit in 0..=255 {
            assert_eq!(high.distance_to(high.plus_power(bit)).log2(), Some(bit));
        }
    }

    #[test]
    fn a_place_is_what_the_golden_one_was() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let golden = [
            (Id::of_key(&PeerKey([7; 32]), 1), "009c8869e4067c198d73b347206855fcf58fa26046503460e9eddd23fe7d1d45"),
            (
                Id::of_address(address("192.0.2.1"), 0),
                "eeb064e504a73311ce6a33abbe74208b8d026624fba076252712929868b8f5d7",
            ),
            (
                Id::of_address(address("2001:db8::1"), 3),
                "11daeece333fa71610ad09f0d00f654a4652f564506fa1f3de0383eec3f2d3de",
            ),
            (Id::of_host("example.org", 3), "145e382d1789c082cb271307b0d0f60baacf780cef22ac39b8e032114da79d0b"),
        ];
        for (place, hex) in golden {
            assert_eq!(place.to_string(), hex);
        }
    }

    #[test]
    fn one_machine_has_one_place_whichever_way_its_address_is_written() {
        let place = |text: &str| Id::of_address(text.parse().expect("an address"), 0);
        assert_eq!(place("192.0.2.1"), place("::ffff:192.0.2.1"));
        assert_ne!(place("192.0.2.1"), place("192.0.2.2"));
        // Whoever has one address of such a network has all of them.
        assert_eq!(place("2001:db8::1"), place("2001:db8::2"));
        assert_ne!(place("2001:db8::1"), place("2001:db8:0:1::1"));
    }
}
