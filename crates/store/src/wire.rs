//! Varints and length-prefixed bytes: the alphabet of every structure we write. Reading is bounded and never panics.

/// A reader over bytes that may be hostile: every `None` means "not what we write".
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(n)?;
        self.rest = tail;
        Some(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn usize(&mut self) -> Option<usize> {
        self.u64()?.try_into().ok()
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.u64()?.try_into().ok()
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        let v = self.u64()?;
        Some((v >> 1) as i64 ^ -((v & 1) as i64))
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = self.usize()?;
        self.take(n)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }
}

/// Appends what [`Cursor`] reads.
pub(crate) trait Put {
    fn put_u64(&mut self, value: u64);
    fn put_raw(&mut self, bytes: &[u8]);

    fn put_len(&mut self, value: usize) {
        self.put_u64(value as u64);
    }

    fn put_i64(&mut self, value: i64) {
        self.put_u64(((value << 1) ^ (value >> 63)) as u64);
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.put_len(bytes.len());
        self.put_raw(bytes);
    }
}

impl Put for Vec<u8> {
    fn put_u64(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn put_raw(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_at_their_edges() {
        for v in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            out.put_u64(v);
            assert_eq!(Cursor::new(&out).u64(), Some(v));
        }
        for v in [0, -1, 1, i64::MIN, i64::MAX] {
            let mut out = Vec::new();
            out.put_i64(v);
            assert_eq!(Cursor::new(&out).i64(), Some(v));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(Cursor::new(&[0xff; 11]).u64(), None);
        assert_eq!(Cursor::new(&[0x80]).u64(), None);
        assert_eq!(Cursor::new(&[5, 1, 2]).bytes(), None);
    }
}
