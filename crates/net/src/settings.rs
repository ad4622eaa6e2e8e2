//! What an endpoint is told when it starts.

use crate::limits;
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Clone)]
pub struct Settings {
    /// The machine's secret key. Its public half is the [`herodotus_base::PeerKey`] by which others know it.
    pub secret: [u8; 32],
    /// Where to listen; port 0 lets the system choose. At most one address of each family may be unspecified.
    pub listen: Vec<SocketAddr>,
    /// Addresses that others can reach us at although no interface here has them (a forwarded port).
    pub external: Vec<SocketAddr>,
    pub relay: Relay,
    /// Publish our addresses at, and ask, the public discovery service of iroh. Off: nothing leaves for the internet that was
    /// not dialled.
    pub discovery: bool,
    pub limits: Limits,
}

impl Settings {
    /// Direct addresses only, and limits as they are meant.
    pub fn new(secret: [u8; 32], listen: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self {
            secret,
            listen: listen.into_iter().collect(),
            external: Vec::new(),
            relay: Relay::None,
            discovery: false,
            limits: Limits::default(),
        }
    }
}

impl Settings {
    /// The same machine on other ports, where nobody is expected.
    pub(crate) fn aside(&self) -> Self {
        let elsewhere = self.listen.iter().map(|at| SocketAddr::new(at.ip(), 0));
        Self { limits: self.limits.clone(), ..Self::new(self.secret, elsewhere) }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the secret: settings end up in logs.
        f.debug_struct("Settings")
            .field("listen", &self.listen)
            .field("external", &self.external)
            .field("relay", &self.relay)
            .field("discovery", &self.discovery)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Who carries packets where machines cannot reach one another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Relay {
    /// Nobody: direct addresses or nothing.
    #[default]
    None,
    /// The public relays of iroh's makers.
    Default,
    /// A ring's own.
    Urls(Vec<String>),
}

/// What peers may cost us. The defaults and their reasons are in [`limits`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    pub dialled_max: usize,
    pub accepted_max: usize,
    pub accepted_per_address_max: usize,
    pub handshakes_max: usize,
    pub handshakes_per_address_max: usize,
    pub streams_max: u32,
    pub notices_max: u32,
    pub calls_per_s: u32,
    pub calls_burst: u32,
    pub bytes_per_s: u32,
    pub bytes_burst: u32,
    pub rate_wait_max: Duration,
    pub held_per_peer_bytes_max: usize,
    pub held_bytes_max: usize,
    pub dial_wait: Duration,
    pub hello_wait: Duration,
    pub frame_wait: Duration,
    pub answer_wait: Duration,
    pub stream_silence_max: Duration,
    pub connection_idle: Duration,
    pub silence_max: Duration,
    pub ban_first: Duration,
    pub proof_lasts: Duration,
    pub holder_lasts: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            dialled_max: limits::DIALLED_MAX,
            accepted_max: limits::ACCEPTED_MAX,
            accepted_per_address_max: limits::ACCEPTED_PER_ADDRESS_MAX,
            handshakes_max: limits::HANDSHAKES_MAX,
            handshakes_per_address_max: limits::HANDSHAKES_PER_ADDRESS_MAX,
            streams_max: limits::STREAMS_MAX,
            notices_max: limits::NOTICES_MAX,
            calls_per_s: limits::CALLS_PER_S,
            calls_burst: limits::CALLS_BURST,
            bytes_per_s: limits::BYTES_PER_S,
            bytes_burst: limits::BYTES_BURST,
            rate_wait_max: limits::RATE_WAIT_MAX,
            held_per_peer_bytes_max: limits::HELD_PER_PEER_BYTES_MAX,
            held_bytes_max: limits::HELD_BYTES_MAX,
            dial_wait: limits::DIAL_WAIT,
            hello_wait: limits::HELLO_WAIT,
            frame_wait: limits::FRAME_WAIT,
            answer_wait: limits::ANSWER_WAIT,
            stream_silence_max: limits::STREAM_SILENCE_MAX,
            connection_idle: limits::CONNECTION_IDLE,
            silence_max: limits::SILENCE_MAX,
            ban_first: limits::BAN_FIRST,
            proof_lasts: limits::PROOF_LASTS,
            holder_lasts: limits::HOLDER_LASTS,
        }
    }
}
