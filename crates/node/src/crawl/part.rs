//! One machine's part of a crawl that a ring makes together: what the engine tells the others, and what it is told.

use super::robots::{RobotsBook, RobotsTold};
use super::{Context, Flights, Result};
use herodotus_base::Timestamp;
use herodotus_fetch::{Ask, Exchange, Failure, Receiver};
use herodotus_frontier::{HostTally, Progress, Prospect, Settings, Tally, UrlRecord};
use herodotus_page::WebUrl;
use herodotus_ring::Contact;
use herodotus_store::{Capture, Entry};
use std::fmt;
use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// The machines that make the rest of the crawl, as the engine sees them.
pub(crate) trait Team: Send + Sync + Debug {
    /// Links for others, and what is known anew of our own URLs. The links are on the disk when it returns: what they were found on counts as visited then.
    fn share(&self, prospects: Vec<Prospect>, news: Vec<UrlRecord>) -> Result<()>;

    /// Waits until what was shared of our own URLs is on the disk.
    fn sync(&self) -> Result<()>;

    /// Where seeds redirect to, as far as this part knows: all parts must.
    fn lead(&self, leads: &[String]);

    /// Whether more links for others may be found. If not, nothing new is begun until some have gone.
    fn has_room(&self) -> bool;

    /// What another machine has fetched of a URL since a time, where the URL has just come from it to us and the capture is still on its way.
    fn lately<'a>(&'a self, url: &'a WebUrl, since: Timestamp) -> Boxed<'a, Option<(Entry, Capture)>>;

    /// Waits until the URL's host may be asked, by whichever machine.
    fn lease<'a>(&'a self, url: &'a WebUrl, delay: Duration, at_once: u32) -> Boxed<'a, Lease>;

    /// Machines that are to make the exchange in our place: the first that takes it on. Nobody: we.
    fn others<'a>(&'a self, context: &'a Context, url: &'a WebUrl) -> Boxed<'a, Vec<Contact>>;

    /// Lets another machine make an exchange.
    fn fetch_at<'a>(
        &'a self,
        other: &'a Contact,
        context: &'a Context,
        ask: &'a Ask,
        receiver: &'a mut dyn Receiver,
    ) -> Boxed<'a, Elsewhere>;

    /// What the machine that fetches a robots.txt for all knows of it. Nothing: it is ours to fetch.
    fn robots<'a>(&'a self, url: &'a WebUrl, delay: Duration) -> Boxed<'a, Option<RobotsTold>>;

    /// What we know for all.
    fn robots_book(&self) -> &RobotsBook;

    /// What all crawls of this machine are visiting.
    fn flights(&self) -> &Flights;
}

pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What became of an exchange that another machine was to make.
#[derive(Debug)]
pub(crate) enum Elsewhere {
    Made(std::result::Result<Box<Exchange>, Failure>),
    /// Nothing was asked.
    Declined,
    /// It broke off, and the host may have been asked. What the receiver was given does not count.
    Broken,
}

/// Leave to ask a host once. It goes back when it is dropped.
#[derive(Default)]
pub(crate) struct Lease {
    give_back: Option<Box<dyn FnOnce(Duration) + Send>>,
    pause: Duration,
}

impl Lease {
    pub(crate) fn new(give_back: impl FnOnce(Duration) + Send + 'static) -> Self {
        Self { give_back: Some(Box::new(give_back)), pause: Duration::ZERO }
    }

    /// The host asked us to stay away for so long.
    pub(crate) fn pause(&mut self, pause: Duration) {
        self.pause = pause;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take() {
            give_back(self.pause);
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("pause", &self.pause).finish_non_exhaustive()
    }
}

/// What a part is told.
#[derive(Debug)]
pub(crate) enum Told {
    /// Links that others found. Those that are not ours come back; the rest is on the disk then.
    Prospects(Vec<Prospect>, oneshot::Sender<Vec<Prospect>>),
    /// What others knew of URLs that are ours now.
    Adopt(Vec<UrlRecord>),
    /// Which URLs are ours has changed.
    Territory,
    /// All that others knew of what is ours has been told: seeds that nobody has taken in are ours to take in.
    Seeds,
    /// Scope, rank and the like were changed, seeds were added, or it was heard where they redirect to.
    Change {
        settings: Box<Settings>,
        seeds: Vec<WebUrl>,
        leads: Vec<WebUrl>,
    },
    /// The crawl is called complete: if nothing is left to do here the part ends, and takes nothing more in. Whether it does.
    Close(oneshot::Sender<bool>),
    Look(oneshot::Sender<PartView>),
    /// The same by host, status and reason.
    LookClosely(oneshot::Sender<(Tally, Vec<HostTally>)>),
}

/// How a part stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartView {
    /// Nothing is due, in flight, or on its way to the disk.
    pub(crate) is_idle: bool,
    /// Grows with everything that is begun or taken in: the same twice, and nothing has happened between.
    pub(crate) activity: u64,
    pub(crate) progress: Progress,
    pub(crate) tally: Tally,
    pub(crate) round: u32,
}

/// A part's ties to the others.
#[derive(Debug)]
pub(crate) struct Ties {
    pub(crate) team: std::sync::Arc<dyn Team>,
    pub(crate) told: mpsc::Receiver<Told>,
}

impl Ties {
    /// The next thing we are told; never, for a crawl of our own.
    pub(crate) async fn next(ties: &mut Option<Self>) -> Option<Told> {
        match ties {
            Some(ties) => ties.told.recv().await,
            None => std::future::pending().await,
        }
    }
}
