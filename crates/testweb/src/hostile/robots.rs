//! robots.txt: too large, too slow, broken, or something else altogether. What it means is RFC 9309's to say: what
//! cannot be reached forbids everything, what is not there forbids nothing.

use super::Expect::{Either, Skipped, Whole};
use super::Group::Robots;
use super::coding::bomb;
use super::plan::{Plan, html, welcome};
use super::talk::Talk;
use std::io;

const REFUSED: super::Expect = Skipped(&["robots"]);
const EITHER: super::Expect = Either(&[Whole, REFUSED]);
/// Where the rules of most cases forbid us to go; the welcome page links to it.
const PRIVATE: &str = "/private/page.html";
const RULES: &str = "User-agent: *\nDisallow: /private/\n";

fn text(talk: &mut Talk<'_>, body: impl AsRef<[u8]>) -> io::Result<()> {
    talk.answer("200 OK", "Content-Type: text/plain\r\n", body)
}

fn status(talk: &mut Talk<'_>, line: &str) -> io::Result<()> {
    talk.answer(line, "Content-Type: text/plain\r\n", "No.\n")
}

pub(super) fn plans() -> Vec<Plan> {
    let mut plans = answers();
    plans.extend(rules());
    plans
}

fn answers() -> Vec<Plan> {
    let plan = |name, expect, why| Plan::new(name, Robots, expect, why, welcome);
    vec![
        plan("robots-500", REFUSED, "robots.txt is broken: nothing may be asked for.")
            .robots(|t, _| status(t, "500 Internal Server Error")),
        plan("robots-503", REFUSED, "robots.txt is busy for ever.")
            .robots(|t, _| t.answer("503 Service Unavailable", "Retry-After: 99999999\r\n", "Not now.\n")),
        plan("robots-403", Whole, "robots.txt is forbidden, which forbids nothing.")
            .robots(|t, _| status(t, "403 Forbidden")),
        plan("robots-401", Whole, "robots.txt wants a password, which forbids nothing.")
            .robots(|t, _| status(t, "401 Unauthorized")),
        plan("robots-429", EITHER, "robots.txt is asked for too often, at the first time.")
            .robots(|t, _| status(t, "429 Too Many Requests")),
        plan("robots-silent", REFUSED, "robots.txt never answers.").robots(|t, _| t.hold()),
        plan("robots-slow", EITHER, "robots.txt comes a byte at a time.").robots(|t, _| {
            t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")?;
            t.drip(RULES.repeat(10_000).as_bytes())
        }),
        plan("robots-cut", REFUSED, "robots.txt ends early; what came of it still counts.")
            .robots(|t, _| {
                t.say(
                    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9999\r\n\r\n{RULES}")
                        .as_bytes(),
                )
            })
            .at(PRIVATE),
        plan("robots-reset", REFUSED, "robots.txt resets the connection.").robots(|t, _| t.reset()),
        plan("robots-empty-reply", REFUSED, "robots.txt hangs up.").robots(|_, _| Ok(())),
        plan("robots-noise-reply", REFUSED, "robots.txt answers with noise that is no HTTP.")
            .robots(|t, _| t.say(b"\x00\x01\x02\x03 what?\r\n\r\n")),
        plan("robots-redirect-loop", EITHER, "robots.txt redirects to itself.")
            .robots(|t, _| t.answer("302 Found", "Location: /robots.txt\r\n", "")),
        plan("robots-redirect-private", EITHER, "robots.txt redirects into a private network.")
            .robots(|t, _| t.answer("302 Found", "Location: http://169.254.169.254/robots.txt\r\n", "")),
        plan("robots-redirect-page", EITHER, "robots.txt redirects to the front page, as all that is missing does.")
            .robots(|t, _| t.answer("302 Found", "Location: /\r\n", "")),
        plan("robots-bomb", EITHER, "robots.txt decodes to a gibibyte.")
            .robots(|t, _| t.answer("200 OK", "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", bomb())),
    ]
}

fn rules() -> Vec<Plan> {
    let plan = |name, expect, why| Plan::new(name, Robots, expect, why, welcome);
    vec![
        plan("robots-100mb", REFUSED, "A hundred megabytes; the rule that counts is among the first.")
            .robots(|t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")?;
                t.say(RULES.as_bytes())?;
                t.repeat(b"Disallow: /elsewhere/and/so/on/\n", 100_000_000 / 32)
            })
            .at(PRIVATE),
        plan("robots-endless", REFUSED, "A robots.txt that never ends; the rule that counts is the first.")
            .robots(|t, _| {
                t.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")?;
                t.say(RULES.as_bytes())?;
                t.flood(b"# and so on\n")
            })
            .at(PRIVATE),
        plan("robots-html", Whole, "A page in place of rules, as a site that answers 200 to everything has.")
            .robots(|t, _| t.page(html("<p>Disallow nothing: we never heard of robots.</p>"))),
        plan("robots-binary", Whole, "Noise in place of rules.").robots(|t, _| {
            text(t, (0..100_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<u8>>())
        }),
        plan("robots-all", REFUSED, "Forbids everything.").robots(|t, _| text(t, "User-agent: *\nDisallow: /\n")),
        plan("robots-bom", REFUSED, "Rules behind a byte order mark.")
            .robots(|t, _| text(t, format!("\u{feff}{RULES}")))
            .at(PRIVATE),
        plan("robots-cr", REFUSED, "Rules whose lines end in a carriage return alone.")
            .robots(|t, _| text(t, RULES.replace('\n', "\r")))
            .at(PRIVATE),
        plan("robots-case", REFUSED, "Rules in capitals, with spaces and comments all over.")
            .robots(|t, _| text(t, "  USER-AGENT :\t*  # all\n\n  DISALLOW :   /private/  # keep out\n"))
            .at(PRIVATE),
        plan("robots-utf16", EITHER, "Rules in UTF-16.")
            .robots(|t, _| {
                text(
                    t,
                    std::iter::once(0xfeff).chain(RULES.encode_utf16()).flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
                )
            })
            .at(PRIVATE),
        plan("robots-long-line", REFUSED, "A line of three hundred kilobytes before the rule that counts.")
            .robots(|t, _| text(t, format!("User-agent: {}\n{RULES}", "x".repeat(300_000))))
            .at(PRIVATE),
        plan(
            "robots-wildcards",
            EITHER,
            "A hundred thousand rules of stars, which a matcher that goes back never finishes.",
        )
        .robots(|t, _| {
            let stars = "*a".repeat(30);
            let rules: Vec<String> = (0..100_000).map(|n| format!("Disallow: /{stars}b{n}$\n")).collect();
            text(t, format!("User-agent: *\n{}", rules.concat()))
        })
        .at(format!("/{}.html", "a".repeat(200))),
        plan("robots-groups", EITHER, "A hundred thousand groups for robots that are not us.").robots(|t, _| {
            let groups: Vec<String> = (0..100_000).map(|n| format!("User-agent: r{n}\nDisallow: /\n")).collect();
            text(t, groups.concat())
        }),
        plan("robots-percent", REFUSED, "A rule with what is forbidden in escapes.")
            .robots(|t, _| text(t, "User-agent: *\nDisallow: /%70rivate/\n"))
            .at(PRIVATE),
        plan("robots-delay-huge", EITHER, "Asks for longer than a clock can count between requests.")
            .robots(|t, _| text(t, "User-agent: *\nCrawl-delay: 1e308\nCrawl-delay: 99999999999999999999\n")),
        plan("robots-delay-negative", Whole, "Asks for less than no time between requests.")
            .robots(|t, _| text(t, "User-agent: *\nCrawl-delay: -5\n")),
        plan("robots-delay-nan", Whole, "Asks for no number of seconds between requests.")
            .robots(|t, _| text(t, "User-agent: *\nCrawl-delay: NaN\nCrawl-delay: inf\nCrawl-delay: soon\n")),
        plan("robots-nul", REFUSED, "NULs between and within the rules.")
            .robots(|t, _| text(t, "\0\0\nUser-agent: *\nDisallow: /x\0y\nDisallow: /private/\n\0"))
            .at(PRIVATE),
    ]
}
