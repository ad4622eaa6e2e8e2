//! Chunked transfer coding taken off and put back, byte for byte: the archive keeps the entity once, shared with every
//! copy sent unchunked, and the layout beside it to answer with the very bytes that came.
//!
//! A layout keeps the sizes and how each size line was spelled; servers use one spelling and mostly one size, so a few
//! bytes describe a long body. What cannot be described exactly is refused: a cut-off body, hex digits in both cases,
//! or more framing than [`is_proportionate`] allows. A layout is data from a file: reading it is strict, using it
//! bounded.

use crate::varint;
use memchr::memchr;

/// Different spellings of size lines in one body. Servers have one or two; each is compared with every line.
const SPELLINGS_MAX: usize = 64;
/// Bytes of one size line after its digits, so extensions.
const EXTENSION_BYTES_MAX: usize = 4096;
/// Bytes after the last chunk: trailers and what else a server sent.
const TAIL_BYTES_MAX: usize = 64 * 1024;
const VERSION: u8 = 1;

/// How an entity was cut into chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkLayout {
    spellings: Vec<Spelling>,
    runs: Vec<Run>,
    /// The size line of the last chunk and all that follows it.
    tail: Vec<u8>,
}

/// How a size line is written, and how its data ends.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spelling {
    /// Zeros fill up to this many digits.
    digits_min: usize,
    upper_case: bool,
    /// What follows the digits, up to and with the line feed.
    line_end: Vec<u8>,
    data_ends_crlf: bool,
}

/// Chunks in a row that look the same.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    spelling: usize,
    size: usize,
    count: usize,
}

/// The entity within a chunked body, and how to chunk it again; `None` if [`rechunk`] could not give back every byte.
pub fn dechunk(body: &[u8]) -> Option<(Vec<u8>, ChunkLayout)> {
    let mut entity = Vec::with_capacity(body.len());
    let mut layout = ChunkLayout { spellings: Vec::new(), runs: Vec::new(), tail: Vec::new() };
    let mut rest = body;
    let mut last_spelling = 0;
    loop {
        let SizeLine { size, digits, line_end, after } = SizeLine::split(rest)?;
        if size == 0 {
            break;
        }
        let (data, after_data) = after.split_at_checked(size)?;
        let data_ends_crlf = after_data.starts_with(b"\r\n");
        let data_end_len = if data_ends_crlf { 2 } else { 1 };
        if !data_ends_crlf && !after_data.starts_with(b"\n") {
            return None;
        }
        entity.extend_from_slice(data);
        rest = &after_data[data_end_len..];
        last_spelling = layout.spelling_of(digits, line_end, data_ends_crlf, last_spelling)?;
        match layout.runs.last_mut() {
            Some(run) if run.size == size && run.spelling == last_spelling => run.count += 1,
            _ => layout.runs.push(Run { spelling: last_spelling, size, count: 1 }),
        }
    }
    if rest.len() > TAIL_BYTES_MAX || !is_proportionate(entity.len(), body.len()) {
        return None;
    }
    layout.tail = rest.to_vec();
    Some((entity, layout))
}

/// The chunked body again; `None` if the layout is not of an entity of this length.
pub fn rechunk(entity: &[u8], layout: &ChunkLayout) -> Option<Vec<u8>> {
    // The whole length is known before a byte is written, so a forged layout cannot fill the memory.
    let mut body_len = layout.tail.len();
    let mut entity_len = 0usize;
    for run in &layout.runs {
        let spelling = layout.spellings.get(run.spelling)?;
        let chunk_len = run.size.checked_add(spelling.framing_len(run.size))?;
        body_len = body_len.checked_add(chunk_len.checked_mul(run.count)?)?;
        entity_len = entity_len.checked_add(run.size.checked_mul(run.count)?)?;
    }
    if entity_len != entity.len() || !is_proportionate(entity_len, body_len) {
        return None;
    }
    let mut body = Vec::with_capacity(body_len);
    let mut rest = entity;
    for run in &layout.runs {
        let spelling = layout.spellings.get(run.spelling)?;
        for _ in 0..run.count {
            spelling.push_size_line(&mut body, run.size);
            body.extend_from_slice(varint::take_slice(&mut rest, run.size)?);
            body.extend_from_slice(if spelling.data_ends_crlf { b"\r\n" } else { b"\n" });
        }
    }
    body.extend_from_slice(&layout.tail);
    Some(body)
}

/// Chunks of one byte cost six times their data; more than eight times is an attack on whoever puts it back.
fn is_proportionate(entity_len: usize, body_len: usize) -> bool {
    body_len <= entity_len.saturating_mul(8).saturating_add(2 * TAIL_BYTES_MAX)
}

impl ChunkLayout {
    /// A compact form: version, spellings, runs, tail; numbers in LEB128.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        varint::push(&mut bytes, self.spellings.len() as u64);
        for spelling in &self.spellings {
            bytes.push(u8::from(spelling.upper_case) | u8::from(spelling.data_ends_crlf) << 1);
            varint::push(&mut bytes, spelling.digits_min as u64);
            varint::push(&mut bytes, spelling.line_end.len() as u64);
            bytes.extend_from_slice(&spelling.line_end);
        }
        varint::push(&mut bytes, self.runs.len() as u64);
        for run in &self.runs {
            varint::push(&mut bytes, run.spelling as u64);
            varint::push(&mut bytes, run.size as u64);
            varint::push(&mut bytes, run.count as u64);
        }
        bytes.extend_from_slice(&self.tail);
        bytes
    }

    /// `None` unless these are the bytes of a layout that [`dechunk`] could have made.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        if varint::take_slice(bytes, 1)? != [VERSION] {
            return None;
        }
        let spellings_len = varint::take_usize(bytes).filter(|&len| len <= SPELLINGS_MAX)?;
        let mut spellings = Vec::with_capacity(spellings_len);
        for _ in 0..spellings_len {
            let flags = varint::take_slice(bytes, 1)?[0];
            let digits_min = varint::take_usize(bytes).filter(|&len| (1..=DIGITS_MAX).contains(&len))?;
            let line_end_len = varint::take_usize(bytes).filter(|&len| len <= EXTENSION_BYTES_MAX)?;
            let line_end = varint::take_slice(bytes, line_end_len)?.to_vec();
            if flags > 3 || !may_follow_size(&line_end) || memchr(b'\n', &line_end) != Some(line_end.len() - 1) {
                return None;
            }
            let (upper_case, data_ends_crlf) = (flags & 1 != 0, flags & 2 != 0);
            spellings.push(Spelling { digits_min, upper_case, line_end, data_ends_crlf });
        }
        // A run takes three bytes at least, so a forged count cannot reserve more than the bytes are worth.
        let runs_len = varint::take_usize(bytes).filter(|&len| len <= bytes.len() / 3)?;
        let mut runs = Vec::with_capacity(runs_len);
        for _ in 0..runs_len {
            let spelling = varint::take_usize(bytes).filter(|&nth| nth < spellings.len())?;
            let size = varint::take_usize(bytes).filter(|&size| size > 0)?;
            let count = varint::take_usize(bytes).filter(|&count| count > 0)?;
            runs.push(Run { spelling, size, count });
        }
        let is_tail = SizeLine::split(bytes)?.size == 0 && bytes.len() <= TAIL_BYTES_MAX;
        is_tail.then(|| Self { spellings, runs, tail: bytes.to_vec() })
    }

    /// The place of the spelling that writes this very line, the last one used if it does.
    fn spelling_of(&mut self, digits: &[u8], line_end: &[u8], data_ends_crlf: bool, last: usize) -> Option<usize> {
        let has_upper = digits.iter().any(u8::is_ascii_uppercase);
        let has_lower = digits.iter().any(u8::is_ascii_lowercase);
        if has_upper && has_lower {
            return None;
        }
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        let writes = |spelling: &Spelling| {
            let width_fits =
                if zeros > 0 { spelling.digits_min == digits.len() } else { spelling.digits_min <= digits.len() };
            let case_fits = if spelling.upper_case { !has_lower } else { !has_upper };
            width_fits && case_fits && spelling.data_ends_crlf == data_ends_crlf && spelling.line_end == line_end
        };
        if self.spellings.get(last).is_some_and(&writes) {
            return Some(last);
        }
        if let Some(found) = self.spellings.iter().position(writes) {
            return Some(found);
        }
        if self.spellings.len() == SPELLINGS_MAX {
            return None;
        }
        let digits_min = if zeros > 0 { digits.len() } else { 1 };
        let line_end = line_end.to_vec();
        self.spellings.push(Spelling { digits_min, upper_case: has_upper, line_end, data_ends_crlf });
        Some(self.spellings.len() - 1)
    }
}

impl Spelling {
    fn framing_len(&self, size: usize) -> usize {
        let digits_len = (usize::BITS - size.leading_zeros()).div_ceil(4) as usize;
        digits_len.max(self.digits_min) + self.line_end.len() + if self.data_ends_crlf { 2 } else { 1 }
    }

    fn push_size_line(&self, body: &mut Vec<u8>, size: usize) {
        let width = self.digits_min;
        let digits = if self.upper_case { format!("{size:0width$X}") } else { format!("{size:0width$x}") };
        body.extend_from_slice(digits.as_bytes());
        body.extend_from_slice(&self.line_end);
    }
}

/// Sixteen digits hold every size; a few zeros more are seen in the wild.
const DIGITS_MAX: usize = 32;

/// A size line taken apart, and what follows it.
struct SizeLine<'a> {
    size: usize,
    digits: &'a [u8],
    line_end: &'a [u8],
    after: &'a [u8],
}

impl<'a> SizeLine<'a> {
    fn split(text: &'a [u8]) -> Option<Self> {
        let (line, after) = text.split_at(memchr(b'\n', text)? + 1);
        let digits_len = line.iter().take(DIGITS_MAX + 1).take_while(|byte| byte.is_ascii_hexdigit()).count();
        let (digits, line_end) = line.split_at(digits_len);
        let size = size_of(digits)?;
        let is_line = line_end.len() <= EXTENSION_BYTES_MAX && may_follow_size(line_end);
        is_line.then_some(Self { size, digits, line_end, after })
    }
}

fn size_of(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    digits.iter().try_fold(0usize, |size, &digit| {
        let value = char::from(digit).to_digit(16)?;
        size.checked_mul(16)?.checked_add(value as usize)
    })
}

/// Digits are followed by blanks (some servers pad with them), an extension, or the end of the line. Anything else is
/// no size line: a body that was never chunked.
fn may_follow_size(line_end: &[u8]) -> bool {
    matches!(line_end.first(), Some(b' ' | b'\t' | b';' | b'\n')) || line_end == b"\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(body: &[u8]) -> Option<(Vec<u8>, usize)> {
        let (entity, layout) = dechunk(body)?;
        let bytes = layout.to_bytes();
        assert_eq!(ChunkLayout::from_bytes(&bytes).as_ref(), Some(&layout));
        assert_eq!(rechunk(&entity, &layout).as_deref(), Some(body));
        Some((entity, bytes.len()))
    }

    #[test]
    fn every_spelling_comes_back() {
        for (body, entity) in [
            (&b"5\r\nhello\r\n0\r\n\r\n"[..], &b"hello"[..]),
            (b"5\nhello\n0\n\n", b"hello"),
            (b"0005  \r\nhello\r\n000\r\n\r\n", b"hello"),
            (b"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", b"01234567890123456789"),
            (b"3;ext=1\r\nabc\r\n2;ext=\"2;\"\r\nde\r\n0;last\r\nTrailer: x\r\n\r\nleft over", b"abcde"),
            (b"0\r\n\r\n", b""),
            (b"0\r\n", b""),
            (b"1\r\na\n1\nb\r\n0\n\r\n", b"ab"),
        ] {
            assert_eq!(round_trip(body).map(|(entity, _)| entity).as_deref(), Some(entity));
        }
    }

    #[test]
    fn a_long_body_in_equal_chunks_needs_a_dozen_bytes() {
        let mut body = Vec::new();
        for _ in 0..1000 {
            body.extend_from_slice(b"2000\r\n");
            body.extend_from_slice(&[b'x'; 0x2000]);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"abc\r\n");
        body.extend_from_slice(&[b'y'; 0xabc]);
        body.extend_from_slice(b"\r\n0\r\n\r\n");
        let (entity, layout_len) = round_trip(&body).unwrap();
        assert_eq!(entity.len(), 1000 * 0x2000 + 0xabc);
        assert!(layout_len <= 24, "{layout_len}");
    }

    #[test]
    fn what_is_cut_off_mixed_or_not_chunked_is_refused() {
        for body in [
            &b""[..],
            b"5\r\nhel",
            b"5\r\nhello",
            b"5\r\nhello\r\n",
            b"5\r\nhelloXX0\r\n\r\n",
            b"aB\r\n",
            b"<html>\n",
            b"5hello\n0\r\n\r\n",
            b"-5\r\nhello\r\n0\r\n\r\n",
            b"ffffffffffffffffffff\r\nhello\r\n0\r\n\r\n",
            b"00000000000000000000000000000000000000000001\r\na\r\n0\r\n\r\n",
        ] {
            assert_eq!(dechunk(body), None, "{:?}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_forged_layout_cannot_fill_the_memory() {
        let line_end = [&[b';'; EXTENSION_BYTES_MAX - 1][..], b"\n"].concat();
        let spellings = vec![Spelling { digits_min: 1, upper_case: false, line_end, data_ends_crlf: true }];
        let mut layout = ChunkLayout { spellings, runs: vec![], tail: vec![] };
        layout.runs = vec![Run { spelling: 0, size: 1, count: 100_000 }];
        assert_eq!(rechunk(&vec![0; 100_000], &layout), None);
        layout.runs = vec![Run { spelling: 0, size: usize::MAX, count: usize::MAX }];
        assert_eq!(rechunk(b"a", &layout), None);
        layout.runs = vec![Run { spelling: 7, size: 1, count: 1 }];
        assert_eq!(rechunk(b"a", &layout), None);
        assert_eq!(ChunkLayout::from_bytes(&layout.to_bytes()), None);
    }

    proptest! {
        #[test]
        fn any_cut_of_any_entity_comes_back(chunks in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 1..40), 0usize..6, any::<bool>(), "(;[a-z=]{0,4}| {0,3})\r?", any::<bool>()),
            0..20,
        ), tail in "0{1,3}\r?\n([A-Z]: [a-z]\r\n){0,2}\r?\n?") {
            let mut body = Vec::new();
            let mut entity = Vec::new();
            for (data, width, upper, end, crlf) in chunks {
                let size = data.len();
                let line = if upper { format!("{size:0width$X}{end}\n") } else { format!("{size:0width$x}{end}\n") };
                body.extend_from_slice(line.as_bytes());
                body.extend_from_slice(&data);
                body.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
                entity.extend_from_slice(&data);
            }
            body.extend_from_slice(tail.as_bytes());
            prop_assert_eq!(round_trip(&body).map(|(entity, _)| entity), Some(entity));
        }

        #[test]
        fn whatever_is_taken_apart_goes_together_again(body in "([0-3a]{0,2};?\r?\n|[a-z\r\n]{0,3}){0,12}") {
            let _ = round_trip(body.as_bytes());
        }

        #[test]
        fn no_layout_panics(bytes: Vec<u8>, entity: Vec<u8>) {
            if let Some(layout) = ChunkLayout::from_bytes(&[&[VERSION][..], &bytes].concat()) {
                let _ = rechunk(&entity, &layout);
            }
        }
    }
}
