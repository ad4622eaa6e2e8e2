//! Owners who entrusted something to us are audited as they audit us. One that fails again and again for a grace is distrusted: we see to it, as its
//! *deputy*, that what we have of its arc lies on as many machines as there are to be copies without it, and confirm nothing there that others want to let go.
//!
//! Nobody is told and nothing is let go because of it: whoever distrusts an honest owner, by mistake or on purpose, causes a copy more for as
//! long as it does. Decision 0017.

use super::tenure::Tenure;
use super::{Config, Holders, Outcome, Planted, Task, overlap};
use herodotus_base::{Id, PeerKey};
use herodotus_ring::Contact;
use std::collections::BTreeMap;
use std::time::Duration;

/// Owners that are watched; our neighbourhood has about R times the virtual nodes. Who does not fit is watched when another is forgotten.
const WATCHED_MAX: usize = 1024;
/// Machines that an owner names, and that are remembered.
const NAMED_MAX: usize = 32;
/// Wrong answers that are a lie, if none was right in between. They are asked for so that they take a grace: what was damaged is mended by then.
const WRONG_MAX: u32 = 5;
/// Failures that are one, if most of them were no answer at all: about an hour of them. Who is slow for a while, and has damage meanwhile, is no liar.
const FAILED_MAX: u32 = 17;
/// Who does not answer a deputy is tried again after so many graces.
const SILENT_GRACES: u32 = 4;
/// With what only proves copies.
const RANK: u8 = 4;

/// An owner whose arc we copy.
#[derive(Clone, Debug)]
struct Watch {
    owner: Contact,
    /// As it said, and not beyond what others own.
    arc: (Id, Id),
    /// Who else counts, by its word.
    named: Vec<Contact>,
    /// It told of its arc last.
    seen_at: Duration,
    audit_at: Duration,
    is_busy: bool,
    /// Audits that it failed since it passed one, and those of them that it answered.
    failures: u32,
    wrong: u32,
    /// It is distrusted: its arc is seen to beside it.
    deputy: Option<Tenure>,
    /// Since when those whom only the owner names do not answer.
    silent: BTreeMap<PeerKey, Duration>,
}

impl Watch {
    fn new(owner: Contact, arc: (Id, Id), now: Duration) -> Self {
        Self {
            owner,
            arc,
            named: Vec::new(),
            seen_at: now,
            audit_at: now,
            is_busy: false,
            failures: 0,
            wrong: 0,
            deputy: None,
            silent: BTreeMap::new(),
        }
    }

    /// Who has begun to fail is asked on until it passes: not even by saying that it is being filled does it get away.
    fn is_kept(&self, is_due: bool) -> bool {
        is_due || self.failures > 0 || self.deputy.is_some()
    }

    fn audited(&mut self, now: Duration, outcome: &Outcome, config: &Config) {
        self.is_busy = false;
        match outcome {
            Outcome::Well => {
                (self.failures, self.wrong, self.deputy) = (0, 0, None);
                self.silent.clear();
                self.audit_at = now + config.audit_every;
            }
            Outcome::Wrong | Outcome::Unproven => {
                self.failures = self.failures.saturating_add(1);
                self.wrong = self.wrong.saturating_add(u32::from(*outcome == Outcome::Wrong));
                self.audit_at = now + config.grace / (WRONG_MAX - 1);
                let is_lie = self.wrong >= WRONG_MAX || self.failures >= FAILED_MAX;
                if is_lie && self.deputy.is_none() {
                    self.deputy = Some(Tenure::deputy(self.owner.clone(), self.arc, now));
                }
            }
            // Nobody was there, or something of ours failed: that says nothing of it.
            _ => self.audit_at = now + config.retry_after,
        }
    }

    /// Those it names, and those who follow us: the first of them, as they follow the owner, are the same for all who see to the arc beside it.
    fn line(&self, now: Duration, machine: PeerKey, behind_us: &[Contact], config: &Config) -> Vec<Contact> {
        let is_silent = |key: &PeerKey| self.silent.get(key).is_some_and(|since| now >= *since + config.grace);
        let mut line: Vec<Contact> = Vec::new();
        for contact in self.named.iter().filter(|contact| !is_silent(&contact.key)).chain(behind_us) {
            let is_known = line.iter().any(|known| known.key == contact.key);
            if !is_known && ![machine, self.owner.key].contains(&contact.key) {
                line.push(contact.clone());
            }
        }
        line.sort_by_key(|contact| self.owner.id.distance_to(contact.id));
        line
    }
}

#[derive(Clone, Debug)]
pub(super) struct Oversight {
    machine: PeerKey,
    watches: BTreeMap<Id, Watch>,
    audits: u64,
}

impl Oversight {
    pub(super) fn new(machine: PeerKey) -> Self {
        Self { machine, watches: BTreeMap::new(), audits: 0 }
    }

    /// What the owner of a place where we hold something said of it. Whether that owner is distrusted. `own`: our own nodes; `behind_us`: who follows
    /// the one of them that follows the owner.
    pub(super) fn see(
        &mut self,
        now: Duration,
        place: Id,
        (owner, told): (&Contact, &Holders),
        own: impl Iterator<Item = Id>,
        behind_us: &[Contact],
        config: &Config,
    ) -> bool {
        self.correct(place, owner.id);
        let counts = |key: PeerKey| told.holders.iter().any(|holder| holder.contact.key == key && holder.counts);
        let is_due = counts(owner.key) && counts(self.machine);
        // Who says that it is being filled, or that we are, claims nothing, and is left in peace; and so is who wants us no more.
        self.watches.retain(|id, watch| *id != owner.id || watch.owner.key == owner.key && watch.is_kept(is_due));
        let is_new = !self.watches.contains_key(&owner.id);
        if is_new && (!is_due || self.watches.len() >= WATCHED_MAX) || config.has(Planted::TrustOwners) {
            return false;
        }
        let (machine, arc) = (self.machine, self.clipped(owner, told.arc, own));
        let watch = self.watches.entry(owner.id).or_insert_with(|| Watch::new(owner.clone(), arc, now));
        (watch.owner, watch.seen_at) = (owner.clone(), now);
        let others = told.holders.iter().filter(|holder| holder.counts).map(|holder| &holder.contact);
        watch.named = others.filter(|other| other.key != owner.key).take(NAMED_MAX).cloned().collect();
        watch.arc = arc;
        let line = watch.line(now, machine, behind_us, config);
        let named: Vec<PeerKey> = watch.named.iter().map(|contact| contact.key).collect();
        let Some(deputy) = &mut watch.deputy else { return false };
        deputy.stand_in(now, arc, &line, config);
        // How long those have been up that do not follow us only the owner could say; whether they have anything their audits do.
        named.into_iter().for_each(|key| deputy.seen_up(now, key, Duration::MAX, config));
        true
    }

    /// A place has another owner than we thought: somebody came in between, or the one we thought of is gone. Whose it is the ring has found; what an owner says of
    /// its arc is its word.
    fn correct(&mut self, place: Id, owner: Id) {
        self.watches.retain(|id, watch| {
            if *id == owner || !place.is_in(watch.arc.0, watch.arc.1) {
                return true;
            }
            watch.arc.0 = owner;
            place == owner || owner.is_between(place, *id)
        });
    }

    /// Who lies is not to have us copy what is not its own: an arc ends where its owner is, and begins no earlier than where another is.
    fn clipped(&self, owner: &Contact, (mut from, mut to): (Id, Id), own: impl Iterator<Item = Id>) -> (Id, Id) {
        if owner.id.is_in(from, to) {
            to = owner.id;
        }
        let others = self.watches.keys().copied().filter(|other| *other != owner.id);
        for other in others.chain(own) {
            if other.is_between(from, to) {
                from = other;
            }
        }
        (from, to)
    }

    /// We own an arc ourselves now: nobody is watched there.
    pub(super) fn own(&mut self, arc: (Id, Id)) {
        self.watches.retain(|owner, _| !owner.is_in(arc.0, arc.1));
    }

    pub(super) fn peer_dead(&mut self, now: Duration, machine: PeerKey) {
        self.deputies().for_each(|deputy| deputy.lose(now, machine));
    }

    pub(super) fn seen_up(&mut self, now: Duration, machine: PeerKey, uptime: Duration, config: &Config) {
        for watch in self.watches.values_mut() {
            let is_named = watch.named.iter().any(|contact| contact.key == machine);
            if let Some(deputy) = watch.deputy.as_mut().filter(|_| !is_named) {
                deputy.seen_up(now, machine, uptime, config);
            }
        }
    }

    fn deputies(&mut self) -> impl Iterator<Item = &mut Tenure> {
        self.watches.values_mut().filter_map(|watch| watch.deputy.as_mut())
    }

    /// An owner that was not met for as long as what it entrusted is believed has gone, or has nothing here any more.
    pub(super) fn pass_time(&mut self, now: Duration, config: &Config) {
        let kept = config.survey_every * 4 + config.grace;
        self.watches.retain(|_, watch| now < watch.seen_at + kept);
        let silent = self.watches.values_mut().map(|watch| &mut watch.silent);
        silent.for_each(|silent| silent.retain(|_, since| now < *since + config.grace * SILENT_GRACES));
        self.deputies().for_each(|deputy| deputy.pass_time(now, config));
    }

    pub(super) fn distrusted(&self) -> impl Iterator<Item = (&Contact, (Id, Id))> {
        let distrusted = self.watches.values().filter(|watch| watch.deputy.is_some());
        distrusted.map(|watch| (&watch.owner, watch.arc))
    }

    /// Whether an owner of some of this is distrusted: what others let go there would rest on its word.
    pub(super) fn is_doubtful(&self, arc: (Id, Id)) -> bool {
        self.distrusted().any(|(_, known)| overlap(known, arc))
    }

    pub(super) fn due(&self, now: Duration, config: &Config) -> Option<Duration> {
        let audits = self.watches.values().filter(|watch| !watch.is_busy).map(|watch| watch.audit_at);
        let deputies = self.watches.values().filter_map(|watch| watch.deputy.as_ref()?.due(now, config));
        audits.chain(deputies).min()
    }

    /// What is most needed, with its rank and the owner it is about.
    pub(super) fn wants(&self, now: Duration, config: &Config) -> Option<(u8, Id, Task)> {
        let is_open = |watch: &&Watch| !watch.is_busy && watch.audit_at <= now;
        let audit = self.watches.values().filter(is_open).min_by_key(|watch| watch.audit_at).map(|watch| {
            let (with, (from, to)) = (watch.owner.clone(), watch.arc);
            (RANK, watch.owner.id, Task::Prove { with, from, to, nonce: self.audits })
        });
        let beside = self.watches.iter().filter_map(|(owner, watch)| {
            let (rank, task) = watch.deputy.as_ref()?.wants(now, config)?;
            // Behind our own.
            Some((rank.max(super::strays::RANK), *owner, task))
        });
        audit.into_iter().chain(beside).min_by_key(|(rank, ..)| *rank)
    }

    pub(super) fn begin(&mut self, owner: Id, task: &Task) {
        let Some(watch) = self.watches.get_mut(&owner) else { return };
        match (task, &mut watch.deputy) {
            (Task::Prove { .. }, _) => (watch.is_busy, self.audits) = (true, self.audits + 1),
            (_, Some(deputy)) => deputy.begin(task),
            _ => {}
        }
    }

    /// Whether an owner is distrusted from now on.
    pub(super) fn done(&mut self, now: Duration, owner: Id, task: &Task, outcome: &Outcome, config: &Config) -> bool {
        let Some(watch) = self.watches.get_mut(&owner) else { return false };
        let was_distrusted = watch.deputy.is_some();
        match task {
            // It may have been forgotten and met again meanwhile.
            Task::Prove { with, .. } if with.key == watch.owner.key && watch.is_busy => {
                watch.audited(now, outcome, config);
            }
            Task::Compare { with, .. } | Task::Audit { with, .. } => {
                match outcome {
                    Outcome::Failed => _ = watch.silent.entry(with.key).or_insert(now),
                    _ => _ = watch.silent.remove(&with.key),
                }
                if let Some(deputy) = &mut watch.deputy {
                    deputy.done(now, task, outcome, config);
                }
            }
            _ => {}
        }
        !was_distrusted && watch.deputy.is_some()
    }
}
