//! Who fetches: six crawls at once on eight machines, one for each strategy, each of sites of its own. Whoever fetches, all is archived once, found changed when it has,
//! robots.txt is asked for once and heeded, and no host is asked more often than its delay allows.

use crate::machines::Cluster;
use crate::together::{has_changed, parts_of, ring_with};
use herodotus_testweb::{Config, Server, Web};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

const STRATEGIES: [&str; 6] = ["owner", "url", "host", "host-over:4", "redirect:5:2", "near:3"];
const HOSTS_EACH: usize = 2;
const DELAY_MS: u128 = 40;

/// The sites of one strategy.
fn hosts_of(server: &Server, strategy: usize) -> BTreeSet<String> {
    server.web().hosts().skip(strategy * HOSTS_EACH).take(HOSTS_EACH).collect()
}

/// What a crawl of some hosts should find in a round.
fn truth(server: &Server, hosts: &BTreeSet<String>, round: u32) -> BTreeSet<String> {
    let web = server.web();
    let mut waiting: Vec<String> = hosts.iter().map(|host| format!("http://{host}/")).collect();
    let mut found = BTreeSet::new();
    while let Some(url) = waiting.pop() {
        let (host, path) = parts_of(&url);
        let is_there = path != "/robots.txt" && web.allowed(&path) && web.response(&host, &path, round).is_some();
        if is_there && hosts.contains(&host) && found.insert(url) {
            waiting.extend(web.links(&host, &path, round));
            waiting.push(format!("http://{host}/sitemap.xml"));
        }
    }
    found
}

/// Begins all crawls, and gives how each ended.
fn crawl_all(cluster: &Cluster, server: &Server, when: &str) -> Vec<Value> {
    let delay = DELAY_MS.to_string();
    for (nth, strategy) in STRATEGIES.into_iter().enumerate() {
        let seeds: Vec<String> = hosts_of(server, nth).iter().map(|host| format!("http://{host}/")).collect();
        let mut arguments = vec!["crawl", "--together", "--no-wait", "--scope", "host", "--delay", &delay];
        arguments.extend(["--strategy", strategy, "--name", strategy]);
        arguments.extend(seeds.iter().map(String::as_str));
        let begun = cluster.command(nth, &arguments);
        assert!(begun.status.success(), "{strategy}: {}", String::from_utf8_lossy(&begun.stderr));
    }
    let ended = |(nth, strategy): (usize, &str)| cluster.waits_for_crawl(nth, strategy, &format!("{when}, {strategy}"));
    STRATEGIES.into_iter().enumerate().map(ended).collect()
}

/// When each URL of some hosts was asked for.
fn asked(server: &Server, hosts: &BTreeSet<String>) -> BTreeMap<String, Vec<Instant>> {
    let mut asked: BTreeMap<String, Vec<Instant>> = BTreeMap::new();
    for request in server.log().into_iter().filter(|request| hosts.contains(&request.host)) {
        asked.entry(format!("http://{}{}", request.host, request.path)).or_default().push(request.at);
    }
    asked
}

/// No host is asked more often than the delay allows. Gives the least gap.
fn is_polite(asked: &BTreeMap<String, Vec<Instant>>, host: &str, what: &str) -> u128 {
    let of_host = asked.iter().filter(|(url, _)| parts_of(url).0 == host);
    let mut times: Vec<Instant> = of_host.flat_map(|(_, times)| times.iter().copied()).collect();
    times.sort_unstable();
    let gaps: Vec<u128> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
    let span = times.last().unwrap().duration_since(times[0]).as_millis();
    assert!((times.len() as u128 - 1) * DELAY_MS <= span + DELAY_MS, "{what}, {host}: {gaps:?}");
    gaps.into_iter().min().unwrap_or(u128::MAX)
}

#[test]
fn whoever_fetches_everything_is_archived_once_and_hosts_are_asked_politely() {
    let hosts = (STRATEGIES.len() * HOSTS_EACH) as u32;
    let config = Config { hosts, pages_per_host: 6, late_percent: 0, mortal_percent: 0, ..Config::default() };
    let server = Server::start(Web::new(config)).unwrap();
    server.record(true);
    let cluster = ring_with(8, &server, &[]);
    let first = crawl_all(&cluster, &server, "at first");
    let (mut all, mut twice) = (0, 0);
    for (nth, strategy) in STRATEGIES.into_iter().enumerate() {
        let (hosts, summary) = (hosts_of(&server, nth), &first[nth]);
        let mut asked = asked(&server, &hosts);
        let least = hosts.iter().map(|host| is_polite(&asked, host, strategy)).min();
        for host in &hosts {
            let robots = asked.remove(&format!("http://{host}/robots.txt")).unwrap_or_default();
            assert_eq!(robots.len(), 1, "{strategy}: robots.txt of {host}");
        }
        let (expected, found): (BTreeSet<String>, BTreeSet<String>) =
            (truth(&server, &hosts, 0), asked.keys().cloned().collect());
        assert_eq!(expected, found, "{strategy}");
        twice += asked.values().filter(|times| times.len() > 1).count();
        all += asked.len();
        let number = |name: &str| summary[name].as_u64().unwrap_or(0);
        println!("{strategy}: {} pages, {} elsewhere, least gap {least:?} ms", found.len(), number("elsewhere"));
        assert_eq!((number("new"), number("failed")), (found.len() as u64, 0), "{strategy}: {summary}");
        assert_eq!(summary["strategy"], strategy);
        match strategy {
            // A host that lies in one place is its owner's by host too.
            "owner" | "host" => assert_eq!(number("elsewhere"), 0, "{strategy}"),
            // On one machine of the loop nobody is nearer than another.
            "near:3" => {}
            _ => assert!(number("elsewhere") > 0, "{strategy}: {summary}"),
        }
    }
    assert!(twice * 200 <= all, "{twice} of {all} were fetched twice");
    // Every machine shows pages that were fetched by others than keep them.
    let url = format!("http://{}/", hosts_of(&server, 1).into_iter().next().unwrap());
    for machine in cluster.living() {
        let listed = machine.get(&format!("/api/v1/versions?url={url}"));
        assert!(listed.is_ok(), "machine {}: {listed:?}", machine.number);
    }
    // Then only what has changed is new, and nobody asks for robots.txt again within a day.
    server.set_round(1);
    server.record(true);
    let second = crawl_all(&cluster, &server, "again");
    for (nth, strategy) in STRATEGIES.into_iter().enumerate() {
        let hosts = hosts_of(&server, nth);
        let asked = asked(&server, &hosts);
        let changed = truth(&server, &hosts, 1).iter().filter(|url| has_changed(&server, url)).count() as u64;
        assert_eq!(second[nth]["changed"].as_u64(), Some(changed), "{strategy}: {}", second[nth]);
        assert!(asked.keys().all(|url| !url.ends_with("/robots.txt")), "{strategy}");
        let least = hosts.iter().map(|host| is_polite(&asked, host, strategy)).min();
        println!("{strategy} again: {changed} changed, {} elsewhere, least gap {least:?} ms", second[nth]["elsewhere"]);
    }
}
