//! The module specifiers of a script: what follows `import`, `export … from` and `import(`, found in pieces of any size.
//!
//! A small lexer that knows comments, strings, templates and regular expressions, and of the grammar only the shape of
//! these three. Whether `/` divides or begins an expression it tells from the token before, which is right nearly always;
//! where it errs it loses its way until the next line or quote, and finds less. A word in a string or comment is never
//! taken for an import, nor `x.import("…")`.

use crate::limits::{SPECIFIER_BYTES_MAX, TEMPLATE_DEPTH_MAX};
use memchr::{memchr, memchr2, memchr3};

/// Who is told what was found.
pub(super) trait ScriptSink {
    /// Everything in its order that is not a specifier.
    fn plain(&mut self, bytes: &[u8]);

    /// A specifier as it stands between its quotes.
    fn specifier(&mut self, text: &[u8]);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Code,
    /// A `/` has come.
    Slash,
    LineComment,
    BlockComment,
    BlockCommentStar,
    String(u8),
    StringEscape(u8),
    /// A string that is a specifier, held.
    Specifier(u8),
    Template,
    TemplateEscape,
    TemplateDollar,
    Regex,
    RegexEscape,
    RegexClass,
    RegexClassEscape,
    /// Too deep: nothing is looked at any more.
    Rest,
}

/// How far an import or export has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clause {
    None,
    Import,
    ImportCall,
    Export,
    Names,
    From,
}

const WORD_BYTES_MAX: usize = 10;

#[derive(Debug)]
pub(super) struct ScriptScan {
    state: State,
    clause: Clause,
    word: [u8; WORD_BYTES_MAX],
    word_len: usize,
    /// Dots right before the word: one makes it a property.
    dots: u8,
    /// The token before was a value, so that `/` divides.
    after_value: bool,
    /// Open braces since the innermost `${`, and those of the templates around it.
    depth: u32,
    templates: Vec<u32>,
    held: Vec<u8>,
}

const OTHER: u8 = 0;
const WORD: u8 = 1;
const SPACE: u8 = 2;

static CLASSES: [u8; 256] = {
    let mut classes = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' | b'#' | b'@' | b'\\' | 0x80.. => WORD,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => SPACE,
            _ => OTHER,
        };
        byte += 1;
    }
    classes
};

impl ScriptScan {
    pub(super) fn new() -> Self {
        Self {
            state: State::Code,
            clause: Clause::None,
            word: [0; WORD_BYTES_MAX],
            word_len: 0,
            dots: 0,
            after_value: false,
            depth: 0,
            templates: Vec::new(),
            held: Vec::new(),
        }
    }

    pub(super) fn push<S: ScriptSink>(&mut self, bytes: &[u8], sink: &mut S) {
        let mut at = 0;
        // Up to here the sink was told of everything, unless a specifier is held.
        let mut told = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                State::Code => {
                    at = self.code(bytes, at);
                    if matches!(self.state, State::Specifier(_)) {
                        sink.plain(&bytes[told..at]);
                    }
                    continue;
                }
                State::Slash => {
                    self.state = match byte {
                        b'/' => State::LineComment,
                        b'*' => State::BlockComment,
                        _ => {
                            // It was a token after all; this byte is read again as what follows it.
                            self.clause = Clause::None;
                            let is_regex = !self.after_value;
                            self.after_value = false;
                            self.state = if is_regex { State::Regex } else { State::Code };
                            continue;
                        }
                    };
                    at += 1;
                }
                State::LineComment => match memchr2(b'\n', b'\r', &bytes[at..]) {
                    Some(len) => {
                        at += len + 1;
                        self.state = State::Code;
                    }
                    None => at = bytes.len(),
                },
                State::BlockComment => match memchr(b'*', &bytes[at..]) {
                    Some(len) => {
                        at += len + 1;
                        self.state = State::BlockCommentStar;
                    }
                    None => at = bytes.len(),
                },
                State::BlockCommentStar => {
                    at += 1;
                    match byte {
                        b'/' => self.state = State::Code,
                        b'*' => {}
                        _ => self.state = State::BlockComment,
                    }
                }
                State::String(quote) => {
                    let Some(len) = memchr3(quote, b'\\', b'\n', &bytes[at..]) else { break };
                    at += len + 1;
                    // A string does not go over the line: it was none, or is broken.
                    self.state =
                        if bytes[at - 1] == b'\\' { State::StringEscape(quote) } else { self.value(State::Code) };
                }
                State::StringEscape(quote) => {
                    at += 1;
                    self.state = State::String(quote);
                }
                State::Specifier(quote) => {
                    let rest = &bytes[at..];
                    let len = memchr3(quote, b'\\', b'\n', rest).unwrap_or(rest.len());
                    self.held.extend_from_slice(&rest[..len]);
                    at += len;
                    let end = bytes.get(at).copied();
                    if self.held.len() > SPECIFIER_BYTES_MAX || end.is_some_and(|byte| byte != quote) {
                        sink.plain(&self.held);
                        self.state = State::String(quote);
                    } else if end.is_some() {
                        sink.specifier(&self.held);
                        self.state = State::String(quote);
                    } else {
                        return;
                    }
                    self.held.clear();
                    told = at;
                }
                State::Template => {
                    let Some(len) = memchr3(b'`', b'\\', b'$', &bytes[at..]) else { break };
                    at += len + 1;
                    self.state = match bytes[at - 1] {
                        b'`' => self.value(State::Code),
                        b'\\' => State::TemplateEscape,
                        _ => State::TemplateDollar,
                    };
                }
                State::TemplateEscape => {
                    at += 1;
                    self.state = State::Template;
                }
                State::TemplateDollar => {
                    self.state = State::Template;
                    if byte == b'{' {
                        at += 1;
                        if self.templates.len() >= TEMPLATE_DEPTH_MAX {
                            self.state = State::Rest;
                        } else {
                            self.templates.push(self.depth);
                            self.depth = 0;
                            self.after_value = false;
                            self.state = State::Code;
                        }
                    }
                }
                State::Regex => {
                    at += 1;
                    self.state = match byte {
                        b'/' => self.value(State::Code),
                        b'\\' => State::RegexEscape,
                        b'[' => State::RegexClass,
                        b'\n' => State::Code,
                        _ => State::Regex,
                    };
                }
                State::RegexClass => {
                    at += 1;
                    self.state = match byte {
                        b']' => State::Regex,
                        b'\\' => State::RegexClassEscape,
                        b'\n' => State::Code,
                        _ => State::RegexClass,
                    };
                }
                State::RegexEscape => {
                    at += 1;
                    self.state = State::Regex;
                }
                State::RegexClassEscape => {
                    at += 1;
                    self.state = State::RegexClass;
                }
                State::Rest => break,
            }
        }
        if !matches!(self.state, State::Specifier(_)) {
            sink.plain(&bytes[told..]);
        }
    }

    pub(super) fn finish<S: ScriptSink>(&mut self, sink: &mut S) {
        sink.plain(&self.held);
        *self = Self::new();
    }

    /// Code from `at` until something else begins; answers where.
    fn code(&mut self, bytes: &[u8], mut at: usize) -> usize {
        while let Some(&byte) = bytes.get(at) {
            match CLASSES[usize::from(byte)] {
                WORD => {
                    let start = at;
                    at += 1;
                    while bytes.get(at).is_some_and(|&byte| CLASSES[usize::from(byte)] == WORD) {
                        at += 1;
                    }
                    self.push_word(&bytes[start..at]);
                    continue;
                }
                SPACE => {
                    at += 1;
                    self.end_word();
                    continue;
                }
                _ => {}
            }
            at += 1;
            self.end_word();
            match byte {
                b'"' | b'\'' => {
                    self.dots = 0;
                    self.state = match self.clause {
                        Clause::Import | Clause::ImportCall | Clause::From => {
                            self.clause = Clause::None;
                            State::Specifier(byte)
                        }
                        _ => State::String(byte),
                    };
                    return at;
                }
                b'`' => {
                    self.clause = Clause::None;
                    self.dots = 0;
                    self.state = State::Template;
                    return at;
                }
                b'/' => {
                    self.dots = 0;
                    self.state = State::Slash;
                    return at;
                }
                b'}' if self.depth == 0 && !self.templates.is_empty() => {
                    self.depth = self.templates.pop().unwrap_or_default();
                    self.clause = Clause::None;
                    self.dots = 0;
                    self.state = State::Template;
                    return at;
                }
                _ => self.mark(byte),
            }
        }
        at
    }

    fn push_word(&mut self, piece: &[u8]) {
        let room = WORD_BYTES_MAX.saturating_sub(self.word_len);
        let kept = &piece[..piece.len().min(room)];
        if let Some(place) = self.word.get_mut(self.word_len..self.word_len + kept.len()) {
            place.copy_from_slice(kept);
        }
        self.word_len = self.word_len.saturating_add(piece.len());
    }

    /// The word that was being read is whole.
    fn end_word(&mut self) {
        if self.word_len == 0 {
            return;
        }
        let word = self.word.get(..self.word_len).unwrap_or_default();
        let is_property = self.dots == 1;
        self.after_value = is_property
            || !matches!(
                word,
                b"return"
                    | b"typeof"
                    | b"case"
                    | b"in"
                    | b"of"
                    | b"delete"
                    | b"void"
                    | b"throw"
                    | b"new"
                    | b"instanceof"
                    | b"else"
                    | b"do"
                    | b"yield"
                    | b"await"
                    | b"default"
            );
        self.clause = match (self.clause, word) {
            _ if is_property => Clause::None,
            (Clause::Names | Clause::From, b"from") => Clause::From,
            (Clause::Import | Clause::Names | Clause::From, _) if word != b"import" && word != b"export" => {
                Clause::Names
            }
            (_, b"import") => Clause::Import,
            (_, b"export") => Clause::Export,
            _ => Clause::None,
        };
        self.word_len = 0;
        self.dots = 0;
    }

    /// A mark that is no quote, slash or the end of a template's hole.
    fn mark(&mut self, byte: u8) {
        match byte {
            b'{' => self.depth = self.depth.saturating_add(1),
            b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        // After a block an expression begins more often than an object is divided.
        self.after_value = matches!(byte, b')' | b']');
        self.dots = if byte == b'.' { self.dots.saturating_add(1) } else { 0 };
        self.clause = match (self.clause, byte) {
            (Clause::Import, b'(') => Clause::ImportCall,
            (Clause::Import | Clause::Export | Clause::Names, b'{' | b'*') => Clause::Names,
            (Clause::Names | Clause::From, b'}' | b',') => Clause::Names,
            _ => Clause::None,
        };
    }

    fn value(&mut self, next: State) -> State {
        self.after_value = true;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Marked(Vec<u8>);

    impl ScriptSink for Marked {
        fn plain(&mut self, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }

        fn specifier(&mut self, text: &[u8]) {
            self.0.push(b'[');
            self.0.extend_from_slice(text);
            self.0.push(b']');
        }
    }

    fn marked(pieces: impl Iterator<Item = impl AsRef<[u8]>>) -> String {
        let (mut scan, mut sink) = (ScriptScan::new(), Marked::default());
        pieces.for_each(|piece| scan.push(piece.as_ref(), &mut sink));
        scan.finish(&mut sink);
        String::from_utf8_lossy(&sink.0).into_owned()
    }

    #[test]
    fn specifiers_are_found_in_code_and_only_there() {
        for (script, expected) in [
            ("import 'a'", "import '[a]'"),
            ("import x from \"a\";", "import x from \"[a]\";"),
            ("import{a as b,c}from'a';import d,*as e from'b'", "import{a as b,c}from'[a]';import d,*as e from'[b]'"),
            ("export * from 'a';export{x as from}from'b'", "export * from '[a]';export{x as from}from'[b]'"),
            ("export * as n from 'a'", "export * as n from '[a]'"),
            ("import from from 'a'", "import from from '[a]'"),
            ("import{from}from'a'", "import{from}from'[a]'"),
            ("import /* 'x' */ y // 'z'\nfrom 'a'", "import /* 'x' */ y // 'z'\nfrom '[a]'"),
            ("import {'b c' as d} from 'a'", "import {'b c' as d} from '[a]'"),
            ("x = await import('a')", "x = await import('[a]')"),
            ("import(/* webpackIgnore: true */ 'a')", "import(/* webpackIgnore: true */ '[a]')"),
            ("f(...import('a'))", "f(...import('[a]'))"),
            ("`${import('a')}`", "`${import('[a]')}`"),
            ("`import 'a' ${`${{}}`} import 'b'`;import 'c'", "`import 'a' ${`${{}}`} import 'b'`;import '[c]'"),
            ("x.import('a'); y?.import('b')", "x.import('a'); y?.import('b')"),
            ("import.meta.url + 'a'", "import.meta.url + 'a'"),
            ("({import: 'a', from: 'b', export: 'c'})", "({import: 'a', from: 'b', export: 'c'})"),
            ("export default 'a'; export const x = 'b'", "export default 'a'; export const x = 'b'"),
            ("export {x}; y from 'a'", "export {x}; y from 'a'"),
            ("// import 'a'\n/* import 'b' */ \"import 'c'\"", "// import 'a'\n/* import 'b' */ \"import 'c'\""),
            ("x = /'/; import 'a'", "x = /'/; import '[a]'"),
            ("x = /[/']/.test(y); import 'a'", "x = /[/']/.test(y); import '[a]'"),
            ("x = (a) / b / 'c'; import 'a'", "x = (a) / b / 'c'; import '[a]'"),
            ("return /\\/'/; import 'a'", "return /\\/'/; import '[a]'"),
            ("import(a + 'b')", "import(a + 'b')"),
            ("import 'a\\'b'; import 'c'", "import 'a\\'b'; import '[c]'"),
            ("import 'a\nimport 'b'", "import 'a\nimport '[b]'"),
            ("reimport 'a'; import1('b')", "reimport 'a'; import1('b')"),
            ("<!-- don't\nimport('a')", "<!-- don't\nimport('[a]')"),
            ("import x from 'a", "import x from 'a"),
        ] {
            assert_eq!(marked([script].into_iter()), expected);
            assert_eq!(marked(script.as_bytes().chunks(1)), expected, "byte by byte");
        }
    }

    proptest! {
        #[test]
        fn no_script_panics_and_none_is_changed(
            script in "(import|export|from|'|\"|`|\\$|\\{|\\}|/|\\*|\\(|\\)|\\[|\\]|\\\\|\n| |x|\\.|,|;|é){0,40}",
            at: prop::sample::Index,
        ) {
            let whole = marked([&script].into_iter());
            let (left, right) = script.as_bytes().split_at(at.index(script.len() + 1));
            prop_assert_eq!(&marked([left, right].into_iter()), &whole);
            let unmarked = |text: &str| text.replace(['[', ']'], "");
            prop_assert_eq!(unmarked(&whole), unmarked(&script));
        }
    }
}
