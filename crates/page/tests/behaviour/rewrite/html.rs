//! Each feature of HTML that is rewritten, and what is left alone.

use super::{check, html, html_as};

#[test]
fn links_to_pages_lead_into_the_archive_and_stay_short_where_they_can() {
    check(
        html,
        &[
            ("<a href=\"http://b.test/x\">", "<a href=\"@/http://b.test/x\">"),
            ("<a href='https://b.test:8443/x?y=1&amp;z=2#f'>", "<a href='@/https://b.test:8443/x?y=1&amp;z=2#f'>"),
            ("<a href=//b.test/x>", "<a href=@/http://b.test/x>"),
            ("<a href=/x>", "<a href=@/http://a.test/x>"),
            ("<a href=\"/\">", "<a href=\"@/http://a.test/\">"),
            ("<A HREF=\"/x\" ID=y>", "<A HREF=\"@/http://a.test/x\" ID=y>"),
            ("<area\nhref = '/x' >", "<area\nhref = '@/http://a.test/x' >"),
            ("<a href=\" /x\n\">", "<a href=\"@/http://a.test/x\">"),
            ("<a href=x.html>", ""),
            ("<a href='../x.html'>", ""),
            ("<a href=./x?y#z>", ""),
            ("<a href=?q=1>", ""),
            ("<a href=''>", ""),
            ("<a href>", ""),
            // One folder more than there is: the browser would take the host.
            ("<a href='../../x.html'>", "<a href='@/http://a.test/x.html'>"),
            ("<a href='x/../../../y'>", "<a href='@/http://a.test/y'>"),
            ("<a href='/x/../y'>", "<a href='@/http://a.test/y'>"),
            ("<a href='/%2e%2e/%2E%2E/y'>", "<a href='@/http://a.test/y'>"),
            ("<a href='HTTP://B.test/x'>", "<a href='@/http://b.test/x'>"),
            ("<a href='http:x'>", "<a href='@/http://a.test/dir/x'>"),
            ("<a href='http://b.test'>", "<a href='@/http://b.test/'>"),
            ("<a href='http://u:p@b.test/x'>", "<a href='@/http://b.test/x'>"),
            ("<a href='\\\\b.test\\x'>", "<a href='@/http://b.test/x'>"),
            ("<a href='ht\ntp://b.test/x'>", "<a href='@/http://b.test/x'>"),
            ("<a href='http://bücher.test/ä?ö#ü'>", "<a href='@/http://xn--bcher-kva.test/%C3%A4?%C3%B6#%C3%BC'>"),
            ("<a href='http://b.test/ä?ö#ü'>", "<a href='@/http://b.test/ä?ö#ü'>"),
            ("<a href='http://b.test/web/2020/http://c.test/'>", "<a href='@/http://b.test/web/2020/http://c.test/'>"),
            ("<a href='http://exa mple/'>", ""),
            ("<a href='/x' href='/y'>", "<a href='@/http://a.test/x' href='@/http://a.test/y'>"),
        ],
    );
}

#[test]
fn what_is_no_address_on_the_web_stays() {
    let values = [
        "#top",
        "javascript:alert('/x')",
        "mailto:a@b.test",
        "data:text/html,&lt;a href=/x>",
        "blob:http://a.test/x",
        "about:blank",
        "tel:+1",
        "ftp://b.test/x",
        "java\nscript:x",
        "&#106;avascript:x",
    ];
    for value in values {
        check(html, &[(&format!("<a href=\"{value}\"><img src=\"{value}\">"), "")]);
    }
    check(
        html,
        &[
            ("<img data-src=/x data-href='http://b.test/'>", ""),
            ("<my-link href=/x src=/y action=/z background=/q><p title=/x>", ""),
            ("<meta property=og:url content=http://b.test/>", ""),
            ("<input value=/x><button name=/y>", ""),
            ("<!-- <a href=/x> --><!--[if IE]><a href=/x><![endif]-->", ""),
            ("<title><a href=/x></title><textarea><a href=/x></textarea><xmp><a href=/x></xmp>", ""),
            ("<script>\"<a href='/x'>\"</script>", ""),
            ("text /x http://b.test/ </a href=/x>", ""),
        ],
    );
}

#[test]
fn references_in_values_keep_their_meaning() {
    check(
        html,
        &[
            ("<a href='/x?a=1&amp;b=2&copy=3'>", "<a href='@/http://a.test/x?a=1&amp;b=2&copy=3'>"),
            ("<a href='&#47;x'>", "<a href='@/http://a.test/x'>"),
            ("<a href='&sol;x?a&amp;b'>", "<a href='@/http://a.test/x?a&amp;b'>"),
            ("<a href='http&colon;//b.test/x'>", "<a href='@/http://b.test/x'>"),
            ("<a href='/a&amp;b'>", "<a href='@/http://a.test/a&amp;b'>"),
            ("<a href='/&period;&period;/x'>", "<a href='@/http://a.test/x'>"),
            ("<a href=/&quot;x>", "<a href=@/http://a.test/%22x>"),
            ("<a href=\"/it's/../x'y\">", "<a href=\"@/http://a.test/x'y\">"),
            ("<a href=/a/../x'y>", "<a href=@/http://a.test/x&#39;y>"),
        ],
    );
}

#[test]
fn what_a_page_is_made_of_says_what_it_is() {
    check(
        html,
        &[
            ("<img src=x.png>", "<img src=@im_/http://a.test/dir/x.png>"),
            ("<img src=../x.png>", "<img src=@im_/http://a.test/x.png>"),
            ("<img src='x.png?a=1&amp;b'>", "<img src='@im_/http://a.test/dir/x.png?a=1&amp;b'>"),
            ("<img src=//b.test/x.png lowsrc=/y>", "<img src=@im_/http://b.test/x.png lowsrc=@im_/http://a.test/y>"),
            ("<img src=?x>", "<img src=@im_/http://a.test/dir/page.html?x>"),
            ("<input type=image src=/x>", "<input type=image src=@im_/http://a.test/x>"),
            ("<script src=x.js></script>", "<script src=@js_/http://a.test/dir/x.js></script>"),
            ("<iframe src=/x></iframe>", "<iframe src=@if_/http://a.test/x></iframe>"),
            ("<frameset><frame src=x>", "<frameset><frame src=@fr_/http://a.test/dir/x>"),
            ("<object data=/x codebase=/y/>", "<object data=@oe_/http://a.test/x codebase=@oe_/http://a.test/y/>"),
            ("<embed src=/x><bgsound src=/y>", "<embed src=@oe_/http://a.test/x><bgsound src=@oe_/http://a.test/y>"),
            ("<video src=/x poster=/y>", "<video src=@oe_/http://a.test/x poster=@im_/http://a.test/y>"),
            ("<audio src=/x><track src=/y>", "<audio src=@oe_/http://a.test/x><track src=@oe_/http://a.test/y>"),
            ("<source src=/x srcset='/y 2x'>", "<source src=@oe_/http://a.test/x srcset='@im_/http://a.test/y 2x'>"),
            (
                "<body background=/x><td background=y>",
                "<body background=@im_/http://a.test/x><td background=@im_/http://a.test/dir/y>",
            ),
            (
                "<form action=/x><button formaction=/y>",
                "<form action=@/http://a.test/x><button formaction=@/http://a.test/y>",
            ),
            ("<blockquote cite=/x><q cite=y>", "<blockquote cite=@/http://a.test/x><q cite=y>"),
            ("<head profile=/x>", "<head profile=@/http://a.test/x>"),
            ("<img longdesc=/x>", "<img longdesc=@/http://a.test/x>"),
            ("<noscript><img src=/x></noscript>", "<noscript><img src=@im_/http://a.test/x></noscript>"),
            ("<template><img src=/x></template>", "<template><img src=@im_/http://a.test/x></template>"),
        ],
    );
}

#[test]
fn drawings_within_pages_are_rewritten() {
    check(
        html,
        &[
            ("<svg><image xlink:href=/x></svg>", "<svg><image xlink:href=@im_/http://a.test/x></svg>"),
            ("<svg><use href='/s.svg#i'/></svg>", "<svg><use href='@im_/http://a.test/s.svg#i'/></svg>"),
            ("<svg><use xlink:href='#i'/></svg>", ""),
            ("<svg><feImage href=/x /></svg>", "<svg><feImage href=@im_/http://a.test/x /></svg>"),
            (
                "<svg><a xlink:href=/x><path fill='url(#a)'/></a></svg>",
                "<svg><a xlink:href=@/http://a.test/x><path fill='url(#a)'/></a></svg>",
            ),
            ("<svg><path fill='url(/x.svg#a)'/></svg>", "<svg><path fill='url(@im_/http://a.test/x.svg#a)'/></svg>"),
            ("<svg><script xlink:href=/x /></svg>", "<svg><script xlink:href=@js_/http://a.test/x /></svg>"),
            (
                "<svg><style>a{fill:url(/x)}</style></svg>",
                "<svg><style>a{fill:url(@im_/http://a.test/x)}</style></svg>",
            ),
            (
                "<svg><title><a href=/x></title></svg><a href=/y>",
                "<svg><title><a href=@/http://a.test/x></title></svg><a href=@/http://a.test/y>",
            ),
        ],
    );
}

#[test]
fn a_link_element_is_what_its_rel_says() {
    check(
        html,
        &[
            ("<link rel=stylesheet href=x.css>", "<link rel=stylesheet href=@cs_/http://a.test/dir/x.css>"),
            (
                "<link href=/x rel='Alternate StyleSheet'>",
                "<link href=@cs_/http://a.test/x rel='Alternate StyleSheet'>",
            ),
            ("<link rel='shortcut icon' href=/x>", "<link rel='shortcut icon' href=@im_/http://a.test/x>"),
            ("<link rel=preload as=font href=/x>", "<link rel=preload as=font href=@oe_/http://a.test/x>"),
            ("<link rel=preload as=script href=/x>", "<link rel=preload as=script href=@js_/http://a.test/x>"),
            ("<link rel=preload as=fetch href=/x>", "<link rel=preload as=fetch href=@oe_/http://a.test/x>"),
            ("<link rel=modulepreload href=x.js>", "<link rel=modulepreload href=@js_/http://a.test/dir/x.js>"),
            (
                "<link rel=manifest href=/x crossorigin=use-credentials>",
                "<link rel=manifest href=@oe_/http://a.test/x crossorigin=anonymous>",
            ),
            ("<link rel=canonical href=http://a.test/x>", "<link rel=canonical href=@/http://a.test/x>"),
            ("<link rel=next href=x>", ""),
            (
                "<link rel=preload as=image imagesrcset='/x 1x, y 2x'>",
                "<link rel=preload as=image imagesrcset='@im_/http://a.test/x 1x, @im_/http://a.test/dir/y 2x'>",
            ),
            ("<link rel=dns-prefetch href=//b.test>", "<link rel=dns-prefetch data-archived-href=//b.test>"),
            (
                "<link rel='preconnect' href='http://b.test/' crossorigin>",
                "<link rel='preconnect' data-archived-href='http://b.test/' crossorigin>",
            ),
            ("<link rel=prefetch href=/x>", "<link rel=prefetch data-archived-href=/x>"),
            ("<link rel=prerender href=/x>", "<link rel=prerender data-archived-href=/x>"),
        ],
    );
}

#[test]
fn what_would_break_or_tell_on_the_page_is_hidden() {
    check(
        html,
        &[
            (
                "<script integrity=sha256-x src=/x></script>",
                "<script data-archived-integrity=sha256-x src=@js_/http://a.test/x></script>",
            ),
            ("<script nonce=x crossorigin=anonymous></script>", ""),
            ("<img crossorigin='Use-Credentials'>", "<img crossorigin='anonymous'>"),
            ("<a href=x ping=http://b.test/>", "<a href=x data-archived-ping=http://b.test/>"),
            ("<html manifest=/x>", "<html data-archived-manifest=/x>"),
            ("<img referrerpolicy=no-referrer>", "<img data-archived-referrerpolicy=no-referrer>"),
            ("<iframe csp=x></iframe>", "<iframe data-archived-csp=x></iframe>"),
            ("<a attributionsrc=http://b.test/>", "<a data-archived-attributionsrc=http://b.test/>"),
            (
                "<meta http-equiv=Content-Security-Policy content='default-src x'>",
                "<meta data-archived-http-equiv=Content-Security-Policy content='default-src x'>",
            ),
            ("<meta content=never name=Referrer>", "<meta content=never data-archived-name=Referrer>"),
            ("<meta charset=utf-8><meta name=viewport content=x>", ""),
            ("<script type='speculationrules'>{}</script>", "<script type='archived-speculationrules'>{}</script>"),
            ("<a target=_top href=x>", "<a target=\"_self\" data-archived-target=_top href=x>"),
            ("<base target='_parent'>", "<base target=\"_self\" data-archived-target='_parent'>"),
            (
                "<form target=_TOP><input formtarget=_top>",
                "<form target=\"_self\" data-archived-target=_TOP><input formtarget=\"_self\" data-archived-formtarget=_top>",
            ),
            ("<a target=_blank><a target=side>", ""),
        ],
    );
}

#[test]
fn meta_refresh_leads_into_the_archive() {
    check(
        html,
        &[
            (
                "<meta http-equiv=refresh content='0;url=/x'>",
                "<meta http-equiv=refresh content='0; url=@/http://a.test/x'>",
            ),
            (
                "<meta http-equiv=Refresh content=\"5; URL='http://b.test/?a&amp;b'\">",
                "<meta http-equiv=Refresh content=\"5; url=@/http://b.test/?a&amp;b\">",
            ),
            (
                "<meta content=3,/x http-equiv=refresh>",
                "<meta content=3;&#32;url&#61;@/http://a.test/x http-equiv=refresh>",
            ),
            ("<meta http-equiv=refresh content='5'>", ""),
            ("<meta http-equiv=refresh content='5; url=x'>", ""),
            (
                "<noscript><meta http-equiv=refresh content='0;url=/x'></noscript>",
                "<noscript><meta http-equiv=refresh content='0; url=@/http://a.test/x'></noscript>",
            ),
        ],
    );
}

#[test]
fn a_base_is_rewritten_and_links_are_read_from_it() {
    check(
        html,
        &[
            (
                "<base href='http://b.test/c/d'><a href=x><a href=/y><img src=z>",
                "<base href='@/http://b.test/c/d'><a href=x><a href=@/http://b.test/y><img src=@im_/http://b.test/c/z>",
            ),
            (
                "<base href=/c/><a href=../x><a href=../../x>",
                "<base href=@/http://a.test/c/><a href=../x><a href=@/http://a.test/x>",
            ),
            (
                "<base href=/c/ target=_top>",
                "<base href=@/http://a.test/c/ target=\"_self\" data-archived-target=_top>",
            ),
            (
                "<a href=x><img src=y><base href=/c/>",
                "<a href=x><img src=@im_/http://a.test/dir/y><base href=@/http://a.test/c/>",
            ),
            (
                "<base href=/c/><base href=/d/><img src=x>",
                "<base href=@/http://a.test/c/><base href=@/http://a.test/d/><img src=@im_/http://a.test/c/x>",
            ),
            (
                "<base target=x><base href=/d/><img src=x>",
                "<base target=x><base href=@/http://a.test/d/><img src=@im_/http://a.test/d/x>",
            ),
            ("<base href=javascript:x><img src=y>", "<base href=javascript:x><img src=@im_/http://a.test/dir/y>"),
            (
                "<base href=//b.test><style>a{b:url(c)}</style>",
                "<base href=@/http://b.test/><style>a{b:url(@im_/http://b.test/c)}</style>",
            ),
        ],
    );
}

#[test]
fn srcsets_are_rewritten_address_by_address() {
    check(
        html,
        &[
            ("<img srcset='/x 1x,y.png 2x'>", "<img srcset='@im_/http://a.test/x 1x,@im_/http://a.test/dir/y.png 2x'>"),
            (
                "<img srcset=\"http://b.test/x?a=1&amp;b=2 320w , data:image/png;base64,AA== 2x\">",
                "<img srcset=\"@im_/http://b.test/x?a=1&amp;b=2 320w , data:image/png;base64,AA== 2x\">",
            ),
            ("<img srcset=/x>", "<img srcset=@im_/http://a.test/x>"),
            ("<img srcset='data:,'>", ""),
            ("<img srcset=''>", ""),
            ("<img srcset=' , ,'>", ""),
        ],
    );
}

#[test]
fn styles_within_pages_are_rewritten() {
    check(
        html,
        &[
            ("<p style=\"background:url(/x)\">", "<p style=\"background:url(@im_/http://a.test/x)\">"),
            ("<p style='background:url(\"x y\")'>", "<p style='background:url(\"@im_/http://a.test/dir/x y\")'>"),
            (
                "<p style=\"background:url(&quot;/x?a&amp;b&quot;)\">",
                "<p style=\"background:url(&quot;@im_/http://a.test/x?a&amp;b&quot;)\">",
            ),
            ("<p style=background:url(/x)>", "<p style=background:url(@im_/http://a.test/x)>"),
            ("<p style='color:red'>", ""),
            ("<p style='content:\"&amp;\"'>", ""),
            (
                "<style>@import '/x';a{b:url( /y )}</style>",
                "<style>@import '@cs_/http://a.test/x';a{b:url( @im_/http://a.test/y )}</style>",
            ),
            (
                "<style>@font-face{src:url(f.woff)}</style><a href=/x>",
                "<style>@font-face{src:url(@oe_/http://a.test/dir/f.woff)}</style><a href=@/http://a.test/x>",
            ),
            ("<style><!-- a{b:url(/x)} --></style>", "<style><!-- a{b:url(@im_/http://a.test/x)} --></style>"),
            ("<STYLE>a{b:url(/x", "<STYLE>a{b:url(@im_/http://a.test/x"),
        ],
    );
}

#[test]
fn modules_and_import_maps_within_pages_are_rewritten() {
    check(
        html,
        &[
            (
                "<script type=module>import a from '/a.js';import './b.js';import c from 'c'</script>",
                "<script type=module>import a from '@js_/http://a.test/a.js';import '@js_/http://a.test/dir/b.js';import c from 'c'</script>",
            ),
            ("<script>import('https://b.test/x.js')</script>", "<script>import('@js_/https://b.test/x.js')</script>"),
            ("<script type=application/ld+json>import '/x'</script>", ""),
            ("<script type=text/template><a href=/x>import '/x'</script>", ""),
            (
                "<script type=importmap>{\"imports\": {\"a\": \"/a.js\", \"/b/\": \"c/\", \"d\": \"./d.js\"}}</script>",
                "<script type=importmap>{\"imports\":{\"@js_/http://a.test/b/\":\"c/\",\"a\":\"@js_/http://a.test/a.js\",\"d\":\"@js_/http://a.test/dir/d.js\"}}</script>",
            ),
            (
                "<script type=importmap>{\"scopes\": {\"/s/\": {\"a\": \"//b.test/é\"}}, \"integrity\": {\"/a\": \"x\"}, \"y\": \"<\"}</script>",
                "<script type=importmap>{\"scopes\":{\"@js_/http://a.test/s/\":{\"a\":\"@js_/http://b.test/\\u00e9\"}},\"y\":\"\\u003c\"}</script>",
            ),
            ("<script type=importmap>{not json /x}</script>", ""),
            ("<script type=importmap>{\"imports\": {\"a\": \"/a.js\"", ""),
        ],
    );
}

#[test]
fn documents_in_attributes_are_rewritten_within() {
    check(
        html,
        &[
            (
                "<p><iframe srcdoc=\"<p><img src='/x'>\"></iframe>",
                "<p><iframe srcdoc=\"[script]&lt;p&gt;&lt;img src='@im_/http://a.test/x'&gt;\"></iframe>",
            ),
            (
                "<base href=/c/><iframe srcdoc='<a href=x><a href=/y>'></iframe>",
                "<base href=@/http://a.test/c/><iframe srcdoc='[script]&lt;a href=x&gt;&lt;a href=@/http://a.test/y&gt;'></iframe>",
            ),
            (
                "<p><iframe srcdoc='<iframe srcdoc=\"<img src=&amp;quot;/x&amp;quot;>\">'></iframe>",
                "<p><iframe srcdoc='[script]&lt;iframe srcdoc=\"[script]&amp;lt;img src=&amp;quot;@im_/http://a.test/x&amp;quot;&amp;gt;\"&gt;'></iframe>",
            ),
        ],
    );
}

#[test]
fn documents_in_xml_are_read_by_its_rules() {
    let xhtml = |body: &str| html_as("application/xhtml+xml", body);
    const SCRIPT: &str = "<script xmlns=\"http://www.w3.org/1999/xhtml\" src=\"/herodotus/replay.js\" \
        data-stamp=\"20260102030405\" data-url=\"http://a.test/dir/page.html\" data-mode=\"names\"></script>";
    let head = "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\">";
    assert_eq!(
        xhtml(&format!("{head}<head><script src=\"/x\"/><title/><a href=\"/y\"/></head></html>")),
        format!(
            "{head}<head>{SCRIPT}<script src=\"@js_/http://a.test/x\"/><title/><a href=\"@/http://a.test/y\"/></head></html>"
        )
    );
    assert_eq!(
        xhtml("<html><body><![CDATA[<a href='/x'>]]></body></html>"),
        format!("<html>{SCRIPT}<body><![CDATA[<a href='/x'>]]></body></html>")
    );
    let svg = |body: &str| html_as("image/svg+xml", body);
    assert_eq!(
        svg("<svg xmlns:xlink=\"x\"><image xlink:href=\"/x\"/></svg>"),
        format!("<svg xmlns:xlink=\"x\">{SCRIPT}<image xlink:href=\"@im_/http://a.test/x\"/></svg>")
    );
    assert_eq!(
        svg("<svg:svg xmlns:svg=\"y\"><svg:image href=\"/x\"/></svg:svg>"),
        format!("<svg:svg xmlns:svg=\"y\">{SCRIPT}<svg:image href=\"@im_/http://a.test/x\"/></svg:svg>")
    );
    assert_eq!(svg("<svg/>"), "<svg/>");
    assert_eq!(svg("<feed><link href=\"x\"/></feed>"), "<feed><link href=\"x\"/></feed>");
}
