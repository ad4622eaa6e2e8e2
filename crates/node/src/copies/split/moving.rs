//! What leaves a part when its host is split again: half of it, to one new place.
//!
//! Whoever owns a part tells those who hold it with us, brings what leaves it to the owner of the new place and to all who count there, and
//! then has *moved*. What is left here is a stray as any other. Forgotten at a restart: it is done again when somebody asks, and
//! costs a comparison in which nothing differs.

use super::{Splits, locked, raise, tell_hosts};
use crate::copies::orders::{Way, compare};
use crate::copies::wire::Reply;
use crate::copies::{CopiesError, Inner};
use herodotus_base::Id;
use herodotus_replica::compare::Span;
use herodotus_ring::placement::place_of_part;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Parts that wait to be moved. More are asked for again.
const LEAVING_MAX: usize = 1 << 16;

impl Splits {
    fn has_moved(&self, host: &str, parts: u32, part: u32) -> bool {
        locked(&self.moved).get(&(host.to_owned(), parts, part)).is_some()
    }

    fn let_move(&self, host: &str, parts: u32, part: u32) {
        let mut leaving = locked(&self.leaving);
        if leaving.len() < LEAVING_MAX {
            leaving.insert((host.to_owned(), parts, part));
        }
    }
}

/// A host has so many parts now: half of those parts of it that are ours has to go.
pub(super) fn begin(inner: &Inner, bucket: &str, parts: u32) {
    for part in 0..parts / 2 {
        if inner.custodian().owns(place_of_part(bucket, part)) {
            inner.splits.let_move(bucket, parts, part);
        }
    }
}

/// The owner of a host's first place asks whether what left a part of ours is where it belongs.
pub(in crate::copies) async fn has_moved(
    inner: &Arc<Inner>,
    bucket: String,
    parts: u32,
    part: u32,
) -> Result<Reply, CopiesError> {
    if super::Shape::new(parts, 1).is_none() || part >= parts {
        return Err(CopiesError::Odd("a host cannot be split like that"));
    }
    if !inner.custodian().owns(place_of_part(&bucket, part)) {
        return Ok(Reply::NotHere);
    }
    raise(inner, vec![(bucket.clone(), parts)]).await?;
    let known = inner.shape_here(&bucket).parts;
    // It was split again since: nobody did that before all had moved.
    let done = known > parts || inner.splits.has_moved(&bucket, parts, part);
    if !done {
        inner.splits.let_move(&bucket, parts, part);
        inner.splits.wake.notify_one();
    }
    Ok(Reply::Moved { done, parts: known })
}

/// Brings what has to go to where it belongs. Says whether something is left to do.
pub(super) async fn move_out(inner: &Arc<Inner>) -> bool {
    let waiting = std::mem::take(&mut *locked(&inner.splits.leaving));
    let mut is_left = false;
    for (bucket, parts, part) in waiting {
        if inner.splits.has_moved(&bucket, parts, part) || inner.shape_here(&bucket).parts > parts {
            continue;
        }
        let place = place_of_part(&bucket, part);
        if !inner.custodian().owns(place) {
            // Whoever owns it now is asked.
            continue;
        }
        match move_half(inner, &bucket, place, place_of_part(&bucket, part + parts / 2)).await {
            Ok(()) => locked(&inner.splits.moved).put(Instant::now(), (bucket, parts, part), ()),
            Err(_) => {
                inner.splits.let_move(&bucket, parts, part);
                is_left = true;
            }
        }
    }
    is_left
}

async fn move_half(inner: &Arc<Inner>, bucket: &str, from: Id, to: Id) -> Result<(), CopiesError> {
    let hosts = || vec![bucket.to_owned()];
    let here = inner.custodian().holders_of(from).ok_or(CopiesError::Nobody)?;
    if !inner.custodian().is_here(from) {
        return Err(CopiesError::Odd("a part that is not filled yet"));
    }
    // Those who hold it with us show it to their readers: they must know that it is not all there any more.
    for holder in here.holders.iter().filter(|holder| holder.counts) {
        tell_hosts(inner, &holder.contact, hosts(), Duration::ZERO).await?;
    }
    inner.reach.forget(to);
    let told = inner.holders(to).await?;
    let ours = inner.reach.machine();
    // All who count, not the owner alone: each of them answers for the place, and may be the owner in a moment.
    let counting = told.holders.holders.iter().filter(|holder| holder.counts || holder.contact.key == told.owner.key);
    for holder in counting.filter(|holder| holder.contact.key != ours) {
        tell_hosts(inner, &holder.contact, hosts(), Duration::ZERO).await?;
        let way = if holder.contact.key == told.owner.key { Way::Spread } else { Way::Both };
        compare(inner, &holder.contact, Span::at(to), way).await?;
    }
    Ok(())
}
