//! The routes over a small archive of real captures, asked as a browser asks: through the guard, as text.

use crate::crawls::{CrawlAsk, CrawlView, Crawls, Refused, Scope};
use crate::origin::Hosts;
use crate::peers::Peers;
use crate::server::Peer;
use crate::site::{Site, Token};
use axum::body::Body;
use herodotus_base::Timestamp;
use herodotus_catalogue::Catalogue;
use herodotus_store::{Body as Payload, Capture, Kind, Record, Store};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use std::sync::{Arc, Mutex};
use tower::ServiceExt;

/// A runner of crawls that only writes down what it is asked.
#[derive(Debug)]
struct Diary {
    asked: Mutex<Vec<CrawlAsk>>,
    changed: tokio::sync::watch::Sender<u64>,
}

impl Crawls for Diary {
    fn list(&self) -> Result<Vec<CrawlView>, Refused> {
        Ok(Vec::new())
    }

    fn get(&self, _: &str) -> Result<Option<CrawlView>, Refused> {
        Ok(None)
    }

    fn start(&self, ask: CrawlAsk) -> Result<String, Refused> {
        self.asked.lock().unwrap().push(ask);
        Ok("a name/with <odd> signs".to_owned())
    }

    fn stop(&self, name: &str) -> Result<bool, Refused> {
        if name == "locked" { Err(Refused("it may not be stopped".to_owned())) } else { Ok(true) }
    }

    fn changed(&self) -> tokio::sync::watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

pub(super) struct House {
    site: Site,
    diary: Arc<Diary>,
    _dir: tempfile::TempDir,
}

pub(super) struct Told {
    pub(super) status: StatusCode,
    location: String,
    pub(super) media: String,
    pub(super) text: String,
}

impl House {
    fn new() -> Self {
        Self::in_ring(None)
    }

    pub(super) fn in_ring(peers: Option<Arc<dyn Peers>>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(dir.path()).unwrap();
        for (stamp, text) in [("20200101000000", "one"), ("20210101000000", "two"), ("20220101000000", "three")] {
            store.append(capture("http://a.example/", stamp, &format!("<title>Page {text}</title><p>{text}"))).unwrap();
        }
        store.append(capture("http://a.example/q?year=2020&x=%2e%2e", "20200101000000", "<p>q")).unwrap();
        store.seal().unwrap();
        let diary = Arc::new(Diary { asked: Mutex::default(), changed: tokio::sync::watch::Sender::new(0) });
        let catalogue = Arc::new(Catalogue::open(&dir.path().join("catalogue")).unwrap());
        let hosts = Hosts { ui_port: 8480, replay_port: 8481, ui_url: None, replay_url: None };
        let token = Token::of(dir.path()).unwrap();
        let site = Site::new(store, dir.path(), Some(diary.clone()), catalogue, hosts, token);
        let site = peers.map_or(site.clone(), |peers| site.with_peers(peers));
        Self { site, diary, _dir: dir }
    }

    pub(super) async fn ask(&self, request: Request<Body>) -> Told {
        let here = Peer("127.0.0.1:40000".parse().unwrap());
        let response = crate::ui_router(&self.site).layer(axum::Extension(here)).oneshot(request).await.unwrap();
        let header =
            |name: &str| response.headers().get(name).map_or(String::new(), |v| v.to_str().unwrap().to_owned());
        let (status, location, media) = (response.status(), header("location"), header("content-type"));
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        Told { status, location, media, text: String::from_utf8_lossy(&bytes).into_owned() }
    }

    pub(super) async fn get(&self, target: &str) -> Told {
        self.ask(Request::get(target).header("host", "127.0.0.1:8480").body(Body::empty()).unwrap()).await
    }

    async fn post(&self, target: &str, form: &'static str, from: &str) -> Told {
        let request = Request::builder()
            .method(Method::POST)
            .uri(target)
            .header("host", "127.0.0.1:8480")
            .header("origin", from)
            .header("content-type", "application/x-www-form-urlencoded");
        self.ask(request.body(Body::from(form)).unwrap()).await
    }
}

fn capture(url: &str, stamp: &str, page: &str) -> Capture {
    let time = Timestamp::parse(stamp).unwrap();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", page.len());
    let main = Record::new(Kind::Response, url, time, head.into_bytes(), Payload::new(page.as_bytes().to_vec()));
    Capture { url: url.to_owned(), time, main, companions: Vec::new() }
}

const US: &str = "http://127.0.0.1:8480";

#[tokio::test]
async fn a_date_leads_to_the_version_that_was_current_then() {
    let house = House::new();
    for (asked, stamp) in [("2021", "20210101000000"), ("20211231", "20210101000000"), ("2030", "20220101000000")] {
        let told = house.get(&format!("/web/{asked}/http://a.example/")).await;
        assert_eq!(
            (told.status, told.location),
            (StatusCode::FOUND, format!("/web/{stamp}/http://a.example/")),
            "{asked}"
        );
    }
    let exact = house.get("/web/20210101000000/http://a.example/").await;
    assert_eq!(exact.status, StatusCode::OK);
    for part in [
        "2 of 3",
        "/web/20200101000000/http://a.example/",
        "/web/20220101000000/http://a.example/",
        "<iframe src=\"http://h",
    ] {
        assert!(exact.text.contains(part), "{part}");
    }
    assert!(!exact.text.contains("There is no version from"));
}

#[tokio::test]
async fn a_date_before_the_first_version_shows_it_and_says_so() {
    let told = House::new().get("/web/2010/http://a.example/").await;
    assert_eq!(told.status, StatusCode::OK);
    assert!(told.text.contains("There is no version from 31 December 2010 or before."), "{}", told.text);
    assert!(told.text.contains("1 of 3"));
}

#[tokio::test]
async fn the_calendar_shows_the_year_before_the_star() {
    let house = House::new();
    let newest = house.get("/web/*/http://a.example/").await;
    assert!(newest.text.contains("1 January 2022: 1 version"), "{}", newest.text);
    let older = house.get("/web/2020*/http://a.example/").await;
    assert!(older.text.contains("1 January 2020: 1 version") && !older.text.contains("1 January 2022: 1 version"));
    // A query is the archived URL's own, whatever its names.
    let query = house.get("/web/*/http://a.example/q?year=2020&x=%2e%2e").await;
    assert_eq!(query.status, StatusCode::OK);
    assert!(query.text.contains("<strong>1 version</strong>"));
}

#[tokio::test]
async fn an_address_that_is_not_here_has_a_page_that_helps() {
    let house = House::new();
    for target in ["/web/*/http://a.example/missing", "/web/2020/http://a.example/missing"] {
        let told = house.get(target).await;
        assert_eq!(told.status, StatusCode::NOT_FOUND, "{target}");
        assert!(told.text.contains("Archive it now") && told.text.contains("a.example"), "{}", told.text);
    }
}

#[tokio::test]
async fn whoever_types_an_address_is_taken_there() {
    let house = House::new();
    let told = house.get("/search?q=http%3A%2F%2Fa.example%2Fq%3Fyear%3D2020%26x%3D%252e%252e").await;
    assert_eq!(
        (told.status, told.location.as_str()),
        (StatusCode::SEE_OTHER, "/web/*/http://a.example/q?year=2020&x=%2e%2e")
    );
    let go = house.get("/go?url=a.example&at=20210601000000").await;
    assert_eq!((go.status, go.location.as_str()), (StatusCode::SEE_OTHER, "/web/20210601000000/http://a.example"));
    let outside = house.get("/go?url=%2F%2Fevil.example%2F..%2F..&at=x").await;
    assert!(outside.location.starts_with("/web/*/"), "{}", outside.location);
    assert_eq!(house.get("/search?q=").await.location, "/");
}

#[tokio::test]
async fn two_versions_are_compared_in_their_order() {
    let told = House::new().get("/diff?url=http://a.example/&from=20210101000000&to=20200101000000&view=inline").await;
    assert_eq!(told.status, StatusCode::OK);
    assert!(told.text.contains("<del>one</del>") && told.text.contains("<ins>two</ins>"), "{}", told.text);
    // The next change is one step away; before the first there is none.
    assert!(told.text.contains("from=20210101000000&amp;to=20220101000000&amp;view=inline"), "{}", told.text);
    assert!(told.text.contains("The change after") && !told.text.contains("The change before"));
}

#[tokio::test]
async fn a_crawl_begins_from_a_form_of_ours_alone() {
    let house = House::new();
    let told = house.post("/crawls", "seeds=a.example&scope=host&depth=&limit=7", US).await;
    assert_eq!(told.status, StatusCode::SEE_OTHER);
    assert_eq!(told.location, "/crawls/a%20name%2Fwith%20%3Codd%3E%20signs");
    let asked = house.diary.asked.lock().unwrap().clone();
    let want = CrawlAsk {
        seeds: vec!["https://a.example/".into()],
        scope: Scope::Host,
        limit: Some(7),
        ..CrawlAsk::default()
    };
    assert_eq!(asked, [want]);
    let forged = house.post("/crawls", "seeds=a.example", "http://evil.example").await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    assert_eq!(house.diary.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_refused_is_said_on_a_page() {
    let house = House::new();
    assert_eq!(house.post("/crawls/any/stop", "", US).await.location, "/crawls/any");
    let told = house.post("/crawls/locked/stop", "", US).await;
    assert_eq!((told.status, told.media.as_str()), (StatusCode::BAD_REQUEST, "text/html; charset=utf-8"));
    assert!(told.text.contains("it may not be stopped"));
    for target in
        ["/crawls/nobody", "/nowhere", "/assets/none", "/web/", "/web/2020/", "/diff", "/host/nobody.example", "/go"]
    {
        let told = house.get(target).await;
        assert!(told.status.is_client_error(), "{target}: {}", told.status);
    }
}

#[tokio::test]
async fn odd_targets_never_break_a_page() {
    let house = House::new();
    for target in [
        "/web/*/%00%ff",
        "/web/99999999999999/http://a.example/",
        "/web/0/http://a.example/",
        "/web/2020*/",
        "/web/**/http://a.example/",
        "/search?q=%00%ff%",
        "/search?q=a&from=%ff",
        "/diff?url=a.example&from=x&to=y",
        "/diff?url=http://a.example/&from=%ff&view=z",
        "/host/%2e%2e/%2e%2e",
        "/host/a.example/%ff/%00?from=%ff",
        "/host/%00",
        "/crawls/%2e%2e",
        "/ring?url=%00%ff",
        "/go?url=%ff&at=99999999999999999999",
    ] {
        let told = house.get(target).await;
        assert!(told.status != StatusCode::INTERNAL_SERVER_ERROR, "{target}: {} {}", told.status, told.text);
    }
}
