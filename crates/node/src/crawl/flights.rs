//! URLs that are being visited here, over all crawls: one that several of them want is asked for once.
//!
//! All crawls of a ring place a URL with the same machine, so it is enough that one machine's visits know of each other. Whoever wants a URL that another crawl is just
//! visiting waits, and then finds in the archive what that one brought. When a visit found nothing new the archive does not show it: so it is
//! remembered when a URL was last visited. That memory is bounded, and lost with the process: then a URL is asked for once more.

use herodotus_base::{Sha256, Timestamp};
use herodotus_page::WebUrl;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Visits that are remembered, twice over: 24 bytes each.
const LATELY_MAX: usize = 1 << 18;

#[derive(Debug, Default)]
pub(crate) struct Flights {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    flying: HashMap<u64, Arc<Notify>>,
    /// When a visit ended; what was before the last so many is forgotten together.
    lately: [HashMap<u64, Timestamp>; 2],
}

/// Leave to visit a URL, until it is dropped.
#[derive(Debug)]
pub(crate) struct Boarding<'a> {
    flights: &'a Flights,
    url: u64,
    /// When any crawl visited it last.
    pub(crate) last: Option<Timestamp>,
}

impl Flights {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other crawl visits it.
    pub(crate) async fn board(&self, url: &WebUrl) -> Boarding<'_> {
        let digest = Sha256::of(url.as_str().as_bytes()).0;
        let url = digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        loop {
            let other = {
                let mut state = self.state();
                let Some(other) = state.flying.get(&url).cloned() else {
                    state.flying.insert(url, Arc::default());
                    let last = state.lately.iter().find_map(|some| some.get(&url)).copied();
                    return Boarding { flights: self, url, last };
                };
                other
            };
            let landed = other.notified();
            tokio::pin!(landed);
            landed.as_mut().enable();
            // It may have landed before we listened.
            if self.state().flying.get(&url).is_some_and(|flying| Arc::ptr_eq(flying, &other)) {
                landed.await;
            }
        }
    }
}

impl Boarding<'_> {
    /// It was visited, and what there was is in the archive.
    pub(crate) fn land(&self, at: Timestamp) {
        let mut state = self.flights.state();
        state.lately[0].insert(self.url, at);
        if state.lately[0].len() >= LATELY_MAX {
            state.lately[1] = std::mem::take(&mut state.lately[0]);
        }
    }
}

impl Drop for Boarding<'_> {
    fn drop(&mut self) {
        if let Some(others) = self.flights.state().flying.remove(&self.url) {
            others.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_wants_what_another_visits_waits_and_is_told_when_that_was() {
        let flights = Flights::default();
        let (url, other) = (WebUrl::parse("http://a.example/").unwrap(), WebUrl::parse("http://b.example/").unwrap());
        let first = flights.board(&url).await;
        assert_eq!((first.last, flights.board(&other).await.last), (None, None));
        let mut second = std::pin::pin!(flights.board(&url));
        let mut third = std::pin::pin!(flights.board(&url));
        assert!(futures_now(&mut second).await.is_none() && futures_now(&mut third).await.is_none());
        let at = Timestamp::from_millis_clamped(7);
        first.land(at);
        drop(first);
        let second = second.await;
        assert_eq!(second.last, Some(at));
        assert!(futures_now(&mut third).await.is_none(), "one after the other");
        drop(second);
        assert_eq!(third.await.last, Some(at));
    }

    /// What a future gives at once.
    async fn futures_now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        std::future::poll_fn(|context| match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(value) => std::task::Poll::Ready(Some(value)),
            std::task::Poll::Pending => std::task::Poll::Ready(None),
        })
        .await
    }
}
