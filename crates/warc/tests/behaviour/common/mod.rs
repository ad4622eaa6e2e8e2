//! Fixtures: records and the containers around them, whole and broken, made byte by byte so that the reader is never
//! tested against the writer alone.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test file uses its part, and a test may fail")]

use herodotus_warc::{Item, Position, ReadLimits, Reader, Skip};
use std::io::{Read, Write};
use std::path::PathBuf;
use tempfile::TempDir;

/// What a test record holds: a few hundred bytes that differ from record to record.
pub fn body(n: usize) -> Vec<u8> {
    let words = ["alpha", "beta", "gamma", "delta", "kappa", "sigma", "omega"];
    let text: Vec<&str> = (0..40 + n % 7).map(|i| words[(i * 31 + n * 17 + i * i * n) % words.len()]).collect();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>{n}</title>{}", text.join(" ")).into_bytes()
}

pub fn url(n: usize) -> String {
    format!("http://a.example/{n}")
}

/// One WARC record, with `change` to spoil its header.
pub fn record_with(n: usize, block: &[u8], change: impl Fn(String) -> String) -> Vec<u8> {
    let header = format!(
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {}\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n\
         WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{n:012}>\r\n\
         Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n",
        url(n),
        block.len()
    );
    let mut bytes = change(header).into_bytes();
    bytes.extend_from_slice(block);
    bytes.extend_from_slice(b"\r\n\r\n");
    bytes
}

pub fn record(n: usize) -> Vec<u8> {
    record_with(n, &body(n), |header| header)
}

pub fn records(numbers: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    numbers.into_iter().map(record).collect()
}

/// An ARC file's records, its version block first.
pub fn arc_records(numbers: impl IntoIterator<Item = usize>, v2: bool) -> Vec<Vec<u8>> {
    let shape = if v2 {
        "2 0 test\nURL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename Archive-length\n"
    } else {
        "1 0 test\nURL IP-address Archive-date Content-type Archive-length\n"
    };
    let mut all =
        vec![format!("filedesc://t.arc 0.0.0.0 20010203040506 text/plain {}\n{shape}\n", shape.len()).into_bytes()];
    for n in numbers {
        let block = body(n);
        let middle = if v2 { "text/html 200 abc - 77 t.arc" } else { "text/html" };
        let mut bytes = format!("{} 192.0.2.7 20010203040506 {middle} {}\n", url(n), block.len()).into_bytes();
        bytes.extend_from_slice(&block);
        bytes.push(b'\n');
        all.push(bytes);
    }
    all
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn dictionary() -> Vec<u8> {
    include_bytes!("../../data/pages.zdict").to_vec()
}

pub fn zstd_with(bytes: &[u8], dictionary: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::with_dictionary(Vec::new(), 3, dictionary).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn skippable(nibble: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x50 | nibble, 0x2a, 0x4d, 0x18];
    frame.extend_from_slice(&(content.len() as u32).to_le_bytes());
    frame.extend_from_slice(content);
    frame
}

pub fn concat(parts: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    parts.into_iter().flatten().collect()
}

pub fn zip(entries: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes, deflated) in entries {
        let method = if *deflated { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A file that is there as long as this is.
pub struct Fixture {
    pub path: PathBuf,
    _dir: TempDir,
}

impl Fixture {
    pub fn new(bytes: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        Self { path, _dir: dir }
    }

    pub fn open(&self) -> Reader {
        Reader::open(&self.path, ReadLimits::default()).unwrap()
    }
}

/// What a reader made of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Target URIs of the records that were read to their end, or their type where they have none.
    pub whole: Vec<String>,
    /// Those whose block failed, with the bytes read before and the error.
    pub failed: Vec<(String, usize, String)>,
    pub skips: Vec<Skip>,
}

impl Outcome {
    /// The numbers in the test URLs.
    pub fn numbers(&self) -> Vec<usize> {
        self.whole.iter().filter_map(|url| url.rsplit('/').next()?.parse().ok()).collect()
    }

    /// Everything said about damage.
    pub fn reasons(&self) -> String {
        let failed = self.failed.iter().map(|(_, _, error)| error.as_str());
        failed.chain(self.skips.iter().map(|skip| skip.reason.as_str())).collect::<Vec<_>>().join(" | ")
    }
}

/// Reads everything that is left; checks the block of every test record that claims to be whole.
pub fn drain(reader: &mut Reader) -> Outcome {
    let mut outcome = Outcome::default();
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Skipped(skip) => outcome.skips.push(skip),
            Item::Record(mut record) => {
                let name =
                    record.header.target_uri().map_or_else(|| record.header.kind().as_str().to_owned(), str::to_owned);
                let mut block = Vec::new();
                match record.block.read_to_end(&mut block) {
                    Ok(_) => {
                        assert_eq!(block.len() as u64, record.len, "{name}");
                        outcome.whole.push(name);
                    }
                    Err(e) => {
                        use std::io::ErrorKind::{InvalidData, UnexpectedEof};
                        assert!(matches!(e.kind(), InvalidData | UnexpectedEof), "{name}: {e:?}");
                        assert!((block.len() as u64) < record.len.max(1), "{name}");
                        outcome.failed.push((name, block.len(), e.to_string()));
                    }
                }
            }
        }
    }
    outcome
}

pub fn read(bytes: &[u8]) -> Outcome {
    drain(&mut Fixture::new(bytes).open())
}

/// Positions before each record and at the end, with the records that follow each.
pub fn positions(fixture: &Fixture) -> Vec<(Position, Vec<String>)> {
    let mut reader = fixture.open();
    let mut places = vec![reader.position()];
    let mut urls = Vec::new();
    loop {
        match reader.next().unwrap() {
            None => break,
            Some(Item::Skipped(_)) => continue,
            Some(Item::Record(mut record)) => {
                urls.push(record.header.target_uri().unwrap_or_default().to_owned());
                let _ = std::io::copy(&mut record.block, &mut std::io::sink());
            }
        }
        places.push(reader.position());
    }
    places.into_iter().enumerate().map(|(i, place)| (place, urls[i..].to_vec())).collect()
}

/// For cases that differ in what they say, but must say something.
pub const ANYTHING: &str = "*";

/// Reads a broken file: which records are whole, and a part of what is said. Checks besides that nothing is told twice or
/// never, and that reading goes on from every position.
#[track_caller]
pub fn case(bytes: &[u8], whole: &[usize], says: &str) -> Outcome {
    let fixture = Fixture::new(bytes);
    let outcome = drain(&mut fixture.open());
    assert_eq!(outcome.numbers(), whole, "{outcome:?}");
    let told = outcome.failed.len() + outcome.skips.len();
    if says == ANYTHING {
        assert_ne!(told, 0, "{outcome:?}");
    } else if says.is_empty() {
        assert_eq!(told, 0, "{outcome:?}");
    } else {
        assert!(outcome.reasons().contains(says), "`{}` does not say `{says}`", outcome.reasons());
    }
    for skip in &outcome.skips {
        assert!(skip.offset <= bytes.len() as u64, "{skip:?}");
        assert!(skip.reason.chars().count() < 200 && !skip.reason.contains(['\n', '\0']), "{skip:?}");
    }
    // Nobody reading the blocks must change nothing but who is told.
    let mut reader = fixture.open();
    let (mut records, mut skips) = (0, 0);
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Record(_) => records += 1,
            Item::Skipped(_) => skips += 1,
        }
    }
    assert_eq!(records, outcome.whole.len() + outcome.failed.len(), "dropped unread");
    assert_eq!(skips, told, "each damage is told once, read or not");
    // Going on from any position gives the same records again.
    for (place, rest) in positions(&fixture) {
        let mut reader = fixture.open();
        reader.resume(&place).unwrap();
        let again = drain(&mut reader);
        assert_eq!(again.whole.len() + again.failed.len(), rest.len(), "from {place}: {again:?}");
    }
    outcome
}
