//! The same tags as `lol_html` finds, a tokenizer that browsers' makers would know: on generated messy pages, and on
//! documentation of this machine if asked.

use super::{PAGE, url};
use crate::html_files::html_files;
use herodotus_page::{Document, PageReader, WebUrl};
use lol_html::{HtmlRewriter, Settings, element};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;

fn ours(page: &WebUrl, html: &[u8]) -> BTreeSet<String> {
    let mut reader = PageReader::new(page.clone(), Document::Html, Some("utf-8"));
    reader.push(html);
    reader.finish().links.iter().map(|link| link.url.to_string()).collect()
}

/// The values that `lol_html` finds, put into the plainest markup there is and read by us: so resolution is the same, and
/// only the cutting of tags is compared.
fn theirs(page: &WebUrl, html: &[u8]) -> BTreeSet<String> {
    let plain = RefCell::new(Vec::new());
    let settings = Settings::new().with_strict(false).append_element_content_handler(element!("*", |element| {
        let name = element.tag_name();
        for (elements, attribute) in
            [(&["a", "area"][..], "href"), (&["img", "script", "iframe", "video", "audio", "source"], "src")]
        {
            if elements.contains(&name.as_str())
                && let Some(value) = element.get_attribute(attribute)
            {
                let value = value.replace('"', "&quot;");
                plain.borrow_mut().push(format!("<a href=\"{value}\">"));
            }
        }
        Ok(())
    }));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    if rewriter.write(html).and_then(|()| rewriter.end()).is_err() {
        return BTreeSet::new();
    }
    ours(page, plain.into_inner().concat().as_bytes())
}

/// Without `base`, `style`, `link`, `srcset`: what these mean is tested elsewhere, and `lol_html` does not say.
const SCRAPS: &str = "(<a href=|<A title=y HREF=|<img src=|<script src=x>|<script>|</script>|</script |<title>|</title>|<textarea>|\
    </textarea>|<iframe src=|</iframe>|<xmp>|</xmp>|<!--|-->|--!>|--|<!\\[CDATA\\[|\\]\\]>|<p>|</p>|<div class='a>b'>|\
    '|\"|=|>|/>|/|<|</|!|\\?|x|y.html|\\.\\./z|&amp;|&#47;|é| |\n|\t|<b a=\"|<i =|<br/>|<noframes>|</noframes>){0,30}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn messy_pages_give_the_same_links(html in SCRAPS) {
        let page = url(PAGE);
        prop_assert_eq!(ours(&page, html.as_bytes()), theirs(&page, html.as_bytes()), "{}", html);
    }

    /// One drawing with one title: `lol_html` does not count how many are open.
    #[test]
    fn messy_drawings_give_the_same_links(before in SCRAPS, within in SCRAPS, after in SCRAPS) {
        prop_assume!(within.matches("<title").count() < 2);
        let page = url(PAGE);
        let html = format!("{before}<svg>{within}</svg>{after}");
        prop_assert_eq!(ours(&page, html.as_bytes()), theirs(&page, html.as_bytes()), "{}", html);
    }
}

/// `HTML_DIRECTORY=… cargo test -p herodotus-page --test behaviour links:: -- --ignored`
#[test]
#[ignore = "reads whatever HTML lies in HTML_DIRECTORY, else in /usr/share/doc"]
fn real_pages_give_the_same_links() {
    let (mut pages, mut links) = (0, 0);
    for path in html_files() {
        let page = url(&format!("http://docs.test{}", path.display()));
        let html = std::fs::read(&path).unwrap();
        let theirs = theirs(&page, &html);
        let ours = ours(&page, &html);
        let missing: Vec<_> = theirs.difference(&ours).collect();
        assert!(missing.is_empty(), "{}: {missing:?}", path.display());
        pages += 1;
        links += theirs.len();
    }
    println!("{pages} pages, {links} links");
}
