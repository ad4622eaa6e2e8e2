//! An archived answer as a browser is given it: its head, and its body rewritten by what it is and what it is wanted for.

use super::body::{Outgoing, Rewriter};
use super::range::{self, Asked};
use super::{Reader, Shown, head};
use crate::answer::{Trouble, value};
use crate::limits::REWRITE_STEP_BYTES;
use crate::site::Site;
use crate::wayback::{Ask, Modifier};
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use herodotus_page::rewrite::{CssRewriter, HtmlRewriter, Setting, rewrite_refresh, rewrite_script};
use herodotus_page::{ResponseHead, WebUrl, dechunk};
use herodotus_store::{Body as StoredBody, Entity, EntityBody, LargeBody};
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, IF_RANGE, LINK, LOCATION, RANGE,
};
use http::{HeaderMap, StatusCode};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Leave to hold a body that is large enough to be counted.
type Hold = Option<OwnedSemaphorePermit>;

/// What kind of text an archived body is, where that matters for rewriting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nature {
    Html,
    Css,
    Script,
    Other,
}

fn essence(entity: &Entity) -> String {
    let text = entity.content_type.as_deref().unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_script(essence: &str) -> bool {
    essence.contains("javascript") || essence.contains("ecmascript") || essence == "text/jscript"
}

/// By its type; where a page wanted it for something else than a page, by that: browsers do the same.
fn nature(entity: &Entity, modifier: Modifier) -> Nature {
    let essence = essence(entity);
    match modifier {
        Modifier::Identity => Nature::Other,
        Modifier::Embed("cs_") => Nature::Css,
        Modifier::Embed("js_" | "wkr_") => Nature::Script,
        Modifier::Embed("im_") if essence != "image/svg+xml" => Nature::Other,
        _ if essence == "text/css" => Nature::Css,
        _ if is_script(&essence) => Nature::Script,
        _ if is_markup(&essence) || essence.is_empty() && looks_like_html(entity) => Nature::Html,
        _ => Nature::Other,
    }
}

fn is_markup(essence: &str) -> bool {
    matches!(essence, "text/html" | "application/xhtml+xml" | "image/svg+xml")
}

/// A browser that is told nothing looks at the first bytes.
fn looks_like_html(entity: &Entity) -> bool {
    let EntityBody::Bytes(bytes) = &entity.body else { return false };
    let start = bytes.get(..bytes.len().min(512)).unwrap_or_default().to_ascii_lowercase();
    let text = start.trim_ascii_start();
    ["<!doctype", "<html", "<head", "<body", "<script", "<title", "<!--", "<div", "<p", "<table", "<h1"]
        .iter()
        .any(|begins| text.starts_with(begins.as_bytes()))
}

/// Whether a browser might run this as a document: then it matters whose place it runs in.
pub(super) fn can_run(entity: &Entity) -> bool {
    let essence = essence(entity);
    is_markup(&essence) || essence.is_empty() || essence.ends_with("+xml") || essence.ends_with("/xml")
}

pub(super) async fn answer(
    site: &Site,
    reader: &Reader,
    ask: &Ask,
    shown: Shown,
    is_exact: bool,
    hold: Hold,
) -> Result<Response, Trouble> {
    let entity = &shown.entity;
    let stamp = shown.entry.id.time.digits14();
    let tag = format!("\"{}{}\"", data_encoding::HEXLOWER.encode(&shown.entry.id.tag), ask.modifier.as_str());
    let mut headers = HeaderMap::new();
    headers.insert("memento-datetime", value(&crate::memento::http_date(shown.entry.id.time)));
    headers.insert(LINK, value(&shown.links));
    headers.insert(ETAG, value(&tag));
    // What an exact moment shows never changes, but for how we rewrite it. What is nearest may.
    let keep = if is_exact { "private, max-age=600" } else { "private, max-age=60" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(keep));
    if reader.get(IF_NONE_MATCH) == tag {
        return Ok(respond(StatusCode::NOT_MODIFIED, headers, Body::empty()));
    }
    if ask.modifier == Modifier::Identity {
        return original(site, reader, shown, headers, hold).await;
    }
    if !is_exact {
        headers.insert(CONTENT_LOCATION, value(&Ask::path(&stamp, ask.modifier, &ask.url)));
    }
    head::put_originals(entity, &mut headers);
    if let Some(target) = head::location(entity) {
        let at = shown.target_stamp.as_deref().unwrap_or(&stamp);
        headers.insert(LOCATION, value(&Ask::path(at, ask.modifier, &target)));
    }
    let base = WebUrl::parse(&ask.url).ok();
    let setting = base.as_ref().map(|url| Setting { stamp: &stamp, url, mode: reader.seat.mode() });
    if let (Some(setting), Some(refresh)) = (&setting, head::original(entity, "refresh")) {
        headers.insert(http::header::REFRESH, value(&rewrite_refresh(setting, &refresh)));
    }
    if let Some(content_type) = &entity.content_type {
        headers.insert(CONTENT_TYPE, value(content_type));
        if content_type.starts_with("application/pdf") {
            // The browser's own viewer does not work in a sandbox, and a document of this type runs nothing of ours.
            headers.insert(CONTENT_SECURITY_POLICY, value(&reader.seat.policy_of_documents()));
        }
    }
    for coding in &entity.codings_left {
        headers.append(CONTENT_ENCODING, value(coding));
    }
    let nature = if entity.codings_left.is_empty() { nature(entity, ask.modifier) } else { Nature::Other };
    let Some(setting) = setting.filter(|_| nature != Nature::Other) else {
        return untouched(site, reader, entity, headers, hold).await;
    };
    rewritten(site, entity, nature, &setting, headers, hold).await
}

/// Text with its links turned into the archive's.
async fn rewritten(
    site: &Site,
    entity: &Entity,
    nature: Nature,
    setting: &Setting<'_>,
    mut headers: HeaderMap,
    hold: Hold,
) -> Result<Response, Trouble> {
    let status = head::status(entity);
    let content_type = entity.content_type.as_deref();
    let make = |first: &[u8]| match nature {
        Nature::Css => Rewriter::Css(Box::new(CssRewriter::new(setting, content_type, first))),
        _ => Rewriter::Html(Box::new(HtmlRewriter::new(setting, content_type, first))),
    };
    match &entity.body {
        EntityBody::Bytes(bytes) if nature == Nature::Script => {
            let out = rewrite_script(setting, bytes).into_owned();
            Ok(respond(status, headers, Body::new(Outgoing::memory(out.into(), None, hold))))
        }
        EntityBody::Bytes(bytes) => {
            let mut rewriter = make(bytes);
            put_charset(&rewriter, content_type, &mut headers);
            if bytes.len() <= REWRITE_STEP_BYTES {
                let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 4 + 512);
                rewriter.push(bytes, &mut out);
                rewriter.finish(&mut out);
                return Ok(respond(status, headers, out.into()));
            }
            Ok(respond(status, headers, Body::new(Outgoing::memory(bytes.clone(), Some(rewriter), hold))))
        }
        EntityBody::Blob(large) if nature != Nature::Script => {
            let (large, gate) = (large.clone(), gate(site, large));
            let (first, content) = site
                .blocking(move |_| {
                    let mut first = Vec::new();
                    std::io::Read::read_to_end(&mut std::io::Read::take(large.open()?, 4096), &mut first)
                        .map_err(|error| Trouble::Ours(error.to_string()))?;
                    Ok((first, large.open()?))
                })
                .await?;
            let rewriter = make(&first);
            put_charset(&rewriter, content_type, &mut headers);
            let hold = Some(site.hold(REWRITE_STEP_BYTES * 4).await?);
            let body = Outgoing::file(Box::new(content), u64::MAX, Some(rewriter), hold).through(gate);
            Ok(respond(status, headers, Body::new(body)))
        }
        EntityBody::Blob(large) => {
            let (large, gate) = (large.clone(), gate(site, large));
            let content = site.blocking(move |_| Ok(large.open()?)).await?;
            let hold = Some(site.hold(REWRITE_STEP_BYTES * 4).await?);
            let body = Outgoing::file(Box::new(content), u64::MAX, None, hold).through(gate);
            Ok(respond(status, headers, Body::new(body)))
        }
    }
}

/// Who must be asked for leave before a piece of a large body is read: whoever reads from elsewhere may wait long.
fn gate(site: &Site, large: &LargeBody) -> Option<Arc<Semaphore>> {
    large.is_elsewhere().then(|| site.fetched_pieces().clone())
}

/// Our script stands before the page's own `<meta charset>`, beyond where browsers look for it: so the head says it.
fn put_charset(rewriter: &Rewriter, content_type: Option<&str>, headers: &mut HeaderMap) {
    let Rewriter::Html(html) = rewriter else { return };
    let essence = content_type.and_then(|text| text.split(';').next()).map_or("text/html", str::trim);
    headers.insert(CONTENT_TYPE, value(&format!("{essence}; charset={}", html.charset())));
}

/// A body as it is, whole or in part.
async fn untouched(
    site: &Site,
    reader: &Reader,
    entity: &Entity,
    mut headers: HeaderMap,
    hold: Hold,
) -> Result<Response, Trouble> {
    let status = head::status(entity);
    let len = match &entity.body {
        EntityBody::Bytes(bytes) => Some(bytes.len() as u64),
        EntityBody::Blob(large) => (!large.is_coded()).then_some(large.len),
    };
    let (mut from, mut to, mut status) = (0, len.unwrap_or(u64::MAX), status);
    if let (Some(len), StatusCode::OK) = (len, status) {
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        let is_same =
            reader.get(IF_RANGE).is_empty() || headers.get(ETAG).is_some_and(|tag| tag == reader.get(IF_RANGE));
        match range::asked(if is_same { reader.get(RANGE) } else { "" }, len) {
            Asked::Whole => {}
            Asked::Part(first, past) => {
                (from, to, status) = (first, past, StatusCode::PARTIAL_CONTENT);
                headers.insert(CONTENT_RANGE, value(&format!("bytes {first}-{}/{len}", past - 1)));
            }
            Asked::Beyond => {
                headers.insert(CONTENT_RANGE, value(&format!("bytes */{len}")));
                return Ok(respond(StatusCode::RANGE_NOT_SATISFIABLE, headers, Body::empty()));
            }
        }
    } else if status == StatusCode::PARTIAL_CONTENT
        && let Some(range) = head::original(entity, "content-range")
    {
        headers.insert(CONTENT_RANGE, value(&range));
    }
    match &entity.body {
        EntityBody::Bytes(bytes) => {
            let part = bytes.slice(from as usize..to as usize);
            if part.len() <= REWRITE_STEP_BYTES {
                return Ok(respond(status, headers, part.into()));
            }
            Ok(respond(status, headers, Body::new(Outgoing::memory(part, None, hold))))
        }
        EntityBody::Blob(large) => {
            if len.is_some() {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(to - from));
            }
            let (large, gate) = (large.clone(), gate(site, large));
            let content: Box<dyn std::io::Read + Send> = site
                .blocking(move |_| {
                    Ok(if large.is_coded() {
                        Box::new(large.open()?) as Box<dyn std::io::Read + Send>
                    } else {
                        large.open_at(from)?
                    })
                })
                .await?;
            let hold = Some(site.hold(REWRITE_STEP_BYTES * 4).await?);
            let body = Outgoing::file(content, to - from, None, hold).through(gate);
            Ok(respond(status, headers, Body::new(body)))
        }
    }
}

/// The original: its headers, and its bytes as they came but for the chunks they came in.
async fn original(
    site: &Site,
    reader: &Reader,
    shown: Shown,
    mut headers: HeaderMap,
    hold: Hold,
) -> Result<Response, Trouble> {
    let (memento, links) = (headers.remove("memento-datetime"), headers.remove(LINK));
    let mut ours = headers;
    let mut headers = HeaderMap::new();
    head::put_as_they_were(&shown.entity, &mut headers);
    // Ours are those that a reader of an archive needs, and those that keep it safe.
    for name in [ETAG, CACHE_CONTROL] {
        if let Some(text) = ours.remove(&name) {
            headers.insert(name, text);
        }
    }
    headers.extend(memento.map(|text| (http::HeaderName::from_static("memento-datetime"), text)));
    headers.extend(links.map(|text| (LINK, text)));
    headers.insert(CONTENT_SECURITY_POLICY, value(&reader.seat.policy_of_originals()));
    if let Some(target) = head::location(&shown.entity) {
        let at = shown.target_stamp.clone().unwrap_or_else(|| shown.entry.id.time.digits14());
        headers.insert(LOCATION, value(&Ask::path(&at, Modifier::Identity, &target)));
    }
    let id = shown.entry.id.clone();
    let wire = site
        .blocking(move |site| {
            let Some(capture) = site.archive().read_resolved(&id)? else { return Ok(None) };
            let StoredBody::Bytes(bytes, _) = &capture.main.body else { return Ok(None) };
            let is_chunked = ResponseHead::parse(&capture.main.head).is_some_and(|head| head.is_chunked());
            let entity = is_chunked.then(|| dechunk(bytes)).flatten().map(|(entity, _)| entity);
            Ok(Some(entity.map_or_else(|| Bytes::copy_from_slice(bytes), Bytes::from)))
        })
        .await?;
    match wire {
        Some(bytes) => {
            Ok(respond(head::status(&shown.entity), headers, Body::new(Outgoing::memory(bytes, None, hold))))
        }
        None => {
            if matches!(&shown.entity.body, EntityBody::Blob(large) if large.is_coded()) {
                // Too large to be held, and read with its codings off.
                headers.remove(CONTENT_ENCODING);
            }
            untouched(site, reader, &shown.entity, headers, hold).await
        }
    }
}

fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
