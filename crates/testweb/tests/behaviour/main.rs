//! The web of the tests, itself tested. Beside this are `hostile`, whose visitors wait for fractions of a second, and `hostile_end`, which counts the threads of its process.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod server;
mod visits;
mod web;
