//! Files of every format version we ever wrote, read for ever. `tests/data/v1` was written by the first version, `v2` by the one
//! that keeps differences as patches, `v3` by the one whose groups say how many items they have: a pack with shared frames, differences, raw and shared bodies, a large body's file, and a
//! journal of operations that were committed but not yet sealed. None is ever written again; a new format version gets a folder of
//! its own.

#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_store::{Body, Capture, Outcome, Store, key_of};
use std::io::{Read, Write};
use std::path::Path;
use support::{noise, page, picture, time, with_body};

const FILM: usize = 5_000_000;

/// What the golden archive holds.
fn captures(store: Option<&Store>) -> Vec<Capture> {
    let mut out = Vec::new();
    for version in 0..20u32 {
        out.push(page("https://example.org/", i64::from(version) * 60, version));
    }
    for n in 0..5 {
        out.push(page(&format!("https://example.org/page/{n}"), n, n as u32));
        out.push(picture(&format!("https://example.org/{n}.png"), n, n as u64 / 2));
    }
    out.push(page("https://mirror.example/", 7, 3));
    // Made by zlib and brotli themselves: the recipes that fold them back must work for ever.
    let coded: [(&str, &str, &[u8]); 6] = [
        ("gzip", "gz", include_bytes!("../data/coded/page0.gz")),
        ("gzip", "gz", include_bytes!("../data/coded/page1.gz")),
        ("gzip", "gz", include_bytes!("../data/coded/page2.gz")),
        ("br", "br", include_bytes!("../data/coded/page0.br")),
        ("br", "br", include_bytes!("../data/coded/page1.br")),
        ("br", "br", include_bytes!("../data/coded/page2.br")),
    ];
    for (n, (coding, name, body)) in coded.into_iter().enumerate() {
        let media = format!("text/html\r\nContent-Encoding: {coding}");
        out.push(with_body(&format!("https://example.org/coded.{name}"), n as i64, &media, body.to_vec()));
    }
    out.push(with_body("https://example.org/empty", 1, "text/plain", Vec::new()));
    let mut film = page("https://example.org/film", 2, 0);
    let mut bytes = vec![0; FILM - 1000];
    bytes.extend(noise(1, 1000));
    film.main.body = match store {
        Some(store) => {
            let mut writer = store.blob_writer("text/plain").unwrap();
            writer.write_all(&bytes).unwrap();
            writer.finish().unwrap()
        }
        None => Body::Blob { len: FILM as u64, digests: herodotus_base::Digests::of(&bytes) },
    };
    out.push(film);
    out
}

fn committed() -> Vec<Capture> {
    vec![page("https://example.org/", 5000, 77), picture("https://example.org/late.png", 5001, 5)]
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn an_archive_of_version_1_is_read_whole() {
    is_read_whole("v1");
}

#[test]
fn an_archive_of_version_2_is_read_whole() {
    is_read_whole("v2");
}

#[test]
fn an_archive_of_version_3_is_read_whole() {
    is_read_whole("v3");
}

#[test]
fn a_pack_is_written_on_only_by_its_own_version() {
    for (version, grows) in [("v1", false), ("v2", false), ("v3", true)] {
        let dir = tempfile::tempdir().unwrap();
        copy(&Path::new("tests/data").join(version), dir.path());
        let pack = |n: u32| std::fs::read(dir.path().join(format!("packs/{n:08x}.pack")));
        let before = pack(1).unwrap();
        // Opening seals what was in the journal.
        let (store, _) = Store::open(dir.path()).unwrap();
        store.close().unwrap();
        assert_eq!((pack(1).unwrap().len() > before.len(), pack(2).is_ok()), (grows, !grows), "{version}");
        assert!(pack(1).unwrap().starts_with(&before));
    }
}

fn is_read_whole(version: &str) {
    let dir = tempfile::tempdir().unwrap();
    copy(&Path::new("tests/data").join(version), dir.path());
    let (store, recovery) = Store::open(dir.path()).unwrap();
    assert_eq!(recovery.replayed, 4, "two captures, a note and a removal were only in the journal");
    assert_eq!(recovery.cut, vec![]);
    let removed = page("https://example.org/page/4", 4, 4).id();
    let mut expected = captures(None);
    expected.extend(committed());
    for capture in expected {
        let found = store.read(&capture.id()).unwrap();
        if capture.id() == removed {
            assert_eq!(found, None);
        } else {
            assert_eq!(found.as_ref(), Some(&capture), "{} {}", capture.url, capture.time);
        }
    }
    let film = store.newest_not_after(&key_of("https://example.org/film"), time(2)).unwrap().unwrap();
    let film = store.read(&film.id).unwrap().unwrap();
    let mut bytes = Vec::new();
    store.open_body(&film.main.body).unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), FILM);
    assert_eq!(store.noted("import:golden").unwrap().unwrap(), b"1 at 0.0.0 7");
    assert_eq!(store.totals().unwrap().captures, 20 + 10 + 3 + 6 + 2 - 1);
    assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
    // What was removed keeps its block from travelling, whether or not that says how many items it has; what has blocks of its own goes.
    let (ids, elsewhere) = (store.scan_all().map(|entry| entry.unwrap().id).collect(), tempfile::tempdir().unwrap());
    let (to, mut shipper) = (Store::open(elsewhere.path()).unwrap().0, store.shipper(ids, 0).unwrap());
    let mut shipped = Vec::new();
    while let Some(shipment) = shipper.next_shipment().unwrap() {
        for (id, outcome) in to.take_shipment(&shipment).unwrap().entries {
            assert_eq!((&outcome, to.read(&id).unwrap()), (&Outcome::Stored, store.read(&id).unwrap()));
            shipped.push(id);
        }
    }
    let beside = page("https://example.org/page/3", 3, 3).id();
    assert!(!shipped.is_empty() && !shipped.contains(&removed) && shipper.left().contains(&beside), "{shipped:?}");
    // Unfolded, three versions share nearly everything: the recipes were really used.
    let pack = std::fs::metadata(dir.path().join("packs/00000001.pack")).unwrap().len();
    assert!(pack < 25_000, "{pack}");
    store.compact(true, |_, _| {}).unwrap();
    assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
}

/// How the golden archive was made. Run by hand, once per format version, with the target folder in the environment.
#[test]
#[ignore = "writes a golden archive: set HERODOTUS_GOLDEN=DIR"]
fn write_a_golden_archive() {
    let dir = std::env::var_os("HERODOTUS_GOLDEN").expect("HERODOTUS_GOLDEN names the folder to write");
    let (store, _) = Store::open(Path::new(&dir)).unwrap();
    for capture in captures(Some(&store)) {
        store.append(capture).unwrap();
    }
    store.seal().unwrap();
    for capture in committed() {
        store.append(capture).unwrap();
    }
    store.note("import:golden", b"1 at 0.0.0 7").unwrap();
    store.remove(&page("https://example.org/page/4", 4, 4).id()).unwrap();
    store.commit().unwrap();
    // Not closed: the journal is part of what must be readable.
    std::mem::forget(store);
}
