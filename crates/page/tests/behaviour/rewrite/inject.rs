//! Where the client script goes: first of all that could run, never before what decides how the page is drawn.

use super::{PAGE, STAMP, html_as, run, url};
use herodotus_page::rewrite::{HtmlRewriter, Mode, Setting};

#[test]
fn the_script_comes_first_and_never_before_the_doctype() {
    for (body, expected) in [
        ("<!doctype html><html><head><title>x", "<!doctype html><html><head>[script]<title>x"),
        (
            "<!DOCTYPE html>\n<HTML lang=en>\n<HEAD lang=en>\n<p>",
            "<!DOCTYPE html>\n<HTML lang=en>\n<HEAD lang=en>[script]\n<p>",
        ),
        ("<!-- <head> --><!doctype html><title>x", "<!-- <head> --><!doctype html>[script]<title>x"),
        ("<!doctype html><html><body>x", "<!doctype html><html>[script]<body>x"),
        ("<html><frameset>", "<html>[script]<frameset>"),
        ("\u{feff}<!doctype html><p>x", "\u{feff}<!doctype html>[script]<p>x"),
        (
            "<?xml version='1.0'?><!doctype html><html><head/>",
            "<?xml version='1.0'?><!doctype html><html><head/>[script]",
        ),
        ("text <b>x</b>", "text [script]<b>x</b>"),
        ("<svg><image href=x></svg>", "[script]<svg><image href=@im_/http://a.test/dir/x></svg>"),
        ("<head><head><header>", "<head>[script]<head><header>"),
        ("<header>x", "[script]<header>x"),
        ("</head><p>", "</head>[script]<p>"),
        ("only text", "only text"),
        ("<!doctype html>", "<!doctype html>"),
        ("", ""),
        ("<", "<"),
        ("<p", "<p"),
    ] {
        assert_eq!(html_as("text/html", body), expected, "{body}");
    }
}

#[test]
fn the_script_is_told_where_when_and_how() {
    let page = url("http://a.test/x?a=1&b=\"'<");
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Opaque };
    let out = run(HtmlRewriter::new(&setting, None, b"<p>"), ["<p>"].into_iter());
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "<script src=\"/herodotus/replay.js\" data-stamp=\"20260102030405\" \
         data-url=\"http://a.test/x?a=1&amp;b=%22%27%3C\" data-mode=\"opaque\"></script><p>"
    );
}

#[test]
fn a_stamp_that_is_none_breaks_out_of_nothing() {
    let page = url(PAGE);
    let setting = Setting { stamp: "2026\"><b>", url: &page, mode: Mode::Names };
    let out = run(HtmlRewriter::new(&setting, None, b""), ["<a href=/x>"].into_iter());
    assert!(
        String::from_utf8(out).unwrap().ends_with("data-mode=\"names\"></script><a href=/web/2026/http://a.test/x>")
    );
}
