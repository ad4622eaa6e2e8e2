//! Every member has a live successor, unless it is the only one; and lists are in order, without doubles and without the node itself.

use super::View;
use herodotus_ring::Ring;

pub fn check(view: &View<'_>) -> Vec<String> {
    let is_alone = view.members().len() < 2;
    let mut wrong = Vec::new();
    for ring in view.members() {
        let list = ring.core().successors();
        if !is_alone && !list.iter().any(|contact| view.member(contact.id).is_some()) {
            wrong.push(format!("{:?} has no live successor: {list:?}", ring.me()));
        }
        if !is_ordered(ring) {
            wrong.push(format!("the list of {:?} is not in order: {list:?}", ring.me()));
        }
    }
    wrong
}

/// Holds at every moment.
pub fn is_ordered(ring: &Ring) -> bool {
    let (me, list) = (ring.me().id, ring.core().successors());
    let ways: Vec<_> = list.iter().map(|contact| me.distance_to(contact.id)).collect();
    list.iter().all(|contact| contact.id != me) && ways.is_sorted_by(|a, b| a < b)
}
