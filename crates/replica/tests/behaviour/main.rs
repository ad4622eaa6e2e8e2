//! Who keeps what: comparing two holders, keeping custody, watching over owners.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod compare;
mod custody;
mod oversight;
