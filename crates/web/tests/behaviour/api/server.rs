//! A server with a small archive, and crawls that only a test moves.

use super::client::{self, Answer, Events};
use super::ring::FakeRing;
use herodotus_base::Timestamp;
use herodotus_catalogue::Catalogue;
use herodotus_store::{Body, Capture, Kind, Record, Store, WarcHeader};
use herodotus_web::{
    Bound, CrawlAsk, CrawlEvent, CrawlHost, CrawlState, CrawlView, Crawls, Hosts, Options, Refused, Scope, Site, Token,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::sync::watch;

pub(crate) struct Running {
    pub(crate) crawls: Arc<FakeCrawls>,
    pub(crate) ring: Arc<FakeRing>,
    address: SocketAddr,
    token: String,
    _dir: tempfile::TempDir,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Running {
    /// A node in a ring; or an archive that is only shown.
    pub(crate) async fn start(is_node: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(dir.path()).unwrap();
        for capture in captures() {
            store.append(capture).unwrap();
        }
        store.seal().unwrap();
        let catalogue = Catalogue::open(&dir.path().join("catalogue")).unwrap();
        catalogue.catch_up(&store, usize::MAX, &AtomicBool::new(false)).unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let bound = Bound::bind(&Options { ui: any, replay: any }).await.unwrap();
        let (ui, replay) = (bound.ui_address().unwrap(), bound.replay_address().unwrap());
        let hosts = Hosts { ui_port: ui.port(), replay_port: replay.port(), ui_url: None, replay_url: None };
        let token = Token::of(dir.path()).unwrap();
        let shown = token.as_str().to_owned();
        let crawls = Arc::new(FakeCrawls { fetched: watch::Sender::new(1) });
        let running = is_node.then(|| crawls.clone() as Arc<dyn Crawls>);
        let ring = Arc::new(FakeRing::default());
        let mut site = Site::new(store, dir.path(), running, Arc::new(catalogue), hosts, token);
        if is_node {
            site = site.with_peers(ring.clone());
        }
        let serving = tokio::spawn(bound.serve(site, std::future::pending()));
        Self { crawls, ring, address: ui, token: shown, _dir: dir, serving }
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        client::send(self.address, "GET", target, "", "").await
    }

    pub(crate) async fn post(&self, target: &str, body: &str) -> Answer {
        let headers = format!("Content-Type: application/json\r\nAuthorization: Bearer {}\r\n", self.token);
        client::send(self.address, "POST", target, &headers, body).await
    }

    pub(crate) async fn watch(&self) -> Events {
        self.try_watch().await.unwrap_or_else(|answer| panic!("{}", answer.text()))
    }

    pub(crate) async fn watch_ring(&self) -> Events {
        let watching = client::watch(self.address, "/api/v1/ring/events").await;
        watching.unwrap_or_else(|answer| panic!("{}", answer.text()))
    }

    pub(crate) async fn try_watch(&self) -> Result<Events, Answer> {
        client::watch(self.address, "/api/v1/events").await
    }
}

/// One crawl, which has fetched as many pages as it was told.
#[derive(Debug)]
pub(crate) struct FakeCrawls {
    fetched: watch::Sender<u64>,
}

impl FakeCrawls {
    pub(crate) fn fetch_one(&self) {
        self.fetched.send_modify(|fetched| *fetched += 1);
    }

    fn view(&self) -> CrawlView {
        let one = || BTreeMap::from([("a reason".to_owned(), (3, "http://example.org/x".to_owned()))]);
        CrawlView {
            name: "example".into(),
            state: CrawlState::Running,
            seeds: vec!["http://example.org/".into()],
            scope: Scope::Host,
            depth: Some(3),
            limit: None,
            round: 1,
            began: Some("2026-01-02T03:04:05Z".into()),
            seconds: 60,
            urls: 10,
            waiting: 5,
            in_flight: 1,
            hosts: 1,
            fetched: *self.fetched.borrow(),
            new: 1,
            changed: 0,
            unchanged: 0,
            failed: 3,
            bytes: 1000,
            statuses: BTreeMap::from([("200".to_owned(), 1)]),
            media: BTreeMap::from([("text/html".to_owned(), 1)]),
            failures: one(),
            skipped: one(),
            machines: Vec::new(),
            busiest: vec![CrawlHost { name: "example.org".into(), fetched: 1, failed: 3, bytes: 1000, waiting: 2 }],
            events: vec![CrawlEvent {
                time: "2026-01-02T03:04:06.789Z".into(),
                url: "http://example.org/".into(),
                what: "new".into(),
                detail: "200 text/html".into(),
                bytes: 1000,
            }],
            note: None,
            trouble: None,
        }
    }
}

impl Crawls for FakeCrawls {
    fn list(&self) -> Result<Vec<CrawlView>, Refused> {
        Ok(vec![self.view()])
    }

    fn get(&self, name: &str) -> Result<Option<CrawlView>, Refused> {
        Ok((name == "example").then(|| self.view()))
    }

    fn start(&self, ask: CrawlAsk) -> Result<String, Refused> {
        match ask.seeds.first().map(String::as_str) {
            Some("refused") => Err(Refused("`refused` is not a URL".to_owned())),
            _ => Ok("new one".to_owned()),
        }
    }

    fn stop(&self, name: &str) -> Result<bool, Refused> {
        Ok(name == "example")
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.fetched.subscribe()
    }
}

fn answer(url: &str, stamp: &str, status: &str, media: &str, body: &str) -> Capture {
    let time = Timestamp::parse(stamp).unwrap();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {media}\r\n\r\n").into_bytes();
    let main = Record::new(Kind::Response, url, time, head, Body::new(body.as_bytes()));
    let head = format!("GET {url} HTTP/1.1\r\n\r\n").into_bytes();
    let request = Record::new(Kind::Request, url, time, head, Body::new(Vec::new()));
    Capture { url: url.to_owned(), time, main, companions: vec![request] }
}

fn captures() -> Vec<Capture> {
    let page = "http://example.org/page";
    let body = |n: u32| format!("<title>Histories {n}</title><p>first<p>second {n}<p>third");
    let newest = answer(page, "20260104030405", "200 OK", "text/html", "<p>another");
    let mut revisit = answer(page, "20260105030405", "200 OK", "text/html", "");
    let digest = format!("sha1:{}", newest.main.payload_sha1().base32());
    revisit.main.kind = Kind::Revisit;
    revisit.main.warc = Some(WarcHeader {
        version: "".into(),
        fields: [("WARC-Payload-Digest", digest), ("WARC-IP-Address", "192.0.2.1".to_owned())].into(),
    });
    let same = |stamp: &str| answer(page, stamp, "200 OK", "text/html", &body(1));
    let mut second = same("20260103030405");
    second.main.body = Body::new(body(1).replace("second 1", "second 2").into_bytes());
    vec![
        same("20260102030405"),
        second,
        newest,
        revisit,
        answer("http://example.org/folder/a", "20260102030405", "200 OK", "text/html", "<title>A</title>"),
        answer("http://example.org/folder/b/c", "20260102030405", "404 Not Found", "text/html", "no"),
        answer("http://example.org/folder/list?1", "20260102030405", "200 OK", "text/plain", "1"),
        answer("http://example.org/folder/list?2", "20260102030405", "301 Moved", "text/plain", "2"),
        answer("http://example.org/x.png", "20260106030405", "200 OK", "image/png", "\u{1}PNG"),
    ]
}
