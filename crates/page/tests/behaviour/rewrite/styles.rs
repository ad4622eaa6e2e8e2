//! Style sheets: what is an address in them, and what only looks like one.

use super::{PAGE, STAMP, check, css, rewritten, url};
use herodotus_page::rewrite::{CssRewriter, Mode, Setting};

#[test]
fn addresses_in_style_sheets_lead_into_the_archive() {
    check(
        css,
        &[
            ("a{b:url(/x)}", "a{b:url(@im_/http://a.test/x)}"),
            ("a{b:url(x.png)}", "a{b:url(@im_/http://a.test/dir/x.png)}"),
            ("a{b:url( \"http://b.test/x\" )}", "a{b:url( \"@im_/http://b.test/x\" )}"),
            ("a{b:URL('/x'), url(y)}", "a{b:URL('@im_/http://a.test/x'), url(@im_/http://a.test/dir/y)}"),
            ("@import \"/x\" screen;", "@import \"@cs_/http://a.test/x\" screen;"),
            ("@import url(x.css) layer(\"y\");", "@import url(@cs_/http://a.test/dir/x.css) layer(\"y\");"),
            (
                "@font-face{src:local(\"x\"),url(/f) format(\"woff\")}",
                "@font-face{src:local(\"x\"),url(@oe_/http://a.test/f) format(\"woff\")}",
            ),
            (
                "a{b:image-set(\"/x\" 1x type(\"image/png\"),'y' 2x)}",
                "a{b:image-set(\"@im_/http://a.test/x\" 1x type(\"image/png\"),'@im_/http://a.test/dir/y' 2x)}",
            ),
            ("a{b:-webkit-image-set(url(/x) 1x)}", "a{b:-webkit-image-set(url(@im_/http://a.test/x) 1x)}"),
            ("a{b:url(\\2f x)}", "a{b:url(@im_/http://a.test/x)}"),
            ("a{b:url(/x\\)y)}", "a{b:url(@im_/http://a.test/x\\)y)}"),
            ("a{b:url('/x?\\'y')}", "a{b:url('@im_/http://a.test/x?\\'y')}"),
            ("a{b:url(../../x)}", "a{b:url(@im_/http://a.test/x)}"),
            ("a{b:url(/x", "a{b:url(@im_/http://a.test/x"),
            ("@import '/x", "@import '@cs_/http://a.test/x"),
            ("a{b:url(data:image/png;base64,AA)}", ""),
            ("a{b:url(#x)}", ""),
            ("a{b:url()}", ""),
            ("a{b:url('')}", ""),
            ("a{b:url(/x y)}", "a{b:url(@im_/http://a.test/x y)}"),
            ("a{b:url(/x\"y)}", ""),
            ("a{b:url('/x\n')}", ""),
            ("/* url(/x) @import '/y' */ a{content:'url(/x)'}", ""),
            ("@namespace url(http://www.w3.org/1999/xhtml);@charset \"utf-8\";", ""),
            ("a{b:xurl(/x)} \\url(/x)", ""),
            ("a{b:\"/x\"}", ""),
            ("", ""),
        ],
    );
}

#[test]
fn a_sheet_keeps_its_encoding_or_becomes_utf_8() {
    let page = url(PAGE);
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Names };
    let rewrite = |content_type: &str, body: &[u8]| {
        let charset = CssRewriter::new(&setting, Some(content_type), body).charset();
        (charset, rewritten(|| CssRewriter::new(&setting, Some(content_type), body), body))
    };
    // The second byte of the character is a backslash, which escapes nothing.
    let sjis = b"@charset \"shift_jis\";a{content:\"\x95\x5c\";b:url(/\x95\x5c)}";
    let expected =
        b"@charset \"shift_jis\";a{content:\"\x95\x5c\";b:url(/web/20260102030405im_/http://a.test/\x95\x5c)}";
    assert_eq!(rewrite("text/css", sjis), (Some("Shift_JIS"), expected.to_vec()));
    let utf16: Vec<u8> = "\u{feff}a{b:url(/é)}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let expected = "\u{feff}a{b:url(/web/20260102030405im_/http://a.test/é)}".as_bytes().to_vec();
    assert_eq!(rewrite("text/css", &utf16), (Some("UTF-8"), expected));
    let latin = b"a{content:'\xe9';b:url(/\xe9)}";
    let expected = b"a{content:'\xe9';b:url(/web/20260102030405im_/http://a.test/\xe9)}";
    assert_eq!(rewrite("text/css", latin), (None, expected.to_vec()));
    assert_eq!(rewrite("text/css; charset=latin1", latin), (Some("windows-1252"), expected.to_vec()));
}

#[test]
fn an_address_beyond_the_bound_passes() {
    let long = format!("a{{b:url(/{})}} c{{d:url(/x)}}", "x".repeat(300_000));
    let page = url(PAGE);
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Names };
    for piece_len in [1_000, 100_000, 1_000_000] {
        let pieces = long.as_bytes().chunks(piece_len);
        let out = super::run(CssRewriter::new(&setting, None, b""), pieces);
        let expected = long.replace("url(/x)", "url(/web/20260102030405im_/http://a.test/x)");
        assert!(out == expected.as_bytes(), "{piece_len}");
    }
}
