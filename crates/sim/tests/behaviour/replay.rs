//! Seeds that once failed are run again, and a run follows from its seed alone.

#![allow(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use herodotus_sim::ring::{Options, Storm, run};

/// One seed a line, and what it found.
const KEPT: &str = include_str!("../../seeds.txt");

#[test]
fn seeds_that_once_failed_hold_now() {
    for line in KEPT.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (seed, sentence) = line.split_once(' ').unwrap();
        let end = Storm::new(seed.parse().unwrap()).run();
        assert!(end.wrong.is_empty(), "seed {seed} ({sentence}): {:?}", end.wrong);
    }
}

#[test]
fn the_same_seed_gives_the_same_storm_and_another_gives_another() {
    let (one, same, other) = (Storm::new(3).run(), Storm::new(3).run(), Storm::new(4).run());
    assert_eq!((one.trace, one.messages, &one.stormy), (same.trace, same.messages, &same.stormy));
    assert_ne!(one.trace, other.trace);
}

#[test]
fn figures_are_the_same_for_the_same_seed() {
    let options = Options { nodes: 60, minutes: 0.5, kill: Some(0.3), lookups: 50, ..Options::default() };
    let (one, same) = (run(&options).unwrap(), run(&options).unwrap());
    assert_eq!((&one.trace, one.messages), (&same.trace, same.messages));
    assert_ne!(one.trace, run(&Options { seed: 2, ..options }).unwrap().trace);
    assert!(one.wrong.is_empty() && one.broken.is_empty(), "{:?} {:?}", one.wrong, one.broken);
}

#[test]
fn what_cannot_be_simulated_is_refused_with_a_reason() {
    let fails = |options: Options| run(&options).unwrap_err().to_string();
    assert_eq!(
        fails(Options { nodes: 0, ..Options::default() }),
        "the number of nodes must be between 1 and 1,000,000, not 0"
    );
    assert!(fails(Options { kill: Some(1.0), ..Options::default() }).contains("less than 1"));
    assert!(fails(Options { minutes: f64::NAN, ..Options::default() }).contains("NaN"));
    assert!(fails(Options { loss: 1.5, ..Options::default() }).contains("1.5"));
}
