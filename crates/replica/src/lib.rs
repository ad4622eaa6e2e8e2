//! Copies: who holds what, and how two holders find what the other lacks. Pure machines: no clock, socket, file or chance inside.
//!
//! [`compare`] tells two sets of entries apart at a cost that grows with their difference. [`custody`] decides who is to hold copies of a node's
//! arc, who of them counts, and what may be let go. Decision 0012 has the reasons.

pub mod compare;
pub mod custody;
pub mod mark;

pub use mark::{Mark, Sum};
