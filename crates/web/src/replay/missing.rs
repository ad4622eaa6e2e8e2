//! What a frame shows where the archive has nothing: what is near, and how to have it.

use super::Reader;
use crate::answer::{self, Trouble};
use crate::archive::Away;
use crate::lookup::Want;
use crate::site::Site;
use crate::wayback::{Ask, Modifier, When};
use axum::response::Response;
use herodotus_base::Timestamp;
use herodotus_page::host_range;
use herodotus_store::Entry;
use http::StatusCode;
use maud::{DOCTYPE, html};

/// URLs of the same host that are told.
const NEAR_MAX: usize = 12;

pub(super) async fn page(site: &Site, reader: &Reader, ask: &Ask, want: Want) -> Result<Response, Trouble> {
    if want == Want::Embed || ask.modifier == Modifier::Identity {
        let sentence = format!("{} is not in this archive\n", ask.url);
        return Ok(answer::text(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", sentence));
    }
    let url = ask.url.clone();
    let near = site.blocking(move |site| near(site, &url)).await?;
    let stamp = match &ask.when {
        When::At(digits, _) => digits.clone(),
        When::Newest | When::All => Timestamp::now().digits14(),
    };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Not in this archive" }
                script src="/herodotus/replay.js" data-stamp=(stamp) data-url=(ask.url) data-mode=(reader.seat.mode().as_str()) {}
                style { (maud::PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { "Not in this archive" }
                    p.url { (ask.url) }
                    p {
                        "No version of this page was kept. "
                        a href=(Ask::path(&stamp, Modifier::None, &ask.url)) target="_blank" { "Open it by itself" }
                        " to archive it now."
                    }
                    @if !near.is_empty() {
                        h2 { "Kept of the same site" }
                        ul {
                            @for entry in &near {
                                li { a href=(Ask::path(&stamp, Modifier::None, &entry.url)) { (entry.url) } }
                            }
                        }
                    }
                }
            }
        }
    };
    Ok(answer::text(StatusCode::NOT_FOUND, "text/html; charset=utf-8", markup.into_string()))
}

/// What a frame shows where the archive has something that cannot be had just now.
pub(super) fn away(trouble: &Trouble) -> Response {
    let (why, rest) = match trouble {
        Trouble::Away(Away::Unsure) => ("Of this ", "If it was archived, it is not lost."),
        _ => ("This lies on other machines, and ", "Nothing is lost."),
    };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Not to be had just now" }
                style { (maud::PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { "Not to be had just now" }
                    p { (why) (trouble.sentence()) "." }
                    p { (rest) " " a href="" { "Try again" } " in a moment." }
                }
            }
        }
    };
    let mut response = answer::text(trouble.status(), "text/html; charset=utf-8", markup.into_string());
    response.headers_mut().extend(trouble.retry_after().map(|after| (http::header::RETRY_AFTER, after)));
    response
}

const STYLE: &str = "body{font:16px/1.6 system-ui,sans-serif;color:#222;background:#faf9f7;margin:0}\
    main{max-width:40rem;margin:12vh auto;padding:0 1.25rem}h1{font-size:1.6rem;margin:0 0 .5rem}\
    h2{font-size:1.05rem;margin:2rem 0 .5rem}.url{overflow-wrap:anywhere;color:#666}a{color:#0a5ca8}\
    li{overflow-wrap:anywhere;margin:.2rem 0}\
    @media(prefers-color-scheme:dark){body{color:#ddd;background:#191817}.url{color:#999}a{color:#7fb8ee}}";

/// Pages of the same host, the shortest first: those are the ones people look for.
fn near(site: &Site, url: &str) -> Result<Vec<Entry>, Trouble> {
    let (from, to) = host_range(url);
    let mut found: Vec<Entry> = Vec::new();
    for entry in site.archive().scan(&from, &to, false).take(NEAR_MAX * 40) {
        let entry = entry?;
        let is_page = entry.is_capture() && entry.media.contains("html") && matches!(entry.status, Some(200..=299));
        if is_page && found.last().is_none_or(|last| last.id.key != entry.id.key) {
            found.push(entry);
        }
    }
    found.sort_by_key(|entry| entry.url.len());
    found.truncate(NEAR_MAX);
    Ok(found)
}
