//! What those who hold a place say while its owner does not answer for it: one that died a moment ago may have handed its last captures to only some of them.
//!
//! Promised: what any of them has is in the answer; that there is nothing is believed only if all of them were heard and one of them answers for the place.

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

fn says_something(reply: &Reply) -> bool {
    match reply {
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
}
