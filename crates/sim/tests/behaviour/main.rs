//! Machines by the thousand on virtual clocks, and planted bugs that must be found.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crawl;
mod links;
mod planted;
mod replay;
mod replica;
mod replica_planted;
mod scenarios;
mod storms;
mod support;
mod together;
mod together_scenarios;
