//! The very [`Core`](herodotus_ring::Core) and [`Lookup`](herodotus_ring::Lookup) of the crate under a model checker: a list depth of two, five places, joins,
//! failures, messages late and lost. What is assumed is said in `world`, what must be so in `properties`.
//!
//! Two worlds. In the *small* one the ring grows from one node through r + 1 members and shrinks again, with at most r − 1 failures between two
//! quiet ideal states. In the *large* one failures are as many as leave r + 1 members that no list skips, which is Zave's own
//! assumption. What is in flight at once is bounded (`in_flight_max`); more is lost. The tests below say whether they explore everything or to which depth.
//!
//! Every planted bug must be found by the property that its test names; without one nothing may be found.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod mend;
mod properties;
mod world;

use herodotus_ring::Planted;
use properties::{LIVE_SUCCESSOR, MENDS, ONE_RING};
use stateright::{Checker, HasDiscoveries, Model};
use std::collections::BTreeSet;
use std::time::Instant;
use world::World;

/// Cores of the machines this runs on.
const THREADS: usize = 2;

/// Looks at everything up to a depth, prints how much that was, and gives the names of what does not hold.
fn explore(world: World, depth_max: Option<usize>) -> BTreeSet<&'static str> {
    let began = Instant::now();
    let checker = world.checker().threads(THREADS).finish_when(HasDiscoveries::AnyFailures);
    let checker = match depth_max {
        Some(depth) => checker.target_max_depth(depth),
        None => checker,
    };
    let checker = checker.spawn_bfs().join();
    let (states, depth) = (checker.unique_state_count(), checker.max_depth());
    let rings = checker.model().mended.lock().unwrap().len();
    println!("{states} states, {rings} of them different in the nodes, depth {depth}, in {:.1?}", began.elapsed());
    let found = checker.discoveries();
    for (name, path) in &found {
        println!("does not hold: {name}, after {:#?}", path.clone().into_actions());
        println!("then {:#?}", path.last_state());
    }
    found.into_keys().collect()
}

fn holds(world: World, depth_max: Option<usize>) {
    assert_eq!(explore(world, depth_max), BTreeSet::new());
}

fn is_found(planted: Planted, world: World, by: &'static str) {
    let found = explore(World { planted, ..world }, None);
    assert!(found.contains(by), "{planted:?} was found by {found:?}");
}

/// Failures as Zave assumes them.
fn large(members: usize) -> World {
    World { failures_max: u8::MAX, may_shrink: false, ..World::of(members) }
}

#[test]
fn a_ring_that_grows_from_one_node_to_four_and_shrinks_stays_one() {
    // Everything there is with two messages in flight: 1.6 million states.
    holds(World { places: 4, in_flight_max: 2, ..World::of(1) }, None);
}

#[test]
fn a_ring_that_grows_from_one_node_to_five_stays_one() {
    holds(World::of(1), Some(12));
}

#[test]
fn a_ring_of_three_that_grows_past_its_lists_stays_one() {
    // Everything: from full membership into lists and back.
    holds(World { places: 4, ..World::of(3) }, None);
}

#[test]
fn a_ring_of_four_that_one_joins_stays_one() {
    holds(World { in_flight_max: 2, ..World::of(4) }, None);
}

#[test]
fn a_large_ring_that_shrinks_to_its_least_size_stays_one() {
    holds(World { in_flight_max: 2, ..large(5) }, None);
}

#[test]
fn a_large_ring_that_one_joins_while_others_fail_stays_one() {
    holds(large(4), Some(12));
}

#[test]
#[ignore = "minutes"]
fn longer_a_ring_that_grows_from_one_node_to_four_with_three_messages_in_flight_stays_one() {
    holds(World { places: 4, ..World::of(1) }, None);
}

#[test]
#[ignore = "minutes"]
fn longer_a_ring_that_grows_from_one_node_to_five_stays_one() {
    holds(World::of(1), Some(15));
}

#[test]
#[ignore = "minutes"]
fn longer_a_large_ring_that_one_joins_while_others_fail_stays_one() {
    holds(large(4), None);
}

/// Nobody dies, but the living are taken for dead so many times.
fn mistaken(members: usize, mistakes_max: u8, remembers: bool) -> World {
    World { failures_max: 0, mistakes_max, remembers, in_flight_max: 2, ..World::of(members) }
}

#[test]
fn who_is_called_dead_by_mistake_is_taken_in_again_without_anyone_remembering_it() {
    holds(mistaken(4, 1, false), None);
    holds(mistaken(5, 2, false), None);
}

#[test]
fn two_that_call_each_other_dead_stay_apart_without_memory() {
    let found = explore(World { places: 2, ..mistaken(2, 2, false) }, None);
    assert_eq!(found, BTreeSet::from([MENDS]));
}

#[test]
fn remembered_peers_bring_all_together_after_mistakes() {
    holds(World { places: 2, ..mistaken(2, 4, true) }, None);
    holds(World { places: 3, ..mistaken(3, 3, true) }, None);
    holds(mistaken(5, 2, true), None);
}

#[test]
fn a_small_ring_treated_as_a_large_one_is_found() {
    is_found(Planted::SmallAsLarge, World::of(2), MENDS);
}

#[test]
fn a_newcomer_without_a_list_is_found() {
    is_found(Planted::JoinWithoutList, large(4), LIVE_SUCCESSOR);
    is_found(Planted::JoinWithoutList, World::of(3), ONE_RING);
}

#[test]
fn a_successor_adopted_unasked_is_found() {
    is_found(Planted::AdoptUnasked, large(4), LIVE_SUCCESSOR);
}

#[test]
fn a_dead_head_that_stays_is_found() {
    is_found(Planted::KeepDeadHead, large(4), MENDS);
}

#[test]
fn a_dead_predecessor_that_stays_is_found() {
    is_found(Planted::KeepDeadPredecessor, large(4), MENDS);
}

#[test]
fn a_list_that_is_not_taken_over_is_found() {
    is_found(Planted::ListNotTaken, large(4), MENDS);
}
