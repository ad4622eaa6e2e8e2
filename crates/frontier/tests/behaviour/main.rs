//! The frontier on a virtual clock: what is visited when, what is kept, and what a share of a crawl is.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod change;
mod golden;
mod machine;
mod share;
mod support;
