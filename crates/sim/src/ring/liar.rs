//! Machines that lie in their answers. They keep their own place in order, since one that lost it would do no harm for long; what they
//! tell others is twisted.
//!
//! A liar cannot be who it is not, since keys are proved; but it can make up as many keys as it likes and name nodes that never
//! were, at places as near to any key as its patience reaches.

use crate::chance::Chance;
use herodotus_base::{Id, PeerKey};
use herodotus_ring::{Answer, Body, Contact, Found, Neighbours};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Made-up nodes that a liar has ready. With 256 it names ones about as near to a key as the real neighbours in a ring of 256.
const STRANGERS: usize = 256;
/// Named in one answer.
const NAMED: usize = 16;

/// In which way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lie {
    /// Lists of nodes that never were.
    Strangers,
    /// It owns every key, and only its friends know the way.
    OwnsAll,
    /// Lists of nodes that are dead.
    Dead,
    /// It never answers who searches.
    Silent,
    /// It answers when nobody waits any more.
    Late,
}

impl Lie {
    pub const ALL: [Self; 5] = [Self::Strangers, Self::OwnsAll, Self::Dead, Self::Silent, Self::Late];
}

#[derive(Clone, Debug)]
pub struct Liar {
    lie: Lie,
    /// Whom it names instead of the truth.
    named: Vec<Contact>,
}

impl Liar {
    /// `named`: its friends, or the dead. Strangers it makes up itself.
    pub fn new(lie: Lie, chance: &mut Chance, mut named: Vec<Contact>) -> Self {
        if lie == Lie::Strangers {
            named = (0..STRANGERS).map(|_| stranger(chance)).collect();
        }
        named.sort_by_key(|contact| contact.id);
        Self { lie, named }
    }

    pub(super) fn lie(&self) -> Lie {
        self.lie
    }

    /// Puts a lie in the place of an answer. Gives how late it is sent, or nothing if it is not sent at all.
    pub(super) fn twist(&mut self, me: &Contact, asked: Option<Id>, body: &mut Body) -> Option<Duration> {
        let Body::Answer(answer) = body else { return Some(Duration::ZERO) };
        match (self.lie, asked) {
            (Lie::Silent, Some(_)) => return None,
            (Lie::Silent, None) => {}
            (Lie::Late, _) => return Some(Duration::from_secs(6)),
            (Lie::Strangers | Lie::Dead, _) if self.named.is_empty() => {}
            (Lie::Strangers | Lie::Dead, _) => match answer {
                Answer::Neighbours(neighbours) => *neighbours = self.around(me.id),
                Answer::Found(found) => {
                    let key = asked.unwrap_or(me.id);
                    let mut nearer = self.after(key, NAMED / 2);
                    nearer.extend(self.before(key, NAMED / 2));
                    *found = Found { neighbours: self.around(me.id), nearer };
                }
                Answer::Same | Answer::Noted | Answer::Outside => {}
            },
            (Lie::OwnsAll, _) => {
                if let Answer::Found(found) = answer {
                    // Nobody is between us and whatever is asked for: our predecessor is right behind ourselves.
                    found.neighbours.predecessor = self.named.iter().find(|contact| contact.id != me.id).cloned();
                    if asked.is_some_and(|key| {
                        found
                            .neighbours
                            .predecessor
                            .as_ref()
                            .is_some_and(|before| key.distance_to(before.id) <= key.distance_to(me.id))
                    }) {
                        found.neighbours.predecessor = None;
                    }
                    found.nearer = self.before(asked.unwrap_or(me.id), NAMED);
                    found.nearer.retain(|contact| contact.id != me.id);
                }
            }
        }
        Some(Duration::ZERO)
    }

    fn around(&self, me: Id) -> Neighbours {
        Neighbours { predecessor: self.before(me, 1).pop(), successors: self.after(me, NAMED), is_whole: false }
    }

    /// Named ones after a place, the nearest first.
    fn after(&self, place: Id, count: usize) -> Vec<Contact> {
        let at = self.named.partition_point(|contact| contact.id <= place);
        let (before, after) = self.named.split_at(at);
        after.iter().chain(before).filter(|contact| contact.id != place).take(count).cloned().collect()
    }

    fn before(&self, place: Id, count: usize) -> Vec<Contact> {
        let at = self.named.partition_point(|contact| contact.id < place);
        let (before, after) = self.named.split_at(at);
        before
            .iter()
            .rev()
            .chain(after.iter().rev())
            .filter(|contact| contact.id != place)
            .take(count)
            .cloned()
            .collect()
    }
}

/// A node that never was. Its key names no machine of this world.
fn stranger(chance: &mut Chance) -> Contact {
    let mut key = chance.bytes32();
    key[0] = 255;
    let [a, b, c, ..] = key;
    Contact::of_key(PeerKey(key), 0, vec![SocketAddr::from((Ipv4Addr::new(11, a, b, c), 4480))])
}
