//! What machines do for each other: comparing and bringing over, proving, confirming, letting go; handing on writes; mending damage. All of it takes time, goes at the
//! rate of the slower side shared with what else it is doing, and breaks off when one of the two dies or cannot be reached: what was
//! brought until then stays.
//!
//! It follows `herodotus-node`'s `copies`, one function for one there.

use super::record::Harm;
use super::shelf::Table;
use super::world::{Event, MINUTE, SECOND, Who, World};
use herodotus_base::{Id, PeerKey};
use herodotus_replica::custody::{Holders, Order, Outcome, Piece, Planted, Survey, Task};
use std::collections::VecDeque;

/// Nobody waits longer for an answer.
const CALL_WAIT: u64 = 30 * SECOND;
/// Entries of one piece that is brought home; few, so that there are many pieces.
const PIECE_ENTRIES_MAX: usize = 24;
/// Entries that an audit is about.
const CHALLENGE_MAX: usize = 16;
/// Moved in one go at most: what a death in the middle leaves undone.
const CHUNK_ENTRIES_MAX: usize = 16;
const CHUNK_SECONDS: u64 = 10;
/// Arcs remembered of one neighbour.
const FILLED_MAX: usize = 8;

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most of them are orders")]
pub(super) enum What {
    Order(Order),
    /// To the owner, who passes it on.
    Hand(usize),
    /// From an owner to one who is to hold it. Whether a write of the owner's own waits for it.
    Push {
        entry: usize,
        is_awaited: bool,
    },
    Mend(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Job {
    what: What,
    by: Who,
    with: Option<Who>,
    /// Entries still to be moved, and whether outward.
    moves: VecDeque<(usize, bool)>,
    /// Under way.
    chunk: Vec<(usize, bool)>,
    /// Of an entry that is too large for one go, how many bytes are under way, and whether outward.
    part: Option<(usize, bool, u64)>,
    is_begun: bool,
    waited: u64,
    /// What the other is to prove when it has everything.
    sample: Vec<usize>,
}

/// Why bytes were not taken.
enum Refusal {
    Full,
    Damaged,
}

impl World {
    fn begin(&mut self, job: Job, after: u64) {
        let at = self.free.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            self.jobs.len() - 1
        });
        self.jobs[at] = Some(job);
        self.at(self.now + after, Event::Step(at));
    }

    fn job(&mut self, what: What, by: Who, with: Option<Who>, after: u64) {
        let (moves, chunk, sample) = (VecDeque::new(), Vec::new(), Vec::new());
        self.begin(Job { what, by, with, moves, chunk, part: None, is_begun: false, waited: 0, sample }, after);
    }

    fn latency(&mut self, one: usize, other: usize) -> u64 {
        let slowness = self.machines[one].slowness.max(self.machines[other].slowness);
        (20_000 + self.chance.below(180_000) as u64) * slowness
    }

    pub(super) fn take_order(&mut self, machine: usize, order: Order) {
        let by = self.who(machine);
        let with = match &order.task {
            Task::Compare { with, .. }
            | Task::Audit { with, .. }
            | Task::Prove { with, .. }
            | Task::Confirm { with, .. } => self.by_key.get(&with.key).copied(),
            Task::Survey { .. } | Task::Release { .. } => None,
        };
        let after = self.latency(machine, with.unwrap_or(machine));
        let with = with.map(|with| self.who(with));
        self.job(What::Order(order), by, with, after);
    }

    /// Hands on what a machine took in, after a moment.
    pub(super) fn hand_on(&mut self, who: Who, entry: usize) {
        let after = self.chance.below(2_000_000) as u64;
        self.job(What::Hand(entry), who, None, after);
    }

    pub(super) fn mend(&mut self, who: Who, entry: usize) {
        if self.machines[who.machine].mending.insert(entry) {
            self.record.count("damage found");
            let after = self.chance.below(10_000_000) as u64;
            self.job(What::Mend(entry), who, None, after);
        }
    }

    /// One step of a job.
    pub(super) fn step(&mut self, at: usize) {
        let Some(mut job) = self.jobs[at].take() else { return };
        self.free.push(at);
        let is_begun = job.is_begun;
        let moved = self.end_chunk(&mut job);
        if !self.is_alive(job.by) {
            self.end_service(&job);
            return;
        }
        if !moved {
            return self.end(job, Outcome::Failed);
        }
        let outcome = if is_begun { None } else { self.start(&mut job) };
        match outcome {
            Some(outcome) => self.end(job, outcome),
            None if job.moves.is_empty() => self.end(job, Outcome::Well),
            None => self.begin_chunk(job),
        }
    }

    /// What is done before anything is moved. Nothing: it goes on.
    fn start(&mut self, job: &mut Job) -> Option<Outcome> {
        job.is_begun = true;
        let here = job.by.machine;
        match job.what.clone() {
            What::Order(Order { task: Task::Survey { after }, .. }) => Some(self.survey(here, after)),
            What::Order(Order { task: Task::Release { owner, piece }, .. }) => {
                Some(self.release(here, owner.key, piece))
            }
            What::Hand(entry) => self.start_hand(job, entry),
            What::Mend(entry) => self.start_mend(job, entry),
            what => {
                let there = job.with?.machine;
                if !self.reach(here, there) {
                    return Some(Outcome::Failed);
                }
                job.with = Some(self.who(there));
                self.answer(job, what, here, there)
            }
        }
    }

    fn answer(&mut self, job: &mut Job, what: What, here: usize, there: usize) -> Option<Outcome> {
        match what {
            What::Order(Order { task: Task::Audit { from, to, .. }, .. }) => Some(self.audit(here, there, (from, to))),
            What::Order(Order { task: Task::Confirm { piece, .. }, .. }) => Some(self.confirm(here, there, piece)),
            What::Order(Order {
                task: Task::Compare { from, to, .. } | Task::Prove { from, to, .. },
                gives_only,
                ..
            }) => {
                if self.machines[there].serving >= self.setting.served_max {
                    // It is waited for, for a while.
                    job.is_begun = false;
                    job.waited += SECOND;
                    return (job.waited > CALL_WAIT).then_some(Outcome::Failed);
                }
                self.machines[there].serving += 1;
                if let What::Order(Order { task: Task::Prove { .. }, .. }) = job.what {
                    job.sample = self.sample(here, (from, to));
                }
                let (a, b) = (&self.machines[here], &self.machines[there]);
                if !a.is_liar && !b.is_liar {
                    for range in self.table.on(from, to) {
                        job.moves.extend(a.has.beyond(&b.has, range.clone()).map(|entry| (entry, true)));
                        if !gives_only {
                            job.moves.extend(b.has.beyond(&a.has, range).map(|entry| (entry, false)));
                        }
                    }
                }
                None
            }
            What::Push { entry, .. } => {
                job.moves.push_back((entry, true));
                None
            }
            _ => None,
        }
    }

    /// To its owner if it is another's, to those who are to hold it if it is ours.
    fn start_hand(&mut self, job: &mut Job, entry: usize) -> Option<Outcome> {
        let (here, place) = (job.by.machine, self.table.place(entry));
        if !self.machines[here].has.has(entry) {
            // It went home by another way.
            self.machines[here].unhanded.remove(&entry);
            return Some(Outcome::Well);
        }
        if self.machines[here].custodian.owns(place) {
            let others = self.setting.durable_on - 1;
            let targets = self.machines[here].custodian.push_to_at_least(place, others);
            let needed = others.min(targets.len());
            self.check_targets(here, targets.len());
            self.writes.insert((here, entry), (needed, targets.len()));
            if needed == 0 {
                self.handed(here, entry, 1);
            }
            for target in targets {
                self.push(job.by, target.key, entry, true);
            }
            return Some(Outcome::Well);
        }
        let owner = self.owner_of(here, place).filter(|owner| *owner != here)?;
        self.machines[owner].custodian.holders_of(place)?;
        job.with = Some(self.who(owner));
        job.moves.push_back((entry, true));
        None
    }

    fn push(&mut self, by: Who, to: PeerKey, entry: usize, is_awaited: bool) {
        let Some(to) = self.by_key.get(&to).copied() else { return };
        let (after, to) = (self.latency(by.machine, to), self.who(to));
        self.job(What::Push { entry, is_awaited }, by, Some(to), after);
    }

    /// A write is durable on enough machines.
    fn handed(&mut self, machine: usize, entry: usize, on: usize) {
        self.writes.remove(&(machine, entry));
        if self.machines[machine].unhanded.remove(&entry) {
            self.acknowledge(entry, on);
        }
    }

    fn start_mend(&mut self, job: &mut Job, entry: usize) -> Option<Outcome> {
        let here = job.by.machine;
        if !self.machines[here].bad.has(entry) {
            return Some(Outcome::Well);
        }
        let told = self.ask_holders(here, self.table.place(entry));
        let others: Vec<usize> = told
            .into_iter()
            .flat_map(|(_, told)| told.holders)
            .collect::<Vec<_>>()
            .iter()
            .filter_map(|holder| self.by_key.get(&holder.contact.key).copied())
            .filter(|other| *other != here && self.reach(here, *other))
            .filter(|other| self.machines[*other].has.has(entry) || self.machines[*other].is_liar)
            .collect();
        let from = self.chance.pick(&others).copied();
        let Some(from) = from else { return Some(Outcome::Failed) };
        job.with = Some(self.who(from));
        job.moves.push_back((entry, false));
        None
    }

    /// Who owns a place, and what that one says of it.
    pub(super) fn ask_holders(&mut self, asker: usize, place: Id) -> Option<(usize, Holders)> {
        let owner = self.owner_of(asker, place)?;
        self.tell_uptimes(owner);
        let told = self.machines[owner].custodian.holders_of(place)?;
        if self.setting.is_checked {
            self.check_counting(owner, &told);
        }
        Some((owner, told))
    }

    fn begin_chunk(&mut self, mut job: Job) {
        let Some(with) = job.with else { return self.end(job, Outcome::Failed) };
        let Some((_, is_out)) = self.next_move(&mut job, with) else { return self.end(job, Outcome::Well) };
        let (source, sink) = if is_out { (job.by, with) } else { (with, job.by) };
        self.machines[source.machine].sending += 1;
        self.machines[sink.machine].receiving += 1;
        let rate = |shared: u64, slowness: u64| self.setting.rate / (shared.max(1) * slowness);
        let (from, to) = (&self.machines[source.machine], &self.machines[sink.machine]);
        let rate = rate(from.sending, from.slowness).min(rate(to.receiving, to.slowness)).max(1);
        let mut bytes = 0;
        while let Some((entry, _)) = job.moves.front().copied().filter(|next| next.1 == is_out) {
            let is_enough = job.chunk.len() >= CHUNK_ENTRIES_MAX || bytes >= rate * CHUNK_SECONDS;
            if is_enough {
                break;
            }
            let left = self.left_of(sink.machine, entry);
            if let Some(most) = self.setting.parts.map(|time| rate * time.as_secs()).filter(|most| bytes + left > *most)
            {
                if bytes == 0 {
                    (job.part, bytes) = (Some((entry, is_out, most)), most);
                }
                break;
            }
            bytes += left;
            job.chunk.push((entry, is_out));
            job.moves.pop_front();
        }
        let micros = u64::try_from(u128::from(bytes) * u128::from(SECOND) / u128::from(rate)).unwrap_or(u64::MAX);
        let after = self.latency(job.by.machine, with.machine) + micros;
        self.begin(job, after);
    }

    /// The next entry to be moved. Over months, what has come another way meanwhile is passed over.
    fn next_move(&self, job: &mut Job, with: Who) -> Option<(usize, bool)> {
        while let Some((entry, is_out)) = job.moves.front().copied().filter(|_| self.setting.parts.is_some()) {
            let sink = if is_out { with } else { job.by };
            if !self.machines[sink.machine].has.has(entry) {
                break;
            }
            job.moves.pop_front();
        }
        job.moves.front().copied()
    }

    /// Bytes of an entry that a machine does not have yet.
    fn left_of(&self, machine: usize, entry: usize) -> u64 {
        self.table.bytes(entry).saturating_sub(self.machines[machine].parts.get(&entry).copied().unwrap_or(0))
    }

    /// What was under way has arrived, or not. Whether all of it was taken.
    fn end_chunk(&mut self, job: &mut Job) -> bool {
        let (chunk, part) = (std::mem::take(&mut job.chunk), job.part.take());
        let way = chunk.first().map(|(_, is_out)| *is_out).or(part.map(|(_, is_out, _)| is_out));
        let (Some(with), Some(is_out)) = (job.with, way) else { return true };
        let (source, sink) = if is_out { (job.by, with) } else { (with, job.by) };
        if self.is_alive(source) {
            self.machines[source.machine].sending -= 1;
        }
        if self.is_alive(sink) {
            self.machines[sink.machine].receiving -= 1;
        }
        if !self.is_alive(source) || !self.is_alive(sink) || !self.reach(source.machine, sink.machine) {
            return false;
        }
        if let Some((entry, _, bytes)) = part {
            self.machines[source.machine].bytes_sent += bytes;
            self.machines[sink.machine].bytes_received += bytes;
            *self.machines[sink.machine].parts.entry(entry).or_default() += bytes;
        }
        let is_mending = matches!(job.what, What::Mend(_));
        let is_comparing = matches!(job.what, What::Order(_));
        let mut is_well = true;
        let mut has_new = false;
        for (entry, _) in chunk {
            let had = self.machines[sink.machine].has.has(entry);
            match self.bring(source, sink, entry, is_mending) {
                Ok(()) => has_new |= !had,
                Err(Refusal::Full) => is_well = false,
                Err(Refusal::Damaged) => {
                    // Who was to send it sees it, and mends its own bytes. Nobody can give what he cannot read: a comparison goes on, and
                    // ends well, without it.
                    let is_seen = self.machines[source.machine].bad.has(entry);
                    is_well &= is_seen && is_comparing;
                    if is_seen {
                        self.mend(source, entry);
                    }
                }
            }
        }
        if has_new {
            self.stir(sink.machine);
        }
        is_well
    }

    /// Brings one entry over; the receiver looks at its digest.
    fn bring(&mut self, source: Who, sink: Who, entry: usize, is_mending: bool) -> Result<(), Refusal> {
        let (from, to) = (&self.machines[source.machine], &self.machines[sink.machine]);
        let is_wrong = from.is_liar || from.bad.has(entry);
        if !from.has.has(entry) && !from.is_liar || to.has.has(entry) && !is_mending {
            return Ok(());
        }
        if to.is_liar {
            // Not even to a liar can be given what cannot be read.
            return if from.bad.has(entry) { Err(Refusal::Damaged) } else { Ok(()) };
        }
        if to.is_full && !is_mending {
            return Err(Refusal::Full);
        }
        let bytes = self.left_of(sink.machine, entry);
        self.machines[sink.machine].parts.remove(&entry);
        self.machines[source.machine].bytes_sent += bytes;
        self.machines[sink.machine].bytes_received += bytes;
        if is_wrong && !self.has_planted(Planted::AcceptUnverified) {
            self.record.count("wrong bytes refused");
            return Err(Refusal::Damaged);
        }
        self.keep(sink.machine, entry, is_wrong);
        Ok(())
    }

    fn end_service(&mut self, job: &Job) {
        let compares = |task: &Task| matches!(task, Task::Compare { .. } | Task::Prove { .. });
        let is_served = matches!(&job.what, What::Order(order) if compares(&order.task)) && job.is_begun;
        if let Some(with) = job.with.filter(|with| is_served && self.is_alive(*with)) {
            let serving = &mut self.machines[with.machine].serving;
            *serving = serving.saturating_sub(1);
        }
    }

    /// A job is done, one way or the other.
    fn end(&mut self, job: Job, outcome: Outcome) {
        // It was told to wait for its turn.
        if !job.is_begun && outcome == Outcome::Well {
            return self.begin(job, SECOND);
        }
        self.end_service(&job);
        let here = job.by.machine;
        match job.what {
            What::Order(Order { id, task, gives_only }) => {
                let outcome = match &task {
                    Task::Prove { .. } if outcome == Outcome::Well => self.prove(here, job.with, &job.sample),
                    _ => outcome,
                };
                // What is only given are strays and what others own: it says nothing of who counts here.
                if !gives_only {
                    self.note_outcome(job.by, &task, &outcome);
                }
                // Silence is only known for what it is after a while.
                let now = self.clock();
                self.machines[here].custodian.handle_outcome(now, id, outcome);
                if let Task::Prove { with, .. } = &task {
                    self.note_distrust(here, with.key);
                }
                self.pump(here);
            }
            What::Hand(entry) => self.end_hand(job.by, job.with, entry, &outcome),
            What::Push { entry, is_awaited } => self.end_push(job.by, job.with, entry, is_awaited, &outcome),
            What::Mend(entry) => {
                if self.machines[here].bad.has(entry) {
                    let after = MINUTE + self.chance.below(240_000_000) as u64;
                    self.job(What::Mend(entry), job.by, None, after);
                } else {
                    self.machines[here].mending.remove(&entry);
                    self.record.count("damage mended");
                }
            }
        }
    }

    fn end_hand(&mut self, by: Who, with: Option<Who>, entry: usize, outcome: &Outcome) {
        let here = by.machine;
        if !self.machines[here].unhanded.contains(&entry) || self.writes.contains_key(&(here, entry)) {
            return;
        }
        let owner = with.filter(|_| *outcome == Outcome::Well);
        let Some(owner) = owner.filter(|owner| self.is_alive(*owner)) else {
            let after = 2 * SECOND + self.chance.below(3_000_000) as u64;
            return self.job(What::Hand(entry), by, None, after);
        };
        if self.machines[owner.machine].is_liar {
            self.harm(entry, Harm::Lie);
        }
        self.handed(here, entry, self.setting.durable_on);
        let own = self.machines[here].contact.key;
        for target in self.machines[owner.machine].custodian.push_to(self.table.place(entry)) {
            if target.key != own {
                self.push(owner, target.key, entry, false);
            }
        }
    }

    fn end_push(&mut self, by: Who, with: Option<Who>, entry: usize, is_awaited: bool, outcome: &Outcome) {
        let here = by.machine;
        let is_kept = *outcome == Outcome::Well;
        if let Some(with) = with.filter(|_| !is_kept) {
            let (now, key) = (self.clock(), self.machines[with.machine].contact.key);
            self.machines[here].custodian.push_failed(now, key);
            self.machines[here].filled.remove(&with.machine);
            self.pump(here);
        }
        let Some((needed, left)) = self.writes.get_mut(&(here, entry)).filter(|_| is_awaited) else { return };
        *needed = needed.saturating_sub(usize::from(is_kept));
        *left = left.saturating_sub(1);
        if *needed == 0 {
            self.handed(here, entry, self.setting.durable_on);
        } else if *left == 0 {
            // Too few took it: all of it again.
            self.writes.remove(&(here, entry));
            self.job(What::Hand(entry), by, None, 2 * SECOND);
        }
    }

    /// What the checkers know of comparisons and audits, from outside.
    fn note_outcome(&mut self, by: Who, task: &Task, outcome: &Outcome) {
        let m = &mut self.machines[by.machine];
        match task {
            // What is compared with others on arcs of theirs are strays.
            Task::Compare { with, from, to } if m.custodian.owns(*to) => {
                let Some(other) = self.by_key.get(&with.key).copied() else { return };
                if *outcome == Outcome::Well {
                    let arcs = m.filled.entry(other).or_default();
                    arcs.retain(|arc| arc != &(*from, *to));
                    arcs.push((*from, *to));
                    if arcs.len() > FILLED_MAX {
                        arcs.remove(0);
                    }
                }
            }
            Task::Audit { with, .. } => {
                let Some(other) = self.by_key.get(&with.key).copied() else { return };
                if *outcome == Outcome::Well {
                    m.distrusted.remove(&other);
                    m.failed.remove(&other);
                } else if *outcome == Outcome::Wrong {
                    m.distrusted.insert(other);
                    m.failed.insert(other);
                }
            }
            _ => {}
        }
    }

    /// Whether a machine distrusts an owner from now on, as seen from outside.
    fn note_distrust(&mut self, here: usize, owner: PeerKey) {
        let is_distrusted = self.machines[here].custodian.distrusted_owners().any(|(known, _)| known.key == owner);
        let Some(owner) = self.by_key.get(&owner).copied() else { return };
        let is_new = match is_distrusted {
            true => self.machines[here].disbelieves.insert(owner),
            false => {
                self.machines[here].disbelieves.remove(&owner);
                false
            }
        };
        let (now, is_false) = (self.now, self.machines[here].is_false_witness);
        let m = &mut self.machines[owner];
        match is_new {
            false => {}
            true if is_false => self.record.count("owners distrusted by false witnesses"),
            true if m.is_liar => {
                m.found_at = m.found_at.or(Some(now));
                self.record.count("liars distrusted by one whose copies they own");
            }
            true => self.record.count("honest owners distrusted"),
        }
    }

    /// Some of what is held on an arc.
    fn sample(&mut self, here: usize, (from, to): (Id, Id)) -> Vec<usize> {
        let mut ours = self.entries_on(here, from, to);
        let skip = self.chance.below(ours.len());
        ours.rotate_left(skip);
        ours.truncate(CHALLENGE_MAX);
        ours
    }

    /// Has an owner prove what was picked before it was brought what it lacked.
    fn prove(&mut self, here: usize, with: Option<Who>, sample: &[usize]) -> Outcome {
        let Some(there) = with.map(|with| with.machine).filter(|there| self.reach(here, *there)) else {
            return Outcome::Unproven;
        };
        if self.machines[here].is_false_witness {
            return Outcome::Wrong;
        }
        // Who is slow may not be done in time.
        if self.machines[there].slowness > 1 && self.chance.happens(0.5) {
            return Outcome::Unproven;
        }
        // What has left us meanwhile proves nothing.
        if sample.iter().any(|entry| !self.machines[here].has.has(*entry)) {
            return Outcome::Failed;
        }
        self.challenge(here, there, sample)
    }

    /// Has a holder prove that it has the bytes of some entries that we have too.
    fn audit(&mut self, here: usize, there: usize, arc: (Id, Id)) -> Outcome {
        let ours = self.sample(here, arc);
        self.challenge(here, there, &ours)
    }

    /// Both read some entries, and see damage of their own.
    fn challenge(&mut self, here: usize, there: usize, ours: &[usize]) -> Outcome {
        for machine in [here, there] {
            let damaged: Vec<usize> =
                ours.iter().copied().filter(|entry| self.machines[machine].bad.has(*entry)).collect();
            let who = self.who(machine);
            damaged.iter().for_each(|entry| self.mend(who, *entry));
            if !damaged.is_empty() {
                return if machine == here { Outcome::Failed } else { Outcome::Wrong };
            }
        }
        let is_right = ours.iter().all(|entry| self.machines[there].has.has(*entry));
        if is_right { Outcome::Well } else { Outcome::Wrong }
    }

    /// The first piece that we hold and that is not on an arc of ours.
    fn survey(&mut self, here: usize, after: Id) -> Outcome {
        self.machines[here].confirmed.clear();
        let m = &self.machines[here];
        let first = {
            let mut held = m.has.on(self.table.behind(after)..self.table.len());
            held.find(|entry| !m.custodian.owns(self.table.place(*entry)))
        };
        let Some(first) = first else { return Outcome::Surveyed(Survey::Nothing) };
        let place = self.table.place(first);
        let Some((owner, holders)) = self.ask_holders(here, place) else { return Outcome::Failed };
        let end = holders.arc.1;
        // An arc that goes round ends, for this round, where the circle does.
        let to = if end < place { Id([0xff; 32]) } else { end };
        let piece = self.measure(here, before(place), to);
        Outcome::Surveyed(Survey::Found { piece, owner: self.machines[owner].contact.clone(), holders })
    }

    fn measure(&self, here: usize, from: Id, to: Id) -> Piece {
        let held: Vec<usize> = self.entries_on(here, from, to);
        let mut end = held.len();
        if end > PIECE_ENTRIES_MAX {
            // Entries of one place stay together.
            let place = self.table.place(held[PIECE_ENTRIES_MAX]);
            end = held.iter().position(|entry| self.table.place(*entry) == place).unwrap_or(end);
            if end == 0 {
                end = held.iter().position(|entry| self.table.place(*entry) != place).unwrap_or(held.len());
            }
        }
        let to = if end < held.len() { self.table.place(held[end - 1]) } else { to };
        Piece { from, to, sum: Table::sum(held[..end].iter().copied()) }
    }

    fn entries_on(&self, here: usize, from: Id, to: Id) -> Vec<usize> {
        let ranges = self.table.on(from, to).into_iter();
        ranges.flat_map(|range| self.machines[here].has.on(range)).collect()
    }

    fn confirm(&mut self, here: usize, there: usize, piece: Piece) -> Outcome {
        let entries = self.entries_on(here, piece.from, piece.to);
        let now = self.clock();
        let other = &mut self.machines[there];
        if !other.is_liar && !other.custodian.vouch(now, piece.from, piece.to) {
            return Outcome::Partly;
        }
        let is_held = other.is_liar || entries.iter().all(|entry| other.has.has(*entry));
        let is_same = Table::sum(entries.iter().copied()) == piece.sum;
        if is_same && is_held {
            let now = self.now;
            self.machines[here].confirmed.push((there, now));
            return Outcome::Well;
        }
        Outcome::Partly
    }

    fn release(&mut self, here: usize, owner: PeerKey, piece: Piece) -> Outcome {
        let Some(owner) = self.by_key.get(&owner).copied().filter(|owner| self.reach(here, *owner)) else {
            return Outcome::Failed;
        };
        let (now, key) = (self.clock(), self.machines[here].contact.key);
        // Its owner may have come to want us again; after this it knows that we hold nothing.
        let may = self.machines[owner].custodian.may_let_go(now, key, piece.to);
        self.pump(owner);
        let entries = self.entries_on(here, piece.from, piece.to);
        let is_own = |entry: &usize| self.machines[here].custodian.owns(self.table.place(*entry));
        if !may || Table::sum(entries.iter().copied()) != piece.sum || entries.iter().any(is_own) {
            return Outcome::Partly;
        }
        if self.setting.is_checked {
            self.check_release(here, &entries);
        }
        for entry in entries {
            self.lose(here, entry);
            self.record.count("let go");
        }
        Outcome::Well
    }
}

/// The place right before another.
fn before(place: Id) -> Id {
    let mut bytes = place.0;
    for byte in bytes.iter_mut().rev() {
        let borrows = *byte == 0;
        *byte = byte.wrapping_sub(1);
        if !borrows {
            break;
        }
    }
    Id(bytes)
}
