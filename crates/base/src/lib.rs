//! The words every other crate speaks: digests of bytes, moments in time, and the numbers that bound things.
//!
//! Nothing here touches a clock, a file or a socket, except [`Timestamp::now`], which exists for programs' edges.

pub mod digest;
pub mod id;
pub mod limits;
pub mod time;

pub use digest::{Digester, Digests, Sha1, Sha256};
pub use id::{Distance, Id, PeerKey};
pub use time::{TimeError, Timestamp};
