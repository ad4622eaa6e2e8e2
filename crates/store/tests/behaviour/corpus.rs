//! Everything that fuzzing found worth keeping (`fuzz/README.md`), run again without a fuzzer.
#![allow(unreachable_pub, clippy::unwrap_used, reason = "shared with the fuzz targets; a test may fail")]

#[path = "../../../../fuzz/bodies/pages.rs"]
mod pages;
#[path = "../../../../fuzz/bodies/stores.rs"]
mod stores;

use herodotus_base::Timestamp;
use herodotus_store::{Body, Capture, Kind, Record, Store};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

fn replay(target: &str, run: fn(&[u8])) {
    let mut files: Vec<PathBuf> = fs::read_dir(corpus(target)).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no corpus of {target}");
    for file in files {
        println!("{}", file.display());
        run(&fs::read(&file).unwrap());
    }
}

#[test]
fn the_corpus_of_packs_journals_and_large_bodies_harms_nothing() {
    replay("stores", stores::run);
}

#[test]
fn the_corpus_of_heads_chunks_and_addresses_harms_nothing() {
    replay("pages", pages::run);
}

/// `cargo test -p herodotus-store --test behaviour corpus:: -- --ignored`: files of the format as it is now, for the fuzzer to spoil.
#[test]
#[ignore = "writes fuzz/corpus/stores: run it after a change of the formats"]
fn seeds_are_written() {
    let dir = corpus("stores");
    fs::create_dir_all(&dir).unwrap();
    let save = |name: &str, choice: u8, bytes: &[u8]| {
        fs::write(dir.join(name), [&[choice], bytes].concat()).unwrap();
    };
    let one = files_of(&[page(1, 0, b"")]);
    let versions = files_of(&(0..5).map(|v| page(1, v, b"")).collect::<Vec<_>>());
    let site = files_of(&(0..12).map(|n| page(n, 0, b"Content-Encoding: gzip\r\n")).collect::<Vec<_>>());
    for (name, files) in [("one", &one), ("versions", &versions), ("site", &site)] {
        save(&format!("seed-pack-{name}"), stores::PACK, &files.pack);
        save(&format!("seed-pack-{name}-unpacked"), stores::PACK, &unpacked(&files.pack));
        save(&format!("seed-journal-{name}"), stores::JOURNAL, &files.journal);
    }
    save("seed-pack-raw", stores::PACK_RAW, &versions.pack);
    save("seed-journal-raw", stores::JOURNAL_RAW, &versions.journal);
    save("seed-blob", stores::BLOB, &one.blob);
    save("seed-blob-raw", stores::BLOB_RAW, &one.blob);
}

struct Files {
    pack: Vec<u8>,
    journal: Vec<u8>,
    blob: Vec<u8>,
}

/// What an archive with these captures has on disk: as it is after a commit, and after a seal.
fn files_of(captures: &[Capture]) -> Files {
    let dir = tempfile::tempdir().unwrap();
    let only = |folder: &str| {
        let mut files = fs::read_dir(dir.path().join(folder)).unwrap().map(|e| e.unwrap().path());
        fs::read(files.next().unwrap()).unwrap()
    };
    let (store, _) = Store::open(dir.path()).unwrap();
    for capture in captures {
        store.append(capture.clone()).unwrap();
    }
    store.note("import:x", b"1 at 0 5").unwrap();
    store.remove(&captures.last().unwrap().id()).unwrap();
    store.append(page(99, 0, b"")).unwrap();
    store.commit().unwrap();
    let journal = only("journal");
    store.seal().unwrap();
    let mut blob = store.blob_writer("text/plain").unwrap();
    for i in 0..30_000 {
        writeln!(blob, "line {}", i % 100).unwrap();
    }
    blob.finish().unwrap();
    store.close().unwrap();
    Files { pack: only("packs"), journal, blob: only("blobs") }
}

fn page(n: usize, version: usize, header: &[u8]) -> Capture {
    let url = format!("http://a.example/{n}?q=1");
    let time = Timestamp::from_millis_clamped(1_700_000_000_000 + version as i64 * 1000);
    let mut body = format!("<title>{n}</title>{}version {version}", "<p>words of a page</p>".repeat(20)).into_bytes();
    if !header.is_empty() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&body).unwrap();
        body = gzip.finish().unwrap();
    }
    let head = [&b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"[..], header, b"\r\n"].concat();
    let main = Record::new(Kind::Response, &url, time, head, Body::new(body));
    let asked = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec();
    let request = Record::new(Kind::Request, &url, time, asked, Body::new(Vec::new()));
    Capture { url, time, main, companions: vec![request] }
}

/// The same blocks without zstd around them, which a fuzzer cannot see through. Places in the directory stay right as
/// long as only the last block before it grows.
fn unpacked(pack: &[u8]) -> Vec<u8> {
    let mut out = pack[..16].to_vec();
    let mut rest = &pack[16..];
    while let Some((header, after)) = rest.split_at_checked(16) {
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap()) as usize;
        let (payload, next) = after.split_at(word(8));
        rest = next;
        let plain = if header[5] == 1 { zstd::bulk::decompress(payload, word(12)).ok() } else { None };
        let mut header = header.to_vec();
        if let Some(plain) = &plain {
            header[5] = 0;
            header[8..12].copy_from_slice(&(plain.len() as u32).to_le_bytes());
        }
        out.extend_from_slice(&header);
        out.extend_from_slice(plain.as_deref().unwrap_or(payload));
    }
    out
}
