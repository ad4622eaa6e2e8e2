//! How many pages per second, and how much processor time for each thousand: this crate beside a bare hyper loop that
//! only fetches. Usage: `fetch_rate [--bare] [--content] ADDR REQUESTS TASKS PATH…` against a server on this machine.

use herodotus_fetch::{Ask, Config, ConnectTo, Fetcher, Receiver, ResponseHead, Wish};
use herodotus_page::WebUrl;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;
use tokio::net::TcpStream;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What all tasks share.
struct Work {
    addr: SocketAddr,
    paths: Vec<String>,
    requests: usize,
    next: AtomicUsize,
    bytes: AtomicU64,
}

impl Work {
    fn next_path(&self) -> Option<&str> {
        let nth = self.next.fetch_add(1, Ordering::Relaxed);
        (nth < self.requests).then(|| self.paths[nth % self.paths.len()].as_str())
    }
}

struct Counter {
    wire_bytes: u64,
    wants_content: bool,
}

impl Receiver for Counter {
    fn head(&mut self, _: &[u8], _: &ResponseHead<'_>) -> Wish {
        Wish::Take
    }

    fn wire(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.wire_bytes += bytes.len() as u64;
        Ok(())
    }

    fn content(&mut self, _: &[u8]) {}

    fn wants_content(&self) -> bool {
        self.wants_content
    }
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let (options, words): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let has = |option: &str| options.iter().any(|known| known == option);
    let [addr, requests, tasks, paths @ ..] = &words[..] else {
        return Err("usage: fetch_rate [--bare] [--content] ADDR REQUESTS TASKS PATH…".into());
    };
    let (addr, requests, tasks): (SocketAddr, usize, usize) = (addr.parse()?, requests.parse()?, tasks.parse()?);
    let paths = if paths.is_empty() { vec!["/".to_owned()] } else { paths.to_vec() };
    let work = Arc::new(Work { addr, paths, requests, next: AtomicUsize::new(0), bytes: AtomicU64::new(0) });
    let config = Config {
        allow_private: vec![addr.ip().into()],
        connect_to: vec![ConnectTo::new("*.test", addr)],
        codings: has("--content"),
        connections_per_host_idle_max: tasks,
        ..Config::default()
    };
    let fetcher = Fetcher::new(config)?;
    let (start, cpu_start) = (Instant::now(), cpu_s()?);
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..tasks {
        let (work, fetcher) = (Arc::clone(&work), fetcher.clone());
        if has("--bare") {
            running.spawn(bare(work));
        } else {
            running.spawn(guarded(work, fetcher, has("--content")));
        }
    }
    while let Some(result) = running.join_next().await {
        result??;
    }
    let (took_s, cpu_s) = (start.elapsed().as_secs_f64(), cpu_s()? - cpu_start);
    println!(
        "{:.0} requests/s, {:.4} CPU s per 1,000, {:.1} MB",
        requests as f64 / took_s,
        cpu_s * 1000.0 / requests as f64,
        work.bytes.load(Ordering::Relaxed) as f64 / 1e6
    );
    Ok(())
}

async fn guarded(work: Arc<Work>, fetcher: Fetcher, wants_content: bool) -> Outcome<()> {
    while let Some(path) = work.next_path() {
        let mut counter = Counter { wire_bytes: 0, wants_content };
        let exchange = fetcher.fetch(&Ask::new(WebUrl::parse(&format!("http://a.test{path}"))?), &mut counter).await?;
        if exchange.status != 200 || exchange.truncated.is_some() || exchange.coding_error.is_some() {
            return Err(format!("{exchange:?}").into());
        }
        work.bytes.fetch_add(counter.wire_bytes, Ordering::Relaxed);
    }
    Ok(())
}

async fn bare(work: Arc<Work>) -> Outcome<()> {
    let socket = TcpStream::connect(work.addr).await?;
    socket.set_nodelay(true)?;
    let (mut send, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    while let Some(path) = work.next_path() {
        send.ready().await?;
        let request = hyper::Request::get(path).header("Host", "a.test").body(Empty::<bytes::Bytes>::new())?;
        let mut body = send.send_request(request).await?.into_body();
        while let Some(frame) = body.frame().await {
            work.bytes.fetch_add(frame?.data_ref().map_or(0, |data| data.len() as u64), Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Processor time of this process so far, in user and system.
fn cpu_s() -> Outcome<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |nth: usize| fields.get(nth).ok_or("no times in /proc/self/stat").map(|text| text.parse::<f64>());
    // Hundredths of a second on every Linux.
    Ok((ticks(11)?? + ticks(12)??) / 100.0)
}
