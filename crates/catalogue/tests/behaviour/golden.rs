//! The rows as version 1 of the catalogue writes them: `data/v1.tsv`, keys and values in hexadecimal. A catalogue is
//! not read for ever, it is made anew; but rows that change without a new number in `rows::FORM` would be misread
//! instead. So if this fails because rows have changed, raise the form, and write the file of that form with
//! `cargo test -p herodotus-catalogue --test behaviour golden:: -- --ignored`.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_catalogue::Catalogue;
use std::path::PathBuf;
use support::{archive, catch_up, page, store_all};

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/v1.tsv")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The rows of a small catalogue; without the cursor, which is the store's to spell.
fn lines() -> String {
    let (store, dir) = (archive(), tempfile::tempdir().unwrap());
    let catalogue = Catalogue::open(dir.path()).unwrap();
    store_all(
        &store,
        &[
            page("https://example.org/", 1, "Histories, Book One"),
            page("https://example.org/", 2, "Histories, Book Two"),
            page("https://www.example.org/tower?x=1", 3, "東京タワー Café"),
        ],
    );
    catch_up(&catalogue, &store);
    drop(catalogue);
    let rows = support::rows(dir.path()).into_iter().filter(|(key, _)| key != b"mcursor");
    rows.map(|(key, value)| format!("{}\t{}\n", hex(&key), hex(&value))).collect()
}

#[test]
fn rows_are_those_of_the_first_form() {
    assert_eq!(lines(), std::fs::read_to_string(path()).unwrap());
}

#[test]
#[ignore = "writes the golden file"]
fn write_the_golden_file() {
    std::fs::create_dir_all(path().parent().unwrap()).unwrap();
    std::fs::write(path(), lines()).unwrap();
}
