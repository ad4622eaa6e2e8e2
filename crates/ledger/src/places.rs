//! The sums of marks by place, and what lies at one: how ledgers are compared.

use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::record::{Name, Record};
use herodotus_base::Id;
use herodotus_replica::{Mark, Sum};

/// Behind every row of a place: no bucket begins with this byte.
const LAST: u8 = 0xff;

impl Ledger {
    /// The rows on the arc `(from, to]`, clockwise, as `(place, bucket, sum)`; from a place to itself is the whole circle.
    pub fn places(&self, from: Id, to: Id) -> impl Iterator<Item = Result<(Id, String, Sum)>> + use<> {
        let behind = |place: Id| [&place.0[..], &[LAST]].concat();
        let ranges = if from < to {
            vec![(behind(from), behind(to))]
        } else {
            vec![(behind(from), behind(Id([LAST; 32]))), (Vec::new(), behind(to))]
        };
        let rows = self.rows.clone();
        ranges.into_iter().flat_map(move |(from, to)| rows.range(from..to)).map(|row| {
            let (key, value) = row.into_inner()?;
            decode_row(&key, &value)
        })
    }

    /// The records of a bucket that lie at a place, in order of their names.
    pub fn records_at(&self, place: Id, bucket: &str) -> impl Iterator<Item = Result<Record>> + use<> {
        let (placement, parts) = (self.placement, self.parts(bucket));
        let error = parts.as_ref().err().map(|_| Err(Error::Damaged("how many parts a host has cannot be read")));
        let parts = parts.unwrap_or(1);
        let here = self
            .in_bucket(bucket)
            .filter(move |record| record.as_ref().map_or(true, |record| record.name.place(placement, parts) == place));
        error.into_iter().chain(here)
    }

    pub(crate) fn in_bucket(&self, bucket: &str) -> impl Iterator<Item = Result<Record>> + use<> {
        let prefix = [bucket.as_bytes(), &[0]].concat();
        self.records.prefix(&prefix).map(move |pair| {
            let (key, value) = pair.into_inner()?;
            Record::decode(key.get(prefix.len()..).unwrap_or_default(), &value)
        })
    }

    /// Every record on an arc, with its place and mark.
    pub fn records_on(&self, from: Id, to: Id) -> impl Iterator<Item = Result<(Id, Record)>> + use<> {
        let ledger = self.clone();
        self.places(from, to).flat_map(move |row| {
            let (row, error) = match row {
                Ok((place, bucket, _)) => (Some((place, bucket)), None),
                Err(error) => (None, Some(Err(error))),
            };
            let ledger = ledger.clone();
            let records = row.into_iter().flat_map(move |(place, bucket)| {
                ledger.records_at(place, &bucket).map(move |record| Ok((place, record?)))
            });
            error.into_iter().chain(records)
        })
    }

    /// How many parts a host has here.
    pub fn parts(&self, bucket: &str) -> Result<u32> {
        let noted = self.notes.get(parts_key(bucket))?;
        let parts = noted.and_then(|value| Some(u32::from_be_bytes(value.as_ref().try_into().ok()?)));
        Ok(parts.filter(|parts| parts.is_power_of_two()).unwrap_or(1))
    }

    /// A host was split into so many parts: its records lie elsewhere from now on. Fewer than there are is no news.
    pub fn set_parts(&self, bucket: &str, parts: u32) -> Result<()> {
        let _writer = self.writer();
        let old = self.parts(bucket)?;
        if parts <= old || !parts.is_power_of_two() {
            return Ok(());
        }
        let mut batch = self.batch();
        let mut sums = std::collections::BTreeMap::<Id, Sum>::new();
        let mut emptied = std::collections::BTreeSet::new();
        for record in self.in_bucket(bucket) {
            let record = record?;
            emptied.insert(record.name.place(self.placement, old));
            sums.entry(record.name.place(self.placement, parts)).or_default().add(record.mark());
        }
        for place in emptied.into_iter().filter(|place| !sums.contains_key(place)) {
            batch.remove(&self.rows, row_key(place, bucket));
        }
        for (place, sum) in sums {
            batch.insert(&self.rows, row_key(place, bucket), encode_sum(sum));
        }
        batch.insert(&self.notes, parts_key(bucket), parts.to_be_bytes());
        Ok(batch.commit()?)
    }

    /// The entry of a mark's name and place, for what goes by marks.
    pub fn marks_on(&self, from: Id, to: Id) -> impl Iterator<Item = Result<(Id, Name, Mark)>> + use<> {
        self.records_on(from, to).map(|found| {
            let (place, record) = found?;
            let mark = record.mark();
            Ok((place, record.name, mark))
        })
    }
}

pub(crate) fn row_key(place: Id, bucket: &str) -> Vec<u8> {
    [&place.0[..], bucket.as_bytes()].concat()
}

fn parts_key(bucket: &str) -> Vec<u8> {
    [b"parts ", bucket.as_bytes()].concat()
}

pub(crate) fn encode_sum(sum: Sum) -> Vec<u8> {
    [&sum.count.to_be_bytes()[..], &sum.total.to_be_bytes()].concat()
}

pub(crate) fn decode_sum(value: &[u8]) -> Result<Sum> {
    let read = || {
        let (count, rest) = value.split_first_chunk::<8>()?;
        Some(Sum { count: u64::from_be_bytes(*count), total: u128::from_be_bytes(rest.try_into().ok()?) })
    };
    read().ok_or(Error::Damaged("a sum cannot be read"))
}

fn decode_row(key: &[u8], value: &[u8]) -> Result<(Id, String, Sum)> {
    let row =
        key.split_first_chunk::<32>().and_then(|(place, bucket)| Some((*place, std::str::from_utf8(bucket).ok()?)));
    let (place, bucket) = row.ok_or(Error::Damaged("a row has no place"))?;
    Ok((Id(place), bucket.to_owned(), decode_sum(value)?))
}
