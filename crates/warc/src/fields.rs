//! The named fields of a record's header, in the order of the file.
//!
//! They are one text and where each name and value ends in it: a header of a dozen fields is two pieces of memory, not two dozen. Millions of
//! them are read in an import, and every one of a capture that is read or proved.

use std::borrow::Cow;
use std::fmt;

#[derive(Clone, PartialEq, Eq, Default)]
pub struct Fields {
    /// Name, value, name, value.
    text: String,
    ends: Vec<Ends>,
}

/// Where a name ends, and the value behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ends {
    name: usize,
    value: usize,
}

impl Fields {
    pub fn with_capacity(fields: usize, bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), ends: Vec::with_capacity(fields) }
    }

    pub fn push(&mut self, name: &str, value: &str) {
        self.text.push_str(name);
        let name = self.text.len();
        self.text.push_str(value);
        self.ends.push(Ends { name, value: self.text.len() });
    }

    /// Adds a field as it stands in a file: UTF-8 where it is, Latin-1 where it is not.
    pub(crate) fn push_bytes(&mut self, name: &[u8], value: &[u8]) {
        self.push(&text_of(name), &text_of(value));
    }

    /// Names as written, values unfolded and trimmed.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut from = 0;
        self.ends.iter().map(move |ends| {
            let field = (&self.text[from..ends.name], &self.text[ends.name..ends.value]);
            from = ends.value;
            field
        })
    }

    /// The first of that name, in any case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Gives the first field of that name another value, or adds one at the end.
    pub fn set(&mut self, name: &str, value: &str) {
        let mut is_set = false;
        let mut all = Self::with_capacity(self.len() + 1, self.text.len() + name.len() + value.len());
        for (n, v) in self.iter() {
            let is_it = !is_set && n.eq_ignore_ascii_case(name);
            is_set |= is_it;
            all.push(n, if is_it { value } else { v });
        }
        if !is_set {
            all.push(name, value);
        }
        *self = all;
    }

    /// Keeps the fields that are as they should be. Most often that is all of them.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&str, &str) -> bool) {
        if !self.iter().all(|(name, value)| is_kept(name, value)) {
            *self = self.iter().filter(|(name, value)| is_kept(name, value)).collect();
        }
    }
}

impl<N: AsRef<str>, V: AsRef<str>> Extend<(N, V)> for Fields {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, fields: I) {
        fields.into_iter().for_each(|(name, value)| self.push(name.as_ref(), value.as_ref()));
    }
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Fields {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Self {
        let mut all = Self::default();
        all.extend(fields);
        all
    }
}

impl<N: AsRef<str>, V: AsRef<str>, const COUNT: usize> From<[(N, V); COUNT]> for Fields {
    fn from(fields: [(N, V); COUNT]) -> Self {
        fields.into_iter().collect()
    }
}

impl<N: AsRef<str>, V: AsRef<str>> From<Vec<(N, V)>> for Fields {
    fn from(fields: Vec<(N, V)>) -> Self {
        fields.into_iter().collect()
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// UTF-8 where it is, Latin-1 where it is not: each byte the character of the same number, as warcio does.
pub(crate) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|b| char::from(*b)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_changed_and_dropped_in_their_order() {
        let mut fields = Fields::from([("A", "1"), ("", "2"), ("b", ""), ("B", "3")]);
        assert_eq!(fields.iter().collect::<Vec<_>>(), [("A", "1"), ("", "2"), ("b", ""), ("B", "3")]);
        assert_eq!((fields.get("a"), fields.get("B"), fields.get("c")), (Some("1"), Some(""), None));
        fields.set("B", "4");
        fields.set("C", "5");
        assert_eq!(fields.iter().collect::<Vec<_>>(), [("A", "1"), ("", "2"), ("b", "4"), ("B", "3"), ("C", "5")]);
        fields.retain(|name, value| !name.is_empty() && value != "3");
        assert_eq!(fields, Fields::from([("A", "1"), ("b", "4"), ("C", "5")]));
        assert_eq!((fields.len(), fields.is_empty()), (3, false));
        // What is one field is not two that read alike.
        assert_ne!(Fields::from([("ab", "c")]), Fields::from([("a", "bc")]));
    }
}
