//! However a body is cut, the same is found; and no bytes panic.

use super::{PAGE, url};
use herodotus_page::{Document, Page, PageReader};
use proptest::prelude::*;

fn read(document: Document, pieces: &[&[u8]]) -> Page {
    let mut reader = PageReader::new(url(PAGE), document, None);
    pieces.iter().for_each(|piece| reader.push(piece));
    reader.finish()
}

fn document() -> impl Strategy<Value = Document> {
    prop::sample::select(vec![
        Document::Html,
        Document::Xhtml,
        Document::Css,
        Document::Sitemap,
        Document::Feed,
        Document::SitemapText,
        Document::Other,
    ])
}

/// Pieces of markup, style sheets and feeds, so mixed that most states are met.
const SCRAPS: &str = "(<a href=|<img src=|<link rel=next href=|<base href=|<script|</script|<style>|</style>|<title>|</title>|\
    <svg>|</svg>|<textarea>|</textarea>|<iframe src=|</iframe>|<!--|-->|--!>|<!\\[CDATA\\[|\\]\\]>|<urlset>|<loc>|</loc>|<rss>|\
    <link>|</link>|url\\(|\\)|@import |@font-face|\\{|\\}|/\\*|\\*/|\\\\|&amp;|&#47;|&|'|\"|=|>|/>|<|!|-|http://b.test/|\\.\\./|x|y|é|\
    \u{0}|\n| |style=|srcset=|srcdoc=|, |<plaintext>|<meta charset=koi8-r>|<noscript>|</|\\?|#){0,40}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_split_changes_nothing(text in SCRAPS, document in document(), broken: bool, cuts: [prop::sample::Index; 3]) {
        let mut bytes = text.into_bytes();
        if broken && !bytes.is_empty() {
            let at = cuts[0].index(bytes.len());
            bytes[at] = 0xe9;
        }
        let whole = read(document, &[&bytes]);
        let singles: Vec<_> = bytes.chunks(1).collect();
        prop_assert_eq!(&read(document, &singles), &whole);
        let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.sort_unstable();
        let pieces = [&bytes[..places[0]], &bytes[places[0]..places[1]], &bytes[places[1]..places[2]], &bytes[places[2]..]];
        prop_assert_eq!(&read(document, &pieces), &whole);
    }

    /// Beyond the first kilobyte pieces are read where they lie, not from what was held.
    #[test]
    fn a_split_changes_nothing_further_on(text in SCRAPS, document in document(), cut: prop::sample::Index) {
        let start = match document {
            Document::Sitemap | Document::Feed => format!("<urlset>{}", " ".repeat(1100)),
            _ => " ".repeat(1100),
        };
        let bytes = [start.as_bytes(), text.as_bytes()].concat();
        let whole = read(document, &[&bytes]);
        let (left, right) = bytes.split_at(start.len() + cut.index(text.len() + 1));
        prop_assert_eq!(&read(document, &[left, right]), &whole);
        let mut pieces = vec![start.as_bytes()];
        pieces.extend(text.as_bytes().chunks(1));
        prop_assert_eq!(&read(document, &pieces), &whole);
    }

    /// What the fuzzer does with any bytes, here with a few.
    #[test]
    fn no_bytes_do_harm(mut bytes: Vec<u8>, text in SCRAPS) {
        super::fuzz_body::run(&bytes);
        bytes.truncate(2);
        super::fuzz_body::run(&[&bytes, text.as_bytes()].concat());
    }
}
