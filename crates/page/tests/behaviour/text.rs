//! What a person would read of a page, and how long a hostile page may take.

use herodotus_page::{decode_text, readable_lines, title};
use proptest::prelude::*;
use std::time::Instant;

fn lines(html: &str) -> Vec<String> {
    readable_lines(html.as_bytes(), Some("text/html; charset=utf-8"))
}

#[test]
fn a_page_reads_as_its_blocks() {
    let html = "<!DOCTYPE html><html><head><title>No line</title><style>p { }</style><script>var a = '<p>no</p>';</script></head>
        <body><h1>Caf&eacute; &amp;\n  bar</h1><p>One <a href='/x'>link</a>, <b>bold</b><i>italic</i>.<br>Next&nbsp;line
        <noscript><p>no</p></noscript><template><p>no</p><template>no</template>no</template>
        <ul><li>first<li>second</ul><img src=a alt='A &quot;picture&quot;'>after
        <table><tr><td>a</td><td>b</td></tr><tr><th>c<td>d</table>
        <pre>one\n  two   three\n\nfour</pre><textarea>text\narea</textarea><!-- no --><div></div><div>soft\u{ad}hy\u{200b}phen</div>
        <select><option>x<option>y</select><iframe>no</iframe><svg><text>drawn</text></svg></body></html>";
    assert_eq!(
        lines(html),
        [
            "Café & bar",
            "One link, bolditalic.",
            "Next line",
            "first",
            "second",
            "A \"picture\" after",
            "a b",
            "c d",
            "one",
            "two three",
            "four",
            "text",
            "area",
            "softhyphen",
            "x",
            "y",
            "drawn"
        ]
    );
}

#[test]
fn the_title_is_the_first_that_is_not_a_drawings() {
    let of = |html: &str| title(html);
    assert_eq!(of("<html><TITLE lang=en>\n A &lt;b&gt;\t&amp; <i>c </Title>").as_deref(), Some("A <b> & <i>c"));
    assert_eq!(of("<svg><title>no</title></svg><title>yes</title>").as_deref(), Some("yes"));
    assert_eq!(of("<!-- <title>no</title> --><script>'<title>no</title>'</script><title>yes").as_deref(), Some("yes"));
    assert_eq!(of("<title> </title>"), None);
    assert_eq!(of("<h1>none</h1>"), None);
    assert_eq!(of(""), None);
}

#[test]
fn an_encoding_is_found_where_browsers_find_it() {
    for (body, content_type, expected) in [
        (&b"caf\xc3\xa9"[..], None, "café"),
        (b"caf\xe9", None, "café"),
        (b"\x80 \x93", None, "€ “"),
        (b"caf\xe9", Some("text/html; Charset=\"ISO-8859-1\""), "café"),
        (b"\xef\xbb\xbfcaf\xc3\xa9", Some("text/html; charset=iso-8859-1"), "café"),
        (b"\xff\xfea\0\xe9\0", Some("text/html"), "aé"),
        (b"\xfe\xff\0a", None, "a"),
        (b"<meta charset=shift_jis>\x93\xfa", Some("text/html"), "<meta charset=shift_jis>日"),
        (
            b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>\xf7",
            None,
            "<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>В",
        ),
        (b"<!-- <meta charset=koi8-r> -->caf\xe9", None, "<!-- <meta charset=koi8-r> -->café"),
        (b"<meta charset=utf-16>\xc3\xa9", None, "<meta charset=utf-16>é"),
        (
            b"<?xml version='1.0' encoding='iso-8859-5'?>\xb0",
            Some("text/xml"),
            "<?xml version='1.0' encoding='iso-8859-5'?>А",
        ),
        (b"caf\xe9", Some("text/html; charset=nonsense"), "café"),
        (b"caf\xc3\xa9", Some("charset=iso-8859-1"), "café"),
        (b"", Some("; charset"), ""),
    ] {
        assert_eq!(decode_text(body, content_type), expected, "{content_type:?} {body:?}");
    }
}

#[test]
fn other_text_is_its_lines_and_anything_else_one_line() {
    assert_eq!(readable_lines(b"a\r\n  b\rc\n\nd\n", Some("text/plain")), ["a", "  b", "c", "", "d"]);
    assert_eq!(readable_lines(b"{\n \"a\": 1\n}", Some("application/json")), ["{", " \"a\": 1", "}"]);
    assert_eq!(readable_lines(b"<a>&amp;</a>", Some("application/xml")), ["<a>&amp;</a>"]);
    assert_eq!(readable_lines(b"\x89PNG\0", Some("Image/PNG")), ["image/png, 5 bytes"]);
    assert_eq!(readable_lines(b"a\0\xff", None), ["unknown media type, 3 bytes"]);
    assert_eq!(readable_lines(b"<html>a<p>b", None), ["a", "b"]);
    assert!(readable_lines(b"", Some("text/html")).is_empty());
}

#[test]
fn hostile_pages_take_no_longer_than_their_length() {
    let million = 1_000_000;
    for html in [
        "<div>".repeat(100_000) + "deep",
        "<template>".repeat(100_000),
        "<svg>".repeat(100_000),
        format!("<a href='{}'>x", "y".repeat(million)),
        format!("<a {}>x", "a ".repeat(million)),
        format!("<img {}>x", "= ".repeat(million)),
        format!("<a href='{}", "<a ".repeat(million)),
        "<".repeat(million),
        "</".repeat(million),
        "<!".repeat(million),
        "<!--".repeat(million / 4),
        "<!-- >".repeat(million / 4),
        "<script>".repeat(million / 8),
        "<script></scrip".repeat(million / 15),
        "<title></titl".repeat(million / 15),
        "&".repeat(million),
        "&#".repeat(million),
        format!("&#{};", "9".repeat(million)),
        "&abcdefghijklmnopqrstuvwxyzabcdef".repeat(million / 33),
        "<meta charset".repeat(million / 13),
    ] {
        let started = Instant::now();
        let _ = readable_lines(html.as_bytes(), Some("text/html"));
        let _ = title(&html);
        let took_ms = started.elapsed().as_millis();
        assert!(took_ms < 5000, "{took_ms} ms for {}…", &html[..20]);
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(body: Vec<u8>, content_type in prop::option::of("(text/html|image/png|text/x)?;? ?(charset=[a-z0-9-]{0,8})?.{0,4}")) {
        let text = decode_text(&body, content_type.as_deref());
        let _ = (title(&text), readable_lines(&body, content_type.as_deref()), readable_lines(&body, Some("text/html")));
    }

    #[test]
    fn lines_are_folded_and_never_empty(html in "(<p>|</p>|<br>|<pre>|<b>|<td>|&nbsp;|&#10;|<img alt=' x '>| |\n|a|é|<script>|</script>|<template>|</template>){0,40}") {
        for line in lines(&html) {
            prop_assert!(!line.is_empty() && line.trim() == line && !line.contains("  ") && !line.contains('\n'), "{:?}", line);
        }
    }
}
