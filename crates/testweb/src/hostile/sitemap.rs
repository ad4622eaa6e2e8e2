//! Sitemaps and feeds, found through robots.txt or a link: bombs, loops, and what only looks like XML.

use super::Expect::{Either, Truncated, Whole};
use super::Group::Sitemap;
use super::coding::bomb;
use super::plan::{Ask, Plan, Script, html};
use super::talk::Talk;
use std::io;

const LARGE: super::Expect = Either(&[Whole, Truncated(&["length", "decoded"])]);
const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const SCHEMA: &str = "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";

/// Ten entities, each ten of the one before: `&l9;` unfolds to a thousand million laughs.
pub(super) fn laughs(root: &str) -> String {
    let folds: Vec<String> =
        (1..10).map(|n| format!("<!ENTITY l{n} \"{}\">\n", format!("&l{};", n - 1).repeat(10))).collect();
    let folds = folds.concat();
    format!("{HEAD}<!DOCTYPE laughs [\n<!ENTITY l0 \"ha\">\n{folds}]>\n<!-- {root} -->\n")
}

fn xml(talk: &mut Talk<'_>, body: impl AsRef<[u8]>) -> io::Result<()> {
    talk.answer("200 OK", "Content-Type: application/xml\r\n", body)
}

fn urlset(inside: &str) -> String {
    format!("{HEAD}<urlset {SCHEMA}>\n{inside}</urlset>\n")
}

fn index(inside: &str) -> String {
    format!("{HEAD}<sitemapindex {SCHEMA}>\n{inside}</sitemapindex>\n")
}

fn robots(talk: &mut Talk<'_>, ask: &Ask) -> io::Result<()> {
    let host = &ask.host;
    let rules = format!(
        "User-agent: *\nDisallow:\nSitemap: http://{host}/sitemap.xml\nSitemap: http://{host}/sitemap.xml.gz\n"
    );
    talk.answer("200 OK", "Content-Type: text/plain\r\n", rules)
}

/// A host whose robots.txt names the sitemap that `script` serves; its front page links to it as well.
fn plan(name: &'static str, expect: super::Expect, why: &'static str, script: Script) -> Plan {
    Plan::new(name, Sitemap, expect, why, script).robots(robots).at("/sitemap.xml")
}

fn front(talk: &mut Talk<'_>) -> io::Result<()> {
    talk.page(html("<p><a href=\"/sitemap.xml\">Map</a> <a href=\"/feed\">News</a></p>"))
}

pub(super) fn plans() -> Vec<Plan> {
    let mut plans = maps();
    plans.extend(feeds());
    plans
}

fn maps() -> Vec<Plan> {
    vec![
        plan("sitemap-laughs", Whole, "Entities that unfold to gigabytes.", |t, ask| match ask.path.as_str() {
            "/sitemap.xml" => xml(
                t,
                format!("{}<urlset {SCHEMA}><url><loc>http://{}/&l9;</loc></url></urlset>", laughs("&l9;"), ask.host),
            ),
            _ => front(t),
        }),
        plan("sitemap-external", Whole, "An entity that stands for a file of ours.", |t, ask| {
            match ask.path.as_str() {
                "/sitemap.xml" => xml(
                    t,
                    format!(
                        "{HEAD}<!DOCTYPE x [<!ENTITY f SYSTEM \"file:///etc/passwd\"><!ENTITY h SYSTEM \"http://169.254.169.254/\">]>\n\
                 <urlset {SCHEMA}><url><loc>http://{}/&f;&h;</loc></url></urlset>",
                        ask.host
                    ),
                ),
                _ => front(t),
            }
        }),
        plan("sitemap-100mb", LARGE, "A sitemap of a hundred megabytes.", |t, ask| match ask.path.as_str() {
            "/sitemap.xml" => {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nConnection: close\r\n\r\n")?;
                t.say(format!("{HEAD}<urlset {SCHEMA}>\n").as_bytes())?;
                let entry = format!("<url><loc>http://{}/after.html</loc></url>\n", ask.host);
                t.repeat(entry.as_bytes(), 100_000_000 / entry.len())?;
                t.say(b"</urlset>\n")
            }
            _ => front(t),
        }),
        plan("sitemap-endless", Truncated(&["length"]), "A sitemap that never ends.", |t, ask| {
            match ask.path.as_str() {
                "/sitemap.xml" => {
                    t.say(b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n\r\n")?;
                    t.say(format!("{HEAD}<urlset {SCHEMA}>\n").as_bytes())?;
                    t.flood(b"<url><loc>/x</loc></url>\n")
                }
                _ => front(t),
            }
        }),
        plan(
            "sitemap-bomb",
            Either(&[Truncated(&["decoded"]), Whole]),
            "A packed sitemap that decodes to a gibibyte.",
            |t, ask| match ask.path.as_str() {
                "/sitemap.xml" => {
                    t.answer("200 OK", "Content-Type: application/xml\r\nContent-Encoding: gzip\r\n", bomb())
                }
                "/sitemap.xml.gz" => t.answer("200 OK", "Content-Type: application/gzip\r\n", bomb()),
                _ => front(t),
            },
        ),
        plan("sitemap-loop", Whole, "An index of itself, and of another that leads back.", |t, ask| {
            let entry = |path: &str| format!("<sitemap><loc>http://{}{path}</loc></sitemap>\n", ask.host);
            match ask.path.as_str() {
                "/sitemap.xml" => xml(t, index(&(entry("/sitemap.xml") + &entry("/other.xml")))),
                "/other.xml" => xml(t, index(&entry("/sitemap.xml"))),
                _ => front(t),
            }
        }),
        plan("sitemap-deep", Whole, "An index of an index of an index, without end.", |t, ask| {
            let number =
                ask.path.trim_start_matches("/sitemap").trim_start_matches('-').trim_end_matches(".xml").parse::<u32>();
            match (ask.path.starts_with("/sitemap"), number.unwrap_or(0)) {
                (true, n) => xml(
                    t,
                    index(&format!(
                        "<sitemap><loc>http://{}/sitemap-{}.xml</loc></sitemap>",
                        ask.host,
                        u64::from(n) + 1
                    )),
                ),
                (false, _) => front(t),
            }
        }),
        plan(
            "sitemap-wide",
            Whole,
            "An index of fifty thousand sitemaps, each of them an index of as many.",
            |t, ask| {
                let entries: Vec<String> = (0..50_000)
                    .map(|n| format!("<sitemap><loc>http://{}/sitemap-{n}.xml</loc></sitemap>", ask.host))
                    .collect();
                if ask.path.starts_with("/sitemap") { xml(t, index(&entries.concat())) } else { front(t) }
            },
        ),
        plan(
            "sitemap-foreign",
            Whole,
            "Names pages of others, of private networks, and of no scheme that we speak.",
            |t, ask| match ask.path.as_str() {
                "/sitemap.xml" => xml(
                    t,
                    urlset(
                        "<url><loc>http://10.0.0.1/</loc></url><url><loc>file:///etc/passwd</loc></url>\
                 <url><loc>http://example.org/all/of/it</loc></url><url><loc>relative.html</loc></url><url><loc></loc></url>",
                    ),
                ),
                _ => front(t),
            },
        ),
        plan("sitemap-broken", Whole, "XML that is none: unclosed, misnested, without its ends.", |t, ask| {
            match ask.path.as_str() {
                "/sitemap.xml" => xml(
                    t,
                    format!(
                        "{HEAD}<urlset><url><loc>http://{}/after.html<loc></url></urlset>&nbsp;<![CDATA[ <url",
                        ask.host
                    ),
                ),
                _ => front(t),
            }
        }),
        plan("sitemap-nested", Whole, "A hundred thousand elements within each other.", |t, ask| {
            match ask.path.as_str() {
                "/sitemap.xml" => xml(t, format!("{HEAD}<urlset {SCHEMA}>{}", "<url>".repeat(100_000))),
                _ => front(t),
            }
        }),
        plan("sitemap-long-loc", Whole, "An address of a megabyte in a sitemap.", |t, ask| match ask.path.as_str() {
            "/sitemap.xml" => {
                xml(t, urlset(&format!("<url><loc>http://{}/{}</loc></url>", ask.host, "x".repeat(1_000_000))))
            }
            _ => front(t),
        }),
        plan("sitemap-html", Whole, "A page in place of a sitemap.", |t, _| front(t)),
        plan("sitemap-utf16", Whole, "A sitemap in UTF-16 that says UTF-8.", |t, ask| match ask.path.as_str() {
            "/sitemap.xml" => {
                let map = urlset(&format!("<url><loc>http://{}/after.html</loc></url>", ask.host));
                xml(
                    t,
                    std::iter::once(0xfeff).chain(map.encode_utf16()).flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
                )
            }
            _ => front(t),
        }),
    ]
}

fn feeds() -> Vec<Plan> {
    vec![
        Plan::new("feed-garbage", Sitemap, Whole, "News that are noise.", |t, ask| match ask.path.as_str() {
            "/feed" => t.answer(
                "200 OK",
                "Content-Type: application/rss+xml\r\n",
                b"<rss><channel><item><link>\xff\0&&&<<<".repeat(1000),
            ),
            _ => front(t),
        })
        .at("/feed"),
        Plan::new("feed-laughs", Sitemap, Whole, "News whose entities unfold to gigabytes.", |t, ask| {
            match ask.path.as_str() {
                "/feed" => {
                    let body = format!(
                        "{}<feed><entry><link href=\"/&l9;\"/><title>&l9;</title></entry></feed>",
                        laughs("&l9;")
                    );
                    t.answer("200 OK", "Content-Type: application/atom+xml\r\n", body)
                }
                _ => front(t),
            }
        })
        .at("/feed"),
        Plan::new("feed-endless", Sitemap, Truncated(&["length"]), "News without end.", |t, ask| {
            match ask.path.as_str() {
                "/feed" => {
                    t.say(b"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\n\r\n<rss><channel>")?;
                    t.flood(b"<item><link>/news</link></item>")
                }
                _ => front(t),
            }
        })
        .at("/feed"),
    ]
}
