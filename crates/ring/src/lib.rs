//! Who is responsible for what: corrected Chord as a pure machine.
//!
//! [`Core`] holds a node's neighbours and the rules by which they change; it is what the model checker explores. [`Lookup`] is one search
//! for an owner. [`Ring`] puts both into time: it decides whom to ask when, notices silence, keeps fingers and remembered
//! peers, joins, leaves, finds rings it was split from, and tells what changed as [`Event`]s.
//!
//! The outside world is `handle_*` in and [`Ring::poll_output`] out, with [`Ring::poll_timeout`] saying when to come
//! again. There is no clock, socket, file or hidden randomness inside.

mod conduct;
mod config;
mod contact;
mod core;
mod event;
mod known;
mod lookup;
pub mod placement;
mod planted;
mod ring;
mod wire;

pub use crate::core::{Core, Neighbours, distinct_machines};
pub use conduct::Duty;
pub use config::Config;
pub use contact::{ADDRESSES_MAX, Contact, Identity};
pub use event::{Event, LookupFailure, LookupId};
pub use lookup::{Lookup, Stop, Verdict};
pub use planted::Planted;
pub use ring::{Load, Output, Ring, Standing, Status};
pub use wire::{Answer, Body, Envelope, Found, Notice, Question};
