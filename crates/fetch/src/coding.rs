//! Content codings taken off a body while it comes: gzip, deflate, br and zstd, also upon one another.
//!
//! Memory is bounded by the windows (32 KiB, 16 MiB for br, 8 MiB for zstd) and a piece of output for each coding, and
//! each step gives at most one piece: a bomb is noticed, and other tasks get their turn, long before it has gone off.

use crate::limits::{CODINGS_MAX, DECODED_PIECE_BYTES, ZSTD_WINDOW_LOG_MAX};
use crate::outcome::CodingError;
use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use flate2::{Decompress, FlushDecompress, Status};
use std::fmt;
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, Operation};

/// The codings of one body, outermost first.
#[derive(Debug)]
pub(crate) struct Codings {
    stages: Vec<Stage>,
}

struct Stage {
    name: &'static str,
    decoder: Decoder,
    out: Box<[u8]>,
    /// What of `out` was made and not yet taken.
    from: usize,
    to: usize,
    has_input: bool,
}

enum Decoder {
    Gzip(Gzip),
    Deflate(Deflate),
    Brotli(Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>, bool),
    Zstd(ZstdDecoder<'static>, bool),
}

/// Bytes read, bytes written.
type Moved = (usize, usize);
struct Broken;

impl Codings {
    /// `None` if there is nothing to take off. Names are in lower case, in the order in which they were applied.
    pub(crate) fn new(names: &[String]) -> Result<Option<Self>, CodingError> {
        if names.len() > CODINGS_MAX {
            return Err(CodingError::TooMany);
        }
        let stages = names.iter().rev().map(|name| Stage::new(name)).collect::<Result<Vec<_>, _>>()?;
        Ok((!stages.is_empty()).then_some(Self { stages }))
    }

    /// The next piece of content from these bytes, which are used up by and by. `None`: more bytes are needed.
    pub(crate) fn next(&mut self, wire: &mut &[u8]) -> Result<Option<&[u8]>, CodingError> {
        if !fill(&mut self.stages, wire)? {
            return Ok(None);
        }
        Ok(self.stages.last_mut().map(Stage::take))
    }

    /// At the end of a whole body: whether the codings ended with it. A body without a byte is in no coding.
    pub(crate) fn finish(&self) -> Result<(), CodingError> {
        match self.stages.iter().find(|stage| stage.has_input && !stage.decoder.is_at_end()) {
            Some(stage) => Err(CodingError::EndsEarly(stage.name)),
            None => Ok(()),
        }
    }
}

/// Makes the last stage have output; `false` if the wire is used up before.
fn fill(stages: &mut [Stage], wire: &mut &[u8]) -> Result<bool, CodingError> {
    let Some((last, before)) = stages.split_last_mut() else { return Ok(false) };
    loop {
        if last.from < last.to {
            return Ok(true);
        }
        let input = match before.last() {
            Some(stage) => &stage.out[stage.from..stage.to],
            None => *wire,
        };
        let had_input = !input.is_empty();
        last.has_input |= had_input;
        let moved = last.decoder.run(input, &mut last.out);
        let (read, written) = moved.map_err(|Broken| CodingError::Broken(last.name))?;
        match before.last_mut() {
            Some(stage) => stage.from += read,
            None => *wire = wire.get(read..).unwrap_or_default(),
        }
        (last.from, last.to) = (0, written);
        if (read, written) == (0, 0) {
            // A decoder that neither reads nor writes although there is input would do so for ever.
            if had_input {
                return Err(CodingError::Broken(last.name));
            }
            if !fill(before, wire)? {
                return Ok(false);
            }
        }
    }
}

impl Stage {
    fn new(name: &str) -> Result<Self, CodingError> {
        let zstd = || {
            let mut decoder = ZstdDecoder::new()?;
            decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
            Ok(decoder)
        };
        let alloc = StandardAlloc::default;
        let (name, decoder) = match name {
            "gzip" | "x-gzip" => ("gzip", Decoder::Gzip(Gzip::new())),
            "deflate" => ("deflate", Decoder::Deflate(Deflate::default())),
            "br" => ("br", Decoder::Brotli(Box::new(BrotliState::new_strict(alloc(), alloc(), alloc())), false)),
            "zstd" => ("zstd", Decoder::Zstd(zstd().map_err(|_: std::io::Error| CodingError::Broken("zstd"))?, true)),
            other => return Err(CodingError::Unknown(other.chars().take(40).collect())),
        };
        let out = vec![0; DECODED_PIECE_BYTES].into_boxed_slice();
        Ok(Self { name, decoder, out, from: 0, to: 0, has_input: false })
    }

    fn take(&mut self) -> &[u8] {
        let piece = &self.out[self.from..self.to];
        (self.from, self.to) = (0, 0);
        piece
    }
}

impl Decoder {
    /// Does what it can with this input and room. Bytes after the end of the coding are read and ignored.
    fn run(&mut self, input: &[u8], out: &mut [u8]) -> Result<Moved, Broken> {
        match self {
            Self::Gzip(gzip) => gzip.run(input, out),
            Self::Deflate(deflate) => deflate.run(input, out),
            Self::Brotli(_, true) => Ok((input.len(), 0)),
            Self::Brotli(state, at_end) => {
                let (mut left, mut room, mut read, mut written, mut total) = (input.len(), out.len(), 0, 0, 0);
                match BrotliDecompressStream(
                    &mut left,
                    &mut read,
                    input,
                    &mut room,
                    &mut written,
                    out,
                    &mut total,
                    state,
                ) {
                    BrotliResult::ResultFailure => return Err(Broken),
                    BrotliResult::ResultSuccess => *at_end = true,
                    BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
                }
                Ok((read, written))
            }
            Self::Zstd(decoder, at_end) => {
                // Between two frames nothing is pending, and asking would begin a new one.
                if *at_end && input.is_empty() {
                    return Ok((0, 0));
                }
                let status = decoder.run_on_buffers(input, out).map_err(|_| Broken)?;
                *at_end = status.remaining == 0;
                Ok((status.bytes_read, status.bytes_written))
            }
        }
    }

    fn is_at_end(&self) -> bool {
        match self {
            Self::Gzip(gzip) => gzip.place != GzipPlace::Inside,
            Self::Deflate(deflate) => deflate.is_at_end,
            Self::Brotli(_, at_end) | Self::Zstd(_, at_end) => *at_end,
        }
    }
}

/// Members of gzip one after the other; what follows them and is no member is ignored, as browsers do.
struct Gzip {
    inflate: Decompress,
    place: GzipPlace,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GzipPlace {
    Inside,
    BetweenMembers,
    Behind,
}

impl Gzip {
    fn new() -> Self {
        Self { inflate: Decompress::new_gzip(15), place: GzipPlace::Inside }
    }

    fn run(&mut self, input: &[u8], out: &mut [u8]) -> Result<Moved, Broken> {
        match self.place {
            GzipPlace::Behind => return Ok((input.len(), 0)),
            GzipPlace::BetweenMembers => match input.first() {
                None => return Ok((0, 0)),
                Some(0x1f) => *self = Self::new(),
                Some(_) => {
                    self.place = GzipPlace::Behind;
                    return Ok((input.len(), 0));
                }
            },
            GzipPlace::Inside => {}
        }
        let (moved, is_at_end) = inflate(&mut self.inflate, input, out)?;
        if is_at_end {
            self.place = GzipPlace::BetweenMembers;
        }
        Ok(moved)
    }
}

/// `deflate` means a zlib stream, but some servers send the bare stream in it. The first two bytes tell.
#[derive(Default)]
struct Deflate {
    first: Option<u8>,
    inflate: Option<Decompress>,
    is_at_end: bool,
}

impl Deflate {
    fn run(&mut self, input: &[u8], out: &mut [u8]) -> Result<Moved, Broken> {
        if self.is_at_end {
            return Ok((input.len(), 0));
        }
        if let Some(decompress) = &mut self.inflate {
            let (moved, is_at_end) = inflate(decompress, input, out)?;
            self.is_at_end = is_at_end;
            return Ok(moved);
        }
        let (first, second) = match (self.first, input) {
            (None, [first, second, ..]) => (*first, *second),
            (Some(first), [second, ..]) => (first, *second),
            (None, [first]) => {
                self.first = Some(*first);
                return Ok((1, 0));
            }
            (_, []) => return Ok((0, 0)),
        };
        let is_zlib = first & 0x0f == 8 && u16::from_be_bytes([first, second]) % 31 == 0;
        let mut decompress = Decompress::new(is_zlib);
        if let Some(first) = self.first {
            // One byte makes no output.
            inflate(&mut decompress, &[first], out)?;
        }
        let (moved, is_at_end) = inflate(&mut decompress, input, out)?;
        (self.inflate, self.is_at_end) = (Some(decompress), is_at_end);
        Ok(moved)
    }
}

fn inflate(decompress: &mut Decompress, input: &[u8], out: &mut [u8]) -> Result<(Moved, bool), Broken> {
    let (read_before, written_before) = (decompress.total_in(), decompress.total_out());
    let status = decompress.decompress(input, out, FlushDecompress::None).map_err(|_| Broken)?;
    let moved = (decompress.total_in() - read_before, decompress.total_out() - written_before);
    Ok(((moved.0 as usize, moved.1 as usize), status == Status::StreamEnd))
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn pack(name: &str, text: &[u8]) -> Vec<u8> {
        let level = flate2::Compression::default();
        match name {
            "gzip" => {
                let mut gzip = flate2::write::GzEncoder::new(Vec::new(), level);
                gzip.write_all(text).unwrap();
                gzip.finish().unwrap()
            }
            "deflate" => {
                let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), level);
                zlib.write_all(text).unwrap();
                zlib.finish().unwrap()
            }
            "bare" => {
                let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), level);
                bare.write_all(text).unwrap();
                bare.finish().unwrap()
            }
            "br" => {
                let mut packed = Vec::new();
                brotli::CompressorWriter::new(&mut packed, 4096, 5, 22).write_all(text).unwrap();
                packed
            }
            _ => zstd::encode_all(text, 3).unwrap(),
        }
    }

    fn unpack(names: &[&str], wire: &[u8], piece_len: usize) -> Result<Vec<u8>, CodingError> {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let mut codings = Codings::new(&names)?.unwrap();
        let mut content = Vec::new();
        for mut piece in wire.chunks(piece_len) {
            while let Some(decoded) = codings.next(&mut piece)? {
                content.extend_from_slice(decoded);
            }
        }
        codings.finish()?;
        Ok(content)
    }

    fn text() -> Vec<u8> {
        (0..60_000u32).flat_map(|nth| (nth.wrapping_mul(2_654_435_761) >> 27).to_le_bytes()).collect()
    }

    #[test]
    fn each_coding_comes_off_in_pieces_of_any_size() {
        let text = text();
        for (name, packed_as) in [
            ("gzip", "gzip"),
            ("x-gzip", "gzip"),
            ("deflate", "deflate"),
            ("deflate", "bare"),
            ("br", "br"),
            ("zstd", "zstd"),
        ] {
            let packed = pack(packed_as, &text);
            for piece_len in [1, 2, 7, 1000, packed.len()] {
                assert!(unpack(&[name], &packed, piece_len).unwrap() == text, "{packed_as} by {piece_len}");
            }
            assert_eq!(unpack(&[name], &pack(packed_as, b""), 3), Ok(Vec::new()), "{packed_as}");
            assert_eq!(unpack(&[name], b"", 3), Ok(Vec::new()), "{packed_as}");
        }
    }

    #[test]
    fn codings_upon_one_another_come_off_in_turn() {
        let text = text();
        let packed = pack("br", &pack("gzip", &text));
        for piece_len in [1, 100, packed.len()] {
            assert!(unpack(&["gzip", "br"], &packed, piece_len).unwrap() == text);
        }
        assert_eq!(unpack(&["gzip"; 4], b"", 1), Err(CodingError::TooMany));
        assert_eq!(unpack(&["gzip", "compress"], b"", 1), Err(CodingError::Unknown("compress".to_owned())));
    }

    #[test]
    fn several_members_are_one_text_and_what_follows_is_ignored() {
        for name in ["gzip", "zstd"] {
            let packed = [pack(name, b"one "), pack(name, b"two")].concat();
            for piece_len in [1, 5, packed.len()] {
                assert_eq!(unpack(&[name], &packed, piece_len).unwrap(), b"one two", "{name}");
            }
        }
        for name in ["gzip", "deflate", "br"] {
            let packed = [pack(name, b"text"), b"\0\0\0 padding".to_vec()].concat();
            for piece_len in [1, packed.len()] {
                assert_eq!(unpack(&[name], &packed, piece_len).unwrap(), b"text", "{name}");
            }
        }
    }

    #[test]
    fn what_is_broken_or_cut_off_is_said_to_be() {
        let text = text();
        for name in ["gzip", "deflate", "br", "zstd"] {
            let packed = pack(name, &text);
            assert!(
                matches!(unpack(&[name], &packed[..packed.len() / 2], 512), Err(CodingError::EndsEarly(_))),
                "{name}"
            );
            assert_eq!(unpack(&[name], b"\xff<html>no coding at all</html>", 5), Err(CodingError::Broken(name)));
            for at in (0..packed.len()).step_by(97) {
                let mut damaged = packed.clone();
                damaged[at] ^= 0x55;
                // Whatever comes of it: no panic, no endless loop.
                let _ = unpack(&[name], &damaged, 700);
            }
        }
    }

    #[test]
    fn a_bomb_goes_off_a_piece_at_a_time() {
        for name in ["gzip", "deflate", "br", "zstd"] {
            let packed = pack(name, &vec![0; 16 << 20]);
            assert!(packed.len() < 64 << 10, "{name}");
            let mut codings = Codings::new(&[name.to_owned()]).unwrap().unwrap();
            let (mut wire, mut pieces) = (&packed[..], 0);
            while codings.next(&mut wire).unwrap().is_some_and(|piece| piece.len() <= DECODED_PIECE_BYTES) {
                pieces += 1;
            }
            assert!(pieces >= (16 << 20) / DECODED_PIECE_BYTES, "{name}");
        }
    }

    #[test]
    fn a_frame_that_asks_for_a_huge_window_is_refused() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.set_parameter(zstd::zstd_safe::CParameter::WindowLog(27)).unwrap();
        encoder.write_all(&vec![7; 1000]).unwrap();
        assert_eq!(unpack(&["zstd"], &encoder.finish().unwrap(), 100), Err(CodingError::Broken("zstd")));
    }
}
