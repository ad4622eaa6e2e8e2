//! Every container the field uses, whole: all records come out, in order, with nothing skipped.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::common;

use common::*;
use herodotus_warc::{Item, Kind, Position, ReadLimits, Reader};
use std::io::{BufRead, Read};

#[track_caller]
fn reads_all(bytes: &[u8], count: usize) {
    let outcome = read(bytes);
    assert_eq!(outcome.numbers(), (0..count).collect::<Vec<_>>(), "{outcome:?}");
    assert!(outcome.failed.is_empty() && outcome.skips.is_empty(), "{outcome:?}");
}

/// Each container by name, with twelve records.
fn containers() -> Vec<(&'static str, Vec<u8>)> {
    let all = records(0..12);
    let warc_gz = concat(all.iter().map(|r| gzip(r)));
    let dictionary = dictionary();
    let with_dictionary = |held: Vec<u8>| {
        concat(std::iter::once(skippable(0xd, &held)).chain(all.iter().map(|r| zstd_with(r, &dictionary))))
    };
    let (front, back) = all.split_at(5);
    vec![
        ("plain", concat(all.clone())),
        ("gzip by record", warc_gz.clone()),
        ("gzip as one", gzip(&concat(all.clone()))),
        ("several records per member", concat(all.chunks(5).map(|c| gzip(&c.concat())))),
        ("zstd by record", concat(all.iter().map(|r| zstd(r)))),
        ("zstd as one", zstd(&concat(all.clone()))),
        ("zstd with dictionary", with_dictionary(dictionary.clone())),
        ("zstd with compressed dictionary", with_dictionary(zstd(&dictionary))),
        ("zstd with other skippable frames", concat(all.iter().flat_map(|r| [skippable(3, b"hello"), zstd(r)]))),
        ("arc", concat(arc_records(0..12, false))),
        ("arc version 2", concat(arc_records(0..12, true))),
        ("arc gzip", concat(arc_records(0..12, false).iter().map(|r| gzip(r)))),
        ("arc gzip as one", gzip(&concat(arc_records(0..12, false)))),
        ("wacz stored", zip(&[("datapackage.json", b"{}", true), ("archive/a.warc.gz", &warc_gz, false)])),
        ("wacz deflated", zip(&[("archive/a.warc", &concat(all.clone()), true)])),
        ("wacz deflated gzip", zip(&[("archive/a.warc.gz", &warc_gz, true)])),
        (
            "wacz of two",
            zip(&[
                ("archive/a.warc.gz", &concat(front.iter().map(|r| gzip(r))), false),
                ("indexes/index.cdxj", b"", true),
                ("archive/b.warc.zst", &concat(back.iter().map(|r| zstd(r))), false),
            ]),
        ),
    ]
}

#[test]
fn every_container_gives_all_its_records() {
    for (name, bytes) in containers() {
        println!("{name}");
        reads_all(&bytes, 12);
    }
}

#[test]
fn blocks_hold_exactly_what_was_written() {
    for (name, bytes) in containers() {
        let fixture = Fixture::new(&bytes);
        let mut reader = fixture.open();
        let mut n = 0;
        while let Some(item) = reader.next().unwrap() {
            let Item::Record(mut record) = item else { panic!("{name}: {item:?}") };
            if record.header.kind() == Kind::Warcinfo {
                continue;
            }
            // An ordinary record is at hand in one piece.
            assert_eq!(record.block.fill_buf().unwrap(), body(n), "{name}");
            n += 1;
        }
        assert_eq!(n, 12, "{name}");
    }
}

#[test]
fn reading_goes_on_from_every_position() {
    for (name, bytes) in containers() {
        let fixture = Fixture::new(&bytes);
        for (place, rest) in positions(&fixture) {
            let place = Position::parse(&place.to_string()).unwrap();
            let mut reader = fixture.open();
            reader.resume(&place).unwrap();
            let outcome = drain(&mut reader);
            let rest: Vec<String> =
                rest.into_iter().map(|u| if u.is_empty() { "warcinfo".to_owned() } else { u }).collect();
            assert_eq!(outcome.whole, rest, "{name} from {place}");
            assert!(outcome.skips.is_empty(), "{name} from {place}: {outcome:?}");
        }
    }
}

#[test]
fn a_position_is_the_next_record_even_if_the_last_one_was_not_read() {
    for (name, bytes) in containers() {
        let fixture = Fixture::new(&bytes);
        let mut reader = fixture.open();
        let mut taken = 0;
        while let Some(item) = reader.next().unwrap() {
            assert!(matches!(item, Item::Record(_)), "{name}");
            taken += 1;
            let mut again = fixture.open();
            again.resume(&reader.position()).unwrap();
            let total = 12 + usize::from(name.starts_with("arc"));
            assert_eq!(drain(&mut again).whole.len(), total - taken, "{name} after {taken}");
        }
    }
}

#[test]
fn positions_in_record_wise_files_need_no_rereading() {
    for (name, bytes) in containers() {
        if !(name.contains("by record") || name == "plain" || name == "wacz stored" || name == "arc gzip") {
            continue;
        }
        for (place, _) in positions(&Fixture::new(&bytes)) {
            assert!(place.to_string().ends_with(".0"), "{name}: {place}");
        }
    }
}

#[test]
fn progress_ends_at_the_whole() {
    for (name, bytes) in containers() {
        let fixture = Fixture::new(&bytes);
        let mut reader = fixture.open();
        let mut before = 0;
        while reader.next().unwrap().is_some() {
            assert!(reader.bytes_read() >= before && reader.bytes_read() <= reader.bytes_total(), "{name}");
            before = reader.bytes_read();
        }
        assert_eq!(reader.bytes_read(), reader.bytes_total(), "{name}");
    }
}

#[test]
fn blocks_larger_than_any_buffer_stream_whole() {
    let mut block = vec![0; 3_000_000];
    let mut state = 1_u32;
    for byte in &mut block {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8;
    }
    let big = record_with(0, &block, |h| h);
    for bytes in [
        concat([big.clone(), record(1)]),
        concat([gzip(&big), gzip(&record(1))]),
        gzip(&concat([big.clone(), record(1)])),
        concat([zstd(&big), zstd(&record(1))]),
        zip(&[("archive/a.warc", &concat([big.clone(), record(1)]), true)]),
    ] {
        let fixture = Fixture::new(&bytes);
        let mut reader = fixture.open();
        let Some(Item::Record(mut record)) = reader.next().unwrap() else { panic!() };
        let mut read = Vec::new();
        record.block.read_to_end(&mut read).unwrap();
        assert!(read == block);
        assert_eq!(drain(&mut reader).numbers(), [1]);
        // The same, but dropped after some bytes, and not read at all.
        for take in [0, 1, 299_999] {
            let mut reader = fixture.open();
            let Some(Item::Record(mut record)) = reader.next().unwrap() else { panic!() };
            record.block.read_exact(&mut vec![0; take]).unwrap();
            let place = reader.position();
            assert_eq!(drain(&mut reader).numbers(), [1]);
            reader.resume(&place).unwrap();
            assert_eq!(drain(&mut reader).numbers(), [1]);
        }
    }
}

#[test]
fn a_block_of_192_kib_comes_in_one_piece_from_any_container() {
    let block = |n: usize| [body(n), vec![b'x'; 20_000 + n * 7001]].concat();
    let all: Vec<Vec<u8>> = (0..24).map(|n| record_with(n, &block(n), |h| h)).collect();
    for bytes in [
        concat(all.clone()),
        gzip(&concat(all.clone())),
        concat(all.iter().map(|r| gzip(r))),
        concat(all.iter().map(|r| zstd(r))),
        zip(&[("archive/a.warc", &concat(all.clone()), true)]),
    ] {
        let fixture = Fixture::new(&bytes);
        let mut reader = fixture.open();
        for n in 0..24 {
            let Some(Item::Record(mut record)) = reader.next().unwrap() else { panic!() };
            assert!(record.block.fill_buf().unwrap() == block(n), "{n}");
        }
    }
}

#[test]
fn a_large_last_record_without_line_ends_is_whole_read_or_not() {
    let big = record_with(0, &vec![b'x'; 900_000], |h| h);
    for bytes in [
        big[..big.len() - 4].to_vec(),
        gzip(&big[..big.len() - 4]),
        zip(&[("archive/a.warc", &big[..big.len() - 4], true)]),
    ] {
        let fixture = Fixture::new(&bytes);
        assert_eq!(drain(&mut fixture.open()).whole.len(), 1);
        let mut reader = fixture.open();
        assert!(matches!(reader.next().unwrap(), Some(Item::Record(_))));
        assert!(reader.next().unwrap().is_none());
    }
}

#[test]
fn a_record_says_where_it_stands() {
    let parts: Vec<Vec<u8>> = records(0..3).iter().map(|r| gzip(r)).collect();
    let fixture = Fixture::new(&zip(&[("archive/a.warc.gz", &concat(parts.clone()), false)]));
    let mut reader = fixture.open();
    let mut at = 0;
    for part in &parts {
        let Some(Item::Record(record)) = reader.next().unwrap() else { panic!() };
        assert_eq!((record.offset, record.member.as_deref()), (at, Some("archive/a.warc.gz")));
        at += part.len() as u64;
    }
}

#[test]
fn a_position_of_another_file_is_refused() {
    let fixture = Fixture::new(&concat(records(0..3)));
    let mut reader = fixture.open();
    for place in ["0.999999.0", "0.0.7", "5.0.0", "1.1.0"] {
        let error = reader.resume(&Position::parse(place).unwrap()).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains("start it from the beginning"), "{error}");
    }
    reader.resume(&Position::START).unwrap();
    assert_eq!(drain(&mut reader).numbers(), [0, 1, 2]);
}

#[test]
fn an_arc_record_reads_like_a_warc_record() {
    let fixture = Fixture::new(&concat(arc_records(0..1, true)));
    let mut reader = fixture.open();
    let Some(Item::Record(info)) = reader.next().unwrap() else { panic!() };
    assert_eq!((info.header.kind(), &*info.header.version), (Kind::Warcinfo, "ARC/1.0"));
    let Some(Item::Record(record)) = reader.next().unwrap() else { panic!() };
    assert_eq!(record.header.kind(), Kind::Response);
    assert_eq!(record.header.target_uri(), Some("http://a.example/0"));
    assert_eq!(record.header.date().unwrap().rfc3339(), "2001-02-03T04:05:06Z");
    assert_eq!(record.header.content_length(), Some(record.len));
    assert!(record.header.record_id().unwrap().starts_with("urn:uuid:"));
}

#[test]
fn a_reader_can_be_sent_to_another_thread() {
    fn is_send<T: Send>(_: T) {}
    is_send(Reader::open(&Fixture::new(&record(0)).path, ReadLimits::default()));
}
