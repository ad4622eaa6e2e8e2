//! Answering peers about crawls.

use super::lease::{self, Wish};
use super::wire::{Ask, Bulk, CRAWLS, CRAWLS_MAX, Reply};
use super::{Inner, Result, courier, elsewhere, gossip, near, part, robots};
use bytes::Bytes;
use herodotus_ledger::CrawlId;
use herodotus_net::{BoxFuture, Caller, Kind, Refusal, Service, Stream};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A name has 253 bytes; a host's key is that and a port.
const HOST_BYTES_MAX: usize = 1024;
/// Nobody waits longer between two requests.
const DELAY_MS_MAX: u64 = 600_000;

pub(super) struct Desk {
    /// Not more than that: the endpoint that holds us is held by it.
    inner: Weak<Inner>,
}

impl Desk {
    pub(super) fn new(inner: &Arc<Inner>) -> Self {
        Self { inner: Arc::downgrade(inner) }
    }
}

impl Service for Desk {
    fn call(&self, _: Caller, kind: Kind, payload: Bytes) -> BoxFuture<std::result::Result<Bytes, Refusal>> {
        let inner = self.inner.upgrade();
        Box::pin(async move {
            if kind != CRAWLS {
                return Err(Refusal::UnknownKind(kind.0));
            }
            let inner = inner.ok_or(Refusal::Busy)?;
            let ask: Ask =
                postcard::from_bytes(&payload).map_err(|_| Refusal::service("that is no question about crawls"))?;
            let reply = answer(&inner, ask).await.map_err(|error| Refusal::service(error.to_string()))?;
            postcard::to_stdvec(&reply).map(Bytes::from).map_err(|_| Refusal::Busy)
        })
    }

    fn stream(&self, _: Caller, _: Kind, head: Bytes, stream: Stream) -> BoxFuture<()> {
        let inner = self.inner.upgrade();
        Box::pin(async move {
            if let (Some(inner), Ok(Bulk::Fetch(errand))) = (inner, postcard::from_bytes(&head)) {
                elsewhere::serve(&inner, errand, stream).await;
            }
        })
    }
}

async fn answer(inner: &Arc<Inner>, ask: Ask) -> Result<Reply> {
    Ok(match ask {
        Ask::Crawls { known } => gossip::answer(inner, known.get(..CRAWLS_MAX.min(known.len())).unwrap_or_default())?,
        Ask::Learn { bundle } => {
            gossip::learn(inner, &bundle.0)?;
            Reply::Learnt
        }
        Ask::Links { batch } => match courier::take(inner, &batch.0, false).await? {
            Some(work) => Reply::TakenWith { work_ms: u32::try_from(work.as_millis()).unwrap_or(u32::MAX) },
            None => Reply::NotNow,
        },
        Ask::Part { crawl } => Reply::Part(part::status(inner, CrawlId(crawl)).await),
        Ask::Detail { crawl } => Reply::Detail(part::detail(inner, CrawlId(crawl)).await.map(Box::new)),
        // Whoever asks so asks again a second later, and is newer by then.
        Ask::Turn { .. } => Reply::NotNow,
        Ask::Lease { host, delay_ms, at_once, is_split } => {
            if host.len() > HOST_BYTES_MAX || !inner.copies.owns_host(&host) {
                return Ok(Reply::NotNow);
            }
            let delay = Duration::from_millis(delay_ms.min(DELAY_MS_MAX));
            let not_before = lease::not_before(inner, &host);
            let wish = Wish { host: &host, delay, at_once: at_once as usize, is_split, not_before };
            Reply::Lease { lease: inner.giver.give(|| inner.now(), wish).await }
        }
        Ask::LeaseOver { host, lease, pause_ms } => {
            inner.giver.give_back(inner.now(), &host, lease, Duration::from_millis(pause_ms));
            Reply::Noted
        }
        Ask::Robots { crawl, url, delay_ms } => robots::answer(inner, CrawlId(crawl), &url, delay_ms).await?,
        Ask::RoundTrip { crawl, url } => near::answer(inner, CrawlId(crawl), &url).await,
    })
}
