//! Records on their way to another machine: names and values one after another, compressed together.
//!
//! `u8` form, then zstd of: for each record `u32` length of its name, the name, `u64` version, `u32` length of its value, the value; all big-endian.

use crate::error::{Error, Result};
use crate::record::{Name, Record};
use std::io::Read;

const FORM: u8 = 1;
/// What a bundle may unpack to.
const OPEN_BYTES_MAX: u64 = 8 << 20;
/// Fast: these are small and go to neighbours.
const LEVEL: i32 = 3;

/// Packs as many of the records as fit, and says how many; at least one.
pub fn pack_bundle(records: &[Record], bytes_max: usize) -> Result<(Vec<u8>, usize)> {
    let mut open = Vec::new();
    let mut count = 0;
    for record in records {
        let name = record.name.encode();
        let more = name.len() + record.value.len() + 16;
        if count > 0 && (open.len() + more > bytes_max || (open.len() + more) as u64 > OPEN_BYTES_MAX) {
            break;
        }
        for part in [&name, &record.value] {
            let is_name = std::ptr::eq(part, &name);
            let len = u32::try_from(part.len()).map_err(|_| Error::Refused("it is too large"))?;
            if !is_name {
                open.extend_from_slice(&record.version.to_be_bytes());
            }
            open.extend_from_slice(&len.to_be_bytes());
            open.extend_from_slice(part);
        }
        count += 1;
    }
    let packed = zstd::bulk::compress(&open, LEVEL).map_err(|_| Error::Damaged("records cannot be compressed"))?;
    Ok(([&[FORM][..], &packed].concat(), count))
}

/// What is in a bundle. Whoever made it is not believed: every record is checked.
pub fn open_bundle(bytes: &[u8]) -> Result<Vec<Record>> {
    let odd = || Error::Refused("a bundle of records cannot be read");
    let Some((&FORM, packed)) = bytes.split_first() else { return Err(odd()) };
    let mut open = Vec::new();
    let reader = zstd::stream::read::Decoder::new(packed).map_err(|_| odd())?;
    reader.take(OPEN_BYTES_MAX + 1).read_to_end(&mut open).map_err(|_| odd())?;
    if open.len() as u64 > OPEN_BYTES_MAX {
        return Err(Error::Refused("a bundle of records is too large"));
    }
    let mut rest = open.as_slice();
    let mut records = Vec::new();
    while !rest.is_empty() {
        let name = Name::decode(take_part(&mut rest).ok_or_else(odd)?).ok_or_else(odd)?;
        let (version, after) = rest.split_first_chunk::<8>().ok_or_else(odd)?;
        rest = after;
        let value = take_part(&mut rest).ok_or_else(odd)?.to_vec();
        let record = Record { name, version: u64::from_be_bytes(*version), value };
        record.check()?;
        records.push(record);
    }
    Ok(records)
}

fn take_part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, after) = rest.split_first_chunk::<4>()?;
    let (part, after) = after.split_at_checked(u32::from_be_bytes(*len) as usize)?;
    *rest = after;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::CrawlId;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = Record> {
        ("[a-z,)/]{0,30}", any::<[u8; 16]>(), any::<u64>(), any::<Vec<u8>>()).prop_map(|(key, id, version, value)| {
            Record { name: Name::Url { key, crawl: CrawlId(id), spelling: version }, version, value }
        })
    }

    proptest! {
        #[test]
        fn records_come_out_as_they_went_in(records in prop::collection::vec(record(), 0..20)) {
            let (bytes, count) = pack_bundle(&records, 1 << 20).unwrap();
            prop_assert_eq!(count, records.len());
            prop_assert_eq!(open_bundle(&bytes).unwrap(), records);
        }

        #[test]
        fn anything_may_be_opened(mut bytes: Vec<u8>, at: prop::sample::Index, records in prop::collection::vec(record(), 1..5)) {
            let _ = open_bundle(&bytes);
            bytes.insert(0, FORM);
            let _ = open_bundle(&bytes);
            let (mut good, _) = pack_bundle(&records, 1 << 20).unwrap();
            let at = at.index(good.len());
            good[at] ^= 1;
            let _ = open_bundle(&good);
            good.truncate(at);
            let _ = open_bundle(&good);
        }
    }

    #[test]
    fn a_bundle_holds_what_fits_and_at_least_one() {
        let of = |len| Record { name: Name::Crawl(CrawlId([1; 16])), version: 1, value: vec![7; len] };
        let records = [of(1000), of(1000), of(1000)];
        assert_eq!(pack_bundle(&records, 2500).unwrap().1, 2);
        assert_eq!(pack_bundle(&records, 10).unwrap().1, 1);
    }

    #[test]
    fn a_bundle_that_unpacks_to_too_much_is_refused() {
        let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 3).unwrap();
        let error = open_bundle(&[&[FORM][..], &bomb].concat()).unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
    }
}
