//! Archives with titles.

#![allow(dead_code, reason = "each test binary uses a part")]

use herodotus_base::Timestamp;
use herodotus_catalogue::{Catalogue, CaughtUp};
use herodotus_store::disk::sim::SimDisk;
use herodotus_store::index::MemoryEngine;
use herodotus_store::{Body, Capture, Kind, Record, Store};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub fn time(n: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + n * 1000).unwrap()
}

pub fn archive() -> Store {
    Store::open_simulated(Arc::new(SimDisk::new()), Arc::new(MemoryEngine::new())).unwrap().0
}

pub fn page(url: &str, n: i64, title: &str) -> Capture {
    answer(url, n, "200 OK", "text/html; charset=utf-8", format!("<title>{title}</title><p>{n}").into_bytes())
}

pub fn answer(url: &str, n: i64, status: &str, media: &str, body: Vec<u8>) -> Capture {
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {media}\r\n\r\n").into_bytes();
    let main = Record::new(Kind::Response, url, time(n), head, Body::new(body));
    Capture { url: url.to_owned(), time: time(n), main, companions: Vec::new() }
}

pub fn store_all(store: &Store, captures: &[Capture]) {
    for capture in captures {
        store.append(capture.clone()).unwrap();
    }
    store.seal().unwrap();
}

pub fn catch_up(catalogue: &Catalogue, store: &Store) -> CaughtUp {
    catalogue.catch_up(store, usize::MAX, &AtomicBool::new(false)).unwrap()
}

/// The titles that are found, in their order.
pub fn titles(catalogue: &Catalogue, store: &Store, question: &str) -> Vec<String> {
    catalogue.search(store, question, 100).unwrap().into_iter().map(|found| found.title).collect()
}

/// All rows of a catalogue that nobody has open.
pub fn rows(dir: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let database = fjall::Database::builder(dir).open().unwrap();
    let rows = database.keyspace("catalogue", fjall::KeyspaceCreateOptions::default).unwrap();
    rows.iter()
        .map(|row| {
            let (key, value) = row.into_inner().unwrap();
            (key.to_vec(), value.to_vec())
        })
        .collect()
}
