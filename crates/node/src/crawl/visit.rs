//! One visit: ask the archive, ask the web, read what comes, append it to the archive.

use super::event::is_unreachable;
use super::part::Team;
use super::taker::Taker;
use super::{Definition, Result};
use herodotus_base::{Sha256, Timestamp};
use herodotus_fetch::{Ask, Exchange, Failure, Fetcher, Protocol, Validators};
use herodotus_frontier::{Answer, Outcome, Pressure, Settings, Version, Visit, VisitId};
use herodotus_page::{Document, Link, LinkKind, Page, PageReader, ResponseHead, WebUrl};
use herodotus_store::{Appended, Body, Capture, Entry, Fields, Kind, Record, Store, WarcHeader, coding, key_of};
use ipnet::IpNet;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// What all visits of a crawl share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(super) store: Store,
    pub(super) fetcher: Fetcher,
    pub(super) allow_private: Vec<IpNet>,
    pub(super) settings: Settings,
    /// The machines that make the rest of it.
    pub(super) team: Option<Arc<dyn Team>>,
    /// For exchanges that are made for them.
    pub(super) hands: Semaphore,
    /// URLs that wait, as far as the loop has said.
    pub(super) waiting: AtomicU64,
    /// Visits that are over.
    pub(super) finished: AtomicU64,
    pub(super) made_elsewhere: AtomicU64,
    pub(super) made_for_others: AtomicU64,
}

/// A visit that is over but for the disk.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) id: VisitId,
    pub(super) url: WebUrl,
    pub(super) seed: bool,
    pub(super) answer: Option<Answer>,
    pub(super) outcome: Outcome,
    pub(super) message: String,
    pub(super) links: Vec<Link>,
    /// Links that are none of ours, or too many or too long.
    pub(super) not_web: u64,
    pub(super) dropped: u64,
    pub(super) took: Duration,
    /// Something was appended, and must reach the disk before this counts.
    pub(super) appended: bool,
    /// The archive itself failed: the crawl cannot go on.
    pub(super) broken: Option<herodotus_store::Error>,
}

/// What the archive already knows of a URL.
#[derive(Debug, Default)]
struct Known {
    etag: Option<String>,
    last_modified: Option<String>,
    digest: Option<[u8; 16]>,
}

impl Context {
    pub(super) fn new(store: &Store, definition: &Definition, team: Option<Arc<dyn Team>>) -> Result<Self> {
        Ok(Self {
            store: store.clone(),
            fetcher: Fetcher::new(definition.fetch_config()?)?,
            allow_private: definition.allow_private.clone(),
            settings: definition.crawl.clone(),
            team,
            // As many as we would make for ourselves.
            hands: Semaphore::new(definition.requests.clamp(1, Semaphore::MAX_PERMITS)),
            waiting: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            made_elsewhere: AtomicU64::new(0),
            made_for_others: AtomicU64::new(0),
        })
    }

    pub(super) async fn visit(&self, visit: Visit) -> Finished {
        let began = Instant::now();
        let mut finished = Finished {
            id: visit.id,
            url: visit.url.clone(),
            seed: visit.seed,
            answer: None,
            outcome: Outcome::Failure { code: "archive", temporary: false },
            message: String::new(),
            links: Vec::new(),
            not_web: 0,
            dropped: 0,
            took: Duration::ZERO,
            appended: false,
            broken: None,
        };
        if let Err(error) = self.look(&visit, &mut finished).await {
            finished.message = error.to_string();
            finished.broken = Some(error);
        }
        finished.took = began.elapsed();
        finished
    }

    async fn look(&self, visit: &Visit, finished: &mut Finished) -> herodotus_store::Result<()> {
        let boarding = match &self.team {
            Some(team) => Some(team.flights().board(&visit.url).await),
            None => None,
        };
        if let Some(last) = boarding.as_ref().and_then(|boarding| boarding.last)
            && last >= visit.round_began
            && self.take_from_flight(visit, finished)?
        {
            return Ok(());
        }
        let mut known =
            Known { etag: visit.etag.clone(), last_modified: visit.last_modified.clone(), digest: visit.digest };
        // A URL that is new to this crawl may not be new to the archive.
        let mut archived = None;
        if visit.first
            && let Some(entry) = self.newest(&visit.url)?
            && let Some(capture) = self.store.read(&entry.id)?
        {
            if entry.id.time >= visit.round_began {
                return self.take_from_archive(visit, &entry, &capture, finished);
            }
            known = Known::of(&capture);
            archived = Some(capture);
        }
        if visit.first
            && let Some(team) = &self.team
            && let Some((entry, capture)) = team.lately(&visit.url, visit.round_began).await
        {
            return self.take_from_archive(visit, &entry, &capture, finished);
        }
        let ask = Ask {
            validators: Validators { etag: known.etag.clone(), last_modified: known.last_modified.clone() },
            ..Ask::new(visit.url.clone())
        };
        let taker = || Taker::new(&self.store, &visit.url, self.settings.media, super::AGENT_TOKEN);
        let (made, taker) = self.exchange(&ask, visit.delay_ms, taker).await;
        match made {
            Ok(exchange) => {
                self.keep(visit, &known, &exchange, taker, finished)?;
                // Nothing changed, but this crawl has never read the page.
                let unchanged =
                    |o: &Outcome| matches!(o, Outcome::Response { version: Version::Same | Version::NotModified, .. });
                if let Some(capture) = archived.filter(|_| unchanged(&finished.outcome)) {
                    finished.links = self.links_of(&visit.url, &capture)?;
                }
                if let Some(boarding) = boarding.filter(|_| is_kept(&finished.outcome)) {
                    boarding.land(Timestamp::now());
                }
                Ok(())
            }
            Err(failure) => {
                finished.message = failure.to_string();
                finished.answer = Some(self.answer_of_failure(&failure));
                let (code, temporary) = (failure.code(), failure.is_temporary());
                finished.outcome = Outcome::Failure { code, temporary };
                Ok(())
            }
        }
    }

    /// Another crawl has made this visit in our round. Nothing was asked; whether the archive has what it brought.
    fn take_from_flight(&self, visit: &Visit, finished: &mut Finished) -> herodotus_store::Result<bool> {
        let Some(entry) = self.newest(&visit.url)? else { return Ok(false) };
        let Some(capture) = self.store.read(&entry.id)? else { return Ok(false) };
        self.take_from_archive(visit, &entry, &capture, finished)?;
        if !visit.first && visit.digest.is_some() && visit.digest == Known::of(&capture).digest {
            // What this crawl has read already.
            finished.links.clear();
        }
        // Whoever brought it may not have waited for the disk yet.
        finished.appended = true;
        Ok(true)
    }

    /// The newest capture of exactly this URL.
    pub(super) fn newest(&self, url: &WebUrl) -> herodotus_store::Result<Option<Entry>> {
        /// One key may stand for several spellings of a URL; further back than this nobody looks.
        const SPELLINGS_MAX: usize = 16;
        for entry in self.store.versions_until(&key_of(url.as_str()), Timestamp::MAX).take(SPELLINGS_MAX) {
            let entry = entry?;
            if entry.url == url.as_str() && entry.kind == Kind::Response && !entry.truncated {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Another crawl, or we before we were killed, made this visit in this round: read what it brought.
    fn take_from_archive(
        &self,
        visit: &Visit,
        entry: &Entry,
        capture: &Capture,
        finished: &mut Finished,
    ) -> herodotus_store::Result<()> {
        let known = Known::of(capture);
        finished.outcome = Outcome::Response {
            status: entry.status.unwrap_or(0),
            media: entry.media.clone(),
            bytes: 0,
            version: Version::Archived,
            etag: known.etag,
            last_modified: known.last_modified,
            digest: known.digest.unwrap_or_default(),
            truncated: None,
        };
        finished.links = self.links_of(&visit.url, capture)?;
        Ok(())
    }

    /// The links of a stored capture, headers and all.
    fn links_of(&self, url: &WebUrl, capture: &Capture) -> herodotus_store::Result<Vec<Link>> {
        let Some(head) = ResponseHead::parse(&capture.main.head) else { return Ok(Vec::new()) };
        let mut links = herodotus_page::header_links(url, &head);
        // A body in a file of its own is read again only when it comes anew.
        if let Body::Bytes(bytes, _) = &capture.main.body {
            let plain = coding::plain_body(&capture.main.head, bytes);
            let essence = head.content_type_essence();
            let document = Document::of(essence.as_deref(), url, &plain[..plain.len().min(512)]);
            let mut reader = PageReader::new(url.clone(), document, None);
            reader.push(&plain);
            links.extend(reader.finish().links);
        }
        Ok(links)
    }

    fn keep(
        &self,
        visit: &Visit,
        known: &Known,
        exchange: &Exchange,
        taker: Taker<'_>,
        finished: &mut Finished,
    ) -> herodotus_store::Result<()> {
        let (status, media) = (taker.status, taker.essence.clone());
        let (head, header_links, unwanted) = (taker.head.clone(), taker.header_links.clone(), taker.unwanted);
        let header_policy = taker.policy;
        let (body, page) = taker.finish()?;
        let parsed = ResponseHead::parse(&head);
        let field = |name: &str| parsed.as_ref().and_then(|head| head.header(name)).map(|value| value.into_owned());
        finished.answer = Some(self.answer_of(exchange, status, field("retry-after").as_deref()));
        let location = field("location");
        let digest = digest_of(status, location.as_deref(), &body);
        let policy = header_policy.merge(page.policy);
        let obeys = !self.settings.ignore_robots;
        // A coding that cannot be undone leaves the bytes whole, but nobody can read them to their end.
        let truncated = exchange.truncated.as_ref().map(|t| t.code());
        let truncated = truncated.or(exchange.coding_error.as_ref().map(|e| e.code()));
        let version = if status == 304 {
            Version::NotModified
        } else if matches!(status, 429 | 503) {
            Version::Busy
        } else if unwanted {
            Version::Unwanted
        } else if obeys && policy.noarchive {
            Version::NoArchive
        } else if known.digest == Some(digest) {
            Version::Same
        } else if known.digest.is_some() {
            Version::Changed
        } else {
            Version::New
        };
        if matches!(version, Version::New | Version::Changed | Version::NoArchive) {
            let leads_nowhere = location.is_some() && !header_links.iter().any(|l| l.kind == LinkKind::Redirect);
            finished.not_web = page.not_web + u64::from(matches!(status, 300..=399) && leads_nowhere);
            finished.dropped = page.links_dropped;
            finished.links = self.new_links(visit, version, header_links, &page)?;
            let follows = !(obeys && policy.nofollow);
            finished.links.iter_mut().for_each(|link| link.nofollow |= !follows && link.kind == LinkKind::Page);
        }
        let bytes = exchange.wire_bytes;
        if matches!(version, Version::New | Version::Changed) {
            let capture = capture_of(&visit.url, exchange, head.clone(), body);
            finished.appended = self.store.append(capture)? == Appended::Stored;
        }
        let (etag, last_modified) = (field("etag"), field("last-modified"));
        finished.outcome = Outcome::Response { status, media, bytes, version, etag, last_modified, digest, truncated };
        Ok(())
    }

    /// Only what the last version did not link to is new (H10).
    fn new_links(
        &self,
        visit: &Visit,
        version: Version,
        header_links: Vec<Link>,
        page: &Page,
    ) -> herodotus_store::Result<Vec<Link>> {
        let mut links = header_links;
        links.extend(page.links.iter().cloned());
        if version == Version::Changed
            && !visit.first
            && !links.is_empty()
            && let Some(entry) = self.newest(&visit.url)?
            && let Some(before) = self.store.read(&entry.id)?
        {
            let before = self.links_of(&visit.url, &before)?;
            let before: HashSet<&WebUrl> = before.iter().map(|link| &link.url).collect();
            links.retain(|link| !before.contains(&link.url));
        }
        Ok(links)
    }

    pub(super) fn answer_of(&self, exchange: &Exchange, status: u16, retry_after: Option<&str>) -> Answer {
        let address = exchange.remote.ip();
        let pressure = matches!(status, 429 | 503)
            .then(|| Pressure { retry_after_ms: retry_after.and_then(|text| retry_after_ms(text, Timestamp::now())) });
        Answer {
            address: Some(address),
            stranger: !self.allow_private.iter().any(|net| net.contains(&address)),
            took_ms: exchange.took.whole.as_millis() as u64,
            pressure,
            reached: true,
        }
    }

    pub(super) fn answer_of_failure(&self, failure: &Failure) -> Answer {
        Answer { stranger: true, reached: !is_unreachable(failure), ..Answer::default() }
    }
}

impl Known {
    fn of(capture: &Capture) -> Self {
        let Some(head) = ResponseHead::parse(&capture.main.head) else { return Self::default() };
        let field = |name: &str| head.header(name).map(|value| value.into_owned());
        let status = head.status.unwrap_or(0);
        let is_page = status == 200;
        Self {
            etag: field("etag").filter(|_| is_page),
            last_modified: field("last-modified").filter(|_| is_page),
            digest: Some(digest_of(status, field("location").as_deref(), &capture.main.body)),
        }
    }
}

/// The archive shows what was found, or had it.
fn is_kept(outcome: &Outcome) -> bool {
    use Version::{Changed, New, NotModified, Same};
    matches!(outcome, Outcome::Response { version: New | Changed | Same | NotModified, truncated: None, .. })
}

/// What makes two answers the same: their bodies, and for what is no page also the status and where it leads.
fn digest_of(status: u16, location: Option<&str>, body: &Body) -> [u8; 16] {
    let body = body.digests().sha256;
    let whole = match status {
        200 => body,
        _ => Sha256::of(&[&status.to_be_bytes(), location.unwrap_or_default().as_bytes(), &body.0].concat()),
    };
    let mut short = [0; 16];
    short.copy_from_slice(&whole.0[..16]);
    short
}

/// What the archive keeps of an exchange.
pub(super) fn capture_of(url: &WebUrl, exchange: &Exchange, head: Vec<u8>, body: Body) -> Capture {
    let time = exchange.time;
    let mut main = Record::new(Kind::Response, url.as_str(), time, head, body);
    let mut fields = Fields::from([("WARC-IP-Address", exchange.remote.ip().to_string())]);
    if let Some(truncated) = &exchange.truncated {
        fields.push("WARC-Truncated", truncated.warc());
    }
    if exchange.protocol == Protocol::Http2 {
        fields.push("WARC-Protocol", "h2");
    }
    main.warc = Some(WarcHeader { version: "".into(), fields });
    let request = Record::new(Kind::Request, url.as_str(), time, exchange.request.clone(), Body::new(Vec::new()));
    Capture { url: url.as_str().to_owned(), time, main, companions: vec![request] }
}

/// `Retry-After`: seconds, or a date.
pub(super) fn retry_after_ms(text: &str, now: Timestamp) -> Option<u64> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Some(text.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1_000));
    }
    let until = http_date(text)?;
    u64::try_from(until.millis() - now.millis()).ok()
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that is still written.
fn http_date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_once(',')?.1.split_whitespace();
    let (day, month, year, clock) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Timestamp::parse(&format!("{year}-{month:02}-{day:0>2}T{clock}Z")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = Timestamp::parse("1994-11-06T08:49:07Z").unwrap();
        for (text, ms) in [
            ("30", Some(30_000)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(30_000)),
            ("99999999999999999999", Some(u64::MAX)),
            ("-5", None),
            ("Sun, 06 Nov 1994 08:49:00 GMT", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(retry_after_ms(text, now), ms, "{text}");
        }
    }
}
