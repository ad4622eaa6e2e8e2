//! The web of the tests, itself tested. `hostile_end` is beside this: it counts the threads of its process.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod server;
mod visits;
mod web;
