//! A scanner over HTML: tags and text in order, no tree. It cuts where the standard's tokenizer cuts (comments, quoted
//! attributes, elements whose content is not markup), which is what decides what is text.
//!
//! Our own rather than `lol_html`: that rewrites streams by selectors and leaves character references undecoded, a
//! large tool and half the work, where all we want is the text. Every byte is looked at a bounded number of times and
//! nothing nests, so 100,000 open tags or an attribute of a megabyte cost what their length costs. Not done: a
//! `<script>` within a comment within a script, which hides its first end tag from browsers.

use memchr::{memchr, memchr_iter, memmem};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// Text between tags, references not decoded.
    Text(&'a str),
    Start(Tag<'a>),
    /// The name as written.
    End(&'a str),
    /// The text of a CDATA section, which only drawings and formulas have.
    Cdata(&'a str),
    /// What an element holds whose content is not markup: follows its `Start`, before its `End`.
    Raw(&'a str),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tag<'a> {
    /// As written.
    pub(crate) name: &'a str,
    pub(crate) attributes: &'a str,
    pub(crate) is_closed: bool,
}

#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    rest: &'a str,
    /// The element whose content comes next, uncut.
    raw: Option<&'a str>,
    /// Within `<svg>` or `<math>` names such as `title` and `style` are ordinary, and `/>` closes.
    foreign_depth: usize,
}

/// Elements whose content is text up to their own end tag. `noscript` is one, as in a browser that runs scripts.
const RAW: [&str; 10] =
    ["script", "style", "title", "textarea", "noscript", "iframe", "xmp", "noembed", "noframes", "plaintext"];

impl<'a> Scanner<'a> {
    pub(crate) fn new(html: &'a str) -> Self {
        Self { rest: html, raw: None, foreign_depth: 0 }
    }

    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign_depth > 0
    }

    fn take(&mut self, len: usize) -> &'a str {
        let (front, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, ""));
        self.rest = rest;
        front
    }

    fn note_start(&mut self, tag: &Tag<'a>) {
        let is = |name: &str| tag.name.eq_ignore_ascii_case(name);
        if is("svg") || is("math") {
            self.foreign_depth += usize::from(!tag.is_closed);
        } else if RAW.iter().any(|name| is(name)) && !(self.is_foreign() && tag.is_closed) {
            self.raw = Some(tag.name);
        }
    }

    /// What begins with `<`: a tag, nothing (comments and the like, unfinished tags), or text after all.
    fn markup(&mut self) -> Markup<'a> {
        let bytes = self.rest.as_bytes();
        match bytes.get(1) {
            Some(b'!') if bytes.starts_with(b"<!--") => {
                self.take(comment_len(bytes));
                Markup::Nothing
            }
            Some(b'!') if self.is_foreign() && bytes.starts_with(b"<![CDATA[") => {
                let len = memmem::find(bytes, b"]]>").unwrap_or(bytes.len());
                let text = &self.take(len)[b"<![CDATA[".len()..];
                self.take(3);
                Markup::Token(Token::Cdata(text))
            }
            Some(b'/') if bytes.get(2).is_some_and(u8::is_ascii_alphabetic) => match tag_len(bytes) {
                Some(len) => {
                    let name = &self.take(len)[2..];
                    let name = &name[..name_len(name)];
                    if name.eq_ignore_ascii_case("svg") || name.eq_ignore_ascii_case("math") {
                        self.foreign_depth = self.foreign_depth.saturating_sub(1);
                    }
                    Markup::Token(Token::End(name))
                }
                None => self.drop_rest(),
            },
            Some(b'!' | b'?' | b'/') => match memchr(b'>', bytes) {
                Some(end) => {
                    self.take(end + 1);
                    Markup::Nothing
                }
                None => self.drop_rest(),
            },
            Some(byte) if byte.is_ascii_alphabetic() => match tag_len(bytes) {
                Some(len) => {
                    let inner = &self.take(len)[1..len - 1];
                    let (name, attributes) = inner.split_at(name_len(inner));
                    let tag = Tag { name, attributes, is_closed: attributes.ends_with('/') };
                    self.note_start(&tag);
                    Markup::Token(Token::Start(tag))
                }
                None => self.drop_rest(),
            },
            _ => Markup::Text,
        }
    }

    /// An unfinished tag at the end of a page is not shown.
    fn drop_rest(&mut self) -> Markup<'a> {
        self.rest = "";
        Markup::Nothing
    }
}

enum Markup<'a> {
    Token(Token<'a>),
    Nothing,
    Text,
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if let Some(name) = self.raw.take() {
            let len = raw_len(self.rest.as_bytes(), name);
            return Some(Token::Raw(self.take(len)));
        }
        while !self.rest.is_empty() {
            let mut text_len = 0;
            if self.rest.starts_with('<') {
                match self.markup() {
                    Markup::Token(token) => return Some(token),
                    Markup::Nothing => continue,
                    Markup::Text => text_len = 1,
                }
            }
            let bytes = &self.rest.as_bytes()[text_len..];
            let len = text_len + memchr(b'<', bytes).unwrap_or(bytes.len());
            return Some(Token::Text(self.take(len)));
        }
        None
    }
}

impl<'a> Tag<'a> {
    /// The value of an attribute, references not decoded; empty if it has none.
    pub(crate) fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if rest.is_empty() {
                return None;
            }
            // A leading '=' belongs to the name, as in the standard, so each turn takes at least one character.
            let ends_name = |&(_, c): &(usize, char)| c.is_ascii_whitespace() || matches!(c, '/' | '=');
            let end = rest.char_indices().skip(1).find(ends_name).map_or(rest.len(), |(at, _)| at);
            let (known, after) = rest.split_at(end);
            let (value, after) = match after.trim_ascii_start().strip_prefix('=') {
                Some(value) => split_value(value.trim_ascii_start()),
                None => ("", after),
            };
            if known.eq_ignore_ascii_case(name) {
                return Some(value);
            }
            rest = after;
        }
    }
}

fn split_value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(text) = text.strip_prefix(quote) {
            return text.split_once(quote).unwrap_or((text, ""));
        }
    }
    text.split_at(text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len()))
}

fn name_len(text: &str) -> usize {
    text.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>')).unwrap_or(text.len())
}

/// Length of a tag up to and with its `>`, which does not count within a quoted value.
fn tag_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    let mut before_value = false;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'>' => return Some(at),
            b'"' | b'\'' if before_value => {
                at += memchr(byte, &bytes[at..])? + 1;
                before_value = false;
            }
            b'=' => before_value = true,
            _ if byte.is_ascii_whitespace() => {}
            _ => before_value = false,
        }
    }
    None
}

/// Length of a comment; one that never ends takes the rest.
fn comment_len(bytes: &[u8]) -> usize {
    for abrupt in [&b"<!-->"[..], b"<!--->"] {
        if bytes.starts_with(abrupt) {
            return abrupt.len();
        }
    }
    memchr_iter(b'>', bytes)
        .find(|&end| end >= 6 && (bytes[..end].ends_with(b"--") || (end >= 7 && bytes[..end].ends_with(b"--!"))))
        .map_or(bytes.len(), |end| end + 1)
}

/// Length of raw content, up to its end tag or the end of the page.
fn raw_len(bytes: &[u8], name: &str) -> usize {
    if name.eq_ignore_ascii_case("plaintext") {
        return bytes.len();
    }
    memmem::find_iter(bytes, b"</")
        .find(|&at| {
            let after = &bytes[at + 2..];
            after.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
                && after.get(name.len()).is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'))
        })
        .unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(html: &str) -> String {
        Scanner::new(html)
            .map(|token| match token {
                Token::Text(text) => format!("{text}|"),
                Token::Start(tag) => format!("+{}|", tag.name),
                Token::End(name) => format!("-{name}|"),
                Token::Raw(text) => format!("raw {text}|"),
                Token::Cdata(text) => format!("cdata {text}|"),
            })
            .collect()
    }

    #[test]
    fn tags_and_text_are_cut_where_browsers_cut() {
        for (html, expected) in [
            ("a<b>c</b >d", "a|+b|c|-b|d|"),
            ("<a href='x>y' title=\"<b>\">z</a>", "+a|z|-a|"),
            ("<a href=x'>y'>z", "+a|y'>z|"),
            ("1 < 2 <3 <", "1 |< 2 |<3 |<|"),
            ("a<!-- <b> -- > -->c<!-->d<!--->e<!--x--!>f", "a|c|d|e|f|"),
            ("a<!-- never ends <b>", "a|"),
            ("<!DOCTYPE html><?xml a?></ b></>x", "x|"),
            ("x<b never", "x|"),
            ("x</b never", "x|"),
            ("<script>a<b></scriptx></SCRIPT x>c", "+script|raw a<b></scriptx>|-SCRIPT|c|"),
            ("<style>a", "+style|raw a|"),
            ("<title>a</b></title>", "+title|raw a</b>|-title|"),
            ("<plaintext>a</plaintext>b", "+plaintext|raw a</plaintext>b|"),
            ("<svg><style/>a<![CDATA[<b>]]>c</svg><style/>d", "+svg|+style|a|cdata <b>|c|-svg|+style|raw d|"),
            ("<svg><![CDATA[<b>", "+svg|cdata <b>|"),
            ("<![CDATA[a>b", "b|"),
        ] {
            assert_eq!(shown(html), expected, "{html}");
        }
    }

    #[test]
    fn attributes_are_found_however_they_are_quoted() {
        let html = "<img =a é=1 ALT = 'x y' src=a/b.png data-alt=no title=\"q\" checked / width=1/>";
        let Some(Token::Start(tag)) = Scanner::new(html).next() else { panic!("no tag") };
        assert!(tag.is_closed);
        for (name, value) in [
            ("alt", Some("x y")),
            ("src", Some("a/b.png")),
            ("title", Some("q")),
            ("checked", Some("")),
            ("width", Some("1/")),
            ("é", Some("1")),
            ("none", None),
        ] {
            assert_eq!(tag.attribute(name), value, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_markup_panics(html in "(<|</|<!|<!--|-->|<!\\[CDATA\\[|\\]\\]>|svg|script|style|a|é|=|'|\"|>|/| ){0,40}") {
            for token in Scanner::new(&html) {
                if let Token::Start(tag) = token {
                    let _ = tag.attribute("a");
                }
            }
        }
    }
}
