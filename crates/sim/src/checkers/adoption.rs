//! A nearer successor is adopted from its own mouth only: whoever becomes the first before one that stays has spoken to us a moment ago. This is the
//! rule of corrected Chord that keeps the dead from being handed on.

use herodotus_base::Id;
use herodotus_ring::Ring;
use std::collections::BTreeMap;
use std::time::Duration;

/// A lookup that ends with a neighbour may have heard it as long ago as this, on the node's own clock.
const MOMENT: Duration = Duration::from_secs(20);

/// Watches one node. It may look at it after every input.
#[derive(Clone, Debug, Default)]
pub struct Adoption {
    heard: BTreeMap<Id, Duration>,
    head: Option<Id>,
    has_looked: bool,
}

impl Adoption {
    pub fn hear(&mut self, from: Id, now: Duration) {
        self.heard.insert(from, now);
    }

    pub fn check(&mut self, ring: &Ring, now: Duration) -> Option<String> {
        if !ring.is_member() {
            self.has_looked = false;
            return None;
        }
        let list = ring.core().successors();
        let head = list.first().map(|contact| contact.id);
        let old = std::mem::replace(&mut self.head, head);
        // The first list of a member is its predecessor's.
        let is_first = !std::mem::replace(&mut self.has_looked, true);
        let stays = old.is_none_or(|old| list.iter().any(|contact| contact.id == old));
        let head = head.filter(|head| Some(*head) != old && stays && !is_first)?;
        let spoke = self.heard.get(&head).is_some_and(|heard| now.saturating_sub(*heard) <= MOMENT);
        (!spoke).then(|| format!("{:?} took {head:?} for its first successor on hearsay", ring.me()))
    }
}
