//! Finds what two machines do not both hold on an arc, at a cost that grows with the difference and hardly with what is the same.
//!
//! One side asks ([`Comparison`]), the other answers and remembers nothing ([`answer`]): whoever restarts costs the other a question. First the whole
//! arc's sums; if they differ, the answering side cuts the arc into pieces with about equal counts, of which those that differ are gone on with;
//! what is in them is told apart with coded symbols, or with a plain list of short ids where that is cheaper. Short ids are salted for each comparison.
//!
//! Promises: nothing that both hold is reported, and what is reported is lacking, as of some moment while it ran; a difference that a
//! fingerprint hid is not hidden from the next comparison. Memory is bounded whatever the sets are, so results come in parts. A peer that lies ends
//! in an error or in short ids that nobody can turn into entries. For letting go of entries that is not enough: there is [`Confirmation`], by full marks.
//!
//! The idea is from Meyer, "Range-Based Set Reconciliation" (2023), and Yang, Gilad and Alizadeh, "Practical Rateless Set Reconciliation" (2024).

mod answer;
mod comparison;
mod confirm;
mod cut;
pub mod limits;
mod message;
mod plain;
mod span;
mod symbol;
mod unit;

pub use answer::{answer, resolve};
pub use comparison::{Comparison, Found, Step};
pub use confirm::{Confirmation, Confirmed};
pub use message::{Answer, Ask, Cut, Piece, Question, Reply, names_asked};
pub use span::{Bounds, Span, Spans};
pub use symbol::{Share, Short, Symbol};

use crate::{Mark, Sum};
use herodotus_base::Id;

/// What a machine holds. Both are read as scans: the sums once or twice in a comparison, the marks of what differs some two or three times.
pub trait Holdings {
    type Error;

    /// Each place on the span with the sum of its entries, clockwise from the span's beginning. A place may come in several parts, one after another.
    fn sums(&self, span: Span) -> impl Iterator<Item = Result<(Id, Sum), Self::Error>>;

    /// The mark of every entry on the span, place by place clockwise; at one place in any order that stays.
    fn marks(&self, span: Span) -> impl Iterator<Item = Result<(Id, Mark), Self::Error>>;
}

/// Why a comparison ended before its time. Nothing was changed anywhere; what was found until then is true.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error<E> {
    /// Our disk.
    #[error("what is held here could not be read: {0}")]
    Holdings(E),
    /// The other side is broken or lies.
    #[error("the other side sent what cannot be: {0}")]
    Peer(&'static str),
    /// Nobody's fault: it is being written to. Compare again later.
    #[error("what the other side holds changed with every answer")]
    Moving,
    /// Too many differences for one go, or a peer that keeps us busy. Take over what was found, then compare anew.
    #[error("the comparison took more questions than one may")]
    TooLong,
    /// Our mistake.
    #[error("more entries than can be confirmed in one go")]
    TooMany,
    /// Our mistake.
    #[error("the comparison ended with an error before")]
    Over,
}
