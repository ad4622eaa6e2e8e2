//! Reading and writing the table's values: numbers as varints, texts with their lengths.

use crate::error::{Error, Result};

#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn number(&mut self, mut n: u64) -> &mut Self {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.number(text.len() as u64).bytes.extend_from_slice(text.as_bytes());
        self
    }
}

#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { bytes, what }
    }

    fn damaged(&self) -> Error {
        Error::damaged(format!("{} cannot be read", self.what))
    }

    pub(crate) fn number(&mut self) -> Result<u64> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.bytes.split_first().ok_or_else(|| self.damaged())?;
            self.bytes = rest;
            n |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(self.damaged())
    }

    pub(crate) fn small<N: TryFrom<u64>>(&mut self) -> Result<N> {
        let n = self.number()?;
        N::try_from(n).map_err(|_| self.damaged())
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or_else(|| self.damaged())?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn hash(&mut self) -> Result<u64> {
        let bytes = self.bytes(8)?;
        Ok(bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        let len = self.small()?;
        let taken = self.bytes(len)?;
        str::from_utf8(taken).map_err(|_| self.damaged())
    }
}
