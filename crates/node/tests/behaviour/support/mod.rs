#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

//! A small web, an archive, and a crawl of the one into the other.

use herodotus_frontier::{Scope, Settings, Span};
use herodotus_node::crawl::{Crawl, Definition, Event, Stop, Summary};
use herodotus_store::{Capture, Entry, Kind, Store};
use herodotus_testweb::Server;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use tokio::sync::watch;

/// The whole of a testweb, as fast as it goes.
pub fn definition(server: &Server) -> Definition {
    let first = server.web().hosts().next().unwrap();
    Definition {
        seeds: vec![format!("http://{first}/")],
        allow_private: vec!["127.0.0.0/8".parse().unwrap()],
        connect_to: vec![format!("*.test={}", server.addr())],
        crawl: Settings {
            scope: Scope::Any,
            delay: Span(0),
            concurrency: 4,
            retry_delay: Span(10),
            ..Settings::default()
        },
        ..Definition::default()
    }
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Runs a crawl to its end.
pub fn crawl(data: &Path, store: &Store, definition: &Definition) -> Summary {
    crawl_watched(data, store, definition, |_| {})
}

pub fn crawl_watched(
    data: &Path,
    store: &Store,
    definition: &Definition,
    watch: impl FnMut(Event<'_>) + Send,
) -> Summary {
    let crawl = Crawl::open(data, store, "test", definition).unwrap();
    let (_stop, stopped) = watch::channel(Stop::No);
    runtime().block_on(crawl.run(stopped, Duration::from_millis(100), watch)).unwrap()
}

/// Captures by URL, in the order of time.
pub fn captures(store: &Store) -> BTreeMap<String, Vec<Entry>> {
    let mut all: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in store.scan_all() {
        let entry = entry.unwrap();
        if entry.kind == Kind::Response {
            all.entry(entry.url.clone()).or_default().push(entry);
        }
    }
    all
}

pub fn read(store: &Store, entry: &Entry) -> Capture {
    store.read(&entry.id).unwrap().unwrap()
}

pub fn bytes(capture: &Capture) -> Vec<u8> {
    match &capture.main.body {
        herodotus_store::Body::Bytes(bytes, _) => bytes.to_vec(),
        herodotus_store::Body::Blob { .. } => panic!("a small page in a file of its own"),
    }
}

/// Host and path of a URL on a testweb.
pub fn parts(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap();
    rest.split_at(rest.find('/').unwrap())
}

/// Says what is missing and what is too much, not everything.
pub fn assert_same(found: &BTreeSet<String>, expected: &BTreeSet<String>) {
    let missing: Vec<_> = expected.difference(found).collect();
    let too_much: Vec<_> = found.difference(expected).collect();
    assert!(missing.is_empty() && too_much.is_empty(), "missing: {missing:?}, too much: {too_much:?}");
}
