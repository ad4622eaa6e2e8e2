//! Joining, leaving, dying, coming back, and being split.

use crate::circle::{Circle, config, contact};
use herodotus_base::Id;
use herodotus_ring::{Body, Event, Notice, Standing};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_second_joins_the_first_and_both_know_it() {
    let mut circle = Circle::new();
    circle.enter(contact(10), contact(10), config());
    assert!(circle.is_ideal());
    circle.enter(contact(90), contact(10), config());
    assert!(circle.run_until(SECOND, Circle::is_ideal));
    assert_eq!(circle.node(10).arc(), (Id::small(90), Id::small(10)));
    assert_eq!(circle.node(90).arc(), (Id::small(10), Id::small(90)));
}

#[test]
fn a_ring_passes_from_full_membership_to_lists_without_losing_anyone() {
    let mut circle = Circle::new();
    for place in [10, 200, 90, 150, 50, 120, 30] {
        circle.enter(contact(place), contact(10), config());
        assert!(circle.run_until(SECOND * 20, Circle::is_ideal), "with {place}");
    }
    assert!(!circle.node(10).core().is_whole());
    for place in [200, 90, 150] {
        circle.kill(place);
        assert!(circle.run_until(SECOND * 60, Circle::is_ideal), "without {place}");
    }
    assert!(circle.run_until(SECOND * 20, |circle| circle.nodes.values().all(|ring| ring.core().is_whole())));
    assert!(circle.is_ideal());
}

#[test]
fn many_may_join_at_once() {
    let mut circle = Circle::new();
    for place in [10, 200, 90, 150, 50, 120, 30, 240, 180] {
        circle.enter(contact(place), contact(10), config());
    }
    assert!(circle.run_until(SECOND * 40, Circle::is_ideal));
}

#[test]
fn a_newcomer_whose_notices_are_lost_is_found_all_the_same() {
    let mut circle = Circle::of(&[10, 50, 90, 130, 170, 210], &config());
    let mut lost = 0;
    circle.network = Box::new(move |_, envelope| {
        let is_notice = envelope.from.id == Id::small(70) && matches!(envelope.body, Body::Tell(Notice::Here));
        lost += u32::from(is_notice);
        (!is_notice || lost > 3).then_some(envelope)
    });
    circle.enter(contact(70), contact(10), config());
    assert!(circle.run_until(SECOND * 40, Circle::is_ideal));
}

#[test]
fn the_gap_of_one_that_died_is_closed() {
    let mut circle = Circle::of(&[10, 50, 90, 130, 170, 210], &config());
    circle.kill(90);
    assert!(circle.run_until(SECOND * 60, Circle::is_ideal));
    let told: Vec<_> = circle.events[&Id::small(130)].iter().flatten().collect();
    assert!(told.iter().any(|event| matches!(event, Event::PeerDead { contact } if contact.id == Id::small(90))));
    assert!(told.contains(&&Event::RangeGained { from: Id::small(50), to: Id::small(90) }));
}

#[test]
fn one_that_starts_again_with_the_same_place_is_taken_in_again() {
    let mut circle = Circle::of(&[10, 50, 90, 130, 170, 210], &config());
    // At once, before anyone noticed; and after everyone did.
    for pause in [Duration::ZERO, SECOND * 60] {
        circle.kill(90);
        circle.run_for(pause);
        circle.enter(contact(90), contact(210), config());
        assert!(circle.run_until(SECOND * 60, Circle::is_ideal));
        assert_eq!(circle.look_up(170, Id::small(80)).unwrap().owner.id, Id::small(90));
    }
}

#[test]
fn who_leaves_hands_over_first_and_its_neighbours_close_the_gap_at_once() {
    let mut circle = Circle::of(&[10, 50, 90, 130, 170, 210], &config());
    let leaver = Id::small(90);
    circle.with(leaver, |ring, now| ring.leave(now));
    let told = circle.events[&leaver].last().unwrap().clone();
    let [Event::HandOver { to, arc }] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(to.iter().map(|contact| contact.id).collect::<Vec<_>>(), [130, 170].map(Id::small));
    assert_eq!(*arc, (Id::small(50), leaver));
    // Until it has handed over, what it holds is still found with it.
    assert_eq!(circle.look_up(210, Id::small(80)).unwrap().owner.id, leaver);
    circle.with(leaver, |ring, now| ring.handed_over(now));
    assert!(circle.run_until(SECOND, |circle| *circle.nodes[&leaver].standing() == Standing::Left));
    assert_eq!(circle.events[&leaver].iter().flatten().last(), Some(&Event::Left));
    circle.nodes.remove(&leaver);
    // Both sides have it from the one that left, without any silence.
    assert_eq!(circle.node(130).arc().0, Id::small(50));
    assert_eq!(circle.node(50).core().head().unwrap().id, Id::small(130));
    assert!(circle.run_until(SECOND * 20, Circle::is_ideal));
    let dead = circle.events.values().flatten().flatten().filter(|event| matches!(event, Event::PeerDead { .. }));
    assert_eq!(dead.count(), 0);
}

#[test]
fn the_last_of_a_ring_leaves_without_anyone_to_hand_over_to() {
    let mut circle = Circle::of(&[10], &config());
    circle.with(Id::small(10), |ring, now| ring.leave(now));
    assert_eq!(circle.events[&Id::small(10)].last().unwrap(), &[Event::Left]);
}

#[test]
fn two_halves_of_a_split_ring_become_one_again() {
    let places = [10, 70, 130, 190];
    let mut circle = Circle::of(&places, &config());
    assert!(circle.is_ideal());
    let side = |id: Id| id == Id::small(10) || id == Id::small(130);
    circle.network = Box::new(move |to, envelope| (side(to.id) == side(envelope.from.id)).then_some(envelope));
    // Each side goes on by itself.
    let is_split = |circle: &Circle| {
        let others =
            |place: u8| circle.node(place).core().successors().iter().map(|contact| contact.id).collect::<Vec<_>>();
        others(10) == [Id::small(130)] && others(130) == [Id::small(10)] && others(70) == [Id::small(190)]
    };
    assert!(circle.run_until(SECOND * 120, is_split));
    assert_eq!(circle.look_up(10, Id::small(60)).unwrap().owner.id, Id::small(130));
    assert_eq!(circle.look_up(190, Id::small(60)).unwrap().owner.id, Id::small(70));
    circle.network = Box::new(|_, envelope| Some(envelope));
    assert!(circle.run_until(SECOND * 120, Circle::is_ideal));
    assert_eq!(circle.look_up(10, Id::small(60)).unwrap().owner.id, Id::small(70));
}

#[test]
fn whose_whole_list_died_comes_back_by_way_of_remembered_peers() {
    let mut circle = Circle::of(&[10, 50, 90, 130, 170, 210, 240], &config());
    for place in [50, 90, 130] {
        circle.kill(place);
    }
    assert!(circle.run_until(SECOND * 180, Circle::is_ideal));
}
