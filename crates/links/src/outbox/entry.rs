//! The keys and values of the outbox's table.
//!
//! | key | value |
//! |---|---|
//! | `mf` | the form of the table |
//! | `me` | how often the outbox was opened |
//! | `mm` | how many links here are waited for: found here, not passed on |
//! | `mc` crawl | how many of its links lie here |
//! | `o` place name | a link that waits, in the order of places |
//! | `w` place name | a link about whose owner the ring was in dispute: it rests |
//!
//! Whatever else an entry says, it begins with its crawl and its mark: which sending it belongs to (see [`marks`](super::marks)).
//!
//! A name is twelve bytes of SHA-256 over crawl, URL, kind and seed, then depth, hops and redirects: the same link by another way is another entry, and
//! the same by the same way is one.

use super::marks::UNMARKED;
use crate::code::{push_number, take_array, take_byte, take_number};
use crate::lately::NAME_BYTES;
use crate::prospect::{CrawlId, Prospect};
use herodotus_base::{Id, Sha256};

pub(super) const FORM: u8 = 1;
pub(super) const FORM_KEY: &[u8] = b"mf";
pub(super) const LIVES_KEY: &[u8] = b"me";
pub(super) const MARKED_KEY: &[u8] = b"mm";
pub(super) const COUNTS_PREFIX: &[u8] = b"mc";
pub(super) const WAITING: u8 = b'o';
pub(super) const PARKED: u8 = b'w';

pub(super) const KEY_BYTES: usize = 1 + 32 + NAME_BYTES;
pub(super) type Key = [u8; KEY_BYTES];

/// A link as it lies in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) crawl: CrawlId,
    pub(super) mark: u64,
    /// Nodes that have passed it on.
    pub(super) steps: u8,
    pub(super) prospect: Prospect,
}

pub(super) fn key(table: u8, place: Id, crawl: &CrawlId, prospect: &Prospect) -> Key {
    let mut key = [0; KEY_BYTES];
    key[0] = table;
    key[1..33].copy_from_slice(&place.0);
    key[33..].copy_from_slice(&name(crawl, prospect));
    key
}

fn name(crawl: &CrawlId, prospect: &Prospect) -> [u8; NAME_BYTES] {
    let text = [crawl, &[prospect.kind, u8::from(prospect.seed)][..], prospect.url.as_bytes()].concat();
    let mut name = [0; NAME_BYTES];
    name[..12].copy_from_slice(&Sha256::of(&text).0[..12]);
    name[12..14].copy_from_slice(&prospect.depth.to_be_bytes());
    name[14] = prospect.hops;
    name[15] = prospect.redirects;
    name
}

pub(super) fn place_of(key: &Key) -> Id {
    let mut place = [0; 32];
    place.copy_from_slice(&key[1..33]);
    Id(place)
}

pub(super) fn name_of(key: &Key) -> [u8; NAME_BYTES] {
    let mut name = [0; NAME_BYTES];
    name.copy_from_slice(&key[33..]);
    name
}

/// The first key of a table, and the first after it.
pub(super) fn range(table: u8) -> (Vec<u8>, Vec<u8>) {
    (vec![table], vec![table + 1])
}

/// The first key after everything at a place.
pub(super) fn after_place(table: u8, place: Id) -> Vec<u8> {
    [&[table][..], &place.0, &[u8::MAX; NAME_BYTES + 1]].concat()
}

/// The first key after this one.
pub(super) fn after(key: &Key) -> Vec<u8> {
    [&key[..], &[0]].concat()
}

/// Whose mark it is, if it is one of ours.
pub(super) fn mark_of(bytes: &[u8]) -> u64 {
    crawl_and_mark(bytes).map_or(UNMARKED, |(_, mark)| mark)
}

/// What every entry begins with, however the rest is spoilt.
pub(super) fn crawl_and_mark(mut bytes: &[u8]) -> Option<(CrawlId, u64)> {
    Some((take_array(&mut bytes)?, u64::from_be_bytes(take_array(&mut bytes)?)))
}

pub(super) fn count_key(crawl: &CrawlId) -> Vec<u8> {
    [COUNTS_PREFIX, crawl].concat()
}

impl Entry {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Prospect { url, kind, depth, hops, redirects, seed } = &self.prospect;
        let mut out = Vec::with_capacity(url.len() + 34);
        out.extend_from_slice(&self.crawl);
        out.extend_from_slice(&self.mark.to_be_bytes());
        out.extend_from_slice(&[self.steps, *kind]);
        push_number(&mut out, u64::from(*depth));
        out.extend_from_slice(&[*hops, *redirects, u8::from(*seed)]);
        out.extend_from_slice(url.as_bytes());
        out
    }

    /// `None` if the disk gave what we did not write.
    pub(super) fn parse(mut bytes: &[u8]) -> Option<Self> {
        let rest = &mut bytes;
        let (crawl, mark) = (take_array(rest)?, u64::from_be_bytes(take_array(rest)?));
        let (steps, kind) = (take_byte(rest)?, take_byte(rest)?);
        let depth = u16::try_from(take_number(rest)?).ok()?;
        let (hops, redirects, seed) = (take_byte(rest)?, take_byte(rest)?, take_byte(rest)? != 0);
        let url = String::from_utf8(rest.to_vec()).ok()?;
        let prospect = Prospect { url, kind, depth, hops, redirects, seed };
        prospect.check().ok()?;
        Some(Self { crawl, mark, steps, prospect })
    }
}
