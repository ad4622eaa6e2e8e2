//! Wiring: drives the pure machines with real time, network and disk.
//!
//! [`crawl`] runs a frontier against the web, and keeps what comes back in the store. [`Keeper`] runs many of them for
//! people who start them from a page. [`Indexer`] keeps titles findable. [`ring`] takes part in a ring of peers, and
//! [`copies`] keeps what the ring is to keep.

pub mod copies;
pub mod crawl;
mod indexer;
mod keeper;
pub mod ring;
pub mod together;

pub use indexer::Indexer;
pub use keeper::{Charge, Keeper, Urls};
