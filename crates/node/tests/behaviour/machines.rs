#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

//! Machines of one ring, in one process, over real connections on the loop.

use bytes::Bytes;
use herodotus_net::{BoxFuture, Caller, Draft, Endpoint, Kind as Calls, Refusal, Service, Settings, Ticket};
use herodotus_node::Indexer;
use herodotus_node::copies::{Copies, CopiesSettings};
use herodotus_node::ring::{RingNode, RingSettings, admit, create, machine_secret, membership};
use herodotus_store::{EntryKey, Store};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub struct Machine {
    pub data: PathBuf,
    pub store: Store,
    pub copies: Copies,
    _indexer: Indexer,
}

/// One more machine: with a ticket of the first, or the first. Its address ends with `number`.
pub async fn start(
    data: PathBuf,
    number: u8,
    first: Option<&RingNode>,
    copies: u16,
    settings: CopiesSettings,
) -> (Machine, RingNode) {
    start_on(data, number, first, copies, settings, |data| Store::open(data).unwrap().0).await
}

/// The same with a store of its own kind.
pub async fn start_on(
    data: PathBuf,
    number: u8,
    first: Option<&RingNode>,
    copies: u16,
    settings: CopiesSettings,
    open: impl FnOnce(&Path) -> Store,
) -> (Machine, RingNode) {
    std::fs::create_dir(&data).unwrap();
    let listen = std::net::UdpSocket::bind(format!("127.0.0.{number}:0")).unwrap().local_addr().unwrap();
    let ring_settings =
        RingSettings { listen: vec![listen], stabilise_every: Duration::from_millis(100), ..RingSettings::default() };
    let admission = match first {
        Some(first) => {
            let ticket = first.invite(Duration::from_secs(600)).unwrap();
            admit(&data, &ticket, &ring_settings).await.unwrap()
        }
        None => {
            let draft = Draft { name: "test", r: 8, copies, is_by_url: false };
            create(&data, draft, false).unwrap();
            membership(&data).unwrap().unwrap()
        }
    };
    let ring = RingNode::start(&data, admission, &ring_settings, true).await.unwrap();
    let store = open(&data);
    let indexer = Indexer::start(&data, &store).unwrap();
    let (ours, here, catalogue) = (ring.clone(), store.clone(), indexer.catalogue());
    let copies = tokio::task::spawn_blocking(move || Copies::start(ours, here, catalogue, settings)).await.unwrap();
    ring.joined().await.unwrap();
    (Machine { data, store, copies: copies.unwrap(), _indexer: indexer }, ring)
}

/// Calls about copies, as the wire has them, for ever: how many captures of `a` there are, and that there are none.
pub const COPIES: Calls = Calls(2);
pub const COUNT_OF_A: &[u8] = &[10, 1, b'a'];
pub const COUNTED_NONE: &[u8] = &[12, 0];

/// A member of the ring that asks and is never asked, and whom it may ask: the machine that let it in.
pub async fn asking(dir: &Path, number: u8, ring: &RingNode) -> (Endpoint, Ticket) {
    let data = dir.join("asking");
    std::fs::create_dir(&data).unwrap();
    let listen = format!("127.0.0.{number}:0").parse().unwrap();
    let ticket = ring.invite(Duration::from_secs(600)).unwrap();
    let ring_settings = RingSettings { listen: vec![listen], ..RingSettings::default() };
    let admission = Arc::new(admit(&data, &ticket, &ring_settings).await.unwrap());
    let settings = Settings::new(machine_secret(&data).unwrap(), [listen]);
    (Endpoint::bind(settings, admission, Arc::new(Nobody)).await.unwrap(), ticket)
}

struct Nobody;

impl Service for Nobody {
    fn call(&self, _: Caller, kind: Calls, _: Bytes) -> BoxFuture<Result<Bytes, Refusal>> {
        Box::pin(async move { Err(Refusal::UnknownKind(kind.0)) })
    }
}

/// Writes a WARC file with one version of some pages of a host.
pub fn write_pages(path: &Path, host: &str, pages: Range<usize>, version: usize, body: impl Fn(usize) -> String) {
    let mut file = String::new();
    for page in pages {
        let (url, day, second) = (format!("http://{host}/{page}"), version + 1, page % 60);
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{}", body(page));
        write!(
            file,
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-{day:02}T00:00:{second:02}Z\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{version:04}{page:08}>\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            http.len()
        )
        .unwrap();
    }
    std::fs::write(path, file).unwrap();
}

impl Machine {
    pub fn names(&self) -> BTreeSet<EntryKey> {
        self.store.scan_all().map(|entry| entry.unwrap().id).collect()
    }
}
