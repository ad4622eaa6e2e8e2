//! A batch that came: what is ours goes to our parts of its crawls, the rest into our own outbox; it is acknowledged when both lie on disks.

use super::super::{Inner, Result, lock, part};
use herodotus_frontier::{Prospect, UrlRecord};
use herodotus_ledger::CrawlId;
use herodotus_links::end::{Phase, Welcome, welcome};
use herodotus_links::{Batch, Error, batch};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A link that goes on from here, and the steps that it has gone.
type Onward = (CrawlId, Prospect, u8);

/// Takes a batch in: on our disk when it says so, and what is ours on as many others as a write needs. For how long its crawls have work here then; nothing: ask again
/// later, what was taken is then sent twice, which is no harm. `is_own`: it is from our own outbox.
pub(in super::super) async fn take(inner: &Arc<Inner>, bytes: &[u8], is_own: bool) -> Result<Option<Duration>> {
    let Batch { steps, links } = batch::open(bytes)?;
    let mut by_crawl: BTreeMap<CrawlId, Vec<Prospect>> = BTreeMap::new();
    for (crawl, link) in links {
        by_crawl.entry(CrawlId(crawl)).or_default().extend(link.open());
    }
    let (mut taken, mut onward, mut work) = (0, Vec::new(), None);
    for (crawl, prospects) in by_crawl {
        let phase = || inner.orders().get(&crawl).map_or(Phase::Unheard, super::super::Order::phase);
        // A part of a crawl that is called complete is about to end.
        let strays = match phase() {
            Phase::Complete => None,
            _ => part::take_in(inner, crawl, prospects.clone()).await,
        };
        let Some(strays) = strays else {
            let phase = phase();
            for link in prospects {
                let is_settled = phase == Phase::Complete && is_settled(inner, crawl, &link).await;
                match welcome(phase, is_settled) {
                    Welcome::NotYet => return Ok(None),
                    Welcome::Rests => onward.push((crawl, link, steps)),
                    Welcome::Dropped => {}
                }
            }
            continue;
        };
        taken += prospects.len() - strays.len();
        // Of several crawls, the one that needs more first.
        work = [work, part::work(inner, crawl)].into_iter().flatten().min();
        if strays.iter().any(|stray| is_ours(inner, stray)) {
            // We do not know yet all that was known of it. Nobody else will take it, and until we do it is safer where it is.
            return Ok(None);
        }
        let strays: HashSet<&str> = strays.iter().map(|stray| stray.url.as_str()).collect();
        let is_stray = |link: &Prospect| strays.contains(link.url.as_str());
        onward.extend(prospects.iter().filter(|link| is_stray(link)).map(|link| (crawl, link.clone(), steps)));
    }
    if !pass_on(inner, onward).await? {
        return Ok(None);
    }
    if taken > 0 {
        inner.copies.records_handed_on().await?;
        if !is_own {
            inner.courier.counters.taken.fetch_add(taken as u64, Relaxed);
        }
    }
    Ok(Some(work.unwrap_or_default()))
}

fn is_ours(inner: &Inner, prospect: &Prospect) -> bool {
    inner.copies.owns(inner.copies.place_of(&herodotus_store::key_of(prospect.url.as_str())))
}

/// Whether there is a record here which says that a link's URL was visited in this run.
async fn is_settled(inner: &Arc<Inner>, crawl: CrawlId, link: &Prospect) -> bool {
    let run = inner.orders().get(&crawl).map_or(0, |order| order.run);
    let (copies, name) = (inner.copies.clone(), part::name_of(crawl, link.url.as_str()));
    let read = tokio::task::spawn_blocking(move || copies.ledger().get(&name));
    let Ok(Ok(Some(record))) = read.await else { return false };
    UrlRecord::decode(&record.value).is_ok_and(|record| !record.is_open(run))
}

/// Gives our own outbox what is to go on. No: it is full.
async fn pass_on(inner: &Arc<Inner>, onward: Vec<Onward>) -> Result<bool> {
    if onward.is_empty() {
        return Ok(true);
    }
    let worker = inner.clone();
    let written = tokio::task::spawn_blocking(move || {
        let (courier, now) = (&worker.courier, worker.now());
        let links: Vec<_> =
            onward.into_iter().map(|(crawl, link, steps)| (crawl, courier.addressed(&link), steps)).collect();
        let mut outbox = lock(&courier.outbox);
        for (crawl, (place, link), steps) in links {
            match outbox.forward(now, crawl.0, place, link, steps) {
                Ok(()) | Err(Error::Url(_)) => {}
                Err(Error::Full { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        outbox.flush()?;
        Ok(true)
    });
    let written = written.await.map_err(|_| super::super::TogetherError::Odd("a task of ours broke"))?;
    inner.courier.wake.notify_one();
    written
}
