//! Harm of every kind to machines that crawl together, and then peace, in which the crawl must come to its end.
//!
//! Promised, and looked at whenever somebody calls the crawl complete: everything that can be reached from its seeds was visited since it was begun, but what
//! only links lead to that walked through a machine which was not asked, since it was down or not on the circle. And at the end, in peace: all call it
//! complete within [`SETTLE`], with everything that people asked for, but what walked through machines that were lost for good.

use super::machine::{Body, CRAWL, Machine, Note, note, owner_of, place_of};
use super::orders::Order;
use super::web::Web;
use crate::chance::{Chance, mix};
use crate::links::{Disk, View};
use crate::network::{Latency, Network, Weather};
use crate::ring::contact_of;
use crate::world::World;
use herodotus_base::Id;
use herodotus_frontier::UrlRecord;
use herodotus_links::end::{Edition, Phase};
use herodotus_links::{Config, Outbox, Planted, batch};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

/// Things that happen in one storm.
const EVENTS: usize = 90;
const EVERY_MEAN: f64 = 0.5;
/// Within this after the last harm all know that it is complete: back-off, rests, visits, two waves, and what was to be done again.
const SETTLE: Duration = Duration::from_secs(120);
/// What is called complete stays so.
const STAYS: Duration = Duration::from_secs(6);

#[derive(Clone, Debug)]
pub struct Storm {
    pub seed: u64,
    config: Config,
}

#[derive(Clone, Debug)]
pub struct StormEnd {
    pub trace: u64,
    /// Pages that could be reached, at the end.
    pub pages: usize,
    pub visits: u64,
    pub crashes: u64,
    /// How often it was called complete, and of those how often it went on by itself.
    pub ends: u64,
    pub goes_on: u64,
    /// URLs that were not visited when it was called complete, or ever, and why that is not promised.
    pub late: u64,
    pub lost: u64,
    /// How long it took after the harm was over.
    pub settled: Duration,
    pub wrong: Vec<String>,
}

/// Something that the world outside the machines does later.
#[derive(Clone, Debug)]
enum Errand {
    Fill(usize, u64),
    /// A record comes to whoever owns it.
    Bring(String),
}

struct Run {
    seed: u64,
    config: Config,
    chance: Chance,
    web: Rc<Web>,
    world: World<Machine>,
    members: View,
    history: Vec<View>,
    down: BTreeMap<usize, Body>,
    dead: BTreeSet<usize>,
    /// What lies on two machines.
    ledger: BTreeMap<String, UrlRecord>,
    errands: BTreeMap<(Duration, u64), Errand>,
    errands_made: u64,
    visited: BTreeMap<String, i64>,
    /// Seeds that people named, and how often they began it.
    seeds: BTreeSet<String>,
    run: u32,
    /// Walked through machines that are lost for good.
    lost: BTreeSet<String>,
    end: StormEnd,
}

impl Storm {
    pub fn new(seed: u64) -> Self {
        let mut chance = Chance::new(mix(seed ^ 0xe4d));
        let config = Config {
            delay: Duration::from_millis(chance.between(50, 1_000) as u64),
            hold_max: Duration::from_secs(chance.between(0, 4) as u64),
            links_plenty: chance.between(1, 20),
            links_enough: chance.between(1, 10),
            small_batches_per_s: u32::try_from(chance.between(1, 20)).unwrap_or(1),
            flights_max: chance.between(2, 6),
            ack_wait: Duration::from_secs(chance.between(6, 12) as u64),
            backoff_max: Duration::from_secs(8),
            owners_max: chance.between(2, 20),
            owner_lasts: Duration::from_secs(chance.between(5, 60) as u64),
            near_max: chance.between(2, 10),
            lookup_wait: Duration::from_secs(4),
            steps_max: u8::try_from(chance.between(3, 10)).unwrap_or(5),
            parked_for: Duration::from_secs(chance.between(2, 6) as u64),
            lately_slots: 1 << 8,
            ..Config::default()
        };
        Self { seed, config }
    }

    pub fn plant(mut self, bug: Planted) -> Self {
        self.config.planted = bug;
        self
    }

    pub fn run(&self) -> StormEnd {
        let mut run = Run::new(self.seed, self.config.clone());
        // In some storms harm is rare, and crawls come near their end before it strikes.
        let harm = [0.12, 0.25, 0.5][run.chance.below(3)];
        for _ in 0..EVENTS {
            let pause = Duration::from_secs_f64(run.chance.exponential(EVERY_MEAN));
            run.run_for(pause);
            run.tell_somebody();
            if run.chance.happens(harm) {
                run.harm();
            }
            if run.chance.happens(0.2) {
                run.ask_for_something();
            }
        }
        run.make_peace();
        run.settle();
        run.judge()
    }
}

impl Run {
    fn new(seed: u64, config: Config) -> Self {
        let mut chance = Chance::new(mix(seed ^ 0x2_0fe4));
        let longest = Duration::from_millis(chance.between(3, 120) as u64);
        let latency = Latency::Even { min: Duration::from_millis(1), max: longest };
        let web = Rc::new(Web::new(&mut chance));
        let end = StormEnd {
            trace: 0,
            pages: 0,
            visits: 0,
            crashes: 0,
            ends: 0,
            goes_on: 0,
            late: 0,
            lost: 0,
            settled: SETTLE,
            wrong: Vec::new(),
        };
        let mut run = Self {
            seed,
            config,
            web,
            world: World::new(seed, Network::new(seed, latency)),
            members: View::default(),
            history: Vec::new(),
            down: BTreeMap::new(),
            dead: BTreeSet::new(),
            ledger: BTreeMap::new(),
            errands: BTreeMap::new(),
            errands_made: 0,
            visited: BTreeMap::new(),
            seeds: BTreeSet::new(),
            run: 1,
            lost: BTreeSet::new(),
            end,
            chance,
        };
        let slots: Vec<usize> = (0..run.chance.between(3, 8)).map(|_| run.world.add()).collect();
        let members = slots.iter().map(|slot| (contact_of(seed, *slot, 0).id, *slot));
        run.members = members.collect::<BTreeMap<_, _>>().into();
        run.history.push(run.members.clone());
        slots.iter().for_each(|slot| run.start(*slot, Body::default()));
        let first = run.chance.below(slots.len());
        let seeds: Vec<String> = run.web.urls().take(1).cloned().collect();
        run.seeds.extend(seeds.iter().cloned());
        let began_ms = run.world.now().as_millis() as i64;
        let edition = Edition::default().noted();
        let order = Order { edition, phase: Phase::Running, run: 1, began_ms, seeds, retries: 2 };
        run.world.act(first, |machine, now| machine.hear_order(now, &order));
        run
    }

    fn start(&mut self, slot: usize, body: Body) {
        let machine = Machine::start(slot, self.seed, body, self.config.clone(), self.web.clone());
        self.world.start(slot, machine);
        let (view, world) = (self.members.clone(), self.world.now());
        self.world.act(slot, |machine, now| {
            machine.set_clock(now, world);
            machine.set_view(now, view);
        });
    }

    fn up(&self) -> Vec<usize> {
        self.world.nodes().map(|(slot, _)| slot).collect()
    }

    // Time.

    fn run_for(&mut self, time: Duration) {
        let until = self.world.now() + time;
        loop {
            let next = self.errands.keys().next().map(|(at, _)| *at).filter(|at| *at <= until);
            let target = next.unwrap_or(until).max(self.world.now());
            loop {
                let is_more = self.world.step(target);
                while let Some((slot, note)) = self.world.take_note() {
                    self.hear(slot, note);
                }
                if !is_more {
                    break;
                }
            }
            match next {
                None => return,
                Some(_) => {
                    if let Some((_, errand)) = self.errands.pop_first() {
                        self.run_errand(errand);
                    }
                }
            }
        }
    }

    fn later(&mut self, ms: (usize, usize), errand: Errand) {
        let after = Duration::from_millis(self.chance.between(ms.0, ms.1) as u64);
        self.errands_made += 1;
        self.errands.insert((self.world.now() + after, self.errands_made), errand);
    }

    fn run_errand(&mut self, errand: Errand) {
        let owner = match &errand {
            Errand::Fill(slot, _) => Some(*slot),
            Errand::Bring(url) => owner_of(&self.members, place_of(url)).map(|(slot, _)| slot),
        };
        let is_up = owner.is_some_and(|slot| self.world.node(slot).is_some());
        let Some(slot) = owner.filter(|_| is_up && !self.world.network.is_split()) else {
            // Who is down asks anew when it is back.
            if is_up || matches!(errand, Errand::Bring(_)) {
                self.later((500, 1_500), errand);
            }
            return;
        };
        match errand {
            Errand::Fill(_, number) => {
                let ledger = &self.ledger;
                self.world.act(slot, |machine, now| {
                    let (from, to) = machine.arc().unwrap_or((Id::ZERO, Id::small(1)));
                    let is_here = |record: &&UrlRecord| place_of(record.url.as_str()).is_in(from, to);
                    machine.fill(now, number, ledger.values().filter(is_here));
                });
            }
            Errand::Bring(url) => {
                if let Some(record) = self.ledger.get(&url) {
                    self.world.act(slot, |machine, now| machine.hear(now, std::slice::from_ref(record)));
                }
            }
        }
    }

    fn hear(&mut self, slot: usize, told: Note) {
        match told {
            Note::Lookup(place) => {
                let view = if self.chance.happens(0.8) { self.members.clone() } else { self.some_view() };
                let owner = owner_of(&view, place).filter(|_| self.chance.happens(0.9));
                self.world.act(slot, |machine, now| machine.learn_owner(now, place, owner));
            }
            Note::Fill(number) => self.later((50, 5_000), Errand::Fill(slot, number)),
            Note::Visited(url) => {
                self.end.visits += 1;
                self.visited.insert(url, self.world.now().as_millis() as i64);
            }
            Note::Recorded { maker, records } => {
                for record in records.iter() {
                    note(&mut self.ledger, record);
                    // Whoever comes to own it later is filled with it; whoever does already, unknown to its maker, is brought it when copies are compared.
                    let url = record.url.as_str();
                    if owner_of(&self.members, place_of(url)).is_none_or(|(owner, _)| owner != maker) {
                        self.later((100, 6_000), Errand::Bring(url.to_owned()));
                    }
                }
            }
            Note::Complete { order, answered } => self.check_end(&order, &answered),
            Note::Again => self.end.goes_on += 1,
            Note::Broken(what) => self.end.wrong.push(format!("machine {slot}: {what}")),
        }
    }

    // Promises.

    fn missing(&self, order: &Order) -> BTreeSet<String> {
        let all = self.web.reach(&order.seeds);
        let is_visited = |url: &String| self.visited.get(url).is_some_and(|at| *at >= order.began_ms);
        all.into_iter().filter(|url| !is_visited(url)).collect()
    }

    fn check_end(&mut self, order: &Order, answered: &BTreeSet<usize>) {
        self.end.ends += 1;
        let missing = self.missing(order);
        if missing.is_empty() {
            return;
        }
        let mut walking = self.lost.clone();
        for (_, machine) in self.world.nodes().filter(|(slot, _)| !answered.contains(slot)) {
            walking.extend(walking_in(machine.outbox().table(), &machine.body().walked));
        }
        self.down.values().for_each(|body| walking.extend(walking_in(&body.outbox, &body.walked)));
        let excused = self.web.reach(&walking);
        let wrong: Vec<&String> = missing.difference(&excused).collect();
        if !wrong.is_empty() {
            let at = self.world.now();
            self.end.wrong.push(format!("called complete at {at:?} without {wrong:?}"));
        }
        self.end.late += missing.len() as u64;
    }

    fn judge(mut self) -> StormEnd {
        let orders: Vec<Order> = self.world.nodes().filter_map(|(_, machine)| machine.order().cloned()).collect();
        let Some(order) = orders.iter().max_by_key(|order| order.edition).cloned() else { return self.end };
        let forgotten: Vec<&String> = self.seeds.iter().filter(|seed| !order.seeds.contains(seed)).collect();
        if !forgotten.is_empty() || order.run < self.run {
            let run = self.run;
            self.end
                .wrong
                .push(format!("people asked for {forgotten:?} and run {run}, which the ring forgot: {order:?}"));
        }
        let missing = self.missing(&order);
        let excused = self.web.reach(&self.lost);
        let wrong: Vec<&String> = missing.difference(&excused).collect();
        if !wrong.is_empty() {
            self.end.wrong.push(format!("at the end {wrong:?} was never visited"));
        }
        self.end.lost = missing.len() as u64;
        self.end.pages = self.web.reach(&order.seeds).len();
        self.end.trace = self.world.trace();
        self.end
    }

    // People.

    /// A person changes the crawl at some machine that has heard what people said before.
    fn ask_for_something(&mut self) {
        let up = self.up();
        let Some(slot) = self.chance.pick(&up).copied() else { return };
        let Some(order) = self.world.node(slot).and_then(Machine::order).cloned() else { return };
        if order.run != self.run || !self.seeds.iter().all(|seed| order.seeds.contains(seed)) {
            return;
        }
        let world_ms = self.world.now().as_millis() as i64;
        match (order.phase, self.chance.below(4)) {
            (Phase::Complete, _) => {
                self.run += 1;
                self.world.act(slot, |machine, now| {
                    machine.change(now, |order| {
                        (order.phase, order.run, order.began_ms) = (Phase::Running, order.run + 1, world_ms);
                    });
                });
            }
            (Phase::Running, 0) => {
                self.world.act(slot, |machine, now| machine.change(now, |order| order.phase = Phase::Paused));
            }
            (Phase::Paused, _) => {
                self.world.act(slot, |machine, now| machine.change(now, |order| order.phase = Phase::Running));
            }
            (Phase::Running, 1) => {
                self.world.act(slot, |machine, now| machine.change(now, |order| order.retries = 4 - order.retries));
            }
            (Phase::Running, _) => {
                let urls: Vec<String> = self.web.urls().cloned().collect();
                if let Some(seed) = self.chance.pick(&urls).cloned() {
                    self.seeds.insert(seed.clone());
                    self.world.act(slot, |machine, now| {
                        machine.change(now, |order| {
                            if !order.seeds.contains(&seed) {
                                order.seeds.push(seed);
                            }
                        });
                    });
                }
            }
            _ => {}
        }
    }

    // Harm.

    /// What is true, or was lately.
    fn some_view(&mut self) -> View {
        let back = if self.chance.happens(0.7) { 0 } else { self.chance.below(self.history.len().min(4)) };
        self.history.iter().rev().nth(back).cloned().unwrap_or_default()
    }

    /// Somebody hears of the ring as it is, or was; but of its own neighbours everybody knows as soon as they are.
    fn tell_somebody(&mut self) {
        let up = self.up();
        for _ in 0..2 {
            let Some(slot) = self.chance.pick(&up).copied() else { return };
            let id = contact_of(self.seed, slot, 0).id;
            let arc = |view: &View| view.get(&id).and_then(|_| owner_of(view, id)).map(|(_, arc)| arc);
            let view = self.some_view();
            let view = if arc(&view) == arc(&self.members) { view } else { self.members.clone() };
            self.world.act(slot, |machine, now| machine.set_view(now, view));
        }
    }

    fn harm(&mut self) {
        let up = self.up();
        let any_up = self.chance.pick(&up).copied().filter(|_| up.len() > 1);
        let any_down = self.down.keys().copied().collect::<Vec<_>>();
        let any_down = self.chance.pick(&any_down).copied();
        match (self.chance.below(18), any_up, any_down) {
            (0..2, Some(slot), _) => self.crash(slot, false),
            (2, Some(slot), _) => self.crash(slot, true),
            (3..6, _, Some(slot)) => self.restart(slot),
            (6, Some(slot), _) if up.len() > 3 && self.dead.len() < 2 => self.die(slot),
            (7..10, Some(slot), _) => self.toggle(slot),
            (10, Some(_), _) => self.world.network.cut_in_two(self.world.len(), &mut self.chance),
            (11..13, ..) => self.world.network.heal(),
            (13, ..) => self.world.network.weather = Weather::foul(&mut self.chance),
            (14..16, Some(slot), _) => {
                self.crash(slot, false);
                self.restart(slot);
            }
            (16, Some(slot), _) => self.world.stall(slot, Duration::from_secs(self.chance.between(1, 8) as u64)),
            _ => self.world.network.weather = Weather::FAIR,
        }
    }

    fn crash(&mut self, slot: usize, loses_power: bool) {
        let refuses = self.chance.happens(0.5);
        let Some(machine) = self.world.crash(slot, refuses) else { return };
        self.end.crashes += 1;
        let mut body = machine.into_body();
        if loses_power {
            for disk in [&mut body.outbox, &mut body.frontier] {
                let kept = self.chance.below(disk.unsynced() + 1);
                disk.lose_power(kept);
            }
            // Records are written without waiting for the disk.
            let kept = self.chance.below(body.made.len() + 1).max(body.made_synced.min(body.made.len()));
            for record in body.made.drain(kept..) {
                body.ledger.remove(record.url.as_str());
            }
        }
        self.down.insert(slot, body);
        if self.chance.happens(0.5) {
            self.change_members(slot, false);
        }
    }

    fn restart(&mut self, slot: usize) {
        let Some(body) = self.down.remove(&slot) else { return };
        self.start(slot, body);
        if self.chance.happens(0.7) {
            self.change_members(slot, true);
        }
    }

    fn die(&mut self, slot: usize) {
        // What people said must have been heard by somebody else.
        let is_heard = |machine: &Machine| {
            machine
                .order()
                .is_some_and(|order| order.run == self.run && self.seeds.iter().all(|seed| order.seeds.contains(seed)))
        };
        if !self.world.nodes().any(|(other, machine)| other != slot && is_heard(machine)) {
            return;
        }
        let Some(machine) = self.world.crash(slot, false) else { return };
        self.end.crashes += 1;
        let body = machine.into_body();
        self.lost.extend(walking_in(&body.outbox, &body.walked));
        self.dead.insert(slot);
        self.change_members(slot, false);
    }

    /// One leaves the ring, or comes back to it, and is up all the while.
    fn toggle(&mut self, slot: usize) {
        let is_member = self.members.values().any(|member| *member == slot);
        self.change_members(slot, !is_member);
    }

    /// The machine after it knows at once, and so does one that joins; others hear of it.
    fn change_members(&mut self, slot: usize, is_member: bool) {
        let id = contact_of(self.seed, slot, 0).id;
        let mut members = (*self.members).clone();
        match is_member {
            true => _ = members.insert(id, slot),
            false => _ = members.remove(&id),
        }
        if members.is_empty() || members == *self.members {
            return;
        }
        self.members = members.into();
        self.history.push(self.members.clone());
        let next = owner_of(&self.members, id.plus_power(0)).map(|(slot, _)| slot);
        for told in next.into_iter().chain(Some(slot).filter(|_| is_member)) {
            let view = self.members.clone();
            self.world.act(told, |machine, now| machine.set_view(now, view));
        }
    }

    fn make_peace(&mut self) {
        self.world.network.heal();
        self.world.network.weather = Weather::FAIR;
        let all = (0..self.world.len()).filter(|slot| !self.dead.contains(slot));
        self.members = all.map(|slot| (contact_of(self.seed, slot, 0).id, slot)).collect::<BTreeMap<_, _>>().into();
        self.history = vec![self.members.clone()];
        for (slot, body) in std::mem::take(&mut self.down) {
            self.start(slot, body);
        }
        for slot in self.up() {
            let view = self.members.clone();
            self.world.act(slot, |machine, now| machine.set_view(now, view));
        }
    }

    /// Until all call it complete, and go on to.
    fn settle(&mut self) {
        let began = self.world.now();
        let mut since = None;
        while self.world.now() < began + SETTLE {
            self.run_for(Duration::from_millis(500));
            // Somebody who paused it lets it go on.
            let latest = self.world.nodes().filter_map(|(slot, machine)| Some((machine.order()?, slot)));
            let latest = latest.max_by_key(|(order, _)| order.edition).map(|(order, slot)| (order.phase, slot));
            if let Some((Phase::Paused, slot)) = latest {
                self.world.act(slot, |machine, now| machine.change(now, |order| order.phase = Phase::Running));
            }
            let is_over = |machine: &Machine| {
                machine.order().is_some_and(|order| order.phase == Phase::Complete)
                    && machine.outbox().pending_of(&CRAWL) == 0
            };
            if !self.world.nodes().all(|(_, machine)| is_over(machine)) {
                since = None;
                continue;
            }
            let since = *since.get_or_insert(self.world.now());
            if self.world.now() >= since + STAYS {
                self.end.settled = since - began;
                return;
            }
        }
        self.end.wrong.push(format!("not complete after {SETTLE:?} of peace"));
    }
}

/// URLs in an outbox that others gave to be passed on.
fn walking_in(disk: &Disk, walked: &BTreeSet<String>) -> BTreeSet<String> {
    let config = Config { flights_max: usize::MAX, ..Config::default() };
    let mut outbox = Outbox::open(disk.clone(), config).expect("a disk in memory");
    let all = contact_of(0, 0, 0);
    outbox.set_own(&[(all.clone(), (all.id, all.id))]);
    let mut urls = BTreeSet::new();
    // Once for what rests, and once for what waits.
    for second in 1..100 {
        while let Some(send) = outbox.poll(Duration::from_secs(second)).expect("a disk in memory") {
            let links = batch::open(&send.batch).expect("a batch of ours").links;
            urls.extend(links.into_iter().map(|(_, link)| link.url));
            outbox.handle_ack(Duration::from_secs(second), send.id).expect("a disk in memory");
        }
        if outbox.pending() == 0 {
            break;
        }
    }
    urls.intersection(walked).cloned().collect()
}
