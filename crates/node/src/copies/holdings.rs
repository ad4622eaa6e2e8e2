//! What this machine holds, captures and records alike, as comparisons see it; and from marks back to names.

use super::wire::{NAMES_MAX, Name};
use herodotus_base::{Distance, Id};
use herodotus_ledger::Ledger;
use herodotus_replica::compare::{Holdings, Span};
use herodotus_replica::{Mark, Sum};
use herodotus_store::Store;
use std::collections::{BTreeMap, HashSet};
use std::iter::Peekable;

/// Either of the two could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    #[error(transparent)]
    Store(#[from] herodotus_store::Error),
    #[error(transparent)]
    Ledger(#[from] herodotus_ledger::Error),
}

type Result<T> = std::result::Result<T, ShelfError>;

/// The store's table of places and the ledger's, as one. What waits in memory is in neither.
#[derive(Clone, Copy)]
pub(super) struct Shelf<'a> {
    pub(super) store: &'a Store,
    pub(super) ledger: &'a Ledger,
}

impl Holdings for Shelf<'_> {
    type Error = ShelfError;

    fn sums(&self, span: Span) -> impl Iterator<Item = Result<(Id, Sum)>> {
        let captures = self
            .store
            .places(span.from, span.to)
            .map(|row| row.map(|(place, _, sum)| (place, sum)).map_err(Into::into));
        let records = self
            .ledger
            .places(span.from, span.to)
            .map(|row| row.map(|(place, _, sum)| (place, sum)).map_err(Into::into));
        Merged::new(span, captures, records)
    }

    fn marks(&self, span: Span) -> impl Iterator<Item = Result<(Id, Mark)>> {
        self.entries(span).map(|entry| entry.map(|(place, (_, mark))| (place, mark)))
    }
}

impl<'a> Shelf<'a> {
    /// Every entry on a span, place by place.
    pub(super) fn entries(self, span: Span) -> impl Iterator<Item = Result<(Id, (Name, Mark))>> + use<'a> {
        let store = self.store;
        let captures = store.places(span.from, span.to).flat_map(move |row| {
            let (row, error) = match row {
                Ok((place, bucket, _)) => (Some((place, bucket)), None),
                Err(error) => (None, Some(Err(error.into()))),
            };
            let entries = row.into_iter().flat_map(move |(place, bucket)| {
                let entries = store.entries_at(place, &bucket);
                entries.map(move |entry| {
                    let (id, _, mark) = entry?;
                    Ok((place, (Name::of(&id), mark)))
                })
            });
            error.into_iter().chain(entries)
        });
        let records = self.ledger.marks_on(span.from, span.to).map(|found| {
            let (place, name, mark) = found?;
            Ok((place, (Name::of_record(&name), mark)))
        });
        Merged::new(span, captures, records)
    }

    /// The names of entries of which places and marks are known. What is not here any more is passed over.
    pub(super) fn names(self, wanted: &[(Id, Mark)]) -> Result<Vec<Name>> {
        let mut by_place: BTreeMap<Id, HashSet<Mark>> = BTreeMap::new();
        for (place, mark) in wanted {
            by_place.entry(*place).or_default().insert(*mark);
        }
        let mut names = Vec::with_capacity(wanted.len());
        for (place, marks) in by_place {
            for entry in self.entries(Span::at(place)) {
                let (_, (name, mark)) = entry?;
                if marks.contains(&mark) {
                    names.push(name);
                }
            }
        }
        Ok(names)
    }

    /// A page of names on a span, behind one, and the place of the last: as many as an answer carries.
    pub(super) fn names_on(self, span: Span, behind: Option<(Id, Name)>) -> Result<(Vec<Name>, Option<Id>)> {
        self.page_on(span, behind, NAMES_MAX, super::desk::PARCEL_BYTES_MAX)
    }

    /// The same, up to so many names of so many bytes. Where it is full, what lies at its last place is left for the next, unless that is all of it: what lies
    /// at one place lies together in packs, too, and is to travel together.
    pub(super) fn page_on(
        self,
        span: Span,
        behind: Option<(Id, Name)>,
        names_max: usize,
        bytes_max: usize,
    ) -> Result<(Vec<Name>, Option<Id>)> {
        let mut names = Vec::new();
        let mut last = None;
        let mut bytes = 0;
        // Where the names at the last place begin, and which came before it.
        let mut at_last: (usize, Option<Id>) = (0, None);
        // What came before is passed over; places come clockwise from where the span begins, and names at one place in order: captures, then records.
        let is_past = |place: Id, name: &Name| {
            behind.as_ref().is_none_or(|(at, last)| {
                let (here, there) = (span.from.distance_to(place), span.from.distance_to(*at));
                here > there || here == there && name > last
            })
        };
        let from = behind.as_ref().map_or(span.from, |(at, _)| Span::at(*at).from);
        let rest = if from == span.to { span } else { Span::new(from, span.to) };
        for entry in self.entries(rest) {
            let (place, (name, _)) = entry?;
            if !is_past(place, &name) {
                continue;
            }
            bytes += name.0.len() + 4;
            if last.is_some_and(|last| last != place) {
                at_last = (names.len(), last);
            }
            if names.len() == names_max || bytes > bytes_max {
                if let (begin @ 1.., Some(before)) = at_last {
                    names.truncate(begin);
                    last = Some(before);
                }
                break;
            }
            names.push(name);
            last = Some(place);
        }
        Ok((names, last))
    }
}

/// Two lists in the order of a span, as one; the first comes first where they meet.
struct Merged<A: Iterator, B: Iterator> {
    from: Id,
    one: Peekable<A>,
    other: Peekable<B>,
}

impl<T, A: Iterator<Item = Result<(Id, T)>>, B: Iterator<Item = Result<(Id, T)>>> Merged<A, B> {
    fn new(span: Span, one: A, other: B) -> Self {
        Self { from: span.from, one: one.peekable(), other: other.peekable() }
    }

    /// How far along the span. Where it begins is its end, if it goes all round. An error is next.
    fn way(from: Id, item: Option<&Result<(Id, T)>>) -> Option<(bool, Distance)> {
        let nothing = from.distance_to(from);
        item.map(|item| {
            let way = item.as_ref().map_or(nothing, |(place, _)| from.distance_to(*place));
            (way == nothing && item.is_ok(), way)
        })
    }
}

impl<T, A: Iterator<Item = Result<(Id, T)>>, B: Iterator<Item = Result<(Id, T)>>> Iterator for Merged<A, B> {
    type Item = Result<(Id, T)>;

    fn next(&mut self) -> Option<Self::Item> {
        let (one, other) = (Self::way(self.from, self.one.peek()), Self::way(self.from, self.other.peek()));
        match (one, other) {
            (Some(one), Some(other)) if other < one => self.other.next(),
            (Some(_), _) => self.one.next(),
            (None, _) => self.other.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lists_come_in_the_order_of_the_span_also_over_zero_and_all_round() {
        let list = |places: &[u8]| places.iter().map(|n| Ok((Id::small(*n), *n))).collect::<Vec<Result<_>>>();
        let merged = |from, to, one: &[u8], other: &[u8]| {
            let span = Span::new(Id::small(from), Id::small(to));
            let all = Merged::new(span, list(one).into_iter(), list(other).into_iter());
            all.map(|item| item.map(|(_, n)| n).expect("no errors")).collect::<Vec<_>>()
        };
        assert_eq!(merged(0, 9, &[1, 4, 4], &[2, 4, 9]), [1, 2, 4, 4, 4, 9]);
        assert_eq!(merged(5, 3, &[6, 1], &[9, 0, 3]), [6, 9, 0, 1, 3]);
        assert_eq!(merged(5, 5, &[6, 5], &[9, 5]), [6, 9, 5, 5]);
        assert_eq!(merged(5, 5, &[], &[5]), [5]);
    }
}
