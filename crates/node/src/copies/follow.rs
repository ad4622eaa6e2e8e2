//! Handing on what this machine takes in: to those who are to hold it where it is ours, to its owner where it is not.
//!
//! It follows the store's feed, whoever wrote what comes there, and keeps its place in a file, so that a crash repeats a little and forgets nothing. What was
//! handed on is durable on as many machines as a write needs; until it is, the next waits. Comparisons would find
//! all of it too, only later. What other machines brought ([`Brought`]) and is ours to copy lies with them already, and goes nowhere; what
//! was taken in here goes to its owner even where it is ours to copy.

use super::exchange::{Haste, bring, bring_records};
use super::wire::{Ask, NAMES_MAX, Name, Reply};
use super::{CopiesError, Inner, split};
use crate::ring::ring_dir;
use herodotus_base::{Id, PeerKey};
use herodotus_ledger::{Name as RecordName, Record};
use herodotus_ring::Contact;
use herodotus_store::{Entry, EntryKey, FeedCursor};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::{JoinError, JoinSet};

/// Entries in one go.
const BATCH_MAX: usize = 1000;
/// Owners that could not be found before the rest waits, too.
const FAILURES_MAX: usize = 8;
/// Before what could not be handed on is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Entries remembered as brought: some ten megabytes. Of those beyond, the owner is asked whether it has them, which is no harm.
const BROUGHT_MAX: usize = 50_000;

/// What other machines brought here and was not yet met in the feed. Lost at a restart: then their owners are asked.
#[derive(Debug, Default)]
pub(super) struct Brought(Mutex<HashSet<EntryKey>>);

impl Brought {
    pub(super) fn note(&self, ids: impl Iterator<Item = EntryKey>) {
        let mut known = self.known();
        let room = BROUGHT_MAX.saturating_sub(known.len());
        known.extend(ids.take(room));
    }

    fn has(&self, id: &EntryKey) -> bool {
        self.known().contains(id)
    }

    fn forget(&self, entries: &[Entry]) {
        let mut known = self.known();
        entries.iter().for_each(|entry| _ = known.remove(&entry.id));
    }

    fn known(&self) -> MutexGuard<'_, HashSet<EntryKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far handing on has come: how often the end of the feed was reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Followed(u64);

impl Followed {
    /// What is reached when everything that is stored by now is handed on. The round that is under way may have read the feed before: the one behind it has not.
    pub(crate) fn after_now(self) -> Self {
        Self(self.0 + 2)
    }
}

pub(super) async fn run(inner: Arc<Inner>) {
    let path = ring_dir(inner.ring.data()).join("followed");
    let mut cursor = std::fs::read(&path).ok().and_then(|bytes| FeedCursor::decode(&bytes));
    if inner.ring.joined().await.is_err() {
        return;
    }
    let mut rounds = 0;
    loop {
        let fed = inner
            .blocking(move |inner| {
                inner.store.seal()?;
                Ok(inner.store.feed(cursor, BATCH_MAX)?)
            })
            .await;
        let Ok((entries, next)) = fed else {
            tokio::time::sleep(RETRY).await;
            continue;
        };
        loop {
            // Where something lies may change while we wait. What was let go has been confirmed by all who hold it.
            let held = entries.iter().filter(|entry| !entry.released);
            let loads: Vec<Load> = held.map(|entry| Load::Capture(entry.id.clone())).collect();
            match hand_on(&inner, &loads).await {
                Handed::Well => break,
                Handed::Elsewhere => {}
                Handed::Partly => tokio::time::sleep(RETRY).await,
            }
        }
        inner.brought.forget(&entries);
        if cursor != Some(next) {
            cursor = Some(next);
            write(&inner, path.clone(), next).await;
        }
        let is_end = entries.len() < BATCH_MAX;
        rounds += u64::from(is_end);
        inner.followed.send_replace(Followed(rounds));
        if is_end {
            // Or until somebody waits for it.
            let _ = tokio::time::timeout(inner.settings.follow_every, inner.wanted.notified()).await;
        }
    }
}

/// Waits until everything that was stored before is handed on: the end was reached after a seal that began later.
pub(super) async fn handed_on(inner: &Arc<Inner>) -> Result<(), CopiesError> {
    let mut followed = inner.followed.subscribe();
    let now = *followed.borrow();
    for wanted in [Followed(now.0 + 1), now.after_now()] {
        inner.wanted.notify_one();
        followed.wait_for(|followed| *followed >= wanted).await.map_err(|_| CopiesError::Nobody)?;
    }
    Ok(())
}

async fn write(inner: &Arc<Inner>, path: PathBuf, cursor: FeedCursor) {
    // If it cannot be written, the same is handed on again after a restart, which is no harm.
    let written = inner.blocking(move |_| {
        let new = path.with_extension("new");
        let _ = std::fs::write(&new, cursor.encode()).and_then(|()| std::fs::rename(&new, &path));
        Ok(())
    });
    let _ = written.await;
}

/// Hands on records that were made here, as soon as there are any and in their order; all of them anew if somebody is missing.
pub(super) async fn run_records(inner: Arc<Inner>) {
    if inner.ring.joined().await.is_err() {
        return;
    }
    loop {
        let pending = inner
            .blocking(|inner| {
                // First, so that what is made meanwhile is not taken for handed on.
                let next = inner.ledger.next_made();
                let pending = inner.ledger.pending(BATCH_MAX)?.into_iter();
                let (made, loads): (Vec<u64>, Vec<Load>) =
                    pending.map(|(made, record)| (made, Load::Record(record))).unzip();
                inner.records_followed.send_replace(made.first().copied().unwrap_or(next));
                Ok((made, loads))
            })
            .await;
        match pending {
            Ok((made, loads)) if !made.is_empty() => {
                match hand_on(&inner, &loads).await {
                    Handed::Well => _ = inner.blocking(move |inner| Ok(inner.ledger.handed_on(made)?)).await,
                    Handed::Elsewhere => {}
                    Handed::Partly => tokio::time::sleep(RETRY.min(inner.settings.follow_every)).await,
                }
                continue;
            }
            Ok(_) => {
                inner.written.notified().await;
                continue;
            }
            Err(_) => {}
        }
        tokio::time::sleep(RETRY.min(inner.settings.follow_every)).await;
    }
}

/// Waits until all records that were made here before are handed on; those that are made meanwhile, in a crawl that never rests, are not waited for.
pub(super) async fn records_handed_on(inner: &Arc<Inner>) -> Result<(), CopiesError> {
    let next = inner.blocking(|inner| Ok(inner.ledger.next_made())).await?;
    // It may be a look at the ledger that is missing, not a hand.
    inner.written.notify_one();
    let mut followed = inner.records_followed.subscribe();
    followed.wait_for(|made| *made >= next).await.map(|_| ()).map_err(|_| CopiesError::Nobody)
}

/// Something to hand on.
#[derive(Clone)]
enum Load {
    Capture(EntryKey),
    Record(Record),
}

impl Load {
    /// The key of the URL that it is about, if it is about one.
    fn key(&self) -> Option<&str> {
        match self {
            Self::Capture(id) => Some(&id.key),
            Self::Record(Record { name: RecordName::Url { key, .. }, .. }) => Some(key),
            Self::Record(_) => None,
        }
    }

    /// Whether another machine brought it here.
    fn is_brought(&self, inner: &Inner) -> bool {
        matches!(self, Self::Capture(id) if inner.brought.has(id))
    }

    /// Where it lies, by what is known here.
    fn place(&self, inner: &Inner) -> Id {
        match self {
            Self::Capture(id) => inner.place_of(&id.key),
            Self::Record(record) => match self.key() {
                Some(key) => inner.place_of(key),
                // Orders are not split.
                None => record.name.place(inner.placement, 1),
            },
        }
    }
}

/// What is to go to one machine, by its number among all that is handed on.
struct Errand {
    to: Contact,
    /// As the owner, it passes on what it gets.
    is_owner: bool,
    numbers: Vec<usize>,
}

/// What became of what was to be handed on.
enum Handed {
    /// Everything is durable on as many machines as a write needs.
    Well,
    /// A host turned out to be split: some of it has to go elsewhere.
    Elsewhere,
    Partly,
}

async fn hand_on(inner: &Arc<Inner>, loads: &[Load]) -> Handed {
    // One machine may be the owner of some and a holder of others: these are two errands.
    let mut errands: BTreeMap<(PeerKey, bool), Errand> = BTreeMap::new();
    let mut add = |to: Contact, is_owner: bool, number: usize| {
        let errand = errands.entry((to.key, is_owner));
        errand.or_insert_with(|| Errand { to, is_owner, numbers: Vec::new() }).numbers.push(number);
    };
    let mut failures = 0;
    let durable_on = usize::from(inner.settings.durable_on);
    let mut done = Done { reached: vec![0; loads.len()], ..Done::default() };
    for (number, load) in loads.iter().enumerate() {
        let place = load.place(inner);
        done.places.push(place);
        let (is_own, is_entrusted, targets) = {
            let custodian = inner.custodian();
            (custodian.owns(place), custodian.is_here(place), custodian.push_to(place))
        };
        if is_own {
            done.wanted.push((number, targets.len().min(durable_on.saturating_sub(1))));
            targets.into_iter().for_each(|to| add(to, false, number));
        } else if !(is_entrusted && load.is_brought(inner)) {
            // Also where it is ours to copy: it may have come from a person here and not from its owner, who is asked whether it lacks it.
            let place = match load.key() {
                Some(key) => split::place_to_write(inner, key).await,
                None => Ok(place),
            };
            let told = match place {
                Ok(place) => inner.holders(place).await,
                Err(error) => Err(error),
            };
            match told {
                Ok(told) if told.owner.key == inner.reach.machine() => {}
                Ok(told) => {
                    // The owner passes it on as it is told to; if that may be fewer than we are to wait for, we see to them ourselves.
                    let more = inner.reach.nearest(&told).into_iter().filter(|holder| holder.key != told.owner.key);
                    let more: Vec<Contact> = more.take(durable_on.saturating_sub(2)).collect();
                    done.wanted.push((number, 1 + more.len()));
                    more.into_iter().for_each(|to| add(to, false, number));
                    add(told.owner, true, number);
                }
                // The ring is mending, and each of many would wait for it.
                Err(_) if failures == FAILURES_MAX => break,
                Err(_) => (done.has_failed, failures) = (true, failures + 1),
            }
        }
    }
    let mut under_way = JoinSet::new();
    for errand in errands.into_values() {
        let inner = inner.clone();
        let loads: Vec<Load> = errand.numbers.iter().map(|number| loads[*number].clone()).collect();
        done.owners_asked += usize::from(errand.is_owner);
        under_way.spawn(async move {
            let result = run_errand(&inner, &errand, loads).await;
            (errand, result)
        });
    }
    while !done.is_enough()
        && let Some(errand) = under_way.join_next().await
    {
        done.note(inner, errand);
    }
    let handed = done.handed();
    if !under_way.is_empty() {
        // The rest follows: a slow machine keeps nobody waiting, as long as not too many wait for it.
        let permit = inner.rests.clone().acquire_owned().await;
        let inner = inner.clone();
        tokio::spawn(async move {
            let _permit = permit;
            while let Some(errand) = under_way.join_next().await {
                done.note(&inner, errand);
            }
        });
    }
    handed
}

/// How far the errands have come.
#[derive(Default)]
struct Done {
    /// Where each load lies.
    places: Vec<Id>,
    /// On how many other machines each load is to be before it counts as handed on.
    wanted: Vec<(usize, usize)>,
    /// On how many each is.
    reached: Vec<usize>,
    owners_asked: usize,
    has_failed: bool,
    is_split: bool,
}

impl Done {
    fn note(&mut self, inner: &Inner, errand: Result<(Errand, Result<(), CopiesError>), JoinError>) {
        let Ok((errand, result)) = errand else {
            self.has_failed = true;
            return;
        };
        self.owners_asked -= usize::from(errand.is_owner);
        match result {
            // Where it turns out to be elsewhere, it is brought there the next time.
            Err(CopiesError::Split) => self.is_split = true,
            Ok(()) => errand.numbers.iter().for_each(|number| self.reached[*number] += 1),
            Err(_) => {
                // It has changed hands, perhaps.
                errand.numbers.iter().for_each(|number| inner.reach.forget(self.places[*number]));
                self.has_failed |= errand.is_owner;
                if !errand.is_owner {
                    inner.custodian().push_failed(inner.now(), errand.to.key);
                    inner.wake.notify_one();
                }
            }
        }
    }

    fn is_enough(&self) -> bool {
        self.owners_asked == 0 && self.wanted.iter().all(|(number, wanted)| self.reached[*number] >= *wanted)
    }

    fn handed(&self) -> Handed {
        match self.is_enough() && !self.has_failed {
            _ if self.is_split => Handed::Elsewhere,
            true => Handed::Well,
            false => Handed::Partly,
        }
    }
}

/// Brings a machine what it lacks of an errand, durably.
async fn run_errand(inner: &Arc<Inner>, errand: &Errand, loads: Vec<Load>) -> Result<(), CopiesError> {
    // Before it is asked what it lacks: what has moved elsewhere it may still have.
    if split::tell(inner, &errand.to, loads.iter().filter_map(Load::key)).await?.here {
        return Err(CopiesError::Split);
    }
    let (mut records, mut ids) = (Vec::new(), Vec::new());
    for load in loads {
        match load {
            Load::Capture(id) => ids.push(id),
            Load::Record(record) => records.push(record),
        }
    }
    bring_records(inner, &errand.to, &records, errand.is_owner).await?;
    for some in ids.chunks(NAMES_MAX) {
        let names = some.iter().map(Name::of).collect();
        let Reply::Lacks(lacking) = inner.reach.ask(&errand.to, &Ask::Lacks { names }).await? else {
            return Err(CopiesError::Odd("an answer to another question"));
        };
        let lacking: Vec<EntryKey> = lacking.iter().filter_map(|n| some.get(*n as usize).cloned()).collect();
        bring(inner, &errand.to, lacking, errand.is_owner, Haste::Awaited).await?;
    }
    Ok(())
}
