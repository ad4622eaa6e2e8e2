//! Protocol machines by the thousand, on virtual time: whatever happens to nodes in years happens here in minutes, and again the same way
//! for the same seed.
//!
//! [`World`] runs any [`Node`] over a [`Network`]; [`ring`] fills it with the machines of `herodotus-ring`, does them harm and measures;
//! [`checkers`] hold one promise each against what is there. [`replica`] is the same for copies, [`links`] for links on their way, [`together`] for whole crawls and their end. [`crawl`] is a model of its own: who fetches what. Nothing here touches a
//! clock, a socket or a file.
//!
//! What it cannot show: faults of the real transport and of the real disk, and speed on real machines. The idea and much of the manner are
//! those of the simulators of FoundationDB and TigerBeetle.

pub mod chance;
pub mod checkers;
mod clock;
pub mod crawl;
mod error;
pub mod links;
mod network;
mod node;
pub mod plot;
pub mod replica;
pub mod ring;
pub mod together;
mod world;

pub use clock::RATE_TRUE;
pub use error::{Error, Result};
pub use network::{Latency, Network, Weather};
pub use node::{Node, Out};
pub use world::{Counts, World};
