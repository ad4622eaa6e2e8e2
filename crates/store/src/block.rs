//! Blocks: the unit of everything that is appended to a file. A header of sixteen bytes, then a payload; one checksum
//! over both tells a block that was written wholly from one that was torn or has rotted.
//!
//! ```text
//! crc32 of the rest │ kind │ packed? │ slots │ stored length │ raw length │ payload
//!        4          │  1   │    1    │   2   │      4        │     4      │ stored length
//! ```
//!
//! Slots are how many items stand in a group, so that whoever sends it on need not unpack it to know: 0 where that is not said, as it never was before
//! version 3.

use crate::compress;
use crate::disk::DiskFile;
use crate::error::{Error, Result};
use crate::limits::{BLOCK_BYTES_MAX, FORMAT_VERSION};
use std::io;
use std::num::NonZero;

pub(crate) const HEADER_BYTES: usize = 16;
pub(crate) const FILE_HEADER_BYTES: usize = 16;

/// The first bytes of every file we write: what it is, its version, and its number.
pub(crate) fn file_header(magic: &[u8; 8], number: u32) -> [u8; FILE_HEADER_BYTES] {
    let mut out = [0; FILE_HEADER_BYTES];
    out[..8].copy_from_slice(magic);
    out[8..10].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    out[12..].copy_from_slice(&number.to_le_bytes());
    out
}

/// Checks a file's first bytes, and says its version. `Ok(None)`: the file was never begun (a crash came first).
pub(crate) fn check_file_header(name: &str, header: &[u8], magic: &[u8; 8]) -> Result<Option<u16>> {
    if header.len() < FILE_HEADER_BYTES || header.iter().all(|b| *b == 0) {
        return Ok(None);
    }
    if header[..8] != magic[..] {
        return Err(Error::Format(format!("{name} is not a file of this archive (its first bytes are wrong)")));
    }
    let version = u16::from_le_bytes([header[8], header[9]]);
    if version == 0 || version > FORMAT_VERSION {
        return Err(Error::Format(format!(
            "{name} has format version {version}; this program reads up to {FORMAT_VERSION}: use a newer herodotus"
        )));
    }
    Ok(Some(version))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Several items, packed together.
    Group = 1,
    /// Several items, each packed against the version before it: how version 1 kept differences.
    Deltas = 2,
    /// A body as it is.
    Raw = 3,
    /// What the blocks before it hold: ends a seal and makes it valid.
    Directory = 4,
    /// One operation in a journal.
    Journal = 5,
    /// One piece of a large body.
    Chunk = 6,
    /// The end of a large body's file.
    BlobEnd = 7,
    /// Says that everything before it in the file was synced when it was written.
    Synced = 8,
    /// Several items, each as a patch to the version before it, packed together.
    Patches = 9,
}

impl Kind {
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        let all = [
            Self::Group,
            Self::Deltas,
            Self::Raw,
            Self::Directory,
            Self::Journal,
            Self::Chunk,
            Self::BlobEnd,
            Self::Synced,
            Self::Patches,
        ];
        all.into_iter().find(|k| *k as u8 == code)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    crc: u32,
    pub(crate) kind: Kind,
    pub(crate) packed: bool,
    /// Items in a group, if it is said.
    pub(crate) slots: Option<NonZero<u16>>,
    pub(crate) stored_len: usize,
    pub(crate) raw_len: usize,
}

impl Header {
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (stored_len, raw_len) = (word(8) as usize, word(12) as usize);
        let kind = Kind::from_code(bytes[4])?;
        let slots = NonZero::new(u16::from_le_bytes([bytes[6], bytes[7]]));
        let sane = bytes[5] <= 1 && (slots.is_none() || kind == Kind::Group) && stored_len <= BLOCK_BYTES_MAX;
        (sane && raw_len <= BLOCK_BYTES_MAX).then_some(())?;
        Some(Self { crc: word(0), kind, packed: bytes[5] == 1, slots, stored_len, raw_len })
    }

    pub(crate) fn total_len(&self) -> u64 {
        (HEADER_BYTES + self.stored_len) as u64
    }
}

/// Appends a block. `payload` is packed already if `packed` says so.
pub(crate) fn put(out: &mut Vec<u8>, kind: Kind, packed: bool, payload: &[u8], raw_len: usize) {
    put_slots(out, (kind, 0), packed, payload, raw_len);
}

/// The same for one that says how many items it has; if they are too many for that, nothing is said.
pub(crate) fn put_slots(out: &mut Vec<u8>, (kind, slots): (Kind, usize), packed: bool, payload: &[u8], raw_len: usize) {
    let slots = u16::try_from(slots).unwrap_or(0).to_le_bytes();
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&[kind as u8, u8::from(packed), slots[0], slots[1]]);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(&(raw_len as u32).to_le_bytes());
    out.extend_from_slice(payload);
    let crc = crc32fast::hash(&out[start + 4..]);
    out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
}

/// A block read and checked; the payload is still packed.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) header: Header,
    pub(crate) payload: Vec<u8>,
}

/// Why there is no block.
#[derive(Debug)]
pub(crate) enum NoBlock {
    /// The file ends here, exactly.
    End,
    /// What is here is not a block, or not the one that was written. The header is given if it looks sane, so that a
    /// reader may hop over the damage.
    Bad(Option<Header>),
    Io(io::Error),
}

/// The header at an offset, of a block that fits into the file. Nothing says yet that it is what was written.
pub(crate) fn read_header(file: &dyn DiskFile, offset: u64, file_len: u64) -> io::Result<Option<Header>> {
    if file_len.saturating_sub(offset) < HEADER_BYTES as u64 {
        return Ok(None);
    }
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(Header::decode(&bytes).filter(|header| header.total_len() <= file_len - offset))
}

/// Reads the block at an offset.
pub(crate) fn read(file: &dyn DiskFile, offset: u64, file_len: u64) -> Result<Block, NoBlock> {
    if offset >= file_len {
        return Err(NoBlock::End);
    }
    if file_len - offset < HEADER_BYTES as u64 {
        return Err(NoBlock::Bad(None));
    }
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact_at(&mut bytes, offset).map_err(NoBlock::Io)?;
    let header = Header::decode(&bytes).ok_or(NoBlock::Bad(None))?;
    if header.total_len() > file_len - offset {
        return Err(NoBlock::Bad(None));
    }
    let mut payload = vec![0; header.stored_len];
    file.read_exact_at(&mut payload, offset + HEADER_BYTES as u64).map_err(NoBlock::Io)?;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[4..]);
    crc.update(&payload);
    if crc.finalize() == header.crc { Ok(Block { header, payload }) } else { Err(NoBlock::Bad(Some(header))) }
}

impl Block {
    pub(crate) fn unpacked(self) -> Result<Vec<u8>> {
        if self.header.packed { compress::unpack(&self.payload, self.header.raw_len) } else { Ok(self.payload) }
    }

    /// The beginning of it: at least as much as `wanted` asks for when it is shown the first bytes.
    pub(crate) fn unpacked_start(self, wanted: impl Fn(&[u8]) -> Option<usize>) -> Result<Vec<u8>> {
        if !self.header.packed {
            return Ok(self.payload);
        }
        compress::unpack_start(&self.payload, self.header.raw_len, wanted)
    }
}

/// The next offset at which a whole block stands.
pub(crate) fn next_whole(file: &dyn DiskFile, from: u64, len: u64) -> io::Result<Option<u64>> {
    const WINDOW: u64 = 1024 * 1024;
    let mut at = from;
    let mut window = Vec::new();
    while at + (HEADER_BYTES as u64) <= len {
        let take = (len - at).min(WINDOW + HEADER_BYTES as u64);
        window.resize(take as usize, 0);
        file.read_exact_at(&mut window, at)?;
        for (i, bytes) in window.windows(HEADER_BYTES).enumerate() {
            let Ok(bytes) = bytes.try_into() else { continue };
            if Header::decode(bytes).is_some() && read(file, at + i as u64, len).is_ok() {
                return Ok(Some(at + i as u64));
            }
        }
        at += WINDOW;
    }
    Ok(None)
}

/// Whether anything was ever written behind a sync after this point: then a bad block before it has rotted, and was not
/// torn.
pub(crate) fn synced_after(file: &dyn DiskFile, from: u64, len: u64) -> io::Result<bool> {
    let mut at = from;
    while let Some(next) = next_whole(file, at, len)? {
        match read(file, next, len) {
            Ok(block) if block.header.kind == Kind::Synced => return Ok(true),
            Ok(block) => at = next + block.header.total_len(),
            Err(_) => at = next + 1,
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Disk, sim::SimDisk};

    #[test]
    fn every_flipped_bit_is_noticed() {
        let disk = SimDisk::new();
        let file = disk.create("f").unwrap();
        let mut bytes = Vec::new();
        put(&mut bytes, Kind::Raw, false, b"some payload", 12);
        file.write_all_at(&bytes, 0).unwrap();
        assert_eq!(read(&*file, 0, bytes.len() as u64).unwrap().payload, b"some payload");
        for bit in 0..bytes.len() * 8 {
            disk.flip_bit("f", bit as u64 / 8, bit as u8 % 8);
            assert!(read(&*file, 0, bytes.len() as u64).is_err(), "bit {bit}");
            disk.flip_bit("f", bit as u64 / 8, bit as u8 % 8);
        }
    }
}
