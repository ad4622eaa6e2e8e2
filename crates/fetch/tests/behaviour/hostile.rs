//! Servers that mean harm or are broken: each gets its own named outcome, in bounded time and memory, and leaves other
//! hosts alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common;

use common::{Record, Server, ask, get, read_request};
use herodotus_fetch::{
    Addresses, Caps, Config, ConnectTo, Deadlines, Failure, Fetcher, MinRate, NotGlobal, Resolve, Truncated,
};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;

const SHORT: Duration = Duration::from_millis(40);

fn deadlines(change: impl FnOnce(&mut Deadlines)) -> Deadlines {
    let mut deadlines = Deadlines::default();
    change(&mut deadlines);
    deadlines
}

/// Says something, then falls silent with the connection open.
async fn silent_after(said: &'static [u8]) -> Server {
    Server::start(move |_, mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(said).await.unwrap();
        read_request(&mut stream).await;
    })
    .await
}

/// Says something, and then more without end, with a pause between.
async fn drips(said: &'static [u8], drip: &'static [u8]) -> Server {
    Server::start(move |_, mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(said).await.unwrap();
        while stream.write_all(drip).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
}

/// Says something, and then more without end, as fast as it is taken.
async fn floods(said: &'static [u8], flood: Vec<u8>) -> Server {
    let flood = Arc::new(flood);
    Server::start(move |_, mut stream| {
        let flood = Arc::clone(&flood);
        async move {
            read_request(&mut stream).await;
            stream.write_all(said).await.unwrap();
            while stream.write_all(&flood).await.is_ok() {}
        }
    })
    .await
}

#[tokio::test]
async fn a_head_that_does_not_come_in_time_is_given_up() {
    for said in [&b""[..], b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 100 Continue\r\n\r\n"] {
        let server = silent_after(said).await;
        let config = Config { deadlines: deadlines(|all| all.first_byte = SHORT), ..server.config() };
        assert!(matches!(server.get(config).await.0, Err(Failure::FirstByteTimeout)));
    }
    // A byte now and then does not help.
    let server = drips(b"HTTP/1.1 200 OK\r\nX: ", b"x").await;
    let config = Config { deadlines: deadlines(|all| all.first_byte = SHORT), ..server.config() };
    assert!(matches!(server.get(config).await.0, Err(Failure::FirstByteTimeout)));
    // Nor does all the time in the world for the head, if the whole is limited.
    let config = Config { deadlines: deadlines(|all| all.whole = SHORT), ..server.config() };
    assert!(matches!(server.get(config).await.0, Err(Failure::FirstByteTimeout)));
}

#[tokio::test]
async fn a_body_that_falls_silent_drips_or_never_ends_is_cut_and_kept() {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbegun";
    let server = silent_after(HEAD).await;
    let config = Config { deadlines: deadlines(|all| all.idle = SHORT), ..server.config() };
    let (result, record) = server.get(config).await;
    assert_eq!((result.unwrap().truncated, &record.wire[..]), (Some(Truncated::Idle), &b"begun"[..]));

    let server = drips(HEAD, b"x").await;
    let rate_min = MinRate { bytes_per_s: 1_000_000, after: SHORT };
    let (result, record) = server.get(Config { rate_min, ..server.config() }).await;
    assert_eq!(result.unwrap().truncated, Some(Truncated::Slow { bytes_per_s: 1_000_000 }));
    assert!(record.wire.starts_with(b"begunx"));

    let config = Config { deadlines: deadlines(|all| all.whole = 4 * SHORT), ..server.config() };
    let (result, record) = server.get(config).await;
    assert_eq!(result.unwrap().truncated, Some(Truncated::Time));
    assert!(record.wire.starts_with(b"begun"));

    // So fast that there is never a moment to wait.
    let server = floods(b"HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 1 << 20]).await;
    // No cap may be met first, however fast the machine is.
    let caps = Caps { wire_bytes: u64::MAX, decoded_bytes: u64::MAX, ..Caps::default() };
    let config = Config { deadlines: deadlines(|all| all.whole = 4 * SHORT), caps, ..server.config() };
    let mut record = Record { forgets: true, ..Record::default() };
    let exchange = Fetcher::new(config).unwrap().fetch(&ask("http://a.test/"), &mut record).await.unwrap();
    assert_eq!(exchange.truncated, Some(Truncated::Time));
}

#[tokio::test]
async fn bytes_beyond_the_caps_are_not_taken() {
    let server = floods(b"HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 10_000]).await;
    let caps = Caps { wire_bytes: 123_456, ..Caps::default() };
    let (result, record) = server.get(Config { caps, ..server.config() }).await;
    assert_eq!(result.unwrap().truncated, Some(Truncated::Length { cap: 123_456 }));
    assert_eq!((record.wire.len(), record.content.len()), (123_456, 123_456));
    // A body of exactly that size is whole.
    let server = Server::keeping(format!("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "x".repeat(9))).await;
    for (wire_bytes, truncated) in [(9, None), (8, Some(Truncated::Length { cap: 8 }))] {
        let caps = Caps { wire_bytes, ..Caps::default() };
        assert_eq!(server.get(Config { caps, ..server.config() }).await.0.unwrap().truncated, truncated);
    }
}

#[tokio::test]
async fn heads_without_measure_are_refused() {
    let server = floods(b"HTTP/1.1 200 OK\r\n", b"X-Header: value\r\n".repeat(1000)).await;
    assert_eq!(server.get(server.config()).await.0.unwrap_err().code(), "head_too_large");
    let server = floods(b"HTTP/1.1 200 OK\r\nX: ", vec![b'x'; 10_000]).await;
    assert_eq!(server.get(server.config()).await.0.unwrap_err().code(), "head_too_large");
    let caps = Caps { head_bytes: 100, ..Caps::default() };
    let server = Server::keeping(format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(100))).await;
    assert!(matches!(server.get(Config { caps, ..server.config() }).await.0, Err(Failure::HeadTooLarge { cap: 100 })));
    let server = Server::keeping(format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(100_000))).await;
    assert!(matches!(server.get(server.config()).await.0, Err(Failure::TooManyHeaders { cap: 2000 })));
}

#[tokio::test]
async fn bombs_are_defused_and_their_wire_kept() {
    let zeros = vec![0; 32 << 20];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&zeros).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(&zeros).unwrap();
    let mut brotli = Vec::new();
    brotli::CompressorWriter::new(&mut brotli, 1 << 16, 5, 22).write_all(&zeros).unwrap();
    let mut twice = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    twice.write_all(&gzip).unwrap();
    for (coding, body) in [
        ("gzip", gzip),
        ("deflate", zlib.finish().unwrap()),
        ("br", brotli),
        ("zstd", zstd::encode_all(&zeros[..], 3).unwrap()),
        ("gzip, gzip", twice.finish().unwrap()),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n", body.len());
        let server = Server::keeping([head.as_bytes(), &body].concat()).await;
        let caps = Caps { decoded_bytes: 1_000_001, ..Caps::default() };
        let (result, record) = server.get(Config { caps, ..server.config() }).await;
        let exchange = result.unwrap();
        assert_eq!(exchange.truncated, Some(Truncated::Decoded { cap: 1_000_001 }), "{coding}");
        assert_eq!((exchange.content_bytes, record.content.len()), (1_000_001, 1_000_001), "{coding}");
        assert!(body.starts_with(&record.wire) && !record.wire.is_empty(), "{coding}");
        assert!(record.piece_len_max <= 64 << 10, "{coding}");
    }
}

#[tokio::test]
async fn a_full_disk_ends_the_fetch_and_says_so() {
    let server = floods(b"HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 10_000]).await;
    let mut record = Record { disk_bytes: Some(500_000), ..Record::default() };
    let result = Fetcher::new(server.config()).unwrap().fetch(&ask("http://a.test/"), &mut record).await;
    let Err(Failure::Sink(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(record.wire.len() <= 500_000);
}

#[tokio::test]
async fn nothing_but_the_open_internet_is_dialled_unless_allowed() {
    let server = Server::keeping("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let port = server.addr.port();
    let strict = Fetcher::new(Config { allow_private: Vec::new(), ..server.config() }).unwrap();
    for host in
        ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]"]
    {
        let (result, _) = get(&strict, &format!("http://{host}:{port}/")).await;
        assert!(matches!(result, Err(Failure::Forbidden { why: NotGlobal::Loopback, .. })), "{host}: {result:?}");
    }
    // A host that the configuration sends somewhere is judged by where it is sent.
    assert_eq!(get(&strict, "http://a.test/").await.0.unwrap_err().code(), "forbidden_address");
    for (host, code) in [
        ("10.0.0.1", "forbidden_address"),
        ("169.254.169.254", "forbidden_address"),
        ("100.64.0.1", "forbidden_address"),
        ("0.0.0.0", "forbidden_address"),
        ("[fe80::1]", "forbidden_address"),
        ("a.test:25", "forbidden_port"),
        ("a.test:6667", "forbidden_port"),
    ] {
        let (result, _) = get(&strict, &format!("http://{host}/")).await;
        let failure = result.unwrap_err();
        assert_eq!(failure.code(), code, "{host}");
        assert!(!failure.is_temporary());
    }
    assert_eq!(server.connections(), 0);
    let allowing = Fetcher::new(server.config()).unwrap();
    for host in ["127.0.0.1", "localhost"] {
        assert_eq!(get(&allowing, &format!("http://{host}:{port}/")).await.0.unwrap().remote.port(), port);
    }
}

/// Gives each answer once, the last one for ever.
#[derive(Debug)]
struct Answers {
    list: Vec<Vec<SocketAddr>>,
    asked: AtomicUsize,
}

impl Resolve for Answers {
    fn resolve<'a>(&'a self, _: &'a str, _: u16) -> Addresses<'a> {
        let nth = self.asked.fetch_add(1, Ordering::SeqCst).min(self.list.len() - 1);
        Box::pin(async move { Ok(self.list[nth].clone()) })
    }
}

fn answers(list: Vec<Vec<SocketAddr>>) -> Arc<Answers> {
    Arc::new(Answers { list, asked: AtomicUsize::new(0) })
}

#[tokio::test]
async fn a_name_server_that_changes_its_answer_is_caught_at_the_address_dialled() {
    let server = Server::closing("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let port = server.addr.port();
    // 127.0.0.1 plays a public address here; 127.9.9.9 is what must not be reached, although it would answer.
    let allow_private = vec!["127.0.0.1/32".parse().unwrap()];
    let inside: SocketAddr = ([127, 9, 9, 9], port).into();
    let config = Config { allow_private, connect_to: Vec::new(), ..server.config() };
    let resolver = answers(vec![vec![server.addr], vec![inside], vec![inside, server.addr]]);
    let fetcher = Fetcher::with_resolver(config, Arc::clone(&resolver) as Arc<dyn Resolve>).unwrap();
    assert_eq!(get(&fetcher, "http://rebind.test/").await.0.unwrap().remote, server.addr);
    let (result, _) = get(&fetcher, "http://rebind.test/").await;
    assert!(matches!(result, Err(Failure::Forbidden { addr, .. }) if addr == inside), "{result:?}");
    assert_eq!(get(&fetcher, "http://rebind.test/").await.0.unwrap().remote, server.addr);
    assert_eq!((resolver.asked.load(Ordering::SeqCst), server.connections()), (3, 2));
}

#[tokio::test]
async fn the_next_address_is_tried_and_failures_before_the_request_are_named() {
    let server = Server::keeping("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    // A port that nobody listens on any more.
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let with = |list| {
        let config = Config { connect_to: Vec::new(), ..server.config() };
        Fetcher::with_resolver(config, answers(vec![list])).unwrap()
    };
    assert_eq!(get(&with(vec![dead, server.addr]), "http://x.test/").await.0.unwrap().remote, server.addr);
    assert_eq!(get(&with(vec![dead]), "http://x.test/").await.0.unwrap_err().code(), "connect_refused");
    assert_eq!(get(&with(vec![]), "http://x.test/").await.0.unwrap_err().code(), "no_address");

    #[derive(Debug)]
    struct Broken;
    impl Resolve for Broken {
        fn resolve<'a>(&'a self, host: &'a str, _: u16) -> Addresses<'a> {
            Box::pin(async move {
                if host == "slow.test" {
                    std::future::pending::<()>().await;
                }
                Err(io::Error::other("no such host"))
            })
        }
    }
    let config = Config { connect_to: Vec::new(), deadlines: deadlines(|all| all.dns = SHORT), ..server.config() };
    let fetcher = Fetcher::with_resolver(config, Arc::new(Broken)).unwrap();
    assert_eq!(get(&fetcher, "http://gone.test/").await.0.unwrap_err().code(), "dns");
    let failure = get(&fetcher, "http://slow.test/").await.0.unwrap_err();
    assert_eq!((failure.code(), failure.is_temporary()), ("dns_timeout", true));
}

#[tokio::test]
async fn a_hundred_stuck_hosts_do_not_keep_another_waiting() {
    let stuck = silent_after(b"").await;
    let good = Server::keeping("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let connect_to = vec![ConnectTo::new("good.test", good.addr), ConnectTo::new("*.test", stuck.addr)];
    let fetcher = Fetcher::new(Config { connect_to, ..good.config() }).unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    for nth in 0..100 {
        let fetcher = fetcher.clone();
        waiting.spawn(async move { get(&fetcher, &format!("http://{nth}.test/")).await.0.map(|_| ()) });
    }
    while stuck.connections() < 100 {
        tokio::task::yield_now().await;
    }
    // Would wait for ever if it waited for them: their deadlines are half a minute away.
    for _ in 0..50 {
        assert_eq!(get(&fetcher, "http://good.test/").await.0.unwrap().status, 200);
    }
    assert!(waiting.try_join_next().is_none());
}
