//! What `PageReader` finds: in HTML, in style sheets, in sitemaps and feeds, in any encoding, in hostile pages, and the
//! same however the page is cut.

#![allow(clippy::unwrap_used, reason = "a test may stop here")]

mod against_lol_html;
mod charsets;
mod documents;
#[path = "../../../../../fuzz/bodies/links.rs"]
mod fuzz_body;
mod hostile;
mod html;
mod splits;

use herodotus_page::{Document, Page, PageReader, WebUrl};

const PAGE: &str = "http://a.test/dir/page.html";

fn url(text: &str) -> WebUrl {
    WebUrl::parse(text).unwrap()
}

fn read_as(document: Document, charset: Option<&str>, body: &[u8]) -> Page {
    let mut reader = PageReader::new(url(PAGE), document, charset);
    reader.push(body);
    reader.finish()
}

/// The links of an HTML page in short: `Page /dir/x nofollow`.
fn links(html: &str) -> Vec<String> {
    shown(&read_as(Document::Html, None, html.as_bytes()))
}

fn shown(page: &Page) -> Vec<String> {
    page.links
        .iter()
        .map(|link| {
            let target = link.url.as_str().strip_prefix("http://a.test").unwrap_or(link.url.as_str());
            format!("{:?} {target}{}", link.kind, if link.nofollow { " nofollow" } else { "" })
        })
        .collect()
}

/// Checks a table of pages with what is to be found in them, links separated by `, `.
fn check(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        assert_eq!(links(html).join(", "), *expected, "{html}");
    }
}
