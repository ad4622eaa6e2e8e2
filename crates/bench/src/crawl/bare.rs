//! The limit: URLs known beforehand are fetched over a few connections kept alive, and nothing is parsed or kept. No crawler
//! on the same HTTP library can be faster.
//!
//! A program of its own (`herodotus-bench bare`), so that it is measured as the others are. It runs on one thread, which
//! leaves the other core to the server.

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpStream;

#[derive(Debug, clap::Args)]
pub(crate) struct Bare {
    #[arg(long, default_value_t = 32)]
    connections: usize,
    /// `http://ADDRESS:PORT/`
    site: String,
    /// A file with a path per line
    list: PathBuf,
}

/// What every connection takes from.
struct Work {
    host: String,
    paths: Vec<String>,
    next: AtomicUsize,
}

impl Bare {
    pub(crate) fn run(&self) -> Result<()> {
        let host = self.site.strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        let list = std::fs::read_to_string(&self.list)?;
        let work = Arc::new(Work {
            host: host.with_context(|| format!("{} is not http://ADDRESS:PORT/", self.site))?.to_owned(),
            paths: list.lines().map(str::to_owned).collect(),
            next: AtomicUsize::new(0),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let bytes: u64 = runtime.block_on(async {
            let tasks: Vec<_> = (0..self.connections).map(|_| tokio::spawn(connection(Arc::clone(&work)))).collect();
            let mut bytes = 0;
            for task in tasks {
                bytes += task.await??;
            }
            anyhow::Ok(bytes)
        })?;
        println!("{} URLs, {bytes} bytes", work.paths.len());
        Ok(())
    }
}

async fn connection(work: Arc<Work>) -> Result<u64> {
    let stream = TcpStream::connect(&work.host).await?;
    stream.set_nodelay(true)?;
    let (mut sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(driver);
    let mut bytes = 0;
    while let Some(path) = work.paths.get(work.next.fetch_add(1, Ordering::Relaxed)) {
        sender.ready().await?;
        let request = Request::get(path).header(HOST, &work.host).body(Empty::<Bytes>::new())?;
        let mut response = sender.send_request(request).await?;
        ensure!(response.status() == StatusCode::OK, "{path}: {}", response.status());
        while let Some(frame) = response.frame().await {
            bytes += frame?.data_ref().map_or(0, |data| data.len() as u64);
        }
    }
    Ok(bytes)
}
