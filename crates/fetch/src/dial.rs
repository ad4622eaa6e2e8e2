//! From a host to an open connection: the address is looked up, judged, and only then dialled, as an address.
//!
//! Between judging and dialling nothing is looked up again, so a name server that changes its answer gains nothing.
//! Of several addresses, those allowed are tried in turn until one answers (RFC 8305 without the race).

use crate::address;
use crate::config::{Config, ConfigError, Roots};
use crate::limits::{ADDRESS_WAIT_MAX, ADDRESSES_MAX};
use crate::outcome::{Failure, TlsFailure, TlsInfo};
use crate::resolve::Resolve;
use crate::stream::{Line, Stream};
use herodotus_page::WebUrl;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

#[derive(Debug)]
pub(crate) struct Dialer {
    resolver: Arc<dyn Resolve>,
    tls: Arc<ClientConfig>,
    has_roots: bool,
}

impl Dialer {
    pub(crate) fn new(config: &Config, resolver: Arc<dyn Resolve>) -> Result<Self, ConfigError> {
        let mut roots = RootCertStore::empty();
        match &config.roots {
            // What the system has and cannot be read is skipped, as browsers do.
            Roots::System => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
            Roots::Only(certificates) => {
                for certificate in certificates {
                    roots.add(certificate.clone()).map_err(ConfigError::Root)?;
                }
            }
        }
        let has_roots = !roots.is_empty();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(ConfigError::Tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols =
            if config.http2 { vec![b"h2".into(), b"http/1.1".into()] } else { vec![b"http/1.1".into()] };
        Ok(Self { resolver, tls: Arc::new(tls), has_roots })
    }

    pub(crate) async fn dial(&self, config: &Config, url: &WebUrl, whole_at: Instant) -> Result<Line, Failure> {
        let server = if url.is_https() { Some(self.server_name(url)?) } else { None };
        let addrs = self.addresses(config, url, whole_at).await?;
        let (socket, remote) = connect(config, &addrs, whole_at).await?;
        // A request is one write, and waits for its answer.
        let _ = socket.set_nodelay(true);
        let Some(server) = server else {
            return Ok(Line { stream: Stream::Plain(socket), remote, tls: None, is_h2: false });
        };
        let handshake = TlsConnector::from(Arc::clone(&self.tls)).connect(server, socket);
        let until = whole_at.min(Instant::now() + config.deadlines.tls);
        let stream = match timeout_at(until, handshake).await {
            Err(_) => return Err(TlsFailure::Timeout.into()),
            Ok(Err(error)) => return Err(TlsFailure::of(&error).into()),
            Ok(Ok(stream)) => stream,
        };
        let session = stream.get_ref().1;
        let version = match session.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "tls/1.2",
            _ => "tls/1.3",
        };
        let cipher = session.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str()).unwrap_or("unknown");
        let is_h2 = session.alpn_protocol() == Some(b"h2");
        let tls = Some(TlsInfo { version, cipher });
        Ok(Line { stream: Stream::Tls(Box::new(stream)), remote, tls, is_h2 })
    }

    /// How long connecting takes, the lookup aside.
    pub(crate) async fn round_trip(
        &self,
        config: &Config,
        url: &WebUrl,
        whole_at: Instant,
    ) -> Result<std::time::Duration, Failure> {
        let addrs = self.addresses(config, url, whole_at).await?;
        let began = Instant::now();
        connect(config, &addrs, whole_at).await?;
        Ok(began.elapsed())
    }

    fn server_name(&self, url: &WebUrl) -> Result<ServerName<'static>, TlsFailure> {
        if !self.has_roots {
            return Err(TlsFailure::NoRoots);
        }
        match literal(url.host()) {
            Some(ip) => Ok(ServerName::IpAddress(ip.into())),
            // Certificates name hosts without the dot at the end.
            None => ServerName::try_from(url.host().trim_end_matches('.').to_owned()).map_err(|_| TlsFailure::BadName),
        }
    }

    /// The addresses that may be dialled, in order; an error if there are only others.
    async fn addresses(&self, config: &Config, url: &WebUrl, whole_at: Instant) -> Result<Vec<SocketAddr>, Failure> {
        let (host, port) = (url.host(), url.port());
        let found = if let Some(to) = config.connect_to.iter().find(|to| to.fits(host)) {
            vec![to.addr]
        } else if let Some(ip) = literal(host) {
            vec![SocketAddr::new(ip, port)]
        } else {
            let until = whole_at.min(Instant::now() + config.deadlines.dns);
            match timeout_at(until, self.resolver.resolve(host, port)).await {
                Err(_) => return Err(Failure::DnsTimeout),
                Ok(Err(error)) => return Err(Failure::Dns(error)),
                Ok(Ok(found)) => found,
            }
        };
        let mut refused = None;
        let mut allowed = Vec::with_capacity(found.len().min(ADDRESSES_MAX));
        for addr in found.into_iter().take(ADDRESSES_MAX) {
            match address::check(addr.ip(), &config.allow_private) {
                Ok(()) => allowed.push(addr),
                Err(why) => refused = refused.or(Some(Failure::Forbidden { addr, why })),
            }
        }
        if allowed.is_empty() { Err(refused.unwrap_or(Failure::NoAddress)) } else { Ok(allowed) }
    }
}

/// The first address that takes a connection. `addrs` were judged by the caller.
async fn connect(config: &Config, addrs: &[SocketAddr], whole_at: Instant) -> Result<(TcpStream, SocketAddr), Failure> {
    let until = whole_at.min(Instant::now() + config.deadlines.connect);
    let mut failure = Failure::ConnectTimeout;
    for (nth, &addr) in addrs.iter().enumerate() {
        let is_last = nth + 1 == addrs.len();
        let turn_until = if is_last { until } else { until.min(Instant::now() + ADDRESS_WAIT_MAX) };
        match timeout_at(turn_until, TcpStream::connect(addr)).await {
            Ok(Ok(socket)) => return Ok((socket, addr)),
            Ok(Err(error)) => failure = connect_failure(error),
            Err(_) if Instant::now() >= until => return Err(Failure::ConnectTimeout),
            Err(_) => failure = Failure::ConnectTimeout,
        }
    }
    Err(failure)
}

fn connect_failure(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::TimedOut { Failure::ConnectTimeout } else { Failure::Connect(error) }
}

/// The address that a host is, if it is one.
fn literal(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inside) => inside.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse().ok(),
    }
}
