//! A tag taken apart in one pass, by the states of the HTML standard's tokenizer. It can stop at any byte and go on when
//! more have come, so a tag in a thousand pieces costs what its length costs.

use memchr::memchr;

/// The attributes we look at, of any element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    Action,
    As,
    Background,
    Content,
    Data,
    DataLazySrc,
    DataLazySrcset,
    DataOriginal,
    DataSrc,
    DataSrcset,
    Href,
    HttpEquiv,
    ImageSrcset,
    Method,
    Name,
    Poster,
    Rel,
    Src,
    Srcdoc,
    Srcset,
    Style,
    Type,
    Url,
    XlinkHref,
}

const ATTRIBUTES: usize = Attribute::XlinkHref as usize + 1;
const ATTRIBUTE_NAME_BYTES_MAX: usize = 16;

fn known(name: &[u8]) -> Option<Attribute> {
    use Attribute::*;
    Some(match name {
        b"as" => As,
        b"rel" => Rel,
        b"src" => Src,
        b"url" => Url,
        b"data" => Data,
        b"href" => Href,
        b"name" => Name,
        b"type" => Type,
        b"style" => Style,
        b"action" => Action,
        b"method" => Method,
        b"poster" => Poster,
        b"srcdoc" => Srcdoc,
        b"srcset" => Srcset,
        b"content" => Content,
        b"data-src" => DataSrc,
        b"background" => Background,
        b"http-equiv" => HttpEquiv,
        b"xlink:href" => XlinkHref,
        b"data-srcset" => DataSrcset,
        b"imagesrcset" => ImageSrcset,
        b"data-lazy-src" => DataLazySrc,
        b"data-original" => DataOriginal,
        b"data-lazy-srcset" => DataLazySrcset,
        _ => return None,
    })
}

fn attribute_of(name: &[u8]) -> Option<Attribute> {
    if name.len() > ATTRIBUTE_NAME_BYTES_MAX {
        return None;
    }
    known(name).or_else(|| {
        if !name.iter().any(u8::is_ascii_uppercase) {
            return None;
        }
        let mut lower = [0; ATTRIBUTE_NAME_BYTES_MAX];
        let lower = &mut lower[..name.len()];
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        known(lower)
    })
}

/// A whole tag.
#[derive(Debug)]
pub(crate) struct Tag<'a> {
    /// As written.
    pub(crate) name: &'a [u8],
    /// It ends in `/>`.
    pub(crate) is_closed: bool,
    bytes: &'a [u8],
    scan: &'a TagScan,
}

impl<'a> Tag<'a> {
    /// The value of an attribute as written; empty if it has none.
    pub(crate) fn get(&self, attribute: Attribute) -> Option<&'a [u8]> {
        if self.scan.found & (1 << attribute as u32) == 0 {
            return None;
        }
        let (start, end) = self.scan.values[attribute as usize];
        self.bytes.get(start..end)
    }

    /// From its `<` to its `>`.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn has_attributes(&self) -> bool {
        self.scan.found != 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    TagName,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    Quoted(u8),
    Unquoted,
}

/// How far a tag has been taken apart. Places count from its `<`.
#[derive(Debug)]
pub(crate) struct TagScan {
    phase: Phase,
    at: usize,
    /// Where the name or value begins that is being read.
    start: usize,
    tag_name: (usize, usize),
    /// The attribute whose value is being read.
    attribute: Option<Attribute>,
    is_closed: bool,
    /// A bit for each attribute that was found: the first of a name counts.
    found: u32,
    values: [(usize, usize); ATTRIBUTES],
}

impl TagScan {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::TagName,
            at: 0,
            start: 0,
            tag_name: (0, 0),
            attribute: None,
            is_closed: false,
            found: 0,
            values: [(0, 0); ATTRIBUTES],
        }
    }

    /// Begins anew with a tag whose name begins `name_at` bytes after the `<`.
    pub(crate) fn begin(&mut self, name_at: usize) {
        self.phase = Phase::TagName;
        self.at = name_at;
        self.start = name_at;
        self.attribute = None;
        self.is_closed = false;
        self.found = 0;
    }

    /// Begins behind the name of a tag of which nothing is asked but its end.
    pub(crate) fn begin_after_name(&mut self) {
        self.begin(0);
        self.phase = Phase::BeforeName;
    }

    /// The name, if it has come wholly.
    pub(crate) fn name<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        if self.phase == Phase::TagName { None } else { bytes.get(self.tag_name.0..self.tag_name.1) }
    }

    pub(crate) fn tag<'a>(&'a self, bytes: &'a [u8]) -> Tag<'a> {
        Tag {
            name: bytes.get(self.tag_name.0..self.tag_name.1).unwrap_or_default(),
            is_closed: self.is_closed,
            bytes,
            scan: self,
        }
    }

    /// A tag from its `<` on, as far as it has come; answers the place behind its `>` if that is there.
    #[inline]
    pub(crate) fn begin_and_run(&mut self, bytes: &[u8]) -> Option<usize> {
        self.begin(1);
        self.usual(bytes).or_else(|| {
            self.begin(1);
            self.run(bytes)
        })
    }

    /// The same for tags of the usual shape, with none of the states between: nearly all tags are `<name>` or
    /// `<name key="value">`. `None` if it has another shape, or has not wholly come.
    #[inline]
    fn usual(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = name_end(bytes, 1)?;
        if bytes[at] == b'=' {
            return None;
        }
        self.tag_name = (1, at);
        // For whoever asks for the name.
        self.phase = Phase::BeforeName;
        loop {
            match *bytes.get(at)? {
                b'>' => return Some(at + 1),
                b' ' | b'\n' => at += 1,
                b'/' if *bytes.get(at + 1)? == b'>' => {
                    self.is_closed = true;
                    return Some(at + 2);
                }
                byte if byte.is_ascii_alphabetic() => {
                    let start = at;
                    at = name_end(bytes, at)?;
                    let name = &bytes[start..at];
                    let quote = *bytes.get(at + 1)?;
                    if bytes[at] != b'=' || !matches!(quote, b'"' | b'\'') {
                        return None;
                    }
                    let value = at + 2;
                    at = value + find_near(quote, bytes.get(value..)?)?;
                    if let Some(attribute) = attribute_of(name)
                        && self.found & (1 << attribute as u32) == 0
                    {
                        self.found |= 1 << attribute as u32;
                        self.values[attribute as usize] = (value, at);
                    }
                    at += 1;
                }
                _ => return None,
            }
        }
    }

    /// Goes on with what has come of the tag; answers the place behind its `>` once that is there.
    pub(crate) fn run(&mut self, bytes: &[u8]) -> Option<usize> {
        self.advance::<true>(bytes)
    }

    /// Goes on with a piece that nothing is kept of, to find the end only; places count from the piece.
    pub(crate) fn skip(&mut self, piece: &[u8]) -> Option<usize> {
        self.at = 0;
        self.advance::<false>(piece)
    }

    #[inline]
    fn advance<const KEEP: bool>(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = self.at;
        let end = 'tag: {
            while let Some(&byte) = bytes.get(at) {
                match self.phase {
                    Phase::TagName | Phase::Name => {
                        let is_attribute = self.phase == Phase::Name;
                        let ends = |&byte: &u8| {
                            is_space(byte) || matches!(byte, b'/' | b'>') || (is_attribute && byte == b'=')
                        };
                        let rest = bytes.get(at..).unwrap_or_default();
                        let Some(len) = rest.iter().position(ends) else {
                            at = bytes.len();
                            break;
                        };
                        at += len;
                        if !is_attribute {
                            self.tag_name = (self.start, at);
                            self.phase = Phase::BeforeName;
                        } else {
                            self.attribute = None;
                            if KEEP && let Some(name) = bytes.get(self.start..at) {
                                self.attribute =
                                    attribute_of(name).filter(|name| self.found & (1 << *name as u32) == 0);
                            }
                            self.phase = Phase::AfterName;
                        }
                    }
                    Phase::BeforeName => {
                        at += 1;
                        match byte {
                            b'>' => break 'tag Some(at),
                            b'/' => self.is_closed = true,
                            _ if is_space(byte) => self.is_closed = false,
                            // The first character belongs to the name, even if it is `=`.
                            _ => {
                                self.is_closed = false;
                                self.start = at - 1;
                                self.phase = Phase::Name;
                            }
                        }
                    }
                    Phase::AfterName => match byte {
                        b'=' => {
                            at += 1;
                            self.phase = Phase::BeforeValue;
                        }
                        _ if is_space(byte) => at += 1,
                        _ => {
                            self.keep::<KEEP>(at, at);
                            self.phase = Phase::BeforeName;
                        }
                    },
                    Phase::BeforeValue => match byte {
                        b'"' | b'\'' => {
                            at += 1;
                            self.start = at;
                            self.phase = Phase::Quoted(byte);
                        }
                        b'>' => {
                            self.keep::<KEEP>(at, at);
                            self.phase = Phase::BeforeName;
                        }
                        _ if is_space(byte) => at += 1,
                        _ => {
                            self.start = at;
                            self.phase = Phase::Unquoted;
                        }
                    },
                    Phase::Quoted(quote) => {
                        let Some(len) = memchr(quote, bytes.get(at..).unwrap_or_default()) else {
                            at = bytes.len();
                            break;
                        };
                        at += len;
                        self.keep::<KEEP>(self.start, at);
                        at += 1;
                        self.phase = Phase::BeforeName;
                    }
                    Phase::Unquoted => {
                        let rest = bytes.get(at..).unwrap_or_default();
                        let Some(len) = rest.iter().position(|&byte| is_space(byte) || byte == b'>') else {
                            at = bytes.len();
                            break;
                        };
                        at += len;
                        self.keep::<KEEP>(self.start, at);
                        self.phase = Phase::BeforeName;
                    }
                }
            }
            None
        };
        self.at = at;
        end
    }

    #[inline]
    fn keep<const KEEP: bool>(&mut self, start: usize, end: usize) {
        if KEEP && let Some(attribute) = self.attribute.take() {
            self.found |= 1 << attribute as u32;
            self.values[attribute as usize] = (start, end);
        }
    }
}

/// Where a name ends that goes on from here: at a blank, `/`, `>` or `=`.
#[inline]
pub(crate) fn name_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    static ENDS: [bool; 256] = {
        let mut ends = [false; 256];
        let mut at = 0;
        while at < 256 {
            ends[at] = is_space(at as u8) || matches!(at as u8, b'/' | b'>' | b'=');
            at += 1;
        }
        ends
    };
    while !ENDS[usize::from(*bytes.get(at)?)] {
        at += 1;
    }
    Some(at)
}

/// The first such byte. It is often near, where a call costs more than a look.
#[inline]
pub(crate) fn find_near(byte: u8, bytes: &[u8]) -> Option<usize> {
    const NEAR: usize = 16;
    let near = &bytes[..bytes.len().min(NEAR)];
    match near.iter().position(|other| *other == byte) {
        Some(at) => Some(at),
        None => memchr(byte, &bytes[near.len()..]).map(|at| near.len() + at),
    }
}

pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | 0x0c)
}
