//! Holdings in memory: for tests, figures and the simulator.

use super::{Holdings, Span};
use crate::{Mark, Sum};
use herodotus_base::Id;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::Bound;

impl Holdings for BTreeMap<Id, BTreeSet<Mark>> {
    type Error = Infallible;

    fn sums(&self, span: Span) -> impl Iterator<Item = Result<(Id, Sum), Infallible>> {
        places(self, span).map(|(place, marks)| {
            let mut sum = Sum::default();
            marks.iter().for_each(|mark| sum.add(*mark));
            Ok((*place, sum))
        })
    }

    fn marks(&self, span: Span) -> impl Iterator<Item = Result<(Id, Mark), Infallible>> {
        places(self, span).flat_map(|(place, marks)| marks.iter().map(|mark| Ok((*place, *mark))))
    }
}

fn places(held: &BTreeMap<Id, BTreeSet<Mark>>, span: Span) -> impl Iterator<Item = (&Id, &BTreeSet<Mark>)> {
    // Over zero there are two ways to go, else one.
    let (first, second) = match span.from < span.to {
        true => ((Bound::Excluded(span.from), Bound::Included(span.to)), None),
        false => {
            ((Bound::Excluded(span.from), Bound::Unbounded), Some((Bound::<Id>::Unbounded, Bound::Included(span.to))))
        }
    };
    held.range(first).chain(second.into_iter().flat_map(|second| held.range(second)))
}
