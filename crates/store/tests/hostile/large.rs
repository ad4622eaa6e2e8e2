//! Bodies larger than memory should hold: streamed in, streamed out, checked.

use super::archive::{Archive, in_time};
use super::fixtures::{DATE, http, noise, record, url, uuid};
use herodotus_base::Digester;
use herodotus_store::archive::{Format, ImportOptions, Selection, export};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

/// The most memory this process ever held, where the system tells.
pub fn resident_peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

const PIECE: usize = 1 << 20;

/// Piece `i` of a large body: noise and text in turn, none like another.
fn piece(i: usize) -> Vec<u8> {
    if i.is_multiple_of(4) {
        return noise(PIECE, i as u64);
    }
    let mut out = format!("piece {i} {}\n", "of a large body, ".repeat(40 + i % 17)).into_bytes().repeat(2000);
    out.resize(PIECE, b'.');
    out
}

fn write_file(path: &Path, pieces: usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let head = http("Content-Type: application/octet-stream\r\n", b"");
    let len = head.len() + pieces * PIECE;
    file.write_all(&record(1)).unwrap();
    write!(
        file,
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {}\r\nWARC-Date: {DATE}\r\nWARC-Record-ID: {}\r\n\
         Content-Length: {len}\r\n\r\n",
        url(2),
        uuid(2)
    )
    .unwrap();
    file.write_all(&head).unwrap();
    for i in 0..pieces {
        file.write_all(&piece(i)).unwrap();
    }
    file.write_all(b"\r\n\r\n").unwrap();
    file.write_all(&record(3)).unwrap();
    file.flush().unwrap();
}

#[track_caller]
fn assert_streams_out(archive: &Archive, pieces: usize) {
    let capture = archive.capture(&url(2));
    assert_eq!(capture.main.body.len(), (pieces * PIECE) as u64);
    let mut body = archive.store().open_body(&capture.main.body).unwrap();
    let (mut digester, mut buffer) = (Digester::new(), vec![0; PIECE]);
    for i in 0..pieces {
        body.read_exact(&mut buffer).unwrap();
        assert!(buffer == piece(i), "piece {i} came back changed");
        digester.update(&buffer);
    }
    assert_eq!(body.read(&mut buffer).unwrap(), 0);
    assert_eq!(digester.finish(), capture.main.body.digests());
}

/// In through import, out through a reader, out through an export, and in again.
fn streams(pieces: usize) {
    let mut archive = Archive::new();
    let path = archive.path("large.warc");
    write_file(&path, pieces);
    let report = archive.import_path(&path, &ImportOptions::default()).unwrap();
    assert_eq!((report.stored, report.skipped), (3, 0));
    std::fs::remove_file(&path).unwrap();
    archive.close();
    archive.open().unwrap();
    assert_streams_out(&archive, pieces);
    archive.assert_good(1);
    archive.assert_good(3);
    let out = archive.path("out.warc");
    let selection = Selection { prefix: Some(url(2)), ..Default::default() };
    let plain = Format::Warc(herodotus_warc::Coding::Plain);
    export(archive.store(), &selection, &out, plain, true, |_| {}).unwrap();
    let mut other = Archive::new();
    other.import_path(&out, &ImportOptions::default()).unwrap();
    assert_streams_out(&other, pieces);
    other.close();
    archive.assert_whole();
}

#[test]
fn sixty_four_megabytes_stream_in_and_out() {
    in_time(|| streams(64));
}

#[test]
fn a_large_body_cut_short_leaves_nothing_behind() {
    let mut archive = Archive::new();
    let path = archive.path("large.warc");
    write_file(&path, 8);
    let whole = std::fs::read(&path).unwrap();
    let blobs = archive.files("blobs");
    let report = archive.import(&whole[..whole.len() - (2 << 20)]).unwrap();
    assert_eq!((report.stored, report.skipped), (1, 1));
    assert!(archive.captures(&url(2)).is_empty());
    assert_eq!((archive.files("blobs"), archive.files("tmp").len()), (blobs, 0), "half a body was left behind");
    archive.assert_good(1);
    archive.assert_whole();
    archive.import(&whole).unwrap();
    assert_streams_out(&archive, 8);
    archive.assert_good(3);
}

/// `cargo test --release -p herodotus-store --test hostile_import -- --ignored --nocapture four_gigabytes`
#[test]
#[ignore = "writes 16 GiB and takes a minute or two"]
fn four_gigabytes_pass_in_and_out_in_little_memory() {
    let started = std::time::Instant::now();
    streams(4 << 10);
    let peak = resident_peak_bytes().expect("/proc/self/status");
    println!("4 GiB in, out, exported and in again in {:?}; peak {} MiB resident", started.elapsed(), peak >> 20);
    assert!(peak < 200 << 20, "{} MiB resident", peak >> 20);
}
