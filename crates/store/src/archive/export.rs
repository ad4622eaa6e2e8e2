//! Export: captures in key order, as WARC, WACZ or CDXJ, with the HTTP messages exactly as they came.
//!
//! A payload that stands in the file already is written as a revisit of it (unless everything is wanted in full), so that an
//! export is not larger than it need be, and importing it gives the same records again.

use super::header::{self, Original, Ready};
use super::revisit::original_in;
use crate::capture::{Body, Capture, Fields, Kind, Record, RecordId, WarcHeader};
use crate::coding::plain_body;
use crate::entity_of::{Blobs, Holder};
use crate::error::{Error, Result};
use crate::verdict::{Verdict, heed};
use crate::{Entry, EntryKey, Store};
use herodotus_base::{Sha256, Timestamp};
use herodotus_page::{decode_text, host_range, prefix_range, title};
use herodotus_warc::{CdxLine, Coding, Page, Span, WaczAbout, WaczWriter, Writer};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Payloads that later records may be written as revisits of. Beyond this, they are written in full again.
const ORIGINALS_MAX: usize = 500_000;

/// Which captures.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub prefix: Option<String>,
    pub host: Option<String>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

impl Selection {
    fn ranges(&self) -> (String, String) {
        match (&self.prefix, &self.host) {
            (Some(prefix), _) => prefix_range(prefix),
            (None, Some(host)) => host_range(host),
            (None, None) => (String::new(), "\u{10ffff}".to_owned()),
        }
    }

    fn has_time(&self, time: Timestamp) -> bool {
        self.from.is_none_or(|from| time >= from) && self.to.is_none_or(|to| time <= to)
    }

    fn has(&self, entry: &Entry) -> bool {
        let (from, to) = self.ranges();
        (from..to).contains(&entry.id.key) && self.has_time(entry.id.time)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Warc(Coding),
    Wacz,
    Cdxj,
}

impl Format {
    /// Told by the name of the file.
    pub fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        Some(match name {
            n if n.ends_with(".warc.gz") => Self::Warc(Coding::Gzip),
            n if n.ends_with(".warc.zst") => Self::Warc(Coding::Zstd),
            n if n.ends_with(".warc") => Self::Warc(Coding::Plain),
            n if n.ends_with(".wacz") => Self::Wacz,
            n if n.ends_with(".cdxj") => Self::Cdxj,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    pub captures: u64,
    pub records: u64,
    /// Captures that were written as revisits of an earlier one in the same file.
    pub revisits: u64,
    pub bytes: u64,
    /// Captures that could not be read, and are missing from the file.
    pub damaged: u64,
}

/// What an export is made from: a store, or many machines as one.
pub trait Source: Holder<Error = Error> {
    /// Entries with `from <= key < to`, by key and time.
    fn entries(&self, from: &str, to: &str) -> impl Iterator<Item = Result<Entry>>;
    /// Where the large body of a capture is read.
    fn blobs(&self, id: &EntryKey) -> Arc<dyn Blobs>;
    /// Whether another capture may have this payload, too.
    fn may_share(&self, digest: &Sha256) -> bool;
}

impl Source for Store {
    fn entries(&self, from: &str, to: &str) -> impl Iterator<Item = Result<Entry>> {
        self.scan(from, to, false)
    }

    fn blobs(&self, _: &EntryKey) -> Arc<dyn Blobs> {
        Arc::new(self.clone())
    }

    fn may_share(&self, digest: &Sha256) -> bool {
        self.inner.reader.body_place(digest).is_ok_and(|place| place.is_some_and(|place| place.shared))
    }
}

/// Writes the selected captures. The file appears under its name only when it is whole.
pub fn export<S: Source, V: Verdict>(
    source: &S,
    selection: &Selection,
    path: &Path,
    format: Format,
    full: bool,
    mut progress: impl FnMut(&ExportReport) -> V,
) -> Result<ExportReport> {
    let out = Output::create(path, format)?;
    let mut exporter = Exporter { source, selection, full, out, originals: HashMap::new(), lines: Vec::new() };
    let mut report = ExportReport::default();
    let (from, to) = selection.ranges();
    let mut entries = source.entries(&from, &to).filter(|e| match e {
        Ok(e) => e.kind == Kind::Warcinfo || selection.has_time(e.id.time),
        Err(_) => true,
    });
    let mut next = entries.next();
    if format != Format::Cdxj {
        let time = match &next {
            Some(Ok(entry)) => entry.id.time,
            _ => Timestamp::default(),
        };
        exporter.about(&next, time, &mut report)?;
    }
    while let Some(entry) = next {
        let entry = entry?;
        match source.read(&entry.id) {
            Ok(Some(capture)) => {
                // A large body is read through first: nothing of a record may be written before it is known to be whole.
                let whole = match &capture.main.body {
                    Body::Blob { digests, .. } if format != Format::Cdxj => {
                        read_through(&*source.blobs(&entry.id), &digests.sha256)
                    }
                    _ => Ok(()),
                };
                match whole {
                    Ok(()) => exporter.capture(&entry, &capture, &mut report)?,
                    Err(Error::Damaged(_)) => report.damaged += 1,
                    Err(other) => return Err(other),
                }
            }
            Ok(None) => {}
            Err(Error::Damaged(_)) => report.damaged += 1,
            Err(other) => return Err(other),
        }
        heed(progress(&report))?;
        next = entries.next();
    }
    exporter.flush_lines()?;
    exporter.out.finish()?;
    report.bytes = fs::metadata(path).map_err(Error::disk(format!("measuring {}", path.display())))?.len();
    Ok(report)
}

/// Reads a large body once.
fn read_through(blobs: &dyn Blobs, digest: &Sha256) -> Result<()> {
    let known = |e: std::io::Error| e.downcast().unwrap_or_else(Error::disk("reading a large body"));
    let mut reader = blobs.open_blob_at(digest, 0).map_err(known)?;
    std::io::copy(&mut reader, &mut std::io::sink()).map_err(known).map(|_| ())
}

struct Exporter<'a, S> {
    source: &'a S,
    selection: &'a Selection,
    full: bool,
    out: Output,
    /// Payloads that stand in the file.
    originals: HashMap<Sha256, Original>,
    /// Index lines of one key and second, which must be sorted among themselves.
    lines: Vec<CdxLine>,
}

impl<S: Source> Exporter<'_, S> {
    /// Says who made the file, unless the archive holds that very record already.
    fn about(&mut self, first: &Option<Result<Entry>>, time: Timestamp, report: &mut ExportReport) -> Result<()> {
        let text = format!(
            "software: herodotus/{}\r\nformat: WARC File Format 1.1\r\nconformsTo: \
             http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n",
            env!("CARGO_PKG_VERSION")
        );
        let body = Body::new(text.into_bytes());
        let id = RecordId::of_content(&Kind::Warcinfo, "", time.floor_second(), &[], &body.digests().sha256);
        let url = id.bracketed().trim_matches(['<', '>']).to_owned();
        let fields = Fields::from([
            ("WARC-Type", "warcinfo"),
            ("WARC-Record-ID", &id.bracketed()),
            ("WARC-Date", &time.floor_second().rfc3339()),
            ("Content-Type", "application/warc-fields"),
        ]);
        let warc = Some(WarcHeader { version: "WARC/1.1".into(), fields });
        let main = Record { kind: Kind::Warcinfo, id, warc, head: Vec::new(), body };
        let capture = Capture { url, time: time.floor_second(), main, companions: Vec::new() };
        let is_here =
            matches!(first, Some(Ok(e)) if e.id == capture.id()) || self.source.read(&capture.id())?.is_some();
        if !is_here {
            self.record(&capture, &capture.main, report)?;
        }
        Ok(())
    }

    fn capture(&mut self, entry: &Entry, capture: &Capture, report: &mut ExportReport) -> Result<()> {
        let mut blobs = self.source.blobs(&entry.id);
        let mut ready = header::of_record(&*blobs, capture, &capture.main)?;
        let mut resolved = None;
        if let Some(original) = original_in(self.source, capture)? {
            // A revisit of something that is not in this file could not be replayed from it.
            resolved =
                if self.full || !self.selection.has(&original) { self.resolve(capture, &original)? } else { None };
            match &resolved {
                Some(record) => {
                    blobs = self.source.blobs(&original.id);
                    let block = header::block_digest(&*blobs, record)?;
                    ready = header::into_response(ready, &record.head, &record.body, block);
                }
                None => header::complete_revisit(&mut ready, &original),
            }
        }
        let main = resolved.as_ref().unwrap_or(&capture.main);
        if main.kind == Kind::Response && !main.head.is_empty() && !main.body.is_empty() && !self.full {
            let digest = main.body.digests().sha256;
            match self.originals.get(&digest) {
                Some(original) if header::may_revisit(&ready, original) => {
                    ready = header::into_revisit(ready, main, original);
                    report.revisits += 1;
                }
                Some(_) => {}
                None => self.remember(entry, digest, &ready, resolved.is_some()),
            }
        }
        let line = self.line(entry, main, &ready);
        let span = self.write(&*blobs, &ready, main, report)?;
        if let Some(mut line) = line {
            (line.offset, line.length) = (span.offset, span.length);
            self.index(line)?;
        }
        if crate::index::kind_is_capture(&entry.kind) {
            report.captures += 1;
        }
        if main.kind == Kind::Response && !ready.head_only {
            self.page(entry, main)?;
        }
        for companion in &capture.companions {
            self.record(capture, companion, report)?;
        }
        Ok(())
    }

    /// The response that a revisit stands for. None for a 304: the origin did send that, and nothing after it.
    fn resolve(&self, revisit: &Capture, original: &Entry) -> Result<Option<Record>> {
        if revisit.status() == Some(304) {
            return Ok(None);
        }
        Ok(self.source.read(&original.id)?.map(|original| {
            let head = if revisit.main.head.is_empty() { original.main.head } else { revisit.main.head.clone() };
            Record { kind: Kind::Response, head, body: original.main.body, ..revisit.main.clone() }
        }))
    }

    /// Keeps in mind what stands in the file, for others to be revisits of.
    fn remember(&mut self, entry: &Entry, digest: Sha256, ready: &Ready, is_shared: bool) {
        // Only what another capture is known to share is worth remembering.
        let may_share = is_shared || entry.shared || self.source.may_share(&digest);
        if self.originals.len() >= ORIGINALS_MAX || !may_share {
            return;
        }
        let field = |name: &str| ready.fields.get(name).unwrap_or_default().to_owned();
        let original = Original {
            url: entry.url.clone(),
            date: field("WARC-Date"),
            id: field("WARC-Record-ID"),
            digest: field("WARC-Payload-Digest"),
        };
        self.originals.insert(digest, original);
    }

    fn record(&mut self, capture: &Capture, record: &Record, report: &mut ExportReport) -> Result<()> {
        let blobs = self.source.blobs(&capture.id());
        let ready = header::of_record(&*blobs, capture, record)?;
        self.write(&*blobs, &ready, record, report).map(|_| ())
    }

    fn write(&mut self, blobs: &dyn Blobs, ready: &Ready, record: &Record, report: &mut ExportReport) -> Result<Span> {
        report.records += 1;
        let (body, len): (Box<dyn Read + Send + '_>, u64) = if ready.head_only {
            (Box::new(std::io::empty()), record.head.len() as u64)
        } else {
            (header::open_body(blobs, &record.body)?, record.block_len())
        };
        let mut block = record.head.as_slice().chain(body);
        self.out.write(&ready.version, &ready.fields, &mut block, len)
    }

    /// The index line of a record, if it is of a kind that indexes list (as cdxj-indexer has it).
    fn line(&self, entry: &Entry, record: &Record, ready: &Ready) -> Option<CdxLine> {
        let content_type = ready.fields.get("Content-Type").unwrap_or_default();
        let is_revisit = record.kind == Kind::Revisit || ready.head_only;
        let http = !record.head.is_empty();
        let head = herodotus_page::ResponseHead::parse(&record.head);
        let cut = |t: &str| t.split(|c: char| c == ';' || c.is_whitespace()).next().unwrap_or_default().to_owned();
        let given = ready.fields.get("WARC-Payload-Digest").map(str::to_owned);
        let digest = given.or_else(|| (!is_revisit).then(|| record.body.digests().sha1.to_string()));
        let mime = match record.kind {
            _ if is_revisit => Some("warc/revisit".to_owned()),
            Kind::Response if http => head.as_ref().and_then(|h| h.header("content-type")).map(|t| cut(t.trim())),
            Kind::Response => None,
            Kind::Resource | Kind::Metadata if content_type == "application/warc-fields" => return None,
            Kind::Resource | Kind::Metadata => Some(cut(content_type)),
            _ => return None,
        };
        Some(CdxLine {
            key: entry.id.key.clone(),
            time: entry.id.time,
            url: entry.url.clone(),
            mime: mime.filter(|m| !m.is_empty()),
            status: head.and_then(|h| h.status),
            digest,
            length: 0,
            offset: 0,
            filename: None,
        })
    }

    fn index(&mut self, mut line: CdxLine) -> Result<()> {
        line.filename = self.out.warc_name();
        if self.lines.first().is_some_and(|first| first.sort_key() != line.sort_key()) {
            self.flush_lines()?;
        }
        self.lines.push(line);
        Ok(())
    }

    fn flush_lines(&mut self) -> Result<()> {
        let mut lines = std::mem::take(&mut self.lines);
        lines.sort_by_cached_key(ToString::to_string);
        lines.iter().try_for_each(|line| self.out.index(line))
    }

    fn page(&mut self, entry: &Entry, record: &Record) -> Result<()> {
        let Output::Wacz(wacz) = &mut self.out else { return Ok(()) };
        let is_page =
            entry.status == Some(200) && matches!(entry.media.as_str(), "text/html" | "application/xhtml+xml");
        let Body::Bytes(bytes, _) = &record.body else { return Ok(()) };
        if is_page {
            let content_type = herodotus_page::ResponseHead::parse(&record.head)
                .and_then(|h| h.header("content-type").map(|v| v.into_owned()));
            let text = decode_text(&plain_body(&record.head, bytes), content_type.as_deref());
            wacz.page(&Page { url: entry.url.clone(), title: title(&text), time: entry.id.time })?;
        }
        Ok(())
    }
}

/// Where an export goes.
enum Output {
    Warc { writer: Writer<BufWriter<File>>, temp: TempFile },
    Wacz(Box<WaczWriter>),
    Cdxj { file: BufWriter<File>, temp: TempFile },
}

impl Output {
    fn create(path: &Path, format: Format) -> Result<Self> {
        Ok(match format {
            Format::Wacz => {
                let about = WaczAbout {
                    software: format!("herodotus/{}", env!("CARGO_PKG_VERSION")),
                    title: path.file_stem().and_then(|s| s.to_str()).map(str::to_owned),
                    description: None,
                    created: Timestamp::now(),
                };
                let making = format!("making {}", path.display());
                Self::Wacz(Box::new(WaczWriter::create(path, about).map_err(|e| in_doing(e, making))?))
            }
            Format::Warc(coding) => {
                let (temp, file) = TempFile::create(path)?;
                Self::Warc { writer: Writer::new(BufWriter::with_capacity(256 * 1024, file), coding)?, temp }
            }
            Format::Cdxj => {
                let (temp, file) = TempFile::create(path)?;
                Self::Cdxj { file: BufWriter::new(file), temp }
            }
        })
    }

    fn warc_name(&self) -> Option<String> {
        matches!(self, Self::Wacz(_)).then(|| WaczWriter::WARC_NAME.to_owned())
    }

    fn write(&mut self, version: &str, fields: &Fields, block: &mut dyn Read, len: u64) -> Result<Span> {
        Ok(match self {
            Self::Warc { writer, .. } => writer.write(version, fields, block, len)?,
            Self::Wacz(wacz) => wacz.write(version, fields, block, len)?,
            Self::Cdxj { .. } => Span { offset: 0, length: 0 },
        })
    }

    fn index(&mut self, line: &CdxLine) -> Result<()> {
        match self {
            Self::Warc { .. } => Ok(()),
            Self::Wacz(wacz) => Ok(wacz.index(line)?),
            Self::Cdxj { file, temp } => {
                writeln!(file, "{line}").map_err(Error::disk(format!("writing {}", temp.goal.display())))
            }
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Wacz(wacz) => Ok(wacz.finish()?),
            Self::Warc { writer, temp } => temp.persist(writer.finish()?),
            Self::Cdxj { file, temp } => temp.persist(file),
        }
    }
}

fn in_doing(error: herodotus_warc::Error, doing: String) -> Error {
    match error {
        herodotus_warc::Error::Io(e) => Error::disk(doing)(e),
        other => other.into(),
    }
}

/// A file that is given its name when it is whole, and vanishes otherwise.
struct TempFile {
    temp: Option<PathBuf>,
    goal: PathBuf,
}

impl TempFile {
    fn create(goal: &Path) -> Result<(Self, File)> {
        let mut name = goal.file_name().unwrap_or_default().to_owned();
        // Two exports of one process may have the same goal: the one that ends last counts.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        name.push(format!(".{}-{}.part", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let temp = goal.with_file_name(name);
        let file = File::create(&temp).map_err(Error::disk(format!("making {}", goal.display())))?;
        Ok((Self { temp: Some(temp), goal: goal.to_owned() }, file))
    }

    fn persist(mut self, file: BufWriter<File>) -> Result<()> {
        let writing = || Error::disk(format!("writing {}", self.goal.display()));
        let file = file.into_inner().map_err(|e| writing()(e.into_error()))?;
        file.sync_all().map_err(writing())?;
        if let Some(temp) = self.temp.take() {
            fs::rename(&temp, &self.goal).map_err(Error::disk(format!("naming {}", self.goal.display())))?;
        }
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Some(temp) = &self.temp {
            let _ = fs::remove_file(temp);
        }
    }
}
