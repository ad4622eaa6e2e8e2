//! A batch that came: what is ours goes to our parts of its crawls, the rest into our own outbox; it is acknowledged when both lie on disks.

use super::super::{Inner, Result, State, lock, part};
use super::prospect_of;
use herodotus_frontier::Prospect;
use herodotus_ledger::CrawlId;
use herodotus_links::{Batch, Error, batch, limits};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A link that goes on from here, and the steps that it has gone.
type Onward = (CrawlId, Prospect, u8);

/// What becomes of links whose crawl has no part here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Crawling {
    /// It begins, or we have not heard of it yet.
    Soon,
    /// It may go on.
    Rests,
    Over,
}

/// Takes a batch in: on our disk when it says so, and what is ours on as many others as a write needs. No: ask again later; what was taken is then
/// sent twice, which is no harm. `is_own`: it is from our own outbox.
pub(in super::super) async fn take(inner: &Arc<Inner>, bytes: &[u8], is_own: bool) -> Result<bool> {
    let Batch { steps, links } = batch::open(bytes)?;
    let mut by_crawl: BTreeMap<CrawlId, Vec<Prospect>> = BTreeMap::new();
    for (crawl, link) in links {
        by_crawl.entry(CrawlId(crawl)).or_default().extend(prospect_of(link));
    }
    let (mut taken, mut onward) = (0, Vec::new());
    for (crawl, prospects) in by_crawl {
        let Some(strays) = part::take_in(inner, crawl, prospects.clone()).await else {
            let state = inner.orders().get(&crawl).map(|order| order.state);
            match crawling(state, steps) {
                Crawling::Soon => return Ok(false),
                Crawling::Rests => onward.extend(prospects.into_iter().map(|link| (crawl, link, steps))),
                Crawling::Over => {}
            }
            continue;
        };
        taken += prospects.len() - strays.len();
        if strays.iter().any(|stray| is_ours(inner, stray)) {
            // We do not know yet all that was known of it. Nobody else will take it, and until we do it is safer where it is.
            return Ok(false);
        }
        let strays: HashSet<&str> = strays.iter().map(|stray| stray.url.as_str()).collect();
        let is_stray = |link: &Prospect| strays.contains(link.url.as_str());
        onward.extend(prospects.iter().filter(|link| is_stray(link)).map(|link| (crawl, link.clone(), steps)));
    }
    if !pass_on(inner, onward).await? {
        return Ok(false);
    }
    if taken > 0 {
        inner.copies.records_handed_on().await?;
        if !is_own {
            inner.courier.counters.taken.fetch_add(taken as u64, Relaxed);
        }
    }
    Ok(true)
}

fn is_ours(inner: &Inner, prospect: &Prospect) -> bool {
    inner.copies.owns(inner.copies.place_of(&herodotus_store::key_of(prospect.url.as_str())))
}

fn crawling(state: Option<State>, steps: u8) -> Crawling {
    match state {
        None | Some(State::Running) => Crawling::Soon,
        Some(State::Paused) => Crawling::Rests,
        // It may have begun again, and we have not heard of that; or have ended in one half of a ring that was split. What rests comes to us once a second: so
        // long is waited for.
        Some(State::Complete) if steps < limits::STEPS_MAX => Crawling::Rests,
        Some(State::Complete | State::Stopped) => Crawling::Over,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_crawl_that_may_go_on_are_never_dropped() {
        for steps in [1, limits::STEPS_MAX] {
            assert_eq!(crawling(None, steps), Crawling::Soon, "nobody has told us yet");
            assert_eq!(crawling(Some(State::Running), steps), Crawling::Soon);
            assert_eq!(crawling(Some(State::Paused), steps), Crawling::Rests);
            assert_eq!(crawling(Some(State::Stopped), steps), Crawling::Over);
        }
        assert_eq!(crawling(Some(State::Complete), 1), Crawling::Rests, "it may have begun again");
        assert_eq!(crawling(Some(State::Complete), limits::STEPS_MAX), Crawling::Over, "nobody has said so");
    }
}
