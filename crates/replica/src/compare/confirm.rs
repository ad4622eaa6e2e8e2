//! Asking another machine whether it holds entries, before they are let go here.
//!
//! First by places: where the other holds exactly what is asked about, one sum is enough. Where it holds more or less than that, mark by mark. Both
//! are over full marks; nothing that was cut short or salted decides over a deletion. That the other tells the truth is for the audits to find.

use super::Error;
use super::limits::CONFIRMED_MAX;
use super::message::{Answer, Ask, Question, Reply};
use crate::{Mark, Sum};
use herodotus_base::Id;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Asks one machine about some entries.
#[derive(Debug)]
pub struct Confirmation {
    stage: Stage,
    /// Those that are not decided yet, in order.
    places: Vec<(Id, Vec<Mark>)>,
    held: Vec<(Id, Mark)>,
    lacking: Vec<(Id, Mark)>,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Sums,
    Marks,
    Over,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Confirmed {
    Ask(Question),
    /// All entries, by whether the other holds them.
    Done {
        held: Vec<(Id, Mark)>,
        lacking: Vec<(Id, Mark)>,
    },
}

impl Confirmation {
    /// At most [`CONFIRMED_MAX`] entries, in any order. All those of a place should be in one confirmation, or its sum is of no use.
    pub fn new(entries: impl IntoIterator<Item = (Id, Mark)>) -> Result<Self, Error<Infallible>> {
        let mut places = BTreeMap::<Id, Vec<Mark>>::new();
        for (count, (place, mark)) in entries.into_iter().enumerate() {
            if count == CONFIRMED_MAX {
                return Err(Error::TooMany);
            }
            places.entry(place).or_default().push(mark);
        }
        let places = places.into_iter().map(|(place, mut marks)| {
            marks.sort_unstable();
            // A mark that came twice would make a sum that nobody has.
            marks.dedup();
            (place, marks)
        });
        Ok(Self { stage: Stage::Sums, places: places.collect(), held: Vec::new(), lacking: Vec::new() })
    }

    /// Takes the answer to the question before, if there was one; without it, the question is asked again.
    pub fn next(&mut self, answer: Option<Answer>) -> Result<Confirmed, Error<Infallible>> {
        if let Some(Answer::V1(reply)) = answer {
            let Reply::Held(bits) = reply else { return Err(Error::Peer("an answer to something else")) };
            match self.stage {
                Stage::Sums => self.take_sums(&bits)?,
                Stage::Marks => self.take_marks(&bits)?,
                Stage::Over => return Err(Error::Peer("an answer to nothing")),
            }
        }
        if self.places.is_empty() {
            self.stage = Stage::Over;
            let (held, lacking) = (std::mem::take(&mut self.held), std::mem::take(&mut self.lacking));
            return Ok(Confirmed::Done { held, lacking });
        }
        let ask = match self.stage {
            Stage::Sums => {
                Ask::HoldsSums { places: self.places.iter().map(|(place, marks)| (*place, sum(marks))).collect() }
            }
            _ => Ask::HoldsMarks { places: self.places.clone() },
        };
        Ok(Confirmed::Ask(Question::V1(ask)))
    }

    fn take_sums(&mut self, bits: &[u8]) -> Result<(), Error<Infallible>> {
        let held = flags(bits, self.places.len())?;
        let places = std::mem::take(&mut self.places);
        for ((place, marks), is_held) in places.into_iter().zip(held) {
            match is_held {
                true => self.held.extend(marks.into_iter().map(|mark| (place, mark))),
                false => self.places.push((place, marks)),
            }
        }
        self.stage = Stage::Marks;
        Ok(())
    }

    fn take_marks(&mut self, bits: &[u8]) -> Result<(), Error<Infallible>> {
        let held = flags(bits, self.places.iter().map(|(_, marks)| marks.len()).sum())?;
        let places = std::mem::take(&mut self.places);
        let entries = places.into_iter().flat_map(|(place, marks)| marks.into_iter().map(move |mark| (place, mark)));
        for (entry, is_held) in entries.zip(held) {
            if is_held { &mut self.held } else { &mut self.lacking }.push(entry);
        }
        Ok(())
    }
}

fn sum(marks: &[Mark]) -> Sum {
    let mut sum = Sum::default();
    marks.iter().for_each(|mark| sum.add(*mark));
    sum
}

fn flags(bits: &[u8], count: usize) -> Result<Vec<bool>, Error<Infallible>> {
    if bits.len() != count.div_ceil(8) {
        return Err(Error::Peer("more or fewer bits than were asked for"));
    }
    Ok((0..count).map(|at| bits[at / 8] >> (at % 8) & 1 == 1).collect())
}
