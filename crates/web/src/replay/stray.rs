//! Requests that missed the archive: a script asked for `/static/x.js`, and the browser sent that to us, not to the site it
//! was written for. The page that asked says in `Referer` which site that is.

use super::Reader;
use crate::answer::{self, Trouble};
use crate::wayback::{Ask, Modifier, PREFIX, When};
use axum::response::Response;
use herodotus_page::WebUrl;
use http::StatusCode;
use http::header::REFERER;

pub(super) fn answer(reader: &Reader, target: &str) -> Result<Response, Trouble> {
    let lost = || Trouble::NotFound(format!("archived pages are under {PREFIX}"));
    let referer = reader.get(REFERER);
    if !reader.seat.is_replay_url(referer) {
        return Err(lost());
    }
    let path = meant_by(referer, target, reader.destination()).ok_or_else(lost)?;
    // 307: a form that was posted is posted again.
    Ok(answer::redirect(StatusCode::TEMPORARY_REDIRECT, &path))
}

/// The archive's path for `target`, as the page at `referer` meant it.
fn meant_by(referer: &str, target: &str, destination: &str) -> Option<String> {
    let after = referer.split_once("://")?.1;
    let rest = after.get(after.find(PREFIX)? + PREFIX.len()..)?;
    let page = Ask::parse(rest)?;
    let When::At(stamp, _) = page.when else { return None };
    let meant = WebUrl::parse(&page.url).ok()?.join(target).ok()?;
    let modifier = match destination {
        "image" => Modifier::Embed("im_"),
        "script" => Modifier::Embed("js_"),
        "style" => Modifier::Embed("cs_"),
        "iframe" => Modifier::Frame("if_"),
        "frame" => Modifier::Frame("fr_"),
        "worker" | "sharedworker" => Modifier::Embed("wkr_"),
        "audio" | "video" | "track" | "font" | "object" | "embed" => Modifier::Embed("oe_"),
        _ => Modifier::None,
    };
    Some(Ask::path(&stamp, modifier, meant.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_goes_to_the_site_of_the_page_that_asked() {
        let page = "http://habc.localhost:8481/web/20260102030405/https://example.org/a/b?c#d";
        for (target, destination, path) in [
            ("/static/x.js", "script", "/web/20260102030405js_/https://example.org/static/x.js"),
            ("/x?y=/z", "empty", "/web/20260102030405/https://example.org/x?y=/z"),
            ("//other.example/x", "image", "/web/20260102030405im_/https://other.example/x"),
        ] {
            assert_eq!(meant_by(page, target, destination).unwrap(), path);
        }
        for nonsense in ["", "http://habc.localhost:8481/", "http://habc.localhost:8481/web/*/x", "null"] {
            assert_eq!(meant_by(nonsense, "/x", ""), None);
        }
    }
}
