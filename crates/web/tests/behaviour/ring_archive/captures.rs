//! A small web with everything that is odd in a large one, and how it is spread over machines. Captures come in the order of their
//! times, no two at the same, so that what came last is the same however they are spread.

use super::Places;
use herodotus_base::Timestamp;
use herodotus_store::{Body, Capture, Kind, Record, Store, WarcHeader, key_of};
use std::io::Write;

/// A capture to be: one with a large body is made anew in every store that holds it.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) capture: Capture,
    large: Option<Vec<u8>>,
}

impl Made {
    pub(crate) fn put(&self, store: &Store) {
        let mut capture = self.capture.clone();
        if let Some(bytes) = &self.large {
            let mut writer = store.blob_writer("video/mp4").unwrap();
            writer.write_all(bytes).unwrap();
            let (head, body) = (capture.main.head.clone(), writer.finish().unwrap());
            capture.main = Record::new(Kind::Response, &capture.url, capture.time, head, body);
        }
        store.append(capture).unwrap();
    }
}

pub(crate) fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

pub(crate) fn answer(url: &str, at: &str, head: &str, body: &[u8]) -> Made {
    let head = format!("HTTP/1.1 {head}\r\n\r\n").into_bytes();
    let main = Record::new(Kind::Response, url, time(at), head, Body::new(body));
    let capture = Capture { url: url.to_owned(), time: time(at), main, companions: Vec::new() };
    Made { capture, large: None }
}

pub(crate) fn page(url: &str, at: &str, title: &str, text: &str) -> Made {
    let body = format!(
        "<!doctype html><title>{title}</title><link rel=stylesheet href=/s.css><h1>{title}</h1>\n<p>{text}</p>\n\
         <p>The same in every version.</p><img src=/i.png><a href=/a/b?x=1&amp;y=2>on</a>"
    );
    answer(url, at, "200 OK\r\nContent-Type: text/html; charset=utf-8", body.as_bytes())
}

pub(crate) fn large(url: &str, at: &str, head: &str, bytes: Vec<u8>) -> Made {
    Made { large: Some(bytes), ..answer(url, at, head, b"") }
}

/// Bytes that do not pack.
pub(crate) fn noise(len: u32) -> Vec<u8> {
    (0..len).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    // Stored, not packed: a large body is to stay large.
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut rest = bytes;
    loop {
        let (block, after) = rest.split_at(rest.len().min(0xffff));
        let len = u16::try_from(block.len()).unwrap();
        out.push(u8::from(after.is_empty()));
        out.extend(len.to_le_bytes());
        out.extend((!len).to_le_bytes());
        out.extend(block);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    out.extend(crc32(bytes).to_le_bytes());
    out.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    };
    !bytes.iter().fold(!0, step)
}

/// The payload of another capture came again.
fn revisit(of: &Made, url: &str, at: &str, is_304: bool) -> Made {
    let head = if is_304 { "304 Not Modified" } else { "200 OK\r\nContent-Type: text/html; charset=utf-8" };
    let mut made = answer(url, at, head, b"");
    let field = |name: &str, value: String| (name.to_owned(), value);
    let profile = if is_304 { "server-not-modified" } else { "identical-payload-digest" };
    let mut fields = vec![field("WARC-Profile", format!("http://netpreserve.org/warc/1.1/revisit/{profile}"))];
    if !is_304 {
        fields.push(field("WARC-Payload-Digest", of.capture.main.payload_sha1().to_string()));
        fields.push(field("WARC-Refers-To-Target-URI", of.capture.url.clone()));
        fields.push(field("WARC-Refers-To-Date", of.capture.time.rfc3339()));
    }
    made.capture.main.kind = Kind::Revisit;
    made.capture.main.warc = Some(WarcHeader { version: "".into(), fields: fields.into() });
    made
}

/// The versions of one URL that has more of them than anybody asks for at once.
pub(crate) const MANY: u32 = 700;

fn many() -> impl Iterator<Item = Made> {
    (0..MANY).map(|n| {
        let at = Timestamp::from_millis(time("20100101").millis() + i64::from(n) * 600_000).unwrap();
        let head = if n % 10 == 3 { "404 Not Found" } else { "200 OK" };
        let body = format!("version {}", n % 12);
        let stamp = at.digits14();
        answer("http://many.test/page", &stamp, &format!("{head}\r\nContent-Type: text/plain"), body.as_bytes())
    })
}

pub(crate) fn all() -> Vec<Made> {
    let home = page("http://site.test/", "20140103030321", "Histories", "Of the wars of the Greeks.");
    let mut asked = answer("http://site.test/asked", "20160101000000123", "200 OK\r\nContent-Type: text/plain", b"yes");
    let request = b"GET /asked HTTP/1.1\r\nHost: site.test\r\n\r\n".to_vec();
    let (url, at) = (asked.capture.url.clone(), asked.capture.time);
    asked.capture.companions.push(Record::new(Kind::Request, &url, at, request, Body::new(*b"")));
    let png = "200 OK\r\nContent-Type: image/png";
    let text = noise(5_000_000).iter().map(|byte| b"abcdefgh \n"[usize::from(byte % 10)]).collect::<Vec<u8>>();
    let mut made = vec![
        revisit(&home, "http://site.test/", "20140303030321", false),
        page("http://site.test/", "20140203030321", "Histories, second book", "Of the Persians."),
        revisit(&home, "http://site.test/", "20140403030321", true),
        // Of another URL, which another machine may hold.
        revisit(&home, "http://copy.test/", "20140404030321", false),
        answer("http://site.test/", "20150303030321", "404 Not Found\r\nContent-Type: text/html", b"<p>gone"),
        answer("https://site.test/", "20150303030321500", "301 Moved Permanently\r\nLocation: http://site.test/", b""),
        answer("http://site.test/old", "20150401000000", "302 Found\r\nLocation: http://other.test/new", b""),
        page("http://other.test/new", "20150401000002", "Another site", "Where the old one led to."),
        answer("http://site.test/a/b?x=1&y=2", "20140501000000", "200 OK\r\nContent-Type: application/json", b"{}"),
        answer("http://site.test/a/\u{e9} b", "20140502000000", "200 OK\r\nContent-Type: text/plain", b"e"),
        page("http://site.test/a/", "20140503000000", "A folder of histories", "With something below."),
        page("http://site.test/a/c", "20140504000000", "Greek histories", "Below the folder."),
        page("http://site.test/a/c?q=1", "20140505000000", "A question", "One."),
        page("http://site.test/a/c?q=2", "20140506000000", "A question", "Two."),
        answer(
            "http://site.test/s.css",
            "20140103030322",
            "200 OK\r\nContent-Type: text/css",
            b"a{background:url(/i.png)}",
        ),
        answer(
            "http://site.test/j.js",
            "20140103030323",
            "200 OK\r\nContent-Type: text/javascript",
            b"location.href='/x'",
        ),
        answer("http://site.test/i.png", "20140103030324", png, &noise(3000)),
        answer("http://site.test/i.png", "20150103030324", png, &noise(90_000)),
        answer(
            "http://site.test/packed",
            "20150701000000",
            "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip",
            &gzipped(b"<title>Packed histories</title><p>packed"),
        ),
        answer(
            "http://site.test/chunked",
            "20150702000000",
            "200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked",
            b"5\r\nchunk\r\n2\r\ned\r\n0\r\n\r\n",
        ),
        large("http://site.test/film.mp4", "20150801000000", "200 OK\r\nContent-Type: video/mp4", noise(9_000_000)),
        large(
            "http://site.test/large.txt",
            "20150802000000",
            "200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip",
            gzipped(&text),
        ),
        asked,
        answer("http://sub.site.test/x.png", "20140601000000", png, b"png"),
        page("http://quote.test/a\">;b<", "20130601000000", "Quoted \"<histories>\"", "Odd."),
        page("http://sitemore.test/", "20140602000000", "More", "Of another site."),
        home,
    ];
    made.extend(many());
    made.sort_by_key(|made| made.capture.time);
    made
}

/// Keys of which this machine holds a filled copy.
pub(crate) fn is_here(key: &str) -> bool {
    key.starts_with("test,site)/a/") || ["test,site)/a", "test,site)/s.css"].contains(&key)
}

/// Most lie on one machine or two, wherever; every seventh only here, where it does not belong.
pub(crate) fn place(n: usize, made: &Made) -> Places {
    if is_here(&key_of(&made.capture.url)) {
        return (true, vec![n % 3]);
    }
    // Who keeps a revisit keeps what it is one of, or does not know its title; one lies here, without what it stands for.
    match (&made.capture.main.kind, made.capture.status(), made.capture.time.digits14().as_str()) {
        (Kind::Revisit, Some(304), _) => return (true, Vec::new()),
        (Kind::Revisit, ..) => return (false, vec![0]),
        (_, _, "20140103030321") => return (false, vec![0, 1]),
        _ => {}
    }
    match n % 7 {
        0 => (true, Vec::new()),
        1 => (true, vec![n % 3]),
        2 | 3 => (false, vec![n % 3, (n + 1) % 3]),
        _ => (false, vec![n % 3]),
    }
}
