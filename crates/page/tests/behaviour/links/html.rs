//! Elements, attributes, and where browsers cut markup.

use super::{check, links, read_as, shown};
use herodotus_page::limits::TITLE_BYTES_MAX;
use herodotus_page::{Document, Page};

fn read(html: &str) -> Page {
    read_as(Document::Html, None, html.as_bytes())
}

#[test]
fn links_to_other_pages_are_found() {
    check(&[
        ("<a href=x>", "Page /dir/x"),
        ("<A HREF='x'>", "Page /dir/x"),
        ("<map><area href=\"/y\"></map>", "Page /y"),
        ("<a href = \" x y \n\">", "Page /dir/x%20y"),
        ("<a href=\"x\ny\tz\r\">", "Page /dir/xyz"),
        ("<a name=x>", ""),
        ("<form action=search><input name=q></form>", "Page /dir/search"),
        ("<form method=GET action='/s?x'>", "Page /s?x"),
        ("<form method=post action=/s>", ""),
        ("<form method=dialog action=/s>", ""),
        ("<form>", ""),
        ("<meta http-equiv=refresh content='0; url=/x'>", "Page /x"),
        ("<meta http-equiv=Refresh content='5;URL=\"/x y\"; z'>", "Page /x%20y"),
        ("<meta http-equiv=refresh content='1, /x'>", "Page /x"),
        ("<meta http-equiv=refresh content='1 url = x'>", "Page /dir/x"),
        ("<meta http-equiv=refresh content='5'>", ""),
        ("<meta http-equiv=refresh content='url=/x'>", ""),
        ("<meta http-equiv=refresh content='5; url='>", ""),
    ]);
}

#[test]
fn a_link_element_is_what_its_rel_says() {
    check(&[
        ("<link rel=stylesheet href=s.css>", "Style /dir/s.css"),
        ("<link rel='alternate StyleSheet' href=s.css>", "Style /dir/s.css"),
        (
            "<link rel='shortcut icon' href=i.ico><link rel=apple-touch-icon href=t.png>",
            "Image /dir/i.ico, Image /dir/t.png",
        ),
        ("<link rel=next href=n><link rel=canonical href=c>", "Page /dir/n, Page /dir/c"),
        ("<link rel=alternate hreflang=de href=/de>", "Page /de"),
        ("<link rel=alternate type='application/rss+xml' href=f>", "Feed /dir/f"),
        ("<link rel=alternate type='application/atom+xml; x' href=f>", "Feed /dir/f"),
        ("<link rel=alternate type='application/json' href=j>", "Other /dir/j"),
        ("<link rel=sitemap href=m.xml>", "Sitemap /dir/m.xml"),
        (
            "<link rel=preload as=font href=f.woff2><link rel=preload as=style href=s>",
            "Font /dir/f.woff2, Style /dir/s",
        ),
        ("<link rel=preload as=image imagesrcset='a.png 1x, b.png 2x'>", "Image /dir/a.png, Image /dir/b.png"),
        ("<link rel=modulepreload href=m.js>", "Script /dir/m.js"),
        ("<link rel=manifest href=m.json>", "Other /dir/m.json"),
        ("<link rel=preconnect href=//b.test><link rel=dns-prefetch href=//c.test>", ""),
        ("<link href=x>", ""),
    ]);
}

#[test]
fn what_a_page_is_made_of_is_found() {
    check(&[
        ("<img src=a.png>", "Image /dir/a.png"),
        ("<img src=a.png srcset='b.png 1x, c.png 2x'>", "Image /dir/a.png, Image /dir/b.png, Image /dir/c.png"),
        ("<img data-src=a.png data-srcset='b.png 2x'>", "Image /dir/a.png, Image /dir/b.png"),
        ("<picture><source srcset='a.webp 1x'><img src=a.png></picture>", "Image /dir/a.webp, Image /dir/a.png"),
        ("<script src=s.js></script>", "Script /dir/s.js"),
        ("<iframe src=f.html></iframe><frame src=g.html>", "Frame /dir/f.html, Frame /dir/g.html"),
        ("<object data=o></object><embed src=e type=image/png>", "Frame /dir/o, Image /dir/e"),
        (
            "<video src=v poster=p><source src=w><track src=t></video><audio src=a>",
            "Media /dir/v, Image /dir/p, Media /dir/w, Media /dir/t, Media /dir/a",
        ),
        ("<input type=IMAGE src=b.png><input src=no>", "Image /dir/b.png"),
        ("<body background=b.gif><table background=t.gif>", "Image /dir/b.gif, Image /dir/t.gif"),
        (
            "<p style=\"background: url('a.png')\"><b style='x:url(&quot;b.png&quot;)'>",
            "Image /dir/a.png, Image /dir/b.png",
        ),
        (
            "<style>@import 'i.css'; @font-face{src:url(f.woff)} a{b:url(c.png)}</style>",
            "Style /dir/i.css, Font /dir/f.woff, Image /dir/c.png",
        ),
        (
            "<svg><image href=i.png /><use xlink:href='s.svg#x'/><a xlink:href=l /></svg>",
            "Image /dir/i.png, Image /dir/s.svg, Page /dir/l",
        ),
        ("<svg><use href='#x'/></svg>", ""),
        ("<image src=a.png><img href=no><script href=no></script><a xlink:href=no>", "Image /dir/a.png"),
        ("<svg><script href=a.js /><a href=b xlink:href=no /></svg>", "Script /dir/a.js, Page /dir/b"),
        ("<blockquote cite=x><q cite=y><ins cite=z><del cite=z>", ""),
    ]);
}

#[test]
fn a_frame_may_hold_its_document_in_an_attribute() {
    check(&[(
        "<iframe srcdoc='<base href=/no/><a href=&quot;x?a&amp;amp;b&quot;><img src=i>' src=f></iframe><a href=y>",
        "Frame /dir/f, Page /dir/x?a&b, Image /dir/i, Page /dir/y",
    )]);
}

#[test]
fn markup_is_cut_where_browsers_cut_it() {
    check(&[
        ("<!-- <a href=x> --><a href=y>", "Page /dir/y"),
        ("<!--><a href=x><!-- --!><a href=y><!--->", "Page /dir/x, Page /dir/y"),
        ("<!-- <a href=x>", ""),
        ("<script>'<a href=x>'</script><a href=y>", "Page /dir/y"),
        ("<script><!-- <script> </script> <a href=x> --></script><a href=y>", "Page /dir/y"),
        ("<textarea><a href=x></textarea><a href=y>", "Page /dir/y"),
        ("<title><a href=x></title><a href=y>", "Page /dir/y"),
        ("<noscript><img src=x></noscript>", "Image /dir/x"),
        ("<template><a href=x></template>", "Page /dir/x"),
        ("<iframe><a href=x></iframe><a href=y>", "Page /dir/y"),
        ("<xmp><a href=x></xmp><noframes><a href=x></noframes><a href=y>", "Page /dir/y"),
        ("<a href=y><plaintext><a href=x></plaintext>", "Page /dir/y"),
        ("<![CDATA[ <a href=x> ]]>", ""),
        ("<![CDATA[ > <a href=x> ]]>", "Page /dir/x"),
        ("<svg><![CDATA[ > <a href=x> ]]></svg><a href=y>", "Page /dir/y"),
        ("<svg><style/><a href=x></svg>", "Page /dir/x"),
        ("<svg><script><a href=x></script></svg>", "Page /dir/x"),
        ("<svg><p><style/><a href=x></style>", ""),
        ("<svg><foreignObject><style/><a href=x></style></foreignObject><style/><a href=y>", "Page /dir/y"),
        ("<svg><title><noframes><a href=x></noframes></title><noframes><a href=y></svg>", "Page /dir/y"),
        ("<svg><desc><svg></svg><style/><a href=x></style></desc><style/><a href=y>", "Page /dir/y"),
        ("<math><mi><style/><a href=x></style></mi><style/><a href=y>", "Page /dir/y"),
        ("<svg></p><style/><a href=x></style>", ""),
        ("<a title='>' href=x>", "Page /dir/x"),
        ("<a title=\"'>\" href=x>", "Page /dir/x"),
        ("<a b=c=\"d>\" href=x>", ""),
        ("<a =\"b>\" href=x>", ""),
        ("<a href='x' href='y'>", "Page /dir/x"),
        ("<a/href=x>", "Page /dir/x"),
        ("<a href=x/>", "Page /dir/x/"),
        ("<a href=\"x\"title=y>", "Page /dir/x"),
        ("<a href=x", ""),
        ("<a href='x>", ""),
        ("< a href=x><3 <a href=y>", "Page /dir/y"),
        ("</a href=x><a href=y>", "Page /dir/y"),
        ("</a title='>' <a href=x>'><a href=y>", "Page /dir/y"),
        ("<ahref=x><a\u{c}href=y><a\0 href=z>", "Page /dir/y"),
        ("<!doctype html [<a href=x>]><?php <a href=y> ?>", ""),
    ]);
}

#[test]
fn references_in_values_are_decoded() {
    check(&[
        ("<a href='x?a=1&amp;b=2'>", "Page /dir/x?a=1&b=2"),
        ("<a href='x?a=1&b=2&copy=3'>", "Page /dir/x?a=1&b=2&copy=3"),
        ("<a href='&#x2f;x&#47;y'>", "Page /x/y"),
        ("<a href='x&#38;y&#35;z'>", "Page /dir/x&y"),
        ("<a href='caf&eacute;?caf&eacute;'>", "Page /dir/caf%C3%A9?caf%C3%A9"),
    ]);
}

#[test]
fn the_first_base_counts_for_links_before_it_too() {
    check(&[
        ("<base href=/b/><a href=x>", "Page /b/x"),
        (
            "<link rel=next href=n><script src=s></script><base href='/b/'><base href=/c/><a href=x>",
            "Page /b/n, Script /b/s, Page /b/x",
        ),
        ("<a href=x><base href=/b/><a href=y>", "Page /dir/x, Page /b/y"),
        ("<base target=_top><base href=/b/><a href=x>", "Page /b/x"),
        ("<base href=//b.test><a href=x>", "Page http://b.test/x"),
        ("<base href=javascript:1><a href=x>", "Page /dir/x"),
        ("<base href=/b/><a href='#x'>", "Page /b/"),
    ]);
}

#[test]
fn a_link_is_given_once_with_what_its_mentions_say_together() {
    check(&[
        ("<a href=x><a href=./x#y><a href='/dir/x'>", "Page /dir/x"),
        ("<a href=x><img src=x><a href=x>", "Image /dir/x"),
        ("<link rel=manifest href=x><a href=x>", "Page /dir/x"),
        ("<a rel=nofollow href=x>", "Page /dir/x nofollow"),
        ("<a rel='external UGC' href=x><area rel=sponsored href=y>", "Page /dir/x nofollow, Page /dir/y nofollow"),
        ("<a rel=nofollow href=x><a href=x>", "Page /dir/x"),
        ("<a href=x><a rel=nofollow href=x>", "Page /dir/x"),
    ]);
}

#[test]
fn the_page_itself_is_no_link() {
    check(&[("<a href='#a'><a href=''><a href=page.html><a href='page.html#b'><a href=?>", "Page /dir/page.html?")]);
}

#[test]
fn what_is_not_on_the_web_is_counted() {
    let page = read(
        "<a href=mailto:a@b.test><a href='javascript:x()'><img src='data:image/png;base64,AA'><a href='http://'><a href=x>",
    );
    assert_eq!((page.not_web, page.links_dropped), (4, 0));
    assert_eq!(shown(&page), ["Page /dir/x"]);
}

#[test]
fn the_title_is_read_as_a_person_sees_it() {
    for (html, title) in [
        ("<title> A &amp; B\n <b> </title>", Some("A & B <b>")),
        ("<title></title><title>x</title>", None),
        ("<svg><title>no</title></svg><title>yes</title>", Some("yes")),
        ("<title>never ends", Some("never ends")),
        ("<p>none", None),
    ] {
        assert_eq!(read(html).title.as_deref(), title, "{html}");
        assert_eq!(herodotus_page::title(html).as_deref(), title, "{html}");
    }
    let long = read(&format!("<title>{}</title>", "é".repeat(TITLE_BYTES_MAX)));
    assert_eq!(long.title.unwrap(), "é".repeat(TITLE_BYTES_MAX / 2));
}

#[test]
fn the_page_can_ask_robots_to_leave_it() {
    for (html, expected) in [
        ("<meta name=robots content='noindex, nofollow'>", (true, true, false)),
        ("<META NAME=Herodotus CONTENT=NoArchive>", (false, false, true)),
        ("<meta name=robots content=none><meta name=robots content=noarchive>", (true, true, true)),
        ("<meta name=otherbot content=noindex>", (false, false, false)),
        ("<meta name=robots content='index,follow'>", (false, false, false)),
    ] {
        let policy = read(html).policy;
        assert_eq!((policy.noindex, policy.nofollow, policy.noarchive), expected, "{html}");
    }
}

#[test]
fn xhtml_closes_elements_as_xml_does() {
    let body = b"<?xml version='1.0'?><html><head><script src='s.js'/><title/><style/></head><![CDATA[<a href='no'/>]]><a href='x'/></html>";
    assert_eq!(shown(&read_as(Document::Xhtml, None, body)), ["Script /dir/s.js", "Page /dir/x"]);
    assert_eq!(shown(&read_as(Document::Html, None, body)), ["Script /dir/s.js"]);
}

#[test]
fn order_is_that_of_first_mention() {
    assert_eq!(links("<a href=b><a href=a><img src=c><a href=b>"), ["Page /dir/b", "Page /dir/a", "Image /dir/c"]);
}
