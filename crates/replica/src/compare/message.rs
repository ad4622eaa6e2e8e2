//! What the two sides of a comparison say to each other. Every question has all that its answer needs; the node carries them with `postcard`.
//!
//! A version is a variant: what was sent once is never changed, a new form is a new variant.

use super::Short;
use super::limits::NAMES_MAX;
use super::span::{Bounds, Span, Spans};
use super::symbol::{Share, Symbol};
use crate::{Mark, Sum};
use herodotus_base::Id;
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Question {
    V1(Ask),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Answer {
    V1(Reply),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Is this what you hold there? If not, in which pieces do you hold it? [`Reply::Same`] is exact.
    Whole { salt: u64, span: Span, sum: Sum },
    /// In which pieces do you hold these?
    Cut { salt: u64, spans: Spans },
    /// Symbols, from one index until before another, of what you hold there.
    Symbols { salt: u64, spans: Spans, share: Share, from: u32, until: u32 },
    /// The short ids of all that you hold there.
    List { salt: u64, spans: Spans, share: Share },
    /// What are these the short ids of?
    Names { salt: u64, spans: Spans, shorts: Vec<Short> },
    /// At which of these places do you hold exactly this? Places in order.
    HoldsSums { places: Vec<(Id, Sum)> },
    /// Which of these do you hold? Places in order.
    HoldsMarks { places: Vec<(Id, Vec<Mark>)> },
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Reply {
    Same,
    /// One for each span of the question.
    Cut(Vec<Cut>),
    /// `entries` and `digest` are of all that the symbols are made of: while they stay, answers belong together.
    Symbols {
        entries: u64,
        digest: [u8; 8],
        symbols: Vec<Symbol>,
    },
    List(Vec<Short>),
    /// A list would not fit into an answer.
    TooMany,
    Names(Vec<(Id, Vec<Mark>)>),
    /// A bit for each place or mark of the question, the lowest first.
    Held(Vec<u8>),
}

impl Question {
    /// The arc that has all places of a question by which another wants to let go of what it holds there: not to be answered yes unless
    /// [`crate::custody::Custodian::vouch`] says so.
    pub fn relies_on(&self) -> Option<(Id, Id)> {
        let Self::V1(ask) = self;
        let (first, last) = match ask {
            Ask::HoldsSums { places } => (places.first()?.0, places.last()?.0),
            Ask::HoldsMarks { places } => (places.first()?.0, places.last()?.0),
            _ => return None,
        };
        Some((Span::at(first).from, last))
    }

    /// No, none of that: the answer where nobody may rely on us.
    pub fn denial(&self) -> Answer {
        let Self::V1(ask) = self;
        let asked = match ask {
            Ask::HoldsSums { places } => places.len(),
            Ask::HoldsMarks { places } => places.iter().map(|(_, marks)| marks.len()).sum(),
            _ => 0,
        };
        Answer::V1(Reply::Held(vec![0; asked.div_ceil(8)]))
    }
}

/// A span in pieces, clockwise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cut {
    /// Where one piece ends and the next begins.
    pub bounds: Bounds,
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Piece {
    pub fingerprint: [u8; 6],
    pub entries: u64,
}

/// The questions by which short ids that were found become places and marks.
pub fn names_asked(salt: u64, spans: &[Span], shorts: &[Short]) -> impl Iterator<Item = Question> {
    let spans = Spans::pack(spans);
    shorts
        .chunks(NAMES_MAX)
        .map(move |shorts| Question::V1(Ask::Names { salt, spans: spans.clone(), shorts: shorts.to_vec() }))
}
