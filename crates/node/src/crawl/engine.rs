//! The loop that drives a crawl: visits out, what they brought to the disk, and back into the frontier.

use super::event::{Event, Summary};
use super::folder;
use super::part::{PartView, Ties, Told};
use super::robots::RobotsFinished;
use super::visit::{Context, Finished};
use super::{
    COMMIT_EVERY, COMMIT_VISITS, Definition, DiskTable, Error, PART_COMMIT_EVERY, Result, SYNC_EVERY, UNCOMMITTED_MAX,
};
use herodotus_base::Timestamp;
use herodotus_frontier::{End, Errand, Frontier, Next, Outcome, RobotsAnswer, Territory, Version, Visit};
use herodotus_page::WebUrl;
use herodotus_store::Store;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Hosts that a summary names; a crawl of more is looked at with other means.
const HOSTS_SHOWN: usize = 100;

/// Of what a part counts as its activity, the part that counts within a life: a million things in a millisecond.
const LIFE_BITS: u32 = 20;

/// How a crawl is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    No,
    /// Nothing new is begun; what is in flight is kept.
    Gently,
    /// What is in flight is let go. It stays in the queue.
    Now,
}

/// A crawl that is ready to run.
#[derive(Debug)]
pub struct Crawl {
    name: String,
    frontier: Frontier<DiskTable>,
    context: Arc<Context>,
    requests: usize,
    /// To the machines that make the rest of it.
    ties: Option<Ties>,
    /// Everything that was begun or taken in. It begins elsewhere in each life, so that two lives are not taken for one in which nothing happened.
    activity: u64,
    /// Of a crawl that a ring makes: a seed may become ours later.
    seeds: Vec<WebUrl>,
    /// Of what seeds redirect to, how many the others were told.
    leads_told: usize,
    /// The ring says that it is complete, and nothing was left here.
    is_closed: bool,
}

/// When everybody began a crawl, for the how manieth time, and where its seeds are known to redirect to.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) at: Timestamp,
    pub(crate) run: u32,
    pub(crate) leads: Vec<WebUrl>,
}

/// What comes back from a visit.
#[derive(Debug)]
enum Back {
    Url(Box<Finished>),
    Robots(Box<RobotsFinished>),
}

impl Back {
    /// Something went into the archive that is not yet on the disk.
    fn is_appended(&self) -> bool {
        match self {
            Self::Url(finished) => finished.appended,
            Self::Robots(finished) => finished.appended,
        }
    }
}

impl Crawl {
    /// Opens a crawl in an archive, making it if it is new, and writes its definition down.
    pub fn open(data: &Path, store: &Store, name: &str, definition: &Definition) -> Result<Self> {
        let seeds = definition.seed_urls()?;
        if seeds.is_empty() {
            return Err(Error::Asked("there is nothing to crawl: name at least one seed".to_owned()));
        }
        definition.crawl.check()?;
        let context = Context::new(store, definition, None)?;
        folder::save(data, name, definition)?;
        let now = Timestamp::now();
        let mut frontier = Frontier::open(folder::open_table(data, name)?, definition.crawl.clone(), now)?;
        frontier.handle_seeds(now, &seeds)?;
        frontier.sync()?;
        let requests = definition.requests.max(1);
        let (name, context) = (name.to_owned(), Arc::new(context));
        Ok(Self {
            name,
            frontier,
            context,
            requests,
            ties: None,
            activity: 0,
            seeds: Vec::new(),
            leads_told: 0,
            is_closed: false,
        })
    }

    /// Opens this machine's part of a crawl that a ring makes together. `dir` is where it is kept.
    pub(crate) fn open_part(
        dir: &Path,
        store: &Store,
        name: &str,
        definition: &Definition,
        territory: Arc<dyn Territory>,
        begun: Begun,
        ties: Ties,
    ) -> Result<Self> {
        let context = Context::new(store, definition, Some(ties.team.clone()))?;
        let now = Timestamp::now();
        let settings = definition.crawl.clone();
        let table = folder::table_in(dir)?;
        let mut frontier = Frontier::open_part(table, settings.clone(), territory, (begun.at, begun.run), now)?;
        let seeds = definition.seed_urls()?;
        frontier.change(now, settings, &seeds, &begun.leads)?;
        let (requests, ties) = (definition.requests.max(1), Some(ties));
        let (name, context) = (name.to_owned(), Arc::new(context));
        let activity = u64::try_from(now.millis()).unwrap_or(0) << LIFE_BITS;
        let mut crawl =
            Self { name, frontier, context, requests, ties, activity, seeds, leads_told: 0, is_closed: false };
        crawl.share()?;
        crawl.frontier.sync()?;
        Ok(crawl)
    }

    /// Gives the others what is theirs. Before the frontier is written: a link that is lost is lost for ever, one that is sent twice is not.
    /// Whether there was anything.
    fn share(&mut self) -> Result<bool> {
        let Some(ties) = &self.ties else { return Ok(false) };
        let leads = self.frontier.leads();
        if leads.len() != self.leads_told {
            ties.team.lead(leads);
            self.leads_told = leads.len();
        }
        let (prospects, news) = (self.frontier.take_prospects(), self.frontier.take_news());
        if prospects.is_empty() && news.is_empty() {
            return Ok(false);
        }
        self.activity += 1;
        ties.team.share(prospects, news)?;
        Ok(true)
    }

    /// Something that another machine, or our own place in the ring, has for this part.
    fn be_told(&mut self, told: Told, is_idle: bool) -> Result<()> {
        let now = Timestamp::now();
        match told {
            Told::Prospects(prospects, reply) => {
                self.activity += 1;
                let strays = self.frontier.handle_prospects(now, &prospects)?;
                let is_news = self.share()?;
                if let Some(ties) = self.ties.as_ref().filter(|_| is_news) {
                    // Before the frontier: what that knows it does not tell again.
                    ties.team.sync()?;
                }
                self.frontier.sync()?;
                let _ = reply.send(strays);
            }
            Told::Adopt(records) => {
                let adopted = self.frontier.adopt(now, &records)?;
                self.activity += adopted as u64;
                self.frontier.flush()?;
            }
            Told::Territory => {
                self.activity += 1;
                self.frontier.look_again(now);
            }
            Told::Change { settings, seeds, leads } => {
                self.frontier.change(now, *settings, &seeds, &leads)?;
                self.seeds = seeds;
                self.share()?;
            }
            Told::Close(reply) => {
                self.is_closed = is_idle;
                let _ = reply.send(is_idle);
            }
            Told::Seeds => {
                // One may be ours now that was nobody's, or that its owner took to its grave.
                self.activity += 1;
                self.frontier.handle_missing_seeds(now, &self.seeds)?;
                self.share()?;
            }
            Told::Look(reply) => {
                let _ = reply.send(PartView {
                    is_idle,
                    activity: self.activity,
                    progress: self.frontier.progress(),
                    tally: self.frontier.run().clone(),
                    round: self.frontier.round(now),
                });
            }
            Told::LookClosely(reply) => {
                let _ = reply.send((self.frontier.run().clone(), self.frontier.busiest_hosts(HOSTS_SHOWN)));
            }
        }
        Ok(())
    }

    /// What its visits share: with it, exchanges are made for other machines.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub fn frontier(&self) -> &Frontier<DiskTable> {
        &self.frontier
    }

    /// Runs until there is nothing left to do, a limit is met, or it is stopped. Must be called within a tokio runtime, and
    /// is best spawned on it, so that visits and this loop wake each other without crossing threads.
    pub async fn run(
        mut self,
        mut stop: watch::Receiver<Stop>,
        every: Duration,
        mut watch: impl FnMut(Event<'_>) + Send,
    ) -> Result<Summary> {
        let began = Instant::now();
        let mut visits: JoinSet<Back> = JoinSet::new();
        let (to_disk, mut from_disk) =
            committer(self.context.store.clone(), if self.ties.is_some() { PART_COMMIT_EVERY } else { COMMIT_EVERY });
        let mut uncommitted = 0;
        let (mut seeds_fetched, mut seeds_failed) = (0, 0);
        let mut progress = tokio::time::interval(every.max(Duration::from_millis(50)));
        let mut synced = Instant::now();
        let mut end = None;
        loop {
            let stopping = *stop.borrow();
            let mut wake = None;
            let mut is_done = false;
            let has_room = self.ties.as_ref().is_none_or(|ties| ties.team.has_room());
            while stopping == Stop::No
                && end.is_none()
                && visits.len() < self.requests
                && uncommitted < UNCOMMITTED_MAX
                && has_room
            {
                match self.frontier.poll(Timestamp::now())? {
                    Next::Visit(visit) => self.begin(&mut visits, *visit),
                    Next::Settled(settled) => {
                        seeds_failed += u64::from(settled.seed);
                        let message = "the host could not be reached";
                        watch(Event::Failed { url: &settled.url, code: &settled.reason, message, again: false });
                    }
                    Next::Wait(until) => {
                        wake = Some(until);
                        break;
                    }
                    Next::Busy => break,
                    // For now: others may have something for us.
                    Next::Done(_) if self.ties.is_some() => {
                        is_done = true;
                        break;
                    }
                    Next::Done(why) => end = Some(why),
                }
            }
            self.context.waiting.store(self.frontier.progress().waiting, Relaxed);
            seeds_failed += self.tell_skips(&mut watch);
            self.share()?;
            let idle = visits.is_empty() && uncommitted == 0;
            if idle && (end.is_some() || stopping != Stop::No) || stopping == Stop::Now || self.is_closed {
                break;
            }
            tokio::select! {
                biased;
                Some((result, batch)) = from_disk.recv() => {
                    result?;
                    uncommitted -= batch.len();
                    for back in batch {
                        let Back::Url(finished) = back else { continue };
                        let (fetched, failed) = self.finish(&finished, &mut watch)?;
                        seeds_fetched += fetched;
                        // After each: a page with a million links would fill the queue, and what follows be told to nobody.
                        seeds_failed += failed + self.tell_skips(&mut watch);
                    }
                    self.share()?;
                    self.frontier.flush()?;
                }
                Some(joined) = visits.join_next(), if !visits.is_empty() => {
                    let mut batch = Vec::from_iter(self.came_back(joined)?);
                    // Whatever else has come in the meantime belongs to the same batch.
                    while let Some(joined) = visits.try_join_next() {
                        batch.extend(self.came_back(joined)?);
                    }
                    // At once to the operating system: what a kill finds there is not fetched again.
                    if batch.iter().any(Back::is_appended) {
                        self.context.store.flush()?;
                    }
                    if !batch.is_empty() {
                        uncommitted += batch.len();
                        // The thread ends only after this side has.
                        let _ = to_disk.send((batch, visits.is_empty()));
                    }
                }
                () = sleep_until(wake), if wake.is_some() => {}
                _ = progress.tick() => {
                    let (progress, run, total) = (self.frontier.progress(), self.frontier.run(), self.frontier.total());
                    watch(Event::Progress { progress, run, total });
                    if synced.elapsed() >= SYNC_EVERY {
                        self.frontier.sync()?;
                        synced = Instant::now();
                    }
                }
                // Whoever could stop us may be gone; then nobody will.
                Ok(()) = stop.changed() => {}
                Some(told) = Ties::next(&mut self.ties) => self.be_told(told, idle && is_done)?,
            }
        }
        visits.abort_all();
        self.frontier.sync()?;
        Ok(self.summary(end, seeds_fetched, seeds_failed, began.elapsed()))
    }

    /// Tells what was skipped since last time. Gives how many of them were seeds.
    fn tell_skips(&mut self, watch: &mut impl FnMut(Event<'_>)) -> u64 {
        let skips = self.frontier.take_skips();
        for skipped in &skips {
            watch(Event::Skipped { url: &skipped.url, reason: &skipped.reason });
        }
        skips.iter().map(|skipped| u64::from(skipped.seed)).sum()
    }

    fn summary(&self, end: Option<End>, seeds_fetched: u64, seeds_failed: u64, took: Duration) -> Summary {
        Summary {
            name: self.name.clone(),
            round: self.frontier.round(Timestamp::now()),
            end,
            tally: self.frontier.run().clone(),
            progress: self.frontier.progress(),
            seeds_fetched,
            seeds_failed,
            took,
            hosts: self.frontier.busiest_hosts(HOSTS_SHOWN),
        }
    }

    fn begin(&mut self, visits: &mut JoinSet<Back>, visit: Visit) {
        self.activity += 1;
        let context = Arc::clone(&self.context);
        visits.spawn(async move {
            match visit.errand {
                Errand::Url => Back::Url(Box::new(context.visit(visit).await)),
                Errand::Robots => Back::Robots(Box::new(context.robots(visit).await)),
            }
        });
    }

    /// A visit is over: its host may be asked again. What it brought must still reach the disk, and comes back to be sent
    /// there.
    fn came_back(&mut self, joined: std::result::Result<Back, tokio::task::JoinError>) -> Result<Option<Back>> {
        let now = Timestamp::now();
        // A visit that panicked is our mistake, and nobody can say what it left undone.
        let mut back = joined.map_err(|e| Error::Asked(format!("a visit broke off, which is our mistake: {e}")))?;
        let (id, answer, broken) = match &mut back {
            Back::Url(finished) => (finished.id, finished.answer.take(), finished.broken.take()),
            Back::Robots(finished) => (finished.id, finished.answer.take(), finished.broken.take()),
        };
        if let Some(error) = broken {
            return Err(error.into());
        }
        if let Some(answer) = answer {
            self.frontier.handle_answer(now, id, &answer);
        }
        if let Back::Robots(finished) = &mut back {
            // Rules are needed at once; that their capture is on the disk is not.
            let nothing = RobotsAnswer::Unavailable { code: "robots", unreachable: false, temporary: false };
            let robots = std::mem::replace(&mut finished.robots, nothing);
            self.frontier.handle_robots(now, id, robots)?;
            self.frontier.handle_sitemaps(now, &finished.sitemaps)?;
            self.share()?;
            if !finished.appended {
                return Ok(None);
            }
        }
        Ok(Some(back))
    }

    /// A visit is safe: the frontier hears of it, and whoever watches. Seeds that were fetched, and that were not.
    fn finish(&mut self, finished: &Finished, watch: &mut impl FnMut(Event<'_>)) -> Result<(u64, u64)> {
        self.context.finished.fetch_add(1, Relaxed);
        self.frontier.handle_finished(Timestamp::now(), finished.id, &finished.outcome, &finished.links)?;
        self.frontier.handle_left_out(&finished.url, "not_web", finished.not_web);
        self.frontier.handle_left_out(&finished.url, "links_dropped", finished.dropped);
        let seed = u64::from(finished.seed);
        let url = &finished.url;
        match &finished.outcome {
            Outcome::Response { status, media, bytes, version, truncated, .. } => {
                let (status, bytes, version) = (*status, *bytes, *version);
                let took = finished.took;
                watch(Event::Fetched { url, status, media, bytes, version, truncated: *truncated, took });
                Ok(if version == Version::Busy { (0, 0) } else { (seed, 0) })
            }
            Outcome::Failure { code, temporary } => {
                watch(Event::Failed { url, code, message: &finished.message, again: *temporary });
                Ok((0, seed))
            }
        }
    }
}

async fn sleep_until(wake: Option<Timestamp>) {
    let ms = wake.map_or(0, |at| at.millis() - Timestamp::now().millis());
    tokio::time::sleep(Duration::from_millis(u64::try_from(ms).unwrap_or(0))).await;
}

/// Visits that came back together, and whether nothing else is in flight.
type ToDisk = std::sync::mpsc::Sender<(Vec<Back>, bool)>;
type FromDisk = mpsc::UnboundedReceiver<(herodotus_store::Result<()>, Vec<Back>)>;

/// A thread that commits: a sync may take long, and must hold up neither visits nor the frontier. What comes
/// within a few milliseconds is synced together; the channels hold at most [`UNCOMMITTED_MAX`] visits.
fn committer(store: Store, every: Duration) -> (ToDisk, FromDisk) {
    let (to_disk, batches) = std::sync::mpsc::channel::<(Vec<Back>, bool)>();
    let (done, from_disk) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut unsynced: Vec<Back> = Vec::new();
        let mut synced = Instant::now();
        let mut is_last = false;
        loop {
            let wait = if unsynced.is_empty() { Duration::from_secs(3_600) } else { every };
            match batches.recv_timeout(wait) {
                Ok((batch, last)) => {
                    is_last = last;
                    unsynced.extend(batch);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let is_due = is_last || unsynced.len() >= COMMIT_VISITS || synced.elapsed() >= every;
            let appended = unsynced.iter().any(Back::is_appended);
            if unsynced.is_empty() || appended && !is_due {
                continue;
            }
            let result = if appended { store.commit() } else { Ok(()) };
            synced = Instant::now();
            if done.send((result, std::mem::take(&mut unsynced))).is_err() {
                return;
            }
        }
    });
    (to_disk, from_disk)
}
