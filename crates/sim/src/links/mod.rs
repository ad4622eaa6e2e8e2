//! Link exchange in a simulated world: outboxes of `herodotus-links` on a ring whose ownership is told to them, late and in no order, while
//! machines die with and without their disks and the network loses, doubles, delays and divides.

mod disk;
mod machine;
mod storm;

pub use disk::Disk;
pub use machine::{Machine, Message, Note, View};
pub use storm::{Storm, StormEnd};
