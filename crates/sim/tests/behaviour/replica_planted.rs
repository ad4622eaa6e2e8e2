//! Each bug that is planted into the custodians is found by the simulator within a few storms; that nothing is found without one is what `replica.rs` shows.

#![allow(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use herodotus_replica::custody::Planted;
use herodotus_sim::replica::Storm;

/// Storms within which a planted bug must show.
const SEEDS_MAX: u64 = 5;

fn assert_found(bug: Planted, sentence: &str) {
    let storms = (0..SEEDS_MAX).map(|seed| (seed, Storm::new(seed).plant(bug).run().wrong));
    let found = storms
        .into_iter()
        .find_map(|(seed, wrong)| Some((seed, wrong.into_iter().find(|text| text.contains(sentence))?)));
    let (seed, wrong) = found.unwrap_or_else(|| panic!("{bug:?} was not found within {SEEDS_MAX} storms"));
    println!("{bug:?}: storm {seed}: {wrong}");
}

#[test]
fn letting_go_before_anybody_has_confirmed_is_found() {
    assert_found(Planted::DeleteBeforeConfirm, "was let go by machine");
}

#[test]
fn counting_machines_that_are_on_probation_or_were_not_filled_is_found() {
    assert_found(Planted::CountProbationers, "and is on probation");
    assert_found(Planted::CountProbationers, "and was not filled");
}

#[test]
fn forgetting_at_a_crash_what_was_not_pushed_is_found() {
    assert_found(Planted::ForgetPushOnCrash, "and was not filled");
}

#[test]
fn keeping_bytes_that_were_not_looked_at_is_found() {
    assert_found(Planted::AcceptUnverified, "wrong bytes were kept");
}

#[test]
fn believing_every_owner_is_found() {
    assert_found(Planted::TrustOwners, "beside the liars");
}
