//! Handing on what this machine takes in: to those who are to hold it where it is ours, to its owner where it is not.
//!
//! It follows the store's feed, whoever wrote what comes there, and keeps its place in a file, so that a crash repeats a little and forgets nothing. What was
//! handed on is durable on as many machines as a write needs; until it is, the next waits. Comparisons would find
//! all of it too, only later.

use super::exchange::{bring, bring_records};
use super::wire::{Ask, NAMES_MAX, Name, Reply};
use super::{CopiesError, Inner};
use crate::ring::ring_dir;
use herodotus_base::{Id, PeerKey};
use herodotus_ledger::Record;
use herodotus_ring::Contact;
use herodotus_store::{EntryKey, FeedCursor};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Entries in one go.
const BATCH_MAX: usize = 1000;
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
            // Where something lies may change while we wait.
            let named: Vec<_> =
                entries.iter().map(|entry| (inner.place_of(&entry.id.key), Name::of(&entry.id))).collect();
            if hand_on(&inner, &named).await {
                break;
            }
            tokio::time::sleep(RETRY).await;
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

/// Hands on records that were made here, as soon as there are any; all of them anew if somebody is missing.
pub(super) async fn run_records(inner: Arc<Inner>) {
    if inner.ring.joined().await.is_err() {
        return;
    }
    loop {
        let pending = inner
            .blocking(|inner| {
                let records = inner.ledger.pending(BATCH_MAX)?;
                let place = |record: &Record| Ok((inner.ledger.place_of(&record.name)?, Name::of_record(&record.name)));
                let names: Vec<(Id, Name)> = records.iter().map(place).collect::<Result<_, CopiesError>>()?;
                Ok((records, names))
            })
            .await;
        match pending {
            Ok((records, names)) if !records.is_empty() => {
                if hand_on(&inner, &names).await {
                    let _ = inner.blocking(move |inner| Ok(inner.ledger.handed_on(&records)?)).await;
                    continue;
                }
            }
            Ok(_) => inner.written.notified().await,
            Err(_) => {}
        }
        tokio::time::sleep(RETRY.min(inner.settings.follow_every)).await;
    }
}

/// What is to go to one machine.
struct Errand {
    to: Contact,
    /// As the owner, it passes on what it gets.
    is_owner: bool,
    names: Vec<Name>,
}

/// Whether everything is durable on as many machines as a write needs.
async fn hand_on(inner: &Arc<Inner>, entries: &[(Id, Name)]) -> bool {
    let mut errands: BTreeMap<PeerKey, Errand> = BTreeMap::new();
    // Of our own: on how many other machines each must be, and may be.
    let mut is_well = true;
    let mut own: Vec<(&Name, usize)> = Vec::new();
    for (place, name) in entries {
        let place = *place;
        let (is_own, is_entrusted, targets) = {
            let custodian = inner.custodian();
            (custodian.owns(place), custodian.is_here(place), custodian.push_to(place))
        };
        if is_own {
            own.push((name, targets.len()));
            for to in targets {
                let errand = errands.entry(to.key).or_insert_with(|| Errand { to, is_owner: false, names: Vec::new() });
                errand.names.push(name.clone());
            }
        } else if !is_entrusted || name.record().is_some() {
            // A record that we only copy for another is the owner's to know of.
            match inner.holders(place).await {
                Ok(told) if told.owner.key == inner.reach.machine() => {}
                Ok(told) => {
                    let to = told.owner;
                    let errand =
                        errands.entry(to.key).or_insert_with(|| Errand { to, is_owner: true, names: Vec::new() });
                    errand.is_owner = true;
                    errand.names.push(name.clone());
                }
                Err(_) => is_well = false,
            }
        }
    }
    let mut reached: BTreeMap<Name, usize> = BTreeMap::new();
    let mut under_way = tokio::task::JoinSet::new();
    for errand in errands.into_values() {
        let inner = inner.clone();
        under_way.spawn(async move {
            let result = run_errand(&inner, &errand).await;
            (errand, result)
        });
    }
    let places: BTreeMap<&Name, Id> = entries.iter().map(|(place, name)| (name, *place)).collect();
    while let Some(Ok((errand, result))) = under_way.join_next().await {
        match result {
            Ok(()) => errand.names.into_iter().for_each(|name| *reached.entry(name).or_default() += 1),
            Err(_) if errand.is_owner => {
                // It has changed hands, perhaps.
                errand.names.iter().filter_map(|name| places.get(name)).for_each(|place| inner.reach.forget(*place));
                is_well = false;
            }
            Err(_) => {
                inner.custodian().push_failed(inner.now(), errand.to.key);
                inner.wake.notify_one();
            }
        }
    }
    let needed = usize::from(inner.settings.durable_on.saturating_sub(1));
    is_well && own.iter().all(|(name, targets)| reached.get(*name).copied().unwrap_or(0) >= needed.min(*targets))
}

/// Brings a machine what it lacks of an errand, durably.
async fn run_errand(inner: &Arc<Inner>, errand: &Errand) -> Result<(), CopiesError> {
    for some in errand.names.chunks(NAMES_MAX) {
        bring_records(inner, &errand.to, some.iter().filter_map(Name::record).collect(), errand.is_owner).await?;
        let (names, ids): (Vec<Name>, Vec<EntryKey>) =
            some.iter().filter_map(|name| Some((name.clone(), name.id()?))).unzip();
        if ids.is_empty() {
            continue;
        }
        let Reply::Lacks(lacking) = inner.reach.ask(&errand.to, &Ask::Lacks { names }).await? else {
            return Err(CopiesError::Odd("an answer to another question"));
        };
        let lacking: Vec<EntryKey> = lacking.iter().filter_map(|n| ids.get(*n as usize).cloned()).collect();
        bring(inner, &errand.to, lacking, errand.is_owner, |_| true).await?;
    }
    Ok(())
}
