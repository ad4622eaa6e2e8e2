//! `srcset`: addresses with what they are good for, cut as the HTML standard cuts them.

use std::ops::Range;

/// The addresses of a `srcset`, references decoded before.
pub(crate) fn candidates(srcset: &str) -> impl Iterator<Item = &str> {
    places(srcset).map(|place| &srcset[place])
}

/// Where in a `srcset` its addresses are.
pub(crate) fn places(srcset: &str) -> impl Iterator<Item = Range<usize>> {
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return None;
        }
        let start = srcset.len() - rest.len();
        let len = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (url, after) = rest.split_at(len);
        let trimmed = url.trim_end_matches(',');
        rest = if trimmed.len() < url.len() { after } else { &after[descriptor_len(after)..] };
        Some(start..start + trimmed.len())
    })
}

/// Up to the comma that is not in parentheses.
fn descriptor_len(text: &str) -> usize {
    let mut in_parentheses = false;
    text.bytes()
        .position(|byte| {
            match byte {
                b'(' => in_parentheses = true,
                b')' => in_parentheses = false,
                _ => {}
            }
            byte == b',' && !in_parentheses
        })
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_cut_as_browsers_cut_them() {
        for (srcset, expected) in [
            ("a.png", &["a.png"][..]),
            ("a.png 1x, b.png 2x", &["a.png", "b.png"]),
            (" , a.png\t320w ,b.png  640w,\nc.png", &["a.png", "b.png", "c.png"]),
            ("a.png, b.png,", &["a.png", "b.png"]),
            ("a,b.png 1x", &["a,b.png"]),
            ("data:image/png;base64,AAAA 1x, b.png", &["data:image/png;base64,AAAA", "b.png"]),
            ("a.png calc(1, 2) , b.png", &["a.png", "b.png"]),
            ("a.png (1, b.png", &["a.png"]),
            (" , ,", &[]),
            ("", &[]),
        ] {
            assert_eq!(candidates(srcset).collect::<Vec<_>>(), expected, "{srcset:?}");
        }
    }
}
