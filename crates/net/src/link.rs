//! One connection to a peer whose hello was accepted: what it is used for, and what it has cost.

use crate::Limits;
use crate::address::Caller;
use crate::bucket::{Leave, Rate};
use crate::error::{CallError, Refusal};
use crate::frame::FrameError;
use crate::gate::Visit;
use crate::limits;
use crate::transport::Aside;
use herodotus_base::PeerKey;
use iroh::TransportAddr;
use iroh::endpoint::{Connection, ConnectionError, ReadError, VarInt, WriteError};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Why a connection is closed, as the other side reads it. Numbers are for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    Done = 0,
    Garbage = 1,
    Refused = 2,
    Revoked = 3,
    /// The reason holds the seconds that are left.
    Banned = 4,
    Idle = 5,
    /// Others were used more lately.
    Evicted = 6,
    Closing = 7,
    Silent = 8,
}

impl Close {
    pub(crate) fn code(self) -> VarInt {
        VarInt::from_u32(self as u32)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// We dialled.
    Dialled,
    Accepted,
}

#[derive(Debug)]
pub(crate) struct Link {
    /// Ours alone: keys come back, numbers do not.
    pub(crate) number: u64,
    pub(crate) conn: Connection,
    pub(crate) key: PeerKey,
    pub(crate) side: Side,
    pub(crate) since: Instant,
    address: Mutex<Option<SocketAddr>>,
    used_ms: AtomicU64,
    alive: Mutex<Alive>,
    busy: AtomicUsize,
    pub(crate) calls_in: AtomicU64,
    pub(crate) calls_out: AtomicU64,
    pub(crate) refused: AtomicU64,
    /// The newest revocations that it is known to have.
    pub(crate) serial: AtomicU64,
    rate: Arc<Mutex<Rate>>,
    held: Arc<Semaphore>,
    /// What we believe of the other side's.
    sent: Arc<Semaphore>,
    held_max: usize,
    _visit: Option<Visit>,
    _aside: Option<Aside>,
}

/// When packets came last, as far as anybody looked.
#[derive(Debug)]
struct Alive {
    datagrams: u64,
    at: Instant,
}

impl Link {
    #[expect(clippy::too_many_arguments, reason = "it is made in two places, from what they have")]
    pub(crate) fn new(
        number: u64,
        conn: Connection,
        side: Side,
        serial: u64,
        rate: Arc<Mutex<Rate>>,
        limits: &Limits,
        visit: Option<Visit>,
        aside: Option<Aside>,
    ) -> Arc<Self> {
        let now = Instant::now();
        let link = Self {
            number,
            key: PeerKey(*conn.remote_id().as_bytes()),
            side,
            since: now,
            address: Mutex::new(remote_address(&conn)),
            used_ms: AtomicU64::new(0),
            alive: Mutex::new(Alive { datagrams: 0, at: now }),
            busy: AtomicUsize::new(0),
            calls_in: AtomicU64::new(0),
            calls_out: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            serial: AtomicU64::new(serial),
            rate,
            held: Arc::new(Semaphore::new(limits.held_per_peer_bytes_max)),
            sent: Arc::new(Semaphore::new(limits.held_per_peer_bytes_max)),
            held_max: limits.held_per_peer_bytes_max,
            _visit: visit,
            _aside: aside,
            conn,
        };
        // No longer a stranger.
        link.conn.set_receive_window(VarInt::from_u32(limits::WINDOW_BYTES));
        link.conn.set_max_concurrent_bi_streams(VarInt::from_u32(limits.streams_max));
        link.conn.set_max_concurrent_uni_streams(VarInt::from_u32(limits.notices_max));
        Arc::new(link)
    }

    pub(crate) fn caller(&self) -> Caller {
        Caller { key: self.key, address: self.address() }
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn close(&self, why: Close, words: &[u8]) {
        self.conn.close(why.code(), words);
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Relaxed) > 0
    }

    /// How long nobody has used it.
    pub(crate) fn idle(&self, now: Instant) -> Duration {
        let used = self.since + Duration::from_millis(self.used_ms.load(Relaxed));
        now.saturating_duration_since(used)
    }

    fn touch(&self) {
        self.used_ms.store(u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Looks whether it moved and whether packets still come. Called every so often, and when a call was not answered.
    pub(crate) fn look(&self, now: Instant) {
        if let Some(at) = remote_address(&self.conn) {
            *self.address.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
        }
        let datagrams = self.conn.stats().udp_rx.datagrams;
        let mut alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        if alive.datagrams != datagrams {
            *alive = Alive { datagrams, at: now };
        }
    }

    /// Whether not a single packet has come since then, and for long enough that what we sent would have been acknowledged.
    pub(crate) fn is_dead_since(&self, then: Instant) -> bool {
        let now = Instant::now();
        self.look(now);
        let heard = self.alive.lock().unwrap_or_else(PoisonError::into_inner).at;
        heard < then && now.saturating_duration_since(heard) >= limits::DEAD_AFTER
    }

    pub(crate) fn take_rate(&self, bytes: usize, wait_max: Duration) -> Leave {
        self.rate.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now(), bytes, wait_max)
    }

    /// Leave to hold a body of this size for this peer, or none.
    pub(crate) fn hold(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.held.clone().try_acquire_many_owned(self.permits(bytes)).ok()
    }

    /// Waits until the other side would have leave for a body of this size.
    pub(crate) async fn wait_to_send(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        if bytes <= limits::HELD_FREE_BYTES {
            return None;
        }
        self.sent.clone().acquire_many_owned(self.permits(bytes)).await.ok()
    }

    /// One of more than the whole share takes all of it.
    fn permits(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.min(self.held_max)).unwrap_or(u32::MAX)
    }

    pub(crate) fn lost(&self, error: &ConnectionError) -> CallError {
        lost(self.key, error)
    }

    pub(crate) fn lost_reading(&self, error: &FrameError) -> CallError {
        lost_reading(self.key, error)
    }

    pub(crate) fn lost_writing(&self, error: &WriteError) -> CallError {
        match error {
            WriteError::ConnectionLost(error) => self.lost(error),
            other => CallError::Lost { peer: self.key, what: other.to_string() },
        }
    }
}

/// The direct address that is in use, if there is one.
pub(crate) fn remote_address(conn: &Connection) -> Option<SocketAddr> {
    let paths = conn.paths();
    let direct = |selected: bool| {
        paths.iter().filter(|path| path.is_selected() || !selected).find_map(|path| match path.remote_addr() {
            TransportAddr::Ip(at) => Some(SocketAddr::new(at.ip().to_canonical(), at.port())),
            _ => None,
        })
    };
    // While a connection is young no path may have been chosen.
    if paths.iter().any(|path| path.is_selected()) { direct(true) } else { direct(false) }
}

/// What a broken connection means to somebody who waits for an answer.
pub(crate) fn lost(peer: PeerKey, error: &ConnectionError) -> CallError {
    if let ConnectionError::ApplicationClosed(close) = error {
        let code = close.error_code;
        let words = String::from_utf8_lossy(&close.reason);
        if code == Close::Revoked.code() {
            return CallError::Refused(Refusal::Revoked);
        } else if code == Close::Banned.code() {
            return CallError::Refused(Refusal::Banned(words.parse().unwrap_or(0)));
        } else if code == Close::Closing.code() {
            return CallError::Refused(Refusal::Closing);
        }
    }
    CallError::Lost { peer, what: error.to_string() }
}

pub(crate) fn lost_reading(peer: PeerKey, error: &FrameError) -> CallError {
    match error {
        FrameError::Garbage(garbage) => CallError::Garbage { peer, what: garbage.0.clone() },
        FrameError::Lost(ReadError::ConnectionLost(error)) => lost(peer, error),
        FrameError::Lost(error) => CallError::Lost { peer, what: error.to_string() },
        FrameError::Ended => CallError::Lost { peer, what: "the stream ended without an answer".into() },
    }
}

/// Something under way on a link: as long as there is one, the link is not idle.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Link>);

impl Busy {
    pub(crate) fn new(link: &Arc<Link>) -> Self {
        link.busy.fetch_add(1, Relaxed);
        link.touch();
        Self(link.clone())
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.0
    }
}

impl Clone for Busy {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.touch();
        self.0.busy.fetch_sub(1, Relaxed);
    }
}
