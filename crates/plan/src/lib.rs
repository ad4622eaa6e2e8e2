//! How many machines an archive of the web needs, how much travels between them, and how safe it is.
//!
//! The arithmetic of chapters 3 and 6 of the thesis (Burkard, "Herodotus", MIT 2002), one function for each question, with what
//! has changed since as inputs: [`Inputs`] of a [`Preset`], or anybody's own, go into [`plan`], and a [`Plan`] comes out.
//! [`thesis::figures`] lays ours beside the thesis's.
//!
//! It promises that whatever is put in gives finite numbers or an [`Error`] that says what to do. It knows nothing of the
//! program: a figure is as good as what goes in, and docs/PLAN.md says what the model leaves out.

mod durability;
mod error;
mod fleet;
mod inputs;
pub mod limits;
mod preset;
pub mod thesis;
mod traffic;
mod volume;

pub use durability::{Durability, Filling};
pub use error::{Error, Result};
pub use fleet::{Bound, Fleet};
pub use inputs::{Crawl, Inputs, Links, Machine, Packing, Repair, Ring, Web};
pub use preset::{Preset, source};
pub use traffic::{Flow, Traffic};
pub use volume::{Amount, Volume};

use serde::Serialize;

/// The thesis counts thirty days to a month, and so do we.
pub const DAYS_PER_MONTH: f64 = 30.0;
pub const SECONDS_PER_DAY: f64 = 86_400.0;

/// Everything that follows from the inputs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Plan {
    pub inputs: Inputs,
    pub volume: Volume,
    /// One copy of everything, when the months are over.
    pub stored_bytes: f64,
    pub fleet: Fleet,
    /// Of all copies, the part of one machine.
    pub held_bytes: f64,
    /// What all machines together send and receive in a day.
    pub traffic: Traffic,
    /// How long the first round takes at the least: all that a machine gives, day and night.
    pub first_round_days: Option<f64>,
    pub filling: Filling,
    pub durability: Durability,
    /// The same with other numbers of copies.
    pub by_copies: Vec<WithCopies>,
}

/// What another number of copies would mean.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct WithCopies {
    pub copies_count: u32,
    pub nodes_count: u64,
    pub loss_share_per_year: f64,
    pub absent_share: f64,
}

/// Answers everything.
pub fn plan(inputs: &Inputs) -> Result<Plan> {
    inputs.check()?;
    let volume = Volume::of(inputs);
    let fleet = Fleet::of(inputs, &volume)?;
    let nodes = fleet.planned_count;
    let held_bytes = fleet::held_bytes(inputs, &volume, nodes);
    Ok(Plan {
        stored_bytes: volume.stored_bytes(inputs.crawl.months),
        held_bytes,
        traffic: Traffic::of(inputs, &volume, nodes),
        first_round_days: traffic::first_round_days(inputs, &volume, nodes),
        filling: Filling::of(inputs),
        durability: Durability::of(inputs, held_bytes),
        by_copies: (1..=limits::COPIES_SHOWN_MAX).filter_map(|copies| with_copies(inputs, copies)).collect(),
        inputs: *inputs,
        volume,
        fleet,
    })
}

/// With so many copies and as many machines as that needs; nothing if no number of machines is enough.
fn with_copies(inputs: &Inputs, copies: u32) -> Option<WithCopies> {
    let inputs = inputs.with_copies(copies);
    let volume = Volume::of(&inputs);
    let fleet = Fleet::of(&inputs, &volume).ok()?;
    let held = fleet::held_bytes(&inputs, &volume, fleet.planned_count);
    let durability = Durability::of(&inputs, held);
    Some(WithCopies {
        copies_count: copies,
        nodes_count: fleet.planned_count,
        loss_share_per_year: durability.loss_share_per_year,
        absent_share: durability.absent_share,
    })
}
