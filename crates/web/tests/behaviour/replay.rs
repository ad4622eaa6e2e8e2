//! Replay as programs and browsers ask for it: which version, which bytes, which headers, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common;

use common::Face;

const PAGE: &str = "http://site.example/a/";

fn three_versions() -> Face {
    let face = Face::new();
    for stamp in ["20260101000000", "20260201000000", "20260301000000"] {
        let body = format!("<!doctype html><title>{stamp}</title><a href=/x>x</a><img src=i.png>");
        face.keep(PAGE, stamp, "text/html", body.as_bytes());
    }
    face
}

#[test]
fn the_newest_version_not_newer_than_the_date_is_found_by_redirect() {
    let face = three_versions();
    for (asked, found) in [
        ("20260215", "20260201000000"),
        ("20260201000000", ""),
        ("2026", "20260301000000"),
        ("2030", "20260301000000"),
        // None is that old: the first.
        ("2020", "20260101000000"),
        ("20260131235959", "20260101000000"),
    ] {
        let answer = face.get(&format!("/web/{asked}/{PAGE}"));
        if found.is_empty() {
            assert_eq!(answer.status, 200);
            assert!(answer.text().contains("<title>20260201000000"));
        } else {
            assert_eq!(answer.status, 302, "{asked}");
            assert_eq!(answer.header("location"), format!("/web/{found}/{PAGE}"));
        }
    }
    assert_eq!(face.get(&format!("/web/{PAGE}")).header("location"), format!("/web/20260301000000/{PAGE}"));
}

#[test]
fn a_page_is_rewritten_and_keeps_its_own_headers_under_other_names() {
    let face = three_versions();
    let answer = face.get(&format!("/web/20260201000000/{PAGE}"));
    let text = answer.text();
    assert!(
        text.contains("href=\"/web/20260201000000/http://site.example/x\"")
            || text.contains("href=/web/20260201000000/http://site.example/x"),
        "{text}"
    );
    assert!(text.contains("/web/20260201000000im_/http://site.example/a/i.png"), "{text}");
    assert!(text.starts_with("<!doctype html>") && text.contains("<script src=\"/herodotus/replay.js\""), "{text}");
    assert_eq!(answer.header("content-type"), "text/html; charset=UTF-8");
    assert_eq!(answer.header("x-archive-orig-content-type"), "text/html");
    assert_eq!(answer.header("memento-datetime"), "Sun, 01 Feb 2026 00:00:00 GMT");
}

/// The wall, word for word, in each place where pages are shown: whoever changes what a browser lets archived pages do says so here.
#[test]
fn every_page_comes_with_exactly_this_policy() {
    let face = three_versions();
    let (ui, replay) = (face.ui, face.replay);
    // The name of site.example.
    let label = "hhet3nqzns2csreyf";
    for (host, own, pages) in [
        // Names of their own, below each of the two names of this machine.
        (
            format!("{label}.localhost:{replay}"),
            format!("'self' http://*.localhost:{replay}"),
            format!("http://localhost:{ui} http://127.0.0.1:{ui}"),
        ),
        (
            format!("{label}.herodotus.localhost:{replay}"),
            format!("'self' http://*.herodotus.localhost:{replay}"),
            format!("http://herodotus.localhost:{ui}"),
        ),
        // No origin: elsewhere, and for programs on this machine.
        (format!("192.168.1.5:{replay}"), format!("'self' http://192.168.1.5:{replay}"), String::new()),
        (format!("127.0.0.1:{replay}"), format!("'self' http://127.0.0.1:{replay}"), String::new()),
    ] {
        let (ancestors, same_origin) = match pages.as_str() {
            "" => (String::new(), ""),
            pages => (format!("frame-ancestors {own} {pages}; "), " allow-same-origin"),
        };
        let wanted = format!(
            "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval'; \
             frame-src {own} data: blob: about:; form-action {own}; base-uri {own}; object-src 'self'; \
             worker-src 'self' blob: data:; manifest-src 'none'; webrtc 'block'; {ancestors}\
             sandbox allow-scripts allow-forms allow-modals allow-downloads allow-pointer-lock{same_origin}"
        );
        let ask = |path: &str| face.get_with(path, &[("Host", &host), ("Sec-Fetch-Dest", "iframe")]);
        let page = ask(&format!("/web/20260201000000/{PAGE}"));
        assert_eq!((page.status, page.header("content-security-policy")), (200, wanted.as_str()), "{host}");
        // So does what is said where no page is.
        for path in ["/web/20260201000000/http://none.example/", "/web/nonsense", "/stray"] {
            assert_eq!(ask(path).header("content-security-policy"), wanted, "{host}{path}");
        }
    }
}

#[test]
fn the_original_is_given_byte_for_byte_with_its_headers() {
    let face = Face::new();
    let body = b"<p>\xff\x00 <a href=/x>".as_slice();
    let head = "HTTP/1.1 404 Not Here\r\nContent-Type: text/html; charset=x\r\nX-Own: 1\r\nSet-Cookie: a=b\r\nLocation: /y\r\n\r\n";
    face.keep_head(PAGE, "20260101000000", head, body);
    let answer = face.get(&format!("/web/20260101000000id_/{PAGE}"));
    assert_eq!((answer.status, answer.body.as_slice()), (404, body));
    assert_eq!((answer.header("x-own"), answer.header("content-type")), ("1", "text/html; charset=x"));
    assert_eq!((answer.header("set-cookie"), answer.header("x-archive-orig-set-cookie")), ("", "a=b"));
    // A browser that opens it runs nothing of it.
    let ancestors = format!("frame-ancestors http://localhost:{ui} http://127.0.0.1:{ui}", ui = face.ui);
    assert_eq!(answer.header("content-security-policy"), format!("default-src 'none'; sandbox; {ancestors}"));
}

#[test]
fn an_embedded_thing_is_the_nearest_and_comes_without_a_redirect() {
    let face = Face::new();
    face.keep("http://site.example/i.png", "20260101000000", "image/png", b"old");
    face.keep("http://site.example/i.png", "20260301000005", "image/png", b"new");
    let answer = face.get("/web/20260301000000im_/http://site.example/i.png");
    assert_eq!((answer.status, answer.text().as_str()), (200, "new"));
    assert_eq!(answer.header("content-location"), "/web/20260301000005im_/http://site.example/i.png");
    assert_eq!(face.get("/web/20260102im_/http://site.example/i.png").text(), "old");
    assert_eq!(face.get("/web/20260102im_/http://site.example/none.png").status, 404);
}

#[test]
fn parts_of_a_body_are_given_to_players() {
    let face = Face::new();
    face.keep("http://site.example/v.mp4", "20260101000000", "video/mp4", b"0123456789");
    let path = "/web/20260101000000oe_/http://site.example/v.mp4";
    let part = face.get_with(path, &[("Range", "bytes=2-4")]);
    assert_eq!((part.status, part.text().as_str(), part.header("content-range")), (206, "234", "bytes 2-4/10"));
    let beyond = face.get_with(path, &[("Range", "bytes=10-")]);
    assert_eq!((beyond.status, beyond.header("content-range")), (416, "bytes */10"));
    assert_eq!(face.get(path).header("accept-ranges"), "bytes");
    let tag = face.get(path).header("etag").to_owned();
    assert_eq!(face.get_with(path, &[("If-None-Match", &tag)]).status, 304);
    assert_eq!(face.get_with(path, &[("Range", "bytes=2-4"), ("If-Range", "\"other\"")]).status, 200);
}

#[test]
fn a_large_body_is_read_in_parts_without_reading_the_rest() {
    let face = Face::new();
    let bytes: Vec<u8> = (0..9_000_000u32).map(|n| (n % 251) as u8).collect();
    let mut writer = face.store.blob_writer("video/mp4").unwrap();
    std::io::Write::write_all(&mut writer, &bytes).unwrap();
    let body = writer.finish().unwrap();
    let time = herodotus_base::Timestamp::parse("20260101000000").unwrap();
    let url = "http://site.example/large.mp4";
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n".to_vec();
    let main = herodotus_store::Record::new(herodotus_store::Kind::Response, url, time, head, body);
    face.store.append(herodotus_store::Capture { url: url.into(), time, main, companions: vec![] }).unwrap();
    let path = format!("/web/20260101000000oe_/{url}");
    let part = face.get_with(&path, &[("Range", "bytes=8000000-8000099")]);
    assert_eq!((part.status, part.body.as_slice()), (206, &bytes[8_000_000..8_000_100]));
    let whole = face.get(&path);
    assert_eq!(whole.header("content-length"), "9000000");
    assert!(whole.body == bytes);
}

#[test]
fn a_redirect_leads_to_its_target_of_the_same_crawl() {
    let face = Face::new();
    face.keep("http://site.example/new", "20250101000000", "text/html", b"<p>last year");
    face.keep_redirect("http://site.example/old", "20260101000000", "/new");
    face.keep("http://site.example/new", "20260101000002", "text/html", b"<p>two seconds later");
    let answer = face.get("/web/20260101000000/http://site.example/old");
    assert_eq!(answer.status, 302);
    assert_eq!(answer.header("location"), "/web/20260101000002/http://site.example/new");
    assert_eq!(answer.header("x-archive-orig-location"), "/new");
}

#[test]
fn a_redirect_to_itself_in_another_form_is_passed_over() {
    let face = Face::new();
    face.keep("https://site.example/", "20260101000000", "text/html", b"<p>the page");
    face.keep_redirect("http://site.example/", "20260102000000", "https://site.example/");
    face.keep_redirect("http://site.example/dir", "20260102000000", "/dir/");
    face.keep("http://site.example/dir/", "20260102000001", "text/html", b"<p>the folder");
    let answer = face.get("/web/20260102000000/https://site.example/");
    assert_eq!(answer.header("location"), "/web/20260101000000/https://site.example/");
    let answer = face.get("/web/20260102000000/http://site.example/dir/");
    assert_eq!(answer.header("location"), "/web/20260102000001/http://site.example/dir/");
    // Nothing but a circle: it is shown as it is, and the browser ends it.
    face.keep_redirect("http://round.example/", "20260101000000", "http://round.example/");
    assert_eq!(face.get("/web/20260101000000/http://round.example/").status, 302);
}

#[test]
fn each_archived_host_runs_in_its_own_place() {
    let face = three_versions();
    let page = face.ask(face.ui, "GET", &format!("/web/20260201000000/{PAGE}"), &[]);
    let text = page.text();
    let at = text.find(".localhost:").unwrap_or_else(|| panic!("no frame: {text}"));
    let host = format!("{}.localhost:{}", &text[at - 17..at], face.replay);
    let path = format!("/web/20260201000000/{PAGE}");
    let shown = face.get_with(&path, &[("Host", &host), ("Sec-Fetch-Dest", "iframe"), ("Sec-Fetch-Mode", "navigate")]);
    assert_eq!(shown.status, 200);
    assert!(shown.text().contains("data-mode=\"names\""));
    assert!(shown.header("content-security-policy").contains("allow-same-origin"));
    // Another site's page, asked for under this name, is sent to its own.
    face.keep("http://other.example/", "20260201000000", "text/html", b"<p>other");
    let other = "/web/20260201000000/http://other.example/";
    let sent = face.get_with(other, &[("Host", &host), ("Sec-Fetch-Dest", "iframe"), ("Sec-Fetch-Mode", "navigate")]);
    assert_eq!(sent.status, 307);
    assert!(
        sent.header("location").ends_with(other) && !sent.header("location").contains(&host),
        "{}",
        sent.header("location")
    );
    // What it embeds is not.
    let embedded = face.get_with(other, &[("Host", &host), ("Sec-Fetch-Dest", "empty")]);
    assert_eq!(embedded.status, 200);
}

#[test]
fn a_person_who_opens_content_by_itself_is_taken_to_the_viewer() {
    let face = three_versions();
    let answer = face.get_with(&format!("/web/20260201000000/{PAGE}"), &[("Sec-Fetch-Dest", "document")]);
    assert_eq!(
        (answer.status, answer.header("location")),
        (302, format!("http://localhost:{}/web/20260201000000/{PAGE}", face.ui).as_str())
    );
}

#[test]
fn the_pages_origin_never_serves_archived_bytes() {
    let face = three_versions();
    for modifier in ["id_", "im_", "js_", "cs_", "if_", "oe_"] {
        let path = format!("/web/20260201000000{modifier}/{PAGE}");
        let answer = face.ask(face.ui, "GET", &path, &[]);
        assert_eq!(answer.status, 307);
        assert_eq!(answer.header("location"), format!("http://localhost:{}{path}", face.replay));
    }
    let viewer = face.ask(face.ui, "GET", &format!("/web/20260201000000/{PAGE}"), &[]);
    assert!(!viewer.text().contains("<title>20260201000000</title><a href"), "{}", viewer.text());
    assert!(viewer.header("link").contains("rel=\"original\""), "{}", viewer.header("link"));
    let gate =
        face.ask(face.ui, "GET", &format!("/web/{PAGE}"), &[("Accept-Datetime", "Tue, 10 Feb 2026 00:00:00 GMT")]);
    assert_eq!(gate.header("location"), format!("http://localhost:{}/web/20260201000000/{PAGE}", face.replay));
}

#[test]
fn archived_pages_install_no_service_worker_of_their_own() {
    let face = Face::new();
    face.keep("http://evil.example/sw.js", "20260101000000", "text/javascript", b"self.onfetch = 1");
    let path = "/web/20260101000000js_/http://evil.example/sw.js";
    assert_eq!(face.get_with(path, &[("Service-Worker", "script")]).status, 403);
    assert_eq!(face.get(path).status, 200);
    assert_eq!(face.get_with("/herodotus/sw.js", &[("Service-Worker", "script")]).status, 200);
}

#[test]
fn other_sites_can_not_read_the_archive() {
    let face = three_versions();
    let path = format!("/web/20260201000000/{PAGE}");
    let evil = [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")];
    assert_eq!(face.get_with(&path, &evil).status, 403);
    let image = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors"), ("Referer", "https://evil.example/")];
    assert_eq!(face.get_with(&path, &image).status, 403);
    let old_browser = face.get_with(&path, &[("Origin", "https://evil.example")]);
    assert_eq!(old_browser.header("access-control-allow-origin"), "");
    // A sandboxed frame of theirs has no origin to show, but no page of ours as its referrer either.
    let frame = face.get_with(&path, &[("Origin", "null"), ("Referer", "https://evil.example/")]);
    assert_eq!(frame.header("access-control-allow-origin"), "");
    let own = format!("http://127.0.0.1:{}/web/2026/http://site.example/", face.replay);
    let ours = face.get_with(
        &path,
        &[("Origin", "null"), ("Referer", &own), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")],
    );
    assert_eq!((ours.status, ours.header("access-control-allow-origin")), (200, "null"));
    // Whoever says nothing is nobody here. Where pages have no origin, it may be one of them.
    let silent = [("Origin", "null"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")];
    assert_eq!(face.get_with(&path, &silent).status, 403);
    let lan = [("Origin", "null"), ("Host", "192.0.2.7:8481")];
    assert_eq!(face.get_with(&path, &lan).header("access-control-allow-origin"), "null");
}

#[test]
fn names_that_are_not_ours_are_refused_on_both_listeners() {
    let face = three_versions();
    for port in [face.ui, face.replay] {
        for host in ["evil.example", &format!("evil.example:{port}"), "localhost.evil.example"] {
            let answer = face.ask(port, "GET", "/", &[("Host", host)]);
            assert_eq!(answer.status, 421, "{host}");
        }
        let own = format!("127.0.0.1:{port}");
        let two = face.ask(port, "GET", "/", &[("Host", &own), ("Host", "evil.example")]);
        assert_eq!(two.status, 421);
    }
}

#[test]
fn changes_need_a_token_or_a_page_of_ours() {
    let face = three_versions();
    let own = format!("http://127.0.0.1:{}", face.ui);
    let bearer = format!("Bearer {}", face.token);
    let replay = format!("http://127.0.0.1:{}", face.replay);
    for (headers, may) in [
        (vec![], false),
        (vec![("Origin", "https://evil.example")], false),
        (vec![("Origin", replay.as_str()), ("Sec-Fetch-Site", "same-site")], false),
        (vec![("Origin", "null")], false),
        (vec![("Authorization", "Bearer wrong")], false),
        (vec![("Authorization", "Bearer wrong"), ("Origin", own.as_str())], false),
        (vec![("Origin", own.as_str()), ("X-Forwarded-For", "203.0.113.9")], false),
        (vec![("Origin", own.as_str())], true),
        (vec![("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")], true),
        (vec![("Authorization", bearer.as_str())], true),
    ] {
        let mut headers = headers;
        headers.push(("Content-Type", "application/json"));
        let answer = face.send(face.ui, "POST", "/api/v1/crawls", &headers, br#"{"seeds":["http://site.example/"]}"#);
        // This archive runs no crawls: whoever may ask is told so.
        assert_eq!(answer.text().contains("changes need the archive's token"), !may, "{headers:?}: {}", answer.text());
    }
    // Nothing of the API is on the replay listener.
    assert_eq!(face.send(face.replay, "POST", "/api/v1/crawls", &[("Authorization", &bearer)], b"{}").status, 404);
}

#[test]
fn strays_are_sent_to_the_site_of_the_page_that_asked() {
    let face = three_versions();
    let page = format!("http://127.0.0.1:{}/web/20260201000000/{PAGE}", face.replay);
    let answer = face.get_with("/static/x.js", &[("Referer", &page), ("Sec-Fetch-Dest", "script")]);
    assert_eq!(
        (answer.status, answer.header("location")),
        (307, "/web/20260201000000js_/http://site.example/static/x.js")
    );
    assert_eq!(face.get("/static/x.js").status, 404);
    assert_eq!(face.get_with("/static/x.js", &[("Referer", "https://evil.example/web/2026/http://x/")]).status, 404);
}

#[test]
fn what_is_missing_is_told_with_what_is_near() {
    let face = three_versions();
    let answer = face.get("/web/2026/http://site.example/none");
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains(PAGE), "{}", answer.text());
    let hostile = face.get("/web/2026/http://site.example/%22%3E<script>alert(1)</script>");
    assert!(!hostile.text().contains("<script>alert"), "{}", hostile.text());
}

#[test]
fn urls_in_every_odd_spelling_are_answered() {
    let face = three_versions();
    face.keep("http://site.example/%E4%BD%A0?q=a%2Fb&c='", "20260101000000", "text/plain", b"odd");
    assert_eq!(face.get("/web/20260101000000/http://site.example/%E4%BD%A0?q=a%2Fb&c='").text(), "odd");
    for path in [
        "/web/",
        "/web",
        "/web//",
        "/web/2026",
        "/web/2026/",
        "/web/x/y/z",
        "/web/99999999999999/http://[::1",
        "/web/2026/http://%",
        "/web/2026/http://a/%00%ff",
        "/web/2026/http://a/?#",
        "/web/2026xx_/http://a/",
        "/web/2026/javascript:alert(1)",
        "/web/2026/data:text/html,x",
        "/web/2026/http://a@b:c@d/",
        "/web/2026/http:%2F%2Fsite.example%2Fa%2F",
        "/web/2026id_/",
        "/web/0/http://site.example/a/",
        "/web/2026/////site.example/a/",
        "/%",
        "/herodotus/",
        "/herodotus/..%2fx",
        "/web/2026/http://site.example/a/../../../..",
    ] {
        let answer = face.get(path);
        assert!((200..500).contains(&answer.status), "{path}: {}", answer.status);
        assert!(answer.header("content-security-policy").contains("sandbox") || answer.status < 500, "{path}");
    }
}

#[test]
fn a_page_of_many_pieces_streams_and_is_whole() {
    let face = Face::new();
    let mut body = b"<!doctype html><title>long</title>".to_vec();
    for n in 0..40_000 {
        body.extend_from_slice(format!("<a href=/{n}>{n}</a>\n").as_bytes());
    }
    face.keep(PAGE, "20260101000000", "text/html", &body);
    let text = face.get(&format!("/web/20260101000000/{PAGE}")).text();
    assert!(text.contains("/web/20260101000000/http://site.example/39999"), "{}", text.len());
    assert_eq!(text.matches("/web/20260101000000/http://site.example/").count(), 40_000);
}
