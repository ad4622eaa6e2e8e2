//! Lookups: how far they go, whom they pass over, and whom they believe.

use crate::circle::{Circle, config, contact};
use herodotus_base::Id;
use herodotus_ring::{Contact, Found, Lookup, LookupFailure, Neighbours};
use std::time::Duration;

const PLACES: [u8; 12] = [5, 25, 45, 65, 85, 105, 125, 145, 165, 185, 205, 225];

/// What a node of a ring answers that knows only its neighbours.
fn told(before: u8, after: &[u8]) -> Found {
    let successors = after.iter().map(|place| contact(*place)).collect();
    let neighbours = Neighbours { predecessor: Some(contact(before)), successors, is_whole: false };
    Found { neighbours, nearer: Vec::new() }
}

fn begin(key: u8, known: &[u8]) -> Lookup {
    let mut lookup = Lookup::new(Id::small(key), None, 3, 96);
    known.iter().for_each(|place| lookup.begin_with(&contact(*place), false));
    lookup
}

fn next(lookup: &mut Lookup) -> Option<Id> {
    lookup.next_to_ask().map(|contact| contact.id)
}

fn owner(lookup: &Lookup) -> Option<Id> {
    lookup.verdict().map(|verdict| verdict.owner.id)
}

#[test]
fn every_key_is_found_with_its_owner_from_everywhere() {
    let mut circle = Circle::of(&PLACES, &config());
    assert!(circle.is_ideal());
    for (rank, from) in PLACES.into_iter().enumerate() {
        let before = PLACES[(rank + 6) % 12];
        for key in [Id::small(before), Id::small(before - 1), Id::small(before).plus_power(0)] {
            let owner = PLACES.into_iter().min_by_key(|place| key.distance_to(Id::small(*place))).unwrap();
            assert_eq!(circle.look_up(from, key).unwrap().owner.id, Id::small(owner));
        }
    }
}

#[test]
fn with_remembered_peers_a_quiet_lookup_is_one_hop() {
    let mut circle = Circle::of(&PLACES, &config());
    circle.run_for(Duration::from_secs(600));
    for key in [15, 75, 135, 215, 250] {
        let verdict = circle.look_up(5, Id::small(key)).unwrap();
        assert!(verdict.hops <= 1, "{} hops to {key}", verdict.hops);
    }
}

#[test]
fn right_after_an_owner_died_the_next_is_found() {
    let mut circle = Circle::of(&PLACES, &config());
    circle.kill(105);
    circle.kill(125);
    assert_eq!(circle.look_up(5, Id::small(100)).unwrap().owner.id, Id::small(145));
    assert_eq!(circle.look_up(205, Id::small(110)).unwrap().owner.id, Id::small(145));
}

#[test]
fn who_is_outside_is_told_so() {
    let mut circle = Circle::new();
    circle.enter(contact(10), contact(20), config());
    let outcome = circle.look_up(10, Id::small(1));
    assert_eq!(outcome, Err(LookupFailure::Outside));
}

#[test]
fn more_lookups_than_allowed_are_refused_at_once() {
    let mut circle = Circle::of(&[10, 200], &herodotus_ring::Config { lookups_max: 2, ..config() });
    circle.network = Box::new(|_, _| None);
    let from = Id::small(10);
    for _ in 0..2 {
        circle.with(from, |ring, now| ring.lookup(now, Id::small(100)));
    }
    assert_eq!(circle.look_up(10, Id::small(101)), Err(LookupFailure::Busy));
    assert_eq!(circle.node(10).load().lookups, 2);
}

#[test]
fn a_lookup_that_nobody_answers_ends() {
    let mut circle = Circle::of(&[10, 80, 200], &config());
    circle.network = Box::new(|_, _| None);
    // Either in vain, or because all others were given up by then and everything is ours.
    match circle.look_up(10, Id::small(100)) {
        Err(failure) => assert_eq!(failure, LookupFailure::TimedOut),
        Ok(verdict) => assert_eq!(verdict.owner.id, Id::small(10)),
    }
}

#[test]
fn an_owner_is_believed_when_its_neighbour_names_it() {
    let mut lookup = begin(50, &[40]);
    assert_eq!(next(&mut lookup), Some(Id::small(40)));
    lookup.hear(Id::small(40), told(30, &[60, 70]), None);
    assert_eq!(owner(&lookup), None);
    assert_eq!(next(&mut lookup), Some(Id::small(60)));
    lookup.hear(Id::small(60), told(40, &[70, 80]), None);
    assert_eq!(owner(&lookup), Some(Id::small(60)));
    assert_eq!(lookup.verdict().unwrap().before, contact(40));
}

#[test]
fn one_that_only_itself_calls_the_owner_is_not_believed() {
    // A stranger between, that claims the place and names the true neighbours, is asked first.
    let mut lookup = begin(50, &[55]);
    let mut asked = Vec::new();
    while let Some(next) = lookup.next_to_ask() {
        asked.push(next.id.0[0]);
        match next.id.0[0] {
            55 => lookup.hear(next.id, told(40, &[60, 70]), None),
            40 => lookup.hear(next.id, told(30, &[60, 70]), None),
            60 => lookup.hear(next.id, told(40, &[70, 80]), None),
            70 => lookup.hear(next.id, told(60, &[80, 90]), None),
            _ => lookup.fail(next.id),
        }
    }
    assert!(asked.starts_with(&[55]) && asked.contains(&40) && asked.contains(&60), "{asked:?}");
    assert_eq!(owner(&lookup), None);
}

#[test]
fn a_liar_that_names_itself_for_everything_answers_only_for_itself() {
    let mut circle = Circle::of(&PLACES, &config());
    let liar = Id::small(165);
    circle.network = Box::new(move |_, mut envelope| {
        use herodotus_ring::{Answer, Body};
        if envelope.from.id == liar
            && let Body::Answer(Answer::Found(found)) = &mut envelope.body
        {
            let neighbours = Neighbours { predecessor: None, successors: Vec::new(), is_whole: true };
            *found = Found { neighbours, nearer: Vec::new() };
        }
        Some(envelope)
    });
    for key in [15, 75, 135, 215, 250] {
        let owner = PLACES.into_iter().min_by_key(|place| Id::small(key).distance_to(Id::small(*place))).unwrap();
        assert_eq!(circle.look_up(5, Id::small(key)).unwrap().owner.id, Id::small(owner));
    }
}

#[test]
fn a_liar_that_names_thousands_fills_only_its_own_answer() {
    let mut lookup = begin(50, &[40]);
    let mut asked = 0;
    while let Some(next) = lookup.next_to_ask() {
        asked += 1;
        let strangers = (0..5000u16).map(|n| {
            let mut id = Id::small(49);
            id.0[1..3].copy_from_slice(&(n ^ (asked << 4)).to_be_bytes());
            Contact { id, ..contact(49) }
        });
        let found = Found { neighbours: Neighbours::default(), nearer: strangers.collect() };
        lookup.hear(next.id, found, None);
    }
    assert!(asked <= 96, "{asked} nodes were asked");
    assert_eq!(owner(&lookup), None);
    assert!(lookup.is_spent());
}

#[test]
fn two_virtual_nodes_of_one_machine_are_not_two_replicas() {
    let twin = Contact { key: contact(60).key, index: 1, ..contact(70) };
    let mut lookup = begin(50, &[40]);
    lookup.next_to_ask();
    let mut found = told(30, &[60]);
    found.neighbours.successors.push(twin.clone());
    lookup.hear(Id::small(40), found, None);
    lookup.next_to_ask();
    let mut found = told(40, &[]);
    found.neighbours.successors.extend([twin, contact(80), contact(90)]);
    lookup.hear(Id::small(60), found, None);
    let replicas = lookup.verdict().unwrap().replicas(3);
    assert_eq!(replicas, [60, 80, 90].map(contact));
}

#[test]
fn with_one_question_at_a_time_the_way_comes_before_those_behind_the_place() {
    let mut lookup = Lookup::new(Id::small(50), None, 1, 96);
    lookup.begin_with(&contact(10), false);
    assert_eq!(next(&mut lookup), Some(Id::small(10)));
    // Each on the way names one behind the place that is nearer than the last: only the last of them is worth a question.
    for (at, (way, behind)) in [(20, 90), (30, 80), (40, 60)].into_iter().enumerate() {
        let from = [10, 20, 30][at];
        let nearer = vec![contact(way), contact(behind)];
        lookup.hear(Id::small(from), Found { nearer, ..told(from - 5, &[from + 5]) }, None);
        assert_eq!(next(&mut lookup), Some(Id::small(way)));
    }
    lookup.hear(Id::small(40), told(30, &[60, 70]), None);
    assert_eq!(next(&mut lookup), Some(Id::small(60)));
    lookup.hear(Id::small(60), told(40, &[70, 80]), None);
    assert_eq!(lookup.verdict().map(|verdict| (verdict.owner.id, verdict.asked)), Some((Id::small(60), 5)));
}

#[test]
fn one_whose_suggestions_are_all_silent_is_asked_for_its_whole_list() {
    let mut lookup = begin(50, &[10]);
    let mut lists = Vec::new();
    while let Some(next) = lookup.next_to_ask() {
        let is_list = lookup.place_to_ask(next.id) != lookup.key();
        lists.extend(is_list.then_some(next.id.0[0]));
        match next.id.0[0] {
            10 if is_list => lookup.hear(next.id, told(5, &[20, 30]), None),
            10 => lookup.hear(next.id, Found { nearer: vec![contact(40)], ..told(5, &[20]) }, None),
            30 => lookup.hear(next.id, told(20, &[60, 70]), None),
            60 => lookup.hear(next.id, told(30, &[70, 80]), None),
            _ => lookup.fail(next.id),
        }
    }
    assert_eq!((lists, owner(&lookup)), (vec![10], Some(Id::small(60))));
}

/// A lookup between one whose whole list is dead and one that names that node before it.
fn beside_a_gap(before_owner: u8) -> Lookup {
    let mut lookup = begin(50, &[40]);
    lookup.begin_with(&contact(70), true);
    while let Some(next) = lookup.next_to_ask() {
        match next.id.0[0] {
            40 => lookup.hear(next.id, told(30, &[55, 60]), None),
            70 => lookup.hear(next.id, told(before_owner, &[80, 90]), None),
            _ => lookup.fail(next.id),
        }
    }
    lookup
}

#[test]
fn where_a_whole_list_died_the_owner_is_believed_only_if_it_names_the_last_of_it() {
    assert_eq!(owner(&beside_a_gap(60)), Some(Id::small(70)));
    // There may be others between 60 and 65, of whom nobody told.
    let lookup = beside_a_gap(65);
    assert!(owner(&lookup).is_none() && lookup.is_spent());
    // Good enough to be asked for a place beside them.
    let nearest = lookup.nearest().unwrap();
    assert_eq!((nearest.before, nearest.owner), (contact(40), contact(70)));
}
