//! Wiring: drives the pure machines with real time, network and disk.
//!
//! [`crawl`] runs a frontier against the web, and keeps what comes back in the store.

pub mod crawl;
