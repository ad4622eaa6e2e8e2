//! The feed, what came last, and the first entry behind a key: how others follow and walk the archive.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_store::disk::Disk;
use herodotus_store::disk::sim::{Luck, SimDisk};
use herodotus_store::index::MemoryEngine;
use herodotus_store::limits::{RECENT_MAX, RESERVE_BYTES};
use herodotus_store::{Appended, Entry, EntryKey, Error, FeedCursor, Store};
use std::collections::BTreeSet;
use std::sync::Arc;
use support::{page, picture, time};

fn open(disk: &SimDisk) -> Store {
    Store::open_simulated(Arc::new(disk.clone()), Arc::new(MemoryEngine::new())).unwrap().0
}

fn url(n: i64) -> String {
    format!("https://example.org/{}/{n}", n % 7)
}

/// Appends pages `from..to` and seals them.
fn seal(store: &Store, from: i64, to: i64) {
    for n in from..to {
        store.append(page(&url(n), n, 0)).unwrap();
    }
    store.seal().unwrap();
}

fn id(n: i64) -> EntryKey {
    page(&url(n), n, 0).id()
}

/// Reads the feed to its end, so many at a time.
fn read(store: &Store, mut cursor: Option<FeedCursor>, max: usize) -> (Vec<Entry>, FeedCursor) {
    let mut all = Vec::new();
    loop {
        let (entries, next) = store.feed(cursor, max).unwrap();
        assert!(entries.len() <= max && cursor.is_none_or(|before| before <= next));
        assert_eq!(FeedCursor::decode(&next.encode()), Some(next));
        let ended = entries.len() < max;
        all.extend(entries);
        cursor = Some(next);
        if ended {
            return (all, next);
        }
    }
}

fn ids(entries: &[Entry]) -> Vec<EntryKey> {
    entries.iter().map(|entry| entry.id.clone()).collect()
}

#[test]
fn the_feed_gives_everything_once_in_the_order_of_seals_however_little_is_asked_for() {
    let store = open(&SimDisk::new());
    seal(&store, 0, 10);
    seal(&store, 10, 11);
    store.note("only a note", b"1").unwrap();
    store.seal().unwrap();
    seal(&store, 11, 30);
    let (all, end) = read(&store, None, 1000);
    assert_eq!(all.len(), 30);
    let seal_of = |entry: &Entry| u8::from(entry.id.time >= time(10)) + u8::from(entry.id.time >= time(11));
    assert!(all.iter().map(seal_of).is_sorted());
    for max in [1, 2, 7, 10, 11, 29, 30, 31] {
        assert_eq!(read(&store, None, max), (all.clone(), end), "{max} at a time");
    }
    for entry in &all {
        assert_eq!(store.entry(&entry.id).unwrap().as_ref(), Some(entry));
    }
    seal(&store, 30, 33);
    assert_eq!(ids(&read(&store, Some(end), 2).0).into_iter().collect::<BTreeSet<_>>(), (30..33).map(id).collect());
}

#[test]
fn what_waits_in_memory_is_fed_when_it_is_sealed() {
    let store = open(&SimDisk::new());
    assert_eq!(read(&store, None, 5), (Vec::new(), FeedCursor::default()));
    store.append(page(&url(1), 1, 0)).unwrap();
    store.commit().unwrap();
    let (none, cursor) = read(&store, None, 5);
    assert_eq!(none, Vec::new());
    store.seal().unwrap();
    assert_eq!(ids(&read(&store, Some(cursor), 5).0), [id(1)]);
}

#[test]
fn a_removal_is_fed_and_so_is_what_was_removed_before_it_was_read() {
    let store = open(&SimDisk::new());
    seal(&store, 0, 3);
    let (_, cursor) = read(&store, None, 9);
    store.remove(&id(1)).unwrap();
    store.seal().unwrap();
    let (removed, _) = read(&store, Some(cursor), 9);
    assert_eq!((ids(&removed), removed[0].removed), (vec![id(1)], true));
    let (all, _) = read(&store, None, 9);
    let seen: Vec<_> = all.iter().filter(|entry| !entry.removed).map(|entry| entry.id.clone()).collect();
    assert_eq!(seen, [id(0), id(2)]);
}

#[test]
fn compaction_may_bring_entries_again_and_none_is_missed() {
    for before in [1, 5, 12, 25, 40] {
        let store = open(&SimDisk::new());
        for n in 0..4 {
            seal(&store, n * 10, n * 10 + 10);
        }
        let (mut all, cursor) = store.feed(None, before).unwrap();
        store.compact(true, |_, _| {}).unwrap();
        seal(&store, 40, 45);
        store.remove(&id(44)).unwrap();
        store.compact(false, |_, _| {}).unwrap();
        all.extend(read(&store, Some(cursor), 3).0);
        let fed: BTreeSet<_> = ids(&all).into_iter().collect();
        assert_eq!(fed, (0..45).map(id).collect(), "after {before}");
        assert!(all.iter().filter(|entry| entry.id == id(44)).all(|entry| entry.removed));
    }
}

#[test]
fn a_cursor_holds_for_an_index_that_was_made_anew() {
    let disk = SimDisk::new();
    let store = open(&disk);
    seal(&store, 0, 10);
    seal(&store, 10, 20);
    let (first, cursor) = store.feed(None, 4).unwrap();
    let (rest, end) = read(&store, Some(cursor), 100);
    drop(store);
    let store = open(&disk);
    assert_eq!(read(&store, None, 4).0, [first, rest.clone()].concat());
    assert_eq!(read(&store, Some(cursor), 3), (rest, end));
}

#[test]
fn rot_before_a_directory_does_not_hide_it_and_rot_in_one_hides_no_other() {
    let disk = SimDisk::new();
    let store = open(&disk);
    for n in 0..3 {
        seal(&store, n * 10, n * 10 + 10);
    }
    let len = disk.open("packs/00000001.pack").unwrap().len().unwrap();
    let (all, _) = read(&store, None, 100);
    let mut hidden = 0;
    for at in 16..len {
        disk.flip_bit("packs/00000001.pack", at, (at % 8) as u8);
        let (fed, _) = read(&store, None, 100);
        // At most the seal whose own directory rotted.
        let lost = all.iter().filter(|entry| !fed.contains(entry)).count();
        assert!(matches!(lost, 0 | 10), "byte {at}: {lost} lost");
        hidden += usize::from(lost > 0);
        disk.flip_bit("packs/00000001.pack", at, (at % 8) as u8);
    }
    assert!(hidden > 0 && (hidden as u64) < len / 2, "{hidden} of {len}");
}

#[test]
fn a_cursor_of_another_archive_begins_anew_rather_than_miss_anything() {
    let large = open(&SimDisk::new());
    for n in 0..4 {
        seal(&large, n * 10, n * 10 + 10);
        large.compact(true, |_, _| {}).unwrap();
    }
    let (_, cursor) = read(&large, None, 100);
    let small = open(&SimDisk::new());
    seal(&small, 0, 2);
    assert_eq!(small.feed(Some(cursor), 100).unwrap().0.len(), 2);
}

#[test]
fn what_came_last_is_shown_newest_first_wherever_it_is() {
    let disk = SimDisk::new();
    let store = open(&disk);
    assert_eq!(store.recent(10).unwrap(), Vec::new());
    seal(&store, 0, 10);
    seal(&store, 10, 14);
    store.append(page(&url(14), 14, 0)).unwrap();
    // An old page that came just now is among the last to come, and not the newest.
    store.append(page(&url(-5), -5, 0)).unwrap();
    let times = |store: &Store, max: usize| -> Vec<i64> {
        let recent = store.recent(max).unwrap();
        recent.iter().map(|entry| (entry.id.time.millis() - time(0).millis()) / 1000).collect()
    };
    assert_eq!(times(&store, 4), [14, 13, 12, -5]);
    store.remove(&id(14)).unwrap();
    store.remove(&id(12)).unwrap();
    assert_eq!(times(&store, 4), [13, 11, 10, -5]);
    store.seal().unwrap();
    assert_eq!(times(&store, 4), [13, 11, 10, -5]);
    store.compact(true, |_, _| {}).unwrap();
    assert_eq!(times(&store, 4), [13, 11, 10, -5]);
    assert_eq!(times(&store, 1000).len(), 14);
    seal(&store, 100, 100 + RECENT_MAX as i64 + 50);
    assert_eq!(times(&store, 100_000).len(), RECENT_MAX);
}

#[test]
fn the_first_entry_behind_a_key_is_that_of_a_scan() {
    let store = open(&SimDisk::new());
    seal(&store, 0, 40);
    for n in 40..60 {
        store.append(picture(&url(n), n, n as u64)).unwrap();
    }
    for n in [0, 7, 14, 41, 48, 5] {
        let removed = if n < 40 { id(n) } else { picture(&url(n), n, n as u64).id() };
        store.remove(&removed).unwrap();
    }
    let mut keys: Vec<String> = (0..60).map(|n| herodotus_store::key_of(&url(n))).collect();
    keys.extend(["", "org,example)/3", "org,example)/3/99", "org,example)/6/zzz", "zz"].map(str::to_owned));
    for sealed in [false, true] {
        for key in &keys {
            let scanned = store.scan(key, "\u{10ffff}", false).next().transpose().unwrap();
            assert_eq!(store.first_at_or_after(key).unwrap(), scanned, "{key} {sealed}");
        }
        store.seal().unwrap();
    }
}

#[test]
fn a_scan_over_more_than_a_page_of_what_waits_misses_nothing_even_if_it_is_sealed_meanwhile() {
    let store = open(&SimDisk::new());
    seal(&store, 0, 700);
    for n in 700..2500 {
        store.append(page(&url(n), n, 0)).unwrap();
    }
    store.remove(&id(5)).unwrap();
    store.remove(&id(900)).unwrap();
    let mut expected: Vec<_> = (0..2500).filter(|n| ![5, 900].contains(n)).map(id).collect();
    expected.sort();
    let all = |backwards| {
        let scan = store.scan("", "\u{10ffff}", backwards);
        let mut ids: Vec<_> = scan.map(|entry| entry.unwrap().id).collect();
        if backwards {
            ids.reverse();
        }
        ids
    };
    assert_eq!((all(false), all(true)), (expected.clone(), expected.clone()));
    for backwards in [false, true] {
        let mut scan = store.scan("", "\u{10ffff}", backwards);
        let mut ids: Vec<_> = scan.by_ref().take(800).map(|entry| entry.unwrap().id).collect();
        store.seal().unwrap();
        ids.extend(scan.map(|entry| entry.unwrap().id));
        if backwards {
            ids.reverse();
        }
        assert_eq!(ids, expected);
        // For the other direction, something waits again.
        for n in 2500..4000 {
            store.append(page(&url(n), n, 0)).unwrap();
        }
        expected = (0..4000).filter(|n| ![5, 900].contains(n)).map(id).collect();
        expected.sort();
    }
}

#[test]
fn a_disk_that_had_room_and_fills_up_is_noticed_within_a_few_captures() {
    let disk = SimDisk::new();
    let store = open(&disk);
    disk.set_free_bytes(Some(u64::MAX / 2));
    store.append(page(&url(0), 0, 0)).unwrap();
    disk.set_free_bytes(Some(RESERVE_BYTES - 1));
    // None weighs less than its bookkeeping, some hundred bytes.
    let refused = (1..1000).position(|n| store.append(page(&url(n), n, 0)).is_err()).expect("the disk is full");
    assert_eq!(store.poisoned(), None);
    store.seal().unwrap();
    assert!(matches!(store.append(page(&url(2000), 2000, 0)), Err(Error::Full { .. })), "after {refused}");
}

#[test]
fn on_a_disk_that_is_nearly_full_nothing_new_is_taken_in_and_nothing_breaks() {
    let disk = SimDisk::new();
    let store = open(&disk);
    seal(&store, 0, 3);
    disk.set_free_bytes(Some(RESERVE_BYTES - 1));
    let refused = store.append(page(&url(3), 3, 0));
    assert!(matches!(refused, Err(Error::Full { .. })), "{refused:?}");
    assert_eq!(store.poisoned(), None);
    assert!(store.read(&id(1)).unwrap().is_some());
    // What is here already takes no room, and what lets go of some is always allowed.
    assert_eq!(store.append(page(&url(1), 1, 0)).unwrap(), Appended::Known);
    store.remove(&id(2)).unwrap();
    store.seal().unwrap();
    disk.set_free_bytes(Some(2 * RESERVE_BYTES));
    assert_eq!(store.append(page(&url(3), 3, 0)).unwrap(), Appended::Stored);
    // What was taken in before is brought from the journal whatever room there is.
    store.commit().unwrap();
    let left = disk.crash_image(disk.steps(), Luck::Worst);
    left.set_free_bytes(Some(0));
    assert!(open(&left).read(&id(3)).unwrap().is_some());
}
