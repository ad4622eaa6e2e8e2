//! Machines that speak with each other, and with those that mean harm. `crowd` is beside this: it measures the memory of its process.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod open;
mod peers;
#[path = "../support/mod.rs"]
mod support;
