//! Arithmetic on the circle beside a simple reference: whole places as two halves of 128 bits, and small ones as bytes walked one by one.

use herodotus_base::{Distance, Id};
use proptest::prelude::*;

fn halves(id: Id) -> (u128, u128) {
    let half = |from: usize| u128::from_be_bytes(std::array::from_fn(|at| id.0[from + at]));
    (half(0), half(16))
}

fn of_halves((high, low): (u128, u128)) -> Id {
    let (high, low) = (high.to_be_bytes(), low.to_be_bytes());
    Id(std::array::from_fn(|at| if at < 16 { high[at] } else { low[at - 16] }))
}

fn add(a: (u128, u128), b: (u128, u128)) -> (u128, u128) {
    let (low, carry) = a.1.overflowing_add(b.1);
    (a.0.wrapping_add(b.0).wrapping_add(u128::from(carry)), low)
}

/// A distance as the place that lies so far from zero.
fn place(distance: Distance) -> Id {
    let bits = (0..=u8::MAX).filter(|bit| Id::ZERO.distance_to(Id::ZERO.plus_power(*bit)) <= distance);
    // Greedy from the highest: what a number is made of.
    bits.rev().fold(Id::ZERO, |sum, bit| {
        let more = sum.plus_power(bit);
        let fits = more > sum && Id::ZERO.distance_to(more) <= distance;
        if fits { more } else { sum }
    })
}

/// The places that one meets going clockwise from one to another, the second included and the first not.
fn walk(from: u8, to: u8) -> impl Iterator<Item = u8> {
    let steps = match to.wrapping_sub(from) {
        0 => 256,
        steps => u16::from(steps),
    };
    (1..=steps).map(move |step| from.wrapping_add(step.to_le_bytes()[0]))
}

fn any_id() -> impl Strategy<Value = Id> {
    // Runs of equal bytes, so that borrows and carries run far.
    let byte = prop_oneof![Just(0u8), Just(255), any::<u8>()];
    proptest::collection::vec(byte, 32).prop_map(|bytes| Id(std::array::from_fn(|at| bytes[at])))
}

proptest! {
    #[test]
    fn going_the_distance_ends_where_it_was_measured_to(from in any_id(), to in any_id()) {
        let way = halves(place(from.distance_to(to)));
        prop_assert_eq!(of_halves(add(halves(from), way)), to);
    }

    #[test]
    fn a_power_of_two_is_added(from in any_id(), bit in any::<u8>()) {
        let power = if bit < 128 { (0, 1 << bit) } else { (1 << (bit - 128), 0) };
        prop_assert_eq!(from.plus_power(bit), of_halves(add(halves(from), power)));
    }

    #[test]
    fn distances_sort_as_numbers(from in any_id(), a in any_id(), b in any_id()) {
        let (to_a, to_b) = (from.distance_to(a), from.distance_to(b));
        prop_assert_eq!(to_a.cmp(&to_b), halves(place(to_a)).cmp(&halves(place(to_b))));
        prop_assert_eq!(to_a == to_b, a == b);
    }

    #[test]
    fn small_places_lie_where_one_meets_them_walking(at in any::<u8>(), from in any::<u8>(), to in any::<u8>()) {
        let [here, first, last] = [at, from, to].map(Id::small);
        prop_assert_eq!(here.is_in(first, last), walk(from, to).any(|place| place == at));
        let is_strictly = walk(from, to).any(|place| place == at) && at != to;
        prop_assert_eq!(here.is_between(first, last), is_strictly);
        prop_assert_eq!(first.distance_to(last), Id::ZERO.distance_to(Id::small(to.wrapping_sub(from))));
    }

    #[test]
    fn every_place_is_on_one_side_of_two_others(at in any_id(), a in any_id(), b in any_id()) {
        prop_assume!(a != b);
        prop_assert!(at.is_in(a, b) ^ at.is_in(b, a));
        prop_assert!(at == a || at == b || (at.is_between(a, b) ^ at.is_between(b, a)));
    }

    #[test]
    fn the_logarithm_is_the_highest_bit(from in any_id(), to in any_id()) {
        let (high, low) = halves(place(from.distance_to(to)));
        let bit = if high > 0 { Some(high.ilog2() + 128) } else { low.checked_ilog2() };
        prop_assert_eq!(from.distance_to(to).log2().map(u32::from), bit);
    }
}
