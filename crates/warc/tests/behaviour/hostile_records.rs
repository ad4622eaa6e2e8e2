//! Broken and hostile records, one case each: what is still read, and what is said about the rest.
//!
//! Records 0 to 4 stand around the damage, which is at record 2 unless the case is about something else. What a case says
//! is a part of what is told, as the error of a block or as a skip; a case that tells nothing must lose nothing.

use crate::common;

use common::*;

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

#[test]
fn line_ends_mangled_by_windows_are_read() {
    let block = body(2);
    let middle = record_with(2, &block, |h| h.replace('\r', "\r\r"));
    case_in_all(middle, &[0, 1, 2, 3, 4], "");
}
