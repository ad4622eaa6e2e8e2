//! The ring's page and `/metrics`, asked through the guard.

use super::samples::{health_of, lookup_of, ring_of};
use crate::crawls::Refused;
use crate::limits::{LOOKUP_TIME, LOOKUPS_MAX};
use crate::peers::{HealthView, LookupView, NodeView, Peers, RingView};
use crate::ui::route_tests::House;
use crate::ui::samples::PLAIN;
use axum::body::Body;
use http::{Request, StatusCode};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;

/// A ring that answers at once, refuses, or never answers, by what it is asked.
#[derive(Debug, Default)]
struct FakeRing {
    asked: AtomicUsize,
    changed: watch::Sender<u64>,
}

impl Peers for FakeRing {
    fn view(&self) -> RingView {
        ring_of(PLAIN)
    }

    fn lookup(&self, url: &str) -> Pin<Box<dyn Future<Output = Result<LookupView, Refused>> + Send>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let url = url.to_owned();
        Box::pin(async move {
            match url.as_str() {
                "http://never.example" => std::future::pending().await,
                "http://refused.example" => Err(Refused("nobody <answered>".to_owned())),
                _ => Ok(LookupView { url, ..lookup_of(PLAIN) }),
            }
        })
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn health(&self) -> Option<HealthView> {
        Some(health_of(PLAIN))
    }
}

fn house() -> (House, Arc<FakeRing>) {
    let ring = Arc::new(FakeRing::default());
    (House::in_ring(Some(ring.clone())), ring)
}

#[tokio::test]
async fn without_a_ring_its_page_says_how_to_make_one_and_nothing_leads_there() {
    let house = House::in_ring(None);
    let told = house.get("/ring").await;
    assert_eq!(told.status, StatusCode::OK);
    for command in ["herodotus ring create", "herodotus ring invite", "herodotus node --join TICKET"] {
        assert!(told.text.contains(&format!("<code>{command}</code>")), "{}", told.text);
    }
    for page in ["/", "/crawls", "/ring"] {
        assert!(!house.get(page).await.text.contains("href=\"/ring\""), "{page}");
    }
    assert_eq!(house.get("/ring?url=a.example").await.status, StatusCode::OK);
}

#[tokio::test]
async fn in_a_ring_every_page_leads_to_it() {
    let (house, ring) = house();
    for page in ["/", "/crawls", "/ring", "/search?q=page", "/host/a.example", "/web/*/http://a.example/"] {
        assert!(house.get(page).await.text.contains("href=\"/ring\""), "{page}");
    }
    let told = house.get("/ring").await;
    for part in ["≈ 1,200", "1 of 2 nodes are members", "20 %", "href=\"#node-bbbb\"", "id=\"node-bbbb\"", "12 ms"] {
        assert!(told.text.contains(part), "{part}: {}", told.text);
    }
    assert_eq!(told.text.matches("id=\"node-bbbb\"").count(), 1);
    assert_eq!(ring.asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn who_keeps_a_url_is_told_hop_by_hop_and_asked_once() {
    let (house, ring) = house();
    let told = house.get("/ring?url=a.example%2Fx%3Fy").await;
    assert_eq!(told.status, StatusCode::OK);
    for part in
        ["/web/*/http://a.example/x?y", "32 ms", "2 hops", "no answer", "named by", "Kept by 2 machines", "owner"]
    {
        assert!(told.text.contains(part), "{part}: {}", told.text);
    }
    assert_eq!(ring.asked.load(Ordering::Relaxed), 1);
    // What keeps the page up to date asks for it without the question.
    assert!(told.text.contains("data-live-from=\"/ring\""), "{}", told.text);
    let live = told.text.split("data-live=\"").skip(1).map(|part| part.split('"').next().unwrap()).collect::<Vec<_>>();
    assert_eq!(live, ["head", "circle", "middle", "spots", "numbers", "neighbours", "events", "machines"]);
}

#[tokio::test]
async fn how_well_everything_is_kept_is_told_and_by_whom() {
    let (house, _) = house();
    let told = house.get("/ring/health").await;
    assert_eq!(told.status, StatusCode::OK);
    for part in [
        "in danger",
        "<strong>1,203</strong> of 41,203 objects",
        "on fewer than 6 machines",
        "1 of 3 machines did not answer",
        "5 copies",
        "done in about 1 min 15 s",
        "standing still",
        "on probation",
        "does not answer",
        "95 GB",
        "passed",
        "failed",
    ] {
        assert!(told.text.contains(part), "{part}: {}", told.text);
    }
    let live = told.text.split("data-live=\"").skip(1).map(|part| part.split('"').next().unwrap()).collect::<Vec<_>>();
    assert_eq!(live, ["head", "copies", "repairs", "machines"]);
    let told = house.get("/ring/people").await;
    // Two machines are called the same, and one has no name.
    for part in ["by 2 contributors with 3 machines", "Somebody without a name", "8.0 GB", "67 %", "2,468"] {
        assert!(told.text.contains(part), "{part}: {}", told.text);
    }
    for page in ["/ring", "/ring/health", "/ring/people"] {
        let told = house.get(page).await;
        assert_eq!(
            told.text.matches(&format!("href=\"{page}\" aria-current=\"page\"")).count(),
            if page == "/ring" { 2 } else { 1 },
            "{page}"
        );
    }
    // Without a ring these pages, too, say how to make one.
    for page in ["/ring/health", "/ring/people"] {
        assert!(House::in_ring(None).get(page).await.text.contains("herodotus ring create"), "{page}");
    }
}

#[tokio::test]
async fn what_the_ring_does_not_answer_is_said_beside_the_question() {
    let (house, ring) = house();
    let told = house.get("/ring?url=refused.example").await;
    assert_eq!(told.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        told.text.contains("nobody &lt;answered&gt;") && told.text.contains("value=\"refused.example\""),
        "{}",
        told.text
    );
    let long = house.get(&format!("/ring?url={}", "a".repeat(60_000))).await;
    assert_eq!(long.status, StatusCode::BAD_REQUEST);
    assert_eq!(house.get("/ring?url=%20").await.status, StatusCode::OK);
    assert_eq!(ring.asked.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lookup_that_never_ends_is_given_up() {
    let (house, _) = house();
    let begun = tokio::time::Instant::now();
    let told = house.get("/ring?url=never.example").await;
    assert_eq!(told.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(told.text.contains("the ring had no answer within"), "{}", told.text);
    assert_eq!(begun.elapsed().as_secs(), LOOKUP_TIME.as_secs());
}

#[tokio::test(start_paused = true)]
async fn only_so_many_look_up_at_once() {
    let (house, ring) = house();
    let asking = (0..LOOKUPS_MAX + 3).map(|_| house.get("/api/v1/ring/lookup?url=never.example"));
    let told = futures_util::future::join_all(asking).await;
    assert_eq!(ring.asked.load(Ordering::Relaxed), LOOKUPS_MAX);
    assert!(told.iter().all(|told| told.status == StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!(told.iter().filter(|told| told.text.contains("too many requests at once")).count(), 3);
    // And their places are free again.
    assert_eq!(house.get("/api/v1/ring/lookup?url=a.example").await.status, StatusCode::OK);
}

#[tokio::test]
async fn metrics_are_told_under_our_own_names_alone() {
    let (house, _) = house();
    let told = house.get("/metrics").await;
    assert_eq!((told.status, told.media.as_str()), (StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8"));
    assert!(told.text.contains("\nherodotus_ring_nodes 1234.5\n"), "{}", told.text);
    let stranger = Request::get("/metrics").header("host", "evil.example").body(Body::empty()).unwrap();
    let told = house.ask(stranger).await;
    assert_eq!(told.status, StatusCode::MISDIRECTED_REQUEST);
    assert!(!told.text.contains("herodotus_ring"));
    assert!(!House::in_ring(None).get("/metrics").await.text.contains("herodotus_ring"));
}

#[test]
fn a_number_of_nodes_is_exact_only_where_everybody_is_known() {
    let ring = |nodes_estimate, is_whole| RingView {
        nodes_estimate,
        nodes: vec![NodeView { is_whole, ..NodeView::default() }],
        ..RingView::default()
    };
    let told = [(5.0, true), (5.2, false), (1234.5, false), (98_765.0, false), (f64::NAN, false), (1.0, true)]
        .map(|(estimate, is_whole)| super::nodes_words(&ring(estimate, is_whole)));
    assert_eq!(told, ["5", "≈ 5", "≈ 1,200", "≈ 99,000", "≈ 0", "1"]);
}
