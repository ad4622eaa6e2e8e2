//! Rings of a few nodes on a virtual clock: coming, going, searching, failing, being cut off, and being lied to.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod circle;
mod core;
mod events;
mod fingers;
mod golden;
mod hostile;
mod passage;
mod search;
