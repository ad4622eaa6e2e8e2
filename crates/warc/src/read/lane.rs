//! The records of one WARC or ARC file, one after the other, and the way on after damage.
//!
//! A record's end is checked before its last byte is handed out: the member's checksum where the member ends with it, and
//! that a record, an empty line or the end follows. So whoever reads a block to its end without an error has read what
//! was written. Each damage is told once: as the error of the block's reader, or, if nobody read that far, as a skip.
//! After damage to a member the search goes on behind that member's first byte, since inflating may have run far past its
//! end; after a wrong Content-Length, behind the record's header, since its block may have swallowed other records.

use super::scan::{Effort, Found, Ground, arc_line, scan_window};
use super::stream::{Fault, Stream};
use crate::arc;
use crate::header::{Header, block_end, is_version_line};
use crate::limits::ARC_LINE_BYTES_MAX;
use crate::{Kind, ReadLimits};
use std::io;

/// What comes next in a file.
pub(crate) enum Step {
    Record { header: Header, offset: u64, len: u64 },
    Skip { offset: u64, reason: String },
    End,
}

pub(crate) struct Lane {
    stream: Stream,
    limits: ReadLimits,
    /// ARC lines are looked for: no WARC record stood at the file's start.
    with_arc: bool,
    current: Option<Current>,
    /// The nearest start that can be sought, and the records given out since.
    anchor: (u64, u64),
    effort: Effort,
    /// Nothing more can be read.
    over: bool,
    /// A skip to give out before anything else.
    owed: Option<Step>,
}

/// The record whose block is being read.
struct Current {
    /// For reports: the offset of the record, or of the member that holds it.
    at: u64,
    /// Where the block starts, in the member's decoded bytes.
    block_at: u64,
    len: u64,
    left: u64,
    /// What follows the block was looked at.
    checked: bool,
    wrong: Option<Wrong>,
    /// The caller has been told what is wrong.
    told: bool,
}

enum Wrong {
    Stream(Fault),
    Length(io::ErrorKind, String),
}

impl Wrong {
    fn to_error(&self) -> io::Error {
        match self {
            Self::Stream(Fault::Disk(e)) => io::Error::new(e.kind(), e.to_string()),
            Self::Stream(Fault::Damage(kind, why)) | Self::Length(kind, why) => io::Error::new(*kind, why.clone()),
            Self::Stream(Fault::Limit(why)) => io::Error::new(io::ErrorKind::InvalidData, why.clone()),
        }
    }
}

/// What follows a block.
enum Tail {
    /// A record, or the end.
    Boundary,
    /// The line ends that close a record, and then something else.
    Strange,
    /// The block goes on, or ended before.
    Broken,
}

/// What a record with nothing between its block and the next record needs to be looked at for: two line ends and a magic.
const TAIL_BYTES: usize = 9;

impl Lane {
    pub(crate) fn new(stream: Stream, with_arc: bool, limits: &ReadLimits) -> Self {
        let effort = Effort::for_bytes(stream.source.raw_len());
        Self {
            stream,
            limits: limits.clone(),
            with_arc,
            current: None,
            anchor: (0, 0),
            effort,
            over: false,
            owed: None,
        }
    }

    /// Raw bytes used so far.
    pub(crate) fn raw_used(&self) -> u64 {
        self.stream.source.raw_used()
    }

    /// An offset to seek to and how many records to drop from there to stand before the next record.
    pub(crate) fn position(&self) -> (u64, u64) {
        if let Some(current) = &self.current
            && (current.left > 0 || !current.checked || current.wrong.is_some())
        {
            return self.anchor;
        }
        let at_member_end = !self.stream.inside() || self.stream.ended() && self.stream.window().iter().all(is_padding);
        if self.over || at_member_end {
            (self.stream.source.offset(), 0)
        } else if self.stream.is_plain() {
            (self.stream.decoded_at(), 0)
        } else {
            self.anchor
        }
    }

    /// Goes to a position. `false` if there are not so many records there.
    pub(crate) fn resume(&mut self, offset: u64, records: u64) -> io::Result<bool> {
        // What kind of file this is, its first record tells; garbage further on must not be taken for the other kind.
        while self.with_arc {
            match self.step()? {
                Step::Skip { offset: at, .. } if at < offset => {}
                _ => break,
            }
        }
        (self.current, self.owed, self.over, self.anchor) = (None, None, false, (offset, 0));
        if self.stream.source.known_len().is_some_and(|len| offset > len) {
            return Ok(false);
        }
        match self.stream.leave_to(offset) {
            Err(Fault::Disk(e)) => return Err(e),
            Err(_) => return Ok(false),
            Ok(()) => {}
        }
        for _ in 0..records {
            loop {
                match self.step()? {
                    Step::Record { .. } => break,
                    Step::Skip { .. } => {}
                    Step::End => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// Drops what is left of the record before and finds the next. `Err` is the disk's.
    pub(crate) fn step(&mut self) -> io::Result<Step> {
        if let Some(current) = self.current.take()
            && let Some(skip) = self.finish(current)?
        {
            return Ok(skip);
        }
        loop {
            if let Some(step) = self.owed.take() {
                return Ok(step);
            }
            if self.over {
                return Ok(Step::End);
            }
            if !self.stream.inside() {
                let at = self.stream.source.offset();
                match self.stream.begin() {
                    Ok(true) => self.anchor = (self.stream.member_at(), 0),
                    Ok(false) => {
                        self.over = true;
                        continue;
                    }
                    Err(fault) => return self.skip_member(at, at, fault),
                }
            }
            let at = self.record_offset();
            match self.start_record() {
                Ok(Some(step)) => return Ok(step),
                Ok(None) => {}
                Err(fault) => return self.skip_member(at, self.stream.member_at(), fault),
            }
        }
    }

    /// The bytes of the current block at hand. Empty at its end.
    pub(crate) fn block_fill(&mut self) -> io::Result<&[u8]> {
        let Some(mut current) = self.current.take() else { return Ok(&[]) };
        let ready = self.prepare(&mut current);
        self.current = Some(current);
        let ready = ready?;
        Ok(&self.stream.window()[..ready])
    }

    pub(crate) fn block_consume(&mut self, n: usize) {
        if let Some(current) = &mut self.current {
            let n = n.min(usize::try_from(current.left).unwrap_or(usize::MAX)).min(self.stream.window().len());
            self.stream.consume(n);
            current.left -= n as u64;
        }
    }

    /// Makes bytes of the block ready and says how many may be handed out.
    fn prepare(&mut self, current: &mut Current) -> io::Result<usize> {
        let left = usize::try_from(current.left).unwrap_or(usize::MAX);
        if current.wrong.is_none() && left > 0 {
            // All of it at once where it fits: callers have a way for blocks in one piece.
            let want = if left <= self.stream.capacity() * 3 / 4 { left } else { 1 };
            match self.stream.ensure(want) {
                Err(fault) => current.wrong = Some(self.stream_wrong(fault)),
                Ok(()) if self.stream.window().len() < want => current.wrong = Some(too_short(current)),
                Ok(()) => {}
            }
        }
        let have = self.stream.window().len();
        if current.wrong.is_none() && !current.checked && have >= left {
            if left.saturating_add(self.tail_bytes()) > self.stream.capacity() {
                // No room to look past the block yet: hand out what comes before.
                return Ok(have / 2);
            }
            self.check_tail(current);
        }
        // Once something is wrong the last byte is held back, so that nobody takes the block for whole.
        let have = self.stream.window().len().min(left);
        match &current.wrong {
            None => Ok(have),
            Some(_) if have.min(left.saturating_sub(1)) > 0 => Ok(have.min(left - 1)),
            Some(wrong) => {
                current.told = true;
                Err(wrong.to_error())
            }
        }
    }

    /// A fault in the record that is being read. A checksum speaks for the whole member, so it casts doubt on the records
    /// that were given out of it before.
    fn stream_wrong(&self, fault: Fault) -> Wrong {
        Wrong::Stream(match fault {
            Fault::Damage(kind, why) if !self.stream.is_plain() && self.anchor.1 > 1 => {
                Fault::Damage(kind, format!("{why}; records read from the same member before may be wrong too"))
            }
            fault => fault,
        })
    }

    /// Looks at what follows the block, whose last `left` bytes are at the start of the window.
    fn check_tail(&mut self, current: &mut Current) {
        current.checked = true;
        let left = usize::try_from(current.left).unwrap_or(usize::MAX);
        if let Err(fault) = self.stream.ensure(left.saturating_add(self.tail_bytes())) {
            current.wrong = Some(self.stream_wrong(fault));
            return;
        }
        let good = match self.judge_tail(left) {
            // The record ends well, but what comes after it is neither a record nor the end. In a compressed member that
            // may be damage from further before, which the member's checksum will tell.
            Tail::Strange if !self.stream.is_plain() => {
                if let Err(fault) = self.stream.ensure(self.stream.capacity()) {
                    current.wrong = Some(self.stream_wrong(fault));
                    return;
                }
                true
            }
            Tail::Strange | Tail::Boundary => true,
            Tail::Broken => false,
        };
        if !good {
            let why = format!("its Content-Length of {} is wrong: neither a record nor the end follows", current.len);
            current.wrong = Some(Wrong::Length(io::ErrorKind::InvalidData, why));
        }
    }

    fn judge_tail(&self, left: usize) -> Tail {
        let tail = self.stream.window().get(left..).unwrap_or_default();
        let ends = tail.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        let follows = &tail[ends..];
        if follows.starts_with(b"WARC/")
            || self.stream.ended() && tail.iter().all(is_padding)
            || self.with_arc && arc_line(follows).is_some_and(arc::is_line)
        {
            Tail::Boundary
        } else if tail.starts_with(b"\r\n\r\n") || tail.starts_with(b"\n\n") || self.with_arc && ends > 0 {
            Tail::Strange
        } else {
            Tail::Broken
        }
    }

    fn tail_bytes(&self) -> usize {
        if self.with_arc { ARC_LINE_BYTES_MAX } else { TAIL_BYTES }
    }

    /// Drops the rest of a record and, if it was damaged, finds the way on. Returns the skip that is still to be told.
    fn finish(&mut self, mut current: Current) -> io::Result<Option<Step>> {
        if current.wrong.is_none() && !(current.left == 0 && current.checked) {
            self.drop_rest(&mut current);
        }
        let Some(wrong) = current.wrong.take() else { return Ok(None) };
        let skip = Step::Skip { offset: current.at, reason: capitalised(&wrong.to_error().to_string()) };
        let fault = match wrong {
            Wrong::Stream(fault) => Some(fault),
            Wrong::Length(..) => self.search_behind_header(current.block_at).err(),
        };
        if let Some(fault) = fault {
            self.recover(self.stream.member_at(), fault)?;
        }
        Ok((!current.told).then_some(skip))
    }

    fn drop_rest(&mut self, current: &mut Current) {
        let end = current.block_at.saturating_add(current.len);
        let beyond = self.stream.is_plain() && self.stream.source.known_len().is_some_and(|len| end > len);
        if beyond {
            current.wrong = Some(too_short(current));
            return;
        }
        match self.stream.discard(end) {
            Err(fault) => current.wrong = Some(self.stream_wrong(fault)),
            Ok(()) if self.stream.decoded_at() < end => current.wrong = Some(too_short(current)),
            Ok(()) => {
                current.left = 0;
                self.check_tail(current);
            }
        }
    }

    /// After a wrong Content-Length: stands at the next record within the member, or at the member's end.
    fn search_behind_header(&mut self, block_at: u64) -> Result<(), Fault> {
        if !self.stream.holds(block_at) && !self.effort.spend(self.stream.decoded_at()) {
            self.give_up();
        } else {
            self.stream.rewind(block_at)?;
        }
        self.search(Ground::Payload).map(drop)
    }

    /// Goes on to the next record in this member. `false`: there is none, and the member is consumed.
    fn search(&mut self, ground: Ground) -> Result<bool, Fault> {
        loop {
            let complete = self.stream.ended();
            match scan_window(self.stream.window(), ground, self.with_arc, complete) {
                Found::At(at) => {
                    self.stream.consume(at);
                    return Ok(true);
                }
                Found::NotBefore(at) => {
                    self.stream.consume(at);
                    if complete {
                        self.stream.consume(usize::MAX);
                        return Ok(false);
                    }
                    if !self.stream.more()? && !self.stream.ended() {
                        self.stream.consume(1);
                    }
                }
            }
        }
    }

    /// Tells of a member that cannot be read, and finds the next one that can.
    fn skip_member(&mut self, at: u64, member_at: u64, fault: Fault) -> io::Result<Step> {
        let reason = capitalised(&fault.why());
        self.recover(member_at, fault)?;
        Ok(Step::Skip { offset: at, reason })
    }

    /// Stands before the next member that begins like a record, or declares the file over.
    fn recover(&mut self, member_at: u64, fault: Fault) -> io::Result<()> {
        let fault = match fault {
            Fault::Disk(e) => {
                self.over = true;
                return Err(e);
            }
            Fault::Limit(why) => match self.stream.skip_member() {
                Ok(()) => return Ok(()),
                Err(Fault::Disk(e)) => return Err(e),
                Err(_) => Fault::damage(why),
            },
            fault => fault,
        };
        debug_assert!(matches!(fault, Fault::Damage(..)));
        let reached = self.stream.source.offset();
        let from = if self.effort.spend(reached.saturating_sub(member_at)) { member_at + 1 } else { reached };
        match self.stream.find_member(from, &mut self.effort) {
            Ok(Some(_)) => {}
            Err(Fault::Disk(e)) => return Err(e),
            Ok(None) | Err(_) => {
                self.over = true;
                if self.effort.is_spent() {
                    self.give_up();
                }
            }
        }
        Ok(())
    }

    fn give_up(&mut self) {
        let reason = "The file is damaged in too many places to search all of it for more records".to_owned();
        self.owed = Some(Step::Skip { offset: self.record_offset(), reason });
    }

    /// Where the record that starts here will be said to be.
    fn record_offset(&self) -> u64 {
        if self.stream.is_plain() { self.stream.decoded_at() } else { self.stream.member_at() }
    }

    /// Reads the header that starts here. `None`: the member is over, or nothing stands here that must be told.
    fn start_record(&mut self) -> Result<Option<Step>, Fault> {
        loop {
            self.stream.ensure(1)?;
            let window = self.stream.window();
            if window.is_empty() {
                return Ok(None);
            }
            let blank = window.iter().take_while(|b| is_padding(b)).count();
            let rest = blank < window.len();
            self.stream.consume(blank);
            if rest {
                break;
            }
        }
        if self.stream.is_plain() {
            self.anchor = (self.stream.decoded_at(), 0);
        }
        self.stream.ensure(TAIL_BYTES)?;
        if self.stream.window().starts_with(b"WARC/") {
            return self.start_warc().map(Some);
        }
        if self.with_arc {
            while arc_line(self.stream.window()).is_none() && self.stream.window().len() < ARC_LINE_BYTES_MAX {
                if !self.stream.more()? {
                    break;
                }
            }
            if let Some(line) = arc_line(self.stream.window())
                && let Some(record) = arc::parse_line(line)
            {
                let end = line.len() + 1;
                return Ok(Some(self.admit(record.header, record.len, end)));
            }
        }
        self.skip_garbage().map(Some)
    }

    fn start_warc(&mut self) -> Result<Step, Fault> {
        let mut from = 0;
        let end = loop {
            match block_end(self.stream.window(), from) {
                Ok(end) if end <= self.limits.header_bytes_max => break end,
                Err(_) if self.stream.window().len() <= self.limits.header_bytes_max => {}
                _ => {
                    let reason = format!("The record's header is longer than {} bytes", self.limits.header_bytes_max);
                    return self.skip_header(reason, 5, Ground::Payload);
                }
            }
            from = block_end(self.stream.window(), from).err().unwrap_or(from);
            if !self.stream.more()? {
                let what = if self.stream.is_plain() { "file" } else { "compressed member" };
                return self.skip_header(
                    format!("The {what} ends in the middle of a record's header"),
                    5,
                    Ground::Payload,
                );
            }
        };
        let block = &self.stream.window()[..end];
        if !is_version_line(block) {
            return self.skip_header("The record does not start with a WARC version line".to_owned(), 5, Ground::Open);
        }
        let has_nul = block.contains(&0);
        let header = Header::parse(block);
        let len = match header.agreed_length() {
            Ok(len) => len,
            Err(why) => return self.skip_header(capitalised(&why), end, Ground::Payload),
        };
        let problem = if has_nul {
            Some("The record's header holds a NUL byte".to_owned())
        } else if header.kind() == Kind::Other(String::new()) {
            Some("The record's header has no WARC-Type".to_owned())
        } else {
            None
        };
        // A file is of one kind.
        self.with_arc = false;
        match problem {
            None => Ok(self.admit(header, len, end)),
            Some(reason) => Ok(self.refuse(reason, len, end)),
        }
    }

    /// Gives out the record whose header takes `end` bytes of the window.
    fn admit(&mut self, header: Header, len: u64, end: usize) -> Step {
        if len > self.limits.record_bytes_max {
            let reason =
                format!("The record announces {len} bytes: more than {} are not read", self.limits.record_bytes_max);
            return self.refuse(reason, len, end);
        }
        let offset = self.enter(len, end, false);
        self.anchor.1 += 1;
        Step::Record { header, offset, len }
    }

    /// Skips a record whose end is known.
    fn refuse(&mut self, reason: String, len: u64, end: usize) -> Step {
        Step::Skip { offset: self.enter(len, end, true), reason }
    }

    fn enter(&mut self, len: u64, end: usize, told: bool) -> u64 {
        let at = self.record_offset();
        self.stream.consume(end);
        let block_at = self.stream.decoded_at();
        self.current = Some(Current { at, block_at, len, left: len, checked: false, wrong: None, told });
        at
    }

    /// Skips a header that does not say where its record ends.
    fn skip_header(&mut self, reason: String, pass: usize, ground: Ground) -> Result<Step, Fault> {
        let offset = self.record_offset();
        self.stream.consume(pass);
        let reason = match self.search_or_recover(ground)? {
            Ok(_) => reason,
            Err(why) => format!("{reason}; behind it {why}"),
        };
        Ok(Step::Skip { offset, reason })
    }

    fn skip_garbage(&mut self) -> Result<Step, Fault> {
        let (offset, from) = (self.record_offset(), self.stream.decoded_at());
        let reason = match self.search_or_recover(Ground::Open)? {
            Ok(upto) => format!("{} bytes that are not a record", upto.saturating_sub(from)),
            Err(why) => format!("Bytes that are not a record; behind them {why}"),
        };
        Ok(Step::Skip { offset, reason })
    }

    /// Searches on in this member and says where it stands then. Damage met on the way is part of what the caller tells:
    /// the inner `Err`. `Err` is the disk's.
    fn search_or_recover(&mut self, ground: Ground) -> Result<Result<u64, String>, Fault> {
        match self.search(ground) {
            Ok(_) => Ok(Ok(self.stream.decoded_at())),
            Err(fault) => {
                let why = fault.why();
                self.recover(self.stream.member_at(), fault).map_err(Fault::Disk)?;
                Ok(Err(why))
            }
        }
    }
}

/// What may stand between records without a word.
fn is_padding(byte: &u8) -> bool {
    matches!(byte, b'\r' | b'\n' | 0)
}

fn too_short(current: &Current) -> Wrong {
    let why = format!("the record announces {} bytes, and fewer follow", current.len);
    Wrong::Length(io::ErrorKind::UnexpectedEof, why)
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
