//! Chunked transfer coding taken off as it is read, as tolerantly as a browser does it: a body that breaks off within a
//! chunk gives what there is. Where a body must come back byte for byte, `herodotus_page::dechunk` is the one to ask.

use std::io::{self, BufRead, Read};

/// Bytes of a size line with its extensions: what servers accept.
const SIZE_LINE_BYTES_MAX: u64 = 4096;

/// The entity of a chunked body. `None`: it is not in chunks, whatever its head says.
pub(super) fn whole_or_cut(body: &[u8]) -> Option<Vec<u8>> {
    if let Some((entity, _)) = herodotus_page::dechunk(body) {
        return Some(entity);
    }
    let mut entity = Vec::with_capacity(body.len());
    Dechunked::new(body).read_to_end(&mut entity).ok()?;
    (!entity.is_empty()).then_some(entity)
}

/// Reads the data of chunks.
#[derive(Debug)]
pub(super) struct Dechunked<R> {
    inner: R,
    /// Of the current chunk's data.
    left: u64,
    begun: bool,
    ended: bool,
}

impl<R: BufRead> Dechunked<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, left: 0, begun: false, ended: false }
    }

    /// The size of the next chunk; 0 at the last one, and where the body breaks off.
    fn next_size(&mut self) -> io::Result<u64> {
        let mut line = Vec::new();
        if self.begun {
            // The line end that closes the data before.
            (&mut self.inner).take(2).read_until(b'\n', &mut line)?;
            if !matches!(&line[..], b"\r\n" | b"\n" | b"\r" | b"") {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a chunk is longer than it says"));
            }
            line.clear();
        }
        self.begun = true;
        (&mut self.inner).take(SIZE_LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(0);
        }
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let size = std::str::from_utf8(&line[..digits]).ok().and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let ends = matches!(line.get(digits), None | Some(b'\r' | b'\n' | b';' | b' ' | b'\t'));
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "a chunk without a size");
        let size = size.filter(|_| ends).ok_or_else(broken)?;
        // A size line that the body breaks off in says nothing yet.
        Ok(if line.ends_with(b"\n") { size } else { 0 })
    }
}

impl<R: BufRead> Read for Dechunked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ended || out.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            self.left = self.next_size()?;
        }
        let want = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let n = self.inner.read(&mut out[..want])?;
        self.left -= n as u64;
        self.ended = n == 0;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_breaks_off_gives_what_there_is() {
        let whole = b"5;x=y\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
        assert_eq!(whole_or_cut(whole).as_deref(), Some(&b"hello world"[..]));
        for cut in 8..whole.len() {
            let entity = whole_or_cut(&whole[..cut]).unwrap();
            assert!(b"hello world".starts_with(&entity[..]) && !entity.is_empty(), "{cut}: {entity:?}");
        }
    }

    #[test]
    fn what_is_not_in_chunks_is_told_from_what_is() {
        for body in
            [&b""[..], b"<html>", b"\r\n", b"5\r\nhelloworld", b"xyz\r\n", b"5hello\r\n", b"ffffffffffffffffff\r\nx"]
        {
            assert_eq!(whole_or_cut(body), None, "{body:?}");
        }
        assert_eq!(whole_or_cut(b"ffffffffffffffff\r\nabc").as_deref(), Some(&b"abc"[..]));
    }
}
