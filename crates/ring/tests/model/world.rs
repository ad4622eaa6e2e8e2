//! Five places, a list depth of two, and everything that may happen between them: the state that the model checker explores.
//!
//! The nodes are [`Core`]s and the searches [`Lookup`]s of the crate itself. What is sent is in flight until it is taken up: an exchange with a
//! successor is two steps (what it answers is read at one moment and applied at a later one, and the asker goes on with
//! whatever it heard meanwhile), a question to one that is nearer is three, `Here` is delivered late, in any order, or never. A
//! join is two steps: the place is found, and entered later.
//!
//! What is assumed. Who is silent is dead, except where mistakes are counted (`mistakes_max`). A failure leaves at least one member, and every other
//! node somebody alive in its list, and in the list that it will have when what is on its way has arrived. It also leaves r + 1
//! members that no list skips (Zave's principals); or, where the ring may shrink, it happens while all members know all others. `failures_max` bounds
//! failures between two ideal states with nothing in flight. Who died does not come back under the same place.

use crate::mend::{self, Mended};
use herodotus_base::{Id, PeerKey};
use herodotus_ring::{Contact, Core, Duty, Found, Lookup, Neighbours, Notice, Planted, Verdict};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

/// Places there are.
pub(crate) const PLACES: usize = 5;
/// r: machines in a list.
pub(crate) const DEPTH: usize = 2;

/// What may happen, and from where it begins.
#[derive(Debug)]
pub(crate) struct World {
    /// Members of the ideal ring at the beginning, the lowest places.
    pub(crate) members: usize,
    /// Places that take part, the lowest.
    pub(crate) places: usize,
    pub(crate) planted: Planted,
    pub(crate) failures_max: u8,
    /// Whether the ring may fail below r + 1 members.
    pub(crate) may_shrink: bool,
    /// Live nodes that are called dead by mistake, at most so many times.
    pub(crate) mistakes_max: u8,
    /// Whether everybody remembers everybody, and probes them when mending.
    pub(crate) remembers: bool,
    /// Exchanges, notices and entries that are in flight at once. What would be one more is not begun, or lost.
    pub(crate) in_flight_max: usize,
    /// Cores that were mended, and what came of it.
    pub(crate) mended: Mutex<HashMap<u64, Mended>>,
    pub(crate) looked_up: Mutex<HashMap<u64, bool>>,
}

impl World {
    pub(crate) fn of(members: usize) -> Self {
        Self {
            members,
            places: PLACES,
            planted: Planted::Nothing,
            failures_max: 1,
            may_shrink: true,
            mistakes_max: 0,
            remembers: true,
            in_flight_max: 3,
            mended: Mutex::default(),
            looked_up: Mutex::default(),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pub(crate) nodes: [Node; PLACES],
    /// `Here`, from and to.
    pub(crate) notices: BTreeSet<(usize, usize)>,
    /// Failures since the ring was last ideal.
    pub(crate) failures: u8,
    pub(crate) mistakes: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Node {
    Outside,
    /// Its place was found behind the first, which told that then.
    Entering(Arc<(Contact, Neighbours)>),
    Member(Arc<Core>, Exchange),
    Dead,
}

/// What a member waits for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Exchange {
    None,
    /// A question is on its way to one that is nearer.
    Asking(usize),
    /// An answer is on its way back.
    Answered(usize, Arc<Neighbours>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// An outsider finds its place by way of a member.
    Find(usize, usize),
    Enter(usize),
    /// Its first successor is asked, and answers; or is dead.
    Ask(usize),
    /// One that is nearer is reached by the question.
    Reach(usize),
    /// The answer arrives.
    Apply(usize),
    /// A node notices that a neighbour is dead.
    Notice(usize, usize),
    /// `Here`, from and to.
    Deliver(usize, usize),
    /// It is lost.
    Drop(usize, usize),
    Die(usize),
    /// A node believes that a live neighbour is dead.
    Mistake(usize, usize),
}

pub(crate) fn contact(at: usize) -> Contact {
    let place = u8::try_from(at).expect("few places") * 50 + 10;
    Contact { id: Id::small(place), key: PeerKey([place; 32]), index: 0, addresses: Vec::new() }
}

pub(crate) fn at(id: Id) -> usize {
    usize::from((id.0[0] - 10) / 50)
}

impl State {
    pub(crate) fn core(&self, at: usize) -> Option<&Core> {
        match &self.nodes[at] {
            Node::Member(core, _) => Some(core),
            Node::Outside | Node::Entering(_) | Node::Dead => None,
        }
    }

    pub(crate) fn is_member(&self, at: usize) -> bool {
        self.core(at).is_some()
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (usize, &Core)> {
        (0..PLACES).filter_map(|at| Some((at, self.core(at)?)))
    }

    /// Nothing is in flight.
    pub(crate) fn is_quiet(&self) -> bool {
        let rests = |node: &Node| matches!(node, Node::Outside | Node::Dead | Node::Member(_, Exchange::None));
        self.notices.is_empty() && self.nodes.iter().all(rests)
    }

    pub(crate) fn cores(&self) -> mend::Cores {
        std::array::from_fn(|at| self.core(at).cloned())
    }
}

impl World {
    pub(crate) fn begin(&self) -> State {
        let ideal = |n: usize| {
            let others: Vec<_> = (1..self.members).map(|step| contact((n + step) % self.members)).collect();
            let Some(before) = others.last().cloned() else { return Core::alone(contact(n), DEPTH, self.planted) };
            let is_whole = others.len() <= DEPTH;
            let told = Neighbours { predecessor: None, successors: others, is_whole };
            Core::joined(contact(n), DEPTH, &before, &told, self.planted)
        };
        let cores: mend::Cores = std::array::from_fn(|n| (n < self.members).then(|| ideal(n)));
        let nodes = cores.map(|core| core.map_or(Node::Outside, |core| Node::Member(Arc::new(core), Exchange::None)));
        State { nodes, notices: BTreeSet::new(), failures: 0, mistakes: 0 }
    }

    pub(crate) fn possible(&self, state: &State, actions: &mut Vec<Action>) {
        let has_room = state.in_flight() < self.in_flight_max;
        for n in 0..PLACES {
            match &state.nodes[n] {
                Node::Outside if has_room && n < self.places => {
                    actions.extend(state.members().map(|(via, _)| Action::Find(n, via)));
                }
                Node::Entering(_) => actions.push(Action::Enter(n)),
                Node::Member(core, exchange) => {
                    match exchange {
                        Exchange::None => {}
                        Exchange::Asking(_) => actions.push(Action::Reach(n)),
                        Exchange::Answered(..) => actions.push(Action::Apply(n)),
                    }
                    // Also instead of a question that is under way: it may have been lost.
                    let is_free = has_room && *exchange == Exchange::None || matches!(exchange, Exchange::Asking(_));
                    if core.head().is_some() && is_free {
                        actions.push(Action::Ask(n));
                    }
                    let near: BTreeSet<_> =
                        core.successors().iter().chain(core.predecessor()).map(|c| at(c.id)).collect();
                    for other in near {
                        if !state.is_member(other) {
                            actions.push(Action::Notice(n, other));
                        } else if state.mistakes < self.mistakes_max {
                            actions.push(Action::Mistake(n, other));
                        }
                    }
                    if state.failures < self.failures_max && self.may_die(state, n) {
                        actions.push(Action::Die(n));
                    }
                }
                Node::Outside | Node::Dead => {}
            }
        }
        for (from, to) in &state.notices {
            actions.extend([Action::Deliver(*from, *to), Action::Drop(*from, *to)]);
        }
    }

    pub(crate) fn after(&self, before: &State, action: &Action) -> Option<State> {
        let mut state = before.clone();
        match *action {
            Action::Find(n, via) => {
                let me = contact(n);
                let verdict = look_up(&before.cores(), via, me.id, Some(me.id))?;
                let told = verdict.told_to_newcomer();
                state.nodes[n] = Node::Entering(Arc::new((verdict.before, told)));
            }
            Action::Enter(n) => {
                let Node::Entering(place) = &before.nodes[n] else { return None };
                let (behind, told) = &**place;
                let core = Core::joined(contact(n), DEPTH, behind, told, self.planted);
                let duties = core.arrived(behind);
                state.nodes[n] = Node::Member(Arc::new(core), Exchange::None);
                duties.into_iter().for_each(|duty| self.owe(&mut state, n, duty));
            }
            Action::Ask(n) => {
                let head = at(before.core(n)?.head()?.id);
                self.read(&mut state, n, head);
            }
            Action::Reach(n) => {
                let Node::Member(_, Exchange::Asking(other)) = before.nodes[n] else { return None };
                self.read(&mut state, n, other);
            }
            Action::Apply(n) => {
                let Node::Member(core, exchange) = &mut state.nodes[n] else { return None };
                let Exchange::Answered(from, told) = std::mem::replace(exchange, Exchange::None) else { return None };
                let duties = Arc::make_mut(core).stabilised(&contact(from), &told, |_| true);
                duties.into_iter().for_each(|duty| self.owe(&mut state, n, duty));
            }
            Action::Notice(n, other) | Action::Mistake(n, other) => {
                state.lose(n, other);
                state.mistakes += u8::from(matches!(action, Action::Mistake(..)));
            }
            Action::Deliver(from, to) => {
                state.notices.remove(&(from, to));
                if let Node::Member(core, _) = &mut state.nodes[to] {
                    let duty = Arc::make_mut(core).met(&contact(from));
                    duty.into_iter().for_each(|duty| self.owe(&mut state, to, duty));
                }
            }
            Action::Drop(from, to) => {
                state.notices.remove(&(from, to));
            }
            Action::Die(n) => {
                state.nodes[n] = Node::Dead;
                state.notices.retain(|(_, to)| *to != n);
                if self.failures_max != u8::MAX {
                    state.failures += 1;
                }
            }
        }
        if state.failures > 0 && state.is_quiet() && mend::is_ideal(|n| state.core(n)) {
            state.failures = 0;
        }
        (state != *before).then_some(state)
    }
}

impl World {
    fn owe(&self, state: &mut State, from: usize, duty: Duty) {
        let has_room = state.in_flight() < self.in_flight_max;
        match duty {
            Duty::Ask(other) => {
                // One exchange at a time: a second one that is not begun is one that was lost.
                if let Node::Member(_, exchange) = &mut state.nodes[from]
                    && (has_room && *exchange == Exchange::None || matches!(exchange, Exchange::Asking(_)))
                {
                    *exchange = Exchange::Asking(at(other.id));
                }
            }
            Duty::Tell(other, Notice::Here) => {
                if has_room && state.is_member(at(other.id)) {
                    state.notices.insert((from, at(other.id)));
                }
            }
            // Whoever is dead may be noticed at any moment.
            Duty::Doubt(_) | Duty::Tell(_, Notice::Meet { .. }) => {}
        }
    }

    /// A question reaches a node: its answer is on the way back, or it is found dead.
    fn read(&self, state: &mut State, asker: usize, other: usize) {
        let Some(asked) = state.core(other) else { return state.lose(asker, other) };
        let (told, duty) = (Arc::new(asked.neighbours()), asked.noticed(&contact(asker)));
        if let Node::Member(_, exchange) = &mut state.nodes[asker] {
            *exchange = Exchange::Answered(other, told);
        }
        duty.into_iter().for_each(|duty| self.owe(state, other, duty));
    }
}

impl State {
    fn in_flight(&self) -> usize {
        let waits = |node: &&Node| {
            matches!(node, Node::Entering(_) | Node::Member(_, Exchange::Asking(_) | Exchange::Answered(..)))
        };
        self.notices.len() + self.nodes.iter().filter(waits).count()
    }

    fn lose(&mut self, n: usize, other: usize) {
        if let Node::Member(core, exchange) = &mut self.nodes[n] {
            Arc::make_mut(core).lose(contact(other).id);
            if *exchange == Exchange::Asking(other) {
                *exchange = Exchange::None;
            }
        }
    }
}

impl World {
    /// Whether a failure leaves what is assumed.
    fn may_die(&self, state: &State, n: usize) -> bool {
        let members: Vec<usize> = (0..PLACES).filter(|other| *other != n && state.is_member(*other)).collect();
        // Everybody else with the list it has, and the one that it will have when what is on its way has arrived.
        let mut lists = Vec::new();
        for other in (0..PLACES).filter(|other| *other != n) {
            match &state.nodes[other] {
                Node::Outside | Node::Dead => {}
                Node::Entering(place) => lists.push((other, listed(&entered(other, &place.0, &place.1)))),
                Node::Member(core, exchange) => {
                    lists.push((other, listed(core)));
                    if let (Exchange::Answered(from, told), Some(before)) = (exchange, core.head()) {
                        let mut core = entered(other, before, &Neighbours { is_whole: false, ..core.neighbours() });
                        core.hear(&contact(*from), told);
                        lists.push((other, listed(&core)));
                    }
                }
            }
        }
        let is_alone = lists.len() == 1 && self.may_shrink;
        if members.is_empty() || !(is_alone || lists.iter().all(|(_, list)| list.iter().any(|at| members.contains(at))))
        {
            return false;
        }
        let is_principal = |member: &&usize| {
            let here = contact(**member).id;
            let skips = |(from, list): &(usize, Vec<usize>)| {
                let mut pairs = std::iter::once(from).chain(list).zip(list);
                pairs.any(|(from, to)| here.is_between(contact(*from).id, contact(*to).id))
            };
            !lists.iter().any(skips)
        };
        let knows_all = |(from, core): (usize, &Core)| {
            // The planted bug is that this is not known; it is not to change what may fail.
            let is_whole = core.is_whole() || self.planted == Planted::SmallAsLarge;
            from == n
                || is_whole && members.iter().all(|other| *other == from || core.neighbours().has(contact(*other).id))
        };
        members.iter().filter(is_principal).count() > DEPTH || self.may_shrink && state.members().all(knows_all)
    }
}

fn listed(core: &Core) -> Vec<usize> {
    core.successors().iter().map(|contact| at(contact.id)).collect()
}

/// Who enters behind that one, without planted bugs: those must not change what is assumed.
fn entered(n: usize, before: &Contact, told: &Neighbours) -> Core {
    Core::joined(contact(n), DEPTH, before, told, Planted::Nothing)
}

/// A lookup by the crate's own machine, over all nodes at one moment. It begins at a member, or asks it first.
pub(crate) fn look_up(cores: &mend::Cores, from: usize, key: Id, avoid: Option<Id>) -> Option<Verdict> {
    let mut lookup = Lookup::new(key, avoid, 1, 32);
    match avoid {
        Some(_) => lookup.begin_with(&contact(from), false),
        None => lookup.begin_at(&contact(from), found(cores[from].as_ref()?, key)),
    }
    loop {
        if let Some(verdict) = lookup.verdict() {
            return Some(verdict);
        }
        let next = lookup.next_to_ask()?;
        match &cores[at(next.id)] {
            Some(core) => lookup.hear(next.id, found(core, key), None),
            None => lookup.fail(next.id),
        }
    }
}

/// What a node without fingers and remembered peers answers.
fn found(core: &Core, key: Id) -> Found {
    let near = core.successors().iter().chain(core.predecessor()).filter(|contact| contact.id != key);
    let mut nearer: Vec<_> = near.cloned().collect();
    nearer.sort_by_key(|contact| contact.id.distance_to(key));
    nearer.dedup();
    Found { neighbours: core.neighbours_for(key), nearer }
}
