//! A disk that turns bits: what is damaged is found bit by bit, mended from copies, and nothing wrong is ever read meanwhile.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_ring::placement::Placement;
use herodotus_store::disk::{Disk, sim::SimDisk};
use herodotus_store::index::MemoryEngine;
use herodotus_store::{Appended, Body, Capture, EntryKey, Error, RecordId, Store};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use support::{begin_pack, check_places, noise, page, picture, with_body, wordy};

const PACK: &str = "packs/00000001.pack";

fn open(disk: &SimDisk) -> Store {
    open_with(disk, &MemoryEngine::new())
}

fn open_with(disk: &SimDisk, engine: &MemoryEngine) -> Store {
    Store::open_simulated(Arc::new(disk.clone()), Arc::new(engine.clone())).unwrap().0
}

/// Versions that lean on each other over several seals, bodies that others share, pictures in blocks of their own.
fn fill(store: &Store) -> BTreeMap<EntryKey, Capture> {
    let mut all = BTreeMap::new();
    let mut put = |capture: Capture| {
        assert_eq!(store.append(capture.clone()).unwrap(), Appended::Stored);
        all.insert(capture.id(), capture);
    };
    for round in 0..4i64 {
        for n in 0..5 {
            put(page("https://example.org/", round * 100 + n, (round * 3 + n) as u32));
            put(page(&format!("https://example.org/{n}"), round * 100, round as u32));
        }
        // The same body as the page above, under another name.
        let Body::Bytes(bytes, _) = page("https://example.org/", 0, round as u32 * 3).main.body else { unreachable!() };
        put(with_body("https://mirror.example/", round * 100, "text/html", bytes.to_vec()));
        put(with_body("https://mirror.example/", round * 100 + 1, "text/html", bytes.to_vec()));
        put(picture("https://example.org/a.png", round * 100, round as u64 / 2));
        put(picture(&format!("https://other.example/{round}.png"), round, round as u64 / 2));
        store.seal().unwrap();
    }
    all
}

/// The whole round of a scrub, in slices.
fn scrub(store: &Store, slice_bytes: u64) -> Vec<EntryKey> {
    let (mut damaged, mut after) = (Vec::new(), None);
    loop {
        let (found, next) = store.scrub(after.as_ref(), slice_bytes).unwrap();
        damaged.extend(found);
        match next {
            Some(next) => after = Some(next),
            None => return damaged,
        }
    }
}

/// What can be read is what was stored; the rest is an error.
fn assert_nothing_wrong(store: &Store, all: &BTreeMap<EntryKey, Capture>) -> BTreeSet<EntryKey> {
    let mut readable = BTreeSet::new();
    for (id, capture) in all {
        match store.read(id) {
            Ok(found) => {
                assert_eq!(found.as_ref(), Some(capture));
                readable.insert(id.clone());
            }
            Err(Error::Damaged(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
    readable
}

#[test]
fn a_scrub_in_slices_finds_what_a_verify_finds_and_ends() {
    let (disk, engine) = (SimDisk::new(), MemoryEngine::new());
    let warm = open_with(&disk, &engine);
    let all = fill(&warm);
    // It has read everything, and a scrub must read it once more.
    assert_eq!(assert_nothing_wrong(&warm, &all).len(), all.len());
    let len = disk.open(PACK).unwrap().len().unwrap();
    for at in (100..len).step_by(len as usize / 23) {
        disk.flip_bit(PACK, at, 2);
        let store = open_with(&disk, &engine);
        let verified: Vec<_> = store.verify(|_, _| {}).unwrap().damaged.into_iter().map(|d| d.entry.id).collect();
        for slice_bytes in [0, 1, 20_000, u64::MAX] {
            assert_eq!(scrub(&store, slice_bytes), verified, "byte {at} in slices of {slice_bytes}");
        }
        assert_eq!(scrub(&warm, 20_000), verified, "byte {at}, read before");
        let (_, next) = store.scrub(None, 1).unwrap();
        assert_eq!(next.as_ref(), all.keys().next(), "one capture is the least");
        disk.flip_bit(PACK, at, 2);
    }
}

#[test]
fn a_scrub_reads_the_disk_and_not_what_was_read_before() {
    let disk = SimDisk::new();
    let store = open(&disk);
    let all = fill(&store);
    assert_eq!(assert_nothing_wrong(&store, &all).len(), all.len());
    disk.flip_bit(PACK, 500, 1);
    let damaged = scrub(&store, 1000);
    assert!(!damaged.is_empty());
    // And so does mending, or it would find nothing to do.
    assert!(store.mend(all[&damaged[0]].clone()).unwrap());
}

fn mend_all(damage: &[(u16, u8)], compacts: bool) {
    let (disk, engine) = (SimDisk::new(), MemoryEngine::new());
    let store = open_with(&disk, &engine);
    store.set_placement(Placement::ByHost).unwrap();
    let all = fill(&store);
    drop(store);
    // Anywhere, directories too: the index knows what they said.
    let len = disk.open(PACK).unwrap().len().unwrap();
    for (at, bit) in damage {
        disk.flip_bit(PACK, 16 + u64::from(*at) % (len - 16), *bit);
    }
    let store = open_with(&disk, &engine);
    let mut readable = assert_nothing_wrong(&store, &all);
    for round in 0.. {
        let damaged = scrub(&store, 10_000);
        if damaged.is_empty() {
            break;
        }
        assert!(round < 20, "{} are still damaged: {damaged:?}", damaged.len());
        assert_eq!(damaged.len() + readable.len(), all.len());
        for id in &damaged {
            // Another may have brought back what it shared with this one.
            assert_eq!(store.mend(all[id].clone()).unwrap(), !readable.contains(id));
            let now = assert_nothing_wrong(&store, &all);
            assert!(now.contains(id) && now.is_superset(&readable), "mending {id:?} broke something");
            readable = now;
        }
        if compacts {
            store.compact(round % 2 == 0, |_, _| {}).unwrap();
            let now = assert_nothing_wrong(&store, &all);
            assert!(now.is_superset(&readable), "compacting lost something");
        }
    }
    assert_eq!(readable.len(), all.len());
    let names: BTreeSet<_> = all.keys().map(EntryKey::encode).collect();
    check_places(&store, &names, &BTreeSet::new(), "mended");
    assert_eq!(store.totals().unwrap().captures, all.len() as u64);
    // Everything can be moved now, so that nothing damaged is left.
    assert_eq!(store.compact(true, |_, _| {}).unwrap().packs_damaged, 0);
    drop(store);
    let store = open(&disk);
    assert_eq!(assert_nothing_wrong(&store, &all).len(), all.len());
    check_places(&store, &names, &BTreeSet::new(), "mended, from the packs alone");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_damaged_is_mended_and_nothing_wrong_is_read_meanwhile(
        damage in proptest::collection::vec((any::<u16>(), 0..8u8), 1..6),
        compacts: bool,
    ) {
        mend_all(&damage, compacts);
    }
}

#[test]
fn only_the_very_capture_mends_and_only_what_is_damaged_is_mended() {
    let disk = SimDisk::new();
    let store = open(&disk);
    let right = picture("https://example.org/a.png", 1, 1);
    store.append(right.clone()).unwrap();
    assert!(!store.mend(right.clone()).unwrap(), "it waits in memory");
    store.seal().unwrap();
    assert!(!store.mend(right.clone()).unwrap(), "it is whole");
    assert!(!store.mend(picture("https://example.org/b.png", 1, 1)).unwrap(), "it is not here");
    disk.flip_bit(PACK, 100, 1);
    let mut forged = right.clone();
    forged.main.body = Body::new(noise(2, 3000));
    assert_eq!(forged.id(), right.id(), "its name says nothing");
    let mut lying = right.clone();
    let Body::Bytes(_, digests) = &right.main.body else { unreachable!() };
    lying.main.body = Body::Bytes(noise(2, 3000).into(), *digests);
    let mut headless = right.clone();
    headless.main.head.extend_from_slice(b"x");
    for wrong in [forged, lying, headless] {
        assert!(matches!(store.mend(wrong), Err(Error::Refused(_))));
        assert!(matches!(store.read(&right.id()), Err(Error::Damaged(_))));
    }
    assert!(store.mend(right.clone()).unwrap());
    assert_eq!(store.read(&right.id()).unwrap(), Some(right.clone()));
    assert!(!store.mend(right).unwrap(), "once is enough");
}

/// Of an item that nobody can read, nobody can tell whether what mends it has the same bytes. What was stored against it must not be
/// read against that: here it would come out with another head, and pass every check.
#[test]
fn what_was_stored_against_a_damaged_one_is_not_read_against_what_mends_it() {
    let (disk, engine) = (SimDisk::new(), MemoryEngine::new());
    let store = open_with(&disk, &engine);
    let named = |mut capture: Capture, id: u8, note: &str| {
        capture.main.id = RecordId::Uuid([id; 16]);
        capture.main.head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Note: {note}\r\n\r\n").into_bytes();
        capture
    };
    let url = "https://example.org/";
    let (first, second) = (named(page(url, 1, 1), 1, "aaaa"), named(page(url, 2, 2), 2, "aaaa"));
    let twin = named(page(url, 1, 1), 1, "bbbb");
    assert_eq!(first.id(), twin.id());
    for capture in [&first, &second] {
        store.append(capture.clone()).unwrap();
        store.seal().unwrap();
    }
    assert_eq!(store.entry(&second.id()).unwrap().unwrap().depth, 1);
    disk.flip_bit(PACK, 100, 1);
    drop(store);
    let store = open_with(&disk, &engine);
    assert_eq!(scrub(&store, 1), [first.id(), second.id()]);
    assert!(store.mend(twin.clone()).unwrap());
    for round in 0..2 {
        assert!(matches!(store.read(&second.id()), Err(Error::Damaged(_))), "round {round}");
        store.compact(true, |_, _| {}).unwrap();
    }
    assert!(store.mend(second.clone()).unwrap());
    store.compact(true, |_, _| {}).unwrap();
    assert_eq!(store.read(&second.id()).unwrap(), Some(second.clone()));
    // What comes later may lean on the mended one, wherever either goes.
    let third = named(page(url, 3, 3), 3, "bbbb");
    store.append(third.clone()).unwrap();
    store.compact(true, |_, _| {}).unwrap();
    drop(store);
    let store = open(&disk);
    for capture in [twin, second, third] {
        assert_eq!(store.read(&capture.id()).unwrap(), Some(capture));
    }
}

/// A capture whose body is another's, which is damaged; and a later one of its URL that leans on its item, and is whole.
fn shared(store: &Store) -> (Capture, Capture, Capture) {
    let url = "https://example.org/";
    let owner = page("https://mirror.example/", 1, 1);
    let Body::Bytes(bytes, _) = &owner.main.body else { unreachable!() };
    let sharing = wordy(with_body(url, 2, "text/html", bytes.to_vec()));
    for capture in [&owner, &sharing] {
        store.append(capture.clone()).unwrap();
        store.seal().unwrap();
    }
    assert!(store.entry(&sharing.id()).unwrap().unwrap().shared);
    (owner, sharing, wordy(with_body(url, 3, "text/html", b"small".to_vec())))
}

#[test]
fn mending_makes_nothing_unreadable_that_leant_on_the_old_item() {
    let (disk, engine) = (SimDisk::new(), MemoryEngine::new());
    let (owner, sharing, leaning) = shared(&open_with(&disk, &engine));
    begin_pack(&disk, 2);
    let store = open_with(&disk, &engine);
    store.append(leaning.clone()).unwrap();
    store.seal().unwrap();
    assert_eq!(store.entry(&leaning.id()).unwrap().unwrap().depth, 1);
    disk.flip_bit(PACK, 100, 1);
    drop(store);
    let store = open_with(&disk, &engine);
    assert_eq!(scrub(&store, 1), [owner.id(), sharing.id()]);
    assert_eq!(store.read(&leaning.id()).unwrap().as_ref(), Some(&leaning));
    for capture in [&sharing, &owner] {
        assert!(store.mend(capture.clone()).unwrap());
        assert_eq!(store.read(&leaning.id()).unwrap().as_ref(), Some(&leaning));
    }
    // The pack with the old item goes, and what leant on it stood in a later one.
    store.compact(false, |_, _| {}).unwrap();
    assert_eq!(scrub(&store, 1), []);
    for capture in [owner, sharing, leaning] {
        assert_eq!(store.read(&capture.id()).unwrap(), Some(capture));
    }
}

/// What was stored against the old item stands before the new one, even if both are sealed together.
#[test]
fn what_is_sealed_with_one_that_is_written_anew_is_told_from_what_comes_after() {
    let (disk, engine) = (SimDisk::new(), MemoryEngine::new());
    let store = open_with(&disk, &engine);
    let (_, sharing, later) = shared(&store);
    store.append(later).unwrap();
    store.release(&[sharing.id()]).unwrap();
    store.seal().unwrap();
    drop(store);
    disk.flip_bit(PACK, 100, 1);
    let store = open_with(&disk, &engine);
    let earlier = wordy(with_body("https://example.org/", 1, "text/html", b"tiny".to_vec()));
    for capture in [&earlier, &sharing] {
        assert_eq!(store.append(capture.clone()).unwrap(), Appended::Stored);
    }
    store.seal().unwrap();
    assert_eq!(store.entry(&earlier.id()).unwrap().unwrap().depth, 1);
    for capture in [earlier, sharing] {
        assert_eq!(store.read(&capture.id()).unwrap(), Some(capture));
    }
}

#[test]
fn a_large_body_is_mended_by_writing_it_again() {
    let disk = SimDisk::new();
    let store = open(&disk);
    let write = || {
        let mut writer = store.blob_writer("video/mp4").unwrap();
        writer.write_all(&noise(3, 100_000)).unwrap();
        writer.finish().unwrap()
    };
    let mut film = page("https://example.org/film", 1, 0);
    film.main.body = write();
    store.append(film.clone()).unwrap();
    store.seal().unwrap();
    let name = format!("blobs/{}", disk.list("blobs").unwrap()[0].0);
    disk.flip_bit(&name, 5000, 1);
    assert_eq!(scrub(&store, 1), [film.id()]);
    write();
    assert_eq!(scrub(&store, 1), []);
    assert!(!store.mend(film).unwrap());
}

/// What a reader finds now, after everything was moved, and with an index that was made again.
fn assert_all_read(store: Store, disk: &SimDisk, all: &[Capture]) {
    let assert_read = |store: &Store, when: &str| {
        for capture in all {
            assert_eq!(store.read(&capture.id()).unwrap().as_ref(), Some(capture), "{when}: {}", capture.url);
        }
    };
    assert_read(&store, "as it was stored");
    drop(store);
    let store = open(disk);
    assert_read(&store, "with an index made again");
    store.compact(true, |_, _| {}).unwrap();
    assert_read(&store, "compacted");
}

/// It was given whole once more: to lean on what cannot be read would lose it a second time.
#[test]
fn a_picture_that_is_damaged_and_comes_again_is_kept_again_and_mends_the_first() {
    let (disk, engine) = (SimDisk::new(), MemoryEngine::new());
    let store = open_with(&disk, &engine);
    let first = picture("https://example.org/a.png", 1, 1);
    store.append(first.clone()).unwrap();
    store.seal().unwrap();
    // The first block of the pack: the picture's own.
    disk.flip_bit(PACK, 100, 1);
    assert_eq!(scrub(&store, 1), [first.id()]);
    let again = [picture("https://example.org/a.png", 2, 1), picture("https://other.example/b.png", 3, 1)];
    for capture in &again {
        assert_eq!(store.append(capture.clone()).unwrap(), Appended::Stored);
    }
    store.seal().unwrap();
    assert_eq!(scrub(&store, 1), []);
    let [second, third] = again;
    assert_all_read(store, &disk, &[first, second, third]);
}

/// The index finds a body in one place, and there it stands in an item: a block of its own would be found by nobody.
#[test]
fn a_picture_whose_bytes_came_before_as_text_that_is_damaged_is_kept_with_its_capture() {
    let (disk, engine) = (SimDisk::new(), MemoryEngine::new());
    let store = open_with(&disk, &engine);
    let text = with_body("https://example.org/a", 1, "text/plain", noise(1, 3000));
    store.append(text.clone()).unwrap();
    store.seal().unwrap();
    drop(store);
    disk.flip_bit(PACK, 100, 1);
    let store = open_with(&disk, &engine);
    assert_eq!(scrub(&store, 1), [text.id()]);
    let pictures = [picture("https://example.org/b.png", 2, 1), picture("https://other.example/c.png", 3, 1)];
    for capture in &pictures {
        store.append(capture.clone()).unwrap();
        store.seal().unwrap();
        assert_eq!(store.read(&capture.id()).unwrap().as_ref(), Some(capture));
    }
    assert_eq!(scrub(&store, 1), [text.id()]);
    assert!(store.mend(text.clone()).unwrap());
    let [second, third] = pictures;
    assert_all_read(store, &disk, &[text, second, third]);
}

/// The other way round: the text has the picture's block, and is written anew.
#[test]
fn mending_what_shares_the_block_of_a_picture_does_not_take_it_from_the_picture() {
    let (disk, engine) = (SimDisk::new(), MemoryEngine::new());
    let store = open_with(&disk, &engine);
    let picture = picture("https://example.org/a.png", 1, 1);
    store.append(picture.clone()).unwrap();
    store.seal().unwrap();
    let text = with_body("https://example.org/b", 2, "text/plain", noise(1, 3000));
    store.append(text.clone()).unwrap();
    store.seal().unwrap();
    let place = store.entry(&text.id()).unwrap().unwrap().place.unwrap();
    drop(store);
    // Behind the header of its block.
    disk.flip_bit(PACK, place.offset + 40, 1);
    let store = open_with(&disk, &engine);
    assert_eq!(scrub(&store, 1), [text.id()]);
    assert!(store.mend(text.clone()).unwrap());
    assert_eq!(scrub(&store, 1), []);
    assert_all_read(store, &disk, &[picture, text]);
}

/// A body that is a file here, and comes once more in memory.
#[test]
fn a_picture_whose_bytes_are_a_file_of_another_is_read_too() {
    for is_sealed_between in [true, false] {
        let disk = SimDisk::new();
        let store = open(&disk);
        let mut writer = store.blob_writer("image/png").unwrap();
        writer.write_all(&noise(1, 3000)).unwrap();
        let mut filed = picture("https://example.org/a.png", 1, 1);
        filed.main.body = writer.finish().unwrap();
        let held = picture("https://example.org/b.png", 2, 1);
        store.append(filed.clone()).unwrap();
        if is_sealed_between {
            store.seal().unwrap();
        }
        store.append(held.clone()).unwrap();
        store.seal().unwrap();
        assert_all_read(store, &disk, &[filed, held]);
    }
}

/// It comes back damaged, and is written anew instead of being made visible.
#[test]
fn what_was_released_and_damaged_comes_back_whole() {
    let (disk, engine) = (SimDisk::new(), MemoryEngine::new());
    let store = open_with(&disk, &engine);
    store.set_placement(Placement::ByHost).unwrap();
    let all = fill(&store);
    let ids: Vec<_> = all.keys().cloned().collect();
    assert_eq!(store.release(&ids).unwrap(), ids.len() as u64);
    store.seal().unwrap();
    let len = disk.open(PACK).unwrap().len().unwrap();
    for at in (100..len - 2000).step_by(700) {
        disk.flip_bit(PACK, at, 5);
    }
    drop(store);
    let store = open_with(&disk, &engine);
    for capture in all.values() {
        store.append(capture.clone()).unwrap();
    }
    store.seal().unwrap();
    assert_eq!(assert_nothing_wrong(&store, &all).len(), all.len());
    assert_eq!(scrub(&store, 5000), []);
}
