//! The knobs of an outbox. The defaults are right for a ring of tens to thousands of nodes.

use crate::limits;
use crate::planted::Planted;
use crate::rule::Costs;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Config {
    /// Rounds begin so far apart. Longer saves bytes, shorter finds pages sooner.
    pub delay: Duration,
    /// Links wait so long for company after a quiet time.
    pub gather: Duration,
    /// For a machine that has work links wait for one part in so many of the time that it has, up to the longest.
    pub hold_part: u32,
    pub hold_max: Duration,
    /// So many links for one machine need not wait. They are counted when as many have come for all since the last time.
    pub links_plenty: usize,
    /// So many new links need not wait.
    pub links_flush: u64,
    /// A batch of so many is worth sending by itself.
    pub links_enough: usize,
    /// Batches of fewer that go straight to their owners all the same, a second. At least 1.
    pub small_batches_per_s: u32,
    pub flights_max: usize,
    pub flights_per_peer_max: usize,
    /// After so long without an answer a batch counts as failed.
    pub ack_wait: Duration,
    pub backoff_first: Duration,
    pub backoff_max: Duration,
    /// Longest rest after one that was there and could not take links yet.
    pub refused_rest_max: Duration,
    pub owners_max: usize,
    pub owner_lasts: Duration,
    pub near_max: usize,
    pub lookups_max: usize,
    pub lookup_wait: Duration,
    /// Nodes that pass a link on before it rests.
    pub steps_max: u8,
    pub parked_for: Duration,
    /// Links that wait; above this nothing more is taken.
    pub pending_max: u64,
    pub lately_slots: usize,
    /// So many that wait are known in memory.
    pub indexed_max: usize,
    pub costs: Costs,
    pub planted: Planted,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            delay: limits::DELAY,
            gather: limits::GATHER,
            hold_part: limits::HOLD_PART,
            hold_max: limits::HOLD_MAX,
            links_plenty: limits::LINKS_PLENTY,
            links_flush: limits::LINKS_FLUSH,
            links_enough: limits::LINKS_ENOUGH,
            small_batches_per_s: limits::SMALL_BATCHES_PER_S,
            flights_max: limits::FLIGHTS_MAX,
            flights_per_peer_max: limits::FLIGHTS_PER_PEER_MAX,
            ack_wait: limits::ACK_WAIT,
            backoff_first: limits::BACKOFF_FIRST,
            backoff_max: limits::BACKOFF_MAX,
            refused_rest_max: limits::REFUSED_REST_MAX,
            owners_max: limits::OWNERS_MAX,
            owner_lasts: limits::OWNER_LASTS,
            near_max: limits::NEAR_MAX,
            lookups_max: limits::LOOKUPS_MAX,
            lookup_wait: limits::LOOKUP_WAIT,
            steps_max: limits::STEPS_MAX,
            parked_for: limits::PARKED_FOR,
            pending_max: limits::PENDING_MAX,
            lately_slots: limits::LATELY_SLOTS,
            indexed_max: limits::INDEXED_MAX,
            costs: Costs::default(),
            planted: Planted::Nothing,
        }
    }
}
