//! Records whose headers lie, are too large, or name something that is not there.

use super::archive::{Archive, case, in_time};
use super::fixtures::{DATE, around, block, edited, http, page, record, record_of, response, url, uuid};
use herodotus_base::Timestamp;
use herodotus_store::Kind;

#[test]
fn a_content_length_too_short_loses_that_record_only() {
    let length = block(2).len();
    let bad = edited(2, &format!("Content-Length: {length}"), &format!("Content-Length: {}", length - 20));
    let (archive, report) = case(&around(&bad), &[1, 3], "*");
    assert!(archive.captures(&url(2)).is_empty(), "half a page is no page");
    assert!(report.skipped >= 1);
}

#[test]
fn a_content_length_too_long_loses_that_record_only() {
    let length = block(2).len();
    for more in [5, 300, 20 << 30] {
        let bad = edited(2, &format!("Content-Length: {length}"), &format!("Content-Length: {}", length + more));
        let (archive, report) = case(&around(&bad), &[1, 3], "*");
        assert!(archive.captures(&url(2)).is_empty(), "{more} more");
        assert!(report.skipped >= 1, "{more} more");
    }
}

/// The line ends behind a block are only line ends; a length that takes them in is believed.
#[test]
fn a_content_length_that_takes_in_line_ends_keeps_what_it_says_or_counts_it() {
    let length = block(2).len();
    for more in 1..=4 {
        let bad = edited(2, &format!("Content-Length: {length}"), &format!("Content-Length: {}", length + more));
        let (archive, report) = case(&around(&bad), &[1, 3], "*");
        let found = archive.captures(&url(2));
        assert_eq!(found.len() as u64 + report.skipped, 1, "{more} more");
        let said = [block(2).as_slice(), &b"\r\n\r\n"[..more]].concat();
        assert!(found.iter().all(|c| archive.wire(c) == said), "{more} more");
    }
}

#[test]
fn a_content_length_that_is_no_number_loses_that_record_only() {
    let length = format!("Content-Length: {}", block(2).len());
    let mut bad: Vec<Vec<u8>> = ["-5", "", "99999999999999999999999999", "0x20", "1e3"]
        .iter()
        .map(|other| edited(2, &length, &format!("Content-Length: {other}")))
        .collect();
    bad.push(edited(2, &length, "X-Length: 7"));
    let (archive, report) = case(&around(&bad.concat()), &[1, 3], "Content-Length");
    assert_eq!(report.skipped, 6);
    assert!(archive.captures(&url(2)).is_empty());
}

#[test]
fn a_header_line_of_a_megabyte_loses_that_record_only() {
    let bad = edited(2, "WARC-Date:", &format!("X-Long: {}\r\nWARC-Date:", "x".repeat(1 << 20)));
    let (archive, _) = case(&around(&bad), &[1, 3], "header");
    assert!(archive.captures(&url(2)).is_empty());
}

#[test]
fn a_hundred_thousand_header_lines_lose_that_record_only() {
    let bad = edited(2, "WARC-Date:", &format!("{}WARC-Date:", "X: y\r\n".repeat(100_000)));
    case(&around(&bad), &[1, 3], "header");
}

#[test]
fn a_url_of_a_megabyte_loses_that_record_only() {
    let bad = edited(2, &url(2), &format!("{}{}", url(2), "/x".repeat(1 << 19)));
    case(&around(&bad), &[1, 3], "header");
}

#[test]
fn a_url_of_thirty_kilobytes_is_kept() {
    let long = format!("{}?{}", url(2), "x".repeat(30_000));
    let (archive, _) = case(&around(&edited(2, &url(2), &long)), &[1, 3], "");
    let capture = archive.capture(&long);
    assert_eq!((capture.url.len(), archive.wire(&capture)), (long.len(), block(2)));
}

/// The key of a URL is longer than the URL where letters must be written as `%C3%A9`; index keys end at 64 KiB.
#[test]
fn a_url_whose_key_is_longer_than_the_index_takes_is_kept_or_counted() {
    let long = format!("{}?{}", url(2), "é".repeat(30_000));
    let (archive, report) = case(&around(&edited(2, &url(2), &long)), &[1, 3], "*");
    assert_eq!(archive.captures(&long).len() as u64 + report.skipped, 1);
}

#[test]
fn urls_around_the_longest_are_kept_or_counted() {
    use herodotus_base::limits::URL_BYTES_MAX;
    let long = |len: usize| format!("{}?{}", url(2), "x".repeat(len - url(2).len() - 1));
    // Around our own limit, and around that of a WARC header.
    let lens: Vec<usize> = [URL_BYTES_MAX, 65_200].iter().flat_map(|at| (at - 20..at + 20).step_by(5)).collect();
    let bad: Vec<u8> = lens.iter().flat_map(|len| edited(2, &url(2), &long(*len))).collect();
    let (archive, report) = case(&around(&bad), &[1, 3], "*");
    let kept = archive.store().scan_all().filter(|e| e.as_ref().unwrap().url.len() > 1000).count() as u64;
    assert_eq!(kept + report.skipped, lens.len() as u64);
    assert!(kept > 0);
}

/// Keys are cut at the longest URL, so that these two have one key; they are still two captures.
#[test]
fn two_long_urls_that_differ_only_at_their_ends_are_both_kept() {
    let long = |end: &str| format!("{}?{}{end}", url(2), "é".repeat(8000));
    let twin = String::from_utf8(edited(2, &url(2), &long("b"))).unwrap().replace(&uuid(2), &uuid(20)).into_bytes();
    let (archive, _) = case(&around(&[edited(2, &url(2), &long("a")), twin].concat()), &[1, 3], "");
    for end in ["a", "b"] {
        assert!(
            archive.captures(&long(end)).iter().any(|c| c.url == long(end) && archive.wire(c) == block(2)),
            "{end}"
        );
    }
}

#[test]
fn what_is_refused_by_the_store_is_told_with_its_place() {
    let long = format!("{}?{}", url(2), "é".repeat(30_000));
    let mut archive = Archive::new();
    let file = around(&edited(2, &url(2), &long));
    let report = in_time(move || archive.import(&file)).unwrap();
    for skip in &report.skips {
        assert_eq!(skip.offset, record(1).len() as u64, "{}", &skip.reason[..skip.reason.len().min(200)]);
    }
}

#[test]
fn a_url_that_is_not_utf8_is_kept_or_counted() {
    let mut bad = record(2);
    let at = bad.windows(13).position(|w| w == b"//a.example/2").unwrap() + 12;
    bad.splice(at..at, *b"caf\xe9\xff\xfe");
    let (archive, report) = case(&around(&bad), &[1, 3], "*");
    let stored = archive.store().scan_all().map(|e| e.unwrap()).filter(|e| e.url.contains("caf")).count() as u64;
    assert_eq!(stored + report.skipped, 1);
}

#[test]
fn nul_bytes_lose_that_record_or_nothing() {
    for place in ["WARC-Type: response", "a.example/2", "WARC-Date", "<urn:uuid:", "Content-Type"] {
        let bad = edited(2, place, &format!("{place}\0"));
        let (archive, report) = case(&around(&bad), &[1, 3], "*");
        let urls: Vec<String> = archive.store().scan_all().map(|e| e.unwrap().url).collect();
        assert!(!urls.iter().any(|u| u.contains('\0')), "{place}");
        assert!(report.skipped + report.stored >= 3, "{place}");
    }
    let zeros = http("Content-Type: text/html\r\n", &[0; 5000]);
    let (archive, _) = case(&around(&response(2, &zeros)), &[1, 3], "");
    assert_eq!(archive.wire(&archive.capture(&url(2))), zeros);
}

#[test]
fn odd_urls_are_kept_as_they_are() {
    let odd = [
        "dns:a.example",
        "urn:X",
        "http://",
        "http:///",
        "http://[::1",
        "http://user:pass@a.example:99999/%zz%",
        "//",
        "%00%00",
        "http://a.example/\u{202e}gnp.exe",
        "http://xn--/",
        "javascript:alert(1)",
        "http://a.example/a b\tc",
        "!warcinfo/x",
        "com,example)/",
        "x",
    ];
    let parts: Vec<Vec<u8>> = odd
        .iter()
        .enumerate()
        .map(|(i, url)| {
            let id = uuid(100 + i);
            let fields = [("WARC-Type", "response"), ("WARC-Target-URI", *url), ("WARC-Date", DATE)];
            record_of(&[&fields[..], &[("WARC-Record-ID", &id)]].concat(), &http("", &page(i)))
        })
        .collect();
    let (archive, _) = case(&around(&parts.concat()), &[1, 3], "");
    for (i, url) in odd.iter().enumerate() {
        let found = archive.captures(url);
        let body = http("", &page(i));
        assert!(found.iter().any(|c| c.url == *url && archive.wire(c) == body), "{url}");
    }
}

fn dated(date: &str) -> Vec<u8> {
    edited(2, DATE, date)
}

#[test]
fn dates_at_the_ends_of_time_are_kept() {
    for date in ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "0001-02-29T00:00:00Z", "1969-12-31T23:59:59Z"] {
        let valid = Timestamp::parse(date);
        let (archive, _) = case(&around(&dated(date)), &[1, 3], if valid.is_ok() { "" } else { "is no time" });
        if let Ok(time) = valid {
            let capture = archive.capture(&url(2));
            assert_eq!((capture.time, archive.wire(&capture)), (time, block(2)), "{date}");
            assert!(archive.store().newest_not_after(&capture.key(), time).unwrap().is_some(), "{date}");
        }
    }
}

#[test]
fn dates_that_are_none_lose_those_records_only() {
    let none = [
        "10000-01-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-01-02T25:00:00Z",
        "-001-01-01T00:00:00Z",
        "0000-01-01T00:00:00+23:00",
        "9999-12-31T23:59:59-23:00",
        "yesterday",
        "２０２６-01-01T00:00:00Z",
        "2026-01-02T03:04:05+9999999999",
        "",
    ];
    let bad: Vec<Vec<u8>> = none.iter().map(|date| dated(date)).collect();
    let (archive, report) = case(&around(&bad.concat()), &[1, 3], "is no time");
    assert!(archive.captures(&url(2)).is_empty());
    let mut offset = record(1).len() as u64;
    for ((date, bad), skip) in none.iter().zip(&bad).zip(&report.skips) {
        assert_eq!((skip.offset, skip.reason.contains(date)), (offset, true), "{date}: {skip:?}");
        offset += bad.len() as u64;
    }
    assert_eq!(report.skips.len(), none.len());
}

#[test]
fn a_missing_date_loses_that_record_only() {
    case(&around(&edited(2, "WARC-Date:", "X-Date:")), &[1, 3], "nothing");
}

#[test]
fn a_date_of_a_megabyte_loses_that_record_only() {
    case(&around(&dated(&"2".repeat(60_000))), &[1, 3], "is no time");
}

#[test]
fn a_missing_target_loses_that_record_only() {
    case(&around(&edited(2, "WARC-Target-URI:", "X-Target:")), &[1, 3], "without WARC-Target-URI");
    case(&around(&edited(2, &url(2), "")), &[1, 3], "without WARC-Target-URI");
}

#[test]
fn records_without_an_id_are_kept_and_known_again() {
    for id in ["X-Record-ID: none", "WARC-Record-ID: ", "WARC-Record-ID: <>"] {
        let bad = edited(2, &format!("WARC-Record-ID: {}", uuid(2)), id);
        let (archive, _) = case(&around(&bad), &[1, 3], "");
        assert_eq!(archive.wire(&archive.capture(&url(2))), block(2), "{id}");
    }
}

#[test]
fn an_id_of_sixty_kilobytes_is_kept() {
    let bad = edited(2, &uuid(2), &format!("<urn:x:{}>", "y".repeat(60_000)));
    let (archive, _) = case(&around(&bad), &[1, 3], "");
    assert_eq!(archive.wire(&archive.capture(&url(2))), block(2));
}

#[test]
fn one_id_on_two_urls_keeps_both() {
    let twin = edited(4, &uuid(4), &uuid(2));
    case(&[record(1), record(2), twin, record(3)].concat(), &[1, 2, 3, 4], "");
}

/// Same URL, time and id, other content: the second cannot stand beside the first, but it is not the very same either.
#[test]
fn one_id_on_two_contents_is_not_called_known() {
    let other = response(2, &http("Content-Type: text/html\r\n", b"quite another page"));
    let mut archive = Archive::new();
    let report = archive.import(&[record(1), record(2), other.clone(), record(3)].concat()).unwrap();
    let kept: Vec<Vec<u8>> = archive.captures(&url(2)).iter().map(|c| archive.wire(c)).collect();
    assert!(kept.contains(&block(2)), "the first of the two is lost");
    archive.assert_whole();
    let told = report.skips.iter().any(|s| s.offset > 0);
    assert!(kept.len() == 2 || told, "the second was dropped without a word: {report:?}");
    // The same holds if the two come in files of their own.
    let report = archive.import(&other).unwrap();
    assert!(archive.captures(&url(2)).len() == 2 || report.skipped == 1, "{report:?}");
}

#[test]
fn two_captures_of_one_url_in_one_millisecond_are_both_kept() {
    let twin = edited(2, &uuid(2), &uuid(77));
    let other = response(2, &http("", b"another page")).iter().map(|b| char::from(*b)).collect::<String>();
    let other = other.replace(&uuid(2), &uuid(78)).into_bytes();
    let (archive, _) = case(&[record(1), record(2), twin, other, record(3)].concat(), &[1, 3], "");
    let bodies: Vec<_> = archive.captures(&url(2)).iter().map(|c| archive.wire(c)).collect();
    assert_eq!(bodies.iter().filter(|b| **b == block(2)).count(), 2);
    assert_eq!(bodies.len(), 3);
}

#[test]
fn a_thousand_captures_of_one_url_in_one_millisecond_are_all_kept() {
    let all: Vec<u8> = (0..1000)
        .flat_map(|i| {
            let text = String::from_utf8(response(2, &http("", &page(i)))).unwrap();
            text.replace(&uuid(2), &uuid(1000 + i)).into_bytes()
        })
        .collect();
    let (archive, _) = case(&around(&all), &[1, 3], "");
    assert_eq!(archive.captures(&url(2)).len(), 1000);
}

#[test]
fn unknown_types_are_kept() {
    for kind in ["screenshot", "RESPONSE-ish", &"x".repeat(50_000), "\u{1f980}"] {
        let bad = edited(2, "WARC-Type: response", &format!("WARC-Type: {kind}"));
        let (archive, report) = case(&around(&bad), &[1, 3], "*");
        let found = archive.captures(&url(2));
        assert_eq!(found.len() as u64 + report.skipped, 1, "{kind:.20}");
        assert!(found.iter().all(|c| archive.wire(c) == block(2)), "{kind:.20}");
    }
}

#[test]
fn continuation_segments_are_kept_as_they_are() {
    let (origin, second, total) = (uuid(2), uuid(20), "9000");
    let first = [
        ("WARC-Type", "response"),
        ("WARC-Target-URI", "http://a.example/long"),
        ("WARC-Date", DATE),
        ("WARC-Record-ID", &origin),
        ("WARC-Segment-Number", "1"),
    ];
    let next = [
        ("WARC-Type", "continuation"),
        ("WARC-Target-URI", "http://a.example/long"),
        ("WARC-Date", DATE),
        ("WARC-Record-ID", &second),
        ("WARC-Segment-Origin-ID", &origin),
        ("WARC-Segment-Number", "2"),
        ("WARC-Segment-Total-Length", total),
    ];
    let lost = [
        ("WARC-Type", "continuation"),
        ("WARC-Target-URI", "http://a.example/lost"),
        ("WARC-Date", DATE),
        ("WARC-Segment-Origin-ID", "<urn:nowhere>"),
        ("WARC-Segment-Number", "-7"),
    ];
    let head = http("Content-Type: text/plain\r\n", &page(1));
    let middle = [record_of(&first, &head), record_of(&next, &page(2)), record_of(&lost, &page(3))].concat();
    let (archive, report) = case(&around(&middle), &[1, 3], "");
    assert_eq!(report.records["continuation"], 2);
    let found = archive.captures("http://a.example/long");
    let blocks: Vec<Vec<u8>> = found.iter().map(|c| archive.wire(c)).collect();
    assert!(blocks.contains(&head) && blocks.contains(&page(2)));
    assert!(
        found.iter().any(|c| c.main.kind == Kind::Continuation && c.main.field("WARC-Segment-Number") == Some("2"))
    );
    assert_eq!(archive.wire(&archive.capture("http://a.example/lost")), page(3));
}

#[test]
fn digests_that_lie_are_counted_and_the_bytes_kept() {
    let lie = "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\nWARC-Date:";
    let (archive, report) = case(&around(&edited(2, "WARC-Date:", lie)), &[1, 3], "");
    assert_eq!(report.digest_mismatches, 1);
    assert_eq!(archive.wire(&archive.capture(&url(2))), block(2));
}

#[test]
fn a_false_block_digest_comes_back_as_it_was_and_a_true_one_too() {
    let of = |digest: &str| edited(2, "WARC-Date:", &format!("WARC-Block-Digest: {digest}\r\nWARC-Date:"));
    let truth = herodotus_base::Sha1::of(&block(2)).to_string();
    for said in [truth.as_str(), "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", &truth.to_lowercase()] {
        let (archive, _) = case(&around(&of(said)), &[1, 3], "");
        assert_eq!(archive.capture(&url(2)).main.field("WARC-Block-Digest"), Some(said));
    }
}

#[test]
fn digests_that_are_none_are_dropped_and_the_bytes_kept() {
    let nonsense = ["sha1:", "\u{fffd}\u{fffd}", "md5:xyz", "sha1:a b c", &"x".repeat(10_000)];
    let bad: Vec<u8> = (nonsense.iter().enumerate())
        .flat_map(|(i, digest)| edited(10 + i, "WARC-Date:", &format!("WARC-Block-Digest: {digest}\r\nWARC-Date:")))
        .collect();
    case(&around(&bad), &[1, 10, 11, 12, 13, 14, 3], "");
}

#[test]
fn fields_that_come_twice_or_are_empty_are_kept() {
    let bad = edited(2, "WARC-Date:", "WARC-IP-Address: \r\nWARC-IP-Address: not one\r\nX:\r\nX:\r\nWARC-Date:");
    let (archive, _) = case(&around(&bad), &[1, 3], "");
    let capture = archive.capture(&url(2));
    assert_eq!((capture.remote(), archive.wire(&capture)), (None, block(2)));
}

#[test]
fn records_that_are_nothing_but_a_header_are_kept() {
    let kinds = ["response", "request", "resource", "metadata", "warcinfo", "revisit", "conversion"];
    let bare = kinds.iter().enumerate().flat_map(|(i, kind)| {
        let (id, url) = (uuid(20 + i), format!("http://a.example/none/{kind}"));
        let fields = [("WARC-Type", *kind), ("WARC-Target-URI", &url), ("WARC-Date", DATE), ("WARC-Record-ID", &id)];
        record_of(&fields, b"")
    });
    let (_, report) = case(&around(&bare.collect::<Vec<_>>()), &[1, 3], "");
    assert_eq!(report.records_total(), 9);
    assert_eq!(report.stored, 9);
}
