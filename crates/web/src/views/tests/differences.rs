//! Two versions beside each other.

use crate::answer::Trouble;
use crate::views::fixture::{Archive, answer, lines, not_modified, page};
use crate::views::limits::{CONTEXT_LINES, DIFFERENCE_LINES_SHOWN_MAX};
use crate::views::{Block, Change, Difference, difference};

const URL: &str = "http://example.org/";

fn paragraphs(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("this is paragraph {n}")).collect()
}

fn compared(old: &[String], new: &[String]) -> Difference {
    let archive = Archive::of([lines(URL, "20260101", old), lines(URL, "20260102", new)]);
    difference(&archive.site, URL, None, None).unwrap()
}

#[test]
fn changed_words_are_marked_within_their_lines_and_unchanged_lines_left_out() {
    let old = paragraphs(40);
    let mut new = old.clone();
    new[20] = "this is paragraph twenty".to_owned();
    new.push("this is new".to_owned());
    let got = compared(&old, &new);
    assert_eq!((got.lines_added, got.lines_removed, got.note.as_deref()), (2, 1, None));
    let kinds: Vec<_> = got
        .blocks
        .iter()
        .map(|block| match block {
            Block::Same { lines } => format!("{} same", lines.len()),
            Block::Skipped { count } => format!("{count} skipped"),
            Block::Changed { removed, added } => format!("-{} +{}", removed.len(), added.len()),
        })
        .collect();
    // The title is a line too.
    assert_eq!(kinds, ["18 skipped", "3 same", "-1 +1", "3 same", "13 skipped", "3 same", "-0 +1"]);
    assert_eq!(CONTEXT_LINES, 3);
    let Block::Changed { removed, added } = &got.blocks[2] else { panic!("{:?}", got.blocks) };
    assert_eq!(removed[0], [(false, "this is paragraph ".to_owned()), (true, "20".to_owned())]);
    assert_eq!(added[0], [(false, "this is paragraph ".to_owned()), (true, "twenty".to_owned())]);
    let Block::Changed { added, .. } = &got.blocks[6] else { panic!("{:?}", got.blocks) };
    assert_eq!(added[0], [(true, "this is new".to_owned())]);
    assert!(matches!(got.to.change, Some(Change::Changed { share: Some(share), .. }) if share > 0.03 && share < 0.04));
}

#[test]
fn lines_with_nothing_in_common_are_marked_whole() {
    let got = compared(&["one two three".to_owned()], &["four five six".to_owned()]);
    let Block::Changed { removed, added } = &got.blocks[1] else { panic!("{:?}", got.blocks) };
    assert_eq!(
        (removed[0].as_slice(), added[0].as_slice()),
        (&[(true, "one two three".to_owned())][..], &[(true, "four five six".to_owned())][..])
    );
}

#[test]
fn without_times_the_last_two_that_differ_are_compared() {
    let archive = Archive::of([
        page(URL, "20260101", "<p>one"),
        page(URL, "20260102", "<p>two"),
        page(URL, "20260103", "<p>two"),
        not_modified(URL, "20260104"),
    ]);
    let got = difference(&archive.site, URL, None, None).unwrap();
    assert_eq!((got.from.stamp.as_str(), got.to.stamp.as_str()), ("20260101000000", "20260104000000"));
    assert_eq!((got.lines_added, got.lines_removed), (1, 1));
    for (from, to) in [("20260101", "20260102"), ("20260102", "20260101")] {
        let got = difference(&archive.site, URL, Some(from), Some(to)).unwrap();
        assert_eq!((got.from.stamp.as_str(), got.to.stamp.as_str()), ("20260101000000", "20260102000000"));
    }
    let same = difference(&archive.site, URL, Some("20260102"), Some("20260104")).unwrap();
    assert!(same.blocks.is_empty() && same.note.is_some() && same.to.change == Some(Change::Same));
}

#[test]
fn what_cannot_be_compared_says_why() {
    let url = |name: &str| format!("http://example.org/{name}");
    let archive = Archive::of([
        answer(&url("png"), "20260101", "200 OK", "image/png", b"\x89PNG1"),
        answer(&url("png"), "20260102", "200 OK", "image/png", b"\x89PNG2"),
        page(&url("markup"), "20260101", "<p class=a>same"),
        page(&url("markup"), "20260102", "<p class=b>same"),
        page(&url("large"), "20260101", &"<p>x".repeat(700_000)),
        page(&url("large"), "20260102", "<p>x"),
        page(&url("once"), "20260101", "<p>x"),
    ]);
    for (name, part) in [("png", "nothing to read"), ("markup", "no difference"), ("large", "too large")] {
        let got = difference(&archive.site, &url(name), None, None).unwrap();
        assert!(
            got.blocks.is_empty() && got.note.as_ref().is_some_and(|note| note.contains(part)),
            "{name}: {:?}",
            got.note
        );
    }
    for name in ["once", "missing"] {
        assert!(matches!(difference(&archive.site, &url(name), None, None), Err(Trouble::NotFound(_))), "{name}");
    }
    for stamp in ["", "x", "٢٠٢٦", "2026-13-01"] {
        let got = difference(&archive.site, &url("markup"), Some(stamp), None);
        assert!(matches!(got, Err(Trouble::Asked(_))), "{stamp}");
    }
}

#[test]
fn a_page_that_changed_everywhere_is_shown_as_far_as_is_reasonable() {
    let old: Vec<_> = (0..9_000).map(|n| format!("old {n} {}", n * 7919 % 1000)).collect();
    let new: Vec<_> = (0..9_000).map(|n| format!("new {n} {}", n * 104_729 % 1000)).collect();
    let got = compared(&old, &new);
    assert_eq!((got.lines_added, got.lines_removed), (9_000, 9_000));
    let shown: usize = got
        .blocks
        .iter()
        .map(|block| match block {
            Block::Same { lines } => lines.len(),
            Block::Skipped { .. } => 0,
            Block::Changed { removed, added } => removed.len() + added.len(),
        })
        .sum();
    assert_eq!(shown, DIFFERENCE_LINES_SHOWN_MAX);
    assert!(got.note.is_some());
}

#[test]
fn a_line_of_a_megabyte_is_cut() {
    let line = |word: &str| vec![format!("{word} {}", "long ".repeat(200_000))];
    let got = compared(&line("old"), &line("new"));
    let text = serde_json::to_string(&got).unwrap();
    assert!(text.len() < 20_000 && text.contains('…'), "{}", text.len());
}
