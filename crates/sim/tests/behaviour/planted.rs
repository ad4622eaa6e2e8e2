//! Each bug that is planted into the ring is found by the simulator within a few seeds, and nothing is found without one.

#![allow(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use herodotus_ring::Planted;
use herodotus_sim::ring::{Drizzle, Storm};

/// Seeds within which a planted bug must show.
const SEEDS_MAX: u64 = 20;

/// The first seed that shows something wrong, and what.
fn find(bug: Planted) -> Option<(u64, String)> {
    let drizzles = (0..SEEDS_MAX).map(|seed| (seed, Drizzle::new(seed).plant(bug).run()));
    let storms = (0..SEEDS_MAX).map(|seed| (seed, Storm::new(seed).plant(bug).run().wrong));
    drizzles.chain(storms).find_map(|(seed, wrong)| Some((seed, wrong.into_iter().next()?)))
}

fn assert_found(bug: Planted) {
    let (seed, wrong) = find(bug).unwrap_or_else(|| panic!("{bug:?} was not found within {SEEDS_MAX} seeds"));
    println!("{bug:?}: seed {seed}: {wrong}");
}

#[test]
fn without_a_planted_bug_one_death_at_a_time_does_no_harm() {
    for seed in 0..60 {
        assert_eq!(Drizzle::new(seed).run(), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn a_small_ring_that_is_treated_as_a_large_one_is_found() {
    assert_found(Planted::SmallAsLarge);
}

#[test]
fn a_newcomer_that_takes_no_list_is_found() {
    assert_found(Planted::JoinWithoutList);
}

#[test]
fn a_successor_adopted_on_hearsay_is_found() {
    assert_found(Planted::AdoptUnasked);
}

#[test]
fn a_dead_successor_that_stays_is_found() {
    assert_found(Planted::KeepDeadHead);
}

#[test]
fn a_dead_predecessor_that_stays_is_found() {
    assert_found(Planted::KeepDeadPredecessor);
}

#[test]
fn a_list_that_is_not_taken_over_is_found() {
    assert_found(Planted::ListNotTaken);
}
