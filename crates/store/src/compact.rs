//! Compact: rewrites packs without what nobody can reach any more, and packs what came in small pieces together anew.
//!
//! Safe at any crash point by order alone: the new pack is written and synced, and only then is the old one deleted. A
//! crash in between leaves a capture in two packs, and the later one counts. An index that missed all that is told again:
//! the new pack's directories are read from where it knows them.
//! Items are moved byte for byte, so differences to them stay valid wherever they are.

use crate::Store;
use crate::blob;
use crate::directory::{BodySource, Op, note_key, pack_key};
use crate::envelope::{self, Where};
use crate::error::{Error, Result};
use crate::index::{BodyAt, BodyKey, BodyPlace, Entry, EntryKey, Place, Table, Write, body_key};
use crate::limits::BATCH_BYTES;
use crate::pack;
use crate::seal::{BodyPlan, Sealer};
use crate::wire::Cursor;
use herodotus_base::Sha256;
use std::collections::{BTreeMap, HashSet};

/// What [`Store::compact`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    pub packs_rewritten: u64,
    pub packs_kept: u64,
    /// Packs that hold damage and were therefore not deleted.
    pub packs_damaged: u64,
    pub bytes_before: u64,
    pub bytes_after: u64,
    /// Removed captures whose bytes are gone now.
    pub dropped: u64,
    /// Removed captures whose bytes had to stay because others share them.
    pub kept_for_others: u64,
    /// Large bodies that nothing refers to.
    pub blobs_deleted: u64,
}

/// What is alive in a pack.
#[derive(Debug, Default)]
struct Live {
    /// In key order.
    items: BTreeMap<EntryKey, Entry>,
    raws: Vec<(BodyKey, u64)>,
    other: Vec<Op>,
    /// Items and bodies that were written here and are reached no more.
    dead: u64,
}

/// What captures that stay need of those that were removed.
#[derive(Debug, Default)]
struct Needed {
    /// Captures whose body others have.
    owners: HashSet<EntryKey>,
    /// Bodies in blocks of their own.
    raws: HashSet<Sha256>,
}

impl Store {
    /// Rewrites the packs that hold dead bytes, or, with `all`, every pack.
    pub fn compact(&self, all: bool, mut progress: impl FnMut(u64, u64)) -> Result<Compacted> {
        self.seal()?;
        let mut done = Compacted { bytes_before: self.bytes_on_disk()?, ..Compacted::default() };
        self.free_removed(&mut done)?;
        let packs = self.inner.reader.packs.list()?;
        let total = packs.len() as u64;
        // What is written from here on goes to packs of its own, so that the ones listed only shrink.
        for (n, (number, _)) in packs.into_iter().enumerate() {
            let live = self.live(number)?;
            if all || live.dead > 0 || live.items.is_empty() && live.raws.is_empty() {
                let rewritten = self.rewrite(number, live).map_err(|e| self.inner.poison(e))?;
                done.packs_rewritten += u64::from(rewritten);
                done.packs_damaged += u64::from(!rewritten);
            } else {
                done.packs_kept += 1;
            }
            progress(n as u64 + 1, total);
        }
        self.delete_unreferenced_blobs(&mut done)?;
        self.inner.engine.tidy()?;
        done.bytes_after = self.bytes_on_disk()?;
        Ok(done)
    }

    /// Bytes of packs, large bodies, journal and index.
    pub fn bytes_on_disk(&self) -> Result<u64> {
        let mut bytes = self.inner.engine.disk_bytes();
        for folder in [pack::FOLDER, blob::FOLDER, crate::journal::FOLDER] {
            let files = self.inner.disk.list(folder).map_err(Error::disk("measuring the archive"))?;
            bytes += files.iter().map(|(_, len)| len).sum::<u64>();
        }
        Ok(bytes)
    }

    /// Bytes of the index alone.
    pub fn index_bytes(&self) -> u64 {
        self.inner.engine.disk_bytes()
    }

    fn live(&self, number: u32) -> Result<Live> {
        let reader = &self.inner.reader;
        let engine = &self.inner.engine;
        let mut live = Live::default();
        let mut raws = HashSet::new();
        for op in pack::scan(&*self.inner.disk, number, 0)?.seals.into_iter().flat_map(|seal| seal.ops) {
            let mut raw = |key: BodyKey, offset: u64, live: &mut Live| -> Result<()> {
                let here = BodyAt::Raw { pack: number, offset };
                let now = engine.get(Table::Bodies, &key)?.and_then(|v| BodyPlace::decode(&v));
                if now.is_some_and(|now| now.at == here) {
                    if raws.insert(key) {
                        live.raws.push((key, offset));
                    }
                } else {
                    live.dead += 1;
                }
                Ok(())
            };
            match op {
                Op::Put { entry, body } => {
                    if let Some((key, BodySource::New(BodyAt::Raw { offset, .. }))) = body {
                        raw(key, offset, &mut live)?;
                    }
                    match reader.entry(&entry.id)? {
                        Some(now) if now.place.is_some() && now.place == entry.place => {
                            live.items.insert(entry.id.clone(), now);
                        }
                        _ => live.dead += 1,
                    }
                }
                Op::Body(key, BodyAt::Raw { offset, .. }) => raw(key, offset, &mut live)?,
                Op::Body(..) => {}
                // A removal holds for every copy there ever was, so it is never forgotten.
                op @ (Op::Remove(_) | Op::Drop(_)) => live.other.push(op),
                Op::Forget(_) => {}
                Op::Note(name, value) => {
                    if engine.get(Table::Meta, &note_key(&name))?.as_ref() == Some(&value) {
                        live.other.push(Op::Note(name, value));
                    }
                }
            }
        }
        Ok(live)
    }

    /// Moves what is alive out of a pack, then deletes it. `false`: it is damaged, and was kept.
    fn rewrite(&self, number: u32, live: Live) -> Result<bool> {
        let reader = &self.inner.reader;
        let Live { mut items, raws, other, .. } = live;
        let mut raws = raws.into_iter().peekable();
        let mut other = other.into_iter();
        let mut whole = true;
        let mut writer = self.inner.writer.lock().unwrap_or_else(|p| p.into_inner());
        loop {
            let mut weight = 0;
            // The pack that is deleted must not be the one that is appended to.
            let fresh = writer.number() == number;
            writer.begin(fresh)?;
            let mut sealer = Sealer::new(reader, &*self.inner.engine, &mut writer).at_rest();
            while weight < BATCH_BYTES {
                if let Some((key, offset)) = raws.next() {
                    match reader.packs.block(number, offset) {
                        Ok(block) => {
                            weight += block.payload.len();
                            sealer.moved_raw(key, block.header.packed, &block.payload, block.header.raw_len)?;
                        }
                        Err(Error::Damaged(_)) => whole = false,
                        Err(e) => return Err(e),
                    }
                    continue;
                }
                let Some((_, entry)) = items.pop_first() else { break };
                match self.move_item(&mut sealer, entry) {
                    Ok(bytes) => weight += bytes,
                    Err(Error::Damaged(_)) => whole = false,
                    Err(e) => return Err(e),
                }
            }
            let more = !items.is_empty() || raws.peek().is_some();
            if !more {
                other.by_ref().for_each(|op| sealer.op(op));
            }
            self.inner.finish(sealer)?;
            if !more {
                break;
            }
        }
        drop(writer);
        if !whole {
            // What cannot be read cannot be moved. The pack stays, so that a person or a peer may still mend it.
            return Ok(false);
        }
        let forget = Write { table: Table::Meta, key: pack_key(number), value: None };
        self.inner.engine.write(vec![forget])?;
        let name = pack::name(number);
        self.inner.disk.remove(&name).map_err(Error::disk(format!("deleting {name}")))?;
        self.inner.disk.sync_dir(pack::FOLDER).map_err(Error::disk(format!("deleting {name}")))?;
        self.inner.reader.packs.forget(number);
        Ok(true)
    }

    fn move_item(&self, sealer: &mut Sealer<'_>, entry: Entry) -> Result<usize> {
        let reader = &self.inner.reader;
        let Some(place) = entry.place else { return Ok(0) };
        let item = reader.item(place, Some(&entry.id.key))?;
        let plan = self.body_plan(&item, place)?;
        let base = reader.base_of(&entry.id, place)?;
        let weight = item.len();
        sealer.moved(entry, plan, item.to_vec(), base)?;
        Ok(weight)
    }

    /// What the index is to be told of the body of an item that moves.
    fn body_plan(&self, item: &[u8], place: Place) -> Result<BodyPlan> {
        let Some(envelope) = envelope::decode(&mut Cursor::new(item)) else {
            return Err(Error::Damaged("an envelope cannot be read".into()));
        };
        let owns = envelope.body == Where::Here
            && envelope.body_len > 0
            && self.inner.reader.body_place(&envelope.sha256)?.is_some_and(|known| known.at == BodyAt::Item(place));
        Ok(if owns { BodyPlan::InItem(body_key(&envelope.sha256)) } else { BodyPlan::Nothing })
    }

    /// Lets go of the bytes of removed captures: what was stored as a difference to one is stored whole.
    fn free_removed(&self, done: &mut Compacted) -> Result<()> {
        let mut removed = Vec::new();
        for entry in self.all_entries() {
            let entry = entry?;
            if entry.removed && entry.place.is_some() {
                removed.push(entry);
            }
        }
        if removed.is_empty() {
            return Ok(());
        }
        let needed = match self.needed_by_others(&removed) {
            // What cannot be read might need any of them. It may be mended later; until then nothing is let go.
            Err(Error::Damaged(_)) => {
                done.kept_for_others += removed.len() as u64;
                return Ok(());
            }
            other => other?,
        };
        let mut writer = self.inner.writer.lock().unwrap_or_else(|p| p.into_inner());
        // Removals are rare; each seal frees a bounded number of them.
        for some in removed.chunks(1000) {
            writer.begin(false)?;
            let mut sealer = Sealer::new(&self.inner.reader, &*self.inner.engine, &mut writer);
            for entry in some {
                match self.free(&mut sealer, entry, &needed, done) {
                    // What cannot be read now may be mended later; until then nothing is let go.
                    Err(Error::Damaged(_)) => done.kept_for_others += 1,
                    other => other?,
                }
            }
            self.inner.finish(sealer).map_err(|e| self.inner.poison(e))?;
        }
        Ok(())
    }

    /// Every entry, whether or not it may be seen.
    fn all_entries(&self) -> impl Iterator<Item = Result<Entry>> {
        self.inner.engine.range(Table::Captures, &[], &[0xff; 4], false).map(|pair| {
            let (key, value) = pair?;
            let id =
                EntryKey::decode(&key).ok_or_else(|| Error::Damaged("a key in the index cannot be read".into()))?;
            crate::read::decode_entry(id, &value)
        })
    }

    /// What captures that stay may have in common with these: looked for among those of the same length.
    fn needed_by_others(&self, removed: &[Entry]) -> Result<Needed> {
        let lens: HashSet<u64> = removed.iter().map(|e| e.len).collect();
        let mut needed = Needed::default();
        for entry in self.all_entries() {
            let entry = entry?;
            let Some(place) = entry.place.filter(|_| !entry.removed && lens.contains(&entry.len)) else { continue };
            let item = self.inner.reader.item(place, Some(&entry.id.key))?;
            match envelope::decode(&mut Cursor::new(&item)).map(|envelope| (envelope.body, envelope.sha256)) {
                Some((Where::With(owner), _)) => _ = needed.owners.insert(owner),
                Some((Where::Raw, sha256)) => _ = needed.raws.insert(sha256),
                Some(_) => {}
                None => return Err(Error::Damaged("an envelope cannot be read".into())),
            }
        }
        Ok(needed)
    }

    fn free(&self, sealer: &mut Sealer<'_>, entry: &Entry, needed: &Needed, done: &mut Compacted) -> Result<()> {
        let reader = &self.inner.reader;
        let Some(place) = entry.place else { return Ok(()) };
        let item = reader.item(place, Some(&entry.id.key))?;
        if let Some(envelope) = envelope::decode(&mut Cursor::new(&item)) {
            // Whom others name, stays, whatever the index says of the body: it may know it from yet another capture.
            if needed.owners.contains(&entry.id) {
                done.kept_for_others += 1;
                return Ok(());
            }
            let known = reader.body_place(&envelope.sha256)?;
            let in_item = known.is_some_and(|known| known.at == BodyAt::Item(place));
            let in_block = envelope.body == Where::Raw && known.is_some() && !needed.raws.contains(&envelope.sha256);
            if in_item || in_block {
                sealer.op(Op::Forget(body_key(&envelope.sha256)));
            }
        }
        let (from, to) = EntryKey::range_of(&entry.id.key);
        for pair in self.inner.engine.range(Table::Captures, &from, &to, false) {
            let (key, value) = pair?;
            let Some(id) = EntryKey::decode(&key) else { continue };
            let other = crate::read::decode_entry(id, &value)?;
            let Some(at) = other.place.filter(|_| other.id != entry.id) else { continue };
            if !reader.leans_on(at, &entry.id, place)? {
                continue;
            }
            let item = reader.item(at, Some(&other.id.key))?;
            let plan = self.body_plan(&item, at)?;
            let base = self.staying_base(&other.id, at)?;
            sealer.moved(other, plan, item.to_vec(), base)?;
        }
        sealer.op(Op::Drop(entry.id.clone()));
        done.dropped += 1;
        Ok(())
    }

    /// What a capture that moves may still be a difference to. What was stored against a removed one is stored whole, and
    /// what leans on that one through it keeps its own base. *Any* removed one: another of them may go in the same seal.
    fn staying_base(&self, id: &EntryKey, at: Place) -> Result<Option<EntryKey>> {
        let Some(base) = self.inner.reader.base_of(id, at)? else { return Ok(None) };
        Ok(self.inner.reader.entry(&base)?.filter(|known| !known.removed).map(|known| known.id))
    }

    fn delete_unreferenced_blobs(&self, done: &mut Compacted) -> Result<()> {
        let blobs = self.inner.disk.list(blob::FOLDER).map_err(Error::disk("listing large bodies"))?;
        if blobs.is_empty() {
            return Ok(());
        }
        // Blobs are few and large, so it is they that are remembered, and captures that are looked through.
        let mut unused: HashSet<String> = blobs.into_iter().map(|(name, _)| name).collect();
        for entry in self.all_entries() {
            let entry = entry?;
            let Some(place) = entry.place.filter(|_| entry.in_file) else { continue };
            match self.inner.reader.item(place, Some(&entry.id.key)) {
                Ok(item) => {
                    if let Some(envelope) = envelope::decode(&mut Cursor::new(&item)) {
                        unused.remove(&format!("{}.blob", envelope.sha256));
                    }
                }
                // If we cannot tell what it refers to, nothing is deleted.
                Err(_) => return Ok(()),
            }
        }
        for name in unused {
            let name = format!("{}/{name}", blob::FOLDER);
            self.inner.disk.remove(&name).map_err(Error::disk(format!("deleting {name}")))?;
            done.blobs_deleted += 1;
        }
        self.inner.disk.sync_dir(blob::FOLDER).map_err(Error::disk("deleting large bodies"))
    }
}
