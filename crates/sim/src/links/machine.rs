//! One simulated machine: an outbox, what it took as its own, and its view of who owns what. It does what a driver does: sends, takes,
//! sends on, acknowledges.

use crate::chance::{Chance, mix};
use crate::node::{Node, Out};
use crate::ring::{contact_of, slot_of};
use herodotus_base::{Id, Sha256};
use herodotus_frontier::Table;
use herodotus_links::{BatchId, Config, CrawlId, Outbox, Prospect, Sizes, batch, limits};
use herodotus_ring::Contact;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use super::disk::Disk;

/// A driver does not wait longer for an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// Nodes behind itself whose arcs a node knows.
const LIST: usize = 2;

/// Who is a member of the ring: places, and on which machine.
pub type View = Rc<BTreeMap<Id, usize>>;

#[derive(Clone, Debug)]
pub enum Message {
    Batch {
        from: usize,
        id: BatchId,
        bytes: Rc<Vec<u8>>,
    },
    /// By one who has work for so long.
    Ack {
        from: usize,
        id: BatchId,
        work: Duration,
    },
    Refused {
        id: BatchId,
    },
}

#[derive(Clone, Debug)]
pub enum Note {
    Lookup(Id),
    /// A promise that holds at every moment did not hold.
    Broken(String),
}

#[derive(Debug)]
pub struct Machine {
    slot: usize,
    seed: u64,
    contact: Contact,
    outbox: Outbox<Disk>,
    taken: Disk,
    view: View,
    /// When to give up on a batch.
    calls: BTreeMap<BatchId, Duration>,
    out: VecDeque<Out<Message, Note>>,
    config: Config,
    /// The number of the last flush.
    told: u64,
}

/// A place as links of a host have it.
pub(super) fn place_of(url: &str) -> Id {
    Id::of_host(url.split('/').nth(2).unwrap_or_default(), 0)
}

/// What identifies a link to those who keep count of them: all but its depth, and the depth.
pub(super) fn name_of(crawl: &CrawlId, prospect: &Prospect) -> ([u8; 32], u16) {
    let text = [crawl, prospect.url.as_bytes()].concat();
    (Sha256::of(&text).0, prospect.depth)
}

/// The owner of a place, and its arc.
pub(super) fn owner_of(view: &View, place: Id) -> Option<(usize, (Id, Id))> {
    let (id, slot) = view.range(place..).next().or_else(|| view.iter().next())?;
    let (before, _) = view.range(..id).next_back().or_else(|| view.iter().next_back())?;
    Some((*slot, (*before, *id)))
}

impl Machine {
    pub fn start(slot: usize, seed: u64, disks: (Disk, Disk), config: Config, view: View, now: Duration) -> Self {
        let outbox = Outbox::open(disks.0, config.clone()).expect("a disk in memory");
        let contact = contact_of(seed, slot, 0);
        let mut machine = Self {
            slot,
            seed,
            contact,
            outbox,
            taken: disks.1,
            view: View::default(),
            calls: BTreeMap::new(),
            out: VecDeque::new(),
            config,
            told: 0,
        };
        machine.set_view(now, view);
        machine
    }

    /// What lies on its disks: the outbox, and what it took.
    pub fn into_disks(self) -> (Disk, Disk) {
        (self.outbox.into_table(), self.taken)
    }

    pub fn outbox(&self) -> &Outbox<Disk> {
        &self.outbox
    }

    pub fn taken(&self) -> &Disk {
        &self.taken
    }

    /// Links that were taken as its own, by name.
    pub fn taken_in(disk: &Disk) -> impl Iterator<Item = ([u8; 32], u16)> {
        disk.values().filter_map(|(key, _)| {
            let (name, depth) = key.split_first_chunk()?;
            Some((*name, u16::from_be_bytes(depth.try_into().ok()?)))
        })
    }

    /// The ring says: these are its members. What follows from that is told to the outbox as a driver would.
    pub fn set_view(&mut self, now: Duration, view: View) {
        self.view = view;
        let own = self.view.get(&self.contact.id).and_then(|_| owner_of(&self.view, self.contact.id));
        let own: Vec<_> = own.into_iter().map(|(_, arc)| (self.contact.clone(), arc)).collect();
        self.outbox.set_own(&own);
        let mut after = self.contact.id;
        for _ in 0..LIST {
            let next = after.plus_power(0);
            let Some((slot, arc)) = owner_of(&self.view, next).filter(|(slot, _)| *slot != self.slot) else { break };
            self.outbox.learn_owner(now, arc, contact_of(self.seed, slot, 0));
            after = arc.1;
        }
        // Everybody knows others.
        let mut chance = Chance::new(mix(self.seed ^ self.slot as u64));
        let others = self.view.values().filter(|slot| **slot != self.slot && chance.happens(0.5));
        let near: Vec<Contact> = others.map(|slot| contact_of(self.seed, *slot, 0)).collect();
        self.outbox.learn_near(&near);
    }

    /// A page was read: its links are promised when this returns. What is our own we take.
    pub fn find(&mut self, now: Duration, links: &[(CrawlId, Prospect)], is_flushed: bool) -> bool {
        for (crawl, prospect) in links {
            let place = place_of(&prospect.url);
            if self.owns(place) {
                self.take(crawl, prospect);
            } else if self.outbox.add(now, *crawl, place, prospect.clone()).is_err() {
                return false;
            }
        }
        if is_flushed {
            self.flush();
        }
        self.work(now);
        is_flushed
    }

    pub fn learn_owner(&mut self, now: Duration, place: Id, owner: Option<(usize, (Id, Id))>) {
        match owner {
            Some((slot, arc)) => self.outbox.learn_owner(now, arc, contact_of(self.seed, slot, 0)),
            None => self.outbox.handle_lookup_failed(now, place),
        }
        self.work(now);
    }

    fn owns(&self, place: Id) -> bool {
        self.view.contains_key(&self.contact.id)
            && owner_of(&self.view, place).is_some_and(|(slot, _)| slot == self.slot)
    }

    fn take(&mut self, crawl: &CrawlId, prospect: &Prospect) {
        let (name, depth) = name_of(crawl, prospect);
        let key = [&name[..], &depth.to_be_bytes()].concat();
        self.taken.write(vec![(key, Some(Vec::new()))]).expect("a disk in memory");
    }

    fn flush(&mut self) {
        self.taken.sync().expect("a disk in memory");
        self.told = self.outbox.flush().expect("a disk in memory");
    }

    /// Whether the outbox says that everything it was ever given has arrived.
    pub fn has_all_arrived(&self) -> bool {
        self.outbox.arrived() >= self.told
    }

    /// Takes what is ours, keeps the rest to send it on; says whether all of it is safe.
    fn receive(&mut self, now: Duration, bytes: &[u8]) -> bool {
        let batch = match batch::open(bytes) {
            Ok(batch) => batch,
            Err(error) => {
                self.broken(format!("a batch of ours was refused: {error}"));
                return false;
            }
        };
        for (crawl, prospect) in &batch.links {
            let place = place_of(&prospect.url);
            if self.owns(place) {
                self.take(crawl, prospect);
            } else if self.outbox.forward(now, *crawl, place, prospect.clone(), batch.steps).is_err() {
                return false;
            }
        }
        self.flush();
        true
    }

    fn work(&mut self, now: Duration) {
        let late: Vec<BatchId> = self.calls.iter().filter(|(_, due)| **due <= now).map(|(id, _)| *id).collect();
        for id in late {
            self.calls.remove(&id);
            self.outbox.handle_failed(now, id);
        }
        while let Some(send) = self.outbox.poll(now).expect("a disk in memory") {
            if send.to.key == self.contact.key {
                match self.receive(now, &send.batch) {
                    true => self.outbox.handle_ack(now, send.id).expect("a disk in memory"),
                    false => self.outbox.handle_failed(now, send.id),
                }
                continue;
            }
            self.calls.insert(send.id, now + ANSWER_WAIT);
            let message = Message::Batch { from: self.slot, id: send.id, bytes: Rc::new(send.batch) };
            self.out.push_back(Out::Send { to: slot_of(&send.to), message, after: Duration::ZERO });
        }
        while let Some(place) = self.outbox.poll_lookup(now) {
            self.out.push_back(Out::Note(Note::Lookup(place)));
        }
        self.check_memory();
    }

    fn check_memory(&mut self) {
        let Sizes { buffered_links, flights, links_under_way, owners, near, troubles, lookups, marks, indexed } =
            self.outbox.sizes();
        let config = &self.config;
        let fits = buffered_links <= limits::BUFFER_LINKS_MAX
            && flights <= config.flights_max
            && links_under_way <= config.flights_max * limits::LINKS_MAX
            && owners <= config.owners_max
            && near <= config.near_max
            && troubles <= limits::TROUBLES_MAX
            && lookups <= config.lookups_max
            && marks <= limits::MARKS_MAX
            && indexed <= config.indexed_max;
        if !fits {
            self.broken(format!("memory beyond its bounds: {:?}", self.outbox.sizes()));
        }
    }

    fn broken(&mut self, what: String) {
        self.out.push_back(Out::Note(Note::Broken(what)));
    }

    /// Links that lie in an outbox's table, by name.
    pub fn links_in(disk: &Disk) -> BTreeSet<([u8; 32], u16)> {
        let mut outbox = Outbox::open(disk.clone(), Config { flights_max: usize::MAX, ..Config::default() })
            .expect("a disk in memory");
        let all = contact_of(0, 0, 0);
        outbox.set_own(&[(all.clone(), (all.id, all.id))]);
        // Once for what rests, and once for what waits.
        let mut names = BTreeSet::new();
        for second in 1..100 {
            while let Some(send) = outbox.poll(Duration::from_secs(second)).expect("a disk in memory") {
                let links = batch::open(&send.batch).expect("a batch of ours").links;
                names.extend(links.iter().map(|(crawl, prospect)| name_of(crawl, prospect)));
                outbox.handle_ack(Duration::from_secs(second), send.id).expect("a disk in memory");
            }
        }
        names
    }
}

impl Node for Machine {
    type Message = Message;
    type Note = Note;

    fn handle_message(&mut self, now: Duration, message: Message) {
        match message {
            Message::Batch { from, id, bytes } => {
                // Mostly it has nothing else to do.
                let work = Duration::from_secs(mix(self.seed ^ now.as_micros() as u64) % 40)
                    .saturating_sub(Duration::from_secs(20));
                let message = match self.receive(now, &bytes) {
                    true => Message::Ack { from: self.slot, id, work },
                    false => Message::Refused { id },
                };
                self.out.push_back(Out::Send { to: from, message, after: Duration::ZERO });
            }
            Message::Ack { from, id, work } => {
                self.calls.remove(&id);
                self.outbox.handle_work(now, contact_of(self.seed, from, 0).key, work);
                self.outbox.handle_ack(now, id).expect("a disk in memory");
            }
            Message::Refused { id } => {
                self.calls.remove(&id);
                self.outbox.handle_refused(now, id);
            }
        }
        self.work(now);
    }

    fn handle_unreachable(&mut self, now: Duration, message: &Message) {
        if let Message::Batch { id, .. } = message {
            self.calls.remove(id);
            self.outbox.handle_failed(now, *id);
            self.work(now);
        }
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.work(now);
    }

    fn poll_timeout(&self) -> Option<Duration> {
        self.calls.values().copied().min().into_iter().chain(self.outbox.poll_timeout()).min()
    }

    fn poll_output(&mut self) -> Option<Out<Message, Note>> {
        self.out.pop_front()
    }

    fn bytes(message: &Message) -> usize {
        match message {
            Message::Batch { bytes, .. } => bytes.len() + 8,
            Message::Ack { .. } | Message::Refused { .. } => 8,
        }
    }

    fn fingerprint(message: &Message) -> u64 {
        match message {
            Message::Batch { from, id, bytes } => mix(id.0 ^ mix(*from as u64) ^ (bytes.len() as u64) << 40),
            Message::Ack { id, .. } => mix(id.0 ^ 1 << 62),
            Message::Refused { id } => mix(id.0 ^ 1 << 63),
        }
    }
}
