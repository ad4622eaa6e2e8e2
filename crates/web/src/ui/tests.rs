//! What holds for every page, whatever strangers wrote into what it shows.

use super::samples::{PLAIN, Words, pages};
use axum::response::Response;
use http::StatusCode;
use http_body_util::BodyExt;

const HOSTILE: Words<'_> = Words {
    title: "\"'><script>alert(1)</script><img src=x onerror=alert(2)><a href=javascript:alert(3) style=x>é&amp;\u{202e}",
    url: "http://x.example/\"'><script>alert(4)</script>\\..\\../?a=\"><img/src=x/onerror=alert(5)>#&lt;\u{e9}",
};

/// Routes on our origin: everything before `*` must begin so.
const ROUTES: [&str; 20] = [
    "/",
    "/search",
    "/search?*",
    "/go",
    "/web/*",
    "/diff",
    "/diff?*",
    "/host/*",
    "/crawls",
    "/crawls/*",
    "/ring",
    "/ring/health",
    "/ring/people",
    "/assets/*",
    "/cdx?*",
    "/warc/*",
    "/api/v1/openapi.json",
    "#*",
    "http://*.localhost:8481/web/*",
    "",
];

async fn text(response: Response) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Every tag of a page: its name, and its attributes as a browser would read them.
fn tags(page: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let Some(first) = rest.chars().next() else { break };
        if !first.is_ascii_alphabetic() {
            continue;
        }
        let name_end = rest.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(rest.len());
        let name = rest[..name_end].to_owned();
        rest = &rest[name_end..];
        let mut attributes = Vec::new();
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            if rest.is_empty() || rest.starts_with('>') {
                break;
            }
            let end = rest.find(|c: char| c.is_whitespace() || c == '=' || c == '>').unwrap_or(rest.len());
            let key = rest[..end].to_owned();
            rest = &rest[end..];
            let mut value = String::new();
            if let Some(after) = rest.strip_prefix("=\"") {
                let close = after.find('"').expect("every attribute is quoted");
                value = after[..close]
                    .replace("&quot;", "\"")
                    .replace("&lt;", "<")
                    .replace("&gt;", ">")
                    .replace("&amp;", "&");
                rest = &after[close + 1..];
            } else {
                assert!(!rest.starts_with('='), "an attribute without quotes: {key}");
            }
            attributes.push((key, value));
        }
        tags.push((name, attributes));
    }
    tags
}

fn matches(route: &str, link: &str) -> bool {
    let mut parts = route.split('*');
    let Some(mut rest) = link.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut is_open = false;
    for part in parts {
        is_open = true;
        if part.is_empty() {
            return true;
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    is_open || rest.is_empty()
}

#[tokio::test]
async fn no_page_runs_or_styles_what_a_stranger_wrote() {
    for words in [PLAIN, HOSTILE] {
        for (name, response) in pages(words) {
            let page = text(response).await;
            for (tag, attributes) in tags(&page) {
                assert!(!matches!(tag.as_str(), "style" | "object" | "embed" | "base" | "img"), "{name}: <{tag}>");
                let get = |key: &str| attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
                if tag == "script" {
                    assert!(get("src").is_some_and(|src| src.starts_with("/assets/")), "{name}: a script of whom?");
                }
                for (key, value) in &attributes {
                    assert!(key != "style" && !key.starts_with("on"), "{name}: {key} on <{tag}>");
                    assert!(
                        !value.trim_start().to_ascii_lowercase().starts_with("javascript:"),
                        "{name}: {key}={value}"
                    );
                }
            }
            assert!(!page.contains("<script>"), "{name}");
        }
    }
}

#[tokio::test]
async fn every_link_leads_to_a_route() {
    for words in [PLAIN, HOSTILE] {
        for (name, response) in pages(words) {
            for (tag, attributes) in tags(&text(response).await) {
                for (key, link) in attributes {
                    let is_link = matches!(key.as_str(), "href" | "src" | "action");
                    if !is_link
                        || link.starts_with("http://192.168.1.5:8481/web/")
                        || link.starts_with("http://localhost:8481/web/")
                    {
                        continue;
                    }
                    assert!(ROUTES.iter().any(|route| matches(route, &link)), "{name}: <{tag} {key}=\"{link}\">");
                    // What a browser would turn into another path before it asks.
                    let path = link.split(['?', '#']).next().unwrap_or_default();
                    assert!(!path.contains('\\') && !path.split('/').any(|step| step == ".."), "{name}: {link}");
                    assert!(link.bytes().all(|b| (b'!'..=b'~').contains(&b)), "{name}: {link}");
                }
            }
        }
    }
}

#[tokio::test]
async fn every_page_comes_with_its_policy() {
    for (name, response) in pages(PLAIN) {
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self'; "), "{name}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"), "{name}: {policy}");
        let has_frames = matches!(name, "viewer" | "viewer-away" | "diff-rendered");
        assert_eq!(policy.contains("frame-src 'none'"), !has_frames, "{name}: {policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "same-origin");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin");
    }
}

#[tokio::test]
async fn ids_are_unique_and_labels_name_them() {
    for (name, response) in pages(PLAIN) {
        let tags = tags(&text(response).await);
        let all = |wanted: &str| -> Vec<String> {
            tags.iter().flat_map(|(_, a)| a).filter(|(key, _)| key == wanted).map(|(_, value)| value.clone()).collect()
        };
        let mut ids = all("id");
        ids.sort();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "{name}: an id twice");
        for wanted in all("for").into_iter().chain(all("aria-labelledby")) {
            assert!(ids.contains(&wanted), "{name}: nothing has the id {wanted}");
        }
    }
}

#[tokio::test]
async fn every_picture_and_field_has_a_name() {
    for (name, response) in pages(PLAIN) {
        let page = text(response).await;
        let labelled: Vec<String> =
            tags(&page).iter().flat_map(|(_, a)| a.clone()).filter(|(k, _)| k == "for").map(|(_, v)| v).collect();
        for (tag, attributes) in tags(&page) {
            let get = |key: &str| attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
            match tag.as_str() {
                "svg" => assert!(
                    get("aria-hidden").is_some() || get("aria-label").is_some(),
                    "{name}: a picture without a name"
                ),
                "iframe" => {
                    assert!(get("title").is_some_and(|title| !title.is_empty()), "{name}: a frame without a title");
                }
                "input" | "select" if get("type") != Some("hidden") => {
                    let has_name =
                        get("aria-label").is_some() || get("id").is_some_and(|id| labelled.iter().any(|l| l == id));
                    // A token's field lies within its label.
                    assert!(
                        has_name || get("name") == Some("token"),
                        "{name}: a field without a label: {attributes:?}"
                    );
                }
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn a_token_is_asked_for_only_away_from_this_machine() {
    for (name, response) in pages(PLAIN) {
        let page = text(response).await;
        let has_field = page.contains("name=\"token\"");
        assert_eq!(has_field, matches!(name, "home-away" | "crawl-away"), "{name}");
    }
}

#[tokio::test]
async fn the_viewer_lets_an_archived_page_do_no_more_than_it_must() {
    for (name, response) in pages(PLAIN) {
        for (tag, attributes) in tags(&text(response).await) {
            if tag != "iframe" {
                continue;
            }
            let sandbox = &attributes.iter().find(|(key, _)| key == "sandbox").expect("a sandbox").1;
            assert!(sandbox.contains("allow-scripts") && sandbox.contains("allow-forms"), "{name}");
            for never in ["allow-top-navigation", "allow-popups", "allow-storage-access", "allow-presentation"] {
                assert!(!sandbox.contains(never), "{name}: {never}");
            }
            assert_eq!(sandbox.contains("allow-same-origin"), name != "viewer-away", "{name}");
        }
    }
}

#[test]
fn troubles_keep_their_status() {
    let statuses: Vec<StatusCode> =
        pages(PLAIN).into_iter().filter(|(name, _)| *name == "trouble").map(|(_, r)| r.status()).collect();
    assert_eq!(statuses.iter().map(|s| s.as_u16()).collect::<Vec<_>>(), [400, 404, 403, 503, 503, 500, 503, 503, 502]);
    let missing = pages(PLAIN).into_iter().find(|(name, _)| *name == "versions-missing").unwrap().1;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

/// A colour of the sheet, by day and by night.
fn colours(name: &str) -> [[f64; 3]; 2] {
    let sheet = include_str!("../../assets/style.css");
    let value = sheet.split_once(&format!("--{name}: light-dark(")).expect(name).1;
    let (pair, _) = value.split_once(')').expect(name);
    let parts: Vec<[f64; 3]> = pair
        .split(", ")
        .map(|hex| [1, 3, 5].map(|at| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect(name)) / 255.0))
        .collect();
    [parts[0], parts[1]]
}

/// WCAG 2: relative luminance.
fn luminance(colour: [f64; 3]) -> f64 {
    let linear = colour.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

#[test]
fn text_can_be_read_by_day_and_by_night() {
    let text = [
        "ink on paper",
        "ink on surface",
        "ink on sunken",
        "ink on good-wash",
        "ink on good-mark",
        "ink on bad-wash",
        "ink on bad-mark",
        "ink-soft on paper",
        "ink-soft on surface",
        "ink-soft on sunken",
        "ink-soft on clay-wash",
        "clay on paper",
        "clay on surface",
        "clay on sunken",
        "clay on clay-wash",
        "on-clay on clay",
        "on-clay on clay-deep",
        "on-d12 on d1",
        "on-d12 on d2",
        "on-d3 on d3",
        "on-clay on d4",
        "day on paper",
        "good on good-wash",
        "turn on turn-wash",
        "bad on bad-wash",
        "warn on warn-wash",
        "good on paper",
        "bad on paper",
        "bad on surface",
        "surface on turn",
        "surface on bad",
    ];
    let edges =
        ["edge on paper", "edge on surface", "clay on paper", "turn on surface", "good on surface", "ink on surface"];
    for (pairs, least) in [(&text[..], 4.5), (&edges[..], 3.0)] {
        for pair in pairs {
            let (front, back) = pair.split_once(" on ").unwrap();
            for (front, back) in colours(front).into_iter().zip(colours(back)) {
                let (a, b) = (luminance(front), luminance(back));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= least, "{pair}: {contrast:.2}");
            }
        }
    }
}
