//! Broken and hostile files, one case each: what is still read, and what is said about the rest.
//!
//! Records 0 to 4 stand around the damage, which is at record 2 unless the case is about something else. What a case says
//! is a part of what is told, as the error of a block or as a skip; a case that tells nothing must lose nothing.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::common;

use common::*;
use herodotus_warc::{Error, Item, ReadLimits, Reader};
use std::io::{Read, Write};
use std::path::Path;

fn refusal(bytes: &[u8]) -> Error {
    Reader::open(&Fixture::new(bytes).path, ReadLimits::default()).unwrap_err()
}

fn members() -> Vec<Vec<u8>> {
    records(0..5).iter().map(|r| gzip(r)).collect()
}

fn frames() -> Vec<Vec<u8>> {
    records(0..5).iter().map(|r| zstd(r)).collect()
}

// Files that were cut.

#[test]
fn a_plain_file_cut_in_a_block_keeps_what_is_before() {
    let mut bytes = concat(records(0..3));
    bytes.truncate(bytes.len() - 60);
    let outcome = case(&bytes, &[0, 1], "fewer follow");
    assert_eq!(outcome.failed[0].1, body(2).len() - 56, "what there was of it is given out");
}

#[test]
fn a_plain_file_cut_in_a_header_keeps_what_is_before() {
    case(&concat([record(0), record(1)[..50].to_vec()]), &[0], "ends in the middle of a record's header");
}

#[test]
fn a_gzip_file_cut_at_any_byte_keeps_every_whole_record() {
    let members = members();
    let bytes = concat(members.clone());
    let from = members[..3].concat().len();
    for cut in from + 1..from + members[3].len() {
        case(&bytes[..cut], &[0, 1, 2], "ends in the");
    }
}

#[test]
fn a_zstd_file_cut_at_any_byte_keeps_every_whole_record() {
    let frames = frames();
    let bytes = concat(frames.clone());
    let from = frames[..3].concat().len();
    for cut in from + 1..from + frames[3].len() {
        case(&bytes[..cut], &[0, 1, 2], "zstd");
    }
}

#[test]
fn a_file_gzipped_as_one_and_cut_keeps_what_can_be_inflated() {
    let bytes = gzip(&concat(records(0..60)));
    let outcome = case(
        &bytes[..bytes.len() * 2 / 3],
        &(0..read(&bytes[..bytes.len() * 2 / 3]).numbers().len()).collect::<Vec<_>>(),
        "gzip",
    );
    assert!(outcome.whole.len() > 20, "{}", outcome.whole.len());
}

// Damaged compression.

#[test]
fn a_flipped_byte_in_a_gzip_member_loses_that_record_only() {
    let members = members();
    let from = members[..2].concat().len();
    for at in from..from + members[2].len() {
        let mut bytes = concat(members.clone());
        bytes[at] ^= 0x55;
        let outcome = read(&bytes);
        let lost: Vec<usize> = (0..5).filter(|n| !outcome.numbers().contains(n)).collect();
        // Bytes 4 to 9 of a member hold a time and the like, which nobody needs.
        let harmless = (4..10).contains(&(at - from));
        assert_eq!(lost, if harmless { vec![] } else { vec![2] }, "byte {}: {outcome:?}", at - from);
        assert_eq!(
            outcome.failed.len() + outcome.skips.len(),
            usize::from(!harmless),
            "byte {}: {outcome:?}",
            at - from
        );
    }
}

#[test]
fn a_flipped_byte_in_a_zstd_frame_loses_that_record_only() {
    let frames = frames();
    let from = frames[..2].concat().len();
    for at in from..from + frames[2].len() {
        let mut bytes = concat(frames.clone());
        bytes[at] ^= 0x55;
        let outcome = read(&bytes);
        let lost: Vec<usize> = (0..5).filter(|n| !outcome.numbers().contains(n)).collect();
        assert!(lost.is_empty() || lost == [2], "byte {}: lost {lost:?} {outcome:?}", at - from);
    }
}

#[test]
fn a_wrong_gzip_checksum_fails_that_record_only() {
    let mut members = members();
    let at = members[2].len() - 8;
    members[2][at] ^= 1;
    let outcome = case(&concat(members), &[0, 1, 3, 4], "its checksum does not match");
    assert_eq!(outcome.failed.len(), 1, "the record itself is given out, and fails at its last byte");
}

#[test]
fn a_wrong_gzip_length_fails_that_record_only() {
    let mut members = members();
    let at = members[2].len() - 4;
    members[2][at] ^= 1;
    case(&concat(members), &[0, 1, 3, 4], "its length does not match");
}

#[test]
fn a_member_missing_in_the_middle_of_its_bytes_loses_that_record_only() {
    let mut members = members();
    let half = members[2].len() / 2;
    members[2].truncate(half);
    case(&concat(members), &[0, 1, 3, 4], "gzip member is damaged");
}

#[test]
fn a_hole_of_zeros_loses_only_the_records_in_it() {
    let members = members();
    let mut bytes = concat(members.clone());
    let (from, to) = (members[0].len() + 30, members[..3].concat().len() + 5);
    bytes[from..to].fill(0);
    case(&bytes, &[0, 4], "gzip member is damaged");
}

#[test]
fn a_damaged_file_gzipped_as_one_keeps_what_is_before_the_damage() {
    let mut bytes = gzip(&concat(records(0..60)));
    let half = bytes.len() / 2;
    bytes[half..half + 20].fill(0xff);
    let outcome = read(&bytes);
    let kept = outcome.numbers();
    assert!(kept.len() > 10 && kept == (0..kept.len()).collect::<Vec<_>>(), "{kept:?}");
    assert!(outcome.reasons().contains("damaged"), "{}", outcome.reasons());
}

#[test]
fn what_stands_between_members_or_looks_like_one_misleads_nobody() {
    let mut members = members();
    // Zeros are padding.
    members[1].extend_from_slice(&[0; 700]);
    case(&concat(members.clone()), &[0, 1, 2, 3, 4], "");
    // A member inside another, as it is: it seems to end where the inner one begins.
    let inner = [body(2), gzip(&record(9)), b" and more of it".to_vec()].concat();
    let mut stored = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    stored.write_all(&record_with(2, &inner, |h| h)).unwrap();
    members[2] = stored.finish().unwrap();
    let fixture = Fixture::new(&concat(members.clone()));
    let mut reader = fixture.open();
    for n in 0..5 {
        let Some(Item::Record(mut record)) = reader.next().unwrap() else { panic!("{n} is missing") };
        let mut block = Vec::new();
        record.block.read_to_end(&mut block).unwrap();
        assert_eq!(block, if n == 2 { inner.clone() } else { body(n) });
    }
    assert!(reader.next().unwrap().is_none());
    // Anything else is told, with a good checksum and length at its end too.
    let trailer = members[3][members[3].len() - 8..].to_vec();
    members[3].extend_from_slice(b"no member");
    members[3].extend_from_slice(&trailer[..7]);
    case(&concat(members), &[0, 1, 2, 3, 4], "not gzip");
}

#[test]
fn a_gzip_header_with_every_option_is_read() {
    let mut bytes = vec![0x1f, 0x8b, 8, 0x1e, 0, 0, 0, 0, 0, 3, 3, 0, 1, 2, 3];
    bytes.extend_from_slice(b"name.warc\0comment\0\x12\x34");
    bytes.extend_from_slice(&gzip(&record(0))[10..]);
    case(&concat([bytes, gzip(&record(1))]), &[0, 1], "");
}

#[test]
fn a_gzip_header_without_end_is_given_up() {
    let bytes =
        concat([gzip(&record(0)), vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3], vec![b'n'; 300_000], gzip(&record(1))]);
    case(&bytes, &[0, 1], "header of a gzip member has no end");
}

// Files made to exhaust.

#[test]
fn a_gzip_bomb_is_not_handed_out() {
    let limits = ReadLimits { expansion_max: 100, expansion_free_bytes: 1 << 20, ..ReadLimits::default() };
    let bomb = record_with(2, &vec![0; 40 << 20], |h| h);
    for coded in [gzip(&bomb), zstd(&bomb)] {
        let around: fn(&[u8]) -> Vec<u8> = if coded[0] == 0x1f { gzip } else { zstd };
        let fixture = Fixture::new(&concat([around(&record(0)), coded, around(&record(1))]));
        let outcome = drain(&mut Reader::open(&fixture.path, limits.clone()).unwrap());
        assert_eq!(outcome.numbers(), [0, 1]);
        assert!(outcome.reasons().contains("decompression bomb"), "{}", outcome.reasons());
        assert!(outcome.failed[0].1 < 3 << 20, "{}", outcome.failed[0].1);
    }
}

#[test]
fn a_page_of_zeros_is_no_bomb() {
    case(&gzip(&record_with(0, &vec![0; 40 << 20], |h| h)), &[0], "");
}

#[test]
fn a_deflated_zip_bomb_is_refused() {
    let limits = ReadLimits { expansion_max: 100, expansion_free_bytes: 1 << 20, ..ReadLimits::default() };
    let bomb = concat([record(0), record_with(2, &vec![0; 40 << 20], |h| h), record(1)]);
    let fixture = Fixture::new(&zip(&[("archive/a.warc", &bomb, true), ("archive/b.warc", &record(3), false)]));
    let outcome = drain(&mut Reader::open(&fixture.path, limits).unwrap());
    assert_eq!(outcome.numbers(), [0, 3]);
    assert!(outcome.reasons().contains("decompression bomb"), "{}", outcome.reasons());
}

#[test]
fn members_that_all_claim_the_rest_of_the_file_end_in_time() {
    // Each member's stored block reaches over all that follow, and none of them ends well.
    let mut bytes = gzip(&record(0));
    for _ in 0..20_000 {
        bytes.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0, 0xff, 0xff, 0, 0]);
        bytes.extend_from_slice(b"WARC/1.0\r\nWARC-Type: a\r\nContent-Length: 99999999\r\n\r\n");
    }
    let outcome = read(&bytes);
    assert_eq!(outcome.numbers(), [0]);
}

#[test]
fn a_million_version_lines_end_in_time() {
    let bytes = concat([record(0), b"WARC/1.0\r\nWARC-Type: x\r\n\r\n".repeat(40_000), record(1)]);
    let outcome = read(&bytes);
    assert_eq!((outcome.numbers().first(), outcome.numbers().last()), (Some(&0), Some(&1)));
}

// Zstd dictionaries.

#[test]
fn frames_without_their_dictionary_are_told() {
    let bytes = concat(records(0..3).iter().map(|r| zstd_with(r, &dictionary())));
    case(&bytes, &[], "needs a dictionary that this file does not hold");
}

#[test]
fn a_dictionary_of_other_frames_is_told() {
    let mut other = dictionary();
    other[4] ^= 1;
    let frames = records(0..3).iter().map(|r| zstd_with(r, &dictionary())).collect::<Vec<_>>();
    let bytes = concat(std::iter::once(skippable(0xd, &other)).chain(frames).chain([zstd(&record(3))]));
    case(&bytes, &[3], "needs a dictionary");
}

#[test]
fn a_dictionary_frame_that_holds_none_is_an_error() {
    let error = refusal(&concat([skippable(0xd, b"hello"), zstd(&record(0))])).to_string();
    assert!(error.contains("should hold a zstd dictionary"), "{error}");
}

#[test]
fn a_dictionary_too_large_is_an_error() {
    let error = refusal(&concat([skippable(0xd, &vec![0; 17 << 20]), zstd(&record(0))])).to_string();
    assert!(error.contains("dictionary is larger than"), "{error}");
    let error = refusal(&concat([skippable(0xd, &zstd(&vec![0; 17 << 20])), zstd(&record(0))])).to_string();
    assert!(error.contains("dictionary is larger than"), "{error}");
}

#[test]
fn a_skippable_frame_past_the_end_is_told() {
    let mut frame = skippable(3, b"hello");
    frame[6] = 200;
    case(&concat([zstd(&record(0)), frame, zstd(&record(1))]), &[0, 1], "skippable zstd frame");
}

// ARC.

#[test]
fn an_arc_with_a_wrong_length_loses_that_record_only() {
    for len in ["10", "1000", "99999"] {
        let mut records = arc_records(0..5, false);
        let text = String::from_utf8(records[3].clone()).unwrap();
        records[3] =
            text.replacen(&format!("text/html {}", body(2).len()), &format!("text/html {len}"), 1).into_bytes();
        case(&concat(records.clone()), &[0, 1, 3, 4], ANYTHING);
        case(&concat(records.iter().map(|r| gzip(r))), &[0, 1, 3, 4], ANYTHING);
    }
}

#[test]
fn an_arc_with_garbage_between_records_goes_on() {
    let mut records = arc_records(0..3, false);
    records.insert(2, b"what is this?\nand this?\n".to_vec());
    case(&concat(records), &[0, 1, 2], "24 bytes that are not a record");
}

#[test]
fn an_arc_cut_in_a_block_keeps_what_is_before() {
    let mut bytes = concat(arc_records(0..3, false));
    bytes.truncate(bytes.len() - 20);
    case(&bytes, &[0, 1], "fewer follow");
}

#[test]
fn an_arc_whose_first_member_is_damaged_is_still_read() {
    let mut members: Vec<Vec<u8>> = arc_records(0..3, false).iter().map(|r| gzip(r)).collect();
    members[0][15..25].fill(0xff);
    case(&concat(members), &[0, 1, 2], "damaged");
}

// WACZ.

#[test]
fn names_that_lead_out_of_a_wacz_are_refused() {
    let warc = record(0);
    for name in [
        "archive/../../etc/a.warc",
        "/archive/a.warc",
        "../a.warc",
        "archive\\..\\a.warc",
        "C:/archive/a.warc",
        "archive/a\n.warc",
    ] {
        let outcome = case(
            &zip(&[(name, &warc, false), ("archive/b.warc", &record(1), false)]),
            &[1],
            "leads out of the archive",
        );
        assert!(outcome.skips[0].file.is_some());
    }
}

#[test]
fn warcs_outside_archive_are_told() {
    case(
        &zip(&[("a.warc", &record(0), false), ("archive/b.warc", &record(1), false)]),
        &[1],
        "does not lie under archive/",
    );
}

#[test]
fn a_member_of_a_wacz_that_is_no_warc_is_told() {
    let bytes = zip(&[
        ("archive/a.warc", b"<html>", false),
        ("archive/b.warc", &record(1), false),
        ("archive/c.warc", b"", false),
    ]);
    let outcome = case(&bytes, &[1], "not a WARC file: it begins with `<html>`");
    assert_eq!(outcome.skips.len(), 2);
}

#[test]
fn a_wacz_cut_short_is_an_error_that_says_what_to_do() {
    let bytes = zip(&[("archive/a.warc", &record(0), false)]);
    let error = refusal(&bytes[..bytes.len() - 30]).to_string();
    assert!(error.contains("ZIP directory is missing or damaged") && error.contains("fetch it again"), "{error}");
}

#[test]
fn a_damaged_deflated_member_keeps_what_is_before_and_the_next_member() {
    let long = concat(records(0..200));
    let mut bytes = zip(&[("archive/a.warc", &long, true), ("archive/b.warc", &record(777), false)]);
    let at = bytes.windows(14).position(|w| w == b"archive/b.warc").unwrap() / 2;
    bytes[at..at + 30].fill(0xff);
    let outcome = read(&bytes);
    assert!(outcome.numbers().len() > 10 && outcome.numbers().ends_with(&[777]), "{outcome:?}");
    assert!(outcome.reasons().contains("ZIP member's checksum does not match"), "{}", outcome.reasons());
}

#[test]
fn a_deflated_member_that_cannot_be_inflated_is_told() {
    let mut bytes = zip(&[("archive/a.warc", &concat(records(0..200)), true), ("archive/b.warc", &record(777), false)]);
    // The first deflate block gets a type that there is not.
    let at = bytes.windows(14).position(|w| w == b"archive/a.warc").unwrap() + 14;
    bytes[at] |= 0x06;
    case(&bytes, &[777], "ZIP member's compressed bytes are damaged");
}

#[test]
fn members_of_a_wacz_that_share_their_bytes_are_refused() {
    let mut bytes = zip(&[("archive/a.warc", &record(0), true), ("archive/b.warc", &record(1), true)]);
    // The second entry of the directory is made to point at the first one's bytes.
    let second = bytes.windows(4).enumerate().filter(|(_, w)| w == b"PK\x01\x02").map(|(at, _)| at).nth(1).unwrap();
    bytes[second + 42..second + 46].fill(0);
    case(&bytes, &[0], "shares its bytes with another member");
}

#[test]
fn two_members_of_one_name_are_told() {
    let mut bytes = zip(&[("archive/a.warc", &record(0), false), ("archive/b.warc", &record(1), false)]);
    let seconds: Vec<usize> =
        bytes.windows(9).enumerate().filter(|(_, w)| w == b"archive/b").map(|(at, _)| at).collect();
    for at in seconds {
        bytes[at + 8] = b'a';
    }
    let outcome = read(&bytes);
    assert_eq!(outcome.numbers().len(), 1, "{outcome:?}");
    assert!(outcome.reasons().contains("have the same name"), "{}", outcome.reasons());
}

#[test]
fn a_damaged_first_byte_does_not_hide_the_rest() {
    for parts in [members(), frames()] {
        let mut bytes = concat(parts);
        bytes[0] = b'?';
        case(&bytes, &[1, 2, 3, 4], "where a");
    }
}

#[test]
fn a_zip_without_warcs_is_not_an_archive() {
    let error = refusal(&zip(&[("word/document.xml", b"<xml/>", true)])).to_string();
    assert!(error.contains("ZIP file without any WARC file"), "{error}");
}

#[test]
fn a_zip_that_lists_too_many_files_is_refused_before_it_is_read() {
    let names: Vec<String> = (0..50).map(|n| format!("archive/{n}.warc")).collect();
    let entries: Vec<(&str, &[u8], bool)> = names.iter().map(|n| (n.as_str(), &b"x"[..], false)).collect();
    let limits = ReadLimits { wacz_entries_max: 49, ..ReadLimits::default() };
    let error = Reader::open(&Fixture::new(&zip(&entries)).path, limits).unwrap_err().to_string();
    assert!(error.contains("lists more than 49 files"), "{error}");
}

// What is no archive at all.

#[test]
fn an_empty_file_is_an_error_that_says_what_to_do() {
    let error = refusal(b"");
    assert!(matches!(error, Error::Empty(_)) && error.to_string().contains("fetch it again"), "{error}");
}

#[test]
fn a_directory_is_an_error_that_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let error = Reader::open(dir.path(), ReadLimits::default()).unwrap_err();
    assert!(matches!(error, Error::Directory(_)) && error.to_string().contains("name the .warc"), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_the_disks_error() {
    let error = Reader::open(Path::new("/nonexistent/x.warc"), ReadLimits::default()).unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error}");
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let mut tar = vec![0; 600];
    tar[257..262].copy_from_slice(b"ustar");
    tar[0] = b'a';
    for (bytes, says) in [
        (&b"Dear archivist,\nhere are the files"[..], "begins with `Dear archivist,`"),
        (b"<!doctype html><title>404</title>", "begins with `<!doctype html>"),
        (b"%PDF-1.7", "a PDF"),
        (b"BZh91AY&SY", "a bzip2 file"),
        (&[0; 5000], "its start is empty"),
        (&[0xff, 0xfe, 0x80, 0x81], "no format that is known here"),
        (&tar, "a tar file"),
        (&gzip(&tar), "gzip around a tar file"),
        (&gzip(&gzip(&record(0))), "gzip around another gzip"),
        (&gzip(&zip(&[("archive/a.warc", b"", false)])), "gzip around a ZIP file"),
    ] {
        let error = refusal(bytes);
        assert!(matches!(error, Error::NotAnArchive { .. }), "{error}");
        assert!(error.to_string().contains(says), "`{error}` does not say `{says}`");
    }
}

#[test]
fn gzip_of_something_else_is_one_skip() {
    let outcome = case(&gzip(&b"just some text\n".repeat(100_000)), &[], "1500000 bytes that are not a record");
    assert_eq!(outcome.skips.len(), 1);
}
