#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]
//! A web in memory and a clock that jumps: what drives the frontier in tests.

use herodotus_base::Timestamp;
use herodotus_frontier::{
    Answer, End, Errand, Frontier, MemoryTable, Next, Outcome, Pressure, RobotsAnswer, Settings, Version, Visit,
};
use herodotus_page::{Link, LinkKind, Robots, WebUrl};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub fn url(text: &str) -> WebUrl {
    WebUrl::parse(text).unwrap()
}

pub fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis_clamped(1_800_000_000_000 + ms)
}

#[derive(Clone, Debug)]
pub struct Page {
    status: u16,
    links: Vec<(String, LinkKind)>,
    busy: u32,
    pressure: Option<Pressure>,
}

pub fn page(links: &[(&str, LinkKind)]) -> Page {
    let links = links.iter().map(|(text, kind)| ((*text).to_owned(), *kind)).collect();
    Page { status: 200, links, busy: 0, pressure: None }
}

impl Page {
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Busy so many times before it answers.
    pub fn busy(mut self, times: u32, pressure: Pressure) -> Self {
        (self.busy, self.pressure) = (times, Some(pressure));
        self
    }
}

#[derive(Clone, Debug, Default)]
pub struct Site {
    pages: BTreeMap<String, Page>,
    pub robots: String,
    pub took_ms: u64,
    pub addresses: HashMap<String, String>,
    pub dead_hosts: BTreeSet<String>,
    /// Pages that are different each time.
    pub restless: BTreeSet<String>,
}

impl Site {
    pub fn add(&mut self, url: &str, page: Page) {
        self.pages.insert(url.to_owned(), page);
    }
}

#[derive(Clone, Debug)]
pub struct Logged {
    pub url: String,
    pub at_ms: i64,
}

pub struct World {
    site: Site,
    pub frontier: Frontier<MemoryTable>,
    pub log: Vec<Logged>,
    pub began_ms: i64,
    pub now_ms: i64,
    asked: HashMap<String, u32>,
    /// Dies after so many visits were finished.
    pub kill_after: Option<u64>,
}

impl World {
    pub fn new(site: Site, settings: Settings, table: MemoryTable) -> Self {
        let frontier = Frontier::open(table, settings, at(0)).unwrap();
        let began_ms = at(0).millis();
        Self { site, frontier, log: Vec::new(), began_ms, now_ms: began_ms, asked: HashMap::new(), kill_after: None }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis_clamped(self.now_ms)
    }

    pub fn run(&mut self, seeds: &[&str]) -> End {
        self.drive(seeds).unwrap()
    }

    /// URLs that were in flight when it was killed.
    pub fn run_until_killed(&mut self, seeds: &[&str]) -> BTreeSet<String> {
        self.drive(seeds).unwrap_err()
    }

    fn drive(&mut self, seeds: &[&str]) -> Result<End, BTreeSet<String>> {
        let seeds: Vec<WebUrl> = seeds.iter().map(|text| url(text)).collect();
        self.frontier.handle_seeds(self.now(), &seeds).unwrap();
        // What is on its way, by the moment it is back.
        let mut coming: BTreeMap<(i64, u64), Visit> = BTreeMap::new();
        let (mut finished, mut steps) = (0, 0);
        loop {
            steps += 1;
            assert!(steps < 1_000_000, "this does not end");
            let next = self.frontier.poll(self.now()).unwrap();
            let wait_ms = match next {
                Next::Visit(visit) => {
                    self.log.push(Logged { url: visit.url.as_str().to_owned(), at_ms: self.now_ms });
                    let back = self.now_ms + self.site.took_ms.max(1) as i64;
                    coming.insert((back, visit.id.0), *visit);
                    continue;
                }
                Next::Settled(_) => continue,
                Next::Wait(until) => Some(until.millis()),
                Next::Busy => None,
                Next::Done(end) => {
                    self.frontier.sync().unwrap();
                    return Ok(end);
                }
            };
            let back = coming.first_key_value().map(|((at, _), _)| *at);
            let event = [wait_ms, back].into_iter().flatten().min().expect("something must happen");
            self.now_ms = self.now_ms.max(event);
            while let Some(entry) = coming.first_entry().filter(|entry| entry.key().0 <= self.now_ms) {
                if self.kill_after.is_some_and(|after| finished >= after) {
                    return Err(coming.values().map(|visit| visit.url.as_str().to_owned()).collect());
                }
                let visit = entry.remove();
                self.answer(&visit);
                finished += 1;
                self.frontier.flush().unwrap();
            }
        }
    }

    fn answer(&mut self, visit: &Visit) {
        let now = self.now();
        let host = visit.url.host();
        let dead = self.site.dead_hosts.contains(host);
        let address = self.site.addresses.get(host).map_or("192.0.2.200", String::as_str);
        let text = visit.url.as_str();
        let times = self.asked.entry(text.to_owned()).or_default();
        *times += 1;
        let found = self.site.pages.get(text).cloned();
        let busy = found.as_ref().is_some_and(|page| *times <= page.busy);
        let answer = Answer {
            address: (!dead).then(|| address.parse().unwrap()),
            stranger: true,
            took_ms: self.site.took_ms,
            pressure: found.as_ref().and_then(|page| page.pressure).filter(|_| busy),
            reached: !dead,
        };
        self.frontier.handle_answer(now, visit.id, &answer);
        if visit.errand == Errand::Robots {
            let robots = match dead {
                true => RobotsAnswer::Unavailable { code: "dns", unreachable: true, temporary: false },
                false => RobotsAnswer::Rules(Robots::parse(self.site.robots.as_bytes(), "herodotus")),
            };
            return self.frontier.handle_robots(now, visit.id, robots).unwrap();
        }
        let page = found.unwrap_or_else(|| page(&[]).status(404));
        let restless = self.site.restless.contains(text);
        let mut digest = [page.status as u8; 16];
        if restless {
            digest[..4].copy_from_slice(&times.to_be_bytes());
        }
        let version = match visit.digest {
            _ if busy => Version::Busy,
            None => Version::New,
            Some(_) if restless => Version::Changed,
            Some(_) if page.status == 200 => Version::NotModified,
            Some(known) if known == digest => Version::Same,
            Some(_) => Version::Changed,
        };
        let links = page.links.iter().map(|(text, kind)| Link { url: url(text), kind: *kind, nofollow: false });
        let links: Vec<Link> = links.filter(|_| matches!(version, Version::New | Version::Changed)).collect();
        let outcome = Outcome::Response {
            status: if busy { 503 } else { page.status },
            media: "text/html".to_owned(),
            bytes: 100,
            version,
            etag: None,
            last_modified: None,
            digest,
            truncated: None,
        };
        self.frontier.handle_finished(now, visit.id, &outcome, &links).unwrap();
    }

    /// How often each URL was asked for, robots.txt aside.
    pub fn visited(&self) -> BTreeMap<String, u32> {
        let mut visited = BTreeMap::new();
        for logged in self.log.iter().filter(|logged| !logged.url.ends_with("/robots.txt")) {
            *visited.entry(logged.url.clone()).or_default() += 1;
        }
        visited
    }

    /// Times between requests to a host.
    pub fn gaps(&self, host: &str) -> Vec<i64> {
        let times: Vec<i64> = self.log.iter().filter(|l| url(&l.url).host() == host).map(|l| l.at_ms).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    pub fn elapsed_ms(&self) -> i64 {
        self.now_ms - self.began_ms
    }

    pub fn into_table(self) -> MemoryTable {
        self.frontier.into_table()
    }
}
