//! Import: every record of a file is stored, known already, or accounted for as skipped.
//!
//! How far an import has come is noted in the store together with what it brought, so that one that was interrupted goes
//! on where it was, and one that was finished is not done again.

use super::assemble::{Assembled, Assembler, Place, Read as ReadRecord};
use super::header;
use crate::Capture;
use crate::Store;
use crate::capture::{Body, Kind, Record, RecordId, WarcHeader};
use crate::error::{Error, Result};
use crate::hashing;
use crate::limits::BLOCK_DIGEST_BODY_BYTES_MAX;
use crate::store::Appended;
use crate::verdict::{Verdict, heed};
use herodotus_base::limits::{BODY_IN_MEMORY_BYTES_MAX, HTTP_HEAD_BYTES_MAX};
use herodotus_base::{Digests, Sha1, Sha256};
use herodotus_warc::{Item, Position, ReadLimits, Reader, Skip};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Skips that are remembered with their reasons; the rest are only counted.
const SKIPS_KEPT_MAX: usize = 1000;
/// Records between two notes of how far we are: little is read again after a crash.
const NOTE_EVERY_RECORDS: u64 = 500;
/// The same, for a file of large records: whoever wants to stop an import does not wait for five hundred of those.
const NOTE_EVERY_BYTES: u64 = 64 << 20;

#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Stop at the first record that cannot be read, instead of going on behind it.
    pub strict: bool,
    /// Read the file even if it was imported before.
    pub again: bool,
    pub limits: ReadLimits,
}

/// What became of a file.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// The whole file was imported before, and was not read again.
    pub already: bool,
    /// Records that an interrupted import had already brought.
    pub resumed_after: u64,
    /// Records read, by type.
    pub records: BTreeMap<String, u64>,
    /// Captures (exchanges, or records that stand alone) that are new here.
    pub stored: u64,
    pub known: u64,
    /// Captures that were removed from this archive earlier, and stay out.
    pub removed: u64,
    /// Records whose payload is not what their own digest says.
    pub digest_mismatches: u64,
    pub skipped: u64,
    pub skips: Vec<Skip>,
    pub bytes_read: u64,
}

impl ImportReport {
    pub fn records_total(&self) -> u64 {
        self.records.values().sum()
    }

    fn count(&mut self, kind: &str) {
        match self.records.get_mut(kind) {
            Some(count) => *count += 1,
            None => drop(self.records.insert(kind.to_owned(), 1)),
        }
    }
}

/// What a watcher is told while an import goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportProgress {
    pub bytes_read: u64,
    pub bytes_total: u64,
    pub records: u64,
    /// Records (and skips) of this file, from its beginning, that will survive a crash.
    pub durable_records: u64,
}

/// Brings a file in. What it holds is durable when this returns.
pub fn import<V: Verdict>(
    store: &Store,
    path: &Path,
    options: &ImportOptions,
    mut progress: impl FnMut(ImportProgress) -> V,
) -> Result<ImportReport> {
    let note = note_name(path)?;
    let mut report = ImportReport::default();
    let mut reader = Reader::open(path, options.limits.clone())?;
    let state = if options.again { None } else { store.noted(&note)?.and_then(|v| State::decode(&v)) };
    if let Some(state) = &state {
        // A copy of a damaged file may be whole, and look the same from its two ends: it is read again.
        if state.finished && !state.damaged {
            return Ok(ImportReport { already: true, resumed_after: state.items, ..report });
        }
        if !state.finished {
            reader.resume(&state.position)?;
            report.resumed_after = state.items;
        }
    }
    let mut items = report.resumed_after;
    let mut damaged = state.is_some_and(|s| s.damaged && !s.finished);
    let mut group_start = State { items, position: reader.position(), finished: false, damaged };
    let mut assembler = Assembler::default();
    let (mut noted_at, mut noted_bytes) = (items, reader.bytes_read());
    let mut buffer = Vec::new();
    let mut repeats = Repeats::with_weighter(REPEATS_MAX, REPEATS_BYTES, BodyWeight);
    loop {
        let before = State { items, position: reader.position(), finished: false, damaged };
        let bytes_total = reader.bytes_total();
        match reader.next()? {
            None => break,
            Some(Item::Skipped(skip)) => skipped(&mut report, options, skip)?,
            Some(Item::Record(record)) => {
                let place = Place { member: record.member.clone(), offset: record.offset };
                match read_record(store, record, &mut buffer, &mut repeats, &mut report) {
                    Ok(read) => {
                        report.count(read.record.kind.as_str());
                        let waiting = !assembler.is_empty();
                        let whole = assembler.push(read);
                        // Once those before it are whole, this one begins a group, even if it is never alone.
                        if !waiting || !whole.is_empty() {
                            group_start = before;
                        }
                        for whole in whole {
                            store_one(store, whole, &mut report, options)?;
                        }
                    }
                    Err(Problem::Record(reason)) => {
                        skipped(&mut report, options, Skip { file: place.member, offset: place.offset, reason })?;
                    }
                    Err(Problem::Store(error)) => return Err(error),
                }
            }
        }
        items += 1;
        damaged |= report.skipped > 0;
        if assembler.is_empty() {
            group_start = State { items, position: reader.position(), finished: false, damaged };
        }
        let is_due = items >= noted_at + NOTE_EVERY_RECORDS
            || reader.bytes_read() >= noted_bytes.saturating_add(NOTE_EVERY_BYTES);
        if is_due && group_start.items > noted_at {
            store.note(&note, &group_start.encode())?;
            (noted_at, noted_bytes) = (group_start.items, reader.bytes_read());
            let durable = store.noted_durably(&note)?.and_then(|v| State::decode(&v));
            heed(progress(ImportProgress {
                bytes_read: reader.bytes_read(),
                bytes_total,
                records: items,
                durable_records: durable.map_or(0, |s| s.items),
            }))?;
        }
    }
    for whole in assembler.take() {
        store_one(store, whole, &mut report, options)?;
    }
    report.bytes_read = reader.bytes_read();
    damaged |= report.skipped > 0;
    store.note(&note, &State { items, position: reader.position(), finished: true, damaged }.encode())?;
    store.seal()?;
    let bytes_total = reader.bytes_total();
    progress(ImportProgress { bytes_read: bytes_total, bytes_total, records: items, durable_records: items });
    Ok(report)
}

fn skipped(report: &mut ImportReport, options: &ImportOptions, skip: Skip) -> Result<()> {
    if options.strict {
        let file = skip.file.map(|f| format!("{f}, ")).unwrap_or_default();
        return Err(Error::Refused(format!("{file}byte {}: {}", skip.offset, skip.reason)));
    }
    report.skipped += 1;
    if report.skips.len() < SKIPS_KEPT_MAX {
        report.skips.push(skip);
    }
    Ok(())
}

fn store_one(store: &Store, whole: Assembled, report: &mut ImportReport, options: &ImportOptions) -> Result<()> {
    let Assembled { capture, block_sha1, place } = whole;
    let capture = Arc::new(capture);
    let refused = |reason: String, report: &mut ImportReport| {
        let url: String = capture.url.chars().take(100).collect();
        let skip = Skip { file: place.member.clone(), offset: place.offset, reason: format!("{url}: {reason}") };
        skipped(report, options, skip)
    };
    match store.append_hashed(capture.clone(), block_sha1) {
        Ok(Appended::Stored) => report.stored += 1,
        Ok(Appended::Known) => {
            report.known += 1;
            // Damage to the one that is here is not this file's: `verify` tells of it.
            let Ok(Some(known)) = store.read(&capture.id()) else { return Ok(()) };
            let same_kind = known.main.kind == capture.main.kind;
            if same_kind && (known.main.body != capture.main.body || known.main.head != capture.main.head) {
                report.known -= 1;
                let reason = "a record with the same id, URL and date but other content is here already";
                return refused(reason.to_owned(), report);
            }
            // A request may come in a later file than its answer.
            for companion in &capture.companions {
                if !known.companions.iter().any(|c| c.id == companion.id) {
                    let (url, time) = (capture.url.clone(), capture.time);
                    let alone = Capture { url, time, main: companion.clone(), companions: Vec::new() };
                    report.stored += u64::from(store.append(alone)? == Appended::Stored);
                }
            }
        }
        Ok(Appended::Removed) => report.removed += 1,
        Err(Error::Refused(reason)) => refused(reason, report)?,
        Err(other) => return Err(other),
    }
    Ok(())
}

enum Problem {
    /// This record cannot be kept; the next may be.
    Record(String),
    Store(Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Reading a record's block fails because of the file or because of the disk it lies on.
fn reading(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Problem::Record(error.to_string()),
        _ => Problem::Store(Error::disk("reading the file")(error)),
    }
}

fn read_record(
    store: &Store,
    mut record: herodotus_warc::Record<'_>,
    buffer: &mut Vec<u8>,
    repeats: &mut Repeats,
    report: &mut ImportReport,
) -> Result<ReadRecord, Problem> {
    let kind = record.header.kind();
    let place = Place { member: record.member.clone(), offset: record.offset };
    let Some(time) = record.header.date() else {
        let date = record.header.field("WARC-Date").unwrap_or("nothing").chars().take(40).collect::<String>();
        return Err(Problem::Record(format!("its WARC-Date says `{date}`, which is no time")));
    };
    let url = record.header.target_uri().filter(|u| !u.is_empty()).map(str::to_owned);
    let needs_url = !matches!(kind, Kind::Warcinfo | Kind::Metadata | Kind::Other(_));
    if needs_url && url.is_none() {
        return Err(Problem::Record(format!("a {} record without WARC-Target-URI", kind.as_str())));
    }
    let is_http = match kind {
        Kind::Request => true,
        Kind::Response | Kind::Revisit => record.header.field("Content-Type").is_none_or(header::is_http),
        _ => false,
    };
    let (head, body, block_sha1) = read_block(store, &mut record, is_http, buffer, repeats)?;
    let id = record.header.record_id().filter(|id| !id.is_empty()).map(RecordId::parse);
    let named = url.as_deref().unwrap_or_default();
    let id = id.unwrap_or_else(|| RecordId::of_content(&kind, named, time, &head, &body.digests().sha256));
    // What speaks of no URL goes by its own name, given or made, so that it has the same when it comes again.
    let url = url.unwrap_or_else(|| id.bracketed().trim_matches(['<', '>']).to_owned());
    let mut fields = record.header.fields;
    header::drop_broken_digests(&mut fields);
    let warc = WarcHeader { version: record.header.version, fields };
    let record = Record { kind, id, warc: Some(warc), head, body };
    if record.kind == Kind::Response
        && let Some(said) = record.field("WARC-Payload-Digest").and_then(Sha1::parse)
        && said != record.body.digests().sha1
    {
        report.digest_mismatches += 1;
    }
    Ok(ReadRecord { record, block_sha1, url, time, place })
}

/// Splits a block into HTTP head and body; a large body goes straight into the store.
fn read_block(
    store: &Store,
    record: &mut herodotus_warc::Record<'_>,
    is_http: bool,
    buffer: &mut Vec<u8>,
    repeats: &mut Repeats,
) -> Result<(Vec<u8>, Body, Option<Sha1>), Problem> {
    let said = Said {
        payload: record.header.field("WARC-Payload-Digest").and_then(Sha1::parse),
        has_block: record.header.field("WARC-Block-Digest").is_some(),
    };
    let len = record.len;
    let whole = record.block.fill_buf().map_err(reading)?;
    if whole.len() as u64 == len && len > 0 {
        // Most records: already in memory, and split without a further copy.
        let at = if is_http { head_end(whole, true) } else { 0 };
        let split = split(whole, at, said, repeats);
        let n = whole.len();
        record.block.consume(n);
        // The end of the block is where damage shows.
        let mut rest = [0; 1];
        record.block.read(&mut rest).map_err(reading)?;
        return Ok(split);
    }
    buffer.clear();
    let in_memory = (BODY_IN_MEMORY_BYTES_MAX + HTTP_HEAD_BYTES_MAX) as u64;
    (&mut record.block).take(in_memory.min(len)).read_to_end(buffer).map_err(reading)?;
    let at = if is_http { head_end(buffer, buffer.len() as u64 == len) } else { 0 };
    let head = buffer[..at].to_vec();
    if len - at as u64 <= BODY_IN_MEMORY_BYTES_MAX as u64 && buffer.len() as u64 == len {
        return Ok(split(buffer, at, said, repeats));
    }
    let media = herodotus_page::ResponseHead::parse(&head).and_then(|h| h.content_type_essence());
    let media = media.or_else(|| record.header.field("Content-Type").map(str::to_owned)).unwrap_or_default();
    let mut blob = store.blob_writer(&media)?;
    let writing = |e: io::Error| Problem::Store(Error::disk("writing a large body")(e));
    blob.write_all(&buffer[at..]).map_err(writing)?;
    loop {
        let n = {
            let bytes = record.block.fill_buf().map_err(reading)?;
            blob.write_all(bytes).map_err(writing)?;
            bytes.len()
        };
        if n == 0 {
            break;
        }
        record.block.consume(n);
    }
    Ok((head, blob.finish()?, None))
}

/// The digests that a record gives itself.
#[derive(Clone, Copy)]
struct Said {
    payload: Option<Sha1>,
    has_block: bool,
}

/// Bodies that came lately, by the digest that the file gave them and that was found right. A body that is the same, byte for
/// byte, is not kept twice and not hashed again: crawls without revisit records say most things many times.
type Repeats = quick_cache::unsync::Cache<Sha1, (Arc<[u8]>, Digests), BodyWeight>;
/// A few rounds of a small site.
const REPEATS_BYTES: u64 = 16 << 20;
/// About as many as that are, for room.
const REPEATS_MAX: usize = 1024;

#[derive(Clone)]
struct BodyWeight;

impl quick_cache::Weighter<Sha1, (Arc<[u8]>, Digests)> for BodyWeight {
    fn weight(&self, _: &Sha1, (bytes, _): &(Arc<[u8]>, Digests)) -> u64 {
        bytes.len() as u64 + 200
    }
}

/// A block in memory as head and body, with their digests; that of the whole block only if the file says it too.
fn split(block: &[u8], at: usize, said: Said, repeats: &mut Repeats) -> (Vec<u8>, Body, Option<Sha1>) {
    let (head, body) = block.split_at(at);
    // Nobody asks for that of a larger one.
    let has_block = said.has_block && body.len() as u64 <= BLOCK_DIGEST_BODY_BYTES_MAX;
    if let Some(said_payload) = said.payload
        && let Some((bytes, digests)) = repeats.get(&said_payload)
        && bytes[..] == *body
    {
        let block_sha1 = has_block.then(|| Sha1::of(block));
        return (head.to_vec(), Body::Bytes(bytes.clone(), *digests), block_sha1);
    }
    let (digests, block_sha1) = if has_block {
        let (digests, block_sha1) = hashing::of_block(head, body);
        (digests, Some(block_sha1))
    } else {
        (hashing::of_body(body), None)
    };
    let bytes: Arc<[u8]> = body.into();
    if said.payload == Some(digests.sha1) {
        repeats.insert(digests.sha1, (bytes.clone(), digests));
    }
    (head.to_vec(), Body::Bytes(bytes, digests), block_sha1)
}

/// Where the HTTP head ends. A revisit may hold nothing but a head without its empty line.
fn head_end(block: &[u8], is_whole: bool) -> usize {
    match herodotus_page::head_len(block) {
        Some(at) => at,
        None if is_whole && block.starts_with(b"HTTP/") && block.len() <= 64 * 1024 => block.len(),
        None => 0,
    }
}

/// How far an import has come: a line of text, so that it can be read in a hex dump ten years from now.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    /// Records and skips before this position.
    items: u64,
    position: Position,
    finished: bool,
    /// Something in the file could not be read.
    damaged: bool,
}

impl State {
    fn encode(&self) -> Vec<u8> {
        let state = if self.finished { "finished" } else { "at" };
        let damaged = if self.damaged { " damaged" } else { "" };
        format!("1 {state} {} {}{damaged}", self.position, self.items).into_bytes()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(bytes).ok()?.split(' ');
        (words.next()? == "1").then_some(())?;
        let finished = match words.next()? {
            "finished" => true,
            "at" => false,
            _ => return None,
        };
        let position = Position::parse(words.next()?).ok()?;
        let items = words.next()?.parse().ok()?;
        Some(Self { items, position, finished, damaged: words.next() == Some("damaged") })
    }
}

/// The name under which a file's import is noted: its size, its beginning and its end, so that a file is known again
/// under any name, and one that has grown is another.
fn note_name(path: &Path) -> Result<String> {
    const SAMPLE: u64 = 64 * 1024;
    let reading = || Error::disk(format!("reading {}", path.display()));
    // Looked at before it is opened: opening a pipe waits for whoever writes to it.
    let meta = std::fs::metadata(path).map_err(reading())?;
    if !meta.is_file() && !meta.is_dir() {
        let path = path.display();
        return Err(Error::Refused(format!(
            "{path} is not a regular file, which can be read again: save it to one first"
        )));
    }
    let mut sample = meta.len().to_be_bytes().to_vec();
    if meta.is_file() {
        let mut file = File::open(path).map_err(reading())?;
        (&mut file).take(SAMPLE).read_to_end(&mut sample).map_err(reading())?;
        if meta.len() > SAMPLE {
            let end = SAMPLE.min(meta.len() - SAMPLE) as i64;
            io::Seek::seek(&mut file, io::SeekFrom::End(-end)).map_err(reading())?;
            file.take(SAMPLE).read_to_end(&mut sample).map_err(reading())?;
        }
    }
    Ok(format!("import:{}", Sha256::of(&sample)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_taken_for_an_earlier_one_only_if_its_bytes_are_the_same() {
        let head = b"HTTP/1.1 200 OK\r\n\r\n";
        let mut repeats = Repeats::with_weighter(REPEATS_MAX, REPEATS_BYTES, BodyWeight);
        // Whoever wrote the file gives every body the same digest.
        let said = Said { payload: Some(Sha1::of(b"first")), has_block: true };
        let mut firsts = Vec::new();
        for body in ["other", "first", "other", "first", "", "firs"] {
            let block = [&head[..], body.as_bytes()].concat();
            let (kept_head, kept, block_sha1) = split(&block, head.len(), said, &mut repeats);
            let Body::Bytes(bytes, digests) = kept else { panic!("a small body is in memory") };
            assert_eq!((&kept_head[..], &bytes[..]), (&head[..], body.as_bytes()));
            assert_eq!((digests, block_sha1), (Digests::of(body.as_bytes()), Some(Sha1::of(&block))));
            if body == "first" {
                firsts.push(bytes);
            }
        }
        assert!(Arc::ptr_eq(&firsts[0], &firsts[1]), "it is in memory once");
    }
}
