//! Power loss at every step: a few hundred operations on a simulated disk, stopped after each write, fsync, rename and
//! removal, with what was not synced kept, dropped or torn; each image is opened again and compared with what had been
//! acknowledged by then.

#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_ring::placement::Placement;
use herodotus_store::disk::Disk;
use herodotus_store::disk::sim::{Luck, SimDisk};
use herodotus_store::{Body, Capture, EntryKey, Outcome, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use support::{TimedEngine, check_places, contents, noise, page, picture, time};

/// What was asked of the store, and what of it had been acknowledged at which step of the disk.
#[derive(Default)]
struct Reference {
    appended: BTreeMap<Vec<u8>, Capture>,
    removed: BTreeSet<Vec<u8>>,
    /// Released at some time. They may be here or not.
    released: BTreeSet<Vec<u8>>,
    acknowledged: Vec<Acknowledged>,
}

struct Acknowledged {
    step: usize,
    captures: BTreeSet<Vec<u8>>,
    removed: BTreeSet<Vec<u8>>,
    /// Those that are not here, until they are asked for again.
    released: BTreeSet<Vec<u8>>,
    note: Option<Vec<u8>>,
}

struct Run {
    disk: SimDisk,
    engine: TimedEngine,
    store: Store,
    reference: Reference,
    note: Option<Vec<u8>>,
    /// Released and not stored again.
    away: BTreeSet<Vec<u8>>,
    /// Another machine, which ships what it has.
    donor: Store,
}

impl Run {
    fn new() -> Self {
        let disk = SimDisk::new();
        let engine = TimedEngine::new(disk.clone());
        let (store, _) = Store::open_simulated(Arc::new(disk.clone()), Arc::new(engine.clone())).unwrap();
        let elsewhere = (Arc::new(SimDisk::new()), Arc::new(herodotus_store::index::MemoryEngine::new()));
        let (donor, _) = Store::open_simulated(elsewhere.0, elsewhere.1).unwrap();
        Self { disk, engine, store, reference: Reference::default(), note: None, away: BTreeSet::new(), donor }
    }

    /// Another machine seals a round of pages, versions of those before among them, and ships them. They are durable without a commit.
    fn ship(&mut self, round: i64) {
        let mut captures = vec![picture(&format!("https://shipped.example/{round}.png"), round, round as u64)];
        for p in 0..4 {
            captures.push(page(&format!("https://shipped.example/p{p}"), round * 100 + p, (round * 7 + p) as u32));
            captures.push(page(&format!("https://shipped.example/r{round}p{p}"), round, p as u32));
        }
        let mut ids: Vec<EntryKey> = captures.iter().map(Capture::id).collect();
        ids.sort();
        for capture in captures {
            self.donor.append(capture.clone()).unwrap();
            self.reference.appended.insert(capture.id().encode(), capture);
        }
        self.donor.seal().unwrap();
        let mut shipper = self.donor.shipper(ids, 0).unwrap();
        while let Some(shipment) = shipper.next_shipment().unwrap() {
            let taken = self.store.take_shipment(&shipment).unwrap();
            assert!(taken.entries.iter().all(|(_, outcome)| *outcome == Outcome::Stored), "{taken:?}");
        }
        assert!(shipper.left().is_empty());
        self.acknowledge();
    }

    fn append(&mut self, capture: Capture) {
        self.reference.appended.insert(capture.id().encode(), capture.clone());
        self.away.remove(&capture.id().encode());
        self.store.append(capture).unwrap();
    }

    fn release(&mut self, id: &EntryKey) {
        self.reference.released.insert(id.encode());
        self.away.insert(id.encode());
        assert_eq!(self.store.release(std::slice::from_ref(id)).unwrap(), 1);
    }

    fn append_blob(&mut self, url: &str, n: i64, seed: u64) {
        let mut writer = self.store.blob_writer("video/mp4").unwrap();
        writer.write_all(&noise(seed, 5000)).unwrap();
        let body = writer.finish().unwrap();
        let mut capture = page(url, n, 0);
        capture.main.body = body;
        self.append(capture);
    }

    fn remove(&mut self, id: &EntryKey) {
        self.reference.removed.insert(id.encode());
        self.store.remove(id).unwrap();
    }

    fn note(&mut self, value: &str) {
        self.store.note("import:test", value.as_bytes()).unwrap();
        self.note = Some(value.as_bytes().to_vec());
    }

    fn acknowledge(&mut self) {
        let captures = self.reference.appended.keys().cloned().collect();
        let removed = self.reference.removed.clone();
        let (note, released) = (self.note.clone(), self.away.clone());
        self.reference.acknowledged.push(Acknowledged { step: self.disk.steps(), captures, removed, released, note });
    }

    fn commit(&mut self) {
        // What is handed over without a sync may be lost or torn, and must not disturb what is synced after it.
        self.store.flush().unwrap();
        self.store.commit().unwrap();
        self.acknowledge();
    }

    fn seal(&mut self) {
        self.store.seal().unwrap();
        self.acknowledge();
    }

    /// A life of an archive: versions, pictures, duplicates, large bodies, removals, compactions.
    fn live() -> Self {
        let mut run = Self::new();
        for round in 0..8i64 {
            for p in 0..5 {
                run.append(page(&format!("https://example.org/p{p}"), round * 100 + p, (round * 7 + p) as u32));
            }
            run.commit();
            run.append(picture(&format!("https://example.org/i{round}.png"), round, round as u64));
            run.append(picture(&format!("https://other.example/same{round}.png"), round, 99));
            run.append(page("https://mirror.example/", round * 100, 1));
            run.note(&format!("{round} first"));
            run.commit();
            run.append_blob(&format!("https://example.org/film{round}"), round, round as u64 / 2);
            if round % 2 == 1 {
                run.commit();
            }
            run.seal();
            if round % 2 == 0 {
                run.ship(round);
            }
            run.append(page("https://example.org/p0", round * 100 + 50, (round * 7 + 3) as u32));
            match round {
                0 => run.store.set_placement(Placement::ByHost).unwrap(),
                2 => run.release(&page("https://example.org/p3", 203, 17).id()),
                3 => run.append(page("https://example.org/p3", 203, 17)),
                4 => run.store.set_parts("org,example", 2).unwrap(),
                5 => {
                    run.release(&page("https://example.org/p3", 3, 3).id());
                    run.release(&picture("https://example.org/i1.png", 1, 1).id());
                }
                6 => {
                    run.store.compact(false, |_, _| {}).unwrap();
                    run.append(page("https://example.org/p3", 3, 3));
                }
                _ => {}
            }
            run.note(&format!("{round} second"));
            run.commit();
            if round == 1 {
                let first = page("https://example.org/p1", 1, 1).id();
                run.remove(&first);
                run.commit();
                run.store.compact(false, |_, _| {}).unwrap();
                run.acknowledge();
            }
        }
        run.store.compact(true, |_, _| {}).unwrap();
        run.acknowledge();
        run.append(page("https://example.org/last", 1000, 1));
        run.commit();
        run
    }

    /// Opens what a crash at this step left, and holds it against what had been acknowledged.
    fn check(&self, step: usize, luck: Luck, batches: usize) {
        let what = format!("step {step} of {}, {luck:?}, {batches} batches", self.disk.steps());
        let image = self.disk.crash_image(step, luck);
        let index = self.engine.inner.image(batches);
        let opened = Store::open_simulated(Arc::new(image), Arc::new(index));
        let (store, _) = opened.unwrap_or_else(|e| panic!("{what}: {e}"));
        let found = contents(&store);
        let nothing = Acknowledged {
            step: 0,
            captures: BTreeSet::new(),
            removed: BTreeSet::new(),
            released: BTreeSet::new(),
            note: None,
        };
        let known = self.reference.acknowledged.iter().rev().find(|a| a.step <= step).unwrap_or(&nothing);
        let next = self.reference.acknowledged.iter().find(|a| a.step > step);
        for key in &known.captures {
            let is_there = found.contains_key(key);
            let may_be_removed = self.reference.removed.contains(key);
            // What was released, or is about to be.
            let may_be_away = known.released.contains(key) || next.is_none_or(|next| next.released.contains(key));
            let may_be_away = may_be_away && self.reference.released.contains(key);
            assert!(is_there || may_be_removed || may_be_away, "{what}: an acknowledged capture is gone");
        }
        for key in &known.released {
            let is_back = next.is_none_or(|next| !next.released.contains(key));
            assert!(is_back || !found.contains_key(key), "{what}: a released capture is back");
        }
        for key in &known.removed {
            assert!(!found.contains_key(key), "{what}: a removed capture came back");
        }
        for (key, capture) in &found {
            assert_eq!(Some(capture), self.reference.appended.get(key), "{what}: a capture is not what was stored");
            if let Body::Blob { digests, .. } = &capture.main.body {
                let mut bytes = Vec::new();
                std::io::copy(&mut store.open_blob(&digests.sha256).unwrap(), &mut bytes).unwrap();
                assert_eq!(bytes.len(), 5000, "{what}");
            }
        }
        if known.note.is_some() {
            let note = store.noted("import:test").unwrap().unwrap_or_else(|| panic!("{what}: the note is gone"));
            // Notes only go forward: what is found was written at or after what was acknowledged.
            assert!(Some(&note) >= known.note.as_ref(), "{what}: an old note came back");
        }
        let verified = store.verify(|_, _| {}).unwrap();
        assert!(verified.damaged.is_empty(), "{what}: {:?}", verified.damaged);
        if store.placement().unwrap().is_some() {
            let is_removed = |key: &&Vec<u8>| !found.contains_key(*key) && is_marked(&store, key);
            let removed = self.reference.removed.iter().filter(is_removed).cloned().collect();
            check_places(&store, &found.keys().cloned().collect(), &removed, &what);
        }
        // Counts are kept, not made up: they must survive too.
        let captures = found.values().filter(|c| c.main.kind == herodotus_store::Kind::Response).count() as u64;
        assert_eq!(store.totals().unwrap().captures, captures, "{what}: the totals are wrong");
        for p in 0..5 {
            let key = herodotus_store::key_of(&format!("https://example.org/p{p}"));
            let versions = store.versions(&key, false).count() as u64;
            assert_eq!(store.count(&key).unwrap(), versions, "{what}: the count of {key} is wrong");
        }
        // And life goes on.
        let new = page("https://example.org/p2", 5000, 9);
        store.append(new.clone()).unwrap();
        store.seal().unwrap();
        assert_eq!(store.read(&new.id()).unwrap().as_ref(), Some(&new), "{what}");
    }
}

/// Whether the store knows a capture as removed: it does not take it again.
fn is_marked(store: &Store, key: &[u8]) -> bool {
    let feed = store.feed(None, 10_000).unwrap().0;
    feed.iter().any(|entry| entry.is_removed_for_good() && entry.id.encode() == key)
}

#[test]
fn nothing_acknowledged_is_lost_whenever_the_power_goes() {
    let run = Run::live();
    let steps = run.disk.steps();
    assert!(steps > 150, "{steps} steps are too few to mean anything");
    let mut images = 0;
    for step in 0..=steps {
        let (fewest, most) = run.engine.possible(step);
        for luck in [Luck::Worst, Luck::Best, Luck::Seed(1), Luck::Seed(2)] {
            run.check(step, luck, most);
            images += 1;
            if fewest < most {
                run.check(step, luck, fewest);
                images += 1;
            }
        }
    }
    println!("{images} images of {steps} steps");
}

#[test]
fn an_index_that_was_lost_is_made_again_from_the_packs() {
    let run = Run::live();
    let image = run.disk.crash_image(run.disk.steps(), Luck::Best);
    let empty = herodotus_store::index::MemoryEngine::new();
    let (store, recovery) = Store::open_simulated(Arc::new(image), Arc::new(empty)).unwrap();
    assert!(recovery.reindexed > 20);
    let live = contents(&run.store);
    assert_eq!(contents(&store), live);
    check_places(&store, &live.keys().cloned().collect(), &run.reference.removed, "made again");
    assert_eq!(store.totals().unwrap(), {
        run.store.seal().unwrap();
        run.store.totals().unwrap()
    });
}

#[test]
fn a_crash_during_recovery_is_recovered_from() {
    let run = Run::live();
    // Stop in the middle, recover, stop the recovery at each of its own steps, and recover again.
    let middle = run.disk.steps() / 2;
    let image = run.disk.crash_image(middle, Luck::Seed(7));
    let before = image.steps();
    let index = run.engine.inner.image(run.engine.possible(middle).0);
    let engine = TimedEngine::new(image.clone());
    drop(Store::open_simulated(Arc::new(image.clone()), Arc::new(index)).unwrap());
    let known = run.reference.acknowledged.iter().rev().find(|a| a.step <= middle).unwrap();
    for step in before..=image.steps() {
        let again = image.crash_image(step, Luck::Worst);
        let (store, _) = Store::open_simulated(Arc::new(again), Arc::new(engine.inner.image(0))).unwrap();
        let found = contents(&store);
        for key in
            known.captures.difference(&run.reference.removed).filter(|key| !run.reference.released.contains(*key))
        {
            assert!(found.contains_key(key), "step {step}: an acknowledged capture is gone");
        }
    }
}

#[test]
fn a_failed_write_poisons_the_store_and_reads_go_on() {
    let run = Run::live();
    let total = run.disk.steps();
    for after in [0, 1, 2, 3, 5, 8] {
        let disk = run.disk.crash_image(total, Luck::Best);
        let index = run.engine.inner.image(run.engine.possible(total).1);
        let (store, _) = Store::open_simulated(Arc::new(disk.clone()), Arc::new(index.clone())).unwrap();
        let known = contents(&store);
        disk.fail_after(Some(disk.steps() + after));
        let mut refused = None;
        for n in 0..20 {
            let result = store.append(page(&format!("https://example.org/new{n}"), n, 1)).and_then(|_| store.commit());
            let result = result.and_then(|()| if n % 3 == 2 { store.seal() } else { Ok(()) });
            if let Err(error) = result {
                refused = Some(error.to_string());
                break;
            }
        }
        let refused = refused.unwrap_or_else(|| panic!("a full disk after {after} steps went unnoticed"));
        assert!(refused.contains("no space"), "{refused}");
        let next = store.append(page("https://example.org/x", 1, 1)).unwrap_err().to_string();
        assert!(next.contains("no longer takes writes") && next.contains("no space"), "{next}");
        for (key, capture) in &known {
            let id = EntryKey::decode(key).unwrap();
            assert_eq!(store.read(&id).unwrap().as_ref(), Some(capture));
        }
        // With the disk well again, a new start finds everything and takes writes.
        disk.fail_after(None);
        let (store, _) = Store::open_simulated(Arc::new(disk), Arc::new(index)).unwrap();
        for (key, capture) in &known {
            assert_eq!(contents(&store).get(key), Some(capture));
        }
        store.append(page("https://example.org/x", 1, 1)).unwrap();
        store.seal().unwrap();
    }
}

#[test]
fn the_simulated_disk_would_notice_a_missing_sync() {
    // The canary: a store that forgets to sync loses something at some step. If this test ever stops failing inside,
    // the crash test proves nothing.
    let disk = SimDisk::new();
    let file = disk.create("packs/a").unwrap();
    disk.sync_dir("packs").unwrap();
    file.write_all_at(b"acknowledged without a sync", 0).unwrap();
    let image = disk.crash_image(disk.steps(), Luck::Worst);
    assert_eq!(image.open("packs/a").unwrap().len().unwrap(), 0);
    let _ = time(0);
}
