//! What was sent together has a number, its mark; the marks of which some links are still here say up to where everything has arrived.
//!
//! Only links that were found here have one: nobody here waits for those that are passed on. Numbers grow, across deaths too. Of earlier lives it is only known how many
//! marked links there are: they count as one mark. With too many open ones those who come
//! share the last, and learn a little later that theirs have arrived.

use crate::limits;
use crate::prospect::CrawlId;
use std::collections::BTreeMap;

/// Nobody waits for it.
pub(super) const UNMARKED: u64 = 0;

#[derive(Debug)]
pub(super) struct Marks {
    /// That of earlier lives.
    first: u64,
    /// That of what comes now.
    now: u64,
    /// Somebody was told the one of now: who comes later gets another, as soon as there may be one.
    is_told: bool,
    /// Links that are here.
    open: BTreeMap<u64, u64>,
}

impl Marks {
    pub(super) fn new(first: u64) -> Self {
        Self { first, now: first + 1, is_told: false, open: BTreeMap::new() }
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn add(&mut self, mark: u64, more: i64) {
        let mark = mark.max(self.first);
        let open = self.open.entry(mark).or_default();
        *open = open.saturating_add_signed(more);
        if *open == 0 {
            self.open.remove(&mark);
        }
        self.go_on();
    }

    /// The mark of everything that has come so far.
    pub(super) fn tell(&mut self) -> u64 {
        if !self.open.contains_key(&self.now) {
            return self.now - 1;
        }
        let told = self.now;
        self.is_told = true;
        self.go_on();
        told
    }

    fn go_on(&mut self) {
        if self.is_told && self.open.len() < limits::MARKS_MAX {
            (self.now, self.is_told) = (self.now + 1, false);
        }
    }

    /// Everything up to this mark is gone.
    pub(super) fn gone(&self) -> u64 {
        self.open.keys().next().map_or(self.now, |first| *first) - 1
    }

    /// All links that have one.
    pub(super) fn links(&self) -> u64 {
        self.open.values().sum()
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn clear(&mut self) {
        self.open.clear();
    }
}

/// By how much counts change with a write.
#[derive(Debug, Default)]
pub(super) struct Shift {
    pub(super) crawls: BTreeMap<CrawlId, i64>,
    pub(super) marks: BTreeMap<u64, i64>,
}

impl Shift {
    pub(super) fn add(&mut self, crawl: CrawlId, mark: u64, more: i64) {
        *self.crawls.entry(crawl).or_default() += more;
        self.add_mark(mark, more);
    }

    pub(super) fn add_mark(&mut self, mark: u64, more: i64) {
        if mark != UNMARKED {
            *self.marks.entry(mark).or_default() += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_marks_are_shared_and_all_are_gone_in_the_end() {
        let mut marks = Marks::new(7 << 32);
        marks.add(3, 2);
        assert_eq!((marks.tell(), marks.gone()), (7 << 32, (7 << 32) - 1), "of an earlier life");
        marks.add(3, -2);
        assert_eq!(marks.gone(), 7 << 32);
        let told: Vec<u64> = (0..limits::MARKS_MAX + 10)
            .map(|_| {
                marks.add(marks.now(), 1);
                marks.tell()
            })
            .collect();
        assert_eq!(marks.len(), limits::MARKS_MAX);
        assert_eq!(told[limits::MARKS_MAX - 1], told[limits::MARKS_MAX + 9]);
        for mark in &told {
            assert!(marks.gone() < *mark);
            marks.add(*mark, -1);
        }
        assert_eq!((marks.gone(), marks.len()), (*told.last().unwrap(), 0));
    }
}
