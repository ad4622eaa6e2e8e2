//! Fetches an origin's robots.txt, or takes the archive's if that is younger than a day. In a crawl of many machines one of them does it for all:
//! the owner of the host's first place, in whose [`RobotsBook`] it stands.

use super::event::is_unreachable;
use super::taker::Taker;
use super::visit::{Context, capture_of};
use herodotus_base::Timestamp;
use herodotus_fetch::{Ask, Failure};
use herodotus_frontier::limits::ROBOTS_MS_MAX;
use herodotus_frontier::{Answer, Media, RobotsAnswer, Visit, VisitId};
use herodotus_page::{Link, LinkKind, Robots, WebUrl};
use herodotus_store::{Appended, Body, Capture, coding};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Redirects that are followed for robots.txt (RFC 9309, 2.3.1.2: at least five).
const REDIRECTS_MAX: usize = 5;

/// Bytes of robots.txt that are fetched; 512 KiB of them are read.
const ROBOTS_BYTES_MAX: u64 = 1 << 20;
const READ_BYTES_MAX: usize = 512 << 10;

/// Origins in the book, and bytes of what they said. Past either all is forgotten, and is read again from the archive.
const BOOK_ORIGINS_MAX: usize = 20_000;
const BOOK_BYTES_MAX: usize = 32 << 20;
/// How old the archive's is, is the archive's to say: it is asked again soon.
const ARCHIVED_FOR: Duration = Duration::from_secs(3600);
/// So that all who ask at once hear it; each then remembers it for an hour, and whoever begins anew may try anew.
const UNAVAILABLE_FOR: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub(super) struct RobotsFinished {
    pub(super) id: VisitId,
    pub(super) answer: Option<Answer>,
    pub(super) robots: RobotsAnswer,
    pub(super) sitemaps: Vec<Link>,
    pub(super) message: String,
    pub(super) appended: bool,
    pub(super) broken: Option<herodotus_store::Error>,
}

impl Default for RobotsFinished {
    fn default() -> Self {
        Self {
            id: VisitId(0),
            answer: None,
            robots: RobotsAnswer::Unavailable { code: "archive", unreachable: false, temporary: false },
            sitemaps: Vec::new(),
            message: String::new(),
            appended: false,
            broken: None,
        }
    }
}

/// What became of a robots.txt, as one machine tells another. Numbers of variants are for ever.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum RobotsTold {
    /// Its text, without codings.
    Text(#[serde(with = "serde_bytes")] Vec<u8>),
    /// There is none.
    AllowsAll,
    Unavailable {
        code: String,
        unreachable: bool,
        temporary: bool,
    },
}

impl RobotsTold {
    fn answer(&self) -> RobotsAnswer {
        match self {
            Self::Text(text) => RobotsAnswer::Rules(Robots::parse(text, super::AGENT_TOKEN)),
            Self::AllowsAll => RobotsAnswer::Rules(Robots::allow_all()),
            Self::Unavailable { code, unreachable, temporary } => RobotsAnswer::Unavailable {
                code: Failure::code_named(code),
                unreachable: *unreachable,
                temporary: *temporary,
            },
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::AllowsAll | Self::Unavailable { .. } => 0,
        }
    }
}

/// What is known of robots.txt for all crawls and all machines. Of those who want the same one at once, one fetches it.
#[derive(Debug, Default)]
pub(crate) struct RobotsBook {
    pages: Mutex<HashMap<String, Arc<Page>>>,
}

/// Until when it is good, and what was said.
type Page = tokio::sync::Mutex<Option<(Instant, RobotsTold)>>;

impl RobotsBook {
    fn page(&self, url: &WebUrl) -> Arc<Page> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.len() >= BOOK_ORIGINS_MAX && !pages.contains_key(url.as_str()) {
            pages.clear();
        }
        pages.entry(url.as_str().to_owned()).or_default().clone()
    }

    /// Makes room if all of it is too much. What somebody reads or fetches at this moment is not counted.
    fn trim(&self) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = |page: &Arc<Page>| page.try_lock().ok()?.as_ref().map(|(_, told)| told.bytes());
        if pages.values().filter_map(bytes).sum::<usize>() > BOOK_BYTES_MAX {
            pages.clear();
        }
    }
}

impl Context {
    pub(super) async fn robots(&self, visit: Visit) -> RobotsFinished {
        let mut finished = RobotsFinished { id: visit.id, ..RobotsFinished::default() };
        let delay = Duration::from_millis(visit.delay_ms);
        let told = match &self.team {
            Some(team) => team.robots(&visit.url, delay).await,
            None => None,
        };
        let told = match told {
            Some(told) => Ok(told),
            None => self.robots_for_all(&visit.url, visit.delay_ms, &mut finished).await,
        };
        match told {
            Ok(told) => finished.robots = told.answer(),
            Err(error) => {
                finished.message = error.to_string();
                finished.broken = Some(error);
            }
        }
        if let RobotsAnswer::Rules(rules) = &finished.robots {
            let urls = rules.sitemaps().iter().filter_map(|text| visit.url.join(text).ok());
            finished.sitemaps = urls.map(|url| Link { url, kind: LinkKind::Sitemap, nofollow: false }).collect();
        }
        finished
    }

    /// The same for another machine.
    pub(crate) async fn robots_for_other(&self, url: &WebUrl, delay_ms: u64) -> herodotus_store::Result<RobotsTold> {
        let mut finished = RobotsFinished::default();
        let told = self.robots_for_all(url, delay_ms, &mut finished).await?;
        if finished.appended {
            // The next commit of a visit brings it to the disk; a robots.txt that is lost before is fetched again.
            self.store.flush()?;
        }
        Ok(told)
    }

    /// From the book, or else asked for and written there.
    async fn robots_for_all(
        &self,
        url: &WebUrl,
        delay_ms: u64,
        finished: &mut RobotsFinished,
    ) -> herodotus_store::Result<RobotsTold> {
        let Some(team) = &self.team else { return self.ask_robots(url, delay_ms, finished).await };
        let page = team.robots_book().page(url);
        let mut known = page.lock().await;
        if let Some((until, told)) = &*known
            && *until > Instant::now()
        {
            return Ok(told.clone());
        }
        let told = self.ask_robots(url, delay_ms, finished).await?;
        let lasts = match told {
            RobotsTold::Unavailable { .. } => UNAVAILABLE_FOR,
            _ if finished.answer.is_some() => Duration::from_millis(ROBOTS_MS_MAX.unsigned_abs()),
            _ => ARCHIVED_FOR,
        };
        *known = Some((Instant::now() + lasts, told.clone()));
        drop(known);
        team.robots_book().trim();
        Ok(told)
    }

    async fn ask_robots(
        &self,
        first: &WebUrl,
        delay_ms: u64,
        finished: &mut RobotsFinished,
    ) -> herodotus_store::Result<RobotsTold> {
        if let Some(entry) = self.newest(first)?
            && Timestamp::now().millis() - entry.id.time.millis() < ROBOTS_MS_MAX
            && let Some(capture) = self.store.read(&entry.id)?
            && let Some(told) = told_by(entry.status.unwrap_or(0), &capture)
        {
            return Ok(told);
        }
        let mut url = first.clone();
        for _ in 0..=REDIRECTS_MAX {
            let ask = Ask::new(url.clone());
            let mut taker = Taker::new(&self.store, &url, Media::All, super::AGENT_TOKEN);
            taker.wire_bytes_max = ROBOTS_BYTES_MAX;
            let (made, mut taker) = self.exchange_here(&ask, delay_ms, taker).await;
            let exchange = match made {
                Ok(exchange) => exchange,
                Err(failure) => {
                    // That a redirect leads nowhere says nothing of the host that we ask for.
                    let (unreachable, temporary) = (url == *first && is_unreachable(&failure), failure.is_temporary());
                    let code = if unreachable { failure.code() } else { "robots_unavailable" };
                    finished.message = failure.to_string();
                    if url == *first {
                        finished.answer = Some(self.answer_of_failure(&failure));
                    }
                    return Ok(RobotsTold::Unavailable { code: code.to_owned(), unreachable, temporary });
                }
            };
            let status = taker.status;
            let head = std::mem::take(&mut taker.head);
            let target = taker.header_links.iter().find(|link| link.kind == LinkKind::Redirect).map(|l| l.url.clone());
            let (body, _) = taker.finish()?;
            finished.answer = Some(self.answer_of(&exchange, status, None));
            let capture = capture_of(&url, &exchange, head, body);
            let told = told_by(status, &capture);
            finished.appended |= self.store.append(capture)? == Appended::Stored;
            match (told, target) {
                (Some(told), _) => return Ok(told),
                (None, Some(target)) => url = target,
                (None, None) => {
                    finished.message = format!("robots.txt was answered with status {status}");
                    let code = "robots_unavailable".to_owned();
                    return Ok(RobotsTold::Unavailable { code, unreachable: false, temporary: true });
                }
            }
        }
        // Too many redirects count as no robots.txt (RFC 9309, 2.3.1.2).
        Ok(RobotsTold::AllowsAll)
    }
}

/// What an answer means: a file is read, 4xx allows everything, the rest says nothing.
fn told_by(status: u16, capture: &Capture) -> Option<RobotsTold> {
    match status {
        200..=299 => {
            // It is never so long that it would lie in a file of its own.
            let Body::Bytes(bytes, _) = &capture.main.body else { return None };
            let plain = coding::plain_body(&capture.main.head, bytes);
            Some(RobotsTold::Text(plain.get(..READ_BYTES_MAX).unwrap_or(&plain).to_vec()))
        }
        // 429 is a 4xx by number and "not now" by meaning.
        429 => None,
        400..=499 => Some(RobotsTold::AllowsAll),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_book_has_one_page_for_a_robots_txt_and_stays_small() {
        let book = RobotsBook::default();
        let url = |n: usize| WebUrl::parse(&format!("http://h{n}.example/robots.txt")).unwrap();
        assert!(Arc::ptr_eq(&book.page(&url(1)), &book.page(&url(1))));
        let later = Instant::now() + Duration::from_secs(60);
        for n in 0..70 {
            *book.page(&url(n)).lock().await = Some((later, RobotsTold::Text(vec![b'#'; READ_BYTES_MAX])));
            book.trim();
        }
        assert!(book.pages.lock().unwrap().len() < 70);
        (0..BOOK_ORIGINS_MAX + 10).for_each(|n| _ = book.page(&url(n)));
        assert!(book.pages.lock().unwrap().len() <= BOOK_ORIGINS_MAX);
    }

    #[test]
    fn what_is_told_of_a_robots_txt_means_there_what_it_meant_here() {
        let told = RobotsTold::Text(b"User-agent: *\nDisallow: /no".to_vec());
        let again: RobotsTold = postcard::from_bytes(&postcard::to_stdvec(&told).unwrap()).unwrap();
        let RobotsAnswer::Rules(rules) = again.answer() else { panic!("{again:?}") };
        assert!(rules.allows("/yes") && !rules.allows("/no"));
        let gone = RobotsTold::Unavailable { code: "connect_refused".to_owned(), unreachable: true, temporary: true };
        let RobotsAnswer::Unavailable { code, unreachable, .. } = gone.answer() else { panic!("{gone:?}") };
        assert_eq!((code, unreachable), ("connect_refused", true));
    }
}
