//! Link exchange under harm: every link that was promised arrives, each bug that is planted is found, and a run follows from its seed.

#![allow(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use crate::support;

use herodotus_links::Planted;
use herodotus_sim::links::{Storm, StormEnd};
use support::on_all_cores;

/// Seeds within which a planted bug must show.
const SEEDS_MAX: u64 = 60;

fn run(seeds: std::ops::Range<u64>) -> Vec<(u64, StormEnd)> {
    on_all_cores(seeds, |seed| Storm::new(seed).run())
}

#[test]
fn after_five_hundred_storms_every_link_has_arrived() {
    let count = std::env::var("STORMS").ok().and_then(|text| text.parse().ok()).unwrap_or(500);
    let ends = run(0..count);
    let bad: Vec<_> = ends.iter().filter(|(_, end)| !end.wrong.is_empty()).collect();
    for (seed, end) in &bad {
        println!("seed {seed}:\n  {}", end.wrong.join("\n  "));
    }
    let sum = |pick: fn(&StormEnd) -> u64| ends.iter().map(|(_, end)| pick(end)).sum::<u64>();
    let (promised, excused) = (sum(|end| end.promised as u64), sum(|end| end.excused as u64));
    println!(
        "{} storms: {promised} links, {excused} lost with their machines; {} batches, {} of them walking, {} lookups, {} links rested; {:?} until all had arrived",
        ends.len(),
        sum(|end| end.batches),
        sum(|end| end.walks),
        sum(|end| end.lookups),
        sum(|end| end.parked),
        ends.iter().map(|(_, end)| end.settled).max().unwrap()
    );
    assert!(bad.is_empty(), "{} of {} seeds", bad.len(), ends.len());
    // Everything that can happen did.
    assert!(sum(|end| end.walks) > 0 && sum(|end| end.lookups) > 0 && sum(|end| end.parked) > 0 && excused > 0);
}

#[test]
fn the_same_seed_gives_the_same_storm_and_another_gives_another() {
    let (one, same, other) = (Storm::new(3).run(), Storm::new(3).run(), Storm::new(4).run());
    assert_eq!((one.trace, one.promised, one.bytes), (same.trace, same.promised, same.bytes));
    assert_ne!(one.trace, other.trace);
}

fn assert_found(bug: Planted) {
    let found =
        (0..SEEDS_MAX).find_map(|seed| Some((seed, Storm::new(seed).plant(bug).run().wrong.into_iter().next()?)));
    let (seed, wrong) = found.unwrap_or_else(|| panic!("{bug:?} was not found within {SEEDS_MAX} seeds"));
    println!("{bug:?}: seed {seed}: {wrong}");
}

#[test]
fn an_acknowledgement_before_the_disk_is_found() {
    assert_found(Planted::AckBeforeDisk);
}

#[test]
fn an_outbox_forgotten_at_a_crash_is_found() {
    assert_found(Planted::ForgetAtCrash);
}

#[test]
fn a_rest_that_is_dropped_instead_of_sent_on_is_found() {
    assert_found(Planted::DropRest);
}

#[test]
fn a_returned_link_that_goes_with_an_acknowledgement_is_found() {
    assert_found(Planted::AckTakesReturned);
}
