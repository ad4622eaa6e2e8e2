//! The table's contents as the first version of this program wrote them, kept for ever: `data/v1.tsv`, keys and values in
//! hexadecimal. `cargo test -p herodotus-frontier --test behaviour golden:: -- --ignored` writes the file anew, which is only right
//! before a form was ever released.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use herodotus_frontier::{End, MemoryTable, Settings, Span, Table};
use herodotus_page::LinkKind;
use std::path::PathBuf;
use support::{Site, World, page, url};

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/v1.tsv")
}

fn settings() -> Settings {
    Settings { delay: Span(500), limit: Some(4), ..Settings::default() }
}

/// A crawl that was stopped half-way: something visited, something dead, something redirected, something queued.
fn site() -> Site {
    let mut site = Site::default();
    let links = [
        ("http://a.example/gone", LinkKind::Page),
        ("http://a.example/moved", LinkKind::Page),
        ("http://a.example/picture.png", LinkKind::Image),
        ("http://a.example/list?day=1", LinkKind::Page),
        ("http://a.example/later", LinkKind::Page),
    ];
    site.add("http://a.example/", page(&links));
    site.add("http://a.example/moved", page(&[("http://a.example/here", LinkKind::Redirect)]).status(301));
    site.add("http://a.example/picture.png", page(&[]));
    site
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn a_state_of_the_first_form_is_read_and_goes_on() {
    let text = std::fs::read_to_string(path()).unwrap();
    let entries = text.lines().map(|line| line.split_once('\t').unwrap());
    let mut table = MemoryTable::default();
    table.write(entries.map(|(key, value)| (unhex(key), Some(unhex(value)))).collect()).unwrap();
    let mut world = World::new(site(), Settings { limit: None, ..settings() }, table);
    let gone = world.frontier.url(&url("http://a.example/gone")).unwrap().unwrap();
    assert_eq!((gone.status, gone.visits, gone.dead, gone.depth), (404, 1, 1, 1));
    let picture = world.frontier.url(&url("http://a.example/picture.png")).unwrap().unwrap();
    assert_eq!((picture.kind, picture.hops, picture.status), (LinkKind::Image, 1, 200));
    assert_eq!(world.frontier.total().fetched, 5);
    assert_eq!(world.frontier.rounds_begun(), 1);
    assert_eq!(world.run(&["http://a.example/"]), End::Complete);
    let visited: Vec<_> = world.visited().into_keys().collect();
    assert_eq!(visited, ["http://a.example/here", "http://a.example/later"]);
}

#[test]
#[ignore = "writes the golden file"]
fn write_the_golden_file() {
    let mut world = World::new(site(), settings(), MemoryTable::default());
    assert_eq!(world.run(&["http://a.example/"]), End::LimitPages);
    let table = world.into_table();
    let entries = table.scan(&[], &[0xff; 32], usize::MAX).unwrap();
    let lines: Vec<String> = entries.iter().map(|(key, value)| format!("{}\t{}\n", hex(key), hex(value))).collect();
    std::fs::create_dir_all(path().parent().unwrap()).unwrap();
    std::fs::write(path(), lines.concat()).unwrap();
}
