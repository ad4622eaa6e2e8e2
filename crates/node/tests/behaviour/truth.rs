//! The crawler against a web whose every page is known.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use herodotus_frontier::{Media, Scope, Settings, Span};
use herodotus_store::Store;
use herodotus_testweb::{Config, Fate, Server, Web};
use std::collections::{BTreeMap, BTreeSet};
use support::{bytes, captures, crawl, definition, parts, read};

fn small() -> Server {
    Server::start(Web::new(Config { hosts: 5, pages_per_host: 40, gzip_percent: 40, ..Config::default() })).unwrap()
}

/// What a right crawl of a web keeps: all that exists, may be asked for, and is linked to from what may be asked for.
fn truth(server: &Server, round: u32) -> BTreeSet<String> {
    let web = server.web();
    let mut waiting: Vec<String> = vec![format!("http://{}/", web.hosts().next().unwrap())];
    let mut found = BTreeSet::new();
    while let Some(url) = waiting.pop() {
        let (host, path) = parts(&url);
        if !web.allowed(path) || web.fate(host, path, round) != Fate::Live || found.contains(&url) {
            continue;
        }
        waiting.extend(web.links(host, path, round));
        waiting.extend(["/robots.txt", "/sitemap.xml"].map(|path| format!("http://{host}{path}")));
        found.insert(url);
    }
    // What is left out so is only what closed pages need.
    let all = web.urls(round).filter(|url| web.allowed(parts(url).1)).count();
    assert!(found.len() * 100 > all * 95, "{} of {all}", found.len());
    found
}

#[test]
fn every_url_is_archived_once_byte_for_byte() {
    let server = small();
    server.record(true);
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    let summary = crawl(dir.path(), &store, &definition(&server));
    assert_eq!(summary.end, Some(herodotus_frontier::End::Complete), "{summary:?}");
    let found = captures(&store);
    let live: BTreeSet<String> =
        found.iter().filter(|(_, e)| e[0].status.unwrap() < 400).map(|(u, _)| u.clone()).collect();
    support::assert_same(&live, &truth(&server, 0));
    for (url, entries) in &found {
        assert_eq!(entries.len(), 1, "{url}");
        let (host, path) = parts(url);
        let capture = read(&store, &entries[0]);
        let Some(expected) = server.web().response(host, path, 0) else {
            assert_eq!(entries[0].status, Some(421), "{url}");
            continue;
        };
        if entries[0].status.unwrap() >= 400 {
            assert_ne!(server.web().fate(host, path, 0), Fate::Live, "{url}");
        }
        let plain = herodotus_store::coding::plain_body(&capture.main.head, &bytes(&capture));
        assert_eq!(plain, expected.body, "{url}");
        assert_eq!(capture.remote(), Some(server.addr().ip()));
        let request = String::from_utf8(capture.request().unwrap().head.clone()).unwrap();
        assert!(request.starts_with(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n")), "{request}");
    }
    let asked: Vec<_> = server.log();
    assert!(asked.iter().all(|r| server.web().allowed(&r.path)), "robots.txt was not obeyed");
    let mut once: BTreeMap<(String, String), u32> = BTreeMap::new();
    asked.iter().for_each(|r| *once.entry((r.host.clone(), r.path.clone())).or_default() += 1);
    assert!(once.values().all(|times| *times == 1), "asked for twice: {once:?}");
}

#[test]
fn after_a_changed_round_exactly_the_changed_ones_are_new_versions() {
    let server = small();
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    crawl(dir.path(), &store, &definition(&server));
    let mut before = captures(&store);
    for round in 1..=3 {
        server.set_round(round);
        crawl(dir.path(), &store, &definition(&server));
        let after = captures(&store);
        for (url, entries) in &after {
            let (host, path) = parts(url);
            let known = before.get(url).map_or(0, Vec::len);
            let expected = match known {
                0 => 1,
                _ => known + usize::from(server.web().changed(host, path, round - 1, round)),
            };
            assert_eq!(entries.len(), expected, "{url} at round {round}");
            if entries.len() > known {
                let newest = read(&store, entries.last().unwrap());
                let plain = herodotus_store::coding::plain_body(&newest.main.head, &bytes(&newest));
                let truth = server.web().response(host, path, round);
                assert!(truth.is_none_or(|truth| truth.body == plain), "{url} at round {round}");
            }
        }
        let live: BTreeSet<_> = after.keys().cloned().collect();
        let missing: Vec<_> = truth(&server, round).difference(&live).cloned().collect();
        assert!(missing.is_empty(), "not found in round {round}: {missing:?}");
        before = after;
    }
}

#[test]
fn an_unchanged_web_is_asked_and_nothing_is_kept() {
    let server =
        Server::start(Web::new(Config { hosts: 3, pages_per_host: 30, never_percent: 100, ..Config::default() }))
            .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    let first = crawl(dir.path(), &store, &definition(&server));
    let kept = store.totals().unwrap().captures;
    server.record(true);
    let second = crawl(dir.path(), &store, &definition(&server));
    assert_eq!(store.totals().unwrap().captures, kept);
    assert_eq!(second.tally.fetched, first.tally.fetched);
    assert_eq!(second.tally.unchanged, second.tally.fetched, "{:?}", second.tally);
    let log = server.log();
    let pages = log.iter().filter(|r| r.status == 304 || r.status == 200);
    assert!(pages.clone().count() > 60 && pages.clone().all(|r| r.conditional && r.status == 304), "{log:?}");
}

#[test]
fn requests_are_never_closer_than_allowed_as_the_server_sees_them() {
    let web = Web::new(Config { hosts: 3, pages_per_host: 6, pictures_max: 0, ..Config::default() });
    let server = Server::start(web).unwrap();
    server.record(true);
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    let mut definition = definition(&server);
    definition.crawl = Settings { delay: Span(40), concurrency: 1, ..definition.crawl };
    crawl(dir.path(), &store, &definition);
    let log = server.log();
    for host in server.web().hosts() {
        let times: Vec<_> = log.iter().filter(|r| r.host == host).map(|r| r.at).collect();
        assert!(times.len() > 5);
        for pair in times.windows(2) {
            assert!((pair[1] - pair[0]).as_millis() >= 40, "{host}: {:?}", pair[1] - pair[0]);
        }
    }
}

#[test]
fn a_busy_server_is_asked_again_until_it_answers() {
    let web = Web::new(Config { hosts: 2, pages_per_host: 8, busy_percent: 30, pictures_max: 1, ..Config::default() });
    let server = Server::start(web).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    let summary = crawl(dir.path(), &store, &definition(&server));
    let live: BTreeSet<String> =
        captures(&store).into_iter().filter(|(_, e)| e[0].status.unwrap() < 400).map(|(u, _)| u).collect();
    support::assert_same(&live, &truth(&server, 0));
    assert!(summary.tally.retried > 0, "nothing was busy: {summary:?}");
}

#[test]
fn a_light_crawl_keeps_pages_alone() {
    let server = small();
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    let mut light = definition(&server);
    light.crawl.media = Media::Html;
    crawl(dir.path(), &store, &light);
    let found = captures(&store);
    assert!(found.values().all(|e| e[0].media != "image/png" && e[0].media != "text/css"));
    let pages: BTreeSet<String> =
        truth(&server, 0).into_iter().filter(|url| !url.ends_with(".png") && !url.ends_with(".css")).collect();
    let live: BTreeSet<String> =
        found.into_iter().filter(|(_, e)| e[0].status.unwrap() < 400).map(|(u, _)| u).collect();
    support::assert_same(&live, &pages);
}

#[test]
fn a_crawl_of_one_host_stays_there() {
    let server = small();
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    let mut one = definition(&server);
    one.crawl.scope = Scope::Host;
    let summary = crawl(dir.path(), &store, &one);
    let first = server.web().hosts().next().unwrap();
    let mut pages = captures(&store);
    pages.retain(|_, e| e[0].media == "text/html" && e[0].status == Some(200));
    assert!(pages.len() > 30 && pages.keys().all(|url| parts(url).0 == first));
    assert!(summary.tally.skipped["scope"].urls > 0);
}

#[test]
fn what_was_captured_since_the_round_began_is_not_fetched_again() {
    let server = small();
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    crawl(dir.path(), &store, &definition(&server));
    // The frontier forgets that the round went on at all, as if the power had failed; the archive does not.
    let state = dir.path().join("crawls/test/state");
    forget_all_but_the_beginning(&state, &definition(&server));
    let before = server.requests();
    let again = crawl(dir.path(), &store, &definition(&server));
    assert_eq!(again.tally.fetched, 0, "{:?}", again.tally);
    assert!(again.tally.archived > 200, "{:?}", again.tally);
    assert_eq!(server.requests(), before);
}

#[test]
fn another_crawl_of_a_known_site_finds_all_of_it_and_keeps_nothing_twice() {
    let web = Web::new(Config { hosts: 3, pages_per_host: 30, never_percent: 100, ..Config::default() });
    let server = Server::start(web).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    let first = crawl(dir.path(), &store, &definition(&server));
    let kept = store.totals().unwrap().captures;
    std::fs::remove_dir_all(dir.path().join("crawls")).unwrap();
    let second = crawl(dir.path(), &store, &definition(&server));
    assert_eq!(second.tally.fetched, first.tally.fetched);
    assert_eq!(second.tally.unchanged, first.tally.fetched, "{:?}", second.tally);
    assert_eq!(store.totals().unwrap().captures, kept);
}

/// Makes a crawl's state what it was right after its seeds were taken in, an hour ago.
fn forget_all_but_the_beginning(state: &std::path::Path, definition: &herodotus_node::crawl::Definition) {
    use herodotus_base::Timestamp;
    std::fs::remove_dir_all(state).unwrap();
    let began = Timestamp::from_millis_clamped(Timestamp::now().millis() - 3_600_000);
    let table = herodotus_node::crawl::DiskTable::open(state).unwrap();
    let mut frontier = herodotus_frontier::Frontier::open(table, definition.crawl.clone(), began).unwrap();
    frontier.handle_seeds(began, &definition.seed_urls().unwrap()).unwrap();
    frontier.sync().unwrap();
}
