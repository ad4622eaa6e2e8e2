//! Machines that crawl together by a script: the same as in storms, but nothing is left to chance that a story turns on. Messages take a millisecond, and
//! those of a [`Hold`] wait until the script lets them go; who is told of the ring, filled, brought records, frozen, robbed of its power, and when, the script says.
//!
//! It judges nothing: a script reads which pages each end of the crawl left out ([`Stage::left_out`]), and knows which of them were promised.

use super::machine::{Body, CRAWL, Machine, Message, Note, note, order_place, owner_of, place_of};
use super::orders::Order;
use super::web::Web;
use crate::links::View;
use crate::node::{Node, Out};
use crate::ring::contact_of;
use herodotus_base::Id;
use herodotus_frontier::UrlRecord;
use herodotus_links::end::{self, Edition, Phase};
use herodotus_links::{Config, Planted};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

const LATENCY: Duration = Duration::from_millis(1);
/// A machine that asks for a moment that has passed is woken after this all the same.
const WAKE_LATE: Duration = Duration::from_millis(1);
/// What a script waits for comes within this, or never.
const PATIENCE: Duration = Duration::from_secs(120);
/// Any does (1 to 200 were tried): it gives machines their places, and says how long visits take.
const SEED: u64 = 1;

/// Who is who: machines in the order of the circle, the one that looks after the crawl first.
#[derive(Clone, Debug)]
pub struct Cast {
    members: View,
}

impl Cast {
    pub fn of(machines: usize) -> Self {
        let places = (0..machines).map(|slot| (contact_of(SEED, slot, 0).id, slot));
        Self { members: places.collect::<BTreeMap<_, _>>().into() }
    }

    pub fn machines<const N: usize>(&self) -> [usize; N] {
        let first = order_place();
        let mut slots = self.members.range(first..).chain(self.members.range(..first)).map(|(_, slot)| *slot);
        std::array::from_fn(|_| slots.next().expect("so many are in the cast"))
    }

    /// A page of a host that is that machine's.
    pub fn page(&self, slot: usize, name: &str) -> String {
        let urls = (0..).map(|host: u32| format!("http://{name}{host}.example/{name}"));
        let mut own = urls.filter(|url| owner_of(&self.members, place_of(url)).is_some_and(|(owner, _)| owner == slot));
        own.next().expect("there is no end of hosts")
    }
}

/// Which messages wait until they are let go. There may be several; the first that fits counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// Links.
    Batches { from: usize, to: usize },
    /// Records for others' ledgers.
    Records { from: usize },
    /// How does your part stand?
    Questions { to: usize },
}

impl Hold {
    fn fits(self, parcel: &Parcel) -> bool {
        match (self, &parcel.message) {
            (Self::Batches { from, to }, Message::Batch { .. }) => (from, to) == (parcel.from, parcel.to),
            (Self::Records { from }, Message::Keep { .. }) => from == parcel.from,
            (Self::Questions { to }, Message::Part { .. }) => to == parcel.to,
            _ => false,
        }
    }
}

/// A message under way.
#[derive(Clone, Debug)]
pub struct Parcel {
    pub from: usize,
    pub to: usize,
    pub message: Message,
}

#[derive(Debug)]
pub struct Stage {
    now: Duration,
    config: Config,
    web: Rc<Web>,
    members: View,
    machines: BTreeMap<usize, Machine>,
    woken: BTreeMap<usize, Duration>,
    down: BTreeMap<usize, Body>,
    /// Machines that the script has stand still, and what came for each.
    frozen: BTreeMap<usize, Vec<Parcel>>,
    under_way: BTreeMap<(Duration, u64), Parcel>,
    sent: u64,
    held: Vec<(Hold, Vec<Parcel>)>,
    notes: VecDeque<(usize, Note)>,
    /// Machines that the script keeps from being filled, and what each asked for last.
    unfilled: BTreeMap<usize, Option<u64>>,
    /// What lies on two machines.
    ledger: BTreeMap<String, UrlRecord>,
    /// What machines said of their parts, by the wave.
    answers: BTreeMap<(u64, usize), end::Part>,
    visited: BTreeSet<String>,
    left_out: Vec<Vec<String>>,
}

impl Stage {
    /// All are up, in the ring and filled, and have heard of nothing.
    pub fn new(cast: &Cast, web: Web, planted: Planted) -> Self {
        let config = Config {
            delay: Duration::from_millis(50),
            hold_max: Duration::ZERO,
            links_enough: 1,
            ack_wait: Duration::from_secs(6),
            backoff_max: Duration::from_secs(1),
            parked_for: Duration::from_secs(2),
            lately_slots: 1 << 8,
            planted,
            ..Config::default()
        };
        let mut stage = Self {
            now: Duration::from_secs(1),
            config,
            web: Rc::new(web),
            members: cast.members.clone(),
            machines: BTreeMap::new(),
            woken: BTreeMap::new(),
            down: BTreeMap::new(),
            frozen: BTreeMap::new(),
            under_way: BTreeMap::new(),
            sent: 0,
            held: Vec::new(),
            notes: VecDeque::new(),
            unfilled: BTreeMap::new(),
            ledger: BTreeMap::new(),
            answers: BTreeMap::new(),
            visited: BTreeSet::new(),
            left_out: Vec::new(),
        };
        cast.members.values().for_each(|slot| stage.start(*slot, Body::default()));
        stage.run_for(Duration::from_secs(2));
        stage
    }

    fn start(&mut self, slot: usize, body: Body) {
        let mut machine = Machine::start(slot, SEED, body, self.config.clone(), self.web.clone());
        machine.adopt_for(Duration::ZERO);
        machine.set_clock(self.now, self.now);
        self.machines.insert(slot, machine);
        self.tell(&[slot]);
    }

    // What is so.

    /// The names of pages that could be reached and had not been visited, for each time that the crawl was called complete.
    pub fn left_out(&self) -> &[Vec<String>] {
        &self.left_out
    }

    pub fn has_visited(&self, url: &str) -> bool {
        self.visited.contains(url)
    }

    /// Links on their way from that machine.
    pub fn unsent(&self, slot: usize) -> u64 {
        self.machines.get(&slot).map_or(0, |machine| machine.outbox().pending_of(&CRAWL))
    }

    pub fn knows(&self, slot: usize, url: &str) -> bool {
        self.machines.get(&slot).is_some_and(|machine| machine.body().ledger.contains_key(url))
    }

    pub fn held(&self, hold: Hold) -> &[Parcel] {
        self.held.iter().find(|(held, _)| *held == hold).map_or(&[], |(_, parcels)| &parcels[..])
    }

    /// The last wave whose question waits there.
    pub fn held_wave(&self, hold: Hold) -> Option<u64> {
        self.held(hold).iter().rev().find_map(|parcel| match &parcel.message {
            Message::Part { wave, .. } => Some(*wave),
            _ => None,
        })
    }

    /// What the machine said of its part in that wave.
    pub fn answer(&self, wave: u64, slot: usize) -> Option<&end::Part> {
        self.answers.get(&(wave, slot))
    }

    // What is done.

    /// Somebody has all machines begin a crawl at once.
    pub fn begin(&mut self, seeds: &[&str]) {
        let seeds = seeds.iter().map(|seed| (*seed).to_owned()).collect();
        let (began_ms, edition) = (self.now.as_millis() as i64, Edition::default().noted());
        let order = Order { edition, phase: Phase::Running, run: 1, began_ms, seeds, retries: 2 };
        let slots: Vec<usize> = self.machines.keys().copied().collect();
        slots.into_iter().for_each(|slot| self.act(slot, |machine, now| machine.hear_order(now, &order)));
    }

    /// Somebody pauses it or lets it go on, and all that are up hear of it at once.
    pub fn say(&mut self, phase: Phase) {
        let slots: Vec<usize> = self.machines.keys().copied().collect();
        for slot in slots {
            self.act(slot, |machine, now| machine.change(now, |order| order.phase = phase));
        }
    }

    pub fn hold(&mut self, hold: Hold) {
        self.held.push((hold, Vec::new()));
    }

    pub fn release(&mut self, hold: Hold) {
        let Some(at) = self.held.iter().position(|(held, _)| *held == hold) else { return };
        let (_, parcels) = self.held.remove(at);
        parcels.into_iter().for_each(|parcel| self.send(parcel));
    }

    /// The network brings it, perhaps once more.
    pub fn bring(&mut self, parcel: &Parcel) {
        self.send(parcel.clone());
    }

    /// Until it thaws the machine neither hears nor does anything; then all at once.
    pub fn freeze(&mut self, slot: usize) {
        self.frozen.insert(slot, Vec::new());
    }

    pub fn thaw(&mut self, slot: usize) {
        let parcels = self.frozen.remove(&slot).unwrap_or_default();
        parcels.into_iter().for_each(|parcel| self.send(parcel));
    }

    /// The machine's process ends.
    pub fn crash(&mut self, slot: usize) {
        if let Some(machine) = self.machines.remove(&slot) {
            self.down.insert(slot, machine.into_body());
        }
    }

    /// And with it everything that was not on its disk for good.
    pub fn crash_without_power(&mut self, slot: usize) {
        self.crash(slot);
        if let Some(body) = self.down.get_mut(&slot) {
            body.outbox.lose_power(0);
            body.frontier.lose_power(0);
            let kept = body.made_synced.min(body.made.len());
            for record in body.made.drain(kept..) {
                body.ledger.remove(record.url.as_str());
            }
        }
    }

    pub fn restart(&mut self, slot: usize) {
        if let Some(body) = self.down.remove(&slot) {
            self.start(slot, body);
        }
    }

    /// One leaves the ring; nobody is told.
    pub fn leave(&mut self, slot: usize) {
        let mut members = (*self.members).clone();
        members.retain(|_, member| *member != slot);
        self.members = members.into();
    }

    pub fn join(&mut self, slot: usize) {
        let mut members = (*self.members).clone();
        members.insert(contact_of(SEED, slot, 0).id, slot);
        self.members = members.into();
    }

    /// These hear of the ring as it is.
    pub fn tell(&mut self, slots: &[usize]) {
        for slot in slots {
            let view = self.members.clone();
            self.act(*slot, |machine, now| machine.set_view(now, view));
        }
    }

    /// What others knew of its arc comes to the machine no sooner than [`Stage::fill`] says.
    pub fn keep_unfilled(&mut self, slot: usize) {
        self.unfilled.insert(slot, None);
    }

    pub fn fill(&mut self, slot: usize) {
        if let Some(Some(number)) = self.unfilled.remove(&slot) {
            self.hear(slot, Note::Fill(number));
        }
        self.settle();
    }

    /// From now on the machine's parts take so long to take over what it knows.
    pub fn adopt_for(&mut self, slot: usize, time: Duration) {
        self.act(slot, |machine, _| machine.adopt_for(time));
    }

    /// Copies are compared: whoever owns something hears all that is known of it.
    pub fn compare_copies(&mut self) {
        for record in self.ledger.clone().values() {
            if let Some((owner, _)) = owner_of(&self.members, place_of(record.url.as_str())) {
                self.act(owner, |machine, now| machine.hear(now, std::slice::from_ref(record)));
            }
        }
    }

    fn act(&mut self, slot: usize, act: impl FnOnce(&mut Machine, Duration)) {
        self.touch(slot, act);
        self.settle();
    }

    // Time.

    pub fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
    }

    /// Until something is so, which it must become.
    pub fn run_until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let until = self.now + PATIENCE;
        while !is_so(self) {
            assert!(self.step(until), "never: {what}");
        }
    }

    /// The next thing that happens, unless that is later. Says whether there was one.
    fn step(&mut self, until: Duration) -> bool {
        let wake = |(slot, machine): (&usize, &Machine)| {
            let rests = self.woken.get(slot).map_or(Duration::ZERO, |woken| *woken + WAKE_LATE);
            Some((machine.poll_timeout()?.max(rests).max(self.now), *slot))
        };
        let awake = self.machines.iter().filter(|(slot, _)| !self.frozen.contains_key(slot));
        let wake = awake.filter_map(wake).min();
        let arrival = self.under_way.keys().next().map(|(at, _)| *at);
        let next = wake.map(|(at, _)| at).into_iter().chain(arrival).min().filter(|at| *at <= until);
        let Some(next) = next else {
            self.now = until;
            return false;
        };
        self.now = next;
        match (arrival, wake) {
            (Some(at), _) if at <= next => {
                if let Some((_, parcel)) = self.under_way.pop_first() {
                    self.arrive(parcel);
                }
            }
            (_, Some((_, slot))) => {
                self.woken.insert(slot, next);
                self.act(slot, Machine::handle_timeout);
            }
            _ => {}
        }
        true
    }

    fn arrive(&mut self, parcel: Parcel) {
        if let Some(waiting) = self.frozen.get_mut(&parcel.to) {
            return waiting.push(parcel);
        }
        if let Message::Stands { wave, part: Some(part), .. } = &parcel.message {
            self.answers.insert((*wave, parcel.from), (**part).clone());
        }
        self.act(parcel.to, |machine, now| machine.handle_message(now, parcel.message));
    }

    fn touch(&mut self, slot: usize, act: impl FnOnce(&mut Machine, Duration)) {
        let Some(machine) = self.machines.get_mut(&slot) else { return };
        act(machine, self.now);
        let out: Vec<_> = std::iter::from_fn(|| machine.poll_output()).collect();
        for out in out {
            match out {
                Out::Note(note) => self.notes.push_back((slot, note)),
                // Not after a while that chance says.
                Out::Send { to, message, .. } => {
                    let parcel = Parcel { from: slot, to, message };
                    match self.held.iter_mut().find(|(hold, _)| hold.fits(&parcel)) {
                        Some((_, held)) => held.push(parcel),
                        None => self.send(parcel),
                    }
                }
            }
        }
    }

    fn send(&mut self, parcel: Parcel) {
        self.sent += 1;
        self.under_way.insert((self.now + LATENCY, self.sent), parcel);
    }

    fn settle(&mut self) {
        while let Some((slot, note)) = self.notes.pop_front() {
            self.hear(slot, note);
        }
    }

    fn hear(&mut self, slot: usize, told: Note) {
        match told {
            Note::Lookup(place) => {
                let owner = owner_of(&self.members, place);
                self.touch(slot, |machine, now| machine.learn_owner(now, place, owner));
            }
            Note::Fill(number) => match self.unfilled.get_mut(&slot) {
                Some(wanted) => *wanted = Some(number),
                None => {
                    let known: Vec<UrlRecord> = self.ledger.values().cloned().collect();
                    self.touch(slot, |machine, now| {
                        let (from, to) = machine.arc().unwrap_or((Id::ZERO, Id::small(1)));
                        let is_here = |record: &&UrlRecord| place_of(record.url.as_str()).is_in(from, to);
                        machine.fill(now, number, known.iter().filter(is_here));
                    });
                }
            },
            Note::Visited(url) => _ = self.visited.insert(url),
            Note::Recorded { records, .. } => records.iter().for_each(|record| note(&mut self.ledger, record)),
            Note::Complete { order, .. } => {
                let missing = self.web.reach(&order.seeds).into_iter().filter(|url| !self.visited.contains(url));
                let name = |url: String| url.rsplit('/').next().unwrap_or_default().to_owned();
                self.left_out.push(missing.map(name).collect());
            }
            Note::Again => {}
            Note::Broken(what) => panic!("machine {slot}: {what}"),
        }
    }
}
