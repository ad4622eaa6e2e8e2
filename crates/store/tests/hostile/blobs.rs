//! Large bodies whose files were changed from outside: one capture is damaged, and nothing else.

use super::archive::{Archive, in_time};
use super::fixtures::{http, noise, response, url};
use super::stores::{assert_verify_is_exact, contents, flip, len, write_at};
use herodotus_store::archive::{Format, Selection, export};
use std::fs;
use std::io::Read;
use std::path::Path;

const BLOB: usize = 910_004;

/// The one earlier capture with a body in a file of its own is damaged; verify says so, and the rest goes on.
#[track_caller]
fn blob_case(spoil: fn(&Path)) {
    in_time(move || {
        let mut archive = Archive::new();
        let (original, _) = contents(archive.store());
        let blob = archive.files("blobs").remove(0);
        let bytes = fs::read(&blob).unwrap();
        archive.close();
        spoil(&blob);
        archive.open().expect("a damaged body does not keep an archive from opening");
        let named = assert_verify_is_exact(archive.store(), &original);
        assert_eq!(named.len(), 1);
        assert!(named.iter().all(|name| name.starts_with(&url(BLOB))), "{named:?}");
        // An export leaves it out, and counts it.
        let out = archive.path("out.warc");
        let plain = Format::Warc(herodotus_warc::Coding::Plain);
        let report = export(archive.store(), &Selection::default(), &out, plain, false, |_| {})
            .expect("one damaged capture does not stop an export");
        assert_eq!(report.damaged, 1);
        // With the file back, everything is whole.
        archive.drop_store();
        fs::write(&blob, bytes).unwrap();
        archive.open().unwrap();
        archive.assert_whole();
    });
}

#[test]
fn a_blob_that_is_missing_damages_its_capture_only() {
    blob_case(|blob| fs::remove_file(blob).unwrap());
}

#[test]
fn a_blob_with_a_flipped_bit_damages_its_capture_only() {
    blob_case(|blob| flip(blob, len(blob) / 2));
}

#[test]
fn a_blob_with_a_flipped_bit_in_its_footer_damages_its_capture_only() {
    blob_case(|blob| flip(blob, len(blob) - 30));
}

#[test]
fn a_blob_with_a_flipped_bit_in_its_header_damages_its_capture_only() {
    blob_case(|blob| flip(blob, 2));
}

#[test]
fn a_blob_of_a_newer_version_damages_its_capture_only() {
    blob_case(|blob| write_at(blob, 8, &[9, 0]));
}

#[test]
fn a_blob_that_is_cut_damages_its_capture_only() {
    blob_case(|blob| fs::OpenOptions::new().write(true).open(blob).unwrap().set_len(3 << 20).unwrap());
}

#[test]
fn a_blob_that_is_empty_damages_its_capture_only() {
    blob_case(|blob| fs::write(blob, b"").unwrap());
}

#[test]
fn a_blob_that_holds_another_body_damages_its_capture_only() {
    blob_case(|blob| {
        let mut other = Archive::new();
        other.import(&response(7, &http("Content-Type: video/mp4\r\n", &noise(5 << 20, 99)))).unwrap();
        let theirs = other.files("blobs").into_iter().find(|p| p.file_name() != blob.file_name()).unwrap();
        fs::copy(theirs, blob).unwrap();
    });
}

#[test]
fn importing_a_large_body_again_mends_its_damaged_file() {
    let mut archive = Archive::new();
    let blob = archive.files("blobs").remove(0);
    flip(&blob, len(&blob) / 2);
    // Another capture with the very same body.
    let block = http("Content-Type: video/mp4\r\n", &noise(5 << 20, 2));
    archive.import(&response(7, &block)).unwrap();
    let capture = archive.capture(&url(7));
    let mut bytes = capture.main.head.clone();
    let read = archive.store().open_body(&capture.main.body).unwrap().read_to_end(&mut bytes);
    assert!(read.is_ok() && bytes == block, "the new capture was stored as equal to a damaged one: {read:?}");
}
