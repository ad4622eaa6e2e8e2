//! How a parcel is laid out: a directory of entries, frames of captures that travel whole, and bodies beside them.
//!
//! Reading it checks the digest over all of it, every length and every count, and unpacks nothing. What it gives points into
//! the parcel.

use super::head::{HEAD_BYTES, Head};
use super::limits::{ENTRIES_MAX, KEYS_BYTES_MAX, PARCEL_BYTES_MAX, PARCEL_FRAME_BYTES, WEIGHT_ALONE_MAX, WEIGHT_MAX};
use crate::compress;
use crate::error::Result;
use crate::index::EntryKey;
use crate::limits::ZSTD_LEVEL;
use crate::wire::{Cursor, Put};
use herodotus_base::limits::BODY_IN_MEMORY_BYTES_MAX;
use herodotus_base::{Sha256, Timestamp};

const HEAD: Head = Head { what: "parcel", magic: *b"HDTP", form: FORM, crc_from: u8::MAX, bytes_max: PARCEL_BYTES_MAX };
/// The only form there is yet.
const FORM: u8 = 1;
/// The counts, and whatever an entry has beside its key and its bytes.
const ENTRY_BYTES: usize = 64;

mod kind {
    pub(super) const REMOVED: u8 = 0;
    pub(super) const WHOLE: u8 = 1;
    pub(super) const NEAR: u8 = 2;
    pub(super) const FAR: u8 = 3;
}

/// The first bytes of the SHA-256 of a base's item: whether both sides mean the same bytes by it.
pub(super) type FormTag = [u8; 8];

pub(super) fn form_tag(item: &[u8]) -> FormTag {
    let mut tag = [0; 8];
    tag.copy_from_slice(&Sha256::of(item).0[..8]);
    tag
}

/// How the item of an entry is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coded<'a> {
    /// The mark of a removal: there is no item.
    Removed,
    /// In the frames.
    Whole { raw_len: usize },
    /// Against the entry so many before this one.
    Near { back: usize, raw_len: usize, packed: &'a [u8] },
    /// Against a capture of the same key that the receiver has.
    Far { time: Timestamp, tag: [u8; 8], form: FormTag, raw_len: usize, packed: &'a [u8] },
}

impl Coded<'_> {
    pub(super) fn raw_len(&self) -> usize {
        match self {
            Self::Removed => 0,
            Self::Whole { raw_len } | Self::Near { raw_len, .. } | Self::Far { raw_len, .. } => *raw_len,
        }
    }
}

#[derive(Debug)]
pub(super) struct Listed<'a> {
    pub(super) id: EntryKey,
    pub(super) coded: Coded<'a>,
}

/// Whole items, packed together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) entries: usize,
    pub(super) is_packed: bool,
    pub(super) bytes: &'a [u8],
}

/// A parcel read: nothing in it is believed yet.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub(super) entries: Vec<Listed<'a>>,
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) beside: Vec<&'a [u8]>,
}

impl<'a> Layout<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut c = HEAD.open(bytes)?;
        match Self::take(&mut c) {
            Some(layout) if c.is_empty() => Ok(layout),
            _ => HEAD.refuse("its directory makes no sense"),
        }
    }

    fn take(c: &mut Cursor<'a>) -> Option<Self> {
        let entries = take_entries(c)?;
        let mut whole = entries.iter().filter(|e| matches!(e.coded, Coded::Whole { .. })).count();
        let count = c.usize().filter(|n| *n <= whole)?;
        let mut frames = Vec::with_capacity(count);
        for _ in 0..count {
            let entries = c.usize().filter(|n| *n > 0)?;
            whole = whole.checked_sub(entries)?;
            let is_packed = match c.u8()? {
                0 => false,
                1 => true,
                _ => return None,
            };
            frames.push(Frame { entries, is_packed, bytes: c.bytes()? });
        }
        (whole == 0).then_some(())?;
        let count = c.usize().filter(|n| *n <= entries.len())?;
        let mut beside = Vec::with_capacity(count);
        for _ in 0..count {
            beside.push(c.bytes().filter(|body| body.len() <= BODY_IN_MEMORY_BYTES_MAX)?);
        }
        Some(Self { entries, frames, beside })
    }
}

fn take_entries<'a>(c: &mut Cursor<'a>) -> Option<Vec<Listed<'a>>> {
    let count = c.usize().filter(|n| *n <= ENTRIES_MAX)?;
    let mut entries: Vec<Listed<'a>> = Vec::with_capacity(count);
    let (mut keys_bytes, mut weight, mut captures) = (0usize, 0usize, 0usize);
    for n in 0..count {
        let kind = c.u8()?;
        let (before, time_before) = entries.last().map_or(("", 0), |e| (e.id.key.as_str(), e.id.time.millis()));
        let mut key = before.as_bytes().get(..c.usize()?)?.to_vec();
        key.extend_from_slice(c.bytes()?);
        keys_bytes = keys_bytes.checked_add(key.len()).filter(|n| *n <= KEYS_BYTES_MAX)?;
        // A zero byte ends a key in the index.
        let key = String::from_utf8(key).ok().filter(|key| !key.contains('\0'))?;
        let time = Timestamp::from_millis(time_before.checked_add(c.i64()?)?)?;
        let id = EntryKey { key, time, tag: c.array()? };
        let coded = match kind {
            kind::REMOVED => Coded::Removed,
            kind::WHOLE => Coded::Whole { raw_len: c.usize()? },
            kind::NEAR => {
                let back = c.usize().filter(|back| (1..=n).contains(back))?;
                Coded::Near { back, raw_len: c.usize()?, packed: c.bytes()? }
            }
            kind::FAR => Coded::Far {
                time: Timestamp::from_millis(time.millis().checked_add(c.i64()?)?)?,
                tag: c.array()?,
                form: c.array()?,
                raw_len: c.usize()?,
                packed: c.bytes()?,
            },
            _ => return None,
        };
        captures += usize::from(coded != Coded::Removed);
        weight = weight.checked_add(coded.raw_len()).filter(|n| *n <= weight_max(captures))?;
        entries.push(Listed { id, coded });
    }
    Some(entries)
}

/// What so many captures of one parcel may weigh.
pub(super) fn weight_max(captures: usize) -> usize {
    if captures <= 1 { WEIGHT_ALONE_MAX } else { WEIGHT_MAX }
}

/// Whether something went into a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Taken,
    /// The parcel is full; it goes into the next.
    Full,
    /// It is more than any parcel takes.
    TooHeavy,
}

/// A parcel being filled.
#[derive(Debug)]
pub(super) struct Writer {
    bytes_max: usize,
    directory: Vec<u8>,
    entries: usize,
    captures: usize,
    keys_bytes: usize,
    weight: usize,
    last_key: String,
    last_time: i64,
    frames: Vec<u8>,
    frames_count: usize,
    /// Whole items that wait for their frame.
    waiting: Vec<u8>,
    waiting_count: usize,
    beside: Vec<u8>,
    beside_count: usize,
}

impl Writer {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            directory: Vec::new(),
            entries: 0,
            captures: 0,
            keys_bytes: 0,
            weight: 0,
            last_key: String::new(),
            last_time: 0,
            frames: Vec::new(),
            frames_count: 0,
            waiting: Vec::new(),
            waiting_count: 0,
            beside: Vec::new(),
            beside_count: 0,
        }
    }

    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// Puts the mark of a removal in.
    pub(super) fn remove(&mut self, id: &EntryKey) -> Result<Fit> {
        if !self.has_place_for(id) || !self.has_room(id.key.len())? {
            return Ok(Fit::Full);
        }
        self.list(id, &Coded::Removed);
        Ok(Fit::Taken)
    }

    /// Puts a capture in: its item, which weighs so much, coded as said, and a body beside it. If it does not fit, nothing has
    /// changed.
    pub(super) fn put(
        &mut self,
        id: &EntryKey,
        item: &[u8],
        weight: usize,
        coded: &Coded<'_>,
        beside: Option<&[u8]>,
    ) -> Result<Fit> {
        if weight > WEIGHT_ALONE_MAX {
            return Ok(Fit::TooHeavy);
        }
        if !self.has_place_for(id) || self.weight + weight > weight_max(self.captures + 1) {
            return Ok(Fit::Full);
        }
        let around = id.key.len() + beside.map_or(0, <[u8]>::len);
        match coded {
            Coded::Removed => return Ok(Fit::Full),
            Coded::Near { packed, .. } | Coded::Far { packed, .. } => {
                if !self.has_room(around + packed.len())? {
                    return Ok(Fit::Full);
                }
            }
            Coded::Whole { .. } => {
                if !self.waiting.is_empty() && self.waiting.len() + item.len() > PARCEL_FRAME_BYTES {
                    self.flush()?;
                }
                // Packed it may fit where it does not as it is. Then it is alone in its frame.
                let packed = if self.has_room(around + item.len())? { None } else { Some(pack(item)?) };
                if packed.as_ref().is_some_and(|(_, packed)| !self.fits(around + packed.len())) {
                    return Ok(Fit::Full);
                }
                match packed {
                    None => {
                        self.waiting.put_raw(item);
                        self.waiting_count += 1;
                    }
                    Some((is_packed, packed)) => self.put_frame(1, is_packed, &packed),
                }
            }
        }
        if let Some(body) = beside {
            self.beside.put_bytes(body);
            self.beside_count += 1;
        }
        self.weight += weight;
        self.captures += 1;
        self.list(id, coded);
        Ok(Fit::Taken)
    }

    /// The parcel's bytes.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        self.flush()?;
        let mut rest = Vec::with_capacity(self.directory.len() + self.frames.len() + self.beside.len() + 16);
        rest.put_len(self.entries);
        rest.put_raw(&self.directory);
        rest.put_len(self.frames_count);
        rest.put_raw(&self.frames);
        rest.put_len(self.beside_count);
        rest.put_raw(&self.beside);
        Ok(sealed(&rest))
    }

    fn has_place_for(&self, id: &EntryKey) -> bool {
        self.entries < ENTRIES_MAX && self.keys_bytes + id.key.len() <= KEYS_BYTES_MAX
    }

    /// Whether so many more bytes fit. What waits is packed to see.
    fn has_room(&mut self, bytes: usize) -> Result<bool> {
        if !self.fits(bytes) {
            self.flush()?;
        }
        Ok(self.fits(bytes))
    }

    /// The first always fits: it has to travel somehow.
    fn fits(&self, bytes: usize) -> bool {
        let here = HEAD_BYTES + self.directory.len() + self.frames.len() + self.waiting.len() + self.beside.len();
        self.entries == 0 || here + ENTRY_BYTES * 2 + bytes <= self.bytes_max
    }

    fn list(&mut self, id: &EntryKey, coded: &Coded<'_>) {
        let shared = self.last_key.bytes().zip(id.key.bytes()).take_while(|(a, b)| a == b).count();
        let out = &mut self.directory;
        out.push(match coded {
            Coded::Removed => kind::REMOVED,
            Coded::Whole { .. } => kind::WHOLE,
            Coded::Near { .. } => kind::NEAR,
            Coded::Far { .. } => kind::FAR,
        });
        out.put_len(shared);
        out.put_bytes(id.key.as_bytes().get(shared..).unwrap_or_default());
        out.put_i64(id.time.millis() - self.last_time);
        out.put_raw(&id.tag);
        match coded {
            Coded::Removed => {}
            Coded::Whole { raw_len } => out.put_len(*raw_len),
            Coded::Near { back, raw_len, packed } => {
                out.put_len(*back);
                out.put_len(*raw_len);
                out.put_bytes(packed);
            }
            Coded::Far { time, tag, form, raw_len, packed } => {
                out.put_i64(time.millis() - id.time.millis());
                out.put_raw(tag);
                out.put_raw(form);
                out.put_len(*raw_len);
                out.put_bytes(packed);
            }
        }
        self.keys_bytes += id.key.len();
        self.last_key.clone_from(&id.key);
        self.last_time = id.time.millis();
        self.entries += 1;
    }

    fn flush(&mut self) -> Result<()> {
        let (items, count) = (std::mem::take(&mut self.waiting), std::mem::take(&mut self.waiting_count));
        if count > 0 {
            let (is_packed, bytes) = pack(&items)?;
            self.put_frame(count, is_packed, &bytes);
        }
        Ok(())
    }

    fn put_frame(&mut self, entries: usize, is_packed: bool, bytes: &[u8]) {
        self.frames.put_len(entries);
        self.frames.push(u8::from(is_packed));
        self.frames.put_bytes(bytes);
        self.frames_count += 1;
    }
}

/// The head before the rest.
pub(super) fn sealed(rest: &[u8]) -> Vec<u8> {
    let mut out = HEAD.begin(FORM, rest.len());
    out.put_raw(rest);
    HEAD.seal(&mut out);
    out
}

fn pack(raw: &[u8]) -> Result<(bool, Vec<u8>)> {
    let packed = compress::pack(raw, ZSTD_LEVEL)?;
    Ok(if packed.len() < raw.len() { (true, packed) } else { (false, raw.to_vec()) })
}
