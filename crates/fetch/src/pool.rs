//! Connections that wait for another request, bounded in number, for each host and in time.
//!
//! The lock is held for a look into a table, never while something is awaited or a connection closes. When there are too
//! many, those that wait longest go first. A task closes what has waited too long, and ends when nothing waits.

use crate::h2::Link;
use crate::stream::Line;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

#[derive(Debug)]
pub(crate) struct Pool {
    shelf: Mutex<Shelf>,
    idle_max: usize,
    per_host_idle_max: usize,
    idle_for: Duration,
}

/// A connection that can be asked something.
#[derive(Debug)]
pub(crate) enum Kept {
    /// HTTP/1.x: for one request at a time.
    Own(Line),
    /// HTTP/2: shared with others.
    Shared(Link),
}

#[derive(Debug, Default)]
struct Shelf {
    /// By scheme, host and port.
    hosts: HashMap<Arc<str>, Vec<Waiting>>,
    /// How many wait in all.
    count: usize,
    /// In the order in which they came. Names those that have gone, too; these are skipped.
    order: VecDeque<(Arc<str>, u64)>,
    next_id: u64,
    has_sweeper: bool,
}

#[derive(Debug)]
struct Waiting {
    id: u64,
    since: Instant,
    kept: Kept,
}

impl Pool {
    pub(crate) fn new(idle_max: usize, per_host_idle_max: usize, idle_for: Duration) -> Self {
        Self { shelf: Mutex::default(), idle_max, per_host_idle_max, idle_for }
    }

    /// A connection to this origin, the one used last. One for HTTP/2 stays here for others, too.
    pub(crate) fn take(&self, origin: &str) -> Option<Kept> {
        loop {
            let mut kept = self.take_any(origin)?;
            // Those that fail here are closed outside the lock.
            let is_good = match &mut kept {
                Kept::Own(line) => line.is_quiet(),
                Kept::Shared(link) => link.is_open(),
            };
            if is_good {
                return Some(kept);
            }
            if let Kept::Shared(link) = kept {
                self.forget(origin, &link);
            }
        }
    }

    fn take_any(&self, origin: &str) -> Option<Kept> {
        let now = Instant::now();
        let mut shelf = self.lock();
        let waiting = shelf.hosts.get_mut(origin)?;
        let last = waiting.last_mut()?;
        if let Kept::Shared(link) = &last.kept {
            last.since = now;
            return Some(Kept::Shared(link.clone()));
        }
        let is_fresh = now.saturating_duration_since(last.since) < self.idle_for;
        let last = waiting.pop()?;
        if waiting.is_empty() {
            shelf.hosts.remove(origin);
        }
        shelf.count -= 1;
        is_fresh.then_some(last.kept)
    }

    /// Keeps a connection for the next request.
    pub(crate) fn put(self: &Arc<Self>, origin: &Arc<str>, kept: Kept) {
        if self.idle_max == 0 || self.per_host_idle_max == 0 {
            return;
        }
        let now = Instant::now();
        let mut closing = Vec::new();
        let mut shelf = self.lock();
        let id = shelf.next_id;
        shelf.next_id += 1;
        let waiting = shelf.hosts.entry(Arc::clone(origin)).or_default();
        if waiting.len() >= self.per_host_idle_max {
            closing.push(waiting.remove(0));
        }
        waiting.push(Waiting { id, since: now, kept });
        shelf.order.push_back((Arc::clone(origin), id));
        shelf.count = shelf.count + 1 - closing.len();
        while shelf.count > self.idle_max {
            closing.extend(shelf.remove_oldest());
        }
        if shelf.order.len() > 2 * shelf.count + 64 {
            let Shelf { hosts, order, .. } = &mut *shelf;
            order.retain(|(origin, id)| {
                hosts.get(origin).is_some_and(|waiting| waiting.iter().any(|one| one.id == *id))
            });
        }
        let needs_sweeper = !shelf.has_sweeper;
        shelf.has_sweeper = true;
        drop(shelf);
        if needs_sweeper {
            let pool = Arc::downgrade(self);
            let mut next = now + self.idle_for;
            tokio::spawn(async move {
                loop {
                    sleep_until(next).await;
                    let Some(pool) = pool.upgrade() else { return };
                    match pool.sweep() {
                        Some(later) => next = later,
                        None => return,
                    }
                }
            });
        }
    }

    /// Takes a shared connection away that others should not use.
    pub(crate) fn forget(&self, origin: &str, link: &Link) {
        let mut shelf = self.lock();
        let Some(waiting) = shelf.hosts.get_mut(origin) else { return };
        let is_it = |one: &Waiting| matches!(&one.kept, Kept::Shared(known) if known.is_same(link));
        let Some(at) = waiting.iter().position(is_it) else { return };
        let gone = waiting.remove(at);
        if waiting.is_empty() {
            shelf.hosts.remove(origin);
        }
        shelf.count -= 1;
        drop(shelf);
        drop(gone);
    }

    /// Closes what has waited too long. When to look again, if anything waits.
    fn sweep(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut closing = Vec::new();
        let mut shelf = self.lock();
        let Shelf { hosts, count, .. } = &mut *shelf;
        let mut next = None::<Instant>;
        hosts.retain(|_, waiting| {
            for one in std::mem::take(waiting) {
                let until = one.since + self.idle_for;
                let in_use = matches!(&one.kept, Kept::Shared(link) if link.is_in_use());
                if until <= now && !in_use {
                    *count -= 1;
                    closing.push(one);
                } else {
                    let until = if in_use { now + self.idle_for } else { until };
                    next = Some(next.map_or(until, |next| next.min(until)));
                    waiting.push(one);
                }
            }
            !waiting.is_empty()
        });
        shelf.has_sweeper = next.is_some();
        drop(shelf);
        drop(closing);
        // Not more often than needed to be roughly in time.
        next.map(|next| next.max(now + self.idle_for / 4))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.lock().count
    }
}

impl Shelf {
    fn remove_oldest(&mut self) -> Option<Waiting> {
        loop {
            let (origin, id) = self.order.pop_front()?;
            let Some(waiting) = self.hosts.get_mut(&origin) else { continue };
            let Some(at) = waiting.iter().position(|one| one.id == id) else { continue };
            let oldest = waiting.remove(at);
            if waiting.is_empty() {
                self.hosts.remove(&origin);
            }
            self.count -= 1;
            return Some(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;
    use tokio::net::{TcpListener, TcpStream};

    async fn line(listener: &TcpListener) -> (Kept, TcpStream) {
        let remote = listener.local_addr().unwrap();
        let (socket, served) = tokio::join!(TcpStream::connect(remote), listener.accept());
        let line = Line { stream: Stream::Plain(socket.unwrap()), remote, tls: None, is_h2: false };
        (Kept::Own(line), served.unwrap().0)
    }

    #[tokio::test]
    async fn there_are_never_more_than_allowed_and_the_oldest_goes_first() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let pool = Arc::new(Pool::new(4, 2, Duration::from_secs(60)));
        let names: Vec<Arc<str>> = ["a", "b", "c"].map(Arc::from).to_vec();
        let mut served = Vec::new();
        for name in &names {
            for _ in 0..3 {
                let (kept, other) = line(&listener).await;
                served.push(other);
                pool.put(name, kept);
            }
        }
        assert_eq!(pool.count(), 4);
        assert!(pool.take("a").is_none());
        for name in ["b", "c"] {
            assert!(pool.take(name).is_some() && pool.take(name).is_some() && pool.take(name).is_none(), "{name}");
        }
        assert_eq!(pool.count(), 0);
    }

    #[tokio::test]
    async fn a_connection_that_the_server_closed_or_wrote_to_is_not_given_out() {
        use tokio::io::AsyncWriteExt;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let pool = Arc::new(Pool::new(4, 4, Duration::from_secs(60)));
        let name: Arc<str> = "a".into();
        let (good, _good_other) = line(&listener).await;
        pool.put(&name, good);
        for closes in [true, false] {
            let (kept, mut other) = line(&listener).await;
            let Kept::Own(Line { stream: Stream::Plain(socket), .. }) = &kept else { panic!() };
            if closes {
                drop(other);
                socket.readable().await.unwrap();
            } else {
                other.write_all(b"HTTP/1.1 408\r\n\r\n").await.unwrap();
                socket.readable().await.unwrap();
            }
            pool.put(&name, kept);
        }
        assert!(pool.take("a").is_some());
        assert_eq!(pool.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_too_long_is_closed_without_anybody_asking() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let pool = Arc::new(Pool::new(4, 4, Duration::from_secs(60)));
        let (kept, _other) = line(&listener).await;
        pool.put(&"a".into(), kept);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(pool.count(), 1);
        tokio::time::sleep(Duration::from_secs(50)).await;
        assert_eq!(pool.count(), 0);
        let (kept, _other) = line(&listener).await;
        pool.put(&"a".into(), kept);
        tokio::time::sleep(Duration::from_secs(80)).await;
        assert_eq!(pool.count(), 0);
    }
}
