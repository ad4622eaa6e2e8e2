//! Arcs of the circle, and lists of them in few bytes.
//!
//! A bound between two neighbouring places is as short as tells them apart: the first bytes of the lower one, the rest filled up with `ff`. Lists
//! of bounds leave out what a bound has in common with the one before it. Lists from elsewhere are opened with all checks: the arcs follow each
//! other clockwise, do not overlap, and go round once at most, so that no question makes anybody read an entry twice.

use super::limits::SPANS_MAX;
use herodotus_base::{Distance, Id};
use serde::{Deserialize, Serialize};

/// The arc `(from, to]`. From a place to itself: the whole circle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Span {
    pub from: Id,
    pub to: Id,
}

/// How far along an arc a place is; its beginning, if it belongs to it at all, comes last.
pub(super) type Reach = (bool, Distance);

impl Span {
    pub const WHOLE: Self = Self { from: Id::ZERO, to: Id::ZERO };

    pub const fn new(from: Id, to: Id) -> Self {
        Self { from, to }
    }

    /// This place alone.
    pub fn at(place: Id) -> Self {
        Self { from: before(place), to: place }
    }

    pub fn contains(self, place: Id) -> bool {
        place.is_in(self.from, self.to)
    }

    pub(super) fn reach(self, place: Id) -> Reach {
        (place == self.from, self.from.distance_to(place))
    }

    /// What is left of it from this place on.
    pub(super) fn starting_at(self, place: Id) -> Self {
        Self { from: before(place), to: self.to }
    }
}

/// The place just before.
fn before(place: Id) -> Id {
    let mut bytes = place.0;
    for byte in bytes.iter_mut().rev() {
        let (less, borrows) = byte.overflowing_sub(1);
        *byte = less;
        if !borrows {
            break;
        }
    }
    Id(bytes)
}

/// Spans that touch become one.
pub(super) fn joined(spans: impl IntoIterator<Item = Span>) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        match out.last_mut() {
            // The whole circle touches everything, itself first.
            Some(last) if last.to == span.from && last.from != last.to => last.to = span.to,
            _ => out.push(span),
        }
    }
    out
}

/// A bound `b` with `low <= b < high`, going clockwise, that packs well.
pub(super) fn bound_between(low: Id, high: Id) -> Id {
    let differs = low.0.iter().zip(&high.0).position(|(low, high)| low != high).unwrap_or(31);
    // Where the way leads over zero, `low` is the larger number, and its first byte is enough.
    let kept = if low < high { differs + 1 } else { 1 };
    let mut bytes = [0xff; 32];
    bytes[..kept].copy_from_slice(&low.0[..kept]);
    Id(bytes)
}

/// Places, each less what it has in common with the one before, and less the `ff`s at its end.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Bounds(Vec<u8>);

/// In place of a length: all that is not shared follows.
const IN_FULL: u8 = 15;

impl Bounds {
    pub(super) fn pack(places: impl IntoIterator<Item = Id>) -> Self {
        let (mut out, mut last) = (Vec::new(), Id::ZERO);
        for place in places {
            let shared = last.0.iter().zip(&place.0).take(15).take_while(|(a, b)| a == b).count();
            let end = 32 - place.0.iter().rev().take_while(|byte| **byte == 0xff).count();
            let rest = place.0.get(shared..end).unwrap_or_default();
            let (length, rest) = match u8::try_from(rest.len()) {
                Ok(length) if length < IN_FULL => (length, rest),
                _ => (IN_FULL, &place.0[shared..]),
            };
            out.push((shared as u8) << 4 | length);
            out.extend_from_slice(rest);
            last = place;
        }
        Self(out)
    }

    /// Nothing if it is not of our making, or longer than `most`.
    pub(super) fn open(&self, most: usize) -> Option<Vec<Id>> {
        let (mut out, mut last, mut bytes) = (Vec::new(), Id::ZERO, self.0.as_slice());
        while let Some((head, after)) = bytes.split_first() {
            let shared = usize::from(head >> 4);
            let length = match head & 15 {
                IN_FULL => 32 - shared,
                length => usize::from(length),
            };
            let (rest, after) = after.split_at_checked(length)?;
            let mut place = [0xff; 32];
            place[..shared].copy_from_slice(&last.0[..shared]);
            place.get_mut(shared..shared + length)?.copy_from_slice(rest);
            last = Id(place);
            out.push(last);
            if out.len() > most {
                return None;
            }
            bytes = after;
        }
        Some(out)
    }
}

/// Some arcs, one after another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Spans(Bounds);

impl Spans {
    pub fn pack(spans: &[Span]) -> Self {
        Self(Bounds::pack(spans.iter().flat_map(|span| [span.from, span.to])))
    }

    /// Nothing if they are none, too many, out of order, or lie one upon another.
    pub fn open(&self) -> Option<Vec<Span>> {
        let bounds = self.0.open(2 * SPANS_MAX)?;
        let spans: Vec<_> = bounds.chunks_exact(2).map(|pair| Span::new(pair[0], pair[1])).collect();
        let from = spans.first()?.from;
        let start = Span::new(from, from);
        let mut at: Reach = (false, from.distance_to(from));
        for (index, span) in spans.iter().enumerate() {
            // The first one begins where everything begins, not a turn later.
            let begin = if index == 0 { at } else { start.reach(span.from) };
            let end = start.reach(span.to);
            if begin < at || end <= begin {
                return None;
            }
            at = end;
        }
        (bounds.len() % 2 == 0).then_some(spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Few different bytes, so that neighbours share much, and long tails of one byte.
    fn place() -> impl Strategy<Value = Id> {
        let byte = || prop::sample::select(vec![0u8, 1, 0x7f, 0xfe, 0xff]);
        (prop::collection::vec(byte(), 0..=32), byte()).prop_map(|(first, tail)| {
            let mut bytes = [tail; 32];
            bytes[..first.len()].copy_from_slice(&first);
            Id(bytes)
        })
    }

    proptest! {
        #[test]
        fn places_come_out_of_a_list_as_they_went_in(places in prop::collection::vec(place(), 0..20)) {
            prop_assert_eq!(Bounds::pack(places.clone()).open(20), Some(places));
        }

        #[test]
        fn anything_may_be_opened(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let bounds = Bounds(bytes);
            let _ = bounds.open(50);
            if let Some(spans) = Spans(bounds).open() {
                prop_assert_eq!(Spans::pack(&spans).open(), Some(spans));
            }
        }

        #[test]
        fn a_bound_lies_between_two_places(from in place(), a in place(), b in place()) {
            let whole = Span::new(from, from);
            prop_assume!(a != b);
            let (low, high) = if whole.reach(a) < whole.reach(b) { (a, b) } else { (b, a) };
            let bound = bound_between(low, high);
            prop_assert!(whole.reach(low) <= whole.reach(bound) && whole.reach(bound) < whole.reach(high));
        }

        #[test]
        fn a_place_alone_contains_nothing_else(a in place(), b in place()) {
            prop_assert_eq!(Span::at(a).contains(b), a == b);
        }
    }

    #[test]
    fn spans_that_overlap_or_go_back_are_refused() {
        let [a, b, c, d] = [10, 20, 30, 40].map(Id::small);
        let opens = |spans: &[Span]| Spans::pack(spans).open().is_some_and(|opened| opened == spans);
        assert!(opens(&[Span::new(a, b), Span::new(c, d)]));
        assert!(opens(&[Span::new(c, d), Span::new(a, b)]), "over zero");
        assert!(opens(&[Span::new(a, b), Span::new(b, a)]), "round once");
        assert!(opens(&[Span::WHOLE]));
        assert!(!opens(&[]));
        assert!(!opens(&[Span::WHOLE, Span::WHOLE]));
        assert!(!opens(&[Span::new(a, c), Span::new(b, d)]));
        assert!(!opens(&[Span::new(a, b), Span::new(c, c)]));
        assert!(!opens(&[Span::new(a, b), Span::new(a, b)]));
        assert!(!opens(&[Span::new(a, b), Span::new(c, d), Span::new(b, c)]));
    }
}
