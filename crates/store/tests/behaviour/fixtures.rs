//! Captures of every kind, and the way from one archive to another.

use crate::support::{contents, noise, page, picture, time, with_body};
use herodotus_store::disk::sim::SimDisk;
use herodotus_store::index::MemoryEngine;
use herodotus_store::parcel::limits::PARCEL_BYTES;
use herodotus_store::{Body, Capture, EntryKey, Kind, Outcome, Record, RecordId, Store, WarcHeader};
use std::io::{Read, Write};
use std::sync::Arc;

pub fn open() -> Store {
    open_on(&SimDisk::new())
}

pub fn open_on(disk: &SimDisk) -> Store {
    Store::open_simulated(Arc::new(disk.clone()), Arc::new(MemoryEngine::new())).unwrap().0
}

pub fn store_with(captures: &[Capture]) -> Store {
    let store = open();
    for capture in captures {
        store.append(capture.clone()).unwrap();
    }
    store
}

pub fn ids_of(captures: &[Capture]) -> Vec<EntryKey> {
    captures.iter().map(Capture::id).collect()
}

pub fn field(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// As an importer makes it: the file's own header and name.
pub fn imported(url: &str, n: i64, kind: Kind, head: &[u8], body: &[u8]) -> Capture {
    let id = RecordId::parse(&format!("<urn:uuid:00112233-4455-6677-8899-{n:012x}>"));
    let block = herodotus_base::Sha1::of(&[head, body].concat());
    let fields = vec![
        field("WARC-Type", kind.as_str()),
        field("WARC-Record-ID", &id.bracketed()),
        field("WARC-Date", &time(n).rfc3339()),
        field("WARC-Target-URI", url),
        field("WARC-Payload-Digest", "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        field("WARC-Block-Digest", &block.to_string()),
        field("X-Odd", "value \u{e9}"),
        field("Content-Length", &(head.len() + body.len()).to_string()),
    ];
    let warc = Some(WarcHeader { version: "WARC/1.0".into(), fields: fields.into() });
    let main = Record { kind, id, warc, head: head.to_vec(), body: Body::new(body) };
    Capture { url: url.to_owned(), time: time(n), main, companions: vec![] }
}

pub const GZIPPED: [&[u8]; 3] = [
    include_bytes!("../data/coded/page0.gz"),
    include_bytes!("../data/coded/page1.gz"),
    include_bytes!("../data/coded/page2.gz"),
];

pub fn gzipped(url: &str, n: i64, version: usize) -> Capture {
    with_body(url, n, "text/html\r\nContent-Encoding: gzip", GZIPPED[version].to_vec())
}

pub fn large(url: &str, n: i64, body: Body) -> Capture {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n".to_vec();
    let main = Record::new(Kind::Response, url, time(n), head, body);
    Capture { url: url.to_owned(), time: time(n), main, companions: vec![] }
}

pub fn put_blob(store: &Store, bytes: &[u8]) -> Body {
    let mut writer = store.blob_writer("video/mp4").unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// One of everything that an archive may hold, but for large bodies.
pub fn everything() -> Vec<Capture> {
    let mut out: Vec<Capture> = (0..20).map(|v| page("https://example.org/", i64::from(v) * 60, v)).collect();
    for n in 0..5 {
        out.push(page(&format!("https://example.org/page/{n}"), n, n as u32));
        out.push(picture(&format!("https://example.org/{n}.png"), n, n as u64 / 2));
    }
    for n in 0..6 {
        out.push(gzipped("https://example.org/coded", n * 10, n as usize % 3));
        // Unchanged, and now and then a change.
        out.push(picture("https://example.org/logo.png", n * 10, n as u64 / 4));
        out.push(page("https://example.org/same", n * 10, n as u32 / 4));
    }
    for (name, body) in
        [("0", &include_bytes!("../data/coded/page0.br")[..]), ("1", include_bytes!("../data/coded/page1.br"))]
    {
        let url = format!("https://example.org/{name}.br");
        out.push(with_body(&url, 1, "text/html\r\nContent-Encoding: br", body.to_vec()));
    }
    out.push(with_body("https://mirror.example/page0", 1, "text/html\r\nContent-Encoding: gzip", GZIPPED[0].to_vec()));
    out.push(with_body("https://liar.example/", 1, "text/html\r\nContent-Encoding: gzip", b"not gzip".to_vec()));
    out.push(with_body("https://example.org/empty", 1, "text/plain", Vec::new()));
    out.push(with_body("https://example.org/tiny", 1, "text/plain", b"x".to_vec()));
    let mut truncated = page("https://example.org/cut", 1, 1);
    let fields = vec![field("WARC-IP-Address", "192.0.2.1"), field("WARC-Truncated", "length")];
    truncated.main.warc = Some(WarcHeader { version: "".into(), fields: fields.into() });
    out.push(truncated);
    let head = b"HTTP/1.1 304 Not Modified\r\n\r\n";
    out.push(imported("https://example.org/", 4000, Kind::Revisit, head, b""));
    let mut with_notes = imported("https://old.example/", 4001, Kind::Response, b"HTTP/1.0 200 OK\r\n\r\n", b"words");
    let notes = imported("https://old.example/", 4002, Kind::Metadata, b"", b"fetchTimeMs: 12\r\n");
    with_notes.companions = vec![notes.main];
    out.push(with_notes);
    out.push(imported("urn:notes", 4003, Kind::Metadata, b"", b"about nothing"));
    out.push(imported("file.warc", 4004, Kind::Warcinfo, b"", b"software: another\r\n"));
    let mut named = imported("dns:example.org", 4005, Kind::Other("odd kind".into()), b"", &noise(5, 2000));
    named.main.id = RecordId::Text("http://example.org/record/7".into());
    out.push(named);
    out
}

/// What it took to bring captures over.
#[derive(Debug, Default)]
pub struct Trip {
    pub parcels: usize,
    pub bytes: usize,
    /// Sent again, whole.
    pub again: usize,
    pub blobs: usize,
}

/// Sends captures as a replica would: what lacks its base goes again, whole; large bodies go first when they are asked for.
pub fn send(from: &Store, to: &Store, ids: &[EntryKey], has_base: impl Fn(&EntryKey) -> bool) -> Trip {
    let mut trip = Trip::default();
    let (mut rest, mut whole) = (ids.to_vec(), Vec::new());
    let mut rounds = 0;
    while !rest.is_empty() || !whole.is_empty() {
        rounds += 1;
        assert!(rounds < 1000, "it goes round and round: {rest:?} {whole:?}");
        let is_whole = rest.is_empty();
        let todo = if is_whole { &mut whole } else { &mut rest };
        let (parcel, covered) = from.parcel(todo, |id| !is_whole && has_base(id), PARCEL_BYTES).unwrap();
        assert!(covered > 0 && (parcel.needs_stream || parcel.bytes.len() <= PARCEL_BYTES));
        assert!(parcel.unknown.is_empty() && parcel.unreadable.is_empty(), "{parcel:?}");
        trip.parcels += 1;
        trip.bytes += parcel.bytes.len();
        let mut taken = to.take_parcel(&parcel.bytes).unwrap();
        if !taken.lacking_blobs.is_empty() {
            for lacking in &taken.lacking_blobs {
                let stream = from.open_blob_at(&lacking.sha256, 0).unwrap();
                to.receive_blob(&lacking.sha256, lacking.len, &lacking.media, stream).unwrap();
                trip.blobs += 1;
            }
            taken = to.take_parcel(&parcel.bytes).unwrap();
        }
        for (id, outcome) in &taken.entries {
            assert!(!matches!(outcome, Outcome::Refused(_) | Outcome::LacksBlob), "{id:?}: {outcome:?}");
        }
        todo.drain(..covered);
        let lacking: Vec<EntryKey> = taken.lacking_bases().cloned().collect();
        trip.again += lacking.len();
        whole.extend(lacking);
    }
    trip
}

pub fn assert_same(from: &Store, to: &Store) {
    let (there, here) = (contents(from), contents(to));
    assert_eq!(there.keys().collect::<Vec<_>>(), here.keys().collect::<Vec<_>>());
    for (key, capture) in &there {
        assert_eq!(here[key], *capture, "{} {}", capture.url, capture.time);
        for (a, b) in std::iter::once(&capture.main)
            .chain(&capture.companions)
            .zip(std::iter::once(&here[key].main).chain(&here[key].companions))
        {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            from.open_body(&a.body).unwrap().read_to_end(&mut x).unwrap();
            to.open_body(&b.body).unwrap().read_to_end(&mut y).unwrap();
            assert!(x == y, "{}", capture.url);
        }
    }
}
