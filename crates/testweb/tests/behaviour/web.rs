//! The truth that the web tells about itself, held against the bytes it shows.

#![allow(clippy::unwrap_used)]

use herodotus_testweb::{Config, Fate, Rhythm, Web, round_time};
use std::collections::{HashSet, VecDeque};

fn web(seed: u64, hosts: u32, pages_per_host: u32) -> Web {
    Web::new(Config { seed, hosts, pages_per_host, ..Config::default() })
}

fn split(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap();
    rest.split_at(rest.find('/').unwrap())
}

/// Every URL that is ever on a web, as far as some rounds show.
fn all_urls(web: &Web) -> Vec<String> {
    let mut seen = HashSet::new();
    (0..80).step_by(4).flat_map(|round| web.urls(round)).filter(|url| seen.insert(url.clone())).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let (one, same, other) = (web(5, 4, 30), web(5, 4, 30), web(6, 4, 30));
    let mut differing = 0;
    for url in one.urls(7) {
        let (host, path) = split(&url);
        assert_eq!(one.response(host, path, 7), same.response(host, path, 7));
        differing += usize::from(one.response(host, path, 7) != other.response(host, path, 7));
    }
    assert!(one.urls(7).eq(same.urls(7)));
    assert!(differing > one.urls(7).count() / 2);
}

/// A seed that found something must find it again next year, on another machine. Whoever changes these bytes changes
/// every kept seed's world, and should say so.
#[test]
fn worlds_do_not_change_by_accident() {
    let web = Web::new(Config::default());
    let mut all = Vec::new();
    for url in web.urls(9).take(150) {
        let (host, path) = split(&url);
        let response = web.response(host, path, 9).unwrap();
        all.extend_from_slice(url.as_bytes());
        all.extend(response.head());
        all.extend(response.body);
    }
    let digest = herodotus_base::Sha256::of(&all).to_string();
    assert_eq!(digest, "d98e1d89712117445036e42530be6f0971714eb864d7b63babfc8e7d28bc049b");
}

#[test]
fn changed_says_exactly_what_changes() {
    for (seed, pages) in [(1, 60), (2, 1030)] {
        let web = web(seed, 2, pages);
        // Of the large web only what differs in kind, and some pages: the rest is as on the small one.
        let urls = all_urls(&web);
        let chosen = urls.iter().filter(|u| pages < 100 || u.contains("sitemap") || u.contains("/pages/"));
        let (mut yes, mut no) = (0, 0);
        for url in chosen {
            let (host, path) = split(url);
            for (from, to) in [(0, 1), (1, 2), (2, 5), (5, 40), (40, 39), (7, 7), (12, 14)] {
                let [before, after] = [from, to].map(|round| web.response(host, path, round).unwrap());
                let differ = (before.status, &before.body) != (after.status, &after.body);
                assert_eq!(web.changed(host, path, from, to), differ, "{url} from {from} to {to}");
                *if differ { &mut yes } else { &mut no } += 1;
                let kept = before.status == 200 && after.status == 200 && !differ;
                assert!(!kept || before.header("ETag") == after.header("ETag"), "{url}");
            }
        }
        assert!(yes > 50 && no > 50, "{yes} changed, {no} did not");
    }
}

#[test]
fn a_page_was_last_modified_in_the_round_that_changed_it() {
    let web = web(3, 2, 60);
    for url in all_urls(&web) {
        let (host, path) = split(&url);
        let mut last: Option<(u16, Vec<u8>)> = None;
        let mut changed_in = 0;
        for round in 0..25 {
            let response = web.response(host, path, round).unwrap();
            let state = (response.status, response.body.clone());
            if last.replace(state.clone()) != Some(state) {
                changed_in = round;
            }
            if let Some(date) = response.header("Last-Modified") {
                let expected = round_time(changed_in).rfc3339();
                assert_eq!(date[5..7], expected[8..10], "{url} at {round}: {date}, but changed at {expected}");
            }
        }
    }
}

#[test]
fn urls_are_those_that_answer_and_no_others() {
    let web = web(4, 3, 80);
    let everything = all_urls(&web);
    for round in [0, 3, 20, 60] {
        let urls: HashSet<String> = web.urls(round).collect();
        assert_eq!(urls.len(), web.urls(round).count(), "no URL is told twice");
        for url in &everything {
            let (host, path) = split(url);
            let status = web.response(host, path, round).unwrap().status;
            let fate = web.fate(host, path, round);
            assert_eq!(urls.contains(url), status < 400, "{url} at {round}");
            assert_eq!(fate == Fate::Live, status < 400);
            assert!(matches!(fate, Fate::Live | Fate::Gone) || status == 404);
        }
    }
    let statuses: HashSet<u16> =
        everything.iter().map(|url| web.response(split(url).0, split(url).1, 60).unwrap().status).collect();
    assert!(statuses.is_superset(&HashSet::from([200, 301, 404])), "{statuses:?}");
}

#[test]
fn every_link_leads_to_something_that_exists_or_is_known_to_be_lost() {
    let web = web(5, 4, 120);
    let (mut live, mut gone, mut dead) = (0, 0, 0);
    for round in [0, 9, 45] {
        for url in web.urls(round) {
            let (host, path) = split(&url);
            for link in web.links(host, path, round) {
                match web.fate(split(&link).0, split(&link).1, round) {
                    Fate::Live => live += 1,
                    Fate::Gone => gone += 1,
                    Fate::Dead => dead += 1,
                    fate => panic!("{url} at {round} links to {link}, which is {fate:?}"),
                }
            }
        }
    }
    assert!(live > 10 * (gone + dead) && gone > 10 && dead > 10, "{live} live, {gone} gone, {dead} dead");
}

/// Reads the attributes and bare addresses of a document as a simple crawler would.
fn links_in(host: &str, media_type: &str, body: &str) -> Vec<String> {
    let marks: &[(&str, char)] = match media_type.split(';').next().unwrap() {
        "text/html" => &[("href=\"", '"'), ("src=\"", '"')],
        "application/xml" => &[("<loc>", '<')],
        "text/css" => &[("url(\"", '"')],
        _ => &[("Sitemap: ", '\n')],
    };
    let mut found: Vec<(usize, String)> = Vec::new();
    for (mark, end) in marks {
        for (at, _) in body.match_indices(mark) {
            let value = body[at + mark.len()..].split(*end).next().unwrap().replace("&amp;", "&");
            let value = value.split('#').next().unwrap();
            let url = match value {
                value if value.starts_with("//") => format!("http:{value}"),
                value if value.starts_with('/') => format!("http://{host}{value}"),
                value if value.starts_with("http://") => value.to_owned(),
                value => format!("http://{host}/static/{value}"),
            };
            found.push((at, url));
        }
    }
    found.sort();
    found.into_iter().map(|(_, url)| url).collect()
}

#[test]
fn the_links_told_are_the_links_written() {
    let web = web(6, 3, 60);
    let lost = web.hosts().map(|host| format!("http://{host}/no/such-page.html"));
    for url in web.urls(11).chain(lost) {
        let (host, path) = split(&url);
        let response = web.response(host, path, 11).unwrap();
        if response.header("Content-Type") == Some("image/png") {
            continue;
        }
        if let Some(target) = response.header("Location") {
            assert_eq!(web.links(host, path, 11), [target]);
            continue;
        }
        let body = String::from_utf8(response.body.clone()).unwrap();
        let read = links_in(host, response.header("Content-Type").unwrap(), &body);
        assert_eq!(web.links(host, path, 11), read, "{url}");
    }
}

#[test]
fn all_that_exists_is_reached_from_the_first_front_page() {
    let web = web(7, 6, 400);
    for round in [0, 17] {
        let start = format!("http://{}/", web.hosts().next().unwrap());
        let mut seen = HashSet::from([start.clone()]);
        let mut queue = VecDeque::from([start]);
        while let Some(url) = queue.pop_front() {
            let (host, path) = split(&url);
            if web.fate(host, path, round) == Fate::Live {
                let fresh = web.links(host, path, round).into_iter().filter(|link| seen.insert(link.clone()));
                queue.extend(fresh);
            }
        }
        // By custom, not by links.
        let missed: Vec<String> = web.urls(round).filter(|url| !seen.contains(url)).collect();
        assert!(missed.iter().all(|url| url.contains("/robots.txt") || url.contains("/sitemap")), "{missed:?}");
    }
}

#[test]
fn versions_of_a_page_resemble_each_other() {
    let web = web(8, 4, 100);
    let (mut compared, mut kept_share) = (0, 0.0);
    for host in web.hosts() {
        for path in web.pages(&host) {
            if web.changed(&host, &path, 20, 21) && web.response(&host, &path, 20).unwrap().status == 200 {
                let [old, new] = [20, 21].map(|round| web.response(&host, &path, round).unwrap());
                if new.status == 200 {
                    let sentences = |body: &[u8]| -> HashSet<String> {
                        String::from_utf8_lossy(body).split_inclusive(['.', '>']).map(str::to_owned).collect()
                    };
                    let (old, new) = (sentences(&old.body), sentences(&new.body));
                    kept_share += new.intersection(&old).count() as f64 / new.len() as f64;
                    compared += 1;
                }
            }
        }
    }
    let kept_share = kept_share / f64::from(compared);
    assert!(compared > 20 && kept_share > 0.8 && kept_share < 0.999, "{kept_share} kept over {compared} pages");
}

#[test]
fn some_pages_come_back_to_what_they_said_before() {
    let web = web(9, 4, 200);
    let mut returned = 0;
    for host in web.hosts() {
        for path in web.pages(&host) {
            let life = web.life(&host, &path).unwrap();
            if let Rhythm::Alternate { period, phase } = life.rhythm
                && life.gone.is_none()
            {
                let round = life.born + period + phase;
                assert!(web.changed(&host, &path, round, round + period));
                assert!(!web.changed(&host, &path, round, round + 2 * period));
                returned += 1;
            }
        }
    }
    assert!(returned > 10);
}

#[test]
fn the_rates_asked_for_are_the_rates_given() {
    let settled =
        Config { never_percent: 100, late_percent: 0, mortal_percent: 0, pages_per_host: 300, ..Config::default() };
    let still = Web::new(settled.clone());
    assert!(still.urls(0).eq(still.urls(1000)));
    for url in still.urls(0) {
        assert!(!still.changed(split(&url).0, split(&url).1, 0, 1000), "{url}");
    }
    let busy = Web::new(Config { never_percent: 0, every_round_percent: 100, ..settled });
    for host in busy.hosts() {
        assert!(busy.pages(&host).all(|path| busy.changed(&host, &path, 4, 5)));
    }
    let usual = web(10, 1, 20_000);
    let host = usual.hosts().next().unwrap();
    let count = |ask: &dyn Fn(&str) -> bool| usual.pages(&host).filter(|path| ask(path)).count() as f64 / 20_000.0;
    let never = count(&|path| usual.life(&host, path).unwrap().rhythm == Rhythm::Never);
    let late = count(&|path| usual.fate(&host, path, 0) == Fate::Later);
    let mortal = count(&|path| usual.life(&host, path).unwrap().gone.is_some());
    let closed = count(&|path| !usual.allowed(path));
    for (name, share, asked) in
        [("never", never, 0.5), ("late", late, 0.15), ("mortal", mortal, 0.1), ("closed", closed, 0.03)]
    {
        assert!((share - asked).abs() < 0.02, "{name}: {share} instead of {asked}");
    }
}

#[test]
fn bodies_have_the_sizes_of_pages() {
    let web = web(11, 2, 500);
    let mut sizes: Vec<usize> = Vec::new();
    for host in web.hosts() {
        for path in web.pages(&host) {
            let response = web.response(&host, &path, 35).unwrap();
            let size = response.body.len();
            assert_eq!(response.header("Content-Length"), Some(size.to_string().as_str()));
            if response.status == 200 {
                assert!((2_000..=48_000).contains(&size), "{path} has {size} bytes");
                sizes.push(size);
            }
        }
    }
    sizes.sort_unstable();
    let (median, largest) = (sizes[sizes.len() / 2], sizes[sizes.len() - 1]);
    assert!((4_000..12_000).contains(&median) && largest > 24_000, "median {median}, largest {largest}");
}

#[test]
fn two_million_pages_are_counted_without_being_kept() {
    let web = web(12, 2000, 1000);
    assert_eq!(web.hosts().map(|host| web.pages(&host).count()).sum::<usize>(), 2_000_000);
    // And on one host: its last page is as near as its first.
    let wide = self::web(12, 1, 2_000_000);
    let host = wide.hosts().next().unwrap();
    let last = wide.links(&host, "/pages/49999/", 40);
    assert!(last.iter().any(|url| url.contains("19999")), "{last:?}");
    assert_eq!(wide.fate(&host, "/sitemap-1999.xml", 0), Fate::Live);
    assert_eq!(wide.fate(&host, "/sitemap-2000.xml", 0), Fate::Unknown);
    assert_eq!(wide.links(&host, "/sitemap.xml", 0).len(), 2000);
}

#[test]
fn strange_questions_have_answers() {
    let web = web(13, 1, 1);
    let host = web.hosts().next().unwrap();
    assert_eq!(web.urls(u32::MAX).count(), web.urls(0).count());
    for round in [0, u32::MAX - 1, u32::MAX] {
        assert_eq!(web.response(&host, "/", round).unwrap().status, 200);
    }
    for path in ["", "*", "/../", "/%", "/p/-1", "/images/--.png", "/\0", "/ä", "/lost/x"] {
        assert_eq!(web.response(&host, path, 3).unwrap().status, 404, "{path:?}");
    }
    assert_eq!(web.response("nowhere.test", "/", 0), None);
    assert_eq!(web.fate("nowhere.test", "/", 0), Fate::Unknown);
    assert_eq!((web.fate("atlantis-3.test", "/", 0), web.fate(&host, "/lost/x", 0)), (Fate::Dead, Fate::Dead));
    assert_eq!(web.pages("nowhere.test").count(), 0);
    assert!(Web::new(Config { hosts: 0, pages_per_host: 0, ..Config::default() }).urls(0).count() > 1);
}
