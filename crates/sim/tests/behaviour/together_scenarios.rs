//! The rules of a crawl's end that storms seldom or never put to the test: for each a story in which it alone keeps the end from being called too soon, or
//! for good. Each is told twice, with the rule and without it.

use herodotus_links::Planted;
use herodotus_links::end::Phase;
use herodotus_sim::together::{Cast, Hold, Stage, Web};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// What each end left out, a few minutes later.
fn ends(mut stage: Stage) -> Vec<Vec<String>> {
    stage.run_for(120 * SECOND);
    stage.left_out().to_vec()
}

/// B takes over from A, which has died with p in its queue, and knows of p; but that its part knows, too, takes ten seconds.
fn a_queue_is_taken_over_slowly(planted: Planted) -> Vec<Vec<String>> {
    let cast = Cast::of(4);
    let [watch, a, b, c] = cast.machines();
    let (s, p) = (&*cast.page(watch, "s"), &*cast.page(a, "p"));
    let mut stage = Stage::new(&cast, Web::of(&[(s, &[p]), (p, &[])]), planted);
    stage.hold(Hold::Batches { from: watch, to: a });
    stage.begin(&[s]);
    stage.run_until("all have taken over, and p is found", |stage| stage.has_visited(s) && stage.unsent(watch) == 1);
    stage.run_for(3 * SECOND);
    stage.release(Hold::Batches { from: watch, to: a });
    stage.run_until("A has p, and B has its record", |stage| stage.knows(b, p) && stage.unsent(watch) == 0);
    assert!(!stage.has_visited(p), "it is under way");
    stage.crash(a);
    stage.leave(a);
    stage.keep_unfilled(b);
    stage.tell(&[watch, b, c]);
    stage.run_for(2 * SECOND);
    assert_eq!(stage.left_out(), [[""; 0]; 0], "nobody answers for A's arc");
    stage.adopt_for(b, 10 * SECOND);
    stage.fill(b);
    ends(stage)
}

#[test]
fn who_takes_over_answers_for_an_arc_only_when_its_part_knows_what_was_known_there() {
    assert_eq!(a_queue_is_taken_over_slowly(Planted::Nothing), [[""; 0]]);
    assert_eq!(a_queue_is_taken_over_slowly(Planted::AnswersEarly)[0], ["p"]);
}

/// A takes p in and loses its power before anybody else has the record; it is paused meanwhile, so that A knows all of its arc before its part begins again (a part that begins
/// sooner gives away what is in its queue, and then takes it in as if it were new). A is sent p again, which it knows, and is lost for good.
fn power_is_lost_between_a_link_and_its_copy(planted: Planted) -> Vec<Vec<String>> {
    let cast = Cast::of(4);
    let [watch, a, b, c] = cast.machines();
    let (s, p) = (&*cast.page(watch, "s"), &*cast.page(a, "p"));
    let mut stage = Stage::new(&cast, Web::of(&[(s, &[p]), (p, &[])]), planted);
    let (batches, records) = (Hold::Batches { from: watch, to: a }, Hold::Records { from: a });
    stage.hold(records);
    stage.begin(&[s]);
    stage.run_until("A has p, and gives its record to others", |stage| !stage.held(records).is_empty());
    stage.say(Phase::Paused);
    stage.run_for(2 * MILLISECOND);
    assert_eq!((stage.knows(a, p), stage.unsent(watch)), (true, 1), "it is not acknowledged");
    stage.crash_without_power(a);
    stage.hold(batches);
    stage.restart(a);
    stage.run_until("p is sent again", |stage| !stage.held(batches).is_empty());
    stage.say(Phase::Running);
    stage.run_for(2 * MILLISECOND);
    stage.release(batches);
    stage.run_for(3 * MILLISECOND);
    assert!(!stage.has_visited(p), "it is under way");
    stage.crash(a);
    stage.leave(a);
    stage.tell(&[watch, b, c]);
    ends(stage)
}

#[test]
fn a_link_is_acknowledged_again_only_if_its_record_outlived_the_loss_of_power() {
    assert_eq!(power_is_lost_between_a_link_and_its_copy(Planted::Nothing), [[""; 0]]);
    assert_eq!(power_is_lost_between_a_link_and_its_copy(Planted::RecordsUnsynced)[0], ["p"]);
}

/// M rests when it is asked, is given p by X, which rests when it is asked later, and crashes. Before it is asked again, which takes its time, it has visited p in its second life; it gives q to X, which has answered a second time by then,
/// and rests again when it is asked. What it counted in that life is less than in the first or, as p came `doubles` times more, as much: whether it said the same twice comes back, too.
fn a_machine_works_between_two_answers_in_another_life(planted: Planted, doubles: usize) -> (bool, Vec<Vec<String>>) {
    let cast = Cast::of(3);
    let [watch, x, m] = cast.machines();
    // M has more to count before it is asked than after it comes back.
    let early: [String; 8] = std::array::from_fn(|n| cast.page(m, &format!("early{n}")));
    let (s, p, q) = (cast.page(x, "s"), cast.page(m, "p"), cast.page(x, "q"));
    let chain: Vec<&str> = early.iter().chain([&s, &p, &q]).map(|url| &**url).collect();
    let pages: Vec<(&str, &[&str])> =
        (0..chain.len()).map(|at| (chain[at], &chain[at + 1..chain.len().min(at + 2)])).collect();
    let mut stage = Stage::new(&cast, Web::of(&pages), planted);
    let (asks_m, asks_x) = (Hold::Questions { to: m }, Hold::Questions { to: x });
    let (to_m, to_x) = (Hold::Batches { from: x, to: m }, Hold::Batches { from: m, to: x });
    stage.hold(to_m);
    stage.begin(&chain[..1]);
    stage.run_until("p is under way", |stage| !stage.held(to_m).is_empty());
    let batch = stage.held(to_m)[0].clone();
    // A host that was just visited is looked at once more: X rests a moment later.
    stage.run_for(SECOND / 2);

    stage.hold(to_x);
    stage.hold(asks_x);
    let rests = |stage: &Stage, wave: u64, slot: usize| {
        stage.answer(wave, slot).is_some_and(|part| part.is_idle && part.unsent == 0 && !part.arcs.is_empty())
    };
    let asked = |stage: &Stage, hold: Hold| stage.held_wave(hold).unwrap_or_default();
    stage.run_until("M has said that it rests", |stage| rests(stage, asked(stage, asks_x), m));
    let first = asked(&stage, asks_x);
    stage.release(to_m);
    stage.run_until("M has p", |stage| stage.unsent(x) == 0);
    stage.release(asks_x);
    stage.run_until("X has said that it rests", |stage| rests(stage, first, x));
    stage.freeze(watch);
    stage.crash(m);
    stage.restart(m);
    stage.run_until("q is under way", |stage| !stage.held(to_x).is_empty());
    // Until M answers for its arc again.
    stage.run_for(2 * SECOND);
    stage.hold(asks_m);
    stage.thaw(watch);
    stage.run_until("X has said twice that it rests", |stage| rests(stage, first + 1, x));
    stage.release(to_x);
    (0..doubles).for_each(|_| stage.bring(&batch));
    stage.run_until("X has q", |stage| stage.unsent(m) == 0);
    assert!(!stage.has_visited(&q), "it is under way");
    stage.release(asks_m);
    stage.run_until("M has said twice that it rests", |stage| rests(stage, first + 1, m));
    let said = [first, first + 1].map(|wave| stage.answer(wave, m).map(|part| part.activity));
    (said[0] == said[1], ends(stage))
}

#[test]
fn what_a_machine_counted_in_one_life_says_nothing_of_another() {
    let told =
        |planted| (0..24).map(move |doubles| a_machine_works_between_two_answers_in_another_life(planted, doubles));
    let right = (false, vec![Vec::<String>::new()]);
    assert!(told(Planted::Nothing).all(|told| told == right));
    let (alike, others): (Vec<_>, Vec<_>) = told(Planted::LivesAlike).partition(|(is_alike, _)| *is_alike);
    assert!(others.iter().all(|told| *told == right), "{others:?}");
    assert!(!alike.is_empty() && alike.iter().all(|(_, ends)| ends[0] == ["q"]), "{alike:?}");
}

/// M has left the ring, which has not come round to the watch: it is sent q, and crashes before it has sent it on. The others end without it; then M comes back.
fn a_link_walks_through_a_machine_that_is_away(planted: Planted) -> Vec<Vec<String>> {
    let cast = Cast::of(4);
    let [watch, m, b, c] = cast.machines();
    let (s, q) = (&*cast.page(watch, "s"), &*cast.page(m, "q"));
    let mut stage = Stage::new(&cast, Web::of(&[(s, &[q]), (q, &[])]), planted);
    stage.leave(m);
    stage.tell(&[m, b, c]);
    for to in [watch, b, c] {
        stage.hold(Hold::Batches { from: m, to });
    }
    stage.begin(&[s]);
    stage.run_until("q is with M", |stage| stage.unsent(m) == 1 && stage.has_visited(s) && stage.unsent(watch) == 0);
    stage.crash(m);
    stage.tell(&[watch]);
    stage.run_until("it is called complete", |stage| !stage.left_out().is_empty());
    stage.run_for(5 * SECOND);
    for to in [watch, b, c] {
        stage.release(Hold::Batches { from: m, to });
    }
    stage.restart(m);
    ends(stage)
}

#[test]
fn a_crawl_that_was_called_complete_goes_on_when_a_machine_comes_back_with_a_link() {
    assert_eq!(a_link_walks_through_a_machine_that_is_away(Planted::Nothing), [vec!["q"], vec![]]);
    assert_eq!(a_link_walks_through_a_machine_that_is_away(Planted::EndIsFinal), [["q"]]);
}

/// M has left the ring and does not know, nor does it know B, which comes after it: it takes p in and gives the record to those behind B, and is lost. The others end without p; then
/// copies are compared, and B hears of it.
fn a_record_reaches_its_owner_after_the_end(planted: Planted) -> Vec<Vec<String>> {
    let cast = Cast::of(5);
    let [watch, m, b, d, e] = cast.machines();
    let (s, p) = (&*cast.page(watch, "s"), &*cast.page(m, "p"));
    let mut stage = Stage::new(&cast, Web::of(&[(s, &[p]), (p, &[])]), planted);
    stage.leave(b);
    stage.tell(&[m]);
    stage.join(b);
    stage.leave(m);
    stage.tell(&[b, d, e]);
    stage.begin(&[s]);
    stage.run_until("D has the record of p", |stage| stage.knows(d, p) && stage.unsent(watch) == 0);
    assert!(!stage.knows(b, p) && !stage.has_visited(p));
    stage.crash(m);
    stage.tell(&[watch]);
    stage.run_until("it is called complete", |stage| !stage.left_out().is_empty());
    stage.run_for(5 * SECOND);
    stage.compare_copies();
    ends(stage)
}

#[test]
fn a_crawl_that_was_called_complete_goes_on_when_a_record_of_something_left_to_do_turns_up() {
    assert_eq!(a_record_reaches_its_owner_after_the_end(Planted::Nothing), [vec!["p"], vec![]]);
    assert_eq!(a_record_reaches_its_owner_after_the_end(Planted::EndIsFinal), [["p"]]);
}
