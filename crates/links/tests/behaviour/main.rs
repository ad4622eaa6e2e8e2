//! Links on their way to other machines: their written form, and the box in which they wait.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batch;
mod outbox;
