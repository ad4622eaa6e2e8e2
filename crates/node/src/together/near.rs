//! Which of some machines is nearest to a site, by the time that each needs to connect to it. Measured once for a host, and again when that is old.

use super::Inner;
use super::wire::{Ask, Reply};
use herodotus_ledger::CrawlId;
use herodotus_page::{WebUrl, host_of_key};
use herodotus_ring::Contact;
use herodotus_store::key_of;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Ways through the net change, but not by the minute.
const LASTS: Duration = Duration::from_secs(30 * 60);
/// Past that, what is old is forgotten, and if nothing is, all.
const HOSTS_MAX: usize = 50_000;
/// Whoever needs longer is not near.
const WAIT: Duration = Duration::from_secs(3);

/// Who was nearest, and when. Nobody: ourselves.
#[derive(Debug, Default)]
pub(super) struct Nearness {
    hosts: Mutex<HashMap<String, (Instant, Option<Contact>)>>,
}

impl Nearness {
    fn known(&self, host: &str, now: Instant) -> Option<Option<Contact>> {
        let hosts = super::lock(&self.hosts);
        hosts.get(host).filter(|(at, _)| now.duration_since(*at) < LASTS).map(|(_, nearest)| nearest.clone())
    }

    fn learn(&self, host: String, now: Instant, nearest: Option<Contact>) {
        let mut hosts = super::lock(&self.hosts);
        if hosts.len() >= HOSTS_MAX {
            hosts.retain(|_, (at, _)| now.duration_since(*at) < LASTS);
        }
        if hosts.len() >= HOSTS_MAX {
            hosts.clear();
        }
        hosts.insert(host, (now, nearest));
    }

    /// Somebody is not there any more: where it was nearest is measured anew.
    pub(super) fn forget(&self, machine: &Contact) {
        super::lock(&self.hosts).retain(|_, (_, nearest)| nearest.as_ref().is_none_or(|near| near.key != machine.key));
    }
}

/// Who of the owner and those after it is nearest to a site; nobody else: we.
pub(super) async fn nearest(inner: &Arc<Inner>, crawl: CrawlId, url: &WebUrl, candidates: usize) -> Option<Contact> {
    let key = key_of(url.as_str());
    let host = host_of_key(&key).to_owned();
    if let Some(known) = inner.nearness.known(&host, Instant::now()) {
        return known;
    }
    let mut under_way = JoinSet::new();
    for contact in followers(inner, &key, candidates.saturating_sub(1)) {
        let (inner, url) = (inner.clone(), url.as_str().to_owned());
        under_way.spawn(async move {
            let ask = Ask::RoundTrip { crawl: crawl.0, url };
            let micros = match tokio::time::timeout(WAIT, inner.ask(&contact, &ask)).await {
                Ok(Ok(Reply::RoundTrip { micros })) => micros,
                _ => None,
            };
            (Some(contact), micros)
        });
    }
    let mut measured = vec![(None, measure(inner, crawl, url).await)];
    while let Some(done) = under_way.join_next().await {
        measured.extend(done.ok());
    }
    let nearest = least(measured);
    inner.nearness.learn(host, Instant::now(), nearest.clone());
    nearest
}

/// The first of those who need least. Of those who cannot reach it nobody is near.
fn least<T>(measured: Vec<(Option<T>, Option<u64>)>) -> Option<T> {
    let reached = measured.into_iter().filter_map(|(who, micros)| Some((who, micros?)));
    reached.min_by_key(|(_, micros)| *micros).and_then(|(who, _)| who)
}

/// Other machines after the place of a key, in their order.
fn followers(inner: &Inner, key: &str, count: usize) -> Vec<Contact> {
    let (place, machine) = (inner.copies.place_of(key), inner.copies.machine());
    let hood = inner.copies.ring().neighbourhood().borrow().clone();
    let seat = hood.nodes.iter().find(|seat| place.is_in(seat.arc.0, seat.arc.1)).or(hood.nodes.first());
    let mut found: Vec<Contact> = Vec::new();
    for contact in seat.into_iter().flat_map(|seat| &seat.successors) {
        if contact.key != machine && found.iter().all(|known| known.key != contact.key) {
            found.push(contact.clone());
        }
    }
    found.truncate(count);
    found
}

async fn measure(inner: &Inner, crawl: CrawlId, url: &WebUrl) -> Option<u64> {
    let context = inner.context(crawl)?;
    // A hand, so that nobody can make us connect to more than we would fetch from.
    let _hand = context.free_hand(None)?;
    let took = tokio::time::timeout(WAIT, context.round_trip(url)).await.ok()??;
    u64::try_from(took.as_micros()).ok()
}

pub(super) async fn answer(inner: &Arc<Inner>, crawl: CrawlId, url: &str) -> Reply {
    match WebUrl::parse(url) {
        Ok(url) => Reply::RoundTrip { micros: measure(inner, crawl, &url).await },
        Err(_) => Reply::NotNow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_who_connects_soonest_and_the_owner_if_nobody_does() {
        assert_eq!(least(vec![(None, Some(30)), (Some('a'), Some(20)), (Some('b'), Some(25))]), Some('a'));
        assert_eq!(least(vec![(None, Some(20)), (Some('a'), Some(20))]), None);
        assert_eq!(least(vec![(None, None), (Some('a'), Some(20)), (Some('b'), None)]), Some('a'));
        assert_eq!(least(vec![(None, None), (Some('a'), None)]), None);
    }

    #[test]
    fn what_was_measured_is_known_for_a_while() {
        let (nearness, now) = (Nearness::default(), Instant::now());
        nearness.learn("a".to_owned(), now, None);
        assert_eq!(nearness.known("a", now), Some(None));
        assert_eq!(nearness.known("a", now + LASTS), None);
        assert_eq!(nearness.known("b", now), None);
    }
}
