//! The store: takes captures in, makes them durable, gives them back.
//!
//! A capture that is appended waits in a batch in memory. `commit` writes the batch's new captures to the journal and syncs
//! it: from then on they survive power loss. When the batch is full, or on `seal`, it is sorted, packed, written to a pack
//! and synced, the index learns of it, and the journal is removed. Whoever appends many captures and can repeat itself
//! after a crash (an import) never commits and only seals: then nothing is written twice.
//!
//! If a write fails, what is on disk after it is unknown, so the store refuses all further writes; reads go on.

use crate::batch::{Batch, Said};
use crate::blob::{self, BlobReader, BlobWriter};
use crate::capture::{Body, Capture};
use crate::directory::{self, count_of, note_key};
use crate::disk::{Disk, real::RealDisk};
use crate::entity::EntityCache;
use crate::error::{Error, Result};
use crate::index::{Engine, EntryKey, LsmEngine, Place, Table, Totals, kind_is_capture};
use crate::journal::{self, Act, Journal};
use crate::limits::{BATCH_BYTES, BATCH_CAPTURES, RESERVE_BYTES, ROOM_AMPLE_BYTES, ROOM_ASKED_EVERY_BYTES};
use crate::lock::DirLock;
use crate::pack::{self, PackWriter, Packs};
use crate::places::PartsMemory;
use crate::read::ItemReader;
use crate::recover::{Recovery, recover_packs};
use crate::seal::Sealer;
use herodotus_base::{Sha1, Sha256};
use std::io::Read;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;

/// What became of an appended capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    Stored,
    /// The very same capture is here already.
    Known,
    /// It was removed once, and stays removed.
    Removed,
}

/// How a store works, where the defaults do not fit.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes of captures held in memory before they are sealed into a pack. More packs better; twice this much is the
    /// store's appetite. Sane: 1 MiB to 256 MiB.
    pub batch_bytes: usize,
    /// Seal in a thread of its own, while the next batch fills.
    pub background: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { batch_bytes: BATCH_BYTES, background: true }
    }
}

/// An archive on disk. Clones share it; it is closed by [`Store::close`], or left to recovery.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) reader: ItemReader,
    pub(crate) entities: EntityCache,
    pub(crate) parts: PartsMemory,
    pub(crate) writer: Mutex<PackWriter>,
    /// Held while the journal is written: the one who holds it syncs for all who wait.
    journal: Mutex<Journal>,
    journal_synced: Condvar,
    pending: Mutex<Pending>,
    changed: Condvar,
    durable: Mutex<Durable>,
    synced: Condvar,
    poison: OnceLock<String>,
    /// Blocks of other machines were taken in since the store was opened: what waits may have come in them, too.
    pub(crate) has_adopted: AtomicBool,
    /// Shipments that were taken in since the store was opened.
    pub(crate) shipments: AtomicU64,
    /// Captures that were removed or let go since this was opened: whoever prepared something before looks again.
    pub(crate) withdrawn: AtomicU64,
    options: Options,
    _lock: Option<DirLock>,
}

#[derive(Debug)]
struct Pending {
    /// Acts taken in since the store was opened.
    appended: u64,
    active: Batch,
    /// Until the active batch weighs this much, nobody need ask whether the disk has room.
    room_upto: usize,
    sealing: Option<Arc<Batch>>,
    /// The thread that seals, or did last.
    sealer: Option<JoinHandle<()>>,
    next_journal: u32,
}

/// How far commits have come, and whether one of them is on its way to the disk.
#[derive(Debug, Default)]
struct Durable {
    upto: u64,
    syncing: bool,
}

/// What waits in memory: the batch that fills, and the one that is being sealed.
pub(crate) type Batches<'a> = std::iter::Flatten<std::array::IntoIter<Option<&'a Batch>, 2>>;

/// What the batches in memory say of a capture.
#[derive(Debug)]
pub(crate) enum Waiting {
    Stored(Arc<Capture>),
    /// Let go: it is not here, and may come again.
    Released,
    Removed,
}

/// What is known of a capture.
enum State {
    Absent,
    /// It was here, and was let go.
    Released,
    Present {
        is_capture: bool,
    },
    Removed,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Store {
    /// Opens the archive in a directory, making it if it is missing, and mends what a crash left.
    pub fn open(dir: &Path) -> Result<(Self, Recovery)> {
        Self::open_with(dir, Options::default())
    }

    pub fn open_with(dir: &Path, options: Options) -> Result<(Self, Recovery)> {
        let lock = DirLock::take(dir)?;
        let folders = [pack::FOLDER, journal::FOLDER, blob::FOLDER, blob::TEMP_FOLDER];
        let disk = RealDisk::new(dir, &folders).map_err(Error::disk(format!("preparing {}", dir.display())))?;
        let engine = LsmEngine::open(&dir.join("index"))?;
        Self::open_on(Arc::new(disk), Arc::new(engine), Some(lock), options)
    }

    /// Opens an archive on any disk and index: how tests lose power. Seals run in the caller's thread.
    pub fn open_simulated(disk: Arc<dyn Disk>, engine: Arc<dyn Engine>) -> Result<(Self, Recovery)> {
        Self::open_on(disk, engine, None, Options { background: false, ..Options::default() })
    }

    fn open_on(
        disk: Arc<dyn Disk>,
        engine: Arc<dyn Engine>,
        lock: Option<DirLock>,
        options: Options,
    ) -> Result<(Self, Recovery)> {
        let mut recovery = Recovery::default();
        blob::clean_temp(&*disk)?;
        let packs = Packs::new(disk.clone());
        let (newest, next_pack) = recover_packs(&*disk, &*engine, &packs, &mut recovery)?;
        let journals = journal::recover(&disk)?;
        let next_journal = journals.iter().map(|j| j.number()).max().unwrap_or(0).wrapping_add(1);
        let inner = Inner {
            reader: ItemReader::new(packs, engine.clone()),
            entities: EntityCache::new(),
            parts: PartsMemory::default(),
            writer: Mutex::new(PackWriter::new(disk.clone(), newest, next_pack)?),
            journal: Mutex::new(Journal::new(disk.clone(), next_journal)),
            journal_synced: Condvar::new(),
            pending: Mutex::new(Pending {
                appended: 0,
                active: Batch::default(),
                room_upto: 0,
                sealing: None,
                sealer: None,
                next_journal: next_journal.wrapping_add(1),
            }),
            changed: Condvar::new(),
            durable: Mutex::default(),
            synced: Condvar::new(),
            poison: OnceLock::new(),
            has_adopted: AtomicBool::new(false),
            shipments: AtomicU64::new(0),
            withdrawn: AtomicU64::new(0),
            options,
            _lock: lock,
            disk,
            engine,
        };
        let store = Self { inner: Arc::new(inner) };
        for found in journals {
            if found.torn_bytes > 0 {
                recovery.cut.push((found.name(), found.torn_bytes));
            }
            recovery.damaged.extend(found.damaged.iter().map(|at| (found.name(), *at)));
            for act in found.acts {
                recovery.replayed += u64::from(store.act(act)? == Appended::Stored);
            }
            store.seal()?;
            found.journal.remove()?;
        }
        let placed = match store.inner.keep_places() {
            // The archive is readable without the table; whoever asks for it is told.
            Err(Error::Damaged(_)) => false,
            other => other?,
        };
        if recovery.reindexed > 0 || placed {
            // So that the next start need not do it again.
            store.inner.engine.persist()?;
        }
        Ok((store, recovery))
    }

    /// Why the store no longer takes writes, if it does not.
    pub fn poisoned(&self) -> Option<&str> {
        self.inner.poison.get().map(String::as_str)
    }

    /// Takes a capture in. It is readable at once, and durable after the next [`Store::commit`] or [`Store::seal`].
    pub fn append(&self, capture: impl Into<Arc<Capture>>) -> Result<Appended> {
        self.append_hashed(capture.into(), None)
    }

    /// The same, from one who knows SHA-1 of the main record's block, so that it need not be computed again.
    pub(crate) fn append_hashed(&self, capture: Arc<Capture>, block_sha1: Option<Sha1>) -> Result<Appended> {
        capture.check()?;
        self.act_hashed(Act::Store(capture), block_sha1, true)
    }

    /// Takes a capture out: nobody sees it from now on, it is never stored again, and its bytes go with the next
    /// [`Store::compact`]. Durable as an append is.
    pub fn remove(&self, id: &EntryKey) -> Result<()> {
        self.act(Act::Remove(id.clone())).map(|_| ())
    }

    /// Keeps a small named value, durable together with all that was appended before it. Empty forgets it.
    pub fn note(&self, name: &str, value: &[u8]) -> Result<()> {
        self.act(Act::Note(name.to_owned(), value.to_vec())).map(|_| ())
    }

    pub fn noted(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let waiting = self.inner.batches(|mut batches| batches.find_map(|b| b.noted(name).map(<[u8]>::to_vec)));
        match waiting {
            Some(value) => Ok((!value.is_empty()).then_some(value)),
            None => self.inner.engine.get(Table::Meta, &note_key(name)),
        }
    }

    /// The value as a crash would leave it: what lies in packs.
    pub fn noted_durably(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.inner.engine.get(Table::Meta, &note_key(name))
    }

    pub(crate) fn act(&self, act: Act) -> Result<Appended> {
        self.act_hashed(act, None, false)
    }

    /// `needs_room`: it is new, and not something that was taken in before and must be kept whatever there is left of the disk.
    fn act_hashed(&self, act: Act, block_sha1: Option<Sha1>, needs_room: bool) -> Result<Appended> {
        self.inner.writable()?;
        let mut pending = lock(&self.inner.pending);
        if let Act::Remove(_) | Act::Release(_) = act {
            self.inner.withdrawn.fetch_add(1, Release);
        }
        match act {
            Act::Note(name, value) => pending.active.note(name, value),
            Act::Store(capture) => {
                let id = capture.id();
                let state = self.state(&pending, &id)?;
                let weight = pending.active.weight();
                if needs_room && weight >= pending.room_upto && matches!(state, State::Absent | State::Released) {
                    let waiting = weight + pending.sealing.as_ref().map_or(0, |batch| batch.weight());
                    // What waits is written twice: to the journal, and to a pack.
                    let spare = self.inner.room_for(2 * waiting as u64)?;
                    pending.room_upto = if spare >= ROOM_AMPLE_BYTES { weight + ROOM_ASKED_EVERY_BYTES } else { 0 };
                }
                match state {
                    State::Absent => pending.active.store(capture, &id, block_sha1, false),
                    State::Released => pending.active.store(capture, &id, block_sha1, true),
                    State::Present { .. } => return Ok(Appended::Known),
                    State::Removed => return Ok(Appended::Removed),
                }
            }
            Act::Remove(id) => match self.state(&pending, &id)? {
                State::Absent | State::Released => pending.active.remove(id, false),
                State::Present { is_capture } => pending.active.remove(id, is_capture),
                State::Removed => return Ok(Appended::Removed),
            },
            Act::Release(id) => match self.state(&pending, &id)? {
                State::Present { is_capture } => pending.active.release(id, is_capture),
                State::Removed => return Ok(Appended::Removed),
                State::Absent | State::Released => return Ok(Appended::Known),
            },
        }
        pending.appended += 1;
        if pending.active.weight() >= self.inner.options.batch_bytes || pending.active.len() >= BATCH_CAPTURES {
            drop(pending);
            self.rotate()?;
        }
        Ok(Appended::Stored)
    }

    /// What is known of a capture. The batches first: what leaves them is in the index before it is gone from them.
    fn state(&self, pending: &Pending, id: &EntryKey) -> Result<State> {
        let key = id.encode();
        for batch in [Some(&pending.active), pending.sealing.as_deref()].into_iter().flatten() {
            match (batch.said(&key), batch.capture(&key)) {
                (Some(Said::Removed), _) => return Ok(State::Removed),
                (Some(Said::Released), _) => return Ok(State::Released),
                (_, Some(capture)) => return Ok(State::Present { is_capture: kind_is_capture(&capture.main.kind) }),
                _ => {}
            }
        }
        Ok(match self.inner.reader.entry(id)? {
            None => State::Absent,
            Some(entry) if entry.released => State::Released,
            Some(entry) if entry.removed => State::Removed,
            Some(entry) => State::Present { is_capture: entry.is_capture() },
        })
    }

    /// Makes everything appended so far survive a crash. Callers that come together share one sync: one of them does it
    /// for all, and the others leave as soon as what they appended is covered.
    pub fn commit(&self) -> Result<()> {
        let mine = lock(&self.inner.pending).appended;
        let mut durable = lock(&self.inner.durable);
        loop {
            self.inner.writable()?;
            if durable.upto >= mine {
                return Ok(());
            }
            if !durable.syncing {
                break;
            }
            durable = self.inner.synced.wait(durable).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        durable.syncing = true;
        drop(durable);
        let result = self.inner.sync_journal();
        let mut durable = lock(&self.inner.durable);
        durable.syncing = false;
        if let Ok(upto) = result {
            durable.upto = durable.upto.max(upto);
        }
        self.inner.synced.notify_all();
        result.map(|_| ())
    }

    /// Hands everything appended so far to the operating system: it survives the death of the process, which is less than
    /// [`Store::commit`] promises, and costs no sync.
    pub fn flush(&self) -> Result<()> {
        self.inner.write_journal()
    }

    /// Brings everything appended so far into packs, durably.
    pub fn seal(&self) -> Result<()> {
        self.rotate()?;
        let mut pending = lock(&self.inner.pending);
        while pending.sealing.is_some() && self.poisoned().is_none() {
            pending = self.inner.wait(pending);
        }
        // It is done, but has the store in its hands until it ends: whoever gives the store up must be able to open it
        // again.
        let sealer = pending.sealer.take();
        drop(pending);
        if let Some(sealer) = sealer {
            let _ = sealer.join();
        }
        self.inner.writable()
    }

    /// Seals and gives up the store, if nobody else has it.
    pub fn close(self) -> Result<()> {
        self.seal()?;
        self.inner.engine.persist()
    }

    /// Hands the active batch to the sealer and begins a new one. Waits while another is being sealed.
    fn rotate(&self) -> Result<()> {
        self.inner.writable()?;
        let mut journal = lock(&self.inner.journal);
        while journal.is_syncing {
            journal = self.inner.journal_synced.wait(journal).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        let mut pending = lock(&self.inner.pending);
        while pending.sealing.is_some() && self.poisoned().is_none() {
            pending = self.inner.wait(pending);
        }
        self.inner.writable()?;
        if pending.active.is_empty() {
            return Ok(());
        }
        // Whoever commits should not have to wait until the whole batch is in a pack.
        if pending.active.is_partly_journaled() {
            journal.write(&pending.active.unwritten()).map_err(|e| self.inner.poison(e))?;
            journal.sync().map_err(|e| self.inner.poison(e))?;
            let all = pending.active.len();
            pending.active.set_written(all);
            pending.active.set_journaled(all);
        }
        let batch = Arc::new(std::mem::take(&mut pending.active));
        pending.room_upto = 0;
        pending.sealing = Some(batch.clone());
        let number = pending.next_journal;
        // They are few at a time and removed soon: the numbers may go round.
        pending.next_journal = pending.next_journal.wrapping_add(1);
        let old = std::mem::replace(&mut *journal, Journal::new(self.inner.disk.clone(), number));
        drop((pending, journal));
        let inner = self.inner.clone();
        let work = move || inner.seal_batch(&batch, old);
        if self.inner.options.background {
            let spawned = std::thread::Builder::new().name("seal".into()).spawn(work);
            let sealer = spawned.map_err(|e| self.inner.poison(Error::disk("starting the sealing thread")(e)))?;
            let before = lock(&self.inner.pending).sealer.replace(sealer);
            if let Some(before) = before {
                // Its work was over before this one's began.
                let _ = before.join();
            }
            Ok(())
        } else {
            work();
            self.inner.writable()
        }
    }

    /// A place for a body that is too large for memory. `media` tells whether packing it is worth a try.
    pub fn blob_writer(&self, media: &str) -> Result<BlobWriter> {
        self.inner.writable()?;
        BlobWriter::new(self.inner.disk.clone(), !crate::media::is_compressed_media(media))
    }

    /// Reads a body in order, wherever it is.
    pub fn open_body<'a>(&self, body: &'a Body) -> Result<Box<dyn Read + Send + 'a>> {
        Ok(match body {
            Body::Bytes(bytes, _) => Box::new(&bytes[..]),
            Body::Blob { digests, .. } => Box::new(self.open_blob(&digests.sha256)?),
        })
    }

    /// A large body, to be read from any offset.
    pub fn open_blob(&self, digest: &Sha256) -> Result<BlobReader> {
        BlobReader::open(&*self.inner.disk, digest)
    }

    /// A large body from an offset on. What stands before it is not read, but for the rest of its chunk.
    pub fn open_blob_at(&self, digest: &Sha256, offset: u64) -> Result<BlobReader> {
        let mut reader = self.open_blob(digest)?;
        reader.seek_to(offset);
        Ok(reader)
    }

    /// Reads a capture, whole and checked. `None`: it is not here, or was removed.
    pub fn read(&self, id: &EntryKey) -> Result<Option<Capture>> {
        match self.inner.waiting(id) {
            Some(Waiting::Removed | Waiting::Released) => Ok(None),
            Some(Waiting::Stored(capture)) => Ok(Some(Capture::clone(&capture))),
            None => self.inner.at_place(id, |place| self.inner.reader.capture(id, place)),
        }
    }

    /// How many captures of a key there are, without looking at them.
    pub fn count(&self, key: &str) -> Result<u64> {
        let waiting: i64 = self.inner.batches(|batches| batches.map(|b| b.count(key)).sum());
        Ok(count_of(self.inner.engine.get(Table::Urls, key.as_bytes())?).saturating_add_signed(waiting))
    }

    /// Totals of what lies in packs.
    pub fn totals(&self) -> Result<Totals> {
        directory::totals(&*self.inner.engine)
    }
}

impl Inner {
    /// Looks at what waits in memory, the newest first.
    pub(crate) fn batches<T>(&self, look: impl FnOnce(Batches<'_>) -> T) -> T {
        let pending = lock(&self.pending);
        look([Some(&pending.active), pending.sealing.as_deref()].into_iter().flatten())
    }

    /// What waits in memory of this capture. It must be asked before the index: what leaves memory is there already.
    pub(crate) fn waiting(&self, id: &EntryKey) -> Option<Waiting> {
        let key = id.encode();
        self.batches(|mut batches| {
            batches.find_map(|batch| match (batch.said(&key), batch.capture(&key)) {
                (Some(Said::Removed), _) => Some(Waiting::Removed),
                (Some(Said::Released), _) => Some(Waiting::Released),
                (_, Some(capture)) => Some(Waiting::Stored(capture.clone())),
                _ => None,
            })
        })
    }

    /// Reads a capture that lies in a pack. `None`: it does not, or was removed.
    pub(crate) fn at_place<T>(&self, id: &EntryKey, read: impl Fn(Place) -> Result<T>) -> Result<Option<T>> {
        let mut before = None;
        loop {
            let Some(entry) = self.reader.entry(id)?.filter(|e| !e.removed) else { return Ok(None) };
            let Some(place) = entry.place else { return Ok(None) };
            match read(place) {
                // A compaction may have moved it between the two look-ups.
                Err(Error::Damaged(_)) if before != Some(place) => before = Some(place),
                other => return other.map(Some),
            }
        }
    }

    pub(crate) fn writable(&self) -> Result<()> {
        self.poison.get().map_or(Ok(()), |why| Err(Error::Poisoned(why.clone())))
    }

    /// Refuses what would use up the disk, while nothing is broken yet. Says how much would be left, as far as that is known.
    pub(crate) fn room_for(&self, bytes: u64) -> Result<u64> {
        let wanted = bytes.saturating_add(RESERVE_BYTES);
        let free = self.disk.free_bytes();
        match free {
            Some(free) if free < wanted => Err(Error::Full { free, wanted }),
            _ => Ok(free.map_or(0, |free| free - wanted)),
        }
    }

    /// From now on, no more writes.
    pub(crate) fn poison(&self, error: Error) -> Error {
        let _ = self.poison.set(error.to_string());
        // Whoever waits for a write to finish must learn that it will not.
        self.changed.notify_all();
        self.synced.notify_all();
        error
    }

    /// Writes what is new in the active batch to the journal, and says up to which act that was.
    fn sync_journal(&self) -> Result<u64> {
        let mut journal = lock(&self.journal);
        let (acts, upto, len) = {
            let mut pending = lock(&self.pending);
            // A batch on its way into a pack is durable when it has arrived.
            while pending.sealing.as_ref().is_some_and(|b| !b.is_journaled()) && self.poison.get().is_none() {
                pending = self.wait(pending);
            }
            (pending.active.unwritten(), pending.appended, pending.active.len())
        };
        self.writable()?;
        journal.write(&acts).map_err(|e| self.poison(e))?;
        lock(&self.pending).active.set_written(len);
        // Others may write meanwhile; only the batch must not be taken away, which waits for this.
        let (file, written) = journal.begin_sync();
        drop(journal);
        let result = file.map_or(Ok(()), |file| file.sync().map_err(Error::disk("syncing the journal")));
        let mut journal = lock(&self.journal);
        journal.end_sync(if result.is_ok() { written } else { u64::MAX });
        self.journal_synced.notify_all();
        result.map_err(|e| self.poison(e))?;
        let mut pending = lock(&self.pending);
        pending.active.set_journaled(len);
        Ok(upto)
    }

    fn write_journal(&self) -> Result<()> {
        let mut journal = lock(&self.journal);
        let (acts, len) = {
            let pending = lock(&self.pending);
            (pending.active.unwritten(), pending.active.len())
        };
        self.writable()?;
        journal.write(&acts).map_err(|e| self.poison(e))?;
        lock(&self.pending).active.set_written(len);
        Ok(())
    }

    fn wait<'a>(&self, pending: MutexGuard<'a, Pending>) -> MutexGuard<'a, Pending> {
        self.changed.wait(pending).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn seal_batch(&self, batch: &Batch, journal: Journal) {
        let result = self.write_batch(batch).and_then(|()| journal.remove());
        if let Err(error) = result {
            // The batch stays readable in memory, and its journal on disk.
            self.poison(error);
        } else {
            lock(&self.pending).sealing = None;
        }
        let _pending = lock(&self.pending);
        self.changed.notify_all();
    }

    fn write_batch(&self, batch: &Batch) -> Result<()> {
        let mut writer = lock(&self.writer);
        writer.begin(false)?;
        let mut sealer = Sealer::new(&self.reader, &*self.engine, &mut writer);
        for one in batch.captures() {
            let id = EntryKey::decode(one.key).ok_or_else(|| Error::Damaged("a batch lost its keys".into()))?;
            // It came in a shipment while it waited here. Written again it would be another item under the same name, or lean on itself.
            let is_here = || Ok::<_, Error>(self.reader.entry(&id)?.is_some_and(|entry| !entry.removed));
            if !one.returns && self.has_adopted.load(Acquire) && is_here()? {
                continue;
            }
            if one.returns {
                sealer.returning(&id, one.capture, one.block_sha1)?;
            } else {
                sealer.capture(&id, one.capture, one.block_sha1)?;
            }
        }
        for op in batch.other_ops() {
            sealer.op(op);
        }
        self.finish(sealer)
    }

    /// A reader that has nothing in memory: what it finds is on the disk.
    pub(crate) fn fresh_reader(&self) -> ItemReader {
        ItemReader::new(Packs::new(self.disk.clone()), self.engine.clone())
    }

    /// Ends a seal and tells the index.
    pub(crate) fn finish(&self, sealer: Sealer<'_>) -> Result<()> {
        let number = sealer.pack();
        let (ops, end) = sealer.finish()?;
        directory::apply(&*self.engine, number, end, &ops)
    }

    /// The same of captures of which nothing is known here, each once.
    pub(crate) fn finish_new(&self, sealer: Sealer<'_>) -> Result<()> {
        let number = sealer.pack();
        let (ops, end) = sealer.finish()?;
        directory::apply_new(&*self.engine, number, end, &ops)
    }
}
