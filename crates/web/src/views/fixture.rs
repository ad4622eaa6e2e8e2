//! Archives for tests: small, made in a moment, with the odd captures that real ones have.

use crate::origin::Hosts;
use crate::site::{Site, Token};
use herodotus_base::Timestamp;
use herodotus_catalogue::Catalogue;
use herodotus_store::{Body, Capture, Kind, Record, Store, WarcHeader};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) struct Archive {
    pub(crate) site: Site,
    catalogue: Arc<Catalogue>,
    _dir: tempfile::TempDir,
}

impl Archive {
    /// An archive with these captures, sealed into a pack.
    pub(crate) fn of(captures: impl IntoIterator<Item = Capture>) -> Self {
        let archive = Self::empty();
        archive.add(captures);
        archive.site.archive().here().seal().unwrap();
        archive
    }

    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(dir.path()).unwrap();
        let catalogue = Arc::new(Catalogue::open(&dir.path().join("catalogue")).unwrap());
        let hosts = Hosts { ui_port: 8480, replay_port: 8481, ui_url: None, replay_url: None };
        let token = Token::of(dir.path()).unwrap();
        let site = Site::new(store, dir.path(), None, catalogue.clone(), hosts, token);
        Self { site, catalogue, _dir: dir }
    }

    /// Captures that wait in memory.
    pub(crate) fn add(&self, captures: impl IntoIterator<Item = Capture>) {
        for capture in captures {
            self.site.archive().here().append(capture).unwrap();
        }
    }

    pub(crate) fn catch_up(&self) {
        self.catalogue.catch_up(self.site.archive().here(), usize::MAX, &AtomicBool::new(false)).unwrap();
    }
}

pub(crate) fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// An answer with a head and a body.
pub(crate) fn answer(url: &str, stamp: &str, status: &str, media: &str, body: &[u8]) -> Capture {
    let time = time(stamp);
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {media}\r\n\r\n").into_bytes();
    let main = Record::new(Kind::Response, url, time, head, Body::new(body.to_vec()));
    Capture { url: url.to_owned(), time, main, companions: Vec::new() }
}

pub(crate) fn page(url: &str, stamp: &str, body: &str) -> Capture {
    answer(url, stamp, "200 OK", "text/html; charset=utf-8", body.as_bytes())
}

/// A page of paragraphs.
pub(crate) fn lines(url: &str, stamp: &str, lines: &[String]) -> Capture {
    let body: String = lines.iter().map(|line| format!("<p>{line}</p>\n")).collect();
    page(url, stamp, &format!("<title>A page</title>{body}"))
}

/// The server said 304: nothing but a head, and no digest of what is meant.
pub(crate) fn not_modified(url: &str, stamp: &str) -> Capture {
    let mut capture = answer(url, stamp, "304 Not Modified", "text/html", b"");
    let profile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified".to_owned();
    capture.main.kind = Kind::Revisit;
    capture.main.warc = Some(WarcHeader { version: "".into(), fields: [("WARC-Profile".to_owned(), profile)].into() });
    capture
}

/// The payload came again and was left out of the file.
pub(crate) fn identical(url: &str, stamp: &str, of: &Capture) -> Capture {
    let mut capture = answer(url, stamp, "200 OK", "text/html; charset=utf-8", b"");
    let digest = format!("sha1:{}", of.main.payload_sha1().base32());
    capture.main.kind = Kind::Revisit;
    capture.main.warc =
        Some(WarcHeader { version: "".into(), fields: [("WARC-Payload-Digest".to_owned(), digest)].into() });
    capture
}

pub(crate) fn truncated(mut capture: Capture) -> Capture {
    let fields = vec![
        ("WARC-Truncated".to_owned(), "length".to_owned()),
        ("WARC-IP-Address".to_owned(), "192.0.2.7".to_owned()),
    ];
    capture.main.warc = Some(WarcHeader { version: "".into(), fields: fields.into() });
    capture
}

/// Seconds after the beginning of 2026.
pub(crate) fn second(n: i64) -> String {
    Timestamp::from_millis(time("2026").millis() + n * 1000).unwrap().digits14()
}
