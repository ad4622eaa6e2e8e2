//! What is held here and is not on our own arcs: entrusted by its owner, or a stray that is brought home and then let go.

use super::{Config, Outcome, Planted, Survey, Task, overlap};
use crate::Sum;
use herodotus_base::{Id, PeerKey};
use herodotus_ring::Contact;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// After everything that keeps copies, before what only proves them.
pub(super) const RANK: u8 = 2;
/// Arcs that others have entrusted to us and that are remembered; our neighbourhood has about R times the virtual nodes.
const ENTRUSTED_MAX: usize = 1024;
/// Arcs that others were told we hold, within a grace. Some machines let go at once, each of some thousands of entries in one piece; who comes
/// when there is no room asks again later.
const VOUCHED_MAX: usize = 1024;

/// Some of what we hold on another's arc: the places on `(from, to]`, and what their entries come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Piece {
    pub from: Id,
    pub to: Id,
    pub sum: Sum,
}

/// How far one that lacks some of a piece was helped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Help {
    None,
    Due,
    Given,
}

/// A piece on its way home.
#[derive(Clone, Debug)]
struct Homing {
    piece: Piece,
    owner: Contact,
    /// The owner was compared with, so that nothing is held here alone.
    is_brought: bool,
    confirmers: VecDeque<Contact>,
    confirmed: usize,
    /// When the first of them confirmed it.
    confirmed_at: Option<Duration>,
    /// What the first of the confirmers lacks is brought to it: its owner may not come to it, or may be lying.
    help: Help,
    /// As its owner says.
    needed: usize,
}

impl Homing {
    /// Who has confirmed it is believed to have it for as long as one that is away is waited for.
    fn is_stale(&self, now: Duration, config: &Config) -> bool {
        self.confirmed_at.is_some_and(|at| now > at + config.grace)
    }

    /// Machines that must confirm it. An owner that was cut off from most, or has just come, knows of few; we may know of more, and may have learnt of them since.
    fn needed(&self, others: usize, config: &Config) -> usize {
        self.needed.max(config.copies.min(others)).max(1)
    }

    /// Too few are left to confirm it.
    fn is_hopeless(&self, others: usize, config: &Config) -> bool {
        self.is_brought && self.confirmed + self.confirmers.len() < self.needed(others, config)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Strays {
    machine: PeerKey,
    /// Where the round goes on.
    after: Id,
    homing: Option<Homing>,
    /// Arcs that are ours to copy, as their owners said, and until when we believe it.
    entrusted: VecDeque<(Id, Id, Duration)>,
    /// Arcs of which others were told that we hold what they let go, and until when they may rely on it.
    vouched: VecDeque<(Id, Id, Duration)>,
    is_releasing: bool,
    next_at: Duration,
    /// Something came or changed since the round began.
    is_stirred: bool,
    /// The last round found nothing astray.
    is_clean: bool,
    found_astray: bool,
    is_busy: bool,
}

impl Strays {
    pub(super) fn new(machine: PeerKey, config: &Config) -> Self {
        let next_at = config.retry_after;
        Self {
            machine,
            after: Id::ZERO,
            homing: None,
            entrusted: VecDeque::new(),
            vouched: VecDeque::new(),
            is_releasing: false,
            next_at,
            is_stirred: false,
            is_clean: false,
            found_astray: false,
            is_busy: false,
        }
    }

    /// Something may have gone astray: look soon.
    pub(super) fn stir(&mut self, now: Duration) {
        self.is_stirred = true;
        self.is_clean = false;
        self.next_at = self.next_at.min(now);
    }

    pub(super) fn is_settled(&self) -> bool {
        self.is_clean && self.homing.is_none()
    }

    pub(super) fn is_entrusted(&self, place: Id, now: Duration) -> bool {
        self.entrusted.iter().any(|(from, to, until)| now < *until && place.is_in(*from, *to))
    }

    pub(super) fn entrusted(&self, now: Duration) -> impl Iterator<Item = (Id, Id)> {
        self.entrusted.iter().filter(move |known| now < known.2).map(|(from, to, _)| (*from, *to))
    }

    pub(super) fn due(&self) -> Option<Duration> {
        (!self.is_busy).then_some(self.next_at)
    }

    /// `others`: machines that we see beside ourselves.
    pub(super) fn wants(&self, now: Duration, others: usize, config: &Config) -> Option<Task> {
        if self.is_busy || now < self.next_at {
            return None;
        }
        let is_alive = |homing: &&Homing| !homing.is_stale(now, config) && !homing.is_hopeless(others, config);
        let homing = self.homing.as_ref().filter(is_alive);
        let Some(homing) = homing else { return Some(Task::Survey { after: self.after }) };
        let piece = homing.piece;
        if config.has(Planted::DeleteBeforeConfirm) {
            return Some(Task::Release { owner: homing.owner.clone(), piece });
        }
        if !homing.is_brought {
            return Some(Task::Compare { with: homing.owner.clone(), from: piece.from, to: piece.to });
        }
        if homing.confirmed >= homing.needed(others, config) {
            return Some(Task::Release { owner: homing.owner.clone(), piece });
        }
        homing.confirmers.front().cloned().map(|with| match homing.help {
            Help::Due => Task::Compare { with, from: piece.from, to: piece.to },
            Help::None | Help::Given => Task::Confirm { with, piece },
        })
    }

    /// Whether another machine may rely on us for what lies on an arc. Then it stays here until its time is over: two that held for
    /// each other would else both let go.
    pub(super) fn vouch(&mut self, now: Duration, arc: (Id, Id), config: &Config) -> bool {
        let concerned = self.homing.as_ref().is_some_and(|homing| overlap(arc, (homing.piece.from, homing.piece.to)));
        self.vouched.retain(|known| now < known.2 && (known.0, known.1) != arc);
        if self.is_releasing && concerned || self.vouched.len() >= VOUCHED_MAX {
            return false;
        }
        self.vouched.push_back((arc.0, arc.1, now + config.grace));
        if concerned && !self.is_busy {
            self.pass_over(now, config);
        }
        true
    }

    fn has_vouched(&self, now: Duration, piece: Piece) -> bool {
        self.vouched.iter().any(|(from, to, until)| now < *until && overlap((*from, *to), (piece.from, piece.to)))
    }

    pub(super) fn begin(&mut self, task: &Task) {
        self.is_busy = true;
        self.is_releasing = matches!(task, Task::Release { .. });
        if self.homing.is_none() && self.after == Id::ZERO {
            // What comes from now on may be behind us when the round ends.
            self.is_stirred = false;
        }
    }

    /// `others`: machines that we see beside ourselves.
    pub(super) fn done(&mut self, now: Duration, task: &Task, outcome: Outcome, others: usize, config: &Config) {
        (self.is_busy, self.is_releasing) = (false, false);
        self.next_at = now;
        match (task, outcome) {
            (Task::Survey { .. }, Outcome::Surveyed(found)) => self.surveyed(now, found, config),
            (Task::Survey { .. }, _) => self.next_at = now + config.retry_after,
            (Task::Compare { .. }, Outcome::Well) => {
                let Some(homing) = &mut self.homing else { return };
                if homing.is_brought {
                    homing.help = Help::Given;
                    return;
                }
                homing.is_brought = true;
                // Not enough machines count yet to let it go.
                if homing.is_hopeless(others, config) {
                    self.pass_over(now, config);
                }
            }
            (Task::Confirm { .. }, Outcome::Well) => {
                if let Some(homing) = &mut self.homing {
                    homing.confirmers.pop_front();
                    homing.confirmed += 1;
                    homing.confirmed_at = homing.confirmed_at.or(Some(now));
                    homing.help = Help::None;
                    // Too few are left to confirm it: they will be asked again. And what others rely on stays for now.
                    let (piece, is_enough) = (homing.piece, homing.confirmed >= homing.needed(others, config));
                    if homing.is_hopeless(others, config) || is_enough && self.has_vouched(now, piece) {
                        self.pass_over(now, config);
                    }
                }
            }
            (Task::Confirm { .. }, Outcome::Partly) => match &mut self.homing {
                Some(homing) if homing.help == Help::None => homing.help = Help::Due,
                _ => self.pass_over(now, config),
            },
            (Task::Release { .. }, Outcome::Well) => {
                if let Some(homing) = self.homing.take() {
                    self.advance(now, homing.piece.to, config);
                }
            }
            _ => self.pass_over(now, config),
        }
    }

    fn surveyed(&mut self, now: Duration, found: Survey, config: &Config) {
        self.homing = None;
        let Survey::Found { piece, owner, holders } = found else { return self.end_round(now, config) };
        // Whatever was entrusted to us there: this is what holds now.
        let (from, to) = holders.arc;
        self.entrusted.retain(|known| now < known.2 && !overlap((known.0, known.1), (from, to)));
        if let Some(here) = holders.holders.iter().find(|holder| holder.contact.key == self.machine) {
            // We answer for it only when its owner has filled us.
            if here.counts {
                self.entrusted.push_back((from, to, now + config.survey_every * 2));
            }
            if self.entrusted.len() > ENTRUSTED_MAX {
                self.entrusted.pop_front();
            }
            return self.advance_behind(now, piece, to, config);
        }
        self.found_astray = true;
        let counted = holders.holders.into_iter().filter(|holder| holder.counts);
        self.homing = Some(Homing {
            piece,
            owner,
            is_brought: false,
            confirmers: counted.map(|holder| holder.contact).collect(),
            confirmed: 0,
            confirmed_at: None,
            help: Help::None,
            needed: usize::from(holders.needed),
        });
    }

    /// Leaves the piece for the next round.
    fn pass_over(&mut self, now: Duration, config: &Config) {
        if let Some(homing) = self.homing.take() {
            self.advance(now, homing.piece.to, config);
        }
    }

    /// What the owner of a piece says is not believed: nothing is let go there, and what we answered for we still do.
    pub(super) fn disbelieve(&mut self, now: Duration, found: &Survey, config: &Config) {
        let Survey::Found { piece, holders, .. } = found else { return };
        (self.is_busy, self.homing, self.next_at) = (false, None, now);
        let is_its = |known: &&mut (Id, Id, Duration)| overlap((known.0, known.1), holders.arc) && now < known.2;
        self.entrusted.iter_mut().filter(is_its).for_each(|known| known.2 = now + config.survey_every * 2);
        self.advance_behind(now, *piece, holders.arc.1, config);
    }

    /// Goes on behind the arc that a piece lies on. One that goes round is the last of the round.
    fn advance_behind(&mut self, now: Duration, piece: Piece, to: Id, config: &Config) {
        if to <= piece.from {
            return self.end_round(now, config);
        }
        self.advance(now, to, config);
    }

    /// Goes on behind a place; one that is not ahead was reached by going round.
    fn advance(&mut self, now: Duration, to: Id, config: &Config) {
        if to <= self.after {
            return self.end_round(now, config);
        }
        self.after = to;
    }

    fn end_round(&mut self, now: Duration, config: &Config) {
        self.after = Id::ZERO;
        self.is_clean = !self.found_astray && !self.is_stirred;
        let again = if self.is_clean { config.survey_every } else { config.retry_after };
        self.next_at = now + again;
        self.found_astray = false;
    }
}
