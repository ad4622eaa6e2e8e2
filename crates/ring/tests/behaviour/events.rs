//! What is told to those who live on the ring: in which order, and that its sum is what is so.

use crate::circle::{Circle, config, contact};
use herodotus_base::Id;
use herodotus_ring::Event;
use std::time::Duration;

/// First, second, third: as the events of one input must follow each other.
fn rank(event: &Event) -> Option<u8> {
    match event {
        Event::Joined { .. } => Some(0),
        Event::PeerDead { .. } => Some(1),
        Event::RangeLost { .. } | Event::RangeGained { .. } => Some(2),
        Event::NeighboursChanged { .. } => Some(3),
        Event::HandOver { .. } | Event::Left | Event::LookupDone { .. } => None,
    }
}

/// The arc that follows from what was told: where it begins, if anywhere.
fn sum(me: Id, events: &[Vec<Event>]) -> Option<Id> {
    let mut floor = None;
    for event in events.iter().flatten() {
        match event {
            Event::Joined { arc } => {
                assert_eq!((floor, arc.1), (None, me), "joined once");
                floor = Some(arc.0);
            }
            Event::RangeGained { from, to } => {
                assert_eq!(floor, Some(*to), "what is gained lies before what is ours");
                floor = Some(*from);
            }
            Event::RangeLost { from, to } => {
                assert_eq!(floor, Some(*from), "what is lost was ours");
                assert!(*to == me || to.is_between(*from, me) || *from == me, "from {from:?} to {to:?} of {me:?}");
                floor = Some(*to);
            }
            _ => {}
        }
    }
    floor
}

fn check(circle: &Circle) {
    for (id, ring) in &circle.nodes {
        let events = &circle.events[id];
        assert_eq!(sum(*id, events), Some(ring.arc().0), "of {id:?}");
        for told in events {
            assert!(told.iter().filter_map(rank).is_sorted(), "{told:?}");
        }
        if !ring.is_member() {
            // All its successors died: it is joining anew, and tells when it has.
            continue;
        }
        let last = events.iter().flatten().rev().find_map(|event| match event {
            Event::NeighboursChanged { predecessor, successors } => Some((predecessor.clone(), successors.clone())),
            _ => None,
        });
        let neighbours = ring.core().neighbours();
        assert_eq!(last, Some((neighbours.predecessor, neighbours.successors)));
    }
}

#[test]
fn who_begins_a_ring_is_told_that_all_of_it_is_its_own() {
    let circle = Circle::of(&[10], &config());
    let first = circle.events[&Id::small(10)][0].clone();
    let arc = (Id::small(10), Id::small(10));
    assert_eq!(first, [Event::Joined { arc }, Event::NeighboursChanged { predecessor: None, successors: Vec::new() }]);
    check(&circle);
}

#[test]
fn what_one_gains_another_loses_when_one_joins() {
    let mut circle = Circle::of(&[10, 130], &config());
    circle.enter(contact(70), contact(10), config());
    assert!(circle.run_until(Duration::from_secs(10), Circle::is_ideal));
    let told = |place: u8| circle.events[&Id::small(place)].iter().flatten().cloned().collect::<Vec<_>>();
    assert_eq!(told(70)[0], Event::Joined { arc: (Id::small(10), Id::small(70)) });
    assert!(told(130).contains(&Event::RangeLost { from: Id::small(10), to: Id::small(70) }));
    check(&circle);
}

#[test]
fn the_sum_of_what_was_told_is_what_is_so_through_joins_deaths_and_splits() {
    let places = [10, 50, 90, 130, 170, 210, 240];
    let mut circle = Circle::of(&places, &config());
    check(&circle);
    for place in [90, 130] {
        circle.kill(place);
        for _ in 0..40 {
            circle.run_for(Duration::from_secs(1));
            check(&circle);
        }
    }
    circle.enter(contact(110), contact(10), config());
    circle.run_for(Duration::from_secs(20));
    check(&circle);
    let side = |id: Id| id.0[0] < 120;
    circle.network = Box::new(move |to, envelope| (side(to.id) == side(envelope.from.id)).then_some(envelope));
    for _ in 0..60 {
        circle.run_for(Duration::from_secs(1));
        check(&circle);
    }
    circle.network = Box::new(|_, envelope| Some(envelope));
    assert!(circle.run_until(Duration::from_secs(180), Circle::is_ideal));
    check(&circle);
}

#[test]
fn nothing_is_told_when_nothing_changes() {
    let mut circle = Circle::of(&[10, 50, 90, 130, 170], &config());
    let count = |circle: &Circle| circle.events.values().flatten().flatten().count();
    let before = count(&circle);
    circle.run_for(Duration::from_secs(300));
    assert_eq!(count(&circle), before);
}
