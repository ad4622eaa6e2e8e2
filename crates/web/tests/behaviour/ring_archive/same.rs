//! What is asked of the ring and of one store alike, and must be answered alike.

use super::Ring;
use super::captures::MANY;
use crate::common::{Answer, Face};
use herodotus_catalogue::Catalogue;
use herodotus_store::archive::{Format, Selection, export};
use herodotus_web::archive::Everything;
use regex::Regex;
use std::sync::Arc;

const UI: bool = true;
const REPLAY: bool = false;

/// An answer without what differs between two servers that hold the same: ports, and the size of a disk.
fn plain(face: &Face, mut answer: Answer) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let ports = [(format!(":{}", face.ui), ":UIUIU"), (format!(":{}", face.replay), ":RPLAY")];
    let without = |text: &str| ports.iter().fold(text.to_owned(), |text, (port, name)| text.replace(port, name));
    answer.headers.remove("date");
    if answer.header("content-type").starts_with("text/") || answer.header("content-type").contains("json") {
        let text = without(&String::from_utf8_lossy(&answer.body));
        let disk = Regex::new(r#", [0-9.]+ .?B on this disk|"bytes_on_disk":[0-9]+"#).unwrap();
        let is_told = disk.is_match(&text);
        answer.body = disk.replace_all(&text, "").into_owned().into_bytes();
        if is_told {
            answer.headers.remove("content-length");
        }
    } else if let Ok(text) = std::str::from_utf8(&answer.body) {
        answer.body = without(text).into_bytes();
    }
    let headers = answer.headers.iter().map(|(name, value)| (name.clone(), without(value))).collect();
    (answer.status, headers, answer.body)
}

fn ask(face: &Face, is_ui: bool, path: &str, headers: &[(&str, &str)]) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let port = if is_ui { face.ui } else { face.replay };
    plain(face, face.ask(port, "GET", path, headers))
}

impl Ring {
    /// Asks both, and answers with what both said.
    #[track_caller]
    pub(crate) fn same(&self, is_ui: bool, path: &str, headers: &[(&str, &str)]) -> (u16, Vec<u8>) {
        let (whole, ring) = (ask(&self.whole, is_ui, path, headers), ask(&self.face, is_ui, path, headers));
        let shown = |body: &[u8]| String::from_utf8_lossy(body).chars().take(6000).collect::<String>();
        assert_eq!(whole.0, ring.0, "{path}: {}", shown(&ring.2));
        assert_eq!(whole.1, ring.1, "{path}");
        if whole.2 != ring.2 {
            panic!("{path}\n--- one store\n{}\n--- the ring\n{}", shown(&whole.2), shown(&ring.2));
        }
        (whole.0, whole.2)
    }
}

const URLS: [&str; 18] = [
    "http://site.test/",
    "https://site.test/",
    "http://copy.test/",
    "http://site.test/old",
    "http://other.test/new",
    "http://site.test/a/b?x=1&y=2",
    "http://site.test/a/%C3%A9%20b",
    "http://site.test/a/",
    "http://site.test/a/c",
    "http://site.test/s.css",
    "http://site.test/j.js",
    "http://site.test/i.png",
    "http://site.test/packed",
    "http://site.test/chunked",
    "http://site.test/asked",
    "http://sub.site.test/x.png",
    "http://many.test/page",
    "http://site.test/none",
];

#[test]
fn every_page_shows_what_one_store_shows() {
    let ring = Ring::new();
    for path in ["/", "/api/v1/totals", "/api/v1/recent"] {
        assert_eq!(ring.same(UI, path, &[]).0, 200, "{path}");
    }
    for words in
        ["histories", "greek hist", "question", "second book", "nothing", "site.test", "site.test/a/*", "test*"]
    {
        let words = words.replace(' ', "+");
        ring.same(UI, &format!("/search?q={words}"), &[]);
        let (_, body) = ring.same(UI, &format!("/api/v1/search?q={words}"), &[]);
        let has_some = words == "nothing" || words == "test*" || body.windows(8).any(|w| w == b"\"stamp\":");
        assert!(has_some, "{words}: {}", String::from_utf8_lossy(&body));
    }
    for url in URLS {
        ring.same(UI, &format!("/web/*/{url}"), &[]);
        ring.same(UI, &format!("/web/2014*/{url}"), &[]);
        ring.same(UI, &format!("/api/v1/versions?url={}", url.replace('&', "%26")), &[]);
        for stamp in ["2013", "20140203030321", "20140310", "20150303030321", "2030"] {
            ring.same(UI, &format!("/web/{stamp}/{url}"), &[]);
            ring.same(UI, &format!("/api/v1/version?url={}&at={stamp}", url.replace('&', "%26")), &[]);
        }
        ring.same(UI, &format!("/diff?url={}", url.replace('&', "%26")), &[]);
        ring.same(UI, &format!("/api/v1/difference?url={}", url.replace('&', "%26")), &[]);
    }
    for view in ["", "&view=inline", "&view=rendered"] {
        ring.same(UI, &format!("/diff?url=http://site.test/&from=20140103030321&to=20140203030321{view}"), &[]);
    }
    for host in
        ["site.test", "site.test/a/", "site.test/a/c%3F", "many.test", "other.test", "none.test", "sub.site.test"]
    {
        ring.same(UI, &format!("/host/{host}"), &[]);
        let (name, path) = host.split_once('/').unwrap_or((host, ""));
        ring.same(UI, &format!("/api/v1/host?host={name}&path=/{path}"), &[]);
    }
    // Years of a URL with many versions, walked page by page as its reader does.
    let mut next = Some("/api/v1/versions?url=http://many.test/page".to_owned());
    let mut listed = 0;
    while let Some(path) = next {
        let (_, body) = ring.same(UI, &path, &[]);
        let page: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(page["total"], MANY);
        listed += page["list"].as_array().unwrap().len();
        next = page["next"].as_str().map(|next| format!("/api/v1/versions?url=http://many.test/page&before={next}"));
    }
    assert_eq!(listed, MANY as usize);
}

#[test]
fn replay_gives_what_one_store_gives() {
    let ring = Ring::new();
    let modifiers = ["", "id_", "im_", "cs_", "js_", "oe_", "if_"];
    let stamps = ["2013", "20140103030321", "20140303030321", "20140403030321", "20150103030324", "2030"];
    for url in ["http://site.test/film.mp4", "http://site.test/large.txt"] {
        for modifier in ["", "id_", "oe_"] {
            ring.same(REPLAY, &format!("/web/20150901{modifier}/{url}"), &[]);
        }
        ring.same(REPLAY, &format!("/web/20150801000000/{url}"), &[]);
        ring.same(REPLAY, &format!("/web/20150802000000/{url}"), &[]);
    }
    for url in URLS {
        for modifier in modifiers {
            for stamp in stamps {
                ring.same(REPLAY, &format!("/web/{stamp}{modifier}/{url}"), &[]);
            }
        }
        ring.same(REPLAY, &format!("/web/{url}"), &[("Accept-Datetime", "Mon, 03 Feb 2014 09:00:00 GMT")]);
        ring.same(REPLAY, &format!("/web/timegate/{url}"), &[("Accept-Datetime", "Mon, 03 Feb 2014 09:00:00 GMT")]);
        ring.same(REPLAY, &format!("/web/20140103030321/{url}"), &[("Sec-Fetch-Dest", "iframe")]);
    }
    // Revisits show what they stand for, wherever that lies; a redirect leads to its target of that day.
    let of = |path: &str| ring.same(REPLAY, path, &[]);
    for path in ["/web/20140303030321/http://site.test/", "/web/20140404030321/http://copy.test/"] {
        let (status, body) = of(path);
        assert!(status == 200 && String::from_utf8_lossy(&body).contains("wars of the Greeks"), "{path}");
    }
    let answer = ring.face.get("/web/20150401000000/http://site.test/old");
    assert_eq!(answer.header("location"), "/web/20150401000002/http://other.test/new");
    // Parts of what is small and of what is large.
    for url in ["http://site.test/film.mp4", "http://site.test/i.png", "http://site.test/large.txt"] {
        for range in ["bytes=0-9", "bytes=8000000-8000099", "bytes=-7", "bytes=99999999-", "bytes=5-"] {
            for modifier in ["oe_", "id_"] {
                ring.same(REPLAY, &format!("/web/2030{modifier}/{url}"), &[("Range", range)]);
            }
        }
    }
    let film = ring.face.get("/web/20150801000000oe_/http://site.test/film.mp4");
    assert!(film.body == super::captures::noise(9_000_000));
    let text = ring.face.get("/web/20150802000000/http://site.test/large.txt");
    assert_eq!((text.status, text.body.len()), (200, 5_000_000));
}

#[test]
fn tools_are_answered_as_one_store_answers_them() {
    let ring = Ring::new();
    for url in URLS.iter().chain(&["http://site.test/film.mp4", "http://site.test/large.txt"]) {
        for format in ["link", "json", "cdxj"] {
            ring.same(REPLAY, &format!("/web/timemap/{format}/{url}"), &[]);
        }
        ring.same(UI, &format!("/web/timemap/link/20140203030321/{url}"), &[]);
        for stamp in ["2013", "20140103030321", "20140303030321rq_", "20140404030321.gz", "20160101000000rq_", "2030"] {
            ring.same(REPLAY, &format!("/warc/{stamp}/{url}"), &[]);
        }
        ring.same(UI, &format!("/cdx?url={}", url.replace('&', "%26")), &[]);
    }
    for name in ["20150801000000", "20150802000000"] {
        for url in ["http://site.test/film.mp4", "http://site.test/large.txt"] {
            ring.same(REPLAY, &format!("/warc/{name}/{url}"), &[]);
        }
    }
    let matches = [
        "url=site.test",
        "url=site.test/a/*",
        "url=site.test&matchType=host",
        "url=*.site.test",
        "url=test&matchType=domain",
        "url=many.test/page",
        "url=many.test*",
        "url=none.test",
    ];
    let more = [
        "",
        "&output=json",
        "&output=text&fl=timestamp,status,filename",
        "&sort=reverse",
        "&limit=3",
        "&limit=-3",
        "&offset=2&limit=2",
        "&from=2014&to=201404",
        "&from=2014&to=201404&sort=reverse",
        "&closest=20140217030321&limit=4",
        "&filter==status:404",
        "&filter=!status:200&collapse=timestamp:6",
        "&collapse=urlkey",
        "&collapse=timestamp:8&sort=reverse",
        "&resolveRevisits=true",
        "&showNumPages=true&pageSize=1",
        "&pageSize=1&page=0",
        "&pageSize=1&page=7",
        "&showPagedIndex=true&pageSize=1",
    ];
    for (start, rest) in matches.iter().flat_map(|start| more.map(|rest| (start, rest))) {
        ring.same(REPLAY, &format!("/cdx?{start}{rest}"), &[]);
    }
    // Walked with a resume key, which is the same on both.
    for order in ["", "&sort=reverse", "&collapse=timestamp:8"] {
        let (mut resume, mut lines) = (String::new(), 0);
        loop {
            let query =
                format!("/cdx?url=test&matchType=domain&output=text&limit=150&showResumeKey=true{order}{resume}");
            let (_, body) = ring.same(REPLAY, &query, &[]);
            let text = String::from_utf8(body).unwrap();
            let (page, key) = text.split_once("\n\n").map_or((text.as_str(), None), |(page, key)| (page, Some(key)));
            lines += page.lines().count();
            let Some(key) = key else { break };
            resume = format!("&resumeKey={}", key.trim());
        }
        assert!(lines > if order.contains("collapse") { 20 } else { MANY as usize }, "{order}: {lines}");
    }
}

#[test]
fn an_export_of_the_ring_is_the_export_of_one_store_that_has_everything() {
    let ring = Ring::new();
    let folder = tempfile::tempdir().unwrap();
    let catalogue = Catalogue::open(&folder.path().join("catalogue")).unwrap();
    let everything = Everything::new(ring.face.store.clone(), Arc::new(catalogue), ring.machines.clone());
    for full in [false, true] {
        let (alone, together) = (folder.path().join("alone.warc"), folder.path().join("together.warc"));
        let (all, format) = (Selection::default(), Format::of_path(&alone).unwrap());
        let expected = export(&ring.whole.store, &all, &alone, format, full, |_| {}).unwrap();
        let report = export(&everything, &all, &together, format, full, |_| {}).unwrap();
        assert_eq!(report, expected);
        assert!(report.captures > 10 && report.damaged == 0, "{report:?}");
        assert!(std::fs::read(&together).unwrap() == std::fs::read(&alone).unwrap(), "full: {full}");
    }
}
