//! Random operations against a map in memory: whatever is asked in whatever order, the store answers as the map does.

#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_ring::placement::Placement;
use herodotus_store::disk::sim::SimDisk;
use herodotus_store::index::MemoryEngine;
use herodotus_store::{Appended, Capture, EntryKey, Outcome, Store, key_of};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use support::{check_places, contents, noise, page, picture, time, with_body};

const URLS: [&str; 6] = [
    "https://example.org/",
    "https://example.org/a",
    "https://example.org/a/b?x=1",
    "http://www.example.org/a",
    "https://sub.example.org/",
    "https://other.example/img.png",
];

const BUCKETS: [&str; 2] = ["org,example", "org,example,sub"];

#[derive(Clone, Debug)]
enum Op {
    Page {
        url: usize,
        at: i64,
        version: u32,
    },
    Picture {
        url: usize,
        at: i64,
        seed: u64,
    },
    Gzipped {
        url: usize,
        at: i64,
        version: u32,
    },
    Tiny {
        url: usize,
        at: i64,
        len: usize,
    },
    /// Another machine ships so many versions of a URL, all but one of which may be left out, and pictures of another.
    Ship {
        url: usize,
        at: i64,
        many: i64,
        without: i64,
        version: u32,
    },
    Remove(usize),
    /// So many captures from this one on.
    Release(usize, usize),
    SetPlacement(Placement),
    SetParts(usize, u32),
    Commit,
    Seal,
    Reopen,
    /// The power goes after a commit; the index may be lost with it.
    Crash {
        loses_index: bool,
    },
    Compact(bool),
    Check,
}

fn op() -> impl Strategy<Value = Op> {
    let (url, at) = (0..URLS.len(), 0..40i64);
    prop_oneof![
        8 => (url.clone(), at.clone(), 0..9u32).prop_map(|(url, at, version)| Op::Page { url, at, version }),
        2 => (url.clone(), at.clone(), 0..4u64).prop_map(|(url, at, seed)| Op::Picture { url, at, seed }),
        2 => (url.clone(), at.clone(), 0..5u32).prop_map(|(url, at, version)| Op::Gzipped { url, at, version }),
        2 => (url.clone(), at.clone(), 1..12i64, 0..30i64, 0..9u32)
            .prop_map(|(url, at, many, without, version)| Op::Ship { url, at, many, without, version }),
        1 => (url, at, 0..3usize).prop_map(|(url, at, len)| Op::Tiny { url, at, len }),
        1 => (0..50usize).prop_map(Op::Remove),
        1 => Just(Op::Commit),
        2 => Just(Op::Seal),
        1 => Just(Op::Reopen),
        1 => (0..50usize, 1..4usize).prop_map(|(n, many)| Op::Release(n, many)),
        1 => any::<bool>().prop_map(|by_url| Op::SetPlacement(if by_url { Placement::ByUrl } else { Placement::ByHost })),
        1 => (0..BUCKETS.len(), 0..4u32).prop_map(|(host, log)| Op::SetParts(host, 1 << log)),
        1 => any::<bool>().prop_map(|loses_index| Op::Crash { loses_index }),
        1 => Just(Op::Check),
        1 => any::<bool>().prop_map(Op::Compact),
    ]
}

fn gzipped(url: &str, at: i64, version: u32) -> Capture {
    let plain = page(url, at, version);
    let herodotus_store::Body::Bytes(bytes, _) = &plain.main.body else { unreachable!() };
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    with_body(url, at, "text/html\r\nContent-Encoding: gzip", encoder.finish().unwrap())
}

/// Where the store lives: in memory, or in a directory with the real index.
enum Home<'a> {
    Simulated(SimDisk, RefCell<MemoryEngine>),
    Real(&'a Path),
}

fn simulated() -> Home<'static> {
    Home::Simulated(SimDisk::new(), RefCell::new(MemoryEngine::new()))
}

impl Home<'_> {
    fn open(&self) -> Store {
        let opened = match self {
            Self::Simulated(disk, engine) => {
                Store::open_simulated(Arc::new(disk.clone()), Arc::new(engine.borrow().clone()))
            }
            Self::Real(path) => Store::open(path),
        };
        opened.unwrap().0
    }

    fn crash(&self, store: Store, loses_index: bool) {
        store.commit().unwrap();
        match self {
            Self::Simulated(_, engine) if loses_index => drop(engine.replace(MemoryEngine::new())),
            Self::Simulated(..) => {}
            Self::Real(path) => {
                // Whoever seals in the background must be done before the directory can be opened again.
                store.close().unwrap();
                if loses_index {
                    std::fs::remove_dir_all(path.join("index")).unwrap();
                }
            }
        }
    }
}

/// What another machine holds, and ships.
fn shipped(url: usize, at: i64, many: i64, version: u32) -> Vec<Capture> {
    let mut captures = Vec::new();
    for n in 0..many {
        captures.push(page(URLS[url], at + n, version + n as u32 / 2));
        if n % 3 == 0 {
            captures.push(gzipped(URLS[(url + 1) % URLS.len()], at + n, version));
        }
        if n % 4 == 0 {
            captures.push(picture(URLS[5], at + n, n as u64 / 2));
        }
    }
    captures
}

/// Counts and sums, against the map.
fn check_sums(store: &Store, model: &BTreeMap<Vec<u8>, Capture>, removed: &BTreeSet<Vec<u8>>, what: &str) {
    assert_eq!(&contents(store), model, "{what}");
    for url in URLS {
        let key = key_of(url);
        let versions = model.keys().filter(|k| EntryKey::decode(k).unwrap().key == key).count();
        assert_eq!(store.count(&key).unwrap(), versions as u64, "{what}: count of {url}");
    }
    store.seal().unwrap();
    check_places(store, &model.keys().cloned().collect(), removed, what);
    assert_eq!(store.totals().unwrap().captures, model.len() as u64, "{what}");
}

fn check(home: &Home<'_>, ops: &[Op]) {
    let mut store = home.open();
    let mut model: BTreeMap<Vec<u8>, Capture> = BTreeMap::new();
    let mut removed: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut released: BTreeSet<Vec<u8>> = BTreeSet::new();
    for (number, op) in ops.iter().enumerate() {
        let capture = match op {
            Op::Page { url, at, version } => Some(page(URLS[*url], *at, *version)),
            Op::Picture { url, at, seed } => Some(picture(URLS[*url], *at, *seed)),
            Op::Gzipped { url, at, version } => Some(gzipped(URLS[*url], *at, *version)),
            Op::Tiny { url, at, len } => Some(with_body(URLS[*url], *at, "text/plain", noise(1, *len))),
            Op::Ship { url, at, many, without, version } => {
                let donor = simulated().open();
                let captures: BTreeMap<_, _> =
                    shipped(*url, *at, *many, *version).into_iter().map(|capture| (capture.id(), capture)).collect();
                captures.values().for_each(|capture| _ = donor.append(capture.clone()).unwrap());
                donor.seal().unwrap();
                let ids = captures.keys().enumerate().filter(|(n, _)| *n as i64 != *without);
                let mut shipper = donor.shipper(ids.map(|(_, id)| id.clone()).collect(), 0).unwrap();
                while let Some(shipment) = shipper.next_shipment().unwrap() {
                    for (id, outcome) in store.take_shipment(&shipment).unwrap().entries {
                        let key = id.encode();
                        match outcome {
                            Outcome::Stored => {
                                assert!(!removed.contains(&key), "{id:?}");
                                released.remove(&key);
                                assert!(model.insert(key, captures[&id].clone()).is_none(), "{id:?}");
                            }
                            Outcome::Known => assert!(model.contains_key(&key), "{id:?}"),
                            Outcome::Removed => assert!(removed.contains(&key), "{id:?}"),
                            Outcome::LacksBase => {}
                            other => panic!("{id:?}: {other:?}"),
                        }
                    }
                }
                None
            }
            Op::Remove(n) => {
                // What was let go can be removed too: the removal is known wherever it comes again.
                if let Some(key) = model.keys().chain(&released).nth(*n).cloned() {
                    store.remove(&EntryKey::decode(&key).unwrap()).unwrap();
                    model.remove(&key);
                    released.remove(&key);
                    removed.insert(key);
                }
                None
            }
            Op::Release(n, many) => {
                let keys: Vec<_> = model.keys().skip(*n).take(*many).cloned().collect();
                let mut ids: Vec<_> = keys.iter().map(|key| EntryKey::decode(key).unwrap()).collect();
                // Nobody counts those that are not here.
                ids.extend(removed.iter().chain(&released).take(2).map(|key| EntryKey::decode(key).unwrap()));
                assert_eq!(store.release(&ids).unwrap(), keys.len() as u64);
                for key in keys {
                    model.remove(&key);
                    released.insert(key);
                }
                None
            }
            Op::SetPlacement(placement) => {
                store.set_placement(*placement).unwrap();
                None
            }
            Op::SetParts(host, parts) => {
                store.set_parts(BUCKETS[*host], *parts).unwrap();
                assert_eq!(store.parts(BUCKETS[*host]).unwrap(), *parts);
                None
            }
            Op::Commit => {
                store.commit().unwrap();
                None
            }
            Op::Seal => {
                store.seal().unwrap();
                None
            }
            Op::Reopen => {
                store.close().unwrap();
                store = home.open();
                None
            }
            Op::Crash { loses_index } => {
                home.crash(store, *loses_index);
                store = home.open();
                None
            }
            Op::Compact(all) => {
                store.compact(*all, |_, _| {}).unwrap();
                None
            }
            Op::Check => {
                check_sums(&store, &model, &removed, &format!("after operation {number}"));
                None
            }
        };
        if let Some(capture) = capture {
            let key = capture.id().encode();
            let expected = match (model.contains_key(&key), removed.contains(&key)) {
                (true, _) => Appended::Known,
                (false, true) => Appended::Removed,
                (false, false) => Appended::Stored,
            };
            assert_eq!(store.append(capture.clone()).unwrap(), expected);
            if expected == Appended::Stored {
                released.remove(&key);
                model.insert(key, capture);
            }
        }
    }
    assert_eq!(contents(&store), model);
    for url in URLS {
        let key = key_of(url);
        let versions: Vec<_> = model.keys().map(|k| EntryKey::decode(k).unwrap()).filter(|id| id.key == key).collect();
        assert_eq!(store.count(&key).unwrap(), versions.len() as u64, "count of {url}");
        let backwards: Vec<_> = store.versions(&key, true).map(|e| e.unwrap().id).collect();
        assert_eq!(backwards, versions.iter().rev().cloned().collect::<Vec<_>>());
        for at in [-1, 0, 7, 20, 39, 100] {
            let newest = store.newest_not_after(&key, time(at)).unwrap().map(|e| e.id);
            assert_eq!(newest, versions.iter().rfind(|id| id.time <= time(at)).cloned(), "{url} at {at}");
            let after = store.oldest_after(&key, time(at)).unwrap().map(|e| e.id);
            assert_eq!(after, versions.iter().find(|id| id.time > time(at)).cloned(), "{url} after {at}");
        }
    }
    let (from, to) = herodotus_page::host_range("example.org");
    let of_host = store.scan(&from, &to, false).count();
    let expected = model.keys().filter(|k| EntryKey::decode(k).unwrap().key.starts_with("org,example)")).count();
    assert_eq!(of_host, expected);
    check_sums(&store, &model, &removed, "in the end");
    assert_eq!(store.scrub(None, u64::MAX).unwrap(), (Vec::new(), None));
    assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_answers_as_a_map_does(ops in proptest::collection::vec(op(), 1..120)) {
        check(&simulated(), &ops);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn so_does_the_store_on_a_real_disk(ops in proptest::collection::vec(op(), 1..80)) {
        let dir = tempfile::tempdir().unwrap();
        check(&Home::Real(dir.path()), &ops);
    }
}

/// Found by the test above: removing a version broke those that were stored against it through a third one in the same
/// block.
#[test]
fn removing_the_base_of_a_chain_leaves_the_chain_readable() {
    let page = |at, version| Op::Page { url: 5, at, version };
    let gzipped = |at, version| Op::Gzipped { url: 5, at, version };
    let mut ops = vec![gzipped(0, 0), page(0, 1), page(0, 3), page(0, 2), Op::Seal, gzipped(1, 1), page(1, 0)];
    ops.extend((0..6).flat_map(|n| [Op::Remove(n), Op::Compact(false), page(n as i64 + 2, 4)]));
    check(&simulated(), &ops);
}

/// Found by the test above: of two that were removed, the one freed later was freed against the places of before, and so
/// what had just been stored whole was stored against the one freed first once more.
#[test]
fn removing_two_of_a_chain_leaves_the_chain_readable() {
    let page = |url, at, version| Op::Page { url, at, version };
    let picture = Op::Picture { url: 5, at: 3, seed: 0 };
    let ops = [picture, Op::Remove(0), page(5, 3, 1), Op::Seal, page(5, 0, 2), page(5, 0, 0), Op::Remove(0)]
        .into_iter()
        .chain([page(0, 0, 0), Op::Compact(false)]);
    check(&simulated(), &ops.collect::<Vec<_>>());
}

/// Found by the test above: a body that was stored twice, because its first owner could not be read without its key, was let
/// go with that owner, although others named it.
#[test]
fn a_body_stays_while_others_name_its_owner() {
    let page = |at, version| Op::Page { url: 5, at, version };
    let ops = [
        Op::Gzipped { url: 5, at: 15, version: 0 },
        Op::Seal,
        page(0, 0),
        page(0, 7),
        Op::Compact(true),
        Op::Reopen,
        page(1, 7),
        page(2, 7),
        Op::Remove(2),
        Op::Compact(false),
    ];
    check(&simulated(), &ops);
}

/// Many writers that commit at once: each finds its own capture durable, and nobody waits for ever.
#[test]
fn commits_that_come_together_are_all_durable() {
    let disk = SimDisk::new();
    let (store, _) = Store::open_simulated(Arc::new(disk.clone()), Arc::new(MemoryEngine::new())).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let store = &store;
            let disk = &disk;
            scope.spawn(move || {
                for n in 0..20 {
                    let capture = page(&format!("https://writer-{writer}.example/"), n, n as u32);
                    store.append(capture.clone()).unwrap();
                    store.commit().unwrap();
                    if n % 7 == 0 {
                        let image = disk.crash_image(disk.steps(), herodotus_store::disk::sim::Luck::Worst);
                        let (again, _) = Store::open_simulated(Arc::new(image), Arc::new(MemoryEngine::new())).unwrap();
                        assert_eq!(again.read(&capture.id()).unwrap().as_ref(), Some(&capture));
                    }
                }
            });
        }
    });
    assert_eq!(contents(&store).len(), 160);
}
