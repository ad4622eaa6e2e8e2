//! One crawl by many machines: everything is archived once, changes are found, and a machine that dies is followed by another.

use crate::machines::{Cluster, WAIT_MAX};
use herodotus_testweb::{Config, Server, Web};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

fn web(hosts: u32, pages: u32) -> Server {
    let config = Config { hosts, pages_per_host: pages, late_percent: 0, mortal_percent: 0, ..Config::default() };
    let server = Server::start(Web::new(config)).unwrap();
    server.record(true);
    server
}

pub(crate) fn ring(count: usize, server: &Server) -> Cluster {
    ring_with(count, server, &[])
}

pub(crate) fn ring_with(count: usize, server: &Server, more: &[&str]) -> Cluster {
    let dial = format!("*={}", server.addr());
    let arguments = ["--copies-pace", "0.01", "--allow-private", "127.0.0.0/8", "--connect-to", &dial];
    let arguments = [&arguments[..], more].concat();
    let cluster = Cluster::of(count, &["--name", "test", "--neighbours", "6", "--copies", "3"], &arguments);
    cluster.settle("joined");
    cluster
}

/// Everything that a crawl of a web should find in a round: what is allowed, and linked to by something that is.
fn truth(server: &Server, round: u32) -> BTreeSet<String> {
    let web = server.web();
    let mut waiting: Vec<String> = web.hosts().map(|host| format!("http://{host}/")).collect();
    let mut found = BTreeSet::new();
    while let Some(url) = waiting.pop() {
        let (host, path) = parts_of(&url);
        let is_there = path != "/robots.txt" && web.allowed(&path) && web.response(&host, &path, round).is_some();
        if is_there && found.insert(url) {
            waiting.extend(web.links(&host, &path, round));
            waiting.push(format!("http://{host}/sitemap.xml"));
        }
    }
    found
}

/// How often each URL was asked for, robots.txt aside.
fn asked(server: &Server) -> BTreeMap<String, u32> {
    let mut asked = BTreeMap::new();
    for request in server.log().into_iter().filter(|request| request.path != "/robots.txt") {
        *asked.entry(format!("http://{}{}", request.host, request.path)).or_default() += 1;
    }
    asked
}

/// Nothing was forgotten, and hardly anything asked for twice: only what changed hands at that moment.
fn everything_was_asked_for(server: &Server, when: &str) {
    let (asked, expected) = (asked(server), truth(server, 0));
    let missing: Vec<_> = expected.iter().filter(|url| !asked.contains_key(*url)).collect();
    assert!(missing.is_empty(), "{when}: {} of {} missing: {missing:?}", missing.len(), expected.len());
    let twice: Vec<_> = asked.iter().filter(|(_, times)| **times > 1).collect();
    println!("{when}: {} asked for, of them again: {twice:?}", asked.len());
    assert!(twice.len() * 50 <= asked.len(), "{when}: {} of {} twice: {twice:?}", twice.len(), asked.len());
}

/// A number of `/metrics`, added up over all machines.
fn sum(cluster: &Cluster, name: &str) -> u64 {
    let of = |machine: &crate::machines::Machine| {
        let (_, body) = machine.ask("/metrics").unwrap();
        let text = String::from_utf8_lossy(&body).into_owned();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
        line.unwrap_or_else(|| panic!("machine {}: no {name}: {text}", machine.number)) as u64
    };
    cluster.living().map(of).sum()
}

/// What it has cost to bring links to their owners, so far.
fn print_link_costs(cluster: &Cluster, when: &str) -> (u64, u64) {
    let links = |what: &str| sum(cluster, &format!("herodotus_links_total{{what=\"{what}\"}}"));
    let bytes = |counted: &str| sum(cluster, &format!("herodotus_link_bytes_total{{counted=\"{counted}\"}}"));
    let (taken, wire) = (links("taken"), bytes("wire"));
    let each = |bytes: u64| bytes as f64 / taken.max(1) as f64;
    println!(
        "{when}: {taken} links taken of {} found ({} lately sent, {} passed on) in {} batches ({} failed, {} refused, {} walking), {} lookups; \
         bytes a link: {:.1} packed, {:.1} with calls, {:.1} everything counted",
        links("found"),
        links("lately_sent"),
        links("passed_on"),
        sum(cluster, "herodotus_link_batches_total"),
        sum(cluster, "herodotus_link_batches_returned_total{why=\"failed\"}"),
        sum(cluster, "herodotus_link_batches_returned_total{why=\"refused\"}"),
        sum(cluster, "herodotus_link_walks_total"),
        sum(cluster, "herodotus_link_lookups_total"),
        each(bytes("packed")),
        each(bytes("called")),
        each(wire)
    );
    (taken, wire)
}

impl Cluster {
    /// Begins a crawl on a machine and waits until it is over.
    fn crawl(&self, at: usize, name: &str, seed: &str) -> Value {
        let base = ["--json", "crawl", "--together", "--scope", "any", "--delay", "0", "--concurrency", "4"];
        let done = self.command(at, &[&base[..], &["--name", name, seed]].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        serde_json::from_str(said.lines().last().unwrap()).unwrap()
    }

    pub(crate) fn waits_for_crawl(&self, at: usize, name: &str, what: &str) -> Value {
        self.waits_for_run(at, name, 1, what)
    }

    /// Until a run is complete, as that machine has heard: it may not have heard yet that another was begun.
    fn waits_for_run(&self, at: usize, name: &str, run: u64, what: &str) -> Value {
        let began = Instant::now();
        let mut last = String::new();
        while began.elapsed() < WAIT_MAX {
            let shown = self.command(at, &["--json", "ring", "crawls"]);
            last = String::from_utf8_lossy(&shown.stdout).into_owned();
            let all = last.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            if let Some(crawl) = all
                .into_iter()
                .find(|c| c["name"] == name && c["state"] == "complete" && c["run"].as_u64() >= Some(run))
            {
                println!("{what}: complete after {:.1} s", began.elapsed().as_secs_f64());
                return crawl;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("{what}: the crawl did not end: {last}");
    }
}

#[test]
fn five_machines_crawl_a_web_together_and_fetch_every_page_once() {
    let server = web(12, 12);
    let cluster = ring(5, &server);
    let first = format!("http://{}/", server.web().hosts().next().unwrap());
    let seeds: Vec<String> = server.web().hosts().map(|host| format!("http://{host}/")).collect();
    let summary = cluster.crawl(2, "all", &first);
    println!("{summary}");
    assert_eq!(summary["state"], "complete");
    let asked = asked(&server);
    let expected = truth(&server, 0);
    let missing: Vec<_> = expected.iter().filter(|url| !asked.contains_key(*url)).collect();
    assert!(missing.is_empty(), "{} of {} missing: {missing:?}", missing.len(), expected.len());
    let twice: Vec<_> = asked.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.len() * 200 <= asked.len(), "fetched twice: {twice:?}");
    assert_eq!(summary["fetched"].as_u64(), Some(asked.len() as u64));
    // Links went to their owners, all of them, and none waits.
    let (taken, _) = print_link_costs(&cluster, "five machines, small");
    assert!(taken > 0 && sum(&cluster, "herodotus_links_waiting") == 0);
    // Every machine shows every page.
    for machine in cluster.living() {
        for seed in &seeds {
            let listed = machine.get(&format!("/api/v1/versions?url={seed}"));
            assert!(listed.is_ok(), "machine {}: {seed}: {listed:?}", machine.number);
        }
    }
    // The next time only what has changed is new.
    server.set_round(1);
    server.record(true);
    cluster.waits_for_crawl(4, "all", "the other machine knows");
    let summary = cluster.crawl(4, "all", &first);
    let changed = truth(&server, 1).iter().filter(|url| has_changed(&server, url)).count() as u64;
    println!("{changed} changed: {summary}");
    assert_eq!((summary["state"].as_str(), summary["changed"].as_u64()), (Some("complete"), Some(changed)));
}

/// What links cost where there are enough of them to travel in company.
#[test]
#[ignore = "takes minutes; docs/figures.md has what it printed"]
fn links_of_a_larger_crawl_cost_what_the_figures_say() {
    let (hosts, pages) = (60, 60);
    // As many links to a page as pages of the web have.
    let config = Config { hosts, pages_per_host: pages, links_max: 80, pictures_max: 1, ..Config::default() };
    let server = Server::start(Web::new(config)).unwrap();
    server.record(true);
    let cluster = ring(5, &server);
    let first = format!("http://{}/", server.web().hosts().next().unwrap());
    let summary = cluster.crawl(2, "all", &first);
    println!("{summary}");
    let (taken, wire) = print_link_costs(&cluster, &format!("five machines, {hosts} hosts of {pages} pages"));
    assert!(wire < 40 * taken, "{wire} bytes for {taken} links");
    let asked = asked(&server);
    let missing: Vec<_> = truth(&server, 0).into_iter().filter(|url| !asked.contains_key(url)).collect();
    assert!(missing.is_empty(), "{} missing: {missing:?}", missing.len());
    println!("{} asked for, {} of them again", asked.len(), asked.values().filter(|times| **times > 1).count());
}

pub(crate) fn parts_of(url: &str) -> (String, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    (host.to_owned(), format!("/{path}"))
}

pub(crate) fn has_changed(server: &Server, url: &str) -> bool {
    let (host, path) = parts_of(url);
    server.web().changed(&host, &path, 0, 1)
}

#[test]
fn a_crawl_goes_on_when_the_machine_it_was_begun_on_dies() {
    let server = web(16, 20);
    let mut cluster = ring(6, &server);
    let seeds: Vec<String> = server.web().hosts().map(|host| format!("http://{host}/")).collect();
    // What the machine fetched in its last second may be nowhere else yet: at this pace that is less than two in a hundred of so small a web.
    let mut arguments = vec!["--name", "dying", "--no-wait", "--delay", "200"];
    arguments.extend(seeds.iter().map(String::as_str));
    let base = ["crawl", "--together", "--scope", "any"];
    let begun = cluster.command(3, &[&base[..], &arguments].concat());
    assert!(begun.status.success(), "{}", String::from_utf8_lossy(&begun.stderr));
    // In the middle of it.
    let began = Instant::now();
    while server.requests() < 100 {
        assert!(began.elapsed() < WAIT_MAX, "only {} requests", server.requests());
        std::thread::sleep(Duration::from_millis(20));
    }
    cluster.kill(3);
    println!("killed after {} requests", server.requests());
    cluster.waits_for_crawl(0, "dying", "one killed");
    everything_was_asked_for(&server, "one killed");
}

#[test]
fn what_three_crawls_want_at_once_is_fetched_once() {
    let server = web(10, 12);
    let cluster = ring(5, &server);
    let seeds: Vec<String> = server.web().hosts().map(|host| format!("http://{host}/")).collect();
    let crawl_all = |when: &str, run: u64| {
        server.record(true);
        std::thread::scope(|scope| {
            for (at, name) in ["one", "two", "three"].into_iter().enumerate() {
                let (cluster, seeds) = (&cluster, &seeds);
                scope.spawn(move || {
                    let mut arguments = vec!["crawl", "--together", "--no-wait", "--scope", "any", "--delay", "10"];
                    arguments.extend(["--name", name]);
                    arguments.extend(seeds.iter().map(String::as_str));
                    let begun = cluster.command(at, &arguments);
                    assert!(begun.status.success(), "{}", String::from_utf8_lossy(&begun.stderr));
                });
            }
        });
        // Each where it was begun, and will be again: a machine that does not know yet that it is over says that it runs already.
        [(0, "one"), (1, "two"), (2, "three")]
            .map(|(at, name)| cluster.waits_for_run(at, name, run, &format!("{when}, {name}")))
    };
    let expected = truth(&server, 0);
    let all = crawl_all("at first", 1);
    everything_was_asked_for(&server, "three crawls");
    let sum = |name: &str, all: &[Value]| all.iter().map(|one| one[name].as_u64().unwrap_or(0)).sum::<u64>();
    // Each visited everything: fetched it, or found it. (The web has links that lead nowhere, too.)
    let urls = sum("urls", &all);
    assert!(urls >= 3 * expected.len() as u64, "{all:?}");
    assert_eq!(sum("fetched", &all) + sum("archived", &all), urls, "{all:?}");
    assert!(sum("archived", &all) * 3 >= 2 * urls * 49 / 50, "{all:?}");
    // In the next round too, where most has not changed, and the archive shows nothing of a visit.
    server.set_round(1);
    let all = crawl_all("again", 2);
    let asked = asked(&server);
    let twice: Vec<_> = asked.iter().filter(|(_, times)| **times > 1).collect();
    println!("again: {} asked for, of them again: {twice:?}", asked.len());
    assert!(asked.len() >= expected.len() && twice.len() * 50 <= asked.len(), "{twice:?}");
    println!("{all:?}");
}

#[test]
fn a_host_that_lies_on_several_machines_is_asked_by_one_at_a_time() {
    let server = web(1, 40);
    let cluster = ring_with(5, &server, &["--split-at", "8"]);
    let host = server.web().hosts().next().unwrap();
    let begin = |delay: &str, name: &str, strategy: &str| {
        let seed = format!("http://{host}/");
        let begun = cluster.command(
            1,
            &[
                &["crawl", "--together", "--no-wait", "--scope", "any", "--delay", delay, "--strategy", strategy],
                &["--name", name, &seed][..],
            ]
            .concat(),
        );
        assert!(begun.status.success(), "{}", String::from_utf8_lossy(&begun.stderr));
        cluster.waits_for_crawl(1, name, name)
    };
    begin("0", "first", "owner");
    everything_was_asked_for(&server, "while it is split");
    let is_robots = |request: &&herodotus_testweb::Request| request.path == "/robots.txt" && request.host == host;
    let robots = server.log().iter().filter(is_robots).count();
    assert_eq!(robots, 1, "robots.txt is fetched by one machine for all");
    // The host is split by then, and everything of it is known.
    let began = Instant::now();
    let is_split = || {
        let splits =
            |machine: &crate::machines::Machine| machine.get("/api/v1/ring/health").ok()?["hosts_split"].as_u64();
        cluster.living().any(|machine| splits(machine) > Some(0))
    };
    while !is_split() {
        assert!(began.elapsed() < WAIT_MAX, "the host was not split");
        std::thread::sleep(Duration::from_millis(200));
    }
    // The owner of each part, then one machine for all.
    for strategy in ["owner", "host"] {
        server.record(true);
        let summary = begin("60", "first", strategy);
        everything_was_asked_for(&server, strategy);
        // The web has links to hosts that it does not have; each of them has a pace of its own.
        let log = server.log().into_iter().filter(|request| request.host == host);
        let mut times: Vec<Instant> = log.map(|request| request.at).collect();
        times.sort_unstable();
        let gaps: Vec<u128> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
        let span = times.last().unwrap().duration_since(times[0]).as_millis();
        println!("{strategy}: {} requests in {span} ms, least gap {:?}: {summary}", times.len(), gaps.iter().min());
        // Leases make every gap as long as the delay; what a laden machine does to two packets is not held against them.
        assert!(times.len() > 30 && (times.len() as u128 - 1) * 60 <= span + 60, "{strategy}: {gaps:?}");
        assert_eq!(summary["elsewhere"].as_u64() > Some(0), strategy == "host", "{summary}");
    }
}
