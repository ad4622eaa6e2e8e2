//! What it costs to read pages as a browser sees them, to begin a scan, and to follow the feed.
//!
//! `cargo run --release -p herodotus-store --example reads -- WARC…` imports the files into a scratch archive, adds 120,000 small
//! captures, and prints CPU time of this thread per call, which does not depend on what else the machine does.

use herodotus_base::Timestamp;
use herodotus_store::archive::{ImportOptions, import};
use herodotus_store::coding::plain_body;
use herodotus_store::{Body, Capture, EntryKey, Kind, Record, Result, Store};
use nix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::path::Path;

fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or((0, 0), |t| (t.tv_sec(), t.tv_nsec()));
    now.0 as u64 * 1_000_000_000 + now.1 as u64
}

/// Runs once per item and prints mean, median and the slowest of a hundred.
fn measure<T>(what: &str, items: &[T], mut work: impl FnMut(&T) -> Result<()>) -> Result<()> {
    let mut times = Vec::with_capacity(items.len());
    for item in items {
        let before = cpu_ns();
        work(item)?;
        times.push(cpu_ns() - before);
    }
    times.sort_unstable();
    let us = |ns: u64| ns as f64 / 1000.0;
    let mean = times.iter().sum::<u64>() / times.len().max(1) as u64;
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    println!("{what:<58} {:>9.1} µs mean {:>9.1} p50 {:>9.1} p99", us(mean), us(at(50)), us(at(99)));
    Ok(())
}

fn small(n: usize) -> Capture {
    let url = format!("http://small{}.example/{}/{}/{n}", n % 50, n % 20, n % 400);
    let time = Timestamp::from_millis_clamped(1_700_000_000_000 + n as i64);
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n".to_vec();
    let main = Record::new(Kind::Response, &url, time, head, Body::new(n.to_string().into_bytes()));
    Capture { url, time, main, companions: Vec::new() }
}

fn main() -> Result<()> {
    let dir = tempfile::tempdir().map_err(|source| herodotus_store::Error::Disk { doing: "scratch".into(), source })?;
    let open = || Store::open(dir.path()).map(|(store, _)| store);
    let store = open()?;
    for path in std::env::args().skip(1) {
        import(&store, Path::new(&path), &ImportOptions::default(), |_| {})?;
    }
    let entries: Vec<_> = store.scan_all().collect::<Result<_>>()?;
    let mut ids: Vec<EntryKey> = entries.into_iter().filter(|e| e.is_capture()).map(|e| e.id).collect();
    // In an order that jumps from frame to frame, as readers do.
    let len = ids.len();
    ids = (0..len).map(|n| ids[n * 7919 % len].clone()).collect();
    store.close()?;
    println!("{len} captures");
    if len > 0 {
        let store = open()?;
        measure("read, then codings off", &ids, |id| {
            if let Some(capture) = store.read(id)?
                && let Body::Bytes(bytes, _) = &capture.main.body
            {
                black_box(plain_body(&capture.main.head, bytes));
            }
            Ok(())
        })?;
        measure("entity, never read before", &ids, |id| store.entity_in_passing(id).map(|e| drop(black_box(e))))?;
        measure("entity, proved before, not kept", &ids, |id| store.entity_in_passing(id).map(|e| drop(black_box(e))))?;
        let near = &ids[..len.min(200)];
        let same: Vec<_> = near.iter().flat_map(|id| [id, id]).collect();
        measure("entity, its frame in memory (every other)", &same, |id| {
            store.entity_in_passing(id).map(|e| drop(black_box(e)))
        })?;
        for id in near {
            store.entity(id)?;
        }
        let again: Vec<_> = (0..20).flat_map(|_| near).collect();
        measure("entity, kept", &again, |id| store.entity(id).map(|e| drop(black_box(e))))?;
        store.close()?;
    }
    let store = open()?;
    for n in 0..120_000 {
        store.append(small(n))?;
    }
    store.seal()?;
    let keys: Vec<String> = (0..5000).map(|n| herodotus_store::key_of(&small(n * 7919 % 120_000).url)).collect();
    for waiting in [0, 19_000] {
        for n in 0..waiting {
            store.append(small(1_000_000 + n))?;
        }
        println!("{waiting} captures wait in memory");
        measure("first_at_or_after", &keys, |key| store.first_at_or_after(key).map(|e| drop(black_box(e))))?;
        measure("versions of a key, the first", &keys, |key| {
            black_box(store.versions(key, false).next());
            Ok(())
        })?;
        measure("scan to the end, the first", &keys[..200], |key| {
            black_box(store.scan(key, "\u{10ffff}", false).next());
            Ok(())
        })?;
        measure("recent(50)", &keys[..200], |_| store.recent(50).map(|e| drop(black_box(e))))?;
    }
    let (mut cursor, mut fed) = (None, 0);
    let before = cpu_ns();
    loop {
        let (entries, next) = store.feed(cursor, 256)?;
        fed += entries.len();
        cursor = Some(next);
        if entries.len() < 256 {
            break;
        }
    }
    println!(
        "feed, 256 at a time: {:.1} µs per entry of {fed}",
        (cpu_ns() - before) as f64 / 1000.0 / fed.max(1) as f64
    );
    Ok(())
}
