//! Handing on what this machine takes in: to those who are to hold it where it is ours, to its owner where it is not.
//!
//! It follows the store's feed, whoever wrote what comes there, and keeps its place in a file, so that a crash repeats a little and forgets nothing. What was
//! handed on is durable on as many machines as a write needs. What a machine refuses is set aside ([`super::aside`]) and acknowledged when it is taken; while nobody
//! knows where something is to go, the next waits. Comparisons would find
//! all of it too, only later. What other machines brought ([`Brought`]) and is ours to copy lies with them already, and goes nowhere; what
//! was taken in here goes to its owner even where it is ours to copy.

use super::aside::Oldest;
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
pub(super) const RETRY: Duration = Duration::from_secs(1);

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
    /// What is reached when everything that is stored by now was met in the feed. The round that is under way may have read the feed before: the one behind it has not.
    pub(crate) fn after_now(self) -> Self {
        Self(self.0 + 2)
    }

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    pub(super) fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

/// How far handing on is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stand {
    /// What was met in the feed up to here is handed on, or is set aside.
    pub(super) reached: Followed,
    /// What was met up to here is handed on, all of it.
    pub(super) settled: Followed,
}

/// Says how far we are, to those who wait for it. `reached`: if that is news.
pub(super) fn publish(inner: &Inner, reached: Option<Followed>) {
    // Whoever sees that something was reached sees what of it is set aside.
    let aside = inner.aside();
    inner.followed.send_modify(|stand| {
        stand.reached = reached.unwrap_or(stand.reached);
        stand.settled = aside.oldest().map_or(stand.reached, |oldest| oldest.met.before());
    });
}

pub(super) async fn run(inner: Arc<Inner>) {
    let path = ring_dir(inner.ring.data()).join("followed");
    let mut noted = std::fs::read(&path).ok().and_then(|bytes| FeedCursor::decode(&bytes));
    let mut cursor = noted;
    if inner.ring.joined().await.is_err() {
        return;
    }
    let mut reached = Followed::default();
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
        // What was let go has been confirmed by all who hold it.
        let held = entries.iter().filter(|entry| !entry.released);
        let loads: Vec<Load> = held.map(|entry| Load::Capture(entry.id.clone())).collect();
        loop {
            // Where something lies may change while we wait.
            let handed = hand_on(&inner, &loads, Try::First).await;
            if !handed.is_split && set_aside(&inner, &loads, &handed, Oldest { cursor, met: reached.next() }) {
                break;
            }
            if !handed.is_split {
                tokio::time::sleep(RETRY).await;
            }
        }
        inner.brought.forget(&entries);
        cursor = Some(next);
        // Not behind what is set aside: after a restart that is met again, and nobody takes it for handed on.
        let safe = inner.aside().oldest().map_or(cursor, |oldest| oldest.cursor);
        if let Some(safe) = safe.filter(|safe| noted != Some(*safe)) {
            noted = Some(safe);
            write(&inner, path.clone(), safe).await;
        }
        let is_end = entries.len() < BATCH_MAX;
        if is_end {
            reached = reached.next();
        }
        publish(&inner, Some(reached));
        if is_end {
            // Or until somebody waits for it.
            let _ = tokio::time::timeout(inner.settings.follow_every, inner.wanted.notified()).await;
        }
    }
}

/// Sets aside what machines refused of a batch, so that the next can follow. No: somebody is not found yet, or too much is set aside. Then nothing was.
fn set_aside(inner: &Inner, loads: &[Load], handed: &Handed, met: Oldest) -> bool {
    let refused = handed.open.iter().map(|(number, by)| match (loads.get(*number), by) {
        (Some(Load::Capture(id)), Some(by)) => Some((id.clone(), *by)),
        _ => None,
    });
    let Some(refused) = refused.collect::<Option<Vec<_>>>() else { return false };
    let is_set = inner.aside().set(inner.now(), met, refused);
    inner.set_aside.notify_one();
    is_set
}

/// Waits until everything that was stored before is handed on: the end was reached after a seal that began later.
pub(super) async fn handed_on(inner: &Arc<Inner>) -> Result<(), CopiesError> {
    let mut followed = inner.followed.subscribe();
    let now = followed.borrow().reached;
    for wanted in [now.next(), now.after_now()] {
        inner.wanted.notify_one();
        followed.wait_for(|stand| stand.reached >= wanted).await.map_err(|_| CopiesError::Nobody)?;
    }
    // What is set aside is not handed on.
    followed.wait_for(|stand| stand.settled >= now.after_now()).await.map(|_| ()).map_err(|_| CopiesError::Nobody)
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
                // None is set aside: whoever has one has all that were made before it.
                let handed = hand_on(&inner, &loads, Try::First).await;
                match handed.open.is_empty() {
                    _ if handed.is_split => {}
                    true => _ = inner.blocking(move |inner| Ok(inner.ledger.handed_on(made)?)).await,
                    false => tokio::time::sleep(RETRY.min(inner.settings.follow_every)).await,
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
pub(super) enum Load {
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
pub(super) struct Handed {
    /// A host turned out to be split: some of it has to go elsewhere.
    pub(super) is_split: bool,
    /// What is not durable on as many machines as a write needs, by its number, and who did not take it. Nobody: it is not known who is to.
    pub(super) open: Vec<(usize, Option<PeerKey>)>,
}

/// Whether something was refused before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Try {
    First,
    /// What those who are to hold it refused goes to some who follow them as well, as it does while they are away.
    Again,
}

/// Where something is to go.
enum Whither {
    /// It came from where it would go.
    Nowhere,
    /// It is ours: to those who are to hold it with us.
    Holders(Vec<Contact>),
    /// To its owner, who passes it on, and to some whom we see to ourselves.
    Owner(Contact, Vec<Contact>),
}

/// Where something is to go, and the place that it is by.
async fn whither(inner: &Arc<Inner>, load: &Load, nth: Try) -> Result<(Id, Whither), CopiesError> {
    let durable_on = usize::from(inner.settings.durable_on);
    let mut place = load.place(inner);
    let (is_own, is_entrusted) = {
        let custodian = inner.custodian();
        (custodian.owns(place), custodian.is_here(place))
    };
    if !is_own {
        if is_entrusted && load.is_brought(inner) {
            return Ok((place, Whither::Nowhere));
        }
        // Also where it is ours to copy: it may have come from a person here and not from its owner, who is asked whether it lacks it.
        if let Some(key) = load.key() {
            place = split::place_to_write(inner, key).await?;
        }
    }
    {
        // Once more: by now it is known how its host is split, and it may be ours.
        let custodian = inner.custodian();
        if custodian.owns(place) {
            let mut holders = custodian.push_to(place);
            if nth == Try::Again {
                holders = custodian.push_to_at_least(place, holders.len() + durable_on.saturating_sub(1));
            }
            return Ok((place, Whither::Holders(holders)));
        }
    }
    let told = inner.holders(place).await?;
    if told.owner.key == inner.reach.machine() {
        return Err(CopiesError::Odd("a place has just become ours: the ring is mending"));
    }
    // The owner passes it on as it is told to; if that may be fewer than we are to wait for, we see to them ourselves.
    let more = inner.reach.nearest(&told).into_iter().filter(|holder| holder.key != told.owner.key);
    let more = more.take(durable_on.saturating_sub(2)).collect();
    Ok((place, Whither::Owner(told.owner, more)))
}

pub(super) async fn hand_on(inner: &Arc<Inner>, loads: &[Load], nth: Try) -> Handed {
    // One machine may be the owner of some and a holder of others: these are two errands.
    let mut errands: BTreeMap<(PeerKey, bool), Errand> = BTreeMap::new();
    let mut add = |to: Contact, is_owner: bool, number: usize| {
        let errand = errands.entry((to.key, is_owner));
        errand.or_insert_with(|| Errand { to, is_owner, numbers: Vec::new() }).numbers.push(number);
    };
    let mut failures = 0;
    let durable_on = usize::from(inner.settings.durable_on);
    let mut done = Done::new(loads.len());
    for (number, load) in loads.iter().enumerate() {
        done.places.push(load.place(inner));
        match whither(inner, load, nth).await {
            Ok((_, Whither::Nowhere)) => done.wanted[number] = Some(0),
            Ok((place, Whither::Holders(holders))) => {
                done.places[number] = place;
                done.wanted[number] = Some(holders.len().min(durable_on.saturating_sub(1)));
                holders.into_iter().for_each(|to| add(to, false, number));
            }
            Ok((place, Whither::Owner(owner, more))) => {
                done.places[number] = place;
                done.wanted[number] = Some(1 + more.len());
                more.into_iter().for_each(|to| add(to, false, number));
                add(owner, true, number);
            }
            // The ring is mending, and each of many would wait for it.
            Err(_) if failures == FAILURES_MAX => break,
            Err(_) => failures += 1,
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
struct Done {
    /// Where each load lies.
    places: Vec<Id>,
    /// On how many other machines each load is to be before it counts as handed on. Not known: neither is who is to get it.
    wanted: Vec<Option<usize>>,
    /// On how many each is.
    reached: Vec<usize>,
    /// Who did not take it.
    refused_by: Vec<Option<PeerKey>>,
    owners_asked: usize,
    is_split: bool,
}

impl Done {
    fn new(loads: usize) -> Self {
        let (places, wanted) = (Vec::with_capacity(loads), vec![None; loads]);
        Self {
            places,
            wanted,
            reached: vec![0; loads],
            refused_by: vec![None; loads],
            owners_asked: 0,
            is_split: false,
        }
    }

    fn note(&mut self, inner: &Inner, errand: Result<(Errand, Result<(), CopiesError>), JoinError>) {
        // One that broke leaves what it was to bring open.
        let Ok((errand, result)) = errand else { return };
        self.owners_asked -= usize::from(errand.is_owner);
        match result {
            // Where it turns out to be elsewhere, it is brought there the next time.
            Err(CopiesError::Split) => self.is_split = true,
            Ok(()) => errand.numbers.iter().for_each(|number| self.reached[*number] += 1),
            Err(_) => {
                for number in &errand.numbers {
                    // It has changed hands, perhaps.
                    inner.reach.forget(self.places[*number]);
                    self.refused_by[*number] = Some(errand.to.key);
                }
                if !errand.is_owner {
                    inner.custodian().push_failed(inner.now(), errand.to.key);
                    inner.wake.notify_one();
                }
            }
        }
    }

    fn is_enough(&self) -> bool {
        let mut each = self.wanted.iter().zip(&self.reached);
        self.owners_asked == 0 && each.all(|(wanted, reached)| wanted.is_none_or(|wanted| *reached >= wanted))
    }

    fn handed(&self) -> Handed {
        let is_open = |number: &usize| self.wanted[*number].is_none_or(|wanted| self.reached[*number] < wanted);
        let open = (0..self.wanted.len()).filter(is_open).map(|number| (number, self.refused_by[number])).collect();
        Handed { is_split: self.is_split, open }
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
