//! Answering peers about crawls.

use super::wire::{Ask, CRAWLS, CRAWLS_MAX, Reply};
use super::{Inner, Result, courier, gossip, part};
use bytes::Bytes;
use herodotus_ledger::CrawlId;
use herodotus_net::{BoxFuture, Caller, Kind, Refusal, Service, Stream};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

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

    fn stream(&self, _: Caller, _: Kind, _: Bytes, _: Stream) -> BoxFuture<()> {
        Box::pin(async {})
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
            true => Reply::Taken,
            false => Reply::NotNow,
        },
        Ask::Part { crawl } => Reply::Part(part::status(inner, CrawlId(crawl)).await),
        Ask::Turn { host, delay_ms } => {
            if !inner.copies.owns_host(&host) {
                return Ok(Reply::NotNow);
            }
            let delay = Duration::from_millis(delay_ms.min(600_000));
            match inner.turns.give(&host, delay, Instant::now()) {
                Some(wait) => Reply::Turn { wait_ms: wait.as_millis() as u64 },
                None => Reply::NotNow,
            }
        }
    })
}
