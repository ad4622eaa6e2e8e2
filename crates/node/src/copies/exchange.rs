//! Bringing captures and records to another machine and fetching them from one: in parcels that fit a call, as bulk where one does not, large bodies
//! first. Nothing is kept that its digests do not prove; that is the store's to see (`herodotus_store::parcel`).

use super::desk::PARCEL_BYTES_MAX;
use super::wire::{Ask, Bulk, Bytes, Name, Reply};
use super::{CopiesError, Inner, bulk, shipping, split};
use herodotus_ledger::{Name as RecordName, Record, open_bundle, pack_bundle};
use herodotus_net::Address;
use herodotus_ring::Contact;
use herodotus_store::parcel::{LackingBlob, Outcome, Parcel, Taken, open_capture};
use herodotus_store::{Body, Capture, EntryKey, Error as StoreError};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Names in one question for captures.
const FETCHED_AT_ONCE: usize = 512;
/// Parcels on their way: packing, sending and keeping go on at once.
const PARCELS_AHEAD: usize = 2;

/// Whether somebody waits for what is brought, or others and the line come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Haste {
    Awaited,
    Mending,
}

pub(super) fn address_of(contact: &Contact) -> Address {
    Address::new(contact.key, contact.addresses.clone())
}

/// Sends what a machine lacks, captures and records.
pub(super) async fn bring_names(
    inner: &Arc<Inner>,
    to: &Contact,
    names: Vec<Name>,
    spread: bool,
) -> Result<(), CopiesError> {
    let mut ids: Vec<EntryKey> = names.iter().filter_map(Name::id).collect();
    if !spread {
        // What is passed on goes in parcels: whoever is last would have to wait for all of a shipment.
        ids = shipping::bring(inner, to, ids).await?;
    }
    bring(inner, to, ids, spread, Haste::Mending).await?;
    let mut names = names.iter().filter_map(Name::record).peekable();
    while names.peek().is_some() {
        let some: Vec<RecordName> = names.by_ref().take(FETCHED_AT_ONCE).collect();
        // One that is not here any more was confirmed elsewhere.
        let records = inner.blocking(move |inner| {
            let found = some.iter().filter_map(|name| inner.ledger.get(name).transpose());
            Ok(found.collect::<Result<Vec<Record>, _>>()?)
        });
        bring_records(inner, to, &records.await?, spread).await?;
    }
    Ok(())
}

/// Sends records in bundles, in their order.
pub(super) async fn bring_records(
    inner: &Arc<Inner>,
    to: &Contact,
    records: &[Record],
    spread: bool,
) -> Result<(), CopiesError> {
    let mut left = records;
    while !left.is_empty() {
        let (bundle, packed) = pack_bundle(left, PARCEL_BYTES_MAX)?;
        left = left.get(packed..).unwrap_or_default();
        inner.counters.brought(bundle.len());
        let reply = inner.reach.ask(to, &Ask::Keep { bundle: Bytes(bundle), spread }).await?;
        let Reply::Kept { .. } = reply else { return Err(CopiesError::Odd("an answer to another question")) };
    }
    Ok(())
}

/// Fetches records from a machine and keeps them durably.
async fn fetch_records(inner: &Arc<Inner>, from: &Contact, names: Vec<Name>) -> Result<(), CopiesError> {
    let mut left = names.as_slice();
    while !left.is_empty() {
        let some = &left[..left.len().min(FETCHED_AT_ONCE)];
        let reply = inner.reach.ask(from, &Ask::GiveRecords { names: some.to_vec() }).await?;
        let Reply::Records { bundle, covered } = reply else {
            return Err(CopiesError::Odd("an answer to another question"));
        };
        // Covering nothing would keep us asking for ever.
        left = left.get((covered as usize).max(1)..).unwrap_or_default();
        let taken = inner
            .blocking(move |inner| {
                let records = open_bundle(&bundle.0)?;
                let taken = inner.ledger.take(&records)?;
                inner.ledger.sync()?;
                let kept = records.into_iter().zip(taken).filter(|(_, taken)| *taken == herodotus_ledger::Taken::Kept);
                Ok(kept.map(|(record, _)| record).collect::<Vec<Record>>())
            })
            .await?;
        if !taken.is_empty() {
            inner.custodian().stray_came(inner.now());
            let _ = inner.record_news.send(Arc::new(taken));
        }
    }
    Ok(())
}

/// Sends captures in parcels, differences where the other side has what they are to; what it then says it cannot read goes whole.
pub(super) async fn bring(
    inner: &Arc<Inner>,
    to: &Contact,
    ids: Vec<EntryKey>,
    spread: bool,
    haste: Haste,
) -> Result<(), CopiesError> {
    if split::tell(inner, to, ids.iter().map(|id| id.key.as_str())).await?.here {
        return Err(CopiesError::Split);
    }
    let all: HashSet<EntryKey> = ids.iter().cloned().collect();
    // It may have whatever does not go in this very errand.
    let knows = Arc::new(move |base: &EntryKey| !all.contains(base));
    let lacking = bring_parcels(inner, to, ids, (spread, haste), knows).await?;
    match bring_parcels(inner, to, lacking, (spread, haste), Arc::new(|_: &EntryKey| false)).await?.is_empty() {
        true => Ok(()),
        false => Err(CopiesError::Odd("a machine refuses what it is to keep")),
    }
}

/// Sends parcels, the next while those before are being kept. Says what was written against something that the other side lacks.
async fn bring_parcels(
    inner: &Arc<Inner>,
    to: &Contact,
    ids: Vec<EntryKey>,
    (spread, haste): (bool, Haste),
    knows: Arc<impl Fn(&EntryKey) -> bool + Send + Sync + 'static>,
) -> Result<Vec<EntryKey>, CopiesError> {
    let (ids, mut at) = (Arc::new(ids), 0);
    let (mut lacking, mut under_way) = (Vec::new(), JoinSet::new());
    let broken = |_| CopiesError::Odd("a task of ours broke");
    while at < ids.len() {
        let (some, knows) = (ids.clone(), knows.clone());
        let packing = inner.blocking(move |inner| {
            let left = some.get(at..).unwrap_or_default();
            Ok(inner.store.parcel(left, |base| knows(base), PARCEL_BYTES_MAX)?)
        });
        let (parcel, covered) = packing.await?;
        let sent = at..at + covered;
        at += covered.max(1);
        parcel.unreadable.iter().for_each(|(id, _)| inner.come_upon_damage(id));
        if parcel.entries == 0 {
            continue;
        }
        if under_way.len() == PARCELS_AHEAD
            && let Some(sent) = under_way.join_next().await
        {
            lacking.extend(sent.map_err(broken)??);
        }
        if haste == Haste::Mending {
            inner.courtesy.turn_out(parcel.bytes.len()).await;
        }
        let (inner, to, ids) = (inner.clone(), to.clone(), ids.clone());
        under_way.spawn(async move { bring_parcel(&inner, &to, parcel, spread, (ids, sent)).await });
    }
    while let Some(sent) = under_way.join_next().await {
        lacking.extend(sent.map_err(broken)??);
    }
    Ok(lacking)
}

/// `ids` has, in the range that is given, what the parcel is of.
async fn bring_parcel(
    inner: &Arc<Inner>,
    to: &Contact,
    parcel: Parcel,
    spread: bool,
    (ids, sent): (Arc<Vec<EntryKey>>, Range<usize>),
) -> Result<Vec<EntryKey>, CopiesError> {
    inner.counters.brought(parcel.bytes.len());
    let reply = match parcel.needs_stream {
        true => bulk::send(inner, &address_of(to), parcel.bytes, spread).await?,
        false => inner.reach.ask(to, &Ask::Take { parcel: Bytes(parcel.bytes), spread }).await?,
    };
    match reply {
        // If that is nothing new, it is not the host that has changed but the ring: the next try asks who owns what.
        Reply::Split { larger, .. } => Err(match split::raise(inner, larger).await?.is_empty() {
            true => CopiesError::Odd("the owner of a place says that it is not its own: the ring is mending"),
            false => CopiesError::Split,
        }),
        Reply::Taken { refused, lacking_base, .. } => {
            if refused > 0 && damaged_among(inner, ids, sent).await? < refused {
                return Err(CopiesError::Odd("a machine refuses what it is to keep"));
            }
            Ok(lacking_base.iter().filter_map(Name::id).collect())
        }
        _ => Err(CopiesError::Odd("an answer to another question")),
    }
}

/// How many of what another machine was brought are damaged here; they are mended. A parcel is not proved when it is made, so what was bad when it was written shows only
/// when somebody refuses it. That is no reason to bring nothing else, then or ever.
async fn damaged_among(inner: &Arc<Inner>, ids: Arc<Vec<EntryKey>>, sent: Range<usize>) -> Result<u32, CopiesError> {
    inner
        .blocking(move |inner| {
            let mut damaged = 0;
            for id in ids.get(sent).unwrap_or_default() {
                if let Err(StoreError::Damaged(_)) = inner.store.audit_digest(id, &[0; 32]) {
                    inner.come_upon_damage(id);
                    damaged += 1;
                }
            }
            Ok(damaged)
        })
        .await
}

/// Fetches captures and records of which nothing was here when they were found, but not what has come from another machine since, or is coming.
pub(super) async fn fill(inner: &Arc<Inner>, from: &Contact, names: Vec<Name>) -> Result<(), CopiesError> {
    let (claim, mut others) = inner.on_way.claim(names);
    let ours = claim.names.clone();
    let ours = inner.blocking(move |inner| lacking(inner, ours)).await?;
    fetch(inner, from, ours).await?;
    // Two that wait for one another must not have what the other waits for.
    drop(claim);
    while !others.is_empty() {
        let is_settled = inner.on_way.settled(&others).await;
        let waited_for = others.len();
        others = inner.blocking(move |inner| lacking(inner, others)).await?;
        // Whoever sends them may be slow, and is waited for as long as something comes.
        if is_settled || others.len() == waited_for {
            return fetch(inner, from, others).await;
        }
    }
    Ok(())
}

/// Those of the names that nothing is held of here, and all records, of which there may be newer ones.
fn lacking(inner: &Inner, names: Vec<Name>) -> Result<Vec<Name>, CopiesError> {
    let mut lacking = Vec::new();
    for name in names {
        let is_here = match (name.record(), name.id()) {
            (None, Some(id)) => inner.store.knows(&id)?,
            _ => false,
        };
        if !is_here {
            lacking.push(name);
        }
    }
    Ok(lacking)
}

/// Fetches captures and records from a machine and keeps them durably.
pub(super) async fn fetch(inner: &Arc<Inner>, from: &Contact, names: Vec<Name>) -> Result<(), CopiesError> {
    let (records, names): (Vec<Name>, Vec<Name>) = names.into_iter().partition(|name| name.record().is_some());
    fetch_records(inner, from, records).await?;
    let ids: Vec<EntryKey> = names.iter().filter_map(Name::id).collect();
    if split::tell(inner, from, ids.iter().map(|id| id.key.as_str())).await?.here {
        return Err(CopiesError::Split);
    }
    let names = shipping::fetch(inner, from, names).await?;
    let lacking = fetch_captures(inner, from, names, true).await?;
    match fetch_captures(inner, from, lacking, false).await?.is_empty() {
        true => Ok(()),
        false => Err(CopiesError::Odd("a machine gives only differences to what is not here")),
    }
}

/// Fetches captures, the next while those before are being kept. Says which came as differences to what is not here.
async fn fetch_captures(
    inner: &Arc<Inner>,
    from: &Contact,
    names: Vec<Name>,
    with_bases: bool,
) -> Result<Vec<Name>, CopiesError> {
    let (parcels, mut arrived) = mpsc::channel::<Vec<u8>>(PARCELS_AHEAD);
    let keeping = async {
        let (address, mut lacking) = (address_of(from), Vec::new());
        while let Some(parcel) = arrived.recv().await {
            inner.courtesy.turn_in(parcel.len()).await;
            let taken = take_in(inner, &address, Arc::new(Bytes(parcel))).await?;
            // What was refused is damaged there, and passed over as if it could not be read; it keeps nothing else from coming.
            if taken.entries.iter().any(|(_, outcome)| *outcome == Outcome::LacksBlob) {
                return Err(CopiesError::Odd("a machine gave something other than what was asked for"));
            }
            lacking.extend(taken.lacking_bases().map(Name::of));
        }
        Ok(lacking)
    };
    let ((), lacking) = tokio::try_join!(ask_for(inner, from, names, with_bases, parcels), keeping)?;
    Ok(lacking)
}

async fn ask_for(
    inner: &Arc<Inner>,
    from: &Contact,
    names: Vec<Name>,
    with_bases: bool,
    parcels: mpsc::Sender<Vec<u8>>,
) -> Result<(), CopiesError> {
    let (mut left, mut last) = (names.as_slice(), None);
    while !left.is_empty() {
        let asked = left[..left.len().min(FETCHED_AT_ONCE)].to_vec();
        let bases = match with_bases {
            true => {
                let asked = asked.clone();
                let mut bases = inner.blocking(move |inner| bases_for(inner, &asked)).await?;
                // Parcels are kept in their order: the last that was asked for is kept before anything of this answer.
                bases.extend(last);
                bases
            }
            false => Vec::new(),
        };
        let reply = inner.reach.ask(from, &Ask::Give { names: asked, bases }).await?;
        let Reply::Given { parcel, covered } = reply else {
            return Err(CopiesError::Odd("an answer to another question"));
        };
        let (parcel, covered) = match covered {
            0 => (bulk::get(inner, &address_of(from), &Bulk::Give { name: left[0].clone() }).await?, 1),
            covered => (parcel.0, (covered as usize).min(left.len())),
        };
        last = left.get(covered - 1).cloned();
        left = left.get(covered..).unwrap_or_default();
        if !parcel.is_empty() && parcels.send(parcel).await.is_err() {
            // Whoever keeps them has met an error, and says so.
            return Ok(());
        }
    }
    Ok(())
}

/// Versions here that what is fetched may be written against.
fn bases_for(inner: &Inner, names: &[Name]) -> Result<Vec<Name>, CopiesError> {
    let mut bases = Vec::new();
    for id in names.iter().filter_map(Name::id) {
        if let Some(entry) = inner.store.newest_not_after(&id.key, id.time)? {
            bases.push(Name::of(&entry.id));
        }
    }
    bases.dedup();
    Ok(bases)
}

/// Takes a parcel in, the large bodies that it names first, and makes it durable.
pub(super) async fn take_in(inner: &Arc<Inner>, sender: &Address, parcel: Arc<Bytes>) -> Result<Taken, CopiesError> {
    let bytes = parcel.clone();
    let taken = inner.blocking(move |inner| Ok(inner.store.take_parcel(&bytes.0)?)).await?;
    let taken = if taken.lacking_blobs.is_empty() {
        taken
    } else {
        for blob in &taken.lacking_blobs {
            fetch_blob(inner, sender, blob).await?;
        }
        inner.blocking(move |inner| Ok(inner.store.take_parcel(&parcel.0)?)).await?
    };
    inner.blocking(|inner| Ok(inner.store.commit()?)).await?;
    note_taken(inner, &taken);
    Ok(taken)
}

/// Remembers what came durably from another machine.
pub(super) fn note_taken(inner: &Inner, taken: &Taken) {
    let stored = taken.entries.iter().filter(|(_, outcome)| *outcome == Outcome::Stored);
    inner.brought.note(stored.clone().map(|(id, _)| id.clone()));
    let stored = stored.count();
    inner.counters.took(stored);
    if stored > 0 {
        inner.custodian().stray_came(inner.now());
    }
}

async fn fetch_blob(inner: &Arc<Inner>, from: &Address, blob: &LackingBlob) -> Result<(), CopiesError> {
    let mut stream = inner.reach.open(from, &Bulk::Blob { sha256: blob.sha256.0, offset: 0 }).await?;
    // A writing half that is dropped without this takes the question back, most often before it was sent.
    stream.shutdown().await?;
    let (reader, blob, runtime) = (stream.into_split().0, blob.clone(), inner.runtime.clone());
    inner
        .blocking(move |inner| {
            let reader = tokio_util::io::SyncIoBridge::new_with_handle(reader, runtime);
            Ok(inner.store.receive_blob(&blob.sha256, blob.len, &blob.media, reader)?)
        })
        .await
}

/// A capture from the nearest of those who hold it, checked; from the next if one fails. `None`: all of them say that there is none. If one that
/// cannot be asked may have it, that is an error: it may go better the next time.
pub(super) async fn from_others(inner: &Arc<Inner>, id: &EntryKey) -> Result<Option<Capture>, CopiesError> {
    let (mut has_answered, mut trouble) = (false, None);
    // What was remembered of the holders may be out of date: then once more.
    for is_again in [false, true] {
        trouble = None;
        for place in split::places_to_read(inner, &id.key, is_again).await? {
            let told = inner.holders(place).await?;
            for contact in inner.reach.nearest(&told) {
                match capture_from(inner, &contact, id).await {
                    Ok(Some(capture)) => return Ok(Some(capture)),
                    Ok(None) => has_answered = true,
                    Err(error) => trouble = Some(error),
                }
            }
            inner.reach.forget(place);
        }
    }
    match trouble {
        None if has_answered => Ok(None),
        None => Err(CopiesError::Nobody),
        Some(trouble) => Err(trouble),
    }
}

async fn capture_from(inner: &Arc<Inner>, contact: &Contact, id: &EntryKey) -> Result<Option<Capture>, CopiesError> {
    let name = Name::of(id);
    let Reply::Capture(bytes) = inner.reach.ask(contact, &Ask::Capture { name: name.clone() }).await? else {
        return Err(CopiesError::Odd("an answer to another question"));
    };
    let Some(Bytes(mut bytes)) = bytes else { return Ok(None) };
    if bytes.is_empty() {
        bytes = bulk::get(inner, &address_of(contact), &Bulk::Capture { name }).await?;
    }
    Ok(Some(open_capture(id, &bytes)?))
}

/// The large body of a capture, if it has one, onto our own disk, from the nearest of those who hold it.
pub(super) async fn blob_from_others(inner: &Arc<Inner>, id: &EntryKey, capture: &Capture) -> Result<(), CopiesError> {
    let Body::Blob { len, digests } = &capture.main.body else { return Ok(()) };
    let blob = LackingBlob { sha256: digests.sha256, len: *len, media: capture.media().unwrap_or_default() };
    let mut trouble = CopiesError::Nobody;
    for contact in holders_of(inner, id).await? {
        match fetch_blob(inner, &address_of(&contact), &blob).await {
            Ok(()) => return Ok(()),
            Err(error) => trouble = error,
        }
    }
    Err(trouble)
}

/// Those who hold a capture, the nearest first.
pub(super) async fn holders_of(inner: &Arc<Inner>, id: &EntryKey) -> Result<Vec<Contact>, CopiesError> {
    let mut contacts: Vec<Contact> = Vec::new();
    for place in split::places_to_read(inner, &id.key, false).await? {
        contacts.extend(inner.reach.nearest(&inner.holders(place).await?));
    }
    Ok(contacts)
}
