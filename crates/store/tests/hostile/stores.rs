//! Archives whose files were changed from outside: cut, flipped, deleted, swapped, of another version, not ours.

use super::archive::{Archive, case, copy_tree, in_time, wire};
use super::fixtures::{http, noise, page, record, response, url};
use herodotus_base::Timestamp;
use herodotus_store::{Body, Capture, Kind, Record, Recovery, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

pub(super) fn flip(path: &Path, at: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

pub(super) fn len(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

fn pack(archive: &Archive) -> PathBuf {
    archive.files("packs").remove(0)
}

/// Opening is refused with a sentence; nothing was changed by trying.
#[track_caller]
fn open_refused(archive: &mut Archive, says: &str) {
    let before: Vec<(PathBuf, Vec<u8>)> = ["packs", "blobs", "journal"]
        .iter()
        .flat_map(|f| archive.files(f))
        .map(|p| (p.clone(), fs::read(p).unwrap()))
        .collect();
    let error = archive.open().expect_err("it opened").to_string();
    assert!(error.contains(says), "`{error}` does not say `{says}`");
    for (path, bytes) in before {
        assert!(fs::read(&path).unwrap() == bytes, "{} was changed by a refused open", path.display());
    }
}

/// Everything that can be read, by identity; the rest by what is said of it.
pub(super) fn contents(store: &Store) -> (BTreeMap<String, Vec<u8>>, BTreeMap<String, String>) {
    let (mut whole, mut damaged) = (BTreeMap::new(), BTreeMap::new());
    for entry in store.scan_all().map(|e| e.unwrap()) {
        let name = format!("{} {} {:?}", entry.url, entry.id.time, entry.id.tag);
        let read = || -> Result<Vec<u8>, String> {
            let capture = store.read(&entry.id).map_err(|e| e.to_string())?.ok_or("it is gone")?;
            assert_eq!((&capture.url, capture.time), (&entry.url, entry.id.time), "another capture was given out");
            let mut bytes = capture.main.head.clone();
            let mut body = store.open_body(&capture.main.body).map_err(|e| e.to_string())?;
            body.read_to_end(&mut bytes).map_err(|e| e.to_string())?;
            Ok(bytes)
        };
        match read() {
            Ok(bytes) => drop(whole.insert(name, bytes)),
            Err(reason) => drop(damaged.insert(name, reason)),
        }
    }
    (whole, damaged)
}

/// Verify names exactly those captures that cannot be read; all others read as they were.
#[track_caller]
pub(super) fn assert_verify_is_exact(store: &Store, original: &BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let (whole, damaged) = contents(store);
    for (name, bytes) in &whole {
        assert!(original.get(name) == Some(bytes), "{name} was given out changed");
    }
    assert_eq!(whole.len() + damaged.len(), original.len(), "captures are missing from the index");
    let found = store.verify(|_, _| {}).expect("damage to one capture does not stop verify");
    let ids: BTreeSet<_> = found.damaged.iter().map(|d| d.entry.id.clone()).collect();
    let named: BTreeSet<String> =
        found.damaged.iter().map(|d| format!("{} {} {:?}", d.entry.url, d.entry.id.time, d.entry.id.tag)).collect();
    assert_eq!(named, damaged.keys().cloned().collect(), "{:?}", found.damaged);
    for damage in &found.damaged {
        assert!(damage.reason.len() > 10, "{damage:?}");
        if let Some(root) = &damage.because_of {
            assert!(ids.contains(root) && *root != damage.entry.id, "{damage:?} blames a whole one");
        }
    }
    named
}

#[test]
fn flipped_bits_in_a_pack_damage_what_verify_names_and_nothing_else() {
    in_time(|| {
        let mut archive = Archive::new();
        let (original, none) = contents(archive.store());
        assert!(none.is_empty());
        archive.close();
        let pack = pack(&archive);
        let (mut hits, places) = (0, 30);
        for i in 0..places {
            let at = 16 + (len(&pack) - 16) * i / places;
            flip(&pack, at);
            archive.open().expect("a flipped bit does not keep an archive from opening");
            hits += usize::from(!assert_verify_is_exact(archive.store(), &original).is_empty());
            // Others can still be brought in, and come out.
            archive.drop_store();
            flip(&pack, at);
        }
        assert!(hits > places as usize / 2, "{hits} of {places} flips hit a capture");
        archive.open().unwrap();
        archive.assert_whole();
    });
}

#[test]
fn a_damaged_version_is_blamed_for_the_versions_stored_against_it() {
    let mut archive = Archive::new();
    let (original, _) = contents(archive.store());
    archive.close();
    let pack = pack(&archive);
    let mut blamed = 0;
    for i in 0..40 {
        let at = 16 + (len(&pack) - 16) * i / 40;
        flip(&pack, at);
        archive.open().unwrap();
        assert_verify_is_exact(archive.store(), &original);
        blamed += archive.store().verify(|_, _| {}).unwrap().damaged.iter().filter(|d| d.because_of.is_some()).count();
        archive.drop_store();
        flip(&pack, at);
    }
    assert!(blamed > 0, "no flip hit a version that others depend on");
}

#[test]
fn an_archive_with_damage_still_takes_captures_in() {
    let mut archive = Archive::new();
    archive.close();
    let pack = pack(&archive);
    let (from, to) = (100, len(&pack) / 2);
    for at in (from..to).step_by(997) {
        flip(&pack, at);
    }
    archive.open().unwrap();
    let report = archive.import(&[record(1), record(3)].concat()).unwrap();
    assert_eq!(report.stored, 2);
    // A new version of a page whose older ones are damaged, and the same bytes as a damaged one.
    let more = super::archive::earlier_file();
    let text = String::from_utf8_lossy(&more[..3000]).into_owned();
    assert!(text.contains("before.example"));
    let again = response(910_000, &http("Content-Type: text/html\r\n", &(0..400).flat_map(page).collect::<Vec<_>>()));
    let again = replace(&again, "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z");
    assert_eq!(archive.import(&again).unwrap().stored, 1);
    archive.close();
    archive.open().unwrap();
    archive.assert_good(1);
    archive.assert_good(3);
    let key = herodotus_store::key_of(&url(910_000));
    let newest = archive.store().newest_not_after(&key, Timestamp::MAX).unwrap().unwrap();
    assert!(archive.store().read(&newest.id).is_ok(), "a new capture was stored as equal to one that cannot be read");
}

fn replace(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).expect("there");
    [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat()
}

#[test]
fn a_deleted_index_is_made_again_from_the_packs() {
    let mut archive = Archive::new();
    archive.import(&[record(1), record(3)].concat()).unwrap();
    let (original, _) = contents(archive.store());
    let totals = archive.store().totals().unwrap();
    archive.close();
    fs::remove_dir_all(archive.data().join("index")).unwrap();
    let recovery = archive.open().unwrap();
    assert_eq!(recovery.reindexed, original.len() as u64);
    assert!(recovery.cut.is_empty() && recovery.damaged.is_empty(), "{recovery:?}");
    assert_eq!((contents(archive.store()).0, archive.store().totals().unwrap()), (original, totals));
    archive.assert_whole();
    archive.assert_good(1);
}

/// An index of which only some files are left, or with garbage in them, says what to do or is made again.
#[test]
fn a_damaged_index_is_refused_in_words_or_made_again() {
    in_time(|| {
        let mut archive = Archive::new();
        archive.import(&[record(1), record(3)].concat()).unwrap();
        archive.close();
        let (index, aside) = (archive.data().join("index"), archive.path("aside"));
        copy_tree(&index, &aside);
        let mut files = Vec::new();
        walk(&index, &mut files);
        assert!(!files.is_empty());
        let mut complaints: Vec<String> = Vec::new();
        for (path, spoil) in files.iter().flat_map(|path| (0..4).map(move |spoil| (path, spoil))) {
            fs::remove_dir_all(&index).unwrap();
            copy_tree(&aside, &index);
            let bytes = fs::read(path).unwrap();
            match spoil {
                0 => fs::remove_file(path).unwrap(),
                1 => fs::write(path, noise(bytes.len().clamp(10, 5000), 3)).unwrap(),
                2 => fs::write(path, &bytes[..bytes.len() / 2]).unwrap(),
                _ => flip(path, len(path).saturating_sub(1) / 2),
            }
            let shown = format!("{}, way {spoil}", path.strip_prefix(&index).unwrap().display());
            let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                archive.open().map_err(|e| e.to_string())?;
                // A rotten block shows when it is read.
                let failed = archive.store().scan_all().find_map(Result::err);
                failed.map_or_else(|| Ok(contents(archive.store())), |e| Err(e.to_string()))
            }));
            match opened {
                Err(_) => complaints.push(format!("{shown}: a panic")),
                Ok(Ok((whole, damaged))) if damaged.is_empty() && whole.len() == 14 => {}
                Ok(Ok((whole, damaged))) => complaints.push(format!("{shown}: {} whole, {damaged:?}", whole.len())),
                Ok(Err(error)) if error.contains("index") && error.contains("delete") => {}
                Ok(Err(error)) => complaints.push(format!("{shown}: `{error}` does not say what to do")),
            }
            archive.drop_store();
        }
        // Whatever happened, the way out that is promised works.
        fs::remove_dir_all(&index).unwrap();
        archive.open().unwrap();
        archive.assert_good(1);
        archive.assert_whole();
        assert!(complaints.is_empty(), "{complaints:#?}");
    });
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() { walk(&entry, files) } else { files.push(entry) }
    }
}

#[test]
fn a_foreign_file_among_the_packs_is_left_alone() {
    let mut archive = Archive::new();
    archive.close();
    let packs = archive.data().join("packs");
    for name in ["notes.txt", "zzzzzzzz.pack", ".pack", "00000001.pack.bak", "é.pack"] {
        fs::write(packs.join(name), b"something else").unwrap();
    }
    fs::create_dir(packs.join("00000009.pack")).unwrap();
    assert_eq!(archive.open().unwrap(), Recovery::default());
    archive.assert_whole();
    assert_eq!(fs::read(packs.join("notes.txt")).unwrap(), b"something else");
}

/// Names that read as numbers but are not how we write them.
#[test]
fn files_with_nearly_our_names_are_left_alone() {
    let mut archive = Archive::new();
    archive.close();
    for name in
        ["packs/7.pack", "packs/+0000007.pack", "packs/0000000000000007.pack", "journal/7.log", "journal/+7.log"]
    {
        let path = archive.data().join(name);
        fs::write(&path, b"something else").unwrap();
        let opened = archive.open();
        assert_eq!(opened.unwrap_or_else(|e| panic!("{name}: {e}")), Recovery::default(), "{name}");
        archive.assert_whole();
        assert_eq!(fs::read(&path).unwrap(), b"something else", "{name}");
        archive.close();
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_pack_that_is_not_ours_is_refused_by_name() {
    let mut archive = Archive::new();
    archive.close();
    fs::write(archive.data().join("packs/00000002.pack"), noise(5000, 4)).unwrap();
    open_refused(&mut archive, "packs/00000002.pack is not a file of this archive");
    fs::remove_file(archive.data().join("packs/00000002.pack")).unwrap();
    archive.open().unwrap();
    archive.assert_whole();
}

pub(super) fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

#[test]
fn a_pack_of_a_newer_version_is_refused_by_name() {
    let mut archive = Archive::new();
    archive.close();
    fs::remove_dir_all(archive.data().join("index")).unwrap();
    let pack = pack(&archive);
    let known = fs::read(&pack).unwrap()[8];
    write_at(&pack, 8, &[known + 1, 0]);
    open_refused(&mut archive, &format!("has format version {}", known + 1));
    open_refused(&mut archive, "use a newer herodotus");
    write_at(&pack, 8, &[known, 0]);
    archive.open().unwrap();
    archive.assert_whole();
}

/// A newer program also leaves a newer index: that this one knows the pack by name proves nothing.
#[test]
fn a_pack_of_a_newer_version_is_refused_even_if_the_index_knows_it() {
    let mut archive = Archive::new();
    archive.close();
    let pack = pack(&archive);
    let known = fs::read(&pack).unwrap()[8];
    write_at(&pack, 8, &[known + 1, 0]);
    open_refused(&mut archive, &format!("has format version {}", known + 1));
}

#[test]
fn a_pack_cut_from_outside_is_refused_by_name() {
    let mut archive = Archive::new();
    archive.close();
    let pack = pack(&archive);
    let bytes = fs::read(&pack).unwrap();
    // The last sixteen bytes only say that the rest was synced.
    for keep in [0, 1, 16, bytes.len() / 2, bytes.len() - 17] {
        fs::write(&pack, &bytes[..keep]).unwrap();
        open_refused(&mut archive, "packs/00000001.pack");
        open_refused(&mut archive, "changed from outside");
    }
    fs::write(&pack, &bytes).unwrap();
    archive.open().unwrap();
    archive.assert_whole();
}

#[test]
fn a_pack_cut_from_outside_without_an_index_keeps_every_whole_seal() {
    let mut archive = Archive::new();
    let first = len(&pack(&archive));
    archive.import(&[record(1), record(3)].concat()).unwrap();
    archive.close();
    let pack = pack(&archive);
    let bytes = fs::read(&pack).unwrap();
    for keep in [first as usize, first as usize + 10, bytes.len() - 1] {
        fs::remove_dir_all(archive.data().join("index")).unwrap();
        fs::write(&pack, &bytes[..keep]).unwrap();
        let recovery = archive.open().unwrap();
        assert_eq!(recovery.cut.is_empty(), keep == first as usize, "{recovery:?}");
        archive.assert_whole();
        archive.close();
    }
}

/// One rotten bit must not cost a whole seal: what was synced is damage, not an unfinished write.
#[test]
fn a_flipped_bit_and_a_lost_index_cost_only_what_the_bit_hit() {
    in_time(|| {
        let mut archive = Archive::new();
        let (original, _) = contents(archive.store());
        archive.close();
        let pack = pack(&archive);
        let bytes = fs::read(&pack).unwrap();
        fs::remove_dir_all(archive.data().join("index")).unwrap();
        // Early in the first block of the only, and so last, seal.
        flip(&pack, 200);
        let recovery = archive.open().unwrap();
        assert_eq!(len(&pack), bytes.len() as u64, "{recovery:?} cut acknowledged captures off");
        let (whole, damaged) = contents(archive.store());
        assert_eq!(whole.len() + damaged.len(), original.len(), "{recovery:?}");
    });
}

/// A first sector of zeros is what a dying disk gives back. The rest of the pack is still there.
#[test]
fn a_pack_whose_first_sector_is_lost_is_not_deleted() {
    let mut archive = Archive::new();
    archive.close();
    let pack = pack(&archive);
    let bytes = fs::read(&pack).unwrap();
    fs::remove_dir_all(archive.data().join("index")).unwrap();
    write_at(&pack, 0, &[0; 16]);
    let opened = archive.open().map_err(|e| e.to_string());
    archive.drop_store();
    assert!(pack.exists(), "a pack of {} bytes was deleted: {opened:?}", bytes.len());
    assert!(fs::read(&pack).unwrap()[16..] == bytes[16..], "a pack was cut: {opened:?}");
}

#[test]
fn a_deleted_pack_damages_what_was_in_it_and_says_so() {
    in_time(|| {
        let mut archive = Archive::new();
        let (original, _) = contents(archive.store());
        archive.close();
        let pack = pack(&archive);
        let bytes = fs::read(&pack).unwrap();
        fs::remove_file(&pack).unwrap();
        match archive.open() {
            // Refusing is one right answer, if it names what is missing.
            Err(error) => assert!(error.to_string().contains("00000001.pack"), "{error}"),
            Ok(recovery) => {
                assert!(!recovery.sentences().is_empty(), "a pack is gone, and nobody is told");
                assert_verify_is_exact(archive.store(), &original);
            }
        }
        archive.drop_store();
        fs::write(&pack, &bytes).unwrap();
        archive.open().unwrap();
        archive.assert_whole();
    });
}

/// If a pack is gone and its number is given to another, the index must not find strangers where friends were.
#[test]
fn what_is_written_after_a_pack_was_deleted_is_not_taken_for_what_was_there() {
    in_time(|| {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let import = |store: &Store, n: usize| {
            let path = dir.path().join(format!("{n}.warc"));
            fs::write(&path, response(n, &http("Content-Type: text/html\r\n", &page(n)))).unwrap();
            herodotus_store::archive::import(store, &path, &Default::default(), |_| {}).map(drop)
        };
        let (store, _) = Store::open(&data).unwrap();
        import(&store, 2).unwrap();
        store.close().unwrap();
        fs::remove_file(data.join("packs/00000001.pack")).unwrap();
        let Ok((store, _)) = Store::open(&data) else { return };
        let _ = import(&store, 4);
        let captures = store.scan_all().map(|e| e.unwrap()).collect::<Vec<_>>();
        for entry in captures {
            if let Ok(Some(capture)) = store.read(&entry.id) {
                assert_eq!(capture.url, entry.url, "{} was asked for", entry.url);
            }
        }
        drop(store);
        Store::open(&data).expect("the archive opens again");
    });
}

#[test]
fn packs_that_changed_places_give_out_no_wrong_capture() {
    let dir = tempfile::tempdir().unwrap();
    let make = |name: &str, n: usize| {
        let (file, data) = (dir.path().join("x.warc"), dir.path().join(name));
        fs::write(&file, response(n, &http("Content-Type: text/html\r\n", &page(n)))).unwrap();
        let (store, _) = Store::open(&data).unwrap();
        herodotus_store::archive::import(&store, &file, &Default::default(), |_| {}).unwrap();
        store.close().unwrap();
        data.join("packs/00000001.pack")
    };
    // Pages of one length in two archives: everything stands at the same places.
    let (ours, theirs) = (make("ours", 2), make("theirs", 4));
    fs::copy(theirs, ours).unwrap();
    let Ok((store, _)) = Store::open(&dir.path().join("ours")) else { return };
    for entry in store.scan_all().map(|e| e.unwrap()) {
        if let Ok(Some(capture)) = store.read(&entry.id) {
            assert_eq!(capture.url, entry.url, "another capture was given out");
        }
    }
}

fn committed(archive: &Archive, n: usize) -> Capture {
    let time = Timestamp::parse("2026-03-04").unwrap();
    let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let main = Record::new(Kind::Response, &url(n), time, head, Body::new(page(n)));
    let capture = Capture { url: url(n), time, main, companions: Vec::new() };
    archive.store().append(capture.clone()).unwrap();
    archive.store().commit().unwrap();
    capture
}

/// An archive whose journal holds these captures, as after `kill -9`.
fn with_journal(numbers: &[usize]) -> (Archive, PathBuf) {
    let mut archive = Archive::new();
    for n in numbers {
        committed(&archive, *n);
    }
    archive.drop_store();
    let journal = archive.files("journal").remove(0);
    (archive, journal)
}

#[track_caller]
fn assert_committed(archive: &Archive, n: usize) {
    let capture = archive.capture(&url(n));
    assert_eq!(wire(archive.store(), &capture), [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), page(n)].concat());
}

#[test]
fn a_journal_brings_back_what_was_committed() {
    let (mut archive, _) = with_journal(&[50, 51, 52]);
    assert_eq!(archive.open().unwrap().replayed, 3);
    for n in [50, 51, 52] {
        assert_committed(&archive, n);
    }
    archive.assert_whole();
    assert!(archive.files("journal").is_empty());
}

#[test]
fn garbage_behind_a_journal_is_cut_and_told() {
    let (mut archive, journal) = with_journal(&[50, 51]);
    let mut bytes = fs::read(&journal).unwrap();
    bytes.extend_from_slice(&noise(700, 6));
    fs::write(&journal, bytes).unwrap();
    let recovery = archive.open().unwrap();
    assert_eq!((recovery.replayed, recovery.cut.len(), recovery.cut[0].1), (2, 1, 700));
    assert_committed(&archive, 50);
    assert_committed(&archive, 51);
    archive.assert_whole();
}

#[test]
fn a_journal_cut_anywhere_keeps_every_whole_operation() {
    let (mut archive, journal) = with_journal(&[50]);
    let one = len(&journal);
    archive.close();
    drop(archive);
    for lost in [1, 100, 400] {
        let (mut archive, journal) = with_journal(&[50, 51]);
        let bytes = fs::read(&journal).unwrap();
        fs::write(&journal, &bytes[..(bytes.len() - lost).max(one as usize)]).unwrap();
        archive.open().unwrap();
        assert_committed(&archive, 50);
        assert!(archive.captures(&url(51)).is_empty());
        archive.assert_whole();
    }
}

/// What was committed after the rotten place was acknowledged too.
#[test]
fn a_flipped_bit_in_a_journal_costs_that_operation_only_and_is_told() {
    let (mut archive, journal) = with_journal(&[50, 51, 52]);
    flip(&journal, 16 + 100);
    let recovery = archive.open().unwrap();
    assert!(!recovery.sentences().is_empty());
    archive.assert_whole();
    assert_committed(&archive, 51);
    assert_committed(&archive, 52);
}

#[test]
fn a_journal_that_is_not_ours_or_newer_is_refused_by_name() {
    let (mut archive, journal) = with_journal(&[50]);
    let bytes = fs::read(&journal).unwrap();
    fs::write(&journal, noise(3000, 7)).unwrap();
    open_refused(&mut archive, "is not a file of this archive");
    let mut newer = bytes.clone();
    newer[8] += 1;
    fs::write(&journal, newer).unwrap();
    open_refused(&mut archive, "use a newer herodotus");
    fs::write(&journal, bytes).unwrap();
    archive.open().unwrap();
    assert_committed(&archive, 50);
    archive.assert_whole();
}

#[test]
fn a_journal_whose_first_sector_is_lost_is_not_deleted_without_a_word() {
    let (mut archive, journal) = with_journal(&[50]);
    write_at(&journal, 0, &[0; 16]);
    match archive.open() {
        Err(error) => assert!(error.to_string().contains("journal/"), "{error}"),
        Ok(recovery) => assert!(!recovery.sentences().is_empty()),
    }
    archive.drop_store();
    archive.open().unwrap();
    archive.assert_whole();
}

#[test]
fn a_journal_with_the_last_of_all_numbers_does_not_overflow() {
    let (mut archive, journal) = with_journal(&[50]);
    fs::rename(&journal, journal.with_file_name("ffffffff.log")).unwrap();
    let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| archive.open().map(drop)));
    match opened.expect("a panic") {
        Err(error) => assert!(error.to_string().contains("journal"), "{error}"),
        Ok(()) => assert_committed(&archive, 50),
    }
}

#[test]
fn a_pack_with_the_last_of_all_numbers_does_not_overflow() {
    let mut archive = Archive::new();
    archive.close();
    fs::rename(pack(&archive), archive.data().join("packs/ffffffff.pack")).unwrap();
    fs::remove_dir_all(archive.data().join("index")).unwrap();
    let imported = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        archive.open()?;
        archive.import(&record(1)).map(drop)
    }));
    // Places in the directory name the pack they were written for, so this archive is damaged; a panic would be worse.
    imported.expect("a panic").ok();
}

#[test]
fn what_unfinished_writers_left_is_cleared() {
    let mut archive = Archive::new();
    archive.close();
    fs::write(archive.data().join("tmp/1-1.part"), noise(1000, 3)).unwrap();
    archive.open().unwrap();
    assert!(archive.files("tmp").is_empty());
    archive.assert_whole();
}

#[test]
fn an_import_into_an_archive_without_an_index_or_a_clean_end_loses_nothing() {
    let (mut archive, _) = with_journal(&[50]);
    fs::remove_dir_all(archive.data().join("index")).unwrap();
    archive.open().unwrap();
    archive.import(&[record(1), record(3)].concat()).unwrap();
    archive.assert_good(1);
    archive.assert_good(3);
    assert_committed(&archive, 50);
    archive.assert_whole();
}

#[test]
fn damage_that_comes_while_the_archive_is_open_is_an_error_for_its_readers_only() {
    let (mut archive, _) = case(&[record(1), record(3)].concat(), &[1, 3], "");
    archive.close();
    archive.open().unwrap();
    let pack = pack(&archive);
    fs::OpenOptions::new().write(true).open(&pack).unwrap().set_len(16).unwrap();
    let found = archive.store().verify(|_, _| {}).unwrap();
    assert!(!found.damaged.is_empty());
    let capture = archive.store().versions(&herodotus_store::key_of(&url(1)), false).next().unwrap().unwrap();
    let error = archive.store().read(&capture.id).expect_err("there are no bytes").to_string();
    assert!(error.contains("packs/"), "{error}");
}
