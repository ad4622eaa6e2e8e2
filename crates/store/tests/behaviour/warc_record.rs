//! One capture as WARC: the very records that an export would hold.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_store::archive::{ImportOptions, Selection, WarcRecords, export, import};
use herodotus_store::{Body, Capture, Kind, Record, Store, WarcHeader};
use std::io::Write;
use support::{contents, noise, page, picture, time};

fn wget_revisit(of: &Capture) -> Capture {
    let mut main = Record::new(Kind::Revisit, &of.url, time(9), of.main.head.clone(), Body::new(Vec::new()));
    let fields = [
        ("WARC-Type", "revisit"),
        ("WARC-Date", &time(9).rfc3339()),
        ("WARC-Target-URI", &of.url),
        ("Content-Type", "application/http; msgtype=response"),
        ("WARC-Payload-Digest", &of.main.body.digests().sha1.to_string()),
    ];
    main.warc = Some(WarcHeader { version: "WARC/1.0".into(), fields: fields.into() });
    Capture { url: of.url.clone(), time: time(9), main, companions: Vec::new() }
}

#[test]
fn records_are_those_of_an_export_and_as_long_as_was_said() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(&dir.path().join("data")).unwrap();
    let mut film = page("http://a.example/film", 1, 1);
    let mut writer = store.blob_writer("video/mp4").unwrap();
    writer.write_all(&noise(3, 5 << 20)).unwrap();
    film.main.body = writer.finish().unwrap();
    let first = page("http://a.example/", 1, 1);
    let captures = [first.clone(), wget_revisit(&first), picture("http://a.example/b.png", 2, 2), film];
    captures.iter().for_each(|c| {
        store.append(c.clone()).unwrap();
    });
    store.seal().unwrap();
    let path = dir.path().join("all.warc");
    let format = herodotus_store::archive::Format::of_path(&path).unwrap();
    export(&store, &Selection::default(), &path, format, false, |_| {}).unwrap();
    let exported = std::fs::read(&path).unwrap();
    let mut written = Vec::new();
    for capture in &captures {
        let records = WarcRecords::of(&store, &capture.id(), true).unwrap().unwrap();
        let before = written.len();
        assert_eq!(records.write(&mut written, false).unwrap(), records.len());
        let record = &written[before..];
        assert_eq!(record.len() as u64, records.len());
        assert!(exported.windows(record.len()).any(|w| w == record), "{}", capture.url);
        let alone = WarcRecords::of(&store, &capture.id(), false).unwrap().unwrap();
        assert!(capture.companions.is_empty() == (alone.len() == records.len()));
    }
    assert!(String::from_utf8_lossy(&written).contains("WARC-Refers-To-Target-URI: http://a.example/\r\n"));
    // What was written is an archive of its own, compressed or not.
    for gzip in [false, true] {
        let path = dir.path().join(if gzip { "some.warc.gz" } else { "some.warc" });
        let mut file = std::fs::File::create(&path).unwrap();
        for capture in &captures {
            let records = WarcRecords::of(&store, &capture.id(), true).unwrap().unwrap();
            let bytes = records.write(&mut file, gzip).unwrap();
            assert!(!gzip || bytes < records.len() + 2000);
        }
        drop(file);
        let (copy, _) = Store::open(&dir.path().join(format!("copy-{gzip}"))).unwrap();
        let report = import(&copy, &path, &ImportOptions::default(), |_| {}).unwrap();
        assert_eq!((report.stored, report.skipped, report.digest_mismatches), (4, 0, 0));
        let bodies =
            |store: &Store| contents(store).into_values().map(|c| (c.main.head, c.main.body)).collect::<Vec<_>>();
        assert_eq!(bodies(&copy), bodies(&store));
    }
}

#[test]
fn a_capture_that_is_not_here_has_no_records_and_a_damaged_one_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    let mut film = page("http://a.example/film", 1, 1);
    assert!(WarcRecords::of(&store, &film.id(), false).unwrap().is_none());
    let mut writer = store.blob_writer("video/mp4").unwrap();
    writer.write_all(&noise(3, 5 << 20)).unwrap();
    film.main.body = writer.finish().unwrap();
    store.append(film.clone()).unwrap();
    store.seal().unwrap();
    let blob = std::fs::read_dir(dir.path().join("blobs")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&blob).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&blob, bytes).unwrap();
    assert!(WarcRecords::of(&store, &film.id(), false).is_err());
    store.remove(&film.id()).unwrap();
    assert!(WarcRecords::of(&store, &film.id(), false).unwrap().is_none());
}
