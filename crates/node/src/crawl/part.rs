//! One machine's part of a crawl that a ring makes together: what the engine tells the others, and what it is told.

use super::Result;
use herodotus_frontier::{Progress, Prospect, Settings, Tally, UrlRecord};
use herodotus_page::WebUrl;
use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// The machines that make the rest of the crawl, as the engine sees them.
pub(crate) trait Team: Send + Sync + Debug {
    /// Links for others, and what is known anew of our own URLs. The links are on the disk when it returns: what they were found on counts as visited then.
    fn share(&self, prospects: Vec<Prospect>, news: Vec<UrlRecord>) -> Result<()>;

    /// Whether more links for others may be found. If not, nothing new is begun until some have gone.
    fn has_room(&self) -> bool;

    /// Waits until this machine may ask the URL's host, where several machines ask it.
    fn turn(&self, url: &WebUrl, delay: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
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
    /// Scope, rank and the like were changed.
    Change(Box<Settings>),
    Look(oneshot::Sender<PartView>),
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
