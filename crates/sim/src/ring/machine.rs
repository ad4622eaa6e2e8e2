//! One simulated machine: its virtual nodes, each a [`Ring`], behind one address. It passes messages between them and the world, watches the
//! events they tell, and may lie.

use super::liar::{Liar, Lie};
use super::size::envelope_bytes;
use crate::checkers::adoption::Adoption;
use crate::checkers::events::Watch;
use crate::checkers::{machines, memory, successors};
use crate::node::{Node, Out};
use herodotus_base::{Id, PeerKey};
use herodotus_ring::{
    Body, Config, Contact, Envelope, Event, LookupFailure, LookupId, Output, Question, Ring, Standing, Verdict,
};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

#[derive(Debug)]
pub struct Machine {
    nodes: Vec<Virtual>,
    out: VecDeque<Out<Envelope, Note>>,
    liar: Option<Liar>,
    /// What others asked for in the input at hand, so that a liar can lie to the point.
    asked: Option<Id>,
    /// Lists and loads are looked at after every input, which doubles the time that it takes.
    is_watched: bool,
}

#[derive(Debug)]
struct Virtual {
    ring: Ring,
    config: Config,
    watch: Watch,
    adoption: Adoption,
    was_member: bool,
}

/// What a machine tells the world that watches it.
#[derive(Clone, Debug)]
pub enum Note {
    /// It became a member, or ceases to be one.
    Standing {
        id: Id,
        is_member: bool,
    },
    /// It wants to leave and asks for its things to be taken.
    HandOver {
        index: u16,
    },
    Left,
    Lookup {
        index: u16,
        id: LookupId,
        key: Id,
        outcome: Result<Box<Verdict>, LookupFailure>,
    },
    /// It was a member, lost all its successors, and looks for the ring again.
    Fell,
    /// A promise that holds at every moment did not hold.
    Broken(String),
}

/// The node that a numbered machine is in a world of that seed.
pub fn contact_of(seed: u64, slot: usize, index: u16) -> Contact {
    let number = slot as u64;
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8..16].copy_from_slice(&seed.to_be_bytes());
    let [.., a, b, c] = number.to_be_bytes();
    let address = SocketAddr::from((Ipv4Addr::new(10, a, b, c), 4480));
    Contact::of_key(PeerKey(key), index, vec![address])
}

/// The number of the machine that a node is on.
pub fn slot_of(contact: &Contact) -> usize {
    let number = u64::from_be_bytes(std::array::from_fn(|at| contact.key.0[at]));
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Machine {
    pub fn new(is_watched: bool) -> Self {
        Self { nodes: Vec::new(), out: VecDeque::new(), liar: None, asked: None, is_watched }
    }

    /// One more virtual node. What it does first is told by [`Machine::with`].
    pub fn add(&mut self, contact: Contact, config: Config) {
        let ring = Ring::new(contact, config.clone());
        self.nodes.push(Virtual {
            ring,
            config,
            watch: Watch::default(),
            adoption: Adoption::default(),
            was_member: false,
        });
    }

    pub fn rings(&self) -> impl Iterator<Item = &Ring> {
        self.nodes.iter().map(|node| &node.ring)
    }

    pub fn ring(&self, index: u16) -> Option<&Ring> {
        Some(&self.nodes.get(usize::from(index))?.ring)
    }

    /// Does something with one of its rings, and takes what comes of it.
    pub fn with<R>(&mut self, index: u16, now: Duration, act: impl FnOnce(&mut Ring) -> R) -> Option<R> {
        let node = self.nodes.get_mut(usize::from(index))?;
        node.watch.begin_input();
        let out = act(&mut node.ring);
        self.collect(usize::from(index), now);
        Some(out)
    }

    /// From now on it lies like that, or no more.
    pub fn lie(&mut self, liar: Option<Liar>) {
        self.liar = liar;
    }

    pub fn lies(&self) -> Option<Lie> {
        self.liar.as_ref().map(Liar::lie)
    }

    fn collect(&mut self, at: usize, now: Duration) {
        let Some(node) = self.nodes.get_mut(at) else { return };
        let index = u16::try_from(at).unwrap_or(u16::MAX);
        while let Some(output) = node.ring.poll_output() {
            match output {
                Output::Send { to, mut envelope } => {
                    let mut after = Duration::ZERO;
                    if let Some(liar) = &mut self.liar {
                        match liar.twist(node.ring.me(), self.asked, &mut envelope.body) {
                            Some(delay) => after = delay,
                            None => continue,
                        }
                    }
                    self.out.push_back(Out::Send { to: slot_of(&to), message: envelope, after });
                }
                Output::Event(event) => {
                    if let Some(wrong) = node.watch.hear(&event) {
                        self.out.push_back(Out::Note(Note::Broken(format!("events of {:?}: {wrong}", node.ring.me()))));
                    }
                    if let Some(note) = note_of(index, event) {
                        self.out.push_back(Out::Note(note));
                    }
                }
            }
        }
        let is_member = node.ring.is_member();
        if is_member != node.was_member {
            node.was_member = is_member;
            self.out.push_back(Out::Note(Note::Standing { id: node.ring.me().id, is_member }));
            if matches!(node.ring.standing(), Standing::Joining { .. }) {
                self.out.push_back(Out::Note(Note::Fell));
            }
        }
        let mut wrong = node.watch.end_input(&node.ring);
        if self.is_watched {
            if !successors::is_ordered(&node.ring) {
                wrong = Some(format!("the list of {:?} is out of order", node.ring.me()));
            }
            wrong = wrong.or_else(|| memory::check(&node.ring, &node.config));
            wrong = node.adoption.check(&node.ring, now).or(wrong);
        }
        self.out.extend(wrong.map(|wrong| Out::Note(Note::Broken(wrong))));
    }
}

fn note_of(index: u16, event: Event) -> Option<Note> {
    match event {
        Event::HandOver { .. } => Some(Note::HandOver { index }),
        Event::Left => Some(Note::Left),
        Event::LookupDone { id, key, outcome, .. } => {
            if let Some(wrong) = outcome.as_ref().ok().and_then(|found| machines::check_replicas(&found.replicas(8))) {
                return Some(Note::Broken(wrong));
            }
            Some(Note::Lookup { index, id, key, outcome: outcome.map(Box::new) })
        }
        Event::Joined { .. }
        | Event::PeerDead { .. }
        | Event::RangeGained { .. }
        | Event::RangeLost { .. }
        | Event::NeighboursChanged { .. } => None,
    }
}

impl Node for Machine {
    type Message = Envelope;
    type Note = Note;

    fn handle_message(&mut self, now: Duration, message: Envelope) {
        self.asked = match &message.body {
            Body::Ask(Question::Find { key }) => Some(*key),
            _ => None,
        };
        let Some(at) = self.nodes.iter().position(|node| node.ring.me().id == message.to) else { return };
        let node = &mut self.nodes[at];
        node.watch.begin_input();
        if self.is_watched {
            node.adoption.hear(message.from.id, now);
        }
        node.ring.handle_message(now, message);
        self.collect(at, now);
        self.asked = None;
    }

    fn handle_unreachable(&mut self, now: Duration, message: &Envelope) {
        let Some(at) = self.nodes.iter().position(|node| node.ring.me().id == message.from.id) else { return };
        let node = &mut self.nodes[at];
        node.watch.begin_input();
        node.ring.handle_unreachable(now, message.nonce);
        self.collect(at, now);
    }

    fn handle_timeout(&mut self, now: Duration) {
        for at in 0..self.nodes.len() {
            let node = &mut self.nodes[at];
            if node.ring.poll_timeout().is_some_and(|due| due <= now) {
                node.watch.begin_input();
                node.ring.handle_timeout(now);
                self.collect(at, now);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Duration> {
        self.nodes.iter().filter_map(|node| node.ring.poll_timeout()).min()
    }

    fn poll_output(&mut self) -> Option<Out<Envelope, Note>> {
        self.out.pop_front()
    }

    fn bytes(message: &Envelope) -> usize {
        envelope_bytes(message)
    }

    fn fingerprint(message: &Envelope) -> u64 {
        let kind = match &message.body {
            Body::Ask(_) => 1,
            Body::Answer(_) => 2,
            Body::Tell(_) => 3,
        };
        message.nonce ^ (envelope_bytes(message) as u64) << 40 ^ kind << 60
    }
}
