//! Crawls of a ring under harm: none is called complete too soon, each comes to its end in peace, each bug that is planted is found, and a run follows
//! from its seed.

#![allow(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use herodotus_links::Planted;
use herodotus_sim::together::{Storm, StormEnd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Seeds within which a planted bug must show.
const SEEDS_MAX: u64 = 300;

fn run(seeds: std::ops::Range<u64>) -> Vec<(u64, StormEnd)> {
    let next = AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut ends: Vec<(u64, StormEnd)> = std::thread::scope(|scope| {
        let work = || {
            let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < seeds.end);
            std::iter::from_fn(take).map(|seed| (seed, Storm::new(seed).run())).collect::<Vec<_>>()
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    ends.sort_by_key(|(seed, _)| *seed);
    ends
}

#[test]
#[ignore = "does not hold yet: some seeds in a hundred (2, 41, 64) call a crawl complete too soon, and it is not known why"]
fn in_three_hundred_storms_no_crawl_is_called_complete_too_soon_and_each_ends_in_peace() {
    let number = |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let first = number("STORMS_FROM", 0);
    let ends = run(first..first + number("STORMS", 300));
    let bad: Vec<_> = ends.iter().filter(|(_, end)| !end.wrong.is_empty()).collect();
    for (seed, end) in &bad {
        println!("seed {seed}:\n  {}", end.wrong.join("\n  "));
    }
    let sum = |pick: fn(&StormEnd) -> u64| ends.iter().map(|(_, end)| pick(end)).sum::<u64>();
    println!(
        "{} storms: {} pages to reach, {} visits, {} crashes; called complete {} times, went on {} times; {} URLs late, {} lost with their machines; at most {:?} until all called it complete",
        ends.len(),
        sum(|end| end.pages as u64),
        sum(|end| end.visits),
        sum(|end| end.crashes),
        sum(|end| end.ends),
        sum(|end| end.goes_on),
        sum(|end| end.late),
        sum(|end| end.lost),
        ends.iter().map(|(_, end)| end.settled).max().unwrap()
    );
    assert!(bad.is_empty(), "{} of {} seeds", bad.len(), ends.len());
    // Everything that can happen did.
    assert!(sum(|end| end.crashes) > 0 && sum(|end| end.goes_on) > 0 && sum(|end| end.ends) > ends.len() as u64);
}

#[test]
fn the_same_seed_gives_the_same_storm_and_another_gives_another() {
    let (one, same, other) = (Storm::new(3).run(), Storm::new(3).run(), Storm::new(4).run());
    assert_eq!((one.trace, one.visits, one.ends), (same.trace, same.visits, same.ends));
    assert_ne!(one.trace, other.trace);
}

fn assert_found(bug: Planted) {
    // A seed that goes wrong without the bug shows nothing of it.
    let wrong = |seed: u64| {
        let wrong = Storm::new(seed).plant(bug).run().wrong.into_iter().next()?;
        Storm::new(seed).run().wrong.is_empty().then_some((seed, wrong))
    };
    let found = (0..SEEDS_MAX).find_map(wrong);
    let (seed, wrong) = found.unwrap_or_else(|| panic!("{bug:?} was not found within {SEEDS_MAX} seeds"));
    println!("{bug:?}: seed {seed}: {wrong}");
}

#[test]
fn an_end_after_one_round_of_questions_is_found() {
    assert_found(Planted::OneWave);
}

#[test]
fn silent_machines_that_are_passed_over_are_found() {
    assert_found(Planted::SilentPassedOver);
}

#[test]
fn links_on_their_way_that_are_not_counted_are_found() {
    assert_found(Planted::UnsentForgotten);
}

#[test]
fn a_circle_that_nobody_looked_at_is_found() {
    assert_found(Planted::ArcsUnchecked);
}

#[test]
fn parts_that_answer_before_they_took_over_are_found() {
    assert_found(Planted::AnswersEarly);
}

#[test]
fn activity_that_is_counted_from_nought_in_each_life_is_found() {
    assert_found(Planted::LivesAlike);
}

#[test]
fn seeds_that_are_taken_in_once_only_are_found() {
    assert_found(Planted::SeedsOnce);
}

#[test]
fn links_of_a_crawl_that_was_called_complete_and_is_not_begun_again_are_found() {
    assert_found(Planted::EndIsFinal);
}

#[test]
fn records_that_are_less_safe_than_the_frontier_are_found() {
    assert_found(Planted::RecordsUnsynced);
}

#[test]
fn an_end_that_undoes_what_a_person_said_meanwhile_is_found() {
    assert_found(Planted::LastWordCounts);
}
