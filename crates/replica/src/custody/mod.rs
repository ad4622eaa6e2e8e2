//! Custody: what a machine must see to so that its arcs lie on R machines, and so that nothing it holds is lost when it is no longer its to hold.
//!
//! In: what the ring tells (arcs, neighbours, deaths), time, and what became of orders. Out: [`Order`]s, a bounded number at once, which
//! the machine around carries out with store and network. Promised: an order to let go ([`Task::Release`]) is given only when enough machines that
//! count have confirmed the very entries; a machine counts only when a comparison with it ended with nothing missing, it is off probation and
//! passed its audits; a gained arc is not answered for before it was compared with those who held it. Lost at a restart is only
//! what is believed of others: everything is compared anew.
//!
//! The owner drives, successors are driven; decision 0012 says why. Successors audit the owner too, and see to its arc beside one that fails; decision 0017.

mod config;
mod order;
mod oversight;
mod planted;
mod strays;
mod tenure;
mod uptimes;

pub use config::Config;
pub use order::{Order, OrderId, Outcome, Survey, Task};
pub use planted::Planted;
pub use strays::Piece;
pub use tenure::{Holder, Holders, Level};
pub use uptimes::Uptimes;

use herodotus_base::{Id, PeerKey};
use herodotus_ring::Contact;
use oversight::Oversight;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use strays::Strays;
use tenure::Tenure;

/// The custodian of everything that a machine holds: one tenure for each of its nodes, the strays, and an eye on those whose arcs it copies.
#[derive(Clone, Debug)]
pub struct Custodian {
    config: Config,
    tenures: BTreeMap<Id, Tenure>,
    strays: Strays,
    oversight: Oversight,
    /// Orders that were given out, and for whom they are.
    open: BTreeMap<OrderId, (Owner, Task)>,
    ready: VecDeque<Order>,
    next: u64,
    now: Duration,
    /// Our arcs and whether they are filled, as they were last, and how often that has changed.
    standing: Vec<((Id, Id), bool)>,
    moves: u64,
}

/// Whose order it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Tenure(Id),
    Strays,
    /// Of the owner of an arc that is entrusted to us.
    Oversight(Id),
}

fn overlap(one: (Id, Id), other: (Id, Id)) -> bool {
    one.1.is_in(other.0, other.1) || other.1.is_in(one.0, one.1)
}

impl Custodian {
    pub fn new(machine: PeerKey, config: Config) -> Self {
        Self {
            strays: Strays::new(machine, &config),
            oversight: Oversight::new(machine),
            config,
            tenures: BTreeMap::new(),
            open: BTreeMap::new(),
            ready: VecDeque::new(),
            next: 0,
            now: Duration::ZERO,
            standing: Vec::new(),
            moves: 0,
        }
    }

    /// One of our nodes owns the keys on `(arc.0, arc.1]` from now on. What is new of it must be filled first.
    pub fn set_arc(&mut self, now: Duration, node: &Contact, arc: (Id, Id)) {
        self.now = now;
        let is_new = match self.tenures.get_mut(&node.id) {
            Some(tenure) => tenure.set_arc(now, arc),
            None => self.tenures.insert(node.id, Tenure::new(node.clone(), arc, now)).is_none(),
        };
        if is_new {
            self.strays.stir(now);
            self.oversight.own(arc);
        }
        self.work();
    }

    /// One of our nodes owns nothing any more.
    pub fn end_arc(&mut self, now: Duration, node: Id) {
        self.now = now;
        self.tenures.remove(&node);
        self.strays.stir(now);
        self.work();
    }

    /// One of our nodes wants to go: its arc must lie on enough machines without it.
    pub fn leave(&mut self, now: Duration, node: Id) {
        self.now = now;
        if let Some(tenure) = self.tenures.get_mut(&node) {
            tenure.leave();
        }
        self.work();
    }

    /// The machines that follow one of our nodes on the circle, in their order. Who is not among them any more is away, and counts
    /// until the grace is over.
    pub fn set_line(&mut self, now: Duration, node: Id, line: &[Contact]) {
        self.now = now;
        if let Some(tenure) = self.tenures.get_mut(&node) {
            tenure.set_line(now, line, &self.config);
        }
        self.work();
    }

    /// A machine does not answer: it is away before it is missing in the line.
    pub fn peer_dead(&mut self, now: Duration, machine: PeerKey) {
        self.now = now;
        self.tenures.values_mut().for_each(|tenure| tenure.lose(now, machine));
        self.oversight.peer_dead(now, machine);
    }

    /// How long a machine has been up, as far as we saw it ourselves.
    pub fn seen_up(&mut self, machine: PeerKey, uptime: Duration) {
        let (now, config) = (self.now, &self.config);
        self.tenures.values_mut().for_each(|tenure| tenure.seen_up(now, machine, uptime, config));
        self.oversight.seen_up(now, machine, uptime, config);
    }

    /// Another machine wants to let go of what it holds at a place of ours. Whoever is told that it may does not count from then on.
    pub fn may_let_go(&mut self, now: Duration, machine: PeerKey, place: Id) -> bool {
        self.now = now;
        let tenure = self.tenures.values_mut().find(|tenure| tenure.owns(place));
        tenure.is_some_and(|tenure| tenure.let_go(now, machine, &self.config))
    }

    /// Another machine asks whether we hold what lies on `(from, to]`, to let go of it. If that is true, we are relied on for the grace, and
    /// keep it. If not, it must be told no, whatever we hold: we are letting it go ourselves, or do not believe its owner. To be asked before looking at what we hold.
    pub fn vouch(&mut self, now: Duration, from: Id, to: Id) -> bool {
        self.now = now;
        !self.oversight.is_doubtful((from, to)) && self.strays.vouch(now, (from, to), &self.config)
    }

    /// Something could not be handed to a machine: it is compared soon.
    pub fn push_failed(&mut self, now: Duration, machine: PeerKey) {
        self.now = now;
        self.tenures.values_mut().for_each(|tenure| tenure.push_failed(now, machine, &self.config));
    }

    /// Something came in that may not be ours to hold.
    pub fn stray_came(&mut self, now: Duration) {
        self.now = now;
        self.strays.stir(now);
    }

    pub fn poll_timeout(&self) -> Option<Duration> {
        if self.open.len() >= self.config.orders_max {
            return None;
        }
        let due = self.tenures.values().filter_map(|tenure| tenure.due(self.now, &self.config)).min();
        due.into_iter().chain(self.strays.due()).chain(self.oversight.due(self.now, &self.config)).min()
    }

    pub fn handle_timeout(&mut self, now: Duration) {
        self.now = now;
        self.tenures.values_mut().for_each(|tenure| tenure.pass_time(now, &self.config));
        self.oversight.pass_time(now, &self.config);
        self.work();
    }

    pub fn poll_order(&mut self) -> Option<Order> {
        self.ready.pop_front()
    }

    /// What became of an order. One that is not known any more is passed over.
    pub fn handle_outcome(&mut self, now: Duration, id: OrderId, outcome: Outcome) {
        self.now = now;
        let Some((owner, task)) = self.open.remove(&id) else { return };
        match owner {
            Owner::Tenure(node) => {
                if let Some(tenure) = self.tenures.get_mut(&node) {
                    tenure.done(now, &task, &outcome, &self.config);
                }
            }
            Owner::Strays => match &outcome {
                Outcome::Surveyed(found) if self.is_disbelieved(found) => {
                    self.strays.disbelieve(now, found, &self.config);
                }
                _ => {
                    let others = self.others_seen();
                    self.strays.done(now, &task, outcome, others, &self.config);
                }
            },
            Owner::Oversight(owner) => {
                if self.oversight.done(now, owner, &task, &outcome, &self.config) {
                    // Who is to hold its arc beside it is asked for at once.
                    self.strays.stir(now);
                }
            }
        }
        self.work();
    }

    /// Who holds a place, if that is ours to say.
    pub fn holders_of(&self, place: Id) -> Option<Holders> {
        let tenure = self.tenures.values().find(|tenure| tenure.owns(place))?;
        Some(tenure.holders(place, self.now, &self.config))
    }

    /// Machines that are to get what is stored at a place of ours, in their order; those who are thought dead are left out. At least one, if we see any.
    pub fn push_to(&self, place: Id) -> Vec<Contact> {
        self.push_to_at_least(place, 1)
    }

    /// [`Self::push_to`] for a write that must be durable on `min` machines beside this one: not fewer, if we see as many.
    pub fn push_to_at_least(&self, place: Id, min: usize) -> Vec<Contact> {
        let tenure = self.tenures.values().find(|tenure| tenure.owns(place));
        tenure.map(|tenure| tenure.push_to(self.now, min, &self.config)).unwrap_or_default()
    }

    /// Whether the answer of this machine alone is the whole answer: the place is ours and filled, or is entrusted to us by its owner.
    pub fn is_here(&self, place: Id) -> bool {
        match self.tenures.values().find(|tenure| tenure.owns(place)) {
            Some(tenure) => tenure.is_filled(place),
            None => self.strays.is_entrusted(place, self.now),
        }
    }

    /// Whether what is not here is nowhere, of a place that we answer for. Not while as many machines around it are away as a write must be durable on: what was acknowledged may lie
    /// with them alone, and if the ring is cut they go on without us. Of fewer, one that has it is on our side. Once they are given up (after the grace), what we have is all that there is.
    pub fn is_all_here(&self, place: Id, durable_on: usize) -> bool {
        let tenure = self.tenures.values().find(|tenure| tenure.owns(place));
        tenure.is_none_or(|tenure| tenure.away(self.now, &self.config) < durable_on.max(1))
    }

    /// Whether a place is on one of our own arcs.
    pub fn owns(&self, place: Id) -> bool {
        self.tenures.values().any(|tenure| tenure.owns(place))
    }

    /// Whether this machine alone can answer for every place there is, as in a ring of fewer machines than copies.
    pub fn is_everything_here(&self) -> bool {
        let own = self.tenures.values().filter(|tenure| tenure.has_all()).map(Tenure::arc);
        let arcs: Vec<(Id, Id)> = own.chain(self.strays.entrusted(self.now)).collect();
        let Some(first) = arcs.first() else { return false };
        // Clockwise from where one ends, as far as one arc after another reaches.
        let start = first.1;
        let mut at = start;
        for _ in 0..=arcs.len() {
            let reaches =
                arcs.iter().filter(|(from, to)| from == to || at == *from || at.is_in(*from, *to) && at != *to);
            let Some((from, to)) = reaches.max_by_key(|(from, to)| (from == to, at.distance_to(*to))) else {
                return false;
            };
            if from == to || start.is_in(at, *to) {
                return true;
            }
            at = *to;
        }
        false
    }

    /// How many copies each of our arcs has, and what is being done about it.
    pub fn levels(&self) -> Vec<Level> {
        self.tenures.values().map(|tenure| tenure.level(self.now, &self.config)).collect()
    }

    /// How often our arcs, or that they are filled, have changed: what was lost and came back is not the same as what stayed.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Owners of what is entrusted to us that have failed their audits, and their arcs.
    pub fn distrusted_owners(&self) -> impl Iterator<Item = (&Contact, (Id, Id))> {
        self.oversight.distrusted()
    }

    /// Whether the owner of what a survey found is distrusted.
    fn is_disbelieved(&mut self, found: &Survey) -> bool {
        let Survey::Found { piece, owner, holders } = found else { return false };
        let next = self.tenures.iter().min_by_key(|(node, _)| owner.id.distance_to(**node));
        let behind_us: Vec<Contact> = next.map(|(_, tenure)| tenure.line().cloned().collect()).unwrap_or_default();
        let (first, own) = (piece.from.plus_power(0), self.tenures.keys().copied());
        self.oversight.see(self.now, first, (owner, holders), own, &behind_us, &self.config)
    }

    /// Orders under way.
    pub fn under_way(&self) -> impl Iterator<Item = &Task> {
        self.open.values().map(|(_, task)| task)
    }

    /// Our arcs have all the copies that they are to have, and nothing here is a stray: we may go without loss.
    pub fn is_settled(&self) -> bool {
        self.tenures.values().all(|tenure| tenure.is_settled(self.now, &self.config)) && self.strays.is_settled()
    }

    /// Machines that we see beside ourselves.
    fn others_seen(&self) -> usize {
        self.tenures.values().map(Tenure::others_seen).max().unwrap_or(0)
    }

    /// Gives out what is due, the most needed first.
    fn work(&mut self) {
        let standing: Vec<_> = self.tenures.values().map(|tenure| (tenure.arc(), tenure.has_all())).collect();
        if standing != self.standing {
            (self.standing, self.moves) = (standing, self.moves + 1);
        }
        while self.open.len() < self.config.orders_max {
            let mut wanted: Option<(u8, Owner, Task)> = None;
            for (node, tenure) in &self.tenures {
                if let Some((rank, task)) = tenure.wants(self.now, &self.config)
                    && wanted.as_ref().is_none_or(|(best, ..)| rank < *best)
                {
                    wanted = Some((rank, Owner::Tenure(*node), task));
                }
            }
            if let Some(task) = self.strays.wants(self.now, self.others_seen(), &self.config)
                && wanted.as_ref().is_none_or(|(best, ..)| strays::RANK < *best)
            {
                wanted = Some((strays::RANK, Owner::Strays, task));
            }
            if let Some((rank, node, task)) = self.oversight.wants(self.now, &self.config)
                && wanted.as_ref().is_none_or(|(best, ..)| rank < *best)
            {
                wanted = Some((rank, Owner::Oversight(node), task));
            }
            let Some((_, owner, task)) = wanted else { break };
            match owner {
                Owner::Tenure(node) => {
                    if let Some(tenure) = self.tenures.get_mut(&node) {
                        tenure.begin(&task);
                    }
                }
                Owner::Strays => self.strays.begin(&task),
                Owner::Oversight(node) => self.oversight.begin(node, &task),
            }
            let id = OrderId(self.next);
            self.next += 1;
            self.open.insert(id, (owner, task.clone()));
            self.ready.push_back(Order { id, task, gives_only: !matches!(owner, Owner::Tenure(_)) });
        }
    }
}
