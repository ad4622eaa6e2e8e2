//! The task that owns the machines: time in, messages in, messages out. Everything that touches them goes through its queue.

use super::files::{Remembered, write_peers};
use super::view::{Diary, view};
use bytes::Bytes;
use herodotus_base::{Id, PeerKey};
use herodotus_net::{
    Address, BoxFuture, CallError, Caller, Claim, Endpoint, Kind, PlaceError, Refusal, Service, Stream,
};
use herodotus_ring::{
    Body, Config, Contact, Envelope, Event, LookupFailure, LookupId, Output, Ring, Standing, Stop, Verdict,
};
use herodotus_web::peers::{RingCounters, RingView};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

/// The ring's own calls among those of the transport.
const RING: Kind = Kind(1);
/// A question that took longer is of no use to the machine, which has long asked another.
const CALL_WAIT: Duration = Duration::from_secs(8);
/// Questions out at once. Beyond, they count as unanswered: the machine slows down by itself.
const CALLS_MAX: usize = 512;
/// A peer's envelope: two dozen contacts with eight addresses each.
const ENVELOPE_BYTES_MAX: usize = 64 * 1024;
/// A node that has just started opens its store for as long as that, and is waited for. An archive that was not closed takes longer: then whoever asks tries again.
const KEEPER_WAIT: Duration = Duration::from_secs(5);
/// How often pages may see news, and how often peers are written down.
const SHOW_EVERY: Duration = Duration::from_millis(500);
const REMEMBER_EVERY: Duration = Duration::from_secs(20);

/// What the driver is asked.
#[derive(Debug)]
pub(super) enum Command {
    /// A peer says something, and waits for an answer if there is a way back.
    Message {
        envelope: Envelope,
        bytes: usize,
        reply: Option<oneshot::Sender<Envelope>>,
    },
    /// What a peer answered to a question of ours, or that it did not.
    Answered {
        node: Id,
        nonce: u64,
        answer: Option<(Envelope, usize)>,
    },
    Lookup {
        key: Id,
        reply: oneshot::Sender<Found>,
    },
    /// What a node of ours holds was handed over: it may go.
    HandedOver {
        node: Id,
    },
    Stop {
        is_leaving: bool,
        reply: oneshot::Sender<()>,
    },
    /// Counted, and otherwise dropped.
    Refused,
}

#[derive(Debug)]
pub(super) struct Found {
    pub(super) outcome: Result<Verdict, LookupFailure>,
    pub(super) stops: Vec<Stop>,
    pub(super) took: Duration,
}

/// Where our nodes stand, for those who live on the ring. A state and not a stream of events: whoever looks late misses nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbourhood {
    pub(crate) nodes: Vec<Seat>,
    /// Machines that stopped answering, and when; the latest last.
    pub(crate) deaths: VecDeque<(PeerKey, Instant)>,
}

/// One of our nodes in the ring.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) contact: Contact,
    pub(crate) arc: (Id, Id),
    pub(crate) successors: Vec<Contact>,
    /// It wants to go, and waits for what it holds to be handed over.
    pub(crate) is_leaving: bool,
}

/// Deaths that are remembered for those who look late.
const DEATHS_MAX: usize = 64;

pub(super) struct Driver {
    nodes: BTreeMap<Id, Ring>,
    /// In the order of their index; the first one joins, the others join by way of it.
    order: Vec<Id>,
    start: Instant,
    endpoint: Endpoint,
    commands: mpsc::Sender<Command>,
    /// Who waits for an answer of ours: the node that asked, and its number.
    waiting: HashMap<(Id, u64), oneshot::Sender<Envelope>>,
    lookups: HashMap<(Id, LookupId), (Instant, oneshot::Sender<Found>)>,
    /// Messages between nodes of this machine, which need no network.
    local: VecDeque<Envelope>,
    calls: Arc<Semaphore>,
    diary: Diary,
    counters: RingCounters,
    view: watch::Sender<Arc<RingView>>,
    changed: watch::Sender<u64>,
    neighbourhood: watch::Sender<Arc<Neighbourhood>>,
    deaths: VecDeque<(PeerKey, Instant)>,
    leaving: BTreeSet<Id>,
    /// Something that those who live on the ring must know.
    has_news: bool,
    data: PathBuf,
    remembered: Remembered,
    /// We became a member: that is worth remembering at once.
    has_joined: bool,
    is_remembered: bool,
    stopping: Option<oneshot::Sender<()>>,
    /// Somebody keeps copies, and says when they are handed over.
    has_keeper: bool,
}

/// What the driver lets others watch.
pub(super) struct Windows {
    pub(super) view: watch::Receiver<Arc<RingView>>,
    pub(super) changed: watch::Receiver<u64>,
    pub(super) neighbourhood: watch::Receiver<Arc<Neighbourhood>>,
}

impl Driver {
    pub(super) fn new(
        contacts: Vec<Contact>,
        config: &Config,
        remembered: Remembered,
        endpoint: Endpoint,
        commands: mpsc::Sender<Command>,
        data: &Path,
        has_keeper: bool,
    ) -> (Self, Windows) {
        let mut nodes = BTreeMap::new();
        let order: Vec<Id> = contacts.iter().map(|contact| contact.id).collect();
        let first = contacts.first().cloned();
        for contact in contacts {
            let is_first = Some(contact.id) == first.as_ref().map(|first| first.id);
            // Only the first may go on alone: the others always have it.
            let alone_after = config.alone_after.filter(|_| is_first);
            let mut ring = Ring::new(contact.clone(), Config { alone_after, ..config.clone() });
            if !is_first {
                ring.join(Duration::ZERO, first.iter().chain(&remembered.peers).cloned().collect());
            } else if remembered.peers.is_empty() {
                ring.begin_ring(Duration::ZERO);
            } else {
                ring.join(Duration::ZERO, remembered.peers.clone());
            }
            nodes.insert(contact.id, ring);
        }
        let (view, views) = watch::channel(Arc::default());
        let (changed, changes) = watch::channel(0);
        let (neighbourhood, neighbourhoods) = watch::channel(Arc::default());
        let driver = Self {
            nodes,
            order,
            start: Instant::now(),
            endpoint,
            commands,
            waiting: HashMap::new(),
            lookups: HashMap::new(),
            local: VecDeque::new(),
            calls: Arc::new(Semaphore::new(CALLS_MAX)),
            diary: Diary::default(),
            counters: RingCounters::default(),
            view,
            changed,
            neighbourhood,
            deaths: VecDeque::new(),
            leaving: BTreeSet::new(),
            has_news: true,
            data: data.to_owned(),
            has_joined: remembered.was_member,
            is_remembered: true,
            remembered,
            stopping: None,
            has_keeper,
        };
        (driver, Windows { view: views, changed: changes, neighbourhood: neighbourhoods })
    }

    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Command>) {
        let (mut show_at, mut remember_at) = (Instant::now(), Instant::now() + REMEMBER_EVERY);
        loop {
            self.flush();
            self.tell_neighbourhood();
            if show_at <= Instant::now() {
                self.show();
                show_at = Instant::now() + SHOW_EVERY;
            }
            if remember_at <= Instant::now() || !self.is_remembered {
                self.remember();
                remember_at = Instant::now() + REMEMBER_EVERY;
            }
            if self.stopping.is_some() && self.nodes.values().all(|ring| *ring.standing() == Standing::Left) {
                break;
            }
            let due = self.nodes.values().filter_map(Ring::poll_timeout).min().map(|time| self.start + time);
            let wake = due.map_or(show_at, |due| due.min(show_at));
            tokio::select! {
                command = inbox.recv() => match command {
                    Some(Command::Stop { is_leaving: false, reply }) => {
                        self.stopping = Some(reply);
                        break;
                    }
                    Some(command) => self.handle(command),
                    None => break,
                },
                () = tokio::time::sleep_until(wake.into()) => {
                    let now = self.start.elapsed();
                    for ring in self.nodes.values_mut() {
                        if ring.poll_timeout().is_some_and(|due| due <= now) {
                            ring.handle_timeout(now);
                        }
                    }
                }
            }
        }
        self.remember();
        self.show();
        if let Some(reply) = self.stopping.take() {
            let _ = reply.send(());
        }
    }

    fn handle(&mut self, command: Command) {
        let now = self.start.elapsed();
        match command {
            Command::Message { envelope, bytes, reply } => {
                self.counters.messages_in += 1;
                self.counters.bytes_in += bytes as u64;
                let Some(ring) = self.nodes.get_mut(&envelope.to) else { return };
                if let Some(reply) = reply {
                    self.waiting.insert((envelope.from.id, envelope.nonce), reply);
                }
                let asked = (envelope.from.id, envelope.nonce);
                ring.handle_message(now, envelope);
                self.flush();
                // Answered by now, or not at all: dropping it tells the peer.
                self.waiting.remove(&asked);
            }
            Command::Answered { node, nonce, answer } => {
                let Some(ring) = self.nodes.get_mut(&node) else { return };
                match answer {
                    Some((envelope, bytes)) => {
                        self.counters.messages_in += 1;
                        self.counters.bytes_in += bytes as u64;
                        ring.handle_message(now, envelope);
                    }
                    None => ring.handle_unreachable(now, nonce),
                }
            }
            Command::Lookup { key, reply } => {
                let Some((id, ring)) = self.order.first().and_then(|id| Some((*id, self.nodes.get_mut(id)?))) else {
                    return;
                };
                let lookup = ring.lookup(now, key);
                self.lookups.insert((id, lookup), (Instant::now(), reply));
            }
            Command::HandedOver { node } => {
                if let Some(ring) = self.nodes.get_mut(&node).filter(|_| self.leaving.remove(&node)) {
                    ring.handed_over(now);
                }
            }
            Command::Stop { reply, .. } => {
                self.stopping = Some(reply);
                self.nodes.values_mut().for_each(|ring| ring.leave(now));
            }
            Command::Refused => self.counters.messages_refused += 1,
        }
    }

    /// Carries out what the machines want, until they want nothing more.
    fn flush(&mut self) {
        loop {
            let mut outputs = Vec::new();
            for (id, ring) in &mut self.nodes {
                while let Some(output) = ring.poll_output() {
                    outputs.push((*id, output));
                }
            }
            if outputs.is_empty() && self.local.is_empty() {
                return;
            }
            for (node, output) in outputs {
                match output {
                    Output::Send { to, envelope } => self.send(node, to, envelope),
                    Output::Event(event) => self.tell(node, event),
                }
            }
            let now = self.start.elapsed();
            while let Some(envelope) = self.local.pop_front() {
                if let Some(ring) = self.nodes.get_mut(&envelope.to) {
                    ring.handle_message(now, envelope);
                }
            }
        }
    }

    fn send(&mut self, node: Id, to: Contact, envelope: Envelope) {
        if self.nodes.contains_key(&to.id) {
            return self.local.push_back(envelope);
        }
        let nonce = envelope.nonce;
        if let Body::Answer(_) = envelope.body {
            if let Some(reply) = self.waiting.remove(&(to.id, nonce)) {
                self.counters.messages_out += 1;
                let _ = reply.send(envelope);
            }
            return;
        }
        let Ok(payload) = postcard::to_stdvec(&envelope).map(Bytes::from) else { return };
        self.counters.messages_out += 1;
        self.counters.bytes_out += payload.len() as u64;
        let (endpoint, commands) = (self.endpoint.clone(), self.commands.clone());
        let address = Address::new(to.key, to.addresses);
        let Ok(permit) = self.calls.clone().try_acquire_owned() else { return };
        let is_question = matches!(envelope.body, Body::Ask(_));
        tokio::spawn(async move {
            if is_question {
                let mut answer = endpoint.call(&address, RING, payload.clone(), CALL_WAIT).await;
                if let Err(CallError::Lost { .. }) = answer {
                    // It was killed and started anew, perhaps. Asking twice is no harm.
                    answer = endpoint.call(&address, RING, payload, CALL_WAIT).await;
                }
                let answer = answer.ok();
                let answer = answer.and_then(|bytes| Some((decode(&bytes, address.key)?, bytes.len())));
                let _ = commands.send(Command::Answered { node, nonce, answer }).await;
            } else {
                let _ = endpoint.send(&address, RING, payload).await;
            }
            drop(permit);
        });
    }

    fn tell(&mut self, node: Id, event: Event) {
        match event {
            Event::LookupDone { id, outcome, stops, .. } => {
                match &outcome {
                    Ok(verdict) => {
                        self.counters.lookups_done += 1;
                        self.counters.hops_sum += u64::from(verdict.hops);
                    }
                    Err(_) => self.counters.lookups_failed += 1,
                }
                if let Some((began, reply)) = self.lookups.remove(&(node, id)) {
                    let _ = reply.send(Found { outcome, stops, took: began.elapsed() });
                }
                return;
            }
            Event::HandOver { .. } if self.has_keeper => {
                self.leaving.insert(node);
                self.has_news = true;
            }
            Event::HandOver { .. } => {
                // Nobody keeps copies here, so nothing has to be carried.
                let now = self.start.elapsed();
                if let Some(ring) = self.nodes.get_mut(&node) {
                    ring.handed_over(now);
                }
            }
            Event::PeerDead { ref contact } => {
                self.counters.peers_died += 1;
                if self.deaths.len() == DEATHS_MAX {
                    self.deaths.pop_front();
                }
                self.deaths.push_back((contact.key, Instant::now()));
                self.has_news = true;
            }
            Event::Joined { .. } => {
                self.has_joined = true;
                self.is_remembered = false;
                self.has_news = true;
            }
            Event::RangeGained { .. } | Event::RangeLost { .. } | Event::NeighboursChanged { .. } | Event::Left => {
                self.has_news = true;
            }
        }
        self.diary.write(&event);
    }

    fn tell_neighbourhood(&mut self) {
        if !std::mem::take(&mut self.has_news) {
            return;
        }
        let members = self.nodes.values().filter(|ring| ring.is_member());
        let seats = members.map(|ring| Seat {
            contact: ring.me().clone(),
            arc: ring.arc(),
            successors: ring.status().neighbours.successors,
            is_leaving: self.leaving.contains(&ring.me().id),
        });
        let new = Neighbourhood { nodes: seats.collect(), deaths: self.deaths.clone() };
        self.neighbourhood.send_replace(Arc::new(new));
    }

    /// Shows pages how things stand, if that is news.
    fn show(&mut self) {
        self.counters.turned_away = self.endpoint.turned_away();
        let rings: Vec<&Ring> = self.order.iter().filter_map(|id| self.nodes.get(id)).collect();
        let new = view(&rings, &self.endpoint, &self.diary, &self.counters);
        let is_news = {
            let old = self.view.borrow();
            old.nodes != new.nodes || old.events != new.events || old.peers.len() != new.peers.len()
        };
        self.view.send_replace(Arc::new(new));
        if is_news {
            self.changed.send_modify(|count| *count += 1);
        }
    }

    /// Writes down whom to ask after a restart. Failing that, a later one may succeed.
    fn remember(&mut self) {
        self.is_remembered = true;
        let Some(ring) = self.order.first().and_then(|id| self.nodes.get(id)) else { return };
        let mut peers = ring.remembered();
        peers.retain(|contact| contact.key != self.endpoint.key());
        // Nobody heard from yet is no reason to forget those from before.
        let peers = if peers.is_empty() { self.remembered.peers.clone() } else { peers };
        let new = Remembered { was_member: self.has_joined, peers };
        if new != self.remembered && write_peers(&self.data, &new).is_ok() {
            self.remembered = new;
        }
    }
}

/// What a peer sent, if it makes sense and is from the node it says.
fn decode(bytes: &[u8], key: PeerKey) -> Option<Envelope> {
    if bytes.len() > ENVELOPE_BYTES_MAX {
        return None;
    }
    postcard::from_bytes::<Envelope>(bytes).ok().filter(|envelope| envelope.from.key == key)
}

/// The side that peers call.
pub(super) struct Calls {
    commands: mpsc::Sender<Command>,
    /// Known only after the endpoint is, which needs us first.
    endpoint: OnceLock<Endpoint>,
    /// Who answers everything that is not the ring's own, as soon as there is one.
    keeper: watch::Sender<Option<Arc<dyn Service>>>,
    has_keeper: bool,
    /// Who answers about crawls.
    crawler: OnceLock<Arc<dyn Service>>,
}

/// `has_keeper`: there will be one.
pub(super) fn service(commands: mpsc::Sender<Command>, has_keeper: bool) -> Arc<Calls> {
    let (endpoint, keeper, crawler) = (OnceLock::new(), watch::Sender::default(), OnceLock::new());
    Arc::new(Calls { commands, endpoint, keeper, has_keeper, crawler })
}

impl Calls {
    pub(super) fn set_endpoint(&self, endpoint: Endpoint) {
        let _ = self.endpoint.set(endpoint);
    }

    pub(super) fn set_keeper(&self, keeper: Arc<dyn Service>) {
        self.keeper.send_replace(Some(keeper));
    }

    /// Who answers calls of a kind. Neighbours ask a newcomer as soon as they see it, and come back only after seconds if nobody answers: whoever will is waited for
    /// while it opens its store.
    fn answerer(&self, kind: Kind) -> BoxFuture<Option<Arc<dyn Service>>> {
        if kind == crate::together::CRAWLS {
            let crawler = self.crawler.get().cloned();
            return Box::pin(async { crawler });
        }
        let mut keeper = self.keeper.subscribe();
        let now = keeper.borrow().clone();
        if now.is_some() || !self.has_keeper {
            return Box::pin(async { now });
        }
        Box::pin(async move {
            let found = tokio::time::timeout(KEEPER_WAIT, keeper.wait_for(Option::is_some)).await;
            found.ok()?.ok()?.clone()
        })
    }

    pub(super) fn set_crawler(&self, crawler: Arc<dyn Service>) {
        let _ = self.crawler.set(crawler);
    }

    /// Reads an envelope and sees that whoever sends it may say it.
    fn read(&self, from: Caller, payload: &Bytes) -> Result<(Envelope, Endpoint), Refusal> {
        let garbage = || {
            let _ = self.commands.try_send(Command::Refused);
            Refusal::service("that is no message of the ring, or not from the node it names")
        };
        let envelope = decode(payload, from.key).ok_or_else(garbage)?;
        let endpoint = self.endpoint.get().ok_or(Refusal::Busy)?;
        Ok((envelope, endpoint.clone()))
    }
}

/// That the sender has the place it claims: by its key, or by the address that its packets come from.
async fn settle(endpoint: &Endpoint, from: Caller, contact: &Contact) -> Result<(), Refusal> {
    let Some(address) = contact.addresses.first().copied() else {
        return Err(Refusal::service("a node without an address"));
    };
    let claim = Claim { id: contact.id, key: contact.key, index: contact.index, address };
    endpoint.settle(&claim, from.address).await.map_err(|error| match error {
        PlaceError::Busy(_) => Refusal::Busy,
        other => Refusal::service(other.to_string()),
    })
}

impl Service for Calls {
    fn call(&self, from: Caller, kind: Kind, payload: Bytes) -> BoxFuture<Result<Bytes, Refusal>> {
        if kind != RING {
            let answerer = self.answerer(kind);
            return Box::pin(async move {
                match answerer.await {
                    Some(service) => service.call(from, kind, payload).await,
                    None => Err(Refusal::UnknownKind(kind.0)),
                }
            });
        }
        let (read, commands) = (self.read(from, &payload), self.commands.clone());
        Box::pin(async move {
            let (envelope, endpoint) = read?;
            settle(&endpoint, from, &envelope.from).await?;
            let (reply, answer) = oneshot::channel();
            let message = Command::Message { envelope, bytes: payload.len(), reply: Some(reply) };
            commands.try_send(message).map_err(|_| Refusal::Busy)?;
            let answer = answer.await.map_err(|_| Refusal::service("no node here has that place"))?;
            postcard::to_stdvec(&answer).map(Bytes::from).map_err(|_| Refusal::Busy)
        })
    }

    fn stream(&self, from: Caller, kind: Kind, head: Bytes, stream: Stream) -> BoxFuture<()> {
        let answerer = self.answerer(kind);
        Box::pin(async move {
            if let Some(service) = answerer.await {
                service.stream(from, kind, head, stream).await;
            }
        })
    }

    fn notice(&self, from: Caller, kind: Kind, payload: Bytes) -> BoxFuture<()> {
        let (read, commands) = (self.read(from, &payload), self.commands.clone());
        Box::pin(async move {
            let Ok((envelope, endpoint)) = read else { return };
            if kind == RING && settle(&endpoint, from, &envelope.from).await.is_ok() {
                let _ = commands.try_send(Command::Message { envelope, bytes: payload.len(), reply: None });
            }
        })
    }
}
