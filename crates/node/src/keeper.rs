//! Runs the crawls that people start from a page, knows those that a command runs in this process, and tells how they go.
//!
//! A page's crawl is a task on the runtime, as `herodotus crawl` would run it; a command's is driven by the command, which
//! holds a [`Charge`]. What a page shows of a running crawl is a copy that its events keep fresh; of any other, what its
//! state says. No crawl runs twice at once, and no state is opened while its crawl runs. Bounded: crawls at once, events
//! remembered.

use crate::crawl::{self, Crawl, Definition, Event, Listed, Stop, Summary};
use herodotus_base::Timestamp;
use herodotus_frontier::{HostTally, Progress, Skipped, Tally, UrlRecord, Version};
use herodotus_page::WebUrl;
use herodotus_store::Store;
use herodotus_web::{CrawlAsk, CrawlEvent, CrawlHost, CrawlState, CrawlView, Crawls, Refused};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Crawls at once. Each has its own connections and queues; more would only share the same line.
const RUNNING_MAX: usize = 8;
/// Events of a crawl that a page can show.
const EVENTS_MAX: usize = 100;
/// Hosts of a crawl that a page shows.
pub(crate) const HOSTS_SHOWN: usize = 20;
/// How often a page hears of progress.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// Keeps the crawls of one archive. Clones share it.
#[derive(Clone, Debug)]
pub struct Keeper {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    data: PathBuf,
    store: Store,
    /// What every crawl that is started here begins from: contact, allowed networks.
    base: Definition,
    runtime: tokio::runtime::Handle,
    runs: Mutex<BTreeMap<String, Run>>,
    changed: watch::Sender<u64>,
}

/// A crawl of this process, going on or over.
#[derive(Debug)]
struct Run {
    definition: Definition,
    stop: watch::Sender<Stop>,
    live: Arc<Mutex<Live>>,
}

/// A crawl that someone runs, as the keeper shows it and may stop it. Dropped before [`Charge::end`], it counts as failed.
#[derive(Debug)]
pub struct Charge {
    keeper: Keeper,
    name: String,
    stop: watch::Sender<Stop>,
    live: Arc<Mutex<Live>>,
}

/// URLs of a crawl, and where the next ones begin.
pub type Urls = (Vec<UrlRecord>, Option<Vec<u8>>);

/// What is known of a run.
#[derive(Debug)]
struct Live {
    state: CrawlState,
    began: Timestamp,
    clock: Instant,
    took: Option<Duration>,
    round: u32,
    progress: Progress,
    tally: Tally,
    /// Of all runs.
    total: Tally,
    hosts: Vec<HostTally>,
    events: VecDeque<CrawlEvent>,
    trouble: Option<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Keeper {
    /// Must be called within the runtime that is to run the crawls.
    pub fn new(data: &Path, store: Store, base: Definition) -> Self {
        let inner = Inner {
            data: data.to_owned(),
            store,
            base,
            runtime: tokio::runtime::Handle::current(),
            runs: Mutex::default(),
            changed: watch::Sender::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Asks every crawl to stop, and waits until they have, or have had long enough.
    pub async fn stop_all(&self, patience: Duration) {
        let mut changed = self.inner.changed.subscribe();
        for run in lock(&self.inner.runs).values() {
            let _ = run.stop.send(Stop::Gently);
        }
        let all_over = async {
            while lock(&self.inner.runs).values().any(Run::is_going) {
                if changed.changed().await.is_err() {
                    return;
                }
            }
        };
        if tokio::time::timeout(patience, all_over).await.is_err() {
            for run in lock(&self.inner.runs).values() {
                let _ = run.stop.send(Stop::Now);
            }
        }
    }

    /// Something is news about a crawl.
    pub(crate) fn tell_changed(&self) {
        self.inner.changed.send_modify(|n| *n += 1);
    }

    pub(crate) fn define(&self, ask: &CrawlAsk) -> Result<(String, Definition), Refused> {
        let said = |error: crawl::Error| Refused(error.to_string());
        let wanted = Definition { seeds: ask.seeds.clone(), ..self.inner.base.clone() };
        let first = wanted.seed_urls().map_err(said)?.into_iter().next();
        let name = match (ask.name.is_empty(), &first) {
            (false, _) => ask.name.clone(),
            (true, Some(seed)) => crawl::name_for(seed),
            (true, None) => return Err(Refused("name a page to begin with, such as https://example.org".into())),
        };
        let known = crawl::load(&self.inner.data, &name).map_err(said)?;
        let is_known = known.is_some();
        let mut definition = known.unwrap_or(wanted);
        for seed in &ask.seeds {
            if !definition.seeds.contains(seed) {
                definition.seeds.push(seed.clone());
            }
        }
        // Going on with a crawl as it was needs no seed, and then says nothing of the rest either.
        if !(is_known && ask.seeds.is_empty()) {
            definition.crawl.scope = ask.scope;
            definition.crawl.depth = ask.depth;
        }
        definition.crawl.limit = ask.limit;
        definition.allow_private = self.inner.base.allow_private.clone();
        definition.connect_to = self.inner.base.connect_to.clone();
        definition.contact = definition.contact.or_else(|| self.inner.base.contact.clone());
        Ok((name, definition))
    }

    /// Opens a crawl that the caller will run. Until its [`Charge`] is given back, nobody else can open it.
    pub fn take_on(&self, name: &str, definition: Definition) -> crawl::Result<(Crawl, Charge)> {
        let mut runs = lock(&self.inner.runs);
        if runs.get(name).is_some_and(Run::is_going) {
            return Err(crawl::Error::Asked(format!("the crawl {name} is running already")));
        }
        if runs.values().filter(|run| run.is_going()).count() >= RUNNING_MAX {
            let full = format!("{RUNNING_MAX} crawls are running already: wait for one to end, or stop one");
            return Err(crawl::Error::Asked(full));
        }
        let crawl = Crawl::open(&self.inner.data, &self.inner.store, name, &definition)?;
        let stop = watch::Sender::new(Stop::No);
        let live = Arc::new(Mutex::new(Live {
            state: CrawlState::Running,
            began: Timestamp::now(),
            clock: Instant::now(),
            took: None,
            round: crawl.frontier().rounds_begun(),
            progress: crawl.frontier().progress(),
            tally: Tally::default(),
            total: crawl.frontier().total().clone(),
            hosts: Vec::new(),
            events: VecDeque::with_capacity(EVENTS_MAX),
            trouble: None,
        }));
        runs.insert(name.to_owned(), Run { definition, stop: stop.clone(), live: live.clone() });
        drop(runs);
        self.inner.changed.send_modify(|n| *n += 1);
        Ok((crawl, Charge { keeper: self.clone(), name: name.to_owned(), stop, live }))
    }

    /// Every crawl of the archive, with what is known of those that run at this moment.
    pub fn listed(&self) -> crawl::Result<Vec<Listed>> {
        let mut all = Vec::new();
        for name in crawl::names(&self.inner.data)? {
            // Held for one at a time: a state may be open only once, and a crawl may be about to open it.
            let runs = lock(&self.inner.runs);
            match runs.get(&name).filter(|run| run.is_going()) {
                Some(run) => all.push(run.listed(&name)),
                None => all.extend(crawl::look(&self.inner.data, &name)?),
            }
        }
        Ok(all)
    }

    /// Some of the URLs that a crawl knows, and where to go on. Refused while it runs. `None`: there is no such crawl.
    pub fn urls(&self, name: &str, from: Option<Vec<u8>>, most: usize) -> crawl::Result<Option<Urls>> {
        let runs = lock(&self.inner.runs);
        if runs.get(name).is_some_and(Run::is_going) {
            let wait = format!("the crawl {name} is running: its URLs can be listed when it is over, or was stopped");
            return Err(crawl::Error::Asked(wait));
        }
        let Some(definition) = crawl::load(&self.inner.data, name)? else { return Ok(None) };
        Ok(Some(crawl::peek(&self.inner.data, name, &definition)?.urls(from, most)?))
    }

    fn hear(&self, live: &Mutex<Live>, event: &Event<'_>) {
        let mut live = lock(live);
        match *event {
            Event::Progress { progress, run, total } => {
                live.progress = progress;
                live.tally = run.clone();
                live.total = total.clone();
                drop(live);
                self.inner.changed.send_modify(|n| *n += 1);
            }
            Event::Fetched { url, status, media, bytes, version, truncated, .. } => {
                let what = match version {
                    Version::New => "new",
                    Version::Changed => "changed",
                    Version::Same | Version::NotModified | Version::Archived => "unchanged",
                    Version::Unwanted | Version::NoArchive | Version::Busy => "skipped",
                };
                let cut = truncated.map(|why| format!(", cut short ({why})")).unwrap_or_default();
                live.remember(url, what, format!("{status} {media}{cut}"), bytes);
            }
            Event::Failed { url, code, message, again } => {
                let later = if again { ", to be tried again" } else { "" };
                live.remember(url, "failed", format!("{code}: {message}{later}"), 0);
            }
            Event::Skipped { url, reason } => live.remember(url, "skipped", reason.to_owned(), 0),
        }
    }

    /// A crawl that is not running, as its state on the disk says.
    fn at_rest(&self, name: &str) -> Result<Option<CrawlView>, Refused> {
        let said = |error: crawl::Error| Refused(error.to_string());
        let Some(definition) = crawl::load(&self.inner.data, name).map_err(said)? else { return Ok(None) };
        let frontier = crawl::peek(&self.inner.data, name, &definition).map_err(said)?;
        let state = if frontier.is_complete() { CrawlState::Complete } else { CrawlState::Stopped };
        let mut view = view(name, &definition, state, frontier.progress(), frontier.total());
        view.round = frontier.rounds_begun();
        view.busiest = hosts(&frontier.busiest_hosts(HOSTS_SHOWN));
        Ok(Some(view))
    }
}

impl Charge {
    /// Says when the crawl is to stop, whoever asked.
    pub fn stopped(&self) -> watch::Receiver<Stop> {
        self.stop.subscribe()
    }

    /// Asks for it, as a page would; from any thread.
    pub fn stopper(&self) -> watch::Sender<Stop> {
        self.stop.clone()
    }

    /// Everything that the crawl tells, so that pages know.
    pub fn hear(&self, event: &Event<'_>) {
        self.keeper.hear(&self.live, event);
    }

    /// The crawl is over. May wait for the disk.
    pub fn end(&self, result: &crawl::Result<Summary>) {
        let mut trouble = match result {
            Ok(_) => None,
            Err(error) => Some(format!("the crawl {} could not go on (it will where it was): {error}", self.name)),
        };
        // Titles are learnt from what is sealed: a person who has just archived a page looks for it now.
        if let Err(error) = self.keeper.inner.store.seal() {
            trouble = Some(error.to_string());
        }
        let mut live = lock(&self.live);
        live.took = Some(live.clock.elapsed());
        live.state = CrawlState::Failed;
        if let Ok(summary) = result {
            live.end(summary.clone());
        }
        live.trouble = trouble;
        drop(live);
        self.keeper.inner.changed.send_modify(|n| *n += 1);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut live = lock(&self.live);
        if !matches!(live.state, CrawlState::Running | CrawlState::Stopping) {
            return;
        }
        live.state = CrawlState::Failed;
        live.took = Some(live.clock.elapsed());
        live.trouble = Some(format!("the crawl {} broke off, which is our mistake", self.name));
        drop(live);
        self.keeper.inner.changed.send_modify(|n| *n += 1);
    }
}

impl Run {
    fn listed(&self, name: &str) -> Listed {
        let live = lock(&self.live);
        Listed {
            name: name.to_owned(),
            definition: self.definition.clone(),
            complete: false,
            round: live.round,
            progress: live.progress,
            total: live.total.clone(),
        }
    }

    fn is_going(&self) -> bool {
        matches!(lock(&self.live).state, CrawlState::Running | CrawlState::Stopping)
    }

    fn view(&self, name: &str) -> CrawlView {
        let live = lock(&self.live);
        let mut view = view(name, &self.definition, live.state, live.progress, &live.tally);
        view.round = live.round;
        view.began = Some(live.began.rfc3339());
        view.seconds = live.took.unwrap_or_else(|| live.clock.elapsed()).as_secs();
        view.events = live.events.iter().cloned().collect();
        view.trouble.clone_from(&live.trouble);
        view.busiest = hosts(&live.hosts);
        view
    }
}

impl Live {
    fn remember(&mut self, url: &WebUrl, what: &str, detail: String, bytes: u64) {
        self.events.truncate(EVENTS_MAX - 1);
        let url = url.as_str().chars().take(500).collect();
        let detail = detail.chars().take(300).collect();
        self.events.push_front(CrawlEvent {
            time: Timestamp::now().rfc3339(),
            url,
            what: what.to_owned(),
            detail,
            bytes,
        });
    }

    fn end(&mut self, summary: Summary) {
        let is_over = summary.progress.waiting == 0;
        self.state = if summary.end.is_some() && is_over { CrawlState::Complete } else { CrawlState::Stopped };
        self.round = summary.round;
        self.progress = summary.progress;
        self.tally = summary.tally;
        self.hosts = summary.hosts;
    }
}

pub(crate) fn hosts(hosts: &[HostTally]) -> Vec<CrawlHost> {
    let one = |host: &HostTally| CrawlHost {
        name: host.name.clone(),
        fetched: host.fetched,
        failed: host.failed,
        bytes: host.bytes,
        waiting: host.waiting,
    };
    hosts.iter().take(HOSTS_SHOWN).map(one).collect()
}

/// Reasons as pages show them: how many, and one example.
pub(crate) fn reasons(map: &BTreeMap<String, Skipped>) -> BTreeMap<String, (u64, String)> {
    map.iter().map(|(reason, skipped)| (reason.clone(), (skipped.urls, skipped.example.clone()))).collect()
}

fn view(name: &str, definition: &Definition, state: CrawlState, progress: Progress, tally: &Tally) -> CrawlView {
    CrawlView {
        name: name.to_owned(),
        state,
        seeds: definition.seeds.clone(),
        scope: definition.crawl.scope,
        depth: definition.crawl.depth,
        limit: definition.crawl.limit,
        round: 0,
        began: None,
        seconds: 0,
        urls: progress.urls,
        waiting: progress.waiting,
        in_flight: progress.in_flight,
        hosts: progress.hosts,
        fetched: tally.fetched,
        new: tally.new,
        changed: tally.changed,
        unchanged: tally.unchanged,
        failed: tally.failed,
        bytes: tally.bytes,
        statuses: tally.statuses.clone(),
        media: tally.media.clone(),
        failures: reasons(&tally.failures),
        skipped: reasons(&tally.skipped),
        busiest: Vec::new(),
        machines: Vec::new(),
        events: Vec::new(),
        note: None,
        trouble: None,
    }
}

impl Crawls for Keeper {
    fn list(&self) -> Result<Vec<CrawlView>, Refused> {
        let names = crawl::names(&self.inner.data).map_err(|error| Refused(error.to_string()))?;
        names.iter().filter_map(|name| self.get(name).transpose()).collect()
    }

    fn get(&self, name: &str) -> Result<Option<CrawlView>, Refused> {
        // Held throughout: a state may be open only once, and a crawl may be about to open it.
        let runs = lock(&self.inner.runs);
        match runs.get(name) {
            Some(run) => Ok(Some(run.view(name))),
            None => self.at_rest(name),
        }
    }

    fn start(&self, ask: CrawlAsk) -> Result<String, Refused> {
        let (name, definition) = self.define(&ask)?;
        let _runtime = self.inner.runtime.enter();
        let (crawl, charge) = self.take_on(&name, definition).map_err(|error| Refused(error.to_string()))?;
        let (live, keeper) = (charge.live.clone(), self.clone());
        self.inner.runtime.spawn(async move {
            let result = crawl.run(charge.stopped(), TELL_EVERY, move |event| keeper.hear(&live, &event)).await;
            // Sealing waits for the disk.
            tokio::task::spawn_blocking(move || charge.end(&result)).await
        });
        Ok(name)
    }

    fn stop(&self, name: &str) -> Result<bool, Refused> {
        let runs = lock(&self.inner.runs);
        let Some(run) = runs.get(name).filter(|run| run.is_going()) else { return Ok(false) };
        lock(&run.live).state = CrawlState::Stopping;
        let _ = run.stop.send(Stop::Gently);
        drop(runs);
        self.inner.changed.send_modify(|n| *n += 1);
        Ok(true)
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.inner.changed.subscribe()
    }
}
