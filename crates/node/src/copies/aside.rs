//! What a machine refused to take, because its disk is nearly full or for whatever reason: set aside, so that what comes behind it in the feed goes on, and
//! tried again, less and less often, until it is taken.
//!
//! Promised: nothing that is set aside counts as handed on, neither for those who wait for it nor after a restart. Nothing of it is written anywhere for that: the place in the
//! feed that [`super::follow`] notes on the disk stays before the first of it, and what lies behind is met again, which costs those who have it the question whether they do.
//! (It would not be lost if it were forgotten: with an owner's successors it is compared, and elsewhere it is a stray. But neither tells anybody who waits that it has arrived, so that after a
//! restart it would seem to have.) Bounded: beyond [`ASIDE_MAX`] captures the feed waits, as it does for an owner that nobody finds.
//!
//! The bookkeeping is a pure machine; [`run`] gives it the time and the network.

use super::Inner;
use super::follow::{self, Followed, Load, Try, hand_on};
use herodotus_base::{PeerKey, Timestamp};
use herodotus_store::{EntryKey, FeedCursor};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Captures that are set aside: some ten megabytes.
const ASIDE_MAX: usize = 50_000;
/// Of those that a machine refused, so many are tried at once when it is asked for the first time again, and at most. A quarter of it after each failure, so that a full disk is sent little and one
/// capture that cannot be brought soon stands alone; four times as many after each success.
const AT_ONCE_FIRST: usize = 256;
const AT_ONCE_MAX: usize = 1024;

/// Where something was met that is set aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Oldest {
    /// The place in the feed before it. Nothing: the beginning.
    pub(super) cursor: Option<FeedCursor>,
    pub(super) met: Followed,
}

#[derive(Debug)]
pub(super) struct Aside {
    items: BTreeMap<EntryKey, Item>,
    /// Where the batches of the feed that they came with begin, and how many of each are left.
    batches: BTreeMap<u64, (Oldest, usize)>,
    next: u64,
    refusers: HashMap<PeerKey, Refuser>,
    /// Before the first that a machine refused is tried again, and at most.
    wait_first: Duration,
    wait_max: Duration,
}

#[derive(Debug)]
struct Item {
    batch: u64,
    by: PeerKey,
}

/// A machine that refused something.
#[derive(Debug)]
struct Refuser {
    try_at: Duration,
    /// Times in a row that it took nothing.
    failures: u32,
    at_once: usize,
    /// What was tried last: those behind it have their turn.
    after: Option<EntryKey>,
    is_busy: bool,
}

impl Aside {
    pub(super) fn new(wait_first: Duration, wait_max: Duration) -> Self {
        let (items, batches, refusers) = Default::default();
        Self { items, batches, next: 0, refusers, wait_first, wait_max }
    }

    /// Sets aside what machines refused of one batch of the feed. No: there is no room, and nothing was.
    pub(super) fn set(&mut self, now: Duration, met: Oldest, refused: Vec<(EntryKey, PeerKey)>) -> bool {
        if !refused.is_empty() && self.items.len() + refused.len() > ASIDE_MAX {
            return false;
        }
        let mut left = 0;
        for (id, by) in refused {
            // A compaction brings captures into the feed again: the first time counts.
            if self.items.contains_key(&id) {
                continue;
            }
            self.items.insert(id, Item { batch: self.next, by });
            self.refusers.entry(by).or_insert_with(|| Refuser::new(now + self.wait_first));
            left += 1;
        }
        if left > 0 {
            self.batches.insert(self.next, (met, left));
            self.next += 1;
        }
        true
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Where the first that is set aside was met.
    pub(super) fn oldest(&self) -> Option<Oldest> {
        self.batches.first_key_value().map(|(_, (met, _))| *met)
    }

    /// Whether a capture of this key is set aside.
    pub(super) fn has_key(&self, key: &str) -> bool {
        if self.items.is_empty() {
            return false;
        }
        self.items.range(first_of(key)..).next().is_some_and(|(id, _)| id.key == key)
    }

    pub(super) fn due(&self) -> Option<Duration> {
        self.refusers.values().filter(|refuser| !refuser.is_busy).map(|refuser| refuser.try_at).min()
    }

    /// Some that are to be tried again now, and who refused them. It is to be told what became of them.
    fn take_due(&mut self, now: Duration) -> Option<(PeerKey, Vec<EntryKey>)> {
        let is_due = |(_, refuser): &(&PeerKey, &mut Refuser)| !refuser.is_busy && refuser.try_at <= now;
        let (by, refuser) = self.refusers.iter_mut().filter(is_due).min_by_key(|(_, refuser)| refuser.try_at)?;
        let after = refuser.after.take().unwrap_or_else(|| first_of(""));
        let behind = self.items.range((Excluded(&after), Unbounded));
        let in_turn = behind.chain(self.items.range((Unbounded, Included(&after))));
        let theirs = in_turn.filter(|(_, item)| item.by == *by).map(|(id, _)| id.clone());
        let some: Vec<EntryKey> = theirs.take(refuser.at_once).collect();
        (refuser.is_busy, refuser.after) = (true, some.last().cloned());
        Some((*by, some))
    }

    /// Of what was tried for one machine, this was refused again, and by whom.
    fn tried(&mut self, now: Duration, by: PeerKey, tried: &[EntryKey], refused: HashMap<EntryKey, PeerKey>) {
        let has_gone = refused.len() < tried.len();
        for id in tried.iter().filter(|id| !refused.contains_key(*id)) {
            let Some(item) = self.items.remove(id) else { continue };
            if let Some((_, left)) = self.batches.get_mut(&item.batch) {
                *left -= 1;
                if *left == 0 {
                    self.batches.remove(&item.batch);
                }
            }
        }
        for (id, by) in refused {
            if let Some(item) = self.items.get_mut(&id) {
                item.by = by;
                // It may be another's by now.
                self.refusers.entry(by).or_insert_with(|| Refuser::new(now + self.wait_first));
            }
        }
        if !self.items.values().any(|item| item.by == by) {
            self.refusers.remove(&by);
        } else if let Some(refuser) = self.refusers.get_mut(&by) {
            refuser.is_busy = false;
            if has_gone {
                (refuser.failures, refuser.try_at) = (0, now);
                refuser.at_once = (refuser.at_once * 4).min(AT_ONCE_MAX);
            } else {
                refuser.failures = refuser.failures.saturating_add(1);
                let wait = self.wait_first.saturating_mul(1 << refuser.failures.min(16));
                refuser.try_at = now + wait.min(self.wait_max);
                refuser.at_once = (refuser.at_once / 4).max(1);
            }
        }
    }
}

/// Not behind any capture of a key.
fn first_of(key: &str) -> EntryKey {
    EntryKey { key: key.to_owned(), time: Timestamp::MIN, tag: [0; 8] }
}

impl Refuser {
    fn new(try_at: Duration) -> Self {
        Self { try_at, failures: 0, at_once: AT_ONCE_FIRST, after: None, is_busy: false }
    }
}

/// Tries again what is set aside, each machine for itself.
pub(super) async fn run(inner: Arc<Inner>) {
    let mut tries = JoinSet::new();
    loop {
        while let Some((by, ids)) = { inner.aside().take_due(inner.now()) } {
            let inner = inner.clone();
            tries.spawn(async move { try_again(&inner, by, ids).await });
        }
        let due = inner.aside().due();
        let wait = async {
            match due {
                Some(due) => tokio::time::sleep(due.saturating_sub(inner.now())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(_) = tries.join_next() => {}
            () = inner.set_aside.notified() => {}
            () = wait => {}
        }
    }
}

async fn try_again(inner: &Arc<Inner>, by: PeerKey, ids: Vec<EntryKey>) {
    let loads: Vec<Load> = ids.iter().cloned().map(Load::Capture).collect();
    let handed = loop {
        // Where something lies may have changed since.
        let handed = hand_on(inner, &loads, Try::Again).await;
        if !handed.is_split {
            break handed;
        }
    };
    let open = handed.open.into_iter().filter_map(|(number, who)| Some((ids.get(number)?.clone(), who.unwrap_or(by))));
    inner.aside().tried(inner.now(), by, &ids, open.collect());
    follow::publish(inner, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(1);
    const MAX: Duration = Duration::from_secs(60);

    fn aside() -> Aside {
        Aside::new(FIRST, MAX)
    }

    fn machine(n: u8) -> PeerKey {
        PeerKey([n; 32])
    }

    fn id(n: usize) -> EntryKey {
        EntryKey { key: format!("org,example)/{n:06}"), time: Timestamp::from_millis_clamped(n as i64), tag: [0; 8] }
    }

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn met(n: u8) -> Oldest {
        let met = (0..n).fold(Followed::default(), |met, _| met.next());
        let mut cursor = FeedCursor::default().encode();
        cursor[4] = n;
        Oldest { cursor: FeedCursor::decode(&cursor), met }
    }

    fn refused(ids: &[EntryKey], by: PeerKey) -> HashMap<EntryKey, PeerKey> {
        ids.iter().map(|id| (id.clone(), by)).collect()
    }

    #[test]
    fn what_is_set_aside_is_known_until_it_is_taken_and_the_oldest_holds_the_place_in_the_feed() {
        let mut aside = aside();
        let (full, other) = (machine(1), machine(2));
        assert!(aside.set(s(0), met(1), vec![]) && aside.oldest().is_none() && aside.due().is_none());
        assert!(aside.set(s(0), met(2), vec![(id(1), full)]) && aside.set(s(0), met(3), vec![(id(2), other)]));
        assert_eq!(aside.oldest(), Some(met(2)));
        assert!(aside.has_key(&id(1).key) && aside.has_key(&id(2).key));
        assert!(!aside.has_key("org,example)/") && !aside.has_key("org,example)/000001/more"));
        assert_eq!(aside.take_due(s(0)), None, "not at once");
        let mut due = [aside.take_due(FIRST), aside.take_due(FIRST)].map(Option::unwrap);
        due.sort();
        assert_eq!(due, [(full, vec![id(1)]), (other, vec![id(2)])]);
        assert_eq!((aside.take_due(FIRST), aside.due()), (None, None), "both are being tried");
        aside.tried(s(2), other, &[id(2)], HashMap::new());
        assert!(!aside.has_key(&id(2).key) && aside.oldest() == Some(met(2)), "the first is still refused");
        aside.tried(s(2), full, &[id(1)], HashMap::new());
        assert!(aside.oldest().is_none() && aside.due().is_none() && aside.items.is_empty());
    }

    #[test]
    fn a_machine_that_takes_nothing_is_asked_less_and_less_often_and_for_less() {
        let mut aside = aside();
        let full = machine(1);
        aside.set(s(0), met(1), (0..5000).map(|n| (id(n), full)).collect());
        let (mut now, mut waits, mut sizes) = (FIRST, Vec::new(), Vec::new());
        for _ in 0..9 {
            let (by, tried) = aside.take_due(now).unwrap();
            aside.tried(now, by, &tried, refused(&tried, full));
            let due = aside.due().unwrap();
            waits.push((due - now).as_secs());
            sizes.push(tried.len());
            now = due;
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(sizes, [256, 64, 16, 4, 1, 1, 1, 1, 1]);
        // There is room again: everything goes, and nobody waits any more.
        let mut asked = 0;
        while let Some((by, tried)) = aside.take_due(now) {
            aside.tried(now, by, &tried, HashMap::new());
            asked += 1;
        }
        assert!(aside.items.is_empty() && aside.due().is_none(), "{} are left", aside.items.len());
        assert!(asked < 15, "it went in {asked} pieces");
    }

    #[test]
    fn one_capture_that_nobody_can_take_keeps_no_other_back() {
        let mut aside = aside();
        let owner = machine(1);
        aside.set(s(0), met(1), (0..1000).map(|n| (id(n), owner)).collect());
        let (mut now, mut asked) = (FIRST, 0);
        while aside.items.len() > 1 {
            let (by, tried) = aside.take_due(now).unwrap();
            // It is refused with whatever goes with it.
            let is_bad = tried.contains(&id(500));
            aside.tried(now, by, &tried, if is_bad { refused(&tried, owner) } else { HashMap::new() });
            now = now.max(aside.due().unwrap());
            asked += 1;
            assert!(asked < 200, "{} are left", aside.items.len());
        }
        assert!(aside.items.contains_key(&id(500)) && aside.oldest() == Some(met(1)));
    }

    #[test]
    fn what_has_another_owner_by_now_is_the_other_s_to_refuse() {
        let mut aside = aside();
        let (old, new) = (machine(1), machine(2));
        aside.set(s(0), met(1), vec![(id(1), old), (id(2), old)]);
        let (by, tried) = aside.take_due(FIRST).unwrap();
        aside.tried(FIRST, by, &tried, refused(&tried[..1], new));
        assert_eq!(aside.take_due(FIRST), None, "the first is asked for nothing any more");
        assert_eq!(aside.take_due(FIRST * 2), Some((new, vec![id(1)])));
    }

    #[test]
    fn with_too_much_set_aside_the_feed_waits_and_what_comes_again_counts_once() {
        let mut aside = aside();
        let full = machine(1);
        let all = |from: usize, to: usize| (from..to).map(|n| (id(n), full)).collect::<Vec<_>>();
        assert!(aside.set(s(0), met(1), all(0, ASIDE_MAX)));
        assert!(!aside.set(s(0), met(2), all(ASIDE_MAX, ASIDE_MAX + 1)) && !aside.has_key(&id(ASIDE_MAX).key));
        assert!(aside.set(s(0), met(2), vec![]), "what nobody refuses goes on");
        let (by, tried) = aside.take_due(FIRST).unwrap();
        aside.tried(FIRST, by, &tried, HashMap::new());
        assert!(aside.set(FIRST, met(3), all(ASIDE_MAX - 1, ASIDE_MAX + 1)));
        assert_eq!(aside.items.len(), ASIDE_MAX - AT_ONCE_FIRST + 1);
    }
}
