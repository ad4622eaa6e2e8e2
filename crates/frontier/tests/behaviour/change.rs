//! A crawl of a ring that is changed while it goes on: what waits is judged and sorted anew, and pages whose links were left out are read again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use herodotus_frontier::{
    Answer, Frontier, MemoryTable, Next, Outcome, Prospect, Rank, Scope, Settings, Span, Territory, Version,
};
use herodotus_page::{Link, LinkKind, WebUrl};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::{at, url};

#[derive(Debug)]
struct Everything;

impl Territory for Everything {
    fn holds(&self, _: &WebUrl) -> bool {
        true
    }
}

/// A part of a crawl, a web and a clock.
struct Crawl {
    web: BTreeMap<&'static str, Vec<(&'static str, LinkKind)>>,
    frontier: Frontier<MemoryTable>,
    now_ms: i64,
}

const SEED: &str = "http://a.example/";

fn settings() -> Settings {
    Settings { delay: Span(100), ignore_robots: true, ..Settings::default() }
}

fn open(table: MemoryTable, settings: &Settings, now_ms: i64) -> Frontier<MemoryTable> {
    let mut frontier =
        Frontier::open_part(table, settings.clone(), Arc::new(Everything), (at(0), 1), at(now_ms)).unwrap();
    frontier.change(at(now_ms), settings.clone(), &[url(SEED)], &[]).unwrap();
    frontier
}

impl Crawl {
    fn new(web: &[(&'static str, &[&'static str])], settings: &Settings) -> Self {
        let page = |text: &&'static str| (*text, LinkKind::Page);
        let web = web.iter().map(|(name, links)| (*name, links.iter().map(page).collect())).collect();
        Self { web, frontier: open(MemoryTable::default(), settings, 0), now_ms: 0 }
    }

    /// The next visits, as many as are wanted or there are: what was asked for, a star where all links count.
    fn visits(&mut self, most: usize) -> Vec<String> {
        let mut visited = Vec::new();
        while visited.len() < most {
            match self.frontier.poll(at(self.now_ms)).unwrap() {
                Next::Visit(visit) => {
                    self.now_ms += 10;
                    let answer = Answer { reached: true, ..Answer::default() };
                    self.frontier.handle_answer(at(self.now_ms), visit.id, &answer);
                    let links = self.web.get(visit.url.as_str()).filter(|_| visit.first).into_iter().flatten();
                    let links = links.map(|(text, kind)| Link { url: url(text), kind: *kind, nofollow: false });
                    let outcome = Outcome::Response {
                        status: 200,
                        media: "text/html".to_owned(),
                        bytes: 10,
                        version: Version::New,
                        etag: None,
                        last_modified: None,
                        digest: [1; 16],
                        truncated: None,
                    };
                    let links: Vec<Link> = links.collect();
                    self.frontier.handle_finished(at(self.now_ms), visit.id, &outcome, &links).unwrap();
                    let text = visit.url.as_str().strip_prefix("http://").unwrap();
                    visited.push(format!("{text}{}", if visit.first { "*" } else { "" }));
                }
                Next::Settled(_) => {}
                Next::Wait(until) => self.now_ms = until.millis() - at(0).millis(),
                Next::Busy => panic!("nothing is in flight"),
                Next::Done(_) => break,
            }
        }
        visited
    }

    fn change(&mut self, settings: Settings) {
        self.frontier.change(at(self.now_ms), settings, &[url(SEED)], &[]).unwrap();
    }
}

const SITE: [(&str, &[&str]); 2] = [
    (SEED, &["http://a.example/x/1", "http://a.example/y/1", "http://a.example/x/2", "http://a.example/y/2"]),
    ("http://a.example/y/1", &["http://a.example/x/3", "http://b.example/", "http://a.example/y/3"]),
];

#[test]
fn what_waits_and_is_no_longer_wanted_is_not_asked_for() {
    let mut crawl = Crawl::new(&SITE, &settings());
    assert_eq!(crawl.visits(1), ["a.example/*"]);
    crawl.change(Settings { exclude: vec!["/x/".into()], ..settings() });
    assert_eq!(crawl.visits(9), ["a.example/y/1*", "a.example/y/2*", "a.example/y/3*"]);
    assert_eq!(crawl.frontier.run().skipped["excluded"].urls, 3, "two that waited, one that was found later");
    // Whoever found it by older settings.
    let late = Prospect {
        url: url("http://a.example/x/9"),
        kind: LinkKind::Page,
        depth: 1,
        hops: 0,
        redirects: 0,
        seed: false,
    };
    crawl.frontier.handle_prospects(at(crawl.now_ms), std::slice::from_ref(&late)).unwrap();
    assert_eq!(crawl.visits(9), [""; 0]);
    // And when it is wanted again, it is visited in this very round; and so is what nobody followed then.
    crawl.change(settings());
    let mut visited = crawl.visits(20);
    visited.sort();
    let expected = ["a.example/x/1*", "a.example/x/2*", "a.example/x/3*", "a.example/x/9*", "a.example/y/1*"];
    assert_eq!(visited, expected);
}

#[test]
fn a_new_rank_puts_what_waits_in_a_new_order() {
    let mut crawl = Crawl::new(&SITE, &settings());
    assert_eq!(crawl.visits(2), ["a.example/*", "a.example/x/1*"]);
    crawl.change(Settings { rank: vec![Rank { pattern: "/y/".into(), steps: -5 }], ..settings() });
    let expected = ["a.example/y/1*", "a.example/y/2*", "a.example/y/3*", "a.example/x/2*", "a.example/x/3*"];
    assert_eq!(crawl.visits(9), expected);
    assert_eq!(crawl.frontier.progress().waiting, 0);
}

#[test]
fn a_wider_scope_reads_pages_again_whose_links_were_left_out_and_no_others() {
    let mut crawl = Crawl::new(&SITE, &settings());
    assert_eq!(crawl.visits(99).len(), 7);
    crawl.change(Settings { scope: Scope::Any, ..settings() });
    assert_eq!(crawl.visits(99), ["a.example/y/1*", "b.example/*"]);
    // A limit, or less of the web, is nothing to read a page again for.
    crawl.change(Settings { scope: Scope::Any, limit: Some(900), depth: Some(9), ..settings() });
    assert_eq!(crawl.visits(99), [""; 0]);
}

#[test]
fn what_a_seed_redirects_to_elsewhere_is_within_the_scope_once_it_is_told() {
    let mut crawl = Crawl::new(&SITE, &settings());
    // Another machine read the seed, and followed it: from here b.example is out of scope.
    assert_eq!(crawl.visits(99).len(), 7);
    let (told, lead) = (settings(), url("http://b.example/start"));
    crawl.frontier.change(at(crawl.now_ms), told, &[url(SEED)], std::slice::from_ref(&lead)).unwrap();
    assert_eq!(crawl.visits(99), ["a.example/y/1*", "b.example/*"]);
    assert_eq!(crawl.frontier.leads(), ["http://b.example/start"]);
    // Also in other words, when the scope becomes another.
    crawl
        .frontier
        .change(at(crawl.now_ms), Settings { scope: Scope::Domain, ..settings() }, &[url(SEED)], &[])
        .unwrap();
    let link =
        |text: &str| Prospect { url: url(text), kind: LinkKind::Page, depth: 1, hops: 0, redirects: 0, seed: false };
    let two = [link("http://www.b.example/1"), link("http://www.c.example/1")];
    crawl.frontier.handle_prospects(at(crawl.now_ms), &two).unwrap();
    assert_eq!(crawl.visits(99).last().unwrap(), "www.b.example/1*");
}

#[test]
fn what_was_judged_before_a_link_told_of_a_redirected_seed_is_judged_again_when_the_order_does() {
    let mut crawl = Crawl::new(&SITE, &settings());
    assert_eq!(crawl.visits(99).len(), 7);
    let link = |text: &str, redirects: u8| Prospect {
        url: url(text),
        kind: LinkKind::Page,
        depth: 0,
        hops: 0,
        redirects,
        seed: redirects > 0,
    };
    // Whoever found it knew where the seed leads; here it is out of scope. Then the redirected seed comes, and then the order.
    crawl.frontier.handle_prospects(at(crawl.now_ms), &[link("http://b.example/early", 0)]).unwrap();
    assert_eq!(crawl.visits(99), [""; 0]);
    crawl.frontier.handle_prospects(at(crawl.now_ms), &[link("http://b.example/start", 1)]).unwrap();
    assert_eq!(crawl.visits(99), ["b.example/start*"]);
    let lead = url("http://b.example/start");
    crawl.frontier.change(at(crawl.now_ms), settings(), &[url(SEED)], std::slice::from_ref(&lead)).unwrap();
    let mut visited = crawl.visits(99);
    visited.sort();
    assert_eq!(visited, ["a.example/y/1*", "b.example/*", "b.example/early*"]);
    // Once is enough.
    crawl.frontier.change(at(crawl.now_ms), settings(), &[url(SEED)], &[lead]).unwrap();
    assert_eq!(crawl.visits(99), [""; 0]);
}

#[test]
fn a_part_that_is_opened_again_counts_on_and_sees_what_was_changed_meanwhile() {
    let mut crawl = Crawl::new(&SITE, &settings());
    assert_eq!(crawl.visits(2), ["a.example/*", "a.example/x/1*"]);
    crawl.frontier.sync().unwrap();
    let changed = Settings { rank: vec![Rank { pattern: "/y/".into(), steps: -5 }], ..settings() };
    crawl.frontier = open(crawl.frontier.into_table(), &changed, crawl.now_ms);
    assert_eq!(crawl.frontier.run().fetched, 2);
    assert_eq!(crawl.visits(2), ["a.example/y/1*", "a.example/y/2*"]);
}

#[test]
fn a_process_that_dies_leaves_nothing_on_the_disk_that_its_clock_does_not_know() {
    let mut crawl = Crawl::new(&[(SEED, &["http://a.example/1", "http://a.example/2"])], &settings());
    crawl.frontier.flush().unwrap();
    // It looks into its queues after each visit, and dies before anybody let it write.
    assert_eq!(crawl.visits(9).len(), 3);
    let Crawl { web, frontier, now_ms } = crawl;
    let (table, begun) = (frontier.into_table(), (at(now_ms), 2));
    let mut frontier = Frontier::open_part(table, settings(), Arc::new(Everything), begun, at(now_ms)).unwrap();
    frontier.change(at(now_ms), settings(), &[url(SEED)], &[]).unwrap();
    // What had been written without the clock was due in a day, and not in the second run.
    assert_eq!(Crawl { web, frontier, now_ms }.visits(9).len(), 3);
}
