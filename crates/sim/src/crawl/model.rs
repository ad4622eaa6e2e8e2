//! The events of a crawl, in their order. See the head of this module's parent for what is assumed.

use super::host::Host;
use super::machine::{Item, Kind, Machine, Parcel};
use super::options::{Options, Strategy};
use super::report::Report;
use super::ring::Ring;
use super::web::Web;
use crate::chance::{Chance, mix, normal_of};
use crate::error::Result;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, BinaryHeap};

const SECOND: u64 = 1_000_000;
/// Links are flushed as often as in the paper.
const FLUSH_EVERY: u64 = SECOND;
/// Links that a machine remembers to have sent: some hundreds of KiB of memory.
const SENT_MAX: usize = 32_768;
/// As many as a node of ours remembers.
const KNOWN_MAX: usize = 1024;
/// Of a lookup, for each node asked: 7,350 bytes for a lookup that asks 6.4 were measured (docs/figures.md, upkeep of 1,000 nodes).
const ASK_BYTES: u64 = 150;
const ANSWER_BYTES: u64 = 1000;
const ASK_MICROS: u64 = 80_000;
/// A question of some fields and its answer.
const LEASE_BYTES: u64 = 64;
const LEASE_LASTS: u64 = 60 * SECOND;
/// What a URL's record has beside the URL.
const RECORD_BYTES: u64 = 16;
/// Of the bytes of a page on the wire: HTML as the store packs it (docs/figures.md, first versions).
const ARCHIVED_SHARE: f64 = 0.2;
/// Log-normal: machines of PlanetLab were laden unevenly. The paper gives no figure.
const SLOWNESS_SIGMA: f64 = 0.35;

#[derive(Debug)]
enum Event {
    /// A page begins to come.
    Response {
        node: u32,
        page: u32,
    },
    /// It is here and read.
    Done {
        node: u32,
        page: u32,
    },
    Flush {
        node: u32,
    },
    /// Messages begin to come, and are here.
    Arrive {
        to: u32,
        parcel: Parcel,
    },
    Taken {
        to: u32,
        parcel: Parcel,
    },
    /// A host may be asked again.
    Grant {
        host: u32,
    },
}

struct Due {
    at: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Crawls to the end, or until the time is over.
pub fn run(options: &Options) -> Result<Report> {
    options.check()?;
    let mut crawl = Crawl::new(options);
    crawl.begin();
    while crawl.events.peek().is_some_and(|Reverse(due)| due.at <= crawl.end) {
        let Some(Reverse(due)) = crawl.events.pop() else { break };
        crawl.now = due.at;
        crawl.handle(due.event);
    }
    Ok(Report::new(&crawl))
}

pub(super) struct Crawl<'a> {
    pub(super) options: &'a Options,
    web: Web,
    ring: Ring,
    pub(super) machines: Vec<Machine>,
    hosts: Vec<Host>,
    events: BinaryHeap<Reverse<Due>>,
    chance: Chance,
    now: u64,
    /// What would come later does not come.
    end: u64,
    numbered: u64,
    pub(super) trace: u64,
    /// Between two requests to a host; none without a rate.
    gap: Option<u64>,
    /// Links go to the owner of the record first.
    is_by_record: bool,
    /// By page: a record of it is there; how often it was fetched.
    seen: Vec<bool>,
    fetched: Vec<u8>,
    pub(super) requests: u64,
    pub(super) duplicates: u64,
    pub(super) passed_on: u64,
    pub(super) redirected: u64,
    pub(super) traffic: [u64; Kind::COUNT],
    pub(super) fetched_twice: u64,
    pub(super) gap_min: Option<u64>,
    /// From whoever asked a host first, and back.
    pub(super) round_trips: Vec<u64>,
    /// When the last page was done.
    pub(super) done_at: u64,
}

impl<'a> Crawl<'a> {
    fn new(options: &'a Options) -> Self {
        let nodes = u32::try_from(options.nodes).unwrap_or(u32::MAX);
        let is_by_record = !options.is_paper || matches!(options.strategy, Strategy::Owner | Strategy::Near);
        Self {
            options,
            web: Web::new(options),
            ring: Ring::new(mix(options.seed ^ 0x7216), nodes),
            machines: (0..nodes).map(|_| Machine::default()).collect(),
            hosts: (0..options.hosts).map(|_| Host::default()).collect(),
            events: BinaryHeap::new(),
            chance: Chance::new(options.seed),
            now: 0,
            end: options.minutes.map_or(u64::MAX, |minutes| (minutes * 60.0 * SECOND as f64) as u64),
            numbered: 0,
            trace: 0,
            gap: (options.host_rate > 0.0).then(|| (SECOND as f64 / options.host_rate).ceil() as u64),
            is_by_record,
            seen: vec![false; options.pages],
            fetched: vec![0; options.pages],
            requests: 0,
            duplicates: 0,
            passed_on: 0,
            redirected: 0,
            traffic: [0; Kind::COUNT],
            fetched_twice: 0,
            gap_min: None,
            round_trips: Vec::new(),
            done_at: 0,
        }
    }

    /// The first page is given to whom it belongs.
    fn begin(&mut self) {
        let seed = Item { page: 0, redirects: 0 };
        let node = self.destination(0, seed.page);
        self.take_link(node, node, seed);
    }

    fn after(&mut self, at: u64, event: Event) {
        self.numbered += 1;
        self.events.push(Reverse(Due { at, number: self.numbered, event }));
    }

    fn note(&mut self, what: u64, one: u32, other: u32) {
        let event = mix(self.now ^ mix(what << 32 | u64::from(one)) ^ u64::from(other).rotate_left(40));
        self.trace = mix(self.trace ^ event);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Response { node, page } => self.receive_page(node, page),
            Event::Done { node, page } => self.finish(node, page),
            Event::Flush { node } => self.flush(node),
            Event::Arrive { to, parcel } => {
                let takes = self.takes(parcel.bytes);
                let at = self.machines[to as usize].receive(self.now, takes);
                self.after(at, Event::Taken { to, parcel });
            }
            Event::Taken { to, parcel } => self.take_parcel(to, parcel),
            Event::Grant { host } => self.grant(host),
        }
    }

    // Bytes between machines.

    fn takes(&self, bytes: u64) -> u64 {
        (bytes as f64 * 1000.0 / self.options.kilobytes_per_second) as u64
    }

    fn count(&mut self, to: u32, kind: Kind, bytes: u64) {
        self.traffic[kind as usize] += bytes;
        if kind != Kind::Archive {
            self.machines[to as usize].talk_bytes += bytes;
        }
    }

    /// Bytes that nothing waits for, but that take their time on both links.
    fn charge(&mut self, from: u32, to: u32, kind: Kind, bytes: u64) {
        if from != to {
            let takes = self.takes(bytes);
            self.machines[from as usize].send(self.now, takes);
            // What is still in line at the end has not come.
            if self.machines[to as usize].receive(self.now, takes) <= self.end {
                self.count(to, kind, bytes);
            }
        }
    }

    fn item_bytes(&self) -> u64 {
        let bytes = u64::from(self.options.bytes_per_link);
        // "Redirection requires extra fields that inflates the size of each WebPage tuple by 50%."
        if self.options.is_paper && self.options.strategy == Strategy::Redirect { bytes * 3 / 2 } else { bytes }
    }

    fn post(&mut self, from: u32, to: u32, kind: Kind, item: Item) {
        let machine = &mut self.machines[from as usize];
        machine.outbox.entry((to, kind)).or_default().push(item);
        if !std::mem::replace(&mut machine.is_flushing, true) {
            self.after(self.now + FLUSH_EVERY, Event::Flush { node: from });
        }
    }

    fn flush(&mut self, node: u32) {
        let machine = &mut self.machines[node as usize];
        machine.is_flushing = false;
        for ((to, kind), items) in std::mem::take(&mut machine.outbox) {
            // Records that a split moved have been paid for all together.
            let bytes = if kind == Kind::Move { 0 } else { items.len() as u64 * self.item_bytes() };
            self.send(to, Parcel { from: node, kind, bytes, items });
        }
    }

    fn send(&mut self, to: u32, parcel: Parcel) {
        let from = parcel.from;
        let found = self.find(from, to);
        let takes = self.takes(parcel.bytes);
        let sent = self.machines[from as usize].send(self.now + found, takes);
        let at = sent + self.web.latency_micros(from, to);
        self.after(at, Event::Arrive { to, parcel });
    }

    /// Time until a machine knows another that it did not speak with lately.
    fn find(&mut self, from: u32, to: u32) -> u64 {
        if self.machines[from as usize].known.meet(to, KNOWN_MAX) {
            return 0;
        }
        let hops = (0.5 * (self.options.nodes as f64).log2()).round() as u64;
        for _ in 0..hops {
            let asked = self.chance.below(self.options.nodes) as u32;
            self.charge(from, asked, Kind::Lookup, ASK_BYTES);
            self.charge(asked, from, Kind::Lookup, ANSWER_BYTES);
        }
        hops * ASK_MICROS
    }

    fn take_parcel(&mut self, to: u32, parcel: Parcel) {
        self.count(to, parcel.kind, parcel.bytes);
        self.note(1 + parcel.kind as u64, parcel.from, to);
        for item in parcel.items {
            match parcel.kind {
                Kind::Link => self.take_link(to, parcel.from, item),
                Kind::Move => {
                    let owner = self.record_owner(item.page);
                    if owner == to { self.enqueue(to, item.page) } else { self.post(to, owner, Kind::Move, item) }
                }
                Kind::Visit => self.assign(to, item),
                Kind::Lookup | Kind::Lease | Kind::Archive => {}
            }
        }
    }

    // Whose a page is, and who fetches it.

    fn record_owner(&self, page: u32) -> u32 {
        let host = self.web.host_of(page);
        self.ring.owner_of_page(host, page, self.hosts[host as usize].parts())
    }

    /// Where a link is sent, as far as the sender knows.
    fn destination(&self, from: u32, page: u32) -> u32 {
        let host = self.web.host_of(page);
        match self.options.strategy {
            _ if self.is_by_record => {
                let log = self.machines[from as usize].parts_logs.get(&host).copied().unwrap_or(0);
                self.ring.owner_of_page(host, page, 1 << log)
            }
            Strategy::Url => self.ring.owner_of_url(page, 0),
            Strategy::HostN => self.ring.owner_of_page(host, page, self.options.host_nodes),
            _ => self.ring.owner_of_part(host, 0),
        }
    }

    fn take_link(&mut self, to: u32, from: u32, item: Item) {
        let host = self.web.host_of(item.page);
        if self.is_by_record {
            let owner = self.record_owner(item.page);
            if owner != to {
                // The sender did not know of the last split, and is told with the acknowledgement.
                self.machines[from as usize].parts_logs.insert(host, self.hosts[host as usize].parts_log);
                self.passed_on += 1;
                return self.post(to, owner, Kind::Link, item);
            }
        }
        if std::mem::replace(&mut self.seen[item.page as usize], true) {
            self.duplicates += 1;
            return;
        }
        self.requests += 1;
        self.assign(to, item);
        if self.is_by_record
            && let Some(parts) = self.hosts[host as usize].learn()
        {
            self.split(host, parts);
        }
    }

    /// A URL to fetch is at a machine: there it waits, or goes on.
    fn assign(&mut self, at: u32, item: Item) {
        let (to, item) = self.fetcher(at, item);
        if to == at { self.enqueue(at, item.page) } else { self.post(at, to, Kind::Visit, item) }
    }

    fn fetcher(&mut self, at: u32, item: Item) -> (u32, Item) {
        let (page, host) = (item.page, self.web.host_of(item.page));
        let to = match self.options.strategy {
            Strategy::Owner => at,
            Strategy::Url => self.ring.owner_of_url(page, 0),
            Strategy::Host => self.ring.owner_of_part(host, 0),
            Strategy::HostN => self.ring.owner_of_page(host, page, self.options.host_nodes),
            Strategy::Redirect => {
                let is_over = self.machines[at as usize].queued > self.options.redirect_over;
                if !is_over || item.redirects >= self.options.redirects_max {
                    return (at, item);
                }
                self.redirected += 1;
                let item = Item { redirects: item.redirects + 1, ..item };
                return (self.ring.owner_of_url(page, item.redirects), item);
            }
            // Whoever was told that it is the nearest does not ask again.
            Strategy::Near if self.record_owner(page) != at => at,
            Strategy::Near => self.nearest(at, host, page),
        };
        (to, item)
    }

    fn nearest(&mut self, at: u32, host: u32, page: u32) -> u32 {
        let parts = self.hosts[host as usize].parts();
        let candidates: Vec<u32> = self.ring.followers(host, page, parts, self.options.candidates).collect();
        if self.machines[at as usize].measured.insert(host) {
            for candidate in &candidates {
                self.charge(at, *candidate, Kind::Lease, LEASE_BYTES);
                self.charge(*candidate, at, Kind::Lease, LEASE_BYTES);
            }
        }
        candidates.into_iter().min_by_key(|node| self.web.round_trip_micros(*node, host)).unwrap_or(at)
    }

    /// A host lies in twice as many parts from now on (the number before is given): half of each is another's, unless both are of one machine.
    fn split(&mut self, host: u32, before: u32) {
        let known = u64::from(self.hosts[host as usize].known);
        let extra = if self.options.is_paper { 0 } else { RECORD_BYTES };
        let halves = 2 * u64::from(before);
        let record_bytes = known * (u64::from(self.options.bytes_per_link) + extra) / halves;
        let kept = if self.options.is_paper { 0 } else { self.hosts[host as usize].kept_bytes / halves };
        let mut olds = BTreeSet::new();
        for part in 0..before {
            let (old, new) = (self.ring.owner_of_part(host, part), self.ring.owner_of_part(host, part + before));
            self.charge(old, new, Kind::Move, record_bytes);
            self.charge(old, new, Kind::Archive, kept);
            olds.insert(old);
        }
        if self.options.strategy != Strategy::Owner {
            // Visits stay with those who were told to do them.
            return;
        }
        let parts = self.hosts[host as usize].parts();
        for old in olds {
            let ring = &self.ring;
            let gone = self.machines[old as usize].split_off(host, |page| ring.owner_of_page(host, page, parts) == old);
            for page in gone {
                let to = self.ring.owner_of_page(host, page, parts);
                self.post(old, to, Kind::Move, Item { page, redirects: 0 });
            }
        }
    }

    // Fetching.

    fn enqueue(&mut self, node: u32, page: u32) {
        self.machines[node as usize].push(self.web.host_of(page), page);
        self.start(node);
    }

    /// Gives work to the threads that have none.
    fn start(&mut self, node: u32) {
        while self.machines[node as usize].busy < self.options.threads {
            let Some(host) = self.machines[node as usize].next_ready() else { return };
            if self.gap.is_none() || self.hosts[host as usize].pace.may_go(self.now) {
                self.fetch(node, host);
            } else {
                self.hosts[host as usize].pace.waiting.push_back(node);
                self.await_grant(host);
            }
        }
    }

    fn await_grant(&mut self, host: u32) {
        let now = self.now;
        let pace = &mut self.hosts[host as usize].pace;
        if !pace.waiting.is_empty() && !std::mem::replace(&mut pace.is_due, true) {
            let at = pace.next_grant(now);
            self.after(at, Event::Grant { host });
        }
    }

    /// The first of those who wait and can use it may ask the host.
    fn grant(&mut self, host: u32) {
        self.hosts[host as usize].pace.is_due = false;
        self.note(10, host, 0);
        while let Some(node) = self.hosts[host as usize].pace.waiting.pop_front() {
            let machine = &mut self.machines[node as usize];
            if !machine.has(host) {
                continue;
            }
            if machine.busy < self.options.threads {
                self.fetch(node, host);
                self.start(node);
                break;
            }
            machine.relist(host);
        }
        self.await_grant(host);
    }

    fn fetch(&mut self, node: u32, host: u32) {
        let Some(page) = self.machines[node as usize].take(host) else { return };
        self.machines[node as usize].busy += 1;
        let round_trip = self.web.round_trip_micros(node, host);
        // A round trip to connect, and half of one for the request.
        let mut reach = self.now + round_trip * 3 / 2;
        if let Some(gap) = self.gap {
            reach += self.lease(node, host);
            reach = self.hosts[host as usize].pace.grant(self.now, reach, gap);
        }
        match self.hosts[host as usize].pace.witness(reach) {
            Some(since) => self.gap_min = Some(self.gap_min.map_or(since, |min| min.min(since))),
            None => self.round_trips.push(round_trip),
        }
        self.note(11, node, page);
        let at = reach + self.web.server_micros(host) + round_trip / 2;
        self.after(at, Event::Response { node, page });
    }

    /// How long it takes to be allowed to ask a host.
    fn lease(&mut self, node: u32, host: u32) -> u64 {
        let owner = self.ring.owner_of_part(host, 0);
        let now = self.now;
        let leases = &mut self.machines[node as usize].leases;
        if owner == node || leases.get(&host).is_some_and(|until| *until > now) {
            return 0;
        }
        leases.insert(host, now + LEASE_LASTS);
        self.charge(node, owner, Kind::Lease, LEASE_BYTES);
        self.charge(owner, node, Kind::Lease, LEASE_BYTES);
        2 * self.web.latency_micros(node, owner)
    }

    fn receive_page(&mut self, node: u32, page: u32) {
        let takes = self.takes(self.web.bytes(page));
        let here = self.machines[node as usize].receive(self.now, takes);
        let drawn = mix(self.options.seed ^ mix(6 << 40 | u64::from(node)));
        let slowness = (SLOWNESS_SIGMA * normal_of(drawn, mix(drawn))).exp();
        self.after(here + (self.options.handling_ms * 1000.0 * slowness) as u64, Event::Done { node, page });
    }

    fn finish(&mut self, node: u32, page: u32) {
        self.note(12, node, page);
        self.done_at = self.now;
        let times = &mut self.fetched[page as usize];
        *times = times.saturating_add(1);
        self.fetched_twice += u64::from(*times > 1);
        let bytes = self.web.bytes(page);
        let machine = &mut self.machines[node as usize];
        machine.busy -= 1;
        machine.fetched += 1;
        machine.crawled_bytes += bytes;
        if !self.options.is_paper {
            self.archive(node, page, (bytes as f64 * ARCHIVED_SHARE) as u64);
        }
        let mut links = Vec::new();
        self.web.links(page, &mut links);
        for link in links {
            if self.machines[node as usize].sent.meet(link, SENT_MAX) {
                continue;
            }
            let (to, item) = (self.destination(node, link), Item { page: link, redirects: 0 });
            if to == node { self.take_link(node, node, item) } else { self.post(node, to, Kind::Link, item) }
        }
        self.start(node);
    }

    /// What was fetched elsewhere goes to its place.
    fn archive(&mut self, node: u32, page: u32, bytes: u64) {
        self.hosts[self.web.host_of(page) as usize].kept_bytes += bytes;
        let owner = self.record_owner(page);
        if owner != node {
            self.send(owner, Parcel { from: node, kind: Kind::Archive, bytes, items: Vec::new() });
        }
    }

    /// Whether nothing was left to do.
    pub(super) fn is_over(&self) -> bool {
        self.events.is_empty()
    }
}
