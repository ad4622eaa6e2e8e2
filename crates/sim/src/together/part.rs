//! One simulated machine's part of the crawl: what `node::crawl::engine` does with a frontier, without fetching.

use super::web::Web;
use crate::chance::Chance;
use crate::links::Disk;
use herodotus_base::{Id, Timestamp};
use herodotus_frontier::{
    Answer, Frontier, Next, Outcome, Prospect, Scope, Settings, Span, Territory, UrlRecord, Version, VisitId,
};
use herodotus_page::WebUrl;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Visits at once.
const REQUESTS: usize = 4;
/// How often what was written is brought to the disk for good.
const SYNC_EVERY_MS: i64 = 3_000;

type Stretch = Option<(Id, Id)>;

/// What is a machine's own: its arc, and of that what it knows all of.
#[derive(Debug, Default)]
pub(super) struct Land(Mutex<(Stretch, Stretch)>);

impl Land {
    pub(super) fn set(&self, arc: Option<(Id, Id)>, here: Option<(Id, Id)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (arc, here);
    }

    pub(super) fn owns(&self, place: Id) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.is_some_and(|(from, to)| place.is_in(from, to))
    }
}

impl Territory for Land {
    fn holds(&self, url: &WebUrl) -> bool {
        let (arc, here) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = super::machine::place_of(url.as_str());
        let is_in = |arc: Option<(Id, Id)>| arc.is_some_and(|(from, to)| place.is_in(from, to));
        is_in(arc) && is_in(here)
    }
}

#[derive(Debug)]
pub(super) struct Part {
    pub(super) version: u64,
    pub(super) run: u32,
    frontier: Frontier<Disk>,
    /// What is under way, and until when.
    visits: BTreeMap<VisitId, (i64, String)>,
    pub(super) activity: u64,
    is_done: bool,
    /// When there is something to do again, as far as is known.
    wake: Option<i64>,
    synced_ms: i64,
}

pub(super) fn settings(retries: u8) -> Settings {
    Settings {
        scope: Scope::Any,
        delay: Span(50),
        ignore_robots: true,
        retries,
        retry_delay: Span(700),
        ..Settings::default()
    }
}

/// For the frontier, whose times are those of the world.
pub(super) fn at(wall_ms: i64) -> Timestamp {
    Timestamp::from_millis_clamped(1_800_000_000_000 + wall_ms)
}

impl Part {
    pub(super) fn open(disk: Disk, order: &super::Order, land: Arc<Land>, first_activity: u64, wall_ms: i64) -> Self {
        let begun = (at(order.began_ms), order.run);
        let frontier = Frontier::open_part(disk, settings(order.retries), land, begun, at(wall_ms));
        let mut part = Self {
            version: order.edition.0,
            run: order.run,
            frontier: frontier.expect("a disk in memory"),
            visits: BTreeMap::new(),
            activity: first_activity,
            is_done: false,
            wake: None,
            synced_ms: wall_ms,
        };
        part.change(wall_ms, order);
        part
    }

    /// The disk as it is: what was not written is gone.
    pub(super) fn into_disk(self) -> Disk {
        self.frontier.into_table()
    }

    pub(super) fn take_seeds(&mut self, wall_ms: i64, order: &super::Order) {
        let seeds: Vec<WebUrl> = order.seeds.iter().filter_map(|text| WebUrl::parse(text).ok()).collect();
        self.frontier.handle_seeds(at(wall_ms), &seeds).expect("a disk in memory");
    }

    pub(super) fn change(&mut self, wall_ms: i64, order: &super::Order) {
        self.version = order.edition.0;
        let seeds: Vec<WebUrl> = order.seeds.iter().filter_map(|text| WebUrl::parse(text).ok()).collect();
        self.frontier.change(at(wall_ms), settings(order.retries), &seeds, &[]).expect("settings of ours");
    }

    pub(super) fn look_again(&mut self, wall_ms: i64) {
        self.activity += 1;
        self.frontier.look_again(at(wall_ms));
    }

    pub(super) fn adopt(&mut self, wall_ms: i64, records: &[UrlRecord]) {
        let adopted = self.frontier.adopt(at(wall_ms), records).expect("a disk in memory");
        self.activity += adopted as u64;
        self.frontier.flush().expect("a disk in memory");
    }

    /// Takes in what others found. Those that are not ours come back.
    pub(super) fn take_in(&mut self, wall_ms: i64, prospects: &[Prospect]) -> Vec<Prospect> {
        self.activity += 1;
        self.frontier.handle_prospects(at(wall_ms), prospects).expect("a disk in memory")
    }

    pub(super) fn sync(&mut self) {
        self.frontier.sync().expect("a disk in memory");
    }

    pub(super) fn flush(&mut self, wall_ms: i64) {
        self.frontier.flush().expect("a disk in memory");
        if wall_ms >= self.synced_ms + SYNC_EVERY_MS {
            self.sync();
            self.synced_ms = wall_ms;
        }
    }

    /// For others, and what is known anew.
    pub(super) fn take_shared(&mut self) -> (Vec<Prospect>, Vec<UrlRecord>) {
        let shared = (self.frontier.take_prospects(), self.frontier.take_news());
        self.activity += u64::from(!shared.0.is_empty() || !shared.1.is_empty());
        shared
    }

    /// Ends visits whose time has come, and begins what is due. Which URLs were visited.
    pub(super) fn work(
        &mut self,
        wall_ms: i64,
        web: &Web,
        chance: &mut Chance,
        unlucky: &mut BTreeSet<String>,
    ) -> Vec<String> {
        let over: Vec<VisitId> =
            self.visits.iter().filter(|(_, (due, _))| *due <= wall_ms).map(|(id, _)| *id).collect();
        let mut visited = Vec::new();
        for id in over {
            let Some((_, url)) = self.visits.remove(&id) else { continue };
            self.frontier.handle_answer(at(wall_ms), id, &Answer { took_ms: 1, reached: true, ..Answer::default() });
            let is_lost = chance.happens(0.05) && unlucky.insert(url.clone());
            let outcome = if is_lost { Outcome::Failure { code: "reset", temporary: true } } else { page() };
            let links = if is_lost { &[] } else { web.links(&url) };
            self.frontier.handle_finished(at(wall_ms), id, &outcome, links).expect("a disk in memory");
            if !is_lost {
                visited.push(url);
            }
        }
        (self.is_done, self.wake) = (false, None);
        while self.visits.len() < REQUESTS {
            match self.frontier.poll(at(wall_ms)).expect("a disk in memory") {
                Next::Visit(visit) => {
                    self.activity += 1;
                    let longest = if chance.happens(0.1) { 2_500 } else { 300 };
                    let due = wall_ms + chance.between(10, longest) as i64;
                    self.visits.insert(visit.id, (due, visit.url.as_str().to_owned()));
                }
                Next::Settled(_) => {}
                Next::Wait(until) => {
                    self.wake = Some((until.millis() - at(0).millis()).max(wall_ms + 1));
                    break;
                }
                Next::Busy => break,
                Next::Done(_) => {
                    self.is_done = true;
                    break;
                }
            }
        }
        visited
    }

    pub(super) fn is_idle(&self) -> bool {
        self.is_done && self.visits.is_empty()
    }

    pub(super) fn due_ms(&self) -> Option<i64> {
        self.visits.values().map(|(due, _)| *due).chain(self.wake).min()
    }
}

fn page() -> Outcome {
    Outcome::Response {
        status: 200,
        media: "text/html".to_owned(),
        bytes: 100,
        version: Version::New,
        etag: None,
        last_modified: None,
        digest: [1; 16],
        truncated: None,
    }
}
