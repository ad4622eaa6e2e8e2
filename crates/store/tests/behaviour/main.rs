//! The store as its users see it. `hostile_import` is beside this: it starts processes, measures their memory and takes disks away.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub, reason = "a test fails by panicking")]

mod corpus;
mod crash;
mod digest;
mod entity;
mod feed;
mod fixtures;
mod golden;
mod mend;
mod model;
mod parcel;
mod release;
mod repeats;
mod shipment;
mod support;
mod warc_record;
