//! The client: one [`Fetcher::fetch`] is one request and one response. Redirects are not followed: each is an answer of
//! its own, and whoever follows it asks again, so that every hop is judged like the first.

use crate::address::is_bad_port;
use crate::ask::{Ask, Manner};
use crate::config::{Config, ConfigError};
use crate::dial::Dialer;
use crate::errand::{Errand, Lost};
use crate::h1;
use crate::h2::{self, Link};
use crate::outcome::{Exchange, Failure, Truncated};
use crate::pool::{Kept, Pool};
use crate::receiver::Receiver;
use crate::resolve::{Resolve, SystemResolver};
use herodotus_base::limits::HTTP_HEAD_BYTES_MAX;
use herodotus_page::WebUrl;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A guarded HTTP client. Clones share connections, and cost nothing.
///
/// To be used within a tokio runtime. A fetch that is dropped closes its connection, or its stream with HTTP/2.
#[derive(Clone, Debug)]
pub struct Fetcher {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: Config,
    manner: Manner,
    dialer: Dialer,
    pool: Arc<Pool>,
}

impl Fetcher {
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        Self::with_resolver(config, Arc::new(SystemResolver::default()))
    }

    pub fn with_resolver(mut config: Config, resolver: Arc<dyn Resolve>) -> Result<Self, ConfigError> {
        config.caps.head_bytes = config.caps.head_bytes.min(HTTP_HEAD_BYTES_MAX);
        let manner = Manner::new(&config)?;
        let dialer = Dialer::new(&config, resolver)?;
        let pool = Pool::new(config.connections_idle_max, config.connections_per_host_idle_max, config.connection_idle);
        Ok(Self { inner: Arc::new(Inner { config, manner, dialer, pool: Arc::new(pool) }) })
    }

    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Asks, and hands the answer to the receiver as it comes.
    pub async fn fetch<R: Receiver>(&self, ask: &Ask, receiver: &mut R) -> Result<Exchange, Failure> {
        let Inner { config, manner, dialer, pool } = &*self.inner;
        if is_bad_port(ask.url.port()) {
            return Err(Failure::ForbiddenPort(ask.url.port()));
        }
        let start = Instant::now();
        let request = manner.head(ask);
        let errand = Errand { config, request: &request, start, whole_at: start + config.deadlines.whole };
        let origin = ask.url.origin();
        if let Some(kept) = pool.take(origin) {
            match self.over(&errand, ask, kept, true, receiver).await {
                // Nothing was answered, so nothing is asked twice.
                Err(Lost::Stale) => {}
                Err(Lost::For(failure)) => return Err(failure),
                Ok(exchange) => return Ok(exchange),
            }
        }
        let line = dialer.dial(config, &ask.url, errand.whole_at).await?;
        let kept = if line.is_h2 {
            let link = Link::open(config, line, errand.whole_at).await?;
            pool.put(&origin.into(), Kept::Shared(link.clone()));
            Kept::Shared(link)
        } else {
            Kept::Own(line)
        };
        self.over(&errand, ask, kept, false, receiver).await.map_err(|lost| match lost {
            Lost::Stale => Failure::ClosedBeforeHead,
            Lost::For(failure) => failure,
        })
    }

    /// How long a connection to the URL's host takes from here. It is closed at once, and nothing is asked over it.
    pub async fn round_trip(&self, url: &WebUrl) -> Result<Duration, Failure> {
        let Inner { config, dialer, .. } = &*self.inner;
        if is_bad_port(url.port()) {
            return Err(Failure::ForbiddenPort(url.port()));
        }
        dialer.round_trip(config, url, Instant::now() + config.deadlines.dns + config.deadlines.connect).await
    }

    async fn over<R: Receiver>(
        &self,
        errand: &Errand<'_>,
        ask: &Ask,
        kept: Kept,
        reused: bool,
        receiver: &mut R,
    ) -> Result<Exchange, Lost> {
        let (pool, origin) = (&self.inner.pool, ask.url.origin());
        match kept {
            Kept::Own(line) => {
                let (exchange, line) = h1::exchange(errand, line, reused, receiver).await?;
                if let Some(line) = line {
                    pool.put(&origin.into(), Kept::Own(line));
                }
                Ok(exchange)
            }
            Kept::Shared(link) => {
                let result = h2::exchange(errand, &link, &ask.url, reused, receiver).await;
                let is_doubtful = match &result {
                    Ok(exchange) => matches!(
                        exchange.truncated,
                        Some(Truncated::Idle | Truncated::Disconnect | Truncated::Reset(_))
                    ),
                    Err(_) => true,
                };
                if is_doubtful {
                    pool.forget(origin, &link);
                }
                result
            }
        }
    }
}
