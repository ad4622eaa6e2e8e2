//! The fetcher against servers that keep the rules, break them, or mean harm.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod authority;
mod common;
mod hostile;
mod http1;
mod http2;
mod replay;
mod tls;
