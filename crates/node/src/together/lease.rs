//! Who may ask a host, and when: the owner of the host's first place gives out leases, one after another (decision 0016).
//!
//! [`Leases`] is the giver, and pure. A lease is for one exchange, and is given back when that is over; the next one is given when the delay has passed since the last
//! was given *and* since the last came back. So a machine that is late with its exchange makes the next one later, and the times that a server sees
//! are never closer than the delay, as long as one at a time may ask. A lease that does not come back (its holder died) ends by itself. A new owner knows nothing of leases that were given:
//! one that took over from a silent machine waits until they have ended, and of a host on several machines every new one lets a delay pass first.

use super::Inner;
use super::wire::{Ask, Reply};
use crate::crawl::Lease;
use herodotus_page::{WebUrl, host_of_key};
use herodotus_ring::placement::place_of_part;
use herodotus_store::key_of;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// Hosts that are known. Past that, those that were not asked for long are forgotten.
const HOSTS_MAX: usize = 100_000;
/// After so long every delay has passed: the longest is five minutes.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
/// A lease ends by itself then. Most exchanges are over by that; of one that is not, the next request is far enough away.
const LASTS: Duration = crate::copies::LEASE_LASTS;
/// A host that asks all to stay away is left alone for so long at most: whoever comes then hears it from the host.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Whoever asks is kept waiting for so long at most, and asks again: well within a call.
const HELD_MAX: Duration = Duration::from_secs(5);
/// If nobody can be asked for a lease so often, one goes on without: the owner's successor gives them by then.
const IN_VAIN_MAX: usize = 60;
const IN_VAIN_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Leases {
    hosts: HashMap<String, Host>,
    given: u64,
}

#[derive(Debug, Default)]
struct Host {
    /// When one was last given, or came back.
    last: Duration,
    /// The host asked all to stay away until then.
    not_before: Duration,
    /// Those that are out, and when they end by themselves.
    out: Vec<(u64, Duration)>,
}

/// What somebody asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish<'a> {
    pub(super) host: &'a str,
    pub(super) delay: Duration,
    /// Requests at once that the crawl allows itself.
    pub(super) at_once: usize,
    /// Its URLs lie on several machines: others may have asked it a moment ago.
    pub(super) is_split: bool,
    /// Somebody else may give leases until then.
    pub(super) not_before: Duration,
}

impl Leases {
    /// A lease, or how long to wait before asking again, unless one comes back before.
    pub(super) fn ask(&mut self, now: Duration, wish: Wish<'_>) -> Result<u64, Duration> {
        if self.hosts.len() >= HOSTS_MAX && !self.hosts.contains_key(wish.host) {
            self.hosts.retain(|_, host| !host.out.is_empty() || host.last + FORGOTTEN_AFTER > now);
            if self.hosts.len() >= HOSTS_MAX {
                return Err(IN_VAIN_PAUSE);
            }
        }
        let last = if wish.is_split { now } else { now.saturating_sub(wish.delay) };
        let host = self.hosts.entry(wish.host.to_owned()).or_insert_with(|| Host { last, ..Host::default() });
        host.end(now);
        let at = (host.last + wish.delay).max(host.not_before).max(wish.not_before);
        if at > now {
            return Err(at - now);
        }
        if host.out.len() >= wish.at_once.max(1) {
            let ends = host.out.iter().map(|(_, until)| *until).min().unwrap_or(now);
            return Err(ends.saturating_sub(now).max(Duration::from_millis(1)));
        }
        self.given += 1;
        host.last = now;
        host.out.push((self.given, now + LASTS));
        Ok(self.given)
    }

    /// The exchange is over. A pause is what the host asked for.
    pub(super) fn give_back(&mut self, now: Duration, host: &str, lease: u64, pause: Duration) {
        let Some(host) = self.hosts.get_mut(host) else { return };
        host.end(now);
        let before = host.out.len();
        host.out.retain(|(known, _)| *known != lease);
        if host.out.len() < before {
            host.last = host.last.max(now);
            host.not_before = host.not_before.max(now + pause.min(PAUSE_MAX));
        }
    }
}

impl Host {
    /// Ends those whose time is over.
    fn end(&mut self, now: Duration) {
        let over = self.out.iter().map(|(_, until)| *until).filter(|until| *until <= now).max();
        self.last = self.last.max(over.unwrap_or_default());
        self.out.retain(|(_, until)| *until > now);
    }
}

/// The giver, with those who wait.
#[derive(Debug, Default)]
pub(super) struct Giver {
    leases: Mutex<Leases>,
    came_back: Notify,
}

impl Giver {
    /// Waits for a lease for as long as a call may take.
    pub(super) async fn give(&self, clock: impl Fn() -> Duration, wish: Wish<'_>) -> Option<u64> {
        let until = clock() + HELD_MAX;
        loop {
            let mut came_back = std::pin::pin!(self.came_back.notified());
            // From now on, so that none that comes back meanwhile is missed.
            came_back.as_mut().enable();
            let now = clock();
            let wait = match super::lock(&self.leases).ask(now, wish) {
                Ok(lease) => return Some(lease),
                Err(wait) => wait.min(until.saturating_sub(now)),
            };
            if wait.is_zero() {
                return None;
            }
            let _ = tokio::time::timeout(wait, came_back).await;
        }
    }

    pub(super) fn give_back(&self, now: Duration, host: &str, lease: u64, pause: Duration) {
        super::lock(&self.leases).give_back(now, host, lease, pause);
        self.came_back.notify_waiters();
    }
}

/// Waits until a URL's host may be asked.
pub(super) async fn wait_for(inner: &Arc<Inner>, url: &WebUrl, delay: Duration, at_once: u32) -> Lease {
    let key = key_of(url.as_str());
    let host = host_of_key(&key).to_owned();
    let is_split = inner.copies.host_if_split(&key).is_some();
    let mut wish = Wish { host: &host, delay, at_once: at_once as usize, is_split, not_before: Duration::ZERO };
    let mut in_vain = 0;
    while in_vain < IN_VAIN_MAX {
        if inner.copies.owns_host(&host) {
            wish.not_before = not_before(inner, &host);
            if let Some(lease) = inner.giver.give(|| inner.now(), wish).await {
                let (inner, host) = (Arc::downgrade(inner), host.clone());
                return Lease::new(move |pause| {
                    if let Some(inner) = inner.upgrade() {
                        inner.giver.give_back(inner.now(), &host, lease, pause);
                    }
                });
            }
            continue;
        }
        match ask(inner, wish).await {
            Asked::Given(lease) => return lease,
            Asked::Later => {}
            Asked::Nobody => {
                in_vain += 1;
                tokio::time::sleep(IN_VAIN_PAUSE).await;
            }
        }
    }
    Lease::default()
}

/// When leases of a host that is ours may be given.
pub(super) fn not_before(inner: &Inner, host: &str) -> Duration {
    inner.now() + inner.copies.host_waits(host)
}

enum Asked {
    Given(Lease),
    /// Others are before us.
    Later,
    Nobody,
}

async fn ask(inner: &Arc<Inner>, wish: Wish<'_>) -> Asked {
    let place = place_of_part(wish.host, 0);
    let Ok((owner, _)) = inner.copies.owner_of(place).await else { return Asked::Nobody };
    let (host, delay_ms) = (wish.host.to_owned(), wish.delay.as_millis() as u64);
    let ask = Ask::Lease { host, delay_ms, at_once: wish.at_once as u32, is_split: wish.is_split };
    match inner.ask(&owner, &ask).await {
        Ok(Reply::Lease { lease: Some(lease) }) => {
            let (inner, host) = (Arc::downgrade(inner), wish.host.to_owned());
            Asked::Given(Lease::new(move |pause| {
                let Some(inner) = inner.upgrade() else { return };
                let over = Ask::LeaseOver { host, lease, pause_ms: pause.as_millis() as u64 };
                // If this is lost, it ends by itself.
                inner.runtime.clone().spawn(async move { inner.ask(&owner, &over).await });
            }))
        }
        Ok(Reply::Lease { lease: None }) => Asked::Later,
        Ok(_) | Err(_) => {
            inner.copies.forget_owner(place);
            Asked::Nobody
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    const DELAY: Duration = Duration::from_secs(1);

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn wish(host: &str, at_once: usize) -> Wish<'_> {
        Wish { host, delay: DELAY, at_once, is_split: true, not_before: Duration::ZERO }
    }

    #[test]
    fn the_next_is_given_when_the_delay_has_passed_since_the_last_came_back() {
        let mut leases = Leases::default();
        assert_eq!(leases.ask(at(0), wish("a", 1)), Err(DELAY), "somebody else may have given one a moment ago");
        assert_eq!(leases.ask(at(999), wish("a", 1)), Err(at(1)));
        assert_eq!(leases.ask(at(1_000), wish("a", 1)), Ok(1));
        assert_eq!(leases.ask(at(1_500), wish("a", 1)), Err(at(500)));
        assert_eq!(leases.ask(at(2_500), wish("a", 1)), Err(at(18_500)), "the holder is late, and so are all");
        leases.give_back(at(3_000), "a", 1, Duration::ZERO);
        assert_eq!(leases.ask(at(3_001), wish("a", 1)), Err(at(999)));
        assert_eq!(leases.ask(at(4_000), wish("a", 1)), Ok(2));
        assert_eq!(leases.ask(at(4_000), Wish { is_split: false, ..wish("b", 1) }), Ok(3), "another host has its own");
        let brief = Wish { delay: at(100), ..wish("b", 1) };
        leases.give_back(at(4_050), "b", 3, Duration::ZERO);
        assert_eq!(leases.ask(at(4_150), brief), Ok(4), "whoever may come sooner does");
    }

    #[test]
    fn a_lease_that_does_not_come_back_ends_by_itself() {
        let mut leases = Leases::default();
        let eager = Wish { is_split: false, ..wish("a", 1) };
        assert_eq!(leases.ask(at(5_000), eager), Ok(1));
        assert_eq!(leases.ask(at(5_000) + LASTS, eager), Err(DELAY));
        assert_eq!(leases.ask(at(6_000) + LASTS, eager), Ok(2));
        leases.give_back(at(6_500) + LASTS, "a", 1, Duration::ZERO);
        assert_eq!(leases.ask(at(7_000) + LASTS, eager), Err(LASTS - DELAY), "what was over gives nothing back");
    }

    #[test]
    fn as_many_as_the_crawl_allows_are_out_at_once_and_each_begins_a_delay_later() {
        let mut leases = Leases::default();
        let two = Wish { is_split: false, ..wish("a", 2) };
        assert_eq!(leases.ask(at(2_000), two), Ok(1));
        assert_eq!(leases.ask(at(2_000), two), Err(DELAY));
        assert_eq!(leases.ask(at(3_000), two), Ok(2));
        assert_eq!(leases.ask(at(4_000), two), Err(at(18_000)));
    }

    #[test]
    fn a_host_that_asks_one_to_stay_away_is_left_alone_by_all() {
        let mut leases = Leases::default();
        let eager = Wish { is_split: false, ..wish("a", 1) };
        assert_eq!(leases.ask(at(2_000), eager), Ok(1));
        leases.give_back(at(2_000), "a", 1, at(30_000));
        assert_eq!(leases.ask(at(3_000), eager), Err(at(29_000)));
        assert_eq!(leases.ask(at(32_000), eager), Ok(2));
        leases.give_back(at(32_000), "a", 1, at(50_000));
        leases.give_back(at(32_000), "a", 2, Duration::MAX);
        assert_eq!(leases.ask(at(40_000), eager), Err(at(52_000)), "but not for ever");
    }

    #[test]
    fn who_took_over_gives_none_until_those_of_the_silent_one_have_ended() {
        let mut leases = Leases::default();
        let taken_over = Wish { is_split: false, not_before: at(30_000), ..wish("a", 1) };
        assert_eq!(leases.ask(at(12_000), taken_over), Err(at(18_000)));
        assert_eq!(leases.ask(at(29_999), taken_over), Err(at(1)));
        assert_eq!(leases.ask(at(30_000), taken_over), Ok(1));
    }

    #[tokio::test]
    async fn who_waits_is_woken_when_one_comes_back() {
        let (giver, ms) = (Arc::new(Giver::default()), Arc::new(AtomicU64::new(10_000)));
        let eager = Wish { is_split: false, ..wish("a", 1) };
        let clock = || at(ms.load(Relaxed));
        assert_eq!(giver.give(clock, eager).await, Some(1));
        // The delay is over, the exchange is not.
        ms.fetch_add(1_000, Relaxed);
        let waiter = tokio::spawn({
            let (giver, ms) = (giver.clone(), ms.clone());
            async move { giver.give(|| at(ms.load(Relaxed)), eager).await }
        });
        tokio::task::yield_now().await;
        giver.give_back(clock(), "a", 1, Duration::ZERO);
        // The waiter looks at the clock only when it is woken.
        ms.fetch_add(1_000, Relaxed);
        let woken =
            tokio::time::timeout(HELD_MAX - DELAY, waiter).await.expect("woken, not only held as long as a call takes");
        assert_eq!(woken.unwrap(), Some(2));
    }
}
