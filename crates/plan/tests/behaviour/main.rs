//! The plan's arithmetic: what must hold for any numbers, and the thesis's own.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod properties;
mod thesis;
