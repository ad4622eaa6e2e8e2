//! Two virtual nodes of one machine are never counted as two replicas, and nobody else is left out for their sake.

use super::View;
use herodotus_ring::Contact;
use std::collections::BTreeSet;

/// More copies than anybody keeps.
const COPIES_MAX: usize = 8;

pub fn check(view: &View<'_>) -> Vec<String> {
    let machines: BTreeSet<_> = view.members().iter().map(|ring| ring.me().key).collect();
    let mut wrong = Vec::new();
    for ring in view.members() {
        let replicas = ring.core().replicas(COPIES_MAX);
        wrong.extend(check_replicas(&replicas));
        // The list may end before so many machines are in it only if it holds as many as it may.
        let seen: BTreeSet<_> = ring.core().successors().iter().chain([ring.me()]).map(|contact| contact.key).collect();
        if replicas.len() != COPIES_MAX.min(seen.len()) || seen.len() > machines.len() {
            wrong.push(format!("{:?} counts {} replicas of {} machines", ring.me(), replicas.len(), seen.len()));
        }
    }
    wrong
}

pub fn check_replicas(replicas: &[Contact]) -> Option<String> {
    let keys: BTreeSet<_> = replicas.iter().map(|contact| contact.key).collect();
    (keys.len() != replicas.len()).then(|| format!("one machine is counted twice: {replicas:?}"))
}
