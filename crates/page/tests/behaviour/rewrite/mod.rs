//! What replay makes of archived content: each rewritten feature, the same however the body is cut, in any encoding, in
//! hostile pages, and with nothing left that leads out of the archive.

#![allow(clippy::unwrap_used, reason = "a test may stop here")]

mod any_bytes;
mod charsets;
mod headers;
mod hostile;
mod html;
mod inject;
mod judge;
mod real;
mod scripts;
mod styles;

use herodotus_page::WebUrl;
use herodotus_page::rewrite::{CssRewriter, HtmlRewriter, Mode, ScriptRewriter, Setting};

const PAGE: &str = "http://a.test/dir/page.html";
const STAMP: &str = "20260102030405";
const SCRIPT: &str = "<script src=\"/herodotus/replay.js\" data-stamp=\"20260102030405\" \
    data-url=\"http://a.test/dir/page.html\" data-mode=\"names\"></script>";

fn url(text: &str) -> WebUrl {
    WebUrl::parse(text).unwrap()
}

/// Something that takes a body in pieces.
trait Rewriter {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>);
    fn finish(self, out: &mut Vec<u8>);
}

macro_rules! rewriters {
    ($($name:ident),*) => {
        $(impl Rewriter for $name {
            fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
                $name::push(self, bytes, out);
            }

            fn finish(self, out: &mut Vec<u8>) {
                $name::finish(self, out);
            }
        })*
    };
}
rewriters!(HtmlRewriter, CssRewriter, ScriptRewriter);

fn run<R: Rewriter>(mut rewriter: R, pieces: impl Iterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
    let mut out = Vec::new();
    pieces.for_each(|piece| rewriter.push(piece.as_ref(), &mut out));
    rewriter.finish(&mut out);
    out
}

/// The output, which must be the same for the body whole, byte by byte, and cut at random.
fn rewritten<R: Rewriter>(make: impl Fn() -> R, body: &[u8]) -> Vec<u8> {
    let whole = run(make(), [body].into_iter());
    let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(show(&run(make(), body.chunks(1))), show(&whole), "byte by byte: {}", show(body));
    for seed in 1..6_usize {
        let (mut rest, mut state, mut pieces) = (body, seed, Vec::new());
        while !rest.is_empty() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (piece, after) = rest.split_at((1 + (state >> 33) % 17).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        assert_eq!(show(&run(make(), pieces.into_iter())), show(&whole), "cut with seed {seed}: {}", show(body));
    }
    whole
}

fn html_bytes(content_type: Option<&str>, body: &[u8]) -> Vec<u8> {
    let page = url(PAGE);
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Names };
    rewritten(|| HtmlRewriter::new(&setting, content_type, body), body)
}

/// With `@` for `/web/<stamp>` and `[script]` for the client script.
fn short(text: &str) -> String {
    let double = escaped(SCRIPT, '"');
    text.replace(&escaped(&double, '\''), "[script]")
        .replace(&double, "[script]")
        .replace(&escaped(SCRIPT, '\''), "[script]")
        .replace(SCRIPT, "[script]")
        .replace("/web/20260102030405", "@")
}

/// As it stands in a value between these quotes.
fn escaped(text: &str, quote: char) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if quote == '"' { text.replace('"', "&quot;") } else { text }
}

fn html_as(content_type: &str, body: &str) -> String {
    short(&String::from_utf8(html_bytes(Some(content_type), body.as_bytes())).unwrap())
}

/// An HTML page in short, without the script.
fn html(body: &str) -> String {
    html_as("text/html", body).replacen("[script]", "", 1)
}

fn css(body: &str) -> String {
    let page = url(PAGE);
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Names };
    let out = rewritten(|| CssRewriter::new(&setting, Some("text/css"), body.as_bytes()), body.as_bytes());
    short(&String::from_utf8(out).unwrap())
}

fn script(body: &str) -> String {
    let page = url(PAGE);
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Names };
    let out = rewritten(|| ScriptRewriter::new(&setting), body.as_bytes());
    short(&String::from_utf8(out).unwrap())
}

#[test]
fn rewriters_can_go_from_thread_to_thread() {
    fn is_send<T: Send + 'static>() {}
    is_send::<HtmlRewriter>();
    is_send::<CssRewriter>();
    is_send::<ScriptRewriter>();
}

/// Checks a table; an empty expectation means unchanged.
fn check(rewrite: impl Fn(&str) -> String, cases: &[(&str, &str)]) {
    for (body, expected) in cases {
        let expected = if expected.is_empty() { body } else { expected };
        assert_eq!(rewrite(body), *expected, "{body}");
    }
}
