//! Peers that we heard of: how long they take to answer, who seems dead, who is worth asking first, and whom to remember across
//! restarts. Bounded; what is forgotten costs hops, not correctness.

use crate::contact::Contact;
use herodotus_base::Id;
use std::collections::BTreeMap;
use std::time::Duration;

/// Round trips before any was measured: a satellite's is longer, and then costs one question twice.
const TIMEOUT_FIRST: Duration = Duration::from_millis(1000);
/// A machine that is busy for a moment is not late before this.
const TIMEOUT_MIN: Duration = Duration::from_millis(150);
const TIMEOUT_MAX: Duration = Duration::from_secs(4);
/// Round trips to anyone after which one that was never measured is not waited for much longer than others took.
const MEASURED_MIN: u32 = 8;
/// Waiting less for one that was never measured would save nothing: it may be on the other side of the world.
const TIMEOUT_UNMEASURED_MIN: Duration = Duration::from_millis(300);

#[derive(Clone, Debug)]
pub(crate) struct Known {
    peers: BTreeMap<Id, Peer>,
    max: usize,
    /// Of all peers together, and how many times it was measured.
    overall: Option<RoundTrip>,
    measured: u32,
}

#[derive(Clone, Debug)]
struct Peer {
    contact: Contact,
    round_trip: Option<RoundTrip>,
    /// When it last said something itself. Nothing if it is only hearsay.
    heard: Option<Duration>,
    /// We were told to ask it, by a person or by what we remembered: it is not forgotten at the next start because it was silent.
    is_told: bool,
    /// Questions in a row that it left unanswered.
    silences: u8,
    is_dead: bool,
}

/// Mean and spread, as TCP keeps them (RFC 6298).
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    mean: Duration,
    spread: Duration,
}

impl RoundTrip {
    fn with(old: Option<Self>, took: Duration) -> Self {
        let Some(Self { mean, spread }) = old else { return Self { mean: took, spread: took / 2 } };
        let off = mean.abs_diff(took);
        Self { mean: (mean * 7 + took) / 8, spread: (spread * 3 + off) / 4 }
    }
}

impl Known {
    pub(crate) fn new(max: usize) -> Self {
        Self { peers: BTreeMap::new(), max, overall: None, measured: 0 }
    }

    /// It said something itself.
    pub(crate) fn hear(&mut self, now: Duration, contact: &Contact) {
        let peer = self.entry(contact);
        // What it says of its addresses is newer than what others say.
        if peer.contact != *contact {
            peer.contact = contact.clone();
        }
        peer.heard = Some(now);
        peer.silences = 0;
        peer.is_dead = false;
    }

    pub(crate) fn measure(&mut self, id: Id, took: Duration) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.round_trip = Some(RoundTrip::with(peer.round_trip, took));
        self.overall = Some(RoundTrip::with(self.overall, took));
        self.measured = self.measured.saturating_add(1);
    }

    /// We are to ask it.
    pub(crate) fn mention(&mut self, contact: &Contact) {
        self.entry(contact).is_told = true;
    }

    pub(crate) fn be_silent(&mut self, id: Id) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.silences = peer.silences.saturating_add(1);
        }
    }

    pub(crate) fn be_dead(&mut self, contact: &Contact) {
        self.entry(contact).is_dead = true;
    }

    /// How long ago it last spoke; for ever if it never did.
    pub(crate) fn silent_for(&self, id: Id, now: Duration) -> Duration {
        let heard = self.peers.get(&id).and_then(|peer| peer.heard);
        heard.map_or(Duration::MAX, |heard| now.saturating_sub(heard))
    }

    /// Dead, or so silent that others are asked first.
    pub(crate) fn is_doubtful(&self, id: Id) -> bool {
        self.peers.get(&id).is_some_and(|peer| peer.is_dead || peer.silences > 0)
    }

    pub(crate) fn is_dead(&self, id: Id) -> bool {
        self.peers.get(&id).is_some_and(|peer| peer.is_dead)
    }

    pub(crate) fn timeout(&self, id: Id) -> Duration {
        let measured = self.peers.get(&id).and_then(|peer| peer.round_trip);
        let overall = self.overall.filter(|_| self.measured >= MEASURED_MIN);
        match (measured, overall) {
            (Some(RoundTrip { mean, spread }), _) => (mean + spread * 4).clamp(TIMEOUT_MIN, TIMEOUT_MAX),
            // After a disaster half of those asked are dead and were never measured: each would cost a whole second.
            (None, Some(RoundTrip { mean, spread })) => {
                (mean + spread * 6).clamp(TIMEOUT_UNMEASURED_MIN, TIMEOUT_FIRST)
            }
            (None, None) => TIMEOUT_FIRST,
        }
    }

    pub(crate) fn round_trip(&self, id: Id) -> Option<Duration> {
        Some(self.peers.get(&id)?.round_trip?.mean)
    }

    /// Those at or before a place that spoke to us and are not in doubt, the nearest first.
    pub(crate) fn before(&self, key: Id) -> impl Iterator<Item = &Contact> {
        let (early, late) = (self.peers.range(..=key).rev(), self.peers.range(key..).rev());
        early.chain(late).map(|(_, peer)| peer).filter(|peer| peer.is_good()).map(|peer| &peer.contact)
    }

    /// The first at or after a place that spoke to us and is not in doubt.
    pub(crate) fn after(&self, key: Id) -> Option<&Contact> {
        let mut round = self.peers.range(key..).chain(self.peers.range(..key)).map(|(_, peer)| peer);
        round.find(|peer| peer.is_good()).map(|peer| &peer.contact)
    }

    pub(crate) fn len(&self) -> usize {
        self.peers.len()
    }

    pub(crate) fn nth(&self, at: usize) -> Option<&Contact> {
        self.peers.values().nth(at).map(|peer| &peer.contact)
    }

    /// Those that seem dead. A split ring is found again through them.
    pub(crate) fn dead(&self) -> Vec<&Contact> {
        self.peers.values().filter(|peer| peer.is_dead).map(|peer| &peer.contact).collect()
    }

    /// Everyone worth remembering, those that spoke last first.
    pub(crate) fn remembered(&self) -> Vec<Contact> {
        let mut peers: Vec<_> = self.peers.values().filter(|peer| peer.heard.is_some() || peer.is_told).collect();
        peers.sort_by_key(|peer| (peer.is_dead, std::cmp::Reverse(peer.heard)));
        peers.into_iter().map(|peer| peer.contact.clone()).collect()
    }

    fn entry(&mut self, contact: &Contact) -> &mut Peer {
        if self.peers.len() >= self.max && !self.peers.contains_key(&contact.id) {
            self.forget();
        }
        self.peers.entry(contact.id).or_insert_with(|| Peer {
            contact: contact.clone(),
            round_trip: None,
            heard: None,
            is_told: false,
            silences: 0,
            is_dead: false,
        })
    }

    /// Makes room: an eighth goes at once, those heard of longest ago, so that the search for them is paid rarely.
    fn forget(&mut self) {
        let mut ages: Vec<_> = self.peers.iter().map(|(id, peer)| (peer.heard, *id)).collect();
        let count = (self.max / 8).clamp(1, ages.len());
        ages.select_nth_unstable(count - 1);
        for (_, id) in &ages[..count] {
            self.peers.remove(id);
        }
    }
}

impl Peer {
    fn is_good(&self) -> bool {
        self.heard.is_some() && !self.is_dead && self.silences == 0
    }
}
