//! How a fetch ends: with an [`Exchange`], whole or cut short, or with a [`Failure`] because no response was had.
//!
//! Every way to end has a stable name (`code`, for logs and `--json`) and a sentence for people. A response whose head
//! came is never a failure: what there is of it is worth keeping, with the reason why it ends where it does.

use crate::address::NotGlobal;
use herodotus_base::Timestamp;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// A request that was answered.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// When the request was sent.
    pub time: Timestamp,
    /// The exact bytes of the request; for HTTP/2, the same as HTTP/1.1 would send them.
    pub request: Vec<u8>,
    pub status: u16,
    /// The address that was dialled.
    pub remote: SocketAddr,
    pub protocol: Protocol,
    pub tls: Option<TlsInfo>,
    /// Why the body is not whole. `None` if it is, or was not wanted.
    pub truncated: Option<Truncated>,
    /// There is a body, and the receiver did not want it.
    pub body_left: bool,
    /// What [`crate::Receiver::wire`] and [`crate::Receiver::content`] were given.
    pub wire_bytes: u64,
    pub content_bytes: u64,
    /// Why content was not given, or not to the end, although the body is here.
    pub coding_error: Option<CodingError>,
    pub took: Took,
    /// The connection had served a request before.
    pub reused: bool,
}

/// Machines tell each other: the order of the names is for ever, here and in [`Truncated`] and [`H2Reason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    Http10,
    Http11,
    Http2,
}

impl Protocol {
    /// As WARC-Protocol and ALPN write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http10 => "http/1.0",
            Self::Http11 => "http/1.1",
            Self::Http2 => "h2",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsInfo {
    /// `tls/1.3`, as WARC-Protocol writes it.
    pub version: &'static str,
    /// `TLS13_AES_256_GCM_SHA384`
    pub cipher: &'static str,
}

impl TlsInfo {
    /// The same from words that another machine sent. What we have no name for is `unknown`.
    pub fn named(version: &str, cipher: &str) -> Self {
        let suites = rustls::crypto::ring::ALL_CIPHER_SUITES.iter().filter_map(|suite| suite.suite().as_str());
        Self {
            version: if version == "tls/1.2" { "tls/1.2" } else { "tls/1.3" },
            cipher: suites.into_iter().find(|name| *name == cipher).unwrap_or("unknown"),
        }
    }
}

/// Where the time went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// Lookup, connection and handshake; zero on a connection that was open.
    pub connect: Duration,
    /// From the request sent to the end of the head.
    pub first_byte: Duration,
    /// Everything.
    pub whole: Duration,
}

/// Why a body ends before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Truncated {
    #[error("the body is longer than the {cap} bytes that are taken")]
    Length { cap: u64 },
    #[error("the body unpacks to more than the {cap} bytes that are taken")]
    Decoded { cap: u64 },
    #[error("the time for the whole exchange was up")]
    Time,
    #[error("the server fell silent in the middle of the body")]
    Idle,
    #[error("the body came more slowly than {bytes_per_s} bytes per second")]
    Slow { bytes_per_s: u64 },
    #[error("the connection ended in the middle of the body")]
    Disconnect,
    #[error("the chunks of the body make no sense")]
    Chunking,
    #[error("the server broke the body off (HTTP/2: {0})")]
    Reset(H2Reason),
}

impl Truncated {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Length { .. } => "length",
            Self::Decoded { .. } => "decoded_length",
            Self::Time => "time",
            Self::Idle => "idle",
            Self::Slow { .. } => "slow",
            Self::Disconnect => "disconnect",
            Self::Chunking => "chunking",
            Self::Reset(_) => "reset",
        }
    }

    /// The word of `WARC-Truncated`.
    pub fn warc(&self) -> &'static str {
        match self {
            Self::Length { .. } | Self::Decoded { .. } => "length",
            Self::Time | Self::Idle | Self::Slow { .. } => "time",
            Self::Disconnect | Self::Reset(_) => "disconnect",
            Self::Chunking => "unspecified",
        }
    }
}

/// Why content was not given to the end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodingError {
    #[error("the body is in a coding that is not known: {0}")]
    Unknown(String),
    #[error("the body is in more codings upon one another than are taken apart")]
    TooMany,
    #[error("the body is not the {0} that it claims to be")]
    Broken(&'static str),
    #[error("the body is whole, but the {0} in it ends early")]
    EndsEarly(&'static str),
}

impl CodingError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "coding_unknown",
            Self::TooMany => "codings_too_many",
            Self::Broken(_) => "coding_broken",
            Self::EndsEarly(_) => "coding_ends_early",
        }
    }
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("the name of the host could not be looked up: {0}")]
    Dns(io::Error),
    #[error("looking up the name of the host took too long")]
    DnsTimeout,
    #[error("the name of the host has no address")]
    NoAddress,
    /// Nothing was dialled.
    #[error("{addr} must not be visited: it is {why}. --allow-private {}/{} would allow it", addr.ip(), if addr.is_ipv4() { 32 } else { 128 })]
    Forbidden { addr: SocketAddr, why: NotGlobal },
    /// Nothing was dialled.
    #[error("port {0} must not be visited: something other than a web server listens there")]
    ForbiddenPort(u16),
    #[error("connecting took too long")]
    ConnectTimeout,
    #[error("no connection: {0}")]
    Connect(io::Error),
    #[error("TLS: {0}")]
    Tls(#[from] TlsFailure),
    #[error("the server sent no head, or not all of it, in time")]
    FirstByteTimeout,
    #[error("the head of the response is longer than {cap} bytes")]
    HeadTooLarge { cap: usize },
    #[error("the head of the response has more than {cap} headers")]
    TooManyHeaders { cap: usize },
    #[error("what the server said is not HTTP")]
    NotHttp,
    #[error("the server closed the connection before the head of a response was there")]
    ClosedBeforeHead,
    #[error("HTTP/2: {0}")]
    Http2(H2Reason),
    /// Ours, not the site's: whoever takes the body could not.
    #[error("the body could not be kept: {0}")]
    Sink(io::Error),
    /// What another machine met that asked in our place.
    #[error("{text}")]
    Elsewhere { code: &'static str, is_temporary: bool, text: String },
}

/// Every name that a failure has.
const CODES: [&str; 32] = [
    "dns",
    "dns_timeout",
    "no_address",
    "forbidden_address",
    "forbidden_port",
    "connect_timeout",
    "connect_refused",
    "connect",
    "tls_expired",
    "tls_not_yet_valid",
    "tls_unknown_issuer",
    "tls_wrong_name",
    "tls_revoked",
    "tls_certificate",
    "tls_bad_name",
    "tls_timeout",
    "tls_closed",
    "tls_handshake",
    "tls_no_roots",
    "first_byte_timeout",
    "head_too_large",
    "too_many_headers",
    "not_http",
    "closed_before_head",
    "h2_reset",
    "h2_goaway",
    "h2_protocol",
    "h2_flood",
    "h2_closed",
    "sink",
    "robots_unavailable",
    "elsewhere",
];

impl Failure {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Dns(_) => "dns",
            Self::DnsTimeout => "dns_timeout",
            Self::NoAddress => "no_address",
            Self::Forbidden { .. } => "forbidden_address",
            Self::ForbiddenPort(_) => "forbidden_port",
            Self::ConnectTimeout => "connect_timeout",
            Self::Connect(error) if error.kind() == io::ErrorKind::ConnectionRefused => "connect_refused",
            Self::Connect(_) => "connect",
            Self::Tls(failure) => failure.code(),
            Self::FirstByteTimeout => "first_byte_timeout",
            Self::HeadTooLarge { .. } => "head_too_large",
            Self::TooManyHeaders { .. } => "too_many_headers",
            Self::NotHttp => "not_http",
            Self::ClosedBeforeHead => "closed_before_head",
            Self::Http2(reason) => reason.code(),
            Self::Sink(_) => "sink",
            Self::Elsewhere { code, .. } => code,
        }
    }

    /// A name that another machine sent, as we have it. A newer program may have more.
    pub fn code_named(name: &str) -> &'static str {
        CODES.into_iter().find(|code| *code == name).unwrap_or("elsewhere")
    }

    /// Whether the same question may well be answered in an hour.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Dns(_) | Self::DnsTimeout | Self::NoAddress | Self::ConnectTimeout | Self::Connect(_) => true,
            Self::FirstByteTimeout | Self::ClosedBeforeHead | Self::Http2(_) | Self::Sink(_) => true,
            Self::Tls(failure) => matches!(failure, TlsFailure::Timeout | TlsFailure::Closed),
            Self::Forbidden { .. } | Self::ForbiddenPort(_) => false,
            Self::HeadTooLarge { .. } | Self::TooManyHeaders { .. } | Self::NotHttp => false,
            Self::Elsewhere { is_temporary, .. } => *is_temporary,
        }
    }
}

/// Why no trusted channel came about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsFailure {
    #[error("the certificate has expired")]
    Expired,
    #[error("the certificate is not valid yet")]
    NotYetValid,
    #[error("the certificate is self-signed or of an issuer that is not known")]
    UnknownIssuer,
    #[error("the certificate is for another name")]
    WrongName,
    #[error("the certificate has been revoked")]
    Revoked,
    #[error("the certificate cannot be used: {0}")]
    Certificate(String),
    #[error("the name of the host cannot stand in a certificate")]
    BadName,
    #[error("the handshake took too long")]
    Timeout,
    #[error("the server closed the connection during the handshake")]
    Closed,
    #[error("the handshake failed: {0}")]
    Handshake(String),
    #[error("this machine has no root certificates: install them (on Debian, the package ca-certificates)")]
    NoRoots,
}

impl TlsFailure {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Expired => "tls_expired",
            Self::NotYetValid => "tls_not_yet_valid",
            Self::UnknownIssuer => "tls_unknown_issuer",
            Self::WrongName => "tls_wrong_name",
            Self::Revoked => "tls_revoked",
            Self::Certificate(_) => "tls_certificate",
            Self::BadName => "tls_bad_name",
            Self::Timeout => "tls_timeout",
            Self::Closed => "tls_closed",
            Self::Handshake(_) => "tls_handshake",
            Self::NoRoots => "tls_no_roots",
        }
    }

    /// What went wrong in a handshake, from the error that the stream gave.
    pub(crate) fn of(error: &io::Error) -> Self {
        use rustls::CertificateError as C;
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::InvalidCertificate(certificate)) => match certificate {
                C::Expired | C::ExpiredContext { .. } => Self::Expired,
                C::NotValidYet | C::NotValidYetContext { .. } => Self::NotYetValid,
                C::UnknownIssuer => Self::UnknownIssuer,
                C::NotValidForName | C::NotValidForNameContext { .. } => Self::WrongName,
                C::Revoked => Self::Revoked,
                // A certificate that is its own authority, as self-signed ones made in a hurry are.
                C::Other(_) if format!("{certificate:?}").contains("CaUsedAsEndEntity") => Self::UnknownIssuer,
                other => Self::Certificate(short(other)),
            },
            Some(other) => Self::Handshake(short(other)),
            None if is_end(error) => Self::Closed,
            None => Self::Handshake(short(error)),
        }
    }
}

/// What HTTP/2 gives as a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum H2Reason {
    #[error("the stream was reset with code {0}")]
    Reset(u32),
    #[error("the server sent the connection away with code {0}")]
    GoAway(u32),
    #[error("the server broke the protocol, code {0}")]
    Protocol(u32),
    #[error("the server flooded the connection")]
    Flood,
    #[error("the connection ended")]
    Closed,
}

impl H2Reason {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Reset(_) => "h2_reset",
            Self::GoAway(_) => "h2_goaway",
            Self::Protocol(_) => "h2_protocol",
            Self::Flood => "h2_flood",
            Self::Closed => "h2_closed",
        }
    }
}

/// The other side went away, in one of the ways that systems report it.
pub(crate) fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
}

/// An error's text may quote the other side: not more than a line of it.
fn short(error: &impl ToString) -> String {
    error.to_string().chars().filter(|char| !char.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_machine_names_is_what_we_name() {
        let some = [
            Failure::Dns(io::Error::other("")),
            Failure::Connect(io::ErrorKind::ConnectionRefused.into()),
            Failure::Connect(io::Error::other("")),
            Failure::ForbiddenPort(25),
            Failure::Tls(TlsFailure::NoRoots),
            Failure::Http2(H2Reason::Flood),
            Failure::ClosedBeforeHead,
        ];
        for failure in some {
            assert_eq!(Failure::code_named(failure.code()), failure.code());
        }
        assert_eq!(Failure::code_named("of a later age"), "elsewhere");
        let tls = TlsInfo::named("tls/1.2", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
        assert_eq!((tls.version, tls.cipher), ("tls/1.2", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"));
        assert_eq!(TlsInfo::named("?", "?").cipher, "unknown");
    }
}
