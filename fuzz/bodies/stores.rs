//! Packs, journals and large bodies of any bytes: an archive that opens on them reads, verifies, compacts and takes new
//! captures without a panic, gives out only what fits its digest, and opens again.
//!
//! The first byte chooses the file. Checksums would hide everything behind them from the fuzzer, so in all but the raw
//! choices they are put right first: what is tested is what a forger, or a bug of an earlier version, could leave.

use herodotus_base::{Digests, Sha256, Timestamp};
use herodotus_store::disk::Disk;
use herodotus_store::disk::sim::SimDisk;
use herodotus_store::index::MemoryEngine;
use herodotus_store::{Body, Capture, Kind, Record, Store};
use std::io::Read;
use std::sync::Arc;

const FILE_HEADER_BYTES: usize = 16;
const BLOCK_HEADER_BYTES: usize = 16;
const TRAILER_BYTES: usize = 8;

pub const PACK: u8 = 0;
pub const PACK_RAW: u8 = 1;
pub const JOURNAL: u8 = 2;
pub const JOURNAL_RAW: u8 = 3;
pub const BLOB: u8 = 4;
pub const BLOB_RAW: u8 = 5;

pub fn run(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    let mut bytes = bytes.to_vec();
    let disk = SimDisk::new();
    match choice % 6 {
        PACK => put(&disk, "packs/00000001.pack", &mended(&mut bytes, b"HDTPACK\n", 0)),
        PACK_RAW => put(&disk, "packs/00000001.pack", &bytes),
        JOURNAL => put(&disk, "journal/00000001.log", &mended(&mut bytes, b"HDTJRNL\n", 0)),
        JOURNAL_RAW => put(&disk, "journal/00000001.log", &bytes),
        BLOB => return blob(&disk, &mended(&mut bytes, b"HDTBLOB\n", TRAILER_BYTES)),
        _ => return blob(&disk, &bytes),
    }
    // Twice: what the first opening mended must hold for the second, with and without its index.
    let engine = MemoryEngine::new();
    let first = look(&disk, &engine);
    if first {
        assert!(look(&disk, &engine), "it opened once, and does not again");
        assert!(look(&disk, &MemoryEngine::new()), "it opened once, and does not again without its index");
    }
}

fn put(disk: &SimDisk, name: &str, bytes: &[u8]) {
    disk.create(name).and_then(|file| file.write_all_at(bytes, 0)).expect("a disk in memory");
}

/// Puts the file's header and the checksum of each block right, as far as there are blocks.
fn mended(bytes: &mut Vec<u8>, magic: &[u8; 8], trailer: usize) -> Vec<u8> {
    bytes.resize(bytes.len().max(FILE_HEADER_BYTES + trailer), 0);
    bytes[..8].copy_from_slice(magic);
    bytes[8..10].copy_from_slice(&herodotus_store::limits::FORMAT_VERSION.to_le_bytes());
    let end = bytes.len() - trailer;
    let mut at = FILE_HEADER_BYTES;
    while at + BLOCK_HEADER_BYTES <= end {
        let (header, rest) = bytes[at..end].split_at_mut(BLOCK_HEADER_BYTES);
        let said = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let len = said.min(rest.len());
        header[8..12].copy_from_slice(&(len as u32).to_le_bytes());
        header[5] &= 1;
        header[6..8].fill(0);
        let mut crc = crc32fast::Hasher::new();
        crc.update(&header[4..]);
        crc.update(&rest[..len]);
        header[..4].copy_from_slice(&crc.finalize().to_le_bytes());
        at += BLOCK_HEADER_BYTES + len;
    }
    std::mem::take(bytes)
}

/// Opens the archive and does everything to it. `false`: it was refused, in words.
fn look(disk: &SimDisk, engine: &MemoryEngine) -> bool {
    let (store, recovery) = match Store::open_simulated(Arc::new(disk.clone()), Arc::new(engine.clone())) {
        Ok(opened) => opened,
        Err(error) => {
            assert!(error.to_string().len() > 10);
            return false;
        }
    };
    let _ = recovery.sentences();
    let entries: Vec<_> = store.scan_all().take(200).flatten().collect();
    for entry in &entries {
        if let Ok(Some(capture)) = store.read(&entry.id) {
            if let Body::Bytes(bytes, digests) = &capture.main.body {
                assert_eq!(Digests::of(bytes), *digests, "a body that fails its digest was given out");
            }
            if let Ok(mut body) = store.open_body(&capture.main.body) {
                let _ = std::io::copy(&mut (&mut body).take(1 << 22), &mut std::io::sink());
            }
            let _ = (capture.status(), capture.media(), capture.remote(), store.original_of(&capture));
        }
        let _ = (store.newest_not_after(&entry.id.key, entry.id.time), store.count(&entry.id.key));
    }
    let _ = store.verify(|_, _| {});
    let new = capture();
    if store.append(new.clone()).is_ok() && store.seal().is_ok() {
        assert_eq!(store.read(&new.id()).expect("a new capture is readable"), Some(new.clone()));
        // A new version of something that is here, which may be stored against it.
        if let Some(entry) = entries.iter().find(|entry| entry.url.len() < 1000) {
            let time = Timestamp::from_millis_clamped(entry.id.time.millis() + 1);
            let next = version(&entry.url, time);
            if store.append(next.clone()).is_ok_and(|a| a == herodotus_store::Appended::Stored) && store.seal().is_ok()
            {
                assert_eq!(store.read(&next.id()).expect("a new version is readable"), Some(next));
            }
        }
        if store.compact(true, |_, _| {}).is_ok() {
            assert_eq!(store.read(&new.id()).expect("readable after compaction"), Some(new));
        }
    }
    true
}

fn version(url: &str, time: Timestamp) -> Capture {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec();
    let main = Record::new(Kind::Response, url, time, head, Body::new(b"<p>one page of the seeds</p>".repeat(8)));
    Capture { url: url.to_owned(), time, main, companions: Vec::new() }
}

fn capture() -> Capture {
    version("http://new.example/", Timestamp::from_millis_clamped(1_767_000_000_000))
}

/// A large body is found by its digest, which its own footer says.
fn blob(disk: &SimDisk, bytes: &[u8]) {
    let digest = footer_digest(bytes).unwrap_or(Sha256([0; 32]));
    put(disk, &format!("blobs/{digest}.blob"), bytes);
    let opened = Store::open_simulated(Arc::new(disk.clone()), Arc::new(MemoryEngine::new()));
    let (store, _) = opened.expect("a large body does not keep an archive from opening");
    for offset in [0, 1, 1 << 20, (1 << 20) + 1, u64::MAX] {
        let Ok(mut reader) = store.open_blob(&digest) else { return };
        reader.seek_to(offset);
        let (mut buffer, mut total) = (vec![0; 64 << 10], 0u64);
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            total += n as u64;
            assert!(total <= reader.len, "more was read than there is");
        }
    }
    let _ = store.compact(true, |_, _| {});
}

fn footer_digest(bytes: &[u8]) -> Option<Sha256> {
    let trailer = bytes.len().checked_sub(TRAILER_BYTES)?;
    let len = u32::from_le_bytes(bytes.get(trailer..trailer + 4)?.try_into().ok()?) as usize;
    let footer = bytes.get(trailer.checked_sub(len)? + BLOCK_HEADER_BYTES + 1..)?;
    let varint = footer.iter().position(|byte| byte & 0x80 == 0)? + 1;
    Some(Sha256(footer.get(varint..varint + 32)?.try_into().ok()?))
}
