//! The guarded HTTP client of the crawler: one request, one response, whatever the server does.
//!
//! Promises: the bytes handed to a [`Receiver`] are those that came; no address outside the open internet is dialled
//! unless allowed; every exchange ends within its deadlines, in bounded memory, with an outcome that has a name; what
//! one host does is no concern of another. Nothing is kept between exchanges but open connections: no cookies.
//!
//! HTTP/1.x is read here, because an archive wants exact bytes and takes what browsers take; HTTP/2 is the `h2` crate's,
//! TLS is rustls's.

mod address;
mod ask;
mod body;
mod chunked;
mod coding;
mod config;
mod dial;
mod errand;
mod fetcher;
mod h1;
mod h2;
pub mod limits;
mod outcome;
mod pool;
mod receiver;
mod replay;
mod resolve;
mod stream;
mod watch;

pub use address::{NotGlobal, not_global};
pub use ask::{Ask, Validators};
pub use config::{Caps, Config, ConfigError, ConnectTo, Deadlines, MinRate, Roots};
pub use fetcher::Fetcher;
pub use herodotus_page::ResponseHead;
pub use outcome::{CodingError, Exchange, Failure, H2Reason, Protocol, TlsFailure, TlsInfo, Took, Truncated};
pub use receiver::{Receiver, Wish};
pub use replay::Replay;
pub use resolve::{Addresses, Resolve, SystemResolver};
pub use rustls::pki_types::CertificateDer;
