//! Stretches of the ring's index that were seen a moment ago.
//!
//! One page asks for the same URL in many ways: the version at a moment, the ones around it, how many there are. Each answer from
//! afar is kept for a moment as a *window*: from one key to another, these are all entries that there are. Whoever asks for what
//! lies in a window is not sent over the network. Bounded in bytes, number and age; losing one costs a question.

use super::limits::{WINDOW_TIME, WINDOWS_BYTES_MAX, WINDOWS_MAX};
use herodotus_store::{Entry, EntryKey};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// All entries of a range, as far as somebody else knew a moment ago.
#[derive(Debug)]
struct Window {
    from: Vec<u8>,
    to: Vec<u8>,
    /// In order, with their encoded keys.
    entries: Vec<(Vec<u8>, Entry)>,
    bytes: usize,
    made: Instant,
}

/// A range of encoded keys.
pub(super) type Range = (Vec<u8>, Vec<u8>);

/// The first part of an answer, in the order asked for, and the range that is still to be asked for.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) entries: Vec<Entry>,
    pub(super) rest: Option<Range>,
}

#[derive(Debug, Default)]
pub(super) struct Windows(Mutex<VecDeque<Arc<Window>>>);

impl Windows {
    /// Remembers that these, in order, are all entries of a range.
    pub(super) fn put(&self, from: &[u8], to: &[u8], entries: Vec<Entry>) {
        let entries: Vec<_> = entries.into_iter().map(|entry| (entry.id.encode(), entry)).collect();
        let weight = |(key, entry): &(Vec<u8>, Entry)| 2 * key.len() + entry.url.len() + entry.media.len() + 256;
        let bytes = entries.iter().map(weight).sum::<usize>() + from.len() + to.len();
        if bytes > WINDOWS_BYTES_MAX / 4 || from >= to {
            return;
        }
        let window = Window { from: from.to_vec(), to: to.to_vec(), entries, bytes, made: Instant::now() };
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What it says is newer than what others say of the same.
        windows.retain(|old| old.made.elapsed() < WINDOW_TIME && !(window.from <= old.from && old.to <= window.to));
        windows.push_front(Arc::new(window));
        while windows.len() > WINDOWS_MAX || windows.iter().map(|w| w.bytes).sum::<usize>() > WINDOWS_BYTES_MAX {
            windows.pop_back();
        }
    }

    /// A window that fits, the newest first.
    fn find(&self, fits: impl Fn(&Window) -> bool) -> Option<Arc<Window>> {
        let windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        windows.iter().find(|window| window.made.elapsed() < WINDOW_TIME && fits(window)).cloned()
    }

    /// As much of a range, from the end where it begins, as one window shows.
    pub(super) fn part(&self, from: &[u8], to: &[u8], backwards: bool) -> Option<Part> {
        if from >= to {
            return Some(Part::default());
        }
        let window = self.find(|window| match backwards {
            false => *window.from <= *from && *from < *window.to,
            true => *window.from < *to && *to <= *window.to,
        })?;
        let (first, last) = (from.max(&window.from), to.min(&window.to));
        let start = window.entries.partition_point(|(key, _)| **key < *first);
        let end = window.entries.partition_point(|(key, _)| **key < *last);
        let mut entries: Vec<Entry> =
            window.entries.get(start..end).unwrap_or_default().iter().map(|(_, entry)| entry.clone()).collect();
        let rest = match backwards {
            false => (last < to).then(|| (last.to_vec(), to.to_vec())),
            true => (from < first).then(|| (from.to_vec(), first.to_vec())),
        };
        if backwards {
            entries.reverse();
        }
        Some(Part { entries, rest })
    }

    /// Whether one window shows all of a range.
    pub(super) fn has_all(&self, from: &[u8], to: &[u8]) -> bool {
        self.find(|window| *window.from <= *from && *to <= *window.to).is_some()
    }

    /// What was said of a capture, if anything was.
    pub(super) fn entry(&self, id: &EntryKey) -> Option<Entry> {
        let key = id.encode();
        let has = |window: &Window| window.entries.binary_search_by(|(other, _)| other.cmp(&key)).ok();
        let window = self.find(|window| has(window).is_some())?;
        has(&window).and_then(|at| window.entries.get(at)).map(|(_, entry)| entry.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use herodotus_base::{Sha1, Timestamp};
    use herodotus_store::Kind;

    fn entry(key: &str, at: i64) -> Entry {
        let id = EntryKey { key: key.into(), time: Timestamp::from_millis(at).unwrap(), tag: [0; 8] };
        let (url, media) = (format!("http://{key}"), "text/html".to_owned());
        let sha1 = Sha1::of(b"");
        Entry {
            id,
            kind: Kind::Response,
            url,
            status: Some(200),
            media,
            sha1,
            len: 0,
            bytes_in: 0,
            depth: 0,
            truncated: false,
            shared: false,
            in_file: false,
            removed: false,
            released: false,
            place: None,
            mended: None,
        }
    }

    fn keys(part: &Part) -> Vec<&str> {
        part.entries.iter().map(|entry| entry.id.key.as_str()).collect()
    }

    #[test]
    fn a_window_gives_what_it_shows_from_either_end_and_says_what_is_left() {
        let windows = Windows::default();
        windows.put(b"b", b"e", vec![entry("b", 1), entry("c", 1), entry("d", 1)]);
        let part = windows.part(b"b", b"d", false).unwrap();
        assert_eq!((keys(&part), part.rest.clone()), (vec!["b", "c"], None));
        let part = windows.part(b"c", b"x", false).unwrap();
        assert_eq!((keys(&part), part.rest.clone()), (vec!["c", "d"], Some((b"e".to_vec(), b"x".to_vec()))));
        let part = windows.part(b"a", b"d", true).unwrap();
        assert_eq!((keys(&part), part.rest.clone()), (vec!["c", "b"], Some((b"a".to_vec(), b"b".to_vec()))));
        // It begins where no window is.
        assert!(windows.part(b"a", b"d", false).is_none() && windows.part(b"c", b"f", true).is_none());
        assert!(windows.has_all(b"b", b"e") && !windows.has_all(b"b", b"f"));
        // Nothing at all is in no need of a window.
        assert_eq!(keys(&windows.part(b"x", b"x", false).unwrap()), Vec::<&str>::new());
    }

    #[test]
    fn what_is_newer_counts_and_too_much_is_forgotten() {
        let windows = Windows::default();
        windows.put(b"a", b"z", vec![entry("b", 1)]);
        windows.put(b"a", b"z", vec![entry("b", 1), entry("c", 1)]);
        assert_eq!(keys(&windows.part(b"a", b"z", false).unwrap()), ["b", "c"]);
        for n in 0..WINDOWS_MAX {
            let (from, to) = (format!("k{n:05}"), format!("k{n:05}~"));
            windows.put(from.as_bytes(), to.as_bytes(), Vec::new());
        }
        assert!(windows.part(b"a", b"b", false).is_none(), "the oldest is gone");
        let long = "k".repeat(WINDOWS_BYTES_MAX / 8);
        windows.put(b"k", b"l", vec![entry(&long, 1), entry(&long, 2)]);
        assert!(windows.part(b"k", b"k1", false).is_none(), "one that is too large is not kept");
    }

    #[test]
    fn a_capture_is_found_in_whichever_window_shows_it() {
        let windows = Windows::default();
        windows.put(b"a", b"c", vec![entry("b", 1), entry("b", 2)]);
        assert_eq!(windows.entry(&entry("b", 2).id), Some(entry("b", 2)));
        assert_eq!(windows.entry(&entry("b", 3).id), None);
    }
}
