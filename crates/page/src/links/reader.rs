//! A body read as it comes: its encoding found, its bytes made UTF-8 where they must be, and given to the scanner of its
//! kind. Held are the first kilobyte until the encoding is known, one unfinished tag, and what was found.

use super::charset::{Charset, Utf8Check};
use super::collect::{Bytes, Links};
use super::css::CssScan;
use super::document::{Document, xml_document};
use super::html::HtmlPage;
use super::tokens::Tokenizer;
use super::xml::XmlPage;
use super::{LinkKind, Page};
use crate::WebUrl;
use crate::limits::{PRESCAN_BYTES_MAX, TOKEN_BYTES_MAX};
use encoding_rs::{CoderResult, Decoder, UTF_8};
use memchr::memchr2;

/// Reads one body. What it finds does not depend on how the body was cut into pieces.
#[derive(Debug)]
pub struct PageReader {
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Start { url: WebUrl, document: Document, charset: Option<String>, held: Vec<u8> },
    Body(Box<Body>),
}

#[derive(Debug)]
struct Body {
    charset: Charset,
    decoder: Option<(Decoder, Vec<u8>)>,
    check: Option<Utf8Check>,
    scanner: Scanner,
}

#[derive(Debug)]
enum Scanner {
    Html(Tokenizer, HtmlPage),
    Xml(Tokenizer, XmlPage),
    Css(CssScan, Links),
    Lines(Lines, Links),
    None,
}

/// Room for decoded text; larger pieces are decoded in several turns.
const DECODED_BYTES: usize = 16 * 1024;

impl PageReader {
    /// `charset` is what the `Content-Type` header says, if it says it.
    pub fn new(url: WebUrl, document: Document, charset: Option<&str>) -> Self {
        Self { stage: Stage::Start { url, document, charset: charset.map(str::to_owned), held: Vec::new() } }
    }

    /// The next piece of the body, without transfer and content coding.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.stage {
            Stage::Body(body) => body.push(bytes),
            Stage::Start { held, .. } => {
                if held.is_empty() && bytes.len() >= PRESCAN_BYTES_MAX {
                    self.begin(bytes);
                    return;
                }
                held.extend_from_slice(bytes);
                if held.len() >= PRESCAN_BYTES_MAX {
                    let held = std::mem::take(held);
                    self.begin(&held);
                }
            }
        }
    }

    pub fn finish(mut self) -> Page {
        if let Stage::Start { held, .. } = &mut self.stage {
            let held = std::mem::take(held);
            self.begin(&held);
        }
        match self.stage {
            Stage::Body(body) => body.finish(),
            Stage::Start { .. } => Page::default(),
        }
    }

    /// Goes over to the body, with as much of it as has come.
    fn begin(&mut self, bytes: &[u8]) {
        if let Stage::Start { url, document, charset, .. } = &self.stage {
            let start = &bytes[..bytes.len().min(PRESCAN_BYTES_MAX)];
            let mut body = Body::new(url.clone(), *document, charset.as_deref(), start);
            body.push(bytes.get(body.charset.mark_len..).unwrap_or_default());
            self.stage = Stage::Body(Box::new(body));
        }
    }
}

impl Body {
    fn new(url: WebUrl, document: Document, http_charset: Option<&str>, start: &[u8]) -> Self {
        let document = match document {
            // Whoever chose this may have known the media type only.
            Document::Sitemap | Document::Feed => xml_document(start).unwrap_or(document),
            document => document,
        };
        let charset = Charset::detect(start, document, http_charset);
        let links = || Links::new(url.clone(), charset.bytes, charset.encoding.output_encoding());
        let utf8_links = || Links::new(url.clone(), charset.bytes, UTF_8);
        let scanner = match document {
            Document::Html => Scanner::Html(Tokenizer::new(), HtmlPage::new(links(), charset.bytes, false)),
            Document::Xhtml => Scanner::Html(Tokenizer::new(), HtmlPage::new(links(), charset.bytes, true)),
            Document::Sitemap | Document::Feed => Scanner::Xml(Tokenizer::new(), XmlPage::new(utf8_links())),
            Document::Css => Scanner::Css(CssScan::new(), utf8_links()),
            Document::SitemapText => Scanner::Lines(Lines::default(), utf8_links()),
            Document::Other => Scanner::None,
        };
        let decoder = charset
            .needs_decoder()
            .then(|| (charset.encoding.new_decoder_without_bom_handling(), vec![0; DECODED_BYTES]));
        let check = matches!(charset.bytes, Bytes::Guess).then(Utf8Check::default);
        Self { charset, decoder, check, scanner }
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(check) = &mut self.check {
            check.push(bytes);
        }
        self.decode(bytes, false);
    }

    fn decode(&mut self, mut bytes: &[u8], is_last: bool) {
        let Some((decoder, out)) = &mut self.decoder else { return self.scanner.push(bytes) };
        loop {
            let (result, read, written, _) = decoder.decode_to_utf8(bytes, out, is_last);
            self.scanner.push(&out[..written]);
            bytes = &bytes[read..];
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }

    fn finish(mut self) -> Page {
        if self.decoder.is_some() {
            self.decode(&[], true);
        }
        let is_utf8 = self.check.is_none_or(|check| check.is_utf8());
        let charset = if matches!(self.charset.bytes, Bytes::Guess) && is_utf8 { UTF_8 } else { self.charset.encoding };
        Page { charset: charset.name(), ..self.scanner.finish() }
    }
}

impl Scanner {
    fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Html(tokens, page) => tokens.push(bytes, page),
            Self::Xml(tokens, page) => tokens.push(bytes, page),
            Self::Css(css, links) => css.push(bytes, links),
            Self::Lines(lines, links) => lines.push(bytes, links),
            Self::None => {}
        }
    }

    fn finish(self) -> Page {
        match self {
            Self::Html(mut tokens, mut page) => {
                tokens.finish(&mut page);
                page.finish()
            }
            Self::Xml(mut tokens, mut page) => {
                tokens.finish(&mut page);
                page.finish()
            }
            Self::Css(mut css, mut links) => {
                css.finish(&mut links);
                links.finish()
            }
            Self::Lines(mut lines, mut links) => {
                lines.tell(&mut links);
                links.finish()
            }
            Self::None => Page::default(),
        }
    }
}

/// A sitemap of plain text: an address on each line.
#[derive(Debug, Default)]
struct Lines {
    line: Vec<u8>,
    is_cut: bool,
}

impl Lines {
    fn push(&mut self, mut bytes: &[u8], links: &mut Links) {
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            self.keep(&bytes[..end]);
            self.tell(links);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = TOKEN_BYTES_MAX.saturating_sub(self.line.len());
        self.is_cut |= bytes.len() > room;
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn tell(&mut self, links: &mut Links) {
        let line = self.line.trim_ascii();
        if self.is_cut {
            links.add_cut(line);
        } else if line.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"http")) {
            links.add_utf8(&String::from_utf8_lossy(line), LinkKind::Page);
        } else if !line.is_empty() {
            links.count_not_web();
        }
        self.line.clear();
        self.is_cut = false;
    }
}
