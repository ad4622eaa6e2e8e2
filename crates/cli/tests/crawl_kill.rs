//! The real program, killed with SIGKILL at thirty random moments of a crawl of twenty thousand pages, and resumed each time:
//! at the end nothing is missing, and next to nothing was fetched twice.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use herodotus_store::{Kind, Store};
use herodotus_testweb::{Config, Fate, Server, Web};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const KILLS: u32 = 30;

fn web() -> Web {
    Web::new(Config {
        hosts: 5,
        pages_per_host: 4_000,
        paragraphs_max: 2,
        links_max: 4,
        pictures_max: 0,
        late_percent: 0,
        mortal_percent: 0,
        ..Config::default()
    })
}

/// Runs the crawl; kills it after so many URLs were reported, or lets it come to its end.
fn run(data: &Path, server: &Server, kill_after: Option<u64>) -> bool {
    let first = server.web().hosts().next().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_herodotus"))
        .args(["--json", "--data"])
        .arg(data)
        .args(["crawl", "--name", "killed", "--scope", "any", "--delay", "0", "--allow-private", "127.0.0.0/8"])
        .arg(format!("--connect-to=*.test={}", server.addr()))
        .arg(format!("http://{first}/"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut events = 0;
    let mut ended = false;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        match event["event"].as_str().unwrap() {
            "fetched" => events += 1,
            "summary" => ended = event["end"] == "complete",
            _ => {}
        }
        if kill_after.is_some_and(|after| events >= after) {
            break;
        }
    }
    let _ = child.kill();
    child.wait().unwrap();
    ended
}

/// All that exists and may be asked for, by the web's own word.
fn truth(web: &Web) -> BTreeSet<String> {
    let mut waiting = vec![format!("http://{}/", web.hosts().next().unwrap())];
    let mut found = BTreeSet::new();
    while let Some(url) = waiting.pop() {
        let rest = url.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_at(rest.find('/').unwrap());
        if !web.allowed(path) || web.fate(host, path, 0) != Fate::Live || found.contains(&url) {
            continue;
        }
        waiting.extend(web.links(host, path, 0));
        waiting.extend(["/robots.txt", "/sitemap.xml"].map(|path| format!("http://{host}{path}")));
        found.insert(url);
    }
    found
}

#[test]
fn a_killed_crawl_goes_on_and_loses_nothing() {
    let server = Server::start(web()).unwrap();
    server.record(true);
    let dir = tempfile::tempdir().unwrap();
    let mut seed = 20_261_116u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut kills = 0;
    while kills < KILLS {
        assert!(
            !run(dir.path(), &server, Some(1 + random(1_200))),
            "the crawl was over before it was killed {KILLS} times"
        );
        kills += 1;
    }
    assert!(run(dir.path(), &server, None), "the crawl did not end");
    let (store, _) = Store::open(dir.path()).unwrap();
    let mut kept: BTreeMap<String, u64> = BTreeMap::new();
    for entry in store.scan_all() {
        let entry = entry.unwrap();
        if entry.kind == Kind::Response && entry.status.unwrap() < 400 {
            *kept.entry(entry.url).or_default() += 1;
        }
    }
    let expected = truth(server.web());
    let missing: Vec<_> = expected.iter().filter(|url| !kept.contains_key(*url)).take(5).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    assert!(expected.len() >= 20_000 && kept.len() == expected.len(), "{} of {}", kept.len(), expected.len());
    let log = server.log();
    let asked: Vec<_> = log.iter().filter(|r| r.path != "/robots.txt").map(|r| (&r.host, &r.path)).collect();
    let once: HashSet<_> = asked.iter().collect();
    let twice = asked.len() - once.len();
    println!("{} URLs, {kills} kills, {twice} fetched twice", once.len());
    assert!(twice * 100 < once.len(), "{twice} of {} were fetched twice", once.len());
}
