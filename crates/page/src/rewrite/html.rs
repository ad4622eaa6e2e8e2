//! HTML, XHTML and drawings, rewritten tag by tag as they pass, with the client script put first.
//!
//! Markup is cut by the tokenizer that reads links, which is checked against `lol_html`. On documentation the whole takes
//! a third of the time of `lol_html` with one handler that only prefixes links (`examples/rewrite_speed.rs`), and it
//! reads what that does not: `<noscript>`, and XHTML by the rules of XML. Only the values that change are touched: all
//! other bytes leave as they came, in the page's encoding. Encodings that hide ASCII (UTF-16, ISO-2022-JP) become UTF-8.
//! Held are one tag, one token of a style sheet, an import map, and nothing else.

use super::attributes::{Attribute, attributes_of};
use super::css::{Placing, rewrite_css};
use super::element::{Action, action, is_hint, modifier_of_rel};
use super::escape::{Recoder, is_double_byte, put_value, value_text};
use super::import_map::rewrite_import_map;
use super::lexer::ScriptScan;
use super::meta::{Meta, meta};
use super::place::{Answer, Place, Writing};
use super::script::Specifiers;
use super::{Mode, Modifier, Setting};
use crate::Document;
use crate::http::media_type_essence;
use crate::limits::{IMPORT_MAP_BYTES_MAX, PRESCAN_BYTES_MAX, SRCDOC_DEPTH_MAX};
use crate::links::charset::Charset;
use crate::links::css::CssScan;
use crate::links::element::Element;
use crate::links::html::content_of;
use crate::links::space::Spaces;
use crate::links::srcset;
use crate::links::tag::Tag;
use crate::links::tokens::{Content, Sink, Tokenizer};
use crate::text::charset_of;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Rewrites one document as it comes.
#[derive(Debug)]
pub struct HtmlRewriter {
    tokens: Tokenizer,
    page: Page,
    /// For encodings that hide ASCII.
    recoder: Option<Recoder>,
}

impl HtmlRewriter {
    /// `content_type` is the header's value; `first` the document's first bytes, a kilobyte or more if it has so many.
    /// They are only looked at, and must be pushed too.
    pub fn new(setting: &Setting<'_>, content_type: Option<&str>, first: &[u8]) -> Self {
        let essence = content_type.and_then(media_type_essence);
        let is_xml = matches!(essence.as_deref(), Some("application/xhtml+xml" | "image/svg+xml"));
        let encoding = encoding_of(content_type, is_xml, first);
        let recoder = (!encoding.is_ascii_compatible()).then(|| Recoder::new(encoding));
        let encoding = if recoder.is_some() { UTF_8 } else { encoding };
        Self { tokens: Tokenizer::new(), page: Page::new(setting, encoding, is_xml), recoder }
    }

    /// What the `Content-Type` of the response must say: browsers look for `<meta charset>` at the beginning only, and
    /// there is our script.
    pub fn charset(&self) -> &'static str {
        self.page.encoding.name()
    }

    /// The next piece of the document, without transfer and content coding; what it becomes is put behind `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        std::mem::swap(out, &mut self.page.out);
        match &mut self.recoder {
            None => self.tokens.push(bytes, &mut self.page),
            Some(recoder) => self.tokens.push(recoder.decode(bytes, false).as_bytes(), &mut self.page),
        }
        std::mem::swap(out, &mut self.page.out);
    }

    pub fn finish(mut self, out: &mut Vec<u8>) {
        std::mem::swap(out, &mut self.page.out);
        if let Some(recoder) = &mut self.recoder {
            self.tokens.push(recoder.decode(&[], true).as_bytes(), &mut self.page);
        }
        self.tokens.finish(&mut self.page);
        std::mem::swap(out, &mut self.page.out);
    }
}

/// As browsers find it. Where nobody says, UTF-8 if the first bytes are, else what the web was once written in.
fn encoding_of(content_type: Option<&str>, is_xml: bool, first: &[u8]) -> &'static Encoding {
    let document = if is_xml { Document::Xhtml } else { Document::Html };
    let http = content_type.and_then(charset_of).map(Encoding::name);
    let charset = Charset::detect(&first[..first.len().min(PRESCAN_BYTES_MAX)], document, http);
    if !charset.is_guess() {
        return charset.encoding;
    }
    match str::from_utf8(first) {
        Ok(_) => UTF_8,
        // A character may be cut at the end.
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

/// What is done with the content of the raw element we are in.
#[derive(Debug)]
enum Raw {
    Pass,
    Style(CssScan),
    Script(ScriptScan),
    /// As much as has come.
    ImportMap(Vec<u8>),
}

/// What becomes of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    /// Its new value was written.
    Value,
    /// It takes another name.
    Hide,
    /// It takes another name, and the new value its place.
    HideAndReplace,
}

/// Where the client script goes, once it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Injection {
    Waits,
    Done,
}

#[derive(Debug)]
struct Page {
    place: Place,
    mode: Mode,
    encoding: &'static Encoding,
    is_xml: bool,
    /// Documents in attributes around this one.
    srcdoc_depth: usize,
    injection: Injection,
    has_base: bool,
    has_root: bool,
    spaces: Spaces,
    raw: Raw,
    raw_recoder: Option<Recoder>,
    /// Of the tag at hand.
    attributes: Vec<Attribute>,
    /// The new value of the attribute at hand.
    value: Vec<u8>,
    out: Vec<u8>,
}

/// What an attribute is called that browsers are not to see.
const HIDDEN_PREFIX: &[u8] = b"data-archived-";

impl Page {
    fn new(setting: &Setting<'_>, encoding: &'static Encoding, is_xml: bool) -> Self {
        Self {
            place: Place::new(setting),
            mode: setting.mode,
            encoding,
            is_xml,
            srcdoc_depth: 0,
            injection: Injection::Waits,
            has_base: false,
            has_root: false,
            spaces: Spaces::default(),
            raw: Raw::Pass,
            raw_recoder: None,
            attributes: Vec::new(),
            value: Vec::new(),
            out: Vec::new(),
        }
    }

    /// The client script, if it has not been put yet.
    fn inject(&mut self) {
        if self.injection == Injection::Done {
            return;
        }
        self.injection = Injection::Done;
        let mut tag = b"<script ".to_vec();
        if self.is_xml {
            tag.extend_from_slice(b"xmlns=\"http://www.w3.org/1999/xhtml\" ");
        }
        tag.extend_from_slice(b"src=\"/herodotus/replay.js\" data-stamp=\"");
        tag.extend_from_slice(self.place.stamp().as_bytes());
        tag.extend_from_slice(b"\" data-url=\"");
        put_value(self.place.page().as_str(), Some(b'"'), self.encoding, &mut tag);
        tag.extend_from_slice(b"\" data-mode=\"");
        tag.extend_from_slice(self.mode.as_str().as_bytes());
        tag.extend_from_slice(b"\"></script>");
        self.out.extend_from_slice(&tag);
    }

    fn text_of(&self, tag: &[u8], name: &[u8]) -> Option<String> {
        let found = self.attributes.iter().find(|one| one.name(tag).eq_ignore_ascii_case(name))?;
        Some(value_text(found.value(tag), self.encoding).into_owned())
    }

    /// Writes a tag that has attributes.
    fn put_tag(&mut self, tag: &Tag<'_>, element: Element, is_foreign: bool) {
        let bytes = tag.bytes();
        let mut attributes = std::mem::take(&mut self.attributes);
        attributes_of(bytes, 1 + tag.name.len(), &mut attributes);
        self.attributes = attributes;
        let name = self.local_name(tag);
        let mut link = None;
        let mut meta_action = Meta::Plain;
        match element {
            Element::Link => {
                let rel = self.text_of(bytes, b"rel").unwrap_or_default();
                if !is_hint(&rel) {
                    let (kind, purpose) = (self.text_of(bytes, b"type"), self.text_of(bytes, b"as"));
                    link = Some(modifier_of_rel(&rel, kind.as_deref(), purpose.as_deref()));
                }
            }
            Element::Meta => {
                let (http_equiv, name) = (self.text_of(bytes, b"http-equiv"), self.text_of(bytes, b"name"));
                let content = self.text_of(bytes, b"content");
                meta_action = meta(&mut self.place, http_equiv.as_deref(), name.as_deref(), content.as_deref());
            }
            _ => {}
        }
        let mut told = 0;
        for nth in 0..self.attributes.len() {
            let Some(&attribute) = self.attributes.get(nth) else { break };
            let (attribute_name, value) = (attribute.name(bytes), attribute.value(bytes));
            self.value.clear();
            let change = match (element, &meta_action) {
                (Element::Meta, Meta::Refresh(content)) if attribute_name.eq_ignore_ascii_case(b"content") => {
                    put_value(content, attribute.quote, self.encoding, &mut self.value);
                    Change::Value
                }
                (Element::Meta, Meta::Hidden(name)) if attribute_name.eq_ignore_ascii_case(name) => Change::Hide,
                (Element::Base, _) if attribute_name.eq_ignore_ascii_case(b"href") => self.base(attribute, value),
                (Element::Script, _) if attribute_name.eq_ignore_ascii_case(b"type") => {
                    self.word(value, &["speculationrules"], b"archived-speculationrules")
                }
                _ => match action(element, name, attribute_name, is_foreign, link) {
                    Action::Leave => continue,
                    Action::Link(modifier) => self.link(attribute, value, modifier),
                    Action::Srcset => self.srcset(attribute, value),
                    Action::Css => self.css(attribute, value),
                    Action::Paint if value.windows(4).any(|word| word.eq_ignore_ascii_case(b"url(")) => {
                        self.css(attribute, value)
                    }
                    Action::Paint => Change::None,
                    Action::Srcdoc => self.srcdoc(attribute, value),
                    Action::Crossorigin => self.word(value, &["use-credentials"], b"anonymous"),
                    Action::Hide => Change::Hide,
                    Action::Target => match self.word(value, &["_top", "_parent"], b"_self") {
                        Change::Value => Change::HideAndReplace,
                        change => change,
                    },
                },
            };
            match change {
                Change::None => {}
                Change::Value => {
                    self.out.extend_from_slice(&bytes[told..attribute.value.0]);
                    self.out.extend_from_slice(&self.value);
                    told = attribute.value.1;
                }
                Change::Hide | Change::HideAndReplace => {
                    self.out.extend_from_slice(&bytes[told..attribute.name.0]);
                    if change == Change::HideAndReplace {
                        self.out.extend_from_slice(attribute_name);
                        self.out.extend_from_slice(b"=\"");
                        self.out.extend_from_slice(&self.value);
                        self.out.extend_from_slice(b"\" ");
                    }
                    self.out.extend_from_slice(HIDDEN_PREFIX);
                    told = attribute.name.0;
                }
            }
        }
        self.out.extend_from_slice(&bytes[told..]);
    }

    /// The name without what names its space, where that is written.
    fn local_name<'a>(&self, tag: &Tag<'a>) -> &'a [u8] {
        match tag.name.iter().position(|byte| *byte == b':') {
            Some(at) if self.is_xml => &tag.name[at + 1..],
            _ => tag.name,
        }
    }

    /// Replaces one of a few words.
    fn word(&mut self, value: &[u8], words: &[&str], by: &[u8]) -> Change {
        if !words.iter().any(|word| value.trim_ascii().eq_ignore_ascii_case(word.as_bytes())) {
            return Change::None;
        }
        self.value.extend_from_slice(by);
        Change::Value
    }

    fn link(&mut self, attribute: Attribute, value: &[u8], modifier: Modifier) -> Change {
        match self.place.plain(value, modifier, Writing::Markup, &mut self.value) {
            Answer::Put => Change::Value,
            Answer::Stays => Change::None,
            Answer::Odd => {
                let text = value_text(value, self.encoding);
                match self.place.any(&text, modifier, self.encoding) {
                    Some(link) => {
                        put_value(&link, attribute.quote, self.encoding, &mut self.value);
                        Change::Value
                    }
                    None => Change::None,
                }
            }
        }
    }

    /// The first `<base href>` counts, if it is an address on the web.
    fn base(&mut self, attribute: Attribute, value: &[u8]) -> Change {
        let text = value_text(value, self.encoding);
        let Some(url) = self.place.of_page(&text) else { return Change::None };
        let mut link = Vec::new();
        self.place.put_prefix(Modifier::Document, &mut link);
        link.extend_from_slice(url.as_str().as_bytes());
        put_value(&String::from_utf8_lossy(&link), attribute.quote, self.encoding, &mut self.value);
        if !self.has_base {
            self.has_base = true;
            self.place.set_base(url);
        }
        Change::Value
    }

    fn srcset(&mut self, attribute: Attribute, value: &[u8]) -> Change {
        let text = value_text(value, self.encoding);
        let mut new = String::with_capacity(text.len() * 2);
        let mut told = 0;
        for at in srcset::places(&text) {
            let Some(link) = text.get(at.clone()) else { break };
            let replaced = self.place.text(link, Modifier::Image);
            if let Some(replaced) = replaced {
                new.push_str(&text[told..at.start]);
                new.push_str(&replaced);
                told = at.end;
            }
        }
        if told == 0 {
            return Change::None;
        }
        new.push_str(&text[told..]);
        put_value(&new, attribute.quote, self.encoding, &mut self.value);
        Change::Value
    }

    fn css(&mut self, attribute: Attribute, value: &[u8]) -> Change {
        if memchr::memchr(b'(', value).is_none() && memchr::memchr(b'&', value).is_none() {
            return Change::None;
        }
        if memchr::memchr(b'&', value).is_none() && !is_double_byte(self.encoding) {
            rewrite_css(&mut self.place, value, self.encoding, &mut self.value);
            return Change::Value;
        }
        let text = value_text(value, self.encoding);
        let mut new = Vec::with_capacity(text.len() * 2);
        rewrite_css(&mut self.place, text.as_bytes(), UTF_8, &mut new);
        if new == text.as_bytes() {
            return Change::None;
        }
        put_value(&String::from_utf8_lossy(&new), attribute.quote, self.encoding, &mut self.value);
        Change::Value
    }

    /// The document that an attribute holds, read from where this one is.
    fn srcdoc(&mut self, attribute: Attribute, value: &[u8]) -> Change {
        if self.srcdoc_depth >= SRCDOC_DEPTH_MAX {
            return Change::None;
        }
        let text = value_text(value, self.encoding);
        let page = self.place.page().clone();
        let setting = Setting { stamp: self.place.stamp(), url: &page, mode: self.mode };
        let mut inner = Self::new(&setting, UTF_8, false);
        inner.place.set_base(self.place.base().clone());
        inner.srcdoc_depth = self.srcdoc_depth + 1;
        let mut tokens = Tokenizer::new();
        tokens.push(text.as_bytes(), &mut inner);
        tokens.finish(&mut inner);
        put_value(&String::from_utf8_lossy(&inner.out), attribute.quote, self.encoding, &mut self.value);
        Change::Value
    }

    /// Whether the content of a `script` is one, or an import map.
    fn raw_of_script(&self, tag: &[u8]) -> Raw {
        let Some(kind) = self.text_of(tag, b"type") else { return Raw::Script(ScriptScan::new()) };
        match kind.trim().to_ascii_lowercase().as_str() {
            ""
            | "module"
            | "text/javascript"
            | "application/javascript"
            | "text/ecmascript"
            | "application/ecmascript"
            | "application/x-javascript"
            | "text/jscript" => Raw::Script(ScriptScan::new()),
            "importmap" => Raw::ImportMap(Vec::new()),
            _ => Raw::Pass,
        }
    }

    /// A piece of what a style sheet or script within the page holds; `None` at its end.
    fn push_raw(&mut self, piece: Option<&[u8]>) {
        let Some(recoder) = &mut self.raw_recoder else {
            let out = &mut self.out;
            return push_content(&mut self.raw, piece, &mut self.place, self.encoding, out);
        };
        let text = recoder.decode(piece.unwrap_or_default(), piece.is_none()).as_bytes();
        let mut new = Vec::with_capacity(text.len() + 64);
        push_content(&mut self.raw, Some(text), &mut self.place, UTF_8, &mut new);
        if piece.is_none() {
            push_content(&mut self.raw, None, &mut self.place, UTF_8, &mut new);
        }
        recoder.encode(&new, &mut self.out);
    }

    fn import_map(&mut self, text: &[u8]) {
        let json = self.encoding.decode_without_bom_handling(text).0;
        match rewrite_import_map(&mut self.place, &json) {
            Some(map) => self.out.extend_from_slice(map.as_bytes()),
            None => self.out.extend_from_slice(text),
        }
    }
}

fn push_content(
    raw: &mut Raw,
    piece: Option<&[u8]>,
    place: &mut Place,
    encoding: &'static Encoding,
    out: &mut Vec<u8>,
) {
    match (raw, piece) {
        (Raw::Style(scan), Some(piece)) => scan.push(piece, &mut Placing { place, encoding, out }),
        (Raw::Style(scan), None) => scan.finish(&mut Placing { place, encoding, out }),
        (Raw::Script(scan), Some(piece)) => scan.push(piece, &mut Specifiers { place, is_inline: true, out }),
        (Raw::Script(scan), None) => scan.finish(&mut Specifiers { place, is_inline: true, out }),
        (Raw::Pass | Raw::ImportMap(_), _) => {}
    }
}

impl Sink for Page {
    const WANTS_TEXT: bool = false;

    fn start(&mut self, tag: &Tag<'_>) -> Content {
        let name = self.local_name(tag);
        let element = Element::of(name);
        let is_foreign = self.spaces.start(element, tag);
        let mut injects_after = false;
        if self.injection == Injection::Waits {
            let is_root = !std::mem::replace(&mut self.has_root, true);
            injects_after = name.eq_ignore_ascii_case(b"head") || (self.is_xml && is_root && element == Element::Svg);
            let is_html = name.eq_ignore_ascii_case(b"html");
            if self.is_xml && is_root && !is_html && !injects_after {
                // Some other XML: there is no place for a script.
                self.injection = Injection::Done;
            } else if !injects_after && !is_html {
                self.inject();
            }
        }
        let bytes = tag.bytes();
        if bytes.len() > tag.name.len() + 3 {
            self.put_tag(tag, element, is_foreign);
        } else {
            self.attributes.clear();
            self.out.extend_from_slice(bytes);
        }
        if injects_after && !(tag.is_closed && element == Element::Svg) {
            self.inject();
        }
        if element == Element::Plain {
            return Content::Markup;
        }
        let content = content_of(element, tag.is_closed && (self.is_xml || is_foreign), is_foreign);
        self.raw = match content {
            Content::Raw(b"style") => Raw::Style(CssScan::new()),
            Content::Raw(b"script") => self.raw_of_script(bytes),
            _ => Raw::Pass,
        };
        let has_lexer = matches!(self.raw, Raw::Style(_) | Raw::Script(_));
        self.raw_recoder = (has_lexer && is_double_byte(self.encoding)).then(|| Recoder::new(self.encoding));
        content
    }

    fn start_too_long(&mut self, name: Option<&[u8]>) -> Content {
        self.has_root = true;
        self.raw = Raw::Pass;
        content_of(name.map_or(Element::Plain, Element::of), false, self.spaces.is_foreign())
    }

    #[inline]
    fn end(&mut self, name: &[u8]) {
        self.spaces.end(name);
    }

    fn raw(&mut self, piece: &[u8]) {
        match &mut self.raw {
            Raw::Pass => self.out.extend_from_slice(piece),
            Raw::Style(_) | Raw::Script(_) => self.push_raw(Some(piece)),
            Raw::ImportMap(held) => {
                held.extend_from_slice(piece);
                if held.len() > IMPORT_MAP_BYTES_MAX {
                    self.out.append(held);
                    self.raw = Raw::Pass;
                }
            }
        }
    }

    fn raw_end(&mut self) {
        match std::mem::replace(&mut self.raw, Raw::Pass) {
            Raw::Pass => {}
            Raw::ImportMap(held) => self.import_map(&held),
            lexer => {
                self.raw = lexer;
                self.push_raw(None);
                self.raw = Raw::Pass;
            }
        }
    }

    #[inline]
    fn pass(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn has_cdata(&self) -> bool {
        self.is_xml || self.spaces.is_foreign()
    }
}
