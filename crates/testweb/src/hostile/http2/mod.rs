//! HTTP/2 (RFC 9113) by hand: as much as it takes to be asked, and to answer wrongly.
//!
//! Requests are not decoded. All we need to know is which of three paths is asked for, and those can be recognised by
//! their bytes: a string in HPACK (RFC 7541) begins at a byte, plain or in its Huffman code. The visitor's windows are
//! kept count of, so that an endless body is endless and not a breach of flow control, unless the case is that.

pub(super) mod cases;

use super::plan::{AFTER, Frames};
use super::talk::Talk;
use crate::limits::HTTP2_FRAME_BYTES_MAX;
use std::io;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 0x1;
const ACK: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

const SETTING_HEADER_TABLE_SIZE: u16 = 1;
const SETTING_STREAMS_MAX: u16 = 3;
const SETTING_INITIAL_WINDOW: u16 = 4;
const SETTING_FRAME_BYTES_MAX: u16 = 5;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What both sides may send before they are told otherwise.
const WINDOW: i64 = 65_535;

/// `/robots.txt` and `/after.html` in the Huffman code of HPACK.
const ROBOTS_HUFFMAN: &[u8] = &[0x62, 0xc3, 0xc6, 0x74, 0xa1, 0x74, 0xf9, 0x4f];
const AFTER_HUFFMAN: &[u8] = &[0x60, 0x72, 0xa4, 0xb6, 0x2f, 0x3a, 0x69, 0xa3];

pub(super) struct Connection<'a> {
    talk: Talk<'a>,
    /// What the visitor still takes in all, and on the stream that is being answered.
    window: i64,
    stream_window: i64,
    initial_window: i64,
}

/// A request, to be answered.
pub(super) struct Stream<'c, 'a> {
    connection: &'c mut Connection<'a>,
    id: u32,
}

struct Frame {
    kind: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl<'a> Connection<'a> {
    pub(super) fn new(talk: Talk<'a>) -> Self {
        Self { talk, window: WINDOW, stream_window: WINDOW, initial_window: WINDOW }
    }

    /// Plays a case for as long as the visitor stays. `asked` is called for every request.
    pub(super) fn serve(mut self, frames: Frames, mut asked: impl FnMut()) -> io::Result<()> {
        let mut preface = [0; PREFACE.len()];
        self.talk.read_exact(&mut preface)?;
        if preface != PREFACE {
            return Ok(());
        }
        let script = match frames {
            Frames::AtOnce(script) => {
                asked();
                script(&mut Stream { connection: &mut self, id: 1 })?;
                self.talk.close();
                return Ok(());
            }
            Frames::OnRequest(script) => script,
        };
        // Without a table of what was said before, every path is spelled out.
        self.settings(&[(SETTING_HEADER_TABLE_SIZE, 0)])?;
        loop {
            let frame = self.read_frame()?;
            if frame.kind == HEADERS {
                asked();
                self.stream_window = self.initial_window;
                let names = |plain: &[u8], coded: &[u8]| {
                    [plain, coded].iter().any(|name| frame.payload.windows(name.len()).any(|bytes| bytes == *name))
                };
                let mut stream = Stream { connection: &mut self, id: frame.stream };
                if names(b"/robots.txt", ROBOTS_HUFFMAN) {
                    stream.head("404", &[("content-length", "0")], true)?;
                } else if names(b"/after.html", AFTER_HUFFMAN) {
                    stream.page(AFTER)?;
                } else {
                    match script(&mut stream) {
                        // The visitor has had enough of this answer, but not of us.
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        result => result?,
                    }
                }
            }
        }
    }

    /// The next frame. Those that are about the connection have been seen to.
    fn read_frame(&mut self) -> io::Result<Frame> {
        let mut head = [0; 9];
        self.talk.read_exact(&mut head)?;
        let [a, b, c, kind, flags, s0, s1, s2, s3] = head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        if length > HTTP2_FRAME_BYTES_MAX {
            return Err(io::Error::other("the frame is too long"));
        }
        let mut payload = vec![0; length];
        self.talk.read_exact(&mut payload)?;
        let stream = u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]);
        match kind {
            SETTINGS if flags & ACK == 0 => {
                for setting in payload.chunks_exact(6) {
                    if let [0, 4, a, b, c, d] = *setting {
                        let window = i64::from(u32::from_be_bytes([a, b, c, d]));
                        self.stream_window += window - self.initial_window;
                        self.initial_window = window;
                    }
                }
                self.frame(SETTINGS, ACK, 0, &[])?;
            }
            PING if flags & ACK == 0 => self.frame(PING, ACK, 0, &payload)?,
            WINDOW_UPDATE => {
                let more = payload.first_chunk().map_or(0, |bytes| i64::from(u32::from_be_bytes(*bytes)));
                *if stream == 0 { &mut self.window } else { &mut self.stream_window } += more;
            }
            GOAWAY => return Err(io::Error::other("the visitor leaves")),
            _ => {}
        }
        Ok(Frame { kind, stream, payload })
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        self.talk.say(&frame(kind, flags, stream, payload))
    }

    fn settings(&mut self, settings: &[(u16, u32)]) -> io::Result<()> {
        let payload =
            settings.iter().flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat());
        let payload: Vec<u8> = payload.collect();
        self.frame(SETTINGS, 0, 0, &payload)
    }
}

impl Stream<'_, '_> {
    /// Says bytes as they are, frames or not.
    fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.connection.talk.say(bytes)
    }

    fn flood(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.connection.talk.flood(bytes)
    }

    /// A frame on this stream.
    fn frame(&mut self, kind: u8, flags: u8, payload: &[u8]) -> io::Result<()> {
        self.connection.frame(kind, flags, self.id, payload)
    }

    fn head(&mut self, status: &str, headers: &[(&str, &str)], last: bool) -> io::Result<()> {
        let flags = END_HEADERS | if last { END_STREAM } else { 0 };
        self.frame(HEADERS, flags, &block(status, headers))
    }

    /// The head of a page.
    fn ok(&mut self) -> io::Result<()> {
        self.head("200", &[("content-type", "text/html; charset=utf-8")], false)
    }

    /// An honest page.
    fn page(&mut self, body: &str) -> io::Result<()> {
        let length = body.len().to_string();
        self.head("200", &[("content-type", "text/html; charset=utf-8"), ("content-length", &length)], false)?;
        self.data(body.as_bytes(), true)
    }

    /// Some of a body, as fast as the visitor lets us.
    fn data(&mut self, bytes: &[u8], last: bool) -> io::Result<()> {
        let mut pieces = bytes.chunks(HTTP2_FRAME_BYTES_MAX).peekable();
        while let Some(piece) = pieces.next() {
            let size = piece.len() as i64;
            while self.connection.window.min(self.connection.stream_window) < size {
                self.wait()?;
            }
            self.connection.window -= size;
            self.connection.stream_window -= size;
            let flags = if last && pieces.peek().is_none() { END_STREAM } else { 0 };
            self.frame(DATA, flags, piece)?;
        }
        Ok(())
    }

    /// Says nothing more on this stream until the visitor has enough of it.
    fn hold(&mut self) -> io::Result<()> {
        loop {
            self.wait()?;
        }
    }

    fn wait(&mut self) -> io::Result<()> {
        let frame = self.connection.read_frame()?;
        if frame.kind == RST_STREAM && frame.stream == self.id {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the visitor resets the stream"));
        }
        Ok(())
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes().get(1..).unwrap_or_default().to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A header block of literals, plain and not to be remembered.
fn block(status: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    std::iter::once(&(":status", status)).chain(headers).flat_map(|(name, value)| literal(0x00, name, value)).collect()
}

/// One header of a block; the first byte says whether it is to be remembered.
fn literal(first: u8, name: &str, value: &str) -> Vec<u8> {
    [&[first], number(name.len()).as_slice(), name.as_bytes(), &number(value.len()), value.as_bytes()].concat()
}

/// A number in HPACK with a prefix of seven bits (RFC 7541, 5.1).
fn number(mut number: usize) -> Vec<u8> {
    if number < 127 {
        return vec![number as u8];
    }
    let mut bytes = vec![127];
    number -= 127;
    while number >= 128 {
        bytes.push((number % 128) as u8 | 128);
        number /= 128;
    }
    bytes.push(number as u8);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_shows() {
        // 1337 with a prefix of five bits is its example (RFC 7541, C.1.2); with seven the rest is 1210.
        assert_eq!((number(10), number(126), number(127)), (vec![10], vec![126], vec![127, 0]));
        assert_eq!(number(1337), [127, 0b1011_1010, 0b0000_1001]);
    }

    #[test]
    fn a_frame_is_its_length_kind_flags_and_stream() {
        assert_eq!(frame(DATA, END_STREAM, 3, b"ab"), [0, 0, 2, 0, 1, 0, 0, 0, 3, b'a', b'b']);
        assert_eq!(block("200", &[]), b"\x00\x07:status\x03200");
    }
}
