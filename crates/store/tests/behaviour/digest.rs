//! No byte is given out that fails its SHA-256, even where every checksum on the way is right: a disk, a bug or a person may
//! write a block anew, and the block's own checksum then proves nothing.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_store::archive::{Format, Selection, export};
use herodotus_store::{Capture, Store};
use std::io::{Read, Write};
use std::path::Path;
use support::{noise, page, picture};

/// Changes one byte of a payload that stands in a file as it is, and puts the checksum of its block right.
fn forge(path: &Path, payload: &[u8]) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes.windows(payload.len()).position(|w| w == payload).unwrap();
    bytes[at + payload.len() / 2] ^= 1;
    let header = at - 16;
    let crc = crc32fast::hash(&bytes[header + 4..at + payload.len()]);
    bytes[header..header + 4].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(path, bytes).unwrap();
}

fn only_file(dir: &Path) -> std::path::PathBuf {
    std::fs::read_dir(dir).unwrap().next().unwrap().unwrap().path()
}

/// Verify names exactly this capture, and an export leaves it out and says so.
fn assert_damaged(store: &Store, capture: &Capture, dir: &Path) {
    let damaged = store.verify(|_, _| {}).unwrap().damaged;
    assert_eq!(damaged.iter().map(|d| &d.entry.id).collect::<Vec<_>>(), [&capture.id()]);
    let out = dir.join("out.warc");
    let format = Format::of_path(&out).unwrap();
    let report = export(store, &Selection::default(), &out, format, true, |_| {}).unwrap();
    assert_eq!((report.damaged, report.captures), (1, 1));
}

#[test]
fn a_body_that_fails_its_digest_is_never_given_out() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let (bad, good) = (picture("https://example.org/a.png", 1, 7), page("https://example.org/", 1, 1));
    let (store, _) = Store::open(&data).unwrap();
    store.append(bad.clone()).unwrap();
    store.append(good.clone()).unwrap();
    store.close().unwrap();
    forge(&only_file(&data.join("packs")), &noise(7, 3000));
    let (store, _) = Store::open(&data).unwrap();
    let error = store.read(&bad.id()).unwrap_err().to_string();
    assert!(error.contains("fails its digest"), "{error}");
    assert_eq!(store.read(&good.id()).unwrap().as_ref(), Some(&good));
    assert_damaged(&store, &bad, dir.path());
}

#[test]
fn a_chunk_of_a_large_body_that_fails_its_digest_is_never_given_out() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let (store, _) = Store::open(&data).unwrap();
    let mut writer = store.blob_writer("video/mp4").unwrap();
    writer.write_all(&noise(9, 5000)).unwrap();
    let mut bad = page("https://example.org/film", 1, 1);
    bad.main.body = writer.finish().unwrap();
    store.append(bad.clone()).unwrap();
    store.append(page("https://example.org/", 1, 1)).unwrap();
    store.close().unwrap();
    forge(&only_file(&data.join("blobs")), &noise(9, 5000));
    let (store, _) = Store::open(&data).unwrap();
    let mut given = Vec::new();
    let error = store.open_body(&bad.main.body).unwrap().read_to_end(&mut given).unwrap_err().to_string();
    assert!(given.is_empty() && error.contains("fails its digest"), "{error}");
    assert_damaged(&store, &bad, dir.path());
}

#[test]
fn an_entity_whose_body_fails_its_digest_is_never_given_out() {
    let dir = tempfile::tempdir().unwrap();
    let bad = picture("https://example.org/a.png", 1, 7);
    let (store, _) = Store::open(dir.path()).unwrap();
    store.append(bad.clone()).unwrap();
    store.close().unwrap();
    forge(&only_file(&dir.path().join("packs")), &noise(7, 3000));
    let (store, _) = Store::open(dir.path()).unwrap();
    for _ in 0..2 {
        let error = store.entity(&bad.id()).unwrap_err().to_string();
        assert!(error.contains("fails its digest"), "{error}");
    }
}
