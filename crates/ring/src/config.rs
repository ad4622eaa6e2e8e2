//! Every number of the ring, with its reason.

use crate::contact::Identity;
use crate::planted::Planted;
use std::time::Duration;

/// How a node behaves. All nodes of a ring should agree on `depth` and `identity`; the rest is each one's own.
#[derive(Clone, Debug)]
pub struct Config {
    pub identity: Identity,
    /// Machines in the successor list. Half of all nodes may die at once and a list of 16 is still alive with probability 1 − 2⁻¹⁶.
    pub depth: usize,
    /// Nodes that a lookup asks at once. Three hide one that is silent and one that lies.
    pub parallel_max: usize,
    /// Nodes that a lookup asks in all, those that are silent up to four times. Ten times what a ring of a million takes.
    pub asked_max: usize,
    /// How often the first successor is asked for its neighbours: how long a newcomer stays unknown.
    pub stabilise_every: Duration,
    /// How often one finger is asked whether it still is one, or looked up. They only save hops.
    pub finger_every: Duration,
    /// How often a remembered peer is asked whether it knows another ring, or the same one better.
    pub probe_every: Duration,
    /// Peers that are remembered. A thousand take 200 KB.
    pub known_max: usize,
    /// Whether lookups begin with all remembered peers, or with successors and fingers only as in the paper.
    pub uses_known: bool,
    /// Questions to a neighbour that go unanswered before it is dead. With one message in ten lost, three of three are lost
    /// once in 150 (a question or its answer), and who was called dead by mistake is back a moment later.
    pub tries: u8,
    /// A lookup ends by then, one way or the other.
    pub lookup_time_max: Duration,
    /// Lookups under way at once. More are refused at once rather than late.
    pub lookups_max: usize,
    /// A node that was a member before, and whose peers all are silent, goes on alone after this; others find it by probing. Never: it goes on asking.
    pub alone_after: Option<Duration>,
    /// For all that is left to chance.
    pub seed: u64,
    pub planted: Planted,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            identity: Identity::Key { index_max: 64 },
            depth: 16,
            parallel_max: 3,
            asked_max: 96,
            stabilise_every: Duration::from_secs(2),
            finger_every: Duration::from_secs(10),
            probe_every: Duration::from_secs(20),
            known_max: 1024,
            uses_known: true,
            tries: 4,
            lookup_time_max: Duration::from_secs(15),
            lookups_max: 1024,
            alone_after: None,
            seed: 0,
            planted: Planted::Nothing,
        }
    }
}
