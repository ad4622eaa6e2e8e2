//! Owners who entrusted something to us are audited as they audit us. One that fails twice, with a comparison in between, is distrusted: we see to it
//! that as many machines as there are to be copies have what we have of its arc, without it, and confirm nothing there that others want to let go.
//!
//! Nobody is told, and nothing is deleted because of it: one that accuses an honest owner, by mistake or on purpose, causes one copy more
//! for as long as it does. Decision 0017.

use super::tenure::Finding;
use super::{Config, Holders, Outcome, Planted, Task, overlap};
use herodotus_base::{Id, PeerKey};
use herodotus_ring::Contact;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Owners that are watched; our neighbourhood has about R times the virtual nodes. One that does not fit is taken in when another is forgotten.
const WATCHED_MAX: usize = 1024;
/// Machines that are tried in one round of a distrusted owner's copies.
const CANDIDATES_MAX: usize = 32;
/// An owner that was not met in so many audits' time is forgotten: we hold nothing of its any more, or it is gone.
const FORGOTTEN_AFTER: u32 = 4;
/// What is owed to a distrusted owner's arc comes with strays, behind our own.
const COPYING: u8 = super::strays::RANK;
const PROVING: u8 = 4;

#[derive(Clone, Debug)]
struct Watched {
    owner: Contact,
    /// As it said, and not beyond what others own.
    arc: (Id, Id),
    /// Who else counts, by its word.
    listed: Vec<Contact>,
    /// It says that it has everything there. One that has just come is filled first, but not for ever.
    is_filled: bool,
    unfilled_since: Duration,
    seen_at: Duration,
    next_at: Duration,
    unproven_since: Option<Duration>,
    trust: Trust,
    /// Who proved to have what we have of the arc, and when.
    proven: BTreeMap<PeerKey, Duration>,
    is_busy: bool,
}

#[derive(Clone, Debug)]
enum Trust {
    Trusted,
    /// It failed an audit. What was on its way to it is no lie: it is brought what it lacks, and audited once more.
    Doubted {
        is_compared: bool,
    },
    Distrusted(Option<Round>),
}

/// Machines are gone through until enough of them have proved to hold what we hold.
#[derive(Clone, Debug)]
struct Round {
    candidates: VecDeque<Contact>,
    /// The first of them was brought what it lacked.
    is_brought: bool,
    needed: usize,
}

impl Watched {
    fn due(&self, config: &Config) -> Duration {
        match self.is_filled {
            true => self.next_at,
            false => self.next_at.max(self.unfilled_since + config.probation),
        }
    }

    fn is_distrusted(&self) -> bool {
        matches!(self.trust, Trust::Distrusted(_))
    }

    /// What is wanted of whom: to prove what it has, or to be brought what it lacks.
    fn wants(&self) -> Option<(u8, &Contact, bool)> {
        match &self.trust {
            Trust::Doubted { is_compared: false } => Some((COPYING, &self.owner, false)),
            Trust::Trusted | Trust::Doubted { .. } | Trust::Distrusted(None) => Some((PROVING, &self.owner, true)),
            Trust::Distrusted(Some(round)) => Some((COPYING, round.candidates.front()?, round.is_brought)),
        }
    }

    fn audited(&mut self, now: Duration, outcome: &Outcome, round: Round, config: &Config) {
        let finding = Finding::of(now, outcome, &mut self.unproven_since, config);
        self.next_at = now;
        match (&self.trust, finding) {
            (_, Finding::Right) => {
                (self.trust, self.next_at) = (Trust::Trusted, now + config.audit_every);
                self.proven.clear();
            }
            (Trust::Trusted, Finding::Wrong) => self.trust = Trust::Doubted { is_compared: false },
            (Trust::Trusted | Trust::Doubted { .. }, Finding::Nothing) => self.next_at = now + config.retry_after,
            (Trust::Doubted { .. } | Trust::Distrusted(_), _) => {
                self.trust = Trust::Distrusted(Some(round));
                self.end_round(now, config);
            }
        }
    }

    /// One of the candidates was brought what it lacked, or has proved to have it, or not.
    fn tried(&mut self, now: Duration, is_audit: bool, outcome: &Outcome, config: &Config) {
        let Trust::Distrusted(Some(round)) = &mut self.trust else { return };
        self.next_at = now;
        if !is_audit && *outcome == Outcome::Well {
            round.is_brought = true;
            return;
        }
        round.is_brought = false;
        let Some(candidate) = round.candidates.pop_front() else { return };
        let is_proven = match outcome {
            Outcome::Well => {
                self.proven.insert(candidate.key, now);
                true
            }
            // Away for a moment: as long as it is waited for it keeps its place.
            Outcome::Failed | Outcome::Unproven => {
                let until = config.grace + config.compare_every;
                self.proven.get(&candidate.key).is_some_and(|at| now < *at + until)
            }
            _ => false,
        };
        round.needed -= usize::from(is_proven).min(round.needed);
        self.end_round(now, config);
    }

    fn end_round(&mut self, now: Duration, config: &Config) {
        let Trust::Distrusted(round) = &mut self.trust else { return };
        if round.as_ref().is_some_and(|round| round.needed == 0 || round.candidates.is_empty()) {
            *round = None;
            self.next_at = now + config.compare_every;
            self.proven.retain(|_, at| now < *at + config.grace + config.compare_every);
        }
    }

    /// Those whom the owner names, then those who follow us: they are the same machines for all who watch it, and so one machine more gets a copy, not one for each.
    fn round(&self, machine: PeerKey, line: Vec<Contact>, config: &Config) -> Round {
        let mut candidates: VecDeque<Contact> = VecDeque::new();
        for contact in self.listed.iter().cloned().chain(line) {
            let is_known = candidates.iter().any(|known| known.key == contact.key);
            if candidates.len() < CANDIDATES_MAX && !is_known && ![machine, self.owner.key].contains(&contact.key) {
                candidates.push_back(contact);
            }
        }
        Round { candidates, is_brought: false, needed: config.copies.saturating_sub(1) }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Oversight {
    machine: PeerKey,
    watched: Vec<Watched>,
    audits: u64,
}

impl Oversight {
    pub(super) fn new(machine: PeerKey) -> Self {
        Self { machine, watched: Vec::new(), audits: 0 }
    }

    /// What the owner of a place where we hold something said of it. Whether we distrust that owner; `own`: our own nodes.
    pub(super) fn see(
        &mut self,
        now: Duration,
        place: Id,
        owner: &Contact,
        holders: &Holders,
        own: impl Iterator<Item = Id>,
        config: &Config,
    ) -> bool {
        self.correct(place, owner.id);
        let told = holders.arc;
        let is_listed = holders.holders.iter().any(|holder| holder.contact.key == self.machine);
        let is_it = |known: &Watched| known.owner.id == owner.id && known.owner.key == owner.key;
        let at = self.watched.iter().position(is_it);
        if at.is_some_and(|at| !is_listed && !self.watched[at].is_distrusted()) {
            self.watched.retain(|known| !is_it(known));
            return false;
        }
        let is_wanted = at.is_some() || is_listed && self.watched.len() < WATCHED_MAX;
        if !is_wanted || config.has(Planted::TrustOwners) {
            return false;
        }
        let says_filled = holders.holders.iter().any(|holder| holder.contact.key == owner.key && holder.counts);
        let arc = self.clipped(owner, told, own);
        let known = match at {
            Some(at) => &mut self.watched[at],
            None => {
                self.watched.push(Watched {
                    owner: owner.clone(),
                    arc,
                    listed: Vec::new(),
                    is_filled: says_filled,
                    unfilled_since: now,
                    seen_at: now,
                    next_at: now,
                    unproven_since: None,
                    trust: Trust::Trusted,
                    proven: BTreeMap::new(),
                    is_busy: false,
                });
                let last = self.watched.len() - 1;
                &mut self.watched[last]
            }
        };
        if says_filled {
            (known.arc, known.is_filled) = (arc, true);
        } else if known.is_filled && covers(told, known.arc) {
            // It begins again, as after the loss of its disk.
            (known.is_filled, known.unfilled_since) = (false, now);
        }
        (known.owner, known.seen_at) = (owner.clone(), now);
        let others = holders.holders.iter().filter(|holder| holder.counts).map(|holder| &holder.contact);
        known.listed = others.filter(|other| other.key != owner.key).take(CANDIDATES_MAX).cloned().collect();
        known.is_distrusted()
    }

    /// A place has another owner than we thought. What an owner says of its arc is its word only; whose a place is the ring has found.
    fn correct(&mut self, place: Id, owner: Id) {
        self.watched.retain_mut(|known| {
            if known.owner.id == owner || !place.is_in(known.arc.0, known.arc.1) {
                return true;
            }
            // Somebody came in between, or it is gone.
            let is_between = place == owner || owner.is_between(place, known.owner.id);
            if is_between {
                known.arc.0 = owner;
            }
            is_between
        });
    }

    /// Who lies is not to have us copy what is not its own: an arc ends where its owner is, and begins no earlier than where another is.
    fn clipped(&self, owner: &Contact, (mut from, mut to): (Id, Id), own: impl Iterator<Item = Id>) -> (Id, Id) {
        if owner.id.is_in(from, to) {
            to = owner.id;
        }
        let others = self.watched.iter().map(|known| known.owner.id).filter(|other| *other != owner.id);
        for other in others.chain(own) {
            if other.is_between(from, to) {
                from = other;
            }
        }
        (from, to)
    }

    /// We own an arc ourselves now: nobody else is answered for there.
    pub(super) fn own(&mut self, arc: (Id, Id)) {
        self.watched.retain(|known| !known.owner.id.is_in(arc.0, arc.1));
    }

    pub(super) fn pass_time(&mut self, now: Duration, config: &Config) {
        let kept = config.audit_every * FORGOTTEN_AFTER + config.survey_every * 2;
        self.watched.retain(|known| now < known.seen_at + kept);
    }

    /// Owners that have failed their audits, and their arcs.
    pub(super) fn distrusted(&self) -> impl Iterator<Item = (&Contact, (Id, Id))> {
        self.watched.iter().filter(|known| known.is_distrusted()).map(|known| (&known.owner, known.arc))
    }

    /// Whether an owner of some of this is distrusted: what others let go there would rest on its word.
    pub(super) fn is_doubtful(&self, arc: (Id, Id)) -> bool {
        self.distrusted().any(|(_, known)| overlap(known, arc))
    }

    pub(super) fn due(&self, config: &Config) -> Option<Duration> {
        self.watched.iter().filter(|known| !known.is_busy).map(|known| known.due(config)).min()
    }

    pub(super) fn wants(&self, now: Duration, config: &Config) -> Option<(u8, Id, Task)> {
        let due = self.watched.iter().filter(|known| !known.is_busy && known.due(config) <= now);
        let first = due
            .filter_map(|known| Some((known.wants()?, known)))
            .min_by_key(|((rank, ..), known)| (*rank, known.next_at));
        let ((rank, with, is_audit), known) = first?;
        let ((from, to), with) = (known.arc, with.clone());
        let task = match is_audit {
            true => Task::Audit { with, from, to, nonce: self.audits },
            false => Task::Compare { with, from, to },
        };
        Some((rank, known.owner.id, task))
    }

    pub(super) fn begin(&mut self, owner: Id) {
        self.audits += 1;
        if let Some(known) = self.watched.iter_mut().find(|known| known.owner.id == owner) {
            known.is_busy = true;
        }
    }

    /// `line`: machines that follow us and may be counted on.
    pub(super) fn done(
        &mut self,
        now: Duration,
        owner: Id,
        task: &Task,
        outcome: &Outcome,
        line: Vec<Contact>,
        config: &Config,
    ) {
        let machine = self.machine;
        let (Task::Audit { with, .. } | Task::Compare { with, .. }) = task else { return };
        let Some(known) = self.watched.iter_mut().find(|known| known.owner.id == owner) else { return };
        let is_audit = matches!(task, Task::Audit { .. });
        // It may have been forgotten and met again meanwhile.
        let is_wanted = known.wants().is_some_and(|(_, who, audit)| who.key == with.key && audit == is_audit);
        if !std::mem::take(&mut known.is_busy) || !is_wanted {
            return;
        }
        match known.trust {
            Trust::Distrusted(Some(_)) => known.tried(now, is_audit, outcome, config),
            Trust::Doubted { is_compared: false } => {
                (known.trust, known.next_at) = (Trust::Doubted { is_compared: true }, now);
            }
            _ => {
                let round = known.round(machine, line, config);
                known.audited(now, outcome, round, config);
            }
        }
    }
}

/// Whether an arc has all of another.
fn covers(whole: (Id, Id), part: (Id, Id)) -> bool {
    let far = |place: Id| whole.0.distance_to(place);
    whole.0 == whole.1 || part.0 != part.1 && far(part.0) < far(part.1) && far(part.1) <= far(whole.1)
}
