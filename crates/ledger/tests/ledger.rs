//! The ledger against a plain map, and what it promises of versions, places and what waits.

#![allow(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use herodotus_base::Id;
use herodotus_ledger::{CrawlId, Ledger, Name, Record, Taken};
use herodotus_replica::Sum;
use herodotus_ring::placement::Placement;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn url(n: u8, crawl: u8) -> Name {
    Name::Url { key: format!("org,host{})/{n}", n % 3), crawl: CrawlId([crawl; 16]), spelling: u64::from(n) }
}

fn record(name: Name, version: u64, value: &[u8]) -> Record {
    Record { name, version, value: value.to_vec() }
}

fn open() -> (tempfile::TempDir, Ledger) {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path(), Placement::ByHost).unwrap();
    (dir, ledger)
}

/// What the rows say, and what they should say by the records.
fn assert_rows_are_right(ledger: &Ledger) {
    let mut expected: BTreeMap<Id, Sum> = BTreeMap::new();
    for found in ledger.records_on(Id::ZERO, Id::ZERO) {
        let (place, record) = found.unwrap();
        assert_eq!(ledger.place_of(&record.name).unwrap(), place);
        expected.entry(place).or_default().add(record.mark());
    }
    let mut rows: BTreeMap<Id, Sum> = BTreeMap::new();
    for row in ledger.places(Id::ZERO, Id::ZERO) {
        let (place, _, sum) = row.unwrap();
        rows.entry(place).or_default().join(sum);
    }
    assert_eq!(rows, expected);
}

#[derive(Clone, Debug)]
enum Step {
    Take(Vec<(u8, u64, Vec<u8>)>),
    Write(u8, u64),
    Release(u8),
    Split(u8, u32),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let one = (0..12u8, 0..6u64, prop::collection::vec(0..3u8, 0..3));
    prop_oneof![
        4 => prop::collection::vec(one, 0..6).prop_map(Step::Take),
        3 => (0..12u8, 0..6u64).prop_map(|(n, version)| Step::Write(n, version)),
        2 => (0..12u8).prop_map(Step::Release),
        1 => (0..3u8, 0..3u32).prop_map(|(host, power)| Step::Split(host, 1 << power)),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn a_ledger_is_a_map_in_which_the_later_record_counts(steps in prop::collection::vec(step(), 1..30)) {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path(), Placement::ByHost).unwrap();
        let mut model: BTreeMap<Name, Record> = BTreeMap::new();
        let show = |model: &mut BTreeMap<Name, Record>, record: Record| {
            if model.get(&record.name).is_none_or(|known| record.is_later_than(known)) {
                model.insert(record.name.clone(), record);
            }
        };
        for step in steps {
            match step {
                Step::Take(records) => {
                    let records: Vec<_> =
                        records.into_iter().map(|(n, version, value)| record(url(n, 1), version, &value)).collect();
                    ledger.take(&records).unwrap();
                    records.into_iter().for_each(|record| show(&mut model, record));
                }
                Step::Write(n, version) => {
                    let record = record(url(n, 1), version, b"own");
                    ledger.write(std::slice::from_ref(&record)).unwrap();
                    show(&mut model, record);
                }
                Step::Release(n) => {
                    let known = model.remove(&url(n, 1));
                    let released = ledger.release(&known.iter().cloned().collect::<Vec<_>>()).unwrap();
                    prop_assert_eq!(released, usize::from(known.is_some()));
                }
                Step::Split(host, parts) => ledger.set_parts(&format!("org,host{host}"), parts).unwrap(),
                Step::Reopen => {
                    drop(ledger);
                    ledger = Ledger::open(dir.path(), Placement::ByHost).unwrap();
                }
            }
        }
        assert_rows_are_right(&ledger);
        let mut held: Vec<Record> = ledger.records_on(Id::ZERO, Id::ZERO).map(|found| found.unwrap().1).collect();
        held.sort_by(|a, b| a.name.cmp(&b.name));
        prop_assert_eq!(held, model.values().cloned().collect::<Vec<_>>());
        for name in model.keys() {
            prop_assert_eq!(ledger.get(name).unwrap(), model.get(name).cloned());
        }
    }
}

#[test]
fn two_ledgers_that_were_shown_the_same_in_another_order_hold_the_same() {
    let ((_a, one), (_b, other)) = (open(), open());
    let mut records: Vec<_> = (0..9).map(|n| record(url(n, 1), u64::from(n % 2), &[n])).collect();
    records.extend((0..9).map(|n| record(url(n, 1), u64::from(n % 3), &[9 - n])));
    one.take(&records).unwrap();
    records.reverse();
    records.iter().for_each(|record| _ = other.take(std::slice::from_ref(record)).unwrap());
    let sums = |ledger: &Ledger| ledger.places(Id::ZERO, Id::ZERO).map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(sums(&one), sums(&other));
}

#[test]
fn what_was_made_here_waits_in_its_order_and_as_it_was_until_it_is_handed_on() {
    let (dir, ledger) = open();
    let of = |n, version| record(url(n, 1), version, &[n]);
    ledger.write(&[of(2, 1)]).unwrap();
    ledger.take(&[record(url(3, 1), 1, b"of others")]).unwrap();
    ledger.write(&[of(1, 1), of(2, 2)]).unwrap();
    ledger.write(&[of(2, 2)]).unwrap();
    let records = |ledger: &Ledger| ledger.pending(9).unwrap().into_iter().map(|(_, r)| r).collect::<Vec<_>>();
    assert_eq!(records(&ledger), [of(2, 1), of(1, 1), of(2, 2)]);
    let (first, _) = ledger.pending(1).unwrap()[0];
    assert!(ledger.pending(9).unwrap().iter().all(|(made, _)| *made < ledger.next_made()));
    ledger.handed_on([first]).unwrap();
    drop(ledger);
    let ledger = Ledger::open(dir.path(), Placement::ByHost).unwrap();
    ledger.write(&[of(4, 1)]).unwrap();
    assert_eq!(records(&ledger), [of(1, 1), of(2, 2), of(4, 1)]);
}

#[test]
fn a_record_that_has_changed_since_is_not_let_go() {
    let (_dir, ledger) = open();
    let (old, new) = (record(url(1, 1), 1, b""), record(url(1, 1), 2, b""));
    ledger.take(&[old.clone(), new.clone()]).unwrap();
    assert_eq!(ledger.release(&[old]).unwrap(), 0);
    assert_eq!(ledger.take(std::slice::from_ref(&new)).unwrap(), [Taken::Known]);
    assert_eq!(ledger.release(&[new]).unwrap(), 1);
    assert_eq!(ledger.places(Id::ZERO, Id::ZERO).count(), 0);
}

#[test]
fn a_ledger_of_another_ring_or_of_the_future_is_refused_with_a_reason() {
    let (dir, ledger) = open();
    drop(ledger);
    let error = Ledger::open(dir.path(), Placement::ByUrl).unwrap_err().to_string();
    assert!(error.contains("places things in another way"), "{error}");
}

#[test]
fn crawls_are_listed_and_lie_each_at_a_place_of_its_own() {
    let (_dir, ledger) = open();
    let crawls: Vec<_> = (1..4).map(|n| record(Name::Crawl(CrawlId([n; 16])), 1, b"seeds")).collect();
    ledger.write(&crawls).unwrap();
    ledger.write(&[record(url(1, 1), 1, b"")]).unwrap();
    assert_eq!(ledger.crawls().map(Result::unwrap).collect::<Vec<_>>(), crawls);
    let places: std::collections::BTreeSet<_> = crawls.iter().map(|c| ledger.place_of(&c.name).unwrap()).collect();
    assert_eq!(places.len(), 3);
    assert_rows_are_right(&ledger);
}
