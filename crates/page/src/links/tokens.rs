//! Markup cut into tags and text, in pieces of any size, where the HTML standard's tokenizer cuts it. Nothing nests here,
//! so 100,000 open elements cost what their tags cost. Held between pieces is at most one unfinished tag.

use super::raw::RawScan;
use super::tag::{Tag, TagScan, find_near, is_space};
use crate::limits::TAG_BYTES_MAX;
use memchr::memchr;

/// How the content of an element is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Markup,
    /// Text up to the end tag of this name (in lower case).
    Raw(&'static [u8]),
    /// Text to the end of the page.
    Rest,
}

/// Who is told what was found.
pub(crate) trait Sink {
    /// Whether text between tags is of interest.
    const WANTS_TEXT: bool;

    fn start(&mut self, tag: &Tag<'_>) -> Content;

    /// A tag too long to be looked into; its name unless that is too long itself.
    fn start_too_long(&mut self, name: Option<&[u8]>) -> Content;

    /// The name as written, cut to 16 bytes. Not told of a raw element.
    fn end(&mut self, name: &[u8]);

    /// A piece of text, references not decoded; of a CDATA section if so said.
    fn text(&mut self, _piece: &[u8], _is_cdata: bool) {}

    /// A piece of what a raw element holds.
    fn raw(&mut self, piece: &[u8]);

    fn raw_end(&mut self);

    /// Every byte in its order that is neither of a start tag told of nor of raw content, for whoever writes the page anew.
    #[inline]
    fn pass(&mut self, _bytes: &[u8]) {}

    /// Whether `<![CDATA[` means something here.
    fn has_cdata(&self) -> bool;
}

#[derive(Debug)]
enum State {
    Text,
    /// `<` has come, and in `held` so much after it as leaves open what it begins.
    Open,
    /// A start tag, held as far as it has come.
    Start,
    /// A start tag that is too long, with the name it had.
    TooLong(Option<Name>),
    /// The rest of an end tag.
    End,
    Comment(Comment),
    /// What begins like `<!` or `<?` and ends at the next `>`.
    Bogus,
    /// With the number of `]` just seen, of which two are enough.
    Cdata(usize),
    Raw(RawScan),
    Rest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comment {
    Start,
    StartDash,
    Body,
    Dash,
    Dashes,
    Bang,
}

const NAME_BYTES_MAX: usize = 16;
const CDATA: &[u8] = b"<![CDATA[";

/// A short name, cut if it is a long one.
#[derive(Clone, Copy, Debug, Default)]
struct Name {
    bytes: [u8; NAME_BYTES_MAX],
    len: usize,
}

impl Name {
    fn of(name: &[u8]) -> Self {
        let len = name.len().min(NAME_BYTES_MAX);
        let mut bytes = [0; NAME_BYTES_MAX];
        bytes[..len].copy_from_slice(&name[..len]);
        Self { bytes, len }
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[derive(Debug)]
pub(crate) struct Tokenizer {
    state: State,
    scan: TagScan,
    held: Vec<u8>,
    /// The name of the end tag that is coming, while it is.
    end_name: Option<Name>,
}

impl Tokenizer {
    pub(crate) fn new() -> Self {
        Self { state: State::Text, scan: TagScan::new(), held: Vec::new(), end_name: None }
    }

    pub(crate) fn push<S: Sink>(&mut self, mut bytes: &[u8], sink: &mut S) {
        while !bytes.is_empty() {
            // The other states tell of their bytes themselves.
            let is_passed = matches!(
                self.state,
                State::TooLong(_) | State::End | State::Comment(_) | State::Bogus | State::Cdata(_) | State::Rest
            );
            let taken = self.step(bytes, sink);
            if is_passed {
                sink.pass(bytes.get(..taken).unwrap_or_default());
            }
            bytes = bytes.get(taken..).unwrap_or_default();
        }
    }

    /// An unfinished tag at the end of a page is not one; unfinished raw content is content.
    pub(crate) fn finish<S: Sink>(&mut self, sink: &mut S) {
        match &mut self.state {
            State::Raw(raw) => {
                raw.finish(|piece| sink.raw(piece));
                sink.raw_end();
            }
            State::Open => {
                if S::WANTS_TEXT {
                    sink.text(&self.held, false);
                }
                sink.pass(&self.held);
            }
            State::Start => sink.pass(&self.held),
            _ => {}
        }
        self.state = State::Rest;
    }

    /// Answers how many bytes were taken: at least one, or the state is another.
    fn step<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> usize {
        match &mut self.state {
            State::Text => self.text(bytes, sink),
            State::Open => {
                // One byte at a time: it takes at most nine to know.
                self.held.push(bytes[0]);
                let held = std::mem::take(&mut self.held);
                match self.open(&held, sink) {
                    Opened::Unclear => self.held = held,
                    Opened::At(at) if at < held.len() => {
                        // The last byte is read again in the new state; those before it mean nothing there.
                        sink.pass(&held[..held.len() - 1]);
                        return 0;
                    }
                    Opened::At(_) => sink.pass(&held),
                    Opened::Start => {
                        self.held = held;
                        self.scan.begin(1);
                        self.state = State::Start;
                    }
                }
                1
            }
            State::Start => self.held_start(bytes, sink),
            State::TooLong(name) => match self.scan.skip(bytes) {
                Some(end) => {
                    let name = name.take();
                    let content = sink.start_too_long(name.as_ref().map(Name::as_slice));
                    self.enter(content);
                    end
                }
                None => bytes.len(),
            },
            State::End => self.end_tag(bytes, sink),
            State::Comment(comment) => match comment.run(bytes) {
                Some(end) => {
                    self.state = State::Text;
                    end
                }
                None => bytes.len(),
            },
            State::Bogus => match memchr(b'>', bytes) {
                Some(at) => {
                    self.state = State::Text;
                    at + 1
                }
                None => bytes.len(),
            },
            State::Cdata(_) => self.cdata(bytes, sink),
            State::Raw(raw) => match raw.run(bytes, |piece| sink.raw(piece)) {
                Some(at) => {
                    sink.raw_end();
                    sink.pass(raw.held());
                    self.end_name = None;
                    self.scan.begin_after_name();
                    self.state = State::End;
                    at
                }
                None => bytes.len(),
            },
            State::Rest => bytes.len(),
        }
    }

    /// Text and the tags in it, as long as they lie wholly in this piece: nearly all of a page is read here.
    fn text<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> usize {
        let mut at = 0;
        // Up to here the sink was told of everything.
        let mut told = 0;
        loop {
            let rest = &bytes[at..];
            let text_len = find_near(b'<', rest).unwrap_or(rest.len());
            if S::WANTS_TEXT && text_len > 0 {
                sink.text(&rest[..text_len], false);
            }
            at += text_len;
            let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) else {
                sink.pass(&bytes[told..]);
                return bytes.len();
            };
            match self.open(rest, sink) {
                Opened::Unclear => {
                    sink.pass(&bytes[told..at]);
                    self.held.clear();
                    self.held.extend_from_slice(rest);
                    self.state = State::Open;
                    return bytes.len();
                }
                Opened::Start => match self.scan.begin_and_run(rest) {
                    Some(len) => {
                        sink.pass(&bytes[told..at]);
                        at += len;
                        told = at;
                        let content = self.tell_start(&rest[..len], sink);
                        self.enter(content);
                    }
                    None => {
                        self.held.clear();
                        if rest.len() > TAG_BYTES_MAX {
                            sink.pass(&bytes[told..]);
                            self.state = State::TooLong(self.scan.name(rest).map(Name::of));
                        } else {
                            sink.pass(&bytes[told..at]);
                            self.held.extend_from_slice(rest);
                            self.state = State::Start;
                        }
                        return bytes.len();
                    }
                },
                Opened::At(len) => at += len,
            }
            if !matches!(self.state, State::Text) {
                sink.pass(&bytes[told..at]);
                return at;
            }
        }
    }

    /// What begins with `<`. Sets the state, except for a start tag.
    #[inline]
    fn open<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> Opened {
        match bytes.get(1) {
            None => Opened::Unclear,
            Some(byte) if byte.is_ascii_alphabetic() => Opened::Start,
            Some(b'/') => match bytes.get(2) {
                None => Opened::Unclear,
                Some(byte) if byte.is_ascii_alphabetic() => {
                    // Most end tags are a name and no more.
                    let mut end = 3;
                    while end < 2 + NAME_BYTES_MAX && bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
                        end += 1;
                    }
                    if bytes.get(end) == Some(&b'>') {
                        sink.end(&bytes[2..end]);
                        self.state = State::Text;
                        return Opened::At(end + 1);
                    }
                    self.end_name = Some(Name::default());
                    self.scan.begin(0);
                    self.state = State::End;
                    Opened::At(2)
                }
                Some(_) => {
                    self.state = State::Bogus;
                    Opened::At(2)
                }
            },
            Some(b'!') => {
                if bytes.starts_with(b"<!--") {
                    self.state = State::Comment(Comment::Start);
                    return Opened::At(4);
                }
                if b"<!--".starts_with(bytes) {
                    return Opened::Unclear;
                }
                if sink.has_cdata() {
                    if bytes.starts_with(CDATA) {
                        self.state = State::Cdata(0);
                        return Opened::At(CDATA.len());
                    }
                    if CDATA.starts_with(bytes) {
                        return Opened::Unclear;
                    }
                }
                self.state = State::Bogus;
                Opened::At(2)
            }
            Some(b'?') => {
                self.state = State::Bogus;
                Opened::At(2)
            }
            Some(_) => {
                if S::WANTS_TEXT {
                    sink.text(b"<", false);
                }
                self.state = State::Text;
                Opened::At(1)
            }
        }
    }

    #[inline]
    fn tell_start<S: Sink>(&mut self, tag: &[u8], sink: &mut S) -> Content {
        if tag.len() > TAG_BYTES_MAX {
            sink.pass(tag);
            return sink.start_too_long(self.scan.name(tag).map(|name| &name[..name.len().min(NAME_BYTES_MAX)]));
        }
        sink.start(&self.scan.tag(tag))
    }

    #[inline]
    fn enter(&mut self, content: Content) {
        self.state = match content {
            Content::Markup => State::Text,
            Content::Raw(name) => State::Raw(RawScan::new(name)),
            Content::Rest => State::Rest,
        };
    }

    fn held_start<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> usize {
        // Small steps, so that little is copied in vain where the tag ends soon.
        let step = &bytes[..bytes.len().min(1024)];
        let before = self.held.len();
        self.held.extend_from_slice(step);
        match self.scan.run(&self.held) {
            Some(len) => {
                let held = std::mem::take(&mut self.held);
                let content = self.tell_start(&held[..len], sink);
                self.enter(content);
                self.held = held;
                self.held.clear();
                len - before
            }
            None => {
                if self.held.len() > TAG_BYTES_MAX {
                    sink.pass(&self.held);
                    self.state = State::TooLong(self.scan.name(&self.held).map(Name::of));
                    self.held = Vec::new();
                }
                step.len()
            }
        }
    }

    fn end_tag<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> usize {
        let mut at = 0;
        if let Some(name) = &mut self.end_name {
            while let Some(&byte) = bytes.get(at) {
                if is_space(byte) || matches!(byte, b'/' | b'>') {
                    break;
                }
                name.push(byte);
                at += 1;
            }
            if at == bytes.len() {
                return at;
            }
            sink.end(name.as_slice());
            self.end_name = None;
            self.scan.begin_after_name();
        }
        match self.scan.skip(&bytes[at..]) {
            Some(len) => {
                self.state = State::Text;
                at + len
            }
            None => bytes.len(),
        }
    }

    fn cdata<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> usize {
        let State::Cdata(brackets) = &mut self.state else { return bytes.len() };
        match bytes[0] {
            b']' => {
                *brackets += 1;
                if *brackets > 2 {
                    *brackets = 2;
                    sink.text(b"]", true);
                }
                1
            }
            b'>' if *brackets == 2 => {
                self.state = State::Text;
                1
            }
            _ => {
                sink.text(&b"]]"[..*brackets], true);
                *brackets = 0;
                let len = memchr(b']', bytes).unwrap_or(bytes.len());
                sink.text(&bytes[..len], true);
                len
            }
        }
    }
}

enum Opened {
    /// More must come to tell.
    Unclear,
    Start,
    /// The state is set, and goes on at this place.
    At(usize),
}

impl Comment {
    /// The place behind the comment, if it ends here.
    fn run(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            *self = match (*self, byte) {
                (Self::Start | Self::StartDash | Self::Dashes | Self::Bang, b'>') => return Some(at + 1),
                (Self::Start, b'-') => Self::StartDash,
                (Self::StartDash | Self::Dash | Self::Dashes, b'-') => Self::Dashes,
                (Self::Dashes, b'!') => Self::Bang,
                (_, b'-') => Self::Dash,
                _ => {
                    *self = Self::Body;
                    at += memchr(b'-', &bytes[at..])?;
                    continue;
                }
            };
            at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Deaf;

    impl Sink for Deaf {
        const WANTS_TEXT: bool = false;

        fn start(&mut self, _tag: &Tag<'_>) -> Content {
            Content::Markup
        }

        fn start_too_long(&mut self, _name: Option<&[u8]>) -> Content {
            Content::Markup
        }

        fn end(&mut self, _name: &[u8]) {}

        fn raw(&mut self, _piece: &[u8]) {}

        fn raw_end(&mut self) {}

        fn has_cdata(&self) -> bool {
            false
        }
    }

    #[test]
    fn no_more_is_held_than_a_tag_of_the_bound() {
        for piece_len in [1_000, 100_000, 1_000_000] {
            let mut tokens = Tokenizer::new();
            tokens.push(b"<a href='", &mut Deaf);
            for _ in 0..3_000_000 / piece_len {
                tokens.push(&vec![b'x'; piece_len], &mut Deaf);
                assert!(tokens.held.capacity() <= 4 * TAG_BYTES_MAX, "{piece_len}");
            }
        }
    }
}
