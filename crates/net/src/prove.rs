//! That somebody is where it says it is: in an open ring a place belongs to an address, so the address is dialled back, and a
//! nonce must come back from it, echoed by the very key.
//!
//! Each dial comes from a socket and a key that serve for nothing else: what the transport heard of the claimant before neither
//! helps nor hinders it, and the claimant cannot tell who asks. Proofs are kept for a while, in a bounded table; dial-backs under way are bounded too, because strangers ask for them. The
//! address of a connection that was accepted proves the IP but not the port that others should dial.

use crate::Limits;
use crate::address::Address;
use crate::endpoint::Endpoint;
use crate::error::CallError;
use crate::frame::{Form, FrameError, Nonce, Reader, Writer, decode};
use crate::greet::{frame, writing};
use crate::identity::admission::random;
use crate::identity::{Claim, Holders, PlaceError, RingKind, check_place};
use crate::limits;
use crate::link::{Close, lost, lost_reading};
use crate::settings::Settings;
use crate::transport::connect_aside;
use herodotus_base::PeerKey;
use iroh::TransportAddr;
use iroh::endpoint::Connection;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use tokio::time::timeout;

#[derive(Debug)]
pub(crate) struct Proofs {
    known: Mutex<HashMap<(PeerKey, SocketAddr), Instant>>,
    holders: Mutex<Holders>,
    lasts: Duration,
    under_way: Semaphore,
}

impl Proofs {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            known: Mutex::default(),
            holders: Mutex::new(Holders::new(limits.holder_lasts)),
            lasts: limits.proof_lasts,
            under_way: Semaphore::new(limits::PROVING_MAX),
        }
    }

    fn is_known(&self, now: Instant, key: PeerKey, address: SocketAddr) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(key, address)).is_some_and(|at| now.saturating_duration_since(*at) < self.lasts)
    }

    fn keep(&self, now: Instant, key: PeerKey, address: SocketAddr) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= limits::PROOFS_MAX {
            known.retain(|_, at| now.saturating_duration_since(*at) < self.lasts);
        }
        if known.len() >= limits::PROOFS_MAX {
            let oldest = known.iter().min_by_key(|(_, at)| **at).map(|(of, _)| *of);
            oldest.map(|of| known.remove(&of));
        }
        known.insert((key, address), now);
    }

    fn drop_proof(&self, key: PeerKey, address: SocketAddr) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&(key, address));
    }
}

impl Endpoint {
    /// Proves that this key answers at this address, unless it was proven lately.
    pub async fn prove(&self, key: PeerKey, address: SocketAddr) -> Result<(), PlaceError> {
        let proofs = &self.inner.proofs;
        if proofs.is_known(Instant::now(), key, address) {
            return Ok(());
        }
        self.prove_now(key, address).await
    }

    /// Whether a claim holds, as far as we can find out, and whose the place is from now on: the pure rules, then in an open ring
    /// the proof, then who was first. `caller` is where the claimant's packets come from, if it is the claimant who asks.
    pub async fn settle(&self, claim: &Claim, caller: Option<SocketAddr>) -> Result<(), PlaceError> {
        let kind = self.inner.admission.kind();
        check_place(kind, claim, caller)?;
        if let RingKind::Closed { .. } = kind {
            return Ok(());
        }
        self.prove(claim.key, claim.address).await?;
        if self.take(claim) {
            return Ok(());
        }
        // Somebody else has it, or the table is full of those who answer. A holder that no longer answers makes room.
        let ip = claim.address.ip();
        let holder = self.holders(|holders| holders.holder(Instant::now(), ip, claim.index));
        let taken = Err(PlaceError::Taken { index: claim.index });
        let Some(holder) = holder else { return taken };
        match self.prove_now(holder.key, holder.address).await {
            Err(PlaceError::Unproven { .. }) => {
                self.inner.proofs.drop_proof(holder.key, holder.address);
                self.holders(|holders| holders.free(ip, claim.index, holder.key));
                if self.take(claim) { Ok(()) } else { taken }
            }
            Ok(()) => {
                self.holders(|holders| holders.take(Instant::now(), holder.address, claim.index, holder.key));
                taken
            }
            Err(other) => Err(other),
        }
    }

    fn take(&self, claim: &Claim) -> bool {
        self.holders(|holders| holders.take(Instant::now(), claim.address, claim.index, claim.key))
    }

    fn holders<T>(&self, f: impl FnOnce(&mut Holders) -> T) -> T {
        f(&mut self.inner.proofs.holders.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn prove_now(&self, key: PeerKey, address: SocketAddr) -> Result<(), PlaceError> {
        let proofs = &self.inner.proofs;
        // A machine knows where it is itself.
        if key == self.key() {
            return if self.addresses().contains(&address) {
                Ok(())
            } else {
                Err(PlaceError::Unproven { address, what: "we are not there".into() })
            };
        }
        let Ok(_one) = proofs.under_way.try_acquire() else {
            return Err(PlaceError::Busy(self.inner.limits.hello_wait));
        };
        let within = self.inner.limits.dial_wait;
        match timeout(within, dial_back(&self.inner.settings, key, address)).await {
            Ok(Ok(())) => {
                proofs.keep(Instant::now(), key, address);
                Ok(())
            }
            Ok(Err(CallError::Ours(what))) => Err(PlaceError::Unproven { address, what: what.into() }),
            Ok(Err(error)) => Err(PlaceError::Unproven { address, what: error.to_string() }),
            Err(_) => Err(PlaceError::Unproven { address, what: format!("no answer within {within:?}") }),
        }
    }
}

async fn dial_back(settings: &Settings, key: PeerKey, address: SocketAddr) -> Result<(), CallError> {
    let secret = random().map_err(|_| CallError::Ours("no random bytes"))?;
    let settings = Settings { secret, ..settings.clone() };
    let Some((conn, _aside)) = connect_aside(&settings, &Address { key, direct: vec![address] }).await else {
        return Err(CallError::Unreachable { peer: key, what: "nobody with this key answers".into() });
    };
    let echoed = exchange(&conn, key, address).await;
    conn.close(Close::Done.code(), b"");
    echoed
}

async fn exchange(conn: &Connection, peer: PeerKey, address: SocketAddr) -> Result<(), CallError> {
    let reading = |error: FrameError| lost_reading(peer, &error);
    let nonce = Nonce(random().map_err(|_| CallError::Ours("no random bytes"))?);
    let (send, recv) = conn.open_bi().await.map_err(|error| lost(peer, &error))?;
    let (mut writer, mut reader) = (Writer::new(send), Reader::new(recv));
    writer.whole(frame(&nonce)?).await.map_err(|error| writing(peer, &error))?;
    writer.finish();
    let answer = reader.frame(&[Form::Echo]).await.map_err(reading)?;
    let echo: Nonce = decode(&answer.body).map_err(|garbage| reading(FrameError::Garbage(garbage)))?;
    if !bool::from(echo.0.ct_eq(&nonce.0)) {
        return Err(CallError::Garbage { peer, what: "another nonce than ours".into() });
    }
    // The claimant may have moved the connection to another address of its own.
    let canonical = |at: &SocketAddr| SocketAddr::new(at.ip().to_canonical(), at.port());
    let is_there = conn
        .paths()
        .iter()
        .any(|path| matches!(path.remote_addr(), TransportAddr::Ip(at) if canonical(at) == canonical(&address)));
    if is_there { Ok(()) } else { Err(CallError::Unreachable { peer, what: "it answers from elsewhere".into() }) }
}
