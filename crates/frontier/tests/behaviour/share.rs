//! One crawl on several machines: each has its own part, passes on what is not its own, and takes over from one that is gone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use herodotus_frontier::{Frontier, MemoryTable, Prospect, Settings, Span, Territory, UrlRecord};
use herodotus_page::{LinkKind, WebUrl};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use support::{Site, World, at, page, url};

/// Who has which host, as all machines know it.
#[derive(Debug, Default)]
struct Map {
    owners: Mutex<Vec<usize>>,
}

impl Map {
    fn owner(&self, url: &WebUrl) -> usize {
        let owners = self.owners.lock().unwrap();
        let number: usize = url.path().bytes().map(usize::from).sum::<usize>() + url.host().len();
        owners[number % owners.len()]
    }
}

#[derive(Debug)]
struct Part {
    map: Arc<Map>,
    machine: usize,
    asked: AtomicU64,
}

impl Territory for Part {
    fn holds(&self, url: &WebUrl) -> bool {
        self.asked.fetch_add(1, Relaxed);
        self.map.owner(url) == self.machine
    }
}

fn settings() -> Settings {
    Settings { delay: Span(500), ..Settings::default() }
}

/// Pages of three hosts that link to each other.
fn site(pages: usize) -> Site {
    let mut site = Site::default();
    let name = |n: usize| format!("http://{}.example/{n}", ["a", "bb", "ccc"][n % 3]);
    for n in 0..pages {
        let links: Vec<String> = [n + 1, 2 * n, n / 2].into_iter().filter(|m| *m < pages).map(name).collect();
        let links: Vec<_> = links.iter().map(|text| (text.as_str(), LinkKind::Page)).collect();
        site.add(&name(n), page(&links));
    }
    site
}

struct Machines {
    map: Arc<Map>,
    worlds: Vec<World>,
    /// What is kept of every URL on other machines.
    kept: BTreeMap<String, UrlRecord>,
}

impl Machines {
    fn new(count: usize, pages: usize) -> Self {
        let map = Arc::new(Map::default());
        *map.owners.lock().unwrap() = (0..count).collect();
        let worlds = (0..count).map(|machine| part(&map, machine, pages, MemoryTable::default(), 1)).collect();
        Self { map, worlds, kept: BTreeMap::new() }
    }

    /// Lets all of them work and hand on until nobody has anything to do.
    fn run(&mut self, alive: &[usize]) {
        loop {
            let mut prospects: Vec<Prospect> = Vec::new();
            for machine in alive {
                let world = &mut self.worlds[*machine];
                world.run(&[]);
                for record in world.frontier.take_news() {
                    self.kept.insert(record.url.as_str().to_owned(), record);
                }
                prospects.extend(world.frontier.take_prospects());
            }
            if prospects.is_empty() {
                return;
            }
            for machine in alive {
                let now = at(self.worlds[*machine].elapsed_ms());
                // Everybody is shown everything; each takes its own.
                let strays = self.worlds[*machine].frontier.handle_prospects(now, &prospects).unwrap();
                assert!(strays.iter().all(|stray| self.map.owner(&stray.url) != *machine));
            }
        }
    }

    fn visited(&self) -> BTreeMap<String, u32> {
        let mut all = BTreeMap::new();
        for (text, times) in self.worlds.iter().flat_map(World::visited) {
            *all.entry(text).or_default() += times;
        }
        all
    }
}

fn part(map: &Arc<Map>, machine: usize, pages: usize, table: MemoryTable, run: u32) -> World {
    let territory = Arc::new(Part { map: map.clone(), machine, asked: AtomicU64::new(0) });
    let mut world = World::new(site(pages), settings(), MemoryTable::default());
    world.frontier = Frontier::open_part(table, settings(), territory, (at(0), run), at(0)).unwrap();
    let seeds = ["a", "bb", "ccc"].map(|host| url(&format!("http://{host}.example/0")));
    world.frontier.handle_seeds(at(0), &seeds).unwrap();
    world
}

#[test]
fn together_they_visit_everything_once() {
    for count in [1, 2, 5] {
        let mut machines = Machines::new(count, 200);
        machines.run(&(0..count).collect::<Vec<_>>());
        let visited = machines.visited();
        // Of the seeds, two hosts have no page 0.
        assert_eq!(visited.len(), 202, "{count} machines");
        assert!(visited.values().all(|times| *times == 1));
        assert!(machines.worlds.iter().all(|world| count == 1 || world.visited().len() > 20));
    }
}

#[test]
fn a_successor_goes_on_from_what_was_told_and_fetches_nothing_again() {
    let mut machines = Machines::new(3, 200);
    // The third does nothing but take in; then it is gone, and the first has its part.
    machines.run(&[0, 1]);
    let lost: Vec<_> = machines.worlds[2].visited().into_keys().collect();
    assert!(lost.is_empty());
    let before = machines.visited();
    let mut third = std::mem::take(&mut machines.kept);
    // What the third was handed is known from its news alone.
    let now = at(0);
    let prospects: Vec<Prospect> = (0..200)
        .map(|n| Prospect {
            url: url(&format!("http://{}.example/{n}", ["a", "bb", "ccc"][n % 3])),
            kind: LinkKind::Page,
            depth: 1,
            hops: 0,
            redirects: 0,
            seed: false,
        })
        .collect();
    machines.worlds[2].frontier.handle_prospects(now, &prospects).unwrap();
    third.extend(machines.worlds[2].frontier.take_news().into_iter().map(|r| (r.url.as_str().to_owned(), r)));
    *machines.map.owners.lock().unwrap() = vec![0, 1, 0];
    let records: Vec<UrlRecord> = third.values().map(|record| UrlRecord::decode(&record.encode()).unwrap()).collect();
    for machine in [0, 1] {
        let now = at(machines.worlds[machine].elapsed_ms());
        machines.worlds[machine].frontier.adopt(now, &records).unwrap();
    }
    machines.run(&[0, 1]);
    let visited = machines.visited();
    assert_eq!(visited.len(), 202);
    assert!(visited.values().all(|times| *times == 1), "{visited:?}");
    assert!(before.len() < 150, "something was left for the successor: {}", before.len());
}

#[test]
fn what_is_another_machines_now_is_passed_on_when_its_turn_comes() {
    let mut machines = Machines::new(2, 60);
    let prospects: Vec<Prospect> = (0..60)
        .map(|n| Prospect {
            url: url(&format!("http://{}.example/{n}", ["a", "bb", "ccc"][n % 3])),
            kind: LinkKind::Page,
            depth: 1,
            hops: 0,
            redirects: 0,
            seed: false,
        })
        .collect();
    machines.worlds[0].frontier.handle_prospects(at(0), &prospects).unwrap();
    let held = machines.worlds[0].frontier.progress().urls;
    *machines.map.owners.lock().unwrap() = vec![1];
    machines.worlds[0].run(&[]);
    assert!(held > 10 && machines.worlds[0].frontier.progress().urls == 0);
    assert_eq!(machines.worlds[0].visited().len(), 0);
    let passed_on = machines.worlds[0].frontier.take_prospects();
    assert_eq!(passed_on.len() as u64, held, "none is left with nobody");
    machines.worlds[1].frontier.handle_prospects(at(0), &passed_on).unwrap();
    machines.worlds[1].run(&[]);
    assert!(machines.worlds[1].visited().len() as u64 >= held);
}

#[test]
fn a_crawl_that_is_begun_again_visits_everything_anew_also_where_it_was_adopted() {
    let mut machines = Machines::new(2, 60);
    machines.run(&[0, 1]);
    let table = std::mem::replace(&mut machines.worlds[0], part(&machines.map, 0, 60, MemoryTable::default(), 1));
    let mut again = part(&machines.map, 0, 60, table.into_table(), 2);
    // Of the second machine's part, which is ours from now on.
    *machines.map.owners.lock().unwrap() = vec![0];
    let records: Vec<UrlRecord> = machines.kept.values().cloned().collect();
    again.frontier.adopt(at(0), &records).unwrap();
    again.run(&[]);
    assert_eq!(again.visited().len(), 62);
}

#[test]
fn what_was_adopted_in_one_run_is_due_in_the_next() {
    let mut machines = Machines::new(2, 60);
    machines.run(&[0, 1]);
    // The first takes over from the second when both are done, and then all of it is begun again.
    *machines.map.owners.lock().unwrap() = vec![0];
    let records: Vec<UrlRecord> = machines.kept.values().cloned().collect();
    let now = at(machines.worlds[0].elapsed_ms());
    machines.worlds[0].frontier.adopt(now, &records).unwrap();
    machines.worlds[0].frontier.flush().unwrap();
    let table = std::mem::replace(&mut machines.worlds[0], part(&machines.map, 0, 60, MemoryTable::default(), 1));
    let mut again = part(&machines.map, 0, 60, table.into_table(), 2);
    again.run(&[]);
    assert_eq!(again.visited().len(), 62);
}

#[test]
fn a_seed_that_was_nobodys_when_the_crawl_began_is_taken_in_by_whoever_has_it_then() {
    let map = Arc::new(Map::default());
    // Nobody: as when each is still filled with what lies on its arc.
    *map.owners.lock().unwrap() = vec![usize::MAX];
    let mut worlds: Vec<World> = (0..2).map(|machine| part(&map, machine, 20, MemoryTable::default(), 1)).collect();
    worlds.iter_mut().for_each(|world| _ = world.run(&[]));
    assert!(worlds.iter().all(|world| world.visited().is_empty()));
    *map.owners.lock().unwrap() = vec![0];
    let seeds = ["a", "bb", "ccc"].map(|host| url(&format!("http://{host}.example/0")));
    for world in &mut worlds {
        let now = at(world.elapsed_ms());
        // Once or often.
        world.frontier.handle_missing_seeds(now, &seeds).unwrap();
        world.frontier.handle_missing_seeds(now, &seeds).unwrap();
        world.run(&[]);
        world.frontier.handle_missing_seeds(at(world.elapsed_ms()), &seeds).unwrap();
        world.run(&[]);
    }
    let visited = worlds[0].visited();
    assert_eq!((visited.len(), worlds[1].visited().len()), (22, 0));
    assert!(visited.values().all(|times| *times == 1));
}

#[test]
fn what_is_told_of_an_earlier_run_is_due_also_if_it_is_told_when_this_one_has_long_begun() {
    let mut machines = Machines::new(1, 20);
    machines.run(&[0]);
    let told: Vec<UrlRecord> = machines.kept.values().cloned().collect();
    // Nothing is the other's until it takes over, a minute after the second run began.
    let mut late = part(&machines.map, 1, 20, MemoryTable::default(), 2);
    late.run(&[]);
    assert!(late.visited().is_empty());
    *machines.map.owners.lock().unwrap() = vec![1];
    assert_eq!(late.frontier.adopt(at(60_000), &told).unwrap(), told.len());
    late.run(&[]);
    assert_eq!(late.visited().keys().collect::<Vec<_>>(), machines.worlds[0].visited().keys().collect::<Vec<_>>());
}
