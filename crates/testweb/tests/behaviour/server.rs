//! The web as it is served: byte for byte, to polite, impolite and absent visitors.

#![allow(clippy::unwrap_used)]

use herodotus_testweb::{Config, Server, Web, get, get_with};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

fn server() -> Server {
    Server::start(Web::new(Config { hosts: 3, pages_per_host: 40, ..Config::default() })).unwrap()
}

fn split(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap();
    rest.split_at(rest.find('/').unwrap())
}

/// Sends bytes, says that no more will come, and reads all that comes back.
fn say(server: &Server, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

#[test]
fn answers_are_byte_for_byte_what_the_web_says() {
    let server = server();
    let mut asked = 0;
    for round in [0, 6] {
        server.set_round(round);
        let urls: Vec<String> = server.web().urls(0).collect();
        for url in urls {
            let (host, path) = split(&url);
            let exchange = get(server.addr(), host, path).unwrap();
            let expected = server.web().response(host, path, round).unwrap();
            assert_eq!(exchange.response_head, expected.head(), "{url}");
            assert_eq!(exchange.body, expected.body, "{url}");
            assert_eq!((exchange.status(), exchange.header("etag")), (expected.status, expected.header("ETag")));
            asked += 1;
        }
    }
    assert_eq!((server.requests(), server.round()), (asked, 6));
}

#[test]
fn one_connection_serves_many_requests_even_when_they_arrive_together() {
    let server = server();
    let hosts: Vec<String> = server.web().hosts().collect();
    let mut requests = String::new();
    let mut expected = Vec::new();
    for host in &hosts {
        requests.push_str(&format!("GET / HTTP/1.1\r\nHost: {}:8080\r\n\r\n", host.to_uppercase()));
        requests.push_str(&format!("GET http://{host}/robots.txt HTTP/1.1\r\nHost: proxy.test\r\n\r\n"));
        requests.push_str(&format!("HEAD / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let (front, robots) = (server.web().response(host, "/", 0), server.web().response(host, "/robots.txt", 0));
        let (front, robots) = (front.unwrap(), robots.unwrap());
        let pieces = [front.head(), front.body.clone(), robots.head(), robots.body.clone(), front.head()];
        expected.extend(pieces.concat());
    }
    assert_eq!(say(&server, requests.as_bytes()), expected);
    assert_eq!(server.requests(), 9);
}

#[test]
fn who_has_it_already_is_told_so() {
    let server = server();
    let host = server.web().hosts().next().unwrap();
    let first = get(server.addr(), &host, "/").unwrap();
    let (tag, date) = (first.header("ETag").unwrap(), first.header("Last-Modified").unwrap());
    let list = format!("\"other\", W/{tag}");
    for known in [("If-None-Match", tag), ("If-None-Match", &list), ("If-None-Match", "*"), ("If-Modified-Since", date)]
    {
        let again = get_with(server.addr(), &host, "/", &[known]).unwrap();
        assert_eq!((again.status(), again.body.len()), (304, 0), "{known:?}");
        assert_eq!((again.header("ETag"), again.header("Content-Length")), (Some(tag), None));
    }
    // A tag that does not match outweighs a date that does.
    let both = [("If-None-Match", "\"other\""), ("If-Modified-Since", date)];
    assert_eq!(get_with(server.addr(), &host, "/", &both).unwrap().status(), 200);
    assert_eq!(get_with(server.addr(), &host, "/lost/a", &[("If-None-Match", "*")]).unwrap().status(), 404);
    server.set_round(1);
    for known in [("If-None-Match", tag), ("If-Modified-Since", date), ("If-Modified-Since", "soon")] {
        assert_eq!(get_with(server.addr(), &host, "/", &[known]).unwrap().status(), 200, "{known:?}");
    }
}

#[test]
fn what_is_not_a_request_is_refused_and_harms_nobody() {
    let server = server();
    let host = server.web().hosts().next().unwrap();
    let long = format!("GET / HTTP/1.1\r\nHost: {host}\r\nA: {}\r\n\r\n", "a".repeat(50_000));
    let unknown = "GET / HTTP/1.1\r\nHost: elsewhere.test\r\n\r\n";
    let post = format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\n\r\nhello");
    let stuffed = format!("GET / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    for (said, status) in [
        (b"hello\r\n\r\n".as_slice(), "400"),
        (b"GET / HTTP/1.1\r\n\r\n", "400"),
        (b"GET / HTT", "400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400"),
        (b"\0\0\0\0", "400"),
        (b"GET / HTTP/3.0\r\nHost: x\r\n\r\n", "505"),
        (long.as_bytes(), "431"),
        (unknown.as_bytes(), "421"),
        (post.as_bytes(), "405"),
        (stuffed.as_bytes(), "400"),
    ] {
        let answer = say(&server, said);
        let line = format!("HTTP/1.1 {status} ");
        let (said, heard) = (String::from_utf8_lossy(said), String::from_utf8_lossy(&answer));
        assert!(heard.starts_with(&line), "{said:.60} was answered with {heard:.200}");
    }
    assert_eq!(say(&server, b""), b"");
    assert_eq!(get(server.addr(), &host, "/").unwrap().status(), 200);
}

#[test]
fn silent_slow_and_vanished_visitors_do_not_keep_the_door_open() {
    let server = server();
    let host = server.web().hosts().next().unwrap();
    let mut kept = Vec::new();
    for visitor in 0..60 {
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        match visitor % 4 {
            0 => {}
            1 => stream.write_all(b"GET / HT").unwrap(),
            // Asks for more than the buffers hold and takes none of it.
            2 => {
                let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").repeat(1000);
                stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
                let _ = stream.write_all(request.as_bytes());
            }
            _ => {
                stream.write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
                continue; // and is gone before the answer
            }
        }
        kept.push(stream);
    }
    assert_eq!(get(server.addr(), &host, "/").unwrap().status(), 200);
    let (addr, start) = (server.addr(), Instant::now());
    drop(server);
    assert!(start.elapsed() < Duration::from_secs(4), "closing took {:?}", start.elapsed());
    assert!(get(addr, &host, "/").is_err());
    drop(kept);
}

#[test]
fn more_visitors_than_fit_are_served_in_turn() {
    let server = server();
    let host = server.web().hosts().next().unwrap();
    let idle: Vec<TcpStream> = (0..490).map_while(|_| TcpStream::connect(server.addr()).ok()).collect();
    assert_eq!(idle.len(), 490);
    let waiting = std::thread::scope(|scope| {
        let ask = scope.spawn(|| get(server.addr(), &host, "/").unwrap().status());
        std::thread::sleep(Duration::from_millis(100));
        drop(idle);
        ask.join().unwrap()
    });
    assert_eq!(waiting, 200);
}

#[test]
fn many_visitors_at_once_all_get_the_truth() {
    let server = server();
    let hosts: Vec<String> = server.web().hosts().collect();
    std::thread::scope(|scope| {
        for visitor in 0..16 {
            let (server, host) = (&server, &hosts[visitor % hosts.len()]);
            scope.spawn(move || {
                for path in server.web().pages(host).take(20) {
                    let exchange = get(server.addr(), host, &path).unwrap();
                    assert_eq!(exchange.body, server.web().response(host, &path, 0).unwrap().body);
                }
            });
        }
    });
    assert_eq!(server.requests(), 16 * 20);
}

#[test]
fn the_visitor_sends_only_whole_requests() {
    let server = server();
    for (host, path) in [("a b", "/"), ("x", "/\r\nEvil: 1"), ("", "/"), ("x", ""), ("x", "/ ")] {
        assert_eq!(get(server.addr(), host, path).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }
    assert_eq!(server.requests(), 0);
}
