//! What a [`crate::Fetcher`] is allowed to do. The defaults suit strangers on the open web; tests and closed networks
//! change them.

use crate::limits;
use herodotus_base::limits::HTTP_HEAD_BYTES_MAX;
use ipnet::IpNet;
use rustls::pki_types::CertificateDer;
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Config {
    /// Who asks: sent as `User-Agent`. Visible ASCII.
    pub user_agent: String,
    pub deadlines: Deadlines,
    pub rate_min: MinRate,
    pub caps: Caps,
    /// Networks that may be dialled although they are not of the open internet.
    pub allow_private: Vec<IpNet>,
    /// Hosts that are looked for at a given address; the first that fits counts. The address is checked all the same.
    pub connect_to: Vec<ConnectTo>,
    /// Whether servers with TLS may choose HTTP/2.
    pub http2: bool,
    /// Whether gzip, br and zstd are offered. What a server sends unasked is decoded anyway.
    pub codings: bool,
    pub connections_idle_max: usize,
    pub connections_per_host_idle_max: usize,
    /// How long a connection waits for another request.
    pub connection_idle: Duration,
    pub roots: Roots,
}

/// How long each part of an exchange may take.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    pub dns: Duration,
    /// All addresses of a host together.
    pub connect: Duration,
    pub tls: Duration,
    /// From the request sent to the end of the head.
    pub first_byte: Duration,
    /// Between two pieces of a body.
    pub idle: Duration,
    /// Everything, from the lookup to the last byte.
    pub whole: Duration,
}

/// The mean rate that a body must keep once `after` has passed since its head.
#[derive(Clone, Copy, Debug)]
pub struct MinRate {
    pub bytes_per_s: u64,
    pub after: Duration,
}

#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// At most [`HTTP_HEAD_BYTES_MAX`], which is also the default.
    pub head_bytes: usize,
    pub header_count: usize,
    /// Of a body as sent.
    pub wire_bytes: u64,
    /// Of a body as decoded for [`crate::Receiver::content`].
    pub decoded_bytes: u64,
}

/// A host, or all below a domain (`*.test`, or `*` for every host), and where it is dialled on any port.
#[derive(Clone, Debug)]
pub struct ConnectTo {
    pub host: String,
    pub addr: SocketAddr,
}

/// Whose certificates are believed.
#[derive(Clone, Debug)]
pub enum Roots {
    /// Those that the operating system trusts.
    System,
    Only(Vec<CertificateDer<'static>>),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            user_agent: concat!("Mozilla/5.0 (compatible; Herodotus/", env!("CARGO_PKG_VERSION"), ")").to_owned(),
            deadlines: Deadlines::default(),
            rate_min: MinRate::default(),
            caps: Caps::default(),
            allow_private: Vec::new(),
            connect_to: Vec::new(),
            http2: true,
            codings: true,
            connections_idle_max: limits::CONNECTIONS_IDLE_MAX,
            connections_per_host_idle_max: limits::CONNECTIONS_PER_HOST_IDLE_MAX,
            connection_idle: limits::CONNECTION_IDLE_MAX,
            roots: Roots::System,
        }
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            dns: limits::DNS_WAIT_MAX,
            connect: limits::CONNECT_WAIT_MAX,
            tls: limits::TLS_WAIT_MAX,
            first_byte: limits::FIRST_BYTE_WAIT_MAX,
            idle: limits::IDLE_WAIT_MAX,
            whole: limits::WHOLE_WAIT_MAX,
        }
    }
}

impl Default for MinRate {
    fn default() -> Self {
        Self { bytes_per_s: limits::RATE_BYTES_PER_S_MIN, after: limits::RATE_GRACE }
    }
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            head_bytes: HTTP_HEAD_BYTES_MAX,
            header_count: limits::HEADER_COUNT_MAX,
            wire_bytes: limits::WIRE_BYTES_MAX,
            decoded_bytes: limits::DECODED_BYTES_MAX,
        }
    }
}

impl ConnectTo {
    pub fn new(host: impl Into<String>, addr: SocketAddr) -> Self {
        Self { host: host.into(), addr }
    }

    /// Whether a host, in lower case, is meant.
    pub(crate) fn fits(&self, host: &str) -> bool {
        match self.host.strip_prefix('*') {
            Some(domain) => host.ends_with(domain),
            None => host.eq_ignore_ascii_case(&self.host),
        }
    }
}

/// Our caller's mistakes: nothing that a site could cause.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("the user agent must be one line of visible ASCII characters, and not empty")]
    UserAgent,
    #[error("a root certificate cannot be read: {0}")]
    Root(rustls::Error),
    #[error("TLS cannot be set up: {0}")]
    Tls(rustls::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_a_host_or_all_below_a_domain() {
        let to = |host: &str| ConnectTo::new(host, ([127, 0, 0, 1], 1).into());
        for (pattern, host, fits) in [
            ("example.org", "example.org", true),
            ("example.org", "www.example.org", false),
            ("*.test", "a.test", true),
            ("*.test", "a.b.test", true),
            ("*.test", "test", false),
            ("*.test", "atest", false),
            ("*", "anything.example", true),
        ] {
            assert_eq!(to(pattern).fits(host), fits, "{pattern} {host}");
        }
    }
}
