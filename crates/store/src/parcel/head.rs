//! The first bytes of whatever travels between machines: what it is, of which form, and the SHA-256 of all that follows. They are the same for parcels and
//! for shipments but for a letter.

use crate::error::{Error, Result};
use crate::wire::{Cursor, Put};
use herodotus_base::Sha256;

/// Magic, form, digest.
pub(super) const HEAD_BYTES: usize = 4 + 1 + DIGEST_BYTES;
const DIGEST_BYTES: usize = 32;

#[derive(Debug)]
pub(super) struct Head {
    /// What people call it.
    pub(super) what: &'static str,
    pub(super) magic: [u8; 4],
    /// The newest there is.
    pub(super) form: u8,
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
        match c.u8() {
            Some(form) if form == self.form => {}
            Some(form) if form > self.form => {
                let known = self.form;
                return self
                    .refuse(&format!("its form is {form}, and this program knows {known}: use a newer herodotus"));
            }
            _ => return self.refuse("its form is not known"),
        }
        match c.array() {
            Some(digest) if Sha256(digest) == Sha256::of(c.rest()) => Ok(c),
            _ => self.refuse("it was cut or changed on the way"),
        }
    }

    pub(super) fn refuse<T>(&self, why: &str) -> Result<T> {
        Err(Error::Refused(format!("this is no {}: {why}", self.what)))
    }

    /// Begins one, with room for the digest.
    pub(super) fn begin(&self, capacity: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES + capacity);
        out.put_raw(&self.magic);
        out.push(self.form);
        out.put_raw(&[0; DIGEST_BYTES]);
        out
    }
}

/// Puts the digest of what stands behind it where it belongs.
pub(super) fn seal(bytes: &mut [u8]) {
    if let Some((head, rest)) = bytes.split_at_mut_checked(HEAD_BYTES) {
        head[HEAD_BYTES - DIGEST_BYTES..].copy_from_slice(&Sha256::of(rest).0);
    }
}
