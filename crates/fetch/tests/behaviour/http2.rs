//! HTTP/2: the same answers as over HTTP/1.1, one connection for many, and nothing gained by floods and resets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::authority;
use crate::common;

use authority::Authority;
use bytes::Bytes;
use common::{Record, Server, ask, get};
use h2::Reason;
use h2::server::SendResponse;
use herodotus_fetch::{Caps, Config, Deadlines, Exchange, Failure, Fetcher, H2Reason, Protocol, Roots, Truncated};
use http::{Request, Response};
use std::future::Future;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// A server of HTTP/2 that answers as told, and a client that believes it.
async fn serve<F, Fut>(answer: F) -> (Server, Config)
where
    F: Fn(Request<h2::RecvStream>, SendResponse<Bytes>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let answer = Arc::new(answer);
    serve_raw(move |stream| {
        let answer = Arc::clone(&answer);
        async move {
            let Ok(mut connection) = h2::server::handshake(stream).await else { return };
            let mut running = tokio::task::JoinSet::new();
            while let Some(Ok((request, respond))) = connection.accept().await {
                running.spawn(answer(request, respond));
            }
        }
    })
    .await
}

/// The same, byte by byte.
async fn serve_raw<F, Fut>(speak: F) -> (Server, Config)
where
    F: Fn(TlsStream<TcpStream>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let authority = Authority::new("friend");
    let acceptor = authority.acceptor("a.test", &["h2", "http/1.1"], |_| {});
    let speak = Arc::new(speak);
    let server = Server::start(move |_, stream| {
        let (acceptor, speak) = (acceptor.clone(), Arc::clone(&speak));
        async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                speak(stream).await;
            }
        }
    })
    .await;
    let config = Config { roots: Roots::Only(vec![authority.root.clone()]), ..server.config() };
    (server, config)
}

async fn fetch(config: Config) -> (Result<Exchange, Failure>, Record) {
    get(&Fetcher::new(config).unwrap(), "https://a.test/").await
}

fn ok() -> Response<()> {
    Response::builder().header("x-one", "1").header("content-type", "text/plain").body(()).unwrap()
}

#[tokio::test]
async fn an_answer_looks_as_over_http_1_and_says_that_it_was_not() {
    let (_server, config) = serve(|request, mut respond| async move {
        assert_eq!(request.uri(), "https://a.test/path?q=%20|");
        assert_eq!(request.headers()["user-agent"], "tester");
        assert_eq!(request.headers()["if-none-match"], "\"v\"");
        assert!(!request.headers().contains_key("host"));
        let mut send = respond.send_response(ok(), false).unwrap();
        send.send_data("hello ".into(), false).unwrap();
        send.send_data("world".into(), true).unwrap();
    })
    .await;
    let mut ask = ask("https://a.test/path?q= |");
    ask.validators.etag = Some("\"v\"".to_owned());
    let mut record = Record::default();
    let exchange = Fetcher::new(config).unwrap().fetch(&ask, &mut record).await.unwrap();
    assert_eq!((exchange.status, exchange.protocol, exchange.truncated), (200, Protocol::Http2, None));
    assert!(exchange.request.starts_with(b"GET /path?q=%20| HTTP/1.1\r\nHost: a.test\r\n") && exchange.tls.is_some());
    assert_eq!(record.head, b"HTTP/1.1 200 OK\r\nx-one: 1\r\ncontent-type: text/plain\r\n\r\n");
    assert_eq!((&record.wire[..], &record.content[..]), (&b"hello world"[..], &b"hello world"[..]));
}

#[tokio::test]
async fn one_connection_serves_many_at_once_and_large_bodies_flow() {
    let (server, config) = serve(|_, mut respond| async move {
        let mut send = respond.send_response(ok(), false).unwrap();
        let mut rest = Bytes::from(vec![b'x'; 5_000_000]);
        while !rest.is_empty() {
            send.reserve_capacity(rest.len());
            let Some(Ok(len)) = std::future::poll_fn(|cx| send.poll_capacity(cx)).await else { return };
            send.send_data(rest.split_to(len.min(rest.len())), rest.is_empty()).unwrap();
        }
    })
    .await;
    let fetcher = Fetcher::new(config).unwrap();
    assert_eq!(get(&fetcher, "https://a.test/").await.0.unwrap().wire_bytes, 5_000_000);
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let fetcher = fetcher.clone();
        running.spawn(async move { get(&fetcher, "https://a.test/").await.0.unwrap() });
    }
    for exchange in running.join_all().await {
        assert_eq!((exchange.wire_bytes, exchange.truncated, exchange.reused), (5_000_000, None, true));
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn codings_and_caps_hold_as_over_http_1() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&vec![0; 4_000_000]).unwrap();
    let gzip = Bytes::from(gzip.finish().unwrap());
    let body = gzip.clone();
    let (_server, config) = serve(move |_, mut respond| {
        let body = body.clone();
        async move {
            let response = Response::builder().header("content-encoding", "gzip").body(()).unwrap();
            respond.send_response(response, false).unwrap().send_data(body, true).unwrap();
        }
    })
    .await;
    let (result, record) = fetch(config.clone()).await;
    assert_eq!((result.unwrap().content_bytes, &record.wire), (4_000_000, &gzip.to_vec()));
    let caps = Caps { decoded_bytes: 1_000_000, ..Caps::default() };
    let (result, _) = fetch(Config { caps, ..config.clone() }).await;
    assert_eq!(result.unwrap().truncated, Some(Truncated::Decoded { cap: 1_000_000 }));
    let caps = Caps { wire_bytes: 1000, ..Caps::default() };
    let (result, record) = fetch(Config { caps, ..config.clone() }).await;
    assert_eq!((result.unwrap().truncated, record.wire.len()), (Some(Truncated::Length { cap: 1000 }), 1000));
    let mut record = Record { leaves: true, ..Record::default() };
    let exchange = Fetcher::new(config).unwrap().fetch(&ask("https://a.test/"), &mut record).await.unwrap();
    assert!(exchange.body_left && exchange.truncated.is_none() && record.wire.is_empty());
}

#[tokio::test]
async fn resets_and_farewells_are_named() {
    let (_server, config) = serve(|_, mut respond| async move { respond.send_reset(Reason::INTERNAL_ERROR) }).await;
    assert!(matches!(fetch(config).await.0, Err(Failure::Http2(H2Reason::Reset(2)))));

    let (_server, config) = serve(|_, mut respond| async move {
        let mut send = respond.send_response(ok(), false).unwrap();
        send.send_data("half".into(), false).unwrap();
        // Lets the data go before the reset, which would overtake them.
        tokio::time::sleep(Duration::from_millis(20)).await;
        send.send_reset(Reason::CANCEL);
    })
    .await;
    let (result, record) = fetch(config).await;
    assert_eq!(result.unwrap().truncated, Some(Truncated::Reset(H2Reason::Reset(8))));
    assert_eq!(record.wire, b"half");

    let (_server, config) = serve_raw(|mut stream| async move {
        let farewell = [frame(SETTINGS, 0, 0, b""), frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11])].concat();
        stream.write_all(&farewell).await.unwrap();
        stream.flush().await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let (result, _) = fetch(config).await;
    assert!(matches!(result, Err(Failure::Http2(H2Reason::GoAway(11)))), "{result:?}");

    let (_server, config) = serve_raw(|stream| async move {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let _ = connection.accept().await;
    })
    .await;
    assert_eq!(fetch(config).await.0.unwrap_err().code(), "h2_closed");
}

#[tokio::test]
async fn a_connection_that_the_server_left_is_replaced() {
    let (server, config) = serve_raw(|stream| async move {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let (_, mut respond) = connection.accept().await.unwrap().unwrap();
        respond.send_response(ok(), true).unwrap();
        connection.graceful_shutdown();
        while connection.accept().await.is_some() {}
    })
    .await;
    let fetcher = Fetcher::new(config).unwrap();
    for _ in 0..3 {
        assert_eq!(get(&fetcher, "https://a.test/").await.0.unwrap().status, 200);
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn silence_is_given_up_as_over_http_1() {
    let short = Duration::from_millis(40);
    let (_server, config) = serve(|_, respond| async move {
        let _respond = respond;
        std::future::pending::<()>().await;
    })
    .await;
    let deadlines = Deadlines { first_byte: short, ..Deadlines::default() };
    assert!(matches!(fetch(Config { deadlines, ..config }).await.0, Err(Failure::FirstByteTimeout)));
    let (_server, config) = serve(|_, mut respond| async move {
        let _send = respond.send_response(ok(), false).unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let deadlines = Deadlines { idle: short, ..Deadlines::default() };
    assert_eq!(fetch(Config { deadlines, ..config }).await.0.unwrap().truncated, Some(Truncated::Idle));
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

/// Says something, and then the same again and again, reading what the client says to it.
async fn floods(said: Vec<u8>, flood: Vec<u8>) -> (Server, Config) {
    let (said, flood) = (Arc::new(said), Arc::new(flood.repeat((1 << 16) / flood.len())));
    serve_raw(move |stream| {
        let (said, flood) = (Arc::clone(&said), Arc::clone(&flood));
        async move {
            let (mut read, mut write) = tokio::io::split(stream);
            let mut heard = [0; 24];
            read.read_exact(&mut heard).await.unwrap();
            let reading = tokio::spawn(async move { while matches!(read.read(&mut [0; 4096]).await, Ok(1..)) {} });
            write.write_all(&[&frame(SETTINGS, 0, 0, b"")[..], &said].concat()).await.unwrap();
            while write.write_all(&flood).await.is_ok() && write.flush().await.is_ok() {}
            reading.abort();
        }
    })
    .await
}

#[tokio::test]
async fn floods_are_cut_off_long_before_any_deadline() {
    // `:status: 200` and `:status: 100`, in HPACK.
    let (ok, interim) = ([0x88], [0x08, 3, b'1', b'0', b'0']);
    let head = frame(HEADERS, END_HEADERS, 1, &ok);
    for (name, said, flood) in [
        ("ping", Vec::new(), frame(PING, 0, 0, &[7; 8])),
        ("settings", Vec::new(), frame(SETTINGS, 0, 0, b"")),
        ("window updates", Vec::new(), frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        ("unknown frames", Vec::new(), frame(77, 0, 0, &[0; 100])),
        ("continuation", frame(HEADERS, 0, 1, b""), frame(CONTINUATION, 0, 1, b"")),
        ("heads without end", frame(HEADERS, 0, 1, &ok), frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b")),
        ("interim heads", Vec::new(), frame(HEADERS, END_HEADERS, 1, &interim)),
        ("resets of nothing", Vec::new(), frame(RST_STREAM, 0, 3, &[0, 0, 0, 8])),
        ("ping in a body", head.clone(), frame(PING, 0, 0, &[7; 8])),
        ("empty data", head.clone(), frame(DATA, 0, 1, b"")),
        ("padding", head, frame(DATA, 8, 1, &[[255].as_slice(), &[0; 255]].concat())),
    ] {
        let (server, config) = floods(said, flood).await;
        let (result, record) = fetch(config).await;
        // Deadlines are half a minute away and more; what ends this must be the counting.
        match &result {
            Err(failure) => assert!(
                matches!(
                    failure,
                    Failure::Http2(H2Reason::Flood | H2Reason::Protocol(_)) | Failure::HeadTooLarge { .. }
                ),
                "{name}: {failure:?}"
            ),
            Ok(exchange) => assert!(
                matches!(exchange.truncated, Some(Truncated::Reset(H2Reason::Flood | H2Reason::Protocol(_)))),
                "{name}: {exchange:?}"
            ),
        }
        assert!(record.wire.is_empty(), "{name}");
        assert_eq!(server.connections(), 1, "{name}");
    }
}

#[tokio::test]
async fn heads_without_measure_are_refused() {
    let (_server, config) = serve(|_, mut respond| async move {
        let mut response = Response::builder();
        for nth in 0..300 {
            response = response.header(format!("x-{nth}"), "y".repeat(400));
        }
        let _ = respond.send_response(response.body(()).unwrap(), true);
    })
    .await;
    let caps = Caps { header_count: 100, ..Caps::default() };
    let (result, _) = fetch(Config { caps, ..config.clone() }).await;
    assert!(matches!(result, Err(Failure::TooManyHeaders { cap: 100 })), "{result:?}");
    let caps = Caps { head_bytes: 100_000, ..Caps::default() };
    let (result, _) = fetch(Config { caps, ..config.clone() }).await;
    assert!(matches!(result, Err(Failure::HeadTooLarge { cap: 100_000 })), "{result:?}");
    assert_eq!(fetch(config).await.0.unwrap().status, 200);
}

#[tokio::test]
async fn nonsense_is_an_outcome() {
    for said in [&b"HTTP/1.1 200 OK\r\n\r\n"[..], b"\0\0\0", &[0xff; 100], &[0; 100]] {
        let (_server, config) = serve_raw(move |mut stream| async move {
            stream.write_all(said).await.unwrap();
            stream.shutdown().await.unwrap();
            let _ = stream.read_to_end(&mut Vec::new()).await;
        })
        .await;
        let failure = fetch(config).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Http2(_)), "{failure:?}");
    }
}

#[tokio::test]
async fn without_http2_in_the_configuration_it_is_not_offered() {
    let (_server, config) = serve_raw(|mut stream| async move {
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        common::read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        stream.shutdown().await.unwrap();
    })
    .await;
    let (result, _) = fetch(Config { http2: false, ..config }).await;
    assert_eq!(result.unwrap().protocol, Protocol::Http11);
}
