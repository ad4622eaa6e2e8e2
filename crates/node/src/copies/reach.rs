//! Reaching those who hold something: calls to peers, and a short memory of who owns which arc.

use super::CopiesError;
use super::wire::{Ask, Bulk, COPIES, Reply};
use crate::ring::{Neighbourhood, RingNode};
use bytes::Bytes;
use herodotus_base::{Id, PeerKey};
use herodotus_net::{Address, Stream};
use herodotus_replica::custody::Holders;
use herodotus_ring::Contact;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// A parcel is on its way for as long as that at most.
const CALL_WAIT: Duration = Duration::from_secs(30);
/// What an owner said is believed for so long; what changed meanwhile shows as an answer that does not fit.
const BELIEVED_FOR: Duration = Duration::from_secs(10);
/// The same for who is in the ring at all.
const MACHINES_BELIEVED_FOR: Duration = Duration::from_secs(15);
/// Machines that one question goes to. Of a larger ring, answers are gathered from a part.
const MACHINES_MAX: usize = 512;
/// A page does not wait longer for the slowest of many.
pub(super) const GATHER_WAIT: Duration = Duration::from_secs(3);
/// Arcs remembered.
const ARCS_MAX: usize = 256;

/// What an owner said of an arc of its.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) owner: Contact,
    pub(super) holders: Holders,
}

/// The machines of the ring, as they were found: when, and with which neighbours of ours.
type Found = (Instant, Arc<Neighbourhood>, Vec<Contact>);

#[derive(Debug)]
pub(super) struct Reach {
    ring: RingNode,
    told: Mutex<VecDeque<(Instant, Told)>>,
    machines: Mutex<Option<Found>>,
}

impl Reach {
    pub(super) fn new(ring: RingNode) -> Self {
        Self { ring, told: Mutex::default(), machines: Mutex::default() }
    }

    pub(super) fn machine(&self) -> PeerKey {
        self.ring.endpoint().key()
    }

    /// Asks one machine.
    pub(super) async fn ask(&self, to: &Contact, ask: &Ask) -> Result<Reply, CopiesError> {
        let payload =
            postcard::to_stdvec(ask).map(Bytes::from).map_err(|_| CopiesError::Odd("a question too odd to write"))?;
        let address = Address::new(to.key, to.addresses.clone());
        let answer = self.ring.endpoint().call(&address, COPIES, payload, CALL_WAIT).await?;
        postcard::from_bytes(&answer).map_err(|_| CopiesError::Odd("an answer that cannot be read"))
    }

    /// Opens a stream to one machine for what is too large for a call.
    pub(super) async fn open(&self, to: &Address, bulk: &Bulk) -> Result<Stream, CopiesError> {
        let head =
            postcard::to_stdvec(bulk).map(Bytes::from).map_err(|_| CopiesError::Odd("a head too odd to write"))?;
        Ok(self.ring.endpoint().stream(to, COPIES, head).await?)
    }

    /// Those who count, the nearest first; those of whom nothing is known come last, in the owner's order. Never this machine.
    pub(super) fn nearest(&self, told: &Told) -> Vec<Contact> {
        let status = self.ring.endpoint().peers();
        let round_trip = |contact: &Contact| {
            let peer = status.iter().find(|peer| peer.key == contact.key);
            peer.and_then(|peer| peer.round_trip).unwrap_or(Duration::MAX)
        };
        let counting =
            told.holders.holders.iter().filter(|holder| holder.counts && holder.contact.key != self.machine());
        let mut out: Vec<Contact> = counting.map(|holder| holder.contact.clone()).collect();
        out.sort_by_key(|contact| round_trip(contact));
        // Somebody may have it before it counts.
        let others =
            told.holders.holders.iter().filter(|holder| !holder.counts && holder.contact.key != self.machine());
        out.extend(others.map(|holder| holder.contact.clone()));
        out
    }

    /// Who holds a place, as its owner says; remembered for a moment.
    pub(super) async fn holders(&self, place: Id) -> Result<Told, CopiesError> {
        if let Some(told) = self.remembered(place) {
            return Ok(told);
        }
        let owner = self.ring.owner_of(place).await?.owner;
        if owner.key == self.machine() {
            return Err(CopiesError::Odd("a place has just become ours: the ring is mending"));
        }
        let reply = self.ask(&owner, &Ask::Holders { place }).await?;
        let Reply::Holders(Some(holders)) = reply else {
            return Err(CopiesError::Odd("the owner of a place says that it is not its own: the ring is mending"));
        };
        let told = Told { owner, holders };
        let mut memory = self.memory();
        if memory.len() == ARCS_MAX {
            memory.pop_front();
        }
        memory.push_back((Instant::now(), told.clone()));
        Ok(told)
    }

    /// Every machine of the ring but this one, as far as they are found: round the circle, from one successor list to the next. Remembered
    /// for a moment.
    pub(super) async fn machines(&self) -> Result<Vec<Contact>, CopiesError> {
        let hood = self.ring.neighbourhood().borrow().clone();
        if let Some((at, then, machines)) = &*self.machines.lock().unwrap_or_else(PoisonError::into_inner)
            && at.elapsed() < MACHINES_BELIEVED_FOR
            && Arc::ptr_eq(then, &hood)
        {
            return Ok(machines.clone());
        }
        let first = hood.nodes.first().ok_or(CopiesError::Odd("this node belongs to no ring yet"))?;
        let here = first.contact.id;
        let mut found: BTreeMap<PeerKey, Contact> = BTreeMap::new();
        let mut list = first.successors.clone();
        let mut reached = here.distance_to(here);
        while let Some(last) = list.last().cloned() {
            let way = here.distance_to(last.id);
            found.extend(list.into_iter().map(|contact| (contact.key, contact)));
            // Once round, or no further, or further than one question may reach.
            if way <= reached || found.len() >= MACHINES_MAX {
                break;
            }
            reached = way;
            let next = self.ring.owner_of(last.id.plus_power(0)).await?;
            list = std::iter::once(next.owner).chain(next.owner_told.successors).collect();
            list.retain(|contact| here.distance_to(contact.id) > reached);
        }
        found.remove(&self.machine());
        let machines: Vec<Contact> = found.into_values().collect();
        *self.machines.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), hood, machines.clone()));
        Ok(machines)
    }

    /// Asks every machine at once; of those who did not answer it is only known how many they are.
    pub(super) async fn ask_all(self: &Arc<Self>, ask: &Ask) -> (Vec<(Contact, Reply)>, usize) {
        let Ok(machines) = self.machines().await else { return (Vec::new(), 1) };
        let mut under_way = JoinSet::new();
        for contact in machines {
            let (reach, ask) = (self.clone(), ask.clone());
            under_way.spawn(async move {
                let reply = tokio::time::timeout(GATHER_WAIT, reach.ask(&contact, &ask)).await;
                (contact, reply.ok().and_then(Result::ok))
            });
        }
        let (mut replies, mut silent) = (Vec::new(), 0);
        while let Some(done) = under_way.join_next().await {
            match done {
                Ok((contact, Some(reply))) => replies.push((contact, reply)),
                _ => silent += 1,
            }
        }
        (replies, silent)
    }

    /// What was said of this place was wrong, or cannot be used: the next one asks anew.
    pub(super) fn forget(&self, place: Id) {
        self.memory().retain(|(_, told)| !place.is_in(told.holders.arc.0, told.holders.arc.1));
    }

    fn remembered(&self, place: Id) -> Option<Told> {
        let mut memory = self.memory();
        memory.retain(|(at, _)| at.elapsed() < BELIEVED_FOR);
        let newest_first = memory.iter().rev();
        newest_first.map(|(_, told)| told).find(|told| place.is_in(told.holders.arc.0, told.holders.arc.1)).cloned()
    }

    fn memory(&self) -> MutexGuard<'_, VecDeque<(Instant, Told)>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
