//! Those who hold copies audit the one they hold them for, with the orders carried out by hand. Decision 0017.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use herodotus_base::{Id, PeerKey};
use herodotus_replica::Sum;
use herodotus_replica::custody::{Config, Custodian, Holder, Holders, Order, Outcome, Piece, Survey, Task};
use herodotus_ring::Contact;
use std::time::Duration;

const OWNER: u8 = 120;
const HERE: u8 = 140;

const fn minutes(n: u64) -> Duration {
    Duration::from_secs(60 * n)
}

fn machine(n: u8) -> Contact {
    Contact { id: Id::small(n), key: PeerKey([n; 32]), index: 0, addresses: Vec::new() }
}

fn told(arc: (u8, u8), counting: &[u8], silent: &[u8]) -> Outcome {
    let holder = |counts| move |n: &u8| Holder { contact: machine(*n), counts };
    let holders = counting.iter().map(holder(true)).chain(silent.iter().map(holder(false))).collect();
    let piece = Piece { from: Id::small(110), to: Id::small(OWNER), sum: Sum { count: 3, total: 7 } };
    let arc = (Id::small(arc.0), Id::small(arc.1));
    Outcome::Surveyed(Survey::Found { piece, owner: machine(OWNER), holders: Holders { arc, holders, needed: 3 } })
}

/// 140, behind 130, holds what 120 owns, and is followed by 150 and on. What is answered to its orders is played; what is about the owner's arc is written down.
struct Play {
    custodian: Custodian,
    survey: Outcome,
    /// What the owner's proofs come to.
    proof: Outcome,
    /// Whose audits go wrong.
    wrong: Vec<u8>,
    /// Who cannot be reached.
    away: Vec<u8>,
    seen: Vec<(&'static str, u8)>,
}

impl Play {
    fn new() -> Self {
        let config = Config { copies: 3, orders_max: 1, ..Config::default() };
        let mut custodian = Custodian::new(machine(HERE).key, config);
        let line: Vec<Contact> = [150, 160, 170, 180, 190].into_iter().map(machine).collect();
        custodian.set_arc(Duration::ZERO, &machine(HERE), (Id::small(130), Id::small(HERE)));
        custodian.set_line(Duration::ZERO, Id::small(HERE), &line);
        line.iter().for_each(|contact| custodian.seen_up(contact.key, minutes(100_000)));
        let survey = told((100, OWNER), &[OWNER, 130, HERE], &[]);
        Self { custodian, survey, proof: Outcome::Well, wrong: Vec::new(), away: Vec::new(), seen: Vec::new() }
    }

    fn outcome(&mut self, order: &Order, surveys: &mut bool) -> Outcome {
        match &order.task {
            Task::Survey { .. } if std::mem::take(surveys) => self.survey.clone(),
            Task::Survey { .. } => Outcome::Surveyed(Survey::Nothing),
            Task::Prove { with, .. } => {
                self.seen.push(("prove", with.key.0[0]));
                self.proof.clone()
            }
            Task::Compare { with, to, .. } | Task::Audit { with, to, .. } if *to == Id::small(OWNER) => {
                let (is_audit, who) = (matches!(order.task, Task::Audit { .. }), with.key.0[0]);
                assert!(order.gives_only, "nothing is gathered");
                self.seen.push((if is_audit { "audit" } else { "compare" }, who));
                match is_audit {
                    _ if self.away.contains(&who) => Outcome::Failed,
                    true if self.wrong.contains(&who) => Outcome::Wrong,
                    _ => Outcome::Well,
                }
            }
            Task::Release { .. } => {
                self.seen.push(("release", HERE));
                Outcome::Well
            }
            _ => Outcome::Well,
        }
    }

    /// Carries out all that is wanted at a moment, with one survey of what is held; says what was done about the owner's arc.
    fn at(&mut self, now: Duration) -> Vec<(&'static str, u8)> {
        self.seen.clear();
        self.custodian.stray_came(now);
        let mut surveys = true;
        for _ in 0..1000 {
            self.custodian.handle_timeout(now);
            let Some(order) = self.custodian.poll_order() else { return std::mem::take(&mut self.seen) };
            let outcome = self.outcome(&order, &mut surveys);
            self.custodian.handle_outcome(now, order.id, outcome);
        }
        panic!("orders without end");
    }

    /// Every minute of some: who was compared with on the owner's arc.
    fn through(&mut self, from: u64, to: u64) -> Vec<u8> {
        let mut compared = Vec::new();
        for minute in from..to {
            let seen = self.at(minutes(minute));
            compared.extend(seen.into_iter().filter(|(what, _)| *what == "compare").map(|(_, who)| who));
        }
        compared.sort_unstable();
        compared.dedup();
        compared
    }

    fn distrusted(&self) -> Vec<u8> {
        self.custodian.distrusted_owners().map(|(owner, _)| owner.key.0[0]).collect()
    }

    fn vouches(&mut self, now: Duration) -> bool {
        self.custodian.vouch(now, Id::small(112), Id::small(115))
    }
}

#[test]
fn an_owner_is_audited_when_it_is_met_and_every_hour_by_those_who_hold_copies_for_it() {
    let mut play = Play::new();
    assert_eq!(play.at(minutes(10)), [("prove", OWNER)]);
    assert_eq!(play.through(11, 70), [0u8; 0]);
    assert_eq!(play.at(minutes(70)), [("prove", OWNER)]);
    assert!(play.distrusted().is_empty() && play.vouches(minutes(70)));
    // Who is not to hold anything for it, or whose owner is being filled, leaves it alone.
    for survey in [told((100, OWNER), &[OWNER, 130, 135], &[]), told((100, OWNER), &[130, HERE], &[OWNER])] {
        let mut play = Play::new();
        play.survey = survey;
        assert!(!play.at(minutes(300)).contains(&("prove", OWNER)));
    }
}

#[test]
fn failures_are_a_lie_only_when_there_are_five_in_a_row() {
    let mut play = Play::new();
    play.proof = Outcome::Wrong;
    play.through(10, 25);
    assert_eq!(play.distrusted(), [0u8; 0]);
    // It was damage, and is mended.
    play.proof = Outcome::Well;
    play.through(25, 30);
    play.proof = Outcome::Wrong;
    play.through(30, 100);
    assert_eq!(play.distrusted(), [0u8; 0], "asked again an hour after it had passed, four times");
    play.through(100, 106);
    assert_eq!(play.distrusted(), [OWNER]);
}

#[test]
fn silence_is_no_lie_and_to_take_what_one_lacks_but_no_question_is_one_after_an_hour() {
    let mut play = Play::new();
    play.proof = Outcome::Failed;
    play.through(10, 600);
    assert_eq!(play.distrusted(), [0u8; 0]);
    play.proof = Outcome::Unproven;
    play.through(600, 660);
    assert_eq!(play.distrusted(), [0u8; 0]);
    play.through(660, 670);
    assert_eq!(play.distrusted(), [OWNER]);
}

#[test]
fn who_was_slow_to_answer_is_no_liar_for_one_wrong_answer() {
    let mut play = Play::new();
    play.proof = Outcome::Unproven;
    play.through(10, 40);
    play.proof = Outcome::Wrong;
    play.through(40, 44);
    assert_eq!(play.distrusted(), [0u8; 0]);
}

#[test]
fn who_fails_does_not_get_away_by_saying_that_it_is_being_filled() {
    let mut play = Play::new();
    play.proof = Outcome::Wrong;
    play.at(minutes(10));
    play.survey = told((100, OWNER), &[130, HERE], &[OWNER]);
    play.through(11, 30);
    assert_eq!(play.distrusted(), [OWNER]);
}

#[test]
fn beside_an_owner_that_lies_enough_others_hold_everything_until_it_passes() {
    let mut play = Play::new();
    play.proof = Outcome::Wrong;
    // The others of the three, without the liar: the first two that follow it.
    assert_eq!(play.through(10, 30), [130, 150]);
    assert_eq!(play.distrusted(), [OWNER]);
    assert!(!play.vouches(minutes(30)), "who lets go would rely on a liar");
    // It wants us no more, and would have us let go.
    play.survey = told((100, OWNER), &[OWNER, 130, 150], &[]);
    assert!(!play.at(minutes(31)).contains(&("release", HERE)));
    // One of them is gone: after a grace another takes its place.
    play.away = vec![130];
    assert_eq!(play.through(32, 46), [130, 150]);
    assert!(play.through(46, 100).contains(&160));
    // And so does one for an accomplice.
    (play.away, play.wrong) = (vec![], vec![150]);
    assert!(play.through(100, 220).contains(&160));
    play.proof = Outcome::Well;
    play.through(220, 230);
    assert!(play.distrusted().is_empty() && play.vouches(minutes(230)));
    // It is believed again that it wants us no more: what we have of it goes home.
    assert_eq!(play.through(230, 240), [OWNER]);
}

#[test]
fn a_liar_cannot_have_us_copy_what_is_not_its_own() {
    let mut play = Play::new();
    play.proof = Outcome::Wrong;
    // It says that the whole circle is its own.
    play.survey = told((OWNER, OWNER), &[OWNER, 130, HERE], &[]);
    play.through(10, 30);
    let arcs: Vec<(Id, Id)> = play.custodian.distrusted_owners().map(|(_, arc)| arc).collect();
    assert_eq!(arcs, [(Id::small(HERE), Id::small(OWNER))], "at least ours is not");
}

#[test]
fn who_takes_the_place_of_a_distrusted_owner_begins_anew() {
    let mut play = Play::new();
    play.proof = Outcome::Wrong;
    play.through(10, 30);
    let Outcome::Surveyed(Survey::Found { piece, mut holders, .. }) = told((100, 130), &[130, HERE, 150], &[]) else {
        panic!()
    };
    holders.arc.1 = Id::small(130);
    play.survey = Outcome::Surveyed(Survey::Found { piece, owner: machine(130), holders });
    play.at(minutes(30));
    assert!(play.distrusted().is_empty() && play.vouches(minutes(30)));
    // Or we do.
    let mut play = Play::new();
    play.proof = Outcome::Wrong;
    play.through(10, 30);
    play.custodian.set_arc(minutes(30), &machine(HERE), (Id::small(100), Id::small(HERE)));
    assert_eq!(play.distrusted(), [0u8; 0]);
}
