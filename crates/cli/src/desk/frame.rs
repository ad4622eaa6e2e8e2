//! What goes over the node's socket: frames of a kind, a length and that many bytes.
//!
//! The process begins with a request; the node answers with output and complaints as they come, may ask for input, and ends
//! with an exit code. Kinds and lengths are for ever; what a request holds goes by the version at its beginning.

use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// Of a request. The program may have been replaced while the node ran.
pub(super) const VERSION: u16 = 1;

/// Bytes of a request: the operating system lets a command have arguments of about 2 MiB.
const REQUEST_BYTES_MAX: u32 = 4 << 20;
/// Bytes of any other frame: what is on its way at once.
pub(super) const CHUNK_BYTES_MAX: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// From the process: what it was asked to do.
    Request = 1,
    /// From the process: a person wants it to stop.
    Stop = 2,
    /// From the process: what was asked for with `Want`. Nothing: there is no more.
    Input = 3,
    /// From the node.
    Out = 4,
    Err = 5,
    Want = 6,
    /// From the node, at the end: one byte.
    Exit = 7,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) bytes: Vec<u8>,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        let all = [Self::Request, Self::Stop, Self::Input, Self::Out, Self::Err, Self::Want, Self::Exit];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Writes one frame. What is longer than a frame may be is the caller's to divide.
pub(super) fn write(stream: &mut impl Write, kind: Kind, bytes: &[u8]) -> io::Result<()> {
    let len = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut frame = Vec::with_capacity(5 + bytes.len());
    frame.push(kind as u8);
    frame.extend(len.to_le_bytes());
    frame.extend(bytes);
    stream.write_all(&frame)
}

/// Reads one frame. `None`: the other side has said all it had to say.
pub(super) fn read(stream: &mut impl Read) -> io::Result<Option<Frame>> {
    let mut kind = [0; 1];
    if stream.read(&mut kind)? == 0 {
        return Ok(None);
    }
    let mut len = [0; 4];
    stream.read_exact(&mut len)?;
    let (kind, len) = (Kind::of(kind[0]), u32::from_le_bytes(len));
    let kind = kind.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a frame of no known kind"))?;
    let len_max = if kind == Kind::Request { REQUEST_BYTES_MAX } else { CHUNK_BYTES_MAX as u32 };
    if len > len_max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame longer than allowed"));
    }
    // Memory is taken as bytes come, not as they are announced.
    let mut bytes = Vec::new();
    stream.take(u64::from(len)).read_to_end(&mut bytes)?;
    if bytes.len() < len as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(Frame { kind, bytes }))
}

/// What a process asks of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    /// As they were given, without the program's name.
    pub(super) arguments: Vec<Vec<u8>>,
    /// Where the process is: what the paths among the arguments are relative to.
    pub(super) directory: Vec<u8>,
    /// The archive as the person named it, to be named so in answers.
    pub(super) data: Option<Vec<u8>>,
    /// What the process's environment says, and the node's may say otherwise.
    pub(super) contact: Option<String>,
    pub(super) terminal: Terminal,
}

/// The terminal of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terminal {
    /// The output may be coloured.
    pub(crate) colour: bool,
    /// Columns, if complaints go to a terminal.
    pub(crate) width: Option<u16>,
}

/// Why a request cannot be answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    Version(u16),
    Garbage,
}

impl Request {
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut out = VERSION.to_le_bytes().to_vec();
        out.extend(postcard::to_stdvec(self).map_err(io::Error::other)?);
        if out.len() > REQUEST_BYTES_MAX as usize {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the arguments are too long for the node"));
        }
        Ok(out)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let (version, rest) = bytes.split_first_chunk::<2>().ok_or(Unreadable::Garbage)?;
        match u16::from_le_bytes(*version) {
            VERSION => postcard::from_bytes(rest).map_err(|_| Unreadable::Garbage),
            other => Err(Unreadable::Version(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let mut wire = Vec::new();
        write(&mut wire, Kind::Out, b"hello").unwrap();
        write(&mut wire, Kind::Exit, &[3]).unwrap();
        let mut wire = wire.as_slice();
        assert_eq!(read(&mut wire).unwrap(), Some(Frame { kind: Kind::Out, bytes: b"hello".to_vec() }));
        assert_eq!(read(&mut wire).unwrap(), Some(Frame { kind: Kind::Exit, bytes: vec![3] }));
        assert_eq!(read(&mut wire).unwrap(), None);
    }

    #[test]
    fn a_frame_of_no_kind_or_too_long_or_cut_short_is_an_error() {
        let too_long = [&[Kind::Input as u8][..], &(CHUNK_BYTES_MAX as u32 + 1).to_le_bytes()].concat();
        let request_too_long = [&[Kind::Request as u8][..], &(REQUEST_BYTES_MAX + 1).to_le_bytes()].concat();
        for wire in [&b"GET / HTTP/1.1\r\n"[..], &[0; 9], &too_long, &request_too_long] {
            assert_eq!(read(&mut &*wire).unwrap_err().kind(), io::ErrorKind::InvalidData, "{wire:?}");
        }
        for wire in [&[4, 9, 0, 0, 0, 1][..], &[4, 9]] {
            assert_eq!(read(&mut &*wire).unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "{wire:?}");
        }
    }

    #[test]
    fn a_request_says_its_version_before_anything_else() {
        let terminal = Terminal { colour: true, width: Some(80) };
        let arguments = vec![b"list".to_vec(), vec![0xff]];
        let request = Request { arguments, directory: b"/tmp".to_vec(), terminal, ..Request::default() };
        let mut bytes = request.encode().unwrap();
        assert_eq!(Request::decode(&bytes), Ok(request));
        assert_eq!(Request::decode(&bytes[..4]), Err(Unreadable::Garbage));
        bytes[0] = 9;
        assert_eq!(Request::decode(&bytes), Err(Unreadable::Version(9)));
        assert_eq!(Request::decode(&[]), Err(Unreadable::Garbage));
    }
}
