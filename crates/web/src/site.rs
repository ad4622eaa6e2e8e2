//! What every request is answered from: the archive, whoever runs crawls, and how much may go on at once.

use crate::answer::Trouble;
use crate::archive::{Archive, Elsewhere, Holdings, PublicAddress};
use crate::crawls::Crawls;
use crate::limits::{BYTES_IN_FLIGHT_MAX, FETCHED_PIECES_MAX, READERS_MAX, TRAVELLERS_MAX, WAIT_MAX, WARM_MAX};
use crate::metrics::Counts;
use crate::origin::Hosts;
use crate::peers::Peers;
use crate::views::Caches;
use data_encoding::BASE32_NOPAD;
use herodotus_catalogue::Catalogue;
use herodotus_store::{Store, key_of};
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
    /// Whether the network may be waited for in the thread that has it.
    may_wait: bool,
}

#[derive(Debug)]
struct Inner {
    holdings: Holdings,
    data: PathBuf,
    crawls: Option<Arc<dyn Crawls>>,
    peers: OnceLock<Arc<dyn Peers>>,
    hosts: Hosts,
    token: Token,
    caches: Caches,
    counts: Counts,
    readers: Arc<Semaphore>,
    travellers: Arc<Semaphore>,
    fetched_pieces: Arc<Semaphore>,
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
            holdings: Holdings::new(store, catalogue),
            data: data.to_owned(),
            crawls,
            peers: OnceLock::new(),
            hosts,
            token,
            caches: Caches::default(),
            counts: Counts::default(),
            readers: Arc::new(Semaphore::new(READERS_MAX)),
            travellers: Arc::new(Semaphore::new(TRAVELLERS_MAX)),
            fetched_pieces: Arc::new(Semaphore::new(FETCHED_PIECES_MAX)),
            in_flight: Arc::new(Semaphore::new(BYTES_IN_FLIGHT_MAX)),
            quit: watch::Sender::new(false),
            warm: Cache::new(WARM_MAX),
            hasher: RandomState::new(),
        };
        Self { inner: Arc::new(inner), may_wait: true }
    }

    /// The same site in a ring. All clones see it; a site is in one ring, so that of several the first counts.
    #[must_use]
    pub fn with_peers(self, peers: Arc<dyn Peers>) -> Self {
        let _ = self.inner.peers.set(peers);
        self
    }

    /// The same site, answering from all machines of a ring. With `redirects`, whoever asks for a URL that another machine
    /// holds is sent there. All clones see it; of several, the first counts.
    #[must_use]
    pub fn with_elsewhere(self, elsewhere: Arc<dyn Elsewhere>, redirects: bool) -> Self {
        self.inner.holdings.join(elsewhere, redirects);
        self
    }

    /// What every page is made of: this machine's store, or that of a whole ring.
    pub(crate) fn archive(&self) -> Archive<'_> {
        self.inner.holdings.archive(self.may_wait)
    }

    /// The same site, for a thread that may not wait.
    fn nearby(&self) -> Self {
        Self { inner: self.inner.clone(), may_wait: false }
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

    /// Runs what reads the archive in a thread that may block: at most [`READERS_MAX`] at once, and in a ring, where it may have to
    /// wait for others, at most [`TRAVELLERS_MAX`].
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let threads = if self.inner.holdings.is_alone() { &self.inner.readers } else { &self.inner.travellers };
        let site = Self { inner: self.inner.clone(), may_wait: true };
        site.in_thread(threads, read).await
    }

    async fn in_thread<T: Send + 'static>(
        &self,
        threads: &Arc<Semaphore>,
        read: impl FnOnce(&Self) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let permit = tokio::time::timeout(WAIT_MAX, threads.clone().acquire_owned()).await;
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
    /// In a ring, what is on this disk is read by those who read it, and only what is not sends a traveller.
    pub(crate) async fn reading<T: Send + 'static>(
        &self,
        url: &str,
        what: impl Hash,
        read: impl Fn(&Self) -> Result<T, Trouble> + Send + 'static,
        is_small: impl FnOnce(&T) -> bool,
    ) -> Result<T, Trouble> {
        let name = self.inner.hasher.hash_one(what);
        let is_alone = self.inner.holdings.is_alone();
        if self.inner.warm.get(&name).is_some() {
            let answer = if is_alone { read(self) } else { read(&self.nearby()) };
            match answer {
                Err(Trouble::NotHere) => {}
                answer => return answer,
            }
        }
        let answer = if !is_alone && self.archive().is_here(&key_of(url)) {
            let nearby = self.nearby();
            let found = nearby.in_thread(&self.inner.readers, move |site| match read(site) {
                // A redirect or a revisit that leads beyond what is here.
                Err(Trouble::NotHere) => Ok(Err(read)),
                answer => answer.map(Ok),
            });
            match found.await? {
                Ok(answer) => answer,
                Err(read) => self.blocking(read).await?,
            }
        } else {
            self.blocking(read).await?
        };
        if is_small(&answer) {
            self.inner.warm.insert(name, ());
        }
        Ok(answer)
    }

    /// Where a reader of a URL is to be sent, if that is how it is done in this ring.
    pub(crate) async fn redirect(&self, url: &str) -> Result<Option<PublicAddress>, Trouble> {
        match self.archive().redirects() {
            true => self.redirect_key(key_of(url)).await,
            false => Ok(None),
        }
    }

    /// The same of a key.
    pub(crate) async fn redirect_key(&self, key: String) -> Result<Option<PublicAddress>, Trouble> {
        if !self.archive().redirects() || self.archive().is_here(&key) {
            return Ok(None);
        }
        self.blocking(move |site| Ok(site.archive().address_of(&key))).await
    }

    /// Leave to fetch a piece of a large body from another machine.
    pub(crate) fn fetched_pieces(&self) -> &Arc<Semaphore> {
        &self.inner.fetched_pieces
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
