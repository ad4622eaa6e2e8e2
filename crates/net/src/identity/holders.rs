//! Who has which virtual node of an address in an open ring. Several machines behind one address share its places: the first
//! that was proven keeps one for as long as it goes on being proven.
//!
//! Pure: time comes in. Bounded: when the table is full, the holder that was proven longest ago goes, unless it is fresh; then
//! newcomers are refused rather than the table thrown about by whoever asks most.

use super::place::site;
use crate::limits;
use herodotus_base::PeerKey;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Holders {
    table: HashMap<(IpAddr, u16), Holder>,
    lasts: Duration,
    max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub key: PeerKey,
    pub address: SocketAddr,
    pub proven: Instant,
}

impl Holders {
    pub fn new(lasts: Duration) -> Self {
        Self { table: HashMap::new(), lasts, max: limits::HOLDERS_MAX }
    }

    /// Who has it now, if anybody does.
    pub fn holder(&self, now: Instant, ip: IpAddr, index: u16) -> Option<Holder> {
        self.table.get(&(site(ip), index)).copied().filter(|holder| self.is_fresh(now, holder))
    }

    /// Takes a free place, or renews one's own. The caller has proven that `key` answers at `address`. False if another has it,
    /// or if there is no room.
    pub fn take(&mut self, now: Instant, address: SocketAddr, index: u16, key: PeerKey) -> bool {
        let place = (site(address.ip()), index);
        match self.table.get(&place) {
            Some(holder) if holder.key != key && self.is_fresh(now, holder) => return false,
            Some(_) => {}
            None if self.table.len() >= self.max => {
                let lasts = self.lasts;
                self.table.retain(|_, holder| now.saturating_duration_since(holder.proven) < lasts);
                if self.table.len() >= self.max {
                    return false;
                }
            }
            None => {}
        }
        self.table.insert(place, Holder { key, address, proven: now });
        true
    }

    /// It no longer answers: the place is free.
    pub fn free(&mut self, ip: IpAddr, index: u16, key: PeerKey) {
        let place = (site(ip), index);
        if self.table.get(&place).is_some_and(|holder| holder.key == key) {
            self.table.remove(&place);
        }
    }

    fn is_fresh(&self, now: Instant, holder: &Holder) -> bool {
        now.saturating_duration_since(holder.proven) < self.lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_was_proven_keeps_a_place_while_it_answers() {
        let mut holders = Holders::new(Duration::from_secs(10));
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let here: SocketAddr = "192.0.2.1:7".parse().unwrap();
        let (one, two) = (PeerKey([1; 32]), PeerKey([2; 32]));
        assert!(holders.take(at(0), here, 0, one));
        assert!(!holders.take(at(9), here, 0, two));
        assert!(holders.take(at(9), here, 1, two));
        assert!(holders.take(at(9), here, 0, one));
        assert!(!holders.take(at(18), here, 0, two));
        assert_eq!(holders.holder(at(18), here.ip(), 0).unwrap().key, one);
        // Not heard of for too long, or known to be gone.
        assert!(holders.holder(at(19), here.ip(), 0).is_none());
        assert!(holders.take(at(19), here, 0, two));
        holders.free(here.ip(), 0, one);
        assert!(!holders.take(at(20), here, 0, one));
        holders.free(here.ip(), 0, two);
        assert!(holders.take(at(20), here, 0, one));
    }

    #[test]
    fn many_keys_at_one_address_get_no_more_than_its_places() {
        let mut holders = Holders::new(Duration::from_secs(10));
        let now = Instant::now();
        let here: SocketAddr = "192.0.2.1:7".parse().unwrap();
        let tries = (0..100u8).flat_map(|key| (0..4).map(move |index| (key, index)));
        let got = tries.filter(|(key, index)| holders.take(now, here, *index, PeerKey([*key; 32]))).count();
        assert_eq!(got, 4);
    }

    #[test]
    fn a_full_table_takes_newcomers_only_for_those_who_went() {
        let mut holders = Holders { max: 2, ..Holders::new(Duration::from_secs(10)) };
        let start = Instant::now();
        let address = |n: u8| SocketAddr::from(([192, 0, 2, n], 7));
        let key = PeerKey([1; 32]);
        assert!(holders.take(start, address(1), 0, key) && holders.take(start, address(2), 0, key));
        assert!(!holders.take(start, address(3), 0, key));
        assert!(holders.take(start + Duration::from_secs(10), address(3), 0, key));
    }
}
