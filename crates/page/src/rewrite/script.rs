//! Scripts. Only module specifiers are changed, and of those only what names an address: the browser reads them before
//! any script could answer for it. What scripts do at run time is the client script's part.

use super::lexer::{ScriptScan, ScriptSink};
use super::place::{Answer, Place, Writing};
use super::{Modifier, Setting};
use encoding_rs::UTF_8;
use std::borrow::Cow;

/// Rewrites one script as it comes, of any encoding that has ASCII in it.
#[derive(Debug)]
pub struct ScriptRewriter {
    place: Place,
    scan: ScriptScan,
}

impl ScriptRewriter {
    pub fn new(setting: &Setting<'_>) -> Self {
        Self { place: Place::new(setting), scan: ScriptScan::new() }
    }

    /// The next piece of the script, without transfer and content coding; what it becomes is put behind `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.scan.push(bytes, &mut Specifiers { place: &mut self.place, is_inline: false, out });
    }

    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.scan.finish(&mut Specifiers { place: &mut self.place, is_inline: false, out });
    }
}

/// A whole script; borrowed if nothing had to be changed.
pub fn rewrite_script<'a>(setting: &Setting<'_>, script: &'a [u8]) -> Cow<'a, [u8]> {
    // Most scripts have none, which is seen much faster than their lexing takes.
    if memchr::memmem::find(script, b"import").is_none() && memchr::memmem::find(script, b"export").is_none() {
        return Cow::Borrowed(script);
    }
    let mut rewriter = ScriptRewriter::new(setting);
    let mut out = Vec::with_capacity(script.len() + 256);
    rewriter.push(script, &mut out);
    rewriter.finish(&mut out);
    if out == script { Cow::Borrowed(script) } else { Cow::Owned(out) }
}

/// Writes what the lexer tells, specifiers replaced.
pub(super) struct Specifiers<'a> {
    pub(super) place: &'a mut Place,
    /// The script stands in a page, so its relative specifiers lack what says that they are scripts.
    pub(super) is_inline: bool,
    pub(super) out: &'a mut Vec<u8>,
}

impl ScriptSink for Specifiers<'_> {
    fn plain(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn specifier(&mut self, text: &[u8]) {
        let is_ours = if self.is_inline { names_address(text) } else { names_address(text) && !text.starts_with(b".") };
        if !is_ours {
            return self.out.extend_from_slice(text);
        }
        match self.place.plain(text, Modifier::Script, Writing::Text, self.out) {
            Answer::Put => {}
            Answer::Stays => self.out.extend_from_slice(text),
            Answer::Odd => {
                let link = str::from_utf8(text).ok().and_then(|text| self.place.any(text, Modifier::Script, UTF_8));
                match link {
                    Some(link) => self.out.extend_from_slice(link.replace('\'', "%27").as_bytes()),
                    None => self.out.extend_from_slice(text),
                }
            }
        }
    }
}

/// Whether a specifier is an address rather than the name of a package.
pub(super) fn names_address(specifier: &[u8]) -> bool {
    let begins = |scheme: &[u8]| specifier.get(..scheme.len()).is_some_and(|text| text.eq_ignore_ascii_case(scheme));
    specifier.starts_with(b"/")
        || specifier.starts_with(b"./")
        || specifier.starts_with(b"../")
        || begins(b"http:")
        || begins(b"https:")
}
