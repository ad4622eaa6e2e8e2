//! The catalogue: archived pages found by the words of their titles.
//!
//! It is derived from the archive and lies beside it: delete it, and it is made again. [`Catalogue::catch_up`] follows
//! the store's feed from a cursor that is written together with what was learnt up to there, so that a crash costs
//! nothing but the last few captures, which are read again. Nothing is found whose capture was removed: the archive is
//! asked before anything is answered.
//!
//! Not a search engine: titles, not texts; words, not meanings; a bounded look at the shortest titles rather than all.

mod catalogue;
mod error;
pub mod limits;
mod rows;
mod search;
mod title;
mod words;

pub use catalogue::{Catalogue, CaughtUp};
pub use error::{Error, Result};
pub use search::{Found, rank};
