//! Pages, style sheets and scripts of any bytes on their way to replay: every rewriter takes them, and however a body is
//! cut, the same comes out. The first byte chooses the kind and encoding, the second the length of the pieces.

use herodotus_page::WebUrl;
use herodotus_page::rewrite::{
    CssRewriter, HtmlRewriter, Mode, Modifier, ScriptRewriter, Setting, rewrite_link, rewrite_link_header,
    rewrite_refresh, rewrite_script,
};

pub(crate) fn run(bytes: &[u8]) {
    let url = WebUrl::parse("http://a.test/dir/page.html").expect("a URL");
    let setting = Setting { stamp: "20260102030405", url: &url, mode: Mode::Names };
    let &[kind, len, ref body @ ..] = bytes else { return };
    let len = usize::from(len).max(1);
    let content_type = [
        "text/html; charset=utf-8",
        "text/html; charset=shift_jis",
        "text/html; charset=utf-16le",
        "application/xhtml+xml",
        "image/svg+xml",
        "text/html",
    ][usize::from(kind) % 6];
    let html = |len: usize| {
        let (mut rewriter, mut out) = (HtmlRewriter::new(&setting, Some(content_type), body), Vec::new());
        body.chunks(len).for_each(|piece| rewriter.push(piece, &mut out));
        rewriter.finish(&mut out);
        out
    };
    assert_eq!(html(len), html(body.len().max(1)), "a page cut otherwise");
    let css = |len: usize| {
        let (mut rewriter, mut out) = (CssRewriter::new(&setting, Some(content_type), body), Vec::new());
        body.chunks(len).for_each(|piece| rewriter.push(piece, &mut out));
        rewriter.finish(&mut out);
        out
    };
    assert_eq!(css(len), css(body.len().max(1)), "a style sheet cut otherwise");
    let (mut rewriter, mut script) = (ScriptRewriter::new(&setting), Vec::new());
    body.chunks(len).for_each(|piece| rewriter.push(piece, &mut script));
    rewriter.finish(&mut script);
    assert_eq!(script, *rewrite_script(&setting, body), "a script cut otherwise");
    let text = String::from_utf8_lossy(body);
    let _ = (rewrite_link_header(&setting, &text), rewrite_refresh(&setting, &text));
    if let Some(link) = rewrite_link(&setting, Modifier::Image, &text) {
        assert!(link.starts_with("/web/20260102030405im_/http"), "into the archive");
    }
}
