//! Brings links to the machines that they belong to: on our disk until they are on theirs (decision 0015).
//!
//! The outbox, what travels and the rule of straight or walking are `herodotus_links`; this gives it a disk, the ring and a clock. [`run`] sends,
//! [`take`] receives. Promised: what [`Courier::send`] took is sent until somebody acknowledged it, and [`Courier::arrived`] says up to where all
//! of it was. Lost with this machine for good: what others gave it to pass on.

mod run;
mod take;

pub(super) use run::run;
pub(super) use take::take;

use super::{Result, TogetherError, lock};
use crate::copies::{Copies, Ground};
use crate::crawl::DiskTable;
use herodotus_base::Id;
use herodotus_frontier::Prospect;
use herodotus_ledger::CrawlId;
use herodotus_links::{Config, Error, Outbox, Prospect as Link, on_the_wire};
use herodotus_store::key_of;
use herodotus_web::LinksView;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::Notify;

/// Of the links that may wait, so many in a hundred stop the crawls here until some are gone; those that are being read still have room.
const ROOM_PERCENT: u64 = 75;

#[derive(Debug)]
pub(super) struct Courier {
    copies: Copies,
    outbox: Mutex<Outbox<DiskTable>>,
    /// What was ours when links were last sent.
    ground: Mutex<Ground>,
    /// So many links wait that no more should be found.
    laden_from: u64,
    is_laden: AtomicBool,
    wake: Notify,
    counters: Counters,
}

/// What link exchange has cost and brought, beside what the outbox counts itself. Batches that stay within this machine are left out.
#[derive(Debug, Default)]
struct Counters {
    batches: AtomicU64,
    /// That others have acknowledged.
    sent: AtomicU64,
    /// That came from others and were ours.
    taken: AtomicU64,
    /// Batches alone.
    bytes_packed: AtomicU64,
    /// The same with what calls and answers add.
    bytes_called: AtomicU64,
    /// The same with heads, packets and acknowledgements.
    bytes_wire: AtomicU64,
}

impl Counters {
    fn called(&self, batch: usize, call: usize, answer: usize) {
        let add = |counter: &AtomicU64, more: usize| _ = counter.fetch_add(more as u64, Relaxed);
        add(&self.batches, 1);
        add(&self.bytes_packed, batch);
        add(&self.bytes_called, call + answer);
        add(&self.bytes_wire, on_the_wire(call, answer));
    }
}

impl Courier {
    pub(super) fn open(dir: &Path, copies: &Copies) -> Result<Self> {
        let disk = |error: std::io::Error| TogetherError::Asked(format!("opening {}: {error}", dir.display()));
        std::fs::create_dir_all(dir).map_err(disk)?;
        let config = Config::default();
        let laden_from = config.pending_max / 100 * ROOM_PERCENT;
        let outbox = Outbox::open(DiskTable::open(dir).map_err(disk)?, config)?;
        Ok(Self {
            copies: copies.clone(),
            outbox: Mutex::new(outbox),
            ground: Mutex::default(),
            laden_from,
            is_laden: AtomicBool::new(false),
            wake: Notify::new(),
            counters: Counters::default(),
        })
    }

    /// Takes links to be brought; they are on the disk when it returns. A number that [`Courier::arrived`] reaches when they have all arrived.
    pub(super) fn send(&self, crawl: CrawlId, prospects: &[Prospect], now: Duration) -> Result<u64> {
        let links: Vec<(Id, Link)> = prospects.iter().map(|prospect| self.addressed(prospect)).collect();
        let ground = self.copies.ground();
        let has_moved = std::mem::replace(&mut *lock(&self.ground), ground.clone()) != ground;
        let mut outbox = lock(&self.outbox);
        if has_moved {
            // What we once sent and then took over may now have to go again.
            outbox.forget_lately();
        }
        for (place, link) in links {
            match outbox.add(now, crawl.0, place, link) {
                // Longer than anybody would take.
                Ok(_) | Err(Error::Url(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let sent = outbox.flush()?;
        self.weigh(&outbox);
        drop(outbox);
        self.wake.notify_one();
        Ok(sent)
    }

    fn addressed(&self, prospect: &Prospect) -> (Id, Link) {
        (self.copies.place_of(&key_of(prospect.url.as_str())), Link::from(prospect))
    }

    /// Everything that was taken up to this has arrived.
    pub(super) fn arrived(&self) -> u64 {
        lock(&self.outbox).arrived()
    }

    /// Links of a crawl that have not arrived.
    pub(super) fn unsent(&self, crawl: CrawlId) -> u64 {
        lock(&self.outbox).pending_of(&crawl.0)
    }

    /// Whether more links may be found.
    pub(super) fn has_room(&self) -> bool {
        !self.is_laden.load(Relaxed)
    }

    fn weigh(&self, outbox: &Outbox<DiskTable>) {
        self.is_laden.store(outbox.pending() >= self.laden_from, Relaxed);
    }

    /// A crawl has changed: what was sent and not wanted may be wanted now.
    pub(super) fn forget_lately(&self) {
        lock(&self.outbox).forget_lately();
    }

    pub(super) fn view(&self) -> LinksView {
        let outbox = lock(&self.outbox);
        let (counts, waiting) = (outbox.counts(), outbox.pending());
        drop(outbox);
        let counters = &self.counters;
        LinksView {
            waiting,
            found: counts.added,
            known: counts.known,
            sent: counters.sent.load(Relaxed),
            taken: counters.taken.load(Relaxed),
            passed_on: counts.forwarded,
            batches: counters.batches.load(Relaxed),
            batches_failed: counts.failed,
            batches_refused: counts.refused,
            walks: counts.walks,
            lookups: counts.lookups,
            bytes_packed: counters.bytes_packed.load(Relaxed),
            bytes_called: counters.bytes_called.load(Relaxed),
            bytes_wire: counters.bytes_wire.load(Relaxed),
        }
    }
}
