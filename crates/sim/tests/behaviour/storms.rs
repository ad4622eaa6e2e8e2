//! Storms: five hundred seeds of harm at random, each of which must end in an ideal ring.

#![allow(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use crate::support;

use herodotus_sim::ring::{Storm, StormEnd};
use support::on_all_cores;

fn run(seeds: std::ops::Range<u64>) -> Vec<(u64, StormEnd)> {
    on_all_cores(seeds, |seed| Storm::new(seed).run())
}

#[test]
fn five_hundred_storms_end_in_an_ideal_ring() {
    let count = std::env::var("STORMS").ok().and_then(|text| text.parse().ok()).unwrap_or(500);
    let ends = run(0..count);
    let bad: Vec<_> = ends.iter().filter(|(_, end)| !end.wrong.is_empty()).collect();
    for (seed, end) in &bad {
        println!("seed {seed}, {} members, {} faults:\n  {}", end.members, end.faults, end.wrong.join("\n  "));
    }
    let messages: u64 = ends.iter().map(|(_, end)| end.messages).sum();
    let sum = |pick: fn(&StormEnd) -> u64| ends.iter().map(|(_, end)| pick(end)).sum::<u64>();
    println!(
        "{} storms, {messages} messages; in the storm {} lookups right, {} wrong, {} failed",
        ends.len(),
        sum(|end| end.stormy.right),
        sum(|end| end.stormy.wrong),
        sum(|end| end.stormy.failed)
    );
    assert!(bad.is_empty(), "{} of {} seeds", bad.len(), ends.len());
    assert!(ends.iter().all(|(_, end)| end.faults >= 200));
}
