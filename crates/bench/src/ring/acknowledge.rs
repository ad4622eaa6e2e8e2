//! How soon a write is acknowledged: one page, stored here and durable on a second machine, while the other four copies follow.

use super::machines::Ring;
use crate::latency::Latency;
use crate::store::pages::Pages;
use crate::table::{Table, time};
use anyhow::Result;

/// Beyond the versions that pages have otherwise.
const LATER: u64 = 1_000;

pub(super) fn run(ring: &Ring, pages: &Pages, writes: u64) -> Result<()> {
    let machine = &ring.machines[0];
    let write = |url: u64, is_handed_on: bool| {
        machine.store.append(pages.capture(url, LATER)?)?;
        machine.store.commit()?;
        if is_handed_on {
            ring.hand_on()?;
        }
        Ok(())
    };
    let alone = Latency::of(0..writes, |url| write(url, false))?;
    // Those must be gone first.
    ring.hand_on()?;
    let acknowledged = Latency::of(writes..2 * writes, |url| write(url, true))?;
    println!("\n### A write of one page of 20 KB, one after another ({writes}); seven machines, six copies\n");
    let mut table = Table::new(&["", "p50", "p99", "longest"]);
    for (name, latency) in [("durable here", &alone), ("durable on two machines of six", &acknowledged)] {
        table.row([name.to_owned(), time(latency.at(0.5)), time(latency.at(0.99)), time(latency.max())]);
    }
    table.print();
    Ok(())
}
