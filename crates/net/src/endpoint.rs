//! This machine among its peers: calls, notices and streams out; those of others in.
//!
//! Promised: a call is answered by the very key that was asked, or ends in an error within its time; no peer that was not
//! admitted is served; what peers cost is bounded by [`crate::Limits`]. What can be lost: notices, with their connection; and
//! whether a call that timed out was done is unknown.

use crate::Limits;
use crate::address::{Address, Kind};
use crate::bans::Bans;
use crate::bucket::Rate;
use crate::error::{CallError, NetError, Refusal, Result};
use crate::frame::{Form, Reader, Writer};
use crate::gate::{Gate, Visit};
use crate::identity::Admission;
use crate::limits;
use crate::link::{Busy, Close, Link, Side};
use crate::prove::Proofs;
use crate::serve;
use crate::service::Service;
use crate::settings::{Relay, Settings};
use crate::status::PeerStatus;
use crate::stream::Stream;
use crate::table::{Dialled, Found, Table};
use crate::transport::{Aside, bind, connect, connect_aside, knows_other_addresses};
use bytes::Bytes;
use herodotus_base::PeerKey;
use iroh::endpoint::{Connection, RecvStream, SendStream};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

/// Cheap to clone. When the last clone is dropped, everything is closed without waiting for anybody.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) inner: Arc<Inner>,
    _last: Arc<Last>,
}

pub(crate) struct Inner {
    /// None once it is closed: the last handle to it holds the port.
    iroh: Mutex<Option<iroh::Endpoint>>,
    pub(crate) limits: Limits,
    pub(crate) admission: Arc<Admission>,
    pub(crate) service: Arc<dyn Service>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) proofs: Proofs,
    /// As for this machine, but on any port and without help from others.
    pub(crate) settings: Settings,
    aside: Semaphore,
    key: PeerKey,
    listen: Vec<SocketAddr>,
    is_relayed: bool,
    table: Mutex<Table>,
    rates: Mutex<HashMap<PeerKey, Arc<Mutex<Rate>>>>,
    bans: Mutex<Bans>,
    held: Arc<Semaphore>,
    next: AtomicU64,
}

impl Endpoint {
    pub async fn bind(settings: Settings, admission: Arc<Admission>, service: Arc<dyn Service>) -> Result<Self> {
        let iroh = bind(&settings).await?;
        let key = PeerKey(*iroh.id().as_bytes());
        if key != admission.machine() {
            iroh.close().await;
            return Err(NetError::Settings("the ring's files belong to another machine's key".into()));
        }
        let limits = settings.limits.clone();
        let inner = Arc::new(Inner {
            listen: iroh.bound_sockets(),
            is_relayed: settings.relay != Relay::None || settings.discovery,
            gate: Gate::new(&limits),
            proofs: Proofs::new(&limits),
            aside: Semaphore::new(limits::ASIDE_MAX),
            settings: settings.aside(),
            bans: Mutex::new(Bans::new(limits.ban_first)),
            held: Arc::new(Semaphore::new(limits.held_bytes_max.min(Semaphore::MAX_PERMITS))),
            iroh: Mutex::new(Some(iroh.clone())),
            limits,
            admission,
            service,
            key,
            table: Mutex::default(),
            rates: Mutex::default(),
            next: AtomicU64::new(0),
        });
        let news = inner.admission.watch();
        let (sweeping, spreading) = (iroh.closed(), iroh.closed());
        tokio::spawn(sweeping.run_until(serve::sweep(inner.clone())));
        tokio::spawn(spreading.run_until(serve::spread_revocations(inner.clone(), news)));
        tokio::spawn(serve::accept(inner.clone(), iroh));
        Ok(Self { _last: Arc::new(Last(inner.clone())), inner })
    }

    pub fn key(&self) -> PeerKey {
        self.inner.key
    }

    pub fn admission(&self) -> &Arc<Admission> {
        &self.inner.admission
    }

    /// Where others can dial us, as far as we know: the addresses we listen at, or those of the interfaces.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let (any, mut out): (Vec<_>, Vec<_>) = self.inner.listen.iter().partition(|at| at.ip().is_unspecified());
        if !any.is_empty() {
            if let Some(iroh) = self.inner.iroh() {
                out.extend(iroh.addr().ip_addrs().copied());
            }
            if out.is_empty() {
                // The interfaces have not been looked over yet, or there is none but the loop.
                out.extend(any.iter().map(|at| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), at.port())).take(1));
            }
        }
        out.sort();
        out.dedup();
        out.truncate(limits::DIRECT_ADDRESSES_MAX);
        out
    }

    /// This machine, for others to dial.
    pub fn address(&self) -> Address {
        Address::new(self.key(), self.addresses())
    }

    /// Asks, and waits for the answer. Dials if there is no connection.
    pub async fn call(&self, to: &Address, kind: Kind, payload: Bytes, within: Duration) -> Result<Bytes, CallError> {
        if payload.len() > limits::CALL_BYTES_MAX {
            return Err(CallError::Ours("a call of more than 1 MiB: use a stream"));
        }
        let started = Instant::now();
        let mut link = None;
        match timeout(within, self.inner.call(to, kind, payload, &mut link)).await {
            Ok(result) => result,
            Err(_) => {
                // A peer that was killed and started anew knows nothing of this connection: the next call dials.
                if let Some(link) = link.filter(|link| link.is_dead_since(started)) {
                    self.inner.close_link(&link, Close::Silent);
                }
                Err(CallError::TimedOut { peer: to.key, within })
            }
        }
    }

    /// Says something that wants no answer. Done when it was handed to the connection, not when it arrived.
    pub async fn send(&self, to: &Address, kind: Kind, payload: Bytes) -> Result<(), CallError> {
        if payload.len() > limits::NOTICE_BYTES_MAX {
            return Err(CallError::Ours("a notice of more than 64 KiB: call, or use a stream"));
        }
        let within = self.inner.limits.answer_wait;
        timeout(within, self.inner.send(to, kind, payload))
            .await
            .unwrap_or(Err(CallError::TimedOut { peer: to.key, within }))
    }

    /// Opens a stream for bulk. That the other side refuses it shows when it is read or written.
    pub async fn stream(&self, to: &Address, kind: Kind, head: Bytes) -> Result<Stream, CallError> {
        if head.len() > limits::STREAM_HEAD_BYTES_MAX {
            return Err(CallError::Ours("the head of a stream has 64 KiB at most"));
        }
        let within = self.inner.limits.answer_wait;
        timeout(within, self.inner.stream(to, kind, head))
            .await
            .unwrap_or(Err(CallError::TimedOut { peer: to.key, within }))
    }

    /// Everybody who is connected, and everybody who is remembered for garbage.
    pub fn peers(&self) -> Vec<PeerStatus> {
        let now = Instant::now();
        let mut banned: HashMap<_, _> = self.inner.bans().list(now).into_iter().collect();
        let mut out: Vec<_> = self.inner.links().iter().map(|link| PeerStatus::of(link, now)).collect();
        for peer in &mut out {
            peer.banned_for = banned.remove(&peer.key);
        }
        out.extend(banned.into_iter().map(|(key, left)| PeerStatus::banned(key, left)));
        out.sort_by_key(|peer| peer.key);
        out
    }

    /// Newcomers that were turned away at the door so far.
    pub fn turned_away(&self) -> u64 {
        self.inner.gate.turned_away()
    }

    /// Closes every connection and gives up the port, which is free when the last task has let go of it. Calls under way end in [`CallError::Closed`] or
    /// [`Refusal::Closing`]; services that are at work end by themselves.
    pub async fn close(&self) {
        self.inner.close();
        let _ = timeout(limits::CLOSE_WAIT, self.inner.close_sockets()).await;
    }
}

impl Inner {
    async fn call(
        self: &Arc<Self>,
        to: &Address,
        kind: Kind,
        payload: Bytes,
        used: &mut Option<Arc<Link>>,
    ) -> Result<Bytes, CallError> {
        let Opened { busy, send, recv, _leave } = self.open(to, payload.len(), used).await?;
        let link = busy.link();
        link.calls_out.fetch_add(1, Relaxed);
        let (mut writer, mut reader) = (Writer::new(send), Reader::new(recv));
        match writer.frame(Form::Call, kind, payload).await {
            Ok(()) => writer.finish(),
            // It was answered before it was heard out: the answer says why.
            Err(iroh::endpoint::WriteError::Stopped(_)) => {}
            Err(error) => return Err(self.or_closed(link.lost_writing(&error))),
        }
        let answer = async {
            let frame = reader.frame(&[Form::Answer, Form::Refusal]).await?;
            reader.end().await?;
            Ok(frame)
        };
        let sent = Instant::now();
        tokio::pin!(answer);
        let answered = loop {
            tokio::select! {
                answered = &mut answer => break answered,
                () = tokio::time::sleep(limits::DEAD_AFTER) => {
                    // Waiting longer would only keep others waiting on the same dead connection.
                    if link.is_dead_since(sent) {
                        self.close_link(link, Close::Silent);
                        return Err(CallError::Lost { peer: to.key, what: "nothing came over it any more".into() });
                    }
                }
            }
        };
        match answered {
            Ok(frame) if frame.head.form == Form::Answer => Ok(frame.body),
            Ok(frame) => Err(CallError::Refused(frame.refusal())),
            Err(error) => match link.lost_reading(&error) {
                CallError::Garbage { what, .. } => Err(self.broke(link, what)),
                other => Err(self.or_closed(other)),
            },
        }
    }

    async fn send(self: &Arc<Self>, to: &Address, kind: Kind, payload: Bytes) -> Result<(), CallError> {
        let mut tries = 0;
        loop {
            let busy = Busy::new(&self.link_to(to).await?);
            let link = busy.link();
            match link.conn.open_uni().await {
                Ok(send) => {
                    let mut writer = Writer::new(send);
                    writer.frame(Form::Notice, kind, payload).await.map_err(|error| link.lost_writing(&error))?;
                    writer.finish();
                    link.calls_out.fetch_add(1, Relaxed);
                    return Ok(());
                }
                Err(error) => {
                    self.lose(link);
                    tries += 1;
                    if tries > 1 {
                        return Err(self.or_closed(link.lost(&error)));
                    }
                }
            }
        }
    }

    async fn stream(self: &Arc<Self>, to: &Address, kind: Kind, head: Bytes) -> Result<Stream, CallError> {
        let Opened { busy, send, recv, .. } = self.open(to, head.len(), &mut None).await?;
        let mut writer = Writer::new(send);
        writer.frame(Form::Stream, kind, head).await.map_err(|error| busy.link().lost_writing(&error))?;
        busy.link().calls_out.fetch_add(1, Relaxed);
        Ok(Stream::new(Reader::new(recv), writer, &busy, self.limits.stream_silence_max))
    }

    /// A stream to a peer, when there is leave to send so much. A connection that turns out to be closed costs one more dial;
    /// nothing was sent over it.
    async fn open(
        self: &Arc<Self>,
        to: &Address,
        bytes: usize,
        used: &mut Option<Arc<Link>>,
    ) -> Result<Opened, CallError> {
        let mut tries = 0;
        loop {
            let link = self.link_to(to).await?;
            let busy = Busy::new(&link);
            // Before there is a stream: the other side does not wait long for what is announced.
            let leave = link.wait_to_send(bytes).await;
            match link.conn.open_bi().await {
                Ok((send, recv)) => {
                    *used = Some(link);
                    return Ok(Opened { busy, send, recv, _leave: leave });
                }
                Err(error) => {
                    self.lose(&link);
                    tries += 1;
                    if tries > 1 {
                        return Err(self.or_closed(link.lost(&error)));
                    }
                }
            }
        }
    }

    /// The connection to a peer: the one that there is, or a new one. Dials at once are one dial.
    async fn link_to(self: &Arc<Self>, to: &Address) -> Result<Arc<Link>, CallError> {
        let found = {
            let mut table = self.table();
            if table.is_closed {
                return Err(CallError::Closed);
            }
            if let Some(link) = table.in_use(&to.key) {
                return Ok(link.clone());
            }
            self.may_dial(to)?;
            table.find(to.key)
        };
        let mut dial = match found {
            Found::Link(link) => return Ok(link),
            Found::Dial(dial) => dial,
            Found::Yours(sender, dial) => {
                // On a task of its own: the others wait for it even if the first of them gives up.
                let (inner, to) = (self.clone(), to.clone());
                tokio::spawn(async move { inner.dial(to, sender).await });
                dial
            }
        };
        match dial.wait_for(Option::is_some).await.map(|ended| (*ended).clone()) {
            Ok(Some(result)) => result,
            // The dial's task was ended with its runtime. Nobody else should wait for it.
            _ => {
                self.table().end_dial(&to.key);
                Err(CallError::Closed)
            }
        }
    }

    fn may_dial(&self, to: &Address) -> Result<(), CallError> {
        if to.key == self.key {
            return Err(CallError::Ours("a call to ourselves"));
        }
        if to.direct.len() > limits::DIRECT_ADDRESSES_MAX {
            return Err(CallError::Ours("a peer with more than 8 addresses"));
        }
        if to.direct.is_empty() && !self.is_relayed {
            return Err(CallError::Unreachable { peer: to.key, what: "no address of it is known".into() });
        }
        if self.admission.is_revoked(&to.key) {
            return Err(CallError::Stranger { peer: to.key, why: Refusal::Revoked });
        }
        match self.ban_left(&to.key) {
            Some(left) => Err(CallError::Banned { peer: to.key, left }),
            None => Ok(()),
        }
    }

    async fn dial(self: Arc<Self>, to: Address, tell: watch::Sender<Dialled>) {
        let within = self.limits.dial_wait;
        let result = timeout(within, async {
            let (conn, aside) = self.connect(&to).await?;
            match timeout(self.limits.hello_wait, crate::greet::say_hello(&self, &conn)).await {
                Ok(Ok(serial)) => Ok((conn, aside, serial)),
                Ok(Err(error)) => {
                    if let CallError::Garbage { what, .. } = &error {
                        self.ban(to.key, what);
                        conn.close(Close::Garbage.code(), b"");
                    } else if let CallError::Stranger { why, .. } = &error {
                        self.ban(to.key, &why.to_string());
                        conn.close(Close::Refused.code(), b"");
                    } else {
                        conn.close(Close::Done.code(), b"");
                    }
                    Err(error)
                }
                Err(_) => {
                    conn.close(Close::Silent.code(), b"");
                    Err(CallError::Unreachable { peer: to.key, what: "it does not say hello".into() })
                }
            }
        });
        let result = match result.await {
            Ok(Ok((conn, aside, serial))) => {
                let link = self.new_link(conn, Side::Dialled, serial, None, aside);
                if self.take_in(&link) { Ok(link) } else { Err(CallError::Closed) }
            }
            Ok(Err(error)) => Err(self.or_closed(error)),
            Err(_) => Err(CallError::Unreachable { peer: to.key, what: format!("no answer within {within:?}") }),
        };
        self.table().end_dial(&to.key);
        tell.send_replace(Some(result));
    }

    /// A connection to the very key. The transport asks all addresses of a key that it has heard of at once, and takes whoever
    /// answers first; an address that is another's, named by mistake or in order to do harm, can so keep us from a peer that is
    /// there. Then each address is asked by itself.
    async fn connect(&self, to: &Address) -> Result<(Connection, Option<Aside>), CallError> {
        let iroh = self.iroh().ok_or(CallError::Closed)?;
        let first = timeout(self.limits.dial_wait / 2, connect(&iroh, to)).await;
        let error = match first {
            Ok(Ok(conn)) => return Ok((conn, None)),
            Ok(Err(error)) => error,
            Err(_) => CallError::Unreachable { peer: to.key, what: "no answer".into() },
        };
        let is_astray = matches!(error, CallError::Unreachable { .. }) && knows_other_addresses(&iroh, to).await;
        let Some(_few) = is_astray.then(|| self.aside.try_acquire().ok()).flatten() else { return Err(error) };
        match connect_aside(&self.settings, to).await {
            Some((conn, aside)) => Ok((conn, Some(aside))),
            None => Err(error),
        }
    }

    pub(crate) fn new_link(
        &self,
        conn: Connection,
        side: Side,
        serial: u64,
        visit: Option<Visit>,
        aside: Option<Aside>,
    ) -> Arc<Link> {
        let number = self.next.fetch_add(1, Relaxed);
        let rate = self.rate(PeerKey(*conn.remote_id().as_bytes()));
        Link::new(number, conn, side, serial, rate, &self.limits, visit, aside)
    }

    /// Puts a connection to use. False if we are closing.
    pub(crate) fn take_in(self: &Arc<Self>, link: &Arc<Link>) -> bool {
        {
            let mut table = self.table();
            if table.is_closed {
                link.close(Close::Closing, b"");
                return false;
            }
            table.add(link, &self.limits);
        }
        serve::spawn(self, link);
        // The list may have changed between the hello and now.
        if self.admission.is_revoked(&link.key) {
            self.close_link(link, Close::Revoked);
        }
        serve::catch_up(self, link);
        true
    }

    pub(crate) fn close_link(&self, link: &Arc<Link>, why: Close) {
        self.table().close(link, why);
    }

    /// It is closed; others may not have noticed.
    pub(crate) fn lose(&self, link: &Arc<Link>) {
        self.table().remove(link);
    }

    pub(crate) fn links(&self) -> Vec<Arc<Link>> {
        self.table().all()
    }

    pub(crate) fn ban(&self, key: PeerKey, why: &str) {
        let lasts = self.bans().add(Instant::now(), key);
        tracing::debug!(peer = ?key, why, ?lasts, "a peer broke the protocol");
    }

    pub(crate) fn ban_left(&self, key: &PeerKey) -> Option<Duration> {
        self.bans().left(Instant::now(), key)
    }

    pub(crate) fn pardon(&self, key: &PeerKey) {
        self.bans().pardon(key);
    }

    /// Leave to hold a body of this size, or none.
    pub(crate) fn hold(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let permits = u32::try_from(bytes.min(self.limits.held_bytes_max)).ok()?;
        self.held.clone().try_acquire_many_owned(permits).ok()
    }

    /// Lets go of counts that no longer matter.
    pub(crate) fn forget(&self, now: Instant) {
        self.bans().forget(now);
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        rates.retain(|_, rate| {
            Arc::strong_count(rate) > 1 || !rate.lock().unwrap_or_else(PoisonError::into_inner).is_full(now)
        });
    }

    /// One peer's allowance, which outlives its connections.
    fn rate(&self, key: PeerKey) -> Arc<Mutex<Rate>> {
        let now = Instant::now();
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if rates.len() >= limits::RATES_MAX && !rates.contains_key(&key) {
            // Those of the connected are bounded by the connections; of the others any can go.
            let gone = rates.iter().find(|(_, rate)| Arc::strong_count(rate) == 1).map(|(key, _)| *key);
            gone.map(|key| rates.remove(&key));
        }
        rates.entry(key).or_insert_with(|| Arc::new(Mutex::new(Rate::new(now, &self.limits)))).clone()
    }

    fn broke(&self, link: &Arc<Link>, what: String) -> CallError {
        self.ban(link.key, &what);
        self.close_link(link, Close::Garbage);
        CallError::Garbage { peer: link.key, what }
    }

    /// Our own closing breaks connections too, and is no fault of theirs.
    fn or_closed(&self, error: CallError) -> CallError {
        if self.table().is_closed { CallError::Closed } else { error }
    }

    fn close(&self) {
        let links = {
            let mut table = self.table();
            table.is_closed = true;
            table.all()
        };
        for link in links {
            self.close_link(&link, Close::Closing);
        }
    }

    async fn close_sockets(&self) {
        let iroh = self.iroh.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(iroh) = iroh {
            iroh.close().await;
        }
    }

    fn iroh(&self) -> Option<iroh::Endpoint> {
        self.iroh.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bans(&self) -> MutexGuard<'_, Bans> {
        self.bans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream, and what must be held while it is used.
struct Opened {
    busy: Busy,
    send: SendStream,
    recv: RecvStream,
    _leave: Option<OwnedSemaphorePermit>,
}

/// Closes what the last user of an endpoint left open.
struct Last(Arc<Inner>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.close();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let inner = self.0.clone();
            runtime.spawn(async move { inner.close_sockets().await });
        }
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("key", &self.inner.key).field("listen", &self.inner.listen).finish()
    }
}
