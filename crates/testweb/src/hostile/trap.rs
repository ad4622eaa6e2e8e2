//! Traps: sites that make up pages as fast as one can ask for them, each small and honest in itself.
//!
//! What they link to follows from what was asked for, so a trap is as deep as one goes into it. A crawler is right if
//! it stops sooner or later and says why.

use super::Expect::Skipped;
use super::Group::Trap;
use super::plan::{Plan, html};
use super::talk::Talk;
use std::io;

const CAUGHT: super::Expect = Skipped(&["trap_"]);
/// For those whose addresses grow until they are too long.
const GROWING: super::Expect = Skipped(&["trap_", "links_dropped"]);

fn links<S: AsRef<str>>(talk: &mut Talk<'_>, urls: &[S]) -> io::Result<()> {
    let links: Vec<String> =
        urls.iter().map(|url| format!("<li><a href=\"{0}\">{0}</a></li>\n", url.as_ref())).collect();
    talk.page(html(&format!("<ul>\n{}</ul>", links.concat())))
}

/// The number that follows a mark in a path, within what can be counted on from.
fn number(path: &str, mark: &str) -> i64 {
    let digits = path.split_once(mark).map_or("", |(_, rest)| rest);
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(digits.len());
    digits.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(0).clamp(-1_000_000_000_000, 1_000_000_000_000)
}

/// A number that stands for a text.
fn scramble(text: &str) -> u64 {
    text.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

/// A number that looks like a session's.
fn session(from: u64) -> String {
    let mixed = (from ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{mixed:016x}{:016x}", mixed.rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9))
}

pub(super) fn plans() -> Vec<Plan> {
    let mut plans = paths();
    plans.extend(queries());
    plans
}

fn paths() -> Vec<Plan> {
    vec![
        Plan::new(
            "trap-calendar",
            Trap,
            CAUGHT,
            "A calendar with a page for every month there ever will be.",
            |t, ask| {
                let month = number(&ask.path, "/m/");
                let month = if ask.path == "/" { 2026 * 12 } else { month };
                links(
                    t,
                    &[month + 1, month - 1]
                        .map(|m| format!("/calendar/{}/{:02}/m/{m}", m.div_euclid(12), m.rem_euclid(12) + 1)),
                )
            },
        ),
        Plan::new(
            "trap-calendar-days",
            Trap,
            CAUGHT,
            "A calendar with a page for every day, by date alone.",
            |t, ask| {
                let day = number(&ask.path, "day=");
                let date = |day: i64| {
                    format!(
                        "/events/{:04}-{:02}-{:02}?day={day}",
                        2026 + day.div_euclid(372),
                        day.div_euclid(31).rem_euclid(12) + 1,
                        day.rem_euclid(31) + 1
                    )
                };
                links(t, &[date(day + 1), date(day + 31), date(day - 1)])
            },
        ),
        Plan::new(
            "trap-repeat",
            Trap,
            GROWING,
            "Relative links that repeat the same two directories for ever.",
            |t, ask| {
                let end = if ask.path.ends_with("/a/") { "b/" } else { "a/" };
                links(t, &[format!("{}{end}", ask.path)])
            },
        ),
        Plan::new("trap-deep", Trap, GROWING, "Directories within directories, each with another name.", |t, ask| {
            let depth = ask.path.matches('/').count() as u64;
            links(t, &[format!("{}{}/", ask.path, session(depth).get(..6).unwrap_or_default())])
        }),
        Plan::new("trap-slashes", Trap, GROWING, "The same page with ever more slashes in its address.", |t, ask| {
            links(t, &[format!("http://{}{}/", ask.host, ask.path)])
        }),
        Plan::new(
            "trap-suffix",
            Trap,
            GROWING,
            "A relative link without its slash, on pages that exist under any name.",
            |t, ask| {
                let stem = ask.path.strip_suffix(".html").map_or(ask.path.as_str(), |stem| stem);
                links(t, &[format!("http://{}{stem}/index.html", ask.host)])
            },
        ),
        Plan::new(
            "trap-session-path",
            Trap,
            CAUGHT,
            "A new session in the path of every link on every visit.",
            |t, ask| {
                let session = session(ask.number);
                links(t, &["home", "shop", "help"].map(|page| format!("/{page};jsessionid={session}")))
            },
        ),
        Plan::new("trap-session-directory", Trap, CAUGHT, "A new session as a directory.", |t, ask| {
            let session = session(ask.number);
            links(
                t,
                &["home", "shop", "help"]
                    .map(|page| format!("/(S({}))/{page}.aspx", session.get(..24).unwrap_or_default())),
            )
        }),
        Plan::new(
            "trap-soft-404",
            Trap,
            CAUGHT,
            "Every address exists, and leads to others that nobody wrote.",
            |t, ask| {
                let seed = scramble(&ask.path);
                links(
                    t,
                    &[1, 2, 3]
                        .map(|n| format!("/{}.html", session(seed.wrapping_add(n)).get(..12).unwrap_or_default())),
                )
            },
        ),
        Plan::new("trap-case", Trap, CAUGHT, "The same page in every mixture of capitals.", |t, ask| {
            let next = number(&ask.path, "-") + 1;
            let word: String = (0..16)
                .zip("ineverthelessgoon".chars())
                .map(|(bit, c)| if next >> bit & 1 == 1 { c.to_ascii_uppercase() } else { c })
                .collect();
            links(t, &[format!("/{word}-{next}"), format!("/{}-{next}", word.to_lowercase())])
        }),
        Plan::new(
            "trap-numbers",
            Trap,
            CAUGHT,
            "Article after article by number, all with the same words.",
            |t, ask| {
                let next = number(&ask.path, "/article/");
                links(t, &[1, 2, 3, 5, 8].map(|step| format!("/article/{}", next + step)))
            },
        ),
        Plan::new("trap-subdomains", Trap, CAUGHT, "A new host on every page: all of them exist.", |t, ask| {
            let next = number(&format!("-{}", ask.host.trim_start_matches('h')), "-");
            let host = |n: i64| format!("http://h{n}.trap-subdomains.hostile.test/");
            links(t, &[host(2 * next + 1), host(2 * next + 2)])
        }),
        Plan::new("trap-deep-subdomains", Trap, GROWING, "Hosts below hosts below hosts.", |t, ask| {
            links(t, &[format!("http://a.{}/", ask.host), format!("http://b.{}/", ask.host)])
        }),
    ]
}

fn queries() -> Vec<Plan> {
    vec![
        Plan::new(
            "trap-session-query",
            Trap,
            CAUGHT,
            "A new session in the query of every link on every visit.",
            |t, ask| {
                let session = session(ask.number);
                links(t, &["home", "shop", "help"].map(|page| format!("/{page}?PHPSESSID={session}")))
            },
        ),
        Plan::new(
            "trap-facets",
            Trap,
            CAUGHT,
            "A shop that can be sifted by twenty properties, in every order.",
            |t, ask| {
                let query = ask.path.split_once('?').map_or("", |(_, query)| query);
                let facets: Vec<String> = (0..20)
                    .filter(|facet| !query.contains(&format!("f{facet:02}=")))
                    .map(|facet| format!("/shop?{query}{}f{facet:02}=on", if query.is_empty() { "" } else { "&amp;" }))
                    .collect();
                links(t, &facets)
            },
        ),
        Plan::new("trap-sort", Trap, GROWING, "Every click adds another sort order to the address.", |t, ask| {
            let join = if ask.path.contains('?') { "&amp;" } else { "?" };
            let path = ask.path.replace('&', "&amp;");
            links(t, &["name", "price", "age"].map(|key| format!("{path}{join}sort={key}")))
        }),
        Plan::new("trap-pages", Trap, CAUGHT, "A list whose next page always exists.", |t, ask| {
            links(t, &[format!("/list?page={}", number(&ask.path, "page=") + 1)])
        }),
        Plan::new("trap-time", Trap, CAUGHT, "Links with the time of the visit in them.", |t, ask| {
            links(t, &[1, 2].map(|n| format!("/news?t={}", 1_700_000_000_000u64 + ask.number * 1000 + n)))
        }),
        Plan::new(
            "trap-back",
            Trap,
            GROWING,
            "Every page links to a login that remembers where one came from.",
            |t, ask| {
                let from = ask.path.replace('%', "%25").replace('?', "%3F").replace('&', "%26").replace('=', "%3D");
                links(t, &[format!("/login?back={from}")])
            },
        ),
        Plan::new("trap-search", Trap, CAUGHT, "A search that links to the search for each of its words.", |t, ask| {
            let words = |n: u64| session(scramble(&ask.path).wrapping_add(n)).get(..8).unwrap_or_default().to_owned();
            links(t, &(1..=10).map(|n| format!("/search?q={}", words(n))).collect::<Vec<_>>())
        }),
    ]
}
