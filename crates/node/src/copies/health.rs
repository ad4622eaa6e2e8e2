//! How copies stand: what is counted, what a machine tells of itself, and what pages and commands show.

use super::wire::{Ask, Own, Reply, Status};
use super::{Copies, CopiesError, Inner, split};
use crate::ring::surt_of;
use herodotus_base::{PeerKey, Timestamp};
use herodotus_replica::custody::{Outcome, Task};
use herodotus_store::Totals;
use herodotus_web::Refused;
use herodotus_web::peers::{
    AuditView, CopiesView, HealthView, LookupView, MachineView, Peers, RepairView, RingView, SplitView,
};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Audits that are remembered: one for each machine.
const AUDITS_MAX: usize = 1024;
/// Hosts that are split and shown by name.
const SPLITS_SHOWN: usize = 20;

/// Since the node started.
#[derive(Debug, Default)]
pub(super) struct Counters {
    served_bytes: AtomicU64,
    brought_bytes: AtomicU64,
    taken: AtomicU64,
    released: AtomicU64,
    failed: AtomicU64,
    damaged: AtomicU64,
    mended: AtomicU64,
    audits: Mutex<BTreeMap<PeerKey, (Timestamp, bool)>>,
    last_failure: Mutex<Option<String>>,
}

impl Counters {
    pub(super) fn served(&self, bytes: usize) {
        self.served_bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn brought(&self, bytes: usize) {
        self.brought_bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn took(&self, entries: usize) {
        self.taken.fetch_add(entries as u64, Relaxed);
    }

    pub(super) fn released(&self, entries: u64) {
        self.released.fetch_add(entries, Relaxed);
    }

    pub(super) fn found_damaged(&self) {
        self.damaged.fetch_add(1, Relaxed);
    }

    pub(super) fn mended(&self) {
        self.mended.fetch_add(1, Relaxed);
    }

    pub(super) fn failed(&self, task: &Task, error: &CopiesError) {
        self.failed.fetch_add(1, Relaxed);
        let what = match task {
            Task::Compare { with, .. } => format!("comparing with {with:?}"),
            Task::Audit { with, .. } | Task::Prove { with, .. } => format!("auditing {with:?}"),
            Task::Confirm { with, .. } => format!("confirming with {with:?}"),
            Task::Survey { .. } => "looking for strays".to_owned(),
            Task::Release { .. } => "letting go".to_owned(),
        };
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("{what}: {error}"));
    }

    fn last_failure(&self) -> Option<String> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Only what says something of it.
    pub(super) fn audited(&self, machine: PeerKey, outcome: &Outcome) {
        let is_right = match outcome {
            Outcome::Well => true,
            Outcome::Wrong => false,
            _ => return,
        };
        let mut audits = self.audits.lock().unwrap_or_else(PoisonError::into_inner);
        if audits.len() < AUDITS_MAX || audits.contains_key(&machine) {
            audits.insert(machine, (Timestamp::now(), is_right));
        }
    }
}

/// What this machine tells of itself.
pub(super) fn status(inner: &Inner) -> Result<Status, CopiesError> {
    let levels = inner.custodian().levels();
    let mut own = Own { strays: !inner.custodian().is_settled(), ..Own::default() };
    let mut entries = 0;
    for level in &levels {
        let mut count = 0;
        for row in inner.store.places(level.arc.0, level.arc.1) {
            count += row?.2.count;
        }
        entries += count;
        if own.by_copies.len() <= level.counted {
            own.by_copies.resize(level.counted + 1, 0);
        }
        own.by_copies[level.counted] += count;
        own.needed = own.needed.max(level.needed as u16);
        own.filling += level.filling as u16;
        own.away += level.away as u16;
    }
    own.entries = entries;
    let totals = inner.store.totals()?;
    let all = totals.captures + totals.other_records;
    let share = |n: u64| if all == 0 { 0 } else { (u128::from(n) * u128::from(entries) / u128::from(all)) as u64 };
    let Totals { captures, urls, bytes_in, shared, .. } = totals;
    (own.captures, own.urls, own.bytes_in, own.shared) = (share(captures), share(urls), share(bytes_in), share(shared));
    Ok(Status {
        entries: all,
        bytes_held: inner.store.bytes_on_disk()?,
        disk_free: disk_free(inner),
        uptime_s: inner.start.elapsed().as_secs(),
        bytes_served: inner.counters.served_bytes.load(Relaxed),
        bytes_brought: inner.counters.brought_bytes.load(Relaxed),
        own,
        public: inner.settings.public.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

fn disk_free(inner: &Inner) -> u64 {
    rustix::fs::statvfs(inner.ring.data()).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The whole ring's health, gathered from all its machines every so often, for pages that must not wait.
pub(super) async fn keep_looking(inner: Arc<Inner>) {
    loop {
        let view = gather(&inner).await;
        inner.health.send_replace(Some(Arc::new(view)));
        tokio::time::sleep(inner.settings.follow_every.max(LOOK_EVERY)).await;
    }
}

/// How often everybody is asked how they are.
const LOOK_EVERY: Duration = Duration::from_secs(5);

async fn gather(inner: &Arc<Inner>) -> HealthView {
    let (replies, silent) = inner.reach.ask_all(&Ask::Status).await;
    let ours = inner.blocking(status).await.ok();
    let mut view = HealthView {
        time: Timestamp::now().to_string(),
        machines_asked: replies.len() + silent + 1,
        machines_silent: silent,
        ..HealthView::default()
    };
    let mut by_copies: BTreeMap<u16, u64> = BTreeMap::new();
    let theirs = replies.into_iter().filter_map(|(contact, reply)| match reply {
        Reply::Status(status) => Some((contact.key, status)),
        _ => None,
    });
    let all: Vec<(PeerKey, Status)> = theirs.chain(ours.map(|status| (inner.reach.machine(), status))).collect();
    for (machine, status) in &all {
        for (copies, objects) in status.own.by_copies.iter().enumerate().filter(|(_, objects)| **objects > 0) {
            *by_copies.entry(copies as u16).or_default() += objects;
        }
        view.copies = view.copies.max(status.own.needed);
        view.machines.push(machine_view(inner, *machine, status));
    }
    view.objects =
        by_copies.iter().map(|(copies, objects)| CopiesView { copies: *copies, objects: *objects }).collect();
    let full = u64::from(view.copies);
    view.repair_objects =
        by_copies.iter().map(|(copies, objects)| objects * full.saturating_sub(u64::from(*copies))).sum();
    (view.hosts_split, view.splits) = inner.blocking(splits).await.unwrap_or_default();
    view.set_aside = inner.aside().len() as u64;
    view.last_failure = inner.counters.last_failure();
    view.repairs = inner.custodian().under_way().filter_map(repair_view).collect();
    view
}

/// Hosts that are split, as far as this machine knows: how many, and the first of them.
fn splits(inner: &Inner) -> Result<(u64, Vec<SplitView>), CopiesError> {
    let mut hosts = inner.store.split_hosts()?;
    hosts.sort_by_key(|(_, parts)| std::cmp::Reverse(*parts));
    let view = |(host, parts): &(String, u32)| {
        let is_settled = inner.shape_here(host).is_settled();
        SplitView { host: host.clone(), parts: *parts, is_settled }
    };
    Ok((hosts.len() as u64, hosts.iter().take(SPLITS_SHOWN).map(view).collect()))
}

fn machine_view(inner: &Inner, machine: PeerKey, status: &Status) -> MachineView {
    let audit = inner.counters.audits.lock().unwrap_or_else(PoisonError::into_inner).get(&machine).copied();
    MachineView {
        machine: machine.to_string(),
        is_ours: machine == inner.reach.machine(),
        is_alive: true,
        uptime_s: Some(status.uptime_s as f64),
        disk_used_bytes: Some(status.bytes_held),
        disk_free_bytes: Some(status.disk_free),
        objects_held: status.entries,
        bytes_held: status.bytes_held,
        bytes_served: status.bytes_served + status.bytes_brought,
        audit: audit.map(|(time, is_passed)| AuditView {
            time: time.to_string(),
            is_passed,
            what: match is_passed {
                true => "It proved to have what was asked for.".to_owned(),
                false => "It could not prove to have what it should.".to_owned(),
            },
        }),
        ..MachineView::default()
    }
}

fn repair_view(task: &Task) -> Option<RepairView> {
    let (what, with) = match task {
        Task::Compare { with, .. } => ("Comparing with it, and bringing over what either lacks.", with),
        Task::Confirm { with, .. } => ("Asking whether it holds what may be let go here.", with),
        Task::Audit { with, .. } | Task::Prove { with, .. } => ("Having it prove what it holds.", with),
        Task::Survey { .. } | Task::Release { .. } => return None,
    };
    Some(RepairView { what: what.to_owned(), machine: with.key.to_string(), ..RepairView::default() })
}

impl Copies {
    /// Who is responsible for a URL, as its host is split now.
    pub async fn find(&self, url: &str) -> Result<LookupView, CopiesError> {
        let places = split::places_to_read(&self.inner, &surt_of(url)?, true).await;
        match places.ok().and_then(|places| places.first().copied()) {
            Some(place) => Ok(self.inner.ring.find_at(url, place).await?),
            // Nobody at its first place answers: that is what is shown then.
            None => Ok(self.inner.ring.find(url).await?),
        }
    }
}

impl Peers for Copies {
    fn view(&self) -> RingView {
        self.inner.ring.view()
    }

    fn lookup(&self, url: &str) -> Pin<Box<dyn Future<Output = Result<LookupView, Refused>> + Send>> {
        let (copies, url) = (self.clone(), url.to_owned());
        Box::pin(async move { copies.find(&url).await.map_err(|error| Refused(error.to_string())) })
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.inner.ring.changed()
    }

    fn health(&self) -> Option<HealthView> {
        self.inner.health.borrow().as_ref().map(|view| HealthView::clone(view))
    }
}
