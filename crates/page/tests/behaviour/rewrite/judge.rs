//! `lol_html`, a tokenizer that browsers' makers would know, as judge of messy pages: whatever it finds in the rewritten
//! page leads into the archive, so our tokenizer has missed no tag that a browser would see, and what it did not have to
//! change is as it was.

use super::{PAGE, STAMP, html_bytes, url};
use herodotus_page::{Document, PageReader};
use lol_html::{HtmlRewriter, Settings, element};
use proptest::prelude::*;
use std::cell::RefCell;

/// All attributes by element, in order, as `lol_html` finds them.
fn found(html: &[u8]) -> Vec<(String, Vec<(String, String)>)> {
    let found = RefCell::new(Vec::new());
    let settings = Settings::new().with_strict(false).append_element_content_handler(element!("*", |element| {
        let attributes = element.attributes().iter().map(|one| (one.name(), one.value())).collect();
        found.borrow_mut().push((element.tag_name(), attributes));
        Ok(())
    }));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    if rewriter.write(html).and_then(|()| rewriter.end()).is_err() {
        return Vec::new();
    }
    found.into_inner()
}

/// Without `base`, which moves all links, and without raw elements that only one of the two knows (`noscript`).
const SCRAPS: &str = "(<a href=|<A title=y HREF=|<img src=|<script src=x>|<script>|</script>|</script |<title>|</title>|<textarea>|\
    </textarea>|<iframe src=|</iframe>|<xmp>|</xmp>|<style>|</style>|<!--|-->|--!>|--|<!\\[CDATA\\[|\\]\\]>|<p>|</p>|\
    <div class='a>b'>|'|\"|=|>|/>|/|<|</|!|\\?|x|y.html|/z|http://b.test/|//c.test/|\\.\\./|&amp;|&#47;|é| |\n|\t|<b a=\"|<i =|\
    <br/>|target=_top|<head>|<html>){0,30}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nothing_of_messy_pages_leads_out_of_the_archive(html in SCRAPS) {
        let out = html_bytes(Some("text/html; charset=utf-8"), html.as_bytes());
        let (before, mut after) = (found(html.as_bytes()), found(&out));
        after.retain(|(_, attributes)| !attributes.iter().any(|(name, _)| name == "data-stamp"));
        prop_assert_eq!(before.len(), after.len(), "{}", html);
        let mut plain = String::new();
        for ((name, before), (name_after, after)) in before.iter().zip(&after) {
            prop_assert_eq!(name, name_after);
            let rest = |attributes: &[(String, String)]| -> Vec<_> {
                let ours = ["href", "src", "target", "data-archived-target"];
                attributes.iter().filter(|(name, _)| !ours.contains(&name.as_str())).cloned().collect()
            };
            prop_assert_eq!(rest(before), rest(after), "{}", html);
            let attribute = if ["a", "area"].contains(&name.as_str()) { "href" } else { "src" };
            if ["a", "area", "img", "script", "iframe"].contains(&name.as_str())
                && let Some((_, value)) = after.iter().find(|(name, _)| name == attribute)
            {
                plain.push_str(&format!("<a href=\"{}\">", value.replace('"', "&quot;")));
            }
        }
        let at = url(&format!("http://replay.test/web/{STAMP}/{PAGE}"));
        let mut reader = PageReader::new(at, Document::Html, Some("utf-8"));
        reader.push(plain.as_bytes());
        // Nobody can be at a host that is a dot.
        for link in reader.finish().links.iter().filter(|link| !matches!(link.url.host(), "." | "..")) {
            prop_assert!(link.url.as_str().starts_with("http://replay.test/web/20260102030405"), "{} {}", link.url, html);
        }
    }
}
