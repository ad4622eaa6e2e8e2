//! What a comparison costs: bytes, questions and seconds for 0 to 100,000 differences in a million entries, at one place and at ten thousand, beside
//! the scheme of the Herodotus thesis (section on replication): 65,536 directories by the last two bytes of the URL's SHA-1, whose
//! SHA-1 over the list of (URL's SHA-1, day) is compared, and whose list is sent where it differs. It is counted in its favour: one side sends, a
//! day takes four bytes, nothing is spent on framing.
//!
//! `cargo run --release -p herodotus-replica --example compare_figures`

#![allow(clippy::unwrap_used, reason = "a program for figures may fail where it stands")]

use herodotus_base::Id;
use herodotus_replica::Mark;
use herodotus_replica::compare::{Answer, Comparison, Found, Question, Reply, Span, Step, answer, names_asked};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

type Held = BTreeMap<Id, BTreeSet<Mark>>;

const ENTRIES: u64 = 1_000_000;

fn main() {
    println!(
        "{ENTRIES} entries; half of the differences are lacking here, half there; bytes of both directions, without and with the names"
    );
    println!(
        "of what is lacking here (32 bytes of place, 16 of mark); seconds are of one core for each side, all in memory\n"
    );
    println!(
        "| places | differences | bytes to find | and to name | per difference | questions | and to name | seconds here | there | thesis bytes |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for places in [1, 10_000] {
        for differences in [0, 10, 1_000, 100_000] {
            row(places, differences);
        }
    }
}

fn row(places: u64, differences: u64) {
    let (here, there) = sets(places, differences);
    let tally = compare(&here, &there, 12_345 + differences);
    assert_eq!(tally.found, differences as usize);
    let each = tally.bytes_named as f64 / differences.max(1) as f64;
    let each = if differences == 0 { "–".into() } else { format!("{each:.1}") };
    println!(
        "| {places} | {differences} | {} | {} | {each} | {} | {} | {:.2} | {:.2} | {} |",
        tally.bytes,
        tally.bytes_named,
        tally.questions,
        tally.questions_named,
        tally.here.as_secs_f64(),
        tally.there.as_secs_f64(),
        thesis_bytes(&here, &there),
    );
}

fn entry(number: u64, places: u64) -> (Id, Mark) {
    (Id::of_host(&format!("host{}.example", number % places), 0), Mark::of(&number.to_be_bytes(), b"present"))
}

fn sets(places: u64, differences: u64) -> (Held, Held) {
    let (mut here, mut there) = (Held::new(), Held::new());
    let step = ENTRIES.checked_div(differences).unwrap_or(u64::MAX);
    for number in 0..ENTRIES {
        let (place, mark) = entry(number, places);
        // One of each stretch, by a stride that is prime to the number of places: they come round to all of them.
        let is_lacking = differences > 0 && number % step == (number / step * 7919) % step;
        let is_here_only = is_lacking && (number / step).is_multiple_of(2);
        if !is_lacking || is_here_only {
            here.entry(place).or_default().insert(mark);
        }
        if !is_here_only {
            there.entry(place).or_default().insert(mark);
        }
    }
    (here, there)
}

#[derive(Default)]
struct Tally {
    found: usize,
    bytes: usize,
    bytes_named: usize,
    questions: u32,
    questions_named: u32,
    here: Duration,
    there: Duration,
}

impl Tally {
    fn exchange(&mut self, there: &Held, question: &Question, is_name: bool) -> Answer {
        let begun = Instant::now();
        let answer = answer(there, question).unwrap();
        self.there += begun.elapsed();
        let bytes = postcard::to_stdvec(question).unwrap().len() + postcard::to_stdvec(&answer).unwrap().len();
        self.bytes_named += bytes;
        self.questions_named += 1;
        if !is_name {
            self.bytes += bytes;
            self.questions += 1;
        }
        answer
    }
}

fn compare(here: &Held, there: &Held, salt: u64) -> Tally {
    let (mut comparison, mut tally, mut answer) = (Comparison::new(Span::WHOLE, salt), Tally::default(), None);
    loop {
        let begun = Instant::now();
        let step = comparison.next(here, answer.take()).unwrap();
        tally.here += begun.elapsed();
        match step {
            Step::Ask(question) => answer = Some(tally.exchange(there, &question, false)),
            Step::Found(Found::Each { spans, lacking_here, lacking_there }) => {
                tally.found += lacking_there.len();
                for question in names_asked(salt, &spans, &lacking_here) {
                    let Answer::V1(Reply::Names(names)) = tally.exchange(there, &question, true) else {
                        unreachable!()
                    };
                    tally.found += names.iter().map(|(_, marks)| marks.len()).sum::<usize>();
                }
            }
            Step::Found(spans) => unreachable!("{spans:?}"),
            Step::Done => return tally,
        }
    }
}

/// Digests of all directories, and the lists of those that differ. A mark stands for the URL's SHA-1: it is as evenly spread.
fn thesis_bytes(here: &Held, there: &Held) -> usize {
    let directories = |held: &Held| {
        let mut directories = vec![BTreeSet::new(); 1 << 16];
        for mark in held.values().flatten() {
            directories[usize::from(u16::from_be_bytes([mark.0[14], mark.0[15]]))].insert(*mark);
        }
        directories
    };
    let (here, there) = (directories(here), directories(there));
    let lists = here.iter().zip(&there).filter(|(here, there)| here != there).map(|(here, _)| here.len() * (20 + 4));
    (1 << 16) * 20 + lists.sum::<usize>()
}
