//! The exchange of a visit: made when the host may be asked, here or where the crawl's strategy says (decision 0016).
//!
//! Whoever makes it, what comes is taken here, as if it came over our own wire: reading, keeping and counting know nothing of it. A machine that is silent, busy or
//! has no way to the site is passed over, and in the end this one asks itself; so a strategy loses no visit.

use super::event::is_unreachable;
use super::part::{Elsewhere, Lease, Team};
use super::taker::Taker;
use super::visit::{Context, retry_after_ms};
use herodotus_base::Timestamp;
use herodotus_fetch::{Ask, Exchange, Failure, Receiver};
use herodotus_frontier::limits::BACKOFF_MS_FIRST;
use herodotus_page::ResponseHead;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::SemaphorePermit;

/// What an exchange brought, and whoever took it.
pub(super) type Brought<'a> = (Result<Exchange, Failure>, Taker<'a>);

impl Context {
    /// Makes an exchange, or has it made. Each try has a taker of its own.
    pub(super) async fn exchange<'a>(&'a self, ask: &Ask, delay_ms: u64, taker: impl Fn() -> Taker<'a>) -> Brought<'a> {
        let Some(team) = &self.team else { return self.exchange_here(ask, delay_ms, taker()).await };
        let others = team.others(self, &ask.url).await;
        let mut lease = self.lease(team.as_ref(), ask, delay_ms).await;
        for other in others {
            let mut taker = taker();
            match team.fetch_at(&other, self, ask, &mut taker).await {
                // Where we get to nobody the way may be at fault, not the site: then it is for us to say.
                Elsewhere::Made(Err(failure)) if is_unreachable(&failure) => {}
                Elsewhere::Made(made) => {
                    self.made_elsewhere.fetch_add(1, Relaxed);
                    heed(&mut lease, &taker);
                    return (made.map(|exchange| *exchange), taker);
                }
                Elsewhere::Declined => {}
                Elsewhere::Broken => {
                    drop(std::mem::take(&mut lease));
                    lease = self.lease(team.as_ref(), ask, delay_ms).await;
                }
            }
        }
        self.make(ask, lease, taker()).await
    }

    /// Makes an exchange itself.
    pub(super) async fn exchange_here<'a>(&'a self, ask: &Ask, delay_ms: u64, taker: Taker<'a>) -> Brought<'a> {
        let lease = match &self.team {
            Some(team) => self.lease(team.as_ref(), ask, delay_ms).await,
            None => Lease::default(),
        };
        self.make(ask, lease, taker).await
    }

    async fn make<'a>(&'a self, ask: &Ask, mut lease: Lease, mut taker: Taker<'a>) -> Brought<'a> {
        let made = self.fetcher.fetch(ask, &mut taker).await;
        heed(&mut lease, &taker);
        (made, taker)
    }

    async fn lease(&self, team: &dyn Team, ask: &Ask, delay_ms: u64) -> Lease {
        // Politeness that was switched off, for a server of our own, is off.
        if delay_ms == 0 {
            return Lease::default();
        }
        team.lease(&ask.url, Duration::from_millis(delay_ms), self.settings.concurrency).await
    }

    /// Makes an exchange for another machine, which has the lease.
    pub(crate) async fn fetch_for_other(
        &self,
        ask: &Ask,
        receiver: &mut impl Receiver,
        _hand: Hand<'_>,
    ) -> Result<Exchange, Failure> {
        self.made_for_others.fetch_add(1, Relaxed);
        self.fetcher.fetch(ask, receiver).await
    }

    /// A hand for another machine, if one is free and no more URLs than that wait for us.
    pub(crate) fn free_hand(&self, waiting_max: Option<u64>) -> Option<Hand<'_>> {
        if waiting_max.is_some_and(|max| self.waiting() > max) {
            return None;
        }
        self.hands.try_acquire().ok().map(Hand)
    }

    /// How far the site is from here. `None` if it cannot be reached.
    pub(crate) async fn round_trip(&self, url: &herodotus_page::WebUrl) -> Option<Duration> {
        self.fetcher.round_trip(url).await.ok()
    }

    /// Visits of our part that are over, and URLs that wait in it.
    pub(crate) fn stand(&self) -> (u64, u64) {
        (self.finished.load(Relaxed), self.waiting())
    }

    /// URLs that wait in our part.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    pub(crate) fn fetch_config(&self) -> &herodotus_fetch::Config {
        self.fetcher.config()
    }

    pub(crate) fn media(&self) -> herodotus_frontier::Media {
        self.settings.media
    }

    /// Exchanges that were made for others, and visits of ours whose exchange another machine made.
    pub(crate) fn made(&self) -> (u64, u64) {
        (self.made_for_others.load(Relaxed), self.made_elsewhere.load(Relaxed))
    }
}

/// A place among the exchanges that are made for others at once.
#[derive(Debug)]
pub(crate) struct Hand<'a>(#[expect(dead_code, reason = "held, not read")] SemaphorePermit<'a>);

/// What a host in trouble asks for goes for all.
fn heed(lease: &mut Lease, taker: &Taker<'_>) {
    if matches!(taker.status, 429 | 503) {
        let head = ResponseHead::parse(&taker.head);
        let asked = head.and_then(|head| retry_after_ms(&head.header("retry-after")?, Timestamp::now()));
        lease.pause(Duration::from_millis(asked.unwrap_or(BACKOFF_MS_FIRST)));
    }
}
