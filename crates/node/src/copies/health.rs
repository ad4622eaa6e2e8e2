//! How copies stand: what is counted, what a machine tells of itself, and what pages and commands show.

use super::wire::{Ask, FailedAudit, Own, Reply, Status};
use super::{Copies, CopiesError, Inner, split};
use crate::ring::surt_of;
use herodotus_base::{PeerKey, Timestamp};
use herodotus_replica::custody::Task;
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
/// Failed audits that one machine tells of.
const FAILED_MAX: usize = 64;
/// Others are asked for theirs once in so many looks.
const FAILED_LOOKS: u64 = 6;
/// Hosts that are split and shown by name.
const SPLITS_SHOWN: usize = 20;

/// The last audit of a machine.
#[derive(Clone, Copy, Debug)]
struct Audit {
    time: Timestamp,
    is_right: bool,
    is_owner: bool,
}

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
    audits: Mutex<BTreeMap<PeerKey, Audit>>,
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
            Task::Audit { with, .. } => format!("auditing {with:?}"),
            Task::Confirm { with, .. } => format!("confirming with {with:?}"),
            Task::Survey { .. } => "looking for strays".to_owned(),
            Task::Release { .. } => "letting go".to_owned(),
        };
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("{what}: {error}"));
    }

    fn last_failure(&self) -> Option<String> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// `is_owner`: it was audited as the owner of what is entrusted to us.
    pub(super) fn audited(&self, machine: PeerKey, is_right: bool, is_owner: bool) {
        let mut audits = self.audits.lock().unwrap_or_else(PoisonError::into_inner);
        if audits.len() < AUDITS_MAX || audits.contains_key(&machine) {
            audits.insert(machine, Audit { time: Timestamp::now(), is_right, is_owner });
        }
    }

    /// Machines that failed their last audit here.
    pub(super) fn failed_audits(&self) -> Vec<FailedAudit> {
        let audits = self.audits.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = audits.iter().filter(|(_, audit)| !audit.is_right).take(FAILED_MAX);
        let told = |(machine, audit): (&PeerKey, &Audit)| FailedAudit {
            machine: *machine,
            time_ms: audit.time.millis(),
            is_owner: audit.is_owner,
        };
        failed.map(told).collect()
    }

    fn last_audit(&self, machine: PeerKey) -> Option<Audit> {
        self.audits.lock().unwrap_or_else(PoisonError::into_inner).get(&machine).copied()
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
    let mut failed = BTreeMap::new();
    for look in 0_u64.. {
        if look % FAILED_LOOKS == 0 {
            failed = gather_failed(&inner).await;
        }
        let view = gather(&inner, &failed).await;
        inner.health.send_replace(Some(Arc::new(view)));
        tokio::time::sleep(inner.settings.follow_every.max(LOOK_EVERY)).await;
    }
}

/// How often everybody is asked how they are.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Who failed audits of others, by their word.
type Failed = BTreeMap<PeerKey, Vec<FailedAudit>>;

async fn gather_failed(inner: &Arc<Inner>) -> Failed {
    let (replies, _) = inner.reach.ask_all(&Ask::Failed).await;
    let mut failed = Failed::new();
    for (_, reply) in replies {
        let Reply::Failed(told) = reply else { continue };
        for audit in told.into_iter().take(FAILED_MAX) {
            failed.entry(audit.machine).or_default().push(audit);
        }
    }
    failed
}

async fn gather(inner: &Arc<Inner>, failed: &Failed) -> HealthView {
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
        let audit = audit_view(inner.counters.last_audit(*machine), failed.get(machine).map_or(&[], Vec::as_slice));
        view.machines.push(MachineView { audit, ..machine_view(inner, *machine, status) });
    }
    view.objects =
        by_copies.iter().map(|(copies, objects)| CopiesView { copies: *copies, objects: *objects }).collect();
    let full = u64::from(view.copies);
    view.repair_objects =
        by_copies.iter().map(|(copies, objects)| objects * full.saturating_sub(u64::from(*copies))).sum();
    (view.hosts_split, view.splits) = inner.blocking(splits).await.unwrap_or_default();
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
    MachineView {
        machine: machine.to_string(),
        is_ours: machine == inner.reach.machine(),
        is_alive: true,
        uptime_s: Some(status.uptime_s as f64),
        disk_used_bytes: Some(status.bytes_held),
        disk_free_bytes: Some(status.disk_free),
        objects_held: status.entries,
        bytes_held: status.bytes_held,
        bytes_served: status.bytes_served,
        ..MachineView::default()
    }
}

/// What we found ourselves, and what others say that they found. One that lies can say so of an honest machine: it is told how many say it.
fn audit_view(ours: Option<Audit>, others: &[FailedAudit]) -> Option<AuditView> {
    let failed_here = ours.filter(|audit| !audit.is_right);
    let failing = others.len() + usize::from(failed_here.is_some());
    let is_owner = failed_here.is_some_and(|audit| audit.is_owner) || others.iter().any(|audit| audit.is_owner);
    let last_told = others.iter().map(|audit| audit.time_ms).max().map(Timestamp::from_millis_clamped);
    let time = ours.filter(|audit| failing == 0 || !audit.is_right).map(|audit| audit.time).or(last_told)?;
    let what = match failing {
        0 => "It proved to have what was asked for.".to_owned(),
        _ => {
            let who = match (failed_here.is_some(), others.len()) {
                (true, 0) => "Asked by this machine".to_owned(),
                (true, more) => format!("Asked by this machine and {more} more"),
                (false, 1) => "Asked by one other machine".to_owned(),
                (false, more) => format!("Asked by {more} other machines"),
            };
            let role = if is_owner { " of what it owns" } else { "" };
            format!("{who}, it could not prove to have what it should{role}.")
        }
    };
    Some(AuditView { time: time.to_string(), is_passed: failing == 0, what })
}

fn repair_view(task: &Task) -> Option<RepairView> {
    let (what, with) = match task {
        Task::Compare { with, .. } => ("Comparing with it, and bringing over what either lacks.", with),
        Task::Confirm { with, .. } => ("Asking whether it holds what may be let go here.", with),
        Task::Audit { with, .. } => ("Having it prove what it holds.", with),
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
