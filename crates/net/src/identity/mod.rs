//! Who may speak, and who may stand where.
//!
//! A ring is its [`Charter`], and the ring's name in the protocol is the charter's hash. In a closed ring the owner's key signs a
//! [`Pass`] for each machine that came with a [`Ticket`], and a list of those it shut out again; [`Admission`] is what one
//! machine knows of all that and keeps in files. In an open ring anybody may speak, but a place on the circle belongs to an
//! address, and [`place`] tells whether a claim to one holds.
//!
//! Promised: nobody is admitted twice by one ticket, and no pass works for another key than its own. What can be lost: a machine
//! that has not heard of a revocation yet serves the revoked one until it does; every hello and every open connection carries
//! the news. The owner's key exists once; whoever loses it can neither invite nor revoke, and the ring goes on as it is.

pub mod admission;
pub mod charter;
pub(crate) mod file;
pub mod holders;
pub mod invitation;
pub mod pass;
pub mod place;
mod signature;
pub mod ticket;

pub use admission::Admission;
pub use charter::{Charter, Draft, RingId, RingKind, Terms};
pub use holders::Holders;
pub use invitation::Invitation;
pub use pass::{Pass, Revocations};
pub use place::{Claim, PlaceError, check_place};
pub use signature::Signature;
pub use ticket::Ticket;
