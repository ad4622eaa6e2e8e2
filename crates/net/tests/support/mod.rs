//! Machines on loopback addresses, a ring for them, and a service that counts.

#![allow(dead_code, reason = "each test file uses some of it")]

pub(crate) mod attacker;

use bytes::Bytes;
use herodotus_base::{PeerKey, Timestamp};
use herodotus_net::{
    Address, Admission, BoxFuture, CallError, Caller, Endpoint, Kind, Limits, Refusal, Service, Settings, Stream, join,
};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Notify, Semaphore};

pub(crate) const ECHO: Kind = Kind(1);
pub(crate) const WAIT: Kind = Kind(2);
pub(crate) const LONG: Kind = Kind(3);
pub(crate) const WORDS: Kind = Kind(4);
/// Long enough for a busy machine; nothing here waits for it to pass.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Echoes, counts, and waits when asked to.
pub(crate) struct Counting {
    pub(crate) calls: AtomicU64,
    pub(crate) at_once: AtomicUsize,
    pub(crate) at_once_max: AtomicUsize,
    pub(crate) notices: Mutex<Vec<(Caller, Kind, Bytes)>>,
    pub(crate) callers: Mutex<Vec<Caller>>,
    pub(crate) notified: Notify,
    pub(crate) go: Semaphore,
}

impl Default for Counting {
    fn default() -> Self {
        Self {
            calls: AtomicU64::default(),
            at_once: AtomicUsize::default(),
            at_once_max: AtomicUsize::default(),
            notices: Mutex::default(),
            callers: Mutex::default(),
            notified: Notify::new(),
            go: Semaphore::new(0),
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct Served(pub(crate) Arc<Counting>);

impl Service for Served {
    fn call(&self, from: Caller, kind: Kind, payload: Bytes) -> BoxFuture<Result<Bytes, Refusal>> {
        let this = self.0.clone();
        Box::pin(async move {
            this.calls.fetch_add(1, SeqCst);
            this.callers.lock().unwrap().push(from);
            let now = this.at_once.fetch_add(1, SeqCst) + 1;
            this.at_once_max.fetch_max(now, SeqCst);
            let answer = match kind {
                ECHO => Ok(payload),
                WAIT => {
                    this.go.acquire().await.unwrap().forget();
                    Ok(payload)
                }
                LONG => Ok(vec![7; herodotus_net::limits::CALL_BYTES_MAX + payload.len()].into()),
                WORDS => Err(Refusal::service("not today")),
                Kind(other) => Err(Refusal::UnknownKind(other)),
            };
            this.at_once.fetch_sub(1, SeqCst);
            answer
        })
    }

    fn notice(&self, from: Caller, kind: Kind, payload: Bytes) -> BoxFuture<()> {
        self.0.notices.lock().unwrap().push((from, kind, payload));
        self.0.notified.notify_one();
        Box::pin(async {})
    }

    fn stream(&self, _: Caller, kind: Kind, head: Bytes, mut stream: Stream) -> BoxFuture<()> {
        let this = self.0.clone();
        Box::pin(async move {
            match kind {
                // The head, then everything that comes, back.
                ECHO => {
                    stream.write_all(&head).await.unwrap();
                    let (mut reader, mut writer) = stream.into_split();
                    tokio::io::copy(&mut reader, &mut writer).await.unwrap();
                    writer.shutdown().await.unwrap();
                }
                // Half of what was promised.
                WORDS => {
                    let _ = stream.write_all(b"half").await;
                    let mut one = [0];
                    let _ = stream.read_exact(&mut one).await;
                }
                // Writes to one who may never read.
                LONG => {
                    let error = loop {
                        if let Err(error) = stream.write_all(&[7; 65536]).await {
                            break error;
                        }
                    };
                    this.notices.lock().unwrap().push((
                        Caller { key: PeerKey([0; 32]), address: None },
                        kind,
                        error.to_string().into(),
                    ));
                }
                _ => {}
            }
        })
    }
}

/// A machine that listens at 127.0.0.`last`.
pub(crate) struct Machine {
    pub(crate) endpoint: Endpoint,
    pub(crate) served: Arc<Counting>,
    pub(crate) secret: [u8; 32],
    pub(crate) dir: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) kept: TempDir,
}

pub(crate) fn key_of(secret: [u8; 32]) -> PeerKey {
    PeerKey(*iroh::SecretKey::from_bytes(&secret).public().as_bytes())
}

pub(crate) fn settings(last: u8, limits: Limits) -> Settings {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).unwrap();
    Settings { limits, ..Settings::new(secret, [SocketAddr::from(([127, 0, 0, last], 0))]) }
}

impl Machine {
    /// The first of a closed ring, and its owner.
    pub(crate) async fn owner(last: u8, limits: Limits) -> Self {
        let kept = tempfile::tempdir().unwrap();
        let settings = settings(last, limits);
        let dir = kept.path().join("ring");
        let key = key_of(settings.secret);
        let admission = Admission::create_closed(&dir, key, "letters", 16, 6, Timestamp::now()).unwrap();
        Self::start(settings, admission, dir, kept).await
    }

    /// A member of an open ring, which it makes the same as everybody else's.
    pub(crate) async fn open(last: u8, limits: Limits) -> Self {
        let kept = tempfile::tempdir().unwrap();
        let settings = settings(last, limits);
        let dir = kept.path().join("ring");
        let key = key_of(settings.secret);
        let made = Timestamp::from_millis_clamped(1_000);
        let admission = Admission::create_open(&dir, key, "everybody", 16, 6, 4, made).unwrap();
        Self::start(settings, admission, dir, kept).await
    }

    /// One that joins by a ticket of the owner's.
    pub(crate) async fn join(owner: &Self, last: u8, limits: Limits) -> Self {
        let kept = tempfile::tempdir().unwrap();
        let settings = settings(last, limits);
        let dir = kept.path().join("ring");
        let now = Timestamp::now();
        let ticket = owner.endpoint.admission().invite(owner.address(), now, SOON).unwrap();
        let ticket = ticket.to_text().unwrap().parse().unwrap();
        let admission = join(&settings, &ticket, &dir, now).await.unwrap();
        Self::start(settings, admission, dir, kept).await
    }

    async fn start(settings: Settings, admission: Admission, dir: PathBuf, kept: TempDir) -> Self {
        let served = Served::default();
        let endpoint = Endpoint::bind(settings.clone(), Arc::new(admission), Arc::new(served.clone())).await.unwrap();
        Self { endpoint, served: served.0, secret: settings.secret, dir, settings, kept }
    }

    pub(crate) fn address(&self) -> Address {
        self.endpoint.address()
    }

    pub(crate) fn key(&self) -> PeerKey {
        self.endpoint.key()
    }

    pub(crate) async fn echo(&self, to: &Self, words: &'static [u8]) -> Result<Bytes, CallError> {
        self.endpoint.call(&to.address(), ECHO, Bytes::from_static(words), SOON).await
    }

    /// That it is as well as before.
    pub(crate) async fn must_answer(&self, honest: &Self) {
        assert_eq!(honest.echo(self, b"well?").await.unwrap(), &b"well?"[..]);
    }
}

/// Waits until it is so; a test that waits in vain fails.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(SOON, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "in vain: {what}");
}
