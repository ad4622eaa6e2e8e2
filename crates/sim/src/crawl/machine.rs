//! One machine that crawls: what waits at it, what it is about to send, what it remembers, and its link.

use super::ring::Recent;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What bytes between machines are for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    /// Links found, to whoever knows whether they are new.
    Link,
    /// URLs to be fetched by another.
    Visit,
    /// Records of a host that was split.
    Move,
    Lookup,
    /// Leave to ask a host, and who is how far from it.
    Lease,
    /// Pages on their way to their place.
    Archive,
}

impl Kind {
    pub(super) const COUNT: usize = 6;
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) page: u32,
    pub(super) redirects: u8,
}

#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) from: u32,
    pub(super) kind: Kind,
    pub(super) bytes: u64,
    pub(super) items: Vec<Item>,
}

/// URLs of one host that wait at a machine.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) urls: VecDeque<u32>,
    /// The host stands among those that are ready, or the machine among those that wait for the host.
    is_listed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Machine {
    slots: BTreeMap<u32, Slot>,
    ready: VecDeque<u32>,
    pub(super) queued: usize,
    pub(super) queued_max: usize,
    pub(super) busy: usize,
    pub(super) outbox: BTreeMap<(u32, Kind), Vec<Item>>,
    pub(super) is_flushing: bool,
    /// Links sent lately, and machines spoken with lately.
    pub(super) sent: Recent,
    pub(super) known: Recent,
    /// Until when it may ask a host.
    pub(super) leases: BTreeMap<u32, u64>,
    /// In how many parts it believes a host to lie, as a power of two. Those of one part are left out.
    pub(super) parts_logs: BTreeMap<u32, u32>,
    /// Hosts whose distance from its followers it knows.
    pub(super) measured: BTreeSet<u32>,
    down_free: u64,
    up_free: u64,
    pub(super) fetched: u64,
    pub(super) crawled_bytes: u64,
    /// What came in from other machines, pages on their way to their place left out.
    pub(super) talk_bytes: u64,
}

impl Machine {
    /// Another URL waits.
    pub(super) fn push(&mut self, host: u32, page: u32) {
        let slot = self.slots.entry(host).or_default();
        slot.urls.push_back(page);
        if !std::mem::replace(&mut slot.is_listed, true) {
            self.ready.push_back(host);
        }
        self.queued += 1;
        self.queued_max = self.queued_max.max(self.queued);
    }

    /// The next host that has something waiting here and is not itself waited for.
    pub(super) fn next_ready(&mut self) -> Option<u32> {
        while let Some(host) = self.ready.pop_front() {
            if self.has(host) {
                return Some(host);
            }
        }
        None
    }

    /// Whether anything of a host waits. If not, the host is forgotten: it must not be listed any more.
    pub(super) fn has(&mut self, host: u32) -> bool {
        let has = self.slots.get(&host).is_some_and(|slot| !slot.urls.is_empty());
        if !has {
            self.slots.remove(&host);
        }
        has
    }

    /// Takes a URL of a host that was named by [`Self::next_ready`] or was waited for; the host is listed again if there are more.
    pub(super) fn take(&mut self, host: u32) -> Option<u32> {
        let page = self.slots.get_mut(&host)?.urls.pop_front()?;
        self.queued -= 1;
        if self.has(host) {
            self.ready.push_back(host);
        }
        Some(page)
    }

    /// A host that was waited for in vain, since no thread was free: it comes next.
    pub(super) fn relist(&mut self, host: u32) {
        self.ready.push_front(host);
    }

    /// Takes out what is not to stay.
    pub(super) fn split_off(&mut self, host: u32, stays: impl Fn(u32) -> bool) -> Vec<u32> {
        let Some(slot) = self.slots.get_mut(&host) else { return Vec::new() };
        let gone: Vec<u32> = slot.urls.iter().copied().filter(|page| !stays(*page)).collect();
        slot.urls.retain(|page| stays(*page));
        self.queued -= gone.len();
        gone
    }

    /// When so many bytes have come in, if they begin now. All that comes stands in one line.
    pub(super) fn receive(&mut self, now: u64, takes: u64) -> u64 {
        self.down_free = self.down_free.max(now) + takes;
        self.down_free
    }

    pub(super) fn send(&mut self, now: u64, takes: u64) -> u64 {
        self.up_free = self.up_free.max(now) + takes;
        self.up_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_take_turns_and_are_listed_once() {
        let mut machine = Machine::default();
        for (host, page) in [(1, 10), (1, 11), (2, 20)] {
            machine.push(host, page);
        }
        let mut order = Vec::new();
        while let Some(host) = machine.next_ready() {
            order.extend(machine.take(host));
        }
        assert_eq!((order, machine.queued), (vec![10, 20, 11], 0));
    }

    #[test]
    fn what_moved_away_is_not_taken_any_more() {
        let mut machine = Machine::default();
        (0..6).for_each(|page| machine.push(7, page));
        assert_eq!(machine.split_off(7, |page| page % 2 == 0), [1, 3, 5]);
        assert_eq!((machine.queued, machine.split_off(9, |_| true)), (3, vec![]));
        assert_eq!(machine.split_off(7, |_| false).len(), 3);
        assert_eq!(machine.next_ready(), None);
        // And a host that was emptied is listed anew.
        machine.push(7, 8);
        assert_eq!((machine.next_ready(), machine.take(7)), (Some(7), Some(8)));
    }

    #[test]
    fn a_link_is_a_line() {
        let mut machine = Machine::default();
        assert_eq!((machine.receive(100, 50), machine.receive(120, 50), machine.receive(500, 1)), (150, 200, 501));
        assert_eq!(machine.send(100, 50), 150);
    }
}
