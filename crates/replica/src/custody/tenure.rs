//! One node's arc: who is to hold it, who of them counts, and what of it we have not filled ourselves.

use super::{Config, Outcome, Planted, Task};
use herodotus_base::{Id, PeerKey};
use herodotus_ring::{Contact, distinct_machines};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Pieces of an arc that are not filled yet. Beyond, they are one piece: more is compared than needed, nothing is missed.
const GAPS_MAX: usize = 16;

/// What an owner tells of a place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holders {
    /// Of which it is true: the owner's arc, or the piece of it around the place that is filled or not.
    pub arc: (Id, Id),
    /// The owner first, then as they follow.
    pub holders: Vec<Holder>,
    /// Machines that must confirm an entry before anybody else lets it go.
    pub needed: u16,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holder {
    pub contact: Contact,
    pub counts: bool,
}

/// How an arc stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Level {
    pub node: Contact,
    pub arc: (Id, Id),
    /// Machines that have everything and count, we among them.
    pub counted: usize,
    pub needed: usize,
    /// Machines that are being filled.
    pub filling: usize,
    /// Machines that are away and will not be replaced before their time.
    pub away: usize,
    pub distrusted: usize,
    pub on_probation: usize,
    pub is_filled: bool,
}

#[derive(Clone, Debug)]
struct Holding {
    contact: Contact,
    is_filled: bool,
    /// Does not answer since then.
    lost_at: Option<Duration>,
    is_distrusted: bool,
    uptime: Duration,
    compare_at: Duration,
    /// Comparisons that failed since the last that did not.
    failures: u32,
    audit_at: Duration,
    is_busy: bool,
    /// Something was missed since the order that is out was given: a comparison that ends well says nothing of it.
    is_doubted: bool,
}

impl Holding {
    /// What it has is no longer known, and will not be from a comparison that is under way.
    fn doubt(&mut self, compare_at: Duration) {
        (self.is_filled, self.compare_at, self.is_doubted) = (false, compare_at, self.is_busy);
    }

    /// There, or away for less than the grace.
    fn is_waited_for(&self, now: Duration, config: &Config) -> bool {
        self.lost_at.is_none_or(|at| now < at + config.grace)
    }
}

/// A piece of the arc that we gained, and who is still to be compared with before we answer for it.
#[derive(Clone, Debug)]
struct Gap {
    from: Id,
    to: Id,
    compared: BTreeSet<PeerKey>,
    retry_at: Duration,
    /// Comparisons that failed since the last that did not.
    failures: u32,
    /// With whom it is being compared, and what of it: the arc may change meanwhile.
    busy: Option<(PeerKey, Id, Id)>,
}

#[derive(Clone, Debug)]
pub(super) struct Tenure {
    node: Contact,
    arc: (Id, Id),
    /// By their distance from us, the lost ones too.
    holdings: Vec<Holding>,
    gaps: Vec<Gap>,
    audits: u64,
    /// Going: others must be enough.
    is_leaving: bool,
}

impl Tenure {
    pub(super) fn new(node: Contact, arc: (Id, Id), now: Duration) -> Self {
        let mut tenure = Self { node, arc, holdings: Vec::new(), gaps: Vec::new(), audits: 0, is_leaving: false };
        tenure.gain(arc, now);
        tenure
    }

    /// Of one that sees to an arc beside its owner: nothing of it is gained, only given.
    pub(super) fn deputy(owner: Contact, arc: (Id, Id), now: Duration) -> Self {
        Self { gaps: Vec::new(), ..Self::new(owner, arc, now) }
    }

    /// As a deputy: how the arc and those who follow its owner are now.
    pub(super) fn stand_in(&mut self, now: Duration, arc: (Id, Id), line: &[Contact], config: &Config) {
        if arc != self.arc {
            self.arc = arc;
            self.holdings.iter_mut().for_each(|holding| holding.doubt(now));
        }
        self.set_line(now, line, config);
        self.gaps.clear();
    }

    pub(super) fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// Machines beside us that must count.
    fn others(&self, config: &Config) -> usize {
        config.copies.saturating_sub(usize::from(!self.is_leaving))
    }

    pub(super) fn owns(&self, place: Id) -> bool {
        place.is_in(self.arc.0, self.arc.1)
    }

    pub(super) fn arc(&self) -> (Id, Id) {
        self.arc
    }

    pub(super) fn has_all(&self) -> bool {
        self.gaps.is_empty()
    }

    pub(super) fn is_filled(&self, place: Id) -> bool {
        !self.gaps.iter().any(|gap| place.is_in(gap.from, gap.to))
    }

    /// Whether that is another arc than before.
    pub(super) fn set_arc(&mut self, now: Duration, arc: (Id, Id)) -> bool {
        if arc == self.arc {
            return false;
        }
        let old = std::mem::replace(&mut self.arc, arc);
        // Arcs end at our own place; only their beginning moves.
        if old.0.is_in(arc.0, arc.1) && old.0 != arc.1 {
            self.gain((arc.0, old.0), now);
            // What our holders have of it is not known.
            self.holdings.iter_mut().for_each(|holding| holding.doubt(now));
        }
        self.gaps.retain_mut(|gap| {
            // A gap that goes all round is one of the whole arc, whatever that is now. One that begins where the arc ends began when the arc went round.
            if gap.from == gap.to || !(gap.from == arc.0 || gap.from.is_between(arc.0, arc.1)) {
                gap.from = arc.0;
            }
            gap.from != gap.to && gap.to.is_in(arc.0, arc.1)
        });
        true
    }

    fn gain(&mut self, (from, to): (Id, Id), now: Duration) {
        let gap = Gap { from, to, compared: BTreeSet::new(), retry_at: now, failures: 0, busy: None };
        if self.gaps.len() < GAPS_MAX {
            self.gaps.push(gap);
        } else {
            self.gaps = vec![Gap { from: self.arc.0, to: self.arc.1, ..gap }];
        }
    }

    pub(super) fn set_line(&mut self, now: Duration, line: &[Contact], config: &Config) {
        if self.holdings.is_empty() && !line.is_empty() {
            // Alone until now: what others took in meanwhile is not known here.
            self.gain(self.arc, now);
        }
        // The first of each other machine.
        let line = distinct_machines(std::iter::once(&self.node).chain(line), line.len() + 1).split_off(1);
        let mut known: BTreeMap<PeerKey, Holding> = self.holdings.drain(..).map(|h| (h.contact.key, h)).collect();
        for contact in line {
            let mut holding = known.remove(&contact.key).unwrap_or_else(|| Holding {
                contact: contact.clone(),
                is_filled: config.has(Planted::ForgetPushOnCrash),
                lost_at: None,
                is_distrusted: false,
                uptime: Duration::ZERO,
                compare_at: if config.has(Planted::ForgetPushOnCrash) { now + config.compare_every } else { now },
                failures: 0,
                audit_at: now + config.audit_every,
                is_busy: false,
                is_doubted: false,
            });
            if holding.lost_at.take().is_some() {
                // Who comes back is told what it missed.
                holding.doubt(now);
            }
            holding.contact = contact;
            self.holdings.push(holding);
        }
        // Those who are not there any more keep their place for a while, however they went: most come back.
        self.holdings.extend(known.into_values().map(|holding| {
            let lost_at = holding.lost_at.or(Some(now));
            Holding { lost_at, ..holding }
        }));
        let here = self.node.id;
        self.holdings.sort_by_key(|holding| here.distance_to(holding.contact.id));
        self.pass_time(now, config);
    }

    /// Those who were away for too long are no longer waited for.
    pub(super) fn pass_time(&mut self, now: Duration, config: &Config) {
        self.holdings.retain(|holding| holding.lost_at.is_none_or(|at| now < at + config.grace));
        self.close_gaps(now, config);
        self.forget_others(now, config);
    }

    /// Who is not to hold the arc may let it go at any time: it is compared anew when it is wanted again.
    fn forget_others(&mut self, now: Duration, config: &Config) {
        let reach = self.wanted_reach(now, config);
        for (at, holding) in self.holdings.iter_mut().enumerate() {
            if at < reach && holding.is_waited_for(now, config) {
                continue;
            }
            holding.doubt(now);
        }
    }

    /// A machine wants to let go of what it has of the arc. Not if it is to hold it; else it does not count from now on, whatever comes.
    pub(super) fn let_go(&mut self, now: Duration, machine: PeerKey, config: &Config) -> bool {
        self.forget_others(now, config);
        !self.wanted(now, config).iter().any(|holding| holding.contact.key == machine)
    }

    pub(super) fn lose(&mut self, now: Duration, machine: PeerKey) {
        for holding in &mut self.holdings {
            if holding.contact.key == machine && holding.lost_at.is_none() {
                holding.lost_at = Some(now);
            }
        }
    }

    pub(super) fn seen_up(&mut self, now: Duration, machine: PeerKey, uptime: Duration, config: &Config) {
        for holding in self.holdings.iter_mut().filter(|holding| holding.contact.key == machine) {
            holding.uptime = uptime;
        }
        self.forget_others(now, config);
    }

    pub(super) fn push_failed(&mut self, now: Duration, machine: PeerKey, config: &Config) {
        for holding in self.holdings.iter_mut().filter(|holding| holding.contact.key == machine) {
            holding.doubt(holding.compare_at.min(now + config.retry_after));
        }
    }

    /// Machines that are to hold the arc, in order: as far as it takes until enough of them will count.
    fn wanted(&self, now: Duration, config: &Config) -> Vec<&Holding> {
        let reach = self.wanted_reach(now, config);
        self.holdings[..reach].iter().filter(|holding| holding.is_waited_for(now, config)).collect()
    }

    /// How far along the line those go who are to hold the arc.
    fn wanted_reach(&self, now: Duration, config: &Config) -> usize {
        let others = self.others(config);
        let has_probation = self.has_probation(config);
        let mut will_count = 0;
        for (at, holding) in self.holdings.iter().enumerate() {
            if will_count >= others {
                return at;
            }
            let is_new = has_probation && holding.uptime < config.probation;
            will_count += usize::from(holding.is_waited_for(now, config) && !holding.is_distrusted && !is_new);
        }
        self.holdings.len()
    }

    /// A young ring cannot be choosy: probation is for newcomers among enough others.
    fn has_probation(&self, config: &Config) -> bool {
        let old = self.holdings.iter().filter(|holding| !holding.is_distrusted && holding.uptime >= config.probation);
        !config.has(Planted::CountProbationers) && old.count() >= self.others(config)
    }

    fn counts(&self, holding: &Holding, config: &Config) -> bool {
        let is_old = !self.has_probation(config) || holding.uptime >= config.probation;
        let is_filled = holding.is_filled || config.has(Planted::CountProbationers);
        is_filled && is_old && !holding.is_distrusted && holding.lost_at.is_none()
    }

    pub(super) fn live_wanted(&self, now: Duration, config: &Config) -> Vec<Contact> {
        let wanted = self.wanted(now, config).into_iter();
        wanted.filter(|holding| holding.lost_at.is_none()).map(|holding| holding.contact.clone()).collect()
    }

    /// Who is to get what is stored here: those who are to hold the arc, without the lost. If they are fewer than `min`, some who follow as well: what
    /// comes in while our neighbours are away is not to lie here alone. It is a stray with them. A ring of one copy asks for none.
    pub(super) fn push_to(&self, now: Duration, min: usize, config: &Config) -> Vec<Contact> {
        let mut targets = self.live_wanted(now, config);
        let min = if config.copies > 1 { min } else { 0 };
        let rest = self.holdings.iter().filter(|holding| holding.lost_at.is_none() && !holding.is_distrusted);
        for holding in rest {
            if targets.len() >= min {
                break;
            }
            if !targets.iter().any(|target| target.key == holding.contact.key) {
                targets.push(holding.contact.clone());
            }
        }
        targets
    }

    /// Machines that follow us and are there, as they follow.
    pub(super) fn line(&self) -> impl Iterator<Item = &Contact> {
        self.holdings.iter().filter(|holding| holding.lost_at.is_none()).map(|holding| &holding.contact)
    }

    /// Other machines that we see.
    pub(super) fn others_seen(&self) -> usize {
        self.holdings.iter().filter(|holding| holding.lost_at.is_none()).count()
    }

    /// Machines that may have what is on the arc, are away, and are not given up yet: those who are to hold it, and whoever stood between us and one that is still there. Behind those
    /// nobody is missed: others came between, and the line that we are shown ends before them.
    pub(super) fn away(&self, now: Duration, config: &Config) -> usize {
        let last = self.holdings.iter().rposition(|holding| holding.lost_at.is_none());
        let reach = self.wanted_reach(now, config).max(last.unwrap_or(0));
        let missed = |holding: &&Holding| holding.lost_at.is_some() && holding.is_waited_for(now, config);
        self.holdings[..reach].iter().filter(missed).count()
    }

    fn needed(&self, config: &Config) -> usize {
        config.copies.min(1 + self.holdings.len()).max(1)
    }

    pub(super) fn holders(&self, place: Id, now: Duration, config: &Config) -> Holders {
        let gap = self.gaps.iter().find(|gap| place.is_in(gap.from, gap.to));
        let arc = gap.map_or(self.arc, |gap| (gap.from, gap.to));
        // Around gaps, only what lies before the next one is known to be filled.
        let arc = if gap.is_none() && !self.gaps.is_empty() { self.around(place) } else { arc };
        let mut holders = vec![Holder { contact: self.node.clone(), counts: gap.is_none() }];
        holders.extend(
            self.wanted(now, config)
                .into_iter()
                .map(|holding| Holder { contact: holding.contact.clone(), counts: self.counts(holding, config) }),
        );
        Holders { arc, holders, needed: u16::try_from(self.needed(config)).unwrap_or(u16::MAX) }
    }

    /// The filled piece of our arc that a place lies on.
    fn around(&self, place: Id) -> (Id, Id) {
        let mut piece = self.arc;
        for gap in &self.gaps {
            if gap.to.is_in(piece.0, piece.1) && piece.0.distance_to(gap.to) < piece.0.distance_to(place) {
                piece.0 = gap.to;
            }
        }
        for gap in &self.gaps {
            if gap.from.is_in(piece.0, piece.1) && piece.0.distance_to(gap.from) >= piece.0.distance_to(place) {
                piece.1 = gap.from;
            }
        }
        piece
    }

    pub(super) fn level(&self, now: Duration, config: &Config) -> Level {
        let wanted = self.wanted(now, config);
        let count = |is: &dyn Fn(&Holding) -> bool| wanted.iter().filter(|holding| is(holding)).count();
        Level {
            node: self.node.clone(),
            arc: self.arc,
            counted: usize::from(self.gaps.is_empty()) + count(&|holding| self.counts(holding, config)),
            needed: self.needed(config),
            filling: count(&|holding| !holding.is_filled && holding.lost_at.is_none()),
            away: count(&|holding| holding.lost_at.is_some()),
            distrusted: count(&|holding| holding.is_distrusted),
            on_probation: count(&|holding| self.has_probation(config) && holding.uptime < config.probation),
            is_filled: self.gaps.is_empty(),
        }
    }

    pub(super) fn is_settled(&self, now: Duration, config: &Config) -> bool {
        let wanted = self.wanted(now, config);
        self.gaps.is_empty() && wanted.iter().all(|holding| holding.is_filled)
    }

    /// When there is something to do again. Only what would then be wanted counts: a moment that has passed and at which nothing is to do would wake us for ever.
    pub(super) fn due(&self, now: Duration, config: &Config) -> Option<Duration> {
        let wanted = self.wanted(now, config);
        let live = || wanted.iter().filter(|holding| holding.lost_at.is_none());
        let has_source = |gap: &&Gap| live().any(|source| !gap.compared.contains(&source.contact.key));
        let gaps = self.gaps.iter().filter(|gap| gap.busy.is_none()).filter(has_source).map(|gap| gap.retry_at);
        let lost = self.holdings.iter().filter_map(|holding| holding.lost_at.map(|at| at + config.grace));
        let holders = live().filter(|holding| !holding.is_busy).map(|holding| match holding.is_filled {
            true => holding.compare_at.min(holding.audit_at),
            false => holding.compare_at,
        });
        gaps.chain(lost).chain(holders).min()
    }

    /// What is most needed now, with a rank: the lower, the more.
    pub(super) fn wants(&self, now: Duration, config: &Config) -> Option<(u8, Task)> {
        if let Some(task) = self.wants_filling(now, config) {
            return Some((0, task));
        }
        let (from, to) = self.arc;
        let wanted = self.wanted(now, config);
        let free = |holding: &&&Holding| !holding.is_busy && holding.lost_at.is_none();
        // Who lacks most is served first.
        let behind = wanted.iter().filter(free).filter(|holding| holding.compare_at <= now);
        if let Some(holding) = behind.min_by_key(|holding| (holding.is_filled, holding.compare_at)) {
            let rank = if holding.is_filled { 3 } else { 1 };
            return Some((rank, Task::Compare { with: holding.contact.clone(), from, to }));
        }
        let unproven = wanted.iter().filter(free).filter(|holding| holding.is_filled && holding.audit_at <= now);
        let holding = unproven.min_by_key(|holding| holding.audit_at)?;
        Some((4, Task::Audit { with: holding.contact.clone(), from, to, nonce: self.audits }))
    }

    fn wants_filling(&self, now: Duration, config: &Config) -> Option<Task> {
        if self.gaps.is_empty() {
            return None;
        }
        let sources = self.live_wanted(now, config);
        for gap in self.gaps.iter().filter(|gap| gap.busy.is_none() && gap.retry_at <= now) {
            if let Some(source) = sources.iter().find(|source| !gap.compared.contains(&source.key)) {
                return Some(Task::Compare { with: source.clone(), from: gap.from, to: gap.to });
            }
        }
        None
    }

    /// An order was given out.
    pub(super) fn begin(&mut self, task: &Task) {
        let (with, is_gap) = match task {
            Task::Compare { with, from, to } => {
                let is_it = |gap: &&mut Gap| gap.busy.is_none() && (gap.from, gap.to) == (*from, *to);
                let gap = self.gaps.iter_mut().find(is_it);
                (with, gap.map(|gap| gap.busy = Some((with.key, *from, *to))).is_some())
            }
            Task::Audit { with, .. } => {
                self.audits += 1;
                (with, false)
            }
            _ => return,
        };
        if let Some(holding) = self.holding(with.key).filter(|_| !is_gap) {
            (holding.is_busy, holding.is_doubted) = (true, false);
        }
    }

    pub(super) fn done(&mut self, now: Duration, task: &Task, outcome: &Outcome, config: &Config) {
        match task {
            Task::Compare { with, from, to } => {
                let is_it = |gap: &&mut Gap| gap.busy == Some((with.key, *from, *to));
                if let Some(gap) = self.gaps.iter_mut().find(is_it) {
                    gap.busy = None;
                    match outcome {
                        Outcome::Well => {
                            gap.failures = 0;
                            gap.compared.insert(with.key);
                        }
                        _ => {
                            gap.retry_at = now + config.retry(gap.failures);
                            gap.failures = gap.failures.saturating_add(1);
                        }
                    }
                    return self.close_gaps(now, config);
                }
                let is_whole = (*from, *to) == self.arc;
                if let Some(holding) = self.holding(with.key) {
                    holding.is_busy = false;
                    match outcome {
                        // Of an arc that has grown meanwhile not everything was compared, and what was missed meanwhile may not have been.
                        Outcome::Well if is_whole && !holding.is_doubted => {
                            (holding.is_filled, holding.compare_at) = (true, now + config.compare_every);
                            holding.failures = 0;
                        }
                        Outcome::Well => holding.compare_at = now,
                        _ => {
                            (holding.is_filled, holding.compare_at) = (false, now + config.retry(holding.failures));
                            holding.failures = holding.failures.saturating_add(1);
                        }
                    }
                }
            }
            Task::Audit { with, .. } => {
                if let Some(holding) = self.holding(with.key) {
                    holding.is_busy = false;
                    holding.audit_at = now + config.audit_every;
                    match outcome {
                        Outcome::Well => holding.is_distrusted = false,
                        // It is compared at once: what it lost by accident comes back, and a later audit clears it.
                        Outcome::Wrong => {
                            (holding.is_distrusted, holding.is_filled, holding.compare_at) = (true, false, now);
                        }
                        _ => holding.audit_at = now + config.retry_after,
                    }
                }
            }
            _ => {}
        }
        self.close_gaps(now, config);
        self.forget_others(now, config);
    }

    /// A gap is closed when everybody who may have held it was compared with.
    fn close_gaps(&mut self, now: Duration, config: &Config) {
        if self.gaps.is_empty() {
            return;
        }
        let sources: Vec<PeerKey> = self.live_wanted(now, config).iter().map(|contact| contact.key).collect();
        let has_lost = self.holdings.iter().any(|holding| holding.lost_at.is_some());
        // Nobody there although there was: they may come back, and until then we do not know what we lack.
        let is_alone = sources.is_empty() && !has_lost;
        self.gaps.retain(|gap| {
            let is_compared = !sources.is_empty() && sources.iter().all(|key| gap.compared.contains(key));
            gap.busy.is_some() || !(is_alone || is_compared)
        });
    }

    fn holding(&mut self, machine: PeerKey) -> Option<&mut Holding> {
        self.holdings.iter_mut().find(|holding| holding.contact.key == machine)
    }
}
