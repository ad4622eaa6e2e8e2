//! Versions that bring no new body: they lean on the first of their kind, so that chains stay short, and come back whole.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_store::disk::sim::SimDisk;
use herodotus_store::index::MemoryEngine;
use herodotus_store::{Capture, Store};
use std::sync::Arc;
use support::{contents, time};

const URL: &str = "http://example.org/page";

/// A page whose request has the many lines of a browser's, so that a difference of two is small beside them.
fn page(url: &str, n: i64, version: u32) -> Capture {
    let mut page = support::page(url, n, version);
    let lines: String = (0..40).map(|i| format!("X-Line-{i}: {}\r\n", i * 40_503 % 9973)).collect();
    page.companions[0].head = format!("GET {url} HTTP/1.1\r\n{lines}\r\n").into_bytes();
    page
}

fn store() -> Store {
    Store::open_simulated(Arc::new(SimDisk::new()), Arc::new(MemoryEngine::new())).unwrap().0
}

/// The depth of every version, oldest first.
fn depths(store: &Store) -> Vec<u8> {
    store.versions("org,example)/page", false).map(|entry| entry.unwrap().depth).collect()
}

#[test]
fn a_page_that_never_changes_is_two_steps_away_at_most() {
    let store = store();
    for n in 0..40 {
        store.append(page(URL, n, 1)).unwrap();
    }
    store.seal().unwrap();
    let depths = depths(&store);
    assert_eq!(depths[..2], [0, 1]);
    assert!(depths[2..].iter().all(|depth| *depth == 2), "{depths:?}");
    for n in 0..40 {
        assert_eq!(store.newest_not_after("org,example)/page", time(n)).unwrap().unwrap().id.time, time(n));
    }
    assert_eq!(
        contents(&store).into_values().collect::<Vec<_>>(),
        (0..40).map(|n| page(URL, n, 1)).collect::<Vec<_>>()
    );
}

#[test]
fn repeats_between_changes_come_back_and_no_chain_is_too_long() {
    let store = store();
    // Each version three times, so that chains of changes and of repeats grow side by side, over several seals.
    let visits: Vec<_> = (0..120).map(|n| page(URL, n, n as u32 / 3)).collect();
    for (n, visit) in visits.iter().enumerate() {
        store.append(visit.clone()).unwrap();
        if n % 25 == 24 {
            store.seal().unwrap();
        }
    }
    store.seal().unwrap();
    let depths = depths(&store);
    assert!(depths.iter().all(|depth| *depth <= herodotus_store::limits::CHAIN_DEPTH_MAX), "{depths:?}");
    assert!(depths.iter().filter(|depth| **depth == 0).count() >= 2, "no full copy in between: {depths:?}");
    assert_eq!(contents(&store).into_values().collect::<Vec<_>>(), visits);
}

#[test]
fn removing_the_repeat_that_others_lean_on_leaves_them_whole() {
    let store = store();
    for n in 0..10 {
        store.append(page(URL, n, 1)).unwrap();
    }
    store.seal().unwrap();
    store.remove(&page(URL, 1, 1).id()).unwrap();
    let compacted = store.compact(true, |_, _| {}).unwrap();
    assert_eq!(compacted.dropped, 1);
    let left: Vec<_> = (0..10).filter(|n| *n != 1).map(|n| page(URL, n, 1)).collect();
    assert_eq!(contents(&store).into_values().collect::<Vec<_>>(), left);
}

#[test]
fn a_repeat_that_is_stored_whole_is_no_base_for_the_next_change() {
    let store = store();
    let mut visits = [(0, 1), (1, 1), (2, 2)].map(|(n, version)| support::page(URL, n, version));
    // With a head that is all new, a patch is not worth it.
    let noise: String = support::noise(1, 2000).iter().map(|byte| format!("{byte:02x}")).collect();
    visits[1].main.head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Noise: {noise}\r\n\r\n").into_bytes();
    for visit in visits {
        store.append(visit).unwrap();
    }
    store.seal().unwrap();
    assert_eq!(depths(&store), [0, 0, 1]);
    assert_eq!(contents(&store).len(), 3);
}
