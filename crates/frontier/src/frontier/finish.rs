//! What becomes of a URL that was visited: when it is due again, or that it is not.

use super::{Frontier, InFlight, Origin};
use crate::error::Result;
use crate::frontier::admit::is_requisite;
use crate::host::after;
use crate::keys::{Class, Place, Ticket};
use crate::limits::{DEAD_IN_A_ROW_MAX, ROBOTS_BYTES_MAX, ROBOTS_MS_MAX, ROBOTS_UNAVAILABLE_MS, VALIDATOR_BYTES_MAX};
use crate::record::UrlRecord;
use crate::round;
use crate::table::Table;
use crate::tally::{count, count_example};
use crate::visit::{Answer, Outcome, RobotsAnswer, Version, VisitId};
use herodotus_base::Timestamp;
use herodotus_page::{Link, LinkKind, WebUrl};
use std::sync::Arc;

/// Read for the first time, or anew since the crawl was changed: so all its links count, not only those that are new on it.
pub(super) fn is_first(ticket: Ticket, record: &UrlRecord) -> bool {
    record.visits == 0 || record.left_out && ticket.place.class == Class::Fresh
}

impl<T: Table> Frontier<T> {
    /// The host answered, or did not: it may be asked again after its delay, while what it sent is still being kept.
    pub fn handle_answer(&mut self, now: Timestamp, id: VisitId, answer: &Answer) {
        let Some(visit) = self.in_flight.get_mut(&id).filter(|visit| !visit.answered) else { return };
        visit.answered = true;
        let hash = visit.host;
        let Some(host) = self.hosts.get_mut(&hash) else { return };
        host.in_flight = host.in_flight.saturating_sub(1);
        if let Some(address) = host.address.filter(|_| !host.is_ours)
            && let Some(address) = self.addresses.get_mut(&address)
        {
            address.in_flight = address.in_flight.saturating_sub(1);
        }
        host.learn(&self.settings, now, answer);
        if host.is_lost() && host.blocked.is_none() {
            host.blocked = Some("host_unreachable");
        }
        self.schedule_host(hash, now);
    }

    /// A visit that asked nobody: the archive had the answer, and the host need not rest from it.
    fn give_back_turn(&mut self, visit: &InFlight) {
        let Some(host) = self.hosts.get_mut(&visit.host).filter(|_| !visit.answered) else { return };
        host.in_flight = host.in_flight.saturating_sub(1);
        if host.in_flight == 0 {
            host.next_at_ms = visit.before_ms;
        }
        if let Some(address) = host.address.filter(|_| !host.is_ours)
            && let Some(address) = self.addresses.get_mut(&address)
        {
            address.in_flight = address.in_flight.saturating_sub(1);
        }
    }

    /// robots.txt of an origin was had, or could not be.
    pub fn handle_robots(&mut self, now: Timestamp, id: VisitId, answer: RobotsAnswer) -> Result<()> {
        let Some(visit) = self.in_flight.remove(&id) else { return Ok(()) };
        self.give_back_turn(&visit);
        let until = |span: i64| now.millis() + span;
        match answer {
            RobotsAnswer::Rules(rules) => {
                self.both(|tally| tally.robots += 1);
                self.robots_bytes += rules.bytes();
                let delay = rules.crawl_delay();
                if let Some(host) = self.hosts.get_mut(&visit.host)
                    && let Some(delay) = delay
                {
                    host.heed(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
                    host.next_at_ms = host.next_at_ms.max(after(now, host.delay_ms(&self.settings)));
                }
                let known = Origin::Known { rules: Arc::new(rules), until_ms: until(ROBOTS_MS_MAX) };
                self.robots.insert(visit.origin, known);
            }
            RobotsAnswer::Unavailable { code, unreachable, .. } => {
                if unreachable && let Some(host) = self.hosts.get_mut(&visit.host) {
                    host.blocked = Some(code);
                }
                let until_ms = until(ROBOTS_UNAVAILABLE_MS);
                self.robots.insert(visit.origin, Origin::Unavailable { code, until_ms });
            }
        }
        self.schedule_host(visit.host, now);
        Ok(())
    }

    /// Sitemaps that robots.txt names are taken in as if the front page linked to them.
    pub fn handle_sitemaps(&mut self, now: Timestamp, links: &[Link]) -> Result<()> {
        for link in links {
            let Ok(front) = link.url.join("/") else { continue };
            let from = UrlRecord::new(front, LinkKind::Page, self.settings.period.0);
            let _ = self.admit_links(now, &from, std::slice::from_ref(link))?;
        }
        Ok(())
    }

    /// Links that never became URLs were left out of a page: what they were, and how many.
    pub fn handle_left_out(&mut self, page: &WebUrl, reason: &str, urls: u64) {
        if urls == 0 {
            return;
        }
        self.skip(page, reason, false);
        self.both(|tally| {
            if let Some(known) = tally.skipped.get_mut(reason) {
                known.urls += urls - 1;
            }
        });
    }

    /// Rules are bounded in memory: past the bound all are dropped, and read again from the archive as they are needed.
    pub(super) fn forget_robots(&mut self) {
        if self.robots_bytes > ROBOTS_BYTES_MAX {
            self.robots.retain(|_, origin| !matches!(origin, Origin::Known { .. }));
            self.robots_bytes = 0;
        }
    }

    /// A visit is over, and what it brought is safe in the archive. The links are those that its last version did not have.
    pub fn handle_finished(&mut self, now: Timestamp, id: VisitId, outcome: &Outcome, links: &[Link]) -> Result<()> {
        let Some(visit) = self.in_flight.remove(&id) else { return Ok(()) };
        self.give_back_turn(&visit);
        let Some((ticket, record)) = visit.page else { return Ok(()) };
        match outcome {
            Outcome::Failure { code, temporary } => self.fail(now, ticket, *record, code, *temporary)?,
            Outcome::Response { .. } => self.succeed(now, ticket, *record, outcome, links)?,
        }
        self.schedule_host(ticket.host, now);
        Ok(())
    }

    fn succeed(
        &mut self,
        now: Timestamp,
        ticket: Ticket,
        mut record: UrlRecord,
        outcome: &Outcome,
        links: &[Link],
    ) -> Result<()> {
        let Outcome::Response { status, media, bytes, version, etag, last_modified, digest, truncated } = outcome
        else {
            return Ok(());
        };
        if *version == Version::Busy && record.tries < self.settings.retries.saturating_add(2) {
            return self.retry(now, ticket, record);
        }
        self.count(&record, *status, media, *bytes, *version, *truncated);
        if let Some(host) = self.hosts.get_mut(&ticket.host) {
            host.fetched += 1;
            host.bytes += bytes;
        }
        let changed = *version == Version::Changed;
        let compared = changed || matches!(version, Version::Same | Version::NotModified);
        if compared && record.visits > 0 {
            record.period_ms = round::adapt(&self.settings, record.period_ms, changed);
            record.changes += u32::from(changed);
        }
        if *version != Version::NotModified {
            let short = |text: &Option<String>| text.clone().filter(|text| text.len() <= VALIDATOR_BYTES_MAX);
            // What a failed page says of itself is no use for asking whether the page changed.
            let whole = *status == 200 && truncated.is_none();
            record.etag = short(etag).filter(|_| whole);
            record.last_modified = short(last_modified).filter(|_| whole);
            record.digest = Some(*digest);
            record.status = *status;
        }
        record.dead = if matches!(status, 404 | 410) { record.dead.saturating_add(1) } else { 0 };
        let are_left_out = self.admit_links(now, &record, links)?;
        record.left_out = are_left_out || record.left_out && !is_first(ticket, &record);
        record.visits += 1;
        self.schedule_again(now, ticket, record);
        Ok(())
    }

    fn count(
        &mut self,
        record: &UrlRecord,
        status: u16,
        media: &str,
        bytes: u64,
        version: Version,
        truncated: Option<&str>,
    ) {
        let text = record.url.as_str();
        self.both(|tally| {
            tally.fetched += u64::from(version != Version::Archived);
            tally.pages += u64::from(!is_requisite(record.kind));
            tally.bytes += bytes;
            count(&mut tally.statuses, &status.to_string());
            // A 304 has no media of its own, and is not a page of nothing.
            if !media.is_empty() {
                count(&mut tally.media, media);
            }
            if let Some(code) = truncated {
                count_example(&mut tally.truncated, code, text);
            }
            match version {
                Version::New => tally.new += 1,
                Version::Changed => tally.changed += 1,
                Version::Same => tally.unchanged += 1,
                Version::NotModified => {
                    tally.unchanged += 1;
                    tally.not_modified += 1;
                }
                Version::Archived => tally.archived += 1,
                Version::Unwanted | Version::NoArchive | Version::Busy => {}
            }
        });
        let reason = match version {
            Version::Unwanted => "media",
            Version::NoArchive => "noarchive",
            _ => return,
        };
        self.skip(&record.url, reason, false);
    }

    /// A visit brought nothing.
    pub(super) fn fail(
        &mut self,
        now: Timestamp,
        ticket: Ticket,
        mut record: UrlRecord,
        code: &str,
        temporary: bool,
    ) -> Result<()> {
        if temporary && record.tries < self.settings.retries {
            return self.retry(now, ticket, record);
        }
        let text = record.url.as_str().to_owned();
        self.both(|tally| {
            tally.failed += 1;
            count_example(&mut tally.failures, code, &text);
        });
        if let Some(host) = self.hosts.get_mut(&ticket.host) {
            host.failed += 1;
        }
        record.visits += 1;
        record.status = 0;
        record.dead = record.dead.saturating_add(1);
        self.schedule_again(now, ticket, record);
        Ok(())
    }

    /// Not asked for, and not to be asked for in this round.
    pub(super) fn settle(&mut self, now: Timestamp, ticket: Ticket, record: UrlRecord, reason: &str) -> Result<()> {
        self.skip(&record.url.clone(), reason, record.seed);
        self.schedule_again(now, ticket, record);
        Ok(())
    }

    fn retry(&mut self, now: Timestamp, ticket: Ticket, mut record: UrlRecord) -> Result<()> {
        self.both(|tally| tally.retried += 1);
        record.tries += 1;
        let due_ms = self.kept.clock.time(now) + self.settings.retry_delay.ms() * i64::from(record.tries);
        self.forget(ticket);
        record.place = Some(Place { class: Class::Retry, order: due_ms.max(0) as u64 });
        self.queue(now, ticket.host, ticket.url, &record);
        // A host with nothing else to do must be looked at when this is due.
        self.schedule_host(ticket.host, self.kept.clock.at(due_ms));
        Ok(())
    }

    fn schedule_again(&mut self, now: Timestamp, ticket: Ticket, mut record: UrlRecord) {
        self.forget(ticket);
        record.tries = 0;
        record.round = self.kept.clock.round_at(&self.settings, now);
        record.last_visit_ms = now.millis();
        if record.dead >= DEAD_IN_A_ROW_MAX {
            record.place = None;
            self.both(|tally| tally.retired += 1);
            // The next link to it must find it in the table.
            self.seen.forget(ticket.url.0);
        } else {
            let due_ms = self.kept.clock.next_due(&self.settings, now, record.period_ms, ticket.url.0);
            record.place = Some(Place { class: Class::Again, order: due_ms.max(0) as u64 });
        }
        self.queue(now, ticket.host, ticket.url, &record);
        self.tell(&record);
        if let Some(due) = record.place.map(|place| place.order as i64).filter(|due| self.kept.clock.is_within(*due)) {
            let at = self.kept.clock.at(due);
            self.schedule_host(ticket.host, at);
        }
    }
}
