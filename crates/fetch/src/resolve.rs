//! Names to addresses, behind a trait so that tests and closed networks bring their own.
//!
//! The system's resolver blocks a thread for each lookup, for as long as it likes. So lookups are bounded in number,
//! and one that nobody waits for any more keeps its place until it returns: hosts with broken name servers cannot take
//! all threads. Answers are kept for a minute. An address is judged when it is dialled, not here.

use crate::limits::{DNS_CACHE_ENTRIES_MAX, DNS_CACHE_TTL, DNS_LOOKUPS_MAX};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio::time::Instant;

pub type Addresses<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

pub trait Resolve: Send + Sync + fmt::Debug {
    /// The addresses of a host, in the order in which to try them. Never asked for an IP address.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Addresses<'a>;
}

/// When it was given, and what it said.
type Answer = (Instant, Vec<IpAddr>);

/// The operating system's resolver, with its answers kept for a minute.
#[derive(Debug)]
pub struct SystemResolver {
    places: Arc<Semaphore>,
    cache: Mutex<HashMap<Box<str>, Answer>>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(DNS_LOOKUPS_MAX)), cache: Mutex::default() }
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Addresses<'a> {
        Box::pin(async move {
            let ips = match self.known(host) {
                Some(ips) => ips,
                None => {
                    let ips = self.look_up(host).await?;
                    self.remember(host, &ips);
                    ips
                }
            };
            Ok(ips.into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
        })
    }
}

impl SystemResolver {
    async fn look_up(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(io::Error::other)?;
        let host = host.to_owned();
        let lookup = move || {
            // Held by the thread, not by who waits for it.
            let _place = place;
            Ok((host.as_str(), 0).to_socket_addrs()?.map(|addr| addr.ip()).collect())
        };
        tokio::task::spawn_blocking(lookup).await.map_err(io::Error::other)?
    }

    fn known(&self, host: &str) -> Option<Vec<IpAddr>> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.get(host).filter(|(since, _)| since.elapsed() < DNS_CACHE_TTL).map(|(_, ips)| ips.clone())
    }

    fn remember(&self, host: &str, ips: &[IpAddr]) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= DNS_CACHE_ENTRIES_MAX {
            cache.retain(|_, (since, _)| since.elapsed() < DNS_CACHE_TTL);
        }
        if cache.len() >= DNS_CACHE_ENTRIES_MAX {
            cache.clear();
        }
        cache.insert(host.into(), (Instant::now(), ips.to_vec()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_system_knows_this_machine_and_the_answer_is_kept() {
        let resolver = SystemResolver::default();
        let found = resolver.resolve("localhost", 81).await.unwrap();
        assert!(found.iter().all(|addr| addr.ip().is_loopback() && addr.port() == 81) && !found.is_empty());
        assert_eq!(resolver.known("localhost").map(|ips| ips.len()), Some(found.len()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_forgotten_in_time_and_the_cache_stays_small() {
        let resolver = SystemResolver::default();
        resolver.remember("a.test", &[[192, 0, 2, 1].into()]);
        tokio::time::advance(DNS_CACHE_TTL / 2).await;
        assert!(resolver.known("a.test").is_some());
        tokio::time::advance(DNS_CACHE_TTL).await;
        assert!(resolver.known("a.test").is_none());
        for nth in 0..DNS_CACHE_ENTRIES_MAX * 2 + 1 {
            resolver.remember(&format!("{nth}.test"), &[]);
            assert!(resolver.cache.lock().unwrap().len() <= DNS_CACHE_ENTRIES_MAX);
        }
    }
}
