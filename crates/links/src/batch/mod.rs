//! What travels: links sorted by host turned round and path, front-coded, in columns, compressed.
//!
//! | part | what |
//! |---|---|
//! | byte | version, 1 |
//! | byte | how many nodes have passed these links on, at most |
//! | number | length of what follows when unpacked |
//! | zstd without its magic | the columns |
//!
//! The columns: crawls (count, sixteen bytes each); rows of small fields (count; crawl, form, kind, depth, hops, redirects, seed), of which a batch
//! has few; number of links; runs of rows over the links, as pairs of row and length, to the end; for each link how much of the text before it it shares;
//! for each link the rest of its text and a line break. Numbers are LEB128.
//!
//! Promised: [`open`] gives back what [`close`] was given, in order and without doubles; it never panics, whatever it is given, and
//! never takes more memory than [`limits`] say.

mod fold;
mod squeeze;

use crate::code::{push_number, take_array, take_byte, take_number, take_size};
use crate::error::{Error, Result};
use crate::limits;
use crate::prospect::{CrawlId, Prospect};
use fold::Form;

/// The form that this program writes.
pub const VERSION: u8 = 1;

/// No URL has it, as only printable ASCII travels.
const END_OF_TEXT: u8 = b'\n';

/// Links that came together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How many nodes have passed them on, at most.
    pub steps: u8,
    pub links: Vec<(CrawlId, Prospect)>,
}

/// Everything about a link but its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    crawl: CrawlId,
    form: Form,
    kind: u8,
    depth: u16,
    hops: u8,
    redirects: u8,
    seed: bool,
}

/// Whether a batch of so many links, with URLs of so many bytes together, is one that others open.
pub fn fits(links: usize, url_bytes: usize) -> bool {
    links <= limits::LINKS_MAX
        && url_bytes <= limits::TEXT_BYTES_MAX
        && url_bytes + links * limits::LINK_BYTES_BESIDE_URL_MAX + limits::CRAWLS_MAX * 17 + 16 <= limits::RAW_BYTES_MAX
}

/// Packs links. The caller has seen that they [`fits`]; what does not is refused.
pub fn close(steps: u8, links: &[(CrawlId, Prospect)]) -> Result<Vec<u8>> {
    let url_bytes = links.iter().map(|(_, prospect)| prospect.url.len()).sum();
    if !fits(links.len(), url_bytes) {
        return Err(Error::Batch("too much for one batch"));
    }
    let mut lines = Vec::with_capacity(links.len());
    for (crawl, prospect) in links {
        prospect.check()?;
        let (form, text) = fold::fold(&prospect.url);
        let Prospect { kind, depth, hops, redirects, seed, .. } = *prospect;
        lines.push((text, Row { crawl: *crawl, form, kind, depth, hops, redirects, seed }));
    }
    lines.sort_unstable();
    lines.dedup();
    let raw = columns(&lines)?;
    let mut out = vec![VERSION, steps];
    push_number(&mut out, raw.len() as u64);
    squeeze::squeeze(&raw, &mut out)?;
    Ok(out)
}

fn columns(lines: &[(String, Row)]) -> Result<Vec<u8>> {
    let mut rows: Vec<Row> = lines.iter().map(|(_, row)| *row).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut crawls: Vec<CrawlId> = rows.iter().map(|row| row.crawl).collect();
    crawls.dedup();
    if crawls.len() > limits::CRAWLS_MAX {
        return Err(Error::Batch("too many crawls"));
    }
    let mut out = Vec::new();
    push_number(&mut out, crawls.len() as u64);
    crawls.iter().for_each(|crawl| out.extend_from_slice(crawl));
    push_number(&mut out, rows.len() as u64);
    for row in &rows {
        let crawl = crawls.binary_search(&row.crawl).unwrap_or_default();
        push_number(&mut out, crawl as u64);
        out.extend_from_slice(&[row.form as u8, row.kind]);
        push_number(&mut out, u64::from(row.depth));
        out.extend_from_slice(&[row.hops, row.redirects, u8::from(row.seed)]);
    }
    push_number(&mut out, lines.len() as u64);
    for run in lines.chunk_by(|(_, one), (_, other)| one == other) {
        let row = run.first().and_then(|(_, row)| rows.binary_search(row).ok()).unwrap_or_default();
        push_number(&mut out, row as u64);
        push_number(&mut out, run.len() as u64);
    }
    let mut before = "";
    for (text, _) in lines {
        push_number(&mut out, shared(before, text) as u64);
        before = text;
    }
    before = "";
    for (text, _) in lines {
        out.extend_from_slice(&text.as_bytes()[shared(before, text)..]);
        out.push(END_OF_TEXT);
        before = text;
    }
    Ok(out)
}

/// How many bytes both begin with.
fn shared(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

/// Unpacks what a peer sent. URLs are printable ASCII; whether they are canonical is the caller's to see.
pub fn open(bytes: &[u8]) -> Result<Batch> {
    if bytes.len() > limits::BATCH_BYTES_MAX {
        return Err(Error::Batch("it is too long"));
    }
    let mut rest = bytes;
    let head = take_byte(&mut rest).zip(take_byte(&mut rest)).zip(take_size(&mut rest));
    let ((version, steps), raw_len) = head.ok_or(Error::Batch("its head is cut short"))?;
    if version != VERSION {
        return Err(Error::Batch("its version is not ours"));
    }
    if raw_len > limits::RAW_BYTES_MAX {
        return Err(Error::Batch("it would be too long unpacked"));
    }
    let raw = squeeze::expand(rest, raw_len)?;
    let links = read_columns(&raw).ok_or(Error::Batch("its columns do not fit each other"))?;
    Ok(Batch { steps, links })
}

fn read_columns(raw: &[u8]) -> Option<Vec<(CrawlId, Prospect)>> {
    let mut rest = raw;
    let count = take_size(&mut rest).filter(|count| *count <= limits::CRAWLS_MAX)?;
    let crawls = (0..count).map(|_| take_array(&mut rest)).collect::<Option<Vec<CrawlId>>>()?;
    let count = take_size(&mut rest).filter(|count| *count <= limits::LINKS_MAX)?;
    let rows = (0..count).map(|_| read_row(&mut rest, &crawls)).collect::<Option<Vec<Row>>>()?;
    let links_count = take_size(&mut rest).filter(|count| *count <= limits::LINKS_MAX)?;
    let mut order: Vec<Row> = Vec::with_capacity(links_count);
    while order.len() < links_count {
        let row = rows.get(take_size(&mut rest)?)?;
        let run = take_size(&mut rest).filter(|run| (1..=links_count - order.len()).contains(run))?;
        order.extend(std::iter::repeat_n(*row, run));
    }
    let prefixes = (0..links_count).map(|_| take_size(&mut rest)).collect::<Option<Vec<usize>>>()?;
    read_texts(rest, &order, &prefixes)
}

fn read_row(rest: &mut &[u8], crawls: &[CrawlId]) -> Option<Row> {
    Some(Row {
        crawl: *crawls.get(take_size(rest)?)?,
        form: Form::from_code(take_byte(rest)?)?,
        kind: take_byte(rest)?,
        depth: u16::try_from(take_number(rest)?).ok()?,
        hops: take_byte(rest)?,
        redirects: take_byte(rest)?,
        seed: match take_byte(rest)? {
            0 => false,
            1 => true,
            _ => return None,
        },
    })
}

fn read_texts(mut rest: &[u8], order: &[Row], prefixes: &[usize]) -> Option<Vec<(CrawlId, Prospect)>> {
    let mut links = Vec::with_capacity(order.len());
    let (mut text, mut text_bytes) = (String::new(), 0);
    for (row, prefix) in order.iter().zip(prefixes) {
        let end = rest.iter().position(|byte| *byte == END_OF_TEXT)?;
        let suffix = rest.get(..end).filter(|suffix| suffix.iter().all(u8::is_ascii_graphic))?;
        rest = rest.get(end + 1..)?;
        if *prefix > text.len() {
            return None;
        }
        text.truncate(*prefix);
        text.push_str(str::from_utf8(suffix).ok()?);
        let url = fold::unfold(row.form, &text);
        text_bytes += url.len();
        let Row { crawl, kind, depth, hops, redirects, seed, .. } = *row;
        let prospect = Prospect { url, kind, depth, hops, redirects, seed };
        if text_bytes > limits::TEXT_BYTES_MAX || prospect.check().is_err() {
            return None;
        }
        links.push((crawl, prospect));
    }
    rest.is_empty().then_some(links)
}
