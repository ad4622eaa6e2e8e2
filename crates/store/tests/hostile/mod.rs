//! Rooms of `hostile_import.rs`.
#![allow(unreachable_pub, clippy::unwrap_used, reason = "rooms of one test, which may fail")]

mod archive;
mod blobs;
mod bodies;
mod disks;
mod exchanges;
mod files;
mod fixtures;
mod large;
mod records;
mod stores;
