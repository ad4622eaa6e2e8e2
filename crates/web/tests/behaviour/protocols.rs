//! What tools are answered: CDX queries line for line, TimeMaps and TimeGates byte for byte, WARC records.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use herodotus_base::Timestamp;
use herodotus_catalogue::Catalogue;
use herodotus_store::{Body, Capture, Kind, Record, Store, WarcHeader};
use herodotus_web::{Bound, Hosts, Options, Site, Token};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An archive that answers on loopback while it lives.
struct Served {
    ui: SocketAddr,
    replay: SocketAddr,
    _folder: tempfile::TempDir,
}

struct Reply {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Reply {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn lines(&self) -> Vec<&str> {
        self.text().lines().collect()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Served {
    async fn new(fill: impl FnOnce(&Store)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        fill(&store);
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let bound = Bound::bind(&Options { ui: any, replay: any }).await.unwrap();
        let (ui, replay) = (bound.ui_address().unwrap(), bound.replay_address().unwrap());
        let hosts = Hosts { ui_port: ui.port(), replay_port: replay.port(), ui_url: None, replay_url: None };
        let catalogue = Arc::new(Catalogue::open(&folder.path().join("catalogue")).unwrap());
        let site = Site::new(store, folder.path(), None, catalogue, hosts, Token::of(folder.path()).unwrap());
        tokio::spawn(bound.serve(site, std::future::pending()));
        Self { ui, replay, _folder: folder }
    }

    /// Asks the replay listener.
    async fn get(&self, target: &str) -> Reply {
        self.get_with(target, "").await
    }

    async fn get_with(&self, target: &str, more: &str) -> Reply {
        get(self.replay, &format!("GET {target} HTTP/1.0\r\nHost: {}\r\n{more}\r\n", self.replay)).await
    }

    async fn cdx(&self, query: &str) -> Reply {
        self.get(&format!("/cdx?{query}")).await
    }

    /// The origin that mementos are under, as it was asked.
    fn base(&self) -> String {
        format!("http://{}", self.replay)
    }
}

async fn get(address: SocketAddr, request: &str) -> Reply {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(answer.len());
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Reply { status, head, body: answer.get(end + 4..).unwrap_or_default().to_vec() }
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn response(url: &str, at: &str, status: &str, media: &str, body: &[u8]) -> Capture {
    let media = if media.is_empty() { String::new() } else { format!("Content-Type: {media}\r\n") };
    let head = format!("HTTP/1.1 {status}\r\n{media}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    let main = Record::new(Kind::Response, url, time(at), head, Body::new(body));
    Capture { url: url.into(), time: time(at), main, companions: Vec::new() }
}

fn revisit(of: &Capture, at: &str) -> Capture {
    let field = |name: &str, value: String| (name.to_owned(), value);
    let mut main = Record::new(Kind::Revisit, &of.url, time(at), of.main.head.clone(), Body::new(*b""));
    main.warc = Some(WarcHeader {
        version: "".into(),
        fields: [
            field("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest".into()),
            field("WARC-Payload-Digest", of.main.payload_sha1().to_string()),
            field("WARC-Refers-To-Target-URI", of.url.clone()),
            field("WARC-Refers-To-Date", of.time.rfc3339()),
        ]
        .into(),
    });
    Capture { url: of.url.clone(), time: time(at), main, companions: Vec::new() }
}

fn put(store: &Store, captures: impl IntoIterator<Item = Capture>) {
    for capture in captures {
        store.append(capture).unwrap();
    }
    store.seal().unwrap();
}

/// A small site. Half of it lies in packs, half still in memory.
fn small_site(store: &Store) {
    let home = response("http://site.test/", "20140103030321", "200 OK", "text/html; charset=utf-8", b"home one");
    let again = revisit(&home, "20140303030321");
    put(store, [home, again, response("http://site.test/", "20140203030321", "200 OK", "Text/HTML", b"home two")]);
    for capture in [
        response("http://site.test/", "20150303030321", "404 Not Found", "text/html", b"gone"),
        response("https://site.test/", "20150303030321500", "301 Moved Permanently", "", b""),
        response("http://site.test/a/b?x=1&y=2", "20140401000000", "200 OK", "application/json", b"{}"),
        response("http://site.test/a/é b", "20140402000000", "200 OK", "text/plain", b"e"),
        response("http://sub.site.test/x.png", "20140501000000", "200 OK", "image/png", b"png"),
        response("http://quote.test/a\">;b<", "20130601000000", "200 OK", "text/html", b"quoted"),
        response("http://[2001:db8::1]/*#x", "20140601000000", "200 OK", "text/html", b"six"),
        response("http://sitemore.test/", "20140601000000", "200 OK", "text/html", b"more"),
    ] {
        store.append(capture).unwrap();
    }
}

#[tokio::test]
async fn a_line_is_byte_for_byte_what_it_should_be() {
    let served = Served::new(small_site).await;
    let reply = served.cdx("url=site.test&limit=1").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/x-cdxj"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    let digest = "\"digest\": \"HQ7DLMVTY4DWZDSD3TADL6ABXQYEVXYT\"";
    let rest = format!(
        "\"url\": \"http://site.test/\", \"mime\": \"text/html\", \"status\": \"200\", {digest}, \"length\": \"8\", \
         \"offset\": \"0\", \"filename\": \"20140103030321000/http://site.test/\"}}\n"
    );
    let digest_of_home = herodotus_base::Sha1::of(b"home one").to_string();
    let rest = rest.replace("HQ7DLMVTY4DWZDSD3TADL6ABXQYEVXYT", digest_of_home.trim_start_matches("sha1:"));
    assert_eq!(reply.text(), format!("test,site)/ 20140103030321 {{{rest}"));
    let reply = served.cdx("url=site.test&limit=1&output=json").await;
    assert_eq!(reply.header("content-type"), Some("text/x-ndjson"));
    assert_eq!(reply.text(), format!("{{\"urlkey\": \"test,site)/\", \"timestamp\": \"20140103030321\", {rest}"));
    let reply = served.cdx("url=site.test&limit=1&output=text").await;
    let text = "test,site)/ 20140103030321 http://site.test/ text/html 200 DIGEST 8\n";
    assert_eq!(reply.text(), text.replace("DIGEST", digest_of_home.trim_start_matches("sha1:")));
}

#[tokio::test]
async fn queries_are_answered_as_pywb_answers_them() {
    let served = Served::new(small_site).await;
    let home =
        ["20140103030321 200", "20140203030321 200", "20140303030321 -", "20150303030321 404", "20150303030321 301"];
    let reversed: Vec<_> = home.iter().copied().rev().collect();
    let table: &[(&str, &[&str])] = &[
        ("url=site.test", &home),
        ("url=http://www.SITE.test:80/", &home),
        ("url=site.test&sort=reverse", &reversed),
        ("url=site.test&reverse=1&limit=2", &reversed[..2]),
        ("url=site.test&limit=2", &home[..2]),
        ("url=site.test&limit=-2", &home[3..]),
        ("url=site.test&offset=1&limit=2", &home[1..3]),
        ("url=site.test&from=2015", &home[3..]),
        ("url=site.test&to=2014", &home[..3]),
        ("url=site.test&from=201402&to=201403", &home[1..3]),
        ("url=site.test&from=20140203030321&to=20140203030321", &home[1..2]),
        ("url=site.test&from=20140231&to=20140399&sort=reverse", &home[2..3]),
        ("url=site.test&from=2016", &[]),
        ("url=unknown.test", &[]),
        // Equally near ones in the order of the index.
        ("url=site.test&closest=20140203030321&limit=1", &["20140203030321 200"]),
        ("url=site.test&closest=20140217030321&sort=closest&limit=3", &[home[1], home[2], home[0]]),
        ("url=site.test&closest=20160101000000&limit=3", &[home[3], home[4], home[2]]),
        ("url=site.test&closest=1999&limit=1", &home[..1]),
        ("url=site.test&closest=now&limit=2&filter=status:200", &[home[1], home[0]]),
        ("url=*.site.test&closest=20140501&limit=2", &["20140501000000 200", "20140402000000 200"]),
        // Filters of pywb.
        ("url=site.test&filter=status:20", &home[..2]),
        ("url=site.test&filter==status:20", &[]),
        ("url=site.test&filter==status:404", &home[3..4]),
        ("url=site.test&filter=!status:200", &home[2..]),
        ("url=site.test&filter=!=status:200&filter=!mime:warc/revisit", &home[3..]),
        ("url=site.test&filter=~status:[43]", &home[3..]),
        ("url=site.test&filter=!~status:[43]", &home[..3]),
        ("url=site.test&filter=~url:https", &home[4..]),
        ("url=site.test&filter=mime:warc/revisit", &home[2..3]),
        ("url=site.test&filter=mime:unk", &home[4..]),
        ("url=site.test&filter=20140203", &home[1..2]),
        ("url=site.test&filter=nothing:x", &[]),
        // Those of OpenWayback.
        ("url=site.test&filter=statuscode:[45]..", &home[3..4]),
        ("url=site.test&filter=!mimetype:text/.*", &[home[2], home[4]]),
        ("url=site.test&filter=original:https://.*", &home[4..]),
        // Neighbours that are alike.
        ("url=site.test&collapse=timestamp:4", &[home[0], home[3]]),
        ("url=site.test&collapse=timestamp:4&sort=reverse", &[home[3], home[0]]),
        ("url=site.test&collapse=timestamp:4&limit=-1", &[home[3]]),
        ("url=site.test&collapse=urlkey", &home[..1]),
        ("url=site.test&collapse=urlkey&closest=2016", &home[..1]),
        ("url=site.test&collapseTime=4", &[home[0], home[2], home[3], home[4]]),
        ("url=site.test&collapse=digest", &home),
        // Revisits.
        ("url=site.test&resolveRevisits=true&from=201403&to=2014", &["20140303030321 200"]),
        ("url=site.test&resolveRevisits=true&filter=status:200&sort=reverse&limit=1", &["20140303030321 200"]),
    ];
    for (query, wanted) in table {
        let reply = served.cdx(&format!("{query}&fl=timestamp,status&output=text")).await;
        assert_eq!((reply.status, reply.lines()), (200, wanted.to_vec()), "{query}");
    }
}

#[tokio::test]
async fn every_kind_of_match_finds_its_urls() {
    let served = Served::new(small_site).await;
    let odd = "http://site.test/a/%C3%A9%20b";
    let (query, png, more) = ("http://site.test/a/b?x=1&y=2", "http://sub.site.test/x.png", "http://sitemore.test/");
    let table: &[(&str, &[&str])] = &[
        ("url=site.test/a/*", &[odd, query]),
        ("url=site.test/a/&matchType=prefix", &[odd, query]),
        ("url=site.test/a/b*", &[query]),
        ("url=site.test/a&matchType=host&from=201404&to=201412", &[odd, query]),
        ("url=*.site.test&from=201404&to=201412", &[odd, query, png]),
        ("url=site.test&matchType=domain&from=201404&to=201412&sort=reverse", &[png, query, odd]),
        ("url=test&matchType=domain&from=201404&to=201412", &[odd, query, png, more]),
        ("url=site.test/a/b?y=2%26x=1", &[query]),
        ("url=http://site.test/a/%C3%A9%20b", &[odd]),
        ("url=http://site.test/a/%25C3%25A9%2520b", &[odd]),
        ("url=site.test*&matchType=exact", &[]),
    ];
    for (query, wanted) in table {
        let reply = served.cdx(&format!("{query}&fl=url&output=text")).await;
        assert_eq!(reply.lines(), wanted.to_vec(), "{query}");
    }
}

#[tokio::test]
async fn fields_are_given_by_the_names_that_were_asked_for() {
    let served = Served::new(small_site).await;
    let one = "url=site.test&closest=20140303030321&limit=1";
    let table = [
        (
            "fl=original,statuscode,mimetype&output=json",
            r#"{"original": "http://site.test/", "mimetype": "warc/revisit"}"#,
        ),
        ("fields=timestamp,mime", r#"test,site)/ 20140303030321 {"mime": "warc/revisit"}"#),
        ("fl=nothing,%22&output=json", "{}"),
        ("fl=nothing,mime&output=text", "- warc/revisit"),
        ("fl=offset,filename&output=text", "0 20140303030321000/http://site.test/"),
        (
            "fl=mime,status,orig.length,orig.offset,orig.filename&output=text&resolveRevisits=1",
            "text/html 200 8 0 20140103030321000/http://site.test/",
        ),
    ];
    for (query, wanted) in table {
        let reply = served.cdx(&format!("{one}&{query}")).await;
        assert_eq!(reply.text().trim_end(), wanted, "{query}");
    }
    let reply = served.cdx("url=site.test&limit=1&resolveRevisits=1&output=json").await;
    assert!(
        reply.text().ends_with("\"orig.length\": \"-\", \"orig.offset\": \"-\", \"orig.filename\": \"-\"}\n"),
        "{}",
        reply.text()
    );
}

#[tokio::test]
async fn nothing_that_a_client_writes_breaks_an_answer() {
    let served = Served::new(small_site).await;
    let long = "a".repeat(20_000);
    let refused = [
        "",
        "url",
        "url=",
        "limit=1",
        "url=a&output=%00",
        "url=a&matchType=%ff",
        "url=a&limit=99999999999999999999",
        "url=a&limit=1.5",
        "url=a&page=-1",
        "url=a&page=1",
        "url=a&pageSize=x",
        "url=a&from=%C3%A9",
        "url=a&closest=%00",
        "url=a&resumeKey=%2e",
        "url=a&filter=~url:(?=x)",
        "url=a&filter=~url:(((",
        "url=a&collapse=digest:-1",
        "url=a&offset=-1",
        "url=a&collapseTime=",
    ];
    for query in refused {
        let reply = served.cdx(query).await;
        let is_message = reply.text().starts_with("{\"message\":");
        assert!(
            reply.status == 400 && is_message || query.ends_with('='),
            "{query}: {} {}",
            reply.status,
            reply.text()
        );
    }
    let odd = [
        "url=a&closest=20149999999999999999999",
        "url=%",
        "url=%%%00%0a",
        "url=*",
        "url=*.",
        "url=**",
        "url=)",
        "url=://",
        "url=http://[::1",
        "url=%F0%9F%92%A9.test/%ff",
        "url=site.test&from=0&to=99999999999999",
        "url=site.test&closest=0",
        "url=site.test&closest=99999999999999",
        "url=site.test&limit=18446744073709551615",
        "url=site.test&limit=-9223372036854775808",
        "url=site.test&offset=18446744073709551615",
        "url=site.test&pageSize=18446744073709551615",
        "url=site.test&pageSize=0",
        "url=site.test&filter=!",
        "url=site.test&filter=:",
        "url=site.test&filter=~:",
        "url=site.test&filter==",
        "url=site.test&fl=,,,,",
        "url=site.test&collapse=:0",
        "url=site.test&collapse=url:18446744073709551615",
        "url=site.test&collapseTime=0",
        "&&&=&url=site.test&=x",
        "url=site.test&showNumPages=1&page=7",
        "url=test&matchType=domain&showPagedIndex=1",
        "url=site.test&filter=url:(",
    ];
    for query in odd {
        let reply = served.cdx(query).await;
        assert!(matches!(reply.status, 200 | 400), "{query}: {} {}", reply.status, reply.head);
    }
    assert_eq!(served.cdx(&format!("url={long}&filter=url:{}", &long[..1000])).await.status, 200);
    for target in [
        "/web/timemap/link/%",
        "/web/timemap/link/%00",
        "/web/timemap/link///",
        "/web/timemap/xml/http://site.test/",
        "/web/timemap/json/*",
        "/web/timegate/%",
        "/web/timegate/http:",
        "/web/timegate/http://[",
        "/warc/2026/%",
        "/warc/x/http://a/",
        "/warc/99999999999999999/http://site.test/nothing",
        "/warc/00000000000000/http://nothing.test/",
    ] {
        let reply = served.get(target).await;
        assert!(matches!(reply.status, 400 | 404), "{target}: {} {}", reply.status, reply.head);
    }
    // Names of others' DNS.
    let reply = get(served.replay, "GET /cdx?url=site.test HTTP/1.0\r\nHost: evil.example\r\n\r\n").await;
    assert_eq!(reply.status, 421);
}

#[tokio::test]
async fn a_timemap_is_byte_for_byte_what_it_should_be() {
    let served = Served::new(small_site).await;
    let base = served.base();
    let reply = served.get("/web/timemap/link/http://site.test/").await;
    assert_eq!(reply.header("content-type"), Some("application/link-format"));
    let wanted = "\
<http://site.test/>; rel=\"original\",
<BASE/web/timegate/http://site.test/>; rel=\"timegate\",
<BASE/web/timemap/link/http://site.test/>; rel=\"self\"; type=\"application/link-format\"; from=\"Fri, 03 Jan 2014 03:03:21 GMT\"; until=\"Tue, 03 Mar 2015 03:03:21 GMT\",
<BASE/web/20140103030321/http://site.test/>; rel=\"first memento\"; datetime=\"Fri, 03 Jan 2014 03:03:21 GMT\",
<BASE/web/20140203030321/http://site.test/>; rel=\"memento\"; datetime=\"Mon, 03 Feb 2014 03:03:21 GMT\",
<BASE/web/20140303030321/http://site.test/>; rel=\"memento\"; datetime=\"Mon, 03 Mar 2014 03:03:21 GMT\",
<BASE/web/20150303030321/http://site.test/>; rel=\"memento\"; datetime=\"Tue, 03 Mar 2015 03:03:21 GMT\",
<BASE/web/20150303030321/https://site.test/>; rel=\"last memento\"; datetime=\"Tue, 03 Mar 2015 03:03:21 GMT\"
";
    assert_eq!(reply.text(), wanted.replace("BASE", &base));
    let only = served.get("/web/timemap/link/site.test/a/%C3%A9%20b").await;
    assert!(
        only.text().contains("/http://site.test/a/%C3%A9%20b>; rel=\"first last memento\"; datetime="),
        "{}",
        only.text()
    );
    // The lines of the CDX server.
    for (format, output) in [("json", "json"), ("cdxj", "cdxj")] {
        let timemap = served.get(&format!("/web/timemap/{format}/http://site.test/")).await;
        let lines = served.cdx(&format!("url=http://site.test/&output={output}")).await;
        assert_eq!(timemap.text(), lines.text());
        assert_eq!(timemap.lines().len(), 5);
        assert_eq!(timemap.header("content-type"), lines.header("content-type"));
    }
    for format in ["link", "json", "cdxj"] {
        assert_eq!(served.get(&format!("/web/timemap/{format}/http://unknown.test/")).await.status, 404);
    }
    // The pages' listener answers the same.
    let same =
        get(served.ui, &format!("GET /web/timemap/link/http://site.test/ HTTP/1.0\r\nHost: {}\r\n\r\n", served.ui))
            .await;
    assert_eq!((same.status, same.lines().len()), (200, 8));
}

#[tokio::test]
async fn a_timegate_leads_to_what_stood_there_on_that_day() {
    let served = Served::new(small_site).await;
    let base = served.base();
    let table = [
        ("Fri, 03 Jan 2014 03:03:21 GMT", "20140103030321"),
        ("Fri, 03 Jan 2014 03:03:22 GMT", "20140103030321"),
        // Never something newer, however near: pywb would take the third of February.
        ("Mon, 03 Feb 2014 03:03:20 GMT", "20140103030321"),
        ("Mon, 03 Feb 2014 03:03:21 GMT", "20140203030321"),
        // Where there is nothing older, the first.
        ("Mon, 01 Jan 2001 00:00:00 GMT", "20140103030321"),
        ("Mon, 01 Jan 1900 00:00:00 GMT", "20140103030321"),
        ("Mon, 03 Mar 2014 03:03:21 GMT", "20140303030321"),
    ];
    for (date, stamp) in table {
        let reply = served.get_with("/web/timegate/http://site.test/", &format!("Accept-Datetime: {date}\r\n")).await;
        assert_eq!(reply.status, 302, "{date}");
        assert_eq!(reply.header("location").unwrap(), format!("{base}/web/{stamp}/http://site.test/"), "{date}");
        assert_eq!(reply.header("vary"), Some("accept-datetime"));
        assert_eq!(reply.header("memento-datetime"), None);
    }
    let reply =
        served.get_with("/web/timegate/http://site.test/", "Accept-Datetime: Mon, 03 Feb 2014 09:00:00 GMT\r\n").await;
    let wanted = "<http://site.test/>; rel=\"original\", \
        <BASE/web/timegate/http://site.test/>; rel=\"timegate\", \
        <BASE/web/timemap/link/http://site.test/>; rel=\"timemap\"; type=\"application/link-format\", \
        <BASE/web/20140103030321/http://site.test/>; rel=\"first prev memento\"; datetime=\"Fri, 03 Jan 2014 03:03:21 GMT\", \
        <BASE/web/20140203030321/http://site.test/>; rel=\"memento\"; datetime=\"Mon, 03 Feb 2014 03:03:21 GMT\", \
        <BASE/web/20140303030321/http://site.test/>; rel=\"next memento\"; datetime=\"Mon, 03 Mar 2014 03:03:21 GMT\", \
        <BASE/web/20150303030321/https://site.test/>; rel=\"last memento\"; datetime=\"Tue, 03 Mar 2015 03:03:21 GMT\"";
    assert_eq!(reply.header("link").unwrap(), wanted.replace("BASE", &base));
    for date in ["yesterday", "2014-02-03", "Mon, 03 Feb 2014"] {
        let reply = served.get_with("/web/timegate/http://site.test/", &format!("Accept-Datetime: {date}\r\n")).await;
        assert_eq!(reply.status, 400, "{date}");
    }
    let unknown = served.get("/web/timegate/http://unknown.test/").await;
    assert_eq!((unknown.status, unknown.header("vary")), (404, Some("accept-datetime")));
    // A site's own words end neither a link nor a header.
    let quoted = "/web/20130601000000/http://quote.test/a%22%3E;b%3C>; rel=\"first last memento\"; datetime=";
    let reply = served.get("/web/timegate/http://quote.test/a%22%3E;b%3C").await;
    assert!(reply.header("link").unwrap().contains(quoted), "{}", reply.head);
    let reply = served.get("/web/timemap/link/http://quote.test/a%22%3E;b%3C").await;
    assert!(reply.text().contains(quoted), "{}", reply.text());
    let reply = served.get("/web/timegate/http://site.test/a/%C3%A9%20b").await;
    assert!(reply.header("link").unwrap().contains("<http://site.test/a/%C3%A9%20b>; rel=\"original\""));
}

/// Every ten minutes, in twelve different words.
fn many(count: u32) -> impl Iterator<Item = Capture> {
    (0..count).map(|n| {
        let at = Timestamp::from_millis(time("20200101").millis() + i64::from(n) * 600_000).unwrap();
        let (body, status) = (format!("version {}", n % 12), if n % 10 == 3 { "404 Not Found" } else { "200 OK" });
        let mut capture = response("http://many.test/page", "2020", status, "text/html", body.as_bytes());
        capture.time = at;
        capture.main = Record::new(Kind::Response, &capture.url, at, capture.main.head, capture.main.body);
        capture
    })
}

#[tokio::test]
async fn ten_thousand_versions_are_listed_whole_in_every_way() {
    const COUNT: usize = 10_000;
    let served = Served::new(|store| put(store, many(COUNT as u32))).await;
    let all = served.cdx("url=many.test/page&fl=timestamp&output=text").await;
    let stamps = all.lines();
    assert_eq!(stamps.len(), COUNT);
    assert!(stamps.is_sorted() && stamps.windows(2).all(|pair| pair[0] != pair[1]));
    let reversed = served.cdx("url=many.test/page&fl=timestamp&output=text&sort=reverse").await;
    assert!(reversed.lines().iter().rev().eq(stamps.iter()));
    // Long lines, so that there are many pieces.
    let whole = served.cdx("url=many.test/page").await;
    assert!(whole.body.len() > 2_000_000 && whole.lines().len() == COUNT);
    let middle = stamps[COUNT / 2];
    let nearest = served.cdx(&format!("url=many.test/page&closest={middle}&limit=3&fl=timestamp&output=text")).await;
    assert_eq!(nearest.lines(), [middle, stamps[COUNT / 2 - 1], stamps[COUNT / 2 + 1]]);
    let nearest = served.cdx(&format!("url=many.test/page&closest={middle}&fl=timestamp&output=text")).await;
    assert_eq!(nearest.lines().len(), COUNT);
    let some = served.cdx("url=many.test/page&filter==status:404&output=text&fl=timestamp").await;
    assert_eq!(some.lines().len(), COUNT / 10);
    // TimeMap: page by page, nothing twice, nothing left out.
    let (mut next, mut mementos, mut pages) =
        (Some("/web/timemap/link/http://many.test/page".to_owned()), Vec::new(), 0);
    while let Some(target) = next {
        let page = served.get(&target).await;
        assert!(page.body.len() < 1_200_000);
        let found = page.text().lines().filter(|line| line.contains("memento\"; datetime="));
        mementos.extend(found.map(|line| line.split("/web/").nth(1).unwrap()[..14].to_owned()));
        next = page.header("link").map(|link| {
            let address = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
            let in_list = format!("<{address}>; rel=\"timemap\"; type=\"application/link-format\"; from=\"");
            assert!(page.text().contains(&in_list), "{}", page.text().lines().take(5).collect::<String>());
            address.strip_prefix(&served.base()).unwrap().to_owned()
        });
        pages += 1;
    }
    assert_eq!(pages, 2);
    assert_eq!(mementos, stamps);
    let json = served.get("/web/timemap/json/http://many.test/page").await;
    assert_eq!(json.lines().len(), COUNT);
}

#[tokio::test]
async fn a_large_answer_can_be_walked() {
    const COUNT: usize = 10_000;
    let served = Served::new(|store| put(store, many(COUNT as u32))).await;
    for (name, query, wanted) in [
        ("all", "", COUNT),
        ("backwards", "&sort=reverse", COUNT),
        ("filtered", "&filter==status:404", COUNT / 10),
        ("collapsed", "&collapse=timestamp:8", served.cdx("url=many.test*&collapse=timestamp:8").await.lines().len()),
        ("collapsed backwards", "&collapse=timestamp:8&sort=reverse", COUNT.div_ceil(144)),
    ] {
        let whole = served.cdx(&format!("url=many.test*&fl=timestamp&output=text{query}")).await;
        let (mut walked, mut resume) = (Vec::new(), String::new());
        loop {
            let limit = wanted / 3 + 1;
            let target =
                format!("url=many.test*&fl=timestamp&output=text&limit={limit}&showResumeKey=true{query}{resume}");
            let reply = served.cdx(&target).await;
            let (lines, key) = match reply.text().split_once("\n\n") {
                Some((lines, key)) => (lines.to_owned(), Some(key.trim().to_owned())),
                None => (reply.text().to_owned(), None),
            };
            walked.extend(lines.lines().map(str::to_owned));
            let Some(key) = key else { break };
            resume = format!("&resumeKey={key}");
        }
        assert_eq!(walked.len(), wanted, "{name}");
        assert_eq!(walked, whole.lines(), "{name}");
    }
    // By pages, too: four blocks, one of which is not full.
    let count = served.cdx("url=many.test*&showNumPages=true&pageSize=1").await;
    assert_eq!(count.text(), "{\"pages\": 4, \"pageSize\": 1, \"blocks\": 4}\n");
    assert_eq!(
        served.cdx("url=many.test*&showNumPages=true").await.text(),
        "{\"pages\": 1, \"pageSize\": 10, \"blocks\": 4}\n"
    );
    assert_eq!(
        served.cdx("url=none.test*&showNumPages=true").await.text(),
        "{\"pages\": 0, \"pageSize\": 10, \"blocks\": 0}\n"
    );
    let mut sizes = Vec::new();
    for page in 0..4 {
        sizes.push(served.cdx(&format!("url=many.test*&pageSize=1&page={page}")).await.lines().len());
    }
    assert_eq!(sizes, [3000, 3000, 3000, 1000]);
    let beyond = served.cdx("url=many.test*&pageSize=1&page=4").await;
    assert_eq!(
        (beyond.status, beyond.text()),
        (400, "{\"message\":\"Page 4 invalid: First Page is 0, Last Page is 3\"}")
    );
    let blocks = served.cdx("url=many.test*&showPagedIndex=true&pageSize=2&page=1").await;
    let blocks: Vec<_> =
        blocks.lines().iter().map(|line| line.split('\t').skip(1).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(blocks, ["cdx 6000 3000 2", "cdx 9000 3000 3"]);
}

#[tokio::test]
async fn a_reader_who_goes_away_holds_nothing_up() {
    let served = Served::new(|store| put(store, many(10_000))).await;
    let request = format!("GET /cdx?url=many.test* HTTP/1.1\r\nHost: {}\r\n\r\n", served.replay);
    let mut readers = Vec::new();
    // More of them than there are threads that read.
    for _ in 0..100 {
        let mut stream = TcpStream::connect(served.replay).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut taken = [0; 100];
        stream.read_exact(&mut taken).await.unwrap();
        readers.push(stream);
    }
    // They take nothing more, and are still there.
    assert_eq!(served.cdx("url=many.test*&limit=1").await.lines().len(), 1);
    drop(readers);
    assert_eq!(served.cdx("url=many.test*").await.lines().len(), 10_000);
}

#[tokio::test]
async fn a_capture_is_given_as_warc() {
    let large: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let served = Served::new(|store| {
        small_site(store);
        let mut asked = response("http://site.test/asked", "20160101000000123", "200 OK", "text/plain", b"answer");
        let request = b"GET /asked HTTP/1.1\r\nHost: site.test\r\n\r\n".to_vec();
        asked.companions.push(Record::new(Kind::Request, &asked.url, asked.time, request, Body::new(*b"")));
        store.append(asked).unwrap();
        store.append(response("http://site.test/large", "20160101000000", "200 OK", "image/png", &large)).unwrap();
    })
    .await;
    let reply = served.get("/warc/20140103030321/http://site.test/").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/warc")));
    assert_eq!(reply.header("content-length"), Some(reply.body.len().to_string().as_str()));
    assert_eq!(reply.header("memento-datetime"), Some("Fri, 03 Jan 2014 03:03:21 GMT"));
    assert_eq!(reply.header("content-disposition"), Some("attachment; filename=\"20140103030321.warc\""));
    assert!(reply.text().starts_with("WARC/1.1\r\nWARC-Type: response\r\n"), "{}", reply.text());
    assert!(reply.text().ends_with("\r\n\r\nhome one\r\n\r\n"), "{}", reply.text());
    // Two of one second are told apart by their URLs.
    for (url, status) in [("http://site.test/", "404"), ("https://site.test/", "301")] {
        let reply = served.get(&format!("/warc/20150303030321/{url}")).await;
        assert!(reply.text().contains(&format!("HTTP/1.1 {status}")), "{url}: {}", reply.text());
        assert!(reply.text().contains(&format!("WARC-Target-URI: {url}\r\n")));
    }
    let revisit = served.get("/warc/20140303030321/http://site.test/").await;
    assert!(
        revisit.text().contains("WARC-Type: revisit\r\n")
            && revisit.text().contains("WARC-Refers-To-Date: 2014-01-03T03:03:21Z\r\n")
    );
    // What an index line names is there.
    let mut names = served.cdx("url=*.site.test&output=text&fl=filename").await.text().to_owned();
    names += served.cdx("url=http://[2001:db8::1]/*&output=text&fl=filename").await.text();
    assert!(names.contains("/http%3A%2F%2Fsite.test%2Fa%2F%C3%A9%20b\n"), "{names}");
    assert!(names.contains("/http%3A%2F%2F%5B2001%3Adb8%3A%3A1%5D%2F%2A%23x\n"), "{names}");
    assert_eq!(names.lines().count(), 11);
    for name in names.lines() {
        let reply = served.get(&format!("/warc/{name}")).await;
        assert!(reply.status == 200 && reply.body.starts_with(b"WARC/1.1\r\n"), "{name}: {}", reply.head);
    }
    let asked = served.get("/warc/20160101000000rq_/http://site.test/asked").await;
    assert_eq!(asked.text().matches("WARC/1.1\r\n").count(), 2);
    assert!(asked.text().contains("GET /asked HTTP/1.1\r\n"));
    assert!(!served.get("/warc/20160101000000/http://site.test/asked").await.text().contains("GET /asked"));
    // No capture of that moment: the one that was shown then.
    let other = served.get("/warc/2014.gz/site.test").await;
    assert_eq!((other.status, other.header("location")), (302, Some("/warc/20140303030321.gz/http://site.test/")));
    for (name, is_gzip) in [("20160101000000", false), ("20160101000000.gz", true)] {
        let reply = served.get(&format!("/warc/{name}/http://site.test/large")).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.body.starts_with(&[0x1f, 0x8b]), is_gzip);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &reply.body).unwrap();
        let mut reader = herodotus_warc::Reader::open(file.path(), herodotus_warc::ReadLimits::default()).unwrap();
        let Some(herodotus_warc::Item::Record(mut record)) = reader.next().unwrap() else {
            panic!("{name} is no record")
        };
        let mut block = Vec::new();
        std::io::Read::read_to_end(&mut record.block, &mut block).unwrap();
        assert!(block.ends_with(&large) && block.starts_with(b"HTTP/1.1 200 OK\r\n"), "{name}");
    }
}
