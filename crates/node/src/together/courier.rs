//! Brings links to the machines that they belong to: on our disk until they are on theirs.

use super::wire::{Ask, Bytes, Reply};
use super::{Inner, Result, TogetherError, lock, part};
use crate::copies::Copies;
use crate::crawl::DiskTable;
use herodotus_base::Id;
use herodotus_frontier::{Prospect, Table};
use herodotus_ledger::CrawlId;
use herodotus_page::{LinkKind, WebUrl};
use herodotus_store::key_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// Links in one batch.
const BATCH_MAX: usize = 2000;
/// Links gather for so long, unless there are many.
const GATHER: Duration = Duration::from_millis(200);
/// Before what could not be brought is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// What a batch may unpack to.
const OPEN_BYTES_MAX: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct Courier {
    copies: Copies,
    outbox: Mutex<Outbox>,
    wake: Notify,
}

#[derive(Debug)]
struct Outbox {
    table: DiskTable,
    /// How many links of each sending are still here.
    open: BTreeMap<u64, usize>,
    next: u64,
}

/// A link on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Parcel {
    crawl: [u8; 16],
    url: String,
    kind: u8,
    depth: u16,
    hops: u8,
    redirects: u8,
    seed: bool,
    /// Machines that have passed it on.
    passed: u8,
}

/// Passed on more often than this, a link waits at whoever has it until the ring agrees whose it is.
const PASSED_MAX: u8 = 16;

impl Courier {
    pub(super) fn open(dir: &Path, copies: &Copies) -> Result<Self> {
        let disk = |error: std::io::Error| TogetherError::Asked(format!("opening {}: {error}", dir.display()));
        std::fs::create_dir_all(dir).map_err(disk)?;
        let table = DiskTable::open(dir).map_err(disk)?;
        let mut outbox = Outbox { table, open: BTreeMap::new(), next: 1 };
        let (mut from, end) = (Vec::new(), vec![0xff; 64]);
        loop {
            let some = outbox.table.scan(&from, &end, 4096).map_err(disk)?;
            let Some((last, _)) = some.last() else { break };
            from = [last.as_slice(), &[0]].concat();
            for (_, value) in &some {
                let sent = sent_of(value);
                *outbox.open.entry(sent).or_default() += 1;
                outbox.next = outbox.next.max(sent + 1);
            }
        }
        Ok(Self { copies: copies.clone(), outbox: Mutex::new(outbox), wake: Notify::new() })
    }

    /// Takes links to be brought; they are on the disk when it returns. A number that [`Courier::arrived`] reaches when they have all arrived.
    pub(super) fn send(&self, crawl: CrawlId, prospects: Vec<Prospect>, _now: Duration) -> Result<u64> {
        let parcels = prospects.into_iter().map(|prospect| Parcel {
            crawl: crawl.0,
            kind: code_of(prospect.kind),
            depth: prospect.depth,
            hops: prospect.hops,
            redirects: prospect.redirects,
            seed: prospect.seed,
            url: prospect.url.as_str().to_owned(),
            passed: 0,
        });
        self.put(parcels.collect())
    }

    fn put(&self, parcels: Vec<Parcel>) -> Result<u64> {
        let mut outbox = lock(&self.outbox);
        if parcels.is_empty() {
            return Ok(outbox.next - 1);
        }
        let sent = outbox.next;
        outbox.next += 1;
        let mut changes = Vec::with_capacity(parcels.len());
        for parcel in parcels {
            let place = self.copies.place_of(&key_of(&parcel.url));
            let key = [&place.0[..], &parcel.crawl, parcel.url.as_bytes()].concat();
            if outbox.table.get(&key).map_err(disk)?.is_none() {
                let body = postcard::to_stdvec(&parcel).map_err(|_| TogetherError::Odd("a link too odd to write"))?;
                changes.push((key, Some([&sent.to_be_bytes()[..], &body].concat())));
            }
        }
        changes.dedup_by(|one, other| one.0 == other.0);
        changes.sort_by(|one, other| one.0.cmp(&other.0));
        changes.dedup_by(|one, other| one.0 == other.0);
        if !changes.is_empty() {
            outbox.open.insert(sent, changes.len());
            outbox.table.write(changes).map_err(disk)?;
        }
        drop(outbox);
        self.wake.notify_one();
        Ok(sent)
    }

    /// Everything that was taken up to this has arrived.
    pub(super) fn arrived(&self) -> u64 {
        let outbox = lock(&self.outbox);
        outbox.open.keys().next().map_or(outbox.next - 1, |first| first - 1)
    }

    /// Links that have not arrived.
    pub(super) fn unsent(&self) -> u64 {
        lock(&self.outbox).open.values().map(|count| *count as u64).sum()
    }

    /// Some links behind a place, up to another, in order.
    fn some(&self, from: &[u8], to: Option<Id>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let end = to.map_or(vec![0xff; 64], |to| [&to.0[..], &[0xff; 32]].concat());
        lock(&self.outbox).table.scan(from, &end, BATCH_MAX).map_err(disk)
    }

    fn remove(&self, arrived: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let mut outbox = lock(&self.outbox);
        outbox.table.write(arrived.iter().map(|(key, _)| (key.clone(), None)).collect()).map_err(disk)?;
        for (_, value) in arrived {
            let sent = sent_of(value);
            if let Some(count) = outbox.open.get_mut(&sent) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    outbox.open.remove(&sent);
                }
            }
        }
        Ok(())
    }
}

fn disk(error: std::io::Error) -> TogetherError {
    TogetherError::Asked(format!("links on their way could not be kept: {error}"))
}

fn sent_of(value: &[u8]) -> u64 {
    value.first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Brings what there is, one owner after another, as long as there is any.
pub(super) async fn run(inner: Arc<Inner>) {
    if inner.copies.ring().joined().await.is_err() {
        return;
    }
    loop {
        let mut from = Vec::new();
        let mut has_failed = false;
        loop {
            let Ok(some) = inner.courier.some(&from, None) else { break };
            let Some((key, _)) = some.first() else { break };
            let Some(place) = key.first_chunk::<32>().map(|bytes| Id(*bytes)) else { break };
            match bring(&inner, key, place).await {
                Ok(next) => from = next,
                Err(_) => {
                    has_failed = true;
                    // The next place may have another owner.
                    from = [&place.0[..], &[0xff; 32]].concat();
                }
            }
        }
        if has_failed {
            tokio::time::sleep(RETRY).await;
        } else {
            inner.courier.wake.notified().await;
            tokio::time::sleep(GATHER).await;
        }
    }
}

/// Brings what lies with the owner of a place. Where to go on.
async fn bring(inner: &Arc<Inner>, first: &[u8], place: Id) -> Result<Vec<u8>> {
    let (owner, arc) = inner.copies.owner_of(place).await?;
    // An arc that goes round ends, for this time, where the circle does.
    let to = if arc.1 < place { Id([0xff; 32]) } else { arc.1 };
    let some = inner.courier.some(first, Some(to))?;
    let open: Vec<&[u8]> = some.iter().filter_map(|(_, value)| value.get(8..)).collect();
    let batch = pack(&open)?;
    if owner.key == inner.copies.machine() {
        // It has become ours.
        if !take(inner, &batch).await? {
            return Err(TogetherError::Odd("what is ours cannot be taken in yet"));
        }
    } else {
        match inner.ask(&owner, &Ask::Links { batch: Bytes(batch) }).await {
            Ok(Reply::Taken) => {}
            Ok(_) | Err(_) => {
                inner.copies.forget_owner(place);
                return Err(TogetherError::Odd("a machine could not take links"));
            }
        }
    }
    inner.courier.remove(&some)?;
    let last = some.last().map(|(key, _)| key.clone()).unwrap_or_else(|| first.to_vec());
    Ok([last.as_slice(), &[0]].concat())
}

fn pack(open: &[&[u8]]) -> Result<Vec<u8>> {
    let body = postcard::to_stdvec(open).map_err(|_| TogetherError::Odd("links too odd to write"))?;
    zstd::bulk::compress(&body, 3).map_err(|_| TogetherError::Odd("links that cannot be compressed"))
}

/// Takes a batch in: on our disk when it says so, in the frontier or, where it is another's, in the outbox. No: ask again later.
pub(super) async fn take(inner: &Arc<Inner>, batch: &[u8]) -> Result<bool> {
    let odd = || TogetherError::Odd("links that cannot be read");
    let body = zstd::bulk::decompress(batch, OPEN_BYTES_MAX).map_err(|_| odd())?;
    let open: Vec<Vec<u8>> = postcard::from_bytes(&body).map_err(|_| odd())?;
    let mut by_crawl: BTreeMap<[u8; 16], Vec<(Prospect, Parcel)>> = BTreeMap::new();
    for bytes in open.iter().take(BATCH_MAX) {
        let parcel: Parcel = postcard::from_bytes(bytes).map_err(|_| odd())?;
        let Ok(url) = WebUrl::parse(&parcel.url) else { continue };
        let prospect = Prospect {
            url,
            kind: kind_of(parcel.kind),
            depth: parcel.depth,
            hops: parcel.hops,
            redirects: parcel.redirects,
            seed: parcel.seed,
        };
        by_crawl.entry(parcel.crawl).or_default().push((prospect, parcel));
    }
    let mut strays = Vec::new();
    for (crawl, links) in by_crawl {
        let prospects = links.iter().map(|(prospect, _)| prospect.clone()).collect();
        // A crawl that is not known here yet will be; one that is over needs no links.
        let Some(back) = part::take_in(inner, CrawlId(crawl), prospects).await else {
            let is_over = inner.orders().get(&CrawlId(crawl)).is_some_and(|order| order.state != super::State::Running);
            if is_over {
                continue;
            }
            return Ok(false);
        };
        for (_, mut parcel) in links.into_iter().filter(|(prospect, _)| back.contains(prospect)) {
            parcel.passed = parcel.passed.saturating_add(1);
            if parcel.passed > PASSED_MAX {
                return Ok(false);
            }
            strays.push(parcel);
        }
    }
    inner.courier.put(strays)?;
    // What was taken in is to lie on as many machines as a write needs.
    inner.copies.records_handed_on().await?;
    Ok(true)
}

const KINDS: [LinkKind; 11] = [
    LinkKind::Page,
    LinkKind::Redirect,
    LinkKind::Frame,
    LinkKind::Style,
    LinkKind::Script,
    LinkKind::Image,
    LinkKind::Media,
    LinkKind::Font,
    LinkKind::Feed,
    LinkKind::Sitemap,
    LinkKind::Other,
];

fn code_of(kind: LinkKind) -> u8 {
    KINDS.iter().position(|known| *known == kind).unwrap_or(10) as u8
}

fn kind_of(code: u8) -> LinkKind {
    KINDS.get(usize::from(code)).copied().unwrap_or(LinkKind::Other)
}
