//! Styles, scripts and the icon, inside the program. Their address holds a hash of what they are, so that a browser may keep
//! them for ever and still sees a new release at once.

use crate::answer;
use crate::site::Site;
use axum::Router;
use axum::extract::{Path, RawQuery};
use axum::response::Response;
use axum::routing::get;
use herodotus_base::Sha256;
use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use std::sync::LazyLock;

#[derive(Debug)]
struct Asset {
    name: &'static str,
    content_type: &'static str,
    text: &'static str,
    /// `/assets/style.css?v=…`
    address: String,
}

static ASSETS: LazyLock<[Asset; 5]> = LazyLock::new(|| {
    let css = "text/css; charset=utf-8";
    let js = "text/javascript; charset=utf-8";
    [
        asset("style.css", css, include_str!("../../assets/style.css")),
        asset("ring.css", css, include_str!("../../assets/ring.css")),
        asset("ui.js", js, include_str!("../../assets/ui.js")),
        asset("viewer.js", js, include_str!("../../assets/viewer.js")),
        asset("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
    ]
});

fn asset(name: &'static str, content_type: &'static str, text: &'static str) -> Asset {
    let hash = Sha256::of(text.as_bytes());
    let version: String = hash.0.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Asset { name, content_type, text, address: format!("/assets/{name}?v={version}") }
}

/// Where a page finds an asset. A name that is none: nothing.
pub(crate) fn address(name: &str) -> &'static str {
    ASSETS.iter().find(|asset| asset.name == name).map_or("", |asset| asset.address.as_str())
}

pub(crate) fn router() -> Router<Site> {
    Router::new().route("/assets/{name}", get(serve)).route("/favicon.ico", get(favicon))
}

async fn serve(Path(name): Path<String>, RawQuery(query): RawQuery) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return answer::text(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", "there is no such file");
    };
    let is_this = query.is_some_and(|query| asset.address.ends_with(&format!("?{query}")));
    send(asset, is_this)
}

/// Browsers ask for it whatever a page says.
async fn favicon() -> Response {
    ASSETS.iter().find(|asset| asset.name == "icon.svg").map_or_else(Response::default, |asset| send(asset, false))
}

fn send(asset: &Asset, for_ever: bool) -> Response {
    let mut response = answer::text(StatusCode::OK, asset.content_type, asset.text);
    let age = if for_ever { "public, max-age=31536000, immutable" } else { "no-cache" };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(age));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_present_version_is_kept_for_ever() {
        for (query, age) in [
            (address("style.css").split_once('?').unwrap().1.to_owned(), "public, max-age=31536000, immutable"),
            ("v=old".to_owned(), "no-cache"),
            (String::new(), "no-cache"),
        ] {
            let response = serve(Path("style.css".to_owned()), RawQuery(Some(query))).await;
            assert_eq!(response.headers()[CACHE_CONTROL], age);
        }
        let missing = serve(Path("../style.css".to_owned()), RawQuery(None)).await;
        assert_eq!(missing.status(), StatusCode::NOT_FOUND);
        assert_eq!(address("nothing"), "");
    }

    #[test]
    fn assets_name_nothing_outside() {
        for asset in ASSETS.iter() {
            let text = asset.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("http://") && !text.contains("https://"), "{}", asset.name);
            assert!(!text.contains("@import") && !text.contains("url(//"), "{}", asset.name);
        }
    }
}
