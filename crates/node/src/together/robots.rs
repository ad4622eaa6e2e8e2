//! robots.txt, fetched once for all by the owner of its host's first place, and told to whoever else has URLs of that host.

use super::wire::{Ask, Reply};
use super::{Inner, Result};
use crate::crawl::RobotsTold;
use herodotus_ledger::CrawlId;
use herodotus_page::{WebUrl, host_of_key};
use herodotus_ring::placement::place_of_part;
use herodotus_store::key_of;
use std::sync::Arc;
use std::time::Duration;

/// Whoever asks waits so long for an answer, and asks again: well within a call.
const HELD_MAX: Duration = Duration::from_secs(8);
/// How often, before it is fetched here all the same: together longer than the slowest of answers.
const ASKED_MAX: usize = 12;
/// Between two questions that nobody answered.
const PAUSE: Duration = Duration::from_millis(500);

/// What the one who fetches it for all knows. Nothing: that is us, or nobody can be asked.
pub(super) async fn ask(inner: &Arc<Inner>, crawl: CrawlId, url: &WebUrl, delay: Duration) -> Option<RobotsTold> {
    let key = key_of(url.as_str());
    let host = host_of_key(&key);
    let place = place_of_part(host, 0);
    let ask = Ask::Robots { crawl: crawl.0, url: url.as_str().to_owned(), delay_ms: delay.as_millis() as u64 };
    for _ in 0..ASKED_MAX {
        if inner.copies.owns_host(host) {
            return None;
        }
        let reply = match inner.copies.owner_of(place).await {
            Ok((owner, _)) => inner.ask(&owner, &ask).await,
            Err(error) => Err(error.into()),
        };
        match reply {
            Ok(Reply::Robots(Some(told))) => return Some(told),
            Ok(Reply::Robots(None)) => {}
            // Its part may not have begun yet, or the host is another's by now.
            Ok(_) | Err(_) => {
                inner.copies.forget_owner(place);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    None
}

pub(super) async fn answer(inner: &Arc<Inner>, crawl: CrawlId, url: &str, delay_ms: u64) -> Result<Reply> {
    let (Some(context), Ok(url)) = (inner.context(crawl), WebUrl::parse(url)) else { return Ok(Reply::NotNow) };
    if url.target() != "/robots.txt" || !inner.copies.owns_host(host_of_key(&key_of(url.as_str()))) {
        return Ok(Reply::NotNow);
    }
    // It goes on if we are late, and is there for whoever asks next.
    let fetched = tokio::spawn(async move { context.robots_for_other(&url, delay_ms).await });
    Ok(match tokio::time::timeout(HELD_MAX, fetched).await {
        Ok(Ok(told)) => Reply::Robots(Some(told.map_err(crate::crawl::Error::from)?)),
        Ok(Err(_)) => Reply::NotNow,
        Err(_) => Reply::Robots(None),
    })
}
