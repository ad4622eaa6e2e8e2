//! Which URL is next: the host whose time has come first, and of it what failed a moment ago, then what is due again,
//! then what is new.

use super::{Frontier, InFlight, Origin};
use crate::error::Result;
use crate::frontier::admit::is_requisite;
use crate::frontier::finish::is_first;
use crate::host::after;
use crate::keys::{self, Class, HostHash, Place, Ticket, UrlHash};
use crate::limits::{ADDRESS_DELAY_MS, ADDRESS_REQUESTS_MAX, SETTLED_PER_HOST_MAX, WINDOW_URLS};
use crate::record::UrlRecord;
use crate::table::Table;
use crate::visit::{End, Errand, Next, Visit, VisitId};
use herodotus_base::Timestamp;
use herodotus_page::{LinkKind, WebUrl};
use std::cmp::Reverse;

/// How soon a host is looked at again that waits for others at its address.
const ADDRESS_WAIT_MS: i64 = 20;

/// What a host has to offer.
enum Offer {
    Url(Ticket),
    /// Nothing before this moment.
    Later(Timestamp),
    Nothing,
}

impl<T: Table> Frontier<T> {
    /// What to do now. To be asked again after each answer, and when the moment it named has come.
    pub fn poll(&mut self, now: Timestamp) -> Result<Next> {
        if let Some(end) = self.limit_reached(now) {
            return Ok(if self.in_flight.is_empty() { Next::Done(end) } else { Next::Busy });
        }
        while let Some(Reverse((at_ms, _, hash))) = self.schedule.peek().copied() {
            // A host that was put in line for an earlier moment since has been seen to already.
            let Some(host) = self.hosts.get_mut(&hash).filter(|host| host.scheduled_at_ms == Some(at_ms)) else {
                self.schedule.pop();
                continue;
            };
            if at_ms > now.millis() {
                return Ok(self.wait(now, at_ms));
            }
            host.scheduled_at_ms = None;
            self.schedule.pop();
            if let Some(next) = self.pick(now, hash)? {
                return Ok(next);
            }
        }
        if !self.in_flight.is_empty() {
            return Ok(Next::Busy);
        }
        if self.held_back {
            return Ok(Next::Done(End::LimitPages));
        }
        self.kept.clock.complete = true;
        // The table must know, even if nothing else changed.
        self.state.put(keys::meta("ended"), now.millis().to_be_bytes().to_vec());
        Ok(Next::Done(End::Complete))
    }

    fn wait(&self, now: Timestamp, at_ms: i64) -> Next {
        let patience = self.settings.patience.ms();
        let is_once = self.settings.rounds == 1;
        if self.in_flight.is_empty() && is_once && at_ms - now.millis() > patience {
            return Next::Done(End::HostsBusy);
        }
        Next::Wait(Timestamp::from_millis_clamped(at_ms))
    }

    fn limit_reached(&self, now: Timestamp) -> Option<End> {
        let settings = &self.settings;
        if settings.limit_bytes.is_some_and(|most| self.run.bytes >= most) {
            return Some(End::LimitBytes);
        }
        if settings.limit_time.is_some_and(|most| now.millis() - self.run_began.millis() >= most.ms()) {
            return Some(End::LimitTime);
        }
        None
    }

    /// The next visit to a host whose time has come. `None`: not now; if it is to be looked at again, it is scheduled.
    fn pick(&mut self, now: Timestamp, hash: HostHash) -> Result<Option<Next>> {
        let Some(host) = self.hosts.get(&hash) else { return Ok(None) };
        if host.in_flight >= self.settings.concurrency {
            return Ok(None);
        }
        if host.next_at_ms > now.millis() && host.blocked.is_none() {
            self.schedule_host(hash, now);
            return Ok(None);
        }
        if let Some(until_ms) = self.address_busy(now, hash) {
            self.schedule_host(hash, Timestamp::from_millis_clamped(until_ms));
            return Ok(None);
        }
        loop {
            let ticket = match self.offer(now, hash)? {
                Offer::Url(ticket) => ticket,
                Offer::Later(at) => {
                    self.schedule_host(hash, at);
                    return Ok(None);
                }
                Offer::Nothing => return Ok(None),
            };
            let record = self.record(hash, ticket.url)?.filter(|record| record.place == Some(ticket.place));
            let Some(record) = record else {
                // An entry that its record no longer knows.
                self.forget(ticket);
                continue;
            };
            if !self.is_ours(&record.url) {
                self.disown(ticket, record);
                continue;
            }
            if let Some(code) = self.hosts.get(&hash).and_then(|h| h.blocked) {
                return self.settle_blocked(now, ticket, record, code);
            }
            if let Some(code) = self.unwanted(&record) {
                self.settle(now, ticket, record, code)?;
                continue;
            }
            let origin = keys::hash(record.url.origin());
            if !self.settings.ignore_robots {
                match self.robots.get(&origin) {
                    Some(Origin::Asked) => {
                        self.put_back(ticket);
                        return Ok(None);
                    }
                    Some(Origin::Known { rules, until_ms }) if *until_ms > now.millis() => {
                        if !rules.allows(record.url.target()) {
                            self.settle(now, ticket, record, "robots")?;
                            continue;
                        }
                    }
                    Some(Origin::Unavailable { code, until_ms }) if *until_ms > now.millis() => {
                        let code = *code;
                        self.settle(now, ticket, record, code)?;
                        continue;
                    }
                    _ => {
                        self.put_back(ticket);
                        return self.ask_robots(now, hash, origin, &record.url).map(Some);
                    }
                }
            }
            if !is_requisite(record.kind) && self.settings.limit.is_some_and(|most| self.pages_begun >= most) {
                // Nothing wakes the host again but a page in flight that needs a picture.
                self.held_back = true;
                self.put_back(ticket);
                return Ok(None);
            }
            return Ok(Some(self.begin(now, ticket, record, origin)));
        }
    }

    /// When the host's address may be asked again, if not now.
    fn address_busy(&self, now: Timestamp, hash: HostHash) -> Option<i64> {
        let host = self.hosts.get(&hash).filter(|host| !host.is_ours && host.blocked.is_none())?;
        let address = self.addresses.get(&host.address?)?;
        if address.in_flight >= ADDRESS_REQUESTS_MAX {
            return Some(now.millis() + ADDRESS_WAIT_MS);
        }
        (address.next_at_ms > now.millis()).then_some(address.next_at_ms)
    }

    /// The head of a host's window, filled from its queues when it is empty.
    fn offer(&mut self, now: Timestamp, hash: HostHash) -> Result<Offer> {
        if self.hosts.get(&hash).is_some_and(|host| host.window.is_empty()) {
            let later = self.fill(now, hash)?;
            if self.hosts.get(&hash).is_some_and(|host| host.window.is_empty()) {
                return Ok(later.map_or(Offer::Nothing, Offer::Later));
            }
        }
        let head = self.hosts.get_mut(&hash).and_then(|host| host.window.pop_front());
        Ok(head.map_or(Offer::Nothing, |(place, url)| Offer::Url(Ticket { host: hash, place, url })))
    }

    /// Fills a host's window. If that stays empty, says when something will be due.
    fn fill(&mut self, now: Timestamp, hash: HostHash) -> Result<Option<Timestamp>> {
        let mut later: Option<i64> = None;
        for class in [Class::Retry, Class::Again, Class::Fresh] {
            let Some(host) = self.hosts.get(&hash) else { return Ok(None) };
            if class != Class::Again && host.waiting == 0 {
                continue;
            }
            let (order, url) = host.cursors[class.index()];
            let mut from = keys::queue(hash, Place { class, order }, UrlHash(url));
            let end = keys::after(keys::queue(hash, Place { class, order: u64::MAX }, UrlHash(u64::MAX)));
            // One that was taken already may stand where we read: read on until the window is full or the queue ends.
            'queue: loop {
                let entries = self.state.scan(&from, &end, WINDOW_URLS)?;
                let Some((last, _)) = entries.last() else { break };
                from = [last.as_slice(), &[0]].concat();
                let read_all = entries.len() < WINDOW_URLS;
                for (key, _) in entries {
                    let Some((place, url)) = keys::parse_queue(&key) else { continue };
                    let due_ms = place.order as i64;
                    let is_due = match class {
                        Class::Fresh => true,
                        Class::Retry => due_ms <= self.kept.clock.time(now),
                        Class::Again => due_ms <= self.kept.clock.due_until(now),
                    };
                    if !is_due {
                        if class == Class::Retry || self.kept.clock.is_within(due_ms) {
                            later = Some(later.map_or(due_ms, |known| known.min(due_ms)));
                        }
                        break 'queue;
                    }
                    let Some(host) = self.hosts.get_mut(&hash) else { return Ok(None) };
                    host.cursors[class.index()] = (place.order, url.0.saturating_add(1));
                    if host.taken.insert(url) {
                        host.window.push_back((place, url));
                    }
                    if host.window.len() >= WINDOW_URLS {
                        return Ok(None);
                    }
                }
                if read_all {
                    break;
                }
            }
        }
        Ok(later.map(|due_ms| self.kept.clock.at(due_ms)))
    }

    fn put_back(&mut self, ticket: Ticket) {
        if let Some(host) = self.hosts.get_mut(&ticket.host) {
            host.window.push_front((ticket.place, ticket.url));
        }
    }

    /// Takes an entry out of its queue.
    pub(super) fn forget(&mut self, ticket: Ticket) {
        self.state.remove(keys::queue(ticket.host, ticket.place, ticket.url));
        if let Some(host) = self.hosts.get_mut(&ticket.host) {
            host.taken.remove(&ticket.url);
            if ticket.place.class != Class::Again {
                host.waiting = host.waiting.saturating_sub(1);
                self.waiting = self.waiting.saturating_sub(1);
            }
        }
        self.save_host(ticket.host);
    }

    fn settle_blocked(
        &mut self,
        now: Timestamp,
        ticket: Ticket,
        record: UrlRecord,
        code: &'static str,
    ) -> Result<Option<Next>> {
        let Some(host) = self.hosts.get_mut(&ticket.host) else { return Ok(None) };
        host.settled += 1;
        if host.settled > SETTLED_PER_HOST_MAX {
            // The rest stays queued for the next run.
            host.window.clear();
            host.taken.clear();
            return Ok(None);
        }
        let (text, seed) = (record.url.clone(), record.seed);
        self.fail(now, ticket, record, code, false)?;
        self.schedule_host(ticket.host, now);
        let settled = crate::visit::Settled { url: text, reason: code.to_owned(), seed };
        Ok(Some(Next::Settled(Box::new(settled))))
    }

    fn ask_robots(&mut self, now: Timestamp, hash: HostHash, origin: u64, of: &WebUrl) -> Result<Next> {
        let Ok(url) = of.join("/robots.txt") else { return Ok(Next::Busy) };
        self.forget_robots();
        self.robots.insert(origin, Origin::Asked);
        let id = self.take_turn(now, hash, InFlight { host: hash, page: None, origin, answered: false, before_ms: 0 });
        Ok(Next::Visit(Box::new(Visit {
            id,
            errand: Errand::Robots,
            url,
            kind: LinkKind::Other,
            seed: false,
            etag: None,
            last_modified: None,
            digest: None,
            round_began: self.kept.clock.round_began(&self.settings, now),
            first: true,
            delay_ms: self.delay_of(hash),
        })))
    }

    fn begin(&mut self, now: Timestamp, ticket: Ticket, record: UrlRecord, origin: u64) -> Next {
        self.pages_begun += u64::from(!is_requisite(record.kind));
        let visit = Visit {
            id: VisitId(0),
            errand: Errand::Url,
            url: record.url.clone(),
            kind: record.kind,
            seed: record.seed,
            etag: record.etag.clone(),
            last_modified: record.last_modified.clone(),
            digest: record.digest,
            round_began: self.kept.clock.round_began(&self.settings, now),
            first: is_first(ticket, &record),
            delay_ms: self.delay_of(ticket.host),
        };
        let page = Some((ticket, Box::new(record)));
        let id = self.take_turn(
            now,
            ticket.host,
            InFlight { host: ticket.host, page, origin, answered: false, before_ms: 0 },
        );
        Next::Visit(Box::new(Visit { id, ..visit }))
    }

    fn delay_of(&self, hash: HostHash) -> u64 {
        self.hosts.get(&hash).map_or(0, |host| host.delay_ms(&self.settings))
    }

    /// Counts a request as on its way, and says when the host may be asked beside it.
    fn take_turn(&mut self, now: Timestamp, hash: HostHash, mut visit: InFlight) -> VisitId {
        self.next_id += 1;
        let id = VisitId(self.next_id);
        if let Some(host) = self.hosts.get_mut(&hash) {
            host.in_flight += 1;
            visit.before_ms = host.next_at_ms;
            host.next_at_ms = host.next_at_ms.max(after(now, host.delay_ms(&self.settings)));
            if let Some(address) = host.address.filter(|_| !host.is_ours) {
                let address = self.addresses.entry(address).or_default();
                address.in_flight += 1;
                address.next_at_ms = now.millis() + ADDRESS_DELAY_MS as i64;
            }
        }
        self.in_flight.insert(id, visit);
        self.schedule_host(hash, now);
        id
    }
}
