//! Takes a response as it comes: to memory or disk, to the parser, and to the digest.
//!
//! Up to a few MiB stay in memory; what is longer goes on into a file of the store. Links are read from the stream, so a
//! page of any length is read with the same memory.

use herodotus_base::limits::BODY_IN_MEMORY_BYTES_MAX;
use herodotus_fetch::{Receiver, Wish};
use herodotus_frontier::Media;
use herodotus_page::{Document, Page, PageReader, Policy, ResponseHead, WebUrl, header_links, is_gzip};
use herodotus_store::{BlobWriter, Body, Store};
use std::io::{self, Write};

/// Bytes that a reader is chosen by: enough for a document's first tag.
const SNIFF_BYTES: usize = 512;

/// Bytes of a gzipped sitemap once inflated (sitemaps.org allows 50 MB).
const INFLATED_BYTES_MAX: u64 = 64 << 20;

pub(super) struct Taker<'a> {
    store: &'a Store,
    url: &'a WebUrl,
    media: Media,
    agent: &'a str,
    pub(super) head: Vec<u8>,
    pub(super) status: u16,
    pub(super) essence: String,
    pub(super) policy: Policy,
    pub(super) header_links: Vec<herodotus_page::Link>,
    charset: Option<String>,
    wire: Wire,
    reader: Reader,
    /// Whether a page's class is not among those asked for.
    pub(super) unwanted: bool,
    pub(super) wire_bytes_max: u64,
}

enum Wire {
    Memory(Vec<u8>),
    File(Box<BlobWriter>),
}

enum Reader {
    /// Nothing to read in this kind of thing.
    None,
    /// The first bytes decide.
    Sniffing(Vec<u8>),
    Reading(Box<PageReader>),
    Inflating(Box<flate2::write::MultiGzDecoder<Inflated>>),
}

/// Where a gzipped sitemap is inflated to: as far as is sane.
struct Inflated {
    reader: PageReader,
    left: u64,
}

impl Write for Inflated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let take = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if take == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.reader.push(&bytes[..take]);
        self.left -= take as u64;
        Ok(take)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> Taker<'a> {
    pub(super) fn new(store: &'a Store, url: &'a WebUrl, media: Media, agent: &'a str) -> Self {
        Self {
            store,
            url,
            media,
            agent,
            head: Vec::new(),
            status: 0,
            essence: String::new(),
            policy: Policy::default(),
            header_links: Vec::new(),
            charset: None,
            wire: Wire::Memory(Vec::new()),
            reader: Reader::None,
            unwanted: false,
            wire_bytes_max: u64::MAX,
        }
    }

    /// The body, safe in memory or in the store, and what was read in it.
    pub(super) fn finish(mut self) -> herodotus_store::Result<(Body, Page)> {
        let body = match self.wire {
            Wire::Memory(bytes) => Body::new(bytes),
            Wire::File(writer) => writer.finish()?,
        };
        if let Reader::Sniffing(first) = &mut self.reader {
            let first = std::mem::take(first);
            self.reader = begin(self.url, &self.essence, self.charset.as_deref(), &first);
        }
        let page = match self.reader {
            Reader::Reading(reader) => reader.finish(),
            // An inflater that has met its bound, or garbage, has still read what came before.
            Reader::Inflating(mut inflater) => {
                let _ = inflater.try_finish();
                let empty = Inflated { reader: PageReader::new(self.url.clone(), Document::Other, None), left: 0 };
                std::mem::replace(inflater.get_mut(), empty).reader.finish()
            }
            Reader::None | Reader::Sniffing(_) => Page::default(),
        };
        Ok((body, page))
    }
}

/// Chooses how a document is read, and reads its first bytes.
fn begin(url: &WebUrl, essence: &str, charset: Option<&str>, first: &[u8]) -> Reader {
    let essence = Some(essence).filter(|e| !e.is_empty());
    if is_gzip(first) && url.path().to_ascii_lowercase().ends_with(".gz") {
        let reader = PageReader::new(url.clone(), Document::Sitemap, charset);
        let mut inflater = flate2::write::MultiGzDecoder::new(Inflated { reader, left: INFLATED_BYTES_MAX });
        let _ = inflater.write_all(first);
        return Reader::Inflating(Box::new(inflater));
    }
    match Document::of(essence, url, first) {
        Document::Other => Reader::None,
        document => {
            let mut reader = PageReader::new(url.clone(), document, charset);
            reader.push(first);
            Reader::Reading(Box::new(reader))
        }
    }
}

/// Whether links may be found in this kind of thing.
fn may_have_links(essence: &str, path: &str) -> bool {
    let text =
        essence.is_empty() || essence.starts_with("text/") || essence.contains("xml") || essence.contains("html");
    text || path.to_ascii_lowercase().ends_with(".xml.gz")
}

/// Whether a response of this kind is to be kept. Redirects and errors are, whatever they are written in.
pub(crate) fn is_wanted(media: Media, status: u16, essence: &str) -> bool {
    let page =
        essence.is_empty() || essence.contains("html") || essence.contains("xml") || essence.starts_with("text/");
    match media {
        Media::All => true,
        _ if status != 200 => true,
        Media::Html => page,
        Media::Images => page || essence.starts_with("image/"),
    }
}

impl Receiver for Taker<'_> {
    fn head(&mut self, head: &[u8], parsed: &ResponseHead<'_>) -> Wish {
        self.head = head.to_vec();
        self.status = parsed.status.unwrap_or(0);
        self.essence = parsed.content_type_essence().unwrap_or_default();
        self.charset = parsed.header("content-type").and_then(|value| charset_of(&value));
        let tags: Vec<_> = parsed.values("x-robots-tag").collect();
        self.policy = Policy::of_header(tags.iter().map(AsRef::as_ref), self.agent);
        self.header_links = header_links(self.url, parsed);
        if !is_wanted(self.media, self.status, &self.essence) {
            self.unwanted = true;
            return Wish::Leave;
        }
        if may_have_links(&self.essence, self.url.path()) {
            self.reader = Reader::Sniffing(Vec::new());
        }
        Wish::Take
    }

    fn wants_content(&self) -> bool {
        !matches!(self.reader, Reader::None)
    }

    fn wire_bytes_max(&self) -> u64 {
        self.wire_bytes_max
    }

    fn wire(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.wire {
            Wire::File(writer) => writer.write_all(bytes),
            Wire::Memory(known) if known.len() + bytes.len() <= BODY_IN_MEMORY_BYTES_MAX => {
                known.extend_from_slice(bytes);
                Ok(())
            }
            Wire::Memory(known) => {
                let mut writer = self.store.blob_writer(&self.essence).map_err(io::Error::other)?;
                writer.write_all(known)?;
                writer.write_all(bytes)?;
                self.wire = Wire::File(Box::new(writer));
                Ok(())
            }
        }
    }

    fn content(&mut self, bytes: &[u8]) {
        match &mut self.reader {
            Reader::None => {}
            Reader::Reading(reader) => reader.push(bytes),
            Reader::Inflating(inflater) => {
                let _ = inflater.write_all(bytes);
            }
            Reader::Sniffing(first) => {
                first.extend_from_slice(bytes);
                if first.len() >= SNIFF_BYTES {
                    let first = std::mem::take(first);
                    self.reader = begin(self.url, &self.essence, self.charset.as_deref(), &first);
                }
            }
        }
    }
}

fn charset_of(content_type: &str) -> Option<String> {
    let lower = content_type.to_ascii_lowercase();
    let at = lower.find("charset=")? + "charset=".len();
    let value = content_type.get(at..)?.trim_start_matches(['"', '\'']);
    let end = value.find(['"', '\'', ';', ' ']).unwrap_or(value.len());
    value.get(..end).filter(|v| !v.is_empty()).map(str::to_owned)
}
