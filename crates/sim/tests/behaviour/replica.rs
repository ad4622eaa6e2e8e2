//! Storms over copies: a thousand seeds of harm at random, each of which must end with everything where it should be.

#![allow(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use crate::support;

use herodotus_replica::custody::Planted;
use herodotus_sim::replica::{Lie, LieEnd, Options, Storm, StormEnd, run as figures};
use std::collections::BTreeMap;
use std::time::Duration;
use support::on_all_cores;

fn run(seeds: std::ops::Range<u64>) -> Vec<(u64, StormEnd)> {
    on_all_cores(seeds, |seed| Storm::new(seed).run())
}

/// A number from the environment, for longer runs by hand.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn a_thousand_storms_lose_nothing_that_was_promised_and_end_with_every_copy_in_its_place() {
    let first = number("COPY_STORM", 0);
    let ends = run(first..first + number("COPY_STORMS", 1000));
    let bad: Vec<_> = ends.iter().filter(|(_, end)| !end.wrong.is_empty()).collect();
    for (seed, end) in bad.iter().take(30) {
        println!(
            "seed {seed}, {} machines, {} copies, {} faults:\n  {}",
            end.machines,
            end.copies,
            end.faults,
            end.wrong.join("\n  ")
        );
    }
    for (seed, end) in ends.iter().filter(|(_, end)| !end.is_wild) {
        end.excused
            .iter()
            .for_each(|sentence| println!("seed {seed}, {} copies, not promised: {sentence}", end.copies));
    }
    let sum = |is_wild: bool, pick: fn(&StormEnd) -> usize| {
        ends.iter().filter(|(_, end)| end.is_wild == is_wild).map(|(_, end)| pick(end)).sum::<usize>()
    };
    let mut tally: BTreeMap<&str, u64> = BTreeMap::new();
    for (what, count) in ends.iter().flat_map(|(_, end)| &end.tally) {
        *tally.entry(what).or_default() += count;
    }
    println!(
        "{} storms, {} events, {} faults; {} acknowledged and {} lost of them; in wild ones {} and {}; past wakes {}; {tally:?}",
        ends.len(),
        ends.iter().map(|(_, end)| end.events).sum::<u64>(),
        ends.iter().map(|(_, end)| end.faults).sum::<usize>(),
        sum(false, |end| end.acknowledged),
        sum(false, |end| end.lost),
        sum(true, |end| end.acknowledged),
        sum(true, |end| end.lost),
        ends.iter().map(|(_, end)| end.past_wakes).sum::<u64>(),
    );
    assert!(bad.is_empty(), "{} of {} seeds", bad.len(), ends.len());
    assert!(ends.iter().all(|(_, end)| end.faults >= 100 && end.past_wakes == 0));
    assert_eq!(tally.get("honest owners distrusted"), None, "by machines that bear no false witness");
}

/// Storms that found something, each with what it was. They have changed with the simulator since, and cost little.
#[test]
fn storms_that_found_something_do_so_no_more() {
    for (seed, found) in [
        (0, "custodians asked to be woken for machines that were to hold nothing, ten times a second for ever"),
        (6, "what is held at both ends of the circle was answered for at one end only"),
        (4, "a gap from when an arc went round was told as almost the whole circle"),
        (88, "after a partition, two confirmations were enough where four machines were to hold it"),
        (408, "writes are lost that one machine took in, alone on its side of a cut, and died: counted, not promised"),
        (596, "the same"),
        (
            2,
            "a write was acknowledged by its owner alone, because all who were to hold it were cut off, although others were there",
        ),
        (359, "one capture that nobody can mend kept its owner from ever filling others: comparisons broke off there"),
        (375, "the same, and strays that were never let go"),
        (419, "the same, with one machine counting instead of three"),
        (
            273,
            "one that had confirmed a piece lost its disk before the piece was let go: no fault, but confirmations had no end",
        ),
        (572, "the same"),
        (
            1280,
            "what was handed to an owner that lies lay on one machine for half a day, until that one's disk was lost",
        ),
        (2152, "the same"),
        (1343, "two machines that were told so by different owners each confirmed what the other let go"),
        (62, "a liar took what its writer could no longer read: the simulator's own mistake"),
        (2074, "the same as 1280 where the one that took it in is to hold it too: not promised"),
        (
            609,
            "of three copies one was let go because an owner that lies had confirmed it, one died and one rotted: not promised, and not counted as a harm",
        ),
        (203, "who learnt of more machines while a stray was confirmed let it go for as few as it had known of before"),
    ] {
        let end = Storm::new(seed).run();
        assert_eq!(end.wrong, Vec::<String>::new(), "storm {seed}, which had found that {found}");
        assert_eq!(end.past_wakes, 0, "storm {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_storm_and_another_gives_another() {
    let (one, same, other) = (Storm::new(3).run(), Storm::new(3).run(), Storm::new(4).run());
    assert_eq!((one.trace, one.events, &one.tally), (same.trace, same.events, &same.tally));
    assert_ne!(one.trace, other.trace);
}

#[test]
fn figures_are_the_same_for_the_same_seed_and_more_copies_lose_less() {
    let options = Options {
        nodes: 16,
        days: 12.0,
        session_median_hours: vec![24.0],
        copies: vec![2, 6],
        kbit_per_s: 50_000.0,
        ..Options::default()
    };
    let (one, same) = (figures(&options).unwrap(), figures(&options).unwrap());
    assert_eq!(one.trace, same.trace);
    assert_ne!(one.trace, figures(&Options { seed: 2, ..options }).unwrap().trace);
    assert!(one.rows[0].lost > 10 * one.rows[1].lost.max(1), "{one}");
    assert!(one.rows.iter().all(|row| row.repair_kbit_per_s > 1000.0), "{one}");
    let picture = one.svg();
    assert!(picture.contains("6 copies") && !picture.contains("NaN"));
}

#[test]
fn what_cannot_be_simulated_is_refused_with_a_reason() {
    let fails = |options: Options| figures(&options).unwrap_err().to_string();
    assert_eq!(
        fails(Options { nodes: 1, ..Options::default() }),
        "the number of nodes must be between 2 and 20,000, not 1"
    );
    assert!(fails(Options { copies: vec![6, 0], ..Options::default() }).contains("copies"));
    assert!(fails(Options { session_median_hours: vec![f64::NAN], ..Options::default() }).contains("NaN"));
    assert!(fails(Options { returns: 1.5, ..Options::default() }).contains("1.5"));
}

/// What PROMISES.md says of owners: an audit comes every hour, and failures are a lie after a quarter of one.
#[test]
fn an_owner_that_lies_is_found_within_an_hour_and_a_quarter_and_its_copies_are_made_elsewhere() {
    let ends: Vec<_> = (0..number("LIES", 5)).map(|seed| Lie::new(seed).run()).collect();
    let minutes = |time: Option<Duration>| time.unwrap_or(Duration::MAX).as_secs_f64() / 60.0;
    let most = |pick: fn(&LieEnd) -> Option<Duration>| ends.iter().map(|end| minutes(pick(end))).fold(0.0, f64::max);
    let (found, copied, replaced) = (most(|end| end.found), most(|end| end.copied), most(|end| end.replaced));
    println!(
        "found after {found:.1} minutes at most, copied after {copied:.1}, one that died replaced after {replaced:.1}"
    );
    assert!(ends.iter().all(|end| end.entries > 0));
    assert!(found <= 76.0 && copied <= 80.0 && replaced <= 45.0, "{ends:?}");
    let believed = Lie::new(0).plant(Planted::TrustOwners).run();
    assert_eq!((believed.found, believed.replaced), (None, None));
}
