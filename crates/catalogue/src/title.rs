//! The title of an archived page, fit to be kept and shown.

use crate::limits::{TITLE_BYTES_MAX, TITLE_WITHIN_BYTES_MAX};
use crate::words::cut;
use herodotus_page::decode_text;

/// The title in a page's bytes. Signs that steer a terminal or turn the direction of writing are left out.
pub(crate) fn of_page(body: &[u8], content_type: Option<&str>) -> Option<String> {
    let mut start = body;
    if body.len() > TITLE_WITHIN_BYTES_MAX {
        // Between two tags, so that no character is cut: its encoding is yet to be found.
        let within = &body[..TITLE_WITHIN_BYTES_MAX];
        start = &within[..within.iter().rposition(|byte| *byte == b'<').unwrap_or(within.len())];
    }
    let title = herodotus_page::title(&decode_text(start, content_type))?;
    let shown: String = cut(&title, TITLE_BYTES_MAX * 2).chars().filter(|c| !steers(*c)).collect();
    let shown = cut(shown.trim(), TITLE_BYTES_MAX);
    (!shown.is_empty()).then(|| shown.to_owned())
}

fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_short_and_harmless() {
        let of = |html: &str| of_page(html.as_bytes(), Some("text/html; charset=utf-8"));
        assert_eq!(of("<title> A &amp; B\n</title>").as_deref(), Some("A & B"));
        assert_eq!(of("<title>\u{202e}cod.exe\u{0}\u{1b}[31m</title>").as_deref(), Some("cod.exe[31m"));
        assert_eq!(of("<title>\u{202e}</title>"), None);
        assert_eq!(of("<p>none</p>"), None);
        let long = |chars: usize| of(&format!("<title>{}</title>", "é".repeat(chars)));
        assert_eq!(long(100_000).unwrap().len(), TITLE_BYTES_MAX);
        assert_eq!(long(1 << 20), None, "no title is as long as a book");
        let late = |n: usize| format!("<style>{}</style><title>late</title>", "é".repeat(n));
        assert_eq!(of(&late(100_000)).as_deref(), Some("late"));
        assert_eq!(of(&late(200_000)), None);
    }

    #[test]
    fn a_long_page_is_cut_where_its_encoding_can_still_be_told() {
        let page = format!("<title>naïve</title>{}", "<p>é".repeat(200_000));
        for shift in 0..5 {
            assert_eq!(of_page(format!("{}{page}", " ".repeat(shift)).as_bytes(), None).as_deref(), Some("naïve"));
        }
    }
}
