//! A round over the circle: from the first place to the last, stretch by stretch, each of one owner or of none that is known. What belongs to one machine,
//! on however many arcs of its, is gathered and goes straight there if that is worth it; what is not, and what has no known owner, goes together to a node
//! that is nearer, or waits until somebody has looked up the owner. Nothing is read twice in a round, and what must wait is stepped over.

use super::entry::{self, Entry, Key, WAITING};
use super::flights::{Aboard, Flight};
use super::marks::Shift;
use super::{Outbox, Send, WALKED_PARTS};
use crate::atlas::{Stretch, Walker};
use crate::batch;
use crate::error::{Error, Result};
use crate::limits;
use crate::prospect::CrawlId;
use herodotus_base::{Id, PeerKey};
use herodotus_frontier::Table;
use herodotus_ring::Contact;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Round {
    /// Where to read on; none at the end of the circle.
    cursor: Option<Vec<u8>>,
    /// For machines whose arcs are known, each arc's apart, in the order of places.
    gathered: BTreeMap<PeerKey, (Contact, Vec<(Id, Load)>)>,
    /// Of those, what is not worth going straight, by its first place.
    rest: BTreeMap<Id, (Contact, Load)>,
    carriage: Option<(Contact, Load)>,
    /// What is for machines that have work is looked at as well: so much has come since it last was.
    is_thorough: bool,
    /// When the first of those wants links again.
    held_until: Option<Duration>,
    /// Something waits for another reason.
    has_waiting: bool,
    /// What had come in when it began: entries read in it are as they were then.
    as_of: u64,
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

    fn and(mut self, other: Self) -> Self {
        self.append(other);
        self
    }
}

/// As it lies in the table: key and value.
type Pair = (Vec<u8>, Vec<u8>);

/// What becomes of a stretch.
enum Choice {
    Straight(Contact),
    /// Straight or not, as will be seen when all that is for this machine is known.
    Gather(Contact),
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
        self.fill_index()?;
        let is_thorough = self.held >= self.config.links_plenty as u64;
        (self.due, self.fresh, self.begun) = (None, 0, Some(now));
        if is_thorough {
            self.held = 0;
        }
        let cursor = Some(entry::range(WAITING).0);
        self.round = Some(Round { cursor, is_thorough, as_of: self.kept, ..Round::default() });
        Ok(())
    }

    fn go_on(&mut self, now: Duration) -> Result<Option<Send>> {
        while let Some(mut round) = self.round.take() {
            let departs = match round.cursor.take() {
                Some(cursor) => self.read_on(now, &mut round, &cursor)?,
                None if !round.gathered.is_empty() => self.sort_out(now, &mut round),
                None if !round.rest.is_empty() => self.set_off(now, &mut round),
                None => return self.end_round(now, round),
            };
            let as_of = round.as_of;
            self.round = Some(round);
            if let Some((to, load)) = departs {
                return self.depart(now, to, load, as_of);
            }
        }
        Ok(None)
    }

    /// The next stretch, and what is to depart at once.
    fn read_on(&mut self, now: Duration, round: &mut Round, cursor: &[u8]) -> Result<Option<(Contact, Load)>> {
        let Some((first, _)) = self.read(cursor, crate::atlas::LAST_PLACE, 1)?.0.links.pop() else {
            return Ok(None);
        };
        let place = entry::place_of(&first);
        let stretch = self.atlas.stretch(now, place);
        let after = (stretch.last != crate::atlas::LAST_PLACE).then(|| entry::after_place(WAITING, stretch.last));
        if !round.is_thorough
            && let Some(until) = self.held_until(now, stretch.owner.as_ref())
        {
            round.hold(until);
            round.cursor = after;
            return Ok(None);
        }
        let (load, next) = self.read(&first, stretch.last, limits::LINKS_MAX)?;
        Ok(match self.choose(now, place, &stretch, load.links.len()) {
            Choice::Wait => {
                (round.cursor, round.has_waiting) = (after, true);
                None
            }
            Choice::Straight(owner) => {
                round.cursor = next.or(after);
                Some((owner, load))
            }
            Choice::Gather(owner) => {
                round.cursor = next.or(after);
                round.gather(place, owner, load, self.config.links_enough)
            }
            Choice::Walk(to) => {
                round.cursor = next.or(after);
                let departs = round.take_aboard(to, load, self.config.links_enough);
                self.counts.walks += u64::from(departs.is_some());
                departs
            }
        })
    }

    /// What was gathered for a machine: straight there if it is worth it, or not now, or with others part of the way.
    fn sort_out(&mut self, now: Duration, round: &mut Round) -> Option<(Contact, Load)> {
        let (_, (owner, arcs)) = round.gathered.pop_first()?;
        if self.is_busy(now, &owner) {
            round.has_waiting = true;
            return None;
        }
        let links = sum(&arcs);
        if links < self.config.links_plenty
            && let Some(until) = self.held_until(now, Some(&owner))
        {
            round.hold(until);
            return None;
        }
        let walker = |place: &Id| self.atlas.walker(now, *place, &self.config.costs);
        let pays = |walker: &Walker| self.config.costs.straight_pays(links, walker.steps);
        let is_worth_it = links >= self.config.links_enough
            || arcs.iter().any(|(place, _)| walker(place).as_ref().is_none_or(pays))
            || self.may_be_small(now);
        if is_worth_it {
            let load = arcs.into_iter().map(|(_, load)| load).reduce(Load::and)?;
            return Some((owner, load));
        }
        round.rest.extend(arcs.into_iter().map(|(place, load)| (place, (owner.clone(), load))));
        None
    }

    /// What was not worth going straight goes a part of the way with the others.
    fn set_off(&mut self, now: Duration, round: &mut Round) -> Option<(Contact, Load)> {
        let (place, (owner, load)) = round.rest.pop_first()?;
        let Some(walker) = self.atlas.walker(now, place, &self.config.costs) else { return Some((owner, load)) };
        if self.is_busy(now, &walker.contact) {
            round.has_waiting = true;
            return None;
        }
        let departs = round.take_aboard(walker.contact, load, self.config.links_enough);
        self.counts.walks += u64::from(departs.is_some());
        departs
    }

    fn end_round(&mut self, now: Duration, round: Round) -> Result<Option<Send>> {
        let departs = match round.carriage {
            Some((to, load)) => {
                self.counts.walks += 1;
                self.depart(now, to, load, round.as_of)?
            }
            None => None,
        };
        match round.held_until {
            _ if self.stored_sum <= self.flights.links() as u64 => {}
            Some(until) if !round.has_waiting => self.stir_at(until),
            _ => self.stir(now),
        }
        Ok(departs)
    }

    /// Until when the owner of links has work without them, if it has.
    fn held_until(&self, now: Duration, owner: Option<&Contact>) -> Option<Duration> {
        owner.and_then(|owner| self.atlas.held_until(now, owner))
    }

    /// Links from a key on to the end of a place, as many as fit a batch, without those under way; and where to read on if there may be more.
    fn read(&mut self, from: &[u8], last: Id, links_max: usize) -> Result<(Load, Option<Vec<u8>>)> {
        let (mut from, to) = (from.to_vec(), entry::after_place(WAITING, last));
        let mut load = Load::default();
        loop {
            let slice_len = limits::SLICE_LINKS.min(links_max.max(16));
            let (slice, is_last) = self.slice(&from, &to, slice_len)?;
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

    /// Entries that wait, in order, and whether there are no more.
    fn slice(&self, from: &[u8], to: &[u8], limit: usize) -> Result<(Vec<Pair>, bool)> {
        let Some(keys) = self.index.range(from, to, limit) else {
            let slice = self.table.scan(from, to, limit).map_err(Error::table("read"))?;
            let is_last = slice.len() < limit;
            return Ok((slice, is_last));
        };
        let mut slice = Vec::with_capacity(keys.len());
        for key in &keys {
            let value = self.table.get(key).map_err(Error::table("read"))?;
            slice.extend(value.map(|value| (key.to_vec(), value)));
        }
        Ok((slice, keys.len() < limit))
    }

    /// Lets the index know what waits, if that is little enough.
    fn fill_index(&mut self) -> Result<()> {
        if !self.index.wants(self.stored_sum) {
            return Ok(());
        }
        let (mut from, to) = entry::range(WAITING);
        let mut keys = BTreeSet::new();
        loop {
            let slice = self.table.scan(&from, &to, limits::SLICE_LINKS).map_err(Error::table("read"))?;
            let Some((last, _)) = slice.last() else { break };
            from = [&last[..], &[0]].concat();
            // One that is no key is the table's own to show.
            let found =
                slice.iter().map(|(key, _)| Key::try_from(&key[..])).collect::<std::result::Result<Vec<_>, _>>();
            let Ok(found) = found else { return Ok(()) };
            keys.extend(found);
        }
        self.index.learn(keys);
        Ok(())
    }

    fn discard(&mut self, key: &Key, value: &[u8]) -> Result<()> {
        let mut shift = Shift::default();
        self.count_damaged(value, &mut shift);
        self.write(vec![(key.to_vec(), None)], &shift)
    }

    /// The rule.
    fn choose(&mut self, now: Duration, place: Id, stretch: &Stretch, links: usize) -> Choice {
        if let Some(owner) = &stretch.owner {
            return match () {
                () if self.is_busy(now, owner) => Choice::Wait,
                () if self.atlas.is_own(owner) => Choice::Straight(owner.clone()),
                () => Choice::Gather(owner.clone()),
            };
        }
        let walker = self.atlas.walker(now, place, &self.config.costs);
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

    fn is_busy(&self, now: Duration, to: &Contact) -> bool {
        self.atlas.rests(now, to) || self.flights.to(to.key) >= self.config.flights_per_peer_max
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

    fn depart(&mut self, now: Duration, to: Contact, mut load: Load, as_of: u64) -> Result<Option<Send>> {
        if self.kept != as_of {
            self.refresh(&mut load)?;
        }
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

impl<T: Table> Outbox<T> {
    /// What was read may have been found here meanwhile, and be waited for since: whoever waits must not wait for ever.
    fn refresh(&mut self, load: &mut Load) -> Result<()> {
        self.write_buffer()?;
        for (key, entry) in &mut load.links {
            if let Some(there) = self.table.get(key).map_err(Error::table("read"))? {
                entry.mark = entry::mark_of(&there);
            }
        }
        Ok(())
    }
}

impl Round {
    fn hold(&mut self, until: Duration) {
        self.held_until = Some(self.held_until.map_or(until, |first| first.min(until)));
    }

    /// Puts links to what one machine is to have, and says what is to depart: what was there before, if both do not fit one batch; who has most, if there is as
    /// much as is to be held in memory. If nobody has enough, reading ends for this round.
    fn gather(&mut self, place: Id, owner: Contact, load: Load, enough: usize) -> Option<(Contact, Load)> {
        let there = self.gathered.get(&owner.key).map_or(&[][..], |(_, arcs)| arcs);
        let fits = {
            let all = || there.iter().map(|(_, load)| load).chain([&load]);
            let crawls: BTreeSet<&CrawlId> = all().flat_map(|load| &load.crawls).collect();
            let url_bytes = all().map(|load| load.url_bytes).sum();
            crawls.len() <= limits::CRAWLS_MAX && batch::fits(all().map(|load| load.links.len()).sum(), url_bytes)
        };
        let before = if fits { None } else { self.take(owner.key) };
        self.gathered.entry(owner.key).or_insert_with(|| (owner, Vec::new())).1.push((place, load));
        if before.is_some() {
            return before;
        }
        let sums = self.gathered.iter().map(|(key, (_, arcs))| (sum(arcs), *key));
        let (all, most) = sums.fold((0, (0, None)), |(all, most), (links, key)| {
            (all + links, if links > most.0 { (links, Some(key)) } else { most })
        });
        if all < limits::LINKS_MAX {
            return None;
        }
        if most.0 < enough {
            (self.cursor, self.has_waiting) = (None, true);
            return None;
        }
        self.take(most.1?)
    }

    fn take(&mut self, machine: PeerKey) -> Option<(Contact, Load)> {
        let (owner, arcs) = self.gathered.remove(&machine)?;
        Some((owner, arcs.into_iter().map(|(_, load)| load).reduce(Load::and)?))
    }

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

fn sum(arcs: &[(Id, Load)]) -> usize {
    arcs.iter().map(|(_, load)| load.links.len()).sum()
}
