//! Crawls, and machines of one ring, each in one process.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod copies;
mod hostile;
mod machines;
mod newcomer;
mod refused;
mod shipping;
mod split;
mod support;
mod truth;
mod unsure;
