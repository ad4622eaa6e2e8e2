//! What was released is not here, comes back whole, and is never hidden by a release that is older than it.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_base::Id;
use herodotus_replica::{Mark, Sum};
use herodotus_ring::placement::{Placement, place_of_key, place_of_part};
use herodotus_store::disk::{Disk, sim::SimDisk};
use herodotus_store::index::{Engine, MemoryEngine, Pairs, Table, Write};
use herodotus_store::{Appended, Capture, EntryKey, Result, Store};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use support::{begin_pack, check_places, contents, noise, page, picture, with_body};

const URL: &str = "https://example.org/page";

struct Home {
    disk: SimDisk,
    engine: MemoryEngine,
}

impl Home {
    fn new() -> Self {
        Self { disk: SimDisk::new(), engine: MemoryEngine::new() }
    }

    fn open(&self) -> Store {
        Store::open_simulated(Arc::new(self.disk.clone()), Arc::new(self.engine.clone())).unwrap().0
    }

    /// The archive as it is found by somebody who has only its packs.
    fn open_without_index(&self) -> Store {
        Store::open_simulated(Arc::new(self.disk.clone()), Arc::new(MemoryEngine::new())).unwrap().0
    }

    fn rows(&self, table: Table) -> usize {
        self.engine.range(table, &[], &[0xff; 40], false).count()
    }
}

fn store_all<'a>(store: &Store, captures: impl IntoIterator<Item = &'a Capture>) {
    for capture in captures {
        assert_eq!(store.append(capture.clone()).unwrap(), Appended::Stored);
    }
    store.seal().unwrap();
}

fn ids(captures: &[Capture]) -> Vec<EntryKey> {
    captures.iter().map(Capture::id).collect()
}

/// Everything that readers and neighbours see is that these are here and nothing else.
fn assert_holds(store: &Store, captures: &[&Capture], what: &str) {
    store.seal().unwrap();
    let found: Vec<_> = contents(store).into_values().collect();
    let mut expected: Vec<_> = captures.iter().copied().cloned().collect();
    expected.sort_by_key(|capture| capture.id().encode());
    assert_eq!(found, expected, "{what}");
    assert_eq!(store.totals().unwrap().captures, expected.len() as u64, "{what}");
    let present: BTreeSet<_> = expected.iter().map(|capture| capture.id().encode()).collect();
    check_places(store, &present, &BTreeSet::new(), what);
    assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty(), "{what}");
}

#[test]
fn what_was_released_is_gone_for_readers_and_comes_back_where_it_was() {
    let home = Home::new();
    let store = home.open();
    store.set_placement(Placement::ByHost).unwrap();
    let versions: Vec<_> = (0..6).map(|n| page(URL, n, n as u32)).collect();
    store_all(&store, &versions);
    assert_eq!(store.release(&ids(&versions[..2])).unwrap(), 2);
    assert_eq!(store.release(&ids(&versions[..2])).unwrap(), 0, "they are not here");
    let rest: Vec<_> = versions[2..].iter().collect();
    assert_eq!(store.read(&versions[0].id()).unwrap(), None);
    assert!(store.entity(&versions[0].id()).unwrap().is_none());
    assert_eq!(store.count("org,example)/page").unwrap(), 4);
    assert_holds(&store, &rest, "while they wait and when they are sealed");
    assert_holds(&home.open_without_index(), &rest, "from the packs alone");
    let before = home.disk.open("packs/00000001.pack").unwrap().len().unwrap();
    assert_eq!(store.append(versions[0].clone()).unwrap(), Appended::Stored);
    assert_eq!(store.read(&versions[0].id()).unwrap().as_ref(), Some(&versions[0]));
    assert_eq!(store.count("org,example)/page").unwrap(), 5);
    let back: Vec<_> = [&versions[0]].into_iter().chain(&versions[2..]).collect();
    assert_holds(&store, &back, "one is back");
    let after = home.disk.open("packs/00000001.pack").unwrap().len().unwrap();
    assert!(after - before < 300, "{} bytes for one that was here all the time", after - before);
    assert_holds(&home.open_without_index(), &back, "one is back, from the packs alone");
}

#[test]
fn a_store_takes_an_earlier_release_back_whether_they_are_sealed_together_or_not() {
    for seals in 0..8u32 {
        let home = Home::new();
        let store = home.open();
        store.set_placement(Placement::ByUrl).unwrap();
        let capture = page(URL, 1, 1);
        let seal = |bit: u32| if seals & 1 << bit != 0 { store.seal().unwrap() } else { store.commit().unwrap() };
        store.append(capture.clone()).unwrap();
        seal(0);
        assert_eq!(store.release(&[capture.id()]).unwrap(), 1);
        seal(1);
        assert_eq!(contents(&store).len(), 0);
        assert_eq!(store.append(capture.clone()).unwrap(), Appended::Stored);
        assert_eq!(store.append(capture.clone()).unwrap(), Appended::Known);
        assert_eq!(contents(&store).len(), 1);
        assert_eq!(store.first_at_or_after("").unwrap().unwrap().id, capture.id());
        // As the power might go now: what was committed is in the journal.
        store.commit().unwrap();
        assert_holds(&home.open(), &[&capture], &format!("{seals:03b} after a crash"));
        drop(store);
        assert_holds(&home.open_without_index(), &[&capture], &format!("{seals:03b} from the packs"));
    }
}

#[test]
fn compaction_leaves_no_trace_of_what_was_released_and_a_mark_of_what_was_removed() {
    let home = Home::new();
    let store = home.open();
    store.set_placement(Placement::ByHost).unwrap();
    let versions: Vec<_> = (0..20).map(|n| page(URL, n, n as u32)).collect();
    let pictures: Vec<_> = (0..3).map(|n| picture(&format!("https://example.org/{n}.png"), n, n as u64)).collect();
    store_all(&store, &versions);
    store_all(&store, &pictures);
    store.release(&ids(&versions[..10])).unwrap();
    store.release(&ids(&pictures)).unwrap();
    store.remove(&versions[19].id()).unwrap();
    let done = store.compact(false, |_, _| {}).unwrap();
    assert_eq!((done.dropped, done.kept_for_others), (14, 0));
    assert_eq!((home.rows(Table::Captures), home.rows(Table::Bodies)), (10, 9));
    for store in [store, home.open_without_index()] {
        let expected: BTreeSet<_> = versions[10..19].iter().map(|capture| capture.id().encode()).collect();
        assert_eq!(contents(&store).into_keys().collect::<BTreeSet<_>>(), expected);
        check_places(&store, &expected, &[versions[19].id().encode()].into(), "after compaction");
        // Stored anew, all of it but the removed one.
        for capture in versions.iter().chain(&pictures) {
            let known = expected.contains(&capture.id().encode());
            let appended = match (known, *capture == versions[19]) {
                (true, _) => Appended::Known,
                (_, true) => Appended::Removed,
                _ => Appended::Stored,
            };
            assert_eq!(store.append(capture.clone()).unwrap(), appended);
        }
        assert_eq!(contents(&store).len(), 22);
    }
}

/// A body that others have stays with the capture that has it, hidden; coming back, that capture is itself again.
#[test]
fn an_owner_that_others_need_stays_hidden_through_compactions_and_an_old_release_does_not_hide_it_when_it_is_back() {
    let home = Home::new();
    let store = home.open();
    store.set_placement(Placement::ByHost).unwrap();
    let owner = page(URL, 1, 1);
    let herodotus_store::Body::Bytes(bytes, _) = &owner.main.body else { unreachable!() };
    let other = with_body("https://mirror.example/", 2, "text/html", bytes.to_vec());
    store_all(&store, [&owner]);
    store_all(&store, [&other]);
    store.release(&[owner.id()]).unwrap();
    for round in 0..3 {
        let done = store.compact(true, |_, _| {}).unwrap();
        assert_eq!((done.dropped, done.kept_for_others), (0, 1));
        assert_holds(&store, &[&other], &format!("round {round}"));
        assert_holds(&home.open_without_index(), &[&other], &format!("round {round}, from the packs"));
    }
    assert_eq!(store.append(owner.clone()).unwrap(), Appended::Stored);
    for round in 0..3 {
        assert_holds(&store, &[&owner, &other], &format!("back, round {round}"));
        assert_holds(&home.open_without_index(), &[&owner, &other], &format!("back, round {round}, from the packs"));
        store.compact(round == 1, |_, _| {}).unwrap();
    }
    // And once more, so that releases and puts of one capture stand in packs in turn.
    store.release(&[owner.id(), other.id()]).unwrap();
    store.compact(true, |_, _| {}).unwrap();
    assert_holds(&store, &[], "both are gone");
    store.append(other.clone()).unwrap();
    store.compact(true, |_, _| {}).unwrap();
    assert_holds(&home.open_without_index(), &[&other], "one is stored anew");
}

/// A pack that is damaged cannot be deleted, so what it says is heard again whenever the index is lost.
#[test]
fn an_old_pack_that_cannot_be_deleted_neither_brings_back_what_was_let_go_nor_hides_what_came_again() {
    let home = Home::new();
    let store = home.open();
    store.set_placement(Placement::ByHost).unwrap();
    let (gone, broken) = (page(URL, 1, 1), with_body("https://broken.example/", 1, "image/png", noise(7, 5001)));
    let moved = page("https://moved.example/", 1, 1);
    store_all(&store, [&gone, &moved]);
    let before = home.disk.open("packs/00000001.pack").unwrap().len().unwrap();
    store_all(&store, [&broken]);
    // In the middle of the picture's own block.
    home.disk.flip_bit("packs/00000001.pack", before + 500, 3);
    store.release(&[gone.id()]).unwrap();
    let done = store.compact(true, |_, _| {}).unwrap();
    assert_eq!((done.dropped, done.packs_damaged), (1, 1), "{done:?}");
    let names = |store: &Store| -> Vec<EntryKey> { store.scan_all().map(|entry| entry.unwrap().id).collect() };
    for round in 0..3 {
        assert_eq!(names(&home.open_without_index()), [broken.id(), moved.id()], "round {round}");
        assert_eq!(store.compact(true, |_, _| {}).unwrap().packs_damaged, 1);
    }
    // This one lies in a newer pack by now, and so does all that is said of it from here on; but the old pack has it too.
    assert_eq!(store.release(&[moved.id()]).unwrap(), 1);
    for round in 0..3 {
        store.compact(true, |_, _| {}).unwrap();
        assert_eq!(names(&home.open_without_index()), [broken.id()], "moved and released, round {round}");
    }
    assert_eq!(store.append(gone.clone()).unwrap(), Appended::Stored);
    for round in 0..3 {
        store.compact(true, |_, _| {}).unwrap();
        let again = home.open_without_index();
        assert_eq!(names(&again), [broken.id(), gone.id()], "round {round}");
        assert_eq!(again.read(&gone.id()).unwrap().as_ref(), Some(&gone));
    }
}

/// What is stored, released or comes back between two steps of a compaction is as it was asked for, not as the compaction saw it.
#[test]
fn what_changes_while_packs_are_rewritten_is_not_undone() {
    let home = Home::new();
    let store = home.open();
    store.set_placement(Placement::ByHost).unwrap();
    let owner = page(URL, 1, 1);
    let herodotus_store::Body::Bytes(bytes, _) = &owner.main.body else { unreachable!() };
    let other = with_body("https://mirror.example/", 2, "text/html", bytes.to_vec());
    let broken = with_body("https://broken.example/", 1, "image/png", noise(7, 5001));
    store_all(&store, [&owner]);
    store_all(&store, [&other]);
    let before = home.disk.open("packs/00000001.pack").unwrap().len().unwrap();
    store_all(&store, [&broken]);
    home.disk.flip_bit("packs/00000001.pack", before + 500, 3);
    store.release(&[owner.id()]).unwrap();
    // Two packs from now on: the damaged one, and what could be moved out of it.
    store.compact(true, |_, _| {}).unwrap();
    let mut steps = 0;
    store
        .compact(true, |_, _| {
            steps += 1;
            match steps {
                1 => assert_eq!(store.append(owner.clone()).unwrap(), Appended::Stored),
                _ => assert_eq!(store.release(&[other.id()]).unwrap(), 1),
            }
            store.note("step", &[steps]).unwrap();
            store.seal().unwrap();
        })
        .unwrap();
    assert_eq!(steps, 2);
    for store in [&store, &home.open_without_index()] {
        assert_eq!(store.read(&owner.id()).unwrap().as_ref(), Some(&owner));
        assert_eq!(store.read(&other.id()).unwrap(), None);
        assert_eq!(store.noted("step").unwrap(), Some(vec![2]));
        let names = [broken.id().encode(), owner.id().encode()].into();
        check_places(store, &names, &BTreeSet::new(), "after both");
    }
}

/// An earlier version that came later is stored against a later one; freed first, it must not come back with what frees the other.
#[test]
fn nothing_is_left_of_two_that_leant_on_each_other_in_whatever_order_they_came() {
    let home = Home::new();
    let store = home.open();
    let versions = [page(URL, 1, 1), page(URL, 2, 2)];
    store_all(&store, &versions[1..]);
    store_all(&store, &versions[..1]);
    assert_eq!(store.entry(&versions[0].id()).unwrap().unwrap().depth, 1);
    store.release(&ids(&versions)).unwrap();
    assert_eq!(store.compact(false, |_, _| {}).unwrap().dropped, 2);
    assert_eq!(home.rows(Table::Captures), 0);
    assert_holds(&home.open_without_index(), &[], "from the packs alone");
}

type Hook = Box<dyn FnOnce() + Send>;
type Armed<T> = Arc<Mutex<Option<(T, Hook)>>>;

/// An index that does something else when it is first asked for a capture, or looked through for the nth time: what another
/// thread might do just then.
#[derive(Clone, Default)]
struct Interrupted {
    inner: MemoryEngine,
    on_get: Armed<Vec<u8>>,
    on_range: Armed<usize>,
}

impl std::fmt::Debug for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupted")
    }
}

impl Engine for Interrupted {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let value = self.inner.get(table, key);
        let hook = self.on_get.lock().unwrap().take_if(|(on, _)| table == Table::Captures && on == key);
        if let Some((_, hook)) = hook {
            hook();
        }
        value
    }

    fn range(&self, table: Table, from: &[u8], to: &[u8], backwards: bool) -> Pairs<'_> {
        let pairs = self.inner.range(table, from, to, backwards);
        let hook = self.on_range.lock().unwrap().take_if(|(left, _)| {
            *left -= usize::from(table == Table::Captures && from.is_empty());
            *left == 0
        });
        if let Some((_, hook)) = hook {
            hook();
        }
        pairs
    }

    fn write(&self, batch: Vec<Write>) -> Result<()> {
        self.inner.write(batch)
    }

    fn persist(&self) -> Result<()> {
        self.inner.persist()
    }

    fn disk_bytes(&self) -> u64 {
        0
    }

    fn tidy(&self) -> Result<()> {
        self.inner.tidy()
    }
}

fn open_interrupted(disk: &SimDisk, engine: &Interrupted) -> Store {
    Store::open_simulated(Arc::new(disk.clone()), Arc::new(engine.clone())).unwrap().0
}

/// Between the look through a pack and its rewriting: what was seen as here is released, and what was seen as released is back.
#[test]
fn what_is_moved_is_looked_up_once_more() {
    for (released, note) in [(true, 2), (false, 3)] {
        let (disk, engine) = (SimDisk::new(), Interrupted::default());
        let store = open_interrupted(&disk, &engine);
        let owner = page(URL, 1, 1);
        let herodotus_store::Body::Bytes(bytes, _) = &owner.main.body else { unreachable!() };
        store_all(&store, [&owner]);
        store_all(&store, &[with_body("https://mirror.example/", 2, "text/html", bytes.to_vec())]);
        store.note("note", &[1]).unwrap();
        if !released {
            assert_eq!(store.release(&[owner.id()]).unwrap(), 1);
        }
        store.close().unwrap();
        begin_pack(&disk, 2);
        let store = open_interrupted(&disk, &engine);
        store_all(&store, &[page("https://example.org/other", 1, 1)]);
        let (again, capture) = (store.clone(), owner.clone());
        let hook: Hook = Box::new(move || {
            if released {
                assert_eq!(again.release(&[capture.id()]).unwrap(), 1);
            } else {
                assert_eq!(again.append(capture).unwrap(), Appended::Stored);
            }
            again.note("note", &[note]).unwrap();
            again.seal().unwrap();
        });
        // With one released, the first who asks is the one that would free it; the second looks through the pack.
        let hook = if released {
            hook
        } else {
            let (on_get, key) = (engine.on_get.clone(), owner.id().encode());
            Box::new(move || *on_get.lock().unwrap() = Some((key, hook)))
        };
        *engine.on_get.lock().unwrap() = Some((owner.id().encode(), hook));
        store.compact(true, |_, _| {}).unwrap();
        assert!(engine.on_get.lock().unwrap().is_none(), "it was interrupted");
        let without_index = Store::open_simulated(Arc::new(disk.clone()), Arc::new(MemoryEngine::new())).unwrap().0;
        for store in [&store, &without_index] {
            assert_eq!(store.read(&owner.id()).unwrap().is_none(), released);
            assert_eq!(store.noted("note").unwrap(), Some(vec![note]));
            assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
        }
    }
}

/// Between the look for what leans on the released ones and their freeing: something new leans on one, and one comes back.
#[test]
fn what_comes_while_bytes_are_freed_keeps_those_it_leans_on() {
    for comes_back in [false, true] {
        let (disk, engine) = (SimDisk::new(), Interrupted::default());
        let store = open_interrupted(&disk, &engine);
        let owner = page(URL, 1, 1);
        let herodotus_store::Body::Bytes(bytes, _) = &owner.main.body else { unreachable!() };
        let other = with_body("https://mirror.example/", 2, "text/html", bytes.to_vec());
        store_all(&store, [&owner]);
        store.release(&[owner.id()]).unwrap();
        if comes_back {
            store_all(&store, [&other]);
            store.release(&[other.id()]).unwrap();
        }
        store.seal().unwrap();
        let (again, capture) = (store.clone(), other.clone());
        let hook: Hook = Box::new(move || {
            assert_eq!(again.append(capture).unwrap(), Appended::Stored);
            again.seal().unwrap();
        });
        *engine.on_range.lock().unwrap() = Some((2, hook));
        store.compact(true, |_, _| {}).unwrap();
        assert!(engine.on_range.lock().unwrap().is_none(), "it was interrupted");
        assert_eq!(store.read(&other.id()).unwrap(), Some(other));
        assert_eq!(store.read(&owner.id()).unwrap(), None);
        assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
    }
}

/// Somebody seals while the pack that is appended to is looked through. With a thread: the one must wait for the other, and whether
/// it does is what this is about; how long it waits decides nothing.
#[test]
fn what_is_sealed_while_the_newest_pack_is_looked_through_is_not_deleted_with_it() {
    let (disk, engine) = (SimDisk::new(), Interrupted::default());
    let store = open_interrupted(&disk, &engine);
    let first = page(URL, 1, 1);
    store_all(&store, [&first]);
    let late = page("https://example.org/late", 1, 1);
    let (again, capture) = (store.clone(), late.clone());
    let (done, is_done) = std::sync::mpsc::channel();
    let thread = Arc::new(Mutex::new(None));
    let handle = thread.clone();
    let hook: Hook = Box::new(move || {
        let seals = move || {
            again.append(capture).unwrap();
            again.seal().unwrap();
            let _ = done.send(());
        };
        *handle.lock().unwrap() = Some(std::thread::spawn(seals));
        let _ = is_done.recv_timeout(std::time::Duration::from_millis(200));
    });
    *engine.on_get.lock().unwrap() = Some((first.id().encode(), hook));
    store.compact(true, |_, _| {}).unwrap();
    thread.lock().unwrap().take().unwrap().join().unwrap();
    assert_eq!(store.read(&late.id()).unwrap().as_ref(), Some(&late));
    assert_eq!(store.read(&first.id()).unwrap().as_ref(), Some(&first));
}

#[test]
fn a_removal_is_for_ever_whether_or_not_the_capture_was_released_first() {
    let home = Home::new();
    let store = home.open();
    store.set_placement(Placement::ByHost).unwrap();
    let capture = page(URL, 1, 1);
    store_all(&store, [&capture]);
    store.release(&[capture.id()]).unwrap();
    store.remove(&capture.id()).unwrap();
    assert_eq!(store.release(&[capture.id()]).unwrap(), 0);
    store.seal().unwrap();
    for round in 0..2 {
        for store in [&store, &home.open_without_index()] {
            assert_eq!(store.append(capture.clone()).unwrap(), Appended::Removed);
            store.seal().unwrap();
            check_places(store, &BTreeSet::new(), &[capture.id().encode()].into(), &format!("round {round}"));
        }
        store.compact(true, |_, _| {}).unwrap();
    }
}

#[test]
fn the_feed_tells_of_what_was_released_and_of_what_nothing_is_left() {
    let store = Home::new().open();
    let captures: Vec<_> = (0..3).map(|n| page(URL, n, n as u32)).collect();
    store_all(&store, &captures);
    let (_, cursor) = store.feed(None, 10).unwrap();
    store.release(&[captures[1].id()]).unwrap();
    store.seal().unwrap();
    let (fed, _) = store.feed(Some(cursor), 10).unwrap();
    let told: Vec<_> = fed.iter().map(|entry| (entry.id.clone(), entry.removed, entry.released)).collect();
    assert_eq!(told, [(captures[1].id(), true, true)]);
    store.compact(true, |_, _| {}).unwrap();
    let (fed, _) = store.feed(Some(cursor), 10).unwrap();
    let told = fed.iter().filter(|entry| entry.removed).map(|entry| entry.id.clone()).collect::<Vec<_>>();
    // Whoever had read that far before the compaction learns it from what was there then, or never had it.
    assert!(told.iter().all(|id| *id == captures[1].id()), "{told:?}");
    assert_eq!(fed.iter().filter(|entry| !entry.removed).count(), 2);
}

#[test]
fn a_host_that_is_split_and_joined_again_has_the_rows_that_it_had() {
    let home = Home::new();
    let store = home.open();
    store.set_placement(Placement::ByHost).unwrap();
    let pages: Vec<_> = (0..40).map(|n| page(&format!("https://example.org/{n}"), n, 0)).collect();
    store_all(&store, &pages);
    let rows = |store: &Store| -> Vec<_> { store.places(Id::ZERO, Id::ZERO).map(|row| row.unwrap()).collect() };
    let whole = rows(&store);
    let mut sum = Sum::default();
    pages.iter().for_each(|page| sum.add(Mark::of(&page.id().encode(), b"present")));
    assert_eq!(whole, [(place_of_part("org,example", 0), "org,example".to_owned(), sum)]);
    store.append(page("https://example.org/with the note", 1, 1)).unwrap();
    store.set_parts("org,example", 4).unwrap();
    assert_eq!(rows(&store).len(), 4);
    for store in [&store, &home.open(), &home.open_without_index()] {
        assert_eq!(store.parts("org,example").unwrap(), 4);
        assert_eq!(rows(store).iter().map(|(_, _, sum)| sum.count).sum::<u64>(), 41);
        for (place, bucket, sum) in rows(store) {
            let here: Vec<_> = store.entries_at(place, &bucket).map(|entry| entry.unwrap()).collect();
            assert_eq!(here.len() as u64, sum.count);
            assert!(here.iter().all(|(id, ..)| place_of_key(Placement::ByHost, &id.key, 4) == place));
        }
    }
    store.release(&[page("https://example.org/with the note", 1, 1).id()]).unwrap();
    store.set_parts("org,example", 1).unwrap();
    assert_eq!(rows(&store), whole);
    for bad in [0, 3, 1 << 20] {
        assert!(store.set_parts("org,example", bad).is_err());
        assert!(store.raise_parts(&[("org,example".to_owned(), bad)]).is_err());
    }
}

#[test]
fn parts_only_grow_where_they_are_raised_and_are_found_again() {
    let home = Home::new();
    let store = home.open();
    store.set_placement(Placement::ByHost).unwrap();
    let pages: Vec<_> = (0..40).map(|n| page(&format!("https://example.org/{n}"), n, 0)).collect();
    store_all(&store, &pages);
    let hosts = |hosts: &[(&str, u32)]| -> Vec<(String, u32)> {
        hosts.iter().map(|(host, parts)| ((*host).to_owned(), *parts)).collect()
    };
    let told = hosts(&[("org,example", 4), ("org,other", 2), ("org,whole", 1)]);
    assert_eq!(store.raise_parts(&told).unwrap(), hosts(&[("org,example", 4), ("org,other", 2)]));
    let less = hosts(&[("org,example", 2), ("org,other", 8)]);
    assert_eq!(store.raise_parts(&less).unwrap(), hosts(&[("org,other", 8)]));
    for store in [&store, &home.open(), &home.open_without_index()] {
        assert_eq!(store.split_hosts().unwrap(), hosts(&[("org,example", 4), ("org,other", 8)]));
        assert_eq!(store.places(Id::ZERO, Id::ZERO).count(), 4);
    }
    let ids: Vec<EntryKey> = pages.iter().map(Capture::id).collect();
    let (parcel, _) = store.parcel(&ids[..3], |_| false, 1 << 20).unwrap();
    let mut names = herodotus_store::parcel::parcel_names(&parcel.bytes).unwrap();
    names.sort();
    let mut wanted = ids[..3].to_vec();
    wanted.sort();
    assert_eq!(names, wanted);
    assert!(herodotus_store::parcel::parcel_names(b"no parcel").is_err());
}

#[test]
fn an_archive_of_no_ring_has_no_table() {
    let home = Home::new();
    let store = home.open();
    store_all(&store, &[page(URL, 1, 1)]);
    store.set_parts("org,example", 2).unwrap();
    assert_eq!(home.rows(Table::Places), 0);
    assert_eq!(store.placement().unwrap(), None);
    assert!(store.places(Id::ZERO, Id::ZERO).next().unwrap().is_err());
    store.set_placement(Placement::ByHost).unwrap();
    assert_holds(&store, &[&page(URL, 1, 1)], "now it has");
}
