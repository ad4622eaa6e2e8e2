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

fn config() -> Config {
    Config { copies: 3, orders_max: 1, compare_every: minutes(10), ..Config::default() }
}

/// The second holder of what 120 owns: 140, behind 130, before 150 and on.
fn holder() -> Custodian {
    let mut custodian = Custodian::new(machine(HERE).key, config());
    let line: Vec<Contact> = [150, 160, 170, 180, 190].into_iter().map(machine).collect();
    custodian.set_arc(Duration::ZERO, &machine(HERE), (Id::small(130), Id::small(HERE)));
    custodian.set_line(Duration::ZERO, Id::small(HERE), &line);
    line.iter().for_each(|contact| custodian.seen_up(contact.key, minutes(100_000)));
    custodian
}

fn told(arc: (u8, u8), counting: &[u8], silent: &[u8]) -> Outcome {
    let holder = |counts| move |n: &u8| Holder { contact: machine(*n), counts };
    let holders = counting.iter().map(holder(true)).chain(silent.iter().map(holder(false))).collect();
    let piece = Piece { from: Id::small(110), to: Id::small(OWNER), sum: Sum { count: 3, total: 7 } };
    let arc = (Id::small(arc.0), Id::small(arc.1));
    Outcome::Surveyed(Survey::Found { piece, owner: machine(OWNER), holders: Holders { arc, holders, needed: 3 } })
}

/// Someone else's part in the play: what is answered to each order. Only what is about the owner's arc is written down.
struct Play {
    custodian: Custodian,
    survey: Outcome,
    /// Whose audits go wrong.
    wrong: Vec<u8>,
    /// Who does not answer audits.
    silent: Vec<u8>,
    /// Who cannot be reached.
    away: Vec<u8>,
    seen: Vec<(&'static str, u8)>,
}

impl Play {
    fn new(survey: Outcome) -> Self {
        let (wrong, silent, away, seen) = Default::default();
        Self { custodian: holder(), survey, wrong, silent, away, seen }
    }

    fn outcome(&mut self, order: &Order, surveys: &mut bool) -> Outcome {
        match &order.task {
            Task::Survey { .. } if std::mem::take(surveys) => self.survey.clone(),
            Task::Survey { .. } => Outcome::Surveyed(Survey::Nothing),
            Task::Compare { with, to, .. } | Task::Audit { with, to, .. } if *to == Id::small(OWNER) => {
                let (is_audit, who) = (matches!(order.task, Task::Audit { .. }), with.key.0[0]);
                assert!(is_audit || order.gives_only, "nothing is gathered");
                self.seen.push((if is_audit { "audit" } else { "compare" }, who));
                match (is_audit, self.away.contains(&who)) {
                    (_, true) => {
                        if is_audit {
                            Outcome::Unproven
                        } else {
                            Outcome::Failed
                        }
                    }
                    (true, _) if self.wrong.contains(&who) => Outcome::Wrong,
                    (true, _) if self.silent.contains(&who) => Outcome::Unproven,
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

    fn distrusted(&self) -> Vec<u8> {
        self.custodian.distrusted_owners().map(|(owner, _)| owner.key.0[0]).collect()
    }

    fn vouches(&mut self, now: Duration) -> bool {
        self.custodian.vouch(now, Id::small(112), Id::small(115))
    }
}

#[test]
fn an_owner_is_audited_when_it_is_met_and_every_hour_by_those_who_hold_copies_for_it() {
    let mut play = Play::new(told((100, OWNER), &[OWNER, 130, HERE], &[]));
    assert_eq!(play.at(minutes(10)), [("audit", OWNER)]);
    assert_eq!(play.at(minutes(69)), []);
    assert_eq!(play.at(minutes(70)), [("audit", OWNER)]);
    assert_eq!(play.distrusted(), [0u8; 0]);
    assert!(play.vouches(minutes(70)));
    // Who is not to hold anything for it leaves it alone.
    play.survey = told((100, OWNER), &[OWNER, 130, 135], &[]);
    play.custodian = holder();
    assert_eq!(play.at(minutes(300)), [("compare", OWNER), ("release", HERE)]);
}

#[test]
fn what_was_on_its_way_to_an_owner_is_no_lie() {
    let mut play = Play::new(told((100, OWNER), &[OWNER, 130, HERE], &[]));
    play.custodian.stray_came(minutes(10));
    // It lacks something when it is asked, is brought it, and has it.
    let mut audits = 0;
    for _ in 0..100 {
        play.custodian.handle_timeout(minutes(10));
        let Some(order) = play.custodian.poll_order() else { break };
        let mut surveys = audits == 0;
        let mut outcome = play.outcome(&order, &mut surveys);
        if play.seen.last() == Some(&("audit", OWNER)) && audits == 0 {
            (audits, outcome) = (1, Outcome::Wrong);
        }
        play.custodian.handle_outcome(minutes(10), order.id, outcome);
    }
    assert_eq!(play.seen, [("audit", OWNER), ("compare", OWNER), ("audit", OWNER)]);
    assert_eq!(play.distrusted(), [0u8; 0]);
}

#[test]
fn beside_an_owner_that_fails_its_audits_enough_others_hold_everything() {
    let mut play = Play::new(told((100, OWNER), &[OWNER, 130, HERE], &[]));
    play.wrong = vec![OWNER];
    let found = [("audit", OWNER), ("compare", OWNER), ("audit", OWNER)];
    // The others of the three, without the liar: those it names, and the next.
    let copied = [("compare", 130), ("audit", 130), ("compare", 150), ("audit", 150)];
    assert_eq!(play.at(minutes(10)), [found.as_slice(), copied.as_slice()].concat());
    assert_eq!(play.distrusted(), [OWNER]);
    assert!(!play.vouches(minutes(10)), "who lets go would rely on a liar");
    // Again and again, as long as it fails.
    assert_eq!(play.at(minutes(19)), []);
    assert_eq!(play.at(minutes(20)), [[("audit", OWNER)].as_slice(), copied.as_slice()].concat());
    // It has it again.
    play.wrong.clear();
    assert_eq!(play.at(minutes(30)), [("audit", OWNER)]);
    assert_eq!(play.distrusted(), [0u8; 0]);
    assert!(play.vouches(minutes(30)));
}

#[test]
fn one_that_is_away_keeps_its_place_for_the_grace_and_one_that_lies_has_none() {
    let mut play = Play::new(told((100, OWNER), &[OWNER, 130, HERE], &[]));
    play.wrong = vec![OWNER];
    play.at(minutes(10));
    play.away = vec![130];
    let short = [("audit", OWNER), ("compare", 130), ("compare", 150), ("audit", 150)];
    assert_eq!(play.at(minutes(20)), short);
    assert_eq!(play.at(minutes(30)), short);
    let long = [short.as_slice(), &[("compare", 160), ("audit", 160)]].concat();
    assert_eq!(play.at(minutes(40)), long);
    // Accomplices are audited too.
    (play.away, play.wrong) = (vec![], vec![OWNER, 130]);
    let lying = [("audit", OWNER), ("compare", 130), ("audit", 130), ("compare", 150), ("audit", 150)];
    assert_eq!(play.at(minutes(50)), [lying.as_slice(), &[("compare", 160), ("audit", 160)]].concat());
}

#[test]
fn one_that_leaves_its_audits_unanswered_is_distrusted_after_an_hour_of_it() {
    let mut play = Play::new(told((100, OWNER), &[OWNER, 130, HERE], &[]));
    play.silent = vec![OWNER];
    for minute in 10..70 {
        play.at(minutes(minute));
        assert_eq!(play.distrusted(), [0u8; 0], "after {minute} minutes");
    }
    play.at(minutes(70));
    assert_eq!(play.distrusted(), [OWNER]);
}

#[test]
fn an_owner_that_is_being_filled_is_left_in_peace_for_a_day() {
    let mut play = Play::new(told((100, OWNER), &[130, HERE], &[OWNER]));
    play.wrong = vec![OWNER];
    assert_eq!(play.at(minutes(10)), []);
    assert_eq!(play.at(minutes(120)), []);
    assert_eq!(play.at(minutes(240)), []);
    for hour in 5..24 {
        assert_eq!(play.at(minutes(60 * hour)), []);
    }
    assert_ne!(play.at(minutes(60 * 24 + 10)), []);
}

#[test]
fn a_distrusted_owner_cannot_have_us_let_go_nor_copy_what_is_not_its_own() {
    let mut play = Play::new(told((100, OWNER), &[OWNER, 130, HERE], &[]));
    play.wrong = vec![OWNER];
    play.at(minutes(10));
    // It names others instead of us.
    play.survey = told((100, OWNER), &[OWNER, 130, 150], &[]);
    assert!(!play.at(minutes(20)).contains(&("release", HERE)));
    assert_eq!(play.distrusted(), [OWNER]);
    // It says that the whole circle is its own.
    play.survey = told((OWNER, OWNER), &[OWNER, 130, HERE], &[]);
    play.at(minutes(30));
    let arcs: Vec<(Id, Id)> = play.custodian.distrusted_owners().map(|(_, arc)| arc).collect();
    assert_eq!(arcs, [(Id::small(HERE), Id::small(OWNER))], "at least ours is not");
}

#[test]
fn who_takes_the_place_of_a_distrusted_owner_begins_anew() {
    let mut play = Play::new(told((100, OWNER), &[OWNER, 130, HERE], &[]));
    play.wrong = vec![OWNER];
    play.at(minutes(10));
    let Outcome::Surveyed(Survey::Found { piece, mut holders, .. }) = told((100, 130), &[130, HERE, 150], &[]) else {
        panic!()
    };
    holders.arc.1 = Id::small(130);
    play.survey = Outcome::Surveyed(Survey::Found { piece, owner: machine(130), holders });
    play.at(minutes(20));
    assert_eq!(play.distrusted(), [0u8; 0]);
    assert!(play.vouches(minutes(20)));
    // Or we do.
    let mut play = Play::new(told((100, OWNER), &[OWNER, 130, HERE], &[]));
    play.wrong = vec![OWNER];
    play.at(minutes(10));
    play.custodian.set_arc(minutes(11), &machine(HERE), (Id::small(100), Id::small(HERE)));
    assert_eq!(play.distrusted(), [0u8; 0]);
}
