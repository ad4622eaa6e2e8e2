//! What a node holds is bounded by its configuration, whatever is done to it.

use herodotus_ring::{Config, Ring};

/// Fingers, probes and joins that run beside the lookups that users ask for.
const LOOKUPS_OWN_MAX: usize = 16;
/// Neighbours that are asked beside lookups: those that are doubted, and those that are told of a leave.
const QUESTIONS_OWN_MAX: usize = 128;

pub fn check(ring: &Ring, config: &Config) -> Option<String> {
    let load = ring.load();
    let known_max = config.known_max.max(config.depth * 4);
    let lookups_max = config.lookups_max + LOOKUPS_OWN_MAX;
    let pending_max = 2 * lookups_max * config.parallel_max + QUESTIONS_OWN_MAX;
    let me = ring.me();
    if load.known > known_max {
        return Some(format!("{me:?} remembers {} peers, more than {known_max}", load.known));
    }
    if load.lookups > lookups_max {
        return Some(format!("{me:?} runs {} lookups, more than {lookups_max}", load.lookups));
    }
    if load.pending > pending_max {
        return Some(format!("{me:?} waits for {} answers, more than {pending_max}", load.pending));
    }
    if load.outputs > 0 {
        return Some(format!("{me:?} keeps {} outputs that nobody asked for", load.outputs));
    }
    None
}
