//! Storms: five hundred seeds of harm at random, each of which must end in an ideal ring.

#![allow(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use herodotus_sim::ring::{Storm, StormEnd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs all these seeds on all cores and gives what became of them, in order.
fn run(seeds: std::ops::Range<u64>) -> Vec<(u64, StormEnd)> {
    let next = AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut ends: Vec<(u64, StormEnd)> = std::thread::scope(|scope| {
        let work = || {
            let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < seeds.end);
            std::iter::from_fn(take).map(|seed| (seed, Storm::new(seed).run())).collect::<Vec<_>>()
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    ends.sort_by_key(|(seed, _)| *seed);
    ends
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
