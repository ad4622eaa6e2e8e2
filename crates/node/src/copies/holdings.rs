//! What the store holds, as comparisons see it; and from marks back to names.

use super::wire::{NAMES_MAX, Name};
use herodotus_base::Id;
use herodotus_replica::compare::{Holdings, Span};
use herodotus_replica::{Mark, Sum};
use herodotus_store::{EntryKey, Error, Result, Store};
use std::collections::{BTreeMap, HashSet};

/// The store's table of places. What waits in memory is not in it.
pub(super) struct Shelf<'a>(pub(super) &'a Store);

impl Holdings for Shelf<'_> {
    type Error = Error;

    fn sums(&self, span: Span) -> impl Iterator<Item = Result<(Id, Sum)>> {
        self.0.places(span.from, span.to).map(|row| row.map(|(place, _, sum)| (place, sum)))
    }

    fn marks(&self, span: Span) -> impl Iterator<Item = Result<(Id, Mark)>> {
        self.entries(span).map(|entry| entry.map(|(place, _, mark)| (place, mark)))
    }
}

impl<'a> Shelf<'a> {
    /// Every entry on a span, place by place.
    pub(super) fn entries(&self, span: Span) -> impl Iterator<Item = Result<(Id, EntryKey, Mark)>> + use<'a> {
        let store = self.0;
        store.places(span.from, span.to).flat_map(move |row| {
            let (row, error) = match row {
                Ok((place, bucket, _)) => (Some((place, bucket)), None),
                Err(error) => (None, Some(Err(error))),
            };
            let entries = row.into_iter().flat_map(move |(place, bucket)| {
                let entries = store.entries_at(place, &bucket);
                entries.map(move |entry| entry.map(|(id, _, mark)| (place, id, mark)))
            });
            error.into_iter().chain(entries)
        })
    }

    /// The names of entries of which places and marks are known. What is not here any more is passed over.
    pub(super) fn names(&self, wanted: &[(Id, Mark)]) -> Result<Vec<EntryKey>> {
        let mut by_place: BTreeMap<Id, HashSet<Mark>> = BTreeMap::new();
        for (place, mark) in wanted {
            by_place.entry(*place).or_default().insert(*mark);
        }
        let mut names = Vec::with_capacity(wanted.len());
        for (place, marks) in by_place {
            for entry in self.entries(Span::at(place)) {
                let (_, id, mark) = entry?;
                if marks.contains(&mark) {
                    names.push(id);
                }
            }
        }
        Ok(names)
    }

    /// A page of names on a span, behind one, and the place of the last.
    pub(super) fn names_on(&self, span: Span, behind: Option<(Id, Name)>) -> Result<(Vec<Name>, Option<Id>)> {
        let mut names = Vec::new();
        let mut last = None;
        let mut bytes = 0;
        // What came before is passed over; places come clockwise from where the span begins, names in order.
        let is_past = |place: Id, name: &Name| {
            behind.as_ref().is_none_or(|(at, last)| {
                let (here, there) = (span.from.distance_to(place), span.from.distance_to(*at));
                here > there || here == there && name > last
            })
        };
        let from = behind.as_ref().map_or(span.from, |(at, _)| Span::at(*at).from);
        let rest = if from == span.to { span } else { Span::new(from, span.to) };
        for entry in self.entries(rest) {
            let (place, id, _) = entry?;
            let name = Name::of(&id);
            if !is_past(place, &name) {
                continue;
            }
            bytes += name.0.len() + 4;
            if names.len() == NAMES_MAX || bytes > super::desk::PARCEL_BYTES_MAX {
                break;
            }
            names.push(name);
            last = Some(place);
        }
        Ok((names, last))
    }
}
