//! Pages keep their encoding, the response says it, and what an encoding hides is found all the same.

use super::{PAGE, SCRIPT, STAMP, html_bytes, run, url};
use encoding_rs::Encoding;
use herodotus_page::rewrite::{HtmlRewriter, Mode, Setting};

fn charset(content_type: Option<&str>, body: &[u8]) -> &'static str {
    let page = url(PAGE);
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Names };
    HtmlRewriter::new(&setting, content_type, body).charset()
}

#[test]
fn the_response_says_what_browsers_would_have_found() {
    for (content_type, body, expected) in [
        (Some("text/html; charset=windows-1251"), &b"<meta charset=utf-8>"[..], "windows-1251"),
        (Some("text/html"), b"<meta charset=shift_jis>", "Shift_JIS"),
        (Some("text/html"), b"<meta http-equiv=content-type content='text/html; charset=koi8-r'>", "KOI8-R"),
        (Some("text/html; charset=koi8-r"), b"\xef\xbb\xbf<p>", "UTF-8"),
        (Some("text/html"), b"<p>plain", "UTF-8"),
        (None, "<p>é".as_bytes(), "UTF-8"),
        (None, b"<p>\xc3", "UTF-8"),
        (None, b"<p>\xe9t\xe9", "windows-1252"),
        (Some("text/html"), b"\xff\xfe<\0p\0>\0", "UTF-8"),
        (Some("text/html; charset=utf-16be"), b"\0<\0p\0>", "UTF-8"),
        (Some("text/html; charset=iso-2022-jp"), b"<p>", "UTF-8"),
        (Some("application/xhtml+xml"), b"<?xml version='1.0' encoding='iso-8859-2'?><html>", "ISO-8859-2"),
        (Some("text/html; charset=nonsense"), b"<p>", "UTF-8"),
    ] {
        assert_eq!(charset(content_type, body), expected, "{content_type:?}");
    }
}

#[test]
fn old_encodings_stay_and_their_links_are_rewritten() {
    for label in ["windows-1251", "shift_jis", "gbk", "big5", "euc-kr", "euc-jp", "koi8-r", "gb18030"] {
        let encoding = Encoding::for_label(label.as_bytes()).unwrap();
        let text = match label {
            "windows-1251" | "koi8-r" => "Привет",
            "euc-kr" => "한국어",
            "gbk" | "gb18030" | "big5" => "中文功能",
            _ => "日本語表示ソ",
        };
        let body = format!(
            "<title>{text}</title><p style='font:\"{text}\";b:url(/{text})'>{text}</p><a href='/{text}?q#{text}' \
             title='{text}'><img src='x/../{text}'><style>a{{content:\"{text}\";b:url(/x)}}</style>\
             <script>a='{text}';import('/x')</script>"
        );
        let (encoded, _, lossy) = encoding.encode(&body);
        assert!(!lossy, "{label}");
        let out = html_bytes(Some(&format!("text/html; charset={label}")), &encoded);
        let (decoded, _, lossy) = encoding.decode(&out);
        assert!(!lossy, "{label}");
        let percent: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let expected = format!(
            "{SCRIPT}<title>{text}</title><p style='font:\"{text}\";b:url(/web/{STAMP}im_/http://a.test/{text})'>{text}</p>\
             <a href='/web/{STAMP}/http://a.test/{text}?q#{text}' title='{text}'>\
             <img src='/web/{STAMP}im_/http://a.test/dir/{percent}'>\
             <style>a{{content:\"{text}\";b:url(/web/{STAMP}im_/http://a.test/x)}}</style>\
             <script>a='{text}';import('/web/{STAMP}js_/http://a.test/x')</script>"
        );
        // Where a byte looks like a backslash the way is the long one; the address is the same.
        let settled = decoded.replace(&format!("http://a.test/{percent}"), &format!("http://a.test/{text}"));
        let expected = expected.replace(&format!("http://a.test/{percent}"), &format!("http://a.test/{text}"));
        let settled = settled.replace(&format!("#{percent}"), &format!("#{text}"));
        assert_eq!(settled.replace("/dir/", "/"), expected.replace("/dir/", "/"), "{label}");
    }
}

#[test]
fn a_query_is_written_in_the_encoding_of_its_page() {
    let koi8 = Encoding::for_label(b"koi8-r").unwrap();
    let (body, _, _) = koi8.encode("<a href='/x/../y?я'>");
    let out = html_bytes(Some("text/html; charset=koi8-r"), &body);
    assert!(String::from_utf8_lossy(&out).ends_with("<a href='/web/20260102030405/http://a.test/y?%D1'>"));
}

#[test]
fn what_hides_ascii_becomes_utf_8() {
    let body = "<!doctype html><head><a href='/é'>日本</a>";
    let expected = format!("<!doctype html><head>{SCRIPT}<a href='/web/20260102030405/http://a.test/é'>日本</a>");
    let little: Vec<u8> = body.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = body.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (content_type, mark, bytes) in [
        ("text/html", &b"\xff\xfe"[..], &little),
        ("text/html", b"\xfe\xff", &big),
        ("text/html; charset=utf-16le", b"", &little),
        ("text/html; charset=utf-16be", b"", &big),
    ] {
        let out = html_bytes(Some(content_type), &[mark, bytes].concat());
        assert_eq!(String::from_utf8(out).unwrap().trim_start_matches('\u{feff}'), expected);
    }
    let jis = b"<p title='\x1b$B<\"\x1b(B'><a href=/x>";
    let out = String::from_utf8(html_bytes(Some("text/html; charset=iso-2022-jp"), jis)).unwrap();
    assert!(out.ends_with("'><a href=/web/20260102030405/http://a.test/x>"), "{out}");
}

#[test]
fn what_an_encoding_lacks_is_written_as_a_reference() {
    let out = html_bytes(Some("text/html; charset=windows-1251"), b"<p><iframe srcdoc='&#26085;<a href=/x>'>");
    assert!(String::from_utf8_lossy(&out).contains("srcdoc='&#26085;&lt;script"), "{}", String::from_utf8_lossy(&out));
}

#[test]
fn bytes_that_are_no_text_stay_what_they_are() {
    let body = b"<p title='\xff\xfe\0'>\xff\0<a href='/\xff'><a href=/x>\0</\0a><\0b>";
    let page = url(PAGE);
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Names };
    let out = run(HtmlRewriter::new(&setting, Some("text/html; charset=utf-8"), body), [body].into_iter());
    let expected = [
        SCRIPT.as_bytes(),
        b"<p title='\xff\xfe\0'>\xff\0<a href='/web/20260102030405/http://a.test/\xff'>\
          <a href=/web/20260102030405/http://a.test/x>\0</\0a><\0b>",
    ]
    .concat();
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&expected));
}
