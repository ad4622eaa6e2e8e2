//! News as they come: Server-Sent Events, which every browser reads and re-opens by itself.
//!
//! One event at once (`crawls`, or `ring`), and one whenever something has changed, at most twice a second, each with all that is
//! to be shown: whoever missed one has missed nothing. It ends when the reader leaves, when we do, or when nobody runs crawls,
//! or the ring, any more.

use crate::answer::Trouble;
use crate::ring;
use crate::site::Site;
use crate::views::{self, limits};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use http::header::{CACHE_CONTROL, HeaderValue};
use serde::Serialize;
use std::convert::Infallible;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until};

/// What the news are of.
#[derive(Clone, Copy)]
enum News {
    Crawls,
    Ring,
}

/// A reader of the news.
struct Watcher {
    site: Site,
    news: News,
    changed: watch::Receiver<u64>,
    quitting: watch::Receiver<bool>,
    /// When it was told something last.
    told: Option<Instant>,
    _place: OwnedSemaphorePermit,
}

pub(super) fn crawls(site: Site) -> Result<Response, Trouble> {
    let Some(crawls) = site.crawls() else {
        return Err(Trouble::NotFound("nobody runs crawls here, so there will be no news of them".to_owned()));
    };
    let changed = crawls.changed();
    watch(site, News::Crawls, changed)
}

pub(super) fn ring(site: Site) -> Result<Response, Trouble> {
    let changed = ring::peers(&site)?.changed();
    watch(site, News::Ring, changed)
}

fn watch(site: Site, news: News, changed: watch::Receiver<u64>) -> Result<Response, Trouble> {
    let place = site.caches().watchers.clone().try_acquire_owned().map_err(|_| Trouble::Busy)?;
    let quitting = site.quitting();
    let watcher = Watcher { site, news, changed, quitting, told: None, _place: place };
    let news = unfold(Some(watcher), |watcher| async move {
        let mut watcher = watcher?;
        match watcher.next().await? {
            Ok(event) => Some((Ok::<_, Infallible>(event), Some(watcher))),
            Err(trouble) => Some((Ok(event("trouble", &trouble.sentence()).ok()?), None)),
        }
    });
    let mut response = Sse::new(news).keep_alive(KeepAlive::new().interval(limits::QUIET_TIME)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn event(name: &str, data: &impl Serialize) -> Result<Event, Trouble> {
    Event::default().event(name).json_data(data).map_err(|error| Trouble::Ours(error.to_string()))
}

impl Watcher {
    /// What there is to tell next; `None`: nothing ever again.
    async fn next(&mut self) -> Option<Result<Event, Trouble>> {
        if let Some(told) = self.told {
            tokio::select! {
                changed = self.changed.changed() => changed.ok()?,
                _ = self.quitting.changed() => return None,
            }
            sleep_until(told + limits::NEWS_TIME).await;
        }
        // What changes from here on is told the next time.
        self.changed.mark_unchanged();
        self.told = Some(Instant::now());
        Some(self.read().await)
    }

    async fn read(&self) -> Result<Event, Trouble> {
        match self.news {
            News::Crawls => event("crawls", &self.site.blocking(views::crawls).await?),
            News::Ring => event("ring", &ring::peers(&self.site)?.view()),
        }
    }
}
