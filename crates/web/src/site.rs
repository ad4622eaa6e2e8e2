//! What every request is answered from: the archive, whoever runs crawls, and how much may go on at once.

use crate::answer::Trouble;
use crate::crawls::Crawls;
use crate::limits::{BYTES_IN_FLIGHT_MAX, READERS_MAX, WAIT_MAX, WARM_MAX};
use crate::metrics::Counts;
use crate::origin::Hosts;
use crate::peers::Peers;
use crate::views::Caches;
use data_encoding::BASE32_NOPAD;
use herodotus_catalogue::Catalogue;
use herodotus_store::Store;
use quick_cache::sync::Cache;
use std::hash::{BuildHasher, Hash, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use subtle::ConstantTimeEq;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// An archive with its face. Clones share it.
#[derive(Clone, Debug)]
pub struct Site {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    data: PathBuf,
    crawls: Option<Arc<dyn Crawls>>,
    peers: OnceLock<Arc<dyn Peers>>,
    catalogue: Arc<Catalogue>,
    hosts: Hosts,
    token: Token,
    caches: Caches,
    counts: Counts,
    readers: Arc<Semaphore>,
    in_flight: Arc<Semaphore>,
    quit: watch::Sender<bool>,
    /// Requests whose answer was read lately, so that what it takes is in memory.
    warm: Cache<u64, ()>,
    hasher: RandomState,
}

impl Site {
    pub fn new(
        store: Store,
        data: &Path,
        crawls: Option<Arc<dyn Crawls>>,
        catalogue: Arc<Catalogue>,
        hosts: Hosts,
        token: Token,
    ) -> Self {
        let inner = Inner {
            store,
            data: data.to_owned(),
            crawls,
            peers: OnceLock::new(),
            catalogue,
            hosts,
            token,
            caches: Caches::default(),
            counts: Counts::default(),
            readers: Arc::new(Semaphore::new(READERS_MAX)),
            in_flight: Arc::new(Semaphore::new(BYTES_IN_FLIGHT_MAX)),
            quit: watch::Sender::new(false),
            warm: Cache::new(WARM_MAX),
            hasher: RandomState::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The same site in a ring. All clones see it; a site is in one ring, so that of several the first counts.
    #[must_use]
    pub fn with_peers(self, peers: Arc<dyn Peers>) -> Self {
        let _ = self.inner.peers.set(peers);
        self
    }

    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The directory of the archive.
    pub(crate) fn data(&self) -> &Path {
        &self.inner.data
    }

    pub(crate) fn crawls(&self) -> Option<&Arc<dyn Crawls>> {
        self.inner.crawls.as_ref()
    }

    /// The ring that this machine belongs to, if any.
    pub(crate) fn peers(&self) -> Option<&Arc<dyn Peers>> {
        self.inner.peers.get()
    }

    /// Requests that were answered.
    pub(crate) fn counts(&self) -> &Counts {
        &self.inner.counts
    }

    /// Titles, which may be a little behind the archive.
    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.inner.catalogue
    }

    /// What was worked out for a view and will be asked for again.
    pub(crate) fn caches(&self) -> &Caches {
        &self.inner.caches
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.inner.hosts
    }

    pub(crate) fn token(&self) -> &Token {
        &self.inner.token
    }

    /// Tells everything that would go on without end that it is over.
    pub(crate) fn quit(&self) {
        self.inner.quit.send_replace(true);
    }

    pub(crate) fn quitting(&self) -> watch::Receiver<bool> {
        self.inner.quit.subscribe()
    }

    /// Runs what reads the disk in a thread that may block, at most [`READERS_MAX`] at once.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let readers = self.inner.readers.clone();
        let permit = tokio::time::timeout(WAIT_MAX, readers.acquire_owned()).await;
        let Ok(Ok(permit)) = permit else { return Err(Trouble::Busy) };
        let site = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let result = read(&site);
            drop(permit);
            result
        });
        done.await.unwrap_or_else(|error| Err(Trouble::Ours(error.to_string())))
    }

    /// Runs what reads the disk: here and now if the same was read lately, since then it is in memory and the way to another
    /// thread and back would cost more than it does; else as [`Site::blocking`] does. `is_small`: worth remembering so.
    pub(crate) async fn reading<T: Send + 'static>(
        &self,
        what: impl Hash,
        read: impl FnOnce(&Self) -> Result<T, Trouble> + Send + 'static,
        is_small: impl FnOnce(&T) -> bool,
    ) -> Result<T, Trouble> {
        let name = self.inner.hasher.hash_one(what);
        if self.inner.warm.get(&name).is_some() {
            return read(self);
        }
        let answer = self.blocking(read).await?;
        if is_small(&answer) {
            self.inner.warm.insert(name, ());
        }
        Ok(answer)
    }

    /// The same as [`Site::hold`] if it is to be had at once.
    pub(crate) fn try_hold(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.inner.in_flight.clone().try_acquire_many_owned(permits(bytes)).ok()
    }

    /// Leave to hold so many bytes for a reader until the permit is dropped.
    pub(crate) async fn hold(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Trouble> {
        let permit = self.inner.in_flight.clone().acquire_many_owned(permits(bytes));
        let permit = tokio::time::timeout(WAIT_MAX, permit).await;
        let Ok(Ok(permit)) = permit else { return Err(Trouble::Busy) };
        Ok(permit)
    }
}

fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes.clamp(1, BYTES_IN_FLIGHT_MAX)).unwrap_or(u32::MAX)
}

/// What a program must show before it may change anything.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// The archive's token, made on first use, readable by its owner alone.
    pub fn of(data: &Path) -> std::io::Result<Self> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let path = data.join("token");
        match std::fs::read_to_string(&path) {
            Ok(text) if text.trim().len() >= 32 => return Ok(Self(text.trim().to_owned())),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut random = [0; 20];
        getrandom::fill(&mut random).map_err(std::io::Error::other)?;
        let token = BASE32_NOPAD.encode(&random).to_ascii_lowercase();
        std::fs::create_dir_all(data)?;
        let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        writeln!(file, "{token}")?;
        file.sync_all()?;
        Ok(Self(token))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compared without telling by its time how much was right.
    pub(crate) fn is(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.trim().as_bytes()).into()
    }
}
