//! What a durable write costs: append and commit of one 20 KB capture, alone and with 32 writers that share syncs.
//!
//! The limit is a program that appends the same bytes to one file and syncs it; the field's crawlers (wget, warcprox,
//! Heritrix) do not sync at all, so there is no peer to name.

use super::counting::CountingDisk;
use super::pages::Pages;
use super::{Args, temporary};
use crate::latency::Latency;
use crate::peers::say;
use crate::table::{Table, count, short, time};
use anyhow::{Result, anyhow, ensure};
use herodotus_store::Store;
use herodotus_store::disk::real::RealDisk;
use herodotus_store::index::MemoryEngine;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const ALONE: u64 = 2_000;
const WRITERS: u64 = 32;
const PER_WRITER: u64 = 100;
/// Few enough for one batch, so that nothing is sealed and every sync that is counted is a commit's.
const COMMITS_COUNTED: u64 = 960;

pub(crate) fn run(args: &Args) -> Result<()> {
    let pages = Pages::for_captures(1_000_000);
    println!(
        "### Durable writes\n\nAppend and commit of one 20 KB capture; the bytes are on the disk when the call returns.\n"
    );
    let mut table = Table::new(&["", "commits/s", "p50", "p99", "max", "syncs per commit"]);
    let mut row = |what: String, l: &Latency, syncs: String| {
        let [p50, p99, max] = [l.at(0.5), l.at(0.99), l.max()].map(time);
        table.row([what, short(l.per_s()), p50, p99, max, syncs]);
    };
    say("commits");
    row("*limit:* bare append and fdatasync, one writer".into(), &bare(args, &pages)?, "1".into());
    let (alone, reopened) = alone(args, &pages)?;
    row("one writer".into(), &alone, counted(args, &pages, 1)?);
    let group = group(args, &pages)?;
    row(format!("{WRITERS} writers"), &group, counted(args, &pages, WRITERS)?);
    table.print();
    println!("{reopened}\n");
    Ok(())
}

fn bare(args: &Args, pages: &Pages) -> Result<Latency> {
    let dir = temporary(args)?;
    let mut file = File::create(dir.path().join("log"))?;
    let bodies: Vec<_> = (0..ALONE).map(|n| pages.body(n, 0)).collect();
    Latency::of(bodies, |body| {
        file.write_all(&body)?;
        Ok(file.sync_data()?)
    })
}

/// One writer; then the store is dropped as a crash drops it, and what waited in the journal comes back.
fn alone(args: &Args, pages: &Pages) -> Result<(Latency, String)> {
    let dir = temporary(args)?;
    let store = Store::open(dir.path())?.0;
    let captures: Vec<_> = (0..ALONE).map(|n| pages.capture(n, 0)).collect::<Result<_>>()?;
    let latency = Latency::of(captures, |capture| {
        store.append(capture)?;
        Ok(store.commit()?)
    })?;
    let journal = super::files::length_bytes(&dir.path().join("journal"))?;
    drop(store);
    let open = Instant::now();
    let (store, recovery) = Store::open(dir.path())?;
    let took = open.elapsed();
    let kept = store.totals()?.captures;
    ensure!(kept == ALONE, "{ALONE} captures were acknowledged, and {kept} are there");
    store.close()?;
    let said = format!(
        "Opened after a stop without closing: {} with {} MB of journal, out of which {} captures came back.",
        time(took),
        short(journal as f64 / 1e6),
        count(recovery.replayed)
    );
    Ok((latency, said))
}

fn group(args: &Args, pages: &Pages) -> Result<Latency> {
    let dir = temporary(args)?;
    let store = Store::open(dir.path())?.0;
    let latency = write_together(&store, pages, WRITERS, PER_WRITER)?;
    store.close()?;
    Ok(latency)
}

/// How many syncs the journal needs: the same on a disk that counts. Commits do not touch the index.
fn counted(args: &Args, pages: &Pages, writers: u64) -> Result<String> {
    let dir = temporary(args)?;
    let syncs = Arc::new(AtomicU64::new(0));
    let disk = RealDisk::new(dir.path(), &["packs", "journal", "blobs", "tmp"])?;
    let disk = CountingDisk::new(disk, syncs.clone());
    let store = Store::open_simulated(Arc::new(disk), Arc::new(MemoryEngine::default()))?.0;
    let before = syncs.load(Ordering::Relaxed);
    write_together(&store, pages, writers, COMMITS_COUNTED / writers)?;
    let counted = syncs.load(Ordering::Relaxed) - before;
    store.close()?;
    let commits = COMMITS_COUNTED / writers * writers;
    Ok(format!("{} ({} for {})", short(counted as f64 / commits as f64), count(counted), count(commits)))
}

fn write_together(store: &Store, pages: &Pages, writers: u64, each: u64) -> Result<Latency> {
    let captures = |writer: u64| (0..each).map(|n| pages.capture(writer * each + n, 0)).collect::<Result<Vec<_>>>();
    let captures: Vec<_> = (0..writers).map(captures).collect::<Result<_>>()?;
    let parts: Vec<Result<Latency>> = std::thread::scope(|scope| {
        let write = |mine: Vec<_>| {
            scope.spawn(move || {
                Latency::of(mine, |capture| {
                    store.append(capture)?;
                    Ok(store.commit()?)
                })
            })
        };
        let writers: Vec<_> = captures.into_iter().map(write).collect();
        writers.into_iter().map(|w| w.join().unwrap_or_else(|_| Err(anyhow!("a writer panicked")))).collect()
    });
    Ok(Latency::joined(parts.into_iter().collect::<Result<_>>()?))
}
