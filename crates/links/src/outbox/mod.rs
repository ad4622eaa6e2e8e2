//! The outbox: links that wait for their owners, in a table that outlives the process.
//!
//! In: links ([`Outbox::add`], [`Outbox::forward`]), what is known of the ring (`learn_*`), what became of batches (`handle_*`). Out: batches
//! ([`Outbox::poll`]) and places whose owner is worth a lookup ([`Outbox::poll_lookup`]). Promised: what was there when
//! [`Outbox::flush`] returned is sent until a batch with it is acknowledged, whatever dies; memory does not grow with what waits; a machine
//! that fails is tried again for ever, ever less often. Not promised: that a link is sent once only, or in order.
//!
//! Links lie in the order of their places, so that those of one owner lie together. Every `delay` a round goes once over the circle
//! (`round.rs`) and makes batches. While batches wait for answers links gather, and the next ones are larger; so they do for a machine that says that it has work
//! for long.

mod entry;
mod flights;
mod index;
mod lookups;
mod marks;
mod round;

use crate::atlas::Atlas;
use crate::code::{push_number, take_number};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::lately::Lately;
use crate::limits;
use crate::planted::Planted;
use crate::prospect::{CrawlId, Prospect};
use entry::{Entry, Key, PARKED, WAITING};
use flights::Flights;
use herodotus_base::{Id, PeerKey};
use herodotus_frontier::Table;
use herodotus_ring::Contact;
use index::Index;
use lookups::Lookups;
use marks::{Marks, Shift, UNMARKED};
use round::Round;
use std::collections::BTreeMap;
use std::time::Duration;

/// Names a batch while it is under way; no other life of this outbox gives the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchId(pub u64);

/// Please send this, and say what became of it.
#[derive(Clone, Debug)]
pub struct Send {
    /// Perhaps ourselves, where a place has become our own: then the batch is taken as if it had come from outside.
    pub to: Contact,
    pub id: BatchId,
    pub batch: Vec<u8>,
    pub links: usize,
}

/// What an outbox has done in this life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub added: u64,
    /// Not added, since lately sent.
    pub known: u64,
    pub forwarded: u64,
    pub batches: u64,
    /// Batches to who was not known as the owner.
    pub walks: u64,
    pub links_sent: u64,
    pub bytes_sent: u64,
    pub acknowledged: u64,
    pub failed: u64,
    /// Batches that somebody could not take yet.
    pub refused: u64,
    /// Links that rested because the ring was in dispute about them.
    pub parked: u64,
    pub lookups: u64,
    /// Entries that the disk gave back damaged, and that are lost.
    pub damaged: u64,
}

/// What an outbox holds in memory, for who watches that it is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    pub buffered_links: usize,
    pub flights: usize,
    pub links_under_way: usize,
    pub owners: usize,
    pub near: usize,
    pub troubles: usize,
    pub lookups: usize,
    pub marks: usize,
    pub indexed: usize,
}

#[derive(Debug)]
pub struct Outbox<T: Table> {
    table: T,
    config: Config,
    atlas: Atlas,
    lately: Lately,
    lookups: Lookups,
    flights: Flights,
    index: Index,
    round: Option<Round>,
    /// Added and not yet written.
    buffer: BTreeMap<Key, Entry>,
    /// Links in the table, waiting or resting.
    stored: BTreeMap<CrawlId, u64>,
    stored_sum: u64,
    marks: Marks,
    /// Links were written that a loss of power could take back.
    is_unsynced: bool,
    /// When the next round begins.
    due: Option<Duration>,
    /// When what rests goes on.
    unpark: Option<Duration>,
    /// When the last round began.
    begun: Option<Duration>,
    /// Links that came since the last round began.
    fresh: u64,
    /// Links that ever came.
    kept: u64,
    /// Links that came since those were looked at whose owners have work for long.
    held: u64,
    /// Bytes that walking has cost since the last lookup, by part of the circle.
    walked: Box<[f32]>,
    walked_since: Duration,
    /// Small batches are used up to this moment.
    small_until: Duration,
    now: Duration,
    counts: Counts,
}

/// Parts of the circle whose walking is counted apart: a power of two, 16 KB.
const WALKED_PARTS: usize = 4_096;

const GATHER_MIN: Duration = Duration::from_millis(1);

impl<T: Table> Outbox<T> {
    /// Begins, or goes on from what lies in the table.
    pub fn open(mut table: T, config: Config) -> Result<Self> {
        let form = table.get(entry::FORM_KEY).map_err(Error::table("read"))?;
        match form.as_deref() {
            None | Some([entry::FORM]) => {}
            Some(found) => {
                let found = found.first().copied().unwrap_or_default();
                return Err(Error::Newer { found, known: entry::FORM });
            }
        }
        let read = |bytes: Vec<u8>| take_number(&mut &bytes[..]).unwrap_or_default();
        let lives = table.get(entry::LIVES_KEY).map_err(Error::table("read"))?.map_or(0, read) + 1;
        let mut bytes = Vec::new();
        push_number(&mut bytes, lives);
        let changes =
            vec![(entry::FORM_KEY.to_vec(), Some(vec![entry::FORM])), (entry::LIVES_KEY.to_vec(), Some(bytes))];
        table.write(changes).map_err(Error::table("written"))?;
        // A number that is given twice would let an old acknowledgement stand for a new batch.
        table.sync().map_err(Error::table("synced"))?;
        let first_id = lives << 32;
        let mut outbox = Self {
            table,
            atlas: Atlas::default(),
            lately: Lately::new(config.lately_slots),
            lookups: Lookups::default(),
            flights: Flights::new(first_id),
            index: Index::new(config.indexed_max),
            round: None,
            buffer: BTreeMap::new(),
            stored: BTreeMap::new(),
            stored_sum: 0,
            marks: Marks::new(first_id),
            is_unsynced: false,
            due: None,
            unpark: None,
            begun: None,
            fresh: 0,
            kept: 0,
            held: 0,
            walked: vec![0.0; WALKED_PARTS].into(),
            walked_since: Duration::ZERO,
            small_until: Duration::ZERO,
            now: Duration::ZERO,
            counts: Counts::default(),
            config,
        };
        outbox.recount()?;
        let marked = outbox.table.get(entry::MARKED_KEY).map_err(Error::table("read"))?.map_or(0, read);
        outbox.marks.add(first_id, i64::try_from(marked).unwrap_or(i64::MAX));
        if outbox.config.planted.is(Planted::ForgetAtCrash) {
            outbox.forget_everything()?;
        }
        if outbox.stored_sum > 0 {
            (outbox.due, outbox.unpark) = (Some(Duration::ZERO), Some(Duration::ZERO));
        }
        Ok(outbox)
    }

    /// How many links of each crawl lie here, as the table says.
    fn recount(&mut self) -> Result<()> {
        let (mut from, to) = (entry::COUNTS_PREFIX.to_vec(), b"md".to_vec());
        loop {
            let slice = self.table.scan(&from, &to, limits::SLICE_LINKS).map_err(Error::table("read"))?;
            let Some((last, _)) = slice.last() else { return Ok(()) };
            from = [&last[..], &[0]].concat();
            for (key, value) in slice {
                let crawl = key.get(2..).and_then(|crawl| crawl.try_into().ok());
                if let Some((crawl, count)) = crawl.zip(take_number(&mut &value[..])) {
                    self.stored.insert(crawl, count);
                    self.stored_sum += count;
                }
            }
        }
    }

    pub fn into_table(self) -> T {
        self.table
    }

    /// Takes in a link that was found here. False: it was lately sent and acknowledged, and need not go again. It may be lost until
    /// [`Outbox::flush`].
    pub fn add(&mut self, now: Duration, crawl: CrawlId, place: Id, prospect: Prospect) -> Result<bool> {
        self.check(&crawl, &prospect)?;
        let key = entry::key(WAITING, place, &crawl, &prospect);
        if self.lately.contains(&entry::name_of(&key)) {
            self.counts.known += 1;
            return Ok(false);
        }
        self.counts.added += 1;
        // Popular links are found again while they are under way: they lie in the table, and that will do, unless nobody waits for the one that does.
        if self.flights.mark_of(&key).is_some_and(|mark| mark != UNMARKED) {
            return Ok(true);
        }
        self.keep(now, key, Entry { crawl, mark: self.marks.now(), steps: 0, prospect })?;
        Ok(true)
    }

    /// Takes in a link that came from another node and is not ours; `steps` is what its batch said. Must be followed by [`Outbox::flush`] before that
    /// batch is acknowledged.
    pub fn forward(&mut self, now: Duration, crawl: CrawlId, place: Id, prospect: Prospect, steps: u8) -> Result<()> {
        self.check(&crawl, &prospect)?;
        self.counts.forwarded += 1;
        if self.config.planted.is(Planted::DropRest) {
            return Ok(());
        }
        let is_disputed = steps >= self.config.steps_max;
        let table = if is_disputed { PARKED } else { WAITING };
        if is_disputed {
            self.counts.parked += 1;
            self.unpark = self.unpark.or(Some(now + self.config.parked_for));
        }
        // Not dropped if lately sent: whoever has it gives it back, and nobody else has it then.
        let key = entry::key(table, place, &crawl, &prospect);
        self.keep(now, key, Entry { crawl, mark: UNMARKED, steps, prospect })
    }

    fn check(&self, crawl: &CrawlId, prospect: &Prospect) -> Result<()> {
        prospect.check()?;
        let is_stranger = self.stored.len() >= limits::PENDING_CRAWLS_MAX && !self.stored.contains_key(crawl);
        if self.is_full() || is_stranger { Err(Error::Full { pending: self.pending() }) } else { Ok(()) }
    }

    fn keep(&mut self, now: Duration, key: Key, mut entry: Entry) -> Result<()> {
        self.now = now;
        entry.mark = entry.mark.max(self.buffer.get(&key).map_or(UNMARKED, |before| before.mark));
        // If it is under way it has come back: the acknowledgement will be for the one that went, not for this one.
        if !self.config.planted.is(Planted::AckTakesReturned) {
            self.flights.keep_after_ack(&key);
        }
        self.buffer.insert(key, entry);
        self.fresh += 1;
        self.held += 1;
        self.kept += 1;
        self.stir(now);
        if self.buffer.len() >= limits::BUFFER_LINKS_MAX { self.write_buffer() } else { Ok(()) }
    }

    /// Brings everything to the disk. When it returns, what was added before survives the loss of power. The number is one that [`Outbox::arrived`] reaches
    /// when all of that has arrived.
    pub fn flush(&mut self) -> Result<u64> {
        if self.config.planted.is(Planted::AckBeforeDisk) {
            return Ok(self.marks.tell());
        }
        self.write_buffer()?;
        if self.is_unsynced {
            self.table.sync().map_err(Error::table("synced"))?;
            self.is_unsynced = false;
        }
        Ok(self.marks.tell())
    }

    /// Everything that was found here up to the flush of this number was acknowledged.
    pub fn arrived(&self) -> u64 {
        self.marks.gone()
    }

    /// Forgets what was lately sent: who did not want it then may want it now, or it is another who should have it.
    pub fn forget_lately(&mut self) {
        self.lately.clear();
    }

    fn write_buffer(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut changes = Vec::with_capacity(self.buffer.len() + 1);
        let mut shift = Shift::default();
        for (key, entry) in &mut self.buffer {
            match self.table.get(key).map_err(Error::table("read"))?.map(|there| entry::mark_of(&there)) {
                // Whoever found it first waits for it still; whoever finds it now has a later mark, and so waits for that too.
                Some(mark) if mark != UNMARKED => entry.mark = mark,
                Some(_) => shift.add_mark(entry.mark, 1),
                None => shift.add(entry.crawl, entry.mark, 1),
            }
            changes.push((key.to_vec(), Some(entry.to_bytes())));
        }
        self.is_unsynced = true;
        self.write(changes, &shift)?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes changes, and with them how many links there are then.
    fn write(&mut self, mut changes: Vec<(Vec<u8>, Option<Vec<u8>>)>, shift: &Shift) -> Result<()> {
        let count = |stored: &BTreeMap<CrawlId, u64>, crawl, more| {
            stored.get(crawl).copied().unwrap_or_default().saturating_add_signed(more)
        };
        for (crawl, more) in &shift.crawls {
            let mut bytes = Vec::new();
            let count = count(&self.stored, crawl, *more);
            push_number(&mut bytes, count);
            changes.push((entry::count_key(crawl), Some(bytes).filter(|_| count > 0)));
        }
        let marked_more: i64 = shift.marks.values().sum();
        if marked_more != 0 {
            let mut bytes = Vec::new();
            push_number(&mut bytes, self.marks.links().saturating_add_signed(marked_more));
            changes.push((entry::MARKED_KEY.to_vec(), Some(bytes)));
        }
        let waiting: Vec<(Key, bool)> = changes
            .iter()
            .filter(|(key, _)| key.first() == Some(&WAITING))
            .filter_map(|(key, value)| Some((Key::try_from(&key[..]).ok()?, value.is_some())))
            .collect();
        if let Err(error) = self.table.write(changes) {
            // Nobody knows what lies there now.
            self.index.forget();
            return Err(Error::table("written")(error));
        }
        waiting.into_iter().for_each(|(key, is_there)| self.index.put(key, is_there));
        for (crawl, more) in &shift.crawls {
            let count = count(&self.stored, crawl, *more);
            self.stored.insert(*crawl, count);
            self.stored.retain(|_, count| *count > 0);
            self.stored_sum = self.stored_sum.saturating_add_signed(*more);
        }
        shift.marks.iter().for_each(|(mark, more)| self.marks.add(*mark, *more));
        Ok(())
    }

    /// Links that somebody has to acknowledge yet, no fewer than there are: at nought nothing is on its way from here.
    pub fn pending(&self) -> u64 {
        self.stored_sum + self.buffer.len() as u64
    }

    pub fn pending_of(&self, crawl: &CrawlId) -> u64 {
        let buffered = self.buffer.values().filter(|entry| entry.crawl == *crawl).count() as u64;
        self.stored.get(crawl).copied().unwrap_or_default() + buffered
    }

    /// Whoever finds links must wait: nothing is taken in until some are gone.
    pub fn is_full(&self) -> bool {
        self.pending() >= self.config.pending_max
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    pub fn sizes(&self) -> Sizes {
        let [owners, near, troubles] = self.atlas.len();
        Sizes {
            buffered_links: self.buffer.len(),
            flights: self.flights.len(),
            links_under_way: self.flights.links(),
            owners,
            near,
            troubles,
            lookups: self.lookups.len(),
            marks: self.marks.len(),
            indexed: self.index.len(),
        }
    }

    pub fn table(&self) -> &T {
        &self.table
    }

    /// Our own nodes and their arcs. What lies there is ours: it comes back as a batch to ourselves.
    pub fn set_own(&mut self, nodes: &[(Contact, (Id, Id))]) {
        self.atlas.set_own(nodes);
    }

    /// Somebody said who owns `(arc.0, arc.1]`, in answer to a lookup or otherwise.
    pub fn learn_owner(&mut self, now: Duration, arc: (Id, Id), owner: Contact) {
        self.lookups.settle(arc);
        self.atlas.learn_owner(now, arc, owner, &self.config);
    }

    /// The nodes that we know, instead of those told before.
    pub fn learn_near(&mut self, contacts: &[Contact]) {
        self.atlas.learn_near(contacts, self.config.near_max);
    }

    /// A place whose owner is worth a lookup. Answered by [`Outbox::learn_owner`] or [`Outbox::handle_lookup_failed`].
    pub fn poll_lookup(&mut self, now: Duration) -> Option<Id> {
        let place = self.lookups.poll(now + self.config.lookup_wait)?;
        self.counts.lookups += 1;
        Some(place)
    }

    pub fn handle_lookup_failed(&mut self, now: Duration, place: Id) {
        self.lookups.fail(now, place);
    }

    /// When to poll again at the latest. What comes in may make it sooner.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let is_free = self.flights.len() < self.config.flights_max;
        let work = match self.round {
            Some(_) => Some(self.now),
            None if self.fresh >= self.config.links_flush => Some(self.now),
            None => self.due,
        };
        let answer = self.flights.first_sent().map(|sent| sent + self.config.ack_wait);
        [work.filter(|_| is_free), answer, self.unpark].into_iter().flatten().min()
    }

    /// The batch is on the receiver's disk: what was in it is its to see to.
    pub fn handle_ack(&mut self, now: Duration, id: BatchId) -> Result<()> {
        self.now = now;
        let Some(flight) = self.flights.take(id) else { return Ok(()) };
        self.atlas.succeed(&flight.to);
        let mut changes = Vec::with_capacity(flight.links.len());
        let mut shift = Shift::default();
        for link in &flight.links {
            if link.has_returned {
                continue;
            }
            self.lately.insert(&entry::name_of(&link.key));
            shift.add(link.crawl, link.mark, -1);
            changes.push((link.key.to_vec(), None));
        }
        self.counts.acknowledged += flight.links.len() as u64;
        let is_rest = changes.len() < flight.links.len();
        // Not synced: what is forgotten to be deleted is sent twice.
        let written = self.write(changes, &shift);
        if is_rest || written.is_err() {
            self.stir(now);
        }
        written
    }

    /// A machine says for how long it has work without more links: those that are its own may wait for company meanwhile.
    pub fn handle_work(&mut self, now: Duration, machine: PeerKey, work: Duration) {
        let hold = (work / self.config.hold_part.max(1)).min(self.config.hold_max);
        self.atlas.hold(machine, now, now + hold);
    }

    /// It did not arrive, or nobody knows. Its links wait again.
    pub fn handle_failed(&mut self, now: Duration, id: BatchId) {
        self.now = now;
        if let Some(flight) = self.flights.take(id) {
            self.counts.failed += 1;
            if !self.atlas.is_own(&flight.to) {
                self.atlas.fail(now, &flight.to, &self.config);
            }
            self.stir(now);
        }
    }

    /// Who it went to is there, and cannot take it yet: it knows nothing of the crawl, or not all of the place. It is asked again after a rest, and
    /// nobody else instead of it.
    pub fn handle_refused(&mut self, now: Duration, id: BatchId) {
        self.now = now;
        if let Some(flight) = self.flights.take(id) {
            self.counts.refused += 1;
            if !self.atlas.is_own(&flight.to) {
                self.atlas.refuse(now, &flight.to, &self.config);
            }
            self.stir(now);
        }
    }

    /// There is something to do: a round, soon.
    fn stir(&mut self, now: Duration) {
        // What comes after a quiet time need not wait for company that is not there. But never at once, or a round that can do nothing would be followed by another.
        let rhythm = self.begun.map_or(Duration::ZERO, |begun| begun + self.config.delay);
        self.stir_at(rhythm.max(now + self.config.gather.max(GATHER_MIN)));
    }

    fn stir_at(&mut self, at: Duration) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// What rested goes on, as if it had just been found.
    fn unpark(&mut self, now: Duration) -> Result<()> {
        if self.unpark.is_none_or(|at| at > now) {
            return Ok(());
        }
        self.write_buffer()?;
        let (from, to) = entry::range(PARKED);
        let slice = self.table.scan(&from, &to, limits::SLICE_LINKS).map_err(Error::table("read"))?;
        self.unpark = (slice.len() == limits::SLICE_LINKS).then_some(now);
        let (mut changes, mut shift) = (Vec::new(), Shift::default());
        for (key, value) in slice {
            changes.push((key.clone(), None));
            let Some(mut entry) = Entry::parse(&value) else {
                self.count_damaged(&value, &mut shift);
                continue;
            };
            entry.steps = 0;
            let mut key = key;
            key[0] = WAITING;
            if let Some(there) = self.table.get(&key).map_err(Error::table("read"))? {
                // Two become one. If somebody waits for it, it is for the one that was found here.
                shift.add(entry.crawl, UNMARKED, -1);
                entry.mark = entry.mark.max(entry::mark_of(&there));
            }
            if let Ok(key) = Key::try_from(&key[..]) {
                self.flights.keep_after_ack(&key);
            }
            changes.push((key, Some(entry.to_bytes())));
        }
        if !changes.is_empty() {
            self.stir(now);
        }
        self.write(changes, &shift)
    }

    /// What the disk has spoilt is of no use to anybody, and waited for by nobody.
    fn count_damaged(&mut self, value: &[u8], shift: &mut Shift) {
        self.counts.damaged += 1;
        if let Some((crawl, mark)) = entry::crawl_and_mark(value).filter(|(crawl, _)| self.stored.contains_key(crawl)) {
            shift.add(crawl, mark, -1);
        }
    }

    /// The planted bug's way to begin.
    fn forget_everything(&mut self) -> Result<()> {
        for table in [WAITING, PARKED] {
            let (from, to) = entry::range(table);
            let all = self.table.scan(&from, &to, usize::MAX).map_err(Error::table("read"))?;
            let changes = all.into_iter().map(|(key, _)| (key, None)).collect();
            self.table.write(changes).map_err(Error::table("written"))?;
        }
        let crawls: BTreeMap<CrawlId, i64> =
            self.stored.iter().map(|(crawl, count)| (*crawl, -i64::try_from(*count).unwrap_or(i64::MAX))).collect();
        self.marks.clear();
        self.write(Vec::new(), &Shift { crawls, ..Shift::default() })
    }
}
