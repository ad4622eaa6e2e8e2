//! Encodings: how they are found, and what they mean for links. Paths are always UTF-8, queries in the page's encoding.

use super::{PAGE, read_as, shown, url};
use encoding_rs::{GBK, SHIFT_JIS, WINDOWS_1252};
use herodotus_page::{Document, Page, PageReader};

fn read(charset: Option<&str>, body: &[u8]) -> Page {
    read_as(Document::Html, charset, body)
}

#[test]
fn the_mark_comes_before_the_header_and_the_header_before_the_page() {
    let meta = b"<meta charset=iso-8859-2><a href='?\xc3\xa9'>";
    for (charset, body, name, link) in [
        (None, &b"<a href='?\xc3\xa9'>"[..], "UTF-8", "?%C3%A9"),
        (None, b"<a href='?\xe9'>", "windows-1252", "?%E9"),
        (None, b"<p>\xe9<a href='?\xc3\xa9'>", "windows-1252", "?%C3%A9"),
        (None, meta, "ISO-8859-2", "?%C3%A9"),
        (Some("utf-8"), meta, "UTF-8", "?%C3%A9"),
        (Some("\"UTF8\""), b"<a href='?\xe9'>", "UTF-8", "?%EF%BF%BD"),
        (Some("nonsense"), meta, "ISO-8859-2", "?%C3%A9"),
        (Some("iso-8859-2"), b"\xef\xbb\xbf<a href='?\xc3\xa9'>", "UTF-8", "?%C3%A9"),
        (None, b"<meta http-equiv=content-type content='text/html; charset=koi8-r'><a href='?\xe9'>", "KOI8-R", "?%E9"),
        (None, b"<meta charset=utf-16><a href='?\xc3\xa9'>", "UTF-8", "?%C3%A9"),
    ] {
        let page = read(charset, body);
        assert_eq!(
            (page.charset, shown(&page)),
            (name, vec![format!("Page /dir/page.html{link}")]),
            "{charset:?} {body:?}"
        );
    }
}

#[test]
fn a_declaration_beyond_the_first_kilobyte_does_not_count() {
    let body = |blanks: usize| format!("{}<meta charset=koi8-r>", " ".repeat(blanks)).into_bytes();
    assert_eq!(read(None, &body(1000)).charset, "KOI8-R");
    assert_eq!(read(None, &body(1024)).charset, "UTF-8");
}

#[test]
fn paths_are_utf8_and_queries_in_the_encoding_of_the_page() {
    for (encoding, text) in [(SHIFT_JIS, "表示"), (GBK, "中文"), (WINDOWS_1252, "é€")] {
        let (bytes, _, _) = encoding.encode(text);
        let escaped: String = bytes.iter().map(|byte| format!("%{byte:02X}")).collect();
        // A byte that is a letter or the like in ASCII stays.
        let query = url(&format!("http://a.test/?{escaped}")).query().unwrap().to_owned();
        let html = format!("<title>{text}</title><a href='{text}?{text}'><a href='?&#1234;'>");
        let page = read(Some(encoding.name()), &encoding.encode(&html).0);
        let path: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        assert_eq!(page.title.as_deref(), Some(text));
        let first = page.links[0].url.as_str().to_owned();
        assert!(first.starts_with(&format!("http://a.test/dir/{path}?")), "{first}");
        let sent: Vec<u8> = percent_decoded(first.split_once('?').unwrap().1);
        assert_eq!(sent, *bytes, "{query}");
        // What the encoding does not have is sent as a reference.
        assert_eq!(page.links[1].url.query(), Some("%26%231234%3B"));
    }
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    out
}

#[test]
fn utf16_is_read_as_it_comes() {
    let html = "\u{feff}<title>é</title><a href='x?é'>";
    let little: Vec<u8> = html.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = html.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (body, name) in [(little, "UTF-16LE"), (big, "UTF-16BE")] {
        let whole = read(None, &body);
        assert_eq!(shown(&whole), ["Page /dir/x?%C3%A9"]);
        assert_eq!((whole.charset, whole.title.as_deref()), (name, Some("é")));
        let mut reader = PageReader::new(url(PAGE), Document::Html, None);
        body.chunks(1).for_each(|byte| reader.push(byte));
        assert_eq!(reader.finish(), whole);
        // Named by the header, without a mark.
        assert_eq!(shown(&read(Some(name), &body[2..])), ["Page /dir/x?%C3%A9"]);
    }
}

#[test]
fn style_sheets_and_feeds_name_their_encoding_too() {
    let css = b"@charset \"windows-1252\"; a{b:url(\xe9?\xe9)}";
    assert_eq!(shown(&read_as(Document::Css, None, css)), ["Image /dir/%C3%A9?%C3%A9"]);
    let feed = b"<?xml version='1.0' encoding='iso-8859-1'?><rss><link>/\xe9</link></rss>";
    assert_eq!(shown(&read_as(Document::Feed, None, feed)), ["Page /%C3%A9"]);
}

#[test]
fn broken_text_and_nuls_do_no_harm() {
    assert_eq!(
        shown(&read(Some("utf-8"), b"<a href='a\xffb'><a href='c\0d'>\0<\0<a href=e>")),
        ["Page /dir/a%EF%BF%BDb", "Page /dir/c%00d", "Page /dir/e"]
    );
}
