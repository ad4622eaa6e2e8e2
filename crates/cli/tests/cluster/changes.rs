//! Crawls of a ring that become others while they run: seeds that redirect out of their host, and people who change what is wanted.

use crate::machines::{Cluster, WAIT_MAX};
use crate::site::{Page, Site};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Each URL by itself: a host's pages lie on all machines.
fn ring_by_url(count: usize, site: &Site) -> Cluster {
    let dial = format!("*={}", site.address);
    let arguments = ["--copies-pace", "0.01", "--allow-private", "127.0.0.0/8", "--connect-to", &dial];
    let create = ["--name", "test", "--neighbours", "6", "--copies", "3", "--placement", "url"];
    let cluster = Cluster::of(count, &create, &arguments);
    cluster.settle("joined");
    cluster
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < WAIT_MAX, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn crawl(cluster: &Cluster, at: usize, arguments: &[&str]) -> String {
    let done = cluster.command(at, &[&["crawl", "--together", "--no-wait"], arguments].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[test]
fn what_a_seed_redirects_to_is_within_the_scope_of_all_machines() {
    // a redirects to b, which only the machine that reads a sees. b's pages lie everywhere, and so do pages of c, which link to b too.
    let mut pages = BTreeMap::new();
    pages.insert("http://a.example/".to_owned(), Page::Redirect("http://b.example/".to_owned()));
    let name = |host: &str, path: String| format!("http://{host}.example/{path}");
    for host in ["b", "c"] {
        // Three levels of three: /1, /11, /111.
        let mut level = vec![String::new()];
        for depth in 0..4 {
            let mut next = Vec::new();
            for path in level {
                let below: Vec<String> = (0..if depth < 3 { 3 } else { 0 }).map(|n| format!("{path}{n}")).collect();
                let mut links: Vec<String> = below.iter().map(|path| name(host, path.clone())).collect();
                if host == "c" {
                    links.extend([name("b", format!("from-c-{path}")), name("out", path.clone())]);
                    pages.insert(name("b", format!("from-c-{path}")), Page::Links(Vec::new()));
                }
                pages.insert(name(host, path), Page::Links(links));
                next.extend(below);
            }
            level = next;
        }
    }
    let expected: BTreeSet<String> = pages.keys().cloned().collect();
    let site = Site::start(pages);
    let cluster = ring_by_url(5, &site);
    crawl(
        &cluster,
        1,
        &["--scope", "host", "--delay", "0", "--name", "moved", "http://c.example/", "http://a.example/"],
    );
    cluster.waits_for_crawl(3, "moved", "a seed redirects");
    let counts = site.counts();
    let found: BTreeSet<String> = counts.keys().cloned().collect();
    let missing: Vec<_> = expected.difference(&found).collect();
    assert!(missing.is_empty(), "{} of {} missing: {missing:?}", missing.len(), expected.len());
    assert!(found.is_subset(&expected), "{:?}", found.difference(&expected));
    let twice: Vec<_> = counts.iter().filter(|(_, times)| **times > 1).collect();
    println!("{} asked for, again: {twice:?}", counts.len());
    assert!(twice.len() * 50 <= counts.len(), "{twice:?}");
}

/// Hosts whose front pages link to as many pages in `/a/` and then as many in `/z/`.
fn folders(hosts: usize, pages: usize) -> Site {
    let mut all = BTreeMap::new();
    for host in 0..hosts {
        let paths = ["a", "z"].into_iter().flat_map(|folder| (0..pages).map(move |n| format!("{folder}/{n}")));
        let links: Vec<String> = paths.map(|path| format!("http://h{host}.example/{path}")).collect();
        all.extend(links.iter().map(|url| (url.clone(), Page::Links(Vec::new()))));
        all.insert(format!("http://h{host}.example/"), Page::Links(links));
    }
    Site::start(all)
}

#[test]
fn a_crawl_is_changed_from_another_machine_while_it_runs_and_all_go_by_that() {
    let (hosts, pages) = (6, 100);
    let site = folders(hosts, pages);
    let cluster = ring_by_url(4, &site);
    let seeds: Vec<String> = (0..hosts).map(|host| format!("http://h{host}.example/")).collect();
    let with_rank = |at: usize, steps: i32| {
        let file = cluster.machines[at].data.join("news.toml");
        let rank = format!("rank = [{{ pattern = \"/z/\", steps = {steps} }}]");
        std::fs::write(&file, format!("seeds = {seeds:?}\n[crawl]\ndelay = \"60ms\"\n{rank}\n")).unwrap();
        crawl(&cluster, at, &["--name", "news", "--file", file.to_str().unwrap()])
    };
    with_rank(0, 9);
    until("it begins", || site.asked().len() > 40);
    // A machine may have been sent some of /z/ before anything of /a/.
    let (early, all) = (site.counts().keys().filter(|url| url.contains("/z/")).count(), site.counts().len());
    assert!(early * 5 < all, "{:?}", site.counts());
    // Another rank, given to another machine: what waits is put in another order everywhere.
    let said = with_rank(2, -9);
    assert!(said.contains("rank: /z/ by -9 more"), "{said}");
    // All machines have heard of it when hardly anything of /a/ is asked for, while much of it is left.
    let of_a = |urls: &[(Instant, String)]| urls.iter().filter(|(_, url)| url.contains("/a/")).count();
    until("the other folder everywhere", || {
        let asked = site.asked();
        of_a(&asked[asked.len() - 60.min(asked.len())..]) <= 6
    });
    let before = of_a(&site.asked());
    assert!(before < hosts * pages * 2 / 3, "{before} of /a/ were asked for before all machines went by the new rank");
    // No more of /a/, from a third: what waits of it is not asked for.
    let said = crawl(&cluster, 3, &["--name", "news", "--exclude", "/a/"]);
    assert!(said.contains("exclude: /a/ more"), "{said}");
    until("another machine's page tells", || {
        let page = cluster.machines[1].get("/api/v1/crawls/news").unwrap();
        page["note"].as_str().is_some_and(|note| note.contains("/a/ more"))
    });
    let summary = cluster.waits_for_crawl(1, "news", "changed twice");
    let counts = site.counts();
    let asked = |folder: &str| counts.keys().filter(|url| url.contains(folder)).count();
    println!("{} of /a/, {} of /z/: {summary}", asked("/a/"), asked("/z/"));
    assert_eq!(asked("/z/"), hosts * pages);
    assert!(asked("/a/") < before + hosts * pages / 5, "{} after {before}", asked("/a/"));
}

#[test]
fn a_limit_that_is_set_while_a_crawl_runs_ends_it() {
    let site = folders(4, 40);
    let cluster = ring_by_url(3, &site);
    let mut arguments = vec!["--scope", "host", "--delay", "50", "--name", "long", "--exclude", "nothing"];
    let seeds: Vec<String> = (0..4).map(|host| format!("http://h{host}.example/")).collect();
    arguments.extend(seeds.iter().map(String::as_str));
    crawl(&cluster, 0, &arguments);
    until("it begins", || site.asked().len() > 10);
    let said = crawl(&cluster, 2, &["--name", "long", "--limit", "60"]);
    assert!(said.contains("limit of pages: 60 (was none)"), "{said}");
    let stopped = || -> Option<Value> {
        let shown = cluster.command(1, &["--json", "ring", "crawls"]);
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        let mut all = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        all.find(|crawl| crawl["state"] == "stopped")
    };
    until("it is stopped", || stopped().is_some());
    assert_eq!(stopped().unwrap()["reason"], "its limit of pages is reached");
    let asked = site.asked().len();
    println!("{asked} asked for, of 324, with a limit of 60");
    assert!((60..250).contains(&asked), "{asked}");
}
