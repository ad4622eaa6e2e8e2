//! What a crawl is, as one simulated machine has heard, and how that changes.

use herodotus_links::Planted;
use herodotus_links::end::{Edition, Phase, Ruling};

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
    /// The next version of it. Two who change it at once without knowing of each other: whoever did so later is right, as far as clocks agree.
    pub fn next(&self, wall_ms: i64, follows: Option<u64>) -> Self {
        let version = u64::try_from(wall_ms).unwrap_or(0).max(self.edition.version + 1);
        Self { edition: Edition { version, follows }, ..self.clone() }
    }

    /// What becomes of a word that we are told: what we know then, if that is news.
    pub fn hear(known: Option<&Self>, told: &Self, wall_ms: i64, planted: Planted) -> Option<Self> {
        let Some(known) = known else { return Some(told.clone()) };
        match known.edition.rule(told.edition) {
            Ruling::Known => None,
            Ruling::Take => Some(told.clone()),
            // Others say the same again, as we did.
            Ruling::SayAgain if (Self { edition: told.edition, ..known.clone() }) == *told => Some(told.clone()),
            Ruling::SayAgain if planted.is(Planted::LastWordCounts) => Some(told.clone()),
            Ruling::SayAgain => {
                let latest = Self { edition: told.edition, ..known.clone() };
                Some(latest.next(wall_ms, Some(told.edition.version)))
            }
        }
    }
}
