//! Fetches an origin's robots.txt, or takes the archive's if that is younger than a day.

use super::event::is_unreachable;
use super::taker::Taker;
use super::visit::{Context, capture_of};
use herodotus_base::Timestamp;
use herodotus_fetch::Ask;
use herodotus_frontier::limits::ROBOTS_MS_MAX;
use herodotus_frontier::{Answer, Media, RobotsAnswer, Visit, VisitId};
use herodotus_page::{Link, LinkKind, Robots, WebUrl};
use herodotus_store::{Appended, Body, Capture, coding};

/// Redirects that are followed for robots.txt (RFC 9309, 2.3.1.2: at least five).
const REDIRECTS_MAX: usize = 5;

/// Bytes of robots.txt that are fetched; 512 KiB of them are read.
const ROBOTS_BYTES_MAX: u64 = 1 << 20;

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

impl Context {
    pub(super) async fn robots(&self, visit: Visit) -> RobotsFinished {
        let mut finished = RobotsFinished {
            id: visit.id,
            answer: None,
            robots: RobotsAnswer::Unavailable { code: "archive", unreachable: false, temporary: false },
            sitemaps: Vec::new(),
            message: String::new(),
            appended: false,
            broken: None,
        };
        if let Err(error) = self.ask_robots(&visit.url, &mut finished).await {
            finished.message = error.to_string();
            finished.broken = Some(error);
        }
        if let RobotsAnswer::Rules(rules) = &finished.robots {
            let urls = rules.sitemaps().iter().filter_map(|text| visit.url.join(text).ok());
            finished.sitemaps = urls.map(|url| Link { url, kind: LinkKind::Sitemap, nofollow: false }).collect();
        }
        finished
    }

    async fn ask_robots(&self, first: &WebUrl, finished: &mut RobotsFinished) -> herodotus_store::Result<()> {
        if let Some(entry) = self.newest(first)?
            && Timestamp::now().millis() - entry.id.time.millis() < ROBOTS_MS_MAX
            && let Some(capture) = self.store.read(&entry.id)?
            && let Some(rules) = rules_of(entry.status.unwrap_or(0), &capture)
        {
            finished.robots = RobotsAnswer::Rules(rules);
            return Ok(());
        }
        let mut url = first.clone();
        for _ in 0..=REDIRECTS_MAX {
            let ask = Ask::new(url.clone());
            let mut taker = Taker::new(&self.store, &url, Media::All, super::AGENT_TOKEN);
            taker.wire_bytes_max = ROBOTS_BYTES_MAX;
            let exchange = match self.fetcher.fetch(&ask, &mut taker).await {
                Ok(exchange) => exchange,
                Err(failure) => {
                    // That a redirect leads nowhere says nothing of the host that we ask for.
                    let (unreachable, temporary) = (url == *first && is_unreachable(&failure), failure.is_temporary());
                    let code = if unreachable { failure.code() } else { "robots_unavailable" };
                    finished.message = failure.to_string();
                    if url == *first {
                        finished.answer = Some(self.answer_of_failure(&failure));
                    }
                    finished.robots = RobotsAnswer::Unavailable { code, unreachable, temporary };
                    return Ok(());
                }
            };
            let status = taker.status;
            let head = std::mem::take(&mut taker.head);
            let target = taker.header_links.iter().find(|link| link.kind == LinkKind::Redirect).map(|l| l.url.clone());
            let (body, _) = taker.finish()?;
            finished.answer = Some(self.answer_of(&exchange, status, None));
            let capture = capture_of(&url, &exchange, head, body);
            let rules = rules_of(status, &capture);
            finished.appended |= self.store.append(capture)? == Appended::Stored;
            match (rules, target) {
                (Some(rules), _) => {
                    finished.robots = RobotsAnswer::Rules(rules);
                    return Ok(());
                }
                (None, Some(target)) => url = target,
                (None, None) => {
                    finished.message = format!("robots.txt was answered with status {status}");
                    let code = "robots_unavailable";
                    finished.robots = RobotsAnswer::Unavailable { code, unreachable: false, temporary: true };
                    return Ok(());
                }
            }
        }
        // Too many redirects count as no robots.txt (RFC 9309, 2.3.1.2).
        finished.robots = RobotsAnswer::Rules(Robots::allow_all());
        Ok(())
    }
}

/// What an answer means: a file is read, 4xx allows everything, the rest says nothing.
fn rules_of(status: u16, capture: &Capture) -> Option<Robots> {
    match status {
        200..=299 => {
            // It is never so long that it would lie in a file of its own.
            let Body::Bytes(bytes, _) = &capture.main.body else { return None };
            Some(Robots::parse(&coding::plain_body(&capture.main.head, bytes), super::AGENT_TOKEN))
        }
        // 429 is a 4xx by number and "not now" by meaning.
        429 => None,
        400..=499 => Some(Robots::allow_all()),
        _ => None,
    }
}
