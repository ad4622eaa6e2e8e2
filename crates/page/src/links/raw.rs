//! Where an element ends whose content is not markup. For most that is its own end tag; a script may also hold a
//! comment that holds a script, whose end tag is not the outer one's (the standard's "escaped" states).

use super::tag::is_space;
use memchr::{memchr, memchr3};

const HELD_BYTES_MAX: usize = 16;

/// What may be the beginning of a tag, held until it is known.
#[derive(Debug, Default)]
struct Held {
    bytes: [u8; HELD_BYTES_MAX],
    len: usize,
}

impl Held {
    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    None,
    /// Within `<!--`.
    Comment,
    /// Within `<script` within `<!--`.
    Script,
}

/// The end of raw content, looked for over any number of pieces.
#[derive(Debug)]
pub(super) struct RawScan {
    name: &'static [u8],
    escape: Escape,
    dashes: u8,
    held: Held,
}

impl RawScan {
    /// The name in lower case.
    pub(super) fn new(name: &'static [u8]) -> Self {
        debug_assert!(name.len() + 3 <= HELD_BYTES_MAX);
        Self { name, escape: Escape::None, dashes: 0, held: Held::default() }
    }

    /// Gives the content to `content` in pieces; answers the place behind the end tag's name once that has come. Not to
    /// be asked again then.
    pub(super) fn run(&mut self, bytes: &[u8], mut content: impl FnMut(&[u8])) -> Option<usize> {
        let mut at = 0;
        loop {
            if self.held.len == 0 {
                let rest = bytes.get(at..)?;
                let len = self.skip(rest).unwrap_or(rest.len());
                content(&rest[..len]);
                at += len;
                let &byte = bytes.get(at)?;
                self.hold(byte);
                at += 1;
            }
            let &byte = bytes.get(at)?;
            match self.judge(byte) {
                Judgement::Wait => {
                    self.hold(byte);
                    at += 1;
                }
                Judgement::End => return Some(at),
                Judgement::Content => {
                    content(self.held.as_slice());
                    self.held.len = 0;
                }
            }
        }
    }

    /// What was taken and is not content so far; once the end has come, the end tag up to its name, as written.
    pub(super) fn held(&self) -> &[u8] {
        self.held.as_slice()
    }

    /// What is held when the page ends is content too.
    pub(super) fn finish(&mut self, mut content: impl FnMut(&[u8])) {
        content(self.held.as_slice());
        self.held.len = 0;
    }

    fn hold(&mut self, byte: u8) {
        if let Some(place) = self.held.bytes.get_mut(self.held.len) {
            *place = byte;
            self.held.len += 1;
        }
    }

    /// Length of what cannot begin a tag.
    fn skip(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while self.escape != Escape::None {
            let len = memchr3(b'<', b'-', b'>', &bytes[at..]);
            if len.unwrap_or(bytes.len() - at) > 0 {
                self.dashes = 0;
            }
            let len = len?;
            at += len;
            match bytes[at] {
                b'-' => self.dashes = (self.dashes + 1).min(2),
                b'>' => {
                    if self.dashes == 2 {
                        self.escape = Escape::None;
                    }
                    self.dashes = 0;
                }
                _ => {
                    self.dashes = 0;
                    return Some(at);
                }
            }
            at += 1;
        }
        memchr(b'<', &bytes[at..]).map(|len| at + len)
    }

    /// What the byte after the held ones makes of them.
    fn judge(&mut self, byte: u8) -> Judgement {
        let held = self.held.as_slice();
        let is_script = self.name == b"script";
        let second = held.get(1).copied().unwrap_or(byte);
        match second {
            b'/' => match self.judge_name(2, byte) {
                Judgement::End if self.escape == Escape::Script => {
                    self.escape = Escape::Comment;
                    Judgement::Content
                }
                judgement => judgement,
            },
            b'!' if is_script && self.escape == Escape::None => match held.len() {
                1 => Judgement::Wait,
                2 | 3 if byte == b'-' => Judgement::Wait,
                4 => {
                    // The dashes that open the comment can be those that close it.
                    self.escape = Escape::Comment;
                    self.dashes = 2;
                    Judgement::Content
                }
                _ => Judgement::Content,
            },
            b's' | b'S' if self.escape == Escape::Comment => match self.judge_name(1, byte) {
                Judgement::End => {
                    self.escape = Escape::Script;
                    Judgement::Content
                }
                judgement => judgement,
            },
            _ => Judgement::Content,
        }
    }

    /// `End` if the held bytes are, from `from`, the name, and the byte ends it.
    fn judge_name(&self, from: usize, byte: u8) -> Judgement {
        let at = self.held.len;
        match at.checked_sub(from) {
            None => Judgement::Wait,
            Some(at) => match self.name.get(at) {
                Some(expected) if byte.eq_ignore_ascii_case(expected) => Judgement::Wait,
                Some(_) => Judgement::Content,
                None if is_space(byte) || matches!(byte, b'/' | b'>') => Judgement::End,
                None => Judgement::Content,
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Wait,
    Content,
    End,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn content(name: &'static [u8], pieces: &[&[u8]]) -> (Vec<u8>, bool) {
        let mut scan = RawScan::new(name);
        let mut content = Vec::new();
        for piece in pieces {
            if scan.run(piece, |bytes| content.extend_from_slice(bytes)).is_some() {
                return (content, true);
            }
        }
        scan.finish(|bytes| content.extend_from_slice(bytes));
        (content, false)
    }

    #[test]
    fn raw_content_ends_where_browsers_end_it() {
        for (html, expected) in [
            ("a</script>", Some("a")),
            ("a<b</scripts></SCRIPT x>", Some("a<b</scripts>")),
            ("a</script", None),
            ("a<</script/", Some("a<")),
            ("<!-- </script>", Some("<!-- ")),
            ("<!-- <script> </script> --> </script>", Some("<!-- <script> </script> --> ")),
            ("<!--<script ></script ></script>", Some("<!--<script ></script >")),
            ("<!-- <script> --> </script>", Some("<!-- <script> --> ")),
            ("<!--> <script> </script>", Some("<!--> <script> ")),
            ("<!-- <scripts> </script> </script>", Some("<!-- <scripts> ")),
            ("<!- <script> </script> </script>", Some("<!- <script> ")),
            ("<!-- <script>", None),
        ] {
            let (found, ended) = content(b"script", &[html.as_bytes()]);
            let expected = (expected.unwrap_or(html), expected.is_some());
            assert_eq!((str::from_utf8(&found).unwrap(), ended), expected, "{html}");
        }
        assert_eq!(content(b"style", &[b"<!-- <script> </style>"]).0, b"<!-- <script> ");
    }

    /// Found by pages that were rewritten byte by byte: what came between dashes and `>` was forgotten at a cut.
    #[test]
    fn dashes_do_not_outlast_a_cut() {
        let html = b"<!-- --!><script></script></script>";
        assert_eq!(content(b"script", &[html]).0, b"<!-- --!><script></script>");
        assert_eq!(content(b"script", &html.chunks(1).collect::<Vec<_>>()).0, b"<!-- --!><script></script>");
    }

    proptest! {
        #[test]
        fn a_split_changes_nothing(html in "(<|</|<!|<!--|!|-|script|SCRIPT|style| |>|/|x){0,30}", at: prop::sample::Index) {
            let (left, right) = html.as_bytes().split_at(at.index(html.len() + 1));
            prop_assert_eq!(content(b"script", &[html.as_bytes()]), content(b"script", &[left, right]));
            let bytes: Vec<_> = html.as_bytes().chunks(1).collect();
            prop_assert_eq!(content(b"script", &[html.as_bytes()]), content(b"script", &bytes));
        }
    }
}
