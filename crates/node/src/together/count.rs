//! Whether a crawl is over, from what all machines say of their parts: pure.
//!
//! A link is, at every moment, in the outbox of who found it or in the frontier of who has it, or in both: it is taken out of the one only when
//! it is on the disk of the other. So if every machine of the circle says that it has nothing to do and nothing to send, and says so **again in a second round of questions that
//! began after the first had ended**, with nothing begun or taken in between, then at the moment between the two rounds there was nothing anywhere. (Dijkstra's and Mattern's idea of two
//! waves; loss, repeats and delay of messages cannot fool it, since it counts none.) That every machine was asked is seen by the arcs that they answer for: together they are the circle.

use super::wire::PartStatus;
use herodotus_base::{Id, PeerKey};
use std::collections::BTreeMap;

/// What one round of questions brought.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Wave {
    pub(super) parts: BTreeMap<PeerKey, PartStatus>,
    /// Machines that did not answer.
    pub(super) silent: usize,
}

impl Wave {
    /// Nobody has anything to do, as far as this round shows.
    pub(super) fn is_quiet(&self, version: u64) -> bool {
        let rests = |part: &PartStatus| part.is_idle && part.unsent == 0 && part.version == version;
        let arcs: Vec<(Id, Id)> = self.parts.values().flat_map(|part| part.arcs.iter().copied()).collect();
        self.silent == 0 && self.parts.values().all(rests) && is_circle(arcs)
    }

    /// Whether nothing was anywhere between an earlier round and this one.
    pub(super) fn confirms(&self, earlier: &Self, version: u64) -> bool {
        let activity = |wave: &Self| {
            wave.parts.iter().map(|(machine, part)| (*machine, part.activity, part.arcs.clone())).collect::<Vec<_>>()
        };
        earlier.is_quiet(version) && self.is_quiet(version) && activity(earlier) == activity(self)
    }

    pub(super) fn sum(&self, of: impl Fn(&PartStatus) -> u64) -> u64 {
        self.parts.values().map(of).sum()
    }
}

/// Whether arcs `(from, to]` lie end to end all round the circle, each place in exactly one.
fn is_circle(mut arcs: Vec<(Id, Id)>) -> bool {
    arcs.sort_unstable();
    let Some(first) = arcs.first().copied() else { return false };
    let mut at = first.1;
    for (from, to) in arcs.iter().skip(1) {
        if *from != at {
            return false;
        }
        at = *to;
    }
    at == first.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(from: u8, to: u8) -> PartStatus {
        PartStatus { is_idle: true, version: 1, arcs: vec![(Id::small(from), Id::small(to))], ..PartStatus::default() }
    }

    fn wave(parts: &[PartStatus]) -> Wave {
        let keyed = parts.iter().enumerate().map(|(n, part)| (PeerKey([n as u8; 32]), part.clone()));
        Wave { parts: keyed.collect(), silent: 0 }
    }

    #[test]
    fn a_crawl_is_over_when_the_whole_circle_rested_through_two_rounds() {
        let all = [part(1, 5), part(5, 9), part(9, 1)];
        assert!(wave(&all).confirms(&wave(&all), 1));
        assert!(wave(&[part(7, 7)]).confirms(&wave(&[part(7, 7)]), 1), "one machine alone");
        let change = |n: usize, change: fn(&mut PartStatus)| {
            let mut parts = all.clone();
            change(&mut parts[n]);
            wave(&parts)
        };
        for odd in [
            change(1, |part| part.is_idle = false),
            change(2, |part| part.unsent = 1),
            change(0, |part| part.activity = 1),
            change(0, |part| part.version = 2),
            change(0, |part| part.arcs.clear()),
            change(2, |part| part.arcs = vec![(Id::small(9), Id::small(2))]),
            wave(&all[..2]),
            Wave { silent: 1, ..wave(&all) },
        ] {
            assert!(!odd.confirms(&wave(&all), 1) && !wave(&all).confirms(&odd, 1), "{odd:?}");
        }
        assert!(!wave(&[]).confirms(&wave(&[]), 1));
    }
}
