//! Whether a crawl is over: what machines say of their parts, two rounds of questions ("waves"), which word about a crawl counts, and what becomes of
//! links that come late. Pure; who asks and answers is the node (decision 0018), or the simulator.
//!
//! A link is, at every moment, in the outbox of who found it or in the frontier of who has it, or in both: it is taken out of the one only when
//! it is on the disk of the other. So if every machine of the circle says that it has nothing to do and nothing to send, and says so **again in a second wave that
//! began after the first had ended**, with nothing begun or taken in between, then at the moment between the two there was nothing anywhere. (Dijkstra's and Mattern's idea of two
//! waves; loss, repeats and delay of messages cannot fool it, since it counts none.) That every machine was asked is seen by the arcs that they answer for: together they are the circle.
//!
//! Not promised: what walks through a machine that is not on the circle at that moment. If that machine comes back, it says so, and the crawl goes on; if it
//! is lost for good, so is the link. Two halves of a split ring each come to an end of their own.

use crate::planted::Planted;
use crate::prospect::CrawlId;
use herodotus_base::{Id, PeerKey};
use std::collections::{BTreeMap, BTreeSet};

/// What a machine says of its part of a crawl.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// The version of the crawl's order that it goes by.
    pub version: u64,
    /// Nothing is due, in flight, or on its way to the disk.
    pub is_idle: bool,
    /// Grows with everything that is begun or taken in, and is another in each life: the same twice, and nothing has happened between.
    pub activity: u64,
    /// Links on their way to others.
    pub unsent: u64,
    /// The arcs that it answers for: those that are its own and of which it has taken over all that is known ([`Adoption`]).
    pub arcs: Vec<(Id, Id)>,
}

/// What one round of questions brought.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wave {
    pub parts: BTreeMap<PeerKey, Part>,
    /// Machines that did not answer, or have no part of it.
    pub silent: usize,
}

impl Wave {
    /// Nobody has anything to do, as far as this round shows.
    fn is_quiet(&self, version: u64, planted: Planted) -> bool {
        let has_sent = |part: &Part| part.unsent == 0 || planted.is(Planted::UnsentForgotten);
        let rests = |part: &Part| part.is_idle && has_sent(part) && part.version == version;
        let arcs: Vec<(Id, Id)> = self.parts.values().flat_map(|part| part.arcs.iter().copied()).collect();
        // Who is on the circle and silent is missed by the arcs; who is off it may have links that walk.
        self.silent == 0 && self.parts.values().all(rests) && (is_circle(arcs) || planted.is(Planted::ArcsUnchecked))
    }

    /// Whether nothing was anywhere between an earlier round and this one.
    fn confirms(&self, earlier: &Self, version: u64, planted: Planted) -> bool {
        let said = |wave: &Self| {
            let parts = wave.parts.iter().map(|(machine, part)| (*machine, part.activity, part.arcs.clone()));
            parts.collect::<Vec<_>>()
        };
        earlier.is_quiet(version, planted) && self.is_quiet(version, planted) && said(earlier) == said(self)
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

/// Whoever looks after crawls remembers the last wave of each.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    earlier: BTreeMap<CrawlId, Wave>,
    planted: Planted,
}

impl Watch {
    pub fn new(planted: Planted) -> Self {
        Self { earlier: BTreeMap::new(), planted }
    }

    /// A wave has ended; the next is to begin after this. Whether the crawl, by the order of that version, is over.
    pub fn handle_wave(&mut self, crawl: CrawlId, version: u64, wave: Wave) -> bool {
        if self.planted.is(Planted::OneWave) {
            return wave.is_quiet(version, self.planted);
        }
        let earlier = self.earlier.get(&crawl);
        let is_over = earlier.is_some_and(|earlier| wave.confirms(earlier, version, self.planted));
        self.earlier.insert(crawl, wave);
        is_over
    }

    /// The crawl does not run, or is another's to look after.
    pub fn forget(&mut self, crawl: &CrawlId) {
        self.earlier.remove(crawl);
    }

    /// Whether it was lately asked about.
    pub fn has(&self, crawl: &CrawlId) -> bool {
        self.earlier.contains_key(crawl)
    }
}

/// Which of a machine's parts have taken over all that is known of what is the machine's own. `G` says what that is, and differs after every change.
#[derive(Clone, Debug, Default)]
pub struct Adoption<G> {
    ground: Option<G>,
    parts: BTreeSet<CrawlId>,
}

impl<G: PartialEq> Adoption<G> {
    /// Whether nothing has changed since parts took over.
    pub fn is_of(&self, ground: &G) -> bool {
        self.ground.as_ref() == Some(ground)
    }

    /// These parts took over all that was known when this was ours.
    pub fn handle_ground(&mut self, ground: G, parts: impl IntoIterator<Item = CrawlId>) {
        self.ground = Some(ground);
        self.parts = parts.into_iter().collect();
    }

    /// A part was begun, and has since taken over what was known.
    pub fn handle_part(&mut self, crawl: CrawlId) {
        self.parts.insert(crawl);
    }

    pub fn forget(&mut self, crawl: &CrawlId) {
        self.parts.remove(crawl);
    }

    /// Whether the part may answer for what is ours now.
    pub fn answers_for(&self, crawl: &CrawlId, ground: &G) -> bool {
        self.is_of(ground) && self.parts.contains(crawl)
    }
}

/// The number of a word about a crawl; of two words the one with the higher number counts, for everybody. What people said comes first in it, then how often machines have
/// said something by themselves since (that it is over, that it goes on). So a machine's word never undoes what a person said and the machine had not heard of, and
/// between machines nothing is lost by taking the later: whoever still has work, or something to add, says so again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Edition(pub u64);

impl Edition {
    /// A million words of machines between two of people; one more would count as a person's of a millisecond later. Milliseconds have 44 bits, until the year 2527.
    const NOTED_BITS: u32 = 20;

    /// A person says something now. Two who do so at once, without knowing of each other: whoever did so later is right, as far as clocks agree.
    #[must_use]
    pub fn said(self, wall_ms: u64) -> Self {
        let after = (self.0 >> Self::NOTED_BITS).saturating_add(1);
        let said = wall_ms.max(after).min(u64::MAX >> Self::NOTED_BITS);
        // Who means no good may have used up all numbers: then nothing is later.
        Self(said << Self::NOTED_BITS).max(self)
    }

    /// A machine says something by itself, of the crawl as it knows it.
    #[must_use]
    pub fn noted(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// How a crawl stands by what a machine has heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Unheard,
    Running,
    Paused,
    Stopped,
    Complete,
}

/// What becomes of a link whose crawl has no part here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Welcome {
    /// It begins, or we have not heard of it yet: whoever has the link keeps it.
    NotYet,
    /// It may go on: the link rests in our outbox. If the crawl was called complete, it goes on because of this.
    Rests,
    Dropped,
}

/// `is_settled`: there is a record here which says that the URL was visited in this run.
pub fn welcome(phase: Phase, is_settled: bool) -> Welcome {
    match phase {
        Phase::Unheard | Phase::Running => Welcome::NotYet,
        Phase::Complete if is_settled => Welcome::Dropped,
        Phase::Paused | Phase::Complete => Welcome::Rests,
        Phase::Stopped => Welcome::Dropped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(from: u8, to: u8) -> Part {
        Part { is_idle: true, version: 1, arcs: vec![(Id::small(from), Id::small(to))], ..Part::default() }
    }

    fn wave(parts: &[Part]) -> Wave {
        let keyed = (0..).zip(parts).map(|(n, part)| (PeerKey([n; 32]), part.clone()));
        Wave { parts: keyed.collect(), silent: 0 }
    }

    fn confirms(later: &Wave, earlier: &Wave) -> bool {
        let (mut watch, crawl) = (Watch::default(), [1; 16]);
        assert!(!watch.handle_wave(crawl, 1, earlier.clone()), "one wave says nothing");
        assert!(!watch.clone().handle_wave([2; 16], 1, later.clone()), "nor does one of another crawl");
        watch.handle_wave(crawl, 1, later.clone())
    }

    #[test]
    fn a_crawl_is_over_when_the_whole_circle_rested_through_two_rounds() {
        let all = [part(1, 5), part(5, 9), part(9, 1)];
        assert!(confirms(&wave(&all), &wave(&all)));
        assert!(confirms(&wave(&[part(7, 7)]), &wave(&[part(7, 7)])), "one machine alone");
        let change = |n: usize, change: fn(&mut Part)| {
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
            assert!(!confirms(&odd, &wave(&all)) && !confirms(&wave(&all), &odd), "{odd:?}");
        }
        assert!(!confirms(&wave(&[]), &wave(&[])));
    }

    #[test]
    fn a_part_answers_for_what_is_ours_when_it_has_taken_over_all_that_is_known_of_it() {
        let (mut adoption, old, new) = (Adoption::default(), [1; 16], [2; 16]);
        assert!(!adoption.answers_for(&old, &"arc"));
        adoption.handle_ground("arc", [old]);
        assert!(adoption.answers_for(&old, &"arc") && !adoption.answers_for(&old, &"longer arc"));
        assert!(!adoption.answers_for(&new, &"arc"), "it has just begun");
        adoption.handle_part(new);
        assert!(adoption.answers_for(&new, &"arc"));
        adoption.forget(&new);
        assert!(!adoption.answers_for(&new, &"arc") && adoption.answers_for(&old, &"arc"));
    }

    #[test]
    fn what_machines_say_by_themselves_does_not_undo_what_they_did_not_know_of() {
        let begun = Edition::default().said(1_000);
        let changed = begun.said(1_001);
        // It is called over, goes on and is over again, by machines that have not heard of the change.
        let over = begun.noted().noted().noted();
        assert!(begun < begun.noted() && over < changed && changed < changed.noted());
        assert!(changed < changed.said(7), "a clock that is behind");
        assert_eq!(Edition(u64::MAX).said(7).noted(), Edition(u64::MAX), "nothing is later, and nothing breaks");
    }

    #[test]
    fn links_of_a_crawl_that_may_go_on_are_never_dropped() {
        for is_settled in [false, true] {
            assert_eq!(welcome(Phase::Unheard, is_settled), Welcome::NotYet, "nobody has told us yet");
            assert_eq!(welcome(Phase::Running, is_settled), Welcome::NotYet);
            assert_eq!(welcome(Phase::Paused, is_settled), Welcome::Rests);
            assert_eq!(welcome(Phase::Stopped, is_settled), Welcome::Dropped);
        }
        assert_eq!(welcome(Phase::Complete, false), Welcome::Rests, "it was called complete too soon for this one");
        assert_eq!(welcome(Phase::Complete, true), Welcome::Dropped);
    }
}
