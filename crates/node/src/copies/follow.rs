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
/// How often it is looked whether records were handed on.
const RECORDS_LOOK: Duration = Duration::from_millis(20);
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
                entries.iter().map(|entry| (inner.place_of(&entry.id.key), Load::Capture(entry.id.clone()))).collect();
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

/// Hands on records that were made here, as soon as there are any and in their order; all of them anew if somebody is missing.
pub(super) async fn run_records(inner: Arc<Inner>) {
    if inner.ring.joined().await.is_err() {
        return;
    }
    loop {
        let pending = inner
            .blocking(|inner| {
                let (mut made, mut loads) = (Vec::new(), Vec::new());
                for (number, record) in inner.ledger.pending(BATCH_MAX)? {
                    made.push(number);
                    loads.push((inner.ledger.place_of(&record.name)?, Load::Record(record)));
                }
                Ok((made, loads))
            })
            .await;
        match pending {
            Ok((made, loads)) if !made.is_empty() => {
                if hand_on(&inner, &loads).await {
                    let _ = inner.blocking(move |inner| Ok(inner.ledger.handed_on(made)?)).await;
                    continue;
                }
            }
            Ok(_) => {
                inner.records_followed.send_modify(|times| *times += 1);
                inner.written.notified().await;
                continue;
            }
            Err(_) => {}
        }
        tokio::time::sleep(RETRY.min(inner.settings.follow_every)).await;
    }
}

/// Waits until all records that were made here before are handed on.
pub(super) async fn records_handed_on(inner: &Arc<Inner>) -> Result<(), CopiesError> {
    let mut followed = inner.records_followed.subscribe();
    let times = *followed.borrow();
    loop {
        // Whoever looks may have looked before we wrote: it must look twice.
        inner.written.notify_one();
        let wait = tokio::time::timeout(RECORDS_LOOK, followed.wait_for(|now| *now >= times + 2));
        match wait.await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(_)) => return Err(CopiesError::Nobody),
            Err(_) => {}
        }
    }
}

/// Something to hand on.
#[derive(Clone)]
enum Load {
    Capture(EntryKey),
    Record(Record),
}

/// What is to go to one machine, by its number among all that is handed on.
struct Errand {
    to: Contact,
    /// As the owner, it passes on what it gets.
    is_owner: bool,
    loads: Vec<(usize, Load)>,
}

/// Whether everything is durable on as many machines as a write needs.
async fn hand_on(inner: &Arc<Inner>, loads: &[(Id, Load)]) -> bool {
    let mut errands: BTreeMap<PeerKey, Errand> = BTreeMap::new();
    let mut add = |to: Contact, is_owner: bool, load: (usize, Load)| {
        let errand = errands.entry(to.key).or_insert_with(|| Errand { to, is_owner, loads: Vec::new() });
        errand.is_owner |= is_owner;
        errand.loads.push(load);
    };
    // Of our own: on how many other machines each must be, and may be.
    let mut is_well = true;
    let mut own: Vec<(usize, usize)> = Vec::new();
    for (number, (place, load)) in loads.iter().enumerate() {
        let (is_own, is_entrusted, targets) = {
            let custodian = inner.custodian();
            (custodian.owns(*place), custodian.is_here(*place), custodian.push_to(*place))
        };
        // A record that we only copy for another is the owner's to know of.
        let is_record = matches!(load, Load::Record(_));
        if is_own {
            own.push((number, targets.len()));
            targets.into_iter().for_each(|to| add(to, false, (number, load.clone())));
        } else if !is_entrusted || is_record {
            match inner.holders(*place).await {
                Ok(told) if told.owner.key == inner.reach.machine() => {}
                Ok(told) => add(told.owner, true, (number, load.clone())),
                Err(_) => is_well = false,
            }
        }
    }
    let mut reached = vec![0; loads.len()];
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
            Ok(()) => errand.loads.iter().for_each(|(number, _)| reached[*number] += 1),
            Err(_) if errand.is_owner => {
                // It has changed hands, perhaps.
                errand.loads.iter().for_each(|(number, _)| inner.reach.forget(loads[*number].0));
                is_well = false;
            }
            Err(_) => {
                inner.custodian().push_failed(inner.now(), errand.to.key);
                inner.wake.notify_one();
            }
        }
    }
    let needed = usize::from(inner.settings.durable_on.saturating_sub(1));
    is_well && own.iter().all(|(number, targets)| reached[*number] >= needed.min(*targets))
}

/// Brings a machine what it lacks of an errand, durably.
async fn run_errand(inner: &Arc<Inner>, errand: &Errand) -> Result<(), CopiesError> {
    let (mut records, mut ids) = (Vec::new(), Vec::new());
    for (_, load) in &errand.loads {
        match load {
            Load::Capture(id) => ids.push(id.clone()),
            Load::Record(record) => records.push(record.clone()),
        }
    }
    bring_records(inner, &errand.to, &records, errand.is_owner).await?;
    for some in ids.chunks(NAMES_MAX) {
        let names = some.iter().map(Name::of).collect();
        let Reply::Lacks(lacking) = inner.reach.ask(&errand.to, &Ask::Lacks { names }).await? else {
            return Err(CopiesError::Odd("an answer to another question"));
        };
        let lacking: Vec<EntryKey> = lacking.iter().filter_map(|n| some.get(*n as usize).cloned()).collect();
        bring(inner, &errand.to, lacking, errand.is_owner, |_| true).await?;
    }
    Ok(())
}
