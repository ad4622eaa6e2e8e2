//! Pages, style sheets, sitemaps, feeds, heads and robots.txt of any bytes: every function is total, and however a body
//! is cut, the same is found. The first byte chooses the kind of document, the second the length of the pieces.

use herodotus_page::{AGENT_TOKEN, Document, Page, PageReader, ResponseHead, Robots, WebUrl, header_links};

pub(crate) fn run(bytes: &[u8]) {
    let url = WebUrl::parse("http://a.test/dir/page.html").expect("a URL");
    robots(bytes);
    if let Some(head) = ResponseHead::parse(bytes) {
        let _ = header_links(&url, &head);
    }
    let &[kind, len, ref body @ ..] = bytes else { return };
    let documents = [
        Document::Html,
        Document::Xhtml,
        Document::Css,
        Document::Sitemap,
        Document::Feed,
        Document::SitemapText,
        Document::of(None, &url, body),
    ];
    let document = documents[usize::from(kind) % documents.len()];
    let charset = (kind >= 128).then_some("shift_jis");
    let whole = read(&url, document, charset, body, body.len().max(1));
    assert_eq!(read(&url, document, charset, body, usize::from(len).max(1)), whole, "cut otherwise");
    for link in &whole.links {
        assert_eq!(WebUrl::parse(link.url.as_str()).as_ref(), Ok(&link.url), "in canonical form");
    }
}

fn read(url: &WebUrl, document: Document, charset: Option<&str>, body: &[u8], piece_len: usize) -> Page {
    let mut reader = PageReader::new(url.clone(), document, charset);
    body.chunks(piece_len).for_each(|piece| reader.push(piece));
    reader.finish()
}

fn robots(bytes: &[u8]) {
    let robots = Robots::parse(bytes, AGENT_TOKEN);
    let target = String::from_utf8_lossy(bytes);
    let _ = (robots.allows(&target), robots.crawl_delay(), robots.bytes());
    assert!(robots.allows("/robots.txt"));
}
