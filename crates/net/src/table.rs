//! The connections that there are: one in use for each peer, at most so many dialled and so many accepted, the least recently
//! used closed first. Dials are shared: whoever wants a peer that is being dialled waits for that dial.

use crate::Limits;
use crate::error::CallError;
use crate::limits;
use crate::link::{Close, Link, Side};
use herodotus_base::PeerKey;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

/// How a dial ended, or nothing while it is under way.
pub(crate) type Dialled = Option<Result<Arc<Link>, CallError>>;

#[derive(Debug, Default)]
pub(crate) struct Table {
    links: HashMap<u64, Arc<Link>>,
    /// The one of each peer that calls take: the newest, because older ones may be remains of a peer that was restarted.
    in_use: HashMap<PeerKey, Arc<Link>>,
    dials: HashMap<PeerKey, watch::Receiver<Dialled>>,
    pub(crate) is_closed: bool,
}

pub(crate) enum Found {
    Link(Arc<Link>),
    /// Somebody dials already.
    Dial(watch::Receiver<Dialled>),
    /// Dial, and tell the others.
    Yours(watch::Sender<Dialled>, watch::Receiver<Dialled>),
}

impl Table {
    pub(crate) fn find(&mut self, key: PeerKey) -> Found {
        if let Some(link) = self.in_use.get(&key) {
            return Found::Link(link.clone());
        }
        match self.dials.entry(key) {
            Entry::Occupied(dial) => Found::Dial(dial.get().clone()),
            Entry::Vacant(place) => {
                let (sender, receiver) = watch::channel(None);
                place.insert(receiver.clone());
                Found::Yours(sender, receiver)
            }
        }
    }

    pub(crate) fn in_use(&self, key: &PeerKey) -> Option<&Arc<Link>> {
        self.in_use.get(key)
    }

    pub(crate) fn end_dial(&mut self, key: &PeerKey) {
        self.dials.remove(key);
    }

    /// Takes a new one in, and closes those that are too many.
    pub(crate) fn add(&mut self, link: &Arc<Link>, limits: &Limits) {
        self.links.insert(link.number, link.clone());
        self.in_use.insert(link.key, link.clone());
        let of_key = |other: &&Arc<Link>| other.key == link.key && other.side == link.side;
        if self.links.values().filter(of_key).count() > limits::ACCEPTED_PER_KEY_MAX
            && let Some(oldest) = self.links.values().filter(of_key).min_by_key(|link| link.number).cloned()
        {
            self.close(&oldest, Close::Evicted);
        }
        let max = match link.side {
            Side::Dialled => limits.dialled_max,
            Side::Accepted => limits.accepted_max,
        };
        let of_side = |other: &&Arc<Link>| other.side == link.side;
        if self.links.values().filter(of_side).count() > max.max(1) {
            let now = Instant::now();
            let others = self.links.values().filter(of_side).filter(|other| other.number != link.number);
            // One with calls under way only if all have some.
            if let Some(least) =
                others.min_by_key(|other| (other.is_busy(), std::cmp::Reverse(other.idle(now)))).cloned()
            {
                self.close(&least, Close::Evicted);
            }
        }
    }

    pub(crate) fn close(&mut self, link: &Arc<Link>, why: Close) {
        link.close(why, b"");
        self.remove(link);
    }

    /// It was closed. Another of the same peer, if there is one, takes its place.
    pub(crate) fn remove(&mut self, link: &Arc<Link>) {
        if self.links.remove(&link.number).is_none() {
            return;
        }
        if self.in_use.get(&link.key).is_some_and(|used| used.number == link.number) {
            self.in_use.remove(&link.key);
            let newest = self.links.values().filter(|other| other.key == link.key).max_by_key(|other| other.number);
            if let Some(other) = newest.cloned() {
                self.in_use.insert(other.key, other);
            }
        }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Link>> {
        self.links.values().cloned().collect()
    }
}
