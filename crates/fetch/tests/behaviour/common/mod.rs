//! Servers that say exactly what a test wants, and a receiver that remembers everything.

#![allow(dead_code, reason = "each test file uses a part of this")]

use herodotus_fetch::{Ask, Config, ConnectTo, Exchange, Failure, Fetcher, Receiver, ResponseHead, Roots, Wish};
use herodotus_page::WebUrl;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Runs `serve` on each connection, with its number.
    pub(crate) async fn start<F, Fut>(serve: F) -> Self
    where
        F: Fn(usize, TcpStream) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            let mut running = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                running.spawn(serve(counter.fetch_add(1, Ordering::SeqCst), stream));
            }
        });
        Self { addr, connections, task }
    }

    /// Answers each request on each connection with the same bytes, and keeps the connection open.
    pub(crate) async fn keeping(answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        Self::start(move |_, mut stream| {
            let answer = Arc::clone(&answer);
            async move {
                // A client that has heard enough closes first.
                while read_request(&mut stream).await.is_some() && stream.write_all(&answer).await.is_ok() {}
            }
        })
        .await
    }

    /// Answers one request on each connection, and closes.
    pub(crate) async fn closing(answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        Self::start(move |_, mut stream| {
            let answer = Arc::clone(&answer);
            async move {
                read_request(&mut stream).await;
                // Here too.
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest).await;
            }
        })
        .await
    }

    /// Connections accepted so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// A client that finds every host under `test` here.
    pub(crate) fn config(&self) -> Config {
        Config {
            user_agent: "tester".to_owned(),
            allow_private: vec!["127.0.0.0/8".parse().unwrap()],
            connect_to: vec![ConnectTo::new("*.test", self.addr)],
            roots: Roots::Only(Vec::new()),
            ..Config::default()
        }
    }

    pub(crate) async fn get(&self, config: Config) -> (Result<Exchange, Failure>, Record) {
        get(&Fetcher::new(config).unwrap(), "http://a.test/").await
    }
}

pub(crate) async fn get(fetcher: &Fetcher, url: &str) -> (Result<Exchange, Failure>, Record) {
    let mut record = Record::default();
    let result = fetcher.fetch(&ask(url), &mut record).await;
    (result, record)
}

pub(crate) fn ask(url: &str) -> Ask {
    Ask::new(WebUrl::parse(url).unwrap())
}

/// The head of the next request; `None` if the client closed.
pub(crate) async fn read_request(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(head)
}

/// What was received.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) head: Vec<u8>,
    pub(crate) wire: Vec<u8>,
    pub(crate) content: Vec<u8>,
    pub(crate) heads: usize,
    /// The largest piece of content.
    pub(crate) piece_len_max: usize,
    pub(crate) leaves: bool,
    pub(crate) wants_no_content: bool,
    /// Fails after so many bytes.
    pub(crate) disk_bytes: Option<usize>,
    /// Counts without keeping: for what is too large to keep.
    pub(crate) forgets: bool,
}

impl Receiver for Record {
    fn head(&mut self, head: &[u8], parsed: &ResponseHead<'_>) -> Wish {
        assert!(parsed.status.is_some());
        self.heads += 1;
        self.head = head.to_vec();
        if self.leaves { Wish::Leave } else { Wish::Take }
    }

    fn wire(&mut self, bytes: &[u8]) -> io::Result<()> {
        assert!(!bytes.is_empty());
        if self.disk_bytes.is_some_and(|room| self.wire.len() + bytes.len() > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if !self.forgets {
            self.wire.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn content(&mut self, bytes: &[u8]) {
        assert!(!bytes.is_empty() && !self.wants_no_content);
        self.piece_len_max = self.piece_len_max.max(bytes.len());
        if !self.forgets {
            self.content.extend_from_slice(bytes);
        }
    }

    fn wants_content(&self) -> bool {
        !self.wants_no_content
    }
}
