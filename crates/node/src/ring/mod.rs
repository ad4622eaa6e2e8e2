//! The ring on real machines: `herodotus_ring`'s machine driven by the clock, over `herodotus_net`'s connections.
//!
//! [`RingNode`] is the handle that commands and pages hold; [`driver`] is the one task that owns the machines. What a peer asks is
//! answered within that task, so no lock is held anywhere; what it may cost is bounded by the transport and by the length
//! of the task's queue, beyond which peers are told to come again.

mod driver;
mod files;
mod view;

pub use files::{machine_key, machine_secret, ring_dir};

pub(crate) use driver::Neighbourhood;
use driver::{Calls, Command, Driver, Found, Windows};
use files::{Remembered, read_peers, write_peers};
use herodotus_base::{Id, PeerKey, Timestamp};
use herodotus_net::{Admission, Draft, Endpoint, NetError, Relay, RingKind, Service, Settings, Ticket};
use herodotus_ring::placement::{Placement, place_of_key};
use herodotus_ring::{Config, Contact, Identity, LookupFailure, Verdict};
use herodotus_web::Refused;
use herodotus_web::peers::{LookupView, Peers, RingView};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// Messages and wishes waiting for the driver. A peer that comes on top is told to come again.
const QUEUE_MAX: usize = 1024;
/// A member whose peers are all silent after a restart goes on alone after this.
const ALONE_AFTER: Duration = Duration::from_secs(20);
/// How long neighbours have to hear that we go.
const LEAVE_WAIT: Duration = Duration::from_secs(5);
/// Virtual nodes in a closed ring. More say nothing new: shares are even enough by then.
const INDEX_MAX: u16 = 64;

/// What went wrong, and with whom.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("{path} cannot be used: {what}")]
    Damaged { path: PathBuf, what: &'static str },
    #[error("{doing} {path} failed: {source}")]
    Disk { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{0}")]
    Chance(String),
    #[error("`{0}` is no URL that can be looked up")]
    NoUrl(String),
    #[error("{0}")]
    Lookup(LookupFailure),
    #[error("the node is stopping")]
    Stopping,
    #[error(
        "an open ring's places are made of addresses: say at which one others reach this machine, with --peers ADDRESS:PORT"
    )]
    NoAddress,
}

impl RingError {
    fn disk(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Disk { doing, path, source }
    }
}

/// How this machine takes part.
#[derive(Clone, Debug)]
pub struct RingSettings {
    /// Where peers reach us (UDP).
    pub listen: Vec<SocketAddr>,
    /// Addresses at which others reach us although no interface has them.
    pub external: Vec<SocketAddr>,
    pub relay: Relay,
    pub discovery: bool,
    /// Places on the circle: as many as the machine's capacity deserves.
    pub virtual_nodes: u16,
    /// How often neighbours are asked; everything else follows from it.
    pub stabilise_every: Duration,
}

impl Default for RingSettings {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            external: Vec::new(),
            relay: Relay::None,
            discovery: false,
            virtual_nodes: 1,
            stabilise_every: Config::default().stabilise_every,
        }
    }
}

/// A machine in a ring. Clones are the same one.
#[derive(Clone)]
pub struct RingNode {
    commands: mpsc::Sender<Command>,
    view: watch::Receiver<Arc<RingView>>,
    changed: watch::Receiver<u64>,
    neighbourhood: watch::Receiver<Arc<Neighbourhood>>,
    calls: Arc<Calls>,
    endpoint: Endpoint,
    admission: Arc<Admission>,
    data: PathBuf,
}

impl std::fmt::Debug for RingNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RingNode").field("machine", &self.endpoint.key()).finish_non_exhaustive()
    }
}

/// Makes a ring whose first member, and in a closed ring whose owner, is this data directory.
pub fn create(data: &Path, draft: Draft<'_>, is_open: bool) -> Result<Admission, RingError> {
    let machine = machine_key(&machine_secret(data)?);
    let index_max = is_open.then_some(OPEN_INDEX_MAX);
    Ok(Admission::create(&ring_dir(data), machine, draft, index_max, Timestamp::now())?)
}

/// Virtual nodes that one address of an open ring may have: an attacker has that many places for each address it has.
const OPEN_INDEX_MAX: u16 = 4;

/// The ring that a data directory belongs to, if any.
pub fn membership(data: &Path) -> Result<Option<Admission>, RingError> {
    if !ring_dir(data).is_dir() {
        return Ok(None);
    }
    let machine = machine_key(&machine_secret(data)?);
    Ok(Admission::open(&ring_dir(data), machine)?)
}

/// Joins with a ticket: asks its issuer to be admitted, and remembers it as the first peer. Harmless if it was done before.
pub async fn admit(data: &Path, ticket: &Ticket, settings: &RingSettings) -> Result<Admission, RingError> {
    let secret = machine_secret(data)?;
    if let Some(admission) = membership(data)? {
        if admission.ring() == ticket.charter().ring()? {
            return Ok(admission);
        }
        let path = ring_dir(data);
        return Err(RingError::Damaged {
            path,
            what: "it belongs to another ring; use another --data directory for this one",
        });
    }
    let admission =
        herodotus_net::join(&net_settings(secret, settings), ticket, &ring_dir(data), Timestamp::now()).await?;
    let issuer = ticket.issuer();
    let first = contact(admission.kind(), issuer.key, 0, issuer.direct.clone()).ok_or(RingError::NoAddress)?;
    write_peers(data, &Remembered { was_member: false, peers: vec![first] })?;
    Ok(admission)
}

impl RingNode {
    /// Starts to take part in the ring that the data directory belongs to. `has_keeper`: somebody keeps copies here
    /// ([`crate::copies::Copies`]), and is waited for when we leave.
    pub async fn start(
        data: &Path,
        admission: Admission,
        settings: &RingSettings,
        has_keeper: bool,
    ) -> Result<Self, RingError> {
        let secret = machine_secret(data)?;
        let admission = Arc::new(admission);
        let (commands, inbox) = mpsc::channel(QUEUE_MAX);
        let service = driver::service(commands.clone(), has_keeper);
        let endpoint = Endpoint::bind(net_settings(secret, settings), admission.clone(), service.clone()).await?;
        service.set_endpoint(endpoint.clone());
        let (kind, key) = (admission.kind(), endpoint.key());
        let addresses = endpoint.addresses();
        let nodes: Option<Vec<Contact>> =
            (0..settings.virtual_nodes.max(1)).map(|index| contact(kind, key, index, addresses.clone())).collect();
        let remembered = read_peers(data);
        let terms = admission.charter().terms();
        let config = Config {
            identity: match kind {
                RingKind::Closed { .. } => Identity::Key { index_max: INDEX_MAX },
                RingKind::Open { index_max } => Identity::Address { index_max },
            },
            depth: usize::from(terms.r),
            stabilise_every: settings.stabilise_every,
            finger_every: settings.stabilise_every * 5,
            probe_every: settings.stabilise_every * 5,
            alone_after: remembered.was_member.then_some(ALONE_AFTER),
            seed: Timestamp::now().millis().unsigned_abs(),
            ..Config::default()
        };
        let (driver, windows) = Driver::new(
            nodes.ok_or(RingError::NoAddress)?,
            &config,
            remembered,
            endpoint.clone(),
            commands.clone(),
            data,
            has_keeper,
        );
        tokio::spawn(driver.run(inbox));
        let Windows { view, changed, neighbourhood } = windows;
        let calls = service;
        Ok(Self { commands, view, changed, neighbourhood, calls, endpoint, admission, data: data.to_owned() })
    }

    pub fn admission(&self) -> &Admission {
        &self.admission
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    /// A ticket for one machine, good for so long.
    pub fn invite(&self, lasts: Duration) -> Result<Ticket, RingError> {
        Ok(self.admission.invite(self.endpoint.address(), Timestamp::now(), lasts)?)
    }

    /// Shuts a machine out of a closed ring.
    pub fn revoke(&self, machine: PeerKey) -> Result<u64, RingError> {
        Ok(self.admission.revoke(machine)?)
    }

    /// Who is responsible for a place.
    pub(crate) async fn owner_of(&self, place: Id) -> Result<Verdict, RingError> {
        self.look_up(place).await?.outcome.map_err(RingError::Lookup)
    }

    async fn look_up(&self, key: Id) -> Result<Found, RingError> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Lookup { key, reply }).await.map_err(|_| RingError::Stopping)?;
        answer.await.map_err(|_| RingError::Stopping)
    }

    /// What our nodes have around them.
    pub(crate) fn neighbourhood(&self) -> watch::Receiver<Arc<Neighbourhood>> {
        self.neighbourhood.clone()
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Who answers peers' calls that are not the ring's own.
    pub(crate) fn set_keeper(&self, keeper: Arc<dyn Service>) {
        self.calls.set_keeper(keeper);
    }

    /// Who answers peers' calls about crawls.
    pub(crate) fn set_crawler(&self, crawler: Arc<dyn Service>) {
        self.calls.set_crawler(crawler);
    }

    /// What a node of ours holds lies elsewhere now: it may go.
    pub(crate) async fn handed_over(&self, node: Id) {
        let _ = self.commands.send(Command::HandedOver { node }).await;
    }

    /// Who is responsible for a URL.
    pub async fn find(&self, url: &str) -> Result<LookupView, RingError> {
        let key = place_of_key(self.placement(), &surt_of(url)?, 1);
        self.find_at(url, key).await
    }

    /// The same where it is known how its host is split.
    pub(crate) async fn find_at(&self, url: &str, key: Id) -> Result<LookupView, RingError> {
        let Found { outcome, stops, took } = self.look_up(key).await?;
        let verdict = outcome.map_err(RingError::Lookup)?;
        let copies = usize::from(self.admission.charter().terms().copies);
        Ok(view::lookup(url, key, &verdict, &stops, took, copies, self.endpoint.key()))
    }

    /// How the ring places what it keeps.
    pub fn placement(&self) -> Placement {
        if self.admission.charter().terms().is_by_url { Placement::ByUrl } else { Placement::ByHost }
    }

    /// Waits until this machine's first node is a member.
    pub async fn joined(&self) -> Result<(), RingError> {
        let mut view = self.view.clone();
        let is_member = |view: &Arc<RingView>| view.nodes.first().is_some_and(|node| node.standing == "member");
        view.wait_for(is_member).await.map(|_| ()).map_err(|_| RingError::Stopping)
    }

    /// Leaves in good order: hands over, tells the neighbours, closes every connection. Bounded in time.
    pub async fn leave(&self) {
        self.leave_within(LEAVE_WAIT).await;
    }

    /// The same with more time to hand over.
    pub async fn leave_within(&self, time: Duration) {
        self.stop(true, time).await;
    }

    /// Stops without leaving: for a short absence, after which we come back to our place.
    pub async fn pause(&self) {
        self.stop(false, LEAVE_WAIT).await;
    }

    async fn stop(&self, is_leaving: bool, time: Duration) {
        let (reply, done) = oneshot::channel();
        if self.commands.send(Command::Stop { is_leaving, reply }).await.is_ok() {
            let _ = tokio::time::timeout(time, done).await;
        }
        self.endpoint.close().await;
    }
}

impl Peers for RingNode {
    fn view(&self) -> RingView {
        RingView::clone(&self.view.borrow())
    }

    fn lookup(&self, url: &str) -> Pin<Box<dyn Future<Output = Result<LookupView, Refused>> + Send>> {
        let (node, url) = (self.clone(), url.to_owned());
        Box::pin(async move { node.find(&url).await.map_err(|error| Refused(error.to_string())) })
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changed.clone()
    }
}

/// The key of what people call by a URL or a host's name.
pub(crate) fn surt_of(url: &str) -> Result<String, RingError> {
    let no_url = || RingError::NoUrl(url.to_owned());
    let written = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let parsed = herodotus_page::WebUrl::parse(&written).map_err(|_| no_url())?;
    Ok(herodotus_store::key_of(parsed.as_str()))
}

fn net_settings(secret: [u8; 32], settings: &RingSettings) -> Settings {
    let mut net = Settings::new(secret, settings.listen.iter().copied());
    net.external = settings.external.clone();
    net.relay = settings.relay.clone();
    net.discovery = settings.discovery;
    net
}

/// A node of a machine. In an open ring its place is made of its first address.
fn contact(kind: RingKind, key: PeerKey, index: u16, addresses: Vec<SocketAddr>) -> Option<Contact> {
    Some(match kind {
        RingKind::Closed { .. } => Contact::of_key(key, index, addresses),
        RingKind::Open { .. } => Contact { id: Id::of_address(addresses.first()?.ip(), index), key, index, addresses },
    })
}
