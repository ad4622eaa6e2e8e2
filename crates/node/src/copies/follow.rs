//! Handing on what this machine takes in: to those who are to hold it where it is ours, to its owner where it is not.
//!
//! It follows the store's feed, whoever wrote what comes there, and keeps its place in a file, so that a crash repeats a little and forgets nothing. What was
//! handed on is durable on as many machines as a write needs; until it is, the next waits. Comparisons would find
//! all of it too, only later. What other machines brought ([`Brought`]) and is ours to copy lies with them already, and goes nowhere; what
//! was taken in here goes to its owner even where it is ours to copy.

use super::exchange::bring;
use super::wire::{Ask, NAMES_MAX, Name, Reply};
use super::{CopiesError, Inner};
use crate::ring::ring_dir;
use herodotus_base::PeerKey;
use herodotus_ring::Contact;
use herodotus_store::{Entry, EntryKey, FeedCursor};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Entries in one go.
const BATCH_MAX: usize = 1000;
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

/// How often the end of the feed was reached.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    rounds: u64,
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
        while !hand_on(&inner, &entries).await {
            tokio::time::sleep(RETRY).await;
        }
        inner.brought.forget(&entries);
        if cursor != Some(next) {
            cursor = Some(next);
            write(&inner, path.clone(), next).await;
        }
        let is_end = entries.len() < BATCH_MAX;
        rounds += u64::from(is_end);
        inner.followed.send_replace(Progress { rounds });
        if is_end {
            tokio::time::sleep(inner.settings.follow_every).await;
        }
    }
}

/// Waits until everything that was stored before is handed on: the end was reached after a seal that began later.
pub(super) async fn handed_on(inner: &Arc<Inner>) -> Result<(), CopiesError> {
    let mut followed = inner.followed.subscribe();
    let rounds = followed.borrow().rounds;
    // The round that is under way may have read the feed before.
    followed.wait_for(|progress| progress.rounds >= rounds + 2).await.map(|_| ()).map_err(|_| CopiesError::Nobody)
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

/// What is to go to one machine.
struct Errand {
    to: Contact,
    /// As the owner, it passes on what it gets.
    is_owner: bool,
    ids: Vec<EntryKey>,
}

/// Whether everything is durable on as many machines as a write needs.
async fn hand_on(inner: &Arc<Inner>, entries: &[Entry]) -> bool {
    let mut errands: BTreeMap<PeerKey, Errand> = BTreeMap::new();
    // Of our own: on how many other machines each must be, and may be.
    let mut is_well = true;
    let mut own: Vec<(EntryKey, usize)> = Vec::new();
    for entry in entries {
        let place = inner.place_of(&entry.id.key);
        let (is_own, is_entrusted, targets) = {
            let custodian = inner.custodian();
            (custodian.owns(place), custodian.is_here(place), custodian.push_to(place))
        };
        if is_own {
            own.push((entry.id.clone(), targets.len()));
            for to in targets {
                let errand = errands.entry(to.key).or_insert_with(|| Errand { to, is_owner: false, ids: Vec::new() });
                errand.ids.push(entry.id.clone());
            }
        } else if !(is_entrusted && inner.brought.has(&entry.id)) {
            match inner.holders(place).await {
                Ok(told) if told.owner.key == inner.reach.machine() => {}
                Ok(told) => {
                    let to = told.owner;
                    let errand =
                        errands.entry(to.key).or_insert_with(|| Errand { to, is_owner: true, ids: Vec::new() });
                    errand.is_owner = true;
                    errand.ids.push(entry.id.clone());
                }
                Err(_) => is_well = false,
            }
        }
    }
    let mut reached: BTreeMap<EntryKey, usize> = BTreeMap::new();
    let mut under_way = tokio::task::JoinSet::new();
    for errand in errands.into_values() {
        let inner = inner.clone();
        under_way.spawn(async move {
            let result = run_errand(&inner, &errand).await;
            (errand, result)
        });
    }
    while let Some(Ok((errand, result))) = under_way.join_next().await {
        match result {
            Ok(()) => errand.ids.into_iter().for_each(|id| *reached.entry(id).or_default() += 1),
            Err(_) if errand.is_owner => {
                // It has changed hands, perhaps.
                errand.ids.iter().for_each(|id| inner.reach.forget(inner.place_of(&id.key)));
                is_well = false;
            }
            Err(_) => {
                inner.custodian().push_failed(inner.now(), errand.to.key);
                inner.wake.notify_one();
            }
        }
    }
    let needed = usize::from(inner.settings.durable_on.saturating_sub(1));
    is_well && own.iter().all(|(id, targets)| reached.get(id).copied().unwrap_or(0) >= needed.min(*targets))
}

/// Brings a machine what it lacks of an errand, durably.
async fn run_errand(inner: &Arc<Inner>, errand: &Errand) -> Result<(), CopiesError> {
    for some in errand.ids.chunks(NAMES_MAX) {
        let names: Vec<Name> = some.iter().map(Name::of).collect();
        let Reply::Lacks(lacking) = inner.reach.ask(&errand.to, &Ask::Lacks { names }).await? else {
            return Err(CopiesError::Odd("an answer to another question"));
        };
        let lacking: Vec<EntryKey> = lacking.iter().filter_map(|n| some.get(*n as usize).cloned()).collect();
        bring(inner, &errand.to, lacking, errand.is_owner, |_| true).await?;
    }
    Ok(())
}
