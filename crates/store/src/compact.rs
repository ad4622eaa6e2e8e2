//! Compact: rewrites packs without what nobody can reach any more, and packs what came in small pieces together anew.
//!
//! Safe at any crash point by order alone: the new pack is written and synced, and only then is the old one deleted. A
//! crash in between leaves a capture in two packs, and the later one counts. An index that missed all that is told again:
//! the new pack's directories are read from where it knows them.
//! Items are moved byte for byte, so differences to them stay valid wherever they are. Others may seal meanwhile: what is moved is
//! looked up once more under the writer's lock, so that nothing newer is undone ([`crate::release`] has the reasons).

use crate::Store;
use crate::blob;
use crate::directory::{BodySource, NOTES, NOTES_END, Op, note_key, pack_key};
use crate::envelope::{self, Where};
use crate::error::{Error, Result};
use crate::index::{BodyAt, BodyKey, BodyPlace, Entry, EntryKey, Table, Write, body_key};
use crate::limits::BATCH_BYTES;
use crate::pack::{self, PackWriter};
use crate::seal::Sealer;
use crate::wire::Cursor;
use herodotus_base::Sha256;
use std::collections::{BTreeMap, HashSet};
use std::sync::MutexGuard;

/// What [`Store::compact`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    pub packs_rewritten: u64,
    pub packs_kept: u64,
    /// Packs that hold damage and were therefore not deleted.
    pub packs_damaged: u64,
    pub bytes_before: u64,
    pub bytes_after: u64,
    /// Removed and released captures whose bytes are gone now.
    pub dropped: u64,
    /// Removed and released captures whose bytes had to stay because others share them.
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
    /// Those that were freed in the seal at hand: the index does not know it yet.
    gone: HashSet<EntryKey>,
}

impl Store {
    /// Rewrites the packs that hold dead bytes, or, with `all`, every pack.
    pub fn compact(&self, all: bool, mut progress: impl FnMut(u64, u64)) -> Result<Compacted> {
        self.seal()?;
        let mut done = Compacted { bytes_before: self.bytes_on_disk()?, ..Compacted::default() };
        self.free_removed(&mut done)?;
        // From here on packs are deleted, and with them what told of captures that are gone: the index must not forget it.
        self.inner.engine.persist()?;
        let packs = self.inner.reader.packs.list()?;
        let total = packs.len() as u64;
        for (n, (number, _)) in packs.into_iter().enumerate() {
            // Nobody may append to a pack that is looked through to be deleted. Only one of them is appended to.
            let writer = Some(self.writer()).filter(|writer| writer.number() == number);
            let live = self.live(number)?;
            if all || live.dead > 0 || live.items.is_empty() && live.raws.is_empty() {
                let after_damage = done.packs_damaged > 0;
                let writer = writer.unwrap_or_else(|| self.writer());
                let rewritten = self.rewrite(writer, number, live, after_damage).map_err(|e| self.inner.poison(e))?;
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

    fn writer(&self) -> MutexGuard<'_, PackWriter> {
        self.inner.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn live(&self, number: u32) -> Result<Live> {
        let reader = &self.inner.reader;
        let engine = &self.inner.engine;
        let mut live = Live::default();
        let mut raws = HashSet::new();
        let scan = pack::scan(&*self.inner.disk, number, 0)?;
        if !scan.damaged.is_empty() {
            self.live_by_index(number, &mut live)?;
            raws.extend(live.raws.iter().map(|(key, _)| *key));
        }
        for op in scan.seals.into_iter().flat_map(|seal| seal.ops) {
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
                op => live.other.push(op),
            }
        }
        Ok(live)
    }

    /// The same of a pack that is damaged: what has rotted may be a directory, so that only the index knows what stands in the
    /// pack, and what else was told in it.
    fn live_by_index(&self, number: u32, live: &mut Live) -> Result<()> {
        let engine = &self.inner.engine;
        for entry in self.all_entries() {
            let entry = entry?;
            match (entry.removed, entry.released) {
                (true, true) => live.other.push(Op::Release(entry.id.clone())),
                (true, false) => live.other.push(Op::Remove(entry.id.clone())),
                _ => {}
            }
            if entry.place.is_some_and(|place| place.pack == number) {
                live.items.insert(entry.id.clone(), entry);
            }
        }
        for pair in engine.range(Table::Bodies, &[], &[0xff; 17], false) {
            let (key, value) = pair?;
            if let (Ok(key), Some(BodyPlace { at: BodyAt::Raw { pack, offset }, .. })) =
                (key.try_into(), BodyPlace::decode(&value))
                && pack == number
            {
                live.raws.push((key, offset));
            }
        }
        for pair in engine.range(Table::Meta, NOTES, NOTES_END, false) {
            let (key, value) = pair?;
            if let Some(name) = key.strip_prefix(NOTES).and_then(|name| std::str::from_utf8(name).ok()) {
                live.other.push(Op::Note(name.to_owned(), value));
            }
        }
        Ok(())
    }

    /// Whether an operation must be told again when its pack goes. `after_damage`: an older pack could not be deleted, and may hold
    /// what this one is about. Asked under the writer's lock: what the index says now is the last word.
    fn still_counts(&self, op: &Op, after_damage: bool) -> Result<bool> {
        let engine = &self.inner.engine;
        Ok(match op {
            // A removal holds for every copy there ever was, so it is never forgotten.
            Op::Remove(_) | Op::Drop(_) => true,
            Op::Release(id) => self.inner.reader.entry(id)?.is_some_and(|now| now.released),
            Op::LetGo(id) => after_damage && self.inner.reader.entry(id)?.is_none(),
            Op::Forget(key) => after_damage && engine.get(Table::Bodies, key)?.is_none(),
            // One that was forgotten too: an older pack may still have its value.
            Op::Note(name, value) => engine.get(Table::Meta, &note_key(name))?.unwrap_or_default() == *value,
            Op::Put { .. } | Op::Body(..) => false,
        })
    }

    /// Moves what is alive out of a pack, then deletes it. `false`: it is damaged, and was kept.
    fn rewrite(
        &self,
        mut writer: MutexGuard<'_, PackWriter>,
        number: u32,
        live: Live,
        after_damage: bool,
    ) -> Result<bool> {
        let reader = &self.inner.reader;
        let Live { mut items, raws, other, .. } = live;
        let mut raws = raws.into_iter().peekable();
        let mut other = other.into_iter();
        let mut whole = true;
        loop {
            let mut weight = 0;
            // The pack that is deleted must not be the one that is appended to.
            let fresh = writer.number() == number;
            writer.begin(fresh)?;
            let mut sealer = Sealer::new(reader, &*self.inner.engine, &mut writer).at_rest();
            while weight < BATCH_BYTES {
                if let Some((key, offset)) = raws.next() {
                    if !self.is_raw_at(&key, number, offset)? {
                        continue;
                    }
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
                for op in other.by_ref() {
                    if self.still_counts(&op, after_damage || !whole)? {
                        sealer.op(op);
                    }
                }
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
        // Released, back, or mended since it was looked for.
        let Some(entry) = reader.entry(&entry.id)?.filter(|now| now.place == entry.place) else { return Ok(0) };
        let item = reader.item(place, Some(&entry.id.key))?;
        let plan = sealer.body_plan(&item, place)?;
        let base = reader.base_of(&entry.id, place)?;
        let weight = item.len();
        sealer.moved(entry, plan, item.to_vec(), base)?;
        Ok(weight)
    }

    /// Whether a body's own block is where the index knows it.
    fn is_raw_at(&self, key: &BodyKey, pack: u32, offset: u64) -> Result<bool> {
        let now = self.inner.engine.get(Table::Bodies, key)?.and_then(|value| BodyPlace::decode(&value));
        Ok(now.is_some_and(|now| now.at == BodyAt::Raw { pack, offset }))
    }

    /// Lets go of the bytes of removed and released captures: what was stored as a difference to one is stored whole.
    fn free_removed(&self, done: &mut Compacted) -> Result<()> {
        let since = self.writer().position();
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
        let mut needed = match self.needed_by_others(&removed) {
            // What cannot be read might need any of them. It may be mended later; until then nothing is let go.
            Err(Error::Damaged(_)) => {
                done.kept_for_others += removed.len() as u64;
                return Ok(());
            }
            other => other?,
        };
        let mut writer = self.writer();
        // What came meanwhile, or came back, may lean on them too.
        match self.needed_since(since, &mut needed) {
            Err(Error::Damaged(_)) => {
                done.kept_for_others += removed.len() as u64;
                return Ok(());
            }
            other => other?,
        }
        // Each seal frees a bounded number of them.
        for some in removed.chunks(1000) {
            writer.begin(false)?;
            let mut sealer = Sealer::new(&self.inner.reader, &*self.inner.engine, &mut writer);
            needed.gone.clear();
            for entry in some {
                let now = self.inner.reader.entry(&entry.id)?.filter(|now| now.removed);
                let Some(entry) = now else { continue };
                match self.free(&mut sealer, &entry, &mut needed, done) {
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
            if lens.contains(&entry.len) {
                self.needs_of(&entry, &mut needed)?;
            }
        }
        Ok(needed)
    }

    /// The same of what was sealed since: packs only grow.
    fn needed_since(&self, (pack, offset): (u32, u64), needed: &mut Needed) -> Result<()> {
        for (number, _) in self.inner.reader.packs.list()?.into_iter().filter(|(number, _)| *number >= pack) {
            let from = if number == pack { offset } else { 0 };
            for op in pack::scan(&*self.inner.disk, number, from)?.seals.into_iter().flat_map(|seal| seal.ops) {
                if let Op::Put { entry, .. } = op
                    && let Some(now) = self.inner.reader.entry(&entry.id)?
                {
                    self.needs_of(&now, needed)?;
                }
            }
        }
        Ok(())
    }

    fn needs_of(&self, entry: &Entry, needed: &mut Needed) -> Result<()> {
        let Some(place) = entry.place.filter(|_| !entry.removed) else { return Ok(()) };
        let item = self.inner.reader.item(place, Some(&entry.id.key))?;
        match envelope::decode(&mut Cursor::new(&item)).map(|envelope| (envelope.body, envelope.sha256)) {
            Some((Where::With(owner), _)) => _ = needed.owners.insert(owner),
            Some((Where::Raw, sha256)) => _ = needed.raws.insert(sha256),
            Some(_) => {}
            None => return Err(Error::Damaged("an envelope cannot be read".into())),
        }
        Ok(())
    }

    fn free(&self, sealer: &mut Sealer<'_>, entry: &Entry, needed: &mut Needed, done: &mut Compacted) -> Result<()> {
        let reader = &self.inner.reader;
        let Some(place) = entry.place else { return Ok(()) };
        let item = reader.item(place, Some(&entry.id.key))?;
        let mut forgotten = None;
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
                forgotten = Some(Op::Forget(body_key(&envelope.sha256)));
            }
        }
        for other in sealer.leaning_on(&entry.id, place, false)? {
            if !needed.gone.contains(&other.id) {
                sealer.move_off(other, &entry.id)?;
            }
        }
        // Only now: what could not be read would have kept it.
        forgotten.into_iter().for_each(|op| sealer.op(op));
        // Of what a person took out the mark stays; of what was let go, nothing.
        let gone = if entry.released { Op::LetGo } else { Op::Drop };
        sealer.op(gone(entry.id.clone()));
        needed.gone.insert(entry.id.clone());
        done.dropped += 1;
        Ok(())
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
