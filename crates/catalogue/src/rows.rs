//! The rows of the catalogue (docs/FORMAT.md). One table; the first byte of a key tells which kind of row it is.
//!
//! A posting's key has the number of words of its title and, downwards, the title's number behind the word: so the
//! postings of any word come shortest title first, and of these the newest first, and it can be told without reading
//! whether a title has another word.

use herodotus_base::Timestamp;
use herodotus_store::EntryKey;

/// The form of all rows. A catalogue of another is thrown away and made anew.
pub(crate) const FORM: u8 = 1;

pub(crate) const FORM_KEY: &[u8] = b"mform";
pub(crate) const CURSOR_KEY: &[u8] = b"mcursor";
/// The number of the next title.
pub(crate) const NEXT_KEY: &[u8] = b"mnext";

/// Titles of URLs by number.
pub(crate) fn title_key(number: u32) -> Vec<u8> {
    [b"t", &number.to_be_bytes()[..]].concat()
}

/// Which titles a URL has.
pub(crate) fn url_key(key: &str) -> Vec<u8> {
    [b"u", key.as_bytes()].concat()
}

pub(crate) fn encode_numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

pub(crate) fn decode_numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|number| u32::from_be_bytes(*number)).collect()
}

/// What stands behind the word in a posting's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Posting {
    /// Words of the title.
    pub(crate) words: u8,
    pub(crate) number: u32,
}

const POSTING_BYTES: usize = 5;

impl Posting {
    pub(crate) fn new(number: u32, words: usize) -> Self {
        Self { words: u8::try_from(words).unwrap_or(u8::MAX), number }
    }

    pub(crate) fn key(self, word: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(word.len() + 2 + POSTING_BYTES);
        key.push(b'w');
        key.extend_from_slice(word.as_bytes());
        key.push(0);
        key.push(self.words);
        key.extend_from_slice(&(u32::MAX - self.number).to_be_bytes());
        key
    }

    pub(crate) fn decode(key: &[u8]) -> Option<Self> {
        let (_, [words, number @ ..]) = key.split_last_chunk::<POSTING_BYTES>()?;
        Some(Self { words: *words, number: u32::MAX - u32::from_be_bytes(*number) })
    }
}

/// Where the postings of a word begin and end; with `is_prefix`, those of all words that begin with it.
pub(crate) fn posting_range(word: &str, is_prefix: bool) -> (Vec<u8>, Vec<u8>) {
    let mut from = [b"w", word.as_bytes()].concat();
    let mut to = from.clone();
    if is_prefix {
        // Behind every UTF-8.
        to.push(0xff);
    } else {
        from.push(0);
        to.push(1);
    }
    (from, to)
}

/// A title that a URL has or had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TitleRow {
    /// The newest capture that has it.
    pub(crate) id: EntryKey,
    pub(crate) url: String,
    pub(crate) title: String,
}

impl TitleRow {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.id.key.len() + self.url.len() + self.title.len() + 23);
        out.push(FORM);
        out.extend_from_slice(&self.id.time.to_sortable());
        out.extend_from_slice(&self.id.tag);
        for text in [&self.id.key, &self.url] {
            // Both are far shorter than this can say: `limits::KEY_BYTES_MAX`, and the store's URLs.
            out.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        out.extend_from_slice(self.title.as_bytes());
        out
    }

    /// `None`: these bytes are not what we write.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (form, rest) = bytes.split_first()?;
        (*form == FORM).then_some(())?;
        let (time, rest) = rest.split_first_chunk()?;
        let (tag, rest) = rest.split_first_chunk()?;
        let (key, rest) = take_text(rest)?;
        let (url, title) = take_text(rest)?;
        let id = EntryKey { key, time: Timestamp::from_sortable(*time)?, tag: *tag };
        Some(Self { id, url, title: std::str::from_utf8(title).ok()?.to_owned() })
    }
}

fn take_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
    Some((std::str::from_utf8(text).ok()?.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn postings_sort_shortest_title_first_then_newest() {
        let sorted = [Posting::new(9, 1), Posting::new(3, 1), Posting::new(7, 2), Posting::new(1, 300)];
        let keys: Vec<_> = sorted.iter().map(|posting| posting.key("word")).collect();
        assert!(keys.is_sorted());
        assert_eq!(Posting::decode(&keys[2]), Some(sorted[2]));
        let (from, to) = posting_range("word", false);
        assert!(keys.iter().all(|key| (from.clone()..to.clone()).contains(key)));
        assert!(!(from..to).contains(&sorted[0].key("words")));
        let (from, to) = posting_range("wor", true);
        assert!(
            (from.clone()..to.clone()).contains(&sorted[0].key("word")) && !(from..to).contains(&sorted[0].key("wosr"))
        );
    }

    proptest! {
        #[test]
        fn rows_come_back_and_no_bytes_panic(key: String, url: String, title: String, tag: [u8; 8], bytes: Vec<u8>) {
            let row = TitleRow { id: EntryKey { key, time: Timestamp::default(), tag }, url, title };
            prop_assert_eq!(TitleRow::decode(&row.encode()), Some(row));
            let _ = (TitleRow::decode(&bytes), Posting::decode(&bytes), decode_numbers(&bytes));
        }
    }
}
