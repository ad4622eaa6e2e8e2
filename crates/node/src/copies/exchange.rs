//! Bringing captures and records to another machine and fetching them from one: in parcels that fit a call, as bulk where one does not, large bodies
//! first. Nothing is kept that its digests do not prove; that is the store's to see (`herodotus_store::parcel`).

use super::desk::PARCEL_BYTES_MAX;
use super::wire::{Ask, Bulk, Bytes, Name, Reply};
use super::{CopiesError, Inner, bulk, split};
use herodotus_ledger::{Name as RecordName, Record, open_bundle, pack_bundle};
use herodotus_net::Address;
use herodotus_ring::Contact;
use herodotus_store::parcel::{LackingBlob, Outcome, Taken, open_capture};
use herodotus_store::{Body, Capture, EntryKey};
use std::collections::HashSet;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;

/// Names in one question for captures.
const FETCHED_AT_ONCE: usize = 512;

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
    bring(inner, to, names.iter().filter_map(Name::id).collect(), spread, |_| true).await?;
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
    has_base: impl Fn(&EntryKey) -> bool + Clone + Send + 'static,
) -> Result<(), CopiesError> {
    if split::tell(inner, to, ids.iter().map(|id| id.key.as_str())).await?.here {
        return Err(CopiesError::Split);
    }
    let all: Arc<HashSet<EntryKey>> = Arc::new(ids.iter().cloned().collect());
    let (mut left, mut at, mut is_whole) = (Arc::new(ids), 0, false);
    let mut again: Vec<EntryKey> = Vec::new();
    loop {
        if at >= left.len() {
            if again.is_empty() {
                return Ok(());
            }
            (left, at, is_whole) = (Arc::new(std::mem::take(&mut again)), 0, true);
        }
        let (ids, all, has_base) = (left.clone(), all.clone(), has_base.clone());
        let (parcel, covered) = inner
            .blocking(move |inner| {
                // What goes in this very errand it does not have yet.
                let knows = |base: &EntryKey| !is_whole && !all.contains(base) && has_base(base);
                Ok(inner.store.parcel(ids.get(at..).unwrap_or_default(), knows, PARCEL_BYTES_MAX)?)
            })
            .await?;
        at += covered.max(1);
        if parcel.entries == 0 {
            continue;
        }
        inner.counters.brought(parcel.bytes.len());
        let reply = match parcel.needs_stream {
            true => bulk::send(inner, &address_of(to), parcel.bytes, spread).await?,
            false => inner.reach.ask(to, &Ask::Take { parcel: Bytes(parcel.bytes), spread }).await?,
        };
        if let Reply::Split { larger, .. } = reply {
            // If that is nothing new, it is not the host that has changed but the ring: the next try asks who owns what.
            return Err(match split::raise(inner, larger).await?.is_empty() {
                true => CopiesError::Odd("the owner of a place says that it is not its own: the ring is mending"),
                false => CopiesError::Split,
            });
        }
        let Reply::Taken { lacking_base, refused, .. } = reply else {
            return Err(CopiesError::Odd("an answer to another question"));
        };
        if refused > 0 || is_whole && !lacking_base.is_empty() {
            return Err(CopiesError::Odd("a machine refuses what it is to keep"));
        }
        again.extend(lacking_base.iter().filter_map(Name::id));
    }
}

/// Fetches captures and records from a machine and keeps them durably.
pub(super) async fn fetch(inner: &Arc<Inner>, from: &Contact, names: Vec<Name>) -> Result<(), CopiesError> {
    let (records, names): (Vec<Name>, Vec<Name>) = names.into_iter().partition(|name| name.record().is_some());
    fetch_records(inner, from, records).await?;
    let address = address_of(from);
    let ids: Vec<EntryKey> = names.iter().filter_map(Name::id).collect();
    if split::tell(inner, from, ids.iter().map(|id| id.key.as_str())).await?.here {
        return Err(CopiesError::Split);
    }
    for some in names.chunks(FETCHED_AT_ONCE) {
        let mut left = some.to_vec();
        let mut with_bases = true;
        let mut whole = Vec::new();
        while !left.is_empty() {
            let asked = left.clone();
            let bases = inner.blocking(move |inner| bases_for(inner, &asked, with_bases)).await?;
            let reply = inner.reach.ask(from, &Ask::Give { names: left.clone(), bases }).await?;
            let Reply::Given { parcel, covered } = reply else {
                return Err(CopiesError::Odd("an answer to another question"));
            };
            let (parcel, covered) = match covered {
                0 => (bulk::get(inner, &address, &Bulk::Give { name: left[0].clone() }).await?, 1),
                covered => (parcel.0, covered as usize),
            };
            left.drain(..covered.min(left.len()));
            if !parcel.is_empty() {
                let taken = take_in(inner, &address, Arc::new(Bytes(parcel))).await?;
                if taken.entries.iter().any(|(_, outcome)| matches!(outcome, Outcome::Refused(_) | Outcome::LacksBlob))
                {
                    return Err(CopiesError::Odd("a machine gave something other than what was asked for"));
                }
                whole.extend(taken.lacking_bases().map(Name::of));
            }
            if left.is_empty() && with_bases {
                (left, with_bases) = (std::mem::take(&mut whole), false);
            }
        }
        if !whole.is_empty() {
            return Err(CopiesError::Odd("a machine gives only differences to what is not here"));
        }
    }
    Ok(())
}

/// Versions here that what is fetched may be written against.
fn bases_for(inner: &Inner, names: &[Name], with_bases: bool) -> Result<Vec<Name>, CopiesError> {
    let mut bases = Vec::new();
    for id in names.iter().filter_map(Name::id).filter(|_| with_bases) {
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
    let stored = taken.entries.iter().filter(|(_, outcome)| *outcome == Outcome::Stored);
    inner.brought.note(stored.clone().map(|(id, _)| id.clone()));
    let stored = stored.count();
    inner.counters.took(stored);
    if stored > 0 {
        inner.custodian().stray_came(inner.now());
    }
    Ok(taken)
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

/// A capture from the nearest of those who hold it, checked; from the next if one fails. `None`: they say that there is none.
pub(super) async fn from_others(inner: &Arc<Inner>, id: &EntryKey) -> Result<Option<Capture>, CopiesError> {
    let mut has_answered = false;
    let mut trouble = CopiesError::Nobody;
    // What was remembered of the holders may be out of date: then once more.
    for is_again in [false, true] {
        for place in split::places_to_read(inner, &id.key, is_again).await? {
            let told = inner.holders(place).await?;
            for contact in inner.reach.nearest(&told) {
                match capture_from(inner, &contact, id).await {
                    Ok(Some(capture)) => return Ok(Some(capture)),
                    Ok(None) => has_answered = true,
                    Err(error) => trouble = error,
                }
            }
            inner.reach.forget(place);
        }
    }
    if has_answered { Ok(None) } else { Err(trouble) }
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
    let capture = open_capture(id, &bytes)?;
    if let Body::Blob { len, digests } = &capture.main.body {
        let media = capture.media().unwrap_or_default();
        let blob = LackingBlob { sha256: digests.sha256, len: *len, media };
        fetch_blob(inner, &address_of(contact), &blob).await?;
    }
    Ok(Some(capture))
}
