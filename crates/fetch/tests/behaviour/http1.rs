//! HTTP/1.x as servers speak it: every framing, odd heads, connections used again, and always the exact bytes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common;

use common::{Record, Server, ask, get, read_request};
use herodotus_fetch::{CodingError, Config, Failure, Fetcher, Protocol, Truncated, Validators};
use proptest::prelude::*;
use std::io::Write;
use std::sync::{Arc, Mutex};
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn a_page_comes_with_its_exact_bytes_and_all_that_is_known_of_it() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&asked);
    let server = Server::start(move |_, mut stream| {
        let notes = Arc::clone(&notes);
        async move {
            let request = read_request(&mut stream).await.unwrap();
            notes.lock().unwrap().push(request);
            stream.write_all(b"HTTP/1.1 200 Fine\r\nX: y\r\nContent-Length: 5\r\n\r\nhello").await.unwrap();
        }
    })
    .await;
    let (result, record) = server.get(server.config()).await;
    let exchange = result.unwrap();
    assert_eq!((exchange.status, exchange.protocol, exchange.remote), (200, Protocol::Http11, server.addr));
    assert_eq!((exchange.wire_bytes, exchange.content_bytes, exchange.truncated), (5, 5, None));
    assert!(!exchange.reused && !exchange.body_left && exchange.tls.is_none() && exchange.coding_error.is_none());
    assert_eq!(record.head, b"HTTP/1.1 200 Fine\r\nX: y\r\nContent-Length: 5\r\n\r\n");
    assert_eq!((&record.wire[..], &record.content[..]), (&b"hello"[..], &b"hello"[..]));
    assert_eq!(asked.lock().unwrap().concat(), exchange.request);
    assert!(exchange.request.starts_with(b"GET / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: tester\r\nAccept: "));
}

/// What a server says and closes, what of it is wire and content, and how it ends.
type Case = (&'static [u8], &'static [u8], &'static [u8], Option<Truncated>);

#[tokio::test]
async fn a_body_ends_where_its_framing_says_or_with_a_reason() {
    const DISCONNECT: Option<Truncated> = Some(Truncated::Disconnect);
    const CHUNKING: Option<Truncated> = Some(Truncated::Chunking);
    let cases: &[Case] = &[
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", b"to the end", b"to the end", None),
        (b"HTTP/1.0 200 OK\r\n\r\nold", b"old", b"old", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc", b"abc", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcSURPLUS", b"abc", b"abc", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", b"abc", b"abc", DISCONNECT),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nabc", b"", b"", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", b"abc", b"abc", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\nabc", b"abc", b"abc", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", b"abcd", b"abcd", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc", b"abc", b"abc", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabcd", b"abcd", b"abcd", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: three\r\n\r\nabc", b"abc", b"abc", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc", b"abc", b"abc", DISCONNECT),
        (b"HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\nabc", b"", b"", None),
        (b"HTTP/1.1 304 Not\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\n", b"", b"", None),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nX",
            b"3\r\nabc\r\n0\r\n\r\n",
            b"abc",
            None,
        ),
        (
            b"HTTP/1.1 200 OK\nTransfer-Encoding: CHUNKED\n\n3;x\nabc\n0\nA: b\n\n",
            b"3;x\nabc\n0\nA: b\n\n",
            b"abc",
            None,
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", b"3\r\nabc\r\n0\r\n", b"abc", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", b"9\r\nabc", b"abc", DISCONNECT),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b"3\r\nabc\r\n", b"abc", DISCONNECT),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n", b"3\r\nabcX\r\n", b"abc", CHUNKING),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<html>", b"<html>", b"", CHUNKING),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 1\r\n\r\nab", b"a", b"a", None),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
            b"2\r\nab\r\n0\r\n\r\n",
            b"ab",
            None,
        ),
    ];
    for &(said, wire, content, truncated) in cases {
        let server = Server::closing(said).await;
        let (result, record) = server.get(server.config()).await;
        let text = String::from_utf8_lossy(said);
        assert_eq!(result.as_ref().map_err(Failure::code).map(|exchange| exchange.truncated), Ok(truncated), "{text}");
        assert_eq!(record.wire, wire, "{text}");
        assert_eq!(record.content, content, "{text}");
        assert!(said.starts_with(&[&record.head[..], &record.wire].concat()), "{text}");
        assert_eq!((record.heads, result.unwrap().wire_bytes), (1, wire.len() as u64), "{text}");
    }
}

#[tokio::test]
async fn heads_that_browsers_take_are_taken_and_what_is_no_head_is_named() {
    for (said, status) in [
        (&b"HTTP/1.1 200\r\n\r\n"[..], 200),
        (b"http/1.1 200 OK\n\n", 200),
        (b"HTTP/1.1 200 OK\r\nno colon here\r\nName with blanks : x\r\nFolded: a\r\n b\r\n\r\n", 200),
        (b"HTTP/1.1 200 OK\r\nLatin: caf\xe9\r\nNul: a\0b\r\n\xff\xfe: x\r\n: no name\r\n\r\n", 200),
        (b"\r\nHTTP/1.1 404 Gone missing\r\n\r\n", 404),
        (b"HTTP/2 200\r\n\r\n", 200),
        (b"HTTP/1.1 599 What?\r\n\r\n", 599),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n", 301),
    ] {
        let server = Server::closing(said).await;
        let (result, record) = server.get(server.config()).await;
        let exchange = result.unwrap();
        assert_eq!((exchange.status, exchange.truncated), (status, None), "{:?}", String::from_utf8_lossy(said));
        assert!(said.ends_with(&record.head), "{:?}", String::from_utf8_lossy(said));
    }
    let interim = b"HTTP/1.1 102 Wait\r\n\r\n".repeat(100);
    for (said, code) in [
        (&b"<html>HTTP/0.9 has no head</html>"[..], "not_http"),
        (b"<", "not_http"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not_http"),
        (b"ICY 200 OK\r\n\r\n", "not_http"),
        (b"HTTP/1.1 OK\r\n\r\n", "not_http"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "not_http"),
        (b"HTTP/1.1 099 OK\r\n\r\n", "not_http"),
        (b"HTTP/1.1 101 Switching\r\n\r\nbytes", "not_http"),
        (b"\r\n\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "not_http"),
        (&interim, "not_http"),
        (b"", "closed_before_head"),
        (b"HTTP", "closed_before_head"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n", "closed_before_head"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "closed_before_head"),
    ] {
        let server = Server::closing(said).await;
        let (result, record) = server.get(server.config()).await;
        assert_eq!(result.unwrap_err().code(), code, "{:?}", String::from_utf8_lossy(said));
        assert_eq!(record.heads, 0);
    }
}

#[tokio::test]
async fn validators_are_sent_and_a_304_is_an_answer() {
    let server = Server::start(|_, mut stream| async move {
        while let Some(request) = read_request(&mut stream).await {
            let text = String::from_utf8(request).unwrap();
            let knows = text.contains("\r\nIf-None-Match: \"v1\"\r\nIf-Modified-Since: yesterday\r\n");
            let answer =
                if knows { "HTTP/1.1 304 Same\r\n\r\n" } else { "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx" };
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await;
    let fetcher = Fetcher::new(server.config()).unwrap();
    let mut ask = ask("http://a.test/");
    assert_eq!(fetcher.fetch(&ask, &mut Record::default()).await.unwrap().status, 200);
    ask.validators = Validators { etag: Some("\"v1\"".to_owned()), last_modified: Some("yesterday".to_owned()) };
    let exchange = fetcher.fetch(&ask, &mut Record::default()).await.unwrap();
    assert_eq!((exchange.status, exchange.wire_bytes, exchange.reused), (304, 0, true));
}

#[tokio::test]
async fn a_connection_is_used_again_only_if_nothing_is_in_doubt() {
    for (answer, connections) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 1),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 1),
        ("HTTP/1.1 304 Same\r\nContent-Length: 7\r\n\r\n", 1),
        ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx", 1),
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 3),
        ("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\nx", 3),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx surplus", 3),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 3),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\nX\r\n\r\n", 3),
    ] {
        let server = Server::keeping(answer).await;
        let fetcher = Fetcher::new(server.config()).unwrap();
        for nth in 0..3 {
            let (result, _) = get(&fetcher, &format!("http://a.test/{nth}")).await;
            assert_eq!(result.unwrap().reused, nth > 0 && connections == 1, "{answer}");
        }
        assert_eq!(server.connections(), connections, "{answer}");
    }
    // Other ports and hosts are other servers, even at the same address.
    let server = Server::keeping("HTTP/1.1 304 Same\r\n\r\n").await;
    let fetcher = Fetcher::new(server.config()).unwrap();
    for url in ["http://a.test/", "http://b.test/", "http://a.test:81/", "http://a.test:80/"] {
        get(&fetcher, url).await.0.unwrap();
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn a_connection_that_went_stale_is_replaced_but_an_answer_is_never_asked_for_twice() {
    // The first connection answers once, reads the next request and then closes as told.
    for (begun, outcome) in
        [("", Ok(200)), ("H", Err("closed_before_head")), ("HTTP/1.1 200 OK\r\n", Err("closed_before_head"))]
    {
        let server = Server::start(move |nth, mut stream| async move {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
            read_request(&mut stream).await;
            stream.write_all(answer).await.unwrap();
            read_request(&mut stream).await;
            let said = if nth == 0 { begun.as_bytes() } else { answer };
            stream.write_all(said).await.unwrap();
        })
        .await;
        let fetcher = Fetcher::new(server.config()).unwrap();
        assert_eq!(get(&fetcher, "http://a.test/").await.0.unwrap().status, 200);
        let (result, record) = get(&fetcher, "http://a.test/").await;
        assert_eq!(result.as_ref().map(|exchange| exchange.status).map_err(Failure::code), outcome, "{begun}");
        assert_eq!(record.heads, usize::from(outcome.is_ok()), "{begun}");
        assert_eq!(server.connections(), if outcome.is_ok() { 2 } else { 1 }, "{begun}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_wanted_is_left_and_a_small_one_costs_no_connection() {
    let chunked =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n{}\r\n0\r\n\r\n", "x".repeat(0x4000));
    let large = format!("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{}", "x".repeat(1_000_000));
    for (answer, left, connections) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true, 1),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, 1),
        (&chunked, true, 1),
        (&large, true, 2),
    ] {
        let server = Server::keeping(answer).await;
        let fetcher = Fetcher::new(server.config()).unwrap();
        for _ in 0..2 {
            let mut record = Record { leaves: true, ..Record::default() };
            let exchange = fetcher.fetch(&ask("http://a.test/"), &mut record).await.unwrap();
            assert_eq!((exchange.body_left, exchange.truncated, exchange.wire_bytes), (left, None, 0));
            assert!(record.wire.is_empty() && record.content.is_empty());
        }
        assert_eq!(server.connections(), connections);
    }
}

#[tokio::test]
async fn content_is_decoded_and_a_broken_coding_costs_only_the_content() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&b"a page of text. ".repeat(5000)).unwrap();
    let gzip = gzip.finish().unwrap();
    let said = |coding: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    let broken = [&gzip[..gzip.len() / 2], &[0xff; 300]].concat();
    for (coding, body, content_len, error) in [
        ("gzip", &gzip[..], 80_000, None),
        ("identity", &gzip, gzip.len(), None),
        ("gzip", &gzip[..gzip.len() - 9], 80_000, Some(CodingError::EndsEarly("gzip"))),
        ("gzip", b"<html>", 0, Some(CodingError::Broken("gzip"))),
        ("gzip", b"", 0, None),
        ("compress", &gzip, 0, Some(CodingError::Unknown("compress".to_owned()))),
        ("gzip, gzip, gzip, gzip", &gzip, 0, Some(CodingError::TooMany)),
    ] {
        let server = Server::keeping(said(coding, body)).await;
        let (result, record) = server.get(server.config()).await;
        let exchange = result.unwrap();
        assert_eq!((exchange.truncated, exchange.coding_error), (None, error), "{coding}");
        assert_eq!((&record.wire[..], record.content.len()), (body, content_len), "{coding}");
    }
    let server = Server::keeping(said("gzip", &broken)).await;
    let (result, record) = server.get(server.config()).await;
    assert_eq!(result.unwrap().coding_error, Some(CodingError::Broken("gzip")));
    assert_eq!(record.wire, broken);
    // Nobody asks for content: nothing is decoded, so nothing is broken.
    let fetcher = Fetcher::new(server.config()).unwrap();
    let mut record = Record { wants_no_content: true, ..Record::default() };
    let exchange = fetcher.fetch(&ask("http://a.test/"), &mut record).await.unwrap();
    assert_eq!((exchange.coding_error, record.wire), (None, broken));
    // A coding of the transfer counts like one of the content.
    let chunked = [
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n{:x}\r\n", gzip.len()).as_bytes(),
        &gzip,
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    let server = Server::keeping(chunked).await;
    assert_eq!(server.get(server.config()).await.1.content.len(), 80_000);
}

#[tokio::test]
async fn a_fetch_that_is_given_up_closes_its_connection() {
    let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |_, mut stream| {
        let said = said.clone();
        async move {
            read_request(&mut stream).await;
            said.send("asked").unwrap();
            assert_eq!(read_request(&mut stream).await, None);
            said.send("left").unwrap();
        }
    })
    .await;
    let fetcher = Fetcher::new(server.config()).unwrap();
    let waiting = tokio::spawn(async move { get(&fetcher, "http://a.test/").await.0.map(|_| ()) });
    assert_eq!(heard.recv().await, Some("asked"));
    waiting.abort();
    assert_eq!(heard.recv().await, Some("left"));
}

#[derive(Clone, Debug)]
struct Answer {
    body: Vec<u8>,
    /// Sizes of chunks; none for a Content-Length.
    chunks: Vec<usize>,
    interim: bool,
    bare_line_feeds: bool,
}

impl Answer {
    /// Interim heads, head and body.
    fn bytes(&self) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let end = if self.bare_line_feeds { "\n" } else { "\r\n" };
        let interim = if self.interim { format!("HTTP/1.1 103 Early{end}A: b{end}{end}") } else { String::new() };
        let framing = if self.chunks.is_empty() {
            format!("Content-Length: {}", self.body.len())
        } else {
            "Transfer-Encoding: chunked".to_owned()
        };
        let head = format!("HTTP/1.1 200 OK{end}X-Long: {}{end}{framing}{end}{end}", "h".repeat(self.body.len() % 300));
        let mut wire = Vec::new();
        if self.chunks.is_empty() {
            wire.extend_from_slice(&self.body);
        } else {
            let mut rest = &self.body[..];
            for size in self.chunks.iter().cycle() {
                let (chunk, after) = rest.split_at((*size).min(rest.len()));
                if chunk.is_empty() {
                    break;
                }
                wire.extend_from_slice(format!("{:x}{end}", chunk.len()).as_bytes());
                wire.extend_from_slice(chunk);
                wire.extend_from_slice(end.as_bytes());
                rest = after;
            }
            wire.extend_from_slice(format!("0{end}{end}").as_bytes());
        }
        (interim.into_bytes(), head.into_bytes(), wire)
    }
}

fn answers() -> impl Strategy<Value = Answer> {
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        (0usize..200_000).prop_map(|len| (0..len).map(|nth| (nth * 7 % 251) as u8).collect()),
    ];
    let chunks = prop::collection::vec(1usize..9000, 0..4);
    (body, chunks, any::<bool>(), any::<bool>()).prop_map(|(body, chunks, interim, bare_line_feeds)| Answer {
        body,
        chunks,
        interim,
        bare_line_feeds,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// However the bytes are framed and however they arrive, over one connection.
    #[test]
    fn what_is_received_is_what_was_sent(
        sent in prop::collection::vec(answers(), 1..6), pieces in prop::collection::vec(1usize..40_000, 1..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let script = sent.clone();
            let server = Server::start(move |_, mut stream| {
                let (script, pieces) = (script.clone(), pieces.clone());
                async move {
                    for answer in script {
                        read_request(&mut stream).await;
                        let (interim, head, wire) = answer.bytes();
                        let bytes = [interim, head, wire].concat();
                        let mut rest = &bytes[..];
                        for len in pieces.iter().cycle() {
                            let (piece, after) = rest.split_at((*len).min(rest.len()));
                            stream.write_all(piece).await.unwrap();
                            // The client reads what is there before more is written.
                            tokio::task::yield_now().await;
                            rest = after;
                            if rest.is_empty() {
                                break;
                            }
                        }
                    }
                    read_request(&mut stream).await;
                }
            })
            .await;
            let fetcher = Fetcher::new(Config { http2: false, ..server.config() }).unwrap();
            for answer in &sent {
                let (result, record) = get(&fetcher, "http://a.test/").await;
                let (_, head, wire) = answer.bytes();
                let exchange = result.unwrap();
                assert_eq!((exchange.status, exchange.truncated), (200, None));
                assert!(record.head == head && record.wire == wire && record.content == answer.body);
            }
            assert_eq!(server.connections(), 1);
        });
    }
}
