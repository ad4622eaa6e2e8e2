//! Where the data lie in a chunked body, as it comes in pieces of any size. Nothing is copied.
//!
//! Takes the spellings that `page::dechunk` takes: any line ends, blanks after the size, extensions, trailers. Anything
//! else is nonsense, found at its first byte, and a line that never ends is nonsense too.

use crate::limits::{CHUNK_DIGITS_MAX, CHUNK_EXTENSION_BYTES_MAX, CHUNK_TRAILER_BYTES_MAX};
use std::ops::Range;

/// A place between two bytes of a chunked body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunked {
    place: Place,
    /// Of the chunk whose size line is read.
    size: u64,
    /// Bytes of the line or trailers so far.
    seen: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Digits,
    Extension,
    /// After a carriage return that must be the end of the size line.
    SizeLineFeed,
    Data {
        left: u64,
    },
    DataEnd,
    DataLineFeed,
    TrailerStart,
    Trailer,
    TrailerLineFeed,
    Done,
}

/// These are no chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nonsense;

impl Chunked {
    pub(crate) fn new() -> Self {
        Self { place: Place::Digits, size: 0, seen: 0 }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.place == Place::Done
    }

    /// All data were there: only trailers, or the line that ends them, may be missing.
    pub(crate) fn has_all_data(&self) -> bool {
        use Place::{Done, Trailer, TrailerLineFeed, TrailerStart};
        matches!(self.place, Done | Trailer | TrailerLineFeed | TrailerStart)
    }

    /// Goes on from `at` to behind the next data in `piece`, and says where they are. `None` if there are no more: the
    /// piece is used up, or the body is done and `at` is its end.
    pub(crate) fn next(&mut self, piece: &[u8], at: &mut usize) -> Result<Option<Range<usize>>, Nonsense> {
        while let Some(rest) = piece.get(*at..).filter(|rest| !rest.is_empty()) {
            if let Place::Data { left } = self.place {
                let len = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                let left = left - len as u64;
                self.place = if left == 0 { Place::DataEnd } else { Place::Data { left } };
                *at += len;
                return Ok(Some(*at - len..*at));
            }
            if self.place == Place::Done {
                break;
            }
            self.place = self.after(rest[0])?;
            *at += 1;
        }
        Ok(None)
    }

    /// The place behind a byte that is not data.
    fn after(&mut self, byte: u8) -> Result<Place, Nonsense> {
        match (self.place, byte) {
            (Place::Digits, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16).ok_or(Nonsense)?;
                self.count(CHUNK_DIGITS_MAX)?;
                self.size =
                    self.size.checked_mul(16).and_then(|size| size.checked_add(digit.into())).ok_or(Nonsense)?;
                Ok(Place::Digits)
            }
            (Place::Digits, _) if self.seen == 0 => Err(Nonsense),
            (Place::Digits, b' ' | b'\t' | b';') => {
                self.seen = 0;
                Ok(Place::Extension)
            }
            (Place::Digits, b'\r') => Ok(Place::SizeLineFeed),
            (Place::Digits | Place::Extension | Place::SizeLineFeed, b'\n') => {
                self.seen = 0;
                let left = std::mem::take(&mut self.size);
                Ok(if left == 0 { Place::TrailerStart } else { Place::Data { left } })
            }
            (Place::Extension, _) => {
                self.count(CHUNK_EXTENSION_BYTES_MAX)?;
                Ok(Place::Extension)
            }
            (Place::DataEnd, b'\r') => Ok(Place::DataLineFeed),
            (Place::DataEnd | Place::DataLineFeed, b'\n') => Ok(Place::Digits),
            (Place::TrailerStart | Place::TrailerLineFeed, b'\n') => Ok(Place::Done),
            (Place::TrailerStart, b'\r') => Ok(Place::TrailerLineFeed),
            (Place::TrailerStart | Place::Trailer | Place::TrailerLineFeed, _) => {
                self.count(CHUNK_TRAILER_BYTES_MAX)?;
                Ok(if byte == b'\n' { Place::TrailerStart } else { Place::Trailer })
            }
            _ => Err(Nonsense),
        }
    }

    fn count(&mut self, max: u32) -> Result<(), Nonsense> {
        self.seen += 1;
        if self.seen > max { Err(Nonsense) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use herodotus_page::dechunk;
    use proptest::prelude::*;

    /// The data, and the length of the body if it is whole.
    fn read(body: &[u8], piece_len: usize) -> Result<(Vec<u8>, Option<usize>), Nonsense> {
        let (mut chunked, mut data, mut len) = (Chunked::new(), Vec::new(), 0);
        for piece in body.chunks(piece_len) {
            let mut at = 0;
            while let Some(range) = chunked.next(piece, &mut at)? {
                data.extend_from_slice(&piece[range]);
            }
            len += at;
        }
        Ok((data, chunked.is_done().then_some(len)))
    }

    #[test]
    fn every_spelling_is_read_in_pieces_of_any_size() {
        for (body, data, surplus) in [
            (&b"5\r\nhello\r\n0\r\n\r\n"[..], &b"hello"[..], 0),
            (b"5\nhello\n0\n\n", b"hello", 0),
            (b"0005  \r\nhello\r\n000\r\n\r\n", b"hello", 0),
            (b"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", b"01234567890123456789", 0),
            (b"3;ext=1\r\nabc\r\n2;ext=\"2;\"\r\nde\r\n0;last\r\nTrailer: x\r\n\r\nleft over", b"abcde", 9),
            (b"0\r\n\r\nHTTP/1.1", b"", 8),
            (b"1\r\na\n1\nb\r\n0\n\r\n", b"ab", 0),
        ] {
            for piece_len in 1..=body.len() {
                let whole = Some(body.len() - surplus);
                assert_eq!(read(body, piece_len), Ok((data.to_vec(), whole)), "{:?}", String::from_utf8_lossy(body));
            }
        }
    }

    #[test]
    fn what_is_cut_off_is_not_done_and_what_is_no_chunk_is_nonsense() {
        for body in [&b""[..], b"5", b"5\r\nhel", b"5\r\nhello", b"5\r\nhello\r\n", b"0\r\n", b"0\r\nA: b\r\n"] {
            assert!(matches!(read(body, 3), Ok((_, None))), "{:?}", String::from_utf8_lossy(body));
        }
        let (long_line, long_trailer) =
            (format!("5;{}", "a".repeat(5000)), format!("0\r\n{}", "a: b\r\n".repeat(20_000)));
        for body in [
            &b"<html>"[..],
            b"\r\n",
            b"-5\r\nhello",
            b"0x5\r\nhello",
            b"5\rhello",
            b"5\r\nhelloXX0\r\n\r\n",
            b"fffffffffffffffff\r\n",
            b"000000000000000000000000000000001\r\n",
            long_line.as_bytes(),
            long_trailer.as_bytes(),
        ] {
            assert_eq!(read(body, 1024), Err(Nonsense), "{:?}", String::from_utf8_lossy(&body[..body.len().min(40)]));
        }
    }

    proptest! {
        #[test]
        fn what_the_archive_can_dechunk_is_read_alike(
            sizes in prop::collection::vec(1usize..50, 0..6), piece_len in 1usize..40, noise: Vec<u8>, at in 0usize..60,
        ) {
            let mut body: Vec<u8> = Vec::new();
            for size in sizes {
                body.extend_from_slice(format!("{size:x}\r\n{}\r\n", "z".repeat(size)).as_bytes());
            }
            body.extend_from_slice(b"0\r\n\r\n");
            body.splice(at.min(body.len())..at.min(body.len()), noise.into_iter().take(3));
            if let (Ok((data, Some(len))), Some((entity, _))) = (read(&body, piece_len), dechunk(&body)) {
                prop_assert_eq!(data, entity);
                prop_assert!(len <= body.len());
            }
            prop_assert_eq!(read(&body, piece_len), read(&body, body.len()));
        }
    }
}
