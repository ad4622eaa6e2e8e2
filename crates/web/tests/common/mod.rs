//! An archive with a few captures, served on two ports of this machine, and a client that hides nothing.

#![allow(dead_code, reason = "each test file uses a part of it")]

use herodotus_base::Timestamp;
use herodotus_catalogue::Catalogue;
use herodotus_store::{Body, Capture, Kind, Record, Store};
use herodotus_web::{Bound, Hosts, Options, Site, Token};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) struct Face {
    pub(crate) store: Store,
    pub(crate) ui: u16,
    pub(crate) replay: u16,
    pub(crate) token: String,
    pub(crate) folder: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Client and server are one process here, with a file for each end of each connection.
fn raise_file_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard.min(8192).max(soft), hard).unwrap();
}

impl Face {
    pub(crate) fn new() -> Self {
        Self::with(|_| {}, |site| site)
    }

    /// An archive that is filled first, and a site that is changed before it answers.
    pub(crate) fn with(fill: impl FnOnce(&Store), dress: impl FnOnce(Site) -> Site) -> Self {
        raise_file_limit();
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        fill(&store);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let bound = runtime.block_on(Bound::bind(&Options { ui: any, replay: any })).unwrap();
        let (ui, replay) = (bound.ui_address().unwrap().port(), bound.replay_address().unwrap().port());
        let hosts = Hosts { ui_port: ui, replay_port: replay, ui_url: None, replay_url: None };
        let token = Token::of(folder.path()).unwrap();
        let shown = token.as_str().to_owned();
        let catalogue = Arc::new(Catalogue::open(&folder.path().join("catalogue")).unwrap());
        catalogue.catch_up(&store, usize::MAX, &AtomicBool::new(false)).unwrap();
        let site = dress(Site::new(store.clone(), folder.path(), None, catalogue, hosts, token));
        runtime.spawn(bound.serve(site, std::future::pending()));
        Self { store, ui, replay, token: shown, folder, _runtime: runtime }
    }

    /// Keeps an answer of 200 with this type and body.
    pub(crate) fn keep(&self, url: &str, stamp: &str, media: &str, body: &[u8]) {
        self.keep_head(url, stamp, &format!("HTTP/1.1 200 OK\r\nContent-Type: {media}\r\n\r\n"), body);
    }

    pub(crate) fn keep_head(&self, url: &str, stamp: &str, head: &str, body: &[u8]) {
        let time = Timestamp::parse(stamp).unwrap();
        let main = Record::new(Kind::Response, url, time, head.as_bytes().to_vec(), Body::new(body));
        self.store.append(Capture { url: url.to_owned(), time, main, companions: Vec::new() }).unwrap();
    }

    pub(crate) fn keep_redirect(&self, url: &str, stamp: &str, to: &str) {
        self.keep_head(url, stamp, &format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\n\r\n"), b"");
    }

    /// Asks the replay listener, as a program does.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(self.replay, "GET", path, &[])
    }

    pub(crate) fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask(self.replay, "GET", path, headers)
    }

    pub(crate) fn ask(&self, port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(port, method, path, headers, b"")
    }

    pub(crate) fn send(&self, port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text.push_str(&format!("Host: 127.0.0.1:{port}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut raw = Vec::new();
        stream.read_to_end(&mut raw).unwrap();
        parse(&raw)
    }
}

pub(crate) fn parse(raw: &[u8]) -> Answer {
    let end = raw.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or_else(|| panic!("no answer: {raw:?}"));
    let head = String::from_utf8_lossy(&raw[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let mut headers = BTreeMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').unwrap();
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = raw[end + 4..].to_vec();
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        body = herodotus_page::dechunk(&body).unwrap().0;
    }
    Answer { status, headers, body }
}
