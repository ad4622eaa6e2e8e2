//! Mending: a capture whose bytes here are damaged is written again, from a copy that somebody else has.
//!
//! Items never change, because others may be stored as differences to them; and of a damaged one nobody can tell whether what is
//! written anew has the same bytes. So the entry of a mended capture says from where in the packs on its new item counts: a
//! difference that was written before is not read against it (it could come out wrong and pass), but against the old item
//! where that can still be read, or not at all. Such a one needs mending too. What can still be read is never made
//! unreadable: it is stored without the old item first.

use crate::Store;
use crate::capture::{Body, Capture};
use crate::directory::Op;
use crate::envelope::{self, Envelope, Where};
use crate::error::{Error, Result};
use crate::hashing;
use crate::index::{BodyAt, Entry, EntryKey, Place, Table, body_key};
use crate::read::decode_entry;
use crate::seal::{BodyPlan, Sealer, entry_of};
use crate::wire::Cursor;
use herodotus_base::Sha1;

impl Store {
    /// Puts a capture again whose bytes here are damaged. `false`: there is nothing to mend; it is whole, is not here, or waits in
    /// memory. Refused if it is not the very one: all that the index and what is left of the item say must agree. Durable when
    /// it returns. A large body is mended by writing it: [`Store::blob_writer`] replaces a damaged file.
    pub fn mend(&self, capture: Capture) -> Result<bool> {
        capture.check()?;
        self.inner.writable()?;
        let id = capture.id();
        if self.inner.waiting(&id).is_some() {
            return Ok(false);
        }
        let mut writer = self.inner.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(entry) = self.inner.reader.entry(&id)?.filter(|entry| !entry.removed) else { return Ok(false) };
        let Some(place) = entry.place else { return Ok(false) };
        let reader = self.inner.fresh_reader();
        match self.check_with(&reader, &id, place) {
            Err(Error::Damaged(_) | Error::Disk { .. }) => {}
            other => return other.map(|_| false),
        }
        let left = reader.item(place, Some(&id.key)).ok();
        let left = left.and_then(|item| envelope::decode(&mut Cursor::new(&item))).filter(|left| left.id() == id);
        self.check_same(&entry, left.as_ref(), &capture)?;
        writer.begin(false)?;
        let mut sealer = Sealer::new(&self.inner.reader, &*self.inner.engine, &mut writer);
        match (&capture.main.body, left.map(|left| left.body)) {
            // The item is whole; its body has a block of its own.
            (Body::Bytes(bytes, digests), Some(Where::Raw)) => {
                sealer.moved_raw(body_key(&digests.sha256), false, bytes, bytes.len())?;
            }
            _ => sealer.anew(&entry, &capture, None)?,
        }
        self.inner.finish(sealer).map_err(|e| self.inner.poison(e))?;
        Ok(true)
    }

    /// Whether a capture is the one that was stored here, as far as anybody can still tell.
    fn check_same(&self, entry: &Entry, left: Option<&Envelope>, capture: &Capture) -> Result<()> {
        let whole = match &capture.main.body {
            Body::Bytes(bytes, digests) => hashing::of_body(bytes) == *digests,
            Body::Blob { digests, len } => {
                let mut reader = self.open_blob(&digests.sha256)?;
                reader.check()?;
                (reader.len, reader.digests) == (*len, *digests)
            }
        };
        let claimed = entry_of(&entry.id, capture, capture.media().unwrap_or_default(), entry.shared);
        // How it is kept here is nobody else's business.
        let Entry { depth, place, mended, in_file, .. } = entry.clone();
        let same = Entry { depth, place, mended, in_file, ..claimed } == *entry;
        let left_same = left.is_none_or(|left| {
            left.sha256 == capture.main.body.digests().sha256
                && left.clone().with_body(capture.main.body.clone()) == *capture
        });
        if whole && same && left_same {
            return Ok(());
        }
        Err(Error::Refused(format!(
            "what was given to mend {} of {} is not what was stored: ask another copy",
            entry.id.key, entry.id.time
        )))
    }
}

impl Sealer<'_> {
    /// Adds a capture that was released: it is made visible where it is, or, if it cannot be read there, written anew.
    pub(crate) fn returning(&mut self, id: &EntryKey, capture: &Capture, block_sha1: Option<Sha1>) -> Result<()> {
        let Some(known) = self.reader.entry(id)? else { return self.capture(id, capture, block_sha1) };
        let Some(place) = known.place else { return self.capture(id, capture, block_sha1) };
        if self.reader.capture(id, place).is_err() {
            return self.anew(&known, capture, block_sha1);
        }
        // Nothing is said of its body: what the index knows of that has not changed.
        let entry = Entry { removed: false, released: false, ..known };
        self.op(Op::Put { entry: Box::new(entry), body: None });
        Ok(())
    }

    /// Writes a capture whose bytes are damaged once more.
    fn anew(&mut self, known: &Entry, capture: &Capture, block_sha1: Option<Sha1>) -> Result<()> {
        if let Some(place) = known.place
            && self.reader.item(place, Some(&known.id.key)).is_ok()
        {
            // Its body is the damaged part, and others may be stored against the item, which is not.
            for other in self.leaning_on(&known.id, place, true)? {
                match self.move_off(other, &known.id) {
                    // It could not be read before either.
                    Err(Error::Damaged(_)) => {}
                    other => other?,
                }
            }
        }
        self.capture_anew(&known.id, capture, block_sha1)
    }

    /// The captures whose bytes cannot be unpacked without those of this one. `some`: without those of which nobody can tell.
    pub(crate) fn leaning_on(&self, id: &EntryKey, place: Place, some: bool) -> Result<Vec<Entry>> {
        let (from, to) = EntryKey::range_of(&id.key);
        let mut leaning = Vec::new();
        for pair in self.engine.range(Table::Captures, &from, &to, false) {
            let (key, value) = pair?;
            let Some(other) = EntryKey::decode(&key) else { continue };
            let other = decode_entry(other, &value)?;
            let Some(at) = other.place.filter(|_| other.id != *id) else { continue };
            match self.reader.leans_on(at, id, place) {
                Ok(true) => leaning.push(other),
                Ok(false) => {}
                Err(Error::Damaged(_)) if some => {}
                Err(error) => return Err(error),
            }
        }
        Ok(leaning)
    }

    /// Moves a capture so that it leans no more on another: it is stored whole, or keeps its own base if that is a third.
    pub(crate) fn move_off(&mut self, entry: Entry, other: &EntryKey) -> Result<()> {
        let Some(at) = entry.place else { return Ok(()) };
        let item = self.reader.item(at, Some(&entry.id.key))?;
        let plan = self.body_plan(&item, at)?;
        let base = self.staying_base(&entry.id, at)?.filter(|base| base != other);
        self.moved(entry, plan, item.to_vec(), base)
    }

    /// What a capture that moves may still be a difference to. What was stored against a removed one is stored whole, and
    /// what leans on that one through it keeps its own base. *Any* removed one: another of them may go in the same seal.
    fn staying_base(&self, id: &EntryKey, at: Place) -> Result<Option<EntryKey>> {
        let Some(base) = self.reader.base_of(id, at)? else { return Ok(None) };
        Ok(self.reader.entry(&base)?.filter(|known| !known.removed).map(|known| known.id))
    }

    /// What the index is to be told of the body of an item that moves.
    pub(crate) fn body_plan(&self, item: &[u8], place: Place) -> Result<BodyPlan> {
        let Some(envelope) = envelope::decode(&mut Cursor::new(item)) else {
            return Err(Error::Damaged("an envelope cannot be read".into()));
        };
        let owns = envelope.body == Where::Here
            && envelope.body_len > 0
            && self.reader.body_place(&envelope.sha256)?.is_some_and(|known| known.at == BodyAt::Item(place));
        Ok(if owns { BodyPlan::InItem(body_key(&envelope.sha256)) } else { BodyPlan::Nothing })
    }
}
