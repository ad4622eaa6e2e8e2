//! robots.txt: the cases that Google publishes with its own reader, told in our words, the examples of RFC 9309, and
//! what hostile files get.

#![allow(clippy::unwrap_used, reason = "a test may stop here")]

use herodotus_page::Robots;
use herodotus_page::limits::{CRAWL_DELAY_SECONDS_MAX, ROBOTS_BYTES_MAX, ROBOTS_SITEMAPS_MAX};
use proptest::prelude::*;
use std::time::Duration;

/// Each target of the first list may be fetched, none of the second.
fn check(agent: &str, robots: &str, allowed: &[&str], denied: &[&str]) {
    let parsed = Robots::parse(robots.as_bytes(), agent);
    for target in allowed {
        assert!(parsed.allows(target), "{agent} should be allowed {target} by\n{robots}");
    }
    for target in denied {
        assert!(!parsed.allows(target), "{agent} should be denied {target} by\n{robots}");
    }
}

#[test]
fn no_rules_allow_everything() {
    check("ours", "", &["/", "/a?b", ""], &[]);
    check("", "user-agent: ours\ndisallow: /\n", &["/"], &[]);
    check("ours", "user-agent: ours\ndisallow: /\n", &["/robots.txt"], &["/", "", "/robots.txt?x"]);
    check("ours", "foo: ours\nbar: /\n", &["/x/y"], &[]);
    check("ours", "<!DOCTYPE html>\n<html><body>\nNot found: /\n<p>disallow: /\n</html>", &["/x/y"], &[]);
    check("ours", "disallow: /\n", &["/x"], &[]);
}

#[test]
fn keys_may_be_misspelt_and_colons_forgotten() {
    for file in [
        "user-agent: ours\ndisallow: /\n",
        "user-agent ours\ndisallow /\n",
        "USER-AGENT: ours\nDISALLOW: /\n",
        "uSeR-aGeNt : ours\n  dIsAlLoW\t:/\n",
        "useragent: ours\ndissallow: /",
        "user agent: ours\ndissalow: /",
        "user-agents: ours\ndisalow: /",
        "user-agent: ours\ndiasllow: /",
        "user-agent: ours\ndisallaw: /",
        "user-agent:\tours # a comment\r\rdisallow: / # another\r",
    ] {
        check("ours", file, &[], &["/x/y"]);
    }
    // More than two words are no key and value.
    check("ours", "user-agent: ours\ndisallow / x\nallows: /x\ndisallow: /x\n", &["/x", "/y"], &[]);
}

#[test]
fn groups_of_one_name_are_one_and_rules_outside_groups_do_not_count() {
    let file = "allow: /foo/bar/\n\nuser-agent: a\ndisallow: /\nallow: /x/\nuser-agent: b\ndisallow: /\nallow: /y/\n\n\n\
                allow: /w/\nuser-agent: c\n\nuser-agent: a\nallow: /z/\ndisallow: /\n";
    check("a", file, &["/x/b", "/z/d"], &["/y/c", "/foo/bar/"]);
    check("b", file, &["/y/c", "/w/a"], &["/z/d", "/foo/bar/"]);
    check("c", file, &["/z/d"], &["/foo/bar/"]);
    check("d", file, &["/y/c", "/foo/bar/"], &[]);
}

#[test]
fn other_lines_do_not_end_a_group() {
    for line in ["Sitemap: https://foo.test/sitemap", "Unknown-line: unknown"] {
        let file = format!("User-agent: a\n{line}\nUser-agent: *\nDisallow: /\n");
        check("a", &file, &[], &["/"]);
        check("b", &file, &[], &["/"]);
    }
}

#[test]
fn names_of_agents_are_compared_without_case_up_to_what_no_name_has() {
    for name in ["FOO BAR", "foo bar", "FoO bAr", "foo/2.1", "Foo*"] {
        let file = format!("User-Agent: {name}\nAllow: /x/\nDisallow: /\n");
        for agent in ["Foo", "foo"] {
            check(agent, &file, &["/x/y"], &["/a/b"]);
        }
    }
    let file = "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n";
    check("Foo", file, &["/x/y"], &[]);
    check("Foo Bar", file, &[], &["/x/y"]);
    // Not by prefix: one name is not another that begins so.
    check("foo", "user-agent: foobar\ndisallow: /\n", &["/x"], &[]);
    check("foo-bar", "user-agent: foo\ndisallow: /\n", &["/x"], &[]);
    check("foo-bar_x", "user-agent: foo-bar_x\ndisallow: /\n", &[], &["/x"]);
}

#[test]
fn the_group_for_all_counts_only_where_no_other_does() {
    let file = "user-agent: *\nallow: /\nuser-agent: a\ndisallow: /\n";
    check("a", file, &[], &["/x/y"]);
    check("b", file, &["/x/y"], &[]);
    check("d", "user-agent: a\nallow: /\nuser-agent: b\ndisallow: /\nuser-agent: c\ndisallow: /\n", &["/x/y"], &[]);
    check("a", "User-agent: *\nDisallow: /x/\nUser-agent: a\nDisallow: /y/\n", &["/x/page"], &["/y/page"]);
    check("a", "user-agent: *\ndisallow: /\nuser-agent: a\ndisallow:\n", &["/x"], &[]);
    check("a", "user-agent: * and more\ndisallow: /\n", &[], &["/x"]);
    check("a", "user-agent: *x\ndisallow: /\n", &["/x"], &[]);
}

#[test]
fn the_longest_rule_wins_and_of_equals_the_one_that_allows() {
    for (rules, allowed, denied) in [
        ("disallow: /x/page.html\nallow: /x/", &["/x/"][..], &["/x/page.html"][..]),
        ("allow: /x/page.html\ndisallow: /x/", &["/x/page.html"], &["/x/"]),
        ("disallow: \nallow: ", &["/x/page.html"], &[]),
        ("disallow: /\nallow: /", &["/x/page.html"], &[]),
        ("disallow: /x\nallow: /x/", &["/x/"], &["/x"]),
        ("disallow: /x/page.html\nallow: /x/page.html", &["/x/page.html"], &[]),
        ("allow: /page\ndisallow: /*.html", &["/page"], &["/page.html"]),
        ("allow: /x/page.\ndisallow: /*.html", &["/x/page.html"], &["/x/y.html"]),
        ("allow: /p\ndisallow: /", &["/page"], &["/x"]),
        ("allow: /folder\ndisallow: /folder", &["/folder/page"], &[]),
        ("allow: /page\ndisallow: /*.htm", &["/page"], &["/page.htm"]),
        ("allow: /$\ndisallow: /", &["/"], &["/page.html"]),
        ("allow: /p\ndisallow: /é", &["/p"], &["/%C3%A9"]),
    ] {
        check("a", &format!("user-agent: a\n{rules}\n"), allowed, denied);
    }
}

#[test]
fn paths_are_compared_with_case() {
    check("a", "user-agent: a\ndisallow: /x/\n", &["/X/y"], &["/x/y"]);
    check("a", "user-agent: a\ndisallow: /X/\n", &["/x/y"], &["/X/y"]);
}

#[test]
fn escapes_are_compared_as_google_and_the_standard_ask() {
    let only = |path: &str| format!("User-agent: a\nDisallow: /\nAllow: {path}\n");
    let query = "/foo/bar?qux=taz&baz=http://foo.test?tar&par";
    check("a", &only(query), &[query], &["/foo"]);
    check("a", &only("/foo/bar/ツ"), &["/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"], &["/foo/bar/ツ"]);
    check("a", &only("/foo/bar/%e3%83%84"), &["/foo/bar/%E3%83%84"], &["/foo/bar/ツ"]);
    check("a", &only("/foo/bar/%62%61%7A"), &["/foo/bar/%62%61%7A"], &["/foo/bar/baz"]);
    // The table of RFC 9309, section 2.2.2, where a rule forbids.
    let but = |path: &str| format!("User-agent: a\nDisallow: {path}\n");
    check("a", &but("/foo/bar?baz=quz"), &["/foo/bar"], &["/foo/bar?baz=quz"]);
    for target in
        ["/foo/bar?baz=https://foo.test", "/foo/bar?baz=https%3A%2F%2Ffoo.test", "/foo/bar?baz=https%3a//foo.test"]
    {
        check("a", &but("/foo/bar?baz=https://foo.test"), &[], &[target]);
        check("a", &but("/foo/bar?baz=https%3A%2F%2Ffoo.test"), &["/foo/bar?baz=https"], &[target]);
    }
    for path in ["/foo/bar/ツ", "/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"] {
        check("a", &but(path), &["/foo/bar/"], &["/foo/bar/%E3%83%84"]);
    }
    for path in ["/foo/bar/%62%61%7A", "/foo/bar/baz", "/foo/bar/%62a%7a"] {
        check("a", &but(path), &["/foo/bar/"], &["/foo/bar/baz", "/foo/bar/%62%61%7a", "/foo/bar/b%61z"]);
    }
    // Section 2.2.3: what means itself is written with its escape.
    check("a", &but("/path/file-with-a-%2A.html"), &["/path/file-with-a-b.html"], &["/path/file-with-a-*.html"]);
    check("a", &but("/path/foo-%24"), &["/path/foo-"], &["/path/foo-$", "/path/foo-$x"]);
    // A slash of the path is not one of its escapes.
    check("a", &but("/a%2Fb"), &["/a/b"], &["/a%2fb"]);
}

#[test]
fn the_example_of_the_standard_is_read_as_it_explains() {
    // RFC 9309, section 5.1 and 5.2.
    let file = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\n\
                Disallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\n\
                User-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF\n";
    check("other", file, &["/publications/", "/x", "/a.gif?b"], &["/x/a.gif", "/example/b", "/publications.gif"]);
    check("foobot", file, &["/example/page.html", "/example/allowed.gif"], &["/", "/example/", "/publications/"]);
    for agent in ["barbot", "bazbot"] {
        check(agent, file, &["/example/", "/a.gif"], &["/example/page.html"]);
    }
    check("quxbot", file, &["/example/page.html", "/a.gif"], &[]);
    let longest = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
    check("foobot", longest, &["/example/page/", "/example/page/a.gif"], &["/example/page/disallowed.gif"]);
}

#[test]
fn stars_dollars_and_comments_are_special() {
    for (rules, allowed, denied) in [
        (
            "Disallow: /foo/bar/quz\nAllow: /foo/*/qux",
            &["/foo/quz", "/foo//quz", "/foo/bax/quz"][..],
            &["/foo/bar/quz"][..],
        ),
        ("Disallow: /foo/bar$\nAllow: /foo/bar/qux", &["/foo/bar/qux", "/foo/bar/", "/foo/bar/baz"], &["/foo/bar"]),
        ("# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /", &["/foo/bar"], &["/foo/quz"]),
        ("Disallow: /a$b", &["/a", "/ab"], &["/a$b", "/a$bc"]),
        ("Disallow: /*/x*/y$", &["/a/x/z", "/x/y", "/a/x/y/z"], &["/a/x/y", "/a/x1/b/y", "//x/y"]),
        ("Disallow: /a**b", &["/a"], &["/ab", "/axb"]),
        ("Disallow: *", &[], &["/", "/a"]),
        ("Disallow: /a*$", &["/b"], &["/a", "/ab"]),
        ("Disallow: /*aab$", &["/aaba"], &["/aaab", "/xaab"]),
    ] {
        check("a", &format!("User-agent: a\n{rules}\n"), allowed, denied);
    }
}

#[test]
fn the_tables_of_googles_documentation_hold() {
    let only = |path: &str| format!("user-agent: a\ndisallow: /\nallow: {path}\n");
    let fish =
        ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fishheads/yummy.html", "/fish.html?id=anything"];
    let no_fish = ["/bar", "/Fish.asp", "/catfish", "/?id=fish"];
    check("a", &only("/fish"), &fish, &no_fish);
    check("a", &only("/fish*"), &fish, &no_fish);
    check(
        "a",
        &only("/fish/"),
        &["/fish/", "/fish/salmon", "/fish/?salmon", "/fish/salmon.html", "/fish/?id=anything"],
        &["/bar", "/fish", "/fish.html", "/Fish/Salmon.html"],
    );
    check(
        "a",
        &only("/*.php"),
        &[
            "/filename.php",
            "/folder/filename.php",
            "/folder/filename.php?parameters",
            "//folder/any.php.file.html",
            "/filename.php/",
            "/index?f=filename.php/",
        ],
        &["/bar", "/php/", "/index?php", "/windows.PHP"],
    );
    check(
        "a",
        &only("/*.php$"),
        &["/filename.php", "/folder/filename.php"],
        &[
            "/bar",
            "/filename.php?parameters",
            "/filename.php/",
            "/filename.php5",
            "/php/",
            "/filename?php",
            "/aaaphpaaa",
            "//windows.PHP",
        ],
    );
    check("a", &only("/fish*.php"), &["/fish.php", "/fishheads/catfish.php?parameters"], &["/bar", "/Fish.PHP"]);
}

#[test]
fn who_allows_the_index_allows_its_folder() {
    check(
        "a",
        "User-Agent: *\nAllow: /allowed-slash/index.html\nDisallow: /\n",
        &["/allowed-slash/", "/allowed-slash/index.html"],
        &["/allowed-slash/index.htm", "/anyother-url"],
    );
}

#[test]
fn a_line_counts_up_to_its_bound() {
    let line_max = 2083 * 8;
    let long = |key: &str, fill: &str| {
        let path = format!("/x/{}", fill.repeat(line_max - "/x/".len() - key.len() - 2 + 1));
        (format!("{key}: {path}/qux\n"), path)
    };
    let (line, path) = long("disallow", "a");
    check("a", &format!("user-agent: a\n{line}"), &["/fux"], &[&format!("{path}/fux")]);
    let (line_a, path_a) = long("allow", "a");
    let (line_b, path_b) = long("allow", "b");
    let file = format!("user-agent: a\ndisallow: /\n{line_a}{line_b}");
    check("a", &file, &[&format!("{path_a}/qux"), &format!("{path_b}/fux")], &["/"]);
}

#[test]
fn lines_end_in_any_way_and_the_last_need_not() {
    let lines = ["User-Agent: foo", "Allow: /some/path", "User-Agent: bar", "", "", "Disallow: /"];
    for end in ["\n", "\r\n", "\r"] {
        for last in ["", end] {
            let file = lines.join(end) + last;
            check("foo", &file, &["/x"], &[]);
            check("bar", &file, &[], &["/x"]);
        }
    }
    check("bar", "User-Agent: foo\nAllow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /", &[], &["/x"]);
}

#[test]
fn a_byte_order_mark_is_skipped_whole_or_in_part_at_the_beginning_only() {
    let rules = b"User-Agent: foo\nDisallow: /x\n";
    for mark in [&b"\xef\xbb\xbf"[..], b"\xef\xbb", b"\xef"] {
        assert!(!Robots::parse(&[mark, rules].concat(), "foo").allows("/x"), "{mark:?}");
    }
    assert!(Robots::parse(&[&b"\xef\x11\xbf"[..], rules].concat(), "foo").allows("/x"));
    assert!(Robots::parse(b"User-Agent: foo\n\xef\xbb\xbfDisallow: /x\n", "foo").allows("/x"));
}

#[test]
fn sitemaps_may_stand_anywhere_and_are_for_all() {
    for file in [
        "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\nSitemap: http://foo.test/sitemap.xml\n",
        "Sitemap: http://foo.test/sitemap.xml\nUser-Agent: foo\nAllow: /some/path\n",
        "site-map:http://foo.test/sitemap.xml",
    ] {
        assert_eq!(Robots::parse(file.as_bytes(), "x").sitemaps(), ["http://foo.test/sitemap.xml"], "{file}");
    }
    let many = "Sitemap: http://foo.test/a\nSitemap:\n".repeat(2 * ROBOTS_SITEMAPS_MAX);
    assert_eq!(Robots::parse(many.as_bytes(), "x").sitemaps().len(), ROBOTS_SITEMAPS_MAX);
}

#[test]
fn the_delay_of_the_group_that_counts_is_given_within_bounds() {
    let delay = |file: &str| Robots::parse(file.as_bytes(), "ours").crawl_delay();
    let seconds = |seconds: f64| Some(Duration::from_secs_f64(seconds));
    assert_eq!(delay("user-agent: *\ncrawl-delay: 2.5\n"), seconds(2.5));
    assert_eq!(
        delay("user-agent: *\ncrawl-delay: 2\nuser-agent: ours\nallow: /\n"),
        None,
        "the lines above are one group"
    );
    assert_eq!(delay("user-agent: *\ncrawl-delay: 2\nallow: /\nuser-agent: ours\nCrawl-Delay: 7 # s\n"), seconds(7.0));
    assert_eq!(delay("user-agent: ours\ncrawl-delay: 99999999999\n"), seconds(CRAWL_DELAY_SECONDS_MAX as f64));
    for none in [
        "user-agent: *\ncrawl-delay: -1",
        "user-agent: *\ncrawl-delay: NaN",
        "user-agent: *\ncrawl-delay: x",
        "crawl-delay: 5",
    ] {
        assert_eq!(delay(none), None, "{none}");
    }
}

#[test]
fn all_and_nothing_can_be_said_without_a_file() {
    assert!(Robots::allow_all().allows("/a?b"));
    assert!(!Robots::deny_all().allows("/a?b") && !Robots::deny_all().allows("/"));
}

#[test]
fn a_file_without_end_is_read_to_its_bound_and_kept_small() {
    let mut file = b"user-agent: *\ndisallow: /first\n".to_vec();
    file.resize(ROBOTS_BYTES_MAX, b'\n');
    file.extend_from_slice(b"disallow: /last\n");
    let robots = Robots::parse(&file, "ours");
    assert!(!robots.allows("/first") && robots.allows("/last"));
    let least = 500 * 1024 - 100;
    file.truncate(least);
    file.extend_from_slice(b"\ndisallow: /last\n");
    assert!(!Robots::parse(&file, "ours").allows("/last"), "500 KiB are read");
    let dense = "user-agent: *\n".to_owned() + &"allow:\u{e9}\n".repeat(70_000);
    let robots = Robots::parse(dense.as_bytes(), "ours");
    assert!(robots.bytes() < 16 * ROBOTS_BYTES_MAX, "{}", robots.bytes());
    let others = "user-agent: x\n".to_owned() + &"disallow: /abc\n".repeat(30_000);
    assert!(Robots::parse(others.as_bytes(), "ours").bytes() < 1024);
}

#[test]
fn wildcards_without_end_take_linear_time() {
    // Backtracking would not end before the sun does.
    let stars = format!("user-agent: *\ndisallow: /{}b$\n", "*a".repeat(5_000));
    let target = format!("/{}", "a".repeat(20_000));
    assert!(Robots::parse(stars.as_bytes(), "ours").allows(&target));
    let mut file = "user-agent: *\n".to_owned();
    for at in 0..12_000 {
        file.push_str(&format!("disallow: /*{at}*/x*y$\n"));
    }
    let robots = Robots::parse(file.as_bytes(), "ours");
    assert!(robots.allows("/some/ordinary/path/of/a/page.html?with=a&query=11999"));
    assert!(!robots.allows("/some/11999/x-and-y"));
}

proptest! {
    #[test]
    fn nothing_panics(bytes: Vec<u8>, file in "((user-agent|disallow|allow|crawl-delay|sitemap)(:|| ) ?[/*$%a-fé0-9?]{0,6}(\n|\r|#)?){0,12}", target in "/[*$%a-f0-9/?é]{0,8}") {
        for bytes in [&bytes[..], file.as_bytes()] {
            let robots = Robots::parse(bytes, "ours");
            let _ = (robots.allows(&target), robots.allows(&file), robots.bytes());
        }
    }

    /// The other way to match: every place that the rule so far can lead to, as Google's reader does it.
    #[test]
    fn rules_match_as_by_the_slow_and_simple_way(rule in "/[ab*]{0,6}\\$?", target in "/[ab]{0,8}") {
        let file = format!("user-agent: *\ndisallow: {rule}\n");
        let denied = !Robots::parse(file.as_bytes(), "ours").allows(&target);
        prop_assert_eq!(denied, slow_match(rule.as_bytes(), target.as_bytes()), "{} {}", rule, target);
    }
}

fn slow_match(rule: &[u8], target: &[u8]) -> bool {
    match rule {
        [] => true,
        b"$" => target.is_empty(),
        [b'*', rest @ ..] => (0..=target.len()).any(|at| slow_match(rest, &target[at..])),
        [byte, rest @ ..] => target.first() == Some(byte) && slow_match(rest, &target[1..]),
    }
}
