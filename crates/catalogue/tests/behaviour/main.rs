//! The catalogue behind a store: what it finds, what it survives, and the form it was first written in.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

mod golden;
mod many;
mod safety;
mod support;
mod titles;
