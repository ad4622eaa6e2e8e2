//! Files read and written: whole ones, broken ones, and any bytes at all.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod containers;
mod corpus;
mod hostile_files;
mod hostile_records;
mod random;
mod write;
