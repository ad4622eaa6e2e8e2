//! QUIC peers: bounded frames between machines that know each other by key, and the decision who may speak.
//!
//! It knows nothing of rings, stores or pages. An [`Endpoint`] calls, notifies and streams to an [`Address`] and hands what
//! others ask to a [`Service`]; [`identity`] holds who is let in. Connections, calls, bytes, strangers and grudges are all
//! bounded by [`Limits`]. With direct addresses, which is the default, nothing else is asked: no relay, no discovery.
//!
//! Below it lies iroh (QUIC, dialled by public key). The shape, one stream per call and a hello first, is that of most QUIC
//! protocols; refusing strangers by address validation is RFC 9000, section 8.

pub mod address;
mod bans;
mod bucket;
mod endpoint;
pub mod error;
mod frame;
mod gate;
#[cfg(test)]
mod golden;
mod greet;
pub mod identity;
mod join;
pub mod limits;
mod link;
mod prove;
mod serve;
mod service;
mod settings;
mod status;
mod stream;
mod table;
mod transport;

pub use address::{Address, Caller, Kind};
pub use endpoint::Endpoint;
pub use error::{CallError, NetError, Refusal};
pub use identity::{
    Admission, Charter, Claim, Draft, Holders, Invitation, Pass, PlaceError, Revocations, RingId, RingKind, Terms,
    Ticket, check_place,
};
pub use join::join;
pub use link::Side;
pub use service::{BoxFuture, Service};
pub use settings::{Limits, Relay, Settings};
pub use status::PeerStatus;
pub use stream::{Stream, StreamReader, StreamWriter};

/// The key by which others know the machine that has this secret.
pub fn public_key(secret: &[u8; 32]) -> herodotus_base::PeerKey {
    herodotus_base::PeerKey(*iroh::SecretKey::from_bytes(secret).public().as_bytes())
}
