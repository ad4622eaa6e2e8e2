//! Straight, or from node to node, or first ask who owns the place: what is cheapest in bytes. Decision 0015 has the arithmetic.
//!
//! With `n` links for one arc and a walker from whom they have `s` steps to go, where a batch's head costs `H`, a link `B` and a lookup `L`:
//! - walking adds `n·B·s` to what sending costs anyway (heads are shared with what walks the same way);
//! - straight to a known owner adds `H`: it pays when `H ≤ n·B·s`;
//! - asking first adds `L + H`: it pays when what walking has cost here since the last lookup and would cost now has come to that. So never more than
//!   twice as much is paid as by one who knows what is to come (the rule of the ski that is rented until the rent has come to its price).

/// What things cost, in bytes over the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// A batch beside its links, with its acknowledgement: docs/figures.md, "Link exchange".
    pub head_bytes: f64,
    /// A link in a batch of a hundred.
    pub link_bytes: f64,
    /// A lookup: of 300 nodes each sends 44,100 bytes more a minute for six of them (docs/figures.md, "Upkeep").
    pub lookup_bytes: f64,
    /// Nodes after itself that every node knows.
    pub list_nodes: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self { head_bytes: 270.0, link_bytes: 13.0, lookup_bytes: 7_350.0, list_nodes: 16.0 }
    }
}

impl Costs {
    /// Steps from a node to the owner of a place that is so many nodes further: one if its list reaches there, else half a step for each
    /// doubling (Chord's mean).
    pub fn steps(&self, nodes_between: f64) -> f64 {
        1.0 + (nodes_between.max(0.0) / self.list_nodes.max(1.0)).max(1.0).log2() / 2.0
    }

    /// What it costs more to let so many links walk.
    pub fn walk_bytes(&self, links: usize, steps: f64) -> f64 {
        links as f64 * self.link_bytes * steps
    }

    pub fn straight_pays(&self, links: usize, steps: f64) -> bool {
        self.head_bytes <= self.walk_bytes(links, steps)
    }

    pub fn lookup_pays(&self, spent_bytes: f64, links: usize, steps: f64) -> bool {
        self.lookup_bytes + self.head_bytes <= spent_bytes + self.walk_bytes(links, steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_the_way_and_the_more_the_links_the_sooner_it_pays_not_to_walk() {
        let costs = Costs::default();
        assert_eq!(costs.steps(10.0), 1.0);
        assert_eq!(costs.steps(64.0), 2.0);
        // 270 bytes are 21 links of 13 for one step, or 11 for two.
        assert!(!costs.straight_pays(20, 1.0) && costs.straight_pays(21, 1.0) && costs.straight_pays(11, 2.0));
        // 7,620 bytes are 587 links for one step, and fewer where some have walked already.
        assert!(!costs.lookup_pays(0.0, 586, 1.0) && costs.lookup_pays(0.0, 587, 1.0));
        assert!(costs.lookup_pays(7_000.0, 48, 1.0) && !costs.lookup_pays(7_000.0, 47, 1.0));
    }
}
