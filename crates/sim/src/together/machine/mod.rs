//! One simulated machine of a ring that crawls together: it does what `node::together` does. Links go by its outbox, what is known of URLs is handed on to
//! those who follow it, orders are told from machine to machine, and whoever owns the order's place asks everybody until the crawl is over.

mod links;
mod records;
mod supervisor;
mod watch;

use super::orders::Order;
use super::part::{Land, Part};
use super::web::Web;
use crate::chance::{Chance, mix};
use crate::links::{Disk, View};
use crate::node::{Node, Out};
use crate::ring::contact_of;
use herodotus_base::Id;
use herodotus_frontier::UrlRecord;
use herodotus_links::end::{self, Adoption, Phase, Watch, Wave};
use herodotus_links::{BatchId, Config, CrawlId, Outbox, Planted};
use herodotus_ring::Contact;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub(super) const CRAWL: CrawlId = [7; 16];
/// A driver does not wait longer for an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
const KEEP_WAIT: Duration = Duration::from_millis(1_500);
const WAVE_WAIT: Duration = Duration::from_secs(3);
const WAVE_EVERY: Duration = Duration::from_secs(1);
const GOSSIP_EVERY: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Machines that are given a record, and whose arcs one knows.
const FOLLOWERS: usize = 2;

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
    /// Records for your ledger.
    Keep {
        from: usize,
        number: u64,
        records: Rc<Vec<UrlRecord>>,
    },
    Kept {
        number: u64,
    },
    /// What I know of the crawl. Answered if you know better.
    Crawl {
        from: usize,
        order: Option<Rc<Order>>,
    },
    /// How does your part stand?
    Part {
        from: usize,
        wave: u64,
    },
    Stands {
        from: usize,
        wave: u64,
        part: Option<Rc<end::Part>>,
    },
}

#[derive(Clone, Debug)]
pub enum Note {
    Lookup(Id),
    /// What others knew of our arc is wanted; the number names the arc.
    Fill(u64),
    Visited(String),
    /// On a second machine than the one that made them.
    Recorded {
        maker: usize,
        records: Rc<Vec<UrlRecord>>,
    },
    /// Called complete, by the word of these machines.
    Complete {
        order: Rc<Order>,
        answered: BTreeSet<usize>,
    },
    /// Called complete, and goes on.
    Again,
    Broken(String),
}

/// What of a machine outlives its process.
#[derive(Clone, Debug, Default)]
pub struct Body {
    pub outbox: Disk,
    pub frontier: Disk,
    pub ledger: BTreeMap<String, UrlRecord>,
    /// Made here, and not yet on a second machine.
    pub made: VecDeque<UrlRecord>,
    /// Of those, how many a loss of power cannot take back.
    pub made_synced: usize,
    pub order: Option<Order>,
    /// Links that others gave it to pass on.
    pub walked: BTreeSet<String>,
    /// Requests for these were lost once: never twice, so that nothing is given up.
    pub unlucky: BTreeSet<String>,
    pub lives: u64,
}

/// Records that are being handed on.
#[derive(Debug)]
struct Handing {
    number: u64,
    records: usize,
    due: Duration,
}

/// Parts that take over what is known, which takes its time.
#[derive(Debug)]
struct Adopting {
    ground: Ground,
    due: Duration,
}

#[derive(Debug)]
struct Asking {
    wave: u64,
    version: u64,
    due: Duration,
    waiting: BTreeSet<usize>,
    brought: Wave,
}

/// What is ours, and how often that has changed.
type Ground = (Option<(Id, Id)>, u64);

#[derive(Debug)]
pub struct Machine {
    slot: usize,
    seed: u64,
    contact: Contact,
    config: Config,
    web: Rc<Web>,
    chance: Chance,
    /// True time at which its clock began.
    wall_ms: i64,
    body: Body,
    outbox: Outbox<Disk>,
    view: View,
    land: Arc<Land>,
    arc: Option<(Id, Id)>,
    here: Option<(Id, Id)>,
    moves: u64,
    /// What was ours when links were last sent.
    sent_from: u64,
    part: Option<Part>,
    adoption: Adoption<Ground>,
    adopting: Option<Adopting>,
    /// How long that takes, where a script says so.
    adopts_for: Option<Duration>,
    held: Vec<(u64, Vec<UrlRecord>)>,
    made_count: u64,
    handed_count: u64,
    handing: Option<Handing>,
    handing_last: u64,
    /// Batches that are acknowledged when so many records are handed on.
    acks: Vec<(Option<usize>, BatchId, u64)>,
    calls: BTreeMap<BatchId, Duration>,
    watch: Watch,
    asking: Option<Asking>,
    waves: u64,
    next_wave: Duration,
    next_gossip: Duration,
    next_look: Duration,
    out: VecDeque<Out<Message, Note>>,
}

pub(super) fn place_of(url: &str) -> Id {
    Id::of_host(url.split('/').nth(2).unwrap_or_default(), 0)
}

/// The owner of a place, and its arc.
pub(super) fn owner_of(view: &View, place: Id) -> Option<(usize, (Id, Id))> {
    let (id, slot) = view.range(place..).next().or_else(|| view.iter().next())?;
    let (before, _) = view.range(..id).next_back().or_else(|| view.iter().next_back())?;
    Some((*slot, (*before, *id)))
}

/// Where the order lies.
pub(super) fn order_place() -> Id {
    Id::of_host("the crawl", 0)
}

/// Keeps a record if it is later than what is there.
pub(super) fn note(ledger: &mut BTreeMap<String, UrlRecord>, record: &UrlRecord) {
    let key = record.url.as_str();
    if ledger.get(key).is_none_or(|known| known.visits < record.visits) {
        ledger.insert(key.to_owned(), record.clone());
    }
}

impl Machine {
    pub fn start(slot: usize, seed: u64, mut body: Body, config: Config, web: Rc<Web>) -> Self {
        body.lives += 1;
        let outbox = Outbox::open(std::mem::take(&mut body.outbox), config.clone()).expect("a disk in memory");
        Self {
            slot,
            seed,
            contact: contact_of(seed, slot, 0),
            web,
            chance: Chance::new(mix(seed ^ mix(slot as u64) ^ body.lives << 20)),
            wall_ms: 0,
            outbox,
            view: View::default(),
            land: Arc::default(),
            arc: None,
            here: None,
            moves: 0,
            sent_from: 0,
            part: None,
            adoption: Adoption::default(),
            adopting: None,
            adopts_for: None,
            held: Vec::new(),
            made_count: body.made.len() as u64,
            handed_count: 0,
            handing: None,
            handing_last: body.lives << 32,
            acks: Vec::new(),
            calls: BTreeMap::new(),
            watch: Watch::new(config.planted),
            asking: None,
            waves: body.lives << 32,
            next_wave: Duration::ZERO,
            next_gossip: Duration::ZERO,
            next_look: Duration::ZERO,
            out: VecDeque::new(),
            config,
            body,
        }
    }

    /// Its clock shows `now` while the world's shows that.
    pub fn set_clock(&mut self, now: Duration, world: Duration) {
        self.wall_ms = world.as_millis() as i64 - now.as_millis() as i64;
        (self.next_wave, self.next_look) = (now, now);
        self.next_gossip = now + GOSSIP_EVERY.mul_f64(self.chance.unit());
    }

    fn wall(&self, now: Duration) -> i64 {
        now.as_millis() as i64 + self.wall_ms
    }

    /// What lies on its disks when the process ends.
    pub fn into_body(self) -> Body {
        let Self { mut body, outbox, part, .. } = self;
        body.outbox = outbox.into_table();
        if let Some(part) = part {
            body.frontier = part.into_disk();
        }
        body
    }

    pub fn outbox(&self) -> &Outbox<Disk> {
        &self.outbox
    }

    pub fn body(&self) -> &Body {
        &self.body
    }

    pub fn order(&self) -> Option<&Order> {
        self.body.order.as_ref()
    }

    pub fn arc(&self) -> Option<(Id, Id)> {
        self.arc
    }

    /// From now on it takes over in that time, and not in one that chance says.
    pub fn adopt_for(&mut self, time: Duration) {
        self.adopts_for = Some(time);
    }

    fn is(&self, bug: Planted) -> bool {
        self.config.planted.is(bug)
    }

    // The ring.

    pub fn set_view(&mut self, now: Duration, view: View) {
        self.view = view;
        let own = self.view.get(&self.contact.id).and_then(|_| owner_of(&self.view, self.contact.id));
        let arc = own.map(|(_, arc)| arc);
        self.outbox.set_own(&arc.map(|arc| (self.contact.clone(), arc)).into_iter().collect::<Vec<_>>());
        let mut after = self.contact.id;
        for _ in 0..FOLLOWERS {
            let Some((slot, arc)) = owner_of(&self.view, after.plus_power(0)).filter(|(slot, _)| *slot != self.slot)
            else {
                break;
            };
            self.outbox.learn_owner(now, arc, contact_of(self.seed, slot, 0));
            after = arc.1;
        }
        let others = self.view.values().filter(|slot| **slot != self.slot);
        let near: Vec<Contact> = others.map(|slot| contact_of(self.seed, *slot, 0)).collect();
        self.outbox.learn_near(&near);
        if arc != self.arc {
            let kept = |(from, to): (Id, Id), old: (Id, Id)| {
                // Arcs end at our own place; only their beginning moves.
                let is_shorter = old.0 == old.1 || from.is_in(old.0, old.1) && from != to;
                if is_shorter { (from, to) } else { old }
            };
            self.here = arc.and_then(|arc| self.here.map(|here| kept(arc, here)));
            self.arc = arc;
            self.moves += 1;
            self.land.set(self.arc, self.here);
            if self.here != self.arc {
                self.out.push_back(Out::Note(Note::Fill(self.moves)));
            }
        }
        self.work(now);
    }

    /// What others knew of our arc has come.
    pub fn fill<'a>(&mut self, now: Duration, number: u64, records: impl Iterator<Item = &'a UrlRecord>) {
        if number == self.moves {
            records.for_each(|record| note(&mut self.body.ledger, record));
            self.here = self.arc;
            self.moves += 1;
            self.land.set(self.arc, self.here);
        } else if self.here != self.arc {
            self.out.push_back(Out::Note(Note::Fill(self.moves)));
        }
        self.work(now);
    }

    fn ground(&self) -> Ground {
        (self.arc.filter(|_| self.here == self.arc), self.moves)
    }

    pub fn learn_owner(&mut self, now: Duration, place: Id, owner: Option<(usize, (Id, Id))>) {
        match owner {
            Some((slot, arc)) => self.outbox.learn_owner(now, arc, contact_of(self.seed, slot, 0)),
            None => self.outbox.handle_lookup_failed(now, place),
        }
        self.work(now);
    }

    // Orders.

    /// Somebody changes the crawl here.
    pub fn change(&mut self, now: Duration, change: impl FnOnce(&mut Order)) {
        if let Some(known) = &self.body.order {
            let mut order = known.said(self.wall(now));
            change(&mut order);
            self.body.order = Some(order);
            self.learnt(now);
        }
    }

    pub fn hear_order(&mut self, now: Duration, told: &Order) {
        if self.body.order.as_ref().is_none_or(|known| told.is_later_than(known)) {
            self.body.order = Some(told.clone());
            self.learnt(now);
        }
    }

    fn learnt(&mut self, now: Duration) {
        self.outbox.forget_lately();
        // The supervisor is woken, if it is not busy.
        self.next_look = self.next_look.min(now);
    }

    /// A word of our own about the crawl as we know it.
    fn say(&mut self, now: Duration, phase: Phase) {
        if let Some(known) = &self.body.order {
            self.body.order = Some(known.noted(self.wall(now), phase, self.config.planted));
            self.learnt(now);
        }
    }

    fn gossip(&mut self, now: Duration) {
        if self.next_gossip > now {
            return;
        }
        self.next_gossip = now + GOSSIP_EVERY;
        let others: Vec<usize> = self.view.values().copied().filter(|slot| *slot != self.slot).collect();
        if let Some(to) = self.chance.pick(&others).copied() {
            let message = Message::Crawl { from: self.slot, order: self.body.order.clone().map(Rc::new) };
            self.out.push_back(Out::Send { to, message, after: Duration::ZERO });
        }
    }

    /// All that is due.
    fn work(&mut self, now: Duration) {
        self.look(now);
        self.run_part(now);
        self.send_links(now);
        self.hand_on(now);
        self.gossip(now);
        self.watch(now);
    }
}

impl Node for Machine {
    type Message = Message;
    type Note = Note;

    fn handle_message(&mut self, now: Duration, message: Message) {
        match message {
            Message::Batch { from, id, bytes } => self.receive(now, Some(from), id, &bytes),
            Message::Ack { from, id, work } => {
                self.calls.remove(&id);
                self.outbox.handle_work(now, contact_of(self.seed, from, 0).key, work);
                self.outbox.handle_ack(now, id).expect("a disk in memory");
            }
            Message::Refused { id } => {
                self.calls.remove(&id);
                self.outbox.handle_refused(now, id);
            }
            Message::Keep { from, number, records } => {
                self.out.push_back(Out::Note(Note::Recorded { maker: from, records: records.clone() }));
                self.hear(now, &records);
                let message = Message::Kept { number };
                self.out.push_back(Out::Send { to: from, message, after: Duration::ZERO });
            }
            Message::Kept { number } => self.handed(now, number),
            Message::Crawl { from, order } => {
                if let Some(order) = &order {
                    self.hear_order(now, order);
                }
                let is_better = |ours: &&Order| order.as_ref().is_none_or(|theirs| ours.is_later_than(theirs));
                let better = self.order().filter(is_better).cloned();
                if let Some(order) = better {
                    let message = Message::Crawl { from: self.slot, order: Some(Rc::new(order)) };
                    self.out.push_back(Out::Send { to: from, message, after: Duration::ZERO });
                }
            }
            Message::Part { from, wave } => {
                let part = self.status(now).map(Rc::new);
                let message = Message::Stands { from: self.slot, wave, part };
                self.out.push_back(Out::Send { to: from, message, after: Duration::ZERO });
            }
            Message::Stands { from, wave, part } => {
                let key = contact_of(self.seed, from, 0).key;
                if let Some(asking) = self.asking.as_mut().filter(|asking| asking.wave == wave)
                    && asking.waiting.remove(&from)
                {
                    match part {
                        Some(part) => _ = asking.brought.parts.insert(key, (*part).clone()),
                        None => asking.brought.silent += 1,
                    }
                }
            }
        }
        self.work(now);
    }

    fn handle_unreachable(&mut self, now: Duration, message: &Message) {
        if let Message::Batch { id, .. } = message {
            self.calls.remove(id);
            self.outbox.handle_failed(now, *id);
        }
        self.work(now);
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.work(now);
    }

    fn poll_timeout(&self) -> Option<Duration> {
        let part = self.part.as_ref().and_then(Part::due_ms);
        let part = part.map(|due| Duration::from_millis((due - self.wall_ms).max(0) as u64));
        let look = self.adopting.as_ref().map_or(self.next_look, |adopting| adopting.due.max(self.next_look));
        let wave = self.asking.as_ref().map_or(self.next_wave, |asking| asking.due);
        let timers = [Some(look), Some(wave), Some(self.next_gossip), part, self.outbox.poll_timeout()];
        let handing = self.handing.as_ref().map(|handing| handing.due);
        timers.into_iter().flatten().chain(handing).chain(self.calls.values().copied()).min()
    }

    fn poll_output(&mut self) -> Option<Out<Message, Note>> {
        self.out.pop_front()
    }

    fn bytes(message: &Message) -> usize {
        match message {
            Message::Batch { bytes, .. } => bytes.len() + 8,
            Message::Keep { records, .. } => 150 * records.len() + 8,
            _ => 8,
        }
    }

    fn fingerprint(message: &Message) -> u64 {
        match message {
            Message::Batch { from, id, bytes } => mix(id.0 ^ mix(*from as u64) ^ (bytes.len() as u64) << 40),
            Message::Ack { id, .. } => mix(id.0 ^ 1 << 62),
            Message::Refused { id } => mix(id.0 ^ 1 << 63),
            Message::Keep { from, number, records } => mix(*number ^ mix(*from as u64) ^ (records.len() as u64) << 48),
            Message::Kept { number } => mix(*number ^ 3 << 61),
            Message::Crawl { from, order } => {
                mix(order.as_ref().map_or(0, |order| order.edition.0) ^ mix(*from as u64 ^ 5 << 40))
            }
            Message::Part { from, wave } => mix(*wave ^ mix(*from as u64 ^ 6 << 40)),
            Message::Stands { from, wave, part } => {
                mix(*wave ^ mix(*from as u64 ^ 7 << 40) ^ part.as_ref().map_or(1, |part| part.activity))
            }
        }
    }
}
