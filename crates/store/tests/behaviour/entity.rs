//! Entities: the page as its reader sees it, from whatever it is stored as, and never from bytes that fail their
//! digest.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test fails by panicking")]

use crate::support;

use herodotus_store::coding::plain_body;
use herodotus_store::disk::sim::SimDisk;
use herodotus_store::index::MemoryEngine;
use herodotus_store::limits::UNFOLDED_BYTES_MAX;
use herodotus_store::{Body, Capture, Entity, EntityBody, Kind, Record, Store, WarcHeader};
use std::io::{Read, Write};
use std::sync::Arc;
use support::{noise, page, picture, time, with_body};

fn open() -> (Store, SimDisk) {
    let disk = SimDisk::new();
    (Store::open_simulated(Arc::new(disk.clone()), Arc::new(MemoryEngine::new())).unwrap().0, disk)
}

fn bytes(entity: &Entity) -> &[u8] {
    match &entity.body {
        EntityBody::Bytes(bytes) => bytes,
        EntityBody::Blob(_) => panic!("a large body"),
    }
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    out.write_all(plain).unwrap();
    out.finish().unwrap()
}

fn chunks(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in body.chunks(7000) {
        out.extend(format!("{:x}\r\n", part.len()).bytes());
        out.extend(part);
        out.extend(b"\r\n");
    }
    out.extend(b"0\r\n\r\n");
    out
}

/// A page that came in the codings named.
fn coded(url: &str, n: i64, lines: &str, body: Vec<u8>) -> Capture {
    with_body(url, n, &format!("text/html\r\n{lines}"), body)
}

#[test]
fn an_entity_is_what_is_left_of_the_wire_without_its_codings() {
    let (store, _) = open();
    // By zlib and brotli themselves, which are stored unfolded, and by another encoder, which is not.
    let (gz, br) =
        (include_bytes!("../data/coded/page0.gz").to_vec(), include_bytes!("../data/coded/page0.br").to_vec());
    let text = plain_body(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", &gz);
    let captures = [
        page("http://a.example/", 1, 1),
        picture("http://a.example/b.png", 1, 1),
        coded("http://a.example/gz", 1, "Content-Encoding: gzip", gz.clone()),
        coded("http://a.example/chunked", 1, "Transfer-Encoding: chunked\r\nContent-Encoding: gzip", chunks(&gz)),
        coded("http://a.example/unchunked", 1, "Transfer-Encoding: chunked\r\nContent-Encoding: gzip", gz.clone()),
        coded("http://a.example/br", 1, "Content-Encoding: br", br),
        coded("http://a.example/other", 1, "Content-Encoding: gzip", gzip(&text)),
        // The same bytes under a head that does not speak of a coding: they are a gzip file.
        coded("http://a.example/file", 1, "X: y", gz.clone()),
        coded("http://a.example/lie", 1, "Content-Encoding: br", gz.clone()),
        with_body("http://a.example/empty", 1, "text/html", Vec::new()),
    ];
    for capture in &captures {
        store.append(capture.clone()).unwrap();
    }
    for sealed in [false, true] {
        for capture in &captures {
            let entity = store.entity_in_passing(&capture.id()).unwrap().unwrap();
            let Body::Bytes(wire, _) = &capture.main.body else { panic!() };
            assert_eq!(bytes(&entity), plain_body(&capture.main.head, wire), "{} {sealed}", capture.url);
            assert_eq!(entity.head, capture.main.head);
            assert_eq!((&entity.url, &entity.kind), (&capture.url, &Kind::Response));
        }
        store.seal().unwrap();
    }
    let of = |name: &str| {
        let capture = captures.iter().find(|c| c.url.ends_with(name)).unwrap();
        store.entity(&capture.id()).unwrap().unwrap()
    };
    for name in ["/gz", "/chunked", "/unchunked", "/br", "/other"] {
        assert_eq!((bytes(&of(name)), &of(name).codings_left[..]), (&text[..], &[][..]), "{name}");
    }
    assert_eq!(bytes(&of("/file")), gz);
    assert_eq!((bytes(&of("/lie")), &of("/lie").codings_left[..]), (&gz[..], &["br".to_owned()][..]));
    assert_eq!(of("/gz").content_type.as_deref(), Some("text/html"));
}

#[test]
fn a_second_reader_gets_what_was_checked_and_nobody_gets_what_was_removed() {
    let (store, _) = open();
    let (a, b) = (page("http://a.example/", 1, 1), page("http://a.example/", 2, 2));
    store.append(a.clone()).unwrap();
    store.append(b.clone()).unwrap();
    store.seal().unwrap();
    let first = store.entity(&a.id()).unwrap().unwrap();
    assert!(Arc::ptr_eq(&first, &store.entity(&a.id()).unwrap().unwrap()));
    store.entity(&b.id()).unwrap().unwrap();
    store.compact(true, |_, _| {}).unwrap();
    assert!(Arc::ptr_eq(&first, &store.entity(&a.id()).unwrap().unwrap()));
    store.remove(&a.id()).unwrap();
    assert!(store.entity(&a.id()).unwrap().is_none());
    store.seal().unwrap();
    assert!(store.entity(&a.id()).unwrap().is_none());
    store.compact(false, |_, _| {}).unwrap();
    assert!(store.entity(&a.id()).unwrap().is_none());
    assert!(store.entity_in_passing(&a.id()).unwrap().is_none());
    assert!(store.entity(&b.id()).unwrap().is_some());
}

#[test]
fn an_entity_that_was_never_here_is_none() {
    let (store, _) = open();
    assert!(store.entity(&page("http://a.example/", 1, 1).id()).unwrap().is_none());
}

fn revisit(url: &str, n: i64, head: &[u8], of: &Capture) -> Capture {
    let mut main = Record::new(Kind::Revisit, url, time(n), head.to_vec(), Body::new(Vec::new()));
    let digest = of.main.body.digests().sha1.to_string();
    let fields = vec![
        ("WARC-Type".to_owned(), "revisit".to_owned()),
        ("WARC-Payload-Digest".to_owned(), digest),
        ("WARC-Refers-To-Target-URI".to_owned(), of.url.clone()),
    ];
    main.warc = Some(WarcHeader { version: "WARC/1.1".into(), fields: fields.into() });
    Capture { url: url.to_owned(), time: time(n), main, companions: Vec::new() }
}

#[test]
fn a_revisit_shows_its_originals_payload_for_as_long_as_that_may_be_seen() {
    let (store, _) = open();
    let gz = include_bytes!("../data/coded/page1.gz").to_vec();
    let original = coded("http://a.example/", 1, "Content-Encoding: gzip", gz);
    let own_head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nX: later\r\n\r\n";
    let with_head = revisit("http://a.example/", 5, own_head, &original);
    let headless = revisit("http://a.example/", 6, b"", &original);
    let not_modified = revisit("http://a.example/", 7, b"HTTP/1.1 304 Not Modified\r\n\r\n", &original);
    for revisit in [&with_head, &headless, &not_modified] {
        store.append(revisit.clone()).unwrap();
    }
    store.seal().unwrap();
    assert_eq!(bytes(&store.entity(&with_head.id()).unwrap().unwrap()), b"", "its original is not here yet");
    store.append(original.clone()).unwrap();
    store.seal().unwrap();
    let text = store.entity(&original.id()).unwrap().unwrap();
    for _ in 0..2 {
        for revisit in [&with_head, &headless, &not_modified] {
            let entity = store.entity(&revisit.id()).unwrap().unwrap();
            assert_eq!(bytes(&entity), bytes(&text));
            assert_eq!((&entity.kind, &entity.original), (&Kind::Revisit, &Some(original.id())));
            let head = if revisit.id() == with_head.id() { &own_head[..] } else { &original.main.head };
            assert_eq!(entity.head, head);
            let resolved = store.read_resolved(&revisit.id()).unwrap().unwrap();
            assert_eq!((&resolved.main.head[..], &resolved.main.body), (head, &original.main.body));
        }
    }
    store.remove(&original.id()).unwrap();
    for revisit in [&with_head, &headless, &not_modified] {
        assert_eq!(bytes(&store.entity(&revisit.id()).unwrap().unwrap()), b"");
    }
}

#[test]
fn what_unfolds_beyond_the_limit_is_given_as_it_came() {
    let (store, _) = open();
    let bomb = gzip(&vec![0; UNFOLDED_BYTES_MAX + 1]);
    let largest = gzip(&vec![0; UNFOLDED_BYTES_MAX]);
    let captures = [
        coded("http://a.example/bomb", 1, "Content-Encoding: gzip", bomb.clone()),
        coded("http://a.example/largest", 1, "Content-Encoding: gzip", largest),
    ];
    captures.iter().for_each(|c| assert_eq!(store.append(c.clone()).unwrap(), herodotus_store::Appended::Stored));
    store.seal().unwrap();
    let entity = store.entity(&captures[0].id()).unwrap().unwrap();
    assert_eq!((bytes(&entity), &entity.codings_left[..]), (&bomb[..], &["gzip".to_owned()][..]));
    let entity = store.entity(&captures[1].id()).unwrap().unwrap();
    assert_eq!((bytes(&entity).len(), entity.codings_left.len()), (UNFOLDED_BYTES_MAX, 0));
}

#[test]
fn a_resource_without_a_head_has_the_type_that_its_record_says() {
    let (store, _) = open();
    let mut main = Record::new(Kind::Resource, "http://a.example/r", time(1), Vec::new(), Body::new(*b"text"));
    let fields = vec![("Content-Type".to_owned(), "text/plain; charset=utf-8".to_owned())];
    main.warc = Some(WarcHeader { version: "".into(), fields: fields.into() });
    let capture = Capture { url: "http://a.example/r".to_owned(), time: time(1), main, companions: Vec::new() };
    store.append(capture.clone()).unwrap();
    for _ in 0..2 {
        let entity = store.entity_in_passing(&capture.id()).unwrap().unwrap();
        assert_eq!(entity.content_type.as_deref(), Some("text/plain; charset=utf-8"));
        assert_eq!((bytes(&entity), entity.head.len()), (&b"text"[..], 0));
        store.seal().unwrap();
    }
}

fn large(store: &Store, url: &str, lines: &str, body: &[u8]) -> Capture {
    let mut capture = coded(url, 1, lines, Vec::new());
    let mut writer = store.blob_writer("text/html").unwrap();
    writer.write_all(body).unwrap();
    capture.main.body = writer.finish().unwrap();
    store.append(capture.clone()).unwrap();
    capture
}

fn content(entity: &Entity) -> std::io::Result<Vec<u8>> {
    let EntityBody::Blob(body) = &entity.body else { panic!("a small body") };
    let mut out = Vec::new();
    body.open().unwrap().read_to_end(&mut out)?;
    Ok(out)
}

#[test]
fn a_large_body_is_read_from_any_offset_or_decoded_as_it_is_read() {
    let (store, _) = open();
    let plain = noise(1, 5 << 20);
    let film = large(&store, "http://a.example/film", "X: y", &plain);
    let entity = store.entity(&film.id()).unwrap().unwrap();
    let EntityBody::Blob(body) = &entity.body else { panic!("a small body") };
    assert_eq!((body.len, body.is_coded()), (plain.len() as u64, false));
    for offset in [0, 1, (1 << 20) - 1, 1 << 20, 3_333_333, plain.len() - 1, plain.len(), plain.len() + 9] {
        let mut part = Vec::new();
        body.open_at(offset as u64).unwrap().take(100).read_to_end(&mut part).unwrap();
        let from = offset.min(plain.len());
        assert_eq!(part, plain[from..(from + 100).min(plain.len())], "from {offset}");
    }
    assert_eq!(content(&entity).unwrap(), plain);
    let gz = gzip(&plain);
    let zst = zstd::encode_all(&plain[..], 1).unwrap();
    let cut = gz[..gz.len() - 100_000].to_vec();
    for (name, lines, wire) in [
        ("gz", "Content-Encoding: gzip", gz.clone()),
        ("chunked", "Transfer-Encoding: chunked", chunks(&plain)),
        ("both", "Transfer-Encoding: chunked\r\nContent-Encoding: gzip", chunks(&gz)),
        ("zst", "Content-Encoding: gzip, zstd", zstd::encode_all(&gz[..], 1).unwrap()),
        ("zst2", "Content-Encoding: zstd", zst),
        ("unchunked", "Transfer-Encoding: chunked\r\nContent-Encoding: gzip", gz.clone()),
    ] {
        let capture = large(&store, &format!("http://a.example/{name}"), lines, &wire);
        let entity = store.entity(&capture.id()).unwrap().unwrap();
        assert!(content(&entity).unwrap() == plain, "{name}");
        assert_eq!(entity.codings_left, Vec::<String>::new());
        let EntityBody::Blob(body) = &entity.body else { panic!("a small body") };
        assert!(body.is_coded() && body.open_at(5).is_err() && body.len == wire.len() as u64);
    }
    let capture = large(&store, "http://a.example/cut", "Content-Encoding: gzip", &cut);
    let part = content(&store.entity(&capture.id()).unwrap().unwrap()).unwrap();
    assert!(part.len() > 4 << 20 && plain.starts_with(&part), "{}", part.len());
    for (name, lines, left) in [
        ("lie", "Content-Encoding: gzip", "gzip"),
        ("unknown", "Content-Encoding: exi", "exi"),
        ("lie2", "Content-Encoding: zstd", "zstd"),
    ] {
        let capture = large(&store, &format!("http://a.example/{name}"), lines, &plain);
        let entity = store.entity(&capture.id()).unwrap().unwrap();
        assert_eq!(entity.codings_left, [left]);
        assert!(content(&entity).unwrap() == plain, "{name}");
    }
}

#[test]
fn damage_to_a_large_coded_body_is_an_error_and_not_its_end() {
    let (store, disk) = open();
    let gz = gzip(&noise(2, 5 << 20));
    let capture = large(&store, "http://a.example/gz", "Content-Encoding: gzip", &gz);
    let entity = store.entity(&capture.id()).unwrap().unwrap();
    let name = format!("blobs/{}.blob", capture.main.body.digests().sha256);
    disk.flip_bit(&name, 3 << 20, 1);
    assert!(content(&entity).unwrap_err().to_string().contains("not what was written"));
}
