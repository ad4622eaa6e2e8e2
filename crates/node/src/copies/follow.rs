//! Handing on what this machine takes in: to those who are to hold it where it is ours, to its owner where it is not.
//!
//! It follows the store's feed, whoever wrote what comes there, and keeps its place in a file, so that a crash repeats a little and forgets nothing. What was
//! handed on is durable on as many machines as a write needs; until it is, the next waits. Comparisons would find
//! all of it too, only later.

use super::exchange::bring;
use super::wire::{Ask, NAMES_MAX, Name, Reply};
use super::{CopiesError, Inner, split};
use crate::ring::ring_dir;
use herodotus_base::PeerKey;
use herodotus_ring::Contact;
use herodotus_store::{Entry, EntryKey, FeedCursor};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Entries in one go.
const BATCH_MAX: usize = 1000;
/// Owners that could not be found before the rest waits, too.
const FAILURES_MAX: usize = 8;
/// Before what could not be handed on is tried again.
const RETRY: Duration = Duration::from_secs(1);

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
        loop {
            match hand_on(&inner, &entries).await {
                Handed::Well => break,
                Handed::Elsewhere => {}
                Handed::Partly => tokio::time::sleep(RETRY).await,
            }
        }
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

/// What became of what was to be handed on.
enum Handed {
    /// Everything is durable on as many machines as a write needs.
    Well,
    /// A host turned out to be split: some of it has to go elsewhere.
    Elsewhere,
    Partly,
}

async fn hand_on(inner: &Arc<Inner>, entries: &[Entry]) -> Handed {
    // One machine may be the owner of some and a holder of others: these are two errands.
    let mut errands: BTreeMap<(PeerKey, bool), Errand> = BTreeMap::new();
    let mut failures = 0;
    // Of our own: on how many other machines each must be, and may be.
    let (mut is_well, mut is_split) = (true, false);
    let mut own: Vec<(EntryKey, usize)> = Vec::new();
    // What was let go has been confirmed by all who hold it.
    for entry in entries.iter().filter(|entry| !entry.released) {
        let place = inner.place_of(&entry.id.key);
        let (is_own, targets) = {
            let custodian = inner.custodian();
            (custodian.owns(place), custodian.push_to(place))
        };
        if is_own {
            own.push((entry.id.clone(), targets.len()));
            for to in targets {
                let errand = errands.entry((to.key, false));
                let errand = errand.or_insert_with(|| Errand { to, is_owner: false, ids: Vec::new() });
                errand.ids.push(entry.id.clone());
            }
        } else {
            // Also where it is ours to copy: it may have come from a person here and not from its owner, who is asked whether it lacks it.
            let told = match split::place_to_write(inner, &entry.id.key).await {
                Ok(place) => inner.holders(place).await,
                Err(error) => Err(error),
            };
            match told {
                Ok(told) if told.owner.key == inner.reach.machine() => {}
                Ok(told) => {
                    let to = told.owner;
                    let errand = errands.entry((to.key, true));
                    let errand = errand.or_insert_with(|| Errand { to, is_owner: true, ids: Vec::new() });
                    errand.ids.push(entry.id.clone());
                }
                // The ring is mending, and each of many would wait for it.
                Err(_) if failures == FAILURES_MAX => break,
                Err(_) => (is_well, failures) = (false, failures + 1),
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
            // Where it turns out to be elsewhere, it is brought there the next time.
            Err(CopiesError::Split) => is_split = true,
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
    let is_reached = |(id, targets): &(EntryKey, usize)| reached.get(id).copied().unwrap_or(0) >= needed.min(*targets);
    match is_well && own.iter().all(is_reached) {
        _ if is_split => Handed::Elsewhere,
        true => Handed::Well,
        false => Handed::Partly,
    }
}

/// Brings a machine what it lacks of an errand, durably.
async fn run_errand(inner: &Arc<Inner>, errand: &Errand) -> Result<(), CopiesError> {
    for some in errand.ids.chunks(NAMES_MAX) {
        // Before it is asked what it lacks: what has moved elsewhere it may still have.
        if split::tell(inner, &errand.to, some.iter().map(|id| id.key.as_str())).await?.here {
            return Err(CopiesError::Split);
        }
        let names: Vec<Name> = some.iter().map(Name::of).collect();
        let Reply::Lacks(lacking) = inner.reach.ask(&errand.to, &Ask::Lacks { names }).await? else {
            return Err(CopiesError::Odd("an answer to another question"));
        };
        let lacking: Vec<EntryKey> = lacking.iter().filter_map(|n| some.get(*n as usize).cloned()).collect();
        bring(inner, &errand.to, lacking, errand.is_owner, |_| true).await?;
    }
    Ok(())
}
