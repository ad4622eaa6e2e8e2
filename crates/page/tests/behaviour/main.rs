//! What is read in pages, and what replay makes of them.
//!
//! One program for all of them, because each program is linked with everything the crate needs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod html_files;
mod links;
mod rewrite;
mod robots;
mod surt;
mod text;
