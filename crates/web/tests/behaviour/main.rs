//! What the archive says to browsers and programs. `load` is beside this: it takes a process to its limits.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod api;
#[path = "../common/mod.rs"]
mod common;
mod protocols;
mod replay;
mod ring_archive;
