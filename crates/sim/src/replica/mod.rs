//! Copies, simulated: machines that each run `herodotus_replica`'s custodian over a store that is a row of bits, on an ideal ring whose changes each learns of in
//! its own time. [`Storm`] does them harm for days and then holds every promise against what is there; [`run`] lets machines come and go for
//! months and says what is lost and what repair costs.
//!
//! What it cannot show: faults of the real store and transport, and of the ring's own protocol, which is simulated in [`crate::ring`].

mod errands;
mod figures;
mod lie;
mod promises;
mod record;
mod report;
mod shelf;
mod storm;
mod world;

pub use figures::{Options, run};
pub use lie::{Lie, LieEnd};
pub use report::{Report, Row};
pub use storm::{Storm, StormEnd};
