//! The table of places: for every place on the circle, and every bucket that lies there, how many entries there are and the sum of
//! their marks. Two machines that hold the same have the same sums, so copies are compared by it (decision 0012).
//!
//! It is derived, as all of the index is: [`crate::directory::apply`] changes it in the same atomic batch as the entries, and only
//! in an archive that was given a placement; others pay nothing. The placement and the parts of a host are notes, and so lie in
//! the packs: a table that is missing, half built or another placement's is known as such, and is built again by one scan.
//! What waits in memory is not in the table until it is sealed. Entries that were released are in it no more.

use crate::Store;
use crate::directory::note_key;
use crate::error::{Error, Result};
use crate::index::{Engine, Entry, EntryKey, Table, Write};
use crate::limits::{HOST_PARTS_MAX, PLACES_BATCH_ROWS};
use crate::read::decode_entry;
use crate::store::Inner;
use crate::wire::{Cursor, Put};
use herodotus_base::Id;
use herodotus_replica::{Mark, Sum};
use herodotus_ring::placement::{Placement, bucket_of_key, place_of_key, place_of_part};
use quick_cache::sync::Cache;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

const FORM: u8 = 1;
/// Meta key: which placement the table is of, and whether it is whole.
const STATE_KEY: &[u8] = b"places";
/// Names of the notes.
const PLACEMENT_NOTE: &str = "ring:placement";
const PARTS_NOTE: &str = "ring:parts:";
/// Behind all of these.
const PARTS_NOTE_END: &str = "ring:parts;";
/// Behind every row of a place, and every entry: no UTF-8 has this byte.
const LAST: u8 = 0xff;

/// Rows of the table: place, bucket, and the sum of what lies there.
pub type Places<'a> = Box<dyn Iterator<Item = Result<(Id, String, Sum)>> + Send + 'a>;
/// Entries at a place: name, whether it was removed, and mark.
pub type PlacedEntries<'a> = Box<dyn Iterator<Item = Result<(EntryKey, bool, Mark)>> + Send + 'a>;

/// Hosts whose parts are remembered: they are asked for with every link, and change seldom.
const PARTS_KNOWN_MAX: usize = 1 << 14;

#[derive(Debug)]
pub(crate) struct PartsMemory {
    /// How often parts were set. What was read before the last time is not believed.
    splits: AtomicU64,
    known: Cache<String, (u64, u32)>,
}

impl Default for PartsMemory {
    fn default() -> Self {
        Self { splits: AtomicU64::new(0), known: Cache::new(PARTS_KNOWN_MAX) }
    }
}

impl Store {
    /// Makes the archive one of a ring that places things so. Builds the table unless it is there; that takes one scan of the
    /// index, in which nothing is sealed.
    pub fn set_placement(&self, placement: Placement) -> Result<()> {
        let value = [FORM, code_of(placement)];
        if self.noted(PLACEMENT_NOTE)?.as_deref() != Some(&value[..]) {
            self.note(PLACEMENT_NOTE, &value)?;
        }
        self.seal()?;
        self.inner.keep_places().map(|_| ())
    }

    /// The placement of the ring that the archive belongs to.
    pub fn placement(&self) -> Result<Option<Placement>> {
        Ok(self.noted(PLACEMENT_NOTE)?.and_then(|value| decode_placement(&value)))
    }

    /// Splits a host's entries into so many parts, a power of two, or joins them again. Durable when it returns.
    pub fn set_parts(&self, host_bucket: &str, parts: u32) -> Result<()> {
        check_parts(host_bucket, parts)?;
        if self.parts(host_bucket)? == parts {
            return Ok(());
        }
        self.note_parts(host_bucket, parts)?;
        self.seal()
    }

    /// Splits hosts into at least so many parts, durably, with one seal for all of them, and gives those that had fewer. Whoever calls it
    /// sees to it that nobody else sets parts meanwhile.
    pub fn raise_parts(&self, hosts: &[(String, u32)]) -> Result<Vec<(String, u32)>> {
        let mut raised = Vec::new();
        for (bucket, parts) in hosts {
            check_parts(bucket, *parts)?;
            if self.parts(bucket)? < *parts {
                self.note_parts(bucket, *parts)?;
                raised.push((bucket.clone(), *parts));
            }
        }
        if !raised.is_empty() {
            self.seal()?;
        }
        Ok(raised)
    }

    /// Every host that was split, and into how many parts.
    pub fn split_hosts(&self) -> Result<Vec<(String, u32)>> {
        let (from, to) = (parts_key(""), note_key(PARTS_NOTE_END));
        let notes = self.inner.engine.range(Table::Meta, &from, &to, false);
        let mut hosts = Vec::new();
        for note in notes {
            let (key, value) = note?;
            let bucket = key.strip_prefix(from.as_slice()).and_then(|bucket| std::str::from_utf8(bucket).ok());
            let parts = decode_parts(Some(&value));
            hosts.extend(bucket.filter(|_| parts > 1).map(|bucket| (bucket.to_owned(), parts)));
        }
        Ok(hosts)
    }

    /// How many parts a host has; one, unless it was split.
    pub fn parts(&self, host_bucket: &str) -> Result<u32> {
        let memory = &self.inner.parts;
        let splits = memory.splits.load(Acquire);
        if let Some((then, parts)) = memory.known.get(host_bucket)
            && then == splits
        {
            return Ok(parts);
        }
        let parts = decode_parts(self.noted(&parts_note(host_bucket))?.as_deref());
        memory.known.insert(host_bucket.to_owned(), (splits, parts));
        Ok(parts)
    }

    fn note_parts(&self, host_bucket: &str, parts: u32) -> Result<()> {
        let noted = self.note(&parts_note(host_bucket), &encode_parts(parts));
        // Afterwards: what somebody read before is not taken for news.
        self.inner.parts.splits.fetch_add(1, AcqRel);
        noted
    }

    /// The rows on the arc `(from, to]`, clockwise; from a place to itself is the whole circle.
    pub fn places(&self, from: Id, to: Id) -> Places<'_> {
        if let Err(error) = self.whole_table() {
            return Box::new(std::iter::once(Err(error)));
        }
        let behind = |place: Id| [&place.0[..], &[LAST]].concat();
        let rows = |from: &[u8], to: &[u8]| self.inner.engine.range(Table::Places, from, to, false).map(decode_row);
        if from < to {
            Box::new(rows(&behind(from), &behind(to)))
        } else {
            Box::new(rows(&behind(from), &behind(Id([LAST; 32]))).chain(rows(&[], &behind(to))))
        }
    }

    /// The entries of a bucket that lie at a place, in order of their keys.
    pub fn entries_at(&self, place: Id, bucket: &str) -> PlacedEntries<'_> {
        let known = self.whole_table().and_then(|placement| Ok((placement, parts_of(&*self.inner.engine, bucket)?)));
        let (placement, parts) = match known {
            Ok(known) => known,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        let mut last: Option<(String, bool)> = None;
        Box::new(entries_of(&*self.inner.engine, placement, bucket).filter_map(move |entry| {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error)),
            };
            // Versions of one URL stand together.
            if last.as_ref().is_none_or(|(key, _)| *key != entry.id.key) {
                last = Some((entry.id.key.clone(), place_of_key(placement, &entry.id.key, parts) == place));
            }
            let is_here = last.as_ref().is_some_and(|(_, is_here)| *is_here);
            let mark = said_of(&entry).filter(|_| is_here).map(|said| Mark::of(&entry.id.encode(), said))?;
            Some(Ok((entry.id, entry.removed, mark)))
        }))
    }

    fn whole_table(&self) -> Result<Placement> {
        let missing = || Error::Refused("the archive has no table of places: it belongs to no ring".into());
        table_of(&*self.inner.engine)?.ok_or_else(missing)
    }
}

impl Inner {
    /// Builds the table if the archive has a placement, and the table is not whole or is another's. Says whether it did. Nothing
    /// is sealed meanwhile: whoever seals holds the writer.
    pub(crate) fn keep_places(&self) -> Result<bool> {
        let _writer = self.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let engine = &*self.engine;
        let noted = engine.get(Table::Meta, &note_key(PLACEMENT_NOTE))?;
        let Some(placement) = noted.and_then(|value| decode_placement(&value)) else { return Ok(false) };
        if table_of(engine)? == Some(placement) {
            return Ok(false);
        }
        build(engine, placement, PLACES_BATCH_ROWS).map(|()| true)
    }
}

/// The placement of the table, if it is whole: then it must be kept up.
pub(crate) fn table_of(engine: &dyn Engine) -> Result<Option<Placement>> {
    let state = engine.get(Table::Meta, STATE_KEY)?;
    Ok(state.and_then(|state| decode_placement(&state).filter(|_| state.get(2) == Some(&1))))
}

fn state_row(placement: Placement, is_whole: bool) -> Write {
    let value = vec![FORM, code_of(placement), u8::from(is_whole)];
    Write { table: Table::Meta, key: STATE_KEY.to_vec(), value: Some(value) }
}

/// Makes the table from the entries. In its first batch it is said to be half built, and in its last to be whole, so that a
/// crash in between is noticed.
fn build(engine: &dyn Engine, placement: Placement, rows_max: usize) -> Result<()> {
    engine.write(vec![state_row(placement, false)])?;
    loop {
        let old = engine.range(Table::Places, &[], &[LAST; 33], false).take(rows_max);
        let old: Vec<_> =
            old.map(|row| Ok(Write { table: Table::Places, key: row?.0, value: None })).collect::<Result<_>>()?;
        if old.is_empty() {
            break;
        }
        engine.write(old)?;
    }
    let mut sums: BTreeMap<Vec<u8>, Sum> = BTreeMap::new();
    let mut parts: HashMap<String, u32> = HashMap::new();
    for pair in engine.range(Table::Captures, &[], &[LAST; 4], false) {
        let (key, value) = pair?;
        let entry = decode_pair(&key, &value)?;
        let Some(said) = said_of(&entry) else { continue };
        let bucket = bucket_of_key(placement, &entry.id.key);
        if !parts.contains_key(bucket) {
            // Entries come by host: what was asked for one is hardly needed for the next.
            parts.clear();
            parts.insert(bucket.to_owned(), parts_of(engine, bucket)?);
        }
        let place = place_of_key(placement, &entry.id.key, parts.get(bucket).copied().unwrap_or(1));
        sums.entry(row_key(place, bucket)).or_default().add(Mark::of(&key, said));
        if sums.len() >= rows_max {
            add_rows(engine, std::mem::take(&mut sums), Vec::new())?;
        }
    }
    add_rows(engine, sums, vec![state_row(placement, true)])
}

/// Adds to rows that may be there already: the entries of a bucket need not stand together.
fn add_rows(engine: &dyn Engine, sums: BTreeMap<Vec<u8>, Sum>, mut batch: Vec<Write>) -> Result<()> {
    for (key, mut sum) in sums {
        sum.join(sum_of(engine.get(Table::Places, &key)?)?);
        batch.push(Write { table: Table::Places, key, value: encode_sum(sum) });
    }
    engine.write(batch)
}

/// What an entry's mark says of it; nothing of one that was released.
pub(crate) fn said_of(entry: &Entry) -> Option<&'static [u8]> {
    match (entry.removed, entry.released) {
        (false, _) => Some(b"present"),
        (true, false) => Some(b"removed"),
        (true, true) => None,
    }
}

/// What the rows of a host are, by the entries in the index, when it has so many parts.
pub(crate) fn rows_of_host(engine: &dyn Engine, bucket: &str, parts: u32) -> Result<BTreeMap<Vec<u8>, Sum>> {
    let mut sums: BTreeMap<Vec<u8>, Sum> = BTreeMap::new();
    for entry in entries_of(engine, Placement::ByHost, bucket) {
        let entry = entry?;
        let Some(said) = said_of(&entry) else { continue };
        let place = place_of_key(Placement::ByHost, &entry.id.key, parts);
        sums.entry(row_key(place, bucket)).or_default().add(Mark::of(&entry.id.encode(), said));
    }
    Ok(sums)
}

/// The rows that a host of so many parts can have.
pub(crate) fn row_keys_of_host(bucket: &str, parts: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..parts).map(move |part| row_key(place_of_part(bucket, part), bucket))
}

pub(crate) fn row_key(place: Id, bucket: &str) -> Vec<u8> {
    [&place.0[..], bucket.as_bytes()].concat()
}

/// A row's value; no row where nothing lies.
pub(crate) fn encode_sum(sum: Sum) -> Option<Vec<u8>> {
    let mut out = vec![FORM];
    out.put_u64(sum.count);
    out.put_raw(&sum.total.to_be_bytes());
    (sum.count > 0).then_some(out)
}

pub(crate) fn sum_of(value: Option<Vec<u8>>) -> Result<Sum> {
    let Some(value) = value else { return Ok(Sum::default()) };
    let mut c = Cursor::new(&value);
    let sum = (c.u8() == Some(FORM)).then(|| Some(Sum { count: c.u64()?, total: u128::from_be_bytes(c.array()?) }));
    sum.flatten().ok_or_else(|| Error::Damaged("a row of the table of places cannot be read".into()))
}

fn decode_row(pair: Result<(Vec<u8>, Vec<u8>)>) -> Result<(Id, String, Sum)> {
    let (key, value) = pair?;
    let row =
        key.split_first_chunk::<32>().and_then(|(place, bucket)| Some((*place, std::str::from_utf8(bucket).ok()?)));
    let (place, bucket) = row.ok_or_else(|| Error::Damaged("a row of the table of places has no place".into()))?;
    Ok((Id(place), bucket.to_owned(), sum_of(Some(value))?))
}

/// Entries of a bucket, whether or not they may be seen.
fn entries_of<'a>(
    engine: &'a dyn Engine,
    placement: Placement,
    bucket: &str,
) -> impl Iterator<Item = Result<Entry>> + Send + use<'a> {
    let wanted = bucket.to_owned();
    let ranges = ranges_of(placement, bucket);
    let pairs = ranges.into_iter().flat_map(move |(from, to)| engine.range(Table::Captures, &from, &to, false));
    let entries = pairs.map(|pair| pair.and_then(|(key, value)| decode_pair(&key, &value)));
    entries.filter(move |e| e.as_ref().map_or(true, |entry| bucket_of_key(placement, &entry.id.key) == wanted))
}

/// Where the keys of a bucket lie among the entries; others may lie between them.
fn ranges_of(placement: Placement, bucket: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let between = |from: String, to: String| (from.into_bytes(), to.into_bytes());
    match (placement, bucket.strip_suffix(':')) {
        (Placement::ByUrl, _) => vec![EntryKey::range_of(bucket)],
        // `urn:`, and all that begins with it.
        (Placement::ByHost, Some(scheme)) => vec![between(bucket.to_owned(), format!("{scheme};"))],
        // A key that is nothing but a host, and the host's paths.
        (Placement::ByHost, None) => {
            vec![EntryKey::range_of(bucket), between(format!("{bucket})/"), format!("{bucket})0"))]
        }
    }
}

fn decode_pair(key: &[u8], value: &[u8]) -> Result<Entry> {
    let id = EntryKey::decode(key).ok_or_else(|| Error::Damaged("a key in the index cannot be read".into()))?;
    decode_entry(id, value)
}

fn parts_note(bucket: &str) -> String {
    format!("{PARTS_NOTE}{bucket}")
}

/// The host whose parts a note tells.
pub(crate) fn host_of_note(name: &str) -> Option<&str> {
    name.strip_prefix(PARTS_NOTE)
}

/// Meta key of the note that tells a bucket's parts.
pub(crate) fn parts_key(bucket: &str) -> Vec<u8> {
    note_key(&parts_note(bucket))
}

fn parts_of(engine: &dyn Engine, bucket: &str) -> Result<u32> {
    Ok(decode_parts(engine.get(Table::Meta, &parts_key(bucket))?.as_deref()))
}

fn check_parts(bucket: &str, parts: u32) -> Result<()> {
    if parts.is_power_of_two() && parts <= HOST_PARTS_MAX {
        return Ok(());
    }
    Err(Error::Refused(format!("{parts} parts of {bucket}: it must be a power of two up to {HOST_PARTS_MAX}")))
}

/// Never an empty value, which would forget the note: a later one says the same, and more clearly.
fn encode_parts(parts: u32) -> Vec<u8> {
    let mut value = Vec::new();
    value.put_u64(u64::from(parts));
    value
}

/// One part, unless a sane number is said.
pub(crate) fn decode_parts(value: Option<&[u8]>) -> u32 {
    let parts = value.and_then(|value| Cursor::new(value).u32());
    parts.filter(|parts| parts.is_power_of_two() && *parts <= HOST_PARTS_MAX).unwrap_or(1)
}

fn code_of(placement: Placement) -> u8 {
    match placement {
        Placement::ByHost => 0,
        Placement::ByUrl => 1,
    }
}

fn decode_placement(value: &[u8]) -> Option<Placement> {
    match value.get(..2)? {
        [FORM, 0] => Some(Placement::ByHost),
        [FORM, 1] => Some(Placement::ByUrl),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::MemoryEngine;

    #[test]
    fn every_key_lies_in_the_ranges_of_its_bucket() {
        let keys = [
            "org,example)/",
            "org,example)/a)/b?c",
            "org,example:8080)/",
            "org,example,sub)/x",
            "org,example:)/x",
            "localhost:8080)/",
            "localhost:abc",
            "urn:uuid:1",
            "urn:x)/",
            "dns:www.example.org",
            "::1)/",
            "fe80::1:81)/a",
            "!warcinfo/org,example)/",
            "!warcinfo/urn:a",
            "-",
            "",
        ];
        for key in keys {
            for placement in [Placement::ByHost, Placement::ByUrl] {
                let bucket = bucket_of_key(placement, key);
                let entry = EntryKey { key: key.into(), time: Default::default(), tag: [7; 8] }.encode();
                let ranges = ranges_of(placement, bucket);
                let holding = ranges.iter().filter(|(from, to)| (from..to).contains(&&entry)).count();
                assert_eq!(holding, 1, "{key:?} in {bucket:?}");
            }
        }
    }

    #[test]
    fn a_table_built_row_by_row_is_the_one_built_at_once() {
        let engine = MemoryEngine::new();
        let keys =
            ["urn:a", "org,example)/", "localhost:8080)/", "localhost:a", "localhost:b", "org,example)/2", "urn:b"];
        for (n, key) in keys.into_iter().enumerate() {
            let mut entry = Entry::gone(EntryKey { key: key.into(), time: Default::default(), tag: [n as u8; 8] });
            entry.released = n == 1;
            let value = Some(entry.encode_value());
            engine.write(vec![Write { table: Table::Captures, key: entry.id.encode(), value }]).unwrap();
        }
        let rows = || engine.range(Table::Places, &[], &[LAST; 33], false).collect::<Result<Vec<_>>>().unwrap();
        build(&engine, Placement::ByHost, 100).unwrap();
        let at_once = rows();
        assert_eq!(at_once.len(), 4, "urn:, localhost:8080, localhost:, org,example");
        build(&engine, Placement::ByUrl, 100).unwrap();
        assert_eq!(rows().len(), 6);
        build(&engine, Placement::ByHost, 1).unwrap();
        assert_eq!(rows(), at_once);
        assert_eq!(table_of(&engine).unwrap(), Some(Placement::ByHost));
        // Stopped anywhere, it is not taken for whole.
        let (all, _) = engine.batches();
        for batches in all - 3..all {
            assert_eq!(table_of(&engine.image(batches)).unwrap(), None);
        }
    }
}
