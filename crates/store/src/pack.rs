//! Packs: append-only files of blocks. A seal appends the blocks of one batch and ends with a directory; until that
//! directory is there, whole, none of it counts. So a crash can only ever cost the last, unacknowledged seal.

use crate::block::{self, Block, Kind, NoBlock};
use crate::compress;
use crate::directory::{self, Op};
use crate::disk::{Disk, DiskFile};
use crate::error::{Error, Result};
use crate::limits::{FORMAT_VERSION, OPEN_FILES_MAX, PACK_BYTES, ZSTD_LEVEL};
use quick_cache::sync::Cache;
use std::sync::Arc;

pub(crate) const FOLDER: &str = "packs";
const MAGIC: &[u8; 8] = b"HDTPACK\n";
/// Blocks wait in memory up to this size before they are written.
const WRITE_BYTES: usize = 1024 * 1024;

pub(crate) fn name(number: u32) -> String {
    format!("{FOLDER}/{number:08x}.pack")
}

/// The pack files of a store, for reading.
#[derive(Debug)]
pub(crate) struct Packs {
    disk: Arc<dyn Disk>,
    open: Cache<u32, Arc<dyn DiskFile>>,
}

impl Packs {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk, open: Cache::new(OPEN_FILES_MAX) }
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// Numbers and sizes, in order.
    pub(crate) fn list(&self) -> Result<Vec<(u32, u64)>> {
        let files = self.disk.list(FOLDER).map_err(Error::disk("listing the packs"))?;
        // Only names that we would write ourselves.
        let number = |file: &str| {
            let number = u32::from_str_radix(file.strip_suffix(".pack")?, 16).ok()?;
            (name(number) == format!("{FOLDER}/{file}")).then_some(number)
        };
        let mut packs: Vec<_> = files.iter().filter_map(|(name, len)| Some((number(name)?, *len))).collect();
        packs.sort_unstable();
        Ok(packs)
    }

    pub(crate) fn file(&self, pack: u32) -> Result<Arc<dyn DiskFile>> {
        self.open.get_or_insert_with(&pack, || {
            let name = name(pack);
            self.disk.open(&name).map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => Error::Damaged(format!("{name} is missing")),
                _ => Error::disk(format!("opening {name}"))(e),
            })
        })
    }

    pub(crate) fn forget(&self, pack: u32) {
        self.open.remove(&pack);
    }

    /// Reads one block.
    pub(crate) fn block(&self, pack: u32, offset: u64) -> Result<Block> {
        let file = self.file(pack)?;
        let len = file.len().map_err(Error::disk(format!("reading {}", name(pack))))?;
        match block::read(&*file, offset, len) {
            Ok(block) => Ok(block),
            Err(NoBlock::Io(e)) => Err(Error::disk(format!("reading {} at {offset}", name(pack)))(e)),
            Err(_) => Err(Error::Damaged(format!("{} at byte {offset} is not what was written", name(pack)))),
        }
    }
}

/// A seal's directory.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) offset: u64,
    pub(crate) end: u64,
    /// Its operations, as [`directory`] spells them.
    pub(crate) raw: Vec<u8>,
}

impl Packs {
    /// The first directory from an offset on, in a pack whose seals end at `end`. Blocks before it are hopped over by
    /// their headers alone; only where these do not lead to a directory, or to the end, are blocks read and checked one
    /// by one.
    pub(crate) fn next_directory(&self, pack: u32, from: u64, end: u64) -> Result<Option<Directory>> {
        let file = self.file(pack)?;
        let reading = || Error::disk(format!("reading {}", name(pack)));
        let from = from.max(block::FILE_HEADER_BYTES as u64);
        let mut at = from;
        while let Some(header) = block::read_header(&*file, at, end).map_err(reading())? {
            if header.kind == Kind::Directory {
                break;
            }
            at += header.total_len();
        }
        if at == end {
            return Ok(None);
        }
        let mut hopped = true;
        loop {
            match block::read(&*file, at, end) {
                Ok(read) if read.header.kind == Kind::Directory => {
                    let next = at + read.header.total_len();
                    let raw = read.unpacked().map_err(|_| unknown_directory(pack))?;
                    return Ok(Some(Directory { offset: at, end: next, raw }));
                }
                _ if hopped => (at, hopped) = (from, false),
                Ok(read) => at += read.header.total_len(),
                Err(NoBlock::End) => return Ok(None),
                Err(NoBlock::Io(e)) => return Err(reading()(e)),
                Err(NoBlock::Bad(header)) => match behind_damage(&*file, at, end, header).map_err(reading())? {
                    Some(next) => at = next,
                    None => return Ok(None),
                },
            }
        }
    }
}

/// What a directory is that no program of this version wrote.
pub(crate) fn unknown_directory(pack: u32) -> Error {
    Error::Format(format!("{} holds a directory that this program cannot read", name(pack)))
}

/// Where blocks go on behind a bad one, whose header may still tell.
fn behind_damage(
    file: &dyn DiskFile,
    at: u64,
    len: u64,
    header: Option<block::Header>,
) -> std::io::Result<Option<u64>> {
    let hop = header.map(|h| at + h.total_len()).filter(|next| block::read(file, *next, len).is_ok());
    hop.map_or_else(|| block::next_whole(file, at + 1, len), |next| Ok(Some(next)))
}

/// Appends seals. One exists at a time.
#[derive(Debug)]
pub(crate) struct PackWriter {
    disk: Arc<dyn Disk>,
    number: u32,
    file: Option<Arc<dyn DiskFile>>,
    /// What is in the file, and what waits to be.
    written: u64,
    waiting: Vec<u8>,
}

impl PackWriter {
    /// Goes on behind the newest pack, or begins one with the number given: no number is used twice. One of an earlier version is
    /// left as it is: its first bytes say what stands in it.
    pub(crate) fn new(disk: Arc<dyn Disk>, newest: Option<(u32, u64)>, next: u32) -> Result<Self> {
        let newest = match newest {
            Some((number, _)) if check_header(&*disk, number)? != Some(FORMAT_VERSION) => None,
            newest => newest,
        };
        let (number, written) = newest.unwrap_or((next, 0));
        let file = match newest {
            Some((number, _)) => Some(disk.open(&name(number)).map_err(Error::disk("opening the newest pack"))?),
            None => None,
        };
        Ok(Self { disk, number, file, written, waiting: Vec::new() })
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Where the next seal will begin, unless it begins a pack.
    pub(crate) fn position(&self) -> (u32, u64) {
        (self.number, self.offset())
    }

    /// Before a seal: is the current pack full, or does the caller want a new one?
    pub(crate) fn begin(&mut self, fresh: bool) -> Result<()> {
        if self.file.is_some() && (fresh || self.written >= PACK_BYTES) {
            self.file = None;
            self.number = self.number.checked_add(1).ok_or_else(|| Error::Refused("too many packs".into()))?;
        }
        if self.file.is_none() {
            let name = name(self.number);
            let making = || Error::disk(format!("making {name}"));
            let file = self.disk.create(&name).map_err(making())?;
            file.write_all_at(&block::file_header(MAGIC, self.number), 0).map_err(making())?;
            self.disk.sync_dir(FOLDER).map_err(making())?;
            self.written = block::FILE_HEADER_BYTES as u64;
            self.file = Some(file);
        }
        Ok(())
    }

    /// Where the next block will stand.
    pub(crate) fn offset(&self) -> u64 {
        self.written + self.waiting.len() as u64
    }

    pub(crate) fn put(&mut self, kind: Kind, packed: bool, payload: &[u8], raw_len: usize) -> Result<u64> {
        self.put_slots((kind, 0), packed, payload, raw_len)
    }

    /// The same for a group of so many items.
    pub(crate) fn put_slots(
        &mut self,
        (kind, slots): (Kind, usize),
        packed: bool,
        payload: &[u8],
        raw_len: usize,
    ) -> Result<u64> {
        let offset = self.offset();
        block::put_slots(&mut self.waiting, (kind, slots), packed, payload, raw_len);
        if self.waiting.len() >= WRITE_BYTES {
            self.flush()?;
        }
        Ok(offset)
    }

    fn flush(&mut self) -> Result<()> {
        let Some(file) = &self.file else { return Err(Error::Damaged("no pack is open".into())) };
        file.write_all_at(&self.waiting, self.written)
            .map_err(Error::disk(format!("writing {}", name(self.number))))?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Ends a seal: directory, then sync. Returns where the pack now ends.
    pub(crate) fn end(&mut self, ops: &[Op]) -> Result<u64> {
        let raw = directory::encode(ops);
        let packed = compress::pack(&raw, ZSTD_LEVEL)?;
        self.put(Kind::Directory, true, &packed, raw.len())?;
        self.flush()?;
        let end = self.written;
        if let Some(file) = &self.file {
            file.sync().map_err(Error::disk(format!("syncing {}", name(self.number))))?;
        }
        // Not synced itself: where it is found, what is before it was.
        self.put(Kind::Synced, false, &[], 0)?;
        self.flush()?;
        Ok(end)
    }
}

/// What a scan of a pack found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) seals: Vec<Seal>,
    /// Bytes behind the last whole seal.
    pub(crate) torn_bytes: u64,
    /// Where damage lies that is not at the end.
    pub(crate) damaged: Vec<u64>,
}

#[derive(Debug)]
pub(crate) struct Seal {
    pub(crate) ops: Vec<Op>,
    pub(crate) end: u64,
    whole: bool,
}

/// Checks the first bytes of a pack, and says its version. `None`: they are zeros, or missing.
pub(crate) fn check_header(disk: &dyn Disk, number: u32) -> Result<Option<u16>> {
    let name = name(number);
    let reading = || Error::disk(format!("reading {name}"));
    let file = disk.open(&name).map_err(reading())?;
    let mut header = [0; block::FILE_HEADER_BYTES];
    if file.len().map_err(reading())? >= header.len() as u64 {
        file.read_exact_at(&mut header, 0).map_err(reading())?;
    }
    let begun = block::check_file_header(&name, &header, MAGIC)?;
    let said = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    if begun.is_some() && said != number {
        return Err(Error::Format(format!("{name} says that it is pack {said:08x}: give it back its name")));
    }
    Ok(begun)
}

/// Reads the seals of a pack from an offset on (0: from its beginning). A bad block is damage if anything was written
/// after a later sync: the seal still counts, and `verify` will name what it hit. In the last seal, without such a
/// sign, it means that the seal was never finished.
pub(crate) fn scan(disk: &dyn Disk, number: u32, from: u64) -> Result<Scan> {
    let name = name(number);
    let reading = || Error::disk(format!("reading {name}"));
    let file = disk.open(&name).map_err(reading())?;
    let len = file.len().map_err(reading())?;
    let mut scan = Scan::default();
    let mut at = from;
    let mut whole = true;
    if at == 0 {
        at = block::FILE_HEADER_BYTES as u64;
        if check_header(disk, number)?.is_none() {
            if !block::synced_after(&*file, at, len).map_err(reading())? {
                scan.torn_bytes = len;
                return Ok(scan);
            }
            scan.damaged.push(0);
        }
    }
    let mut end = at;
    loop {
        match block::read(&*file, at, len) {
            Ok(read) => {
                at += read.header.total_len();
                match read.header.kind {
                    Kind::Directory => {
                        let ops = read.unpacked().ok().and_then(|raw| directory::decode(&raw));
                        let ops = ops.ok_or_else(|| unknown_directory(number))?;
                        scan.seals.push(Seal { ops, end: at, whole });
                        (end, whole) = (at, true);
                    }
                    Kind::Synced => {
                        if let Some(seal) = scan.seals.last_mut() {
                            seal.whole = true;
                        }
                        (end, whole) = (at, true);
                    }
                    _ => {}
                }
            }
            Err(NoBlock::End) => break,
            Err(NoBlock::Io(e)) => return Err(reading()(e)),
            Err(NoBlock::Bad(header)) => {
                whole = false;
                scan.damaged.push(at);
                match behind_damage(&*file, at, len, header).map_err(reading())? {
                    Some(next) => at = next,
                    None => break,
                }
            }
        }
    }
    if scan.seals.last().is_some_and(|seal| !seal.whole) {
        scan.seals.pop();
        end = scan.seals.last().map_or(from.max(block::FILE_HEADER_BYTES as u64), |seal| seal.end);
    }
    scan.torn_bytes = len.saturating_sub(end);
    scan.damaged.retain(|at| *at < end);
    Ok(scan)
}

/// Cuts a pack to its last whole seal.
pub(crate) fn cut(disk: &dyn Disk, number: u32, torn_bytes: u64) -> Result<()> {
    let name = name(number);
    let cutting = || Error::disk(format!("cutting the torn end of {name}"));
    let file = disk.open(&name).map_err(cutting())?;
    let len = file.len().map_err(cutting())?;
    file.set_len(len.saturating_sub(torn_bytes)).map_err(cutting())?;
    file.sync().map_err(cutting())
}
