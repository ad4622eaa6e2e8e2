//! Who may ask a host, and when, where a host's URLs lie on several machines: the owner of its first place gives out turns, one after another.
//!
//! A turn is a moment from now on; the next one lies at least the delay behind it. Turns are not taken back: whoever dies with one leaves a gap. A new owner
//! knows nothing of turns that were given, and so lets one delay pass first.

use super::Inner;
use super::wire::{Ask, Reply};
use herodotus_ring::placement::place_of_part;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Hosts that turns are known of. Past that, those whose time is over are forgotten.
const HOSTS_MAX: usize = 100_000;
/// Nobody is sent away for longer; whoever would be asks again.
const AHEAD_MAX: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Turns {
    next: Mutex<HashMap<String, Instant>>,
}

impl Turns {
    /// How long to wait for the next turn, which is given; nothing if too many were given already.
    pub(super) fn give(&self, host: &str, delay: Duration, now: Instant) -> Option<Duration> {
        let mut next = super::lock(&self.next);
        if next.len() >= HOSTS_MAX && !next.contains_key(host) {
            next.retain(|_, at| *at > now);
            if next.len() >= HOSTS_MAX {
                return None;
            }
        }
        // Of a host that was never asked here somebody else may have given a turn a moment ago.
        let at = next.get(host).copied().unwrap_or(now + delay).max(now);
        let wait = at.duration_since(now);
        if wait > AHEAD_MAX {
            return None;
        }
        next.insert(host.to_owned(), at + delay);
        Some(wait)
    }
}

/// How long nobody to give a turn is waited for before one goes on all the same: the owner's successor gives turns by then.
const ASKED_MAX: usize = 60;

/// Waits for a turn, if the key's host lies on several machines. One that lies with us alone is ours to be polite to.
pub(super) async fn wait_for(inner: &Arc<Inner>, key: &str, delay: Duration) {
    let Some(host) = inner.copies.host_if_split(key) else { return };
    for _ in 0..ASKED_MAX {
        let wait = match inner.copies.owns_host(&host) {
            true => inner.turns.give(&host, delay, Instant::now()),
            false => ask(inner, &host, delay).await,
        };
        match wait {
            Some(wait) => return tokio::time::sleep(wait).await,
            None => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
}

async fn ask(inner: &Arc<Inner>, host: &str, delay: Duration) -> Option<Duration> {
    let (owner, _) = inner.copies.owner_of(place_of_part(host, 0)).await.ok()?;
    let ask = Ask::Turn { host: host.to_owned(), delay_ms: delay.as_millis() as u64 };
    match inner.ask(&owner, &ask).await {
        Ok(Reply::Turn { wait_ms }) => Some(Duration::from_millis(wait_ms)),
        Ok(_) | Err(_) => {
            inner.copies.forget_owner(place_of_part(host, 0));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_one_another_at_the_hosts_pace() {
        let (turns, now, delay) = (Turns::default(), Instant::now(), Duration::from_secs(1));
        let waits: Vec<_> = (0..4).filter_map(|_| turns.give("a", delay, now)).collect();
        assert_eq!(waits, [1, 2, 3, 4].map(Duration::from_secs));
        assert_eq!(turns.give("b", delay, now), Some(delay), "another host has its own");
        let later = now + Duration::from_secs(100);
        assert_eq!(turns.give("a", delay, later), Some(Duration::ZERO));
        assert_eq!(turns.give("a", delay, later), Some(delay));
        let far = (0..100).filter_map(|_| turns.give("a", delay, later)).max();
        assert!(far <= Some(AHEAD_MAX), "{far:?}");
    }
}
