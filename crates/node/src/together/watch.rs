//! How crawls stand in the whole ring, and when they are over: seen to by whoever owns the order's place.

use super::wire::{Ask, PartDetail, PartStatus, Reply};
use super::{Inner, Order, State, Totals, part};
use herodotus_base::{PeerKey, Timestamp};
use herodotus_frontier::HostTally;
use herodotus_ledger::CrawlId;
use herodotus_links::end::{self, Watch};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// How often everybody is asked while a crawl runs.
const EVERY: Duration = Duration::from_secs(1);
/// A machine that does not answer by then is silent in this round.
const WAIT: Duration = Duration::from_secs(5);

/// How a crawl stands in the whole ring.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CrawlStatus {
    pub name: String,
    pub state: &'static str,
    pub reason: String,
    pub run: u32,
    pub began: String,
    pub seeds: Vec<String>,
    /// Who fetches.
    pub strategy: String,
    pub machines: Vec<MachineStatus>,
    /// Machines that did not answer, or whose part has not begun.
    pub silent: usize,
    pub waiting: u64,
    pub in_flight: u64,
    pub unsent: u64,
    #[serde(flatten)]
    pub totals: Totals,
}

/// One machine's part of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MachineStatus {
    pub machine: String,
    pub is_ours: bool,
    pub is_idle: bool,
    pub urls: u64,
    pub waiting: u64,
    pub in_flight: u64,
    pub unsent: u64,
    pub fetched: u64,
    pub failed: u64,
    pub bytes: u64,
    pub hosts: u64,
    /// Exchanges made for other machines, and made by others for this one.
    pub for_others: u64,
    pub elsewhere: u64,
}

/// What one round of questions brought.
#[derive(Debug, Default)]
struct Wave {
    parts: BTreeMap<PeerKey, PartStatus>,
    /// Machines that did not answer.
    silent: usize,
}

impl Wave {
    fn sum(&self, of: impl Fn(&PartStatus) -> u64) -> u64 {
        self.parts.values().map(of).sum()
    }

    /// What of it says whether the crawl is over.
    fn to_judge(&self) -> end::Wave {
        let part = |part: &PartStatus| end::Part {
            version: part.version,
            is_idle: part.is_idle,
            activity: part.activity,
            unsent: part.unsent,
            arcs: part.arcs.clone(),
        };
        let parts = self.parts.iter().map(|(machine, status)| (*machine, part(status))).collect();
        end::Wave { parts, silent: self.silent }
    }
}

/// Looks after the crawls whose orders lie with us.
pub(super) async fn run(inner: Arc<Inner>) {
    if inner.copies.ring().joined().await.is_err() {
        return;
    }
    let mut judge = Watch::default();
    loop {
        let orders: Vec<Order> = inner.orders().values().cloned().collect();
        for order in orders.into_iter().filter(|order| order.state == State::Running) {
            let is_ours = inner.copies.owns_record(&herodotus_ledger::Name::Crawl(order.id()));
            if !is_ours {
                // Whoever has work left of a crawl that is called complete says so; nothing else is ours to say.
                judge.forget(&order.id().0);
                continue;
            }
            let wave = ask_everybody(&inner, order.id()).await;
            let is_over = judge.handle_wave(order.id().0, order.version, wave.to_judge());
            inner.statuses.send_modify(|all| _ = all.insert(order.id(), view(&inner, &order, &wave)));
            if let Some((state, reason)) = verdict(&order, &wave, is_over) {
                let ended = Order { state, reason, totals: totals(&wave), ..order.clone() };
                if inner.go_on_from(ended).await.is_ok() {
                    judge.forget(&order.id().0);
                }
            }
        }
        inner.statuses.send_modify(|all| all.retain(|id, _| judge.has(&id.0)));
        tokio::time::sleep(EVERY).await;
    }
}

/// Whether it is over, and why.
fn verdict(order: &Order, wave: &Wave, is_over: bool) -> Option<(State, String)> {
    let limits = &order.definition.crawl;
    let is_past = |limit: Option<u64>, sum: u64| limit.is_some_and(|limit| sum >= limit);
    if is_past(limits.limit, wave.sum(|part| part.pages)) {
        return Some((State::Stopped, "its limit of pages is reached".to_owned()));
    }
    if is_past(limits.limit_bytes, wave.sum(|part| part.bytes)) {
        return Some((State::Stopped, "its limit of bytes is reached".to_owned()));
    }
    let age_ms = Timestamp::now().millis() - order.began_ms;
    if limits.limit_time.is_some_and(|limit| age_ms >= limit.ms()) {
        return Some((State::Stopped, "its time is over".to_owned()));
    }
    is_over.then(|| (State::Complete, "everything was visited".to_owned()))
}

async fn ask_everybody(inner: &Arc<Inner>, crawl: CrawlId) -> Wave {
    let mut wave = Wave::default();
    match part::status(inner, crawl).await {
        Some(status) => _ = wave.parts.insert(inner.copies.machine(), status),
        None => wave.silent += 1,
    }
    let Ok(machines) = inner.copies.machines().await else {
        wave.silent += 1;
        return wave;
    };
    let mut under_way = JoinSet::new();
    for contact in machines {
        let inner = inner.clone();
        under_way.spawn(async move {
            let ask = Ask::Part { crawl: crawl.0 };
            let reply = tokio::time::timeout(WAIT, inner.ask(&contact, &ask)).await;
            (contact.key, reply.ok().and_then(Result::ok))
        });
    }
    while let Some(done) = under_way.join_next().await {
        match done {
            Ok((machine, Some(Reply::Part(Some(status))))) => _ = wave.parts.insert(machine, status),
            _ => wave.silent += 1,
        }
    }
    wave
}

/// How it stands at this moment.
pub(super) async fn look(inner: &Arc<Inner>, order: &Order) -> CrawlStatus {
    let wave = if order.state == State::Running { ask_everybody(inner, order.id()).await } else { Wave::default() };
    view(inner, order, &wave)
}

/// What all parts of a crawl have done, as far as they answer.
pub(super) async fn look_closely(inner: &Arc<Inner>, crawl: CrawlId) -> PartDetail {
    let mut all = part::detail(inner, crawl).await.unwrap_or_default();
    let Ok(machines) = inner.copies.machines().await else { return all };
    let mut under_way = JoinSet::new();
    for contact in machines {
        let inner = inner.clone();
        under_way.spawn(async move {
            let ask = Ask::Detail { crawl: crawl.0 };
            tokio::time::timeout(WAIT, inner.ask(&contact, &ask)).await.ok().and_then(Result::ok)
        });
    }
    let mut by_name: BTreeMap<String, HostTally> = BTreeMap::new();
    let mut add = |hosts: Vec<HostTally>| {
        for host in hosts {
            // A host that is split is on several machines.
            let known = by_name
                .entry(host.name.clone())
                .or_insert_with(|| HostTally { name: host.name, ..HostTally::default() });
            (known.fetched, known.failed) = (known.fetched + host.fetched, known.failed + host.failed);
            (known.bytes, known.waiting) = (known.bytes + host.bytes, known.waiting + host.waiting);
        }
    };
    add(std::mem::take(&mut all.hosts));
    while let Some(done) = under_way.join_next().await {
        if let Ok(Some(Reply::Detail(Some(detail)))) = done {
            all.tally.join(&detail.tally);
            add(detail.hosts);
        }
    }
    all.hosts = by_name.into_values().collect();
    all.hosts.sort_by_key(|host| std::cmp::Reverse(host.fetched + host.waiting));
    all
}

fn view(inner: &Inner, order: &Order, wave: &Wave) -> CrawlStatus {
    let machine = |(key, part): (&PeerKey, &PartStatus)| MachineStatus {
        machine: key.to_string(),
        is_ours: *key == inner.copies.machine(),
        is_idle: part.is_idle,
        urls: part.urls,
        waiting: part.waiting,
        in_flight: part.in_flight,
        unsent: part.unsent,
        fetched: part.fetched,
        failed: part.failed,
        bytes: part.bytes,
        hosts: part.hosts,
        for_others: part.for_others,
        elsewhere: part.elsewhere,
    };
    CrawlStatus {
        name: order.name.clone(),
        state: order.state.word(),
        reason: order.reason.clone(),
        run: order.run,
        began: Timestamp::from_millis_clamped(order.began_ms).rfc3339(),
        seeds: order.definition.seeds.clone(),
        strategy: order.definition.strategy.to_string(),
        machines: wave.parts.iter().map(machine).collect(),
        silent: wave.silent,
        waiting: wave.sum(|part| part.waiting),
        in_flight: wave.sum(|part| part.in_flight),
        unsent: wave.sum(|part| part.unsent),
        // When it is over nobody has a part any more.
        totals: if order.state == State::Running { totals(wave) } else { order.totals },
    }
}

fn totals(wave: &Wave) -> Totals {
    Totals {
        urls: wave.sum(|part| part.urls),
        pages: wave.sum(|part| part.pages),
        fetched: wave.sum(|part| part.fetched),
        new: wave.sum(|part| part.new),
        changed: wave.sum(|part| part.changed),
        unchanged: wave.sum(|part| part.unchanged),
        archived: wave.sum(|part| part.archived),
        failed: wave.sum(|part| part.failed),
        bytes: wave.sum(|part| part.bytes),
        elsewhere: wave.sum(|part| part.elsewhere),
        round: wave.parts.values().map(|part| part.round).max().unwrap_or(0),
    }
}
