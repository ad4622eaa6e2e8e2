//! A new machine is filled, beside a bare copy of the same bytes by iroh: one stream, read and thrown away, nothing checked and nothing stored.

use super::machines::Ring;
use crate::cpu::Stopwatch;
use crate::peers::say;
use crate::rpc;
use crate::store::pages::Pages;
use crate::table::{Goals, Table, mb, seconds, short};
use anyhow::Result;

/// Of the rate of a bare copy.
const SHARE_MIN: f64 = 0.5;
/// Before the new one comes.
const MACHINES: usize = 3;

pub(super) fn run(pages: &Pages, goals: &mut Goals) -> Result<()> {
    let mut ring = Ring::of(MACHINES, super::COPIES)?;
    let taker = &ring.machines[0];
    let (mut ids, mut raw) = (Vec::new(), 0);
    for (url, version) in pages.visits() {
        let capture = pages.capture(url, version)?;
        ids.push(capture.id());
        raw += capture.main.body.len();
        taker.store.append(capture)?;
    }
    taker.store.commit()?;
    ring.runtime.block_on(taker.copies.handed_on())?;
    ring.wait_for_copies(MACHINES as u16)?;
    ring.rest()?;
    let captures = ids.len();
    let bytes = ring.machines[0].store.bytes_on_disk()?;
    say(&format!("{captures} captures on {MACHINES} machines, {} each; one more joins", mb(bytes)));
    let watch = Stopwatch::start();
    ring.join()?;
    let joined = watch.stop();
    // Each is asked for until it is there; what was there stays.
    let (store, mut left) = (ring.machines[MACHINES].store.clone(), ids.as_slice());
    ring.wait("the new one to hold everything", || {
        while let [id, rest @ ..] = left
            && store.entry(id).is_ok_and(|entry| entry.is_some())
        {
            left = rest;
        }
        left.is_empty()
    })?;
    let filled = watch.stop();
    drop(ring);
    let bare = rpc::bare_copy(bytes)?;
    println!("\n### {captures} captures ({} of pages, {} in packs) onto a new machine\n", mb(raw), mb(bytes));
    let mut table = Table::new(&["", "seconds", "MB/s of packs", "CPU s"]);
    let (took, cpu) = (filled.wall_s - joined.wall_s, filled.cpu_s - joined.cpu_s);
    let rate = |wall_s: f64| bytes as f64 / 1e6 / wall_s;
    table.row(["joined, then filled".to_owned(), seconds(took), short(rate(took)), short(cpu)]);
    table.row([
        "the same bytes by bare iroh".to_owned(),
        seconds(bare.wall_s),
        short(rate(bare.wall_s)),
        short(bare.cpu_s),
    ]);
    table.print();
    goals.at_least("filling a new machine, of the rate of a bare copy", SHARE_MIN, rate(took) / rate(bare.wall_s), "");
    Ok(())
}
