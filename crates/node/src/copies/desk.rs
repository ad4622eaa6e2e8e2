//! Answering peers: what they compare, bring, fetch, challenge and read. Everything comes within the transport's bounds; what reads the disk runs where it may
//! block, a bounded number at once.

use super::elsewhere::one_key;
use super::exchange::{address_of, take_in};
use super::voices::says_something;
use super::wire::{
    Ask, Bulk, Bytes as WireBytes, COPIES, ENTRIES_MAX, Hit, NAMES_MAX, Name, Reply, TITLES_MAX, WireEntry,
};
use super::{CopiesError, Inner, bulk, health, split};
use bytes::Bytes;
use herodotus_base::{Id, PeerKey, Sha256};
use herodotus_catalogue::Found;
use herodotus_ledger::{Record, Taken, open_bundle, pack_bundle};
use herodotus_net::{Address, BoxFuture, Caller, Kind, Refusal, Service, Stream};
use herodotus_replica::compare;
use herodotus_ring::Contact;
use herodotus_store::parcel::Outcome;
use herodotus_store::parcel::shipment::SHIPMENT_FORM;
use herodotus_store::{EntryKey, Error as StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use tokio::sync::{Semaphore, mpsc};

/// Peers' questions that read the disk at once. Our own readers have theirs.
const READERS_MAX: usize = 8;
/// A parcel, and with it an answer, stays below what a call may carry.
pub(super) const PARCEL_BYTES_MAX: usize = 900 * 1024;
/// Entries that one challenge is about.
pub(super) const CHALLENGE_MAX: usize = 16;

pub(super) struct Desk {
    /// Not more than that: the endpoint that holds us is held by it.
    inner: Weak<Inner>,
    readers: Arc<Semaphore>,
}

impl Desk {
    pub(super) fn new(inner: &Arc<Inner>) -> Self {
        Self { inner: Arc::downgrade(inner), readers: Arc::new(Semaphore::new(READERS_MAX)) }
    }
}

impl Service for Desk {
    fn call(&self, from: Caller, kind: Kind, payload: Bytes) -> BoxFuture<Result<Bytes, Refusal>> {
        let (inner, readers) = (self.inner.upgrade(), self.readers.clone());
        Box::pin(async move {
            if kind != COPIES {
                return Err(Refusal::UnknownKind(kind.0));
            }
            let inner = inner.ok_or(Refusal::Busy)?;
            let ask: Ask =
                postcard::from_bytes(&payload).map_err(|_| Refusal::service("that is no question about copies"))?;
            let reply =
                answer(&inner, &readers, from, ask).await.map_err(|error| Refusal::service(error.to_string()))?;
            let bytes = postcard::to_stdvec(&reply).map_err(|_| Refusal::Busy)?;
            inner.counters.served(bytes.len());
            Ok(Bytes::from(bytes))
        })
    }

    fn stream(&self, from: Caller, kind: Kind, head: Bytes, stream: Stream) -> BoxFuture<()> {
        let (inner, readers) = (self.inner.upgrade(), self.readers.clone());
        Box::pin(async move {
            let (Some(inner), COPIES) = (inner, kind) else { return };
            let Ok(bulk) = postcard::from_bytes(&head) else { return };
            // Shipments last as long as a machine is being filled: they have places of their own, and nobody else's question waits for them.
            let _permit = match bulk {
                Bulk::TakeShipments | Bulk::GiveShipments | Bulk::GiveShipmentsUpTo { .. } => None,
                _ => match readers.acquire_owned().await {
                    Ok(permit) => Some(permit),
                    Err(_) => return,
                },
            };
            // What went wrong the other side sees as a stream that breaks off.
            let _ = bulk::serve(&inner, from, bulk, stream).await;
        })
    }
}

async fn answer(inner: &Arc<Inner>, readers: &Arc<Semaphore>, from: Caller, ask: Ask) -> Result<Reply, CopiesError> {
    if let Ask::Holders { place } = ask {
        return Ok(Reply::Holders(inner.custodian().holders_of(place)));
    }
    if let Ask::MayLetGo { place } = ask {
        return Ok(Reply::MayLetGo(inner.custodian().may_let_go(inner.now(), from.key, place)));
    }
    let (ask, at) = match ask {
        Ask::At { place, .. } if !inner.custodian().is_here(place) => return Ok(Reply::NotHere),
        Ask::At { place, ask } => (*ask, Some(place)),
        Ask::Split { hosts } => return split::told(inner, hosts).await,
        Ask::Shipments => return Ok(Reply::Shipments { form: SHIPMENT_FORM }),
        Ask::HasMoved { bucket, parts, part } => return split::has_moved(inner, bucket, parts, part).await,
        Ask::Parts { bucket } => return parts(inner, bucket).await,
        Ask::Within { place, .. } if !inner.custodian().is_here(place) => return Ok(Reply::NotHere),
        Ask::Within { place, bucket, parts: known, ask } => match parts_beyond(inner, bucket, known).await? {
            Some(reply) => return Ok(reply),
            None => (*ask, Some(place)),
        },
        other => (other, None),
    };
    if let Ask::Compare(question) = &ask
        && let Some((from, to)) = question.relies_on()
        && !inner.custodian().vouch(inner.now(), from, to)
    {
        return Ok(Reply::Compare(question.denial()));
    }
    let permit = readers.clone().acquire_owned().await.map_err(|_| CopiesError::Odd("the node is stopping"))?;
    if let Ask::Take { parcel, spread } = ask {
        return take(inner, from, parcel, spread).await;
    }
    if let Ask::Keep { bundle, spread } = ask {
        return keep(inner, from, bundle, spread).await;
    }
    inner
        .blocking(move |inner| {
            let _permit = permit;
            match at {
                Some(place) => read_at(inner, place, ask),
                None => read(inner, ask),
            }
        })
        .await
}

/// The same for one who relies on us for a place: that there is nothing at all of a URL is said only if it is so.
pub(super) fn read_at(inner: &Inner, place: Id, ask: Ask) -> Result<Reply, CopiesError> {
    let key = match &ask {
        Ask::Count { key } => Some(key.clone()),
        Ask::Entries { from, to, .. } => one_key(&from.0, &to.0).map(str::to_owned),
        _ => None,
    };
    let reply = read(inner, ask)?;
    Ok(match key {
        Some(key) if !says_something(&reply) && inner.is_unsure_of(place, &key) => Reply::Unsure,
        _ => reply,
    })
}

/// What only reads.
pub(super) fn read(inner: &Inner, ask: Ask) -> Result<Reply, CopiesError> {
    let store = &inner.store;
    if let Ask::Entries { .. } | Ask::Count { .. } | Ask::Capture { .. } = &ask {
        // Somebody reads on another machine.
        inner.courtesy.notice();
    }
    Ok(match ask {
        Ask::Compare(question) => {
            if let compare::Question::V1(compare::Ask::Whole { .. } | compare::Ask::HoldsSums { .. }) = question {
                // What waits in memory is not in the table of places.
                store.seal()?;
            }
            Reply::Compare(compare::answer(&inner.shelf(), &question)?)
        }
        Ask::Lacks { names } => {
            let mut lacking = Vec::new();
            for (n, name) in names.iter().take(NAMES_MAX).enumerate() {
                let id = name.id().ok_or(CopiesError::Odd("that is no name"))?;
                if !store.knows(&id)? {
                    lacking.push(n as u32);
                }
            }
            Reply::Lacks(lacking)
        }
        Ask::Give { names, bases } => {
            let ids = ids(&names)?;
            let (parcel, covered) = store.parcel(&ids, |base| bases.contains(&Name::of(base)), PARCEL_BYTES_MAX)?;
            match parcel.needs_stream {
                true => Reply::Given { parcel: WireBytes::default(), covered: 0 },
                false => Reply::Given { parcel: WireBytes(parcel.bytes), covered: covered as u32 },
            }
        }
        Ask::Named { salt, spans, shorts } => {
            let shelf = inner.shelf();
            let spans = spans.open().ok_or(CopiesError::Odd("spans that are none"))?;
            let marks = compare::resolve(&shelf, salt, &spans, &shorts)?;
            Reply::Names(shelf.names(&marks)?)
        }
        Ask::NamesOn { span, behind } => {
            let (names, last) = inner.shelf().names_on(span, behind)?;
            Reply::NamesOn(names, last)
        }
        Ask::Challenge { nonce, names } => Reply::Proof(match proof(inner, &nonce, &names) {
            // What cannot be read is not held: to refuse instead would look as if nobody was there, and be asked for ever.
            Err(CopiesError::Store(StoreError::Damaged(_) | StoreError::Disk { .. })) => None,
            proved => proved?,
        }),
        Ask::Entries { from, to, backwards, max } => {
            let max = (max as usize).min(ENTRIES_MAX);
            let entries = store.scan_names(from.0, to.0, backwards).take(max);
            Reply::Entries(entries.map(|entry| Ok(WireEntry::of(&entry?))).collect::<Result<_, CopiesError>>()?)
        }
        Ask::Count { key } => Reply::Count(store.count(&key)?),
        Ask::Capture { name } => {
            let id = name.id().ok_or(CopiesError::Odd("that is no name"))?;
            // Nothing says that it is to be had as bulk.
            let fits = |bytes: Vec<u8>| if bytes.len() > PARCEL_BYTES_MAX { Vec::new() } else { bytes };
            let bytes = store.capture_bytes(&id);
            if let Err(StoreError::Damaged(_)) = bytes {
                inner.come_upon_damage(&id);
            }
            Reply::Capture(bytes?.map(fits).map(WireBytes))
        }
        Ask::Search { words, max } => {
            let found = inner.catalogue.search(store, &words, (max as usize).min(ENTRIES_MAX));
            let found = found.map_err(|_| CopiesError::Odd("titles cannot be searched here"))?;
            let hit =
                |found: Found| Hit { key: found.key, url: found.url, title: found.title, time_ms: found.time.millis() };
            Reply::Hits(found.into_iter().map(hit).collect())
        }
        Ask::Titles { keys } => {
            let title = |key: &String| inner.catalogue.title_of(store, key).ok().flatten();
            Reply::Titles(keys.iter().take(TITLES_MAX).map(title).collect())
        }
        Ask::Recent { max } => {
            let entries = store.recent((max as usize).min(ENTRIES_MAX))?;
            Reply::Entries(entries.iter().map(WireEntry::of).collect())
        }
        Ask::Status => Reply::Status(health::status(inner)?),
        Ask::GiveRecords { names } => give_records(inner, &names)?,
        Ask::Holders { .. } | Ask::MayLetGo { .. } | Ask::Take { .. } | Ask::At { .. } | Ask::Within { .. } => {
            return Err(CopiesError::Odd("a question that is answered elsewhere"));
        }
        Ask::Split { .. } | Ask::HasMoved { .. } | Ask::Parts { .. } | Ask::Keep { .. } | Ask::Shipments => {
            return Err(CopiesError::Odd("a question that is answered elsewhere"));
        }
    })
}

/// Into how many parts a host is split, if its first place is here.
async fn parts(inner: &Arc<Inner>, bucket: String) -> Result<Reply, CopiesError> {
    if !inner.custodian().is_here(herodotus_ring::placement::place_of_part(&bucket, 0)) {
        return Ok(Reply::NotHere);
    }
    let shape = inner.blocking(move |inner| Ok(inner.shape_here(&bucket))).await?;
    Ok(Reply::Parts { parts: shape.parts, settled: shape.settled })
}

/// The same, if they are more than somebody thinks who asks for something else.
async fn parts_beyond(inner: &Arc<Inner>, bucket: String, known: u32) -> Result<Option<Reply>, CopiesError> {
    let shape = inner.blocking(move |inner| Ok(inner.shape_here(&bucket))).await?;
    Ok((shape.parts > known).then_some(Reply::Parts { parts: shape.parts, settled: shape.settled }))
}

pub(super) fn ids(names: &[Name]) -> Result<Vec<EntryKey>, CopiesError> {
    let ids: Option<Vec<_>> = names.iter().take(NAMES_MAX).map(Name::id).collect();
    ids.ok_or(CopiesError::Odd("that is no name"))
}

/// A digest over the nonce and the bytes of all entries. `None`: one of them is not here.
pub(super) fn proof(inner: &Inner, nonce: &[u8; 32], names: &[Name]) -> Result<Option<[u8; 32]>, CopiesError> {
    let mut all = Vec::with_capacity(names.len() * 32);
    let mut damage = None;
    for id in ids(names)?.iter().take(CHALLENGE_MAX) {
        match inner.store.audit_digest(id, nonce) {
            Ok(Some(digest)) => all.extend_from_slice(&digest.0),
            Ok(None) => return Ok(None),
            // All that is damaged is mended before the next question, not one of it.
            Err(error @ StoreError::Damaged(_)) => {
                inner.come_upon_damage(id);
                damage = Some(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    match damage {
        Some(error) => Err(error.into()),
        None => Ok(Some(Sha256::of(&all).0)),
    }
}

/// Keeps a parcel durably; as its owner, passes it on. Answered when as many machines have it as a write needs, with the one that brought it.
pub(super) async fn take(
    inner: &Arc<Inner>,
    from: Caller,
    parcel: WireBytes,
    spread: bool,
) -> Result<Reply, CopiesError> {
    let sender = Address::new(from.key, from.address.into_iter().collect::<Vec<_>>());
    let parcel = Arc::new(parcel);
    if spread {
        let larger = split::misplaced(inner, parcel.clone()).await?;
        if !larger.is_empty() {
            return Ok(Reply::Split { larger, learnt: 0 });
        }
    }
    let taken = take_in(inner, &sender, parcel.clone()).await?;
    let with = |wanted: fn(&Outcome) -> bool| taken.entries.iter().filter(move |(_, outcome)| wanted(outcome));
    let lacking_base: Vec<Name> = taken.lacking_bases().map(Name::of).collect();
    let refused = with(|outcome| matches!(outcome, Outcome::Refused(_) | Outcome::LacksBlob)).count() as u32;
    let mut machines = 2;
    if spread {
        let kept = with(|outcome| matches!(outcome, Outcome::Stored | Outcome::Known | Outcome::Removed));
        let places = kept.map(|(id, _)| inner.place_of(&id.key)).collect();
        // Those who call the parcel theirs, too, keep it as it is.
        let parcel = WireBytes::clone(&parcel);
        machines += pass_on(inner, from.key, places, Ask::Take { parcel, spread: false }).await;
    }
    Ok(Reply::Taken { machines, lacking_base, refused })
}

/// Keeps records durably; as their owner, passes on those that were new. Answered as a parcel is.
async fn keep(inner: &Arc<Inner>, from: Caller, bundle: WireBytes, spread: bool) -> Result<Reply, CopiesError> {
    let (places, news) = inner
        .blocking(move |inner| {
            let records = open_bundle(&bundle.0)?;
            let taken = inner.ledger.take(&records)?;
            inner.ledger.sync()?;
            let kept = records.into_iter().zip(taken).filter(|(_, taken)| *taken == Taken::Kept);
            let news: Vec<Record> = kept.map(|(record, _)| record).collect();
            let places: Vec<Id> =
                news.iter().map(|record| inner.ledger.place_of(&record.name)).collect::<Result<_, _>>()?;
            Ok((places, news))
        })
        .await?;
    let mut machines = 2;
    if !news.is_empty() {
        inner.custodian().stray_came(inner.now());
        let _ = inner.record_news.send(Arc::new(news.clone()));
        if spread {
            let (bundle, _) = pack_bundle(&news, usize::MAX)?;
            let ask = Ask::Keep { bundle: WireBytes(bundle), spread: false };
            machines += pass_on(inner, from.key, places.into_iter().collect(), ask).await;
        }
    }
    Ok(Reply::Kept { machines })
}

fn give_records(inner: &Inner, names: &[Name]) -> Result<Reply, CopiesError> {
    let mut records = Vec::new();
    let (mut covered, mut bytes) = (0, 0);
    for name in names.iter().take(NAMES_MAX) {
        let name = name.record().ok_or(CopiesError::Odd("that is no name"))?;
        let record = inner.ledger.get(&name)?;
        bytes += record.as_ref().map_or(0, |record| record.value.len() + name.encode().len() + 16);
        if bytes > PARCEL_BYTES_MAX && covered > 0 {
            break;
        }
        covered += 1;
        records.extend(record);
    }
    let (bundle, _) = pack_bundle(&records, usize::MAX)?;
    Ok(Reply::Records { bundle: WireBytes(bundle), covered })
}

/// Brings something to those who are to hold it; returns when enough have it, and goes on with the others.
async fn pass_on(inner: &Arc<Inner>, from: PeerKey, places: BTreeSet<Id>, ask: Ask) -> u16 {
    let mut targets: BTreeMap<PeerKey, Contact> = BTreeMap::new();
    for place in places {
        targets.extend(inner.custodian().push_to(place).into_iter().map(|contact| (contact.key, contact)));
    }
    targets.remove(&from);
    let ask = Arc::new(ask);
    let (done, mut results) = mpsc::channel(targets.len().max(1));
    for contact in targets.into_values() {
        let (inner, ask, done) = (inner.clone(), ask.clone(), done.clone());
        tokio::spawn(async move {
            let reply = match &*ask {
                // One large capture, which came as bulk.
                Ask::Take { parcel, .. } if parcel.0.len() > PARCEL_BYTES_MAX => {
                    bulk::send(&inner, &address_of(&contact), parcel.0.clone(), false).await
                }
                ask => inner.reach.ask(&contact, ask).await,
            };
            let is_kept = match reply {
                Ok(Reply::Taken { lacking_base, refused: 0, .. }) => lacking_base.is_empty(),
                Ok(Reply::Kept { .. }) => true,
                _ => false,
            };
            if !is_kept {
                inner.custodian().push_failed(inner.now(), contact.key);
                inner.wake.notify_one();
            }
            let _ = done.send(is_kept).await;
        });
    }
    drop(done);
    let wanted = inner.settings.durable_on.saturating_sub(2);
    let mut kept = 0;
    while kept < wanted {
        match results.recv().await {
            Some(is_kept) => kept += u16::from(is_kept),
            None => break,
        }
    }
    kept
}
