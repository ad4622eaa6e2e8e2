//! The addresses in a style sheet: `url()`, `@import` and `image-set()`, in pieces of any size. Comments, strings and
//! escapes are read as CSS Syntax asks; rules are not understood beyond what kind of thing an address is. Whoever reads
//! links and whoever rewrites them are told the same.

use super::LinkKind;
use super::collect::Links;
use crate::limits::TOKEN_BYTES_MAX;
use memchr::{memchr, memchr3};
use std::borrow::Cow;

const WORD_BYTES_MAX: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Plain,
    /// A backslash has come outside strings.
    Escape,
    Slash,
    Comment,
    CommentStar,
    /// A string that is an address of this kind, or means nothing to us.
    String(u8, Option<LinkKind>),
    StringEscape(u8, Option<LinkKind>),
    /// `url(` has come.
    UrlStart,
    Url,
    UrlEscape,
    /// So many hexadecimal digits of an escape have come, which a blank may end.
    UrlHex(u8),
    UrlQuoted(u8),
    UrlQuotedEscape(u8),
    /// The address is whole or worthless, `)` has not come.
    UrlEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Ordinary,
    Import,
    FontFace,
    /// Its strings and addresses name nothing that can be fetched.
    Silent,
}

/// Who is told what was found.
pub(crate) trait CssSink {
    /// Everything in its order that is not an address.
    #[inline]
    fn plain(&mut self, _bytes: &[u8]) {}

    /// An address, escapes not undone.
    fn address(&mut self, token: &[u8], kind: LinkKind);

    /// An address too long to be kept, which was told as plain; here is its beginning.
    fn cut(&mut self, _start: &[u8]) {}
}

impl CssSink for Links {
    fn address(&mut self, token: &[u8], kind: LinkKind) {
        self.add_css(token, kind);
    }

    fn cut(&mut self, start: &[u8]) {
        self.add_cut(start);
    }
}

#[derive(Debug)]
pub(crate) struct CssScan {
    state: State,
    /// The name that is being read, in lower case; too long a name is no name.
    word: [u8; WORD_BYTES_MAX],
    word_len: usize,
    rule: Rule,
    in_font_face: bool,
    /// Open parentheses, and how many there were within `image-set(`.
    depth: u32,
    image_set_depth: Option<u32>,
    token: Vec<u8>,
    is_token_cut: bool,
}

impl CssScan {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Plain,
            word: [0; WORD_BYTES_MAX],
            word_len: 0,
            rule: Rule::Ordinary,
            in_font_face: false,
            depth: 0,
            image_set_depth: None,
            token: Vec::new(),
            is_token_cut: false,
        }
    }

    pub(crate) fn push<S: CssSink>(&mut self, bytes: &[u8], sink: &mut S) {
        let mut at = 0;
        // Up to here the sink was told of everything, unless we are in an address.
        let mut told = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match self.state {
                State::Plain => {
                    self.plain(byte);
                    if self.in_address() {
                        sink.plain(&bytes[told..at]);
                    }
                }
                State::Escape => self.state = State::Plain,
                State::Slash => {
                    self.state = State::Plain;
                    if byte == b'*' {
                        self.state = State::Comment;
                    } else {
                        self.plain(byte);
                        if self.in_address() {
                            sink.plain(&bytes[told..at]);
                        }
                    }
                }
                State::Comment => {
                    if byte == b'*' {
                        self.state = State::CommentStar;
                    } else {
                        at += memchr(b'*', &bytes[at..]).unwrap_or(bytes.len() - at);
                    }
                }
                State::CommentStar => match byte {
                    b'/' => self.state = State::Plain,
                    b'*' => {}
                    _ => self.state = State::Comment,
                },
                State::String(quote, kind) => match byte {
                    b'\\' => {
                        self.keep(kind.is_some(), &[byte], sink);
                        self.state = State::StringEscape(quote, kind);
                    }
                    b'\n' => {
                        if kind.is_some() {
                            self.drop_token(sink);
                            told = at - 1;
                        }
                        self.state = State::Plain;
                    }
                    _ if byte == quote => {
                        if kind.is_some() {
                            self.tell(kind, sink);
                            told = at - 1;
                        }
                        self.state = State::Plain;
                    }
                    _ => {
                        let len = memchr3(quote, b'\\', b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
                        self.keep(kind.is_some(), &bytes[at - 1..at + len], sink);
                        at += len;
                    }
                },
                State::StringEscape(quote, kind) => {
                    self.keep(kind.is_some(), &[byte], sink);
                    self.state = State::String(quote, kind);
                }
                State::UrlStart => match byte {
                    b'"' | b'\'' => {
                        sink.plain(&bytes[told..at]);
                        self.state = State::UrlQuoted(byte);
                    }
                    b')' => self.state = State::Plain,
                    _ if byte.is_ascii_whitespace() => {}
                    _ => {
                        sink.plain(&bytes[told..at - 1]);
                        self.keep(true, &[byte], sink);
                        self.state = if byte == b'\\' { State::UrlEscape } else { State::Url };
                    }
                },
                State::UrlHex(digits) if byte.is_ascii_hexdigit() && digits < 6 => {
                    self.keep(true, &[byte], sink);
                    self.state = State::UrlHex(digits + 1);
                }
                State::UrlHex(_) if byte.is_ascii_whitespace() => {
                    self.keep(true, &[byte], sink);
                    self.state = State::Url;
                }
                State::Url | State::UrlHex(_) => match byte {
                    b'\\' => {
                        self.keep(true, &[byte], sink);
                        self.state = State::UrlEscape;
                    }
                    b')' => {
                        self.tell_url(sink);
                        told = at - 1;
                        self.state = State::Plain;
                    }
                    b'"' | b'\'' | b'(' => {
                        self.drop_token(sink);
                        told = at - 1;
                        self.state = State::UrlEnd;
                    }
                    _ if byte.is_ascii_whitespace() => {
                        self.tell_url(sink);
                        told = at - 1;
                        self.state = State::UrlEnd;
                    }
                    _ => {
                        self.keep(true, &[byte], sink);
                        self.state = State::Url;
                    }
                },
                State::UrlEscape => {
                    self.keep(true, &[byte], sink);
                    self.state = if byte.is_ascii_hexdigit() { State::UrlHex(1) } else { State::Url };
                }
                State::UrlQuoted(quote) => match byte {
                    b'\\' => {
                        self.keep(true, &[byte], sink);
                        self.state = State::UrlQuotedEscape(quote);
                    }
                    b'\n' => {
                        self.drop_token(sink);
                        told = at - 1;
                        self.state = State::UrlEnd;
                    }
                    _ if byte == quote => {
                        self.tell_url(sink);
                        told = at - 1;
                        self.state = State::UrlEnd;
                    }
                    _ => {
                        let len = memchr3(quote, b'\\', b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
                        self.keep(true, &bytes[at - 1..at + len], sink);
                        at += len;
                    }
                },
                State::UrlQuotedEscape(quote) => {
                    self.keep(true, &[byte], sink);
                    self.state = State::UrlQuoted(quote);
                }
                State::UrlEnd => {
                    if byte == b')' {
                        self.state = State::Plain;
                    }
                }
            }
        }
        if !self.in_address() {
            sink.plain(&bytes[told..]);
        }
    }

    /// Whether what comes is kept rather than told as plain.
    fn in_address(&self) -> bool {
        matches!(
            self.state,
            State::String(_, Some(_))
                | State::StringEscape(_, Some(_))
                | State::Url
                | State::UrlEscape
                | State::UrlHex(_)
                | State::UrlQuoted(_)
                | State::UrlQuotedEscape(_)
        )
    }

    /// The end of the sheet ends what is open, as CSS asks.
    pub(crate) fn finish<S: CssSink>(&mut self, sink: &mut S) {
        match self.state {
            State::String(_, kind) | State::StringEscape(_, kind) => self.tell(kind, sink),
            State::Url | State::UrlEscape | State::UrlHex(_) | State::UrlQuoted(_) | State::UrlQuotedEscape(_) => {
                self.tell_url(sink);
            }
            _ => {}
        }
        *self = Self::new();
    }

    fn plain(&mut self, byte: u8) {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | 0x80..) {
            self.push_word(byte);
            return;
        }
        let word = self.word.get(..self.word_len).unwrap_or_default();
        match word {
            b"@import" => self.rule = Rule::Import,
            b"@font-face" => self.rule = Rule::FontFace,
            b"@namespace" | b"@charset" | b"@document" | b"@-moz-document" => self.rule = Rule::Silent,
            _ => {}
        }
        match byte {
            b'(' => {
                self.depth += 1;
                match word {
                    b"url" => {
                        self.depth -= 1;
                        self.clear_token();
                        self.state = State::UrlStart;
                    }
                    b"image-set" | b"-webkit-image-set" => self.image_set_depth = Some(self.depth),
                    _ => {}
                }
            }
            b')' => {
                if self.image_set_depth == Some(self.depth) {
                    self.image_set_depth = None;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b'"' | b'\'' => {
                let kind = match self.rule {
                    Rule::Import => Some(LinkKind::Style),
                    // Within `type("image/png")` a string is no address.
                    _ if self.image_set_depth == Some(self.depth) => Some(LinkKind::Image),
                    _ => None,
                };
                self.clear_token();
                self.state = State::String(byte, kind);
            }
            b'/' => self.state = State::Slash,
            b'\\' => self.state = State::Escape,
            b';' => self.rule = Rule::Ordinary,
            b'{' => {
                self.in_font_face = self.rule == Rule::FontFace;
                self.rule = Rule::Ordinary;
            }
            b'}' => {
                self.in_font_face = false;
                self.rule = Rule::Ordinary;
                self.depth = 0;
                self.image_set_depth = None;
            }
            _ => {}
        }
        self.word_len = 0;
        if byte == b'@' {
            self.push_word(byte);
        }
    }

    fn push_word(&mut self, byte: u8) {
        if let Some(place) = self.word.get_mut(self.word_len) {
            *place = byte.to_ascii_lowercase();
        }
        self.word_len = self.word_len.saturating_add(1);
    }

    fn clear_token(&mut self) {
        self.token.clear();
        self.is_token_cut = false;
    }

    fn keep<S: CssSink>(&mut self, is_wanted: bool, bytes: &[u8], sink: &mut S) {
        if !is_wanted {
            return;
        }
        let room = TOKEN_BYTES_MAX - self.token.len().min(TOKEN_BYTES_MAX);
        if bytes.len() > room && !self.is_token_cut {
            self.is_token_cut = true;
            sink.plain(&self.token);
        }
        if self.is_token_cut {
            sink.plain(bytes);
        }
        self.token.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// What was kept is no address.
    fn drop_token<S: CssSink>(&mut self, sink: &mut S) {
        if !self.is_token_cut {
            sink.plain(&self.token);
        }
        self.clear_token();
    }

    fn tell_url<S: CssSink>(&mut self, sink: &mut S) {
        let kind = match self.rule {
            Rule::Import => Some(LinkKind::Style),
            Rule::Silent => None,
            _ if self.in_font_face => Some(LinkKind::Font),
            _ => Some(LinkKind::Image),
        };
        self.tell(kind, sink);
    }

    fn tell<S: CssSink>(&mut self, kind: Option<LinkKind>, sink: &mut S) {
        let Some(kind) = kind else { return self.drop_token(sink) };
        if self.rule == Rule::Import {
            // What follows the address are conditions.
            self.rule = Rule::Silent;
        }
        if self.is_token_cut {
            sink.cut(&self.token);
        } else {
            sink.address(&self.token, kind);
        }
        self.clear_token();
    }
}

/// Text with CSS escapes undone.
pub(crate) fn unescape(text: &str) -> Cow<'_, str> {
    if memchr(b'\\', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = rest.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        if digits > 0 {
            let code = u32::from_str_radix(&rest[..digits], 16).unwrap_or(0);
            out.push(char::from_u32(code).filter(|c| *c != '\0').unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = &rest[digits..];
            // One blank ends the digits.
            rest = rest
                .strip_prefix("\r\n")
                .or_else(|| rest.strip_prefix([' ', '\t', '\n', '\r', '\x0c']))
                .unwrap_or(rest);
        } else if let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            // An escaped line end in a string is not there at all.
            if !matches!(c, '\n' | '\r' | '\x0c') {
                out.push(c);
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}
