//! Batches that nobody has acknowledged yet, and the links in them.

use super::BatchId;
use super::entry::Key;
use crate::prospect::CrawlId;
use herodotus_base::PeerKey;
use herodotus_ring::Contact;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Flight {
    pub(super) to: Contact,
    pub(super) sent: Duration,
    pub(super) links: Vec<Aboard>,
}

/// A link in a batch that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aboard {
    pub(super) key: Key,
    pub(super) crawl: CrawlId,
    pub(super) mark: u64,
    /// It was given to us again after it had left: the acknowledgement does not end it.
    pub(super) has_returned: bool,
}

#[derive(Debug)]
pub(super) struct Flights {
    flights: BTreeMap<BatchId, Flight>,
    /// Which flight a link is in, and where there.
    aboard: BTreeMap<Key, (BatchId, usize)>,
    next: u64,
}

impl Flights {
    pub(super) fn new(next: u64) -> Self {
        Self { flights: BTreeMap::new(), aboard: BTreeMap::new(), next }
    }

    pub(super) fn len(&self) -> usize {
        self.flights.len()
    }

    pub(super) fn links(&self) -> usize {
        self.aboard.len()
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.aboard.contains_key(key)
    }

    pub(super) fn mark_of(&self, key: &Key) -> Option<u64> {
        let (id, at) = self.aboard.get(key)?;
        self.flights.get(id)?.links.get(*at).map(|link| link.mark)
    }

    pub(super) fn to(&self, machine: PeerKey) -> usize {
        self.flights.values().filter(|flight| flight.to.key == machine).count()
    }

    pub(super) fn first_sent(&self) -> Option<Duration> {
        self.flights.values().map(|flight| flight.sent).min()
    }

    /// Those sent by then.
    pub(super) fn sent_before(&self, moment: Duration) -> Vec<BatchId> {
        self.flights.iter().filter(|(_, flight)| flight.sent <= moment).map(|(id, _)| *id).collect()
    }

    pub(super) fn begin(&mut self, flight: Flight) -> BatchId {
        let id = BatchId(self.next);
        self.next += 1;
        for (at, link) in flight.links.iter().enumerate() {
            self.aboard.insert(link.key, (id, at));
        }
        self.flights.insert(id, flight);
        id
    }

    pub(super) fn take(&mut self, id: BatchId) -> Option<Flight> {
        let flight = self.flights.remove(&id)?;
        flight.links.iter().for_each(|link| {
            self.aboard.remove(&link.key);
        });
        Some(flight)
    }

    pub(super) fn keep_after_ack(&mut self, key: &Key) {
        let Some((id, at)) = self.aboard.get(key) else { return };
        if let Some(link) = self.flights.get_mut(id).and_then(|flight| flight.links.get_mut(*at)) {
            link.has_returned = true;
        }
    }
}
