//! Entries in order: those of this machine and those of the others, as one sequence in which each stands once.
//!
//! From afar they come a page at a time, when somebody wants the next: whoever takes the first has asked for little more. Of an
//! entry that is on both sides this machine's counts. What was taken out here is not shown, whoever still has it.

use super::afar::Afar;
use super::limits::WALK_KEPT_MAX;
use super::windows::Range;
use crate::answer::Trouble;
use herodotus_store::{Entry, Scan, Store};
use std::cmp::Ordering;

#[allow(missing_debug_implementations)]
pub(crate) struct Entries<'a> {
    here: Scan<'a>,
    /// `None`: what is here is all there is.
    others: Option<Box<Others<'a>>>,
}

/// The part of a sequence that lies elsewhere.
pub(super) struct Others<'a> {
    pub(super) walk: Walk<'a>,
    backwards: bool,
    /// The next of each side, where it is known.
    next_here: Option<Entry>,
    next_afar: Option<Entry>,
    is_over: bool,
}

impl<'a> Entries<'a> {
    pub(super) fn here(here: Scan<'a>) -> Self {
        Self { here, others: None }
    }

    pub(super) fn with(here: Scan<'a>, walk: Walk<'a>) -> Self {
        let backwards = walk.backwards;
        let others = Others { walk, backwards, next_here: None, next_afar: None, is_over: false };
        Self { here, others: Some(Box::new(others)) }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry, Trouble>;

    fn next(&mut self) -> Option<Result<Entry, Trouble>> {
        match &mut self.others {
            None => self.here.next().map(|entry| entry.map_err(Trouble::from)),
            Some(others) => others.next(&mut self.here),
        }
    }
}

impl Others<'_> {
    fn next(&mut self, here: &mut Scan<'_>) -> Option<Result<Entry, Trouble>> {
        if self.is_over {
            return None;
        }
        match self.next_of_both(here) {
            Ok(Some(entry)) => Some(Ok(entry)),
            // A sequence with a hole in it is none.
            other => {
                self.is_over = true;
                other.transpose()
            }
        }
    }

    fn next_of_both(&mut self, here: &mut Scan<'_>) -> Result<Option<Entry>, Trouble> {
        if self.next_here.is_none() {
            self.next_here = here.next().transpose()?;
        }
        if self.next_afar.is_none() {
            self.next_afar = self.walk.next()?;
        }
        let order = match (&self.next_here, &self.next_afar) {
            (_, None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) if self.backwards => b.id.cmp(&a.id),
            (Some(a), Some(b)) => a.id.cmp(&b.id),
        };
        if order == Ordering::Equal {
            self.next_afar = None;
        }
        Ok(if order == Ordering::Greater { self.next_afar.take() } else { self.next_here.take() })
    }
}

/// A way through a range of the others' entries.
pub(super) struct Walk<'a> {
    pub(super) afar: &'a Afar,
    pub(super) store: &'a Store,
    /// Whether the network may be waited for.
    pub(super) may_wait: bool,
    /// The one key that the range is of.
    pub(super) key: Option<String>,
    /// What is still to be asked for.
    pub(super) rest: Option<Range>,
    pub(super) backwards: bool,
    /// Pages and entries that came so far.
    pages: u32,
    seen: usize,
    page: std::vec::IntoIter<Entry>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(afar: &'a Afar, store: &'a Store, may_wait: bool, range: Range, backwards: bool) -> Self {
        let page = Vec::new().into_iter();
        Self { afar, store, may_wait, key: None, rest: Some(range), backwards, pages: 0, seen: 0, page }
    }

    /// The same within one key.
    pub(super) fn of_key(self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self }
    }

    pub(super) fn next(&mut self) -> Result<Option<Entry>, Trouble> {
        loop {
            for entry in self.page.by_ref() {
                if !self.store.is_removed(&entry.id)? {
                    return Ok(Some(entry));
                }
            }
            let Some((from, to)) = self.rest.take() else { return Ok(None) };
            let is_kept = self.seen < WALK_KEPT_MAX;
            let key = self.key.as_deref();
            let part = self.afar.part((&from, &to), self.backwards, key, self.pages, self.may_wait, is_kept)?;
            self.pages += 1;
            self.seen += part.entries.len();
            (self.page, self.rest) = (part.entries.into_iter(), part.rest);
        }
    }
}
