//! Comparisons of two machines in memory, every message through the wire's form, against what sets say their difference is.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use herodotus_base::Id;
use herodotus_replica::compare::limits::{CONFIRMED_MAX, LIST_MAX};
use herodotus_replica::compare::{
    Answer, Ask, Comparison, Confirmation, Confirmed, Error, Found, Holdings, Question, Reply, Share, Short, Span,
    Spans, Step, answer, names_asked, resolve,
};
use herodotus_replica::{Mark, Sum};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

type Held = BTreeMap<Id, BTreeSet<Mark>>;
type Entries = BTreeSet<(Id, Mark)>;

/// The transport's limit for a call.
const CALL_BYTES_MAX: usize = 1 << 20;

fn mix(number: u64) -> u64 {
    let a = (number ^ (number >> 30)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    b ^ (b >> 31)
}

/// Like a digest, but cheap: there are millions.
fn mark(number: u64) -> Mark {
    let (high, low) = (u128::from(mix(number)), u128::from(mix(number ^ 0xabcd_0000_0000)));
    Mark((high << 64 | low).to_be_bytes())
}

fn place(number: u64) -> Id {
    let mut bytes = [0; 32];
    for (at, chunk) in bytes.chunks_exact_mut(8).enumerate() {
        chunk.copy_from_slice(&mix(number * 4 + at as u64 + 1).to_be_bytes());
    }
    Id(bytes)
}

fn held(numbers: impl Iterator<Item = u64>, places: u64) -> Held {
    let mut held = Held::new();
    numbers.for_each(|number| _ = held.entry(place(number % places)).or_default().insert(mark(number)));
    held
}

fn forget(held: &mut Held, number: u64, places: u64) {
    let place = place(number % places);
    let marks = held.get_mut(&place).unwrap();
    assert!(marks.remove(&mark(number)));
    if marks.is_empty() {
        held.remove(&place);
    }
}

fn on(held: &Held, span: Span) -> Entries {
    held.marks(span).map(Result::unwrap).collect()
}

#[derive(Default, Debug)]
struct Outcome {
    lacking_here: Entries,
    lacking_there: Entries,
    unknown: usize,
    bytes: usize,
    rounds: usize,
    largest: usize,
}

impl Outcome {
    /// Over the wire, there and back.
    fn exchange(&mut self, there: &Held, question: &Question) -> Result<Answer, Error<Infallible>> {
        let asked = postcard::to_stdvec(question).unwrap();
        let answer = answer(there, &postcard::from_bytes(&asked).unwrap())?;
        let answered = postcard::to_stdvec(&answer).unwrap();
        self.rounds += 1;
        self.bytes += asked.len() + answered.len();
        self.largest = self.largest.max(asked.len()).max(answered.len());
        Ok(postcard::from_bytes(&answered).unwrap())
    }

    fn note(&mut self, salt: u64, here: &Held, there: &Held, found: Found) {
        match found {
            Found::OnlyThere(spans) => spans.iter().for_each(|span| self.lacking_here.extend(on(there, *span))),
            Found::OnlyHere(spans) => spans.iter().for_each(|span| self.lacking_there.extend(on(here, *span))),
            Found::Each { spans, lacking_here, lacking_there } => {
                self.lacking_there.extend(lacking_there);
                self.unknown += lacking_here.len();
                for question in names_asked(salt, &spans, &lacking_here) {
                    let Answer::V1(Reply::Names(names)) = self.exchange(there, &question).unwrap() else { panic!() };
                    for (place, marks) in names {
                        self.unknown -= marks.len();
                        self.lacking_here.extend(marks.into_iter().map(|mark| (place, mark)));
                    }
                }
            }
        }
    }
}

fn compare(here: &Held, there: &Held, span: Span, salt: u64) -> Outcome {
    let (mut comparison, mut outcome, mut answer) = (Comparison::new(span, salt), Outcome::default(), None);
    loop {
        match comparison.next(here, answer.take()).unwrap() {
            Step::Ask(question) => answer = Some(outcome.exchange(there, &question).unwrap()),
            Step::Found(found) => outcome.note(salt, here, there, found),
            Step::Done => return outcome,
        }
    }
}

/// Both ways round, and that nothing was too large.
fn check(a: &Held, b: &Held, span: Span) -> Outcome {
    for (here, there) in [(b, a), (a, b)] {
        let outcome = compare(here, there, span, 7);
        let (ours, theirs) = (on(here, span), on(there, span));
        assert!(outcome.lacking_there == ours.difference(&theirs).copied().collect());
        assert!(outcome.lacking_here == theirs.difference(&ours).copied().collect());
        assert_eq!(outcome.unknown, 0);
        assert!(outcome.largest < CALL_BYTES_MAX, "{}", outcome.largest);
        if here == a {
            return outcome;
        }
    }
    unreachable!()
}

/// So many different numbers below `entries`.
fn drawn(entries: u64, count: u64) -> BTreeSet<u64> {
    let mut drawn = BTreeSet::new();
    let mut numbers = (1u64..).map(|number| mix(number) % entries);
    while (drawn.len() as u64) < count {
        drawn.extend(numbers.next());
    }
    drawn
}

/// Two sets of which each lacks every other one of these.
fn lacking(entries: u64, places: u64, lacks: impl IntoIterator<Item = u64>) -> (Held, Held) {
    let mut here = held(0..entries, places);
    let mut there = here.clone();
    for (index, number) in lacks.into_iter().enumerate() {
        forget(if index % 2 == 0 { &mut here } else { &mut there }, number, places);
    }
    (here, there)
}

#[test]
fn equal_sets_are_one_question() {
    for places in [1, 50, 3000] {
        let (here, there) = lacking(3000, places, []);
        let outcome = check(&here, &there, Span::WHOLE);
        assert_eq!(outcome.rounds, 1);
        assert!(outcome.bytes < 120, "{}", outcome.bytes);
    }
    check(&Held::new(), &Held::new(), Span::WHOLE);
}

#[test]
fn nothing_against_something_is_one_question_and_no_list() {
    for places in [1, 3000] {
        let full = held(0..20_000, places);
        let outcome = check(&Held::new(), &full, Span::WHOLE);
        assert_eq!((outcome.rounds, outcome.lacking_here.len()), (1, 20_000));
        let outcome = check(&full, &Held::new(), Span::WHOLE);
        assert_eq!((outcome.rounds, outcome.lacking_there.len()), (1, 20_000));
    }
}

#[test]
fn almost_nothing_against_much_costs_a_short_id_for_each_entry_at_most() {
    for places in [1, 3000] {
        let (full, few) = (held(0..200_000, places), held(199_990..200_010, places));
        let outcome = compare(&few, &full, Span::WHOLE, 7);
        let names = 200_000 * (8 + 49);
        assert!(outcome.bytes < names + 200_000 * 9 + 10_000, "{}", outcome.bytes);
        let outcome = check(&full, &few, Span::WHOLE);
        // Here the list is the short one, and what is lacking there comes in parts.
        assert!(outcome.bytes < 10_000, "{}", outcome.bytes);
    }
}

#[test]
fn differences_are_found_wherever_they_are() {
    for places in [1, 7, 400, 20_000] {
        for differences in [1, 2, 10, 100, 1000] {
            let (here, there) = lacking(20_000, places, drawn(20_000, differences));
            let outcome = check(&here, &there, Span::WHOLE);
            assert_eq!(outcome.lacking_here.len() + outcome.lacking_there.len(), differences as usize);
        }
    }
}

#[test]
fn differences_at_one_place_cost_what_they_cost_elsewhere() {
    for differences in [1, 10, 1000] {
        let (here, there) = lacking(100_000, 50, (0..differences).map(|number| number * 50));
        let outcome = check(&here, &there, Span::WHOLE);
        assert!(outcome.bytes < 10_000 + 100 * differences as usize, "{outcome:?}");
    }
}

#[test]
fn an_arc_may_lead_over_zero_and_what_is_off_it_does_not_matter() {
    let (here, there) = lacking(20_000, 500, drawn(20_000, 300));
    for (from, to) in [(200, 30), (30, 200), (255, 0), (0, 255), (128, 127), (77, 77)] {
        check(&here, &there, Span::new(Id::small(from), Id::small(to)));
    }
    let (first, last) = (*here.keys().next().unwrap(), *here.keys().last().unwrap());
    for (from, to) in [(first, last), (last, first), (first, first), (last, last)] {
        check(&here, &there, Span::new(from, to));
    }
    check(&here, &there, Span::at(first));
}

#[test]
fn an_entry_that_changed_is_lacking_on_both_sides() {
    let (mut here, mut there) = (held(0..1000, 10), held(0..1000, 10));
    here.get_mut(&place(3)).unwrap().insert(mark(5_000_000));
    there.get_mut(&place(3)).unwrap().insert(mark(6_000_000));
    let outcome = check(&here, &there, Span::WHOLE);
    assert_eq!(outcome.lacking_here, [(place(3), mark(6_000_000))].into());
    assert_eq!(outcome.lacking_there, [(place(3), mark(5_000_000))].into());
}

/// The goal of issue 6: under 100 bytes for each difference and 10 KB in all, with the names of what is lacking here.
fn keeps_to_the_goal(places: u64) {
    for differences in [0, 10, 1000, 100_000] {
        let (here, there) = lacking(1_000_000, places, drawn(1_000_000, differences));
        let outcome = compare(&here, &there, Span::WHOLE, differences);
        assert_eq!(outcome.lacking_here.len() + outcome.lacking_there.len(), differences as usize);
        assert!(outcome.bytes < 10_000 + 100 * differences as usize, "{} for {differences}", outcome.bytes);
        assert!(outcome.largest < CALL_BYTES_MAX, "{}", outcome.largest);
        let naming = differences.div_ceil(1 << 14) as usize + 4;
        assert!(outcome.rounds <= 12 + naming, "{} for {differences}", outcome.rounds);
    }
}

#[test]
fn a_million_entries_at_one_place_keep_to_the_goal() {
    keeps_to_the_goal(1);
}

#[test]
fn a_million_entries_at_ten_thousand_places_keep_to_the_goal() {
    keeps_to_the_goal(10_000);
}

fn small_sets() -> impl Strategy<Value = (Held, Held)> {
    let entries = || prop::collection::vec(0..600u64, 0..400);
    (entries(), entries(), entries(), prop::sample::select(vec![1, 2, 9, 600])).prop_map(
        |(both, ours, theirs, places)| {
            let side = |own: Vec<u64>| held(both.iter().copied().chain(own), places);
            (side(ours), side(theirs))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_found_is_the_difference((here, there) in small_sets(), from in 0..20u64, to in 0..20u64) {
        check(&here, &there, Span::new(place(from), place(to)));
    }

    #[test]
    fn any_bytes_may_be_a_question(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let held = held(0..100, 5);
        if let Ok(question) = postcard::from_bytes::<Question>(&bytes) {
            let _ = answer(&held, &question);
        }
    }

    /// A peer that spoils every answer, each in another place.
    #[test]
    fn spoiled_answers_end_in_an_error_or_in_ids_that_nobody_knows(
        (here, there) in small_sets(), spoils in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..12)
    ) {
        let (mut comparison, mut answered, mut spoils) = (Comparison::new(Span::WHOLE, 1), None, spoils.into_iter().cycle());
        for questions in 0.. {
            prop_assert!(questions < 100, "it goes on and on");
            match comparison.next(&here, answered.take()) {
                Ok(Step::Ask(question)) => {
                    let mut bytes = postcard::to_stdvec(&answer(&there, &question).unwrap()).unwrap();
                    let (at, with) = spoils.next().unwrap();
                    let at = at.index(bytes.len());
                    bytes[at] ^= with;
                    match postcard::from_bytes(&bytes) {
                        Ok(spoiled) => answered = Some(spoiled),
                        Err(_) => break,
                    }
                }
                Ok(Step::Found(_)) => {}
                Ok(Step::Done) | Err(_) => break,
            }
        }
    }
}

/// Asks until it ends, with a liar's answers.
fn against(here: &Held, mut lie: impl FnMut(&Ask) -> Reply) -> (u32, Result<(), Error<Infallible>>) {
    let (mut comparison, mut answer) = (Comparison::new(Span::WHOLE, 1), None);
    for questions in 0.. {
        match comparison.next(here, answer.take()) {
            Ok(Step::Ask(Question::V1(ask))) => answer = Some(Answer::V1(lie(&ask))),
            Ok(Step::Found(_)) => {}
            Ok(Step::Done) => return (questions, Ok(())),
            Err(error) => {
                assert_eq!(comparison.next(here, None), Err(Error::Over), "no end after an error");
                return (questions, Err(error));
            }
        }
    }
    unreachable!()
}

/// Honest answers, but for what a lie makes of them.
fn bent(there: &Held, ask: &Ask, bend: impl FnOnce(&mut Reply)) -> Reply {
    let Answer::V1(mut reply) = answer(there, &Question::V1(ask.clone())).unwrap();
    bend(&mut reply);
    reply
}

#[test]
fn symbols_of_nothing_end_the_comparison() {
    let (here, there) = lacking(30_000, 1, drawn(30_000, 20));
    let mut seed = 0;
    let (questions, end) = against(&here, |ask| {
        bent(&there, ask, |reply| {
            if let Reply::Symbols { symbols, .. } = reply {
                for symbol in symbols {
                    seed += 1;
                    symbol.sum = mix(seed).to_be_bytes();
                }
            }
            if let Reply::List(shorts) = reply {
                for short in shorts {
                    seed += 1;
                    short.0 = mix(seed).to_be_bytes();
                }
            }
        })
    });
    // In the end it asks for the list, and whatever is on it is of no use to anybody.
    assert!(questions < 60, "{questions}");
    assert!(matches!(end, Ok(()) | Err(Error::Peer(_))), "{end:?}");
}

#[test]
fn counts_that_nobody_has_end_the_comparison() {
    let here = held(0..3000, 100);
    for entries in [1, 1 << 20, 1 << 40, u64::MAX] {
        let (questions, end) = against(&here, |ask| match ask {
            Ask::List { .. } => Reply::TooMany,
            Ask::Symbols { from, until, .. } => bent(&here, ask, |reply| {
                if let Reply::Symbols { entries: claimed, symbols, .. } = reply {
                    *claimed = entries;
                    assert_eq!(symbols.len(), (*from..*until).len());
                    symbols.iter_mut().for_each(|symbol| symbol.beyond = i64::MIN);
                }
            }),
            _ => bent(&Held::new(), ask, |reply| {
                let Reply::Cut(cuts) = reply else { return };
                for piece in cuts.iter_mut().flat_map(|cut| &mut cut.pieces) {
                    (piece.entries, piece.fingerprint) = (entries, [9; 6]);
                }
            }),
        });
        assert!(end.is_err() && questions < 17_000, "{questions} {end:?}");
    }
}

#[test]
fn an_answer_to_something_else_is_an_error() {
    let here = held(0..3000, 100);
    for reply in [Reply::TooMany, Reply::List(Vec::new()), Reply::Cut(Vec::new()), Reply::Held(Vec::new())] {
        assert!(matches!(against(&here, |_| reply.clone()), (1, Err(Error::Peer(_)))));
    }
    let mut comparison = Comparison::new(Span::WHOLE, 1);
    assert!(comparison.next(&here, Some(Answer::V1(Reply::Same))).is_err());
}

#[test]
fn questions_that_ask_too_much_are_refused() {
    let held = held(0..3000, 100);
    let (salt, spans, share) = (1, Spans::pack(&[Span::WHOLE]), Share::default());
    let refused = |ask: Ask| matches!(answer(&held, &Question::V1(ask)), Err(Error::Peer(_)));
    let symbols = |from, until, share| refused(Ask::Symbols { salt, spans: spans.clone(), share, from, until });
    assert!(!symbols(0, 1, share));
    assert!(symbols(0, u32::MAX, share) && symbols(0, 60_001, share) && symbols(200_000, 200_001, share));
    assert!(symbols(5, 5, share) && symbols(6, 5, share));
    assert!(symbols(0, 1, Share { bits: 200, value: 0 }) && symbols(0, 1, Share { bits: 1, value: 2 }));
    assert!(refused(Ask::List { salt, spans: Spans::pack(&[Span::WHOLE, Span::WHOLE]), share }));
    assert!(refused(Ask::Names { salt, spans: spans.clone(), shorts: vec![Short([0; 8]); 20_000] }));
    assert!(refused(Ask::HoldsSums { places: vec![(place(1), Sum::default()); 2] }));
    assert!(refused(Ask::HoldsMarks { places: vec![(place(1), vec![mark(1); 20_000])] }));
    assert!(refused(Ask::HoldsMarks { places: vec![(place(1), Vec::new()); 2] }));
}

#[test]
fn a_question_that_was_lost_is_asked_again() {
    let (here, there) = lacking(30_000, 300, drawn(30_000, 5000));
    let (mut comparison, mut outcome, mut answer) = (Comparison::new(Span::WHOLE, 1), Outcome::default(), None);
    loop {
        match comparison.next(&here, answer.take()).unwrap() {
            Step::Ask(question) => {
                assert_eq!(comparison.next(&here, None).unwrap(), Step::Ask(question.clone()));
                answer = Some(outcome.exchange(&there, &question).unwrap());
            }
            Step::Found(found) => outcome.note(1, &here, &there, found),
            Step::Done => break,
        }
    }
    assert_eq!(outcome.lacking_here.len() + outcome.lacking_there.len(), 5000);
}

#[test]
fn what_is_written_meanwhile_spoils_nothing() {
    let (here, mut there) = lacking(50_000, 20, drawn(50_000, 2000));
    let (missing, surplus): (Entries, Entries) =
        (&on(&there, Span::WHOLE) - &on(&here, Span::WHOLE), &on(&here, Span::WHOLE) - &on(&there, Span::WHOLE));
    let (mut comparison, mut outcome, mut answer) = (Comparison::new(Span::WHOLE, 1), Outcome::default(), None);
    for number in 0.. {
        assert!(number < 40);
        match comparison.next(&here, answer.take()).unwrap() {
            Step::Ask(question) => {
                answer = Some(outcome.exchange(&there, &question).unwrap());
                // It never stands still.
                there.get_mut(&place(number % 20)).unwrap().insert(mark(1_000_000 + number));
            }
            Step::Found(found) => outcome.note(1, &here, &there, found),
            Step::Done => break,
        }
    }
    assert!(outcome.lacking_here.is_superset(&missing) && outcome.lacking_here.len() < missing.len() + 40);
    assert_eq!(outcome.lacking_there, surplus);
}

#[test]
fn what_lacks_there_after_a_list_comes_in_parts() {
    let (here, there) = (held(0..200_000, 1), held(0..10, 1));
    let (mut comparison, mut outcome, mut answer, mut parts) =
        (Comparison::new(Span::WHOLE, 1), Outcome::default(), None, 0);
    loop {
        match comparison.next(&here, answer.take()).unwrap() {
            Step::Ask(question) => answer = Some(outcome.exchange(&there, &question).unwrap()),
            Step::Found(Found::Each { lacking_there, .. }) => {
                assert!(lacking_there.len() <= 1 << 16);
                parts += 1;
                outcome.lacking_there.extend(lacking_there);
            }
            Step::Found(other) => panic!("{other:?}"),
            Step::Done => break,
        }
    }
    assert_eq!((outcome.lacking_there.len(), parts), (199_990, 4));
}

#[test]
fn a_list_is_never_longer_than_an_answer_may_be() {
    let held = held(0..LIST_MAX as u64 + 1, 1);
    let ask = |share| Question::V1(Ask::List { salt: 1, spans: Spans::pack(&[Span::WHOLE]), share });
    assert_eq!(answer(&held, &ask(Share::default())), Ok(Answer::V1(Reply::TooMany)));
    let Ok(Answer::V1(Reply::List(half))) = answer(&held, &ask(Share { bits: 1, value: 0 })) else { panic!() };
    assert!((49_000..51_000).contains(&half.len()));
}

#[test]
fn short_ids_that_nobody_has_resolve_to_nothing() {
    let held = held(0..100, 3);
    assert_eq!(resolve(&held, 1, &[Span::WHOLE], &[Short([7; 8])]), Ok(Vec::new()));
}

/// What the other holds of these, and how many questions it took.
fn confirm(there: &Held, entries: &Entries) -> (Entries, Entries, usize) {
    let (mut confirmation, mut outcome, mut answer) =
        (Confirmation::new(entries.iter().copied()).unwrap(), Outcome::default(), None);
    loop {
        match confirmation.next(answer.take()).unwrap() {
            Confirmed::Ask(question) => answer = Some(outcome.exchange(there, &question).unwrap()),
            Confirmed::Done { held, lacking } => {
                assert!(outcome.largest < CALL_BYTES_MAX);
                return (held.into_iter().collect(), lacking.into_iter().collect(), outcome.rounds);
            }
        }
    }
}

/// The same places and counts.
fn held_otherwise(held: &Held) -> Held {
    held.iter().map(|(place, marks)| (*place, (0..marks.len() as u64).map(|n| mark(1 << 40 | n)).collect())).collect()
}

#[test]
fn entries_are_confirmed_by_sums_where_they_are_all_and_by_marks_elsewhere() {
    let (here, there) = (held(0..2000, 40), held(0..2500, 40));
    let all = on(&here, Span::WHOLE);
    assert_eq!(confirm(&here, &all), (all.clone(), Entries::new(), 1));
    // The other holds more: not by the sums, then.
    assert_eq!(confirm(&there, &all), (all.clone(), Entries::new(), 2));
    let more = on(&there, Span::WHOLE);
    let (confirmed, lacking, rounds) = confirm(&here, &more);
    assert_eq!((confirmed, rounds), (all.clone(), 2));
    assert_eq!(lacking, &more - &all);
    assert_eq!(confirm(&Held::new(), &all), (Entries::new(), all.clone(), 2));
    assert_eq!(confirm(&here, &Entries::new()), (Entries::new(), Entries::new(), 0));
    // As many, but others.
    let others = held_otherwise(&here);
    assert_eq!(confirm(&others, &all), (Entries::new(), all, 2));
}

#[test]
fn as_many_entries_as_may_be_are_confirmed_in_one_go_and_no_more() {
    for places in [1, 100_000] {
        let held = held(0..CONFIRMED_MAX as u64, places);
        let all = on(&held, Span::WHOLE);
        assert_eq!(confirm(&held, &all).0, all);
        assert_eq!(confirm(&Held::new(), &all).1, all);
        assert_eq!(Confirmation::new(all.into_iter().chain([(place(1), mark(1 << 50))])).err(), Some(Error::TooMany));
    }
}

#[test]
fn a_confirmation_of_another_length_confirms_nothing() {
    let entries = on(&held(0..20, 20), Span::WHOLE);
    for bits in [vec![], vec![255; 2], vec![255; 4]] {
        let mut confirmation = Confirmation::new(entries.iter().copied()).unwrap();
        confirmation.next(None).unwrap();
        assert!(confirmation.next(Some(Answer::V1(Reply::Held(bits)))).is_err());
    }
    let mut confirmation = Confirmation::new(entries.iter().copied()).unwrap();
    confirmation.next(None).unwrap();
    assert!(confirmation.next(Some(Answer::V1(Reply::Same))).is_err());
}
