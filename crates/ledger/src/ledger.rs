//! The ledger itself: taking records in, the later one counting; what waits to be handed on; letting go.

use crate::error::{Error, Result};
use crate::places::{decode_sum, encode_sum, row_key};
use crate::record::{Name, Record};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use herodotus_base::Id;
use herodotus_replica::Sum;
use herodotus_ring::placement::Placement;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Of the files: which tables there are and what is in their rows.
const FORMAT: u8 = 1;
const FORMAT_KEY: &[u8] = b"format";
const PLACEMENT_KEY: &[u8] = b"placement";

const CACHE_BYTES: u64 = 16 << 20;
const BUFFER_BYTES: u64 = 8 << 20;
const JOURNAL_BYTES: u64 = 64 << 20;

/// Records of a machine. Clones are the same.
#[derive(Clone)]
pub struct Ledger {
    database: Database,
    /// By bucket, then by name.
    pub(crate) records: Keyspace,
    /// By place, then by bucket: the sum of what lies there.
    pub(crate) rows: Keyspace,
    /// What was made here and is not handed on yet, in the order in which it was made.
    pending: Keyspace,
    made: Arc<AtomicU64>,
    /// Nothing waits that has a smaller number. What was taken out leaves a mark in the table until that is tidied up: whoever began at the first would step over all
    /// of them, each time.
    oldest: Arc<AtomicU64>,
    pub(crate) notes: Keyspace,
    pub(crate) placement: Placement,
    writer: Arc<Mutex<()>>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

/// What became of a record that was shown to the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// It is new, or later than what was here.
    Kept,
    /// This very record is here, or a later one.
    Known,
}

impl Ledger {
    /// Opens a machine's ledger, or begins one. A ring places things in one way for ever; a ledger of another ring is refused.
    pub fn open(dir: &Path, placement: Placement) -> Result<Self> {
        let database = Database::builder(dir)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNAL_BYTES)
            .worker_threads(1)
            .open()?;
        let keyspace =
            |name: &str| database.keyspace(name, || KeyspaceCreateOptions::default().max_memtable_size(BUFFER_BYTES));
        let ledger = Self {
            records: keyspace("records")?,
            rows: keyspace("places")?,
            pending: keyspace("pending")?,
            notes: keyspace("notes")?,
            database,
            placement,
            writer: Arc::default(),
            made: Arc::default(),
            oldest: Arc::default(),
        };
        ledger.begin()?;
        Ok(ledger)
    }

    fn begin(&self) -> Result<()> {
        if let Some(last) = self.pending.last_key_value() {
            let (made, _) = last.into_inner()?;
            let made = made.as_ref().try_into().map_err(|_| Error::Damaged("what waits cannot be read"))?;
            self.made.store(u64::from_be_bytes(made) + 1, Relaxed);
        }
        let placement = [match self.placement {
            Placement::ByHost => 0,
            Placement::ByUrl => 1,
        }];
        match self.notes.get(FORMAT_KEY)?.as_deref() {
            None => {
                let mut batch = self.batch();
                batch.insert(&self.notes, FORMAT_KEY, [FORMAT]);
                batch.insert(&self.notes, PLACEMENT_KEY, placement);
                batch.commit()?;
            }
            Some([FORMAT]) => {}
            Some([newer, ..]) => return Err(Error::Newer(*newer)),
            Some([]) => return Err(Error::Damaged("its version cannot be read")),
        }
        match self.notes.get(PLACEMENT_KEY)? {
            Some(noted) if *noted == placement => Ok(()),
            _ => Err(Error::Refused("this ledger is of a ring that places things in another way")),
        }
    }

    pub(crate) fn batch(&self) -> OwnedWriteBatch {
        self.database.batch().durability(Some(PersistMode::Buffer))
    }

    pub(crate) fn writer(&self) -> MutexGuard<'_, ()> {
        // What a batch did not commit is not there: nothing to repair behind one who panicked.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in records that others made. On the disk after [`Ledger::sync`].
    pub fn take(&self, records: &[Record]) -> Result<Vec<Taken>> {
        self.put(records, false)
    }

    /// Takes in records that this machine made, to be handed on.
    pub fn write(&self, records: &[Record]) -> Result<Vec<Taken>> {
        self.put(records, true)
    }

    fn put(&self, records: &[Record], is_own: bool) -> Result<Vec<Taken>> {
        records.iter().try_for_each(Record::check)?;
        let _writer = self.writer();
        let mut batch = self.batch();
        // Within one batch: what was put under a name, and what a row is to be.
        let mut put: BTreeMap<Vec<u8>, &Record> = BTreeMap::new();
        let mut sums: BTreeMap<(Id, &str), Sum> = BTreeMap::new();
        let mut taken = Vec::with_capacity(records.len());
        for record in records {
            let bucket = record.name.bucket(self.placement);
            let name = record.name.encode();
            let key = record_key(bucket, &name);
            let stored = match put.get(&key) {
                Some(known) => Some((*known).clone()),
                None => self.records.get(&key)?.map(|value| Record::decode(&name, &value)).transpose()?,
            };
            if stored.as_ref().is_some_and(|stored| !record.is_later_than(stored)) {
                taken.push(Taken::Known);
                continue;
            }
            let place = record.name.place(self.placement, self.parts(bucket)?);
            let sum = match sums.entry((place, bucket)) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(new) => new.insert(self.sum(place, bucket)?),
            };
            if let Some(stored) = &stored {
                sum.take(stored.mark());
            }
            sum.add(record.mark());
            batch.insert(&self.records, key.clone(), record.encode_value());
            if is_own {
                let made = self.made.fetch_add(1, Relaxed);
                batch.insert(&self.pending, made.to_be_bytes(), pending_value(&name, record));
            }
            put.insert(key, record);
            taken.push(Taken::Kept);
        }
        for ((place, bucket), sum) in sums {
            batch.insert(&self.rows, row_key(place, bucket), encode_sum(sum));
        }
        batch.commit()?;
        Ok(taken)
    }

    fn sum(&self, place: Id, bucket: &str) -> Result<Sum> {
        let row = self.rows.get(row_key(place, bucket))?;
        row.map_or(Ok(Sum::default()), |value| decode_sum(&value))
    }

    /// Everything that was written before is on the disk when it returns.
    pub fn sync(&self) -> Result<()> {
        Ok(self.database.persist(PersistMode::SyncData)?)
    }

    pub fn get(&self, name: &Name) -> Result<Option<Record>> {
        let encoded = name.encode();
        let value = self.records.get(record_key(name.bucket(self.placement), &encoded))?;
        value.map(|value| Record::decode(&encoded, &value)).transpose()
    }

    /// Where a record of this name lies.
    pub fn place_of(&self, name: &Name) -> Result<Id> {
        Ok(name.place(self.placement, self.parts(name.bucket(self.placement))?))
    }

    /// The crawls, in order of their names.
    pub fn crawls(&self) -> impl Iterator<Item = Result<Record>> + use<> {
        self.in_bucket("").filter(|record| record.as_ref().map_or(true, |record| matches!(record.name, Name::Crawl(_))))
    }

    /// Some of what was made here and is not handed on yet, the first first, each as it was when it was made: whoever has one has all that was made
    /// before it. With what it is to be taken out by.
    pub fn pending(&self, max: usize) -> Result<Vec<(u64, Record)>> {
        let mut records = Vec::new();
        let from = self.oldest.load(Relaxed);
        for pair in self.pending.range(from.to_be_bytes()..).take(max) {
            let (made, value) = pair.into_inner()?;
            let read = || {
                let (len, rest) = value.split_first_chunk::<4>()?;
                let (name, value) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
                Some((u64::from_be_bytes(made.as_ref().try_into().ok()?), name, value))
            };
            let (made, name, value) = read().ok_or(Error::Damaged("what waits cannot be read"))?;
            records.push((made, Record::decode(name, value)?));
        }
        if let Some((first, _)) = records.first() {
            // Numbers are given in order, so nothing comes before it any more.
            self.oldest.fetch_max(*first, Relaxed);
        }
        Ok(records)
    }

    /// What the next record that is made here will be taken out by: everything made before has a smaller number.
    pub fn next_made(&self) -> u64 {
        // With the lock, since a number is given before its record is written.
        let _writer = self.writer();
        self.made.load(Relaxed)
    }

    /// These were handed on.
    pub fn handed_on(&self, made: impl IntoIterator<Item = u64>) -> Result<()> {
        let mut batch = self.batch();
        made.into_iter().for_each(|made| batch.remove(&self.pending, made.to_be_bytes()));
        Ok(batch.commit()?)
    }

    /// Lets records go, if they are still of the version that was confirmed. How many were.
    pub fn release(&self, records: &[Record]) -> Result<usize> {
        let _writer = self.writer();
        let mut batch = self.batch();
        let mut sums: BTreeMap<(Id, &str), Sum> = BTreeMap::new();
        let mut released = 0;
        for record in records {
            if self.get(&record.name)?.as_ref() != Some(record) {
                continue;
            }
            let bucket = record.name.bucket(self.placement);
            let place = record.name.place(self.placement, self.parts(bucket)?);
            let sum = match sums.entry((place, bucket)) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(new) => new.insert(self.sum(place, bucket)?),
            };
            sum.take(record.mark());
            batch.remove(&self.records, record_key(bucket, &record.name.encode()));
            released += 1;
        }
        for ((place, bucket), sum) in sums {
            match sum.count {
                0 => batch.remove(&self.rows, row_key(place, bucket)),
                _ => batch.insert(&self.rows, row_key(place, bucket), encode_sum(sum)),
            }
        }
        batch.commit()?;
        Ok(released)
    }
}

fn record_key(bucket: &str, name: &[u8]) -> Vec<u8> {
    [bucket.as_bytes(), &[0], name].concat()
}

fn pending_value(name: &[u8], record: &Record) -> Vec<u8> {
    let len = u32::try_from(name.len()).unwrap_or(u32::MAX);
    [&len.to_be_bytes()[..], name, &record.encode_value()].concat()
}
