//! Replay: an archived URL at a moment, as a browser can show it.
//!
//! This is the replay listener alone. Its answers are archived content, our two scripts, or nothing: there is no page of ours and
//! no API here that a hostile page could reach.

mod body;
mod content;
mod head;
mod missing;
mod range;
mod stray;

use crate::answer::{self, Trouble, if_sure};
use crate::guard;
use crate::limits::REWRITE_STEP_BYTES;
use crate::lookup::{self, Want};
use crate::memento;
use crate::origin::ReplaySeat;
use crate::site::Site;
use crate::wayback::{Ask, Modifier, PREFIX, When, authority};
use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use herodotus_base::Timestamp;
use herodotus_page::WebUrl;
use herodotus_store::{Entity, Entry};
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, ORIGIN, REFERER, VARY,
};
use http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use std::sync::Arc;

pub(crate) fn router() -> Router<Site> {
    Router::new().route("/herodotus/{name}", get(script)).fallback(serve)
}

const SCRIPTS: [(&str, &str); 2] =
    [("replay.js", include_str!("../../assets/replay.js")), ("sw.js", include_str!("../../assets/sw.js"))];

/// Our own two scripts.
async fn script(Path(name): Path<String>) -> Response {
    let Some((_, source)) = SCRIPTS.iter().find(|(known, _)| *known == name) else {
        return answer::text(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", "there is no such script");
    };
    let mut response = answer::text(StatusCode::OK, "text/javascript; charset=utf-8", *source);
    let headers = response.headers_mut();
    headers.insert("service-worker-allowed", HeaderValue::from_static("/"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
    // Pages without an origin load it as strangers would.
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// What a request for archived content says, beyond its path.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) seat: ReplaySeat,
    pub(crate) head: HeaderMap,
}

impl Reader {
    fn get(&self, name: impl http::header::AsHeaderName) -> &str {
        self.head.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// `Sec-Fetch-Dest`: what the browser wants it for. Empty for programs.
    fn destination(&self) -> &str {
        self.get("sec-fetch-dest")
    }

    fn is_navigation(&self) -> bool {
        matches!(self.destination(), "document" | "iframe" | "frame" | "fencedframe" | "object" | "embed")
    }

    /// Whether a page of somebody else is asking, which is none of its business.
    fn is_stranger(&self) -> bool {
        self.get("sec-fetch-site") == "cross-site"
            && self.get("sec-fetch-mode") != "navigate"
            && !self.is_ours(REFERER)
            && !self.is_ours(ORIGIN)
            && !self.is_nobody()
    }

    fn is_ours(&self, name: HeaderName) -> bool {
        self.seat.is_replay_url(self.get(name))
    }

    /// Says nothing of where it comes from, as our own pages without an origin must.
    fn is_nobody(&self) -> bool {
        let says_nothing = self.get(REFERER).is_empty() && matches!(self.get(ORIGIN), "" | "null");
        says_nothing && self.seat.is_for_pages_without_origin()
    }
}

async fn serve(State(site): State<Site>, method: Method, uri: Uri, head: HeaderMap) -> Response {
    let host = guard::host(&head);
    let Some(seat) = site.hosts().replay(host) else { return guard::misdirected(host) };
    let reader = Reader { seat, head };
    if method == Method::OPTIONS {
        return finish(&reader, preflight());
    }
    if reader.is_stranger() {
        return answer::text(
            StatusCode::FORBIDDEN,
            "text/plain; charset=utf-8",
            "other sites may not read this archive",
        );
    }
    if reader.head.contains_key("service-worker") {
        // A worker of an archived page would answer for every other page of its host, long after it is gone.
        let refused = "archived pages may not install service workers";
        return finish(&reader, answer::text(StatusCode::FORBIDDEN, "text/plain; charset=utf-8", refused));
    }
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let response = match target.strip_prefix(PREFIX) {
        Some(rest) => match Ask::parse(rest) {
            Some(ask) => replay(&site, &reader, ask, target).await,
            None => Err(Trouble::Asked(format!("write {PREFIX}<14 digits>/<url> after the address"))),
        },
        None => stray::answer(&reader, target),
    };
    let response = response.unwrap_or_else(|trouble| match trouble {
        Trouble::Away(_) if reader.is_navigation() => missing::away(&trouble),
        trouble => trouble.into_response(),
    });
    finish(&reader, response)
}

/// What an answer needs so that browsers keep it in its place.
fn finish(reader: &Reader, mut response: Response) -> Response {
    let headers = response.headers_mut();
    if !headers.contains_key(CONTENT_SECURITY_POLICY) {
        headers.insert(CONTENT_SECURITY_POLICY, answer::value(&reader.seat.policy()));
    }
    headers.insert("x-dns-prefetch-control", HeaderValue::from_static("off"));
    headers.insert("permissions-policy", HeaderValue::from_static(NO_POWERS));
    headers.insert("referrer-policy", HeaderValue::from_static("unsafe-url"));
    headers.append(VARY, HeaderValue::from_static("sec-fetch-dest, origin"));
    // Pages without an origin are strangers to their own server, for a browser; nobody else may read here.
    let origin = reader.get(ORIGIN);
    let is_ours = reader.is_ours(ORIGIN) || origin == "null" && (reader.is_ours(REFERER) || reader.is_nobody());
    if !origin.is_empty() && is_ours {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, answer::value(origin));
        headers.insert("access-control-expose-headers", HeaderValue::from_static("*"));
    }
    response
}

/// Sensors and payments of the reader's machine are not for archived pages.
const NO_POWERS: &str = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), \
    local-fonts=(), magnetometer=(), microphone=(), midi=(), payment=(), serial=(), usb=(), \
    browsing-topics=(), attribution-reporting=()";

fn preflight() -> Response {
    let mut response = answer::with(StatusCode::NO_CONTENT, axum::body::Body::empty(), &[]);
    let headers = response.headers_mut();
    headers.insert("access-control-allow-methods", HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE"));
    headers.insert("access-control-allow-headers", HeaderValue::from_static("*"));
    headers.insert("access-control-max-age", HeaderValue::from_static("600"));
    response
}

/// Entities up to this size are read on the spot when they are in memory; should one not be, it is soon unpacked.
const WARM_BYTES_MAX: usize = 256 * 1024;

/// What was found for a request, read from the archive.
#[derive(Debug)]
struct Shown {
    entry: Entry,
    entity: Arc<Entity>,
    /// Of a redirect: the moment at which its target is best shown.
    target_stamp: Option<String>,
    links: String,
}

async fn replay(site: &Site, reader: &Reader, ask: Ask, target: &str) -> Result<Response, Trouble> {
    if reader.destination() == "document" && ask.modifier != Modifier::Identity {
        return Ok(to_viewer(reader, &ask));
    }
    let at = match &ask.when {
        When::All => return Ok(to_viewer(reader, &ask)),
        When::At(_, time) => *time,
        When::Newest => match memento::accept_datetime(&reader.head)? {
            Some(time) => return memento::timegate(site, &reader.seat.bare_origin(), &ask.url, Some(time)).await,
            None => Timestamp::MAX,
        },
    };
    // A page in a frame, and what it embeds, must come from where the frame is: their policies allow no other place.
    if matches!(reader.destination(), "" | "document")
        && let Some(address) = site.redirect(&ask.url).await?
        && let Some(replay) = &address.replay
    {
        let place = replay.trim_end_matches('/').replacen("://*.", "://", 1);
        return Ok(answer::redirect(StatusCode::FOUND, &format!("{place}{target}")));
    }
    let want = match (ask.modifier, reader.destination()) {
        (Modifier::Embed(_), _) => Want::Embed,
        // A page's own requests, however they are spelled.
        (Modifier::None, "" | "document" | "iframe" | "frame") | (Modifier::Frame(_) | Modifier::Identity, _) => {
            Want::Page
        }
        (Modifier::None, _) => Want::Embed,
    };
    let read = || {
        let (url, base) = (ask.url.clone(), reader.seat.bare_origin());
        let is_small =
            |shown: &Option<Shown>| shown.as_ref().is_some_and(|s| body::held_bytes(&s.entity) <= WARM_BYTES_MAX);
        site.reading(&ask.url, (&ask.url, at, want), move |site| find(site, &url, at, want, &base), is_small)
    };
    let mut shown = read().await?;
    let mut hold = None;
    if let Some(bytes) = shown.as_ref().map(|shown| body::held_bytes(&shown.entity)).filter(|n| *n > REWRITE_STEP_BYTES)
    {
        hold = site.try_hold(bytes);
        if hold.is_none() {
            // Whoever waits for leave to hold a body does not hold it.
            drop(shown.take());
            hold = Some(site.hold(bytes).await?);
            shown = read().await?;
        }
    }
    let Some(shown) = shown else { return missing::page(site, reader, &ask, want).await };
    let stamp = shown.entry.id.time.digits14();
    let is_exact = matches!(&ask.when, When::At(digits, _) if *digits == stamp);
    if want == Want::Page && (!is_exact || lacks_path(&ask.url)) {
        let path = Ask::path(&stamp, ask.modifier, &with_path(&shown.entry.url));
        let mut response = answer::redirect(StatusCode::FOUND, &path);
        response.headers_mut().insert(http::header::LINK, answer::value(&shown.links));
        return Ok(response);
    }
    if !reader.seat.is_place_of(&authority(&ask.url)) && content::can_run(&shown.entity) && is_page_for(reader) {
        // Each archived host's pages run in their own place.
        let origin = reader.seat.origin_of(&authority(&ask.url));
        let path = Ask::path(&stamp, ask.modifier, &ask.url);
        return Ok(answer::redirect(StatusCode::TEMPORARY_REDIRECT, &format!("{origin}{path}")));
    }
    content::answer(site, reader, &ask, shown, is_exact, hold).await
}

/// `http://site`: links of a page there would be resolved as if the host were a folder.
fn lacks_path(url: &str) -> bool {
    url.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'))
}

fn with_path(url: &str) -> String {
    match (lacks_path(url), WebUrl::parse(url)) {
        (true, Ok(whole)) => whole.as_str().to_owned(),
        _ => url.to_owned(),
    }
}

/// Whether the browser would make a document of the answer, as far as it says.
fn is_page_for(reader: &Reader) -> bool {
    reader.destination().is_empty() || reader.is_navigation()
}

fn find(site: &Site, url: &str, at: Timestamp, want: Want, base: &str) -> Result<Option<Shown>, Trouble> {
    let Some(entry) = lookup::choose(site, url, at, want)? else { return Ok(None) };
    let entity = lookup::entity(site, &entry)?;
    let target_stamp = match head::location(&entity) {
        Some(target) => {
            let found = if_sure(lookup::choose(site, &target, entry.id.time, Want::Embed))?;
            found.map(|e| e.id.time.digits14())
        }
        None => None,
    };
    let links = memento::links(site, base, &entry, want == Want::Page)?;
    Ok(Some(Shown { entry, entity, target_stamp, links }))
}

/// A person who opens archived content by itself is taken to the page that shows it.
fn to_viewer(reader: &Reader, ask: &Ask) -> Response {
    let stamp = match &ask.when {
        When::At(digits, _) => digits,
        When::Newest => "",
        When::All => "*",
    };
    let path =
        if stamp.is_empty() { format!("{PREFIX}{}", ask.url) } else { Ask::path(stamp, Modifier::None, &ask.url) };
    answer::redirect(StatusCode::FOUND, &format!("{}{path}", reader.seat.ui_origin))
}
