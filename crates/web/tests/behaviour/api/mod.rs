//! The API against its own description: every operation of `openapi.json` is called on a real server, and every answer must be what
//! the document says, no more and no less.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod client;
mod document;
mod metrics;
mod ring;
mod schema;
mod server;

use client::Answer;
use document::{Operation, operations};
use schema::Document;
use serde_json::{Value, json};
use server::Running;
use std::collections::BTreeSet;
use tokio::io::AsyncWriteExt;

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_answers_as_the_document_says() {
    let running = Running::start(true).await;
    let document = Document::new(running.get("/api/v1/openapi.json").await.json());
    let operations = operations(&document);
    assert!(operations.len() >= 18, "{}", operations.len());
    for operation in operations.iter().filter(|operation| operation.media() == "application/json") {
        for with_options in [true, false] {
            let answer = running.call(operation, with_options).await;
            answer.is_as_promised(&document, operation);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_names_every_route_and_no_other() {
    let running = Running::start(true).await;
    let document = Document::new(running.get("/api/v1/openapi.json").await.json());
    let links = running.get("/api/v1/").await.json();
    let linked: BTreeSet<&str> =
        links["links"].as_object().unwrap().values().map(|link| link.as_str().unwrap()).collect();
    let described: BTreeSet<&str> = document.paths().keys().map(String::as_str).collect();
    assert_eq!(linked, described);
    assert_eq!(running.get("/api/v1").await.json(), links);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_schema_is_used_and_every_reference_leads_somewhere() {
    let running = Running::start(false).await;
    let document = Document::new(running.get("/api/v1/openapi.json").await.json());
    let (mut used, text) = (BTreeSet::new(), document.whole().to_string());
    for part in text.split("\"$ref\":\"").skip(1) {
        let reference = part.split('"').next().unwrap();
        assert!(document.find(reference).is_some(), "{reference}");
        used.insert(reference.rsplit('/').next().unwrap().to_owned());
    }
    let known: BTreeSet<String> =
        document.whole()["components"]["schemas"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(known.difference(&used).count(), 0, "{:?}", known.difference(&used).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answers_say_what_is_in_the_archive() {
    let running = Running::start(true).await;
    let versions = running.get("/api/v1/versions?url=example.org/page").await.json();
    assert_eq!((&versions["total"], &versions["list"].as_array().unwrap().len()), (&json!(4), &4));
    assert_eq!(versions["list"][0]["change"], json!({"kind": "same"}), "a revisit");
    assert_eq!(versions["list"][3]["change"], json!({"kind": "first"}));
    let difference = running.get("/api/v1/difference?url=example.org/page&from=20260102&to=20260103").await.json();
    assert_eq!((&difference["lines_added"], &difference["lines_removed"]), (&json!(1), &json!(1)));
    let version = running.get("/api/v1/version?url=http://example.org/page&at=20260102030405").await.json();
    assert!(version["head"].as_str().unwrap().starts_with("HTTP/1.1 200 OK\r\n"), "{version}");
    let totals = running.get("/api/v1/totals").await.json();
    assert_eq!((&totals["captures"], &totals["urls"]), (&json!(9), &json!(6)));
    let search = running.get("/api/v1/search?q=histories").await.json();
    assert_eq!((&search["read_as"], &search["found"][0]["url"]), (&json!("words"), &json!("http://example.org/page")));
    let started = running.post("/api/v1/crawls", r#"{"seeds":["https://example.org/"]}"#).await;
    assert_eq!((started.status, started.header("location")), (201, Some("/api/v1/crawls/new%20one")));
    let unknown = running.post("/api/v1/crawls/missing/stop", "").await.json();
    assert_eq!(unknown, json!({"stopping": false}));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_an_error_in_the_documented_form() {
    let running = Running::start(true).await;
    let document = Document::new(running.get("/api/v1/openapi.json").await.json());
    let long = "a".repeat(60_000);
    for (path, status) in [
        ("/api/v1/nothing", 404),
        ("/api/v1/crawls/missing", 404),
        ("/api/v1/crawls/%2e%2e%2f%00", 404),
        ("/api/v1/crawls/%ff", 400),
        ("/api/v1/search", 400),
        ("/api/v1/versions", 400),
        ("/api/v1/versions?url=", 400),
        ("/api/v1/versions?url=a.example&url=b.example", 400),
        ("/api/v1/versions?url=example.org&year=abc", 400),
        ("/api/v1/versions?url=example.org&year=99999999999", 400),
        ("/api/v1/versions?url=example.org&before=%00", 400),
        ("/api/v1/version?url=example.org/missing", 404),
        ("/api/v1/version?url=example.org/page&at=tomorrow", 400),
        ("/api/v1/difference?url=example.org/missing", 404),
        ("/api/v1/difference?url=example.org/page&from=2026-99-99", 400),
        ("/api/v1/ring/lookup", 400),
        ("/api/v1/ring/lookup?url=", 400),
        ("/api/v1/ring/lookup?url=refused.example", 503),
        ("/api/v1/ring/nothing", 404),
        ("/api/v1/host?host=", 400),
        ("/api/v1/host?host=a/b", 400),
        ("/api/v1/host?host=missing.example", 404),
        (&format!("/api/v1/versions?url={long}"), 400),
        (&format!("/api/v1/search?q={long}"), 400),
        (&format!("/api/v1/ring/lookup?url={long}"), 400),
        (&format!("/api/v1/host?host={long}"), 400),
    ] {
        let answer = running.get(path).await;
        let shown: String = path.chars().take(80).collect();
        assert_eq!(answer.status, status, "{shown}: {}", answer.text());
        answer.is_error(&document);
    }
    for (path, body, status) in [
        ("/api/v1/crawls", "", 400),
        ("/api/v1/crawls", "[]", 400),
        ("/api/v1/crawls", r#"{"seeds":["refused"]}"#, 400),
        ("/api/v1/crawls", r#"{"seeds":[],"unknown":1}"#, 400),
        ("/api/v1/crawls", r#"{"depth":-1}"#, 400),
        ("/api/v1/totals", "{}", 405),
        ("/api/v1/ring", "{}", 405),
    ] {
        let answer = running.post(path, body).await;
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
        answer.is_error(&document);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_is_only_shown_starts_no_crawls() {
    let running = Running::start(false).await;
    let document = Document::new(running.get("/api/v1/openapi.json").await.json());
    assert_eq!(running.get("/api/v1/crawls").await.json(), json!({"can_crawl": false, "crawls": []}));
    let answer = running.post("/api/v1/crawls", r#"{"seeds":["https://example.org/"]}"#).await;
    assert_eq!(answer.status, 403);
    answer.is_error(&document);
    for path in ["events", "ring", "ring/lookup?url=example.org", "ring/health", "ring/events"] {
        let answer = running.get(&format!("/api/v1/{path}")).await;
        assert_eq!(answer.status, 404, "{path}");
        answer.is_error(&document);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn news_of_crawls_come_at_once_and_whenever_there_are_any() {
    let running = Running::start(true).await;
    let document = Document::new(running.get("/api/v1/openapi.json").await.json());
    let crawl = json!({"$ref": "#/components/schemas/Crawl"});
    let mut events = running.watch().await;
    for fetched in 1..=3 {
        let (event, data) = events.next().await;
        assert_eq!(event, "crawls");
        let crawls: Value = serde_json::from_str(&data).unwrap();
        document.check(&crawl, &crawls[0]).unwrap();
        assert_eq!(crawls[0]["fetched"], json!(fetched));
        running.crawls.fetch_one();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn news_of_the_ring_come_at_once_and_whenever_there_are_any() {
    let running = Running::start(true).await;
    let document = Document::new(running.get("/api/v1/openapi.json").await.json());
    let mut events = running.watch_ring().await;
    for nodes in 1..=3 {
        let (event, data) = events.next().await;
        assert_eq!(event, "ring");
        let ring: Value = serde_json::from_str(&data).unwrap();
        document.check(&json!({"$ref": "#/components/schemas/Ring"}), &ring).unwrap();
        assert_eq!(ring["nodes_estimate"], json!(f64::from(nodes)));
        running.ring.join_one();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_so_many_watch_at_once_and_a_place_is_free_again_when_one_leaves() {
    let running = Running::start(true).await;
    let mut watching = Vec::new();
    loop {
        match running.try_watch().await {
            Ok(events) => watching.push(events),
            Err(answer) => {
                assert_eq!((answer.status, answer.header("retry-after")), (503, Some("2")));
                break;
            }
        }
        assert!(watching.len() <= 1000);
    }
    assert!(watching.len() >= 16, "{}", watching.len());
    watching.pop().unwrap().leave().await;
    // The server learns of it when it next writes to, or reads from, that connection.
    while running.try_watch().await.is_err() {
        running.crawls.fetch_one();
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_may_be_kept_only_as_long_as_they_are_true() {
    let running = Running::start(true).await;
    for (path, kept) in [
        ("totals", "no-store"),
        ("recent", "no-store"),
        ("search?q=a", "no-store"),
        ("versions?url=example.org/page", "no-store"),
        ("crawls", "no-store"),
        ("difference?url=example.org/page", "private, max-age=60"),
        ("openapi.json", "private, max-age=3600"),
    ] {
        let answer = running.get(&format!("/api/v1/{path}")).await;
        assert_eq!((answer.status, answer.header("cache-control")), (200, Some(kept)), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}

/// The checker is only worth something if it finds what is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn the_checker_finds_planted_mistakes() {
    let running = Running::start(true).await;
    let document = Document::new(running.get("/api/v1/openapi.json").await.json());
    let schema = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let good = running.get("/api/v1/versions?url=example.org/page").await.json();
    document.check(&schema("Versions"), &good).unwrap();
    let plant = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        bad
    };
    let mut missing = good.clone();
    missing["list"][0].as_object_mut().unwrap().remove("digest");
    let mut unknown = good.clone();
    unknown["days"][0]["secret"] = json!(1);
    for bad in [
        plant("/total", json!("4")),
        plant("/total", json!(-1)),
        plant("/list/0/stamp", json!("2026")),
        plant("/list/1/change/kind", json!("altered")),
        plant("/list/0", Value::Null),
        plant("/years/0/months", json!([1, 2, 3])),
        missing,
        unknown,
    ] {
        assert!(document.check(&schema("Versions"), &bad).is_err(), "{bad}");
    }
}

impl Running {
    async fn call(&self, operation: &Operation, with_options: bool) -> Answer {
        let target = operation.target(with_options);
        match operation.method.as_str() {
            "get" => self.get(&target).await,
            _ => self.post(&target, &operation.body()).await,
        }
    }
}

impl Answer {
    fn is_as_promised(&self, document: &Document, operation: &Operation) {
        let name = &operation.id;
        assert_eq!(self.status.to_string(), operation.status, "{name}: {}", self.text());
        assert_eq!(self.header("content-type"), Some(operation.media()), "{name}");
        document.check(operation.schema(), &self.json()).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    }

    fn is_error(&self, document: &Document) {
        assert_eq!(self.header("content-type"), Some("application/json"));
        document.check(&json!({"$ref": "#/components/schemas/Error"}), &self.json()).unwrap();
    }
}

impl client::Events {
    async fn leave(mut self) {
        let _ = self.stream.shutdown().await;
    }
}
