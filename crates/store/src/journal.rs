//! The journal: what was committed but is not yet sealed into a pack. One file per batch; each operation is a block.
//! It is read only after a crash, and removed when its batch lies in a pack, synced.
//!
//! What can be lost: operations after the last `sync`, which nobody was told were safe. A torn end is cut on open.

use crate::block::{self, Kind, NoBlock};
use crate::capture::{Body, Capture};
use crate::disk::{Disk, DiskFile};
use crate::envelope::{self, Where};
use crate::error::{Error, Result};
use crate::index::EntryKey;
use crate::wire::{Cursor, Put};
use herodotus_base::limits::BODY_IN_MEMORY_BYTES_MAX;
use herodotus_base::{Digests, Sha1};
use std::sync::Arc;

pub(crate) const FOLDER: &str = "journal";
const MAGIC: &[u8; 8] = b"HDTJRNL\n";

/// One operation that a caller asked for.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Store(Arc<Capture>),
    Remove(EntryKey),
    Release(EntryKey),
    Note(String, Vec<u8>),
}

pub(crate) fn encode(act: &Act) -> Vec<u8> {
    let mut out = Vec::new();
    match act {
        Act::Store(capture) => {
            out.push(1);
            match &capture.main.body {
                Body::Bytes(bytes, _) => {
                    out.put_raw(&envelope::encode(capture, &Where::Here, &[], None));
                    out.put_bytes(bytes);
                }
                Body::Blob { digests, .. } => {
                    out.put_raw(&envelope::encode(capture, &Where::Blob, &[], None));
                    out.put_raw(&digests.sha1.0);
                }
            }
        }
        Act::Remove(id) | Act::Release(id) => {
            out.push(if matches!(act, Act::Remove(_)) { 2 } else { 4 });
            out.put_bytes(&id.encode());
        }
        Act::Note(name, value) => {
            out.push(3);
            out.put_bytes(name.as_bytes());
            out.put_bytes(value);
        }
    }
    out
}

pub(crate) fn decode(bytes: &[u8]) -> Option<Act> {
    let mut c = Cursor::new(bytes);
    Some(match c.u8()? {
        1 => {
            let envelope = envelope::decode(&mut c)?;
            let body = match envelope.body {
                Where::Blob => {
                    let digests = Digests { sha256: envelope.sha256, sha1: Sha1(c.array()?) };
                    Body::Blob { len: envelope.body_len, digests }
                }
                _ => Body::new(c.bytes().filter(|b| b.len() <= BODY_IN_MEMORY_BYTES_MAX)?),
            };
            Act::Store(Arc::new(envelope.with_body(body)))
        }
        2 => Act::Remove(EntryKey::decode(c.bytes()?)?),
        3 => Act::Note(c.text()?.to_owned(), c.bytes()?.to_vec()),
        4 => Act::Release(EntryKey::decode(c.bytes()?)?),
        _ => return None,
    })
}

fn name(number: u32) -> String {
    format!("{FOLDER}/{number:08x}.log")
}

/// A journal file being written. It is made when the first operation comes.
#[derive(Debug)]
pub(crate) struct Journal {
    disk: Arc<dyn Disk>,
    number: u32,
    file: Option<Arc<dyn DiskFile>>,
    len: u64,
    /// Everything written so far was synced.
    is_synced: bool,
    /// Somebody waits for the disk, and must find the journal in its place afterwards.
    pub(crate) is_syncing: bool,
}

impl Journal {
    pub(crate) fn new(disk: Arc<dyn Disk>, number: u32) -> Self {
        Self { disk, number, file: None, len: 0, is_synced: true, is_syncing: false }
    }

    /// Appends operations: they survive the process, not yet the loss of power.
    pub(crate) fn write(&mut self, acts: &[Act]) -> Result<()> {
        if acts.is_empty() {
            return Ok(());
        }
        let mut out = Vec::new();
        if self.file.is_none() {
            let name = name(self.number);
            let file = self.disk.create(&name).map_err(Error::disk(format!("making {name}")))?;
            self.disk.sync_dir(FOLDER).map_err(Error::disk("making the journal's name durable"))?;
            self.file = Some(file);
            out.put_raw(&block::file_header(MAGIC, self.number));
        }
        let file = self.file.as_ref().map_or_else(|| Err(Error::Damaged("no journal".into())), Ok)?;
        // What is before this was synced: a reader can tell a rotten operation from one that was never finished.
        if self.is_synced {
            block::put(&mut out, Kind::Synced, false, &[], 0);
        }
        for act in acts {
            let payload = encode(act);
            block::put(&mut out, Kind::Journal, false, &payload, payload.len());
        }
        file.write_all_at(&out, self.len).map_err(Error::disk("writing the journal"))?;
        self.len += out.len() as u64;
        self.is_synced = false;
        Ok(())
    }

    /// What is to be synced, and how much of it is written: for a sync that holds up nobody who writes.
    pub(crate) fn begin_sync(&mut self) -> (Option<Arc<dyn DiskFile>>, u64) {
        self.is_syncing = true;
        (self.file.clone().filter(|_| !self.is_synced), self.len)
    }

    /// The sync of so much is over.
    pub(crate) fn end_sync(&mut self, len: u64) {
        self.is_syncing = false;
        self.is_synced |= self.len == len;
    }

    /// Makes what was written durable.
    pub(crate) fn sync(&mut self) -> Result<()> {
        if let Some(file) = self.file.as_ref().filter(|_| !self.is_synced) {
            file.sync().map_err(Error::disk("syncing the journal"))?;
        }
        self.is_synced = true;
        Ok(())
    }

    /// Forgets the journal: its batch is safe elsewhere.
    pub(crate) fn remove(self) -> Result<()> {
        if self.file.is_some() {
            let name = name(self.number);
            self.disk.remove(&name).map_err(Error::disk(format!("removing {name}")))?;
            self.disk.sync_dir(FOLDER).map_err(Error::disk("making the journal's removal durable"))?;
        }
        Ok(())
    }
}

/// A journal found on open: its operations in order, and how many bytes at its end were torn.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) journal: Journal,
    pub(crate) acts: Vec<Act>,
    pub(crate) torn_bytes: u64,
    /// Where operations stood that have rotted.
    pub(crate) damaged: Vec<u64>,
}

/// Reads every journal that a crash left behind, oldest first.
pub(crate) fn recover(disk: &Arc<dyn Disk>) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for (file_name, len) in disk.list(FOLDER).map_err(Error::disk("listing the journal"))? {
        // Only names that we would write ourselves.
        let number = file_name.strip_suffix(".log").and_then(|n| u32::from_str_radix(n, 16).ok());
        let Some(number) = number.filter(|n| name(*n) == format!("{FOLDER}/{file_name}")) else { continue };
        let name = name(number);
        let reading = || Error::disk(format!("reading {name}"));
        let file = disk.open(&name).map_err(reading())?;
        let mut header = [0; block::FILE_HEADER_BYTES];
        let mut at = 0;
        if len >= header.len() as u64 {
            file.read_exact_at(&mut header, 0).map_err(reading())?;
            if block::check_file_header(&name, &header, MAGIC)?.is_some() {
                at = header.len() as u64;
            }
        }
        let mut acts = Vec::new();
        let mut damaged = Vec::new();
        while at > 0 {
            match block::read(&*file, at, len) {
                Ok(read) => {
                    at += read.header.total_len();
                    if read.header.kind == Kind::Journal {
                        let act = decode(&read.payload);
                        acts.push(
                            act.ok_or_else(|| Error::Format(format!("{name} holds an operation we do not know")))?,
                        );
                    }
                }
                Err(NoBlock::End) => break,
                Err(NoBlock::Bad(_)) => {
                    if !block::synced_after(&*file, at + 1, len).map_err(reading())? {
                        break;
                    }
                    damaged.push(at);
                    let next = block::next_whole(&*file, at + 1, len).map_err(reading())?;
                    let Some(next) = next else { break };
                    at = next;
                }
                Err(NoBlock::Io(e)) => return Err(reading()(e)),
            }
        }
        let journal =
            Journal { disk: disk.clone(), number, file: Some(file), len: at, is_synced: false, is_syncing: false };
        found.push(Found { journal, acts, torn_bytes: len - at, damaged });
    }
    Ok(found)
}

impl Found {
    pub(crate) fn number(&self) -> u32 {
        self.journal.number
    }

    pub(crate) fn name(&self) -> String {
        name(self.journal.number)
    }
}
