//! When a page exists and when it changes, as arithmetic: any round can be asked without living through those before.

use crate::limits::{BIRTH_ROUND_MAX, LIFETIME_ROUNDS_MAX, PERIOD_ROUNDS_MAX};
use crate::{Config, dice::Dice};

/// From when to when a page, picture or redirect exists, and how often it is revised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Life {
    /// The first round that has it.
    pub born: u32,
    /// The first round that has it no more.
    pub gone: Option<u32>,
    pub rhythm: Rhythm,
}

/// How often something is revised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rhythm {
    Never,
    /// In every round after birth that leaves `phase` when divided by `period`.
    Every {
        period: u32,
        phase: u32,
    },
    /// At the same rounds, but back and forth between two texts, as summer and winter hours do.
    Alternate {
        period: u32,
        phase: u32,
    },
}

/// What a URL is to this web at some round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is there.
    Live,
    /// It will be there in a later round; until then 404.
    Later,
    /// It was there and will not be again: 404 or 410.
    Gone,
    /// Pages link to it, but it never was and never will be: 404, or a host without an address.
    Dead,
    /// Nobody here ever spoke of it.
    Unknown,
}

/// One state of a thing's content. What it says depends on `number` alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edition {
    /// Counts revisions from zero; for what alternates, zero or one.
    pub(crate) number: u32,
    /// The round of the last change: what the server says of it.
    pub(crate) modified: u32,
}

impl Life {
    pub(crate) const ETERNAL: Self = Self { born: 0, gone: None, rhythm: Rhythm::Never };

    pub(crate) fn roll(config: &Config, dice: &mut Dice) -> Self {
        let late = dice.percent(config.late_percent);
        let born = if late { dice.within(1, BIRTH_ROUND_MAX) as u32 } else { 0 };
        let mortal = dice.percent(config.mortal_percent);
        let lifetime = dice.within(1, LIFETIME_ROUNDS_MAX) as u32;
        Self { born, gone: mortal.then_some(born + lifetime), rhythm: Rhythm::roll(config, dice) }
    }

    pub fn fate(&self, round: u32) -> Fate {
        if round < self.born {
            Fate::Later
        } else if self.gone.is_some_and(|gone| round >= gone) {
            Fate::Gone
        } else {
            Fate::Live
        }
    }

    pub(crate) fn lives_at(&self, round: u32) -> bool {
        self.fate(round) == Fate::Live
    }

    /// The edition on show at a round in which it lives.
    pub(crate) fn edition(&self, round: u32) -> Edition {
        let revisions = self.revisions(round);
        let number = if matches!(self.rhythm, Rhythm::Alternate { .. }) { revisions % 2 } else { revisions };
        Edition { number, modified: self.revised(revisions) }
    }

    /// The round whose world an edition describes. What alternates only knows the world it was born into.
    pub(crate) fn moment(&self, number: u32) -> u32 {
        if matches!(self.rhythm, Rhythm::Alternate { .. }) { self.born } else { self.revised(number) }
    }

    /// The last round up to this one in which something about its presence changed, for lists that show it.
    pub(crate) fn last_coming_or_going(&self, round: u32) -> u32 {
        match self.gone {
            Some(gone) if gone <= round => gone,
            _ if self.born <= round => self.born,
            _ => 0,
        }
    }

    fn revisions(&self, round: u32) -> u32 {
        match self.rhythm {
            Rhythm::Never => 0,
            Rhythm::Every { period, phase } | Rhythm::Alternate { period, phase } => {
                beats(round, period, phase).saturating_sub(beats(self.born, period, phase))
            }
        }
    }

    /// The round in which the given revision was made.
    fn revised(&self, revision: u32) -> u32 {
        match self.rhythm {
            Rhythm::Every { period, phase } | Rhythm::Alternate { period, phase } if revision > 0 => {
                let beat = beats(self.born, period, phase).saturating_add(revision - 1);
                phase.saturating_add(beat.saturating_mul(period))
            }
            _ => self.born,
        }
    }
}

impl Rhythm {
    pub(crate) fn roll(config: &Config, dice: &mut Dice) -> Self {
        let kind = dice.below(100);
        let period = if dice.percent(60) { dice.within(2, 9) } else { dice.within(10, PERIOD_ROUNDS_MAX) } as u32;
        let phase = dice.below32(period);
        let never = u64::from(config.never_percent);
        let every = never + u64::from(config.every_round_percent);
        let alternate = every + u64::from(config.alternate_percent);
        match kind {
            kind if kind < never => Self::Never,
            kind if kind < every => Self::Every { period: 1, phase: 0 },
            kind if kind < alternate => Self::Alternate { period, phase },
            _ => Self::Every { period, phase },
        }
    }
}

/// Rounds from zero up to and including this one that leave `phase` when divided by `period`.
fn beats(round: u32, period: u32, phase: u32) -> u32 {
    round.checked_sub(phase).map_or(0, |since| (since / period.max(1)).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modified(life: Life) -> Vec<u32> {
        (life.born..life.born + 8).map(|round| life.edition(round).modified).collect()
    }

    #[test]
    fn a_life_asked_at_any_round_answers_as_if_lived_through() {
        for (born, period, phase) in (0..6).flat_map(|b| (1..5).flat_map(move |p| (0..p).map(move |f| (b, p, f)))) {
            let life = Life { born, gone: None, rhythm: Rhythm::Every { period, phase } };
            let (mut number, mut last) = (0, born);
            for round in born..born + 30 {
                if round > born && round % period == phase {
                    (number, last) = (number + 1, round);
                }
                assert_eq!(life.edition(round), Edition { number, modified: last }, "{life:?} at {round}");
                assert_eq!(life.moment(number), last);
            }
        }
    }

    #[test]
    fn what_alternates_comes_back_to_its_first_text() {
        let life = Life { born: 1, gone: None, rhythm: Rhythm::Alternate { period: 3, phase: 0 } };
        let numbers: Vec<u32> = (1..9).map(|round| life.edition(round).number).collect();
        assert_eq!(numbers, [0, 0, 1, 1, 1, 0, 0, 0]);
        assert_eq!(modified(life), [1, 1, 3, 3, 3, 6, 6, 6]);
        assert_eq!((life.moment(0), life.moment(1)), (1, 1));
    }

    #[test]
    fn the_far_future_does_not_overflow() {
        let life = Life { born: 30, gone: None, rhythm: Rhythm::Every { period: 1, phase: 0 } };
        assert_eq!(life.edition(u32::MAX - 1).modified, u32::MAX - 1);
        assert!(life.edition(u32::MAX).modified >= u32::MAX - 1);
        assert_eq!(Life { gone: Some(31), ..life }.fate(u32::MAX), Fate::Gone);
    }
}
