//! What a status page shows of peers.

use crate::link::{Link, Side, remote_address};
use herodotus_base::PeerKey;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// One connection, or one peer that is only remembered.
#[derive(Clone, Debug)]
pub struct PeerStatus {
    pub key: PeerKey,
    pub address: Option<SocketAddr>,
    /// `None` for one that is only remembered for garbage.
    pub side: Option<Side>,
    pub connected_for: Option<Duration>,
    pub round_trip: Option<Duration>,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// What these bytes came and went in. IP and UDP take 28 bytes for each, which the bytes are without.
    pub datagrams_in: u64,
    pub datagrams_out: u64,
    pub calls_in: u64,
    pub calls_out: u64,
    /// Calls of its that were over its rate.
    pub refused: u64,
    /// How much longer it is not spoken to.
    pub banned_for: Option<Duration>,
}

impl PeerStatus {
    pub(crate) fn of(link: &Link, now: Instant) -> Self {
        let stats = link.conn.stats();
        let paths = link.conn.paths();
        let round_trip = paths.iter().filter(|path| path.is_selected()).map(|path| path.rtt()).next();
        Self {
            key: link.key,
            address: remote_address(&link.conn).or_else(|| link.address()),
            side: Some(link.side),
            connected_for: Some(now.saturating_duration_since(link.since)),
            round_trip: round_trip.or_else(|| paths.iter().map(|path| path.rtt()).next()),
            bytes_in: stats.udp_rx.bytes,
            bytes_out: stats.udp_tx.bytes,
            datagrams_in: stats.udp_rx.datagrams,
            datagrams_out: stats.udp_tx.datagrams,
            calls_in: link.calls_in.load(Relaxed),
            calls_out: link.calls_out.load(Relaxed),
            refused: link.refused.load(Relaxed),
            banned_for: None,
        }
    }

    pub(crate) fn banned(key: PeerKey, left: Duration) -> Self {
        Self {
            key,
            address: None,
            side: None,
            connected_for: None,
            round_trip: None,
            bytes_in: 0,
            bytes_out: 0,
            datagrams_in: 0,
            datagrams_out: 0,
            calls_in: 0,
            calls_out: 0,
            refused: 0,
            banned_for: Some(left),
        }
    }
}
