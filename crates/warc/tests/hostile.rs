//! Broken and hostile files, one case each: what is still read, and what is said about the rest.
//!
//! Records 0 to 4 stand around the damage, which is at record 2 unless the case is about something else. `says` is a part
//! of what is told, as the error of a block or as a skip; a case that tells nothing must lose nothing.

mod common;

use common::*;
use herodotus_warc::{Error, ReadLimits, Reader};
use std::path::Path;

/// For cases that differ in what they say, but must say something.
const ANYTHING: &str = "*";

#[track_caller]
fn case(bytes: &[u8], whole: &[usize], says: &str) -> Outcome {
    let fixture = Fixture::new(bytes);
    let outcome = drain(&mut fixture.open());
    assert_eq!(outcome.numbers(), whole, "{outcome:?}");
    let told = outcome.failed.len() + outcome.skips.len();
    if says == ANYTHING {
        assert_ne!(told, 0, "{outcome:?}");
    } else if says.is_empty() {
        assert_eq!(told, 0, "{outcome:?}");
    } else {
        assert!(outcome.reasons().contains(says), "`{}` does not say `{says}`", outcome.reasons());
    }
    for skip in &outcome.skips {
        assert!(skip.offset <= bytes.len() as u64, "{skip:?}");
        assert!(skip.reason.chars().count() < 200 && !skip.reason.contains(['\n', '\0']), "{skip:?}");
    }
    // Nobody reading the blocks must change nothing but who is told.
    let mut reader = fixture.open();
    let (mut records, mut skips) = (0, 0);
    while let Some(item) = reader.next().unwrap() {
        match item {
            herodotus_warc::Item::Record(_) => records += 1,
            herodotus_warc::Item::Skipped(_) => skips += 1,
        }
    }
    assert_eq!(records, outcome.whole.len() + outcome.failed.len(), "dropped unread");
    assert_eq!(skips, told, "each damage is told once, read or not");
    // Going on from any position gives the same records again.
    for (place, rest) in positions(&fixture) {
        let mut reader = fixture.open();
        reader.resume(&place).unwrap();
        let again = drain(&mut reader);
        assert_eq!(again.whole.len() + again.failed.len(), rest.len(), "from {place}: {again:?}");
    }
    outcome
}

/// Records 0 to 4 with another in place of 2, as plain file, gzip by record and gzip as one.
fn around(middle: Vec<u8>) -> [Vec<u8>; 3] {
    let all = [record(0), record(1), middle, record(3), record(4)];
    [concat(all.clone()), concat(all.iter().map(|r| gzip(r))), gzip(&concat(all))]
}

#[track_caller]
fn case_in_all(middle: Vec<u8>, whole: &[usize], says: &str) {
    for bytes in around(middle) {
        case(&bytes, whole, says);
    }
}

fn edited(edit: impl Fn(String) -> String) -> Vec<u8> {
    record_with(2, &body(2), edit)
}

fn refusal(bytes: &[u8]) -> Error {
    Reader::open(&Fixture::new(bytes).path, ReadLimits::default()).unwrap_err()
}

fn members() -> Vec<Vec<u8>> {
    records(0..5).iter().map(|r| gzip(r)).collect()
}

fn frames() -> Vec<Vec<u8>> {
    records(0..5).iter().map(|r| zstd(r)).collect()
}

// What stands in a header.

#[test]
fn a_header_line_of_a_megabyte_skips_that_record_only() {
    let long = format!("X-Long: {}\r\nWARC-Type", "x".repeat(1 << 20));
    case_in_all(edited(|h| h.replacen("WARC-Type", &long, 1)), &[0, 1, 3, 4], "header is longer than 65536 bytes");
}

#[test]
fn a_missing_content_length_skips_that_record_only() {
    let middle = edited(|h| h.replacen("Content-Length", "X-Length", 1));
    case_in_all(middle, &[0, 1, 3, 4], "has no Content-Length");
}

#[test]
fn two_content_lengths_that_differ_skip_that_record_only() {
    let middle = edited(|h| h.replacen("Content-Length", "Content-Length: 5\r\nContent-Length", 1));
    case_in_all(middle, &[0, 1, 3, 4], "two Content-Length fields");
}

#[test]
fn two_content_lengths_that_agree_are_one() {
    let line = format!("Content-Length: {}\r\nContent-Length", body(2).len());
    case_in_all(edited(|h| h.replacen("Content-Length", &line, 1)), &[0, 1, 2, 3, 4], "");
}

#[test]
fn a_negative_content_length_skips_that_record_only() {
    let middle = edited(|h| h.replacen("Content-Length: ", "Content-Length: -", 1));
    case_in_all(middle, &[0, 1, 3, 4], "is not a number of bytes");
}

#[test]
fn a_content_length_beyond_64_bits_skips_that_record_only() {
    let middle = edited(|h| h.replacen("Content-Length: ", "Content-Length: 99999999999999999999", 1));
    case_in_all(middle, &[0, 1, 3, 4], "is not a number of bytes");
}

#[test]
fn a_content_length_beyond_the_limit_skips_that_record_only() {
    let middle = edited(|h| h.replacen("Content-Length: ", "Content-Length: 99999999999999", 1));
    case_in_all(middle, &[0, 1, 3, 4], "more than 68719476736 are not read");
}

#[test]
fn a_missing_warc_type_skips_that_record_only() {
    case_in_all(edited(|h| h.replacen("WARC-Type", "WARC-Tope", 1)), &[0, 1, 3, 4], "has no WARC-Type");
}

#[test]
fn an_empty_warc_type_skips_that_record_only() {
    case_in_all(edited(|h| h.replacen(": response", ":", 1)), &[0, 1, 3, 4], "has no WARC-Type");
}

#[test]
fn a_nul_byte_in_a_header_skips_that_record_only() {
    case_in_all(edited(|h| h.replacen("a.example/2", "a.example/\0", 1)), &[0, 1, 3, 4], "NUL byte");
}

#[test]
fn line_ends_of_lf_alone_are_read() {
    case_in_all(edited(|h| h.replace('\r', "")), &[0, 1, 2, 3, 4], "");
}

#[test]
fn folded_header_lines_are_joined() {
    case_in_all(edited(|h| h.replacen("WARC-Target-URI: ", "WARC-Target-URI:\r\n \t", 1)), &[0, 1, 2, 3, 4], "");
}

#[test]
fn angle_brackets_around_a_url_are_taken_off() {
    case_in_all(edited(|h| h.replacen(&url(2), &format!("<{}>", url(2)), 1)), &[0, 1, 2, 3, 4], "");
}

#[test]
fn a_header_line_without_a_colon_is_passed_over() {
    case_in_all(edited(|h| h.replacen("WARC-Date", "what is this\r\nWARC-Date", 1)), &[0, 1, 2, 3, 4], "");
}

#[test]
fn an_unknown_version_with_digits_is_read() {
    case_in_all(edited(|h| h.replacen("WARC/1.1", "WARC/0.18", 1)), &[0, 1, 2, 3, 4], "");
}

#[test]
fn a_version_that_is_none_skips_that_record_only() {
    case_in_all(edited(|h| h.replacen("WARC/1.1", "WARC/x.y", 1)), &[0, 1, 3, 4], "version line");
}

#[test]
fn a_header_without_any_field_skips_that_record_only() {
    case_in_all(b"WARC/1.0\r\n\r\nhello\r\n\r\n".to_vec(), &[0, 1, 3, 4], "has no Content-Length");
}

// Lengths that are wrong.

#[test]
fn a_content_length_too_short_fails_that_record_only() {
    let middle = edited(|h| h.replacen(&format!("Content-Length: {}", body(2).len()), "Content-Length: 20", 1));
    case_in_all(middle, &[0, 1, 3, 4], "Content-Length of 20 is wrong");
}

#[test]
fn a_content_length_that_swallows_the_next_record_loses_only_its_own() {
    let len = body(2).len() + 4 + record(3).len() / 2;
    let line = format!("Content-Length: {len}");
    let middle = edited(|h| h.replacen(&format!("Content-Length: {}", body(2).len()), &line, 1));
    let [plain, by_record, as_one] = around(middle);
    case(&plain, &[0, 1, 3, 4], "is wrong");
    case(&by_record, &[0, 1, 3, 4], "fewer follow");
    case(&as_one, &[0, 1, 3, 4], "is wrong");
}

#[test]
fn a_content_length_past_the_end_loses_only_its_own_record() {
    let middle = edited(|h| h.replacen("Content-Length: ", "Content-Length: 12345", 1));
    case_in_all(middle, &[0, 1, 3, 4], "fewer follow");
}

#[test]
fn a_wrong_length_in_a_block_larger_than_the_buffer_loses_only_its_own_record() {
    let mut block = body(2);
    block.resize(700_000, b'x');
    for len in [100, 699_999, 700_300, 9_000_000] {
        let middle =
            record_with(2, &block, |h| h.replacen("Content-Length: 700000", &format!("Content-Length: {len}"), 1));
        case_in_all(middle, &[0, 1, 3, 4], ANYTHING);
    }
}

#[test]
fn a_record_without_its_two_line_ends_is_whole() {
    let middle = record(2);
    case_in_all(middle[..middle.len() - 4].to_vec(), &[0, 1, 2, 3, 4], "");
}

#[test]
fn a_header_shown_within_a_page_is_not_taken_for_a_record() {
    let block = concat([b"HTTP/1.1 200 OK\r\n\r\n<pre>".to_vec(), record(9), b"</pre>".to_vec()]);
    case_in_all(record_with(2, &block, |h| h), &[0, 1, 2, 3, 4], "");
    // Even where the record around it is broken.
    let broken = record_with(2, &block, |h| h.replacen("Content-Length: ", "Content-Length: 1", 1));
    case_in_all(broken, &[0, 1, 3, 4], ANYTHING);
}

// What stands between records.

#[test]
fn garbage_between_records_is_told_and_passed() {
    let outcome =
        case(&concat([record(0), b"garbage, not ending in a line end".to_vec(), record(1)]), &[0, 1], "33 bytes");
    assert_eq!(outcome.skips[0].offset, record(0).len() as u64);
    case(&concat([gzip(&record(0)), b"garbage".to_vec(), gzip(&record(1))]), &[0, 1], "not gzip");
    case(&concat([zstd(&record(0)), b"garbage".to_vec(), zstd(&record(1))]), &[0, 1], "not zstd");
}

#[test]
fn garbage_before_the_first_record_is_told_and_passed() {
    case(&concat([b"\xef\xbb\xbfgarbage\n".to_vec(), record(0)]), &[0], "11 bytes that are not a record");
    case(&concat([gzip(b"not a record"), gzip(&record(0))]), &[0], "12 bytes that are not a record");
}

#[test]
fn garbage_after_the_last_record_is_told() {
    case(&concat([record(0), b"the end".to_vec()]), &[0], "7 bytes that are not a record");
    case(&concat([gzip(&record(0)), b"the end".to_vec()]), &[0], "not gzip");
    case(&concat([zstd(&record(0)), b"the end".to_vec()]), &[0], "not zstd");
}

#[test]
fn padding_with_zeros_is_no_damage() {
    case(&concat([record(0), vec![0; 100_000], record(1), vec![0; 512]]), &[0, 1], "");
    case(&concat([gzip(&record(0)), vec![0; 100_000], gzip(&record(1)), vec![0; 512]]), &[0, 1], "");
    case(&concat([zstd(&record(0)), vec![0; 9], zstd(&record(1)), vec![0; 512]]), &[0, 1], "");
}

#[test]
fn many_empty_lines_between_records_are_no_damage() {
    case(&concat([record(0), b"\r\n".repeat(50_000), record(1)]), &[0, 1], "");
}

#[test]
fn empty_gzip_members_are_no_damage() {
    case(&concat([gzip(b""), gzip(&record(0)), gzip(b""), gzip(b""), gzip(&record(1)), gzip(b"")]), &[0, 1], "");
    case(&concat([zstd(b""), zstd(&record(0)), zstd(b""), zstd(&record(1))]), &[0, 1], "");
}

#[test]
fn an_uncompressed_record_among_gzip_members_is_told() {
    case(&concat([gzip(&record(0)), record(1), gzip(&record(2))]), &[0, 2], "uncompressed record stands among gzip");
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
