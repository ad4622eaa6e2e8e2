//! Captures for tests: small pages that resemble each other, pictures that do not, and an index that knows when.

#![allow(dead_code, reason = "each test binary uses a part")]

use herodotus_base::{Id, Timestamp};
use herodotus_replica::{Mark, Sum};
use herodotus_ring::placement::{bucket_of_key, place_of_key};
use herodotus_store::disk::{Disk, sim::SimDisk};
use herodotus_store::index::{Engine, MemoryEngine, Pairs, Table, Write};
use herodotus_store::{Body, Capture, Entry, EntryKey, Kind, Record, Result, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

pub fn time(n: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + n * 1000).unwrap()
}

/// A page: versions share nearly everything.
pub fn page(url: &str, n: i64, version: u32) -> Capture {
    let mut body = format!("<html><title>{url}</title><body>\n");
    for i in 0..60u32 {
        let word = if i == version % 60 { version } else { 0 };
        body.push_str(&format!("<p>paragraph {} of {url}, {word}</p>\n", i.wrapping_mul(2_654_435_761)));
    }
    with_body(url, n, "text/html; charset=utf-8", body.into_bytes())
}

pub fn with_body(url: &str, n: i64, media: &str, body: Vec<u8>) -> Capture {
    let time = time(n);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nContent-Length: {}\r\n\r\n", body.len());
    let main = Record::new(Kind::Response, url, time, head.into_bytes(), Body::new(body));
    let request = format!("GET {url} HTTP/1.1\r\nHost: example.org\r\n\r\n").into_bytes();
    let request = Record::new(Kind::Request, url, time, request, Body::new(Vec::new()));
    Capture { url: url.to_owned(), time, main, companions: vec![request] }
}

/// A capture whose request has the many lines of a browser's, so that a difference to another of its URL is small beside them.
pub fn wordy(mut capture: Capture) -> Capture {
    let lines: String = (0..40).map(|i| format!("X-Line-{i}: {}\r\n", i * 40_503 % 9973)).collect();
    capture.companions[0].head = format!("GET {} HTTP/1.1\r\n{lines}\r\n", capture.url).into_bytes();
    capture
}

/// Makes the store begin a pack when it is opened next: as if one that was begun on a full disk had been left.
pub fn begin_pack(disk: &SimDisk, number: u32) {
    disk.create(&format!("packs/{number:08x}.pack")).unwrap();
}

/// Bytes that do not compress.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut x = seed.wrapping_mul(2) + 1;
    (0..len)
        .map(|_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 40) as u8
        })
        .collect()
}

pub fn picture(url: &str, n: i64, seed: u64) -> Capture {
    with_body(url, n, "image/png", noise(seed, 3000))
}

/// Everything a reader sees, read back whole.
pub fn contents(store: &Store) -> BTreeMap<Vec<u8>, Capture> {
    let mut out = BTreeMap::new();
    for entry in store.scan_all() {
        let entry: Entry = entry.unwrap();
        let capture = store.read(&entry.id).unwrap().unwrap();
        out.insert(entry.id.encode(), capture);
    }
    out
}

/// Place and bucket.
type Row = (Id, String);

/// Holds the table of places against what it must be, computed from the names of all that is present and all that was removed. What
/// waits must have been sealed.
pub fn check_places(store: &Store, present: &BTreeSet<Vec<u8>>, removed: &BTreeSet<Vec<u8>>, what: &str) {
    let Some(placement) = store.placement().unwrap() else {
        assert!(store.places(Id::ZERO, Id::ZERO).next().unwrap().is_err(), "{what}: a table without a placement");
        return;
    };
    let mut sums: BTreeMap<Row, Sum> = BTreeMap::new();
    let mut entries: BTreeMap<Row, Vec<(Vec<u8>, bool, Mark)>> = BTreeMap::new();
    let both = present.iter().map(|key| (key, false)).chain(removed.iter().map(|key| (key, true)));
    let both: BTreeMap<_, _> = both.collect();
    for (key, is_removed) in both {
        let id = EntryKey::decode(key).unwrap();
        let bucket = bucket_of_key(placement, &id.key);
        let place = place_of_key(placement, &id.key, store.parts(bucket).unwrap());
        let mark = Mark::of(key, if is_removed { b"removed" } else { b"present" });
        sums.entry((place, bucket.to_owned())).or_default().add(mark);
        entries.entry((place, bucket.to_owned())).or_default().push((key.clone(), is_removed, mark));
    }
    let rows = |from, to| -> Vec<(Row, Sum)> {
        let rows = store.places(from, to).map(|row| row.unwrap());
        rows.map(|(place, bucket, sum)| ((place, bucket), sum)).collect()
    };
    let all: Vec<_> = sums.clone().into_iter().collect();
    assert_eq!(rows(Id([0xff; 32]), Id([0xff; 32])), all, "{what}");
    for ((place, bucket), expected) in &entries {
        let found = store.entries_at(*place, bucket).map(|entry| entry.unwrap());
        let found: Vec<_> = found.map(|(id, removed, mark)| (id.encode(), removed, mark)).collect();
        assert_eq!(&found, expected, "{what}: {bucket}");
    }
    // Arcs between places that are there, and around the end of the circle.
    let ends: Vec<Id> = sums.keys().map(|(place, _)| *place).chain([Id::ZERO, Id::small(128)]).take(4).collect();
    for (from, to) in ends.iter().flat_map(|from| ends.iter().map(move |to| (*from, *to))) {
        let mut on_arc: Vec<_> = all.iter().filter(|((place, _), _)| place.is_in(from, to)).cloned().collect();
        // A place is a whole circle away from itself.
        on_arc.sort_by_key(|((place, bucket), _)| (*place == from, from.distance_to(*place), bucket.clone()));
        assert_eq!(rows(from, to), on_arc, "{what}: ({from:?}, {to:?}]");
    }
}

/// An index that writes down at which step of the disk each of its batches came.
#[derive(Clone, Debug)]
pub struct TimedEngine {
    pub inner: MemoryEngine,
    disk: SimDisk,
    written: Arc<Mutex<Vec<usize>>>,
    persisted: Arc<Mutex<Vec<(usize, usize)>>>,
}

impl TimedEngine {
    pub fn new(disk: SimDisk) -> Self {
        Self { inner: MemoryEngine::new(), disk, written: Arc::default(), persisted: Arc::default() }
    }

    /// The fewest and the most batches that a crash at this step may leave.
    pub fn possible(&self, step: usize) -> (usize, usize) {
        let most = self.written.lock().unwrap().iter().filter(|at| **at <= step).count();
        let persisted = self.persisted.lock().unwrap();
        let fewest = persisted.iter().filter(|(at, _)| *at <= step).map(|(_, n)| *n).max().unwrap_or(0);
        (fewest, most)
    }
}

impl Engine for TimedEngine {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.inner.get(table, key)
    }

    fn range(&self, table: Table, from: &[u8], to: &[u8], backwards: bool) -> Pairs<'_> {
        self.inner.range(table, from, to, backwards)
    }

    fn write(&self, batch: Vec<Write>) -> Result<()> {
        self.written.lock().unwrap().push(self.disk.steps());
        self.inner.write(batch)
    }

    fn persist(&self) -> Result<()> {
        self.inner.persist()?;
        let (all, _) = self.inner.batches();
        self.persisted.lock().unwrap().push((self.disk.steps(), all));
        Ok(())
    }

    fn disk_bytes(&self) -> u64 {
        0
    }

    fn tidy(&self) -> Result<()> {
        self.persist()
    }
}
