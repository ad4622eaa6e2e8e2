//! Cutting spans into pieces with about equal counts, in one pass over the table of places and with bounded memory, and measuring pieces that
//! somebody else has cut.

use super::limits::{PIECE_ENTRIES_MIN, PIECES_MAX};
use super::message::{Cut, Piece};
use super::span::{Bounds, bound_between};
use super::symbol::Salt;
use super::{Error, Holdings, Span};
use crate::Sum;
use herodotus_base::Id;

struct Run {
    first: Id,
    last: Id,
    sum: Sum,
}

/// Takes places in their order. When there are too many runs, neighbours are joined and the next runs are made longer.
struct Cutter {
    runs: Vec<Run>,
    entries_aim: u64,
    runs_max: usize,
}

impl Cutter {
    fn new(runs_max: usize) -> Self {
        Self { runs: Vec::new(), entries_aim: PIECE_ENTRIES_MIN, runs_max }
    }

    fn add(&mut self, run: Run) {
        let Some(run) = self.extend(run) else { return };
        if self.runs.len() == self.runs_max {
            self.halve();
        }
        if let Some(run) = self.extend(run) {
            self.runs.push(run);
        }
    }

    /// Gives it back if the last run is long enough already. A place is never cut in two.
    fn extend(&mut self, run: Run) -> Option<Run> {
        match self.runs.last_mut() {
            Some(last) if last.last == run.first || last.sum.count < self.entries_aim => {
                last.last = run.last;
                last.sum.join(run.sum);
                None
            }
            _ => Some(run),
        }
    }

    /// Ends at the latest when the next runs may be of any length, and the last one takes in all that comes.
    fn halve(&mut self) {
        while self.runs.len() > self.runs_max / 2 && self.entries_aim < u64::MAX / 2 {
            self.entries_aim *= 2;
            for run in std::mem::take(&mut self.runs) {
                if let Some(run) = self.extend(run) {
                    self.runs.push(run);
                }
            }
        }
    }
}

/// What is held on the span, in pieces, of which there are `pieces_max` at most.
fn cut<H: Holdings>(holdings: &H, span: Span, pieces_max: usize) -> Result<(Vec<Id>, Vec<Sum>), H::Error> {
    let mut cutter = Cutter::new(pieces_max);
    for item in holdings.sums(span) {
        let (place, sum) = item?;
        cutter.add(Run { first: place, last: place, sum });
    }
    let bounds = cutter.runs.windows(2).map(|pair| bound_between(pair[0].last, pair[1].first)).collect();
    let mut sums: Vec<_> = cutter.runs.iter().map(|run| run.sum).collect();
    if sums.is_empty() {
        sums.push(Sum::default());
    }
    Ok((bounds, sums))
}

/// The same for several spans, as it is sent.
pub(super) fn cut_all<H: Holdings>(holdings: &H, salt: &Salt, spans: &[Span]) -> Result<Vec<Cut>, H::Error> {
    let pieces_max = (PIECES_MAX / spans.len().max(1)).max(1);
    let piece = |sum: &Sum| Piece { fingerprint: salt.fingerprint(*sum), entries: sum.count };
    let mut cuts = Vec::with_capacity(spans.len());
    for span in spans {
        let (bounds, sums) = cut(holdings, *span, pieces_max)?;
        cuts.push(Cut { bounds: Bounds::pack(bounds), pieces: sums.iter().map(piece).collect() });
    }
    Ok(cuts)
}

/// A piece that the other side has cut, and what is held of it here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) span: Span,
    pub(super) ours: Sum,
    pub(super) theirs: Piece,
}

pub(super) fn measure<H: Holdings>(holdings: &H, span: Span, cut: &Cut) -> Result<Vec<Measured>, Error<H::Error>> {
    let mut pieces = opened(span, cut).ok_or(Error::Peer("pieces that do not make up their span"))?;
    let mut at = 0;
    for item in holdings.sums(span) {
        let (place, sum) = item.map_err(Error::Holdings)?;
        let reach = span.reach(place);
        while at + 1 < pieces.len() && reach > span.reach(pieces[at].span.to) {
            at += 1;
        }
        pieces[at].ours.join(sum);
    }
    Ok(pieces)
}

fn opened(span: Span, cut: &Cut) -> Option<Vec<Measured>> {
    if cut.pieces.is_empty() || cut.pieces.len() > PIECES_MAX {
        return None;
    }
    let mut bounds = cut.bounds.open(PIECES_MAX)?;
    let is_in_order = bounds.windows(2).all(|pair| span.reach(pair[0]) < span.reach(pair[1]));
    let is_inside = bounds.iter().all(|bound| *bound != span.to && *bound != span.from && span.contains(*bound));
    if !is_in_order || !is_inside || bounds.len() + 1 != cut.pieces.len() {
        return None;
    }
    bounds.push(span.to);
    let mut from = span.from;
    let piece = |(to, theirs): (Id, &Piece)| {
        let span = Span::new(std::mem::replace(&mut from, to), to);
        Measured { span, ours: Sum::default(), theirs: *theirs }
    };
    Some(bounds.into_iter().zip(&cut.pieces).map(piece).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mark;
    use std::collections::{BTreeMap, BTreeSet};

    fn held(places: u64, entries: u64) -> BTreeMap<Id, BTreeSet<Mark>> {
        let mut held = BTreeMap::<_, BTreeSet<_>>::new();
        for entry in 0..entries {
            let place = Id::of_host(&format!("{}", entry % places), 0);
            held.entry(place).or_default().insert(Mark::of(&entry.to_be_bytes(), b""));
        }
        held
    }

    #[test]
    fn pieces_are_of_about_equal_counts_and_make_up_the_whole() {
        let (held, salt) = (held(3000, 60_000), Salt::new(1));
        let span = Span::new(Id::small(200), Id::small(199));
        let cuts = cut_all(&held, &salt, &[span]).expect("memory");
        let pieces = measure(&held, span, &cuts[0]).expect("a sound cut");
        assert!((PIECES_MAX / 2..=PIECES_MAX).contains(&pieces.len()), "{}", pieces.len());
        assert!(pieces.iter().all(|piece| salt.fingerprint(piece.ours) == piece.theirs.fingerprint));
        assert!(pieces.iter().all(|piece| piece.theirs.entries <= 60_000 / 128 * 2));
        let entries: u64 = pieces.iter().map(|piece| piece.ours.count).sum();
        assert_eq!(entries, held.sums(span).flatten().map(|(_, sum)| sum.count).sum::<u64>());
    }

    #[test]
    fn one_place_and_few_entries_are_one_piece() {
        for held in [held(1, 5000), held(50, 60), held(1, 0)] {
            let cuts = cut_all(&held, &Salt::new(1), &[Span::WHOLE]).expect("memory");
            assert_eq!(cuts[0].pieces.len(), 1);
        }
    }

    /// Each entry as a part of its own.
    struct InParts(BTreeMap<Id, BTreeSet<Mark>>);

    impl Holdings for InParts {
        type Error = std::convert::Infallible;

        fn sums(&self, span: Span) -> impl Iterator<Item = Result<(Id, Sum), Self::Error>> {
            self.marks(span).map(|item| {
                item.map(|(place, mark)| {
                    let mut sum = Sum::default();
                    sum.add(mark);
                    (place, sum)
                })
            })
        }

        fn marks(&self, span: Span) -> impl Iterator<Item = Result<(Id, Mark), Self::Error>> {
            self.0.marks(span)
        }
    }

    #[test]
    fn a_place_that_comes_in_parts_is_not_cut_in_two() {
        for places in [1, 2, 40] {
            let (whole, salt) = (held(places, 8000), Salt::new(1));
            let cuts = cut_all(&InParts(whole.clone()), &salt, &[Span::WHOLE]).expect("memory");
            assert_eq!(cuts[0].pieces.len(), places as usize);
            let pieces = measure(&whole, Span::WHOLE, &cuts[0]).expect("a sound cut");
            assert!(pieces.iter().all(|piece| salt.fingerprint(piece.ours) == piece.theirs.fingerprint));
        }
    }

    #[test]
    fn large_places_among_small_ones_do_not_make_more_pieces() {
        let mut held = held(5000, 20_000);
        for (index, marks) in held.values_mut().enumerate().filter(|(index, _)| index % 7 == 0) {
            marks.extend((0..500u64).map(|n| Mark::of(&n.to_be_bytes(), &index.to_be_bytes())));
        }
        for spans in [1, 2, 200, 256] {
            let step = 256 / spans;
            let bounds: Vec<_> = (0..spans).map(|n| Id::small((n * step) as u8)).collect();
            let spans: Vec<_> = (0..spans).map(|n| Span::new(bounds[n], bounds[(n + 1) % spans])).collect();
            let cuts = cut_all(&held, &Salt::new(1), &spans).expect("memory");
            assert!(cuts.iter().map(|cut| cut.pieces.len()).sum::<usize>() <= PIECES_MAX);
        }
    }

    #[test]
    fn cuts_that_are_none_are_refused() {
        let (held, span) = (held(3, 3), Span::new(Id::small(10), Id::small(20)));
        let piece = Piece { fingerprint: [0; 6], entries: 1 };
        let cut = |bounds: &[u8], pieces: usize| {
            let bounds = Bounds::pack(bounds.iter().map(|n| Id::small(*n)));
            measure(&held, span, &Cut { bounds, pieces: vec![piece; pieces] }).is_ok()
        };
        assert!(cut(&[], 1) && cut(&[12, 15], 3));
        assert!(!cut(&[], 0) && !cut(&[], 2) && !cut(&[12], 1));
        assert!(!cut(&[15, 12], 3) && !cut(&[12, 12], 3) && !cut(&[9], 2) && !cut(&[20], 2) && !cut(&[10], 2));
    }
}
