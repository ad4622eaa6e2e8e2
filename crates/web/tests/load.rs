//! Many readers, slow readers, readers who only want to harm, and archives with a great deal of one thing. Whatever comes, the
//! next honest request is answered whole, and right.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{Answer, Face};
use herodotus_base::Timestamp;
use herodotus_base::limits::BODY_IN_MEMORY_BYTES_MAX;
use herodotus_store::{Body, Capture, Kind, Record};
use herodotus_web::limits::{BYTES_IN_FLIGHT_MAX, REQUEST_HEAD_BYTES_MAX, TIMEMAP_MEMENTOS_MAX};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::sync::Barrier;

const PAGE: &str = "http://site.example/a/";
const STAMP: &str = "20260101000000";

fn face_with_a_page() -> Face {
    let face = Face::new();
    face.keep(PAGE, STAMP, "text/html", b"<!doctype html><title>honest</title><a href=/x>x</a>");
    face
}

/// An honest reader on each listener is served.
fn assert_honest_readers_are_served(face: &Face, after: &str) {
    let page = face.get(&format!("/web/{STAMP}/{PAGE}"));
    assert_eq!(page.status, 200, "after {after}");
    assert!(page.text().contains("<title>honest</title>"), "after {after}: {}", page.text());
    let home = face.ask(face.ui, "GET", "/", &[]);
    assert_eq!(home.status, 200, "after {after}");
    assert!(home.text().trim_end().ends_with("</html>"), "after {after}");
}

fn request(port: u16, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")
}

/// Keeps many small pages. One at a time would take a copy of the same head and time each.
fn keep_many(face: &Face, captures: impl Iterator<Item = (String, Timestamp, String)>) {
    for (url, time, body) in captures {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec();
        let main = Record::new(Kind::Response, &url, time, head, Body::new(body.as_bytes()));
        face.store.append(Capture { url, time, main, companions: Vec::new() }).unwrap();
    }
    face.store.seal().unwrap();
}

fn json(face: &Face, path: &str) -> Value {
    let answer = face.ask(face.ui, "GET", path, &[]);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

fn clients() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn a_thousand_clients_at_once_get_whole_and_right_answers() {
    const CLIENTS: usize = 1000;
    const PAGES: usize = 50;
    let face = Face::new();
    let filler = "<p>some text that every page has</p>\n".repeat(100);
    for n in 0..PAGES {
        let body = format!("<!doctype html><title>page {n}</title>{filler}<a href=/next>{n}</a><!--end {n}-->");
        face.keep(&format!("http://site.example/{n}"), STAMP, "text/html", body.as_bytes());
        face.keep(&format!("http://site.example/{n}.bin"), STAMP, "image/png", &[n as u8; 30_000]);
    }
    let right: Vec<Vec<u8>> =
        (0..PAGES).map(|n| face.get(&format!("/web/{STAMP}/http://site.example/{n}")).body).collect();
    assert!((0..PAGES).all(|n| String::from_utf8_lossy(&right[n]).contains(&format!("<!--end {n}-->"))));
    let right = Arc::new(right);
    let (ui, replay) = (face.ui, face.replay);
    clients().block_on(async {
        // Nobody asks before all are here.
        let all_here = Arc::new(Barrier::new(CLIENTS));
        let mut tasks = tokio::task::JoinSet::new();
        for client in 0..CLIENTS {
            let (right, all_here) = (right.clone(), all_here.clone());
            tasks.spawn(async move {
                let n = client % PAGES;
                let mut stream = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, replay)).await.unwrap();
                all_here.wait().await;
                let page = converse(&mut stream, replay, &format!("/web/{STAMP}/http://site.example/{n}")).await;
                assert!(page.body == right[n], "client {client}: {} bytes", page.body.len());
                let image =
                    converse(&mut stream, replay, &format!("/web/{STAMP}im_/http://site.example/{n}.bin")).await;
                assert!(image.body == [n as u8; 30_000], "client {client}: {} bytes", image.body.len());
                drop(stream);
                let mut stream = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, ui)).await.unwrap();
                let path = format!("/api/v1/versions?url=http://site.example/{n}");
                let versions: Value = serde_json::from_slice(&converse(&mut stream, ui, &path).await.body).unwrap();
                assert_eq!((&versions["total"], &versions["first"]), (&Value::from(1), &Value::from(STAMP)));
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    });
}

/// One request on a connection that is kept.
async fn converse(stream: &mut tokio::net::TcpStream, port: u16, path: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut raw = Vec::new();
    loop {
        let mut piece = [0; 8192];
        let n = stream.read(&mut piece).await.unwrap();
        assert!(n > 0, "the connection ended within an answer: {}", String::from_utf8_lossy(&raw));
        raw.extend_from_slice(&piece[..n]);
        let Some(end) = raw.windows(4).position(|w| w == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&raw[..end]).to_ascii_lowercase();
        let len = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let len: usize = len.unwrap_or_else(|| panic!("an answer of unknown length: {head}")).parse().unwrap();
        if raw.len() >= end + 4 + len {
            assert_eq!(raw.len(), end + 4 + len);
            assert!(head.starts_with("http/1.1 200 "), "{head}");
            return common::parse(&raw);
        }
    }
}

/// A connection whose own system takes little of what is sent to it.
async fn narrow(port: u16) -> tokio::net::TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await.unwrap()
}

/// Reads the status of an answer, and nothing more.
async fn status(stream: &mut tokio::net::TcpStream) -> u16 {
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.unwrap();
    std::str::from_utf8(&line[9..]).unwrap().parse().unwrap()
}

#[test]
fn slow_readers_hold_no_more_than_the_budget_and_others_are_served() {
    const READERS: usize = 200;
    const FIT: usize = BYTES_IN_FLIGHT_MAX / BODY_IN_MEMORY_BYTES_MAX;
    let face = face_with_a_page();
    let large = "http://site.example/large";
    face.keep(large, STAMP, "text/plain", &vec![b'x'; BODY_IN_MEMORY_BYTES_MAX]);
    let ask = request(face.replay, &format!("/web/{STAMP}/{large}"));
    clients().block_on(async {
        let mut slow = Vec::new();
        for _ in 0..FIT {
            let mut stream = narrow(face.replay).await;
            stream.write_all(ask.as_bytes()).await.unwrap();
            assert_eq!(status(&mut stream).await, 200);
            slow.push(stream);
        }
        // All there is to hold is held: whoever comes now gets no byte.
        let mut waiting = Vec::new();
        for _ in FIT..READERS {
            let mut stream = narrow(face.replay).await;
            stream.write_all(ask.as_bytes()).await.unwrap();
            waiting.push(stream);
        }
        for _ in 0..10 {
            assert_honest_readers_are_served(&face, "slow readers");
        }
        for stream in &waiting {
            assert_eq!(stream.try_read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        }
        // One goes, one comes.
        slow.pop();
        let mut began = [0; 9];
        let first = loop {
            if let Some(first) = waiting.iter().position(|stream| stream.try_read(&mut began).is_ok()) {
                break first;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(&began, b"HTTP/1.1 ");
        let first = waiting.swap_remove(first);
        assert_honest_readers_are_served(&face, "one who came");
        let others = waiting.iter().filter(|stream| stream.try_read(&mut began).is_ok());
        assert_eq!(others.count(), 0, "two came where one went");
        drop((slow, waiting, first));
        // Who left holds nothing: the next has it whole.
        assert_eq!(face.get(&format!("/web/{STAMP}/{large}")).body.len(), BODY_IN_MEMORY_BYTES_MAX);
    });
}

/// Sends bytes, then ends its side or does not, and takes what comes. An end by force is an end.
fn answered(port: u16, bytes: &[u8], ends: bool) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let _ = stream.write_all(bytes);
    if ends {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut raw = Vec::new();
    let _ = stream.read_to_end(&mut raw);
    String::from_utf8_lossy(&raw).into_owned()
}

/// Refused, or closed without a word.
fn assert_refused(answer: &str, what: &str) {
    let is_refusal = answer.is_empty() || answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.0 4");
    assert!(is_refusal, "{what}: {}", answer.chars().take(300).collect::<String>());
}

#[test]
fn heads_without_end_or_measure_are_refused() {
    let face = face_with_a_page();
    for port in [face.ui, face.replay] {
        let host = format!("Host: 127.0.0.1:{port}\r\n");
        let two_megabytes = "x".repeat(2 * REQUEST_HEAD_BYTES_MAX);
        let many = "X-A: b\r\n".repeat(10_000);
        for (what, head) in [
            ("a target of 2 MB", format!("GET /{two_megabytes} HTTP/1.1\r\n{host}\r\n")),
            ("a header of 2 MB", format!("GET / HTTP/1.1\r\n{host}X-A: {two_megabytes}\r\n\r\n")),
            ("a name of 2 MB", format!("GET / HTTP/1.1\r\n{host}{two_megabytes}: a\r\n\r\n")),
            ("a method of 2 MB", format!("{two_megabytes} / HTTP/1.1\r\n{host}\r\n")),
            ("10,000 headers", format!("GET / HTTP/1.1\r\n{host}{many}\r\n")),
        ] {
            assert_refused(&answered(port, head.as_bytes(), false), what);
            assert_honest_readers_are_served(&face, what);
        }
        for (what, start, more) in [
            ("endless headers", format!("GET / HTTP/1.1\r\n{host}"), "X-A: b\r\n".repeat(8192)),
            ("an endless header", format!("GET / HTTP/1.1\r\n{host}X-A: "), "b".repeat(65_536)),
            ("an endless target", "GET /".to_owned(), "b".repeat(65_536)),
            ("endless empty lines", String::new(), "\r\n".repeat(32_768)),
        ] {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.write_all(start.as_bytes()).unwrap();
            // The server closes long before: as soon as it has seen too much.
            let refused = (0..4096).any(|_| stream.write_all(more.as_bytes()).is_err());
            assert!(refused, "{what} were read to 256 MB");
            assert_honest_readers_are_served(&face, what);
        }
    }
}

#[test]
fn what_is_no_request_is_refused() {
    let face = face_with_a_page();
    for port in [face.ui, face.replay] {
        let host = format!("Host: 127.0.0.1:{port}\r\n");
        let close = "Connection: close\r\n";
        for (what, bytes) in [
            ("nothing", String::new()),
            ("garbage", "\0\u{1}\u{2}\r\n\r\n".to_owned()),
            ("a TLS hello", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}".to_owned()),
            ("HTTP/2 by prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
            ("HTTP/0.9", "GET /\r\n".to_owned()),
            ("HTTP/0.9 with a blank line", "GET /\r\n\r\n".to_owned()),
            ("HTTP/3.0", format!("GET / HTTP/3.0\r\n{host}\r\n")),
            ("half a head", format!("GET / HTTP/1.1\r\n{host}")),
            ("a blank in a name", format!("GET / HTTP/1.1\r\n{host}X A: b\r\n\r\n")),
            ("a folded header", format!("GET / HTTP/1.1\r\n{host}X-A: b\r\n c\r\n\r\n")),
            ("no host", format!("GET / HTTP/1.1\r\n{close}\r\n")),
            ("an empty host", format!("GET / HTTP/1.1\r\nHost:\r\n{close}\r\n")),
            ("a foreign host", format!("GET / HTTP/1.1\r\nHost: evil.example\r\n{close}\r\n")),
            ("a foreign host first", format!("GET / HTTP/1.1\r\nHost: evil.example\r\n{host}{close}\r\n")),
            ("CONNECT", format!("CONNECT evil.example:443 HTTP/1.1\r\n{host}{close}\r\n")),
            ("CONNECT to us", format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n{host}{close}\r\n")),
            ("TRACE", format!("TRACE / HTTP/1.1\r\n{host}{close}\r\n")),
            ("an unknown method", format!("BREW / HTTP/1.1\r\n{host}{close}\r\n")),
            ("a target that is an asterisk", format!("GET * HTTP/1.1\r\n{host}{close}\r\n")),
            ("two lengths", format!("POST / HTTP/1.1\r\n{host}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab")),
            ("a length below zero", format!("POST / HTTP/1.1\r\n{host}Content-Length: -1\r\n\r\n")),
            ("an endless length", format!("POST / HTTP/1.1\r\n{host}Content-Length: {}\r\n\r\n", "9".repeat(40))),
            ("an unknown coding", format!("POST / HTTP/1.1\r\n{host}Transfer-Encoding: gzip\r\n\r\n")),
            ("chunks that are none", format!("POST / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nzz\r\n")),
            (
                "an upgrade",
                format!("POST / HTTP/1.1\r\n{host}Upgrade: websocket\r\nConnection: upgrade, close\r\n\r\n"),
            ),
        ] {
            assert_refused(&answered(port, bytes.as_bytes(), true), &format!("{what}, half-closed"));
            // Where the server cannot know that no more will come, it may wait: what is whole is refused at once.
            if bytes.ends_with("\r\n\r\n") && what != "garbage" {
                assert_refused(&answered(port, bytes.as_bytes(), false), what);
            }
            assert_honest_readers_are_served(&face, what);
        }
    }
}

#[test]
fn targets_in_absolute_form_are_answered_as_their_path() {
    let face = face_with_a_page();
    let host = format!("127.0.0.1:{}", face.replay);
    let page = format!("/web/{STAMP}/{PAGE}");
    let ask = |target: &str| {
        answered(
            face.replay,
            format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
            false,
        )
    };
    assert!(ask(&format!("http://{host}{page}")).contains("<title>honest</title>"));
    // Nobody's proxy: a target elsewhere is never fetched.
    let elsewhere = ask("http://evil.example/secret");
    assert!(elsewhere.starts_with("HTTP/1.1 404 "), "{elsewhere}");
    assert_honest_readers_are_served(&face, "targets in absolute form");
}

#[test]
fn requests_in_a_row_are_answered_in_their_order_until_the_first_that_is_none() {
    let face = face_with_a_page();
    let good = format!("GET /web/{STAMP}id_/{PAGE} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", face.replay);
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, face.replay)).unwrap();
    stream.write_all(good.repeat(50).as_bytes()).unwrap();
    // All of them are read first: a server that hangs up on what it did not read takes back what is still on its way.
    let (mut raw, mut piece) = (Vec::new(), [0; 4096]);
    while String::from_utf8_lossy(&raw).matches("x</a>").count() < 50 {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "closed after {} bytes", raw.len());
        raw.extend_from_slice(&piece[..read]);
    }
    let _ = stream.write_all(format!("\u{1}garbage\r\n\r\n{}", good.repeat(50)).as_bytes());
    let _ = stream.read_to_end(&mut raw);
    let answers = String::from_utf8_lossy(&raw).into_owned();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 50);
    assert_eq!(answers.matches("HTTP/1.1 400 ").count(), 1);
    assert_eq!(answers.matches("<title>honest</title>").count(), 50);
    assert_honest_readers_are_served(&face, "garbage in a row");
}

#[test]
fn clients_that_stop_halfway_keep_nobody_waiting() {
    let face = face_with_a_page();
    let mut open = Vec::new();
    for port in [face.ui, face.replay] {
        let host = format!("Host: 127.0.0.1:{port}\r\n");
        for n in 0..150 {
            let start = match n % 5 {
                0 => String::new(),
                1 => "G".to_owned(),
                2 => format!("GET /web/{STAMP}/{PAGE} HTTP/1.1\r\n{host}X-Slow: "),
                3 => format!("POST /crawls HTTP/1.1\r\n{host}Content-Length: 1000\r\n\r\nhalf"),
                _ => format!("POST /api/v1/crawls HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n400\r\nhalf"),
            };
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.write_all(start.as_bytes()).unwrap();
            open.push((n, stream));
        }
    }
    // A byte now and then, as long as the server bears it.
    for _ in 0..20 {
        for (n, stream) in &mut open {
            if *n % 5 == 2 {
                let _ = stream.write_all(b"x");
            }
        }
        assert_honest_readers_are_served(&face, "clients that stop halfway");
    }
    // Some end their side, some go.
    for (at, (_, stream)) in open.iter().enumerate() {
        if at % 2 == 0 {
            let _ = stream.shutdown(Shutdown::Write);
        }
    }
    assert_honest_readers_are_served(&face, "half-closed connections");
    drop(open);
    assert_honest_readers_are_served(&face, "clients that went");
}

#[test]
fn a_body_longer_than_any_form_is_refused_while_it_comes() {
    let face = face_with_a_page();
    let bearer = format!("Authorization: Bearer {}\r\n", face.token);
    let host = format!("Host: 127.0.0.1:{}\r\n", face.ui);
    for length in ["Content-Length: 1000000000000", "Transfer-Encoding: chunked"] {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, face.ui)).unwrap();
        let head = format!("POST /api/v1/crawls HTTP/1.1\r\n{host}{bearer}{length}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let piece = format!("10000\r\n{}\r\n", "y".repeat(65_536));
        let refused = (0..4096).any(|_| stream.write_all(piece.as_bytes()).is_err());
        assert!(refused, "{length}: 256 MB were taken");
        assert_honest_readers_are_served(&face, length);
    }
}

#[test]
fn redirects_in_circles_end_with_whoever_follows_them() {
    const RING: usize = 100;
    let face = face_with_a_page();
    for n in 0..RING {
        let to = format!("http://ring.example/{}", (n + 1) % RING);
        face.keep_redirect(&format!("http://ring.example/{n}"), "20260101000000", &to);
    }
    for modifier in ["", "id_", "im_", "if_"] {
        let start = format!("/web/{STAMP}{modifier}/http://ring.example/0");
        let mut path = start.clone();
        for hop in 0..RING {
            let answer = face.get(&path);
            assert_eq!(answer.status, 302, "{path}");
            path = answer.header("location").to_owned();
            assert_eq!(path, format!("/web/{STAMP}{modifier}/http://ring.example/{}", (hop + 1) % RING));
        }
        assert_eq!(path, start);
    }
    let viewer = face.ask(face.ui, "GET", &format!("/web/{STAMP}/http://ring.example/0"), &[]);
    assert_eq!(viewer.status, 200);
    // A page that only ever sent to itself in another form, a thousand times over: the look for a better one ends.
    keep_self_redirects(&face, 1000);
    for path in
        ["/web/2026/http://self.example/", "/web/2026im_/http://self.example/", "/web/1999/https://self.example/"]
    {
        let answer = face.get(path);
        assert_eq!(answer.status, 302, "{path}");
        assert!(answer.header("location").starts_with("/web/2026"), "{}", answer.header("location"));
    }
    assert_honest_readers_are_served(&face, "redirects in circles");
}

fn keep_self_redirects(face: &Face, count: i64) {
    let start = Timestamp::parse(STAMP).unwrap().millis();
    for n in 0..count {
        let stamp = Timestamp::from_millis(start + n * 60_000).unwrap().digits14();
        let (from, to) = if n % 2 == 0 { ("http", "https") } else { ("https", "http") };
        face.keep_redirect(&format!("{from}://self.example/"), &stamp, &format!("{to}://self.example/"));
    }
}

#[test]
fn ten_thousand_versions_of_one_url_are_all_there() {
    const COUNT: usize = 10_000;
    const NINE_HOURS_MS: i64 = 9 * 3600 * 1000;
    let face = Face::new();
    let url = "http://often.example/page";
    let start = Timestamp::parse("20160101000000").unwrap().millis();
    let times: Vec<Timestamp> =
        (0..COUNT as i64).map(|n| Timestamp::from_millis(start + n * NINE_HOURS_MS).unwrap()).collect();
    let stamps: Vec<String> = times.iter().map(|time| time.digits14()).collect();
    keep_many(
        &face,
        times.iter().enumerate().map(|(n, time)| (url.to_owned(), *time, format!("<title>Often</title>version {n}"))),
    );
    let newest = &stamps[COUNT - 1];

    // The calendar, for people and for programs.
    let of_2020: Vec<&String> = stamps.iter().filter(|stamp| stamp.starts_with("2020")).collect();
    let page = face.ask(face.ui, "GET", &format!("/web/2020*/{url}"), &[]);
    assert_eq!(page.status, 200);
    assert!(page.text().contains("10,000 versions"), "{}", page.text());
    assert!(page.text().contains(&format!("/web/{}/{url}", of_2020[of_2020.len() - 1])));
    let versions = json(&face, &format!("/api/v1/versions?url={url}&year=2020"));
    assert_eq!((&versions["total"], &versions["partial"]), (&Value::from(COUNT), &Value::from(false)));
    assert_eq!(
        (versions["first"].as_str(), versions["last"].as_str()),
        (Some(stamps[0].as_str()), Some(newest.as_str()))
    );
    let sum = |list: &Value| list.as_array().unwrap().iter().map(|of| of["versions"].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum(&versions["years"]), sum(&versions["days"])), (COUNT as u64, of_2020.len() as u64));

    // The list, from the end to some way back.
    let (mut listed, mut before) = (Vec::new(), String::new());
    while listed.len() < 500 {
        let part = json(&face, &format!("/api/v1/versions?url={url}{before}"));
        listed.extend(part["list"].as_array().unwrap().iter().map(|of| of["stamp"].as_str().unwrap().to_owned()));
        before = format!("&before={}", part["next"].as_str().unwrap());
    }
    assert!(listed.iter().eq(stamps.iter().rev().take(listed.len())));

    // CDX and TimeMaps.
    let cdx = face.get(&format!("/cdx?url={url}&fl=timestamp&output=text")).text();
    assert!(cdx.lines().eq(stamps.iter()), "{} lines", cdx.lines().count());
    let (mut mementos, mut pages) = (Vec::new(), 0);
    let mut next = Some(format!("/web/timemap/link/{url}"));
    while let Some(path) = next {
        let page = face.get(&path);
        let lines = page.text();
        let found = lines.lines().filter(|line| line.contains("memento\"; datetime="));
        mementos.extend(found.map(|line| line.split("/web/").nth(1).unwrap()[..14].to_owned()));
        let link = page.header("link").strip_prefix('<').and_then(|link| link.strip_suffix(">; rel=\"next\""));
        next = link.map(|link| link[link.find("/web/").unwrap()..].to_owned());
        pages += 1;
    }
    assert_eq!(pages, COUNT.div_ceil(TIMEMAP_MEMENTOS_MAX));
    assert_eq!(mementos, stamps);

    // The version of a moment, in the viewer, as content, and in the API.
    for n in [0, 1, 4999, 5000, COUNT - 1] {
        let (stamp, path) = (&stamps[n], format!("/web/{}/{url}", stamps[n]));
        let viewer = face.ask(face.ui, "GET", &path, &[]);
        assert_eq!(viewer.status, 200);
        assert!(viewer.text().contains("10,000 versions"), "{}", viewer.text());
        for near in [n.checked_sub(1), Some(n + 1)].into_iter().flatten().filter_map(|near| stamps.get(near)) {
            assert!(viewer.text().contains(&format!("/web/{near}/{url}")), "{near} from {stamp}");
        }
        assert!(face.get(&path).text().ends_with(&format!("version {n}")), "{}", face.get(&path).text());
        let facts = json(&face, &format!("/api/v1/version?url={url}&at={stamp}"));
        assert!(facts.to_string().contains(stamp.as_str()), "{facts}");
        let later = Timestamp::from_millis(times[n].millis() + 3600 * 1000).unwrap().digits14();
        assert_eq!(face.get(&format!("/web/{later}/{url}")).header("location"), path);
    }
}

#[test]
fn fifty_thousand_urls_of_one_host_are_walked_each_exactly_once() {
    const FOLDERS: usize = 250;
    const PER_FOLDER: usize = 200;
    const COUNT: usize = FOLDERS * PER_FOLDER;
    let face = Face::new();
    let time = Timestamp::parse(STAMP).unwrap();
    let url = |n: usize| format!("http://big.example/{:03}/{:03}.html", n / PER_FOLDER, n % PER_FOLDER);
    keep_many(&face, (0..COUNT).map(|n| (url(n), time, format!("<title>Page {n}</title>"))));

    // The tree: its folders, and what lies in one of them.
    let page = face.ask(face.ui, "GET", "/host/big.example", &[]);
    assert_eq!(page.status, 200);
    assert!(page.text().contains("50,000 versions") && page.text().contains("/host/big.example/017/"));
    let children = |path: &str| {
        let (mut names, mut captures, mut from) = (Vec::new(), 0, String::new());
        loop {
            let host = json(&face, &format!("/api/v1/host?host=big.example&path={path}{from}"));
            assert_eq!((&host["captures"], &host["urls"]), (&Value::from(COUNT), &Value::from(COUNT)));
            for child in host["children"].as_array().unwrap() {
                names.push(child["name"].as_str().unwrap().to_owned());
                captures += child["captures"].as_u64().unwrap() as usize;
            }
            match host["next"].as_str() {
                Some(next) => from = format!("&from={next}"),
                None => return (names, captures),
            }
        }
    };
    let folders: Vec<String> = (0..FOLDERS).map(|n| format!("{n:03}/")).collect();
    assert_eq!(children("/"), (folders, COUNT));
    let pages: Vec<String> = (0..PER_FOLDER).map(|n| format!("{n:03}.html")).collect();
    assert_eq!(children("/017/"), (pages, PER_FOLDER));

    // A search by prefix.
    let page = face.ask(face.ui, "GET", "/search?q=big.example/*", &[]);
    assert!(page.status == 200 && page.text().contains(&url(0)), "{}", page.text());
    let (mut found, mut from) = (Vec::new(), String::new());
    loop {
        let search = json(&face, &format!("/api/v1/search?q=big.example/017/*{from}"));
        assert_eq!(search["read_as"], "prefix");
        found.extend(search["found"].as_array().unwrap().iter().map(|of| of["url"].as_str().unwrap().to_owned()));
        match search["next"].as_str() {
            Some(next) => from = format!("&from={next}"),
            None => break,
        }
    }
    assert_eq!(found, (17 * PER_FOLDER..18 * PER_FOLDER).map(url).collect::<Vec<_>>());

    // The whole host by CDX, in parts that end anywhere.
    let (mut walked, mut parts, mut resume) = (Vec::new(), 0, String::new());
    loop {
        let path =
            format!("/cdx?url=big.example&matchType=host&fl=url&output=text&limit=7001&showResumeKey=true{resume}");
        let text = face.get(&path).text();
        let (lines, key) = text.split_once("\n\n").unwrap_or((&text, ""));
        walked.extend(lines.lines().map(str::to_owned));
        parts += 1;
        if key.is_empty() {
            break;
        }
        resume = format!("&resumeKey={}", key.trim());
    }
    assert_eq!((walked.len(), parts), (COUNT, COUNT.div_ceil(7001)));
    assert_eq!(walked.iter().cloned().collect::<BTreeSet<_>>(), (0..COUNT).map(url).collect::<BTreeSet<_>>());
}
