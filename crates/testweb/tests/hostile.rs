//! The hostile web does what it says: every case is played to a raw client, and each group's tricks are looked at.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use herodotus_testweb::hostile::{Case, Expect, Group, Hostile, Outcome};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// One house for all tests: it is shared by many visitors in life as well.
fn house() -> &'static Hostile {
    static HOUSE: OnceLock<Hostile> = OnceLock::new();
    HOUSE.get_or_init(|| Hostile::start().unwrap())
}

fn case(name: &str) -> &'static Case {
    house().cases().iter().find(|case| case.name == name).unwrap()
}

fn host(case: &Case) -> String {
    case.url.split('/').nth(2).unwrap().to_owned()
}

fn addr(host: &str) -> SocketAddr {
    let fits = |pattern: &str| pattern == host || pattern.strip_prefix('*').is_some_and(|end| host.ends_with(end));
    house().connect_to().into_iter().find(|(pattern, _)| fits(pattern)).unwrap().1
}

/// A connection that bears a silence, and in all five times as long.
#[derive(Debug)]
struct Visit {
    stream: TcpStream,
    end: Instant,
}

impl Read for Visit {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.end { Err(io::ErrorKind::TimedOut.into()) } else { self.stream.read(piece) }
    }
}

impl Write for Visit {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn connect(host: &str, patience_ms: u64) -> io::Result<Visit> {
    let stream = TcpStream::connect(addr(host))?;
    stream.set_read_timeout(Some(Duration::from_millis(patience_ms)))?;
    stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    Ok(Visit { stream, end: Instant::now() + Duration::from_millis(5 * patience_ms) })
}

fn tls(host: &str, protocol: &[u8], patience_ms: u64) -> io::Result<StreamOwned<ClientConnection, Visit>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(house().ca_der().to_vec())).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let mut stream =
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), connect(host, patience_ms)?);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

/// Reads until the end, the limit, an error, or a silence; `true` if it was the end.
fn read_some(mut from: impl Read, limit: usize) -> (Vec<u8>, bool) {
    let (mut all, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    while all.len() < limit {
        match from.read(&mut piece) {
            Ok(0) => return (all, true),
            Ok(count) => all.extend_from_slice(&piece[..count]),
            Err(_) => return (all, false),
        }
    }
    (all, false)
}

fn request(host: &str, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").into_bytes()
}

/// The start of HTTP/2 with one request, headers spelled out.
fn request_h2(path: &str) -> Vec<u8> {
    let mut block = vec![0x82, 0x87, 0x00, 5];
    block.extend_from_slice(b":path");
    block.push(path.len() as u8);
    block.extend_from_slice(path.as_bytes());
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    bytes.extend_from_slice(&[0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1]);
    bytes.extend_from_slice(&block);
    bytes
}

/// Asks as a raw client would, in the case's own protocol. What came, and whether it came to an end.
fn ask(case: &Case, path: &str, limit: usize, patience_ms: u64) -> io::Result<(Vec<u8>, bool)> {
    let host = host(case);
    if case.group == Group::Http2 {
        let mut stream = tls(&host, b"h2", patience_ms)?;
        stream.write_all(&request_h2(path))?;
        return Ok(read_some(stream, limit));
    }
    if case.url.starts_with("https://") {
        let mut stream = tls(&host, b"http/1.1", patience_ms)?;
        stream.write_all(&request(&host, path))?;
        return Ok(read_some(stream, limit));
    }
    let mut stream = connect(&host, patience_ms)?;
    let _ = stream.write_all(&request(&host, path));
    Ok(read_some(stream, limit))
}

/// What a plain host says to a path, to its end.
fn said(name: &str, path: &str) -> Vec<u8> {
    ask(case(name), path, 64 << 20, 10_000).unwrap().0
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn the_table_is_large_and_its_names_are_names() {
    let cases = house().cases();
    let names: HashSet<&str> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "no two cases share a name");
    let mut groups: BTreeMap<Group, usize> = BTreeMap::new();
    for case in cases {
        let label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(case.name.len() <= 40 && case.name.bytes().all(label), "{}", case.name);
        assert!(case.why.ends_with(['.', '?']) && case.why.len() > 12, "{}: {}", case.name, case.why);
        assert!(case.url.starts_with("http"), "{}", case.url);
        *groups.entry(case.group).or_default() += 1;
    }
    assert!(cases.len() >= 250, "{} cases", cases.len());
    assert!(groups.len() == 18 && groups.values().all(|count| *count >= 4), "{groups:?}");
}

#[test]
fn every_code_expected_is_one_that_the_crawler_knows() {
    let failures = "dns no_address forbidden_address connect_timeout connect tls_expired tls_not_yet_valid tls_unknown_issuer \
                    tls_wrong_name tls_handshake first_byte_timeout head_too_large too_many_headers not_http \
                    closed_before_head http2";
    let truncations = "length decoded time idle slow disconnect chunking reset";
    let skips = "robots redirect_limit redirect_loop trap_ links_dropped not_web";
    fn check(expect: &Expect, known: [&str; 3]) -> bool {
        let all = |codes: &[&str], known: &str| {
            !codes.is_empty() && codes.iter().all(|code| known.split_whitespace().any(|k| k == *code))
        };
        match expect {
            Expect::Failure(codes) => all(codes, known[0]),
            Expect::Truncated(codes) => all(codes, known[1]),
            Expect::Skipped(codes) => all(codes, known[2]),
            Expect::Whole => true,
            Expect::Either(any) => any.len() > 1 && any.iter().all(|expect| check(expect, known)),
        }
    }
    for case in house().cases() {
        assert!(check(&case.expect, [failures, truncations, skips]), "{}: {:?}", case.name, case.expect);
    }
}

#[test]
fn expectations_allow_what_they_name_and_nothing_else() {
    let either = Expect::Either(&[Expect::Whole, Expect::Truncated(&["length", "time"])]);
    assert!(either.allows(Outcome::Whole) && either.allows(Outcome::Truncated("time")));
    assert!(!either.allows(Outcome::Truncated("idle")) && !either.allows(Outcome::Failure("length")));
    let trap = Expect::Skipped(&["trap_"]);
    assert!(trap.allows(Outcome::Skipped("trap_depth")) && !trap.allows(Outcome::Skipped("robots")));
    assert!(!trap.allows(Outcome::Whole) && !Expect::Failure(&["connect"]).allows(Outcome::Failure("connect_timeout")));
}

/// Every case is met once, read for a while, and left; beside it, the rest of its host goes on.
#[test]
fn every_case_is_played_and_its_host_goes_on() {
    let (next, cases) = (AtomicUsize::new(0), house().cases());
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let before = house().requests(&host(case));
                    let met = ask(case, "/", 256 * 1024, 300);
                    let refused = case.name == "refused" || case.name.starts_with("tls-") || case.group == Group::Http2;
                    assert!(met.is_ok() || refused, "{}: {met:?}", case.name);
                    let seen = house().requests(&host(case)) > before;
                    let handshake_fails = case.group == Group::Tls && met.is_err();
                    assert!(seen || handshake_fails || case.name == "refused", "{} was not asked", case.name);
                    if !case.robots_answered {
                        continue;
                    }
                    let (robots, _) =
                        ask(case, "/robots.txt", 1 << 20, if case.group == Group::Http2 { 300 } else { 10_000 })
                            .unwrap();
                    let (after, _) =
                        ask(case, "/after.html", 1 << 20, if case.group == Group::Http2 { 300 } else { 10_000 })
                            .unwrap();
                    let robots_text = String::from_utf8_lossy(&robots).into_owned();
                    let decent = robots_text.contains("404")
                        || (case.group == Group::Sitemap && robots_text.contains("Sitemap:"));
                    assert!(decent, "{}: {robots_text}", case.name);
                    assert!(contains(&after, b"All is well."), "{}: {}", case.name, String::from_utf8_lossy(&after));
                }
            });
        }
    });
}

#[test]
fn the_slow_are_slow_and_the_endless_do_not_end() {
    for name in ["silent-head", "silent-connect", "robots-silent"] {
        let path = if name == "robots-silent" { "/robots.txt" } else { "/" };
        let (bytes, ended) = ask(case(name), path, 1024, 200).unwrap();
        assert_eq!((bytes.len(), ended), (0, false), "{name}");
    }
    for name in ["half-head", "slow-body", "body-stops", "body-never-starts", "never-closes", "bursts"] {
        let (bytes, ended) = ask(case(name), "/", 1 << 20, 200).unwrap();
        assert!(bytes.starts_with(b"HTTP/1.1 200 OK\r\n") && !ended, "{name}");
        assert_eq!(contains(&bytes, b"\r\n\r\n"), name != "half-head");
    }
    // A drip: some bytes, and more when one waits.
    for name in ["slow-head", "drip-body", "slow-chunks", "slow-chunk-size"] {
        let (bytes, ended) = ask(case(name), "/", if name == "slow-head" { 5 } else { 150 }, 5000).unwrap();
        assert!(bytes.len() >= 5 && !ended, "{name}");
    }
    for case in house().cases().iter().filter(|case| case.group == Group::Endless && case.name != "many-1xx") {
        let (bytes, ended) = ask(case, "/", 8 << 20, 10_000).unwrap();
        assert!(bytes.len() >= 8 << 20 && !ended, "{} ended after {}", case.name, bytes.len());
    }
    assert_eq!(said("many-1xx", "/").windows(13).filter(|w| w == b"HTTP/1.1 103 ").count(), 10_000);
}

#[test]
fn heads_and_lengths_are_as_broken_as_they_are_said_to_be() {
    assert!(said("version-9", "/").starts_with(b"HTTP/9.9 200"));
    assert!(said("no-reason-no-space", "/").starts_with(b"HTTP/1.1 200\r\n"));
    assert!(said("http-09", "/").starts_with(b"<!DOCTYPE"));
    assert_eq!(said("empty-reply", "/"), b"");
    assert_eq!(said("headers-100000", "/").windows(6).filter(|w| w == b"A: b\r\n").count(), 100_000);
    assert!(said("header-1mb", "/").len() > 1024 * 1024);
    assert!(contains(&said("header-nul", "/"), b"before\0after"));
    assert!(contains(&said("header-fold", "/"), b"one\r\n two\r\n\tthree"));
    for (name, length) in [("length-short", "40"), ("length-long", "1000"), ("length-negative", "-1")] {
        let answer = said(name, "/");
        let at = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        assert!(contains(&answer[..at + 2], format!("\r\nContent-Length: {length}\r\n").as_bytes()), "{name}");
        assert_eq!(answer.len() - at - 4, 100, "{name}");
    }
    let twice = said("poisoned-keep-alive", "/");
    assert_eq!(twice.windows(9).filter(|w| w == b"HTTP/1.1 ").count(), 2);
    assert!(twice.ends_with(b"poisoned"));
    assert!(said("chunk-overflow", "/").ends_with(b"10000000000000005\r\nhello\r\n0\r\n\r\n"));
    assert!(said("chunk-no-last", "/").ends_with(b"\r\nhello\r\n"));
    assert!(said("chunk-extension-1mb", "/").len() > 1_000_000);
}

#[test]
fn resets_are_resets_and_the_refused_are_refused() {
    assert_eq!(connect(&host(case("refused")), 100).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    for (name, least) in [("reset-request", 0), ("reset-head", 10), ("reset-body", 5000), ("robots-reset", 0)] {
        let path = if name == "robots-reset" { "/robots.txt" } else { "/" };
        let host = host(case(name));
        let mut stream = connect(&host, 5000).unwrap();
        stream.write_all(&request(&host, path)).unwrap();
        let mut all = Vec::new();
        let error = stream.read_to_end(&mut all).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{name}");
        assert!(all.len() >= least, "{name}: {}", all.len());
    }
}

#[test]
fn pages_are_as_large_deep_and_broken_as_they_are_said_to_be() {
    let count = |name: &str, part: &[u8]| said(name, "/").windows(part.len()).filter(|w| *w == part).count();
    assert_eq!(count("nested-100000", b"<div>"), 100_000);
    assert_eq!(count("links-1000000", b"<a href=/l/"), 1_000_000);
    assert!(said("link-1mb", "/").len() > 1_000_000);
    assert!(said("broken-utf8", "/").ends_with(b"<a href=\"/\xe9t\xe9.html\">x</a>"));
    assert!(contains(&said("charset-utf16-unmarked", "/"), b"<\0p\0>\0"));
    assert!(contains(&said("css-imports", "/style-41.css"), b"/style-42.css"));
    assert!(contains(&said("meta-refresh-endless", "/r7"), b"url=/r8"));
    let long = case("link-40k");
    assert!(long.at.as_ref().unwrap().len() > 40_000);
    assert!(contains(&said("link-40k", "/"), long.at.as_ref().unwrap().split("test").nth(1).unwrap().as_bytes()));
}

#[test]
fn redirects_lead_where_they_should_not() {
    let location = |name: &str, path: &str| {
        let answer = String::from_utf8_lossy(&said(name, path)).into_owned();
        answer.split("\r\nLocation: ").nth(1).and_then(|rest| rest.split("\r\n").next().map(str::to_owned)).unwrap()
    };
    assert_eq!(location("redirect-self", "/"), "/");
    assert_eq!((location("redirect-two", "/"), location("redirect-two", "/other")), ("/other".into(), "/".into()));
    assert_eq!(location("redirect-endless", "/hop/41"), "/hop/42");
    assert_eq!(location("redirect-endless", "/hop/99999999999999999999"), "/hop/1");
    for case in house().cases().iter().filter(|case| case.name.starts_with("to-") && case.name != "to-private-late") {
        assert_eq!(Some(location(case.name, "/")), case.at, "{}", case.name);
    }
    assert!(location("location-1mb", "/").len() > 1024 * 1024);
    assert_eq!(location("cookie-wall", "/"), "/");
    let host = host(case("cookie-wall"));
    let mut stream = connect(&host, 5000).unwrap();
    stream
        .write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\nCookie: seen=1\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    assert!(contains(&read_some(stream, 1 << 20).0, b"counted"));
}

#[test]
fn robots_and_sitemaps_are_what_they_are_said_to_be() {
    assert!(said("robots-500", "/robots.txt").starts_with(b"HTTP/1.1 500 "));
    assert!(contains(&said("robots-all", "/robots.txt"), b"Disallow: /\n"));
    let (large, ended) = ask(case("robots-100mb"), "/robots.txt", 200 << 20, 10_000).unwrap();
    assert!(large.len() > 99_000_000 && ended);
    assert!(contains(&said("robots-delay-nan", "/robots.txt"), b"Crawl-delay: NaN"));
    assert!(contains(&said("sitemap-laughs", "/sitemap.xml"), b"<!ENTITY l9 \"&l8;"));
    assert!(contains(&said("sitemap-deep", "/sitemap.xml"), b"/sitemap-1.xml"));
    assert!(contains(&said("sitemap-deep", "/sitemap-41.xml"), b"/sitemap-42.xml"));
    let map = format!("Sitemap: http://{}/sitemap.xml\n", host(case("sitemap-loop")));
    assert!(contains(&said("sitemap-loop", "/robots.txt"), map.as_bytes()));
}

/// Follows the first link of each page.
#[test]
fn traps_go_on_for_as_long_as_one_follows() {
    for case in house().cases().iter().filter(|case| case.group == Group::Trap) {
        let (mut host, mut path, mut seen) = (host(case), "/".to_owned(), HashSet::new());
        for step in 0..20 {
            assert!(seen.insert((host.clone(), path.clone())), "{} came back to {path} at {step}", case.name);
            let mut stream = connect(&host, 5000).unwrap();
            stream.write_all(&request(&host, &path)).unwrap();
            let page = String::from_utf8(read_some(stream, 1 << 20).0).unwrap();
            assert!(page.starts_with("HTTP/1.1 200 OK"), "{}: {page}", case.name);
            let link = page.split("href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&amp;", "&");
            match link.strip_prefix("http://") {
                Some(rest) => {
                    let (other, rest) = rest.split_at(rest.find('/').unwrap());
                    (host, path) = (other.to_owned(), rest.to_owned());
                }
                None => path = link,
            }
        }
        assert!(contains(&ask(case, "/", 1 << 20, 5000).unwrap().0, b"/after.html"));
    }
}

#[test]
fn certificates_fail_for_the_reason_they_should() {
    for (name, reason) in [
        ("tls-expired", "Expired"),
        ("tls-not-yet", "NotValidYet"),
        ("tls-self-signed", "UnknownIssuer"),
        ("tls-unknown-ca", "UnknownIssuer"),
        ("tls-wrong-name", "NotValidForName"),
        ("tls-long-chain", "MessageTooLarge"),
    ] {
        let error = tls(&host(case(name)), b"http/1.1", 10_000).unwrap_err();
        let text = format!("{error:?}");
        assert!(text.contains(reason) || text.contains("HandshakePayloadTooLarge"), "{name}: {text}");
    }
    for name in ["tls-closed", "tls-plain", "tls-garbage", "tls-alert", "tls-old", "tls-reset", "tls-signed-by-leaf"] {
        assert!(tls(&host(case(name)), b"http/1.1", 10_000).is_err(), "{name}");
    }
    assert!(contains(&ask(case("tls-honest"), "/", 1 << 20, 10_000).unwrap().0, b"In confidence."));
    // The end without a farewell is seen as such.
    let mut stream = tls(&host(case("tls-cut")), b"http/1.1", 10_000).unwrap();
    stream.write_all(&request(&host(case("tls-cut")), "/")).unwrap();
    let error = stream.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

/// The frames in some bytes: kind, flags, stream, length.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, usize)> {
    let mut frames = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        frames.push((head[3], head[4], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), length));
        bytes = rest.get(length..).unwrap_or_default();
    }
    frames
}

#[test]
fn frames_are_as_broken_as_they_are_said_to_be() {
    let answer = |name: &str, path: &str| frames(&ask(case(name), path, 1 << 20, 300).unwrap().0);
    let kinds = |name: &str| answer(name, "/").iter().map(|frame| frame.0).collect::<Vec<u8>>();
    let settled = |kinds: &[u8]| kinds.iter().filter(|kind| **kind != 4).copied().collect::<Vec<u8>>();
    assert_eq!(settled(&kinds("h2-honest")), [1, 0], "a head and data");
    assert_eq!(settled(&kinds("h2-reset")), [3]);
    assert_eq!(settled(&kinds("h2-goaway")), [7]);
    assert_eq!(settled(&kinds("h2-silent")), []);
    assert_eq!(settled(&kinds("h2-push")), [5, 1, 0, 1, 0]);
    assert!(kinds("h2-settings-flood").len() > 10_000);
    assert!(settled(&kinds("h2-ping-flood")).iter().all(|kind| *kind == 6));
    let flood = answer("h2-continuation-flood", "/");
    assert!(
        flood.iter().filter(|frame| frame.0 == 9).count() > 500
            && flood.iter().all(|frame| frame.0 != 9 || frame.1 & 4 == 0)
    );
    // An endless body keeps to the window of 65,535 bytes, of which whole frames fit three times.
    let data: usize = answer("h2-endless", "/").iter().filter(|frame| frame.0 == 0).map(|frame| frame.3).sum();
    assert_eq!(data, 3 * 16_384);
    let overrun: usize = answer("h2-overrun", "/").iter().filter(|frame| frame.0 == 0).map(|frame| frame.3).sum();
    assert!(overrun > 500_000);
    // The path is recognised in its Huffman code too, which is what clients send.
    let mut stream = tls(&host(case("h2-reset")), b"h2", 300).unwrap();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    bytes.extend_from_slice(b"\0\0\x0c\x01\x05\0\0\0\x01\x82\x87\x04\x88\x60\x72\xa4\xb6\x2f\x3a\x69\xa3");
    stream.write_all(&bytes).unwrap();
    assert!(contains(&read_some(stream, 1 << 20).0, b"All is well."));
}
