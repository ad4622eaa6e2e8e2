//! The routes of the API and what answers them.

use super::ask::{self, Asked, DifferenceAsk, HostAsk, Named, RingAsk, SearchAsk, VersionAsk, VersionsAsk};
use super::events;
use crate::answer::{self, Trouble};
use crate::archive::Silence;
use crate::crawls::{CrawlAsk, CrawlView, Crawls};
use crate::limits::REQUEST_BODY_BYTES_MAX;
use crate::ring;
use crate::site::Site;
use crate::{ui, views};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, get, post};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, X_CONTENT_TYPE_OPTIONS};
use http::{Method, StatusCode, Uri};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

const ROOT: &str = "/api/v1/";
const OPENAPI: &str = include_str!("openapi.json");

type Answer = Result<Response, Trouble>;

/// Every route: its name in the list of links, its path below [`ROOT`], and what answers it.
fn routes() -> [(&'static str, &'static str, MethodRouter<Site>); 17] {
    [
        ("self", "", get(links)),
        ("openapi", "openapi.json", get(openapi)),
        ("totals", "totals", get(totals)),
        ("recent", "recent", get(recent)),
        ("search", "search", get(search)),
        ("versions", "versions", get(versions)),
        ("version", "version", get(version)),
        ("difference", "difference", get(difference)),
        ("host", "host", get(host)),
        ("crawls", "crawls", get(crawls).post(start)),
        ("crawl", "crawls/{name}", get(crawl)),
        ("stop", "crawls/{name}/stop", post(stop)),
        ("events", "events", get(watch)),
        ("ring", "ring", get(ring_view)),
        ("ring_lookup", "ring/lookup", get(ring_lookup)),
        ("ring_health", "ring/health", get(ring_health)),
        ("ring_events", "ring/events", get(ring_watch)),
    ]
}

pub(crate) fn router() -> Router<Site> {
    let mut router = Router::new().route("/api/v1", get(links)).route("/api/v1/{*rest}", any(nothing));
    for (_, path, methods) in routes() {
        router = router.route(&format!("{ROOT}{path}"), methods.fallback(other_method));
    }
    router
}

/// How long an answer may be kept.
#[derive(Clone, Copy)]
enum Keep {
    /// It may be another the next moment.
    Not,
    /// It is about the past, which only changes when something is removed.
    AMinute,
    /// It comes with the program.
    AnHour,
}

fn answer(keep: Keep, value: &impl Serialize) -> Response {
    let keep = match keep {
        Keep::Not => "no-store",
        Keep::AMinute => "private, max-age=60",
        Keep::AnHour => "private, max-age=3600",
    };
    let mut response = answer::json(value);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(keep));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn links() -> Response {
    #[derive(Serialize)]
    struct Links {
        links: BTreeMap<&'static str, String>,
    }
    let links = routes().into_iter().map(|(name, path, _)| (name, format!("{ROOT}{path}"))).collect();
    answer(Keep::AnHour, &Links { links })
}

async fn openapi() -> Response {
    let mut response = answer(Keep::AnHour, &());
    *response.body_mut() = Body::from(OPENAPI);
    response
}

async fn nothing() -> Trouble {
    Trouble::NotFound(format!("there is no such thing in this API: see {ROOT}openapi.json for what there is"))
}

async fn other_method(method: Method) -> Response {
    let error = format!("{method} means nothing here: see {ROOT}openapi.json for what does");
    let mut response = answer(Keep::Not, &serde_json::json!({ "error": error }));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response
}

async fn totals(State(site): State<Site>) -> Answer {
    Ok(answer(Keep::Not, &site.blocking(views::totals).await?))
}

async fn recent(State(site): State<Site>) -> Answer {
    #[derive(Serialize)]
    struct RecentList {
        recent: Vec<views::Recent>,
        #[serde(skip_serializing_if = "Option::is_none")]
        silent: Option<Silence>,
    }
    let (recent, silent) = site.blocking(views::recent).await?;
    Ok(answer(Keep::Not, &RecentList { recent, silent }))
}

async fn search(State(site): State<Site>, Asked(asked): Asked<SearchAsk>) -> Answer {
    let found = site.blocking(move |site| views::search(site, &asked.q, asked.from.as_deref())).await?;
    Ok(answer(Keep::Not, &found))
}

/// The answer that sends whoever asks for a URL to the machine that holds it, if that is how it is done in this ring.
async fn sent(site: &Site, url: &str, uri: &Uri) -> Result<Option<Response>, Trouble> {
    ui::sent(site, url, uri.path_and_query().map_or("/", |target| target.as_str())).await
}

async fn versions(State(site): State<Site>, uri: Uri, Asked(asked): Asked<VersionsAsk>) -> Answer {
    let url = ask::url(&asked.url)?;
    if let Some(sent) = sent(&site, &url, &uri).await? {
        return Ok(sent);
    }
    let versions = site.blocking(move |site| views::versions(site, &url, asked.year, asked.before.as_deref())).await?;
    Ok(answer(Keep::Not, &versions))
}

async fn version(State(site): State<Site>, uri: Uri, Asked(asked): Asked<VersionAsk>) -> Answer {
    let url = ask::url(&asked.url)?;
    if let Some(sent) = sent(&site, &url, &uri).await? {
        return Ok(sent);
    }
    let facts = site.blocking(move |site| views::facts(site, &url, asked.at.as_deref())).await?;
    Ok(answer(Keep::AMinute, &facts))
}

async fn difference(State(site): State<Site>, uri: Uri, Asked(asked): Asked<DifferenceAsk>) -> Answer {
    let url = ask::url(&asked.url)?;
    if let Some(sent) = sent(&site, &url, &uri).await? {
        return Ok(sent);
    }
    let compare = move |site: &Site| views::difference(site, &url, asked.from.as_deref(), asked.to.as_deref());
    Ok(answer(Keep::AMinute, &site.blocking(compare).await?))
}

async fn host(State(site): State<Site>, Asked(asked): Asked<HostAsk>) -> Answer {
    let look = move |site: &Site| views::host(site, &asked.host, &asked.path, asked.from.as_deref());
    Ok(answer(Keep::AMinute, &site.blocking(look).await?))
}

async fn crawls(State(site): State<Site>) -> Answer {
    #[derive(Serialize)]
    struct CrawlList {
        can_crawl: bool,
        crawls: Vec<CrawlView>,
    }
    let can_crawl = site.crawls().is_some();
    let crawls = site.blocking(views::crawls).await?;
    Ok(answer(Keep::Not, &CrawlList { can_crawl, crawls }))
}

async fn crawl(State(site): State<Site>, Named(name): Named) -> Answer {
    let none = Trouble::NotFound(format!("there is no crawl named {name}"));
    let get = move |site: &Site| match site.crawls() {
        Some(crawls) => crawls.get(&name).map_err(|refused| Trouble::Ours(refused.0)),
        None => Ok(None),
    };
    Ok(answer(Keep::Not, &site.blocking(get).await?.ok_or(none)?))
}

fn runner(site: &Site) -> Result<Arc<dyn Crawls>, Trouble> {
    let sentence = "this archive is only shown: crawls are run by `herodotus node`";
    site.crawls().cloned().ok_or_else(|| Trouble::Forbidden(sentence.to_owned()))
}

async fn start(State(site): State<Site>, headers: HeaderMap, body: Body) -> Answer {
    #[derive(Serialize)]
    struct Started {
        name: String,
    }
    let crawls = runner(&site)?;
    let is_json = |value: &HeaderValue| value.as_bytes().to_ascii_lowercase().starts_with(b"application/json");
    if !headers.get(CONTENT_TYPE).is_some_and(is_json) {
        return Err(Trouble::Asked("send a crawl as JSON, with Content-Type: application/json".to_owned()));
    }
    let too_long = |_| Trouble::Asked(format!("what was sent is longer than {REQUEST_BODY_BYTES_MAX} bytes"));
    let body = to_bytes(body, REQUEST_BODY_BYTES_MAX).await.map_err(too_long)?;
    let wrong = |error: serde_json::Error| Trouble::Asked(format!("that is not a crawl: {error}"));
    // An array would be read as the fields in their order.
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&body).map_err(wrong)?;
    let ask: CrawlAsk = serde_json::from_value(fields.into()).map_err(wrong)?;
    let begin = move |_: &Site| crawls.start(ask).map_err(|refused| Trouble::Asked(refused.0));
    let name = site.blocking(begin).await?;
    let place = format!("{ROOT}crawls/{}", escaped(&name));
    let mut response = answer(Keep::Not, &Started { name });
    *response.status_mut() = StatusCode::CREATED;
    response.headers_mut().insert(LOCATION, answer::value(&place));
    Ok(response)
}

/// A name as a step of a path.
fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

async fn stop(State(site): State<Site>, Named(name): Named) -> Answer {
    #[derive(Serialize)]
    struct Stopping {
        stopping: bool,
    }
    let crawls = runner(&site)?;
    let stop = move |_: &Site| crawls.stop(&name).map_err(|refused| Trouble::Asked(refused.0));
    let stopping = site.blocking(stop).await?;
    Ok(answer(Keep::Not, &Stopping { stopping }))
}

async fn watch(State(site): State<Site>) -> Response {
    events::crawls(site).into_response()
}

async fn ring_view(State(site): State<Site>) -> Answer {
    Ok(answer(Keep::Not, &ring::peers(&site)?.view()))
}

async fn ring_health(State(site): State<Site>) -> Answer {
    Ok(answer(Keep::Not, &ring::health(&site)?))
}

async fn ring_lookup(State(site): State<Site>, Asked(asked): Asked<RingAsk>) -> Answer {
    Ok(answer(Keep::Not, &ring::lookup(&site, &asked.url).await?))
}

async fn ring_watch(State(site): State<Site>) -> Response {
    events::ring(site).into_response()
}
