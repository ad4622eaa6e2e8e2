//! Random files and random damage: nothing panics, everything ends, and what was not touched is not lost.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::common;

use common::*;
use herodotus_warc::{Item, ReadLimits, Reader};
use proptest::prelude::*;
use std::io::Read;

/// Whole records, with their blocks.
fn salvage(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let fixture = Fixture::new(bytes);
    let mut whole = Vec::new();
    let Ok(mut reader) = Reader::open(&fixture.path, ReadLimits::default()) else { return whole };
    while let Some(item) = reader.next().unwrap() {
        if let Item::Record(mut record) = item {
            let url = record.header.target_uri().unwrap_or_default().to_owned();
            let mut block = Vec::new();
            if record.block.read_to_end(&mut block).is_ok() {
                whole.push((url, block));
            }
        }
    }
    whole
}

/// Damage to a range of bytes.
#[derive(Clone, Debug)]
enum Damage {
    Overwrite(Vec<u8>),
    Insert(Vec<u8>),
    Remove(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 1..40).prop_map(Damage::Overwrite),
        prop::collection::vec(any::<u8>(), 1..40).prop_map(Damage::Insert),
        (1_usize..900).prop_map(Damage::Remove),
        // The kinds of bytes that parsers care for.
        prop_oneof![
            Just(b"\r\n\r\n".to_vec()),
            Just(b"WARC/1.0\r\n".to_vec()),
            Just(vec![0x1f, 0x8b, 8]),
            Just(vec![0; 300])
        ]
        .prop_map(Damage::Insert),
    ]
}

/// Applies it and says which bytes of the file were touched.
fn spoil(bytes: &mut Vec<u8>, at: usize, damage: &Damage) -> std::ops::Range<usize> {
    match damage {
        Damage::Overwrite(with) => {
            let end = (at + with.len()).min(bytes.len());
            bytes[at..end].copy_from_slice(&with[..end - at]);
            at..end
        }
        Damage::Insert(more) => {
            bytes.splice(at..at, more.iter().copied());
            at..at
        }
        Damage::Remove(len) => {
            let end = (at + len).min(bytes.len());
            bytes.drain(at..end);
            at..end
        }
    }
}

fn expected(parts: &[Vec<u8>], keep: impl Fn(std::ops::Range<usize>) -> bool) -> Vec<(String, Vec<u8>)> {
    let mut at = 0;
    let mut kept = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        if keep(at..at + part.len()) {
            kept.push((url(n), body(n)));
        }
        at += part.len();
    }
    kept
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(start in 0_usize..8, bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        let starts: [&[u8]; 8] = [
            b"", b"WARC/1.0\r\n", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], &[0x28, 0xb5, 0x2f, 0xfd], b"PK\x03\x04",
            b"http://a.example/ 192.0.2.7 20010203040506 text/html 120\n", &[0x5d, 0x2a, 0x4d, 0x18], b"\n\nWARC/1.1\nWARC-Type: a\nContent-Length: 7\n\n",
        ];
        salvage(&concat([starts[start].to_vec(), bytes]));
    }

    #[test]
    fn arbitrary_text_of_header_parts_never_panics(parts in prop::collection::vec(0_usize..14, 0..120)) {
        let words: [&[u8]; 14] = [
            b"WARC/1.0\r\n", b"\r\n", b"\n", b"WARC-Type: response\r\n", b"Content-Length: 3\r\n", b"Content-Length: 12345\n", b"abc",
            b" folded\r\n", b"\0", b"http://a/ 1.2.3.4 20010203040506 text/html 5\n", b"filedesc://x 0.0.0.0 20010203040506 text/plain 9\n",
            b"WARC-Target-URI: <>\r\n", b":\r\n", &[0xff, 0xfe],
        ];
        let bytes = concat(parts.iter().map(|i| words[*i].to_vec()));
        salvage(&bytes);
        salvage(&gzip(&bytes));
        salvage(&concat([zstd(&bytes), zstd(b"WARC/1.0\r\n")]));
    }

    #[test]
    fn damage_to_record_wise_gzip_loses_only_what_it_touches(at in 0.0_f64..1.0, damage in damage()) {
        let parts: Vec<Vec<u8>> = records(0..12).iter().map(|r| gzip(r)).collect();
        let mut bytes = concat(parts.clone());
        let at = (at * bytes.len() as f64) as usize;
        let touched = spoil(&mut bytes, at, &damage);
        let kept = salvage(&bytes);
        for record in expected(&parts, |part| part.end <= touched.start || part.start >= touched.end) {
            prop_assert!(kept.contains(&record), "{} lost, touched {touched:?}", record.0);
        }
        // Nothing comes out that never went in.
        for record in &kept {
            prop_assert!((0..12).any(|n| record.1 == body(n)), "{} is not what was written", record.0);
        }
    }

    #[test]
    fn damage_to_record_wise_zstd_loses_only_what_it_touches(at in 0.0_f64..1.0, damage in damage()) {
        let parts: Vec<Vec<u8>> = records(0..12).iter().map(|r| zstd(r)).collect();
        let mut bytes = concat(parts.clone());
        let at = (at * bytes.len() as f64) as usize;
        let touched = spoil(&mut bytes, at, &damage);
        let kept = salvage(&bytes);
        for record in expected(&parts, |part| part.end <= touched.start || part.start >= touched.end) {
            prop_assert!(kept.contains(&record), "{} lost, touched {touched:?}", record.0);
        }
    }

    #[test]
    fn damage_to_a_plain_file_keeps_the_records_before_it_and_after_the_next(at in 0.0_f64..1.0, damage in damage()) {
        let parts = records(0..12);
        let mut bytes = concat(parts.clone());
        let at = (at * bytes.len() as f64) as usize;
        let touched = spoil(&mut bytes, at, &damage);
        let kept = salvage(&bytes);
        for record in expected(&parts, |part| part.end <= touched.start) {
            prop_assert!(kept.contains(&record), "{} lost before {touched:?}", record.0);
        }
        // A record whose end was touched can take its neighbour's start with it, but no more than that.
        for record in expected(&parts, |part| part.start >= touched.end).into_iter().skip(1) {
            prop_assert!(kept.contains(&record), "{} lost after {touched:?}", record.0);
        }
    }

    #[test]
    fn damage_to_a_file_gzipped_as_one_ends_in_time(at in 0.0_f64..1.0, damage in damage()) {
        let mut bytes = gzip(&concat(records(0..12)));
        let at = (at * bytes.len() as f64) as usize;
        spoil(&mut bytes, at, &damage);
        salvage(&bytes);
    }

    #[test]
    fn damage_to_a_wacz_ends_in_time(at in 0.0_f64..1.0, damage in damage(), deflated: bool) {
        let warc = concat(records(0..12).iter().map(|r| gzip(r)));
        let mut bytes = zip(&[("archive/a.warc.gz", &warc, deflated), ("archive/b.warc", &record(12), deflated)]);
        let at = (at * bytes.len() as f64) as usize;
        spoil(&mut bytes, at, &damage);
        salvage(&bytes);
    }

    #[test]
    fn reading_goes_on_from_every_position_of_a_damaged_file(at in 0.0_f64..1.0, damage in damage(), coding in 0_usize..4) {
        let all = records(0..8);
        let mut bytes = match coding {
            0 => concat(all),
            1 => concat(all.iter().map(|r| gzip(r))),
            2 => gzip(&concat(all)),
            _ => concat(all.chunks(3).map(|c| gzip(&c.concat()))),
        };
        let at = (at * bytes.len() as f64) as usize;
        spoil(&mut bytes, at, &damage);
        let fixture = Fixture::new(&bytes);
        if Reader::open(&fixture.path, ReadLimits::default()).is_err() {
            return Ok(());
        }
        for (place, rest) in positions(&fixture) {
            let mut reader = fixture.open();
            reader.resume(&place).unwrap();
            let again = drain(&mut reader);
            prop_assert_eq!(again.whole.len() + again.failed.len(), rest.len(), "from {}: {:?}", place, again);
        }
    }
}
