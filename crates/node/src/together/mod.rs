//! The ring crawls together: every machine makes the part of each crawl that is placed with it (decision 0014).
//!
//! An [`Order`] is what a crawl is. It is a replicated record, and is told from machine to machine ([`gossip`]) until all know it. Each runs its part
//! ([`part`]) over a frontier of its own; links that lead elsewhere go by the [`courier`]; what is known of a URL is a replicated record, so that
//! the next machine can go on. Who asks a host when is a matter of leases ([`lease`]), who fetches one of the crawl's strategy ([`elsewhere`], [`near`]). Whoever owns the order's place counts everybody's parts and says when it is over ([`watch`], by the rules of `herodotus_links::end`).
//!
//! Nothing here is the only one of its kind: an order is taken from any machine, and whoever dies is followed by the next on the circle.

mod courier;
mod desk;
mod elsewhere;
mod gossip;
mod held;
mod lease;
mod near;
mod order;
mod pace;
mod pages;
mod part;
mod robots;
mod watch;
mod wire;
mod words;

pub use order::{Order, State, Totals};
pub use pages::RingCrawls;
pub use watch::{CrawlStatus, MachineStatus};
pub(crate) use wire::CRAWLS;

use crate::copies::{Copies, CopiesError, Ground};
use crate::crawl;
use bytes::Bytes;
use courier::Courier;
use herodotus_ledger::CrawlId;
use herodotus_links::end::Adoption;
use herodotus_net::Address;
use herodotus_ring::Contact;
use herodotus_store::Store;
use part::Part;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch as tokio_watch};
use wire::{Ask, CRAWLS_MAX, Reply};

/// How the reason of an order begins that somebody changed.
const CHANGED: &str = "changed: ";
/// A machine answers within this, or is silent.
const CALL_WAIT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum TogetherError {
    #[error(transparent)]
    Copies(#[from] CopiesError),
    #[error(transparent)]
    Crawl(#[from] crawl::Error),
    #[error(transparent)]
    Call(#[from] herodotus_net::CallError),
    #[error(transparent)]
    Ledger(#[from] herodotus_ledger::Error),
    #[error(transparent)]
    Links(#[from] herodotus_links::Error),
    #[error("{0}")]
    Odd(&'static str),
    /// What a person asked for makes no sense; the text says what to do.
    #[error("{0}")]
    Asked(String),
}

pub type Result<T> = std::result::Result<T, TogetherError>;

/// The crawls of a ring, as one machine takes part in them. Clones are the same.
#[derive(Clone, Debug)]
pub struct Together {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    copies: Copies,
    store: Store,
    dir: PathBuf,
    /// What this machine adds to every crawl: networks it may ask, where hosts are dialled.
    base: crawl::Definition,
    orders: Mutex<BTreeMap<CrawlId, Order>>,
    parts: Mutex<BTreeMap<CrawlId, Part>>,
    /// Which parts have taken over all that is known of what is ours.
    adoption: Mutex<Adoption<Ground>>,
    courier: Courier,
    giver: lease::Giver,
    nearness: near::Nearness,
    /// Machines that did not make an exchange they had taken on, or could not be reached.
    shunned: elsewhere::Shunned,
    robots_book: Arc<crawl::RobotsBook>,
    flights: Arc<crawl::Flights>,
    start: Instant,
    /// An order is new here, or our part of the circle has changed.
    wake: Notify,
    statuses: tokio_watch::Sender<BTreeMap<CrawlId, CrawlStatus>>,
    runtime: tokio::runtime::Handle,
}

impl Together {
    /// Begins to take part. Must be called within the runtime that runs the crawls.
    pub fn start(copies: Copies, store: Store, base: crawl::Definition) -> Result<Self> {
        let dir = crate::ring::ring_dir(copies.ring().data()).join("crawls");
        let courier = Courier::open(&dir.join("links"), &copies)?;
        let mut orders = BTreeMap::new();
        for record in copies.ledger().crawls() {
            orders.extend(Order::of_record(&record?).map(|order| (order.id(), order)));
        }
        let inner = Arc::new(Inner {
            copies,
            store,
            dir,
            base,
            orders: Mutex::new(orders),
            parts: Mutex::default(),
            adoption: Mutex::new(Adoption::default()),
            courier,
            giver: lease::Giver::default(),
            nearness: near::Nearness::default(),
            shunned: elsewhere::Shunned::default(),
            robots_book: Arc::default(),
            flights: Arc::default(),
            start: Instant::now(),
            wake: Notify::new(),
            statuses: tokio_watch::Sender::default(),
            runtime: tokio::runtime::Handle::current(),
        });
        inner.copies.ring().set_crawler(Arc::new(desk::Desk::new(&inner)));
        tokio::spawn(part::supervise(inner.clone()));
        tokio::spawn(gossip::run(inner.clone()));
        tokio::spawn(courier::run(inner.clone()));
        tokio::spawn(watch::run(inner.clone()));
        Ok(Self { inner })
    }

    /// Begins a crawl, or begins one again that is over. Any machine will do.
    pub async fn begin(&self, name: &str, definition: crawl::Definition) -> Result<Order> {
        if definition.seed_urls()?.is_empty() {
            return Err(TogetherError::Asked("there is nothing to crawl: name at least one seed".to_owned()));
        }
        definition.crawl.check().map_err(crawl::Error::from)?;
        let known = self.order(name);
        let order = match known {
            Some(known) if known.state == State::Running => {
                let text = format!("the crawl {name} is running already: `herodotus ring crawls` shows how it stands");
                return Err(TogetherError::Asked(text));
            }
            Some(known) if known.state == State::Paused => Order { state: State::Running, definition, ..known },
            Some(known) => Order {
                state: State::Running,
                run: known.run + 1,
                began_ms: herodotus_base::Timestamp::now().millis(),
                definition,
                reason: String::new(),
                ..known
            },
            None => Order { version: 0, ..Order::new(name.to_owned(), definition) },
        };
        self.inner.change(order).await
    }

    /// Changes what is to become of a crawl.
    pub async fn set_state(&self, name: &str, state: State) -> Result<Order> {
        let known = self.order(name).ok_or_else(|| missing(name))?;
        let is_over = matches!(known.state, State::Stopped | State::Complete);
        if is_over {
            let text = format!("the crawl {name} is over ({}): begin it again to go on", known.state.word());
            return Err(TogetherError::Asked(text));
        }
        self.inner.change(Order { state, reason: "somebody asked for it".to_owned(), ..known }).await
    }

    /// Changes scope, rank, limits and the like of a crawl, running or not. What was changed is said as the order's reason, and given in words.
    pub async fn redefine(&self, name: &str, definition: crawl::Definition) -> Result<(Order, Vec<String>)> {
        let known = self.order(name).ok_or_else(|| missing(name))?;
        definition.crawl.check().map_err(crawl::Error::from)?;
        let changes = words::changes(&known.definition, &definition);
        if known.definition == definition {
            return Ok((known, changes));
        }
        let reason = format!("{CHANGED}{}", changes.join("; "));
        let order = self.inner.change(Order { definition, reason, ..known }).await?;
        Ok((order, changes))
    }

    pub fn order(&self, name: &str) -> Option<Order> {
        self.inner.orders().get(&Order::id_of(name)).cloned()
    }

    pub fn orders(&self) -> Vec<Order> {
        self.inner.orders().values().cloned().collect()
    }

    /// How a crawl stands in the whole ring, asked for now.
    pub async fn status(&self, name: &str) -> Result<CrawlStatus> {
        let order = self.order(name).ok_or_else(|| missing(name))?;
        Ok(watch::look(&self.inner, &order).await)
    }

    /// How the running ones stood when they were looked at last; changes tell.
    pub fn statuses(&self) -> tokio_watch::Receiver<BTreeMap<CrawlId, CrawlStatus>> {
        self.inner.statuses.subscribe()
    }

    /// What bringing links to their owners has cost this machine and brought it, since it was started.
    pub fn links(&self) -> herodotus_web::LinksView {
        self.inner.courier.view()
    }

    /// Lets every part come to a stop where it is. It goes on when the node is started again.
    pub async fn stop(&self, patience: Duration) {
        part::stop_all(&self.inner, patience).await;
    }
}

fn missing(name: &str) -> TogetherError {
    TogetherError::Asked(format!("the ring knows no crawl named {name}: `herodotus ring crawls` lists them"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    fn orders(&self) -> MutexGuard<'_, BTreeMap<CrawlId, Order>> {
        lock(&self.orders)
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<CrawlId, Part>> {
        lock(&self.parts)
    }

    /// Our part of a crawl, if it runs here.
    fn context(&self, crawl: CrawlId) -> Option<Arc<crawl::Context>> {
        self.parts().get(&crawl).map(Part::context)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// A person makes a new version of an order: it is kept as a record, and told to others.
    async fn change(self: &Arc<Self>, order: Order) -> Result<Order> {
        self.publish(order.said()).await
    }

    /// The same by ourselves, of the order as it was known.
    async fn go_on_from(self: &Arc<Self>, order: Order) -> Result<Order> {
        self.publish(order.noted()).await
    }

    async fn publish(self: &Arc<Self>, order: Order) -> Result<Order> {
        self.copies.write_records(vec![order.record()?]).await?;
        self.learn(order.clone());
        Ok(order)
    }

    /// Takes an order over if it is later than what is known.
    fn learn(&self, order: Order) {
        let mut orders = self.orders();
        let is_later = match orders.get(&order.id()) {
            Some(known) => {
                let later = (order.record().ok(), known.record().ok());
                matches!(later, (Some(new), Some(old)) if new.is_later_than(&old))
            }
            None => orders.len() < CRAWLS_MAX,
        };
        if is_later {
            orders.insert(order.id(), order);
            drop(orders);
            self.courier.forget_lately();
            self.wake.notify_waiters();
        }
    }

    async fn ask(&self, to: &Contact, ask: &Ask) -> Result<Reply> {
        self.ask_counting(to, ask, CALL_WAIT).await.0
    }

    /// The same, with the bytes of question and answer as they were handed to the transport.
    async fn ask_counting(&self, to: &Contact, ask: &Ask, within: Duration) -> (Result<Reply>, (usize, usize)) {
        let Ok(payload) = postcard::to_stdvec(ask) else {
            return (Err(TogetherError::Odd("a question too odd to write")), (0, 0));
        };
        let (asked, address) = (payload.len(), Address::new(to.key, to.addresses.clone()));
        match self.copies.ring().endpoint().call(&address, CRAWLS, Bytes::from(payload), within).await {
            Ok(answer) => {
                let reply = postcard::from_bytes(&answer);
                (reply.map_err(|_| TogetherError::Odd("an answer that cannot be read")), (asked, answer.len()))
            }
            Err(error) => (Err(error.into()), (asked, 0)),
        }
    }
}
