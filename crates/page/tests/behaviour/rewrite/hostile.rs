//! Pages made to break a rewriter: none panics, none changes with the way it is cut, none takes memory or time beyond
//! its size.

use super::{PAGE, STAMP, any_bytes, html, html_bytes, run, url};
use herodotus_page::limits::TAG_BYTES_MAX;
use herodotus_page::rewrite::{HtmlRewriter, Mode, Setting};
use proptest::prelude::*;

const SCRAPS: &str = "(<a href=|<A title=y HREF=|<img src=|<img srcset='|<script src=x>|<script>|<script type=module>|\
    <script type=importmap>|</script>|</script |<style>|</style>|<p style=\"|url\\(|@import |<title>|</title>|<textarea>|\
    </textarea>|<iframe srcdoc='|<base href=|<meta http-equiv=refresh content='1;|<link rel=|stylesheet|import |from |\\{|\\}|\
    <!--|-->|--!>|<!\\[CDATA\\[|\\]\\]>|<svg>|</svg>|<head>|<html>|<!doctype html>|<noscript>|target=_top|\
    '|\"|`|\\$|\\(|\\)|=|>|/>|/|//|<|</|!|\\?|#|:|\\\\|x|y.html|\\.\\./z|http://b.test/|&amp;|&#47;|&quot;|é| |\n|\t){0,40}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn no_page_panics_and_none_changes_with_its_cuts(scraps in SCRAPS, kind: u8, len: u8) {
        let mut bytes = vec![kind, len];
        bytes.extend_from_slice(scraps.as_bytes());
        any_bytes::run(&bytes);
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        any_bytes::run(&bytes);
    }
}

#[test]
fn unclosed_things_pass_as_they_are() {
    for body in
        ["<p><a href=/x", "<p><a href='/x", "<p><!-- <a href=/x>", "<p><a href='/x>y</a>", "<p><", "<p></", "<p><!"]
    {
        assert_eq!(html(body), body);
    }
}

#[test]
fn a_tag_beyond_the_bound_passes_and_the_next_is_rewritten() {
    let value = "x".repeat(TAG_BYTES_MAX + 10);
    let page = url(PAGE);
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Names };
    let body = format!("<p><img title='{value}' src=/x><a href=/y>");
    for piece_len in [7_777, 100_000, 10_000_000] {
        let out = run(HtmlRewriter::new(&setting, None, b""), body.as_bytes().chunks(piece_len));
        let out = String::from_utf8(out).unwrap();
        assert!(
            out.contains(&value) && out.ends_with("' src=/x><a href=/web/20260102030405/http://a.test/y>"),
            "{piece_len}"
        );
    }
    // Within the bound it is.
    let value = "x".repeat(TAG_BYTES_MAX - 100);
    let body = format!("<p><img title='{value}' src=/x>");
    let out = run(HtmlRewriter::new(&setting, None, b""), body.as_bytes().chunks(1_000));
    assert!(String::from_utf8(out).unwrap().ends_with("' src=/web/20260102030405im_/http://a.test/x>"));
}

#[test]
fn documents_in_attributes_of_documents_end_somewhere() {
    let mut body = "<img src=/x>".to_owned();
    for _ in 0..12 {
        body = format!("<iframe srcdoc=\"{}\">", body.replace('&', "&amp;").replace('"', "&quot;"));
    }
    let out = html_bytes(None, format!("<p>{body}").as_bytes());
    assert!(out.len() < 20 * body.len());
}

#[test]
fn many_attributes_and_many_tags_take_time_in_proportion() {
    let page = url(PAGE);
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Names };
    for (scrap, times) in [("<a href=/x>", 100_000), ("<svg><title>", 50_000), ("<style>url(", 50_000), ("'", 500_000)]
    {
        let body = scrap.repeat(times);
        let out = run(HtmlRewriter::new(&setting, None, b""), [&body].into_iter());
        assert!(out.len() >= body.len());
    }
    let body = format!("<p {}>", "a=/x ".repeat(40_000));
    assert!(run(HtmlRewriter::new(&setting, None, b""), [&body].into_iter()).ends_with(body.as_bytes()));
}
