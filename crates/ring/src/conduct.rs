//! What follows when a node's neighbours told it something: whom it asks next, and whom it tells. The rules of [`Core`] say what
//! becomes of the lists; these say what is owed to others. No time, no messages: [`crate::Ring`] sends what is returned here, and the
//! model checker puts it among the messages in flight, so that both run the same protocol.
//!
//! A notice may be lost: whatever it would have brought about, the next round of asking brings about as well.

use crate::contact::Contact;
use crate::core::{Core, Neighbours};
use crate::wire::Notice;

/// Something to be sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Duty {
    /// Ask it for its neighbours; what it answers goes to [`Core::stabilised`].
    Ask(Contact),
    /// Find out whether it lives; if not, it goes to [`Core::lose`].
    Doubt(Contact),
    Tell(Contact, Notice),
}

impl Core {
    /// A successor, or one that may be, has just told its neighbours. `may_ask`: whether one that is nearer is to be asked now.
    pub fn stabilised(
        &mut self,
        from: &Contact,
        told: &Neighbours,
        may_ask: impl FnOnce(&Contact) -> bool,
    ) -> Vec<Duty> {
        let mut duties = Vec::new();
        let nearer = self.hear(from, told).filter(may_ask);
        let me = self.me().id;
        if told.is_whole || told.has(me) {
            // Whom it does not list it has found dead, or has not heard of.
            let lacks = |contact: &&Contact| contact.id != from.id && !told.has(contact.id);
            duties.extend(self.successors().iter().filter(lacks).cloned().map(Duty::Doubt));
        }
        let knows_us =
            told.predecessor.as_ref().is_some_and(|before| before.id == me) && (!told.is_whole || told.has(me));
        let is_head = self.head().is_some_and(|head| head.id == from.id);
        match nearer {
            Some(nearer) => duties.push(Duty::Ask(nearer)),
            None if is_head && !knows_us => duties.push(Duty::Tell(from.clone(), Notice::Here)),
            None => {}
        }
        duties
    }

    /// A member said that it is there.
    pub fn met(&mut self, from: &Contact) -> Option<Duty> {
        let was_head = self.head().is_some_and(|head| head.id == from.id);
        self.meet(from);
        // It is taken into the list of a large ring only when it has answered for itself.
        (!was_head && self.would_follow(from.id)).then(|| Duty::Ask(from.clone()))
    }

    /// A member spoke to us, whatever it said. If it lies before our first successor it is asked for its neighbours like any that is
    /// nearer: when all of a ring went on alone, nobody is anybody's neighbour, and no lookup could bring them together.
    pub fn noticed(&self, from: &Contact) -> Option<Duty> {
        let is_head = self.head().is_some_and(|head| head.id == from.id);
        (!is_head && self.would_follow(from.id)).then(|| Duty::Ask(from.clone()))
    }

    /// We have just joined behind that node: those whose neighbour we became are told.
    pub fn arrived(&self, before: &Contact) -> Vec<Duty> {
        let count = if self.is_whole() { self.successors().len() } else { 1 };
        let mut to: Vec<_> = self.successors().iter().take(count).cloned().collect();
        if to.iter().all(|contact| contact.id != before.id) {
            to.push(before.clone());
        }
        to.into_iter().map(|contact| Duty::Tell(contact, Notice::Here)).collect()
    }

    /// The neighbours that we have in the ring of another: ours, or better ones.
    pub fn merged(&mut self, before: &Contact, after: &Contact, after_told: &Neighbours) -> Vec<Duty> {
        let mut duties = Vec::new();
        let old = self.successors().to_vec();
        let is_old_head = old.first().is_some_and(|head| head.id == after.id);
        if !is_old_head && self.would_follow(after.id) {
            let was_whole = self.is_whole();
            self.hear(after, after_told);
            duties.push(Duty::Tell(after.clone(), Notice::Here));
            for other in old.into_iter().take(if was_whole { usize::MAX } else { 1 }) {
                duties.push(Duty::Tell(other, Notice::Meet { contact: after.clone() }));
            }
        } else if !is_old_head {
            // We have a nearer one. It should know of us, and of that one.
            duties.push(Duty::Tell(after.clone(), Notice::Here));
            if let Some(head) = old.into_iter().next() {
                duties.push(Duty::Tell(head, Notice::Meet { contact: after.clone() }));
            }
        }
        if self.predecessor().is_none_or(|old| old.id != before.id) {
            self.meet(before);
            duties.push(Duty::Tell(before.clone(), Notice::Here));
        }
        duties
    }
}
