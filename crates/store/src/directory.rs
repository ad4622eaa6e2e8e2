//! The directory that ends each seal in a pack: the operations on the index that the seal stands for. Writing them and
//! replaying them after a crash is one and the same code ([`apply`]), so the two cannot disagree.
//!
//! Operations commute where it matters: a removal wins over every copy of what it removes, whichever is read first. A release does
//! not: what came after it counts, and [`crate::release`] says why it is never read later than that.

use crate::error::{Error, Result};
use crate::index::{BodyAt, BodyKey, BodyPlace, Engine, Entry, EntryKey, Table, Totals, Write, kind_is_capture};
use crate::limits::RECENT_MAX;
use crate::places;
use crate::wire::{Cursor, Put};
use herodotus_replica::Mark;
use herodotus_ring::placement::{Placement, bucket_of_key, place_of_key};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

const FORM: u8 = 1;

/// One change to the index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    /// A capture is at a place, with its body here, elsewhere, or without one.
    Put { entry: Box<Entry>, body: Option<(BodyKey, BodySource)> },
    /// Nobody is to see this capture any more.
    Remove(EntryKey),
    /// The bytes of a removed capture are gone.
    Drop(EntryKey),
    /// This capture is not to be seen here until it comes again.
    Release(EntryKey),
    /// The bytes of a released capture are gone, and with them all that is known of it.
    LetGo(EntryKey),
    /// A body that stands in a block of its own was moved.
    Body(BodyKey, BodyAt),
    /// A body's bytes are gone: nothing may be stored as equal to it any more.
    Forget(BodyKey),
    /// A named value of the store's user, such as how far an import has come.
    Note(String, Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodySource {
    /// Stored with this capture.
    New(BodyAt),
    /// The same bytes were there before.
    Known,
}

/// What Meta keys of notes begin with, and what comes behind all of them.
pub(crate) const NOTES: &[u8] = b"note:";
pub(crate) const NOTES_END: &[u8] = b"note;";

/// Meta key of a note.
pub(crate) fn note_key(name: &str) -> Vec<u8> {
    [NOTES, name.as_bytes()].concat()
}

/// Meta key of how far a pack is indexed.
pub(crate) fn pack_key(pack: u32) -> Vec<u8> {
    [b"pack:", pack.to_be_bytes().as_slice()].concat()
}

/// Meta key of the captures that came last.
const RECENT_KEY: &[u8] = b"recent";

/// The captures that came last, as far as the index was told of them, the newest first within a seal.
pub(crate) fn recent_ids(engine: &dyn Engine) -> Result<Vec<EntryKey>> {
    let row = engine.get(Table::Meta, RECENT_KEY)?.unwrap_or_default();
    let mut c = Cursor::new(&row);
    let mut ids = Vec::new();
    // A list of another form is none: it is a courtesy, and the next seal writes it anew.
    if c.u8() == Some(FORM) {
        while let Some(id) = c.bytes().and_then(EntryKey::decode) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn encode_recent(ids: &[EntryKey]) -> Vec<u8> {
    let mut out = vec![FORM];
    ids.iter().for_each(|id| out.put_bytes(&id.encode()));
    out
}

pub(crate) fn encode(ops: &[Op]) -> Vec<u8> {
    let mut out = vec![FORM];
    let mut before = Vec::new();
    for op in ops {
        match op {
            Op::Put { entry, body } => {
                // A number of its own for what the first programs did not know: they refuse it, rather than misread the entry.
                out.push(if entry.released || entry.mended.is_some() { 9 } else { 1 });
                put_key(&mut out, &mut before, &entry.id);
                out.put_bytes(&entry.encode_value());
                match body {
                    None => out.push(0),
                    Some((key, source)) => {
                        out.push(if *source == BodySource::Known { 1 } else { 2 });
                        out.put_raw(key);
                        if let BodySource::New(at) = source {
                            out.put_bytes(&BodyPlace { at: *at, shared: false }.encode());
                        }
                    }
                }
            }
            Op::Remove(id) | Op::Drop(id) | Op::Release(id) | Op::LetGo(id) => {
                out.push(match op {
                    Op::Remove(_) => 2,
                    Op::Drop(_) => 3,
                    Op::Release(_) => 7,
                    _ => 8,
                });
                put_key(&mut out, &mut before, id);
            }
            Op::Body(key, at) => {
                out.push(4);
                out.put_raw(key);
                out.put_bytes(&BodyPlace { at: *at, shared: false }.encode());
            }
            Op::Forget(key) => {
                out.push(6);
                out.put_raw(key);
            }
            Op::Note(name, value) => {
                out.push(5);
                out.put_bytes(name.as_bytes());
                out.put_bytes(value);
            }
        }
    }
    out
}

/// Keys are sorted, so each is written as what it does not share with the one before.
fn put_key(out: &mut Vec<u8>, before: &mut Vec<u8>, id: &EntryKey) {
    let key = id.encode();
    let shared = key.iter().zip(before.iter()).take_while(|(a, b)| a == b).count();
    out.put_len(shared);
    out.put_bytes(&key[shared..]);
    *before = key;
}

fn take_key(c: &mut Cursor<'_>, before: &mut Vec<u8>) -> Option<EntryKey> {
    take_key_bytes(c, before)?;
    EntryKey::decode(before)
}

fn take_key_bytes(c: &mut Cursor<'_>, before: &mut Vec<u8>) -> Option<()> {
    let shared = c.usize()?;
    let rest = c.bytes()?;
    (shared <= before.len()).then_some(())?;
    before.truncate(shared);
    before.extend_from_slice(rest);
    Some(())
}

/// The captures that a directory puts or removes, from an operation on: up to `max`, each with the number of its
/// operation. Nothing else is decoded: whoever follows the feed reads a directory in many pieces.
pub(crate) fn decode_ids(bytes: &[u8], from: usize, max: usize) -> Option<Vec<(usize, EntryKey)>> {
    let mut c = Cursor::new(bytes);
    (c.u8()? == FORM).then_some(())?;
    let mut ids = Vec::new();
    let mut before = Vec::new();
    let mut number = 0;
    while !c.is_empty() && ids.len() < max {
        let code = c.u8()?;
        if matches!(code, 1..=3 | 7..=9) {
            take_key_bytes(&mut c, &mut before)?;
            if number >= from {
                ids.push((number, EntryKey::decode(&before)?));
            }
        }
        match code {
            1 | 9 => {
                c.bytes()?;
                let body = c.u8()?;
                (body <= 2).then_some(())?;
                if body > 0 {
                    c.array::<16>()?;
                }
                if body == 2 {
                    c.bytes()?;
                }
            }
            2 | 3 | 7 | 8 => {}
            4 => {
                c.array::<16>()?;
                c.bytes()?;
            }
            5 => {
                c.bytes()?;
                c.bytes()?;
            }
            6 => {
                c.array::<16>()?;
            }
            _ => return None,
        }
        number += 1;
    }
    Some(ids)
}

pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<Op>> {
    let mut c = Cursor::new(bytes);
    (c.u8()? == FORM).then_some(())?;
    let mut ops = Vec::new();
    let mut before = Vec::new();
    while !c.is_empty() {
        ops.push(match c.u8()? {
            1 | 9 => {
                let id = take_key(&mut c, &mut before)?;
                let entry = Box::new(Entry::decode(id, c.bytes()?)?);
                let body = match c.u8()? {
                    0 => None,
                    1 => Some((c.array()?, BodySource::Known)),
                    2 => Some((c.array()?, BodySource::New(BodyPlace::decode(c.bytes()?)?.at))),
                    _ => return None,
                };
                Op::Put { entry, body }
            }
            2 => Op::Remove(take_key(&mut c, &mut before)?),
            3 => Op::Drop(take_key(&mut c, &mut before)?),
            7 => Op::Release(take_key(&mut c, &mut before)?),
            8 => Op::LetGo(take_key(&mut c, &mut before)?),
            4 => Op::Body(c.array()?, BodyPlace::decode(c.bytes()?)?.at),
            6 => Op::Forget(c.array()?),
            5 => Op::Note(c.text()?.to_owned(), c.bytes()?.to_vec()),
            _ => return None,
        });
    }
    Some(ops)
}

/// Applies the operations of a seal to the index, in one atomic batch that also says how far the pack is indexed.
pub(crate) fn apply(engine: &dyn Engine, pack: u32, indexed_to: u64, ops: &[Op]) -> Result<()> {
    apply_to(engine, (pack, indexed_to), ops, false)
}

/// The same where whoever seals has seen that nothing is known of any capture that is put, and that each is put once.
pub(crate) fn apply_new(engine: &dyn Engine, pack: u32, indexed_to: u64, ops: &[Op]) -> Result<()> {
    apply_to(engine, (pack, indexed_to), ops, true)
}

fn apply_to(engine: &dyn Engine, (pack, indexed_to): (u32, u64), ops: &[Op], are_new: bool) -> Result<()> {
    let mut state = Applying {
        engine,
        totals: totals(engine)?,
        placement: places::table_of(engine)?,
        parts: HashMap::new(),
        are_new,
        new: Vec::new(),
        local: Default::default(),
    };
    state.split_hosts(ops)?;
    for op in ops {
        state.one(op)?;
    }
    state.remember_new()?;
    let totals = state.totals.encode();
    let mut batch: Vec<Write> = Vec::new();
    for (table, local) in Table::ALL.into_iter().zip(state.local) {
        batch.extend(local.into_iter().map(|(key, value)| Write { table, key, value }));
    }
    batch.push(Write { table: Table::Meta, key: Totals::KEY.to_vec(), value: Some(totals) });
    batch.push(Write { table: Table::Meta, key: pack_key(pack), value: Some(indexed_to.to_be_bytes().to_vec()) });
    engine.write(batch)
}

pub(crate) fn totals(engine: &dyn Engine) -> Result<Totals> {
    let bytes = engine.get(Table::Meta, Totals::KEY)?;
    Ok(bytes.and_then(|b| Totals::decode(&b)).unwrap_or_default())
}

struct Applying<'a> {
    engine: &'a dyn Engine,
    totals: Totals,
    /// That of the table of places, if there is one to keep up.
    placement: Option<Placement>,
    /// Parts of the buckets met so far.
    parts: HashMap<String, u32>,
    /// Nothing is known of what is put: it need not be looked for.
    are_new: bool,
    /// Captures that were not here before.
    new: Vec<EntryKey>,
    /// The batch so far, by table, so that an operation sees the ones before it.
    local: [BTreeMap<Vec<u8>, Option<Vec<u8>>>; Table::ALL.len()],
}

impl Applying<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.local[table as usize].get(key) {
            Some(value) => Ok(value.clone()),
            None => self.engine.get(table, key),
        }
    }

    fn set(&mut self, table: Table, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.local[table as usize].insert(key, value);
    }

    fn entry(&self, id: &EntryKey) -> Result<Option<Entry>> {
        let Some(value) = self.get(Table::Captures, &id.encode())? else { return Ok(None) };
        let entry = Entry::decode(id.clone(), &value);
        entry.map(Some).ok_or_else(|| Error::Damaged(format!("the index entry of {}", id.key)))
    }

    fn one(&mut self, op: &Op) -> Result<()> {
        match op {
            Op::Put { entry, body } => self.put(entry, body.as_ref()),
            Op::Remove(id) => self.remove(id),
            Op::Drop(id) => {
                let before = self.entry(id)?;
                let after = before.clone().unwrap_or_else(|| Entry::gone(id.clone()));
                let after = Entry { removed: true, released: false, place: None, ..after };
                self.settle(id, before.as_ref(), Some(&after))
            }
            Op::Release(id) => match self.entry(id)? {
                Some(before) if !before.removed => {
                    let after = Entry { removed: true, released: true, ..before.clone() };
                    self.settle(id, Some(&before), Some(&after))
                }
                _ => Ok(()),
            },
            Op::LetGo(id) => match self.entry(id)? {
                Some(before) if !before.is_removed_for_good() => self.settle(id, Some(&before), None),
                _ => Ok(()),
            },
            Op::Body(key, at) => {
                let old = self.get(Table::Bodies, key)?.and_then(|b| BodyPlace::decode(&b));
                let shared = old.is_some_and(|old| old.shared);
                self.set(Table::Bodies, key.to_vec(), Some(BodyPlace { at: *at, shared }.encode()));
                Ok(())
            }
            Op::Forget(key) => {
                self.set(Table::Bodies, key.to_vec(), None);
                Ok(())
            }
            Op::Note(name, value) => {
                self.set(Table::Meta, note_key(name), (!value.is_empty()).then(|| value.clone()));
                Ok(())
            }
        }
    }

    fn put(&mut self, entry: &Entry, body: Option<&(BodyKey, BodySource)>) -> Result<()> {
        let known = if self.are_new { None } else { self.entry(&entry.id)? };
        let mut entry = Cow::Borrowed(entry);
        if known.as_ref().is_some_and(Entry::is_removed_for_good) {
            let entry = entry.to_mut();
            (entry.removed, entry.released) = (true, false);
        }
        if let Some((key, source)) = body {
            let place = self.get(Table::Bodies, key)?.and_then(|b| BodyPlace::decode(&b));
            let place = match (place, source) {
                (Some(old), BodySource::Known) => Some(BodyPlace { shared: true, ..old }),
                // The same capture in another place was moved. Another capture with the same body is not the one that
                // others may already refer to, so it does not take over.
                (Some(old), BodySource::New(at)) if known.is_some() => Some(BodyPlace { at: *at, shared: old.shared }),
                (Some(old), BodySource::New(_)) => Some(old),
                (None, BodySource::New(at)) => Some(BodyPlace { at: *at, shared: false }),
                (None, BodySource::Known) => None,
            };
            if let Some(place) = place {
                self.set(Table::Bodies, key.to_vec(), Some(place.encode()));
            }
        }
        self.settle(&entry.id, known.as_ref(), Some(&entry))
    }

    /// Writes what is known of a capture from now on, and brings counts and sums to it.
    fn settle(&mut self, id: &EntryKey, before: Option<&Entry>, after: Option<&Entry>) -> Result<()> {
        match (seen(before), seen(after)) {
            (None, Some(entry)) => {
                self.count(entry, 1)?;
                if entry.is_capture() {
                    self.new.push(id.clone());
                }
            }
            (Some(entry), None) => self.count(entry, -1)?,
            (Some(old), Some(new)) if old.shared != new.shared => {
                self.count(old, -1)?;
                self.count(new, 1)?;
            }
            _ => {}
        }
        let name = id.encode();
        self.mark(&id.key, &name, before.and_then(places::said_of), after.and_then(places::said_of))?;
        self.set(Table::Captures, name, after.map(Entry::encode_value));
        Ok(())
    }

    /// Takes one mark of a capture from the table of places and adds another.
    fn mark(&mut self, key: &str, name: &[u8], before: Option<&[u8]>, after: Option<&[u8]>) -> Result<()> {
        let Some(placement) = self.placement.filter(|_| before != after) else { return Ok(()) };
        let bucket = bucket_of_key(placement, key);
        let place = place_of_key(placement, key, self.parts(bucket)?);
        let row = places::row_key(place, bucket);
        let mut sum = places::sum_of(self.get(Table::Places, &row)?)?;
        if let Some(said) = before {
            sum.take(Mark::of(name, said));
        }
        if let Some(said) = after {
            sum.add(Mark::of(name, said));
        }
        self.set(Table::Places, row, places::encode_sum(sum));
        Ok(())
    }

    fn parts(&mut self, bucket: &str) -> Result<u32> {
        if let Some(parts) = self.parts.get(bucket) {
            return Ok(*parts);
        }
        let parts = places::decode_parts(self.engine.get(Table::Meta, &places::parts_key(bucket))?.as_deref());
        self.parts.insert(bucket.to_owned(), parts);
        Ok(parts)
    }

    /// Gives hosts whose number of parts changes their rows anew. Before all else, so that the entries in the index are all there
    /// are; what this seal brings then goes where it belongs.
    fn split_hosts(&mut self, ops: &[Op]) -> Result<()> {
        if self.placement != Some(Placement::ByHost) {
            return Ok(());
        }
        for op in ops {
            let Op::Note(name, value) = op else { continue };
            let Some(bucket) = places::host_of_note(name) else { continue };
            let (before, after) = (self.parts(bucket)?, places::decode_parts(Some(value)));
            if before == after {
                continue;
            }
            for row in places::row_keys_of_host(bucket, before) {
                self.set(Table::Places, row, None);
            }
            for (row, sum) in places::rows_of_host(self.engine, bucket, after)? {
                self.set(Table::Places, row, places::encode_sum(sum));
            }
            self.parts.insert(bucket.to_owned(), after);
        }
        Ok(())
    }

    /// Puts what is new in front of the list of what came last.
    fn remember_new(&mut self) -> Result<()> {
        if self.new.is_empty() {
            return Ok(());
        }
        let mut ids = std::mem::take(&mut self.new);
        ids.sort_by_key(|id| Reverse(id.time));
        ids.truncate(RECENT_MAX);
        ids.extend(recent_ids(self.engine)?.into_iter().take(RECENT_MAX - ids.len()));
        self.set(Table::Meta, RECENT_KEY.to_vec(), Some(encode_recent(&ids)));
        Ok(())
    }

    fn remove(&mut self, id: &EntryKey) -> Result<()> {
        let before = self.entry(id)?;
        if before.as_ref().is_some_and(Entry::is_removed_for_good) {
            return Ok(());
        }
        let after = before.clone().unwrap_or_else(|| Entry::gone(id.clone()));
        let after = Entry { removed: true, released: false, ..after };
        self.settle(id, before.as_ref(), Some(&after))
    }

    /// Counts a capture in or out.
    fn count(&mut self, entry: &Entry, by: i64) -> Result<()> {
        let add = |n: u64, d: i64| n.saturating_add_signed(d);
        self.totals.bytes_in = add(self.totals.bytes_in, by * entry.bytes_in as i64);
        if !kind_is_capture(&entry.kind) {
            self.totals.other_records = add(self.totals.other_records, by);
            return Ok(());
        }
        self.totals.captures = add(self.totals.captures, by);
        if entry.shared {
            self.totals.shared = add(self.totals.shared, by);
        }
        let before = count_of(self.get(Table::Urls, entry.id.key.as_bytes())?);
        let after = add(before, by);
        self.totals.urls = add(self.totals.urls, i64::from(after > 0) - i64::from(before > 0));
        let value = (after > 0).then(|| {
            let mut out = Vec::new();
            out.put_u64(after);
            out
        });
        self.set(Table::Urls, entry.id.key.as_bytes().to_vec(), value);
        Ok(())
    }
}

fn seen(entry: Option<&Entry>) -> Option<&Entry> {
    entry.filter(|entry| !entry.removed)
}

/// Number of versions that a value of the table of URLs says.
pub(crate) fn count_of(value: Option<Vec<u8>>) -> u64 {
    value.and_then(|v| Cursor::new(&v).u64()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use herodotus_base::Timestamp;

    /// Written once, read for ever: what was added after the golden archive was made.
    #[test]
    fn releases_and_mended_entries_are_spelled_as_they_always_were() {
        let id = EntryKey { key: "org,a)/".into(), time: Timestamp::default(), tag: [5; 8] };
        let mut put = Entry { removed: true, released: true, url: "http://a.org/".into(), ..Entry::gone(id.clone()) };
        (put.place, put.mended) = (Some(crate::index::Place { pack: 3, offset: 400, slot: 2 }), Some((2, 300)));
        let ops = [Op::Release(id.clone()), Op::LetGo(id), Op::Put { entry: Box::new(put), body: None }];
        let bytes = encode(&ops);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let key = "00186f72672c61292f000000388a6f0460000505050505050505";
        let entry = "01006400000000000390030202ac0200000000000000000000000000000000000000004000";
        assert_eq!(hex, format!("0107{key}081800091800{:02x}{}", entry.len() / 2 - 1, entry));
        assert_eq!(decode(&bytes).as_deref(), Some(&ops[..]));
    }

    #[test]
    fn ids_are_those_of_the_operations_from_any_of_them_on() {
        let id = |n: u8| EntryKey { key: format!("org,example)/{n}"), time: Timestamp::default(), tag: [n; 8] };
        let put = |n: u8, body| Op::Put { entry: Box::new(Entry::gone(id(n))), body };
        let ops = [
            put(1, None),
            put(2, Some(([7; 16], BodySource::Known))),
            Op::Note("name".into(), vec![1, 2]),
            put(3, Some(([8; 16], BodySource::New(BodyAt::Blob)))),
            Op::Body([9; 16], BodyAt::Raw { pack: 1, offset: 300 }),
            Op::Remove(id(1)),
            Op::Forget([7; 16]),
            Op::Drop(id(1)),
            Op::Release(id(2)),
            Op::LetGo(id(2)),
            Op::Put { entry: Box::new(Entry { released: true, ..Entry::gone(id(4)) }), body: None },
        ];
        let bytes = encode(&ops);
        assert_eq!(decode(&bytes).as_deref(), Some(&ops[..]));
        let all = [(0, id(1)), (1, id(2)), (3, id(3)), (5, id(1)), (7, id(1)), (8, id(2)), (9, id(2)), (10, id(4))];
        for from in 0..=ops.len() {
            let expected: Vec<_> = all.iter().filter(|(n, _)| *n >= from).cloned().collect();
            assert_eq!(decode_ids(&bytes, from, 100).as_deref(), Some(&expected[..]));
            assert_eq!(decode_ids(&bytes, from, 2).as_deref(), Some(&expected[..expected.len().min(2)]));
        }
        for cut in 1..bytes.len() {
            assert!(decode(&bytes[..cut]).is_some() || decode_ids(&bytes[..cut], 0, 100).is_none(), "{cut}");
        }
        assert_eq!(decode_ids(&[FORM, 10], 0, 1), None);
    }
}
