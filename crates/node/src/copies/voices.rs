//! What those who hold a place say while its owner does not answer for it: one that died a moment ago may have handed its last captures to only some of them.
//!
//! Promised: what any of them has is in the answer; that there is nothing is believed only if all of them were heard and one of them answers for the place, and nobody says that it is not sure.

use super::wire::Reply;

#[derive(Default, Debug)]
pub(super) struct Voices {
    replies: Vec<Reply>,
    /// Somebody to whom the place is entrusted was heard.
    is_sure: bool,
    has_missed: bool,
}

impl Voices {
    /// `is_sure`: whoever says it was entrusted with the place, and does not only happen to have some of it.
    pub(super) fn hear(&mut self, reply: Reply, is_sure: bool) {
        if let Reply::Unsure = reply {
            return self.miss();
        }
        self.replies.push(reply);
        self.is_sure |= is_sure;
    }

    /// Somebody who may have it said nothing.
    pub(super) fn miss(&mut self) {
        self.has_missed = true;
    }

    /// All that was said, if that can be believed.
    pub(super) fn verdict(self) -> Option<Vec<Reply>> {
        let is_found = self.replies.iter().any(says_something);
        (is_found || self.is_sure && !self.has_missed).then_some(self.replies)
    }
}

/// What was said at the places of one key, if anybody has something, or if those who have not are sure of it.
pub(super) fn together(mut replies: Vec<Reply>) -> Option<Vec<Reply>> {
    let all = replies.len();
    replies.retain(|reply| !matches!(reply, Reply::Unsure));
    (replies.len() == all || replies.iter().any(says_something)).then_some(replies)
}

pub(super) fn says_something(reply: &Reply) -> bool {
    match reply {
        Reply::Unsure => false,
        Reply::Entries(entries) => !entries.is_empty(),
        Reply::Count(count) => *count > 0,
        Reply::Titles(titles) => titles.iter().any(Option::is_some),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(counts: &[(u64, bool)], missed: usize) -> Option<u64> {
        let mut voices = Voices::default();
        counts.iter().for_each(|(count, is_sure)| voices.hear(Reply::Count(*count), *is_sure));
        (0..missed).for_each(|_| voices.miss());
        let count = |reply: &Reply| if let Reply::Count(count) = reply { *count } else { 0 };
        voices.verdict().map(|replies| replies.iter().map(count).max().unwrap_or(0))
    }

    #[test]
    fn one_who_lacks_it_does_not_speak_for_one_who_has_it() {
        assert_eq!(heard(&[(0, true), (0, true), (1, true)], 0), Some(1));
        assert_eq!(heard(&[(0, true), (1, false)], 2), Some(1), "it is enough that somebody has it");
    }

    #[test]
    fn that_there_is_nothing_takes_all_of_them() {
        assert_eq!(heard(&[(0, true), (0, false)], 0), Some(0));
        assert_eq!(heard(&[(0, true), (0, true)], 1), None, "the one that was missed may have it");
        assert_eq!(heard(&[(0, false), (0, false)], 0), None, "nobody was entrusted with it");
        assert_eq!(heard(&[], 0), None);
    }

    #[test]
    fn one_who_is_not_sure_says_neither_that_there_is_nothing_nor_anything_against_one_who_has_it() {
        let mut voices = Voices::default();
        voices.hear(Reply::Count(0), true);
        voices.hear(Reply::Unsure, true);
        assert!(voices.verdict().is_none());
        let counts = |replies: Vec<Reply>| together(replies).map(|replies| replies.len());
        assert_eq!(counts(vec![Reply::Count(0), Reply::Unsure]), None, "it may be where nobody is sure");
        assert_eq!(counts(vec![Reply::Count(1), Reply::Unsure]), Some(1));
        assert_eq!(counts(vec![Reply::Count(0), Reply::Count(0)]), Some(2));
    }
}
