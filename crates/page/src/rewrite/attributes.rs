//! The attributes of a whole start tag with their places, by the states of the HTML standard's tokenizer.

use crate::links::tag::{find_near, is_space, name_end};

/// One attribute; places are in the tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    pub(super) name: (usize, usize),
    /// Without quotes; empty if there is none.
    pub(super) value: (usize, usize),
    pub(super) quote: Option<u8>,
}

impl Attribute {
    pub(super) fn name<'a>(&self, tag: &'a [u8]) -> &'a [u8] {
        tag.get(self.name.0..self.name.1).unwrap_or_default()
    }

    pub(super) fn value<'a>(&self, tag: &'a [u8]) -> &'a [u8] {
        tag.get(self.value.0..self.value.1).unwrap_or_default()
    }
}

/// Fills `found` with the attributes of a tag whose name ends at `start`.
#[inline]
pub(super) fn attributes_of(tag: &[u8], start: usize, found: &mut Vec<Attribute>) {
    found.clear();
    let mut at = start;
    while let Some(&byte) = tag.get(at) {
        if byte == b'>' {
            return;
        }
        if byte == b'/' || is_space(byte) {
            at += 1;
            continue;
        }
        let start = at;
        // The first character belongs to the name, even if it is `=`.
        at = name_end(tag, at + 1).unwrap_or(tag.len());
        let name = (start, at);
        let mut next = at;
        while tag.get(next).is_some_and(|&byte| is_space(byte)) {
            next += 1;
        }
        let mut attribute = Attribute { name, value: (at, at), quote: None };
        if tag.get(next) == Some(&b'=') {
            at = next + 1;
            while tag.get(at).is_some_and(|&byte| is_space(byte)) {
                at += 1;
            }
            match tag.get(at) {
                Some(&quote @ (b'"' | b'\'')) => {
                    let start = at + 1;
                    let rest = tag.get(start..).unwrap_or_default();
                    let end = start + find_near(quote, rest).unwrap_or(rest.len());
                    attribute.value = (start, end);
                    attribute.quote = Some(quote);
                    at = end + 1;
                }
                _ => {
                    let start = at;
                    while tag.get(at).is_some_and(|&byte| !(is_space(byte) || byte == b'>')) {
                        at += 1;
                    }
                    attribute.value = (start, at);
                }
            }
        }
        found.push(attribute);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_cut_as_browsers_cut_them() {
        for (tag, expected) in [
            ("<a>", ""),
            ("<a/>", ""),
            ("<a b>", "b="),
            ("<a b=c d='e\"f' g=\"h>i\" j>", "b=c|d=e\"f|g=h>i|j="),
            ("<a\tb\n=\r'c'd=e/>", "b=c|d=e/"),
            ("<a b=>", "b="),
            ("<a b= >", "b="),
            ("<a =b=c>", "=b=c"),
            ("<a b/c=d>", "b=|c=d"),
            ("<a b='c'/d>", "b=c|d="),
            ("<a b=\"c\"'d'>", "b=c|'d'="),
        ] {
            let mut found = Vec::new();
            attributes_of(tag.as_bytes(), 2, &mut found);
            let text = |bytes| str::from_utf8(bytes).unwrap();
            let shown: Vec<_> = found
                .iter()
                .map(|one| format!("{}={}", text(one.name(tag.as_bytes())), text(one.value(tag.as_bytes()))))
                .collect();
            assert_eq!(shown.join("|"), expected, "{tag}");
        }
    }
}
