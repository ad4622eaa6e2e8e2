//! Crawls as pages show and start them, on a node of a ring: this machine's own, and those that the ring makes.

use super::wire::PartDetail;
use super::{CHANGED, CrawlStatus, Order, State, Together, lock, watch};
use crate::{Keeper, keeper};
use herodotus_base::Timestamp;
use herodotus_web::{CrawlAsk, CrawlMachine, CrawlState, CrawlView, Crawls, Refused};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What was asked of all machines is shown for so long, to however many look at it.
const SHOWN_FOR: Duration = Duration::from_secs(1);

/// What was asked for of each crawl, and when.
type Lately<T> = Arc<Mutex<HashMap<String, (Instant, T)>>>;

/// The crawls of a node in a ring. Clones are the same.
#[derive(Clone, Debug)]
pub struct RingCrawls {
    keeper: Keeper,
    together: Together,
    /// As they were when they were last asked for.
    lately: Lately<CrawlStatus>,
    closely: Lately<Arc<PartDetail>>,
}

impl RingCrawls {
    /// Must be called within the runtime that runs the crawls.
    pub fn new(keeper: Keeper, together: Together) -> Self {
        let (tell, ring) = (keeper.clone(), together.clone());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SHOWN_FOR).await;
                if ring.orders().iter().any(|order| order.state == State::Running) {
                    tell.tell_changed();
                }
            }
        });
        Self { keeper, together, lately: Arc::default(), closely: Arc::default() }
    }

    fn status(&self, order: &Order) -> Result<CrawlStatus, Refused> {
        let known = lock(&self.lately).get(&order.name).cloned();
        if let Some((at, status)) = known
            && at.elapsed() < SHOWN_FOR
            && status.state == order.state.word()
        {
            return Ok(status);
        }
        let asked = self.together.inner.runtime.block_on(self.together.status(&order.name));
        let status = asked.map_err(|error| Refused(error.to_string()))?;
        let mut lately = lock(&self.lately);
        // As many as there are crawls, which are bounded.
        lately.insert(order.name.clone(), (Instant::now(), status.clone()));
        Ok(status)
    }

    /// What all parts did, by site, status, kind and reason.
    fn look_closely(&self, order: &Order, view: &mut CrawlView) {
        if order.state != State::Running {
            return;
        }
        let inner = &self.together.inner;
        let known = lock(&self.closely).get(&order.name).cloned();
        let detail = match known {
            Some((at, detail)) if at.elapsed() < SHOWN_FOR => detail,
            _ => {
                let detail = Arc::new(inner.runtime.block_on(watch::look_closely(inner, order.id())));
                lock(&self.closely).insert(order.name.clone(), (Instant::now(), detail.clone()));
                detail
            }
        };
        view.statuses.clone_from(&detail.tally.statuses);
        view.media.clone_from(&detail.tally.media);
        view.failures = keeper::reasons(&detail.tally.failures);
        view.skipped = keeper::reasons(&detail.tally.skipped);
        view.busiest = keeper::hosts(&detail.hosts);
    }

    fn view(&self, order: &Order) -> Result<CrawlView, Refused> {
        let status = self.status(order)?;
        let seconds = (Timestamp::now().millis() - order.began_ms).max(0) as u64 / 1000;
        let is_running = order.state == State::Running;
        let machine = |machine: &super::MachineStatus| CrawlMachine {
            machine: machine.machine.clone(),
            is_ours: machine.is_ours,
            is_idle: machine.is_idle,
            fetched: machine.fetched,
            failed: machine.failed,
            waiting: machine.waiting,
            bytes: machine.bytes,
            pages_per_s: machine.fetched as f64 / seconds.max(1) as f64,
        };
        let crawl = &order.definition.crawl;
        let totals = status.totals;
        Ok(CrawlView {
            name: order.name.clone(),
            state: match order.state {
                State::Running => CrawlState::Running,
                State::Paused | State::Stopped => CrawlState::Stopped,
                State::Complete => CrawlState::Complete,
            },
            seeds: order.definition.seeds.clone(),
            scope: crawl.scope,
            depth: crawl.depth,
            limit: crawl.limit,
            round: totals.round,
            began: Some(Timestamp::from_millis_clamped(order.began_ms).rfc3339()),
            seconds: if is_running { seconds } else { 0 },
            urls: totals.urls,
            waiting: status.waiting,
            in_flight: status.in_flight,
            hosts: status.machines.iter().map(|machine| machine.hosts).sum(),
            fetched: totals.fetched,
            new: totals.new,
            changed: totals.changed,
            unchanged: totals.unchanged,
            failed: totals.failed,
            bytes: totals.bytes,
            statuses: BTreeMap::new(),
            media: BTreeMap::new(),
            failures: BTreeMap::new(),
            skipped: BTreeMap::new(),
            busiest: Vec::new(),
            machines: status.machines.iter().map(machine).collect(),
            events: Vec::new(),
            note: (is_running && order.reason.starts_with(CHANGED)).then(|| order.reason.clone()),
            trouble: (is_running && status.silent > 0)
                .then(|| format!("{} of the machines did not answer: their part is not counted.", status.silent)),
        })
    }
}

impl Crawls for RingCrawls {
    fn list(&self) -> Result<Vec<CrawlView>, Refused> {
        let mut all: Vec<CrawlView> =
            self.together.orders().iter().map(|order| self.view(order)).collect::<Result<_, _>>()?;
        let own = self.keeper.list()?;
        all.extend(own.into_iter().filter(|view| self.together.order(&view.name).is_none()));
        Ok(all)
    }

    fn get(&self, name: &str) -> Result<Option<CrawlView>, Refused> {
        match self.together.order(name) {
            Some(order) => {
                let mut view = self.view(&order)?;
                self.look_closely(&order, &mut view);
                Ok(Some(view))
            }
            None => self.keeper.get(name),
        }
    }

    fn start(&self, ask: CrawlAsk) -> Result<String, Refused> {
        if !ask.together && self.together.order(&ask.name).is_none() {
            return self.keeper.start(ask);
        }
        let (name, mut definition) = self.keeper.define(&ask)?;
        let known = self.together.order(&name);
        if let Some(known) = &known {
            // What a page does not ask for stays as it was.
            let asked = std::mem::replace(&mut definition, known.definition.clone());
            let more: Vec<String> = ask.seeds.iter().filter(|seed| !definition.seeds.contains(seed)).cloned().collect();
            definition.seeds.extend(more);
            if !ask.seeds.is_empty() {
                (definition.crawl.scope, definition.crawl.depth) = (asked.crawl.scope, asked.crawl.depth);
            }
            definition.crawl.limit = asked.crawl.limit;
        }
        let is_running = known.is_some_and(|known| known.state == State::Running);
        let done = self.together.inner.runtime.block_on(async {
            match is_running {
                true => self.together.redefine(&name, definition).await.map(|_| ()),
                false => self.together.begin(&name, definition).await.map(|_| ()),
            }
        });
        done.map(|()| name).map_err(|error| Refused(error.to_string()))
    }

    fn stop(&self, name: &str) -> Result<bool, Refused> {
        match self.together.order(name).filter(|order| order.state == State::Running) {
            Some(_) => {
                let stopped = self.together.inner.runtime.block_on(self.together.set_state(name, State::Paused));
                stopped.map(|_| true).map_err(|error| Refused(error.to_string()))
            }
            None => self.keeper.stop(name),
        }
    }

    fn links(&self) -> Option<herodotus_web::LinksView> {
        Some(self.together.links())
    }

    fn changed(&self) -> tokio::sync::watch::Receiver<u64> {
        self.keeper.changed()
    }
}
