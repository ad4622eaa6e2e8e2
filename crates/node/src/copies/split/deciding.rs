//! The owner of a host's first place decides when it is split, and knows when everything has moved.
//!
//! Part 0 lies there whatever the number of parts, and has as many URLs as any other: when they are as many as the setting says, and the last
//! doubling is settled, the number doubles. Settled is what the owner of every part says has moved; it is asked again after a restart.

use super::{Shape, locked, moving, raise, shape::count_keys};
use crate::copies::wire::{Ask, Reply};
use crate::copies::{CopiesError, Inner};
use herodotus_ring::placement::place_of_part;
use herodotus_store::limits::HOST_PARTS_MAX;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Before those who have not moved are asked again.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Owners of parts that are asked at once.
const ASKED_AT_ONCE: usize = 16;

/// Hosts of ours that were split, with the parts whose owners have not moved yet.
type Unsettled = HashMap<String, (u32, BTreeSet<u32>)>;

pub(in crate::copies) async fn run(inner: Arc<Inner>) {
    if !inner.is_by_host() || inner.ring.joined().await.is_err() {
        return;
    }
    let pause = ASK_AGAIN.min(inner.settings.custody.retry_after);
    let mut unsettled = Unsettled::new();
    let mut look_at = Instant::now();
    loop {
        if look_at <= Instant::now() {
            // What could not be read or told now is looked at again the next time.
            let _ = decide(&inner).await;
            look_at = Instant::now() + inner.settings.custody.survey_every;
        }
        let is_moving = moving::move_out(&inner).await;
        let _ = find_unsettled(&inner, &mut unsettled).await;
        settle(&inner, &mut unsettled).await;
        let wait = match is_moving || !unsettled.is_empty() {
            true => pause,
            false => look_at.saturating_duration_since(Instant::now()),
        };
        tokio::select! {
            () = inner.splits.wake.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Doubles the parts of hosts that have grown.
async fn decide(inner: &Arc<Inner>) -> Result<(), CopiesError> {
    if inner.settings.split_at == 0 {
        return Ok(());
    }
    let grown = inner.blocking(grown).await?;
    for (bucket, parts) in grown {
        let Some(here) = inner.custodian().holders_of(place_of_part(&bucket, 0)) else { continue };
        // Those first who may be the owner in a moment: whoever hears of it from us must hear no less from them.
        if tell_of_doubling(inner, &here.holders, &bucket, parts * 2).await.is_ok() {
            raise(inner, vec![(bucket, parts * 2)]).await?;
        }
    }
    Ok(())
}

async fn tell_of_doubling(
    inner: &Arc<Inner>,
    holders: &[herodotus_replica::custody::Holder],
    bucket: &str,
    parts: u32,
) -> Result<(), CopiesError> {
    for holder in holders.iter().filter(|holder| holder.counts && holder.contact.key != inner.reach.machine()) {
        let ask = Ask::Split { hosts: vec![(bucket.to_owned(), parts)] };
        let Reply::Split { .. } = inner.reach.ask(&holder.contact, &ask).await? else {
            return Err(CopiesError::Odd("an answer to another question"));
        };
    }
    Ok(())
}

/// Hosts whose first place is ours, is settled, and has as many URLs as a part may have; with how many parts they have now.
fn grown(inner: &Inner) -> Result<Vec<(String, u32)>, CopiesError> {
    let most = u64::from(inner.settings.split_at);
    let arcs: Vec<_> = inner.custodian().levels().iter().map(|level| level.arc).collect();
    let mut grown = Vec::new();
    for (from, to) in arcs {
        for row in inner.store.places(from, to) {
            let (place, bucket, sum) = row?;
            if sum.count < most || place != place_of_part(&bucket, 0) || !inner.custodian().is_here(place) {
                continue;
            }
            let shape = inner.shape_here(&bucket);
            if !shape.is_settled() || shape.parts >= HOST_PARTS_MAX {
                continue;
            }
            let known = (bucket.clone(), shape.parts);
            if locked(&inner.splits.counted).get(&known).is_some_and(|again_at| sum.count < *again_at) {
                continue;
            }
            let keys = inner.store.entries_at(place, &bucket).map(|entry| entry.map(|(id, ..)| id.key));
            let count = count_keys(keys, most)?;
            if count >= most {
                grown.push(known);
            } else {
                // So many URLs are missing, and each of them is an entry at least.
                locked(&inner.splits.counted).put(Instant::now(), known, sum.count + most - count);
            }
        }
    }
    Ok(grown)
}

/// Brings the list up to date: hosts whose first place is ours, and of which it is not known that everything has moved.
async fn find_unsettled(inner: &Arc<Inner>, unsettled: &mut Unsettled) -> Result<(), CopiesError> {
    let hosts = inner.blocking(|inner| Ok(inner.store.split_hosts()?)).await?;
    let is_ours = |bucket: &str| {
        let place = place_of_part(bucket, 0);
        let custodian = inner.custodian();
        custodian.owns(place) && custodian.is_here(place)
    };
    unsettled.retain(|bucket, _| is_ours(bucket));
    for (bucket, parts) in hosts {
        if inner.shape_here(&bucket).is_settled() || !is_ours(&bucket) {
            unsettled.remove(&bucket);
        } else if unsettled.get(&bucket).is_none_or(|known| known.0 < parts) {
            unsettled.insert(bucket, (parts, (0..parts / 2).collect()));
        }
    }
    Ok(())
}

/// Asks the owners of parts whether they have moved; where all have, the host is settled.
async fn settle(inner: &Arc<Inner>, unsettled: &mut Unsettled) {
    for (bucket, (parts, open)) in unsettled.iter_mut() {
        let mut under_way = JoinSet::new();
        let mut waiting: Vec<u32> = open.iter().copied().collect();
        loop {
            while under_way.len() < ASKED_AT_ONCE
                && let Some(part) = waiting.pop()
            {
                let (inner, bucket, parts) = (inner.clone(), bucket.clone(), *parts);
                under_way.spawn(async move { (part, ask_moved(&inner, bucket, parts, part).await) });
            }
            match under_way.join_next().await {
                Some(Ok((part, Ok(true)))) => _ = open.remove(&part),
                Some(_) => {}
                None => break,
            }
        }
        if open.is_empty()
            && let Some(shape) = Shape::new(*parts, *parts)
        {
            locked(&inner.splits.settled).put(Instant::now(), bucket.clone(), shape.settled);
        }
    }
    unsettled.retain(|_, (_, open)| !open.is_empty());
}

async fn ask_moved(inner: &Arc<Inner>, bucket: String, parts: u32, part: u32) -> Result<bool, CopiesError> {
    let place = place_of_part(&bucket, part);
    let told = inner.holders(place).await?;
    let reply = match told.owner.key == inner.reach.machine() {
        true => moving::has_moved(inner, bucket.clone(), parts, part).await?,
        false => {
            let ask = Ask::HasMoved { bucket: bucket.clone(), parts, part };
            let reply = inner.reach.ask(&told.owner, &ask).await;
            if !matches!(reply, Ok(Reply::Moved { .. })) {
                inner.reach.forget(place);
            }
            reply?
        }
    };
    let Reply::Moved { done, parts: known } = reply else { return Ok(false) };
    if known > parts {
        raise(inner, vec![(bucket, known)]).await?;
    }
    Ok(done)
}
