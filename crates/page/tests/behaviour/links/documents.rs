//! Style sheets, sitemaps, feeds, and how a body's kind is found.

use super::{read_as, shown, url};
use herodotus_page::{Document, is_gzip};

fn found(document: Document, body: &str) -> String {
    shown(&read_as(document, None, body.as_bytes())).join(", ")
}

#[test]
fn style_sheets_name_styles_fonts_and_images() {
    for (css, expected) in [
        ("a{b:url(c.png)}", "Image /dir/c.png"),
        ("a{b:URL( 'c d.png' )}", "Image /dir/c%20d.png"),
        ("a{b:url(\"c.png\") , url( d.png )}", "Image /dir/c.png, Image /dir/d.png"),
        (
            "@import 'a.css';@import url(b.css) screen;@IMPORT url(\"c.css\");",
            "Style /dir/a.css, Style /dir/b.css, Style /dir/c.css",
        ),
        ("@import 'a.css' layer(x) supports(y: 'no');b{c:url(d)}", "Style /dir/a.css, Image /dir/d"),
        (
            "@font-face{font-family:'x';src:local('y'),url(f.woff2) format('woff2')}a{b:url(c)}",
            "Font /dir/f.woff2, Image /dir/c",
        ),
        ("/* url(no) */a{b:/**/url(c)/*url(no)*/}/* url(no)", "Image /dir/c"),
        ("a{content:'url(no)';b:\"@import 'no'\"}", ""),
        ("@namespace url(http://no.test/);@charset 'utf-8';", ""),
        (r"a{b:url(c\29 d\.png)}", "Image /dir/c)d.png"),
        (r"a{b:url('c\'\A d')}", "Image /dir/c'd"),
        ("a{b:url('c\\\nd')}", "Image /dir/cd"),
        ("a{b:url('broken\n);c:url(d)}", "Image /dir/d"),
        ("a{b:url(br\"oken);c:url(d)}", "Image /dir/d"),
        ("a{b:image-set('c.png' type('image/png') 1x, url(d.png) 2x)}", "Image /dir/c.png, Image /dir/d.png"),
        ("a{b:url()}", ""),
        ("a{b:url(#x)}", ""),
        ("a{b:curl(no);c:my-url(no)}", ""),
        ("a{b:url(c", "Image /dir/c"),
        ("@import 'a", "Style /dir/a"),
    ] {
        assert_eq!(found(Document::Css, css), expected, "{css}");
    }
}

#[test]
fn sitemaps_name_pages_images_and_further_sitemaps() {
    let pages = "<?xml version='1.0'?><urlset xmlns='x'><url><loc> http://a.test/?a=1&amp;b=2\n</loc><lastmod>2020</lastmod>\
                 <image:image><image:loc>/i.png</image:loc></image:image><xhtml:link rel='alternate' hreflang='de' href='/de'/>\
                 </url><url><loc><![CDATA[http://b.test/?x&amp=y]]></loc></url><!-- <loc>/no</loc> --><loc/></urlset>";
    assert_eq!(found(Document::Sitemap, pages), "Page /?a=1&b=2, Image /i.png, Page /de, Page http://b.test/?x&amp=y");
    let index = "<sitemapindex><sitemap><loc>http://a.test/s.xml.gz</loc></sitemap></sitemapindex>";
    assert_eq!(found(Document::Sitemap, index), "Sitemap /s.xml.gz");
    assert_eq!(found(Document::Feed, index), "Sitemap /s.xml.gz", "the root decides");
    let broken = "<urlset><url><loc>/a<url><loc>/b</lok><loc>/c</urlset><loc>/d";
    assert_eq!(found(Document::Sitemap, broken), "Page /a, Page /b, Page /c, Page /d");
    assert_eq!(found(Document::Sitemap, "<other><loc>/a</loc></other>"), "");
}

#[test]
fn text_sitemaps_have_an_address_on_each_line() {
    let body = "\u{feff}http://a.test/x\r\n\r\nhttps://b.test/y z \nnot one\nHTTP://A.test/é";
    let page = read_as(Document::SitemapText, None, body.as_bytes());
    assert_eq!(shown(&page), ["Page /x", "Page https://b.test/y%20z", "Page /%C3%A9"]);
    assert_eq!(page.not_web, 1);
}

#[test]
fn feeds_name_their_entries_and_enclosures() {
    let rss = "<rss><channel><link>http://a.test/home</link><atom:link rel='self' href='/feed.xml'/><item><title>x</title>\
               <link>http://a.test/1?a&amp;b</link><enclosure url='/1.mp3' type='audio/mpeg'/><guid>no</guid>\
               <media:thumbnail url='t.png'/></item><image><url>logo.png</url></image></channel></rss>";
    assert_eq!(
        found(Document::Feed, rss),
        "Page /home, Feed /feed.xml, Page /1?a&b, Media /1.mp3, Image /dir/t.png, Image /dir/logo.png"
    );
    let atom = "<feed xmlns='x'><link href='/home'/><link rel='self' href='f'/><link rel='next' href='f2'/><entry>\
                <link rel='alternate' type='text/html' href='1'/><link rel='enclosure' type='image/png' href='e'/>\
                <content type='html'>&lt;a href=no&gt;</content></entry></feed>";
    assert_eq!(found(Document::Feed, atom), "Page /home, Feed /dir/f, Feed /dir/f2, Page /dir/1, Image /dir/e");
    let rdf = "<rdf:RDF><item rdf:about='no'><link>/1</link></item></rdf:RDF>";
    assert_eq!(found(Document::Feed, rdf), "Page /1");
}

#[test]
fn a_body_is_what_browsers_take_it_for() {
    let page = url("http://a.test/x");
    for (essence, body, document) in [
        (Some("text/html"), "", Document::Html),
        (Some("text/html"), "<?xml version='1.0'?>\n<!-- x --><rss version='2.0'>", Document::Feed),
        (Some("text/html"), "<?xml version='1.0'?><html>", Document::Html),
        (Some("application/xhtml+xml"), "", Document::Xhtml),
        (Some("image/svg+xml"), "", Document::Xhtml),
        (Some("text/css"), "", Document::Css),
        (Some("application/rss+xml"), "", Document::Feed),
        (Some("application/xml"), "<?xml?><feed xmlns='x'>", Document::Feed),
        (Some("text/xml"), "<urlset>", Document::Sitemap),
        (Some("text/xml"), "", Document::Sitemap),
        (Some("text/xml"), "<?xml?><!DOCTYPE html><html xmlns='x'>", Document::Xhtml),
        (Some("application/dash+xml"), "<MPD>", Document::Other),
        (Some("text/plain"), "<html>", Document::Other),
        (Some("application/json"), "<html>", Document::Other),
        (Some("application/octet-stream"), "<html>", Document::Other),
        (Some("application/gzip"), "<sitemapindex>", Document::Sitemap),
        (None, "\n <!DOCTYPE HTML>", Document::Html),
        (None, "<!-- x", Document::Html),
        (None, "<p>", Document::Html),
        (None, "<pre>", Document::Other),
        (None, "\u{89}PNG", Document::Other),
        (None, "", Document::Other),
    ] {
        assert_eq!(Document::of(essence, &page, body.as_bytes()), document, "{essence:?} {body}");
    }
    assert_eq!(Document::of(Some("text/plain"), &url("http://a.test/Sitemap-1.txt"), b""), Document::SitemapText);
    assert_eq!(
        Document::of(Some("application/x-gzip"), &url("http://a.test/sitemap.txt.gz"), b"http://"),
        Document::SitemapText
    );
    assert_eq!(Document::of(None, &url("http://a.test/s.CSS?x"), b"a{}"), Document::Css);
    assert!(is_gzip(b"\x1f\x8b\x08\0") && !is_gzip(b"\x1f\x8b"));
}

#[test]
fn what_is_not_read_has_no_links() {
    assert_eq!(found(Document::Other, "<a href=x>"), "");
}

#[test]
fn a_drawing_that_came_as_xml_is_read_as_one() {
    let body = "<?xml version='1.0'?><svg><a xlink:href='x'/><style>a{b:url(c)}</style></svg>";
    assert_eq!(found(Document::Sitemap, body), "Page /dir/x, Image /dir/c");
}
