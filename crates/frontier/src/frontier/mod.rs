//! The machine: what is known, what is due, what is in flight.
//!
//! Inputs are `handle_*`, the output is [`Frontier::poll`], everything else is asked for. [`admit`](self::admit) decides which
//! links are taken in, [`pick`](self::pick) which URL is next, [`finish`](self::finish) what becomes of one that was visited, [`change`](self::change) what of
//! all when the crawl is changed.

mod admit;
mod change;
mod finish;
mod pick;
mod share;

use crate::anchors::{self, Anchors};
use crate::error::{Error, Result};
use crate::host::Host;
use crate::keys::{self, HostHash, Ticket, UrlHash};
use crate::limits::{SEEN_SLOTS, SKIPS_WAITING_MAX};
use crate::record::UrlRecord;
use crate::round::Clock;
use crate::seen::Seen;
use crate::settings::{Patterns, Settings};
use crate::state::State;
use crate::table::Table;
use crate::tally::{HostTally, Tally, count_example};
use crate::territory::{Prospect, Territory};
use crate::visit::{Settled, VisitId};
use herodotus_base::Timestamp;
use herodotus_page::{Robots, WebUrl};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

/// What is left to do, and how much was done: for the line that a person watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub urls: u64,
    /// URLs that wait to be fetched for the first time, or again after a failure.
    pub waiting: u64,
    pub in_flight: u64,
    pub hosts: u64,
}

#[derive(Debug)]
pub struct Frontier<T> {
    settings: Settings,
    patterns: Patterns,
    state: State<T>,
    kept: Kept,
    /// Counts of this run alone.
    run: Tally,
    run_began: Timestamp,
    hosts: HashMap<HostHash, Host>,
    domains: HashMap<u64, u32>,
    /// Hosts that wait for their time.
    schedule: BinaryHeap<Reverse<(i64, u64, HostHash)>>,
    /// Keeps hosts of one moment in the order in which they came: every host gets its turn.
    turn: u64,
    addresses: HashMap<IpAddr, Address>,
    robots: HashMap<u64, Origin>,
    robots_bytes: usize,
    in_flight: HashMap<VisitId, InFlight>,
    next_id: u64,
    seen: Seen,
    refused: Seen,
    /// The host asked for last, and its hash: links come in runs of one host.
    last_host: (Box<str>, HostHash),
    skips: VecDeque<Settled>,
    waiting: u64,
    pages_begun: u64,
    /// Pages wait that the limit of this run holds back.
    held_back: bool,
    /// Which URLs are ours, in a crawl that many machines make.
    territory: Option<Arc<dyn Territory>>,
    /// For other machines, since they were last asked for.
    prospects: Vec<Prospect>,
    /// What was taken in or visited since it was last asked for; only where there is a territory.
    news: Vec<UrlRecord>,
}

/// What concerns the whole crawl, as it lies in the table.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    form: u8,
    clock: Clock,
    anchors: Anchors,
    next_order: u64,
    urls: u64,
    total: Tally,
    /// Of a part of a ring's crawl: what was counted since it was last begun, whoever was started again meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Tally>,
    /// The same part's settings, by which it was judged and sorted.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Settings>,
}

const FORM: u8 = 1;

#[derive(Debug, Default)]
struct Address {
    in_flight: u32,
    next_at_ms: i64,
}

/// What an origin's robots.txt said.
#[derive(Debug)]
enum Origin {
    Asked,
    Known { rules: Arc<Robots>, until_ms: i64 },
    Unavailable { code: &'static str, until_ms: i64 },
}

#[derive(Debug)]
struct InFlight {
    host: HostHash,
    /// `None` for robots.txt.
    page: Option<(Ticket, Box<UrlRecord>)>,
    origin: u64,
    /// The host's turn was given back already.
    answered: bool,
    /// When the host might have been asked before this turn was taken.
    before_ms: i64,
}

impl<T: Table> Frontier<T> {
    /// Goes on from what the table holds, or begins. A crawl that was complete begins its next round.
    pub fn open(table: T, settings: Settings, now: Timestamp) -> Result<Self> {
        let mut frontier = Self::peek(table, settings, now)?;
        let clock = &mut frontier.kept.clock;
        if clock.round == 0 || clock.complete {
            clock.begin(&frontier.settings, now);
        } else {
            clock.extend(&frontier.settings);
        }
        Ok(frontier)
    }

    /// Opens what the table holds to look at it: no round is begun.
    pub fn peek(table: T, settings: Settings, now: Timestamp) -> Result<Self> {
        settings.check()?;
        let state = State::new(table);
        let kept: Kept = match state.get(&keys::meta("kept"))? {
            None => Kept { form: FORM, ..Kept::default() },
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|e| Error::damaged(e.to_string()))?,
        };
        if kept.form > FORM {
            return Err(Error::Newer { found: kept.form, known: FORM });
        }
        let mut frontier = Self {
            patterns: settings.patterns()?,
            settings,
            state,
            kept,
            run: Tally::default(),
            run_began: now,
            hosts: HashMap::new(),
            domains: HashMap::new(),
            schedule: BinaryHeap::new(),
            turn: 0,
            addresses: HashMap::new(),
            robots: HashMap::new(),
            robots_bytes: 0,
            in_flight: HashMap::new(),
            next_id: 0,
            seen: Seen::new(SEEN_SLOTS),
            refused: Seen::new(SEEN_SLOTS / 4),
            last_host: ("".into(), HostHash(keys::hash(""))),
            skips: VecDeque::new(),
            waiting: 0,
            pages_begun: 0,
            held_back: false,
            territory: None,
            prospects: Vec::new(),
            news: Vec::new(),
        };
        frontier.read_hosts(now)?;
        Ok(frontier)
    }

    fn read_hosts(&mut self, now: Timestamp) -> Result<()> {
        const HOSTS_AT_ONCE: usize = 1_024;
        let (mut from, end) = (b"h".to_vec(), keys::after(b"h".to_vec()));
        loop {
            let entries = self.state.scan(&from, &end, HOSTS_AT_ONCE)?;
            let Some((last, _)) = entries.last() else { return Ok(()) };
            from = [last.as_slice(), &[0]].concat();
            for (key, value) in entries {
                let hash = key.get(1..9).and_then(|b| b.try_into().ok()).map(u64::from_be_bytes);
                let hash = HostHash(hash.ok_or_else(|| Error::damaged("a host without a name"))?);
                let host = Host::decode(&value)?;
                self.waiting += host.waiting;
                *self.domains.entry(keys::hash(anchors::domain(&host.name))).or_default() += 1;
                self.hosts.insert(hash, host);
                self.schedule_host(hash, now);
            }
        }
    }

    /// Puts a host in line, if it may take another request and does not stand there for an earlier moment.
    fn schedule_host(&mut self, hash: HostHash, at: Timestamp) {
        let Some(host) = self.hosts.get_mut(&hash) else { return };
        let at_ms = host.next_at_ms.max(at.millis());
        if host.in_flight >= self.settings.concurrency || host.scheduled_at_ms.is_some_and(|known| known <= at_ms) {
            return;
        }
        host.scheduled_at_ms = Some(at_ms);
        self.turn += 1;
        self.schedule.push(Reverse((at_ms, self.turn, hash)));
    }

    fn host_hash(&mut self, url: &WebUrl) -> HostHash {
        if *self.last_host.0 != *url.host() {
            self.last_host = (url.host().into(), HostHash(keys::hash(url.host())));
        }
        self.last_host.1
    }

    fn record(&self, host: HostHash, url: UrlHash) -> Result<Option<UrlRecord>> {
        self.state.get(&keys::url(host, url))?.map(|bytes| UrlRecord::decode(&bytes)).transpose()
    }

    fn save(&mut self, host: HostHash, url: UrlHash, record: &UrlRecord) {
        self.state.put(keys::url(host, url), record.encode());
    }

    fn save_host(&mut self, hash: HostHash) {
        if let Some(host) = self.hosts.get(&hash) {
            self.state.put(keys::host(hash), host.encode());
        }
    }

    /// Counts a URL that is left out, and tells whoever listens.
    fn skip(&mut self, url: &WebUrl, reason: &str, seed: bool) {
        count_example(&mut self.run.skipped, reason, url.as_str());
        count_example(&mut self.kept.total.skipped, reason, url.as_str());
        if self.skips.len() < SKIPS_WAITING_MAX {
            self.skips.push_back(Settled { url: url.clone(), reason: reason.to_owned(), seed });
        }
    }

    fn both(&mut self, change: impl Fn(&mut Tally)) {
        change(&mut self.run);
        change(&mut self.kept.total);
    }

    /// Writes what has changed, so that it survives the death of the process.
    pub fn flush(&mut self) -> Result<()> {
        if self.state.changed() == 0 {
            return Ok(());
        }
        if self.territory.is_some() {
            (self.kept.run, self.kept.settings) = (Some(self.run.clone()), Some(self.settings.clone()));
        }
        let kept = serde_json::to_vec(&self.kept).map_err(|e| Error::damaged(e.to_string()))?;
        self.state.put(keys::meta("kept"), kept);
        self.state.flush()
    }

    /// Writes, and waits until the disk has it.
    pub fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.state.sync()
    }

    /// The table as it was last written: what a process that dies now would leave.
    pub fn into_table(self) -> T {
        self.state.into_table()
    }

    /// URLs that were left out since this was last asked.
    pub fn take_skips(&mut self) -> Vec<Settled> {
        self.skips.drain(..).collect()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Counts of this run.
    pub fn run(&self) -> &Tally {
        &self.run
    }

    /// Counts of all runs.
    pub fn total(&self) -> &Tally {
        &self.kept.total
    }

    pub fn round(&self, now: Timestamp) -> u32 {
        self.kept.clock.round_at(&self.settings, now)
    }

    /// Rounds begun, by all runs.
    pub fn rounds_begun(&self) -> u32 {
        self.kept.clock.round
    }

    pub fn is_complete(&self) -> bool {
        self.kept.clock.complete
    }

    pub fn progress(&self) -> Progress {
        Progress {
            urls: self.kept.urls,
            waiting: self.waiting,
            in_flight: self.in_flight.len() as u64,
            hosts: self.hosts.len() as u64,
        }
    }

    /// Hosts with what was done of each and what waits, the busiest first.
    pub fn busiest_hosts(&self, most: usize) -> Vec<HostTally> {
        let work = |host: &Host| host.fetched + host.waiting;
        let mut hosts: Vec<_> = self.hosts.values().filter(|host| work(host) + host.failed > 0).collect();
        hosts.sort_unstable_by(|a, b| work(b).cmp(&work(a)).then_with(|| a.name.cmp(&b.name)));
        hosts.truncate(most);
        let tally = |host: &Host| HostTally {
            name: host.name.to_string(),
            fetched: host.fetched,
            failed: host.failed,
            bytes: host.bytes,
            waiting: host.waiting,
        };
        hosts.into_iter().map(tally).collect()
    }

    /// What is known of a URL.
    pub fn url(&mut self, url: &WebUrl) -> Result<Option<UrlRecord>> {
        let host = self.host_hash(url);
        self.record(host, UrlHash(keys::hash(url.as_str())))
    }

    /// Every URL known, `most` at a time; `from` is what the last call gave back.
    pub fn urls(&mut self, from: Option<Vec<u8>>, most: usize) -> Result<(Vec<UrlRecord>, Option<Vec<u8>>)> {
        let entries = self.state.scan(&from.unwrap_or_else(|| b"u".to_vec()), &keys::after(b"u".to_vec()), most)?;
        let next = entries.last().map(|(key, _)| [key.as_slice(), &[0]].concat());
        let records = entries.iter().map(|(_, value)| UrlRecord::decode(value)).collect::<Result<_>>()?;
        Ok((records, next))
    }
}
