//! Files that are cut, damaged, or something else.

use super::archive::{Archive, assert_says, case, in_time, refused};
use super::fixtures::{arc, block, edited, gzip, members, noise, record, url, zip, zstd};
use herodotus_store::archive::ImportOptions;

/// Cuts a file at many places, and checks each time that whole records are stored and others are not stored in part.
#[track_caller]
fn cut_at_many_places(pack: fn(&[u8]) -> Vec<u8>) {
    in_time(move || {
        let mut archive = Archive::new();
        for cut in 1..40 {
            // Other records each time, since those of the last cut are here already.
            let numbers: Vec<usize> = (cut * 10..cut * 10 + 4).collect();
            let parts: Vec<Vec<u8>> = numbers.iter().map(|n| pack(&record(*n))).collect();
            let whole = parts.concat();
            let at = whole.len() * cut / 40;
            let report = archive.import(&whole[..at]).expect("the beginning of a file is a file");
            let mut end = 0;
            for (n, part) in numbers.iter().zip(&parts) {
                end += part.len();
                if end <= at {
                    archive.assert_good(*n);
                }
                let found = archive.captures(&url(*n));
                assert!(found.iter().all(|c| archive.wire(c) == block(*n)), "record {n} is stored in part");
            }
            assert!(report.stored + report.skipped > 0);
            assert!(report.stored < 4, "cut at {at}");
        }
        archive.assert_whole();
    });
}

#[test]
fn a_plain_file_cut_anywhere_keeps_its_whole_records() {
    cut_at_many_places(<[u8]>::to_vec);
}

#[test]
fn a_gzip_file_cut_anywhere_keeps_its_whole_records() {
    cut_at_many_places(gzip);
}

#[test]
fn a_zstd_file_cut_anywhere_keeps_its_whole_records() {
    cut_at_many_places(zstd);
}

#[test]
fn a_file_gzipped_as_one_and_cut_keeps_what_is_before() {
    let whole = gzip(&(1..=60).flat_map(record).collect::<Vec<_>>());
    let (_, report) = case(&whole[..whole.len() * 2 / 3], &[1, 2, 3], "end");
    assert!(report.stored > 10, "{report:?}");
}

#[test]
fn an_arc_cut_in_a_block_keeps_what_is_before() {
    let whole = arc(1..=3);
    case(&whole[..whole.len() - 40], &[1, 2], "*");
}

#[test]
fn a_wacz_cut_short_is_refused_and_harms_nothing() {
    let whole = zip(&[("archive/a.warc", &record(1)), ("datapackage.json", b"{}")]);
    refused(&whole[..whole.len() - 30], "cannot be read");
}

#[test]
fn garbage_between_records_is_counted_and_passed() {
    case(&[record(1), noise(3000, 5), record(3)].concat(), &[1, 3], "bytes");
}

#[test]
fn a_megabyte_of_garbage_between_records_is_passed() {
    case(&[record(1), noise(1 << 20, 6), record(3)].concat(), &[1, 3], "bytes");
}

#[test]
fn garbage_that_looks_like_headers_is_passed() {
    let garbage = b"WARC/1.1\r\nWARC-Type: response\r\n".repeat(500);
    case(&[record(1), garbage, record(3)].concat(), &[1, 3], "*");
}

#[test]
fn garbage_between_gzip_members_is_counted_and_passed() {
    let packed = members([1, 3], gzip);
    case(&[packed[0].as_slice(), &noise(5000, 7), &packed[1]].concat(), &[1, 3], "not gzip");
}

#[test]
fn a_flipped_bit_in_a_gzip_member_loses_that_record_only() {
    let mut packed = members([1, 2, 3], gzip);
    let middle = packed[1].len() / 2;
    packed[1][middle] ^= 0x10;
    let (archive, report) = case(&packed.concat(), &[1, 3], "*");
    assert!(archive.captures(&url(2)).is_empty());
    assert_eq!(report.skipped, 1);
}

#[test]
fn a_flipped_bit_in_a_zstd_frame_loses_that_record_only() {
    let mut packed = members([1, 2, 3], zstd);
    let middle = packed[1].len() / 2;
    packed[1][middle] ^= 0x10;
    let (archive, _) = case(&packed.concat(), &[1, 3], "*");
    assert!(archive.captures(&url(2)).is_empty());
}

#[test]
fn gzip_within_gzip_among_good_members_is_passed() {
    let nested = gzip(&gzip(&record(2)));
    let (_, report) = case(&[gzip(&record(1)), nested, gzip(&record(3))].concat(), &[1, 3], "*");
    assert_eq!(report.skipped, 1);
}

#[test]
fn a_file_gzipped_twice_is_refused_and_told_why() {
    refused(&gzip(&gzip(&record(1))), "gzip around another gzip");
    refused(&gzip(&gzip(&gzip(&record(1)))), "gzip around another gzip");
}

fn dictionary() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../warc/tests/data/pages.zdict");
    std::fs::read(path).unwrap()
}

fn skippable(content: &[u8]) -> Vec<u8> {
    [&[0x5d, 0x2a, 0x4d, 0x18][..], &(content.len() as u32).to_le_bytes(), content].concat()
}

#[test]
fn a_zstd_dictionary_that_does_not_match_loses_those_records_only() {
    let mut encoder = zstd::stream::write::Encoder::with_dictionary(Vec::new(), 3, &dictionary()).unwrap();
    std::io::Write::write_all(&mut encoder, &record(2)).unwrap();
    let packed = encoder.finish().unwrap();
    // Another identity, the same tables.
    let mut other = dictionary();
    other[4] ^= 0xff;
    case(&[skippable(&other), packed.clone(), zstd(&record(3))].concat(), &[3], "dictionary");
    case(&[zstd(&record(1)), packed, zstd(&record(3))].concat(), &[1, 3], "dictionary");
}

#[test]
fn a_zstd_dictionary_that_is_noise_is_told() {
    refused(&[skippable(&noise(5000, 8)), zstd(&record(1))].concat(), "dictionary");
}

#[test]
fn names_that_lead_out_of_a_wacz_write_nothing_there() {
    let evil = record(2);
    let names = ["../evil.warc", "/tmp/herodotus-evil.warc", "archive\\..\\..\\evil.warc", "archive/../../evil.warc"];
    for name in names {
        let file = zip(&[("archive/a.warc", &record(1)), (name, &evil), ("archive/b.warc.gz", &gzip(&record(3)))]);
        let (archive, _) = case(&file, &[1, 3], "*");
        assert!(!archive.path("evil.warc").exists() && !archive.path("../evil.warc").exists(), "{name}");
        assert!(!std::path::Path::new("/tmp/herodotus-evil.warc").exists());
        // If it is read at all, it is read as a file of this WACZ.
        assert!(archive.captures(&url(2)).iter().all(|c| archive.wire(c) == block(2)), "{name}");
    }
}

#[test]
fn a_wacz_with_a_damaged_member_keeps_the_others() {
    let mut bad = gzip(&record(2));
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    let members = [("archive/a.warc.gz", gzip(&record(1))), ("archive/b.warc.gz", bad), ("archive/c.warc", record(3))];
    let members: Vec<(&str, &[u8])> = members.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    let (_, report) = case(&zip(&members), &[1, 3], "*");
    assert!(report.skips.iter().any(|s| s.file.as_deref() == Some("archive/b.warc.gz")), "{:?}", report.skips);
}

#[test]
fn what_is_no_archive_is_refused_by_name() {
    refused(b"", "is empty");
    refused(b"<html>a page</html>", "is not a WARC");
    refused(&noise(10_000, 9), "is not a WARC");
    refused(&[0; 5000], "is not a WARC");
    refused(&zip(&[("readme.txt", b"hello")]), "not");
}

#[test]
fn a_directory_and_a_missing_file_are_refused_by_name() {
    let archive = Archive::new();
    let import = |path: &str| {
        let error = archive.import_path(&archive.path(path), &ImportOptions::default()).expect_err("no file");
        error.to_string()
    };
    assert!(import("data").contains("is a directory"), "{}", import("data"));
    assert!(import("nowhere.warc").contains("nowhere.warc"), "{}", import("nowhere.warc"));
    archive.assert_whole();
}

#[test]
fn a_device_is_refused_rather_than_read_for_ever() {
    in_time(|| {
        let archive = Archive::new();
        let error = archive.import_path("/dev/zero".as_ref(), &ImportOptions::default()).expect_err("no file");
        assert!(error.to_string().contains("not a regular file"), "{error}");
        archive.assert_whole();
    });
}

#[test]
fn a_pipe_is_refused_rather_than_waited_for() {
    let archive = Archive::new();
    let pipe = archive.path("pipe.warc");
    if !std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        println!("skipped: there is no mkfifo here");
        return;
    }
    let (done, wait) = std::sync::mpsc::channel();
    let importing = pipe.clone();
    std::thread::spawn(move || {
        let result = archive.import_path(&importing, &ImportOptions::default()).map_err(|e| e.to_string());
        done.send(result.map(|_| ())).ok();
    });
    let result = wait.recv_timeout(std::time::Duration::from_secs(5));
    // Lets the waiting thread go, whatever it was doing.
    drop(std::fs::OpenOptions::new().read(true).write(true).open(&pipe));
    let error = result.expect("an import of a pipe waits for ever").expect_err("a pipe is no file");
    assert!(error.contains("not a regular file"), "{error}");
}

#[test]
fn a_strict_import_stops_at_the_damage_and_says_where() {
    let mut archive = Archive::new();
    let file = [record(1), edited(2, "WARC-Date: 2026", "WARC-Date: hello"), record(3)].concat();
    let path = archive.save(&file);
    let error = archive.import_path(&path, &ImportOptions { strict: true, ..Default::default() }).expect_err("strict");
    let error = error.to_string();
    assert!(error.contains(&format!("byte {}", record(1).len())) && error.contains("hello"), "{error}");
    archive.assert_whole();
    // Without it, the rest comes.
    let report = archive.import_path(&path, &ImportOptions::default()).unwrap();
    assert_says(&report, "hello");
    archive.assert_good(1);
    archive.assert_good(3);
}

#[test]
fn skips_beyond_a_thousand_are_counted_but_not_kept() {
    let bad: Vec<u8> = (0..1500).flat_map(|n| edited(n + 10, "WARC-Date: 2026", "WARC-Date: never")).collect();
    let (_, report) = case(&[record(1), bad, record(3)].concat(), &[1, 3], "never");
    assert_eq!((report.skipped, report.skips.len()), (1500, 1000));
}

/// Copies go bad in their middle, and people fetch them again.
#[test]
fn a_good_copy_of_a_file_that_was_damaged_is_read() {
    in_time(|| {
        let mut archive = Archive::new();
        // Longer than what a file is known again by: its first and last 64 KiB.
        let parts: Vec<Vec<u8>> = (1..=400).map(record).collect();
        let whole = parts.concat();
        let at = parts[..200].concat().len() + 10;
        let mut damaged = whole.clone();
        damaged[at..at + 60].fill(b'#');
        let report = archive.import(&damaged).unwrap();
        assert!(report.skipped > 0);
        assert!(archive.captures(&url(201)).is_empty());
        let report = archive.import(&whole).unwrap();
        assert!(!report.already, "the good copy was taken for the damaged one, and not read");
        archive.assert_good(201);
        archive.assert_whole();
    });
}

#[test]
fn an_import_noted_at_a_place_that_is_none_starts_again() {
    let mut archive = Archive::new();
    let path = archive.save(&[record(1), record(3)].concat());
    // Strict stops after a part; the note of how far it was is then spoiled in every way.
    archive.import_path(&path, &ImportOptions::default()).unwrap();
    let names: Vec<String> = import_notes(&archive, &path);
    for note in names {
        for value in ["1 at 999999999 5", "1 at x 5", "2 finished 0 0", "", "\u{0}", "1 finished"] {
            archive.store().note(&note, value.as_bytes()).unwrap();
            let result = archive.import_path(&path, &ImportOptions::default());
            if let Err(error) = result {
                assert!(error.to_string().contains("not a place in this file"), "{value}: {error}");
            }
        }
    }
    archive.assert_good(1);
    archive.assert_good(3);
    archive.assert_whole();
}

/// The name under which an import is noted is a digest of size, beginning and end.
fn import_notes(archive: &Archive, path: &std::path::Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap();
    let sample = [&(bytes.len() as u64).to_be_bytes()[..], &bytes].concat();
    let name = format!("import:{}", herodotus_base::Sha256::of(&sample));
    archive.store().noted(&name).unwrap().map(|_| name).into_iter().collect()
}
