//! Hosts that have grown are split over more places (decision 0013): who decides, how it is told, how entries move, and where readers and
//! writers go meanwhile.
//!
//! Into how many parts a host is split only ever grows, so machines that differ take the larger. The owner of a host's first place decides
//! ([`deciding`]), whoever owns a part brings the half that leaves it to its new holders ([`moving`]), and here is what everybody does: tell the
//! other before entries are exchanged, and ask the first place where one is not sure. Promised: a reader who asks where
//! [`Shape::places_of`] says, and is told nothing larger, has asked whoever was given what was acknowledged. Kept durably is the
//! number of parts; everything else here is forgotten at a restart, and asked again.

mod deciding;
mod memory;
mod moving;
mod shape;

pub(super) use deciding::run;
pub(super) use moving::has_moved;
pub(super) use shape::{Shape, host_of, lies_elsewhere};

use super::wire::{Ask, Bytes, Reply};
use super::{CopiesError, Inner};
use herodotus_base::{Id, PeerKey};
use herodotus_ring::Contact;
use herodotus_ring::placement::{Placement, place_of_key, place_of_part};
use herodotus_store::parcel::parcel_names;
use memory::Memory;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Hosts in one question: with names as long as DNS has them, a quarter of what a call may carry.
pub(super) const HOSTS_MAX: usize = 1024;
/// A host's name in a key is no longer than this: DNS allows 253 characters, and a port is short.
const HOST_BYTES_MAX: usize = 512;
/// What a first place said is believed for so long.
const BELIEVED_FOR: Duration = Duration::from_secs(10);
/// Who was told something is not told again for so long. After that it may have lost its disk.
const TOLD_FOR: Duration = Duration::from_secs(30);
/// Hosts that are remembered as readers and writers ask for them; each takes some hundred bytes.
const SHAPES_MAX: usize = 4096;
/// The same for what peers were told: so many hosts of as many peers as one speaks with.
const TOLD_MAX: usize = 1 << 15;
/// Hosts and parts that are remembered as settled and moved: what this machine owns of hosts that are split.
const SETTLED_MAX: usize = 1 << 16;

/// What a machine knows of hosts that are split, beside what it has noted durably.
#[derive(Debug)]
pub(super) struct Splits {
    /// Whoever sets a host's parts holds it, so that they only grow.
    raising: Mutex<()>,
    /// As first places said lately.
    shapes: Mutex<Memory<String, Shape>>,
    /// Up to how many parts a host has moved: true for ever.
    settled: Mutex<Memory<String, u32>>,
    /// What peers were told of a host.
    told: Mutex<Memory<(PeerKey, String), u32>>,
    /// Parts of ours of which half was brought to its new place: host, number of parts, part.
    moved: Mutex<Memory<(String, u32, u32), ()>>,
    /// Parts of ours of which half is to be brought to its new place.
    leaving: Mutex<BTreeSet<(String, u32, u32)>>,
    /// First places that were counted: with so many entries they are counted again.
    counted: Mutex<Memory<(String, u32), u64>>,
    wake: Notify,
    /// How often a host was split further, as this machine learnt.
    raised: AtomicU64,
}

impl Default for Splits {
    fn default() -> Self {
        Self {
            raising: Mutex::default(),
            shapes: Mutex::new(Memory::new(SHAPES_MAX)),
            settled: Mutex::new(Memory::new(SETTLED_MAX)),
            told: Mutex::new(Memory::new(TOLD_MAX)),
            moved: Mutex::new(Memory::new(SETTLED_MAX)),
            leaving: Mutex::default(),
            counted: Mutex::new(Memory::new(SHAPES_MAX)),
            wake: Notify::new(),
            raised: AtomicU64::new(0),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who learnt something when hosts were told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Learnt {
    pub(super) here: bool,
    pub(super) there: bool,
}

impl Splits {
    /// Changes whenever something lies elsewhere from now on.
    pub(super) fn times_raised(&self) -> u64 {
        self.raised.load(Relaxed)
    }
}

impl Inner {
    fn is_by_host(&self) -> bool {
        self.placement == Placement::ByHost
    }

    /// What is known here of a host, without asking anybody.
    pub(super) fn shape_here(&self, bucket: &str) -> Shape {
        if !self.is_by_host() {
            return Shape::WHOLE;
        }
        let parts = self.store.parts(bucket).unwrap_or(1);
        let host = bucket.to_owned();
        let settled = locked(&self.splits.settled).get(&host).copied().unwrap_or(1);
        let noted = Shape::new(parts, settled).unwrap_or(Shape::WHOLE);
        let told = locked(&self.splits.shapes).get_lately(Instant::now(), &host, BELIEVED_FOR).copied();
        told.map_or(noted, |told| told.join(noted))
    }

    /// Where a key is to be looked for, by what is known here.
    pub(super) fn places_here(&self, key: &str) -> Vec<Id> {
        match self.placement {
            Placement::ByHost => self.shape_here(host_of(key)).places_of(key),
            Placement::ByUrl => vec![place_of_key(self.placement, key, 1)],
        }
    }

    /// What was said of a host.
    pub(super) fn heard(&self, bucket: &str, shape: Shape) {
        let now = Instant::now();
        let known = self.shape_here(bucket);
        locked(&self.splits.shapes).put(now, bucket.to_owned(), shape.join(known));
        if shape.settled > known.settled {
            locked(&self.splits.settled).put(now, bucket.to_owned(), shape.settled);
        }
    }
}

/// Takes hosts for split into at least so many parts, durably. What leaves a part of ours is then on its way, and what lies here astray is
/// looked for. Gives those that this machine did not know.
pub(super) async fn raise(inner: &Arc<Inner>, hosts: Vec<(String, u32)>) -> Result<Vec<(String, u32)>, CopiesError> {
    let is_sane = |(bucket, parts): &(String, u32)| bucket.len() <= HOST_BYTES_MAX && Shape::new(*parts, 1).is_some();
    let hosts: Vec<_> = hosts.into_iter().filter(is_sane).filter(|(_, parts)| *parts > 1).collect();
    if hosts.is_empty() || !inner.is_by_host() {
        return Ok(Vec::new());
    }
    let raised = inner
        .blocking(move |inner| {
            let _only = locked(&inner.splits.raising);
            // First the records: if we die between, captures are told of again.
            for (bucket, parts) in &hosts {
                inner.ledger.set_parts(bucket, *parts)?;
            }
            Ok(inner.store.raise_parts(&hosts)?)
        })
        .await?;
    if !raised.is_empty() {
        inner.splits.raised.fetch_add(1, Relaxed);
        raised.iter().for_each(|(bucket, parts)| moving::begin(inner, bucket, *parts));
        inner.custodian().stray_came(inner.now());
        inner.wake.notify_one();
        inner.splits.wake.notify_one();
    }
    Ok(raised)
}

/// Tells a machine into how many parts the hosts of these keys are split, unless it was told lately, and learns where it knows of more.
pub(super) async fn tell<'a>(
    inner: &Arc<Inner>,
    to: &Contact,
    keys: impl IntoIterator<Item = &'a str>,
) -> Result<Learnt, CopiesError> {
    let buckets: BTreeSet<&str> = keys.into_iter().map(host_of).collect();
    tell_hosts(inner, to, buckets.into_iter().map(str::to_owned).collect(), TOLD_FOR).await
}

/// The same for hosts, and for those who were told longer ago than this.
async fn tell_hosts(
    inner: &Arc<Inner>,
    to: &Contact,
    buckets: Vec<String>,
    told_for: Duration,
) -> Result<Learnt, CopiesError> {
    let mut learnt = Learnt::default();
    if !inner.is_by_host() || to.key == inner.reach.machine() {
        return Ok(learnt);
    }
    let peer = to.key;
    let news = inner
        .blocking(move |inner| {
            let mut news = Vec::new();
            for bucket in buckets {
                let parts = inner.store.parts(&bucket)?;
                let known = (peer, bucket);
                let was_told = locked(&inner.splits.told).get_lately(Instant::now(), &known, told_for).copied();
                if was_told.is_none_or(|told| told < parts) && known.1.len() <= HOST_BYTES_MAX {
                    news.push((known.1, parts));
                }
            }
            Ok(news)
        })
        .await?;
    for hosts in news.chunks(HOSTS_MAX) {
        let reply = inner.reach.ask(to, &Ask::Split { hosts: hosts.to_vec() }).await?;
        let Reply::Split { larger, learnt: there } = reply else {
            return Err(CopiesError::Odd("an answer to another question"));
        };
        learnt.there |= there > 0;
        learnt.here |= !raise(inner, larger).await?.is_empty();
        let now = Instant::now();
        let mut told = locked(&inner.splits.told);
        hosts.iter().for_each(|(bucket, parts)| told.put(now, (peer, bucket.clone()), *parts));
    }
    Ok(learnt)
}

/// Somebody tells into how many parts hosts are split: answered with those of which we know more.
pub(super) async fn told(inner: &Arc<Inner>, hosts: Vec<(String, u32)>) -> Result<Reply, CopiesError> {
    if hosts.len() > HOSTS_MAX || hosts.iter().any(|(_, parts)| Shape::new(*parts, 1).is_none()) {
        return Err(CopiesError::Odd("a host cannot be split like that"));
    }
    let learnt = raise(inner, hosts.clone()).await?.len() as u32;
    let larger = inner
        .blocking(move |inner| {
            let mut larger = Vec::new();
            for (bucket, parts) in hosts {
                let ours = inner.store.parts(&bucket)?;
                if ours > parts {
                    larger.push((bucket, ours));
                }
            }
            Ok(larger)
        })
        .await?;
    Ok(Reply::Split { larger, learnt })
}

/// The hosts of a parcel that is for us to own and pass on, of which something lies with others by what we know: with how many parts
/// they have.
pub(super) async fn misplaced(inner: &Arc<Inner>, parcel: Arc<Bytes>) -> Result<Vec<(String, u32)>, CopiesError> {
    if !inner.is_by_host() {
        return Ok(Vec::new());
    }
    inner
        .blocking(move |inner| {
            let mut hosts = Vec::new();
            for id in parcel_names(&parcel.0)? {
                let bucket = host_of(&id.key);
                let parts = inner.store.parts(bucket)?;
                if parts > 1 && lies_elsewhere(&id.key, parts, |place| inner.custodian().owns(place)) {
                    hosts.push((bucket.to_owned(), parts));
                }
            }
            hosts.dedup();
            Ok(hosts)
        })
        .await
}

/// Into how many parts a host is split, for whoever is about to read or write what others hold. Of one that is not known to be split its first
/// place is asked by the question itself, and says if there are more.
pub(super) async fn shape(inner: &Arc<Inner>, bucket: &str) -> Result<Shape, CopiesError> {
    let known = inner.shape_here(bucket);
    let lately = locked(&inner.splits.shapes).get_lately(Instant::now(), &bucket.to_owned(), BELIEVED_FOR).is_some();
    if known.parts == 1 || lately || !inner.is_by_host() {
        return Ok(known);
    }
    ask_first(inner, bucket).await
}

/// The same, asked of the first place whatever is known.
pub(super) async fn ask_first(inner: &Arc<Inner>, bucket: &str) -> Result<Shape, CopiesError> {
    let place = place_of_part(bucket, 0);
    let knows = |inner: &Inner| {
        let custodian = inner.custodian();
        custodian.owns(place) && custodian.is_here(place)
    };
    if !inner.is_by_host() || knows(inner) {
        return Ok(inner.shape_here(bucket));
    }
    let ask = Ask::Parts { bucket: bucket.to_owned() };
    for _ in 0..2 {
        let told = inner.holders(place).await?;
        let mut contacts = inner.reach.nearest(&told);
        contacts.sort_by_key(|contact| contact.key != told.owner.key);
        for contact in contacts {
            let Ok(Reply::Parts { parts, settled }) = inner.reach.ask(&contact, &ask).await else { continue };
            let Some(said) = Shape::new(parts, settled) else { continue };
            let known = inner.shape_here(bucket).parts;
            if said.parts < known {
                // It is the one that others ask.
                raise(inner, vec![(bucket.to_owned(), known)]).await?;
                tell_hosts(inner, &contact, vec![bucket.to_owned()], Duration::ZERO).await?;
            }
            inner.heard(bucket, said);
            return Ok(inner.shape_here(bucket));
        }
        inner.reach.forget(place);
    }
    Err(CopiesError::Nobody)
}

/// Where whoever reads a key from others looks for it; again: after nobody had it.
pub(super) async fn places_to_read(inner: &Arc<Inner>, key: &str, is_again: bool) -> Result<Vec<Id>, CopiesError> {
    if !inner.is_by_host() {
        return Ok(inner.places_here(key));
    }
    let bucket = host_of(key);
    let shape = if is_again { ask_first(inner, bucket).await? } else { shape(inner, bucket).await? };
    Ok(shape.places_of(key))
}

/// Where a writer brings a key that is not its own. The owner of where it was knows then that it is elsewhere.
pub(super) async fn place_to_write(inner: &Arc<Inner>, key: &str) -> Result<Id, CopiesError> {
    if !inner.is_by_host() {
        return Ok(place_of_key(inner.placement, key, 1));
    }
    let bucket = host_of(key);
    let shape = shape(inner, bucket).await?;
    let places = shape.places_of(key);
    if let [_, before] = places[..] {
        // As long as it does not know, it would answer without what we write.
        let told = inner.holders(before).await?;
        raise(inner, vec![(bucket.to_owned(), shape.parts)]).await?;
        tell_hosts(inner, &told.owner, vec![bucket.to_owned()], TOLD_FOR).await?;
    }
    Ok(places[0])
}
