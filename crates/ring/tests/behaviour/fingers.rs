//! Fingers: what keeping them costs, and that they follow when others come and go.

use crate::circle::{Circle, config, contact};
use herodotus_base::Id;
use herodotus_ring::{Answer, Body, Config, Question};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const PLACES: [u8; 12] = [5, 25, 45, 65, 85, 105, 125, 145, 165, 185, 205, 225];
/// Long enough for every finger to have its turn several times.
const TURNS: Duration = Duration::from_secs(300);

/// Nobody looks for other rings, once the first moments are over: only fingers are looked up.
fn quiet() -> Config {
    Config { probe_every: Duration::from_secs(1_000_000), ..config() }
}

fn has_finger(circle: &Circle, from: u8, place: u8) -> bool {
    circle.node(from).status().fingers.contains(&contact(place))
}

#[test]
fn a_finger_that_is_one_still_is_neither_looked_up_again_nor_told_anew() {
    let mut circle = Circle::of(&PLACES, &quiet());
    circle.run_for(TURNS);
    let (asked, long) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let counts = (asked.clone(), long.clone());
    circle.network = Box::new(move |_, envelope| {
        match &envelope.body {
            Body::Ask(Question::Neighbours { .. }) => counts.0.set(counts.0.get() + 1),
            Body::Ask(Question::Find { .. }) | Body::Answer(Answer::Neighbours(_)) => counts.1.set(counts.1.get() + 1),
            _ => {}
        }
        Some(envelope)
    });
    circle.run_for(TURNS);
    assert!(has_finger(&circle, 5, 145) && has_finger(&circle, 145, 25));
    assert_eq!(long.get(), 0);
    // The successor every two seconds, and a finger every ten.
    let of_successors = PLACES.len() * 150;
    assert!(asked.get() > of_successors + PLACES.len() * 25, "{}", asked.get());
}

#[test]
fn a_finger_gives_way_to_a_newcomer_before_it_and_to_the_next_when_it_dies() {
    let mut circle = Circle::of(&PLACES, &quiet());
    circle.run_for(TURNS);
    assert!(has_finger(&circle, 5, 145));
    circle.enter(contact(140), contact(25), quiet());
    assert!(circle.run_until(TURNS, |circle| has_finger(circle, 5, 140) && !has_finger(circle, 5, 145)));
    circle.kill(140);
    assert!(circle.run_until(TURNS, |circle| has_finger(circle, 5, 145) && !has_finger(circle, 5, 140)));
    assert_eq!(circle.look_up(5, Id::small(135)).unwrap().owner.id, Id::small(145));
}
