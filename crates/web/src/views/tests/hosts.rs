//! Hosts as trees, and what they are made of.

use crate::answer::Trouble;
use crate::views::fixture::{Archive, answer, page};
use crate::views::limits::{CHILD_CAPTURES_COUNTED_MAX, CHILDREN_MAX};
use crate::views::{Child, host};
use std::collections::BTreeSet;

fn shown(children: &[Child]) -> Vec<(&str, &str, u64)> {
    children.iter().map(|child| (child.name.as_str(), child.path.as_str(), child.captures)).collect()
}

#[test]
fn paths_are_a_tree_spelled_as_in_their_urls() {
    let urls = [
        "http://example.org/",
        "http://www.example.org/About",
        "https://example.org/Docs/",
        "https://example.org/Docs/Guide/One.html",
        "https://example.org/Docs/Guide/Two.html",
        "https://example.org/Docs-old",
        "https://example.org/Docs/a%20b?x=1",
        "https://example.org/list?Page=1",
        "https://example.org/list?Page=2",
        "https://example.org/?q=root",
        "https://sub.example.org/elsewhere",
        "https://example.org:8443/port",
    ];
    let archive = Archive::of(urls.map(|url| page(url, "20260101", "<p>x")));
    let root = host(&archive.site, "example.org", "", None).unwrap();
    assert_eq!(
        shown(&root.children),
        [
            ("/", "/", 1),
            ("/?q=root", "/?q=root", 1),
            ("About", "/About", 1),
            ("Docs/", "/Docs/", 4),
            ("Docs-old", "/Docs-old", 1),
            ("list?", "/list?", 2),
        ]
    );
    let docs = &root.children[3];
    assert!(docs.is_folder && docs.url.as_deref() == Some("https://example.org/Docs/"));
    assert_eq!((root.captures, root.urls, root.partial, root.next), (10, 10, false, None));

    let docs = host(&archive.site, "WWW.example.org", "/Docs/", None).unwrap();
    assert_eq!(
        shown(&docs.children),
        [("/Docs/", "/Docs/", 1), ("a%20b?x=1", "/Docs/a%20b?x=1", 1), ("Guide/", "/Docs/Guide/", 2)]
    );
    let guide = host(&archive.site, "example.org", &docs.children[2].path, None).unwrap();
    assert_eq!(
        shown(&guide.children),
        [("One.html", "/Docs/Guide/One.html", 1), ("Two.html", "/Docs/Guide/Two.html", 1)]
    );
    let list = host(&archive.site, "example.org", "/list%3F", None).unwrap();
    assert_eq!(shown(&list.children), [("?Page=1", "/list?Page=1", 1), ("?Page=2", "/list?Page=2", 1)]);
    let port = host(&archive.site, "example.org:8443", "/", None).unwrap();
    assert_eq!(shown(&port.children), [("port", "/port", 1)]);
    assert!(host(&archive.site, "example.org", "/nothing/here/", None).unwrap().children.is_empty());
}

#[test]
fn the_numbers_of_a_host_are_by_month_media_and_status() {
    let archive = Archive::of([
        page("http://example.org/a", "20260101", "<p>1"),
        page("http://example.org/a", "20260201", "<p>2"),
        answer("http://example.org/b", "20260202", "404 Not Found", "text/html", b"no"),
        answer("http://example.org/c.png", "20260203", "200 OK", "image/png", b"\x89PNG"),
    ]);
    let got = host(&archive.site, "example.org", "/", None).unwrap();
    assert_eq!(got.months, [("2026-01".to_owned(), 1), ("2026-02".to_owned(), 3)]);
    assert_eq!(got.statuses, [("200".to_owned(), 3), ("404".to_owned(), 1)]);
    let media: Vec<_> = got.media.iter().map(|m| (m.media.as_str(), m.captures)).collect();
    assert_eq!(media, [("text/html", 3), ("image/png", 1)]);
    assert_eq!((got.captures, got.urls, got.bytes), (4, 3, got.media.iter().map(|m| m.bytes).sum()));
    archive.add([page("http://example.org/d", "20260301", "<p>3")]);
    let again = host(&archive.site, "example.org", "/", None).unwrap();
    assert_eq!((again.captures, again.children.len()), (4, 4), "the numbers are a minute old, the children are not");
}

#[test]
fn fifty_thousand_urls_of_one_host_are_shown_folder_by_folder_and_page_by_page() {
    let url = |n: usize| match n % 5 {
        0 => format!("http://example.org/flat-{n}"),
        _ => format!("http://example.org/folder{}/deep/{n}", n % 3),
    };
    let archive = Archive::of((0..50_000).map(|n| answer(&url(n), "20260101", "200 OK", "text/plain", b"same")));
    let (mut names, mut from, mut pages) = (BTreeSet::new(), None::<String>, 0);
    loop {
        let part = host(&archive.site, "example.org", "/", from.as_deref()).unwrap();
        assert!(part.children.len() <= CHILDREN_MAX);
        for child in part.children {
            assert_eq!(child.more, child.is_folder);
            assert!(!child.more || child.captures == CHILD_CAPTURES_COUNTED_MAX as u64);
            assert!(names.insert(child.name.clone()), "{} twice", child.name);
        }
        assert_eq!((part.urls, part.captures, part.partial), (50_000, 50_000, false));
        pages += 1;
        from = part.next;
        if from.is_none() {
            break;
        }
    }
    assert_eq!((names.len(), pages), (10_003, 51));
    let folder = host(&archive.site, "example.org", "/folder1/", None).unwrap();
    assert_eq!(shown(&folder.children), [("deep/", "/folder1/deep/", CHILD_CAPTURES_COUNTED_MAX as u64)]);
}

#[test]
fn odd_hosts_and_paths_are_harmless() {
    let archive = Archive::of([
        page("http://example.org/a//b/(S(123456789012345678901234))/c.aspx", "20260101", "<p>x"),
        page("http://[::1]:80/v6", "20260101", "<p>x"),
        page("http://127.0.0.1/v4", "20260101", "<p>x"),
    ]);
    for name in ["", " ", "/", "a/b", "user@example.org", "example.org?", "exa\\mple"] {
        assert!(matches!(host(&archive.site, name, "/", None), Err(Trouble::Asked(_))), "{name}");
    }
    for name in [
        ".",
        "..",
        "example",
        "org",
        "\u{0}",
        "exämple.org",
        "example.org:99999",
        ")",
        "[::2]",
        "com,example)",
        &"a".repeat(9_000),
    ] {
        assert!(matches!(host(&archive.site, name, "/", None), Err(Trouble::NotFound(_))), "{name}");
    }
    for name in ["[::1]", "::1", "127.0.0.1", "0x7f.1"] {
        let got = host(&archive.site, name, "/", None);
        assert!(got.is_ok_and(|got| got.children.len() == 1) || name == "0x7f.1", "{name}");
    }
    for path in
        ["//", "/../..", "/a/?", "?", "/%", "/\u{0}", "/a/(S(123456789012345678901234))/", "/a//b/", "é", "/a?/"]
    {
        for from in [None, Some(""), Some("zzz"), Some("org,example)/\u{1}"), Some("org,example)/a/")] {
            assert!(host(&archive.site, "example.org", path, from).is_ok(), "{path} {from:?}");
        }
    }
    let root = host(&archive.site, "example.org", "/", None).unwrap();
    let below = host(&archive.site, "example.org", &root.children[0].path, None).unwrap();
    assert_eq!((root.children[0].name.as_str(), below.children.len()), ("a/", 1));
}
