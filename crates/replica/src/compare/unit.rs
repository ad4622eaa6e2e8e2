//! Ranges that differ and are settled together, and the choice of how: by a sketch, by a list, or in parts.

use super::Span;
use super::limits::{
    LIST_AIM, PARTS_MAX, SHORT_BYTES, SKETCH_DIFFERENCES_AIM, SKETCH_DIFFERENCES_MAX, SYMBOL_BYTES, SYMBOLS_FIRST,
    SYMBOLS_IN_ANSWER_MAX, SYMBOLS_MAX,
};
use super::span::joined;
use super::symbol::{Cell, Share};

/// A span on which the two sides differ, and both hold something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) span: Span,
    pub(super) ours: u64,
    pub(super) theirs: u64,
    /// The other side could not cut it: few entries, or one place.
    pub(super) is_one: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Unit {
    pub(super) ranges: Vec<Range>,
    pub(super) share: Share,
    /// How many differences there may be, if anything is known about it.
    pub(super) expected: Option<u64>,
    /// The other side's cells, from the first on.
    pub(super) cells: Vec<Cell>,
    /// What the other side made them of.
    pub(super) made_of: Option<(u64, [u8; 8])>,
    pub(super) restarts: u8,
    /// Symbols are asked for until before this one.
    pub(super) until: u32,
}

pub(super) enum Plan {
    Sketch(Unit),
    List(Unit),
    /// The only range is to be cut by the other side.
    Cut(Unit),
    Parts(Vec<Unit>),
    /// It is too large and cannot be split. Nobody who tells the truth has so many entries at one place.
    Hopeless,
}

impl Unit {
    pub(super) fn new(ranges: Vec<Range>, expected: Option<u64>) -> Self {
        Self { ranges, expected, ..Self::default() }
    }

    pub(super) fn spans(&self) -> Vec<Span> {
        joined(self.ranges.iter().map(|range| range.span))
    }

    /// How many cells are here already.
    pub(super) fn have(&self) -> u32 {
        u32::try_from(self.cells.len()).unwrap_or(u32::MAX)
    }

    fn total(&self, of: impl Fn(&Range) -> u64) -> u64 {
        self.ranges.iter().map(of).fold(0, u64::saturating_add) >> self.share.bits
    }

    fn theirs(&self) -> u64 {
        self.made_of.map_or_else(|| self.total(|range| range.theirs), |(entries, _)| entries)
    }

    /// What to do for it, by what is known of it so far: whatever is the fewest bytes, as long as it fits.
    pub(super) fn plan(mut self) -> Plan {
        let (theirs, least) = (self.theirs(), self.total(|range| range.ours.abs_diff(range.theirs)));
        let differences =
            self.expected.unwrap_or(0).max(least).min(self.total(|range| range.ours).saturating_add(theirs));
        let wanted = self.symbols_wanted(differences);
        let sketch_bytes = (wanted - u64::from(self.have())).saturating_mul(SYMBOL_BYTES);
        if theirs.saturating_mul(SHORT_BYTES) <= sketch_bytes {
            return match theirs <= LIST_AIM {
                true => Plan::List(self),
                false => self.split(theirs.div_ceil(LIST_AIM), Some(differences)),
            };
        }
        match u32::try_from(wanted) {
            Ok(wanted) if wanted <= SYMBOLS_MAX && differences <= SKETCH_DIFFERENCES_MAX => {
                self.until = wanted.min(self.have() + SYMBOLS_IN_ANSWER_MAX);
                Plan::Sketch(self)
            }
            _ => self.split(differences.div_ceil(SKETCH_DIFFERENCES_AIM), Some(differences)),
        }
    }

    /// How many symbols there should be after the next answer; more than there are.
    fn symbols_wanted(&self, differences: u64) -> u64 {
        let have = u64::from(self.have());
        // 1.35 symbols for each difference do it when there are many of them. What is on top is for what the estimate may lack.
        let tenths = if have <= 256 { 17 } else { 14 };
        (differences.saturating_mul(tenths) / 10 + 32).max(have + have / 4).max(SYMBOLS_FIRST.into())
    }

    /// By ranges, or if there is one only, by places, or if that cannot be, by short ids.
    pub(super) fn split(self, parts: u64, differences: Option<u64>) -> Plan {
        let parts = parts.clamp(2, PARTS_MAX);
        if self.ranges.len() > 1 {
            return Plan::Parts(self.grouped(parts, differences));
        }
        if self.share == Share::default() && self.ranges.iter().any(|range| !range.is_one) {
            return Plan::Cut(Self::new(self.ranges, differences));
        }
        let more = parts.next_power_of_two().trailing_zeros();
        let shares = self.share.split(more as u8);
        if shares.is_empty() {
            return Plan::Hopeless;
        }
        let expected = differences.map(|differences| differences >> more);
        let part = |share| Self { share, ..Self::new(self.ranges.clone(), expected) };
        Plan::Parts(shares.into_iter().map(part).collect())
    }

    /// At least two groups of about equal weight, if there are two ranges.
    fn grouped(self, parts: u64, differences: Option<u64>) -> Vec<Self> {
        let weight = |range: &Range| u128::from(range.ours) + u128::from(range.theirs);
        let total: u128 = self.ranges.iter().map(weight).sum::<u128>().max(1);
        let aim = total / u128::from(parts);
        let mut groups: Vec<(Vec<Range>, u128)> = Vec::new();
        for range in self.ranges {
            match groups.last_mut() {
                // With half of it, groups are as often too large as too small; the last one alone is never all.
                Some((group, sum)) if *sum + weight(&range) / 2 <= aim => {
                    *sum += weight(&range);
                    group.push(range);
                }
                _ => groups.push((vec![range], weight(&range))),
            }
        }
        let share = |sum: u128| {
            u64::try_from(u128::from(differences.unwrap_or(0)) * sum.min(1 << 64) / total).unwrap_or(u64::MAX)
        };
        groups.into_iter().map(|(ranges, sum)| Self::new(ranges, differences.map(|_| share(sum)))).collect()
    }
}
