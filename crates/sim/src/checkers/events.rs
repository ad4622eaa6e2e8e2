//! What a node tells those who live on it: the order within one input, and ranges that always sum up to what it owns, as `event.rs` of the
//! ring promises.

use herodotus_base::Id;
use herodotus_ring::{Event, Ring};

/// Watches one node from its start to its end.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// What was told so far sums up to this: after the first place, up to the second.
    arc: Option<(Id, Id)>,
    has_left: bool,
    /// The last kind of event within the input at hand.
    rank: u8,
}

impl Watch {
    pub fn begin_input(&mut self) {
        self.rank = 0;
    }

    /// What is wrong with an event, coming now.
    pub fn hear(&mut self, event: &Event) -> Option<String> {
        let rank = match event {
            Event::Joined { .. } => 1,
            Event::PeerDead { .. } => 2,
            Event::RangeGained { .. } | Event::RangeLost { .. } => 3,
            Event::NeighboursChanged { .. } => 4,
            // Answers to what was asked for have no place in the order, except that nothing comes after the end.
            Event::HandOver { .. } | Event::LookupDone { .. } | Event::Left => self.rank,
        };
        if self.has_left && !matches!(event, Event::LookupDone { .. }) {
            return Some(format!("an event after the last: {event:?}"));
        }
        if rank < self.rank || (rank == self.rank && matches!(rank, 1 | 3 | 4) && is_ranked(event)) {
            return Some(format!("{event:?} comes too late or twice within one input"));
        }
        if self.arc.is_none() && matches!(rank, 3 | 4) && is_ranked(event) {
            return Some(format!("{event:?} comes before anything was joined"));
        }
        self.rank = rank;
        match (event, self.arc) {
            (Event::Joined { arc }, None) => self.arc = Some(*arc),
            (Event::Joined { .. }, Some(_)) => return Some("joined twice".to_owned()),
            (Event::RangeGained { from, to }, Some((floor, me))) => {
                if *to != floor || from == to || floor == me || from.is_between(floor, me) {
                    return Some(format!("gained ({from:?}, {to:?}] while owning ({floor:?}, {me:?}]"));
                }
                self.arc = Some((*from, me));
            }
            (Event::RangeLost { from, to }, Some((floor, me))) => {
                if *from != floor || from == to || !to.is_between(floor, me) {
                    return Some(format!("lost ({from:?}, {to:?}] while owning ({floor:?}, {me:?}]"));
                }
                self.arc = Some((*to, me));
            }
            (Event::Left, _) => self.has_left = true,
            _ => {}
        }
        None
    }

    /// What is wrong now that all events of one input came.
    pub fn end_input(&self, ring: &Ring) -> Option<String> {
        let is_told = self.arc.is_none_or(|arc| arc == ring.arc());
        if ring.is_member() && (self.arc.is_none() || !is_told) {
            return Some(format!("{:?} owns {:?}, but told {:?}", ring.me(), ring.arc(), self.arc));
        }
        None
    }
}

fn is_ranked(event: &Event) -> bool {
    !matches!(event, Event::HandOver { .. } | Event::LookupDone { .. } | Event::Left)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn place(n: u8) -> Id {
        Id::small(n)
    }

    fn watch() -> Watch {
        let mut watch = Watch::default();
        watch.begin_input();
        assert_eq!(watch.hear(&Event::Joined { arc: (place(10), place(50)) }), None);
        watch.begin_input();
        watch
    }

    #[test]
    fn ranges_that_fit_are_summed_and_others_are_told() {
        let mut good = watch();
        assert_eq!(good.hear(&Event::RangeLost { from: place(10), to: place(20) }), None);
        good.begin_input();
        assert_eq!(good.hear(&Event::RangeGained { from: place(60), to: place(20) }), None);
        assert_eq!(good.arc, Some((place(60), place(50))));
        for bad in [
            Event::RangeLost { from: place(11), to: place(20) },
            Event::RangeLost { from: place(10), to: place(60) },
            Event::RangeGained { from: place(20), to: place(10) },
            Event::RangeGained { from: place(5), to: place(11) },
            Event::Joined { arc: (place(1), place(50)) },
        ] {
            assert!(watch().hear(&bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn neighbours_come_last_and_once_and_nothing_comes_after_the_end() {
        let changed = Event::NeighboursChanged { predecessor: None, successors: Vec::new() };
        let mut late = watch();
        assert_eq!(late.hear(&changed), None);
        assert!(late.hear(&Event::RangeLost { from: place(10), to: place(20) }).is_some());
        let mut twice = watch();
        assert_eq!(twice.hear(&changed), None);
        assert!(twice.hear(&changed).is_some());
        let mut ended = watch();
        assert_eq!(ended.hear(&Event::Left), None);
        assert!(ended.hear(&changed).is_some());
        assert!(Watch::default().hear(&changed).is_some());
    }
}
