//! What a crawl is, as one simulated machine has heard, and how that changes.

use herodotus_links::Planted;
use herodotus_links::end::{Edition, Phase};

/// A crawl of the ring. There is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    pub edition: Edition,
    pub phase: Phase,
    pub run: u32,
    /// In true time, which all clocks show about.
    pub began_ms: i64,
    pub seeds: Vec<String>,
    /// Something of its settings: changing it changes nothing that can be seen.
    pub retries: u8,
}

impl Order {
    /// As a person has it from now on.
    pub fn said(&self, wall_ms: i64) -> Self {
        Self { edition: self.edition.said(u64::try_from(wall_ms).unwrap_or(0)), ..self.clone() }
    }

    /// As a machine finds it.
    pub fn noted(&self, wall_ms: i64, phase: Phase, planted: Planted) -> Self {
        match planted.is(Planted::LastWordCounts) {
            true => Self { phase, ..self.said(wall_ms) },
            false => Self { phase, edition: self.edition.noted(), ..self.clone() },
        }
    }

    /// Whether it counts before another. Of two that machines said at once, that which goes on: it might as well be the other, but must be the same for all.
    pub fn is_later_than(&self, known: &Self) -> bool {
        let rank = |order: &Self| (order.edition, order.phase == Phase::Running);
        rank(self) > rank(known)
    }
}
