//! The first page, searches, and the facts of a capture.

use crate::answer::Trouble;
use crate::views::fixture::{Archive, answer, identical, not_modified, page, truncated};
use crate::views::limits::{FOUND_MAX, RECENT_SHOWN_MAX};
use crate::views::{ReadAs, facts, home, search};
use std::collections::BTreeSet;

fn titled(url: &str, stamp: &str, title: &str) -> herodotus_store::Capture {
    page(url, stamp, &format!("<title>{title}</title><p>text of {title}"))
}

#[test]
fn the_first_page_shows_pages_each_once_newest_first_with_their_titles() {
    let archive = Archive::of([
        titled("http://example.org/a", "20260101", "First"),
        titled("http://example.org/a", "20260103", "First again"),
        titled("http://example.org/b", "20260102", "Second &amp; \u{202e}odd\u{7}"),
        answer("http://example.org/x.png", "20260104", "200 OK", "image/png", b"\x89PNG"),
        answer("http://example.org/gone", "20260105", "404 Not Found", "text/html", b"<title>No</title>"),
    ]);
    let home = home(&archive.site).unwrap();
    let shown: Vec<_> =
        home.recent.iter().map(|r| (r.version.url.as_str(), r.version.stamp.as_str(), r.title.as_deref())).collect();
    assert_eq!(
        shown,
        [
            ("http://example.org/a", "20260103000000", Some("First again")),
            ("http://example.org/b", "20260102000000", Some("Second & odd")),
        ]
    );
    assert_eq!((home.totals.captures, home.totals.urls), (5, 4));
    assert!(home.totals.bytes_in > 100 && home.totals.bytes_on_disk > 100, "{:?}", home.totals);
    assert!(home.crawls.is_empty() && !home.can_crawl);
}

#[test]
fn the_first_page_of_an_archive_without_pages_shows_what_there_is() {
    assert!(home(&Archive::empty().site).unwrap().recent.is_empty());
    let picture = |n: usize| {
        let (url, stamp) = (format!("http://example.org/{n}.png"), format!("202601{:02}", n + 1));
        answer(&url, &stamp, "200 OK", "image/png", &[n as u8])
    };
    let archive = Archive::of((0..20).map(picture));
    let recent = home(&archive.site).unwrap().recent;
    assert_eq!(recent.len(), RECENT_SHOWN_MAX);
    assert!(recent.iter().all(|r| r.title.is_none() && r.version.media == "image/png"));
}

#[test]
fn a_url_that_is_here_is_found_however_it_is_written() {
    let archive = Archive::of([
        titled("https://www.example.org/a/Page?x=1", "20260101", "One"),
        titled("http://example.org/a/Page?x=1", "20260201", "Two"),
    ]);
    for query in ["https://www.example.org/a/Page?x=1", "example.org/a/page?x=1", " http:/example.org/a/Page?x=1 "] {
        let found = search(&archive.site, query, None).unwrap();
        assert_eq!(
            (found.read_as, found.exact, found.more, found.found.len()),
            (ReadAs::Url, true, false, 1),
            "{query}"
        );
        let one = &found.found[0];
        assert_eq!(
            (one.url.as_str(), one.versions, one.title.as_deref()),
            ("http://example.org/a/Page?x=1", 2, Some("Two"))
        );
        assert_eq!((one.first.as_str(), one.last.as_str()), ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"));
        assert_eq!(one.stamp, "20260201000000");
    }
}

#[test]
fn a_url_that_is_not_here_leads_to_its_neighbours_first() {
    let urls =
        ["http://example.org/", "http://example.org/a/b/one", "http://example.org/z", "http://other.example/a/b/two"];
    let archive = Archive::of(urls.map(|url| titled(url, "20260101", "T")));
    let found = search(&archive.site, "http://example.org/a/b/c/missing?q", None).unwrap();
    let shown: Vec<_> = found.found.iter().map(|f| f.url.as_str()).collect();
    assert_eq!(shown, ["http://example.org/a/b/one", "http://example.org/", "http://example.org/z"]);
    assert!(!found.exact);
    let nothing = search(&archive.site, "http://unknown.example/a", None).unwrap();
    assert!(nothing.found.is_empty() && !nothing.more && nothing.read_as == ReadAs::Url);
}

#[test]
fn a_prefix_or_a_host_is_walked_page_by_page_without_losing_a_url() {
    let urls: Vec<String> = (0..130).map(|n| format!("http://example.org/dir/{n}")).collect();
    let mut captures: Vec<_> = urls.iter().map(|url| titled(url, "20260101", "T")).collect();
    captures.extend(urls.iter().map(|url| titled(url, "20260102", "T2")));
    captures.push(titled("http://example.org/other", "20260101", "T"));
    captures.push(titled("http://example.org.example/dir/1", "20260101", "T"));
    let archive = Archive::of(captures);
    for (query, read_as, expected) in [
        ("example.org/dir/*", ReadAs::Prefix, 130_usize),
        ("example.org/dir/1*", ReadAs::Prefix, 41),
        ("example.org", ReadAs::Host, 131),
    ] {
        let (mut all, mut from, mut pages) = (BTreeSet::new(), None::<String>, 0);
        loop {
            let found = search(&archive.site, query, from.as_deref()).unwrap();
            assert_eq!((found.read_as, found.more), (read_as, found.next.is_some()), "{query}");
            assert!(found.found.len() <= FOUND_MAX);
            all.extend(found.found.into_iter().map(|found| found.url));
            pages += 1;
            from = found.next;
            if from.is_none() {
                break;
            }
        }
        assert_eq!((all.len(), pages), (expected, expected.div_ceil(FOUND_MAX)), "{query}");
    }
}

#[test]
fn words_are_looked_for_in_titles_and_a_host_that_is_not_here_is_words_too() {
    let archive = Archive::of([
        titled("http://example.org/1", "20260101", "The Histories of Herodotus"),
        titled("http://example.org/2", "20260101", "About node.js and others"),
    ]);
    let before = search(&archive.site, "histories", None).unwrap();
    assert!(before.behind && before.found.is_empty(), "nothing is catalogued yet");
    archive.catch_up();
    let found = search(&archive.site, "herodotus histories", None).unwrap();
    assert_eq!((found.read_as, found.behind, found.found.len()), (ReadAs::Words, false, 1));
    assert_eq!(found.found[0].title.as_deref(), Some("The Histories of Herodotus"));
    let found = search(&archive.site, "node.js", None).unwrap();
    assert_eq!((found.read_as, found.found.len()), (ReadAs::Words, 1));
    archive.add([titled("http://example.org/3", "20260102", "Newer histories")]);
    assert!(search(&archive.site, "histories", None).unwrap().behind);
}

#[test]
fn odd_questions_get_harmless_answers() {
    let archive = Archive::of([titled("http://example.org/", "20260101", "T")]);
    archive.catch_up();
    let long = "a.".repeat(10_000);
    for query in [
        "",
        " ",
        "*",
        "**",
        "%00",
        "\u{0}",
        "\u{7f}.\u{7f}/*",
        "http://",
        "http://*",
        "//",
        "[",
        "[::1",
        "a\u{1}b.c/\u{1}",
        ")/",
        "../..",
        "é.é/é*",
        &long,
    ] {
        for from in [None, Some(""), Some("\u{10ffff}"), Some("org,example)/")] {
            let found = search(&archive.site, query, from).unwrap();
            assert!(found.found.len() <= 1, "{query}");
        }
    }
    let too_long = "a".repeat(40_000);
    assert!(matches!(search(&archive.site, &too_long, None), Err(Trouble::Asked(_))));
}

#[test]
fn the_facts_of_a_capture_are_told_with_its_neighbours() {
    let url = "http://example.org/";
    let first = truncated(page(url, "20260101030405", "<p>cut"));
    let second = page(url, "20260102030405", "<p>whole");
    let archive = Archive::of([
        first.clone(),
        second.clone(),
        identical(url, "20260103030405", &second),
        not_modified(url, "20260104030405"),
    ]);
    let told = facts(&archive.site, url, Some("20260101")).unwrap();
    assert_eq!(
        (told.kind.as_str(), told.version.truncated, told.truncated_by.as_deref()),
        ("response", true, Some("length"))
    );
    assert_eq!(told.head, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8");
    assert_eq!(told.address.as_deref(), Some("192.0.2.7"));
    assert_eq!(format!("<{}>", told.record_id), first.main.id.bracketed());
    assert_eq!(told.sha256, first.main.body.digests().sha256.to_string());
    assert_eq!((told.earlier, told.later.as_deref()), (None, Some("20260102030405")));
    for (at, kind) in [(Some("20260103"), "revisit"), (None, "revisit")] {
        let told = facts(&archive.site, url, at).unwrap();
        assert_eq!((told.kind.as_str(), told.version.status), (kind, Some(200)), "{at:?}");
        assert_eq!(told.version.digest, second.main.payload_sha1().base32(), "{at:?}");
        assert_eq!(told.original.unwrap().stamp, "20260102030405");
    }
    assert!(matches!(facts(&archive.site, "http://example.org/no", None), Err(Trouble::NotFound(_))));
    assert!(matches!(facts(&archive.site, url, Some("yesterday")), Err(Trouble::Asked(_))));
}
