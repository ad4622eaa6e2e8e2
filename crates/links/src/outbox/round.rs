//! A round over the circle: from the first place to the last, stretch by stretch, each of one owner or of none that is known. What is
//! worth it goes straight to its owner; what is not, and what has no known owner, goes together to a node that is nearer, or waits until
//! somebody has looked up the owner. Nothing is read twice in a round, and what must wait is stepped over.

use super::entry::{self, Entry, Key, WAITING};
use super::flights::{Aboard, Flight};
use super::marks::Shift;
use super::{Outbox, Send, WALKED_PARTS};
use crate::atlas::{Stretch, Walker};
use crate::batch;
use crate::error::{Error, Result};
use crate::limits;
use crate::prospect::CrawlId;
use herodotus_base::Id;
use herodotus_frontier::Table;
use herodotus_ring::Contact;
use std::collections::BTreeSet;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Round {
    /// Where to read on; none at the end of the circle.
    cursor: Option<Vec<u8>>,
    carriage: Option<(Contact, Load)>,
}

/// Links that were read and fit one batch.
#[derive(Debug, Default)]
struct Load {
    links: Vec<(Key, Entry)>,
    crawls: BTreeSet<CrawlId>,
    url_bytes: usize,
}

impl Load {
    fn has_room(&self, entry: &Entry) -> bool {
        let crawls = self.crawls.len() + usize::from(!self.crawls.contains(&entry.crawl));
        crawls <= limits::CRAWLS_MAX && batch::fits(self.links.len() + 1, self.url_bytes + entry.prospect.url.len())
    }

    fn push(&mut self, key: Key, entry: Entry) {
        self.url_bytes += entry.prospect.url.len();
        self.crawls.insert(entry.crawl);
        self.links.push((key, entry));
    }

    fn has_room_for(&self, other: &Self) -> bool {
        self.crawls.union(&other.crawls).count() <= limits::CRAWLS_MAX
            && batch::fits(self.links.len() + other.links.len(), self.url_bytes + other.url_bytes)
    }

    fn append(&mut self, other: Self) {
        other.links.into_iter().for_each(|(key, entry)| self.push(key, entry));
    }
}

/// What becomes of a stretch.
enum Choice {
    Straight(Contact),
    Walk(Contact),
    Wait,
}

impl<T: Table> Outbox<T> {
    /// The next batch. To be asked until there is none, then again at [`Outbox::poll_timeout`] and after whatever came in.
    pub fn poll(&mut self, now: Duration) -> Result<Option<Send>> {
        self.now = now;
        for id in self.flights.sent_before(now.saturating_sub(self.config.ack_wait)) {
            self.handle_failed(now, id);
        }
        self.unpark(now)?;
        if self.flights.len() >= self.config.flights_max {
            return Ok(None);
        }
        let sent = self.work(now);
        if sent.is_err() {
            // The disk may be better next time; nothing was taken out of the table.
            self.stir(now);
        }
        sent
    }

    /// Goes on with the round, and begins the next one if that has come due meanwhile.
    fn work(&mut self, now: Duration) -> Result<Option<Send>> {
        loop {
            if self.round.is_none() {
                let is_due = self.due.is_some_and(|due| due <= now) || self.fresh >= self.config.links_flush;
                if !is_due {
                    return Ok(None);
                }
                self.begin_round(now)?;
            }
            let sent = self.go_on(now)?;
            if sent.is_some() {
                return Ok(sent);
            }
        }
    }

    fn begin_round(&mut self, now: Duration) -> Result<()> {
        self.write_buffer()?;
        self.atlas.expire(now);
        if now.saturating_sub(self.walked_since) >= self.config.owner_lasts {
            self.walked.fill(0.0);
            self.walked_since = now;
        }
        (self.due, self.fresh) = (None, 0);
        self.round = Some(Round { cursor: Some(entry::range(WAITING).0), carriage: None });
        Ok(())
    }

    fn go_on(&mut self, now: Duration) -> Result<Option<Send>> {
        while let Some(mut round) = self.round.take() {
            let Some(cursor) = round.cursor.take() else { return self.end_round(now, round) };
            let Some((first, _)) = self.read(&cursor, crate::atlas::LAST_PLACE, 1)?.0.links.pop() else {
                self.round = Some(round);
                continue;
            };
            let place = entry::place_of(&first);
            let stretch = self.atlas.stretch(now, place);
            let (load, next) = self.read(&first, stretch.last, limits::LINKS_MAX)?;
            let after = (stretch.last != crate::atlas::LAST_PLACE).then(|| entry::after_place(WAITING, stretch.last));
            let mut departs = None;
            match self.choose(now, place, &stretch, load.links.len()) {
                Choice::Wait => round.cursor = after,
                Choice::Straight(owner) => {
                    round.cursor = next.or(after);
                    departs = Some((owner, load));
                }
                Choice::Walk(to) => {
                    round.cursor = next.or(after);
                    departs = round.take_aboard(to, load, self.config.links_enough);
                    self.counts.walks += u64::from(departs.is_some());
                }
            }
            self.round = Some(round);
            if let Some((to, load)) = departs {
                return self.depart(now, to, load);
            }
        }
        Ok(None)
    }

    fn end_round(&mut self, now: Duration, round: Round) -> Result<Option<Send>> {
        let departs = match round.carriage {
            Some((to, load)) => {
                self.counts.walks += 1;
                self.depart(now, to, load)?
            }
            None => None,
        };
        if self.stored_sum > self.flights.links() as u64 {
            self.stir(now);
        }
        Ok(departs)
    }

    /// Links from a key on to the end of a place, as many as fit a batch, without those under way; and where to read on if there may be more.
    fn read(&mut self, from: &[u8], last: Id, links_max: usize) -> Result<(Load, Option<Vec<u8>>)> {
        let (mut from, to) = (from.to_vec(), entry::after_place(WAITING, last));
        let mut load = Load::default();
        loop {
            let slice_len = limits::SLICE_LINKS.min(links_max.max(16));
            let slice = self.table.scan(&from, &to, slice_len).map_err(Error::table("read"))?;
            let is_last = slice.len() < slice_len;
            for (bytes, value) in slice {
                let Ok(key) = Key::try_from(&bytes[..]) else {
                    from = [&bytes[..], &[0]].concat();
                    continue;
                };
                from = entry::after(&key);
                if self.flights.has(&key) {
                    continue;
                }
                let Some(entry) = Entry::parse(&value) else {
                    self.discard(&key, &value)?;
                    continue;
                };
                if load.links.len() >= links_max || !load.has_room(&entry) {
                    return Ok((load, Some(key.to_vec())));
                }
                load.push(key, entry);
            }
            if is_last {
                return Ok((load, None));
            }
        }
    }

    fn discard(&mut self, key: &Key, value: &[u8]) -> Result<()> {
        let mut shift = Shift::default();
        self.count_damaged(value, &mut shift);
        self.write(vec![(key.to_vec(), None)], &shift)
    }

    /// The rule.
    fn choose(&mut self, now: Duration, place: Id, stretch: &Stretch, links: usize) -> Choice {
        let is_busy = |outbox: &Self, to: &Contact| {
            outbox.atlas.rests(now, to) || outbox.flights.to(to.key) >= outbox.config.flights_per_peer_max
        };
        let walker = self.atlas.walker(now, place, &self.config.costs);
        if let Some(owner) = &stretch.owner {
            if is_busy(self, owner) {
                return Choice::Wait;
            }
            let pays = |walker: &Walker| self.config.costs.straight_pays(links, walker.steps);
            let is_worth_it = links >= self.config.links_enough || walker.as_ref().is_none_or(pays);
            return match walker {
                Some(walker) if !is_worth_it && !self.atlas.is_own(owner) && !self.may_be_small(now) => {
                    if is_busy(self, &walker.contact) { Choice::Wait } else { Choice::Walk(walker.contact) }
                }
                _ => Choice::Straight(owner.clone()),
            };
        }
        if self.lookups.has(now, place, stretch.last) {
            return Choice::Wait;
        }
        let part = (usize::from(u16::from_be_bytes([place.0[0], place.0[1]])) * WALKED_PARTS) >> 16;
        let walked = self.walked.get_mut(part);
        match (walker, walked) {
            (Some(walker), Some(walked)) if !self.config.costs.lookup_pays((*walked).into(), links, walker.steps) => {
                let more = self.config.costs.walk_bytes(links, walker.steps);
                if self.flights.to(walker.contact.key) >= self.config.flights_per_peer_max {
                    return Choice::Wait;
                }
                *walked += more as f32;
                Choice::Walk(walker.contact)
            }
            (_, walked) => {
                walked.into_iter().for_each(|walked| *walked = 0.0);
                self.lookups.want(place, self.config.lookups_max);
                Choice::Wait
            }
        }
    }

    /// Whether one more batch may go that is not worth its head; if so it is counted.
    fn may_be_small(&mut self, now: Duration) -> bool {
        let each = Duration::from_secs(1) / self.config.small_batches_per_s.max(1);
        // A second's worth may go at once.
        let is_allowed = self.small_until <= now + Duration::from_secs(1);
        if is_allowed {
            self.small_until = self.small_until.max(now) + each;
        }
        is_allowed
    }

    fn depart(&mut self, now: Duration, to: Contact, load: Load) -> Result<Option<Send>> {
        let steps = load.links.iter().map(|(_, entry)| entry.steps).max().unwrap_or_default().saturating_add(1);
        let (mut aboard, mut links) = (Vec::with_capacity(load.links.len()), Vec::with_capacity(load.links.len()));
        for (key, entry) in load.links {
            aboard.push(Aboard { key, crawl: entry.crawl, mark: entry.mark, has_returned: false });
            links.push((entry.crawl, entry.prospect));
        }
        let batch = batch::close(steps, &links)?;
        let id = self.flights.begin(Flight { to: to.clone(), sent: now, links: aboard });
        self.counts.batches += 1;
        self.counts.links_sent += links.len() as u64;
        self.counts.bytes_sent += batch.len() as u64;
        Ok(Some(Send { to, id, batch, links: links.len() }))
    }
}

impl Round {
    /// Puts links into what goes to a walker, and says what is to depart: the carriage when it is full, or the links where both do not fit one batch.
    fn take_aboard(&mut self, to: Contact, load: Load, enough: usize) -> Option<(Contact, Load)> {
        let before = match &mut self.carriage {
            Some((_, carriage)) if carriage.has_room_for(&load) => {
                carriage.append(load);
                None
            }
            carriage => carriage.replace((to, load)),
        };
        let is_full = self.carriage.as_ref().is_some_and(|(_, load)| load.links.len() >= enough);
        if before.is_none() && is_full { self.carriage.take() } else { before }
    }
}
