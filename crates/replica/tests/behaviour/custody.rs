//! The custodian's promises, one by one, with the orders carried out by hand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use herodotus_base::{Id, PeerKey};
use herodotus_replica::Sum;
use herodotus_replica::custody::{Config, Custodian, Holder, Holders, Order, Outcome, Piece, Survey, Task};
use herodotus_ring::Contact;
use std::time::Duration;

const fn minutes(n: u64) -> Duration {
    Duration::from_secs(60 * n)
}

/// A machine whose only node is at `n`.
fn machine(n: u8) -> Contact {
    Contact { id: Id::small(n), key: PeerKey([n; 32]), index: 0, addresses: Vec::new() }
}

fn line(ns: &[u8]) -> Vec<Contact> {
    ns.iter().map(|n| machine(*n)).collect()
}

fn orders(custodian: &mut Custodian) -> Vec<Order> {
    std::iter::from_fn(|| custodian.poll_order()).collect()
}

fn with(task: &Task) -> Option<u8> {
    match task {
        Task::Compare { with, .. }
        | Task::Audit { with, .. }
        | Task::Prove { with, .. }
        | Task::Confirm { with, .. } => Some(with.key.0[0]),
        Task::Survey { .. } | Task::Release { .. } => None,
    }
}

/// Carries out everything that is wanted at this moment, all of it well and with nothing astray; says with whom was compared.
fn carry_out(custodian: &mut Custodian, now: Duration) -> Vec<u8> {
    let mut compared = Vec::new();
    for _ in 0..1000 {
        custodian.handle_timeout(now);
        let orders = orders(custodian);
        if orders.is_empty() {
            compared.sort_unstable();
            compared.dedup();
            return compared;
        }
        for order in orders {
            if let Task::Compare { .. } = order.task {
                compared.extend(with(&order.task));
            }
            let is_survey = matches!(order.task, Task::Survey { .. });
            let outcome = if is_survey { Outcome::Surveyed(Survey::Nothing) } else { Outcome::Well };
            custodian.handle_outcome(now, order.id, outcome);
        }
    }
    panic!("orders without end");
}

/// The node at 10 with machines behind it at 20, 30, ….
fn settled(count: u8, config: Config) -> Custodian {
    let mut custodian = Custodian::new(machine(10).key, config);
    custodian.set_arc(Duration::ZERO, &machine(10), (Id::small(200), Id::small(10)));
    let others: Vec<u8> = (1..count).map(|n| 10 + n * 10).collect();
    custodian.set_line(Duration::ZERO, Id::small(10), &line(&others));
    others.iter().for_each(|n| custodian.seen_up(machine(*n).key, minutes(100_000)));
    carry_out(&mut custodian, Duration::ZERO);
    custodian
}

fn counting(custodian: &Custodian) -> Vec<u8> {
    let holders = custodian.holders_of(Id::small(5)).unwrap().holders;
    holders.iter().filter(|holder| holder.counts).map(|holder| holder.contact.key.0[0]).collect()
}

#[test]
fn who_is_alone_has_everything_there_is() {
    let custodian = settled(1, Config::default());
    assert!(custodian.is_here(Id::small(5)) && custodian.is_settled());
    assert_eq!(custodian.holders_of(Id::small(5)).unwrap().needed, 1);
    assert_eq!(custodian.holders_of(Id::small(50)), None);
}

#[test]
fn six_machines_hold_an_arc_and_no_seventh() {
    let mut custodian = Custodian::new(machine(10).key, Config::default());
    custodian.set_arc(Duration::ZERO, &machine(10), (Id::small(200), Id::small(10)));
    custodian.set_line(Duration::ZERO, Id::small(10), &line(&[20, 30, 40, 50, 60, 70, 80]));
    assert!(!custodian.is_here(Id::small(5)), "nobody was compared with yet");
    assert_eq!(carry_out(&mut custodian, Duration::ZERO), [20, 30, 40, 50, 60]);
    assert_eq!(counting(&custodian), [10, 20, 30, 40, 50, 60]);
    assert!(custodian.is_here(Id::small(5)) && custodian.is_settled());
}

#[test]
fn with_fewer_machines_than_copies_each_has_one() {
    let custodian = settled(3, Config::default());
    assert_eq!(counting(&custodian), [10, 20, 30]);
    assert_eq!(custodian.holders_of(Id::small(5)).unwrap().needed, 3);
}

#[test]
fn a_gained_arc_is_not_answered_for_before_it_was_compared_with_all_who_held_it() {
    let mut custodian = settled(8, Config::default());
    custodian.set_arc(minutes(1), &machine(10), (Id::small(150), Id::small(10)));
    assert!(custodian.is_here(Id::small(5)), "that was ours before");
    assert!(!custodian.is_here(Id::small(180)));
    assert!(!custodian.holders_of(Id::small(180)).unwrap().holders[0].counts);
    let first = orders(&mut custodian);
    assert!(first.iter().any(|order| matches!(order.task, Task::Compare { from, to, .. }
        if (from, to) == (Id::small(150), Id::small(200)))));
    // One of those who held it does not answer.
    for order in first {
        let outcome = if with(&order.task) == Some(20) { Outcome::Failed } else { Outcome::Well };
        custodian.handle_outcome(minutes(1), order.id, outcome);
    }
    assert!(!custodian.is_here(Id::small(180)));
    carry_out(&mut custodian, minutes(2));
    assert!(custodian.is_here(Id::small(180)) && custodian.is_settled());
}

#[test]
fn a_comparison_that_fails_is_tried_again_soon_and_then_less_and_less_often() {
    let config = Config { retry_after: Duration::from_secs(32), ..Config::default() };
    let mut custodian = settled(2, config);
    custodian.push_failed(minutes(1), machine(20).key);
    let mut tried = Vec::new();
    for second in 60..60 + 5 * 60 {
        let now = Duration::from_secs(second);
        custodian.handle_timeout(now);
        for order in orders(&mut custodian) {
            let is_compare = matches!(order.task, Task::Compare { .. });
            tried.extend(is_compare.then_some(second));
            let outcome = if is_compare { Outcome::Failed } else { Outcome::Surveyed(Survey::Nothing) };
            custodian.handle_outcome(now, order.id, outcome);
        }
    }
    let waits: Vec<u64> = tried.windows(2).map(|two| two[1] - two[0]).take(7).collect();
    assert_eq!(waits, [2, 4, 8, 16, 32, 32, 32]);
    // And once it has gone well, soon again.
    carry_out(&mut custodian, minutes(10));
    custodian.push_failed(minutes(11), machine(20).key);
    let at = minutes(11) + Duration::from_secs(32);
    for now in [at, at + Duration::from_secs(2)] {
        custodian.handle_timeout(now);
        let again = orders(&mut custodian);
        assert!(again.iter().any(|order| matches!(order.task, Task::Compare { .. })), "{now:?}: {again:?}");
        again.into_iter().for_each(|order| custodian.handle_outcome(now, order.id, Outcome::Failed));
    }
}

#[test]
fn a_short_absence_starts_no_copying_and_a_long_one_does() {
    let mut custodian = settled(8, Config { compare_every: minutes(100_000), ..Config::default() });
    let without = line(&[20, 40, 50, 60, 70, 80]);
    custodian.peer_dead(minutes(1), machine(30).key);
    custodian.set_line(minutes(1), Id::small(10), &without);
    assert_eq!(carry_out(&mut custodian, minutes(15)), [0u8; 0]);
    assert_eq!(counting(&custodian), [10, 20, 40, 50, 60], "it does not count as a copy that could be read");
    // It comes back, and is told what it missed.
    custodian.set_line(minutes(15), Id::small(10), &line(&[20, 30, 40, 50, 60, 70, 80]));
    assert_eq!(carry_out(&mut custodian, minutes(15)), [30]);
    // It goes again, for longer.
    custodian.peer_dead(minutes(20), machine(30).key);
    custodian.set_line(minutes(20), Id::small(10), &without);
    assert_eq!(carry_out(&mut custodian, minutes(34)), [0u8; 0]);
    assert_eq!(carry_out(&mut custodian, minutes(35)), [70]);
    assert_eq!(counting(&custodian), [10, 20, 40, 50, 60, 70]);
}

#[test]
fn one_that_goes_with_a_word_is_waited_for_like_one_that_goes_without() {
    let mut custodian = settled(8, Config { compare_every: minutes(100_000), ..Config::default() });
    custodian.set_line(minutes(1), Id::small(10), &line(&[20, 40, 50, 60, 70, 80]));
    assert_eq!(carry_out(&mut custodian, minutes(15)), [0u8; 0]);
    assert_eq!(carry_out(&mut custodian, minutes(16)), [70]);
}

#[test]
fn one_that_leaves_for_good_sees_to_enough_copies_without_itself() {
    let mut custodian = settled(8, Config { compare_every: minutes(100_000), ..Config::default() });
    custodian.leave(minutes(1), Id::small(10));
    assert!(!custodian.is_settled());
    assert_eq!(carry_out(&mut custodian, minutes(1)), [70]);
    assert!(custodian.is_settled());
}

#[test]
fn a_newcomer_is_filled_before_it_counts_and_on_probation_it_does_not_count_even_then() {
    let mut custodian = settled(8, Config::default());
    custodian.set_line(minutes(1), Id::small(10), &line(&[20, 25, 30, 40, 50, 60, 70]));
    let orders = orders(&mut custodian);
    assert_eq!(orders.iter().filter_map(|order| with(&order.task)).collect::<Vec<_>>(), [25]);
    // Those who count are enough without it.
    assert_eq!(counting(&custodian), [10, 20, 30, 40, 50, 60]);
    orders.into_iter().for_each(|order| custodian.handle_outcome(minutes(2), order.id, Outcome::Well));
    assert_eq!(counting(&custodian), [10, 20, 30, 40, 50, 60]);
    // Its time is over: it counts, and the last one does not have to hold anything any more.
    custodian.seen_up(machine(25).key, minutes(24 * 60));
    assert_eq!(counting(&custodian), [10, 20, 25, 30, 40, 50]);
}

#[test]
fn who_fails_an_audit_counts_no_more_until_it_passes_one() {
    let config = Config { compare_every: minutes(100_000), survey_every: minutes(100_000), ..Config::default() };
    let mut custodian = settled(8, config);
    custodian.handle_timeout(minutes(60));
    for order in orders(&mut custodian) {
        assert!(matches!(order.task, Task::Audit { .. }), "{order:?}");
        let outcome = if with(&order.task) == Some(40) { Outcome::Wrong } else { Outcome::Well };
        custodian.handle_outcome(minutes(60), order.id, outcome);
    }
    // What it lost by accident it gets again, and the next machine takes its place meanwhile.
    assert_eq!(carry_out(&mut custodian, minutes(60)), [40, 70]);
    assert_eq!(counting(&custodian), [10, 20, 30, 50, 60, 70]);
    assert_eq!(carry_out(&mut custodian, minutes(120)), [0u8; 0]);
    assert_eq!(counting(&custodian), [10, 20, 30, 40, 50, 60]);
}

fn astray(counting: &[u8], silent: &[u8], needed: u16) -> Outcome {
    let holder = |counts| move |n: &u8| Holder { contact: machine(*n), counts };
    let holders = counting.iter().map(holder(true)).chain(silent.iter().map(holder(false))).collect();
    let piece = Piece { from: Id::small(100), to: Id::small(110), sum: Sum { count: 3, total: 7 } };
    let arc = (Id::small(100), Id::small(120));
    Outcome::Surveyed(Survey::Found { piece, owner: machine(120), holders: Holders { arc, holders, needed } })
}

/// Carries out orders until a release is wanted, or nothing: with whom was compared and who confirmed.
fn until_release(custodian: &mut Custodian, found: Outcome, refuses: Option<u8>) -> (Vec<u8>, Vec<u8>, bool) {
    let (mut compared, mut confirmed, mut found) = (Vec::new(), Vec::new(), Some(found));
    for _ in 0..100 {
        let mut now = minutes(1000);
        custodian.stray_came(now);
        custodian.handle_timeout(now);
        let Some(order) = custodian.poll_order() else { break };
        let outcome = match &order.task {
            Task::Survey { .. } => match found.take() {
                Some(found) => found,
                None => break,
            },
            Task::Compare { with, from, .. } if *from == Id::small(100) => {
                assert!(order.gives_only, "a stray is brought home, and nothing is fetched for it");
                compared.push(with.key.0[0]);
                Outcome::Well
            }
            Task::Compare { .. } => {
                assert!(!order.gives_only);
                Outcome::Well
            }
            Task::Confirm { with, .. } if refuses == Some(with.key.0[0]) => Outcome::Partly,
            Task::Confirm { with, .. } => {
                confirmed.push(with.key.0[0]);
                Outcome::Well
            }
            Task::Release { .. } => return (compared, confirmed, true),
            _ => Outcome::Well,
        };
        now += Duration::from_secs(1);
        custodian.handle_outcome(now, order.id, outcome);
    }
    (compared, confirmed, false)
}

#[test]
fn a_stray_is_let_go_only_when_as_many_as_are_needed_have_confirmed_it() {
    let three = Config { copies: 3, orders_max: 1, compare_every: minutes(100_000), ..Config::default() };
    let fresh = || settled(8, three.clone());
    let found = astray(&[120, 130, 140], &[150], 3);
    assert_eq!(until_release(&mut fresh(), found.clone(), None), (vec![120], vec![120, 130, 140], true));
    assert_eq!(until_release(&mut fresh(), found, Some(140)), (vec![120, 140], vec![120, 130], false));
    // Too few count: it is brought to its owner, and kept.
    let found = astray(&[120, 130], &[140, 150], 3);
    assert_eq!(until_release(&mut fresh(), found, None), (vec![120], vec![], false));
    // Ours to copy, by the owner's word: nothing is to be done, and we answer for all of the owner's arc.
    let (mut custodian, found) = (fresh(), astray(&[120, 130, 10], &[], 3));
    assert_eq!(until_release(&mut custodian, found, None), (vec![], vec![], false));
    assert!(custodian.is_here(Id::small(115)));
    // As long as its owner has not filled us, we hold it and do not answer for it.
    let (mut custodian, found) = (fresh(), astray(&[120, 130], &[10], 3));
    assert_eq!(until_release(&mut custodian, found, None), (vec![], vec![], false));
    assert!(!custodian.is_here(Id::small(115)));
}

#[test]
fn what_is_not_entrusted_any_more_is_not_answered_for_any_more() {
    let mut custodian = settled(8, Config { orders_max: 1, compare_every: minutes(100_000), ..Config::default() });
    let mut survey = |now: Duration, found: Outcome| {
        custodian.stray_came(now);
        custodian.handle_timeout(now);
        let order = custodian.poll_order().unwrap();
        assert!(matches!(order.task, Task::Survey { .. }), "{order:?}");
        custodian.handle_outcome(now, order.id, found);
        let is_here = custodian.is_here(Id::small(115));
        // To the end of the round.
        while let Some(order) = custodian.poll_order() {
            let is_survey = matches!(order.task, Task::Survey { .. });
            let outcome = if is_survey { Outcome::Surveyed(Survey::Nothing) } else { Outcome::Failed };
            custodian.handle_outcome(now, order.id, outcome);
        }
        is_here
    };
    assert!(survey(minutes(1000), astray(&[120, 130, 10], &[], 3)));
    assert!(!survey(minutes(1001), astray(&[120, 130, 140], &[], 3)));
}

#[test]
fn an_arc_that_goes_round_is_the_last_of_a_survey_and_answered_for_at_both_ends() {
    let mut custodian = settled(8, Config { orders_max: 1, compare_every: minutes(100_000), ..Config::default() });
    custodian.set_arc(minutes(1), &machine(10), (Id::small(5), Id::small(10)));
    carry_out(&mut custodian, minutes(1));
    let now = minutes(30);
    custodian.stray_came(now);
    custodian.handle_timeout(now);
    let order = custodian.poll_order().unwrap();
    assert_eq!(order.task, Task::Survey { after: Id::ZERO });
    // Nothing of it is held before zero is passed.
    let piece = Piece { from: Id::small(250), to: Id([0xff; 32]), sum: Sum { count: 3, total: 7 } };
    let arc = (Id::small(240), Id::small(5));
    let holders = [5, 10].map(|n| Holder { contact: machine(n), counts: true }).to_vec();
    let told = Holders { arc, holders, needed: 2 };
    let found = Survey::Found { piece, owner: machine(5), holders: told };
    custodian.handle_outcome(now, order.id, Outcome::Surveyed(found));
    assert!(custodian.is_here(Id::small(245)) && custodian.is_here(Id::small(3)));
    let next = custodian.poll_order().map(|order| order.task);
    assert!(!matches!(next, Some(Task::Survey { .. })), "the round is over");
}

#[test]
fn one_that_lets_go_does_not_count_when_it_is_wanted_again() {
    let mut custodian =
        settled(9, Config { grace: Duration::ZERO, compare_every: minutes(100_000), ..Config::default() });
    let place = Id::small(5);
    assert!(!custodian.may_let_go(minutes(1), machine(60).key, place), "it is to hold it");
    // Crowded out by a newcomer, it may.
    custodian.set_line(minutes(1), Id::small(10), &line(&[20, 25, 30, 40, 50, 60, 70, 80]));
    custodian.seen_up(machine(25).key, minutes(100_000));
    assert_eq!(carry_out(&mut custodian, minutes(1)), [25]);
    assert!(custodian.may_let_go(minutes(1), machine(60).key, place));
    assert!(!custodian.may_let_go(minutes(1), machine(60).key, Id::small(100)), "that is not ours to say");
    // The newcomer goes again: what the old one has is found out first.
    custodian.set_line(minutes(2), Id::small(10), &line(&[20, 30, 40, 50, 60, 70, 80]));
    assert_eq!(counting(&custodian), [10, 20, 30, 40, 50]);
    assert_eq!(carry_out(&mut custodian, minutes(2)), [60]);
    assert_eq!(counting(&custodian), [10, 20, 30, 40, 50, 60]);
}

/// Copies, simulated, storm 88: after a partition an owner that had been with one other machine said that two were enough.
#[test]
fn an_owner_that_knows_of_few_machines_does_not_make_us_let_go_of_what_lies_on_few() {
    let fresh = || settled(8, Config { orders_max: 1, compare_every: minutes(100_000), ..Config::default() });
    let (_, _, is_let_go) = until_release(&mut fresh(), astray(&[120, 130], &[], 2), None);
    assert!(!is_let_go, "we see seven others, and six are to hold it");
    let (_, _, is_let_go) = until_release(&mut fresh(), astray(&[120, 130, 140, 150, 160, 170], &[], 2), None);
    assert!(is_let_go);
}

#[test]
fn who_learns_of_more_machines_while_a_stray_is_confirmed_does_not_let_it_go_for_as_few() {
    let mut custodian = settled(3, Config { orders_max: 1, compare_every: minutes(100_000), ..Config::default() });
    let now = minutes(30);
    let (mut found, mut confirmed) = (Some(astray(&[120, 130, 140], &[], 3)), 0);
    custodian.stray_came(now);
    custodian.handle_timeout(now);
    while let Some(order) = custodian.poll_order() {
        let outcome = match order.task {
            Task::Survey { .. } => match found.take() {
                Some(found) => found,
                None => return assert_eq!(confirmed, 3),
            },
            Task::Confirm { .. } => {
                confirmed += 1;
                if confirmed == 3 {
                    custodian.set_line(now, Id::small(10), &line(&[20, 30, 40, 50, 60, 70]));
                }
                Outcome::Well
            }
            Task::Release { .. } => panic!("six are to hold it"),
            _ => Outcome::Well,
        };
        custodian.handle_outcome(now, order.id, outcome);
        custodian.handle_timeout(now);
    }
    assert_eq!(confirmed, 3);
}

#[test]
fn nobody_is_woken_for_what_is_not_wanted() {
    // Two more machines in line than are to hold anything, a short absence, and one that was not reached.
    let mut custodian = settled(8, Config::default());
    assert!(custodian.poll_timeout().unwrap() > Duration::ZERO);
    custodian.peer_dead(minutes(1), machine(30).key);
    custodian.set_line(minutes(1), Id::small(10), &line(&[20, 40, 50, 60, 70, 80]));
    carry_out(&mut custodian, minutes(1));
    assert!(custodian.poll_timeout().unwrap() > minutes(1));
    // A gained arc, and nobody there to compare it with: they may come back.
    let mut custodian = settled(2, Config::default());
    custodian.peer_dead(minutes(1), machine(20).key);
    custodian.set_line(minutes(1), Id::small(10), &[]);
    custodian.set_arc(minutes(1), &machine(10), (Id::small(10), Id::small(10)));
    carry_out(&mut custodian, minutes(1));
    assert!(!custodian.is_here(Id::small(180)));
    assert!(custodian.poll_timeout().unwrap() > minutes(1));
}

#[test]
fn a_gap_that_is_being_compared_when_the_arc_changes_is_closed_all_the_same() {
    let mut custodian = settled(8, Config { orders_max: 1, compare_every: minutes(100_000), ..Config::default() });
    custodian.set_arc(minutes(1), &machine(10), (Id::small(100), Id::small(10)));
    let order = custodian.poll_order().unwrap();
    // Somebody joins in the middle of what we gained.
    custodian.set_arc(minutes(1), &machine(10), (Id::small(150), Id::small(10)));
    custodian.handle_outcome(minutes(1), order.id, Outcome::Well);
    carry_out(&mut custodian, minutes(1));
    assert!(custodian.is_here(Id::small(180)) && custodian.is_settled());
}

/// Copies, simulated, storm 99: what was told of a place was said of almost the whole circle.
#[test]
fn a_gap_from_when_the_arc_went_round_does_not_reach_beyond_the_arc() {
    let mut custodian = settled(8, Config::default());
    custodian.set_arc(minutes(1), &machine(10), (Id::small(10), Id::small(10)));
    assert_eq!(custodian.holders_of(Id::small(180)).unwrap().arc, (Id::small(10), Id::small(200)));
    custodian.set_arc(minutes(1), &machine(10), (Id::small(150), Id::small(10)));
    assert_eq!(custodian.holders_of(Id::small(180)).unwrap().arc, (Id::small(150), Id::small(200)));
}

/// One comparison with everybody, the one with `slow` still under way.
fn comparing(slow: u8) -> (Custodian, Order) {
    let mut custodian = settled(9, Config { grace: Duration::ZERO, ..Config::default() });
    let mut kept = None;
    for _ in 0..20 {
        custodian.handle_timeout(minutes(10));
        for order in orders(&mut custodian) {
            if matches!(order.task, Task::Compare { .. }) && with(&order.task) == Some(slow) {
                kept = Some(order);
                continue;
            }
            let is_survey = matches!(order.task, Task::Survey { .. });
            let outcome = if is_survey { Outcome::Surveyed(Survey::Nothing) } else { Outcome::Well };
            custodian.handle_outcome(minutes(10), order.id, outcome);
        }
    }
    (custodian, kept.unwrap())
}

#[test]
fn what_could_not_be_handed_over_while_a_comparison_ran_is_compared_once_more() {
    let (mut custodian, order) = comparing(60);
    // Stored here after the comparison had passed that place.
    custodian.push_failed(minutes(11), machine(60).key);
    custodian.handle_outcome(minutes(11), order.id, Outcome::Well);
    assert_eq!(counting(&custodian), [10, 20, 30, 40, 50]);
    assert_eq!(carry_out(&mut custodian, minutes(11)), [60]);
    assert_eq!(counting(&custodian), [10, 20, 30, 40, 50, 60]);
}

#[test]
fn one_that_lets_go_while_it_is_compared_with_does_not_count_when_that_ends() {
    let (mut custodian, order) = comparing(60);
    // A newcomer crowds it out, it lets go, and the newcomer dies: all while the comparison runs.
    custodian.set_line(minutes(11), Id::small(10), &line(&[20, 25, 30, 40, 50, 60, 70, 80]));
    custodian.seen_up(machine(25).key, minutes(100_000));
    assert!(custodian.may_let_go(minutes(11), machine(60).key, Id::small(5)));
    custodian.set_line(minutes(12), Id::small(10), &line(&[20, 30, 40, 50, 60, 70, 80]));
    custodian.handle_outcome(minutes(12), order.id, Outcome::Well);
    assert_eq!(counting(&custodian), [10, 20, 30, 40, 50]);
    assert!(carry_out(&mut custodian, minutes(12)).contains(&60));
    assert_eq!(counting(&custodian), [10, 20, 30, 40, 50, 60]);
}

/// Copies, simulated, storm 2: all who were to hold it were on the other side of a cut, and a write was acknowledged by its owner alone.
#[test]
fn while_all_neighbours_are_away_what_comes_in_is_handed_to_those_behind_them() {
    let targets = |custodian: &Custodian, min: usize| -> Vec<u8> {
        let targets = custodian.push_to_at_least(Id::small(5), min);
        targets.iter().map(|contact| contact.key.0[0]).collect()
    };
    let mut custodian = settled(8, Config { copies: 3, ..Config::default() });
    assert_eq!(targets(&custodian, 1), [20, 30]);
    custodian.set_line(minutes(1), Id::small(10), &line(&[30, 40, 50, 60, 70, 80]));
    assert_eq!(targets(&custodian, 1), [30], "one is enough");
    assert_eq!(targets(&custodian, 3), [30, 40, 50]);
    custodian.set_line(minutes(1), Id::small(10), &line(&[40, 50, 60, 70, 80]));
    assert_eq!(targets(&custodian, 1), [40]);
    assert_eq!(custodian.push_to(Id::small(5)), line(&[40]));
    custodian.set_line(minutes(1), Id::small(10), &[]);
    assert_eq!(targets(&custodian, 1), [0u8; 0]);
}

#[test]
fn a_ring_of_one_copy_hands_nothing_to_anybody() {
    let custodian = settled(8, Config { copies: 1, ..Config::default() });
    assert_eq!(custodian.push_to(Id::small(5)), []);
    assert_eq!(custodian.push_to_at_least(Id::small(5), 3), []);
}

#[test]
fn confirmations_that_have_grown_old_are_asked_for_again() {
    let config = Config { copies: 3, orders_max: 1, compare_every: minutes(100_000), ..Config::default() };
    let lets_go = |later: Duration| {
        let mut custodian = settled(8, Config { audit_every: minutes(100_000), ..config.clone() });
        let mut found = Some(astray(&[120, 130, 140], &[], 3));
        let mut now = minutes(1000);
        loop {
            custodian.handle_timeout(now);
            let order = custodian.poll_order().unwrap();
            let outcome = match &order.task {
                Task::Survey { .. } => match found.take() {
                    Some(found) => found,
                    None => return false,
                },
                Task::Release { .. } => return true,
                _ => Outcome::Well,
            };
            // The last one takes its time.
            if with(&order.task) == Some(140) {
                now += later;
            }
            custodian.handle_outcome(now, order.id, outcome);
        }
    };
    assert!(lets_go(minutes(15)));
    assert!(!lets_go(minutes(16)), "the first may be gone by now");
}

/// Copies, simulated, storm 1280: an owner that lies takes what it is handed and passes it to nobody.
#[test]
fn what_one_lacks_that_should_confirm_it_is_brought_to_it_once() {
    let config = Config { copies: 3, orders_max: 1, compare_every: minutes(100_000), ..Config::default() };
    let mut custodian = settled(8, Config { audit_every: minutes(100_000), ..config });
    let (mut found, mut lacks, mut done) = (Some(astray(&[120, 130, 140], &[], 3)), vec![130, 140], Vec::new());
    for _ in 0..20 {
        custodian.handle_timeout(minutes(1000));
        let order = custodian.poll_order().unwrap();
        let who = with(&order.task).unwrap_or(0);
        let outcome = match &order.task {
            Task::Survey { .. } => found.take().unwrap(),
            Task::Compare { .. } => {
                lacks.retain(|lacking| *lacking != who);
                done.push(("compare", who));
                Outcome::Well
            }
            Task::Confirm { .. } if lacks.contains(&who) => Outcome::Partly,
            Task::Confirm { .. } => {
                done.push(("confirm", who));
                Outcome::Well
            }
            _ => break,
        };
        custodian.handle_outcome(minutes(1000), order.id, outcome);
    }
    let wanted =
        [("compare", 120), ("confirm", 120), ("compare", 130), ("confirm", 130), ("compare", 140), ("confirm", 140)];
    assert_eq!(done, wanted);
}

/// Copies, simulated, storm 1343: two machines, each entrusted by another owner while the ring changed, each confirmed what the other let go.
#[test]
fn what_another_relies_on_is_not_let_go_for_a_grace_and_what_is_being_let_go_is_not_relied_on() {
    let config = Config { copies: 3, orders_max: 1, compare_every: minutes(100_000), ..Config::default() };
    let arc = (Id::small(95), Id::small(105));
    // Says what is wanted once all three have confirmed it.
    let confirmed = |before: &dyn Fn(&mut Custodian), now: Duration| {
        let mut custodian = settled(8, Config { audit_every: minutes(100_000), ..config.clone() });
        let mut found = Some(astray(&[120, 130, 140], &[], 3));
        before(&mut custodian);
        loop {
            custodian.handle_timeout(now);
            let order = custodian.poll_order().unwrap();
            let outcome = match &order.task {
                Task::Survey { .. } if found.is_none() => return (custodian, order),
                Task::Survey { .. } => found.take().unwrap(),
                Task::Release { .. } => return (custodian, order),
                _ => Outcome::Well,
            };
            custodian.handle_outcome(now, order.id, outcome);
        }
    };
    let relied_on = |custodian: &mut Custodian| assert!(custodian.vouch(minutes(1000), arc.0, arc.1));
    let (_, order) = confirmed(&relied_on, minutes(1014));
    assert!(matches!(order.task, Task::Survey { .. }), "{order:?}");
    let (mut custodian, order) = confirmed(&relied_on, minutes(1015));
    assert!(matches!(order.task, Task::Release { .. }), "{order:?}");
    assert!(!custodian.vouch(minutes(1015), arc.0, arc.1));
    assert!(custodian.vouch(minutes(1015), Id::small(110), Id::small(115)), "that is beside it");
    custodian.handle_outcome(minutes(1015), order.id, Outcome::Partly);
    assert!(custodian.vouch(minutes(1015), arc.0, arc.1));
}

#[test]
fn that_something_is_nowhere_is_not_said_while_as_many_are_away_as_a_write_needs() {
    let mut custodian = settled(6, Config::default());
    let (place, node) = (Id::small(5), Id::small(10));
    let grace = Config::default().grace;
    assert!(custodian.is_all_here(place, 2));
    custodian.peer_dead(minutes(1), machine(20).key);
    assert!(custodian.is_all_here(place, 2), "what was acknowledged lies on one more");
    assert!(!custodian.is_all_here(place, 1));
    custodian.set_line(minutes(2), node, &line(&[30, 40, 50]));
    assert!(!custodian.is_all_here(place, 2), "20 and 60 may have it");
    assert!(custodian.is_all_here(place, 3) && custodian.is_all_here(Id::small(50), 2));
    custodian.set_line(minutes(3), node, &line(&[20, 30, 40, 50]));
    assert!(custodian.is_all_here(place, 2), "one is back");
    custodian.set_line(minutes(4), node, &line(&[40, 50]));
    assert!(!custodian.is_all_here(place, 2));
    carry_out(&mut custodian, minutes(4) + grace);
    assert!(custodian.is_all_here(place, 2), "they are given up");
}

#[test]
fn who_only_follows_further_back_than_before_is_not_missed() {
    let config = Config { copies: 3, ..Config::default() };
    let mut custodian = settled(6, config);
    let (place, node) = (Id::small(5), Id::small(10));
    // Two came between, and the line is shown no longer than it was.
    custodian.set_line(minutes(1), node, &line(&[15, 20, 25, 30, 40]));
    assert!(custodian.is_all_here(place, 1));
    custodian.set_line(minutes(2), node, &line(&[15, 20, 25, 40, 50]));
    assert!(!custodian.is_all_here(place, 1), "30 stood before one that is there");
}
