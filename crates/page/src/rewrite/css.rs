//! Style sheets: `url()`, `@import` and `image-set()`, found by the lexer that reads links, everything else as it was.

use super::escape::{Recoder, is_double_byte};
use super::place::{Answer, Place, Writing};
use super::{Modifier, Setting};
use crate::links::LinkKind;
use crate::links::charset::Charset;
use crate::links::css::{CssScan, CssSink, unescape};
use crate::text::charset_of;
use crate::{Document, limits::PRESCAN_BYTES_MAX};
use encoding_rs::{Encoding, UTF_8};

/// Rewrites one style sheet as it comes.
#[derive(Debug)]
pub struct CssRewriter {
    place: Place,
    scan: CssScan,
    /// `None` if nobody said: the bytes stay what they are.
    charset: Option<&'static Encoding>,
    recoder: Option<Recoder>,
    /// What the lexer made of recoded text, on its way back.
    text: Vec<u8>,
    is_utf8_out: bool,
}

impl CssRewriter {
    /// `content_type` is the header's value; `first` the sheet's first bytes, a kilobyte if it has so many.
    pub fn new(setting: &Setting<'_>, content_type: Option<&str>, first: &[u8]) -> Self {
        let first = &first[..first.len().min(PRESCAN_BYTES_MAX)];
        let http = content_type.and_then(charset_of).map(Encoding::name);
        let charset = Charset::detect(first, Document::Css, http);
        let encoding = (!charset.is_guess()).then_some(charset.encoding);
        let recoder = encoding.filter(|encoding| is_double_byte(encoding)).map(Recoder::new);
        let is_utf8_out = encoding.is_some_and(|encoding| !encoding.is_ascii_compatible());
        Self {
            place: Place::new(setting),
            scan: CssScan::new(),
            charset: encoding,
            recoder,
            text: Vec::new(),
            is_utf8_out,
        }
    }

    /// What the response must say, if anything: without it the page's encoding holds, as it did.
    pub fn charset(&self) -> Option<&'static str> {
        let charset = if self.is_utf8_out { Some(UTF_8) } else { self.charset };
        charset.map(Encoding::name)
    }

    /// The next piece of the sheet, without transfer and content coding; what it becomes is put behind `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.run(bytes, false, out);
    }

    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.run(&[], true, out);
    }

    fn run(&mut self, bytes: &[u8], is_last: bool, out: &mut Vec<u8>) {
        let Some(recoder) = &mut self.recoder else {
            let encoding = self.charset.unwrap_or(UTF_8);
            let mut sink = Placing { place: &mut self.place, encoding, out };
            self.scan.push(bytes, &mut sink);
            if is_last {
                self.scan.finish(&mut sink);
            }
            return;
        };
        let text = recoder.decode(bytes, is_last);
        let to = if self.is_utf8_out { &mut *out } else { &mut self.text };
        let mut sink = Placing { place: &mut self.place, encoding: UTF_8, out: to };
        self.scan.push(text.as_bytes(), &mut sink);
        if is_last {
            self.scan.finish(&mut sink);
        }
        if !self.is_utf8_out {
            recoder.encode(&self.text, out);
            self.text.clear();
        }
    }
}

/// Writes what the lexer tells, addresses replaced.
pub(super) struct Placing<'a> {
    pub(super) place: &'a mut Place,
    /// Of the text; ASCII in any case.
    pub(super) encoding: &'static Encoding,
    pub(super) out: &'a mut Vec<u8>,
}

impl CssSink for Placing<'_> {
    #[inline]
    fn plain(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn address(&mut self, token: &[u8], kind: LinkKind) {
        let modifier = match kind {
            LinkKind::Style => Modifier::Style,
            LinkKind::Font => Modifier::Embed,
            _ => Modifier::Image,
        };
        // The lexer's tokens may hold escapes, which the odd way undoes.
        match self.place.plain(token, modifier, Writing::Text, self.out) {
            Answer::Put => {}
            Answer::Stays => self.out.extend_from_slice(token),
            Answer::Odd => {
                let text = self.encoding.decode_without_bom_handling(token).0;
                // Queries of style sheets are UTF-8 whatever the sheet is.
                match self.place.any(&unescape(&text), modifier, UTF_8) {
                    Some(link) => put_escaped(&link, self.out),
                    None => self.out.extend_from_slice(token),
                }
            }
        }
    }
}

/// The whole of a short sheet or of a `style` attribute.
pub(super) fn rewrite_css(place: &mut Place, css: &[u8], encoding: &'static Encoding, out: &mut Vec<u8>) {
    let mut scan = CssScan::new();
    let mut sink = Placing { place, encoding, out };
    scan.push(css, &mut sink);
    scan.finish(&mut sink);
}

/// An address that can stand in any quotes and in none, also within an attribute.
fn put_escaped(link: &str, out: &mut Vec<u8>) {
    for byte in link.bytes() {
        match byte {
            b'(' | b')' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\'' => out.extend_from_slice(b"%27"),
            b'"' => out.extend_from_slice(b"%22"),
            _ => out.push(byte),
        }
    }
}
