//! Verify: reads everything, checks every digest, and says exactly which captures are damaged and which others cannot be
//! read because of them.

use crate::Store;
use crate::capture::{Body, Capture};
use crate::error::{Error, Result};
use crate::index::{Entry, EntryKey, Place};
use crate::limits::SCRUB_CAPTURE_BYTES_MIN;
use crate::read::ItemReader;
use crate::store::Waiting;
use crate::verdict::{Verdict, heed};
use std::io::Read;

/// What [`Store::verify`] found.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    pub captures: u64,
    /// Bytes of bodies that were read and found right.
    pub bytes: u64,
    pub damaged: Vec<Damage>,
}

/// A capture that cannot be given back as it came.
#[derive(Clone, Debug)]
pub struct Damage {
    pub entry: Entry,
    pub reason: String,
    /// The damaged capture that this one was stored against, if its own bytes are whole.
    pub because_of: Option<EntryKey>,
}

impl Store {
    /// Reads every capture. `progress` is told of each, with the total expected.
    pub fn verify<V: Verdict>(&self, mut progress: impl FnMut(u64, u64) -> V) -> Result<Verified> {
        self.seal_if_possible()?;
        let totals = self.totals()?;
        let expected = totals.captures + totals.other_records;
        let mut found = Verified::default();
        for entry in self.scan_all() {
            let entry = entry?;
            match self.check(&entry.id) {
                Ok(bytes) => found.bytes += bytes,
                // Taken out by somebody else while we were reading.
                Err(_) if self.is_gone(&entry.id) => continue,
                Err(error @ (Error::Damaged(_) | Error::Disk { .. })) => {
                    let because_of = self.root_of_damage(&entry.id);
                    found.damaged.push(Damage { entry, reason: error.to_string(), because_of });
                }
                Err(other) => return Err(other),
            }
            found.captures += 1;
            heed(progress(found.captures, expected.max(found.captures)))?;
        }
        Ok(found)
    }

    /// Reads captures through, from behind the last that an earlier call came to, until so many bytes were read: a slice of
    /// [`Store::verify`] for whoever has time. Gives the damaged ones, and where to go on; nothing: that was the last.
    /// Nothing is taken from memory that was read before. What waits in memory is passed over. A slice ends behind the
    /// capture with which it has enough, so that every slice gets on.
    pub fn scrub(&self, after: Option<&EntryKey>, max_bytes: u64) -> Result<(Vec<EntryKey>, Option<EntryKey>)> {
        let reader = self.inner.fresh_reader();
        let from = after.map_or_else(Vec::new, |after| [after.encode(), vec![0]].concat());
        let (mut damaged, mut bytes) = (Vec::new(), 0);
        for entry in self.scan_from(from) {
            let entry = entry?;
            if entry.place.is_none() {
                continue;
            }
            match self.inner.at_place(&entry.id, |place| self.check_with(&reader, &entry.id, place)) {
                Ok(_) => {}
                Err(_) if self.is_gone(&entry.id) => {}
                Err(Error::Damaged(_) | Error::Disk { .. }) => damaged.push(entry.id.clone()),
                Err(other) => return Err(other),
            }
            bytes += entry.bytes_in.max(SCRUB_CAPTURE_BYTES_MIN);
            if bytes >= max_bytes {
                return Ok((damaged, Some(entry.id)));
            }
        }
        Ok((damaged, None))
    }

    /// A poisoned store can still be verified: what is pending is in memory and not at stake.
    fn seal_if_possible(&self) -> Result<()> {
        if self.poisoned().is_some() { Ok(()) } else { self.seal() }
    }

    fn is_gone(&self, id: &EntryKey) -> bool {
        matches!(self.inner.waiting(id), Some(Waiting::Removed | Waiting::Released))
            || self.inner.reader.entry(id).is_ok_and(|entry| entry.is_none_or(|entry| entry.removed))
    }

    fn check(&self, id: &EntryKey) -> Result<u64> {
        let capture = self.read(id)?.ok_or_else(|| Error::Damaged("it is in the index but nowhere else".into()))?;
        self.check_body(&capture)
    }

    /// The same with a reader of its own.
    pub(crate) fn check_with(&self, reader: &ItemReader, id: &EntryKey, place: Place) -> Result<u64> {
        self.check_body(&reader.capture(id, place)?)
    }

    /// Reads a large body through; another was read with its capture.
    fn check_body(&self, capture: &Capture) -> Result<u64> {
        if let Body::Blob { digests, len } = &capture.main.body {
            let mut reader = self.open_blob(&digests.sha256)?;
            let mut digester = herodotus_base::Digester::new();
            let mut buffer = vec![0; 256 * 1024];
            let mut read = 0;
            loop {
                let n = reader.read(&mut buffer).map_err(|e| Error::Damaged(e.to_string()))?;
                if n == 0 {
                    break;
                }
                digester.update(&buffer[..n]);
                read += n as u64;
            }
            if digester.finish() != *digests || read != *len {
                return Err(Error::Damaged("the large body fails its digest".into()));
            }
        }
        Ok(capture.main.body.len())
    }

    /// Follows what a capture was stored against to the first one that is itself unreadable.
    fn root_of_damage(&self, id: &EntryKey) -> Option<EntryKey> {
        let reader = &self.inner.reader;
        let mut at = id.clone();
        for _ in 0..=crate::limits::CHAIN_DEPTH_MAX {
            let place = reader.entry(&at).ok()??.place?;
            let next = match reader.base_of(&at, place) {
                // Its own block cannot be read: here it is.
                Err(_) => return (at != *id).then_some(at),
                Ok(Some(base)) => base,
                Ok(None) => match reader.owner_of(&at, place) {
                    Ok(Some(owner)) => owner,
                    _ => return (at != *id).then_some(at),
                },
            };
            at = next;
        }
        None
    }
}
