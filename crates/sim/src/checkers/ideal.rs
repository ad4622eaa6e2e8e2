//! A quiet ring is ideal: every member knows exactly those before and after it, and owns exactly what lies between.

use super::View;
use herodotus_ring::{Contact, Ring};

/// As many nodes of one machine as a list holds for each machine of it at most (the same number is in `Core`).
const NODES_PER_MACHINE_MAX: usize = 4;

pub fn check(view: &View<'_>, depth: usize) -> Vec<String> {
    view.members().iter().filter_map(|ring| check_one(view, ring, depth)).collect()
}

fn check_one(view: &View<'_>, ring: &Ring, depth: usize) -> Option<String> {
    let me = ring.me();
    let (list, is_whole) = truth(view, me, depth);
    let before = view.before(me.id);
    let core = ring.core();
    if core.predecessor() != before {
        return Some(format!("{me:?} has {:?} before it, and should have {before:?}", core.predecessor()));
    }
    if core.successors().iter().ne(list.iter().copied()) {
        return Some(format!("{me:?} has {:?} after it, and should have {list:?}", core.successors()));
    }
    if core.is_whole() != is_whole {
        return Some(format!("{me:?} thinks that its list is {}the whole", if is_whole { "not " } else { "" }));
    }
    let arc = (before.map_or(me.id, |contact| contact.id), me.id);
    (ring.arc() != arc).then(|| format!("{me:?} owns {:?}, and should own {arc:?}", ring.arc()))
}

/// The list that a node should have, counted anew here: so many machines other than its own, or everybody.
fn truth<'a>(view: &View<'a>, me: &Contact, depth: usize) -> (Vec<&'a Contact>, bool) {
    let mut machines = Vec::new();
    let mut list = Vec::new();
    for contact in view.after(me.id) {
        if contact.key != me.key && !machines.contains(&contact.key) {
            machines.push(contact.key);
        }
        if machines.len() > depth || list.len() == depth * NODES_PER_MACHINE_MAX {
            return (list, false);
        }
        list.push(contact);
    }
    (list, true)
}
