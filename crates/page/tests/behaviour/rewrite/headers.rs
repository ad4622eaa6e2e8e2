//! `Location:`, `Refresh:` and `Link:`.

use super::{PAGE, STAMP, short, url};
use herodotus_page::rewrite::{Mode, Modifier, Setting, rewrite_link, rewrite_link_header, rewrite_refresh};

#[test]
fn links_of_a_head_lead_into_the_archive() {
    let page = url(PAGE);
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Names };
    for (link, expected) in [
        ("/x", Some("@/http://a.test/x")),
        ("y", Some("@/http://a.test/dir/y")),
        ("https://b.test", Some("@/https://b.test/")),
        ("//b.test/x y#f g", Some("@/http://b.test/x%20y#f%20g")),
        ("?q", Some("@/http://a.test/dir/page.html?q")),
        ("", Some("@/http://a.test/dir/page.html")),
        ("#f", Some("@/http://a.test/dir/page.html#f")),
        ("javascript:x", None),
        ("http://", None),
    ] {
        let found = rewrite_link(&setting, Modifier::Document, link).map(|link| short(&link));
        assert_eq!(found.as_deref(), expected, "{link}");
    }
    assert_eq!(
        rewrite_link(&setting, Modifier::Iframe, "/x").as_deref(),
        Some("/web/20260102030405if_/http://a.test/x")
    );
    for (value, expected) in [
        ("0;url=/x", "0; url=@/http://a.test/x"),
        ("5; URL='http://b.test/'", "5; url=@/http://b.test/"),
        ("5", "5"),
        ("nonsense", "nonsense"),
    ] {
        assert_eq!(short(&rewrite_refresh(&setting, value)), expected);
    }
    for (value, expected) in [
        ("</x.css>; rel=preload; as=style", "<@cs_/http://a.test/x.css>; rel=preload; as=style"),
        (
            "<x>;rel=\"next\" , </y>; rel=icon; title=\"a, b\"",
            "<@/http://a.test/dir/x>;rel=\"next\", <@im_/http://a.test/y>; rel=icon; title=\"a, b\"",
        ),
        (
            "<http://b.test>; rel=preconnect, </f>; rel=preload; as=font; crossorigin",
            "<@oe_/http://a.test/f>; rel=preload; as=font; crossorigin",
        ),
        ("<//b.test/>; rel=dns-prefetch", ""),
        ("<javascript:x>; rel=next", ""),
        ("nonsense", ""),
        ("<x", ""),
    ] {
        assert_eq!(short(&rewrite_link_header(&setting, value)), expected, "{value}");
    }
}
