//! Pages made to hurt: each is read in bounded memory, and what was not kept is counted.

use super::{PAGE, links, read_as, shown, url};
use herodotus_base::limits::URL_BYTES_MAX;
use herodotus_page::limits::{LINK_BYTES_PER_PAGE_MAX, LINKS_PER_PAGE_MAX, TAG_BYTES_MAX};
use herodotus_page::{Document, Page, PageReader};

fn read_pieces(document: Document, pieces: impl IntoIterator<Item = Vec<u8>>) -> Page {
    let mut reader = PageReader::new(url(PAGE), document, None);
    pieces.into_iter().for_each(|piece| reader.push(&piece));
    reader.finish()
}

#[test]
fn a_million_links_are_kept_to_the_bound_and_counted() {
    let page = read_pieces(Document::Html, (0..1_000_000).map(|at| format!("<a href=/{at}>").into_bytes()));
    assert_eq!(page.links.len(), LINKS_PER_PAGE_MAX);
    assert_eq!(page.links_dropped, (1_000_000 - LINKS_PER_PAGE_MAX) as u64);
    let same = read_pieces(Document::Html, (0..100_000).map(|_| b"<a href=/x>".to_vec()));
    assert_eq!((same.links.len(), same.links_dropped), (1, 0));
}

#[test]
fn long_links_are_dropped_and_their_sum_is_bounded() {
    let long = |len: usize| format!("<a href='/{}'>", "a".repeat(len));
    let page = read_as(Document::Html, None, (long(URL_BYTES_MAX) + &long(1_000_000) + "<a href=x>").as_bytes());
    assert_eq!((shown(&page).join(", ").as_str(), page.links_dropped), ("Page /dir/x", 2));
    // What is too long only once it is put together.
    let page = read_as(Document::Html, None, format!("<a href='{}'>", "a".repeat(URL_BYTES_MAX - 4)).as_bytes());
    assert_eq!((page.links.len(), page.links_dropped), (0, 1));
    let each = 30_000;
    let page =
        read_pieces(Document::Html, (0..1_000).map(|at| format!("<a href='/{at}{}'>", "a".repeat(each)).into_bytes()));
    assert!(page.links.len() <= LINK_BYTES_PER_PAGE_MAX / each);
    assert_eq!(page.links.len() as u64 + page.links_dropped, 1_000);
}

#[test]
fn pictures_within_the_page_are_no_links_however_long() {
    for len in [100, URL_BYTES_MAX + 1, TAG_BYTES_MAX / 2] {
        let page =
            read_as(Document::Html, None, format!("<img src='data:image/png;base64,{}'>", "A".repeat(len)).as_bytes());
        assert_eq!((page.links.len(), page.not_web, page.links_dropped), (0, 1, 0), "{len}");
    }
    let css = format!("a{{b:url(data:font/woff;base64,{})}} c{{d:url(e)}}", "A".repeat(1_000_000));
    let page = read_as(Document::Css, None, css.as_bytes());
    assert_eq!((shown(&page).join(", ").as_str(), page.not_web), ("Image /dir/e", 1));
}

#[test]
fn nesting_costs_nothing() {
    let deep = "<div><svg><foreignObject>".repeat(100_000) + "<a href=x>" + &"</div>".repeat(100_000);
    assert_eq!(links(&deep), ["Page /dir/x"]);
    let quotes = "<q a='".repeat(100_000) + "'><a href=x>";
    assert_eq!(links(&quotes), ["Page /dir/x"]);
}

#[test]
fn a_tag_without_end_is_skipped_and_what_it_opens_is_known() {
    let long = "x ".repeat(TAG_BYTES_MAX);
    assert_eq!(links(&format!("<a href=y {long}><a href=x>")), ["Page /dir/x"]);
    assert_eq!(links(&format!("<script {long}>'<a href=y>'</script><a href=x>")), ["Page /dir/x"]);
    assert_eq!(links(&format!("<{}><a href=x>", "a".repeat(2 * TAG_BYTES_MAX))), ["Page /dir/x"]);
    assert_eq!(links(&format!("<a href=y><a href='{long}")), ["Page /dir/y"]);
    let page = read_as(Document::Html, None, format!("<a href=y {long}><p {long}>").as_bytes());
    assert_eq!(page.links_dropped, 1, "a tag that could hold a link");
}

#[test]
fn endless_tags_comments_and_scripts_come_in_single_bytes() {
    for start in ["<a href='", "<!-- ", "<script>", "<title>", "<style>a{b:url(", "<svg><![CDATA[", "</a ", "<?", "&"] {
        let bytes = start.bytes().chain(std::iter::repeat_n(b"->]<".as_slice(), 200_000).flatten().copied());
        let page = read_pieces(Document::Html, bytes.map(|byte| vec![byte]));
        assert!(page.links.len() <= 1, "{start} {:?}", page.links.len());
    }
}

#[test]
fn bombs_of_xml_are_scanned_as_text() {
    let bomb = "<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]>\
                <urlset><url><loc>http://a.test/&b;&b;</loc></url></urlset>";
    assert_eq!(shown(&read_as(Document::Sitemap, None, bomb.as_bytes())), ["Page /&b;&b;"]);
    let long = format!("<urlset><loc>/{}</loc><loc>/x</loc>", "a".repeat(1_000_000));
    let page = read_as(Document::Sitemap, None, long.as_bytes());
    assert_eq!((shown(&page).join(", ").as_str(), page.links_dropped), ("Page /x", 1));
    let lines = format!("http://a.test/{}\nhttp://a.test/x", "a".repeat(1_000_000));
    let page = read_as(Document::SitemapText, None, lines.as_bytes());
    assert_eq!((shown(&page).join(", ").as_str(), page.links_dropped), ("Page /x", 1));
}

#[test]
fn documents_within_attributes_do_not_nest_without_end() {
    let mut html = "<a href=deep>".to_owned();
    for _ in 0..12 {
        html = format!("<iframe srcdoc=\"{}\"></iframe>", html.replace('&', "&amp;").replace('"', "&quot;"));
    }
    assert_eq!(links(&(html + "<a href=x>")), ["Page /dir/x"]);
}
