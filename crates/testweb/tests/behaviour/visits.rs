//! What the server does beyond answering: remembers visits, compresses, is busy.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use flate2::read::GzDecoder;
use herodotus_testweb::{Config, Response, Server, Web, get, get_with};
use std::io::Read;
use std::net::Ipv4Addr;

fn web() -> Web {
    Web::new(Config { hosts: 6, pages_per_host: 30, ..Config::default() })
}

#[test]
fn visits_are_remembered_in_order_once_asked_for() {
    let server = Server::start(web()).unwrap();
    let hosts: Vec<String> = server.web().hosts().collect();
    get(server.addr(), &hosts[0], "/").unwrap();
    assert_eq!(server.log(), []);
    server.record(true);
    get(server.addr(), &hosts[0], "/").unwrap();
    get(server.addr(), &hosts[1], "/lost/x?a=b").unwrap();
    get_with(server.addr(), &hosts[0], "/", &[("If-None-Match", "*")]).unwrap();
    get_with(server.addr(), "nowhere.test", "/", &[("If-Modified-Since", "soon")]).unwrap();
    let log = server.log();
    let seen: Vec<_> = log.iter().map(|r| (r.host.as_str(), r.path.as_str(), r.status, r.conditional)).collect();
    assert_eq!(
        seen,
        [
            (hosts[0].as_str(), "/", 200, false),
            (hosts[1].as_str(), "/lost/x?a=b", 404, false),
            (hosts[0].as_str(), "/", 304, true),
            ("nowhere.test", "/", 421, true),
        ]
    );
    assert!(log.windows(2).all(|two| two[0].at <= two[1].at));
    server.record(false);
    get(server.addr(), &hosts[0], "/").unwrap();
    assert_eq!(server.log(), []);
}

#[test]
fn a_server_stands_where_it_is_put() {
    let server = Server::start(web()).unwrap();
    let (addr, host) = (server.addr(), server.web().hosts().next().unwrap());
    assert!(Server::start_on(web(), addr).is_err(), "two servers cannot share an address");
    drop(server);
    let again = Server::start_on(web(), addr).unwrap();
    assert_eq!((again.addr(), get(addr, &host, "/").unwrap().status()), (addr, 200));
    assert_eq!(again.addr().ip(), Ipv4Addr::LOCALHOST);
}

#[test]
fn hosts_that_compress_do_so_for_visitors_who_take_it() {
    let server = Server::start(Web::new(Config { gzip_percent: 50, ..web().config().clone() })).unwrap();
    let web = server.web();
    let (coded, plain): (Vec<String>, Vec<String>) = web.hosts().partition(|host| web.gzips(host));
    assert!(!coded.is_empty() && !plain.is_empty());
    let takes = [("Accept-Encoding", "br;q=1.0, gzip")];
    for host in &coded {
        for path in ["/", "/robots.txt", "/static/site.css", "/static/logo.png", "/lost/x"] {
            let told = web.response(host, path, 0).unwrap();
            let heard = get_with(server.addr(), host, path, &takes).unwrap();
            assert_eq!(
                (heard.response_head.clone(), &heard.body),
                (told.clone().gzipped().head(), &told.clone().gzipped().body)
            );
            let text = told.status == 200 && !path.ends_with(".png");
            assert_eq!(heard.header("Content-Encoding").is_some(), text, "{path}");
            if text {
                let mut body = Vec::new();
                GzDecoder::new(heard.body.as_slice()).read_to_end(&mut body).unwrap();
                assert_eq!(body, told.body);
                assert_ne!(heard.header("ETag"), told.header("ETag"), "another form has another tag");
                let known = [takes[0], ("If-None-Match", heard.header("ETag").unwrap())];
                assert_eq!(get_with(server.addr(), host, path, &known).unwrap().status(), 304);
            }
            assert_eq!(get(server.addr(), host, path).unwrap().body, told.body);
        }
    }
    let heard = get_with(server.addr(), &plain[0], "/", &takes).unwrap();
    assert_eq!(heard.body, web.response(&plain[0], "/", 0).unwrap().body);
}

#[test]
fn busy_urls_answer_after_so_many_requests_in_every_round() {
    let server = Server::start(Web::new(Config { busy_percent: 40, ..web().config().clone() })).unwrap();
    let web = server.web();
    let (mut busy, mut free) = (0, 0);
    for round in [0, 1] {
        server.set_round(round);
        for url in web.urls(round) {
            let rest = url.strip_prefix("http://").unwrap();
            let (host, path) = rest.split_at(rest.find('/').unwrap());
            let told = web.busy(host, path, round);
            for _ in 0..told.map_or(0, |told| told.asks) {
                let refused = get(server.addr(), host, path).unwrap();
                assert_eq!(refused.response_head, Response::busy(told.unwrap(), round).head());
                assert_eq!((refused.header("Retry-After"), refused.status()), (Some("1"), told.unwrap().status));
            }
            *if told.is_some() { &mut busy } else { &mut free } += 1;
            let heard = get(server.addr(), host, path).unwrap();
            assert_eq!(heard.response_head, web.response(host, path, round).unwrap().head(), "{url}");
        }
    }
    let share = f64::from(busy) / f64::from(busy + free);
    assert!((0.3..0.5).contains(&share), "{busy} busy, {free} free");
    assert!(web.hosts().all(|host| web.busy(&host, "/robots.txt", 0).is_none()));
}

#[test]
fn some_robots_files_ask_for_a_delay() {
    let web = Web::new(Config { hosts: 40, crawl_delay_percent: 50, crawl_delay_s: 3, ..Config::default() });
    let mut slow = 0;
    for host in web.hosts() {
        let robots = String::from_utf8(web.response(&host, "/robots.txt", 0).unwrap().body).unwrap();
        assert_eq!(robots.contains("\nCrawl-delay: 3\n"), web.crawl_delay_s(&host) == Some(3), "{robots}");
        slow += u32::from(web.crawl_delay_s(&host).is_some());
    }
    assert!((10..30).contains(&slow), "{slow} of 40");
    assert_eq!(web.crawl_delay_s("nowhere.test"), None);
}

#[test]
fn sizes_and_links_are_as_asked() {
    let usual = Web::new(Config::default());
    let small = Web::new(Config { paragraphs_max: 1, links_max: 0, pictures_max: 0, ..Config::default() });
    let large = Web::new(Config { paragraphs_max: 400, links_max: 60, ..Config::default() });
    let host = usual.hosts().next().unwrap();
    let bytes =
        |web: &Web| web.pages(&host).map(|path| web.response(&host, &path, 0).unwrap().body.len()).sum::<usize>();
    assert!(bytes(&small) < bytes(&usual) / 2 && bytes(&large) > bytes(&usual) * 2);
    let links = |web: &Web| web.pages(&host).map(|path| web.links(&host, &path, 0).len()).sum::<usize>();
    assert!(links(&small) < links(&usual) && links(&large) > links(&usual) * 2);
    assert!(small.urls(0).all(|url| !url.contains("/images/")));
}
