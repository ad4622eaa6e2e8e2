//! The catalogue after kills, power loss, upgrades and vandals: never ahead of what it knows, and made again where it
//! cannot be read.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_catalogue::{Catalogue, Error};
use herodotus_store::{FeedCursor, Store};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use support::{archive, catch_up, page, store_all, titles};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// What the journal's name ends with: where writes go first.
fn journals(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ext| ext == "jnl")).collect()
}

fn word(n: usize) -> String {
    format!("word{n:04}")
}

/// Four steps of the catalogue, so four batches.
fn filled(store: &Store, count: usize) {
    let pages: Vec<_> =
        (0..count).map(|n| page(&format!("http://a.example/{n}"), n as i64, &format!("{} of all", word(n)))).collect();
    store_all(store, &pages);
}

/// Everything that was fed up to the catalogue's cursor is found.
fn assert_not_ahead(dir: &Path, store: &Store) -> usize {
    let rows = support::rows(dir);
    let cursor = rows.iter().find(|(key, _)| key == b"mcursor").and_then(|(_, value)| FeedCursor::decode(value));
    let catalogue = Catalogue::open(dir).unwrap();
    let mut known = 0;
    if let Some(cursor) = cursor {
        let mut at = None;
        loop {
            let (entries, next) = store.feed(at, 1).unwrap();
            if next > cursor || entries.is_empty() {
                break;
            }
            let n: usize = entries[0].url.rsplit('/').next().unwrap().parse().unwrap();
            assert_eq!(titles(&catalogue, store, &word(n)).len(), 1, "{n} was fed and is not found");
            known += 1;
            at = Some(next);
        }
    }
    known
}

#[test]
fn a_kill_or_a_loss_of_power_never_leaves_the_cursor_ahead_of_the_titles() {
    let (store, scratch) = (archive(), tempfile::tempdir().unwrap());
    filled(&store, 1000);
    let dir = scratch.path().join("catalogue");
    let catalogue = Catalogue::open(&dir).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for step in 0..4 {
        catalogue.catch_up(&store, 1, &AtomicBool::new(false)).unwrap();
        // Killed: the files as they are, without a word of farewell. Then with less and less of the journal.
        for (n, kept) in [100, 97, 80, 62, 45, 21, 3].into_iter().enumerate() {
            let image = scratch.path().join(format!("image-{step}-{n}"));
            copy(&dir, &image);
            for journal in journals(&image) {
                let file = fs::OpenOptions::new().write(true).open(&journal).unwrap();
                // It is allocated ahead: what counts is up to its last byte that is not zero.
                let written = fs::read(&journal).unwrap().iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
                if kept < 100 {
                    file.set_len((written * kept / 100) as u64).unwrap();
                }
            }
            let known = assert_not_ahead(&image, &store);
            assert!(kept < 100 || known >= ((step + 1) * 256).min(1000) - 1, "step {step}: {known}");
            seen.insert(known);
            // And it goes on to the end from there.
            let catalogue = Catalogue::open(&image).unwrap();
            catch_up(&catalogue, &store);
            for n in (0..1000).step_by(37) {
                assert_eq!(titles(&catalogue, &store, &word(n)).len(), 1, "step {step}, {kept} of the journal, {n}");
            }
            drop(catalogue);
            fs::remove_dir_all(&image).unwrap();
        }
    }
    assert!(seen.len() > 3, "cuts hit different batches: {seen:?}");
}

fn put_row(dir: &Path, key: &[u8], value: &[u8]) {
    let database = fjall::Database::builder(dir).open().unwrap();
    let rows = database.keyspace("catalogue", fjall::KeyspaceCreateOptions::default).unwrap();
    rows.insert(key, value).unwrap();
}

#[test]
fn one_of_another_version_is_thrown_away_and_made_anew() {
    let (store, scratch) = (archive(), tempfile::tempdir().unwrap());
    let dir = scratch.path().join("catalogue");
    filled(&store, 10);
    catch_up(&Catalogue::open(&dir).unwrap(), &store);
    put_row(&dir, b"mform", &[2]);
    let catalogue = Catalogue::open(&dir).unwrap();
    assert_eq!(titles(&catalogue, &store, "all"), Vec::<String>::new());
    assert_eq!(catch_up(&catalogue, &store).read, 10);
    assert_eq!(titles(&catalogue, &store, "all").len(), 10);
}

#[test]
fn one_that_cannot_be_read_is_made_anew_and_so_is_one_that_was_deleted() {
    let (store, scratch) = (archive(), tempfile::tempdir().unwrap());
    let dir = scratch.path().join("catalogue");
    filled(&store, 10);
    for vandal in 0..3 {
        let catalogue = Catalogue::open(&dir).unwrap();
        catch_up(&catalogue, &store);
        assert_eq!(titles(&catalogue, &store, "all").len(), 10, "after {vandal}");
        drop(catalogue);
        match vandal {
            0 => fs::remove_dir_all(&dir).unwrap(),
            _ => {
                let files: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
                for file in files.iter().filter(|path| path.is_file()) {
                    if vandal == 1 && file.file_name().is_some_and(|name| name == "version") {
                        fs::write(file, b"not ours").unwrap();
                    } else if vandal == 2 {
                        fs::write(file, b"").unwrap();
                    }
                }
            }
        }
    }
    let catalogue = Catalogue::open(&dir).unwrap();
    catch_up(&catalogue, &store);
    assert_eq!(titles(&catalogue, &store, "all").len(), 10);
}

#[test]
fn two_cannot_have_it_and_the_second_does_not_throw_it_away() {
    let (store, scratch) = (archive(), tempfile::tempdir().unwrap());
    filled(&store, 3);
    let catalogue = Catalogue::open(scratch.path()).unwrap();
    catch_up(&catalogue, &store);
    assert!(matches!(Catalogue::open(scratch.path()), Err(Error::Locked(_))));
    assert_eq!(titles(&catalogue, &store, "all").len(), 3);
}
