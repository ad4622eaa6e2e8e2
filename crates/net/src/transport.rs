//! The transport below: iroh, set up as all of our sockets are. Nothing else in this crate knows its builder.

use crate::address::Address;
use crate::error::{CallError, NetError, Result};
use crate::limits;
use crate::link::lost;
use crate::settings::{Relay, Settings};
use futures_util::stream::{FuturesUnordered, StreamExt};
use iroh::endpoint::{
    BindOpts, ConnectError, ConnectWithOptsError, ConnectingError, Connection, IdleTimeout, QuicTransportConfig,
    VarInt, presets,
};
use iroh::{EndpointAddr, EndpointId, RelayMode, RelayUrl, SecretKey, TransportAddr};
use std::net::SocketAddr;

/// A socket that speaks our protocol, as far as a hello.
pub(crate) async fn bind(settings: &Settings) -> Result<iroh::Endpoint> {
    let wrong = |what: String| NetError::Bind { listen: settings.listen.clone(), what };
    let limits = &settings.limits;
    let transport = QuicTransportConfig::builder()
        // As for strangers; a hello opens the rest.
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .receive_window(VarInt::from_u32(limits::STRANGER_WINDOW_BYTES))
        .stream_receive_window(VarInt::from_u32(limits::STREAM_WINDOW_BYTES))
        .send_window(limits::SEND_WINDOW_BYTES)
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(IdleTimeout::try_from(limits.silence_max).ok())
        .build();
    let mut builder = iroh::Endpoint::builder(presets::Minimal)
        .secret_key(SecretKey::from_bytes(&settings.secret))
        .alpns(vec![limits::ALPN.to_vec()])
        .transport_config(transport)
        .clear_ip_transports();
    let mut families = [false; 2];
    for at in &settings.listen {
        // The first of a family carries what goes nowhere in particular; others what goes to their own network, which is
        // usually as large as this.
        let is_first = !std::mem::replace(&mut families[usize::from(at.is_ipv6())], true);
        let options = match (is_first, at) {
            (true, _) => BindOpts::default(),
            (false, SocketAddr::V4(_)) => BindOpts::default().set_prefix_len(24),
            (false, SocketAddr::V6(_)) => BindOpts::default().set_prefix_len(64),
        };
        builder = builder.bind_addr_with_opts(*at, options).map_err(|error| wrong(error.to_string()))?;
    }
    for at in &settings.external {
        builder = builder.external_addr(*at);
    }
    builder = match &settings.relay {
        Relay::None => builder.relay_mode(RelayMode::Disabled),
        Relay::Default => builder.relay_mode(RelayMode::Default),
        Relay::Urls(urls) => {
            let parse = |url: &String| url.parse::<RelayUrl>().map_err(|error| (url.clone(), error));
            let urls: Vec<_> = urls.iter().map(parse).collect::<Result<_, _>>().map_err(|(url, error)| {
                NetError::Settings(format!("`{url}` is no address of a relay ({error}): write it as https://host"))
            })?;
            builder.relay_mode(RelayMode::custom(urls))
        }
    };
    if settings.discovery {
        use iroh::address_lookup::{DnsAddressLookup, PkarrPublisher, PkarrResolver};
        builder = builder
            .address_lookup(PkarrPublisher::n0_dns())
            .address_lookup(PkarrResolver::n0_dns())
            .address_lookup(DnsAddressLookup::n0_dns());
    }
    // With its causes: the last of them says which port is taken.
    builder.bind().await.map_err(|error| wrong(format!("{error:#}")))
}

/// A connection to the very key, without a word said.
pub(crate) async fn connect(iroh: &iroh::Endpoint, to: &Address) -> Result<Connection, CallError> {
    let unreachable = |what: String| CallError::Unreachable { peer: to.key, what };
    let id = EndpointId::from_bytes(&to.key.0).map_err(|_| unreachable("its key is no key".into()))?;
    let address = EndpointAddr::from_parts(id, to.direct.iter().map(|at| TransportAddr::Ip(*at)));
    iroh.connect(address, limits::ALPN).await.map_err(|error| match &error {
        ConnectError::Connecting { source: ConnectingError::ConnectionError { source, .. }, .. }
        | ConnectError::Connection { source, .. } => match lost(to.key, source) {
            CallError::Lost { what, .. } => unreachable(what),
            other => other,
        },
        ConnectError::Connect { source: ConnectWithOptsError::EndpointClosed { .. }, .. } => CallError::Closed,
        other => unreachable(other.to_string()),
    })
}

/// Whether more addresses of this key are known than the one that was asked for, so that another may have answered in its place.
pub(crate) async fn knows_other_addresses(iroh: &iroh::Endpoint, to: &Address) -> bool {
    let Ok(id) = EndpointId::from_bytes(&to.key.0) else { return false };
    let Some(known) = iroh.remote_info(id).await else { return to.direct.len() > 1 };
    known.addrs().filter(|known| known.addr().is_ip()).count().max(to.direct.len()) > 1
}

/// A socket that serves one connection, which it must outlive.
#[derive(Debug)]
pub(crate) struct Aside(iroh::Endpoint);

impl Drop for Aside {
    fn drop(&mut self) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let iroh = self.0.clone();
            runtime.spawn(async move { iroh.close().await });
        }
    }
}

/// Asks each address by itself, from a socket that knows of no other; the first where the key answers is taken.
pub(crate) async fn connect_aside(settings: &Settings, to: &Address) -> Option<(Connection, Aside)> {
    let mut asking: FuturesUnordered<_> = to
        .direct
        .iter()
        .take(limits::DIRECT_ADDRESSES_MAX)
        .map(|at| async {
            let aside = Aside(bind(settings).await.ok()?);
            let conn = connect(&aside.0, &Address { key: to.key, direct: vec![*at] }).await.ok()?;
            Some((conn, aside))
        })
        .collect();
    while let Some(asked) = asking.next().await {
        if asked.is_some() {
            return asked;
        }
    }
    None
}
