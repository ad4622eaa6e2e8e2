//! The frontier against webs in memory, on a virtual clock.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use herodotus_frontier::{End, MemoryTable, Pressure, Scope, Settings, Span, Traps};
use herodotus_page::LinkKind;
use support::{Site, World, page, url};

fn quick() -> Settings {
    Settings { delay: Span(500), retry_delay: Span(1_000), ..Settings::default() }
}

/// A chain of pages on one host, each with a picture, and a page that links to all.
fn chain(pages: usize) -> Site {
    let mut site = Site::default();
    for n in 0..pages {
        let next = format!("http://a.example/{}", n + 1);
        let picture = format!("http://a.example/{n}.png");
        site.add(&format!("http://a.example/{n}"), page(&[(&next, LinkKind::Page), (&picture, LinkKind::Image)]));
        site.add(&picture, page(&[]));
    }
    site
}

#[test]
fn everything_is_visited_once_and_then_it_ends() {
    let site = chain(50);
    let mut world = World::new(site, quick(), MemoryTable::default());
    assert_eq!(world.run(&["http://a.example/0"]), End::Complete);
    let visited = world.visited();
    // The chain's last link leads nowhere, and is asked for like the rest.
    assert_eq!(visited.len(), 101);
    assert!(visited.values().all(|times| *times == 1), "{visited:?}");
    assert_eq!(world.frontier.run().fetched, 101);
    assert_eq!(world.frontier.run().statuses.get("404"), Some(&1));
}

#[test]
fn a_host_is_never_asked_sooner_than_its_delay() {
    let mut site = chain(30);
    site.took_ms = 20;
    let mut world = World::new(site, Settings { delay: Span(700), ..quick() }, MemoryTable::default());
    world.run(&["http://a.example/0"]);
    let gaps = world.gaps("a.example");
    assert!(gaps.len() > 50 && gaps.iter().all(|gap| *gap >= 700), "{gaps:?}");
}

#[test]
fn a_stranger_is_never_asked_twice_within_half_a_second_whatever_was_asked_for() {
    let settings = Settings { delay: Span(0), concurrency: 8, ..quick() };
    let mut world = World::new(chain(30), settings, MemoryTable::default());
    world.run(&["http://a.example/0"]);
    assert!(world.gaps("a.example").iter().all(|gap| *gap >= 500));
}

#[test]
fn robots_txt_comes_first_and_is_obeyed() {
    let mut site = chain(10);
    site.robots = "User-agent: *\nDisallow: /5\nCrawl-delay: 3\n".to_owned();
    let mut world = World::new(site, quick(), MemoryTable::default());
    world.run(&["http://a.example/0"]);
    assert_eq!(world.log.first().unwrap().url, "http://a.example/robots.txt");
    assert!(!world.visited().contains_key("http://a.example/5"));
    assert_eq!(world.frontier.run().skipped.get("robots").unwrap().urls, 1);
    assert!(world.gaps("a.example").iter().all(|gap| *gap >= 3_000));
}

#[test]
fn hosts_take_turns() {
    let mut site = Site::default();
    let hosts: Vec<String> = (0..20).map(|n| format!("http://h{n}.example/")).collect();
    for (i, host) in hosts.iter().enumerate() {
        let own: Vec<String> = (0..20).map(|n| format!("{host}{n}")).collect();
        let links: Vec<_> = own.iter().map(|u| (u.as_str(), LinkKind::Page)).collect();
        site.add(host, page(&links));
        own.iter().for_each(|u| site.add(u, page(&[])));
        site.addresses.insert(format!("h{i}.example"), format!("192.0.2.{i}"));
    }
    let mut world = World::new(site, quick(), MemoryTable::default());
    let seeds: Vec<&str> = hosts.iter().map(String::as_str).collect();
    assert_eq!(world.run(&seeds), End::Complete);
    // One host alone needs 22 requests half a second apart; twenty together need little more.
    assert!(world.elapsed_ms() < 16_000, "{}", world.elapsed_ms());
    assert_eq!(world.visited().len(), 20 * 21);
}

#[test]
fn many_names_of_one_address_share_its_patience() {
    let mut site = Site::default();
    let hosts: Vec<String> = (0..40).map(|n| format!("http://h{n}.example/")).collect();
    for host in &hosts {
        site.add(host, page(&[(&format!("{host}a"), LinkKind::Page)]));
        site.add(&format!("{host}a"), page(&[]));
    }
    site.took_ms = 2_000;
    let mut world = World::new(site, quick(), MemoryTable::default());
    world.run(&hosts.iter().map(String::as_str).collect::<Vec<_>>());
    // Where a host is, is known from its first answer on: what follows shares one address.
    let late: Vec<_> = world.log.iter().filter(|l| l.at_ms >= world.began_ms + 2_500).collect();
    let most = late.iter().map(|l| late.iter().filter(|o| o.at_ms <= l.at_ms && l.at_ms < o.at_ms + 2_000).count());
    assert!(most.max().unwrap() <= 4);
}

#[test]
fn what_a_page_needs_comes_before_other_pages_and_a_limit_counts_pages_alone() {
    let settings = Settings { limit: Some(3), ..quick() };
    let mut world = World::new(chain(50), settings, MemoryTable::default());
    assert_eq!(world.run(&["http://a.example/0"]), End::LimitPages);
    let visited: Vec<_> = world.visited().into_keys().collect();
    let expected = ["0", "0.png", "1", "1.png", "2", "2.png"].map(|name| format!("http://a.example/{name}"));
    assert_eq!(visited, expected);
    assert!(!world.frontier.is_complete());
    // Another run goes on from there.
    let table = world.into_table();
    let mut world = World::new(chain(50), quick(), table);
    assert_eq!(world.run(&["http://a.example/0"]), End::Complete);
    assert_eq!(world.visited().len(), 101 - 6);
}

#[test]
fn a_page_deeper_than_asked_is_left_out() {
    let mut world = World::new(chain(50), Settings { depth: Some(2), ..quick() }, MemoryTable::default());
    world.run(&["http://a.example/0"]);
    assert_eq!(world.visited().len(), 6);
    assert_eq!(world.frontier.run().skipped.get("depth").unwrap().urls, 1);
}

#[test]
fn what_a_page_needs_is_fetched_off_scope_but_leads_no_further() {
    let mut site = Site::default();
    site.add(
        "http://a.example/",
        page(&[("http://cdn.example/s.css", LinkKind::Style), ("http://b.example/", LinkKind::Page)]),
    );
    site.add("http://cdn.example/s.css", page(&[("http://cdn.example/f.woff", LinkKind::Font)]));
    site.add("http://cdn.example/f.woff", page(&[("http://cdn.example/about", LinkKind::Page)]));
    site.add("http://cdn.example/about", page(&[]));
    site.add("http://b.example/", page(&[]));
    let mut world = World::new(site, quick(), MemoryTable::default());
    world.run(&["http://a.example/"]);
    let visited: Vec<_> = world.visited().into_keys().collect();
    assert_eq!(visited, ["http://a.example/", "http://cdn.example/f.woff", "http://cdn.example/s.css"]);
    assert_eq!(world.frontier.run().skipped.get("scope").unwrap().urls, 2);
}

#[test]
fn a_seed_that_redirects_brings_its_target_into_scope() {
    let mut site = Site::default();
    site.add("http://example.org/", page(&[("https://www.example.org/", LinkKind::Redirect)]).status(301));
    site.add("https://www.example.org/", page(&[("https://www.example.org/a", LinkKind::Page)]));
    site.add("https://www.example.org/a", page(&[("http://other.example/", LinkKind::Redirect)]).status(302));
    site.add("http://other.example/", page(&[]));
    let mut world = World::new(site, Settings { scope: Scope::Host, ..quick() }, MemoryTable::default());
    world.run(&["http://example.org/"]);
    let visited: Vec<_> = world.visited().into_keys().collect();
    assert_eq!(visited, ["http://example.org/", "https://www.example.org/", "https://www.example.org/a"]);
}

#[test]
fn redirects_end_in_circles_and_in_chains() {
    let mut site = Site::default();
    let to = |target: &str| page(&[(target, LinkKind::Redirect)]).status(302);
    site.add("http://a.example/self", to("http://a.example/self"));
    site.add("http://a.example/x", to("http://a.example/y"));
    site.add("http://a.example/y", to("http://a.example/x"));
    for n in 0..100 {
        site.add(&format!("http://a.example/r{n}"), to(&format!("http://a.example/r{}", n + 1)));
    }
    let mut world = World::new(site, quick(), MemoryTable::default());
    world.run(&["http://a.example/self", "http://a.example/x", "http://a.example/r0"]);
    let skipped = &world.frontier.run().skipped;
    assert_eq!(skipped.get("redirect_loop").unwrap().urls, 2);
    assert_eq!(skipped.get("redirect_limit").unwrap().urls, 1);
    assert!(world.visited().len() < 30);
}

#[test]
fn every_round_visits_everything_known_and_only_that() {
    let settings = Settings { rounds: 3, period: Span::secs(3_600), ..quick() };
    let mut world = World::new(chain(40), settings, MemoryTable::default());
    assert_eq!(world.run(&["http://a.example/0"]), End::Complete);
    let visited = world.visited();
    assert_eq!(visited.len(), 81);
    assert!(visited.values().all(|times| *times == 3), "{visited:?}");
    assert!((7_200_000..10_800_000).contains(&world.elapsed_ms()), "{}", world.elapsed_ms());
    assert_eq!(world.frontier.run().not_modified, 2 * 80);
}

#[test]
fn a_crawl_that_is_started_again_begins_its_next_round_at_once() {
    let mut table = MemoryTable::default();
    for round in 1..=4 {
        let mut world = World::new(chain(40), quick(), table);
        assert_eq!(world.run(&["http://a.example/0"]), End::Complete);
        assert_eq!(world.frontier.rounds_begun(), round);
        let visited = world.visited();
        assert!(visited.len() == 81 && visited.values().all(|times| *times == 1), "round {round}: {visited:?}");
        table = world.into_table();
    }
}

#[test]
fn what_changes_often_is_visited_more_often() {
    let mut site = chain(10);
    site.restless.insert("http://a.example/3".to_owned());
    let settings = Settings { rounds: 6, period: Span::secs(36_000), ..quick() };
    let mut world = World::new(site, settings, MemoryTable::default());
    world.run(&["http://a.example/0"]);
    let visited = world.visited();
    assert_eq!(visited["http://a.example/4"], 6);
    assert!(visited["http://a.example/3"] > 12, "{visited:?}");
    let record = world.frontier.url(&url("http://a.example/3")).unwrap().unwrap();
    assert_eq!(record.period_ms, 36_000_000 / 8);
}

#[test]
fn a_url_dead_five_times_is_retired_until_something_links_to_it_anew() {
    let mut site = Site::default();
    site.add("http://a.example/", page(&[("http://a.example/dead", LinkKind::Page)]));
    let mut table = MemoryTable::default();
    let mut asked = 0;
    for round in 1..=8 {
        let mut world = World::new(site.clone(), quick(), table);
        world.run(&["http://a.example/"]);
        asked += world.visited().get("http://a.example/dead").copied().unwrap_or(0);
        assert_eq!(asked, round.min(5));
        table = world.into_table();
    }
    site.add("http://a.example/", page(&[("http://a.example/new", LinkKind::Page)]));
    site.add("http://a.example/new", page(&[("http://a.example/dead", LinkKind::Page)]));
    site.restless.insert("http://a.example/".to_owned());
    let mut world = World::new(site, quick(), table);
    world.run(&["http://a.example/"]);
    assert_eq!(world.visited().get("http://a.example/dead"), Some(&1));
}

#[test]
fn a_busy_host_is_left_alone_as_long_as_it_asks_and_holds_up_nobody() {
    let mut site = chain(5);
    site.add("http://b.example/", page(&[]).busy(2, Pressure { retry_after_ms: Some(60_000) }));
    site.addresses.insert("b.example".to_owned(), "192.0.2.9".to_owned());
    let mut world = World::new(site, quick(), MemoryTable::default());
    assert_eq!(world.run(&["http://a.example/0", "http://b.example/"]), End::Complete);
    let gaps = world.gaps("b.example");
    assert_eq!(gaps.iter().filter(|gap| **gap >= 60_000).count(), 2, "{gaps:?}");
    let last_of_a = world.log.iter().filter(|l| l.url.contains("a.example")).map(|l| l.at_ms).max().unwrap();
    assert!(last_of_a - world.began_ms < 20_000);
    assert_eq!(world.frontier.run().retried, 2);
}

#[test]
fn a_host_that_wants_to_be_left_alone_for_a_day_ends_the_run_not_the_crawl() {
    let mut site = Site::default();
    site.add("http://b.example/", page(&[]).busy(1, Pressure { retry_after_ms: Some(80_000_000) }));
    let mut world = World::new(site.clone(), quick(), MemoryTable::default());
    assert_eq!(world.run(&["http://b.example/"]), End::HostsBusy);
    let mut world = World::new(site, quick(), world.into_table());
    world.now_ms += 90_000_000;
    assert_eq!(world.run(&["http://b.example/"]), End::HostsBusy, "the site is busy once more");
}

#[test]
fn a_dead_host_is_given_up_for_the_run() {
    let mut site = chain(3);
    site.dead_hosts.insert("b.example".to_owned());
    let seeds: Vec<String> = (0..30).map(|n| format!("http://b.example/{n}")).collect();
    let mut world = World::new(site, quick(), MemoryTable::default());
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).chain(["http://a.example/0"]).collect();
    assert_eq!(world.run(&seeds), End::Complete);
    assert_eq!(world.frontier.run().failures.get("dns").unwrap().urls, 30);
    assert_eq!(world.log.iter().filter(|l| l.url.contains("b.example")).count(), 1, "robots.txt alone was asked for");
}

#[test]
fn a_calendar_without_end_ends() {
    let mut site = Site::default();
    for day in 0..2_000 {
        let next = format!("http://a.example/cal?day={}", day + 1);
        site.add(&format!("http://a.example/cal?day={day}"), page(&[(&next, LinkKind::Page)]));
    }
    let settings = Settings { traps: Traps { dates: 100, ..Traps::default() }, ..quick() };
    let mut world = World::new(site, settings, MemoryTable::default());
    assert_eq!(world.run(&["http://a.example/cal?day=0"]), End::Complete);
    assert_eq!(world.visited().len(), 101);
    assert_eq!(world.frontier.run().skipped.get("trap_calendar").unwrap().urls, 1);
}

#[test]
fn hosts_without_end_end() {
    let mut site = Site::default();
    for n in 0..500 {
        let next = format!("http://h{}.a.example/", n + 1);
        site.add(&format!("http://h{n}.a.example/"), page(&[(&next, LinkKind::Page)]));
    }
    let traps = Traps { domain_hosts: 50, ..Traps::default() };
    let settings = Settings { scope: Scope::Domain, traps, ..quick() };
    let mut world = World::new(site, settings, MemoryTable::default());
    assert_eq!(world.run(&["http://h0.a.example/"]), End::Complete);
    assert_eq!(world.visited().len(), 50);
    assert_eq!(world.frontier.run().skipped.get("trap_domain_hosts").unwrap().urls, 1);
}

#[test]
fn killed_at_any_moment_nothing_is_lost_and_only_what_was_in_flight_is_asked_for_again() {
    let whole = 121;
    for kill_after in (1..120).step_by(7) {
        let settings = Settings { concurrency: 3, ..quick() };
        let mut world = World::new(chain(60), settings.clone(), MemoryTable::default());
        world.kill_after = Some(kill_after);
        let in_flight = world.run_until_killed(&["http://a.example/0"]);
        let before = world.visited();
        let mut world = World::new(chain(60), settings, world.into_table());
        assert_eq!(world.run(&["http://a.example/0"]), End::Complete);
        let after = world.visited();
        let mut all: std::collections::BTreeSet<_> = before.keys().collect();
        all.extend(after.keys());
        assert_eq!(all.len(), whole, "killed after {kill_after}");
        for twice in before.keys().filter(|u| after.contains_key(*u)) {
            assert!(in_flight.contains(twice), "{twice} was fetched twice, killed after {kill_after}");
        }
    }
}

#[test]
fn a_state_of_a_newer_program_is_refused() {
    use herodotus_frontier::{Error, Frontier, Table};
    let mut table = MemoryTable::default();
    table.write(vec![(b"mkept".to_vec(), Some(br#"{"form":200}"#.to_vec()))]).unwrap();
    let error = Frontier::open(table, quick(), support::at(0)).unwrap_err();
    assert!(matches!(error, Error::Newer { found: 200, .. }), "{error}");
}
