//! This machine's part of each crawl: begun when an order says so, fed with what others find and knew, stopped when it is over.

use super::held::Held;
use super::pace::Pace;
use super::wire::{PartDetail, PartStatus};
use super::{Inner, Order, Result, State, elsewhere, lease, lock, robots};
use crate::copies::Copies;
use crate::crawl::{
    Begun, Boxed, Context, Crawl, Definition, Elsewhere, Error as CrawlError, Flights, Lease, PartView, RobotsBook,
    RobotsTold, Stop, Team, Ties, Told,
};
use herodotus_base::{Sha256, Timestamp};
use herodotus_fetch::{Ask, Receiver};
use herodotus_frontier::{Prospect, Territory, UrlRecord};
use herodotus_ledger::{CrawlId, Name, Record};
use herodotus_page::WebUrl;
use herodotus_ring::Contact;
use herodotus_store::{Capture, Entry, key_of};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// What may wait for a part before others have to.
const TOLD_MAX: usize = 64;
/// Records that are adopted at once.
const ADOPTED_AT_ONCE: usize = 1000;
/// How often orders, and what is ours, are looked at even if nothing woke us.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A part that runs here.
#[derive(Debug)]
pub(super) struct Part {
    version: u64,
    run: u32,
    definition: Definition,
    told: mpsc::Sender<Told>,
    stop: watch::Sender<Stop>,
    ended: watch::Receiver<bool>,
    context: Arc<Context>,
    team: Arc<Ring>,
    pace: Pace,
}

impl Part {
    pub(super) fn context(&self) -> Arc<Context> {
        self.context.clone()
    }
}

/// Which URLs are ours: those on our own arcs, as far as we know all that was known of them.
#[derive(Debug)]
struct Own(Copies);

impl Territory for Own {
    fn holds(&self, url: &WebUrl) -> bool {
        self.0.is_ours_to_do(&key_of(url.as_str()))
    }
}

/// What a part tells the others.
#[derive(Debug)]
struct Ring {
    inner: std::sync::Weak<Inner>,
    crawl: CrawlId,
    robots_book: Arc<RobotsBook>,
    flights: Arc<Flights>,
    held: Mutex<Held>,
    /// Where seeds redirect to, as our part has found or was told.
    leads: Mutex<Vec<String>>,
}

impl Team for Ring {
    fn share(&self, prospects: Vec<Prospect>, news: Vec<UrlRecord>) -> crate::crawl::Result<()> {
        let Some(inner) = self.inner.upgrade() else { return Ok(()) };
        let failed = |error: super::TogetherError| CrawlError::Asked(error.to_string());
        let sent = inner.courier.send(self.crawl, &prospects, inner.now()).map_err(failed)?;
        let (seen, visited): (Vec<Record>, Vec<Record>) =
            news.iter().map(|record| record_of(self.crawl, record)).partition(|record| record.version == 1);
        let copied = inner.copies.followed().after_now();
        lock(&self.held).hold(sent, copied, visited);
        let ready = seen.into_iter().chain(self.take_ready(&inner)).collect::<Vec<_>>();
        inner.copies.note_records(&ready).map_err(|error| failed(error.into()))
    }

    fn sync(&self) -> crate::crawl::Result<()> {
        let Some(inner) = self.inner.upgrade() else { return Ok(()) };
        inner.copies.ledger().sync().map_err(|error| CrawlError::Asked(error.to_string()))
    }

    fn lead(&self, leads: &[String]) {
        leads.clone_into(&mut lock(&self.leads));
        if let Some(inner) = self.inner.upgrade() {
            inner.wake.notify_waiters();
        }
    }

    fn has_room(&self) -> bool {
        lock(&self.held).has_room() && self.inner.upgrade().is_none_or(|inner| inner.courier.has_room())
    }

    fn lately<'a>(&'a self, url: &'a WebUrl, since: Timestamp) -> Boxed<'a, Option<(Entry, Capture)>> {
        Box::pin(async move { self.inner.upgrade()?.copies.on_its_way(url.as_str(), since).await })
    }

    fn lease<'a>(&'a self, url: &'a WebUrl, delay: Duration, at_once: u32) -> Boxed<'a, Lease> {
        Box::pin(async move {
            match self.inner.upgrade() {
                Some(inner) => {
                    let lease = lease::wait_for(&inner, url, delay, at_once).await;
                    inner.copies.comes_first();
                    lease
                }
                None => Lease::default(),
            }
        })
    }

    fn others<'a>(&'a self, context: &'a Context, url: &'a WebUrl) -> Boxed<'a, Vec<Contact>> {
        Box::pin(async move {
            match self.inner.upgrade() {
                Some(inner) => elsewhere::others(&inner, self.crawl, context, url).await,
                None => Vec::new(),
            }
        })
    }

    fn fetch_at<'a>(
        &'a self,
        other: &'a Contact,
        context: &'a Context,
        ask: &'a Ask,
        receiver: &'a mut dyn Receiver,
    ) -> Boxed<'a, Elsewhere> {
        Box::pin(async move {
            match self.inner.upgrade() {
                Some(inner) => elsewhere::fetch_at(&inner, self.crawl, other, context, ask, receiver).await,
                None => Elsewhere::Declined,
            }
        })
    }

    fn robots<'a>(&'a self, url: &'a WebUrl, delay: Duration) -> Boxed<'a, Option<RobotsTold>> {
        Box::pin(async move { robots::ask(&self.inner.upgrade()?, self.crawl, url, delay).await })
    }

    fn robots_book(&self) -> &RobotsBook {
        &self.robots_book
    }

    fn flights(&self) -> &Flights {
        &self.flights
    }
}

impl Ring {
    /// What was held back and may be told now.
    fn release(&self, inner: &Inner) {
        // What cannot be written now is told again when its URL is visited again.
        let _ = inner.copies.note_records(&self.take_ready(inner));
    }

    fn take_ready(&self, inner: &Inner) -> Vec<Record> {
        let (arrived, followed) = (inner.courier.arrived(), inner.copies.followed());
        lock(&self.held).take_ready(arrived, followed, |key| inner.copies.is_set_aside(key))
    }
}

/// The name of what is known of a URL.
pub(super) fn name_of(crawl: CrawlId, url: &str) -> Name {
    let digest = Sha256::of(url.as_bytes()).0;
    let spelling = digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    Name::Url { key: key_of(url), crawl, spelling }
}

/// What is known of a URL, as the ledger keeps it. The more often it was visited, the later.
fn record_of(crawl: CrawlId, url: &UrlRecord) -> Record {
    Record { name: name_of(crawl, url.url.as_str()), version: u64::from(url.visits) + 1, value: url.encode() }
}

/// The one task that begins and ends parts, and gives them what is theirs.
pub(super) async fn supervise(inner: Arc<Inner>) {
    if inner.copies.ring().joined().await.is_err() {
        return;
    }
    let mut news = inner.copies.record_news();
    let mut teams: BTreeMap<CrawlId, Arc<Ring>> = BTreeMap::new();
    loop {
        let begun = begin_and_end(&inner, &mut teams).await;
        teams.values().for_each(|team| team.release(&inner));
        let ours = inner.copies.ground();
        let has_moved = !lock(&inner.adoption).is_of(&ours);
        if has_moved {
            let parts: Vec<CrawlId> = inner.parts().keys().copied().collect();
            tell_all(&inner, || Told::Territory).await;
            adopt(&inner, None).await;
            tell_all(&inner, || Told::Seeds).await;
            lock(&inner.adoption).handle_ground(ours, parts.into_iter().map(|crawl| crawl.0));
        } else {
            for crawl in begun {
                adopt(&inner, Some(crawl)).await;
                let sender = inner.parts().get(&crawl).map(|part| part.told.clone());
                if let Some(sender) = sender {
                    let _ = sender.send(Told::Seeds).await;
                }
                lock(&inner.adoption).handle_part(crawl.0);
            }
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = inner.wake.notified() => {}
            heard = news.recv() => match heard {
                Ok(records) => hear(&inner, &records).await,
                // More came than we could take: it is all in the ledger.
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => adopt(&inner, None).await,
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
            }
        }
    }
}

/// Begins what runs by its order and does not here, ends what is over. Which were begun.
async fn begin_and_end(inner: &Arc<Inner>, teams: &mut BTreeMap<CrawlId, Arc<Ring>>) -> Vec<CrawlId> {
    let orders: Vec<Order> = inner.orders().values().cloned().collect();
    let mut begun = Vec::new();
    for order in orders {
        let id = order.id();
        let part = inner.parts().get(&id).map(|part| (part.version, part.run, *part.ended.borrow()));
        match (order.state, part) {
            (State::Running, None) => {
                let team = teams.entry(id).or_insert_with(|| {
                    let (robots_book, flights) = (inner.robots_book.clone(), inner.flights.clone());
                    let (held, leads) = Default::default();
                    Arc::new(Ring { inner: Arc::downgrade(inner), crawl: id, robots_book, flights, held, leads })
                });
                match begin(inner, &order, team.clone()).await {
                    Ok(part) => {
                        inner.parts().insert(id, part);
                        begun.push(id);
                    }
                    Err(error) => eprintln!("our part of the crawl {} could not be begun: {error}", order.name),
                }
            }
            // A part that broke off is begun again from where it was; one of an earlier run anew.
            (State::Running, Some((_, run, ended))) if ended || run != order.run => end(inner, id, ended),
            (State::Running, Some((version, ..))) if version != order.version => change(inner, id, &order).await,
            (State::Running, Some(_)) => tell_leads(inner, teams.get(&id), order).await,
            // It was called complete too soon for us: we were away, or in another half of a ring that was split.
            (State::Complete, Some((.., false))) if !closes(inner, id).await => go_on(inner, order).await,
            (State::Complete, None) if inner.courier.unsent(id) > 0 => go_on(inner, order).await,
            (_, None) => {}
            (_, Some((.., ended))) => end(inner, id, ended),
        }
    }
    begun
}

/// Our part goes on by a new version of its order; if that cannot be told to it, it ends and is begun again where it was.
async fn change(inner: &Arc<Inner>, id: CrawlId, order: &Order) {
    let definition = order.part();
    let Some((sender, is_told)) =
        inner.parts().get(&id).map(|part| (part.told.clone(), is_told_of(&part.definition, &definition)))
    else {
        return;
    };
    if !is_told {
        return end(inner, id, false);
    }
    let (seeds, leads) = (definition.seed_urls().unwrap_or_default(), order.lead_urls());
    let _ = sender.send(Told::Change { settings: Box::new(definition.crawl.clone()), seeds, leads }).await;
    // Only then: what it says of itself from now on is by this version.
    if let Some(part) = inner.parts().get_mut(&id) {
        (part.version, part.definition) = (order.version, definition);
    }
}

/// Whether all that differs is told to a part that runs: the frontier's settings, and seeds. How it fetches is fixed when it is begun.
fn is_told_of(before: &Definition, now: &Definition) -> bool {
    let mut same = before.clone();
    same.seeds.clone_from(&now.seeds);
    // Looked up with each visit.
    same.strategy = now.strategy;
    let fixed = |definition: &Definition| {
        let crawl = &definition.crawl;
        (crawl.media, crawl.concurrency, crawl.ignore_robots)
    };
    let is_fixed = fixed(before) == fixed(now);
    same.crawl = now.crawl.clone();
    is_fixed && same == *now
}

/// What seeds redirect to belongs to the scope of all parts: it becomes part of the order.
async fn tell_leads(inner: &Arc<Inner>, team: Option<&Arc<Ring>>, mut order: Order) {
    let found = team.map(|team| lock(&team.leads).clone()).unwrap_or_default();
    if order.add_leads(&found) {
        let _ = inner.go_on_from(order).await;
    }
}

async fn go_on(inner: &Arc<Inner>, order: Order) {
    let _ = inner.go_on_from(Order { state: State::Running, reason: String::new(), ..order }).await;
}

/// Ends our part of a crawl that is called complete, unless it has something left to do. Whether it does.
async fn closes(inner: &Inner, crawl: CrawlId) -> bool {
    let Some(sender) = inner.parts().get(&crawl).map(|part| part.told.clone()) else { return true };
    let (reply, closed) = oneshot::channel();
    if sender.send(Told::Close(reply)).await.is_err() {
        return true;
    }
    // Nothing: it has ended already.
    closed.await.unwrap_or(true)
}

/// Lets a part come to its end; it is forgotten when it has.
fn end(inner: &Inner, id: CrawlId, ended: bool) {
    lock(&inner.adoption).forget(&id.0);
    let mut parts = inner.parts();
    if ended {
        parts.remove(&id);
    } else if let Some(part) = parts.get(&id) {
        let _ = part.stop.send(Stop::Gently);
    }
}

async fn begin(inner: &Arc<Inner>, order: &Order, team: Arc<Ring>) -> Result<Part> {
    let (told, receiver) = mpsc::channel(TOLD_MAX);
    let ties = Ties { team: team.clone(), told: receiver };
    let mut definition = order.part();
    // Which networks may be asked, and where hosts are dialled, is this machine's own to say: an order comes from anybody in the ring.
    definition.allow_private = inner.base.allow_private.clone();
    definition.connect_to = inner.base.connect_to.clone();
    definition.fetch.roots = inner.base.fetch.roots.clone();
    let hex: String = order.id().0.iter().map(|byte| format!("{byte:02x}")).collect();
    let dir = inner.dir.join(hex);
    let (store, name) = (inner.store.clone(), order.name.clone());
    let ground = Arc::new(Own(inner.copies.clone()));
    let begun = Begun { at: Timestamp::from_millis_clamped(order.began_ms), run: order.run, leads: order.lead_urls() };
    let opened =
        tokio::task::spawn_blocking(move || Crawl::open_part(&dir, &store, &name, &definition, ground, begun, ties));
    let crawl = opened.await.map_err(|_| super::TogetherError::Odd("a task of ours broke"))??;
    let context = crawl.context().clone();
    let stop = watch::Sender::new(Stop::No);
    let (over, ended) = watch::channel(false);
    let stopped = stop.subscribe();
    let name = order.name.clone();
    inner.runtime.spawn(async move {
        if let Err(error) = crawl.run(stopped, Duration::from_secs(1), |_| {}).await {
            eprintln!("our part of the crawl {name} broke off, and is begun again where it was: {error}");
        }
        let _ = over.send(true);
    });
    let (definition, pace) = (order.part(), Pace::default());
    Ok(Part { version: order.version, run: order.run, definition, told, stop, ended, context, team, pace })
}

async fn tell_all(inner: &Inner, told: impl Fn() -> Told) {
    let senders: Vec<_> = inner.parts().values().map(|part| part.told.clone()).collect();
    for sender in senders {
        let _ = sender.send(told()).await;
    }
}

/// Gives the parts what the ledger knows of URLs that are ours.
async fn adopt(inner: &Arc<Inner>, only: Option<CrawlId>) {
    for (from, to) in inner.copies.ground().arcs {
        let mut records = inner.copies.ledger().records_on(from, to);
        loop {
            let read = tokio::task::spawn_blocking(move || {
                let some: Vec<Record> = records.by_ref().take(ADOPTED_AT_ONCE).flatten().map(|(_, r)| r).collect();
                (records, some)
            });
            let Ok((rest, some)) = read.await else { return };
            records = rest;
            if some.is_empty() {
                break;
            }
            give(inner, &some, only).await;
        }
    }
}

/// Records came in from other machines: some may be ours to go on with, some are orders.
async fn hear(inner: &Arc<Inner>, records: &[Record]) {
    for record in records.iter().filter(|record| matches!(record.name, Name::Crawl(_))) {
        if let Some(order) = Order::of_record(record) {
            inner.learn(order);
        }
    }
    give(inner, records, None).await;
}

async fn give(inner: &Arc<Inner>, records: &[Record], only: Option<CrawlId>) {
    let mut by_crawl: BTreeMap<CrawlId, Vec<UrlRecord>> = BTreeMap::new();
    for record in records {
        let Name::Url { crawl, .. } = record.name else { continue };
        if only.is_some_and(|only| only != crawl) {
            continue;
        }
        // What cannot be read was written by a newer program: it will go on with it.
        if let Ok(url) = UrlRecord::decode(&record.value) {
            by_crawl.entry(crawl).or_default().push(url);
        }
    }
    for (crawl, urls) in by_crawl {
        let sender = inner.parts().get(&crawl).map(|part| part.told.clone());
        match sender {
            Some(sender) => _ = sender.send(Told::Adopt(urls)).await,
            None => look_for_work(inner, crawl, &urls).await,
        }
    }
}

/// What was called complete, and is not by what we hear of what is ours, goes on: whoever knew it was not asked.
async fn look_for_work(inner: &Arc<Inner>, crawl: CrawlId, urls: &[UrlRecord]) {
    let order = inner.orders().get(&crawl).filter(|order| order.state == State::Complete).cloned();
    let Some(order) = order else { return };
    let is_work = |url: &UrlRecord| {
        let text = url.url.as_str();
        // What is known may be later than what we hear.
        let known = inner.copies.ledger().get(&name_of(crawl, text)).ok().flatten();
        let known = known.and_then(|record| UrlRecord::decode(&record.value).ok());
        inner.copies.is_ours_to_do(&key_of(text)) && known.is_some_and(|known| known.is_open(order.run))
    };
    if urls.iter().any(|url| url.is_open(order.run) && is_work(url)) {
        go_on(inner, order).await;
    }
}

/// Gives a part links that others found. Those that are not ours come back. `None`: there is no such part here now.
pub(super) async fn take_in(inner: &Inner, crawl: CrawlId, prospects: Vec<Prospect>) -> Option<Vec<Prospect>> {
    let sender = inner.parts().get(&crawl).map(|part| part.told.clone())?;
    let (reply, strays) = oneshot::channel();
    sender.send(Told::Prospects(prospects, reply)).await.ok()?;
    strays.await.ok()
}

/// How our part of a crawl stands.
pub(super) async fn status(inner: &Inner, crawl: CrawlId) -> Option<PartStatus> {
    let (sender, version, (for_others, elsewhere), team) = inner
        .parts()
        .get(&crawl)
        .map(|part| (part.told.clone(), part.version, part.context.made(), part.team.clone()))?;
    let (reply, view) = oneshot::channel();
    sender.send(Told::Look(reply)).await.ok()?;
    let ground = inner.copies.ground();
    // What has just become ours may not be in the frontier yet.
    let is_adopted = lock(&inner.adoption).answers_for(&crawl.0, &ground);
    let PartView { is_idle, activity, progress, tally, round } = view.await.ok()?;
    let leads = lock(&team.leads).clone();
    // Where a seed leads that others do not know yet is something left to do.
    let are_told = leads.is_empty() || !inner.orders().get(&crawl).cloned()?.add_leads(&leads);
    Some(PartStatus {
        version,
        is_idle: is_idle && are_told,
        activity,
        unsent: inner.courier.unsent(crawl),
        arcs: if is_adopted { ground.arcs } else { Vec::new() },
        urls: progress.urls,
        waiting: progress.waiting,
        in_flight: progress.in_flight,
        hosts: progress.hosts,
        pages: tally.pages,
        fetched: tally.fetched,
        new: tally.new,
        changed: tally.changed,
        unchanged: tally.unchanged,
        archived: tally.archived,
        failed: tally.failed,
        bytes: tally.bytes,
        round,
        for_others,
        elsewhere,
    })
}

/// For how long our part of a crawl has work without more links.
pub(super) fn work(inner: &Inner, crawl: CrawlId) -> Option<Duration> {
    let now = inner.now();
    let mut parts = inner.parts();
    let part = parts.get_mut(&crawl)?;
    let (finished, waiting) = part.context.stand();
    Some(part.pace.work(now, finished, waiting))
}

/// What our part of a crawl has done.
pub(super) async fn detail(inner: &Inner, crawl: CrawlId) -> Option<PartDetail> {
    let sender = inner.parts().get(&crawl).map(|part| part.told.clone())?;
    let (reply, told) = oneshot::channel();
    sender.send(Told::LookClosely(reply)).await.ok()?;
    let (tally, hosts) = told.await.ok()?;
    Some(PartDetail { tally, hosts })
}

pub(super) async fn stop_all(inner: &Inner, patience: Duration) {
    let mut ended: Vec<watch::Receiver<bool>> = Vec::new();
    for part in inner.parts().values() {
        let _ = part.stop.send(Stop::Gently);
        ended.push(part.ended.clone());
    }
    let all = async {
        for part in &mut ended {
            let _ = part.wait_for(|over| *over).await;
        }
    };
    if tokio::time::timeout(patience, all).await.is_err() {
        inner.parts().values().for_each(|part| _ = part.stop.send(Stop::Now));
    }
}
