//! Who may do what on the UI origin: only under our own names, and changes only for whoever runs this.
//!
//! A change needs the archive's token; or, on this very machine, proof that one of our own pages asks (`Sec-Fetch-Site`, or
//! `Origin`), which no other site can forge. Archived pages are other sites: they live on the other listener.

use crate::answer::{self, Trouble};
use crate::limits::{REQUEST_BODY_BYTES_MAX, REQUEST_BODY_TIME};
use crate::origin::UiSeat;
use crate::server::Peer;
use crate::site::Site;
use crate::ui::TroublePage;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use http::{HeaderMap, Method, StatusCode};
use tokio::time::timeout;

/// Lets a request through that came under a name of ours, with its [`UiSeat`]; and a change only with leave.
pub(crate) async fn ui(
    State(site): State<Site>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let host = host(request.headers());
    let Some(seat) = site.hosts().ui(host) else { return misdirected(host) };
    if let Some(port) = host.strip_prefix("[::1]:") {
        // A policy cannot name such an address, so that a frame could not be shown on a page there.
        return answer::redirect(StatusCode::TEMPORARY_REDIRECT, &format!("http://localhost:{port}{}", request.uri()));
    }
    let trust = Trust { is_local: is_local(peer, request.headers()) };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let (parts, body) = request.into_parts();
        let Ok(body) = timeout(REQUEST_BODY_TIME, axum::body::to_bytes(body, REQUEST_BODY_BYTES_MAX)).await else {
            return answer::with(
                StatusCode::REQUEST_TIMEOUT,
                Body::empty(),
                &[(CONNECTION, HeaderValue::from_static("close"))],
            );
        };
        let Ok(body) = body else {
            return Trouble::Asked(format!("what was sent is longer than {REQUEST_BODY_BYTES_MAX} bytes"))
                .into_response();
        };
        if !may_write(&site, &seat, trust, &parts.headers, &body) {
            let is_person = parts.headers.get(ACCEPT).is_some_and(|a| a.as_bytes().starts_with(b"text/html"));
            return if is_person { TroublePage(forbidden()).into_response() } else { forbidden().into_response() };
        }
        request = Request::from_parts(parts, body.into());
    }
    request.extensions_mut().insert(seat);
    request.extensions_mut().insert(trust);
    next.run(request).await
}

fn forbidden() -> Trouble {
    let sentence = "changes need the archive's token (in the file `token` of its directory): send it as \
                    `Authorization: Bearer TOKEN`, or in the form's field `token`";
    Trouble::Forbidden(sentence.to_owned())
}

/// The name that we are called by. Two names are none: which of them a proxy before us believed is not known.
pub(crate) fn host(head: &HeaderMap) -> &str {
    let mut names = head.get_all(HOST).iter();
    match (names.next().and_then(|name| name.to_str().ok()), names.next()) {
        (Some(name), None) => name,
        _ => "",
    }
}

/// Whether the person at the other end sits at this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trust {
    pub(crate) is_local: bool,
}

/// A proxy on this machine speaks for others.
fn is_local(peer: Peer, head: &HeaderMap) -> bool {
    let is_forwarded = ["forwarded", "x-forwarded-for", "x-real-ip", "via"].iter().any(|name| head.contains_key(*name));
    peer.0.ip().to_canonical().is_loopback() && !is_forwarded
}

fn may_write(site: &Site, seat: &UiSeat, trust: Trust, head: &HeaderMap, body: &[u8]) -> bool {
    let get = |name: &str| head.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let shown = get(AUTHORIZATION.as_str()).strip_prefix("Bearer ").unwrap_or_else(|| get("x-herodotus-token"));
    let in_form =
        get(CONTENT_TYPE.as_str()).starts_with("application/x-www-form-urlencoded").then(|| form_token(body)).flatten();
    if let Some(shown) = in_form.or_else(|| (!shown.is_empty()).then(|| shown.to_owned())) {
        return site.token().is(&shown);
    }
    let is_same_origin = match (get("sec-fetch-site"), get(ORIGIN.as_str())) {
        ("", origin) => origin == seat.origin,
        (site, origin) => site == "same-origin" && (origin.is_empty() || origin == seat.origin),
    };
    trust.is_local && is_same_origin
}

/// The field `token` of a form. A token is letters and digits, so that nothing in it is encoded.
fn form_token(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let token = text.split('&').find_map(|field| field.strip_prefix("token="))?;
    (!token.is_empty()).then(|| token.to_owned())
}

/// The name in `Host` is not ours: somebody's DNS points at us, or a proxy is not told of.
pub(crate) fn misdirected(host: &str) -> Response {
    let host: String = host.chars().take(100).collect();
    let sentence = format!(
        "`{host}` is not a name of this archive. If it should be, start it with --url (and --replay-url) to say by which names \
         browsers reach it.\n"
    );
    answer::text(StatusCode::MISDIRECTED_REQUEST, "text/plain; charset=utf-8", sentence)
}
