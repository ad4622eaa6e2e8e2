//! Walking the index piece by piece: between two pieces nothing is held but the place, so that a reader who takes his time
//! holds neither a thread nor a snapshot of the index.

use super::query::{Order, Query};
use crate::answer::Trouble;
use crate::archive::Archive;
use herodotus_base::Timestamp;
use herodotus_store::{Entry, EntryKey};

/// Where a walk stands.
#[derive(Debug)]
pub(crate) struct Walk {
    is_backwards: bool,
    /// Whether times that the query leaves out are passed over where that is cheap.
    minds_time: bool,
    /// Which of the query's ranges, in the order of the walk.
    range: usize,
    /// The entry that was seen last in it.
    after: Option<EntryKey>,
}

type Found = Result<Entry, Trouble>;
type Entries<'a> = Box<dyn Iterator<Item = Found> + 'a>;

impl Walk {
    pub(crate) fn new(query: &Query) -> Self {
        let is_backwards = matches!(query.order, Order::Reverse | Order::Last);
        let mut walk = Self { is_backwards, minds_time: true, range: 0, after: None };
        if let Some(id) = &query.resume_after {
            walk.resume(query, id);
        }
        walk
    }

    /// A walk over all of the ranges, in the order of the index.
    pub(crate) fn forward() -> Self {
        Self { is_backwards: false, minds_time: false, range: 0, after: None }
    }

    pub(crate) fn is_backwards(&self) -> bool {
        self.is_backwards
    }

    fn resume(&mut self, query: &Query, id: &EntryKey) {
        let key = format!("{}\0", id.key);
        // Ranges that end before the place are behind us; a place between two ranges begins the next.
        while let Some((from, to)) = range(query, self.range, self.is_backwards) {
            let (is_behind, is_inside) = match self.is_backwards {
                false => (*to <= key, *from <= key),
                true => (*from > key, *to > key),
            };
            if is_behind {
                self.range += 1;
                continue;
            }
            if is_inside {
                self.after = Some(id.clone());
            }
            break;
        }
    }

    /// The entries from here on in the range where the walk stands; `None`: it is at its end.
    pub(crate) fn entries<'a>(&self, archive: Archive<'a>, query: &Query) -> Option<Entries<'a>> {
        let (from, to) = range(query, self.range, self.is_backwards)?;
        let exact = query.exact.as_ref().filter(|_| self.minds_time);
        Some(match (&self.after, self.is_backwards) {
            (None, false) => match (exact, start_of(query.from.as_deref())) {
                (Some(key), Some(time)) => Box::new(versions_from(archive, key, time)),
                _ => Box::new(archive.scan(from, to, false)),
            },
            (None, true) => match (exact, end_of(query.to.as_deref())) {
                (Some(key), Some(time)) => Box::new(archive.versions_until(key, time)),
                _ => Box::new(archive.scan(from, to, true)),
            },
            (Some(id), false) => {
                let (seen, rest) = (id.clone(), format!("{}\u{1}", id.key));
                let versions = versions_from(archive, &id.key, id.time).skip_while(is_at(move |id| *id <= seen));
                match rest < *to {
                    true => Box::new(versions.chain(archive.scan(&rest, to, false))),
                    false => Box::new(versions),
                }
            }
            (Some(id), true) => {
                let (seen, rest) = (id.clone(), format!("{}\0", id.key));
                let versions = archive.versions_until(&id.key, id.time).skip_while(is_at(move |id| *id >= seen));
                match *from < rest {
                    true => Box::new(versions.chain(archive.scan(from, &rest, true))),
                    false => Box::new(versions),
                }
            }
        })
    }

    /// Notes how far the walk has come.
    pub(crate) fn reached(&mut self, id: EntryKey) {
        self.after = Some(id);
    }

    pub(crate) fn next_range(&mut self) {
        self.range += 1;
        self.after = None;
    }
}

fn range(query: &Query, nth: usize, is_backwards: bool) -> Option<&(String, String)> {
    if is_backwards { query.ranges.iter().rev().nth(nth) } else { query.ranges.get(nth) }
}

fn is_at(test: impl Fn(&EntryKey) -> bool) -> impl Fn(&Found) -> bool {
    move |entry| entry.as_ref().is_ok_and(|entry| test(&entry.id))
}

/// Versions of a key at a time and after it.
fn versions_from<'a>(archive: Archive<'a>, key: &str, time: Timestamp) -> crate::archive::Entries<'a> {
    match Timestamp::from_millis(time.millis() - 1) {
        Some(before) => archive.versions_after(key, before),
        None => archive.versions(key, false),
    }
}

/// The moment that fourteen digits begin. `None`: there is no such moment, and each line must be looked at.
fn start_of(digits: Option<&str>) -> Option<Timestamp> {
    Timestamp::parse(digits?).ok()
}

fn end_of(digits: Option<&str>) -> Option<Timestamp> {
    Timestamp::parse_end(digits?).ok()
}
