//! Rings of `herodotus-ring` in a simulated world: machines with virtual nodes, liars among them, faults of all kinds, and the figures that
//! `herodotus sim ring` prints.

mod cluster;
mod drizzle;
mod faults;
mod figures;
mod liar;
mod machine;
mod report;
mod size;

pub use cluster::{Cluster, Setting};
pub use drizzle::Drizzle;
pub use faults::{FAULTS, Fault, SETTLE, Storm, StormEnd};
pub use figures::{NODES_MAX, Options, run};
pub use liar::{Liar, Lie};
pub use machine::{Machine, Note, contact_of, slot_of};
pub use report::{Phase, Report, Sample};
pub use size::envelope_bytes;
