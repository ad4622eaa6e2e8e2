//! The asking side of a comparison: a machine that is given answers and says what to ask next.
//!
//! It has a stack of tasks; each task is one question, whose answer settles it or puts others in its place. What is found is handed out before the
//! next question, so no more than one unit's findings are in memory. If an answer is lost the same question is asked again.

use super::answer::{resolve, sketch, sum_of};
use super::cut::{Measured, measure};
use super::limits::{
    FOUND_MAX, LIST_MAX, PIECES_MAX, QUESTIONS_MAX, RESTARTS_MAX, SKETCH_ENTRIES_FEW, SPANS_CUT_AGAIN_MAX, TASKS_MAX,
};
use super::message::{Answer, Ask, Cut, Question, Reply};
use super::span::{Spans, joined};
use super::symbol::{Peeled, Salt, Share, Short, Symbol, cells};
use super::unit::{Plan, Range, Unit};
use super::{Error, Holdings, Span};
use crate::Mark;
use herodotus_base::Id;
use std::collections::VecDeque;

/// Compares what is held here with what one other machine holds, on one arc.
#[derive(Debug)]
pub struct Comparison {
    salt_number: u64,
    salt: Salt,
    /// The last one is next.
    tasks: Vec<Task>,
    asked: Option<Task>,
    found: VecDeque<Found>,
    questions: u32,
    is_over: bool,
}

/// What to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    Ask(Question),
    /// A part of the differences. Go on with no answer.
    Found(Found),
    /// There are no others.
    Done,
}

/// Some differences.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// The other holds something on these spans, and we nothing.
    OnlyThere(Vec<Span>),
    /// We hold something on these spans, and the other nothing.
    OnlyHere(Vec<Span>),
    /// On these spans, entry by entry. What is lacking here is known by its short ids, which the other can [`resolve`].
    Each { spans: Vec<Span>, lacking_here: Vec<Short>, lacking_there: Vec<(Id, Mark)> },
}

#[derive(Clone, Debug)]
enum Task {
    Whole(Span),
    /// The ranges are cut further; how many differences there may be, if that is known.
    Cut(Vec<Range>, Option<u64>),
    Sketch(Unit),
    List(Unit),
    /// A list is here; only our own entries are left to be looked through.
    Report(Report),
}

#[derive(Clone, Debug)]
struct Report {
    spans: Vec<Span>,
    share: Share,
    /// In order, and whether they are here too.
    theirs: Vec<(Short, bool)>,
    /// The spans that are not looked through yet, and how many entries at the beginning of the first one are.
    left: VecDeque<Span>,
    skip: usize,
}

impl Comparison {
    /// `salt`: any number that nobody could know before.
    pub fn new(span: Span, salt: u64) -> Self {
        let tasks = vec![Task::Whole(span)];
        let (asked, found) = (None, VecDeque::new());
        Self { salt_number: salt, salt: Salt::new(salt), tasks, asked, found, questions: 0, is_over: false }
    }

    /// What the short ids were salted with, which the other side needs to turn them back.
    pub fn salt(&self) -> u64 {
        self.salt_number
    }

    /// Takes the answer to the question before, if there is one; without it the question is asked again. After an error it is over.
    pub fn next<H: Holdings>(&mut self, holdings: &H, answer: Option<Answer>) -> Result<Step, Error<H::Error>> {
        if self.is_over {
            return Err(Error::Over);
        }
        let step = self.step(holdings, answer);
        if step.is_err() {
            self.is_over = true;
            (self.tasks, self.found, self.asked) = (Vec::new(), VecDeque::new(), None);
        }
        step
    }

    fn step<H: Holdings>(&mut self, holdings: &H, answer: Option<Answer>) -> Result<Step, Error<H::Error>> {
        match (self.asked.take(), answer) {
            (Some(task), Some(Answer::V1(reply))) => self.handle_reply(holdings, task, reply)?,
            (Some(task), None) => self.tasks.push(task),
            (None, Some(_)) => return Err(Error::Peer("an answer to nothing")),
            (None, None) => {}
        }
        loop {
            if let Some(found) = self.found.pop_front() {
                return Ok(Step::Found(found));
            }
            match self.tasks.pop() {
                None => return Ok(Step::Done),
                Some(Task::Report(report)) => self.report(holdings, report)?,
                Some(task) => return self.ask(holdings, task),
            }
        }
    }

    fn ask<H: Holdings>(&mut self, holdings: &H, task: Task) -> Result<Step, Error<H::Error>> {
        self.questions += 1;
        if self.questions > QUESTIONS_MAX || self.tasks.len() > TASKS_MAX {
            return Err(Error::TooLong);
        }
        let salt = self.salt_number;
        let ask = match &task {
            Task::Whole(span) => {
                Ask::Whole { salt, span: *span, sum: sum_of(holdings, *span).map_err(Error::Holdings)? }
            }
            Task::Cut(ranges, _) => {
                let spans: Vec<_> = ranges.iter().map(|range| range.span).collect();
                Ask::Cut { salt, spans: Spans::pack(&spans) }
            }
            Task::Sketch(unit) => {
                let (spans, share, until) = (Spans::pack(&unit.spans()), unit.share, unit.until);
                Ask::Symbols { salt, spans, share, from: unit.have(), until }
            }
            Task::List(unit) => Ask::List { salt, spans: Spans::pack(&unit.spans()), share: unit.share },
            Task::Report(_) => return Err(Error::Over),
        };
        self.asked = Some(task);
        Ok(Step::Ask(Question::V1(ask)))
    }

    fn handle_reply<H: Holdings>(&mut self, holdings: &H, task: Task, reply: Reply) -> Result<(), Error<H::Error>> {
        match (task, reply) {
            (Task::Whole(_), Reply::Same) => Ok(()),
            (Task::Whole(span), Reply::Cut(cuts)) => self.sift(holdings, &[span], &cuts, None),
            (Task::Cut(ranges, expected), Reply::Cut(cuts)) => {
                let spans: Vec<_> = ranges.iter().map(|range| range.span).collect();
                self.sift(holdings, &spans, &cuts, expected)
            }
            (Task::Sketch(unit), Reply::Symbols { entries, digest, symbols }) => {
                self.handle_symbols(holdings, unit, (entries, digest), &symbols)
            }
            (Task::List(unit), Reply::List(shorts)) => self.handle_list(unit, shorts),
            (Task::List(unit), Reply::TooMany) => {
                let expected = unit.expected;
                self.follow(unit.split(4, expected))
            }
            _ => Err(Error::Peer("an answer to something else")),
        }
    }

    /// Keeps the pieces that differ.
    fn sift<H: Holdings>(
        &mut self,
        holdings: &H,
        spans: &[Span],
        cuts: &[Cut],
        expected: Option<u64>,
    ) -> Result<(), Error<H::Error>> {
        let count: usize = cuts.iter().map(|cut| cut.pieces.len()).sum();
        if cuts.len() != spans.len() || count > PIECES_MAX.max(spans.len()) {
            return Err(Error::Peer("another number of pieces than there can be"));
        }
        let (mut ranges, mut only_there, mut only_here) = (Vec::new(), Vec::new(), Vec::new());
        let mut before = 0u64;
        for (span, cut) in spans.iter().zip(cuts) {
            for Measured { span, ours, theirs } in measure(holdings, *span, cut)? {
                before = before.saturating_add(ours.count.max(theirs.entries));
                if self.salt.fingerprint(ours) == theirs.fingerprint {
                    continue;
                }
                match (ours.count, theirs.entries) {
                    (0, 0) => return Err(Error::Peer("nothing that is not the same as nothing")),
                    (0, _) => only_there.push(span),
                    (_, 0) => only_here.push(span),
                    (ours, theirs) => ranges.push(Range { span, ours, theirs, is_one: cut.pieces.len() == 1 }),
                }
            }
        }
        for (spans, found) in [(only_there, Found::OnlyThere as fn(_) -> _), (only_here, Found::OnlyHere)] {
            self.found.extend((!spans.is_empty()).then(|| found(joined(spans))));
        }
        self.go_on(ranges, before, expected)
    }

    /// Another cut if that leaves out much, else sketches. `before`: the entries on the ranges that these are of.
    fn go_on<E>(&mut self, ranges: Vec<Range>, before: u64, expected: Option<u64>) -> Result<(), Error<E>> {
        if ranges.is_empty() {
            return Ok(());
        }
        let entries = ranges.iter().map(|range| range.ours.max(range.theirs)).fold(0, u64::saturating_add);
        let is_worth_it = entries > SKETCH_ENTRIES_FEW && entries < before / 2 && ranges.len() <= SPANS_CUT_AGAIN_MAX;
        if is_worth_it && ranges.iter().any(|range| !range.is_one) {
            self.tasks.push(Task::Cut(ranges, expected));
            return Ok(());
        }
        self.follow(Unit::new(ranges, expected).plan())
    }

    fn follow<E>(&mut self, plan: Plan) -> Result<(), Error<E>> {
        let mut plans = vec![plan];
        while let Some(plan) = plans.pop() {
            match plan {
                Plan::Sketch(unit) => self.tasks.push(Task::Sketch(unit)),
                Plan::List(unit) => self.tasks.push(Task::List(unit)),
                Plan::Cut(unit) => self.tasks.push(Task::Cut(unit.ranges, unit.expected)),
                Plan::Parts(parts) => plans.extend(parts.into_iter().map(Unit::plan)),
                Plan::Hopeless => return Err(Error::TooLong),
            }
            // What a liar counts may be split for ever.
            if self.tasks.len() + plans.len() > TASKS_MAX {
                return Err(Error::TooLong);
            }
        }
        Ok(())
    }

    fn handle_symbols<H: Holdings>(
        &mut self,
        holdings: &H,
        mut unit: Unit,
        made_of: (u64, [u8; 8]),
        symbols: &[Symbol],
    ) -> Result<(), Error<H::Error>> {
        let from = unit.have();
        if symbols.len() != (from..unit.until).len() {
            return Err(Error::Peer("another number of symbols than was asked for"));
        }
        if from > 0 && unit.made_of != Some(made_of) {
            return self.start_over(unit);
        }
        unit.made_of = Some(made_of);
        unit.cells.extend(cells(symbols, from, made_of.0));
        let spans = unit.spans();
        let (ours, sum) = sketch(holdings, &self.salt, &spans, unit.share, 0..unit.have()).map_err(Error::Holdings)?;
        let difference = ours.taken_from(&unit.cells);
        let estimate = difference.estimate();
        match difference.peel(&self.salt) {
            Peeled::All { there, here } => self.find(holdings, spans, there, &here),
            Peeled::Garbled => Err(Error::Peer("symbols of nothing")),
            // All differences there could be would have been found.
            Peeled::Some if unit.cells.len() as u64 / 4 > sum.count.saturating_add(made_of.0).saturating_add(64) => {
                Err(Error::Peer("symbols of nothing"))
            }
            Peeled::Some => {
                unit.expected = Some(estimate);
                self.follow(unit.plan())
            }
        }
    }

    /// With all symbols in one answer, if they fit into one, so that they belong together.
    fn start_over<E>(&mut self, unit: Unit) -> Result<(), Error<E>> {
        if unit.restarts == RESTARTS_MAX {
            return Err(Error::Moving);
        }
        let anew = Unit { share: unit.share, restarts: unit.restarts + 1, ..Unit::new(unit.ranges, unit.expected) };
        self.follow(anew.plan())
    }

    fn find<H: Holdings>(
        &mut self,
        holdings: &H,
        spans: Vec<Span>,
        lacking_here: Vec<Short>,
        here: &[Short],
    ) -> Result<(), Error<H::Error>> {
        let lacking_there = match here.is_empty() {
            true => Vec::new(),
            false => resolve(holdings, self.salt_number, &spans, here).map_err(Error::Holdings)?,
        };
        self.find_each(spans, lacking_here, lacking_there);
        Ok(())
    }

    fn find_each(&mut self, spans: Vec<Span>, lacking_here: Vec<Short>, lacking_there: Vec<(Id, Mark)>) {
        if !lacking_here.is_empty() || !lacking_there.is_empty() {
            self.found.push_back(Found::Each { spans, lacking_here, lacking_there });
        }
    }

    fn handle_list<E>(&mut self, unit: Unit, mut shorts: Vec<Short>) -> Result<(), Error<E>> {
        if shorts.len() > LIST_MAX || shorts.iter().any(|short| !unit.share.contains(*short)) {
            return Err(Error::Peer("a list of something else"));
        }
        shorts.sort_unstable();
        shorts.dedup();
        let theirs = shorts.into_iter().map(|short| (short, false)).collect();
        let spans = unit.spans();
        let left = spans.iter().copied().collect();
        self.tasks.push(Task::Report(Report { spans, share: unit.share, theirs, left, skip: 0 }));
        Ok(())
    }

    /// Looks through our entries until there is enough to hand out, and leaves the rest as a task.
    fn report<H: Holdings>(&mut self, holdings: &H, mut report: Report) -> Result<(), Error<H::Error>> {
        let mut lacking_there = Vec::new();
        while let Some(span) = report.left.pop_front() {
            if let Some(rest) = report.look(holdings, &self.salt, span, &mut lacking_there).map_err(Error::Holdings)? {
                report.left.push_front(rest);
                self.find_each(report.spans.clone(), Vec::new(), lacking_there);
                self.tasks.push(Task::Report(report));
                return Ok(());
            }
        }
        let lacking_here = report.theirs.iter().filter(|(_, is_here)| !is_here).map(|(short, _)| *short).collect();
        self.find_each(report.spans, lacking_here, lacking_there);
        Ok(())
    }
}

impl Report {
    /// What is left of the span when `lacking_there` is full.
    fn look<H: Holdings>(
        &mut self,
        holdings: &H,
        salt: &Salt,
        span: Span,
        lacking_there: &mut Vec<(Id, Mark)>,
    ) -> Result<Option<Span>, H::Error> {
        let (skip, mut at) = (std::mem::take(&mut self.skip), (span.from, 0));
        for (index, item) in holdings.marks(span).enumerate() {
            let (place, mark) = item?;
            at = if index > 0 && at.0 == place { (place, at.1 + 1) } else { (place, 1) };
            if index < skip {
                continue;
            }
            let short = salt.short(mark);
            if !self.share.contains(short) {
                continue;
            }
            match self.theirs.binary_search_by_key(&short, |(short, _)| *short) {
                Ok(found) => self.theirs[found].1 = true,
                Err(_) => lacking_there.push((place, mark)),
            }
            if lacking_there.len() >= FOUND_MAX {
                self.skip = at.1;
                return Ok(Some(span.starting_at(place)));
            }
        }
        Ok(None)
    }
}
