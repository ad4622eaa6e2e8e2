//! From a query to its lines, a piece at a time: walk the index, resolve, leave out, collapse, put in order, write. The steps and
//! their order are pywb's.

use super::collapse::Collapse;
use super::field::{Line, Original};
use super::query::{Order, Page, Paging, Query, resume_key_of};
use super::walk::Walk;
use crate::answer::Trouble;
use crate::archive::Archive;
use crate::limits::{
    CDX_BLOCK_LINES, CDX_ORIGINALS_MAX, CDX_PIECE_BYTES, CDX_PIECE_ENTRIES, CDX_SORTED_BYTES_MAX, CDX_SORTED_MAX,
};
use herodotus_store::{Entry, EntryKey, Kind};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;

/// An answer that is being made.
#[derive(Debug)]
pub(crate) struct Lines {
    query: Arc<Query>,
    walk: Walk,
    stage: Stage,
    originals: HashMap<[u8; 20], Original>,
    collapse: Vec<Collapse>,
    /// Captures of the ranges seen so far, before any filter: what pages are made of.
    seen: u64,
    offset_left: u64,
    limit_left: u64,
    sorted: Sorted,
    scratch: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Learning what revisits are revisits of.
    Originals,
    /// Doing what can be done without walking.
    Begin,
    Walk,
    /// Writing what had to be put in order.
    Sorted,
    Done,
}

/// Lines waiting for their place. Bounded in number and in bytes.
#[derive(Debug, Default)]
struct Sorted {
    entries: VecDeque<(i64, Entry)>,
    bytes: usize,
}

enum Flow {
    Go,
    /// Nothing that follows can be a line.
    Stop,
}

impl Lines {
    pub(crate) fn new(query: Query) -> Self {
        let walk = Walk::new(&query);
        let collapse = query.collapse.iter().map(|rule| Collapse::new(rule, walk.is_backwards())).collect();
        let (stage, walk) = match query.resolve_revisits {
            true => (Stage::Originals, Walk::forward()),
            false => (Stage::Begin, walk),
        };
        Self {
            walk,
            stage,
            originals: HashMap::new(),
            collapse,
            seen: 0,
            offset_left: query.offset,
            limit_left: query.limit.unwrap_or(u64::MAX),
            sorted: Sorted::default(),
            scratch: String::new(),
            query: Arc::new(query),
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    pub(crate) fn content_type(&self) -> &'static str {
        match self.query.paging {
            Paging::Count(_) => "application/json",
            _ => self.query.output.content_type(),
        }
    }

    /// Appends the next piece to `out`; it may be empty although more follows.
    pub(crate) fn piece(&mut self, archive: Archive<'_>, out: &mut String) -> Result<(), Trouble> {
        let query = self.query.clone();
        let end = out.len() + CDX_PIECE_BYTES;
        let mut entries_left = CDX_PIECE_ENTRIES;
        loop {
            if self.stage == Stage::Begin {
                self.begin(archive, &query)?;
            }
            if !matches!(self.stage, Stage::Originals | Stage::Walk) {
                break;
            }
            let Some(entries) = self.walk.entries(archive, &query) else {
                self.end_of_walk(out)?;
                continue;
            };
            let mut is_over = false;
            for entry in entries {
                let entry = entry?;
                if entries_left == 0 || out.len() >= end {
                    return Ok(());
                }
                entries_left -= 1;
                if let Flow::Stop = self.take(entry, out) {
                    is_over = true;
                    break;
                }
            }
            match is_over {
                true => self.end_of_walk(out)?,
                false => self.walk.next_range(),
            }
        }
        self.write_sorted(out, end);
        Ok(())
    }

    fn begin(&mut self, archive: Archive<'_>, query: &Query) -> Result<(), Trouble> {
        self.stage = Stage::Walk;
        if let Some(id) = &query.resume_after
            && let Some(entry) = archive.entry(id)?
        {
            let stamp = entry.id.time.digits14();
            let original = original_of(&self.originals, query, &entry);
            let line = Line { entry: &entry, stamp: &stamp, original };
            self.collapse.iter_mut().for_each(|collapse| collapse.begin_after(&line));
        }
        if let (Order::Closest(_), Some(key), true) = (query.order, &query.exact, query.collapse.is_empty())
            && query.paging == Paging::None
            && query.resume_after.is_none()
        {
            self.nearest(archive, query, key)?;
            self.stage = Stage::Sorted;
        }
        Ok(())
    }

    /// The versions nearest to a moment, without looking at those farther away.
    fn nearest(&mut self, archive: Archive<'_>, query: &Query, key: &str) -> Result<(), Trouble> {
        let Order::Closest(moment) = query.order else { return Ok(()) };
        let wanted = usize::try_from(self.wanted()).unwrap_or(usize::MAX);
        for scan in [archive.versions_until(key, moment), archive.versions_after(key, moment)] {
            let (mut count, mut last_second) = (0, None);
            for entry in scan {
                let entry = entry?;
                let second = entry.id.time.floor_second();
                // Those of one second are equally near, and stand in the order of the index.
                if count >= wanted && last_second != Some(second) {
                    break;
                }
                let stamp = entry.id.time.digits14();
                if entry.is_capture() && is_in_time(query, &stamp) && self.passes(query, &entry, &stamp) {
                    (count, last_second) = (count + 1, Some(second));
                    self.sorted.insert(distance(moment, &entry), entry, usize::MAX);
                    if self.sorted.is_full() {
                        break;
                    }
                }
            }
        }
        self.sorted.truncate(wanted);
        Ok(())
    }

    /// Lines that must be known before the first can be written, if they must be put in order.
    fn wanted(&self) -> u64 {
        self.limit_left.saturating_add(self.offset_left).min(CDX_SORTED_MAX as u64)
    }

    fn take(&mut self, entry: Entry, out: &mut String) -> Flow {
        if self.stage == Stage::Originals {
            return self.learn(entry);
        }
        let query = self.query.clone();
        if !entry.is_capture() {
            self.walk.reached(entry.id);
            return Flow::Go;
        }
        let place = self.seen;
        self.seen += 1;
        match query.paging {
            Paging::None => {}
            Paging::Count(_) => {
                self.walk.reached(entry.id);
                return Flow::Go;
            }
            Paging::Page(page) | Paging::Blocks(page) => {
                let (first, end) = page.lines();
                if place >= end {
                    // One more is enough to know that the page exists.
                    return Flow::Stop;
                }
                if place < first {
                    self.walk.reached(entry.id);
                    return Flow::Go;
                }
            }
        }
        let stamp = entry.id.time.digits14();
        if let Paging::Blocks(_) = query.paging {
            if place.is_multiple_of(CDX_BLOCK_LINES) {
                let _ = writeln!(
                    out,
                    "{} {stamp}\tcdx\t{place}\t{CDX_BLOCK_LINES}\t{}",
                    entry.id.key,
                    place / CDX_BLOCK_LINES
                );
            }
            self.walk.reached(entry.id);
            return Flow::Go;
        }
        if !is_in_time(&query, &stamp) {
            let is_past = match self.walk.is_backwards() {
                false => query.to.as_ref().is_some_and(|to| stamp > *to),
                true => query.from.as_ref().is_some_and(|from| stamp < *from),
            };
            self.walk.reached(entry.id);
            return if is_past && query.exact.is_some() { Flow::Stop } else { Flow::Go };
        }
        if !self.passes(&query, &entry, &stamp) {
            self.walk.reached(entry.id);
            return Flow::Go;
        }
        if self.collapse.is_empty() && matches!(query.order, Order::Forward | Order::Reverse) {
            let flow = self.write(&query, &entry, &stamp, out);
            self.walk.reached(entry.id);
            return flow;
        }
        self.walk.reached(entry.id.clone());
        match self.collapsed(&query, 0, entry) {
            Some(entry) => self.place(&query, entry, out),
            None => Flow::Go,
        }
    }

    fn learn(&mut self, entry: Entry) -> Flow {
        if entry.is_capture() && entry.kind != Kind::Revisit && !self.originals.contains_key(&entry.sha1.0) {
            self.originals.insert(entry.sha1.0, Original::of(&entry));
        }
        self.walk.reached(entry.id);
        if self.originals.len() >= CDX_ORIGINALS_MAX { Flow::Stop } else { Flow::Go }
    }

    fn passes(&mut self, query: &Query, entry: &Entry, stamp: &str) -> bool {
        if query.filters.is_empty() {
            return true;
        }
        let line = Line { entry, stamp, original: original_of(&self.originals, query, entry) };
        query.filters.iter().all(|filter| filter.passes(&line, &mut self.scratch))
    }

    /// Lets an entry through the rules from number `first` on.
    fn collapsed(&mut self, query: &Query, first: usize, mut entry: Entry) -> Option<Entry> {
        for collapse in self.collapse.iter_mut().skip(first) {
            let (stamp, known) = (entry.id.time.digits14(), entry.clone());
            let line = Line { entry: &known, stamp: &stamp, original: original_of(&self.originals, query, &known) };
            entry = collapse.push(&line, entry)?;
        }
        Some(entry)
    }

    /// Writes an entry, or keeps it until its place is known.
    fn place(&mut self, query: &Query, entry: Entry, out: &mut String) -> Flow {
        match query.order {
            Order::Forward | Order::Reverse => {
                let stamp = entry.id.time.digits14();
                self.write(query, &entry, &stamp, out)
            }
            Order::Closest(moment) => {
                let wanted = usize::try_from(self.wanted()).unwrap_or(usize::MAX);
                self.sorted.insert(distance(moment, &entry), entry, wanted);
                Flow::Go
            }
            // What comes out at the end of the last run may be one too many.
            Order::Last if self.has_enough() => Flow::Stop,
            Order::Last => {
                self.sorted.push_front(entry);
                if self.has_enough() { Flow::Stop } else { Flow::Go }
            }
        }
    }

    fn has_enough(&self) -> bool {
        self.sorted.entries.len() as u64 >= self.wanted() || self.sorted.is_full()
    }

    fn write(&mut self, query: &Query, entry: &Entry, stamp: &str, out: &mut String) -> Flow {
        if self.offset_left > 0 {
            self.offset_left -= 1;
            return Flow::Go;
        }
        let line = Line { entry, stamp, original: original_of(&self.originals, query, entry) };
        query.output.put(&line, query.fields.as_deref(), out);
        self.limit_left -= 1;
        if self.limit_left > 0 {
            return Flow::Go;
        }
        if query.show_resume_key && matches!(query.order, Order::Forward | Order::Reverse) {
            query.output.put_resume_key(&resume_key_of(&entry.id), out);
        }
        self.stage = Stage::Done;
        Flow::Stop
    }

    /// The walk is over, at its end or before.
    fn end_of_walk(&mut self, out: &mut String) -> Result<(), Trouble> {
        let query = self.query.clone();
        match self.stage {
            Stage::Originals => {
                (self.stage, self.walk) = (Stage::Begin, Walk::new(&query));
                return Ok(());
            }
            Stage::Done => return Ok(()),
            Stage::Begin | Stage::Walk | Stage::Sorted => self.stage = Stage::Sorted,
        }
        for nth in 0..self.collapse.len() {
            let last = self.collapse.get_mut(nth).and_then(Collapse::finish);
            if let Some(entry) = last
                && let Some(entry) = self.collapsed(&query, nth + 1, entry)
                && let Flow::Stop = self.place(&query, entry, out)
            {
                return Ok(());
            }
        }
        self.end_of_pages(&query, out)
    }

    fn end_of_pages(&self, query: &Query, out: &mut String) -> Result<(), Trouble> {
        let pages = |page: Page| self.seen.div_ceil(page.blocks * CDX_BLOCK_LINES);
        match query.paging {
            Paging::Count(page) => {
                let blocks = self.seen.div_ceil(CDX_BLOCK_LINES);
                let _ = writeln!(
                    out,
                    "{{\"pages\": {}, \"pageSize\": {}, \"blocks\": {blocks}}}",
                    pages(page),
                    page.blocks
                );
                Ok(())
            }
            Paging::Page(page) | Paging::Blocks(page) if page.number > 0 && self.seen <= page.lines().0 => {
                let last = pages(page).saturating_sub(1);
                Err(Trouble::Asked(format!("Page {} invalid: First Page is 0, Last Page is {last}", page.number)))
            }
            _ => Ok(()),
        }
    }

    fn write_sorted(&mut self, out: &mut String, end: usize) {
        let query = self.query.clone();
        while self.stage == Stage::Sorted {
            if out.len() >= end {
                return;
            }
            let Some((_, entry)) = self.sorted.entries.pop_front() else {
                self.stage = Stage::Done;
                return;
            };
            let stamp = entry.id.time.digits14();
            self.write(&query, &entry, &stamp, out);
        }
    }
}

impl Page {
    /// First line and the one after the last.
    fn lines(self) -> (u64, u64) {
        let size = self.blocks * CDX_BLOCK_LINES;
        let first = self.number.saturating_mul(size);
        (first, first.saturating_add(size))
    }
}

impl Sorted {
    fn is_full(&self) -> bool {
        self.entries.len() >= CDX_SORTED_MAX || self.bytes >= CDX_SORTED_BYTES_MAX
    }

    /// Keeps the `most` nearest; of equally near ones, those that came first.
    fn insert(&mut self, distance: i64, entry: Entry, most: usize) {
        let at = self.entries.partition_point(|(other, known)| (*other, &known.id) <= (distance, &entry.id));
        if at >= most {
            return;
        }
        self.bytes += entry.url.len() + entry.id.key.len();
        self.entries.insert(at, (distance, entry));
        while self.entries.len() > most.min(CDX_SORTED_MAX)
            || self.bytes > CDX_SORTED_BYTES_MAX && self.entries.len() > 1
        {
            self.drop_last();
        }
    }

    fn push_front(&mut self, entry: Entry) {
        self.bytes += entry.url.len() + entry.id.key.len();
        self.entries.push_front((0, entry));
    }

    fn truncate(&mut self, most: usize) {
        while self.entries.len() > most {
            self.drop_last();
        }
    }

    fn drop_last(&mut self) {
        if let Some((_, entry)) = self.entries.pop_back() {
            self.bytes -= entry.url.len() + entry.id.key.len();
        }
    }
}

/// In seconds: what a line tells of a time.
fn distance(moment: herodotus_base::Timestamp, entry: &Entry) -> i64 {
    (moment.floor_second().millis() - entry.id.time.floor_second().millis()).abs()
}

fn is_in_time(query: &Query, stamp: &str) -> bool {
    query.from.as_ref().is_none_or(|from| stamp >= from.as_str())
        && query.to.as_ref().is_none_or(|to| stamp <= to.as_str())
}

/// What a revisit is to be resolved with: the first capture with its payload, if that came before it.
fn original_of<'a>(
    originals: &'a HashMap<[u8; 20], Original>,
    query: &Query,
    entry: &Entry,
) -> Option<Option<&'a Original>> {
    let comes_before = |original: &&Original| {
        let EntryKey { key, time, .. } = &entry.id;
        (&original.key, original.time) < (key, *time)
    };
    let resolved = || originals.get(&entry.sha1.0).filter(comes_before);
    query.resolve_revisits.then(|| if entry.kind == Kind::Revisit { resolved() } else { None })
}
