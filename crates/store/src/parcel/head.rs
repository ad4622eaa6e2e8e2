//! The first bytes of whatever travels between machines: what it is, of which form, and a sum of all that follows. They are the same for parcels and
//! for shipments but for a letter and the sum: SHA-256, and of shipments from form 2 on CRC-32. Either finds what was cut or has changed by mistake. Neither is proof of
//! anything, since whoever sends it computes it: that is what the digests of every single item are for.

use crate::error::{Error, Result};
use crate::wire::{Cursor, Put};
use herodotus_base::Sha256;

/// Magic, form, sum.
pub(super) const HEAD_BYTES: usize = FORM_AT + 1 + SUM_BYTES;
const FORM_AT: usize = 4;
/// Those of a SHA-256. Behind a CRC-32 there are zeros.
const SUM_BYTES: usize = 32;

#[derive(Debug)]
pub(super) struct Head {
    /// What people call it.
    pub(super) what: &'static str,
    pub(super) magic: [u8; 4],
    /// The newest there is.
    pub(super) form: u8,
    /// The first form whose sum is a CRC-32.
    pub(super) crc_from: u8,
    pub(super) bytes_max: usize,
}

impl Head {
    /// What stands behind the head, if that is right.
    pub(super) fn open<'a>(&self, bytes: &'a [u8]) -> Result<Cursor<'a>> {
        if bytes.len() > self.bytes_max {
            return self.refuse("it is too long");
        }
        let mut c = Cursor::new(bytes);
        if c.array() != Some(self.magic) {
            return self.refuse("its first bytes are wrong");
        }
        let form = match c.u8() {
            Some(form) if (1..=self.form).contains(&form) => form,
            Some(form) if form > self.form => {
                let known = self.form;
                return self
                    .refuse(&format!("its form is {form}, and this program knows {known}: use a newer herodotus"));
            }
            _ => return self.refuse("its form is not known"),
        };
        match c.array() {
            Some(sum) if sum == self.sum(form, c.rest()) => Ok(c),
            _ => self.refuse("it was cut or changed on the way"),
        }
    }

    pub(super) fn refuse<T>(&self, why: &str) -> Result<T> {
        Err(Error::Refused(format!("this is no {}: {why}", self.what)))
    }

    fn sum(&self, form: u8, rest: &[u8]) -> [u8; SUM_BYTES] {
        if form < self.crc_from {
            return Sha256::of(rest).0;
        }
        let mut sum = [0; SUM_BYTES];
        sum[..4].copy_from_slice(&crc32fast::hash(rest).to_be_bytes());
        sum
    }

    /// Begins one of a form, with room for the sum.
    pub(super) fn begin(&self, form: u8, capacity: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES + capacity);
        out.put_raw(&self.magic);
        out.push(form);
        out.put_raw(&[0; SUM_BYTES]);
        out
    }

    /// Puts the sum of what stands behind it where it belongs.
    pub(super) fn seal(&self, bytes: &mut [u8]) {
        if let Some((head, rest)) = bytes.split_at_mut_checked(HEAD_BYTES) {
            let sum = self.sum(head[FORM_AT], rest);
            head[FORM_AT + 1..].copy_from_slice(&sum);
        }
    }
}
