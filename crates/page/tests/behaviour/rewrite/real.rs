//! Nothing of a rewritten page leads out of the archive: our own reader of links, which knows nothing of rewriting, reads
//! the page where it is replayed.

use super::{STAMP, run, url};
use crate::html_files::html_files;
use herodotus_page::rewrite::{HtmlRewriter, Mode, Setting};
use herodotus_page::{Document, LinkKind, PageReader, WebUrl};

/// The links of the replayed page that lead elsewhere, and how many there are in all.
fn escapes(page: &WebUrl, html: &[u8]) -> (Vec<String>, usize) {
    let setting = Setting { stamp: STAMP, url: page, mode: Mode::Names };
    let rewriter = HtmlRewriter::new(&setting, Some("text/html"), html);
    let charset = rewriter.charset();
    let out = run(rewriter, html.chunks(60_000));
    let at = url(&format!("http://replay.test/web/{STAMP}/{page}"));
    let mut reader = PageReader::new(at, Document::Html, Some(charset));
    reader.push(&out);
    let links = reader.finish().links;
    let escapes = links.iter().filter(|link| {
        let text = link.url.as_str();
        let is_within = text.starts_with("http://replay.test/web/20260102030405")
            || text == "http://replay.test/herodotus/replay.js";
        // What says what it is must say it.
        let is_requisite = matches!(link.kind, LinkKind::Script | LinkKind::Style | LinkKind::Image);
        !is_within || (is_requisite && text.starts_with("http://replay.test/web/20260102030405/"))
    });
    (escapes.map(|link| format!("{:?} {}", link.kind, link.url)).collect(), links.len())
}

#[test]
fn nothing_of_a_page_leads_out_of_the_archive() {
    let page = url("http://a.test/dir/page.html");
    let html = "<html><head><base href='//b.test/c/'><meta http-equiv=refresh content='1;url=http://c.test/'>\
        <link rel=stylesheet href=http://c.test/s.css><link rel=preconnect href=http://c.test/>\
        <style>@import 'http://c.test/i.css';@font-face{src:url(//c.test/f)}a{b:image-set('/x' 1x)}</style>\
        <script src=HTTP://c.test/s.js></script><body background=/b style='a:url(http://c.test/y)'>\
        <a href='../../../x'><a href=http:\\\\c.test/z><img src=//c.test/i srcset='http://c.test/j 2x, k 3x'>\
        <picture><source srcset=/p></picture><video src=/v poster=/w><form action=http://c.test/f>\
        <iframe src=http://c.test/ srcdoc='<a href=http://c.test/q>'></iframe><object data=/o></object>\
        <svg><image xlink:href=http://c.test/s.svg /><use href=/u#v /></svg><noscript><img src=http://c.test/n></noscript>";
    let (escapes, links) = escapes(&page, html.as_bytes());
    assert_eq!((escapes, links), (Vec::new(), 24));
}

/// `HTML_DIRECTORY=… cargo test -p herodotus-page --test behaviour rewrite:: -- --ignored`
#[test]
#[ignore = "reads whatever HTML lies in HTML_DIRECTORY, else in /usr/share/doc"]
fn nothing_of_real_pages_leads_out_of_the_archive() {
    let (mut pages, mut links) = (0, 0);
    for path in html_files() {
        let page = url(&format!("http://docs.test{}", path.display()));
        let (escapes, count) = escapes(&page, &std::fs::read(&path).unwrap());
        assert_eq!(escapes, Vec::<String>::new(), "{}", path.display());
        pages += 1;
        links += count;
    }
    println!("{pages} pages, {links} links");
}
