//! Copies on real machines: `herodotus_replica`'s custodian driven by the clock and the ring, over the store and the peers' connections.
//!
//! [`Copies`] is the handle. One task lets the custodian know what the ring and the clock say, and gives each of its orders to a task of its own
//! ([`orders`]); [`desk`] answers peers, [`bulk`] where it is large; [`exchange`] brings captures over, [`shipping`] many at once, [`on_way`] none twice; [`follow`] hands on what this machine takes in, [`aside`] what was refused; [`elsewhere`] lets pages read what others
//! hold, from all of them where an owner is silent ([`voices`]); [`split`] spreads hosts that have grown over more places. What is promised is the custodian's and the store's to keep: here is only carrying out.

mod aside;
mod bulk;
mod courtesy;
mod desk;
mod elsewhere;
mod exchange;
mod far_blob;
mod follow;
mod health;
mod holdings;
mod on_way;
mod orders;
mod reach;
mod shipping;
mod split;
mod taken;
mod voices;
mod wire;

use crate::ring::{Neighbourhood, RingNode};
use aside::Aside;
use courtesy::Courtesy;
use desk::Desk;
pub(crate) use follow::Followed;
use herodotus_base::{Id, PeerKey, Timestamp};
use herodotus_catalogue::Catalogue;
use herodotus_ledger::{Ledger, Record};
use herodotus_net::CallError;
use herodotus_replica::custody::{Config, Custodian, Uptimes};
use herodotus_ring::Contact;
use herodotus_ring::placement::{Placement, place_of_key};
use herodotus_store::{Capture, Entry, EntryKey, Kind, Store, key_of};
use herodotus_web::archive::{Elsewhere as _, Everything};
use herodotus_web::peers::HealthView;
use holdings::{Shelf, ShelfError};
use reach::{Reach, Told};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
pub(crate) use taken::LEASE_LASTS;
use taken::Taken;
use tokio::sync::{Notify, Semaphore, broadcast, mpsc, watch};

/// How long a node that leaves in good order may take to hand over what it holds.
pub const HAND_OVER_MAX: Duration = Duration::from_secs(60);

/// Batches of records that may wait for whoever listens; more are looked up in the ledger.
const RECORD_NEWS_MAX: usize = 1024;

/// One key may stand for several spellings of a URL; further back than this nobody looks.
const SPELLINGS_MAX: usize = 16;
/// Damaged captures that were come upon and wait to be mended; of more, the scrub takes care.
const DAMAGED_MAX: usize = 256;
/// A machine that refuses what it is to keep is asked again after so many times the time in which new captures are handed on, at most: once a minute.
const REFUSED_WAIT: u32 = 12;
/// Handings on at once that are acknowledged but not over.
const RESTS_MAX: usize = 4;

/// What went wrong, and with whom.
#[derive(Debug, thiserror::Error)]
pub enum CopiesError {
    #[error(transparent)]
    Ring(#[from] crate::ring::RingError),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    Store(#[from] herodotus_store::Error),
    #[error(transparent)]
    Ledger(#[from] herodotus_ledger::Error),
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    #[error("{0}")]
    Compare(#[from] herodotus_replica::compare::Error<ShelfError>),
    #[error("a stream broke off: {0}")]
    Stream(#[from] std::io::Error),
    /// A peer said something that makes no sense here.
    #[error("{0}")]
    Odd(&'static str),
    #[error("nobody who holds it answered")]
    Nobody,
    /// What was being done holds no more; the next try knows.
    #[error("a host turned out to be split into more parts")]
    Split,
}

/// How copies are kept.
#[derive(Clone, Debug)]
pub struct CopiesSettings {
    pub custody: Config,
    /// Machines on which a write must be durable before it is acknowledged.
    pub durable_on: u16,
    /// A node sleeps no longer than that before it hands on what it took in.
    pub follow_every: Duration,
    /// All of one's own bytes are read through in this time.
    pub scrub_every: Duration,
    /// Bytes a second that mending may bring and fetch, each; none: as many as it can.
    pub mend_bytes_per_s: Option<u64>,
    /// Where people reach this node's pages, for those who are sent there.
    pub public: Option<String>,
    /// A part of a host with so many URLs is split in two; zero: never.
    pub split_at: u32,
}

impl CopiesSettings {
    /// Everything that takes its time takes so many times as long: less than one for tests, which cannot wait a quarter of an hour.
    #[must_use]
    pub fn at_pace(mut self, pace: f64) -> Self {
        let custody = &mut self.custody;
        for time in [
            &mut custody.grace,
            &mut custody.compare_every,
            &mut custody.audit_every,
            &mut custody.retry_after,
            &mut custody.survey_every,
            &mut custody.probation,
            &mut self.follow_every,
            &mut self.scrub_every,
        ] {
            *time = time.mul_f64(pace);
        }
        self
    }
}

impl Default for CopiesSettings {
    fn default() -> Self {
        Self {
            custody: Config::default(),
            durable_on: 2,
            follow_every: Duration::from_secs(5),
            scrub_every: Duration::from_secs(30 * 24 * 60 * 60),
            mend_bytes_per_s: None,
            public: None,
            split_at: 128,
        }
    }
}

/// What a machine answers for. Another one whenever something becomes or ceases to be its own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ground {
    pub(crate) arcs: Vec<(Id, Id)>,
    /// How often that has changed.
    moves: u64,
    splits: u64,
}

/// The copies that a machine keeps for its ring. Clones are the same.
#[derive(Clone, Debug)]
pub struct Copies {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    ring: RingNode,
    store: Store,
    ledger: Ledger,
    catalogue: Arc<Catalogue>,
    placement: Placement,
    settings: CopiesSettings,
    reach: Arc<Reach>,
    custodian: Mutex<Custodian>,
    /// What we took over lately from machines that fell silent.
    taken: Mutex<Taken>,
    /// Handings on that go on after they were acknowledged, because some machine is slow.
    rests: Arc<Semaphore>,
    /// Somebody waits for what was stored to be handed on.
    wanted: Notify,
    counters: health::Counters,
    courtesy: Courtesy,
    splits: split::Splits,
    shipping: shipping::Shipping,
    on_way: on_way::OnWay,
    /// Captures that could not be read, to be mended before the disk is read through.
    damaged: mpsc::Sender<EntryKey>,
    start: Instant,
    wake: Notify,
    /// Records were made here.
    written: Notify,
    /// Those that were made before this number are handed on.
    records_followed: watch::Sender<u64>,
    record_news: broadcast::Sender<Arc<Vec<Record>>>,
    /// We go for good: others must hold everything first.
    is_leaving: AtomicBool,
    /// How far what this machine took in has been handed on.
    followed: watch::Sender<follow::Stand>,
    /// What some machine refused to take.
    aside: Mutex<Aside>,
    /// There is more of it.
    set_aside: Notify,
    brought: follow::Brought,
    /// The whole ring's, as it was gathered last.
    health: watch::Sender<Option<Arc<HealthView>>>,
    runtime: tokio::runtime::Handle,
}

impl Copies {
    /// Begins to keep copies. The ring must have been started with a keeper.
    pub fn start(
        ring: RingNode,
        store: Store,
        catalogue: Arc<Catalogue>,
        mut settings: CopiesSettings,
    ) -> Result<Self, CopiesError> {
        let placement = ring.placement();
        store.set_placement(placement)?;
        let ledger = Ledger::open(&crate::ring::ring_dir(ring.data()).join("ledger"), placement)?;
        settings.custody.copies = usize::from(ring.admission().charter().terms().copies.max(1));
        let (damaged, found_damaged) = mpsc::channel(DAMAGED_MAX);
        let aside = Aside::new(follow::RETRY.min(settings.follow_every), settings.follow_every * REFUSED_WAIT);
        let inner = Arc::new(Inner {
            damaged,
            reach: Arc::new(Reach::new(ring.clone())),
            rests: Arc::new(Semaphore::new(RESTS_MAX)),
            wanted: Notify::new(),
            courtesy: Courtesy::new(settings.mend_bytes_per_s),
            taken: Mutex::default(),
            custodian: Mutex::new(Custodian::new(ring.endpoint().key(), settings.custody.clone())),
            ring,
            store,
            ledger,
            catalogue,
            placement,
            settings,
            counters: health::Counters::default(),
            splits: split::Splits::default(),
            shipping: shipping::Shipping::default(),
            on_way: on_way::OnWay::default(),
            start: Instant::now(),
            wake: Notify::new(),
            written: Notify::new(),
            records_followed: watch::Sender::default(),
            record_news: broadcast::Sender::new(RECORD_NEWS_MAX),
            is_leaving: AtomicBool::new(false),
            followed: watch::Sender::default(),
            aside: Mutex::new(aside),
            set_aside: Notify::new(),
            brought: follow::Brought::default(),
            health: watch::Sender::default(),
            runtime: tokio::runtime::Handle::current(),
        });
        inner.ring.set_keeper(Arc::new(Desk::new(&inner)));
        tokio::spawn(run(inner.clone()));
        tokio::spawn(follow::run(inner.clone()));
        tokio::spawn(aside::run(inner.clone()));
        tokio::spawn(follow::run_records(inner.clone()));
        tokio::spawn(orders::scrub(inner.clone()));
        tokio::spawn(orders::mend_found(inner.clone(), found_damaged));
        tokio::spawn(health::keep_looking(inner.clone()));
        tokio::spawn(split::run(inner.clone()));
        Ok(Self { inner })
    }

    /// Goes for good: sees to it that what this machine owns lies on enough others, then leaves the ring. A node that only stops leaves without
    /// that: it is expected back.
    pub async fn leave_for_good(&self) {
        self.inner.is_leaving.store(true, Relaxed);
        self.inner.ring.leave_within(HAND_OVER_MAX + Duration::from_secs(5)).await;
    }

    /// The records that this machine holds.
    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// Takes in records that were made on this machine, and hands them on in the background to those who are to hold them.
    pub async fn write_records(&self, records: Vec<Record>) -> Result<(), CopiesError> {
        self.inner
            .blocking(move |inner| {
                inner.ledger.write(&records)?;
                Ok(inner.ledger.sync()?)
            })
            .await?;
        self.inner.written.notify_one();
        Ok(())
    }

    /// The same without waiting for the disk, for what can be made again.
    pub(crate) fn note_records(&self, records: &[Record]) -> Result<(), CopiesError> {
        if !records.is_empty() {
            self.inner.ledger.write(records)?;
            self.inner.written.notify_one();
        }
        Ok(())
    }

    /// Waits until all records that were made here before lie on as many machines as a write needs.
    pub(crate) async fn records_handed_on(&self) -> Result<(), CopiesError> {
        follow::records_handed_on(&self.inner).await
    }

    /// Records that other machines bring, as they come.
    pub(crate) fn record_news(&self) -> broadcast::Receiver<Arc<Vec<Record>>> {
        self.inner.record_news.subscribe()
    }

    pub(crate) fn ring(&self) -> &RingNode {
        &self.inner.ring
    }

    pub(crate) fn machine(&self) -> PeerKey {
        self.inner.reach.machine()
    }

    /// Something is done for which mending should wait.
    pub(crate) fn comes_first(&self) {
        self.inner.courtesy.notice();
    }

    /// Every other machine of the ring, as far as they are found.
    pub(crate) async fn machines(&self) -> Result<Vec<Contact>, CopiesError> {
        self.inner.reach.machines().await
    }

    pub(crate) fn place_of(&self, key: &str) -> Id {
        self.inner.place_of(key)
    }

    /// Whether a URL is ours to look after: on an arc of ours, of which we know all that was known, and nobody else goes on with it.
    pub(crate) fn is_ours_to_do(&self, key: &str) -> bool {
        let place = self.inner.place_of(key);
        let is_here = {
            let custodian = self.inner.custodian();
            custodian.owns(place) && custodian.is_here(place)
        };
        is_here && self.inner.taken().waits_until(self.inner.now(), place).is_none()
    }

    /// Whether a place is on an arc of ours, known or not.
    pub(crate) fn owns(&self, place: Id) -> bool {
        self.inner.custodian().owns(place)
    }

    /// A capture of a URL since a time that moves from one place of its host to another, and may not be here yet.
    pub(crate) async fn on_its_way(&self, url: &str, since: Timestamp) -> Option<(Entry, Capture)> {
        let (key, url) = (key_of(url), url.to_owned());
        if split::places_to_read(&self.inner, &key, false).await.ok()?.len() < 2 {
            return None;
        }
        let copies = self.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let (from, to) = (format!("{key}\0"), format!("{key}\u{1}"));
            let page = copies.entries(from.as_bytes(), to.as_bytes(), true, SPELLINGS_MAX).ok()?;
            let is_it = |entry: &Entry| entry.url == url && entry.kind == Kind::Response && !entry.truncated;
            let entry = page.entries.into_iter().find(|entry| is_it(entry) && entry.id.time >= since)?;
            let capture = copies.capture(&entry.id).ok()??;
            Some((entry, capture))
        });
        looked.await.ok()?
    }

    /// The host of a key, if it is split over several places.
    pub(crate) fn host_if_split(&self, key: &str) -> Option<String> {
        let host = herodotus_ring::placement::bucket_of_key(self.inner.placement, key);
        let is_split = match self.inner.placement {
            Placement::ByHost => self.inner.store.parts(host).is_ok_and(|parts| parts > 1),
            // Every URL lies by itself.
            Placement::ByUrl => true,
        };
        is_split.then(|| herodotus_page::host_of_key(host).to_owned())
    }

    /// Whether the first place of a host is ours.
    pub(crate) fn owns_host(&self, bucket: &str) -> bool {
        self.inner.custodian().owns(herodotus_ring::placement::place_of_part(bucket, 0))
    }

    /// How long a host's leases are not ours to give yet: whoever gave them fell silent, and may go on.
    pub(crate) fn host_waits(&self, bucket: &str) -> Duration {
        let (now, place) = (self.inner.now(), herodotus_ring::placement::place_of_part(bucket, 0));
        self.inner.taken().waits_until(now, place).unwrap_or(now) - now
    }

    pub(crate) fn owns_record(&self, name: &herodotus_ledger::Name) -> bool {
        self.inner.ledger.place_of(name).is_ok_and(|place| self.inner.custodian().owns(place))
    }

    /// What is ours: our own arcs of which we know all that was known and with which nobody else goes on, and how hosts are split.
    pub(crate) fn ground(&self) -> Ground {
        let (levels, moves) = {
            let custodian = self.inner.custodian();
            (custodian.levels(), custodian.moves())
        };
        let (now, taken) = (self.inner.now(), self.inner.taken());
        let arcs = levels.into_iter().filter(|level| level.is_filled).map(|level| level.arc);
        let arcs = arcs.filter(|arc| !taken.waits_with(now, *arc)).collect();
        Ground { arcs, moves, splits: self.inner.splits.times_raised() }
    }

    /// Who owns a place, and the arc that this is true of.
    pub(crate) async fn owner_of(&self, place: Id) -> Result<(Contact, (Id, Id)), CopiesError> {
        let told = self.inner.holders(place).await?;
        Ok((told.owner, told.holders.arc))
    }

    /// What was remembered of a place's owner was wrong.
    pub(crate) fn forget_owner(&self, place: Id) {
        self.inner.reach.forget(place);
    }

    /// All that the ring holds, to be read through. Reading waits for other machines: only where a thread may.
    pub fn everything(&self) -> Everything {
        Everything::new(self.inner.store.clone(), self.inner.catalogue.clone(), Arc::new(self.clone()))
    }

    /// How far what was stored here has been handed on by now, but for what is set aside.
    pub(crate) fn followed(&self) -> Followed {
        self.inner.followed.borrow().reached
    }

    /// Captures of this machine that another refuses to keep; they wait for it.
    pub fn set_aside(&self) -> usize {
        self.inner.aside().len()
    }

    /// Whether a capture of this key was refused by a machine that is to have it, and waits for it. To be asked after [`Self::followed`].
    pub(crate) fn is_set_aside(&self, key: &str) -> bool {
        self.inner.aside().has_key(key)
    }

    /// Waits until everything that was stored here before is durable on as many machines as a write needs.
    pub async fn handed_on(&self) -> Result<(), CopiesError> {
        follow::handed_on(&self.inner).await
    }
}

impl Inner {
    fn custodian(&self) -> MutexGuard<'_, Custodian> {
        self.custodian.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn aside(&self) -> MutexGuard<'_, Aside> {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Where a key lies.
    fn place_of(&self, key: &str) -> Id {
        let parts = match self.placement {
            Placement::ByHost => self.shape_here(split::host_of(key)).parts,
            Placement::ByUrl => 1,
        };
        place_of_key(self.placement, key, parts)
    }

    /// Who holds a place: from ourselves where it is ours, or as its owner says.
    async fn holders(&self, place: Id) -> Result<Told, CopiesError> {
        let ours = self.custodian().holders_of(place);
        match ours.and_then(|holders| Some(Told { owner: holders.holders.first()?.contact.clone(), holders })) {
            Some(told) => Ok(told),
            None => self.reach.holders(place).await,
        }
    }

    /// A capture of ours could not be read: it is taken anew from others, soon.
    fn come_upon_damage(&self, id: &EntryKey) {
        let _ = self.damaged.try_send(id.clone());
    }

    fn shelf(&self) -> Shelf<'_> {
        Shelf { store: &self.store, ledger: &self.ledger }
    }

    /// Runs what reads the disk where it may block.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Inner) -> Result<T, CopiesError> + Send + 'static,
    ) -> Result<T, CopiesError> {
        let inner = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        done.unwrap_or(Err(CopiesError::Odd("a task of ours broke")))
    }
}

/// The one task that the custodian lives by.
async fn run(inner: Arc<Inner>) {
    let mut neighbourhood = inner.ring.neighbourhood();
    let (mut seen, mut applied) = (Seen::new(inner.settings.custody.grace), None);
    loop {
        let now_known = neighbourhood.borrow_and_update().clone();
        if applied.as_ref().is_none_or(|applied| !Arc::ptr_eq(applied, &now_known)) {
            seen.apply(&inner, &now_known);
            applied = Some(now_known);
        }
        seen.grow_older(&inner);
        let due = {
            let mut custodian = inner.custodian();
            while let Some(order) = custodian.poll_order() {
                let (inner, id) = (inner.clone(), order.id);
                tokio::spawn(async move {
                    let outcome = orders::carry_out(&inner, order).await;
                    inner.custodian().handle_outcome(inner.now(), id, outcome);
                    inner.wake.notify_one();
                });
            }
            custodian.poll_timeout()
        };
        // Now and then even if nothing is due: uptimes grow.
        let wait =
            due.map_or(Duration::from_secs(30), |due| due.saturating_sub(inner.now()).min(Duration::from_secs(30)));
        tokio::select! {
            changed = neighbourhood.changed() => if changed.is_err() { return },
            () = inner.wake.notified() => {}
            () = tokio::time::sleep(wait.max(Duration::from_millis(5))) => inner.custodian().handle_timeout(inner.now()),
        }
    }
}

/// What was told to the custodian already.
struct Seen {
    deaths_until: Option<Instant>,
    nodes: BTreeSet<Id>,
    leaving: BTreeSet<Id>,
    uptimes: Uptimes,
}

impl Seen {
    fn new(grace: Duration) -> Self {
        let (nodes, leaving) = (BTreeSet::new(), BTreeSet::new());
        Self { deaths_until: None, nodes, leaving, uptimes: Uptimes::new(grace) }
    }

    fn grow_older(&self, inner: &Inner) {
        let mut custodian = inner.custodian();
        self.uptimes.all(inner.now()).for_each(|(machine, uptime)| custodian.seen_up(machine, uptime));
    }

    fn apply(&mut self, inner: &Arc<Inner>, neighbourhood: &Neighbourhood) {
        let now = inner.now();
        let mut custodian = inner.custodian();
        for (machine, at) in &neighbourhood.deaths {
            if self.deaths_until.is_none_or(|until| until < *at) {
                custodian.peer_dead(now, *machine);
                self.uptimes.lose(now, *machine);
                self.deaths_until = Some(*at);
            }
        }
        let nodes: BTreeSet<Id> = neighbourhood.nodes.iter().map(|seat| seat.contact.id).collect();
        for gone in self.nodes.difference(&nodes) {
            inner.taken().end_arc(*gone);
            custodian.end_arc(now, *gone);
        }
        self.nodes = nodes;
        for seat in &neighbourhood.nodes {
            // First: what is taken over must not be anybody's to crawl for a moment.
            inner.taken().set_arc(now, seat.contact.id, seat.arc);
            custodian.set_arc(now, &seat.contact, seat.arc);
            custodian.set_line(now, seat.contact.id, &seat.successors);
            for contact in &seat.successors {
                self.uptimes.see(now, contact.key);
            }
            if seat.is_leaving && self.leaving.insert(seat.contact.id) {
                if inner.is_leaving.load(Relaxed) {
                    custodian.leave(now, seat.contact.id);
                }
                tokio::spawn(hand_over(inner.clone(), seat.contact.id));
            }
        }
    }
}

/// Lets a node go as soon as others hold what it held, or when its time is over: what is missing then is made good by those who stay.
async fn hand_over(inner: Arc<Inner>, node: Id) {
    let begun = Instant::now();
    while inner.is_leaving.load(Relaxed) && begun.elapsed() < HAND_OVER_MAX && !inner.custodian().is_settled() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    inner.ring.handed_over(node).await;
}
