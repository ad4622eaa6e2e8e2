//! The versions of a URL.

use crate::answer::Trouble;
use crate::views::fixture::{Archive, answer, identical, lines, not_modified, page, second, time};
use crate::views::limits::VERSIONS_LISTED_MAX;
use crate::views::{Change, versions};
use herodotus_store::Capture;
use std::collections::BTreeSet;

const URL: &str = "http://example.org/";

fn paragraphs(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("paragraph {n}")).collect()
}

#[test]
fn ten_thousand_versions_are_counted_and_listed_page_by_page() {
    let version = |n: i64| page(URL, &second(n * 3600), &format!("<title>Hourly</title><p>{}", n / 2));
    let archive = Archive::of((0..10_000).map(version));
    let all = versions(&archive.site, "example.org", None, None).unwrap();
    assert_eq!((all.total, all.partial, all.title.as_deref()), (10_000, false, Some("Hourly")));
    assert_eq!((all.first.as_deref(), all.last.as_deref()), (Some("20260101000000"), Some("20270221150000")));
    assert_eq!(all.years.iter().map(|y| (y.year, y.versions)).collect::<Vec<_>>(), [(2026, 8760), (2027, 1240)]);
    assert_eq!(all.years[1].months[..3], [744, 496, 0]);
    assert_eq!((all.year, all.days.len()), (2027, 52));
    let day = &all.days[0];
    assert_eq!(
        (day.day.as_str(), day.versions, day.changed, day.stamp.as_str()),
        ("2027-01-01", 24, 12, "20270101230000")
    );
    assert!(!day.only_other);
    assert_eq!((all.list.len(), all.list[0].stamp.as_str()), (VERSIONS_LISTED_MAX, "20270221150000"));

    let in_2026 = versions(&archive.site, URL, Some(2026), None).unwrap();
    assert_eq!((in_2026.days.len(), in_2026.list[0].stamp.as_str()), (365, "20261231230000"));

    let (mut seen, mut before) = (BTreeSet::new(), Some("20260120".to_owned()));
    while let Some(at) = before {
        let part = versions(&archive.site, URL, None, Some(&at)).unwrap();
        assert!(part.list.iter().all(|version| seen.insert(version.stamp.clone())));
        before = part.next;
    }
    assert_eq!(seen.len(), 19 * 24);
}

#[test]
fn each_version_says_how_much_it_changed() {
    let same = lines(URL, "20260103", &paragraphs(19));
    let mut changed = paragraphs(19);
    changed[4] = "another".to_owned();
    let mut markup = lines(URL, "20260105", &changed);
    markup.main.body = herodotus_store::Body::new(
        [
            b"<!-- new --><title>A page</title>".to_vec(),
            changed.iter().flat_map(|l| format!("<p>{l}</p>").into_bytes()).collect(),
        ]
        .concat(),
    );
    let archive = Archive::of([
        lines(URL, "20260102", &paragraphs(19)),
        same.clone(),
        lines(URL, "20260104", &changed),
        markup,
        answer(URL, "20260106", "200 OK", "image/png", b"\x89PNG\x00"),
        answer(URL, "20260107", "301 Moved", "text/html", b"<p>moved"),
        page(URL, "20260108", &format!("<p>{}", "x".repeat(3_000_000))),
    ]);
    for _ in 0..2 {
        let list = versions(&archive.site, URL, None, None).unwrap().list;
        let changes: Vec<_> = list.iter().map(|version| version.change.unwrap()).collect();
        let share = |n: usize| match changes[n] {
            Change::Changed { share, .. } => share,
            other => panic!("{other:?}"),
        };
        assert_eq!((changes[6], changes[5]), (Change::First, Change::Same));
        assert_eq!((share(4), share(3)), (Some(0.05), Some(0.0)), "one line of twenty; only markup");
        assert_eq!((share(2), share(1), share(0)), (None, None, None), "no text; from no text; too large");
        assert!(matches!(changes[0], Change::Changed { bytes, .. } if bytes > 2_999_000));
    }
}

#[test]
fn revisits_are_what_they_stand_for() {
    let first = page(URL, "20260101", "<title>A</title><p>one");
    let archive = Archive::of([
        first.clone(),
        not_modified(URL, "20260102"),
        identical(URL, "20260103", &first),
        not_modified(URL, "20260104"),
        page(URL, "20260105", "<title>A</title><p>two"),
        not_modified(URL, "20260106"),
    ]);
    let all = versions(&archive.site, URL, None, None).unwrap();
    let same: Vec<_> = all.list.iter().map(|version| version.change == Some(Change::Same)).collect();
    assert_eq!(same, [true, false, true, true, true, false]);
    assert!(
        all.list.iter().all(|v| v.status == Some(200) && v.length == 22 && v.media == "text/html"),
        "{:?}",
        all.list
    );
    assert_eq!(all.days.iter().map(|day| day.changed).collect::<Vec<_>>(), [1, 0, 0, 0, 1, 0]);
    assert!(all.days.iter().all(|day| !day.only_other));
}

#[test]
fn versions_of_one_second_are_all_listed_together() {
    let at = |stamp: &str, n: i64, apart_ms: i64| {
        let mut capture: Capture = page(URL, stamp, &n.to_string());
        capture.time = herodotus_base::Timestamp::from_millis(time(stamp).millis() + n * apart_ms).unwrap();
        capture
    };
    let captures = (0..70).map(|n| at("20260101030405", n, 0)).chain((0..70).map(|n| at("20260102030405", n, 14)));
    let archive = Archive::of(captures);
    let first = versions(&archive.site, URL, None, None).unwrap();
    assert_eq!((first.total, first.list.len(), first.next.as_deref()), (140, 70, Some("20260102030405")));
    let second = versions(&archive.site, URL, None, first.next.as_deref()).unwrap();
    assert_eq!((second.list.len(), second.next), (70, None));
}

#[test]
fn a_day_of_errors_and_redirects_is_told_apart() {
    let archive = Archive::of([
        answer(URL, "20260101", "301 Moved", "text/html", b""),
        answer(URL, "2026-01-01T10:00:00Z", "500 Oops", "text/html", b"x"),
        answer(URL, "20260102", "404 Not Found", "text/html", b""),
        page(URL, "2026-01-02T10:00:00Z", "<p>here"),
    ]);
    let days = versions(&archive.site, URL, None, None).unwrap().days;
    assert_eq!(days.iter().map(|day| day.only_other).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_url_that_is_not_here_has_no_versions_and_near_ones() {
    let archive = Archive::of([page("http://example.org/a/b", "20260101", "<p>x")]);
    let none = versions(&archive.site, "http://example.org/a/c", None, None).unwrap();
    assert_eq!((none.total, none.list.len(), none.days.len(), none.near.len()), (0, 0, 0, 1));
    assert_eq!((none.url.as_str(), none.near[0].url.as_str()), ("http://example.org/a/c", "http://example.org/a/b"));
}

#[test]
fn odd_years_and_moments_are_harmless() {
    let archive =
        Archive::of([page(URL, "20260101", "<p>x"), page(URL, "00000101", "<p>0"), page(URL, "99991231", "<p>9")]);
    for year in [i32::MIN, -1, 0, 1, 2026, 9999, 10_000, i32::MAX] {
        let all = versions(&archive.site, URL, Some(year), None).unwrap();
        assert_eq!((all.total, all.years.len(), all.year), (3, 3, year));
    }
    for before in ["00000101", "99991231235959", "0000"] {
        assert!(versions(&archive.site, URL, None, Some(before)).is_ok(), "{before}");
    }
    for before in ["", "x", "20261301", "-1", "\u{0}", "202601010000000000000000"] {
        assert!(matches!(versions(&archive.site, URL, None, Some(before)), Err(Trouble::Asked(_))), "{before}");
    }
    for url in ["", "-", "urn:x", "http://", "\u{0}", "http://\u{7f}/"] {
        assert_eq!(versions(&archive.site, url, None, None).unwrap().total, 0, "{url}");
    }
}
