//! News of crawls as they come: Server-Sent Events, which every browser reads and re-opens by itself.
//!
//! One event `crawls` at once, and one whenever something has changed, at most twice a second, each with all that is to be
//! shown: whoever missed one has missed nothing. It ends when the reader leaves, when we do, or
//! when nobody runs crawls any more.

use crate::answer::Trouble;
use crate::crawls::CrawlView;
use crate::site::Site;
use crate::views::{self, limits};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use http::header::{CACHE_CONTROL, HeaderValue};
use std::convert::Infallible;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until};

/// A reader of the news.
struct Watcher {
    site: Site,
    changed: watch::Receiver<u64>,
    quitting: watch::Receiver<bool>,
    /// When it was told something last.
    told: Option<Instant>,
    _place: OwnedSemaphorePermit,
}

pub(super) fn watch(site: Site) -> Result<Response, Trouble> {
    let Some(crawls) = site.crawls() else {
        return Err(Trouble::NotFound("nobody runs crawls here, so there will be no news of them".to_owned()));
    };
    let changed = crawls.changed();
    let place = site.caches().watchers.clone().try_acquire_owned().map_err(|_| Trouble::Busy)?;
    let quitting = site.quitting();
    let watcher = Watcher { site, changed, quitting, told: None, _place: place };
    let news = unfold(Some(watcher), |watcher| async move {
        let mut watcher = watcher?;
        let event = match watcher.next().await? {
            Ok(crawls) => Event::default().event("crawls").json_data(crawls).ok()?,
            Err(trouble) => {
                let event = Event::default().event("trouble").json_data(trouble.sentence()).ok()?;
                return Some((Ok::<_, Infallible>(event), None));
            }
        };
        Some((Ok(event), Some(watcher)))
    });
    let mut response = Sse::new(news).keep_alive(KeepAlive::new().interval(limits::QUIET_TIME)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

impl Watcher {
    /// What there is to tell next; `None`: nothing ever again.
    async fn next(&mut self) -> Option<Result<Vec<CrawlView>, Trouble>> {
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
        Some(self.site.blocking(views::crawls).await)
    }
}
